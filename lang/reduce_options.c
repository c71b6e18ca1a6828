/* Options of reductions that are other operations before and behind them: dtype, where, initial. */
#include <string.h>
#include "lang/closest.h"
#include "lang/reduce.h"
#include "lang/steps.h"

/* What a reduction takes: `fill` stands where the mask says no, so that it changes nothing, and `join` puts what is to
 * begin with and the result together. */
struct plan {
    const char *name, *join;
    bool where, needs_initial;
    int fill;
};
static const struct plan plans[] = {
    {"sum", "add", true, false, 0},    {"prod", "mul", true, false, 1},   {"min", "minimum", true, true, 0},
    {"max", "maximum", true, true, 0}, {"mean", NULL, true, false, 0},    {"any", NULL, true, false, 0},
    {"all", NULL, true, false, 1},     {"argmin", NULL, false, false, 0}, {"argmax", NULL, false, false, 0},
    {"var", NULL, true, false, 0},     {"std", NULL, true, false, 0},     {"count_nonzero", NULL, true, false, 0}};

static const struct plan *find_plan(const char *name)
{
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (!strcmp(plans[i].name, name)) return &plans[i];
    return NULL;
}

/* Does it take {ddof = n}? */
static bool takes_ddof(const struct plan *plan)
{
    return !strcmp(plan->name, "var") || !strcmp(plan->name, "std");
}

/* Where things stand on the stack from take_options on. */
enum { ARRAY = 1, OPTIONS = 3, ELEMENTS, INITIAL, MASK };

/* Calls the method of the array at idx with the `count` values on top, which go; one result. */
static void call_method(lua_State *L, int idx, const char *name, int count)
{
    lua_pushvalue(L, idx);
    lua_getfield(L, idx, name);
    lua_insert(L, -2 - count);
    lua_insert(L, -1 - count);
    lua_call(L, count + 1, 1);
}

/* Takes the option out of the table, which is ours, and pushes it; false, and nothing, when it is not there. */
static bool take(lua_State *L, const char *name)
{
    if (lua_getfield(L, OPTIONS, name) == LUA_TNIL) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushnil(L);
    lua_setfield(L, OPTIONS, name);
    return true;
}

/* Can elements of the dtype be what begins a minimum or maximum? */
static bool holds(lua_State *L, int idx, enum rt_dtype t)
{
    char kind = rt_dtypes[t].kind;
    if (kind == 'f' || rt_is_complex(t)) return true;
    int whole;
    lua_Integer v = lua_tointegerx(L, idx, &whole);
    if (!whole || kind == 'b') return whole && (v == 0 || v == 1);
    int bits = 8 * (int)rt_dtypes[t].size;
    if (kind == 'u') return v >= 0 && (bits == 64 || v < (lua_Integer)1 << bits);
    return bits == 64 || (v >= -((lua_Integer)1 << (bits - 1)) && v < (lua_Integer)1 << (bits - 1));
}

/* Raises unless the initial value can be what the reduction begins with. What begins a minimum or maximum becomes an
 * integer where the elements are integers, which a float would take with it. */
static void check_initial(lua_State *L, const struct plan *plan, enum rt_dtype t)
{
    if (lua_type(L, INITIAL) != LUA_TNUMBER)
        luaL_error(L, "%s: initial is a number, not %s", plan->name, lg_type_name(L, INITIAL));
    if (plan->needs_initial && !holds(L, INITIAL, t))
        luaL_error(L,
                   "%s: initial is %s, which elements of %s cannot be; name a dtype that holds it, as in {dtype = "
                   "\"float64\"}",
                   plan->name, lua_tostring(L, INITIAL), rt_dtypes[t].name);
    if (!plan->needs_initial || rt_dtypes[t].kind == 'f') return;
    lua_pushinteger(L, lua_tointeger(L, INITIAL));
    lua_replace(L, INITIAL);
}

