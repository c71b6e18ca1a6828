/* Every operation of ops.def in every dtype, against a plain reference, over layouts of all kinds. */
#include "kernels/program.h"
#include "runtime/interrupt.h"
#include "tests/unit/reference.h"

/* The reference: integer operations in __int128, floating ones in long double, written apart from ops.def. */

static bool is_floating(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f';
}

static int bits_of(enum rt_dtype t)
{
    return t == RT_BOOL ? 0 : 8 * rt_dtypes[t].size;
}

static __int128 floor_quotient(__int128 a, __int128 b)
{
    if (b == 0) return 0;
    __int128 q = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

static __int128 shifted(__int128 a, __int128 places, int bits)
{
    if (places >= bits) return 0;
    if (places >= 0) return a * ((__int128)1 << places);
    if (places < -bits) places = -bits;
    return floor_quotient(a, (__int128)1 << -places);
}

static __int128 common_divisor(__int128 a, __int128 b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Of integers of so many bits (bools: 0), exactly; the caller wraps. */
static __int128 reference_int(enum kn_op op, __int128 a, __int128 b, __int128 c, int bits)
{
    switch (op) {
    case KN_ADD: return a + b;
    case KN_SUB: return a - b;
    case KN_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case KN_FLOORDIV: return floor_quotient(a, b);
    case KN_MOD: return b == 0 ? 0 : a - floor_quotient(a, b) * b;
    case KN_NEG: return -a;
    case KN_CONJ: return a;
    case KN_ABS: return a < 0 ? -a : a;
    case KN_SIGN: return a == 0 ? 0 : a > 0 ? 1 : -1;
    case KN_SQUARE: return (__int128)((unsigned __int128)a * (unsigned __int128)a);
    case KN_MINIMUM: return b < a ? b : a;
    case KN_MAXIMUM: return b > a ? b : a;
    case KN_CLIP: a = b > a ? b : a; return c < a ? c : a;
    case KN_FMIN: return b < a ? b : a;
    case KN_FMAX: return b > a ? b : a;
    case KN_FMA: return (__int128)((unsigned __int128)a * (unsigned __int128)b) + c;
    case KN_GCD: return common_divisor(a, b);
    case KN_LCM: a = a < 0 ? -a : a, b = b < 0 ? -b : b; return a == 0 || b == 0 ? 0 : a / common_divisor(a, b) * b;
    case KN_WHERE: return a != 0 ? b : c;
    case KN_FLOOR:
    case KN_CEIL:
    case KN_ROUND:
    case KN_TRUNC: return a;
    case KN_RELU: return a > 0 ? a : 0;
    case KN_EQ: return a == b;
    case KN_NE: return !(a == b);
    case KN_LT: return b > a;
    case KN_LE: return !(a > b);
    case KN_GT: return !(a <= b);
    case KN_GE: return !(b > a);
    case KN_LOGICAL_AND: return a != 0 && b != 0;
    case KN_LOGICAL_OR: return a != 0 || b != 0;
    case KN_LOGICAL_XOR: return (a != 0) != (b != 0);
    case KN_LOGICAL_NOT: return a == 0;
    case KN_BITWISE_AND: return a & b;
    case KN_BITWISE_OR: return a | b;
    case KN_BITWISE_XOR: return a ^ b;
    case KN_BITWISE_NOT: return bits == 0 ? a == 0 : -a - 1;
    case KN_LEFT_SHIFT: return shifted(a, b, bits);
    case KN_RIGHT_SHIFT: return b < 0 || b < bits ? shifted(a, -b, bits) : a < 0 ? -1 : 0;
    default: FAIL("no integer reference for %s", kn_ops[op].name);
    }
}

/* Where erf is x, halving the interval; erfc near 1, where erf is blunt. */
static long double erf_inverse(long double x)
{
    long double low = 0, high = 40, size = fabsl(x);
    if (!(size < 1)) return size == 1 ? copysignl(INFINITY, x) : NAN;
    for (int i = 0; i < 200; i++) {
        long double y = (low + high) / 2;
        bool below = size > 0.25L ? erfcl(y) > 1 - size : erfl(y) < size;
        if (below)
            low = y;
        else
            high = y;
    }
    return copysignl(low, x);
}

/* From far out, where few terms of the series are exact. */
static long double psi(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (isnan(x) || x == -INFINITY || (x <= 0 && x == floorl(x))) return NAN;
    if (x < 0) return psi(1 - x) - pi / tanl(pi * (x - rintl(x)));
    long double sum = 0;
    for (; x < 300; x += 1) sum += 1 / x;
    return logl(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x) - 1 / (252 * powl(x, 6)) - sum;
}

static long double sine_cardinal(long double x)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    if (x == 0) return 1;
    if (isinf(x)) return NAN;
    long double r = remainderl(x, 2);
    return (x == rintl(x) ? 0 : sinl(pi * r)) / (pi * x);
}

static long double reference_float(enum kn_op op, long double a, long double b, long double c)
{
    switch (op) {
    case KN_ADD: return a + b;
    case KN_SUB: return a - b;
    case KN_MUL: return a * b;
    case KN_DIV: return a / b;
    case KN_FLOORDIV: return floorl(a / b);
    case KN_MOD: {
        long double r = fmodl(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case KN_POW: return powl(a, b);
    case KN_NEG: return -a;
    case KN_CONJ: return a;
    case KN_ABS: return fabsl(a);
    case KN_SIGN: return isnan(a) ? a : a == 0 ? 0 : copysignl(1, a);
    case KN_SQUARE: return a * a;
    case KN_RECIPROCAL: return 1 / a;
    case KN_FMOD: return fmodl(a, b);
    case KN_REMAINDER: return remainderl(a, b);
    case KN_FDIM: return fdiml(a, b);
    case KN_HYPOT: return hypotl(a, b);
    case KN_MINIMUM: return isnan(a) || isnan(b) ? NAN : fminl(a, b);
    case KN_MAXIMUM: return isnan(a) || isnan(b) ? NAN : fmaxl(a, b);
    case KN_CLIP: a = a < b ? b : a; return a > c ? c : a;
    case KN_COPYSIGN: return copysignl(a, b);
    case KN_HEAVISIDE: return isnan(a) ? a : a == 0 ? b : a > 0;
    case KN_LDEXP: return isnan(b) ? b : ldexpl(a, (int)fmaxl(-20000, fminl(b, 20000)));
    case KN_FMA: return fmal(a, b, c);
    case KN_LERP: return a + c * (b - a);
    case KN_FMIN: return fminl(a, b);
    case KN_FMAX: return fmaxl(a, b);
    case KN_LOGADDEXP: return a == b ? a + logl(2) : a - b != a - b ? NAN : fmaxl(a, b) + log1pl(expl(-fabsl(a - b)));
    case KN_LOGADDEXP2: return a == b ? a + 1 : a - b != a - b ? NAN : fmaxl(a, b) + log2l(1 + exp2l(-fabsl(a - b)));
    case KN_XLOGY: return a == 0 && !isnan(b) ? 0 : a * logl(b);
    case KN_LOGIT: return logl(a) - logl(1 - a);
    case KN_SINC: return sine_cardinal(a);
    case KN_DEG2RAD: return a / 180 * acosl(-1);
    case KN_RAD2DEG: return a * 180 / acosl(-1);
    case KN_LEAKY_RELU: return a < 0 ? a * b : a;
    case KN_ELU: return a < 0 ? b * expm1l(a) : a;
    case KN_GELU: return a * erfcl(-a / sqrtl(2)) / 2;
    case KN_SILU: return a / (1 + expl(-a));
    case KN_SOFTPLUS: return a > 40 ? a + expl(-a) : log1pl(expl(a));
    case KN_ERFC: return erfcl(a);
    case KN_ERFINV: return erf_inverse(a);
    case KN_DIGAMMA: return psi(a);
    case KN_ISPOSINF: return a == INFINITY;
    case KN_ISNEGINF: return a == -INFINITY;
    case KN_SIGNBIT: return signbit(a) != 0;
    case KN_WHERE: return a != 0 ? b : c;
    case KN_FLOOR: return floorl(a);
    case KN_CEIL: return ceill(a);
    case KN_ROUND: return isinf(a) ? a : a - remainderl(a, 1);
    case KN_TRUNC: return truncl(a);
    case KN_SQRT: return sqrtl(a);
    case KN_RSQRT: return 1 / sqrtl(a);
    case KN_CBRT: return cbrtl(a);
    case KN_EXP: return expl(a);
    case KN_EXP2: return exp2l(a);
    case KN_EXPM1: return expm1l(a);
    case KN_LOG: return logl(a);
    case KN_LOG2: return log2l(a);
    case KN_LOG10: return log10l(a);
    case KN_LOG1P: return log1pl(a);
    case KN_LOGB: return logbl(a);
    case KN_SIN: return sinl(a);
    case KN_COS: return cosl(a);
    case KN_TAN: return tanl(a);
    case KN_ASIN: return asinl(a);
    case KN_ACOS: return acosl(a);
    case KN_ATAN: return atanl(a);
    case KN_ATAN2: return atan2l(a, b);
    case KN_SINH: return sinhl(a);
    case KN_COSH: return coshl(a);
    case KN_TANH: return tanhl(a);
    case KN_ASINH: return asinhl(a);
    case KN_ACOSH: return acoshl(a);
    case KN_ATANH: return atanhl(a);
    case KN_SIGMOID: return 1 / (1 + expl(-a));
    case KN_RELU: return a < 0 ? 0 : a;
    case KN_ERF: return erfl(a);
    case KN_LGAMMA: return lgammal(a);
    case KN_GAMMA: return tgammal(a);
    case KN_EQ: return a == b;
    case KN_NE: return !(a == b);
    case KN_LT: return isless(a, b);
    case KN_LE: return islessequal(a, b);
    case KN_GT: return isgreater(a, b);
    case KN_GE: return isgreaterequal(a, b);
    case KN_ISNAN: return isnan(a) != 0;
    case KN_ISINF: return isinf(a) != 0;
    case KN_ISFINITE: return isfinite(a) != 0;
    case KN_LOGICAL_AND: return a != 0 && b != 0;
    case KN_LOGICAL_OR: return a != 0 || b != 0;
    case KN_LOGICAL_XOR: return (a != 0) != (b != 0);
    case KN_LOGICAL_NOT: return a == 0;
    default: FAIL("no floating reference for %s", kn_ops[op].name);
    }
}

/* Units in the last place of dtype t at v. */
static long double ulp(enum rt_dtype t, long double v)
{
    int digits = t == RT_FLOAT64 ? 53 : t == RT_FLOAT32 ? 24 : t == RT_FLOAT16 ? 11 : 8;
    int lowest = t == RT_FLOAT64 ? -1074 : t == RT_FLOAT16 ? -24 : t == RT_FLOAT32 ? -149 : -133;
    int exponent;
    frexpl(v, &exponent);
    return ldexpl(1, exponent - digits > lowest ? exponent - digits : lowest);
}

/* How far a result may be from the exact value, in units of the last place: half a unit for what IEEE defines. */
static long double tolerance(enum kn_op op)
{
    switch (op) {
    case KN_ADD:
    case KN_SUB:
    case KN_MUL:
    case KN_DIV:
    case KN_SQRT:
    case KN_SQUARE:
    case KN_RECIPROCAL: return 0.5001L;
    case KN_LGAMMA:
    case KN_GAMMA: return 16;
    case KN_RSQRT: return 1.5L;
    case KN_POW:
    case KN_SIGMOID: return 4;
    default: return 2.5L;
    }
}

/* How large the numbers are that a sum within the operation is made of, where their difference may be far smaller; 0
 * for operations that have no such sum. The last bits of what gelu gives to erfc count as often as its square. */
static long double size_within(enum kn_op op, const long double *x)
{
    switch (op) {
    case KN_LERP: return fabsl(x[0]) + fabsl(x[2]) * (fabsl(x[0]) + fabsl(x[1]));
    case KN_LOGADDEXP:
    case KN_LOGADDEXP2: return fabsl(x[0]) + fabsl(x[1]);
    case KN_DIGAMMA: return 8 + fabsl(psi(x[0]));
    case KN_LOGIT: return 1;
    case KN_GELU: return (1 + x[0] * x[0]) * fabsl(reference_float(op, x[0], 0, 0)) + fabsl(x[0]) * 0x1p-126L;
    default: return 0;
    }
}

static void check_float(enum kn_op op, enum rt_dtype t, enum rt_dtype result, double got, const long double *x,
                        int64_t i)
{
    long double want = reference_float(op, x[0], x[1], x[2]);
    if (result != t || !is_floating(result)) {
        if (got != (double)want)
            FAIL("%s %s [%lld]: %Lg %Lg %Lg gives %g, expected %Lg", kn_ops[op].name, rt_dtypes[t].name, (long long)i,
                 x[0], x[1], x[2], got, want);
        return;
    }
    char stored[8];
    rt_store_double(result, stored, (double)want);
    double rounded = rt_load_double(result, stored);
    if (isnan(want) ? isnan(got) : got == rounded) return;
    /* The quotient's rounding may reach the whole number that the exact quotient stays below. */
    if (op == KN_FLOORDIV && fabsl(got - want) <= 1) return;
    /* lgamma near its zeros is only good absolutely. */
    if (op == KN_LGAMMA && fabsl(got - want) < 1e-5L) return;
    if (isfinite(got) && fabsl(got - want) <= 4 * ulp(result, size_within(op, x))) return;
    if (isfinite(got) && isfinite(want) && fabsl(got - want) <= tolerance(op) * ulp(result, want)) return;
    /* A huge argument's last bits decide an overflow. */
    if (isinf(rounded) && fabs(got) > 3e38 && op != KN_ADD && op != KN_MUL) return;
    FAIL("%s %s [%lld]: %Lg %Lg %Lg gives %.17g, expected %.17Lg", kn_ops[op].name, rt_dtypes[t].name, (long long)i,
         x[0], x[1], x[2], got, want);
}

/* One operation with array operands, all elements checked. computed: the dtype computed in; all arrays already fit. */
static void check_result(enum kn_op op, enum rt_dtype computed, const struct rt_array *const *args,
                         const struct rt_array *out)
{
    int64_t n = rt_array_size(out);
    for (int64_t i = 0; i < n; i++) {
        long double x[3] = {0};
        __int128 v[3] = {0};
        for (int k = 0; k < kn_ops[op].arity; k++) {
            const char *at = element_in(args[k], out->ndim, out->shape, i);
            int64_t bits = rt_load_int(args[k]->dtype, at);
            x[k] = rt_load_double(args[k]->dtype, at);
            v[k] = args[k]->dtype == RT_UINT64 ? (__int128)(uint64_t)bits : bits;
            if (!is_floating(args[k]->dtype)) x[k] = (long double)v[k];
            if (computed == RT_FLOAT32 && !is_floating(args[k]->dtype)) x[k] = (float)x[k];
            if (computed == RT_FLOAT64 && !is_floating(args[k]->dtype)) x[k] = (double)x[k];
        }
        if (is_floating(computed)) {
            check_float(op, computed, out->dtype, get(out, i), x, i);
            continue;
        }
        char want[8];
        rt_store_int(out->dtype, want, (int64_t)reference_int(op, v[0], v[1], v[2], bits_of(computed)));
        if (rt_load_int(out->dtype, want) != get_int(out, i))
            FAIL("%s %s [%lld]: %lld %lld %lld gives %lld, expected %lld", kn_ops[op].name, rt_dtypes[computed].name,
                 (long long)i, (long long)v[0], (long long)v[1], (long long)v[2], (long long)get_int(out, i),
                 (long long)rt_load_int(out->dtype, want));
    }
}

/* The operation has no meaning for floating operands. */
static bool integers_only(enum kn_op op)
{
    return op >= KN_BITWISE_AND && op <= KN_LCM;
}

static bool needs_floats(enum kn_op op)
{
    enum kn_rule r = kn_op_texts[op].rule;
    return r == KN_RULE_FLOAT || r == KN_RULE_PREDICATE;
}

/* The dtype that an operation on arrays of one dtype computes in, as documented. */
static enum rt_dtype expected_dtype(enum kn_op op, enum rt_dtype t)
{
    bool keeps_bools = op == KN_WHERE || (op >= KN_LOGICAL_AND && op <= KN_BITWISE_NOT);
    if (needs_floats(op) && !is_floating(t)) return rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
    return t == RT_BOOL && !keeps_bools ? RT_INT32 : t;
}

static bool gives_bool(enum kn_op op)
{
    return op >= KN_EQ && op <= KN_LOGICAL_NOT;
}

static void check_op(enum kn_op op, enum rt_dtype t, int ndim, const int64_t *shape, bool special)
{
    struct rt_array a[3];
    ARRAYS out = {0};
    struct kn_operand args[3];
    const struct rt_array *pointers[3];
    for (int k = 0; k < kn_ops[op].arity; k++) {
        a[k] = test_array(t, ndim, shape, (uint32_t)(k + 1) * 77 + (uint32_t)op, special);
        args[k] = of_array(&a[k]);
        pointers[k] = &a[k];
    }
    if (integers_only(op) && is_floating(t)) {
        FAILS(RT_INVALID, kn_ops[op].name, kn_apply(op, args, &out, e));
    } else {
        enum rt_dtype computed = expected_dtype(op, t), result = gives_bool(op) ? RT_BOOL : computed, said;
        OK(kn_result_dtype(op, args, &said, e));
        CHECK_INT(said, result);
        OK(kn_apply(op, args, &out, e));
        CHECK_INT(out.dtype, result);
        /* bools are 0 and 1 in arithmetic, so the reference's bits are int32's */
        check_result(op, computed, pointers, &out);
    }
    for (int k = 0; k < kn_ops[op].arity; k++) rt_array_release(&a[k]);
    rt_array_release(&out);
}

static void check_all(bool special)
{
    static const int64_t shape[] = {3, 117};
    for (int op = 0; op < KN_OP_COUNT; op++)
        for (int t = 0; t < RT_COMPLEX64; t++) check_op((enum kn_op)op, (enum rt_dtype)t, 2, shape, special);
}

TEST(ops_every_dtype)
{
    check_all(false);
}

TEST(ops_special_values)
{
    check_all(true);
}

TEST(ops_sizes)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 64, 2047, 2048, 2049, 5000, 70001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_op(KN_ADD, RT_FLOAT32, 1, &sizes[i], false);
        check_op(KN_MUL, RT_INT8, 1, &sizes[i], true);
        check_op(KN_LT, RT_FLOAT64, 1, &sizes[i], true);
        check_op(KN_WHERE, RT_FLOAT16, 1, &sizes[i], false);
    }
}

TEST(ops_scalar_arrays)
{
    check_op(KN_SUB, RT_FLOAT32, 0, NULL, false);
    check_op(KN_NEG, RT_INT64, 0, NULL, true);
}

/* Layouts: for each a view of a bigger array. */

enum layout { PLAIN, TRANSPOSED, REVERSED, STEPPED, ROW, COLUMN, ONE, LAYOUTS };

static struct rt_array view(enum layout layout, enum rt_dtype t, int64_t rows, int64_t columns, uint32_t seed)
{
    struct rt_array whole, out = {0}, half;
    int64_t plain[] = {rows, columns}, turned[] = {columns, rows}, bigger[] = {2 * rows + 1, 3 * columns};
    int64_t row[] = {columns}, column[] = {rows, 1};
    switch (layout) {
    case PLAIN: return test_array(t, 2, plain, seed, false);
    case TRANSPOSED:
        whole = test_array(t, 2, turned, seed, false);
        OK(rt_array_permute(&whole, (int[]){1, 0}, &out, e));
        break;
    case REVERSED:
        whole = test_array(t, 2, plain, seed, false);
        OK(rt_array_slice(&whole, 0, rows - 1, rows, -1, &half, e));
        OK(rt_array_slice(&half, 1, columns - 1, columns, -1, &out, e));
        rt_array_release(&half);
        break;
    case STEPPED:
        whole = test_array(t, 2, bigger, seed, false);
        OK(rt_array_slice(&whole, 0, 1, rows, 2, &half, e));
        OK(rt_array_slice(&half, 1, 2, columns, 3, &out, e));
        rt_array_release(&half);
        break;
    case ROW: return test_array(t, 1, row, seed, false);
    case COLUMN: return test_array(t, 2, column, seed, false);
    default: return test_array(t, 0, NULL, seed, false);
    }
    rt_array_release(&whole);
    return out;
}

static void check_layouts(int64_t rows, int64_t columns)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT32, RT_INT16, RT_FLOAT64};
    int64_t shape[] = {rows, columns};
    for (int x = 0; x < LAYOUTS; x++)
        for (int y = 0; y < LAYOUTS; y++)
            for (int z = PLAIN; z <= STEPPED; z++) {
                enum rt_dtype t = dtypes[(x + y + z) % 3];
                ARRAYS a = view((enum layout)x, t, rows, columns, 5), b = view((enum layout)y, t, rows, columns, 6);
                ARRAYS out = view((enum layout)z, t, rows, columns, 7);
                struct kn_operand args[] = {of_array(&a), of_array(&b)};
                OK(kn_apply(KN_SUB, args, &out, e));
                CHECK(rt_array_same_shape(&out, &(struct rt_array){.ndim = 2, .shape = {shape[0], shape[1]}}));
                check_result(KN_SUB, t, (const struct rt_array *const[]){&a, &b}, &out);
                rt_array_release(&a);
                rt_array_release(&b);
                rt_array_release(&out);
            }
}

