/* The loops of matrix products. This text is included by loops_product_base.c, loops_product_v3.c and
 * loops_product_v4.c, which set KN_PRODUCT_LEVEL to the name of their table. It is empty when compiled by itself. */
#ifdef KN_PRODUCT_LEVEL
#include "kernels/loops.h"
#include "kernels/product_loops.h"
#include "kernels/loops_emit.h"
#include <string.h>

#define PANEL    2048 /* bytes of a row of the product that are summed up at a time */
#define LONG_ROW 16   /* numbers that lie side by side in both factors are worth a loop of their own */

/* W is what two numbers of type T are multiplied in: the product of two uint16_t may be more than an int holds. */
#define TIMES(T, W, x, y) ((T)((W)(x) * (W)(y)))

/* One element of the product. Whole numbers may be added in any order. */
#define ONE_WHOLE(name, T, W)                                                                                          \
    static inline __attribute__((always_inline))                                                                       \
    T name##_one(const T *a, int64_t s, const T *b, int64_t t, int64_t inner)                                          \
    {                                                                                                                  \
        T sum = 0;                                                                                                     \
        for (int64_t k = 0; k < inner; k++) sum = (T)(sum + TIMES(T, W, a[k * s], b[k * t]));                          \
        return sum;                                                                                                    \
    }
#define ONE_REAL(name, T, SUM)                                                                                         \
    static inline __attribute__((always_inline))                                                                       \
    T name##_one(const T *a, int64_t s, const T *b, int64_t t, int64_t inner)                                          \
    {                                                                                                                  \
        SUM sums[4] = {0};                                                                                             \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= inner; k += 4)                                                                                 \
            for (int64_t i = 0; i < 4; i++) sums[i] += (SUM)(a[(k + i) * s] * b[(k + i) * t]);                         \
        for (; k < inner; k++) sums[0] += (SUM)(a[k * s] * b[k * t]);                                                  \
        return (T)((sums[0] + sums[2]) + (sums[1] + sums[3]));                                                         \
    }

/* The same where the numbers lie side by side. */
#define ROW_WHOLE(name, T)                                                                                             \
    static inline __attribute__((always_inline)) T name##_row(const T *a, const T *b, int64_t inner)                   \
    {                                                                                                                  \
        return name##_one(a, 1, b, 1, inner);                                                                          \
    }
#define ROW_REAL(name, T)                                                                                              \
    typedef T name##_four __attribute__((vector_size(4 * sizeof(T))));                                                 \
    static inline __attribute__((always_inline)) T name##_row(const T *a, const T *b, int64_t inner)                   \
    {                                                                                                                  \
        typedef double doubles __attribute__((vector_size(32)));                                                       \
        name##_four x, y;                                                                                              \
        doubles sums = {0};                                                                                            \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= inner; k += 4) {                                                                               \
            memcpy(&x, a + k, sizeof x);                                                                               \
            memcpy(&y, b + k, sizeof y);                                                                               \
            sums += __builtin_convertvector(x * y, doubles);                                                           \
        }                                                                                                              \
        double first = sums[0];                                                                                        \
        for (; k < inner; k++) first += (double)(a[k] * b[k]);                                                         \
        return (T)((first + sums[2]) + (sums[1] + sums[3]));                                                           \
    }

/* N columns, a constant: their sums stay in registers. */
#define FEW(name, T, W, N)                                                                                             \
    static void name##_##N(const T *a, const int64_t s[2], const T *b, const int64_t t[2], T *c, int64_t to,           \
                           int64_t rows, int64_t inner)                                                                \
    {                                                                                                                  \
        for (int64_t i = 0; i < rows; i++, a += s[0], c += to) {                                                       \
            T sums[N] = {0};                                                                                           \
            for (int64_t k = 0; k < inner && t[1] == 1; k++)                                                           \
                for (int64_t j = 0; j < N; j++) sums[j] = (T)(sums[j] + TIMES(T, W, a[k * s[1]], b[k * t[0] + j]));    \
            for (int64_t k = 0; k < inner && t[1] != 1; k++)                                                           \
                for (int64_t j = 0; j < N; j++)                                                                        \
                    sums[j] = (T)(sums[j] + TIMES(T, W, a[k * s[1]], b[k * t[0] + j * t[1]]));                         \
            memcpy(c, sums, sizeof sums);                                                                              \
        }                                                                                                              \
    }

