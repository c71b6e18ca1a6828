/* gpu.sparse: systems of equations solved step by step, by products with their matrix alone. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "lang/sparse.h"
#include "lang/steps.h"

/* The arguments, where all are there; gmres alone has the last. What is solved is A x = r / scale from zeros, where r
 * is what the caller's x leaves of b: so neither a small b nor a large one leaves the range of its dtype when it is
 * squared. Then b is that right side, x the solution of it, and the caller's x, or nil, stands where the tolerance was.
 */
enum { A = 1, B, X, TOLERANCE, STEPS, M, RESTART };
#define BEGUN_AT TOLERANCE

struct problem {
    const char *what;
    double size;  /* of the caller's b */
    double scale; /* a power of two */
    double goal;  /* the size that a residual of the scaled system is to have */
};

/* Pushes the matrix at idx times the vector at x: a sparse one, an array, or a function that multiplies. */
static int push_product(lua_State *L, int idx, int x)
{
    if (!lua_isfunction(L, idx)) return lg_step(L, "gpu.matmul", "vv", idx, x);
    lua_pushvalue(L, idx);
    lua_pushvalue(L, x);
    lua_call(L, 1, 1);
    char text[256];
    if (!lg_test_array(L, -1)) luaL_error(L, "the function gave %s, expected an array", lg_type_name(L, -1));
    const struct rt_array *y = lg_check_form(L, lua_gettop(L)), *b = lg_form(L, B);
    if (!rt_array_same_shape(y, b))
        luaL_error(L, "the function gave an array of shape %s, expected %I elements",
                   rt_shape_text(y->ndim, y->shape, text, sizeof text), (LUAI_UACINT)b->shape[0]);
    return lua_gettop(L);
}

/* Pushes what M makes of a vector: the matrix that undoes A roughly, or the vector of its diagonal. */
static int push_eased(lua_State *L, int x)
{
    if (lua_isnil(L, M)) {
        lua_pushvalue(L, x);
        return lua_gettop(L);
    }
    bool diagonal = lg_test_array(L, M) && lg_form(L, M)->ndim == 1;
    return diagonal ? lg_step(L, "mul", "vv", x, M) : push_product(L, M, x);
}

/* Pushes x + by * y. */
static int push_sum(lua_State *L, int x, double by, int y)
{
    return lg_step(L, "add", "vv", x, lg_step(L, "mul", "vn", y, by));
}

static double dot_as(lua_State *L, int x, int y, const char *dtype)
{
    int top = lua_gettop(L);
    if (dtype) {
        x = lg_step(L, "to", "vs", x, dtype);
        y = lg_step(L, "to", "vs", y, dtype);
    }
    lg_step(L, "dot", "vv", x, y);
    double v = lua_tonumber(L, -1);
    lua_settop(L, top);
    return v;
}

/* In float64 where the dtype has no room for it. */
static double dot(lua_State *L, int x, int y)
{
    enum rt_dtype t = lg_form(L, x)->dtype;
    if (t != RT_FLOAT32 && t != RT_FLOAT64) return dot_as(L, x, y, "float64");
    double v = dot_as(L, x, y, NULL);
    bool fits = isfinite(v) && fabs(v) > FLT_MIN / FLT_EPSILON;
    return t == RT_FLOAT64 || fits ? v : dot_as(L, x, y, "float64");
}

/* A power of two near the largest of a vector's elements; 1 of zeros, and where one is not finite. */
static double scale_of(lua_State *L, int x)
{
    if (lg_form(L, x)->shape[0] == 0) return 1;
    lg_step(L, "max", "v", lg_step(L, "abs", "v", x));
    double most = lua_tonumber(L, -1);
    lua_pop(L, 2);
    return most > 0 && isfinite(most) ? ldexp(1, ilogb(most)) : 1;
}

/* Pushes the vector over its scale. */
static int push_scaled(lua_State *L, int x, double scale)
{
    int scaled = lg_step(L, "div", "vn", x, scale);
    lg_check_array(L, scaled);
    return scaled;
}

/* Reads the tolerance and the number of steps. Makes the vectors the scaled system's, and pushes its right side, which
 * is its first residual. */
