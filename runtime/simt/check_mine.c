/* Lanes that touch places of global memory which nobody else has touched, here and there: as where each thread has a
 * stretch whose start was looked up. Their cells have pairs (check_pairs.c) that say so, and one look at a pair tells
 * that nothing can be wrong with it and what becomes of it. */
#include "runtime/simt/check_pairs.h"
#include "runtime/simt/tally.h"

/* Where pairs are for cells of lanes, of one chunk. */
struct ground {
    uint64_t start;
    struct line *lines;
    pair *pairs;
    const _Atomic uint32_t *pages;
    uint64_t head; /* a line's that has such pairs */
    uint32_t launch;
    bool parallel;
};

/* Which moments are of plain reads since the warp met others last, and which of writes, by bits. */
static const struct moments_of *moments_of(struct block *b, record seen)
{
    struct moments_of *x = &b->moments_of;
    const struct simt_check *c = b->check;
    uint32_t count = atomic_load_explicit(&c->moment_count, memory_order_acquire);
    if (x->count == count && x->seen == seen && x->now == b->now) return x;
    *x = (struct moments_of){.count = count, .seen = seen, .now = b->now};
    for (uint32_t k = 0; k < count; k++) {
        record r = c->moments[k];
        const struct site *s = &c->sites[record_site(r)];
        bool reads = access_of(s) == ACCESS_READ && !record_special(r) && r >= seen;
        x->reads |= (uint32_t)reads << k;
        x->writes |= (uint32_t)(access_of(s) != ACCESS_READ) << k;
        bool stores = s->access == ACCESS_WRITE && !s->strong && !record_special(r) && record_time(r) == b->now;
        x->stores |= (uint32_t)stores << k;
    }
    return x;
}

static inline bool has(uint32_t moments, uint64_t r)
{
    return moments >> r % (1u << MOMENT_BITS) & 1;
}

/* Has a pair one record, the lane's, or two that are? Whatever their moments. */
static inline bool is_one(uint64_t v, short_record mine)
{
    return !((v ^ mine) >> MOMENT_BITS);
}
static inline bool are_two(uint64_t v, short_record mine)
{
    const uint64_t moments = (1u << MOMENT_BITS) - 1;
    return !((v ^ (mine | (uint64_t)mine << 32)) & ~(moments | moments << 32));
}

/* What becomes of a pair whose records, if there are any, are all the lane's own, when it reads. False: they are not,
 * or more is to be known of them. */
static inline bool read_own(const struct moments_of *x, uint64_t v, short_record mine, uint64_t *to)
{
    *to = v;
    if (are_two(v, mine)) return has(x->writes, v) && has(x->reads, v >> 32);
    if (is_one(v, mine)) {
        if (!has(x->writes, v)) return has(x->reads, v);
        *to = v | (uint64_t)mine << 32;
        return true;
    }
    *to = mine;
    return !v;
}

/* The same when it writes: all that was there is replaced. */
static inline bool is_own(uint64_t v, short_record mine)
{
    return !v || is_one(v, mine) || are_two(v, mine);
}

static inline bool is_ready(const struct ground *g, uint64_t offset)
{
    return atomic_load_explicit(&g->pages[offset >> PAGE_LOG], memory_order_acquire) == g->launch ||
           head_of(&g->lines[offset / LINE]) == g->head;
}

static inline bool change(const struct ground *g, pair *p, uint64_t v, uint64_t to)
{
    if (g->parallel)
        return atomic_compare_exchange_strong_explicit(p, &v, to, memory_order_acq_rel, memory_order_relaxed);
    atomic_store_explicit(p, to, memory_order_relaxed);
    return true;
}

/* Those lanes for which more is to be done than this. */
static inline __attribute__((always_inline)) uint32_t
read_lanes(const struct access *a, uint32_t m, const struct ground *ground, short_record me, unsigned log)
{
    const struct ground g = *ground;
    const struct moments_of x = *moments_of(a->block, (record)a->block->warp_seen[a->warp->index] << TIME_AT);
    const uint64_t *at = a->at;
    uint32_t left = 0;
    EACH_LANE(l, m)
    {
        uint64_t offset = at[l] - g.start, v, to;
        bool done = offset >> SHADOW_CHUNK == 0 && is_ready(&g, offset);
        if (done) {
            pair *p = &g.pairs[offset >> log];
            v = atomic_load_explicit(p, memory_order_acquire);
            done = read_own(&x, v, me + (l << MOMENT_BITS), &to) && (to == v || change(&g, p, v, to));
        }
        left |= (uint32_t)!done << l;
    }
    return left;
}

