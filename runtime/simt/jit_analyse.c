/* Blocks of a kernel's code, which slots are alive where, and the forms of their values. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/async.h"
#include "runtime/simt/jit_build.h"

#define MAX_SET_WORDS ((size_t)1 << 19)
#define MAX_FORMS     ((size_t)1 << 18)

/* ---- blocks ---- */
static bool leaves_block(const struct jit_insn *n)
{
    return n->kind == JK_BRANCH || n->kind == JK_EXIT || n->kind == JK_BARRIER || n->kind == JK_LEAVE;
}

static void mark_leader(struct jit *j, uint32_t pc)
{
    if (pc >= j->first + j->start && pc < j->first + j->count) j->code[pc - j->first].leader = true;
}

static void mark_leaders(struct jit *j)
{
    j->code[j->start].leader = true;
    for (uint32_t k = j->start; k < j->count; k++) {
        const struct jit_insn *n = &j->code[k];
        bool returns = j->watch && simt_is_mbarrier(n->i); /* an observer may want the warp to leave behind it */
        if ((leaves_block(n) || returns) && k + 1 < j->count) j->code[k + 1].leader = true;
        if (n->kind == JK_BRANCH) mark_leader(j, n->i->target);
        if (n->i->run != simt_op_brx) continue;
        const struct branch_table *t = &j->program->tables[n->i->extra];
        for (uint32_t e = 0; e < t->count; e++) mark_leader(j, t->targets[e]);
    }
}

static int block_at(const struct jit *j, uint32_t k)
{
    uint32_t low = 0, high = j->block_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (j->blocks[middle].start < k)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->block_count && j->blocks[low].start == k ? (int)low : -1;
}

static bool find_blocks(struct jit *j)
{
    mark_leaders(j);
    for (uint32_t k = j->start; k < j->count; k++) j->block_count += j->code[k].leader;
    j->blocks = rt_calloc(j->block_count + 1, sizeof *j->blocks);
    j->words = j->slot_count / 64 + 1;
    if (!j->blocks || (size_t)j->block_count * j->words > MAX_SET_WORDS ||
        (size_t)j->block_count * j->slot_count > MAX_FORMS)
        return false;
    j->sets = rt_calloc((size_t)(j->block_count + 2) * j->words, sizeof *j->sets);
    j->forms = rt_calloc((size_t)(j->block_count + 1) * j->slot_count, sizeof *j->forms);
    if (!j->sets || !j->forms) return false;
    for (uint32_t k = j->start, b = 0; k < j->count; k++) {
        if (j->code[k].leader) j->blocks[b++].start = k;
        j->blocks[b - 1].end = k + 1;
    }
    for (uint32_t b = 0; b < j->block_count; b++) {
        struct jit_block *block = &j->blocks[b];
        const struct jit_insn *last = &j->code[block->end - 1];
        block->in = j->sets + (size_t)b * j->words;
        block->forms = j->forms + (size_t)b * j->slot_count;
        block->label = x86_label(&j->x);
        block->next[0] = last->kind == JK_BRANCH ? block_at(j, last->i->target - j->first) : -1;
        bool goes_on = last->kind != JK_EXIT && (last->kind != JK_BRANCH || last->i->guard != SLOT_TRUE);
        block->next[1] = goes_on && b + 1 < j->block_count ? (int)b + 1 : -1;
    }
    return true;
}

/* ---- lives ---- */
static void step_back(struct jit *j, struct jit_insn *n, uint64_t *live)
{
    n->dies = n->dead = 0;
    for (int k = 0; k < n->write_count; k++) {
        if (!in_set(live, n->writes[k])) n->dead |= (uint16_t)(1u << k);
        live[n->writes[k] >> 6] &= ~((uint64_t)1 << (n->writes[k] & 63));
    }
    for (int k = 0; k < n->read_count; k++)
        if (!in_set(live, n->reads[k])) n->dies |= (uint16_t)(1u << k);
    for (int k = 0; k < n->read_count; k++) live[n->reads[k] >> 6] |= (uint64_t)1 << (n->reads[k] & 63);
    if (n->kind == JK_UNKNOWN || n->kind == JK_LEAVE) memset(live, 0xff, j->words * sizeof *live);
}

