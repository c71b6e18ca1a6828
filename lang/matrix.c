/* Functions of matrices that are put together from products and solutions: exponentials, products of many. */
#include <math.h>
#include "lang/linalg.h"
#include "lang/steps.h"

/* ---- expm ---- */

/* Pushes the sum of the matrices at the stack indices, each times its number; an index of 0 is the identity. */
static int push_sum(lua_State *L, int eye, int count, const int *matrices, const double *numbers)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        int term = lg_step(L, "mul", "vn", matrices[i] ? matrices[i] : eye, numbers[i]);
        sum = sum ? lg_step(L, "add", "vv", sum, term) : term;
    }
    return sum;
}

#define PADE_NORM 5.371920351148152 /* the norm up to which push_pade is exact to a double's digits */

/* Pushes exp(x) by Padé's approximation of degree 13 (Higham, 2005), its powers of x put together from four of them. */
static int push_pade(lua_State *L, int x, int eye)
{
    static const double of_even[] = {
        182, 960960, 1323241920, 670442572800, 129060195264000, 7771770303897600, 64764752532480000};
    static const double of_odd[] = {
        1, 16380, 40840800, 33522128640, 10559470521600, 1187353796428800, 32382376266240000};
    const double *const numbers[] = {of_even, of_odd};
    int two = lg_step(L, "matmul", "vv", x, x), four = lg_step(L, "matmul", "vv", two, two);
    int six = lg_step(L, "matmul", "vv", four, two), powers[] = {six, four, two, 0}, sums[2];
    for (int k = 0; k < 2; k++) {
        int high = lg_step(L, "matmul", "vv", six, push_sum(L, eye, 3, powers, numbers[k]));
        sums[k] = lg_step(L, "add", "vv", high, push_sum(L, eye, 4, powers, numbers[k] + 3));
    }
    int even = sums[0], odd = lg_step(L, "matmul", "vv", x, sums[1]);
    int below = lg_step(L, "sub", "vv", even, odd), above = lg_step(L, "add", "vv", even, odd);
    return lg_step(L, "gpu.linalg.solve", "vv", below, above);
}

/* Of a part of the matrix, 2^-s of it, by approximation, and then s squares. */
static int expm(lua_State *L)
{
    const struct rt_array *a = lg_check_matrices(L, "expm");
    char text[256];
    int64_t n = a->shape[a->ndim - 1];
    if (a->shape[a->ndim - 2] != n)
        return luaL_error(L, "expm: the matrix must be square, the shape is %s",
                          rt_shape_text(a->ndim, a->shape, text, sizeof text));
    enum rt_dtype t = lg_floating(a);
    bool narrow = t == RT_FLOAT16 || t == RT_BFLOAT16;
    int x = lg_step(L, "to", "vs", 1, rt_dtypes[narrow ? RT_FLOAT32 : t].name);
    if (rt_array_size(a) == 0) {
        lg_step(L, "to", "vs", x, rt_dtypes[t].name);
        return 1;
    }
    lg_step(L, "max", "v", lg_step(L, "sum", "vi", lg_step(L, "abs", "v", x), (int64_t)-2));
    double norm = lua_tonumber(L, -1);
    if (!isfinite(norm)) return luaL_error(L, "expm: the matrix has elements that are not finite, or too large");
    int squares = norm > PADE_NORM ? (int)ceil(log2(norm / PADE_NORM)) : 0;
    x = lg_step(L, "mul", "vn", x, ldexp(1, -squares));
    const char *dtype = rt_dtypes[lg_form(L, x)->dtype].name, *device = rt_array_device(a)->name;
    int out = push_pade(L, x, lg_step(L, "gpu.eye", "iiiss", n, n, (int64_t)0, dtype, device));
    for (; squares > 0; squares--) {
        lg_step(L, "matmul", "vv", out, out);
        lua_replace(L, out);
    }
    lua_settop(L, out);
    if (lg_form(L, out)->dtype != t) lg_step(L, "to", "vs", out, rt_dtypes[t].name);
    return 1;
}

