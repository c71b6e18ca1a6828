/* wgmma: matrix products of warp groups. Each of the four warps of a group has 16 of the 64 rows of A and of the sums,
 * so the product is, warp by warp, one of mma.m16n8 for each eight columns: its instructions stand here for it, with
 * those of ldmatrix for what lies in shared memory. They are done at once, which is one of the orders that the hardware
 * may choose. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"
#include "runtime/simt/matrix.h"

#define MOST_N    256
#define MOST_SUMS (MOST_N / 2)

struct product {
    uint32_t n, k;
    enum matrix_type types[3]; /* of the sums, A and B */
    uint32_t type_count, flags;
    bool popc, and;
    uint32_t sums, slots[MOST_SUMS];  /* registers of all sums of a lane */
    uint32_t zero;                    /* slot of what is added to in their place; 0: nothing is */
    uint32_t a[4], a_rows;            /* A's registers; slot of its descriptor, 0: it comes in registers */
    uint32_t b[4], b_rows;            /* B's, of 16 columns at a time */
    uint32_t address;                 /* slot of the addresses of lines in shared memory */
    bool negates, a_turned, b_turned; /* A is taken with the other sign; lines go along M, or N */
};

static bool read_size(const char *word, struct product *x)
{
    int end = 0;
    return sscanf(word, "m64n%3uk%3u%n", &x->n, &x->k, &end) == 2 && !word[end];
}

static bool is_half(enum matrix_type t)
{
    return t == MATRIX_F16 || t == MATRIX_BF16;
}
static bool is_byte(enum matrix_type t)
{
    return t == MATRIX_S8 || t == MATRIX_U8;
}
static bool is_small(enum matrix_type t)
{
    return t == MATRIX_E4M3 || t == MATRIX_E5M2;
}

static bool types_fit(const struct product *x)
{
    enum matrix_type sum = x->types[0], a = x->types[1], b = x->types[2];
    bool halves = sum == MATRIX_F16 && (a == MATRIX_F16 || is_small(a));
    bool same = a == b || (is_byte(a) && is_byte(b)) || (is_small(a) && is_small(b));
    if (!same || (a == MATRIX_B1) != x->popc || x->popc != x->and) return false;
    if (is_byte(a) || a == MATRIX_B1) return sum == MATRIX_S32;
    return (is_half(a) || is_small(a) || a == MATRIX_TF32) && (sum == MATRIX_F32 || halves);
}

static bool read_words(struct decoder *d, struct product *x)
{
    static const char *const ignored[] = {"mma_async", "sync", "aligned"};
    bool known = true;
    for (size_t k = 0; k < d->in->mod_count; k++) {
        const char *w = d->in->mods[k];
        bool this = read_size(w, x) || ONE_OF(w, ignored);
        if (x->type_count < 3 && simt_matrix_type(w, &x->types[x->type_count])) x->type_count++, this = true;
        if (!strcmp(w, "satfinite")) x->flags |= MATRIX_SATURATES, this = true;
        if (!strcmp(w, "popc")) x->popc = this = true;
        if (!strcmp(w, "and")) x->and = this = true;
        known &= this;
    }
    bool shape =
        x->n >= 8 && x->n <= MOST_N && x->n % 8 == 0 && x->type_count == 3 && x->k * matrix_bits(x->types[1]) == 256;
    return (known && shape && types_fit(x)) || simt_decode_unsupported(d);
}

/* ---- operands ---- */
static bool read_sums(struct decoder *d, const struct ptx_operand *o, struct product *x)
{
    bool halves = x->types[0] == MATRIX_F16;
    x->sums = halves ? x->n / 4 : x->n / 2;
    if (!simt_is_vector(o) || o->item_count != x->sums)
        return simt_decode_fail(d, RT_COMPILE, "wgmma: expected %u registers of sums, got %zu", x->sums,
                                simt_is_vector(o) ? o->item_count : 1);
    for (uint32_t k = 0; k < x->sums; k++)
        if (!simt_destination(d, &o->items[k], 'w', &x->slots[k])) return false;
    return true;
}

