/* gpu.linalg: solving and factoring matrices, and what follows from it. The last two axes are the matrices, those in
 * front of them a batch. */
#include <math.h>
#include <string.h>
#include "kernels/linalg.h"
#include "lang/closest.h"
#include "lang/reduce.h"

static const struct kn_factor_options plain = {.rcond = -1};

/* Pushes so many results. */
static void push_factors(lua_State *L, enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
                         const struct kn_factor_options *options, int count)
{
    struct rt_array results[KN_FACTORS], *out[KN_FACTORS];
    for (int i = 0; i < count; i++) out[i] = lg_new_array(L);
    lg_check(L, kn_factor(what, a, b, options, results, lg_error_box(L)));
    for (int i = 0; i < KN_FACTORS; i++) {
        if (i < count)
            *out[i] = results[i];
        else
            rt_array_release(&results[i]);
    }
}

/* The array at the top, or its only element when it has no axes. */
static int finish(lua_State *L)
{
    const struct rt_array *a = lua_touserdata(L, -1);
    return a->ndim > 0 ? 1 : lg_push_number_of(L);
}

/* The array of no axes at idx becomes its element. */
static void take_element(lua_State *L, int idx)
{
    const struct rt_array *a = lua_touserdata(L, idx);
    if (a->ndim > 0) return;
    lg_push_element(L, a);
    lua_replace(L, idx);
}

static struct kn_operand of(const struct rt_array *a)
{
    return (struct kn_operand){.array = a};
}

static struct kn_operand of_number(double f)
{
    return (struct kn_operand){.is_float = true, .f = f};
}

/* Pushes an operation's result. */
static const struct rt_array *push_op(lua_State *L, enum kn_op op, struct kn_operand a, struct kn_operand b,
                                      struct kn_operand c)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(op, (struct kn_operand[]){a, b, c}, out, lg_error_box(L)));
    return out;
}

static const struct rt_array *push_reduced(lua_State *L, enum kn_reduction r, const struct rt_array *a, unsigned axes,
                                           bool keepdims)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_reduce(r, a, axes, keepdims, out, lg_error_box(L)));
    return out;
}

static unsigned last_axis(const struct rt_array *a)
{
    return 1u << (a->ndim - 1);
}

static const struct rt_array *check_matrices(lua_State *L, const char *what)
{
    char text[256];
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->ndim < 2)
        luaL_error(L, "%s: a matrix or a batch of them was expected, not the shape %s", what,
                   rt_shape_text(a->ndim, a->shape, text, sizeof text));
    return a;
}

/* A borrowed view with the last two axes exchanged. */
static struct rt_array turned(const struct rt_array *a)
{
    struct rt_array out = *a;
    int i = a->ndim - 2, j = a->ndim - 1;
    out.shape[i] = a->shape[j];
    out.strides[i] = a->strides[j];
    out.shape[j] = a->shape[i];
    out.strides[j] = a->strides[i];
    return out;
}

/* A borrowed view of the diagonals of the last two axes. */
static struct rt_array diagonals(const struct rt_array *a)
{
    struct rt_array out = *a;
    int i = a->ndim - 2, j = a->ndim - 1;
    out.ndim--;
    out.shape[i] = a->shape[i] < a->shape[j] ? a->shape[i] : a->shape[j];
    out.strides[i] = a->strides[i] + a->strides[j];
    return out;
}

/* The option of the table at idx, which has no other; false without a table. */
static bool check_flag(lua_State *L, int idx, const char *name)
{
    bool set = false;
    if (lua_isnoneornil(L, idx)) return false;
    luaL_checktype(L, idx, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), name) != 0)
            luaL_error(L, "there is no option '%s'; there is %s", luaL_tolstring(L, -2, NULL), name);
        set = lua_toboolean(L, -1);
    }
    return set;
}

static int solve(lua_State *L)
{
    push_factors(L, KN_SOLVE, lg_check_array(L, 1), lg_check_array(L, 2), &plain, 1);
    return 1;
}

static int solve_triangular(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    struct kn_factor_options options = {.upper = check_flag(L, 3, "upper")};
    push_factors(L, KN_TRIANGULAR, a, b, &options, 1);
    return 1;
}

static int inv(lua_State *L)
{
    push_factors(L, KN_INV, lg_check_array(L, 1), NULL, &plain, 1);
    return 1;
}

