/* Reductions and scans that take NaN for elements that are not there. */
#include <math.h>
#include <string.h>
#include "lang/lazy.h"
#include "lang/reduce.h"
#include "lang/steps.h"

static bool has_nan(const struct rt_array *a)
{
    return rt_dtypes[a->dtype].kind == 'f' || rt_is_complex(a->dtype);
}

/* Pushes the array at 1 with a number in the place of NaN. */
static int push_filled(lua_State *L, double number)
{
    if (!has_nan(lg_form(L, 1))) return 1;
    return lg_step(L, "where", "vnv", lg_step(L, "isnan", "v", 1), number, 1);
}

/* Reads the axes at 2. Returns where their list is, which stands for them in steps. */
static int check_axes(lua_State *L, struct lg_reduction *r)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check_reduction(L, 2, a->ndim, NULL, r);
    return lg_push_axes(L, r->axes, a->ndim);
}

/* Of elements that cannot be NaN it is the plain reduction. */
static int present_statistic(lua_State *L, const char *name, const char *plain, enum kn_statistic_kind kind)
{
    struct lg_reduction r = {0};
    if (lg_out(L, name)) return 1;
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    if (has_nan(a)) return lg_reduce_to_statistic(L, kind, &r);
    return lg_end_reduction(L, lg_step(L, plain, "vvb", 1, lg_push_axes(L, r.axes, a->ndim), 1), a, &r);
}

static int nansum(lua_State *L)
{
    return present_statistic(L, "nansum", "sum", KN_NANSUM);
}
static int nanmean(lua_State *L)
{
    return present_statistic(L, "nanmean", "mean", KN_NANMEAN);
}
static int nanprod(lua_State *L)
{
    struct lg_reduction r = {0};
    if (lg_out(L, "nanprod")) return 1;
    int axes = check_axes(L, &r);
    const struct rt_array *a = lg_form(L, 1);
    return lg_end_reduction(L, lg_step(L, "prod", "vvb", push_filled(L, 1), axes, 1), a, &r);
}

/* Whether the number is in the array at idx, which is computed for that. */
static bool holds(lua_State *L, int idx, double number)
{
    lg_step(L, "any", "v", lg_step(L, "eq", "vn", idx, number));
    bool found = lua_toboolean(L, -1);
    lua_pop(L, 2);
    return found;
}

/* Whether the number at idx is NaN, or an element of the array there: then the greatest is. */
static bool holds_nan(lua_State *L, int idx)
{
    if (lua_type(L, idx) == LUA_TNUMBER) return isnan(lua_tonumber(L, idx));
    if (rt_array_size(lg_form(L, idx)) == 0) return false;
    lg_step(L, "max", "v", idx);
    bool is = isnan(lua_tonumber(L, -1));
    lua_pop(L, 1);
    return is;
}

/* Pushes the extreme of all elements of a small array, of which none is NaN. */
static bool push_small_extreme(lua_State *L, const struct rt_array *a, enum kn_reduction reduction,
                               const struct lg_reduction *r)
{
    enum rt_dtype t;
    _Alignas(16) char element[RT_ELEMENT];
    if (!r->value || lg_explains(L) || lg_waits(a) || !kn_small_reduction(reduction, a, &t, element)) return false;
    if (has_nan(a) && isnan(rt_load_double(t, element))) return false;
    lg_push_scalar(L, t, element);
    return true;
}

/* Of NaN and the number the number is the greater, and the lesser one. A result that is the number may be of nothing
 * but NaN. */
static int extreme(lua_State *L, const char *name, enum kn_reduction reduction)
{
    struct lg_reduction r = {0};
    const char *plain = kn_reductions[reduction].name;
    const double number = reduction == KN_MIN ? INFINITY : -INFINITY;
    if (lg_out(L, name)) return 1;
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check(L, kn_check_real(a, name, lg_error_box(L)));
    lg_check_reduction(L, 2, a->ndim, NULL, &r);
    if (push_small_extreme(L, a, reduction, &r)) return 1;
    int axes = lg_push_axes(L, r.axes, a->ndim);
    const bool generated = kn_runs_generated(rt_array_device(a));
    if (!has_nan(a) || (!generated && !lg_waits(a) && !lg_explains(L))) { /* mostly there is none */
        int all = lg_step(L, plain, "vvb", 1, axes, 1);
        if (!has_nan(a) || !holds_nan(L, all)) return lg_end_reduction(L, all, a, &r);
    }
    int filled = lg_step(L, reduction == KN_MIN ? "fmin" : "fmax", "vn", 1, number);
    int result = lg_step(L, plain, "vvb", filled, axes, 1);
    if (generated || holds(L, result, number)) {
        int none = lg_step(L, "all", "vvb", lg_step(L, "isnan", "v", 1), axes, 1);
        result = lg_step(L, "where", "vnv", none, (double)NAN, result);
    }
    return lg_end_reduction(L, result, a, &r);
}

