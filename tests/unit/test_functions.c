/* Functions of floating numbers over their ranges, all magnitudes and edges, against long double, within bounds that
 * are tighter than those of the tests of all operations; and the same bits in every layout and with every instruction
 * set. */
#include "tests/unit/levels.h"
#include "tests/unit/ops_reference.h"

/* Where a function is looked at closely, and how many units of the last place of float64 it may be off. */
static const struct function {
    enum kn_op op;
    double low, high, bound;
} functions[] = {
    {KN_SIN, -100, 100, 0.8},    {KN_COS, -100, 100, 0.8},    {KN_TAN, -100, 100, 0.95},
    {KN_SINC, -30, 30, 0.85},    {KN_EXP, -745, 709, 1.01},   {KN_EXP2, -1074, 1023, 1.2},
    {KN_EXPM1, -40, 700, 1.5},   {KN_LOG, 0, 10, 1.5},        {KN_LOG2, 0, 10, 1.5},
    {KN_LOG10, 0, 10, 1.5},      {KN_LOG1P, -1, 10, 1.5},     {KN_SINH, -20, 20, 2.5},
    {KN_COSH, -20, 20, 2.5},     {KN_TANH, -20, 20, 2.5},     {KN_ASIN, -1, 1, 1.5},
    {KN_ACOS, -1, 1, 1.5},       {KN_ATAN, -10, 10, 1.5},     {KN_ASINH, -10, 10, 2.5},
    {KN_ACOSH, 1, 10, 2.5},      {KN_ATANH, -1, 1, 2.5},      {KN_CBRT, -10, 10, 0.51},
    {KN_ERF, -6.5, 6.5, 1.01},   {KN_ERFC, -6.5, 27.5, 1.01}, {KN_GAMMA, 0, 175, 0.8},
    {KN_GAMMA, -20, 0, 3.6},     {KN_DIGAMMA, -20, 0, 4},     {KN_DIGAMMA, 0, 50, 4},
    {KN_POW, 0, 30, 1.01},       {KN_HYPOT, -10, 10, 0.95},   {KN_ERFINV, -1, 1, 2.5},
    {KN_GAMMAINC, 0, 30, 8},     {KN_GAMMAINCC, 0, 30, 8},    {KN_GAMMAINC, 2500, 3500, 8},
    {KN_GAMMAINCC, 0, 1.5, 8},   {KN_J0, -50, 50, 4},         {KN_J1, -50, 50, 4},
    {KN_Y0, 0, 50, 4},           {KN_Y1, 0, 50, 4},           {KN_J0, 7, 3000, 4},
    {KN_J1, -3000, 10, 4},       {KN_Y0, 7, 3000, 4},         {KN_Y1, 7, 3000, 4},
    {KN_I0, -720, 720, 4},       {KN_I0, -10, 10, 4},         {KN_I0E, -30, 30, 4},
    {KN_I1, -10, 10, 4},         {KN_I1E, -30, 30, 4},        {KN_GAMMAINCC, 2500, 3500, 8},
    {KN_BETA, 0, 90, 8},         {KN_ELLIPK, -5, 1, 4},       {KN_ELLIPE, -5, 1, 6},
    {KN_FACTORIAL, 0, 170, 4},   {KN_LGAMMA, 0, 50, 3},       {KN_ERFCX, -27, 30, 4},
    {KN_ERFCINV, 0, 2, 4},       {KN_NDTR, -39, 9, 4},        {KN_LOG_NDTR, -50, 9, 4},
    {KN_NDTRI, 0, 1, 4},         {KN_ERFCINV, 0, 1e-9, 4},    {KN_NDTRI, 0, 1e-9, 4},
    {KN_SOFTPLUS, -745, 40, 2},  {KN_SOFTPLUS, -5, 5, 2},     {KN_LOGADDEXP, -20, 20, 2},
    {KN_LOGADDEXP2, -20, 20, 2}, {KN_ATAN2, -3, 3, 1.5},      {KN_K0, 0, 3, 4},
    {KN_K0, 0, 740, 4},          {KN_K0E, 0, 30, 4},          {KN_K1, 0, 3, 4},
    {KN_K1, 0, 740, 4},          {KN_K1E, 0, 30, 4},          {KN_EXP1, 0, 2, 4},
    {KN_EXP1, 0, 740, 4},        {KN_EXPI, -30, 2, 4},        {KN_EXPI, 0, 30, 4},
    {KN_EXPI, 0, 715, 4},        {KN_EXPI, 0.372, 0.373, 4},  {KN_J0, 0, 1.2, 4},
    {KN_J1, 0, 1.2, 4},          {KN_JV, 0, 25, 12},          {KN_YV, 0, 25, 12},
    {KN_IV, 0, 25, 12},          {KN_IVE, 0, 25, 12},         {KN_KV, 0, 25, 12},
    {KN_KVE, 0, 25, 12},         {KN_GAMMAINCINV, 0, 1, 4},   {KN_GAMMAINCCINV, 0, 1, 4},
    {KN_ELLIPKINC, -5, 1, 8},    {KN_ELLIPEINC, -5, 1, 8},    {KN_ELLIPKINC, 0, 1, 8},
    {KN_ELLIPEINC, 0, 1, 8},     {KN_SININT, -5, 5, 4},       {KN_SININT, 0, 300, 4},
    {KN_COSINT, 0, 5, 8},        {KN_COSINT, 0, 300, 8},      {KN_ERFI, -3, 3, 8},
    {KN_ERFI, 0, 26.6, 8},       {KN_DAWSN, -3, 3, 4},        {KN_DAWSN, 0, 30, 4},
    {KN_FRESNELS, -4, 4, 4},     {KN_FRESNELS, 0, 40, 4},     {KN_FRESNELC, -4, 4, 4},
    {KN_FRESNELC, 0, 40, 4},     {KN_SPENCE, 0, 3, 4},        {KN_SPENCE, 0, 300, 4},
};
#define FUNCTIONS (int)(sizeof functions / sizeof *functions)

