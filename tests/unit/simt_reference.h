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
#include "runtime/simt/ptx.h"
#include "tests/unit/soft_float.h"

typedef __int128 ref_int;
#define REF_SHARED 0x0100000000000000u /* generic addresses of the windows: this interpreter's own */
#define REF_LOCAL  0x0200000000000000u
enum { REF_MAX_THREADS = 1024, REF_SHARED_BYTES = 16384, REF_LOCAL_BYTES = 1024, REF_DEPTH = 8 };

struct ref_op;
struct ref_insn {
    const struct ptx_insn *in;
    const struct ref_op *op;
    enum ptx_type type, from; /* the last two types: of the instruction, and of a conversion's source */
    enum soft_mode mode;
    int integral; /* cvt to whole numbers: a soft_mode, or -1 */
    bool ftz, sat, hi, shifted;
    enum ptx_space space;
    int count; /* v2, v4 */
    const char *compare, *combine, *word;
};
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

/* ---- values ---- */
static inline int ref_bits(enum ptx_type t)
{
    return t == PTX_PRED ? 1 : 8 * (int)ptx_type_size(t);
}
static inline bool ref_signed(enum ptx_type t)
{
    return t >= PTX_S8 && t <= PTX_S64;
}
static inline bool ref_float(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}
static inline struct soft_format ref_format(enum ptx_type t)
{
    return t == PTX_F16 ? soft_f16 : t == PTX_BF16 ? soft_bf16 : t == PTX_F64 ? soft_f64 : soft_f32;
}
static inline uint64_t ref_low(uint64_t v, int bits)
{
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}
static inline ref_int ref_extend(uint64_t v, enum ptx_type t)
{
    int bits = ref_bits(t);
    v = ref_low(v, bits);
    return ref_signed(t) && v >> (bits - 1) ? (ref_int)v - ((ref_int)1 << bits) : (ref_int)v;
}

/* cvt, of every pair of integers and floats. `integral` is a rounding mode to whole numbers or -1. */
static inline uint64_t soft_convert(enum ptx_type to, enum ptx_type from, uint64_t bits, enum soft_mode mode,
                                    int integral, bool ftz, bool sat)
{
    int width = ref_bits(to);
    ref_int most = ((ref_int)1 << (width - ref_signed(to))) - 1, least = ref_signed(to) ? -most - 1 : 0;
    if (!ref_float(from) && !ref_float(to)) {
        ref_int v = ref_extend(bits, from);
        return ref_low((uint64_t)(!sat ? v : v > most ? most : v < least ? least : v), width);
    }
    struct soft s;
    if (!ref_float(from)) {
        s = soft_of_int(ref_extend(bits, from));
    } else {
        bits = ref_low(bits, ref_bits(from));
        s = soft_unpack(ref_format(from), ftz && from == PTX_F32 ? soft_flush(soft_f32, bits) : bits);
    }
    if (!ref_float(to)) {
        if (s.kind == SOFT_NAN) return from != PTX_F64 && width != 64 ? 0 : (uint64_t)1 << (width - 1);
        ref_int v = soft_to_int(s, (enum soft_mode)integral);
        return ref_low((uint64_t)(v > most ? most : v < least ? least : v), width);
    }
    if (integral >= 0 && s.kind == SOFT_FINITE) {
        bool negative = s.negative;
        if (s.exponent < 0) s = soft_of_int(soft_to_int(s, (enum soft_mode)integral));
        s.negative = negative;
    }
    uint64_t r = soft_pack(ref_format(to), s, mode);
    if (ftz && to == PTX_F32) r = soft_flush(soft_f32, r);
    return sat ? soft_saturate(ref_format(to), r) : r;
}

/* ---- instructions that compute: s are the sources as raw bits ---- */
struct ref_op {
    const char *name;
    uint64_t (*f)(const struct ref_insn *i, const uint64_t *s);
};
#define REF_X ref_extend(s[0], i->type)
#define REF_Y ref_extend(s[1], i->type)
#define REF_OP(name, expr)                                                                                             \
    static inline uint64_t ref_##name(const struct ref_insn *i, const uint64_t *s)                                     \
    {                                                                                                                  \
        (void)i;                                                                                                       \
        return (uint64_t)(expr);                                                                                       \
    }
