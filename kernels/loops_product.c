/* The loops of matrix products. This text is included by loops_product_base.c, loops_product_v3.c and
 * loops_product_v4.c, which set KN_PRODUCT_LEVEL to the name of their table. It is empty when compiled by itself. */
#ifdef KN_PRODUCT_LEVEL
#include "kernels/loops.h"
#include "kernels/product_loops.h"
#include "kernels/loops_complex.h"
#include <string.h>
#include "kernels/product_complex.h"
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define PANEL    2048 /* bytes of a row of the product that are summed up at a time */
#define LONG_ROW 16   /* numbers that lie side by side in both factors are worth a loop of their own */

/* W is what two numbers of type T are multiplied in: the product of two uint16_t may be more than an int holds. */
#define TIMES(T, W, x, y)       TIMES_##W(T, x, y)
#define TIMES_uint32_t(T, x, y) ((T)((uint32_t)(x) * (uint32_t)(y)))
#define TIMES_uint64_t(T, x, y) ((x) * (y))
#define TIMES_float(T, x, y)    ((x) * (y))
#define TIMES_double(T, x, y)   ((x) * (y))
#define TIMES_c64(T, x, y)      times_c64(x, y)
#define TIMES_c128(T, x, y)     times_c128(x, y)

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
            for (int64_t i = 0; i < 4; i++) sums[i] += (SUM)TIMES(T, T, a[(k + i) * s], b[(k + i) * t]);               \
        for (; k < inner; k++) sums[0] += (SUM)TIMES(T, T, a[k * s], b[k * t]);                                        \
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
#define ROW_COMPLEX(name, T)                                                                                           \
    static inline __attribute__((always_inline)) T name##_row(const T *a, const T *b, int64_t inner)                   \
    {                                                                                                                  \
        return name##_sum(a, b, inner, 1);                                                                             \
    }                                                                                                                  \
    static void name##_conjugated(void *sum, const void *a, const void *b, int64_t n)                                  \
    {                                                                                                                  \
        *(T *)sum = name##_sum(a, b, n, -1);                                                                           \
    }

/* The same of 2 to 4 numbers, a constant, in the form that compilers vectorise over rows. */
#define FEW_WHOLE(name, T)                                                                                             \
    static inline __attribute__((always_inline)) T name##_few(const T *a, const T *b, int64_t inner)                   \
    {                                                                                                                  \
        return name##_one(a, 1, b, 1, inner);                                                                          \
    }
#define FEW_REAL(name, T)                                                                                              \
    static inline __attribute__((always_inline)) T name##_few(const T *a, const T *b, int64_t inner)                   \
    {                                                                                                                  \
        double p = a[0] * b[0], q = a[1] * b[1], r = inner > 2 ? a[2] * b[2] : 0, s = inner > 3 ? a[3] * b[3] : 0;     \
        return (T)(inner < 4 ? 0 + p + q + r : (0 + p + r) + (q + s));                                                 \
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
#define MULTIPLY(name, T, W, IN_REGISTERS)                                                                             \
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
        IN_REGISTERS(name)                                                                                             \
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
/* Sums of many pairs of rows; of few elements, a constant, the loop over them is none. Where such rows lie one behind
 * the other, too, and are multiplied by the same numbers, compilers take several rows apart at once. */
#define DOTS_OF(name, inner)                                                                                           \
    for (; i < rows; i++) c[i] = name##_row(a + i * line, b + i * step, inner);                                        \
    break;
#define CLOSE_DOTS_OF(name, T, inner)                                                                                  \
    if (line == inner && step == 0) {                                                                                  \
        T same[inner];                                                                                                 \
        memcpy(same, b, sizeof same);                                                                                  \
        INDEPENDENT for (; i < rows; i++) c[i] = name##_few(a + i * inner, same, inner);                               \
        break;                                                                                                         \
    }                                                                                                                  \
    DOTS_OF(name, inner)
#define DOTS(name, T, BESIDE, FOUR_ROWS)                                                                               \
    static void name##_dots(const void *pa, int64_t line, const void *pb, int64_t step, void *pc, int64_t rows,        \
                            int64_t inner)                                                                             \
    {                                                                                                                  \
        const T *a = pa, *b = pb;                                                                                      \
        T *c = pc;                                                                                                     \
        int64_t i = BESIDE(name);                                                                                      \
        switch (inner) {                                                                                               \
        case 2: CLOSE_DOTS_OF(name, T, 2)                                                                              \
        case 3: CLOSE_DOTS_OF(name, T, 3)                                                                              \
        case 4: CLOSE_DOTS_OF(name, T, 4)                                                                              \
        case 8: DOTS_OF(name, 8)                                                                                       \
        case 16: DOTS_OF(name, 16)                                                                                     \
        default: FOUR_ROWS(name) DOTS_OF(name, inner)                                                                  \
        }                                                                                                              \
    }
