/* Operands of PTX instructions, as struct ptx_operand has them. */
#include <string.h>
#include <stdio.h>
#include "runtime/simt/ptx_read.h"

struct ptx_name *ptx_take_name(struct ptx_parser *p, const char *what)
{
    if (p->token.kind != TOKEN_NAME) return ptx_expected(p, what), NULL;
    struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
    return name && ptx_next(p) ? name : NULL;
}

struct operand_list {
    struct ptx_operand small[16], *items; /* items is NULL while `small` is enough */
    size_t count, room;
};

static struct ptx_operand *list_add(struct ptx_parser *p, struct operand_list *l)
{
    if (l->count < 16 && !l->items) return &l->small[l->count++];
    if (!l->items) {
        l->items = ptx_new(p, 64, sizeof *l->items);
        if (!l->items) return NULL;
        memcpy(l->items, l->small, sizeof l->small);
        l->room = 64;
    }
    l->items = ptx_grow(p, l->items, l->count, &l->room, sizeof *l->items);
    return l->items ? &l->items[l->count++] : NULL;
}

static bool list_finish(struct ptx_parser *p, struct operand_list *l, struct ptx_operand **out, size_t *count)
{
    *count = l->count;
    *out = l->items;
    if (l->items || l->count == 0) return true;
    *out = ptx_new(p, l->count, sizeof **out);
    if (!*out) return false;
    memcpy(*out, l->small, l->count * sizeof **out);
    return true;
}

bool ptx_operands(struct ptx_parser *p, char close, struct ptx_operand *o, int depth)
{
    struct operand_list list;
    list.items = NULL;
    list.count = 0;
    if (depth > 3) return ptx_fail(p, "operands nested too deeply");
    while (!ptx_is_char(p, close)) {
        struct ptx_operand *item = list_add(p, &list);
        if (!item || !ptx_operand(p, item, depth + 1)) return false;
        if (!ptx_accept(p, ',')) break;
    }
    return list_finish(p, &list, &o->items, &o->item_count) && ptx_expect(p, close);
}

static bool read_constant(struct ptx_parser *p, char sign, struct ptx_operand *o)
{
    struct ptx_value v;
    if (!ptx_constant(p, sign, &v)) return false;
    o->kind = PTX_OP_IMM;
    o->imm_type = v.type;
    o->imm = (int64_t)v.bits;
    return true;
}

/* +4, +-4, -4 after a symbol or an address's base. */
static bool read_offset(struct ptx_parser *p, int64_t *offset)
{
    while (ptx_is_char(p, '+') || ptx_is_char(p, '-')) {
        int64_t term;
        if (!ptx_take_term(p, UINT64_MAX, &term)) return false;
        *offset = (int64_t)((uint64_t)*offset + (uint64_t)term);
    }
    return !p->failed;
}

/* %tid.x and the like: the part after the dot belongs to the name when no space is between. */
static bool read_special(struct ptx_parser *p, const struct ptx_name *name, struct ptx_operand *o)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%.40s", name->text + 1);
    if (p->token.kind == TOKEN_DOT && !p->token.space) {
        n += snprintf(text + n, sizeof text - (size_t)n, ".%.*s", p->token.length > 8 ? 8 : (int)p->token.length,
                      p->token.start);
        if (!ptx_next(p)) return false;
    }
    struct ptx_name *full = ptx_intern(p, text, (size_t)n);
    if (!full) return false;
    o->kind = PTX_OP_SPECIAL;
    o->symbol = full->text;
    return true;
}

/* gcc names parameters as registers are named: %in_ar0, %value_out. */
static bool is_parameter(const struct ptx_func *f, const char *name)
{
    for (size_t k = 0; k < f->param_count + f->return_count; k++) {
        const struct ptx_var *v = k < f->param_count ? &f->params[k] : &f->returns[k - f->param_count];
        if (strcmp(v->name, name) == 0) return true;
    }
    return false;
}

