/* What sparse matrices do with all of their elements: functions that leave 0 as it is, of those that are stored, and
 * extremes and means, which count the others as 0. They go by steps that run where the matrix is. */
#include <math.h>
#include "lang/sparse.h"
#include "lang/steps.h"

/* Pushes a matrix of the elements at `data` where a has its own. */
static int push_like(lua_State *L, const struct kn_csr *a, int data)
{
    const struct rt_array *elements = lg_check_array(L, data);
    struct kn_csr *out = lg_new_sparse(L);
    rt_array_share(elements, &out->data);
    rt_array_share(&a->indices, &out->indices);
    rt_array_share(&a->starts, &out->starts);
    out->rows = a->rows;
    out->columns = a->columns;
    return 1;
}

/* Functions with f(0) = 0, and a copy. */
/* clang-format off */
#define FUNCTIONS(X)                                                                                                   \
    X(abs) X(sign) X(sqrt) X(square) X(floor) X(ceil) X(round) X(trunc) X(sin) X(tan) X(asin) X(atan) X(sinh) X(tanh)  \
    X(asinh) X(atanh) X(expm1) X(log1p) X(deg2rad) X(rad2deg) X(relu) X(clone)
/* clang-format on */
#define FUNCTION(name)                                                                                                 \
    static int of_##name(lua_State *L)                                                                                 \
    {                                                                                                                  \
        const struct kn_csr *a = lg_check_sparse(L, 1);                                                                \
        return push_like(L, a, lg_step(L, #name, "v", lg_sparse_share(L, &a->data)));                                  \
    }
FUNCTIONS(FUNCTION)

int lg_sparse_power(lua_State *L)
{
    if (!lg_is_sparse(L, 1)) return luaL_error(L, "no number is raised to a sparse matrix; A:todense() makes an array");
    const struct kn_csr *a = lg_check_sparse(L, 1);
    int is_number;
    lua_settop(L, 2);
    double exponent = lua_tonumberx(L, 2, &is_number);
    if (!is_number || !(exponent > 0))
        return luaL_error(L,
                          "each element of a sparse matrix is raised to a number above 0, so that what is not stored "
                          "stays 0, got %s; A:matmul(A) is the power of a matrix, gpu.sparse.spsolve(A, b) its inverse "
                          "times b",
                          luaL_tolstring(L, 2, NULL));
    return push_like(L, a, lg_step(L, "pow", "vn", lg_sparse_share(L, &a->data), exponent));
}

static int transpose(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    struct kn_csr *out = lg_new_sparse(L);
    lg_check(L, kn_csr_transpose(a, out, lg_error_box(L)));
    return 1;
}

/* ---- of all elements, and along an axis ---- */

/* The axis at argument 2, from 0, or -1 for all elements; raises where none are to be reduced. */
static int check_axis(lua_State *L, const struct kn_csr *a, const char *what)
{
    int axis = lua_isnoneornil(L, 2) ? -1 : lg_check_axis(L, 2, 2);
    if ((axis != 1 && a->rows == 0) || (axis != 0 && a->columns == 0))
        luaL_error(L, "%s of no elements has no value", what);
    return axis;
}

static int mean(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    int axis = check_axis(L, a, "mean");
    lua_settop(L, 2);
    double n = axis == 0 ? (double)a->rows : axis == 1 ? (double)a->columns : (double)a->rows * (double)a->columns;
    lua_getfield(L, 1, "sum");
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    lua_pushnumber(L, n);
    lua_arith(L, LUA_OPDIV);
    return 1;
}

/* Along an axis each row or column takes the 0 of places without an element where it has any. */
static int extreme(lua_State *L, const char *what, const char *all, const char *reduce, const char *pair, double least)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    int axis = check_axis(L, a, what);
    int64_t stored = a->data.shape[0], lines = axis == 0 ? a->columns : a->rows;
    if (axis < 0) {
        int data = lg_sparse_share(L, &a->data);
        if (stored < a->rows * a->columns) data = lg_step(L, pair, "vn", data, 0.0);
        if (stored > 0)
            lg_step(L, all, "v", data);
        else
            lua_pushnumber(L, 0);
        return 1;
    }
    lua_settop(L, 1);
    lg_push_coo(L, a); /* 2, 3, 4 */
    int place = axis == 0 ? 4 : 3;
    lg_push_shape(L, 1, &lines);
    int shape = lua_gettop(L);
    const char *dtype = rt_dtypes[a->data.dtype].name, *device = kn_csr_device(a)->name;
    int found = lg_step(L, "gpu.full", "vnss", shape, least, dtype, device);
    found = lg_step(L, "scatter_reduce", "vivvs", found, (int64_t)1, place, 2, reduce);
    int counts = lg_step(L, "gpu.zeros", "vss", shape, "int64", device);
    int ones = lg_step(L, "to", "vs", lg_step(L, "ge", "vi", place, (int64_t)1), "int64");
    counts = lg_step(L, "scatter_add", "vivv", counts, (int64_t)1, place, ones);
    int full = lg_step(L, "eq", "vi", counts, axis == 0 ? a->rows : a->columns);
    lg_step(L, "where", "vvv", full, found, lg_step(L, pair, "vn", found, 0.0));
    return 1;
}

static int max(lua_State *L)
{
    return extreme(L, "max", "max", "amax", "maximum", -HUGE_VAL);
}
static int min(lua_State *L)
{
    return extreme(L, "min", "min", "amin", "minimum", HUGE_VAL);
}

#define EXAMPLE "local a = gpu.array({{0, 4, 0}, {-9, 0, 1}}):to_sparse()\n"
#define ROW(name)                                                                                                      \
    {#name, of_##name, "A:" #name "()", "x:" #name "() of the stored elements; what is not stored stays 0.",           \
     EXAMPLE "assert(a:" #name "().nnz == 3 and a:" #name "()[{1, 1}] == 0)"},

const struct lg_function lg_sparse_element_methods[] = {
    {"transpose", transpose, "A:transpose()", "A.T, the transposed matrix, a new one.",
     EXAMPLE "assert(a:transpose()[{1, 2}] == -9)"},
    {"max", max, "A:max([axis])",
     "The greatest of all elements, or along an axis as an array; what is not stored is 0.",
     EXAMPLE "assert(a:max() == 4 and a:max(1)[1] == 0 and a:max(2)[1] == 4)"},
    {"min", min, "A:min([axis])", "The least of all elements, or along an axis as an array; what is not stored is 0.",
     EXAMPLE "assert(a:min() == -9 and a:min(1)[3] == 0 and a:min(2)[1] == 0)"},
    {"mean", mean, "A:mean([axis])", "The mean of all elements, or along an axis as an array; what is not stored is 0.",
     EXAMPLE "assert(a:mean(1)[1] == -4.5 and a:mean() == a:sum() / 6)"},
    {"pow", lg_sparse_power, "A:pow(n)   A ^ n",
     "Each stored element to a power above 0; A:matmul(A) is the matrix times itself.",
     EXAMPLE "assert(a:pow(2)[{2, 1}] == 81 and (a ^ 2):sum() == 98)"},
    FUNCTIONS(ROW){0}};
