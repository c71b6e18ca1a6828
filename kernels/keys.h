/* Sort keys, once for both languages, as in functions.h: the bits of an element become an unsigned integer that sorts
 * as the element does. -0.0 comes before 0.0, and NaN last whichever way the others are sorted. */
#ifndef KN_KEYS_H
#define KN_KEYS_H

#include "kernels/ops.h"

enum kn_key_kind { KN_KEY_UNSIGNED, KN_KEY_SIGNED, KN_KEY_FLOAT };

/* key_*(bits, kind, infinity's bits, flip): flip is 0, or all ones to sort downwards. same_*: the bits of what compares
 * equal, so those of 0.0 for -0.0 and of one NaN for all. */
/* clang-format off */
#define KN_KEY_FUNCTIONS(U, TOP, KEY, SAME)                                                                            \
    KN_FN U KEY(U u, int kind, U inf, U flip)                                                                          \
    {                                                                                                                  \
        const U top = (U)TOP;                                                                                          \
        if (kind == 0) return (U)(u ^ flip);                                                                           \
        if (kind == 1) return (U)(u ^ top ^ flip);                                                                     \
        if ((U)(u & ~top) > inf) return (U)~(U)0;                                                                      \
        return (U)(((u & top) ? (U)~u : (U)(u | top)) ^ flip);                                                         \
    }                                                                                                                  \
    KN_FN U SAME(U u, int kind, U inf)                                                                                 \
    {                                                                                                                  \
        const U top = (U)TOP;                                                                                          \
        if (kind != 2) return u;                                                                                       \
        if ((U)(u & ~top) > inf) return (U)(inf | 1);                                                                  \
        return u == top ? (U)0 : u;                                                                                    \
    }
/* clang-format on */

static inline enum kn_key_kind kn_key_kind(enum rt_dtype t)
{
    char kind = rt_dtypes[t].kind;
    return kind == 'f' ? KN_KEY_FLOAT : kind == 'i' ? KN_KEY_SIGNED : KN_KEY_UNSIGNED;
}

/* The bits of infinity; 0 for what has none. */
static inline uint64_t kn_key_infinity(enum rt_dtype t)
{
    switch (t) {
    case RT_FLOAT16: return 0x7c00;
    case RT_BFLOAT16: return 0x7f80;
    case RT_FLOAT32: return 0x7f800000;
    case RT_FLOAT64: return 0x7ff0000000000000;
    default: return 0;
    }
}

/* The type names of a dtype's bits in CUDA C. */
static inline const char *kn_key_type(enum rt_dtype t)
{
    int size = rt_dtypes[t].size;
    return size == 1   ? "unsigned char"
           : size == 2 ? "unsigned short"
           : size == 4 ? "unsigned int"
                       : "unsigned long long";
}

#endif
