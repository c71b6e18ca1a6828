/* tcgen05: tensor memory and its matrix products. They are done at once, which is one of the orders that the hardware
 * may choose, so waiting for them needs nothing; tcgen05.commit is an arrival at an mbarrier. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"
#include "runtime/simt/tcgen05.h"

#define MOST_MOVED 128 /* registers */

/* Whatever it is, one block does it by itself. */
static bool read_words(struct decoder *d, const struct shape *s, const char *const *known)
{
    bool group = false, all = true;
    for (int k = 0; k < s->word_count; k++) {
        bool found = !strcmp(s->words[k], "cta_group::1");
        group |= found;
        for (const char *const *w = known; *w; w++) found |= !strcmp(*w, s->words[k]);
        all &= found;
    }
    return (all && group) || simt_decode_unsupported(d);
}

/* An operation of whole warps: its mask goes to c. */
static struct insn *emit_sync(struct decoder *d, const char *key)
{
    uint32_t all;
    struct insn *i = simt_constant(d, FULL, 'w', &all) ? simt_emit_key(d, key) : NULL;
    if (!i || !simt_guard(d, i)) return NULL;
    i->c = all;
    return i;
}

/* ---- allocation ---- */
/* tcgen05.alloc [dst], columns; tcgen05.dealloc address, columns */
static bool decode_allocation(struct decoder *d, const struct shape *s)
{
    static const char *const known[] = {"alloc", "dealloc", "sync", "aligned", "shared::cta", NULL};
    const struct ptx_operand *o = d->in->operands;
    bool allocates = simt_has_word(s, "alloc"), shared = simt_has_word(s, "shared::cta");
    struct simt_address at = {.flags = 0};
    uint32_t address, columns;
    if (!read_words(d, s, known) || !simt_want_operands(d, 2, 2) || !simt_source(d, &o[1], 'w', PTX_U32, &columns))
        return false;
    if (allocates ? !simt_address(d, &o[0], shared ? PTX_SHARED : PTX_GENERIC, &at)
                  : !simt_source(d, &o[0], 'w', PTX_U32, &address))
        return false;
    struct insn *i = emit_sync(d, allocates ? "+tcgen05_alloc" : "+tcgen05_dealloc");
    if (!i) return false;
    i->a = allocates ? at.base : address;
    i->b = columns;
    i->imm = at.imm;
    i->flags = at.flags | (allocates ? F_STORE : 0);
    i->size = 4;
    i->d2 = d->program->cache_count++;
    return true;
}

static bool decode_relinquish(struct decoder *d, const struct shape *s)
{
    static const char *const known[] = {"relinquish_alloc_permit", "sync", "aligned", NULL};
    return read_words(d, s, known) && emit_sync(d, "+tcgen05_relinquish");
}

/* ---- between registers and tensor memory ---- */
static const struct {
    const char *name;
    uint32_t registers; /* of a lane, of .x1 */
} shapes[] = {[TENSOR_32X32] = {"32x32b", 1},
              [TENSOR_16X32X2] = {"16x32bx2", 1},
              [TENSOR_16X64] = {"16x64b", 1},
              [TENSOR_16X128] = {"16x128b", 2},
              [TENSOR_16X256] = {"16x256b", 4}};

static bool read_shape(struct decoder *d, const struct shape *s, struct tensor_move *x)
{
    uint32_t times = 0;
    bool shape = false;
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        int end = 0;
        bool known = !strcmp(w, "ld") || !strcmp(w, "st") || !strcmp(w, "sync") || !strcmp(w, "aligned");
        for (uint32_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
            if (!strcmp(w, shapes[j].name)) x->shape = j, shape = known = true;
        if (!strcmp(w, "pack::16b") || !strcmp(w, "unpack::16b")) x->halves = known = true;
        if (w[0] == 'x' && sscanf(w, "x%3u%n", &times, &end) == 1 && !w[end]) known = true;
        if (!known) return simt_decode_unsupported(d);
    }
    x->count = shape ? times * shapes[x->shape].registers : 0;
    return (x->count && x->count <= MOST_MOVED && !(times & (times - 1))) || simt_decode_unsupported(d);
}

/* tcgen05.ld registers, [address] {, offset}; tcgen05.st [address] {, offset}, registers */
static bool decode_move(struct decoder *d, const struct shape *s)
{
    struct {
        struct tensor_move head;
        uint32_t slots[MOST_MOVED];
    } x = {.head = {.count = 0}};
    const struct ptx_operand *o = d->in->operands;
    const bool store = simt_has_word(s, "st");
    if (!read_shape(d, s, &x.head)) return false;
    const size_t two = x.head.shape == TENSOR_16X32X2;
    if (!simt_want_operands(d, 2 + two, 2 + two)) return false;
    const struct ptx_operand *registers = &o[store ? 1 + two : 0], *offset = &o[store ? 1 : 2];
    const struct ptx_operand *items = simt_is_vector(registers) ? registers->items : registers;
    const size_t n = simt_is_vector(registers) ? registers->item_count : 1;
    struct simt_address at;
    uint32_t extra;
    if (n != x.head.count)
        return simt_decode_fail(d, RT_COMPILE, "tcgen05: expected %u registers, got %zu", x.head.count, n);
    if (two && offset->kind != PTX_OP_IMM)
        return simt_decode_fail(d, RT_COMPILE, "tcgen05: expected a number for the offset of the second half");
    x.head.offset = two ? (uint32_t)offset->imm : 0;
    for (uint32_t k = 0; k < x.head.count; k++)
        if (!(store ? simt_source(d, &items[k], 'w', PTX_B32, &x.slots[k])
                    : simt_destination(d, &items[k], 'w', &x.slots[k])))
            return false;
    if (!simt_address(d, &o[!store], PTX_SHARED, &at) ||
        !simt_extra(d, (const uint32_t *)(const void *)&x, (uint32_t)sizeof x.head / 4 + x.head.count, &extra))
        return false;
    struct insn *i = emit_sync(d, store ? "+tcgen05_store" : "+tcgen05_load");
    if (!i) return false;
    i->a = at.base;
    i->imm = at.imm;
    i->extra = extra;
    i->flags = store ? F_STORE : 0;
    return true;
}

