/* Floats of 8, 6 and 4 bits: their values, and rounding to them. */
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

static const struct {
    int exponent, mantissa, bias;                      /* bits */
    enum { ENDS_INFINITE, ENDS_NAN, ENDS_FINITE } end; /* what the greatest exponent holds; NAN: its last code alone */
} formats[] = {
    [NARROW_E4M3] = {4, 3, 7, ENDS_NAN},    [NARROW_E5M2] = {5, 2, 15, ENDS_INFINITE},
    [NARROW_E2M3] = {2, 3, 1, ENDS_FINITE}, [NARROW_E3M2] = {3, 2, 3, ENDS_FINITE},
    [NARROW_E2M1] = {2, 1, 1, ENDS_FINITE},
};

float simt_narrow_to(enum narrow_format f, uint8_t code)
{
    int mantissa = formats[f].mantissa, width = formats[f].exponent + mantissa;
    uint32_t fraction = code & ((1u << mantissa) - 1);
    int exponent = code >> mantissa & ((1 << formats[f].exponent) - 1), last = (1 << formats[f].exponent) - 1;
    float sign = code >> width & 1 ? -1.0f : 1.0f;
    if (formats[f].end == ENDS_INFINITE && exponent == last) return fraction ? NAN : sign * INFINITY;
    if (formats[f].end == ENDS_NAN && exponent == last && fraction == (1u << mantissa) - 1) return NAN;
    if (!exponent) return sign * ldexpf((float)fraction, 1 - formats[f].bias - mantissa);
    return sign * ldexpf((float)(fraction | 1u << mantissa), exponent - formats[f].bias - mantissa);
}

/* To nearest, ties to even, or stochastically by so many random bits where there are any; what is too large becomes the
 * largest number. */
static uint8_t narrow_by_chance(enum narrow_format f, float x, uint32_t flags, uint32_t random, int random_count)
{
    int mantissa = formats[f].mantissa, width = formats[f].exponent + mantissa, bias = formats[f].bias;
    uint32_t ones = (1u << width) - 1; /* all bits but the sign */
    uint32_t most = formats[f].end == ENDS_INFINITE ? ones - (1u << mantissa) : ones - (formats[f].end == ENDS_NAN);
    if (isnan(x)) return (uint8_t)(formats[f].end == ENDS_FINITE ? most : ones);
    if (flags & F_RELU && x <= 0) x = 0;
    uint32_t sign = signbit(x) ? 1u << width : 0;
    float magnitude = fabsf(x);
    if (isinf(x)) return (uint8_t)(sign | most);
    int exponent = magnitude > 0 ? ilogbf(magnitude) : 0;
    if (magnitude == 0 || exponent < 1 - bias) exponent = 1 - bias;
    if (exponent + bias >= 1 << formats[f].exponent) return (uint8_t)(sign | most);
    /* In units of the last place. A carry into the next exponent is right as it is. */
    double exact = ldexp((double)magnitude, mantissa - exponent);
    double rounded = random_count ? simt_units_by_chance(exact, random, random_count) : rint(exact);
    uint32_t code = (uint32_t)rounded + ((uint32_t)(exponent + bias - 1) << mantissa);
    return (uint8_t)(sign | (code > most ? most : code));
}

static uint8_t narrow_from(enum narrow_format f, float x, uint32_t flags)
{
    return narrow_by_chance(f, x, flags, 0, 0);
}

/* ue8m0: a power of two, 2^(code - 127), or NaN. */
static uint8_t power_from(float x, uint32_t flags)
{
    uint32_t bits = simt_float_bits(fabsf(x)), code = bits >> 23, rest = bits & 0x7fffff;
    if (isnan(x)) return 255;
    if (code == 255) return flags & F_SATFINITE ? 254 : 255;
    bool up = flags & F_RP && (code ? rest > 0 : rest > 0x400000);
    code += up;
    return (uint8_t)(code == 255 && flags & F_SATFINITE ? 254 : code);
}
static uint16_t power_to(uint8_t code) /* as bf16 */
{
    return code == 255 ? 0x7fff : code ? (uint16_t)(code << 7) : 0x40;
}

static uint16_t to_half(enum narrow_format f, uint32_t code, uint32_t flags)
{
    float x = simt_narrow_to(f, (uint8_t)code);
    return simt_half_from(flags & F_RELU && x <= 0 ? 0 : (double)x, 0);
}

