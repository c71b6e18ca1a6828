/* mbarrier objects and asynchronous copies. Copies are done at once, which is one of the orders that the hardware may
 * choose; so waiting for them needs nothing.
 *
 * An mbarrier is 64 bits of shared memory, which PTX leaves to the implementation. */
#include <string.h>
#include "runtime/simt/async.h"
#include "runtime/simt/tally.h"

#define OP(name) static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)

/* ---- mbarrier ---- */
struct mbarrier {
    uint32_t expected, pending; /* arrivals of a phase; those still to come */
    int32_t bytes;              /* of copies still to come */
    uint32_t phase;             /* modulo 4 */
    bool valid;
};
#define COUNT_BITS 20
#define COUNT_MOST ((1u << COUNT_BITS) - 1)

static struct mbarrier unpack(uint64_t v)
{
    return (struct mbarrier){.expected = (uint32_t)v & COUNT_MOST,
                             .pending = (uint32_t)(v >> COUNT_BITS) & COUNT_MOST,
                             .bytes = (int32_t)((int64_t)(v << 3) >> 43),
                             .phase = (uint32_t)(v >> 61) & 3,
                             .valid = v >> 63};
}
static uint64_t pack(struct mbarrier b)
{
    return b.expected | (uint64_t)b.pending << COUNT_BITS | ((uint64_t)(uint32_t)b.bytes & 0x1fffff) << 2 * COUNT_BITS |
           (uint64_t)(b.phase & 3) << 61 | (b.valid ? (uint64_t)1 << 63 : 0);
}

static enum event wrong_use(struct warp *w, uint32_t lane, const char *what, unsigned count, unsigned most)
{
    return simt_fault_set(w, (int)lane, SIMT_FAULT_BARRIER, "%s: %s (%u of at most %u)",
                          w->worker->program->places[w->pc].opcode, what, count, most);
}

static enum event change(struct warp *w, const struct insn *i, uint32_t lane, uint32_t n, struct mbarrier *b)
{
    bool arrives = i->mode == MBARRIER_ARRIVE || i->mode == MBARRIER_DROP || i->mode == MBARRIER_ARRIVE_EXPECT ||
                   i->mode == MBARRIER_DROP_EXPECT;
    uint32_t count = i->mode == MBARRIER_ARRIVE || i->mode == MBARRIER_DROP ? n : 1;
    if (!b->valid)
        return simt_fault_set(w, (int)lane, SIMT_FAULT_BARRIER, "%s on an mbarrier that mbarrier.init did not set up",
                              w->worker->program->places[w->pc].opcode);
    if (i->mode == MBARRIER_EXPECT || i->mode == MBARRIER_ARRIVE_EXPECT || i->mode == MBARRIER_DROP_EXPECT)
        b->bytes += (int32_t)n;
    if (i->mode == MBARRIER_COMPLETE) b->bytes -= (int32_t)n;
    if (arrives && (!count || count > b->pending))
        return wrong_use(w, lane, "more arrivals than the phase waits for", count, b->pending);
    if (arrives) b->pending -= count;
    if (i->mode == MBARRIER_DROP || i->mode == MBARRIER_DROP_EXPECT) b->expected -= count;
    if (!b->pending && !b->bytes) {
        b->phase++;
        b->pending = b->expected;
    }
    return EV_NEXT;
}

static uint64_t address_of(char *R, const struct insn *i, uint32_t lane)
{
    bool generic = i->flags & F_GENERIC;
    return generic ? u64_at(R, i->a)[lane] + (uint64_t)i->imm : simt_window_address(u32_at(R, i->a)[lane], i->imm);
}

static uint64_t *cell_at(char *R, const struct insn *i, uint32_t lane, struct warp *w)
{
    enum ptx_space space = i->flags & F_GENERIC ? PTX_GENERIC : PTX_SHARED;
    return simt_lane_address(w, i, (int)lane, space, address_of(R, i, lane), 8, true);
}

/* Behind an instruction, as the observer wants it. */
static enum event go_on(struct warp *w)
{
    struct worker *k = w->worker;
    if (!k->leaves) return EV_NEXT;
    if (k->yields) w->budget = 0;
    k->leaves = k->yields = false;
    w->midway = true;
    w->splits[w->current].pc = w->pc + 1;
    return EV_SCHEDULE;
}

