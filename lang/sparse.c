/* Sparse matrices: the userdata, its fields, operators and methods. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lang/sparse.h"
#include "lang/cells.h"
#include "lang/closest.h"
#include "lang/index.h"

#define SHOWN 12 /* elements that are shown without a gap */

struct kn_csr *lg_new_sparse(lua_State *L)
{
    lg_memory_enter(L);
    struct kn_csr *a = lua_newuserdatauv(L, sizeof *a, 0);
    memset(a, 0, sizeof *a);
    luaL_setmetatable(L, LG_SPARSE);
    return a;
}

struct kn_csr *lg_check_sparse(lua_State *L, int idx)
{
    struct kn_csr *a = luaL_testudata(L, idx, LG_SPARSE);
    if (!a && lg_test_array(L, idx))
        luaL_argerror(L, idx, "expected a sparse matrix, got an array; x:to_sparse() makes one of it");
    if (!a) luaL_argerror(L, idx, lua_pushfstring(L, "expected a sparse matrix, got %s", lg_type_name(L, idx)));
    luaL_argcheck(L, a->starts.storage, idx, "the sparse matrix was freed");
    return a;
}

/* Leaves all zeros, so twice is fine. */
static int release(lua_State *L)
{
    kn_csr_release(lg_check_object(L, 1, LG_SPARSE));
    return 0;
}

/* ---- single elements ---- */

int lg_sparse_share(lua_State *L, const struct rt_array *a)
{
    lg_push_shared(L, a);
    return lua_gettop(L);
}

int64_t lg_sparse_integer(lua_State *L, const struct rt_array *a, int64_t i)
{
    uint64_t element = 0;
    struct rt_array one = *a; /* borrowed */
    one.ndim = 0;
    one.offset += i;
    lg_check(L, rt_array_read(&one, &element, lg_error_box(L)));
    return rt_load_int(a->dtype, &element);
}

