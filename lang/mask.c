/* Masks: bool arrays that say which elements of another are meant, and where arrays are true. */
#include "kernels/nonzero.h"
#include <string.h>
#include "kernels/program.h"
#include "lang/index.h"

void lg_check_mask(lua_State *L, const struct rt_array *a, int axis, const struct rt_array *mask)
{
    char left[256], right[256];
    bool fits = mask->ndim <= a->ndim - axis && mask->ndim > 0;
    for (int i = 0; fits && i < mask->ndim; i++) fits = mask->shape[i] == a->shape[axis + i];
    if (!fits)
        luaL_error(L, "a mask of shape %s does not fit an array of shape %s%s",
                   rt_shape_text(mask->ndim, mask->shape, left, sizeof left),
                   rt_shape_text(a->ndim, a->shape, right, sizeof right),
                   axis ? lua_pushfstring(L, " from axis %d on", axis + 1)
                        : ": it must have the sizes of its first axes");
    if (rt_array_device(mask) != rt_array_device(a))
        luaL_error(L, "the mask is on %s and the array on %s; move the mask by mask:to(\"%s\")",
                   rt_array_device(mask)->name, rt_array_device(a)->name, rt_array_device(a)->name);
}

/* ---- x[mask] ---- */

/* The shape of what a mask over the first axes picks: how many, and the axes behind the mask. */
static int picked_shape(const struct rt_array *a, const struct rt_array *mask, int64_t count, int64_t *shape)
{
    int ndim = 0;
    shape[ndim++] = count;
    for (int i = mask->ndim; i < a->ndim; i++) shape[ndim++] = a->shape[i];
    return ndim;
}

/* *rows = `a` with the mask's axes made one, of `ndim` and `shape`: a view, or a copy where it takes one, which *copied
 * then says. */
static enum rt_status make_rows(const struct rt_array *a, int ndim, const int64_t *shape, struct rt_array *rows,
                                bool *copied, struct rt_error *e)
{
    enum rt_status status = rt_array_reshape(a, ndim, shape, rows, e);
    *copied = status == RT_UNSUPPORTED;
    if (!*copied) return status;
    struct rt_array copy;
    if (e) rt_error_clear(e);
    if ((status = kn_contiguous(a, &copy, e)) != RT_OK) return status;
    status = rt_array_reshape(&copy, ndim, shape, rows, e);
    rt_array_release(&copy);
    return status;
}

/* What x[mask] and its assignment hold while they work; nothing in between calls Lua. */
struct masked {
    struct rt_array rows;
    struct kn_mask mask;
    bool copied;
    int ndim; /* of what the mask picks */
    int64_t shape[RT_MAX_DIMS];
};

static enum rt_status start_masked(const struct rt_array *a, const struct rt_array *mask, struct masked *m,
                                   struct rt_error *e)
{
    m->rows = (struct rt_array){0};
    enum rt_status status = kn_mask_count(mask, &m->mask, e);
    if (status != RT_OK) return status;
    m->ndim = picked_shape(a, mask, m->mask.places, m->shape);
    status = make_rows(a, m->ndim, m->shape, &m->rows, &m->copied, e);
    m->shape[0] = m->mask.count;
    return status;
}

static void end_masked(struct masked *m)
{
    rt_array_release(&m->rows);
    kn_mask_release(&m->mask);
}

/* One that Lua's collector ends when an error leaves it behind. */
static int collect_masked(lua_State *L)
{
    end_masked(lua_touserdata(L, 1));
    return 0;
}

static struct masked *push_masked(lua_State *L)
{
    struct masked *m = lua_newuserdatauv(L, sizeof *m, 0);
    memset(m, 0, sizeof *m);
    if (luaL_newmetatable(L, "lunarray.mask")) {
        lua_pushcfunction(L, collect_masked);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    lg_memory_enter(L);
    lg_check_frame(L);
    return m;
}

int lg_read_masked(lua_State *L, const struct rt_array *a, const struct rt_array *mask)
{
    struct masked m;
    struct rt_error *e = lg_error_box(L);
    lg_check_mask(L, a, 0, mask);
    struct rt_array *out = lg_new_array(L);
    enum rt_status status = start_masked(a, mask, &m, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), a->dtype, m.ndim, m.shape, out, e);
    if (status == RT_OK) status = kn_mask_read(&m.mask, &m.rows, out, e);
    end_masked(&m);
    lg_check(L, status);
    return 1;
}

static void write_number(lua_State *L, const struct rt_array *a, const struct rt_array *mask, int value)
{
    struct rt_array spread = *mask; /* borrowed, with axes of size 1 for those that it does not cover */
    struct rt_array target = *a;
    struct kn_operand args[3];
    char element[RT_ELEMENT] = {0};
    for (int i = mask->ndim; i < a->ndim; i++) {
        spread.shape[i] = 1;
        spread.strides[i] = 0;
    }
    spread.ndim = a->ndim;
    args[0] = (struct kn_operand){.array = &spread};
    /* Rounded to the array's dtype first, so that the number cannot widen the computation. */
    lg_check_assigned(L, value, a->dtype);
    lg_store_scalar(L, value, a->dtype, element);
    struct rt_complex z = rt_load_complex(a->dtype, element);
    if (rt_is_complex(a->dtype))
        args[1] = (struct kn_operand){.is_float = true, .is_complex = true, .f = z.re, .im = z.im};
    else
        args[1] = rt_dtypes[a->dtype].kind == 'f' ? (struct kn_operand){.is_float = true, .f = z.re}
                                                  : (struct kn_operand){.i = rt_load_int(a->dtype, element)};
    args[2] = (struct kn_operand){.array = a};
    lg_check(L, kn_apply(KN_WHERE, args, &target, lg_error_box(L)));
}

