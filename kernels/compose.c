#include "kernels/compose.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/host.h"
#include "kernels/program.h"
#include "kernels/reduce.h"
#include "runtime/interrupt.h"
#include "runtime/threads.h"

/* A program that goes on until something fails. */
struct building {
    struct kn_program program;
    enum rt_status status;
    struct rt_error *e;
};

/* The program's nodes are what is added: clearing the room for all would take longer than computing a small array. */
static void start(struct building *b, struct rt_error *e)
{
    kn_program_start(&b->program);
    b->status = RT_OK;
    b->e = e;
}

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

static int add_convert(struct building *b, int x, enum rt_dtype t)
{
    int node = 0;
    if (b->status == RT_OK) b->status = kn_program_convert(&b->program, x, t, &node, b->e);
    return node;
}

/* An array's node in float64 or complex128; a number is weak and takes that of what it meets. */
static int add_double(struct building *b, const struct kn_operand *o, int node)
{
    return o->array ? add_convert(b, node, rt_is_complex(o->array->dtype) ? RT_COMPLEX128 : RT_FLOAT64) : node;
}

static enum rt_status run(struct building *b, struct rt_array *out)
{
    return b->status == RT_OK ? kn_program_run(&b->program, out, b->e) : b->status;
}

static void add_isclose(struct building *b, const struct kn_operand *x, const struct kn_operand *y, double rtol,
                        double atol)
{
    int left = add_operand(b, x), right = add_operand(b, y);
    int same = add_op(b, KN_EQ, left, right, 0);
    left = add_double(b, x, left);
    right = add_double(b, y, right);
    int distance = add_op(b, KN_ABS, add_op(b, KN_SUB, left, right, 0), 0, 0);
    int limit;
    if (y->array) {
        limit = add_op(b, KN_MUL, add_op(b, KN_ABS, right, 0, 0), add_number(b, rtol), 0);
        limit = add_op(b, KN_ADD, limit, add_number(b, atol), 0);
    } else {
        limit = add_number(b, atol + rtol * (y->is_float ? hypot(y->f, y->im) : fabs((double)y->i)));
    }
    /* An infinite y has an infinite limit, an infinite x only an infinite distance. */
    int close = add_op(b, KN_LE, distance, limit, 0);
    close = add_op(b, KN_LOGICAL_AND, close, add_op(b, KN_ISFINITE, distance, 0, 0), 0);
    add_op(b, KN_LOGICAL_OR, same, close, 0);
}

enum rt_status kn_isclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                          struct rt_array *out, struct rt_error *e)
{
    struct building b;
    start(&b, e);
    add_isclose(&b, x, y, rtol, atol);
    return run(&b, out);
}

/* Whether the last node is true everywhere. */
static enum rt_status run_all(struct building *b, bool *all)
{
    struct rt_array out;
    if (b->status != RT_OK) return b->status;
    enum rt_status status = kn_program_reduce(&b->program, KN_ALL, KN_ALL_AXES, false, &out, b->e);
    if (status != RT_OK) return status;
    uint8_t value = 0;
    status = rt_array_read(&out, &value, b->e);
    *all = value != 0;
    rt_array_release(&out);
    return status;
}

/* Two small arrays of one dtype and shape side by side: what add_isclose computes, at once. */
#define SMALL_CLOSE(T)                                                                                                 \
    static bool close_##T(const T *x, const T *y, size_t n, double rtol, double atol)                                  \
    {                                                                                                                  \
        int64_t far = 0; /* as wide as what it gathers, so that vectors do it */                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            double left = x[i], right = y[i], distance = fabs(left - right), limit = fabs(right) * rtol + atol;        \
            const int close = (distance <= limit) & (distance < HUGE_VAL);                                             \
            far |= !((left == right) | close);                                                                         \
        }                                                                                                              \
        return far == 0;                                                                                               \
    }
SMALL_CLOSE(float)
SMALL_CLOSE(double)

