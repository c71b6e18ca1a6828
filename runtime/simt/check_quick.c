/* Accesses as the interpreter and generated code ask about them: those of common forms are judged at once, the others
 * by check_access.c, lane by lane. */
#include "runtime/simt/async.h"
#include "runtime/simt/check_access.h"
#include "runtime/simt/check_copies.h"
#include "runtime/simt/check_order.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/tally.h"

#define SOME 4 /* lanes that are better looked at together */

/* ---- global memory ---- */
/* Have the lines at the address been written that are to be read? What is to be written will have been. */
static bool lines_written(const struct access *a, const struct span *s, uint64_t address, unsigned bytes)
{
    for (uint64_t at = address - s->start; s->written && at < address - s->start + bytes; at += LINE) {
        _Atomic uint64_t *word = &s->written[at / 64];
        if (atomic_load_explicit(word, memory_order_relaxed) == UINT64_MAX) continue;
        if (a->kind == ACCESS_READ) return false;
        atomic_store_explicit(word, UINT64_MAX, memory_order_relaxed);
    }
    return true;
}

/* Each half of the lanes touches whole lines. False: look closer. */
static bool touch_lines(const struct access *a, const struct span *s, const uint64_t at[2])
{
    unsigned bytes = 16 * a->bytes;
    if (!lines_written(a, s, at[0], bytes) || !lines_written(a, s, at[1], bytes)) return false;
    if (s->quiet) return true;
    if (s->once) return false;
    if (at[1] - at[0] == bytes) return simt_race_row(a, at[0], 0, SIMT_WARP);
    return simt_race_row(a, at[0], 0, 16) && simt_race_row(a, at[1], 16, 16);
}

/* All lanes touch what `from` holds, each half of them neighbours and whole lines that nothing is to be said about. */
static bool check_rows(const struct access *a, const uint64_t *from)
{
    const struct span *s = &a->block->spans[a->insn->d2];
    if (may_meet_copies(a->block, a->kind)) return false;
    uint64_t at[2] = {from[0] + (uint64_t)a->insn->imm, from[16] + (uint64_t)a->insn->imm};
    unsigned bytes = 16 * a->bytes;
    if ((at[0] | at[1]) % LINE || a->bytes < 4 || a->kind == ACCESS_ATOMIC) return false;
    if (a->check->vectors->rows64(from, a->bytes) != (ROW_UNIT | ROW_UNIT << ROW_BITS)) return false;
    return inside(s, at[0], bytes) && inside(s, at[1], bytes) && touch_lines(a, s, at);
}

/* Vector code, as without `restrict` it is not. */
static inline void add_to_all(uint64_t *restrict at, const uint64_t *restrict from, uint64_t imm)
{
    for (int l = 0; l < SIMT_WARP; l++) at[l] = from[l] + imm;
}

static void read_addresses(struct access *a, uint32_t m)
{
    const struct insn *i = a->insn;
    bool wide = i->space == PTX_GLOBAL || i->space == PTX_GENERIC;
    int64_t imm = i->imm + (i->flags & F_FRAME ? a->warp->local_base : 0);
    if (wide) {
        add_to_all(a->at, u64_at(a->regs, i->a), (uint64_t)imm);
        return;
    }
    const uint32_t *from = u32_at(a->regs, i->a);
    EACH_LANE(l, m) a->at[l] = simt_window_address(from[l], imm);
}

/* Notes what is written; false when something that is read never was. */
static bool touch_lanes_bits(const struct access *a, const struct span *s, uint32_t m)
{
    bool lacking = false;
    EACH_LANE(l, s->written ? m : 0) lacking |= simt_touch_bits(a, s, a->at[l]);
    return !lacking;
}

