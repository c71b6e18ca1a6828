/* Chains as x86-64 code: a loop over whole vectors, of AVX-512 or AVX2, and one over the elements that are left. Values
 * are in registers 0 to 15; truths are masks, in mask registers with AVX-512, else in all bits of a number's place. */
#include "kernels/code_x86.h"

#ifdef __x86_64__

#define REGISTERS 16
#define MASKS     8
#define UNORDERED 3 /* the predicate of comparisons: one of them is NaN */

enum how {
    NOT_AT_ALL,
    BINARY,     /* one instruction */
    ROOT,       /* square root */
    ROOT_UNDER, /* 1 over it */
    UNDER,      /* 1 over a */
    SQUARE,
    BITS,    /* with a mask of the sign */
    ROUNDED, /* to a whole number, in the way that `code` says */
    EXTREME, /* a where it is NaN itself */
    OTHER,   /* a where b is NaN */
    CLIPPED,
    BETWEEN, /* a + c * (b - a) */
    AT_ONCE, /* a * b + c, rounded once */
    RELU,    /* 0 below 0 */
    LEAKY,   /* a * b below 0 */
    COMPARED,
    IS_NAN,
    LOGIC, /* of masks, `code` with masks in mask registers, `vector` in others */
    NEGATED,
    CHOSEN
};

static const struct row {
    uint8_t how, code, vector;
} rows[KN_OP_COUNT] = {
    [KN_ADD] = {BINARY, 0x58},
    [KN_SUB] = {BINARY, 0x5c},
    [KN_MUL] = {BINARY, 0x59},
    [KN_DIV] = {BINARY, 0x5e},
    [KN_SQRT] = {ROOT},
    [KN_RSQRT] = {ROOT_UNDER},
    [KN_RECIPROCAL] = {UNDER},
    [KN_SQUARE] = {SQUARE},
    [KN_NEG] = {BITS, 0x57},
    [KN_ABS] = {BITS, 0x54},
    [KN_ROUND] = {ROUNDED, 8},
    [KN_FLOOR] = {ROUNDED, 9},
    [KN_CEIL] = {ROUNDED, 10},
    [KN_TRUNC] = {ROUNDED, 11},
    [KN_MINIMUM] = {EXTREME, 0x5d},
    [KN_MAXIMUM] = {EXTREME, 0x5f},
    [KN_FMIN] = {OTHER, 0x5d},
    [KN_FMAX] = {OTHER, 0x5f},
    [KN_CLIP] = {CLIPPED},
    [KN_LERP] = {BETWEEN},
    [KN_FMA] = {AT_ONCE},
    [KN_RELU] = {RELU},
    [KN_LEAKY_RELU] = {LEAKY},
    [KN_EQ] = {COMPARED, 0x00},
    [KN_NE] = {COMPARED, 0x04},
    [KN_LT] = {COMPARED, 0x11},
    [KN_LE] = {COMPARED, 0x12},
    [KN_GT] = {COMPARED, 0x1e},
    [KN_GE] = {COMPARED, 0x1d},
    [KN_ISNAN] = {IS_NAN},
    [KN_LOGICAL_AND] = {LOGIC, 0x41, 0x54},
    [KN_LOGICAL_OR] = {LOGIC, 0x45, 0x56},
    [KN_LOGICAL_XOR] = {LOGIC, 0x47, 0x57},
    [KN_LOGICAL_NOT] = {NEGATED},
    [KN_WHERE] = {CHOSEN},
};

static bool is_float(enum rt_dtype t)
{
    return t == RT_FLOAT32 || t == RT_FLOAT64;
}

enum kn_chain_kind kn_chain_kind(enum kn_op op, enum rt_dtype t)
{
    const int how = rows[op].how;
    if (how == LOGIC || how == NEGATED) return KN_CHAIN_LOGIC;
    if (!is_float(t)) return kn_integers_kind(op, t);
    switch (how) {
    case NOT_AT_ALL: return KN_CHAIN_NONE;
    case COMPARED:
    case IS_NAN: return KN_CHAIN_COMPARES;
    case CHOSEN: return KN_CHAIN_CHOOSES;
    default: return KN_CHAIN_NUMBERS;
    }
}

/* ---- instructions on numbers and their bits, in the form of the loop ---- */

