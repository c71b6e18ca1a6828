/* Products of arrays: of matrices, of vectors, and everything that einsum writes. */
#include <string.h>
#include "kernels/contract.h"
#include "lang/out.h"
#include "lang/reduce.h"

/* The array at the top of the stack, or its only element when it has no axes. */
static int finish(lua_State *L)
{
    const struct rt_array *a = lua_touserdata(L, -1);
    return a->ndim > 0 ? 1 : lg_push_number_of(L);
}

static int multiply(lua_State *L, const struct rt_array *a, const struct rt_array *b)
{
    enum rt_dtype t;
    _Alignas(16) char element[RT_ELEMENT];
    if (kn_small_dot(a, b, &t, element)) {
        lg_push_scalar(L, t, element);
        return 1;
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_matmul(a, b, out, lg_error_box(L)));
    return finish(L);
}

static void check_two(lua_State *L)
{
    luaL_argcheck(L, lua_isnoneornil(L, 3), 3, "two arrays expected, and nothing behind them but {out = y}");
}

static int matmul(lua_State *L)
{
    if (lg_out(L, "matmul")) return 1;
    bool arrays = lg_test_array(L, 1) && lg_test_array(L, 2);
    check_two(L);
    if (!arrays && (lg_is_sparse(L, 1) || lg_is_sparse(L, 2))) return lg_sparse_matmul(L);
    const struct rt_array *a = lg_check_array(L, 1);
    return multiply(L, a, lg_check_array(L, 2));
}

/* The sum over pairs of axes, those that are left of x in front of those of y. */
struct pairing {
    int count;
    int x[RT_MAX_DIMS], y[RT_MAX_DIMS];
};

static int contract_pairs(lua_State *L, const char *what, const struct pairing *p)
{
    const struct rt_array *const both[2] = {lg_check_array(L, 1), lg_check_array(L, 2)};
    struct kn_labels labels[2] = {{.ndim = both[0]->ndim}, {.ndim = both[1]->ndim}}, result = {0};
    if (both[0]->ndim + both[1]->ndim - 2 * p->count > RT_MAX_DIMS)
        return luaL_error(L, "%s: the result has more than %d axes", what, RT_MAX_DIMS);
    for (int i = 0; i < both[0]->ndim; i++) labels[0].label[i] = (uint8_t)i;
    for (int i = 0; i < both[1]->ndim; i++) labels[1].label[i] = (uint8_t)(RT_MAX_DIMS + i);
    for (int i = 0; i < p->count; i++) labels[1].label[p->y[i]] = (uint8_t)p->x[i];
    for (int i = 0; i < both[0]->ndim; i++)
        if (!memchr(labels[1].label, i, (size_t)both[1]->ndim)) result.label[result.ndim++] = (uint8_t)i;
    for (int i = 0; i < both[1]->ndim; i++)
        if (labels[1].label[i] >= RT_MAX_DIMS) result.label[result.ndim++] = labels[1].label[i];
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_contract(what, both, labels, 2, &result, out, lg_error_box(L)));
    return finish(L);
}

static void check_axes(lua_State *L, const char *what, const struct rt_array *both[2])
{
    for (int i = 0; i < 2; i++) {
        both[i] = lg_check_array(L, i + 1);
        if (both[i]->ndim == 0)
            luaL_error(L, "%s: the %s array has no axes; x * y multiplies by a number", what, i ? "second" : "first");
    }
}

static int dot(lua_State *L)
{
    if (lg_out(L, "dot")) return 1;
    const struct rt_array *both[2];
    check_axes(L, "dot", both);
    const int x = both[0]->ndim, y = both[1]->ndim;
    if (x <= 2 && y <= 2) {
        check_two(L);
        return multiply(L, both[0], both[1]);
    }
    struct pairing p = {1, {x - 1}, {y > 1 ? y - 2 : 0}};
    return contract_pairs(L, "dot", &p);
}

static int inner(lua_State *L)
{
    const struct rt_array *both[2];
    check_axes(L, "inner", both);
    struct pairing p = {1, {both[0]->ndim - 1}, {both[1]->ndim - 1}};
    return contract_pairs(L, "inner", &p);
}

