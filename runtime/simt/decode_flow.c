/* The ways through an entry, and its counted loops: those that go on as long as a register to which they add the same
 * each time has not come to a bound. In them, what a register holds to which the loop adds is known for a launch where
 * it is known how often they go round (check_sums.c): within the loop, where another pass is still to come, it is less
 * than behind.
 *
 * Such a loop is entered at its first block alone and goes back there from its last one alone, where the step is added
 * and the comparison made; whoever comes to it anew has set the register anew. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MOST       20000 /* instructions */
#define MOST_LOOPS 32

struct body {
    uint32_t top, latch;
    uint8_t *marks; /* by block */
    bool one_exit;
};
enum { WITHIN = 1, BEHIND = 2 };

struct rider {                  /* a register to which a loop adds, or that ways set differently */
    int body;                   /* -1: none does */
    size_t add;                 /* where */
    size_t starts[MOST_STARTS]; /* where it is set */
    uint32_t start_count;
    bool found, odd; /* no loop adds to it: starts are there; it is also set in other ways, or too often */
};

struct flow {
    uint32_t *block_of; /* by instruction */
    uint32_t count;     /* of blocks */
    uint32_t *before;   /* by block: the one that leads there, and nothing else does; NO_BLOCK: it is not like that */
    struct body bodies[MOST_LOOPS];
    size_t body_count;
    struct rider *riders; /* by register */
    bool *seen;           /* by block, by a search */
    uint32_t *stack;
};

static bool writes(const struct ptx_operand *o, int reg)
{
    bool any = o->kind == PTX_OP_REG && o->reg == reg;
    for (size_t k = 0; k < o->item_count; k++) any |= writes(&o->items[k], reg);
    return any;
}
bool simt_writes(const struct ptx_insn *in, int reg)
{
    return in->operand_count && writes(&in->operands[0], reg);
}

/* ---- blocks ---- */
static bool can_follow(const struct ptx_func *f)
{
    bool back = false;
    if (f->insn_count > MOST) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (ptx_is(in, "brx")) return false;
        if (!ptx_is(in, "bra")) continue;
        if (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL) return false;
        back |= in->guard >= 0 && (size_t)in->operands[0].imm <= k;
    }
    return back;
}

static struct flow_block *block_at(const struct decoder *d, uint32_t block)
{
    return &d->program->blocks[d->fn->block_first + block];
}

static size_t end_of(const struct decoder *d, uint32_t block)
{
    return block + 1 < d->flow->count ? block_at(d, block + 1)->first : d->f->insn_count;
}

/* Numbers the blocks: the instructions that begin one first have a 1. */
static void number_blocks(const struct ptx_func *f, struct flow *w)
{
    w->block_of[0] = 1;
    for (size_t k = 0; k < f->insn_count; k++) {
        if (ptx_leaves(&f->insns[k])) w->block_of[k + 1] = 1;
        if (ptx_is(&f->insns[k], "bra")) w->block_of[f->insns[k].operands[0].imm] = 1;
    }
    for (size_t k = 0; k < f->insn_count; k++) {
        w->count += w->block_of[k];
        w->block_of[k] = w->count - 1;
    }
    w->block_of[f->insn_count] = NO_BLOCK;
}

static bool make_blocks(struct decoder *d)
{
    struct simt_program *p = d->program;
    struct flow *w = d->flow;
    number_blocks(d->f, w);
    struct flow_block *blocks = rt_realloc(p->blocks, (p->block_count + w->count) * sizeof *blocks);
    if (!blocks) return false;
    p->blocks = blocks;
    d->fn->block_first = p->block_count;
    d->fn->block_count = w->count;
    p->block_count += w->count;
    for (size_t k = d->f->insn_count; k-- > 0;) block_at(d, w->block_of[k])->first = (uint32_t)k;
    for (uint32_t b = 0; b < w->count; b++) {
        const struct ptx_insn *last = &d->f->insns[end_of(d, b) - 1];
        bool stops = ptx_leaves(last) && last->guard < 0;
        *block_at(d, b) =
            (struct flow_block){.first = block_at(d, b)->first,
                                .next = stops ? NO_BLOCK : w->block_of[end_of(d, b)],
                                .taken = ptx_is(last, "bra") ? w->block_of[last->operands[0].imm] : NO_BLOCK,
                                .condition = -1};
    }
    return true;
}

