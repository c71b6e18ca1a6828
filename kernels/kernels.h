/* Array operations: what lang/ calls. An operation on the cpu and simt devices runs natively on the host threads; on
 * cuda it runs as CUDA C generated from the same table (ops.def). kn_force_generated(true) sends the generated CUDA C
 * through the software GPU as well, so that path is tested on machines without a GPU.
 *
 * An operand is an array or a number. Numbers are weak: an integer never changes an array's dtype, a float changes an
 * integer array's to float32 (int64: float64) and no floating one's. All arrays of one call are on one device, else
 * RT_INVALID names both. Elementwise work goes through a program of one or more operations (kn_program), which
 * expressions that wait become (kernels/expression.h); kn_apply is the program of one operation. */
#ifndef KN_KERNELS_H
#define KN_KERNELS_H

#include "runtime/array.h"

enum kn_op { /* one per row of ops.def */
#define KN_OP(id, ...) KN_##id,
#include "kernels/ops.def"
             KN_OP_COUNT
};

struct kn_op_info {
    const char *name;    /* Lua method name: "sqrt", "add", "gt" */
    int arity;           /* 1, 2 or 3 */
    const char *doc;     /* one line */
    const char *example; /* a Lua expression that is true, or NULL */
    const char *symbol;  /* the Lua metamethod that means it: "__add"; NULL when none */
};
extern const struct kn_op_info kn_ops[KN_OP_COUNT];

struct kn_operand {
    const struct rt_array *array; /* NULL: a number */
    bool is_float, is_complex;    /* for a number: i, or f, or f + im * i; what is complex is a float, too */
    double f, im;
    int64_t i;
};

/* The dtype of op over these operands. RT_INVALID when the op has no meaning for them (names op and dtypes). */
enum rt_status kn_result_dtype(enum kn_op op, const struct kn_operand *args, enum rt_dtype *out, struct rt_error *e);

/* RT_INVALID when the array is complex, for a function called `what` of a message that has no meaning then. */
enum rt_status kn_check_real(const struct rt_array *a, const char *what, struct rt_error *e);

/* out = op(args) with broadcasting. When out->storage is NULL a new contiguous array of the result's dtype is made;
 * otherwise the result is written into *out (any strides, converted to its dtype, args broadcast to its shape; out may
 * overlap the arguments: they are read as they were). At least one operand must be an array. */
enum rt_status kn_apply(enum kn_op op, const struct kn_operand *args, struct rt_array *out, struct rt_error *e);

/* to[...] = from, broadcast to `to`'s shape, converted, any strides, same device; overlap is safe. Any dtypes. */
enum rt_status kn_copy(const struct rt_array *to, const struct rt_array *from, struct rt_error *e);
/* to[...] = number, likewise. */
enum rt_status kn_fill(const struct rt_array *to, const struct kn_operand *number, struct rt_error *e);
/* A new contiguous array: from converted to dtype and on device d. */
enum rt_status kn_convert(const struct rt_array *from, enum rt_dtype dtype, struct rt_device *d, struct rt_array *out,
                          struct rt_error *e);
/* *out is `a` itself (shared) when contiguous, else a contiguous copy. */
enum rt_status kn_contiguous(const struct rt_array *a, struct rt_array *out, struct rt_error *e);
/* to[i] = start + i * step for the i-th element in row-major order (from 0), computed in double or, when start and step
 * are integers, in int64. */
enum rt_status kn_sequence(const struct rt_array *to, const struct kn_operand *start, const struct kn_operand *step,
                           struct rt_error *e);

