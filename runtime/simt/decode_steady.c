/* Does each thread do the same in shared memory in every block of a launch? Then what is seen of one block, that its
 * threads do not race there and read nothing that was never written, holds for all of them (check_steady.c).
 *
 * It does when what an access, a barrier and the branches between them depend on is computed from the thread's index
 * and the launch alone: neither from the block's index nor from memory, but for what all blocks find in the same place,
 * as in a table, where nobody stores meanwhile (decode_fixed.c). Branches that depend on more, as where a loop
 * goes over an array, may lead round instructions that don't matter for that, if all their ways lead to the same next
 * one that does.
 *
 * Loads that no store can race with (decode_epochs.c) may differ from block to block, as where a loop compares strings
 * as far as they are the same: of those it is only seen that they are within a variable all of which was written.
 *
 * Where that is not so of a function it may be of some of its variables, since others do not meet their words; and
 * what a thread does where data says so may be no more than it does anyway (decode_covered.c).
 *
 * A branch may also depend on a comparison of terms (decode_terms.c) that the block's index is part of, as in
 * `if (i < n)`: then blocks do the same in which it comes out the same for all threads, and such comparisons are the
 * function's conditions.
 *
 * Where that is not enough, what the block's index is part of may be left to choices, as in `max(first - 1, 0)` for the
 * halo of a tile: away from the edges all blocks choose the same number, and those do the same that have the same one.
 */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MOST      20000 /* instructions */
#define VARIABLES 64    /* of a program, that are looked at one by one */
enum { NO_VARIABLE = -1, ANY_VARIABLE = -2 };

struct steady {
    struct decoder *d;
    const struct ptx_func *f;
    bool *differs;                /* by register: from block to block */
    bool *unsure;                 /* likewise, where all conditions come out the same */
    bool *varies;                 /* one of them */
    struct condition *conditions; /* by instruction; a below 0: it is none */
    struct choice *choices;       /* likewise */
    bool *needed;                 /* by register */
    bool *matters;                /* by instruction */
    bool *covered;                /* likewise: touches what its thread has touched (decode_covered.c) */
    bool *fixed;                  /* likewise: loads from memory that does not change */
    const bool *may_differ;       /* likewise: does not matter; NULL: all that touch shared memory do */
    bool *seen;                   /* likewise, by a search */
    size_t *stack;
    bool changed, fails;
    bool even; /* it is accesses to global memory that matter, whatever their addresses */
};

#define NO_CONDITION (-1)

/* ---- registers ---- */
typedef void visitor(struct steady *s, int reg);

static void visit(struct steady *s, const struct ptx_operand *o, visitor *f)
{
    bool has = o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS;
    if (has && o->reg >= 0 && (size_t)o->reg < s->f->reg_count) f(s, o->reg);
    for (size_t k = 0; k < o->item_count; k++) visit(s, &o->items[k], f);
}

static void set(struct steady *s, bool *of, int reg)
{
    s->changed |= !of[reg];
    of[reg] = true;
}
static void vary(struct steady *s, int reg)
{
    set(s, s->varies, reg);
}
static void need(struct steady *s, int reg)
{
    set(s, s->needed, reg);
}
static void look(struct steady *s, int reg)
{
    s->fails |= s->varies[reg];
}
static void look_needed(struct steady *s, int reg)
{
    s->fails |= s->needed[reg];
}

/* Has an operand a register for which f would find something? */
static bool any(struct steady *s, const struct ptx_operand *o, visitor *f)
{
    bool was = s->fails, found;
    s->fails = false;
    visit(s, o, f);
    found = s->fails;
    s->fails = was;
    return found;
}

static bool guard_varies(const struct steady *s, const struct ptx_insn *in)
{
    return in->guard >= 0 && s->varies[in->guard];
}

/* ---- what varies ---- */
static bool is_special_of_all(const char *name)
{
    enum special r;
    if (!simt_find_special(name, &r)) return false;
    return r <= SR_NTID_Z || (r >= SR_NCTAID_X && r <= SR_NWARPID) || (r >= SR_LANEMASK_EQ && r <= SR_LANEMASK_GT);
}

