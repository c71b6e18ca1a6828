/* Copies, fills, conversions and sequences: programs of no operation, with faster ways where memory alone decides. */
#include "kernels/host.h"
#include <string.h>

/* Few elements on the host that lie one after the other. */
static bool is_few(const struct rt_array *to)
{
    int64_t n = rt_array_size(to);
    return n > 0 && n <= KN_BLOCK && !kn_runs_generated(rt_array_device(to)) && rt_array_contiguous(to);
}

/* Few elements that lie alike, of arrays that may be read and written: their bytes are the copy. False where a program
 * tells why not, too. */
static bool is_plain_copy(const struct rt_array *to, const struct rt_array *from)
{
    return to->dtype == from->dtype && rt_array_same_shape(to, from) && is_few(to) && rt_array_contiguous(from) &&
           rt_array_device(to) == rt_array_device(from) && rt_array_alive(from, NULL) == RT_OK &&
           rt_array_writable(to, NULL) == RT_OK;
}

static void copy_bytes(const struct rt_array *to, const struct rt_array *from)
{
    memmove(rt_array_host(to), rt_array_host(from), (size_t)rt_array_size(to) * rt_dtypes[to->dtype].size);
}

enum rt_status kn_copy(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    struct kn_program p;
    struct rt_array out = *to; /* a borrowed reference: the run writes through it and keeps nothing */
    int node;
    if (is_plain_copy(to, from)) {
        copy_bytes(to, from);
        return RT_OK;
    }
    kn_program_start(&p);
    enum rt_status status = kn_program_array(&p, from, &node, e);
    return status == RT_OK ? kn_program_run(&p, &out, e) : status;
}

static void fill_few(const struct rt_array *to, const struct kn_operand *number)
{
    _Alignas(64) char block[KN_BLOCK * RT_ELEMENT];
    size_t n = (size_t)rt_array_size(to);
    kn_fill_block(block, to->dtype, number, n);
    kn_host_loops()->store[to->dtype](rt_array_host(to), 1, block, n);
}

enum rt_status kn_fill(const struct rt_array *to, const struct kn_operand *number, struct rt_error *e)
{
    struct kn_program p;
    int node;
    kn_program_start(&p);
    enum rt_status status = rt_array_writable(to, e);
    if (status == RT_OK) status = kn_number_fits(to->dtype, number, "fill", e);
    if (status == RT_OK && is_few(to)) {
        fill_few(to, number);
        return RT_OK;
    }
    if (status == RT_OK) status = kn_program_number(&p, number, &node, e);
    if (status == RT_OK) status = kn_program_convert(&p, node, to->dtype, &node, e);
    return status == RT_OK ? kn_program_evaluate(&p, to, e) : status;
}

/* By the loops that a program would run. */
static void convert_few(const struct rt_array *to, const struct rt_array *from)
{
    const struct kn_loops *l = kn_host_loops();
    kn_convert_loop *as_stored = kn_stored_conversion(l, from->dtype, to->dtype);
    _Alignas(64) char values[KN_BLOCK * RT_ELEMENT], converted[KN_BLOCK * RT_ELEMENT];
    size_t n = (size_t)rt_array_size(to);
    const void *in = rt_array_host(from);
    if (as_stored) {
        as_stored(rt_array_host(to), in, n);
        return;
    }
    void *out = kn_class_exact(to->dtype) ? rt_array_host(to) : converted;
    if (!kn_class_exact(from->dtype)) {
        l->load[from->dtype](values, in, 1, n);
        in = values;
    }
    l->convert[kn_class_of(from->dtype)][to->dtype](out, in, n);
    if (out == converted) l->store[to->dtype](rt_array_host(to), 1, converted, n);
}

/* What was just made neither overlaps anything nor has another shape, so mere bytes take no program. */
static enum rt_status copy_to_new(const struct rt_array *to, const struct rt_array *from, struct rt_error *e)
{
    bool bytes = to->dtype == from->dtype && rt_array_size(to) > 0 && !kn_runs_generated(rt_array_device(to));
    if (bytes && is_plain_copy(to, from)) {
        copy_bytes(to, from);
        return RT_OK;
    }
    if (bytes) return kn_host_copy(to, from, e);
    enum rt_status status = kn_check_conversion(from->dtype, to->dtype, e);
    if (status != RT_OK || !is_few(to) || !rt_array_contiguous(from))
        return status == RT_OK ? kn_copy(to, from, e) : status;
    convert_few(to, from);
    return RT_OK;
}

