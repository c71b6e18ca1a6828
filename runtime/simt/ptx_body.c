/* PTX inside a function: scopes, registers, labels and instructions. Scopes are flattened: what is
 * declared in an inner one gets a name of its own, "param0@3", since no PTX name holds an '@'. */
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "runtime/memory.h"
#include "runtime/simt/ptx_read.h"

/* ---- names and scopes ---- */

static struct symbol *symbol_slot(const struct ptx_parser *p, const struct ptx_name *name, int scope)
{
    size_t at = (size_t)(name->hash ^ (uint64_t)scope * 0x9e3779b97f4a7c15u) & (p->symbol_slots - 1);
    while (p->symbols[at].name && (p->symbols[at].name != name || p->symbols[at].scope != scope))
        at = (at + 1) & (p->symbol_slots - 1);
    return &p->symbols[at];
}

static const struct symbol *find_in_scope(const struct ptx_parser *p, const struct ptx_name *name, int scope)
{
    if (!p->symbol_slots) return NULL;
    const struct symbol *s = symbol_slot(p, name, scope);
    return s->name ? s : NULL;
}

static bool grow_symbols(struct ptx_parser *p)
{
    struct symbol *old = p->symbols;
    size_t old_slots = p->symbol_slots, slots = old_slots ? old_slots * 2 : 64;
    struct symbol *fresh = rt_calloc(slots, sizeof *fresh);
    if (!fresh) return ptx_fail_memory(p);
    p->symbols = fresh;
    p->symbol_slots = slots;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i].name) *symbol_slot(p, old[i].name, old[i].scope) = old[i];
    }
    free(old);
    return true;
}

static bool add_symbol(struct ptx_parser *p, const struct ptx_name *name, enum symbol_kind kind, size_t index,
                       size_t count)
{
    if (p->symbol_count * 2 >= p->symbol_slots && !grow_symbols(p)) return false;
    struct symbol *s = symbol_slot(p, name, p->scope);
    if (s->name) return ptx_fail(p, "'%s' is declared twice in one scope", name->text);
    *s = (struct symbol){.name = name, .scope = p->scope, .kind = kind, .index = index, .count = count};
    p->symbol_count++;
    return true;
}

/* The register number of %r12 when .reg %r<N> stands in the scope: every way to split off a number is tried, the
 * longest number first. */
static bool find_in_range(const struct ptx_parser *p, const struct ptx_name *name, int scope, size_t *reg)
{
    size_t digits = 0, number = 0;
    while (digits < name->length && name->text[name->length - digits - 1] >= '0' &&
           name->text[name->length - digits - 1] <= '9')
        digits++;
    if (digits > 7) digits = 7;
    for (size_t i = name->length - digits; i < name->length; i++) {
        if (name->text[i] == '0' && i + 1 < name->length) continue; /* numbers have no leading zeros */
        number = 0;
        for (size_t k = i; k < name->length; k++) number = number * 10 + (size_t)(name->text[k] - '0');
        const struct ptx_name *prefix = ptx_known(p, name->text, i);
        const struct symbol *s = prefix ? find_in_scope(p, prefix, scope) : NULL;
        if (s && s->kind == SYMBOL_RANGE && number < s->count) return *reg = s->index + number, true;
    }
    return false;
}

bool ptx_lookup(const struct ptx_parser *p, const struct ptx_name *name, struct symbol *out)
{
    for (int scope = p->scope; scope >= 0; scope = p->scope_parent[scope]) {
        const struct symbol *s = find_in_scope(p, name, scope);
        if (s && s->kind != SYMBOL_RANGE) return *out = *s, true;
        size_t reg;
        if (find_in_range(p, name, scope, &reg)) return *out = (struct symbol){.kind = SYMBOL_REG, .index = reg}, true;
    }
    return false;
}

