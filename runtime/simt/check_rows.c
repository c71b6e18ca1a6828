/* Accesses of generated code to global memory, whose addresses follow each other: the common cases of check_access.c
 * and check_race.c in one. */
#include "runtime/simt/check_lines.h"
#include "runtime/simt/jit.h"
#include "runtime/simt/tally.h"

struct row {
    struct block *block;
    struct span *span;
    unsigned bytes, shift; /* of a lane */
    bool write;
    struct now now;
};

static bool is_written(const struct span *s, uint64_t address)
{
    return !s->written || s->written[(address - s->start) / 64] == UINT64_MAX;
}

static bool all_written(const struct span *s, uint64_t address, unsigned bytes)
{
    for (uint64_t at = address / LINE * LINE; s->written && at < address + bytes; at += LINE)
        if (!is_written(s, at > address ? at : address)) return false;
    return true;
}

/* Neighbours from the thread of `me` on; `from`: what lanes store, where that is known to be as in memory. */
static inline bool touch_row(const struct row *r, uint64_t start, unsigned bytes, record me, const char *from)
{
    const struct simt_check *c = r->block->check;
    bool ok = true;
    for (uint64_t at = start, end = start + bytes, next; ok && at < end; at = next) {
        next = at / LINE * LINE + LINE;
        if (next > end) next = end;
        unsigned part = (unsigned)(next - at), before = (unsigned)(at - start);
        struct stretch s = stretch_at(at, part, me + ((record)(before / r->bytes) << THREAD_AT), r->shift);
        struct line *l = line_at(r->span, at);
        if (!l || !is_written(r->span, at)) return false;
        __builtin_prefetch(l + AHEAD, 1);
        if (s.words != ALL_WORDS) __builtin_prefetch(strips_of(l + AHEAD), 1);
        if (!r->write && is_settled(c, l, s.words)) continue;
        lock_line(c, l);
        ok = touch_strips(c, l, &s, &r->now, r->write);
        if (ok && from && c->parallel) store_of_kernel(place_in_host(at), from + before, part);
        unlock_line(c, l);
    }
    return ok;
}

/* What all lanes of a half read: two of them stand for all. */
static inline bool touch_place(const struct row *r, uint64_t at, record me)
{
    const struct simt_check *c = r->block->check;
    struct stretch s = stretch_at(at, r->bytes, me, ONE_LANE);
    struct line *l = line_at(r->span, at);
    if (!l || !is_written(r->span, at)) return false;
    if (is_settled(c, l, s.words)) return true;
    lock_line(c, l);
    bool ok = touch_strips(c, l, &s, &r->now, false);
    s.me += (record)1 << THREAD_AT;
    ok = ok && touch_strips(c, l, &s, &r->now, false);
    unlock_line(c, l);
    return ok;
}

/* A line that 16 lanes touch, a word each, as touch_row has it. */
static inline __attribute__((always_inline)) bool touch_line(const struct simt_check *c, struct line *l, record me,
                                                             const struct row *r, const char *host, const char *from)
{
    const struct stretch s = {me, ALL_WORDS, 0};
    __builtin_prefetch(l + AHEAD, 1);
    if (!r->write && is_settled(c, l, ALL_WORDS)) return true;
    lock_line(c, l);
    bool ok = touch_strips(c, l, &s, &r->now, r->write);
    if (ok && from && c->parallel) store_of_kernel((char *)host, from, LINE);
    unlock_line(c, l);
    return ok;
}

/* The most common row: all lanes, two lines side by side. False: another way must be tried. */
static inline bool touch_both(const struct row *r, uint64_t at, record me, const char *from)
{
    const struct simt_check *c = r->block->check;
    const struct span *s = r->span;
    uint64_t offset = at % (1u << SHADOW_CHUNK);
    const char *host = place_in_host(at);
    if (offset == (1u << SHADOW_CHUNK) - LINE || !is_written(s, at) || !is_written(s, at + LINE)) return false;
    struct line *l = line_at(r->span, at);
    return l && touch_line(c, l, me, r, host, from) &&
           touch_line(c, l + 1, me + ((record)16 << THREAD_AT), r, host + LINE, from ? from + LINE : NULL);
}