/* ---- products of many ---- */

enum { MOST_MATRICES = 64 };

/* Pushes the product of the matrices from i to j of the list at `list`, in the order that `split` says. */
static int push_chain(lua_State *L, int list, const int (*split)[MOST_MATRICES], int i, int j)
{
    luaL_checkstack(L, 8, NULL);
    if (i == j) {
        lua_rawgeti(L, list, i + 1);
        return lua_gettop(L);
    }
    int left = push_chain(L, list, split, i, split[i][j]), right = push_chain(L, list, split, split[i][j] + 1, j);
    lg_step(L, "gpu.matmul", "vv", left, right);
    lua_replace(L, left);
    lua_settop(L, left);
    return left;
}

/* Which order takes the fewest multiplications, by those of all shorter chains. */
static void find_order(int count, const double *sizes, int (*split)[MOST_MATRICES])
{
    double cost[MOST_MATRICES][MOST_MATRICES] = {{0}};
    for (int length = 1; length < count; length++)
        for (int i = 0; i + length < count; i++) {
            int j = i + length;
            cost[i][j] = INFINITY;
            for (int k = i; k < j; k++) {
                double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
                if (c >= cost[i][j]) continue;
                cost[i][j] = c;
                split[i][j] = k;
            }
        }
}

static int multi_dot(lua_State *L)
{
    double sizes[MOST_MATRICES + 1];
    int split[MOST_MATRICES][MOST_MATRICES] = {{0}};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    int count = (int)lua_rawlen(L, 1);
    if (count < 2 || count > MOST_MATRICES)
        return luaL_error(L, "multi_dot: a list of 2 to %d matrices expected, got %d", MOST_MATRICES, count);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 1, i + 1);
        if (!lg_test_array(L, -1))
            return luaL_error(L, "multi_dot: item %d of the list is %s, expected a matrix", i + 1, lg_type_name(L, -1));
        const struct rt_array *a = lg_check_form(L, lua_gettop(L));
        bool edge = i == 0 || i == count - 1;
        if (a->ndim != 2 && !(edge && a->ndim == 1))
            return luaL_error(L, "multi_dot: item %d has %d axes, expected 2%s", i + 1, a->ndim,
                              edge ? ", or 1 for a vector" : "");
        double rows = a->ndim == 2 ? (double)a->shape[0] : i == 0 ? 1 : (double)a->shape[0];
        double columns = a->ndim == 2 ? (double)a->shape[1] : i == 0 ? (double)a->shape[0] : 1;
        if (i > 0 && rows != sizes[i])
            return luaL_error(L, "multi_dot: item %d has %d rows, and the one before it %d columns", i + 1, (int)rows,
                              (int)sizes[i]);
        sizes[i] = rows;
        sizes[i + 1] = columns;
        lua_pop(L, 1);
    }
    find_order(count, sizes, split);
    push_chain(L, 1, (const int(*)[MOST_MATRICES])split, 0, count - 1);
    return 1;
}

const struct lg_function lg_matrix_functions[] = {
    {"expm", expm, "gpu.linalg.expm(a)",
     "The exponential of a square matrix, the sum of its powers divided by factorials; x:exp() is that of each element.\n"
     "It solves x' = a x: x(t) = expm(a t) x(0)." LG_BATCH_DOC,
     "local turn = gpu.linalg.expm(gpu.array({{0, -math.pi / 2}, {math.pi / 2, 0}}))\n"
     "assert(turn:allclose(gpu.array({{0, -1}, {1, 0}}), 0, 1e-5))"},
    {"multi_dot", multi_dot, "gpu.linalg.multi_dot(list)",
     "The product of 2 to 64 matrices, in the order that takes the fewest multiplications.\n"
     "The first and the last may be vectors.",
     "local a, b, c = gpu.ones(9, 2), gpu.ones(2, 9), gpu.ones(9)\nassert(gpu.linalg.multi_dot({a, b, c}):sum() == 162)"},
    {0}};
