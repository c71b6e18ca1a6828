/* What each PTX instruction becomes. Most are looked up by name in the tables of ops; those with operands of their own
 * kind (memory, calls, barriers, shuffles...) have a function each. */
#include <stdio.h>
#include <string.h>
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
                                       &simt_ops_warp,  &simt_ops_memory,  &simt_ops_matrix, &simt_ops_tcgen05,
                                       &simt_ops_async, &simt_ops_tensor,  &simt_ops_video,  &simt_ops_narrow,
                                       &simt_ops_packed};
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
bool simt_emit_row(struct decoder *d, const struct op_row *row, op_function run, uint32_t flags, enum ptx_type type)
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
    return simt_emit_row(d, row, run, s->flags, s->type_count ? s->types[immediates] : PTX_NONE);
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

/* out = the number where the predicate holds, else 0. */
static bool choose(struct decoder *d, uint32_t predicate, uint64_t number, uint32_t out)
{
    uint32_t yes, no;
    if (!simt_constant(d, number, 'w', &yes) || !simt_constant(d, 0, 'w', &no)) return false;
    struct insn *i = simt_emit_key(d, "selp.b32");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = yes;
    i->b = no;
    i->c = predicate;
    return true;
}

/* out = both halves of what is chosen by the predicates. */
static bool choose_halves(struct decoder *d, uint32_t low, uint32_t high, uint64_t number, uint32_t out)
{
    uint32_t first, second;
    if (!simt_temp(d, 'w', &first) || !simt_temp(d, 'w', &second) || !choose(d, low, number, first) ||
        !choose(d, high, number << 16, second))
        return false;
    struct insn *i = simt_emit_key(d, "or.b32");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = first;
    i->b = second;
    return true;
}

/* set.CMP[.BOOL].dtype.stype: a comparison into a register, all ones (or 1.0) and zero; of pairs, into halves. */
static bool decode_set(struct decoder *d, const struct shape *s)
{
    char key[64];
    const char *compare;
    int mode;
    if (!read_comparison(d, s, &compare, &mode)) return false;
    size_t count = mode ? 4 : 3;
    if (s->type_count != 2) return simt_decode_unsupported(d);
    if (!simt_want_operands(d, count, count)) return false;
    enum ptx_type to = s->types[0] == PTX_S32 ? PTX_U32 : s->types[0], from = s->types[1];
    const bool pairs = from == PTX_F16X2 || from == PTX_BF16X2;
    snprintf(key, sizeof key, "set.%s.%s.%s", compare, ptx_type_name(to), ptx_type_name(from));
    op_function run;
    const struct op_row *row = mode ? NULL : simt_find_row(d, key, s->flags, &run);
    if (row) return simt_emit_row(d, row, run, s->flags, from); /* pairs of halves */
    snprintf(key, sizeof key, "setp.%s.%s", compare, ptx_type_name(from));
    row = simt_find_row(d, key, s->flags, &run);
    if (!row || simt_class_of(to) != 'w' || (pairs && to != PTX_U32 && to != from)) return simt_decode_unsupported(d);
    uint32_t a, b, c = SLOT_TRUE, p, q = SLOT_SINK, out;
    uint64_t one = to == PTX_F32                        ? 0x3f800000u
                   : to == PTX_F16 || to == PTX_F16X2   ? 0x3c00u
                   : to == PTX_BF16 || to == PTX_BF16X2 ? 0x3f80u
                   : pairs                              ? 0xffffu
                                                        : 0xffffffffu;
    if (!simt_source(d, &d->in->operands[1], row->operands[1], from, &a) ||
        !simt_source(d, &d->in->operands[2], row->operands[2], from, &b) ||
        (mode && !simt_source(d, &d->in->operands[3], 'p', PTX_PRED, &c)) || !simt_temp(d, 'p', &p) ||
        (pairs && !simt_temp(d, 'p', &q)) || !simt_destination(d, &d->in->operands[0], 'w', &out))
        return false;
    struct insn *i = simt_emit(d, run);
    if (!i) return false;
    i->d = p;
    i->d2 = q;
    i->a = a;
    i->b = b;
    i->c = c;
    i->mode = (uint8_t)mode;
    i->flags = s->flags;
    return pairs ? choose_halves(d, p, q, one, out) : choose(d, p, one, out);
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
    struct insn *i = simt_emit(d, simt_op_trap);
    (void)s;
    if (i) i->mode = d->in->in_asm ? TRAP_MEANT : d->in->file > 0 ? TRAP_OF_COMPILER : TRAP_NOWHERE;
    return simt_guard(d, i);
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
    {"mov", simt_decode_mov},
    {"cvt", simt_decode_cvt},
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
    {"wgmma", simt_decode_wgmma},
    {"tcgen05", simt_decode_tcgen05},
    {"ldmatrix", simt_decode_matrix_rows},
    {"stmatrix", simt_decode_matrix_rows},
    {"movmatrix", simt_decode_movmatrix},
    {"lop3", decode_lop3},
    {"createpolicy", decode_createpolicy},
    {"cp", simt_decode_cp},
    {"mbarrier", simt_decode_mbarrier},
    {"tensormap", simt_decode_tensormap},
};

bool simt_decode_insn(struct decoder *d)
{
    struct shape s;
    if (!read_shape(d, &s) || !simt_check_types(d, &s)) return false;
    for (size_t k = 0; k < sizeof decoders / sizeof *decoders; k++)
        if (!strcmp(decoders[k].opcode, d->in->opcode)) return decoders[k].decode(d, &s);
    return d->in->opcode[0] == 'v' ? simt_decode_video(d, &s) : simt_decode_plain(d, &s);
}