static const double edges[] = {
    0.0,
    -0.0,
    INFINITY,
    -INFINITY,
    NAN,
    1,
    -1,
    0.5,
    -0.5,
    2,
    -2,
    0.65,
    0.9,
    1.1,
    1.9,
    8,
    27.3,
    171.5,
    171.625,
    -170.5,
    -183.5,
    -200.5,
    700,
    -700,
    709.7,
    -745.1,
    0x1p-1022,
    -0x1p-1022,
    0x1p-1074,
    -0x1p-1074,
    1e-310,
    0x1.fffffffffffffp1023,
    0x1.921fb54442d18p0,
    -0x1.921fb54442d18p1,
    0x1.2d97c7f3321d2p1,
    1e5,
    0x1p40,
    0x1.0000000000001p40,
    1e22,
    -1e300,
    2.5,
    0x1.762d86356be3fp0,
    1e-8,
    -1e-8,
    0x1p-126,
    0x1p-149,
    88.7,
    -103.9,
    35.04,
    0.999,
    -0.99999,
    4503599627370497.5,
    0x1.fffffffffffffp-1,
    -0x1.fffffff8p-1,
    2.75,
    0x1p28,
    0x1.0000000000001p28,
    0x1.fffffcp-16,
    4,
    -4,
    10.1,
    0x1p-400,
    -0x1p500,
    710.4,
    -710.5,
    104.5,
};
#define EDGES (int)(sizeof edges / sizeof *edges)

enum { NUMBERS = 1500 };

/* The edges, numbers of the range, and some of every size. */
static struct rt_array numbers(enum rt_dtype t, const struct function *f, uint32_t seed)
{
    int64_t n = NUMBERS;
    struct rt_array a = {0};
    uint64_t state = seed + 88172645463325252u;
    OK(rt_array_new(test_device(), t, 1, &n, &a, e));
    for (int64_t i = 0; i < n; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        double part = (double)(state >> 11) * 0x1p-53, v = f->low + (f->high - f->low) * part;
        if (i < EDGES) v = seed % 2 ? edges[i] : edges[(7 * i + 3) % EDGES];
        if (i >= EDGES && i % 5 == 0) v = copysign(exp2((part - 0.5) * (t == RT_FLOAT64 ? 2000 : 250)), f->low + 1);
        rt_store_double(t, element(&a, i), v);
    }
    return a;
}