static struct x86_vop of_numbers(const struct kn_body *b, int code)
{
    const uint8_t wide = b->wide, prefix = b->alone ? (wide ? 3 : 2) : wide;
    return (struct x86_vop){1, prefix, wide && b->bits == 512, (uint8_t)code};
}
static struct x86_vop of_bits(const struct kn_body *b, int code)
{
    return (struct x86_vop){1, b->wide, b->wide && b->bits == 512, (uint8_t)code};
}

/* 64 bytes that are this number in each place, by its bits in float64 and float32. */
static struct x86_mem constant(const struct kn_body *b, uint64_t wide, uint32_t narrow)
{
    uint64_t bytes[8];
    for (int k = 0; k < 8; k++) bytes[k] = b->wide ? wide : (uint64_t)narrow << 32 | narrow;
    return x86_at_label(x86_constant(b->x, bytes));
}
static struct x86_mem ones(const struct kn_body *b)
{
    return constant(b, 0x3ff0000000000000, 0x3f800000);
}
static struct x86_mem bytes_of_1(const struct kn_body *b)
{
    return constant(b, 0x0101010101010101, 0x01010101);
}

/* ---- operands ---- */

/* How integers are widened to 32 bits, and the logarithm of their size. */
static const struct {
    struct x86_vop load;
    uint8_t scale;
    bool is_signed;
} integers[] = {
    [KN_CHAIN_INT8] = {{2, 1, 0, 0x21}, 0, true},  [KN_CHAIN_UINT8] = {{2, 1, 0, 0x31}, 0, false},
    [KN_CHAIN_INT16] = {{2, 1, 0, 0x23}, 1, true}, [KN_CHAIN_UINT16] = {{2, 1, 0, 0x33}, 1, false},
    [KN_CHAIN_INT32] = {{1, 2, 0, 0x6f}, 2, true},
};

static int load_integers(struct kn_body *b, int kind, int base)
{
    const int d = kn_body_register(b), scale = integers[kind].scale;
    const struct x86_mem m = kn_body_place(base, scale);
    if (!b->alone) {
        kn_body_put_memory(b, integers[kind].load, d, 0, m);
    } else if (scale == 2) { /* vmovd */
        x86_vex_mem(b->x, (struct x86_vop){1, 1, 0, 0x6e}, 128, d, 0, m, -1);
    } else {
        x86_load_part(b->x, KN_FREE, m, 1 << scale, integers[kind].is_signed, false);
        x86_vex(b->x, (struct x86_vop){1, 1, 0, 0x6e}, 128, d, 0, KN_FREE, -1);
    }
    return d;
}

/* Bytes that are 0 or 1 as a mask. */
static int load_truths(struct kn_body *b, struct x86_mem m)
{
    const int d = kn_body_mask(b), v = b->masks ? kn_body_register(b) : d;
    if (b->alone) {
        kn_body_put_memory(b, (struct x86_vop){2, 1, 0, 0x78}, v, 0,
                           m); /* vpbroadcastb: any other than 0 is above it */
    } else {
        kn_body_put_memory(b, (struct x86_vop){2, 1, 0, (uint8_t)(b->wide ? 0x32 : 0x31)}, v, 0,
                           m); /* vpmovzxbq, -bd */
    }
    if (b->masks) {
        x86_evex(b->x, (struct x86_vop){2, 1, b->wide, 0x27}, (struct x86_evex){.bits = 512, .imm = -1}, d, v, v);
        b->room |= 1u << v;
    } else { /* vpcmpgtq, -gtd with 0 */
        const int zero = kn_body_register(b);
        kn_body_put(b, (struct x86_vop){1, 1, 0, 0xef}, zero, zero, zero, -1);
        kn_body_put(b, b->wide ? (struct x86_vop){2, 1, 0, 0x37} : (struct x86_vop){1, 1, 0, 0x66}, v, v, zero, -1);
        b->room |= 1u << zero;
    }
    return d;
}

static int load(struct kn_body *b, int input)
{
    const int kind = b->c->input[input], base = b->pointer[input];
    if (kind == KN_CHAIN_TRUTHS) {
        const struct x86_mem m = kn_body_place(base, 0);
        return b->integers ? kn_integers_load_truths(b, m) : load_truths(b, m);
    }
    if (b->integers) return kn_integers_load(b, kn_body_place(base, b->size));
    if (kind >= KN_CHAIN_INT8) return load_integers(b, kind, base);
    const int d = kn_body_register(b);
    kn_body_put_memory(b, of_numbers(b, 0x10), d, 0, kn_body_place(base, b->size));
    return d;
}

