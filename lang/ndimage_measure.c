/* gpu.ndimage: what labelled elements have together: sums, means, extremes, middles, boxes. */
#include <math.h>
#include <string.h>
#include "lang/ndimage.h"

#define MOST_RANGE (1 << 28) /* of labels, each of which has its place in a table */

/* The array at 1 and its labels, made one row each. */
struct measured {
    const char *what;
    int x, labels; /* stack indices; labels are int64, from 0 */
    int index;     /* the labels asked for, likewise, as one row */
    int found;     /* which of these are in the table */
    int64_t bins;  /* of the table */
    bool one;      /* a number is wanted */
    int ndim;      /* of the index as it was given */
    int64_t shape[RT_MAX_DIMS];
};

static int push_row(lua_State *L, int idx)
{
    return lg_push_reshaped(L, idx, 1, (int64_t[]){-1});
}

static const struct rt_array *check_labels(lua_State *L, const char *what)
{
    const struct rt_array *x = lg_check_form(L, 1), *labels = lg_step_array(L, 2, x, RT_INT32);
    char has[256], text[256];
    if (!rt_array_same_shape(x, labels))
        luaL_error(L, "%s: the labels have the shape %s, expected that of x, %s", what,
                   rt_shape_text(labels->ndim, labels->shape, has, sizeof has),
                   rt_shape_text(x->ndim, x->shape, text, sizeof text));
    if (rt_dtypes[labels->dtype].kind == 'f' || rt_is_complex(labels->dtype))
        luaL_error(L, "%s: the labels are %s, expected integers, as gpu.ndimage.label gives them", what,
                   rt_dtypes[labels->dtype].name);
    lg_check(L, kn_check_real(x, what, lg_error_box(L)));
    return x;
}

/* The labels at 2, and of those the ones at 3: a number, or a list or array of them; nil for all above 0 together. */
static struct measured check_measured(lua_State *L, const char *what)
{
    struct measured m = {.what = what, .one = true};
    int64_t low = 0, high = 0;
    lua_settop(L, 3);
    bool together = lua_isnil(L, 3);
    if (lua_istable(L, 3) || lg_test_array(L, 3)) {
        const struct rt_array *index = lg_step_array(L, 3, lg_check_form(L, 1), RT_INT64);
        m.one = false;
        m.ndim = index->ndim;
        memcpy(m.shape, index->shape, sizeof m.shape);
    } else {
        lua_Integer k = together ? 1 : luaL_checkinteger(L, 3);
        lua_createtable(L, 1, 0);
        lua_pushinteger(L, k);
        lua_rawseti(L, -2, 1);
        lua_replace(L, 3);
        lg_step_array(L, 3, lg_check_form(L, 1), RT_INT64);
    }
    check_labels(L, what);
    m.x = push_row(L, 1);
    m.labels = push_row(L, 2);
    if (together) m.labels = lg_step(L, "gt", "vi", m.labels, (int64_t)0);
    m.labels = lg_step(L, "to", "vs", m.labels, "int64");
    lg_check_array(L, m.labels); /* once */
    m.index = push_row(L, lg_step(L, "to", "vs", 3, "int64"));
    if (rt_array_size(lg_form(L, 1)) > 0) {
        low = lua_tointeger(L, lg_step(L, "min", "v", m.labels));
        high = lua_tointeger(L, lg_step(L, "max", "v", m.labels));
    }
    if ((uint64_t)high - (uint64_t)low >= MOST_RANGE)
        luaL_error(L,
                   "%s: the labels reach from %I to %I, expected less than 2^28 of them; x:unique{inverse = true} has "
                   "some that follow each other",
                   what, (LUAI_UACINT)low, (LUAI_UACINT)high);
    m.bins = high - low + 1;
    if (low != 0) {
        m.labels = lg_step(L, "sub", "vi", m.labels, low);
        m.index = lg_step(L, "sub", "vi", m.index, low);
    }
    int above = lg_step(L, "ge", "vi", m.index, (int64_t)0), below = lg_step(L, "lt", "vi", m.index, m.bins);
    m.found = lg_step(L, "logical_and", "vv", above, below);
    m.index = lg_step(L, "where", "vvi", m.found, m.index, (int64_t)0);
    return m;
}

