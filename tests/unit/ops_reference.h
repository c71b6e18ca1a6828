/* What the operations of ops.def give, computed apart from them: integers in __int128, floating and complex numbers in
 * long double; and how far off a result may be. For the tests of all operations. */
#ifndef OPS_REFERENCE_H
#define OPS_REFERENCE_H

#include <complex.h>
#undef complex /* which is a field in kernels/ops.h */
#include "kernels/ops.h"
#include "tests/unit/reference.h"
#include "tests/unit/integral_reference.h"
#include "tests/unit/inverse_reference.h"
#include "tests/unit/wave_reference.h"

static inline bool is_floating(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f';
}

static inline int bits_of(enum rt_dtype t)
{
    return t == RT_BOOL ? 0 : 8 * rt_dtypes[t].size;
}

static inline __int128 floor_quotient(__int128 a, __int128 b)
{
    if (b == 0) return 0;
    __int128 q = a / b;
    return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

static inline __int128 shifted(__int128 a, __int128 places, int bits)
{
    if (places >= bits) return 0;
    if (places >= 0) return a * ((__int128)1 << places);
    if (places < -bits) places = -bits;
    return floor_quotient(a, (__int128)1 << -places);
}

static inline __int128 common_divisor(__int128 a, __int128 b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Of integers of so many bits (bools: 0), exactly; the caller wraps. */
static inline __int128 reference_int(enum kn_op op, __int128 a, __int128 b, __int128 c, int bits)
{
    switch (op) {
    case KN_ADD: return a + b;
    case KN_SUB: return a - b;
    case KN_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case KN_FLOORDIV: return floor_quotient(a, b);
    case KN_MOD: return b == 0 ? 0 : a - floor_quotient(a, b) * b;
    case KN_FMOD: return b == 0 ? 0 : a % b;
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
    case KN_BITWISE_COUNT: a = a < 0 ? -a : a; return a == 0 ? 0 : (a & 1) + reference_int(op, a >> 1, b, c, bits);
    case KN_GCD: return common_divisor(a, b);
    case KN_LCM: a = a < 0 ? -a : a, b = b < 0 ? -b : b; return a == 0 || b == 0 ? 0 : a / common_divisor(a, b) * b;
    case KN_WHERE: return a != 0 ? b : c;
    case KN_FLOOR:
    case KN_CEIL:
    case KN_ROUND:
    case KN_ROUND_AWAY:
    case KN_TRUNC: return a;
    case KN_RELU: return a > 0 ? a : 0;
    case KN_EQ: return a == b;
    case KN_NE: return !(a == b);
    case KN_LT: return b > a;
    case KN_LE: return !(a > b);
    case KN_GT: return !(a <= b);
    case KN_GE: return !(b > a);
    case KN_ISNAN:
    case KN_ISINF:
    case KN_ISPOSINF:
    case KN_ISNEGINF:
    case KN_ISUNORDERED: return 0;
    case KN_ISFINITE: return 1;
    case KN_SIGNBIT: return 0 > a;
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
static inline long double erf_inverse(long double x)
{
    long double low = 0, high = 40, size = fabsl(x);
    if (!(size < 1)) return size == 1 ? copysignl(INFINITY, x) : NAN;
    if (size < 1e-12L) return x * sqrtl(acosl(-1)) / 2;
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

/* Where erfc is x, likewise; near 1 by erf. */
static inline long double erfc_inverse(long double x)
{
    long double low = 0, high = 140;
    if (x > 1) return -erfc_inverse(2 - x);
    if (!(x > 0)) return x == 0 ? INFINITY : NAN;
    if (x > 0.5L) return erf_inverse(1 - x);
    for (int i = 0; i < 200; i++) {
        long double y = (low + high) / 2;
        if (erfcl(y) > x)
            low = y;
        else
            high = y;
    }
    return low;
}

/* exp(x^2) erfc(x); far out by its series, which falls for as long as that is exact. */
static inline long double erfc_scaled(long double x)
{
    long double sum = 0, term = 1;
    if (!(x > 15)) return expl(x * x) * erfcl(x);
    for (int k = 0; k < 60; k++) sum += term, term *= -(2 * k + 1) / (2 * x * x);
    return sum / (x * sqrtl(acosl(-1)));
}

static inline long double reference_float(enum kn_op op, long double a, long double b, long double c)
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
    case KN_LOGADDEXP2:
        return a == b ? a + 1 : a - b != a - b ? NAN : fmaxl(a, b) + log1pl(exp2l(-fabsl(a - b))) / logl(2);
    case KN_XLOGY: return a == 0 && !isnan(b) ? 0 : a * logl(b);
    case KN_XLOG1PY: return a == 0 && !isnan(b) ? 0 : a * log1pl(b);
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
    case KN_ERFCINV: return erfc_inverse(a);
    case KN_ERFCX: return erfc_scaled(a);
    case KN_NDTR: return erfcl(a / -sqrtl(2)) / 2;
    case KN_LOG_NDTR:
        return a > -1 ? log1pl(-erfcl(a / sqrtl(2)) / 2) : logl(erfc_scaled(a / -sqrtl(2)) / 2) - a * a / 2;
    case KN_NDTRI: return -sqrtl(2) * erfc_inverse(2 * a);
    case KN_DIGAMMA: return psi(a);
    case KN_GAMMAINC: return incomplete_gamma(a, b, false);
    case KN_GAMMAINCC: return incomplete_gamma(a, b, true);
    case KN_BETA: return beta_of(a, b);
    case KN_BETALN: return beta_log(a, b);
    case KN_BETAINC: return incomplete_beta(a, b, c);
    case KN_GAMMAINCINV: return gamma_quantile(a, b, false);
    case KN_GAMMAINCCINV: return gamma_quantile(a, b, true);
    case KN_BETAINCINV: return beta_quantile(a, b, c);
    case KN_LAMBERTW: return lambert_of(a, b);
    case KN_JV: return bessel_order_of(a, b, false);
    case KN_YV: return bessel_order_of(a, b, true);
    case KN_IV: return modified_order_of(a, b, false);
    case KN_IVE: return modified_order_of(a, b, true);
    case KN_KV: return falling_order_of(a, b, false);
    case KN_KVE: return falling_order_of(a, b, true);
    case KN_ZETA: return zeta_of(a, b);
    case KN_POLYGAMMA: return polygamma_of(a, b);
    case KN_ELLIPK: return elliptic_of(a, false);
    case KN_ELLIPE: return elliptic_of(a, true);
    case KN_ELLIPKINC: return elliptic_up_to(a, b, false);
    case KN_ELLIPEINC: return elliptic_up_to(a, b, true);
    case KN_SININT: return sine_integral(a);
    case KN_COSINT: return cosine_integral(a);
    case KN_ERFI: return imaginary_error(a);
    case KN_DAWSN: return dawson_of(a);
    case KN_FRESNELS: return fresnel_of(a, false);
    case KN_FRESNELC: return fresnel_of(a, true);
    case KN_SPENCE: return spence_of(a);
    case KN_LPMV: return legendre_of(a, b, c, sqrtl((1 - c) * (1 + c)), false);
    case KN_SPH_LEGENDRE: return legendre_of(b, a, cosl(c), fabsl(sinl(c)), true);
    case KN_EXPN: return exponential_of(a, b);
    case KN_EXP1: return exponential_of(1, a);
    case KN_EXPI: return exponential_up_to(a);
    case KN_K0: return isinf(a) && a > 0 ? 0 : bessel_falling(0, a) * expl(-a);
    case KN_K0E: return bessel_falling(0, a);
    case KN_K1: return isinf(a) && a > 0 ? 0 : bessel_falling(1, a) * expl(-a);
    case KN_K1E: return bessel_falling(1, a);
    case KN_FACTORIAL: return a < 0 ? 0 : tgammal(a + 1);
    case KN_COMB: return ways_of(a, b);
    case KN_J0: return j0l(a);
    case KN_J1: return j1l(a);
    case KN_Y0: return y0l(a);
    case KN_Y1: return y1l(a);
    case KN_I0: return isinf(a) ? fabsl(a) : bessel_scaled(0, a) * expl(fabsl(a));
    case KN_I0E: return bessel_scaled(0, a);
    case KN_I1: return isinf(a) ? a : bessel_scaled(1, a) * expl(fabsl(a));
    case KN_I1E: return bessel_scaled(1, a);
    case KN_ISPOSINF: return a == INFINITY;
    case KN_ISNEGINF: return a == -INFINITY;
    case KN_SIGNBIT: return signbit(a) != 0;
    case KN_ISUNORDERED: return isunordered(a, b) != 0;
    case KN_WHERE: return a != 0 ? b : c;
    case KN_FLOOR: return floorl(a);
    case KN_CEIL: return ceill(a);
    case KN_ROUND: return isinf(a) ? a : a - remainderl(a, 1);
    case KN_ROUND_AWAY: return roundl(a);
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

static inline long double _Complex reference_complex(enum kn_op op, long double _Complex a, long double _Complex b,
                                                     long double _Complex c)
{
    switch (op) {
    case KN_ADD: return a + b;
    case KN_SUB: return a - b;
    case KN_MUL: return a * b;
    case KN_DIV: return a / b;
    case KN_POW: return b == 0 ? 1 : cexpl(b * clogl(a));
    case KN_NEG: return -a;
    case KN_ABS: return cabsl(a);
    case KN_CONJ: return conjl(a);
    case KN_SIGN: return a == 0 ? 0 : a / cabsl(a);
    case KN_SQUARE: return a * a;
    case KN_RECIPROCAL: return 1 / a;
    case KN_LERP: return a + c * (b - a);
    case KN_WHERE: return a != 0 ? b : c;
    case KN_ROUND: return CMPLXL(rintl(creall(a)), rintl(cimagl(a)));
    case KN_SQRT: return csqrtl(a);
    case KN_RSQRT: return 1 / csqrtl(a);
    case KN_EXP: return cexpl(a);
    case KN_EXP2: return cexpl(a * logl(2));
    case KN_EXPM1: return cexpl(a) - 1;
    case KN_LOG: return clogl(a);
    case KN_LOG2: return clogl(a) / logl(2);
    case KN_LOG10: return clogl(a) / logl(10);
    case KN_LOG1P: return clogl(1 + a);
    case KN_SIN: return csinl(a);
    case KN_COS: return ccosl(a);
    case KN_TAN: return ctanl(a);
    case KN_ASIN: return casinl(a);
    case KN_ACOS: return cacosl(a);
    case KN_ATAN: return catanl(a);
    case KN_SINH: return csinhl(a);
    case KN_COSH: return ccoshl(a);
    case KN_TANH: return ctanhl(a);
    case KN_ASINH: return casinhl(a);
    case KN_ACOSH: return cacoshl(a);
    case KN_ATANH: return catanhl(a);
    case KN_EQ: return a == b;
    case KN_NE: return a != b;
    case KN_ISNAN: return isnan(creall(a)) || isnan(cimagl(a));
    case KN_ISINF: return isinf(creall(a)) || isinf(cimagl(a));
    case KN_ISFINITE: return isfinite(creall(a)) && isfinite(cimagl(a));
    case KN_LOGICAL_AND: return a != 0 && b != 0;
    case KN_LOGICAL_OR: return a != 0 || b != 0;
    case KN_LOGICAL_XOR: return (a != 0) != (b != 0);
    case KN_LOGICAL_NOT: return a == 0;
    default: FAIL("no complex reference for %s", kn_ops[op].name);
    }
}

/* Units in the last place of dtype t at v. */
static inline long double ulp(enum rt_dtype t, long double v)
{
    int digits = t == RT_FLOAT64 ? 53 : t == RT_FLOAT32 ? 24 : t == RT_FLOAT16 ? 11 : 8;
    int lowest = t == RT_FLOAT64 ? -1074 : t == RT_FLOAT16 ? -24 : t == RT_FLOAT32 ? -149 : -133;
    int exponent;
    frexpl(v, &exponent);
    return ldexpl(1, exponent - digits > lowest ? exponent - digits : lowest);
}

/* How far a result may be from the exact value, in units of the last place: half a unit for what IEEE defines. */
static inline long double tolerance(enum kn_op op)
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
    case KN_ELLIPE: return 6;
    case KN_ELLIPKINC:
    case KN_ELLIPEINC:
    case KN_ERFI:
    case KN_COSINT: return 8;
    case KN_RSQRT: return 1.5L;
    case KN_POW: return 1.5L;
    case KN_I0:
    case KN_I0E:
    case KN_I1:
    case KN_I1E:
    case KN_ELLIPK:
    case KN_EXPN:
    case KN_EXP1:
    case KN_EXPI:
    case KN_K0:
    case KN_K0E:
    case KN_K1:
    case KN_K1E:
    case KN_FACTORIAL:
    case KN_SININT:
    case KN_DAWSN:
    case KN_FRESNELS:
    case KN_FRESNELC:
    case KN_SPENCE:
    case KN_SIGMOID: return 4;
    default: return 2.5L;
    }
}

/* How large the numbers are that a sum within the operation is made of, where their difference may be far smaller; 0
 * for operations that have no such sum. The last bits of what gelu gives to erfc count as often as its square. */
static inline long double size_within(enum kn_op op, const long double *x)
{
    switch (op) {
    case KN_LERP: return fabsl(x[0]) + fabsl(x[2]) * (fabsl(x[0]) + fabsl(x[1]));
    case KN_LOGADDEXP:
    case KN_LOGADDEXP2: return fabsl(x[0]) + fabsl(x[1]);
    case KN_DIGAMMA: return 8 + fabsl(psi(x[0]));
    case KN_LOGIT: return 1;
    case KN_GAMMAINC:
    case KN_GAMMAINCC:
    case KN_BETA:
    case KN_BETAINC:
    case KN_COMB: { /* exponents of large numbers */
        long double want = reference_float(op, x[0], x[1], x[2]);
        return want > 0 ? want * (4 + fabsl(logl(want))) : 0;
    }
    case KN_GAMMAINCINV:
    case KN_GAMMAINCCINV:
    case KN_BETAINCINV: { /* the same, and how far a result moves with the last bit of a probability */
        long double want = reference_float(op, x[0], x[1], x[2]), least = fminl(x[0], op == KN_BETAINCINV ? x[1] : 1);
        return want > 0 ? want * (4 + fabsl(logl(want)) + 1 / least) : 0;
    }
    case KN_YV:
    case KN_JV: {
        const long double want = fabsl(reference_float(op, x[0], x[1], 0));
        return fmaxl(8 * (want + bessel_order_parts(x[0], x[1], op == KN_YV)), fabsl(x[1]) > fabsl(x[0]));
    }
    case KN_IV:
    case KN_IVE: /* of an order below 0 it is what it is of the opposite one, less something */
        return 8 * fmaxl(fabsl(reference_float(op, x[0], x[1], 0)), fabsl(reference_float(op, fabsl(x[0]), x[1], 0)));
    case KN_KV:
    case KN_KVE: return 8 * fabsl(reference_float(op, x[0], x[1], 0));
    case KN_COSINT: return 2 / (1 + fabsl(x[0])); /* how far it swings */
    case KN_LPMV: return 8 * legendre_size(x[0], x[1], x[2], sqrtl((1 - x[2]) * (1 + x[2])), false);
    case KN_SPH_LEGENDRE: return 8 * legendre_size(x[1], x[0], cosl(x[2]), fabsl(sinl(x[2])), true);
    case KN_BETALN: return 4 + fabsl(lgammal(x[0])) + fabsl(lgammal(x[1]));
    case KN_ZETA: return 8 * zeta_size(x[0], x[1]);
    case KN_POLYGAMMA: return 8 * polygamma_size(x[0], x[1]);
    case KN_J0:
    case KN_J1:
    case KN_Y0:
    case KN_Y1: return 1 / sqrtl(1 + fabsl(x[0])); /* how far it swings */
    case KN_GELU: return (1 + x[0] * x[0]) * fabsl(reference_float(op, x[0], 0, 0)) + fabsl(x[0]) * 0x1p-126L;
    default: return 0;
    }
}

static inline void check_float(enum kn_op op, enum rt_dtype t, enum rt_dtype result, double got, const long double *x,
                               int64_t i)
{
    if (op >= KN_JV && op <= KN_KVE && !knows_order(x[0], x[1])) return;
    if (op == KN_LPMV && !knows_degree(x[0], x[1])) return;
    if (op == KN_SPH_LEGENDRE && !knows_degree(x[1], x[0])) return;
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

/* As far off as the size of the number and of what it is made of allows: both parts together, and powers by how large
 * the exponent is that makes them. */
static inline void check_complex(enum kn_op op, enum rt_dtype t, const struct rt_array *out, int64_t i,
                                 const long double _Complex *x)
{
    long double _Complex want = reference_complex(op, x[0], x[1], x[2]);
    struct rt_complex v = rt_load_complex(out->dtype, element(out, i));
    long double most = rt_real_of(t) == RT_FLOAT64 ? 1e300L : 1e37L,
                eps = rt_real_of(t) == RT_FLOAT64 ? 0x1p-52L : 0x1p-23L;
    long double size = 1 + cabsl(want), off = cabsl(want - CMPLXL(v.re, v.im));
    if (op == KN_POW && x[0] != 0) size *= 4 + cabsl(x[1] * clogl(x[0]));
    if (op == KN_EXP2) size *= 4 + cabsl(x[0]);
    if (op == KN_LERP) size += cabsl(x[2]) * (cabsl(x[0]) + cabsl(x[1]));
    bool unknown = !(cabsl(want) < most) || (op == KN_POW && x[0] == 0);
    if (unknown || (out->dtype == RT_BOOL ? off == 0 : off <= 8 * eps * size)) return;
    FAIL("%s %s [%lld]: (%Lg, %Lg) (%Lg, %Lg) gives (%.17g, %.17g), expected (%.17Lg, %.17Lg)", kn_ops[op].name,
         rt_dtypes[t].name, (long long)i, creall(x[0]), cimagl(x[0]), creall(x[1]), cimagl(x[1]), v.re, v.im,
         creall(want), cimagl(want));
}

static inline void check_complex_result(enum kn_op op, enum rt_dtype t, const struct rt_array *const *args,
                                        const struct rt_array *out)
{
    for (int64_t i = 0; i < rt_array_size(out); i++) {
        long double _Complex x[3] = {0};
        for (int k = 0; k < kn_ops[op].arity; k++) {
            struct rt_complex v = rt_load_complex(t, element_in(args[k], out->ndim, out->shape, i));
            x[k] = CMPLXL(v.re, v.im);
        }
        check_complex(op, t, out, i, x);
    }
}

/* One operation with array operands, all elements checked. computed: the dtype computed in; all arrays already fit. */
static inline void check_result(enum kn_op op, enum rt_dtype computed, const struct rt_array *const *args,
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
static inline bool integers_only(enum kn_op op)
{
    return op >= KN_BITWISE_AND && op <= KN_LCM;
}

static inline bool needs_floats(enum kn_op op)
{
    return kn_op_texts[op].rule == KN_RULE_FLOAT;
}

/* The dtype that an operation on arrays of one dtype computes in, as documented. */
static inline enum rt_dtype expected_dtype(enum kn_op op, enum rt_dtype t)
{
    bool keeps_bools = op == KN_WHERE || (op >= KN_EQ && op <= KN_BITWISE_NOT);
    if (rt_is_complex(t)) return t;
    if (needs_floats(op) && !is_floating(t)) return rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
    return t == RT_BOOL && !keeps_bools ? RT_INT32 : t;
}

static inline bool gives_bool(enum kn_op op)
{
    return op >= KN_EQ && op <= KN_LOGICAL_NOT;
}

static inline bool has_complex_meaning(enum kn_op op)
{
    return kn_op_texts[op].complex || kn_op_texts[op].rule == KN_RULE_LOGICAL;
}

#endif