#define NONE_BESIDE(name) 0
#define ROWS_BESIDE(name)                                                                                              \
    step == 0 && inner > 4 && inner <= FEW_BESIDE ? name##_beside(pa, line, pb, pc, rows, inner) : 0
#define FEW_BESIDE 16 /* elements of rows up to which those of some stay in the cache */
#define ONE_BY_ONE(name)
#define NO_COLUMNS(name)
#define COLUMNS_BEFORE(name)                                                                                           \
    if (t[1] == 1) {                                                                                                   \
        const int64_t done = name##_columns(a, s, b, t[0], c, to, rows, inner, columns);                               \
        if (done == columns) return;                                                                                   \
        b += done, c += done, columns -= done;                                                                         \
    }
#ifndef __AVX2__
#define FOUR_AT_ONCE(name)
#else
#define FOUR_AT_ONCE(name)                                                                                             \
    for (; i + 4 <= rows; i += 4)                                                                                      \
        if (step == 0)                                                                                                 \
            name##_four_rows(a + i * line, line, b, 0, c + i, inner);                                                  \
        else                                                                                                           \
            name##_four_rows(a + i * line, line, b + i * step, step, c + i, inner);
#endif
/* The partial sums of four rows; returns how many numbers of each are in them. */
typedef double sums_of_row __attribute__((vector_size(32)));
#define SUM_FOUR(name, T)                                                                                              \
    static inline __attribute__((always_inline))                                                                       \
    int64_t name##_sum_four(const T *a, int64_t line, const T *b, int64_t step, int64_t inner, sums_of_row sums[4])    \
    {                                                                                                                  \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= inner; k += 4) {                                                                               \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < 4; i++)                                                    \
            {                                                                                                          \
                name##_four x, y;                                                                                      \
                memcpy(&x, a + i * line + k, sizeof x);                                                                \
                memcpy(&y, b + i * step + k, sizeof y);                                                                \
                sums[i] += __builtin_convertvector(x * y, sums_of_row);                                                \
            }                                                                                                          \
        }                                                                                                              \
        return k;                                                                                                      \
    }
#ifdef __AVX512F__ /* of two rows a register */
static inline __attribute__((always_inline)) __m256 two_rows(const float *a, int64_t line)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(a + line), 1);
}
#define SUM_FOUR_f32                                                                                                   \
    static inline __attribute__((always_inline)) int64_t f32_sum_four(                                                 \
        const float *a, int64_t line, const float *b, int64_t step, int64_t inner, sums_of_row sums[4])                \
    {                                                                                                                  \
        __m512d two[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};                                                   \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= inner; k += 4) {                                                                               \
            _Pragma("GCC unroll 2") for (int64_t i = 0; i < 2; i++)                                                    \
            {                                                                                                          \
                const __m256 x = two_rows(a + 2 * i * line + k, line), y = two_rows(b + 2 * i * step + k, step);       \
                two[i] = _mm512_add_pd(two[i], _mm512_cvtps_pd(_mm256_mul_ps(x, y)));                                  \
            }                                                                                                          \
        }                                                                                                              \
        memcpy(sums, two, sizeof two);                                                                                 \
        return k;                                                                                                      \
    }