static int begin(lua_State *L, struct problem *p)
{
    const struct rt_array *b = lg_form(L, B);
    double tolerance = lg_number_option(L, TOLERANCE, p->what, "tol", b->dtype == RT_FLOAT64 ? 1e-10 : 1e-5),
           scale = scale_of(L, B);
    lua_Integer most = lg_integer_option(L, STEPS, p->what, "steps", 10 * b->shape[0]);
    if (!(tolerance > 0)) luaL_error(L, "%s: tol is %f, expected a number above 0", p->what, tolerance);
    if (most < 0) luaL_error(L, "%s: steps is %I, expected 0 or more", p->what, (LUAI_UACINT)most);
    lua_pushinteger(L, most);
    lua_replace(L, STEPS);
    int scaled = push_scaled(L, B, scale);
    p->size = sqrt(dot(L, scaled, scaled)) * scale;
    p->scale = scale;
    lua_copy(L, X, BEGUN_AT);
    if (!lua_isnil(L, X)) {
        int left = lg_step(L, "sub", "vv", B, push_product(L, A, X));
        lg_check_array(L, left);
        p->scale = scale_of(L, left);
        scaled = push_scaled(L, left, p->scale);
    }
    p->goal = tolerance * (p->size / p->scale);
    lua_copy(L, scaled, B);
    lg_step(L, "gpu.zeros_like", "v", B);
    lua_replace(L, X);
    lua_pushvalue(L, B);
    return lua_gettop(L);
}

/* Reads the arguments, which are in their places then. Returns where the first residual is, behind all of them. */
static int start(lua_State *L, const char *const names[], struct problem *p)
{
    const char *what = p->what;
    if (!lg_is_sparse(L, A) && !lg_test_array(L, A) && !lua_isfunction(L, A))
        luaL_typeerror(L, A, "sparse matrix, array or function");
    lg_spread(L, 3, what, names);
    const struct rt_array *beside = lg_is_sparse(L, A)    ? &lg_check_sparse(L, A)->data
                                    : lg_test_array(L, A) ? lg_form(L, A)
                                                          : NULL;
    const struct rt_array *b = lg_step_array(L, B, beside, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(b, what, lg_error_box(L)));
    if (b->ndim != 1) luaL_error(L, "%s: b has %d axes, expected 1", what, b->ndim);
    if (lg_floating(b) != b->dtype) {
        lg_step(L, "to", "vs", B, rt_dtypes[lg_floating(b)].name);
        lua_replace(L, B);
        b = lg_form(L, B);
    }
    int64_t rows = b->shape[0], columns = rows;
    if (lg_is_sparse(L, A)) {
        rows = lg_check_sparse(L, A)->rows;
        columns = lg_check_sparse(L, A)->columns;
    } else if (!lua_isfunction(L, A)) {
        const struct rt_array *a = lg_form(L, A);
        rows = a->ndim == 2 ? a->shape[0] : -1;
        columns = a->ndim == 2 ? a->shape[1] : -1;
    }
    if (rows != columns || rows != b->shape[0])
        luaL_error(L, "%s: A must be square with as many rows as the %I elements of b", what, (LUAI_UACINT)b->shape[0]);
    if (!lua_isnil(L, X) && !rt_array_same_shape(lg_step_array(L, X, b, b->dtype), b))
        luaL_error(L, "%s: x must have the %I elements of b", what, (LUAI_UACINT)rows);
    return begin(L, p);
}

/* Pushes x, how many steps it took, and how far A x is from b for the size of b. */
static int finish(lua_State *L, const struct problem *p, lua_Integer steps, double residual)
{
    int x = lg_step(L, "mul", "vn", X, p->scale);
    if (!lua_isnil(L, BEGUN_AT)) x = lg_step(L, "add", "vv", x, BEGUN_AT);
    lg_check_array(L, x);
    lua_pushvalue(L, x);
    lua_pushinteger(L, steps);
    lua_pushnumber(L, p->size > 0 ? residual * (p->scale / p->size) : residual * p->scale);
    return 3;
}

/* Keeps the vector at `from` as that at `to`, evaluated: a chain of all steps would grow for ever. */
static void keep(lua_State *L, int to, int from)
{
    lg_check_array(L, from);
    lua_copy(L, from, to);
}