static void add_axis(lua_State *L, int idx, int ndim, int *list, int *count)
{
    int axis = lg_check_axis(L, idx, ndim);
    for (int i = 0; i < *count; i++)
        if (list[i] == axis) luaL_error(L, "tensordot: axis %d is named twice", axis + 1);
    list[(*count)++] = axis;
}

/* The axes named by a number or a list of them at the top of the stack, which is popped. */
static int read_axes(lua_State *L, int ndim, int *list)
{
    int count = 0;
    if (!lua_istable(L, -1)) {
        add_axis(L, lua_gettop(L), ndim, list, &count);
    } else {
        for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, -1); i <= n; i++) {
            lua_rawgeti(L, -1, i);
            add_axis(L, lua_gettop(L), ndim, list, &count);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return count;
}

static int tensordot(lua_State *L)
{
    struct pairing p = {0};
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    lua_settop(L, 3);
    if (lua_istable(L, 3)) {
        luaL_argcheck(L, lua_rawlen(L, 3) == 2, 3, "two lists of axes expected, {of x, of y}, or a number of axes");
        lua_rawgeti(L, 3, 1);
        p.count = read_axes(L, a->ndim, p.x);
        lua_rawgeti(L, 3, 2);
        int other = read_axes(L, b->ndim, p.y);
        if (other != p.count) return luaL_error(L, "tensordot: %d axes of x cannot go with %d of y", p.count, other);
    } else {
        lua_Integer n = luaL_optinteger(L, 3, 2);
        if (n < 0 || n > a->ndim || n > b->ndim)
            return luaL_error(L, "tensordot: %I axes cannot be summed over: x has %d and y has %d", (LUAI_UACINT)n,
                              a->ndim, b->ndim);
        for (p.count = 0; p.count < n; p.count++) {
            p.x[p.count] = a->ndim - (int)n + p.count;
            p.y[p.count] = p.count;
        }
    }
    return contract_pairs(L, "tensordot", &p);
}

static int einsum(lua_State *L)
{
    if (lg_out(L, "einsum")) return 1;
    const struct rt_array *arrays[KN_MAX_OPERANDS];
    struct kn_labels labels[KN_MAX_OPERANDS], result;
    const char *text = luaL_checkstring(L, 1);
    int count = lua_gettop(L) - 1;
    luaL_argcheck(L, count >= 1 && count <= KN_MAX_OPERANDS, 2, "1 to 32 arrays expected");
    for (int i = 0; i < count; i++) arrays[i] = lg_check_array(L, i + 2);
    lg_check(L, kn_einsum_parse(text, arrays, count, labels, &result, lg_error_box(L)));
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_contract("einsum", arrays, labels, count, &result, out, lg_error_box(L)));
    return finish(L);
}

/* Raises for an array with fewer axes than its part of the text has letters, one or two. */
static void check_letters(lua_State *L, const char *what, const char *text, const struct rt_array *const both[2])
{
    char shape[256];
    for (int i = 0; i < 2; i++, text = strchr(text, ',') + 1) {
        const size_t letters = strcspn(text + strspn(text, "."), ",-");
        if ((size_t)both[i]->ndim >= letters) continue;
        luaL_error(L, "%s: the %s array has the shape %s, expected a %s or a batch of them", what,
                   i ? "second" : "first", rt_shape_text(both[i]->ndim, both[i]->shape, shape, sizeof shape),
                   letters == 1 ? "vector" : "matrix");
    }
}