static bool are_small(const struct rt_array *x, const struct rt_array *y)
{
    return x->dtype == y->dtype && rt_array_same_shape(x, y) && kn_is_small(x) && kn_is_small(y);
}

enum rt_status kn_allclose(const struct kn_operand *x, const struct kn_operand *y, double rtol, double atol,
                           bool *close, struct rt_error *e)
{
    struct building b;
    const struct rt_array *left = x->array, *right = y->array;
    if (left && right && rt_dtypes[left->dtype].kind == 'f' && are_small(left, right)) {
        const void *v = rt_array_host(left), *w = rt_array_host(right);
        const size_t n = (size_t)rt_array_size(left);
        *close = left->dtype == RT_FLOAT32 ? close_float(v, w, n, rtol, atol) : close_double(v, w, n, rtol, atol);
        return RT_OK;
    }
    start(&b, e);
    add_isclose(&b, x, y, rtol, atol);
    return run_all(&b, close);
}

static bool is_integral(enum rt_dtype t)
{
    return rt_dtypes[t].kind != 'f' && !rt_is_complex(t);
}

enum rt_status kn_equal(const struct rt_array *x, const struct rt_array *y, bool *equal, struct rt_error *e)
{
    struct building b;
    *equal = rt_array_same_shape(x, y);
    if (!*equal) return RT_OK;
    if (are_small(x, y)) {
        const struct kn_loops *l = kn_host_loops();
        const size_t n = (size_t)rt_array_size(x);
        uint8_t same[KN_BLOCK];
        l->ops[KN_EQ][kn_class_of(x->dtype)](same, rt_array_host(x), rt_array_host(y), NULL, n);
        *equal = l->narrow->count_true[RT_BOOL](same, n) == n;
        return RT_OK;
    }
    start(&b, e);
    int left = add_operand(&b, &(struct kn_operand){.array = x});
    int right = add_operand(&b, &(struct kn_operand){.array = y});
    if (x->dtype != y->dtype) {
        bool whole = is_integral(x->dtype) && is_integral(y->dtype),
             plain = !rt_is_complex(kn_promote(x->dtype, y->dtype));
        enum rt_dtype t = whole ? RT_INT64 : plain ? RT_FLOAT64 : RT_COMPLEX128;
        left = add_convert(&b, left, t);
        right = add_convert(&b, right, t);
    }
    add_op(&b, KN_EQ, left, right, 0);
    return run_all(&b, equal);
}

static enum rt_status run_both(struct building *first, struct rt_array *x, struct building *second, struct rt_array *y)
{
    enum rt_status status = run(first, x);
    if (status != RT_OK) return status;
    status = run(second, y);
    if (status != RT_OK) rt_array_release(x);
    return status;
}

/* How a dtype writes its numbers: binary digits behind the first, least exponent, largest number. */
struct format {
    int digits, least;
    double largest;
};

