/* mov, also of vectors, halves and special registers, and conversions. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"

/* ---- mov ---- */
bool simt_is_vector(const struct ptx_operand *o)
{
    return o->kind == PTX_OP_VECTOR;
}

/* How a register of so many bytes is joined from two halves, or split into them; NULL: it is not. */
static const char *halves(size_t bytes, bool join)
{
    switch (bytes) {
    case 2: return join ? "+pack16" : "+unpack16";
    case 4: return join ? "+pack32" : "+unpack32";
    case 8: return join ? "+pack64" : "+unpack64";
    default: return NULL;
    }
}

/* {a, b} or {a, b, c, d} into one register: halves of it, or the halves of those. */
static bool decode_pack(struct decoder *d, enum ptx_type type)
{
    const struct ptx_operand *v = &d->in->operands[1];
    const char *half = halves(ptx_type_size(type), true), *quarter = halves(ptx_type_size(type) / 2, true);
    uint32_t slots[4], out;
    size_t n = v->item_count;
    if (!half || (n != 2 && n != 4) || (n == 4 && !quarter)) return simt_decode_unsupported(d);
    for (size_t k = 0; k < n; k++)
        if (!simt_source(d, &v->items[k], 'w', PTX_B32, &slots[k])) return false;
    if (!simt_destination(d, &d->in->operands[0], simt_class_of(type), &out)) return false;
    for (int k = 0; n == 4 && k < 2; k++) {
        uint32_t t;
        struct insn *i;
        if (!simt_temp(d, 'w', &t) || !(i = simt_emit_key(d, quarter))) return false;
        i->a = slots[2 * k];
        i->b = slots[2 * k + 1];
        i->d = t;
        slots[k] = t;
    }
    struct insn *i = simt_emit_key(d, half);
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = slots[0];
    i->b = slots[1];
    return true;
}

static bool emit_unpack(struct decoder *d, const char *key, uint32_t from, uint32_t low, uint32_t high)
{
    struct insn *i = simt_emit_key(d, key);
    if (!simt_guard(d, i)) return false;
    i->a = from;
    i->d = low;
    i->d2 = high;
    return true;
}

static bool decode_unpack(struct decoder *d, enum ptx_type type)
{
    const struct ptx_operand *v = &d->in->operands[0];
    const char *half = halves(ptx_type_size(type), false), *quarter = halves(ptx_type_size(type) / 2, false);
    uint32_t slots[4], from, low, high;
    size_t n = v->item_count;
    if (!half || (n != 2 && n != 4) || (n == 4 && !quarter)) return simt_decode_unsupported(d);
    if (!simt_source(d, &d->in->operands[1], simt_class_of(type), PTX_B64, &from)) return false;
    for (size_t k = 0; k < n; k++)
        if (!simt_destination(d, &v->items[k], 'w', &slots[k])) return false;
    if (n == 2) return emit_unpack(d, half, from, slots[0], slots[1]);
    return simt_temp(d, 'w', &low) && simt_temp(d, 'w', &high) && emit_unpack(d, half, from, low, high) &&
           emit_unpack(d, quarter, low, slots[0], slots[1]) && emit_unpack(d, quarter, high, slots[2], slots[3]);
}

/* mov.v4 of %tid and its like: x, y, z, and a fourth element that is always 0. */
static bool decode_special_vector(struct decoder *d)
{
    const struct ptx_operand *to = &d->in->operands[0], *from = &d->in->operands[1];
    if (!simt_is_vector(to) || to->item_count != 4 || from->kind != PTX_OP_SPECIAL) return simt_decode_unsupported(d);
    for (int k = 0; k < 4; k++) {
        char name[64];
        uint32_t out;
        snprintf(name, sizeof name, k < 3 ? "%s.%c" : "envreg0", from->symbol, "xyz"[k % 3]);
        if (!simt_destination(d, &to->items[k], 'w', &out) || !simt_guard(d, simt_emit_special(d, name, 'w', out)))
            return false;
    }
    return true;
}

