/* A plain interpreter of PTX for tests: one thread at a time over the parsed module, each value a 64-bit number,
 * integers by 128-bit and floats by soft arithmetic. It shares the parser with the software GPU and nothing else.
 *
 * A thread runs until it ends or has to wait: at a barrier for its block, at a .sync instruction for the lanes of its
 * mask. Blocks run one after the other. What threads may see of each other between barriers is therefore one order out
 * of many; programs whose results depend on it are no use here. Knows the instructions that simt_programs.h writes. */
#ifndef SIMT_REFERENCE_H
#define SIMT_REFERENCE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/simt_reference_ops.h"

enum { REF_MAX_THREADS = 1024, REF_SHARED_BYTES = 16384, REF_LOCAL_BYTES = 1024, REF_DEPTH = 8 };

struct ref_function {
    const struct ptx_func *f;
    struct ref_insn *insns;
    uint32_t *offset; /* of its variables, in shared or local memory: vars, then params, then returns */
    uint32_t local_bytes;
};
struct ref_frame {
    const struct ref_function *f;
    uint64_t *regs;
    size_t pc;
    uint32_t base; /* of its local memory */
};
struct ref_thread {
    struct ref_frame frames[REF_DEPTH];
    int depth;
    enum { REF_RUN, REF_BARRIER, REF_SYNC, REF_DONE } state;
    uint32_t tid[3], linear, mask;
    uint8_t local[REF_LOCAL_BYTES];
};
struct ref_memory { /* a piece of global memory */
    uint64_t address;
    size_t bytes;
    uint8_t *data;
};
struct ref_launch {
    const struct ptx_module *module;
    const struct ptx_func *entry;
    unsigned grid[3], block[3];
    const uint8_t *params; /* as the engine's: each aligned to its size */
    struct ref_memory *memory;
    size_t memory_count;
    long budget; /* instructions; when they are used up the run fails */
    /* What a thread's load gives, of what is there. Asked, too, where the guard of a load that may be made early tells
     * that nobody wants it (passed). NULL: what is there. */
    uint64_t (*loaded)(void *user, const struct ptx_insn *in, uint32_t thread, bool passed, uint64_t v);
    void *user;
};
struct ref_run {
    const struct ref_launch *launch;
    struct ref_function *functions;
    struct ref_thread *threads;
    uint32_t thread_count, ctaid[3];
    uint32_t shared_end;
    uint8_t shared[REF_SHARED_BYTES];
    long left;
    char error[256];
};

/* ---- reading a module ---- */
static inline void ref_place(uint32_t *end, const struct ptx_var *v, uint32_t *offset)
{
    uint32_t align = v->align ? v->align : 8;
    *end = (*end + align - 1) / align * align;
    *offset = *end;
    *end += (uint32_t)v->size;
}
static inline bool ref_read_function(struct ref_run *r, struct ref_function *g, const struct ptx_func *f)
{
    size_t n = f->var_count + f->param_count + f->return_count;
    uint32_t params = 0;
    g->f = f;
    g->insns = calloc(f->insn_count + 1, sizeof *g->insns);
    g->offset = calloc(n + 1, sizeof *g->offset);
    if (!g->insns || !g->offset) return false;
    for (size_t k = 0; k < f->insn_count; k++) ref_read_insn(&g->insns[k], &f->insns[k]);
    for (size_t k = 0; k < n; k++) {
        const struct ptx_var *v = k < f->var_count                    ? &f->vars[k]
                                  : k < f->var_count + f->param_count ? &f->params[k - f->var_count]
                                                                      : &f->returns[k - f->var_count - f->param_count];
        bool param = f->is_entry && k >= f->var_count;
        ref_place(v->space == PTX_SHARED ? &r->shared_end : param ? &params : &g->local_bytes, v, &g->offset[k]);
    }
    return r->shared_end <= REF_SHARED_BYTES;
}

