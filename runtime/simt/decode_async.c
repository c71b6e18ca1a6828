/* mbarrier, cp.async and cp.async.bulk. */
#include <string.h>
#include "runtime/simt/async.h"
#include "runtime/simt/decode.h"

static bool emit_nop(struct decoder *d, int mode, uint32_t groups)
{
    struct insn *i = simt_emit(d, simt_op_nop);
    if (!simt_guard(d, i)) return false;
    i->mode = (uint8_t)mode;
    i->extra = groups;
    return true;
}

bool simt_whole_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, uint32_t *slot)
{
    struct simt_address at;
    uint32_t offset;
    char class = space == PTX_SHARED ? 'w' : 'q';
    if (!simt_address(d, o, space, &at)) return false;
    *slot = at.base;
    if (!at.imm) return true;
    if (!simt_constant(d, (uint64_t)at.imm, class, &offset) || !simt_temp(d, class, slot)) return false;
    struct insn *i = simt_emit_key(d, class == 'w' ? "add.u32" : "add.u64");
    if (!i) return false;
    i->a = at.base;
    i->b = offset;
    i->d = *slot;
    return true;
}

/* ---- mbarrier ---- */
static bool emit_mbarrier(struct decoder *d, const struct ptx_operand *address, enum ptx_space space, int mode,
                          uint32_t count, uint32_t state)
{
    struct simt_address at;
    if (!simt_address(d, address, space, &at)) return false;
    struct insn *i = simt_emit_key(d, "+mbarrier");
    if (!simt_guard(d, i)) return false;
    d->program->places[d->program->code_count - 1].origin = simt_origin_of(d, address); /* the copy has another first */
    i->a = at.base;
    i->imm = at.imm;
    i->b = count;
    i->d = state;
    i->mode = (uint8_t)mode;
    i->flags = at.flags | F_STORE | F_ACQUIRE | F_RELEASE;
    i->size = 8;
    i->memory = MEMORY_ATOMIC;
    i->extra = 1;
    i->space = (uint8_t)space;
    i->d2 = d->program->cache_count++;
    return true;
}

static bool decode_test(struct decoder *d, const struct shape *s, enum ptx_space space)
{
    const struct ptx_operand *o = d->in->operands;
    bool parity = simt_has_word(s, "parity");
    struct simt_address at;
    uint32_t b, p;
    if (!simt_want_operands(d, 3, 4) || !simt_address(d, &o[1], space, &at) ||
        !simt_source(d, &o[2], parity ? 'w' : 'q', parity ? PTX_U32 : PTX_B64, &b) ||
        !simt_destination(d, &o[0], 'p', &p))
        return false;
    struct insn *i = simt_emit_key(d, "+mbarrier_test");
    if (!simt_guard(d, i)) return false;
    i->a = at.base;
    i->imm = at.imm;
    i->b = b;
    i->d = p;
    i->mode = parity;
    i->flags = at.flags | F_SPIN | F_ACQUIRE;
    i->size = 8;
    i->memory = MEMORY_ATOMIC;
    i->extra = 1; /* no vector takes what was read */
    i->space = (uint8_t)space;
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_is_shared_word(const char *w)
{
    return !strcmp(w, "shared") || !strcmp(w, "shared::cta") || !strcmp(w, "shared::cluster");
}

bool simt_decode_mbarrier(struct decoder *d, const struct shape *s)
{
    static const struct {
        const char *name;
        int mode;
        bool state;
    } kinds[] = {{"init", MBARRIER_INIT, false},        {"inval", MBARRIER_INVAL, false},
                 {"expect_tx", MBARRIER_EXPECT, false}, {"complete_tx", MBARRIER_COMPLETE, false},
                 {"arrive", MBARRIER_ARRIVE, true},     {"arrive_drop", MBARRIER_DROP, true}};
    const struct ptx_operand *o = d->in->operands;
    enum ptx_space space = PTX_GENERIC;
    const char *what = s->word_count ? s->words[0] : "";
    for (int k = 1; k < s->word_count; k++)
        if (simt_is_shared_word(s->words[k])) space = PTX_SHARED;
    if (s->type_count != 1 || s->types[0] != PTX_B64) return simt_decode_unsupported(d);
    if (!strcmp(what, "pending_count")) return simt_decode_plain(d, s);
    if (!strcmp(what, "test_wait") || !strcmp(what, "try_wait")) return decode_test(d, s, space);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kinds[k].name, what)) continue;
        int mode = kinds[k].mode;
        size_t first = kinds[k].state, n = d->in->operand_count;
        uint32_t count, state = SLOT_NOWHERE;
        bool bytes = first && simt_has_word(s, "expect_tx");
        if (bytes) mode++;
        if (!simt_want_operands(d, first + 1 + (!first && mode != MBARRIER_INVAL), first + 2)) return false;
        bool ok =
            n > first + 1 ? simt_source(d, &o[first + 1], 'w', PTX_U32, &count) : simt_constant(d, 1, 'w', &count);
        if (!ok || (first && o[0].kind != PTX_OP_SINK && !simt_destination(d, &o[0], 'q', &state))) return false;
        return emit_mbarrier(d, &o[first], space, mode, count, state);
    }
    return simt_decode_unsupported(d);
}

