/* cp.async.bulk, st.async and red.async: copies that are under way until a thread has waited for the mbarrier's phase
 * that they count in, or for the group that it committed them in. They are done at once here, so the checks keep in
 * mind who has waited: a thread may touch what a copy moves when it has, or when it comes behind one that has, by
 * whatever orders threads. In global memory that goes for threads of the block. For others the copy of a group is
 * recorded once more when its thread has waited for it, or at the end of the block: what was released before comes
 * too early. Of the sources of loads the last MOST_SOURCES are kept in mind.
 *
 * Words under way have the tag TAG_MIXED, which makes every access to them come to simt_shared_touch. When all threads
 * of the block meet, and one of them has waited, all know; so does who begins a copy to the same place, and the old one
 * is forgotten. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/check_cells.h"
#include "runtime/simt/check_bulks.h"
#include "runtime/simt/check_shared.h"
#include "runtime/simt/tcgen05.h"
#include "runtime/simt/tensor_map.h"

#define MOST         4096 /* more copies at once are not followed */
#define MOST_SOURCES 64   /* of loads that somebody has waited for, in global memory */
#define PIECE        16u

struct bulks *simt_bulks_want(struct block *b)
{
    if (b->bulks) return b->bulks;
    struct bulks *c = rt_calloc(1, sizeof *c);
    if (c) c->committed = rt_calloc((size_t)b->worker->warp_count * SIMT_WARP, sizeof *c->committed);
    if (!c || !c->committed) {
        free(c);
        atomic_store(&b->check->no_memory, true);
        return NULL;
    }
    return b->bulks = c;
}

void simt_bulk_free(struct block *b)
{
    if (!b->bulks) return;
    free(b->bulks->items);
    free(b->bulks->committed);
    free(b->bulks);
}

void simt_bulk_start(struct block *b)
{
    if (!b->bulks) return;
    b->bulks->count = b->bulks->sources = 0;
    b->bulks->commits = 0;
    b->moving = (struct moving){.low = 0};
    memset(b->bulks->committed, 0, (size_t)b->worker->warp_count * SIMT_WARP * sizeof *b->bulks->committed);
}

/* ---- who has waited ---- */
static void set_waited(const struct block *b, struct bulk *x, const struct warp *w, unsigned lane)
{
    if (!x->waited[w->index]) x->since[w->index] = b->now;
    x->waited[w->index] |= 1u << lane;
}

/* Has the thread of block `by`, which may be another one of the cluster, waited, or comes it behind one that has? */
bool simt_bulks_waited(const struct block *b, const struct bulk *x, const struct block *by, unsigned warp,
                       unsigned lane)
{
    if (by == b && x->waited[warp] >> lane & 1) return true;
    for (uint32_t w = 0; w < b->worker->warp_count; w++) EACH_LANE(l, x->waited[w])
        {
            record r = b->id | (record)x->since[w] << TIME_AT | (record)(w * SIMT_WARP + l) << THREAD_AT;
            if (simt_check_ordered(by, r, warp, lane, 0)) return true;
        }
    return false;
}

/* The block of the cluster that the address, which becomes the offset, is of; NULL: none. */
static struct block *owner_of(const struct block *b, uint64_t *at)
{
    const struct worker *owner = simt_cluster_owner(b->worker, at);
    return owner && !owner->ended ? owner->observed : NULL;
}

/* May an mbarrier be there? Else it is a fault. */
static bool is_barrier(const struct block *b, uint64_t at)
{
    return at % 8 == 0 && at <= b->worker->shared_bytes - 8u;
}

/* The phases that are over at an mbarrier. An instruction ends at most three, or it is not known of which. */
static void follow_phases(struct bulks *c, uint64_t barrier, uint32_t now)
{
    for (size_t k = 0; k < c->count; k++) {
        struct bulk *x = &c->items[k];
        if (!x->counted || x->barrier != barrier) continue;
        x->passed += (now - x->seen) & 3;
        x->seen = now;
    }
}