/* Pushes the table's row at idx, one value for each label, for the labels asked for; what is not there is `otherwise`.
 */
static int push_asked(lua_State *L, const struct measured *m, int idx, double otherwise)
{
    int values = lg_step(L, "take", "vv", idx, lg_step(L, "add", "vi", m->index, (int64_t)1));
    return lg_step(L, "where", "vvn", m->found, values, otherwise);
}

/* The values at idx, one for each label asked for: as a number, or in the shape that these have. */
static int give(lua_State *L, const struct measured *m, int idx)
{
    if (m->one)
        lg_step(L, "item", "v", idx);
    else
        lg_push_reshaped(L, idx, m->ndim, m->shape);
    return 1;
}

/* Pushes sums by label of the values at idx, or with 0 how many elements have it: the whole table, float64. */
static int push_sums(lua_State *L, const struct measured *m, int idx)
{
    if (idx) {
        int wide = lg_step(L, "to", "vs", idx, "float64");
        return lg_step(L, "bincount", "viv", m->labels, m->bins, wide);
    }
    return lg_step(L, "to", "vs", lg_step(L, "bincount", "vi", m->labels, m->bins), "float64");
}

static int push_means(lua_State *L, const struct measured *m, int idx)
{
    return lg_step(L, "div", "vv", push_sums(L, m, idx), push_sums(L, m, 0));
}

static int sum_labels(lua_State *L)
{
    struct measured m = check_measured(L, "sum_labels");
    return give(L, &m, push_asked(L, &m, push_sums(L, &m, m.x), 0));
}

static int mean(lua_State *L)
{
    struct measured m = check_measured(L, "mean");
    return give(L, &m, push_asked(L, &m, push_means(L, &m, m.x), NAN));
}

/* Pushes the means of squared distances from the mean. */
static int push_variances(lua_State *L, const struct measured *m)
{
    int means = lg_step(L, "take", "vv", push_means(L, m, m->x), lg_step(L, "add", "vi", m->labels, (int64_t)1));
    int away = lg_step(L, "sub", "vv", lg_step(L, "to", "vs", m->x, "float64"), means);
    return push_asked(L, m, push_means(L, m, lg_step(L, "square", "v", away)), NAN);
}

static int variance(lua_State *L)
{
    struct measured m = check_measured(L, "variance");
    return give(L, &m, push_variances(L, &m));
}

static int standard_deviation(lua_State *L)
{
    struct measured m = check_measured(L, "standard_deviation");
    return give(L, &m, lg_step(L, "sqrt", "v", push_variances(L, &m)));
}

/* ---- by order ---- */

/* The elements in the order of their labels, and of their values where these are the same. */
struct ordered {
    int order;       /* places from 1 */
    int first, last; /* of each label asked for, in that order; last < first where none has it */
};

static struct ordered push_ordered(lua_State *L, const struct measured *m)
{
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, m->x);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, m->labels);
    lua_rawseti(L, -2, 2);
    struct ordered o = {.order = lg_step(L, "gpu.lexsort", "v", lua_gettop(L))};
    int labels = lg_step(L, "take", "vv", m->labels, o.order);
    o.first = lg_step(L, "searchsorted", "vv", labels, m->index);
    int behind = lg_step(L, "searchsorted", "vvs", labels, m->index, "right");
    o.last = lg_step(L, "sub", "vi", behind, (int64_t)1);
    o.last = lg_step(L, "where", "vvi", m->found, o.last, (int64_t)0);
    return o;
}

/* Raises where a label has no elements, which have no greatest then. */
static void check_there(lua_State *L, const struct measured *m, const struct ordered *o)
{
    int missing = lg_step(L, "lt", "vv", o->last, o->first);
    lg_step(L, "any", "v", missing);
    if (!lua_toboolean(L, -1)) return;
    int which = lg_step(L, "argmax", "v", lg_step(L, "to", "vs", missing, "uint8"));
    luaL_error(L, "%s: no element has the label at index %I, so there is none to choose", m->what,
               (LUAI_UACINT)lua_tointeger(L, which));
}

