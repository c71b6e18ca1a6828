/* Sparse matrices put together from others and taken apart: identities and diagonals, Kronecker products, products of
 * elements. They go by the rows and columns of the stored elements, in steps that run where the matrix is.
 */
#include "lang/sparse.h"
#include "lang/steps.h"

/* Pushes the sparse matrix of so many rows and columns from elements and places at these stack indices. */
static int push_made(lua_State *L, int data, int rows, int columns, int64_t height, int64_t width)
{
    lg_push_shape(L, 2, (int64_t[]){height, width});
    return lg_step(L, "gpu.sparse.coo", "vvvv", data, rows, columns, lua_gettop(L));
}

/* Pushes the elements of the array at x that the mask picks, less `by`. */
static int push_picked(lua_State *L, int x, int mask, int64_t by)
{
    int picked = lg_step(L, "masked_select", "vv", x, mask);
    return by ? lg_step(L, "sub", "vi", picked, by) : picked;
}

/* ---- diagonals ---- */

static int eye(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    struct lg_placement p = {RT_FLOAT32, NULL};
    lg_check_placement(L, 2, &p);
    luaL_argcheck(L, n >= 0, 1, "the number of rows is negative");
    int places = lg_step(L, "gpu.range", "iiss", (int64_t)1, (int64_t)n, "int64", p.device->name);
    lg_push_shape(L, 1, (int64_t[]){n});
    int ones = lg_step(L, "gpu.ones", "vss", lua_gettop(L), rt_dtypes[p.dtype].name, p.device->name);
    push_made(L, ones, places, places, n, n);
    return 1;
}

/* What one diagonal has: an array of its elements, or a number for all of them. */
static int64_t check_diagonal(lua_State *L, int idx, lua_Integer i, lua_Integer *offset)
{
    int whole;
    lua_rawgeti(L, 2, i);
    *offset = lua_tointegerx(L, -1, &whole);
    if (!whole || *offset > INT32_MAX || *offset < -INT32_MAX)
        luaL_error(L, "diags: offset %I is %s, expected an integer", (LUAI_UACINT)i, lg_type_name(L, -1));
    lua_pop(L, 1);
    if (lua_type(L, idx) == LUA_TNUMBER) return -1;
    const struct rt_array *a = lg_step_array(L, idx, NULL, RT_DTYPE_COUNT);
    if (a->ndim != 1) luaL_error(L, "diags: diagonal %I has %d axes, expected 1", (LUAI_UACINT)i, a->ndim);
    return a->shape[0];
}

/* The shape at argument 3 or, without one, the square that the first diagonal of elements fills. */
static void diagonal_shape(lua_State *L, lua_Integer count, int64_t shape[2])
{
    int64_t sizes[RT_MAX_DIMS];
    int next;
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        if (lg_check_shape(L, 3, false, sizes, &next) != 2)
            luaL_argerror(L, 3, "a sparse matrix has two sizes, {rows, columns}");
        shape[0] = sizes[0];
        shape[1] = sizes[1];
        return;
    }
    for (lua_Integer i = 1; i <= count; i++) {
        lua_Integer offset;
        lua_rawgeti(L, 1, i);
        int64_t n = check_diagonal(L, lua_gettop(L), i, &offset);
        lua_pop(L, 1);
        if (n < 0) continue;
        shape[0] = shape[1] = n + (offset < 0 ? -offset : offset);
        return;
    }
    luaL_error(L, "diags: numbers alone tell no size; give the shape, {rows, columns}, as argument 3");
}

/* How long a diagonal is in so many rows and columns behind its beginning. */
static int64_t room_for(int64_t rows, int64_t columns)
{
    int64_t room = rows < columns ? rows : columns;
    return room > 0 ? room : 0;
}

/* Pushes places of one diagonal from `start` on. */
static int push_run(lua_State *L, int64_t start, int64_t count, const char *device)
{
    return lg_step(L, "gpu.range", "iiss", start, start + count - 1, "int64", device);
}

/* Replaces the value at idx by a list of it alone. */
static void make_list(lua_State *L, int idx)
{
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, idx);
    lua_rawseti(L, -2, 1);
    lua_replace(L, idx);
}

