/* Warps and blocks: which lanes run next, where they part and meet, barriers, calls, and the end of it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "runtime/simt/exec.h"
#include "runtime/simt/jit.h"
#include "runtime/simt/tally.h"
#include "runtime/simt/tcgen05.h"

/* ---- faults ---- */
enum event simt_fault_set(struct warp *w, int lane, enum simt_fault_kind kind, const char *format, ...)
{
    struct worker *k = w->worker;
    const struct simt_program *p = k->program;
    const struct place *at = &p->places[w->pc];
    struct simt_fault *f = &k->fault;
    memset(f, 0, sizeof *f);
    f->kind = kind;
    snprintf(f->kernel, sizeof f->kernel, "%s", k->run->entry->name);
    if (at->file > 0 && (size_t)at->file < p->file_count && p->files[at->file]) {
        snprintf(f->file, sizeof f->file, "%s", p->files[at->file]);
        f->line = at->line;
        f->column = at->column;
    }
    for (int d = 0; d < 3; d++) {
        f->block[d] = k->block[d];
        f->thread[d] = w->tid[d][lane];
    }
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return EV_FAULT;
}

/* ---- splits ---- */
void simt_fork(struct warp *w, uint32_t m, uint32_t pc, enum split_state state)
{
    struct split *s = &w->splits[w->current], *n = &w->splits[w->split_count++];
    *n = *s;
    n->mask = s->mask & ~m;
    n->pc = pc;
    n->state = state;
    s->mask &= m;
}

/* Splits that stand at the same place become one, which has waited as long as the one of them that waited longer. */
static void merge_splits(struct warp *w)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < w->split_count; k++) {
        struct split s = w->splits[k];
        if (!s.mask) continue;
        uint32_t j = 0;
        while (j < n && (w->splits[j].pc != s.pc || w->splits[j].frame != s.frame || s.state == SPLIT_BARRIER ||
                         w->splits[j].state == SPLIT_BARRIER))
            j++;
        if (j == n) {
            w->splits[n++] = s;
        } else {
            w->splits[j].mask |= s.mask;
            w->splits[j].state = SPLIT_RUN;
            if (s.stamp < w->splits[j].stamp) w->splits[j].stamp = s.stamp;
        }
    }
    w->split_count = n;
}

static bool runs_before(const struct split *a, const struct split *b)
{
    if (a->frame->depth != b->frame->depth) return a->frame->depth > b->frame->depth;
    return a->pc < b->pc;
}

/* The next split to run. `fair` takes the one that waited longest and lets it run out of order. */
static int pick(struct warp *w, bool fair)
{
    int best = -1;
    for (uint32_t k = 0; k < w->split_count; k++) {
        const struct split *s = &w->splits[k];
        if (s->state != SPLIT_RUN) continue;
        if (best < 0 || (fair ? s->stamp < w->splits[best].stamp : runs_before(s, &w->splits[best]))) best = (int)k;
    }
    return best;
}

static void enter(struct warp *w, uint32_t k)
{
    struct split *s = &w->splits[k];
    w->current = k;
    w->mask = s->mask;
    w->frame = s->frame;
    w->local_base = s->frame->local_base;
    s->stamp = ++w->clock;
    w->stop = UINT32_MAX;
    for (uint32_t j = 0; j < w->split_count; j++) {
        const struct split *o = &w->splits[j];
        if (o->frame == s->frame && o->pc > s->pc && o->pc < w->stop && o->state != SPLIT_BARRIER) w->stop = o->pc;
    }
}

/* Chooses the split to run. False when none can. */
static bool choose(struct warp *w, bool fair)
{
    if (w->split_count == 1 && w->splits[0].state == SPLIT_RUN && w->splits[0].mask) {
        w->forced = false;
        enter(w, 0);
        return true;
    }
    uint32_t mask = w->splits[w->current].mask, lane = mask ? (uint32_t)__builtin_ctz(mask) : 0;
    merge_splits(w);
    if (w->forced && !fair)
        for (uint32_t k = 0; k < w->split_count; k++)
            if (w->splits[k].mask >> lane & 1 && w->splits[k].mask == mask && w->splits[k].state == SPLIT_RUN) {
                enter(w, k);
                return true;
            }
    if (fair && simt_sync_release(w)) merge_splits(w);
    int k = pick(w, fair);
    if (k < 0 && simt_sync_release(w)) {
        merge_splits(w);
        k = pick(w, fair);
    }
    if (k < 0 && simt_frames_join(w)) {
        merge_splits(w);
        k = pick(w, fair);
    }
    if (k < 0) {
        w->current = 0;
        w->forced = false;
        return false;
    }
    w->forced = fair && w->split_count > 1;
    enter(w, (uint32_t)k);
    return true;
}