static void lead(struct flow *w, bool *seen, uint32_t from, uint32_t to)
{
    if (to == NO_BLOCK) return;
    w->before[to] = seen[to] ? NO_BLOCK : from;
    seen[to] = true;
}

static void find_before(const struct decoder *d)
{
    struct flow *w = d->flow;
    memset(w->seen, 0, w->count * sizeof *w->seen);
    for (uint32_t b = 0; b < w->count; b++) w->before[b] = NO_BLOCK; /* nothing may lead to it */
    lead(w, w->seen, NO_BLOCK, 0);                                   /* the function's start */
    for (uint32_t b = 0; b < w->count; b++) {
        lead(w, w->seen, b, block_at(d, b)->next);
        lead(w, w->seen, b, block_at(d, b)->taken);
    }
}

/* ---- loops ---- */
/* Marks the blocks of a loop. False: it is entered elsewhere, too, or goes back from elsewhere. */
static bool mark_body(const struct decoder *d, struct body *b)
{
    b->marks[b->top] = b->marks[b->latch] = WITHIN;
    b->one_exit = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = d->flow->count; k-- > 0;) {
            const struct flow_block *at = block_at(d, k);
            bool next = at->next != NO_BLOCK && at->next != b->top && b->marks[at->next],
                 taken = at->taken != NO_BLOCK && at->taken != b->top && b->marks[at->taken];
            if (b->marks[k] || !(next || taken)) continue;
            b->marks[k] = WITHIN;
            changed = true;
        }
    }
    for (uint32_t k = 0; k < d->flow->count; k++) {
        const struct flow_block *at = block_at(d, k);
        if (!b->marks[k] || k == b->latch) continue;
        if (at->next == b->top || at->taken == b->top) return false;
        b->one_exit &= (at->next == NO_BLOCK || b->marks[at->next]) && (at->taken == NO_BLOCK || b->marks[at->taken]);
    }
    return !b->marks[0] || b->top == 0;
}

static void go_on(struct flow *w, uint32_t block, size_t *count)
{
    if (block == NO_BLOCK || w->seen[block]) return;
    w->seen[block] = true;
    w->stack[(*count)++] = block;
}

/* Marks what is seen from the loop's exits on, but not on ways through blocks in which the rider is set. */
static void search_behind(const struct decoder *d, const struct body *b, const struct rider *r)
{
    struct flow *w = d->flow;
    size_t count = 0;
    memset(w->seen, 0, w->count * sizeof *w->seen);
    for (uint32_t k = 0; k < w->count; k++) {
        const struct flow_block *at = block_at(d, k);
        if (!(b->marks[k] & WITHIN)) continue;
        if (at->next != NO_BLOCK && !(b->marks[at->next] & WITHIN)) go_on(w, at->next, &count);
        if (at->taken != NO_BLOCK && !(b->marks[at->taken] & WITHIN)) go_on(w, at->taken, &count);
    }
    while (count) {
        uint32_t k = w->stack[--count];
        bool stops = false;
        for (uint32_t n = 0; r && n < r->start_count; n++) stops |= w->block_of[r->starts[n]] == k;
        if (stops) continue;
        go_on(w, block_at(d, k)->next, &count);
        go_on(w, block_at(d, k)->taken, &count);
    }
}

/* Is the register one to which the loop adds once a time, and nobody else, and which has a start whenever it is
 * entered? */
static bool rides(const struct decoder *d, const struct body *b, int reg, struct rider *r)
{
    const struct flow *w = d->flow;
    bool adds = false;
    *r = (struct rider){.body = -1};
    for (size_t k = 0; k < d->f->insn_count; k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        uint32_t block = w->block_of[k];
        if (!simt_writes(in, reg)) continue;
        if (in->operands[0].kind != PTX_OP_REG) return false;
        if (simt_adds_to(d, in, reg)) {
            if (adds || block != b->latch) return false;
            adds = true;
            r->add = k;
        } else {
            if (r->start_count == MOST_STARTS || b->marks[block] & WITHIN) return false;
            r->starts[r->start_count++] = k;
        }
    }
    if (!adds || !r->start_count) return false;
    search_behind(d, b, r);
    return !w->seen[b->top];
}

