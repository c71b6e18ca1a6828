/* Blocks of random numbers on the host: random.def as C. Included by loops_random_base.c, loops_random_v3.c and
 * loops_random_v4.c, which say for which instruction set by KN_DRAW_LEVEL; on its own it is empty. */
#ifdef KN_DRAW_LEVEL
#include <math.h>
#include <string.h>
#include "kernels/random_draw.h"

#define KN_FN          static inline __attribute__((always_inline, unused))
#define KN_SHARED(...) __VA_ARGS__

typedef uint32_t u32_;
typedef int64_t i64_;
typedef uint64_t u64_;

KN_FN int float_bits_(float v)
{
    int bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
KN_FN float bits_float_(int bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
KN_FN i64_ double_bits_(double v)
{
    i64_ bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
KN_FN double bits_double_(i64_ bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
KN_FN u64_ mulhi_(u64_ a, u64_ b)
{
    return (u64_)((unsigned __int128)a * b >> 64);
}
#define root_f_ sqrtf
#define root_d_ sqrt

#include "kernels/random.def"

#define DRAW(id, function, class, type, per)                                                                           \
    static void draw_##function(const struct draw_ *from, u64_ first, size_t blocks, void *to)                         \
    {                                                                                                                  \
        const struct draw_ p = *from;                                                                                  \
        type *out = to;                                                                                                \
        for (size_t i = 0; i < blocks; i++) {                                                                          \
            type v[per];                                                                                               \
            function(&p, first + i, v);                                                                                \
            for (int k = 0; k < per; k++) out[i * per + (size_t)k] = v[k];                                             \
        }                                                                                                              \
    }
KN_DRAWS(DRAW)

void KN_DRAW_LEVEL(const struct kn_draw_values *v, uint64_t first, size_t blocks, void *out)
{
    const struct draw_ p = {v->seed, v->stream, v->x, v->y, v->limit, v->low, v->range, v->bits};
    switch (v->kind) {
#define X(id, function, class, type, per)                                                                              \
    case KN_BLOCK_##id: draw_##function(&p, first, blocks, out); break;
        KN_DRAWS(X)
#undef X
    case KN_DRAW_KINDS: break;
    }
}

#ifdef KN_DRAW_PLAIN
void kn_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    struct words_ w = philox_((struct words_){counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
    memcpy(out, &w, sizeof w);
}

/* Place i takes the element of a place from i on; a number of 64 bits chooses which. */
void kn_shuffle(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t count, int64_t *indices)
{
    const struct draw_ p = {.seed = seed, .stream = stream};
    struct words_ w = {0};
    for (int64_t i = 0; i < n; i++) indices[i] = first + i;
    for (int64_t i = 0; i < count; i++) {
        if (i % 2 == 0) w = draw_words_(&p, (uint64_t)i / 2, 0);
        int64_t j = i + (int64_t)mulhi_(i % 2 ? pair_(w.c, w.d) : pair_(w.a, w.b), (uint64_t)(n - i));
        int64_t other = indices[j];
        indices[j] = indices[i];
        indices[i] = other;
    }
}
#endif
#endif
