/* New arrays whose elements are another's in other places: rolled, repeated, tiled, padded. */
#include <stdlib.h>
#include <string.h>
#include "kernels/gather.h"
#include "kernels/rearrange.h"
#include "kernels/rolled.h"
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/lazy.h"
#include "lang/steps.h"

static struct rt_array *push_new(lua_State *L, const struct rt_array *like, int ndim, const int64_t *shape)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(like), like->dtype, ndim, shape, out, lg_error_box(L)));
    return out;
}

/* A borrowed part of an axis; step -1 reads it backwards from `start`. */
static struct rt_array part(const struct rt_array *a, int axis, int64_t start, int64_t count, int64_t step)
{
    struct rt_array out = *a;
    out.shape[axis] = count;
    if (count > 0) out.offset += start * a->strides[axis];
    out.strides[axis] *= step;
    return out;
}

static void copy(lua_State *L, struct rt_array to, struct rt_array from)
{
    lg_check(L, kn_copy(&to, &from, lg_error_box(L)));
}

/* ---- roll ---- */

/* A shift of an axis of n elements as one to the right of less than that. */
static int64_t within(int64_t shift, int64_t n)
{
    return n == 0 ? 0 : (shift % n + n) % n;
}

static void roll_into(lua_State *L, const struct rt_array *to, const struct rt_array *a, const int64_t *shift)
{
    lg_check(L, kn_roll(&(struct kn_rolled){a, shift}, to, lg_error_box(L)));
}

/* Pushes the array at idx rolled, which waits as operations do where the host computes those. */
static int push_rolled(lua_State *L, int idx, const int64_t *shift)
{
    struct rt_array *a = lg_check_form(L, idx);
    struct kn_expression *x = NULL;
    lg_bring_over(L, a);
    const bool later = !kn_runs_generated(rt_array_device(a)) && lg_worth_waiting(L, (const struct rt_array *[]){a}, 1);
    if (later && !a->storage->foreign) {
        struct rt_array *out = lg_new_array(L);
        struct kn_source from = {.expression = ((struct lg_array *)a)->expression, .operand = {.array = a}};
        enum rt_status status = kn_expression_roll(&from, shift, &x, lg_error_box(L));
        if (status == RT_UNSUPPORTED) {
            rt_error_clear(lg_error_box(L));
            lg_evaluate(L, a);
            from.expression = NULL;
            status = kn_expression_roll(&from, shift, &x, lg_error_box(L));
        }
        lg_check(L, status);
        lg_wait(L, out, x);
        return 1;
    }
    a = lg_check_array(L, idx);
    roll_into(L, push_new(L, a, a->ndim, a->shape), a, shift);
    return 1;
}

/* The elements of a contiguous array as one axis, borrowed. */
static struct rt_array line_of(const struct rt_array *a)
{
    struct rt_array out = *a;
    out.ndim = 1;
    out.shape[0] = rt_array_size(a);
    out.strides[0] = 1;
    return out;
}

static int roll_all(lua_State *L, const struct rt_array *a, int64_t shift)
{
    if (!rt_array_contiguous(a)) {
        struct rt_array *whole = lg_new_array(L);
        lg_check(L, kn_contiguous(a, whole, lg_error_box(L)));
        a = whole;
    }
    const struct rt_array *out = push_new(L, a, a->ndim, a->shape), from = line_of(a), to = line_of(out);
    shift = within(shift, from.shape[0]);
    roll_into(L, &to, &from, &shift);
    return 1;
}

/* The i-th integer of a number or list at idx. */
static int64_t integer_of(lua_State *L, int idx, lua_Integer i, const char *what)
{
    int is_integer;
    if (!lua_istable(L, idx)) return luaL_checkinteger(L, idx);
    lua_rawgeti(L, idx, i);
    int64_t v = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer) luaL_error(L, "%s must be an integer, got %s", what, lg_type_name(L, -1));
    lua_pop(L, 1);
    return v;
}