static int det(lua_State *L)
{
    push_factors(L, KN_DET, lg_check_array(L, 1), NULL, &plain, 1);
    return finish(L);
}

static int slogdet(lua_State *L)
{
    push_factors(L, KN_DET, lg_check_array(L, 1), NULL, &plain, 3);
    take_element(L, lua_gettop(L) - 1);
    take_element(L, lua_gettop(L));
    return 2;
}

static int cholesky(lua_State *L)
{
    push_factors(L, KN_CHOLESKY, lg_check_array(L, 1), NULL, &plain, 1);
    return 1;
}

static int qr(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct kn_factor_options options = {.full = check_flag(L, 2, "full")};
    push_factors(L, KN_QR, a, NULL, &options, 2);
    return 2;
}

static int svd(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct kn_factor_options options = {.full = check_flag(L, 2, "full")};
    push_factors(L, KN_SVD, a, NULL, &options, 3);
    return 3;
}

static int eigh(lua_State *L)
{
    push_factors(L, KN_EIGH, lg_check_array(L, 1), NULL, &plain, 2);
    return 2;
}

static int eig(lua_State *L)
{
    push_factors(L, KN_EIG, lg_check_array(L, 1), NULL, &plain, 2);
    return 2;
}

static const struct rt_array *push_values(lua_State *L, enum kn_factoring what, const struct rt_array *a)
{
    push_factors(L, what, a, NULL, &(struct kn_factor_options){.values = true}, 1);
    return lua_touserdata(L, -1);
}

static int svdvals(lua_State *L)
{
    push_values(L, KN_SVD, lg_check_array(L, 1));
    return 1;
}

static int eigvalsh(lua_State *L)
{
    push_values(L, KN_EIGH, lg_check_array(L, 1));
    return 1;
}

static int eigvals(lua_State *L)
{
    push_values(L, KN_EIG, lg_check_array(L, 1));
    return 1;
}

static int lstsq(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    struct kn_factor_options options = {.rcond = luaL_optnumber(L, 3, -1)};
    push_factors(L, KN_LSTSQ, a, b, &options, 3);
    int first = lua_gettop(L) - 2;
    const struct rt_array *x = lua_touserdata(L, first);
    struct rt_array *product = lg_new_array(L), columns = *x; /* borrowed */
    if (b->ndim == 1) { /* matmul takes the vectors of a batch as matrices of one column */
        columns.shape[columns.ndim] = columns.strides[columns.ndim] = 1;
        columns.ndim++;
    }
    lg_check(L, kn_matmul(a, &columns, product, lg_error_box(L)));
    struct rt_array right = *b; /* borrowed */
    if (b->ndim == 1) {
        right.shape[1] = right.strides[1] = 1;
        right.ndim = 2;
    }
    const struct rt_array *difference = push_op(L, KN_SUB, of(&right), of(product), of_number(0));
    const struct rt_array *squares = push_op(L, KN_SQUARE, of(difference), of_number(0), of_number(0));
    unsigned rows = last_axis(squares) >> 1;
    push_reduced(L, KN_SUM, squares, b->ndim == 1 ? rows | last_axis(squares) : rows, false);
    take_element(L, lua_gettop(L));
    take_element(L, first + 1);
    lua_insert(L, first + 1); /* x, the residuals, the rank, the singular values, and what is done with */
    lua_settop(L, first + 3);
    return 4;
}

/* Norms */

struct norm {
    enum { BY_ORDER, FROBENIUS, NUCLEAR } kind;
    double order;
    bool given;
};

static void check_order(lua_State *L, int idx, struct norm *n)
{
    static const char *const names[] = {"fro", "nuc", NULL};
    *n = (struct norm){BY_ORDER, 2, false};
    if (lua_isnoneornil(L, idx)) return;
    n->given = true;
    if (lua_type(L, idx) == LUA_TNUMBER)
        n->order = lua_tonumber(L, idx);
    else
        n->kind = luaL_checkoption(L, idx, NULL, names) == 0 ? FROBENIUS : NUCLEAR;
}

static const struct rt_array *push_vector_norm(lua_State *L, const struct rt_array *a, unsigned axes, double order,
                                               bool keepdims)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_norm(a, axes, keepdims, order, out, lg_error_box(L)));
    return out;
}