static const char *const names[] = {"x", "tol", "steps", "M", NULL};

/* Conjugate gradients. */
static int cg(lua_State *L)
{
    struct problem problem = {.what = "cg"};
    int r = start(L, names, &problem), p = r + 1;
    lua_Integer most = lua_tointeger(L, STEPS), step = 0;
    push_eased(L, r);
    double rho = dot(L, r, p), left = sqrt(dot(L, r, r));
    for (; left > problem.goal && step < most; step++) {
        int q = push_product(L, A, p);
        double bend = dot(L, p, q);
        if (!(bend > 0))
            return luaL_error(L, "cg: the matrix is not positive definite (step %I); gpu.sparse.bicgstab takes others",
                              (LUAI_UACINT)step + 1);
        int x = push_sum(L, X, rho / bend, p), rest = push_sum(L, r, -rho / bend, q), eased = push_eased(L, rest);
        double next = dot(L, rest, eased);
        int way = push_sum(L, eased, next / rho, p);
        left = sqrt(dot(L, rest, rest));
        rho = next;
        keep(L, X, x);
        keep(L, r, rest);
        keep(L, p, way);
        lua_settop(L, p);
    }
    return finish(L, &problem, step, left);
}

/* Biconjugate gradients, stabilised. */
static int bicgstab(lua_State *L)
{
    struct problem problem = {.what = "bicgstab"};
    int r = start(L, names, &problem), p = r + 1, shadow = r + 2;
    lua_Integer most = lua_tointeger(L, STEPS), step = 0;
    lua_pushvalue(L, r);
    lua_pushvalue(L, r);
    double rho = dot(L, r, shadow), left = sqrt(dot(L, r, r));
    for (; left > problem.goal && step < most; step++) {
        int y = push_eased(L, p), v = push_product(L, A, y);
        double bend = dot(L, shadow, v), alpha = rho / bend;
        if (bend == 0 || !isfinite(alpha)) break;
        int s = push_sum(L, r, -alpha, v), z = push_eased(L, s), t = push_product(L, A, z);
        double size = dot(L, t, t), omega = size > 0 ? dot(L, t, s) / size : 0;
        int x = push_sum(L, push_sum(L, X, alpha, y), omega, z), rest = push_sum(L, s, -omega, t);
        double next = dot(L, rest, shadow);
        left = sqrt(dot(L, rest, rest));
        double beta = omega != 0 && rho != 0 ? next / rho * (alpha / omega) : 0;
        int way = push_sum(L, rest, beta, push_sum(L, p, -omega, v));
        rho = next;
        keep(L, X, x);
        keep(L, r, rest);
        keep(L, p, way);
        lua_settop(L, shadow);
        if (omega == 0 || rho == 0) { /* it stands still: what is left is all that it finds */
            step++;
            break;
        }
    }
    return finish(L, &problem, step, left);
}

/* The size of a vector as M measures it, by its product with what M makes of it. */
static double measure(lua_State *L, int eased, int x, lua_Integer step)
{
    double square = dot(L, eased, x);
    if (square < 0) luaL_error(L, "minres: M is not positive definite (step %I)", (LUAI_UACINT)step + 1);
    return sqrt(square);
}

