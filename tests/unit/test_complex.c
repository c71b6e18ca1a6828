/* Logarithms, exponentials and sines of complex numbers: both parts against long double, of logarithms near the circle
 * of numbers where they have no real part, of all magnitudes, and of zeros, infinities and NaN; products, each part of
 * single operations; and the same bits in every layout and with every instruction set. */
#include "kernels/fft.h"
#include "tests/unit/levels.h"
#include "tests/unit/ops_reference.h"

static const double edges[] = {0.0,       -0.0, 1,        -1,       0.5,       INFINITY,
                               -INFINITY, NAN,  0x1p-149, -0x1p127, 0x1p-1074, 0x1p1023};
enum { EDGES = sizeof edges / sizeof *edges, NUMBERS = EDGES * EDGES + 3000 };
static const enum kn_op logarithms[] = {KN_LOG, KN_LOG2, KN_LOG10, KN_LOG1P};
enum { LOGARITHMS = sizeof logarithms / sizeof *logarithms };

/* The edges with each other, then numbers beside the circle around `centre`, and some of every size. */
static struct rt_array numbers(enum rt_dtype t, double centre)
{
    int64_t n = NUMBERS;
    struct rt_array a = {0};
    uint64_t state = 88172645463325252u;
    OK(rt_array_new(test_device(), t, 1, &n, &a, e));
    for (int64_t i = 0; i < n; i++) {
        struct rt_complex z = {edges[i % EDGES], edges[i / EDGES % EDGES]};
        double part[3];
        for (int k = 0; k < 3; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            part[k] = (double)(state >> 11) * 0x1p-53;
        }
        double size = i % 2 ? 1 + (part[1] - 0.5) * exp2(-40 * part[2])
                            : exp2((part[1] - 0.5) * (t == RT_COMPLEX64 ? 200 : 2000));
        if (i >= EDGES * EDGES)
            z = (struct rt_complex){size * cos(6.283 * part[0]) + (i % 2 ? centre : 0), size * sin(6.283 * part[0])};
        rt_store_complex(t, element(&a, i), z);
    }
    return a;
}

static struct rt_array applied(enum kn_op op, const struct rt_array *a)
{
    struct rt_array out = {0};
    OK(kn_apply(op, (struct kn_operand[]){of_array(a)}, &out, e));
    return out;
}

/* log(x + iy), or of 1 more, in long double, which has the square less 1 to enough digits. */
static void reference(bool more, double x, double y, long double *re, long double *im)
{
    long double u = more ? 1 + (long double)x : x, great = fmaxl(fabsl(u), fabsl(y)), small = fminl(fabsl(u), fabsl(y));
    long double less = more ? (2 * (long double)x + (long double)y * y) + (long double)x * x
                            : (great - 1) * (great + 1) + small * small;
    *re = less > -0.5L && less < 1 ? log1pl(less) / 2 : logl(hypotl(u, y));
    *im = atan2l(y, u);
}

static void check_part(enum kn_op op, enum rt_dtype t, struct rt_complex z, double got, long double want, double bound)
{
    enum rt_dtype part = t == RT_COMPLEX64 ? RT_FLOAT32 : RT_FLOAT64;
    if (isnan(want)   ? isnan(got)
        : isinf(want) ? got == (double)want
                      : !signbit(got) == !signbit(want) && fabsl(got - want) <= bound * ulp(part, want) + 0x1p-62L)
        return;
    FAIL("%s of %a, %a in %s: %a, expected %La", kn_ops[op].name, z.re, z.im, rt_dtypes[t].name, got, want);
}

TEST(logarithms_of_complex_numbers)
{
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < LOGARITHMS; k++) {
            enum rt_dtype t = single ? RT_COMPLEX64 : RT_COMPLEX128;
            enum kn_op op = logarithms[k];
            bool more = op == KN_LOG1P;
            long double base = op == KN_LOG2 ? logl(2) : op == KN_LOG10 ? logl(10) : 1;
            ARRAYS a = numbers(t, more ? -1 : 0), out = applied(op, &a);
            for (int64_t i = 0; i < NUMBERS; i++) {
                struct rt_complex z = rt_load_complex(t, element(&a, i)), v = rt_load_complex(t, element(&out, i));
                long double re, im;
                reference(more, z.re, z.im, &re, &im);
                /* Of what is left of -1 the square has no digits. */
                if (more && z.re == -1 && fabs(z.im) < 0x1p-400) continue;
                check_part(op, t, z, v.re, re / base, (single ? 0.6 : 4) + (base == 1 ? 0 : 1.5));
                check_part(op, t, z, v.im, im / base, base == 1 ? 2.5 : 3.5);
            }
        }
}

