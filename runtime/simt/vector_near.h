/* Words of shared memory that lanes touch, for vector_cells.h. Near each other, in the order of the lanes or against
 * it: where lines of tags are few, all of them are looked at, and which lanes have which word is known by bits. Else
 * lane by lane. */
#ifndef SIMT_VECTOR_NEAR_H
#define SIMT_VECTOR_NEAR_H

/* Do all of lanes m mean the same? */
static inline bool mean_one(const uint32_t *from, uint32_t m)
{
    const uint32_t first = from[__builtin_ctz(m)];
    return from[31 - __builtin_clz(m)] == first && !(m & ~find_equal(from, first));
}

/* Several of lanes m, none of which met, load what they all mean. CELLS_FAR, and nothing was done: they do not. */
static inline unsigned read_one(const uint32_t *written, uint32_t *read, const struct offsets *o, uint32_t m,
                                const struct tag_rule *t, uint32_t me)
{
    const uint32_t one = o->from[__builtin_ctz(m)] + o->on;
    if (!(m & (m - 1)) || one - o->low > o->room || one & o->odd || !mean_one(o->from, m)) return CELLS_FAR;
    return spots(written + (one >> o->log), read + (one >> o->log), 1, t, me, false) | CELLS_ONE;
}

#ifdef __AVX512F__
struct near_words { /* that lanes of a half touch */
    __m512i mine;   /* their tags, in order */
    uint64_t words; /* from `first` on, by bits */
    uint32_t first;
};
static inline __attribute__((always_inline)) bool find_near(struct near_words *x, const struct offsets *o, __mmask16 m,
                                                            __m512i from, __m512i mine, uint32_t many, bool write)
{
    const __m512i one = _mm512_set1_epi64(1);
    __m512i offset = _mm512_add_epi32(from, _mm512_set1_epi32((int)o->on));
    __m512i on_low = _mm512_sub_epi32(offset, _mm512_set1_epi32((int)o->low));
    if (_mm512_mask_cmpgt_epu32_mask(m, on_low, _mm512_set1_epi32((int)o->room)) |
        _mm512_mask_test_epi32_mask(m, offset, _mm512_set1_epi32((int)o->odd)))
        return false;
    __m512i word = _mm512_maskz_compress_epi32(m, _mm512_srl_epi32(offset, _mm_cvtsi32_si128((int)o->log)));
    __m512i next = _mm512_alignr_epi32(word, word, 1);
    mine = _mm512_maskz_compress_epi32(m, mine);
    uint32_t count = (uint32_t)__builtin_popcount(m), all = (1u << count) - 1, rest = all >> 1;
    if (_mm512_mask_cmpgt_epu32_mask((__mmask16)rest, word, next)) {
        if (_mm512_mask_cmplt_epu32_mask((__mmask16)rest, word, next)) return false;
        /* the last lane first */
        __m512i back = _mm512_sub_epi32(_mm512_set1_epi32((int)count - 1), _mm512_loadu_si512(lanes_in_order));
        word = _mm512_permutexvar_epi32(back, word);
        mine = _mm512_permutexvar_epi32(back, mine);
    }
    x->first = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(word)) & ~15u;
    word = _mm512_sub_epi32(word, _mm512_set1_epi32((int)x->first));
    if (_mm512_mask_cmpgt_epu32_mask((__mmask16)all, word, _mm512_set1_epi32(63))) return false;
    uint32_t same = _mm512_mask_cmpeq_epi32_mask((__mmask16)rest, word, _mm512_alignr_epi32(word, word, 1));
    if (same && write) return false;
    if (same) { /* the first lane of those that read one word stands for all */
        uint32_t kept = all & ~(same << 1);
        mine = _mm512_mask_mov_epi32(mine, (__mmask16)same, _mm512_set1_epi32((int)many));
        word = _mm512_maskz_compress_epi32((__mmask16)kept, word);
        mine = _mm512_maskz_compress_epi32((__mmask16)kept, mine);
        all = (1u << __builtin_popcount(kept)) - 1;
    }
    __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(word));
    __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(word, 1));
    __m512i bits = _mm512_maskz_sllv_epi64((__mmask8)all, one, low);
    bits = _mm512_or_si512(bits, _mm512_maskz_sllv_epi64((__mmask8)(all >> 8), one, high));
    x->words = (uint64_t)_mm512_reduce_or_epi64(bits);
    x->mine = mine;
    return true;
}

