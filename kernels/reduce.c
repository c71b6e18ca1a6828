/* What each reduction means: its types, its result for nothing, its shapes. */
#include "kernels/reduce.h"
#include <stdlib.h>
#include <string.h>

#define LARGE 65536 /* elements from which on the order of memory decides */
#define LINE  64    /* bytes of a cache line */
#define APART 2     /* elements from row to row up to which those between them may as well be combined, too */
#define PICKS 8     /* elements of a row, for each of those, from which on picking results is little beside combining */

const struct kn_reduction_info kn_reductions[KN_REDUCTION_COUNT] = {
    [KN_SUM] =
        {"sum",
         "Sum of the elements; integers and bools give int64.\n"
         "Floats are added pairwise: on the host a sum of n of them is off by at most 32 + log2(n) roundings of "
         "the sum of their absolute values, and one of float32 by 40, however many there are; on a GPU by 72 for each "
         "power of 16384 that n reaches into, or by 32 + n / 32 where a thread adds each of many rows.",
         "gpu.array({1, 2, 3}):sum() == 6"},
    [KN_PROD] = {"prod", "Product of the elements; integers and bools give int64.", "gpu.array({2, 3}):prod() == 6"},
    [KN_MIN] = {"min", "The smallest element; NaN when there is one.", "gpu.array({3, 1, 2}):min() == 1"},
    [KN_MAX] = {"max", "The largest element; NaN when there is one.", "gpu.array({3, 1, 2}):max() == 3"},
    [KN_MEAN] = {"mean", "Mean of the elements, always floating.", "gpu.array({1, 2}):mean() == 1.5"},
    [KN_ARGMIN] =
        {"argmin",
         "Index of the first smallest element, counted from 1; along several axes in row-major order among them.",
         "gpu.array({3, 1, 1}):argmin() == 2"},
    [KN_ARGMAX] =
        {"argmax",
         "Index of the first largest element, counted from 1; along several axes in row-major order among them.",
         "gpu.array({3, 1, 3}):argmax() == 1"},
    [KN_ANY] = {"any", "Whether any element is true (not zero).", "gpu.array({0, 2}):any()"},
    [KN_ALL] = {"all", "Whether all elements are true (not zero).", "not gpu.array({0, 2}):all()"},
};

enum rt_dtype kn_sum_dtype(enum rt_dtype t)
{
    return rt_dtypes[t].kind == 'f' || rt_is_complex(t) ? t : t == RT_UINT64 ? RT_UINT64 : RT_INT64;
}

static void choose_types(struct kn_reducer *r, enum rt_dtype t)
{
    bool floating = rt_dtypes[t].kind == 'f' || rt_is_complex(t);
    /* The 16-bit floats are combined in float32 and rounded once. */
    enum rt_dtype wide = t == RT_FLOAT16 || t == RT_BFLOAT16 ? RT_FLOAT32 : t;
    r->indices = r->reduction == KN_ARGMIN || r->reduction == KN_ARGMAX;
    switch (r->reduction) {
    case KN_SUM:
    case KN_PROD:
        r->combine = r->reduction == KN_SUM ? KN_ADD : KN_MUL;
        r->accumulate = kn_sum_dtype(wide);
        r->result = kn_sum_dtype(t);
        break;
    case KN_MEAN:
        r->combine = KN_ADD;
        r->accumulate = floating ? wide : RT_FLOAT64;
        r->result = floating ? t : rt_dtypes[t].size == 8 ? RT_FLOAT64 : RT_FLOAT32;
        break;
    case KN_ANY:
    case KN_ALL:
        r->combine = r->reduction == KN_ANY ? KN_LOGICAL_OR : KN_LOGICAL_AND;
        r->accumulate = r->result = RT_BOOL;
        break;
    case KN_MIN:
    case KN_MAX:
        if (t == RT_BOOL) { /* of bools they say whether all are true, and whether any is */
            r->combine = r->reduction == KN_MAX ? KN_LOGICAL_OR : KN_LOGICAL_AND;
            r->accumulate = r->result = RT_BOOL;
            break;
        } /* fall through */
    default:
        r->combine = r->reduction == KN_MIN || r->reduction == KN_ARGMIN ? KN_MINIMUM : KN_MAXIMUM;
        r->accumulate = t == RT_BOOL ? RT_INT32 : t;
        r->result = r->indices ? RT_INT64 : t;
    }
}

/* The axes of a leaf, broadcast to the shape of the values, apart: those of rows and those within a row, of which there
 * is one at least. */