/* Is what a register holds at an instruction what it holds at the other one of the block? */
static bool is_last(const struct decoder *d, int reg, size_t at, size_t other)
{
    for (size_t k = at < other ? at : other; k < (at < other ? other : at); k++)
        if (simt_writes(&d->f->insns[k], reg)) return false;
    return true;
}

/* The register that the operand has when the loop's step has been added, or before. False: it is none. */
static bool find_counter(const struct decoder *d, const struct body *b, const struct ptx_operand *o, size_t at,
                         int *reg, bool *after)
{
    const struct flow *w = d->flow;
    if (o->kind != PTX_OP_REG || o->reg < 0 || o->negate || o->select) return false;
    if (w->riders[o->reg].body >= 0) {
        *reg = o->reg;
        *after = w->riders[o->reg].add < at;
        return &w->bodies[w->riders[o->reg].body] == b;
    }
    for (size_t k = block_at(d, b->latch)->first; k < end_of(d, b->latch); k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        bool copies = ptx_is(in, "mov") && in->operand_count == 2 && in->operands[1].kind == PTX_OP_REG;
        if (!copies || in->operands[1].reg != o->reg || in->operands[0].kind != PTX_OP_REG) continue;
        *reg = in->operands[0].reg;
        *after = true; /* the sum, which the register gets later */
        if (w->riders[*reg].body < 0 || &w->bodies[w->riders[*reg].body] != b) continue;
        return simt_adds_to(d, in, *reg) && is_last(d, o->reg, at, k);
    }
    return false;
}

static void find_riders(const struct decoder *d, int body)
{
    const struct body *b = &d->flow->bodies[body];
    for (size_t k = block_at(d, b->latch)->first; k < end_of(d, b->latch); k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        int reg = in->operand_count && in->operands[0].kind == PTX_OP_REG ? in->operands[0].reg : -1;
        struct rider r;
        if (reg < 0 || (size_t)reg >= d->f->reg_count || d->flow->riders[reg].body >= 0) continue;
        if (simt_defined_once(d, reg) || !rides(d, b, reg, &r)) continue;
        r.body = body;
        d->flow->riders[reg] = r;
    }
}

/* The comparison that a block ends with, where it stands; NULL: there is none. */
static const struct ptx_insn *comparison_of(const struct decoder *d, uint32_t block)
{
    const struct ptx_insn *last = &d->f->insns[end_of(d, block) - 1];
    if (!ptx_is(last, "bra") || last->guard < 0 || !simt_defined_once(d, last->guard)) return NULL;
    return &d->f->insns[d->defined_by[last->guard]];
}

struct side { /* of a comparison: a register to which the loop adds, compared when that has been done, or before */
    int reg;
    bool after;
};

/* The number that the loop adds to it. False: it is none that stands there. */
static bool step_of(struct decoder *d, const struct side *s, int64_t *step)
{
    int term = simt_step_at(d, s->reg, d->flow->riders[s->reg].add);
    if (term < 0 || d->program->terms[term].kind != TERM_CONST) return false;
    *step = d->program->terms[term].value;
    return true;
}

/* Two registers that come towards each other, as in `for (i = 0, j = n - 1; i < j; i++, j--)`: their difference is what
 * counts, as it is when both steps have been added. */
static bool find_meeting(struct decoder *d, const struct side *small, const struct side *large, bool goes, bool wide,
                         struct counted_loop *l)
{
    int64_t by, other;
    if (!step_of(d, small, &by) || !step_of(d, large, &other)) return false;
    if (goes ? by < 0 || other > 0 : by > 0 || other < 0) return false;
    l->start = simt_difference(d, simt_start_of(d, small->reg), simt_start_of(d, large->reg));
    l->step = simt_difference(d, simt_number(d, by, wide), simt_number(d, other, wide));
    l->bound = simt_number(d, (small->after ? 0 : by) - (large->after ? 0 : other), wide);
    l->up = goes;
    l->inclusive = !goes;
    l->is_signed = l->after = l->meets = true;
    return l->start >= 0 && l->step >= 0 && l->bound >= 0;
}