TEST(ops_layouts_small_rows)
{
    check_layouts(31, 5);
}

TEST(ops_layouts_long_rows)
{
    check_layouts(3, 2500);
}

TEST(ops_many_axes)
{
    int64_t shape[] = {2, 3, 1, 2, 5, 3}, small[] = {3, 1, 2, 1, 3};
    ARRAYS a = test_array(RT_FLOAT32, 6, shape, 1, false), b = test_array(RT_FLOAT32, 5, small, 2, false), p = {0},
           out = {0};
    OK(rt_array_permute(&a, (int[]){5, 1, 2, 3, 4, 0}, &p, e));
    int64_t other[] = {3, 3, 1, 2, 5, 2};
    ARRAYS c = test_array(RT_FLOAT32, 6, other, 3, false);
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&p), of_array(&c)}, &out, e));
    check_result(KN_MUL, RT_FLOAT32, (const struct rt_array *const[]){&p, &c}, &out);
    rt_array_release(&out);
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, RT_FLOAT32, (const struct rt_array *const[]){&a, &b}, &out);
}

/* In place, and into views that overlap the operands. */

TEST(ops_in_place)
{
    int64_t n = 5000;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 3, false), was = {0};
    OK(kn_convert(&x, RT_FLOAT32, test_device(), &was, e));
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&x), of_array(&x)}, &x, e));
    check_result(KN_MUL, RT_FLOAT32, (const struct rt_array *const[]){&was, &was}, &x);
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&was), int_number(1)}, &was, e));
    CHECK_INT(rt_array_size(&was), n);
}

