/* Quotients rounded down and remainders of narrow integers where a part of a block has one divisor, as in x // 3: by
 * products with its inverse, in integers that are little wider than they. Those of uint16 would take as long as
 * divisions. loops_narrow.c includes this behind the loops of ops.def, which take other divisors. */
#ifndef KN_LOOPS_DIVISOR_H
#define KN_LOOPS_DIVISOR_H

#include "kernels/loops_emit.h"

#define DIVIDED_AT_ONCE 1024

struct inverse_integer {
    uint32_t by, shift;
};

static inline uint32_t log2_up(uint32_t d)
{
    return d > 1 ? 32 - (uint32_t)__builtin_clz(d - 1) : 0;
}

/* 2^shift / d, and a little more: times a number of 15 bits, of which products have 31, and shifted right it is the
 * quotient, as what it has too much is d / 2^shift at most and so less than 1 / d in the product. */
static inline struct inverse_integer inverse_15(uint32_t d)
{
    const uint32_t shift = 15 + log2_up(d);
    return (struct inverse_integer){(1u << shift) / d + 1, shift};
}

/* Of numbers of 32 bits by d > 1 the inverse has 33: `by` and 2^32. The product's upper half and the number would have
 * a sum of 33, too, so half of what the number is more is added. */
static inline struct inverse_integer inverse_32(uint32_t d)
{
    const uint32_t up = log2_up(d);
    return (struct inverse_integer){(uint32_t)((((UINT64_C(1) << up) - d) << 32) / d) + 1, up - 1};
}

/* Of a number v without sign. */
#define QUOTIENT_8(v)  ((uint16_t)((uint32_t)(v)*of_8 >> 16))
#define QUOTIENT_15(v) ((uint16_t)((v)*of_15.by >> of_15.shift))
static inline uint32_t quotient_32(uint32_t v, struct inverse_integer by)
{
    const uint32_t t = (uint32_t)((uint64_t)v * by.by >> 32);
    return (t + ((v - t) >> 1)) >> by.shift;
}
/* Rounded down: of a negative number -1 less the quotient of what it is less than -1. */
#define ROUNDED_DOWN(quotient, sign) ((uint16_t)(quotient((uint16_t)((uint16_t)a ^ (sign))) ^ (sign)))

/* `prepared` are declarations over b, the one divisor; `value` is over them and a, each dividend. An output may be an
 * operand's block. */
#define BY_ONE(name, several, TYPE, least, prepared, value)                                                            \
    static void name(void *out, const void *pa, const void *pb, const void *pc, size_t n)                              \
    {                                                                                                                  \
        for (size_t begin = 0; begin < n; begin += DIVIDED_AT_ONCE) {                                                  \
            const size_t part = n - begin < DIVIDED_AT_ONCE ? n - begin : DIVIDED_AT_ONCE;                             \
            const TYPE *from = (const TYPE *)pa + begin, *other = (const TYPE *)pb + begin, b = other[0];              \
            TYPE *to = (TYPE *)out + begin, unlike = part < 2 || b < (least) || other[1] != b;                         \
            if (!unlike)                                                                                               \
                for (size_t i = 0; i < part; i++) unlike |= (TYPE)(other[i] ^ b);                                      \
            if (unlike) {                                                                                              \
                several(to, from, other, pc, part);                                                                    \
                continue;                                                                                              \
            }                                                                                                          \
            prepared;                                                                                                  \
            INDEPENDENT for (size_t i = 0; i < part; i++)                                                              \
            {                                                                                                          \
                const TYPE a = from[i];                                                                                \
                to[i] = (TYPE)(value);                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
/* 2^16 / b, and a little more, serves 8 bits as well. */
#define OF_8            const uint16_t of_8 = (uint16_t)(65536 / (uint32_t)b + 1)
#define OF_15           const struct inverse_integer of_15 = inverse_15((uint32_t)b)
#define OF_32           const struct inverse_integer of_32 = inverse_32(b)
#define ALL_IF_NEGATIVE (uint16_t)(a < 0 ? 0xffff : 0)
#define DOWN_8          ROUNDED_DOWN(QUOTIENT_8, ALL_IF_NEGATIVE)
#define DOWN_15         ROUNDED_DOWN(QUOTIENT_15, ALL_IF_NEGATIVE)
#define DOWN_32         quotient_32(a, of_32)
#define REST(down)      (a - (down)*b)
#define TOWARDS_0(m)    ((m) - ((a < 0) & ((m) != 0) ? b : 0))
#define ONE_DIVISOR(X)                                                                                                 \
    X(INT8, int8_t, 2, OF_8, DOWN_8)                                                                                   \
    X(UINT8, uint8_t, 2, OF_8, QUOTIENT_8(a))                                                                          \
    X(INT16, int16_t, 2, OF_15, DOWN_15)                                                                               \
    X(UINT32, uint32_t, 2, OF_32, DOWN_32)
#define DOWN(dtype, TYPE, least, prepared, down)                                                                       \
    BY_ONE(floordiv_one_##dtype, FLOORDIV_##dtype, TYPE, least, prepared, down)                                        \
    BY_ONE(mod_one_##dtype, MOD_##dtype, TYPE, least, prepared, REST(down))
ONE_DIVISOR(DOWN)
BY_ONE(fmod_one_INT8, FMOD_INT8, int8_t, 2, OF_8, TOWARDS_0((int8_t)REST(DOWN_8)))
BY_ONE(fmod_one_INT16, FMOD_INT16, int16_t, 2, OF_15, TOWARDS_0((int16_t)REST(DOWN_15)))
#define FLOORDIV_INT8   floordiv_one_INT8
#define FLOORDIV_UINT8  floordiv_one_UINT8
#define FLOORDIV_INT16  floordiv_one_INT16
#define FLOORDIV_UINT32 floordiv_one_UINT32
#define MOD_INT8        mod_one_INT8
#define MOD_UINT8       mod_one_UINT8
#define MOD_INT16       mod_one_INT16
#define MOD_UINT32      mod_one_UINT32
#define FMOD_INT8       fmod_one_INT8
#define FMOD_UINT8      mod_one_UINT8 /* whose remainders have no sign */
#define FMOD_INT16      fmod_one_INT16
#define FMOD_UINT32     mod_one_UINT32

#endif