/* einsum of the two arrays at idx 1 and 2, of which the first may be conjugated. */
static int product(lua_State *L, const char *what, const char *text, bool conjugates)
{
    const struct rt_array *const both[2] = {lg_check_array(L, 1), lg_check_array(L, 2)};
    check_letters(L, what, text, both);
    struct kn_labels labels[2], result;
    struct rt_error *e = lg_error_box(L);
    struct rt_array *first = lg_new_array(L), *out = lg_new_array(L);
    if (conjugates && rt_is_complex(both[0]->dtype))
        lg_check(L, kn_apply(KN_CONJ, &(struct kn_operand){.array = both[0]}, first, e));
    const struct rt_array *const arrays[2] = {first->storage ? first : both[0], both[1]};
    lg_check(L, kn_einsum_parse(text, arrays, 2, labels, &result, e));
    lg_check(L, kn_contract(what, arrays, labels, 2, &result, out, e));
    return finish(L);
}

static int vecdot(lua_State *L)
{
    if (lg_out(L, "vecdot")) return 1;
    return product(L, "vecdot", "...i,...i->...", true);
}

static int matvec(lua_State *L)
{
    if (lg_out(L, "matvec")) return 1;
    return product(L, "matvec", "...ij,...j->...i", false);
}

static int vecmat(lua_State *L)
{
    if (lg_out(L, "vecmat")) return 1;
    return product(L, "vecmat", "...i,...ij->...j", true);
}

static const struct rt_array *push_flat(lua_State *L, int idx);

/* Pushes the array with all elements along one axis, which floats may lie apart along: their products take them so. */
static void push_line(lua_State *L, int idx)
{
    const struct rt_array *a = lg_check_array(L, idx);
    const char kind = rt_dtypes[a->dtype].kind;
    if (kind == 'f' || kind == 'c') {
        enum rt_status status = rt_array_reshape(a, 1, (int64_t[]){-1}, lg_new_array(L), NULL);
        if (status == RT_OK) return;
        lua_pop(L, 1);
    }
    push_flat(L, idx);
}

static int vdot(lua_State *L)
{
    char x[256], y[256];
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    if (rt_array_size(a) != rt_array_size(b))
        return luaL_error(L, "vdot: x has the shape %s and y %s, expected as many elements",
                          rt_shape_text(a->ndim, a->shape, x, sizeof x), rt_shape_text(b->ndim, b->shape, y, sizeof y));
    lua_settop(L, 2);
    for (int i = 1; i <= 2; i++) {
        push_line(L, i);
        lua_replace(L, i);
    }
    const struct rt_array *x_line = lg_check_array(L, 1), *y_line = lg_check_array(L, 2);
    lg_check(L, kn_vdot(x_line, y_line, lg_new_array(L), lg_error_box(L)));
    return finish(L);
}

/* Pushes the array with all elements along one axis, without a copy where that is possible. */
static const struct rt_array *push_flat(lua_State *L, int idx)
{
    const struct rt_array *a = lg_check_array(L, idx);
    if (a->ndim == 1 && rt_array_contiguous(a)) {
        lua_pushvalue(L, idx);
        return a;
    }
    struct rt_array *whole = lg_new_array(L), *flat = lg_new_array(L);
    lg_check(L, kn_contiguous(a, whole, lg_error_box(L)));
    lg_check(L, rt_array_reshape(whole, 1, (int64_t[]){-1}, flat, lg_error_box(L)));
    lua_remove(L, -2);
    return flat;
}

static int outer(lua_State *L)
{
    if (lg_out(L, "outer")) return 1;
    struct rt_array x = *push_flat(L, 1), y = *push_flat(L, 2); /* borrowed */
    x.ndim = 2;
    x.shape[1] = x.strides[1] = 1;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(KN_MUL, (struct kn_operand[]){{.array = &x}, {.array = &y}}, out, lg_error_box(L)));
    return 1;
}

/* A borrowed view with every axis in two, the elements along the first or the second of them. */
static struct rt_array doubled(const struct rt_array *a, int ndim, bool first)
{
    struct rt_array out = *a;
    out.ndim = 2 * ndim;
    for (int i = 0; i < ndim; i++) {
        int own = i - ndim + a->ndim, here = 2 * i + !first;
        out.shape[2 * i] = out.shape[2 * i + 1] = out.strides[2 * i] = out.strides[2 * i + 1] = 1;
        if (own < 0) continue;
        out.shape[here] = a->shape[own];
        out.strides[here] = a->strides[own];
    }
    return out;
}

