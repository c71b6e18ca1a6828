/* Lanes of a warp that part at a branch and meet again soon, without a loop: `if`, with or without `else`, conditions
 * of several terms. An op is called for each instruction that some of them run, in the order of the code, as the
 * interpreter would; the warp keeps running generated code behind. */
#include <string.h>
#include "runtime/simt/jit_build.h"

#define FARTHEST 256 /* instructions */

/* ---- finding ---- */
static bool may_part(const struct jit *j, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++)
        if (j->code[k].kind != JK_BRANCH && !j->code[k].plain) return false;
    return end - first <= FARTHEST;
}

/* Blocks up to the first that all ways from block b lead to, when all of them lead forward. */
static int join_of(const struct jit *j, int b)
{
    int join = j->blocks[b].next[0];
    if (join <= b || j->blocks[b].next[1] != b + 1) return -1;
    for (int k = b + 1; k < join; k++) {
        const struct jit_block *block = &j->blocks[k];
        if (!may_part(j, block->start, block->end)) return -1;
        if (j->code[block->end - 1].kind != JK_BRANCH) continue;
        if (block->next[0] <= k) return -1;
        if (block->next[0] > join) join = block->next[0];
    }
    return j->blocks[join].start - j->blocks[b].end <= FARTHEST ? join : -1;
}

void simt_jit_find_joins(struct jit *j)
{
    for (uint32_t b = 0; b < j->block_count; b++) {
        const struct jit_insn *last = &j->code[j->blocks[b].end - 1];
        bool parts = last->kind == JK_BRANCH && last->i->guard != SLOT_TRUE;
        j->blocks[b].join = parts ? join_of(j, (int)b) : -1;
    }
}

void simt_jit_part_forms(const struct jit *j, const struct jit_block *b, struct jit_form *forms)
{
    for (uint32_t k = b->end; k < j->blocks[b->join].start; k++)
        for (int w = 0; w < j->code[k].write_count; w++)
            if (!j->slots[j->code[k].writes[w]].fixed) forms[j->code[k].writes[w]].kind = FORM_ANY;
}

/* ---- running ---- */
/* From behind the branch to the instruction `join`. */
static enum event run_apart(char *R, struct warp *w, const struct insn *branch, uint32_t join)
{
    uint32_t waiting[FARTHEST + 1] = {0}; /* lanes that wait at an instruction */
    const struct insn *code = w->code;
    struct simt_observer *o = w->worker->observer;
    uint32_t start = (uint32_t)(branch - code) + 1, taken = *u32_at(R, branch->guard) ^ branch->guard_flip, m = ~taken;
    waiting[branch->target - start] = taken;
    for (uint32_t pc = start; pc < join; pc++) {
        const struct insn *i = &code[pc];
        m |= waiting[pc - start];
        uint32_t lanes = m & (*u32_at(R, i->guard) ^ i->guard_flip);
        if (!lanes) continue;
        if (i->run == simt_op_bra) {
            waiting[i->target - start] |= lanes;
            m &= ~lanes;
            continue;
        }
        w->pc = pc;
        enum event ev = o && o->watch[pc] ? o->before(o, w, i, &lanes) : EV_NEXT;
        if (ev == EV_NEXT && lanes) ev = i->run(R, i, lanes, w);
        if (ev != EV_NEXT) return ev;
    }
    return EV_NEXT;
}

int simt_jit_apart(struct jit *j, const struct jit_insn *n)
{
    struct x86 *x = &j->x;
    enum x86_section was = x->now;
    const struct jit_block *join = &j->blocks[j->block->join];
    x->now = X86_COLD;
    int label = x86_label(x), fault = x86_label(x);
    x86_bind(x, label);
    for (uint32_t s = 0; s < j->slot_count; s++)
        if (in_set(j->live, s) && !j->slots[s].fixed) simt_jit_write_all(j, (uint16_t)s);
    x86_rr(x, ALU_MOV, true, RDI, REG_FRAME);
    x86_rr(x, ALU_MOV, true, RSI, REG_WARP);
    x86_load_imm(x, RDX, (uint64_t)(uintptr_t)n->i);
    x86_load_imm(x, RCX, j->first + join->start);
    x86_load_imm(x, RAX, (uint64_t)(uintptr_t)run_apart);
    x86_vzeroupper(x);
    x86_call(x, RAX);
    x86_test(x, false, RAX, RAX);
    x86_jump_if(x, CC_NE, fault);
    x86_jump(x, join->label);
    x86_bind(x, fault);
    x86_load_imm(x, RAX, JIT_FAULT);
    x86_jump(x, j->leave_label);
    x->now = was;
    return label;
}