static bool source_varies(struct steady *s, const struct ptx_operand *o)
{
    if (o->kind == PTX_OP_SPECIAL) return !is_special_of_all(o->symbol);
    return any(s, o, look);
}

/* Does it load what is the same in all blocks, if its address is? */
static bool loads_fixed(const struct steady *s, const struct ptx_insn *in)
{
    if (strcmp(in->opcode, "ld") != 0) return false;
    return ptx_has_mod_like(in, "param") || ptx_has_mod_like(in, "const") || s->fixed[in - s->f->insns];
}

/* Is its result part of a pattern? */
static bool is_settled(const struct steady *s, size_t insn)
{
    return s->conditions[insn].a >= 0 || s->choices[insn].a >= 0;
}

static bool result_varies(struct steady *s, const struct ptx_insn *in)
{
    static const char *const pure[] = {"mov",   "cvta", "add",  "sub", "mul",   "mad",   "shl",  "shr",  "and",
                                       "or",    "xor",  "not",  "neg", "cvt",   "min",   "max",  "setp", "set",
                                       "selp",  "abs",  "div",  "rem", "bfe",   "bfi",   "popc", "clz",  "brev",
                                       "bfind", "prmt", "lop3", "shf", "mul24", "mad24", "fma",  "sad",  "slct"};
    if (s->varies == s->unsure && is_settled(s, (size_t)(in - s->f->insns))) return false;
    if (guard_varies(s, in) || !(ONE_OF(in->opcode, pure) || loads_fixed(s, in))) return true;
    for (size_t k = 1; k < in->operand_count; k++)
        if (source_varies(s, &in->operands[k])) return true;
    return false;
}

static bool has_result(const struct ptx_insn *in)
{
    static const char *const without[] = {"st", "red", "bra", "brx", "bar", "barrier", "ret", "exit", "trap"};
    return in->operand_count && !ONE_OF(in->opcode, without);
}

static void find_varying(struct steady *s, bool *varies)
{
    s->varies = varies;
    do {
        s->changed = false;
        for (size_t k = 0; k < s->f->insn_count; k++)
            if (has_result(&s->f->insns[k]) && result_varies(s, &s->f->insns[k]))
                visit(s, &s->f->insns[k].operands[0], vary);
    } while (s->changed);
}

/* ---- conditions ---- */
static bool read_condition(struct steady *s, const struct ptx_insn *in, struct condition *c)
{
    const struct ptx_operand *a, *b;
    bool wide, opposite;
    if (!simt_read_comparison(in, c, &a, &b, &wide, &opposite)) return false;
    c->a = simt_term_of(s->d, a, wide);
    c->b = simt_term_of(s->d, b, wide);
    return c->a >= 0 && c->b >= 0;
}

static void find_conditions(struct steady *s)
{
    for (size_t k = 0; k < s->f->insn_count; k++) {
        const struct ptx_insn *in = &s->f->insns[k];
        bool compares = !strcmp(in->opcode, "setp") && in->operand_count && any(s, &in->operands[0], look);
        if (!compares || !read_condition(s, in, &s->conditions[k])) s->conditions[k].a = NO_CONDITION;
    }
}

static bool same_term(const struct steady *s, int a, int b)
{
    const struct term *x = &s->d->program->terms[a], *y = &s->d->program->terms[b];
    return a == b || (x->kind == TERM_CONST && y->kind == TERM_CONST && x->value == y->value && x->wide == y->wide);
}

static bool same_condition(const struct steady *s, const struct condition *a, const struct condition *b)
{
    return same_term(s, a->a, b->a) && same_term(s, a->b, b->b) && a->equals == b->equals &&
           a->is_signed == b->is_signed;
}