/* Pushes the place, from 1, of the extreme for each label asked for. */
static int push_extreme(lua_State *L, const struct measured *m, bool greatest)
{
    if (rt_array_size(lg_form(L, m->index)) == 0) return m->index;
    if (rt_array_size(lg_form(L, m->x)) == 0) luaL_error(L, "%s: x has no elements", m->what);
    struct ordered o = push_ordered(L, m);
    check_there(L, m, &o);
    return lg_step(L, "take", "vv", o.order, greatest ? o.last : o.first);
}

static int extreme(lua_State *L, const char *what, bool greatest)
{
    struct measured m = check_measured(L, what);
    return give(L, &m, lg_step(L, "take", "vv", m.x, push_extreme(L, &m, greatest)));
}

static int maximum(lua_State *L)
{
    return extreme(L, "maximum", true);
}
static int minimum(lua_State *L)
{
    return extreme(L, "minimum", false);
}

/* The middle one of the elements, or the mean of two. */
static int median(lua_State *L)
{
    struct measured m = check_measured(L, "median");
    if (rt_array_size(lg_form(L, m.index)) == 0) return give(L, &m, lg_step(L, "to", "vs", m.index, "float64"));
    if (rt_array_size(lg_form(L, m.x)) == 0) return luaL_error(L, "median: x has no elements");
    struct ordered o = push_ordered(L, &m);
    check_there(L, &m, &o);
    int both = lg_step(L, "add", "vv", o.first, o.last), sorted = lg_step(L, "take", "vv", m.x, o.order);
    int low = lg_step(L, "take", "vv", sorted, lg_step(L, "floordiv", "vi", both, (int64_t)2));
    int above = lg_step(L, "floordiv", "vi", lg_step(L, "add", "vi", both, (int64_t)1), (int64_t)2);
    int high = lg_step(L, "take", "vv", sorted, above);
    low = lg_step(L, "mul", "vn", lg_step(L, "to", "vs", low, "float64"), 0.5);
    high = lg_step(L, "mul", "vn", lg_step(L, "to", "vs", high, "float64"), 0.5);
    return give(L, &m, lg_step(L, "add", "vv", low, high));
}

/* Pushes coordinates from 1 along an axis (from 0) of places from 1. */
static int push_coordinates(lua_State *L, const struct rt_array *a, int axis, int places)
{
    int64_t inner = 1;
    for (int i = axis + 1; i < a->ndim; i++) inner *= a->shape[i];
    int lines = lg_step(L, "floordiv", "vi", lg_step(L, "sub", "vi", places, (int64_t)1), inner);
    return lg_step(L, "add", "vi", lg_step(L, "mod", "vi", lines, a->shape[axis]), (int64_t)1);
}

/* Rows at the stack indices parts, one for each axis, beside each other: (index..., axes), or (axes,). */
static int give_coordinates(lua_State *L, struct measured *m, int axes, const int *parts)
{
    lua_createtable(L, axes, 0);
    for (int i = 0; i < axes; i++) {
        lua_pushvalue(L, parts[i]);
        lua_rawseti(L, -2, i + 1);
    }
    int all = lg_step(L, "gpu.stack", "vi", lua_gettop(L), (int64_t)2);
    if (m->ndim == RT_MAX_DIMS) return luaL_error(L, "%s: the index has %d axes, expected fewer", m->what, m->ndim);
    m->shape[m->ndim] = axes;
    lg_push_reshaped(L, all, m->ndim + 1, m->shape);
    return 1;
}

static int position(lua_State *L, const char *what, bool greatest)
{
    struct measured m = check_measured(L, what);
    const struct rt_array *a = lg_form(L, 1);
    int places = push_extreme(L, &m, greatest), parts[RT_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) parts[i] = push_coordinates(L, a, i, places);
    if (a->ndim == 0) return luaL_error(L, "%s: an array of no axes has no positions", what);
    return give_coordinates(L, &m, a->ndim, parts);
}

static int maximum_position(lua_State *L)
{
    return position(L, "maximum_position", true);
}
static int minimum_position(lua_State *L)
{
    return position(L, "minimum_position", false);
}

