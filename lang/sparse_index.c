/* Sparse matrices read by rows and columns, A[{...}] and A[i]. Rows are found by where they start, in steps that run
 * where the matrix is, and columns as the rows of the transposed matrix. */
#include "lang/sparse.h"
#include "lang/steps.h"

/* The rows of one axis of a key: a range, from 1, or those that the array at a stack index lists. */
struct part {
    int64_t first, count;
    int list; /* 0: the range */
};

/* A place at the top of the stack, popped: from 1, or from the end with -1. */
static int64_t check_place(lua_State *L, int64_t n, const char *what)
{
    int whole;
    lua_Integer i = lua_tointegerx(L, -1, &whole), from = i < 0 ? i + n + 1 : i;
    if (!whole || from < 1 || from > n)
        luaL_error(L, "there is no %s %s of a sparse matrix with %I of them", what, luaL_tolstring(L, -1, NULL),
                   (LUAI_UACINT)n);
    lua_pop(L, 1);
    return from;
}

/* Makes the array at the top of the stack, of places or of a boolean for each of n, a list of places. */
static struct part check_list(lua_State *L, int64_t n, const char *what)
{
    int at = lua_gettop(L);
    const struct rt_array *a = lg_check_array(L, at);
    bool mask = a->dtype == RT_BOOL;
    if (a->ndim != 1 || (mask && a->shape[0] != n))
        luaL_error(L, "%ss of a sparse matrix are listed by an array of one axis%s", what,
                   mask ? ", which as a mask has an element for each of them" : "");
    return (struct part){.count = 0,
                         .list = mask ? lg_step(L, "nonzero", "v", at) : lg_step(L, "to", "vs", at, "int64")};
}

/* The part of the key at the top of the stack: a place, {first, last}, {place}, {} and nil for all, or an array. Popped
 * unless it is that. */
static struct part check_part(lua_State *L, int64_t n, const char *what)
{
    struct part r = {1, n, 0};
    int top = lua_gettop(L);
    if (lg_test_array(L, top)) return check_list(L, n, what);
    if (lua_istable(L, top) && lua_rawlen(L, top) > 0) {
        if (lua_rawlen(L, top) > 2)
            luaL_error(L,
                       "a range of a sparse matrix is {first, last}, without a step; A:todense() has those with one");
        lua_rawgeti(L, top, 1);
        r.first = check_place(L, n, what);
        lua_rawgeti(L, top, (lua_Integer)lua_rawlen(L, top));
        r.count = check_place(L, n, what) - r.first + 1;
        if (r.count < 1) luaL_error(L, "the range of %ss runs backwards", what);
    } else if (!lua_istable(L, top) && !lua_isnil(L, top)) {
        r = (struct part){check_place(L, n, what), 1, 0};
        return r;
    }
    lua_settop(L, top - 1);
    return r;
}

/* Pushes so many elements of the list from `first`, from 1, which may be behind its end where there are none. */
static int push_stretch(lua_State *L, int list, int64_t first, int64_t count)
{
    return lg_step(L, "narrow", "viii", list, (int64_t)1, count > 0 ? first : 1, count);
}

/* Pushes a matrix of rows with columns like a's; the columns count from 0, and where the rows start from 1. */
static struct kn_csr *push_rows_of(lua_State *L, const struct kn_csr *a, int data, int columns, int starts,
                                   int64_t rows)
{
    columns = lg_step(L, "add", "vi", columns, (int64_t)1);
    lg_push_shape(L, 2, (int64_t[]){rows, a->columns});
    return lua_touserdata(L, lg_step(L, "gpu.sparse.csr", "vvvv", data, columns, starts, lua_gettop(L)));
}