/* ---- running ---- */
static inline bool ref_fail(struct ref_run *r, const struct ref_insn *i, const char *why)
{
    if (!r->error[0])
        snprintf(r->error, sizeof r->error, "line %d, %s: %s", i ? i->in->line : 0, i ? i->in->opcode : "", why);
    return false;
}
static inline struct ref_frame *ref_top_frame(struct ref_thread *t)
{
    return &t->frames[t->depth];
}
/* A variable's index in its function's offsets, or -1. */
static inline int ref_variable(const struct ref_function *g, const char *name, enum ptx_space *space)
{
    const struct ptx_func *f = g->f;
    for (size_t k = 0; k < f->var_count; k++)
        if (!strcmp(f->vars[k].name, name)) return *space = f->vars[k].space, (int)k;
    for (size_t k = 0; k < f->param_count; k++)
        if (!strcmp(f->params[k].name, name)) return *space = PTX_PARAM, (int)(f->var_count + k);
    for (size_t k = 0; k < f->return_count; k++)
        if (!strcmp(f->returns[k].name, name)) return *space = PTX_PARAM, (int)(f->var_count + f->param_count + k);
    return -1;
}
/* Address of a symbol within its space; frame-relative variables as this thread's. */
static inline bool ref_symbol(struct ref_run *r, struct ref_thread *t, const char *name, enum ptx_space *space,
                              uint64_t *address)
{
    const struct ref_frame *frame = ref_top_frame(t);
    int k = ref_variable(frame->f, name, space);
    if (k < 0) return ref_fail(r, NULL, name);
    bool own =
        *space == PTX_LOCAL || (*space == PTX_PARAM && !(frame->f->f->is_entry && (size_t)k >= frame->f->f->var_count));
    *address = frame->f->offset[k] + (own ? frame->base : 0);
    if (own) *space = PTX_LOCAL;
    return true;
}
static inline uint64_t ref_special(const struct ref_run *r, const struct ref_thread *t, const char *name)
{
    static const char *const vectors[] = {"tid.", "ntid.", "ctaid.", "nctaid."};
    if (*name == '%') name++;
    for (int k = 0; k < 4; k++) {
        size_t n = strlen(vectors[k]);
        int axis = !strncmp(name, vectors[k], n) ? name[n] - 'x' : -1;
        if (axis < 0 || axis > 2) continue;
        return k == 0   ? t->tid[axis]
               : k == 1 ? r->launch->block[axis]
               : k == 2 ? r->ctaid[axis]
                        : r->launch->grid[axis];
    }
    uint32_t lane = t->linear % 32;
    if (!strcmp(name, "laneid")) return lane;
    if (!strcmp(name, "warpid")) return t->linear / 32;
    if (!strcmp(name, "lanemask_lt")) return ((uint64_t)1 << lane) - 1;
    if (!strcmp(name, "lanemask_ge")) return (uint32_t) ~(((uint64_t)1 << lane) - 1);
    return 0;
}
static inline uint64_t ref_immediate(const struct ptx_operand *o, enum ptx_type type)
{
    if (o->imm_type == PTX_F64 && type == PTX_F32)
        return soft_convert(PTX_F32, PTX_F64, (uint64_t)o->imm, SOFT_RN, -1, false, false);
    if (o->imm_type == PTX_F32 && type == PTX_F64)
        return soft_convert(PTX_F64, PTX_F32, (uint64_t)o->imm, SOFT_RN, -1, false, false);
    return (uint64_t)o->imm;
}
static inline bool ref_source(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i,
                              const struct ptx_operand *o, uint64_t *v)
{
    enum ptx_space space;
    const struct ref_frame *f = ref_top_frame(t);
    switch (o->kind) {
    case PTX_OP_REG: *v = o->negate ? f->regs[o->reg] ^ 1 : f->regs[o->reg]; return true;
    case PTX_OP_IMM: *v = ref_immediate(o, i->from); return true;
    case PTX_OP_SPECIAL: *v = ref_special(r, t, o->symbol); return true;
    case PTX_OP_SYMBOL:
        if (!ref_symbol(r, t, o->symbol, &space, v)) return false;
        *v += (uint64_t)o->imm;
        return true;
    default: return ref_fail(r, i, "operand of a kind that the reference lacks");
    }
}
static inline void ref_write(struct ref_thread *t, const struct ptx_operand *o, uint64_t v)
{
    struct ref_frame *f = ref_top_frame(t);
    if (o->kind == PTX_OP_REG) f->regs[o->reg] = ref_low(v, ref_bits(f->f->f->regs[o->reg].type));
}