static inline ref_int ref_clamp(const struct ref_insn *i, ref_int v)
{
    ref_int most = ((ref_int)1 << (ref_bits(i->type) - 1)) - 1;
    return !i->sat ? v : v > most ? most : v < -most - 1 ? -most - 1 : v;
}
static inline struct soft ref_soft(const struct ref_insn *i, uint64_t v)
{
    struct soft_format f = ref_format(i->type);
    v = ref_low(v, f.width);
    return soft_unpack(f, i->ftz ? soft_flush(f, v) : v);
}
static inline uint64_t ref_result(const struct ref_insn *i, struct soft s)
{
    struct soft_format f = ref_format(i->type);
    uint64_t r = soft_pack(f, s, i->mode);
    if (i->ftz) r = soft_flush(f, r);
    return i->sat ? soft_saturate(f, r) : r;
}
static inline struct soft ref_minus(struct soft s)
{
    s.negative = !s.negative;
    return s;
}
static inline ref_int ref_product(const struct ref_insn *i, const uint64_t *s)
{
    ref_int p = (ref_int)((soft_bits)REF_X * (soft_bits)REF_Y);
    int bits = ref_bits(i->type);
    return !i->hi ? p : ref_signed(i->type) ? p >> bits : (ref_int)((soft_bits)p >> bits);
}
static inline int ref_shift(const struct ref_insn *i, uint64_t n)
{
    n = ref_low(n, 32);
    return n > (uint64_t)ref_bits(i->type) ? ref_bits(i->type) : (int)n;
}
static inline int ref_top(uint64_t v)
{
    return v ? 63 - __builtin_clzll(v) : -1;
}
static inline uint64_t ref_field(const struct ref_insn *i, uint64_t x, uint64_t pos, uint64_t len)
{
    int bits = ref_bits(i->type);
    uint64_t p = pos & 255, n = len & 255, d = 0, top = p + n - 1 < (uint64_t)bits ? p + n - 1 : (uint64_t)bits - 1;
    bool sign = ref_signed(i->type) && n && (x >> top & 1);
    for (uint64_t k = 0; k < (uint64_t)bits; k++)
        d |= (k < n && k + p < (uint64_t)bits ? x >> (k + p) & 1 : (uint64_t)sign) << k;
    return d;
}
static inline uint64_t ref_insert(const struct ref_insn *i, uint64_t x, uint64_t into, uint64_t pos, uint64_t len)
{
    for (uint64_t k = 0, p = pos & 255; k < (len & 255) && k + p < (uint64_t)ref_bits(i->type); k++)
        into = (into & ~((uint64_t)1 << (k + p))) | (x >> k & 1) << (k + p);
    return into;
}
static inline uint64_t ref_logic(const uint64_t *s)
{
    uint64_t r = 0;
    for (int k = 0; k < 32; k++) r |= (s[3] >> ((s[0] >> k & 1) * 4 + (s[1] >> k & 1) * 2 + (s[2] >> k & 1)) & 1) << k;
    return r;
}
static inline uint64_t ref_permute(const uint64_t *s)
{
    uint64_t r = 0, bytes = (s[1] << 32) | (uint32_t)s[0];
    for (int k = 0; k < 4; k++) {
        uint64_t n = s[2] >> 4 * k & 15, b = bytes >> 8 * (n & 7) & 255;
        r |= (n & 8 ? (b >> 7) * 255 : b) << 8 * k;
    }
    return r;
}
static inline uint64_t ref_funnel(const struct ref_insn *i, const uint64_t *s)
{
    uint32_t n = (uint32_t)s[2];
    soft_bits v = (soft_bits)(uint32_t)s[1] << 32 | (uint32_t)s[0];
    n = i->shifted ? n & 31 : n > 32 ? 32 : n; /* .wrap or .clamp */
    return (uint32_t)(i->combine ? v << n >> 32 : v >> n);
}
/* A comparison of the type's values. */
static inline bool ref_compare(const struct ref_insn *i, uint64_t a, uint64_t b)
{
    const char *c = i->compare;
    ref_int x = ref_extend(a, i->type), y = ref_extend(b, i->type);
    int order = ref_float(i->type) ? soft_compare(ref_soft(i, a), ref_soft(i, b)) : x < y ? -1 : x > y;
    if (!strcmp(c, "num")) return order != 2;
    if (!strcmp(c, "nan")) return order == 2;
    if (order == 2) return strlen(c) == 3; /* equ, neu, ltu and so on hold for NaN */
    return !strncmp(c, "eq", 2)                       ? order == 0
           : !strncmp(c, "ne", 2)                     ? order != 0
           : !strncmp(c, "lt", 2) || !strcmp(c, "lo") ? order < 0
           : !strncmp(c, "le", 2) || !strcmp(c, "ls") ? order <= 0
           : !strncmp(c, "gt", 2) || !strcmp(c, "hi") ? order > 0
                                                      : order >= 0;
}
REF_OP(mov, s[0])
REF_OP(add, ref_float(i->type) ? (ref_int)ref_result(i, soft_add(ref_soft(i, s[0]), ref_soft(i, s[1]), i->mode))
                               : ref_clamp(i, REF_X + REF_Y))