#else
#define SUM_FOUR_f32 SUM_FOUR(f32, float)
#endif
#define SUM_FOUR_f64 SUM_FOUR(f64, double)
/* The same bits as of four rows one after the other, whose partial sums are turned to be added side by side. */
#define FOUR_REAL(name, T)                                                                                             \
    SUM_FOUR_##name static inline __attribute__((always_inline)) void name##_four_rows(                                \
        const T *a, int64_t line, const T *b, int64_t step, T *c, int64_t inner)                                       \
    {                                                                                                                  \
        sums_of_row sums[4] = {0};                                                                                     \
        int64_t k = name##_sum_four(a, line, b, step, inner, sums);                                                    \
        const sums_of_row t = __builtin_shufflevector(sums[0], sums[1], 0, 4, 2, 6);                                   \
        const sums_of_row u = __builtin_shufflevector(sums[0], sums[1], 1, 5, 3, 7);                                   \
        const sums_of_row v = __builtin_shufflevector(sums[2], sums[3], 0, 4, 2, 6);                                   \
        const sums_of_row w = __builtin_shufflevector(sums[2], sums[3], 1, 5, 3, 7);                                   \
        sums_of_row first = __builtin_shufflevector(t, v, 0, 1, 4, 5);                                                 \
        for (; k < inner; k++) {                                                                                       \
            name##_four x = {a[k], a[line + k], a[2 * line + k], a[3 * line + k]};                                     \
            const name##_four y = {b[k], b[step + k], b[2 * step + k], b[3 * step + k]};                               \
            first += __builtin_convertvector(x * y, sums_of_row);                                                      \
        }                                                                                                              \
        const sums_of_row all =                                                                                        \
            (first + __builtin_shufflevector(t, v, 2, 3, 6, 7)) +                                                      \
            (__builtin_shufflevector(u, w, 0, 1, 4, 5) + __builtin_shufflevector(u, w, 2, 3, 6, 7));                   \
        const name##_four to = __builtin_convertvector(all, name##_four);                                              \
        memcpy(c, &to, sizeof to);                                                                                     \
    }
#define WHOLE(name, T, W)                                                                                              \
    ONE_WHOLE(name, T, W)                                                                                              \
    ROW_WHOLE(name, T)                                                                                                 \
    FEW_WHOLE(name, T)                                                                                                 \
    DOTS(name, T, NONE_BESIDE, ONE_BY_ONE)                                                                             \
    MULTIPLY(name, T, W, NO_COLUMNS)
#define REAL(name, T)                                                                                                  \
    ONE_REAL(name, T, double)                                                                                          \
    ROW_REAL(name, T)                                                                                                  \
    FOUR_REAL(name, T)                                                                                                 \
    FEW_REAL(name, T)                                                                                                  \
    DOTS(name, T, NONE_BESIDE, FOUR_AT_ONCE)                                                                           \
    MULTIPLY(name, T, T, NO_COLUMNS)
#define COMPLEX(name, T)                                                                                               \
    ONE_REAL(name, T, T)                                                                                               \
    ROW_COMPLEX(name, T)                                                                                               \
    FEW_WHOLE(name, T)                                                                                                 \
    DOTS(name, T, ROWS_BESIDE, ONE_BY_ONE)                                                                             \
    MULTIPLY(name, T, T, COLUMNS_BEFORE)
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
#define DOT_DOUBLES  (sizeof(doubles) / sizeof(double))
#define DOT_SUMS     (DOT_STEP / DOT_DOUBLES)  /* vectors of sums: in registers where those are wide and many */
#define DOT_PARTS    (DOT_WIDTH == 64 ? 4 : 8) /* vectors of sums of floats that stay in registers */
#define EACH_PART(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < DOT_PARTS; k++)

static inline __attribute__((always_inline)) floats products(const float *a, const float *b)
{
    floats x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x * y;
}

/* To two vectors of sums. */
static inline __attribute__((always_inline)) void add_floats(doubles *sums, floats values)
{
#if defined __AVX512F__ && defined __AVX512DQ__ /* for which compilers write more than this */
    sums[0] += (doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)values));
    sums[1] += (doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)values, 1));
#else
    half_of_floats half[2];
    memcpy(half, &values, sizeof half);
    sums[0] += __builtin_convertvector(half[0], doubles);
    sums[1] += __builtin_convertvector(half[1], doubles);
#endif
}

