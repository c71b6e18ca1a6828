/* Instructions on texture and surface objects: tex and tld4 with their levels and gradients, of which there is one, the
 * queries, and loads, stores and reductions of surfaces. */
#include <string.h>
#include "runtime/simt/decode.h"
#include "runtime/simt/ops_texture.h"

#define MAX_SLOTS 8 /* four elements and four coordinates */

struct object_access {
    uint32_t slots[MAX_SLOTS], count; /* elements, then coordinates */
    uint32_t handle;
};

static bool find_geometry(const struct shape *s, enum geometry *g)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    for (uint32_t k = 0; k < sizeof names / sizeof *names; k++)
        if (simt_has_word(s, names[k])) {
            *g = k;
            return true;
        }
    return false;
}

/* [handle, {coordinates}] behind the elements. */
static bool read_object(struct decoder *d, const struct ptx_operand *o, enum geometry g, bool index,
                        struct object_access *x)
{
    static const uint8_t counts[] = {1, 2, 3, 2, 3, 3, 4}; /* a fourth one, as a filler, is not read */
    struct ptx_operand reg = {.kind = PTX_OP_REG, .reg = o->reg};
    if (o->kind != PTX_OP_ADDRESS || o->reg < 0 || o->item_count != 1 || o->imm) return simt_decode_unsupported(d);
    const struct ptx_operand *c = simt_is_vector(&o->items[0]) ? o->items[0].items : o->items;
    size_t n = simt_is_vector(&o->items[0]) ? o->items[0].item_count : 1;
    if (n < counts[g]) return simt_decode_fail(d, RT_COMPILE, "%s: expected %u coordinates", d->in->opcode, counts[g]);
    for (uint32_t k = 0; k < counts[g]; k++) {
        bool layer = k == 0 && geometry_is_layered(g);
        if (!simt_source(d, &c[k], 'w', index || layer ? PTX_U32 : PTX_F32, &x->slots[x->count++])) return false;
    }
    return simt_source(d, &reg, 'q', PTX_U64, &x->handle);
}

static bool finish(struct decoder *d, struct insn *i, const struct object_access *x, uint32_t extra)
{
    if (!simt_guard(d, i)) return false;
    i->a = x->handle;
    i->extra = extra;
    return true;
}

/* ---- textures ---- */
bool simt_decode_texture(struct decoder *d, const struct shape *s)
{
    static const char *const words[] = {"1d", "2d",    "3d",   "a1d",  "a2d", "cube", "acube", "v2",
                                        "v4", "level", "grad", "base", "r",   "g",    "b",     "a"};
    const struct ptx_operand *o = d->in->operands;
    bool gather = d->in->opcode[1] == 'l';
    struct object_access x = {.count = 0};
    enum geometry g;
    uint32_t extra;
    for (int k = 0; k < s->word_count; k++)
        if (!ONE_OF(s->words[k], words)) return simt_decode_unsupported(d);
    if (!find_geometry(s, &g) || s->type_count != 2 || s->flags) return simt_decode_unsupported(d);
    bool pairs = s->types[0] == PTX_F16X2, halves = pairs || s->types[0] == PTX_F16;
    uint32_t count = pairs ? 2 : 4; /* registers */
    if (!simt_has_word(s, pairs ? "v2" : "v4") || (!halves && ptx_type_size(s->types[0]) != 4) ||
        (s->types[1] != PTX_F32 && (s->types[1] != PTX_S32 || g >= GEOMETRY_CUBE)) ||
        (gather && (g == GEOMETRY_1D || g == GEOMETRY_3D || g == GEOMETRY_A1D || s->types[1] != PTX_F32 || halves)))
        return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 2, 4)) return false;
    bool resident = o[0].kind == PTX_OP_PAIR; /* and a predicate: is all of it in memory? */
    if ((!resident && !simt_is_vector(&o[0])) || o[0].item_count != count + resident) return simt_decode_unsupported(d);
    for (; x.count < count; x.count++)
        if (!simt_destination(d, &o[0].items[x.count], 'w', &x.slots[x.count])) return false;
    if (!read_object(d, &o[1], g, s->types[1] == PTX_S32, &x) || !simt_extra(d, x.slots, x.count, &extra)) return false;
    struct insn *i = simt_emit(d, simt_op_tex);
    if (!finish(d, i, &x, extra)) return false;
    uint32_t channel = simt_has_word(s, "g") ? 1 : simt_has_word(s, "b") ? 2 : simt_has_word(s, "a") ? 3 : 0;
    i->count = (uint8_t)count;
    i->size = halves ? 2 : 4;
    i->mode = (uint8_t)(g + GEOMETRY_SHIFT * (gather ? channel : 0));
    i->flags = (s->types[1] == PTX_S32 ? F_INDEX : 0) | (gather ? F_GATHER : 0);
    uint32_t yes, p;
    if (!resident) return true;
    if (!simt_constant(d, 1, 'p', &yes) || !simt_destination(d, &o[0].items[count], 'p', &p) ||
        !simt_guard(d, i = simt_emit_key(d, "mov.pred")))
        return false;
    i->a = yes;
    i->d = p;
    return true;
}