void lg_write_masked(lua_State *L, const struct rt_array *a, const struct rt_array *mask, int value)
{
    lg_check_mask(L, a, 0, mask);
    if (lg_is_scalar(L, value)) {
        write_number(L, a, mask, value);
        return;
    }
    struct masked *m = push_masked(L);
    struct rt_error *e = lg_error_box(L);
    struct rt_array picked;
    const struct rt_array *from = lg_push_value(L, value, a);
    lg_check(L, start_masked(a, mask, m, e));
    lg_check_assignable(L, from, m->ndim, m->shape, "mask picks");
    lg_check(L, rt_array_broadcast(from, m->ndim, m->shape, &picked, e));
    enum rt_status status = kn_mask_write(&m->mask, &m->rows, &picked, e);
    rt_array_release(&picked);
    lg_check(L, status);
    if (m->copied) {
        struct rt_array whole = m->rows; /* borrowed: the copy in the array's own shape */
        rt_array_over(m->rows.storage, a->dtype, a->ndim, a->shape, &whole);
        lg_check(L, kn_copy(a, &whole, e));
    }
    end_masked(m);
}

/* ---- where an array is true ---- */

/* Pushes the array as bools: itself, or where it is not zero. */
static const struct rt_array *push_bools(lua_State *L, const struct rt_array *a)
{
    struct kn_operand args[2] = {{.array = a}, {.i = 0}};
    struct rt_array *out = lg_new_array(L);
    if (a->dtype == RT_BOOL)
        rt_array_share(a, out);
    else
        lg_check(L, kn_apply(KN_NE, args, out, lg_error_box(L)));
    return out;
}

/* Pushes the row-major places, from 1. */
static const struct rt_array *push_places(lua_State *L, const struct rt_array *a)
{
    struct rt_error *e = lg_error_box(L);
    struct kn_mask mask;
    const struct rt_array *bools = push_bools(L, a);
    struct rt_array *out = lg_new_array(L);
    enum rt_status status = kn_mask_count(bools, &mask, e);
    if (status == RT_OK) status = rt_array_new(rt_array_device(a), RT_INT64, 1, &mask.count, out, e);
    if (status == RT_OK) status = kn_mask_places(&mask, out, e);
    kn_mask_release(&mask);
    lg_check(L, status);
    lua_remove(L, -2);
    return out;
}

/* *out = the indices along an axis that the places have in a shape, from 1. */
static enum rt_status unravel(const struct rt_array *places, const struct rt_array *form, int axis,
                              struct rt_array *out, struct rt_error *e)
{
    struct kn_program p;
    int at, number, k = 0;
    int64_t behind = 1;
    for (int i = axis + 1; i < form->ndim; i++) behind *= form->shape[i];
    const struct {
        enum kn_op op;
        int64_t by;
    } steps[] = {{KN_SUB, 1}, {KN_FLOORDIV, behind}, {KN_MOD, form->shape[axis]}, {KN_ADD, 1}};
    kn_program_start(&p);
    enum rt_status status = kn_program_array(&p, places, &at, e);
    for (; k < 4 && status == RT_OK; k++) {
        if (steps[k].op == KN_FLOORDIV && behind == 1) continue;
        if (steps[k].op == KN_MOD && axis == 0) continue; /* nothing is in front */
        status = kn_program_number(&p, &(struct kn_operand){.i = steps[k].by}, &number, e);
        if (status == RT_OK) status = kn_program_op(&p, steps[k].op, (int[]){at, number}, &at, e);
    }
    return status == RT_OK ? kn_program_run(&p, out, e) : status;
}

int lg_push_nonzero(lua_State *L, const struct rt_array *a)
{
    luaL_checkstack(L, a->ndim + 8, NULL);
    const struct rt_array *places = push_places(L, a);
    if (a->ndim == 1) return 1;
    int base = lua_gettop(L);
    for (int axis = 0; axis < a->ndim; axis++) lg_check(L, unravel(places, a, axis, lg_new_array(L), lg_error_box(L)));
    lua_remove(L, base);
    return a->ndim;
}

static int nonzero(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes has no indices; x:item() is its element");
    return lg_push_nonzero(L, a);
}

int lg_where_true(lua_State *L)
{
    return nonzero(L);
}

static int argwhere(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    const struct rt_array *places = push_places(L, a);
    int64_t shape[2] = {places->shape[0], a->ndim};
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), RT_INT64, 2, shape, out, e));
    for (int axis = 0; axis < a->ndim; axis++) {
        struct rt_array column = *out; /* borrowed */
        column.ndim = 1;
        column.strides[0] = a->ndim;
        column.offset += axis;
        lg_check(L, unravel(places, a, axis, &column, e));
    }
    return 1;
}

