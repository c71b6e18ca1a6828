/* What moves lanes about and lets them meet: branches, calls, barriers, and the exchanges between the lanes of a warp.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

/* ---- control ---- */
bool simt_decode_bra(struct decoder *d, const struct shape *s)
{
    (void)s;
    const struct ptx_operand *o = d->in->operands;
    if (!simt_want_operands(d, 1, 1)) return false;
    if (o->kind != PTX_OP_LABEL || o->imm < 0 || (size_t)o->imm > d->f->insn_count)
        return simt_decode_fail(d, RT_COMPILE, "bra: expected a label");
    struct insn *i = simt_emit(d, simt_op_bra);
    if (!simt_guard(d, i)) return false;
    i->target = (uint32_t)o->imm;
    return true;
}

bool simt_decode_brx(struct decoder *d, const struct shape *s)
{
    (void)s;
    struct simt_program *p = d->program;
    const struct ptx_operand *o = d->in->operands;
    if (!simt_want_operands(d, 2, 2)) return false;
    const struct ptx_targets *t = NULL;
    for (size_t k = 0; k < d->f->branch_table_count && o[1].symbol; k++)
        if (!strcmp(d->f->branch_tables[k].name, o[1].symbol)) t = &d->f->branch_tables[k];
    if (!t) return simt_decode_fail(d, RT_COMPILE, "brx.idx: expected the name of a list of targets");
    uint32_t a;
    if (!simt_source(d, &o[0], 'w', PTX_U32, &a)) return false;
    struct branch_table *tables = rt_realloc(p->tables, (p->table_count + 1) * sizeof *tables);
    if (tables) p->tables = tables;
    uint32_t *targets = rt_calloc(t->count + 1, sizeof *targets); /* one more: set once they are code addresses */
    if (!tables || !targets) {
        free(targets);
        return simt_decode_fail(d, RT_NOMEM, "out of memory for a list of branch targets");
    }
    for (size_t k = 0; k < t->count; k++) targets[k] = t->insns[k] <= d->f->insn_count ? (uint32_t)t->insns[k] : 0;
    p->tables[p->table_count++] = (struct branch_table){targets, (uint32_t)t->count};
    struct insn *i = simt_emit(d, simt_op_brx);
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->extra = p->table_count - 1;
    return true;
}

/* Between a register and the frame's local memory. */
static bool emit_frame_access(struct decoder *d, bool store, uint32_t offset, uint32_t size, uint32_t slot)
{
    char key[32];
    uint32_t zero;
    snprintf(key, sizeof key, "+%s.local.u%u_%c", store ? "st" : "ld", 8 * size, size == 8 ? 'q' : 'w');
    if (!simt_constant(d, 0, 'w', &zero)) return false;
    struct insn *i = simt_emit_key(d, key);
    if (!i || (d->in && !simt_guard(d, i))) return false;
    i->a = zero;
    i->imm = offset;
    i->d = slot;
    i->size = (uint8_t)size;
    i->type = size == 8 ? PTX_B64 : PTX_B32;
    i->flags = F_FRAME | F_UNIFORM | (store ? F_STORE : 0) | (size == 8 ? F_WIDE : 0);
    i->memory = store ? MEMORY_STORE : MEMORY_LOAD;
    i->space = PTX_LOCAL;
    i->d2 = d->program->cache_count++;
    return true;
}

static bool move_registers(struct decoder *d, const struct ptx_var *vars, size_t count, const uint32_t *offsets,
                           bool store)
{
    const struct ptx_func *f = d->f;
    for (size_t k = 0; k < count; k++) {
        size_t r = 0;
        if (vars[k].space != PTX_REG) continue;
        while (r < f->reg_count && strcmp(f->regs[r].name, vars[k].name)) r++;
        if (r < f->reg_count && !emit_frame_access(d, store, offsets[k], (uint32_t)vars[k].size, d->slots[r]))
            return false;
    }
    return true;
}

bool simt_take_parameters(struct decoder *d)
{
    d->in = NULL;
    return d->f->is_entry || move_registers(d, d->f->params, d->f->param_count, d->fn->param_offset, false);
}

bool simt_give_results(struct decoder *d)
{
    return move_registers(d, d->f->returns, d->f->return_count, d->fn->return_offset, true);
}

