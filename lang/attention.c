/* What transformers are made of beside products of matrices: attention, rows picked by number, elements left out. */
#include <math.h>
#include <string.h>
#include "kernels/statistics.h"
#include "lang/steps.h"

/* ---- attention ---- */

static void check_parts(lua_State *L, const char *what, const struct rt_array *q, const struct rt_array *k,
                        const struct rt_array *v)
{
    char a[256], b[256], c[256];
    if (q->ndim >= 2 && k->ndim >= 2 && v->ndim >= 2 && q->shape[q->ndim - 1] == k->shape[k->ndim - 1] &&
        k->shape[k->ndim - 2] == v->shape[v->ndim - 2])
        return;
    luaL_error(L,
               "%s: q, k and v have the shapes %s, %s and %s, expected (..., L, E), (..., S, E) and (..., S, V): "
               "queries and keys of one length, and a value for each key",
               what, rt_shape_text(q->ndim, q->shape, a, sizeof a), rt_shape_text(k->ndim, k->shape, b, sizeof b),
               rt_shape_text(v->ndim, v->shape, c, sizeof c));
}

/* Pushes the scores at idx, (..., L, S), where only the keys that the mask lets through are not -infinity; the mask at
 * `mask` is of bools, or of numbers that are added. */
static int push_masked(lua_State *L, const char *what, int scores, int mask)
{
    const struct rt_array *s = lg_form(L, scores), *m = lg_form(L, mask);
    char has[256], text[256];
    bool fits = m->ndim <= s->ndim;
    for (int i = 1; fits && i <= m->ndim; i++)
        fits = m->shape[m->ndim - i] == 1 || m->shape[m->ndim - i] == s->shape[s->ndim - i];
    if (!fits)
        luaL_error(L, "%s: the mask has the shape %s, expected one that broadcasts to the scores' %s", what,
                   rt_shape_text(m->ndim, m->shape, has, sizeof has),
                   rt_shape_text(s->ndim, s->shape, text, sizeof text));
    if (m->dtype == RT_BOOL) return lg_step(L, "where", "vvn", mask, scores, -INFINITY);
    lg_check(L, kn_check_real(m, what, lg_error_box(L)));
    return lg_step(L, "add", "vv", scores, lg_step(L, "to", "vs", mask, rt_dtypes[s->dtype].name));
}

/* Pushes where a query's row has a key that does not come after it: the first query sees the first key. */
static int push_causal(lua_State *L, const struct rt_array *scores)
{
    const char *device = rt_array_device(scores)->name;
    int64_t rows = scores->shape[scores->ndim - 2], columns = scores->shape[scores->ndim - 1];
    int i = lg_step(L, "gpu.range", "iiss", (int64_t)1, rows, "int32", device);
    int j = lg_step(L, "gpu.range", "iiss", (int64_t)1, columns, "int32", device);
    return lg_step(L, "ge", "vv", lg_step(L, "unsqueeze", "vi", i, (int64_t)2), j);
}

/* gpu.scaled_dot_product_attention(q, k, v [, mask [, causal [, scale]]]) */
static int attention(lua_State *L)
{
    const char *what = "scaled_dot_product_attention";
    const struct rt_array *q = lg_check_form(L, 1), *k = lg_check_form(L, 2), *v = lg_check_form(L, 3);
    lua_settop(L, 6);
    check_parts(L, what, q, k, v);
    lg_check(L, kn_check_real(q, what, lg_error_box(L)));
    lg_check(L, kn_check_real(k, what, lg_error_box(L)));
    lg_check(L, kn_check_real(v, what, lg_error_box(L)));
    bool causal = lg_check_flag(L, 5, "causal"), masked = !lua_isnil(L, 4);
    int64_t length = q->shape[q->ndim - 1];
    double scale = lg_number_option(L, 6, what, "scale", 1 / sqrt((double)(length ? length : 1)));
    if (masked) lg_step_array(L, 4, q, RT_DTYPE_COUNT);
    enum rt_dtype t = lg_floating(q);
    const char *wide = rt_dtypes[kn_wide_dtype(t)].name;
    int queries = lg_step(L, "mul", "vn", lg_step(L, "to", "vs", 1, wide), scale);
    int keys = lg_step(L, "transpose", "vii", lg_step(L, "to", "vs", 2, wide), (int64_t)-1, (int64_t)-2);
    int scores = lg_step(L, "matmul", "vv", queries, keys);
    const struct rt_array *s = lg_form(L, scores);
    bool none = s->shape[s->ndim - 1] == 0;
    if (masked) scores = push_masked(L, what, scores, 4);
    if (causal) scores = lg_step(L, "where", "vvn", push_causal(L, s), scores, -INFINITY);
    if (!none) { /* a query that no key is left for gets zeros: nothing is subtracted there, and nothing divided by 0 */
        int greatest = lg_step(L, "max", "vib", scores, (int64_t)-1, true);
        if (masked) greatest = lg_step(L, "where", "vnv", lg_step(L, "eq", "vn", greatest, -INFINITY), 0.0, greatest);
        scores = lg_step(L, "exp", "v", lg_step(L, "sub", "vv", scores, greatest));
        lg_check_array(L, scores); /* once, for the sum and the product */
    }
    int sum = lg_step(L, "sum", "vib", scores, (int64_t)-1, true);
    if (masked || none) sum = lg_step(L, "where", "vnv", lg_step(L, "eq", "vn", sum, 0.0), 1.0, sum);
    int values = lg_step(L, "matmul", "vv", scores, lg_step(L, "to", "vs", 3, wide));
    int result = lg_step(L, "div", "vv", values, sum);
    if (lg_form(L, result)->dtype != t) result = lg_step(L, "to", "vs", result, rt_dtypes[t].name);
    lua_pushvalue(L, result);
    return 1;
}