static struct format format_of(enum rt_dtype t)
{
    switch (t) {
    case RT_FLOAT16: return (struct format){10, -14, 65504};
    case RT_BFLOAT16: return (struct format){7, -126, 0x1.fep127};
    case RT_FLOAT32: return (struct format){23, -126, __FLT_MAX__};
    default: return (struct format){52, -1022, __DBL_MAX__};
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
    struct building b;
    struct kn_operand operand = {.array = x};
    if (rt_is_complex(x->dtype)) return parts_to_num(x, nan, infinity, negative, out, e);
    if (rt_dtypes[x->dtype].kind != 'f') return kn_convert(x, x->dtype, rt_array_device(x), out, e);
    double largest = format_of(x->dtype).largest;
    start(&b, e);
    int from = add_operand(&b, &operand);
    int value = add_op(&b, KN_WHERE, add_op(&b, KN_ISNAN, from, 0, 0), add_number(&b, nan), from);
    value = add_op(&b, KN_WHERE, add_op(&b, KN_ISPOSINF, from, 0, 0), add_number(&b, infinity ? *infinity : largest),
                   value);
    add_op(&b, KN_WHERE, add_op(&b, KN_ISNEGINF, from, 0, 0), add_number(&b, negative ? *negative : -largest), value);
    return run(&b, out);
}

enum rt_status kn_round_to(const struct rt_array *x, int decimals, struct rt_array *out, struct rt_error *e)
{
    struct building b;
    struct kn_operand operand = {.array = x};
    bool whole = rt_dtypes[x->dtype].kind != 'f' && !rt_is_complex(x->dtype);
    if (whole && decimals >= 0) return kn_convert(x, x->dtype, rt_array_device(x), out, e);
    start(&b, e);
    int from = add_operand(&b, &operand), power = add_number(&b, pow(10, abs(decimals)));
    if (whole) from = add_convert(&b, from, RT_FLOAT64);
    int scaled = add_op(&b, decimals < 0 ? KN_DIV : KN_MUL, from, power, 0);
    int rounded = add_op(&b, decimals < 0 ? KN_MUL : KN_DIV, add_op(&b, KN_ROUND, scaled, 0, 0), power, 0);
    if (whole) add_convert(&b, rounded, x->dtype);
    return run(&b, out);
}

/* ---- how numbers are written ---- */

/* Adds the operands in their floating dtype; y may be NULL. Gives their nodes. */
static void add_floating(struct building *b, const char *what, const struct kn_operand *x, const struct kn_operand *y,
                         int *node, int *other, struct format *f)
{
    const struct kn_operand both[2] = {*x, y ? *y : *x};
    enum rt_dtype t = RT_FLOAT32;
    for (int i = 0; i < 2 && b->status == RT_OK; i++)
        if (both[i].array) b->status = kn_check_real(both[i].array, what, b->e);
    if (b->status == RT_OK) b->status = kn_result_dtype(KN_HYPOT, both, &t, b->e);
    *node = add_convert(b, add_operand(b, x), t);
    if (y) *other = add_convert(b, add_operand(b, y), t);
    *f = format_of(t);
}

/* The exponent of x, not below that of the least normal number. */
static int add_exponent(struct building *b, int x, const struct format *f)
{
    return add_op(b, KN_MAXIMUM, add_op(b, KN_LOGB, x, 0, 0), add_number(b, f->least), 0);
}

/* How far apart the numbers are that have this exponent. */
static int add_spacing(struct building *b, int exponent, const struct format *f)
{
    return add_op(b, KN_LDEXP, add_number(b, 1), add_op(b, KN_SUB, exponent, add_number(b, f->digits), 0), 0);
}

/* From x to its neighbour above or below; that of a power of two is half as far towards 0 as away from it. */
static int add_step(struct building *b, int x, int up, const struct format *f)
{
    int exponent = add_exponent(b, x, f), away = add_spacing(b, exponent, f);
    int is_power = add_op(b, KN_EQ, add_op(b, KN_ABS, x, 0, 0), add_op(b, KN_LDEXP, add_number(b, 1), exponent, 0), 0);
    int is_least = add_op(b, KN_EQ, exponent, add_number(b, f->least), 0);
    int inwards = add_op(b, KN_LOGICAL_XOR, up, add_op(b, KN_GT, x, add_number(b, 0), 0), 0);
    int halved = add_op(b, KN_LOGICAL_AND, inwards, add_op(b, KN_GT, is_power, is_least, 0), 0);
    int step = add_op(b, KN_WHERE, halved, add_op(b, KN_MUL, away, add_number(b, 0.5), 0), away);
    return add_op(b, KN_WHERE, up, step, add_op(b, KN_NEG, step, 0, 0));
}

enum rt_status kn_nextafter(const struct kn_operand *x, const struct kn_operand *y, struct rt_array *out,
                            struct rt_error *e)
{
    struct building b;
    struct format f;
    int from, to = 0;
    start(&b, e);
    add_floating(&b, "nextafter", x, y, &from, &to, &f);
    int up = add_op(&b, KN_LT, from, to, 0);
    int next = add_op(&b, KN_ADD, from, add_step(&b, from, up, &f), 0);
    /* The neighbour of the least negative number is -0.0. */
    next = add_op(&b, KN_WHERE, from, add_op(&b, KN_COPYSIGN, next, from, 0), next);
    int largest = add_op(&b, KN_COPYSIGN, add_number(&b, f.largest), from, 0);
    next = add_op(&b, KN_WHERE, add_op(&b, KN_ISINF, from, 0, 0), largest, next);
    next = add_op(&b, KN_WHERE, add_op(&b, KN_EQ, from, to, 0), to, next);
    int unordered = add_op(&b, KN_ISUNORDERED, from, to, 0);
    add_op(&b, KN_WHERE, unordered, add_op(&b, KN_ADD, from, to, 0), next);
    return run(&b, out);
}

enum rt_status kn_spacing(const struct rt_array *x, struct rt_array *out, struct rt_error *e)
{
    struct building b;
    struct format f;
    int from;
    start(&b, e);
    add_floating(&b, "spacing", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    int size = add_spacing(&b, add_exponent(&b, from, &f), &f);
    int below = add_op(&b, KN_LT, from, add_number(&b, 0), 0);
    int spacing = add_op(&b, KN_WHERE, below, add_op(&b, KN_NEG, size, 0, 0), size);
    add_op(&b, KN_WHERE, add_op(&b, KN_ISFINITE, from, 0, 0), spacing, add_op(&b, KN_SUB, from, from, 0));
    return run(&b, out);
}

enum rt_status kn_isnormal(const struct rt_array *x, struct rt_array *out, struct rt_error *e)
{
    struct building b;
    struct format f;
    int from;
    start(&b, e);
    add_floating(&b, "isnormal", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    int large = add_op(&b, KN_GE, add_op(&b, KN_ABS, from, 0, 0), add_number(&b, ldexp(1, f.least)), 0);
    add_op(&b, KN_LOGICAL_AND, large, add_op(&b, KN_ISFINITE, from, 0, 0), 0);
    return run(&b, out);
}

/* frexp's exponent: one more than that of the first digit, 0 of 0 and of what is not finite. */
static int add_frexp_exponent(struct building *b, int x)
{
    int exponent = add_op(b, KN_ADD, add_op(b, KN_LOGB, x, 0, 0), add_number(b, 1), 0);
    return add_op(b, KN_WHERE, add_op(b, KN_ISFINITE, exponent, 0, 0), exponent, add_number(b, 0));
}

/* float32 or float64 on the host, side by side. */
struct split {
    enum rt_dtype dtype;
    const char *from;
    char *mantissa;
    int32_t *exponent;
};

static void split_piece(void *context, size_t begin, size_t end, int worker)
{
    const struct split *s = context;
    const size_t at = begin * rt_dtypes[s->dtype].size;
    (void)worker;
    kn_host_loops()->frexp[s->dtype == RT_FLOAT64](s->mantissa + at, s->exponent + begin, s->from + at, end - begin);
}

static enum rt_status frexp_host(const struct rt_array *x, enum rt_dtype t, struct rt_array *mantissa,
                                 struct rt_array *exponent, struct rt_error *e)
{
    struct rt_device *d = rt_array_device(x);
    struct rt_array from = {0};
    memset(mantissa, 0, sizeof *mantissa);
    memset(exponent, 0, sizeof *exponent);
    enum rt_status status = x->dtype == t ? kn_contiguous(x, &from, e) : kn_convert(x, t, d, &from, e);
    if (status == RT_OK) status = rt_array_new(d, t, x->ndim, x->shape, mantissa, e);
    if (status == RT_OK) status = rt_array_new(d, RT_INT32, x->ndim, x->shape, exponent, e);
    if (status == RT_OK) {
        const size_t n = (size_t)rt_array_size(&from);
        struct split s = {t, rt_array_host(&from), rt_array_host(mantissa), rt_array_host(exponent)};
        rt_parallel_for(n, kn_even_grain(n, KN_GRAIN), split_piece, &s);
        if (rt_interrupted()) status = rt_fail(e, RT_INTERRUPTED, "interrupted");
    }
    rt_array_release(&from);
    if (status == RT_OK) return RT_OK;
    rt_array_release(mantissa);
    rt_array_release(exponent);
    return status;
}

/* The mantissa is made with the exponent that was found before. */
enum rt_status kn_frexp(const struct rt_array *x, struct rt_array *mantissa, struct rt_array *exponent,
                        struct rt_error *e)
{
    struct building first, second;
    struct format f;
    int from;
    start(&first, e);
    add_floating(&first, "frexp", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    if (first.status != RT_OK) return first.status;
    const enum rt_dtype t = first.program.nodes[from].dtype;
    if (rt_dtypes[t].size >= sizeof(float) && !kn_runs_generated(rt_array_device(x)))
        return frexp_host(x, t, mantissa, exponent, e);
    add_convert(&first, add_frexp_exponent(&first, from), RT_INT32);
    enum rt_status status = run(&first, exponent);
    if (status != RT_OK) return status;
    start(&second, e);
    add_floating(&second, "frexp", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    int power = add_op(&second, KN_NEG, add_operand(&second, &(struct kn_operand){.array = exponent}), 0, 0);
    if (second.status == RT_OK)
        add_op(&second, KN_LDEXP, from, add_convert(&second, power, second.program.nodes[from].dtype), 0);
    status = run(&second, mantissa);
    if (status != RT_OK) rt_array_release(exponent);
    return status;
}

enum rt_status kn_modf(const struct rt_array *x, struct rt_array *fraction, struct rt_array *whole, struct rt_error *e)
{
    struct building first, second;
    struct format f;
    int from;
    start(&first, e);
    add_floating(&first, "modf", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    int rest = add_op(&first, KN_SUB, from, add_op(&first, KN_TRUNC, from, 0, 0), 0);
    rest = add_op(&first, KN_WHERE, add_op(&first, KN_ISINF, from, 0, 0), add_number(&first, 0), rest);
    add_op(&first, KN_COPYSIGN, rest, from, 0);
    start(&second, e);
    add_floating(&second, "modf", &(struct kn_operand){.array = x}, NULL, &from, NULL, &f);
    add_op(&second, KN_TRUNC, from, 0, 0);
    return run_both(&first, fraction, &second, whole);
}

/* Whole multiples of 8 y away, the quotient is small enough to be exact. */
enum rt_status kn_remquo(const struct kn_operand *x, const struct kn_operand *y, struct rt_array *remainder,
                         struct rt_array *quotient, struct rt_error *e)
{
    struct building first, second;
    struct format f;
    int left, right = 0;
    start(&first, e);
    add_floating(&first, "remquo", x, y, &left, &right, &f);
    add_op(&first, KN_REMAINDER, left, right, 0);
    start(&second, e);
    add_floating(&second, "remquo", x, y, &left, &right, &f);
    int size = add_op(&second, KN_ABS, left, 0, 0), by = add_op(&second, KN_ABS, right, 0, 0);
    int low = add_op(&second, KN_FMOD, size, add_op(&second, KN_MUL, by, add_number(&second, 8), 0), 0);
    int near = add_op(&second, KN_REMAINDER, size, by, 0);
    int count = add_op(&second, KN_SUB, add_op(&second, KN_DIV, low, by, 0), add_op(&second, KN_DIV, near, by, 0), 0);
    count = add_op(&second, KN_MOD, add_op(&second, KN_ROUND, count, 0, 0), add_number(&second, 8), 0);
    int negative = add_op(&second, KN_LOGICAL_XOR, add_op(&second, KN_SIGNBIT, left, 0, 0),
                          add_op(&second, KN_SIGNBIT, right, 0, 0), 0);
    count = add_op(&second, KN_WHERE, negative, add_op(&second, KN_NEG, count, 0, 0), count);
    add_convert(&second, count, RT_INT32);
    return run_both(&first, remainder, &second, quotient);
}