/* The largest, smallest (by `least`) or sum of the singular values over two axes; reduced axes stay with keepdims. */
static const struct rt_array *push_spectral(lua_State *L, const struct rt_array *a, int row, int column,
                                            enum kn_reduction r, bool keepdims)
{
    int order[RT_MAX_DIMS], n = 0;
    for (int i = 0; i < a->ndim; i++)
        if (i != row && i != column) order[n++] = i;
    order[n++] = row;
    order[n] = column;
    struct rt_array *matrices = lg_new_array(L);
    lg_check(L, rt_array_permute(a, order, matrices, lg_error_box(L)));
    const struct rt_array *s = push_values(L, KN_SVD, matrices);
    struct rt_array *out = (struct rt_array *)(uintptr_t)push_reduced(L, r, s, last_axis(s), false);
    if (!keepdims) return out;
    struct rt_array form = *a, *shaped = lg_new_array(L);
    form.shape[row] = form.shape[column] = 1;
    lg_check(L, rt_array_reshape(out, a->ndim, form.shape, shaped, lg_error_box(L)));
    return shaped;
}

/* The greatest or least of the sums of absolute values over `summed`, over `other`. */
static const struct rt_array *push_sums_norm(lua_State *L, const struct rt_array *a, int summed, int other, bool least,
                                             bool keepdims)
{
    const struct rt_array *sums = push_vector_norm(L, a, 1u << summed, 1, true);
    const struct rt_array *best = push_reduced(L, least ? KN_MIN : KN_MAX, sums, 1u << other, true);
    if (keepdims) return best;
    struct rt_array form = {0}, *out = lg_new_array(L);
    for (int i = 0; i < a->ndim; i++)
        if (i != summed && i != other) form.shape[form.ndim++] = a->shape[i];
    lg_check(L, rt_array_reshape(best, form.ndim, form.shape, out, lg_error_box(L)));
    return out;
}

static const struct rt_array *push_matrix_norm(lua_State *L, const struct rt_array *a, int row, int column,
                                               const struct norm *n, bool keepdims)
{
    if (n->kind == FROBENIUS) return push_vector_norm(L, a, 1u << row | 1u << column, 2, keepdims);
    if (n->kind == NUCLEAR) return push_spectral(L, a, row, column, KN_SUM, keepdims);
    if (fabs(n->order) == 2) return push_spectral(L, a, row, column, n->order > 0 ? KN_MAX : KN_MIN, keepdims);
    if (fabs(n->order) == 1) return push_sums_norm(L, a, row, column, n->order < 0, keepdims);
    if (isinf(n->order)) return push_sums_norm(L, a, column, row, n->order < 0, keepdims);
    luaL_error(L, "norm: a matrix has the orders 'fro', 'nuc', 1, -1, 2, -2, math.huge and -math.huge, not %f",
               n->order);
    return NULL;
}

/* Leaves the arguments x, order, axis, keepdims at 1 to 4, from a table of options as well. */
static void spread_options(lua_State *L)
{
    static const char *const names[] = {"ord", "axis", "keepdims"};
    bool named = lua_istable(L, 2) && lua_gettop(L) == 2;
    lua_settop(L, named ? 2 : 4);
    if (!named) return;
    lua_settop(L, 5);
    lua_rotate(L, 2, -1); /* the table goes to the top */
    for (lua_pushnil(L); lua_next(L, 5); lua_pop(L, 1)) {
        int which = 0;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        while (which < 3 && strcmp(key, names[which]) != 0) which++;
        if (which == 3) luaL_error(L, "norm: there is no option '%s'; there are ord, axis and keepdims", key);
        lua_pushvalue(L, -1);
        lua_replace(L, 2 + which);
    }
    lua_settop(L, 4);
}

