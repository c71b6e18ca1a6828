/* Blocks that run generated code alone. The warps of a streaming kernel live for tens of nanoseconds: what the splits
 * of a warp need would take longer than the kernel. */
#include <string.h>
#include "runtime/simt/jit.h"

/* Are all warps ready for generated code? */
static bool fit(struct worker *k)
{
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        if (!w->jit || !simt_jit_start(w->jit) || !simt_warp_ready(w) || !w->generated) return false;
    }
    return true;
}

bool simt_jit_block_start(struct worker *k)
{
    bool at_entry = k->at_entry;
    k->quick = k->at_entry = false;
    if (!k->fits && !fit(k)) return false;
    for (uint32_t j = 0; !at_entry && j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        w->frame = w->entry_frame;
        w->local_base = 0;
    }
    k->quick_left = k->warp_count;
    k->quick = k->fits = k->at_entry = k->first_round = true;
    return true;
}

void simt_jit_exits(struct warp *w)
{
    struct simt_observer *o = w->worker->observer;
    uint32_t m = FULL;
    if (o && o->watch[w->pc]) o->before(o, w, &w->code[w->pc], &m);
}

/* Gives the warps their splits. Warp `odd` has left its code; those before it have come to a barrier or their end,
 * those behind it stand where they did. */
static void give_splits(struct worker *k, uint32_t odd, enum jit_exit why)
{
    k->quick = k->at_entry = false;
    memset(k->barriers, 0, sizeof k->barriers);
    k->barriers_used = k->live = k->turn = 0;
    k->delays = 0;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        struct warp *w = &k->warps[j];
        bool fresh = k->first_round && j > odd;
        const void *resume = fresh ? simt_jit_start(w->jit) : w->resume;
        uint32_t pc = fresh ? w->entry_frame->function->start - 1 : w->pc;
        simt_warp_start(w);
        struct split *s = &w->splits[0];
        if (j == odd) {
            s->pc = w->pc = pc;
            w->resume = why == JIT_SLICE || why == JIT_BARRIER ? resume : NULL;
            if (why == JIT_PARTED) simt_jit_part_splits(w->jit, w);
        } else if (!resume) {
            w->pc = pc;
            simt_jit_exits(w);
            s->mask = w->alive = w->entry_frame->lanes = 0;
            continue;
        } else if (j < odd && odd != UINT32_MAX) {
            struct barrier *b = &k->barriers[0];
            *s = (struct split){.pc = pc, .mask = FULL, .frame = w->entry_frame, .state = SPLIT_BARRIER};
            k->barriers_used = 1;
            b->arrived[j] = FULL;
            b->total += SIMT_WARP;
            b->count += SIMT_WARP;
            w->resume = resume;
        } else {
            s->pc = pc + 1;
            w->resume = resume;
        }
        k->live += SIMT_WARP;
    }
}

/* All warps that are left have come to a barrier: the observer is told. When some have ended, or they came by different
 * ways, the last one arrives as others do, and like them goes on in the code, which alone knows its registers: false.
 */
static bool meet(struct worker *k)
{
    struct simt_observer *o = k->observer;
    uint32_t last = 0;
    bool together = true;
    for (uint32_t j = 0; j < k->warp_count; j++) {
        together &= k->warps[j].resume && k->warps[j].pc == k->warps[0].pc;
        if (k->warps[j].resume) last = j;
    }
    if (together) {
        o->met(o, k);
    } else {
        struct warp *w = &k->warps[last];
        give_splits(k, last, JIT_BARRIER);
        w->pc = w->splits[0].pc;
        simt_op_barrier(w->entry_frame->regs, &w->code[w->pc], FULL, w);
    }
    return together;
}

/* Each warp to its end or next barrier. The last one may have code of its own. */
static enum jit_exit run_once(struct worker *k)
{
    const struct jit_code *code = k->warps[0].jit;
    uint32_t n = k->warp_count;
    struct warp *last = &k->warps[n - 1];
    if (last->jit == code) return simt_jit_run_all(code, k, k->warps, n);
    enum jit_exit why = simt_jit_run_all(code, k, k->warps, n - 1);
    return why == JIT_EXIT || why == JIT_BARRIER ? simt_jit_run_all(last->jit, k, last, 1) : why;
}

enum jit_exit simt_jit_block_run(struct worker *k)
{
    for (uint32_t rounds = 1; k->quick_left; rounds++) {
        if (rounds == SLICE) { /* it may be endless */
            give_splits(k, UINT32_MAX, JIT_BARRIER);
            return JIT_LEFT;
        }
        enum jit_exit why = run_once(k);
        if (why == JIT_FAULT) return why;
        if (why != JIT_EXIT && why != JIT_BARRIER) {
            give_splits(k, (uint32_t)k->left->index, why);
            return JIT_LEFT;
        }
        k->first_round = false;
        if (k->observer && k->quick_left && !meet(k)) return k->fault.kind ? JIT_FAULT : JIT_LEFT;
    }
    return JIT_EXIT;
}