static bool read_inputs(struct decoder *d, const struct ptx_operand *o, struct product *x)
{
    bool vector = simt_is_vector(o);
    for (uint32_t k = 0; k < 4; k++)
        if (!simt_temp(d, 'w', &x->b[k]) || (!vector && !simt_temp(d, 'w', &x->a[k]))) return false;
    if (!simt_temp(d, 'w', &x->address) || !simt_source(d, &o[1], 'q', PTX_U64, &x->b_rows)) return false;
    if (!vector) return simt_source(d, o, 'q', PTX_U64, &x->a_rows);
    if (o->item_count != 4)
        return simt_decode_fail(d, RT_COMPILE, "wgmma: expected 4 registers of A, got %zu", o->item_count);
    for (uint32_t k = 0; k < 4; k++)
        if (!simt_source(d, &o->items[k], 'w', PTX_B32, &x->a[k])) return false;
    return true;
}

/* The sums count from 0 where the scale is false. */
static bool scale_sums(struct decoder *d, const struct ptx_operand *o, struct product *x)
{
    uint32_t scale, extra;
    if (o->kind == PTX_OP_IMM) return o->imm || simt_constant(d, 0, 'w', &x->zero);
    if (!simt_source(d, o, 'p', PTX_PRED, &scale) || !simt_extra(d, x->slots, x->sums, &extra)) return false;
    struct insn *i = simt_emit_key(d, "+wgmma_scale");
    if (!simt_guard(d, i)) return false;
    i->a = scale;
    i->b = x->sums;
    i->extra = extra;
    return true;
}

/* imm-scale-a, imm-scale-b: 1 or -1; imm-trans-a, imm-trans-b: of 16-bit types. */
static bool read_immediates(struct decoder *d, struct product *x)
{
    const struct ptx_operand *o = d->in->operands + 4;
    size_t n = d->in->operand_count - 4;
    enum matrix_type a = x->types[1];
    bool whole = is_byte(a) || a == MATRIX_B1;
    size_t turns = is_half(a) ? (x->a_rows ? 2 : 1) : 0; /* A in registers is not turned */
    if (n != (whole ? 0 : 2 + turns))
        return simt_decode_fail(d, RT_COMPILE, "wgmma: expected %zu immediates behind the scale of the sums, got %zu",
                                whole ? 0 : 2 + turns, n);
    for (size_t k = 0; k < n; k++) {
        int64_t v = o[k].imm;
        bool good = o[k].kind == PTX_OP_IMM && (k < 2 ? v == 1 || v == -1 : v == 0 || v == 1);
        if (!good) return simt_decode_fail(d, RT_COMPILE, "wgmma: immediate %zu is out of range", k + 1);
        if (k < 2) x->negates ^= v < 0;
    }
    if (turns == 2) x->a_turned = o[2].imm;
    if (turns) x->b_turned = o[1 + turns].imm;
    return true;
}

/* ---- what stands for it ---- */
/* Lines of A or B in shared memory to registers: `count` matrices of ldmatrix from block `first` of eight rows on. */
static bool emit_rows(struct decoder *d, const struct product *x, bool b, uint32_t first, uint32_t count)
{
    bool turned = b ? x->b_turned : x->a_turned;
    uint32_t extra, all;
    if (!simt_constant(d, FULL, 'w', &all) || !simt_extra(d, b ? x->b : x->a, count, &extra)) return false;
    struct insn *i = simt_emit_key(d, "+wgmma_rows");
    if (!simt_guard(d, i)) return false;
    i->a = b ? x->b_rows : x->a_rows;
    i->d = x->address;
    i->imm = first;
    i->mode = (uint8_t)((b ? WGMMA_OF_B : 0) | (turned ? WGMMA_TURNED : 0));
    i = simt_emit_key(d, "+matrix_rows");
    if (!simt_guard(d, i)) return false;
    i->a = x->address;
    i->c = all;
    i->extra = extra;
    i->count = (uint8_t)count;
    i->mode = turned ? ROWS_TRANSPOSED : ROWS_AS_THEY_ARE;
    i->d2 = d->program->cache_count++;
    return true;
}