static inline uint8_t *ref_memory_at(struct ref_run *r, struct ref_thread *t, enum ptx_space space, uint64_t a,
                                     size_t n)
{
    if (space == PTX_GENERIC && a >= REF_LOCAL && a < REF_LOCAL + REF_LOCAL_BYTES) space = PTX_LOCAL, a -= REF_LOCAL;
    if (space == PTX_GENERIC && a >= REF_SHARED && a < REF_SHARED + REF_SHARED_BYTES)
        space = PTX_SHARED, a -= REF_SHARED;
    if (space == PTX_SHARED) return (uint32_t)a + n <= REF_SHARED_BYTES ? r->shared + (uint32_t)a : NULL;
    if (space == PTX_LOCAL) return (uint32_t)a + n <= REF_LOCAL_BYTES ? t->local + (uint32_t)a : NULL;
    for (size_t k = 0; k < r->launch->memory_count; k++) {
        const struct ref_memory *m = &r->launch->memory[k];
        if (a >= m->address && a - m->address < m->bytes && m->bytes - (a - m->address) >= n)
            return m->data + (a - m->address);
    }
    return NULL;
}
/* Where an access of n bytes goes, or NULL with the error set. Kernel parameters are read in place. */
static inline uint8_t *ref_address(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i,
                                   const struct ptx_operand *o, size_t n)
{
    uint64_t a = 0;
    enum ptx_space space = i->space, symbol_space;
    if (o->symbol) {
        if (!ref_symbol(r, t, o->symbol, &symbol_space, &a)) return NULL;
        space = symbol_space;
    } else if (o->reg >= 0) {
        a = ref_top_frame(t)->regs[o->reg];
    }
    a += (uint64_t)o->imm;
    if (space == PTX_PARAM) return (uint8_t *)(uintptr_t)(r->launch->params + a);
    uint8_t *p = ref_memory_at(r, t, space, a, n);
    if (!p) ref_fail(r, i, "access out of bounds");
    return p;
}
static inline bool ref_access(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i, bool store,
                              bool passed)
{
    const struct ref_launch *l = r->launch;
    const struct ptx_operand *address = &i->in->operands[store ? 0 : 1], *value = &i->in->operands[store ? 1 : 0];
    size_t n = ptx_type_size(i->type);
    uint8_t *p = ref_address(r, t, i, address, n * (size_t)i->count);
    if (!p) return false;
    for (int k = 0; k < i->count; k++, p += n) {
        const struct ptx_operand *o = i->count > 1 ? &value->items[k] : value;
        uint64_t v = 0;
        if (store) {
            if (!ref_source(r, t, i, o, &v)) return false;
            memcpy(p, &v, n);
        } else {
            memcpy(&v, p, n);
            if (l->loaded) v = l->loaded(l->user, i->in, t->linear, passed, v);
            ref_write(t, o, ref_signed(i->type) ? (uint64_t)ref_extend(v, i->type) : v);
        }
    }
    return true;
}
static inline bool ref_atomic(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i, bool result)
{
    const struct ptx_operand *o = i->in->operands;
    size_t n = ptx_type_size(i->type);
    uint64_t old = 0, b, now;
    uint8_t *p = ref_address(r, t, i, &o[result], n);
    if (!p || !ref_source(r, t, i, &o[result + 1], &b)) return false;
    memcpy(&old, p, n);
    ref_int x = ref_extend(old, i->type), y = ref_extend(b, i->type);
    const struct ptx_insn *in = i->in;
    now = ref_word(in, "add")    ? old + b
          : ref_word(in, "min")  ? (x < y ? old : b)
          : ref_word(in, "max")  ? (x > y ? old : b)
          : ref_word(in, "and")  ? old & b
          : ref_word(in, "or")   ? old | b
          : ref_word(in, "xor")  ? old ^ b
          : ref_word(in, "inc")  ? (old >= b ? 0 : old + 1)
          : ref_word(in, "exch") ? b
                                 : old;
    memcpy(p, &now, n);
    if (result) ref_write(t, &o[0], old);
    return true;
}

