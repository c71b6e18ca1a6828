/* Several arrays put together into one. */
#include <string.h>
#include "lang/array.h"
#include "lang/out.h"
#include "lang/steps.h"

/* The dtype that holds the elements of both: what `where` gives for them. */
static enum rt_dtype common_dtype(lua_State *L, enum rt_dtype a, enum rt_dtype b)
{
    if (a == b) return a;
    struct rt_array condition = {.dtype = RT_BOOL}, x = {.dtype = a}, y = {.dtype = b};
    struct kn_operand args[3] = {{.array = &condition}, {.array = &x}, {.array = &y}};
    enum rt_dtype out = a;
    lg_check(L, kn_result_dtype(KN_WHERE, args, &out, lg_error_box(L)));
    return out;
}

/* Leaves the list at idx 1 and the axis, 1 unless given, at idx 2. Returns the length of the list. */
static lua_Integer check_list(lua_State *L)
{
    if (!lua_istable(L, 1))
        luaL_argerror(L, 1, lua_pushfstring(L, "expected a list of arrays, as {x, y}, got %s", lg_type_name(L, 1)));
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    luaL_argcheck(L, n > 0, 1, "the list holds no arrays");
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) return n;
    lua_pushinteger(L, 1);
    lua_replace(L, 2);
    return n;
}

/* Leaves the i-th array of the list at idx 1 on the stack. */
static const struct rt_array *push_part(lua_State *L, lua_Integer i)
{
    lua_rawgeti(L, 1, i);
    const struct rt_array *a = lg_test_array(L, -1);
    if (!a)
        luaL_error(L, "item %I of the list is %s, expected an array%s", (LUAI_UACINT)i, lg_type_name(L, -1),
                   lua_isnumber(L, -1) ? "; numbers become one by gpu.array{1, 2}" : "");
    if (!a->storage) luaL_error(L, "item %I of the list was freed", (LUAI_UACINT)i);
    return lg_check_array(L, -1);
}

static void check_fits(lua_State *L, const struct rt_array *first, const struct rt_array *a, lua_Integer i, int except)
{
    char left[256], right[256];
    bool fits = a->ndim == first->ndim;
    for (int axis = 0; fits && axis < a->ndim; axis++) fits = axis == except || a->shape[axis] == first->shape[axis];
    if (!fits)
        luaL_error(L, "item %I has the shape %s, which does not go with %s of the first", (LUAI_UACINT)i,
                   rt_shape_text(a->ndim, a->shape, left, sizeof left),
                   rt_shape_text(first->ndim, first->shape, right, sizeof right));
    if (rt_array_device(a) != rt_array_device(first))
        luaL_error(L, "item %I is on %s and the first on %s; move it by :to(\"%s\")", (LUAI_UACINT)i,
                   rt_array_device(a)->name, rt_array_device(first)->name, rt_array_device(first)->name);
}

static int concatenate(lua_State *L)
{
    if (lg_out(L, "concatenate")) return 1;
    lua_Integer n = check_list(L);
    const struct rt_array *first = push_part(L, 1);
    int axis = lg_check_axis(L, 2, first->ndim);
    struct rt_array shape = {.dtype = first->dtype};
    int64_t total = 0;
    for (lua_Integer i = 1; i <= n; i++) {
        const struct rt_array *a = push_part(L, i);
        check_fits(L, first, a, i, axis);
        shape.dtype = common_dtype(L, shape.dtype, a->dtype);
        total += a->shape[axis];
        lua_pop(L, 1);
    }
    for (int i = 0; i < first->ndim; i++) shape.shape[i] = i == axis ? total : first->shape[i];
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(first), shape.dtype, first->ndim, shape.shape, out, lg_error_box(L)));
    struct rt_array place = *out; /* borrowed */
    for (lua_Integer i = 1; i <= n; i++) {
        const struct rt_array *a = push_part(L, i);
        place.shape[axis] = a->shape[axis];
        lg_check(L, kn_copy(&place, a, lg_error_box(L)));
        place.offset += a->shape[axis] * place.strides[axis];
        lua_pop(L, 1);
    }
    return 1;
}