/* The name as the tree has it: with its number after a range's prefix, with its scope when that is an inner one. */
static char *unique_name(struct ptx_parser *p, const struct ptx_name *name, long number)
{
    char tail[48];
    int n = 0;
    if (number < 0 && p->scope == 0) return (char *)name->text;
    if (number >= 0) n = snprintf(tail, sizeof tail, "%ld", number);
    if (p->scope) n += snprintf(tail + n, sizeof tail - (size_t)n, "@%d", p->scope);
    char *text = ptx_new(p, name->length + (size_t)n + 1, 1);
    if (!text) return NULL;
    memcpy(text, name->text, name->length);
    memcpy(text + name->length, tail, (size_t)n + 1);
    return text;
}

static bool open_scope(struct ptx_parser *p)
{
    if (++p->depth >= PTX_MAX_SCOPES) return ptx_fail(p, "more than %d nested scopes", PTX_MAX_SCOPES);
    if (!ptx_grow_table(p, (void **)&p->scope_parent, p->scope_count, &p->scope_room, sizeof(int))) return false;
    p->scope_parent[p->scope_count] = p->scope;
    p->scope = (int)p->scope_count++;
    return true;
}

/* ---- declarations ---- */

bool ptx_add_register(struct ptx_parser *p, char *name, enum ptx_type type)
{
    struct ptx_func *f = p->func;
    f->regs = ptx_grow(p, f->regs, f->reg_count, &p->reg_room, sizeof *f->regs);
    if (!f->regs) return false;
    f->regs[f->reg_count++] = (struct ptx_reg){.name = name, .type = type};
    return true;
}

static bool add_registers(struct ptx_parser *p, const struct ptx_name *name, enum ptx_type type, enum symbol_kind kind,
                          size_t count)
{
    struct ptx_func *f = p->func;
    if (count > PTX_MAX_REGISTERS - p->register_total)
        return ptx_fail(p, "more than %zu registers in all", PTX_MAX_REGISTERS);
    p->register_total += count;
    if (!add_symbol(p, name, kind, f->reg_count, count)) return false;
    for (size_t i = 0; i < count; i++) {
        char *text = unique_name(p, name, kind == SYMBOL_REG ? -1 : (long)i);
        if (!text || !ptx_add_register(p, text, type)) return false;
    }
    return true;
}

