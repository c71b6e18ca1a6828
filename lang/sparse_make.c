/* Making sparse matrices: gpu.sparse.csr, gpu.sparse.coo, x:to_sparse(). */
#include "lang/sparse.h"

static void check_shape(lua_State *L, int idx, int64_t shape[2])
{
    int next;
    if (lua_isnoneornil(L, idx) && !lua_istable(L, 1) && lg_test_array(L, 1) && lua_gettop(L) == 1)
        luaL_error(L, "a sparse matrix is made of its parts here; x:to_sparse() makes one of an array");
    if (!lua_istable(L, idx))
        luaL_argerror(L, idx, lua_pushfstring(L, "the shape, {rows, columns}, expected, got %s", lg_type_name(L, idx)));
    int64_t sizes[RT_MAX_DIMS];
    if (lg_check_shape(L, idx, false, sizes, &next) != 2)
        luaL_argerror(L, idx, "a sparse matrix has two sizes, {rows, columns}");
    shape[0] = sizes[0];
    shape[1] = sizes[1];
}

/* The elements at argument 1: an array, or a table that becomes one. */
static const struct rt_array *check_data(lua_State *L, struct lg_placement *p)
{
    if (!lua_istable(L, 1)) {
        const struct rt_array *a = lg_check_array(L, 1);
        *p = (struct lg_placement){a->dtype, rt_array_device(a)};
    }
    lg_check_placement(L, 5, p);
    if (!lua_istable(L, 1)) {
        struct rt_array *out = lg_new_array(L);
        lg_check(L, kn_convert(lg_check_array(L, 1), p->dtype, p->device, out, lg_error_box(L)));
        return out;
    }
    return lg_push_from_table(L, 1, p->dtype, p->device);
}

/* Integers at an argument: an array, of whole numbers where it has floats, or a table. */
static const struct rt_array *check_integers(lua_State *L, int idx)
{
    struct rt_error *e = lg_error_box(L);
    if (lua_istable(L, idx)) {
        lua_pushliteral(L, "cpu");
        struct rt_device *cpu = lg_check_device(L, -1);
        lua_pop(L, 1);
        return lg_push_from_table(L, idx, RT_INT64, cpu);
    }
    const struct rt_array *a = lg_check_array(L, idx);
    if (rt_dtypes[a->dtype].kind != 'f') return a;
    struct rt_array *whole = lg_new_array(L), *differs = lg_new_array(L), *any = lg_new_array(L);
    lg_check(L, kn_convert(a, RT_INT64, rt_array_device(a), whole, e));
    lg_check(L, kn_apply(KN_NE, (struct kn_operand[]){{.array = a}, {.array = whole}}, differs, e));
    lg_check(L, kn_reduce(KN_ANY, differs, KN_ALL_AXES, false, any, e));
    lg_push_element(L, any);
    luaL_argcheck(L, !lua_toboolean(L, -1), idx, "the numbers are not whole");
    lua_pop(L, 3);
    return whole;
}

static int csr(lua_State *L)
{
    int64_t shape[2];
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    check_shape(L, 4, shape);
    const struct rt_array *data = check_data(L, &p), *indices = check_integers(L, 2), *starts = check_integers(L, 3);
    const struct kn_csr_parts parts = {shape[0], shape[1], 1, data, indices, starts};
    struct kn_csr *out = lg_new_sparse(L);
    lg_check_frame(L);
    lg_check(L, kn_csr_make(&parts, out, lg_error_box(L)));
    return 1;
}

static int coo(lua_State *L)
{
    int64_t shape[2];
    struct lg_placement p = {RT_DTYPE_COUNT, NULL};
    check_shape(L, 4, shape);
    const struct rt_array *data = check_data(L, &p), *rows = check_integers(L, 2), *columns = check_integers(L, 3);
    const struct kn_csr_parts parts = {shape[0], shape[1], 1, data, columns, rows};
    struct kn_csr *out = lg_new_sparse(L);
    lg_check_frame(L);
    lg_check(L, kn_csr_from_triples(&parts, out, lg_error_box(L)));
    return 1;
}

static int to_sparse(lua_State *L)
{
    const struct rt_array *x = lg_check_array(L, 1);
    struct kn_csr *out = lg_new_sparse(L);
    lg_check_frame(L);
    lg_check(L, kn_csr_from_dense(x, out, lg_error_box(L)));
    return 1;
}

const struct lg_function lg_sparse_make_functions[] = {
    {"csr", csr, "gpu.sparse.csr(data, indices, indptr, {rows, columns} [, dtype] [, device])",
     "A sparse matrix from its compressed rows.\n"
     "data are the elements row by row, indices their columns, and indptr tells where each row starts: elements indptr[i] "
     "to indptr[i + 1] - 1 are those of row i. All of them count from 1 (inside and in files they count from 0). They "
     "are arrays or tables. Elements are float32, or float64 where data has it or 64-bit integers. Columns of a row "
     "may be in any order; elements of one place are added.\n"
     "gpu.sparse.csr(data, indices, indptr, {columns, rows}).T is one from its compressed columns, which are in A.T.\n"
     "A[{i, j}] is an element; with ranges or arrays, as in A[{{1, 10}, {}}], A[\"::2, 3\"] and A[mask], it is a matrix of these "
     "rows and columns, a copy.\n"
     "Products run on the device of data; making, adding and transposing run on the host.",
     "local a = gpu.sparse.csr({5, 7, 8}, {2, 1, 3}, {1, 2, 4}, {2, 3})\n"
     "assert(a:todense():equal(gpu.array({{0, 5, 0}, {7, 0, 8}})) and (2 * a)[{2, 3}] == 16)"},
    {"coo", coo, "gpu.sparse.coo(data, rows, columns, {rows, columns} [, dtype] [, device])",
     "A sparse matrix from elements with the row and the column of each, from 1, in any order.\n"
     "Elements of one place are added. A:coo() gives them back.",
     "local a = gpu.sparse.coo({5, 7, 1}, {1, 2, 1}, {2, 1, 2}, {2, 3})\nassert(a[{1, 2}] == 6 and a.nnz == 2)"},
    {0}};

const struct lg_function lg_sparse_array_methods[] = {
    {"to_sparse", to_sparse, "x:to_sparse()", "The sparse matrix of the elements that are not 0; x has two axes.",
     "local a = gpu.eye(4):to_sparse()\nassert(a.nnz == 4 and (a - a).nnz == 0 and (a + a)[{2, 2}] == 2)"},
    {0}};
