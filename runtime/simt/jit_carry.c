/* From a block of code to the one behind it: what registers hold stays there, and the frame is not written. Whoever
 * comes to that block by another way, and for him all is in the frame, first loads those registers.
 *
 * At a branch ahead, which mostly is the end of lanes that are outside of some bounds, all lanes mostly go on behind
 * it. That is found out first, from the least and the greatest lane alone and without making predicates; only where it
 * is not so do the comparisons, and the branch, follow as they stand. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

enum { MOST_TESTS = 8 };

/* ---- what is kept ---- */
bool simt_jit_keep(struct jit *j, int which)
{
    struct jit_registers *k = &j->kept[which];
    if (!k->places) k->places = rt_calloc(j->slot_count + 1, sizeof *k->places);
    if (!k->places) return !(j->failed = true);
    memcpy(k->places, j->places, j->slot_count * sizeof *k->places);
    memcpy(k->gpr_owner, j->gpr_owner, sizeof k->gpr_owner);
    memcpy(k->vector_owner, j->vector_owner, sizeof k->vector_owner);
    return true;
}

void simt_jit_restore(struct jit *j, int which)
{
    const struct jit_registers *k = &j->kept[which];
    if (j->failed) return;
    memcpy(j->places, k->places, j->slot_count * sizeof *k->places);
    memcpy(j->gpr_owner, k->gpr_owner, sizeof k->gpr_owner);
    memcpy(j->vector_owner, k->vector_owner, sizeof k->vector_owner);
}

/* ---- what is carried ---- */
static bool same_form(struct jit_form a, struct jit_form b)
{
    return a.kind == b.kind &&
           (a.kind == FORM_ANY || (a.step == b.step && (a.kind != FORM_LINEAR || a.skip == b.skip)));
}

/* Do others than the block before it lead there? At the start of a loop, and where lanes meet, they would load what may
 * not be wanted. */
static bool is_met(const struct jit *j, const struct jit_block *b)
{
    int here = (int)(b - j->blocks);
    for (uint32_t k = 0; k < j->block_count; k++)
        if (j->blocks[k].next[0] == here) return true;
    return false;
}

bool simt_jit_carries(const struct jit *j, const struct jit_block *to)
{
    return !j->zone && to && to->reached && to->start == j->block->end && !is_met(j, to);
}

/* The state at the start of a block where code of other ways has loaded the same registers. */
static void keep_slot(struct jit *j, const struct jit_block *to, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    bool fixed = j->slots[slot].fixed, alive = in_set(to->in, slot);
    struct jit_form want = fixed ? j->slots[slot].form : to->forms[slot];
    p->checked = false;
    p->flushed = p->bits = p->aligned = 0;
    p->base = 0;
    if (fixed) return;
    if (alive && same_form(p->form, want)) {
        p->form = want;
        if (want.kind != FORM_ANY) p->in_slot = 0;
        if (want.kind == FORM_CONST) p->at_home = 0;
        return;
    }
    if (alive) simt_jit_write_as(j, slot, want);
    simt_jit_drop(j, slot);
    simt_jit_at_home(j, slot, want);
}

void simt_jit_carry(struct jit *j, const struct jit_block *to)
{
    for (uint32_t s = 0; s < j->slot_count; s++)
        if (j->slots[s].class) keep_slot(j, to, (uint16_t)s);
    j->carried = to;
}

void simt_jit_begin_carried(struct jit *j, struct jit_block *b)
{
    struct x86 *x = &j->x;
    int here = x86_label(x);
    j->carried = NULL;
    j->block = b;
    j->gpr_pins = j->vector_pins = 0;
    memcpy(j->live, b->in, j->words * sizeof *j->live);
    x86_bind(x, here);
    x->now = X86_COLD;
    x86_bind(x, b->label);
    simt_jit_load_registers(j);
    x86_jump(x, here);
    x->now = X86_HOT;
}

/* ---- branches ahead ---- */
struct need { /* that all lanes of a predicate are so */
    uint16_t slot;
    bool value;
};
struct test {
    const struct jit_insn *n;
    bool value;
};
struct guard {
    struct need needs[MOST_TESTS]; /* of predicates that are there already */
    struct test tests[MOST_TESTS];
    int need_count, test_count;
};