/* The register that an operand is in. */
int kn_body_value(struct kn_body *b, int arg)
{
    if (arg < KN_CHAIN_INPUT) return b->at[arg];
    const int input = arg - KN_CHAIN_INPUT;
    if (b->loaded[input] < 0) b->loaded[input] = (int8_t)load(b, input);
    return b->loaded[input];
}

bool kn_chain_is_truth(const struct kn_chain *c, int arg)
{
    if (arg >= KN_CHAIN_INPUT) return c->input[arg - KN_CHAIN_INPUT] == KN_CHAIN_TRUTHS;
    if (c->item[arg].op == KN_CHAIN_NUMBER) return false;
    const enum kn_chain_kind kind = kn_chain_kind(c->item[arg].op, c->type);
    return kind == KN_CHAIN_COMPARES || kind == KN_CHAIN_LOGIC;
}

/* One use of an operand is over. */
void kn_body_leave(struct kn_body *b, int arg)
{
    const int input = arg - KN_CHAIN_INPUT;
    uint8_t *uses = input < 0 ? &b->uses[arg] : &b->loads[input];
    if (--*uses || (input >= 0 && b->c->input[input] == KN_CHAIN_SAME)) return;
    const int r = input < 0 ? b->at[arg] : b->loaded[input];
    if (r < 0) return; /* it was read from memory */
    *(b->masks && kn_chain_is_truth(b->c, arg) ? &b->kept : &b->room) |= 1u << r;
}

/* A stream that nobody else reads can be an instruction's last operand as it lies in memory. */
bool kn_body_in_memory(const struct kn_body *b, int arg)
{
    const int input = arg - KN_CHAIN_INPUT;
    return input >= 0 && b->c->input[input] == KN_CHAIN_STREAM && b->loaded[input] < 0 && b->loads[input] == 1;
}

/* ---- items ---- */

static void choose(const struct kn_body *b, int d, int mask, int yes, int no)
{
    if (b->masks)
        kn_body_put_masked(b, (struct x86_vop){2, 1, b->wide, 0x65}, mask, d, no, yes);
    else
        x86_vex(b->x, (struct x86_vop){3, 1, 0, (uint8_t)(0x4a + b->wide)}, b->bits, d, no, yes, mask << 4);
}

static void compare(const struct kn_body *b, int predicate, int d, int a, int s)
{
    kn_body_put(b, of_numbers(b, 0xc2), d, a, s, predicate);
}

/* The first where `decides` is NaN, else the extreme of the two. */
static int extreme(struct kn_body *b, int code, int a, int s, int decides)
{
    const int d = kn_body_register(b), mask = kn_body_mask(b);
    kn_body_put(b, of_numbers(b, code), d, a, s, -1);
    compare(b, UNORDERED, mask, decides, decides);
    choose(b, d, mask, a, d);
    kn_body_give_mask(b, mask);
    return d;
}

static int binary(struct kn_body *b, int code, const uint8_t *arg)
{
    if (kn_body_in_memory(b, arg[1])) {
        const int a = kn_body_value(b, arg[0]), base = b->pointer[arg[1] - KN_CHAIN_INPUT];
        kn_body_leave(b, arg[0]);
        const int d = kn_body_register(b);
        kn_body_leave(b, arg[1]);
        kn_body_put_memory(b, of_numbers(b, code), d, a, kn_body_place(base, b->size));
        return d;
    }
    const int a = kn_body_value(b, arg[0]), s = kn_body_value(b, arg[1]);
    kn_body_leave(b, arg[0]);
    kn_body_leave(b, arg[1]);
    const int d = kn_body_register(b);
    kn_body_put(b, of_numbers(b, code), d, a, s, -1);
    return d;
}

static void root(const struct kn_body *b, int d, int a)
{
    kn_body_put(b, of_numbers(b, 0x51), d, b->alone ? a : 0, a, -1);
}

