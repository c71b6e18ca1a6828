/* Clusters: blocks that touch each other's shared memory. Of each cell there it is kept who touched it last, of the
 * block itself and of others; the barrier of the cluster orders what is done before it, and so do releases. A block's
 * memory is there from when it is known to have started, by that barrier, until it ends. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_order.h"

enum { OWN_WRITE, FAR_WRITE, OWN_READ, FAR_READ, TOUCHES };
struct reach { /* into a block's shared memory */
    unsigned log;
    uint32_t cells;
    record (*last)[TOUCHES]; /* by cell; NULL in kernels that never reach into other blocks */
    struct touch {           /* the last one of each other block */
        record who;
        uint64_t at;
        uint32_t bytes;
    } by[MAX_CLUSTER];
    uint32_t met[MAX_CLUSTER]; /* when each block of the cluster came to its barrier last, in that block's time */
};

static struct block *member(const struct block *b, uint32_t rank)
{
    return b->worker->cluster->members[rank]->observed;
}

/* ---- of a block ---- */
bool simt_reach_start(struct block *b)
{
    const struct worker *k = b->worker;
    struct reach *r = b->reach;
    if (k->cluster->size == 1) return true;
    if (!r) {
        r = b->reach = rt_calloc(1, sizeof *r);
        if (!r) return false;
        r->log = b->check->narrow ? 0 : 2;
        r->cells = (k->shared_bytes >> r->log) + 1;
    }
    if (k->program->maps_shared && !r->last)
        r->last = rt_calloc(r->cells, sizeof *r->last);
    else if (r->last)
        memset(r->last, 0, r->cells * sizeof *r->last);
    if (k->program->maps_shared && !r->last) return false;
    memset(r->by, 0, sizeof r->by);
    memset(r->met, 0, sizeof r->met);
    return true;
}

void simt_reach_free(struct block *b)
{
    if (b->reach) free(b->reach->last);
    free(b->reach);
}

bool simt_reach_kept(const struct block *b)
{
    return b->reach && b->reach->last;
}

void simt_reach_met(struct block *b)
{
    const struct cluster *c = b->worker->cluster;
    for (uint32_t rank = 0; rank < c->size && b->reach; rank++) {
        struct block *o = member(b, rank);
        if (c->members[rank]->ended)
            b->reach->met[rank] = LAST_TIME;
        else
            o->reach->met[b->worker->rank] = b->met;
        if (o != b && !c->members[rank]->ended) simt_order_pass(b, o);
    }
    b->meets_partly = true;
}

void simt_reach_seen(const struct block *b, struct seen_set **to)
{
    uint64_t items[MAX_CLUSTER];
    size_t n = 0;
    for (uint32_t rank = 0; rank < b->worker->cluster->size; rank++)
        if (b->reach->met[rank])
            items[n++] = seen_item(record_block(member(b, rank)->id), SEEN_BLOCK, 0, b->reach->met[rank]);
    simt_seen_add(b->check, to, items, simt_items_sort(items, n));
}

void simt_reach_times(const struct block *b, uint32_t *met)
{
    for (uint32_t rank = 0; b->reach && rank < b->worker->cluster->size; rank++)
        if (met[rank] < b->reach->met[rank]) met[rank] = b->reach->met[rank];
}

bool simt_reach_ordered(const struct block *b, record r)
{
    for (uint32_t rank = 0; b->reach && rank < b->worker->cluster->size; rank++) {
        const struct block *o = member(b, rank);
        if (record_block(r) == record_block(o->id)) return record_time(r) < b->reach->met[rank];
    }
    return false;
}

/* ---- reports ---- */
static void report_race(const struct access *a, record me, record other)
{
    struct simt_report r = {.kind = CHECK_RACE,
                            .space = PTX_SHARED,
                            .in_cluster = true,
                            .address = a->at[record_thread(me) % SIMT_WARP],
                            .size = a->bytes,
                            .has_other = true,
                            .first = simt_party_of(a->check, a->block, me),
                            .other = simt_party_of(a->check, a->block, other)};
    simt_tell_copy(a->check, &r, me, other, true);
    simt_check_name(a->check, &r);
    simt_check_report(a->check, &r);
}

/* The access was, or may have been, of a block that is not there: it has ended, or it may not have started. */
static void report_absent(const struct block *b, const struct touch *t, const struct block *ended)
{
    struct simt_report r = {.kind = CHECK_ABSENT,
                            .space = PTX_SHARED,
                            .in_cluster = true,
                            .address = t->at,
                            .size = t->bytes,
                            .has_other = ended != NULL,
                            .exited = ended != NULL,
                            .first = simt_party_of(b->check, b, t->who)};
    if (ended) r.other = simt_party_at(&ended->worker->warps[0], ended->exit_pc[0], 0, ACCESS_NONE);
    simt_check_name(b->check, &r);
    simt_check_report(b->check, &r);
}

/* ---- accesses ---- */
static bool gone(const struct access *a, unsigned lane, record r, uint64_t spot)
{
    return !r || simt_check_ordered(a->block, r, (unsigned)a->warp->index, lane, spot);
}

