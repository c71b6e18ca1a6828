/* Who wants what a load loads: from where its value goes to, through what computes, until all that comes of it is
 * chosen by a predicate; and by which branches the thread comes there. A value is wanted in ways, each of them some
 * predicates that hold, and what comes of it by their union. */
#include <string.h>
#include "runtime/simt/ptx_eager.h"

/* ---- instructions ---- */
bool ptx_writes(const struct ptx_insn *in, int reg)
{
    return in->operand_count && in->operands[0].kind != PTX_OP_ADDRESS && ptx_mentions(&in->operands[0], reg);
}

bool ptx_reads(const struct ptx_insn *in, int reg)
{
    bool any = in->guard == reg ||
               (in->operand_count && in->operands[0].kind == PTX_OP_ADDRESS && ptx_mentions(&in->operands[0], reg));
    for (size_t k = 1; k < in->operand_count; k++) any |= ptx_mentions(&in->operands[k], reg);
    return any;
}

/* A plain register, or plain registers. */
static bool is_result(const struct ptx_operand *o)
{
    bool ok = o->kind == PTX_OP_VECTOR ? o->item_count > 0 : o->kind == PTX_OP_REG && !o->select;
    for (size_t k = 0; o->kind == PTX_OP_VECTOR && k < o->item_count; k++)
        ok &= o->items[k].kind == PTX_OP_SINK || is_result(&o->items[k]);
    return ok;
}

/* Is it the same whenever a thread reads it? */
static bool is_fixed(const struct ptx_operand *o)
{
    static const char *const names[] = {"tid.", "ntid.", "ctaid.", "nctaid."};
    bool ok = o->kind != PTX_OP_SPECIAL && o->kind != PTX_OP_ADDRESS;
    for (size_t k = 0; o->kind == PTX_OP_SPECIAL && k < sizeof names / sizeof *names; k++)
        ok |= !strncmp(o->symbol, names[k], strlen(names[k]));
    return ok && !(o->kind == PTX_OP_REG && o->select);
}

bool ptx_computes(const struct ptx_insn *in)
{
    static const char *const opcodes[] = {
        "mov",  "cvt", "cvta", "add",  "sub",  "mul",  "mad",   "fma",  "neg",  "abs", "min", "max",  "and",
        "or",   "xor", "not",  "shl",  "shr",  "setp", "set",   "selp", "lop3", "shf", "bfe", "bfi",  "prmt",
        "popc", "clz", "brev", "slct", "sqrt", "rcp",  "rsqrt", "ex2",  "lg2",  "sin", "cos", "tanh", "copysign"};
    if (in->guard >= 0 || in->operand_count < 2 || !ONE_OF(in->opcode, opcodes) || !is_result(&in->operands[0]))
        return false;
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], "cc")) return false;
    for (size_t k = 1; k < in->operand_count; k++)
        if (!is_fixed(&in->operands[k])) return false;
    return true;
}

bool ptx_is_plain_load(const struct ptx_insn *in)
{
    static const char *const mods[] = {"shared", "shared::cta", "global", "nc", "weak", "v2", "v4"};
    if (!ptx_is(in, "ld") || in->guard >= 0 || in->operand_count != 2 || in->mod_count < 2) return false;
    bool ok = ptx_type_find(in->mods[in->mod_count - 1]) != PTX_NONE && strncmp(in->mods[0], "param", 5) != 0;
    for (size_t k = 0; k + 1 < in->mod_count; k++) ok &= ONE_OF(in->mods[k], mods);
    return ok && is_result(&in->operands[0]) && in->operands[1].kind == PTX_OP_ADDRESS;
}

/* ---- who sets and reads registers ---- */
static size_t count_registers(const struct ptx_operand *o, size_t count)
{
    size_t all = count;
    for (size_t k = 0; k < count; k++) all += count_registers(o[k].items, o[k].item_count);
    return all;
}

bool ptx_make_room(struct eager *e)
{
    size_t reads = (MOST_ADDED + e->f->insn_count) * 5, regs = e->f->reg_count + MOST_ADDED + 1;
    for (size_t k = 0; k < e->f->insn_count; k++)
        reads += count_registers(e->f->insns[k].operands, e->f->insns[k].operand_count);
    e->makers = ptx_new(e->p, regs, sizeof *e->makers);
    e->first = ptx_new(e->p, regs, sizeof *e->first);
    e->users = ptx_new(e->p, reads, sizeof *e->users);
    e->by_target = ptx_new(e->p, e->f->insn_count + MOST_ADDED, sizeof *e->by_target);
    e->by_next = ptx_new(e->p, e->f->insn_count + MOST_ADDED, sizeof *e->by_next);
    return e->makers && e->first && e->users && e->by_target && e->by_next &&
           ptx_walk_new(e->p, &e->walk, e->f, e->f->insn_count + MOST_ADDED);
}