/* Fills in when the loop goes on. False: it is not known. */
static bool find_bound(struct decoder *d, const struct body *b, struct counted_loop *l)
{
    const struct ptx_insn *in = comparison_of(d, b->latch), *last = &d->f->insns[end_of(d, b->latch) - 1];
    const struct ptx_operand *small, *large;
    struct condition c;
    struct side one = {.reg = -1}, two = {.reg = -1};
    bool wide, opposite;
    if (!in || d->flow->block_of[in - d->f->insns] != b->latch) return false;
    if (!simt_read_comparison(in, &c, &small, &large, &wide, &opposite)) return false;
    size_t at = (size_t)(in - d->f->insns);
    bool goes = opposite == last->guard_negate, first = find_counter(d, b, small, at, &one.reg, &one.after),
         second = find_counter(d, b, large, at, &two.reg, &two.after);
    if (first && second) return c.is_signed && !c.equals && find_meeting(d, &one, &two, goes, wide, l);
    if ((!first && !second) || (c.equals && goes)) return false;
    const struct side *counter = first ? &one : &two;
    const struct rider *r = &d->flow->riders[counter->reg];
    l->until_equal = c.equals;
    l->up = first == goes;
    l->inclusive = !goes;
    l->is_signed = c.is_signed;
    l->after = counter->after;
    l->start = simt_start_of(d, counter->reg);
    l->step = simt_step_at(d, counter->reg, r->add);
    l->bound = simt_term_at(d, first ? large : small, wide, at);
    return l->start >= 0 && l->step >= 0 && l->bound >= 0;
}

static bool find_loops(struct decoder *d)
{
    struct flow *w = d->flow;
    for (uint32_t k = 0; k < w->count && w->body_count < MOST_LOOPS; k++) {
        const struct flow_block *at = block_at(d, k);
        if (at->taken == NO_BLOCK || at->taken > k || at->next == NO_BLOCK || !comparison_of(d, k)) continue;
        struct body *b = &w->bodies[w->body_count];
        *b = (struct body){at->taken, k, rt_calloc(w->count, 1), false};
        if (!b->marks) return false;
        if (!mark_body(d, b)) {
            free(b->marks);
            continue;
        }
        search_behind(d, b, NULL);
        for (uint32_t n = 0; n < w->count; n++)
            if (w->seen[n]) b->marks[n] |= BEHIND;
        find_riders(d, (int)w->body_count++);
    }
    return true;
}

static bool bound_loops(struct decoder *d)
{
    struct simt_program *p = d->program;
    d->fn->loop_first = p->loop_count;
    for (size_t k = 0; k < d->flow->body_count; k++) {
        const struct body *b = &d->flow->bodies[k];
        if (!simt_grow(d, &p->loops, p->loop_count, &d->loop_capacity, sizeof *p->loops)) return false;
        p->loops[p->loop_count++] = (struct counted_loop){
            .top = b->top, .latch = b->latch, .start = -1, .step = -1, .bound = -1, .one_exit = b->one_exit};
    }
    d->fn->loop_count = (uint32_t)d->flow->body_count;
    for (uint32_t k = 0; k < d->fn->loop_count; k++) {
        struct counted_loop l = p->loops[d->fn->loop_first + k];
        if (!find_bound(d, &d->flow->bodies[k], &l)) l.bound = -1;
        p->loops[d->fn->loop_first + k] = l;
    }
    return true;
}

/* ---- conditions of branches ---- */
static bool find_ways(struct decoder *d)
{
    struct simt_program *p = d->program;
    for (uint32_t k = 0; k < d->flow->count; k++) {
        const struct ptx_insn *in = comparison_of(d, k);
        const struct ptx_operand *a, *b;
        struct condition c;
        bool wide, opposite;
        if (!in || in->guard >= 0 || !ptx_is(in, "setp") || !simt_read_comparison(in, &c, &a, &b, &wide, &opposite))
            continue;
        size_t at = (size_t)(in - d->f->insns);
        c.a = simt_term_at(d, a, wide, at);
        c.b = simt_term_at(d, b, wide, at);
        if (c.a < 0 || c.b < 0) continue;
        if (!simt_grow(d, &p->ways, p->way_count, &d->way_capacity, sizeof *p->ways)) return false;
        p->ways[p->way_count++] = c;
        block_at(d, k)->condition = (int)p->way_count - 1;
        block_at(d, k)->opposite = opposite != d->f->insns[end_of(d, k) - 1].guard_negate;
    }
    return true;
}

