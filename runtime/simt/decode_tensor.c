/* Copies of boxes of tensors, and how kernels change tensor maps. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "runtime/simt/async.h"
#include "runtime/simt/decode.h"
#include "runtime/simt/tensor_map.h"

/* ---- copies ---- */
static bool read_words(struct decoder *d, const struct shape *s, struct async_tensor *x)
{
    static const char *const known[] = {"async",
                                        "bulk",
                                        "tensor",
                                        "tile",
                                        "reduce",
                                        "bulk_group",
                                        "global",
                                        "mbarrier::complete_tx::bytes",
                                        "multicast::cluster",
                                        "L2::cache_hint",
                                        "cta_group::1"};
    bool all = true;
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        bool found = simt_is_shared_word(w) || ONE_OF(w, known);
        for (uint32_t j = 0; simt_bulk_operations[j]; j++)
            if (!strcmp(simt_bulk_operations[j], w)) x->operation = j, found = true;
        if (w[0] >= '1' && w[0] <= '5' && !strcmp(w + 1, "d")) x->rank = (uint32_t)(w[0] - '0'), found = true;
        all &= found;
    }
    return (all && x->rank) || simt_decode_unsupported(d);
}

/* [tensor map, {coordinates}] */
static bool read_box(struct decoder *d, const struct ptx_operand *o, struct async_tensor *x)
{
    struct ptx_operand map = {.kind = PTX_OP_ADDRESS, .reg = o->reg, .symbol = o->symbol, .imm = o->imm};
    if (o->kind != PTX_OP_ADDRESS || o->item_count != 1) return simt_decode_unsupported(d);
    const struct ptx_operand *c = simt_is_vector(&o->items[0]) ? o->items[0].items : o->items;
    size_t n = simt_is_vector(&o->items[0]) ? o->items[0].item_count : 1;
    if (n != x->rank)
        return simt_decode_fail(d, RT_COMPILE, "%s: expected %u coordinates, got %zu", d->in->opcode, x->rank, n);
    for (uint32_t k = 0; k < x->rank; k++)
        if (!simt_source(d, &c[k], 'w', PTX_S32, &x->coords[k])) return false;
    return simt_whole_address(d, &map, PTX_GENERIC, &x->map);
}

/* cp.async.bulk.tensor to shared memory: [d], [map, {coordinates}], [mbarrier] {, blocks} {, policy}; from there, and
 * cp.reduce.async.bulk.tensor: [map, {coordinates}], [s] {, policy} */
bool simt_decode_tensor(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    struct async_tensor x = {.rank = 0};
    bool load = simt_has_word(s, "mbarrier::complete_tx::bytes"), spreads = simt_has_word(s, "multicast::cluster");
    bool reduces = simt_has_word(s, "reduce");
    uint32_t a, extra;
    if (!read_words(d, s, &x)) return false;
    if (load == simt_has_word(s, "bulk_group") || (load && reduces)) return simt_decode_unsupported(d);
    x.bulk.destination = load ? PTX_SHARED : PTX_GLOBAL;
    x.bulk.source = load ? PTX_GLOBAL : PTX_SHARED;
    if (!simt_want_operands(d, 2 + load + (load && spreads), 5) || !read_box(d, &o[load], &x) ||
        !simt_whole_address(d, &o[!load], PTX_SHARED, &a) ||
        (load && !simt_whole_address(d, &o[2], PTX_SHARED, &x.bulk.barrier)) ||
        (load && spreads && !simt_source(d, &o[3], 'w', PTX_U16, &x.bulk.ranks)) ||
        !simt_extra(d, (const uint32_t *)(const void *)&x, sizeof x / 4, &extra))
        return false;
    d->program->maps_shared |= spreads;
    struct insn *i = simt_emit_key(d, "+copy_tensor");
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->extra = extra;
    i->flags = F_STORE;
    i->size = reduces;
    i->d2 = d->program->cache_count++;
    return true;
}

/* ---- tensor maps ---- */
/* tensormap.replace by the name of its field: which member of a map it stores to. */
static const struct field {
    const char *name;
    uint32_t offset, size;
    bool ordinal, immediate; /* of one dimension; a number that the instruction has */
} fields[] = {
    {"global_address", offsetof(struct simt_tensor_map, address), 8, false, false},
    {"rank", offsetof(struct simt_tensor_map, rank), 1, false, false},
    {"box_dim", offsetof(struct simt_tensor_map, box), 4, true, false},
    {"global_dim", offsetof(struct simt_tensor_map, dims), 4, true, false},
    {"global_stride", offsetof(struct simt_tensor_map, strides), 8, true, false},
    {"element_stride", offsetof(struct simt_tensor_map, steps), 4, true, false},
    {"elemtype", offsetof(struct simt_tensor_map, type), 1, false, true},
    {"interleave_layout", offsetof(struct simt_tensor_map, interleave), 1, false, true},
    {"swizzle_mode", offsetof(struct simt_tensor_map, swizzle), 1, false, true},
    {"fill_mode", offsetof(struct simt_tensor_map, fill), 1, false, true},
};

