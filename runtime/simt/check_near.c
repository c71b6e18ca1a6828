/* Shared memory, as check_shared.c: elements that the lanes of a warp touch here and there, in a row of which some
 * lanes take part, in another order, or in any form that is judged at once. */
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_shared.h"

static inline void note_offsets(uint32_t *restrict to, const uint32_t *restrict from, uint32_t on)
{
    for (int l = 0; l < SIMT_WARP; l++) to[l] = from[l] + on;
}

bool simt_shared_near(struct block *b, struct warp *w, const struct insn *i, unsigned site, uint32_t m)
{
    struct tags *t = &b->tags;
    const struct site *s = &b->check->sites[site];
    const struct access a = {.block = b, .origin = w->worker->program->places[w->pc].origin};
    const struct window window = simt_check_window(&a);
    if (t->slow || t->warp_met || t->parted || simt_reach_kept(b) || s->copies || s->strong || !simt_shared_room(b))
        return false;
    const struct unit *u = simt_unit_of(b, a.origin);
    const uint32_t bytes = 1u << u->log;
    if (i->size != bytes || i->count != 1 || window.high - window.low < bytes) return false;
    const struct tag_rule rule = {t->base, t->now, t->now};
    const struct offsets o = {u32_at(w->frame->regs, i->a),     (uint32_t)i->imm, window.low,
                              window.high - window.low - bytes, bytes - 1,        u->log};
    unsigned flags = b->check->vectors->near(u->written, u->read, &o, m, &rule, t->now | (uint32_t)w->index * SIMT_WARP,
                                             i->memory == MEMORY_STORE);
    if (flags == CELLS_FAR) return false;
    if (flags & CELLS_BAD) {
        simt_shared_flush(b);
        return false;
    }
    if (!(flags & CELLS_CHANGED) && !t->all) return true;
    const bool one = flags & CELLS_ONE;
    struct shared_note *n = simt_shared_log(b, w, i, site, bytes, m, one ? SHARED_ROWS_UNIFORM : 0);
    if (one)
        n->at[0] = n->at[1] = o.from[__builtin_ctz(m)] + o.on;
    else
        note_offsets(n->at, o.from, o.on);
    return true;
}

/* 32 words side by side from `low` on, word l of which lane l ^ flip touches. False: nothing was done. */
static bool touch_warp(struct block *b, struct warp *w, const struct insn *i, uint32_t low, unsigned flip)
{
    struct tags *t = &b->tags;
    const struct tag_rule rule = {t->base, t->now, t->warp_met ? t->warp[w->index] : t->now};
    uint32_t me = rule.warp | (uint32_t)w->index * SIMT_WARP, rows = ROW_UNIT | ROW_UNIT << ROW_BITS | ROW_FLIP;
    if (!simt_shared_room(b)) return false;
    if (!b->check->vectors->warp(t->written + low / 4, t->read + low / 4, flip, &rule, me, i->memory == MEMORY_STORE))
        return false;
    struct shared_note *n = simt_shared_log(b, w, i, b->check->site_of[w->pc], 4, FULL, rows);
    n->at[0] = low, n->at[1] = low + 16 * 4, n->step = (int32_t)flip;
    return true;
}

/* All lanes touch 32 words side by side, each its own or, as in a butterfly, lane l word l ^ k, where nothing else
 * matters in this epoch but what the warp did before its lanes met. False: look closer; nothing was done. */
static bool touch_in_order(struct block *b, struct warp *w, const struct insn *i, int64_t step, const uint64_t at[2])
{
    const int origin = w->worker->program->places[w->pc].origin;
    if (b->tags.slow || b->tags.parted || i->size != 4 || i->count != 1) return false;
    if (simt_unit_of(b, origin)->log < 2) return false;
    if (step != QUICK_SCATTERED) {
        if (step != 4 || at[1] - at[0] != 16 * 4 || !b->tags.warp_met) return false;
        return touch_warp(b, w, i, (uint32_t)at[0], 0);
    }
    uint32_t low, *at_lanes = u32_at(w->frame->regs, i->a);
    if (at_lanes[31] - at_lanes[0] + 31 * 4 > 62 * 4) return false;
    unsigned flip = b->check->vectors->butterfly(at_lanes, &low);
    if (flip == SIMT_WARP) return false;
    const struct access a = {.block = b, .origin = origin};
    struct window window = simt_check_window(&a);
    uint64_t from = simt_window_address(low, i->imm);
    if (from % 4 || from < window.low || from > window.high || window.high - from < SIMT_WARP * 4) return false;
    return touch_warp(b, w, i, (uint32_t)from, flip);
}

/* Where elements of lanes m begin, that of lane 0, by steps of one or two of them; -1: they do not, or not all are
 * within the variable. */
static int64_t row_start(struct window window, int64_t imm, uint32_t first, int32_t step, uint32_t m, int32_t bytes)
{
    int64_t start = (int64_t)(int32_t)first + imm;
    if ((step != bytes && step != 2 * bytes) || start < 0 || start % bytes) return -1;
    bool fits =
        start + step * __builtin_ctz(m) >= window.low && start + step * (31 - __builtin_clz(m)) + bytes <= window.high;
    return fits ? start : -1;
}