static void leave_live(const struct jit *j, const struct jit_block *b, uint64_t *live)
{
    memset(live, 0, j->words * sizeof *live);
    for (int s = 0; s < 2; s++)
        for (uint32_t w = 0; b->next[s] >= 0 && w < j->words; w++) live[w] |= j->blocks[b->next[s]].in[w];
    const struct jit_insn *last = &j->code[b->end - 1];
    if (last->kind == JK_LEAVE) memset(live, 0xff, j->words * sizeof *live);
}

static void find_lives(struct jit *j)
{
    uint64_t *live = j->sets + (size_t)j->block_count * j->words;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = j->block_count; b-- > 0;) {
            struct jit_block *block = &j->blocks[b];
            leave_live(j, block, live);
            for (uint32_t k = block->end; k-- > block->start;) step_back(j, &j->code[k], live);
            changed |= memcmp(live, block->in, j->words * sizeof *live) != 0;
            memcpy(block->in, live, j->words * sizeof *live);
        }
    }
}

/* ---- forms ---- */
static struct jit_form any(void)
{
    return (struct jit_form){FORM_ANY, 0, 0, 0};
}
/* Steps go round as the numbers do. */
static struct jit_form linear(bool pair, uint64_t step, uint64_t skip, bool wide)
{
    if (!wide) step = (uint64_t)(int32_t)step, skip = (uint64_t)(int32_t)skip;
    return (struct jit_form){pair ? FORM_PAIR : FORM_LINEAR, (int64_t)step, pair ? 0 : (int64_t)skip, 0};
}
static bool same_form(struct jit_form a, struct jit_form b)
{
    return a.kind == b.kind && a.step == b.step && a.skip == b.skip && a.zeros == b.zeros;
}

/* Low bits of the first lane's number that are 0. */
static int zeros_of(struct jit_form f)
{
    if (f.kind != FORM_CONST) return f.kind == FORM_LINEAR ? f.zeros : 0;
    int zeros = f.step ? __builtin_ctzll((uint64_t)f.step) : MOST_ZEROS;
    return zeros < MOST_ZEROS ? zeros : MOST_ZEROS;
}
static struct jit_form with_zeros(struct jit_form f, int zeros)
{
    if (f.kind == FORM_LINEAR) f.zeros = zeros < MOST_ZEROS ? zeros : MOST_ZEROS;
    return f;
}
static int fewer_zeros(struct jit_form a, struct jit_form b)
{
    return zeros_of(a) < zeros_of(b) ? zeros_of(a) : zeros_of(b);
}

/* What can be said where two ways meet. */
static struct jit_form meet(struct jit_form a, struct jit_form b, char class)
{
    if (a.kind == FORM_NONE) return b;
    if (b.kind == FORM_NONE || same_form(a, b)) return a;
    if (!form_is_scalar(a) || !form_is_scalar(b) || form_step(a) != form_step(b)) return any();
    int64_t p = a.kind == FORM_CONST ? 0 : a.skip, q = b.kind == FORM_CONST ? 0 : b.skip;
    bool pair = a.kind == FORM_PAIR || b.kind == FORM_PAIR || p != q;
    if (class == 'p' && pair) return any();
    return with_zeros(linear(pair, (uint64_t)form_step(a), (uint64_t)p, true), fewer_zeros(a, b));
}

static uint64_t skip_of(struct jit_form f)
{
    return f.kind == FORM_LINEAR ? (uint64_t)f.skip : 0;
}

static struct jit_form sum(struct jit_form a, struct jit_form b, bool minus, bool wide)
{
    uint64_t sign = minus ? UINT64_MAX : 1;
    struct jit_form f =
        linear(a.kind == FORM_PAIR || b.kind == FORM_PAIR, (uint64_t)form_step(a) + sign * (uint64_t)form_step(b),
               skip_of(a) + sign * skip_of(b), wide);
    return with_zeros(f, fewer_zeros(a, b));
}

