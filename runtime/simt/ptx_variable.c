/* PTX variables with their attributes and initialisers. */
#include <string.h>
#include "runtime/simt/ptx_read.h"

#define MAX_DIMENSIONS 16

struct initialiser {
    struct ptx_var *var;
    uint64_t room, count; /* bytes of var->init; elements read */
    size_t reloc_room;
    uint64_t inner[MAX_DIMENSIONS]; /* elements of what a list nested so deep is for; 1 at the end */
    int depth;
};

static bool init_room(struct ptx_parser *p, struct initialiser *in, uint64_t end)
{
    struct ptx_var *v = in->var;
    if (end <= in->room) return true;
    if (v->size) return ptx_fail(p, "more initialisers than '%s' has elements", v->name);
    uint64_t room = in->room ? in->room * 2 : 64;
    uint8_t *fresh = ptx_new(p, room, 1);
    if (!fresh) return false;
    if (in->room) memcpy(fresh, v->init, in->room);
    v->init = fresh;
    in->room = room;
    return true;
}

static bool init_number(struct ptx_parser *p, struct initialiser *in, const struct ptx_value *value)
{
    struct ptx_var *v = in->var;
    size_t size = ptx_type_size(v->type);
    uint64_t bits = value->bits;
    bool to_float = v->type == PTX_F32 || v->type == PTX_F64,
         fraction = value->type == PTX_F32 || value->type == PTX_F64;
    if (to_float) {
        double wide;
        float single;
        uint32_t low = (uint32_t)bits;
        memcpy(&wide, &bits, 8);
        memcpy(&single, &low, 4);
        if (value->type != PTX_F64)
            wide = value->type == PTX_F32   ? (double)single
                   : value->type == PTX_U64 ? (double)bits
                                            : (double)(int64_t)bits;
        single = (float)wide;
        bits = 0;
        memcpy(&bits, v->type == PTX_F32 ? (void *)&single : (void *)&wide, size);
    } else if (fraction && size * 2 < (value->type == PTX_F32 ? 8u : 16u)) {
        return ptx_fail(p, "a floating-point initialiser for '%s' of type .%s", v->name, ptx_type_name(v->type));
    }
    uint64_t at = in->count * size;
    if (!init_room(p, in, at + size)) return false;
    memcpy(v->init + at, &bits, size > 8 ? 8 : size);
    return !p->failed;
}

/* An address, or with a mask bytes of one. */
static bool init_symbol(struct ptx_parser *p, struct initialiser *in, uint64_t mask)
{
    struct ptx_var *v = in->var;
    size_t size = ptx_type_size(v->type);
    bool generic = ptx_is_name(p, "generic");
    if (generic && (!ptx_next(p) || !ptx_expect(p, '('))) return false;
    if (p->token.kind != TOKEN_NAME) return ptx_expected(p, "a symbol");
    struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
    if (!name || !ptx_next(p)) return false;
    if (generic && !ptx_expect(p, ')')) return false;
    int64_t addend = 0;
    while (ptx_is_char(p, '+') || ptx_is_char(p, '-')) {
        int64_t term;
        if (!ptx_take_term(p, INT32_MAX, &term)) return false;
        if (addend > INT32_MAX || addend < -INT32_MAX) return ptx_fail(p, "an offset that is too large");
        addend += term;
    }
    if (size != 8 && size != 4 && !mask) return ptx_fail(p, "an address does not fit in .%s", ptx_type_name(v->type));
    if (!init_room(p, in, in->count * size + size)) return false;
    v->relocs = ptx_grow(p, v->relocs, v->reloc_count, &in->reloc_room, sizeof *v->relocs);
    if (!v->relocs) return false;
    v->relocs[v->reloc_count++] = (struct ptx_reloc){.offset = in->count * size,
                                                     .symbol = name->text,
                                                     .addend = addend,
                                                     .mask = mask,
                                                     .size = (uint32_t)(size > 8 ? 8 : size),
                                                     .generic = generic};
    return true;
}

static bool init_list(struct ptx_parser *p, struct initialiser *in);

static bool init_element(struct ptx_parser *p, struct initialiser *in)
{
    struct ptx_value value;
    if (ptx_is_char(p, '{')) return init_list(p, in);
    bool minus = ptx_is_char(p, '-'), not = ptx_is_char(p, '!');
    if (p->token.kind == TOKEN_NAME && !ptx_is_name(p, "WARP_SZ")) {
        if (!init_symbol(p, in, 0)) return false;
    } else if (!minus && !not &&!ptx_starts_constant(p) && !ptx_is_name(p, "WARP_SZ")) {
        return ptx_expected(p, "a number or a symbol");
    } else {
        if (!ptx_constant(p, 0, &value)) return false;
        bool masked = value.type != PTX_F32 && value.type != PTX_F64 && value.bits && ptx_accept(p, '(');
        if (masked ? !init_symbol(p, in, value.bits) || !ptx_expect(p, ')') : !init_number(p, in, &value)) return false;
    }
    in->count++;
    return true;
}

