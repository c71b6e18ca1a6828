/* Evaluating a program on the host block by block; reductions consume the blocks, everything else stores them. */
#ifndef KN_HOST_H
#define KN_HOST_H

#include <string.h>
#include "kernels/code.h"
#include "kernels/loops.h"
#include "kernels/past.h"
#include "kernels/program.h"

#define KN_BLOCK 2048  /* elements of a block at most: a few blocks fit the first-level cache */
#define KN_GRAIN 32768 /* elements that one piece of parallel work has */

/* Elements of each piece of n, of whole lines of any dtype: `least`, from which on a thread is worth waking, or fewer
 * where there are few pieces, of which all threads then get as many that are as long. */
size_t kn_even_grain(size_t n, size_t least);

/* Elements from which on a thread is worth waking for one operation over values as they lie in memory, of which the
 * widest have so many bytes. */
size_t kn_op_grain(enum kn_op op, size_t widest);

/* Writes bytes, whole lines of them past the cache; `ahead` are `count` places that are read next. */
void kn_write_past(char *to, const char *from, size_t bytes, const struct kn_ahead *ahead, int count);

/* Copies bytes that are few: calls of memcpy would take longer. */
static inline void kn_copy_short(char *to, const char *from, size_t bytes)
{
    if (bytes > 64) {
        memcpy(to, from, bytes);
    } else if (bytes >= 16) {
        for (size_t i = 0; i < bytes - 16; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (size_t i = 0; i < bytes; i++) to[i] = from[i];
    }
}

/* A program prepared for blocks over a space. */
struct kn_plan {
    const struct kn_program *program;
    const struct kn_loops *loops;
    struct kn_space space;
    const char *base[KN_MAX_LEAVES]; /* host address of each leaf's first element */
    bool linear[KN_MAX_LEAVES], constant[KN_MAX_LEAVES];
    bool narrow; /* blocks hold values as they lie in memory, whatever their class */
    bool used[KN_MAX_NODES];
    struct kn_group groups[KN_CODE_GROUPS]; /* of nodes that are not used, but for the last */
    int group_count;
    short slot[KN_MAX_NODES]; /* where a node's block is kept, in blocks; -1: another node's or the leaf's own memory */
    int slots;
    size_t block;    /* elements of this plan's blocks at most */
    size_t long_row; /* rows from this length on are not mixed within a block */
    size_t slot_bytes;
};

/* Fills *plan for a program whose values are consumed in the types of their classes or, with `stored`, are stored in
 * out, which then lets the plan be narrow. `times`: how often blocks of all of out are evaluated, at other shifts. */
void kn_plan_make(const struct kn_program *p, const struct rt_array *out, bool stored, int64_t times,
                  struct kn_plan *plan);
/* Of a plan whose program is one leaf: where rows of so many elements at least lie side by side in memory as they are
 * wanted, though they are apart from each other, blocks end where they do and are read in place. */
void kn_plan_read_rows(struct kn_plan *plan, size_t least);
/* It is one value everywhere: its block is filled once for all blocks. */
static inline bool kn_plan_is_fixed(const struct kn_plan *plan, const struct kn_node *n)
{
    return n->kind == KN_NODE_NUMBER || (n->kind == KN_NODE_ARRAY && plan->constant[n->leaf]);
}
/* The group of which the node is the last, or NULL. */
static inline const struct kn_group *kn_plan_group(const struct kn_plan *plan, int node)
{
    for (int k = 0; k < plan->group_count; k++)
        if (plan->groups[k].root == node) return &plan->groups[k];
    return NULL;
}
/* What the node's operation says of all elements, -1 where it has to look at them. */
int kn_node_answer(const struct kn_program *p, const struct kn_node *n);
/* Bytes of a value of the dtype in a block. */
size_t kn_plan_value_size(const struct kn_plan *plan, enum rt_dtype t);
/* A block of the dtype is what lies in memory. */
bool kn_plan_as_stored(const struct kn_plan *plan, enum rt_dtype t);
/* The loop of an operation, which computes in the last operand's dtype; where's first one is bool. NULL when the plan
 * is narrow and there is none. */
kn_op_loop *kn_plan_loop(const struct kn_plan *plan, const struct kn_node *n);
/* Bytes of scratch memory that one worker needs. */
size_t kn_plan_scratch(const struct kn_plan *plan);
/* Makes the blocks of a plan over many elements longer. */
void kn_plan_lengthen(struct kn_plan *plan, size_t block);

/* A worker's walk over the elements [position, end) in row-major order of the space. */
struct kn_walk {
    const struct kn_plan *plan;
    char *scratch;
    int64_t position, end;
    int64_t shift[KN_MAX_LEAVES]; /* bytes added to the leaves' addresses: reductions walk over other rows by it */
    int64_t coordinates[RT_MAX_DIMS];
    const char *turned[KN_MAX_LEAVES]; /* where the next elements of a leaf lie side by side; NULL: in its array */
    const void *values[KN_MAX_NODES];  /* of the current block, by node */
};
/* The block that a node of the plan has. */
void *kn_walk_slot(const struct kn_walk *w, int node);
/* Positions the walk, with these shifts (NULL: none), and fills the blocks of numbers. */
void kn_walk_start(const struct kn_plan *plan, char *scratch, int64_t begin, int64_t end, const int64_t *shift,
                   struct kn_walk *w);
/* Goes on with other shifts; the blocks to come have n elements at most. */
void kn_walk_shift(struct kn_walk *w, const int64_t *shift, size_t n);
/* How many elements the next block has: the plan's at most, to the row's end where rows are long; 0 at the end. */
size_t kn_walk_next(const struct kn_walk *w);
/* Evaluates the last node over the next n elements. The result lies in `out` when that is not NULL and the last node
 * computes anything, else where it happens to be; returns its address. */
const void *kn_walk_evaluate(struct kn_walk *w, size_t n, void *out);
void kn_walk_advance(struct kn_walk *w, size_t n);
void kn_walk_move(struct kn_walk *w, const int64_t *coordinates);

/* One run of a program into an array. */
struct kn_run {
    struct kn_plan plan;
    char *base, *scratch;
    size_t scratch_bytes; /* a worker's */
    bool linear;          /* the output is */
    bool tiled;           /* it goes in tiles */
    bool past;            /* blocks are written past the cache */
};
/* Evaluates the next n elements and stores them; the walk stays where it is. */
void kn_run_block(const struct kn_run *r, struct kn_walk *w, size_t n);

/* How a run goes in tiles, because leaves run along another axis than the output: a transposed matrix, say. */
struct kn_tiles {
    struct kn_run *run;
    int across;                  /* the axis that they run along */
    bool turned[KN_MAX_LEAVES];  /* which they are; */
    size_t place[KN_MAX_LEAVES]; /* and where a worker has their tiles, behind the slots of the plan */
    int64_t rows, columns;       /* of a tile: along `across`, along the last axis */
    int64_t row_tiles, column_tiles;
    bool together; /* the rows of a tile, which are whole, are one block */
    size_t bytes;  /* of scratch memory, beside the plan's */
};
/* Whether a run of the plan, whose blocks may become longer, is to go in tiles; fills *t, but for the run. */
bool kn_tiles_choose(struct kn_plan *plan, struct kn_tiles *t);
/* `alone`: r has scratch memory for one worker. */
void kn_tiles_run(struct kn_tiles *t, struct kn_run *r, bool alone);

/* Where a program's leaves all lie in one order that is not the result's, and that is small enough to be turned when it
 * has been computed: *room becomes an array for it, like out, that lies as they do. */
bool kn_turned_room(const struct kn_program *p, const struct rt_array *out, struct rt_array *room);

/* Whether a run is of one operation over rows that its operands have side by side or one element for, and then that
 * run. */
bool kn_broadcast_choose(const struct kn_run *r);
void kn_broadcast_run(struct kn_run *r);

/* Elements of `size` bytes that are transposed: to[i * to_stride + j] = from[j * from_stride + i], strides in elements,
 * for `rows` of i, those of a cache line at most, and `columns` of j. */
struct kn_turn {
    size_t size;
    char *to;
    int64_t to_stride;
    const char *from;
    int64_t from_stride, rows, columns;
};
/* kernels/copy_host.c. Rows of `to` up to the next whole 16 bytes of elements may be written, too. */
void kn_turn_line(const struct kn_turn *t);

#endif