/* Minimal residuals, of a symmetric matrix: Lanczos' vectors, and the rotations that make their matrix a triangle. */
static int minres(lua_State *L)
{
    struct problem problem = {.what = "minres"};
    int v = start(L, names, &problem), before = v + 1, z = v + 2, w = v + 3, w_before = v + 4;
    lua_Integer most = lua_tointeger(L, STEPS), step = 0;
    lg_step(L, "gpu.zeros_like", "v", v);
    push_eased(L, v);
    for (int i = 0; i < 2; i++) lua_pushvalue(L, before);
    double gamma = measure(L, z, v, 0), gamma_before = 1, eta = gamma, left = sqrt(dot(L, v, v));
    double c = 1, c_before = 1, s = 0, s_before = 0;
    for (; left > problem.goal && gamma > 0 && step < most; step++) {
        int q = lg_step(L, "mul", "vn", z, 1 / gamma), product = push_product(L, A, q);
        double delta = dot(L, q, product);
        int next = push_sum(L, push_sum(L, product, -delta / gamma, v), -gamma / gamma_before, before);
        int eased = push_eased(L, next);
        double grown = measure(L, eased, next, step), a0 = c * delta - c_before * s * gamma, a1 = hypot(a0, grown);
        double a2 = s * delta + c_before * c * gamma, a3 = s_before * gamma;
        if (!(a1 > 0)) break; /* of a matrix without an inverse */
        int way = push_sum(L, push_sum(L, q, -a3, w_before), -a2, w);
        way = lg_step(L, "mul", "vn", way, 1 / a1);
        c_before = c, s_before = s, c = a0 / a1, s = grown / a1;
        keep(L, X, push_sum(L, X, c * eta, way));
        eta *= -s;
        lua_copy(L, v, before);
        keep(L, v, next);
        keep(L, z, eased);
        lua_copy(L, w, w_before);
        keep(L, w, way);
        gamma_before = gamma;
        gamma = grown;
        int rest = lua_isnil(L, M) ? 0 : lg_step(L, "sub", "vv", B, push_product(L, A, X));
        left = rest ? sqrt(dot(L, rest, rest)) : fabs(eta);
        lua_settop(L, w_before);
    }
    int rest = lg_step(L, "sub", "vv", B, push_product(L, A, X));
    return finish(L, &problem, step, sqrt(dot(L, rest, rest)));
}

/* ---- lsqr: least squares, by Golub's and Kahan's vectors ---- */

/* Pushes the vector at x over its size, which is *size; of zeros as it is. */
static int push_unit(lua_State *L, int x, double *size)
{
    *size = sqrt(dot(L, x, x));
    int unit = *size > 0 ? lg_step(L, "mul", "vn", x, 1 / *size) : x;
    lg_check_array(L, unit);
    return unit;
}

/* The arguments A, b, damp, tol and steps; pushes the transposed matrix. */
static int start_lsqr(lua_State *L, double *damp, double *tolerance, lua_Integer *most)
{
    static const char *const options[] = {"damp", "tol", "steps", NULL};
    if (!lg_is_sparse(L, A) && !lg_test_array(L, A)) luaL_typeerror(L, A, "sparse matrix or array");
    lg_spread(L, 3, "lsqr", options);
    bool sparse = lg_is_sparse(L, A);
    const struct rt_array *beside = sparse ? &lg_check_sparse(L, A)->data : lg_check_form(L, A);
    if (!sparse && beside->ndim != 2) luaL_error(L, "lsqr: A has %d axes, expected 2", beside->ndim);
    const int64_t rows = sparse ? lg_check_sparse(L, A)->rows : beside->shape[0];
    const int64_t columns = sparse ? lg_check_sparse(L, A)->columns : beside->shape[1];
    const struct rt_array *b = lg_step_array(L, B, beside, RT_DTYPE_COUNT);
    lg_check(L, kn_check_real(b, "lsqr", lg_error_box(L)));
    if (b->ndim != 1 || b->shape[0] != rows)
        luaL_error(L, "lsqr: b must have one axis, as long as the %I rows of A", (LUAI_UACINT)rows);
    *damp = lg_number_option(L, 3, "lsqr", "damp", 0);
    *tolerance = lg_number_option(L, 4, "lsqr", "tol", lg_floating(b) == RT_FLOAT64 ? 1e-10 : 1e-5);
    *most = lg_integer_option(L, 5, "lsqr", "steps", 4 * (rows > columns ? rows : columns));
    if (!(*tolerance > 0)) luaL_error(L, "lsqr: tol is %f, expected a number above 0", *tolerance);
    if (*most < 0) luaL_error(L, "lsqr: steps is %I, expected 0 or more", (LUAI_UACINT)*most);
    lg_step(L, "to", "vs", B, rt_dtypes[lg_floating(b)].name);
    lua_replace(L, B);
    lua_getfield(L, A, "T");
    return lua_gettop(L);
}

