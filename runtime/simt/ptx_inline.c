/* Calls of the toolkit's own functions, with the functions' bodies in their place.
 *
 * A call parts a warp's registers: each function has a frame of its own, arguments and results go through the local
 * memory of every lane, and no code is generated across it, so a kernel with one pow() of doubles was interpreted as a
 * whole, twenty times slower. The functions that the toolkit's headers leave as calls compute one number from one or
 * two and touch no memory; what they take and give then are registers.
 *
 * Done for launches alone: traces and profiles show the calls that the text has. */
#include <string.h>
#include "runtime/simt/ptx_walk.h"

#define LONGEST        1000 /* instructions of a body */
#define MOST_REGISTERS 1000
#define MOST_CALLS     64 /* in a function: bodies are written once for each */

static bool names(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* A register of its own can stand for it. */
static bool is_scalar(const struct ptx_var *v)
{
    return v->space == PTX_PARAM && !v->is_array && v->lanes == 1 && (v->size == 4 || v->size == 8);
}

static const struct ptx_var *find_variable(const struct ptx_var *vars, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (names(vars[k].name, name)) return &vars[k];
    return NULL;
}

/* ---- which variables are only moved as a whole ---- */
static bool mentions(const struct ptx_operand *o, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (names(o[k].symbol, name) || mentions(o[k].items, o[k].item_count, name)) return true;
    return false;
}

/* ld.param or st.param of all of the variable, from or to one register. */
static bool moves_whole(const struct ptx_insn *in, const struct ptx_var *v)
{
    bool load = ptx_is(in, "ld"), store = ptx_is(in, "st");
    if ((!load && !store) || in->operand_count != 2 || in->mod_count != 2 || strcmp(in->mods[0], "param") != 0)
        return false;
    const struct ptx_operand *at = &in->operands[store ? 0 : 1], *value = &in->operands[store ? 1 : 0];
    bool plain = value->kind == PTX_OP_REG ? !value->negate && !value->select : store && value->kind == PTX_OP_IMM;
    return plain && at->kind == PTX_OP_ADDRESS && names(at->symbol, v->name) && at->reg < 0 && !at->imm &&
           ptx_type_size(ptx_type_find(in->mods[1])) == v->size;
}

static bool only_moved(const struct ptx_func *f, const struct ptx_var *v, const struct ptx_insn *call)
{
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (in != call && mentions(in->operands, in->operand_count, v->name) && !moves_whole(in, v)) return false;
    }
    return true;
}

/* ---- which calls ---- */
static bool can_be_inlined(const struct ptx_func *f)
{
    if (!f->has_body || f->is_entry || f->var_count || f->branch_table_count || f->insn_count > LONGEST ||
        f->reg_count > MOST_REGISTERS || strncmp(f->name, "__internal_", 11) != 0)
        return false;
    for (size_t k = 0; k < f->param_count; k++)
        if (!is_scalar(&f->params[k]) || !only_moved(f, &f->params[k], NULL)) return false;
    for (size_t k = 0; k < f->return_count; k++)
        if (!is_scalar(&f->returns[k]) || !only_moved(f, &f->returns[k], NULL)) return false;
    for (size_t k = 0; k < f->insn_count; k++)
        if (ptx_is(&f->insns[k], "call") || ptx_is(&f->insns[k], "brx") || ptx_is(&f->insns[k], "exit")) return false;
    return true;
}

struct call {
    const struct ptx_func *callee;
    const struct ptx_operand *results, *arguments; /* NULL: none */
    size_t first_reg;                              /* of the callee's, in the caller */
    size_t start, end;                             /* of its body there */
};

static bool passes(const struct ptx_func *f, const struct ptx_insn *in, const struct ptx_operand *list,
                   const struct ptx_var *vars, size_t count)
{
    if ((list ? list->item_count : 0) != count) return false;
    for (size_t k = 0; k < count; k++) {
        const struct ptx_operand *o = &list->items[k];
        const struct ptx_var *v =
            o->kind == PTX_OP_SYMBOL && !o->imm ? find_variable(f->vars, f->var_count, o->symbol) : NULL;
        if (!v || !is_scalar(v) || v->size != vars[k].size || !only_moved(f, v, in)) return false;
        for (size_t j = 0; j < k; j++)
            if (names(list->items[j].symbol, o->symbol)) return false;
    }
    return true;
}