static void test(const struct access *a, unsigned lane, uint32_t at)
{
    struct block *b = a->block;
    struct bulks *c = b->bulks;
    uint32_t over;
    if (!simt_phase_over(a->insn, a->regs, lane, b->worker->shared + at, &over)) return;
    for (size_t k = 0; k < c->count; k++) {
        struct bulk *x = &c->items[k];
        bool before = ((x->seen - over) & 3) <= x->passed; /* the phase itself or one that it follows on */
        if (x->counted && x->barrier == at && before) set_waited(b, x, a->warp, lane);
    }
}

void simt_bulk_observe(const struct access *a, uint32_t m)
{
    uint64_t last = UINT64_MAX;
    if (!a->block->bulks && a->block->worker->cluster->size == 1) return;
    EACH_LANE(l, m)
    {
        uint64_t at = (uint32_t)a->at[l];
        const struct block *o = owner_of(a->block, &at);
        if (!o || !o->bulks || !o->bulks->count || !is_barrier(o, at)) continue;
        if (a->at[l] != last) follow_phases(o->bulks, at, simt_phase_of(o->worker->shared + at));
        last = a->at[l];
        if (o == a->block && simt_is_barrier_test(a->insn)) test(a, l, (uint32_t)at);
        if (o == a->block && simt_is_commit(a->insn)) simt_products_commit(a, l, at);
    }
}

/* What is looked at of it at once. */
static uint32_t piece_of(const struct bulk *x)
{
    bool units = x->at % PIECE == 0 && x->bytes % PIECE == 0 && x->pitch % PIECE == 0;
    return units && !x->reduces ? PIECE : x->element;
}

/* The copy of a group to global memory is there now. Nobody can have released it meanwhile where no time has passed. */
static void record_again(struct block *b, struct bulk *x)
{
    unsigned thread = record_thread(x->me), lane = thread % SIMT_WARP;
    const record time = (record)LAST_TIME << TIME_AT;
    if (!x->global || x->counted || x->recorded || record_time(x->me) == b->now) return;
    struct access a = {.check = b->check,
                       .block = b,
                       .warp = &b->worker->warps[thread / SIMT_WARP],
                       .insn = &b->check->unseen,
                       .kind = x->reduces ? ACCESS_ATOMIC : ACCESS_WRITE,
                       .site = &b->check->sites[record_site(x->me)],
                       .origin = -1,
                       .bytes = piece_of(x)};
    a.me = ((x->me & ~time) | (record)b->now << TIME_AT) - ((record)lane << THREAD_AT);
    x->recorded = true;
    for (uint32_t r = 0; r < (x->rows ? x->rows : 1); r++)
        for (uint32_t k = 0; k < x->bytes; k += a.bytes) {
            a.at[lane] = x->at + r * x->pitch + k;
            if (x->reduces)
                simt_race_words(&a, 1u << lane);
            else
                simt_race_touch(&a, 1u << lane, false);
        }
}

void simt_bulk_end(struct block *b)
{
    for (size_t k = 0; b->bulks && !b->worker->fault.kind && k < b->bulks->count; k++)
        record_again(b, &b->bulks->items[k]);
}

void simt_bulk_wait(struct block *b, const struct warp *w, const struct insn *i, uint32_t m)
{
    struct bulks *c = b->bulks;
    if (!c) return;
    uint32_t *committed = c->committed + (unsigned)w->index * SIMT_WARP;
    bool all = simt_copy_mode(i) == COPY_BULK_WAIT; /* else what the copies read is waited for */
    EACH_LANE(l, m)
    {
        unsigned me = (unsigned)w->index * SIMT_WARP + l;
        if (simt_copy_mode(i) == COPY_BULK_COMMIT) {
            committed[l]++;
            continue;
        }
        for (size_t k = 0; k < c->count; k++) {
            struct bulk *x = &c->items[k];
            bool mine = !x->counted && !x->product && record_thread(x->me) == me && (all || x->source);
            if (!mine || x->group + i->extra >= committed[l]) continue;
            if (all) record_again(b, x);
            set_waited(b, x, w, l);
        }
    }
}

/* ---- copies ---- */
void simt_bulks_mark(struct block *b, const struct bulk *x, uint32_t from, uint32_t to)
{
    if (x->global || x->sums) return;
    for (uint32_t r = 0; r < (x->rows ? x->rows : 1); r++) {
        const uint64_t at = x->at + r * x->pitch;
        for (uint64_t word = at / 4; word < (at + x->bytes + 3) / 4; word++)
            if (!from || b->tags.written[word] == from) b->tags.written[word] = to;
    }
}

