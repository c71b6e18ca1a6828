/* wmma, mma, ldmatrix, stmatrix, movmatrix: their words, and the registers of their fragments. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"
#include "runtime/simt/matrix.h"

static const char *const type_names[] = {
#define NAME(name, text, bits) text,
    MATRIX_TYPES(NAME)
#undef NAME
};

struct words {
    uint32_t m, n, k;
    enum matrix_type types[4];
    uint32_t type_count;
    const char *layouts[2]; /* row or col */
    uint32_t layout_count;
    bool global, shared, saturate, popc, xor, and, rn, rz, rm, rp, narrow; /* narrow: .kind::f8f6f4 */
    char part; /* a, b, c or d of wmma.load and wmma.store */
};

bool simt_matrix_type(const char *word, enum matrix_type *out)
{
    for (uint32_t t = 0; t < MATRIX_TYPE_COUNT; t++)
        if (!strcmp(type_names[t], word)) {
            *out = (enum matrix_type)t;
            return true;
        }
    return false;
}

static bool read_type(const char *word, struct words *x)
{
    enum matrix_type type;
    if (!simt_matrix_type(word, &type)) return false;
    if (x->type_count < 4) x->types[x->type_count++] = type;
    return true;
}

static bool read_size(const char *word, struct words *x)
{
    int end = 0;
    return sscanf(word, "m%2un%2uk%3u%n", &x->m, &x->n, &x->k, &end) == 3 && !word[end];
}

static bool read_words(struct decoder *d, struct words *x)
{
    static const char *const ignored[] = {"sync", "aligned", "load", "store", "mma"};
    *x = (struct words){0};
    for (size_t k = 0; k < d->in->mod_count; k++) {
        const char *w = d->in->mods[k];
        bool known = read_type(w, x) || read_size(w, x) || ONE_OF(w, ignored);
        const struct {
            const char *name;
            bool *flag;
        } flags[] = {{"global", &x->global},
                     {"shared", &x->shared},
                     {"shared::cta", &x->shared},
                     {"satfinite", &x->saturate},
                     {"kind::f8f6f4", &x->narrow},
                     {"popc", &x->popc},
                     {"xor", &x->xor },
                     {"and", &x->and },
                     {"rn", &x->rn},
                     {"rz", &x->rz},
                     {"rm", &x->rm},
                     {"rp", &x->rp}};
        for (size_t j = 0; j < sizeof flags / sizeof *flags; j++)
            if (!strcmp(flags[j].name, w)) *flags[j].flag = known = true;
        if ((!strcmp(w, "row") || !strcmp(w, "col")) && x->layout_count < 2) {
            x->layouts[x->layout_count++] = w;
            known = true;
        } else if (!w[1] && strchr("abcd", w[0]) && !x->part) {
            x->part = w[0];
            known = true;
        }
        if (!known) return simt_decode_unsupported(d);
    }
    return true;
}

/* ---- fragments ---- */
static bool is_integer(enum matrix_type t)
{
    return t >= MATRIX_S8 && t <= MATRIX_B1;
}

/* Registers of A or B; 0 when the shape does not exist for the type. */
static uint32_t input_count(enum matrix_type t, uint32_t rows, uint32_t k, bool wmma)
{
    uint32_t width = 4 * matrix_packed(t);
    if (t >= MATRIX_F32 || k % width) return 0;
    return wmma && t == MATRIX_F16 ? 8 : rows / 8 * (k / width);
}
static uint32_t sum_count(enum matrix_type t, uint32_t m, uint32_t n)
{
    return m * n / SIMT_WARP / (t == MATRIX_F16 ? 2 : 1);
}

static bool read_fragment(struct decoder *d, const struct ptx_operand *o, uint32_t count, enum matrix_type type,
                          bool destination, uint32_t *slots)
{
    const struct ptx_operand *items = simt_is_vector(o) ? o->items : o;
    size_t n = simt_is_vector(o) ? o->item_count : 1;
    char class = type == MATRIX_F64 ? 'q' : 'w';
    enum ptx_type t = type == MATRIX_F64 ? PTX_F64 : type == MATRIX_F32 ? PTX_F32 : PTX_B32;
    if (n != count)
        return simt_decode_fail(d, RT_COMPILE, "%s: expected %u registers, got %zu", d->in->opcode, count, n);
    for (size_t k = 0; k < n; k++) {
        bool ok = destination ? simt_destination(d, &items[k], class, &slots[k])
                              : simt_source(d, &items[k], class, t, &slots[k]);
        if (!ok) return false;
    }
    return true;
}