static void check_overlap(int64_t from, int64_t from_step, int64_t to, int64_t to_step, enum rt_dtype t)
{
    int64_t n = 3000, whole_size = 9001;
    ARRAYS whole = test_array(t, 1, &whole_size, 4, false), copy = {0}, a = {0}, b = {0}, out = {0};
    OK(kn_convert(&whole, t, test_device(), &copy, e));
    OK(rt_array_slice(&whole, 0, from, n, from_step, &a, e));
    OK(rt_array_slice(&copy, 0, from, n, from_step, &b, e));
    OK(rt_array_slice(&whole, 0, to, n, to_step, &out, e));
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, t, (const struct rt_array *const[]){&b, &b}, &out);
    OK(kn_copy(&out, &a, e));
    rt_array_release(&whole), rt_array_release(&copy), rt_array_release(&a), rt_array_release(&b),
        rt_array_release(&out);
}

TEST(ops_overlap)
{
    check_overlap(0, 1, 1, 1, RT_FLOAT32);
    check_overlap(1, 1, 0, 1, RT_FLOAT32);
    check_overlap(2999, -1, 0, 1, RT_FLOAT64);
    check_overlap(0, 2, 0, 3, RT_INT8);
}

TEST(ops_converts_into_output)
{
    int64_t n = 300;
    ARRAYS x = test_array(RT_FLOAT64, 1, &n, 3, false), out = {0};
    OK(rt_array_new(test_device(), RT_INT16, 1, &n, &out, e));
    OK(kn_apply(KN_MUL, (struct kn_operand[]){of_array(&x), int_number(100)}, &out, e));
    for (int64_t i = 0; i < n; i++) CHECK_INT(get_int(&out, i), (int64_t)(get(&x, i) * 100));
}

