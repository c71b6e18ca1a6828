/* Differences, derivatives, integrals and lines between points, put together from operations. */
#include <string.h>
#include "kernels/neighbours.h"
#include "kernels/order.h"
#include "lang/lazy.h"
#include "lang/steps.h"

/* Pushes the array at x without its first elements along the axis, minus that without its last. */
static int push_differences(lua_State *L, int x, int axis)
{
    int64_t n = lg_form(L, x)->shape[axis], rest = n > 0 ? n - 1 : 0;
    int behind = lg_push_narrowed(L, x, axis, n - rest, rest), before = lg_push_narrowed(L, x, axis, 0, rest);
    lg_step(L, "sub", "vv", behind, before);
    lua_replace(L, behind);
    lua_settop(L, behind);
    return behind;
}

/* Replaces the array at 1 by its elements as floats, whose differences do not wrap. */
static const struct rt_array *make_floating(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    if (lg_floating(a) == a->dtype) return a;
    lg_step(L, "to", "vs", 1, rt_dtypes[lg_floating(a)].name);
    lua_replace(L, 1);
    return lg_form(L, 1);
}

/* In what coordinates of its elements are to be: in 16 bits, most of what neighbours differ by would be lost. */
static enum rt_dtype coordinate_dtype(const struct rt_array *a)
{
    return rt_dtypes[lg_floating(a)].size == 2 ? RT_FLOAT32 : lg_floating(a);
}

/* Makes the array on top, which was computed with coordinates, one of the same type as a. */
static void settle_dtype(lua_State *L, const struct rt_array *a)
{
    if (lg_test_array(L, -1) && lg_form(L, lua_gettop(L))->dtype != a->dtype)
        lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[a->dtype].name);
}

/* The axis at idx, the last unless given. */
static int check_axis_or_last(lua_State *L, int idx, const struct rt_array *a, const char *what)
{
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no neighbours", what);
    return lua_isnoneornil(L, idx) ? a->ndim - 1 : lg_check_axis(L, idx, a->ndim);
}