/* Pushes what push_unit makes of a vector, in the place of all that was pushed from `at` on. */
static void put_unit(lua_State *L, int at, int x, double *size)
{
    push_unit(L, x, size);
    lua_copy(L, -1, at);
    lua_settop(L, at);
}

/* The vector at `to` becomes the unit of the matrix's product with that at x less `part` of itself. */
static void put_next(lua_State *L, int matrix, int x, int to, double part, double *size)
{
    int top = lua_gettop(L);
    int next = push_sum(L, lg_step(L, "gpu.matmul", "vv", matrix, x), -part, to);
    lua_copy(L, push_unit(L, next, size), to);
    lua_settop(L, top);
}

static int lsqr(lua_State *L)
{
    double damp, tolerance, beta, alpha, matrix = 0, damped = 0;
    lua_Integer most, step = 0;
    int turned = start_lsqr(L, &damp, &tolerance, &most), u = turned + 1, v = u + 1, w = u + 2, x = u + 3;
    lua_pushvalue(L, B);
    put_unit(L, u, u, &beta);
    lg_step(L, "gpu.matmul", "vv", turned, u);
    put_unit(L, v, v, &alpha);
    lua_pushvalue(L, v);
    lg_step(L, "gpu.zeros_like", "v", v);
    double size = beta, rest = beta, left = beta, rho_bar = alpha;
    bool done = size == 0 || alpha == 0;
    for (; !done && step < most; step++) {
        put_next(L, A, v, u, alpha, &beta);
        matrix += alpha * alpha + beta * beta + damp * damp;
        put_next(L, turned, u, v, beta, &alpha);
        double both = hypot(rho_bar, damp), rho = hypot(both, beta), c = both / rho, s = beta / rho;
        double part = damp / both * rest, phi = c * (rho_bar / both * rest);
        damped += part * part;
        rest = s * (rho_bar / both * rest);
        int sum = push_sum(L, x, phi / rho, w), way = push_sum(L, v, -s * alpha / rho, w);
        keep(L, x, sum);
        keep(L, w, way);
        lua_settop(L, x);
        rho_bar = -c * alpha;
        left = hypot(rest, sqrt(damped));
        done = left <= tolerance * size || alpha * fabs(s * phi) <= tolerance * sqrt(matrix) * left;
    }
    lua_pushvalue(L, x);
    lua_pushinteger(L, step);
    lua_pushnumber(L, size > 0 ? left / size : 0);
    return 3;
}

/* ---- gmres: the x that is best within all that the steps so far span ---- */

#define RESTARTS 1000 /* steps between two restarts, at most */

/* The least squares problem of the steps, on the host: a triangle by columns, the rotations that made it, and what is
 * left of the right-hand side. */
struct krylov {
    int64_t most; /* columns */
    double *triangle, *cosine, *sine, *side;
};

static struct krylov push_krylov(lua_State *L, int64_t most)
{
    size_t m = (size_t)most;
    double *all = lua_newuserdatauv(L, (m * (m + 1) + 3 * m + 1) * sizeof *all, 0);
    double *after = all + m * (m + 1);
    return (struct krylov){most, all, after, after + m, after + 2 * m};
}

/* Takes column j, whose elements 0 to j + 1 are in their places, into the triangle. */
static void rotate(struct krylov *k, int64_t j)
{
    double *h = k->triangle + j * (k->most + 1);
    for (int64_t i = 0; i < j; i++) {
        double upper = h[i];
        h[i] = k->cosine[i] * upper + k->sine[i] * h[i + 1];
        h[i + 1] = k->cosine[i] * h[i + 1] - k->sine[i] * upper;
    }
    double size = hypot(h[j], h[j + 1]);
    k->cosine[j] = size > 0 ? h[j] / size : 1;
    k->sine[j] = size > 0 ? h[j + 1] / size : 0;
    h[j] = size;
    k->side[j + 1] = -k->sine[j] * k->side[j];
    k->side[j] *= k->cosine[j];
}

/* side becomes the weights of the first n steps. */
static void solve_triangle(struct krylov *k, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) k->side[i] -= k->triangle[j * (k->most + 1) + i] * k->side[j];
        k->side[i] /= k->triangle[i * (k->most + 1) + i];
    }
}