static bool negate_a(struct decoder *d, struct product *x)
{
    static const uint32_t signs[] = {[8] = 0x80808080, [16] = 0x80008000, [32] = 0x80000000};
    uint32_t sign;
    if (!simt_constant(d, signs[matrix_bits(x->types[1])], 'w', &sign)) return false;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t from = x->a[k];
        if (!simt_temp(d, 'w', &x->a[k])) return false;
        struct insn *i = simt_emit_key(d, "xor.b32");
        if (!simt_guard(d, i)) return false;
        i->a = from;
        i->b = sign;
        i->d = x->a[k];
    }
    return true;
}

static bool emit_product(struct decoder *d, const struct product *x, uint32_t block, const uint32_t *b)
{
    struct {
        struct matrix_mma head;
        uint32_t slots[14];
    } p = {.head = {.m = 16, .n = 8, .k = x->k, .a_count = 4, .b_count = 2, .flags = x->flags}};
    struct matrix_mma *h = &p.head;
    uint32_t each = x->types[0] == MATRIX_F16 ? 2 : 4, *s = p.slots;
    h->d_type = h->c_type = x->types[0];
    h->a_type = x->types[1];
    h->b_type = x->types[2];
    h->c_count = h->d_count = each;
    for (uint32_t k = 0; k < each; k++) *s++ = x->slots[block * each + k];
    for (uint32_t k = 0; k < 4; k++) *s++ = x->a[k];
    for (uint32_t k = 0; k < 2; k++) *s++ = b[k];
    for (uint32_t k = 0; k < each; k++) *s++ = x->zero ? x->zero : x->slots[block * each + k];
    return simt_emit_mma(d, h, NULL, 0);
}

static bool emit_all(struct decoder *d, struct product *x)
{
    if (x->a_rows && !emit_rows(d, x, false, 0, 4)) return false;
    if (x->negates && !negate_a(d, x)) return false;
    for (uint32_t block = 0; block < x->n / 8; block += 2) {
        bool two = block + 1 < x->n / 8;
        if (!emit_rows(d, x, true, block, two ? 4 : 2) || !emit_product(d, x, block, x->b) ||
            (two && !emit_product(d, x, block + 1, x->b + 2)))
            return false;
    }
    return true;
}

/* wgmma.wait_group: a product is done by all warps of the group together, so who has waited for it knows that the
 * others have read its operands, too. For the checks, which see warps read one by one, that is a barrier of the group:
 * one of those that no instruction of PTX names. */
static bool emit_wait(struct decoder *d)
{
    uint32_t id, count, two, first;
    if (!simt_temp(d, 'w', &id) || !simt_constant(d, WARP_GROUP * SIMT_WARP, 'w', &count) ||
        !simt_constant(d, __builtin_ctz(WARP_GROUP), 'w', &two) || !simt_constant(d, USER_BARRIERS, 'w', &first) ||
        !simt_emit_special(d, "warpid", 'w', id))
        return false;
    const struct {
        const char *key;
        uint32_t by;
    } steps[] = {{"shr.u32", two}, {"add.u32", first}};
    for (int k = 0; k < 2; k++) {
        struct insn *i = simt_emit_key(d, steps[k].key);
        if (!simt_guard(d, i)) return false;
        i->a = i->d = id;
        i->b = steps[k].by;
    }
    struct insn *i = simt_emit(d, simt_op_barrier);
    if (!simt_guard(d, i)) return false;
    i->a = id;
    i->b = count;
    i->c = SLOT_TRUE;
    i->d = SLOT_SINK;
    i->mode = BARRIER_SYNC;
    i->size = 1; /* a group's */
    return true;
}

bool simt_decode_wgmma(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    struct product x = {.n = 0};
    if (simt_has_word(s, "wait_group")) return emit_wait(d);
    if (simt_has_word(s, "fence") || simt_has_word(s, "commit_group")) return simt_guard(d, simt_emit(d, simt_op_nop));
    if (!read_words(d, &x) || !simt_want_operands(d, 4, 8)) return false;
    return read_sums(d, &o[0], &x) && read_inputs(d, &o[1], &x) && read_immediates(d, &x) && scale_sums(d, &o[3], &x) &&
           emit_all(d, &x);
}