/* How many of the integers [low, high) of an ascending list are below `value` or, with `or_same`, not above it. */
static int64_t place_of(lua_State *L, const struct rt_array *a, int64_t low, int64_t high, int64_t value, bool or_same)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2, v = lg_sparse_integer(L, a, middle);
        if (v < value || (or_same && v == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A[{row, column}] is a number, and with a range or an array among them a matrix. */
static int push_element(lua_State *L, const struct kn_csr *a)
{
    int64_t place[2];
    if (lg_sparse_part(L, a, place)) return 1;
    const int64_t row = place[0], column = place[1];
    int64_t end = lg_sparse_integer(L, &a->starts, row + 1);
    int64_t at = place_of(L, &a->indices, lg_sparse_integer(L, &a->starts, row), end, column, false);
    if (at == end || lg_sparse_integer(L, &a->indices, at) != column) {
        lua_pushnumber(L, 0);
        return 1;
    }
    struct rt_array one = a->data; /* borrowed */
    one.ndim = 0;
    one.offset += at;
    lg_push_element(L, &one);
    return 1;
}

/* ---- fields ---- */

/* Pushes a list of integers counted from 1: the stored ones count from 0. */
static void push_from_one(lua_State *L, const struct rt_array *a)
{
    struct rt_array *out = lg_new_array(L);
    struct kn_operand args[2] = {{.array = out}, {.i = 1}};
    lg_check(L, kn_convert(a, RT_INT64, rt_array_device(a), out, lg_error_box(L)));
    lg_check(L, kn_apply(KN_ADD, args, out, lg_error_box(L)));
}

static void field_shape(lua_State *L, const struct kn_csr *a)
{
    lg_push_shape(L, 2, (int64_t[]){a->rows, a->columns});
}
static void field_nnz(lua_State *L, const struct kn_csr *a)
{
    lua_pushinteger(L, a->data.shape[0]);
}
static void field_dtype(lua_State *L, const struct kn_csr *a)
{
    lua_pushstring(L, rt_dtypes[a->data.dtype].name);
}
static void field_device(lua_State *L, const struct kn_csr *a)
{
    lua_pushstring(L, kn_csr_device(a)->name);
}
static void field_data(lua_State *L, const struct kn_csr *a)
{
    rt_array_share(&a->data, lg_new_array(L));
}
static void field_indices(lua_State *L, const struct kn_csr *a)
{
    push_from_one(L, &a->indices);
}
static void field_indptr(lua_State *L, const struct kn_csr *a)
{
    push_from_one(L, &a->starts);
}
static void field_T(lua_State *L, const struct kn_csr *a)
{
    struct kn_csr *out = lg_new_sparse(L);
    lg_check(L, kn_csr_transpose(a, out, lg_error_box(L)));
}

#define EXAMPLE "local a = gpu.array({{0, 5, 0}, {7, 0, 8}}):to_sparse()\n"
static const struct field {
    const char *name;
    void (*push)(lua_State *L, const struct kn_csr *a);
    const char *doc, *example;
} fields[] = {
    {"shape", field_shape, "The numbers of rows and columns, as a table.",
     EXAMPLE "assert(tostring(a.shape) == '(2, 3)')"},
    {"nnz", field_nnz, "How many elements are stored.", EXAMPLE "assert(a.nnz == 3)"},
    {"dtype", field_dtype, "The name of the elements' type, float32 or float64.",
     EXAMPLE "assert(a.dtype == 'float32')"},
    {"device", field_device, "The name of the device that holds the elements.",
     EXAMPLE "assert(a.device == gpu.device().name)"},
    {"data", field_data, "The stored elements, row by row.\nWriting to them changes the matrix.",
     EXAMPLE "a.data:mul_(2)\nassert(a[{2, 3}] == 16)"},
    {"indices", field_indices, "The column of each stored element, from 1: a new int64 array.",
     EXAMPLE "assert(a.indices:equal(gpu.array({2, 1, 3})))"},
    {"indptr", field_indptr,
     "Where the rows start: elements indptr[i] to indptr[i + 1] - 1 are those of row i. A new int64 array.\n"
     "A kernel that counts from 0 and takes const int * gets (A.indptr - 1):to('int32'), (A.indices - 1):to('int32') and "
     "A.data.",
     EXAMPLE "assert(a.indptr:equal(gpu.array({1, 2, 4})))"},
    {"T", field_T, "The transposed matrix, a new one.", EXAMPLE "assert(a.T[{3, 2}] == 8)"},
};
#define FIELDS (sizeof fields / sizeof *fields)

/* A.name, A:name(...), A[{i, j}], A["i, j"]. Upvalue: the methods. */
static int sparse_index(lua_State *L)
{
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    if (!key || lg_is_key_text(key)) return push_element(L, lg_check_sparse(L, 1));
    for (size_t i = 0; i < FIELDS; i++)
        if (!strcmp(fields[i].name, key)) {
            fields[i].push(L, lg_check_sparse(L, 1));
            return 1;
        }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    return lg_raise_unknown(L, "a sparse matrix has no method or field", key, lua_upvalueindex(1), 0);
}

static int sparse_newindex(lua_State *L)
{
    return luaL_error(L, "a sparse matrix takes no new elements; A + B adds some, A.data has those that are there");
}

static int sparse_fields(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < FIELDS; i++) {
        lua_pushstring(L, fields[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int sparse_len(lua_State *L)
{
    lua_pushinteger(L, lg_check_sparse(L, 1)->rows);
    return 1;
}

static void push_title(lua_State *L, const struct kn_csr *a)
{
    lua_pushfstring(L, "sparse %s (%I, %I) on %s, %I elements", rt_dtypes[a->data.dtype].name, (LUAI_UACINT)a->rows,
                    (LUAI_UACINT)a->columns, kn_csr_device(a)->name, (LUAI_UACINT)a->data.shape[0]);
}

/* The row, from 1, that an element is in. */
static int64_t row_of(lua_State *L, const struct kn_csr *a, int64_t element)
{
    return place_of(L, &a->starts, 0, a->rows + 1, element, true);
}

/* A table with a line for each element that is shown, as A.__display gives it. */
static int sparse_display(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    struct lg_cells c;
    char cell[LG_CELL_TEXT];
    luaL_Buffer b;
    lua_settop(L, 1);
    lua_createtable(L, 0, 1);
    lg_push_cells(L, &a->data, SHOWN, &c);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<table class=\"lunarray\" style=\"text-align:right;font-family:monospace\"><caption style=\""
                       "caption-side:top;text-align:left;white-space:nowrap;color:inherit;opacity:.8\">");
    push_title(L, a);
    luaL_addvalue(&b);
    luaL_addstring(&b, "</caption><tbody><tr><th>row</th><th>column</th><th></th></tr>");
    for (int64_t i = 0; i < c.size; i++) {
        int64_t at = lg_cell_index(&c, 0, i) - 1;
        if (i == c.front[0] && lg_has_gap(&c, 0)) luaL_addstring(&b, "<tr><th>&#8942;</th></tr>");
        LUAI_UACINT row = row_of(L, a, at), column = lg_sparse_integer(L, &a->indices, at) + 1;
        lg_cell_text(&c, i, cell);
        lua_pushfstring(L, "<tr><th>%I</th><th>%I</th><td>%s</td></tr>", row, column, cell);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, "</tbody></table>");
    luaL_pushresult(&b);
    lua_setfield(L, 2, "text/html");
    lua_settop(L, 2);
    return 1;
}

static int sparse_tostring(lua_State *L)
{
    const struct kn_csr *a = lg_check_object(L, 1, LG_SPARSE);
    struct lg_cells c;
    char place[64], cell[LG_CELL_TEXT], line[2 * sizeof place + 2 * sizeof cell];
    luaL_Buffer b;
    if (!a->starts.storage) {
        lua_pushliteral(L, "sparse (freed)");
        return 1;
    }
    int width = snprintf(NULL, 0, "(%" PRId64 ", %" PRId64 ")", a->rows, a->columns);
    lg_push_cells(L, &a->data, SHOWN, &c);
    luaL_buffinit(L, &b);
    push_title(L, a);
    luaL_addvalue(&b);
    for (int64_t i = 0; i < c.size; i++) {
        int64_t at = lg_cell_index(&c, 0, i) - 1;
        if (i == c.front[0] && lg_has_gap(&c, 0)) luaL_addstring(&b, "\n  ...");
        snprintf(place, sizeof place, "(%" PRId64 ", %" PRId64 ")", row_of(L, a, at),
                 lg_sparse_integer(L, &a->indices, at) + 1);
        lg_cell_text(&c, i, cell);
        snprintf(line, sizeof line, "\n  %-*s  %*s", width, place, c.width, cell);
        luaL_addstring(&b, line);
    }
    luaL_pushresult(&b);
    return 1;
}

/* ---- operators ---- */

/* A with other elements, made of its own and a number. */
static int with_elements(lua_State *L, enum kn_op op, const struct kn_csr *a, struct kn_operand number)
{
    struct kn_csr *out = lg_new_sparse(L);
    struct kn_operand args[2] = {{.array = &a->data}, number};
    lg_check(L, kn_apply(op, args, &out->data, lg_error_box(L)));
    rt_array_share(&a->indices, &out->indices);
    rt_array_share(&a->starts, &out->starts);
    out->rows = a->rows;
    out->columns = a->columns;
    return 1;
}

static int scaled(lua_State *L, enum kn_op op, int matrix, int number)
{
    struct kn_operand factor;
    if (lua_type(L, number) != LUA_TNUMBER)
        return luaL_error(L,
                          "a sparse matrix is multiplied and divided by a number, got %s; A:matmul(x) is the product "
                          "of matrices, A:mul(x) that of their elements",
                          lg_type_name(L, number));
    lg_check_operand(L, number, &factor);
    return with_elements(L, op, lg_check_sparse(L, matrix), factor);
}

static int sparse_mul(lua_State *L)
{
    bool first = luaL_testudata(L, 1, LG_SPARSE);
    return scaled(L, KN_MUL, first ? 1 : 2, first ? 2 : 1);
}

static int sparse_div(lua_State *L)
{
    if (!luaL_testudata(L, 1, LG_SPARSE)) return luaL_error(L, "nothing is divided by a sparse matrix");
    return scaled(L, KN_DIV, 1, 2);
}

static int sparse_unm(lua_State *L)
{
    return with_elements(L, KN_MUL, lg_check_sparse(L, 1), (struct kn_operand){.i = -1});
}

static int added(lua_State *L, double factor)
{
    for (int i = 1; i <= 2; i++)
        if (!luaL_testudata(L, i, LG_SPARSE))
            return luaL_error(L, "a sparse matrix is added to another, got %s; A:todense() makes an array",
                              lg_type_name(L, i));
    const struct kn_csr *a = lg_check_sparse(L, 1), *b = lg_check_sparse(L, 2);
    struct kn_csr *out = lg_new_sparse(L);
    lg_check(L, kn_csr_add(a, b, factor, out, lg_error_box(L)));
    return 1;
}

static int sparse_add(lua_State *L)
{
    return added(L, 1);
}
static int sparse_sub(lua_State *L)
{
    return added(L, -1);
}

/* ---- methods ---- */

static int todense(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_csr_to_dense(a, out, lg_error_box(L)));
    return 1;
}

static int to(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    struct lg_placement p = {a->data.dtype, kn_csr_device(a)};
    lg_check_placement(L, 2, &p);
    lg_check(L, kn_csr_dtype(p.dtype, &p.dtype, lg_error_box(L)));
    struct kn_csr *out = lg_new_sparse(L);
    lg_check(L, kn_csr_convert(a, p.dtype, p.device, out, lg_error_box(L)));
    return 1;
}

static int coo(lua_State *L)
{
    return lg_push_coo(L, lg_check_sparse(L, 1));
}

int lg_push_coo(lua_State *L, const struct kn_csr *a)
{
    field_data(L, a);
    struct rt_array *rows = lg_new_array(L);
    lg_check(L, kn_csr_rows(a, 1, rows, lg_error_box(L)));
    field_indices(L, a);
    return 3;
}

/* x times A is what A.T times x.T is, transposed. */
static int times_from_left(lua_State *L, const struct rt_array *x, const struct kn_csr *a)
{
    char text[256];
    struct rt_error *e = lg_error_box(L);
    if (x->ndim < 1 || x->ndim > 2 || x->shape[x->ndim - 1] != a->rows)
        return luaL_error(L, "matmul: an array of shape %s does not fit a sparse matrix of %I rows",
                          rt_shape_text(x->ndim, x->shape, text, sizeof text), (LUAI_UACINT)a->rows);
    struct rt_array right = *x; /* borrowed */
    if (x->ndim == 2) {
        right.shape[0] = x->shape[1];
        right.shape[1] = x->shape[0];
        right.strides[0] = x->strides[1];
        right.strides[1] = x->strides[0];
    }
    struct kn_csr *turned = lg_new_sparse(L);
    lg_check(L, kn_csr_transpose(a, turned, e));
    struct rt_array *product = lg_new_array(L);
    lg_check(L, kn_csr_matmul(turned, &right, product, e));
    if (x->ndim == 1) return 1;
    struct rt_array *view = lg_new_array(L), *out = lg_new_array(L);
    lg_check(L, rt_array_permute(product, (const int[]){1, 0}, view, e));
    lg_check(L, kn_contiguous(view, out, e));
    return 1;
}

bool lg_is_sparse(lua_State *L, int idx)
{
    return luaL_testudata(L, idx, LG_SPARSE) != NULL;
}

int lg_sparse_matmul(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    if (!lg_is_sparse(L, 1)) return times_from_left(L, lg_check_array(L, 1), lg_check_sparse(L, 2));
    const struct kn_csr *a = lg_check_sparse(L, 1);
    if (lg_is_sparse(L, 2)) {
        const struct kn_csr *b = lg_check_sparse(L, 2);
        struct kn_csr *out = lg_new_sparse(L);
        lg_check(L, kn_csr_product(a, b, out, e));
        return 1;
    }
    const struct rt_array *x = lg_check_array(L, 2);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_csr_matmul(a, x, out, e));
    return 1;
}

/* Sums of rows are the product with a vector of ones. */
static int sum(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    struct rt_error *e = lg_error_box(L);
    if (lua_isnoneornil(L, 2)) {
        struct rt_array *all = lg_new_array(L);
        lg_check(L, kn_reduce(KN_SUM, &a->data, KN_ALL_AXES, false, all, e));
        lg_push_element(L, all);
        return 1;
    }
    if (lg_check_axis(L, 2, 2) == 0) {
        struct kn_csr *turned = lg_new_sparse(L);
        lg_check(L, kn_csr_transpose(a, turned, e));
        a = turned;
    }
    struct rt_array *ones = lg_new_array(L), *out = lg_new_array(L);
    lg_check(L, rt_array_new(kn_csr_device(a), a->data.dtype, 1, &a->columns, ones, e));
    lg_check(L, kn_fill(ones, &(struct kn_operand){.i = 1}, e));
    lg_check(L, kn_csr_matmul(a, ones, out, e));
    return 1;
}

static const struct lg_function methods[] = {
    {"todense", todense, "A:todense()", "The matrix as an array of two axes.",
     EXAMPLE "assert(a:todense():equal(gpu.array({{0, 5, 0}, {7, 0, 8}})))"},
    {"matmul", lg_sparse_matmul, "A:matmul(x)   gpu.matmul(A, x)",
     "The product with a vector or matrix, which is an array, or with a sparse matrix, which is one again.\n"
     "gpu.matmul(x, A) takes the array on the left.",
     EXAMPLE "assert(a:matmul(gpu.array({1, 2, 3})):equal(gpu.array({10, 31})))\n"
             "assert(gpu.matmul(gpu.ones(2), a)[3] == 8 and a:matmul(a.T)[{2, 2}] == 113)"},
    {"sum", sum, "A:sum([axis])", "The sum of all elements, or along an axis as an array: 1 adds rows up, 2 columns.",
     EXAMPLE "assert(a:sum() == 20 and a:sum(2)[2] == 15 and a:sum(1)[1] == 7)"},
    {"coo", coo, "A:coo()",
     "Three arrays: the stored elements, and the row and the column of each, from 1.\ngpu.sparse.coo takes them back.",
     EXAMPLE "local data, rows, columns = a:coo()\nassert(rows[3] == 2 and columns[3] == 3)\n"
             "assert(gpu.sparse.coo(data, rows, columns, a.shape).nnz == 3)"},
    {"to", to, "A:to([dtype] [, device])", "The matrix with another dtype or on another device.",
     EXAMPLE "assert(a:to('float64', 'cpu').device == 'cpu')"},
    {"free", release, "A:free()",
     "Releases the matrix's memory now and not when Lua collects it.\n"
     "Any later use of it is an error. Freeing twice is fine. `local A <close> = ...` does the same at the end of a block.",
     EXAMPLE "a:free()\nassert(not pcall(function() return a.nnz end))"},
    {0}};

static void document_fields(lua_State *L)
{
    struct lg_function *rows = lua_newuserdatauv(L, FIELDS * sizeof *rows, 0);
    for (size_t i = 0; i < FIELDS; i++) {
        const char *signature = lua_pushfstring(L, "A.%s", fields[i].name);
        luaL_ref(L, LUA_REGISTRYINDEX);
        rows[i] = (struct lg_function){fields[i].name, NULL, signature, fields[i].doc, fields[i].example};
        lg_document(L, "sparse", &rows[i]);
    }
    luaL_ref(L, LUA_REGISTRYINDEX);
}

void lg_open_sparse(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__gc", release},
                                    {"__close", release},
                                    {"__display", sparse_display},
                                    {"__newindex", sparse_newindex},
                                    {"__len", sparse_len},
                                    {"__tostring", sparse_tostring},
                                    {"__fields", sparse_fields},
                                    {"__mul", sparse_mul},
                                    {"__div", sparse_div},
                                    {"__pow", lg_sparse_power},
                                    {"__unm", sparse_unm},
                                    {"__add", sparse_add},
                                    {"__sub", sparse_sub},
                                    {NULL, NULL}};
    lua_newtable(L);
    lg_register(L, "gpu.sparse", lg_sparse_make_functions);
    lg_register(L, "gpu.sparse", lg_sparse_io_functions);
    lg_register(L, "gpu.sparse", lg_sparse_part_functions);
    lg_register(L, "gpu.sparse", lg_sparse_solvers);
    lg_register(L, "gpu.sparse", lg_sparse_direct_functions);
    /* Scipy's and Torch's users call the type. */
    lg_seal_module(
        L, "gpu.sparse",
        "x:to_sparse() makes a sparse matrix of an array, gpu.sparse.csr and gpu.sparse.coo make one of its parts");
    lua_setfield(L, -2, "sparse");
    luaL_newmetatable(L, LG_SPARSE);
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    lg_register(L, "sparse", methods);
    lg_register(L, "sparse", lg_sparse_part_methods);
    lg_register(L, "sparse", lg_sparse_element_methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__methods"); /* for completion */
    lua_pushcclosure(L, sparse_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    document_fields(L);
}