OP(mbarrier)
{
    const uint32_t *n = u32_at(R, i->b);
    EACH_LANE(l, m)
    {
        uint64_t *cell = cell_at(R, i, l, w), old;
        if (!cell) return EV_FAULT;
        old = *cell;
        struct mbarrier b = unpack(old);
        if (i->mode == MBARRIER_INVAL) {
            b.valid = false;
        } else if (i->mode == MBARRIER_INIT) {
            if (!n[l] || n[l] > COUNT_MOST) return wrong_use(w, l, "a count out of range", n[l], COUNT_MOST);
            b = (struct mbarrier){.expected = n[l], .pending = n[l], .valid = true};
        } else if (change(w, i, l, n[l], &b) != EV_NEXT) {
            return EV_FAULT;
        }
        *cell = pack(b);
        if (i->d != SLOT_NOWHERE) u64_at(R, i->d)[l] = old;
    }
    /* What takes its time on hardware is over when other warps have seen the phase before: who waits for one that came
     * and went waits for ever. */
    if (simt_is_commit(i)) w->worker->leaves = w->worker->yields = true;
    return go_on(w);
}

/* Each phase but the first wants all of its arrivals. */
bool simt_ends_many(const struct insn *i, char *R, uint32_t m, const void *cell)
{
    bool counts = i->run == mbarrier && (i->mode == MBARRIER_ARRIVE || i->mode == MBARRIER_DROP);
    uint64_t v, arrivals = 0;
    memcpy(&v, cell, sizeof v);
    EACH_LANE(l, m) arrivals += counts ? u32_at(R, i->b)[l] : 1;
    return arrivals > 3 * (uint64_t)unpack(v).expected;
}

uint32_t simt_phase_of(const void *cell)
{
    uint64_t v;
    memcpy(&v, cell, sizeof v);
    return unpack(v).phase;
}

/* The phase that the token was taken in, or the last one that has the parity. */
bool simt_phase_over(const struct insn *i, char *R, uint32_t l, const void *cell, uint32_t *phase)
{
    uint32_t now = simt_phase_of(cell);
    *phase = i->mode ? (now - 1) & 3 : unpack(u64_at(R, i->b)[l]).phase;
    return i->mode ? (now & 1) != (u32_at(R, i->b)[l] & 1) : now != *phase;
}

void simt_phases_over(const struct insn *i, char *R, uint32_t m, const void *cell, uint32_t lanes[4])
{
    const uint32_t now = simt_phase_of(cell), *parity = u32_at(R, i->b);
    uint32_t phase, over = 0;
    memset(lanes, 0, 4 * sizeof *lanes);
    for (unsigned l = 0; i->mode && l < SIMT_WARP; l++) over |= ((parity[l] ^ now) & 1) << l;
    if (i->mode)
        lanes[(now - 1) & 3] = over & m;
    else
        EACH_LANE(l, m)
        {
            over = simt_phase_over(i, R, l, cell, &phase);
            lanes[phase] |= over << l;
        }
}

/* Only threads of its cluster complete an mbarrier's phases. So when all of them wait, at mbarriers or at barriers,
 * none will ever go on. That is found by counting the tests that fail: in each round of so many the lanes are noted
 * that had one, and who waits in two rounds, with no success between, does nothing else. */
#define ROUND (1u << 16)

static bool all_wait(const struct worker *k, bool testing)
{
    for (uint32_t j = 0; j < k->warp_count; j++) {
        const struct warp *w = &k->warps[j];
        uint32_t busy = w->alive & ~(testing ? w->tested : 0);
        for (uint32_t n = 0; n < w->split_count; n++)
            if (w->splits[n].state != SPLIT_RUN) busy &= ~w->splits[n].mask;
        if (busy) return false;
    }
    return true;
}

/* Blocks of the cluster may complete it, too. */
static bool others_wait(const struct worker *k)
{
    for (uint32_t r = 0; r < k->cluster->size; r++) {
        const struct worker *o = k->cluster->members[r];
        if (o != k && !o->ended && (o->quick || !(o->all_waited || all_wait(o, false)))) return false;
    }
    return true;
}