/* %r.b0 and the like. */
static bool read_select(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_name *part = ptx_intern(p, p->token.start, p->token.length);
    if (!part) return false;
    o->select = part->text;
    return ptx_next(p);
}

/* A vector register, or one of its lanes. */
static bool read_vector(struct ptx_parser *p, const struct symbol *s, struct ptx_operand *o)
{
    static const char lanes[] = "xyzwrgba";
    if (p->token.kind == TOKEN_DOT && !p->token.space) {
        const char *at = p->token.length == 1 ? memchr(lanes, *p->token.start, 8) : NULL;
        size_t lane = at ? (size_t)(at - lanes) % 4 : 4;
        if (lane >= s->count) return ptx_fail(p, "a vector of %zu has no such part", s->count);
        o->kind = PTX_OP_REG;
        o->reg = (int)(s->index + lane);
        return ptx_next(p);
    }
    o->kind = PTX_OP_VECTOR;
    o->items = ptx_new(p, s->count, sizeof *o->items);
    if (!o->items) return false;
    o->item_count = s->count;
    for (size_t k = 0; k < s->count; k++)
        o->items[k] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = (int)(s->index + k)};
    return true;
}

/* The address of an element that a register counts: computed by an instruction before, into a register of its own. */
static bool index_by_register(struct ptx_parser *p, const struct ptx_operand *index, size_t element,
                              struct ptx_operand *o)
{
    bool wide = ptx_type_size(p->func->regs[index->reg].type) == 8;
    struct ptx_name *words[] = {ptx_intern(p, "mad", 3), wide ? ptx_intern(p, "lo", 2) : ptx_intern(p, "wide", 4),
                                wide ? ptx_intern(p, "s64", 3) : ptx_intern(p, "s32", 3), ptx_intern(p, "@index", 6)};
    struct ptx_operand *operands = ptx_new(p, 4, sizeof *operands);
    char **mods = ptx_new(p, 2, sizeof *mods);
    if (p->failed || !ptx_add_register(p, words[3]->text, PTX_B64)) return false;
    operands[0] = (struct ptx_operand){.kind = PTX_OP_REG, .reg = (int)p->func->reg_count - 1};
    operands[1] = *index;
    operands[2] = (struct ptx_operand){.kind = PTX_OP_IMM, .reg = -1, .imm_type = PTX_S64, .imm = (int64_t)element};
    operands[3] = (struct ptx_operand){.kind = PTX_OP_SYMBOL, .reg = -1, .symbol = o->symbol};
    mods[0] = words[1]->text;
    mods[1] = words[2]->text;
    struct ptx_insn insn = {.opcode = words[0]->text,
                            .mods = mods,
                            .mod_count = 2,
                            .guard = -1,
                            .line = p->token.line,
                            .in_asm = p->token.in_asm,
                            .file = p->location,
                            .operands = operands,
                            .operand_count = 4};
    *o = (struct ptx_operand){.kind = PTX_OP_REG, .reg = operands[0].reg, .imm = o->imm};
    return ptx_add_instruction(p, &insn);
}

/* array[3], array[%r1] or array[%r1+3]: that element's address, for ld and st what is there. */
static bool read_index(struct ptx_parser *p, const struct ptx_var *array, struct ptx_operand *o)
{
    struct ptx_operand index;
    int64_t more = 0;
    if (!array) return ptx_fail(p, "'%s' has no elements", o->symbol);
    size_t element = ptx_type_size(array->type) * array->lanes;
    if (!ptx_next(p) || !ptx_operand(p, &index, 4) || !read_offset(p, &more) || !ptx_expect(p, ']')) return false;
    bool counted = index.kind == PTX_OP_REG && ptx_type_size(p->func->regs[index.reg].type) >= 4;
    if (index.kind != PTX_OP_IMM && !counted) return ptx_fail(p, "an index is a number or a register of 32 or 64 bits");
    if (!counted) more = (int64_t)((uint64_t)more + (uint64_t)index.imm);
    o->imm = (int64_t)((uint64_t)more * element);
    if (counted && !index_by_register(p, &index, element, o)) return false;
    o->indexed = true;
    return true;
}

