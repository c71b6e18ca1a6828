/* Blocks of a kernel in an order in which all that leads to one stands before it, but for what goes round a loop.
 *
 * Lanes that part meet again because those behind go first, and what is generated for lanes that part takes for granted
 * that they meet further on. NVIDIA's compiler writes blocks so. LLVM puts a loop's end before its beginning: lanes
 * that come there early would begin the next round alone, and never meet the others again.
 *
 * Only functions with such a jump back, which is none to the beginning of a loop, are written anew. A depth-first
 * search that leaves loops before it goes on in them numbers the blocks from the end. Done for launches alone, as calls
 * are inlined. */
#include <string.h>
#include "runtime/simt/ptx_read.h"

#define MOST 4000 /* blocks */

struct block {
    size_t first, end; /* instructions */
    int next[2];       /* blocks: behind it, and where its jump goes; -1: none */
    int number;        /* in the order, from 0; -1: not reached */
    int dominator;
    int depth; /* of loops around it */
    bool seen;
};

struct order {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct block *blocks;
    int count, reached;
    int *list;  /* blocks by their number */
    int *stack; /* of a search */
};

static bool is_jump(const struct ptx_insn *in)
{
    return ptx_is(in, "bra") && in->operand_count && in->operands[0].kind == PTX_OP_LABEL;
}

static bool goes_on(const struct ptx_insn *in)
{
    return in->guard >= 0 || !(ptx_is(in, "bra") || ptx_is(in, "ret") || ptx_is(in, "exit"));
}

/* Is there a jump back at all, and nothing that goes elsewhere than bra says? */
static bool may_be_ordered(const struct ptx_func *f)
{
    bool back = false;
    if (!f->insn_count || f->branch_table_count) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (ptx_is(in, "brx") || (ptx_is(in, "bra") && !is_jump(in))) return false;
        if (is_jump(in) && (size_t)in->operands[0].imm >= f->insn_count) return false;
        back |= is_jump(in) && (size_t)in->operands[0].imm <= k;
    }
    return back && !goes_on(&f->insns[f->insn_count - 1]);
}

/* Cuts the body into blocks: in `of` each first instruction's, else -1. */
static bool find_blocks(struct order *o)
{
    const struct ptx_func *f = o->f;
    int *of = ptx_new(o->p, f->insn_count, sizeof *of);
    if (!of) return false;
    of[0] = 1;
    for (size_t k = 0; k < f->insn_count; k++) {
        if (is_jump(&f->insns[k])) of[f->insns[k].operands[0].imm] = 1;
        if ((is_jump(&f->insns[k]) || !goes_on(&f->insns[k])) && k + 1 < f->insn_count) of[k + 1] = 1;
    }
    for (size_t k = 0; k < f->insn_count; k++) of[k] = of[k] ? o->count++ : -1;
    if (o->count > MOST) return true;
    o->blocks = ptx_new(o->p, (size_t)o->count, sizeof *o->blocks);
    o->list = ptx_new(o->p, (size_t)o->count, sizeof *o->list);
    o->stack = ptx_new(o->p, (size_t)o->count, sizeof *o->stack);
    if (!o->blocks || !o->list || !o->stack) return false;
    for (size_t k = 0; k < f->insn_count; k++)
        if (of[k] >= 0) o->blocks[of[k]].first = k;
    for (int b = 0; b < o->count; b++) {
        struct block *x = &o->blocks[b];
        x->end = b + 1 < o->count ? o->blocks[b + 1].first : f->insn_count;
        const struct ptx_insn *last = &f->insns[x->end - 1];
        x->next[0] = goes_on(last) ? b + 1 : -1;
        x->next[1] = is_jump(last) ? of[last->operands[0].imm] : -1;
    }
    return true;
}

/* The successor that the search goes to next: of two the one in fewer loops. -1: all are seen. */
static int next_of(const struct order *o, int b)
{
    int best = -1;
    for (int k = 1; k >= 0; k--) {
        int n = o->blocks[b].next[k];
        if (n >= 0 && !o->blocks[n].seen && (best < 0 || o->blocks[n].depth < o->blocks[best].depth)) best = n;
    }
    return best;
}

static void number(struct order *o)
{
    int depth = 0, done = 0;
    for (int b = 0; b < o->count; b++) o->blocks[b].seen = false, o->blocks[b].number = -1;
    o->stack[depth++] = 0;
    o->blocks[0].seen = true;
    while (depth > 0) {
        int b = o->stack[depth - 1], n = next_of(o, b);
        if (n >= 0) {
            o->blocks[n].seen = true;
            o->stack[depth++] = n;
        } else {
            o->list[done++] = b;
            depth--;
        }
    }
    for (int k = 0; k < done / 2; k++) {
        int b = o->list[k];
        o->list[k] = o->list[done - 1 - k];
        o->list[done - 1 - k] = b;
    }
    for (int k = 0; k < done; k++) o->blocks[o->list[k]].number = k;
    o->reached = done;
}

static int meet(const struct order *o, int a, int b)
{
    while (a != b) {
        while (o->blocks[a].number > o->blocks[b].number) a = o->blocks[a].dominator;
        while (o->blocks[b].number > o->blocks[a].number) b = o->blocks[b].dominator;
    }
    return a;
}