static bool emit_mov(struct decoder *d, char class, uint32_t from, uint32_t to)
{
    struct insn *i = simt_emit_key(d, class == 'q' ? "mov.b64" : "mov.b32");
    if (!simt_guard(d, i)) return false;
    i->a = i->b = i->c = from;
    i->d = to;
    return true;
}

/* mov.b128 between registers, or from and into two of 64 bits. */
static bool decode_wide_mov(struct decoder *d)
{
    const struct ptx_operand *to = &d->in->operands[0], *from = &d->in->operands[1];
    uint32_t in[2], out[2];
    bool split = simt_is_vector(to), join = simt_is_vector(from);
    if ((split && to->item_count != 2) || (join && from->item_count != 2)) return simt_decode_unsupported(d);
    for (int k = 0; k < 2; k++)
        if ((join && !simt_source(d, &from->items[k], 'q', PTX_B64, &in[k])) ||
            (split && !simt_destination(d, &to->items[k], 'q', &out[k])))
            return false;
    if ((!join && !simt_wide_source(d, from, in)) || (!split && !simt_wide_destination(d, to, out))) return false;
    return emit_mov(d, 'q', in[0], out[0]) && emit_mov(d, 'q', in[1], out[1]);
}

/* mov.v2 and mov.v4 between registers of so many elements, as gcc has them; all are read before one is written. */
static bool decode_vector_mov(struct decoder *d, enum ptx_type type, size_t n)
{
    const struct ptx_operand *to = &d->in->operands[0], *from = &d->in->operands[1];
    char class = simt_class_of(type);
    uint32_t in[4], out[4];
    if (to->item_count != n || from->item_count != n || (class != 'w' && class != 'q'))
        return simt_decode_unsupported(d);
    for (size_t k = 0; k < n; k++) {
        if (!simt_source(d, &from->items[k], class, type, &in[k])) return false;
        if (!simt_destination(d, &to->items[k], class, &out[k])) return false;
    }
    for (size_t k = 1; k < n; k++) {
        uint32_t kept;
        if (!simt_temp(d, class, &kept) || !emit_mov(d, class, in[k], kept)) return false;
        in[k] = kept;
    }
    for (size_t k = 0; k < n; k++)
        if (!emit_mov(d, class, in[k], out[k])) return false;
    return true;
}

bool simt_decode_mov(struct decoder *d, const struct shape *s)
{
    if (s->type_count != 1 || !simt_want_operands(d, 2, 2)) return simt_decode_unsupported(d);
    bool special = d->in->operands[1].kind == PTX_OP_SPECIAL;
    if (s->word_count == 1 && simt_has_word(s, "v4") && s->types[0] == PTX_U32 && special)
        return decode_special_vector(d);
    if (s->word_count == 1 && (simt_has_word(s, "v2") || simt_has_word(s, "v4")))
        return decode_vector_mov(d, s->types[0], simt_has_word(s, "v2") ? 2 : 4);
    if (s->word_count) return simt_decode_unsupported(d);
    char class = simt_class_of(s->types[0]);
    const struct ptx_operand *o = d->in->operands;
    if (class == 'x') return decode_wide_mov(d);
    if (simt_is_vector(&o[0]) && simt_is_vector(&o[1])) return simt_decode_unsupported(d);
    if (simt_is_vector(&o[0])) return decode_unpack(d, s->types[0]);
    if (simt_is_vector(&o[1])) return decode_pack(d, s->types[0]);
    if (special && class != 'p') {
        uint32_t out;
        return simt_destination(d, &o[0], class, &out) && simt_guard(d, simt_emit_special(d, o[1].symbol, class, out));
    }
    return simt_decode_plain(d, s);
}

