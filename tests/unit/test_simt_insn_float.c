/* Floating-point instructions of the software GPU: f32 and f64 arithmetic bit by bit in all rounding modes, against
 * arithmetic by integers; the approximations within the errors that the PTX manual allows them. */
#include "tests/unit/simt_insn.h"
#include "tests/unit/soft_float.h"

static const struct {
    const char *name;
    enum soft_mode mode;
} modes[] = {{".rn", SOFT_RN}, {".rz", SOFT_RZ}, {".rm", SOFT_RM}, {".rp", SOFT_RP}};

typedef struct soft (*operation)(struct soft x, struct soft y, struct soft z, enum soft_mode mode);
static struct soft minus(struct soft s)
{
    s.negative = !s.negative;
    return s;
}
#define OPERATION(name, expr)                                                                                          \
    static struct soft op_##name(struct soft x, struct soft y, struct soft z, enum soft_mode mode)                     \
    {                                                                                                                  \
        (void)x, (void)y, (void)z, (void)mode;                                                                         \
        return expr;                                                                                                   \
    }
OPERATION(add, soft_add(x, y, mode))
OPERATION(sub, soft_add(x, minus(y), mode))
OPERATION(mul, soft_multiply(x, y))
OPERATION(fma, soft_add(soft_multiply(x, y), z, mode))
OPERATION(div, soft_divide(x, y))
OPERATION(rcp, soft_divide(soft_of_int(1), x))
OPERATION(sqrt, soft_root(x))

static const struct {
    const char *op;
    int inputs;
    bool plain; /* may be written without a rounding mode: to nearest */
    bool saturates;
    operation f;
} arithmetic[] = {
    {"add", 2, true, true, op_add},   {"sub", 2, true, true, op_sub},     {"mul", 2, true, true, op_mul},
    {"fma", 3, false, true, op_fma},  {"mad", 3, false, true, op_fma},    {"div", 2, false, false, op_div},
    {"rcp", 1, false, false, op_rcp}, {"sqrt", 1, false, false, op_sqrt},
};

static uint64_t compute(operation f, struct soft_format format, enum soft_mode mode, bool ftz, bool sat, uint64_t x,
                        uint64_t y, uint64_t z)
{
    uint64_t in[] = {x, y, z};
    struct soft s[3];
    for (int k = 0; k < 3; k++) {
        if (format.width == 32) in[k] = (uint32_t)in[k];
        s[k] = soft_unpack(format, ftz ? soft_flush(format, in[k]) : in[k]);
    }
    uint64_t r = soft_pack(format, f(s[0], s[1], s[2], mode), mode);
    if (ftz) r = soft_flush(format, r);
    return sat ? soft_saturate(format, r) : r;
}

static void check_arithmetic(size_t k, const char *rounding, enum soft_mode mode, bool wide, bool ftz, bool sat)
{
    static const char *const operands[2][4] = {{"", "%fx", "%fx, %fy", "%fx, %fy, %fz"},
                                               {"", "%dx", "%dx, %dy", "%dx, %dy, %dz"}};
    const char *text =
        sprint("%s%s%s%s.%s %%%co, %s;", arithmetic[k].op, rounding, ftz ? ".ftz" : "", sat ? ".sat" : "",
               wide ? "f64" : "f32", wide ? 'd' : 'f', operands[wide][arithmetic[k].inputs]);
    INSN(text, FLOATS, compute(arithmetic[k].f, wide ? soft_f64 : soft_f32, mode, ftz, sat, x, y, z));
}

static void check_arithmetic_of(bool wide, bool ftz, bool sat)
{
    for (size_t k = 0; k < COUNT(arithmetic); k++) {
        if (sat && !arithmetic[k].saturates) continue;
        for (size_t j = 0; j < COUNT(modes); j++) check_arithmetic(k, modes[j].name, modes[j].mode, wide, ftz, sat);
        if (arithmetic[k].plain) check_arithmetic(k, "", SOFT_RN, wide, ftz, sat);
    }
}
INSN_TEST(f32_arithmetic)
{
    check_arithmetic_of(false, false, false);
}
INSN_TEST(f32_arithmetic_flushing)
{
    check_arithmetic_of(false, true, false);
}
INSN_TEST(f32_arithmetic_saturating)
{
    check_arithmetic_of(false, false, true);
    check_arithmetic_of(false, true, true);
}
INSN_TEST(f64_arithmetic)
{
    check_arithmetic_of(true, false, false);
}

/* A product and a sum are rounded twice. */
INSN_TEST(products_and_sums_do_not_contract)
{
    INSN("mul.f32 %fo, %fx, %fy; add.f32 %fo, %fo, %fz;", FLOATS,
         compute(op_add, soft_f32, SOFT_RN, false, false, compute(op_mul, soft_f32, SOFT_RN, false, false, x, y, 0), z,
                 0));
    INSN("mul.f64 %do, %dx, %dy; sub.f64 %do, %dz, %do;", FLOATS,
         compute(op_sub, soft_f64, SOFT_RN, false, false, z, compute(op_mul, soft_f64, SOFT_RN, false, false, x, y, 0),
                 0));
}