static int of_one(struct kn_body *b, const struct row *how, int a)
{
    const int d = kn_body_register(b);
    const bool wide = b->wide;
    switch (how->how) {
    case ROOT: root(b, d, a); break;
    case SQUARE: kn_body_put(b, of_numbers(b, 0x59), d, a, a, -1); break;
    case BITS:
        kn_body_put_memory(b, of_bits(b, how->code), d, a,
                           how->code == 0x57 ? constant(b, 0x8000000000000000, 0x80000000)
                                             : constant(b, 0x7fffffffffffffff, 0x7fffffff));
        break;
    case ROUNDED:
        kn_body_put(b, (struct x86_vop){3, 1, wide && b->bits == 512, (uint8_t)((b->alone ? 0x0a : 0x08) + wide)}, d,
                    b->alone ? a : 0, a, how->code);
        break;
    case RELU: {
        const int zero = kn_body_register(b);
        kn_body_put(b, of_bits(b, 0x57), zero, zero, zero, -1);
        kn_body_put(b, of_numbers(b, 0x5f), d, zero, a, -1);
        b->room |= 1u << zero;
        break;
    }
    default: { /* 1 over a or its root */
        const int one = kn_body_register(b);
        kn_body_put_memory(b, of_numbers(b, 0x10), one, 0, ones(b));
        if (how->how == ROOT_UNDER) root(b, d, a);
        kn_body_put(b, of_numbers(b, 0x5e), d, one, how->how == ROOT_UNDER ? d : a, -1);
        b->room |= 1u << one;
    }
    }
    return d;
}

/* a * s where a is below 0, else a. */
static int leaky(struct kn_body *b, int a, int s)
{
    const int d = kn_body_register(b), zero = kn_body_register(b), mask = kn_body_mask(b);
    kn_body_put(b, of_bits(b, 0x57), zero, zero, zero, -1);
    compare(b, rows[KN_LT].code, mask, a, zero);
    kn_body_put(b, of_numbers(b, 0x59), d, a, s, -1);
    choose(b, d, mask, d, a);
    b->room |= 1u << zero;
    kn_body_give_mask(b, mask);
    return d;
}

/* Items of two and three operands that are more than one instruction. */
static int of_more(struct kn_body *b, const struct row *how, const uint8_t *arg)
{
    const int a = kn_body_value(b, arg[0]), s = kn_body_value(b, arg[1]);
    if (how->how == EXTREME) return extreme(b, how->code, a, s, a);
    if (how->how == OTHER) return extreme(b, how->code, a, s, s);
    if (how->how == LEAKY) return leaky(b, a, s);
    const int last = kn_body_value(b, arg[2]), d = kn_body_register(b);
    if (how->how == AT_ONCE) { /* vmovaps, vfmadd213 */
        kn_body_put(b, of_bits(b, 0x28), d, 0, a, -1);
        kn_body_put(b, (struct x86_vop){2, 1, b->wide, (uint8_t)(0xa8 + b->alone)}, d, s, last, -1);
    } else if (how->how == CLIPPED) {
        kn_body_put(b, of_numbers(b, 0x5f), d, s, a, -1);
        kn_body_put(b, of_numbers(b, 0x5d), d, last, d, -1);
    } else if (how->how == BETWEEN) {
        kn_body_put(b, of_numbers(b, 0x5c), d, s, a, -1);
        kn_body_put(b, of_numbers(b, 0x59), d, last, d, -1);
        kn_body_put(b, of_numbers(b, 0x58), d, a, d, -1);
    } else {
        choose(b, d, a, s, last);
    }
    return d;
}

static int of_masks(struct kn_body *b, const struct row *how, int a, int s)
{
    const int d = kn_body_mask(b);
    if (how->how == COMPARED || how->how == IS_NAN) {
        compare(b, how->how == IS_NAN ? UNORDERED : how->code, d, a, s);
    } else if (how->how == NEGATED) {
        if (b->masks)
            x86_vex(b->x, (struct x86_vop){1, 0, 0, 0x44}, 128, d, 0, a, -1);
        else
            kn_body_put_memory(b, of_bits(b, 0x57), d, a, constant(b, UINT64_MAX, UINT32_MAX));
    } else if (b->masks) {
        x86_vex(b->x, (struct x86_vop){1, 0, 0, how->code}, 256, d, a, s, -1);
    } else {
        kn_body_put(b, of_bits(b, how->vector), d, a, s, -1);
    }
    return d;
}

static int as_number(struct kn_body *b, int a, bool truth)
{
    const int d = kn_body_register(b);
    if (!truth) /* vcvtdq2ps */
        kn_body_put(b, (struct x86_vop){1, 0, 0, 0x5b}, d, 0, a, -1);
    else if (b->masks)
        x86_evex_mem(b->x, (struct x86_vop){1, b->wide, b->wide, 0x28},
                     (struct x86_evex){.bits = 512, .mask = a, .zero = true, .imm = -1}, d, 0, ones(b));
    else
        kn_body_put_memory(b, of_bits(b, 0x54), d, a, ones(b));
    return d;
}