/* The mask is of bools, and its shape broadcasts to that of the elements. */
static void check_mask(lua_State *L, const char *name)
{
    const struct rt_array *mask = lg_test_array(L, MASK) ? lg_check_form(L, MASK) : NULL;
    if (!mask || mask->dtype != RT_BOOL)
        luaL_error(L, "%s: where is an array of bools, as x:gt(0) gives one, not %s", name,
                   mask ? rt_dtypes[mask->dtype].name : lg_type_name(L, MASK));
    const struct rt_array *a = lg_check_form(L, ELEMENTS);
    bool fits = mask->ndim <= a->ndim;
    for (int i = 1; fits && i <= mask->ndim; i++)
        fits = mask->shape[mask->ndim - i] == 1 || mask->shape[mask->ndim - i] == a->shape[a->ndim - i];
    if (fits) return;
    char has[256], text[256];
    luaL_error(L, "%s: where has the shape %s, expected one that broadcasts to the array's %s", name,
               rt_shape_text(mask->ndim, mask->shape, has, sizeof has),
               rt_shape_text(a->ndim, a->shape, text, sizeof text));
}

/* Is the number at `what` to be kept in place of the number at `result`, both of the dtype? NaN is, from either. */
static bool goes_before(lua_State *L, const struct plan *plan, int what, int result, enum rt_dtype t)
{
    bool least = !strcmp(plan->name, "min");
    int less = least ? what : result, more = least ? result : what;
    if (t == RT_UINT64) /* Lua's integers have a sign */
        return (lua_Unsigned)lua_tointeger(L, less) < (lua_Unsigned)lua_tointeger(L, more);
    if (!lua_rawequal(L, what, what)) return true;
    return lua_rawequal(L, result, result) && lua_compare(L, less, more, LUA_OPLT);
}

/* Puts what is to begin with together with the result at the top, an array or a number of the dtype; for
 * min and max one of both. */
static void join(lua_State *L, const struct plan *plan, enum rt_dtype t)
{
    if (lg_test_array(L, -1)) {
        int result = lua_gettop(L);
        lua_pushvalue(L, INITIAL);
        call_method(L, result, plan->join, 1);
        return;
    }
    if (t == RT_UINT64 && lua_isinteger(L, -1) && !lua_isinteger(L, INITIAL)) { /* as in goes_before */
        lua_pushnumber(L, (double)(lua_Unsigned)lua_tointeger(L, -1));
        lua_replace(L, -2);
    }
    lua_pushvalue(L, INITIAL);
    if (!plan->needs_initial) {
        lua_arith(L, *plan->join == 'a' ? LUA_OPADD : LUA_OPMUL);
        return;
    }
    int what = lua_gettop(L);
    lua_remove(L, goes_before(L, plan, what, what - 1, t) ? what - 1 : what);
}

/* The extreme of nothing and what is to begin with, in place of the sum at the top. */
static void join_nothing(lua_State *L)
{
    if (!lg_test_array(L, -1)) {
        lua_pushvalue(L, INITIAL);
        return;
    }
    int sum = lua_gettop(L);
    lua_getfield(L, ELEMENTS, "dtype");
    call_method(L, sum, "to", 1);
    lua_pushvalue(L, INITIAL);
    lua_arith(L, LUA_OPADD);
}

/* The mean of what the mask takes of the elements, which are 0 elsewhere, as the plain one of these gives it:
 * in their dtype `t`, and summed in one that holds the sum, with the options axis and keepdims. */
static void push_masked_mean(lua_State *L, enum rt_dtype t)
{
    struct lg_reduction r = {0};
    const struct rt_array *a = lg_check_form(L, ELEMENTS);
    enum rt_dtype wide = kn_wide_dtype(a->dtype);
    lg_check_reduction(L, OPTIONS, a->ndim, NULL, &r);
    int elements = wide == a->dtype ? ELEMENTS : lg_step(L, "to", "vs", ELEMENTS, rt_dtypes[wide].name);
    lg_push_shape(L, a->ndim, a->shape); /* the mask may be of fewer axes */
    int whole = lg_step(L, "expand", "vv", MASK, lua_gettop(L));
    if (r.value && (t == RT_FLOAT32 || t == RT_FLOAT64)) { /* sooner in Lua's numbers */
        lg_step(L, "sum", "v", elements);
        lg_step(L, "sum", "v", whole);
        double mean = lua_tonumber(L, -2) / lua_tonumber(L, -1);
        lua_pushnumber(L, t == RT_FLOAT32 ? (float)mean : mean);
        return;
    }
    int axes = lg_push_axes(L, r.axes, a->ndim), sum = lg_step(L, "sum", "vvb", elements, axes, 1);
    int mean = lg_step(L, "div", "vv", sum, lg_step(L, "sum", "vvb", whole, axes, 1));
    lg_end_reduction(L, lg_step(L, "to", "vs", mean, rt_dtypes[t].name), a, &r);
}

