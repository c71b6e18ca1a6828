/* What writes chains as x86-64 code: one of the loops while it is written, for code_x86.c, which writes the loops and
 * what numbers are in them, and code_integers.c, which writes what integers are. */
#ifndef KN_CODE_X86_H
#define KN_CODE_X86_H

#include "kernels/code.h"
#include "runtime/x86.h"

struct kn_body {
    struct x86 *x;
    const struct kn_chain *c;
    bool wide, integers; /* the chain's numbers are float64; are integers */
    int size;            /* the logarithm of a number's bytes */
    int bits;            /* of a vector; 128 where elements are alone */
    bool alone, masks;   /* truths are in mask registers */
    uint32_t room, kept; /* registers and mask registers that are free */
    int8_t at[KN_CODE_NODES], loaded[KN_CODE_INPUTS];
    uint8_t uses[KN_CODE_NODES], loads[KN_CODE_INPUTS]; /* still to come */
    const int8_t *pointer;                              /* of streams: the registers that their addresses are in */
    bool failed;
};

enum { KN_INDEX = R11, KN_COUNT = RDX, KN_OUT = RSI, KN_FREE = RAX };

static inline int kn_body_take(uint32_t *room, bool *failed)
{
    if (!*room) {
        *failed = true;
        return 0;
    }
    const int r = __builtin_ctz(*room);
    *room &= *room - 1;
    return r;
}
static inline int kn_body_register(struct kn_body *b)
{
    return kn_body_take(&b->room, &b->failed);
}
static inline int kn_body_mask(struct kn_body *b)
{
    return kn_body_take(b->masks ? &b->kept : &b->room, &b->failed);
}
static inline void kn_body_give_mask(struct kn_body *b, int mask)
{
    *(b->masks ? &b->kept : &b->room) |= 1u << mask;
}

static inline void kn_body_put(const struct kn_body *b, struct x86_vop op, int d, int a, int s, int imm)
{
    if (b->bits == 512)
        x86_evex(b->x, op, (struct x86_evex){.bits = 512, .imm = imm}, d, a, s);
    else
        x86_vex(b->x, op, b->bits, d, a, s, imm);
}
static inline void kn_body_put_memory(const struct kn_body *b, struct x86_vop op, int d, int a, struct x86_mem m)
{
    if (b->bits == 512)
        x86_evex_mem(b->x, op, (struct x86_evex){.bits = 512, .imm = -1}, d, a, m);
    else
        x86_vex_mem(b->x, op, b->bits, d, a, m, -1);
}
static inline void kn_body_put_masked(const struct kn_body *b, struct x86_vop op, int mask, int d, int a, int s)
{
    x86_evex(b->x, op, (struct x86_evex){.bits = 512, .mask = mask, .imm = -1}, d, a, s);
}
/* Where the loop's elements begin, of 1 << scale bytes. */
static inline struct x86_mem kn_body_place(int base, int scale)
{
    struct x86_mem m = x86_at_index(base, KN_INDEX, 0);
    m.scale = scale;
    return m;
}

/* The register that an operand is in; one use of it is over. */
int kn_body_value(struct kn_body *b, int arg);
void kn_body_leave(struct kn_body *b, int arg);
/* A stream that nobody else reads can be an instruction's last operand as it lies in memory. */
bool kn_body_in_memory(const struct kn_body *b, int arg);
bool kn_chain_is_truth(const struct kn_chain *c, int arg);

/* code_integers.c. What the operation is to integers of a type; of a chain of them an item, the loading of what is no
 * truth, one number everywhere, truths as masks and from masks. */
enum kn_chain_kind kn_integers_kind(enum kn_op op, enum rt_dtype t);
void kn_integers_item(struct kn_body *b, int i);
int kn_integers_load(struct kn_body *b, struct x86_mem m);
int kn_integers_load_truths(struct kn_body *b, struct x86_mem m);
void kn_integers_spread(const struct kn_body *b, int d, struct x86_mem m);
void kn_integers_store(struct kn_body *b, int r, struct x86_mem m);
void kn_integers_store_truths(struct kn_body *b, int r, struct x86_mem m);

#endif