/* So many of the items are left. */
void simt_bulks_set_count(struct block *b, struct bulks *c, size_t count)
{
    struct moving m = {.low = UINT64_MAX};
    c->count = count;
    c->sources = 0;
    for (size_t k = 0; k < count; k++) {
        const struct bulk *x = &c->items[k];
        if (!x->global) continue;
        c->sources += x->source;
        m.stores |= !x->source;
        if (x->at < m.low) m.low = x->at;
        if (end_of(x) > m.high) m.high = end_of(x);
    }
    b->moving = m;
}

/* Copies to or from within the new one's place that its thread, of block `by`, knows to be done. */
static void forget_under(struct block *b, struct bulks *c, const struct bulk *n, const struct block *by)
{
    unsigned me = record_thread(n->me);
    size_t kept = 0;
    for (size_t k = 0; k < c->count; k++) {
        const struct bulk *x = &c->items[k];
        bool alike = x->source == n->source && x->global == n->global && x->sums == n->sums && !x->commit;
        bool under = alike && is_within(x, n);
        if (!under || !simt_bulks_knows(b, x, by, me / SIMT_WARP, me % SIMT_WARP)) c->items[kept++] = *x;
    }
    simt_bulks_set_count(b, c, kept);
}

/* The oldest source in global memory that somebody has waited for, when there are too many. */
static void forget_source(struct block *b, struct bulks *c)
{
    size_t k = 0;
    while (k < c->count && !(c->items[k].global && c->items[k].source && anyone_waited(b, &c->items[k]))) k++;
    if (k == c->count) return;
    memmove(&c->items[k], &c->items[k + 1], (c->count - k - 1) * sizeof *c->items);
    simt_bulks_set_count(b, c, c->count - 1);
}

/* A copy that is under way in block b, begun by a thread of block `by`. */
void simt_bulks_add(struct block *b, const struct bulk *n, const struct block *by)
{
    struct bulks *c = simt_bulks_want(b);
    if (!c) return;
    forget_under(b, c, n, by);
    if (n->global && n->source && c->sources >= MOST_SOURCES) forget_source(b, c);
    if (c->count == MOST) return;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 8;
        struct bulk *more = rt_realloc(c->items, room * sizeof *more);
        if (!more) {
            atomic_store(&b->check->no_memory, true);
            return;
        }
        c->items = more;
        c->room = room;
    }
    c->items[c->count] = *n;
    simt_bulks_set_count(b, c, c->count + 1);
    simt_bulks_mark(b, n, 0, TAG_MIXED);
}

/* What a lane reads, of its block's shared memory or of global memory. */
static void begin_source(const struct access *a, const struct async_bulk *x, unsigned lane, struct bulk n)
{
    n.source = true;
    n.global = x->source == PTX_GLOBAL;
    n.at = n.global ? u64_at(a->regs, a->insn->b)[lane] : u32_at(a->regs, a->insn->b)[lane];
    simt_bulks_add(a->block, &n, a->block);
}

/* It writes to the shared memory of o, where its bytes are counted. */
static void begin_at(const struct access *a, struct block *o, uint64_t at, uint64_t barrier, struct bulk n)
{
    if (!o || !is_barrier(o, barrier) || at > o->worker->shared_bytes || n.bytes > o->worker->shared_bytes - at) return;
    n.at = at;
    n.counted = true;
    n.barrier = (uint32_t)barrier;
    n.seen = simt_phase_of(o->worker->shared + barrier);
    simt_bulks_add(o, &n, a->block);
}

/* To the same place in several blocks of the cluster, from a place in global memory, which the threads of each of them
 * may write when they have waited for its copy; 0: that is not followed. */
static void begin_everywhere(const struct access *a, uint32_t ranks, uint64_t at, uint64_t barrier, uint64_t from,
                             const struct bulk *n)
{
    const struct cluster *cluster = a->block->worker->cluster;
    const uint64_t within = cluster->size > 1 ? (1u << CLUSTER_SHIFT) - 1 : UINT32_MAX;
    for (uint32_t r = 0; r < cluster->size; r++) {
        const struct worker *k = cluster->members[r];
        struct bulk source = *n;
        if (!(ranks >> r & 1) || k->ended) continue;
        begin_at(a, k->observed, at & within, barrier & within, *n);
        if (!from || !is_barrier(k->observed, barrier & within)) continue;
        source.global = source.source = source.counted = true;
        source.at = from;
        source.barrier = (uint32_t)(barrier & within);
        source.seen = simt_phase_of(k->shared + source.barrier);
        simt_bulks_add(k->observed, &source, a->block);
    }
}