static struct kn_csr *push_range(lua_State *L, const struct kn_csr *a, struct part p)
{
    int data = lg_sparse_share(L, &a->data), columns = lg_sparse_share(L, &a->indices),
        starts = lg_sparse_share(L, &a->starts);
    int64_t from = lg_sparse_integer(L, &a->starts, p.first - 1);
    int64_t count = lg_sparse_integer(L, &a->starts, p.first - 1 + p.count) - from;
    data = push_stretch(L, data, from + 1, count);
    columns = push_stretch(L, columns, from + 1, count);
    starts = lg_step(L, "sub", "vi", push_stretch(L, starts, p.first, p.count + 1), from - 1);
    return push_rows_of(L, a, data, columns, starts, p.count);
}

static struct kn_csr *push_listed(lua_State *L, const struct kn_csr *a, int list)
{
    int data = lg_sparse_share(L, &a->data), columns = lg_sparse_share(L, &a->indices),
        starts = lg_sparse_share(L, &a->starts);
    int lengths = lg_step(L, "take", "vv", lg_step(L, "diff", "v", starts), list);
    int from = lg_step(L, "take", "vv", push_stretch(L, starts, 1, a->rows), list);
    int ends = lg_step(L, "cumsum", "v", lengths), sum = lg_step(L, "sum", "v", lengths);
    int64_t count = lua_tointeger(L, sum);
    if (count > 0) { /* the i-th new element is the i-th and so many of the old ones */
        int more = lg_step(L, "sub", "vv", from, lg_step(L, "sub", "vv", ends, lengths));
        more = lg_step(L, "repeat_interleave", "vv", more, lengths);
        int places = lg_step(L, "gpu.range", "iiiss", (int64_t)1, count, (int64_t)1, "int64", kn_csr_device(a)->name);
        places = lg_step(L, "add", "vv", places, more);
        data = lg_step(L, "take", "vv", data, places);
        columns = lg_step(L, "take", "vv", columns, places);
    } else {
        data = push_stretch(L, data, 1, 0);
        columns = push_stretch(L, columns, 1, 0);
    }
    int first = lg_step(L, "sub", "vv", push_stretch(L, starts, 1, 1), push_stretch(L, starts, 1, 1)); /* 0 */
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, first);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, ends);
    lua_rawseti(L, -2, 2);
    starts = lg_step(L, "add", "vi", lg_step(L, "gpu.concatenate", "v", lua_gettop(L)), (int64_t)1);
    return push_rows_of(L, a, data, columns, starts, lg_form(L, list)->shape[0]);
}

/* Pushes the matrix of these rows. */
static struct kn_csr *push_part(lua_State *L, const struct kn_csr *a, struct part p)
{
    return p.list ? push_listed(L, a, p.list) : push_range(L, a, p);
}

static struct kn_csr *push_transposed(lua_State *L, const struct kn_csr *a)
{
    struct kn_csr *out = lg_new_sparse(L);
    lg_check(L, kn_csr_transpose(a, out, lg_error_box(L)));
    return out;
}

int lg_sparse_part(lua_State *L)
{
    const struct kn_csr *a = lg_check_sparse(L, 1);
    bool single = lua_isinteger(L, 2) || lg_test_array(L, 2);
    lua_settop(L, 2);
    if (!lua_istable(L, 2) && !single)
        return luaL_error(
            L,
            "a sparse matrix is read by A[{row, column}], each a number, a range as {2, 5} or an array of "
            "places; got %s",
            lg_type_name(L, 2));
    if (!single && lua_rawlen(L, 2) > 2)
        return luaL_error(L, "%d indices for a sparse matrix, which has rows and columns", (int)lua_rawlen(L, 2));
    if (single)
        lua_pushvalue(L, 2);
    else
        lua_rawgeti(L, 2, 1);
    struct part rows = check_part(L, a->rows, "row");
    if (single)
        lua_pushnil(L);
    else
        lua_rawgeti(L, 2, 2);
    struct part columns = check_part(L, a->columns, "column");
    const bool all = !columns.list && columns.count == a->columns;
    a = push_part(L, a, rows);
    if (!all) push_transposed(L, push_part(L, push_transposed(L, a), columns));
    return 1;
}