static void put_item(struct kn_body *b, int i)
{
    const struct kn_chain_item *n = &b->c->item[i];
    if (b->integers) {
        kn_integers_item(b, i);
        return;
    }
    if (n->op == KN_CHAIN_NUMBER) {
        b->at[i] = (int8_t)as_number(b, kn_body_value(b, n->arg[0]), kn_chain_is_truth(b->c, n->arg[0]));
        kn_body_leave(b, n->arg[0]);
        return;
    }
    const struct row *how = &rows[n->op];
    const int arity = kn_ops[n->op].arity;
    if (how->how == BINARY) {
        b->at[i] = (int8_t)binary(b, how->code, n->arg);
        return;
    }
    const enum kn_chain_kind kind = kn_chain_kind(n->op, b->c->type);
    int d;
    if (kind == KN_CHAIN_COMPARES || kind == KN_CHAIN_LOGIC)
        d = of_masks(b, how, kn_body_value(b, n->arg[0]), kn_body_value(b, n->arg[arity - 1]));
    else if (arity == 1)
        d = of_one(b, how, kn_body_value(b, n->arg[0]));
    else
        d = of_more(b, how, n->arg);
    b->at[i] = (int8_t)d;
    for (int k = 0; k < arity; k++) kn_body_leave(b, n->arg[k]);
}

/* ---- results ---- */

/* The mask as a byte of 0 or 1 for each element. */
static void store_truths(struct kn_body *b, int r, struct x86_mem m)
{
    struct x86 *x = b->x;
    const struct x86_vop store_4 = {1, 1, 0, 0x7e}, store_8 = {1, 1, 0, 0xd6}, store_16 = {1, 2, 0, 0x7f};
    if (b->alone) {
        x86_vex(x, store_4, 128, r, 0, KN_FREE, -1);
        x86_imm(x, ALU_AND, false, KN_FREE, 1);
        x86_store_byte(x, m, KN_FREE);
        return;
    }
    const int v = kn_body_register(b);
    if (b->masks) { /* vmovdqu8 */
        x86_evex_mem(x, (struct x86_vop){1, 3, 0, 0x6f},
                     (struct x86_evex){.bits = 128, .mask = r, .zero = true, .imm = -1}, v, 0, bytes_of_1(b));
        x86_vex_mem(x, b->wide ? store_8 : store_16, 128, v, 0, m, -1);
    } else {
        x86_vex(x, (struct x86_vop){3, 1, 0, 0x39}, 256, r, 0, v, 1);  /* vextracti128 */
        x86_vex(x, (struct x86_vop){1, 1, 0, 0x6b}, 128, v, r, v, -1); /* vpackssdw */
        x86_vex(x, (struct x86_vop){1, 1, 0, 0x63}, 128, v, v, v, -1); /* vpacksswb */
        if (b->wide) x86_vex(x, (struct x86_vop){1, 1, 0, 0x63}, 128, v, v, v, -1);
        x86_vex_mem(x, (struct x86_vop){1, 1, 0, 0xdb}, 128, v, v, bytes_of_1(b), -1);
        x86_vex_mem(x, b->wide ? store_4 : store_8, 128, v, 0, m, -1);
    }
    b->room |= 1u << v;
}

static void put_body(struct kn_body *b)
{
    const struct kn_chain *c = b->c;
    for (int k = 0; k < c->inputs; k++)
        if (c->input[k] != KN_CHAIN_SAME) b->loaded[k] = -1;
    for (int i = 0; i < c->count; i++) {
        const int arity = c->item[i].op == KN_CHAIN_NUMBER ? 1 : kn_ops[c->item[i].op].arity;
        for (int k = 0; k < arity; k++) {
            const int arg = c->item[i].arg[k];
            ++*(arg < KN_CHAIN_INPUT ? &b->uses[arg] : &b->loads[arg - KN_CHAIN_INPUT]);
        }
    }
    for (int i = 0; i < c->count; i++) put_item(b, i);
    const int r = b->at[c->count - 1];
    const bool truths = kn_chain_is_truth(c, c->count - 1);
    const struct x86_mem m = kn_body_place(KN_OUT, truths ? 0 : b->size);
    if (b->integers)
        (truths ? kn_integers_store_truths : kn_integers_store)(b, r, m);
    else if (truths)
        store_truths(b, r, m);
    else
        kn_body_put_memory(b, of_numbers(b, 0x11), r, 0, m);
}