static bool add_need(struct guard *g, uint16_t slot, bool value)
{
    if (g->need_count == MOST_TESTS) return false;
    g->needs[g->need_count++] = (struct need){slot, value};
    return true;
}

/* Comparisons of which the ends of the warp tell all. */
static bool is_plain(const struct jit *j, const struct jit_insn *n)
{
    struct jit_form f[2] = {form_of_read(j, n, 0), form_of_read(j, n, 1)};
    if (n->op == JT_F || n->is_short || n->i->mode || n->read_count != 2 || n->guarded) return false;
    return (form_is_uniform(f[0]) && form_is_uniform(f[1])) || simt_jit_is_bounded(n, f);
}

/* What the instruction that makes a wanted predicate wants of others, or of numbers, in its place. */
static bool resolve_one(const struct jit *j, struct guard *g, const struct jit_insn *n, struct need want)
{
    if (n->write_count != 1 || n->guarded) return false;
    if (n->kind == JK_COMPARE) {
        if (!is_plain(j, n) || g->test_count == MOST_TESTS) return false;
        g->tests[g->test_count++] = (struct test){n, want.value};
        return true;
    }
    if (n->op == (want.value ? JI_AND : JI_OR))
        return add_need(g, n->reads[0], want.value) && add_need(g, n->reads[1], want.value);
    return n->op == JI_NOT && add_need(g, n->reads[0], !want.value);
}

/* What an instruction of the tail comes to for what is wanted of its results. It may read the predicate that it
 * writes: what it wants itself is wanted of those before it. */
static bool resolve(const struct jit *j, struct guard *g, const struct jit_insn *n)
{
    struct need wanted[MOST_TESTS];
    int count = g->need_count;
    memcpy(wanted, g->needs, sizeof wanted);
    g->need_count = 0;
    for (int k = 0; k < count; k++) {
        bool made = false;
        for (int w = 0; w < n->write_count; w++) made |= n->writes[w] == wanted[k].slot;
        bool ok = made ? resolve_one(j, g, n, wanted[k]) : add_need(g, wanted[k].slot, wanted[k].value);
        if (!ok) return false;
    }
    return true;
}

static bool find_guard(const struct jit *j, uint32_t from, struct guard *g)
{
    const struct jit_block *b = j->block;
    const struct jit_insn *last = &j->code[b->end - 1];
    *g = (struct guard){.needs = {{last->reads[0], last->i->guard_flip}}, .need_count = 1};
    for (uint32_t k = b->end - 1; k-- > from;) {
        const struct jit_insn *n = &j->code[k];
        for (int w = 0; w < n->write_count; w++)
            for (int s = 0; s < 2; s++)
                if (in_set(j->blocks[b->next[s]].in, n->writes[w])) return false;
        if (!resolve(j, g, n)) return false;
    }
    return true;
}

/* Does the block end by a branch ahead, and is the rest from instruction k on nothing but its condition? */
static bool is_tail(const struct jit *j, uint32_t k)
{
    const struct jit_block *b = j->block;
    const struct jit_insn *last = &j->code[b->end - 1];
    if (last->kind != JK_BRANCH || last->i->guard == SLOT_TRUE || b->next[0] < 0 || b->next[1] < 0) return false;
    if (b->next[0] <= b->next[1] || !simt_jit_carries(j, &j->blocks[b->next[1]])) return false;
    while (k < b->end - 1 && (j->code[k].kind == JK_COMPARE || j->code[k].kind == JK_PREDICATE)) k++;
    return k == b->end - 1;
}

static enum x86_condition inverse(enum x86_condition c)
{
    return (enum x86_condition)(c ^ 1);
}