static int center_of_mass(lua_State *L)
{
    struct measured m = check_measured(L, "center_of_mass");
    const struct rt_array *a = lg_form(L, 1);
    int parts[RT_MAX_DIMS], x = lg_step(L, "to", "vs", m.x, "float64"), all = push_sums(L, &m, x);
    if (a->ndim == 0) return luaL_error(L, "center_of_mass: an array of no axes has no positions");
    lg_check_array(L, x);
    int places = lg_step(L, "gpu.range", "iiss", (int64_t)1, rt_array_size(a), "int64", rt_array_device(a)->name);
    for (int i = 0; i < a->ndim; i++) {
        int moments = push_sums(L, &m, lg_step(L, "mul", "vv", x, push_coordinates(L, a, i, places)));
        parts[i] = push_asked(L, &m, lg_step(L, "div", "vv", moments, all), NAN);
    }
    return give_coordinates(L, &m, a->ndim, parts);
}

/* ---- boxes ---- */

/* First and last place, from 1, of each label along each axis; none where first is 0. */
static void find_boxes(const int64_t *labels, const struct rt_array *a, int64_t count, int64_t *boxes)
{
    int64_t at[RT_MAX_DIMS] = {0}, size = rt_array_size(a);
    memset(boxes, 0, (size_t)(count * 2 * a->ndim) * sizeof *boxes);
    for (int64_t p = 0; p < size; p++) {
        if (labels[p] > 0 && labels[p] <= count) {
            int64_t *box = boxes + (labels[p] - 1) * 2 * a->ndim;
            for (int i = 0; i < a->ndim; i++, box += 2) {
                if (box[0] == 0 || at[i] + 1 < box[0]) box[0] = at[i] + 1;
                if (at[i] + 1 > box[1]) box[1] = at[i] + 1;
            }
        }
        for (int i = a->ndim - 1; i >= 0 && ++at[i] == a->shape[i]; i--) at[i] = 0;
    }
}

/* gpu.ndimage.find_objects(labels [, count]) */
static int find_objects(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 2);
    if (rt_dtypes[a->dtype].kind == 'f' || rt_is_complex(a->dtype))
        return luaL_error(L, "find_objects: the labels are %s, expected integers, as gpu.ndimage.label gives them",
                          rt_dtypes[a->dtype].name);
    lua_Integer count = lg_integer_option(L, 2, "find_objects", "count", 0);
    if (lua_isnil(L, 2) && rt_array_size(a) > 0) {
        lg_step(L, "max", "v", lg_step(L, "to", "vs", 1, "int64"));
        count = lua_tointeger(L, -1);
    }
    if (count < 0) count = 0;
    if (count >= MOST_RANGE)
        return luaL_error(L, "find_objects: the labels reach to %I, expected less than 2^28", (LUAI_UACINT)count);
    int rows = lg_step(L, "contiguous", "v", lg_step(L, "to", "vs", 1, "int64"));
    const int64_t *labels = lg_push_host_copy(L, lg_check_array(L, rows));
    int64_t *boxes = lua_newuserdatauv(L, (size_t)(count * 2 * a->ndim + 1) * sizeof *boxes, 0);
    find_boxes(labels, a, count, boxes);
    lua_createtable(L, (int)count, 0);
    for (lua_Integer k = 0; k < count; k++, boxes += 2 * a->ndim) {
        if (a->ndim == 0 || boxes[0] == 0) {
            lua_pushboolean(L, false);
        } else {
            lua_createtable(L, a->ndim, 0);
            for (int i = 0; i < a->ndim; i++) {
                lua_createtable(L, 2, 0);
                lua_pushinteger(L, boxes[2 * i]);
                lua_rawseti(L, -2, 1);
                lua_pushinteger(L, boxes[2 * i + 1]);
                lua_rawseti(L, -2, 2);
                lua_rawseti(L, -2, i + 1);
            }
        }
        lua_rawseti(L, -2, k + 1);
    }
    return 1;
}

#define MEASURED(name) "gpu.ndimage." name "(x, labels [, index])"
#define INDEX                                                                                                            \
    "labels are integers of x's shape, as gpu.ndimage.label gives them. index is a label, for which a number comes, or " \
    "a list or array of them, as gpu.range(count), for which an array of that shape does; without it all elements with " \
    "labels above 0 count as one. "
