/* Arrays as sets of numbers, and the bins that elements lie in. */
#include <string.h>
#include "lang/steps.h"

/* Pushes the different elements of the list or array at idx, in order. */
static int push_unique(lua_State *L, int idx, const struct rt_array *beside, const char *what)
{
    const struct rt_array *a = lg_step_array(L, idx, beside, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    return lg_step(L, "unique", "v", idx);
}

#define WIDEST_SPAN 6 /* elements of a table, for each that it is asked for or made of */

/* The least and the greatest of the ordered elements at `set` when they are near enough for a table of all between, to
 * be asked for the elements at x. */
static bool fit_table(lua_State *L, int x, int set, int64_t *low, int64_t *high)
{
    const struct rt_array *a = lg_form(L, x), *s = lg_check_array(L, set);
    bool whole = strchr("biu", rt_dtypes[a->dtype].kind) && strchr("biu", rt_dtypes[s->dtype].kind);
    if (!whole || kn_runs_generated(rt_array_device(s))) return false;
    const char *first = rt_array_host(s);
    *low = rt_load_int(s->dtype, first);
    *high = rt_load_int(s->dtype, first + (s->shape[0] - 1) * (int64_t)rt_dtypes[s->dtype].size);
    bool wraps = a->dtype == RT_UINT64 || s->dtype == RT_UINT64; /* the greatest are below 0 as int64 */
    if (*low < (wraps ? 0 : INT64_MIN / 4) || *high < *low || *high > INT64_MAX / 4) return false;
    return (*high - *low) / WIDEST_SPAN <= rt_array_size(a) + s->shape[0];
}

/* Pushes the answers of a table with one more element at either end, for all that is beyond. */
static int push_from_table(lua_State *L, int x, int set, int64_t low, int64_t high)
{
    enum rt_dtype t = lg_form(L, x)->dtype;
    bool narrow = (rt_dtypes[t].size < 4 || t == RT_INT32) && low > INT32_MIN / 4 && high < INT32_MAX / 4;
    const char *dtype = narrow ? "int32" : "int64", *device = rt_array_device(lg_form(L, set))->name;
    int table = lg_step(L, "gpu.zeros", "iss", high - low + 3, "bool", device);
    int known = lg_step(L, "sub", "vi", lg_step(L, "to", "vs", set, "int64"), low - 2);
    lg_step(L, "put_", "vvi", table, known, (int64_t)1);
    int near = lg_step(L, "clip", "vii", lg_step(L, "to", "vs", x, dtype), low - 1, high + 1);
    return lg_step(L, "take", "vv", table, lg_step(L, "sub", "vi", near, low - 2));
}

#define FEW   12   /* elements of a set that all are compared with one after the other, */
#define WORTH 2048 /* where there are so many for each: to say it takes a microsecond */

/* Whether the elements at x are to be compared with each of the set's: values of their own dtype, that steps can be
 * given. */
static bool are_few(lua_State *L, int x, int set)
{
    const struct rt_array *s = lg_form(L, set);
    if (s->shape[0] > FEW || s->dtype != lg_form(L, x)->dtype || s->dtype == RT_UINT64) return false;
    if (rt_array_size(lg_form(L, x)) < WORTH * s->shape[0]) return false;
    return !kn_runs_generated(rt_array_device(s));
}

/* Pushes where the element at x is the first of the set, or the second, and so on. */
static int push_compared(lua_State *L, int x, int set)
{
    const struct rt_array *s = lg_check_array(L, set);
    const bool floating = rt_dtypes[s->dtype].kind == 'f';
    int found = 0;
    for (int64_t i = 0; i < s->shape[0]; i++) {
        const char *at = (const char *)rt_array_host(s) + i * (int64_t)rt_dtypes[s->dtype].size;
        const int is = floating ? lg_step(L, "eq", "vn", x, rt_load_double(s->dtype, at))
                                : lg_step(L, "eq", "vi", x, rt_load_int(s->dtype, at));
        found = i == 0 ? is : lg_step(L, "logical_or", "vv", found, is);
    }
    return found;
}

/* Pushes where the elements of the array at x are among the ordered ones at `set`. */
static int push_isin(lua_State *L, int x, int set)
{
    int64_t n = lg_form(L, set)->shape[0], low, high;
    if (n == 0) return lg_step(L, "gpu.zeros_like", "vs", x, "bool");
    if (are_few(L, x, set)) return push_compared(L, x, set);
    if (fit_table(L, x, set, &low, &high)) return push_from_table(L, x, set, low, high);
    int at = lg_step(L, "clip", "vii", lg_step(L, "searchsorted", "vv", set, x), (int64_t)1, n);
    return lg_step(L, "eq", "vv", lg_step(L, "take", "vv", set, at), x);
}

static int isin(lua_State *L)
{
    const struct rt_array *x = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(x, "isin", lg_error_box(L)));
    push_isin(L, 1, push_unique(L, 2, x, "isin"));
    return 1;
}

/* Replaces the list or array at 1 by its different elements, and that at 2 likewise. */
static void make_sets(lua_State *L, const char *what)
{
    lua_settop(L, 2);
    for (int i = 1; i <= 2; i++) {
        push_unique(L, i, i == 2 ? lg_form(L, 1) : NULL, what);
        lua_replace(L, i);
    }
    lua_settop(L, 2);
}

/* Pushes the elements of both sets in order, and where each but the last equals the next. */
static int push_merged(lua_State *L)
{
    int all = lg_step(L, "sort", "v", lg_push_joined(L, 0, 2, (int[]){1, 2}));
    int64_t n = lg_form(L, all)->shape[0], rest = n > 0 ? n - 1 : 0;
    int before = lg_step(L, "narrow", "viii", all, (int64_t)1, (int64_t)1, rest);
    int behind = lg_step(L, "narrow", "viii", all, (int64_t)1, n - rest + 1, rest);
    lg_step(L, "eq", "vv", before, behind);
    return all;
}