bool ptx_registers(struct ptx_parser *p, bool in_list, struct ptx_var *out)
{
    bool vector = ptx_is_dot(p, "v2") || ptx_is_dot(p, "v4");
    size_t lanes = vector ? (size_t)(p->token.start[1] - '0') : 1;
    if (vector && !ptx_next(p)) return false;
    enum ptx_type type = ptx_type_token(p);
    if (type == PTX_NONE) return ptx_expected(p, "a register's type");
    if (!ptx_next(p)) return false;
    do {
        const struct ptx_name *name = ptx_take_name(p, "a register's name");
        if (!name) return false;
        uint64_t count = 1;
        bool range = ptx_accept(p, '<');
        if (range && (!ptx_take_int(p, PTX_MAX_REGISTERS, &count) || !ptx_expect(p, '>'))) return false;
        if (vector && (range || in_list)) return ptx_fail(p, "'%s' cannot be a vector", name->text);
        enum symbol_kind kind = vector ? SYMBOL_VECTOR : range ? SYMBOL_RANGE : SYMBOL_REG;
        if (!add_registers(p, name, type, kind, vector ? lanes : count)) return false;
        if (in_list) {
            *out = (struct ptx_var){.name = (char *)name->text, .space = PTX_REG, .type = type};
            out->size = out->align = (uint32_t)ptx_type_size(type);
            return true;
        }
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* A variable of global or constant memory in a function is one of the module, under a name of its own. */
static bool static_variable(struct ptx_parser *p, const struct ptx_name *name, struct ptx_var *v)
{
    const char *function = p->func->name, *local = unique_name(p, name, -1);
    if (!local) return false;
    size_t index, room = strlen(function) + strlen(local) + 2;
    if (!(v->name = ptx_new(p, room, 1))) return false;
    snprintf(v->name, room, "%s.%s", function, local);
    v->is_weak = p->func->is_weak;
    return ptx_add_variable(p, v, &index) && add_symbol(p, name, SYMBOL_STATIC, index, 1);
}

static bool add_variable(struct ptx_parser *p, const struct ptx_name *name, struct ptx_var v)
{
    struct ptx_func *f = p->func;
    if (name && (v.space == PTX_GLOBAL || v.space == PTX_CONST)) return static_variable(p, name, &v);
    if (!name || !add_symbol(p, name, SYMBOL_VAR, f->var_count, 1)) return false;
    v.name = unique_name(p, name, -1);
    if (!v.name) return false;
    f->vars = ptx_grow(p, f->vars, f->var_count, &p->fvar_room, sizeof v);
    if (!f->vars) return false;
    f->vars[f->var_count++] = v;
    return true;
}

/* name<N>, of which the '<' is taken: name0, name1, ..., which few programs have many of. */
static bool add_variables(struct ptx_parser *p, const struct ptx_var *v)
{
    uint64_t count;
    if (!ptx_take_int(p, 1024, &count) || !ptx_expect(p, '>')) return false;
    char *text = ptx_new(p, strlen(v->name) + 8, 1);
    for (uint64_t k = 0; text && k < count; k++) {
        int n = sprintf(text, "%s%d", v->name, (int)k);
        if (!add_variable(p, ptx_intern(p, text, (size_t)n), *v)) return false;
    }
    return text;
}

static bool local_variable(struct ptx_parser *p, const struct ptx_var *type)
{
    struct ptx_var v = *type;
    if (!ptx_variable(p, false, &v)) return false;
    if (ptx_accept(p, '<')) return add_variables(p, &v);
    return add_variable(p, ptx_intern(p, v.name, strlen(v.name)), v);
}

static bool local_variables(struct ptx_parser *p, enum ptx_space space)
{
    struct ptx_var type;
    if (!ptx_variable_type(p, space, &type)) return false;
    do
        if (!local_variable(p, &type)) return false;
    while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

static bool body_directive(struct ptx_parser *p)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {{"param", PTX_PARAM},
                  {"shared", PTX_SHARED},
                  {"local", PTX_LOCAL},
                  {"global", PTX_GLOBAL},
                  {"const", PTX_CONST}};
    if (ptx_is_dot(p, "reg")) return ptx_next(p) && ptx_registers(p, false, NULL);
    if (ptx_is_dot(p, "loc")) return ptx_next(p) && ptx_location(p);
    if (ptx_is_dot(p, "pragma")) return ptx_next(p) && ptx_pragma(p);
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (ptx_is_dot(p, spaces[i].word)) return ptx_next(p) && local_variables(p, spaces[i].space);
    }
    return ptx_fail(p, "the directive '.%.*s' is not supported inside a function",
                    p->token.length > 40 ? 40 : (int)p->token.length, p->token.start);
}

/* ---- labels ---- */

static bool add_fixup(struct ptx_parser *p, struct ptx_operand *operand, size_t *target, const struct ptx_name *name)
{
    if (!ptx_grow_table(p, (void **)&p->fixups, p->fixup_count, &p->fixup_room, sizeof *p->fixups)) return false;
    p->fixups[p->fixup_count++] =
        (struct fixup){.name = name, .scope = p->scope, .line = p->token.line, .operand = operand, .target = target};
    return true;
}

/* name: .branchtargets L1, L2; */
static bool read_targets(struct ptx_parser *p, const struct ptx_name *name)
{
    struct ptx_func *f = p->func;
    size_t room = 0, count = 0;
    const struct ptx_name **labels = NULL;
    do {
        labels = ptx_grow(p, labels, count, &room, sizeof *labels);
        if (!labels) return false;
        labels[count] = ptx_take_name(p, "a label");
        if (!labels[count++]) return false;
    } while (ptx_accept(p, ','));
    size_t *insns = ptx_new(p, count, sizeof *insns);
    if (!insns || !add_symbol(p, name, SYMBOL_TABLE, f->branch_table_count, 1)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!add_fixup(p, NULL, &insns[i], labels[i])) return false;
    }
    f->branch_tables = ptx_grow(p, f->branch_tables, f->branch_table_count, &p->table_room, sizeof *f->branch_tables);
    char *text = unique_name(p, name, -1);
    if (!f->branch_tables || !text) return false;
    f->branch_tables[f->branch_table_count++] = (struct ptx_targets){.name = text, .insns = insns, .count = count};
    return ptx_expect(p, ';');
}