static int roll(lua_State *L)
{
    const struct rt_array *a = lg_check_form(L, 1);
    int64_t shift[RT_MAX_DIMS] = {0};
    lua_settop(L, 3);
    if (lua_isnil(L, 3)) return roll_all(L, lg_check_array(L, 1), luaL_checkinteger(L, 2));
    bool list = lua_istable(L, 3);
    lua_Integer count = list ? (lua_Integer)lua_rawlen(L, 3) : 1;
    if (list && lua_istable(L, 2) && (lua_Integer)lua_rawlen(L, 2) != count)
        return luaL_error(L, "x:roll has %d shifts for %d axes", (int)lua_rawlen(L, 2), (int)count);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_pushinteger(L, integer_of(L, 3, i, "an axis to roll"));
        int axis = lg_check_axis(L, -1, a->ndim);
        lua_pop(L, 1);
        shift[axis] = within(shift[axis] + within(integer_of(L, 2, i, "a shift"), a->shape[axis]), a->shape[axis]);
    }
    lua_settop(L, 1);
    return count > 0 ? push_rolled(L, 1, shift) : 1;
}

/* ---- repeat and tile ---- */

static void check_count(lua_State *L, int64_t count, const char *what)
{
    if (count < 0) luaL_error(L, "%s must not be negative, got %I", what, (LUAI_UACINT)count);
}

static int64_t check_product(lua_State *L, int64_t a, int64_t b)
{
    int64_t out = 0;
    if (__builtin_mul_overflow(a, b, &out)) luaL_error(L, "the result has more elements than any memory");
    return out;
}

/* Every element `count` times: the axis becomes two in both arrays, and the source stands still along the second. */
static int repeat_evenly(lua_State *L, const struct rt_array *a, int axis, int64_t count)
{
    int64_t shape[RT_MAX_DIMS];
    check_count(L, count, "a count of repetitions");
    if (a->ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] = check_product(L, shape[axis], count);
    struct rt_array *out = push_new(L, a, a->ndim, shape), to = *out, from = *a;
    size_t behind = (size_t)(a->ndim - axis) * sizeof(int64_t);
    memmove(to.shape + axis + 1, to.shape + axis, behind);
    memmove(to.strides + axis + 1, to.strides + axis, behind);
    memmove(from.shape + axis + 1, from.shape + axis, behind);
    memmove(from.strides + axis + 1, from.strides + axis, behind);
    to.ndim = from.ndim = a->ndim + 1;
    to.shape[axis] = from.shape[axis] = a->shape[axis];
    to.shape[axis + 1] = from.shape[axis + 1] = count;
    to.strides[axis] = to.strides[axis + 1] * count;
    from.strides[axis + 1] = 0;
    copy(L, to, from);
    return 1;
}

/* The counts at idx as int64 on a's device, side by side. */
static const struct rt_array *push_counts(lua_State *L, const struct rt_array *a, int axis, int idx)
{
    if (lua_istable(L, idx)) {
        lg_push_from_table(L, idx, RT_INT64, rt_array_device(a));
    } else {
        const struct rt_array *given = lg_check_array(L, idx);
        bool as_given = given->dtype == RT_INT64 && rt_array_device(given) == rt_array_device(a);
        struct rt_array *counts = lg_new_array(L);
        lg_check(L, as_given ? kn_contiguous(given, counts, lg_error_box(L))
                             : kn_convert(given, RT_INT64, rt_array_device(a), counts, lg_error_box(L)));
    }
    const struct rt_array *counts = lua_touserdata(L, -1);
    if (counts->ndim != 1 || counts->shape[0] != a->shape[axis])
        luaL_error(L, "x:repeat_interleave needs one count, or one for each of the %I elements of axis %d",
                   (LUAI_UACINT)a->shape[axis], axis + 1);
    return counts;
}

static int64_t check_total(lua_State *L, const int64_t *counts, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        check_count(L, counts[i], "a count of repetitions");
        if (__builtin_add_overflow(total, counts[i], &total))
            luaL_error(L, "the result has more elements than any memory");
    }
    return total;
}

/* On the host, whose memory has the counts. */
static int repeat_on_host(lua_State *L, const struct rt_array *a, int axis, const struct rt_array *counts)
{
    struct kn_counts c;
    int64_t shape[RT_MAX_DIMS];
    struct rt_array *whole = lg_new_array(L), *out = lg_new_array(L);
    lg_check(L, kn_contiguous(a, whole, lg_error_box(L)));
    memcpy(shape, a->shape, sizeof shape);
    enum rt_status status = kn_counts_add_up(rt_array_host(counts), counts->shape[0], &c, lg_error_box(L));
    if (status == RT_OK) {
        shape[axis] = c.total;
        status = rt_array_new(rt_array_device(a), a->dtype, a->ndim, shape, out, lg_error_box(L));
    }
    if (status == RT_OK) status = kn_repeat_host(whole, axis, &c, out, lg_error_box(L));
    free(c.before);
    if (status == RT_INVALID) check_total(L, rt_array_host(counts), counts->shape[0]);
    lg_check(L, status);
    return 1;
}

