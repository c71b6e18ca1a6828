/* Cells of global memory whose records are all the lane's own, for vector_cells.h: what most lanes find that go about
 * a stretch of their own. Whatever a pair says is asked first, and then all that changes is written. */
#ifndef SIMT_VECTOR_OWN_H
#define SIMT_VECTOR_OWN_H

#define MOMENT_MASK ((1u << MOMENT_BITS) - 1)

struct own_changes { /* of pairs, by which of the lanes that take part */
    uint64_t cell[SIMT_WARP + 8], from[SIMT_WARP + 8], to[SIMT_WARP + 8];
};

#ifdef __AVX512F__
_Static_assert(LINE == 64 && sizeof(struct line) == 16, "gathers find heads of lines");

/* Those of eight pairs whose lower record, or upper one, is of these moments. */
static inline __mmask8 of_moments(uint32_t moments, __m512i v, unsigned upper)
{
    __m512i moment = _mm512_and_si512(_mm512_srli_epi64(v, upper), _mm512_set1_epi64(MOMENT_MASK));
    return _mm512_test_epi64_mask(_mm512_srlv_epi64(_mm512_set1_epi64(moments), moment), _mm512_set1_epi64(1));
}

/* What becomes of those of eight pairs that are `here`; *changed: the ones that are others then. Is it known of all? */
static inline __attribute__((always_inline)) bool judge_own(const struct own_cells *x, __mmask8 here, __m512i v,
                                                            __m512i mine, bool write, __m512i *to, __mmask8 *changed)
{
    const __m512i both = _mm512_or_si512(mine, _mm512_slli_epi64(mine, 32));
    const __m512i who = _mm512_set1_epi64((int64_t) ~(MOMENT_MASK | (uint64_t)MOMENT_MASK << 32));
    const struct moments_of *n = x->moments;
    __mmask8 one = _mm512_testn_epi64_mask(_mm512_xor_si512(v, mine), who);
    __mmask8 two = _mm512_testn_epi64_mask(_mm512_xor_si512(v, both), who);
    __mmask8 writes = of_moments(n->writes, v, 0), reads = of_moments(n->reads, v, 0);
    __mmask8 kept = two & writes & of_moments(n->reads, v, 32), grows, fresh;
    __mmask8 same = write ? (one | kept) & of_moments(n->stores, v, 0) : (__mmask8)(kept | (one & ~writes & reads));
    *changed = 0;
    if (!(here & ~same)) return true; /* as most often */
    if (write) {
        grows = (__mmask8)(one & ~same & ~writes & reads);
        fresh = (__mmask8)(one & ~same & ~grows);
        *to = _mm512_mask_or_epi64(mine, grows, mine, _mm512_slli_epi64(v, 32));
    } else {
        grows = one & writes;
        fresh = _mm512_testn_epi64_mask(v, v);
        *to = _mm512_mask_or_epi64(mine, grows, v, _mm512_slli_epi64(mine, 32));
    }
    *changed = (grows | fresh) & here;
    return !(here & ~(same | grows | fresh));
}

/* Have the lanes' lines such pairs? Most often all are of one page. */
static inline bool have_pairs(const struct own_cells *x, __mmask8 lanes, __m512i at)
{
    const __m256i launch = _mm256_set1_epi32((int)x->launch);
    const __m512i page = _mm512_srli_epi64(at, PAGE_LOG), head = _mm512_set1_epi64((int64_t)x->head);
    uint64_t first = (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(page));
    __mmask8 apart = _mm512_mask_cmpneq_epi64_mask(lanes, page, _mm512_set1_epi64((int64_t)first));
    if (!apart && atomic_load_explicit(&x->pages[first], memory_order_acquire) == x->launch) return true;
    apart = _mm256_cmpneq_epi32_mask(_mm512_mask_i64gather_epi32(launch, lanes, page, x->pages, 4), launch);
    if (!apart) return true;
    const __m512i line = _mm512_srli_epi64(at, 6);
    __m512i there = _mm512_mask_i64gather_epi64(head, apart, _mm512_add_epi64(line, line), x->lines, 8);
    return !_mm512_cmpneq_epi64_mask(_mm512_and_si512(there, _mm512_set1_epi64((int64_t)HEAD_MASK)), head);
}

/* Up to eight lanes, those of the lowest bits, which touch so many bytes from the chunk's start on. */
static inline __attribute__((always_inline)) bool find_eight(const struct own_cells *x, __mmask8 here, __m512i at,
                                                             __m512i lane, bool write, struct own_changes *c,
                                                             unsigned *count)
{
    __m512i far = _mm512_sub_epi64(at, _mm512_set1_epi64((int64_t)x->low)), to;
    __mmask8 changed;
    if (_mm512_mask_cmpgt_epu64_mask(here, far, _mm512_set1_epi64((int64_t)x->room)) |
        _mm512_mask_test_epi64_mask(here, at, _mm512_set1_epi64((int64_t)x->odd)))
        return false;
    if (!have_pairs(x, here, at)) return false;
    __m512i cell = _mm512_srl_epi64(at, _mm_cvtsi32_si128((int)x->log));
    __m512i mine = _mm512_add_epi64(lane, _mm512_set1_epi64(x->me));
    __m512i v = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), here, cell, x->pairs, 8);
    if (!judge_own(x, here, v, mine, write, &to, &changed)) return false;
    if (!changed) return true;
    _mm512_storeu_si512(c->cell + *count, _mm512_maskz_compress_epi64(changed, cell));
    _mm512_storeu_si512(c->from + *count, _mm512_maskz_compress_epi64(changed, v));
    _mm512_storeu_si512(c->to + *count, _mm512_maskz_compress_epi64(changed, to));
    *count += (unsigned)__builtin_popcount(changed);
    return true;
}