/* Of an instruction's operands: counts those that read registers, or (fill) enters it as theirs. */
static void enter_reads(struct eager *e, const struct ptx_operand *o, size_t count, size_t insn, bool fill)
{
    for (size_t k = 0; k < count; k++) {
        bool is_register = (o[k].kind == PTX_OP_REG || o[k].kind == PTX_OP_ADDRESS) && o[k].reg >= 0;
        if (is_register && fill) e->users[--e->first[o[k].reg]] = insn;
        if (is_register && !fill) e->first[o[k].reg]++;
        enter_reads(e, o[k].items, o[k].item_count, insn, fill);
    }
}
static void enter_insn(struct eager *e, size_t insn, bool fill)
{
    const struct ptx_insn *in = &e->f->insns[insn];
    const struct ptx_operand guard = {.kind = PTX_OP_REG, .reg = in->guard};
    const size_t written = ptx_overwrites(in);
    enter_reads(e, &guard, 1, insn, fill);
    if (written < in->operand_count) enter_reads(e, &in->operands[written], in->operand_count - written, insn, fill);
}

static void enter_written(struct eager *e, const struct ptx_operand *o, size_t insn)
{
    if (o->kind == PTX_OP_REG && o->reg >= 0) e->makers[o->reg] = e->makers[o->reg] == NOWHERE ? insn : SEVERAL;
    for (size_t k = 0; k < o->item_count; k++) enter_written(e, &o->items[k], insn);
}

void ptx_enter_all(struct eager *e)
{
    const struct ptx_func *f = e->f;
    memset(e->first, 0, (f->reg_count + 1) * sizeof *e->first);
    for (size_t k = 0; k < f->reg_count; k++) e->makers[k] = NOWHERE;
    for (size_t k = 0; k < f->insn_count; k++) {
        enter_insn(e, k, false);
        if (f->insns[k].operand_count) enter_written(e, &f->insns[k].operands[0], k);
    }
    for (size_t k = 0; k < f->reg_count; k++) e->first[k + 1] += e->first[k];
    for (size_t k = f->insn_count; k-- > 0;) enter_insn(e, k, true);
}

/* ---- when ---- */
static bool leads(struct eager *e, size_t behind, size_t to, size_t without, int reg)
{
    size_t k;
    ptx_walk_from(&e->walk, behind + 1);
    while (ptx_walk_step(&e->walk, &k)) {
        if (k == to) return true;
        if (k != without && (reg < 0 || !ptx_writes(&e->f->insns[k], reg))) ptx_walk_on(&e->walk, k);
    }
    return false;
}

bool ptx_leads(struct eager *e, size_t behind, size_t to, int reg)
{
    return leads(e, behind, to, e->load, reg);
}

/* ---- who wants it ---- */
static bool is_same(const struct literal *a, const struct literal *b)
{
    return a->reg == b->reg && a->apart == b->apart;
}

/* Where do two ways of as many literals differ in the sign of one alone? NOWHERE: they don't. */
static size_t difference(const struct way *a, const struct way *b)
{
    size_t at = NOWHERE;
    for (size_t k = 0; k < a->count; k++) {
        if (!is_same(&a->all[k], &b->all[k]) || (a->all[k].negate != b->all[k].negate && at != NOWHERE)) return NOWHERE;
        if (a->all[k].negate != b->all[k].negate) at = k;
    }
    return at;
}

static bool is_within(const struct way *few, const struct way *w)
{
    for (size_t k = 0; k < few->count; k++) {
        bool there = false;
        for (size_t n = 0; n < w->count; n++)
            there |= is_same(&few->all[k], &w->all[n]) && few->all[k].negate == w->all[n].negate;
        if (!there) return false;
    }
    return true;
}

void ptx_want(struct ways *to, struct way w)
{
    for (size_t k = 0; k < to->count; k++) {
        if (is_within(&to->any[k], &w)) return;
        size_t at = to->any[k].count == w.count ? difference(&to->any[k], &w) : NOWHERE;
        if (at == NOWHERE && !is_within(&w, &to->any[k])) continue;
        if (at != NOWHERE) w.all[at] = w.all[--w.count];
        to->any[k] = to->any[--to->count];
        ptx_want(to, w);
        return;
    }
    if (!w.count || to->count == MOST_WAYS)
        to->always = true;
    else
        to->any[to->count++] = w;
}