/* Jumps to `other` unless the comparison comes out as wanted for all lanes. The registers have been loaded. */
static void test_ends(struct jit *j, const struct guard *g, int which, int other)
{
    struct x86 *x = &j->x;
    const struct jit_insn *n = g->tests[which].n;
    struct jit_form f[2] = {form_of_read(j, n, 0), form_of_read(j, n, 1)};
    int grows = form_is_uniform(f[0]), at[2];
    bool value = g->tests[which].value, less = n->detail == 1 || n->detail == 2, done = false;
    int64_t offset = form_is_uniform(f[grows]) ? 0 : 15 * f[grows].step + f[grows].skip;
    enum x86_condition holds = simt_jit_condition(n);
    for (int k = 0; k < 2; k++) at[k] = f[k].kind == FORM_CONST ? -1 : j->places[n->reads[k]].scalar[0];
    for (int k = 0; k < which; k++) { /* has a test of the same numbers seen that none of them goes round? */
        const struct jit_insn *m = g->tests[k].n;
        uint16_t slot = n->reads[grows];
        done |= m->op == n->op && (m->reads[0] == slot || m->reads[1] == slot);
    }
    if (offset && !done) {
        x86_rr(x, ALU_MOV, n->wide, RDX, at[grows]);
        x86_imm(x, ALU_ADD, n->wide, RDX, (int32_t)offset);
        x86_jump_if(x, n->op == JT_S ? CC_O : CC_B, other);
    }
    /* The last lane tells when it is the one that is least likely to be as wanted. */
    if (offset && ((less == !grows) == value)) {
        if (done) x86_lea(x, n->wide, RDX, x86_at(at[grows], (int32_t)offset));
        at[grows] = RDX;
    }
    if (at[1] < 0 && at[0] >= 0 && f[1].step == (int32_t)f[1].step) {
        x86_imm(x, ALU_CMP, n->wide, at[0], (int32_t)f[1].step);
    } else {
        static const int moments[2] = {RAX, RCX};
        for (int k = 0; k < 2; k++) {
            if (at[k] >= 0) continue;
            simt_jit_wide_constant(j, moments[k], (uint64_t)f[k].step, n->wide);
            at[k] = moments[k];
        }
        x86_rr(x, ALU_CMP, n->wide, at[0], at[1]);
    }
    x86_jump_if(x, value ? inverse(holds) : holds, other);
}

bool simt_jit_begin_guard(struct jit *j, uint32_t k)
{
    struct x86 *x = &j->x;
    const struct jit_block *b = j->block, *behind = &j->blocks[b->next[1] < 0 ? 0 : b->next[1]];
    struct guard g;
    uint16_t slots[MOST_GUARD_NUMBERS];
    int count = 0;
    if (j->zone || !is_tail(j, k) || !find_guard(j, k, &g)) return false;
    for (int t = 0; t < 2 * g.test_count + g.need_count; t++) {
        uint16_t slot = t < 2 * g.test_count ? g.tests[t / 2].n->reads[t % 2] : g.needs[t - 2 * g.test_count].slot;
        bool known = j->places[slot].form.kind == FORM_CONST && t < 2 * g.test_count;
        for (int s = 0; s < count; s++) known |= slots[s] == slot;
        if (known) continue;
        if (count == MOST_GUARD_NUMBERS) return false;
        slots[count++] = slot;
    }
    for (int s = 0; s < count; s++)
        if (j->slots[slots[s]].class == 'p')
            simt_jit_predicate(j, slots[s]);
        else
            simt_jit_scalar(j, slots[s], 0, RAX);
    j->gpr_pins = 0;
    if (!simt_jit_keep(j, 0)) return false;
    int other = x86_label(x);
    for (int t = 0; t < g.test_count; t++) test_ends(j, &g, t, other);
    for (int t = 0; t < g.need_count; t++) {
        int p = j->places[g.needs[t].slot].scalar[0];
        if (g.needs[t].value)
            x86_imm(x, ALU_CMP, false, p, -1);
        else
            x86_test(x, false, p, p);
        x86_jump_if(x, CC_NE, other);
    }
    simt_jit_carry(j, behind);
    j->carried = NULL;
    if (!simt_jit_keep(j, 1)) return false;
    j->guard_label = x86_label(x);
    x86_jump(x, j->guard_label);
    x86_bind(x, other);
    simt_jit_restore(j, 0);
    return true;
}

void simt_jit_end_guard(struct jit *j)
{
    const struct jit_block *behind = &j->blocks[j->block->next[1]];
    x86_jump(&j->x, behind->label);
    x86_bind(&j->x, j->guard_label);
    simt_jit_restore(j, 1);
    j->carried = behind;
}