/* Offsets and sizes of what a call names: .param variables, else registers (or numbers, as arguments), which have a
 * place in the scratch memory. */
static bool read_arguments(struct decoder *d, const struct ptx_operand *list, uint32_t *scratch, bool store,
                           uint32_t **offsets, uint32_t **sizes, uint32_t *count)
{
    size_t n = list ? list->item_count : 0;
    *offsets = rt_calloc(2 * n + 1, sizeof **offsets);
    if (!*offsets) return simt_decode_fail(d, RT_NOMEM, "out of memory for a call");
    *sizes = *offsets + n;
    *count = (uint32_t)n;
    for (size_t k = 0; k < n; k++) {
        struct symbol s;
        const struct ptx_operand *o = &list->items[k];
        bool variable = o->kind == PTX_OP_SYMBOL && simt_find_symbol(d, o->symbol, &s) && s.frame;
        char class = simt_operand_class(d, o);
        if (!variable && !(class == 'w' || class == 'q' || (store && o->kind == PTX_OP_IMM)))
            return simt_decode_fail(d, RT_UNSUPPORTED, "call: expected .param variables, registers or numbers");
        (*offsets)[k] = variable ? (uint32_t)s.value : *scratch;
        (*sizes)[k] = variable ? (uint32_t)s.size : class ? (uint32_t)ptx_type_size(d->f->regs[o->reg].type) : 8;
        if (variable) continue;
        *scratch += 16;
        uint32_t slot;
        if (store && (!simt_source(d, o, class ? class : 'q', PTX_B64, &slot) ||
                      !emit_frame_access(d, true, (*offsets)[k], (*sizes)[k], slot)))
            return false;
    }
    return true;
}

/* After a call: what it gave, into registers. */
static bool take_results(struct decoder *d, const struct ptx_operand *list, const uint32_t *offsets,
                         const uint32_t *sizes)
{
    for (size_t k = 0; list && k < list->item_count; k++) {
        const struct ptx_operand *o = &list->items[k];
        char class = simt_operand_class(d, o);
        uint32_t slot;
        if (class &&
            (!simt_destination(d, o, class, &slot) || !emit_frame_access(d, false, offsets[k], sizes[k], slot)))
            return false;
    }
    return true;
}

static bool check_call(struct decoder *d, struct call_site *c)
{
    const struct ptx_func *f = c->function >= 0 ? &d->module->funcs[c->function] : NULL;
    if (!f) return true;
    /* Of texts that were linked, the one that calls may take a result where the other gives none: it is undefined. */
    if (f->return_count == 0 && c->return_count == f->declared_returns) c->return_count = 0;
    if (c->arg_count != f->param_count || c->return_count != f->return_count)
        return simt_decode_fail(d, RT_COMPILE, "call: %s has %zu parameters and %zu results, got %u and %u", f->name,
                                f->param_count, f->return_count, c->arg_count, c->return_count);
    return true;
}

static bool find_callee(struct decoder *d, const struct ptx_operand *o, struct call_site *c)
{
    c->function = -1;
    if (o->kind == PTX_OP_REG) return simt_source(d, o, 'q', PTX_U64, &c->target);
    if (o->kind != PTX_OP_SYMBOL) return simt_decode_fail(d, RT_COMPILE, "call: expected the name of a function");
    /* Since CUDA 12 __cudaCDP2LaunchDeviceV2 and the like. They have bodies where libcudadevrt is linked. */
    const char *plain = o->symbol + strspn(o->symbol, "_");
    if (!strncmp(plain, "cudaLaunchDevice", 16) || !strncmp(plain, "cudaGetParameterBuffer", 22) ||
        !strncmp(plain, "cudaCDP", 7))
        return simt_decode_fail(d, RT_UNSUPPORTED,
                                "the software GPU has no launches from within kernels (dynamic parallelism, %s); "
                                "launch the inner kernel from the host, or run this on a GPU",
                                o->symbol);
    for (size_t k = 0; k < d->module->func_count; k++)
        if (d->module->funcs[k].has_body && !d->module->funcs[k].is_entry &&
            !strcmp(d->module->funcs[k].name, o->symbol)) {
            c->function = (int)k;
            return true;
        }
    int builtin = simt_builtin_find(o->symbol);
    if (builtin < 0)
        return simt_decode_fail(d, RT_UNSUPPORTED,
                                "the software GPU has no function %s; it is declared but not defined", o->symbol);
    c->function = -2 - builtin;
    if (builtin == BUILTIN_MALLOC || builtin == BUILTIN_FREE) d->program->uses_heap = true;
    return true;
}

