/* Views of every layout, and what every operation gives in them. The elements are taken from a few values, so what an
 * operation gives for each choice of them is compared with the reference once, and looked up in all views. */
#ifndef OPS_VIEWS_H
#define OPS_VIEWS_H

#include "tests/unit/ops_reference.h"

/* Of (rows, columns): as it was made, every second element, both axes backwards, turned from (columns, rows), one row
 * for all rows, one column for all columns; and, to be broadcast by the operation, a row alone and a single number. */
enum layout { PLAIN, STEPPED, REVERSED, TRANSPOSED, ROWS, COLUMNS, LINE, ONE, LAYOUTS };

static const int64_t view_shapes[][2] = {{3, 0}, {1, 1}, {3, 5}, {3, 7}, {3, 11}, {3, 13}, {2, 4096 + 1}};
#define VIEW_SHAPES (sizeof view_shapes / sizeof *view_shapes)

/* A view of such a layout; fill it element by element. */
static inline struct rt_array view_of(enum layout layout, enum rt_dtype t, int64_t rows, int64_t columns)
{
    struct rt_array whole = {0}, half = {0}, out = {0};
    int64_t shapes[LAYOUTS][2] = {
        {rows, columns}, {2 * rows + 1, 2 * columns + 1}, {rows, columns}, {columns, rows}, {1, columns}, {rows, 1},
        {columns, 0}};
    int ndim = layout == LINE ? 1 : layout == ONE ? 0 : 2;
    OK(rt_array_new(test_device(), t, ndim, shapes[layout], &whole, e));
    switch (layout) {
    case STEPPED:
        OK(rt_array_slice(&whole, 0, 1, rows, 2, &half, e));
        OK(rt_array_slice(&half, 1, columns > 0, columns, 2, &out, e));
        break;
    case REVERSED:
        OK(rt_array_slice(&whole, 0, rows - 1, rows, -1, &half, e));
        OK(rt_array_slice(&half, 1, columns > 0 ? columns - 1 : 0, columns, -1, &out, e));
        break;
    case TRANSPOSED: OK(rt_array_permute(&whole, (int[]){1, 0}, &out, e)); break;
    case ROWS:
    case COLUMNS: OK(rt_array_broadcast(&whole, 2, (int64_t[]){rows, columns}, &out, e)); break;
    default: return whole;
    }
    rt_array_release(&whole);
    rt_array_release(&half);
    return out;
}

/* How many values an operand may have, by the number of operands: a power of 2. */
static const int choices[] = {0, 64, 16, 8};

/* Which of them is at row r and column c of an operand of such a layout. */
static inline int choice(enum layout layout, int operand, int64_t r, int64_t c, int arity)
{
    if (layout == ROWS || layout == LINE || layout == ONE) r = 0;
    if (layout == COLUMNS || layout == ONE) c = 0;
    uint32_t mixed = (uint32_t)(7 * r + c + 5 * operand + layout) * 2654435761u;
    return (int)(mixed >> 16) & (choices[arity] - 1);
}

/* The values of an operand, one after the other. */
static inline struct rt_array values_of(enum rt_dtype t, int operand)
{
    int64_t n = choices[1];
    return test_array(t, 1, &n, 77 * (uint32_t)(operand + 1), !rt_is_complex(t));
}

static inline struct rt_array filled_view(enum layout layout, enum rt_dtype t, int operand, int arity,
                                          const int64_t *shape)
{
    ARRAYS values = values_of(t, operand);
    struct rt_array out = view_of(layout, t, shape[0], shape[1]);
    int64_t size = rt_array_size(&out), columns = out.ndim ? out.shape[out.ndim - 1] : 1;
    for (int64_t i = 0; i < size; i++)
        memcpy(element(&out, i), element(&values, choice(layout, operand, i / columns, i % columns, arity)),
               rt_dtypes[t].size);
    return out;
}

/* For each element of the result, row by row: which choices of all operands it is made of, as a place in what
 * known_results gives. Of the shape (rows, columns), or fewer where no operand has them. */
static inline void places_of(const enum layout *layouts, int arity, const int64_t *shape, const struct rt_array *out,
                             uint16_t *places)
{
    int64_t columns = out->ndim > 0 ? out->shape[out->ndim - 1] : 1, rows = out->ndim > 1 ? out->shape[0] : 1;
    CHECK(columns == shape[1] || out->ndim == 0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int place = 0;
            for (int k = arity - 1; k >= 0; k--) place = place * choices[arity] + choice(layouts[k], k, r, c, arity);
            *places++ = (uint16_t)place;
        }
}

/* The operation on operands of the dtype t, every element compared with the reference; false where it refuses the
 * dtype, as it should. `result` may be an array that is written to. */
static inline bool checked_result(enum kn_op op, enum rt_dtype t, const struct rt_array *a, struct rt_array *result)
{
    struct kn_operand args[3];
    const struct rt_array *pointers[3];
    for (int k = 0; k < kn_ops[op].arity; k++) {
        args[k] = of_array(&a[k]);
        pointers[k] = &a[k];
    }
    if ((integers_only(op) && is_floating(t)) || (rt_is_complex(t) && !has_complex_meaning(op))) {
        FAILS(RT_INVALID, kn_ops[op].name, kn_apply(op, args, result, e));
        return false;
    }
    enum rt_dtype computed = expected_dtype(op, t), said;
    enum rt_dtype want = gives_bool(op) ? RT_BOOL : rt_is_complex(t) && op == KN_ABS ? rt_real_of(t) : computed;
    OK(kn_result_dtype(op, args, &said, e));
    CHECK_INT(said, want);
    OK(kn_apply(op, args, result, e));
    CHECK_INT(result->dtype, want);
    /* bools are 0 and 1 in arithmetic, so the reference's bits are int32's */
    if (rt_is_complex(t))
        check_complex_result(op, t, pointers, result);
    else
        check_result(op, computed, pointers, result);
    return true;
}

/* What the operation gives for all choices of its operands, checked; no storage where it refuses the dtype. */
static inline struct rt_array known_results(enum kn_op op, enum rt_dtype t)
{
    struct rt_array a[3] = {{0}}, result = {0};
    int arity = kn_ops[op].arity, size = choices[arity];
    int64_t all = arity == 1 ? size : arity == 2 ? size * size : size * size * size;
    for (int k = 0, each = 1; k < arity; k++, each *= size) {
        ARRAYS values = values_of(t, k);
        OK(rt_array_new(test_device(), t, 1, &all, &a[k], e));
        for (int64_t i = 0; i < all; i++)
            memcpy(element(&a[k], i), element(&values, i / each % size), rt_dtypes[t].size);
    }
    checked_result(op, t, a, &result);
    for (int k = 0; k < arity; k++) rt_array_release(&a[k]);
    return result;
}

/* The first element of `got`, contiguous, whose bits are not those of its place in `known`, from `i` on; n when all
 * are. */
static inline int64_t first_difference(const struct rt_array *known, const void *got, const uint16_t *places, int64_t i,
                                       int64_t n)
{
    const void *want = rt_array_host(known);
#define SCAN(type)                                                                                                     \
    for (; i < n; i++)                                                                                                 \
        if (((const type *)got)[i] != ((const type *)want)[places[i]]) return i;                                       \
    break
    switch (rt_dtypes[known->dtype].size) {
    case 1: SCAN(uint8_t);
    case 2: SCAN(uint16_t);
    case 4: SCAN(uint32_t);
    case 8: SCAN(uint64_t);
    default: SCAN(unsigned __int128);
    }
#undef SCAN
    return n;
}

#endif
