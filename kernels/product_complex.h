/* Columns of products of complex matrices, as many at a time as registers hold: sums of some rows stay there. To the
 * bits of loops over single numbers: parts are multiplied and added as C does it, products in order. Included by
 * loops_product.c alone. */
#ifndef KN_PRODUCT_COMPLEX_H
#define KN_PRODUCT_COMPLEX_H

#if defined __AVX512F__
#define WIDE 64 /* bytes of a register */
#elif defined __AVX2__
#define WIDE 32
#else
#define WIDE 16
#endif
#define ROWS_AT_ONCE 4

#define PAIRS_2      1, 0
#define PAIRS_4      PAIRS_2, 3, 2
#define PAIRS_8      PAIRS_4, 5, 4, 7, 6
#define PAIRS_16     PAIRS_8, 9, 8, 11, 10, 13, 12, 15, 14
#if WIDE == 64
#define PAIRS_float  PAIRS_16
#define PAIRS_double PAIRS_8
#elif WIDE == 32
#define PAIRS_float  PAIRS_8
#define PAIRS_double PAIRS_4
#else
#define PAIRS_float  PAIRS_4
#define PAIRS_double PAIRS_2
#endif

/* R rows of a, `row` numbers apart, times V registers of each row of b, `line` apart. The product of x and y is
 * re(x) * y + im(x) * iy, where iy has minus the imaginary part of y and then its real part. */
