/* Several numbers in a register: two 16-bit integers, two floats in 64 bits, saturated integers side by side; sums of
 * floats with halves. */
#include <fenv.h>
#include <math.h>
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/rounded.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

/* ---- 16-bit integers, two in a register; x and y are one pair ---- */
#define PAIR(name, T, expr)                                                                                            \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t a = u32_at(R, i->a)[l], b = u32_at(R, i->b)[l], r = 0;                                            \
            for (int shift = 0; shift < 32; shift += 16) {                                                             \
                T x = (T)(a >> shift), y = (T)(b >> shift);                                                            \
                r |= (uint32_t)(uint16_t)(expr) << shift;                                                              \
            }                                                                                                          \
            u32_at(R, i->d)[l] = r;                                                                                    \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
#define RELU(v) (i->flags & F_RELU && (v) < 0 ? 0 : (v))
PAIR(add_x2, uint16_t, x + y)
PAIR(min_u16x2, uint16_t, x < y ? x : y)
PAIR(max_u16x2, uint16_t, x > y ? x : y)
PAIR(min_s16x2, int16_t, RELU(x < y ? x : y))
PAIR(max_s16x2, int16_t, RELU(x > y ? x : y))

#define WORD(name, T, expr)                                                                                            \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            T x = (T)u32_at(R, i->a)[l], y = (T)u32_at(R, i->b)[l], z = (T)u32_at(R, i->c)[l];                         \
            (void)z;                                                                                                   \
            u32_at(R, i->d)[l] = (uint32_t)(expr);                                                                     \
        }                                                                                                              \
        return EV_NEXT;                                                                                                \
    }
WORD(min_relu, int32_t, RELU(x < y ? x : y))
WORD(max_relu, int32_t, RELU(x > y ? x : y))

/* The n-th set bit of x from bit `base` on, upwards or downwards; n counts from 1, and 0 asks for the bit itself. */
static uint32_t find_nth(uint32_t x, uint32_t base, int32_t n)
{
    if (base > 31) return UINT32_MAX;
    if (!n) return x >> base & 1 ? base : UINT32_MAX;
    int64_t left = n < 0 ? -(int64_t)n : n;
    for (int at = (int)base; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
        if (x >> at & 1 && --left == 0) return (uint32_t)at;
    return UINT32_MAX;
}
WORD(fns, uint32_t, find_nth(x, y, (int32_t)z))

/* ---- cvt.pack: two integers, saturated, above what c brings along ---- */
static uint32_t saturate(int32_t v, int bits, bool is_signed)
{
    int32_t most = (int32_t)((1u << bits) - 1) >> is_signed, least = is_signed ? -most - 1 : 0;
    return (uint32_t)(v > most ? most : v < least ? least : v) & ((1u << bits) - 1);
}
#define PACK(name, bits, is_signed)                                                                                    \
    WORD(pack_##name, int32_t,                                                                                         \
         saturate(x, bits, is_signed) << (bits) | saturate(y, bits, is_signed) |                                       \
             ((bits) < 16 ? (uint32_t)z << (2 * (bits)&31) : 0))
PACK(u2, 2, false)
PACK(s2, 2, true)
PACK(u4, 4, false)
PACK(s4, 4, true)
PACK(u8, 8, false)
PACK(s8, 8, true)
PACK(u16, 16, false)
PACK(s16, 16, true)

/* ---- floats ---- */

/* volatile keeps the sums between the changes of the rounding mode. */
#define VALUE(name, expr)                                                                                              \
    static __attribute__((noinline)) float value_##name(const struct insn *i, float p, float q, float r)               \
    {                                                                                                                  \
        volatile float x = simt_enter(i, p), y = simt_enter(i, q), z = simt_enter(i, r);                               \
        (void)z;                                                                                                       \
        volatile float v = (expr);                                                                                     \
        return simt_leave(i, v);                                                                                       \
    }                                                                                                                  \
    OP(name##_x2_float)                                                                                                \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        int old = fegetround();                                                                                        \
        fesetround(simt_rounding(i));                                                                                  \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            float a[2], b[2], c[2];                                                                                    \
            memcpy(a, &u64_at(R, i->a)[l], 8);                                                                         \
            memcpy(b, &u64_at(R, i->b)[l], 8);                                                                         \
            memcpy(c, &u64_at(R, i->c)[l], 8);                                                                         \
            for (int h = 0; h < 2; h++) a[h] = value_##name(i, a[h], b[h], c[h]);                                      \
            memcpy(&u64_at(R, i->d)[l], a, 8);                                                                         \
        }                                                                                                              \
        fesetround(old);                                                                                               \
        return EV_NEXT;                                                                                                \
    }