/* A register, variable, function, special register or _; with its offset or index when it is a symbol. */
static bool read_named(struct ptx_parser *p, struct ptx_operand *o)
{
    struct symbol s;
    bool sink = ptx_is_name(p, "_");
    struct ptx_name *name = ptx_take_name(p, "an operand");
    if (!name) return false;
    if (sink) return o->kind = PTX_OP_SINK, true;
    bool found = ptx_lookup(p, name, &s);
    if (found && s.kind == SYMBOL_VECTOR) return read_vector(p, &s, o);
    if (found && s.kind == SYMBOL_REG) {
        o->kind = PTX_OP_REG;
        o->reg = (int)s.index;
        return p->token.kind != TOKEN_DOT || p->token.space || read_select(p, o);
    }
    if (!found && name->text[0] == '%' && !is_parameter(p->func, name->text)) return read_special(p, name, o);
    const struct ptx_var *v = found && s.kind == SYMBOL_VAR      ? &p->func->vars[s.index]
                              : found && s.kind == SYMBOL_STATIC ? &p->module->vars[s.index]
                              : !found && name->var >= 0         ? &p->module->vars[name->var]
                                                                 : NULL;
    o->kind = PTX_OP_SYMBOL;
    o->symbol = v ? v->name : name->text;
    return ptx_is_char(p, '[') ? read_index(p, v, o) : read_offset(p, &o->imm);
}

/* [reg+imm], [symbol+imm], [imm], and the texture form [name, {coordinates}] with the coordinates as items. */
static bool read_address(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    if (ptx_starts_constant(p)) {
        if (!read_constant(p, 0, o)) return false;
    } else {
        if (!read_named(p, o)) return false;
        if (o->kind != PTX_OP_REG && o->kind != PTX_OP_SYMBOL) return ptx_fail(p, "this cannot be an address");
    }
    o->kind = PTX_OP_ADDRESS;
    if (!read_offset(p, &o->imm)) return false;
    if (ptx_accept(p, ',')) return ptx_operands(p, ']', o, depth + 1);
    return ptx_expect(p, ']');
}

static bool read_pair(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    bool vector = o->kind == PTX_OP_VECTOR;
    size_t n = vector ? o->item_count : 1;
    struct ptx_operand *items = ptx_new(p, n + 1, sizeof *items);
    if (!items || !ptx_next(p)) return false;
    if (depth > 3) return ptx_fail(p, "operands nested too deeply");
    for (size_t k = 0; k < n; k++) items[k] = vector ? o->items[k] : *o;
    *o = (struct ptx_operand){.kind = PTX_OP_PAIR, .reg = -1, .items = items, .item_count = n + 1};
    return ptx_operand(p, &items[n], 4);
}

bool ptx_operand(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    *o = (struct ptx_operand){.reg = -1};
    if (ptx_is_char(p, '{') || ptx_is_char(p, '[')) {
        bool vector = ptx_is_char(p, '{');
        o->kind = PTX_OP_VECTOR;
        if (!ptx_next(p)) return false;
        if (!vector) return read_address(p, o, depth);
        return ptx_operands(p, '}', o, depth) && (!ptx_is_char(p, '|') || read_pair(p, o, depth));
    }
    bool minus = ptx_is_char(p, '-'), not = ptx_is_char(p, '!');
    if ((minus || not ) && !ptx_next(p)) return false;
    if (ptx_starts_constant(p) || ptx_is_name(p, "WARP_SZ"))
        return read_constant(p, (char)(minus ? '-' : not ? '!' : 0), o);
    if (!read_named(p, o)) return false;
    if ((minus || not ) && o->kind != PTX_OP_REG) return ptx_expected(p, minus ? "a register or number" : "a register");
    o->negate = minus || not ;
    return !ptx_is_char(p, '|') || read_pair(p, o, depth);
}