static struct rt_array applied(enum kn_op op, const struct rt_array *a, const struct rt_array *b)
{
    struct rt_array out = {0};
    OK(kn_apply(op, (struct kn_operand[]){of_array(a), of_array(b)}, &out, e));
    return out;
}

/* Of float32. The elementary ones compute in it; the others in float64, and lack little more far from their ranges. */
static long double bound_of_float32(const struct function *f, double x, double y)
{
    bool within = x >= f->low && x <= f->high && (kn_ops[f->op].arity == 1 || (y >= f->low && y <= f->high));
    switch (f->op) {
    case KN_EXP:
    case KN_EXP2:
    case KN_LOG:
    case KN_LOG2:
    case KN_LOG10: return 1.02L;
    case KN_SIN:
    case KN_COS:
    case KN_ACOS:
    case KN_SINH:
    case KN_COSH: return 1.25L;
    case KN_EXPM1:
    case KN_LOG1P:
    case KN_TANH:
    case KN_ATAN:
    case KN_ATAN2:
    case KN_ATANH: return 1.5L;
    case KN_ASIN:
    case KN_ASINH:
    case KN_ACOSH: return 2;
    case KN_TAN: return 2.2L;
    case KN_ERFINV: return 1;
    default: return within ? 0.52L : 0.6L;
    }
}

/* Far from its range functions are as good as where they are looked at, but for digamma's zeros below 0 in float64. */
static void check_function(const struct function *f, enum rt_dtype t)
{
    ARRAYS a = numbers(t, f, 1), b = numbers(t, f, 2), out = applied(f->op, &a, &b);
    for (int64_t i = 0; i < NUMBERS; i++) {
        double x = get(&a, i), y = get(&b, i), got = get(&out, i);
        if ((f->op == KN_GAMMA || f->op == KN_LGAMMA) && f->low >= 0 && x < 0) continue;
        if (f->op >= KN_JV && f->op <= KN_KVE && !knows_order(x, y)) continue;
        bool inverse = f->op == KN_GAMMAINCINV || f->op == KN_GAMMAINCCINV;
        if (inverse && fmin(y, 1 - y) < 0x1p-1000) continue; /* probabilities of too few digits */
        long double want = reference_float(f->op, x, y, 0), size = want, bound = f->bound;
        if (t == RT_FLOAT32) bound = bound_of_float32(f, x, y);
        /* Sums and differences lack what the greater of what they are of does. */
        if (f->op == KN_LOGADDEXP || f->op == KN_LOGADDEXP2) size = fmaxl(fabsl(want), fminl(fabs(x), fabs(y)));
        /* Exponents of large numbers are known to so many of their own digits; Bessel functions near a zero to so many
         * of how far they swing. */
        if (f->op == KN_GAMMAINC || f->op == KN_GAMMAINCC) size *= 4 + fabsl(logl(want));
        if (f->op == KN_BETA) size *= 1 + fabsl(logl(want)) / 4;
        if (inverse) size = size_within(f->op, (long double[]){x, y, 0});
        if ((f->op == KN_JV || f->op == KN_YV) && y > x) size = fmaxl(fabsl(want), 1 / sqrtl(1 + y));
        if (f->op == KN_COSINT) size = fmaxl(fabsl(want), 1 / (1 + fabs(x)));
        if (f->op >= KN_J0 && f->op <= KN_Y1) size = fmaxl(fabsl(want), 1 / sqrtl(1 + fabs(x)));
        if (f->op == KN_Y0 && x < 0x1p-1022) size *= 256; /* the C library's logarithms */
        if (f->op == KN_DIGAMMA && t == RT_FLOAT64) size = x < 0 ? 8 + 4 * fabsl(want) : fmaxl(fabsl(want), 0.25L);
        char stored[8];
        rt_store_double(t, stored, (double)want);
        double rounded = rt_load_double(t, stored);
        if (isnan(want) ? isnan(got) : got == rounded && signbit(got) == signbit(rounded)) continue;
        if (isfinite(got) && fabsl(got - want) <= bound * ulp(t, size)) continue;
        FAIL("%s of %a, %a in %s: %a, expected %La, %.3Lf units off", kn_ops[f->op].name, x, y, rt_dtypes[t].name, got,
             want, fabsl(got - want) / ulp(t, size));
    }
}