static int nanmin(lua_State *L)
{
    return extreme(L, "nanmin", KN_MIN);
}
static int nanmax(lua_State *L)
{
    return extreme(L, "nanmax", KN_MAX);
}

static int place(lua_State *L, const char *name, const char *plain, double number)
{
    struct lg_reduction r = {0};
    if (lg_out(L, name)) return 1;
    lg_check(L, kn_check_real(lg_check_form(L, 1), name, lg_error_box(L)));
    int axes = check_axes(L, &r);
    const struct rt_array *a = lg_form(L, 1);
    if (has_nan(a)) {
        int none = lg_step(L, "all", "vvb", lg_step(L, "isnan", "v", 1), axes, 1);
        lg_step(L, "any", "v", none);
        if (rt_array_size(a) > 0 && lua_toboolean(L, -1))
            return luaL_error(L, "%s: %s, so there is no place to tell", name,
                              r.named ? "there is a row of nothing but NaN" : "all elements are NaN");
    }
    return lg_end_reduction(L, lg_step(L, plain, "vvb", push_filled(L, number), axes, 1), a, &r);
}

static int nanargmin(lua_State *L)
{
    return place(L, "nanargmin", "argmin", INFINITY);
}
static int nanargmax(lua_State *L)
{
    return place(L, "nanargmax", "argmax", -INFINITY);
}

/* Replaces the array at 1 by its elements in what statistics compute in, and returns what they are rounded to. */
static enum rt_dtype widen(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    enum rt_dtype t = lg_floating(a), wide = rt_is_complex(t) ? t : kn_wide_dtype(t);
    if (wide != a->dtype) {
        lg_step(L, "to", "vs", 1, rt_dtypes[wide].name);
        lua_replace(L, 1);
    }
    return t;
}

static int deviation(lua_State *L, const char *name, enum kn_statistic_kind kind)
{
    struct lg_reduction r = {0};
    if (lg_out(L, name)) return 1;
    lg_check_reduction(L, 2, lg_check_form(L, 1)->ndim, "ddof", &r);
    r.number = luaL_optnumber(L, 4, r.number);
    return lg_reduce_to_statistic(L, kind, &r);
}

static int nanvar(lua_State *L)
{
    return deviation(L, "nanvar", KN_NANVARIANCE);
}
static int nanstd(lua_State *L)
{
    return deviation(L, "nanstd", KN_NANDEVIATION);
}

/* ---- by order ---- */

/* Pushes the elements with the reduced axes behind the others, as one, in order, so that NaN is last; and behind that
 * how many are not NaN, as float64. */
static int push_ordered(lua_State *L, unsigned axes)
{
    int rows = lg_step(L, "sort", "v", lg_push_rows(L, 1, axes));
    int there = lg_step(L, "logical_not", "v", lg_step(L, "isnan", "v", rows));
    lg_step(L, "to", "vs", lg_step(L, "sum", "vib", there, (int64_t)-1, 1), "float64");
    return rows;
}

/* Pushes the places that the step makes of those at `at`. */
static int push_step(lua_State *L, int at, enum kn_quantile_step step)
{
    int low;
    switch (step) {
    case KN_DOWN: return lg_step(L, "floor", "v", at);
    case KN_UP: return lg_step(L, "ceil", "v", at);
    case KN_HALF:
    case KN_NEXT_HALF:
        low = lg_step(L, "add", "vi", lg_step(L, "floor", "v", at), (int64_t)(step == KN_NEXT_HALF));
        return lg_step(L, "mul", "vn", lg_step(L, "add", "vv", low, lg_step(L, "ceil", "v", at)), 0.5);
    case KN_EVEN_FROM_0: return lg_step(L, "round", "v", at);
    case KN_EVEN_FROM_1:
        at = lg_step(L, "round", "v", lg_step(L, "add", "vi", at, (int64_t)1));
        return lg_step(L, "sub", "vi", at, (int64_t)1);
    case KN_ON_LINE: break;
    }
    return at;
}

/* Pushes where the quantile lies in rows with so many elements; 0 in those without any. */
static int push_places(lua_State *L, int counts, double q, enum kn_quantile_method method)
{
    const struct kn_quantile_rule *r = &kn_quantile_rules[method];
    int last = lg_step(L, "sub", "vi", counts, (int64_t)1), at;
    if (kn_quantile_reaches_ends(r)) {
        at = lg_step(L, "mul", "vn", last, q);
    } else {
        at = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", counts, q), r->low + q * (1 - r->low - r->high));
        at = lg_step(L, "sub", "vi", at, (int64_t)1);
    }
    at = lg_step(L, "minimum", "vv", push_step(L, at, r->step), last);
    return lg_step(L, "maximum", "vi", at, (int64_t)0);
}