/* Appends the i-th diagonal, from the lists at 1 and 2, to the lists of elements, rows and columns at 4, 5 and 6. */
static void add_diagonal(lua_State *L, lua_Integer i, const int64_t shape[2], const struct lg_placement *p)
{
    const char *device = p->device->name, *t = rt_dtypes[p->dtype == RT_DTYPE_COUNT ? RT_FLOAT32 : p->dtype].name;
    lua_Integer offset;
    lua_rawgeti(L, 1, i);
    int values = lua_gettop(L);
    int64_t n = check_diagonal(L, values, i, &offset);
    int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
    int64_t room = room_for(shape[0] - row, shape[1] - column);
    if (n >= 0 && n != room)
        luaL_error(L, "diags: diagonal %I has %I elements, and there is room for %I at offset %I", (LUAI_UACINT)i,
                   (LUAI_UACINT)n, (LUAI_UACINT)room, (LUAI_UACINT)offset);
    if (n < 0) {
        lg_push_shape(L, 1, &room);
        lg_step(L, "gpu.full", "vvss", lua_gettop(L), values, t, device);
    } else {
        const char *own = rt_dtypes[lg_form(L, values)->dtype].name;
        lg_step(L, "to", "vss", values, p->dtype == RT_DTYPE_COUNT ? own : t, device);
    }
    lua_rawseti(L, 4, i);
    push_run(L, row + 1, room, device);
    lua_rawseti(L, 5, i);
    push_run(L, column + 1, room, device);
    lua_rawseti(L, 6, i);
    lua_settop(L, 6);
}

static int diags(lua_State *L)
{
    int64_t shape[2] = {0};
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    if (lua_isinteger(L, 2)) { /* one offset, and so one diagonal */
        make_list(L, 1);
        make_list(L, 2);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    lg_check_placement(L, 4, &p);
    lua_settop(L, 3);
    lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
    if (count < 1 || count != (lua_Integer)lua_rawlen(L, 1))
        return luaL_error(L, "diags: there are %d diagonals and %d offsets, expected as many", (int)lua_rawlen(L, 1),
                          (int)count);
    diagonal_shape(L, count, shape);
    for (int i = 0; i < 3; i++) lua_createtable(L, (int)count, 0);
    for (lua_Integer i = 1; i <= count; i++) add_diagonal(L, i, shape, &p);
    int parts[3];
    for (int i = 0; i < 3; i++) parts[i] = lg_step(L, "gpu.concatenate", "v", 4 + i);
    push_made(L, parts[0], parts[1], parts[2], shape[0], shape[1]);
    return 1;
}

static int diagonal(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    lua_Integer k = luaL_optinteger(L, 2, 0);
    int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
    int64_t room = room_for(a->rows - row, a->columns - column);
    lua_settop(L, 1);
    lg_push_coo(L, a); /* 2, 3, 4 */
    int mask = lg_step(L, "eq", "vi", lg_step(L, "sub", "vv", 4, 3), (int64_t)k);
    int elements = push_picked(L, 2, mask, 0), rows = push_picked(L, 3, mask, row);
    lg_push_shape(L, 1, &room);
    int zeros = lg_step(L, "gpu.zeros", "vss", lua_gettop(L), rt_dtypes[a->data.dtype].name, kn_csr_device(a)->name);
    lg_step(L, "scatter", "vivv", zeros, (int64_t)1, rows, elements);
    return 1;
}

/* ---- products ---- */

/* Pushes one number for each place, in the order in which elements are stored. */
static int push_keys(lua_State *L, int rows, int columns, int64_t width)
{
    int high = lg_step(L, "mul", "vi", lg_step(L, "sub", "vi", rows, (int64_t)1), width);
    return lg_step(L, "add", "vv", high, columns);
}

/* Both matrices: of the second its elements are found where the first has some. */
static int mul_sparse(lua_State *L, const struct kn_csr *a, const struct kn_csr *b)
{
    if (a->rows != b->rows || a->columns != b->columns)
        return luaL_error(L, "mul: the shapes (%I, %I) and (%I, %I) differ", (LUAI_UACINT)a->rows,
                          (LUAI_UACINT)a->columns, (LUAI_UACINT)b->rows, (LUAI_UACINT)b->columns);
    int64_t count = b->data.shape[0];
    lg_push_coo(L, a); /* 3, 4, 5 */
    lg_push_coo(L, b); /* 6, 7, 8 */
    if (count == 0) {
        int none = lg_step(L, "narrow", "viii", 3, (int64_t)1, (int64_t)1, (int64_t)0);
        push_made(L, lg_step(L, "mul", "vv", none, 6), 7, 8, a->rows, a->columns);
        return 1;
    }
    int ours = push_keys(L, 4, 5, a->columns), theirs = push_keys(L, 7, 8, a->columns);
    int at = lg_step(L, "clip", "vii", lg_step(L, "searchsorted", "vv", theirs, ours), (int64_t)1, count);
    int both = lg_step(L, "eq", "vv", lg_step(L, "take", "vv", theirs, at), ours);
    int product = lg_step(L, "mul", "vv", 3, lg_step(L, "take", "vv", 6, at));
    int elements = push_picked(L, product, both, 0), rows = push_picked(L, 4, both, 0);
    push_made(L, elements, rows, push_picked(L, 5, both, 0), a->rows, a->columns);
    return 1;
}

static int mul(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    if (lg_is_sparse(L, 2)) return mul_sparse(L, a, lg_check_sparse(L, 2));
    lua_settop(L, 2);
    if (lua_type(L, 2) == LUA_TNUMBER) {
        lua_arith(L, LUA_OPMUL);
        return 1;
    }
    lg_step_array(L, 2, &a->data, RT_DTYPE_COUNT);
    lg_push_coo(L, a); /* 3, 4, 5 */
    lg_push_shape(L, 2, (int64_t[]){a->rows, a->columns});
    int whole = lg_step(L, "broadcast_to", "vv", 2, lua_gettop(L));
    lua_createtable(L, 2, 0);
    for (int i = 1; i <= 2; i++) {
        lua_pushvalue(L, 3 + i);
        lua_rawseti(L, -2, i);
    }
    lua_pushvalue(L, whole);
    lua_insert(L, -2);
    lua_gettable(L, -2);
    push_made(L, lg_step(L, "mul", "vv", 3, lua_gettop(L)), 4, 5, a->rows, a->columns);
    return 1;
}

/* Pushes for each pair of numbers the first less 1 times n plus the second, the pairs of a first one beside each other.
 */
static int push_pairs(lua_State *L, int first, int second, int64_t n)
{
    int high = lg_step(L, "mul", "vi", lg_step(L, "sub", "vi", first, (int64_t)1), n);
    int both = lg_step(L, "add", "vv", lg_step(L, "unsqueeze", "vi", high, (int64_t)2), second);
    return lg_step(L, "flatten", "v", both);
}

static int kron(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1), *b = lg_check_sparse(L, 2);
    lua_settop(L, 2);
    lg_push_coo(L, a); /* 3, 4, 5 */
    lg_push_coo(L, b); /* 6, 7, 8 */
    int data = lg_step(L, "flatten", "v", lg_step(L, "mul", "vv", lg_step(L, "unsqueeze", "vi", 3, (int64_t)2), 6));
    int rows = push_pairs(L, 4, 7, b->rows), columns = push_pairs(L, 5, 8, b->columns);
    push_made(L, data, rows, columns, a->rows * b->rows, a->columns * b->columns);
    return 1;
}