/* Two numbers in one register; the first operand becomes the upper part. */
#define FROM_FLOATS(name, convert, shift)                                                                              \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t high = convert(simt_as_float(u32_at(R, i->a)[l]), i->flags);                                      \
            uint32_t low = convert(simt_as_float(u32_at(R, i->b)[l]), i->flags);                                       \
            u32_at(R, i->d)[l] = high << (shift) | low;                                                                \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define FROM_PAIR(name, convert, widen, shift)                                                                         \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t v = u32_at(R, i->a)[l];                                                                           \
            uint32_t high = convert(widen((uint16_t)(v >> 16)), i->flags),                                             \
                     low = convert(widen((uint16_t)v), i->flags);                                                      \
            u32_at(R, i->d)[l] = high << (shift) | low;                                                                \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define TO_PAIR(name, format, shift)                                                                                   \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t v = u32_at(R, i->a)[l], mask = (1u << (shift)) - 1;                                               \
            uint32_t high = to_half(format, v >> (shift)&mask, i->flags), low = to_half(format, v & mask, i->flags);   \
            u32_at(R, i->d)[l] = high << 16 | low;                                                                     \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
/* Half of what cvt.rs converts to four numbers: i->mode says whether it is the upper one. PTX gives both numbers of a
 * half the same 16 random bits, or, where they have 4 bits, 8 of each 16 to each: the upper 8 to the upper half. That
 * of these the upper 16 are the first number's is our reading of it. */
static enum event pair_by_chance(char *R, const struct insn *i, uint32_t m, enum narrow_format format, int width)
{
    EACH_LANE(l, m)
    {
        uint32_t random = u32_at(R, i->c)[l], first, second;
        int count = width == 4 ? 8 : 16;
        if (width == 4)
            first = random >> (i->mode ? 24 : 16), second = random >> (i->mode ? 8 : 0);
        else
            first = second = random >> (i->mode ? 16 : 0);
        uint32_t high = narrow_by_chance(format, simt_as_float(u32_at(R, i->a)[l]), i->flags, first, count);
        uint32_t low = narrow_by_chance(format, simt_as_float(u32_at(R, i->b)[l]), i->flags, second, count);
        u32_at(R, i->d)[l] = high << width | low;
    }
    return EV_NEXT;
}
#define FORMAT(name, format, shift)                                                                                    \
    static uint8_t name##_from(float x, uint32_t flags)                                                                \
    {                                                                                                                  \
        return narrow_from(format, x, flags);                                                                          \
    }                                                                                                                  \
    FROM_FLOATS(name##_f32, name##_from, shift)                                                                        \
    FROM_PAIR(name##_f16, name##_from, simt_half_to, shift)                                                            \
    OP(name##_by_chance)                                                                                               \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        return pair_by_chance(R, i, m, format, shift);                                                                 \
    }                                                                                                                  \
    FROM_PAIR(name##_bf16, name##_from, simt_bfloat_to, shift)                                                         \
    TO_PAIR(f16_##name, format, shift)
FORMAT(e4m3, NARROW_E4M3, 8)
FORMAT(e5m2, NARROW_E5M2, 8)
FORMAT(e2m3, NARROW_E2M3, 8)
FORMAT(e3m2, NARROW_E3M2, 8)
FORMAT(e2m1, NARROW_E2M1, 4)
FROM_FLOATS(ue8m0_f32, power_from, 8)
FROM_PAIR(ue8m0_bf16, power_from, simt_bfloat_to, 8)
OP(bf16_ue8m0)
{
    (void)w;
    EACH_LANE(l, m)
    {
        uint32_t v = u32_at(R, i->a)[l];
        u32_at(R, i->d)[l] = (uint32_t)power_to((uint8_t)(v >> 8)) << 16 | power_to((uint8_t)v);
    }
    return EV_NEXT;
}

#define FORMAT_ROWS(name)                                                                                              \
    {"cvt." #name "x2.f32", "www", name##_f32, NULL, F_RN | F_SATFINITE | F_RELU},                                     \
        {"cvt." #name "x2.f16x2", "ww", name##_f16, NULL, F_RN | F_SATFINITE | F_RELU},                                \
        {"cvt." #name "x2.bf16x2", "ww", name##_bf16, NULL, F_RN | F_SATFINITE | F_RELU},                              \
        {"+cvt.rs." #name, "wwww", name##_by_chance, NULL, F_SATFINITE | F_RELU},                                      \
    {                                                                                                                  \
        "cvt.f16x2." #name "x2", "ww", f16_##name, NULL, F_RN | F_RELU                                                 \
    }
static const struct op_row rows[] = {
    FORMAT_ROWS(e4m3),
    FORMAT_ROWS(e5m2),
    FORMAT_ROWS(e2m3),
    FORMAT_ROWS(e3m2),
    FORMAT_ROWS(e2m1),
    {"cvt.ue8m0x2.f32", "www", ue8m0_f32, NULL, F_RZ | F_RP | F_SATFINITE},
    {"cvt.ue8m0x2.bf16x2", "ww", ue8m0_bf16, NULL, F_RZ | F_RP | F_SATFINITE},
    {"cvt.bf16x2.ue8m0x2", "ww", bf16_ue8m0, NULL, F_RN},
};
const struct op_table simt_ops_narrow = {rows, sizeof rows / sizeof *rows};