#define SHORT_BLOCK 128 /* elements of a row of blocks that are worth making longer */

/* Rows of short blocks as whole rows: of a, elements as often as a row of b is long; of b, rows one after the other.
 * The values at the top are these then, with the last axis in one. */
static void push_rows(lua_State *L, struct rt_array *x, struct rt_array *y)
{
    const int last = x->ndim - 1;
    const int64_t blocks = x->shape[last - 1], length = y->shape[last];
    int64_t shape[RT_MAX_DIMS];
    for (struct rt_array **v = (struct rt_array *[]){x, y, NULL}; *v; v++) {
        struct rt_array wide, *rows = lg_new_array(L), *whole = lg_new_array(L);
        memcpy(shape, (*v)->shape, sizeof shape);
        shape[last - 1] = blocks;
        shape[last] = length;
        lg_check(L, rt_array_broadcast(*v, last + 1, shape, &wide, lg_error_box(L)));
        enum rt_status status = kn_convert(&wide, wide.dtype, rt_array_device(&wide), rows, lg_error_box(L));
        rt_array_release(&wide);
        lg_check(L, status);
        shape[last - 1] = blocks * length;
        lg_check(L, rt_array_reshape(rows, last, shape, whole, lg_error_box(L)));
        **v = *whole;
    }
}

static int kron(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1), *b = lg_check_array(L, 2);
    int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    int64_t shape[RT_MAX_DIMS];
    if (ndim > RT_MAX_DIMS / 2)
        return luaL_error(L, "kron takes arrays of at most %d axes, not %d", RT_MAX_DIMS / 2, ndim);
    struct rt_array x = doubled(a, ndim, true), y = doubled(b, ndim, false);
    for (int i = 0; i < ndim; i++) shape[i] = x.shape[2 * i] * y.shape[2 * i + 1];
    bool both = ndim > 1 && y.shape[2 * ndim - 3] > 1 && x.shape[2 * ndim - 4] > 1; /* used more often than made */
    if (both && y.shape[2 * ndim - 1] < SHORT_BLOCK && x.shape[2 * ndim - 2] > 1) push_rows(L, &x, &y);
    struct rt_array *product = lg_new_array(L), *out = lg_new_array(L);
    lg_check(L, kn_apply(KN_MUL, (struct kn_operand[]){{.array = &x}, {.array = &y}}, product, lg_error_box(L)));
    lg_check(L, rt_array_reshape(product, ndim, shape, out, lg_error_box(L)));
    return finish(L);
}