/* ---- conversions ---- */
/* cvt.rs to four numbers of 8 bits or fewer, from {a, b, e, f}: a and b become the upper half of the result. */
static bool decode_four(struct decoder *d, const struct shape *s)
{
    static const char *const formats[][3] = {{"e4m3x4", "+cvt.rs.e4m3", "+pack32"},
                                             {"e5m2x4", "+cvt.rs.e5m2", "+pack32"},
                                             {"e2m3x4", "+cvt.rs.e2m3", "+pack32"},
                                             {"e3m2x4", "+cvt.rs.e3m2", "+pack32"},
                                             {"e2m1x4", "+cvt.rs.e2m1", "+pack16"}};
    const struct ptx_operand *o = d->in->operands;
    size_t k = 0;
    while (k < sizeof formats / sizeof *formats && !simt_has_word(s, formats[k][0])) k++;
    if (k == sizeof formats / sizeof *formats || s->flags & ~(uint32_t)(F_SATFINITE | F_RELU))
        return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 3, 3)) return false;
    if (!simt_is_vector(&o[1]) || o[1].item_count != 4)
        return simt_decode_fail(d, RT_COMPILE, "cvt.rs.%s converts four numbers in braces", formats[k][0]);
    uint32_t from[4], bits, out, half[2];
    for (int j = 0; j < 4; j++)
        if (!simt_source(d, &o[1].items[j], 'w', PTX_F32, &from[j])) return false;
    if (!simt_source(d, &o[2], 'w', PTX_B32, &bits) || !simt_destination(d, &o[0], 'w', &out)) return false;
    for (uint8_t high = 0; high < 2; high++) {
        struct insn *i = NULL;
        if (!simt_temp(d, 'w', &half[high]) || !(i = simt_emit_key(d, formats[k][1]))) return false;
        i->d = half[high];
        i->a = from[high ? 0 : 2];
        i->b = from[high ? 1 : 3];
        i->c = bits;
        i->flags = s->flags;
        i->mode = high;
    }
    struct insn *i = simt_emit_key(d, formats[k][2]);
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = half[0];
    i->b = half[1];
    return true;
}

bool simt_decode_cvt(struct decoder *d, const struct shape *s)
{
    if (simt_has_word(s, "rs") && s->type_count == 1) return decode_four(d, s);
    if (s->word_count) return simt_decode_plain(d, s); /* formats that only conversions know, .pack */
    if (s->type_count != 2) return simt_decode_unsupported(d);
    op_function run = NULL;
    const struct op_row *row = simt_find_row(d, s->key, s->flags, &run);
    const struct ptx_operand *o = d->in->operands;
    if (row && strlen(row->operands) == 3) return simt_emit_row(d, row, run, s->flags, s->types[1]);
    if (!simt_want_operands(d, 2, 2)) return false;
    if (!row) run = simt_op_convert(s->types[0], s->types[1], s->flags);
    if (!run) return simt_decode_unsupported(d);
    char to = simt_class_of(s->types[0]), from = simt_class_of(s->types[1]), have = simt_operand_class(d, &o[1]);
    uint32_t a, out, narrow;
    if (have == 'q' && from == 'w') { /* registers may be wider than their type */
        struct insn *t;
        if (!simt_source(d, &o[1], 'q', PTX_B64, &a) || !simt_temp(d, 'w', &narrow) ||
            !(t = simt_emit_key(d, "cvt.u32.u64")))
            return false;
        t->a = a;
        t->d = narrow;
        a = narrow;
    } else if (!simt_source(d, &o[1], from, s->types[1], &a)) {
        return false;
    }
    bool widen = simt_operand_class(d, &o[0]) == 'q' && to == 'w';
    if (widen ? !simt_temp(d, 'w', &out) : !simt_destination(d, &o[0], to, &out)) return false;
    struct insn *i = simt_emit(d, run);
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = i->b = i->c = a;
    i->flags = s->flags;
    if (!widen) return true;
    bool is_signed = s->types[0] >= PTX_S8 && s->types[0] <= PTX_S64;
    struct insn *w = simt_emit_key(d, is_signed ? "cvt.s64.s32" : "cvt.u64.u32");
    if (!simt_guard(d, w)) return false;
    w->a = out;
    return simt_destination(d, &o[0], 'q', &w->d);
}