REF_OP(sub, ref_float(i->type)
                ? (ref_int)ref_result(i, soft_add(ref_soft(i, s[0]), ref_minus(ref_soft(i, s[1])), i->mode))
                : ref_clamp(i, REF_X - REF_Y))
REF_OP(mul, ref_float(i->type) ? (ref_int)ref_result(i, soft_multiply(ref_soft(i, s[0]), ref_soft(i, s[1])))
                               : ref_product(i, s))
REF_OP(mad, ref_product(i, s) + (ref_int)s[2])
REF_OP(fma, ref_result(i, soft_add(soft_multiply(ref_soft(i, s[0]), ref_soft(i, s[1])), ref_soft(i, s[2]), i->mode)))
REF_OP(div, ref_float(i->type) ? (ref_int)ref_result(i, soft_divide(ref_soft(i, s[0]), ref_soft(i, s[1])))
            : REF_Y == 0       ? -1
                               : REF_X / REF_Y)
REF_OP(rem, REF_Y == 0 ? REF_X : REF_X % REF_Y)
REF_OP(sqrt, ref_result(i, soft_root(ref_soft(i, s[0]))))
REF_OP(rcp, ref_result(i, soft_divide(soft_of_int(1), ref_soft(i, s[0]))))
REF_OP(sad, (REF_X < REF_Y ? REF_Y - REF_X : REF_X - REF_Y) + (ref_int)s[2])
REF_OP(min, ref_float(i->type) ? (ref_int)soft_extreme(ref_format(i->type), s[0], s[1], false, false)
            : REF_X < REF_Y    ? REF_X
                               : REF_Y)
REF_OP(max, ref_float(i->type) ? (ref_int)soft_extreme(ref_format(i->type), s[0], s[1], true, false)
            : REF_X > REF_Y    ? REF_X
                               : REF_Y)
REF_OP(neg, ref_float(i->type) ? s[0] ^ (uint64_t)1 << (ref_bits(i->type) - 1) : -s[0])
REF_OP(abs, ref_float(i->type) ? s[0] & (((uint64_t)1 << (ref_bits(i->type) - 1)) - 1)
                               : (uint64_t)(REF_X < 0 ? -REF_X : REF_X))
REF_OP(and, s[0] & s[1])
REF_OP(or, s[0] | s[1])
REF_OP(xor, s[0] ^ s[1])
REF_OP(not, ~s[0])
REF_OP(shl, (soft_bits)s[0] << ref_shift(i, s[1]))
REF_OP(shr, REF_X >> ref_shift(i, s[1]))
REF_OP(selp, s[2] & 1 ? s[0] : s[1])
REF_OP(popc, __builtin_popcountll(ref_low(s[0], ref_bits(i->type))))
REF_OP(clz, ref_bits(i->type) - 1 - ref_top(ref_low(s[0], ref_bits(i->type))))
REF_OP(brev, ({
           uint64_t r = 0;
           for (int k = 0; k < ref_bits(i->type); k++) r = r << 1 | (s[0] >> k & 1);
           r;
       }))
REF_OP(bfind, ref_top(ref_low((uint64_t)(REF_X < 0 ? ~REF_X : REF_X), ref_bits(i->type))))
REF_OP(bfe, ref_field(i, s[0], s[1], s[2]))
REF_OP(bfi, ref_insert(i, s[0], s[1], s[2], s[3]))
REF_OP(lop3, ref_logic(s))
REF_OP(prmt, ref_permute(s))
REF_OP(shf, ref_funnel(i, s))
static inline uint64_t ref_conversion(const struct ref_insn *i, uint64_t v)
{
    uint64_t r = soft_convert(i->type, i->from, v, i->mode, i->integral, i->ftz, i->sat);
    return ref_float(i->type) ? r : (uint64_t)ref_extend(r, i->type); /* registers may be wider */
}
REF_OP(cvt, ref_conversion(i, s[0]))
REF_OP(cvta, i->combine ? s[0] - (i->space == PTX_SHARED  ? REF_SHARED
                                  : i->space == PTX_LOCAL ? REF_LOCAL
                                                          : 0)
                        : s[0] + (i->space == PTX_SHARED  ? REF_SHARED
                                  : i->space == PTX_LOCAL ? REF_LOCAL
                                                          : 0))
