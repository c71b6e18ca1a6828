/* Clusters: blocks that run beside each other, meet at a barrier of their own, and reach into each other's shared
 * memory. An address there has the other block's rank above the offset (CLUSTER_SHIFT), in all windows alike; where a
 * cluster is one block, there is nothing to tell apart, and addresses stay as they are. */
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/tally.h"

/* ---- the barrier ---- */
static uint32_t threads_left(const struct cluster *c)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < c->size; r++) {
        const struct worker *k = c->members[r];
        if (!k->ended) n += k->quick ? k->quick_left * SIMT_WARP : k->live;
    }
    return n;
}

static void let_go(struct warp *w)
{
    w->met_cluster |= w->at_cluster;
    w->at_cluster = 0;
    for (uint32_t n = 0; n < w->split_count; n++) {
        struct split *s = &w->splits[n];
        if (s->state != SPLIT_BARRIER || s->barrier != CLUSTER_BARRIER) continue;
        w->met_cluster &= ~s->mask;
        s->state = SPLIT_RUN;
        s->pc++;
    }
}

/* Lets all go on when all have arrived. */
static void check_barrier(struct cluster *c)
{
    if (!c->arrived || c->arrived < threads_left(c)) return;
    for (uint32_t r = 0; r < c->size; r++) {
        struct worker *k = c->members[r];
        if (!k->ended && k->observer && k->observer->barrier) k->observer->barrier(k->observer, k, CLUSTER_BARRIER);
    }
    for (uint32_t r = 0; r < c->size; r++) {
        struct worker *k = c->members[r];
        for (uint32_t j = 0; j < k->warp_count && !k->ended && !k->quick; j++) let_go(&k->warps[j]);
    }
    c->arrived = 0;
    c->phase++;
}

void simt_cluster_left(struct worker *k, struct warp *w, uint32_t m)
{
    struct cluster *c = k->cluster;
    if (w) {
        c->arrived -= lane_count(w->at_cluster & m); /* they arrived and ended without waiting */
        w->at_cluster &= ~m;
    }
    check_barrier(c);
}

enum event simt_op_cluster_arrive(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    struct worker *k = w->worker;
    uint32_t twice = m & (w->at_cluster | w->met_cluster);
    (void)R;
    (void)i;
    if (twice)
        return simt_fault_set(w, __builtin_ctz(twice), SIMT_FAULT_BARRIER,
                              "a thread arrives twice at the barrier of its cluster without waiting there between");
    simt_tally_settle(k);
    w->at_cluster |= m;
    w->splits[w->current].pc = w->pc + 1;
    k->cluster->arrived += lane_count(m);
    check_barrier(k->cluster);
    return EV_SCHEDULE;
}

enum event simt_op_cluster_wait(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    struct split *s = &w->splits[w->current];
    uint32_t waits = m & w->at_cluster, lost = m & ~(w->at_cluster | w->met_cluster);
    (void)R;
    (void)i;
    if (lost)
        return simt_fault_set(w, __builtin_ctz(lost), SIMT_FAULT_BARRIER,
                              "a thread waits at the barrier of its cluster and has not arrived there");
    w->met_cluster &= ~(m & ~waits);
    if (!waits) return EV_NEXT;
    if (waits != s->mask) simt_fork(w, waits, w->pc + 1, SPLIT_RUN);
    s->pc = w->pc;
    s->state = SPLIT_BARRIER;
    s->barrier = CLUSTER_BARRIER;
    return EV_SCHEDULE;
}

/* ---- addresses ---- */
struct worker *simt_cluster_owner(const struct worker *k, uint64_t *address)
{
    const struct cluster *c = k->cluster;
    uint64_t rank = *address >> CLUSTER_SHIFT;
    if (c->size == 1 || !rank) return c->members[k->rank];
    if (rank > c->size) return NULL;
    *address &= (1u << CLUSTER_SHIFT) - 1;
    return c->members[rank - 1];
}