/* ---- stacks ---- */

/* Matrices of the list at 1 below each other, beside each other, or both. */
enum stacking { BELOW = 1, BESIDE };

/* The i-th matrix of the list, which stays where it is. */
static const struct kn_csr *check_member(lua_State *L, const char *what, lua_Integer i)
{
    lua_rawgeti(L, 1, i);
    if (!lg_is_sparse(L, -1))
        luaL_error(L, "%s: value %I of the list is %s, expected a sparse matrix", what, (LUAI_UACINT)i,
                   lg_type_name(L, -1));
    const struct kn_csr *a = lg_check_sparse(L, -1);
    lua_pop(L, 1);
    return a;
}

/* Where the next matrix begins: {rows, columns}. */
static void check_fit(lua_State *L, const char *what, lua_Integer i, enum stacking how, const struct kn_csr *a,
                      int64_t at[2])
{
    const int64_t own[2] = {a->rows, a->columns};
    for (int d = 0; d < 2; d++) {
        bool grows = how & (d == 0 ? BELOW : BESIDE);
        if (!grows && i > 1 && own[d] != at[d])
            luaL_error(L, "%s: matrix %I of the list has %I %s, expected %I as the first", what, (LUAI_UACINT)i,
                       (LUAI_UACINT)own[d], d == 0 ? "rows" : "columns", (LUAI_UACINT)at[d]);
        if (!grows)
            at[d] = own[d];
        else if (__builtin_add_overflow(at[d], own[d], &at[d]))
            luaL_error(L, "%s: the matrices have more %s than an integer holds", what, d == 0 ? "rows" : "columns");
    }
}