/* ---- running ---- */
enum outcome { WARP_DONE, WARP_BLOCKED, WARP_SLICE, WARP_FAULT };

/* At the end of a slice: is there a reason to stop? */
static bool may_go_on(struct warp *w)
{
    struct worker *k = w->worker;
    if (rt_interrupted()) {
        simt_fault_set(w, __builtin_ctz(w->mask ? w->mask : 1), SIMT_FAULT_INTERRUPTED, "interrupted");
        return false;
    }
    if (atomic_load_explicit(&k->run->stuck, memory_order_relaxed)) {
        simt_report_stuck(w);
        return false;
    }
    return atomic_load_explicit(&k->run->fault_block, memory_order_relaxed) >= k->turn_index;
}

#define MISFITS 16 /* after so many the warp stays in the interpreter for the rest of the block */

/* Runs generated code from where the split stands, if there is some and all lanes are there. EV_NEXT: the interpreter
 * goes on; EV_TAKE: the slice is over. */
static enum event run_generated(struct warp *w, struct split *s)
{
    const struct jit_code *code = w->jit;
    const void *at = w->resume;
    w->resume = NULL;
    if (!at && !(at = simt_jit_entry(code, s->frame, s->pc))) {
        w->misfits += !w->midway;
        return EV_NEXT;
    }
    w->midway = false;
    switch (simt_jit_run(code, w, s->frame->regs, at)) {
    case JIT_LEFT: s->pc = w->pc; return EV_NEXT;
    case JIT_SLICE: s->pc = w->pc; return EV_TAKE;
    case JIT_PARTED: simt_jit_part_splits(code, w); return EV_SCHEDULE;
    case JIT_SCHEDULE: return EV_SCHEDULE;
    case JIT_EXIT: simt_jit_exits(w); return simt_op_exit(s->frame->regs, NULL, FULL, w);
    case JIT_BARRIER: return simt_op_barrier(s->frame->regs, &w->code[w->pc], FULL, w);
    case JIT_FAULT: break;
    }
    return EV_FAULT;
}

/* Does the split that waited longest go on? */
static bool is_fair(struct warp *w)
{
    bool fair = w->sliced && (w->split_count == 1 || simt_goes_apart(w->worker->run));
    w->sliced = false;
    return fair;
}

/* Who has what others look for, and all warps of the launch, should get to where it gives that back. */
static bool may_overdraw(const struct warp *w)
{
    return w->forced && w->budget > -SHORT_SLICE && simt_goes_apart(w->worker->run);
}

#define GENERATED_APART (4 * SPIN_COST) /* of the budget */

/* Generated code keeps in their loop lanes that look for what others have, which wait at its end: these go on soon. */
static enum event run_generated_apart(struct warp *w, struct split *s)
{
    int kept = w->budget > GENERATED_APART ? w->budget - GENERATED_APART : 0;
    w->budget -= kept;
    enum event ev = run_generated(w, s);
    w->budget += kept;
    if (ev != EV_SCHEDULE || w->split_count == 1) return ev;
    int last = -1;
    for (uint32_t k = 0; k < w->split_count; k++)
        if (w->splits[k].state == SPLIT_RUN && (last < 0 || runs_before(&w->splits[last], &w->splits[k])))
            last = (int)k;
    if (last < 0) return ev;
    w->current = (uint32_t)last;
    w->forced = true;
    return ev;
}

static bool looks_at(const struct simt_observer *o, uint32_t pc)
{
    return !o->watch || o->watch[pc];
}

/* Runs a split instruction by instruction, from pc, to where it ends, waits or has used up its slice, and after
 * generated code to the next jump, where that may go on. Returns where it stands; *event is the last one's.
 * Compiled three times: `watched`, and else `repeats` (some lanes repeat others), are constants. */