/* Replaces the number or array at idx by an array that can stand before or behind `a` along the axis. */
static void check_border(lua_State *L, int idx, const struct rt_array *a, int axis)
{
    if (!lg_is_scalar(L, idx) && !lua_istable(L, idx) && !lg_test_array(L, idx))
        luaL_error(L, "diff: prepend and append are numbers or arrays, not %s", lg_type_name(L, idx));
    if (lg_step_operand(L, idx, a)) return;
    lua_createtable(L, a->ndim, 0);
    for (int i = 0; i < a->ndim; i++) {
        lua_pushinteger(L, i == axis ? 1 : a->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    bool fraction = lua_type(L, idx) == LUA_TNUMBER && !lua_isinteger(L, idx);
    enum rt_dtype t = fraction ? lg_floating(a) : a->dtype == RT_BOOL ? RT_INT32 : a->dtype;
    lg_step(L, "gpu.full", "vvss", lua_gettop(L), idx, rt_dtypes[t].name, rt_array_device(a)->name);
    lua_replace(L, idx);
    lua_pop(L, 1);
}

/* Steps are what is explained, and what waits is made of. */
static bool goes_by_steps(lua_State *L, const struct rt_array *a)
{
    return lg_explains(L) || lg_waits(a);
}

static int diff(lua_State *L)
{
    static const char *const names[] = {"n", "axis", "prepend", "append", NULL};
    const struct rt_array *a = lg_check_form(L, 1);
    if (lua_gettop(L) == 1 && !goes_by_steps(L, a)) {
        if (kn_small_diff(a, lg_new_array(L))) return 1;
        lua_pop(L, 1);
    }
    lg_spread(L, 2, "diff", names);
    lua_Integer n = lg_integer_option(L, 2, "diff", "n", 1);
    if (n < 0) return luaL_error(L, "diff: n is %I, expected how often, 0 or more", (LUAI_UACINT)n);
    int axis = check_axis_or_last(L, 3, a, "diff"), at = 1;
    if (!lua_isnil(L, 4) || !lua_isnil(L, 5)) {
        int parts[3], count = 0;
        for (int i = 4; i <= 5; i++)
            if (!lua_isnil(L, i)) check_border(L, i, a, axis);
        if (!lua_isnil(L, 4)) parts[count++] = 4;
        parts[count++] = 1;
        if (!lua_isnil(L, 5)) parts[count++] = 5;
        at = lg_push_joined(L, axis, count, parts);
    }
    lua_pushvalue(L, at);
    for (at = lua_gettop(L); n > 0 && lg_form(L, at)->shape[axis] > 0; n--) {
        push_differences(L, at, axis);
        lua_replace(L, at);
    }
    return 1;
}

/* ---- gradient ---- */

/* The coordinates at idx, of one axis as long as that of the array, with as many axes as it has, the others of size 1.
 */
static int push_along(lua_State *L, int idx, const struct rt_array *a, int axis)
{
    lua_createtable(L, a->ndim, 0);
    for (int i = 0; i < a->ndim; i++) {
        lua_pushinteger(L, i == axis ? -1 : 1);
        lua_rawseti(L, -2, i + 1);
    }
    int shape = lua_gettop(L);
    lg_step(L, "reshape", "vv", idx, shape);
    lua_remove(L, shape);
    return shape;
}

/* Pushes a times the number or array at `by` divided by it. */
static int push_quotient(lua_State *L, int a, int by)
{
    return lg_step(L, "div", "vv", a, by);
}

/* Pushes the weighted sum of three stretches of f. */
static int push_three(lua_State *L, int f, int axis, const int weights[3])
{
    int64_t n = lg_form(L, f)->shape[axis] - 2;
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        int part = lg_push_narrowed(L, f, axis, i, n), term = lg_step(L, "mul", "vv", weights[i], part);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
    }
    return sum;
}

/* Pushes what is between the first and the last element of the derivative: by points at even distances h, a number. */
static int push_even_middle(lua_State *L, int f, int axis, int h)
{
    int64_t n = lg_form(L, f)->shape[axis] - 2;
    int behind = lg_push_narrowed(L, f, axis, 2, n), before = lg_push_narrowed(L, f, axis, 0, n);
    int rise = lg_step(L, "sub", "vv", behind, before);
    lg_step(L, "div", "vn", rise, 2 * lua_tonumber(L, h));
    return lua_gettop(L);
}

/* The same by points at the distances in the array at d: the derivative of the parabola through three of them. */
static int push_uneven_middle(lua_State *L, int f, int axis, int d)
{
    int64_t n = lg_form(L, d)->shape[axis] - 1;
    int one = lg_push_narrowed(L, d, axis, 0, n), two = lg_push_narrowed(L, d, axis, 1, n);
    int both = lg_step(L, "add", "vv", one, two), product = lg_step(L, "mul", "vv", one, two), weights[3];
    int a = push_quotient(L, two, lg_step(L, "mul", "vv", one, both));
    weights[0] = lg_step(L, "neg", "v", a);
    weights[1] = push_quotient(L, lg_step(L, "sub", "vv", two, one), product);
    weights[2] = push_quotient(L, one, lg_step(L, "mul", "vv", two, both));
    return push_three(L, f, axis, weights);
}

/* Pushes the derivative along an axis; the spacing at h is a number, or an array of coordinates. */
static void push_gradient(lua_State *L, int f, int axis, int h)
{
    const struct rt_array *a = lg_form(L, f);
    int64_t n = a->shape[axis];
    int base = lua_gettop(L), distances = 0, parts[3], count = 0;
    if (!lua_isnumber(L, h)) distances = push_differences(L, push_along(L, h, a, axis), axis);
    for (int end = 0; end < 2; end++) {
        int64_t at = end ? n - 2 : 0;
        if (end && n > 2)
            parts[count++] = distances ? push_uneven_middle(L, f, axis, distances) : push_even_middle(L, f, axis, h);
        int rise = push_differences(L, lg_push_narrowed(L, f, axis, at, 2), axis);
        parts[count++] = push_quotient(L, rise, distances ? lg_push_narrowed(L, distances, axis, at, 1) : h);
    }
    lg_push_joined(L, axis, count, parts);
    settle_dtype(L, a);
    lua_replace(L, base + 1);
    lua_settop(L, base + 1);
}

/* Pushes the spacing of an axis from the argument at idx: a number, coordinates, or a list with one of each for every
 * axis, of which this is number i. */
static int push_spacing(lua_State *L, int idx, const struct rt_array *a, int axis, int i, int axes)
{
    lua_pushvalue(L, idx);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushinteger(L, 1);
    } else if (lua_istable(L, -1) && axes > 1) {
        if ((int)lua_rawlen(L, -1) != axes)
            luaL_error(L, "gradient: the spacings are %d, expected one for each of the %d axes", (int)lua_rawlen(L, -1),
                       axes);
        lua_rawgeti(L, -1, i + 1);
        lua_remove(L, -2);
    }
    int at = lua_gettop(L);
    if (lua_type(L, at) == LUA_TNUMBER) return at;
    if (!lua_istable(L, at) && !lg_test_array(L, at))
        luaL_error(L, "gradient: the spacing is a number or the coordinates along an axis, not %s",
                   lg_type_name(L, at));
    const struct rt_array *x = lg_step_array(L, at, a, coordinate_dtype(a));
    if (x->ndim != 1 || x->shape[0] != a->shape[axis])
        luaL_error(L, "gradient: there are %I coordinates for the %I elements of axis %d",
                   (LUAI_UACINT)rt_array_size(x), (LUAI_UACINT)a->shape[axis], axis + 1);
    return at;
}