/* Lanes m, all or a half, of which 0 to 15 touch what is from at[0] on, the others from at[1] on. */
static bool quick_global(struct access *a, int64_t step, const uint64_t at[2], uint32_t m)
{
    const struct span *s = &a->block->spans[a->insn->d2];
    unsigned reach = (unsigned)(step < 0 ? -step : step) * 15 + a->bytes;
    int64_t back = step < 0 ? 15 * step : 0;
    for (int h = 0; h < 2; h++) {
        uint64_t low = at[h] + (uint64_t)back;
        if (!inside(s, low, reach) || at[h] & (a->bytes - 1)) return false;
        if (a->block->worker->tallied) simt_tally_reach(a->block->worker, low, low + reach);
    }
    if (m == FULL && step == a->bytes && a->bytes >= 4 && !((at[0] | at[1]) % LINE) && touch_lines(a, s, at))
        return true;
    if (!s->written && (s->quiet || (m == FULL && simt_race_steps(a, at, step)))) return true;
    for (unsigned l = 0; l < 16; l++) {
        uint64_t on = (uint64_t)step * l;
        a->at[l] = at[0] + on, a->at[16 + l] = at[1] + on;
    }
    if (!touch_lanes_bits(a, s, m)) return false;
    if (!s->quiet && (m != FULL || !simt_race_steps(a, at, step))) simt_race_touch(a, m, false);
    return true;
}

/* Do lanes m, whose addresses are in the frame, mean what lies in the span, aligned? False: it may. */
static bool lies_within(const struct simt_check *c, const struct warp *w, const struct insn *i, const struct span *s,
                        uint32_t m)
{
    uint64_t bytes = (uint64_t)i->size * i->count, room = s->high - s->low, imm = (uint64_t)i->imm;
    return room >= bytes && imm % bytes == 0 && !(i->flags & F_FRAME) &&
           c->vectors->within(u64_at(w->frame->regs, i->a), m, s->low - imm, room - bytes, bytes - 1);
}

/* Of lanes m, whose addresses are in the frame. */
static bool scattered_global(struct access *a, uint32_t m, uint32_t range)
{
    const struct span *s = &a->block->spans[a->insn->d2];
    if (!lies_within(a->check, a->warp, a->insn, s, m)) return false;
    read_addresses(a, m);
    if (a->block->worker->tallied) simt_tally_reach(a->block->worker, s->low, s->high);
    if (!touch_lanes_bits(a, s, m)) return false;
    if (!s->quiet)
        simt_race_touch(a, m, false);
    else if (range)
        simt_race_quiet(a->warp, a->insn, range - 1, 0);
    return true;
}

/* ---- shared memory ---- */
/* Are lanes m within the variable that is meant, aligned? Then at[] has their words, counted from the
 * variable's first one on. */
static bool find_words(const struct simt_check *c, const struct warp *w, const struct insn *i, uint32_t m, uint32_t *at,
                       struct window *window)
{
    const struct access a = {.block = w->worker->observed, .origin = c->program->places[w->pc].origin};
    *window = simt_check_window(&a);
    uint32_t bytes = (uint32_t)i->size * i->count, room = window->high - window->low;
    return room >= bytes && window->low % bytes == 0 &&
           c->vectors->find(at, u32_at(w->frame->regs, i->a), m, (uint32_t)i->imm - window->low, room - bytes,
                            bytes - 1, 2);
}

/* In a steady block, where the function's other accesses to shared memory are right: may lanes m load what they mean
 * to?
 */
static bool reads_still(const struct simt_check *c, const struct warp *w, const struct insn *i, uint32_t m)
{
    uint32_t at[SIMT_WARP];
    struct window window;
    return find_words(c, w, i, m, at, &window);
}

/* Are lanes m right, and the words written? */
static __attribute__((noinline)) bool are_right(const struct simt_check *c, const struct warp *w, const struct insn *i,
                                                uint32_t m)
{
    uint32_t at[SIMT_WARP];
    struct window window;
    return find_words(c, w, i, m, at, &window) &&
           simt_words_written(w->worker->observed, window, at, m, (uint32_t)i->size * i->count);
}

/* And is whatever they touch no race? */
static inline bool is_among_atomics(const struct simt_check *c, const struct warp *w, const struct insn *i, uint32_t m)
{
    return simt_is_among_atomics(c, (uint32_t)w->pc) && are_right(c, w, i, m);
}

static bool scattered_shared(struct access *a, uint32_t m)
{
    const uint32_t *from = u32_at(a->regs, a->insn->a);
    if (m == FULL && simt_shared_rows(a, from)) return true;
    if (lane_count(m) >= SOME && simt_shared_lanes(a, from, m)) return true;
    read_addresses(a, m);
    if (!inside_window(a, m, simt_check_window(a))) return false;
    simt_shared_touch(a, m);
    return true;
}