/* ---- rows and elements ---- */

/* gpu.embedding(indices, weight) */
static int embedding(lua_State *L)
{
    const struct rt_array *w = lg_check_form(L, 2);
    const struct rt_array *indices = lg_test_array(L, 1) ? lg_form(L, 1) : NULL; /* of a list take says what is wrong */
    char text[256];
    if (w->ndim != 2)
        return luaL_error(L, "embedding: weight has the shape %s, expected (rows, features)",
                          rt_shape_text(w->ndim, w->shape, text, sizeof text));
    if (indices && !strchr("iu", rt_dtypes[indices->dtype].kind))
        return luaL_error(L, "embedding: indices are %s, expected integers; x:to(\"int64\") makes some",
                          rt_dtypes[indices->dtype].name);
    lg_step(L, "take", "vvi", 2, 1, (int64_t)1);
    return 1;
}

/* gpu.dropout(x [, p]) */
static int dropout(lua_State *L)
{
    const struct rt_array *x = lg_check_form(L, 1);
    lua_settop(L, 2);
    double p = lg_number_option(L, 2, "dropout", "p", 0.5);
    if (!(p >= 0 && p <= 1))
        return luaL_error(L, "dropout: p is %s, expected a probability from 0 to 1", lua_tostring(L, 2));
    lg_push_shape(L, x->ndim, x->shape);
    int kept = lg_step(L, "gpu.random.bernoulli", "nvss", 1 - p, lua_gettop(L), "bool", rt_array_device(x)->name);
    int scaled = lg_step(L, "mul", "vn", 1, p < 1 ? 1 / (1 - p) : 0.0);
    lg_step(L, "where", "vvi", kept, scaled, (int64_t)0);
    return 1;
}

const struct lg_function lg_attention_functions[] = {
    {"scaled_dot_product_attention", attention,
     "gpu.scaled_dot_product_attention(q, k, v [, mask [, causal [, scale]]])",
     "The means of values v, weighted by how well their keys k go with each query of q.\n"
     "q is (..., L, E), k (..., S, E), v (..., S, V), the result (..., L, V), softmax(q k^T scale) v with the axes before "
     "them broadcast. scale is 1 / sqrt(E) unless told otherwise. The mask broadcasts to (..., L, S): bools say which "
     "keys count, numbers are added to the scores; with causal = true key j counts for queries from j on. A query that no "
     "key is left for gets zeros. float16 and bfloat16 are computed in float32; integers become floats.",
     "local q, v = gpu.zeros(2, 3), gpu.array({{1}, {3}})\n"
     "assert(gpu.scaled_dot_product_attention(q, q, v):equal(gpu.array({{2}, {2}})))\n"
     "assert(gpu.scaled_dot_product_attention(q, q, v, {causal = true}):equal(gpu.array({{1}, {2}})))"},
    {"embedding", embedding, "gpu.embedding(indices, weight)",
     "The rows of weight, (rows, features), at the indices: their shape with the features behind it.\n"
     "Indices are integers from 1; weight:take(indices, 1) is the same.",
     "local w = gpu.array({{1, 2}, {3, 4}})\nassert(gpu.embedding({2, 1, 2}, w):equal(gpu.array({{3, 4}, {1, 2}, {3, 4}})))"},
    {"dropout", dropout, "gpu.dropout(x [, p])",
     "x with each element 0 with the probability p, 0.5 unless told otherwise, and the others divided by 1 - p.\n"
     "Drawn by gpu.random.bernoulli, so gpu.seed makes it the same again. Integers become floats.",
     "local y = gpu.dropout(gpu.ones(10000), 0.75)\nassert(y:max() == 4 and math.abs(y:mean() - 1) < 0.2)"},
    {0}};