static const struct field *find_field(const struct shape *s)
{
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (simt_has_word(s, fields[k].name)) return &fields[k];
    return NULL;
}

/* PTX's numbers of types, from .f32.ftz on, are not the driver's. */
static int64_t type_number(int64_t ptx)
{
    static const uint8_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12};
    return ptx >= 0 && ptx < (int64_t)sizeof numbers ? numbers[ptx] : ptx;
}

static bool emit_store(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, const struct field *f,
                       uint32_t ordinal, uint32_t slot)
{
    struct simt_address at;
    char key[32];
    bool wide = f->size == 8;
    if (!simt_address(d, o, space, &at)) return false;
    snprintf(key, sizeof key, "+st.%s.u%u_%c", space == PTX_SHARED ? "shared" : "global", 8 * f->size,
             wide ? 'q' : 'w');
    struct insn *i = simt_emit_key(d, key);
    if (!simt_guard(d, i)) return false;
    i->a = at.base;
    i->imm = at.imm + f->offset + (int64_t)ordinal * f->size;
    i->d = slot;
    i->count = 1;
    i->size = (uint8_t)f->size;
    i->flags = at.flags | F_STORE | (wide ? F_WIDE : 0);
    i->type = (uint8_t)(wide ? PTX_B64 : f->size == 1 ? PTX_U8 : PTX_B32);
    i->memory = MEMORY_STORE;
    i->space = (uint8_t)space;
    i->d2 = d->program->cache_count++;
    return true;
}

/* Kernels may make a map of zeros, as Triton's do: the number of dimensions is none that a map can go without. */
static bool mark(struct decoder *d, const struct ptx_operand *map, enum ptx_space space)
{
    static const struct field f = {"mark", offsetof(struct simt_tensor_map, mark), 8, false, true};
    const struct ptx_operand value = {.kind = PTX_OP_IMM, .imm = (int64_t)TENSOR_MARK};
    uint32_t slot;
    return simt_source(d, &value, 'q', PTX_B64, &slot) && emit_store(d, map, space, &f, 0, slot);
}

/* tensormap.replace.tile.FIELD [map], {dimension,} value */
static bool decode_replace(struct decoder *d, const struct shape *s, enum ptx_space space)
{
    const struct field *f = find_field(s);
    const struct ptx_operand *o = d->in->operands;
    struct ptx_operand value;
    uint32_t slot, ordinal = 0;
    bool wide = f && f->size == 8;
    if (!f || !simt_has_word(s, "tile")) return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 2u + f->ordinal, 2u + f->ordinal)) return false;
    value = o[1 + f->ordinal];
    if ((f->ordinal && o[1].kind != PTX_OP_IMM) || (f->immediate && value.kind != PTX_OP_IMM))
        return simt_decode_fail(d, RT_COMPILE, "tensormap.replace.%s: expected a constant", f->name);
    if (f->ordinal) ordinal = (uint32_t)o[1].imm;
    if (ordinal >= (wide ? TENSOR_RANK - 1u : TENSOR_RANK))
        return simt_decode_fail(d, RT_COMPILE, "tensormap.replace.%s: there is no dimension %u", f->name, ordinal);
    if (!strcmp(f->name, "elemtype")) value.imm = type_number(value.imm);
    return simt_source(d, &value, wide ? 'q' : 'w', wide ? PTX_B64 : PTX_B32, &slot) &&
           emit_store(d, o, space, f, ordinal, slot) && (strcmp(f->name, "rank") != 0 || mark(d, o, space));
}

/* tensormap.cp_fenceproxy [to], [from], 128: from shared to global memory. */
static bool decode_map_copy(struct decoder *d)
{
    const struct ptx_operand *o = d->in->operands;
    struct simt_address to, from;
    uint32_t slots[4];
    if (!simt_want_operands(d, 3, 3) || !simt_address(d, &o[0], PTX_GLOBAL, &to) ||
        !simt_address(d, &o[1], PTX_SHARED, &from))
        return false;
    for (uint32_t k = 0; k < 4; k++)
        if (!simt_temp(d, 'w', &slots[k])) return false;
    for (uint32_t at = 0; at < TENSOR_MAP_BYTES; at += 16, to.imm += 16, from.imm += 16)
        if (!simt_emit_move(d, "+ld.shared.u32_w_v", &from, 0, slots, 4, PTX_SHARED) ||
            !simt_emit_move(d, "+st.global.u32_w_v", &to, F_STORE, slots, 4, PTX_GLOBAL))
            return false;
    return true;
}

bool simt_decode_tensormap(struct decoder *d, const struct shape *s)
{
    enum ptx_space space = simt_has_word(s, "global") ? PTX_GLOBAL : PTX_GENERIC;
    if (simt_has_word(s, "cp_fenceproxy")) return decode_map_copy(d);
    for (int k = 0; k < s->word_count; k++)
        if (simt_is_shared_word(s->words[k])) space = PTX_SHARED;
    return simt_has_word(s, "replace") ? decode_replace(d, s, space) : simt_decode_unsupported(d);
}