/* Which block all ways to a block lead through last (Cooper, Harvey and Kennedy's way). */
static void find_dominators(struct order *o)
{
    for (int b = 0; b < o->count; b++) o->blocks[b].dominator = -1;
    o->blocks[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < o->reached; k++) {
            for (int e = 0; e < 2; e++) {
                int b = o->list[k], n = o->blocks[b].next[e];
                if (n <= 0 || o->blocks[b].dominator < 0) continue;
                int d = o->blocks[n].dominator < 0 ? b : meet(o, o->blocks[n].dominator, b);
                changed |= d != o->blocks[n].dominator;
                o->blocks[n].dominator = d;
            }
        }
    }
}

static bool dominates(const struct order *o, int a, int b)
{
    while (o->blocks[b].number > o->blocks[a].number) b = o->blocks[b].dominator;
    return a == b;
}

/* One more loop around what leads from its beginning back there: found backwards from its end. */
static void deepen(struct order *o, int head, int end)
{
    int depth = 0;
    for (int b = 0; b < o->count; b++) o->blocks[b].seen = b == head;
    if (end != head) o->blocks[end].seen = true, o->stack[depth++] = end;
    while (depth > 0) {
        int to = o->stack[--depth];
        for (int b = 0; b < o->count; b++) {
            struct block *x = &o->blocks[b];
            if (x->number < 0 || x->seen || (x->next[0] != to && x->next[1] != to)) continue;
            x->seen = true;
            o->stack[depth++] = b;
        }
    }
    for (int b = 0; b < o->count; b++) o->blocks[b].depth += o->blocks[b].seen;
}

/* Finds loops. Is there a jump back that is of none, and does each of the others go to where its loop is entered? */
static bool is_out_of_order(struct order *o)
{
    bool out = false, reducible = true;
    for (int b = 0; b < o->count; b++) {
        int to = o->blocks[b].next[1];
        if (o->blocks[b].number >= 0 && to >= 0 && to <= b) out |= !dominates(o, to, b);
    }
    for (int b = 0; out && b < o->count; b++) {
        for (int e = 0; e < 2; e++) {
            int to = o->blocks[b].next[e];
            if (o->blocks[b].number < 0 || to < 0 || o->blocks[to].number > o->blocks[b].number) continue;
            reducible &= dominates(o, to, b);
            if (dominates(o, to, b)) deepen(o, to, b);
        }
    }
    return out && reducible;
}

/* Jumps to what stood behind a block and does so no more. */
static bool write_jump(const struct order *o, struct ptx_insn *to, const struct ptx_insn *beside, int block)
{
    static char bra[] = "bra";
    struct ptx_operand *target = ptx_new(o->p, 1, sizeof *target);
    if (!target) return false;
    *target = (struct ptx_operand){.kind = PTX_OP_LABEL, .reg = -1, .imm = (int64_t)o->blocks[block].first};
    *to = (struct ptx_insn){.opcode = bra, .guard = -1, .operands = target, .operand_count = 1, .line = beside->line};
    to->file = beside->file;
    to->source_line = beside->source_line;
    to->source_column = beside->source_column;
    return true;
}

static bool write_body(const struct order *o)
{
    struct ptx_func *f = o->f;
    size_t count = 0, *places = ptx_new(o->p, f->insn_count + 1, sizeof *places);
    struct ptx_insn *insns = ptx_new(o->p, f->insn_count + (size_t)o->reached + 1, sizeof *insns);
    if (!places || !insns) return false;
    for (int k = 0; k < o->reached; k++) {
        const struct block *b = &o->blocks[o->list[k]];
        for (size_t i = b->first; i < b->end; i++) {
            places[i] = count;
            insns[count++] = f->insns[i];
        }
        bool apart = b->next[0] >= 0 && o->blocks[b->next[0]].number != k + 1;
        if (apart && !write_jump(o, &insns[count++], &f->insns[b->end - 1], b->next[0])) return false;
    }
    for (size_t k = 0; k < count; k++) {
        if (!is_jump(&insns[k])) continue;
        struct ptx_operand *target = ptx_new(o->p, insns[k].operand_count, sizeof *target);
        if (!target) return false;
        memcpy(target, insns[k].operands, insns[k].operand_count * sizeof *target);
        target->imm = (int64_t)places[target->imm];
        insns[k].operands = target;
    }
    places[f->insn_count] = count;
    for (size_t k = 0; k < f->label_count; k++) f->labels[k].insn = places[f->labels[k].insn];
    f->insns = insns;
    f->insn_count = count;
    return true;
}

static bool order_in(struct ptx_parser *p, struct ptx_func *f)
{
    struct order o = {.p = p, .f = f};
    if (!f->has_body || !may_be_ordered(f)) return true;
    if (!find_blocks(&o)) return false;
    if (o.count > MOST) return true;
    number(&o);
    find_dominators(&o);
    if (!is_out_of_order(&o)) return true;
    number(&o);
    return write_body(&o);
}

bool ptx_order(struct ptx_module *m, struct rt_error *e)
{
    struct ptx_tree *tree = (struct ptx_tree *)m;
    struct ptx_parser p = {.error = e, .module = m, .chunks = tree->chunks};
    bool ok = true;
    for (size_t k = 0; k < m->func_count && ok; k++) ok = order_in(&p, &m->funcs[k]);
    tree->chunks = p.chunks;
    return ok;
}
