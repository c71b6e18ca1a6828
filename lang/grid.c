/* Arrays made from where their elements are: triangles, diagonals, grids of coordinates, functions of them. */
#include <string.h>
#include "kernels/rearrange.h"
#include "lang/closest.h"
#include "lang/index.h"

/* Pushes first, first + 1, ... as a column, of a number for each row, or as a row. */
static struct rt_array *push_numbers(lua_State *L, struct rt_device *d, int64_t count, int64_t first, bool rows)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    struct kn_operand start = {.i = first}, step = {.i = 1};
    lg_check(L, rt_array_new(d, RT_INT64, 2, (int64_t[]){rows ? count : 1, rows ? 1 : count}, out, e));
    lg_check(L, kn_sequence(out, &start, &step, e));
    return out;
}

/* Pushes where a matrix is at or below its k-th diagonal: row + k >= column. */
static struct rt_array *push_lower(lua_State *L, struct rt_device *d, int64_t rows, int64_t columns, int64_t k)
{
    int64_t most = rows > columns ? rows : columns;
    k = k > most ? most : k < -most ? -most : k;
    struct kn_operand args[2] = {{.array = push_numbers(L, d, rows, k, true)},
                                 {.array = push_numbers(L, d, columns, 0, false)}};
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_apply(KN_GE, args, out, lg_error_box(L)));
    return out;
}

static int tri(lua_State *L)
{
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    lua_Integer rows = luaL_checkinteger(L, 1), columns = rows;
    int numbers = lg_last_number(L, 2, 3);
    if (numbers > 1) columns = luaL_optinteger(L, 2, rows);
    lua_Integer k = numbers > 2 ? luaL_checkinteger(L, 3) : 0;
    luaL_argcheck(L, rows >= 0 && columns >= 0, rows < 0 ? 1 : 2, "a size is negative");
    lg_check_placement(L, numbers + 1, &p);
    const struct rt_array *lower = push_lower(L, p.device, rows, columns, k);
    struct rt_array *out = lg_push_empty(L, &p, 2, lower->shape);
    lg_check(L, kn_copy(out, lower, lg_error_box(L)));
    return 1;
}

/* x where `lower` says so (or does not), else 0. */
static int triangle(lua_State *L, bool upper)
{
    const struct rt_array *a = lg_check_array(L, 1);
    lua_Integer k = luaL_optinteger(L, 2, 0);
    if (a->ndim < 2) return luaL_error(L, "a triangle needs two axes; the array has %d", a->ndim);
    if (!kn_runs_generated(rt_array_device(a))) {
        struct rt_array *copy = lg_new_array(L);
        lg_check(L, kn_convert(a, a->dtype, rt_array_device(a), copy, lg_error_box(L)));
        lg_check(L, kn_clear_triangle(copy, k, upper, lg_error_box(L)));
        return 1;
    }
    if (upper && k == LUA_MININTEGER) k++;
    const struct rt_array *lower =
        push_lower(L, rt_array_device(a), a->shape[a->ndim - 2], a->shape[a->ndim - 1], upper ? k - 1 : k);
    struct lg_placement p = {a->dtype, rt_array_device(a)};
    struct rt_array *out = lg_push_empty(L, &p, a->ndim, a->shape);
    struct kn_operand zero = {.i = 0}, same = {.array = a};
    struct kn_operand args[3] = {{.array = lower}, upper ? zero : same, upper ? same : zero};
    lg_check(L, kn_apply(KN_WHERE, args, out, lg_error_box(L)));
    return 1;
}

static int tril(lua_State *L)
{
    return triangle(L, false);
}
static int triu(lua_State *L)
{
    return triangle(L, true);
}