/* A count for each element of the axis, at idx: taken by a list of indices where generated code does that. */
static int repeat_by_list(lua_State *L, const struct rt_array *a, int axis, int idx)
{
    struct rt_error *e = lg_error_box(L);
    const struct rt_array *counts = push_counts(L, a, axis, idx);
    int64_t n = a->shape[axis], at = 0;
    if (!kn_runs_generated(rt_array_device(a))) return repeat_on_host(L, a, axis, counts);
    const int64_t *count = lg_push_host_copy(L, counts);
    int64_t total = check_total(L, count, n);
    struct rt_array spread, *places = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), RT_INT64, 1, &total, places, e));
    int64_t *list = lua_newuserdatauv(L, (size_t)check_product(L, total, sizeof *list), 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < count[i]; k++) list[at++] = i + 1;
    lg_check(L, rt_array_write(places, list, e));
    struct kn_indexing x = {.data = a, .ndim = a->ndim, .count = 1};
    spread = *places; /* borrowed */
    spread.ndim = a->ndim;
    for (int i = 0; i < a->ndim; i++) {
        x.shape[i] = spread.shape[i] = i == axis ? total : a->shape[i];
        x.runs[i] = i == axis ? -1 : i;
        spread.strides[i] = i == axis;
    }
    x.picks[0] = (struct kn_pick){.index = &spread, .axis = axis, .named = axis};
    lg_check(L, kn_gather(&x, push_new(L, a, x.ndim, x.shape), e));
    return 1;
}

static int repeat_interleave(lua_State *L)
{
    struct rt_array line;
    const struct rt_array *a = lg_check_array(L, 1);
    int axis = lua_isnoneornil(L, 3) ? -1 : lg_check_axis(L, 3, a->ndim);
    lua_settop(L, 3);
    if (axis < 0) {
        struct rt_array *whole = lg_new_array(L);
        lg_check(L, kn_contiguous(a, whole, lg_error_box(L)));
        line = *whole; /* borrowed */
        line.ndim = 1;
        line.shape[0] = rt_array_size(a);
        line.strides[0] = 1;
        a = &line;
        axis = 0;
    }
    if (lua_type(L, 2) == LUA_TNUMBER) return repeat_evenly(L, a, axis, luaL_checkinteger(L, 2));
    if (!lua_istable(L, 2) && !lg_test_array(L, 2)) luaL_typeerror(L, 2, "count, or table or array of counts");
    return repeat_by_list(L, a, axis, 2);
}

static int tile(lua_State *L)
{
    int64_t counts[RT_MAX_DIMS], shape[RT_MAX_DIMS];
    int next;
    const struct rt_array *a = lg_check_array(L, 1);
    int given = lg_check_shape(L, 2, false, counts, &next), ndim = given > a->ndim ? given : a->ndim, axes = 0;
    struct rt_array from = *a, to; /* borrowed: each axis is one of tiles and one of elements */
    for (int i = 0; i < ndim; i++) {
        int old = i - (ndim - a->ndim), count = i - (ndim - given);
        int64_t n = old < 0 ? 1 : a->shape[old], times = count < 0 ? 1 : counts[count];
        shape[i] = check_product(L, n, times);
        if (axes + (times != 1) >= RT_MAX_DIMS)
            return luaL_error(L, "x:tile of %d axes, that many of them repeated, needs more than %d", ndim,
                              RT_MAX_DIMS);
        if (times != 1) {
            from.shape[axes] = times;
            from.strides[axes++] = 0;
        }
        from.shape[axes] = n;
        from.strides[axes++] = old < 0 ? 0 : a->strides[old];
    }
    from.ndim = axes;
    to = *push_new(L, a, ndim, shape);
    to.ndim = axes;
    memcpy(to.shape, from.shape, sizeof to.shape);
    for (int64_t i = axes - 1, stride = 1; i >= 0; stride *= to.shape[i--]) to.strides[i] = stride;
    copy(L, to, from);
    return 1;
}

/* ---- pad ---- */

#define WIDTH "a width of padding"

enum mode { CONSTANT, EDGE, REFLECT, SYMMETRIC, WRAP };

