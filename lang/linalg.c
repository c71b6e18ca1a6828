/* gpu.linalg: solving and factoring matrices, and what follows from it. The last two axes are the matrices, those in
 * front of them a batch. */
#include <string.h>
#include "lang/linalg.h"
#include "lang/closest.h"
#include "lang/out.h"
#include "lang/reduce.h"

static const struct kn_factor_options plain = {.rcond = -1};

/* Pushes so many results. */
void lg_push_factors(lua_State *L, enum kn_factoring what, const struct rt_array *a, const struct rt_array *b,
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
int lg_finish_linalg(lua_State *L)
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

/* Pushes an operation's result. */
const struct rt_array *lg_push_op(lua_State *L, enum kn_op op, struct kn_operand a, struct kn_operand b,
                                  struct kn_operand c)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(op, (struct kn_operand[]){a, b, c}, out, lg_error_box(L)));
    return out;
}

const struct rt_array *lg_push_reduced(lua_State *L, enum kn_reduction r, const struct rt_array *a, unsigned axes,
                                       bool keepdims)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_reduce(r, a, axes, keepdims, out, lg_error_box(L)));
    return out;
}

const struct rt_array *lg_check_matrices(lua_State *L, const char *what)
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

/* The same of the complex conjugate, which is pushed; real numbers are their own. */
static struct rt_array push_adjoint(lua_State *L, const struct rt_array *a)
{
    if (rt_is_complex(a->dtype)) a = lg_push_op(L, KN_CONJ, lg_of_array(a), lg_of_number(0), lg_of_number(0));
    return turned(a);
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
    if (!lua_istable(L, idx))
        luaL_argerror(L, idx,
                      lua_pushfstring(L, "expected {%s = true} or nothing, got %s", name, lg_type_name(L, idx)));
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        if (strcmp(key, name) != 0) luaL_error(L, "there is no option '%s'; there is %s", key, name);
        set = lg_check_flag(L, -1, name);
    }
    return set;
}

static int solve(lua_State *L)
{
    lg_push_factors(L, KN_SOLVE, lg_check_array(L, 1), lg_check_array(L, 2), &plain, 1);
    return 1;
}

static int solve_triangular(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    struct kn_factor_options options = {.upper = check_flag(L, 3, "upper")};
    lg_push_factors(L, KN_TRIANGULAR, a, b, &options, 1);
    return 1;
}

static int inv(lua_State *L)
{
    lg_push_factors(L, KN_INV, lg_check_array(L, 1), NULL, &plain, 1);
    return 1;
}

static int det(lua_State *L)
{
    lg_push_factors(L, KN_DET, lg_check_array(L, 1), NULL, &plain, 1);
    return lg_finish_linalg(L);
}

static int slogdet(lua_State *L)
{
    lg_push_factors(L, KN_DET, lg_check_array(L, 1), NULL, &plain, 3);
    take_element(L, lua_gettop(L) - 1);
    take_element(L, lua_gettop(L));
    return 2;
}

static int cholesky(lua_State *L)
{
    lg_push_factors(L, KN_CHOLESKY, lg_check_array(L, 1), NULL, &plain, 1);
    return 1;
}

static int qr(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct kn_factor_options options = {.full = check_flag(L, 2, "full")};
    lg_push_factors(L, KN_QR, a, NULL, &options, 2);
    return 2;
}

static int lu(lua_State *L)
{
    lg_push_factors(L, KN_LU, lg_check_array(L, 1), NULL, &plain, 3);
    return 3;
}

static int svd(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct kn_factor_options options = {.full = check_flag(L, 2, "full")};
    lg_push_factors(L, KN_SVD, a, NULL, &options, 3);
    return 3;
}

static int eigh(lua_State *L)
{
    lg_push_factors(L, KN_EIGH, lg_check_array(L, 1), NULL, &plain, 2);
    return 2;
}

static int eig(lua_State *L)
{
    lg_push_factors(L, KN_EIG, lg_check_array(L, 1), NULL, &plain, 2);
    return 2;
}

