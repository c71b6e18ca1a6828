/* Loads of shared memory that no store can race with, by the barriers alone: whoever comes to the load has gone past
 * other numbers of them than whoever comes to a store to the variable. Threads of a block that have gone past as many
 * barriers are in one epoch, since each barrier waits for all; the numbers are counted as they are, and by what is left
 * when they are divided, for loops in which stores and loads take turns. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define LAST      127 /* barriers, or more */
#define MOST_LEFT 6
#define VARIABLES 64 /* of a program, that are looked at */

typedef unsigned __int128 numbers; /* by bits */
#define ONE ((numbers)1)

struct step { /* an instruction, as far as it matters here */
    enum { STEP_ON, STEP_JUMP, STEP_END, STEP_BARRIER } kind;
    bool guarded, loads, stores; /* loads from shared memory, stores to it */
    int variable;                /* that it touches there: one of those that are looked at, or -1 */
    size_t target;               /* of a jump */
};
struct epochs {
    struct decoder *d;
    const struct ptx_func *f;
    struct step *steps; /* by instruction, as `in` */
    numbers *in;        /* of barriers before it */
};

static bool is_barrier(const struct ptx_insn *in)
{
    bool barrier = !strcmp(in->opcode, "bar") || !strcmp(in->opcode, "barrier");
    return barrier && !simt_has_mod_like(in, "warp");
}

/* Does it wait for all threads of the block, and those that come by any other such one? Those of a cluster arrive and
 * wait, and have no .sync: so a function with one of them is not looked at. */
static bool waits_for_all(const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    return simt_has_mod_like(in, "sync") && in->operand_count == 1 && o->kind == PTX_OP_IMM && o->imm == 0;
}

static bool touches_shared(const struct ptx_insn *in, const char *opcode)
{
    return !strcmp(in->opcode, opcode) && simt_has_mod_like(in, "shared");
}

/* False: it can't be followed. */
static bool read_step(struct decoder *d, const struct ptx_insn *in, struct step *s)
{
    bool jumps = !strcmp(in->opcode, "bra"), ends = !strcmp(in->opcode, "ret") || !strcmp(in->opcode, "exit");
    if (jumps && (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL)) return false;
    if (!strcmp(in->opcode, "brx") || (is_barrier(in) && !waits_for_all(in))) return false;
    *s = (struct step){.kind = jumps            ? STEP_JUMP
                               : ends           ? STEP_END
                               : is_barrier(in) ? STEP_BARRIER
                                                : STEP_ON,
                       .guarded = in->guard >= 0,
                       .loads = touches_shared(in, "ld"),
                       .stores = touches_shared(in, "st"),
                       .variable = -1,
                       .target = jumps ? (size_t)in->operands[0].imm : 0};
    if (!s->loads && !s->stores) return true;
    int n = simt_origin_of_first(d, in) - SHARED_ORIGIN;
    if (n >= 0 && n < VARIABLES && d->program->shared[n].bytes) s->variable = n;
    return true;
}

static bool read_steps(const struct epochs *t)
{
    for (size_t k = 0; k < t->f->insn_count; k++)
        if (!read_step(t->d, &t->f->insns[k], &t->steps[k])) return false;
    return t->f->insn_count > 0;
}

/* One more barrier; by what is left of `divisor`, or, where that is 0, up to LAST. */
static numbers one_more(numbers set, unsigned divisor)
{
    if (!divisor) return set << 1 | (set & ONE << LAST);
    return (set << 1 | set >> (divisor - 1)) & ((ONE << divisor) - 1);
}

static bool add(const struct epochs *t, size_t to, numbers set)
{
    numbers was = to < t->f->insn_count ? t->in[to] : set;
    if (to < t->f->insn_count) t->in[to] |= set;
    return (was | set) != was;
}

/* Sends on what comes to an instruction; true when that changed anything. */
static bool flow(const struct epochs *t, size_t k, unsigned divisor)
{
    const struct step *s = &t->steps[k];
    numbers out = t->in[k];
    bool changed = s->kind == STEP_JUMP && add(t, s->target, out);
    if (s->kind == STEP_BARRIER) out = (s->guarded ? out : 0) | one_more(out, divisor);
    if (s->guarded || s->kind == STEP_ON || s->kind == STEP_BARRIER) changed |= add(t, k + 1, out);
    return changed;
}

static void count(const struct epochs *t, unsigned divisor)
{
    memset(t->in, 0, t->f->insn_count * sizeof *t->in);
    t->in[0] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < t->f->insn_count; k++) changed |= flow(t, k, divisor);
    }
}

/* Marks the loads that are in no epoch with a store to their variable. */
static void mark(const struct epochs *t, bool *marks)
{
    numbers stores[VARIABLES] = {0}, others = 0;
    for (size_t k = 0; k < t->f->insn_count; k++) {
        const struct step *s = &t->steps[k];
        if (s->stores) *(s->variable < 0 ? &others : &stores[s->variable]) |= t->in[k];
    }
    for (size_t k = 0; k < t->f->insn_count; k++) {
        const struct step *s = &t->steps[k];
        marks[k] |= s->loads && s->variable >= 0 && !(t->in[k] & (stores[s->variable] | others));
    }
}

static uint32_t first_of(numbers set)
{
    uint64_t low = (uint64_t)set;
    return (uint32_t)(low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64)));
}

/* Notes from which epoch on the loads need their variables. Those without an epoch before are no such loads. */
static bool note_variables(const struct epochs *t, bool *marks)
{
    struct simt_program *p = t->d->program;
    numbers at[VARIABLES] = {0};
    for (size_t k = 0; k < t->f->insn_count; k++) {
        marks[k] &= t->in[k] && !(t->in[k] & 1) && t->in[k] != ONE << LAST;
        if (marks[k]) at[t->steps[k].variable] |= t->in[k];
    }
    for (int n = 0; n < VARIABLES; n++) {
        if (!at[n]) continue;
        struct still_variable *more = rt_realloc(p->still, (p->still_count + 1) * sizeof *more);
        if (!more) return false;
        p->still = more;
        more[p->still_count++] = (struct still_variable){(uint32_t)n, first_of(at[n])};
        t->d->fn->still_count++;
    }
    return true;
}

bool simt_find_still(struct decoder *d, bool *marks, bool *any)
{
    struct epochs t = {.d = d, .f = d->f};
    d->fn->still_first = d->program->still_count;
    d->fn->still_count = 0;
    *any = false;
    t.in = rt_alloc((d->f->insn_count + 1) * sizeof *t.in);
    t.steps = rt_alloc((d->f->insn_count + 1) * sizeof *t.steps);
    bool ok = t.in && t.steps;
    if (ok && read_steps(&t)) {
        for (unsigned divisor = MOST_LEFT; divisor > 1; divisor--) {
            count(&t, divisor);
            mark(&t, marks);
        }
        count(&t, 0); /* the last one: what is noted of variables is read from the numbers as they are */
        mark(&t, marks);
        ok = note_variables(&t, marks);
    }
    free(t.in);
    free(t.steps);
    *any = d->fn->still_count > 0;
    return ok;
}