/* gpu.triu_indices(rows [, k [, columns]]): of x its last two axes. */
static int triangle_indices(lua_State *L, bool upper)
{
    const struct rt_array *a = lg_test_array(L, 1) ? lg_check_form(L, 1) : NULL;
    if (a && a->ndim < 2) return luaL_error(L, "a triangle needs two axes; the array has %d", a->ndim);
    lua_Integer rows = a ? a->shape[a->ndim - 2] : luaL_checkinteger(L, 1), k = luaL_optinteger(L, 2, 0);
    lua_Integer columns = a ? a->shape[a->ndim - 1] : luaL_optinteger(L, 3, rows);
    struct rt_device *d = a ? rt_array_device(a) : lg_check_device(L, 4);
    luaL_argcheck(L, rows >= 0 && columns >= 0, rows < 0 ? 1 : 3, "a size is negative");
    if (a && !lua_isnoneornil(L, 3)) return luaL_argerror(L, 3, "the columns are those of the array");
    if (upper && k == LUA_MININTEGER) k++;
    const struct rt_array *mask = push_lower(L, d, rows, columns, upper ? k - 1 : k);
    struct rt_array *upwards = lg_new_array(L);
    if (upper) lg_check(L, kn_apply(KN_LOGICAL_NOT, &(struct kn_operand){.array = mask}, upwards, lg_error_box(L)));
    return lg_push_nonzero(L, upper ? upwards : mask);
}
static int tril_indices(lua_State *L)
{
    return triangle_indices(L, false);
}
static int triu_indices(lua_State *L)
{
    return triangle_indices(L, true);
}

/* Writes the value at 2 to the elements of `a` whose indices are all the same, or with `wrap` to those of a tall matrix
 * that the diagonal goes on to after each square. */
static void fill_diagonal_of(lua_State *L, const struct rt_array *a)
{
    bool wrap = lg_check_flag(L, 3, "wrap");
    struct rt_array line = *a; /* borrowed */
    int64_t n = a->ndim > 0 ? a->shape[0] : 0, stride = 0;
    if (a->ndim < 2) luaL_error(L, "fill_diagonal needs two axes or more; the array has %d", a->ndim);
    for (int i = 0; i < a->ndim; i++) {
        if (a->ndim > 2 && a->shape[i] != n) luaL_error(L, "fill_diagonal: more than two axes need to have one size");
        n = a->shape[i] < n ? a->shape[i] : n;
        stride += a->strides[i];
    }
    const struct rt_array *value = lg_push_apart(L, lg_push_value(L, 2, a), a);
    if (value->ndim > 1)
        luaL_error(L, "fill_diagonal: the value has %d axes, expected a number or one axis", value->ndim);
    const int64_t rows = a->shape[0], turn = a->shape[1] + 1, between = wrap && a->ndim == 2 ? turn : rows;
    int64_t elements = 0;
    for (int64_t at = 0; at < rows && n > 0; at += between) elements += rows - at < n ? rows - at : n;
    if (value->ndim && value->shape[0] < elements)
        luaL_error(L, "fill_diagonal: there are %I values, fewer than the diagonal's %I elements",
                   (LUAI_UACINT)value->shape[0], (LUAI_UACINT)elements);
    struct rt_array part = *value;
    for (int64_t at = 0, done = 0; at < rows && n > 0; at += between) {
        line.ndim = 1;
        line.offset = a->offset + at * a->strides[0];
        line.strides[0] = stride;
        line.shape[0] = rows - at < n ? rows - at : n;
        if (value->ndim) {
            part.shape[0] = line.shape[0];
            part.offset = value->offset + done * value->strides[0];
        }
        lg_check(L, kn_copy(&line, &part, lg_error_box(L)));
        done += line.shape[0];
    }
}
static int fill_diagonal_in_place(lua_State *L)
{
    luaL_checkany(L, 2);
    lua_settop(L, 3);
    fill_diagonal_of(L, lg_check_target(L, 1));
    lua_settop(L, 1);
    return 1;
}
static int fill_diagonal(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    luaL_checkany(L, 2);
    lua_settop(L, 3);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(a, a->dtype, rt_array_device(a), out, lg_error_box(L)));
    fill_diagonal_of(L, out);
    lua_settop(L, 4);
    return 1;
}

static int diag(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *a = lg_check_elements(L, 1);
    lua_Integer k = luaL_optinteger(L, 2, 0);
    if (a->ndim == 2) {
        struct rt_array view = *a; /* borrowed */
        lg_diagonal(&view, k, 0, 1);
        lg_push_shared(L, &view);
        return 1;
    }
    if (a->ndim != 1) return luaL_error(L, "gpu.diag takes an array of one or two axes; this one has %d", a->ndim);
    if (k > INT32_MAX || k < -INT32_MAX) return luaL_error(L, "the diagonal %I is too far out", k);
    int64_t size = a->shape[0] + (k < 0 ? -k : k);
    struct lg_placement p = {a->dtype, rt_array_device(a)};
    struct rt_array *out = lg_push_empty(L, &p, 2, (int64_t[]){size, size}), view = *out;
    lg_check(L, kn_fill(out, &(struct kn_operand){.i = 0}, e));
    lg_diagonal(&view, k, 0, 1);
    lg_check(L, kn_copy(&view, a, e));
    return 1;
}