static inline __attribute__((always_inline)) uint32_t interpret(struct warp *w, const struct split *s, uint32_t pc,
                                                                bool generated, enum event *event, bool watched,
                                                                bool repeats)
{
    struct simt_observer *observer = watched ? w->worker->observer : NULL;
    const struct insn *code = w->code;
    char *R = s->frame->regs;
    const uint32_t mask = s->mask, stop = w->stop;
    enum event ev = EV_SCHEDULE;
    while (pc < stop) {
        const struct insn *i = &code[pc];
        uint32_t m = mask & (*u32_at(R, i->guard) ^ i->guard_flip);
        if (!m) {
            if (watched && observer->skipped && looks_at(observer, pc)) {
                w->pc = pc;
                observer->skipped(observer, w, i);
            }
            pc++;
            continue;
        }
        w->pc = pc;
        if (watched && looks_at(observer, pc)) {
            ev = observer->before(observer, w, i, &m);
            if (ev == EV_FAULT) break;
            if (!m) {
                pc++;
                continue;
            }
        }
        ev = repeats && simt_runs_once(i) ? simt_run_once(R, i, m, w) : i->run(R, i, m, w);
        if (watched) simt_noted_is_done(w->worker);
        if (__builtin_expect(ev == EV_NEXT, 1)) {
            pc++;
            continue;
        }
        if (ev != EV_TAKE) break;
        const bool back = i->target <= pc;
        pc = i->target;
        w->budget -= back;
        if (watched && generated) w->midway = false;
        if (generated || (back && (w->budget <= 0 || w->forced))) break;
    }
    *event = ev;
    return pc;
}

/* Runs the warp's splits in turn. `watched` and `repeats` as above. */
static inline __attribute__((always_inline)) enum outcome run_splits(struct warp *w, bool watched, bool repeats)
{
    w->budget = w->slice = w->sliced && w->alike.vain ? SHORT_SLICE : SLICE;
    w->waited = w->looked = 0;
    w->elsewhere = false;
    if (!choose(w, is_fair(w))) return w->alive ? WARP_BLOCKED : WARP_DONE;
    for (;;) {
        struct split *s = &w->splits[w->current];
        enum event ev = EV_NEXT;
        bool generated =
            s->mask == FULL && w->generated && !w->forced && w->misfits < MISFITS && s->frame == w->entry_frame;
        if (watched) generated = generated && !w->closely;
        if (generated) ev = simt_goes_apart(w->worker->run) ? run_generated_apart(w, s) : run_generated(w, s);
        uint32_t pc = s->pc;
        if (ev == EV_NEXT) pc = interpret(w, s, pc, generated, &ev, watched, repeats);
        if (ev == EV_FAULT) return WARP_FAULT;
        if (!w->alive) return WARP_DONE;
        if (ev != EV_SCHEDULE || pc >= w->stop) s->pc = pc;
        if (w->budget > 0 || may_overdraw(w)) {
            if (!choose(w, false)) return w->alive ? WARP_BLOCKED : WARP_DONE;
            if (w->budget > 0 || w->forced) continue;
        }
        if (!may_go_on(w)) return WARP_FAULT;
        simt_slice_ends(w);
        return WARP_SLICE;
    }
}

static enum outcome run_warp(struct warp *w)
{
    return w->exists == w->threads ? run_splits(w, false, false) : run_splits(w, false, true);
}

static enum outcome run_watched(struct warp *w)
{
    return run_splits(w, true, w->exists != w->threads);
}

static bool make_entry_frame(struct warp *w)
{
    const struct function *f = w->worker->run->entry;
    struct simt_observer *o = w->worker->observer;
    w->entry_frame = w->frame = simt_frame_new(w, f);
    if (!w->entry_frame) return false;
    w->entry_regs = w->entry_frame->regs;
    w->local_base = 0;
    for (w->pc = f->setup; w->pc < f->start; w->pc++) {
        const struct insn *i = &w->code[w->pc];
        uint32_t m = FULL;
        if (o && (!o->watch || o->watch[w->pc]) && o->before(o, w, i, &m) != EV_NEXT) return false;
        if (m && i->run(w->entry_frame->regs, i, m, w) != EV_NEXT) return false;
    }
    w->generated = w->jit && w->exists == FULL && simt_jit_frame_fits(w->jit, w->entry_frame);
    return true;
}

