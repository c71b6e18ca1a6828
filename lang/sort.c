/* Sorting of arrays and what rests on it. */
#include <string.h>
#include "kernels/order.h"
#include "lang/array.h"
#include "lang/closest.h"

/* x:sort([axis [, descending]]): the axis from 0, the last unless told. */
static int check_order(lua_State *L, int ndim, bool *descending)
{
    if (ndim == 0) luaL_error(L, "an array of no axes has nothing to sort along");
    *descending = lg_check_flag(L, 3, "descending");
    return lua_isnoneornil(L, 2) ? ndim - 1 : lg_check_axis(L, 2, ndim);
}

static int sort(lua_State *L)
{
    bool descending;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = check_order(L, a->ndim, &descending);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_sort(a, axis, descending, out, NULL, lg_error_box(L)));
    return 1;
}

static int argsort(lua_State *L)
{
    bool descending;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = check_order(L, a->ndim, &descending);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_check_real(a, "argsort", lg_error_box(L)));
    lg_check(L, kn_sort(a, axis, descending, NULL, out, lg_error_box(L)));
    return 1;
}

/* x:topk(k [, axis [, smallest [, largest]]]) */
static int topk(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    lua_Integer k = luaL_checkinteger(L, 2);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes has nothing to choose from");
    lg_check(L, kn_check_real(a, "topk", lg_error_box(L)));
    int axis = lua_isnoneornil(L, 3) ? a->ndim - 1 : lg_check_axis(L, 3, a->ndim);
    bool smallest = lg_check_flag(L, 4, "smallest");
    if (!lua_isnoneornil(L, 5)) {
        bool largest = lg_check_flag(L, 5, "largest");
        if (largest == smallest && !lua_isnil(L, 4)) return luaL_error(L, "topk: either the smallest or the largest");
        smallest = !largest;
    }
    struct rt_array *values = lg_new_array(L), *indices = lg_new_array(L);
    lg_check(L, kn_topk(a, k, axis, !smallest, values, indices, lg_error_box(L)));
    return 2;
}

/* ---- parts of the order ---- */

/* Pushes the places at idx, an index from 1 (from the end with -1) or a list of them, ascending and from 0; how many.
 */
static const int64_t *push_places(lua_State *L, int idx, int64_t length, const char *what, int64_t *count)
{
    bool list = lua_istable(L, idx);
    *count = list ? (int64_t)lua_rawlen(L, idx) : 1;
    if (list) luaL_argcheck(L, *count > 0, idx, "a list of places is empty");
    int64_t *places = lua_newuserdatauv(L, (size_t)*count * sizeof *places, 0);
    for (int64_t i = 0; i < *count; i++) {
        int whole;
        if (list)
            lua_rawgeti(L, idx, i + 1);
        else
            lua_pushvalue(L, idx);
        int64_t k = lua_tointegerx(L, -1, &whole), at = i;
        if (!whole) luaL_error(L, "%s: a place is %s, expected a whole number", what, lg_type_name(L, -1));
        if (k == 0 || k > length || k < -length)
            luaL_error(L,
                       "%s: the place %I is not among the %I of the axis, which count from 1, or from the end with -1",
                       what, (LUAI_UACINT)k, (LUAI_UACINT)length);
        lua_pop(L, 1);
        k = k > 0 ? k - 1 : k + length;
        for (; at > 0 && places[at - 1] > k; at--) places[at] = places[at - 1];
        places[at] = k;
    }
    return places;
}

/* The array at 1 and the axis at idx, the last unless given. */
static const struct rt_array *check_row(lua_State *L, int idx, const char *what, int *axis)
{
    const struct rt_array *a = lg_check_array(L, 1);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no order", what);
    *axis = lua_isnoneornil(L, idx) ? a->ndim - 1 : lg_check_axis(L, idx, a->ndim);
    return a;
}

static int partition_by(lua_State *L, const char *what, bool indices)
{
    int axis;
    int64_t count;
    const struct rt_array *a = check_row(L, 3, what, &axis);
    luaL_checkany(L, 2);
    const int64_t *places = push_places(L, 2, a->shape[axis], what, &count);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_partition(a, axis, places, count, indices ? NULL : out, indices ? out : NULL, lg_error_box(L)));
    return 1;
}
static int partition(lua_State *L)
{
    return partition_by(L, "partition", false);
}
static int argpartition(lua_State *L)
{
    return partition_by(L, "argpartition", true);
}

/* x:kthvalue(k [, axis [, keepdims]]) */
static int kthvalue(lua_State *L)
{
    int axis;
    int64_t count;
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *a = check_row(L, 3, "kthvalue", &axis);
    bool keepdims = lg_check_flag(L, 4, "keepdims"), value = a->ndim == 1 && !keepdims;
    luaL_checkinteger(L, 2);
    lua_settop(L, 4);
    const int64_t *place = push_places(L, 2, a->shape[axis], "kthvalue", &count);
    struct rt_array *parts[2] = {lg_new_array(L), lg_new_array(L)};
    lg_check(L, kn_select(a, axis, false, place, 1, parts[0], parts[1], e));
    for (int i = 0; i < 2; i++) {
        struct rt_array one = *parts[i], *out; /* borrowed */
        one.offset += *place * one.strides[axis];
        one.shape[axis] = 1;
        if (!keepdims) {
            one.ndim--;
            for (int k = axis; k < one.ndim; k++) {
                one.shape[k] = one.shape[k + 1];
                one.strides[k] = one.strides[k + 1];
            }
        }
        if (value) {
            lg_push_element(L, &one);
            continue;
        }
        out = lg_new_array(L);
        lg_check(L, kn_convert(&one, one.dtype, rt_array_device(a), out, e)); /* not a view of all of them */
    }
    return 2;
}