/* ---- what is asked ---- */
/* Lanes by equal steps as those whose addresses are in the frame. */
static void write_addresses(struct warp *w, const struct insn *i, int64_t step, const uint64_t at[2])
{
    uint64_t *wide = u64_at(w->frame->regs, i->a);
    uint32_t *narrow = u32_at(w->frame->regs, i->a);
    for (int h = 0; h < 2; h++) {
        uint64_t from = at[h] - (uint64_t)i->imm;
        for (uint32_t l = 0; i->space == PTX_SHARED && l < 16; l++)
            narrow[16 * h + l] = (uint32_t)from + (uint32_t)step * l;
        for (uint32_t l = 0; i->space != PTX_SHARED && l < 16; l++) wide[16 * h + l] = from + (uint64_t)step * l;
    }
}

/* A compare-and-swap in global memory, or what one then expects: does it say nothing new? */
static bool tries_again(const struct simt_check *c, const struct warp *w, const struct insn *i, uint32_t m)
{
    bool tries = simt_is_swap(i) || c->program->places[w->pc].guesses;
    return tries && i->space == PTX_GLOBAL && !may_meet_copies(w->worker->observed, ACCESS_ATOMIC) &&
           simt_swaps_again(w, i, u64_at(w->frame->regs, i->a), m);
}

/* Is an access to global memory for check_access.c alone? */
static inline bool wants_care(const struct block *b, unsigned site, const struct span *s)
{
    const struct site *x = &b->check->sites[site];
    return atomic_load_explicit(&b->check->no_memory, memory_order_relaxed) || may_meet_copies(b, x->access) ||
           (x->fetches && !s->quiet);
}

/* Not in lists. */
static __attribute__((noinline)) bool check_records(struct warp *w, const struct insn *i, int64_t step,
                                                    const uint64_t at[2], uint64_t more)
{
    struct block *b = w->worker->observed;
    struct access a;
    const uint32_t pc = (uint32_t)w->pc;
    unsigned site = b->check->site_of[pc];
    const uint32_t m = step == QUICK_SCATTERED ? (uint32_t)at[0] : FULL;
    const struct span *span = &b->spans[i->d2];
    const bool rows = i->space == PTX_GLOBAL && step != QUICK_SCATTERED;
    const unsigned halves = rows ? (unsigned)(more >> 62) : 0; /* 0: both */
    bool mine = i->space == PTX_GLOBAL && !rows && span->mine;
    if (mine && !may_meet_copies(b, b->check->sites[site].access) && simt_race_own_again(w, i, site, m)) return true;
    bool steady = i->space == PTX_SHARED && is_steady(b, pc);
    if (steady && (step != QUICK_SCATTERED || !b->check->program->places[pc].unsteady)) return true;
    if (steady) return reads_still(b->check, w, i, m);
    if (step == QUICK_SCATTERED && is_among_atomics(b->check, w, i, m)) return true;
    if (i->space == PTX_GLOBAL ? wants_care(b, site, span)
                               : atomic_load_explicit(&b->check->no_memory, memory_order_relaxed))
        return false;
    if (i->space == PTX_SHARED && simt_shared_form(w, i, site, step, at, m, (uint32_t)more)) return true;
    if (step == QUICK_SCATTERED && tries_again(b->check, w, i, m)) return true;
    if (rows && simt_race_rows(w, i, site, step, at, halves)) {
        uint32_t count = (uint32_t)(more >> 32) & INT32_MAX >> 1;
        for (uint32_t k = 0; k < count; k++) simt_race_window(w, i, (uint32_t)more - 1 + k, step, at[halves / 2]);
        return true;
    }
    simt_check_begin(&a, b->check, w, i, site);
    a.bytes = (uint32_t)i->size * i->count;
    if (a.site->copies) return false;
    if (step == QUICK_SCATTERED)
        return i->space == PTX_GLOBAL ? scattered_global(&a, m, (uint32_t)more) : scattered_shared(&a, m);
    if (i->space == PTX_GLOBAL) {
        if (!quick_global(&a, step, at, lanes_of_halves(halves))) return false;
        if (more << 32 && !halves) simt_race_quiet(w, i, (uint32_t)more - 1, step);
        return true;
    }
    simt_shared_series(&a, step, at, (uint32_t)more, (int32_t)(more >> 32));
    return true;
}

