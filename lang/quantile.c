/* Medians, quantiles and percentiles. */
#include <string.h>
#include "kernels/order.h"
#include "lang/closest.h"
#include "lang/reduce.h"
#include "lang/steps.h"

enum kn_quantile_method lg_check_quantile(lua_State *L, const char *what, bool weighted)
{
    static const char *const names[] = {"q", "axis", "keepdims", "method", "weights", NULL}, *const unweighted[] = {
                                                                                                 "q", "axis",
                                                                                                 "keepdims", "method",
                                                                                                 NULL};
    const char *const *options = weighted ? names : unweighted;
    const char *methods[KN_QUANTILE_METHODS + 1] = {NULL};
    for (int i = 0; i < KN_QUANTILE_METHODS; i++) methods[i] = kn_quantile_rules[i].name;
    lg_spread_list(L, 2, what, options);
    enum kn_quantile_method method = (enum kn_quantile_method)lg_check_option(L, 5, "linear", methods);
    if (weighted && !lua_isnil(L, 6) && strcmp(kn_quantile_rules[method].name, "inverted_cdf") != 0)
        luaL_error(L, "%s: weights go with method = \"inverted_cdf\" alone, and it is \"%s\"", what, methods[method]);
    return method;
}

/* The q's at idx, a number or a list or array of numbers, as doubles; pushes what keeps them. */
static void push_quantiles(lua_State *L, int idx, struct kn_quantiles *x)
{
    x->list = !lua_isnumber(L, idx);
    x->count = 1;
    if (!x->list) {
        double *q = lua_newuserdatauv(L, sizeof *q, 0);
        *q = lua_tonumber(L, idx);
        x->q = q;
        return;
    }
    if (!lua_istable(L, idx) && !lg_test_array(L, idx))
        luaL_argerror(L, idx,
                      lua_pushfstring(L, "a quantile from 0 to 1, or a list or array of them, expected, got %s",
                                      lg_type_name(L, idx)));
    if (lg_test_array(L, idx)) lg_check_array(L, idx);
    const struct rt_array *a = lua_istable(L, idx)
                                   ? lg_push_from_table(L, idx, RT_FLOAT64, rt_device_open("cpu", lg_error_box(L)))
                                   : lg_check_array(L, idx);
    if (a->ndim != 1) luaL_error(L, "quantiles are a number or a list of numbers, not an array of %d axes", a->ndim);
    struct rt_array *wide = lg_new_array(L);
    lg_check(L, kn_convert(a, RT_FLOAT64, rt_array_device(a), wide, lg_error_box(L)));
    x->count = wide->shape[0];
    x->q = lg_push_host_copy(L, wide);
}

/* The axes are at idx. */
static int quantiles(lua_State *L, int idx, const struct kn_quantiles *x)
{
    struct lg_reduction r;
    const struct rt_array *a = lg_check_array(L, 1);
    _Alignas(16) char element[RT_ELEMENT];
    lg_check_reduction(L, idx, a->ndim, NULL, &r);
    if (r.value && !x->list && kn_small_quantile(a, *x->q, x->method, element)) {
        lg_push_scalar(L, a->dtype, element);
        return 1;
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_quantile(a, x, r.axes, r.keepdims, out, lg_error_box(L)));
    return r.value && !x->list ? lg_push_number_of(L) : 1;
}

/* ---- with weights ---- */

int lg_push_rows(lua_State *L, int x, unsigned axes)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t shape[RT_MAX_DIMS + 1];
    int kept = 0, at = 0;
    if (a->ndim == 0) return lg_push_reshaped(L, x, 1, (int64_t[]){1});
    lua_createtable(L, a->ndim, 0);
    const int order = lua_gettop(L);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < a->ndim; i++) {
            if ((axes >> i & 1) != (unsigned)pass) continue;
            lua_pushinteger(L, i + 1);
            lua_rawseti(L, order, ++at);
            if (!pass) shape[kept++] = a->shape[i];
        }
    shape[kept] = kn_reduced_length(a, axes);
    return lg_push_reshaped(L, lg_step(L, "permute", "vv", x, order), kept + 1, shape);
}