static struct insn *emit_sync(struct decoder *d, const char *key)
{
    uint32_t all;
    if (!simt_constant(d, FULL, 'w', &all)) return NULL;
    struct insn *i = simt_emit_key(d, key);
    if (i) i->c = all;
    return i;
}

/* ---- mma ---- */
static bool is_quads(const struct words *w)
{
    return w->m == 8 && w->n == 8 && w->k == 4 && w->type_count == 4 && w->types[1] == MATRIX_F16;
}
static bool check_quads(struct decoder *d, const struct words *w, const struct matrix_mma *x)
{
    enum matrix_type c = (enum matrix_type)x->c_type, t = (enum matrix_type)x->d_type;
    bool sums = (t == MATRIX_F32 && (c == MATRIX_F32 || c == MATRIX_F16)) || (t == MATRIX_F16 && c == MATRIX_F16);
    return (sums && x->b_type == MATRIX_F16 && w->layout_count == 2 && !w->popc && !w->saturate) ||
           simt_decode_unsupported(d);
}
static bool check_mma(struct decoder *d, const struct words *w, const struct matrix_mma *x, bool wmma)
{
    enum matrix_type a = (enum matrix_type)x->a_type, c = (enum matrix_type)x->c_type, t = (enum matrix_type)x->d_type;
    bool shape =
        wmma ? (x->m == 8 || x->m == 16 || x->m == 32) && (x->n == 8 || x->n == 16 || x->n == 32) && x->m * x->n <= 256
             : (x->m == 8 || x->m == 16) && x->n == 8 && w->layout_count == 2 && *w->layouts[0] == 'r' &&
                   *w->layouts[1] == 'c';
    bool integer = is_integer(a), real = a == MATRIX_F64;
    bool sums = integer ? c == MATRIX_S32 && t == MATRIX_S32
                : real  ? c == MATRIX_F64 && t == MATRIX_F64
                        : (c == MATRIX_F32 || c == MATRIX_F16) && (t == MATRIX_F32 || t == MATRIX_F16);
    bool same = is_integer((enum matrix_type)x->b_type) == integer &&
                matrix_bits((enum matrix_type)x->b_type) == matrix_bits(a) && (a == MATRIX_B1) == w->popc;
    bool fits = x->m * x->k <= 4096 && x->k <= 256 && (!real || (x->k <= 16 && x->m <= 16 && x->n == 8));
    bool rounded = w->rn || w->rz || w->rm || w->rp;
    bool bytes = a >= MATRIX_E4M3 && a <= MATRIX_E2M1 && x->b_type >= MATRIX_E4M3 && x->b_type <= MATRIX_E2M1;
    bool fewer = a > MATRIX_E5M2 || x->b_type > MATRIX_E5M2; /* than 8 bits */
    if (w->narrow ? wmma || !bytes : bytes && fewer) return simt_decode_unsupported(d);
    if (rounded && (!real || w->rn + w->rz + w->rm + w->rp > 1)) return simt_decode_unsupported(d);
    if (!shape || !sums || !same || !fits || !x->a_count || !x->b_count || (w->xor || w->and) != w->popc)
        return simt_decode_unsupported(d);
    return true;
}

bool simt_emit_mma(struct decoder *d, const struct matrix_mma *h, const char *key, uint32_t flags)
{
    uint32_t count = sizeof *h / 4 + h->a_count + h->b_count + h->c_count + h->d_count, extra;
    if (!simt_extra(d, (const uint32_t *)(const void *)h, count, &extra)) return false;
    bool integers = is_integer((enum matrix_type)h->a_type), doubles = h->a_type == MATRIX_F64;
    struct insn *i = emit_sync(d, key ? key : integers ? "+mma.integer" : doubles ? "+mma.double" : "+mma.float");
    if (!simt_guard(d, i)) return false;
    i->extra = extra;
    i->flags = flags;
    return true;
}