/* ---- minimum and maximum, signs ---- */
static uint64_t flush32(bool ftz, uint64_t x)
{
    return ftz ? soft_flush(soft_f32, (uint32_t)x) : (uint32_t)x;
}
static uint64_t xorsign(uint64_t x, uint64_t y, bool most, bool nan, bool ftz)
{
    uint64_t sign = (x ^ y) & 0x80000000;
    uint64_t r = soft_extreme(soft_f32, flush32(ftz, x) & INT32_MAX, flush32(ftz, y) & INT32_MAX, most, nan);
    return r | sign;
}
INSN_TEST(minimum_and_maximum)
{
    for (int k = 0; k < 8; k++) {
        bool most = k & 1, nan = k & 2, ftz = k & 4;
        const char *op = most ? "max" : "min", *flags = sprint("%s%s", ftz ? ".ftz" : "", nan ? ".NaN" : "");
        INSN(sprint("%s%s.f32 %%fo, %%fx, %%fy;", op, flags), FLOATS,
             soft_extreme(soft_f32, flush32(ftz, x), flush32(ftz, y), most, nan));
        INSN(sprint("%s%s.xorsign.abs.f32 %%fo, %%fx, %%fy;", op, flags), FLOATS, xorsign(x, y, most, nan, ftz));
        INSN(sprint("%s%s.f32 %%fo, %%fx, %%fy, %%fz;", op, flags), FLOATS,
             soft_extreme(soft_f32, soft_extreme(soft_f32, flush32(ftz, x), flush32(ftz, y), most, nan),
                          flush32(ftz, z), most, nan));
    }
    INSN("min.f64 %do, %dx, %dy;", FLOATS, soft_extreme(soft_f64, x, y, false, false));
    INSN("max.f64 %do, %dx, %dy;", FLOATS, soft_extreme(soft_f64, x, y, true, false));
}

static uint64_t magnitude(bool ftz, uint64_t x)
{
    return flush32(ftz, x) & INT32_MAX;
}
INSN_TEST(extremes_of_three_magnitudes)
{
    for (int k = 0; k < 8; k++) {
        bool most = k & 1, nan = k & 2, ftz = k & 4;
        INSN(sprint("%s%s%s.abs.f32 %%fo, %%fx, %%fy, %%fz;", most ? "max" : "min", ftz ? ".ftz" : "",
                    nan ? ".NaN" : ""),
             FLOATS,
             soft_extreme(soft_f32, soft_extreme(soft_f32, magnitude(ftz, x), magnitude(ftz, y), most, nan),
                          magnitude(ftz, z), most, nan));
    }
}