/* n elements of a row of the product, four rows of b at a time. */
#define PANEL_OF(name, T, W)                                                                                           \
    static void name##_panel(const T *a, int64_t s, const T *b, const int64_t t[2], T *c, int64_t inner, int64_t n)    \
    {                                                                                                                  \
        int64_t k = 0;                                                                                                 \
        memset(c, 0, (size_t)n * sizeof *c);                                                                           \
        for (; k + 4 <= inner && t[1] == 1; k += 4) {                                                                  \
            const T *p = b + k * t[0], *q = p + t[0], *r = q + t[0], *u = r + t[0];                                    \
            const T f = a[k * s], g = a[(k + 1) * s], h = a[(k + 2) * s], l = a[(k + 3) * s];                          \
            INDEPENDENT for (int64_t j = 0; j < n; j++)                                                                \
            {                                                                                                          \
                T sum = (T)(c[j] + TIMES(T, W, f, p[j]));                                                              \
                sum = (T)(sum + TIMES(T, W, g, q[j]));                                                                 \
                sum = (T)(sum + TIMES(T, W, h, r[j]));                                                                 \
                c[j] = (T)(sum + TIMES(T, W, l, u[j]));                                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (; k < inner; k++) {                                                                                       \
            const T f = a[k * s], *p = b + k * t[0];                                                                   \
            INDEPENDENT for (int64_t j = 0; j < n; j++) c[j] = (T)(c[j] + TIMES(T, W, f, p[j * t[1]]));                \
        }                                                                                                              \
    }

#define FEW_CASE(name, N)                                                                                              \
    case N:                                                                                                            \
        name##_##N(a, s, b, t, c, to, rows, inner);                                                                    \
        return;
#define MULTIPLY(name, T, W)                                                                                           \
    FEW(name, T, W, 2)                                                                                                 \
    FEW(name, T, W, 3)                                                                                                 \
    FEW(name, T, W, 4)                                                                                                 \
    FEW(name, T, W, 8)                                                                                                 \
    FEW(name, T, W, 16)                                                                                                \
    PANEL_OF(name, T, W)                                                                                               \
    static void name(const void *pa, const int64_t s[2], const void *pb, const int64_t t[2], void *pc, int64_t to,     \
                     int64_t rows, int64_t inner, int64_t columns)                                                     \
    {                                                                                                                  \
        const T *a = pa, *b = pb;                                                                                      \
        T *c = pc;                                                                                                     \
        const bool side_by_side = s[1] == 1 && t[0] == 1 && t[1] != 1 && inner >= LONG_ROW;                            \
        if (side_by_side || columns == 1) {                                                                            \
            for (int64_t i = 0; i < rows; i++)                                                                         \
                for (int64_t j = 0; j < columns; j++)                                                                  \
                    c[i * to + j] = s[1] == 1 && t[0] == 1                                                             \
                                        ? name##_row(a + i * s[0], b + j * t[1], inner)                                \
                                        : name##_one(a + i * s[0], s[1], b + j * t[1], t[0], inner);                   \
            return;                                                                                                    \
        }                                                                                                              \
        switch (columns) {                                                                                             \
            FEW_CASE(name, 2)                                                                                          \
            FEW_CASE(name, 3)                                                                                          \
            FEW_CASE(name, 4)                                                                                          \
            FEW_CASE(name, 8)                                                                                          \
            FEW_CASE(name, 16)                                                                                         \
        default: break;                                                                                                \
        }                                                                                                              \
        const int64_t panel = PANEL / (int64_t)sizeof(T);                                                              \
        for (int64_t j = 0; j < columns; j += panel)                                                                   \
            for (int64_t i = 0; i < rows; i++)                                                                         \
                name##_panel(a + i * s[0], s[1], b + j * t[1], t, c + i * to + j, inner,                               \
                             columns - j < panel ? columns - j : panel);                                               \
    }
/* Sums of many pairs of rows; of few elements, a constant, the loop over them is none. */
#define DOTS_OF(name, inner)                                                                                           \
    for (int64_t i = 0; i < rows; i++) c[i] = name##_row(a + i * line, b + i * step, inner);                           \
    break;
#define DOTS(name, T)                                                                                                  \
    static void name##_dots(const void *pa, int64_t line, const void *pb, int64_t step, void *pc, int64_t rows,        \
                            int64_t inner)                                                                             \
    {                                                                                                                  \
        const T *a = pa, *b = pb;                                                                                      \
        T *c = pc;                                                                                                     \
        switch (inner) {                                                                                               \
        case 2: DOTS_OF(name, 2)                                                                                       \
        case 3: DOTS_OF(name, 3)                                                                                       \
        case 4: DOTS_OF(name, 4)                                                                                       \
        case 8: DOTS_OF(name, 8)                                                                                       \
        case 16: DOTS_OF(name, 16)                                                                                     \
        default: DOTS_OF(name, inner)                                                                                  \
        }                                                                                                              \
    }
