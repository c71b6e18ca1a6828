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

struct epochs {
    struct decoder *d;
    const struct ptx_func *f;
    numbers *in; /* by instruction: of barriers before it */
};

static bool has_mod(const struct ptx_insn *in, const char *mod)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strncmp(in->mods[k], mod, strlen(mod))) return true;
    return false;
}

static bool is_barrier(const struct ptx_insn *in)
{
    bool barrier = !strcmp(in->opcode, "bar") || !strcmp(in->opcode, "barrier");
    return barrier && !has_mod(in, "warp");
}

/* Does it wait for all threads of the block, and those that come by any other such one? */
static bool waits_for_all(const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    return has_mod(in, "sync") && in->operand_count == 1 && o->kind == PTX_OP_IMM && o->imm == 0;
}

static bool can_follow(const struct ptx_func *f)
{
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        bool jumps = !strcmp(in->opcode, "bra");
        if (jumps && (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL)) return false;
        if (!strcmp(in->opcode, "brx") || (is_barrier(in) && !waits_for_all(in))) return false;
    }
    return true;
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
    const struct ptx_insn *in = &t->f->insns[k];
    numbers out = t->in[k];
    bool jumps = !strcmp(in->opcode, "bra"), ends = !strcmp(in->opcode, "ret") || !strcmp(in->opcode, "exit");
    bool changed = jumps && add(t, (size_t)in->operands[0].imm, out);
    if (is_barrier(in)) out = (in->guard >= 0 ? out : 0) | one_more(out, divisor);
    if (in->guard >= 0 || !(jumps || ends)) changed |= add(t, k + 1, out);
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

/* The variable that an instruction touches in shared memory: one of those that are looked at, or -1. */
static int variable_of(const struct epochs *t, const struct ptx_insn *in)
{
    int n = simt_origin_of_first(t->d, in) - SHARED_ORIGIN;
    return n >= 0 && n < VARIABLES && t->d->program->shared[n].bytes ? n : -1;
}

static bool touches(const struct ptx_insn *in, const char *opcode)
{
    return !strcmp(in->opcode, opcode) && has_mod(in, "shared");
}

/* Marks the loads that are in no epoch with a store to their variable. */
static void mark(const struct epochs *t, bool *marks)
{
    numbers stores[VARIABLES] = {0}, others = 0;
    for (size_t k = 0; k < t->f->insn_count; k++) {
        const struct ptx_insn *in = &t->f->insns[k];
        int n = variable_of(t, in);
        if (touches(in, "st")) *(n < 0 ? &others : &stores[n]) |= t->in[k];
    }
    for (size_t k = 0; k < t->f->insn_count; k++) {
        const struct ptx_insn *in = &t->f->insns[k];
        int n = touches(in, "ld") ? variable_of(t, in) : -1;
        marks[k] |= n >= 0 && !(t->in[k] & (stores[n] | others));
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
        if (marks[k]) at[variable_of(t, &t->f->insns[k])] |= t->in[k];
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
    struct epochs t = {.d = d, .f = d->f, .in = rt_alloc((d->f->insn_count + 1) * sizeof *t.in)};
    d->fn->still_first = d->program->still_count;
    d->fn->still_count = 0;
    *any = false;
    if (!t.in) return false;
    bool ok = true;
    if (d->f->insn_count && can_follow(d->f)) {
        for (unsigned divisor = MOST_LEFT; divisor != 1; divisor = divisor == 2 ? 0 : divisor - 1) {
            count(&t, divisor);
            mark(&t, marks);
            if (!divisor) break;
        }
        ok = note_variables(&t, marks);
    }
    free(t.in);
    *any = d->fn->still_count > 0;
    return ok;
}