/* Keeps those that matter, behind `first`. False: no memory. */
static bool keep_conditions_in(struct steady *s, uint32_t first, uint32_t *count)
{
    struct simt_program *p = s->d->program;
    for (size_t k = 0; k < s->f->insn_count; k++) {
        if (!s->matters[k] || s->conditions[k].a < 0) continue;
        uint32_t n = 0;
        while (n < *count && !same_condition(s, &p->conditions[first + n], &s->conditions[k])) n++;
        if (n < *count) continue;
        struct condition *more = rt_realloc(p->conditions, (p->condition_count + 1) * sizeof *more);
        if (!more) return false;
        p->conditions = more;
        more[p->condition_count++] = s->conditions[k];
        ++*count;
    }
    return true;
}
static bool keep_conditions(struct steady *s)
{
    return keep_conditions_in(s, s->d->fn->condition_first, &s->d->fn->condition_count);
}

/* ---- choices ---- */
static void find_choices(struct steady *s)
{
    for (size_t k = 0; k < s->f->insn_count; k++) {
        const struct ptx_insn *in = &s->f->insns[k];
        bool differs = in->operand_count && any(s, &in->operands[0], look);
        if (!differs || !simt_read_choice(s->d, in, &s->choices[k])) s->choices[k].a = NO_CONDITION;
    }
}

/* Keeps those that matter. False: no memory. */
static bool keep_choices(struct steady *s)
{
    struct simt_program *p = s->d->program;
    struct function *fn = s->d->fn;
    for (size_t k = 0; k < s->f->insn_count; k++) {
        if (!s->matters[k] || s->choices[k].a < 0) continue;
        struct choice *more = rt_realloc(p->choices, (p->choice_count + 1) * sizeof *more);
        if (!more) return false;
        p->choices = more;
        more[p->choice_count++] = s->choices[k];
        fn->choice_count++;
    }
    return true;
}

/* ---- what matters ---- */
/* Memory: 1 shared, by plain loads and stores; 0 elsewhere; -1 anything else. */
static int memory_of(const struct ptx_insn *in)
{
    static const char *const plain[] = {"ld", "st"}, *const elsewhere[] = {"ld", "st", "atom", "red", "prefetch"};
    static const char *const strong[] = {"volatile", "relaxed", "acquire", "release", "mmio"};
    bool shared = ptx_has_mod_like(in, "shared");
    if (!ptx_address(in)) return 0;
    for (size_t k = 0; shared && k < sizeof strong / sizeof *strong; k++)
        if (ptx_has_mod_like(in, strong[k])) return -1;
    if (shared) return ONE_OF(in->opcode, plain) && !ptx_has_mod_like(in, "async") ? 1 : -1;
    bool there = ptx_has_mod_like(in, "global") || ptx_has_mod_like(in, "local") || ptx_has_mod_like(in, "param") ||
                 ptx_has_mod_like(in, "const");
    return there && ONE_OF(in->opcode, elsewhere) && !ptx_has_mod_like(in, "async") ? 0 : -1;
}

bool simt_is_harmless_call(const struct ptx_insn *in)
{
    for (size_t k = 0; k < in->operand_count; k++)
        if (in->operands[k].kind == PTX_OP_SYMBOL)
            return !strcmp(in->operands[k].symbol, "vprintf") || !strcmp(in->operands[k].symbol, "__assertfail");
    return false;
}

/* Marks what matters by itself. False: it can't be told. */
static bool begin(struct steady *s, size_t k)
{
    static const char *const meets[] = {"bar", "barrier"}, *const ends[] = {"ret", "exit", "trap"};
    const struct ptx_insn *in = &s->f->insns[k];
    int memory = memory_of(in);
    bool branch = !strcmp(in->opcode, "bra"), call = !strcmp(in->opcode, "call");
    if (memory < 0 || !strcmp(in->opcode, "brx") || (call && !simt_is_harmless_call(in))) return false;
    if (branch) {
        s->matters[k] = in->guard >= 0 && !guard_varies(s, in);
        if (s->matters[k]) need(s, in->guard);
        return true;
    }
    if (ONE_OF(in->opcode, meets)) {
        if (ptx_has_mod_like(in, "cluster")) return false;
        for (size_t o = 0; o < in->operand_count; o++) visit(s, &in->operands[o], need);
    } else if (memory > 0) {
        if (s->may_differ && s->may_differ[k]) return true;
        for (size_t o = 0; o < in->operand_count; o++)
            if (in->operands[o].kind == PTX_OP_ADDRESS) visit(s, &in->operands[o], need);
    } else if (!ONE_OF(in->opcode, ends) && !(s->even && ptx_address(in) && ptx_has_mod_like(in, "global"))) {
        return true;
    }
    s->matters[k] = true;
    if (in->guard >= 0) need(s, in->guard);
    return true;
}