/* A warp in a loop goes on by equal steps: what it will want next is fetched, if that is near. */
static inline void look_ahead(struct span *s, int warp, const uint64_t at[2])
{
    uint64_t step = at[0] - s->last[warp];
    s->last[warp] = at[0];
    for (unsigned h = 0; s->lines && h < 2; h++) {
        uint64_t next = at[h] + step;
        if (next - s->low >= s->high - s->low || (next - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK != s->chunk) return;
        struct line *l = &s->lines[next % (1u << SHADOW_CHUNK) / LINE];
        __builtin_prefetch(l, 1);
    }
}

/* What the lanes store, as it will be in memory: in the frame, or packed. */
static const char *stored_bytes(const struct warp *w, const struct insn *i, char *packed)
{
    const char *from = w->frame->regs + i->d;
    if (i->size >= 4) return from;
    for (unsigned l = 0; l < SIMT_WARP; l++)
        if (i->size == 1)
            packed[l] = from[4 * l];
        else
            memcpy(packed + 2 * l, from + 4 * l, 2);
    return packed;
}

bool simt_race_rows(const struct warp *w, const struct insn *i, unsigned site, int64_t step, const uint64_t at[2],
                    unsigned halves)
{
    struct block *b = w->worker->observed;
    struct span *s = &b->spans[i->d2];
    unsigned bytes = (unsigned)i->size * i->count, all = step ? 16 * bytes : bytes;
    bool write = i->memory == MEMORY_STORE, plain = i->count == 1 && (i->size == 8 || !(i->flags & F_WIDE));
    char packed[2 * SIMT_WARP];
    uint64_t room = s->high - s->low;
    if ((step && step != bytes) || (write && !plain)) return false;
    for (unsigned h = 0; h < 2; h++) {
        uint64_t from = at[h] - s->low;
        if (halves == 2 - h) continue;
        if (at[h] & (bytes - 1) || from >= room || room - from < all || simt_counters_hold(b, at[h], all)) return false;
        if (w->worker->tallied) simt_tally_reach(w->worker, at[h], at[h] + all);
    }
    if (s->quiet) return all_written(s, at[0], all) && all_written(s, at[1], all);
    if (s->once || (bytes < 4 && (!step || (at[0] | at[1]) % 4))) return false;
    if (step) look_ahead(s, w->index, at);
    if (b->check->exact && !write)
        simt_readers_note_rows(b, i,
                               b->id | (record)b->now << TIME_AT | (record)w->index * SIMT_WARP << THREAD_AT | site, at,
                               step, lanes_of_halves(halves));
    const struct row r = {b, s, bytes, shift_of(bytes), write, now_of_warp(b, w, false)};
    record me = b->id | (record)b->now << TIME_AT | (record)w->index * SIMT_WARP << THREAD_AT | site;
    record half = (record)16 << THREAD_AT;
    const char *from = write && b->check->parallel ? stored_bytes(w, i, packed) : NULL;
    if (!step) return touch_place(&r, at[0], me) && (at[1] == at[0] || touch_place(&r, at[1], me + half));
    if (!halves && at[1] == at[0] + all) {
        bool lines = bytes == 4 && !(at[0] % LINE);
        return (lines && touch_both(&r, at[0], me, from)) || touch_row(&r, at[0], 2 * all, me, from);
    }
    return (halves == 2 || touch_row(&r, at[0], all, me, from)) &&
           (halves == 1 || touch_row(&r, at[1], all, me + half, from ? from + all : NULL));
}

/* The shift of elements `step` bytes apart; -1: it has none. */
static int shift_of_steps(int64_t step, unsigned bytes)
{
    if (bytes < 4 || step <= bytes || step % bytes) return -1;
    return step == 8 ? 1 : step == 16 ? 2 : step == 32 ? 3 : step == 12 ? SHIFT_THREES : -1;
}

bool simt_race_steps(const struct access *a, const uint64_t at[2], int64_t step)
{
    const struct simt_check *c = a->check;
    int shift = shift_of_steps(step, a->bytes);
    bool write = a->kind == ACCESS_WRITE;
    if (shift < 0 || a->kind == ACCESS_ATOMIC || a->block->spans[a->insn->d2].once ||
        simt_counters_hold(a->block, at[0], (uint64_t)step * 16) ||
        simt_counters_hold(a->block, at[1], (uint64_t)step * 16))
        return false;
    if (c->exact && !write) simt_readers_note_rows(a->block, a->insn, a->me, at, step, FULL);
    const struct now now = now_of_warp(a->block, a->warp, false);
    for (unsigned lane = 0, n; lane < SIMT_WARP; lane += n) {
        uint64_t address = at[lane / 16] + (uint64_t)step * (lane % 16), end = address / LINE * LINE + LINE;
        struct line *l = global_line(a, address);
        struct stretch s = stretch_at(address, a->bytes, a->me + ((record)lane << THREAD_AT), (unsigned)shift);
        uint32_t one = s.words;
        if (l) __builtin_prefetch(l + AHEAD, 1);
        if (l) __builtin_prefetch(strips_of(l + AHEAD), 1);
        for (n = 1; (lane + n) % 16 && address + n * (uint64_t)step < end; n++)
            s.words |= one << n * (unsigned)step / 4;
        if (!made(a, l != NULL)) return true;
        if (!write && is_settled(c, l, s.words)) continue;
        lock_line(c, l);
        bool ok = touch_strips(c, l, &s, &now, write);
        for (unsigned k = 0; ok && write && c->parallel && k < n; k++)
            simt_race_store(a, address + k * (uint64_t)step, a->bytes, lane + k);
        unlock_line(c, l);
        if (!ok) return false;
    }
    return true;
}

/* The shift of elements of some lanes, which may leave nothing out between two of them; -1: they have none. */
static int shift_of_some(int64_t step, unsigned bytes)
{
    return step == bytes && (bytes & (bytes - 1)) == 0 ? (int)shift_of(bytes) : shift_of_steps(step, bytes);
}

/* Lanes m of a half, which are in one line; that of `lane` is the first. */
static bool touch_some(const struct access *a, struct line *l, uint32_t m, unsigned lane, int64_t step, unsigned shift,
                       const struct now *now)
{
    const struct simt_check *c = a->check;
    struct stretch s = stretch_at(a->at[lane], a->bytes, a->me + ((record)lane << THREAD_AT), shift);
    uint32_t one = s.words, rest = m >> lane;
    bool write = a->kind == ACCESS_WRITE;
    s.words = step == 4 ? one * rest : 0;
    EACH_LANE(k, step == 4 ? 0 : rest) s.words |= one << k * (unsigned)step / 4;
    if (!write && is_settled(c, l, s.words)) return true;
    lock_line(c, l);
    bool ok = touch_strips(c, l, &s, now, write);
    if (ok && write && c->parallel) simt_race_store_lanes(a, m);
    unlock_line(c, l);
    return ok;
}

uint32_t simt_race_some(const struct access *a, uint32_t m)
{
    const struct now now = now_of_warp(a->block, a->warp, false);
    uint32_t left = 0;
    if (a->bytes < 4 || a->kind == ACCESS_ATOMIC) return m;
    for (unsigned h = 0; h < 2; h++) {
        uint32_t half = m & UINT32_C(0xffff) << 16 * h;
        int64_t step = half ? a->check->vectors->stride(a->at + 16 * h, half >> 16 * h, a->bytes) : 0;
        int shift = step > 0 ? shift_of_some(step, a->bytes) : -1;
        if (shift < 0) left |= half;
        for (uint32_t rest = shift < 0 ? 0 : half, here; rest; rest &= ~here) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            unsigned n = (unsigned)((LINE - a->at[lane] % LINE + (uint64_t)step - 1) / (uint64_t)step);
            here = n < 16 ? rest & ((1u << n) - 1) << lane : rest;
            struct line *l = global_line(a, a->at[lane]);
            if (!made(a, l != NULL)) return 0;
            __builtin_prefetch(l + AHEAD, 1);
            __builtin_prefetch(strips_of(l + AHEAD), 1);
            if (!touch_some(a, l, here, lane, step, (unsigned)shift, &now)) left |= here;
        }
    }
    return left;
}