static inline __attribute__((always_inline)) double fold_dot(const doubles *sums)
{
    enum { EACH = 8 / DOT_DOUBLES };
    doubles eighth[EACH];
    double sum[8];
    _Pragma("GCC unroll 4") for (size_t i = 0; i < EACH; i++)
    {
        const doubles *s = sums + i;
        eighth[i] = ((s[0] + s[4 * EACH]) + (s[2 * EACH] + s[6 * EACH])) +
                    ((s[EACH] + s[5 * EACH]) + (s[3 * EACH] + s[7 * EACH]));
    }
    memcpy(sum, eighth, sizeof sum);
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static inline __attribute__((always_inline)) double dot_of_floats(const float *a, const float *b, size_t n)
{
    const size_t whole = n / DOT_STEP * DOT_STEP;
    doubles sums[DOT_SUMS] = {0};
    size_t i = 0;
    for (size_t end; i < whole; i = end) {
        end = whole - i < DOT_RUN * DOT_STEP ? whole : i + DOT_RUN * DOT_STEP;
        _Pragma("GCC unroll 4") for (size_t lane = 0; lane < DOT_STEP; lane += DOT_PARTS * DOT_FLOATS)
        {
            floats part[DOT_PARTS];
            const float *x = a + lane, *y = b + lane;
            EACH_PART(k) part[k] = products(x + i + k * DOT_FLOATS, y + i + k * DOT_FLOATS);
            for (size_t j = i + DOT_STEP; j < end; j += DOT_STEP)
                EACH_PART(k) part[k] += products(x + j + k * DOT_FLOATS, y + j + k * DOT_FLOATS);
            EACH_PART(k) add_floats(sums + (lane + k * DOT_FLOATS) / DOT_DOUBLES, part[k]);
        }
    }
    for (; n - i >= 16; i += 16)
        _Pragma("GCC unroll 4") for (size_t k = 0; k < 16; k += DOT_FLOATS)
            add_floats(sums + k / DOT_DOUBLES, products(a + i + k, b + i + k));
    if (n - i >= 8) {
        double eight[8];
        memcpy(eight, sums + 16 / DOT_DOUBLES, sizeof eight);
        for (size_t k = 0; k < 8; k++) eight[k] += (double)(a[i + k] * b[i + k]);
        memcpy(sums + 16 / DOT_DOUBLES, eight, sizeof eight);
        i += 8;
    }
    double rest = 0;
    for (; i < n; i++) rest += (double)(a[i] * b[i]);
    return rest + fold_dot(sums);
}

/* The first n of a vector's doubles, and 0 where there are no more. */
static inline __attribute__((always_inline)) doubles some(const double *a, size_t n)
{
    doubles x;
#ifdef __AVX512F__
    x = (doubles)_mm512_maskz_loadu_pd(n < DOT_DOUBLES ? (__mmask8)((1u << n) - 1) : 255, a);
#else
    double values[DOT_DOUBLES] = {0};
    if (n >= DOT_DOUBLES)
        memcpy(values, a, sizeof values);
    else
        for (size_t k = 0; k < n; k++) values[k] = a[k];
    memcpy(&x, values, sizeof x);
#endif
    return x;
}

static inline __attribute__((always_inline)) double dot_of_doubles(const double *a, const double *b, size_t n)
{
    enum { VECTORS = DOT_LANES / DOT_DOUBLES, EACH = 8 / DOT_DOUBLES };
    doubles sums[VECTORS] = {0}, x, y;
    double sum[8];
    const size_t whole = n / DOT_LANES * DOT_LANES;
    for (size_t i = 0; i < whole; i += DOT_LANES) {
        _Pragma("GCC unroll 16") for (size_t k = 0; k < VECTORS; k++)
        {
            memcpy(&x, a + i + k * DOT_DOUBLES, sizeof x);
            memcpy(&y, b + i + k * DOT_DOUBLES, sizeof y);
            sums[k] += x * y;
        }
    }
    _Pragma("GCC unroll 16") for (size_t k = 0; k < VECTORS; k++)
    {
        const size_t i = whole + k * DOT_DOUBLES;
        if (i < n) sums[k] += some(a + i, n - i) * some(b + i, n - i);
    }
    for (size_t half = VECTORS / 2; half >= EACH; half /= 2)
        for (size_t k = 0; k < half; k++) sums[k] += sums[k + half];
    memcpy(sum, sums, sizeof sum);
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

#define DOT(name, TYPE, of_one)                                                                                        \
    static void name(double *sums, const void *rows, ptrdiff_t stride, const void *vector, size_t count, size_t n)     \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) sums[i] = of_one((const TYPE *)rows + (ptrdiff_t)i * stride, vector, n);    \
    }