/* Numbers are weak. */

static void check_weak(enum kn_op op, enum rt_dtype array, struct kn_operand number, enum rt_dtype want)
{
    int64_t n = 3;
    ARRAYS x = test_array(array, 1, &n, 1, false), out = {0};
    OK(kn_apply(op, (struct kn_operand[]){of_array(&x), number}, &out, e));
    if (out.dtype != want)
        FAIL("%s of %s: %s, expected %s", kn_ops[op].name, rt_dtypes[array].name, rt_dtypes[out.dtype].name,
             rt_dtypes[want].name);
    rt_array_release(&out);
    rt_array_release(&x);
}

TEST(ops_weak_numbers)
{
    check_weak(KN_MUL, RT_INT32, int_number(2), RT_INT32);
    check_weak(KN_MUL, RT_INT8, int_number(2), RT_INT8);
    check_weak(KN_MUL, RT_UINT64, int_number(2), RT_UINT64);
    check_weak(KN_MUL, RT_FLOAT32, float_number(2.5), RT_FLOAT32);
    check_weak(KN_MUL, RT_FLOAT16, float_number(2.5), RT_FLOAT16);
    check_weak(KN_MUL, RT_FLOAT32, int_number(2), RT_FLOAT32);
    check_weak(KN_MUL, RT_INT32, float_number(2.5), RT_FLOAT32);
    check_weak(KN_MUL, RT_INT64, float_number(2.5), RT_FLOAT64);
    check_weak(KN_MUL, RT_BOOL, int_number(2), RT_INT32);
    check_weak(KN_MUL, RT_BOOL, float_number(2), RT_FLOAT32);
    check_weak(KN_DIV, RT_INT32, int_number(2), RT_FLOAT32);
    check_weak(KN_DIV, RT_INT64, int_number(2), RT_FLOAT64);
    check_weak(KN_POW, RT_INT64, int_number(2), RT_FLOAT64);
    check_weak(KN_GT, RT_INT64, float_number(2.5), RT_BOOL);
    check_weak(KN_BITWISE_AND, RT_BOOL, int_number(1), RT_INT32);
}

