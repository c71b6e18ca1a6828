/* x[key] and x[key] = value. Without index arrays the key makes a view, which is then read or written; with them the
 * rest of the key makes a view first, and the index arrays pick from that. */
#include <stdio.h>
#include <string.h>
#include "kernels/gather.h"
#include "lang/index.h"
#include "lang/lazy.h"

/* Arrays of indices. */

/* The largest integer up to which a floating type holds every one. */
static int64_t exact_up_to(enum rt_dtype t)
{
    return t == RT_FLOAT16 ? 1 << 11 : t == RT_BFLOAT16 ? 1 << 8 : t == RT_FLOAT32 ? 1 << 24 : (int64_t)1 << 53;
}

/* Floats are indices, as they are in Lua, when they are whole numbers and their dtype holds every index there is. */
static void check_whole(lua_State *L, const struct rt_array *floats, const struct rt_array *integers, int64_t length,
                        const char *axis)
{
    struct rt_error *e = lg_error_box(L);
    const char *name = rt_dtypes[floats->dtype].name;
    if (length > exact_up_to(floats->dtype))
        luaL_error(L, "%s does not hold all indices of %s, which has %I elements; make the indices int64", name, axis,
                   (LUAI_UACINT)length);
    struct rt_array *same = lg_new_array(L), *all = lg_new_array(L);
    struct kn_operand args[2] = {{.array = floats}, {.array = integers}};
    lg_check(L, kn_apply(KN_EQ, args, same, e));
    lg_check(L, kn_reduce(KN_ALL, same, -1, false, all, e));
    lg_push_element(L, all);
    if (!lua_toboolean(L, -1))
        luaL_error(L, "indices are whole numbers, and not all of the %s ones on %s are", name, axis);
    lua_pop(L, 3);
}

const struct rt_array *lg_push_indices(lua_State *L, int idx, const struct rt_array *a, int axis)
{
    struct rt_device *d = rt_array_device(a);
    const struct rt_array *index;
    if (lua_istable(L, idx)) {
        index = lg_push_from_table(L, idx, RT_FLOAT64, d);
    } else {
        if (!lg_test_array(L, idx)) luaL_typeerror(L, idx, "array or table of indices");
        lua_pushvalue(L, idx);
        index = lg_check_array(L, -1);
    }
    if (index->dtype == RT_BOOL)
        luaL_error(L, "indices are numbers; masks of dtype bool go into x[mask], x:masked_select and x:compress");
    if (rt_array_device(index) != d)
        luaL_error(L, "the indices are on %s and the array on %s; move them by :to(\"%s\")",
                   rt_array_device(index)->name, d->name, d->name);
    if (index->dtype == RT_INT32 || index->dtype == RT_INT64) return index;
    lg_check(L, kn_check_real(index, "indexing", lg_error_box(L)));
    struct rt_array *integers = lg_new_array(L);
    lg_check(L, kn_convert(index, RT_INT64, d, integers, lg_error_box(L)));
    if (rt_dtypes[index->dtype].kind == 'f') {
        char name[32] = "the array";
        if (axis >= 0) snprintf(name, sizeof name, "axis %d", axis + 1);
        check_whole(L, index, integers, axis < 0 ? rt_array_size(a) : a->shape[axis], name);
    }
    lua_remove(L, -2);
    return integers;
}

/* Views. */

/* The axis that an item leaves, if any. */
static bool keep_axis(const struct lg_key *k, const struct lg_item *item, struct rt_array *v, int64_t *shape,
                      int64_t *stride)
{
    if (item->kind == LG_NOTHING) return false;
    *stride = item->kind == LG_NEW ? 0 : k->a->strides[item->axis];
    v->offset += item->start * *stride;
    *stride *= item->step;
    *shape = item->kind == LG_PICKED ? k->a->shape[item->axis] : item->count;
    return item->kind != LG_INDEX;
}

/* Makes *v a view of the key's array, without a storage: what the key picks. Axes with index arrays stay whole and get
 * a true in `picked`, which may be NULL. */