INSN_TEST(signs_and_classes)
{
    INSN("neg.f32 %fo, %fx;", FLOATS, (uint32_t)x ^ 0x80000000);
    INSN("abs.f32 %fo, %fx;", FLOATS, x & INT32_MAX);
    INSN("neg.ftz.f32 %fo, %fx;", FLOATS, flush32(true, x) ^ 0x80000000);
    INSN("abs.ftz.f32 %fo, %fx;", FLOATS, flush32(true, x) & INT32_MAX);
    INSN("neg.f64 %do, %dx;", FLOATS, x ^ (uint64_t)INT64_MIN);
    INSN("abs.f64 %do, %dx;", FLOATS, x & INT64_MAX);
    INSN("copysign.f32 %fo, %fx, %fy;", BITS, (x & 0x80000000) | (y & INT32_MAX));
    INSN("copysign.f64 %do, %dx, %dy;", BITS, (x & (uint64_t)INT64_MIN) | (y & INT64_MAX));
    INSN("mov.f32 %fo, %fx;", BITS, (uint32_t)x);
    INSN("mov.f64 %do, %dx;", BITS, x);
    INSN("mov.b32 %ro, %fx;", BITS, (uint32_t)x);
    INSN("mov.b64 %do, %qx;", BITS, x);
    INSN("selp.f32 %fo, %fx, %fy, %pz;", BITS, (uint32_t)(z & 1 ? x : y));
    INSN("selp.f64 %do, %dx, %dy, %pz;", BITS, z & 1 ? x : y);
    static const char *const classes[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (int k = 0; k < 6; k++)
        for (int wide = 0; wide < 2; wide++) {
            char line[64];
            snprintf(line, sizeof line, wide ? "testp.%s.f64 %%po, %%dx;" : "testp.%s.f32 %%po, %%fx;", classes[k]);
            INSN(line, BITS, ({
                     uint64_t bits = wide ? x & INT64_MAX : x & INT32_MAX;
                     uint64_t infinity = wide ? 0x7ff0000000000000 : 0x7f800000;
                     uint64_t normal = wide ? 0x0010000000000000 : 0x00800000;
                     k == 0   ? bits < infinity
                     : k == 1 ? bits == infinity
                     : k == 2 ? bits <= infinity
                     : k == 3 ? bits > infinity
                     : k == 4 ? bits >= normal &&bits < infinity
                              : bits &&bits < normal;
                 }));
        }
}

/* ---- approximations ---- */
/* Expects about `value` of x (and y), within `relative` of it and `absolute`. What is below the least normal number
 * may be flushed. */
#define CLOSE(text, value, relative, absolute)                                                                         \
    do {                                                                                                               \
        const char *text_ = (text);                                                                                    \
        bool ftz_ = strstr(text_, ".ftz") != NULL;                                                                     \
        make_cases(text_);                                                                                             \
        for (int i_ = 0; i_ < all_case_count; i_++) {                                                                  \
            double x = (double)f32_of(flush32(ftz_, in_x[i_])), y = (double)f32_of(flush32(ftz_, in_y[i_]));           \
            (void)y;                                                                                                   \
            double value_ = (value);                                                                                   \
            want_error[i_] = fabs(value_) * (relative) + (absolute);                                                   \
            if (ftz_ && fabs(value_) < 0x1p-126) value_ = copysign(0, value_);                                         \
            want_value[i_] =                                                                                           \
                fabs(value_) < 0x1.ffffffp127 ? value_ : copysign(INFINITY, value_) * (value_ == value_ ? 1 : NAN);    \
        }                                                                                                              \
        check_insn(text_, NEAR);                                                                                       \
    } while (0)
#define ULP 0x1p-23 /* of the result: between a half and one of its last places */

INSN_TEST(approximations)
{
    static const char *const ftz[] = {"", ".ftz"};
    for (int k = 0; k < 2; k++) {
        const char *f = ftz[k];
        CLOSE(sprint("ex2.approx%s.f32 %%fo, %%fx;", f), exp2(x), 2 * ULP, 0x1p-149);
        CLOSE(sprint("lg2.approx%s.f32 %%fo, %%fx;", f), log2(x), 0x1p-22, 0x1p-22);
        CLOSE(sprint("rcp.approx%s.f32 %%fo, %%fx;", f), 1 / x, ULP, 0x1p-149);
        CLOSE(sprint("sqrt.approx%s.f32 %%fo, %%fx;", f), sqrt(x), 2 * ULP, 0x1p-149);
        CLOSE(sprint("rsqrt.approx%s.f32 %%fo, %%fx;", f), 1 / sqrt(x), 0x1p-22, 0);
        CLOSE(sprint("div.full%s.f32 %%fo, %%fx, %%fy;", f), x / y, 2 * ULP, 0x1p-148);
        CLOSE(sprint("div.approx%s.f32 %%fo, %%fx, %%fy;", f), x / y, 2 * ULP, 0x1p-148);
        /* The manual gives bounds within a few periods only; ours hold everywhere. */
        CLOSE(sprint("sin.approx%s.f32 %%fo, %%fx;", f), sin(x), 2 * ULP, 0x1p-149);
        CLOSE(sprint("cos.approx%s.f32 %%fo, %%fx;", f), cos(x), 2 * ULP, 0x1p-149);
    }
    CLOSE("tanh.approx.f32 %fo, %fx;", tanh(x), 0x1p-11, 0x1p-149);
}

/* f64 approximations read and give the upper 32 bits only. */
#define CLOSE64(text, value)                                                                                           \
    do {                                                                                                               \
        make_cases(text);                                                                                              \
        for (int i_ = 0; i_ < all_case_count; i_++) {                                                                  \
            double x = f64_of(soft_flush(soft_f64, in_x[i_])), value_ = (value);                                       \
            want_value[i_] = f64_of(soft_flush(soft_f64, bits_of_f64(value_)));                                        \
            want_error[i_] = fabs(value_) * 0x1p-20;                                                                   \
        }                                                                                                              \
        check_insn(text, NEAR);                                                                                        \
    } while (0)
INSN_TEST(approximations_of_f64)
{
    CLOSE64("rcp.approx.ftz.f64 %do, %dx;", 1 / x);
    CLOSE64("rsqrt.approx.ftz.f64 %do, %dx;", 1 / sqrt(x));
    make_cases("rsqrt.approx.f64 %do, %dx;");
    for (int i = 0; i < all_case_count; i++) {
        want_value[i] = 1 / sqrt(f64_of(in_x[i]));
        want_error[i] = want_value[i] * 0x1p-20;
    }
    check_insn("rsqrt.approx.f64 %do, %dx;", NEAR);
}
