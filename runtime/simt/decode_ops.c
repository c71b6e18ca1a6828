/* What each PTX instruction becomes. Most are looked up by name in the tables of ops; those with operands of their own
 * kind (memory, calls, barriers, shuffles...) have a function each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

static const struct {
    const char *name;
    uint32_t flag;
} flag_names[] = {
    {"ftz", F_FTZ},
    {"sat", F_SAT},
    {"rn", F_RN},
    {"rz", F_RZ},
    {"rm", F_RM},
    {"rp", F_RP},
    {"rni", F_RNI},
    {"rzi", F_RZI},
    {"rmi", F_RMI},
    {"rpi", F_RPI},
    {"approx", F_APPROX},
    {"full", F_FULLRANGE},
    {"NaN", F_NAN},
    {"relu", F_RELU},
    {"xorsign", F_XORSIGN},
    {"rna", F_RNA},
    {"satfinite", F_SATFINITE},
    {"cc", F_CC},
    {"oob", F_OOB},
};

static bool read_shape(struct decoder *d, struct shape *s)
{
    const struct ptx_insn *in = d->in;
    memset(s, 0, sizeof *s);
    size_t n = (size_t)snprintf(s->key, sizeof s->key, "%s", in->opcode);
    for (size_t k = 0; k < in->mod_count; k++) {
        const char *mod = in->mods[k];
        uint32_t flag = 0;
        for (size_t j = 0; j < sizeof flag_names / sizeof *flag_names && !flag; j++)
            if (!strcmp(flag_names[j].name, mod)) flag = flag_names[j].flag;
        s->flags |= flag;
        if (flag) continue;
        enum ptx_type t = ptx_type_find(mod);
        if (t != PTX_NONE) {
            if (s->type_count == 4) return simt_decode_unsupported(d);
            s->types[s->type_count++] = t;
        } else {
            if (s->word_count == 12) return simt_decode_unsupported(d);
            s->words[s->word_count++] = mod;
        }
        if (n < sizeof s->key) n += (size_t)snprintf(s->key + n, sizeof s->key - n, ".%s", mod);
    }
    return n < sizeof s->key ? true : simt_decode_unsupported(d);
}

bool simt_has_word(const struct shape *s, const char *word)
{
    for (int k = 0; k < s->word_count; k++)
        if (!strcmp(s->words[k], word)) return true;
    return false;
}

const struct op_row *simt_find_row(struct decoder *d, const char *key, uint32_t flags, op_function *run)
{
    const struct op_table *tables[] = {d->vectors,      &simt_ops_integer, &simt_ops_float,  &simt_ops_half,
                                       &simt_ops_warp,  &simt_ops_memory,  &simt_ops_matrix, &simt_ops_async,
                                       &simt_ops_video, &simt_ops_narrow,  &simt_ops_packed};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t k = 0; k < tables[t]->count; k++) {
            const struct op_row *row = &tables[t]->rows[k];
            if (row->key[0] != key[0] || (flags & ~row->flags) || strcmp(row->key, key)) continue;
            bool plain = !(flags & ~(uint32_t)(F_RN | F_APPROX | F_FULLRANGE));
            op_function f = row->flagged && (!plain || !row->run) ? row->flagged : row->run;
            if (row->run == NULL && flags != row->flags) continue;
            *run = f;
            return row;
        }
    return NULL;
}

bool simt_guard(struct decoder *d, struct insn *i)
{
    const struct ptx_insn *in = d->in;
    if (!i) return false;
    if (in->guard < 0) return true;
    if ((size_t)in->guard >= d->f->reg_count || d->classes[in->guard] != 'p')
        return simt_decode_fail(d, RT_COMPILE, "%s is guarded by something that is no predicate", in->opcode);
    i->guard = d->slots[in->guard];
    i->guard_flip = in->guard_negate ? FULL : 0;
    return true;
}

struct insn *simt_emit_key(struct decoder *d, const char *key)
{
    op_function run;
    if (!simt_find_row(d, key, 0, &run)) {
        simt_decode_unsupported(d);
        return NULL;
    }
    return simt_emit(d, run);
}

bool simt_want_operands(struct decoder *d, size_t low, size_t high)
{
    size_t n = d->in->operand_count;
    if (n >= low && n <= high) return true;
    return simt_decode_fail(d, RT_COMPILE, "%s has %zu operands, expected %zu", d->in->opcode, n, low);
}

/* An op with operands as its row says. `type` is for immediates. */
static bool emit_row(struct decoder *d, const struct op_row *row, op_function run, uint32_t flags, enum ptx_type type)
{
    const struct ptx_operand *o = d->in->operands;
    size_t n = strlen(row->operands);
    uint32_t slots[6] = {0};
    if (!simt_want_operands(d, n, n)) return false;
    for (size_t k = 1; k < n; k++)
        if (!simt_source(d, &o[k], row->operands[k], type, &slots[k])) return false;
    if (!simt_destination(d, &o[0], row->operands[0], &slots[0])) return false;
    struct insn *i = simt_emit(d, run);
    if (!simt_guard(d, i)) return false;
    i->d = slots[0];
    i->a = slots[1];
    i->b = n > 2 ? slots[2] : slots[1];
    i->c = n > 3 ? slots[3] : slots[1];
    i->extra = n > 4 ? slots[4] : 0;
    i->flags = flags;
    i->type = (uint8_t)type;
    return true;
}