/* ---- control ---- */
static inline const struct ref_insn *ref_next(const struct ref_thread *t)
{
    const struct ref_frame *f = &t->frames[t->depth];
    return f->pc < f->f->f->insn_count ? &f->f->insns[f->pc] : NULL;
}
static inline bool ref_enter(struct ref_run *r, struct ref_thread *t, const struct ref_function *g)
{
    struct ref_frame *f = &t->frames[t->depth];
    uint32_t base = t->depth ? f[-1].base + (f[-1].f->local_bytes + 15) / 16 * 16 : 0;
    *f = (struct ref_frame){g, calloc(g->f->reg_count + 1, sizeof *f->regs), 0, base};
    if (!f->regs || base + g->local_bytes > REF_LOCAL_BYTES) return ref_fail(r, NULL, "no memory for a frame");
    return true;
}
/* Copies a call's arguments in, or its results out. */
static inline void ref_pass(struct ref_thread *t, const struct ptx_operand *list, const struct ref_frame *caller,
                            const struct ref_frame *callee, bool results)
{
    const struct ptx_func *f = callee->f->f;
    size_t first = f->var_count + (results ? f->param_count : 0);
    for (size_t k = 0; list && k < list->item_count; k++) {
        enum ptx_space space;
        int v = ref_variable(caller->f, list->items[k].symbol, &space);
        uint8_t *outer = t->local + caller->base + caller->f->offset[v];
        uint8_t *inner = t->local + callee->base + callee->f->offset[first + k];
        size_t n = (results ? f->returns : f->params)[k].size;
        memcpy(results ? outer : inner, results ? inner : outer, n);
    }
}
static inline void ref_call_operands(const struct ptx_insn *in, const struct ptx_operand **results,
                                     const struct ptx_operand **callee, const struct ptx_operand **arguments)
{
    *results = *callee = *arguments = NULL;
    for (size_t k = 0; k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        if (o->kind != PTX_OP_VECTOR && !*callee)
            *callee = o;
        else if (o->kind == PTX_OP_VECTOR)
            *(*callee ? arguments : results) = o;
    }
}
static inline bool ref_call(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i)
{
    const struct ptx_operand *results, *callee, *arguments;
    ref_call_operands(i->in, &results, &callee, &arguments);
    const struct ptx_module *m = r->launch->module;
    for (size_t k = 0; k < m->func_count; k++) {
        if (!m->funcs[k].has_body || strcmp(m->funcs[k].name, callee->symbol)) continue;
        if (++t->depth == REF_DEPTH) return ref_fail(r, i, "calls nest too deeply");
        if (!ref_enter(r, t, &r->functions[k])) return false;
        ref_pass(t, arguments, &t->frames[t->depth - 1], &t->frames[t->depth], false);
        return true;
    }
    return ref_fail(r, i, "no such function");
}
static inline void ref_return(struct ref_thread *t)
{
    struct ref_frame *f = ref_top_frame(t);
    if (t->depth) {
        const struct ptx_operand *results, *callee, *arguments;
        ref_call_operands(f[-1].f->insns[f[-1].pc].in, &results, &callee, &arguments);
        ref_pass(t, results, f - 1, f, true);
        t->depth--;
        f[-1].pc++;
    } else {
        t->state = REF_DONE;
    }
    free(f->regs);
    f->regs = NULL;
}
static inline bool ref_is_sync(const struct ptx_insn *in)
{
    return ref_word(in, "sync") &&
           (!strcmp(in->opcode, "shfl") || !strcmp(in->opcode, "vote") || !strcmp(in->opcode, "match") ||
            !strcmp(in->opcode, "redux") || ref_word(in, "warp"));
}
static inline bool ref_compute(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i)
{
    const struct ptx_operand *o = i->in->operands, *pair = o[0].kind == PTX_OP_PAIR ? o[0].items : NULL;
    uint64_t s[4] = {0}, c = 1, v, other;
    bool set = !strcmp(i->in->opcode, "setp");
    size_t sources = set ? 2 : i->in->operand_count - 1;
    if (o[0].kind == PTX_OP_VECTOR) { /* mov {a, b}, c */
        if (!ref_source(r, t, i, &o[1], &v)) return false;
        for (size_t k = 0; k < o[0].item_count; k++)
            ref_write(t, &o[0].items[k], v >> k * (size_t)ref_bits(i->type) / o[0].item_count);
        return true;
    }
    if (o[1].kind == PTX_OP_VECTOR) {
        for (size_t k = 0; k < o[1].item_count; k++) {
            if (!ref_source(r, t, i, &o[1].items[k], &v)) return false;
            s[0] |= ref_low(v, ref_bits(i->type) / (int)o[1].item_count)
                    << k * (size_t)ref_bits(i->type) / o[1].item_count;
        }
        ref_write(t, &o[0], s[0]);
        return true;
    }
    for (size_t k = 0; k < sources && k < 4; k++)
        if (!ref_source(r, t, i, &o[k + 1], &s[k])) return false;
    v = i->op->f(i, s);
    if (set) {
        if (i->combine && !ref_source(r, t, i, &o[3], &c)) return false;
        other = !v;
        for (uint64_t *p = &v; i->combine && p; p = p == &v ? &other : NULL)
            *p = i->combine[0] == 'a' ? *p & c : i->combine[0] == 'o' ? *p | c : *p ^ c;
        if (pair) ref_write(t, &pair[1], other & 1);
    }
    ref_write(t, pair ? &pair[0] : &o[0], v);
    return true;
}