/* The spacing at idx is one number, or none is given. */
static bool is_distance(lua_State *L, int idx)
{
    return lua_isnil(L, idx) || lua_type(L, idx) == LUA_TNUMBER;
}

static int gradient(lua_State *L)
{
    const struct rt_array *a = make_floating(L);
    int axes[RT_MAX_DIMS], count = 0;
    lua_settop(L, 3);
    if (a->ndim == 0) return luaL_error(L, "gradient: an array of no axes has no neighbours");
    if (lua_isnil(L, 3) && is_distance(L, 2) && !goes_by_steps(L, a)) {
        if (kn_small_gradient(a, luaL_optnumber(L, 2, 1), lg_new_array(L))) return 1;
        lua_pop(L, 1);
    }
    if (lua_isnil(L, 3))
        for (; count < a->ndim; count++) axes[count] = count;
    else
        count = lg_check_axes(L, 3, a->ndim, axes);
    for (int i = 0; i < count; i++)
        if (a->shape[axes[i]] < 2)
            return luaL_error(L, "gradient: axis %d has the size %I, expected 2 or more", axes[i] + 1,
                              (LUAI_UACINT)a->shape[axes[i]]);
    lua_settop(L, 3);
    luaL_checkstack(L, 2 * count + 32, NULL);
    for (int i = 0; i < count; i++) {
        push_gradient(L, 1, axes[i], push_spacing(L, 2, a, axes[i], i, count));
        lua_remove(L, -2);
    }
    return count;
}

/* ---- integrals ---- */

/* Pushes what lies below each line between neighbours of the array at 1, whose form is y, along the axis; the spacing
 * is at 2. */
static int push_areas(lua_State *L, const struct rt_array *y, int axis, const char *what)
{
    int width = 2;
    int64_t n = y->shape[axis], rest = n > 0 ? n - 1 : 0;
    if (lua_isnil(L, 2)) {
        lua_pushinteger(L, 1);
        lua_replace(L, 2);
    } else if (lua_type(L, 2) != LUA_TNUMBER) {
        const struct rt_array *x = lg_step_array(L, 2, y, coordinate_dtype(y));
        if (x->ndim == 1 ? x->shape[0] != n : !rt_array_same_shape(x, y))
            luaL_error(L, "%s: there are %I coordinates for the %I elements of axis %d", what,
                       (LUAI_UACINT)rt_array_size(x), (LUAI_UACINT)n, axis + 1);
        if (x->ndim == 1) push_along(L, 2, y, axis);
        width = push_differences(L, x->ndim == 1 ? lua_gettop(L) : 2, axis);
    }
    int from = coordinate_dtype(y) == y->dtype ? 1 : lg_step(L, "to", "vs", 1, rt_dtypes[coordinate_dtype(y)].name);
    int behind = lg_push_narrowed(L, from, axis, n - rest, rest), before = lg_push_narrowed(L, from, axis, 0, rest);
    int both = lg_step(L, "add", "vv", behind, before);
    return lg_step(L, "mul", "vv", lg_step(L, "div", "vi", both, (int64_t)2), width);
}

static int trapezoid(lua_State *L)
{
    const struct rt_array *y = make_floating(L);
    lua_settop(L, 3);
    int axis = check_axis_or_last(L, 3, y, "trapezoid");
    _Alignas(16) char element[RT_ELEMENT];
    if (is_distance(L, 2) && !goes_by_steps(L, y) && kn_small_trapezoid(y, luaL_optnumber(L, 2, 1), element)) {
        lg_push_scalar(L, y->dtype, element);
        return 1;
    }
    lg_step(L, "sum", "vi", push_areas(L, y, axis, "trapezoid"), (int64_t)axis + 1);
    settle_dtype(L, y);
    return 1;
}