/* Of another device: values travel as they are, contiguous, and are converted where they arrive. */
static enum rt_status convert_there(const struct rt_array *from, enum rt_dtype dtype, struct rt_device *d,
                                    struct rt_array *out, struct rt_error *e)
{
    struct rt_array here, there;
    enum rt_status status = kn_contiguous(from, &here, e);
    if (status != RT_OK) return status;
    status = rt_array_new(d, from->dtype, from->ndim, from->shape, &there, e);
    if (status == RT_OK) status = rt_array_transfer(&there, &here, e);
    rt_array_release(&here);
    if (status == RT_OK && dtype == from->dtype) {
        rt_array_share(&there, out);
    } else if (status == RT_OK) {
        status = kn_convert(&there, dtype, d, out, e);
    }
    rt_array_release(&there);
    return status;
}

enum rt_status kn_convert(const struct rt_array *from, enum rt_dtype dtype, struct rt_device *d, struct rt_array *out,
                          struct rt_error *e)
{
    enum rt_status status = rt_array_alive(from, e);
    out->storage = NULL;
    if (status == RT_OK && rt_array_device(from) != d) return convert_there(from, dtype, d, out, e);
    if (status == RT_OK) status = rt_array_new(d, dtype, from->ndim, from->shape, out, e);
    if (status == RT_OK) status = copy_to_new(out, from, e);
    if (status != RT_OK) rt_array_release(out);
    return status;
}

enum rt_status kn_contiguous(const struct rt_array *a, struct rt_array *out, struct rt_error *e)
{
    if (rt_array_contiguous(a)) {
        rt_array_share(a, out);
        return RT_OK;
    }
    return kn_convert(a, a->dtype, rt_array_device(a), out, e);
}

/* start + index * step, computed in dtype `in`. */
static enum rt_status sequence_program(struct kn_program *p, enum rt_dtype in, const struct kn_operand *start,
                                       const struct kn_operand *step, enum rt_dtype out, struct rt_error *e)
{
    int index, number, product, sum;
    kn_program_start(p);
    enum rt_status status = kn_program_index(p, &index, e);
    if (status == RT_OK) status = kn_program_convert(p, index, in, &index, e);
    if (status == RT_OK) status = kn_program_number(p, step, &number, e);
    if (status == RT_OK) status = kn_program_op(p, KN_MUL, (int[]){index, number}, &product, e);
    if (status == RT_OK) status = kn_program_number(p, start, &number, e);
    if (status == RT_OK) status = kn_program_op(p, KN_ADD, (int[]){number, product}, &sum, e);
    return status == RT_OK ? kn_program_convert(p, sum, out, &sum, e) : status;
}

/* Whether all of start + index * step are exact as doubles, which become other floats sooner than int64 does. */
static bool exact_as_doubles(int64_t start, int64_t step, int64_t n)
{
    const int64_t most = INT64_C(1) << 52, limit = most / (n + 1);
    return start <= most && start >= -most && step <= limit && step >= -limit;
}

/* By the loops that a program would run, or others with the same values. */
static bool small_sequence(const struct rt_array *to, enum rt_dtype in, const struct kn_operand *start,
                           const struct kn_operand *step)
{
    const struct kn_loops *l = kn_host_loops();
    union {
        int64_t whole[KN_BLOCK];
        double real[KN_BLOCK];
    } values;
    _Alignas(64) char block[KN_BLOCK * 8];
    enum rt_dtype t = to->dtype;
    size_t n = (size_t)rt_array_size(to);
    if (!is_few(to) || start->is_complex || step->is_complex || rt_is_complex(t) || t == RT_BOOL) return false;
    if (in == RT_INT64 && rt_dtypes[t].kind == 'f' && exact_as_doubles(start->i, step->i, (int64_t)n)) in = RT_FLOAT64;
    if (in == RT_FLOAT64)
        l->sequence_f64(values.real, start->is_float ? start->f : (double)start->i,
                        step->is_float ? step->f : (double)step->i, n);
    else
        l->sequence_i64(values.whole, start->i, step->i, n);
    void *out = rt_array_host(to), *converted = kn_class_exact(t) ? out : block;
    l->convert[kn_class_of(in)][t](converted, &values, n);
    if (converted != out) l->store[t](out, 1, block, n);
    return true;
}

enum rt_status kn_sequence(const struct rt_array *to, const struct kn_operand *start, const struct kn_operand *step,
                           struct rt_error *e)
{
    struct kn_program p;
    struct rt_array whole;
    enum rt_dtype in = start->is_float || step->is_float ? RT_FLOAT64 : RT_INT64;
    enum rt_status status = rt_array_writable(to, e);
    if (status == RT_OK && small_sequence(to, in, start, step)) return RT_OK;
    if (status == RT_OK) status = sequence_program(&p, in, start, step, to->dtype, e);
    if (status != RT_OK) return status;
    if (rt_array_contiguous(to)) return kn_program_evaluate(&p, to, e);
    status = rt_array_new(rt_array_device(to), to->dtype, to->ndim, to->shape, &whole, e);
    if (status != RT_OK) return status;
    status = kn_program_evaluate(&p, &whole, e);
    if (status == RT_OK) status = kn_copy(to, &whole, e);
    rt_array_release(&whole);
    return status;
}