static int norm(lua_State *L)
{
    struct norm n;
    const struct rt_array *a = lg_check_array(L, 1);
    spread_options(L);
    check_order(L, 2, &n);
    bool keepdims = lua_toboolean(L, 4);
    int axes[2], count = 0;
    if (lua_istable(L, 3)) {
        count = (int)lua_rawlen(L, 3);
        if (count < 1 || count > 2) return luaL_error(L, "norm: one axis or two are expected, not %d", count);
        for (int i = 0; i < count; i++) {
            lua_rawgeti(L, 3, i + 1);
            axes[i] = lg_check_axis(L, lua_gettop(L), a->ndim);
            lua_pop(L, 1);
        }
        if (count == 2 && axes[0] == axes[1]) return luaL_error(L, "norm: axis %d is named twice", axes[0] + 1);
    } else if (!lua_isnil(L, 3)) {
        axes[count++] = lg_check_axis(L, 3, a->ndim);
    } else if (n.given) {
        if (a->ndim < 1 || a->ndim > 2)
            return luaL_error(L, "norm: with an order but no axis x must have 1 or 2 axes, it has %d", a->ndim);
        for (; count < a->ndim; count++) axes[count] = count;
    }
    if (count == 1 && n.kind != BY_ORDER) return luaL_error(L, "norm: 'fro' and 'nuc' are norms of matrices");
    if (count == 2 && !n.given) n.kind = FROBENIUS;
    if (count == 2)
        push_matrix_norm(L, a, axes[0], axes[1], &n, keepdims);
    else
        push_vector_norm(L, a, count == 1 ? 1u << axes[0] : KN_ALL_AXES, n.order, keepdims);
    return finish(L);
}

/* What follows from these */

static int cond(lua_State *L)
{
    struct norm n;
    const struct rt_array *a = check_matrices(L, "cond"), *high, *low, *ratio, *broken;
    check_order(L, 2, &n);
    int row = a->ndim - 2, column = a->ndim - 1;
    if (n.kind == BY_ORDER && fabs(n.order) == 2) {
        const struct rt_array *s = push_values(L, KN_SVD, a);
        high = push_reduced(L, KN_MAX, s, last_axis(s), false);
        low = push_reduced(L, KN_MIN, s, last_axis(s), false);
        ratio = n.order > 0 ? push_op(L, KN_DIV, of(high), of(low), of_number(0))
                            : push_op(L, KN_DIV, of(low), of(high), of_number(0));
    } else {
        if (n.kind == NUCLEAR)
            return luaL_error(L, "cond: the orders are 'fro', 1, -1, 2, -2, math.huge and -math.huge");
        push_factors(L, KN_INV, a, NULL, &(struct kn_factor_options){.infinite = true}, 1);
        const struct rt_array *inverse = lua_touserdata(L, -1);
        high = push_matrix_norm(L, a, row, column, &n, false);
        low = push_matrix_norm(L, inverse, row, column, &n, false);
        ratio = push_op(L, KN_MUL, of(high), of(low), of_number(0));
    }
    broken = push_op(L, KN_ISNAN, of(ratio), of_number(0), of_number(0)); /* 0 / 0 and 0 * infinity: of zeros */
    push_op(L, KN_WHERE, of(broken), of_number(INFINITY), of(ratio));
    return finish(L);
}

static double precision(const struct rt_array *a)
{
    switch (a->dtype) {
    case RT_FLOAT64: return 0x1p-52;
    case RT_FLOAT16: return 0x1p-10;
    case RT_BFLOAT16: return 0x1p-7;
    default: return 0x1p-23;
    }
}

/* Pushes the smallest singular value that counts, with the last axis kept. */
static const struct rt_array *push_limit(lua_State *L, const struct rt_array *s, double relative)
{
    const struct rt_array *most = push_reduced(L, KN_MAX, s, last_axis(s), true);
    return push_op(L, KN_MUL, of(most), of_number(relative), of_number(0));
}

static double default_tolerance(const struct rt_array *a, const struct rt_array *s)
{
    int64_t rows = a->shape[a->ndim - 2], columns = a->shape[a->ndim - 1];
    return (double)(rows > columns ? rows : columns) * precision(s);
}

