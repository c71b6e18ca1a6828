/* Every operation of ops.def in every dtype, over all shapes and layouts of its operands, natively. Small operands come
 * in all combinations of layouts; long ones all in the same layout, and each in another. */
#include "tests/unit/ops_views.h"

static bool same_value(const struct rt_array *known, const void *got, const void *want)
{
    enum rt_dtype t = known->dtype;
    if (rt_is_complex(t)) {
        struct rt_complex x = rt_load_complex(t, got), y = rt_load_complex(t, want);
        return (x.re == y.re || (isnan(x.re) && isnan(y.re))) && (x.im == y.im || (isnan(x.im) && isnan(y.im)));
    }
    return is_floating(t) && isnan(rt_load_double(t, got)) && isnan(rt_load_double(t, want));
}

/* Bits are those that the same values gave elsewhere: a layout changes none, but of what kind a NaN is. */
static void check_bits(enum kn_op op, enum rt_dtype t, const struct rt_array *known, const struct rt_array *out,
                       const uint16_t *places, const enum layout *layouts)
{
    int64_t n = rt_array_size(out), i = 0;
    size_t size = rt_dtypes[out->dtype].size;
    CHECK_INT(out->dtype, known->dtype);
    CHECK(rt_array_contiguous(out));
    for (const char *got = rt_array_host(out); (i = first_difference(known, got, places, i, n)) < n; i++) {
        const char *want = (const char *)rt_array_host(known) + places[i] * size;
        if (same_value(known, got + (size_t)i * size, want)) continue;
        FAIL("%s %s, %lld elements in layouts %d %d %d: [%lld] is not what its operands give elsewhere",
             kn_ops[op].name, rt_dtypes[t].name, (long long)n, layouts[0], layouts[1], layouts[2], (long long)i);
    }
}

struct known {
    struct rt_array results[KN_OP_COUNT];
    struct rt_array views[3][LAYOUTS];
    uint16_t places[2 * 4097];
};

/* All operations of so many operands on views of these layouts. */
static void check_layouts(struct known *k, enum rt_dtype t, int arity, const enum layout *layouts, const int64_t *shape)
{
    bool first = true;
    struct kn_operand args[3];
    for (int i = 0; i < arity; i++) args[i] = of_array(&k->views[i][layouts[i]]);
    for (int op = 0; op < KN_OP_COUNT; op++) {
        ARRAYS out = {0};
        if (kn_ops[op].arity != arity || !k->results[op].storage) continue;
        OK(kn_apply((enum kn_op)op, args, &out, e));
        if (first) places_of(layouts, arity, shape, &out, k->places);
        first = false;
        check_bits((enum kn_op)op, t, &k->results[op], &out, k->places, layouts);
    }
}

static void check_shape(struct known *k, enum rt_dtype t, int arity, const int64_t *shape)
{
    int all = arity == 1 ? LAYOUTS : arity == 2 ? LAYOUTS * LAYOUTS : LAYOUTS * LAYOUTS * LAYOUTS;
    bool longer = shape[1] > 100;
    for (int i = 0; i < arity; i++)
        for (int l = 0; l < LAYOUTS; l++) k->views[i][l] = filled_view((enum layout)l, t, i, arity, shape);
    for (int c = 0; c < (longer ? LAYOUTS : all); c++) {
        enum layout same[] = {c % LAYOUTS, c % LAYOUTS, c % LAYOUTS};
        enum layout others[] = {c % LAYOUTS, (c + 3) % LAYOUTS, (c + 4) % LAYOUTS};
        enum layout each[] = {c % LAYOUTS, c / LAYOUTS % LAYOUTS, c / LAYOUTS / LAYOUTS};
        check_layouts(k, t, arity, longer ? same : each, shape);
        if (longer && arity > 1) check_layouts(k, t, arity, others, shape);
    }
    for (int i = 0; i < arity; i++)
        for (int l = 0; l < LAYOUTS; l++) rt_array_release(&k->views[i][l]);
}

/* The results are known from the cpu alone: other devices give the same. */
static void check_views(const char *device, enum rt_dtype first, enum rt_dtype end)
{
    static struct known k;
    for (int t = (int)first; t < (int)end; t++) {
        test_device_name = "cpu";
        for (int op = 0; op < KN_OP_COUNT; op++) k.results[op] = known_results((enum kn_op)op, (enum rt_dtype)t);
        test_device_name = device;
        for (int arity = 1; arity <= 3; arity++)
            for (size_t s = 0; s < VIEW_SHAPES; s++) check_shape(&k, (enum rt_dtype)t, arity, view_shapes[s]);
        for (int op = 0; op < KN_OP_COUNT; op++) rt_array_release(&k.results[op]);
    }
}

TEST(ops_views_on_cpu)
{
    check_views("cpu", 0, RT_DTYPE_COUNT);
}

#ifndef __SANITIZE_ADDRESS__ /* it would see the same loops once more */
TEST(ops_views_on_simt)
{
    check_views("simt", 0, RT_DTYPE_COUNT);
}
#endif