static int flatnonzero(lua_State *L)
{
    push_places(L, lg_check_array(L, 1));
    return 1;
}

/* ---- methods ---- */

/* The mask at idx, an array or a table of booleans that it then is the array of. */
static const struct rt_array *check_bools(lua_State *L, int idx, struct rt_device *d)
{
    if (lua_istable(L, idx)) {
        lg_push_from_table(L, idx, RT_DTYPE_COUNT, d);
        lua_replace(L, idx);
    }
    const struct rt_array *mask = lg_check_array(L, idx);
    if (mask->dtype != RT_BOOL)
        luaL_error(L, "a mask has dtype bool, such as x:gt(0); this one has %s", rt_dtypes[mask->dtype].name);
    return mask;
}

static int masked_select(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *from = lg_check_array(L, 1);
    const struct rt_array *pair[2] = {from, check_bools(L, 2, rt_array_device(from))};
    int64_t shape[RT_MAX_DIMS];
    int ndim;
    lg_check(L, rt_broadcast_shape(pair, 2, &ndim, shape, e));
    for (int i = 0; i < 2; i++) lg_check(L, rt_array_broadcast(pair[i], ndim, shape, lg_new_array(L), e));
    if (ndim == 0) { /* a mask covers one axis at least */
        for (int i = -1; i >= -2; i--) {
            struct rt_array *a = lua_touserdata(L, i);
            a->ndim = 1;
            a->shape[0] = 1;
            a->strides[0] = 1;
        }
    }
    return lg_read_masked(L, lua_touserdata(L, -2), lua_touserdata(L, -1));
}

static int compress(lua_State *L)
{
    char text[256];
    const struct rt_array *a = lg_check_array(L, 1), *mask = check_bools(L, 2, rt_array_device(a));
    int axis = lua_isnoneornil(L, 3) ? 0 : lg_check_axis(L, 3, a->ndim);
    if (a->ndim == 0) return luaL_error(L, "an array of no axes cannot be compressed");
    if (mask->ndim != 1 || mask->shape[0] != a->shape[axis])
        return luaL_error(
            L, "the mask of x:compress has one axis, of %I elements as axis %d; this one has the shape %s",
            (LUAI_UACINT)a->shape[axis], axis + 1, rt_shape_text(mask->ndim, mask->shape, text, sizeof text));
    int axes[RT_MAX_DIMS], back[RT_MAX_DIMS];
    axes[0] = axis;
    for (int i = 1; i < a->ndim; i++) axes[i] = i - (i <= axis);
    for (int i = 0; i < a->ndim; i++) back[axes[i]] = i;
    struct rt_array *turned = lg_new_array(L);
    lg_check(L, rt_array_permute(a, axes, turned, lg_error_box(L)));
    lg_read_masked(L, turned, mask);
    const struct rt_array *rows = lua_touserdata(L, -1);
    lg_check(L, rt_array_permute(rows, back, lg_new_array(L), lg_error_box(L)));
    return 1;
}

const struct lg_function lg_mask_methods[] = {
    {"nonzero", nonzero, "x:nonzero()   gpu.where(x)",
     "Where x is true, or not zero: an int64 array of indices for each axis, in row-major order.\n"
     "As many results as x has axes, so that x[{x:nonzero()}] are the elements.",
     "local x = gpu.array({{0, 5}, {7, 0}})\nlocal i, j = x:nonzero()\n"
     "assert(i[1] == 1 and j[1] == 2 and i[2] == 2 and j[2] == 1)\nassert(x[{x:nonzero()}]:sum() == 12)"},
    {"argwhere", argwhere, "x:argwhere()",
     "Where x is true, or not zero: an int64 matrix with a row of indices for each such element.",
     "local at = gpu.array({{0, 5}, {7, 0}}):argwhere()\nassert(at.shape[1] == 2 and at[{2, 1}] == 2 and at[{2, 2}] == 1)"},
    {"flatnonzero", flatnonzero, "x:flatnonzero()",
     "Where x is true, or not zero, counted through all its elements in row-major order.",
     "assert(gpu.array({{0, 5}, {7, 0}}):flatnonzero()[2] == 3)"},
    {"masked_select", masked_select, "x:masked_select(mask)",
     "The elements where the mask is true, in one axis. x and the mask broadcast.\n"
     "x[mask] is the same for a mask of x's shape, and takes whole parts of x for one of fewer axes.",
     "local x = gpu.array({{1, 5}, {7, 2}})\nassert(x:masked_select(x:gt(2)):sum() == 12)\n"
     "assert(#x:masked_select(gpu.array({true, false})) == 2)"},
    {"compress", compress, "x:compress(mask [, axis])",
     "The parts along an axis, the first unless told otherwise, for which a mask of one axis is true.\n"
     "The mask is an array of bools or a table of booleans.",
     "local x = gpu.array({{1, 5}, {7, 2}})\nassert(x:compress({false, true}, 2):sum() == 7)"},
    {0}};