static bool decode_mma(struct decoder *d, const struct words *w, bool wmma)
{
    struct {
        struct matrix_mma head;
        uint32_t slots[64];
    } x = {0};
    struct matrix_mma *h = &x.head;
    bool halves = wmma && w->type_count == 2; /* the inputs go without saying */
    if (w->type_count != 4 && !halves) return simt_decode_unsupported(d);
    h->m = w->m, h->n = w->n, h->k = w->k;
    h->d_type = w->types[0];
    h->a_type = halves ? MATRIX_F16 : w->types[1];
    h->b_type = halves ? MATRIX_F16 : w->types[2];
    h->c_type = w->types[w->type_count - 1];
    h->a_count = input_count((enum matrix_type)h->a_type, h->m, h->k, wmma);
    h->b_count = input_count((enum matrix_type)h->b_type, h->n, h->k, wmma);
    h->flags =
        (w->saturate && is_integer((enum matrix_type)h->a_type) ? MATRIX_SATURATES : 0) | (w->xor ? MATRIX_XOR : 0);
    bool quads = !wmma && is_quads(w);
    if (!(quads ? check_quads(d, w, h) : check_mma(d, w, h, wmma)) || !simt_want_operands(d, 4, 4)) return false;
    uint32_t products = quads ? 4 : 1;
    h->c_count = products * sum_count((enum matrix_type)h->c_type, h->m, h->n);
    h->d_count = products * sum_count((enum matrix_type)h->d_type, h->m, h->n);
    if (quads) h->a_count = h->b_count = 2;
    if (quads && *w->layouts[0] == 'c') h->flags |= MATRIX_A_COLUMNS;
    if (quads && *w->layouts[1] == 'c') h->flags |= MATRIX_B_COLUMNS;
    const struct ptx_operand *o = d->in->operands;
    uint32_t *slots = x.slots;
    if (!read_fragment(d, &o[1], h->a_count, (enum matrix_type)h->a_type, false, slots + h->d_count) ||
        !read_fragment(d, &o[2], h->b_count, (enum matrix_type)h->b_type, false, slots + h->d_count + h->a_count) ||
        !read_fragment(d, &o[3], h->c_count, (enum matrix_type)h->c_type, false,
                       slots + h->d_count + h->a_count + h->b_count) ||
        !read_fragment(d, &o[0], h->d_count, (enum matrix_type)h->d_type, true, slots))
        return false;
    return simt_emit_mma(d, h, quads ? "+mma.quads" : NULL, w->rz ? F_RZ : w->rm ? F_RM : w->rp ? F_RP : 0);
}