/* ---- cp.async ---- */
bool simt_emit_move(struct decoder *d, const char *key, const struct simt_address *at, uint32_t flags,
                    const uint32_t *slots, uint32_t count, enum ptx_space space)
{
    uint32_t extra;
    if (!simt_extra(d, slots, count, &extra)) return false;
    struct insn *i = simt_emit_key(d, key);
    if (!simt_guard(d, i)) return false;
    i->a = at->base;
    i->imm = at->imm;
    i->d = slots[0];
    i->extra = extra;
    i->count = (uint8_t)count;
    i->size = 4;
    i->flags = at->flags | flags;
    i->type = PTX_B32;
    i->memory = flags & F_STORE ? MEMORY_STORE : MEMORY_LOAD;
    i->space = (uint8_t)space;
    i->d2 = d->program->cache_count++;
    return true;
}

/* The whole of the source: a load and a store. */
static bool emit_copy(struct decoder *d, const struct ptx_operand *o, uint32_t size)
{
    struct simt_address to, from;
    uint32_t slots[4];
    for (uint32_t k = 0; k < size / 4; k++)
        if (!simt_temp(d, 'w', &slots[k])) return false;
    if (!simt_address(d, &o[0], PTX_SHARED, &to) || !simt_address(d, &o[1], PTX_GLOBAL, &from) ||
        !simt_emit_move(d, "+ld.global.u32_w_v", &from, 0, slots, size / 4, PTX_GLOBAL))
        return false;
    d->program->places[d->program->code_count - 1].origin = simt_origin_of(d, &o[1]);
    return simt_emit_move(d, "+st.shared.u32_w_v", &to, F_STORE, slots, size / 4, PTX_SHARED);
}

static bool decode_copy(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    size_t n = d->in->operand_count - simt_has_word(s, "L2::cache_hint");
    if (d->in->operand_count < 3 || n < 3 || n > 4) return simt_want_operands(d, 3, 5);
    uint32_t size = o[2].kind == PTX_OP_IMM ? (uint32_t)o[2].imm : 0, b, c;
    if (size != 4 && size != 8 && size != 16)
        return simt_decode_fail(d, RT_COMPILE, "cp.async: expected 4, 8 or 16 bytes");
    if (n == 3 || (o[3].kind == PTX_OP_IMM && o[3].imm == size)) return emit_copy(d, o, size);
    bool predicate = simt_operand_class(d, &o[3]) == 'p';
    uint32_t slots[4], extra;
    struct simt_address to;
    for (uint32_t k = 0; k < size / 4; k++)
        if (!simt_temp(d, 'w', &slots[k])) return false;
    if (!simt_address(d, &o[0], PTX_SHARED, &to) || !simt_whole_address(d, &o[1], PTX_GLOBAL, &b) ||
        !simt_source(d, &o[3], predicate ? 'p' : 'w', PTX_U32, &c) || !simt_extra(d, slots, size / 4, &extra))
        return false;
    struct insn *i = simt_emit_key(d, "+load_fill");
    if (!simt_guard(d, i)) return false;
    d->program->places[d->program->code_count - 1].origin = simt_origin_of(d, &o[1]);
    i->b = b;
    i->c = c;
    i->extra = extra;
    i->mode = predicate;
    i->size = (uint8_t)size;
    i->d2 = d->program->cache_count++;
    return simt_emit_move(d, "+st.shared.u32_w_v", &to, F_STORE, slots, size / 4, PTX_SHARED);
}