#define COMPLEX_TILE(name, PART, R, V)                                                                                 \
    static inline __attribute__((always_inline)) void name##_tile_##R##_##V(                                           \
        const PART *a, int64_t row, int64_t step, const PART *b, int64_t line, PART *c, int64_t to, int64_t inner)     \
    {                                                                                                                  \
        name##_wide sums[R][V] = {0}, y[V], turned[V];                                                                 \
        for (int64_t k = 0; k < inner; k++) {                                                                          \
            _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)                                                        \
            {                                                                                                          \
                memcpy(&y[v], b + 2 * k * line + v * name##_parts, WIDE);                                              \
                turned[v] = __builtin_shufflevector(y[v], y[v], PAIRS_##PART) * name##_signs();                        \
            }                                                                                                          \
            _Pragma("GCC unroll 4") for (int r = 0; r < R; r++)                                                        \
            {                                                                                                          \
                const PART *x = a + 2 * (r * row + k * step);                                                          \
                _Pragma("GCC unroll 4") for (int v = 0; v < V; v++) sums[r][v] += x[0] * y[v] + x[1] * turned[v];      \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 4") for (int r = 0; r < R; r++) memcpy(c + 2 * r * to, sums[r], sizeof sums[r]);           \
    }
/* As many columns as there are in whole registers, one behind the other; returns how many that are. */
#define COMPLEX_COLUMNS(name, PART)                                                                                    \
    enum { name##_parts = WIDE / sizeof(PART) };                                                                       \
    typedef PART name##_wide __attribute__((vector_size(WIDE)));                                                       \
    static inline __attribute__((always_inline)) name##_wide name##_signs(void)                                        \
    {                                                                                                                  \
        name##_wide signs = {0};                                                                                       \
        for (int i = 0; i < name##_parts; i++) signs[i] = i % 2 ? 1 : -1;                                              \
        return signs;                                                                                                  \
    }                                                                                                                  \
    COMPLEX_TILE(name, PART, 4, 2)                                                                                     \
    COMPLEX_TILE(name, PART, 4, 1)                                                                                     \
    COMPLEX_TILE(name, PART, 1, 2)                                                                                     \
    COMPLEX_TILE(name, PART, 1, 1)                                                                                     \
    static int64_t name##_columns(const void *pa, const int64_t s[2], const void *pb, int64_t line, void *pc,          \
                                  int64_t to, int64_t rows, int64_t inner, int64_t columns)                            \
    {                                                                                                                  \
        const PART *a = pa, *b = pb;                                                                                   \
        PART *c = pc;                                                                                                  \
        const int64_t each = name##_parts / 2;                                                                         \
        int64_t j = 0;                                                                                                 \
        for (int64_t wide; j + each <= columns; j += wide) {                                                           \
            int64_t i = 0;                                                                                             \
            wide = j + 2 * each <= columns ? 2 * each : each;                                                          \
            for (; i + ROWS_AT_ONCE <= rows; i += ROWS_AT_ONCE)                                                        \
                (wide == each ? name##_tile_4_1 : name##_tile_4_2)(a + 2 * i * s[0], s[0], s[1], b + 2 * j, line,      \
                                                                   c + 2 * (i * to + j), to, inner);                   \
            for (; i < rows; i++)                                                                                      \
                (wide == each ? name##_tile_1_1 : name##_tile_1_2)(a + 2 * i * s[0], s[0], s[1], b + 2 * j, line,      \
                                                                   c + 2 * (i * to + j), to, inner);                   \
        }                                                                                                              \
        return j;                                                                                                      \
    }
COMPLEX_COLUMNS(complex_64, float)
COMPLEX_COLUMNS(complex_128, double)

/* Rows of a times the numbers of b, some beside each other: each lane adds what the loop over one row does, in its
 * order. Returns how many rows that are. Wider registers take longer to fill than they gain. */
#if WIDE >= 32
#define BESIDE             32
#define BESIDE_float       PAIRS_8
#define BESIDE_double      PAIRS_4
#define REALS_float        0, 0, 2, 2, 4, 4, 6, 6
#define REALS_double       0, 0, 2, 2
#define IMAGINARIES_float  1, 1, 3, 3, 5, 5, 7, 7
#define IMAGINARIES_double 1, 1, 3, 3
#else
#define BESIDE             16
#define BESIDE_float       PAIRS_4
#define BESIDE_double      PAIRS_2
#define REALS_float        0, 0, 2, 2
#define REALS_double       0, 0
#define IMAGINARIES_float  1, 1, 3, 3
#define IMAGINARIES_double 1, 1
#endif
#define COMPLEX_BESIDE(name, PART)                                                                                     \
    enum { name##_rows = BESIDE / sizeof(PART) / 2 };                                                                  \
    typedef PART name##_lanes __attribute__((vector_size(BESIDE)));                                                    \
    static inline __attribute__((always_inline)) name##_lanes name##_times(const PART *a, int64_t line, const PART *b) \
    {                                                                                                                  \
        name##_lanes x = {0}, signs = {0};                                                                             \
        _Pragma("GCC unroll 4") for (int i = 0; i < name##_rows; i++)                                                  \
        {                                                                                                              \
            x[2 * i] = a[2 * i * line];                                                                                \
            x[2 * i + 1] = a[2 * i * line + 1];                                                                        \
            signs[2 * i] = -1;                                                                                         \
            signs[2 * i + 1] = 1;                                                                                      \
        }                                                                                                              \
        return x * b[0] + __builtin_shufflevector(x, x, BESIDE_##PART) * signs * b[1];                                 \
    }                                                                                                                  \
    static int64_t name##_beside(const void *pa, int64_t line, const void *pb, void *pc, int64_t rows, int64_t inner)  \
    {                                                                                                                  \
        const PART *a = pa, *b = pb;                                                                                   \
        PART *c = pc;                                                                                                  \
        int64_t i = 0;                                                                                                 \
        for (; i + name##_rows <= rows; i += name##_rows) {                                                            \
            const PART *x = a + 2 * i * line;                                                                          \
            name##_lanes sums[4] = {0};                                                                                \
            int64_t k = 0;                                                                                             \
            for (; k + 4 <= inner; k += 4)                                                                             \
                for (int64_t j = 0; j < 4; j++) sums[j] += name##_times(x + 2 * (k + j), line, b + 2 * (k + j));       \
            for (; k < inner; k++) sums[0] += name##_times(x + 2 * k, line, b + 2 * k);                                \
            sums[0] = (sums[0] + sums[2]) + (sums[1] + sums[3]);                                                       \
            memcpy(c + 2 * i, sums, BESIDE);                                                                           \
        }                                                                                                              \
        return i;                                                                                                      \
    }
COMPLEX_BESIDE(complex_64, float)
COMPLEX_BESIDE(complex_128, double)

/* The sum of the products of numbers that lie side by side, to the bits of the loop over single numbers, whose four
 * partial sums the registers hold. `sign` is -1 where those of a are conjugated, else 1. */
#define COMPLEX_SUM(name, PART, T)                                                                                     \
    static inline __attribute__((always_inline)) T name##_sum(const T *pa, const T *pb, int64_t inner, PART sign)      \
    {                                                                                                                  \
        enum { REGISTERS = 4 / name##_rows };                                                                          \
        const PART *a = (const PART *)pa, *b = (const PART *)pb;                                                       \
        T four[4];                                                                                                     \
        name##_lanes x, y, sums[REGISTERS] = {0}, signs = {0};                                                         \
        int64_t k = 0;                                                                                                 \
        for (int i = 0; i < name##_rows; i++) signs[2 * i] = -sign, signs[2 * i + 1] = sign;                           \
        for (; k + 4 <= inner; k += 4) _Pragma("GCC unroll 4") for (int r = 0; r < REGISTERS; r++)                     \
            {                                                                                                          \
                memcpy(&x, a + 2 * (k + r * name##_rows), sizeof x);                                                   \
                memcpy(&y, b + 2 * (k + r * name##_rows), sizeof y);                                                   \
                sums[r] += __builtin_shufflevector(x, x, REALS_##PART) * y +                                           \
                           __builtin_shufflevector(x, x, IMAGINARIES_##PART) *                                         \
                               (__builtin_shufflevector(y, y, BESIDE_##PART) * signs);                                 \
            }                                                                                                          \
        memcpy(four, sums, sizeof four);                                                                               \
        for (; k < inner; k++) four[0] += times_##T(made_##T(__real__ pa[k], sign * __imag__ pa[k]), pb[k]);           \
        return (four[0] + four[2]) + (four[1] + four[3]);                                                              \
    }
COMPLEX_SUM(complex_64, float, c64)
COMPLEX_SUM(complex_128, double, c128)

#endif
