/* Machine code for chains of operations on the host: what a group of them computes stays in registers, in one loop from
 * where the operands lie to where the result goes. Where it cannot be had the loops of the operations do the same, one
 * after the other, to the same bits. */
#ifndef KN_CODE_H
#define KN_CODE_H

#include "kernels/program.h"

#define KN_CODE_GROUPS 8  /* of a plan */
#define KN_CODE_NODES  48 /* of a group */
#define KN_CODE_INPUTS 16

/* n results from the inputs, each the address of n values or, of one that is the same everywhere, of that. */
typedef void kn_code_loop(const void *const *inputs, void *out, size_t n);

/* A group as its code is kept: what it computes, whatever for. All its numbers have one type. */
struct kn_chain {
    uint8_t type; /* enum rt_dtype: a float's of 32 or 64 bits or an integer's of 8 to 32 */
    uint8_t count, inputs;
    uint8_t unused;                /* so that no byte has just any value: it is a key */
    uint8_t input[KN_CODE_INPUTS]; /* enum kn_chain_input */
    struct kn_chain_item {
        uint8_t op;        /* enum kn_op, or KN_CHAIN_NUMBER */
        uint8_t arg[3];    /* an item before this one, or KN_CHAIN_INPUT and more: an input */
    } item[KN_CODE_NODES]; /* the last one is the result */
};
enum kn_chain_input {
    KN_CHAIN_STREAM, /* numbers of the chain's type */
    KN_CHAIN_TRUTHS,
    KN_CHAIN_SAME,
    KN_CHAIN_INT8, /* integers, where the type is float32, to be made such numbers */
    KN_CHAIN_UINT8,
    KN_CHAIN_INT16,
    KN_CHAIN_UINT16,
    KN_CHAIN_INT32
};
#define KN_CHAIN_NUMBER 255 /* a truth as 0 or 1, or an integer */
#define KN_CHAIN_INPUT  64

/* What code can be made of: kinds of items by what they take and give. */
enum kn_chain_kind { KN_CHAIN_NONE, KN_CHAIN_NUMBERS, KN_CHAIN_COMPARES, KN_CHAIN_LOGIC, KN_CHAIN_CHOOSES };
/* In a chain of numbers of that type; KN_BITWISE_AND and the like are of integers, of truths KN_LOGICAL_AND. */
enum kn_chain_kind kn_chain_kind(enum kn_op op, enum rt_dtype t);
/* The code, of *size bytes, for x86_uninstall, by vectors of 256 bits (AVX2) or 512 (AVX-512); NULL where there is
 * none: another kind of processor, no memory, too many values at a time. */
kn_code_loop *kn_chain_compile(const struct kn_chain *c, int bits, size_t *size);

struct kn_plan;
struct kn_group {
    kn_code_loop *run;
    short root;
    uint8_t inputs;
    uint32_t same;                              /* bits: of these inputs the address of one value is given */
    short input[KN_CODE_INPUTS];                /* nodes of the plan */
    _Alignas(8) char number[KN_CODE_INPUTS][8]; /* of those that are numbers: in their dtype */
};
/* Finds the plan's groups whose code can be had; fills plan->groups and group_count. */
void kn_plan_find_groups(struct kn_plan *plan, int64_t times);

/* For tests: 0: no code, 1: for arrays of any size, -1: as ever. Returns how many chains have been compiled so far. */
size_t kn_force_code(int on);

#endif