TEST(functions_are_as_good_as_said)
{
    for (int k = 0; k < FUNCTIONS; k++) {
        check_function(&functions[k], RT_FLOAT64);
        check_function(&functions[k], RT_FLOAT32);
    }
}

/* Where it is the difference of two numbers that are nearly the same. */
TEST(digamma_of_float32_is_as_good_beside_its_zeros)
{
    static const float zeros[] = {-0.504083f, -1.573498f, -2.610721f, -3.635293f, -4.653238f,
                                  -5.667162f, -6.678418f, -7.687788f, -8.695764f, 1.461632f};
    enum { SIDE = 400 };
    int64_t n = 2 * SIDE + 1;
    for (size_t k = 0; k < sizeof zeros / sizeof *zeros; k++) {
        ARRAYS a = {0}, out = {0};
        float x = zeros[k];
        OK(rt_array_new(test_device(), RT_FLOAT32, 1, &n, &a, e));
        for (int i = 0; i < SIDE; i++) x = nextafterf(x, -100);
        for (int64_t i = 0; i < n; i++, x = nextafterf(x, 100)) rt_store_double(RT_FLOAT32, element(&a, i), x);
        out = applied(KN_DIGAMMA, &a, &a);
        for (int64_t i = 0; i < n; i++) {
            long double want = reference_float(KN_DIGAMMA, get(&a, i), 0, 0), off = fabsl(get(&out, i) - want);
            if (!(off <= 0.52L * ulp(RT_FLOAT32, want)))
                FAIL("digamma of %a: %a, expected %La, %.3Lf units off", get(&a, i), get(&out, i), want,
                     off / ulp(RT_FLOAT32, want));
        }
    }
}

/* Also against infinity, and where the quotient is no number of the dtype. */
TEST(atan2_of_all_magnitudes)
{
    static const double sizes[] = {0, 1e-45, 1e-38, 1, 0x1p51, 1e20, 3e38, INFINITY};
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_BFLOAT16, RT_FLOAT64};
    enum { SIZES = 2 * sizeof sizes / sizeof *sizes };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        enum rt_dtype t = dtypes[k];
        int64_t n = SIZES * SIZES;
        ARRAYS a = {0}, b = {0}, out = {0};
        OK(rt_array_new(test_device(), t, 1, &n, &a, e));
        OK(rt_array_new(test_device(), t, 1, &n, &b, e));
        for (int64_t i = 0; i < n; i++) {
            int y = (int)(i / SIZES), x = (int)(i % SIZES);
            rt_store_double(t, element(&a, i), copysign(sizes[y / 2], y % 2 ? -1 : 1));
            rt_store_double(t, element(&b, i), copysign(sizes[x / 2], x % 2 ? -1 : 1));
        }
        out = applied(KN_ATAN2, &a, &b);
        for (int64_t i = 0; i < n; i++) {
            double got = get(&out, i);
            long double want = atan2l(get(&a, i), get(&b, i)), bound = 1.5L;
            if (!signbit(got) != !signbit(want) || !(fabsl(got - want) <= bound * ulp(t, want)))
                FAIL("atan2 of %a, %a in %s: %a, expected %La", get(&a, i), get(&b, i), rt_dtypes[t].name, got, want);
        }
    }
}