static void split_axes(const struct rt_array *values, const struct rt_array *leaf, unsigned axes, struct rt_array *rows,
                       struct rt_array *row)
{
    *rows = *row = *leaf;
    rows->ndim = row->ndim = 0;
    for (int i = 0; i < values->ndim; i++) {
        struct rt_array *to = axes >> i & 1 ? row : rows;
        int axis = i - (values->ndim - leaf->ndim);
        to->shape[to->ndim] = values->shape[i];
        to->strides[to->ndim++] = axis < 0 || leaf->shape[axis] == 1 ? 0 : leaf->strides[axis];
    }
    if (row->ndim == 0) {
        row->shape[0] = 1;
        row->strides[row->ndim++] = 0;
    }
}

static void choose_rows(struct kn_reducer *r, const struct rt_array *values, unsigned axes)
{
    split_axes(values, values, axes, &r->rows, &r->row);
    for (int i = 0; i < r->program.leaves; i++)
        split_axes(values, r->program.arrays[i], axes, &r->leaves[i].rows, &r->leaves[i].row);
    r->length = rt_array_size(&r->row);
    r->count = rt_array_size(&r->rows);
}

int64_t kn_row_step(const struct rt_array *row)
{
    int64_t step = 0;
    bool first = true;
    for (int i = 0; i < row->ndim; i++) {
        if (row->shape[i] == 1) continue;
        if (!first && step != row->shape[i] * row->strides[i]) return KN_NO_STEP;
        step = row->strides[i];
        first = false;
    }
    return step;
}

/* Whether neighbouring rows are nearer to each other than the elements of one, which are `step` apart. */
static bool are_side_by_side(const struct kn_reducer *r, int64_t step)
{
    int64_t nearest = INT64_MAX;
    for (int i = 0; i < r->rows.ndim; i++)
        if (r->rows.shape[i] > 1 && llabs(r->rows.strides[i]) < nearest) nearest = llabs(r->rows.strides[i]);
    return step != KN_NO_STEP && nearest < llabs(step);
}

bool kn_rows_are_near(const struct kn_reducer *r)
{
    int64_t step = kn_row_step(&r->row);
    return step != KN_NO_STEP && (r->length < KN_SHORT_ROW || are_side_by_side(r, step));
}

/* Whether rows are windows of an image: a few elements apart at most, each with its elements along several axes. */
static bool are_windows(const struct kn_reducer *r)
{
    const int inner = r->rows.ndim - 1, last = r->row.ndim - 1;
    if (inner < 0 || last < 1 || kn_row_step(&r->row) != KN_NO_STEP) return false;
    const int64_t apart = llabs(r->rows.strides[inner]), many = r->rows.shape[inner];
    return many >= KN_ROW_OF_WINDOWS && apart <= KN_FEW_ROWS &&
           (r->row.strides[last] != 1 || r->row.shape[last] <= many);
}

/* Whether the host combines many rows at a time: those that are many, or a few side by side, but for sums of float32,
 * which have fewer roundings row by row. */
static bool are_many(const struct kn_reducer *r)
{
    const bool single = r->accumulate == RT_FLOAT32 || r->accumulate == RT_COMPLEX64;
    if (r->count >= KN_MANY_ROWS) return kn_rows_are_near(r) || are_windows(r);
    return r->count >= KN_FEW_ROWS && !(single && r->combine == KN_ADD) && are_side_by_side(r, kn_row_step(&r->row));
}

/* Makes an axis run upwards through memory. */
static void turn_up(struct rt_array *a, int axis)
{
    if (a->strides[axis] >= 0) return;
    a->offset += (a->shape[axis] - 1) * a->strides[axis];
    a->strides[axis] = -a->strides[axis];
}

/* Where an axis stands among others in memory: what repeats the same elements is outermost. */
static int64_t outwards(int64_t stride)
{
    return stride == 0 ? INT64_MAX : stride;
}

static void swap_axes(struct rt_array *a, int i, int j)
{
    const int64_t shape = a->shape[i], stride = a->strides[i];
    a->shape[i] = a->shape[j];
    a->strides[i] = a->strides[j];
    a->shape[j] = shape;
    a->strides[j] = stride;
}

/* Puts an array's axes in the order that they have in memory, upwards too if that is wanted; and those of a reducer's
 * leaves' rows (or NULL), which are the same ones, with them. */