/* Those of what comes of a value, if a literal (or NULL) holds. */
static void want_all(struct ways *to, const struct ways *from, const struct literal *l)
{
    struct way w = {.count = 0};
    if (from->always && l)
        w.all[w.count++] = *l;
    else if (from->always)
        to->always = true;
    if (w.count) ptx_want(to, w);
    for (size_t k = 0; k < from->count && !from->always; k++) {
        w = from->any[k];
        if (l && w.count < MOST_LITERALS && !is_within(&(struct way){{*l}, 1}, &w)) {
            memmove(&w.all[1], &w.all[0], w.count++ * sizeof *w.all);
            w.all[0] = *l;
        }
        ptx_want(to, w);
    }
}

bool ptx_comes_of_early(const struct eager *e, int reg)
{
    int made[MOST_SEEN] = {reg};
    size_t count = 1;
    for (size_t n = 0; n < count; n++) {
        const bool once = e->makers[made[n]] < SEVERAL;
        for (size_t k = once ? e->makers[made[n]] : 0; k < e->f->insn_count; k++) {
            const struct ptx_insn *in = &e->f->insns[k];
            if (!ptx_writes(in, made[n])) continue;
            if (in->is_eager || ptx_may_be_early(e, in)) return true;
            for (size_t o = 1; o < in->operand_count && ptx_computes(in); o++) {
                bool there = in->operands[o].kind != PTX_OP_REG || count == MOST_SEEN;
                for (size_t m = 0; m < count && !there; m++) there = made[m] == in->operands[o].reg;
                if (!there) made[count++] = in->operands[o].reg;
            }
            if (once) break;
        }
    }
    return false;
}

/* Of a && b, where both may be loaded early, a is what is looked at first. */
const struct ptx_operand *ptx_chosen_by(const struct eager *e, const struct ptx_insn *in, int reg, bool *negate)
{
    const struct ptx_operand *o = in->operands, *by;
    bool first = ptx_mentions(&o[1], reg);
    if (in->operand_count < 3 || first == ptx_mentions(&o[2], reg)) return NULL;
    if (ptx_is(in, "selp") && in->operand_count == 4) {
        by = &o[3];
        *negate = by->negate ^ !first;
    } else if ((ptx_is(in, "and") || ptx_is(in, "or")) && in->mod_count == 1 && !strcmp(in->mods[0], "pred")) {
        by = &o[first ? 2 : 1];
        *negate = by->negate ^ ptx_is(in, "or");
        if (by->kind == PTX_OP_REG && first && ptx_comes_of_early(e, by->reg)) return NULL;
    } else {
        return NULL;
    }
    return by->kind == PTX_OP_REG && by->reg != reg ? by : NULL;
}

/* Enters where the thread may come from the load, if a branch always goes to its target, or never. */
static void enter_side(struct eager *e, size_t branch, bool target, uint32_t *sides, uint32_t bit)
{
    size_t k;
    ptx_walk_from(&e->walk, e->load + 1);
    while (ptx_walk_step(&e->walk, &k)) {
        sides[k] |= bit;
        if (k == branch)
            ptx_walk_to(&e->walk, target ? ptx_target_of(&e->f->insns[k]) : k + 1);
        else if (k != e->load)
            ptx_walk_on(&e->walk, k);
    }
}

static void enter_branches(struct eager *e)
{
    const struct ptx_func *f = e->f;
    e->branch_count = 0;
    memset(e->by_target, 0, f->insn_count * sizeof *e->by_target);
    memset(e->by_next, 0, f->insn_count * sizeof *e->by_next);
    for (size_t k = e->load + 1; k < f->insn_count && e->branch_count < MOST_BRANCHES; k++) {
        if (!ptx_is(&f->insns[k], "bra") || f->insns[k].guard < 0) continue;
        const uint32_t bit = UINT32_C(1) << e->branch_count;
        enter_side(e, k, true, e->by_target, bit);
        enter_side(e, k, false, e->by_next, bit);
        e->branches[e->branch_count++] = k;
    }
}

