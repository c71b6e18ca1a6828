/* Matrix instructions: how the elements of a small matrix are spread over the registers of a warp.
 *
 * All fragments are made of blocks of 8 rows, where lane l = 4g + t holds 32 bits (one register) of row g, the t-th of
 * four. Of a matrix A (M x K) rows are rows; of B (K x N) they are its columns, so that both hold neighbours along K.
 * Accumulators (M x N) are blocks of 8 x 8, two neighbours in a lane: a pair of registers, or one of two halves. This
 * is the layout that PTX documents for mma.sync; wmma, whose layout is nobody's business, uses several such tiles.
 * Fragments of f64 have registers of 64 bits. */
#ifndef SIMT_MATRIX_H
#define SIMT_MATRIX_H

#include "runtime/simt/exec.h"

#define MATRIX_TYPES(X)                                                                                                \
    X(F16, "f16", 16)                                                                                                  \
    X(BF16, "bf16", 16)                                                                                                \
    X(TF32, "tf32", 32)                                                                                                \
    X(E4M3, "e4m3", 8)                                                                                                 \
    X(E5M2, "e5m2", 8)                                                                                                 \
    X(E2M3, "e2m3", 8) /* the rest of .kind::f8f6f4: in the low 6 bits of a byte */                                    \
    X(E3M2, "e3m2", 8)                                                                                                 \
    X(E2M1, "e2m1", 8) /* and in the middle 4 */                                                                       \
    X(S8, "s8", 8)                                                                                                     \
    X(U8, "u8", 8)                                                                                                     \
    X(S4, "s4", 4)                                                                                                     \
    X(U4, "u4", 4)                                                                                                     \
    X(B1, "b1", 1)                                                                                                     \
    X(F64, "f64", 64)                                                                                                  \
    X(F32, "f32", 32)                                                                                                  \
    X(S32, "s32", 32)
enum matrix_type {
#define ENUM(name, text, bits) MATRIX_##name,
    MATRIX_TYPES(ENUM)
#undef ENUM
        MATRIX_TYPE_COUNT
};
static inline uint32_t matrix_bits(enum matrix_type t)
{
    static const uint8_t bits[] = {
#define BITS(name, text, n) n,
        MATRIX_TYPES(BITS)
#undef BITS
    };
    return bits[t];
}
/* Elements of A or B in a register of a lane. */
static inline uint32_t matrix_packed(enum matrix_type t)
{
    return t == MATRIX_F64 ? 1 : 32 / matrix_bits(t);
}

/* Flags of struct matrix_mma: clamp integers; popc of xor, not and; A or B of quad pairs is held by columns. */
enum { MATRIX_SATURATES = 1, MATRIX_XOR = 2, MATRIX_A_COLUMNS = 4, MATRIX_B_COLUMNS = 8 };

/* The sum of two integers: as it comes, or the nearest that fits. */
static inline uint32_t matrix_sum(uint32_t a, uint32_t b, bool saturates)
{
    int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
    if (saturates) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (uint32_t)sum;
}

/* The type that a word of an instruction names. */
bool simt_matrix_type(const char *word, enum matrix_type *out);

/* What follows an instruction in program->extra: this, then the slots of D, A, B and C in this order. */
struct matrix_mma {
    uint32_t m, n, k;
    uint32_t a_type, b_type, c_type, d_type;
    uint32_t a_count, b_count, c_count, d_count; /* registers */
    uint32_t flags;
    uint32_t slots[];
};
struct decoder;
/* Emits the product with the slots behind `h`; key is NULL, or that of another way than the type's. */
bool simt_emit_mma(struct decoder *d, const struct matrix_mma *h, const char *key, uint32_t flags);
/* The same for loads and stores of a fragment: which is 'a', 'b' or 'c'. A matrix of `rows` x `columns` lies in memory
 * in lines of `length` elements. */
struct matrix_move {
    uint32_t which, type, m, n, k;
    uint32_t lines, length;
    uint32_t along;  /* lines go in the direction in which registers hold neighbours */
    uint32_t stride; /* slot of the distance of two lines in elements; 0: lines touch */
    uint32_t space;
    uint32_t count, slots[];
};

/* Where block `index` of a fragment lies: its first row, and its first column (counted in elements) of rows as above.
 */
struct matrix_block {
    uint32_t row, column;
};
/* Of A or B, where a register is a block; packed: matrix_packed. `rows` is M or N. */
static inline struct matrix_block matrix_input_block(char which, uint32_t rows, uint32_t k, uint32_t packed,
                                                     uint32_t index)
{
    uint32_t width = 4 * packed, deep = k / width;
    if (which == 'b' || rows == 8) return (struct matrix_block){8 * (index / deep), width * (index % deep)};
    uint32_t tile = index / (2 * deep), r = index % (2 * deep);
    return (struct matrix_block){16 * tile + 8 * (r & 1), width * (r >> 1)};
}
/* Of an accumulator, where two elements of a lane are a block. */
static inline struct matrix_block matrix_sum_block(uint32_t m, uint32_t n, uint32_t index)
{
    if (m == 8) return (struct matrix_block){0, 8 * index};
    uint32_t tile = index / 2, across = n / 8;
    return (struct matrix_block){16 * (tile / across) + 8 * (index & 1), 8 * (tile % across)};
}

/* How lines of memory become registers: of ldmatrix and stmatrix, transposed or not; .m16n8 of stmatrix; .m16n16. */
enum matrix_rows { ROWS_AS_THEY_ARE, ROWS_TRANSPOSED, ROWS_TALL, ROWS_SQUARE };

/* 16 numbers of 6 or 4 bits, one after the other, to one a byte; the rest of the 16 bytes is padding. */
void simt_unpack_line(uint8_t line[16], uint32_t bits);

/* The mode of "+wgmma_rows", which finds where in shared memory lines of 16 bytes of an operand of wgmma are: of B, not
 * A; of a matrix whose lines go along M or N, not along K. */
enum { WGMMA_OF_B = 1, WGMMA_TURNED = 2 };

/* A matrix in shared memory as a descriptor of wgmma or tcgen05.mma has it, in bytes: lines of 16, which go along K or,
 * turned, along M or N; eight of them, which follow each other by `width` bytes, are a block. */
struct shared_matrix {
    uint32_t start, leading, stride;
    uint32_t bits, width; /* address bits from 4 on that the swizzle changes; 16 << bits */
};
struct shared_matrix simt_shared_matrix(uint64_t descriptor, uint32_t bits);
/* Where line r of the block is that is the `block`-th along M or N and the `deep`-th along K. */
uint32_t simt_shared_line(const struct shared_matrix *x, bool turned, uint32_t block, uint32_t deep, uint32_t r);

/* What a wmma.load, wmma.store, ldmatrix or stmatrix touches, which a warp does as a whole: so many pieces of so many
 * bytes, and the slots that a load fills. */
struct simt_pieces {
    enum ptx_space space;
    uint32_t bytes, count;
    uint64_t at[512];
    const uint32_t *slots;
    uint32_t slot_count;
    bool wide;            /* slots of 64 bits */
    uint32_t line, parts; /* where pieces lie in padded lines: a line's bytes and its number of pieces; else 0 */
};
bool simt_is_matrix_move(const struct insn *i); /* is it one of them? */
void simt_matrix_pieces(const struct warp *w, char *R, const struct insn *i, struct simt_pieces *out);

/* Begins a .sync.aligned instruction, which all lanes of the warp execute together; the op works only when this is
 * EV_NEXT, and else returns it. */
enum event simt_matrix_sync(char *R, const struct insn *i, uint32_t m, struct warp *w);

#endif