static struct jit_form product(struct jit_form a, struct jit_form b, bool wide)
{
    if (a.kind == FORM_CONST && b.kind != FORM_CONST) return product(b, a, wide);
    if (b.kind == FORM_CONST)
        return with_zeros(
            linear(a.kind == FORM_PAIR, (uint64_t)form_step(a) * (uint64_t)b.step, skip_of(a) * (uint64_t)b.step, wide),
            zeros_of(a) + zeros_of(b));
    if (!form_is_flat(a) || !form_is_flat(b)) return any();
    return linear(!form_is_uniform(a) || !form_is_uniform(b), 0, 0, wide);
}

/* Of the 32 bits a step can have, those that a wide result keeps right. */
static bool is_small(struct jit_form f)
{
    int64_t most = 1 << 24;
    return f.kind == FORM_CONST || (f.step < most && f.step > -most && f.skip < most && f.skip > -most);
}

/* Of bits, with a constant: where the lanes differ by less than what the first lane's number is a multiple of, they do
 * so in bits that are known, as those of a thread's index in its warp are. */
static struct jit_form bits_result(const struct jit_insn *n, const struct jit_form *f)
{
    bool shift = n->op == JI_SHR || n->op == JI_SAR, turned = !shift && f[0].kind == FORM_CONST;
    struct jit_form a = f[turned], by = f[!turned];
    int64_t room = (int64_t)1 << a.zeros, v[SIMT_WARP], low = by.step & (room - 1);
    if (a.kind != FORM_LINEAR || by.kind != FORM_CONST || (shift && (by.step < 0 || by.step > MOST_ZEROS)))
        return any();
    for (int l = 0; l < SIMT_WARP; l++) {
        int64_t off = a.step * (l & 15) + (l < 16 ? 0 : a.skip);
        if (off < 0 || off >= room) return any();
        v[l] = shift ? off >> by.step : n->op == JI_AND ? off & low : n->op == JI_OR ? off | low : off ^ low;
    }
    for (int l = 1; l < SIMT_WARP; l++) v[l] -= v[0];
    v[0] = 0;
    for (int l = 0; l < SIMT_WARP; l++)
        if (v[l] != v[1] * (l & 15) + (l < 16 ? 0 : v[16])) return any();
    int zeros = shift                    ? a.zeros - (int)by.step
                : n->op != JI_AND        ? fewer_zeros(a, by)
                : zeros_of(by) > a.zeros ? zeros_of(by)
                                         : a.zeros;
    return with_zeros(linear(false, (uint64_t)v[1], (uint64_t)v[16], n->wide), zeros > 0 ? zeros : 0);
}

