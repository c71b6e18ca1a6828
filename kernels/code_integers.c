/* Chains of integers of 8, 16 or 32 bits as x86-64 code: as many of them in a vector as there is room for. Truths are
 * masks of a bit for each in mask registers, with AVX-512, else of all bits of a number's place. */
#include "kernels/code_x86.h"

#ifdef __x86_64__

enum how {
    NOT_AT_ALL,
    BINARY, /* one instruction */
    LESS,   /* minimum */
    MORE,
    CLIPPED,
    NEGATIVE,
    ABSOLUTE,
    SQUARE,
    INVERTED,
    COMPARED, /* by `code` */
    CHOSEN
};

/* Predicates of comparisons, as AVX-512 has them. */
enum { EQUAL, BELOW, UP_TO, NOT_EQUAL = 4, FROM_ON, ABOVE };

/* Instructions for 8, 16 and 32 bits; `map` 0: there is none. */
struct by_size {
    struct x86_vop op[3];
};
#define ALL(a, b, c)                                                                                                   \
    {                                                                                                                  \
        {                                                                                                              \
            {1, 1, 0, a}, {1, 1, 0, b},                                                                                \
            {                                                                                                          \
                1, 1, 0, c                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define LATER(a, b, c)                                                                                                 \
    {                                                                                                                  \
        {                                                                                                              \
            {2, 1, 0, a}, {2, 1, 0, b},                                                                                \
            {                                                                                                          \
                2, 1, 0, c                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define MIXED(m, a, n, b, o, c)                                                                                        \
    {                                                                                                                  \
        {                                                                                                              \
            {m, 1, 0, a}, {n, 1, 0, b},                                                                                \
            {                                                                                                          \
                o, 1, 0, c                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
static const struct by_size add = ALL(0xfc, 0xfd, 0xfe), sub = ALL(0xf8, 0xf9, 0xfa),
                            mul = MIXED(0, 0, 1, 0xd5, 2, 0x40), both = ALL(0xdb, 0xdb, 0xdb),
                            either = ALL(0xeb, 0xeb, 0xeb), one_of = ALL(0xef, 0xef, 0xef),
                            absolute = LATER(0x1c, 0x1d, 0x1e), equal = ALL(0x74, 0x75, 0x76),
                            greater = ALL(0x64, 0x65, 0x66);
/* For unsigned and signed ones. */
static const struct by_size least[2] = {MIXED(1, 0xda, 2, 0x3a, 2, 0x3b), MIXED(2, 0x38, 1, 0xea, 2, 0x39)},
                            most[2] = {MIXED(1, 0xde, 2, 0x3e, 2, 0x3f), MIXED(2, 0x3c, 1, 0xee, 2, 0x3d)};

static const struct row {
    uint8_t how, code;
    const struct by_size *ops;
} rows[KN_OP_COUNT] = {
    [KN_ADD] = {BINARY, 0, &add},
    [KN_SUB] = {BINARY, 0, &sub},
    [KN_MUL] = {BINARY, 0, &mul},
    [KN_BITWISE_AND] = {BINARY, 0, &both},
    [KN_BITWISE_OR] = {BINARY, 0, &either},
    [KN_BITWISE_XOR] = {BINARY, 0, &one_of},
    [KN_BITWISE_NOT] = {INVERTED, 0, NULL},
    [KN_NEG] = {NEGATIVE, 0, NULL},
    [KN_ABS] = {ABSOLUTE, 0, NULL},
    [KN_SQUARE] = {SQUARE, 0, &mul},
    [KN_MINIMUM] = {LESS, 0, NULL},
    [KN_MAXIMUM] = {MORE, 0, NULL},
    [KN_FMIN] = {LESS, 0, NULL},
    [KN_FMAX] = {MORE, 0, NULL},
    [KN_CLIP] = {CLIPPED, 0, NULL},
    [KN_EQ] = {COMPARED, EQUAL, NULL},
    [KN_NE] = {COMPARED, NOT_EQUAL, NULL},
    [KN_LT] = {COMPARED, BELOW, NULL},
    [KN_LE] = {COMPARED, UP_TO, NULL},
    [KN_GT] = {COMPARED, ABOVE, NULL},
    [KN_GE] = {COMPARED, FROM_ON, NULL},
    [KN_WHERE] = {CHOSEN, 0, NULL},
};

enum kn_chain_kind kn_integers_kind(enum kn_op op, enum rt_dtype t)
{
    const struct row *r = &rows[op];
    const int size = __builtin_ctz((unsigned)rt_dtypes[t].size);
    if (r->how == NOT_AT_ALL || (r->ops && !r->ops->op[size].map)) return KN_CHAIN_NONE;
    if (r->how == ABSOLUTE && rt_dtypes[t].kind != 'i') return KN_CHAIN_NONE;
    return r->how == COMPARED ? KN_CHAIN_COMPARES : r->how == CHOSEN ? KN_CHAIN_CHOOSES : KN_CHAIN_NUMBERS;
}

static bool is_signed(const struct kn_body *b)
{
    return rt_dtypes[b->c->type].kind == 'i';
}

/* 64 bytes of a number's places that are all this one. */
static struct x86_mem constant(const struct kn_body *b, bool all_bits)
{
    static const uint64_t one[] = {0x0101010101010101, 0x0001000100010001, 0x0000000100000001};
    uint64_t bytes[8];
    for (int k = 0; k < 8; k++) bytes[k] = all_bits ? UINT64_MAX : one[b->size];
    return x86_at_label(x86_constant(b->x, bytes));
}
static struct x86_mem bytes_of_1(const struct kn_body *b)
{
    uint64_t bytes[8];
    for (int k = 0; k < 8; k++) bytes[k] = 0x0101010101010101;
    return x86_at_label(x86_constant(b->x, bytes));
}

static void put(const struct kn_body *b, const struct by_size *ops, int d, int a, int s)
{
    kn_body_put(b, ops->op[b->size], d, a, s, -1);
}
static void invert(const struct kn_body *b, int d, int a)
{
    kn_body_put_memory(b, one_of.op[0], d, a, constant(b, true));
}

/* ---- memory ---- */

static const struct x86_vop move = {1, 2, 0, 0x6f}, move_out = {1, 2, 0, 0x7f}, /* vmovdqu */
    word_in = {1, 1, 0, 0x6e}, word_out = {1, 1, 0, 0x7e};                      /* vmovd */

int kn_integers_load(struct kn_body *b, struct x86_mem m)
{
    const int d = kn_body_register(b);
    if (!b->alone) {
        kn_body_put_memory(b, move, d, 0, m);
    } else if (b->size == 2) {
        x86_vex_mem(b->x, word_in, 128, d, 0, m, -1);
    } else {
        x86_load_part(b->x, KN_FREE, m, 1 << b->size, false, false);
        x86_vex(b->x, word_in, 128, d, 0, KN_FREE, -1);
    }
    return d;
}

void kn_integers_store(struct kn_body *b, int r, struct x86_mem m)
{
    if (!b->alone) {
        kn_body_put_memory(b, move_out, r, 0, m);
    } else if (b->size == 2) {
        x86_vex_mem(b->x, word_out, 128, r, 0, m, -1);
    } else {
        x86_vex(b->x, word_out, 128, r, 0, KN_FREE, -1);
        x86_store_part(b->x, m, KN_FREE, 1 << b->size);
    }
}

void kn_integers_spread(const struct kn_body *b, int d, struct x86_mem m)
{
    static const uint8_t codes[] = {0x78, 0x79, 0x58}; /* vpbroadcast */
    kn_body_put_memory(b, (struct x86_vop){2, 1, 0, codes[b->size]}, d, 0, m);
}

/* Bytes that are 0 or 1 as a mask. */
int kn_integers_load_truths(struct kn_body *b, struct x86_mem m)
{
    static const struct x86_vop widen[] = {{1, 2, 0, 0x6f}, {2, 1, 0, 0x30}, {2, 1, 0, 0x31}},  /* vpmovzx */
        test[] = {{2, 1, 0, 0x26}, {2, 1, 1, 0x26}, {2, 1, 0, 0x27}}, spread = {2, 1, 0, 0x78}; /* vptestm */
    const int d = kn_body_mask(b), v = b->masks ? kn_body_register(b) : d;
    kn_body_put_memory(b, b->alone ? spread : widen[b->size], v, 0, m);
    if (b->masks) {
        kn_body_put(b, test[b->size], d, v, v, -1);
        b->room |= 1u << v;
    } else {
        const int zero = kn_body_register(b);
        put(b, &one_of, zero, zero, zero);
        put(b, &greater, v, v, zero);
        b->room |= 1u << zero;
    }
    return d;
}

/* Of masks of all bits in v, of 16 and 32 bits, bytes. */
static void pack(const struct kn_body *b, int v, int r)
{
    const struct x86_vop words = {1, 1, 0, 0x6b}, bytes = {1, 1, 0, 0x63}; /* vpackssdw, vpacksswb */
    int high = r;
    if (b->bits == 256) {
        x86_vex(b->x, (struct x86_vop){3, 1, 0, 0x39}, 256, r, 0, v, 1); /* vextracti128 */
        high = v;
    }
    if (b->size == 2) {
        x86_vex(b->x, words, 128, v, r, high, -1);
        r = high = v;
    }
    x86_vex(b->x, bytes, 128, v, r, high, -1);
}

void kn_integers_store_truths(struct kn_body *b, int r, struct x86_mem m)
{
    struct x86 *x = b->x;
    if (b->alone) {
        x86_vex(x, word_out, 128, r, 0, KN_FREE, -1);
        x86_imm(x, ALU_AND, false, KN_FREE, 1);
        x86_store_byte(x, m, KN_FREE);
        return;
    }
    const int v = kn_body_register(b), bytes = b->bits / 8 >> b->size;
    if (b->masks) { /* vmovdqu8 */
        x86_evex_mem(x, (struct x86_vop){1, 3, 0, 0x6f},
                     (struct x86_evex){.bits = bytes * 8, .mask = r, .zero = true, .imm = -1}, v, 0, bytes_of_1(b));
    } else {
        if (b->size > 0) pack(b, v, r);
        x86_vex_mem(x, both.op[0], bytes == 32 ? 256 : 128, v, b->size > 0 ? v : r, bytes_of_1(b), -1);
    }
    if (bytes == 64)
        x86_evex_mem(x, move_out, (struct x86_evex){.bits = 512, .imm = -1}, v, 0, m);
    else if (bytes >= 16)
        x86_vex_mem(x, move_out, bytes * 8, v, 0, m, -1);
    else
        x86_vex_mem(x, bytes == 8 ? (struct x86_vop){1, 1, 0, 0xd6} : word_out, 128, v, 0, m, -1); /* vmovq */
    b->room |= 1u << v;
}

/* ---- items ---- */

static void choose(const struct kn_body *b, int d, int mask, int yes, int no)
{
    static const struct x86_vop blend[] = {{2, 1, 0, 0x66}, {2, 1, 1, 0x66}, {2, 1, 0, 0x64}};
    if (b->masks)
        kn_body_put_masked(b, blend[b->size], mask, d, no, yes);
    else
        x86_vex(b->x, (struct x86_vop){3, 1, 0, 0x4c}, b->bits, d, no, yes, mask << 4);
}

/* Without mask registers: equal to the other, or to the extreme of both, or not. */
static void compare(struct kn_body *b, int predicate, int d, int a, int s)
{
    const bool sign = is_signed(b);
    if (b->masks) {
        const uint8_t code = (uint8_t)((b->size == 2 ? 0x1e : 0x3e) + sign);
        kn_body_put(b, (struct x86_vop){3, 1, b->size == 1, code}, d, a, s, predicate);
        return;
    }
    const bool up = predicate == FROM_ON || predicate == BELOW;
    if (predicate != EQUAL && predicate != NOT_EQUAL) {
        put(b, up ? &most[sign] : &least[sign], d, a, s);
        s = d;
    }
    put(b, &equal, d, a, s);
    if (predicate == NOT_EQUAL || predicate == BELOW || predicate == ABOVE) invert(b, d, d);
}

static int of_truths(struct kn_body *b, enum kn_op op, int a, int s)
{
    const int d = kn_body_mask(b);
    const bool not = op == KN_LOGICAL_NOT, and = op == KN_LOGICAL_AND, or = op == KN_LOGICAL_OR;
    if (b->masks && not ) /* knotq, kandq, korq, kxorq */
        x86_vex(b->x, (struct x86_vop){1, 0, 1, 0x44}, 128, d, 0, a, -1);
    else if (b->masks)
        x86_vex(b->x, (struct x86_vop){1, 0, 1, and? 0x41 : or ? 0x45 : 0x47}, 256, d, a, s, -1);
    else if (not )
        invert(b, d, a);
    else
        put(b, and? &both : or ? &either : &one_of, d, a, s);
    return d;
}

static int of_truth(struct kn_body *b, int a)
{
    static const struct x86_vop masked[] = {{1, 3, 0, 0x6f}, {1, 3, 1, 0x6f}, {1, 2, 0, 0x6f}}; /* vmovdqu */
    const int d = kn_body_register(b);
    if (b->masks)
        x86_evex_mem(b->x, masked[b->size], (struct x86_evex){.bits = 512, .mask = a, .zero = true, .imm = -1}, d, 0,
                     constant(b, false));
    else
        kn_body_put_memory(b, both.op[0], d, a, constant(b, false));
    return d;
}

static int of_numbers(struct kn_body *b, const struct row *how, const uint8_t *arg)
{
    const bool sign = is_signed(b);
    const int a = kn_body_value(b, arg[0]);
    if (how->how == BINARY && !b->alone && kn_body_in_memory(b, arg[1])) {
        const int d = kn_body_register(b);
        kn_body_put_memory(b, how->ops->op[b->size], d, a, kn_body_place(b->pointer[arg[1] - KN_CHAIN_INPUT], b->size));
        return d;
    }
    const bool one = how->how == NEGATIVE || how->how == ABSOLUTE || how->how == SQUARE || how->how == INVERTED;
    const int s = one ? a : kn_body_value(b, arg[1]);
    const int last = how->how == CLIPPED || how->how == CHOSEN ? kn_body_value(b, arg[2]) : 0;
    const int d = kn_body_register(b);
    switch (how->how) {
    case LESS: put(b, &least[sign], d, a, s); break;
    case MORE: put(b, &most[sign], d, a, s); break;
    case CLIPPED:
        put(b, &most[sign], d, a, s);
        put(b, &least[sign], d, d, last);
        break;
    case NEGATIVE:
        put(b, &one_of, d, d, d);
        put(b, &sub, d, d, a);
        break;
    case ABSOLUTE: put(b, &absolute, d, 0, a); break;
    case INVERTED: invert(b, d, a); break;
    case CHOSEN: choose(b, d, a, s, last); break;
    default: put(b, how->ops, d, a, s);
    }
    return d;
}

void kn_integers_item(struct kn_body *b, int i)
{
    const struct kn_chain_item *n = &b->c->item[i];
    const int arity = n->op == KN_CHAIN_NUMBER ? 1 : kn_ops[n->op].arity;
    const struct row *how = n->op == KN_CHAIN_NUMBER ? NULL : &rows[n->op];
    int d;
    if (!how) {
        d = of_truth(b, kn_body_value(b, n->arg[0]));
    } else if (kn_chain_is_truth(b->c, i) && how->how != COMPARED) {
        const int a = kn_body_value(b, n->arg[0]);
        d = of_truths(b, n->op, a, arity > 1 ? kn_body_value(b, n->arg[1]) : a);
    } else if (how->how == COMPARED) {
        const int a = kn_body_value(b, n->arg[0]), s = kn_body_value(b, n->arg[1]);
        d = kn_body_mask(b);
        compare(b, how->code, d, a, s);
    } else {
        d = of_numbers(b, how, n->arg);
    }
    b->at[i] = (int8_t)d;
    for (int k = 0; k < arity; k++) kn_body_leave(b, n->arg[k]);
}

#endif