static void narrow(lua_State *L, const struct lg_key *k, struct rt_array *v, bool *picked)
{
    int kept = 0, items = k->count + k->a->ndim - k->axes;
    v->dtype = k->a->dtype;
    v->offset = k->a->offset;
    for (int i = 0; i < items; i++) {
        int64_t shape, stride;
        int axis = k->axes + i - k->count; /* of those behind the key's */
        struct lg_item whole = {.kind = LG_RANGE, .axis = axis, .step = 1};
        if (i >= k->count) whole.count = k->a->shape[axis];
        const struct lg_item *item = i < k->count ? &k->items[i] : &whole;
        if (!keep_axis(k, item, v, &shape, &stride)) continue;
        if (kept == RT_MAX_DIMS) luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
        if (picked) picked[kept] = item->kind == LG_PICKED;
        v->shape[kept] = shape;
        v->strides[kept++] = stride;
    }
    v->ndim = kept;
}

/* Index arrays. */

struct access {
    struct kn_indexing x;
    struct rt_array view;                /* what the indices pick from; borrowed */
    struct rt_array index[KN_MAX_PICKS]; /* spread over the places; borrowed */
    const struct rt_array *given[KN_MAX_PICKS];
};

/* Where the axes of the index arrays go among the others: in the place of the first of them when they stand side by
 * side, else in front. Numbers beside index arrays count as such, as in NumPy. */
static int place_of_picked(const struct lg_key *k)
{
    int before = 0, first = -1;
    bool parted = false;
    for (int i = 0; i < k->count; i++) {
        enum lg_item_kind kind = k->items[i].kind;
        if (kind == LG_PICKED || kind == LG_INDEX) {
            if (parted) return 0;
            if (first < 0) first = before;
        } else {
            parted = first >= 0;
            before += kind != LG_NOTHING;
        }
    }
    return first;
}

/* Spreads the index arrays, which broadcast to `shape`, over the places, where their axes begin at `at`. */
static void spread_indices(lua_State *L, struct access *c, int ndim, const int64_t *shape, int at)
{
    for (int i = 0; i < c->x.count; i++) {
        struct rt_array spread, *to = &c->index[i];
        lg_check(L, rt_array_broadcast(c->given[i], ndim, shape, &spread, lg_error_box(L)));
        *to = spread;
        rt_array_release(&spread); /* the array given keeps the storage */
        int64_t strides[RT_MAX_DIMS];
        memcpy(strides, to->strides, sizeof strides);
        to->ndim = c->x.ndim;
        for (int d = 0; d < to->ndim; d++) {
            to->shape[d] = c->x.shape[d];
            to->strides[d] = d >= at && d < at + ndim ? strides[d - at] : 0;
        }
        c->x.picks[i].index = to;
    }
}

static void add_place_axis(struct kn_indexing *x, int64_t size, int runs)
{
    x->shape[x->ndim] = size;
    x->runs[x->ndim++] = runs;
}

static void make_access(lua_State *L, const struct lg_key *k, struct access *c)
{
    bool picked[RT_MAX_DIMS] = {false};
    int64_t shape[RT_MAX_DIMS] = {0};
    int ndim, at = place_of_picked(k), pick = 0;
    narrow(L, k, &c->view, picked);
    c->view.storage = k->a->storage; /* borrowed */
    c->x = (struct kn_indexing){.data = &c->view};
    for (int i = 0; i < k->count; i++) {
        if (k->items[i].kind != LG_PICKED) continue;
        if (c->x.count == KN_MAX_PICKS) luaL_error(L, "at most %d axes can have arrays of indices", KN_MAX_PICKS);
        c->given[c->x.count] = k->items[i].index;
        c->x.picks[c->x.count++].named = k->items[i].axis;
    }
    lg_check(L, rt_broadcast_shape(c->given, c->x.count, &ndim, shape, lg_error_box(L)));
    if (c->view.ndim - c->x.count + ndim > RT_MAX_DIMS) luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    for (int axis = 0, kept = 0; axis <= c->view.ndim; axis++) {
        bool runs = axis < c->view.ndim && !picked[axis];
        if (kept == at && (runs || axis == c->view.ndim)) {
            for (int d = 0; d < ndim; d++) add_place_axis(&c->x, shape[d], -1);
            kept++; /* they are in: no later axis is in their place */
        }
        if (axis == c->view.ndim) break;
        if (runs) {
            add_place_axis(&c->x, c->view.shape[axis], axis);
            kept++;
        } else {
            c->x.picks[pick++].axis = axis;
        }
    }
    spread_indices(L, c, ndim, shape, at);
}

