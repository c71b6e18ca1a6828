/* Lanes that have left a loop wait at its end for those that are still in it, which may be waiting for what other warps
 * will do: they go on together, as on a GPU, and a reduction of the warp behind the loop finds them all. Those in the
 * loop may also wait for what these lanes will do, as for a lock that one of them has. Then they go on alone: once
 * nothing has changed in any block that is resident, or in this warp for so long that others may be computing without
 * end. From then on lanes of that launch leave such loops first, so that a lock goes from lane to lane. */
#include "runtime/host.h"
#include "runtime/simt/exec.h"

#define SLICES_ALIKE       64                   /* of a warp in a row: the time is looked at */
#define LONG_ALIKE         INT64_C(1000000000)  /* nanoseconds */
#define LONG_ALIKE_WATCHED INT64_C(10000000000) /* of launches that are checked, which go on as much slower */
#define STUCK_TIMES        8                    /* the same, and lanes went apart where they may */
#define VAIN_TIMES         2  /* that a block is put aside in vain: it has looked behind the last change */
#define LONGEST_WAIT       64 /* instructions of a loop that waits */

static void go_apart(struct run *r)
{
    atomic_store_explicit(&r->apart, true, memory_order_relaxed);
}

/* ---- warps ---- */
void simt_slice_ends(struct warp *w)
{
    bool alike = w->alike.mask == w->mask && w->alike.splits == w->split_count;
    w->sliced = true;
    w->alike.vain = alike && w->looked > w->slice / 2;
    w->alike.slices = alike ? w->alike.slices + 1 : 0;
    w->alike.mask = w->mask;
    w->alike.splits = w->split_count;
    if (w->split_count == 1 || !w->alike.slices || w->alike.slices % SLICES_ALIKE) return;
    int64_t now = rt_now_ns(), most = w->worker->observer ? LONG_ALIKE_WATCHED : LONG_ALIKE;
    if (w->alike.slices == SLICES_ALIKE)
        w->alike.since = now;
    else if (now - w->alike.since > most)
        go_apart(w->worker->run);
}

/* Does the loop that ends with this branch look at what other threads may change? */
static bool may_wait(const struct warp *w, const struct insn *i)
{
    bool looks = false;
    uint32_t end = w->pc - i->target < LONGEST_WAIT ? w->pc : i->target + LONGEST_WAIT;
    for (const struct insn *k = &w->code[i->target]; k < &w->code[end] && !looks; k++)
        looks = k->memory == MEMORY_ATOMIC || (k->memory == MEMORY_LOAD && k->flags & F_SPIN);
    return looks;
}

void simt_leave_first(struct warp *w, const struct insn *i)
{
    if (!may_wait(w, i)) return;
    w->current = w->split_count - 1;
    w->forced = true;
}

/* ---- blocks ---- */
/* With the lock held. */
static void note_change(struct run *r)
{
    r->changes++;
    r->at_grid = 0;
    atomic_store_explicit(&r->in_vain, 0, memory_order_relaxed);
}

/* Did the block's threads that have not ended do nothing in their last slices but wait at the grid's barrier? */
static bool waits_for_grid(const struct worker *k)
{
    for (uint32_t j = 0; j < k->warp_count; j++) {
        const struct warp *w = &k->warps[j];
        bool looks = w->alike.vain && !w->elsewhere;
        for (uint32_t n = 0; w->alive && n < w->split_count; n++)
            if (w->splits[n].mask && w->splits[n].state == SPLIT_RUN && !looks) return false;
    }
    return true;
}

static bool all_wait_for_grid(const struct worker *k)
{
    bool all = k->run->launch->cooperative;
    for (uint32_t rank = 0; all && rank < k->own.size; rank++) all = waits_for_grid(k->own.members[rank]);
    return all;
}

/* All blocks that have not ended wait at the barrier of the grid, and nothing has changed in any: the others have
 * ended, and whoever waits does so forever, as on a GPU. */
void simt_report_stuck(struct warp *w)
{
    struct run *r = w->worker->run;
    const unsigned *grid = r->launch->grid;
    simt_fault_set(w, __builtin_ctz(w->mask ? w->mask : 1), SIMT_FAULT_DEADLOCK,
                   "deadlock: %d of the grid's %llu blocks wait here for the others, which have ended: all threads of "
                   "a grid must come to its barrier, equally often",
                   atomic_load_explicit(&r->stuck, memory_order_relaxed) * (int)w->worker->own.size,
                   (unsigned long long)grid[0] * grid[1] * grid[2]);
}

/* Has anything changed in a block since it was put aside last? Where nothing has in any, lanes wait for others of their
 * warp, or all that are left for the grid. */
void simt_note_changes(struct worker *k)
{
    struct run *r = k->run;
    bool changed = false;
    for (uint32_t rank = 0; rank < k->own.size; rank++) {
        changed |= k->own.members[rank]->changed;
        k->own.members[rank]->changed = false;
    }
    if (changed) {
        note_change(r);
        return;
    }
    if (k->vain_since != r->changes) k->vain_rounds = 0;
    k->vain_since = r->changes;
    const int resident = r->worker_count - r->idle_count;
    k->vain_rounds++;
    if (k->vain_rounds == VAIN_TIMES && 1 + atomic_fetch_add_explicit(&r->in_vain, 1, memory_order_relaxed) == resident)
        go_apart(r);
    if (k->vain_rounds != STUCK_TIMES || !all_wait_for_grid(k)) return;
    bool none_left = r->left.next == r->left.end && !r->returned_count;
    if (++r->at_grid == resident && none_left) atomic_store_explicit(&r->stuck, resident, memory_order_relaxed);
}

void simt_note_end(struct run *r)
{
    if (!atomic_load_explicit(&r->in_vain, memory_order_relaxed)) return;
    pthread_mutex_lock(r->lock);
    note_change(r);
    pthread_mutex_unlock(r->lock);
}