struct near_rule {
    __m512i now, base, many;
};
static inline __attribute__((always_inline)) struct near_rule near_rule_of(const struct tag_rule *t)
{
    return (struct near_rule){_mm512_set1_epi32((int)t->now), _mm512_set1_epi32((int)t->base),
                              _mm512_set1_epi32((int)(t->now | TAG_MANY))};
}

/* 16 words that were written and read last as these vectors say, of lanes m; which get what they say from now on. */
static inline __attribute__((always_inline)) unsigned judge_tags_16(__m512i *w, __m512i *r, __mmask16 m, __m512i mine,
                                                                    const struct near_rule *t, bool write)
{
    if (write) {
        __mmask16 late = _mm512_mask_cmpge_epu32_mask(m, *w, t->now), by = _mm512_mask_cmpge_epu32_mask(m, *r, t->now);
        late = _mm512_mask_cmpneq_epi32_mask(late, *w, mine) | _mm512_mask_cmpneq_epi32_mask(by, *r, mine);
        *w = _mm512_mask_mov_epi32(*w, m, mine);
        return late;
    }
    __m512i since = _mm512_sub_epi32(t->now, t->base), was = *r;
    __mmask16 late = _mm512_mask_cmpge_epu32_mask(m, _mm512_sub_epi32(*w, t->base), since);
    __mmask16 others = _mm512_mask_cmpneq_epi32_mask(_mm512_mask_cmpge_epu32_mask(m, was, t->now), was, mine);
    late = _mm512_mask_cmpneq_epi32_mask(late, *w, mine);
    *r = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(was, m, mine), others, t->many);
    unsigned changed = _mm512_cmpneq_epi32_mask(*r, was);
    return late | changed << 16;
}

/* Those of 16 words side by side that have bits of m. */
static inline __attribute__((always_inline)) unsigned judge_16(uint32_t *written, uint32_t *read, __mmask16 m,
                                                               __m512i mine, const struct near_rule *t, bool write)
{
    __m512i w = _mm512_loadu_si512(written), r = _mm512_loadu_si512(read);
    unsigned found = judge_tags_16(&w, &r, m, mine, t, write);
    _mm512_storeu_si512(write ? written : read, write ? w : r);
    return found;
}

static inline unsigned near_flags(unsigned found, bool write)
{
    return (found & 0xffff ? CELLS_BAD : 0) | (write || found >> 16 ? CELLS_CHANGED : 0);
}

static inline __attribute__((always_inline)) unsigned
judge_half(uint32_t *written, uint32_t *read, const struct near_words *x, const struct near_rule *t, bool write)
{
    const __m512i order = _mm512_loadu_si512(lanes_in_order);
    unsigned found = 0, before = 0;
    written += x->first, read += x->first;
    for (uint64_t rest = x->words; rest; rest >>= 16, written += 16, read += 16) {
        const __mmask16 m = (__mmask16)rest;
        if (!m) continue;
        __m512i mine = _mm512_permutexvar_epi32(_mm512_add_epi32(order, _mm512_set1_epi32((int)before)), x->mine);
        found |= judge_16(written, read, m, _mm512_maskz_expand_epi32(m, mine), t, write);
        before += (unsigned)__builtin_popcount(m);
    }
    return found;
}

static inline __attribute__((always_inline)) unsigned judge_halves(uint32_t *written, uint32_t *read,
                                                                   const struct offsets *o, uint32_t m,
                                                                   const struct tag_rule *t, uint32_t me, bool write)
{
    const struct near_rule rule = near_rule_of(t);
    struct near_words x[2];
    unsigned found = 0;
    for (int h = 0; h < 2; h++) {
        __mmask16 here = (__mmask16)(m >> 16 * h);
        __m512i mine = _mm512_add_epi32(_mm512_loadu_si512(lanes_in_order + 16 * h), _mm512_set1_epi32((int)me));
        if (here && !find_near(&x[h], o, here, _mm512_loadu_si512(o->from + 16 * h), mine, t->now | TAG_MANY, write))
            return CELLS_FAR;
    }
    if (m & 0xffff) found |= judge_half(written, read, &x[0], &rule, write);
    if (m >> 16) found |= judge_half(written, read, &x[1], &rule, write);
    return near_flags(found, write);
}