TEST(ops_where_of_numbers)
{
    int64_t n = 200;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), mask = {0}, out = {0};
    OK(kn_apply(KN_GT, (struct kn_operand[]){of_array(&x), float_number(0.25)}, &mask, e));
    OK(kn_apply(KN_WHERE, (struct kn_operand[]){of_array(&mask), int_number(7), int_number(-7)}, &out, e));
    CHECK_INT(out.dtype, RT_INT32);
    for (int64_t i = 0; i < n; i++) CHECK_INT(get_int(&out, i), get(&x, i) > 0.25 ? 7 : -7);
    rt_array_release(&out);
    OK(kn_apply(KN_WHERE, (struct kn_operand[]){of_array(&mask), of_array(&x), float_number(0.1)}, &out, e));
    CHECK_INT(out.dtype, RT_FLOAT32);
    for (int64_t i = 0; i < n; i++) CHECK(get(&out, i) == (get(&x, i) > 0.25 ? get(&x, i) : 0.1f));
}

TEST(ops_promotion)
{
    static const struct {
        enum rt_dtype a, b, want;
    } rows[] = {
        {RT_BOOL, RT_INT8, RT_INT8},           {RT_INT32, RT_INT64, RT_INT64},     {RT_INT32, RT_FLOAT32, RT_FLOAT32},
        {RT_INT64, RT_FLOAT32, RT_FLOAT64},    {RT_INT64, RT_FLOAT64, RT_FLOAT64}, {RT_FLOAT32, RT_FLOAT64, RT_FLOAT64},
        {RT_FLOAT16, RT_BFLOAT16, RT_FLOAT32}, {RT_INT8, RT_UINT8, RT_INT16},      {RT_INT64, RT_UINT8, RT_INT64},
        {RT_UINT32, RT_INT32, RT_INT64},       {RT_UINT64, RT_INT8, RT_INT64},     {RT_FLOAT16, RT_INT16, RT_FLOAT16},
        {RT_FLOAT16, RT_INT32, RT_FLOAT32},    {RT_BOOL, RT_FLOAT16, RT_FLOAT16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(kn_promote(rows[i].a, rows[i].b), rows[i].want);
        CHECK_INT(kn_promote(rows[i].b, rows[i].a), rows[i].want);
    }
    int64_t n = 50;
    ARRAYS a = test_array(RT_INT32, 1, &n, 1, false), b = test_array(RT_FLOAT32, 1, &n, 2, false), out = {0};
    OK(kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    check_result(KN_ADD, RT_FLOAT32, (const struct rt_array *const[]){&a, &b}, &out);
}

TEST(ops_compare_exactly)
{
    /* 16777217 is no float32; comparing in float64 still tells it from its neighbour. */
    int64_t n = 2;
    ARRAYS a = {0}, out = {0};
    OK(rt_array_new(test_device(), RT_INT32, 1, &n, &a, e));
    ((int32_t *)rt_array_host(&a))[0] = 16777216;
    ((int32_t *)rt_array_host(&a))[1] = 16777217;
    OK(kn_apply(KN_GT, (struct kn_operand[]){of_array(&a), float_number(16777216.5)}, &out, e));
    CHECK_INT(get_int(&out, 0), 0);
    CHECK_INT(get_int(&out, 1), 1);
}

TEST(ops_refusals)
{
    int64_t three = 3, four = 4;
    ARRAYS a = test_array(RT_INT8, 1, &three, 1, false), b = test_array(RT_INT8, 1, &four, 1, false), out = {0};
    FAILS(RT_INVALID, "300", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), int_number(300)}, &out, e));
    FAILS(RT_INVALID, "(4,)", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
    FAILS(RT_INVALID, "array", kn_apply(KN_ADD, (struct kn_operand[]){int_number(1), int_number(2)}, &out, e));
    FAILS(RT_INVALID, "integers",
          kn_apply(KN_BITWISE_AND, (struct kn_operand[]){of_array(&a), float_number(1.5)}, &out, e));
    FAILS(RT_INVALID, "fit", kn_fill(&a, &(struct kn_operand){.i = 128}, e));
    CHECK(out.storage == NULL);
    /* into an array of a shape that cannot be had */
    OK(rt_array_new(test_device(), RT_INT8, 1, &three, &out, e));
    FAILS(RT_INVALID, "", kn_apply(KN_NEG, (struct kn_operand[]){of_array(&b)}, &out, e));
}

