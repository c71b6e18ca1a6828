/* Blocks of random numbers on the host: random.def as C. Included by loops_random_base.c, loops_random_v3.c and
 * loops_random_v4.c, which say for which instruction set by KN_DRAW_LEVEL; on its own it is empty. */
#ifdef KN_DRAW_LEVEL
#include <math.h>
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#endif
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

/* The words of many blocks, each kind in an array of its own. Products of 32 bits are lanes of 64 bits, of which only
 * the lower halves are looked at until the end. */
#define MANY 256

#if defined __AVX512F__
#define LANES                8
#define LANE_OP(name)        _mm512_##name
#define LANE_SUM(a, b)       _mm512_add_epi64(a, b)
#define LANE_XOR(a, b)       _mm512_xor_si512(a, b)
#define LANE_COUNT           _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
#define LANE_STORE(to, from) _mm256_storeu_si256((__m256i *)(to), _mm512_cvtepi64_epi32(from))
typedef __m512i lanes;
#elif defined __AVX2__
#define LANES          4
#define LANE_OP(name)  _mm256_##name
#define LANE_SUM(a, b) _mm256_add_epi64(a, b)
#define LANE_XOR(a, b) _mm256_xor_si256(a, b)
#define LANE_COUNT     _mm256_set_epi64x(3, 2, 1, 0)
#define LANE_STORE(to, from)                                                                                           \
    _mm_storeu_si128((__m128i *)(to), _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(                              \
                                          from, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0))))
#define _mm256_set1_epi64 _mm256_set1_epi64x
typedef __m256i lanes;
#endif

#ifdef LANES
#define GROUPS (LANES / 2) /* on their way at once: a product takes its time */