#define WIDE  "Computed in float64. "
#define THERE "A label that no element has is an error. "
#define ONES  "local x, labels = gpu.array({{1, 2, 0}, {3, 0, 7}}), gpu.array({{1, 1, 0}, {1, 0, 2}}, 'int32')\n"

const struct lg_function lg_ndimage_measures[] = {
    {"sum_labels", sum_labels, MEASURED("sum_labels"),
     "The sum of the elements that have a label.\n" INDEX WIDE "A label that no element has has the sum 0.",
     ONES "assert(gpu.ndimage.sum_labels(x, labels, 1) == 6)\n"
          "assert(gpu.ndimage.sum_labels(x, labels, {1, 2, 3}):equal(gpu.array({6, 7, 0}, 'float64')))"},
    {"mean", mean, MEASURED("mean"), "The mean of the elements that have a label, NaN of none.\n" INDEX WIDE,
     ONES "assert(gpu.ndimage.mean(x, labels, {1, 2}):equal(gpu.array({2, 7}, 'float64')))"},
    {"variance", variance, MEASURED("variance"),
     "The mean of squared distances from the mean of the elements that have a label, NaN of none.\n" INDEX WIDE,
     ONES "assert(math.abs(gpu.ndimage.variance(x, labels, 1) - 2 / 3) < 1e-12)"},
    {"standard_deviation", standard_deviation, MEASURED("standard_deviation"),
     "The root of gpu.ndimage.variance.\n" INDEX WIDE,
     ONES "assert(math.abs(gpu.ndimage.standard_deviation(x, labels, 1) ^ 2 - 2 / 3) < 1e-12)"},
    {"maximum", maximum, MEASURED("maximum"), "The greatest element that has a label; NaN where one is.\n" INDEX THERE,
     ONES "assert(gpu.ndimage.maximum(x, labels, {1, 2}):equal(gpu.array({3, 7})))"},
    {"minimum", minimum, MEASURED("minimum"), "The smallest element that has a label.\n" INDEX THERE,
     ONES "assert(gpu.ndimage.minimum(x, labels, {1, 2}):equal(gpu.array({1, 7})))"},
    {"median", median, MEASURED("median"),
     "The middle one of the elements that have a label when they are sorted, or the mean of two; float64.\n" INDEX
         THERE,
     ONES "assert(gpu.ndimage.median(x, labels, {1, 2}):equal(gpu.array({2, 7}, 'float64')))"},
    {"maximum_position", maximum_position, MEASURED("maximum_position"),
     "Where the greatest element lies that has a label, an index from 1 along each axis: (axes,), or (..., axes).\n" INDEX
         THERE "Of several the last in row-major order is taken.",
     ONES "assert(gpu.ndimage.maximum_position(x, labels, 1):equal(gpu.array({2, 1}, 'int64')))"},
    {"minimum_position", minimum_position, MEASURED("minimum_position"),
     "Where the smallest element lies that has a label, as gpu.ndimage.maximum_position.\n" INDEX THERE
     "Of several the first in row-major order is taken.",
     ONES "assert(gpu.ndimage.minimum_position(x, labels, {1, 2}):equal(gpu.array({{1, 1}, {2, 3}}, 'int64')))"},
    {"center_of_mass", center_of_mass, MEASURED("center_of_mass"),
     "The mean of the indices, from 1, of the elements that have a label, weighed by x: (axes,), or (..., axes).\n" INDEX
         WIDE,
     ONES "assert(gpu.ndimage.center_of_mass(x, labels, 1):equal(gpu.array({1.5, 4 / 3}, 'float64')))"},
    {"find_objects", find_objects, "gpu.ndimage.find_objects(labels [, count])",
     "The smallest box that has all elements of a label, for the labels from 1 on: a list of indices, x[boxes[1]].\n"
     "An index is a list of {first, last} for each axis; where a label is not there it is false. There are `count` of "
     "them, as many as the greatest label says unless told otherwise. It is found on the host.",
     ONES "local boxes = gpu.ndimage.find_objects(labels)\n"
          "assert(#boxes == 2 and x[boxes[1]]:equal(gpu.array({{1, 2}, {3, 0}})) and x[boxes[2]]:item() == 7)"},
    {0}};
