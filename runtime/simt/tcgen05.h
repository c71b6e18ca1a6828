/* The fifth generation's tensor memory (PTX ISA, chapter 9.7.16), between decode_tcgen05.c, ops_tcgen05.c and the
 * vector ops: 128 lanes of 512 columns of 32 bits a block, which products of matrices add up in. An address has its
 * lane in the upper half and its column in the lower one. */
#ifndef SIMT_TCGEN05_H
#define SIMT_TCGEN05_H

#include "runtime/simt/exec.h"
#include "runtime/simt/matrix.h"

#define TENSOR_LANES   128
#define TENSOR_COLUMNS 512
#define TENSOR_PART    32 /* columns, of which an allocation has a power of 2 */
#define PRODUCT_BYTES  32 /* of a row of A, and of a column of B */
#define PRODUCT_MOST_K 32
#define PRODUCT_MOST_N 256

struct tensor_memory {
    uint32_t cells[TENSOR_LANES][TENSOR_COLUMNS];
    uint32_t allocated; /* parts, by bits */
    bool relinquished;  /* nothing more will be */
    union {             /* the operands of the product at hand: by row of A, and by column of B */
        float f[(TENSOR_LANES + PRODUCT_MOST_N) * PRODUCT_MOST_K];
        int32_t i[(TENSOR_LANES + PRODUCT_MOST_N) * PRODUCT_MOST_K];
    } operands;
};

/* ---- tcgen05.ld, tcgen05.st ---- */
/* How columns of a lane are spread over the warp: a warp has 32 lanes of tensor memory to itself. */
enum tensor_shape { TENSOR_32X32, TENSOR_16X32X2, TENSOR_16X64, TENSOR_16X128, TENSOR_16X256 };
struct tensor_move { /* in program->extra */
    uint32_t shape;
    uint32_t halves; /* .pack::16b, .unpack::16b: two columns a register, of which each has 16 bits */
    uint32_t offset; /* of .16x32bx2: columns from its first half to its second */
    uint32_t count, slots[];
};

/* ---- tcgen05.mma ---- */
enum tensor_kind { PRODUCT_F16, PRODUCT_TF32, PRODUCT_F8F6F4, PRODUCT_I8 };
struct tensor_product { /* in program->extra */
    uint32_t kind;
    uint32_t d, a, b;          /* slots: D's address; A's address, or its descriptor; B's descriptor */
    uint32_t a_here;           /* A is in tensor memory, too */
    uint32_t described, adds;  /* the instruction descriptor; the predicate that says whether D is added to */
    uint32_t masked, masks[4]; /* lanes of D that stay as they are, by bits; masked: there are such slots */
    uint32_t scale;            /* D is divided by 2 to that power first */
};

struct tensor_task { /* a product that a lane asks for */
    const struct tensor_product *x;
    struct tensor_memory *memory;
    enum matrix_type a_type, b_type, d_type;
    uint32_t m, n, k;
    uint32_t lane, column; /* where D begins */
    uint32_t masks[4];
    bool adds, saturates;
};
/* Reads what the one lane of m asks for, and both operands, into the block's tensor memory. False: a fault is set. */
bool simt_tensor_begin(char *R, const struct insn *i, uint32_t m, struct warp *w, struct tensor_task *out);
/* Columns first to first + width - 1 of D, as floats or integers of m rows, which are 0 where they are not added to;
 * those of integers count from 0. */
void simt_tensor_read(const struct tensor_task *t, uint32_t first, uint32_t width, void *out);
void simt_tensor_write(const struct tensor_task *t, uint32_t first, uint32_t width, const void *from);

void simt_tensor_start(struct worker *k); /* a block begins: nothing is allocated */
bool simt_tensor_end(struct worker *k);   /* it ends; false: with columns allocated, which is a fault, set */

/* ---- for observers ---- */
/* Does it touch shared memory: tcgen05.alloc, tcgen05.mma? Tensor memory by whole warps: tcgen05.ld, tcgen05.st? */
bool simt_is_tensor_access(const struct insn *i);
bool simt_is_tensor_move(const struct insn *i);
/* Of the latter, the columns: from there on, and so many. */
void simt_tensor_columns(char *R, const struct insn *i, const struct warp *w, uint32_t *column, uint32_t *count);
static inline bool simt_is_tensor_product(const struct insn *i)
{
    return i->flags & F_PRODUCT;
}
struct tensor_lines { /* what one lane touches there: so many pieces of so many bytes */
    uint32_t bytes, count;
    uint32_t of_b;            /* those of B, which come first; the others are A's */
    bool mixed[2];            /* by swizzles, in this order */
    uint32_t column, columns; /* of its sums, where they are those of all lanes; 0 columns: they are not */
    uint32_t at[(TENSOR_LANES + PRODUCT_MOST_N) * PRODUCT_BYTES / 16];
};
void simt_tensor_lines(char *R, const struct insn *i, uint32_t l, const struct warp *w, struct tensor_lines *out);

#endif