#define WHOLE(name, T, W)                                                                                              \
    ONE_WHOLE(name, T, W)                                                                                              \
    ROW_WHOLE(name, T)                                                                                                 \
    DOTS(name, T)                                                                                                      \
    MULTIPLY(name, T, W)
#define REAL(name, T)                                                                                                  \
    ONE_REAL(name, T, double)                                                                                          \
    ROW_REAL(name, T)                                                                                                  \
    DOTS(name, T)                                                                                                      \
    MULTIPLY(name, T, T)
#define COMPLEX(name, T)                                                                                               \
    ONE_REAL(name, T, T)                                                                                               \
    ROW_WHOLE(name, T)                                                                                                 \
    DOTS(name, T)                                                                                                      \
    MULTIPLY(name, T, T)
WHOLE(bits_8, uint8_t, uint32_t)
WHOLE(bits_16, uint16_t, uint32_t)
WHOLE(bits_32, uint32_t, uint32_t)
WHOLE(bits_64, uint64_t, uint64_t)
REAL(f32, float)
REAL(f64, double)
COMPLEX(complex_64, c64)
COMPLEX(complex_128, c128)

/* The sum of n products. Of float32, up to DOT_RUN of a lane are added in float32 before they become double, of which a
 * register has half as many. Vectors are as wide as registers: compilers keep wider ones in memory. */
#define DOT_RUN   8
#define DOT_LANES 32
#define DOT_STEP  64 /* floats that are added to lanes of their own */
#if defined __AVX512F__
#define DOT_WIDTH 64
#elif defined __AVX2__
#define DOT_WIDTH 32
#else
#define DOT_WIDTH 16
#endif
typedef float floats __attribute__((vector_size(DOT_WIDTH)));
typedef float half_of_floats __attribute__((vector_size(DOT_WIDTH / 2)));
typedef double doubles __attribute__((vector_size(DOT_WIDTH)));
#define DOT_FLOATS   (sizeof(floats) / sizeof(float))
#define DOT_PARTS    (DOT_WIDTH == 64 ? 4 : 8) /* vectors of sums that stay in registers */
#define EACH_PART(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < DOT_PARTS; k++)

static inline __attribute__((always_inline)) floats products(const float *a, const float *b)
{
    floats x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x * y;
}

static inline __attribute__((always_inline)) void add_floats(double *sums, floats values)
{
    half_of_floats half[2];
    doubles to[2];
    memcpy(half, &values, sizeof half);
    memcpy(to, sums, sizeof to);
    to[0] += __builtin_convertvector(half[0], doubles);
    to[1] += __builtin_convertvector(half[1], doubles);
    memcpy(sums, to, sizeof to);
}