/* What follows `name:`. */
static bool read_label(struct ptx_parser *p, const struct ptx_name *name)
{
    struct ptx_func *f = p->func;
    if (ptx_is_dot(p, "branchtargets")) return ptx_next(p) && read_targets(p, name);
    if (ptx_is_dot(p, "callprototype") || ptx_is_dot(p, "calltargets")) return ptx_skip_statement(p);
    if (!add_symbol(p, name, SYMBOL_LABEL, f->label_count, 1)) return false;
    f->labels = ptx_grow(p, f->labels, f->label_count, &p->label_room, sizeof *f->labels);
    if (!f->labels) return false;
    f->labels[f->label_count++] = (struct ptx_label){.name = (char *)name->text, .insn = f->insn_count};
    return true;
}

static bool settle_labels(struct ptx_parser *p)
{
    struct ptx_func *f = p->func;
    for (size_t i = 0; i < p->fixup_count; i++) {
        const struct fixup *fix = &p->fixups[i];
        bool table = fix->operand && fix->operand->kind == PTX_OP_SYMBOL;
        const struct symbol *s = NULL;
        for (int scope = fix->scope; scope >= 0 && !s; scope = p->scope_parent[scope]) {
            s = find_in_scope(p, fix->name, scope);
            if (s && s->kind != (table ? SYMBOL_TABLE : SYMBOL_LABEL)) s = NULL;
        }
        if (!s) {
            p->token.line = fix->line;
            return ptx_fail(p, "there is no label '%s'", fix->name->text);
        }
        if (table)
            fix->operand->symbol = f->branch_tables[s->index].name;
        else if (fix->operand)
            fix->operand->imm = (int64_t)f->labels[s->index].insn;
        else
            *fix->target = f->labels[s->index].insn;
    }
    return true;
}

/* ---- parameters by a register ---- */

struct place { /* what a register holds: the address of a parameter of the kernel, and bytes more */
    char *param;
    int64_t bytes;
    uint8_t definitions; /* 2: several */
};

static void count_definitions(const struct ptx_operand *o, struct place *places)
{
    if (o->kind == PTX_OP_REG && places[o->reg].definitions < 2) places[o->reg].definitions++;
    for (size_t k = 0; k < o->item_count; k++) count_definitions(&o->items[k], places);
}

static void find_place(const struct ptx_func *f, const struct ptx_insn *in, struct place *places)
{
    const struct ptx_operand *o = in->operands;
    bool move = strcmp(in->opcode, "mov") == 0 && in->operand_count == 2;
    bool add = strcmp(in->opcode, "add") == 0 && in->operand_count == 3 && o[2].kind == PTX_OP_IMM;
    if ((!move && !add) || in->guard >= 0 || o[0].kind != PTX_OP_REG || o[0].select) return;
    struct place *to = &places[o[0].reg];
    if (to->definitions != 1) return;
    if (o[1].kind == PTX_OP_REG && !o[1].negate && !o[1].select) {
        to->param = places[o[1].reg].param;
        to->bytes = (int64_t)((uint64_t)places[o[1].reg].bytes + (add ? (uint64_t)o[2].imm : 0));
    }
    for (size_t k = 0; k < f->param_count && move && o[1].kind == PTX_OP_SYMBOL; k++)
        if (strcmp(f->params[k].name, o[1].symbol) == 0) *to = (struct place){f->params[k].name, o[1].imm, 1};
}

