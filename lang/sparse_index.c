/* Sparse matrices read by rows and columns, A[{...}], A["..."] and A[i]. Rows are found by where they start, in steps
 * that run where the matrix is, and columns as the rows of the transposed matrix. */
#include "lang/index.h"
#include "lang/sparse.h"
#include "lang/steps.h"

/* The rows of one axis of a key: a range, from 1, or those that the array at a stack index lists. */
struct part {
    int64_t first, count;
    int list; /* 0: the range */
};

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

/* ---- the key ---- */

/* An array in a key lists rows or columns, and so has one axis. */
static void check_listed(lua_State *L, int idx)
{
    const struct rt_array *list = lg_test_array(L, idx);
    if (list && list->ndim != 1)
        luaL_error(L, "rows and columns of a sparse matrix are listed by an array of one axis, not of %d", list->ndim);
}

/* Reads the key at index 2 as one of an array of the matrix's shape; `form` is what the key refers to. */
static void read_key(lua_State *L, const struct kn_csr *a, struct rt_array *form, struct lg_key *k)
{
    const bool table = lua_istable(L, 2);
    check_listed(L, 2);
    for (lua_Integer i = 1; table && i <= (lua_Integer)lua_rawlen(L, 2); i++) {
        lua_rawgeti(L, 2, i);
        check_listed(L, -1);
        lua_pop(L, 1);
    }
    *form = a->data; /* borrowed: indices have to be where it is */
    form->ndim = 2;
    form->shape[0] = a->rows;
    form->shape[1] = a->columns;
    lg_read_key(L, 2, form, k);
}

/* The rows that an item picks; what lists them is pushed. A range with a step is a list, too. */
static struct part part_of(lua_State *L, const struct kn_csr *a, const struct lg_item *item)
{
    struct part r = {item->start + 1, item->count, 0};
    if (item->kind == LG_PICKED)
        r.list = lg_step(L, "to", "vs", lg_sparse_share(L, item->index), "int64");
    else if (item->step != 1)
        r.list = lg_step(L, "gpu.range", "iiiss", r.first, item->start + (item->count - 1) * item->step + 1, item->step,
                         "int64", kn_csr_device(a)->name);
    return r;
}

bool lg_sparse_part(lua_State *L, const struct kn_csr *a, int64_t place[2])
{
    struct rt_array form;
    struct lg_key k;
    struct part parts[2] = {{1, a->rows, 0}, {1, a->columns, 0}};
    int numbers = 0;
    read_key(L, a, &form, &k);
    for (int i = 0; i < k.count; i++) {
        const struct lg_item *item = &k.items[i];
        if (item->kind == LG_NOTHING) continue;
        if (item->kind == LG_NEW) luaL_error(L, "a sparse matrix has rows and columns, and no new axes");
        if (item->kind == LG_INDEX) place[item->axis] = item->start;
        numbers += item->kind == LG_INDEX;
        parts[item->axis] = part_of(L, a, item);
    }
    if (numbers == 2) return false;
    const struct part *columns = &parts[1];
    const bool all = !columns->list && columns->count == a->columns;
    a = push_part(L, a, parts[0]);
    if (!all) push_transposed(L, push_part(L, push_transposed(L, a), *columns));
    return true;
}