bool simt_decode_texture_query(struct decoder *d, const struct shape *s)
{
    static const struct {
        const char *word;
        enum query query;
    } rows[] = {{"width", QUERY_WIDTH},
                {"height", QUERY_HEIGHT},
                {"depth", QUERY_DEPTH},
                {"array_size", QUERY_LAYERS},
                {"channel_data_type", QUERY_TYPE},
                {"channel_order", QUERY_ORDER},
                {"normalized_coords", QUERY_NORMALIZED},
                {"filter_mode", QUERY_FILTER},
                {"addr_mode_0", QUERY_ADDRESS_0},
                {"addr_mode_1", QUERY_ADDRESS_1},
                {"addr_mode_2", QUERY_ADDRESS_2},
                {"num_mipmap_levels", QUERY_ONE},
                {"num_samples", QUERY_ONE}};
    const struct ptx_operand *o = d->in->operands;
    struct ptx_operand reg = {.kind = PTX_OP_REG, .reg = -1};
    struct object_access x = {.count = 0};
    uint32_t out;
    bool level = simt_has_word(s, "level"); /* there is one */
    if (!simt_want_operands(d, 2u + level, 2u + level)) return false;
    reg.reg = o[1].reg;
    if (o[1].kind != PTX_OP_ADDRESS || reg.reg < 0 || o[1].item_count || o[1].imm || s->word_count != 1 + level)
        return simt_decode_unsupported(d);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (strcmp(rows[k].word, s->words[level])) continue;
        if (!simt_source(d, &reg, 'q', PTX_U64, &x.handle) || !simt_destination(d, &o[0], 'w', &out)) return false;
        struct insn *i = simt_emit(d, simt_op_texture_query);
        if (!finish(d, i, &x, 0)) return false;
        i->d = out;
        i->mode = (uint8_t)rows[k].query;
        i->flags = d->in->opcode[0] == 's' ? F_SURFACE : 0;
        return true;
    }
    return simt_decode_unsupported(d);
}

/* ---- surfaces ---- */
static bool read_elements(struct decoder *d, const struct ptx_operand *o, bool store, uint32_t count,
                          enum ptx_type type, struct object_access *x)
{
    const struct ptx_operand *items = simt_is_vector(o) ? o->items : o;
    size_t n = simt_is_vector(o) ? o->item_count : 1;
    char class = simt_class_of(type);
    if (n != count) return simt_decode_fail(d, RT_COMPILE, "%s: expected %u elements", d->in->opcode, count);
    for (; x->count < n; x->count++) {
        bool ok = store ? simt_source(d, &items[x->count], class, type, &x->slots[x->count])
                        : simt_destination(d, &items[x->count], class, &x->slots[x->count]);
        if (!ok) return false;
    }
    return true;
}

static bool find_reduction(const struct shape *s, uint32_t *out)
{
    static const char *const names[] = {"add", "min", "max", "and", "or"};
    for (uint32_t k = 0; k < sizeof names / sizeof *names; k++)
        if (simt_has_word(s, names[k])) {
            *out = k;
            return true;
        }
    return false;
}

/* suld.b, sust.b, sust.p, sured.b, sured.p; the cache operators say nothing here. */
bool simt_decode_surface(struct decoder *d, const struct shape *s)
{
    const char *op = d->in->opcode;
    const struct ptx_operand *o = d->in->operands;
    bool load = !strcmp(op, "suld"), reduction = !strcmp(op, "sured"), formatted = simt_has_word(s, "p");
    uint32_t count = simt_has_word(s, "v2") ? 2 : simt_has_word(s, "v4") ? 4 : 1, what = 0, extra;
    struct object_access x = {.count = 0};
    enum geometry g;
    if (!find_geometry(s, &g) || g >= GEOMETRY_CUBE || s->type_count != 1 || s->flags ||
        !(formatted || simt_has_word(s, "b")) || (load && formatted) ||
        (reduction && (!find_reduction(s, &what) || count != 1)))
        return simt_decode_unsupported(d);
    enum ptx_type type = s->types[0];
    uint32_t size = (uint32_t)ptx_type_size(type);
    if (simt_class_of(type) == 'x' || type == PTX_PRED || (reduction ? size < 4 : formatted && size != 4))
        return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 2, 2) || !read_elements(d, &o[load ? 0 : 1], !load, count, type, &x) ||
        !read_object(d, &o[load ? 1 : 0], g, true, &x) || !simt_extra(d, x.slots, x.count, &extra))
        return false;
    struct insn *i = simt_emit(d, load        ? simt_op_surface_load
                                  : reduction ? simt_op_surface_reduce
                                  : formatted ? simt_op_surface_store_formatted
                                              : simt_op_surface_store);
    if (!finish(d, i, &x, extra)) return false;
    i->count = (uint8_t)count;
    i->size = (uint8_t)size;
    i->type = (uint8_t)type;
    i->mode = (uint8_t)(g + GEOMETRY_SHIFT * what);
    i->flags = F_INDEX | (formatted ? F_FORMATTED : 0) | (simt_has_word(s, "clamp") ? F_CLAMP : 0) |
               (simt_has_word(s, "zero") ? F_ZERO : 0);
    return true;
}