/* The array at idx, or the number there as an array of no axes that goes with `beside`. */
static const struct rt_array *check_values(lua_State *L, int idx, const struct rt_array *beside)
{
    struct kn_operand number;
    if (!lg_is_scalar(L, idx)) return lg_check_array(L, idx);
    lg_check_operand(L, idx, &number);
    bool floating = rt_dtypes[beside->dtype].kind == 'f';
    enum rt_dtype whole = beside->dtype == RT_UINT64 ? RT_UINT64 : RT_INT64;
    enum rt_dtype t = floating ? beside->dtype : number.is_float ? RT_FLOAT64 : whole;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(beside), t, 0, NULL, out, lg_error_box(L)));
    lg_check(L, kn_fill(out, &number, lg_error_box(L)));
    return out;
}

static int searchsorted(lua_State *L)
{
    static const char *const sides[] = {"left", "right", NULL};
    const struct rt_array *sorted = lg_check_array(L, 1);
    bool right = lg_check_option(L, 3, "left", sides) == 1, number = lg_is_scalar(L, 2);
    const struct rt_array *values = check_values(L, 2, sorted);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_search(sorted, values, right, out, lg_error_box(L)));
    if (number) lg_push_element(L, out);
    return 1;
}

#define ORDER_DOC                                                                                                      \
    "Along the last axis unless told otherwise; upwards unless `descending` is true. Equal elements stay in their "    \
    "order, -0.0 comes before 0.0, and NaN is last either way. Both also by name, as {descending = true}."

const struct lg_function lg_sort_functions[] = {
    {"sort", sort, "x:sort([axis [, descending]])   gpu.sort(x [, axis [, descending]])",
     "A new array with the elements in order.\n" ORDER_DOC,
     "local x = gpu.array({3, 1, 2})\nassert(x:sort()[1] == 1 and x:sort{descending = true}[1] == 3)"},
    {"argsort", argsort, "x:argsort([axis [, descending]])   gpu.argsort(x [, axis [, descending]])",
     "The indices, from 1, that put the elements in order.\n" ORDER_DOC,
     "assert(gpu.array({30, 10, 20}):argsort():equal(gpu.array({2, 3, 1})))"},
    {"topk", topk, "x:topk(k [, axis [, smallest [, largest]]])   gpu.topk(x, k [, axis [, ...]])",
     "The k greatest elements, the greatest first, and their indices; with `smallest`, or largest = false, the k smallest.\n"
     "Along the last axis unless told otherwise. NaN is neither, and comes when nothing else is left.",
     "local values, indices = gpu.array({4, 9, 2, 7}):topk(2)\n"
     "assert(values:equal(gpu.array({9, 7})) and indices:equal(gpu.array({2, 4})))"},
    {"partition", partition, "x:partition(k [, axis])   gpu.partition(x, k [, axis])",
     "A new array in which the k-th element is that of the sorted row, none before it is greater and none behind it "
     "smaller; in what order these are is not told.\n"
     "k counts from 1, or from the end with -1; of a list of places that holds for each. Along the last axis unless told "
     "otherwise. It takes less than sorting; x:topk and x:kthvalue give the elements alone.",
     "local x = gpu.array({7, 1, 9, 3, 5}):partition(3)\n"
     "assert(x[3] == 5 and x['1:2']:max() < 5 and x['4:']:min() > 5)"},
    {"argpartition", argpartition, "x:argpartition(k [, axis])   gpu.argpartition(x, k [, axis])",
     "The indices, from 1, that bring the elements into such an order as x:partition has.\nThe arguments are its own.",
     "local i = gpu.array({7, 1, 9, 3, 5}):argpartition({1, -1})\nassert(i[1] == 2 and i[5] == 3)"},
    {"kthvalue", kthvalue, "x:kthvalue(k [, axis [, keepdims]])   gpu.kthvalue(x, k [, axis [, keepdims]])",
     "The k-th smallest element along an axis, the last unless told otherwise, and its index.\n"
     "k counts from 1, or from the end with -1. Along the only axis they are Lua numbers. NaN is greater than all else, "
     "and of equal elements the first in the array counts as the smaller one.",
     "local value, index = gpu.array({7, 1, 9, 3}):kthvalue(2)\nassert(value == 3 and index == 4)\n"
     "assert(gpu.array({{7, 1}, {2, 8}}):kthvalue(-1, 1):equal(gpu.array({7, 8})))"},
    {"searchsorted", searchsorted, "x:searchsorted(values [, side])   gpu.searchsorted(x, values [, side])",
     "Where values would go in a sorted array of one axis: the index, from 1, of the element that each comes before.\n"
     "Among equal elements that is the first with the side \"left\", which is the default, and behind the last with "
     "\"right\". An array gives an int64 array of its shape, a number a number.",
     "local x = gpu.array({10, 20, 20, 30})\n"
     "assert(x:searchsorted(20) == 2 and x:searchsorted(20, 'right') == 4 and x:searchsorted(99) == 5)"},
    {0}};