/* How many elements to add before and after an axis, from the argument at idx. */
static void check_widths(lua_State *L, int idx, int axis, int64_t *before, int64_t *after)
{
    int top = lua_gettop(L);
    lua_pushvalue(L, idx);
    if (lua_istable(L, -1)) {
        int type = lua_rawgeti(L, -1, axis + 1);
        if (type == LUA_TTABLE) {
            lua_replace(L, -2);
        } else {
            lua_rawgeti(L, -2, 1);
            if (lua_istable(L, -1)) luaL_error(L, "the widths of x:pad have no pair for axis %d", axis + 1);
            lua_settop(L, top + 1);
        }
        *before = integer_of(L, top + 1, 1, WIDTH);
        *after = lua_rawlen(L, top + 1) > 1 ? integer_of(L, top + 1, 2, WIDTH) : *before;
    } else {
        *before = *after = luaL_checkinteger(L, idx);
    }
    check_count(L, *before, WIDTH);
    check_count(L, *after, WIDTH);
    lua_settop(L, top);
}

/* Fills the elements before `low` and behind `high` of an axis from those between, which are there already. Reflections
 * longer than these continue from what they have made. */
static void pad_axis(lua_State *L, const struct rt_array *out, int axis, int64_t low, int64_t high, enum mode mode)
{
    int64_t end = out->shape[axis], n = high - low, most = mode == REFLECT ? n - 1 : n;
    if (mode == EDGE || most == 0) { /* one element alone reflects as itself */
        copy(L, part(out, axis, 0, low, 1), part(out, axis, low, 1, 1));
        copy(L, part(out, axis, high, end - high, 1), part(out, axis, high - 1, 1, 1));
        return;
    }
    int64_t skip = mode == REFLECT;
    while (low > 0) {
        int64_t count = low < most ? low : most;
        if (mode == WRAP)
            copy(L, part(out, axis, low - count, count, 1), part(out, axis, low + n - count, count, 1));
        else
            copy(L, part(out, axis, low - count, count, 1), part(out, axis, low + skip + count - 1, count, -1));
        low -= count;
    }
    while (high < end) {
        int64_t count = end - high < most ? end - high : most;
        if (mode == WRAP)
            copy(L, part(out, axis, high, count, 1), part(out, axis, high - n, count, 1));
        else
            copy(L, part(out, axis, high, count, 1), part(out, axis, high - 1 - skip, count, -1));
        high += count;
    }
}

static int pad(lua_State *L)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "symmetric", "wrap", NULL};
    int64_t before[RT_MAX_DIMS], after[RT_MAX_DIMS], shape[RT_MAX_DIMS];
    const struct rt_array *a = lg_check_array(L, 1);
    luaL_checkany(L, 2);
    enum mode mode = (enum mode)lg_check_option(L, 3, "constant", modes);
    lua_settop(L, 4);
    struct kn_operand value = {.i = 0};
    if (!lua_isnil(L, 4)) {
        if (!lg_is_scalar(L, 4)) luaL_typeerror(L, 4, "number or boolean");
        lg_check_operand(L, 4, &value);
    }
    bool empty = rt_array_size(a) == 0;
    for (int i = 0; i < a->ndim; i++) {
        check_widths(L, 2, i, &before[i], &after[i]);
        if (__builtin_add_overflow(a->shape[i], before[i], &shape[i]) ||
            __builtin_add_overflow(shape[i], after[i], &shape[i]))
            return luaL_error(L, "the result has more elements than any memory");
        if (mode != CONSTANT && a->shape[i] == 0 && shape[i] > 0)
            return luaL_error(L, "axis %d has no elements to pad from; mode \"constant\" needs none", i + 1);
    }
    struct rt_array *out = push_new(L, a, a->ndim, shape), inner = *out;
    if (mode == CONSTANT) lg_check(L, kn_fill(out, &value, lg_error_box(L)));
    for (int i = 0; i < a->ndim; i++) inner = part(&inner, i, before[i], a->shape[i], 1);
    copy(L, inner, *a);
    for (int i = 0; i < a->ndim && mode != CONSTANT && !empty; i++) {
        inner = *out; /* whole along the axes that are done, the middle of those to come */
        for (int k = i + 1; k < a->ndim; k++) inner = part(&inner, k, before[k], a->shape[k], 1);
        pad_axis(L, &inner, i, before[i], before[i] + a->shape[i], mode);
    }
    return 1;
}

/* ---- trim_zeros ---- */

/* Pushes the first place, or the last, from 1, where a mask of one axis is true; of one that is so nowhere 1. */
static int64_t push_edge(lua_State *L, int mask, bool last)
{
    int64_t n = lg_form(L, mask)->shape[0];
    lg_step(L, "argmax", "v", last ? lg_step(L, "flip", "v", mask) : mask);
    int64_t at = lua_tointeger(L, -1);
    lua_settop(L, mask);
    return last ? n + 1 - at : at;
}

