/* Blocks of a kernel in an order in which all that leads to one stands before it, but for what goes round a loop, and
 * each loop in one piece.
 *
 * Lanes that part meet again because those behind go first, and what is generated for lanes that part takes for granted
 * that they meet further on. NVIDIA's compiler writes blocks so. LLVM puts a loop's end before its beginning: lanes
 * that come there early would begin the next round alone, and never meet the others again.
 *
 * Only functions with such a jump back, which is none to the beginning of a loop, are written anew. A depth-first
 * search numbers the blocks from the end. Where it comes to a loop it first goes to where that is left: what it then
 * still finds from there is the loop alone. Done for launches alone, as calls are inlined. */
#include <string.h>
#include "runtime/simt/ptx_walk.h"

#define MOST 4000 /* blocks */

struct block {
    size_t first, end;       /* instructions */
    size_t next, next_count; /* where it leads: edges; the last of them behind it, if it goes on there */
    bool goes_on, head;      /* head: a loop begins with it */
    int number;              /* in the order, from 0; -1: not reached */
    int dominator;
    int loop;  /* the first block of the innermost loop that it is in, which may be itself; -1: none */
    int outer; /* of such a first block: that of the loop around its own */
    bool seen;
};

struct order {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct block *blocks;
    int *edges;
    int count, reached;
    int *list;  /* blocks by their number */
    int *stack; /* of a search */
};

/* ---- jumps ---- */
static bool is_jump(const struct ptx_insn *in)
{
    return ptx_is(in, "bra") && in->operand_count && in->operands[0].kind == PTX_OP_LABEL;
}

static const struct ptx_targets *table_of(const struct ptx_func *f, const struct ptx_insn *in)
{
    const char *name = ptx_is(in, "brx") && in->operand_count > 1 ? in->operands[1].symbol : NULL;
    for (size_t t = f->branch_table_count; name && t-- > 0;)
        if (!strcmp(f->branch_tables[t].name, name)) return &f->branch_tables[t];
    return NULL;
}

/* How many places the instruction may jump to, and one of them. */
static size_t target_count(const struct ptx_func *f, const struct ptx_insn *in)
{
    const struct ptx_targets *t = table_of(f, in);
    return t ? t->count : is_jump(in);
}
static size_t target_of(const struct ptx_func *f, const struct ptx_insn *in, size_t k)
{
    const struct ptx_targets *t = table_of(f, in);
    return t ? t->insns[k] : (size_t)in->operands[0].imm;
}

static bool goes_on(const struct ptx_insn *in)
{
    static const char *const last[] = {"bra", "brx", "ret", "exit", "trap"};
    for (size_t k = 0; k < sizeof last / sizeof *last; k++)
        if (ptx_is(in, last[k])) return in->guard >= 0;
    return true;
}

/* Does all that it does come from its own instructions? */
static bool is_whole(const struct ptx_func *f)
{
    for (size_t k = 0; k < f->insn_count; k++)
        for (size_t t = 0; t < target_count(f, &f->insns[k]); t++)
            if (target_of(f, &f->insns[k], t) >= f->insn_count) return false;
    return f->insn_count && !goes_on(&f->insns[f->insn_count - 1]);
}

/* ---- blocks ---- */
/* Marks each block's first instruction. How many edges there may be. */
static size_t mark_firsts(const struct ptx_func *f, int *of)
{
    size_t edges = 0;
    of[0] = 1;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        size_t count = target_count(f, in);
        for (size_t t = 0; t < count; t++) of[target_of(f, in, t)] = 1;
        if (count || !goes_on(in)) of[k + 1] = 1;
        edges += count;
    }
    for (size_t k = 0; k < f->insn_count; k++) edges += (size_t)of[k];
    return edges;
}

static void find_edges(struct order *o, const int *of)
{
    const struct ptx_func *f = o->f;
    size_t count = 0;
    for (int b = 0; b < o->count; b++) {
        struct block *x = &o->blocks[b];
        x->end = b + 1 < o->count ? o->blocks[b + 1].first : f->insn_count;
        x->next = count;
        const struct ptx_insn *last = &f->insns[x->end - 1];
        for (size_t t = 0; t < target_count(f, last); t++) o->edges[count++] = of[target_of(f, last, t)];
        x->goes_on = goes_on(last);
        if (x->goes_on) o->edges[count++] = b + 1;
        x->next_count = count - x->next;
    }
}

/* Cuts the body into blocks. */
static bool find_blocks(struct order *o)
{
    const struct ptx_func *f = o->f;
    int *of = ptx_new(o->p, f->insn_count + 1, sizeof *of); /* the block of each first instruction, else -1 */
    if (!of) return false;
    size_t edges = mark_firsts(f, of);
    for (size_t k = 0; k < f->insn_count; k++) of[k] = of[k] ? o->count++ : -1;
    if (o->count > MOST) return true;
    o->blocks = ptx_new(o->p, (size_t)o->count, sizeof *o->blocks);
    o->edges = ptx_new(o->p, edges, sizeof *o->edges);
    o->list = ptx_new(o->p, (size_t)o->count, sizeof *o->list);
    o->stack = ptx_new(o->p, (size_t)o->count, sizeof *o->stack);
    if (!o->blocks || !o->edges || !o->list || !o->stack) return false;
    for (size_t k = 0; k < f->insn_count; k++)
        if (of[k] >= 0) o->blocks[of[k]].first = k;
    for (int b = 0; b < o->count; b++) o->blocks[b].loop = o->blocks[b].outer = -1;
    find_edges(o, of);
    return true;
}

