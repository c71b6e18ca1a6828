#include "kernels/compose.h"
#include <math.h>
#include "kernels/program.h"

/* A program that goes on until something fails. */
struct building {
    struct kn_program program;
    enum rt_status status;
    struct rt_error *e;
};

static int add_operand(struct building *b, const struct kn_operand *o)
{
    int node = 0;
    if (b->status != RT_OK) return 0;
    b->status = o->array ? kn_program_array(&b->program, o->array, &node, b->e)
                         : kn_program_number(&b->program, o, &node, b->e);
    return node;
}

static int add_number(struct building *b, double f)
{
    return add_operand(b, &(struct kn_operand){.is_float = true, .f = f});
}

static int add_op(struct building *b, enum kn_op op, int x, int y, int z)
{
    int node = 0;
    if (b->status == RT_OK) b->status = kn_program_op(&b->program, op, (int[]){x, y, z}, &node, b->e);
    return node;
}

/* An array's node in float64 or complex128; a number is weak and takes that of what it meets. */
static int add_double(struct building *b, const struct kn_operand *o, int node)
{
    int out = node;
    if (o->array && b->status == RT_OK) {
        enum rt_dtype t = rt_is_complex(o->array->dtype) ? RT_COMPLEX128 : RT_FLOAT64;
        b->status = kn_program_convert(&b->program, node, t, &out, b->e);
    }
    return out;
}

enum rt_status kn_isclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                          struct rt_array *out, struct rt_error *e)
{
    struct building b = {.e = e};
    kn_program_start(&b.program);
    int left = add_operand(&b, x), right = add_operand(&b, y);
    int same = add_op(&b, KN_EQ, left, right, 0);
    left = add_double(&b, x, left);
    right = add_double(&b, y, right);
    int distance = add_op(&b, KN_ABS, add_op(&b, KN_SUB, left, right, 0), 0, 0);
    int limit;
    if (y->array) {
        limit = add_op(&b, KN_MUL, add_op(&b, KN_ABS, right, 0, 0), add_number(&b, rtol), 0);
        limit = add_op(&b, KN_ADD, limit, add_number(&b, atol), 0);
    } else {
        limit = add_number(&b, atol + rtol * (y->is_float ? hypot(y->f, y->im) : fabs((double)y->i)));
    }
    /* An infinite y has an infinite limit, an infinite x only an infinite distance. */
    int close = add_op(&b, KN_LE, distance, limit, 0);
    close = add_op(&b, KN_LOGICAL_AND, close, add_op(&b, KN_ISFINITE, distance, 0, 0), 0);
    add_op(&b, KN_LOGICAL_OR, same, close, 0);
    return b.status == RT_OK ? kn_program_run(&b.program, out, e) : b.status;
}

static double largest(enum rt_dtype t)
{
    switch (t) {
    case RT_FLOAT16: return 65504;
    case RT_BFLOAT16: return 0x1.fep127;
    case RT_FLOAT32: return __FLT_MAX__;
    default: return __DBL_MAX__;
    }
}

/* Each part of complex numbers by itself. */
static enum rt_status parts_to_num(const struct rt_array *x, double nan, const double *infinity, const double *negative,
                                   struct rt_array *out, struct rt_error *e)
{
    enum rt_status status = kn_convert(x, x->dtype, rt_array_device(x), out, e);
    for (int i = 0; i < 2 && status == RT_OK; i++) {
        struct rt_array part, fixed = {0};
        rt_array_part(out, i == 1, &part);
        status = kn_nan_to_num(&part, nan, infinity, negative, &fixed, e);
        if (status == RT_OK) status = kn_copy(&part, &fixed, e);
        rt_array_release(&fixed);
        rt_array_release(&part);
    }
    if (status != RT_OK) rt_array_release(out);
    return status;
}

enum rt_status kn_nan_to_num(const struct rt_array *x, double nan, const double *infinity, const double *negative,
                             struct rt_array *out, struct rt_error *e)
{
    struct building b = {.e = e};
    struct kn_operand operand = {.array = x};
    if (rt_is_complex(x->dtype)) return parts_to_num(x, nan, infinity, negative, out, e);
    if (rt_dtypes[x->dtype].kind != 'f') return kn_convert(x, x->dtype, rt_array_device(x), out, e);
    kn_program_start(&b.program);
    int from = add_operand(&b, &operand);
    int value = add_op(&b, KN_WHERE, add_op(&b, KN_ISNAN, from, 0, 0), add_number(&b, nan), from);
    value = add_op(&b, KN_WHERE, add_op(&b, KN_ISPOSINF, from, 0, 0),
                   add_number(&b, infinity ? *infinity : largest(x->dtype)), value);
    add_op(&b, KN_WHERE, add_op(&b, KN_ISNEGINF, from, 0, 0), add_number(&b, negative ? *negative : -largest(x->dtype)),
           value);
    return b.status == RT_OK ? kn_program_run(&b.program, out, e) : b.status;
}