bool simt_warp_ready(struct warp *w)
{
    return w->entry_frame || make_entry_frame(w);
}

bool simt_warp_start(struct warp *w)
{
    w->free_frames = NULL;
    for (struct frame *f = w->all_frames; f; f = f->next)
        if (f != w->entry_frame) {
            f->next_free = w->free_frames;
            w->free_frames = f;
        }
    if (!simt_warp_ready(w)) return false;
    w->alive = w->exists;
    w->current = 0;
    w->split_count = 1;
    w->forced = w->sliced = false;
    w->alike.mask = 0; /* its first slice is like none before */
    w->pc = w->entry_frame->function->start;
    w->entry_frame->lanes = w->exists;
    w->resume = NULL;
    w->misfits = 0;
    w->closely = w->midway = false;
    w->splits[0] = (struct split){.pc = w->pc, .mask = w->exists, .frame = w->entry_frame};
    w->at_cluster = w->met_cluster = 0;
    if (w->worker->program->uses_alloca) memset(w->allocated, 0, sizeof w->allocated);
    return true;
}

void simt_warp_free(struct warp *w)
{
    while (w->all_frames) {
        struct frame *next = w->all_frames->next;
        free(w->all_frames);
        w->all_frames = next;
    }
}

/* Nobody can go on: names what they wait for. */
static void report_deadlock(struct worker *k)
{
    struct warp *w = NULL;
    const struct split *s = NULL;
    uint32_t waiting = 0;
    for (uint32_t j = 0; j < k->warp_count; j++)
        for (uint32_t n = 0; n < k->warps[j].split_count; n++) {
            const struct split *o = &k->warps[j].splits[n];
            if (!o->mask) continue;
            waiting += (uint32_t)__builtin_popcount(o->mask);
            if (s && (s->state == SPLIT_SYNC || o->state != SPLIT_SYNC)) continue;
            s = o;
            w = &k->warps[j];
        }
    if (!s) return;
    w->pc = s->pc;
    int lane = __builtin_ctz(s->mask);
    const char *op = k->program->places[s->pc].opcode;
    if (s->state == SPLIT_SYNC) {
        simt_fault_set(w, lane, SIMT_FAULT_DEADLOCK,
                       "deadlock: lanes 0x%08x of a warp wait at %s for lanes of its mask that never arrive",
                       s->mask & w->threads, op);
        return;
    }
    if (s->barrier == CLUSTER_BARRIER) {
        simt_fault_set(
            w, lane, SIMT_FAULT_DEADLOCK,
            "deadlock: %u threads wait at %s, the barrier of their cluster, where %u have arrived; the others "
            "never will",
            waiting, op, k->cluster->arrived);
        return;
    }
    const struct barrier *b = &k->barriers[s->barrier];
    simt_fault_set(w, lane, SIMT_FAULT_DEADLOCK,
                   "deadlock: %u threads wait at %s (barrier %u), where %u of %u have arrived; the others never will",
                   waiting, op, s->barrier, b->total, b->expected ? b->expected : k->live);
}

static bool waits_for_cluster(const struct worker *k)
{
    for (uint32_t j = 0; j < k->warp_count; j++)
        for (uint32_t n = 0; n < k->warps[j].split_count; n++) {
            const struct split *s = &k->warps[j].splits[n];
            if (s->mask && s->state == SPLIT_BARRIER && s->barrier == CLUSTER_BARRIER) return true;
        }
    return false;
}

static bool start_warps(struct worker *k)
{
    if (k->barriers_used) memset(k->barriers, 0, sizeof k->barriers); /* left by bar.arrive, or a fault */
    k->barriers_used = 0;
    k->live = 0;
    k->turn = 0;
    k->delays = 0;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        if (!simt_warp_start(&k->warps[j])) {
            if (k->fault.kind != SIMT_FAULT_NONE) return false;
            k->fault = (struct simt_fault){.kind = SIMT_FAULT_NOMEM};
            snprintf(k->fault.kernel, sizeof k->fault.kernel, "%s", k->run->entry->name);
            snprintf(k->fault.text, sizeof k->fault.text, "out of host memory for the registers of a block");
            return false;
        }
        k->live += lane_count(k->warps[j].exists);
    }
    return true;
}