/* The operation of cp.reduce.async.bulk, as an atomic has it. */
static bool read_reduction(struct decoder *d, const struct shape *s, struct insn *out)
{
    for (size_t k = 0; s->type_count == 1 && simt_bulk_operations[k]; k++) {
        if (!simt_has_word(s, simt_bulk_operations[k])) continue;
        out->type = (uint8_t)s->types[0];
        out->size = (uint8_t)ptx_type_size(s->types[0]);
        if (simt_op_atomic(simt_bulk_operations[k], s->types[0], false, &out->mode)) return true;
    }
    return simt_decode_unsupported(d);
}

/* cp.async.bulk.DESTINATION.SOURCE [d], [s], size {, [mbarrier] {, blocks}} {, policy} {, mask}; the same of
 * cp.reduce.async.bulk */
static bool decode_bulk(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    struct async_bulk x = {0};
    enum ptx_space spaces[2] = {PTX_GENERIC, PTX_GENERIC};
    int count = 0;
    if (simt_has_word(s, "prefetch")) return emit_nop(d, 0, 0);
    if (simt_has_word(s, "commit_group")) return emit_nop(d, COPY_BULK_COMMIT, 0);
    if (simt_has_word(s, "wait_group"))
        return simt_want_operands(d, 1, 1) &&
               emit_nop(d, simt_has_word(s, "read") ? COPY_BULK_WAIT_READ : COPY_BULK_WAIT, (uint32_t)o->imm);
    if (simt_has_word(s, "tensor")) return simt_decode_tensor(d, s);
    for (int k = 0; k < s->word_count && count < 2; k++) {
        bool shared = simt_is_shared_word(s->words[k]);
        if (shared || !strcmp(s->words[k], "global")) spaces[count++] = shared ? PTX_SHARED : PTX_GLOBAL;
    }
    bool barrier = simt_has_word(s, "mbarrier::complete_tx::bytes");
    bool masked = simt_has_word(s, "cp_mask"), reduces = !strcmp(d->in->opcode, "cp") && simt_has_word(s, "reduce");
    if (count < 2 || (masked && (barrier || reduces)) || barrier == simt_has_word(s, "bulk_group"))
        return simt_decode_unsupported(d);
    uint32_t a, b, c, extra, hint = simt_has_word(s, "L2::cache_hint");
    bool spreads = barrier && simt_has_word(s, "multicast::cluster");
    struct insn atomic = {0};
    if (reduces && !read_reduction(d, s, &atomic)) return false;
    if (!simt_want_operands(d, 3 + barrier + spreads + masked + hint, 6) ||
        !simt_whole_address(d, &o[0], spaces[0], &a) || !simt_whole_address(d, &o[1], spaces[1], &b) ||
        !simt_source(d, &o[2], 'w', PTX_U32, &c) ||
        (barrier && !simt_whole_address(d, &o[3], PTX_SHARED, &x.barrier)) ||
        (spreads && !simt_source(d, &o[4], 'w', PTX_U16, &x.ranks)) ||
        (masked && !simt_source(d, &o[3 + hint], 'w', PTX_U16, &x.mask)))
        return false;
    x.destination = spaces[0];
    x.source = spaces[1];
    d->program->maps_shared |= spreads;
    if (!simt_extra(d, (const uint32_t *)(const void *)&x, sizeof x / 4, &extra)) return false;
    struct insn *i = simt_emit_key(d, "+copy_bulk");
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->b = b;
    i->c = c;
    i->extra = extra;
    i->flags = F_STORE;
    i->type = atomic.type;
    i->size = atomic.size;
    i->mode = atomic.mode;
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_emit_complete(struct decoder *d, const struct ptx_operand *barrier, uint32_t bytes)
{
    uint32_t count;
    return simt_constant(d, bytes, 'w', &count) &&
           emit_mbarrier(d, barrier, PTX_SHARED, MBARRIER_COMPLETE, count, SLOT_NOWHERE);
}

bool simt_emit_arrival(struct decoder *d, const struct ptx_operand *barrier, bool shared, bool commit)
{
    uint32_t one;
    if (!simt_constant(d, 1, 'w', &one) ||
        !emit_mbarrier(d, barrier, shared ? PTX_SHARED : PTX_GENERIC, MBARRIER_ARRIVE, one, SLOT_NOWHERE))
        return false;
    if (commit) d->program->code[d->program->code_count - 1].flags |= F_COMMIT;
    return true;
}

/* st.bulk [address], bytes, 0 */
bool simt_decode_store_bulk(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    struct async_bulk x = {.destination = PTX_GENERIC, .source = BULK_ZEROS};
    for (int k = 0; k < s->word_count; k++)
        if (!strcmp(s->words[k], "shared::cta"))
            x.destination = PTX_SHARED;
        else if (strcmp(s->words[k], "bulk") && strcmp(s->words[k], "weak"))
            return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 3, 3)) return false;
    if (o[2].kind != PTX_OP_IMM || o[2].imm) return simt_decode_fail(d, RT_COMPILE, "st.bulk stores nothing but zeros");
    uint32_t a, c, wide, extra;
    bool narrow = simt_operand_class(d, &o[1]) == 'q';
    struct insn *i;
    if (!simt_whole_address(d, &o[0], (enum ptx_space)x.destination, &a) ||
        !simt_source(d, &o[1], narrow ? 'q' : 'w', PTX_U64, narrow ? &wide : &c))
        return false;
    if (narrow) {
        if (!simt_temp(d, 'w', &c) || !(i = simt_emit_key(d, "cvt.u32.u64"))) return false;
        i->a = wide;
        i->d = c;
    }
    if (!simt_extra(d, (const uint32_t *)(const void *)&x, sizeof x / 4, &extra) ||
        !simt_guard(d, i = simt_emit_key(d, "+copy_bulk")))
        return false;
    i->a = i->b = a;
    i->c = c;
    i->extra = extra;
    i->flags = F_STORE;
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_decode_cp(struct decoder *d, const struct shape *s)
{
    if (!simt_has_word(s, "async")) return simt_decode_unsupported(d);
    if (simt_has_word(s, "bulk")) return decode_bulk(d, s);
    if (simt_has_word(s, "reduce")) return simt_decode_unsupported(d);
    if (simt_has_word(s, "commit_group")) return emit_nop(d, COPY_COMMIT, 0);
    if (simt_has_word(s, "wait_all")) return emit_nop(d, COPY_WAIT_ALL, 0);
    if (simt_has_word(s, "wait_group"))
        return simt_want_operands(d, 1, 1) && emit_nop(d, COPY_WAIT, (uint32_t)d->in->operands[0].imm);
    if (!simt_has_word(s, "mbarrier")) return decode_copy(d, s);
    /* The arrival of this thread's copies, which are done: without .noinc it is expected by itself. */
    if (!emit_nop(d, COPY_WAIT_ALL, 0)) return false;
    if (!simt_has_word(s, "noinc")) return true;
    bool shared = false;
    for (int k = 0; k < s->word_count; k++) shared |= simt_is_shared_word(s->words[k]);
    return simt_want_operands(d, 1, 1) && simt_emit_arrival(d, d->in->operands, shared, false);
}
