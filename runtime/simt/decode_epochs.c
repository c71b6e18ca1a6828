/* Loads of shared memory that no store can race with, by the barriers alone: whoever comes to the load has gone past
 * other numbers of them than whoever comes to a store to the variable. Threads of a block that have gone past as many
 * barriers are in one epoch, since each barrier waits for all; the numbers are counted as they are, and by what is left
 * when they are divided, for loops in which stores and loads take turns.
 *
 * In the same way, atomics in shared memory, and what a compare-and-swap there then expects, that no plain access to
 * their variable can meet: these race with nobody, whatever words they go to. */
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
    return barrier && !ptx_has_mod_like(in, "warp");
}

/* Does it wait for all threads of the block, and those that come by any other such one? Those of a cluster arrive and
 * wait, and have no .sync: so a function with one of them is not looked at. */
static bool waits_for_all(const struct ptx_insn *in)
{
    const struct ptx_operand *o = in->operands;
    return ptx_has_mod_like(in, "sync") && in->operand_count == 1 && o->kind == PTX_OP_IMM && o->imm == 0;
}

static bool touches_shared(const struct ptx_insn *in, const char *opcode)
{
    return !strcmp(in->opcode, opcode) && ptx_has_mod_like(in, "shared");
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

static bool reach(const struct epochs *t, size_t to, numbers set)
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
    bool changed = s->kind == STEP_JUMP && reach(t, s->target, out);
    if (s->kind == STEP_BARRIER) out = (s->guarded ? out : 0) | one_more(out, divisor);
    if (s->guarded || s->kind == STEP_ON || s->kind == STEP_BARRIER) changed |= reach(t, k + 1, out);
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

/* ---- among atomics ---- */
#define DYNAMIC VARIABLES                               /* all that has no size, in one */
struct touch {                                          /* of shared memory, by an instruction */
    enum { TOUCH_NOT, TOUCH_PLAIN, TOUCH_ATOMIC } kind; /* guesses are as atomics */
    int variable;                                       /* VARIABLES of them and DYNAMIC; -1: it is not known */
};

/* False: what it does goes on behind it, is done by others, or is not known. */
static bool read_touch(struct decoder *d, const struct ptx_insn *in, struct touch *t)
{
    static const char *const moves[] = {"ld", "st", "ldmatrix", "stmatrix", "wmma"}, *const atomics[] = {"atom", "red"},
                             *const none[] = {"tex", "tld4", "suld", "sust", "sured", "prefetch", "prefetchu"};
    const char *const elsewhere[] = {"global", "local", "param", "const"};
    *t = (struct touch){TOUCH_NOT, -1};
    if (!strcmp(in->opcode, "call")) return simt_is_harmless_call(in);
    if (!ptx_address(in) || ONE_OF(in->opcode, none)) return true;
    for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
        if (ptx_has_mod_like(in, elsewhere[k])) return strncmp(in->opcode, "cp", 2) != 0;
    bool atomic = ONE_OF(in->opcode, atomics);
    if ((!atomic && !ONE_OF(in->opcode, moves)) || ptx_has_mod_like(in, "async")) return false;
    int n = simt_origin_of_first(d, in) - SHARED_ORIGIN;
    if (n >= 0 && !d->program->shared[n].bytes)
        n = DYNAMIC;
    else if (n >= VARIABLES)
        n = -1;
    *t = (struct touch){atomic ? TOUCH_ATOMIC : TOUCH_PLAIN, n < 0 ? -1 : n};
    return true;
}

/* False: some can't be told. *any: there are atomics of a variable. */
static bool read_touches(struct decoder *d, struct touch *touches, bool *any)
{
    const struct simt_program *p = d->program;
    for (size_t k = 0; k < d->f->insn_count; k++) {
        if (!read_touch(d, &d->f->insns[k], &touches[k])) return false;
        *any |= touches[k].kind == TOUCH_ATOMIC && touches[k].variable >= 0;
    }
    for (uint32_t pc = d->fn->start; pc < p->code_count; pc++)
        if (p->places[pc].guesses && touches[p->places[pc].index].kind)
            touches[p->places[pc].index].kind = TOUCH_ATOMIC;
    return true;
}

/* Marks the code of atomics that are in no epoch with a plain access to their variable. */
static void mark_among(const struct epochs *t, const struct touch *touches)
{
    const struct simt_program *p = t->d->program;
    numbers plain[VARIABLES + 1] = {0}, others = 0;
    for (size_t k = 0; k < t->f->insn_count; k++)
        if (touches[k].kind == TOUCH_PLAIN)
            *(touches[k].variable < 0 ? &others : &plain[touches[k].variable]) |= t->in[k];
    for (uint32_t pc = t->d->fn->start; pc < p->code_count; pc++) {
        const struct insn *i = &p->code[pc];
        uint32_t k = p->places[pc].index;
        const struct touch *at = &touches[k];
        if (i->space != PTX_SHARED || (i->memory != MEMORY_ATOMIC && !p->places[pc].guesses)) continue;
        bool alone = at->kind == TOUCH_ATOMIC && at->variable >= 0 && !(t->in[k] & (plain[at->variable] | others));
        p->places[pc].among_atomics |= alone;
    }
}

bool simt_find_among_atomics(struct decoder *d)
{
    struct epochs t = {.d = d, .f = d->f};
    bool any = false;
    if (!d->f->is_entry || d->f->insn_count == 0) return true;
    struct touch *touches = rt_alloc(d->f->insn_count * sizeof *touches);
    t.in = rt_alloc((d->f->insn_count + 1) * sizeof *t.in);
    t.steps = rt_alloc((d->f->insn_count + 1) * sizeof *t.steps);
    bool ok = touches && t.in && t.steps;
    if (ok && read_touches(d, touches, &any) && any && read_steps(&t))
        for (unsigned divisor = 0; divisor <= MOST_LEFT; divisor += divisor ? 1 : 2) {
            count(&t, divisor);
            mark_among(&t, touches);
        }
    free(touches);
    free(t.in);
    free(t.steps);
    return ok ? true : simt_decode_fail(d, RT_NOMEM, "out of host memory");
}
