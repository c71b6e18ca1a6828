/* Lines of global memory: where they are, their locks, and the quick ways for those that strips stand for. */
#ifndef SIMT_CHECK_LINES_H
#define SIMT_CHECK_LINES_H

#include <string.h>
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_order.h"

#define AHEAD 32 /* lines that are fetched before they are wanted */
#define FEW   4  /* cells that are better looked at one by one */

static inline struct line *line_at(struct span *s, uint64_t address)
{
    uint64_t chunk = (address - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK;
    if (!s->lines || s->chunk != chunk) {
        s->lines = simt_shadow_lines(chunk);
        s->chunk = chunk;
    }
    return s->lines ? &s->lines[address % (1u << SHADOW_CHUNK) / LINE] : NULL;
}

static inline struct line *global_line(const struct access *a, uint64_t address)
{
    return line_at(&a->block->spans[a->insn->d2], address);
}

static inline bool made(const struct access *a, bool ok)
{
    if (!ok) atomic_store(&a->check->no_memory, true);
    return ok;
}

static inline _Atomic uint8_t *lock_of(struct line *l)
{
    return &(l - (uintptr_t)l / sizeof *l % 2)->lock;
}

static inline void lock_line(const struct simt_check *c, struct line *l)
{
    if (!c->parallel) return;
    while (atomic_exchange_explicit(lock_of(l), 1, memory_order_acquire))
        for (int tries = 0; atomic_load_explicit(lock_of(l), memory_order_relaxed); tries++) simt_check_pause(tries);
}

static inline void unlock_line(const struct simt_check *c, struct line *l)
{
    if (c->parallel) atomic_store_explicit(lock_of(l), 0, memory_order_release);
}

static inline __attribute__((always_inline)) struct now now_of_warp(struct block *b, const struct warp *w, bool shared)
{
    uint32_t since = b->readers.since > b->met ? b->readers.since : b->met;
    bool alike = !shared && b->order && !b->order_apart && b->order->knows;
    return (struct now){.id = shared ? b->shared_id : b->id,
                        .before = (uint64_t)b->met << TIME_AT,
                        .warp_before = (uint64_t)b->warp_met[w->index] << TIME_AT,
                        .seen = (uint64_t)b->warp_seen[w->index] << TIME_AT,
                        .shared = shared,
                        .recent = (uint64_t)(shared ? b->met : since) << TIME_AT,
                        .exact = b->check->exact,
                        .by_warps = !shared && b->check->by_warps,
                        .alike = alike ? b : NULL,
                        .parting = b->check->exact &&
                                   (shared || b->readers.parting || b->readers.unnoted || b->readers.at_once)};
}

static inline struct now now_of(const struct access *a, bool shared)
{
    return now_of_warp(a->block, a->warp, shared);
}

/* The shift of neighbours that touch so many bytes each. */
static inline unsigned shift_of(unsigned bytes)
{
    return bytes == 1 ? SHIFT_BYTES : bytes == 2 ? SHIFT_HALVES : (unsigned)__builtin_ctz(bytes) - 2;
}

/* Words side by side of one line, from the address on. `me`: who touches the first. */
static inline struct stretch stretch_at(uint64_t address, unsigned bytes, record me, unsigned shift)
{
    unsigned first = (unsigned)(address % LINE) / 4;
    return (struct stretch){me - ((record)lanes_on(first, shift) << THREAD_AT), ((1u << bytes / 4) - 1) << first,
                            shift};
}

/* An access that does not race with all that others race with may not take their place. */
static inline bool replaces_none(const struct access *a)
{
    const struct simt_check *c = a->check;
    return a->kind == ACCESS_ATOMIC || a->site->fails || (c->exact && a->site->strong) ||
           (c->mixes && a->site->guesses);
}

/* Nobody has touched the line in this launch. `launch` comes last, since is_settled looks without the lock. */
static inline void set_line(const struct simt_check *c, struct line *l, unsigned kind)
{
    l->settled = 0;
    l->kind = (uint8_t)kind;
    atomic_signal_fence(memory_order_seq_cst);
    l->launch = c->number;
}

/* The first access to a line. */
static inline void begin_line(const struct simt_check *c, struct line *l, const struct stretch *s, bool write)
{
    if (s->words == ALL_WORDS && s->shift <= LINE_SHIFT) {
        set_line(c, l, LINE_WHOLE | (write ? LINE_WRITTEN : 0) | s->shift);
        l->who = s->me;
        return;
    }
    struct strips *d = strips_of(l);
    set_line(c, l, LINE_STRIPS);
    memset(d->words, 0, sizeof d->words);
    d->words[0] = (uint16_t)s->words;
    d->shift[0] = (uint8_t)s->shift;
    d->stores = write;
    d->who[0] = s->me;
}

/* Would a read of the words change nothing? Others may change the line meanwhile: then it is as if they came later. */
static inline __attribute__((no_sanitize_thread)) bool is_settled(const struct simt_check *c, const struct line *l,
                                                                  uint32_t words)
{
    if (l->launch != c->number) return false;
    atomic_signal_fence(memory_order_seq_cst);
    return (l->settled & words) == words;
}

/* Is it of another block, and have all threads of this one seen what that one did? */
static inline bool is_seen(record r, const struct now *t)
{
    return t->alike && r && (r ^ t->id) >= BLOCK_SPAN && simt_order_passed(t->alike, r);
}
static inline bool is_passed(record r, record me, const struct now *t)
{
    return cell_gone(r, me, t, false) || is_seen(r, t);
}

/* The line was touched as a whole, as it is now: by these threads, or before what they do. False: look closer. */
static inline bool touch_whole(struct line *l, const struct stretch *s, const struct now *t, bool write)
{
    unsigned kind = LINE_WHOLE | s->shift;
    if (s->words != ALL_WORDS || s->shift > LINE_SHIFT || (l->kind & ~LINE_WRITTEN) != kind) return false;
    if (write) {
        if (!is_passed(l->who, s->me, t)) return false;
        l->kind = (uint8_t)(kind | LINE_WRITTEN);
        l->who = s->me;
        return true;
    }
    if (l->kind != kind || (l->who ^ s->me) & WHO_MASK) return false;
    if ((l->who & WITHIN) < t->seen) l->who = s->me;
    return true;
}

/* Words that nobody has touched, after a single strip: a row that begins within a line ends within one, too. A strip is
 * of one warp; what goes on with its threads is part of it. */
static inline bool touch_second(struct strips *d, const struct stretch *s, bool write)
{
    uint64_t words;
    memcpy(&words, d->words, sizeof words);
    if (words > UINT16_MAX || words & s->words || !words) return false;
    unsigned one = (unsigned)__builtin_ctzll(words), other = (unsigned)__builtin_ctz(s->words);
    bool same = d->who[0] == s->me && d->shift[0] == s->shift && (d->stores & 1) == write;
    record there = d->who[0] + ((record)lanes_on(one, d->shift[0]) << THREAD_AT),
           here = s->me + ((record)lanes_on(other, s->shift) << THREAD_AT);
    if (same && ((there ^ here) & WARP_MASK) == 0) {
        d->words[0] |= (uint16_t)s->words;
        return true;
    }
    d->words[1] = (uint16_t)s->words;
    d->shift[1] = (uint8_t)s->shift;
    d->who[1] = s->me;
    d->stores = (uint8_t)((d->stores & 1) | (unsigned)write << 1);
    return true;
}

static inline __attribute__((always_inline)) bool touch_strips(const struct simt_check *c, struct line *l,
                                                               const struct stretch *s, const struct now *t, bool write)
{
    if (l->launch != c->number) {
        begin_line(c, l, s, write);
        return true;
    }
    if (l->kind == LINE_STRIPS && touch_second(strips_of(l), s, write)) return true;
    return touch_whole(l, s, t, write) || simt_strips_touch(l, s, t, write);
}

#endif