/* LLVM moves the address of a parameter to a register and loads its parts by that. With the parameter's name instead
 * it is known that they are the same for all threads. */
static bool settle_params(struct ptx_parser *p)
{
    const struct ptx_func *f = p->func;
    struct place *places = f->is_entry && f->reg_count ? rt_calloc(f->reg_count, sizeof *places) : NULL;
    if (!places) return !f->is_entry || !f->reg_count || ptx_fail_memory(p);
    for (size_t k = 0; k < f->insn_count; k++)
        if (f->insns[k].operand_count) count_definitions(&f->insns[k].operands[0], places);
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        find_place(f, in, places);
        bool load = strcmp(in->opcode, "ld") == 0 && in->mod_count && strncmp(in->mods[0], "param", 5) == 0;
        struct ptx_operand *from = load && in->operand_count == 2 ? &in->operands[1] : NULL;
        if (!from || from->kind != PTX_OP_ADDRESS || from->reg < 0 || !places[from->reg].param) continue;
        from->symbol = places[from->reg].param;
        from->imm = (int64_t)((uint64_t)from->imm + (uint64_t)places[from->reg].bytes);
        from->reg = -1;
    }
    free(places);
    return true;
}

/* ---- instructions ---- */

/* call (results), callee, (arguments), prototype: always results, callee and arguments, even when there are none. */
static bool read_call(struct ptx_parser *p, struct ptx_insn *insn)
{
    struct ptx_operand *o = ptx_new(p, 4, sizeof *o);
    if (!o) return false;
    for (int i = 0; i < 4; i++) o[i] = (struct ptx_operand){.kind = PTX_OP_VECTOR, .reg = -1};
    insn->operands = o;
    insn->operand_count = 3;
    if (ptx_accept(p, '(') && (!ptx_operands(p, ')', &o[0], 0) || !ptx_expect(p, ','))) return false;
    if (!ptx_operand(p, &o[1], 0)) return false;
    if (o[1].kind != PTX_OP_REG && o[1].kind != PTX_OP_SYMBOL) return ptx_fail(p, "this cannot be called");
    if (!ptx_accept(p, ',')) return ptx_expect(p, ';');
    if (ptx_accept(p, '(')) {
        if (!ptx_operands(p, ')', &o[2], 0)) return false;
        if (!ptx_accept(p, ',')) return ptx_expect(p, ';');
    }
    insn->operand_count = 4;
    return ptx_operand(p, &o[3], 0) && ptx_expect(p, ';');
}

static bool read_operands(struct ptx_parser *p, struct ptx_insn *insn)
{
    struct ptx_operand group = {0};
    if (!ptx_operands(p, ';', &group, 0)) return false;
    insn->operands = group.items;
    insn->operand_count = group.item_count;
    bool memory = strcmp(insn->opcode, "ld") == 0 || strcmp(insn->opcode, "st") == 0;
    for (size_t k = 0; memory && k < insn->operand_count; k++)
        if (insn->operands[k].indexed) insn->operands[k].kind = PTX_OP_ADDRESS;
    return true;
}

/* bra L; the label is looked up when the function is complete. */
static bool read_branch(struct ptx_parser *p, struct ptx_insn *insn)
{
    const struct ptx_name *name = ptx_take_name(p, "a label");
    struct ptx_operand *o = ptx_new(p, 1, sizeof *o);
    if (!name || !o) return false;
    *o = (struct ptx_operand){.kind = PTX_OP_LABEL, .reg = -1, .symbol = (char *)name->text};
    insn->operands = o;
    insn->operand_count = 1;
    return add_fixup(p, o, NULL, name) && ptx_expect(p, ';');
}