static inline __attribute__((always_inline)) uint32_t
write_lanes(const struct access *a, uint32_t m, const struct ground *ground, short_record me, unsigned log, bool *again)
{
    bool first = false; /* some cell was nobody's */
    const struct ground g = *ground;
    const char *from = stored_at(a, 0);
    const unsigned step = a->insn->flags & F_WIDE ? 8 : 4;
    char *host = place_in_host(g.start);
    const uint64_t *at = a->at;
    uint32_t left = 0;
    EACH_LANE(l, m)
    {
        uint64_t offset = at[l] - g.start, v, to = me + (l << MOMENT_BITS);
        bool done = offset >> SHADOW_CHUNK == 0 && is_ready(&g, offset);
        if (done) {
            pair *p = &g.pairs[offset >> log];
            v = atomic_load_explicit(p, memory_order_relaxed);
            first |= !v;
            done = is_own(v, (short_record)to) && change(&g, p, v, g.parallel ? PAIR_BUSY : to);
            if (done && g.parallel) {
                store_of_kernel(host + offset, from + (size_t)step * l, (size_t)1 << log);
                give(p, to);
            }
        }
        left |= (uint32_t)!done << l;
    }
    *again = !first;
    return left;
}

/* What simt_race_own_again wants to know of the chunk. */
static void keep_ground(const struct access *a, const struct ground *g, unsigned log)
{
    struct span *s = &a->block->spans[a->insn->d2];
    uint64_t end = g->start + (1u << SHADOW_CHUNK), low = s->low > g->start ? s->low : g->start,
             high = s->high < end ? s->high : end;
    if (s->written || a->site->guesses || a->texture || high - low < a->bytes) return;
    s->mine = true;
    a->block->own[a->insn->d2] = (struct own_cells){.more = (uint64_t)a->insn->imm - g->start,
                                                    .low = low - g->start,
                                                    .room = high - low - a->bytes,
                                                    .odd = a->bytes - 1,
                                                    .pairs = g->pairs,
                                                    .log = log,
                                                    .pages = g->pages,
                                                    .launch = g->launch,
                                                    .lines = g->lines,
                                                    .head = g->head,
                                                    .moments = &a->block->moments_of,
                                                    .parallel = g->parallel};
}

uint32_t simt_race_own(const struct access *a, uint32_t m)
{
    const struct simt_check *c = a->check;
    const unsigned log = a->bytes == 4 ? 2 : 3;
    bool plain = a->insn->count == 1 && !is_opaque(a) && !a->site->strong && a->kind != ACCESS_ATOMIC, again = true;
    if (!plain || c->exact || (a->bytes != 4 && a->bytes != 8)) return m;
    struct line *first = global_line(a, a->at[__builtin_ctz(m)]);
    if (!first) return m;
    struct chunk *chunk = chunk_of(first);
    struct ground g = {.start = a->at[__builtin_ctz(m)] & ~(((uint64_t)1 << SHADOW_CHUNK) - 1),
                       .lines = chunk->lines,
                       .pairs = atomic_load_explicit(&chunk->pairs[log], memory_order_acquire),
                       .pages = chunk->pages[log],
                       .head = pairs_head(c, log),
                       .launch = c->number,
                       .parallel = c->parallel};
    if (!g.pairs || !is_ready(&g, a->at[__builtin_ctz(m)] - g.start)) return m;
    uint32_t moment = simt_moment_of(a->block, a->me);
    if (moment == MOMENTS) return m;
    short_record me = shortened(a->me, moment);
    if (a->kind == ACCESS_READ)
        m = log == 2 ? read_lanes(a, m, &g, me, 2) : read_lanes(a, m, &g, me, 3);
    else
        m = log == 2 ? write_lanes(a, m, &g, me, 2, &again) : write_lanes(a, m, &g, me, 3, &again);
    if (!m && again) keep_ground(a, &g, log);
    return m;
}

bool simt_race_own_again(const struct warp *w, const struct insn *i, unsigned site, uint32_t m)
{
    struct block *b = w->worker->observed;
    struct simt_check *c = b->check;
    struct span *s = &b->spans[i->d2];
    struct own_cells *x = &b->own[i->d2];
    const record me = lane_0_of(b, w, site);
    uint32_t moment = simt_moment_of(b, me);
    bool stores = i->memory == MEMORY_STORE;
    s->mine = false;
    if (b->counting || moment == MOMENTS) return false;
    moments_of(b, (record)b->warp_seen[w->index] << TIME_AT);
    x->from = u64_at(w->frame->regs, i->a);
    x->me = shortened(me, moment);
    if (w->worker->tallied) simt_tally_reach(w->worker, s->low, s->high);
    if (stores && x->parallel) simt_store_follows(b);
    s->mine = c->vectors->own(x, m, stores);
    if (!s->mine && stores) simt_noted_is_done(w->worker);
    return s->mine;
}