static int stack(lua_State *L)
{
    if (lg_out(L, "stack")) return 1;
    lua_Integer n = check_list(L);
    const struct rt_array *first = push_part(L, 1);
    if (first->ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    int axis = lg_check_new_axis(L, 2, first->ndim);
    enum rt_dtype dtype = first->dtype;
    for (lua_Integer i = 1; i <= n; i++) {
        const struct rt_array *a = push_part(L, i);
        check_fits(L, first, a, i, -1);
        dtype = common_dtype(L, dtype, a->dtype);
        lua_pop(L, 1);
    }
    int64_t shape[RT_MAX_DIMS];
    for (int i = 0; i <= first->ndim; i++) shape[i] = i == axis ? n : first->shape[i - (i > axis)];
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(first), dtype, first->ndim + 1, shape, out, lg_error_box(L)));
    for (lua_Integer i = 1; i <= n; i++) {
        struct rt_array place = {0};
        const struct rt_array *a = push_part(L, i);
        place = *out; /* borrowed: the i-th index of the new axis */
        place.offset += (i - 1) * out->strides[axis];
        place.ndim = first->ndim;
        for (int k = axis; k < first->ndim; k++) {
            place.shape[k] = out->shape[k + 1];
            place.strides[k] = out->strides[k + 1];
        }
        lg_check(L, kn_copy(&place, a, lg_error_box(L)));
        lua_pop(L, 1);
    }
    return 1;
}

/* ---- insert ---- */

/* Pushes what is inserted as elements of x's dtype: x's shape, along the axis `count` of them, for -1 as many as there
 * are. */
static int push_inserted(lua_State *L, int idx, int x, int axis, int64_t count)
{
    const struct rt_array *a = lg_form(L, x);
    const char *dtype = rt_dtypes[a->dtype].name;
    int64_t sizes[RT_MAX_DIMS];
    memcpy(sizes, a->shape, sizeof sizes);
    sizes[axis] = count < 0 ? 1 : count;
    if (!lg_step_operand(L, idx, a)) {
        lg_push_shape(L, a->ndim, sizes);
        return lg_step(L, "gpu.full", "vvss", lua_gettop(L), idx, dtype, rt_array_device(a)->name);
    }
    int v = idx;
    const int ndim = lg_form(L, v)->ndim;
    if (ndim == a->ndim && count < 0) sizes[axis] = lg_form(L, v)->shape[axis];
    if (ndim == a->ndim - 1) v = lg_step(L, "unsqueeze", "vi", v, (int64_t)axis + 1);
    v = lg_step(L, "to", "vs", v, dtype);
    lg_push_shape(L, a->ndim, sizes);
    return lg_step(L, "broadcast_to", "vv", v, lua_gettop(L));
}

/* Where the elements of the result come from: of x those before a place are the places before it less the values that
 * are inserted there; the values, which follow x in what is taken from, go in the order of their indices, and of one
 * index in their own. */
static int insert_many(lua_State *L, int x, int axis)
{
    const struct rt_array *a = lg_form(L, x);
    const int64_t n = a->shape[axis];
    const char *device = rt_array_device(a)->name;
    const struct rt_array *at = lg_step_array(L, 2, a, RT_INT64);
    if (at->ndim != 1 || !strchr("iu", rt_dtypes[at->dtype].kind))
        return luaL_argerror(L, 2, "expected an index, or a list of them or an array of integers of one axis");
    const int64_t count = at->shape[0];
    int i = lg_step(L, "to", "vs", 2, "int64");
    i = lg_step(L, "gpu.where", "vvv", lg_step(L, "lt", "vi", i, (int64_t)0), lg_step(L, "add", "vi", i, n + 1), i);
    if (count > 0) {
        const int low = lg_step(L, "min", "v", i), high = lg_step(L, "max", "v", i);
        if (lua_tointeger(L, low) < 1 || lua_tointeger(L, high) > n + 1)
            return luaL_error(L, "insert: indices are from 1 to %I, one behind the last, or negative from the end",
                              (LUAI_UACINT)n + 1);
    }
    const int added = push_inserted(L, 3, x, axis, count);
    const int rank = lg_step(L, "gpu.range", "iiiss", (int64_t)0, count - 1, (int64_t)1, "int64", device);
    const int sorted = lg_step(L, "add", "vv", lg_step(L, "mul", "vi", i, count), rank);
    const int order = lg_step(L, "argsort", "v", sorted);
    const int places = lg_step(L, "add", "vv", lg_step(L, "take", "vv", i, order), rank);
    const char *dtype = n + count <= INT32_MAX ? "int32" : "int64";
    const int marks = lg_step(L, "gpu.zeros", "iss", n + count, "bool", device);
    lg_step(L, "put_", "vvb", marks, places, 1);
    const int all_places = lg_step(L, "gpu.range", "iiiss", (int64_t)1, n + count, (int64_t)1, dtype, device);
    int from = lg_step(L, "sub", "vv", all_places, lg_step(L, "cumsum", "vi", marks, (int64_t)1));
    from = lg_step(L, "to", "vs", from, dtype);
    lg_step(L, "put_", "vvv", from, places, lg_step(L, "to", "vs", lg_step(L, "add", "vi", order, n), dtype));
    const int all = lg_push_joined(L, axis, 2, (int[]){x, added});
    lg_step(L, "take", "vvi", all, from, (int64_t)axis + 1);
    return 1;
}