static __attribute__((noinline)) bool each_read_again(const uint32_t *read, const struct offsets *o, uint32_t m,
                                                      uint32_t many, uint32_t me)
{
    for (int h = 0; h < 2; h++) {
        __mmask16 here = (__mmask16)(m >> 16 * h);
        if (!here) continue;
        __m512i offset = _mm512_add_epi32(_mm512_loadu_si512(o->from + 16 * h), _mm512_set1_epi32((int)o->on));
        __m512i on_low = _mm512_sub_epi32(offset, _mm512_set1_epi32((int)o->low));
        __m512i mine = _mm512_add_epi32(_mm512_loadu_si512(lanes_in_order + 16 * h), _mm512_set1_epi32((int)me));
        if (_mm512_mask_cmpgt_epu32_mask(here, on_low, _mm512_set1_epi32((int)o->room)) |
            _mm512_mask_test_epi32_mask(here, offset, _mm512_set1_epi32((int)o->odd)))
            return false;
        __m512i at = _mm512_srl_epi32(offset, _mm_cvtsi32_si128((int)o->log));
        __m512i tags = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), here, at, read, 4);
        here = _mm512_mask_cmpneq_epi32_mask(here, tags, _mm512_set1_epi32((int)many));
        if (_mm512_mask_cmpneq_epi32_mask(here, tags, mine)) return false;
    }
    return true;
}
#elif defined(__AVX2__)
static __attribute__((noinline)) bool each_read_again(const uint32_t *read, const struct offsets *o, uint32_t m,
                                                      uint32_t many, uint32_t me)
{
    const __m256i beyond = _mm256_set1_epi32((int)o->room + 1), odd = _mm256_set1_epi32((int)o->odd);
    const __m256i several = _mm256_set1_epi32((int)many), zero = _mm256_setzero_si256();
    for (int h = 0; h < SIMT_WARP; h += 8) {
        const __m256i here = bits_of_8(m >> h);
        __m256i offset = _mm256_add_epi32(load_8(o->from + h), _mm256_set1_epi32((int)o->on));
        __m256i bad = at_least(_mm256_sub_epi32(offset, _mm256_set1_epi32((int)o->low)), beyond);
        bad = _mm256_or_si256(bad, _mm256_and_si256(offset, odd));
        if (!_mm256_testz_si256(bad, here)) return false;
        __m256i tags = _mm256_mask_i32gather_epi32(zero, (const int *)read,
                                                   _mm256_srl_epi32(offset, _mm_cvtsi32_si128((int)o->log)), here, 4);
        __m256i mine = _mm256_add_epi32(load_8(lanes_in_order + h), _mm256_set1_epi32((int)me));
        __m256i good = _mm256_or_si256(_mm256_cmpeq_epi32(tags, several), _mm256_cmpeq_epi32(tags, mine));
        if (!_mm256_testc_si256(good, here)) return false;
    }
    return true;
}
#else
static __attribute__((noinline)) bool each_read_again(const uint32_t *read, const struct offsets *o, uint32_t m,
                                                      uint32_t many, uint32_t me)
{
    EACH_LANE(l, m)
    {
        uint32_t offset = o->from[l] + o->on;
        if (offset - o->low > o->room || offset & o->odd) return false;
        uint32_t tag = read[offset >> o->log];
        if (tag != many && tag != me + l) return false;
    }
    return true;
}
#endif

static bool read_again(const uint32_t *read, const struct offsets *o, uint32_t m, uint32_t many, uint32_t me)
{
    const uint32_t one = o->from[__builtin_ctz(m)] + o->on;
    if (one - o->low <= o->room && !(one & o->odd) && read[one >> o->log] == many && mean_one(o->from, m)) return true;
    return each_read_again(read, o, m, many, me);
}

static unsigned judge_near(uint32_t *written, uint32_t *read, const struct offsets *o, uint32_t m,
                           const struct tag_rule *t, uint32_t me, bool write)
{
    uint32_t at[SIMT_WARP], low = o->low >> o->log;
    unsigned flags = write || t->warp != t->now ? CELLS_FAR : read_one(written, read, o, m, t, me);
    if (flags != CELLS_FAR) return flags;
#ifdef __AVX512F__
    flags = t->warp != t->now ? CELLS_FAR
            : write           ? judge_halves(written, read, o, m, t, me, true)
                              : judge_halves(written, read, o, m, t, me, false);
    if (flags != CELLS_FAR) return flags;
#endif
    if (o->low & o->odd) return CELLS_FAR;
    if (!find_words(at, o->from, m, o->on - o->low, o->room, o->odd, o->log)) return CELLS_FAR;
    return judge_list_of(written + low, read + low, at, m, t, me, write, false);
}

#endif