VALUE(add, x + y)
VALUE(sub, x - y)
VALUE(mul, x *y)
VALUE(fma, fmaf(x, y, z))

/* The first operands are halves; the last one and the result are floats. */
#define MIXED(name, widen, value)                                                                                      \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        (void)w;                                                                                                       \
        int old = fegetround();                                                                                        \
        fesetround(simt_rounding(i));                                                                                  \
        EACH_LANE(l, m)                                                                                                \
        {                                                                                                              \
            uint32_t b = u32_at(R, i->b)[l];                                                                           \
            float x = widen((uint16_t)u32_at(R, i->a)[l]), y = widen((uint16_t)b), last = simt_as_float(b), r;         \
            (void)y, (void)last;                                                                                       \
            r = (value);                                                                                               \
            memcpy(&u32_at(R, i->d)[l], &r, 4);                                                                        \
        }                                                                                                              \
        fesetround(old);                                                                                               \
        return EV_NEXT;                                                                                                \
    }
#define MIXED_OPS(name, widen)                                                                                         \
    MIXED(add_##name, widen, value_add(i, x, last, 0))                                                                 \
    MIXED(sub_##name, widen, value_sub(i, x, last, 0))                                                                 \
    MIXED(fma_##name, widen, value_fma(i, x, y, simt_as_float(u32_at(R, i->c)[l])))
MIXED_OPS(f16, simt_half_to)
MIXED_OPS(bf16, simt_bfloat_to)

#define ROUNDS (F_RN | F_ROUND | F_FTZ)
#define PACK_ROW(type, sig)                                                                                            \
    {                                                                                                                  \
        "cvt.pack." #type sig, "wwww", pack_##type, NULL, F_SAT                                                        \
    }
#define MIXED_ROWS(type)                                                                                               \
    {"add.f32." #type, "www", add_##type, NULL, F_RN | F_ROUND | F_SAT},                                               \
        {"sub.f32." #type, "www", sub_##type, NULL, F_RN | F_ROUND | F_SAT},                                           \
    {                                                                                                                  \
        "fma.f32." #type, "wwww", fma_##type, NULL, F_RN | F_ROUND | F_SAT                                             \
    }
static const struct op_row rows[] = {
    {"add.u16x2", "www", add_x2, NULL, 0},
    {"add.s16x2", "www", add_x2, NULL, 0},
    {"min.u16x2", "www", min_u16x2, NULL, 0},
    {"max.u16x2", "www", max_u16x2, NULL, 0},
    {"min.s16x2", "www", min_s16x2, NULL, F_RELU},
    {"max.s16x2", "www", max_s16x2, NULL, F_RELU},
    {"min.s32", "www", min_relu, NULL, F_RELU},
    {"max.s32", "www", max_relu, NULL, F_RELU},
    {"fns.b32", "wwww", fns, NULL, 0},
    PACK_ROW(u2, ".s32.b32"),
    PACK_ROW(s2, ".s32.b32"),
    PACK_ROW(u4, ".s32.b32"),
    PACK_ROW(s4, ".s32.b32"),
    PACK_ROW(u8, ".s32.b32"),
    PACK_ROW(s8, ".s32.b32"),
    {"cvt.pack.u16.s32", "www", pack_u16, NULL, F_SAT},
    {"cvt.pack.s16.s32", "www", pack_s16, NULL, F_SAT},
    {"add.f32x2", "qqq", add_x2_float, NULL, ROUNDS},
    {"sub.f32x2", "qqq", sub_x2_float, NULL, ROUNDS},
    {"mul.f32x2", "qqq", mul_x2_float, NULL, ROUNDS},
    {"fma.f32x2", "qqqq", fma_x2_float, NULL, ROUNDS},
    MIXED_ROWS(f16),
    MIXED_ROWS(bf16),
};
const struct op_table simt_ops_packed = {rows, sizeof rows / sizeof *rows};