/* The variance, or its root, of what the mask takes of the elements, likewise, with the options axis, keepdims and
 * ddof. */
static void push_masked_variance(lua_State *L, enum rt_dtype t, bool root)
{
    struct lg_reduction r = {0};
    const struct rt_array *a = lg_check_form(L, ELEMENTS);
    enum rt_dtype wide = kn_wide_dtype(t);
    lg_check_reduction(L, OPTIONS, a->ndim, "ddof", &r);
    int x = lg_step(L, "to", "vs", ELEMENTS, rt_dtypes[wide].name), axes = lg_push_axes(L, r.axes, a->ndim);
    lg_push_shape(L, a->ndim, a->shape);
    int whole = lg_step(L, "expand", "vv", MASK, lua_gettop(L)), count = lg_step(L, "sum", "vvb", whole, axes, 1);
    int mean = lg_step(L, "div", "vv", lg_step(L, "sum", "vvb", x, axes, 1), count);
    int away = lg_step(L, "where", "vvi", MASK, lg_step(L, "sub", "vv", x, mean), (int64_t)0);
    if (rt_is_complex(t)) away = lg_step(L, "abs", "v", away);
    int sum = lg_step(L, "sum", "vvb", lg_step(L, "square", "v", away), axes, 1);
    int rest = lg_step(L, "maximum", "vi", lg_step(L, "sub", "vn", count, r.number), (int64_t)0);
    int out = lg_step(L, "div", "vv", sum, rest);
    if (root) out = lg_step(L, "sqrt", "v", out);
    enum rt_dtype real = t == RT_COMPLEX64 ? RT_FLOAT32 : t == RT_COMPLEX128 ? RT_FLOAT64 : t;
    lg_end_reduction(L, lg_step(L, "to", "vs", out, rt_dtypes[real].name), a, &r);
}

/* Leaves the array and a copy of the options, which loses those that are done here; they stand at `table`. */
static void take_options(lua_State *L, int table, const char *name)
{
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, table + 1);
    }
    if (table == 3 && !lua_isnil(L, 2)) {
        if (lua_getfield(L, 4, "axis") != LUA_TNIL) luaL_error(L, "%s: the axis is named twice", name);
        lua_pushvalue(L, 2);
        lua_setfield(L, 4, "axis");
    }
    lua_copy(L, table + 1, OPTIONS);
    lua_settop(L, OPTIONS);
}

/* Elements that the mask leaves out become what changes no result, or the initial value. */
static void fill_where(lua_State *L, const struct plan *plan)
{
    check_mask(L, plan->name);
    if (plan->needs_initial && lua_isnil(L, INITIAL))
        luaL_error(L, "%s: {where = mask} needs {initial = number}, too, which is the %s where nothing is taken",
                   plan->name, plan->name);
    lua_pushvalue(L, ELEMENTS);
    if (plan->needs_initial)
        lua_pushvalue(L, INITIAL);
    else
        lua_pushinteger(L, plan->fill);
    call_method(L, MASK, "where", 2);
    lua_replace(L, ELEMENTS);
}

static bool is_among(const char *const names[], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] && !strcmp(names[i], name)) return true;
    return false;
}

/* Raises if the table of options at idx has one that the reduction lacks. What is no name is told of where the rest of
 * them is read. */
static void check_names(lua_State *L, const struct plan *plan, int idx)
{
    bool spread = takes_ddof(plan);
    const char *has[] = {"dtype",
                         "axis",
                         "keepdims",
                         plan->where ? "where" : NULL,
                         plan->join ? "initial" : NULL,
                         spread ? "ddof" : NULL,
                         "out"};
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        const size_t count = sizeof has / sizeof *has;
        if (!key || is_among(has, count, key)) continue;
        const char *other = lg_option_synonym(key);
        if (other && is_among(has, count, other))
            luaL_error(L, "%s: there is no option '%s'; it is called %s", plan->name, key, other);
        luaL_error(L, "%s: there is no option '%s'; there are axis, keepdims%s%s%s, dtype and out", plan->name, key,
                   spread ? ", ddof" : "", plan->where ? ", where" : "", plan->join ? ", initial" : "");
    }
}