static double fold_dot(const double *sums)
{
    double sum[8];
    for (int i = 0; i < 8; i++)
        sum[i] = ((sums[i] + sums[32 + i]) + (sums[16 + i] + sums[48 + i])) +
                 ((sums[8 + i] + sums[40 + i]) + (sums[24 + i] + sums[56 + i]));
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static double dot_F32(const void *pa, const void *pb, size_t n)
{
    const float *a = pa, *b = pb;
    const size_t whole = n / DOT_STEP * DOT_STEP;
    _Alignas(64) double sums[DOT_STEP] = {0};
    size_t i = 0;
    for (size_t end; i < whole; i = end) {
        end = whole - i < DOT_RUN * DOT_STEP ? whole : i + DOT_RUN * DOT_STEP;
        for (size_t lane = 0; lane < DOT_STEP; lane += DOT_PARTS * DOT_FLOATS) {
            floats part[DOT_PARTS];
            const float *x = a + lane, *y = b + lane;
            EACH_PART(k) part[k] = products(x + i + k * DOT_FLOATS, y + i + k * DOT_FLOATS);
            for (size_t j = i + DOT_STEP; j < end; j += DOT_STEP)
                EACH_PART(k) part[k] += products(x + j + k * DOT_FLOATS, y + j + k * DOT_FLOATS);
            EACH_PART(k) add_floats(sums + lane + k * DOT_FLOATS, part[k]);
        }
    }
    for (; n - i >= 16; i += 16)
        for (size_t k = 0; k < 16; k += DOT_FLOATS) add_floats(sums + k, products(a + i + k, b + i + k));
    if (n - i >= 8) {
        for (size_t k = 0; k < 8; k++) sums[16 + k] += (double)(a[i + k] * b[i + k]);
        i += 8;
    }
    double rest = 0;
    for (; i < n; i++) rest += (double)(a[i] * b[i]);
    return rest + fold_dot(sums);
}

static double dot_F64(const void *pa, const void *pb, size_t n)
{
    const double *a = pa, *b = pb;
    double sums[DOT_LANES] = {0};
    const size_t whole = n / DOT_LANES * DOT_LANES;
    for (size_t i = 0; i < whole; i += DOT_LANES) {
        _Pragma("GCC unroll 32") for (size_t k = 0; k < DOT_LANES; k++) sums[k] += a[i + k] * b[i + k];
    }
    for (size_t i = whole; i < n; i++) sums[i - whole] += a[i] * b[i];
    for (size_t half = DOT_LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

/* Of float32, the products of four rows are added in float32 likewise. */
#define ADD_ROWS(name, TYPE, sum_of)                                                                                   \
    static void name(double *sums, const void *rows, ptrdiff_t stride, const void *factors, size_t count, size_t n)    \
    {                                                                                                                  \
        const TYPE *a = rows, *b = a + stride, *c = b + stride, *d = c + stride, *f = factors;                         \
        if (count == KN_SUMMED_ROWS) {                                                                                 \
            const TYPE s = f[0], t = f[1], u = f[2], v = f[3];                                                         \
            INDEPENDENT for (size_t i = 0; i < n; i++) sums[i] =                                                       \
                sum_of(sums[i], s * a[i], t * b[i], u * c[i], v * d[i]);                                               \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t k = 0; k < count; k++, a += stride) {                                                              \
            const TYPE s = f[k];                                                                                       \
            INDEPENDENT for (size_t i = 0; i < n; i++) sums[i] = sums[i] + (double)(s * a[i]);                         \
        }                                                                                                              \
    }
#define IN_FLOAT(sum, a, b, c, d)  ((sum) + (double)(((a) + (b)) + ((c) + (d))))
#define IN_DOUBLE(sum, a, b, c, d) ((sum) + (a) + (b) + (c) + (d))
ADD_ROWS(add_rows_F32, float, IN_FLOAT)
ADD_ROWS(add_rows_F64, double, IN_DOUBLE)

#define TABLE(part)                                                                                                    \
    {                                                                                                                  \
        [RT_INT8] = bits_8##part, [RT_UINT8] = bits_8##part, [RT_INT16] = bits_16##part, [RT_UINT16] = bits_16##part,  \
        [RT_INT32] = bits_32##part, [RT_UINT32] = bits_32##part, [RT_INT64] = bits_64##part,                           \
        [RT_UINT64] = bits_64##part, [RT_FLOAT32] = f32##part, [RT_FLOAT64] = f64##part,                               \
        [RT_COMPLEX64] = complex_64##part, [RT_COMPLEX128] = complex_128##part                                         \
    }
const struct kn_product_loops KN_PRODUCT_LEVEL = {
    .multiply = TABLE(), .dots = TABLE(_dots), .dot = {dot_F32, dot_F64}, .add_rows = {add_rows_F32, add_rows_F64}};
#endif