static int read_picked(lua_State *L, const struct lg_key *k)
{
    struct access c;
    make_access(L, k, &c);
    struct rt_array *out = lg_new_array(L);
    struct rt_error *e = lg_error_box(L);
    lg_check(L, rt_array_new(rt_array_device(k->a), k->a->dtype, c.x.ndim, c.x.shape, out, e));
    lg_check(L, kn_gather(&c.x, out, e));
    if (out->ndim == 0) lg_push_element(L, out);
    return 1;
}

void lg_check_assignable(lua_State *L, const struct rt_array *value, int ndim, const int64_t *shape, const char *by)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array fits;
    char left[256], right[256];
    if (rt_array_broadcast(value, ndim, shape, &fits, e) == RT_OK) {
        rt_array_release(&fits); /* the value keeps the storage */
        return;
    }
    rt_error_clear(e);
    luaL_error(L, "cannot assign an array of shape %s to the elements that the %s, of shape %s",
               rt_shape_text(value->ndim, value->shape, left, sizeof left), by,
               rt_shape_text(ndim, shape, right, sizeof right));
}

static void write_picked(lua_State *L, const struct lg_key *k, int idx)
{
    struct access c;
    const struct rt_array *value = lg_push_value(L, idx, k->a);
    make_access(L, k, &c);
    lg_check_assignable(L, value, c.x.ndim, c.x.shape, "indices pick");
    lg_check(L, kn_scatter(&c.x, value, lg_error_box(L)));
}

/* Values. */

void lg_check_assigned(lua_State *L, int value, enum rt_dtype dtype)
{
    lua_Integer low, high;
    if (lua_isuserdata(L, value) && !rt_is_complex(dtype))
        luaL_error(
            L,
            "cannot assign a complex number to %s elements; convert the array first, with :to(\"%s\"), or assign "
            "z.re",
            rt_dtypes[dtype].name, rt_dtypes[rt_complex_of(dtype)].name);
    if (!lg_scalar_fits(L, value, dtype, &low, &high))
        luaL_error(L,
                   "cannot assign %I: the %s elements of the array hold integers from %I to %I; convert the array "
                   "first, e.g. with :to(\"int64\"), or write a float, which is cut to that range",
                   (LUAI_UACINT)lua_tointeger(L, value), rt_dtypes[dtype].name, (LUAI_UACINT)low, (LUAI_UACINT)high);
}

static void fill_view(lua_State *L, const struct rt_array *target, int value)
{
    struct kn_operand number;
    lg_check(L, rt_array_writable(target, lg_error_box(L)));
    lg_check_assigned(L, value, target->dtype);
    void *host = target->ndim == 0 ? lg_array_host(target) : NULL;
    if (host) {
        lg_store_scalar(L, value, target->dtype, host);
        return;
    }
    lg_check_operand(L, value, &number);
    lg_check(L, kn_fill(target, &number, lg_error_box(L)));
}

/* The array or table at idx; an array may still wait, and one from a table is pushed. */
static struct rt_array *check_value(lua_State *L, int idx, const struct rt_array *target)
{
    if (lua_istable(L, idx)) return lg_push_from_table(L, idx, target->dtype, rt_array_device(target));
    if (!lg_test_array(L, idx))
        luaL_error(L, "cannot assign %s to elements of an array; expected a number, a boolean, a table or an array",
                   lg_type_name(L, idx));
    struct rt_array *value = lg_check_form(L, idx);
    const char *here = rt_array_device(target)->name;
    if (rt_array_device(value) != rt_array_device(target))
        luaL_error(L, "the array is on %s and the value on %s; move it by value:to(\"%s\")", here,
                   rt_array_device(value)->name, here);
    return value;
}

const struct rt_array *lg_push_value(lua_State *L, int idx, const struct rt_array *target)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = rt_array_device(target);
    if (lg_is_scalar(L, idx)) {
        struct kn_operand number;
        lg_check_assigned(L, idx, target->dtype);
        lg_check_operand(L, idx, &number);
        struct rt_array *out = lg_new_array(L);
        lg_check(L, rt_array_new(d, target->dtype, 0, NULL, out, e));
        lg_check(L, kn_fill(out, &number, e));
        return out;
    }
    struct rt_array *value = check_value(L, idx, target);
    lg_evaluate(L, value);
    if (value->dtype == target->dtype) return value;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(value, target->dtype, d, out, e));
    return out;
}