/* Pushes the quantile of the ordered rows. */
static int push_quantile(lua_State *L, int rows, int counts, double q, enum kn_quantile_method method)
{
    int at = push_places(L, counts, q, method);
    int low = lg_step(L, "floor", "v", at), weight = lg_step(L, "sub", "vv", at, low);
    int one = lg_step(L, "to", "vs", lg_step(L, "add", "vi", low, (int64_t)1), "int64");
    int two = lg_step(L, "to", "vs", lg_step(L, "add", "vi", lg_step(L, "ceil", "v", at), (int64_t)1), "int64");
    int x = lg_step(L, "gather", "viv", rows, (int64_t)-1, one),
        y = lg_step(L, "gather", "viv", rows, (int64_t)-1, two);
    weight = lg_step(L, "to", "vs", weight, rt_dtypes[lg_form(L, rows)->dtype].name);
    int mean = lg_step(L, "add", "vv", lg_step(L, "mul", "vn", x, 0.5), lg_step(L, "mul", "vn", y, 0.5));
    int between = lg_step(L, "where", "vvv", lg_step(L, "eq", "vn", weight, 0.5), mean,
                          lg_step(L, "lerp", "vvv", x, y, weight)); /* their distance may be too large for a number */
    return lg_step(L, "where", "vvv", lg_step(L, "eq", "vv", x, y), x, between); /* infinities, too */
}

/* The quantiles at idx (0: the median) in parts of `whole`, with the axes at the argument behind. */
static int quantiles(lua_State *L, const char *name, int idx, double whole)
{
    struct lg_reduction r = {0};
    double q = whole / 2;
    enum kn_quantile_method method = idx ? lg_check_quantile(L, name, false) : KN_LINEAR;
    bool list = idx && !lua_isnumber(L, idx);
    const struct rt_array *a = lg_check_form(L, 1);
    lg_check(L, kn_check_real(a, name, lg_error_box(L)));
    lg_check_reduction(L, idx ? idx + 1 : 2, a->ndim, NULL, &r);
    if (kn_reduced_length(a, r.axes) == 0) return luaL_error(L, "%s of no elements", name);
    if (list) luaL_checktype(L, idx, LUA_TTABLE);
    enum rt_dtype t = widen(L);
    a = lg_form(L, 1);
    int rows = push_ordered(L, r.axes), counts = lua_gettop(L), ndim;
    int64_t shape[RT_MAX_DIMS];
    lua_Integer count = list ? (lua_Integer)lua_rawlen(L, idx) : 1;
    lua_newtable(L);
    int results = lua_gettop(L);
    kn_reduced_shape(a, r.axes, r.keepdims, &ndim, shape);
    lg_push_shape(L, ndim, shape);
    for (lua_Integer i = 1; i <= count; i++) {
        if (list) lua_rawgeti(L, idx, i);
        if (idx) q = lua_tonumber(L, list ? -1 : idx);
        if (idx && (!lua_isnumber(L, list ? -1 : idx) || !(q >= 0 && q <= whole)))
            return luaL_error(L, "%s: q is from 0 to %d, got %s", name, (int)whole,
                              luaL_tolstring(L, list ? -1 : idx, NULL));
        int one = lg_step(L, "to", "vs", push_quantile(L, rows, counts, q / whole, method), rt_dtypes[t].name);
        lg_step(L, "reshape", "vv", one, results + 1);
        lua_rawseti(L, results, i);
        lua_settop(L, results + 1);
    }
    if (list) {
        luaL_argcheck(L, count > 0, idx, "a list of numbers expected, and this one is empty");
        lg_step(L, "gpu.stack", "v", results);
        return 1;
    }
    lua_rawgeti(L, results, 1);
    if (r.value) lg_step(L, "item", "v", lua_gettop(L));
    return 1;
}

static int nanmedian(lua_State *L)
{
    if (lg_out(L, "nanmedian")) return 1;
    return quantiles(L, "nanmedian", 0, 1);
}
static int nanquantile(lua_State *L)
{
    if (lg_out(L, "nanquantile")) return 1;
    return quantiles(L, "nanquantile", 2, 1);
}
static int nanpercentile(lua_State *L)
{
    if (lg_out(L, "nanpercentile")) return 1;
    return quantiles(L, "nanpercentile", 2, 100);
}

/* ---- scans ---- */