static struct bulk bulk_of(const struct access *a, const struct async_bulk *x, unsigned lane)
{
    return (struct bulk){.me = a->me + ((record)lane << THREAD_AT),
                         .counted = x->barrier,
                         .group = simt_bulks_want(a->block)->committed[(unsigned)a->warp->index * SIMT_WARP + lane]};
}

/* The parts of a box that are in global memory; `n` is what they have in common. */
static void begin_slabs(const struct access *a, struct bulk n, const struct simt_tensor_map *map, const int32_t *coords)
{
    n.global = true;
    n.element = simt_tensor_element(map);
    for (uint32_t k = 0; k < simt_tensor_slabs(map); k++) {
        struct simt_tensor_slab s = simt_tensor_slab(map, coords, k);
        if (!s.rows) continue;
        n.at = s.at;
        n.pitch = s.pitch;
        n.rows = s.rows;
        n.bytes = s.bytes;
        simt_bulks_add(a->block, &n, a->block);
    }
}

/* What is read for several blocks, or for another one, is not followed. */
static void begin_loaded(const struct access *a, const struct async_tensor *x, unsigned lane, struct bulk n,
                         const struct simt_tensor_map *map, const int32_t *coords)
{
    uint64_t at = u32_at(a->regs, a->insn->a)[lane], barrier = u32_at(a->regs, x->bulk.barrier)[lane];
    if (x->bulk.ranks) {
        begin_everywhere(a, u32_at(a->regs, x->bulk.ranks)[lane], at, barrier, 0, &n);
        return;
    }
    struct block *o = owner_of(a->block, &barrier);
    if (!o || !is_barrier(o, barrier)) return;
    begin_at(a, owner_of(a->block, &at), at, barrier, n);
    if (o != a->block) return;
    n.source = true;
    n.barrier = (uint32_t)barrier;
    n.seen = simt_phase_of(o->worker->shared + barrier);
    begin_slabs(a, n, map, coords);
}

void simt_bulk_begin_box(const struct access *a, const struct async_tensor *x, unsigned lane,
                         const struct simt_tensor_map *map, const int32_t *coords)
{
    if (!simt_bulks_want(a->block)) return;
    struct bulk n = bulk_of(a, &x->bulk, lane), source = n;
    n.bytes = source.bytes = simt_tensor_rows(map) * simt_tensor_row_bytes(map);
    if (x->bulk.barrier) {
        begin_loaded(a, x, lane, n, map, coords);
        return;
    }
    source.source = true;
    source.at = u32_at(a->regs, a->insn->a)[lane];
    simt_bulks_add(a->block, &source, a->block);
    n.reduces = a->insn->size;
    begin_slabs(a, n, map, coords);
}

static void begin_lane(const struct access *a, const struct async_bulk *x, unsigned lane)
{
    struct block *b = a->block;
    const struct insn *i = a->insn;
    uint64_t barrier = x->barrier ? u32_at(a->regs, x->barrier)[lane] : 0, at = u32_at(a->regs, i->a)[lane];
    struct bulk n = bulk_of(a, x, lane);
    n.bytes = u32_at(a->regs, i->c)[lane];
    struct bulk source = n;
    if (x->barrier) {
        struct block *o = owner_of(b, &barrier);
        if (!o || !is_barrier(o, barrier)) return;
        source.barrier = (uint32_t)barrier;
        source.seen = simt_phase_of(o->worker->shared + barrier);
        if (o == b && !x->ranks) begin_source(a, x, lane, source); /* else other blocks wait, too */
    } else if (x->source == PTX_SHARED) {
        begin_source(a, x, lane, source);
    }
    n.reduces = simt_is_bulk_reduction(i);
    n.element = i->size;
    if (x->ranks) {
        begin_everywhere(a, u32_at(a->regs, x->ranks)[lane], at, barrier, u64_at(a->regs, i->b)[lane], &n);
    } else if (x->barrier) {
        begin_at(a, owner_of(b, &at), at, barrier, n);
    } else if (!x->mask) { /* else some of the bytes */
        n.global = true;
        n.at = u64_at(a->regs, i->a)[lane];
        simt_bulks_add(b, &n, b);
    }
}