static enum event test_failed(struct warp *w, uint32_t m, const uint64_t *cell)
{
    struct worker *k = w->worker;
    struct mbarrier b = unpack(*cell);
    for (uint32_t j = 0; j < k->warp_count && k->failed_tests % ROUND == 0; j++) k->warps[j].tested = 0;
    w->tested |= m;
    simt_waits(w, SLICE); /* who completes the phase has its turn before this is tried again */
    if (++k->failed_tests % ROUND) return EV_NEXT;
    bool before = k->all_waited;
    k->all_waited = all_wait(k, true);
    if (!before || !k->all_waited || !others_wait(k)) return EV_NEXT;
    return simt_fault_set(
        w, __builtin_ctz(m), SIMT_FAULT_DEADLOCK,
        "deadlock: %s waits for a phase that nobody completes: all %u threads wait, here and at other "
        "barriers, and %u of %u arrivals and %d bytes are still to come; was it the parity of the "
        "phase that is over?",
        k->program->places[w->pc].opcode, k->live, b.pending, b.expected, b.bytes);
}

OP(mbarrier_test)
{
    uint32_t done = 0, *d = u32_at(R, i->d);
    const uint64_t *last = NULL, *cell = NULL;
    uint64_t before = 0;
    EACH_LANE(l, m)
    {
        uint32_t phase;
        uint64_t address = address_of(R, i, l); /* mostly the same of all lanes */
        if (!cell || address != before) cell = cell_at(R, i, l, w);
        if (!cell) return EV_FAULT;
        before = address;
        struct mbarrier b = unpack(*cell);
        if (!b.valid) return change(w, i, l, 0, &b);
        bool over = simt_phase_over(i, R, l, cell, &phase);
        done |= (uint32_t)over << l;
        if (!over) last = cell;
    }
    *d = (*d & ~m) | done;
    if (done) w->worker->failed_tests = 0, w->worker->all_waited = false;
    return last ? test_failed(w, m & ~done, last) : go_on(w);
}

OP(mbarrier_pending)
{
    (void)w;
    EACH_LANE(l, m) u32_at(R, i->d)[l] = unpack(u64_at(R, i->a)[l]).pending;
    return EV_NEXT;
}

/* ---- copies ---- */
static void *address_at(char *R, const struct insn *i, uint32_t slot, enum ptx_space space, uint32_t lane,
                        uint64_t offset, uint32_t size, struct warp *w)
{
    uint64_t base = space == PTX_SHARED ? u32_at(R, slot)[lane] : u64_at(R, slot)[lane];
    return simt_lane_address(w, i, (int)lane, space, base + offset, size, i->flags & F_STORE);
}

uint32_t simt_fill_bytes(char *R, const struct insn *i, uint32_t l)
{
    return i->mode ? (*u32_at(R, i->c) >> l & 1 ? 0 : i->size) : u32_at(R, i->c)[l];
}

/* What a cp.async reads whose source may be shorter than its destination, which is filled with zeros, or left out by a
 * predicate. */
OP(load_fill)
{
    const uint32_t *slots = w->worker->program->extra + i->extra;
    EACH_LANE(l, m)
    {
        uint32_t n = simt_fill_bytes(R, i, l);
        if (n > i->size) return wrong_use(w, l, "a source longer than the destination", n, i->size);
        uint32_t words[4] = {0}, piece = n == i->size ? n : 1;
        for (uint32_t at = 0; at < n; at += piece) {
            const void *from = address_at(R, i, i->b, PTX_GLOBAL, l, at, piece, w);
            if (!from) return EV_FAULT;
            memcpy((char *)words + at, from, piece);
        }
        for (uint32_t k = 0; k < i->size / 4u; k++) u32_at(R, slots[k])[l] = words[k];
    }
    return EV_NEXT;
}

/* The next bytes of a bulk copy. */
static void move_unit(char *R, const struct insn *i, const struct async_bulk *x, uint32_t lane, char *to,
                      const char *from, uint32_t bytes)
{
    uint32_t mask = x->mask ? u32_at(R, x->mask)[lane] : UINT32_MAX;
    if (i->size) {
        for (uint32_t k = 0; k < bytes; k += i->size) simt_atomic_update(i, to + k, from + k);
    } else if (!x->mask) {
        memmove(to, from, bytes);
    } else {
        for (uint32_t k = 0; k < bytes; k++)
            if (mask >> k & 1) to[k] = from[k];
    }
}

void *simt_bulk_target(char *R, const struct insn *i, uint32_t slot, enum ptx_space space, uint32_t lane,
                       uint32_t offset, uint32_t size, uint32_t rank, struct warp *w)
{
    if (!rank || w->worker->cluster->size == 1) return address_at(R, i, slot, space, lane, offset, size, w);
    uint64_t at = (u32_at(R, slot)[lane] + offset) & ((1u << CLUSTER_SHIFT) - 1);
    return simt_lane_address(w, i, (int)lane, PTX_SHARED, at | (uint64_t)rank << CLUSTER_SHIFT, size,
                             i->flags & F_STORE);
}