/* Parts of up to 60, of some up to 800 and to 1e6, which are beyond what most are within. */
static struct rt_array turns(enum rt_dtype t, enum kn_op op)
{
    int64_t n = NUMBERS;
    struct rt_array a = {0};
    uint64_t state = 88172645463325252u;
    OK(rt_array_new(test_device(), t, 1, &n, &a, e));
    for (int64_t i = 0; i < n; i++) {
        double part[2];
        for (int k = 0; k < 2; k++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            part[k] = (double)(state >> 11) * 0x1p-52 - 1;
        }
        double size = part[0] * (i % 50 == 49 ? 800 : 60), angle = part[1] * (i % 50 == 48 ? 1e6 : 60);
        struct rt_complex z = op == KN_EXP ? (struct rt_complex){size, angle} : (struct rt_complex){angle, size};
        if (i < 25) z = (struct rt_complex){edges[i % 5], edges[i / 5]};
        rt_store_complex(t, element(&a, i), z);
    }
    return a;
}

static const enum kn_op turned[] = {KN_EXP, KN_SIN, KN_COS};
enum { TURNED = sizeof turned / sizeof *turned };

TEST(exponentials_and_sines_of_complex_numbers)
{
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < TURNED; k++) {
            enum rt_dtype t = single ? RT_COMPLEX64 : RT_COMPLEX128;
            enum kn_op op = turned[k];
            ARRAYS a = turns(t, op), out = applied(op, &a);
            for (int64_t i = 0; i < NUMBERS; i++) {
                struct rt_complex z = rt_load_complex(t, element(&a, i)), v = rt_load_complex(t, element(&out, i));
                long double _Complex want = reference_complex(op, CMPLXL(z.re, z.im), 0, 0);
                long double parts[] = {creall(want), cimagl(want)};
                for (int p = 0; p < 2; p++) { /* those that are too great for the dtype are infinite */
                    long double rounded = single ? (float)parts[p] : (double)parts[p];
                    check_part(op, t, z, p ? v.im : v.re, isinf(rounded) ? rounded : parts[p], 4);
                }
                if (i % 7) continue;
                ARRAYS x = {0}, alone = {0};
                OK(rt_array_slice(&a, 0, i, 1, 1, &x, e));
                alone = applied(op, &x);
                if (memcmp(element(&alone, 0), element(&out, i), rt_dtypes[t].size))
                    FAIL("%s of %a, %a in %s is another one alone", kn_ops[op].name, z.re, z.im, rt_dtypes[t].name);
            }
        }
}

/* ---- products ---- */

#define FNV_PRIME 0x100000001b3u

/* Random numbers whose products are rounded. */
static struct rt_array fractions(enum rt_dtype t, int ndim, const int64_t *shape, uint32_t seed)
{
    struct rt_array a = {0};
    OK(rt_array_new(test_device(), t, ndim, shape, &a, e));
    for (int64_t i = 0; i < rt_array_size(&a); i++) {
        double parts[2];
        for (int p = 0; p < 2; p++) parts[p] = (random_bits(&seed) + random_bits(&seed) * 0x1p-24) * 0x1p-24 - 0.5;
        rt_store_complex(t, element(&a, i), (struct rt_complex){parts[0], parts[1]});
    }
    return a;
}

static double rounded(enum rt_dtype t, double v)
{
    return t == RT_COMPLEX64 ? (float)v : v;
}

/* sum + x * y, rounded where single operations are. */
static struct rt_complex plus_product(enum rt_dtype t, struct rt_complex sum, struct rt_complex x, struct rt_complex y)
{
    double re = rounded(t, rounded(t, x.re * y.re) - rounded(t, x.im * y.im));
    double im = rounded(t, rounded(t, x.re * y.im) + rounded(t, x.im * y.re));
    return (struct rt_complex){rounded(t, sum.re + re), rounded(t, sum.im + im)};
}

static void check_bits(enum rt_dtype t, const struct rt_array *out, int64_t i, struct rt_complex want)
{
    struct rt_complex got = rt_load_complex(t, element(out, i));
    if (got.re != want.re || got.im != want.im)
        FAIL("%s [%lld]: %a %+ai, expected %a %+ai", rt_dtypes[t].name, (long long)i, got.re, got.im, want.re, want.im);
}