static int trim_zeros(lua_State *L)
{
    static const char *const sides[] = {"fb", "f", "b", NULL};
    const struct rt_array *a = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    int side = lg_check_option(L, 2, "fb", sides), ndim = a->ndim;
    lua_settop(L, 1);
    if (ndim == 0) return luaL_error(L, "trim_zeros: an array of no axes has no ends");
    int mask = lg_step(L, "ne", "vi", 1, (int64_t)0), x = 1;
    lg_check_array(L, mask);
    for (int axis = 0; axis < ndim; axis++) {
        int along = mask;
        int64_t n = lg_form(L, x)->shape[axis], first = 1, last = n;
        if (ndim > 1) along = lg_step(L, "any", "vv", mask, lg_push_axes(L, ~(1u << axis) & ((1u << ndim) - 1), ndim));
        lg_step(L, "any", "v", along);
        bool any = lua_toboolean(L, -1);
        lua_pop(L, 1);
        if (!any) last = 0;
        if (any && side != 2) first = push_edge(L, along, false);
        if (any && side != 1) last = push_edge(L, along, true);
        lua_settop(L, mask);
        lg_push_narrowed(L, x, axis, first - 1, last - first + 1);
        lua_replace(L, 1);
    }
    lua_settop(L, 1);
    return 1;
}

const struct lg_function lg_rearrange_functions[] = {
    {"trim_zeros", trim_zeros, "x:trim_zeros([sides])   gpu.trim_zeros(x [, sides])",
     "Without the zeros at both ends, at the front alone (\"f\") or at the back (\"b\").\n"
     "Of several axes, without what is zero all over before the first and behind the last element that is not. x is an "
     "array, of which this is a view, or a table.",
     "assert(gpu.array({0, 0, 1, 0, 2, 0}):trim_zeros():equal(gpu.array({1, 0, 2})))\n"
     "assert(gpu.trim_zeros({0, 5, 0}, 'f'):equal(gpu.array({5, 0})))"},
    {"roll", roll, "x:roll(shift [, axis])   gpu.roll(x, ...)",
     "The elements moved on along an axis, those that leave the end coming back at the start; without an axis, through all "
     "elements.\nShift and axis may be tables of the same length. Along axes it waits on the host as operations do, and "
     "chains of those read x itself: stencils with wrapped borders make no copies.",
     "assert(gpu.range(5):roll(2)[1] == 4)\nlocal x = gpu.array({{1, 2}, {3, 4}})\nassert(x:roll(1, 1)[{1, 2}] == 4)"},
    {"repeat_interleave", repeat_interleave, "x:repeat_interleave(count [, axis])   gpu.repeat_interleave(x, ...)",
     "Every element of an axis so many times in a row; without an axis, of all elements.\n"
     "NumPy calls it repeat, a word of Lua's own. A table or array of counts has one for each element.",
     "local x = gpu.array({1, 2}):repeat_interleave(3)\nassert(#x == 6 and x[3] == 1 and x[4] == 2)\n"
     "assert(gpu.array({1, 2}):repeat_interleave({0, 2}):sum() == 4)"},
    {"tile", tile, "x:tile(counts...)   gpu.tile(x, ...)",
     "The whole array so many times along each axis, as tiles.\nMissing counts and axes in front are 1.",
     "local x = gpu.array({1, 2}):tile(2, 3)\nassert(x.shape[1] == 2 and x.shape[2] == 6 and x[{2, 4}] == 2)"},
    {"pad", pad, "x:pad(widths [, mode [, value]])   gpu.pad(x, ...)",
     "The array with elements added around it.\n"
     "Widths are a number, {before, after} for all axes, or one such pair for each axis. Modes: \"constant\", with a value, "
     "0 unless told otherwise; \"edge\" repeats the last element; \"reflect\" mirrors without it, \"symmetric\" with it; "
     "\"wrap\" goes on from the other end.",
     "local x = gpu.array({1, 2, 3})\nassert(#x:pad(1) == 5 and x:pad({2, 0}, 'constant', 9)[2] == 9)\n"
     "assert(x:pad(2, 'reflect')[1] == 3 and x:pad(1, 'edge')[5] == 3 and x:pad(1, 'wrap')[1] == 3)\n"
     "assert(gpu.ones(2, 2):pad({{1, 0}, {0, 1}}).shape[2] == 3)"},
    {0}};