static int pinv(lua_State *L)
{
    const struct rt_array *a = check_matrices(L, "pinv");
    struct rt_array *out = NULL;
    double rcond = luaL_optnumber(L, 2, -1);
    push_factors(L, KN_SVD, a, NULL, &plain, 3);
    const struct rt_array *u = lua_touserdata(L, -3), *s = lua_touserdata(L, -2), *vt = lua_touserdata(L, -1);
    if (s->shape[s->ndim - 1] == 0) { /* of an empty matrix: the empty matrix turned */
        struct rt_array empty = turned(a);
        out = lg_new_array(L);
        lg_check(L, rt_array_new(rt_array_device(a), s->dtype, empty.ndim, empty.shape, out, lg_error_box(L)));
        return 1;
    }
    const struct rt_array *limit = push_limit(L, s, rcond < 0 ? default_tolerance(a, s) : rcond);
    const struct rt_array *counts = push_op(L, KN_GT, of(s), of(limit), of_number(0));
    const struct rt_array *inverted = push_op(L, KN_RECIPROCAL, of(s), of_number(0), of_number(0));
    struct rt_array v = turned(vt), ut = turned(u); /* borrowed */
    struct rt_array factors = *push_op(L, KN_WHERE, of(counts), of(inverted), of_number(0));
    factors.shape[factors.ndim] = factors.shape[factors.ndim - 1]; /* across the columns of v */
    factors.strides[factors.ndim] = factors.strides[factors.ndim - 1];
    factors.shape[factors.ndim - 1] = factors.strides[factors.ndim - 1] = 1;
    factors.ndim++;
    const struct rt_array *scaled = push_op(L, KN_MUL, of(&v), of(&factors), of_number(0));
    out = lg_new_array(L);
    lg_check(L, kn_matmul(scaled, &ut, out, lg_error_box(L)));
    return 1;
}

static int matrix_rank(lua_State *L)
{
    const struct rt_array *a = check_matrices(L, "matrix_rank"), *limit;
    struct kn_operand given = of_number(luaL_optnumber(L, 2, -1));
    const struct rt_array *s = push_values(L, KN_SVD, a);
    bool empty = s->shape[s->ndim - 1] == 0;
    limit = given.f < 0 && !empty ? push_limit(L, s, default_tolerance(a, s)) : NULL;
    const struct rt_array *counts = push_op(L, KN_GT, of(s), limit ? of(limit) : given, of_number(0));
    push_reduced(L, KN_SUM, counts, last_axis(counts), false);
    return finish(L);
}

static int trace(lua_State *L)
{
    struct rt_array d = diagonals(check_matrices(L, "trace")); /* borrowed */
    push_reduced(L, KN_SUM, &d, last_axis(&d), false);
    return finish(L);
}

/* Pushes identity matrices of a's shape. */
static void push_identity(lua_State *L, const struct rt_array *a)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, a->ndim, a->shape, out, e));
    lg_check(L, kn_fill(out, &(struct kn_operand){.i = 0}, e));
    struct rt_array d = diagonals(out);
    lg_check(L, kn_fill(&d, &(struct kn_operand){.i = 1}, e));
}

static void push_product(lua_State *L, int left, int right)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_matmul(lua_touserdata(L, left), lua_touserdata(L, right), out, lg_error_box(L)));
}

static int matrix_power(lua_State *L)
{
    const struct rt_array *a = check_matrices(L, "matrix_power");
    lua_Integer n = luaL_checkinteger(L, 2);
    char text[256];
    if (a->shape[a->ndim - 1] != a->shape[a->ndim - 2])
        return luaL_error(L, "matrix_power: the matrix must be square, the shape is %s",
                          rt_shape_text(a->ndim, a->shape, text, sizeof text));
    lua_settop(L, 1);
    lua_Unsigned power = n < 0 ? 0u - (lua_Unsigned)n : (lua_Unsigned)n;
    if (n < 0) {
        push_factors(L, KN_INV, a, NULL, &plain, 1);
        lua_replace(L, 1);
    }
    push_identity(L, lua_touserdata(L, 1));
    for (bool first = true; power > 0; power >>= 1) {
        lg_poll(L);
        if (power & 1 && first) {
            lua_copy(L, 1, 2);
            first = false;
        } else if (power & 1) {
            push_product(L, 2, 1);
            lua_replace(L, 2);
        }
        if (power == 1) break;
        push_product(L, 1, 1);
        lua_replace(L, 1);
    }
    struct rt_array *out = lg_new_array(L);
    const struct rt_array *result = lua_touserdata(L, 2);
    lg_check(L, kn_convert(result, result->dtype, rt_array_device(result), out, lg_error_box(L)));
    return 1;
}

#define BATCH  " The last two axes are the matrices; those in front of them are a batch."
#define RANDOM "local a = gpu.rand(4, 4) + 4 * gpu.eye(4)\n"