static struct jit_form integer_result(const struct jit_insn *n, const struct jit_form *f)
{
    int operands = n->read_count;
    if (n->op >= JI_SHORT) return any();
    for (int k = 0; k < operands; k++)
        if (!form_is_scalar(f[k])) return any();
    switch ((enum jit_integer)n->op) {
    case JI_ADD: return sum(f[0], f[1], false, n->wide);
    case JI_SUB: return sum(f[0], f[1], true, n->wide);
    case JI_MUL: return product(f[0], f[1], n->wide);
    case JI_MAD: {
        struct jit_form p = product(f[0], f[1], n->wide);
        return form_is_scalar(p) ? sum(p, f[2], false, n->wide) : p;
    }
    case JI_WIDE_U:
    case JI_WIDE_S:
    case JI_MAD_WIDE_U:
    case JI_MAD_WIDE_S: {
        if (!is_small(f[0]) || !is_small(f[1])) return any();
        struct jit_form a = f[0], b = f[1];
        if (n->op == JI_WIDE_U || n->op == JI_MAD_WIDE_U) { /* constants count without sign */
            if (a.kind == FORM_CONST) a.step = (uint32_t)a.step;
            if (b.kind == FORM_CONST) b.step = (uint32_t)b.step;
        }
        struct jit_form p = product(a, b, true);
        if (n->op < JI_MAD_WIDE_U || !form_is_scalar(p)) return p;
        return sum(p, f[2], false, true);
    }
    case JI_MOV: return f[0];
    case JI_NOT: return sum((struct jit_form){FORM_CONST, -1, 0, 0}, f[0], true, n->wide);
    case JI_NEG: return sum((struct jit_form){FORM_CONST, 0, 0, 0}, f[0], true, n->wide);
    case JI_SHL:
        if (f[1].kind == FORM_CONST && f[1].step >= 0 && f[1].step < (n->wide ? 64 : 32))
            return product(f[0], (struct jit_form){FORM_CONST, (int64_t)((uint64_t)1 << f[1].step), 0, 0}, n->wide);
        break;
    case JI_AND:
    case JI_OR:
    case JI_XOR:
    case JI_SHR:
    case JI_SAR: {
        struct jit_form bits = bits_result(n, f);
        if (form_is_scalar(bits)) return bits;
        break;
    }
    case JI_EXTEND_U:
    case JI_EXTEND_S:
        if (f[0].kind == FORM_CONST) return linear(false, 0, 0, true);
        return is_small(f[0]) ? f[0] : any();
    case JI_NARROW:
        return f[0].kind == FORM_CONST
                   ? linear(false, 0, 0, false)
                   : with_zeros(linear(f[0].kind == FORM_PAIR, (uint64_t)f[0].step, (uint64_t)f[0].skip, false),
                                zeros_of(f[0]));
    case JI_ABS: return any();
    default: break;
    }
    bool pair = false; /* what has no rule of its own can be done once for each half, when lanes do not differ */
    for (int k = 0; k < operands; k++) {
        if (!form_is_flat(f[k])) return any();
        pair |= !form_is_uniform(f[k]);
    }
    return linear(pair, 0, 0, n->wide);
}

struct jit_form simt_jit_form_of(const struct jit *j, const struct jit_insn *n, const struct jit_form *f)
{
    const struct insn *i = n->i;
    if (n->guarded || simt_jit_merges(j, n)) return any();
    switch ((enum jit_kind)n->kind) {
    case JK_SPECIAL:
        if (n >= j->code + j->start && (n->wide || i->mode < SR_CTAID_X || i->mode > SR_CTAID_Z)) return any();
        if (i->mode <= SR_TID_Z) return j->special[i->mode];
        if (i->mode == SR_LANEID && j->last) return any();
        if (i->mode == SR_LANEID) return with_zeros(linear(false, 1, 16, true), MOST_ZEROS);
        return i->mode >= SR_LANEMASK_EQ && i->mode <= SR_LANEMASK_GT ? any() : linear(false, 0, 0, true);
    case JK_INTEGER: return integer_result(n, f);
    case JK_COMPARE:
        if (j->alone) return linear(false, 0, 0, true);
        if (n->op == JT_F || !form_is_uniform(f[0]) || !form_is_uniform(f[1])) return any();
        return n->read_count < 3 || form_is_uniform(f[2]) ? linear(false, 0, 0, true) : any();
    case JK_VOTE: return linear(false, 0, 0, true);
    case JK_PREDICATE:
        for (int k = 0; k < n->read_count; k++)
            if (!form_is_uniform(f[k])) return any();
        return linear(false, 0, 0, true);
    case JK_SELECT:
        if (!form_is_flat(f[0]) || !form_is_flat(f[1]) || !form_is_uniform(f[2])) return any();
        return linear(!form_is_uniform(f[0]) || !form_is_uniform(f[1]), 0, 0, n->wide);
    case JK_LOAD:
        if (i->type >= PTX_F16 || !form_is_flat(f[0]) || !simt_jit_is_native_access(j, n, f[0])) return any();
        return linear(!form_is_uniform(f[0]), 0, 0, n->wide);
    default: return any();
    }
}

static void run_forms(const struct jit *j, const struct jit_insn *n, struct jit_form *forms)
{
    struct jit_form f[JIT_READS] = {0};
    for (int k = 0; k < n->read_count; k++) f[k] = forms[n->reads[k]];
    if (n->kind == JK_UNKNOWN)
        for (uint32_t s = 0; s < j->slot_count; s++)
            if (!j->slots[s].fixed) forms[s] = any();
    if (!n->write_count) return;
    struct jit_form r = simt_jit_form_of(j, n, f);
    for (int k = 0; k < n->write_count; k++)
        if (!j->slots[n->writes[k]].fixed) forms[n->writes[k]] = r;
}