/* y:cumulative_trapezoid([spacing [, axis [, initial]]]) */
static int cumulative_trapezoid(lua_State *L)
{
    const struct rt_array *y = make_floating(L);
    lua_settop(L, 4);
    int axis = check_axis_or_last(L, 3, y, "cumulative_trapezoid"), parts[2] = {0};
    double initial = lg_number_option(L, 4, "cumulative_trapezoid", "initial", 0);
    if (y->shape[axis] == 0)
        return luaL_error(L, "cumulative_trapezoid: axis %d has no elements, expected one or more", axis + 1);
    parts[1] = lg_step(L, "cumsum", "vi", push_areas(L, y, axis, "cumulative_trapezoid"), (int64_t)axis + 1);
    if (!lua_isnil(L, 4)) {
        int64_t shape[RT_MAX_DIMS];
        for (int i = 0; i < y->ndim; i++) shape[i] = i == axis ? 1 : y->shape[i];
        lg_push_shape(L, y->ndim, shape);
        parts[0] = lg_step(L, "gpu.full", "vnss", lua_gettop(L), initial, rt_dtypes[lg_form(L, parts[1])->dtype].name,
                           rt_array_device(y)->name);
        lg_push_joined(L, axis, 2, parts);
    }
    settle_dtype(L, y);
    return 1;
}

/* ---- between points ---- */

/* The arguments 2 and 3: points in order, with a value each. */
static int64_t check_points(lua_State *L, const struct rt_array *beside)
{
    enum rt_dtype t = beside ? lg_floating(beside) : RT_FLOAT64;
    const struct rt_array *xp = lg_step_array(L, 2, beside, t), *fp = lg_step_array(L, 3, beside ? beside : xp, t);
    if (xp->ndim != 1 || fp->ndim != 1 || xp->shape[0] != fp->shape[0])
        luaL_error(L, "interp: there are %I points and %I values; both are one axis of as many elements",
                   (LUAI_UACINT)rt_array_size(xp), (LUAI_UACINT)rt_array_size(fp));
    if (xp->shape[0] == 0) luaL_error(L, "interp: there are no points");
    return xp->shape[0];
}

/* The number at idx or, without one, the value of point i. */
static int check_outside(lua_State *L, int idx, int64_t i)
{
    if (!lua_isnil(L, idx)) {
        luaL_checknumber(L, idx);
        return idx;
    }
    lua_pushinteger(L, i);
    lua_gettable(L, 3);
    lua_replace(L, idx);
    return idx;
}

/* The lines in one pass over what is at 1, where there is a loop for that; outside of the points it is what
 * 4 and 5 say. */
static bool push_lines(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    if (lg_explains(L)) return false;
    const struct rt_array *x = lg_check_array(L, 1), *xp = lg_check_array(L, 2), *fp = lg_check_array(L, 3);
    enum rt_status status = kn_interp(x, xp, fp, lua_tonumber(L, 4), lua_tonumber(L, 5), lg_new_array(L), e);
    if (status == RT_UNSUPPORTED) {
        rt_error_clear(e);
        lua_pop(L, 1);
        return false;
    }
    lg_check(L, status);
    return true;
}