/* Rows in order, where each of their elements ends among the weights, with the whole row as 1, and how many at the
 * front have no weight. */
struct weighed {
    int rows, ends, light;
    int64_t length;
};

static struct weighed push_weighed(lua_State *L, const char *what, int weights, unsigned axes)
{
    int w = lg_step(L, "to", "vs", lg_push_rows(L, weights, axes), "float64"), rows = lg_push_rows(L, 1, axes);
    const int order = lg_step(L, "argsort", "vi", rows, (int64_t)-1);
    struct weighed r = {.rows = lg_step(L, "gather", "viv", rows, (int64_t)-1, order),
                        .length = lg_form(L, rows)->shape[lg_form(L, rows)->ndim - 1]};
    w = lg_step(L, "cumsum", "vi", lg_step(L, "gather", "viv", w, (int64_t)-1, order), (int64_t)-1);
    int whole = lg_push_narrowed(L, w, lg_form(L, w)->ndim - 1, r.length - 1, 1);
    lg_step(L, "all", "v", lg_step(L, "gt", "vi", whole, (int64_t)0));
    if (!lua_toboolean(L, -1)) luaL_error(L, "%s: the weights have no sum above 0", what);
    r.ends = lg_step(L, "div", "vv", w, whole);
    r.light = lg_step(L, "sum", "vib", lg_step(L, "eq", "vi", r.ends, (int64_t)0), (int64_t)-1, 1);
    return r;
}

/* Pushes the first element of each row up to which the part q of the weights lies: NaN where the last one is. */
static int push_reached(lua_State *L, const struct weighed *w, double q)
{
    int below = lg_step(L, "sum", "vib", lg_step(L, "lt", "vn", w->ends, q), (int64_t)-1, 1);
    below = lg_step(L, "minimum", "vi", lg_step(L, "maximum", "vv", below, w->light), w->length - 1);
    int found = lg_step(L, "gather", "viv", w->rows, (int64_t)-1, lg_step(L, "add", "vi", below, (int64_t)1));
    int last = lg_push_narrowed(L, w->rows, lg_form(L, w->rows)->ndim - 1, w->length - 1, 1);
    return lg_step(L, "where", "vvv", lg_step(L, "isnan", "v", last), last, found);
}

/* The quantiles of the array at 1 with the axes at 3 and the weights at 6. */
static int weighted_quantiles(lua_State *L, const struct kn_quantiles *x)
{
    const char *what = x->what;
    struct lg_reduction r = {0};
    const struct rt_array *a = lg_check_array(L, 1);
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    lg_check_reduction(L, 3, a->ndim, NULL, &r);
    if (kn_reduced_length(a, r.axes) == 0) return luaL_error(L, "%s of no elements", what);
    const int weights = lg_check_weights(L, 6, what, a, &r, RT_FLOAT64);
    lg_step(L, "all", "v", lg_step(L, "ge", "vi", weights, (int64_t)0));
    if (!lua_toboolean(L, -1)) return luaL_error(L, "%s: a weight is negative or NaN", what);
    const char *dtype = rt_dtypes[kn_floating_dtype(a->dtype)].name;
    const struct weighed w = push_weighed(L, what, weights, r.axes);
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    kn_reduced_shape(a, r.axes, r.keepdims, &ndim, shape);
    lua_newtable(L);
    const int results = lua_gettop(L);
    for (int64_t i = 0; i < x->count; i++) {
        const double q = x->q[i];
        if (!(q >= 0 && q <= 1)) return luaL_error(L, "%s: q is from 0 to 1, not %f", what, q);
        lg_push_reshaped(L, lg_step(L, "to", "vs", push_reached(L, &w, q), dtype), ndim, shape);
        lua_rawseti(L, results, i + 1);
        lua_settop(L, results);
    }
    if (x->list) {
        lg_step(L, "gpu.stack", "v", results);
        return 1;
    }
    lua_rawgeti(L, results, 1);
    return r.value ? lg_push_number_of(L) : 1;
}