const struct rt_array *lg_push_values(lua_State *L, enum kn_factoring what, const struct rt_array *a)
{
    lg_push_factors(L, what, a, NULL, &(struct kn_factor_options){.values = true}, 1);
    return lua_touserdata(L, -1);
}

static int svdvals(lua_State *L)
{
    lg_push_values(L, KN_SVD, lg_check_array(L, 1));
    return 1;
}

static int eigvalsh(lua_State *L)
{
    lg_push_values(L, KN_EIGH, lg_check_array(L, 1));
    return 1;
}

static int eigvals(lua_State *L)
{
    lg_push_values(L, KN_EIG, lg_check_array(L, 1));
    return 1;
}

static int lstsq(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    struct kn_factor_options options = {.rcond = luaL_optnumber(L, 3, -1)};
    lg_push_factors(L, KN_LSTSQ, a, b, &options, 3);
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
    const struct rt_array *difference =
        lg_push_op(L, KN_SUB, lg_of_array(&right), lg_of_array(product), lg_of_number(0));
    if (rt_is_complex(difference->dtype))
        difference = lg_push_op(L, KN_ABS, lg_of_array(difference), lg_of_number(0), lg_of_number(0));
    const struct rt_array *squares =
        lg_push_op(L, KN_SQUARE, lg_of_array(difference), lg_of_number(0), lg_of_number(0));
    unsigned rows = lg_last_axis(squares) >> 1;
    lg_push_reduced(L, KN_SUM, squares, b->ndim == 1 ? rows | lg_last_axis(squares) : rows, false);
    take_element(L, lua_gettop(L));
    take_element(L, first + 1);
    lua_insert(L, first + 1); /* x, the residuals, the rank, the singular values, and what is done with */
    lua_settop(L, first + 3);
    return 4;
}

/* What follows from these */

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
    const struct rt_array *most = lg_push_reduced(L, KN_MAX, s, lg_last_axis(s), true);
    return lg_push_op(L, KN_MUL, lg_of_array(most), lg_of_number(relative), lg_of_number(0));
}

static double default_tolerance(const struct rt_array *a, const struct rt_array *s)
{
    int64_t rows = a->shape[a->ndim - 2], columns = a->shape[a->ndim - 1];
    return (double)(rows > columns ? rows : columns) * precision(s);
}

static int pinv(lua_State *L)
{
    const struct rt_array *a = lg_check_matrices(L, "pinv");
    struct rt_array *out = NULL;
    double rcond = luaL_optnumber(L, 2, -1);
    lg_push_factors(L, KN_SVD, a, NULL, &plain, 3);
    const struct rt_array *u = lua_touserdata(L, -3), *s = lua_touserdata(L, -2), *vt = lua_touserdata(L, -1);
    if (s->shape[s->ndim - 1] == 0) { /* of an empty matrix: the empty matrix turned */
        struct rt_array empty = turned(a);
        out = lg_new_array(L);
        lg_check(L, rt_array_new(rt_array_device(a), u->dtype, empty.ndim, empty.shape, out, lg_error_box(L)));
        return 1;
    }
    const struct rt_array *limit = push_limit(L, s, rcond < 0 ? default_tolerance(a, s) : rcond);
    const struct rt_array *counts = lg_push_op(L, KN_GT, lg_of_array(s), lg_of_array(limit), lg_of_number(0));
    const struct rt_array *inverted = lg_push_op(L, KN_RECIPROCAL, lg_of_array(s), lg_of_number(0), lg_of_number(0));
    struct rt_array v = push_adjoint(L, vt), ut = push_adjoint(L, u);
    struct rt_array factors = *lg_push_op(L, KN_WHERE, lg_of_array(counts), lg_of_array(inverted), lg_of_number(0));
    factors.shape[factors.ndim] = factors.shape[factors.ndim - 1]; /* across the columns of v */
    factors.strides[factors.ndim] = factors.strides[factors.ndim - 1];
    factors.shape[factors.ndim - 1] = factors.strides[factors.ndim - 1] = 1;
    factors.ndim++;
    const struct rt_array *scaled = lg_push_op(L, KN_MUL, lg_of_array(&v), lg_of_array(&factors), lg_of_number(0));
    out = lg_new_array(L);
    lg_check(L, kn_matmul(scaled, &ut, out, lg_error_box(L)));
    return 1;
}