/* Lanes m, eight at a time. */
static inline __attribute__((always_inline)) bool find_own(const struct own_cells *x, uint32_t m, bool write,
                                                           struct own_changes *c, unsigned *count)
{
    const __m512i order = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), more = _mm512_set1_epi64((int64_t)x->more);
    __m512i at = order, lane = order;
    unsigned n = 0; /* of `at`, still to be looked at */
    for (unsigned h = 0; h < SIMT_WARP; h += 8) {
        __mmask8 here = (__mmask8)(m >> h);
        unsigned some = (unsigned)__builtin_popcount(here);
        if (!here) continue;
        __m512i next = _mm512_add_epi64(_mm512_loadu_si512(x->from + h), more);
        __m512i who = _mm512_slli_epi64(_mm512_add_epi64(order, _mm512_set1_epi64(h)), MOMENT_BITS);
        next = _mm512_maskz_compress_epi64(here, next), who = _mm512_maskz_compress_epi64(here, who);
        at = _mm512_mask_expand_epi64(at, (__mmask8)(0xff << n), next);
        lane = _mm512_mask_expand_epi64(lane, (__mmask8)(0xff << n), who);
        n += some;
        if (n < 8) continue;
        if (!find_eight(x, 0xff, at, lane, write, c, count)) return false;
        n -= 8;
        at = _mm512_maskz_compress_epi64((__mmask8)(0xff << (some - n)), next);
        lane = _mm512_maskz_compress_epi64((__mmask8)(0xff << (some - n)), who);
    }
    return !n || find_eight(x, (__mmask8)((1u << n) - 1), at, lane, write, c, count);
}
#else
static inline bool of_moments(uint32_t moments, uint64_t r)
{
    return moments >> (r & MOMENT_MASK) & 1;
}

static inline __attribute__((always_inline)) bool judge_own(const struct own_cells *x, uint64_t v, uint64_t mine,
                                                            bool write, uint64_t *to)
{
    const uint64_t who = ~(MOMENT_MASK | (uint64_t)MOMENT_MASK << 32);
    const struct moments_of *n = x->moments;
    bool one = !((v ^ mine) & who), two = !((v ^ (mine | mine << 32)) & who), writes = of_moments(n->writes, v);
    bool kept = two && writes && of_moments(n->reads, v >> 32);
    bool grows = one && (write ? !writes && of_moments(n->reads, v) : writes);
    bool same = write ? (one || kept) && of_moments(n->stores, v) : kept || (one && !writes && of_moments(n->reads, v));
    *to = same ? v : !grows ? mine : write ? mine | v << 32 : v | mine << 32;
    return same || grows || (write ? one : !v);
}

static inline __attribute__((always_inline)) bool find_own(const struct own_cells *x, uint32_t m, bool write,
                                                           struct own_changes *c, unsigned *count)
{
    unsigned changes = 0;
    EACH_LANE(l, m)
    {
        uint64_t at = x->from[l] + x->more, v, to;
        if (at - x->low > x->room || at & x->odd) return false;
        if (atomic_load_explicit(&x->pages[at >> PAGE_LOG], memory_order_acquire) != x->launch &&
            head_of(&x->lines[at / LINE]) != x->head)
            return false;
        v = atomic_load_explicit(&x->pairs[at >> x->log], memory_order_acquire);
        if (!judge_own(x, v, x->me + (l << MOMENT_BITS), write, &to)) return false;
        if (to == v) continue;
        c->cell[changes] = at >> x->log, c->from[changes] = v, c->to[changes] = to;
        changes++;
    }
    *count = changes;
    return true;
}
#endif

static bool touch_own(const struct own_cells *x, uint32_t m, bool write)
{
    struct own_changes c;
    unsigned n = 0;
    bool ok = write ? find_own(x, m, true, &c, &n) : find_own(x, m, false, &c, &n);
    for (unsigned k = 0; ok && k < n; k++) { /* nobody's may be two lanes' by now */
        pair *p = &x->pairs[c.cell[k]];
        if (x->parallel) {
            ok = atomic_compare_exchange_strong_explicit(p, &c.from[k], c.to[k], memory_order_acq_rel,
                                                         memory_order_relaxed);
        } else {
            ok = atomic_load_explicit(p, memory_order_relaxed) == c.from[k];
            if (ok) atomic_store_explicit(p, c.to[k], memory_order_relaxed);
        }
    }
    return ok;
}

#endif