static int scan(lua_State *L, const char *plain, double number)
{
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) lg_check_axis(L, 2, a->ndim);
    lg_step(L, plain, "vv", push_filled(L, number), 2);
    return 1;
}

static int nancumsum(lua_State *L)
{
    return scan(L, "cumsum", 0);
}
static int nancumprod(lua_State *L)
{
    return scan(L, "cumprod", 1);
}

#define AXES(name)   "x:" name "([axis [, keepdims]] | {axis=, keepdims=})   gpu." name "(x, ...)"
#define SPREAD(name) "x:" name "([axis [, keepdims [, ddof]]] | {axis=, keepdims=, ddof=})   gpu." name "(x, ...)"
#define LEFT_OUT     "with the elements that are NaN left out.\n"

const struct lg_function lg_nan_functions[] = {
    {"nansum", nansum, AXES("nansum"), "The sum, " LEFT_OUT "Of none it is 0. " LG_AXES_DOC,
     "assert(gpu.array({1, 0/0, 3}):nansum() == 4)"},
    {"nanprod", nanprod, AXES("nanprod"), "The product, " LEFT_OUT "Of none it is 1. " LG_AXES_DOC,
     "assert(gpu.array({2, 0/0, 3}):nanprod() == 6)"},
    {"nanmin", nanmin, AXES("nanmin"), "The smallest element, " LEFT_OUT "Of none it is NaN. " LG_AXES_DOC,
     "assert(gpu.array({2, 0/0, 3}):nanmin() == 2)"},
    {"nanmax", nanmax, AXES("nanmax"), "The greatest element, " LEFT_OUT "Of none it is NaN. " LG_AXES_DOC,
     "assert(gpu.array({2, 0/0, 3}):nanmax() == 3)"},
    {"nanargmin", nanargmin, AXES("nanargmin"),
     "The index of the smallest element, from 1, " LEFT_OUT "A row of nothing but NaN is an error. " LG_AXES_DOC,
     "assert(gpu.array({0/0, 3, 2}):nanargmin() == 3)"},
    {"nanargmax", nanargmax, AXES("nanargmax"),
     "The index of the greatest element, from 1, " LEFT_OUT "A row of nothing but NaN is an error. " LG_AXES_DOC,
     "assert(gpu.array({0/0, 3, 2}):nanargmax() == 2)"},
    {"nanmean", nanmean, AXES("nanmean"), "The mean, " LEFT_OUT "Of none it is NaN. " LG_AXES_DOC,
     "assert(gpu.array({1, 0/0, 3}):nanmean() == 2)"},
    {"nanvar", nanvar, SPREAD("nanvar"),
     "The variance, " LEFT_OUT
     "Divided by their number less ddof, 0 unless told otherwise; NaN where that is not above 0. " LG_AXES_DOC,
     "assert(gpu.array({1, 0/0, 3}):nanvar() == 1 and gpu.array({1, 0/0, 3}):nanvar({ddof = 1}) == 2)"},
    {"nanstd", nanstd, SPREAD("nanstd"), "The standard deviation, the root of nanvar, " LEFT_OUT LG_AXES_DOC,
     "assert(gpu.array({1, 0/0, 3}):nanstd() == 1)"},
    {"nanmedian", nanmedian, AXES("nanmedian"), "The median, " LEFT_OUT "Of none it is NaN. " LG_AXES_DOC,
     "assert(gpu.array({5, 0/0, 1, 2}):nanmedian() == 2)"},
    {"nanquantile", nanquantile, LG_QUANTILE("nanquantile"),
     "The element that the part q of all is below, " LEFT_OUT
     "q is from 0 to 1; a list of them gives an array whose first axis is theirs. " LG_QUANTILE_DOC LG_AXES_DOC,
     "assert(gpu.array({4, 0/0, 3, 2}):nanquantile(0.5) == 3)"},
    {"nanpercentile", nanpercentile, LG_QUANTILE("nanpercentile"),
     "nanquantile with q from 0 to 100, " LEFT_OUT LG_AXES_DOC,
     "assert(gpu.array({4, 0/0, 3, 2}):nanpercentile({0, 100})[2] == 4)"},
    {"nancumsum", nancumsum, "x:nancumsum([axis])   gpu.nancumsum(x [, axis])",
     "cumsum with 0 for NaN: each element plus all before it, along an axis or through all.",
     "assert(gpu.array({1, 0/0, 3}):nancumsum():equal(gpu.array({1, 1, 4})))"},
    {"nancumprod", nancumprod, "x:nancumprod([axis])   gpu.nancumprod(x [, axis])",
     "cumprod with 1 for NaN: each element times all before it, along an axis or through all.",
     "assert(gpu.array({2, 0/0, 3}):nancumprod():equal(gpu.array({2, 2, 6})))"},
    {0}};