TEST(ops_devices)
{
    struct rt_error error = {0};
    struct rt_device *cpu = rt_device_open("cpu", &error), *simt = rt_device_open("simt", &error);
    int64_t n = 3;
    ARRAYS a = {0}, b = {0}, out = {0};
    if (!simt) SKIP("no software GPU");
    OK(rt_array_new(cpu, RT_FLOAT32, 1, &n, &a, e));
    OK(rt_array_new(simt, RT_FLOAT32, 1, &n, &b, e));
    FAILS(RT_INVALID, "simt", kn_apply(KN_ADD, (struct kn_operand[]){of_array(&a), of_array(&b)}, &out, e));
}

/* Programs of several operations. */

static void build_chain(struct kn_program *p, const struct rt_array *x, const struct rt_array *y)
{
    /* sqrt(x * x + y * y) / (1 + abs(x - y)) */
    int nx, ny, one, xx, yy, sum, root, difference, size, below, result;
    kn_program_start(p);
    OK(kn_program_array(p, x, &nx, e));
    OK(kn_program_array(p, y, &ny, e));
    OK(kn_program_number(p, &(struct kn_operand){.i = 1}, &one, e));
    OK(kn_program_op(p, KN_MUL, (int[]){nx, nx}, &xx, e));
    OK(kn_program_op(p, KN_MUL, (int[]){ny, ny}, &yy, e));
    OK(kn_program_op(p, KN_ADD, (int[]){xx, yy}, &sum, e));
    OK(kn_program_op(p, KN_SQRT, &sum, &root, e));
    OK(kn_program_op(p, KN_SUB, (int[]){nx, ny}, &difference, e));
    OK(kn_program_op(p, KN_ABS, &difference, &size, e));
    OK(kn_program_op(p, KN_ADD, (int[]){one, size}, &below, e));
    OK(kn_program_op(p, KN_DIV, (int[]){root, below}, &result, e));
}