/* ---- the functions ---- */

static int quantile(lua_State *L)
{
    if (lg_out(L, "quantile")) return 1;
    lg_check_array(L, 1);
    struct kn_quantiles x = {.what = "quantile", .method = lg_check_quantile(L, "quantile", true)};
    push_quantiles(L, 2, &x);
    return lua_isnil(L, 6) ? quantiles(L, 3, &x) : weighted_quantiles(L, &x);
}

static int median(lua_State *L)
{
    if (lg_out(L, "median")) return 1;
    const double half = 0.5;
    return quantiles(L, 2, &(struct kn_quantiles){"median", &half, 1, false, KN_LINEAR});
}

/* quantile with q in parts of a hundred. */
static int percentile(lua_State *L)
{
    if (lg_out(L, "percentile")) return 1;
    lg_check_form(L, 1);
    lg_check_quantile(L, "percentile", true);
    if (lua_isnumber(L, 2)) {
        double q = lua_tonumber(L, 2);
        luaL_argcheck(L, q >= 0 && q <= 100, 2, "a percentage is from 0 to 100");
        lua_pushnumber(L, q / 100);
    } else {
        if (!lua_istable(L, 2) && !lg_test_array(L, 2))
            luaL_argerror(L, 2,
                          lua_pushfstring(L, "a percentage from 0 to 100, or a list or array of them, expected, got %s",
                                          lg_type_name(L, 2)));
        lg_step_array(L, 2, lg_form(L, 1), RT_FLOAT64);
        int wide = lg_step(L, "to", "vs", 2, "float64");
        int outside = lg_step(L, "gt", "vn", lg_step(L, "abs", "v", lg_step(L, "sub", "vi", wide, (int64_t)50)), 50.0);
        lg_step(L, "any", "v", outside);
        luaL_argcheck(L, !lua_toboolean(L, -1), 2, "a percentage is from 0 to 100");
        lg_step(L, "div", "vn", wide, 100.0);
    }
    lua_replace(L, 2);
    lg_step(L, "quantile", "vvvvvv", 1, 2, 3, 4, 5, 6);
    return 1;
}

#define WEIGHTS_DOC                                                                                                       \
    "With weights, of the shape of x or along its one axis, and method = \"inverted_cdf\" it is the first element up to " \
    "which the part q of the weights lies. "

const struct lg_function lg_quantile_functions[] = {
    {"median", median, "x:median([axis [, keepdims]])   gpu.median(x [, axis [, keepdims]])",
     "The middle one of the elements in order, or the mean of the two in the middle; NaN where there is one.\n" LG_AXES_DOC,
     "assert(gpu.array({5, 1, 3, 2}):median() == 2.5)"},
    {"quantile", quantile, LG_WEIGHTED_QUANTILE("quantile"),
     "The element that the part q of all is below; NaN where there is one.\n"
     "q is from 0 to 1; a list of them gives an array whose first axis is theirs. " LG_QUANTILE_DOC WEIGHTS_DOC
         LG_AXES_DOC,
     "local x = gpu.array({4, 1, 3, 2})\nassert(x:quantile(0.5) == 2.5 and x:quantile({0, 1})[2] == 4)\n"
     "assert(x:quantile(0.5, {method = 'lower'}) == 2)\n"
     "assert(x:quantile(0.5, {method = 'inverted_cdf', weights = {9, 1, 1, 1}}) == 4)"},
    {"percentile", percentile, LG_WEIGHTED_QUANTILE("percentile"),
     "The element that q percent of all are below, which is quantile with q from 0 to 100.\n"
     "A list or array of q gives an array whose first axis is theirs. " LG_QUANTILE_DOC WEIGHTS_DOC LG_AXES_DOC,
     "assert(gpu.array({4, 1, 3, 2}):percentile(50) == 2.5 and gpu.range(5):percentile({0, 25})[2] == 2)"},
    {0}};