/* Those of what the instruction at k makes of the value, if the thread comes there: by branches that it must take. */
static void want_there(struct eager *e, struct ways *to, const struct ways *from, size_t k)
{
    struct ways all = *from;
    const uint32_t sides = e->by_target[k] ^ e->by_next[k];
    for (size_t n = 0; n < e->branch_count; n++) {
        if (!(sides >> n & 1)) continue;
        const struct ptx_insn *in = &e->f->insns[e->branches[n]];
        const bool next = e->by_next[k] >> n & 1;
        const struct literal l = {in->guard, in->guard_negate ^ next, e->branches[n] - e->load};
        const struct ways inner = all;
        all = (struct ways){.count = 0};
        want_all(&all, &inner, &l);
    }
    want_all(to, &all, NULL);
}

static void follow(struct eager *e, struct ways *to, int reg, size_t from, unsigned depth);

static void follow_results(struct eager *e, struct ways *to, size_t k, const struct ptx_operand *o, unsigned depth)
{
    for (size_t n = 0; o->kind == PTX_OP_VECTOR && n < o->item_count; n++)
        follow_results(e, to, k, &o->items[n], depth);
    if (o->kind == PTX_OP_REG) follow(e, to, o->reg, k, depth);
}

/* Does it store a register, or hand it to an atomic, if its guard holds? */
static bool is_guarded_store(const struct ptx_insn *in, int reg)
{
    static const char *const opcodes[] = {"st", "red", "atom"};
    if (in->guard < 0 || in->guard == reg || !ONE_OF(in->opcode, opcodes)) return false;
    for (size_t k = 0; k < in->operand_count; k++)
        if (in->operands[k].kind == PTX_OP_ADDRESS && ptx_mentions(&in->operands[k], reg)) return false;
    return true;
}

/* What the instruction does with a register that was set by the one at `from`. */
static void follow_use(struct eager *e, struct ways *to, size_t k, int reg, size_t from, unsigned depth)
{
    const struct ptx_insn *in = &e->f->insns[k];
    bool negate;
    const bool own = e->makers[reg] != SEVERAL || ptx_leads(e, from, k, reg);
    if (!own && !(e->exact && leads(e, from, k, NOWHERE, reg))) return; /* it is of another one */
    bool may_be_old = !own || (e->exact && (k <= e->load || (from != e->load && ptx_leads(e, e->load, k, reg))));
    struct ways results = {.count = 0}, chosen = {.count = 0};
    if (may_be_old || !ptx_computes(in) || depth == DEEPEST) {
        const struct literal l = {.reg = in->guard, .negate = in->guard_negate, .apart = k - e->load};
        if (!may_be_old && k > e->load && is_guarded_store(in, reg)) {
            chosen.always = true;
            want_all(&results, &chosen, &l);
        } else {
            results.always = true;
        }
        may_be_old ? want_all(to, &results, NULL) : want_there(e, to, &results, k);
        return;
    }
    follow_results(e, &results, k, &in->operands[0], depth + 1);
    const struct ptx_operand *by = ptx_chosen_by(e, in, reg, &negate);
    struct literal l = {.negate = by && negate, .reg = by ? by->reg : -1, .apart = k - e->load};
    want_all(&chosen, &results, by && k > e->load ? &l : NULL);
    want_there(e, to, &chosen, k);
}

static void follow(struct eager *e, struct ways *to, int reg, size_t from, unsigned depth)
{
    struct ways own = {.count = 0};
    for (size_t k = 0; k < e->seen_count; k++)
        if (e->seen[k].reg == reg && e->seen[k].from == from) {
            want_all(to, &e->seen[k].ways, NULL);
            return;
        }
    size_t place = e->seen_count;
    if (place == MOST_SEEN) {
        to->always = true;
        return;
    }
    e->seen[e->seen_count++].reg = reg;
    e->seen[place].from = from;
    e->seen[place].ways = (struct ways){.always = true}; /* for who comes round a loop */
    for (size_t k = e->first[reg]; k < e->first[reg + 1] && !own.always; k++)
        follow_use(e, &own, e->users[k], reg, from, depth);
    e->seen[place].ways = own;
    want_all(to, &own, NULL);
}

bool ptx_find_ways(struct eager *e)
{
    enter_branches(e);
    for (int pass = 0; pass < 2; pass++) { /* quickly, then in time, too */
        e->exact = pass > 0;
        e->seen_count = 0;
        e->wanted = (struct ways){.count = 0};
        follow_results(e, &e->wanted, e->load, &e->f->insns[e->load].operands[0], 0);
        if (e->wanted.always || !e->wanted.count) return false;
    }
    return true;
}