static int interp(lua_State *L)
{
    lua_settop(L, 5);
    bool number = lua_type(L, 1) == LUA_TNUMBER;
    const struct rt_array *x = number ? NULL : lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    int64_t n = check_points(L, x);
    if (number) { /* float64 as Lua's numbers are */
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, 1);
        lua_rawseti(L, -2, 1);
        lg_step_array(L, lua_gettop(L), lg_form(L, 2), RT_FLOAT64);
        lua_replace(L, 1);
    }
    lg_check(L, kn_check_real(lg_form(L, 1), "interp", lg_error_box(L)));
    lg_check(L, kn_check_real(lg_form(L, 2), "interp", lg_error_box(L)));
    int left = check_outside(L, 4, 1), right = check_outside(L, 5, n);
    if (push_lines(L)) {
        if (number) lg_step(L, "item", "v", lua_gettop(L));
        return 1;
    }
    int place = lg_step(L, "searchsorted", "vvs", 2, 1, "right");
    int two = lg_step(L, "clip", "vii", place, (int64_t)(n > 1 ? 2 : 1), n);
    int one = lg_step(L, "clip", "vii", lg_step(L, "sub", "vi", two, (int64_t)1), (int64_t)1, n);
    int x1 = lg_step(L, "take", "vv", 2, one), x2 = lg_step(L, "take", "vv", 2, two);
    int y1 = lg_step(L, "take", "vv", 3, one), y2 = lg_step(L, "take", "vv", 3, two);
    int slope = lg_step(L, "div", "vv", lg_step(L, "sub", "vv", y2, y1), lg_step(L, "sub", "vv", x2, x1));
    int rise = lg_step(L, "mul", "vv", slope, lg_step(L, "sub", "vv", 1, x1));
    int inner = lg_step(L, "add", "vv", rise, y1);
    int first = lg_step(L, "narrow", "viii", 2, (int64_t)1, (int64_t)1, (int64_t)1);
    int last = lg_step(L, "narrow", "viii", 2, (int64_t)1, n, (int64_t)1);
    int end = lg_step(L, "narrow", "viii", 3, (int64_t)1, n, (int64_t)1);
    inner = lg_step(L, "where", "vvv", lg_step(L, "eq", "vv", 1, last), end, inner);
    inner = lg_step(L, "where", "vvv", lg_step(L, "gt", "vv", 1, last), right, inner);
    lg_step(L, "where", "vvv", lg_step(L, "lt", "vv", 1, first), left, inner);
    if (!number) return 1;
    lg_step(L, "item", "v", lua_gettop(L));
    return 1;
}

static int unwrap(lua_State *L)
{
    static const char *const names[] = {"discont", "axis", "period", NULL};
    const struct rt_array *a = make_floating(L);
    lg_spread(L, 2, "unwrap", names);
    double period = lg_number_option(L, 4, "unwrap", "period", 6.283185307179586477),
           least = lg_number_option(L, 2, "unwrap", "discont", period / 2);
    int axis = check_axis_or_last(L, 3, a, "unwrap");
    if (!(period > 0)) return luaL_error(L, "unwrap: period is %f, expected a number above 0", period);
    lg_check(L, kn_check_real(a, "unwrap", lg_error_box(L)));
    if (least < period / 2) least = period / 2;
    if (a->shape[axis] < 2) {
        lg_step(L, "clone", "v", 1);
        return 1;
    }
    int jump = push_differences(L, 1, axis);
    int rest = lg_step(L, "mod", "vn", lg_step(L, "add", "vn", jump, period / 2), period);
    rest = lg_step(L, "sub", "vn", rest, period / 2);
    int up =
        lg_step(L, "mul", "vv", lg_step(L, "eq", "vn", rest, -period / 2), lg_step(L, "gt", "vi", jump, (int64_t)0));
    rest = lg_step(L, "where", "vnv", up, period / 2, rest);
    int change = lg_step(L, "sub", "vv", rest, jump),
        small = lg_step(L, "lt", "vn", lg_step(L, "abs", "v", jump), least);
    change = lg_step(L, "where", "viv", small, (int64_t)0, change);
    int sums = lg_step(L, "cumsum", "vi", change, (int64_t)axis + 1);
    int parts[2] = {lg_push_narrowed(L, 1, axis, 0, 1),
                    lg_step(L, "add", "vv", lg_push_narrowed(L, 1, axis, 1, a->shape[axis] - 1), sums)};
    lg_push_joined(L, axis, 2, parts);
    return 1;
}

/* ---- vectors of three ---- */

static int cross(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1), *b = lg_step_array(L, 2, a, RT_DTYPE_COUNT);
    lua_settop(L, 3);
    int part[2][3];
    for (int side = 0; side < 2; side++) {
        const struct rt_array *v = side ? b : a;
        int axis = check_axis_or_last(L, 3, v, "cross");
        char text[256];
        if (v->shape[axis] != 3)
            return luaL_error(L, "cross: argument %d has the shape %s, expected 3 elements along axis %d", side + 1,
                              rt_shape_text(v->ndim, v->shape, text, sizeof text), axis + 1);
        for (int i = 0; i < 3; i++)
            part[side][i] = lg_step(L, "select", "vii", side + 1, (int64_t)axis + 1, (int64_t)i + 1);
    }
    lua_createtable(L, 3, 0);
    int list = lua_gettop(L), ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        int one = lg_step(L, "mul", "vv", part[0][j], part[1][k]),
            two = lg_step(L, "mul", "vv", part[0][k], part[1][j]);
        lg_step(L, "sub", "vv", one, two);
        lua_rawseti(L, list, i + 1);
    }
    lg_step(L, "gpu.stack", "vi", list, (int64_t)(lua_isnil(L, 3) ? ndim : lg_check_axis(L, 3, ndim) + 1));
    return 1;
}

