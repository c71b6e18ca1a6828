/* Barriers, branches, and the end of threads. */
#include <string.h>
#include "runtime/simt/exec.h"
#include "runtime/simt/tally.h"

/* ---- barriers ---- */
bool simt_barrier_complete(const struct worker *k, const struct barrier *b)
{
    if (!b->total) return false;
    if (!b->expected) return b->total >= k->live;
    uint32_t n = 0; /* whole warps arrive: lanes that exited or never were count with theirs */
    for (uint32_t i = 0; i < k->warp_count; i++)
        if (b->arrived[i]) n += (uint32_t)__builtin_popcount(b->arrived[i] | ~k->warps[i].alive);
    return n >= b->expected;
}

static void deliver(const struct insn *i, const struct split *s, const struct barrier *b)
{
    uint32_t *d = u32_at(s->frame->regs, i->d);
    if (i->mode == BARRIER_POPC) {
        EACH_LANE(l, s->mask) d[l] = b->count;
    } else if (i->mode == BARRIER_AND || i->mode == BARRIER_OR) {
        bool yes = i->mode == BARRIER_AND ? b->count == b->total : b->count > 0;
        *d = (*d & ~s->mask) | (yes ? s->mask : 0);
    }
}

static void barrier_release(struct worker *k, uint32_t id)
{
    struct barrier *b = &k->barriers[id];
    if (k->observer && k->observer->barrier) k->observer->barrier(k->observer, k, id);
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        for (uint32_t n = 0; n < w->split_count && b->arrived[j]; n++) {
            struct split *s = &w->splits[n];
            if (s->state != SPLIT_BARRIER || s->barrier != id) continue;
            deliver(&w->code[s->pc], s, b);
            s->state = SPLIT_RUN;
            s->pc++;
        }
    }
    memset(b, 0, sizeof *b);
    k->barriers_used &= ~(1u << id);
}

static void barriers_check(struct worker *k)
{
    EACH_LANE(id, k->barriers_used)
    if (simt_barrier_complete(k, &k->barriers[id])) barrier_release(k, id);
}

enum event simt_op_barrier(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    struct worker *k = w->worker;
    struct split *s = &w->splits[w->current];
    const uint32_t *ids = u32_at(R, i->a);
    int lane = __builtin_ctz(m);
    uint32_t id = ids[lane], here = 0, expected = i->b ? u32_at(R, i->b)[lane] : 0;
    if (i->flags & F_UNIFORM)
        here = m;
    else
        EACH_LANE(l, m) here |= (uint32_t)(ids[l] == id) << l;
    if (id >= (i->size ? MAX_BARRIERS : USER_BARRIERS))
        return simt_fault_set(w, lane, SIMT_FAULT_BARRIER, "barrier %u, but there are only barriers 0 to %d", id,
                              USER_BARRIERS - 1);
    if (expected % SIMT_WARP)
        return simt_fault_set(w, lane, SIMT_FAULT_BARRIER,
                              "barrier %u waits for %u threads, which is no multiple of %d: warps arrive whole", id,
                              expected, SIMT_WARP);
    struct barrier *b = &k->barriers[id];
    if (b->arrived[w->index] & here)
        return simt_fault_set(w, lane, SIMT_FAULT_BARRIER, "a thread arrives twice at barrier %u before the others",
                              id);
    if (here != m) simt_fork(w, s->mask & ~(m & ~here), w->pc, SPLIT_RUN); /* other barriers: again, for them */
    bool waits = i->mode != BARRIER_ARRIVE;
    if (waits && here != s->mask) simt_fork(w, here, w->pc + 1, SPLIT_RUN);
    k->barriers_used |= 1u << id;
    b->arrived[w->index] |= here;
    b->total += lane_count(here);
    b->count += lane_count(here & *u32_at(R, i->c));
    if (expected) b->expected = expected;
    s->pc = waits ? w->pc : w->pc + 1;
    s->state = waits ? SPLIT_BARRIER : SPLIT_RUN;
    s->barrier = id;
    if (simt_barrier_complete(k, b)) barrier_release(k, id);
    return EV_SCHEDULE;
}

