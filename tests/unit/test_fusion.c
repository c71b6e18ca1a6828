/* What fuses, counted: kernels of generated CUDA C that expressions launch on the software GPU, and that are compiled
 * for them when their shapes change. */
#include "kernels/expression.h"
#include "kernels/generate.h"
#include "runtime/library.h"
#include "tests/unit/reference.h"

static void start(void)
{
    if (!rt_library_find(RT_LIB_NVRTC)->path) SKIP("no NVRTC");
    kn_force_generated(true);
    test_device();
}

/* The nodes of the expression that is being made, as a program's variables would hold them. */
static struct kn_expression *nodes[32];
static int count;

static struct kn_source made(struct kn_expression *x)
{
    nodes[count++] = x;
    return (struct kn_source){.expression = x};
}

static struct kn_source array(const struct rt_array *a)
{
    return (struct kn_source){.operand = of_array(a)};
}

static struct kn_source number(double f)
{
    return (struct kn_source){.operand = float_number(f)};
}

static struct kn_source op(enum kn_op which, struct kn_source a, struct kn_source b, struct kn_source c)
{
    struct kn_expression *x;
    OK(kn_expression_new(which, (struct kn_source[]){a, b, c}, &x, e));
    return made(x);
}

static struct kn_source converted(struct kn_source a, enum rt_dtype t)
{
    struct kn_expression *x;
    OK(kn_expression_convert(&a, t, &x, e));
    return made(x);
}

static struct kn_source reduced(enum kn_reduction r, struct kn_source a, unsigned axes)
{
    struct kn_expression *x;
    OK(kn_expression_reduce(&a, r, axes, &x, e));
    return made(x);
}

#define NONE ((struct kn_source){0})

/* x and y are matrices, row is a row that they are broadcast with. */
struct operands {
    struct rt_array x, y, row;
};

static struct kn_source chain(const struct operands *o)
{
    struct kn_source x = array(&o->x), y = array(&o->y);
    struct kn_source square = op(KN_ADD, op(KN_MUL, x, x, NONE), op(KN_MUL, y, y, NONE), NONE);
    return op(KN_DIV, op(KN_SQRT, square, NONE, NONE), op(KN_ADD, op(KN_ABS, x, NONE, NONE), number(1), NONE), NONE);
}

static struct kn_source broadcast(const struct operands *o)
{
    return op(KN_SUB, op(KN_MUL, array(&o->x), number(2), NONE), array(&o->row), NONE);
}

static struct kn_source cast_and_where(const struct operands *o)
{
    struct kn_source whole = converted(op(KN_MUL, array(&o->x), number(100), NONE), RT_INT32);
    return op(KN_WHERE, op(KN_GT, array(&o->y), number(0.5), NONE), whole, converted(array(&o->y), RT_INT32));
}

static struct kn_source turned(const struct operands *o)
{
    static struct rt_array t;
    rt_array_release(&t);
    OK(rt_array_permute(&o->y, (int[]){1, 0}, &t, e));
    return op(KN_ADD, op(KN_EXP, array(&t), NONE, NONE), number(1), NONE);
}

static struct kn_source sum_of_squares(const struct operands *o)
{
    struct kn_source d = op(KN_SUB, array(&o->x), array(&o->row), NONE);
    return reduced(KN_SUM, op(KN_SQUARE, d, NONE, NONE), 2);
}

static struct kn_source softmax(const struct operands *o)
{
    struct kn_source x = array(&o->x);
    struct kn_source power = op(KN_EXP, op(KN_SUB, x, reduced(KN_MAX, x, 2), NONE), NONE, NONE);
    return op(KN_DIV, power, reduced(KN_SUM, power, 2), NONE);
}

/* Launched once for each shape, and compiled once for all of them. */
static void check(const char *name, struct kn_source (*make)(const struct operands *))
{
    static const int64_t shapes[][2] = {{20, 50}, {37, 640}, {100, 33}, {50, 1000}};
    size_t compiled = kn_generated_count();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct operands o = {test_array(RT_FLOAT32, 2, shapes[i], 1, false),
                             test_array(RT_FLOAT32, 2, shapes[i], 2, false),
                             test_array(RT_FLOAT32, 1, shapes[i] + 1, 3, false)};
        struct kn_source s = make(&o);
        size_t launched = kn_launched_count();
        OK(kn_expression_evaluate(s.expression, e));
        if (kn_launched_count() != launched + 1)
            FAIL("%s: %zu kernels were launched", name, kn_launched_count() - launched);
        if (kn_generated_count() > compiled + 1)
            FAIL("%s: %zu kernels were compiled", name, kn_generated_count() - compiled);
        while (count > 0) kn_expression_release(nodes[--count]);
        rt_array_release(&o.x), rt_array_release(&o.y), rt_array_release(&o.row);
    }
    CHECK_INT(kn_generated_count(), compiled + 1);
}

TEST(one_kernel_for_each_pattern)
{
    start();
    check("chain", chain);
    check("broadcast", broadcast);
    check("cast and where", cast_and_where);
    check("turned", turned);
    check("producer of a reduction", sum_of_squares);
    check("softmax", softmax);
}