static bool check(struct warp *w, uint32_t pc, int64_t step, const uint64_t at[2], uint64_t more)
{
    const struct block *b = w->worker->observed;
    const struct insn *i = &w->code[pc];
    const struct span *span = &b->spans[i->d2];
    w->pc = pc;
    if (i->space == PTX_GLOBAL && span->once) {
        unsigned site = b->check->site_of[pc];
        if (wants_care(b, site, span)) return false;
        if (step == QUICK_SCATTERED ? simt_once_lanes(w, i, site, (uint32_t)at[0])
                                    : simt_once_rows(w, i, site, step, at, lanes_of_halves((unsigned)(more >> 62)))) {
            if (step != QUICK_SCATTERED && more << 32) simt_once_window(w, i, (uint32_t)more - 1);
            return true;
        }
    }
    return check_records(w, i, step, at, more);
}

/* Lanes m of a row of global memory, which may have met others. */
static bool touches_row(struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                        uint32_t m)
{
    struct block *b = w->worker->observed;
    const struct span *span = &b->spans[i->d2];
    struct access a;
    if (span->quiet || b->check->sites[site].copies || wants_care(b, site, span)) return false;
    simt_check_begin(&a, b->check, w, i, site);
    a.bytes = (uint32_t)i->size * i->count;
    return quick_global(&a, step, at, m);
}

/* Of lanes m by equal steps. */
static bool check_some(struct warp *w, uint32_t pc, int64_t step, const uint64_t at[2], uint32_t m, uint64_t more)
{
    const struct block *b = w->worker->observed;
    const struct insn *i = &w->code[pc];
    unsigned site = b->check->site_of[pc];
    bool once = i->space == PTX_GLOBAL && b->spans[i->d2].once;
    bool shared = i->space == PTX_SHARED && !is_steady(b, pc) && !simt_is_among_atomics(b->check, pc);
    w->pc = pc;
    if (shared && !atomic_load_explicit(&b->check->no_memory, memory_order_relaxed) &&
        simt_shared_form(w, i, site, step, at, m, 1))
        return true;
    if (once && !wants_care(b, site, &b->spans[i->d2]) && simt_once_rows(w, i, site, step, at, m)) return true;
    if (i->space == PTX_GLOBAL && b->meets_partly && !once && touches_row(w, i, site, step, at, m)) return true;
    write_addresses(w, i, step, at);
    return check(w, pc, QUICK_SCATTERED, (const uint64_t[]){m, 0}, more);
}

/* Of those lanes that have threads; the others repeat them. */
static bool check_threads(struct warp *w, uint64_t pc, int64_t step, const uint64_t at[2], uint64_t more)
{
    const struct insn *i = &w->code[(uint32_t)pc];
    const struct span *s = &((struct block *)w->worker->observed)->spans[i->d2];
    bool scattered = step == QUICK_SCATTERED, row = !scattered && !(pc & QUICK_SOME);
    uint32_t m = w->threads & (scattered ? (uint32_t)at[0] : row ? FULL : w->parted);
    if (!m) return true;
    if (scattered) return check(w, (uint32_t)pc, step, (const uint64_t[]){m, 0}, more);
    if (!check_some(w, (uint32_t)pc, step, at, m, row ? 0 : more)) return false;
    if (row && i->space == PTX_GLOBAL && more << 32 && at[0] - s->low < s->high - s->low)
        simt_race_window(w, i, (uint32_t)more - 1, step, at[0]);
    return true;
}

/* Does a lane go to host memory that kernels may use? Generated code moves nothing there: the interpreter does it. */
static bool goes_to_host(const struct warp *w, const struct insn *i, int64_t step, uint64_t first)
{
    if (i->space != PTX_GLOBAL || (step != QUICK_SCATTERED && first >= SIMT_GLOBAL_BASE) || !simt_mapped_any())
        return false;
    if (step != QUICK_SCATTERED) return true;
    const uint64_t *at = u64_at(w->frame->regs, i->a);
    bool found = false;
    EACH_LANE(l, (uint32_t)first) found |= at[l] + (uint64_t)i->imm < SIMT_GLOBAL_BASE;
    return found;
}