/* False: the call stays. */
static bool find_call(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_insn *in, struct call *c)
{
    const char *name = NULL;
    *c = (struct call){0};
    if (!ptx_is(in, "call") || in->guard >= 0) return false;
    for (size_t k = 0; k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind == PTX_OP_VECTOR && !name)
            c->results = o;
        else if (o->kind == PTX_OP_VECTOR)
            c->arguments = o;
        else if (o->kind == PTX_OP_SYMBOL && !name)
            name = o->symbol;
    }
    for (size_t k = 0; k < m->func_count && !c->callee; k++)
        if (m->funcs[k].has_body && names(m->funcs[k].name, name)) c->callee = &m->funcs[k];
    return c->callee && can_be_inlined(c->callee) &&
           passes(f, in, c->arguments, c->callee->params, c->callee->param_count) &&
           passes(f, in, c->results, c->callee->returns, c->callee->return_count);
}

/* ---- the new body ---- */
struct writer {
    struct ptx_parser *p;
    struct ptx_func *f;
    struct ptx_insn *insns;
    size_t count;
    size_t *places; /* by instruction of the old body, and behind the last */
    struct call calls[MOST_CALLS];
    size_t call_count;
};

/* Operands of a body, whose registers begin at `first`. */
static bool copy_operands(struct ptx_parser *p, struct ptx_operand **operands, size_t count, const struct call *c)
{
    struct ptx_operand *copy = ptx_new(p, count + 1, sizeof *copy);
    if (!copy) return false;
    for (size_t k = 0; k < count; k++) {
        struct ptx_operand *o = &copy[k];
        *o = (*operands)[k];
        bool has_register = o->kind == PTX_OP_REG || (o->kind == PTX_OP_ADDRESS && o->reg >= 0);
        if (has_register) o->reg += (int)c->first_reg;
        if (o->kind == PTX_OP_LABEL) o->imm += (int64_t)c->start;
        if (o->item_count && !copy_operands(p, &o->items, o->item_count, c)) return false;
    }
    *operands = copy;
    return true;
}

/* The register that stands for a variable of the call, seen from the callee or (NULL) from the caller; -1: none. */
static int register_of(const struct call *c, const struct ptx_var *vars, size_t count, const struct ptx_operand *list,
                       size_t first, const char *name, bool inside)
{
    for (size_t k = 0; k < count; k++)
        if (names(inside ? vars[k].name : list->items[k].symbol, name))
            return (int)(c->first_reg + c->callee->reg_count + first + k);
    return -1;
}
static int passed_in(const struct call *c, const struct ptx_insn *in, bool inside)
{
    bool load = ptx_is(in, "ld");
    if ((!load && !ptx_is(in, "st")) || in->operand_count != 2) return -1;
    const char *name = in->operands[load].symbol;
    int r = register_of(c, c->callee->params, c->callee->param_count, c->arguments, 0, name, inside);
    return r >= 0 ? r
                  : register_of(c, c->callee->returns, c->callee->return_count, c->results, c->callee->param_count,
                                name, inside);
}

/* A move instead of ld.param or st.param. */
static bool become_move(struct ptx_parser *p, struct ptx_insn *in, int reg)
{
    static char move[] = "mov";
    bool load = ptx_is(in, "ld");
    struct ptx_operand *o = ptx_new(p, 2, sizeof *o);
    if (!o) return false;
    o[load] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = reg};
    o[!load] = in->operands[!load];
    in->opcode = move;
    in->mods++;
    in->mod_count = 1;
    in->operands = o;
    return true;
}

static bool become_branch(struct ptx_parser *p, struct ptx_insn *in, size_t to)
{
    static char branch[] = "bra";
    struct ptx_operand *o = ptx_new(p, 1, sizeof *o);
    if (!o) return false;
    *o = (struct ptx_operand){.kind = PTX_OP_LABEL, .reg = -1, .imm = (int64_t)to};
    in->opcode = branch;
    in->mod_count = 0;
    in->operands = o;
    in->operand_count = 1;
    return true;
}

/* The callee's instructions are the caller's line. */
static bool write_call(struct writer *w, const struct ptx_insn *call, const struct call *c)
{
    for (size_t k = 0; k < c->callee->insn_count; k++) {
        struct ptx_insn *in = &w->insns[w->count++];
        *in = c->callee->insns[k];
        in->file = call->file;
        in->source_line = call->source_line;
        in->source_column = call->source_column;
        in->of_groups = call->of_groups;
        in->ahead = call->ahead;
        in->of_tiles = call->of_tiles;
        if (in->guard >= 0) in->guard += (int)c->first_reg;
        int reg = passed_in(c, in, true);
        if (!copy_operands(w->p, &in->operands, in->operand_count, c)) return false;
        if (reg >= 0 ? !become_move(w->p, in, reg) : ptx_is(in, "ret") && !become_branch(w->p, in, c->end))
            return false;
    }
    return true;
}

