/* cvt: every pair of types and rounding mode that the vector ops do not have. One conversion goes through an exact
 * middle: an integer through 64 bits, a float through double. */
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"

static bool is_float(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64 || t == PTX_TF32;
}
static bool is_signed(enum ptx_type t)
{
    return t >= PTX_S8 && t <= PTX_S64;
}
static bool is_integer(enum ptx_type t)
{
    return t >= PTX_U8 && t <= PTX_S64;
}

static double read_float(enum ptx_type t, uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    float f;
    double d;
    switch (t) {
    case PTX_F16: return (double)simt_half_to((uint16_t)bits);
    case PTX_BF16: return (double)simt_bfloat_to((uint16_t)bits);
    case PTX_F32: memcpy(&f, &narrow, 4); return (double)f;
    default: memcpy(&d, &bits, 8); return d;
    }
}

/* Only a rounding otherwise than to nearest may miss what was rounded: by a step, on the wrong side. To set the host's
 * rounding would take longer. */
static bool is_beyond(long double rounded, long double x, uint32_t flags)
{
    if (flags & F_RZ) return fabsl(rounded) > fabsl(x);
    return flags & F_RM ? rounded > x : flags & F_RP && rounded < x;
}
static double side_of(uint32_t flags)
{
    return flags & F_RZ ? 0 : flags & F_RM ? -HUGE_VAL : HUGE_VAL;
}
static float to_float(long double x, uint32_t flags)
{
    float f = (float)x;
    return is_beyond((long double)f, x, flags) ? nextafterf(f, (float)side_of(flags)) : f;
}
static double to_double(long double x, uint32_t flags)
{
    double d = (double)x;
    return is_beyond((long double)d, x, flags) ? nextafter(d, side_of(flags)) : d;
}

/* tf32: a float whose low 13 bits are zero. */
static uint32_t to_tf32(float x, uint32_t flags)
{
    uint32_t bits, infinity = 0x7f800000u, half = flags & F_RN ? 0xfffu : 0x1000u;
    memcpy(&bits, &x, 4);
    if (x != x) return 0x7fffffffu;
    if ((bits & infinity) != infinity) {
        if (flags & F_RN) half += bits >> 13 & 1;
        bits = (flags & F_RZ ? bits : bits + half) & ~0x1fffu;
    }
    return flags & F_SATFINITE && (bits & infinity) == infinity ? bits - 0x2000u : bits;
}

static uint64_t write_float(enum ptx_type t, double x, uint32_t flags)
{
    uint64_t bits = 0;
    uint32_t narrow;
    float f;
    if (flags & F_SAT) x = !(x > 0) ? 0 : x > 1 ? 1 : x;
    if (flags & F_RELU && !(x > 0)) x = x != x ? x : 0;
    switch (t) {
    case PTX_F16: return simt_half_from(x, flags);
    case PTX_BF16: return simt_bfloat_from(x, flags);
    case PTX_TF32: return to_tf32((float)x, flags);
    case PTX_F32:
        f = to_float((long double)x, flags);
        if (flags & F_FTZ && fabsf(f) < 0x1p-126f) f = copysignf(0, f);
        memcpy(&narrow, &f, 4);
        return narrow;
    default: memcpy(&bits, &x, 8); return bits;
    }
}

static double round_integral(double x, uint32_t flags)
{
    if (flags & F_RZI) return trunc(x);
    if (flags & F_RMI) return floor(x);
    if (flags & F_RPI) return ceil(x);
    return rint(x);
}

static uint64_t mask_to(enum ptx_type t, uint64_t v)
{
    switch (t) {
    case PTX_U8: return (uint8_t)v;
    case PTX_U16: return (uint16_t)v;
    case PTX_U32: return (uint32_t)v;
    case PTX_S8: return (uint64_t)(int8_t)v;
    case PTX_S16: return (uint64_t)(int16_t)v;
    case PTX_S32: return (uint64_t)(int32_t)v;
    default: return v;
    }
}

/* The range of a type as doubles: its least value, and the first beyond its greatest. */
static uint64_t float_to_integer(enum ptx_type to, enum ptx_type from, double x, uint32_t flags)
{
    int bits = 8 * (int)ptx_type_size(to);
    if (x != x) {
        bool zero = from != PTX_F64 && bits != 64;
        return zero ? 0 : mask_to(to, (uint64_t)1 << (bits - 1));
    }
    if (flags & F_FTZ && from == PTX_F32 && fabs(x) < 0x1p-126) x = 0;
    x = round_integral(x, flags);
    double beyond = ldexp(1, is_signed(to) ? bits - 1 : bits), least = is_signed(to) ? -beyond : 0;
    uint64_t most = (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1) >> is_signed(to);
    if (x >= beyond) return most;
    if (x <= least) return is_signed(to) ? mask_to(to, (uint64_t)1 << (bits - 1)) : 0;
    return is_signed(to) ? mask_to(to, (uint64_t)(int64_t)x) : (uint64_t)x;
}