TEST(program_chain)
{
    int64_t n = 100003;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), y = test_array(RT_FLOAT32, 1, &n, 2, false), out = {0};
    struct kn_program p;
    build_chain(&p, &x, &y);
    OK(kn_program_run(&p, &out, e));
    for (int64_t i = 0; i < n; i++) {
        float a = (float)get(&x, i), b = (float)get(&y, i);
        float aa = a * a, bb = b * b, root = sqrtf(aa + bb), want = root / (1 + fabsf(a - b));
        if (get(&out, i) != want) FAIL("[%lld] is %.9g, expected %.9g", (long long)i, get(&out, i), want);
    }
    /* into one of the operands, and again */
    OK(kn_program_run(&p, &x, e));
    for (int64_t i = 0; i < n; i += 97) CHECK(get(&x, i) == get(&out, i));
}

TEST(program_rounds_in_between)
{
    /* 100 + 100 wraps in int8 before it is halved; a fused evaluation must not keep the wider sum. */
    int64_t n = 5;
    ARRAYS x = {0}, h = {0}, out = {0};
    struct kn_program p;
    int node, number, sum, result;
    OK(rt_array_new(test_device(), RT_INT8, 1, &n, &x, e));
    OK(kn_fill(&x, &(struct kn_operand){.i = 100}, e));
    kn_program_start(&p);
    OK(kn_program_array(&p, &x, &node, e));
    OK(kn_program_number(&p, &(struct kn_operand){.i = 2}, &number, e));
    OK(kn_program_op(&p, KN_ADD, (int[]){node, node}, &sum, e));
    OK(kn_program_op(&p, KN_FLOORDIV, (int[]){sum, number}, &result, e));
    OK(kn_program_run(&p, &out, e));
    CHECK_INT(get_int(&out, 4), -28);
    /* 2048 + 1 rounds to 2048 in float16 */
    OK(rt_array_new(test_device(), RT_FLOAT16, 1, &n, &h, e));
    OK(kn_fill(&h, &(struct kn_operand){.i = 2048}, e));
    kn_program_start(&p);
    OK(kn_program_array(&p, &h, &node, e));
    OK(kn_program_number(&p, &(struct kn_operand){.i = 1}, &number, e));
    OK(kn_program_op(&p, KN_ADD, (int[]){node, number}, &sum, e));
    OK(kn_program_op(&p, KN_SUB, (int[]){sum, node}, &result, e));
    rt_array_release(&out);
    OK(kn_program_run(&p, &out, e));
    CHECK_NEAR(get(&out, 0), 0, 0);
}