const struct lg_function lg_contract_functions[] = {
    {"matmul", matmul, "x:matmul(y)   gpu.matmul(x, y)",
     "The matrix product.\n"
     "Two matrices give a matrix, a matrix and a vector a vector, two vectors a Lua number. The inner sizes must agree. "
     "Of arrays with more axes the last two are the matrices; those in front of them broadcast. " LG_OUT_DOC,
     "local x = gpu.array({{1, 2}, {3, 4}})\nassert(x:matmul(gpu.eye(2)):equal(x))\n"
     "assert(gpu.matmul(x, gpu.array({1, 1}))[2] == 7)\n"
     "assert(gpu.matmul(gpu.ones(5, 2, 3), gpu.ones(3, 4)).shape[1] == 5)"},
    {"dot", dot, "x:dot(y)   gpu.dot(x, y)",
     "The sum over the last axis of x and the last but one of y.\n"
     "Of vectors it is a Lua number, of matrices the matrix product. On the host products with vectors are added in float64, "
     "in many partial sums: of n products no sum has more than 512 + log2(n) roundings one after the other. Of float32, "
     "up to eight products are added in float32 before. " LG_OUT_DOC,
     "assert(gpu.array({1, 2}):dot(gpu.array({3, 4})) == 11)"},
    {"inner", inner, "x:inner(y)   gpu.inner(x, y)",
     "The sum over the last axes of x and y.\n"
     "The result has the other axes of x, then those of y; of vectors it is a Lua number.",
     "local x = gpu.array({{1, 2}, {3, 4}})\nassert(gpu.inner(x, x):equal(gpu.matmul(x, x.T)))"},
    {"vecdot", vecdot, "x:vecdot(y)   gpu.vecdot(x, y)",
     "The sum over the last axis of x times y; the other axes broadcast. Complex numbers of x are conjugated.\n"
     "Of two vectors it is a Lua number. " LG_OUT_DOC,
     "local x = gpu.array({{1, 2}, {3, 4}})\nassert(x:vecdot(gpu.array({1, 10})):equal(gpu.array({21, 43})))"},
    {"vdot", vdot, "x:vdot(y)   gpu.vdot(x, y)",
     "The sum of all elements of x times those of y, in row-major order, as a Lua number.\n"
     "They have as many elements, in any shapes. Complex numbers of x are conjugated.",
     "assert(gpu.array({{1, 2}, {3, 4}}):vdot(gpu.array({1, 10, 100, 1000})) == 4321)"},
    {"matvec", matvec, "x:matvec(y)   gpu.matvec(x, y)",
     "Matrices, the last two axes of x, times vectors, the last axis of y; the other axes broadcast.\n" LG_OUT_DOC,
     "assert(gpu.ones(5, 2, 3):matvec(gpu.ones(5, 3)):equal(gpu.full({5, 2}, 3)))"},
    {"vecmat", vecmat, "x:vecmat(y)   gpu.vecmat(x, y)",
     "Vectors, the last axis of x, times matrices, the last two axes of y; the other axes broadcast. Complex numbers of "
     "x are conjugated. " LG_OUT_DOC,
     "assert(gpu.ones(5, 2):vecmat(gpu.ones(2, 3)):equal(gpu.full({5, 3}, 2)))"},
    {"outer", outer, "x:outer(y)   gpu.outer(x, y)",
     "Every element of x times every element of y.\n"
     "The result is a matrix, with the elements of x along the first axis and those of y along the second. " LG_OUT_DOC,
     "assert(gpu.array({1, 2}):outer(gpu.array({3, 4, 5}))[{2, 3}] == 10)"},
    {"kron", kron, "x:kron(y)   gpu.kron(x, y)",
     "The Kronecker product: every element of x times the whole of y, as blocks.\n"
     "Sizes multiply axis by axis; missing axes in front count as 1.",
     "local x = gpu.eye(2):kron(gpu.ones(3, 3))\nassert(x.shape[1] == 6 and x:sum() == 18)"},
    {"tensordot", tensordot, "x:tensordot(y [, axes])   gpu.tensordot(x, y [, axes])",
     "The sum over pairs of axes of x and y.\n"
     "axes is how many of the last axes of x go with as many of the first of y (2 unless told otherwise), or two lists "
     "{axes of x, axes of y}. The result has the other axes of x, then those of y.",
     "local x, y = gpu.ones(2, 3, 4), gpu.ones(4, 3, 5)\n"
     "assert(x:tensordot(y, {{2, 3}, {2, 1}})[{2, 5}] == 12)"},
    {0}};

const struct lg_function lg_einsum_functions[] = {
    {"einsum", einsum, "gpu.einsum(text, x...)",
     "Products and sums over axes named by letters, as NumPy's einsum.\n"
     "The text has the axes of each array and, behind an arrow, those of the result; what is not there is summed over. A "
     "letter twice in one array takes the diagonal; '...' stands for any further axes, which broadcast. Without an arrow "
     "the result has the letters that stand once, in alphabetical order. Of several arrays the pair whose product is "
     "smallest comes first, and products with sums are matrix products.",
     "local a, b = gpu.array({{1, 2}, {3, 4}}), gpu.eye(2)\n"
     "assert(gpu.einsum('ij,jk->ik', a, b):equal(a))\n"
     "assert(gpu.einsum('ii', a) == 5 and gpu.einsum('ij->j', a)[2] == 6)\n"
     "assert(gpu.einsum('...i,...i->...', a, a)[2] == 25)"},
    {0}};