bool simt_decode_call(struct decoder *d, const struct shape *s)
{
    (void)s;
    struct simt_program *p = d->program;
    const struct ptx_operand *results = NULL, *callee = NULL, *arguments = NULL;
    for (size_t k = 0; k < d->in->operand_count; k++) {
        const struct ptx_operand *o = &d->in->operands[k];
        if (simt_is_vector(o) && !callee)
            results = o;
        else if (simt_is_vector(o))
            arguments = o;
        else if (!callee)
            callee = o;
    }
    if (!callee) return simt_decode_fail(d, RT_COMPILE, "call: expected the name of a function");
    struct call_site *calls = rt_realloc(p->calls, (p->call_count + 1) * sizeof *calls);
    if (!calls) return simt_decode_fail(d, RT_NOMEM, "out of memory for a call");
    p->calls = calls;
    struct call_site *c = &p->calls[p->call_count++];
    *c = (struct call_site){.function = -1};
    uint32_t scratch = d->scratch;
    if (!find_callee(d, callee, c) ||
        !read_arguments(d, arguments, &scratch, true, &c->arg_offset, &c->arg_size, &c->arg_count) ||
        !read_arguments(d, results, &scratch, false, &c->return_offset, &c->return_size, &c->return_count) ||
        !check_call(d, c))
        return false;
    uint32_t index = p->call_count - 1;
    struct insn *i = simt_emit(d, simt_op_call);
    if (!simt_guard(d, i)) return false;
    i->extra = index;
    return take_results(d, results, c->return_offset, c->return_size);
}

/* barrier.cluster.arrive, barrier.cluster.wait. */
static bool decode_cluster_barrier(struct decoder *d, const struct shape *s)
{
    bool arrive = simt_has_word(s, "arrive");
    if (!arrive && !simt_has_word(s, "wait")) return simt_decode_unsupported(d);
    if (!simt_want_operands(d, 0, 0)) return false;
    return simt_guard(d, simt_emit(d, arrive ? simt_op_cluster_arrive : simt_op_cluster_wait));
}

/* bar.sync a[, b], barrier.cta.arrive a, b, bar.red.op p, a[, b], [!]q, bar.warp.sync mask. */
bool simt_decode_barrier(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    size_t n = d->in->operand_count, first = 0;
    uint32_t slots[4] = {0}, id, count = 0, out = SLOT_SINK, in = SLOT_TRUE;
    if (simt_has_word(s, "cluster")) return decode_cluster_barrier(d, s);
    if (simt_has_word(s, "warp")) {
        if (!simt_want_operands(d, 1, 1) || !simt_source(d, &o[0], 'w', PTX_U32, &slots[0])) return false;
        struct insn *i = simt_emit_key(d, "+warp_sync");
        if (!simt_guard(d, i)) return false;
        i->a = slots[0];
        return true;
    }
    bool red = simt_has_word(s, "red"), arrive = simt_has_word(s, "arrive");
    int mode = !red                       ? (arrive ? BARRIER_ARRIVE : BARRIER_SYNC)
               : simt_has_word(s, "popc") ? BARRIER_POPC
               : simt_has_word(s, "and")  ? BARRIER_AND
                                          : BARRIER_OR;
    if (red) first = 1;
    size_t last = red ? n - 1 : n;
    if (n < first + 1 + red || last > first + 2) return simt_want_operands(d, first + 1 + red, first + 2 + red);
    if (!simt_source(d, &o[first], 'w', PTX_U32, &id)) return false;
    if (last > first + 1 && !simt_source(d, &o[first + 1], 'w', PTX_U32, &count)) return false;
    if (red && (!simt_source(d, &o[n - 1], 'p', PTX_PRED, &in) ||
                !simt_destination(d, &o[0], mode == BARRIER_POPC ? 'w' : 'p', &out)))
        return false;
    struct insn *i = simt_emit(d, simt_op_barrier);
    if (!simt_guard(d, i)) return false;
    i->a = id;
    i->b = count; /* 0: all threads of the block; slot 0 is no vector */
    i->c = in;
    i->d = out;
    i->mode = (uint8_t)mode;
    if (o[first].kind == PTX_OP_IMM) i->flags = F_UNIFORM;
    if (strcmp(d->in->opcode, "barrier") == 0 && !simt_has_word(s, "aligned")) i->flags |= F_UNALIGNED;
    return true;
}