TEST(program_limits)
{
    int64_t n = 5;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false);
    struct kn_program p;
    struct rt_error error = {0};
    int node;
    kn_program_start(&p);
    OK(kn_program_array(&p, &x, &node, e));
    enum rt_status status = RT_OK;
    for (int i = 0; i < 2 * KN_MAX_NODES && status == RT_OK; i++)
        status = kn_program_op(&p, KN_ADD, (int[]){node, node}, &node, &error);
    CHECK_INT(status, RT_UNSUPPORTED);
    CHECK_HAS(error.text, "operations");
}

TEST(program_interrupted)
{
    int64_t n = 1 << 20;
    ARRAYS x = test_array(RT_FLOAT32, 1, &n, 1, false), out = {0};
    rt_interrupt();
    FAILS(RT_INTERRUPTED, "interrupted", kn_apply(KN_SIN, (struct kn_operand[]){of_array(&x)}, &out, e));
    CHECK(out.storage == NULL);
    rt_interrupt_clear();
    OK(kn_apply(KN_SIN, (struct kn_operand[]){of_array(&x)}, &out, e));
}

TEST(ops_allocations_fail)
{
    int64_t n = 100000;
    ARRAYS x = test_array(RT_INT16, 1, &n, 1, false), y = {0}, out = {0};
    struct rt_error error = {0};
    OK(rt_array_slice(&x, 0, n - 1, n, -1, &y, e));
    for (long nth = 1;; nth++) {
        rt_fail_allocation(nth);
        enum rt_status status = kn_apply(KN_DIV, (struct kn_operand[]){of_array(&x), of_array(&y)}, &out, &error);
        rt_fail_allocation(0);
        if (status == RT_OK) break;
        CHECK_INT(status, RT_NOMEM);
        CHECK(out.storage == NULL);
        CHECK(nth < 100);
        rt_error_clear(&error);
    }
    check_result(KN_DIV, RT_FLOAT32, (const struct rt_array *const[]){&x, &y}, &out);
}