/* ---- of a function ---- */
const struct ptx_insn *simt_flow_maker(const struct decoder *d, int reg, size_t insn)
{
    const struct flow *w = d->flow;
    uint32_t block = w->block_of[insn];
    for (uint32_t n = 0; n < w->count && block != NO_BLOCK; n++) {
        while (insn-- > block_at(d, block)->first)
            if (simt_writes(&d->f->insns[insn], reg)) return &d->f->insns[insn];
        block = w->before[block];
        if (block != NO_BLOCK) insn = end_of(d, block);
    }
    return NULL;
}

size_t simt_loop_start(const struct decoder *d, int reg, uint32_t number)
{
    return d->flow->riders[reg].starts[number];
}

void simt_loop_way(const struct decoder *d, int reg, uint32_t number, size_t insn, bool or_loop, struct loop_use *use)
{
    const struct flow *w = d->flow;
    const struct rider *r = &w->riders[reg];
    uint32_t top = r->body >= 0 ? w->bodies[r->body].top : NO_BLOCK;
    *use = (struct loop_use){.place = LOOP_BEFORE,
                             .block = insn == NOT_THERE ? top : w->block_of[insn],
                             .also = or_loop ? top : NO_BLOCK,
                             .starts = {w->block_of[r->starts[number]]},
                             .start_count = 1,
                             .plain = -1};
    for (uint32_t k = 0; k < r->start_count; k++)
        if (k != number) use->starts[use->start_count++] = w->block_of[r->starts[k]];
}

/* Marks where blocks on the stack lead without a start. */
static void search_on(const struct decoder *d, const struct rider *r, size_t count)
{
    struct flow *w = d->flow;
    while (count) {
        uint32_t k = w->stack[--count];
        bool stops = false;
        for (uint32_t n = 0; n < r->start_count; n++) stops |= w->block_of[r->starts[n]] == k;
        if (stops) continue;
        go_on(w, block_at(d, k)->next, &count);
        go_on(w, block_at(d, k)->taken, &count);
    }
}

/* Marks where a start leads without another one. */
static void search_from(const struct decoder *d, const struct rider *r, uint32_t start)
{
    struct flow *w = d->flow;
    size_t count = 0;
    memset(w->seen, 0, w->count * sizeof *w->seen);
    go_on(w, block_at(d, w->block_of[start])->next, &count);
    go_on(w, block_at(d, w->block_of[start])->taken, &count);
    search_on(d, r, count);
}

/* May the launch come to the instruction before any of the starts? */
static bool may_be_unset(const struct decoder *d, const struct rider *r, size_t insn)
{
    struct flow *w = d->flow;
    size_t count = 0;
    memset(w->seen, 0, w->count * sizeof *w->seen);
    for (uint32_t k = 0; k < r->start_count; k++)
        if (r->starts[k] < insn && w->block_of[r->starts[k]] == w->block_of[insn]) return false;
    go_on(w, 0, &count);
    search_on(d, r, count);
    return w->seen[w->block_of[insn]];
}

bool simt_find_starts(const struct decoder *d, int reg, size_t insn)
{
    struct rider *r = &d->flow->riders[reg];
    for (size_t k = 0; !r->found && k < d->f->insn_count; k++) {
        const struct ptx_insn *in = &d->f->insns[k];
        if (!simt_writes(in, reg)) continue;
        r->odd |= in->operands[0].kind != PTX_OP_REG || in->guard >= 0 || r->start_count == MOST_STARTS;
        if (!r->odd) r->starts[r->start_count++] = k;
    }
    r->found = true;
    return !r->odd && !may_be_unset(d, r, insn);
}