static int matrix_rank(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1), *limit;
    if (a->ndim < 2) { /* of a vector 1, unless all of it is 0 */
        const struct rt_array *other = lg_push_op(L, KN_NE, lg_of_array(a), lg_of_number(0), lg_of_number(0));
        const struct rt_array *any = lg_push_reduced(L, KN_ANY, other, KN_ALL_AXES, false);
        lg_push_reduced(L, KN_SUM, any, KN_ALL_AXES, false);
        return lg_finish_linalg(L);
    }
    a = lg_check_matrices(L, "matrix_rank");
    struct kn_operand given = lg_of_number(luaL_optnumber(L, 2, -1));
    const struct rt_array *s = lg_push_values(L, KN_SVD, a);
    bool empty = s->shape[s->ndim - 1] == 0;
    limit = given.f < 0 && !empty ? push_limit(L, s, default_tolerance(a, s)) : NULL;
    const struct rt_array *counts =
        lg_push_op(L, KN_GT, lg_of_array(s), limit ? lg_of_array(limit) : given, lg_of_number(0));
    lg_push_reduced(L, KN_SUM, counts, lg_last_axis(counts), false);
    return lg_finish_linalg(L);
}

static int trace(lua_State *L)
{
    if (lg_out(L, "trace")) return 1;
    struct rt_array d = diagonals(lg_check_matrices(L, "trace")); /* borrowed */
    lg_push_reduced(L, KN_SUM, &d, lg_last_axis(&d), false);
    return lg_finish_linalg(L);
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
    const struct rt_array *a = lg_check_matrices(L, "matrix_power");
    lua_Integer n = luaL_checkinteger(L, 2);
    char text[256];
    if (a->shape[a->ndim - 1] != a->shape[a->ndim - 2])
        return luaL_error(L, "matrix_power: the matrix must be square, the shape is %s",
                          rt_shape_text(a->ndim, a->shape, text, sizeof text));
    lua_settop(L, 1);
    lua_Unsigned power = n < 0 ? 0u - (lua_Unsigned)n : (lua_Unsigned)n;
    if (n < 0) {
        lg_push_factors(L, KN_INV, a, NULL, &plain, 1);
        lua_replace(L, 1);
    }
    if (power == 0)
        push_identity(L, lua_touserdata(L, 1));
    else
        lua_pushnil(L);
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
    lua_settop(L, 2);
    if (n != 1 && n != -1) return 1; /* what a product or the identity was made for */
    struct rt_array *out = lg_new_array(L);
    const struct rt_array *result = lua_touserdata(L, 2);
    lg_check(L, kn_convert(result, result->dtype, rt_array_device(result), out, lg_error_box(L)));
    return 1;
}

#define LG_BATCH_DOC " The last two axes are the matrices; those in front of them are a batch."
#define RANDOM       "local a = gpu.rand(4, 4) + 4 * gpu.eye(4)\n"

