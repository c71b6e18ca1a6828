/* Floating-point ops outside the vector ops: rounding modes other than to nearest, the approximations of elementary
 * functions, and odd ends. */
#include <fenv.h>
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

static float *f32_at(char *R, uint32_t slot)
{
    return (float *)(void *)(R + slot);
}
static double *f64_at(char *R, uint32_t slot)
{
    return (double *)(void *)(R + slot);
}

/* Every operand is volatile, so that nothing is computed before or after the rounding mode is set. */
#define ROUNDED(name, T, at, in, out, expr)                                                                            \
    static __attribute__((noinline)) T value_##name(T p, T q, T r)                                                     \
    {                                                                                                                  \
        volatile T x = p, y = q, z = r;                                                                                \
        (void)x, (void)y, (void)z;                                                                                     \
        volatile T v = (expr);                                                                                         \
        return v;                                                                                                      \
    }                                                                                                                  \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        int old = fegetround();                                                                                        \
        fesetround(simt_rounding(i));                                                                                  \
        EACH_LANE(l, m)                                                                                                \
        at(R, i->d)[l] = out(value_##name(in(at(R, i->a)[l]), in(at(R, i->b)[l]), in(at(R, i->c)[l])));                \
        fesetround(old);                                                                                               \
        return EV_NEXT;                                                                                                \
    }
#define IN32(v)  simt_enter(i, v)
#define OUT32(v) simt_leave(i, v)
#define SAME(v)  (v)
ROUNDED(add_f32, float, f32_at, IN32, OUT32, x + y)
ROUNDED(sub_f32, float, f32_at, IN32, OUT32, x - y)
ROUNDED(mul_f32, float, f32_at, IN32, OUT32, x *y)
ROUNDED(div_f32, float, f32_at, IN32, OUT32, x / y)
ROUNDED(fma_f32, float, f32_at, IN32, OUT32, fmaf(x, y, z))
ROUNDED(sqrt_f32, float, f32_at, IN32, OUT32, sqrtf(x))
ROUNDED(rcp_f32, float, f32_at, IN32, OUT32, 1 / x)
ROUNDED(add_f64, double, f64_at, SAME, SAME, x + y)
ROUNDED(sub_f64, double, f64_at, SAME, SAME, x - y)
ROUNDED(mul_f64, double, f64_at, SAME, SAME, x *y)
ROUNDED(div_f64, double, f64_at, SAME, SAME, x / y)
ROUNDED(fma_f64, double, f64_at, SAME, SAME, fma(x, y, z))
ROUNDED(sqrt_f64, double, f64_at, SAME, SAME, sqrt(x))
ROUNDED(rcp_f64, double, f64_at, SAME, SAME, 1 / x)

#define SIMPLE(name, expr)                                                                                             \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            float x = simt_enter(i, f32_at(R, i->a)[l]), y = simt_enter(i, f32_at(R, i->b)[l]);                        \
            (void)y;                                                                                                   \
            f32_at(R, i->d)[l] = simt_leave(i, expr);                                                                  \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
/* .xorsign.abs compares magnitudes; the sign is negative where one of the two is. */
static float extreme(const struct insn *i, float x, float y, bool most)
{
    float sign = signbit(x) != signbit(y) ? -1.0f : 1.0f;
    if (i->flags & F_XORSIGN) x = fabsf(x), y = fabsf(y);
    bool nan = x != x || y != y, first = x == y ? !signbit(x) == most : (x < y) != most;
    float r = nan ? (i->flags & F_NAN ? NAN : x != x ? y : x) : first ? x : y;
    return i->flags & F_XORSIGN ? copysignf(r, sign) : r;
}
/* At least as exact as the hardware's approximations; without .ftz it works on denormals. */
SIMPLE(tangent_h, tanhf(x))
SIMPLE(min_f32, extreme(i, x, y, false))
SIMPLE(max_f32, extreme(i, x, y, true))
SIMPLE(min_f32_3, extreme(i, extreme(i, x, y, false), simt_enter(i, f32_at(R, i->c)[l]), false))
SIMPLE(max_f32_3, extreme(i, extreme(i, x, y, true), simt_enter(i, f32_at(R, i->c)[l]), true))
SIMPLE(min_abs_f32_3,
       extreme(i, extreme(i, fabsf(x), fabsf(y), false), fabsf(simt_enter(i, f32_at(R, i->c)[l])), false))