static int insert(lua_State *L)
{
    lg_check_array(L, 1);
    luaL_checkany(L, 3);
    lua_settop(L, 4);
    const bool flat = lua_isnil(L, 4);
    const int x = flat ? lg_step(L, "flatten", "v", 1) : 1;
    const int axis = flat ? 0 : lg_check_axis(L, 4, lg_form(L, 1)->ndim);
    const int64_t n = lg_form(L, x)->shape[axis];
    if (lua_type(L, 2) != LUA_TNUMBER) return insert_many(L, x, axis);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 0) i += n + 1;
    if (i < 1 || i > n + 1)
        return luaL_error(L, "insert: index %I is outside of 1 to %I, one behind the last",
                          (LUAI_UACINT)lua_tointeger(L, 2), (LUAI_UACINT)n + 1);
    const int before = lg_push_narrowed(L, x, axis, 0, i - 1), added = push_inserted(L, 3, x, axis, -1),
              behind = lg_push_narrowed(L, x, axis, i - 1, n - i + 1);
    lg_push_joined(L, axis, 3, (int[]){before, added, behind});
    return 1;
}

const struct lg_function lg_join_functions[] = {
    {"insert", insert, "gpu.insert(x, index, values [, axis])",
     "x with values inserted before an index along an axis, or along all elements in row-major order, as a new array of "
     "its dtype.\n"
     "The index one behind the last appends. A number, or a part of x's shape without the axis, is inserted once; an array "
     "of as many axes with all that it has along this one. A list of indices, or an array of integers, counts in x as it "
     "is, and takes a value for each.",
     "local x = gpu.insert(gpu.array({1, 2, 5}), 3, {3, 4})\nassert(x:equal(gpu.range(5)))\n"
     "assert(gpu.insert(gpu.zeros(2, 2), {1, 3}, 7, 2):equal(gpu.array({{7, 0, 0, 7}, {7, 0, 0, 7}})))"},
    {"concatenate", concatenate, "gpu.concatenate(list [, axis])",
     "Arrays one behind the other along an axis that they have, the first unless told otherwise.\n"
     "Their other sizes must agree and they must be on one device; the dtype is the common one. " LG_OUT_DOC,
     "local x = gpu.concatenate({gpu.ones(2, 3), gpu.zeros(1, 3)})\nassert(x.shape[1] == 3 and x:sum() == 6)"},
    {"cat", concatenate, "gpu.cat(list [, axis])", "The same as gpu.concatenate, by Torch's name.",
     "assert(#gpu.cat({gpu.ones(2), gpu.zeros(3)}) == 5)"},
    {"stack", stack, "gpu.stack(list [, axis])",
     "Arrays of one shape side by side along a new axis, the first unless told otherwise.\n"
     "They must be on one device; the dtype is the common one. " LG_OUT_DOC,
     "local x = gpu.stack({gpu.zeros(3), gpu.ones(3)}, -1)\nassert(x.shape[1] == 3 and x[{2, 2}] == 1)"},
    {0}};
