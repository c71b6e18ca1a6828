/* Spaces that a matrix maps to or leaves out, matrices of one row of numbers, and equations of arrays of more axes. */
#include <float.h>
#include "lang/linalg.h"
#include "lang/steps.h"

/* ---- spaces ---- */

static double precision(enum rt_dtype t)
{
    return t == RT_FLOAT64 || t == RT_COMPLEX128 ? DBL_EPSILON : FLT_EPSILON;
}

/* Pushes U, the singular values and V^H of the matrix at 1, from *at on, and returns how many values are above the part
 * at 2 of the greatest. */
static int64_t push_rank(lua_State *L, const char *what, bool full, int *at)
{
    char text[256];
    const struct rt_array *a = lg_check_matrices(L, what);
    double part = lg_number_option(L, 2, what, "rcond", -1);
    if (a->ndim != 2)
        luaL_error(L,
                   "%s: the array has the shape %s, expected one matrix, since the results of several differ in size",
                   what, rt_shape_text(a->ndim, a->shape, text, sizeof text));
    int64_t rows = a->shape[0], columns = a->shape[1], more = rows > columns ? rows : columns;
    if (part < 0) part = precision(lg_floating(a)) * (double)more;
    lg_push_factors(L, KN_SVD, a, NULL, &(struct kn_factor_options){.full = full}, 3);
    *at = lua_gettop(L) - 2;
    if (rows == 0 || columns == 0) return 0;
    lg_step(L, "max", "v", *at + 1);
    double least = part * lua_tonumber(L, -1);
    lg_step(L, "sum", "v", lg_step(L, "gt", "vn", *at + 1, least));
    int64_t rank = lua_tointeger(L, -1);
    lua_settop(L, *at + 2);
    return rank;
}

static int null_space(lua_State *L)
{
    int at;
    lua_settop(L, 2);
    const int64_t columns = lg_check_matrices(L, "null_space")->shape[lg_form(L, 1)->ndim - 1];
    int64_t rank = push_rank(L, "null_space", true, &at);
    int rest = lg_push_narrowed(L, at + 2, 0, rank, columns - rank);
    rest = lg_step(L, "transpose", "v", rest);
    if (rt_is_complex(lg_form(L, rest)->dtype)) rest = lg_step(L, "conj", "v", rest);
    lg_step(L, "clone", "v", rest);
    return 1;
}

static int orth(lua_State *L)
{
    int at;
    lua_settop(L, 2);
    int64_t rank = push_rank(L, "orth", false, &at);
    lg_step(L, "clone", "v", lg_push_narrowed(L, at, 1, 0, rank));
    return 1;
}

/* ---- matrices with one number on each diagonal ---- */

static const struct rt_array *check_line(lua_State *L, int idx, const struct rt_array *beside, const char *name)
{
    const struct rt_array *a = lg_step_array(L, idx, beside, RT_DTYPE_COUNT);
    if (a->ndim != 1) luaL_error(L, "toeplitz: %s has %d axes, expected 1", name, a->ndim);
    return a;
}

/* Windows of the column upwards and then the row, without the element that both have. */
static int toeplitz(lua_State *L)
{
    lua_settop(L, 2);
    const struct rt_array *c = check_line(L, 1, NULL, "the column");
    if (lua_isnil(L, 2)) {
        lg_step(L, rt_is_complex(c->dtype) ? "conj" : "flatten", "v", 1);
        lua_replace(L, 2);
    }
    const struct rt_array *r = check_line(L, 2, c, "the row");
    const int64_t n = c->shape[0], m = r->shape[0];
    if (n == 0 || m == 0) return luaL_error(L, "toeplitz: a column or row without elements makes no matrix");
    int parts[2] = {lg_step(L, "flip", "v", 1), lg_push_narrowed(L, 2, 0, 1, m - 1)};
    int windows = lg_step(L, "unfold", "vii", lg_push_joined(L, 0, 2, parts), (int64_t)1, m);
    lg_step(L, "clone", "v", lg_step(L, "flip", "vi", windows, (int64_t)1));
    return 1;
}

/* ---- equations of more axes ---- */

static int64_t product(const int64_t *shape, int count)
{
    int64_t n = 1;
    for (int i = 0; i < count; i++) n *= shape[i];
    return n;
}