const struct rt_array *lg_push_apart(lua_State *L, const struct rt_array *read, const struct rt_array *written)
{
    if (read->storage != written->storage) return read;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_convert(read, read->dtype, rt_array_device(read), out, lg_error_box(L)));
    return out;
}

/* What waits is computed where it is wanted. It does not read the target: what does was evaluated before. */
static void copy_to_view(lua_State *L, struct rt_array *target, int idx)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *value = check_value(L, idx, target);
    struct kn_expression *x = lg_waits(value) ? ((struct lg_array *)value)->expression : NULL;
    if (x && !kn_expression_value(x) && rt_array_same_shape(value, target)) {
        lg_check(L, kn_expression_write(x, target, e));
        return;
    }
    lg_evaluate(L, value);
    lg_check(L, kn_copy(target, value, e));
}

/* Reading and writing. */

/* C functions that walk a sequence (ipairs, table.unpack) expect nil behind its end; code in Lua gets an error. */
static bool ends_walk(lua_State *L, const struct rt_array *a)
{
    lua_Debug caller;
    if (!lua_isinteger(L, 2) || a->ndim == 0 || lua_tointeger(L, 2) != a->shape[0] + 1) return false;
    return lua_getstack(L, 1, &caller) && lua_getinfo(L, "S", &caller) && *caller.what == 'C';
}

static bool picks_element(const struct lg_key *k)
{
    if (k->axes < k->a->ndim) return false;
    for (int i = 0; i < k->count; i++)
        if (k->items[i].kind != LG_INDEX) return false;
    return true;
}

/* The mask that the key at idx 2 is, NULL for other keys. */
static const struct rt_array *check_mask_key(lua_State *L)
{
    const struct rt_array *a = lua_type(L, 2) == LUA_TUSERDATA ? lg_test_array(L, 2) : NULL;
    return a && a->dtype == RT_BOOL ? lg_check_array(L, 2) : NULL;
}

int lg_array_index(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct lg_key k;
    const struct rt_array *mask = check_mask_key(L);
    if (mask) return lg_read_masked(L, a, mask);
    if (ends_walk(L, a)) return 0;
    lg_read_key(L, 2, a, &k);
    if (k.has_arrays) return read_picked(L, &k);
    if (picks_element(&k)) {
        struct rt_array one;
        narrow(L, &k, &one, NULL);
        one.storage = a->storage; /* borrowed */
        lg_push_element(L, &one);
        return 1;
    }
    struct rt_array *out = lg_new_array(L);
    narrow(L, &k, out, NULL);
    out->storage = rt_storage_retain(a->storage);
    return 1;
}

int lg_array_newindex(lua_State *L)
{
    const struct rt_array *a = lg_check_target(L, 1);
    struct lg_key k;
    const struct rt_array *mask = check_mask_key(L);
    if (mask) {
        lg_write_masked(L, a, mask, 3);
        return 0;
    }
    lg_read_key(L, 2, a, &k);
    if (k.has_arrays) {
        write_picked(L, &k, 3);
        return 0;
    }
    struct rt_array target;
    narrow(L, &k, &target, NULL);
    target.storage = a->storage; /* borrowed */
    if (lg_is_scalar(L, 3))
        fill_view(L, &target, 3);
    else
        copy_to_view(L, &target, 3);
    return 0;
}

void lg_open_indexing(lua_State *L)
{
    static const struct lg_function *const both[] = {lg_view_functions, lg_rearrange_functions, lg_diagonal_functions};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) lg_register(L, "array", both[i]);
    lg_register(L, "array", lg_mask_methods);
    lg_register(L, "array", lg_gather_methods);
    lg_register(L, "array", lg_diagonal_methods);
    lua_pushvalue(L, -2);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) lg_register(L, "gpu", both[i]);
    lg_register(L, "gpu", lg_grid_functions);
    lg_register(L, "gpu", lg_spaced_functions);
    lua_pushliteral(L, "newaxis"); /* what stands for it in a key */
    lua_setfield(L, -2, "newaxis");
    lua_pop(L, 1);
}