/* ---- their numbers ---- */
static bool is_in_loop(const struct order *o, int b, int head)
{
    for (b = o->blocks[b].loop; b >= 0 && b != head;) b = o->blocks[b].outer;
    return b == head;
}

/* A block that b leads to and that is not seen yet; of those outside of the loop, if there is one. -1: none. */
static int next_of(const struct order *o, int b, int loop)
{
    const int *next = o->edges + o->blocks[b].next;
    for (size_t e = 0; e < o->blocks[b].next_count; e++)
        if (!o->blocks[next[e]].seen && (loop < 0 || !is_in_loop(o, next[e], loop))) return next[e];
    return -1;
}

static int next_of_search(const struct order *o, int b)
{
    int n = -1;
    for (int k = 0; o->blocks[b].loop == b && k < o->count && n < 0; k++)
        if (is_in_loop(o, k, b)) n = next_of(o, k, b);
    return n < 0 ? next_of(o, b, -1) : n;
}

static void number(struct order *o)
{
    int depth = 0, done = 0;
    for (int b = 0; b < o->count; b++) o->blocks[b].seen = false, o->blocks[b].number = -1;
    o->stack[depth++] = 0;
    o->blocks[0].seen = true;
    while (depth > 0) {
        int b = o->stack[depth - 1], n = next_of_search(o, b);
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

/* ---- loops ---- */
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
            int b = o->list[k];
            for (size_t e = 0; e < o->blocks[b].next_count; e++) {
                int n = o->edges[o->blocks[b].next + e];
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

/* A loop's blocks: those behind its first that lead back there. Loops within it are known. */
static void find_loop(struct order *o, int head)
{
    for (int b = 0; b < o->count; b++) o->blocks[b].seen = b == head;
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = o->reached - 1; k > o->blocks[head].number; k--) {
            struct block *x = &o->blocks[o->list[k]];
            bool leads = false;
            for (size_t e = 0; e < x->next_count; e++) leads |= o->blocks[o->edges[x->next + e]].seen;
            if (x->seen || !leads) continue;
            x->seen = changed = true;
        }
    }
    for (int b = 0; b < o->count; b++) {
        struct block *x = &o->blocks[b];
        if (!x->seen) continue;
        if (x->loop < 0) x->loop = head;
        if (x->loop == b && b != head && x->outer < 0) x->outer = head;
    }
}

/* Is there a jump back that is of no loop, and does each of the others go to where its loop is entered? Those places
 * are marked. */
static bool is_out_of_order(struct order *o)
{
    bool out = false, reducible = true;
    for (int b = 0; b < o->count; b++) {
        const struct block *x = &o->blocks[b];
        for (size_t e = 0; x->number >= 0 && e < x->next_count; e++) {
            int to = o->edges[x->next + e];
            bool around = dominates(o, to, b);
            out |= to <= b && !around;
            reducible &= around || o->blocks[to].number > x->number;
            o->blocks[to].head |= around;
        }
    }
    return out && reducible;
}

static void find_loops(struct order *o)
{
    for (int k = o->reached - 1; k >= 0; k--)
        if (o->blocks[o->list[k]].head) find_loop(o, o->list[k]);
}

/* ---- the new body ---- */
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

/* Jumps, tables and labels to where instructions are now. */
static bool turn_jumps(const struct order *o, struct ptx_insn *insns, size_t count, const size_t *places)
{
    struct ptx_func *f = o->f;
    for (size_t k = 0; k < count; k++) {
        if (!is_jump(&insns[k])) continue;
        struct ptx_operand *target = ptx_new(o->p, insns[k].operand_count, sizeof *target);
        if (!target) return false;
        memcpy(target, insns[k].operands, insns[k].operand_count * sizeof *target);
        target->imm = (int64_t)places[target->imm];
        insns[k].operands = target;
    }
    for (size_t t = 0; t < f->branch_table_count; t++)
        for (size_t k = 0; k < f->branch_tables[t].count; k++)
            f->branch_tables[t].insns[k] = places[f->branch_tables[t].insns[k]];
    for (size_t k = 0; k < f->label_count; k++) f->labels[k].insn = places[f->labels[k].insn];
    return true;
}

static bool write_body(const struct order *o)
{
    struct ptx_func *f = o->f;
    size_t count = 0, *places = ptx_new(o->p, f->insn_count + 1, sizeof *places);
    struct ptx_insn *insns = ptx_new(o->p, f->insn_count + (size_t)o->reached + 1, sizeof *insns);
    if (!places || !insns) return false;
    for (int k = 0; k < o->reached; k++) {
        int b = o->list[k];
        const struct block *x = &o->blocks[b];
        for (size_t i = x->first; i < x->end; i++) {
            places[i] = count;
            insns[count++] = f->insns[i];
        }
        bool apart = x->goes_on && o->blocks[b + 1].number != k + 1;
        if (apart && !write_jump(o, &insns[count++], &f->insns[x->end - 1], b + 1)) return false;
    }
    places[f->insn_count] = count;
    if (!turn_jumps(o, insns, count, places)) return false;
    f->insns = insns;
    f->insn_count = count;
    return true;
}

static bool order_in(struct ptx_parser *p, struct ptx_func *f)
{
    struct order o = {.p = p, .f = f};
    if (!is_whole(f)) return true;
    if (!find_blocks(&o)) return false;
    if (o.count > MOST) return true;
    number(&o);
    find_dominators(&o);
    if (!is_out_of_order(&o)) return true;
    find_loops(&o);
    number(&o);
    return write_body(&o);
}

bool ptx_order(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, false, order_in);
}