/* Are the first two of lanes m, and the last one, as far apart as in a row of elements that have steps of one or two of
 * them? */
static inline bool may_be_row(const uint32_t *from, uint32_t m, uint32_t bytes)
{
    uint32_t rest = m & (m - 1), one = (uint32_t)__builtin_ctz(m), other = rest ? (uint32_t)__builtin_ctz(rest) : one;
    uint32_t near = from[other] - from[one], lanes = other - one, last = 31 - (uint32_t)__builtin_clz(m);
    uint32_t all = from[last] - from[one];
    return (near == bytes * lanes && all == bytes * (last - one)) ||
           (near == 2 * bytes * lanes && all == 2 * bytes * (last - one));
}

/* Lanes m touch elements by steps of one or two of them. False: look closer; nothing is lost. */
static bool touch_row(struct block *b, struct warp *w, const struct insn *i, unsigned site, int64_t step,
                      const uint64_t at[2], uint32_t m)
{
    struct tags *t = &b->tags;
    const struct check_vectors *v = b->check->vectors;
    const struct site *s = &b->check->sites[site];
    const struct access a = {.block = b, .origin = w->worker->program->places[w->pc].origin};
    const struct unit *u = simt_unit_of(b, a.origin);
    bool write = i->memory == MEMORY_STORE;
    int64_t start = (int64_t)at[0];
    int32_t by = (int32_t)step, bytes = 1 << u->log;
    uint32_t first;
    if (t->slow || t->parted || i->size != bytes || i->count != 1 || s->copies || s->strong || !simt_shared_room(b))
        return false;
    if (step == QUICK_SCATTERED) {
        const uint32_t *from = u32_at(w->frame->regs, i->a);
        if (!may_be_row(from, m, (uint32_t)bytes) || !v->steps(from, m, (uint32_t)bytes, &first, &by)) return false;
        start = row_start(simt_check_window(&a), i->imm, first, by, m, bytes);
        if (start < 0) return false;
    } else if (at[1] - at[0] != 16 * (uint64_t)step || (step != 2 * bytes && m == FULL)) {
        return false;
    } else if (m != FULL) {
        start = row_start(simt_check_window(&a), 0, (uint32_t)at[0], by, m, bytes);
        if (start < 0) return false;
    }
    const struct tag_rule rule = {t->base, t->now, t->warp_met ? t->warp[w->index] : t->now};
    unsigned flags = v->row(u->written + (start >> u->log), u->read + (start >> u->log), m, by != bytes, &rule,
                            rule.warp | (uint32_t)w->index * SIMT_WARP, write);
    if (flags & CELLS_BAD) {
        simt_shared_flush(b);
        return false;
    }
    if (!(flags & CELLS_CHANGED) && !notes_all(t)) return true;
    struct shared_note *n = simt_shared_log(b, w, i, site, (uint32_t)bytes, m, ROW_STEPS | ROW_STEPS << ROW_BITS);
    n->at[0] = (uint32_t)start, n->at[1] = (uint32_t)start + 16 * (uint32_t)by, n->step = by;
    return true;
}

/* Do lanes m load what they, or several threads, were the last to read in this epoch, as all do that go over a tile
 * time and again? That is not asked each time where it is seldom so. */
static bool reads_again(struct block *b, const struct warp *w, const struct insn *i, unsigned site, uint32_t m)
{
    const uint32_t many = b->worker->quiet.now;
    uint8_t *failed = &b->unread[w->pc % FORMLESS];
    const struct site *s = &b->check->sites[site];
    if (i->memory != MEMORY_LOAD || many == UINT32_MAX || s->strong || s->copies || ++*failed % 64 > 8) return false;
    const struct access a = {.block = b, .origin = w->worker->program->places[w->pc].origin};
    const struct unit *u = simt_unit_of(b, a.origin);
    const uint32_t bytes = 1u << u->log;
    const struct window window = simt_check_window(&a);
    if (i->size != bytes || i->count != 1 || window.high - window.low < bytes) return false;
    const struct offsets o = {u32_at(w->frame->regs, i->a),     (uint32_t)i->imm, window.low,
                              window.high - window.low - bytes, bytes - 1,        u->log};
    bool again = b->check->vectors->again(u->read, &o, m, many, b->tags.now | (uint32_t)w->index * SIMT_WARP);
    if (again) *failed = 0;
    return again;
}

bool simt_shared_form(struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                      uint32_t m, uint32_t more)
{
    struct block *b = w->worker->observed;
    uint8_t *failed = &b->formless[w->pc % FORMLESS];
    bool scattered = step == QUICK_SCATTERED;
    if (scattered && reads_again(b, w, i, site, m)) return true;
    if (scattered && ++*failed % 64 > 8) return false;
    bool found = (m != FULL && more <= 1 && touch_row(b, w, i, site, step, at, m)) ||
                 (scattered && simt_shared_near(b, w, i, site, m)) ||
                 (m == FULL && more <= 1 && touch_in_order(b, w, i, step, at)) ||
                 (m == FULL && more <= 1 && touch_row(b, w, i, site, step, at, m));
    if (found) *failed = 0;
    return found;
}
