/* gpu.sparse: equations solved by the factors of their matrix. */
#include <math.h>
#include <string.h>
#include "kernels/sparse_lu.h"
#include "lang/sparse.h"
#include "lang/steps.h"

#define LG_FACTORS "lunarray.factors"
#define NEAR       1e-14 /* of the right side, is what a residual may be without another round */

/* The factors, and the matrix that a solution is checked with. */
struct factors {
    struct kn_lu lu;
    struct kn_csr a; /* float64, on the host */
    enum rt_dtype dtype;
    struct rt_device *device;
};

static void release(struct factors *f)
{
    kn_lu_release(&f->lu);
    kn_csr_release(&f->a);
}

static int collect(lua_State *L)
{
    release(luaL_checkudata(L, 1, LG_FACTORS));
    return 0;
}

/* Pushes the factors of the matrix at idx. */
static struct factors *push_factors(lua_State *L, int idx)
{
    struct rt_error *e = lg_error_box(L);
    struct kn_csr *a = lg_check_sparse(L, idx);
    lg_memory_enter(L);
    struct factors *f = lua_newuserdatauv(L, sizeof *f, 0);
    *f = (struct factors){.dtype = a->data.dtype, .device = kn_csr_device(a)};
    if (luaL_newmetatable(L, LG_FACTORS)) {
        lua_pushcfunction(L, collect);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    lg_check(L, kn_csr_convert(a, RT_FLOAT64, rt_device_open("cpu", e), &f->a, e));
    lg_check(L, kn_lu_factor(&f->a, &f->lu, e));
    return f;
}

/* x = the solution for b, and once more for what that leaves of b. */
static void solve(lua_State *L, const struct factors *f, const double *b, double *x, double *work)
{
    const size_t n = (size_t)f->lu.n;
    const int64_t *starts = rt_array_host(&f->a.starts);
    const int32_t *indices = rt_array_host(&f->a.indices);
    const double *data = rt_array_host(&f->a.data);
    double *rest = work + n, most = 0, left = 0;
    lg_poll(L);
    if (n == 0) return;
    memcpy(x, b, n * sizeof *x);
    kn_lu_solve(&f->lu, x, work);
    for (size_t i = 0; i < n; i++) {
        double sum = b[i];
        for (int64_t k = starts[i]; k < starts[i + 1]; k++) sum -= data[k] * x[indices[k]];
        rest[i] = sum;
        most = fmax(most, fabs(b[i]));
        left = fmax(left, fabs(sum));
    }
    if (!(left > NEAR * most) || !isfinite(left)) return;
    kn_lu_solve(&f->lu, rest, work);
    for (size_t i = 0; i < n; i++) x[i] += rest[i];
}

/* Pushes the solution for the right side at idx: a vector, or a matrix of them. */
static int push_solution(lua_State *L, const struct factors *f, int idx, const char *what)
{
    char text[256];
    const int64_t n = f->lu.n;
    if (lua_istable(L, idx)) {
        lg_push_from_table(L, idx, RT_DTYPE_COUNT, f->device);
        lua_replace(L, idx);
    }
    if (!lg_test_array(L, idx)) luaL_error(L, "%s: b is %s, expected an array or list", what, lg_type_name(L, idx));
    const struct rt_array *b = lg_check_array(L, idx);
    lg_check(L, kn_check_real(b, what, lg_error_box(L)));
    if (rt_array_device(b) != f->device)
        luaL_error(L, "%s: A is on %s and b on %s; b:to(\"%s\") moves it", what, f->device->name,
                   rt_array_device(b)->name, f->device->name);
    if (b->ndim < 1 || b->ndim > 2 || b->shape[0] != n)
        luaL_error(L, "%s: b has the shape %s, expected the %I rows of A, or columns of as many", what,
                   rt_shape_text(b->ndim, b->shape, text, sizeof text), (LUAI_UACINT)n);
    enum rt_dtype t = f->dtype == RT_FLOAT64 || lg_floating(b) == RT_FLOAT64 ? RT_FLOAT64 : RT_FLOAT32;
    const int ndim = b->ndim;
    const char *device = f->device->name;
    int columns = ndim == 2 ? lg_step(L, "transpose", "v", idx) : idx;
    int wide = lg_step(L, "contiguous", "v", lg_step(L, "to", "vss", columns, "float64", "cpu"));
    const double *from = rt_array_host(lg_check_array(L, wide));
    const int64_t count = ndim == 2 ? lg_form(L, wide)->shape[0] : 1;
    struct rt_array *out = lg_new_array(L);
    int at = lua_gettop(L);
    lg_check(L, rt_array_new(rt_array_device(lg_form(L, wide)), RT_FLOAT64, ndim, lg_form(L, wide)->shape, out,
                             lg_error_box(L)));
    double *work = lua_newuserdatauv(L, 2 * (size_t)n * sizeof *work + 1, 0), *to = rt_array_host(out);
    for (int64_t k = 0; k < count; k++) solve(L, f, from + k * n, to + k * n, work);
    if (ndim == 2) at = lg_step(L, "contiguous", "v", lg_step(L, "transpose", "v", at));
    lg_step(L, "to", "vss", at, rt_dtypes[t].name, device);
    return 1;
}

static int spsolve(lua_State *L)
{
    if (lg_test_array(L, 1))
        return luaL_error(L, "spsolve: A is an array, expected a sparse matrix; gpu.linalg.solve takes arrays");
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    struct factors *f = push_factors(L, 1);
    push_solution(L, f, 2, "spsolve");
    release(f);
    return 1;
}

static int solve_by_factors(lua_State *L)
{
    luaL_checkany(L, 1);
    return push_solution(L, lua_touserdata(L, lua_upvalueindex(1)), 1, "the function of gpu.sparse.factorized");
}

static int factorized(lua_State *L)
{
    push_factors(L, 1);
    lua_pushcclosure(L, solve_by_factors, 1);
    return 1;
}

#define DIRECT_DOC                                                                                                     \
    "The matrix is factored on the host in float64, its rows in an order that keeps the factors sparse; arrays of a "  \
    "GPU are copied there and the result back. A matrix without an inverse is an error."

const struct lg_function lg_sparse_direct_functions[] = {
    {"spsolve", spsolve, "gpu.sparse.spsolve(A, b)",
     "The x with A x = b of any sparse square matrix that has an inverse: b is a vector, or a matrix of columns.\n" DIRECT_DOC
     " gpu.sparse.factorized keeps the factors; gpu.sparse.cg and its like take less memory for large ones.",
     "local a = gpu.sparse.diags({-1, 2, -1}, {-1, 0, 1}, {50, 50})\nlocal x = gpu.sparse.spsolve(a, gpu.ones(50))\n"
     "assert(a:matmul(x):allclose(gpu.ones(50), 1e-4, 1e-4))"},
    {"factorized", factorized, "gpu.sparse.factorized(A)",
     "A function that gives the x with A x = b for each b, a vector or a matrix of columns, as in the steps of an "
     "implicit scheme.\n" DIRECT_DOC,
     "local solve = gpu.sparse.factorized(gpu.sparse.eye(3) * 2)\nassert(solve(gpu.array({2, 4, 6}))[3] == 3)"},
    {0}};