/* Puts what {indexing = order} says in the place of the table at idx, the top; an empty one is a list of no numbers. */
static void take_indexing(lua_State *L, int idx)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (strcmp(lg_option_name(L), "indexing") != 0)
            luaL_error(L, "meshgrid: there is no option '%s'; there is indexing", lua_tostring(L, -2));
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "meshgrid: indexing is \"xy\" or \"ij\", not %s", lg_type_name(L, -1));
    }
    if (lua_getfield(L, idx, "indexing") == LUA_TNIL)
        lua_pop(L, 1);
    else
        lua_replace(L, idx);
}

static int meshgrid(lua_State *L)
{
    static const char *const orders[] = {"xy", "ij", NULL};
    int n = lua_gettop(L), order = 0;
    struct rt_error *e = lg_error_box(L);
    int64_t shape[RT_MAX_DIMS];
    if (n > 0 && lua_istable(L, n) && lua_rawlen(L, n) == 0) take_indexing(L, n);
    if (n > 0 && lua_type(L, n) == LUA_TSTRING) order = lg_check_option(L, n--, NULL, orders);
    luaL_argcheck(L, n <= RT_MAX_DIMS, RT_MAX_DIMS + 1, "more arrays than axes");
    luaL_checkstack(L, n + 4, NULL);
    for (int i = 0; i < n; i++) {
        const struct rt_array *a = lg_check_elements(L, i + 1);
        luaL_argcheck(L, a->ndim == 1, i + 1, "expected an array of one axis, or a list of numbers");
        shape[order == 0 && i < 2 && n > 1 ? 1 - i : i] = a->shape[0];
    }
    for (int i = 0; i < n; i++) {
        const struct rt_array *a = lg_check_array(L, i + 1);
        struct lg_placement p = {a->dtype, rt_array_device(a)};
        int axis = order == 0 && i < 2 && n > 1 ? 1 - i : i;
        struct rt_array line = *a, *out = lg_push_empty(L, &p, n, shape); /* the line is borrowed */
        line.ndim = n;
        for (int k = 0; k < n; k++) {
            line.shape[k] = shape[k];
            line.strides[k] = k == axis ? a->strides[0] : 0;
        }
        lg_check(L, kn_copy(out, &line, e));
    }
    return n;
}

static int fromfunction(lua_State *L)
{
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    struct rt_error *e = lg_error_box(L);
    int64_t shape[RT_MAX_DIMS];
    int next;
    if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL) luaL_checktype(L, 1, LUA_TFUNCTION);
    int ndim = lg_check_shape(L, 2, false, shape, &next);
    if (lua_istable(L, 2)) lg_placement_fields(L, 2, &p);
    lg_check_placement(L, next, &p);
    luaL_checkstack(L, ndim + 8, NULL);
    lua_pushvalue(L, 1);
    int call = lua_gettop(L);
    for (int i = 0; i < ndim; i++) {
        struct kn_operand one = {.i = 1};
        struct rt_array *line = lg_push_empty(L, &p, 1, &shape[i]), *out = lg_new_array(L);
        lg_check(L, kn_sequence(line, &one, &one, e));
        int64_t stride = line->strides[0];
        rt_array_share(line, out);
        out->ndim = ndim;
        for (int k = 0; k < ndim; k++) {
            out->shape[k] = shape[k];
            out->strides[k] = k == i ? stride : 0;
        }
        lua_remove(L, -2);
    }
    lua_call(L, ndim, 1);
    if (!lg_is_scalar(L, call)) return 1;
    struct kn_operand number;
    lg_check_operand(L, call, &number);
    lg_check(L, kn_fill(lg_push_empty(L, &p, ndim, shape), &number, e));
    return 1;
}