/* Runs a thread until it waits or ends. False on an error. */
static inline bool ref_run_thread(struct ref_run *r, struct ref_thread *t)
{
    while (t->state == REF_RUN) {
        struct ref_frame *f = ref_top_frame(t);
        const struct ref_insn *i = ref_next(t);
        if (--r->left < 0) return ref_fail(r, i, "too many instructions");
        if (!i) {
            ref_return(t);
            continue;
        }
        const struct ptx_insn *in = i->in;
        const char *op = in->opcode;
        uint64_t mask;
        if (in->guard >= 0 && (f->regs[in->guard] & 1) == in->guard_negate) {
            if (in->is_eager && r->launch->loaded && !ref_access(r, t, i, false, true)) return false;
            f->pc++;
        } else if (ref_is_sync(in)) {
            if (!ref_source(r, t, i, &in->operands[in->operand_count - 1], &mask)) return false;
            t->mask = (uint32_t)mask;
            t->state = REF_SYNC;
        } else if (!strcmp(op, "bar") || !strcmp(op, "barrier")) {
            t->state = REF_BARRIER;
        } else if (!strcmp(op, "bra")) {
            f->pc = (size_t)in->operands[0].imm;
        } else if (!strcmp(op, "brx")) {
            const struct ptx_targets *b = f->f->f->branch_tables;
            while (strcmp(b->name, in->operands[1].symbol)) b++;
            uint64_t k = f->regs[in->operands[0].reg];
            if (k >= b->count) return ref_fail(r, i, "index past the list of targets");
            f->pc = b->insns[k];
        } else if (!strcmp(op, "exit") || (!strcmp(op, "ret") && !t->depth)) {
            while (t->depth) free(t->frames[t->depth--].regs);
            ref_return(t);
        } else if (!strcmp(op, "ret")) {
            ref_return(t);
        } else if (!strcmp(op, "call")) {
            if (!ref_call(r, t, i)) return false;
        } else {
            bool good = !strcmp(op, "ld") || !strcmp(op, "st")      ? ref_access(r, t, i, op[0] == 's', false)
                        : !strcmp(op, "atom") || !strcmp(op, "red") ? ref_atomic(r, t, i, op[0] == 'a')
                        : !strcmp(op, "membar")                     ? true /* a thread runs by itself */
                        : i->op                                     ? ref_compute(r, t, i)
                                                                    : ref_fail(r, i, "unknown to the reference");
            if (!good) return false;
            f->pc++;
        }
    }
    return true;
}