unsigned simt_loop_starts(const struct decoder *d, int reg, size_t insn, struct loop_use *use)
{
    const struct flow *w = d->flow;
    const struct rider *r = &w->riders[reg];
    uint32_t block = insn == NOT_THERE ? w->bodies[r->body].top : w->block_of[insn];
    unsigned which = 0;
    use->start_count = r->start_count;
    for (uint32_t k = r->start_count; insn != NOT_THERE && k-- > 0;) /* in order */
        if (w->block_of[r->starts[k]] == block && r->starts[k] < insn) return 1u << k;
    for (uint32_t k = 0; k < r->start_count; k++) {
        search_from(d, r, (uint32_t)r->starts[k]);
        which |= (unsigned)w->seen[block] << k;
    }
    return which;
}

enum loop_holds simt_loop_use(const struct decoder *d, int reg, size_t insn, struct loop_use *use)
{
    const struct flow *w = d->flow;
    const struct rider *r = &w->riders[reg];
    if (r->body < 0) return LOOP_NONE;
    const struct body *b = &w->bodies[r->body];
    uint32_t block = w->block_of[insn];
    if (!b->marks[block]) return LOOP_START;
    *use = (struct loop_use){.loop = d->fn->loop_first + (uint32_t)r->body, .block = block};
    if (b->marks[block] & WITHIN) {
        use->place = block == b->latch && insn > r->add ? LOOP_LATE : LOOP_WITHIN;
        return LOOP_USE;
    }
    search_behind(d, b, r);
    if (!w->seen[block]) return LOOP_START;
    struct loop_use all;
    unsigned before = simt_loop_starts(d, reg, NOT_THERE, &all);
    for (uint32_t k = 0; k < r->start_count; k++) {
        if (w->block_of[r->starts[k]] == block && r->starts[k] < insn) return LOOP_START;
        if (before >> k & 1) use->starts[use->start_count++] = w->block_of[r->starts[k]];
    }
    use->place = LOOP_BEHIND;
    return LOOP_USE;
}

void simt_forget_flow(struct decoder *d)
{
    struct flow *w = d->flow;
    for (size_t k = 0; w && k < w->body_count; k++) free(w->bodies[k].marks);
    if (w) {
        free(w->block_of);
        free(w->before);
        free(w->riders);
        free(w->seen);
        free(w->stack);
    }
    free(w);
    free(d->flow_terms);
    d->flow = NULL;
    d->flow_terms = NULL;
}

static bool make_flow(struct decoder *d)
{
    size_t insns = d->f->insn_count + 1, registers = d->f->reg_count + 1;
    struct flow *w = d->flow = rt_calloc(1, sizeof *w);
    if (!w) return false;
    w->block_of = rt_calloc(insns, sizeof *w->block_of);
    w->before = rt_alloc(insns * sizeof *w->before);
    w->riders = rt_alloc(registers * sizeof *w->riders);
    w->seen = rt_calloc(insns, sizeof *w->seen);
    w->stack = rt_alloc(insns * sizeof *w->stack);
    if (!w->block_of || !w->before || !w->riders || !w->seen || !w->stack || !make_blocks(d)) return false;
    find_before(d);
    for (size_t r = 0; r < registers; r++) w->riders[r] = (struct rider){.body = -1};
    return find_loops(d);
}

bool simt_find_flow(struct decoder *d)
{
    d->flow = NULL;
    d->flow_terms = NULL;
    if (!d->f->is_entry || !d->terms || !can_follow(d->f)) return true;
    if (!make_flow(d)) return simt_decode_fail(d, RT_NOMEM, "out of host memory");
    if (!d->flow->body_count) {
        d->program->block_count = d->fn->block_first;
        d->fn->block_count = 0;
        simt_forget_flow(d);
        return true;
    }
    size_t terms = 2 * d->f->reg_count + 2;
    d->flow_terms = rt_alloc(terms * sizeof *d->flow_terms);
    if (!d->flow_terms) return simt_decode_fail(d, RT_NOMEM, "out of host memory");
    for (size_t k = 0; k < terms; k++) d->flow_terms[k] = TERM_NOT_SEEN;
    return bound_loops(d) && find_ways(d);
}