/* What a kernel computes once for all blocks. */
static void find_fixed(struct jit *j, struct jit_form *forms)
{
    for (uint32_t s = 0; s < j->slot_count; s++) forms[s] = j->slots[s].fixed ? j->slots[s].form : any();
    for (uint32_t k = 0; k < j->start; k++) {
        const struct jit_insn *n = &j->code[k];
        run_forms(j, n, forms);
        if (n->write_count == 1 && n->kind == JK_CALL && (n->i->flags & F_UNIFORM) && n->i->run && n->read_count == 1 &&
            j->slots[n->reads[0]].form.kind == FORM_CONST)
            forms[n->writes[0]] = linear(false, 0, 0, true); /* a parameter */
    }
    uint64_t *written = j->sets + (size_t)(j->block_count + 1) * j->words;
    for (uint32_t k = j->start; k < j->count; k++)
        for (int w = 0; w < j->code[k].write_count; w++)
            written[j->code[k].writes[w] >> 6] |= (uint64_t)1 << (j->code[k].writes[w] & 63);
    for (uint32_t k = 0; k < j->start; k++)
        for (int w = 0; w < j->code[k].write_count; w++) {
            uint16_t s = j->code[k].writes[w];
            if (in_set(written, s)) continue;
            j->slots[s].fixed = true;
            j->slots[s].form = forms[s];
        }
}

static bool flow(struct jit *j, int to, const struct jit_form *forms)
{
    bool changed = false;
    if (to < 0) return false;
    struct jit_block *b = &j->blocks[to];
    for (uint32_t s = 0; s < j->slot_count; s++) {
        if (!in_set(b->in, s)) continue;
        struct jit_form f = j->slots[s].fixed ? j->slots[s].form : meet(b->forms[s], forms[s], j->slots[s].class);
        changed |= !same_form(f, b->forms[s]);
        b->forms[s] = f;
    }
    changed |= !b->reached;
    b->reached = true;
    return changed;
}

static void find_forms(struct jit *j)
{
    struct jit_form *forms = j->forms + (size_t)j->block_count * j->slot_count;
    find_fixed(j, forms);
    for (uint32_t s = 0; s < j->slot_count; s++) forms[s] = j->slots[s].fixed ? j->slots[s].form : any();
    flow(j, 0, forms);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < j->block_count; b++) {
            struct jit_block *block = &j->blocks[b];
            if (!block->reached) continue;
            memcpy(forms, block->forms, j->slot_count * sizeof *forms);
            for (uint32_t s = 0; s < j->slot_count; s++)
                if (forms[s].kind == FORM_NONE) forms[s] = j->slots[s].fixed ? j->slots[s].form : any();
            for (uint32_t k = block->start; k < block->end; k++) run_forms(j, &j->code[k], forms);
            changed |= flow(j, block->next[0], forms);
            changed |= flow(j, block->next[1], forms);
            if (block->join >= 0 && !form_is_uniform(forms[j->code[block->end - 1].reads[0]])) {
                simt_jit_part_forms(j, block, forms);
                changed |= flow(j, block->join, forms);
            }
            if (j->code[block->end - 1].i->run != simt_op_brx) continue;
            const struct branch_table *t = &j->program->tables[j->code[block->end - 1].i->extra];
            for (uint32_t e = 0; e < t->count; e++) changed |= flow(j, block_at(j, t->targets[e] - j->first), forms);
        }
    }
}

bool simt_jit_analyse(struct jit *j)
{
    if (!find_blocks(j)) return false;
    j->places = rt_calloc(j->slot_count + 1, sizeof *j->places);
    if (!j->places) return false;
    simt_jit_find_flushed(j);
    find_lives(j);
    simt_jit_find_words(j);
    simt_jit_find_joins(j);
    find_forms(j);
    j->live = j->sets + (size_t)j->block_count * j->words;
    return true;
}