/* ---- lanes together ---- */
static inline uint32_t ref_shuffle_source(const struct ref_insn *i, uint32_t lane, uint32_t b, uint32_t c, bool *inside)
{
    uint32_t segment = c >> 8 & 31, clamp = c & 31, by = b & 31;
    uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int j = ref_word(i->in, "up")     ? (int)lane - (int)by
            : ref_word(i->in, "down") ? (int)(lane + by)
            : ref_word(i->in, "bfly") ? (int)(lane ^ by)
                                      : (int)(least | (by & ~segment));
    *inside = ref_word(i->in, "up") ? j >= (int)most : j <= (int)most;
    return *inside ? (uint32_t)j & 31 : lane;
}
/* The instruction at which the lanes of `group` stand, each written its result. */
static inline bool ref_together(struct ref_run *r, struct ref_thread *warp, uint32_t group)
{
    uint64_t in[32][4] = {{0}};
    const struct ref_insn *i = NULL;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(group >> l & 1)) continue;
        i = ref_next(&warp[l]);
        for (size_t k = ref_word(i->in, "warp") ? 0 : 1; k < i->in->operand_count && k < 5; k++)
            if (k && !ref_source(r, &warp[l], i, &i->in->operands[k], &in[l][k - 1])) return false;
    }
    for (uint32_t l = 0; l < 32; l++) {
        if (!(group >> l & 1)) continue;
        const struct ptx_operand *d = &i->in->operands[0], *pair = d->kind == PTX_OP_PAIR ? d->items : NULL;
        uint64_t v = 0, first = in[__builtin_ctz(group)][0];
        bool p = true;
        uint32_t yes = 0, same = 0;
        for (uint32_t k = 0; k < 32; k++)
            if (group >> k & 1) yes |= (uint32_t)(in[k][0] & 1) << k, same |= (uint32_t)(in[k][0] == in[l][0]) << k;
        if (!strcmp(i->in->opcode, "shfl")) {
            uint32_t from = ref_shuffle_source(i, l, (uint32_t)in[l][1], (uint32_t)in[l][2], &p);
            bool exists = warp[l].linear / 32 * 32 + from < r->thread_count; /* else it gives 0 */
            v = in[group >> from & 1 || !exists ? from : l][0];
        } else if (!strcmp(i->in->opcode, "vote")) {
            v = ref_word(i->in, "ballot") ? yes
                : ref_word(i->in, "all")  ? yes == group
                : ref_word(i->in, "any")  ? yes != 0
                                          : yes == group || !yes;
        } else if (!strcmp(i->in->opcode, "match")) {
            p = same == group;
            v = ref_word(i->in, "any") ? same : p ? group : 0;
        } else if (!strcmp(i->in->opcode, "redux")) {
            v = first;
            for (uint32_t k = (uint32_t)__builtin_ctz(group) + 1; k < 32; k++) {
                if (!(group >> k & 1)) continue;
                ref_int x = ref_extend(v, i->type), y = ref_extend(in[k][0], i->type);
                v = ref_word(i->in, "add")   ? v + in[k][0]
                    : ref_word(i->in, "min") ? (uint64_t)(x < y ? x : y)
                    : ref_word(i->in, "max") ? (uint64_t)(x > y ? x : y)
                    : ref_word(i->in, "and") ? v & in[k][0]
                    : ref_word(i->in, "or")  ? v | in[k][0]
                                             : v ^ in[k][0];
            }
        }
        if (pair) ref_write(&warp[l], &pair[1], p);
        if (!ref_word(i->in, "warp")) ref_write(&warp[l], pair ? &pair[0] : d, v);
    }
    for (uint32_t l = 0; l < 32; l++)
        if (group >> l & 1) ref_top_frame(&warp[l])->pc++, warp[l].state = REF_RUN;
    return true;
}
/* Lets a group of lanes whose mask is complete go on. 1 when there was one, 0 when not, -1 on an error. */
static inline int ref_release_lanes(struct ref_run *r)
{
    for (uint32_t n = 0; n < r->thread_count; n++) {
        struct ref_thread *t = &r->threads[n], *warp = t - t->linear % 32;
        uint32_t group = 0;
        bool complete = t->state == REF_SYNC;
        for (uint32_t l = 0; complete && l < 32; l++) {
            bool there = t->linear / 32 * 32 + l < r->thread_count && warp[l].state != REF_DONE;
            if (!there || !(t->mask >> l & 1)) continue;
            complete = warp[l].state == REF_SYNC && warp[l].mask == t->mask && ref_next(&warp[l]) == ref_next(t);
            group |= 1u << l;
        }
        if (complete) return ref_together(r, warp, group) ? 1 : -1;
    }
    return 0;
}
/* When all threads that go on stand at a barrier: lets them go. */
static inline int ref_release_block(struct ref_run *r)
{
    uint64_t count = 0, total = 0, v;
    for (uint32_t n = 0; n < r->thread_count; n++) {
        struct ref_thread *t = &r->threads[n];
        if (t->state == REF_DONE) continue;
        if (t->state != REF_BARRIER) return 0;
        const struct ref_insn *i = ref_next(t);
        total++;
        if (!ref_word(i->in, "red")) continue;
        if (!ref_source(r, t, i, &i->in->operands[i->in->operand_count - 1], &v)) return -1;
        count += v & 1;
    }
    for (uint32_t n = 0; n < r->thread_count; n++) {
        struct ref_thread *t = &r->threads[n];
        if (t->state == REF_DONE) continue;
        const struct ref_insn *i = ref_next(t);
        if (ref_word(i->in, "red"))
            ref_write(t, &i->in->operands[0],
                      ref_word(i->in, "popc")  ? count
                      : ref_word(i->in, "and") ? count == total
                                               : count != 0);
        ref_top_frame(t)->pc++;
        t->state = REF_RUN;
    }
    return total != 0;
}
static inline bool ref_run_block(struct ref_run *r, const struct ref_function *entry)
{
    memset(r->shared, 0, sizeof r->shared);
    for (uint32_t n = 0; n < r->thread_count; n++) {
        struct ref_thread *t = &r->threads[n];
        const unsigned *b = r->launch->block;
        memset(t, 0, sizeof *t);
        t->linear = n;
        t->tid[0] = n % b[0], t->tid[1] = n / b[0] % b[1], t->tid[2] = n / b[0] / b[1];
        if (!ref_enter(r, t, entry)) return false;
    }
    for (;;) {
        bool live = false;
        for (uint32_t n = 0; n < r->thread_count; n++) {
            if (!ref_run_thread(r, &r->threads[n])) return false;
            live |= r->threads[n].state != REF_DONE;
        }
        if (!live) return true;
        int released = ref_release_lanes(r);
        while (released > 0 && ref_release_lanes(r) > 0) continue;
        if (!released) released = ref_release_block(r);
        if (released <= 0) return ref_fail(r, NULL, "the threads wait for ever");
    }
}