/* ---- wmma.load, wmma.store ---- */
static bool decode_wmma_move(struct decoder *d, const struct words *w, bool store)
{
    struct {
        struct matrix_move head;
        uint32_t slots[16];
    } x = {0};
    struct matrix_move *h = &x.head;
    if (w->type_count != 1 || w->layout_count != 1 || !w->part || !w->m || w->m % 8 || w->n % 8 || w->m * w->n > 512 ||
        w->m > 32 || w->n > 32 || !simt_want_operands(d, 2, 3))
        return simt_decode_unsupported(d);
    enum matrix_type t = w->types[0];
    bool by_rows = *w->layouts[0] == 'r';
    h->which = (uint32_t)(w->part == 'd' ? 'c' : w->part);
    h->type = t, h->m = w->m, h->n = w->n, h->k = w->k;
    uint32_t rows = h->which == 'b' ? w->k : w->m, columns = h->which == 'a' ? w->k : w->n;
    h->lines = by_rows ? rows : columns;
    h->length = by_rows ? columns : rows;
    h->along = by_rows != (h->which == 'b');
    h->count = h->which == 'c' ? sum_count(t, w->m, w->n) : input_count(t, h->which == 'a' ? w->m : w->n, w->k, true);
    h->space = w->shared ? PTX_SHARED : w->global ? PTX_GLOBAL : PTX_GENERIC;
    uint32_t bytes = h->length * matrix_bits(t) / 8;
    if (!h->count || h->count > 16 || h->lines > 32 || (bytes != 8 && bytes % 16) || (matrix_bits(t) < 8 && !h->along))
        return simt_decode_unsupported(d);
    const struct ptx_operand *o = d->in->operands;
    struct simt_address at;
    uint32_t extra;
    if (!simt_address(d, &o[store ? 0 : 1], (enum ptx_space)h->space, &at) ||
        (d->in->operand_count == 3 && !simt_source(d, &o[2], 'w', PTX_U32, &h->stride)) ||
        !read_fragment(d, &o[store ? 1 : 0], h->count, t, !store, x.slots) ||
        !simt_extra(d, (const uint32_t *)(const void *)&x, sizeof *h / 4 + h->count, &extra))
        return false;
    struct insn *i = emit_sync(d, "+wmma");
    if (!simt_guard(d, i)) return false;
    i->a = at.base;
    i->imm = at.imm;
    i->flags = at.flags | (store ? F_STORE : 0);
    i->extra = extra;
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_decode_wmma(struct decoder *d, const struct shape *s)
{
    (void)s;
    struct words w;
    if (!read_words(d, &w) || !d->in->mod_count) return false;
    const char *what = d->in->mods[0];
    if (!strcmp(what, "mma")) return decode_mma(d, &w, true);
    return decode_wmma_move(d, &w, !strcmp(what, "store"));
}

bool simt_decode_mma(struct decoder *d, const struct shape *s)
{
    (void)s;
    struct words w;
    return read_words(d, &w) && decode_mma(d, &w, false);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */
/* The form of ldmatrix or stmatrix: the layout of its registers, and how many bits in memory become 8 (0: those). */
static bool read_rows(const struct shape *s, bool store, enum matrix_rows *rows, uint8_t *bits)
{
    bool turned = simt_has_word(s, "trans"), halves = s->type_count == 1 && s->types[0] == PTX_B16;
    bool bytes = s->type_count == 1 && s->types[0] == PTX_B8, square = simt_has_word(s, "m16n16");
    *bits = simt_has_word(s, "b6x16_p32") ? 6 : simt_has_word(s, "b4x16_p64") ? 4 : 0;
    bool narrow = *bits && simt_has_word(s, "b8x16") && !s->type_count && !store;
    *rows = square ? ROWS_SQUARE : bytes ? ROWS_TALL : turned ? ROWS_TRANSPOSED : ROWS_AS_THEY_ARE;
    if (simt_has_word(s, "m8n8")) return halves && !*bits;
    if (simt_has_word(s, "m8n16")) return narrow && !turned;
    if (simt_has_word(s, "m16n8")) return bytes && turned && store;
    return square && turned && !store && (narrow || bytes);
}

bool simt_decode_matrix_rows(struct decoder *d, const struct shape *s)
{
    bool store = d->in->opcode[0] == 's', shared = simt_has_word(s, "shared") || simt_has_word(s, "shared::cta");
    uint32_t count = simt_has_word(s, "x4") ? 4 : simt_has_word(s, "x2") ? 2 : simt_has_word(s, "x1") ? 1 : 0;
    uint32_t slots[4] = {0}, extra;
    struct simt_address at;
    enum matrix_rows rows;
    uint8_t bits;
    if (!read_rows(s, store, &rows, &bits) || !count || (rows == ROWS_SQUARE && count == 4))
        return simt_decode_unsupported(d);
    if (rows == ROWS_SQUARE) count *= 2; /* registers */
    if (!simt_want_operands(d, 2, 2)) return false;
    const struct ptx_operand *o = d->in->operands;
    if (!simt_address(d, &o[store ? 0 : 1], shared ? PTX_SHARED : PTX_GENERIC, &at) ||
        !read_fragment(d, &o[store ? 1 : 0], count, MATRIX_F16, !store, slots) || !simt_extra(d, slots, count, &extra))
        return false;
    struct insn *i = emit_sync(d, "+matrix_rows");
    if (!simt_guard(d, i)) return false;
    i->a = at.base;
    i->imm = at.imm;
    i->flags = at.flags | (store ? F_STORE : 0);
    i->extra = extra;
    i->count = (uint8_t)count;
    i->mode = (uint8_t)rows;
    i->size = bits;
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_decode_movmatrix(struct decoder *d, const struct shape *s)
{
    uint32_t a, out;
    if (!simt_has_word(s, "m8n8") || !simt_has_word(s, "trans") || s->type_count != 1 || s->types[0] != PTX_B16)
        return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 2, 2) || !simt_source(d, &d->in->operands[1], 'w', PTX_B32, &a) ||
        !simt_destination(d, &d->in->operands[0], 'w', &out))
        return false;
    struct insn *i = emit_sync(d, "+matrix_transpose");
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->d = out;
    return true;
}
