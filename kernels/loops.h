/* The host's inner loops: every operation, conversion, load and store over one block of elements, compiled for several
 * instruction sets (loops_base.c, loops_v3.c, loops_v4.c; loops.c says how). All give the same bits.
 *
 * Blocks hold values in the type of their class (kn_class): bool as bytes of 0 and 1, int8 to int32, uint8 and uint16
 * as int32, and so on; programs of narrow values alone have them as they lie in memory. An output block may be the very
 * block that an operand is in, never a part of one. */
#ifndef KN_LOOPS_H
#define KN_LOOPS_H

#include "kernels/ops.h"
#include "kernels/product_loops.h"
#include <stddef.h>
#include "kernels/past.h"

typedef void kn_op_loop(void *out, const void *a, const void *b, const void *c, size_t n);
/* n elements of one dtype, `stride` elements apart in memory, to or from a block. */
typedef void kn_load_loop(void *out, const void *memory, ptrdiff_t stride, size_t n);
typedef void kn_store_loop(void *memory, ptrdiff_t stride, const void *in, size_t n);
/* n indices, `stride` apart, of an axis of `length` elements, counted from 1 or from the end with negative ones: adds
 * step times each, from 0, to offsets[i], which first becomes first + i * run unless `more`. offsets NULL: only looks
 * at them. Returns whether all are within the axis; otherwise the offsets mean nothing. */
typedef bool kn_indices_loop(int64_t *offsets, const void *index, ptrdiff_t stride, int64_t step, int64_t length,
                             bool more, int64_t first, int64_t run, size_t n);
/* Whether n indices, one after the other, are all from 1 to `length`. */
typedef bool kn_counted_loop(const void *index, int64_t length, size_t n);
/* to[i] = rows[i] op rows[i + stride] op ... of 1 to KN_COMBINED_ROWS rows, one after the other; with `more` what `to`
 * has comes before them. */
typedef void kn_rows_loop(void *to, const void *rows, ptrdiff_t stride, size_t count, bool more, size_t n);
#define KN_COMBINED_ROWS 8
/* The smallest or largest of n values, 1 at least; NaN where there is any. */
typedef void kn_extreme_loop(void *best, const void *values, size_t n);
/* Where the first of n values is that is the same as `value`, from 0, or that is NaN when it is; n where there is none.
 */
typedef size_t kn_first_loop(const void *values, const void *value, size_t n);
/* Where n columns have their best value, best[i] of the rows before at where[i], of which one is NaN if any is: the
 * same with `count` rows more, up to 2^31, of which the first is the `index`-th. */
typedef void kn_search_loop(void *best, int64_t *where, const void *rows, ptrdiff_t stride, size_t count, int64_t index,
                            size_t n);
/* Keys of n floats, int32 or int64 as wide as they, that compare as the values do, both zeros alike and NaN last. */
typedef void kn_ordered_loop(void *keys, const void *values, size_t n);
/* Keys of n floats, as wide as they, that sort as unsigned integers do, downwards if told (keys.h), and the floats of
 * such keys. Both may be one block. */
typedef void kn_sorted_loop(void *keys, const void *values, bool descending, size_t n);
typedef void kn_unsorted_loop(void *values, const void *keys, bool descending, size_t n);
/* Such keys of n float32 in the upper halves of pairs, of which the lower ones count from `index` on. */
typedef void kn_paired_loop(uint64_t *pairs, const void *values, bool descending, uint32_t index, size_t n);
/* Moves the first ones of equal neighbours among n values, 1 at least, integers or floats in order, to the front;
 * returns how many. Of floats two zeros, or two NaN, are equal: `rest` are their bits without the sign, `most` those of
 * infinity; of integers both are all ones. Behind the values the memory goes on to a multiple of 64 bytes. */
typedef size_t kn_keep_loop(void *values, size_t n, uint64_t rest, uint64_t most);
/* Where, from 1 to n + 1, each of `count` keys could be inserted before an element of a row of 1 to 2^31 - 1 keys in
 * order, the first such place or, with `right`, the last. */