static void fill_words(const struct draw_ *p, u64_ first, size_t n, u32_ attempt, u32_ (*w)[MANY])
{
    const lanes m0 = LANE_OP(set1_epi64)(0xD2511F53), m1 = LANE_OP(set1_epi64)(0xCD9E8D57);
    for (size_t i = 0; i < n; i += (size_t)GROUPS * LANES) {
        lanes a[GROUPS], b[GROUPS], c[GROUPS], d[GROUPS];
        u32_ k0 = (u32_)p->seed, k1 = (u32_)(p->seed >> 32);
        for (size_t g = 0; g < GROUPS; g++) {
            a[g] = LANE_SUM(LANE_OP(set1_epi64)((i64_)(first + i + g * LANES)), LANE_COUNT);
            b[g] = LANE_OP(srli_epi64)(a[g], 32);
            c[g] = LANE_OP(set1_epi64)((i64_)p->stream);
            d[g] = LANE_OP(set1_epi64)((i64_)((u32_)(p->stream >> 32) | attempt << 16));
        }
        for (int round = 0; round < 10; round++) {
            const lanes key0 = LANE_OP(set1_epi64)((i64_)k0), key1 = LANE_OP(set1_epi64)((i64_)k1);
            for (size_t g = 0; g < GROUPS; g++) {
                lanes x = LANE_OP(mul_epu32)(a[g], m0), y = LANE_OP(mul_epu32)(c[g], m1);
                a[g] = LANE_XOR(LANE_XOR(LANE_OP(srli_epi64)(y, 32), b[g]), key0);
                c[g] = LANE_XOR(LANE_XOR(LANE_OP(srli_epi64)(x, 32), d[g]), key1);
                b[g] = y;
                d[g] = x;
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        for (size_t g = 0; g < GROUPS; g++) {
            LANE_STORE(w[0] + i + g * LANES, a[g]);
            LANE_STORE(w[1] + i + g * LANES, b[g]);
            LANE_STORE(w[2] + i + g * LANES, c[g]);
            LANE_STORE(w[3] + i + g * LANES, d[g]);
        }
    }
}
#else
static void fill_words(const struct draw_ *p, u64_ first, size_t n, u32_ attempt, u32_ (*w)[MANY])
{
    for (size_t i = 0; i < n; i++) {
        struct words_ x = draw_words_(p, first + i, attempt);
        w[0][i] = x.a;
        w[1][i] = x.b;
        w[2][i] = x.c;
        w[3][i] = x.d;
    }
}
#endif

#define DRAW_WORDS(function, type, per)                                                                                \
    u32_ w[4][MANY];                                                                                                   \
    for (size_t at = 0; at < blocks; at += MANY, out += (size_t)MANY * (per)) {                                        \
        size_t n = blocks - at < MANY ? blocks - at : MANY;                                                            \
        fill_words(&p, first + at, n, 0, w);                                                                           \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type v[per];                                                                                               \
            function(&p, (struct words_){w[0][i], w[1][i], w[2][i], w[3][i]}, v);                                      \
            for (int k = 0; k < (per); k++) out[i * (per) + (size_t)k] = v[k];                                         \
        }                                                                                                              \
    }
#define DRAW_NUMBER(function, type, per)                                                                               \
    for (size_t i = 0; i < blocks; i++) function(&p, first + i, out + i * (per));

#define DRAW_ATTEMPTS(function, type, per) draw_many_##function(&p, first, blocks, out);

/* First attempts at gamma numbers; 0 where more has to be looked at. */
static void try_gamma(const struct gamma_terms_ *g, size_t n, u32_ (*w)[MANY], double *cubes)
{
    for (size_t i = 0; i < n; i++) {
        const struct words_ x = {w[0][i], w[1][i], w[2][i], w[3][i]};
        double normal, cube = gamma_cube_(g, x, &normal);
        cubes[i] = gamma_taken_(x, normal) & (cube > 0) ? cube : 0;
    }
}

static void raise_gamma(const struct draw_ *p, size_t n, u32_ (*w)[MANY], double *cubes)
{
    for (size_t i = 0; i < n; i++)
        cubes[i] = gamma_power_(p, (struct words_){w[0][i], w[1][i], w[2][i], w[3][i]}, cubes[i]);
}

/* Few blocks take more than one attempt, or a closer look at it: those are made one by one. */
static void draw_many_gamma_(const struct draw_ *from, u64_ first, size_t blocks, double *out)
{
    const struct draw_ p = *from;
    const struct gamma_terms_ g = gamma_terms_of_(&p);
    u32_ w[4][MANY];
    double cubes[MANY];
    for (size_t at = 0; at < blocks; at += MANY) {
        const size_t n = blocks - at < MANY ? blocks - at : MANY;
        bool again[MANY];
        fill_words(&p, first + at, n, 0, w);
        try_gamma(&g, n, w, cubes);
        for (size_t i = 0; i < n; i++) again[i] = cubes[i] == 0;
        if (p.x < 1) {
            fill_words(&p, first + at, n, 65535, w);
            raise_gamma(&p, n, w, cubes);
        }
        for (size_t i = 0; i < n; i++) out[at + i] = p.y * (g.d * cubes[i]);
        for (size_t i = 0; i < n; i++)
            if (again[i]) gamma_(&p, first + at + i, out + at + i);
    }
}

#define DRAW(id, function, takes, class, type, per)                                                                    \
    static void draw_##function(const struct draw_ *from, u64_ first, size_t blocks, void *to)                         \
    {                                                                                                                  \
        const struct draw_ p = *from;                                                                                  \
        type *out = to;                                                                                                \
        DRAW_##takes(function, type, per)                                                                              \
    }
KN_DRAWS(DRAW)

void KN_DRAW_LEVEL(const struct kn_draw_values *v, uint64_t first, size_t blocks, void *out)
{
    const struct draw_ p = {v->seed, v->stream, v->x, v->y, v->limit, v->low, v->range, v->tries, v->bits};
    switch (v->kind) {
#define X(id, function, takes, class, type, per)                                                                       \
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
