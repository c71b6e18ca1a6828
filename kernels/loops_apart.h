/* Elements as they lie in memory, some way apart from each other, to and from blocks. Included by loops_narrow.c alone.
 */
#ifndef KN_LOOPS_APART_H
#define KN_LOOPS_APART_H

#include "kernels/loops.h"
#include "kernels/loops_emit.h"

/* Over any stride four at a time: as many are read before one is written, and their places come from one address. */
struct two {
    uint64_t part[2];
};
#define MOVE(bytes, TYPE)                                                                                              \
    static void gather_any_##bytes(TYPE *to, const TYPE *from, ptrdiff_t stride, size_t n)                             \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4, from += 4 * stride) {                                                               \
            const TYPE a = from[0], b = from[stride], c = from[2 * stride], d = from[3 * stride];                      \
            to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;                                                    \
        }                                                                                                              \
        for (; i < n; i++, from += stride) to[i] = *from;                                                              \
    }                                                                                                                  \
    static void spread_any_##bytes(TYPE *to, ptrdiff_t stride, const TYPE *from, size_t n)                             \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; i + 4 <= n; i += 4, to += 4 * stride) {                                                                 \
            const TYPE a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];                                 \
            to[0] = a, to[stride] = b, to[2 * stride] = c, to[3 * stride] = d;                                         \
        }                                                                                                              \
        for (; i < n; i++, to += stride) *to = from[i];                                                                \
    }
MOVE(1, uint8_t)
MOVE(2, uint16_t)
MOVE(4, uint32_t)
MOVE(8, uint64_t)
MOVE(16, struct two)

/* Over the strides that are most frequent compilers make vectors of the smaller elements. Of those of 32 bits they
 * take too many steps: those that are wanted stand at places of their own in three vectors side by side, and of two
 * times two vectors beside each other. No vector reaches beyond the last element that is wanted. */
#define EVERY_3(bytes, TYPE) INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[3 * i]
#define EVERY_4(bytes, TYPE) INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[4 * i]
#define ANY(bytes, TYPE)     gather_any_##bytes(to, from, stride, n)
#if defined __AVX2__ && !defined __SANITIZE_THREAD__ /* which would see what stands between the elements read, too */
typedef uint32_t words __attribute__((vector_size(32)));
typedef uint64_t pairs __attribute__((vector_size(32)));
static inline words words_at(const uint32_t *from)
{
    words v;
    memcpy(&v, from, sizeof v);
    return v;
}

static void gather_every_3(uint32_t *to, const uint32_t *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 < n; i += 8, from += 24) {
        const words ab = __builtin_shufflevector(words_at(from), words_at(from + 8), 0, 9, 2, 3, 12, 5, 6, 15),
                    all = __builtin_shufflevector(ab, words_at(from + 16), 0, 1, 10, 3, 4, 13, 6, 7),
                    in_order = __builtin_shufflevector(all, all, 0, 3, 6, 1, 4, 7, 2, 5);
        memcpy(to + i, &in_order, sizeof in_order);
    }
    gather_any_4(to + i, from, 3, n - i);
}

static void gather_every_4(uint32_t *to, const uint32_t *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 < n; i += 8, from += 32) {
        const words ab = __builtin_shufflevector(words_at(from), words_at(from + 8), 0, 8, 1, 9, 4, 12, 5, 13),
                    cd = __builtin_shufflevector(words_at(from + 16), words_at(from + 24), 0, 8, 1, 9, 4, 12, 5, 13),
                    all = (words)__builtin_shufflevector((pairs)ab, (pairs)cd, 0, 4, 2, 6),
                    in_order = __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
        memcpy(to + i, &in_order, sizeof in_order);
    }
    gather_any_4(to + i, from, 4, n - i);
}
#define WORDS_3(bytes, TYPE) gather_every_3(to, from, n)
#define WORDS_4(bytes, TYPE) gather_every_4(to, from, n)
#else
#define WORDS_3 EVERY_3
#define WORDS_4 ANY
#endif

#define GATHER(bytes, TYPE, every_3, every_4)                                                                          \
    static void gather_##bytes(void *out, const void *memory, ptrdiff_t stride, size_t n)                              \
    {                                                                                                                  \
        const TYPE *from = memory, first = *from;                                                                      \
        TYPE *to = out;                                                                                                \
        switch (stride) {                                                                                              \
        case 0:                                                                                                        \
            for (size_t i = 0; i < n; i++) to[i] = first;                                                              \
            break;                                                                                                     \
        case 1: INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[i]; break;                       \
        case -1: INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[-i]; break;                     \
        case 2: INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[2 * i]; break;                   \
        case 3: every_3(bytes, TYPE); break;                                                                           \
        case 4: every_4(bytes, TYPE); break;                                                                           \
        default: ANY(bytes, TYPE); break;                                                                              \
        }                                                                                                              \
    }
GATHER(1, uint8_t, EVERY_3, EVERY_4)
GATHER(2, uint16_t, EVERY_3, EVERY_4)
GATHER(4, uint32_t, WORDS_3, WORDS_4)
GATHER(8, uint64_t, ANY, ANY)
GATHER(16, struct two, ANY, ANY)

#define SPREAD(bytes, TYPE)                                                                                            \
    static void spread_##bytes(void *memory, ptrdiff_t stride, const void *in, size_t n)                               \
    {                                                                                                                  \
        const TYPE *from = in;                                                                                         \
        TYPE *to = memory;                                                                                             \
        switch (stride) {                                                                                              \
        case 1: INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[i] = from[i]; break;                       \
        case -1: INDEPENDENT for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) to[-i] = from[i]; break;                     \
        default: spread_any_##bytes(to, stride, from, n); break;                                                       \
        }                                                                                                              \
    }
SPREAD(1, uint8_t)
SPREAD(2, uint16_t)
SPREAD(4, uint32_t)
SPREAD(8, uint64_t)
SPREAD(16, struct two)

#endif