/* { ... }: what it leaves out of its part of the array is zero. */
static bool init_list(struct ptx_parser *p, struct initialiser *in)
{
    uint64_t start = in->count, whole = in->inner[in->depth];
    if (!ptx_next(p)) return false;
    if (in->depth + 1 == MAX_DIMENSIONS || (in->depth && whole <= 1))
        return ptx_fail(p, "the initialiser lists of '%s' are nested too deeply", in->var->name);
    in->depth++;
    while (!ptx_is_char(p, '}')) {
        if (!init_element(p, in)) return false;
        if (!ptx_accept(p, ',')) break;
    }
    in->depth--;
    if (in->depth) {
        if (in->count - start > whole) return ptx_fail(p, "more initialisers than a part of '%s' has", in->var->name);
        in->count = start + whole;
        if (!init_room(p, in, in->count * ptx_type_size(in->var->type))) return false;
    }
    return ptx_expect(p, '}');
}

/* dimensions[0] may be 0: as many as there are. */
static bool read_initialiser(struct ptx_parser *p, struct ptx_var *v, const uint64_t *dimensions, int count)
{
    struct initialiser in = {.var = v, .room = v->size};
    uint64_t inner = v->lanes > 1 ? v->lanes : 1;
    for (int k = 0; k < MAX_DIMENSIONS; k++) in.inner[k] = 1;
    in.inner[count] = inner;
    for (int k = count - 1; k > 0; k--) in.inner[k] = inner *= dimensions[k];
    if (v->size > PTX_MAX_INIT - p->init_total)
        return ptx_fail(p, "initialisers of more than %llu bytes in all", (unsigned long long)PTX_MAX_INIT);
    p->init_total += v->size;
    v->init = ptx_new(p, v->size ? v->size : 1, 1);
    if (!v->init || !init_element(p, &in)) return false;
    if (v->size == 0) v->size = in.count * ptx_type_size(v->type);
    return true;
}

static bool is_space_word(const struct ptx_parser *p)
{
    return ptx_is_dot(p, "global") || ptx_is_dot(p, "const") || ptx_is_dot(p, "shared") || ptx_is_dot(p, "local");
}

/* The list in parentheses behind .attribute, of which .managed means something here. */
static bool read_attribute(struct ptx_parser *p, struct ptx_var *v)
{
    if (!ptx_is_char(p, '(')) return ptx_expected(p, "(");
    size_t depth = 0;
    do {
        if (p->token.kind == TOKEN_END) return ptx_fail(p, "the text ends inside '('");
        if (ptx_is_char(p, '(')) depth++;
        if (ptx_is_char(p, ')')) depth--;
        if (ptx_is_dot(p, "managed")) v->managed = true;
        if (!ptx_next(p)) return false;
    } while (depth);
    return true;
}

/* .align, .ptr, .attribute, .v2, .v4 and the type, in any order. */
static bool read_attributes(struct ptx_parser *p, struct ptx_var *v, unsigned *lanes)
{
    bool pointer = false;
    while (p->token.kind == TOKEN_DOT) {
        uint64_t align;
        enum ptx_type type = ptx_type_token(p);
        bool is_align = ptx_is_dot(p, "align"), attribute = ptx_is_dot(p, "attribute");
        if (ptx_is_dot(p, "v2") || ptx_is_dot(p, "v4") || ptx_is_dot(p, "v8"))
            *lanes = (unsigned)(p->token.start[1] - '0');
        else if (ptx_is_dot(p, "ptr"))
            pointer = true;
        else if (type != PTX_NONE)
            v->type = type;
        else if (!is_align && !attribute && !(pointer && is_space_word(p)))
            return ptx_expected(p, "a type");
        if (!ptx_next(p)) return false;
        if (attribute && !read_attribute(p, v)) return false;
        if (!is_align) continue;
        if (!ptx_take_int(p, 1 << 16, &align)) return false;
        if (align == 0 || (align & (align - 1))) return ptx_fail(p, "an alignment that is not a power of two");
        if (!pointer) v->align = (uint32_t)align; /* after .ptr it is that of what is pointed to */
    }
    return true;
}

bool ptx_variable_type(struct ptx_parser *p, enum ptx_space space, struct ptx_var *out)
{
    unsigned lanes = 1;
    *out = (struct ptx_var){.space = space};
    if (!read_attributes(p, out, &lanes)) return false;
    out->lanes = lanes;
    return out->type != PTX_NONE || ptx_expected(p, "a type");
}

bool ptx_variable(struct ptx_parser *p, bool in_list, struct ptx_var *v)
{
    uint64_t dimensions[MAX_DIMENSIONS];
    int count = 0;
    if (p->token.kind != TOKEN_NAME) return ptx_expected(p, "a variable's name");
    struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
    if (!name || !ptx_next(p)) return false;
    v->name = name->text;
    uint64_t element = ptx_type_size(v->type) * v->lanes;
    if (!v->align) v->align = (uint32_t)element;
    v->size = element;
    while (ptx_accept(p, '[')) {
        uint64_t n = 0;
        if (!ptx_is_char(p, ']') && !ptx_take_size(p, PTX_MAX_BYTES, &n)) return false;
        if (n && v->size > PTX_MAX_BYTES / n) return ptx_fail(p, "'%s' is too large", v->name);
        if (count == MAX_DIMENSIONS - 2) return ptx_fail(p, "'%s' has too many dimensions", v->name);
        dimensions[count++] = n;
        v->is_array = true;
        v->size *= n;
        if (!ptx_expect(p, ']')) return false;
    }
    if (!in_list && ptx_accept(p, '=') && !read_initialiser(p, v, dimensions, count)) return false;
    return !p->failed;
}