/* What computes a register that is needed matters, and needs its own sources, but for a condition's or a choice's. */
static void find_needed(struct steady *s)
{
    do {
        s->changed = false;
        for (size_t k = 0; k < s->f->insn_count; k++) {
            const struct ptx_insn *in = &s->f->insns[k];
            if (s->matters[k] || !has_result(in) || !any(s, &in->operands[0], look_needed)) continue;
            s->matters[k] = s->changed = true;
            if (in->guard >= 0) need(s, in->guard);
            for (size_t o = 1; !is_settled(s, k) && o < in->operand_count; o++) visit(s, &in->operands[o], need);
        }
    } while (s->changed);
}

/* ---- ways ---- */
static void push(struct steady *s, size_t insn, size_t *count, size_t *found, size_t *next)
{
    if (insn < s->f->insn_count && s->seen[insn]) return;
    if (insn < s->f->insn_count) s->seen[insn] = true;
    if (insn < s->f->insn_count && !s->matters[insn]) {
        s->stack[(*count)++] = insn;
        return;
    }
    *found += !*found || *next != insn;
    *next = insn;
}

static size_t target_of(const struct ptx_insn *in)
{
    return in->operand_count && in->operands[0].kind == PTX_OP_LABEL ? (size_t)in->operands[0].imm : SIZE_MAX;
}

/* Do all ways from a branch lead to one next instruction that matters? */
static bool meets_again(struct steady *s, size_t branch)
{
    size_t count = 0, found = 0, next = 0;
    memset(s->seen, 0, s->f->insn_count * sizeof *s->seen);
    s->stack[count++] = branch;
    while (count && found <= 1) {
        size_t k = s->stack[--count];
        const struct ptx_insn *in = &s->f->insns[k];
        bool jumps = !strcmp(in->opcode, "bra");
        if (jumps && target_of(in) == SIZE_MAX) return false;
        if (jumps) push(s, target_of(in), &count, &found, &next);
        if (!jumps || in->guard >= 0) push(s, k + 1, &count, &found, &next);
    }
    return found <= 1;
}

/* Branches that differ matter if their ways lead apart. False: such a one is none of conditions. */
static bool find_parting(struct steady *s)
{
    do {
        s->changed = false;
        find_needed(s);
        for (size_t k = 0; k < s->f->insn_count; k++) {
            const struct ptx_insn *in = &s->f->insns[k];
            if (s->matters[k] || strcmp(in->opcode, "bra") != 0 || in->guard < 0 || meets_again(s, k)) continue;
            if (s->unsure[in->guard]) return false;
            s->matters[k] = s->changed = true;
            need(s, in->guard);
        }
    } while (s->changed);
    return true;
}

/* With what is found of registers; nothing matters yet. */
static bool all_alike(struct steady *s)
{
    for (size_t k = 0; k < s->f->insn_count; k++)
        if (!begin(s, k)) return false;
    if (!find_parting(s)) return false;
    for (size_t r = 0; r < s->f->reg_count; r++)
        if (s->needed[r] && s->unsure[r]) return false;
    return true;
}

static bool has_plain_shared(const struct steady *s)
{
    bool shared = false;
    for (size_t k = 0; k < s->f->insn_count; k++) {
        if (memory_of(&s->f->insns[k]) < 0) return false;
        shared |= ptx_has_mod_like(&s->f->insns[k], "shared");
    }
    return shared;
}

/* The same, where some accesses to shared memory do not matter, unless that is NULL. */
static bool alike_without(struct steady *s, const bool *accesses)
{
    memset(s->matters, 0, s->f->insn_count * sizeof *s->matters);
    memset(s->needed, 0, s->f->reg_count * sizeof *s->needed);
    s->may_differ = accesses;
    return all_alike(s);
}