/* shfl.sync.mode.b32 d[|p], a, b, c, mask. */
bool simt_decode_shfl(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    if (!simt_has_word(s, "sync") || s->type_count != 1 || simt_class_of(s->types[0]) != 'w' ||
        !simt_want_operands(d, 5, 5))
        return simt_decode_unsupported(d);
    uint32_t a, b, c, mask, out, p = SLOT_SINK;
    const struct ptx_operand *first = &o[0];
    if (o[0].kind == PTX_OP_PAIR && o[0].item_count == 2) {
        first = &o[0].items[0];
        if (!simt_destination(d, &o[0].items[1], 'p', &p)) return false;
    }
    if (!simt_source(d, &o[1], 'w', PTX_B32, &a) || !simt_source(d, &o[2], 'w', PTX_B32, &b) ||
        !simt_source(d, &o[3], 'w', PTX_B32, &c) || !simt_source(d, &o[4], 'w', PTX_B32, &mask) ||
        !simt_destination(d, first, 'w', &out))
        return false;
    struct insn *i = simt_emit_key(d, "+shfl");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->d2 = p;
    i->a = a;
    i->b = b;
    i->c = c;
    i->extra = mask;
    for (uint8_t k = 0; k < 4; k++)
        if (simt_has_word(s, modes[k])) i->mode = k;
    return true;
}

/* vote.sync.{all,any,uni}.pred p, q, mask; vote.sync.ballot.b32; match.{any,all}.sync; redux.sync. */
bool simt_decode_vote(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    bool ballot = simt_has_word(s, "ballot");
    int mode = ballot ? 0 : simt_has_word(s, "all") ? 1 : simt_has_word(s, "any") ? 2 : 3;
    uint32_t a, mask, out;
    if (!simt_has_word(s, "sync") || !simt_want_operands(d, 3, 3)) return simt_decode_unsupported(d);
    if (!simt_source(d, &o[1], 'p', PTX_PRED, &a) || !simt_source(d, &o[2], 'w', PTX_U32, &mask) ||
        !simt_destination(d, &o[0], ballot ? 'w' : 'p', &out))
        return false;
    struct insn *i = simt_emit_key(d, "+vote");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = a;
    i->extra = mask;
    i->mode = (uint8_t)mode;
    return true;
}

bool simt_decode_match(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands, *first = &o[0];
    if (!simt_has_word(s, "sync") || s->type_count != 1 || !simt_want_operands(d, 3, 3))
        return simt_decode_unsupported(d);
    char class = simt_class_of(s->types[0]);
    uint32_t a, mask, out, p = SLOT_SINK;
    if (o[0].kind == PTX_OP_PAIR && o[0].item_count == 2) {
        first = &o[0].items[0];
        if (!simt_destination(d, &o[0].items[1], 'p', &p)) return false;
    }
    if (!simt_source(d, &o[1], class, PTX_B32, &a) || !simt_source(d, &o[2], 'w', PTX_U32, &mask) ||
        !simt_destination(d, first, 'w', &out))
        return false;
    struct insn *i = simt_emit_key(d, class == 'q' ? "+match64" : "+match32");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->d2 = p;
    i->a = a;
    i->extra = mask;
    i->mode = simt_has_word(s, "all");
    return true;
}

