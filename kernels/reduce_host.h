/* Reductions on the host threads: what those of long rows (reduce_host.c) and of many rows at a time (reduce_rows.c)
 * share. */
#ifndef KN_REDUCE_HOST_H
#define KN_REDUCE_HOST_H

#include "kernels/host.h"
#include "kernels/reduce.h"

#define KN_REDUCE_FAR 4194304 /* bytes that no nearer cache keeps */

struct kn_reduce_pass {
    const struct kn_reducer *r;
    const struct kn_plan *plan;
    enum kn_class class;
    size_t value;       /* bytes of one value of the class */
    bool wide;          /* added in few lanes of 8 bytes: float32 and complex64 in double */
    enum kn_class part; /* how the lanes add: float32, float64 or int64, of which a value has `parts` */
    size_t parts;       /* 1, of complex numbers 2 */
    kn_rows_loop *raw;  /* combines many rows of a dtype as they lie in memory; NULL: blocks of the class */
    enum rt_dtype raw_dtype;
    kn_extreme_loop *narrow_extreme; /* of computed blocks that hold values as they would lie in memory; else NULL */
    kn_count_true_loop *count;       /* all that is asked of an element in memory is whether it is true; else NULL */
    kn_count_true_loop *truths;      /* counts bools that are computed, which are to be added; else NULL */
    size_t decided;                  /* the item, from 1, that no other can change the result of; 0: none yet */
    enum kn_class partial_class;     /* double or complex128 then, else the class */
    size_t partial_value;
    size_t block, block_bytes; /* values of a block at most, and what it takes */
    char *stack, *heap;        /* STACK bytes; what is used instead where they do not do */
    char *scratch;
    size_t scratch_bytes; /* of one worker */
    int64_t chunks;       /* of a row */
    int64_t row_parts;    /* rows of the reducer that a row of the output has, one behind all of the one before */
    int64_t elements;     /* that a row of the output combines */
    int64_t tail;         /* of the first rows of the reducer, which have one element more than the others */
    char *partial;        /* chunks of each row, values of partial_class */
    int64_t *index;       /* likewise, for argmin and argmax: where in the row, from 0 */
    const struct rt_array *out;
};

/* Combines n values of a class or, where `a` is `to`, elements as they lie in memory; rounds where the dtype is less
 * than its class. */
void kn_reduce_combine(const struct kn_reduce_pass *p, enum kn_class class, void *to, const void *a, const void *b,
                       size_t n);
/* Bytes from an array's first element to its index-th one, in row-major order. */
int64_t kn_reduce_bytes_to(const struct rt_array *a, int64_t index);
/* The loop that combines elements that lie in memory as they are to be combined, some rows of them at a time; else
 * NULL. */
kn_rows_loop *kn_reduce_rows_loop(const struct kn_reduce_pass *p);
/* Writes n values of a class, `stride` values apart, as elements of the output from `first` on. `scratch` is two
 * blocks. */
void kn_reduce_write(const struct kn_reduce_pass *p, enum kn_class class, const char *values, int64_t stride,
                     int64_t first, size_t n, char *scratch);
/* Partial results and places for so many items, and for each worker scratch with so many blocks. */
enum rt_status kn_reduce_room(struct kn_reduce_pass *p, size_t items, size_t blocks, bool alone, struct rt_error *e);
/* Makes more rows of few that lie side by side: see reduce_rows.c. */
void kn_reduce_widen(struct kn_reducer *r, struct kn_reduce_pass *p);
/* Combines many rows at a time, block by block, into the output. */
enum rt_status kn_reduce_rows(struct kn_reduce_pass *p, struct rt_error *e);

enum rt_dtype kn_reduce_leaf_dtype(const struct kn_reduce_pass *p);
/* A walk over the elements of an item: of a chunk of a row. */
void kn_reduce_start_item(const struct kn_reduce_pass *p, size_t item, char *scratch, struct kn_walk *w);
/* reduce_wide.c. The partial results of items that are sums. */
void kn_reduce_sum_items(const struct kn_reduce_pass *p, size_t begin, size_t end, char *scratch);
/* Where an item's elements lie in memory one after the other, as they are to be combined. */
const char *kn_reduce_stored_chunk(const struct kn_reduce_pass *p, size_t item, size_t *length);
/* The same where they are `step` elements apart. */
const char *kn_reduce_apart_chunk(const struct kn_reduce_pass *p, size_t item, int64_t step, size_t *length);
/* The same of one of several leaves. */
const char *kn_reduce_chunk_of_leaf(const struct kn_reduce_pass *p, int leaf, size_t item, size_t *length);

/* reduce_truth.c. The loop that counts what is true, where that is all that is asked of elements in memory; else NULL.
 */
kn_count_true_loop *kn_reduce_count_loop(const struct kn_reduce_pass *p);
/* The partial result of an item of which no more is asked. */
void kn_reduce_count_item(struct kn_reduce_pass *p, size_t item);
/* Whether all must be true, not any; and whether an item before this one has decided that for the only row. */
bool kn_reduce_asks_for_all(const struct kn_reduce_pass *p);
bool kn_reduce_is_decided(const struct kn_reduce_pass *p, size_t item);
/* The answer of an item whose bools are computed, or lie apart. */
bool kn_reduce_ask_blocks(struct kn_reduce_pass *p, struct kn_walk *w, size_t item);
/* The place, from 0, of the first extreme of a row of bools in memory, which are one chunk. */
int64_t kn_reduce_first_bool(const struct kn_reduce_pass *p, size_t item);
/* Of n bools: where the first is that is true, or false where that is wanted; n where there is none. */
size_t kn_first_bool(const char *bools, bool wanted, size_t n);

#endif