/* ---- products ---- */
static bool read_kind(struct decoder *d, const struct shape *s, struct tensor_product *x)
{
    static const char *const kinds[] = {[PRODUCT_F16] = "kind::f16",
                                        [PRODUCT_TF32] = "kind::tf32",
                                        [PRODUCT_F8F6F4] = "kind::f8f6f4",
                                        [PRODUCT_I8] = "kind::i8"};
    static const char *const known[] = {"mma",
                                        "kind::f16",
                                        "kind::tf32",
                                        "kind::f8f6f4",
                                        "kind::i8",
                                        "collector::a::fill",
                                        "collector::a::use",
                                        "collector::a::lastuse",
                                        "collector::a::discard",
                                        NULL};
    if (!read_words(d, s, known)) return false;
    for (uint32_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (simt_has_word(s, kinds[k])) {
            x->kind = k;
            return true;
        }
    return simt_decode_unsupported(d);
}

/* The lanes that are left out, and the scale: either may be there, before and behind the predicate. */
static bool read_rest(struct decoder *d, struct tensor_product *x)
{
    const struct ptx_operand *o = d->in->operands + 4;
    size_t n = d->in->operand_count - 4;
    x->masked = simt_is_vector(o);
    if (x->masked) {
        if (o->item_count != 4)
            return simt_decode_fail(
                d, RT_COMPILE, "tcgen05.mma: expected 4 registers of lanes that are left out, got %zu", o->item_count);
        for (uint32_t k = 0; k < 4; k++)
            if (!simt_source(d, &o->items[k], 'w', PTX_B32, &x->masks[k])) return false;
        o++, n--;
    }
    if (n < 1 || n > 2) return simt_want_operands(d, 5, 7), false;
    if (n == 2 && (o[1].kind != PTX_OP_IMM || o[1].imm < 0 || o[1].imm > 15))
        return simt_decode_fail(d, RT_COMPILE, "tcgen05.mma: expected a scale of D from 0 to 15");
    x->scale = n == 2 ? (uint32_t)o[1].imm : 0;
    if (x->scale && x->kind != PRODUCT_F16 && x->kind != PRODUCT_TF32) return simt_decode_unsupported(d);
    return simt_source(d, o, 'p', PTX_PRED, &x->adds);
}

/* tcgen05.mma [D], A, B's descriptor, instruction descriptor {, lanes left out}, adds {, scale}; A: [address] or its
 * descriptor */
static bool decode_product(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    struct tensor_product x = {.kind = 0};
    uint32_t extra;
    if (!read_kind(d, s, &x) || !simt_want_operands(d, 5, 7)) return false;
    x.a_here = o[1].kind == PTX_OP_ADDRESS;
    if (!simt_whole_address(d, &o[0], PTX_SHARED, &x.d) ||
        !(x.a_here ? simt_whole_address(d, &o[1], PTX_SHARED, &x.a) : simt_source(d, &o[1], 'q', PTX_U64, &x.a)) ||
        !simt_source(d, &o[2], 'q', PTX_U64, &x.b) || !simt_source(d, &o[3], 'w', PTX_U32, &x.described) ||
        !read_rest(d, &x) || !simt_extra(d, (const uint32_t *)(const void *)&x, sizeof x / 4, &extra))
        return false;
    struct insn *i = simt_emit_key(d, "+tcgen05_mma");
    if (!simt_guard(d, i)) return false;
    i->extra = extra;
    i->flags = F_PRODUCT;
    i->d2 = d->program->cache_count++;
    return true;
}

/* tcgen05.commit.mbarrier::arrive::one [mbarrier]: what the thread began before is done. */
static bool decode_commit(struct decoder *d, const struct shape *s)
{
    static const char *const known[] = {"commit", "mbarrier::arrive::one", "shared::cluster", NULL};
    return read_words(d, s, known) && simt_want_operands(d, 1, 1) &&
           simt_emit_arrival(d, d->in->operands, simt_has_word(s, "shared::cluster"), true);
}

bool simt_decode_tcgen05(struct decoder *d, const struct shape *s)
{
    const char *what = s->word_count ? s->words[0] : "";
    if (!strcmp(what, "alloc") || !strcmp(what, "dealloc")) return decode_allocation(d, s);
    if (!strcmp(what, "relinquish_alloc_permit")) return decode_relinquish(d, s);
    if (!strcmp(what, "ld") || !strcmp(what, "st")) return decode_move(d, s);
    if (!strcmp(what, "mma")) return decode_product(d, s);
    if (!strcmp(what, "commit")) return decode_commit(d, s);
    bool waits = !strcmp(what, "wait::ld") || !strcmp(what, "wait::st");
    bool fence = !strcmp(what, "fence::before_thread_sync") || !strcmp(what, "fence::after_thread_sync");
    return waits || fence ? simt_guard(d, simt_emit(d, simt_op_nop)) : simt_decode_unsupported(d);
}
