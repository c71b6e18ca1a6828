/* Shared memory, as check_shared.c: words that the lanes of a warp touch near each other, or in any form that is judged
 * at once. */
#include "runtime/simt/check_cells.h"

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
    if (t->slow || t->warp_met || simt_reach_kept(b) || s->copies || s->strong || !simt_shared_room(b)) return false;
    if (i->size != 4 || i->count != 1 || window.high - window.low < 4) return false;
    const struct tag_rule rule = {t->base, t->now, t->now};
    const struct offsets o = {u32_at(w->frame->regs, i->a), (uint32_t)i->imm, window.low, window.high - window.low - 4,
                              3};
    unsigned flags = b->check->vectors->near(t->written, t->read, &o, m, &rule, t->now | (uint32_t)w->index * SIMT_WARP,
                                             i->memory == MEMORY_STORE);
    if (flags == CELLS_FAR) return false;
    if (flags & CELLS_BAD) {
        simt_shared_flush(b);
        return false;
    }
    if (!(flags & CELLS_CHANGED)) return true;
    note_offsets(simt_shared_log(b, w, i, site, 4, m), o.from, o.on);
    return true;
}

bool simt_shared_form(struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                      uint32_t m, uint32_t more)
{
    struct block *b = w->worker->observed;
    uint8_t *failed = &b->formless[w->pc % FORMLESS];
    bool scattered = step == QUICK_SCATTERED;
    if (scattered && ++*failed % 64 > 8) return false;
    bool found = (m != FULL && more <= 1 && simt_shared_some(b, w, i, site, step, at, m)) ||
                 (scattered && simt_shared_near(b, w, i, site, m)) ||
                 (m == FULL && more <= 1 && simt_shared_warp(b, w, i, step, at)) ||
                 (m == FULL && more <= 1 && simt_shared_some(b, w, i, site, step, at, m));
    if (found) *failed = 0;
    return found;
}
