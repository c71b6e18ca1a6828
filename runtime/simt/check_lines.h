/* Lines of global memory: where they are, their locks, and the quick ways for those that strips stand for. */
#ifndef SIMT_CHECK_LINES_H
#define SIMT_CHECK_LINES_H

#include <sched.h>
#include <string.h>
#include "runtime/simt/check_cells.h"

#define AHEAD 32 /* lines that are fetched before they are wanted */

static inline struct line *line_at(struct span *s, uint64_t address)
{
    uint64_t chunk = (address - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK;
    if (!s->lines || s->chunk != chunk) {
        s->lines = simt_shadow_lines(chunk);
        s->chunk = chunk;
    }
    return s->lines ? &s->lines[address % (1u << SHADOW_CHUNK) / LINE] : NULL;
}

static inline void lock_line(const struct simt_check *c, struct line *l)
{
    if (!c->parallel) return;
    for (int tries = 0; atomic_exchange_explicit(&l->lock, 1, memory_order_acquire); tries++)
        if (tries > 100) sched_yield();
}

static inline void unlock_line(const struct simt_check *c, struct line *l)
{
    if (c->parallel) atomic_store_explicit(&l->lock, 0, memory_order_release);
}

static inline __attribute__((always_inline)) struct now now_of_warp(const struct block *b, const struct warp *w,
                                                                    bool shared)
{
    return (struct now){.id = shared ? b->shared_id : b->id,
                        .before = (uint64_t)b->met << TIME_AT,
                        .warp_before = (uint64_t)b->warp_met[w->index] << TIME_AT,
                        .seen = (uint64_t)b->warp_seen[w->index] << TIME_AT,
                        .shared = shared};
}

/* Words side by side of one line, from the address on. `me`: who touches the first. */
static inline struct stretch stretch_at(uint64_t address, unsigned bytes, record me, unsigned shift)
{
    unsigned first = (unsigned)(address % LINE) / 4;
    return (struct stretch){me - ((record)(first >> shift) << THREAD_AT), ((1u << bytes / 4) - 1) << first, shift};
}

/* The first access to a line. */
static inline void begin_line(const struct simt_check *c, struct line *l, const struct stretch *s, bool write)
{
    l->launch = c->number;
    l->strips = true;
    l->stores = write;
    l->settled = 0;
    memset(l->words, 0, sizeof l->words);
    l->words[0] = (uint16_t)s->words;
    l->shift[0] = (uint8_t)s->shift;
    l->who[0] = s->me;
}

/* Would a read of the words change nothing? Others may change the line meanwhile: then it is as if they came later. */
static inline __attribute__((no_sanitize_thread)) bool is_settled(const struct simt_check *c, const struct line *l,
                                                                  uint32_t words)
{
    return l->launch == c->number && (l->settled & words) == words;
}

/* Nobody but these threads touched the line, and they did the same words: what simt_strips_touch comes to. */
static inline bool touch_own(struct line *l, const struct stretch *s, const struct now *t, bool write)
{
    uint64_t words;
    _Static_assert(sizeof words == sizeof l->words, "all strips at once");
    memcpy(&words, l->words, sizeof words);
    if (words != s->words || !l->strips || l->shift[0] != s->shift || (l->who[0] ^ s->me) & WHO_MASK) return false;
    if (!write && l->stores) return false;
    record first = l->who[0] + ((record)((unsigned)__builtin_ctz(s->words) >> s->shift) << THREAD_AT);
    if (write || (first & WITHIN) < t->seen) l->who[0] = s->me;
    l->stores = write;
    return true;
}

static inline bool touch_strips(const struct simt_check *c, struct line *l, const struct stretch *s,
                                const struct now *t, bool write)
{
    if (l->launch != c->number) {
        begin_line(c, l, s, write);
        return true;
    }
    return touch_own(l, s, t, write) || simt_strips_touch(l, s, t, write);
}

#endif
