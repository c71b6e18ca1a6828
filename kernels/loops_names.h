/* The functions that ops.def's expressions call, for the types of all classes: C's generic names, where they are ours,
 * and names of our own, which end with _. For loops.c. */
#ifndef KN_LOOPS_NAMES_H
#define KN_LOOPS_NAMES_H

#include "kernels/functions.h"
#include "kernels/math_angle_f64.h"
#include "kernels/math_complex.h"
#include "kernels/math_pow_f64.h"
#include "kernels/math_single.h"
#include "kernels/math_special.h"
#include "kernels/quotients.h"
#include "kernels/special.h"
#include "kernels/special_beta.h"
#include "kernels/special_integral.h"
#include "kernels/special_inverse.h"
#include "kernels/special_order.h"
#include "kernels/special_second.h"
#include "kernels/special_wave.h"
#include <tgmath.h>

#define make_C64(x, y)  __builtin_complex((float)(x), (float)(y))
#define make_C128(x, y) __builtin_complex((double)(x), (double)(y))

/* Functions of float32 and most of float64 are ours; the names are the ones that ops.def and functions.h have. */
#undef exp2
#undef expm1
#undef log2
#undef log10
#undef log1p
#undef asin
#undef acos
#undef atan
#undef atan2
#undef sinh
#undef cosh
#undef tanh
#undef asinh
#undef acosh
#undef atanh
#undef cbrt
#undef hypot
#undef pow
#undef logb
#undef signbit
#define REALS(name, a)   _Generic((a), float : name##_f32, double : name##_f64)
#define NUMBERS(name, a) _Generic((a), float : name##_f32, double : name##_f64, c64 : c##name##f, c128 : c##name)
#define exp2(a)          REALS(exp2, a)(a)
#define expm1(a)         REALS(expm1, a)(a)
#define log2(a)          REALS(log2, a)(a)
#define log10(a)         REALS(log10, a)(a)
#define log1p(a)         REALS(log1p, a)(a)
#define cbrt(a)          REALS(cbrt, a)(a)
#define signbit(a)       _Generic((a), float : rt_float_bits(a) >> 31, double : bits_of_double(a) >> 63)
#define logb(a)          REALS(logb, a)(a)
#define atan2(a, b)      REALS(atan2, a)(a, b)
#define hypot(a, b)      REALS(hypot, a)(a, b)
#define asin(a)          NUMBERS(asin, a)(a)
#define acos(a)          NUMBERS(acos, a)(a)
#define atan(a)          NUMBERS(atan, a)(a)
#define sinh(a)          NUMBERS(sinh, a)(a)
#define cosh(a)          NUMBERS(cosh, a)(a)
#define tanh(a)          NUMBERS(tanh, a)(a)
#define asinh(a)         NUMBERS(asinh, a)(a)
#define acosh(a)         NUMBERS(acosh, a)(a)
#define atanh(a)         NUMBERS(atanh, a)(a)
#define pow(a, b)        NUMBERS(pow, a)(a, b)
#define exp_(a)          _Generic((a), float : exp_f32, double : exp_f64, c64 : cexpf, c128 : cexp)(a)
#define log_(a)          _Generic((a), float : log_f32, double : log_f64, c64 : log_c64, c128 : log_c128)(a)

