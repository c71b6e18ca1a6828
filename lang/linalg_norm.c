/* Norms and condition numbers: gpu.linalg.norm and gpu.linalg.cond. */
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/linalg.h"
#include "lang/reduce.h"

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
        n->kind = lg_check_option(L, idx, NULL, names) == 0 ? FROBENIUS : NUCLEAR;
}

static const struct rt_array *push_vector_norm(lua_State *L, const struct rt_array *a, unsigned axes, double order,
                                               bool keepdims)
{
    bool empty = false;
    for (int i = 0; i < a->ndim; i++) empty |= (axes == KN_ALL_AXES || axes >> i & 1) && a->shape[i] == 0;
    if (empty && order > 0) order = 1; /* the greatest of none is 0, too */
    return lg_push_statistic(L, a, &(struct kn_statistic){.kind = KN_NORM, .axes = axes, .number = order}, keepdims);
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
    lg_evaluate(L, (struct rt_array *)(uintptr_t)a);
    lg_check(L, rt_array_permute(a, order, matrices, lg_error_box(L)));
    const struct rt_array *s = lg_push_values(L, KN_SVD, matrices);
    if (r == KN_MAX && s->shape[s->ndim - 1] == 0) r = KN_SUM; /* the norm of no elements is 0 */
    struct rt_array *out = (struct rt_array *)(uintptr_t)lg_push_reduced(L, r, s, lg_last_axis(s), false);
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
    lg_evaluate(L, (struct rt_array *)(uintptr_t)sums);
    const enum kn_reduction greatest = sums->shape[other] ? KN_MAX : KN_SUM; /* the norm of no elements is 0 */
    const struct rt_array *best = lg_push_reduced(L, least ? KN_MIN : greatest, sums, 1u << other, true);
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
        const char *key = lg_option_name(L);
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
    const struct rt_array *a = lg_check_form(L, 1);
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
    return lg_finish_linalg(L);
}

static int cond(lua_State *L)
{
    struct norm n;
    const struct rt_array *a = lg_check_matrices(L, "cond"), *high, *low, *ratio, *broken, *unknown;
    check_order(L, 2, &n);
    int row = a->ndim - 2, column = a->ndim - 1;
    if (row < 0 || a->shape[row] == 0 || a->shape[column] == 0) /* no row is below 0, which clang-tidy cannot know */
        return luaL_error(L, "cond: a matrix without elements has no condition number");
    if (n.kind == BY_ORDER && fabs(n.order) == 2) {
        const struct rt_array *s = lg_push_values(L, KN_SVD, a);
        high = lg_push_reduced(L, KN_MAX, s, lg_last_axis(s), false);
        low = lg_push_reduced(L, KN_MIN, s, lg_last_axis(s), false);
        ratio = n.order > 0 ? lg_push_op(L, KN_DIV, lg_of_array(high), lg_of_array(low), lg_of_number(0))
                            : lg_push_op(L, KN_DIV, lg_of_array(low), lg_of_array(high), lg_of_number(0));
    } else {
        if (n.kind == NUCLEAR)
            return luaL_error(L, "cond: the orders are 'fro', 1, -1, 2, -2, math.huge and -math.huge");
        lg_push_factors(L, KN_INV, a, NULL, &(struct kn_factor_options){.infinite = true}, 1);
        const struct rt_array *inverse = lua_touserdata(L, -1);
        high = push_matrix_norm(L, a, row, column, &n, false);
        low = push_matrix_norm(L, inverse, row, column, &n, false);
        ratio = lg_push_op(L, KN_MUL, lg_of_array(high), lg_of_array(low), lg_of_number(0));
    }
    broken = lg_push_op(L, KN_ISNAN, lg_of_array(ratio), lg_of_number(0),
                        lg_of_number(0)); /* 0 / 0 and 0 * infinity: of zeros */
    ratio = lg_push_op(L, KN_WHERE, lg_of_array(broken), lg_of_number(INFINITY), lg_of_array(ratio));
    unknown = lg_push_op(L, KN_ISNAN, lg_of_array(high), lg_of_number(0), lg_of_number(0)); /* the matrix has NaN */
    lg_push_op(L, KN_WHERE, lg_of_array(unknown), lg_of_array(high), lg_of_array(ratio));
    return lg_finish_linalg(L);
}

const struct lg_function lg_norm_functions[] = {
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
     "The condition number: how much a may enlarge errors; singular matrices have inf, those with NaN have NaN or, where "
     "singular values are asked for, none.\n"
     "The norm of a times that of its inverse; without an order, or with 2, the largest singular value over the "
     "smallest." LG_BATCH_DOC,
     "assert(gpu.linalg.cond(gpu.array({{4, 0}, {0, 1}})) == 4)"},
    {0}};