bool simt_check_quick(struct warp *w, uint64_t pc, int64_t step, uint64_t first, uint64_t second, uint64_t more)
{
    const uint64_t at[2] = {first, second};
    if (goes_to_host(w, &w->code[(uint32_t)pc], step, first)) return false;
    if (w->exists != w->threads) return check_threads(w, pc, step, at, more);
    if (pc & QUICK_SOME) return check_some(w, (uint32_t)pc, step, at, w->parted, more);
    return check(w, (uint32_t)pc, step, at, more);
}

/* Loads of lanes m from memory where nobody can race and all was written, as where the instruction was last. */
static bool reads_quietly(const struct simt_check *c, const struct warp *w, const struct insn *i, uint32_t m)
{
    const struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    return s->quiet && !s->written && !may_meet_copies(b, ACCESS_READ) && !(i->flags & F_SPIN) &&
           lies_within(c, w, i, s, m);
}

enum event simt_check_access(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t *m)
{
    struct access a; /* its addresses follow */
    const struct block *b = w->worker->observed;
    bool steady = i->space == PTX_SHARED && is_steady(b, w->pc);
    if (steady && (!c->program->places[w->pc].unsteady || reads_still(c, w, i, *m))) return EV_NEXT;
    if (!c->releases_some && is_among_atomics(c, w, i, *m)) return EV_NEXT;
    if (tries_again(c, w, i, *m)) return EV_NEXT;
    bool counts = *m == FULL && i->memory == MEMORY_ATOMIC && i->space == PTX_GLOBAL && !orders_some(c);
    if (counts && simt_counters_again(w, i, u64_at(w->frame->regs, i->a))) return EV_NEXT;
    bool adds = *m == FULL && i->memory == MEMORY_ATOMIC && i->space == PTX_SHARED && i->size == 4 && !simt_is_swap(i);
    if (adds && !orders_some(c) && !simt_reach_kept(b) && simt_shared_again(w, i, u32_at(w->frame->regs, i->a)))
        return EV_NEXT;
    if (i->memory == MEMORY_LOAD && i->space == PTX_GLOBAL && reads_quietly(c, w, i, *m)) return EV_NEXT;
    bool once = i->space == PTX_GLOBAL && b->spans[i->d2].once;
    if (once && simt_once_lanes(w, i, c->site_of[w->pc], *m)) return EV_NEXT;
    simt_check_begin(&a, c, w, i, c->site_of[w->pc]);
    a.bytes = (uint32_t)i->size * i->count;
    const uint32_t *from = u32_at(a.regs, i->a);
    bool shared = i->space == PTX_SHARED && !steady && !a.site->copies && !simt_reach_kept(b);
    if (shared && *m == FULL && simt_shared_rows(&a, from)) return EV_NEXT;
    bool moves = i->memory == MEMORY_LOAD || (i->memory == MEMORY_STORE && !simt_is_mbarrier(i));
    if (shared && moves && simt_shared_near(a.block, w, i, c->site_of[w->pc], *m)) return EV_NEXT;
    if (shared && lane_count(*m) >= SOME && simt_shared_lanes(&a, from, *m)) return EV_NEXT;
    bool global = i->space == PTX_GLOBAL && !(i->flags & F_FRAME) && !a.site->strong && !a.site->fetches;
    if (*m == FULL && global && check_rows(&a, u64_at(a.regs, i->a))) return EV_NEXT;
    read_addresses(&a, *m);
    bool barrier = simt_is_mbarrier(i);
    if (barrier) {
        simt_phases_touch(&a, *m);
        simt_bulk_observe(&a, *m);
    } else if (a.site->strong && c->releases_some) {
        return simt_order_strong(&a, m);
    }
    *m = simt_check_lanes(&a, *m, (enum ptx_space)i->space);
    if (a.site->copies) simt_copies_begin(&a, *m);
    if (a.site->fetches) simt_copies_fetch(&a, *m);
    if (barrier && simt_is_complete(i)) simt_bulk_stored(&a, *m);
    return EV_NEXT;
}