/* Runs a grid. False: `error` says why. */
static inline bool ref_run_grid(const struct ref_launch *l, char *error, size_t size)
{
    struct ref_run *r = calloc(1, sizeof *r);
    const struct ref_function *entry = NULL;
    bool good = r != NULL;
    if (!r) return false;
    r->launch = l;
    r->left = l->budget;
    r->thread_count = l->block[0] * l->block[1] * l->block[2];
    r->functions = calloc(l->module->func_count, sizeof *r->functions);
    r->threads = calloc(r->thread_count + 32, sizeof *r->threads);
    for (size_t k = 0; good && k < l->module->func_count; k++) {
        good = ref_read_function(r, &r->functions[k], &l->module->funcs[k]);
        if (&l->module->funcs[k] == l->entry) entry = &r->functions[k];
    }
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    for (uint64_t b = 0; good && entry && b < blocks; b++) {
        r->ctaid[0] = (uint32_t)(b % l->grid[0]);
        r->ctaid[1] = (uint32_t)(b / l->grid[0] % l->grid[1]);
        r->ctaid[2] = (uint32_t)(b / l->grid[0] / l->grid[1]);
        good = ref_run_block(r, entry);
    }
    snprintf(error, size, "%s", r->error);
    for (uint32_t n = 0; n < r->thread_count; n++)
        for (int d = 0; d <= r->threads[n].depth; d++) free(r->threads[n].frames[d].regs);
    for (size_t k = 0; k < l->module->func_count; k++) free(r->functions[k].insns), free(r->functions[k].offset);
    free(r->functions);
    free(r->threads);
    free(r);
    return good && entry;
}

#endif