bool simt_decode_plain(struct decoder *d, const struct shape *s)
{
    op_function run;
    bool limit = !strncmp(s->key, "min.", 4) || !strncmp(s->key, "max.", 4);
    char three[sizeof s->key + 2];
    snprintf(three, sizeof three, "+%.3s3%s", s->key, s->key + 3); /* of three numbers */
    const struct op_row *row = simt_find_row(d, limit && d->in->operand_count == 4 ? three : s->key, s->flags, &run);
    if (!row) return simt_decode_unsupported(d);
    int immediates = strcmp(d->in->opcode, "slct") ? s->type_count - 1 : 0; /* the type that they have */
    return emit_row(d, row, run, s->flags, s->type_count ? s->types[immediates] : PTX_NONE);
}

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
    for (int k = 0; k < 2; k++) {
        struct insn *i = simt_emit_key(d, "mov.b64");
        if (!simt_guard(d, i)) return false;
        i->a = i->b = i->c = in[k];
        i->d = out[k];
    }
    return true;
}

static bool decode_mov(struct decoder *d, const struct shape *s)
{
    if (s->type_count != 1 || !simt_want_operands(d, 2, 2)) return simt_decode_unsupported(d);
    if (s->word_count == 1 && simt_has_word(s, "v4") && s->types[0] == PTX_U32) return decode_special_vector(d);
    if (s->word_count) return simt_decode_unsupported(d);
    char class = simt_class_of(s->types[0]);
    const struct ptx_operand *o = d->in->operands;
    if (class == 'x') return decode_wide_mov(d);
    if (simt_is_vector(&o[0]) && simt_is_vector(&o[1])) return simt_decode_unsupported(d);
    if (simt_is_vector(&o[0])) return decode_unpack(d, s->types[0]);
    if (simt_is_vector(&o[1])) return decode_pack(d, s->types[0]);
    if (o[1].kind == PTX_OP_SPECIAL && class != 'p') {
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

static bool decode_cvt(struct decoder *d, const struct shape *s)
{
    if (simt_has_word(s, "rs") && s->type_count == 1) return decode_four(d, s);
    if (s->word_count) return simt_decode_plain(d, s); /* formats that only conversions know, .pack */
    if (s->type_count != 2) return simt_decode_unsupported(d);
    op_function run = NULL;
    const struct op_row *row = simt_find_row(d, s->key, s->flags, &run);
    const struct ptx_operand *o = d->in->operands;
    if (row && strlen(row->operands) == 3) return emit_row(d, row, run, s->flags, s->types[1]);
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

/* ---- predicates ---- */
/* The words of a comparison: which, and how its result is combined with a predicate (0: not at all). */
static bool read_comparison(struct decoder *d, const struct shape *s, const char **compare, int *mode)
{
    *compare = NULL;
    *mode = 0;
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        int combine = !strcmp(w, "and") ? 1 : !strcmp(w, "or") ? 2 : !strcmp(w, "xor") ? 3 : 0;
        if (combine)
            *mode = combine;
        else if (!*compare)
            *compare = w;
        else
            return simt_decode_unsupported(d);
    }
    return *compare ? true : simt_decode_unsupported(d);
}

static bool decode_setp(struct decoder *d, const struct shape *s)
{
    char key[64];
    const char *compare;
    int mode;
    if (!read_comparison(d, s, &compare, &mode)) return false;
    if (s->type_count != 1) return simt_decode_unsupported(d);
    snprintf(key, sizeof key, "setp.%s.%s", compare, ptx_type_name(s->types[0]));
    op_function run;
    const struct op_row *row = simt_find_row(d, key, s->flags, &run);
    if (!row) return simt_decode_unsupported(d);
    const struct ptx_operand *o = d->in->operands;
    if (!simt_want_operands(d, mode ? 4 : 3, mode ? 4 : 3)) return false;
    uint32_t a, b, c = SLOT_TRUE, p, q = SLOT_SINK;
    const struct ptx_operand *first = &o[0], *second = NULL;
    if (o[0].kind == PTX_OP_PAIR && o[0].item_count == 2) {
        first = &o[0].items[0];
        second = &o[0].items[1];
    }
    if (!simt_source(d, &o[1], row->operands[1], s->types[0], &a) ||
        !simt_source(d, &o[2], row->operands[2], s->types[0], &b) ||
        (mode && !simt_source(d, &o[3], 'p', PTX_PRED, &c)) || !simt_destination(d, first, 'p', &p) ||
        (second && !simt_destination(d, second, 'p', &q)))
        return false;
    struct insn *i = simt_emit(d, run);
    if (!simt_guard(d, i)) return false;
    i->d = p;
    i->d2 = q;
    i->a = a;
    i->b = b;
    i->c = c;
    i->flags = s->flags;
    i->mode = (uint8_t)(mode ? mode : second ? 4 : 0);
    return true;
}

/* set.CMP[.BOOL].dtype.stype: a comparison into a register, all ones (or 1.0) and zero. */
static bool decode_set(struct decoder *d, const struct shape *s)
{
    char key[64];
    const char *compare;
    int mode;
    if (!read_comparison(d, s, &compare, &mode)) return false;
    size_t count = mode ? 4 : 3;
    if (s->type_count != 2) return simt_decode_unsupported(d);
    if (!simt_want_operands(d, count, count)) return false;
    snprintf(key, sizeof key, "setp.%s.%s", compare, ptx_type_name(s->types[1]));
    op_function run;
    const struct op_row *row = simt_find_row(d, s->key, s->flags, &run);
    if (row) return emit_row(d, row, run, s->flags, s->types[1]); /* pairs of halves */
    row = simt_find_row(d, key, s->flags, &run);
    if (!row || simt_class_of(s->types[0]) != 'w') return simt_decode_unsupported(d);
    uint32_t a, b, c = SLOT_TRUE, p, yes, no, out;
    uint64_t one = s->types[0] == PTX_F32    ? 0x3f800000u
                   : s->types[0] == PTX_F16  ? 0x3c00u
                   : s->types[0] == PTX_BF16 ? 0x3f80u
                                             : 0xffffffffu;
    if (!simt_source(d, &d->in->operands[1], row->operands[1], s->types[1], &a) ||
        !simt_source(d, &d->in->operands[2], row->operands[2], s->types[1], &b) ||
        (mode && !simt_source(d, &d->in->operands[3], 'p', PTX_PRED, &c)) || !simt_temp(d, 'p', &p) ||
        !simt_constant(d, one, 'w', &yes) || !simt_constant(d, 0, 'w', &no) ||
        !simt_destination(d, &d->in->operands[0], 'w', &out))
        return false;
    struct insn *i = simt_emit(d, run);
    if (!i) return false;
    i->d = p;
    i->a = a;
    i->b = b;
    i->c = c;
    i->mode = (uint8_t)mode;
    i->flags = s->flags;
    i = simt_emit_key(d, "selp.b32");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = yes;
    i->b = no;
    i->c = p;
    return true;
}

/* lop3.or.b32 d|p, a, b, c, table, q: is the result anything but zero, and that combined with q. */
static bool decode_lop3(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    bool and = simt_has_word(s, "and");
    uint32_t slots[5], zero, p, q;
    if (!s->word_count) return simt_decode_plain(d, s);
    if (s->word_count != 1 || (!and&&!simt_has_word(s, "or")) || s->type_count != 1 || s->types[0] != PTX_B32 ||
        !simt_want_operands(d, 6, 6))
        return simt_decode_unsupported(d);
    if (o[0].kind != PTX_OP_PAIR || o[0].item_count != 2)
        return simt_decode_fail(d, RT_COMPILE, "lop3: expected d|p as destination");
    for (int k = 1; k < 5; k++)
        if (!simt_source(d, &o[k], 'w', PTX_B32, &slots[k])) return false;
    if (!simt_source(d, &o[5], 'p', PTX_PRED, &q) || !simt_constant(d, 0, 'w', &zero) ||
        !simt_destination(d, &o[0].items[0], 'w', &slots[0]) || !simt_destination(d, &o[0].items[1], 'p', &p))
        return false;
    struct insn *i = simt_emit_key(d, "lop3.b32");
    if (!simt_guard(d, i)) return false;
    i->d = slots[0];
    i->a = slots[1];
    i->b = slots[2];
    i->c = slots[3];
    i->extra = slots[4];
    i = simt_emit_key(d, "setp.ne.b32");
    if (!simt_guard(d, i)) return false;
    i->d = p;
    i->a = slots[0];
    i->b = zero;
    i->c = q;
    i->mode = and? 1 : 2;
    return true;
}

static bool emit_simple(struct decoder *d, op_function run)
{
    return simt_guard(d, simt_emit(d, run));
}

static bool decode_fence(struct decoder *d, const struct shape *s)
{
    (void)s;
    struct insn *i = simt_emit(d, simt_op_fence);
    if (i) i->memory = MEMORY_FENCE;
    return simt_guard(d, i);
}

/* ---- all of them ---- */
static bool decode_ret(struct decoder *d, const struct shape *s)
{
    (void)s;
    return simt_give_results(d) && emit_simple(d, simt_op_ret);
}
static bool decode_exit(struct decoder *d, const struct shape *s)
{
    (void)s;
    return emit_simple(d, simt_op_exit);
}
static bool decode_trap(struct decoder *d, const struct shape *s)
{
    (void)s;
    return emit_simple(d, simt_op_trap);
}
static bool decode_nanosleep(struct decoder *d, const struct shape *s)
{
    (void)s;
    return emit_simple(d, simt_op_yield);
}
/* Nothing looks at a policy. */
static bool decode_createpolicy(struct decoder *d, const struct shape *s)
{
    uint32_t out, zero;
    (void)s;
    if (!simt_want_operands(d, 1, 4) || !simt_constant(d, 0, 'q', &zero) ||
        !simt_destination(d, &d->in->operands[0], 'q', &out))
        return false;
    struct insn *i = simt_emit_key(d, "mov.b64");
    if (!simt_guard(d, i)) return false;
    i->a = i->b = i->c = zero;
    i->d = out;
    return true;
}
/* Hints, and what only matters to hardware. */
static bool decode_nop(struct decoder *d, const struct shape *s)
{
    (void)s;
    return emit_simple(d, simt_op_nop);
}

static const struct {
    const char *opcode;
    bool (*decode)(struct decoder *d, const struct shape *s);
} decoders[] = {
    {"ld", simt_decode_memory},
    {"st", simt_decode_memory},
    {"ldu", simt_decode_memory},
    {"mov", decode_mov},
    {"cvt", decode_cvt},
    {"cvta", simt_decode_cvta},
    {"setp", decode_setp},
    {"set", decode_set},
    {"bra", simt_decode_bra},
    {"brx", simt_decode_brx},
    {"call", simt_decode_call},
    {"ret", decode_ret},
    {"exit", decode_exit},
    {"trap", decode_trap},
    {"brkpt", decode_trap},
    {"nanosleep", decode_nanosleep},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"prefetch", decode_nop},
    {"prefetchu", decode_nop},
    {"pragma", decode_nop},
    {"applypriority", decode_nop},
    {"discard", decode_nop},
    {"pmevent", decode_nop},
    {"griddepcontrol", decode_nop},
    {"setmaxnreg", decode_nop},
    {"bar", simt_decode_barrier},
    {"barrier", simt_decode_barrier},
    {"atom", simt_decode_atomic},
    {"red", simt_decode_atomic},
    {"tex", simt_decode_texture},
    {"tld4", simt_decode_texture},
    {"txq", simt_decode_texture_query},
    {"suq", simt_decode_texture_query},
    {"suld", simt_decode_surface},
    {"sust", simt_decode_surface},
    {"sured", simt_decode_surface},
    {"shfl", simt_decode_shfl},
    {"vote", simt_decode_vote},
    {"match", simt_decode_match},
    {"redux", simt_decode_redux},
    {"activemask", simt_decode_activemask},
    {"elect", simt_decode_elect},
    {"alloca", simt_decode_stack},
    {"stacksave", simt_decode_stack},
    {"stackrestore", simt_decode_stack},
    {"isspacep", simt_decode_isspacep},
    {"mapa", simt_decode_mapa},
    {"getctarank", simt_decode_mapa},
    {"mma", simt_decode_mma},
    {"wmma", simt_decode_wmma},
    {"ldmatrix", simt_decode_matrix_rows},
    {"stmatrix", simt_decode_matrix_rows},
    {"movmatrix", simt_decode_movmatrix},
    {"lop3", decode_lop3},
    {"createpolicy", decode_createpolicy},
    {"cp", simt_decode_cp},
    {"mbarrier", simt_decode_mbarrier},
};

bool simt_decode_insn(struct decoder *d)
{
    struct shape s;
    if (!read_shape(d, &s)) return false;
    for (size_t k = 0; k < sizeof decoders / sizeof *decoders; k++)
        if (!strcmp(decoders[k].opcode, d->in->opcode)) return decoders[k].decode(d, &s);
    return d->in->opcode[0] == 'v' ? simt_decode_video(d, &s) : simt_decode_plain(d, &s);
}