static int stack(lua_State *L, const char *what, enum stacking how)
{
    int64_t at[2] = {0, 0};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
    if (count == 0) return luaL_error(L, "%s: the list is empty, expected sparse matrices", what);
    lua_settop(L, 1);
    for (int i = 0; i < 3; i++) lua_createtable(L, 0, 0); /* 2: elements, 3: rows, 4: columns */
    for (lua_Integer i = 1; i <= count; i++) {
        const struct kn_csr *a = check_member(L, what, i);
        const int64_t before[2] = {how & BELOW ? at[0] : 0, how & BESIDE ? at[1] : 0};
        check_fit(L, what, i, how, a, at);
        lg_push_coo(L, a); /* 5, 6, 7 */
        lg_step(L, "add", "vi", 6, before[0]);
        lg_step(L, "add", "vi", 7, before[1]);
        lua_rawseti(L, 4, i);
        lua_rawseti(L, 3, i);
        lua_settop(L, 5);
        lua_rawseti(L, 2, i);
    }
    int parts[3];
    for (int i = 0; i < 3; i++) parts[i] = lg_step(L, "gpu.concatenate", "v", 2 + i);
    push_made(L, parts[0], parts[1], parts[2], at[0], at[1]);
    return 1;
}

static int vstack(lua_State *L)
{
    return stack(L, "vstack", BELOW);
}
static int hstack(lua_State *L)
{
    return stack(L, "hstack", BESIDE);
}
static int block_diag(lua_State *L)
{
    return stack(L, "block_diag", BELOW | BESIDE);
}

const struct lg_function lg_sparse_part_functions[] = {
    {"eye", eye, "gpu.sparse.eye(n [, dtype] [, device])", "The sparse identity matrix of n rows and columns.",
     "assert(gpu.sparse.eye(3):todense():equal(gpu.eye(3)))"},
    {"diags", diags, "gpu.sparse.diags(diagonals, offsets [, {rows, columns} [, dtype] [, device]])",
     "A sparse matrix from its diagonals, a list of arrays, tables or, for as many as there is room for, numbers.\n"
     "Offset 0 is the main diagonal, 1 is above it, -1 below. Without a shape it is the square that the first of them that "
     "is no number fills. An offset without a list is that of one diagonal.",
     "local a = gpu.sparse.diags({-1, 2, -1}, {-1, 0, 1}, {4, 4})\nassert(a.nnz == 10 and a[{2, 1}] == -1 and a[{2, 2}] == 2)"},
    {"kron", kron, "gpu.sparse.kron(A, B)", "The Kronecker product: each element of A times the whole of B.",
     "local a = gpu.sparse.kron(gpu.sparse.eye(2), gpu.array({{1, 2}}):to_sparse())\n"
     "assert(a:todense():equal(gpu.array({{1, 2, 0, 0}, {0, 0, 1, 2}})))"},
    {"vstack", vstack, "gpu.sparse.vstack({A, B, ...})",
     "Sparse matrices with as many columns below each other.\nThey are on one device; of several dtypes the result has the "
     "wider.",
     "local a = gpu.sparse.eye(2)\nassert(gpu.sparse.vstack({a, 2 * a})[{3, 1}] == 2)"},
    {"hstack", hstack, "gpu.sparse.hstack({A, B, ...})",
     "Sparse matrices with as many rows beside each other.\nThey are on one device; of several dtypes the result has the "
     "wider.",
     "local a = gpu.sparse.eye(2)\nassert(gpu.sparse.hstack({a, 2 * a})[{1, 3}] == 2)"},
    {"block_diag", block_diag, "gpu.sparse.block_diag({A, B, ...})",
     "Sparse matrices along a diagonal, each right below the one before it.\nThey are on one device; of several dtypes the "
     "result has the wider.",
     "local a = gpu.sparse.eye(2)\nassert(gpu.sparse.block_diag({a, 2 * a})[{3, 3}] == 2)"},
    {0}};

#define EXAMPLE "local a = gpu.array({{0, 5, 0}, {7, 0, 8}}):to_sparse()\n"

const struct lg_function lg_sparse_part_methods[] = {
    {"mul", mul, "A:mul(x)",
     "The products of elements, as a sparse matrix: x is one of the same shape, an array or table that broadcasts to it, or a "
     "number.",
     EXAMPLE "assert(a:mul({1, 2, 3})[{1, 2}] == 10 and a:mul(a)[{2, 3}] == 64)"},
    {"diagonal", diagonal, "A:diagonal([k])", "The k-th diagonal, 0 unless told otherwise, as an array.",
     EXAMPLE "assert(a:diagonal(1):equal(gpu.array({5, 8})))"},
    {0}};