/* Of so many columns, in whole registers and not, of rows that are taken several at a time and one by one. */
static void check_products(enum rt_dtype t, int64_t rows, int64_t inner, int64_t columns)
{
    ARRAYS a = fractions(t, 2, (int64_t[]){rows, inner}, 1), b = fractions(t, 2, (int64_t[]){inner, columns}, 2);
    ARRAYS out = {0};
    OK(kn_matmul(&a, &b, &out, e));
    for (int64_t i = 0; i < rows * columns; i++) {
        struct rt_complex sum = {0};
        for (int64_t k = 0; k < inner; k++)
            sum = plus_product(t, sum, rt_load_complex(t, element(&a, i / columns * inner + k)),
                               rt_load_complex(t, element(&b, k * columns + i % columns)));
        check_bits(t, &out, i, sum);
    }
}

TEST(products_are_of_single_operations)
{
    for (enum rt_dtype t = RT_COMPLEX64; t <= RT_COMPLEX128; t++) {
        const int64_t n = 1001;
        ARRAYS a = fractions(t, 1, &n, 1), b = fractions(t, 1, &n, 2), out = {0};
        OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
        for (int64_t i = 0; i < n; i++)
            check_bits(t, &out, i,
                       plus_product(t, (struct rt_complex){0}, rt_load_complex(t, element(&a, i)),
                                    rt_load_complex(t, element(&b, i))));
        for (int64_t columns = 2; columns < 40; columns++) check_products(t, columns % 6 + 1, columns % 9 + 1, columns);
    }
}

static uint64_t with_bits(uint64_t sum, struct rt_array *out)
{
    const unsigned char *p = rt_array_host(out);
    for (int64_t i = 0; i < rt_array_size(out) * rt_dtypes[out->dtype].size; i++) sum = (sum ^ p[i]) * FNV_PRIME;
    rt_array_release(out);
    return sum;
}

static uint64_t bits_of_products(void)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (enum rt_dtype t = RT_COMPLEX64; t <= RT_COMPLEX128; t++) {
        const int64_t n = 900, square[] = {30, 30};
        ARRAYS a = fractions(t, 1, &n, 1), b = fractions(t, 1, &n, 2), c = fractions(t, 1, &n, 3);
        ARRAYS m = fractions(t, 2, square, 4), v = {0};
        struct kn_operand args[] = {of_array(&a), of_array(&b), of_array(&c)};
        static const enum kn_op ops[] = {KN_MUL, KN_DIV, KN_LERP, KN_SQUARE, KN_RECIPROCAL};
        struct rt_array out = {0};
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++, sum = with_bits(sum, &out))
            OK(kn_apply(ops[k], args, &out, e));
        OK(rt_array_slice(&a, 0, 0, 30, 1, &v, e));
        OK(kn_matmul(&m, &v, &out, e));
        sum = with_bits(sum, &out);
        OK(kn_matmul(&v, &m, &out, e));
        sum = with_bits(sum, &out);
        ARRAYS real = test_array(rt_real_of(t), 1, &n, 5, false);
        for (int64_t i = 0; i < n; i++) rt_store_double(real.dtype, element(&real, i), sin((double)i));
        OK(kn_fft(KN_RFFT, &real, 0, n, 1, &out, e));
        sum = with_bits(sum, &out);
    }
    return sum;
}

static uint64_t bits_of_all(void)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (int single = 0; single < 2; single++)
        for (int k = 0; k < LOGARITHMS + TURNED; k++) {
            enum rt_dtype t = single ? RT_COMPLEX64 : RT_COMPLEX128;
            enum kn_op op = k < LOGARITHMS ? logarithms[k] : turned[k - LOGARITHMS];
            ARRAYS a = k < LOGARITHMS ? numbers(t, 0) : turns(t, op), out = applied(op, &a);
            for (int64_t i = 0; i < NUMBERS; i++) {
                struct rt_complex v = rt_load_complex(t, element(&out, i));
                double parts[] = {v.re, v.im};
                for (int p = 0; p < 2; p++) {
                    uint64_t bits = 0x7ff8u; /* NaN is one number, whatever its bits */
                    if (!isnan(parts[p])) memcpy(&bits, &parts[p], sizeof bits);
                    sum = (sum ^ bits) * FNV_PRIME;
                }
            }
        }
    return sum;
}

TEST(they_give_the_same_bits_with_every_instruction_set)
{
    check_levels(bits_of_all);
    check_levels(bits_of_products);
}