static const struct lg_function linalg_functions[] = {
    {"solve", solve, "gpu.linalg.solve(a, b)",
     "x with a x = b.\n"
     "b is a vector or a matrix of several right sides. A singular matrix is an error." BATCH
     " The functions of gpu.linalg run on the host, by LAPACK: arrays of a GPU are copied there and the results back.",
     RANDOM "local b = gpu.rand(4)\nassert(gpu.matmul(a, gpu.linalg.solve(a, b)):allclose(b, 1e-4, 1e-5))"},
    {"solve_triangular", solve_triangular, "gpu.linalg.solve_triangular(a, b [, {upper = false}])",
     "x with a x = b for a triangular matrix, of which the other triangle is not read." BATCH,
     "local l = gpu.array({{2, 0}, {1, 4}})\n"
     "assert(gpu.linalg.solve_triangular(l, gpu.array({2, 9})):equal(gpu.array({1, 2})))"},
    {"inv", inv, "gpu.linalg.inv(a)",
     "The inverse of a square matrix.\nA singular matrix is an error; gpu.linalg.solve is faster and more accurate." BATCH,
     RANDOM "assert(gpu.matmul(a, gpu.linalg.inv(a)):allclose(gpu.eye(4), 1e-4, 1e-5))"},
    {"det", det, "gpu.linalg.det(a)", "The determinant.\nOf one matrix it is a Lua number." BATCH,
     "assert(math.abs(gpu.linalg.det(gpu.array({{1, 2}, {3, 4}})) + 2) < 1e-5)"},
    {"slogdet", slogdet, "gpu.linalg.slogdet(a)",
     "The sign of the determinant, and the logarithm of its absolute value.\n"
     "They do not overflow; a singular matrix has 0 and -inf." BATCH,
     "local sign, log = gpu.linalg.slogdet(1000 * gpu.eye(100))\n"
     "assert(sign == 1 and math.abs(log - 100 * math.log(1000)) < 0.01)"},
    {"cholesky", cholesky, "gpu.linalg.cholesky(a)",
     "The lower triangular L with L L.T = a.\n"
     "a is symmetric, and only its lower triangle is read; one that is not positive definite is an error." BATCH,
     "local l = gpu.linalg.cholesky(gpu.array({{4, 2}, {2, 5}}))\nassert(l:equal(gpu.array({{2, 0}, {1, 2}})))"},
    {"qr", qr, "gpu.linalg.qr(a [, {full = false}])",
     "Q with orthogonal columns and upper triangular R, with Q R = a.\n"
     "Q has as many columns as a has rows or columns, whichever is less; with full it is square." BATCH,
     "local a = gpu.rand(5, 3)\nlocal q, r = gpu.linalg.qr(a)\n"
     "assert(q.shape[2] == 3 and gpu.matmul(q, r):allclose(a, 1e-4, 1e-5))"},
    {"svd", svd, "gpu.linalg.svd(a [, {full = false}])",
     "The singular value decomposition: U, s and Vt with U diag(s) Vt = a.\n"
     "s is a vector with the singular values from the largest down. U and Vt have as many columns and rows as there are "
     "singular values; with full they are square, as NumPy's are without being asked." BATCH,
     "local a = gpu.rand(5, 3)\nlocal u, s, vt = gpu.linalg.svd(a)\n"
     "assert(gpu.matmul(u * s, vt):allclose(a, 1e-4, 1e-5))"},
    {"svdvals", svdvals, "gpu.linalg.svdvals(a)", "The singular values alone, from the largest down." BATCH,
     "assert(gpu.linalg.svdvals(gpu.array({{0, 2}, {3, 0}})):allclose(gpu.array({3, 2})))"},
    {"eigh", eigh, "gpu.linalg.eigh(a)",
     "The eigenvalues of a symmetric matrix, upwards, and the eigenvectors as columns.\n"
     "Only the lower triangle is read." BATCH,
     "local a = gpu.array({{2, 1}, {1, 2}})\nlocal w, v = gpu.linalg.eigh(a)\n"
     "assert(w:allclose(gpu.array({1, 3})) and gpu.matmul(a, v):allclose(v * w, 1e-4, 1e-5))"},
    {"eigvalsh", eigvalsh, "gpu.linalg.eigvalsh(a)", "The eigenvalues of a symmetric matrix alone, upwards." BATCH,
     "assert(gpu.linalg.eigvalsh(gpu.array({{2, 1}, {1, 2}})):allclose(gpu.array({1, 3})))"},
    {"eig", eig, "gpu.linalg.eig(a)",
     "The eigenvalues of any square matrix, and the eigenvectors as columns, in no order.\n"
     "Complex eigenvalues are an error, as there are no complex dtypes." BATCH,
     "local a = gpu.array({{1, 2}, {0, 3}})\nlocal w, v = gpu.linalg.eig(a)\n"
     "assert(gpu.matmul(a, v):allclose(v * w, 1e-4, 1e-5))"},
    {"eigvals", eigvals, "gpu.linalg.eigvals(a)",
     "The eigenvalues of any square matrix alone, in no order.\nComplex ones are an error." BATCH,
     "assert(gpu.linalg.eigvals(gpu.array({{1, 2}, {0, 3}})):sum() == 4)"},
    {"lstsq", lstsq, "gpu.linalg.lstsq(a, b [, rcond])",
     "The x that makes the squares of a x - b least: x, their sums, the rank of a, its singular values.\n"
     "b is a vector or a matrix of several right sides. Singular values up to rcond times the largest count as 0 (the "
     "precision times the larger size unless told otherwise); of several best x it is the shortest." BATCH,
     "local a, b = gpu.array({{1, 0}, {1, 1}, {1, 2}}), gpu.array({1, 3, 5})\n"
     "local x, residual, rank = gpu.linalg.lstsq(a, b)\n"
     "assert(x:allclose(gpu.array({1, 2}), 1e-4) and residual < 1e-6 and rank == 2)"},
    {"norm", norm, "gpu.linalg.norm(x [, ord [, axis [, keepdims]]])",
     "The norm of vectors or matrices.\n"
     "Over all elements, or along one axis, it is that of vectors: (sum |x|^ord)^(1/ord), 2 unless told otherwise; "
     "math.huge is the greatest |x|, 0 counts what is not 0. Over two axes, given as a table, or with an order for an "
     "array of two axes, it is that of matrices: 'fro', 'nuc' (the sum of the singular values), 2 and -2 (the largest "
     "and the smallest of them), 1 and -1 (of the columns' sums of |x|), math.huge and -math.huge (of the rows'). Also "
     "as gpu.linalg.norm(x, {ord = ..., axis = ..., keepdims = ...}).",
     "local a = gpu.array({{3, 0}, {4, 0}})\n"
     "assert(gpu.linalg.norm(a) == 5 and gpu.linalg.norm(a, 1) == 7 and gpu.linalg.norm(a, nil, 1)[1] == 5)"},
    {"cond", cond, "gpu.linalg.cond(a [, ord])",
     "The condition number: how much a may enlarge errors; singular matrices have inf.\n"
     "The norm of a times that of its inverse; without an order, or with 2, the largest singular value over the "
     "smallest." BATCH,
     "assert(gpu.linalg.cond(gpu.array({{4, 0}, {0, 1}})) == 4)"},
    {"pinv", pinv, "gpu.linalg.pinv(a [, rcond])",
     "The pseudo-inverse (Moore and Penrose).\n"
     "Singular values up to rcond times the largest count as 0 (the precision times the larger size unless told "
     "otherwise)." BATCH,
     "local a = gpu.rand(5, 3)\nassert(gpu.matmul(gpu.linalg.pinv(a), a):allclose(gpu.eye(3), 1e-3, 1e-4))"},
    {"matrix_rank", matrix_rank, "gpu.linalg.matrix_rank(a [, tolerance])",
     "How many singular values are above the tolerance.\n"
     "It is the largest one times the precision times the larger size unless told otherwise. Of one matrix the rank is a "
     "Lua integer." BATCH,
     "assert(gpu.linalg.matrix_rank(gpu.ones(3, 4)) == 1)"},
    {"matrix_power", matrix_power, "gpu.linalg.matrix_power(a, n)",
     "The matrix times itself n times; a negative n takes the inverse, 0 gives the identity." BATCH,
     "local a = gpu.array({{1, 1}, {1, 0}})\nassert(gpu.linalg.matrix_power(a, 10)[{1, 2}] == 55)"},
    {"trace", trace, "gpu.linalg.trace(a)",
     "The sum of the diagonal.\nOf one matrix it is a Lua number; gpu.trace follows a kernel." BATCH,
     "assert(gpu.linalg.trace(gpu.array({{1, 2}, {3, 4}})) == 5)"},
    {0}};

static int missing(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    return lg_raise_unknown(L, "gpu.linalg has no function", lua_tostring(L, 2), 1, 0);
}

void lg_open_linalg(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.linalg", linalg_functions);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, missing);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "linalg");
}