enum event simt_bulk_complete(char *R, const struct insn *i, const struct async_bulk *x, uint32_t l, uint32_t n,
                              uint32_t rank, struct warp *w)
{
    struct insn barrier = *i;
    barrier.mode = MBARRIER_COMPLETE;
    if (!x->barrier) return EV_NEXT;
    uint64_t *cell = simt_bulk_target(R, i, x->barrier, PTX_SHARED, l, 0, 8, rank, w);
    if (!cell) return EV_FAULT;
    struct mbarrier b = unpack(*cell);
    if (change(w, &barrier, l, n, &b) != EV_NEXT) return EV_FAULT;
    *cell = pack(b);
    return EV_NEXT;
}

/* What one lane copies, n bytes. */
static enum event copy_to(char *R, const struct insn *i, const struct async_bulk *x, uint32_t l, uint32_t n,
                          uint32_t rank, struct warp *w)
{
    static const uint8_t zeros[8];
    struct insn from = *i;
    uint32_t unit = simt_bulk_unit(x);
    from.flags &= ~(uint32_t)F_STORE;
    for (uint32_t at = 0; at < n; at += unit) {
        const void *s =
            x->source == BULK_ZEROS ? zeros : address_at(R, &from, i->b, (enum ptx_space)x->source, l, at, unit, w);
        void *d = s ? simt_bulk_target(R, i, i->a, (enum ptx_space)x->destination, l, at, unit, rank, w) : NULL;
        if (!d) return EV_FAULT;
        move_unit(R, i, x, l, d, s, unit);
    }
    return simt_bulk_complete(R, i, x, l, n, rank, w);
}

/* cp.async.bulk, cp.reduce.async.bulk: any multiple of 16 bytes, counted off at an mbarrier when there is one. st.bulk:
 * of 8 bytes. */
OP(copy_bulk)
{
    const struct async_bulk *x = (const void *)(w->worker->program->extra + i->extra);
    if (i->size) simt_tally_settle(w->worker);
    EACH_LANE(l, m)
    {
        uint32_t n = u32_at(R, i->c)[l], unit = simt_bulk_unit(x);
        if (n % unit)
            return wrong_use(w, l,
                             unit == 8 ? "a number of bytes that 8 does not divide"
                                       : "a number of bytes that 16 does not divide",
                             n, UINT32_MAX);
        uint32_t ranks = x->ranks ? u32_at(R, x->ranks)[l] & 0xffff : 0;
        if (!x->ranks && copy_to(R, i, x, l, n, 0, w) != EV_NEXT) return EV_FAULT;
        for (uint32_t rank = 0; ranks >> rank; rank++)
            if (ranks >> rank & 1 && copy_to(R, i, x, l, n, rank + 1, w) != EV_NEXT) return EV_FAULT;
    }
    return EV_NEXT;
}

bool simt_is_barrier_init(const struct insn *i)
{
    return i->run == mbarrier && i->mode == MBARRIER_INIT;
}

bool simt_is_barrier_test(const struct insn *i)
{
    return i->run == mbarrier_test;
}

bool simt_is_mbarrier(const struct insn *i)
{
    return i->run == mbarrier || i->run == mbarrier_test;
}

bool simt_is_complete(const struct insn *i)
{
    return i->run == mbarrier && i->mode == MBARRIER_COMPLETE;
}

bool simt_arrives(const struct insn *i)
{
    bool other = i->mode == MBARRIER_INIT || i->mode == MBARRIER_INVAL || i->mode == MBARRIER_EXPECT;
    return simt_is_bulk(i) || (i->run == mbarrier && !other);
}

bool simt_is_fill(const struct insn *i)
{
    return i->run == load_fill;
}

bool simt_is_bulk(const struct insn *i)
{
    return i->run == copy_bulk || simt_is_tensor(i);
}

static const struct op_row rows[] = {
    {"+mbarrier", "", mbarrier, NULL, 0},
    {"+mbarrier_test", "", mbarrier_test, NULL, 0},
    {"mbarrier.pending_count.b64", "wq", mbarrier_pending, NULL, 0},
    {"+load_fill", "", load_fill, NULL, 0},
    {"+copy_bulk", "", copy_bulk, NULL, 0},
};
const struct op_table simt_ops_async = {rows, sizeof rows / sizeof *rows};