static const struct lg_function linalg_functions[] = {
    {"solve", solve, "gpu.linalg.solve(a, b)",
     "x with a x = b.\n"
     "b is a vector or a matrix of several right sides. A singular matrix is an error." LG_BATCH_DOC
     " The functions of gpu.linalg run on the host, by LAPACK: arrays of a GPU are copied there and the results back. Of "
     "matrices with 16384 elements or more a GPU does solve, inv, det, cholesky, qr, svd and eigh itself where cuSOLVER is "
     "installed.",
     RANDOM "local b = gpu.rand(4)\nassert(gpu.matmul(a, gpu.linalg.solve(a, b)):allclose(b, 1e-4, 1e-5))"},
    {"solve_triangular", solve_triangular, "gpu.linalg.solve_triangular(a, b [, {upper = false}])",
     "x with a x = b for a lower triangular matrix, with upper = true an upper one; the other triangle is not read." LG_BATCH_DOC,
     "local l = gpu.array({{2, 0}, {1, 4}})\n"
     "assert(gpu.linalg.solve_triangular(l, gpu.array({2, 9})):equal(gpu.array({1, 2})))"},
    {"inv", inv, "gpu.linalg.inv(a)",
     "The inverse of a square matrix.\nA singular matrix is an error; gpu.linalg.solve is faster and more accurate." LG_BATCH_DOC,
     RANDOM "assert(gpu.matmul(a, gpu.linalg.inv(a)):allclose(gpu.eye(4), 1e-4, 1e-5))"},
    {"det", det, "gpu.linalg.det(a)", "The determinant.\nOf one matrix it is a Lua number." LG_BATCH_DOC,
     "assert(math.abs(gpu.linalg.det(gpu.array({{1, 2}, {3, 4}})) + 2) < 1e-5)"},
    {"slogdet", slogdet, "gpu.linalg.slogdet(a)",
     "The sign of the determinant, and the logarithm of its absolute value.\n"
     "They do not overflow; a singular matrix has 0 and -inf." LG_BATCH_DOC,
     "local sign, log = gpu.linalg.slogdet(1000 * gpu.eye(100))\n"
     "assert(sign == 1 and math.abs(log - 100 * math.log(1000)) < 0.01)"},
    {"cholesky", cholesky, "gpu.linalg.cholesky(a)",
     "The lower triangular L with L L.T = a, of complex matrices L L.T:conj() = a.\n"
     "a is symmetric (of complex numbers, Hermitian), and only its lower triangle is read; one that is not positive "
     "definite is an error." LG_BATCH_DOC,
     "local l = gpu.linalg.cholesky(gpu.array({{4, 2}, {2, 5}}))\nassert(l:equal(gpu.array({{2, 0}, {1, 2}})))"},
    {"qr", qr, "gpu.linalg.qr(a [, {full = false}])",
     "Q with orthogonal columns and upper triangular R, with Q R = a.\n"
     "Q has as many columns as a has rows or columns, whichever is less; with full it is square." LG_BATCH_DOC,
     "local a = gpu.rand(5, 3)\nlocal q, r = gpu.linalg.qr(a)\n"
     "assert(q.shape[2] == 3 and gpu.matmul(q, r):allclose(a, 1e-4, 1e-5))"},
    {"lu", lu, "gpu.linalg.lu(a)",
     "P, lower triangular L with ones on its diagonal and upper triangular U, with P L U = a.\n"
     "P exchanges rows, so that nothing in L is greater than 1 in size." LG_BATCH_DOC,
     "local a = gpu.rand(4, 4)\nlocal p, l, u = gpu.linalg.lu(a)\n"
     "assert(gpu.matmul(p, l):matmul(u):allclose(a, 1e-4, 1e-5) and l:triu():equal(gpu.eye(4)))"},
    {"svd", svd, "gpu.linalg.svd(a [, {full = false}])",
     "The singular value decomposition: U, s and Vt with U diag(s) Vt = a.\n"
     "s is a vector with the singular values from the largest down. U and Vt have as many columns and rows as there are "
     "singular values, which are real; with full they are square, as NumPy's are without being asked." LG_BATCH_DOC,
     "local a = gpu.rand(5, 3)\nlocal u, s, vt = gpu.linalg.svd(a)\n"
     "assert(gpu.matmul(u * s, vt):allclose(a, 1e-4, 1e-5))"},
    {"svdvals", svdvals, "gpu.linalg.svdvals(a)", "The singular values alone, from the largest down." LG_BATCH_DOC,
     "assert(gpu.linalg.svdvals(gpu.array({{0, 2}, {3, 0}})):allclose(gpu.array({3, 2})))"},
    {"eigh", eigh, "gpu.linalg.eigh(a)",
     "The eigenvalues of a symmetric matrix, upwards, and the eigenvectors as columns.\n"
     "A complex matrix is Hermitian: transposed, it is its own conjugate; its eigenvalues are real, too. Only the lower "
     "triangle is read." LG_BATCH_DOC,
     "local a = gpu.array({{2, 1}, {1, 2}})\nlocal w, v = gpu.linalg.eigh(a)\n"
     "assert(w:allclose(gpu.array({1, 3})) and gpu.matmul(a, v):allclose(v * w, 1e-4, 1e-5))"},
    {"eigvalsh", eigvalsh, "gpu.linalg.eigvalsh(a)",
     "The eigenvalues of a symmetric (of complex numbers, Hermitian) matrix alone, upwards." LG_BATCH_DOC,
     "assert(gpu.linalg.eigvalsh(gpu.array({{2, 1}, {1, 2}})):allclose(gpu.array({1, 3})))"},
    {"eig", eig, "gpu.linalg.eig(a)",
     "The eigenvalues of any square matrix, and the eigenvectors as columns, in no order.\n"
     "Both are complex unless all eigenvalues of a real matrix, or of a batch of them, are real." LG_BATCH_DOC,
     "local a = gpu.array({{1, -2}, {2, 1}})\nlocal w, v = gpu.linalg.eig(a)\n"
     "assert(w.dtype == 'complex64' and gpu.matmul(a, v):allclose(v * w, 1e-4, 1e-5))"},
    {"eigvals", eigvals, "gpu.linalg.eigvals(a)",
     "The eigenvalues of any square matrix alone, in no order, complex unless all of them are real." LG_BATCH_DOC,
     "assert(gpu.linalg.eigvals(gpu.array({{1, 2}, {0, 3}})):sum() == 4)"},
    {"lstsq", lstsq, "gpu.linalg.lstsq(a, b [, rcond])",
     "The x that makes the squares of a x - b least: x, their sums, the rank of a, its singular values.\n"
     "b is a vector or a matrix of several right sides. Singular values up to rcond times the largest count as 0 (the "
     "precision times the larger size unless told otherwise); of several best x it is the shortest." LG_BATCH_DOC,
     "local a, b = gpu.array({{1, 0}, {1, 1}, {1, 2}}), gpu.array({1, 3, 5})\n"
     "local x, residual, rank = gpu.linalg.lstsq(a, b)\n"
     "assert(x:allclose(gpu.array({1, 2}), 1e-4) and residual < 1e-6 and rank == 2)"},
    {"pinv", pinv, "gpu.linalg.pinv(a [, rcond])",
     "The pseudo-inverse (Moore and Penrose).\n"
     "Singular values up to rcond times the largest count as 0 (the precision times the larger size unless told "
     "otherwise)." LG_BATCH_DOC,
     "local a = gpu.rand(5, 3)\nassert(gpu.matmul(gpu.linalg.pinv(a), a):allclose(gpu.eye(3), 1e-3, 1e-4))"},
    {"matrix_rank", matrix_rank, "gpu.linalg.matrix_rank(a [, tolerance])",
     "How many singular values are above the tolerance.\n"
     "It is the largest one times the precision times the larger size unless told otherwise. Of one matrix the rank is a "
     "Lua integer." LG_BATCH_DOC,
     "assert(gpu.linalg.matrix_rank(gpu.ones(3, 4)) == 1)"},
    {"matrix_power", matrix_power, "gpu.linalg.matrix_power(a, n)",
     "The matrix times itself n times; a negative n takes the inverse, 0 gives the identity." LG_BATCH_DOC,
     "local a = gpu.array({{1, 1}, {1, 0}})\nassert(gpu.linalg.matrix_power(a, 10)[{1, 2}] == 55)"},
    {"trace", trace, "gpu.linalg.trace(a)",
     "The sum of the diagonal.\nOf one matrix it is a Lua number; gpu.trace follows a kernel." LG_BATCH_DOC,
     "assert(gpu.linalg.trace(gpu.array({{1, 2}, {3, 4}})) == 5)"},
    {0}};

void lg_open_linalg(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.linalg", linalg_functions);
    lg_register(L, "gpu.linalg", lg_norm_functions);
    lg_register(L, "gpu.linalg", lg_matrix_functions);
    lg_register(L, "gpu.linalg", lg_space_functions);
    lg_seal_module(L, "gpu.linalg", "it has gpu.linalg.solve(a, b), gpu.linalg.svd(a) and others");
    lua_setfield(L, -2, "linalg");
}