/* ---- the function ---- */

static const int8_t saved[] = {RBX, RBP, R12, R13, R14, R15}; /* by who is called */

/* Puts the addresses of streams into registers, and what is the same everywhere into vectors, from the last one down.
 * False when there are too many. */
static bool put_inputs(struct kn_body *b, int8_t *pointer)
{
    static const int8_t free_ones[] = {RCX, R8, R9, R10, RBX, RBP, R12, R13, R14, R15};
    size_t taken = 0;
    int same = REGISTERS;
    const struct kn_chain *c = b->c;
    for (int k = 0; k < c->inputs; k++) {
        const struct x86_mem m = x86_at(RDI, 8 * k);
        if (c->input[k] == KN_CHAIN_SAME) {
            if (--same < REGISTERS / 2) return false;
            x86_rm(b->x, ALU_MOV, true, KN_FREE, m);
            b->loaded[k] = (int8_t)same;
            if (b->integers)
                kn_integers_spread(b, same, x86_at(KN_FREE, 0));
            else
                kn_body_put_memory(b, (struct x86_vop){2, 1, b->wide && b->bits == 512, (uint8_t)(0x18 + b->wide)},
                                   same, 0, x86_at(KN_FREE, 0));
        } else if (taken == sizeof free_ones) {
            return false;
        } else {
            pointer[k] = free_ones[taken++];
            x86_rm(b->x, ALU_MOV, true, pointer[k], m);
        }
    }
    b->room = (1u << same) - 1;
    b->kept = (1u << MASKS) - 2;
    b->pointer = pointer;
    return true;
}

/* At the loop's end: goes round while there are `step` elements more. */
static void put_loop(struct kn_body b, int step)
{
    struct x86 *x = b.x;
    const int top = x86_label(x), end = x86_label(x);
    for (int round = 0; round < 2; round++) {
        x86_lea(x, true, KN_FREE, x86_at(KN_INDEX, step));
        x86_rr(x, ALU_CMP, true, KN_FREE, KN_COUNT);
        x86_jump_if(x, round ? CC_BE : CC_A, round ? top : end);
        if (round) break;
        x86_bind(x, top);
        put_body(&b);
        x86_imm(x, ALU_ADD, true, KN_INDEX, step);
        x->failed |= b.failed;
    }
    x86_bind(x, end);
}

static void put_function(struct x86 *x, const struct kn_chain *c, int bits)
{
    int8_t pointer[KN_CODE_INPUTS] = {0};
    struct kn_body b = {.x = x, .c = c, .bits = bits, .masks = bits == 512};
    b.wide = c->type == RT_FLOAT64;
    b.integers = !is_float(c->type);
    b.size = __builtin_ctz((unsigned)rt_dtypes[c->type].size);
    for (size_t k = 0; k < sizeof saved; k++) x86_push(x, saved[k]);
    if (!put_inputs(&b, pointer)) {
        x->failed = true;
        return;
    }
    x86_rr(x, ALU_XOR, false, KN_INDEX, KN_INDEX);
    put_loop(b, bits / 8 >> b.size);
    b.bits = 128;
    b.masks = false;
    if (b.integers) put_loop(b, 16 >> b.size); /* so that few of them are left */
    b.alone = true;
    put_loop(b, 1);
    for (size_t k = sizeof saved; k-- > 0;) x86_pop(x, saved[k]);
    x86_vzeroupper(x);
    x86_return(x);
}

kn_code_loop *kn_chain_compile(const struct kn_chain *c, int bits, size_t *size)
{
    struct x86 x = {0};
    put_function(&x, c, bits);
    uint8_t *code = x86_install(&x, size);
    kn_code_loop *loop = NULL;
    if (code) __builtin_memcpy(&loop, &code, sizeof loop);
    x86_free(&x);
    return loop;
}

#else

enum kn_chain_kind kn_chain_kind(enum kn_op op, enum rt_dtype t)
{
    (void)op;
    (void)t;
    return KN_CHAIN_NONE;
}
kn_code_loop *kn_chain_compile(const struct kn_chain *c, int bits, size_t *size)
{
    (void)c;
    (void)bits;
    (void)size;
    return NULL;
}

#endif