static bool write_insns(struct writer *w)
{
    size_t next = 0;
    for (size_t k = 0; k < w->f->insn_count; k++) {
        const struct ptx_insn *in = &w->f->insns[k];
        if (next < w->call_count && w->places[k] == w->calls[next].start && ptx_is(in, "call")) {
            if (!write_call(w, in, &w->calls[next++])) return false;
            continue;
        }
        struct ptx_insn *copy = &w->insns[w->count++];
        *copy = *in;
        int reg = -1;
        for (size_t c = 0; c < w->call_count && reg < 0; c++) reg = passed_in(&w->calls[c], in, false);
        if (reg >= 0 && !become_move(w->p, copy, reg)) return false;
        for (size_t o = 0; o < copy->operand_count; o++)
            if (copy->operands[o].kind == PTX_OP_LABEL)
                copy->operands[o].imm = (int64_t)w->places[copy->operands[o].imm];
    }
    return true;
}

/* What a call's body and its variables need, behind what there is. */
static bool add_registers(struct writer *w)
{
    static char passed[] = "passed";
    struct ptx_func *f = w->f;
    size_t count = f->reg_count;
    for (size_t k = 0; k < w->call_count; k++) {
        const struct ptx_func *callee = w->calls[k].callee;
        w->calls[k].first_reg = count;
        count += callee->reg_count + callee->param_count + callee->return_count;
    }
    struct ptx_reg *regs = ptx_new(w->p, count + 1, sizeof *regs);
    if (!regs) return false;
    memcpy(regs, f->regs, f->reg_count * sizeof *regs);
    for (size_t k = 0; k < w->call_count; k++) {
        const struct ptx_func *callee = w->calls[k].callee;
        struct ptx_reg *r = regs + w->calls[k].first_reg;
        memcpy(r, callee->regs, callee->reg_count * sizeof *r);
        r += callee->reg_count;
        for (size_t v = 0; v < callee->param_count + callee->return_count; v++) {
            const struct ptx_var *var =
                v < callee->param_count ? &callee->params[v] : &callee->returns[v - callee->param_count];
            r[v] = (struct ptx_reg){passed, var->size == 8 ? PTX_B64 : PTX_B32};
        }
    }
    f->regs = regs;
    f->reg_count = count;
    return true;
}

/* Labels of the caller where they are now, and those of bodies with the places that returns go to. */
static bool add_labels(struct writer *w)
{
    static char behind[] = "behind";
    struct ptx_func *f = w->f;
    size_t count = f->label_count;
    for (size_t k = 0; k < w->call_count; k++) count += w->calls[k].callee->label_count + 1;
    struct ptx_label *labels = ptx_new(w->p, count, sizeof *labels);
    if (!labels) return false;
    count = f->label_count;
    for (size_t k = 0; k < count; k++) labels[k] = (struct ptx_label){f->labels[k].name, w->places[f->labels[k].insn]};
    for (size_t k = 0; k < w->call_count; k++) {
        const struct call *c = &w->calls[k];
        for (size_t l = 0; l < c->callee->label_count; l++)
            labels[count++] = (struct ptx_label){c->callee->labels[l].name, c->callee->labels[l].insn + c->start};
        labels[count++] = (struct ptx_label){behind, c->end};
    }
    f->labels = labels;
    f->label_count = count;
    return true;
}

static bool inline_in(struct ptx_parser *p, struct ptx_func *f)
{
    struct writer w = {.p = p, .f = f};
    size_t count = 0;
    bool some = false;
    for (size_t k = 0; k < f->insn_count && !some; k++) some = ptx_is(&f->insns[k], "call");
    if (!some) return true;
    if (!(w.places = ptx_new(p, f->insn_count + 1, sizeof *w.places))) return false;
    for (size_t k = 0; k < f->insn_count; k++) {
        struct call *c = &w.calls[w.call_count];
        w.places[k] = count;
        if (w.call_count == MOST_CALLS - 1 || !find_call(p->module, f, &f->insns[k], c)) {
            count++;
            continue;
        }
        c->start = count;
        c->end = count += c->callee->insn_count;
        w.call_count++;
    }
    w.places[f->insn_count] = count;
    if (!w.call_count) return true;
    if (!(w.insns = ptx_new(p, count + 1, sizeof *w.insns)) || !add_registers(&w) || !write_insns(&w) ||
        !add_labels(&w))
        return false;
    for (size_t t = 0; t < f->branch_table_count; t++)
        for (size_t k = 0; k < f->branch_tables[t].count; k++)
            f->branch_tables[t].insns[k] = w.places[f->branch_tables[t].insns[k]];
    f->insns = w.insns;
    f->insn_count = count;
    return true;
}

bool ptx_inline(struct ptx_module *m, struct rt_error *e)
{
    return ptx_each_body(m, e, true, inline_in);
}