void simt_bulk_begin(const struct access *a, const struct async_bulk *x, uint32_t m)
{
    if (x->source == BULK_ZEROS || !simt_bulks_want(a->block)) return;
    EACH_LANE(l, m) if (u32_at(a->regs, a->insn->c)[l]) begin_lane(a, x, l);
}

void simt_bulk_stored(const struct access *a, uint32_t m)
{
    const struct insn *store = a->insn - 1;
    if (!is_stored_async(a->check->program->places[a->warp->pc].opcode)) return;
    EACH_LANE(l, m)
    {
        uint64_t at = simt_window_address(u32_at(a->regs, store->a)[l], store->imm);
        struct block *o = owner_of(a->block, &at);
        const struct bulk n = {.me = a->me + ((record)l << THREAD_AT),
                               .bytes = (uint32_t)store->size * store->count,
                               .reduces = store->memory == MEMORY_ATOMIC};
        begin_at(a, o, at, a->at[l], n);
    }
}

void simt_bulk_met(struct block *b)
{
    struct bulks *c = b->bulks;
    size_t kept;
    if (!c || !c->count) return;
    kept = simt_bulks_forget_done(b, NULL);
    for (size_t k = 0; k < kept; k++) simt_bulks_mark(b, &c->items[k], 0, TAG_MIXED);
}

/* ---- accesses ---- */
bool simt_bulk_covers(const struct block *b, uint64_t at, uint32_t bytes)
{
    const struct bulks *c = b->bulks;
    for (size_t k = 0; c && k < c->count; k++)
        if (!c->items[k].global && !c->items[k].sums && overlaps(&c->items[k], at, bytes)) return true;
    return false;
}

void simt_bulks_report(const struct access *a, unsigned lane, const struct bulk *x)
{
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = x->global ? PTX_GLOBAL : PTX_SHARED,
                            .address = a->at[lane],
                            .size = a->bytes,
                            .has_other = true,
                            .under_way = x->sums      ? UNDER_WAY_SUMS
                                         : x->product ? UNDER_WAY_PRODUCT
                                         : x->source  ? x->global ? UNDER_WAY_LOAD : UNDER_WAY_SOURCE
                                         : x->global  ? UNDER_WAY_STORE
                                                      : UNDER_WAY_BULK,
                            .first = simt_party_of(a->check, a->block, x->me),
                            .other = simt_party_of(a->check, a->block, a->me + ((record)lane << THREAD_AT))};
    r.first.access = x->source ? ACCESS_READ : ACCESS_WRITE;
    if (x->sums)
        r.symbol = "tensor memory", r.bytes = 4 * TENSOR_COLUMNS;
    else
        simt_check_name(a->check, &r);
    simt_check_report(a->check, &r);
}

uint32_t simt_bulk_meet(const struct access *a, uint32_t m, bool shared)
{
    const struct block *b = a->block;
    const struct bulks *c = b->bulks;
    uint32_t met = 0;
    if (!c || !c->count) return 0;
    EACH_LANE(l, m) for (size_t k = 0; k < c->count && !(met >> l & 1); k++)
    {
        const struct bulk *x = &c->items[k];
        if (!shared && (a->at[l] >= b->moving.high || a->at[l] + a->bytes <= b->moving.low)) break;
        if (x->global == shared || x->sums || !overlaps(x, a->at[l], a->bytes) || (x->source && a->kind == ACCESS_READ))
            continue;
        if (x->reduces && a->kind == ACCESS_ATOMIC) continue;
        unsigned warp = (unsigned)a->warp->index;
        if (!simt_check_ordered(b, x->me, warp, l, 0)) continue; /* a race like others: check_race.c */
        if (simt_bulks_knows(b, x, b, warp, l)) continue;
        simt_bulks_report(a, l, x);
        met |= 1u << l;
    }
    return met;
}