enum event simt_op_map_shared(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct worker *k = w->worker;
    uint32_t size = k->cluster->size;
    EACH_LANE(l, m)
    {
        uint32_t rank = u32_at(R, i->b)[l];
        uint64_t a = i->size == 8 ? u64_at(R, i->a)[l] : u32_at(R, i->a)[l];
        if (rank >= size)
            return simt_fault_set(w, (int)l, SIMT_FAULT_ADDRESS,
                                  "shared memory of block %u of the cluster, which has %u block%s; "
                                  "a launch says how many it has",
                                  rank, size, size == 1 ? "" : "s, numbered from 0");
        if (size > 1) a = (a & ~(UINT64_C(0xff) << CLUSTER_SHIFT)) | (uint64_t)(rank + 1) << CLUSTER_SHIFT;
        if (i->size == 8)
            u64_at(R, i->d)[l] = a;
        else
            u32_at(R, i->d)[l] = (uint32_t)a;
    }
    return EV_NEXT;
}

enum event simt_op_rank_of_shared(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct worker *k = w->worker;
    EACH_LANE(l, m)
    {
        uint64_t a = i->size == 8 ? (uint32_t)u64_at(R, i->a)[l] : u32_at(R, i->a)[l];
        const struct worker *owner = simt_cluster_owner(k, &a);
        u32_at(R, i->d)[l] = owner ? owner->rank : k->rank;
    }
    return EV_NEXT;
}

enum event simt_op_explicit_cluster(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    uint32_t *d = u32_at(R, i->d);
    *d = (*d & ~m) | (w->worker->run->launch->cluster[0] ? m : 0);
    return EV_NEXT;
}

/* ---- running ---- */
/* A member cannot go on: its fault is told as the cluster's. */
static void take_fault(struct worker *first, struct worker *k)
{
    k->ended = true;
    if (k != first) first->fault = k->fault;
}

static void abandon(struct worker *first)
{
    for (uint32_t r = 0; r < first->cluster->size; r++) {
        struct worker *k = first->cluster->members[r];
        if (!k->ended) simt_block_abandon(k);
        k->ended = true;
    }
}

void simt_cluster_abandon(struct worker *first)
{
    abandon(first);
}

bool simt_cluster_start(struct worker *first)
{
    struct cluster *c = first->cluster;
    c->arrived = 0;
    for (uint32_t r = 0; r < c->size; r++) c->members[r]->ended = true;
    for (uint32_t r = 0; r < c->size; r++) {
        struct worker *k = c->members[r];
        k->ended = false;
        if (simt_block_start(k)) continue;
        take_fault(first, k);
        abandon(first);
        return false;
    }
    return true;
}

static void end_member(struct worker *k)
{
    k->ended = true;
    simt_cluster_left(k, NULL, 0);
}

/* All blocks that are left wait, and nobody will come. */
enum block_outcome simt_cluster_give_up(struct worker *first)
{
    struct cluster *c = first->cluster;
    enum block_outcome outcome = BLOCK_DONE;
    for (uint32_t r = 0; r < c->size && outcome == BLOCK_DONE; r++) {
        struct worker *k = c->members[r];
        if (k->ended) continue;
        outcome = simt_block_deadlock(k);
        take_fault(first, k);
    }
    abandon(first);
    return outcome;
}

enum block_outcome simt_cluster_run(struct worker *first)
{
    struct cluster *c = first->cluster;
    for (;;) {
        uint64_t phase = c->phase;
        bool waits = false, moved = false, stuck = false;
        for (uint32_t r = 0; r < c->size; r++) {
            struct worker *k = c->members[r];
            if (k->ended) continue;
            enum block_outcome outcome = simt_block_run(k);
            simt_tally_settle(k);
            if (outcome == BLOCK_STOPPED) {
                take_fault(first, k);
                abandon(first);
                return outcome;
            }
            moved |= outcome == BLOCK_DONE;
            waits |= outcome == BLOCK_WAITS;
            stuck |= outcome == BLOCK_STUCK;
            if (outcome == BLOCK_DONE) end_member(k);
        }
        if (waits) return BLOCK_WAITS;
        if (!stuck) return BLOCK_DONE;
        if (!moved && c->phase == phase) return simt_cluster_give_up(first);
    }
}