const struct lg_function lg_diagonal_functions[] = {
    {"diag", diag, "gpu.diag(x [, k])   x:diag([k])",
     "Of one axis, the matrix with x on its k-th diagonal and zeros elsewhere; of two, the k-th diagonal, a view.\n"
     "x is an array or a table. "
     "k counts from the main diagonal, 0, upwards; negative ones are below.",
     "local x = gpu.diag(gpu.array({1, 2}), 1)\nassert(x.shape[1] == 3 and x[{2, 3}] == 2 and x:sum() == 3)\n"
     "assert(gpu.eye(3):diag():sum() == 3)"},
    {"tril", tril, "x:tril([k])   gpu.tril(x, k)",
     "A copy with zeros above the k-th diagonal of the last two axes; 0 is the main one, negative ones are below.",
     "assert(gpu.ones(3, 3):tril():sum() == 6 and gpu.ones(3, 3):tril(-1):sum() == 3)"},
    {"triu", triu, "x:triu([k])   gpu.triu(x, k)",
     "A copy with zeros below the k-th diagonal of the last two axes; 0 is the main one, negative ones are below.",
     "assert(gpu.ones(3, 3):triu():sum() == 6 and gpu.ones(3, 3):triu(1):sum() == 3)"},
    {0}};

const struct lg_function lg_diagonal_methods[] = {
    {"fill_diagonal", fill_diagonal, "x:fill_diagonal(value [, wrap])",
     "x:fill_diagonal_, done to a copy of x, which is returned.",
     "assert(gpu.zeros(3, 3):fill_diagonal(5):sum() == 15)"},
    {"fill_diagonal_", fill_diagonal_in_place, "x:fill_diagonal_(value [, wrap])",
     "Writes a number, or the elements of a list or array of one axis, to the main diagonal. Returns x.\n"
     "Of more than two axes, all of one size, these are the elements whose indices are all the same. With wrap = true the "
     "diagonal of a tall matrix goes on below each square, a row further down.",
     "local x = gpu.zeros(3, 3)\nx:fill_diagonal_({1, 2, 3})\nassert(x[{2, 2}] == 2 and x:sum() == 6)"},
    {0}};

const struct lg_function lg_grid_functions[] = {
    {"tril_indices", tril_indices, "gpu.tril_indices(rows [, k [, columns [, device]]])",
     "The rows and the columns, as two int64 arrays, of the elements at and below the k-th diagonal of a matrix.\n"
     "0 is the main diagonal, negative ones are below; there are as many columns as rows unless told otherwise. In place "
     "of the rows an array stands for the sizes of its last two axes.",
     "local i, j = gpu.tril_indices(3)\nassert(i.size == 6 and i:ge(j):all())\n"
     "assert(gpu.ones(3, 3)[{gpu.tril_indices(3, -1)}]:sum() == 3)"},
    {"triu_indices", triu_indices, "gpu.triu_indices(rows [, k [, columns [, device]]])",
     "The rows and the columns, as two int64 arrays, of the elements at and above the k-th diagonal of a matrix.\n"
     "As for gpu.tril_indices.",
     "local i, j = gpu.triu_indices(3, 1)\nassert(i.size == 3 and i:lt(j):all())"},
    {"tri", tri, "gpu.tri(rows [, columns [, k]] [, dtype] [, device])",
     "A matrix with ones at and below the k-th diagonal and zeros above it.\n"
     "It is square unless columns are told; k is 0, the main diagonal, unless told otherwise.",
     "assert(gpu.tri(3):sum() == 6 and gpu.tri(2, 3, 1):sum() == 5)"},
    {"meshgrid", meshgrid, "gpu.meshgrid(x, y, ... [, \"xy\" | \"ij\"])",
     "The coordinates of a grid from those of its axes, arrays or tables: as many arrays as were given, each of the "
     "grid's shape.\n"
     "With \"xy\", as in NumPy unless told otherwise, x runs along the second axis and y along the first; with \"ij\" each "
     "array runs along its own axis.",
     "local x, y = gpu.meshgrid(gpu.range(3), gpu.range(2))\nassert(x.shape[1] == 2 and x[{1, 3}] == 3 and y[{2, 1}] == 2)"},
    {"fromfunction", fromfunction, "gpu.fromfunction(f, shape... [, dtype] [, device])",
     "What f gives for the indices of all elements: it is called once, with an array of indices for each axis.\n"
     "The indices count from 1, have the whole shape, and are float32 unless told otherwise.",
     "local x = gpu.fromfunction(function(i, j) return 10 * i + j end, 2, 3)\nassert(x[{2, 3}] == 23)"},
    {0}};