enum kn_reduction {
    KN_SUM,
    KN_PROD,
    KN_MIN,
    KN_MAX,
    KN_MEAN,
    KN_ARGMIN,
    KN_ARGMAX,
    KN_ANY,
    KN_ALL,
    KN_REDUCTION_COUNT
};
struct kn_reduction_info {
    const char *name, *doc, *example;
};
extern const struct kn_reduction_info kn_reductions[KN_REDUCTION_COUNT];
/* Axes to reduce: bit i stands for axis i (from 0). No axes: every element is a row of its own. */
#define KN_ALL_AXES (~0u)
/* Reduces the axes, which go or, with keepdims, stay with size 1. argmin and argmax give int64
 * indices that count from 1 (within the axis, or in row-major order among several). Sums of uint64 are uint64, of the
 * other integers and of bools int64; mean is floating. On the host a sum of n floats is off by at most 32 + log2(n)
 * roundings of the sum of the absolute values; of float32 and complex64 by 40, and by one where rows lie in memory as
 * they are added or all elements are; of the 16-bit floats, which are added as float32, by one of their own, however
 * many there are. NaN wins in min and max, as in NumPy. min, max, argmin, argmax, mean of nothing: RT_INVALID; min,
 * max, argmin, argmax of complex numbers, too. */
enum rt_status kn_reduce(enum kn_reduction r, const struct rt_array *a, unsigned axes, bool keepdims,
                         struct rt_array *out, struct rt_error *e);
/* The sum in the array's own dtype: integers wrap, to what that of kn_reduce is when it is converted. */
enum rt_status kn_sum_wrapped(const struct rt_array *a, unsigned axes, bool keepdims, struct rt_array *out,
                              struct rt_error *e);
/* The reduction of all elements of a small array, to the same bits and at once: its dtype in *t, its value at element,
 * which has room for RT_ELEMENT bytes and is aligned for them. False where kn_reduce is needed, which tells mistakes,
 * too. */
bool kn_small_reduction(enum kn_reduction r, const struct rt_array *a, enum rt_dtype *t, void *element);
/* Likewise of the rows of a small array, its last axis, into a new array. */
bool kn_small_rows(enum kn_reduction r, const struct rt_array *a, unsigned axes, bool keepdims, struct rt_array *out);
/* The shape that a reduction's result has. */
void kn_reduced_shape(const struct rt_array *a, unsigned axes, bool keepdims, int *ndim, int64_t *shape);

enum kn_scan { KN_CUMSUM, KN_CUMPROD, KN_CUMMAX, KN_CUMMIN, KN_LOGCUMSUMEXP, KN_SCAN_COUNT };
struct kn_scan_info {
    const char *name, *doc, *example;
};
extern const struct kn_scan_info kn_scans[KN_SCAN_COUNT];
/* A new contiguous array of a's shape: each element combined with all before it along the axis (from 0); with axis -1
 * over all elements in row-major order, and then of one axis. Sums and products have kn_reduce's dtypes; of floats they
 * are computed in float64, each element rounded to its dtype once; so are logarithms of sums, which are floating of
 * integers, too. NaN stays from where it comes. */
enum rt_status kn_scan(enum kn_scan s, const struct rt_array *a, int axis, struct rt_array *out, struct rt_error *e);

/* Matrix product by NumPy's rules: of the last two axes, a 1-D array being one row or one column, with the axes before
 * them broadcast; floating dtypes of one kind, others are converted as by `*`. BLAS on the host when there is one
 * (LUNARRAY_OPENBLAS), else our own loops; a tiled kernel on cuda. */
enum rt_status kn_matmul(const struct rt_array *a, const struct rt_array *b, struct rt_array *out, struct rt_error *e);
/* The product of two vectors of as many elements, those of the first conjugated where they are complex. */
enum rt_status kn_vdot(const struct rt_array *a, const struct rt_array *b, struct rt_array *out, struct rt_error *e);
/* The same of two small vectors of floats, as kn_small_reduction. */
bool kn_small_dot(const struct rt_array *a, const struct rt_array *b, enum rt_dtype *t, void *element);

/* Array operations on this device run as generated CUDA C: on GPUs, and on the software GPU while a graph is recorded
 * or for tests. */
bool kn_runs_generated(const struct rt_device *d);
/* For tests: run array operations on simt as generated CUDA C through the software GPU; and whether they are. */
void kn_force_generated(bool on);
bool kn_generated(void);

#endif