#define KN_FN            static inline __attribute__((unused))
#define KN_APART         KN_FN
KN_SIGNED_FUNCTIONS(int32_t, uint32_t, I32)
KN_SIGNED_FUNCTIONS(int64_t, uint64_t, I64)
KN_UNSIGNED_FUNCTIONS(uint64_t, uint64_t, U64)
KN_FLOAT_FUNCTIONS(float, uint32_t, F32)
KN_FLOAT_FUNCTIONS(double, uint64_t, F64)
#undef erf
#undef erfc
#undef tgamma
#define erf(a)     REALS(erf, a)(a)
#define erfc(a)    REALS(erfc, a)(a)
#define tgamma(a)  REALS(gamma, a)(a)
#define tgamma_(a) tgamma(a)
#define erfinv_(a) REALS(erfinv, a)(a)
KN_SPECIAL_FUNCTIONS()
#undef log
#define log(a) log_(a)
KN_COMPLEX_FUNCTIONS(c64, float, C64)
KN_COMPLEX_FUNCTIONS(c128, double, C128)
#define INTS(f, a)         _Generic((a), int32_t : f##I32, int64_t : f##I64, uint64_t : f##U64)
#define FLOATS(f, a)       _Generic((a), float : f##F32, double : f##F64)
#define FIELDS(f, a)       _Generic((a), float : f##F32, double : f##F64, c64 : f##C64, c128 : f##C128)
#define abs_(a)            INTS(abs_, a)(a)
#define floordiv_(a, b)    INTS(floordiv_, a)(a, b)
#define left_shift_(a, b)  INTS(left_shift_, a)(a, b)
#define right_shift_(a, b) INTS(right_shift_, a)(a, b)
#define mod_(a, b)                                                                                                     \
    _Generic((a), int32_t : mod_I32, int64_t : mod_I64, uint64_t : mod_U64, float : mod_F32, double : mod_F64)(a, b)
#define gcd_(a, b)        INTS(gcd_, a)(a, b)
#define lcm_(a, b)        INTS(lcm_, a)(a, b)
#define bits_(a)          INTS(bits_, a)(a)
#define truth_(a)         _Generic((a), uint8_t : (a), default : ((a) != 0))
#define ldexp_(a, b)      REALS(ldexp, a)(a, b)
#define logaddexp_(a, b)  REALS(logaddexp, a)(a, b)
#define logaddexp2_(a, b) _Generic((a), float : logaddexp2_f32, double : logaddexp2_F64)(a, b)
#define sigmoid_(a)       FLOATS(sigmoid_, a)(a)
#define silu_(a)          FLOATS(silu_, a)(a)
#define softplus_(a)      REALS(softplus, a)(a)
#define sinc_(a)          _Generic((a), float : sinc_f32, double : sinc_f64)(a)
#define digamma_(a)       REALS(digamma, a)(a)
#define pow_(a, b)        FIELDS(pow_, a)(a, b)
#define conj_(a)          FIELDS(conj_, a)(a)
#define modulus_(a)       FIELDS(modulus_, a)(a)
#define isinf_(a)         FIELDS(isinf_, a)(a)
#define sign_(a)          FIELDS(sign_, a)(a)
#define rint_(a)          _Generic((a), float : rintf, double : rint, c64 : rint_C64, c128 : rint_C128)(a)
#define WIDER(name, a)    _Generic((a), float : name##_f32, double : name##_f64, c64 : name##_C64, c128 : name##_C128)(a)
#define exp2_(a)          WIDER(exp2, a)
#define expm1_(a)         WIDER(expm1, a)
#define log2_(a)          WIDER(log2, a)
#define log10_(a)         WIDER(log10, a)
#define log1p_(a)         _Generic((a), float : log1p_f32, double : log1p_f64, c64 : log1p_c64, c128 : log1p_c128)(a)
#define largest_(a)       _Generic((a), float : __FLT_MAX__, double : __DBL_MAX__)

/* lgamma of C stores a sign in a global variable; these do not, so threads do not meet there. */
KN_FN float lgamma_F32(float a)
{
    int sign;
    return lgammaf_r(a, &sign);
}
KN_FN double lgamma_F64(double a)
{
    int sign;
    return lgamma_r(a, &sign);
}
#define lgamma_(a) FLOATS(lgamma_, a)(a)
KN_BETA_FUNCTIONS()
KN_SECOND_FUNCTIONS()
KN_INVERSE_FUNCTIONS()
KN_INTEGRAL_FUNCTIONS()
KN_WAVE_FUNCTIONS()
KN_ORDER_FUNCTIONS()

#endif