bool simt_decode_redux(struct decoder *d, const struct shape *s)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
    const struct ptx_operand *o = d->in->operands;
    if (!simt_has_word(s, "sync") || s->type_count != 1 || simt_class_of(s->types[0]) != 'w' ||
        !simt_want_operands(d, 3, 3))
        return simt_decode_unsupported(d);
    bool real = s->types[0] == PTX_F32, abs = simt_has_word(s, "abs");
    if ((real && !simt_has_word(s, "min") && !simt_has_word(s, "max")) || (!real && abs) ||
        s->flags & ~(uint32_t)(real ? F_NAN : 0))
        return simt_decode_unsupported(d);
    uint32_t a, mask, out;
    if (!simt_source(d, &o[1], 'w', PTX_B32, &a) || !simt_source(d, &o[2], 'w', PTX_U32, &mask) ||
        !simt_destination(d, &o[0], 'w', &out))
        return false;
    struct insn *i = simt_emit_key(d, "+redux");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->a = a;
    i->extra = mask;
    i->type = (uint8_t)s->types[0];
    i->flags = s->flags;
    i->count = abs ? 2 : 1;
    for (uint8_t k = 0; k < 6; k++)
        if (simt_has_word(s, names[k])) i->mode = k;
    return true;
}

bool simt_decode_activemask(struct decoder *d, const struct shape *s)
{
    (void)s;
    uint32_t out;
    if (!simt_want_operands(d, 1, 1) || !simt_destination(d, &d->in->operands[0], 'w', &out)) return false;
    struct insn *i = simt_emit_key(d, "+activemask");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    return true;
}

/* elect.sync d|p, mask: one lane of the mask, the lowest. */
bool simt_decode_elect(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    uint32_t mask, out, p;
    if (!simt_has_word(s, "sync") || !simt_want_operands(d, 2, 2)) return simt_decode_unsupported(d);
    if (o[0].kind != PTX_OP_PAIR || o[0].item_count != 2)
        return simt_decode_fail(d, RT_COMPILE, "elect.sync: expected d|p as destination");
    if (!simt_source(d, &o[1], 'w', PTX_U32, &mask) || !simt_destination(d, &o[0].items[0], 'w', &out) ||
        !simt_destination(d, &o[0].items[1], 'p', &p))
        return false;
    struct insn *i = simt_emit_key(d, "+elect");
    if (!simt_guard(d, i)) return false;
    i->d = out;
    i->d2 = p;
    i->extra = mask;
    return true;
}

/* mapa d, a, rank and getctarank d, a. */
bool simt_decode_mapa(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    bool rank = d->in->opcode[0] == 'g';
    uint32_t a, b = 0, out;
    char class = s->type_count == 1 ? simt_class_of(s->types[0]) : 'p';
    if (class == 'p') return simt_decode_unsupported(d);
    if (!simt_want_operands(d, rank ? 2 : 3, rank ? 2 : 3) || !simt_source(d, &o[1], class, s->types[0], &a) ||
        (!rank && !simt_source(d, &o[2], 'w', PTX_U32, &b)) || !simt_destination(d, &o[0], rank ? 'w' : class, &out))
        return false;
    struct insn *i = simt_emit(d, rank ? simt_op_rank_of_shared : simt_op_map_shared);
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->b = b;
    i->d = out;
    i->size = class == 'q' ? 8 : 4;
    d->program->maps_shared |= !rank;
    return true;
}

/* alloca d, bytes[, alignment]; stacksave d; stackrestore a. */
bool simt_decode_stack(struct decoder *d, const struct shape *s)
{
    const struct ptx_operand *o = d->in->operands;
    bool allocates = d->in->opcode[0] == 'a', saves = !strcmp(d->in->opcode, "stacksave");
    uint32_t a = 0, out = 0;
    char class = s->type_count == 1 ? simt_class_of(s->types[0]) : 'p';
    if (class != 'w' && class != 'q') return simt_decode_unsupported(d);
    if (!simt_want_operands(d, allocates ? 2 : 1, allocates ? 3 : 1)) return false;
    int64_t align = d->in->operand_count == 3 ? o[2].imm : 8;
    if (align < 1 || align > ALLOCA_LOCAL || (align & (align - 1)))
        return simt_decode_fail(d, RT_COMPILE, "alloca: the alignment is no power of two up to %d", ALLOCA_LOCAL);
    if (!saves && !simt_source(d, &o[allocates], class, s->types[0], &a)) return false;
    if ((allocates || saves) && !simt_destination(d, &o[0], class, &out)) return false;
    struct insn *i = simt_emit(d, allocates ? simt_op_alloca : saves ? simt_op_stack_save : simt_op_stack_restore);
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->d = out;
    i->imm = align;
    i->size = class == 'q' ? 8 : 4;
    d->fn->calls_alloca |= allocates;
    d->program->uses_alloca |= allocates;
    return true;
}
