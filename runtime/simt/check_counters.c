/* Counters: cells of global memory that blocks' atomics touch over and over, as a histogram's. Once a cell's records
 * say that nothing but atomics touched it, another atomic of the same site changes nothing in them but who it was. So
 * each worker keeps for itself, by instruction, who touched a cell last, in which block (its turn), and writes that to
 * the cell's records when the time goes on in such a block, when it touches the memory in another way, and at the end:
 * of the launch, or of the block where there are releases. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_cells.h"

#define MOST_BYTES 65536 /* of counters; of larger memory, those around where it is touched first */
#define LAST_TURN  ((1u << (32 - THREAD_BITS)) - 1)
#define THREADS    ((1u << THREAD_BITS) - 1)

void simt_counters_free(struct block *b)
{
    for (int k = 0; k < COUNTERS; k++) free(b->counters[k].last);
}

/* A record without a thread. */
static record without_thread(record r)
{
    return r & ~((record)THREADS << THREAD_AT);
}

static record *me_of(struct counters *t, uint32_t turn)
{
    return &t->me[turn - t->first];
}

static void pour(struct block *b, struct counters *t)
{
    for (uint32_t k = 0; k < t->used; k++) {
        uint32_t cell = t->touched[k], thread = t->last[cell] & THREADS;
        t->access.me = *me_of(t, t->last[cell] >> THREAD_BITS);
        t->access.at[thread % SIMT_WARP] = t->low + 4 * (uint64_t)cell;
        t->access.warp = &b->worker->warps[thread / SIMT_WARP];
        t->access.me += (record)(thread / SIMT_WARP * SIMT_WARP) << THREAD_AT;
        if (!simt_race_counter(&t->access, thread % SIMT_WARP)) simt_race_lane(&t->access, thread % SIMT_WARP);
    }
    t->used = 0;
    t->first = ++t->turn;
}

void simt_counters_pour(struct block *b)
{
    for (int k = 0; k < COUNTERS; k++)
        if (b->counters[k].used) pour(b, &b->counters[k]);
    b->counting = false;
}

static bool holds(const struct counters *t, uint64_t low, uint64_t bytes)
{
    return t->used && low - t->low + bytes < 4 * (uint64_t)t->cells + bytes;
}

bool simt_counters_hold(const struct block *b, uint64_t low, uint64_t bytes)
{
    bool held = false;
    for (int k = 0; k < COUNTERS && b->counting; k++) held |= holds(&b->counters[k], low, bytes);
    return held;
}

/* Where counters begin in memory from `low` on, of which lanes m touch some. */
static uint64_t first_of(const struct access *a, uint32_t m, uint64_t low, uint64_t bytes)
{
    uint64_t first = UINT64_MAX;
    if (bytes <= MOST_BYTES) return low;
    EACH_LANE(l, m) first = a->at[l] < first ? a->at[l] : first;
    return first - low > MOST_BYTES / 2 ? first - MOST_BYTES / 2 : low;
}

/* What other blocks of the worker did before is over, whatever the time is in this one. */
void simt_counters_tick(struct block *b)
{
    bool now = false;
    for (int k = 0; k < COUNTERS; k++) {
        struct counters *t = &b->counters[k];
        now |= t->used && record_block(*me_of(t, t->turn)) == record_block(b->id);
    }
    if (now) simt_counters_pour(b);
}

/* The set of an instruction; NULL: it has none. */
static struct counters *set_of(struct block *b, const struct insn *i)
{
    for (int k = 0; k < COUNTERS; k++)
        if (b->counters[k].cells && b->counters[k].access.insn == i) return &b->counters[k];
    return NULL;
}

/* A set for memory that no other one has any of: the instruction's own, an unused one, or else any. */
static struct counters *set_for(struct block *b, const struct insn *i, uint64_t low, uint64_t bytes)
{
    struct counters *own = set_of(b, i), *t = own ? own : &b->counters[(size_t)i / sizeof *i % COUNTERS];
    for (int k = 0; k < COUNTERS; k++) {
        struct counters *other = &b->counters[k];
        bool meets = other->used && other->low < low + bytes && low < other->low + 4 * (uint64_t)other->cells;
        if (meets) pour(b, other);
        if (!own && !other->used && t->used) t = other;
    }
    if (t->used) pour(b, t);
    return t;
}

/* Makes ready for the instruction's atomics. NULL: they are none for counters. */
static struct counters *begin(const struct access *a, uint32_t m)
{
    struct block *b = a->block;
    const struct span *s = &b->spans[a->insn->d2];
    uint64_t bytes = s->high - s->low;
    if (bytes < 4 || s->low % 4) return NULL;
    uint64_t low = first_of(a, m, s->low, bytes);
    if (s->high - low < bytes) bytes = s->high - low;
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    uint32_t cells = (uint32_t)(bytes / 4);
    struct counters *t = set_for(b, a->insn, low, bytes);
    if (cells > t->room) {
        uint32_t *all = rt_calloc(2 * (size_t)cells, sizeof *all);
        if (!all) return NULL;
        free(t->last);
        t->last = all;
        t->room = cells;
        t->first = t->turn = 1;
    }
    if (t->turn >= LAST_TURN) {
        memset(t->last, 0, t->room * sizeof *t->last);
        t->first = t->turn = 1;
    }
    t->touched = t->last + t->room;
    t->start = s->low;
    t->low = low;
    t->cells = cells;
    t->me[0] = without_thread(a->me);
    t->access = *a;
    return t;
}

/* Another block, or another time: its turn. */
static bool take_turn(struct counters *t, record me)
{
    if (t->turn - t->first == COUNTER_TURNS - 1) return false;
    if (t->used) t->turn++;
    *me_of(t, t->turn) = me;
    return true;
}

bool simt_counters_again(const struct warp *w, const struct insn *i, const uint64_t *from)
{
    struct block *b = w->worker->observed;
    struct counters *t = set_of(b, i);
    record now = b->id | (record)b->now << TIME_AT;
    if (!t || !t->used || (*me_of(t, t->turn) ^ now) >= (record)1 << THREAD_AT) return false;
    uint32_t mine = t->turn << THREAD_BITS | (uint32_t)w->index * SIMT_WARP;
    return b->check->vectors->count(t->last, t->cells, from, t->low - (uint64_t)i->imm, t->first << THREAD_BITS, mine);
}

uint32_t simt_counters_touch(const struct access *a, uint32_t m)
{
    struct counters *t = set_of(a->block, a->insn);
    record me = without_thread(a->me);
    bool same = t && t->used && t->turn < LAST_TURN && t->start == a->block->spans[a->insn->d2].low;
    if (same && *me_of(t, t->turn) != me) same = take_turn(t, me);
    if (!same) t = begin(a, m);
    if (!t) return m;
    uint32_t left = 0, known = t->first << THREAD_BITS,
             mine = t->turn << THREAD_BITS | (uint32_t)a->warp->index * SIMT_WARP;
    EACH_LANE(l, m)
    {
        uint64_t cell = (a->at[l] - t->low) / 4;
        if (cell < t->cells && t->last[cell] >= known) {
            t->last[cell] = mine + l;
        } else if (cell < t->cells && simt_race_counter(a, l)) {
            t->last[cell] = mine + l;
            t->touched[t->used++] = (uint32_t)cell;
            a->block->counting = true;
            simt_sync_quiet(a->block);
        } else {
            left |= 1u << l;
        }
    }
    return left;
}