typedef void kn_places_loop(int64_t *places, const void *row, size_t n, const void *keys, bool right, size_t count);
/* How many of n values are at or above each of `count` edges. */
typedef void kn_at_least_loop(int64_t *counts, const double *edges, size_t count, const double *values, size_t n);
/* Points (x, y) of ascending x, n at least 1, what is below and above them, and, unless NULL, the slopes of the n - 1
 * lines between them, as wide as the result; y at `count` values between them, whose
 * places, with `right`, are known. */
struct kn_lines {
    const void *x, *y, *slopes;
    size_t n;
    double left, right;
};
typedef void kn_slopes_loop(void *slopes, const struct kn_lines *l);
typedef void kn_lines_loop(void *out, const void *values, const int64_t *places, const struct kn_lines *l,
                           size_t count);
/* Bytes ahead at which memory is asked for that is read from end to end: processors do so less far ahead by themselves,
 * and have less of it on its way. Loops over many bytes do not stop at their end, since mostly more follow. */
#define KN_AHEAD           8192
#define KN_AHEAD_LEAST     65536
#define KN_AHEAD_IN(bytes) ((bytes) >= KN_AHEAD_LEAST ? KN_AHEAD : 0)

#define KN_SUMMED_ROWS     4
/* Adds the n values of each of `rows` rows, 1 to KN_SUMMED_ROWS, that are `stride` apart to KN_WIDE_LANES lanes of its
 * own, doubles or int64, of which all but `seen` values of a row are to come: value i goes to lane i modulo their
 * number. */
typedef void kn_sum_wide_loop(void *lanes, size_t seen, const void *values, ptrdiff_t stride, size_t rows, size_t n);
/* The same of the products of n values each, float32 or float64, of one row from its first value on. */
typedef void kn_sum_products_loop(void *lanes, const void *a, const void *b, size_t n);
/* As C's frexp: of n floats the mantissas, which are as wide, and the exponents; x itself and 0 of what is not finite.
 * Nothing may overlap. */
typedef void kn_frexp_loop(void *mantissas, int32_t *exponents, const void *values, size_t n);
/* How many of n elements, one after the other in memory, are not zero. */
typedef size_t kn_count_true_loop(const void *memory, size_t n);
#define KN_WIDE_LANES 16
/* Writes whole lines to where lines begin, past the cache (past.h); `ahead` are `count` places that are read next. */
typedef void kn_past_loop(void *to, const void *from, size_t lines, const struct kn_ahead *ahead, int count);
/* A block of one class to a block of a dtype's class, rounded, wrapped or saturated to that dtype. */
typedef void kn_convert_loop(void *out, const void *in, size_t n);

/* Of int8, int16, uint8, uint16 and uint32 as they lie in memory, some of float16 and bfloat16; NULL for the others.
 * Extremes are in the type of the class.
 */
struct kn_narrow_loops {
    kn_op_loop *ops[KN_OP_COUNT][RT_DTYPE_COUNT];
    kn_extreme_loop *least[RT_DTYPE_COUNT], *greatest[RT_DTYPE_COUNT];
    kn_rows_loop *rows_least[RT_DTYPE_COUNT], *rows_greatest[RT_DTYPE_COUNT];
    kn_rows_loop *rows_add[RT_DTYPE_COUNT]; /* of 8 and 16 bits, of which sums have as many */
    /* Of all but complex numbers. Rows become numbers as wide as they, which are not zero where any, or all, are true.
     */
    kn_rows_loop *rows_any[RT_DTYPE_COUNT], *rows_all[RT_DTYPE_COUNT];
    kn_count_true_loop *count_true[RT_DTYPE_COUNT]; /* of all but complex numbers */
    kn_count_true_loop *sum[RT_DTYPE_COUNT];        /* instead of a count the sum, of integers of 32 bits and fewer */
    /* Elements, one at least, of 1, 2, 4, 8 and 16 bytes, by the logarithm of that, to and from a block as they are. */
    kn_load_loop *gather[5];
    kn_store_loop *spread[5];
    /* Between bool and the integers, where one of the two has 32 bits or fewer, and between float32 or float64 and
     * integers that are not their class; NULL for the others. */
    kn_convert_loop *convert[RT_DTYPE_COUNT][RT_DTYPE_COUNT];
};