static int intersect1d(lua_State *L)
{
    make_sets(L, "intersect1d");
    int all = push_merged(L), twice = lua_gettop(L);
    int64_t rest = lg_form(L, twice)->shape[0];
    lg_step(L, "masked_select", "vv", lg_step(L, "narrow", "viii", all, (int64_t)1, (int64_t)1, rest), twice);
    return 1;
}

static int union1d(lua_State *L)
{
    lua_settop(L, 2);
    for (int i = 1; i <= 2; i++) {
        const struct rt_array *a = lg_step_array(L, i, i == 2 ? lg_form(L, 1) : NULL, RT_DTYPE_COUNT);
        lg_check(L, kn_check_real(a, "union1d", lg_error_box(L)));
        lg_step(L, "flatten", "v", i);
        lua_replace(L, i);
    }
    lua_settop(L, 2);
    lg_step(L, "unique", "v", lg_push_joined(L, 0, 2, (int[]){1, 2}));
    return 1;
}

static int setdiff1d(lua_State *L)
{
    make_sets(L, "setdiff1d");
    lg_step(L, "masked_select", "vv", 1, lg_step(L, "logical_not", "v", push_isin(L, 1, 2)));
    return 1;
}

static int setxor1d(lua_State *L)
{
    make_sets(L, "setxor1d");
    int all = push_merged(L), twice = lua_gettop(L);
    if (lg_form(L, all)->shape[0] == 0) {
        lua_pushvalue(L, all);
        return 1;
    }
    int edge = lg_step(L, "gpu.zeros", "iss", (int64_t)1, "bool", rt_array_device(lg_form(L, all))->name);
    int before = lg_push_joined(L, 0, 2, (int[]){edge, twice}), behind = lg_push_joined(L, 0, 2, (int[]){twice, edge});
    int lonely = lg_step(L, "logical_not", "v", lg_step(L, "logical_or", "vv", before, behind));
    lg_step(L, "masked_select", "vv", all, lonely);
    return 1;
}

/* Whether the last of the n edges at 2 is below the first. */
static bool are_descending(lua_State *L, int64_t n)
{
    if (n < 2) return false;
    lua_geti(L, 2, 1);
    lua_geti(L, 2, n);
    const bool below = lua_compare(L, -1, -2, LUA_OPLT);
    lua_pop(L, 2);
    return below;
}

static int digitize(lua_State *L)
{
    bool number = lua_type(L, 1) == LUA_TNUMBER;
    const struct rt_array *x = number ? NULL : lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    const struct rt_array *edges = lg_step_array(L, 2, x, x ? lg_floating(x) : RT_FLOAT64);
    bool right = lg_check_flag(L, 3, "right");
    if (edges->ndim != 1) return luaL_error(L, "digitize: the edges are one axis of numbers in order");
    const int64_t n = edges->shape[0];
    const bool descending = are_descending(L, n); /* from the last edge on, bins count down */
    const int ascending = descending ? lg_step(L, "flip", "v", 2) : 2;
    const int place = lg_step(L, "searchsorted", "vvs", ascending, 1, right ? "left" : "right");
    if (number)
        lua_pushinteger(L, descending ? n + 1 - lua_tointeger(L, place) : lua_tointeger(L, place) - 1);
    else if (descending)
        lg_step(L, "neg", "v", lg_step(L, "sub", "vi", place, n + 1));
    else
        lg_step(L, "sub", "vi", place, (int64_t)1);
    return 1;
}

#define SETS "x and y are arrays or lists; the result is one axis of different elements in order. "

const struct lg_function lg_set_functions[] = {
    {"isin", isin, "x:isin(y)   gpu.isin(x, y)",
     "Where the elements of x are among those of y, an array or a list.\nA bool array of the shape of x. NaN is among "
     "nothing.",
     "assert(gpu.array({1, 2, 3, 2}):isin({2, 9}):sum() == 2)"},
    {"intersect1d", intersect1d, "x:intersect1d(y)   gpu.intersect1d(x, y)", "What is in both.\n" SETS,
     "assert(gpu.intersect1d(gpu.array({3, 1, 2, 2}), {2, 3, 9}):equal(gpu.array({2, 3})))"},
    {"union1d", union1d, "x:union1d(y)   gpu.union1d(x, y)", "What is in either or both.\n" SETS,
     "assert(gpu.union1d({3, 1}, {2, 3}):equal(gpu.array({1, 2, 3})))"},
    {"setdiff1d", setdiff1d, "x:setdiff1d(y)   gpu.setdiff1d(x, y)", "What is in x and not in y.\n" SETS,
     "assert(gpu.setdiff1d({3, 1, 2}, {2}):equal(gpu.array({1, 3})))"},
    {"setxor1d", setxor1d, "x:setxor1d(y)   gpu.setxor1d(x, y)", "What is in one of them only.\n" SETS,
     "assert(gpu.setxor1d({3, 1, 2}, {2, 4}):equal(gpu.array({1, 3, 4})))"},
    {"digitize", digitize, "x:digitize(edges [, right])   gpu.digitize(x, edges [, right])",
     "The number of the bin that each element lies in: bin 1 begins at the first edge, 0 is before it.\n"
     "Edges are a list or array in ascending order, and each belongs to the bin that begins there or, with right = true, "
     "to the one that ends there; or in descending order, when the upper edge of a bin comes first, and each belongs to "
     "the bin above it or, with right = true, to the one below. A number gives a number.",
     "assert(gpu.array({0.5, 1, 9}):digitize({1, 2, 3}):equal(gpu.array({0, 1, 3})))"},
    {0}};