void simt_race_quiet(const struct warp *w, const struct insn *i, uint32_t range, int64_t step)
{
    const struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    struct jit_range *r = &w->worker->jit_ranges[range];
    uint64_t bytes = (uint64_t)i->size * i->count, others = (uint64_t)(step < 0 ? -step : step) * (SIMT_WARP - 1);
    if (!s->quiet || s->written || s->high - s->low < bytes + others || s->low % bytes) return;
    r->low = step < 0 ? s->low + others : s->low;
    r->room = s->high - s->low - bytes - others + 1;
    r->lines = 0;
}

void simt_race_window(const struct warp *w, const struct insn *i, uint32_t range, int64_t step, uint64_t at)
{
    const struct block *b = w->worker->observed;
    const struct span *s = &b->spans[i->d2];
    struct jit_range *r = &w->worker->jit_ranges[range];
    if (at - r->low < r->room || s->written) return;
    uint64_t chunk = (at - SIMT_GLOBAL_BASE) >> SHADOW_CHUNK, bytes = (uint64_t)i->size * i->count;
    uint64_t start = SIMT_GLOBAL_BASE + (chunk << SHADOW_CHUNK), low = start,
             high = start + (UINT64_C(1) << SHADOW_CHUNK);
    if (step) bytes *= SIMT_WARP;
    if (s->quiet) {
        simt_race_quiet(w, i, range, step);
        return;
    }
    if (orders_some(b->check)) return;
    if (low < s->low) low = s->low;
    if (high > s->high) high = s->high;
    const struct line *lines = simt_shadow_lines(chunk);
    if (!lines || high - low < bytes) return;
    r->low = low;
    r->room = high - low - bytes + 1;
    r->lines = (uint64_t)(uintptr_t)lines - start / LINE * QUIET_RECORD;
    r->site = b->check->site_of[w->pc];
}