/* Of n values those whose byte in `bits` is not 0, of which there are `room`, to the front of `to`; or their places,
 * counted from `first`. numbers[f] has the numbers of the bits that are set in f, in order. */
typedef uint16_t kn_eight __attribute__((vector_size(16)));
typedef void kn_pick_loop(void *to, size_t room, const void *from, const uint8_t *bits, size_t n,
                          const kn_eight *numbers, int64_t first);

struct kn_loops {
    kn_op_loop *ops[KN_OP_COUNT][KN_CLASS_COUNT]; /* NULL where the operation's rule never computes in that class */
    const struct kn_narrow_loops *narrow;
    const struct kn_product_loops *product;
    kn_load_loop *load[RT_DTYPE_COUNT];
    kn_store_loop *store[RT_DTYPE_COUNT];
    kn_convert_loop *convert[KN_CLASS_COUNT][RT_DTYPE_COUNT];
    kn_rows_loop
        *rows[KN_OP_COUNT][KN_CLASS_COUNT]; /* for the sums, products and extremes of most classes; else NULL */
    kn_extreme_loop *least[KN_CLASS_COUNT], *greatest[KN_CLASS_COUNT]; /* NULL for bools and complex numbers */
    kn_first_loop *first[KN_CLASS_COUNT];                              /* NULL for bools and complex numbers */
    kn_search_loop *search_least[KN_CLASS_COUNT], *search_greatest[KN_CLASS_COUNT]; /* likewise */
    kn_sum_wide_loop *sum_wide[KN_CLASS_COUNT];                                     /* of float32, float64 and int64 */
    kn_sum_products_loop *sum_products[KN_CLASS_COUNT];                             /* of float32 and float64 */
    void (*index)(int64_t *block, int64_t first, size_t n);                         /* first, first + 1, ... */
    /* start + i * step for n of i from 0 on, fewer than 2^31. */
    void (*sequence_i64)(int64_t *block, int64_t start, int64_t step, size_t n);
    void (*sequence_f64)(double *block, double start, double step, size_t n);
    kn_indices_loop *indices_32, *indices_64; /* of int32 and int64 */
    kn_counted_loop *counted_32, *counted_64;
    kn_ordered_loop *ordered_32, *ordered_64;
    kn_sorted_loop *sorted_32, *sorted_64;
    kn_unsorted_loop *unsorted_32, *unsorted_64;
    kn_paired_loop *paired_32;
    kn_keep_loop *keep_32, *keep_64;
    kn_places_loop *places_32, *places_64;
    kn_pick_loop *pick[4], *pick_places; /* of 1, 2, 4 and 8 bytes; NULL without permutations */
    kn_at_least_loop *at_least;
    kn_slopes_loop *slopes[2][2]; /* as of lines */
    kn_lines_loop *lines[2][2];   /* float32 and float64 of x, then of y; the result is as wide as the wider one */
    kn_frexp_loop *frexp[2];      /* float32, float64 */
    kn_past_loop *past;
};

extern const struct kn_loops kn_loops_base;
extern const struct kn_narrow_loops kn_narrow_base;
#if defined __x86_64__
extern const struct kn_loops kn_loops_v3, kn_loops_v4;
extern const struct kn_narrow_loops kn_narrow_v3, kn_narrow_v4;
#endif
/* The best for this processor (rt_host_level). */
const struct kn_loops *kn_host_loops(void);

/* Fills a block with one number of a dtype, in the type of its class. */
void kn_fill_block(void *block, enum rt_dtype t, const struct kn_operand *number, size_t n);
/* The same as it lies in memory. */
void kn_fill_stored(void *block, enum rt_dtype t, const struct kn_operand *number, size_t n);
/* The loop of an operation that computes in a dtype, over values as they lie in memory; NULL where there is none. */
kn_op_loop *kn_stored_loop(const struct kn_loops *l, enum kn_op op, enum rt_dtype t);
/* A conversion of values as they lie in memory; NULL where that takes a block of their class. */
kn_convert_loop *kn_stored_conversion(const struct kn_loops *l, enum rt_dtype from, enum rt_dtype to);
/* Fills a block with n values, 1 at least, of one element in memory. */
void kn_spread(enum rt_dtype t, void *block, const void *element, size_t n);

#endif