const struct lg_function lg_calculus_functions[] = {
    {"diff", diff, "x:diff([n [, axis]] | {n=, axis=, prepend=, append=})   gpu.diff(x, ...)",
     "Each element minus the one before it along an axis, the last unless told otherwise; n times over.\n"
     "The axis gets shorter by n. prepend and append, numbers or arrays, stand before and behind the elements first.",
     "assert(gpu.array({1, 4, 9, 16}):diff():equal(gpu.array({3, 5, 7})))\n"
     "assert(gpu.array({1, 4, 9, 16}):diff(2)[1] == 2 and gpu.array({1, 4}):diff({prepend = 0})[1] == 1)"},
    {"gradient", gradient, "x:gradient([spacing [, axes]])   gpu.gradient(x, ...)",
     "The derivative along each axis, or each of those named, as so many arrays.\n"
     "By the neighbours on both sides, at the ends by the one that there is. The spacing is the distance of neighbours, 1 "
     "unless told otherwise, or a list or array of the coordinates along the axis; for several axes it may be a list with "
     "one of each for every axis. Axes have at least two elements.",
     "assert(gpu.array({1, 4, 9, 16}):gradient():equal(gpu.array({3, 4, 6, 7})))\n"
     "local down, across = gpu.array({{1, 2}, {4, 8}}):gradient()\nassert(down[{1, 2}] == 6 and across[{2, 1}] == 4)"},
    {"trapezoid", trapezoid, "y:trapezoid([spacing [, axis]])   gpu.trapezoid(y [, spacing [, axis]])",
     "The integral along an axis, the last unless told otherwise, by straight lines between the elements.\n"
     "The spacing is their distance, 1 unless told otherwise, or the coordinates of the elements: a list or array of one "
     "axis, or an array of the shape of y. Along the only axis it is a Lua number.",
     "assert(gpu.array({1, 2, 3}):trapezoid() == 4 and gpu.array({1, 2, 3}):trapezoid({4, 6, 8}) == 8)"},
    {"cumulative_trapezoid", cumulative_trapezoid,
     "y:cumulative_trapezoid([spacing [, axis [, initial]]])   "
     "gpu.cumulative_trapezoid(y [, spacing [, axis [, initial]]])",
     "The integrals up to each element but the first along an axis, the last unless told otherwise, by straight lines "
     "between the elements.\nThe spacing is as for gpu.trapezoid. With an initial number, as 0, this stands in front, so "
     "that there are as many as elements.",
     "assert(gpu.array({1, 2, 3}):cumulative_trapezoid():equal(gpu.array({1.5, 4})))\n"
     "assert(gpu.array({1, 2, 3}):cumulative_trapezoid({initial = 0, spacing = 2}):equal(gpu.array({0, 3, 8})))"},
    {"interp", interp, "x:interp(xp, fp [, left [, right]])   gpu.interp(x, xp, fp [, left [, right]])",
     "The values at x, an array or a number, of the straight lines between the points (xp, fp).\n"
     "xp are in ascending order. Below them it is `left`, the first of fp unless told otherwise, above them `right`, the last.",
     "local y = gpu.interp(gpu.array({0, 1.5, 9}), {1, 2, 3}, {10, 20, 0})\nassert(y:equal(gpu.array({10, 15, 0})))\n"
     "assert(gpu.interp(2.5, {1, 2, 3}, {10, 20, 0}) == 10)"},
    {"unwrap", unwrap, "x:unwrap([discont [, axis [, period]]])   gpu.unwrap(x, ...)",
     "Angles without the jumps from one turn to the next: changes of more than `discont` become their complement to a "
     "period.\nAlong the last axis unless told otherwise; the period is 2 pi and discont half of it. Also with a table "
     "{discont = ..., axis = ..., period = ...}.",
     "local x = gpu.array({350, 355, 1, 5}):unwrap({period = 360})\nassert(x:equal(gpu.array({350, 355, 361, 365})))"},
    {"cross", cross, "x:cross(y [, axis])   gpu.cross(x, y [, axis])",
     "The cross product of vectors of three elements along an axis, the last unless told otherwise.\n"
     "The other axes broadcast.",
     "assert(gpu.cross(gpu.array({1, 0, 0}), gpu.array({0, 1, 0})):equal(gpu.array({0, 0, 1})))"},
    {0}};