/* The variable of shared memory that an instruction touches; VARIABLES: one that is not looked at. */
static int variable_of(const struct steady *s, size_t k)
{
    const struct ptx_insn *in = &s->f->insns[k];
    if (memory_of(in) <= 0) return NO_VARIABLE;
    int n = simt_origin_of_first(s->d, in) - SHARED_ORIGIN;
    if (n < 0) return ANY_VARIABLE;
    return n < VARIABLES && s->d->program->shared[n].bytes ? n : VARIABLES;
}

/* Those that are looked at, by bits; 0: some access may be to any. */
static uint64_t variables_of(const struct steady *s)
{
    uint64_t all = 0;
    for (size_t k = 0; k < s->f->insn_count; k++) {
        int n = variable_of(s, k);
        if (n == ANY_VARIABLE) return 0;
        if (n >= 0 && n < VARIABLES) all |= UINT64_C(1) << n;
    }
    return all;
}

/* Marks accesses to other variables than these, and those in `more`. */
static void mark_others(const struct steady *s, uint64_t variables, const bool *more, bool *marks)
{
    for (size_t k = 0; k < s->f->insn_count; k++) {
        int n = variable_of(s, k);
        marks[k] = (more && more[k]) || n == VARIABLES || (n >= 0 && !(variables >> n & 1));
    }
}

/* Of what decode_epochs.c found, what is of these variables. */
static void keep_still(struct steady *s, uint64_t variables)
{
    struct simt_program *p = s->d->program;
    struct function *fn = s->d->fn;
    uint32_t kept = fn->still_first;
    for (uint32_t k = fn->still_first; k < fn->still_first + fn->still_count; k++)
        if (p->still[k].variable < VARIABLES && variables >> p->still[k].variable & 1) p->still[kept++] = p->still[k];
    fn->still_count = kept - fn->still_first;
    p->still_count = kept;
    for (size_t k = 0; k < s->f->insn_count; k++) {
        int n = variable_of(s, k);
        s->d->unsteady[k] &= n >= 0 && n < VARIABLES && variables >> n & 1;
    }
}

/* Variables each of which blocks touch alike, whatever they do to the others. False: no memory. */
static bool by_variables(struct steady *s)
{
    struct decoder *d = s->d;
    const bool *more[] = {NULL, s->covered, d->unsteady};
    uint64_t all = variables_of(s), found[3] = {0};
    d->loose = rt_calloc(s->f->insn_count, sizeof *d->loose);
    if (!d->loose) return false;
    for (int k = 0; k < 3; k++)
        for (int n = 0; n < VARIABLES; n++) {
            uint64_t bit = UINT64_C(1) << n & all;
            if (!bit) continue;
            mark_others(s, bit, more[k], d->loose);
            if (!alike_without(s, d->loose)) continue;
            if (!keep_conditions(s)) return false;
            found[k] |= bit;
            all &= ~bit;
        }
    d->fn->own = found[1];
    keep_still(s, found[2]);
    mark_others(s, found[0] | found[1] | found[2], NULL, d->loose);
    d->fn->steady = d->fn->loose = (found[0] | found[1] | found[2]) != 0;
    return true;
}

static void settle(struct steady *s, bool choices)
{
    for (size_t k = 0; k < s->f->insn_count; k++) s->choices[k].a = NO_CONDITION;
    if (choices) find_choices(s);
    memset(s->unsure, 0, s->f->reg_count * sizeof *s->unsure);
    find_varying(s, s->unsure);
    s->varies = s->differs;
}

/* What of it differs from block to block. */
static void look_at_registers(struct steady *s)
{
    memset(s->differs, 0, s->f->reg_count * sizeof *s->differs);
    find_varying(s, s->differs);
    find_conditions(s);
    settle(s, false);
}