/* Every second element, a single one, and into the operand itself. */
TEST(functions_give_the_same_bits_in_every_layout)
{
    for (int k = 0; k < FUNCTIONS; k++)
        for (int single = 0; single < 2; single++) {
            enum kn_op op = functions[k].op;
            enum rt_dtype t = single ? RT_FLOAT32 : RT_FLOAT64;
            size_t size = rt_dtypes[t].size;
            ARRAYS a = numbers(t, &functions[k], 3), b = numbers(t, &functions[k], 4), out = applied(op, &a, &b);
            ARRAYS x = {0}, y = {0}, second = {0};
            OK(rt_array_slice(&a, 0, 1, NUMBERS / 2, 2, &x, e));
            OK(rt_array_slice(&b, 0, 1, NUMBERS / 2, 2, &y, e));
            second = applied(op, &x, &y);
            for (int64_t i = 0; i < NUMBERS / 2; i++)
                if (memcmp(element(&second, i), element(&out, 2 * i + 1), size))
                    FAIL("%s [%lld]: %a, by itself %a", kn_ops[op].name, (long long)i, get(&out, 2 * i + 1),
                         get(&second, i));
            for (int64_t i = 0; i < NUMBERS; i += 11) {
                ARRAYS p = {0}, q = {0}, one = {0};
                OK(rt_array_slice(&a, 0, i, 1, 1, &p, e));
                OK(rt_array_slice(&b, 0, i, 1, 1, &q, e));
                one = applied(op, &p, &q);
                if (memcmp(element(&one, 0), element(&out, i), size))
                    FAIL("%s of %a: %a, alone %a", kn_ops[op].name, get(&a, i), get(&out, i), get(&one, 0));
            }
            struct rt_array *to = k % 2 && kn_ops[op].arity == 2 ? &b : &a;
            OK(kn_apply(op, (struct kn_operand[]){of_array(&a), of_array(&b)}, to, e));
            CHECK(memcmp(rt_array_host(to), rt_array_host(&out), (size_t)NUMBERS * size) == 0);
        }
}

/* Exponents that are numbers take ways of their own, which those of arrays and of elements apart do not. */
TEST(powers_by_a_number_give_the_same_bits_in_every_layout)
{
    static const double exponents[] = {2, -1, 0.5, 3, -2, 0, 1, 1.5};
    for (int single = 0; single < 2; single++)
        for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
            enum rt_dtype t = single ? RT_FLOAT32 : RT_FLOAT64;
            struct kn_operand number = {.is_float = true, .f = exponents[k]};
            ARRAYS a = numbers(t, &functions[0], 7), b = {0}, x = {0}, out = {0}, second = {0}, by = {0};
            int64_t n = NUMBERS;
            OK(rt_array_new(test_device(), t, 1, &n, &b, e));
            for (int64_t i = 0; i < n; i++) rt_store_double(t, element(&b, i), exponents[k]);
            OK(rt_array_slice(&a, 0, 1, NUMBERS / 2, 2, &x, e));
            OK(kn_apply(KN_POW, (struct kn_operand[]){of_array(&a), number}, &out, e));
            OK(kn_apply(KN_POW, (struct kn_operand[]){of_array(&x), number}, &second, e));
            OK(kn_apply(KN_POW, (struct kn_operand[]){of_array(&a), of_array(&b)}, &by, e));
            CHECK(out.dtype == t && second.dtype == t);
            for (int64_t i = 0; i < n; i++) {
                double v = get(&out, i), w = get(&by, i), u = get(&second, i / 2);
                if (memcmp(&v, &w, sizeof v) && !(isnan(v) && isnan(w)))
                    FAIL("%a ^ %g: %a, by an array %a", get(&a, i), exponents[k], v, w);
                if (i % 2 && memcmp(&v, &u, sizeof v) && !(isnan(v) && isnan(u)))
                    FAIL("%a ^ %g: %a, of every second one %a", get(&a, i), exponents[k], v, u);
            }
        }
}

static uint64_t bits_of_functions(void)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (int k = 0; k < FUNCTIONS; k++)
        for (int single = 0; single < 2; single++) {
            enum rt_dtype t = single ? RT_FLOAT32 : RT_FLOAT64;
            ARRAYS a = numbers(t, &functions[k], 5), b = numbers(t, &functions[k], 6),
                   out = applied(functions[k].op, &a, &b);
            for (int64_t i = 0; i < NUMBERS; i++) {
                double v = get(&out, i);
                uint64_t bits = 0x7ff8u; /* NaN is one number, whatever its bits */
                if (!isnan(v)) memcpy(&bits, &v, sizeof bits);
                sum = (sum ^ bits) * 0x100000001b3u;
            }
        }
    return sum;
}

TEST(functions_give_the_same_bits_with_every_instruction_set)
{
    check_levels(bits_of_functions);
}