static void order_axes(struct rt_array *a, struct kn_reducer *r, bool upwards)
{
    const int leaves = r ? r->program.leaves : 0;
    for (int i = 0; i < a->ndim; i++) {
        if (upwards) {
            turn_up(a, i);
            for (int k = 0; k < leaves; k++) turn_up(&r->leaves[k].row, i);
        }
        for (int j = i; j > 0 && outwards(a->strides[j]) > outwards(a->strides[j - 1]); j--) {
            swap_axes(a, j, j - 1);
            for (int k = 0; k < leaves; k++) swap_axes(&r->leaves[k].row, j, j - 1);
        }
    }
}

/* The axes of the leaves' rows are those of the values; on the host they run upwards. */
static void sort_row(struct kn_reducer *r)
{
    order_axes(&r->row, r, !kn_runs_generated(rt_array_device(&r->leaves[0].row)));
    for (int k = 0; k < r->program.leaves; k++) r->leaves[k].rows.offset = r->leaves[k].row.offset;
}

void kn_memory_order(const struct rt_array *a, struct rt_array *out)
{
    *out = *a;
    order_axes(out, NULL, true);
}

/* Whether a stored array's rows are combined many at a time. r has its types. */
static bool combines_many(struct kn_reducer *r, const struct rt_array *a, unsigned axes)
{
    r->program.leaves = 1;
    r->program.arrays[0] = a;
    choose_rows(r, a, axes);
    sort_row(r);
    return are_many(r);
}

/* Whether the order in which elements are combined changes no bit, and all leaves lie as the first does, which has an
 * element for each of the values, or are one element. r has its types and its program. */
static bool is_free(const struct kn_reducer *r, const struct rt_array *values)
{
    const struct rt_array *first = r->program.arrays[0];
    if (r->indices || !strchr("biu", rt_dtypes[r->accumulate].kind) || r->program.leaves == 0) return false;
    if (!rt_array_same_shape(first, values)) return false;
    for (int i = 1; i < r->program.leaves; i++) {
        const struct rt_array *a = r->program.arrays[i];
        if (rt_array_size(a) == 1) continue;
        if (!rt_array_same_shape(a, first)) return false;
        for (int k = 0; k < a->ndim; k++)
            if (a->strides[k] != first->strides[k] && a->shape[k] > 1) return false;
    }
    for (int i = 0; i < r->program.count; i++)
        if (r->program.nodes[i].kind == KN_NODE_INDEX) return false;
    return true;
}

/* Chooses rows in memory's order where there is one that either changes no bit or is that of the only array, whose own
 * elements are combined. */
static void choose_order(struct kn_reducer *r, const struct rt_array *values, bool stored, unsigned axes)
{
    const bool free = is_free(r, values);
    choose_rows(r, free ? r->program.arrays[0] : values, axes);
    if (free || (stored && !r->indices)) sort_row(r);
}

static enum rt_status reduce_nothing(const struct kn_reducer *r, const struct rt_array *a, const struct rt_array *out,
                                     struct rt_error *e)
{
    char shape[256];
    enum kn_reduction k = r->reduction;
    if (k == KN_SUM || k == KN_PROD || k == KN_ANY || k == KN_ALL)
        return kn_fill(out, &(struct kn_operand){.i = k == KN_PROD || k == KN_ALL}, e);
    return rt_fail(e, RT_INVALID, "%s of no elements has no value (the array's shape is %s)", kn_reductions[k].name,
                   rt_shape_text(a->ndim, a->shape, shape, sizeof shape));
}

/* out = sum / length, in the accumulating dtype; out may have a smaller one. */
static enum rt_status divide(const struct rt_array *sum, int64_t length, struct rt_array *out, struct rt_error *e)
{
    struct kn_operand args[2] = {{.array = sum}, {.is_float = true, .f = (double)length}};
    return kn_apply(KN_DIV, args, out, e);
}

static enum rt_status run(struct kn_reducer *r, struct rt_array *out, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(out);
    struct rt_array sum = {0};
    const struct rt_array *to = out;
    int64_t length = r->length;
    if (!kn_runs_generated(d)) return kn_reduce_host(r, out, e);
    if (r->reduction == KN_MEAN) {
        enum rt_status status = rt_array_new(d, r->accumulate, out->ndim, out->shape, &sum, e);
        if (status != RT_OK) return status;
        to = &sum;
    }
    enum rt_status status = kn_reduce_cuda(r, to, e);
    if (status == RT_OK && r->reduction == KN_MEAN) status = divide(&sum, length, out, e);
    rt_array_release(&sum);
    return status;
}