DOT(dot_F32, float, dot_of_floats)
DOT(dot_F64, double, dot_of_doubles)

/* Of float32, the products of four rows are added in float32 likewise. Few columns of all rows are added up in
 * registers before the next, W at a time, of which the first `known` are in the sums already and `n` are there. Where
 * fewer than W are, the row behind lends the others, whose sums nobody asks for; zeros do where none lies behind. */
#define PLUS_FOUR(sum, a, b, c, d) ((sum) + (double)(((a) + (b)) + ((c) + (d))))
#define LESSER(a, b)               ((a) < (b) ? (a) : (b))
#define ADD_COLUMNS(name, TYPE, W)                                                                                     \
    enum { /* elements of a register, and sums of one: of float32 half as many may be */                               \
           name##_lanes_##W = LESSER(W, DOT_WIDTH > 16 ? DOT_DOUBLES : 16 / sizeof(TYPE)),                             \
           name##_wide_##W = LESSER(W, DOT_DOUBLES),                                                                   \
           name##_each_##W = name##_lanes_##W / name##_wide_##W                                                        \
    };                                                                                                                 \
    typedef TYPE name##_row_##W __attribute__((vector_size(name##_lanes_##W * sizeof(TYPE))));                         \
    typedef TYPE name##_part_##W __attribute__((vector_size(name##_wide_##W * sizeof(TYPE))));                         \
    typedef double name##_sums_##W __attribute__((vector_size(name##_wide_##W * sizeof(double))));                     \
    static inline __attribute__((always_inline)) void name##_four_##W(name##_sums_##W *sum, const TYPE *a,             \
                                                                      ptrdiff_t stride, const TYPE *f)                 \
    {                                                                                                                  \
        _Pragma("GCC unroll 8") for (int i = 0; i < W / name##_lanes_##W; i++)                                         \
        {                                                                                                              \
            name##_row_##W row[KN_SUMMED_ROWS];                                                                        \
            name##_part_##W part[name##_each_##W];                                                                     \
            _Pragma("GCC unroll 4") for (int k = 0; k < KN_SUMMED_ROWS; k++)                                           \
            {                                                                                                          \
                memcpy(row + k, a + k * stride + i * name##_lanes_##W, sizeof *row);                                   \
                row[k] *= f[k];                                                                                        \
            }                                                                                                          \
            row[0] = (row[0] + row[1]) + (row[2] + row[3]);                                                            \
            memcpy(part, row, sizeof *row);                                                                            \
            _Pragma("GCC unroll 2") for (int k = 0; k < name##_each_##W; k++) sum[i * name##_each_##W + k] +=          \
                __builtin_convertvector(part[k], name##_sums_##W);                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_##W(double *sums, const TYPE *a, ptrdiff_t stride, const TYPE *f, size_t count, size_t known,   \
                           size_t n)                                                                                   \
    {                                                                                                                  \
        const size_t behind = n == W                  ? 0                                                              \
                              : stride < (ptrdiff_t)n ? count                                                          \
                                                      : (W - n + (size_t)stride - 1) / (size_t)stride;                 \
        double all[W] = {0};                                                                                           \
        name##_sums_##W sum[W / name##_wide_##W];                                                                      \
        TYPE room[KN_SUMMED_ROWS * W] = {0};                                                                           \
        size_t k = 0;                                                                                                  \
        memcpy(all, sums, n * sizeof *sums);                                                                           \
        memcpy(sum, all, sizeof sum);                                                                                  \
        for (; k + KN_SUMMED_ROWS + behind <= count; k += KN_SUMMED_ROWS, a += KN_SUMMED_ROWS * stride)                \
            name##_four_##W(sum, a, stride, f + k);                                                                    \
        for (; k + KN_SUMMED_ROWS <= count; k += KN_SUMMED_ROWS) {                                                     \
            for (size_t i = 0; i < KN_SUMMED_ROWS; i++, a += stride) memcpy(room + i * W, a, n * sizeof *a);           \
            name##_four_##W(sum, room, W, f + k);                                                                      \
        }                                                                                                              \
        memcpy(all, sum, sizeof sum);                                                                                  \
        for (; k < count; k++, a += stride)                                                                            \
            for (size_t i = 0; i < n; i++) all[i] += (double)(f[k] * a[i]);                                            \
        memcpy(sums + known, all + known, (n - known) * sizeof *sums);                                                 \
    }
#define ADD_ROWS(name, TYPE)                                                                                           \
    ADD_COLUMNS(name, TYPE, 16)                                                                                        \
    ADD_COLUMNS(name, TYPE, 8)                                                                                         \
    ADD_COLUMNS(name, TYPE, 4)                                                                                         \
    static void name(double *sums, const void *rows, ptrdiff_t stride, const void *factors, size_t count, size_t n)    \
    {                                                                                                                  \
        const TYPE *a = rows, *f = factors;                                                                            \
        for (size_t i = 0, w; n < MANY_COLUMNS && i < n; i += w) {                                                     \
            w = n - i > 8 ? 16 : n - i > 4 ? 8 : 4;                                                                    \
            const size_t at = n - i < w && n > w ? n - w : i, there = LESSER(n, w);                                    \
            (w == 16 ? name##_16 : w == 8 ? name##_8 : name##_4)(sums + at, a + at, stride, f, count, i - at, there);  \
        }                                                                                                              \
        if (n < MANY_COLUMNS) return;                                                                                  \
        for (; count >= 2 * KN_SUMMED_ROWS; count -= 2 * KN_SUMMED_ROWS, f += 2 * KN_SUMMED_ROWS) {                    \
            const TYPE *b = a + stride, *c = b + stride, *d = c + stride, *e = d + stride, *g = e + stride;            \
            const TYPE *h = g + stride, *l = h + stride;                                                               \
            const TYPE s = f[0], t = f[1], u = f[2], v = f[3], w = f[4], x = f[5], y = f[6], z = f[7];                 \
            INDEPENDENT for (size_t j = 0; j < n; j++)                                                                 \
            {                                                                                                          \
                const double sum = PLUS_FOUR(sums[j], s * a[j], t * b[j], u * c[j], v * d[j]);                         \
                sums[j] = PLUS_FOUR(sum, w * e[j], x * g[j], y * h[j], z * l[j]);                                      \
            }                                                                                                          \
            a = l + stride;                                                                                            \
        }                                                                                                              \
        for (; count >= KN_SUMMED_ROWS; count -= KN_SUMMED_ROWS, f += KN_SUMMED_ROWS, a += KN_SUMMED_ROWS * stride) {  \
            const TYPE *b = a + stride, *c = b + stride, *d = c + stride;                                              \
            const TYPE s = f[0], t = f[1], u = f[2], v = f[3];                                                         \
            INDEPENDENT for (size_t j = 0; j < n; j++) sums[j] =                                                       \
                PLUS_FOUR(sums[j], s * a[j], t * b[j], u * c[j], v * d[j]);                                            \
        }                                                                                                              \
        for (size_t k = 0; k < count; k++, a += stride) {                                                              \
            const TYPE s = f[k];                                                                                       \
            INDEPENDENT for (size_t j = 0; j < n; j++) sums[j] = sums[j] + (double)(s * a[j]);                         \
        }                                                                                                              \
    }
#define MANY_COLUMNS 64
ADD_ROWS(add_rows_F32, float)
ADD_ROWS(add_rows_F64, double)

#define TABLE(part)                                                                                                    \
    {                                                                                                                  \
        [RT_INT8] = bits_8##part, [RT_UINT8] = bits_8##part, [RT_INT16] = bits_16##part, [RT_UINT16] = bits_16##part,  \
        [RT_INT32] = bits_32##part, [RT_UINT32] = bits_32##part, [RT_INT64] = bits_64##part,                           \
        [RT_UINT64] = bits_64##part, [RT_FLOAT32] = f32##part, [RT_FLOAT64] = f64##part,                               \
        [RT_COMPLEX64] = complex_64##part, [RT_COMPLEX128] = complex_128##part                                         \
    }
const struct kn_product_loops KN_PRODUCT_LEVEL = {.multiply = TABLE(),
                                                  .dots = TABLE(_dots),
                                                  .dot = {dot_F32, dot_F64},
                                                  .add_rows = {add_rows_F32, add_rows_F64},
                                                  .conjugated = {complex_64_conjugated, complex_128_conjugated}};
#endif