/* Fills in d->fn->steady, where threads go by what stands in memory that does not change. False: no memory. */
static bool look_for_fixed(struct steady *s)
{
    struct decoder *d = s->d;
    bool ok = true;
    if (!simt_find_fixed(d, s->fixed)) return true;
    look_at_registers(s);
    if ((d->fn->steady = alike_without(s, NULL))) {
        keep_still(s, 0);
        ok = keep_conditions(s) && simt_keep_fixed(d, s->fixed, s->matters);
    }
    memset(s->fixed, 0, s->f->insn_count * sizeof *s->fixed); /* that is for shared memory alone */
    look_at_registers(s);
    return ok;
}

/* Fills in d->fn->steady by choices, where less left something to differ. False: no memory. */
static bool look_for_choices(struct steady *s)
{
    struct decoder *d = s->d;
    settle(s, true);
    if ((d->fn->steady = alike_without(s, NULL))) {
        if (!keep_conditions(s) || !keep_choices(s)) return false;
        keep_still(s, 0);
    }
    settle(s, false);
    return true;
}

/* Fills in d->fn->steady. False: no memory. */
static bool look_at_shared(struct steady *s)
{
    struct decoder *d = s->d;
    uint64_t stored;
    bool any;
    if ((d->fn->steady = alike_without(s, NULL))) return keep_conditions(s);
    d->unsteady = rt_calloc(s->f->insn_count, sizeof *d->unsteady);
    if (!d->unsteady || !simt_find_still(d, d->unsteady, &any)) return false;
    if (any && (d->fn->steady = alike_without(s, d->unsteady))) return keep_conditions(s);
    if (!simt_find_covered(d, s->covered, &stored)) return false;
    if (!stored || !(d->fn->steady = alike_without(s, s->covered)))
        return look_for_choices(s) && (d->fn->steady || look_for_fixed(s)) && (d->fn->steady || by_variables(s));
    d->fn->own = stored;
    keep_still(s, 0);
    return keep_conditions(s);
}

static bool has_meetings(const struct steady *s)
{
    static const char *const meets[] = {"bar", "barrier"};
    for (size_t k = 0; k < s->f->insn_count; k++)
        if (ONE_OF(s->f->insns[k].opcode, meets)) return true;
    return false;
}

/* Fills in d->fn->even. False: no memory. */
static bool look_at_global(struct steady *s)
{
    struct function *fn = s->d->fn;
    memset(s->covered, true, s->f->insn_count * sizeof *s->covered);
    s->even = true;
    fn->even = alike_without(s, s->covered);
    return !fn->even || keep_conditions_in(s, fn->even_first, &fn->even_count);
}

static bool look_at(struct steady *s)
{
    bool shared = has_plain_shared(s), meets = has_meetings(s);
    if (!shared && !meets) return true;
    look_at_registers(s);
    if (shared && !look_at_shared(s)) return false;
    s->d->fn->even_first = s->d->program->condition_count;
    return !meets || look_at_global(s);
}

bool simt_find_steady(struct decoder *d)
{
    struct steady s = {.d = d, .f = d->f};
    size_t registers = d->f->reg_count + 1, count = d->f->insn_count + 1;
    d->fn->condition_first = d->program->condition_count;
    d->fn->choice_first = d->program->choice_count;
    d->fn->fixed_first = d->program->fixed_count;
    if (!d->f->is_entry || count > MOST) return true;
    s.differs = rt_calloc(3 * registers, sizeof *s.differs);
    s.conditions = rt_alloc(count * sizeof *s.conditions);
    s.choices = rt_alloc(count * sizeof *s.choices);
    s.matters = rt_calloc(4 * count, sizeof *s.matters);
    s.stack = rt_alloc(count * sizeof *s.stack);
    bool ok = s.differs && s.conditions && s.choices && s.matters && s.stack;
    if (ok) {
        s.unsure = s.differs + registers;
        s.needed = s.unsure + registers;
        s.seen = s.matters + count;
        s.covered = s.seen + count;
        s.fixed = s.covered + count;
        ok = look_at(&s);
    }
    free(s.differs);
    free(s.conditions);
    free(s.choices);
    free(s.matters);
    free(s.stack);
    return ok ? true : simt_decode_fail(d, RT_NOMEM, "out of host memory");
}