void kn_reduced_shape(const struct rt_array *a, unsigned axes, bool keepdims, int *ndim, int64_t *shape)
{
    *ndim = 0;
    for (int i = 0; i < a->ndim; i++) {
        bool gone = axes >> i & 1;
        if (gone && keepdims) shape[(*ndim)++] = 1;
        if (!gone) shape[(*ndim)++] = a->shape[i];
    }
}

/* Reduces what r's program computes, of the dtype, shape and strides of `values`, which may be stored as they are. r
 * has its types. */
static enum rt_status reduce(struct kn_reducer *r, const struct rt_array *values, bool stored, unsigned axes,
                             bool keepdims, struct rt_array *out, struct rt_error *e)
{
    int64_t shape[RT_MAX_DIMS];
    int ndim, node = r->program.count - 1;
    unsigned all = (1u << values->ndim) - 1;
    enum rt_status status = kn_check_devices(r->program.arrays, r->program.leaves, e);
    if (status != RT_OK) return status;
    if (axes != KN_ALL_AXES && axes & ~all)
        return rt_fail(e, RT_INVALID, "%s: there is no axis %d, the array has %d", kn_reductions[r->reduction].name,
                       32 - __builtin_clz(axes & ~all), values->ndim);
    axes &= all;
    if (r->combine == KN_MINIMUM || r->combine == KN_MAXIMUM) {
        status = kn_check_real(values, kn_reductions[r->reduction].name, e);
        if (status != RT_OK) return status;
    }
    status = kn_program_convert(&r->program, node, r->accumulate, &node, e);
    if (status != RT_OK) return status;
    choose_order(r, values, stored, axes);
    r->many = are_many(r);
    kn_reduced_shape(values, axes, keepdims, &ndim, shape);
    status = rt_array_new(rt_array_device(r->program.arrays[0]), r->result, ndim, shape, out, e);
    if (status != RT_OK) return status;
    if (r->length == 0 && r->count > 0)
        status = reduce_nothing(r, values, out, e);
    else if (r->count > 0)
        status = run(r, out, e);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

/* On the host, the axis along which rows lie backwards or a few elements apart, so that each element would be loaded by
 * itself; -1 where there is none, or loading is not what takes the time: looking for places takes longer. */
static int axis_to_fill(const struct kn_reducer *r, const struct rt_array *a, unsigned axes)
{
    const int64_t most = r->indices ? 1 : APART;
    int64_t length = 1;
    int found = -1;
    if (kn_runs_generated(rt_array_device(a))) return -1;
    for (int i = 0; i < a->ndim; i++) {
        if (axes >> i & 1)
            length *= a->shape[i];
        else if (a->shape[i] >= KN_FEW_ROWS && a->strides[i] != 0 && llabs(a->strides[i]) <= most)
            found = i;
    }
    if (found < 0 || a->strides[found] == 1) return -1;
    return length >= PICKS * llabs(a->strides[found]) ? found : -1;
}

/* The array with all that lies between its elements along an axis, which then runs upwards. */
static struct rt_array fill_axis(const struct rt_array *a, int axis)
{
    struct rt_array filled = *a;
    turn_up(&filled, axis);
    filled.shape[axis] = (a->shape[axis] - 1) * filled.strides[axis] + 1;
    filled.strides[axis] = 1;
    return filled;
}

/* Copies what is the array's of the results of the filled one, in which the axis is the at-th. */
static enum rt_status pick(const struct rt_array *results, int at, int64_t count, int64_t step, struct rt_array *out,
                           struct rt_error *e)
{
    struct rt_array picked;
    enum rt_status status = rt_array_slice(results, at, step < 0 ? results->shape[at] - 1 : 0, count, step, &picked, e);
    if (status != RT_OK) return status;
    status = rt_array_new(rt_array_device(results), results->dtype, picked.ndim, picked.shape, out, e);
    if (status == RT_OK) status = kn_copy(out, &picked, e);
    if (status != RT_OK) rt_array_release(out);
    rt_array_release(&picked);
    return status;
}

static enum rt_status reduce_as_it_is(struct kn_reducer *r, const struct rt_array *a, unsigned axes, bool keepdims,
                                      struct rt_array *out, struct rt_error *e)
{
    int node;
    memset(out, 0, sizeof *out);
    kn_program_start(&r->program);
    enum rt_status status = kn_program_array(&r->program, a, &node, e);
    return status == RT_OK ? reduce(r, a, true, axes, keepdims, out, e) : status;
}

/* Where rows that are combined many at a time do not lie side by side, those between them are combined with them: each
 * from the same elements, in the same order. */
static enum rt_status reduce_array(struct kn_reducer *r, const struct rt_array *a, unsigned axes, bool keepdims,
                                   struct rt_array *out, struct rt_error *e)
{
    const unsigned all = (1u << a->ndim) - 1;
    const int axis = axis_to_fill(r, a, axes);
    r->filled = false;
    if (axis < 0 || !combines_many(r, a, axes & all)) return reduce_as_it_is(r, a, axes, keepdims, out, e);
    const struct rt_array filled = fill_axis(a, axis);
    struct rt_array results;
    memset(out, 0, sizeof *out);
    r->filled = true;
    enum rt_status status = reduce_as_it_is(r, &filled, axes, keepdims, &results, e);
    if (status != RT_OK) return status;
    const int gone = keepdims ? 0 : __builtin_popcount(axes & ((1u << axis) - 1));
    status = pick(&results, axis - gone, a->shape[axis], a->strides[axis], out, e);
    rt_array_release(&results);
    return status;
}

enum rt_status kn_reduce(enum kn_reduction reduction, const struct rt_array *a, unsigned axes, bool keepdims,
                         struct rt_array *out, struct rt_error *e)
{
    struct kn_reducer r; /* large, and mostly unused */
    if (kn_reduce_repeats(reduction, a, axes)) return kn_reduce_repeated(reduction, a, axes, keepdims, out, e);
    r.reduction = reduction;
    choose_types(&r, a->dtype);
    return reduce_array(&r, a, axes, keepdims, out, e);
}

enum rt_status kn_sum_wrapped(const struct rt_array *a, unsigned axes, bool keepdims, struct rt_array *out,
                              struct rt_error *e)
{
    struct kn_reducer r; /* large, and mostly unused */
    r.reduction = KN_SUM;
    choose_types(&r, a->dtype);
    if (strchr("iu", rt_dtypes[a->dtype].kind)) {
        r.accumulate = rt_dtypes[a->dtype].size < 4 ? RT_INT32 : a->dtype;
        r.result = a->dtype;
    }
    return reduce_array(&r, a, axes, keepdims, out, e);
}

bool kn_program_lies_across(const struct kn_program *p, const struct rt_array *values, int64_t apart)
{
    for (int i = 0; i < p->leaves; i++) {
        const struct rt_array *a = p->arrays[i];
        bool near = false;
        if (a->ndim < 2 || !rt_array_same_shape(a, values)) continue;
        for (int k = 0; k < a->ndim - 1; k++) near |= a->strides[k] == 1 && a->shape[k] > 1;
        if (near && llabs(a->strides[a->ndim - 1]) * rt_dtypes[a->dtype].size >= apart) return true;
    }
    return false;
}

/* On the host, whether each cache line of a leaf of many elements would be read for every element in it. Of values of 8
 * bytes, which are the fewest of a line, storing costs as much. */
static bool lies_across(const struct kn_program *p, const struct rt_array *values)
{
    if (rt_array_size(values) < LARGE || rt_dtypes[values->dtype].size >= 8) return false;
    return !kn_runs_generated(rt_array_device(p->arrays[0])) && kn_program_lies_across(p, values, LINE);
}

/* On the host, whether rows are to be combined as more of them, and a leaf's axes stand in the way. */
static bool cannot_widen(const struct kn_program *p, const struct rt_array *values, unsigned axes)
{
    struct kn_reducer r;
    if (kn_runs_generated(rt_array_device(p->arrays[0]))) return false;
    kn_program_assign(&r.program, p);
    r.indices = r.filled = false;
    choose_rows(&r, values, axes & ((1u << values->ndim) - 1));
    if (!kn_reduce_widens(&r)) return false;
    for (int i = 0; i < p->leaves; i++)
        if (kn_row_step(&r.leaves[i].row) == KN_NO_STEP) return true;
    return false;
}

/* By storing the values first, tile by tile. False where there is no memory for that. */
static bool reduce_stored(const struct kn_program *p, enum kn_reduction reduction, unsigned axes, bool keepdims,
                          struct rt_array *out, enum rt_status *status, struct rt_error *e)
{
    struct rt_array stored = {0};
    struct rt_error error = {0};
    struct kn_program whole;
    kn_program_assign(&whole, p);
    *status = kn_program_run(&whole, &stored, &error);
    rt_error_clear(&error);
    if (*status == RT_OK) *status = kn_reduce(reduction, &stored, axes, keepdims, out, e);
    bool done = stored.storage != NULL;
    rt_array_release(&stored);
    return done;
}

enum rt_status kn_program_reduce(const struct kn_program *p, enum kn_reduction reduction, unsigned axes, bool keepdims,
                                 struct rt_array *out, struct rt_error *e)
{
    const struct kn_node *last = &p->nodes[p->count - 1];
    struct rt_array values;
    memset(out, 0, sizeof *out);
    if (last->kind == KN_NODE_ARRAY) return kn_reduce(reduction, p->arrays[last->leaf], axes, keepdims, out, e);
    struct kn_reducer r;
    r.reduction = reduction;
    r.filled = false;
    kn_program_assign(&r.program, p);
    enum rt_status status = kn_program_form(p, &values, e);
    if (status != RT_OK) return status;
    choose_types(&r, values.dtype);
    bool store = !is_free(&r, &values) && (lies_across(p, &values) || cannot_widen(p, &values, axes));
    if (store && reduce_stored(p, reduction, axes, keepdims, out, &status, e)) return status;
    return reduce(&r, &values, false, axes, keepdims, out, e);
}

/* The values of a program as reductions see them: contiguous, or as the array has them that is all there is to it. */
static enum rt_status values_of(const struct kn_program *p, struct rt_array *values, struct rt_error *e)
{
    const struct kn_node *last = &p->nodes[p->count - 1];
    if (last->kind != KN_NODE_ARRAY) return kn_program_form(p, values, e);
    *values = *p->arrays[last->leaf];
    return RT_OK;
}

bool kn_reduces_many(const struct kn_program *p, enum kn_reduction k, int outer)
{
    struct kn_reducer r;
    struct rt_array values;
    if (values_of(p, &values, NULL) != RT_OK) return false;
    r.program.leaves = 0;
    r.reduction = k;
    choose_types(&r, values.dtype);
    const unsigned axes = (1u << values.ndim) - (1u << outer);
    if (p->nodes[p->count - 1].kind == KN_NODE_ARRAY) return combines_many(&r, &values, axes);
    choose_rows(&r, &values, axes);
    return are_many(&r);
}

/* All but `many`. */
static enum rt_status make_reducer(const struct kn_program *p, enum kn_reduction k, unsigned axes, struct kn_reducer *r,
                                   struct rt_error *e)
{
    struct rt_array values;
    int node = p->count - 1;
    enum rt_status status = values_of(p, &values, e);
    if (status != RT_OK) return status;
    r->reduction = k;
    r->filled = false;
    kn_program_assign(&r->program, p);
    choose_types(r, values.dtype);
    if ((status = kn_program_convert(&r->program, node, r->accumulate, &node, e)) == RT_OK)
        choose_order(r, &values, p->nodes[p->count - 1].kind == KN_NODE_ARRAY, axes);
    return status;
}

bool kn_reduces_by_blocks(const struct kn_program *p, enum kn_reduction k, int outer, struct kn_program *combined,
                          enum kn_op *op)
{
    struct kn_reducer r;
    struct rt_array values;
    if (values_of(p, &values, NULL) != RT_OK) return false;
    if (make_reducer(p, k, (1u << values.ndim) - (1u << outer), &r, NULL) != RT_OK) return false;
    kn_program_assign(combined, &r.program);
    *op = r.combine;
    return !kn_rows_are_near(&r);
}

enum rt_status kn_program_reduce_into(const struct kn_program *p, enum kn_reduction k, unsigned axes, bool many,
                                      const struct rt_array *out, struct rt_error *e)
{
    struct kn_reducer r;
    enum rt_status status = make_reducer(p, k, axes, &r, e);
    if (status != RT_OK) return status;
    r.many = many;
    return kn_runs_generated(rt_array_device(out)) ? kn_reduce_cuda(&r, out, e) : kn_reduce_host(&r, out, e);
}

enum rt_status kn_reduction_source(const struct kn_program *p, enum kn_reduction k, unsigned axes, struct kn_text *t,
                                   struct rt_error *e)
{
    struct kn_reducer r;
    enum rt_status status = make_reducer(p, k, axes, &r, e);
    if (status == RT_OK) kn_reduce_cuda_source(&r, r.result, t);
    return status;
}