SIMPLE(max_abs_f32_3, extreme(i, extreme(i, fabsf(x), fabsf(y), true), fabsf(simt_enter(i, f32_at(R, i->c)[l])), true))
SIMPLE(copysign_f32, copysignf(y, x))

OP(copysign_f64)
{
    (void)w;
    EACH_LANE(l, m) f64_at(R, i->d)[l] = copysign(f64_at(R, i->b)[l], f64_at(R, i->a)[l]);
    return EV_NEXT;
}

#define TEST(name, at, expr)                                                                                           \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        uint32_t r = 0, *d = u32_at(R, i->d);                                                                          \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            int k = fpclassify(at(R, i->a)[l]);                                                                        \
            r |= (uint32_t)(expr) << l;                                                                                \
        }                                                                                                              \
        *d = (*d & ~m) | r;                                                                                            \
        return EV_NEXT;                                                                                                \
    }
#define TESTS(name, expr)                                                                                              \
    TEST(name##_f32, f32_at, expr)                                                                                     \
    TEST(name##_f64, f64_at, expr)
TESTS(finite, k != FP_NAN && k != FP_INFINITE)
TESTS(infinite, k == FP_INFINITE)
TESTS(number, k != FP_NAN)
TESTS(notanumber, k == FP_NAN)
TESTS(normal, k == FP_NORMAL)
TESTS(subnormal, k == FP_SUBNORMAL)

#define ROUNDINGS (F_RN | F_ROUND)
#define ROUNDED_ROWS(op, sig32, sig64, f)                                                                              \
    {op ".f32", sig32, f##_f32, NULL, ROUNDINGS | F_FTZ | F_SAT},                                                      \
    {                                                                                                                  \
        op ".f64", sig64, f##_f64, NULL, ROUNDINGS                                                                     \
    }
#define TEST_ROWS(name)                                                                                                \
    {"testp." #name ".f32", "pw", name##_f32, NULL, 0},                                                                \
    {                                                                                                                  \
        "testp." #name ".f64", "pq", name##_f64, NULL, 0                                                               \
    }
static const struct op_row rows[] = {
    ROUNDED_ROWS("add", "www", "qqq", add),
    ROUNDED_ROWS("sub", "www", "qqq", sub),
    ROUNDED_ROWS("mul", "www", "qqq", mul),
    ROUNDED_ROWS("div", "www", "qqq", div),
    ROUNDED_ROWS("fma", "wwww", "qqqq", fma),
    ROUNDED_ROWS("mad", "wwww", "qqqq", fma),
    ROUNDED_ROWS("sqrt", "ww", "qq", sqrt),
    ROUNDED_ROWS("rcp", "ww", "qq", rcp),
    {"tanh.f32", "ww", tangent_h, NULL, F_APPROX},
    {"min.f32", "www", min_f32, NULL, F_NAN | F_FTZ},
    {"max.f32", "www", max_f32, NULL, F_NAN | F_FTZ},
    {"min.abs.f32", "www", min_f32, NULL, F_NAN | F_XORSIGN | F_FTZ},
    {"max.abs.f32", "www", max_f32, NULL, F_NAN | F_XORSIGN | F_FTZ},
    {"+min3.f32", "wwww", min_f32_3, NULL, F_NAN | F_FTZ},
    {"+max3.f32", "wwww", max_f32_3, NULL, F_NAN | F_FTZ},
    {"+min3.abs.f32", "wwww", min_abs_f32_3, NULL, F_NAN | F_FTZ},
    {"+max3.abs.f32", "wwww", max_abs_f32_3, NULL, F_NAN | F_FTZ},
    {"copysign.f32", "www", copysign_f32, NULL, 0},
    {"copysign.f64", "qqq", copysign_f64, NULL, 0},
    TEST_ROWS(finite),
    TEST_ROWS(infinite),
    TEST_ROWS(number),
    TEST_ROWS(notanumber),
    TEST_ROWS(normal),
    TEST_ROWS(subnormal),
};
const struct op_table simt_ops_float = {rows, sizeof rows / sizeof *rows};