/* Takes the vector's parts along the first n rows of the basis away from it, and adds them to h. Twice over, they are
 * as good as those taken one by one. Pushes what is left. */
static int take_parts(lua_State *L, int basis, int v, int64_t n, double *h)
{
    for (int round = 0; round < 2; round++) {
        int rows = lg_step(L, "narrow", "viii", basis, (int64_t)1, (int64_t)1, n),
            parts = lg_step(L, "matmul", "vv", rows, v);
        int host = lg_step(L, "to", "vss", parts, "float64", "cpu");
        const double *values = rt_array_host(lg_check_array(L, host));
        for (int64_t i = 0; i < n; i++) h[i] += values[i];
        v = lg_step(L, "sub", "vv", v, lg_step(L, "matmul", "vv", parts, rows));
        lg_check_array(L, v);
    }
    return v;
}

/* x plus the weighted sum of the first n rows of the basis, eased. */
static void add_steps(lua_State *L, int basis, const double *weights, int64_t n)
{
    const struct rt_array *b = lg_form(L, B);
    struct rt_array *w = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(b), RT_FLOAT64, 1, &n, w, lg_error_box(L)));
    lg_check(L, rt_array_write(w, weights, lg_error_box(L)));
    int in = lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[b->dtype].name);
    int sum = lg_step(L, "matmul", "vv", in, lg_step(L, "narrow", "viii", basis, (int64_t)1, (int64_t)1, n));
    keep(L, X, lg_step(L, "add", "vv", X, push_eased(L, sum)));
}

/* One round: at most so many steps from the residual at r, whose size is k->side[0]. Returns how many count, fewer
 * where it has come to the goal or nothing new comes any more. */
static int64_t round_of_steps(lua_State *L, int r, int basis, struct krylov *k, int64_t most, double goal)
{
    const double least = lg_form(L, B)->dtype == RT_FLOAT64 ? 1e-15 : 1e-6;
    double left = k->side[0];
    int top = lua_gettop(L), next = r;
    for (int64_t j = 0; j < most; j++) {
        double *h = k->triangle + j * (k->most + 1), whole = 0;
        int unit = lg_step(L, "mul", "vn", next, 1 / left);
        int row = lg_step(L, "select", "vii", basis, (int64_t)1, j + 1);
        lg_step(L, "copy_", "vv", row, unit);
        memset(h, 0, (size_t)(j + 2) * sizeof *h);
        lua_copy(L, take_parts(L, basis, push_product(L, A, push_eased(L, row)), j + 1, h), top + 1);
        lua_settop(L, top + 1);
        next = top + 1;
        left = sqrt(dot(L, next, next));
        h[j + 1] = left;
        for (int64_t i = 0; i <= j + 1; i++) whole = hypot(whole, h[i]);
        rotate(k, j);
        if (!(h[j] > least * whole)) return j; /* of a matrix without an inverse */
        if (!(fabs(k->side[j + 1]) > goal && left > least * whole)) return j + 1;
    }
    return most;
}

static int gmres(lua_State *L)
{
    static const char *const all_names[] = {"x", "tol", "steps", "M", "restart", NULL};
    struct problem problem = {.what = "gmres"};
    int r = start(L, all_names, &problem);
    lua_Integer most = lua_tointeger(L, STEPS), step = 0,
                restart = lg_integer_option(L, RESTART, "gmres", "restart", 20);
    if (restart < 1 || restart > RESTARTS)
        return luaL_error(L, "gmres: restart is %I, expected 1 to %d", (LUAI_UACINT)restart, RESTARTS);
    const struct rt_array *b = lg_form(L, B);
    double left = sqrt(dot(L, r, r)), before = INFINITY;
    int64_t shape[2] = {restart < b->shape[0] ? restart : b->shape[0], b->shape[0]};
    struct rt_array *vectors = lg_new_array(L);
    int basis = lua_gettop(L);
    lg_check(L, rt_array_new(rt_array_device(b), b->dtype, 2, shape, vectors, lg_error_box(L)));
    struct krylov k = push_krylov(L, shape[0]);
    int top = lua_gettop(L);
    while (left > problem.goal && left < before && step < most) { /* until it stands still */
        int64_t room = most - step < k.most ? most - step : k.most;
        k.side[0] = left;
        int64_t taken = round_of_steps(L, r, basis, &k, room, problem.goal);
        if (taken == 0) break;
        solve_triangle(&k, taken);
        add_steps(L, basis, k.side, taken);
        step += taken;
        keep(L, r, lg_step(L, "sub", "vv", B, push_product(L, A, X)));
        before = left;
        left = sqrt(dot(L, r, r));
        lua_settop(L, top);
    }
    return finish(L, &problem, step, left);
}