static int tensorsolve(lua_State *L)
{
    char text[256], other[256];
    const struct rt_array *a = lg_check_form(L, 1), *b = lg_check_form(L, 2);
    const int64_t rows = rt_array_size(b);
    if (a->ndim < b->ndim || product(a->shape, b->ndim) != rows ||
        product(a->shape + b->ndim, a->ndim - b->ndim) != rows)
        return luaL_error(
            L,
            "tensorsolve: a has the shape %s, expected that of b, %s, or as many elements in as many axes, and "
            "then axes of as many elements again",
            rt_shape_text(a->ndim, a->shape, text, sizeof text), rt_shape_text(b->ndim, b->shape, other, sizeof other));
    int matrix = lg_push_reshaped(L, 1, 2, (int64_t[]){rows, rows}), right = lg_push_reshaped(L, 2, 1, &rows);
    int x = lg_step(L, "gpu.linalg.solve", "vv", matrix, right);
    lg_push_reshaped(L, x, a->ndim - b->ndim, a->shape + b->ndim);
    return 1;
}

static int tensorinv(lua_State *L)
{
    char text[256];
    int64_t shape[RT_MAX_DIMS];
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 2);
    lua_Integer first = lg_integer_option(L, 2, "tensorinv", "ind", 2);
    if (first < 1 || first > a->ndim)
        return luaL_error(L, "tensorinv: ind is %I, expected 1 to the %d axes of a", (LUAI_UACINT)first, a->ndim);
    const int64_t rows = product(a->shape, (int)first), columns = product(a->shape + first, a->ndim - (int)first);
    if (rows != columns)
        return luaL_error(L, "tensorinv: a has the shape %s, whose first %d axes have %I elements and the others %I",
                          rt_shape_text(a->ndim, a->shape, text, sizeof text), (int)first, (LUAI_UACINT)rows,
                          (LUAI_UACINT)columns);
    for (int i = 0; i < a->ndim; i++) shape[i] = a->shape[(i + (int)first) % a->ndim];
    int matrix = lg_push_reshaped(L, 1, 2, (int64_t[]){rows, rows});
    lg_push_reshaped(L, lg_step(L, "gpu.linalg.inv", "v", matrix), a->ndim, shape);
    return 1;
}

#define RCOND_DOC "Singular values up to rcond times the largest count as 0 (the precision times the larger size)."

const struct lg_function lg_space_functions[] = {
    {"null_space", null_space, "gpu.linalg.null_space(a [, rcond])",
     "The vectors, at right angles and of size 1 as columns, that span all x with a x = 0.\n" RCOND_DOC,
     "local z = gpu.linalg.null_space(gpu.array({{1, 1, 0}, {0, 0, 1}}))\n"
     "assert(z.shape[2] == 1 and math.abs(math.abs(z[{1, 1}]) - 0.5 ^ 0.5) < 1e-5)"},
    {"orth", orth, "gpu.linalg.orth(a [, rcond])",
     "The vectors, at right angles and of size 1 as columns, that span all that a x can be.\n" RCOND_DOC,
     "assert(gpu.linalg.orth(gpu.ones(3, 2)).shape[2] == 1)"},
    {"toeplitz", toeplitz, "gpu.linalg.toeplitz(c [, r])",
     "The matrix with one number on each diagonal: its first column is c, and its first row r, or c (of complex numbers its "
     "conjugate), of whose first element nothing is taken.\nBoth are lists or arrays of one axis.",
     "assert(gpu.linalg.toeplitz({1, 2, 3}, {0, 8, 9}):equal(gpu.array({{1, 8, 9}, {2, 1, 8}, {3, 2, 1}})))"},
    {"tensorsolve", tensorsolve, "gpu.linalg.tensorsolve(a, b)",
     "The x whose elements, times those of the last axes of a and summed, are b.\n"
     "The first axes of a have as many elements as b, and those behind them, which are the axes of x, as many again.",
     "local x = gpu.linalg.tensorsolve(gpu.eye(6):reshape(2, 3, 6) * 2, gpu.ones(2, 3))\n"
     "assert(x:equal(gpu.full(6, 0.5)))"},
    {"tensorinv", tensorinv, "gpu.linalg.tensorinv(a [, ind])",
     "The inverse of the map by a from arrays of its last axes to those of its first ones, 2 unless told otherwise.\n"
     "Both have as many elements; in the result the last axes are the first.",
     "local a = gpu.eye(6):reshape(2, 3, 6)\nassert(gpu.linalg.tensorinv(a).shape[1] == 6)"},
    {0}};