/* ---- branches ---- */
enum event simt_op_bra(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)R;
    if (m == w->mask) return EV_TAKE;
    simt_fork(w, m, w->pc + 1, SPLIT_RUN);
    w->splits[w->current].pc = i->target;
    if (i->target > w->pc) return EV_SCHEDULE;
    w->budget--;
    if (simt_goes_apart(w->worker->run)) simt_leave_first(w, i);
    return EV_SCHEDULE;
}

enum event simt_op_brx(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct branch_table *t = &w->worker->program->tables[i->extra];
    const uint32_t *index = u32_at(R, i->a);
    int first = __builtin_ctz(m);
    uint32_t to = index[first], here = 0, all = w->mask;
    if (to >= t->count)
        return simt_fault_set(w, first, SIMT_FAULT_TRAP, "a branch to entry %u of a table of %u", to, t->count);
    EACH_LANE(l, m) here |= (uint32_t)(index[l] == to) << l;
    if (m != all) simt_fork(w, m, w->pc + 1, SPLIT_RUN);
    if (here != m) simt_fork(w, here, w->pc, SPLIT_RUN); /* the others come here again */
    w->splits[w->current].pc = t->targets[to];
    w->budget--;
    return EV_SCHEDULE;
}

enum event simt_op_exit(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)R;
    (void)i;
    struct split *s = &w->splits[w->current];
    s->mask &= ~m;
    s->pc = w->pc + 1;
    w->alive &= ~m;
    w->worker->live -= lane_count(m);
    for (struct frame *f = s->frame; f; f = f->parent) f->lanes &= ~m;
    for (uint32_t k = 0; k < w->split_count; k++) /* those who wait for the lanes that went */
        if (w->splits[k].state == SPLIT_SYNC) w->splits[k].state = SPLIT_RUN;
    if (w->worker->live) barriers_check(w->worker);
    if (w->worker->cluster->arrived) simt_cluster_left(w->worker, w, m);
    return EV_SCHEDULE;
}

/* Did the compiler put it there for an atomic on a local variable, which no GPU has? The atomic follows, unless all
 * that it left of the kernel is the trap. */
static bool is_local_atomic(const struct function *f, const struct insn *i, const struct insn *code)
{
    const uint32_t pc = (uint32_t)(i - code);
    if (i->mode == TRAP_NOWHERE) return f->is_entry && pc == f->start && f->end - f->start <= 2;
    return i->mode == TRAP_OF_COMPILER && pc + 1 < f->end && i[1].memory == MEMORY_ATOMIC;
}

/* CUDA's barrier of a grid traps where there is no workspace for it. A trap that the compiler put there else stands for
 * an access through a pointer that it saw to be null, or never set. */
enum event simt_op_trap(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    const struct worker *k = w->worker;
    const int lane = __builtin_ctz(m);
    bool grid = k->program->asks_for_workspace && !k->run->launch->cooperative;
    (void)R;
    if (!grid && is_local_atomic(w->frame->function, i, k->program->code))
        return simt_fault_set(w, lane, SIMT_FAULT_TRAP, "trap: " SIMT_OWN_ATOMIC);
    if (i->mode == TRAP_OF_COMPILER && !grid) {
        enum event event = simt_fault_set(w, lane, SIMT_FAULT_TRAP, "trap: access through a null pointer");
        w->worker->fault.null = true;
        return event;
    }
    return simt_fault_set(
        w, lane, SIMT_FAULT_TRAP, "trap%s",
        grid ? ": the barrier of a grid needs a cooperative launch: cudaLaunchCooperativeKernel, or k(grid, block, "
               "{cooperative = true})(...)"
             : "");
}

enum event simt_op_nop(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)R;
    (void)i;
    (void)m;
    (void)w;
    return EV_NEXT;
}

/* membar and fence: what loops that wait with plain loads have in them. */
enum event simt_op_fence(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)R;
    (void)i;
    (void)m;
    simt_tally_settle(w->worker);
    atomic_thread_fence(memory_order_seq_cst);
    simt_waits(w, SPIN_COST);
    return EV_NEXT;
}

/* nanosleep: whoever sleeps waits for someone. */
enum event simt_op_yield(char *R, const struct insn *i, uint32_t m, struct warp *w)
{
    (void)R;
    (void)i;
    (void)m;
    simt_waits(w, WAIT_COST);
    return EV_NEXT;
}