static bool read_modifiers(struct ptx_parser *p, struct ptx_insn *insn)
{
    char *words[16];
    while (p->token.kind == TOKEN_DOT) {
        if (insn->mod_count == 16) return ptx_fail(p, "more than 16 words in an instruction's name");
        struct ptx_name *word = ptx_intern(p, p->token.start, p->token.length);
        if (!word || !ptx_next(p)) return false;
        words[insn->mod_count++] = word->text;
    }
    if (!insn->mod_count) return !p->failed;
    insn->mods = ptx_new(p, insn->mod_count, sizeof *words);
    if (!insn->mods) return false;
    memcpy(insn->mods, words, insn->mod_count * sizeof *words);
    return true;
}

bool ptx_add_instruction(struct ptx_parser *p, const struct ptx_insn *insn)
{
    struct ptx_func *f = p->func;
    f->insns = ptx_grow(p, f->insns, f->insn_count, &p->insn_room, sizeof *f->insns);
    if (!f->insns) return false;
    f->insns[f->insn_count++] = *insn;
    return true;
}

static bool read_instruction(struct ptx_parser *p, const struct ptx_name *opcode, struct ptx_insn *insn)
{
    insn->opcode = (char *)opcode->text;
    insn->file = p->location; /* ptx_settle_locations makes it a file, line and column */
    insn->used_bytes = p->used_bytes;
    p->used_bytes = 0;
    if (!read_modifiers(p, insn)) return false;
    if (strcmp(opcode->text, "call") == 0) {
        if (!read_call(p, insn)) return false;
    } else if (strcmp(opcode->text, "bra") == 0) {
        if (!read_branch(p, insn)) return false;
    } else {
        if (!read_operands(p, insn)) return false;
        if (strcmp(opcode->text, "brx") == 0 && insn->operand_count == 2 && insn->operands[1].kind == PTX_OP_SYMBOL) {
            struct ptx_operand *o = &insn->operands[1];
            struct ptx_name *table = ptx_intern(p, o->symbol, strlen(o->symbol));
            if (!table || !add_fixup(p, o, NULL, table)) return false;
        }
    }
    return ptx_add_instruction(p, insn);
}

static bool read_statement(struct ptx_parser *p)
{
    struct ptx_insn insn = {.guard = -1, .line = p->token.line, .in_asm = p->token.in_asm};
    if (ptx_is_char(p, '@')) {
        struct symbol s;
        if (!ptx_next(p)) return false;
        insn.guard_negate = ptx_accept(p, '!');
        struct ptx_name *name = ptx_take_name(p, "a predicate");
        if (!name) return false;
        if (!ptx_lookup(p, name, &s) || s.kind != SYMBOL_REG) return ptx_fail(p, "'%s' is not a register", name->text);
        insn.guard = (int)s.index;
    }
    struct ptx_name *name = ptx_take_name(p, "an instruction");
    if (!name) return false;
    if (insn.guard < 0 && ptx_accept(p, ':')) return read_label(p, name);
    return read_instruction(p, name, &insn);
}

bool ptx_body(struct ptx_parser *p)
{
    while (!p->failed) {
        if (p->token.kind == TOKEN_DOT) {
            if (!body_directive(p)) return false;
        } else if (ptx_is_char(p, '{')) {
            if (!open_scope(p) || !ptx_next(p)) return false;
        } else if (ptx_is_char(p, '}')) {
            if (p->depth == 0) return settle_labels(p) && settle_params(p) && ptx_next(p);
            p->depth--;
            p->scope = p->scope_parent[p->scope];
            if (!ptx_next(p)) return false;
        } else if (ptx_is_char(p, ';')) {
            if (!ptx_next(p)) return false;
        } else if (!read_statement(p)) {
            return false;
        }
    }
    return false;
}