#define OPTIONS "(A, b [, x [, tol [, steps [, M]]]] | {x=, tol=, steps=, M=})"
#define DOC                                                                                                              \
    "A is a sparse matrix, an array, or a function that gives its product with a vector. It begins at x, zeros unless "  \
    "told otherwise, and ends where the size of A x - b is at most tol times that of b (1e-5, of float64 1e-10), or "    \
    "after so many steps, 10 for each row. M, a matrix, a function or the elements of a diagonal, undoes A roughly and " \
    "makes it quicker. Gives x, the number of steps, and the size of A x - b over that of b."

const struct lg_function lg_sparse_solvers[] = {
    {"cg", cg, "gpu.sparse.cg" OPTIONS,
     "The x with A x = b of a symmetric, positive definite matrix, by conjugate gradients.\n" DOC,
     "local a = gpu.sparse.diags({-1, 2, -1}, {-1, 0, 1}, {50, 50})\nlocal b = gpu.ones(50)\n"
     "local x, steps, residual = gpu.sparse.cg(a, b)\nassert(residual < 1e-4 and a:matmul(x):allclose(b, 1e-3, 1e-3))"},
    {"bicgstab", bicgstab, "gpu.sparse.bicgstab" OPTIONS,
     "The x with A x = b of any square matrix, by stabilised biconjugate gradients, which may fail to come to it.\n" DOC,
     "local a = gpu.sparse.diags({-1, 3, -1.5}, {-1, 0, 1}, {50, 50})\n"
     "local x, steps, residual = gpu.sparse.bicgstab(a, gpu.ones(50))\nassert(residual < 1e-4 and steps < 50)"},
    {"minres", minres, "gpu.sparse.minres" OPTIONS,
     "The x with A x = b of any symmetric matrix, by minimal residuals; M has to be positive definite.\n" DOC,
     "local a = gpu.sparse.diags({-1, 0.5, -1}, {-1, 0, 1}, {50, 50})\n"
     "local x, steps, residual = gpu.sparse.minres(a, gpu.ones(50))\nassert(residual < 1e-3)"},
    {"lsqr", lsqr, "gpu.sparse.lsqr(A, b [, damp [, tol [, steps]]] | {damp=, tol=, steps=})",
     "The x that makes the squares of A x - b least, of a sparse matrix or an array with any number of rows and columns.\n"
     "With damp, damp^2 times the squares of x are added. It begins at zeros and ends where the size of A x - b is at most "
     "tol times that of b, or that of A^T (A x - b) tol times that of both (1e-5, of float64 1e-10), or after so many "
     "steps, 4 for each row or column. Gives x, the number of steps, and the size of A x - b over that of b.",
     "local a = gpu.array({{1, 0}, {1, 1}, {1, 2}}):to_sparse()\n"
     "assert(gpu.sparse.lsqr(a, gpu.array({1, 3, 5})):allclose(gpu.array({1, 2}), 1e-3))"},
    {"gmres", gmres,
     "gpu.sparse.gmres(A, b [, x [, tol [, steps [, M [, restart]]]]] | {x=, tol=, steps=, M=, restart=})",
     "The x with A x = b of any square matrix, by generalised minimal residuals.\n" DOC
     " After every `restart` steps, 20 unless told otherwise, it begins anew from its x; until then it keeps a vector for "
     "each step. It ends, too, where that brings it no nearer.",
     "local a = gpu.sparse.diags({-1, 3, -1.5}, {-1, 0, 1}, {50, 50})\n"
     "local x, steps, residual = gpu.sparse.gmres(a, gpu.ones(50))\nassert(residual < 1e-4 and steps < 50)"},
    {0}};