static bool is_excused(const struct access *a, record r)
{
    return a->site->strong && a->check->sites[record_site(r)].strong;
}

/* One cell of `owner`, or of the own block. */
static void touch_cell(const struct access *a, unsigned lane, record me, const struct block *owner, uint32_t cell)
{
    record *last = owner->reach->last[cell];
    bool own = owner == a->block, reads = a->kind == ACCESS_READ;
    uint64_t spot = simt_order_spot(owner, (uint64_t)cell << owner->reach->log);
    for (int k = 0; k < TOUCHES; k++) {
        bool write = k == OWN_WRITE || k == FAR_WRITE;
        if ((own && (k == OWN_WRITE || k == OWN_READ)) || (reads && !write)) continue; /* the first: seen elsewhere */
        if (gone(a, lane, last[k], spot) || is_excused(a, last[k])) continue;
        if (write && simt_race_same_value(a, lane, me, last[k], owner->worker->shared + a->at[lane])) continue;
        report_race(a, me, last[k]);
    }
    if (!reads) last[own ? OWN_WRITE : FAR_WRITE] = me;
    if (a->kind != ACCESS_WRITE) last[own ? OWN_READ : FAR_READ] = me;
}

bool simt_reach_written(const struct block *b, uint64_t at, uint32_t bytes)
{
    const struct reach *r = b->reach;
    if (!r || !r->last) return false;
    for (uint64_t cell = at >> r->log; cell <= (at + bytes - 1) >> r->log; cell++)
        if (!r->last[cell][OWN_WRITE] && !r->last[cell][FAR_WRITE]) return false;
    return true;
}

static void report_unwritten(const struct access *a, record me, uint64_t at)
{
    struct simt_report r = {.kind = CHECK_UNWRITTEN,
                            .space = PTX_SHARED,
                            .in_cluster = true,
                            .address = at,
                            .size = a->bytes,
                            .first = simt_party_of(a->check, a->block, me)};
    simt_check_name(a->check, &r);
    if (!r.symbol && r.address < RESERVED_SHARED) return; /* cooperative groups' own, which begins as zeros */
    simt_check_report(a->check, &r);
}

/* In another block's memory. Of touches since the block met others the lowest thread's is the last one, whatever ran
 * first. */
static void reach_lane(const struct access *a, record me, const struct block *owner)
{
    struct touch *by = &owner->reach->by[a->block->worker->rank];
    uint64_t at = a->at[record_thread(me) % SIMT_WARP];
    const struct touch now = {me, at, a->bytes};
    if (!a->block->reach->met[owner->worker->rank]) report_absent(a->block, &now, NULL);
    if (record_time(me) > record_time(by->who) || record_thread(me) <= record_thread(by->who)) *by = now;
    if (a->kind == ACCESS_READ && !a->check->untracked && !simt_reach_written(owner, at, a->bytes))
        report_unwritten(a, me, at);
}

void simt_reach_touch(const struct access *a, uint32_t m, struct worker *const *owners)
{
    a->block->judged = 0;
    EACH_LANE(l, m)
    {
        const struct block *owner = owners[l]->observed;
        record me = a->me + ((record)l << THREAD_AT);
        if (!simt_reach_kept(owner)) continue;
        unsigned log = owner->reach->log;
        if (owner != a->block) reach_lane(a, me, owner);
        for (uint64_t cell = a->at[l] >> log; cell <= (a->at[l] + a->bytes - 1) >> log; cell++)
            touch_cell(a, l, me, owner, (uint32_t)cell);
        a->block->judged |= 1u << l;
    }
}

uint32_t simt_reach_owners(struct access *a, uint32_t m, struct worker **owners)
{
    struct worker *own = a->block->worker;
    uint32_t far = 0;
    EACH_LANE(l, m)
    {
        uint64_t at = a->at[l];
        owners[l] = simt_cluster_owner(own, &at);
        if (owners[l]) a->at[l] = at;
        if (!owners[l]) owners[l] = own; /* beyond all of them */
        far |= (uint32_t)(owners[l] != own) << l;
    }
    return far;
}

/* ---- the end of a block ---- */
static bool is_known(const struct block *b, record r)
{
    for (unsigned w = 0; w < b->worker->warp_count; w++)
        for (unsigned lane = 0; lane < SIMT_WARP; lane++)
            if (simt_check_ordered(b, r, w, lane, 0)) return true;
    return false;
}

/* Who touched the block's memory and may have done so behind its end. */
static void look_back(const struct block *b)
{
    for (uint32_t rank = 0; rank < b->worker->cluster->size; rank++) {
        const struct touch *by = &b->reach->by[rank];
        if (by->who && !is_known(b, by->who)) report_absent(member(b, rank), by, b);
    }
}

void simt_reach_end(const struct block *b)
{
    const struct cluster *c = b->worker->cluster;
    for (uint32_t rank = 0; rank < c->size; rank++)
        if (rank != b->worker->rank && !c->members[rank]->ended) return; /* the last one looks */
    for (uint32_t rank = 0; rank < c->size && b->reach; rank++) look_back(member(b, rank));
}