REF_OP(set, ref_compare(i, s[0], s[1]))

static const struct ref_op ref_ops[] = {
    {"mov", ref_mov},     {"add", ref_add},   {"sub", ref_sub},   {"mul", ref_mul},   {"mad", ref_mad},
    {"fma", ref_fma},     {"div", ref_div},   {"rem", ref_rem},   {"sqrt", ref_sqrt}, {"rcp", ref_rcp},
    {"sad", ref_sad},     {"min", ref_min},   {"max", ref_max},   {"neg", ref_neg},   {"abs", ref_abs},
    {"and", ref_and},     {"or", ref_or},     {"xor", ref_xor},   {"not", ref_not},   {"shl", ref_shl},
    {"shr", ref_shr},     {"selp", ref_selp}, {"popc", ref_popc}, {"clz", ref_clz},   {"brev", ref_brev},
    {"bfind", ref_bfind}, {"bfe", ref_bfe},   {"bfi", ref_bfi},   {"lop3", ref_lop3}, {"prmt", ref_prmt},
    {"shf", ref_shf},     {"cvt", ref_cvt},   {"cvta", ref_cvta}, {"setp", ref_set},
};

/* ---- reading a module ---- */
static inline bool ref_word(const struct ptx_insn *in, const char *word)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strcmp(in->mods[k], word)) return true;
    return false;
}
static inline void ref_read_word(struct ref_insn *i, const char *w)
{
    static const char *const compares = " eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ";
    static const struct {
        const char *name;
        int mode;
        bool integral;
    } modes[] = {{"rn", SOFT_RN, false}, {"rz", SOFT_RZ, false}, {"rm", SOFT_RM, false}, {"rp", SOFT_RP, false},
                 {"rni", SOFT_RN, true}, {"rzi", SOFT_RZ, true}, {"rmi", SOFT_RM, true}, {"rpi", SOFT_RP, true}};
    static const char *const spaces[] = {"generic", "reg", "param", "global", "const", "shared", "local"};
    char spaced[16];
    snprintf(spaced, sizeof spaced, " %.8s ", w);
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (!strcmp(modes[k].name, w) && modes[k].integral)
            i->integral = modes[k].mode;
        else if (!strcmp(modes[k].name, w))
            i->mode = (enum soft_mode)modes[k].mode;
    for (int k = 0; k < 7; k++)
        if (!strcmp(spaces[k], w)) i->space = (enum ptx_space)k;
    if (w[0] == 'v' && (w[1] == '2' || w[1] == '4')) i->count = w[1] - '0';
    i->ftz |= !strcmp(w, "ftz");
    i->sat |= !strcmp(w, "sat");
    i->shifted |= !strcmp(w, "wrap");
    if (strcmp(i->in->opcode, "setp")) {
        i->hi |= !strcmp(w, "hi");
        if (!strcmp(w, "to") || !strcmp(w, "l")) i->combine = w;
        i->word = w;
    } else if (strstr(compares, spaced)) {
        i->compare = w;
    } else if (!strcmp(w, "and") || !strcmp(w, "or") || !strcmp(w, "xor")) {
        i->combine = w;
    }
}
static inline void ref_read_insn(struct ref_insn *i, const struct ptx_insn *in)
{
    *i = (struct ref_insn){.in = in, .integral = -1, .count = 1};
    for (size_t k = 0; k < in->mod_count; k++) {
        enum ptx_type t = ptx_type_find(in->mods[k]);
        if (t == PTX_NONE) {
            ref_read_word(i, in->mods[k]);
        } else {
            i->from = t;
            if (i->type == PTX_NONE) i->type = t;
        }
    }
    for (size_t k = 0; k < sizeof ref_ops / sizeof *ref_ops; k++)
        if (!strcmp(ref_ops[k].name, in->opcode)) i->op = &ref_ops[k];
}

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
static inline bool ref_access(struct ref_run *r, struct ref_thread *t, const struct ref_insn *i, bool store)
{
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
            bool good = !strcmp(op, "ld") || !strcmp(op, "st")      ? ref_access(r, t, i, op[0] == 's')
                        : !strcmp(op, "atom") || !strcmp(op, "red") ? ref_atomic(r, t, i, op[0] == 'a')
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
            v = in[group >> from & 1 ? from : l][0];
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