static uint64_t saturate_integer(enum ptx_type to, enum ptx_type from, uint64_t v)
{
    int bits = 8 * (int)ptx_type_size(to);
    __int128 x = is_signed(from) ? (__int128)(int64_t)v : (__int128)v;
    __int128 most = (((__int128)1 << bits) - 1) >> is_signed(to), least = is_signed(to) ? -most - 1 : 0;
    return mask_to(to, (uint64_t)(x > most ? most : x < least ? least : x));
}

/* Integers beyond 53 bits are rounded once, straight into the target; the host's widest floats have them all. */
static uint64_t integer_to_float(enum ptx_type to, enum ptx_type from, uint64_t v, uint32_t flags)
{
    long double x = is_signed(from) ? (long double)(int64_t)v : (long double)v;
    uint64_t bits = 0;
    if (to == PTX_F32) {
        float f = to_float(x, flags);
        memcpy(&bits, &f, 4);
        return bits;
    }
    double d = to_double(x, to == PTX_F64 ? flags : F_RZ);
    memcpy(&bits, &d, 8);
    if (to == PTX_F64) return bits;
    bits |= (long double)d != x; /* what was lost, as a last bit */
    memcpy(&d, &bits, 8);
    return write_float(to, d, flags);
}

static uint64_t convert(enum ptx_type to, enum ptx_type from, uint64_t v, uint32_t flags)
{
    if (is_float(from)) {
        double x = read_float(from, v);
        if (flags & F_FTZ && from == PTX_F32 && fabs(x) < 0x1p-126) x = copysign(0, x);
        if (!is_float(to)) return float_to_integer(to, from, x, flags);
        if (flags & (F_RNI | F_RZI | F_RMI | F_RPI)) x = round_integral(x, flags);
        return write_float(to, x, flags);
    }
    v = mask_to(from, v);
    if (is_float(to) && flags & F_SAT && v > 1) v = !is_signed(from) || (int64_t)v > 0;
    if (is_float(to)) return integer_to_float(to, from, v, flags);
    if (flags & F_SAT) return saturate_integer(to, from, v);
    return mask_to(to, v);
}

/* The pair of types is part of the function, so that it needs no place in the instruction. */
#define CONVERT(to, from)                                                                                              \
    static enum event cvt_##to##_##from(char *R, const struct insn *i, uint32_t m, struct warp *w)                     \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        bool wide_to = ptx_type_size(PTX_##to) == 8, wide_from = ptx_type_size(PTX_##from) == 8;                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint64_t v = convert(PTX_##to, PTX_##from, wide_from ? u64_at(R, i->a)[l] : u32_at(R, i->a)[l], i->flags); \
            if (wide_to)                                                                                               \
                u64_at(R, i->d)[l] = v;                                                                                \
            else                                                                                                       \
                u32_at(R, i->d)[l] = (uint32_t)v;                                                                      \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define EACH_TYPE(X, to)                                                                                               \
    X(to, U8)                                                                                                          \
    X(to, U16)                                                                                                         \
    X(to, U32) X(to, U64) X(to, S8) X(to, S16) X(to, S32) X(to, S64) X(to, F16) X(to, BF16) X(to, F32) X(to, F64)
#define ALL(X)                                                                                                         \
    EACH_TYPE(X, U8)                                                                                                   \
    EACH_TYPE(X, U16)                                                                                                  \
    EACH_TYPE(X, U32)                                                                                                  \
    EACH_TYPE(X, U64)                                                                                                  \
    EACH_TYPE(X, S8)                                                                                                   \
    EACH_TYPE(X, S16)                                                                                                  \
    EACH_TYPE(X, S32)                                                                                                  \
    EACH_TYPE(X, S64) EACH_TYPE(X, F16) EACH_TYPE(X, BF16) EACH_TYPE(X, F32) EACH_TYPE(X, F64) X(TF32, F32)
ALL(CONVERT)

#define ROW(to, from) [PTX_##to][PTX_##from] = cvt_##to##_##from,
static const op_function functions[PTX_TYPE_COUNT][PTX_TYPE_COUNT] = {ALL(ROW)};

op_function simt_op_convert(enum ptx_type to, enum ptx_type from, uint32_t flags)
{
    uint32_t integral = F_RNI | F_RZI | F_RMI | F_RPI, any = F_RN | F_ROUND | F_RNA, known = F_FTZ | F_SAT;
    if (is_float(from) && is_integer(to)) known |= integral;
    if (is_float(to)) known |= any | F_RELU | F_SATFINITE;
    if (is_float(to) && is_float(from)) known |= integral;
    if (is_float(from) && is_integer(to) && !(flags & integral)) return NULL;
    return flags & ~known ? NULL : functions[to][from];
}

void simt_each_convert(void (*tell)(op_function run, const char *operands))
{
    static const char *const operands[2][2] = {{"ww", "wq"}, {"qw", "qq"}};
    for (int to = 0; to < PTX_TYPE_COUNT; to++)
        for (int from = 0; from < PTX_TYPE_COUNT; from++)
            if (functions[to][from])
                tell(functions[to][from],
                     operands[ptx_type_size((enum ptx_type)to) == 8][ptx_type_size((enum ptx_type)from) == 8]);
}