/* The array, converted where a dtype is asked for. */
static void push_elements(lua_State *L)
{
    lua_pushvalue(L, ARRAY);
    if (!take(L, "dtype")) return;
    lg_check_dtype(L, -1, RT_FLOAT32);
    call_method(L, ARRAY, "to", 1);
    lua_replace(L, ELEMENTS);
    lua_settop(L, ELEMENTS);
}

/* Begins a minimum or maximum of bools as numbers, as it is one, too. */
static void push_initial(lua_State *L, const struct plan *plan)
{
    if (!take(L, "initial")) {
        lua_pushnil(L);
        return;
    }
    if (plan->needs_initial && lg_check_form(L, ELEMENTS)->dtype == RT_BOOL) {
        lua_pushliteral(L, "int32");
        call_method(L, ELEMENTS, "to", 1);
        lua_replace(L, ELEMENTS);
    }
    check_initial(L, plan, lg_check_form(L, ELEMENTS)->dtype);
}

/* The reduction of the elements, which were of the dtype, and what it begins with. */
static void push_reduced(lua_State *L, const struct plan *plan, enum rt_dtype t)
{
    const bool begins = !lua_isnil(L, INITIAL);
    const bool nothing = begins && plan->needs_initial && rt_array_size(lg_check_form(L, ELEMENTS)) == 0;
    lua_pushvalue(L, OPTIONS); /* the sum is 0 where there is nothing, and has the right shape */
    call_method(L, ELEMENTS, nothing ? "sum" : plan->name, 1);
    if (nothing)
        join_nothing(L);
    else if (begins)
        join(L, plan, t);
}

bool lg_reduce_with_options(lua_State *L, const char *name)
{
    static const char *const names[] = {"dtype", "where", "initial"};
    int table = lua_gettop(L), has = 0;
    if (table < 2 || !lua_istable(L, table) || lua_rawlen(L, table) > 0) return false;
    for (int i = 0; i < 3; i++) has |= lua_getfield(L, table, names[i]) != LUA_TNIL;
    lua_settop(L, table);
    const struct plan *plan = find_plan(name);
    if (plan) check_names(L, plan, table);
    if (!has || !plan) return false;
    luaL_checkstack(L, 20, NULL);
    lg_check_array(L, ARRAY);
    if (table > 3)
        luaL_error(L, "%s: options stand behind the array and the axis, as {keepdims = true, where = mask}", name);
    take_options(L, table, name);
    push_elements(L);
    push_initial(L, plan);
    if (!take(L, "where")) lua_pushnil(L);
    enum rt_dtype dtype = lg_check_form(L, ELEMENTS)->dtype, mean = lg_floating(lg_check_form(L, ELEMENTS));
    const bool masked = !lua_isnil(L, MASK);
    if (masked) fill_where(L, plan);
    if (masked && !strcmp(name, "mean"))
        push_masked_mean(L, mean);
    else if (masked && takes_ddof(plan))
        push_masked_variance(L, mean, *name == 's');
    else
        push_reduced(L, plan, dtype);
    return true;
}

const char *lg_reduction_options(const char *name)
{
    const struct plan *plan = find_plan(name);
    if (!plan->where) return " {dtype = t} converts the elements before.";
    if (plan->needs_initial)
        return " {dtype = t} converts the elements before; {initial = n} takes n, too; {where = mask, initial = n} takes "
               "the elements only where the mask, an array of bools whose shape broadcasts, is true.";
    if (plan->join)
        return " {dtype = t} converts the elements before; {initial = n} begins with n; {where = mask} takes the elements "
               "only where the mask, an array of bools whose shape broadcasts, is true.";
    return " {dtype = t} converts the elements before; {where = mask} takes them only where the mask, an array of bools "
           "whose shape broadcasts, is true.";
}