/* Runs the started warps in turn. */
static enum block_outcome run_warps(struct worker *k, enum outcome (*run)(struct warp *w))
{
    uint32_t blocked = 0, waiting = 0, turns = 0; /* the first two: warps in a row */
    int64_t spent = 0, looked = 0; /* of budgets; the latter: on what other blocks may change, between barriers */
    for (uint32_t j = k->turn; k->live; j = k->turn) {
        struct warp *w = &k->warps[j];
        uint64_t before = w->clock;
        k->turn = j + 1 == k->warp_count ? 0 : j + 1;
        if (!(++turns & 255) && !may_go_on(w)) return BLOCK_STOPPED;
        enum outcome outcome = w->alive ? run(w) : WARP_DONE;
        if (outcome == WARP_FAULT) return BLOCK_STOPPED;
        bool ran = w->clock != before, sliced = outcome == WARP_SLICE;
        if (sliced) simt_tally_settle(k);
        blocked = ran ? 0 : blocked + 1;
        waiting = ran && !(sliced && (w->waited > w->slice / 2 || w->alike.vain)) ? 0 : waiting + 1;
        k->changed |= ran && !(sliced && w->alike.vain);
        if (ran) spent += 1 + w->slice - w->budget;
        if (ran && !sliced) looked += w->waited;
        if (!k->live) break;
        if (blocked > k->warp_count) {
            if (waits_for_cluster(k)) return BLOCK_STUCK;
            report_deadlock(k);
            return BLOCK_STOPPED;
        }
        k->looks = (waiting >= k->warp_count && blocked < k->warp_count) || looked > LOOKS * SLICE;
        if (k->looks || spent > (int64_t)TURNS * SLICE * k->warp_count) return BLOCK_WAITS;
    }
    return BLOCK_DONE;
}

bool simt_block_start(struct worker *k)
{
    struct simt_observer *o = k->observer;
    k->fault.kind = SIMT_FAULT_NONE;
    if (k->tensors) simt_tensor_start(k);
    if ((!o || !o->block_start || o->block_start(o, k)) && (simt_jit_block_start(k) || start_warps(k))) return true;
    if (o && o->block_end) o->block_end(o, k);
    return false;
}

/* A block has ended or was stopped; what was found wrong may be the observer's to tell. */
static enum block_outcome finish(struct worker *k, enum block_outcome outcome)
{
    struct simt_observer *o = k->observer;
    if (outcome == BLOCK_DONE && k->tensors && !simt_tensor_end(k)) outcome = BLOCK_STOPPED;
    if (outcome == BLOCK_STOPPED) simt_jit_forget(k);
    if (!o) return outcome;
    if (outcome == BLOCK_STOPPED && k->fault.kind == SIMT_FAULT_DEADLOCK && o->deadlock && o->deadlock(o, k)) {
        k->fault = (struct simt_fault){0};
        outcome = BLOCK_DONE;
    }
    if (o->block_end) o->block_end(o, k);
    return outcome;
}

enum block_outcome simt_block_run(struct worker *k)
{
    struct simt_observer *o = k->observer;
    simt_jit_take_controls(k);
    enum jit_exit quick = k->quick ? simt_jit_block_run(k) : JIT_LEFT;
    enum block_outcome outcome = quick == JIT_EXIT    ? BLOCK_DONE
                                 : quick == JIT_FAULT ? BLOCK_STOPPED
                                                      : run_warps(k, o ? run_watched : run_warp);
    return outcome == BLOCK_WAITS || outcome == BLOCK_STUCK ? outcome : finish(k, outcome);
}

enum block_outcome simt_block_deadlock(struct worker *k)
{
    report_deadlock(k);
    return finish(k, BLOCK_STOPPED);
}

void simt_block_abandon(struct worker *k)
{
    struct simt_observer *o = k->observer;
    simt_jit_forget(k);
    if (o && o->block_end) o->block_end(o, k);
}
