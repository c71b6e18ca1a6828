/* x[key] and x[key] = value. Keys: a number, a table with one item per axis, a string such as "1:2, ::2", a mask. */
#include <stdlib.h>
#include <string.h>
#include "lang/array.h"

/* What a key says about one axis: an index, which drops the axis, or a stretch of it. */
struct pick {
    bool drops;
    int64_t start, count, step; /* start from 0 */
};

struct key {
    const struct rt_array *a;
    struct pick picks[RT_MAX_DIMS];
    int count; /* of picks; axes behind them are taken whole */
};

static int64_t axis_size(const struct key *k)
{
    return k->a->shape[k->count];
}

static struct pick whole(const struct rt_array *a, int axis)
{
    return (struct pick){.count = a->shape[axis], .step = 1};
}

static int fail_index(lua_State *L, int64_t i, int axis, int64_t size)
{
    if (i == 0) return luaL_error(L, "index 0 on axis %d: indices count from 1, or from the end with -1", axis + 1);
    return luaL_error(L, "index %I is out of range for axis %d, which has %I element%s", (LUAI_UACINT)i, axis + 1,
                      (LUAI_UACINT)size, size == 1 ? "" : "s");
}

static int64_t resolve(lua_State *L, int64_t i, int axis, int64_t size)
{
    int64_t from_zero = i > 0 ? i - 1 : i + size;
    if (i == 0 || from_zero < 0 || from_zero >= size) fail_index(L, i, axis, size);
    return from_zero;
}

static void check_room(lua_State *L, const struct key *k, size_t items)
{
    if (items <= (size_t)k->a->ndim) return;
    if (k->a->ndim == 1 && items <= 3)
        luaL_error(L, "%d indices for an array of 1 axis; a range of it is written x[{{1, 2}}] or x[\"1:2\"]",
                   (int)items);
    luaL_error(L, "%d indices for an array of %d axes", (int)items, k->a->ndim);
}

static void add_index(lua_State *L, struct key *k, int64_t i)
{
    struct pick p = {.drops = true, .start = resolve(L, i, k->count, axis_size(k)), .count = 1, .step = 1};
    k->picks[k->count++] = p;
}

/* start and stop as the user wrote them, both included. An empty stretch is start one past stop. */
static void add_range(lua_State *L, struct key *k, int64_t start, int64_t stop, int64_t step)
{
    int axis = k->count;
    int64_t n = axis_size(k);
    if (step == 0) luaL_error(L, "the step of the range on axis %d is 0", axis + 1);
    int64_t a = start < 0 ? start + n + 1 : start, b = stop < 0 ? stop + n + 1 : stop;
    if (a < 0 || a > n + 1) fail_index(L, start, axis, n);
    if (b < 0 || b > n + 1) fail_index(L, stop, axis, n);
    bool empty = step > 0 ? b == a - 1 : b == a + 1;
    int64_t low = step > 0 ? 1 : 0, high = step > 0 ? n + 1 : n;
    if (empty && a >= low && a <= high) {
        k->picks[k->count++] = (struct pick){.step = 1};
        return;
    }
    if (a < 1 || a > n) fail_index(L, start, axis, n);
    if (b < 1 || b > n) fail_index(L, stop, axis, n);
    if (step > 0 ? b < a : b > a)
        luaL_error(L, "the range %I to %I on axis %d runs %s; its step must be %s", (LUAI_UACINT)start,
                   (LUAI_UACINT)stop, axis + 1, step > 0 ? "backwards" : "forwards",
                   step > 0 ? "negative" : "positive");
    int64_t count = (b - a) / step + 1; /* a step beyond the end is never taken, and could overflow the stride */
    k->picks[k->count++] = (struct pick){.start = a - 1, .count = count, .step = count > 1 ? step : 1};
}

/* Strings: "2", "1:3", "::2", "-3:", "...". */

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

/* Reads an integer when there is one. */
static bool read_integer(const char **s, int64_t *out)
{
    char *end;
    const char *p = skip_blanks(*s);
    if (*p != '-' && (*p < '0' || *p > '9')) return false;
    *out = strtoll(p, &end, 10);
    if (end == p) return false;
    *s = skip_blanks(end);
    return true;
}

/* One item of a string key; *s moves behind it. */
static void add_text_item(lua_State *L, struct key *k, const char **s, const char *all)
{
    int64_t start = 0, stop = 0, step = 1;
    check_room(L, k, (size_t)k->count + 1);
    bool has_start = read_integer(s, &start);
    *s = skip_blanks(*s);
    if (**s != ':') {
        if (!has_start) luaL_error(L, "cannot read the index \"%s\"; it is written like \"1:2, ::2, -1\"", all);
        add_index(L, k, start);
        return;
    }
    ++*s;
    bool has_stop = read_integer(s, &stop);
    *s = skip_blanks(*s);
    if (**s == ':') {
        ++*s;
        read_integer(s, &step);
        *s = skip_blanks(*s);
    }
    if (!has_start && !has_stop && axis_size(k) == 0) {
        k->picks[k->count++] = (struct pick){.step = 1};
        return;
    }
    add_range(L, k, has_start ? start : step > 0 ? 1 : -1, has_stop ? stop : step > 0 ? -1 : 1, step);
}

static size_t count_items(const char *s)
{
    size_t n = 1;
    for (; *s; s++) n += *s == ',';
    return n;
}

static void add_text(lua_State *L, struct key *k, const char *all)
{
    const char *s = all;
    bool had_dots = false;
    for (;;) {
        s = skip_blanks(s);
        if (!strncmp(s, "...", 3) && !had_dots) {
            s = skip_blanks(s + 3);
            had_dots = true;
            size_t behind = *s ? count_items(s) - 1 : 0;
            check_room(L, k, (size_t)k->count + behind);
            while (k->count < k->a->ndim - (int)behind) {
                struct pick p = whole(k->a, k->count);
                k->picks[k->count++] = p;
            }
        } else {
            add_text_item(L, k, &s, all);
        }
        if (*s == '\0') return;
        if (*s != ',')
            luaL_error(L, "cannot read the index \"%s\" at \"%s\"; it is written like \"1:2, ::2, -1\"", all, s);
        s++;
    }
}

/* Tables: one item per axis. */

static int64_t bound(lua_State *L, int table, int i, int axis)
{
    int is_integer;
    lua_rawgeti(L, table, i);
    int64_t v = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer)
        luaL_error(L, "item %d of the range on axis %d must be an integer, got %s", i, axis + 1, luaL_typename(L, -1));
    lua_pop(L, 1);
    return v;
}

static void add_range_table(lua_State *L, struct key *k, int table)
{
    int axis = k->count;
    size_t n = lua_rawlen(L, table);
    if (n > 3)
        luaL_error(L, "a range is {first, last} or {first, last, step}; on axis %d it has %d items", axis + 1, (int)n);
    if (n == 0) {
        struct pick p = whole(k->a, axis);
        k->picks[k->count++] = p;
        return;
    }
    int64_t start = bound(L, table, 1, axis), stop = n > 1 ? bound(L, table, 2, axis) : start;
    add_range(L, k, start, stop, n > 2 ? bound(L, table, 3, axis) : 1);
}

static void add_table(lua_State *L, struct key *k, int table)
{
    size_t n = lua_rawlen(L, table);
    check_room(L, k, n);
    for (size_t i = 1; i <= n; i++) {
        int is_integer;
        lua_rawgeti(L, table, (lua_Integer)i);
        if (lua_istable(L, -1)) {
            add_range_table(L, k, lua_gettop(L));
        } else if (lua_type(L, -1) == LUA_TSTRING) {
            add_text(L, k, lua_tostring(L, -1));
        } else {
            int64_t index = lua_tointegerx(L, -1, &is_integer);
            if (!is_integer)
                luaL_error(L, "the index on axis %d must be an integer or a range in braces, got %s", k->count + 1,
                           lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : luaL_typename(L, -1));
            check_room(L, k, (size_t)k->count + 1);
            add_index(L, k, index);
        }
        lua_pop(L, 1);
    }
}

static void read_key(lua_State *L, int idx, struct key *k)
{
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER: {
        int is_integer;
        int64_t i = lua_tointegerx(L, idx, &is_integer);
        if (!is_integer) luaL_error(L, "an index must be an integer, got %s", lua_tostring(L, idx));
        check_room(L, k, 1);
        add_index(L, k, i);
        return;
    }
    case LUA_TSTRING: add_text(L, k, lua_tostring(L, idx)); return;
    case LUA_TTABLE: add_table(L, k, idx); return;
    default:
        luaL_error(L, "an array is indexed by a number, a table with one item per axis, a string or a mask, not by %s",
                   luaL_typename(L, idx));
    }
}

/* Narrows *v, a copy of the key's array, to what the key picks. */
static void apply(const struct key *k, struct rt_array *v)
{
    int kept = 0;
    for (int axis = 0; axis < k->a->ndim; axis++) {
        struct pick p = axis < k->count ? k->picks[axis] : whole(k->a, axis);
        int64_t stride = k->a->strides[axis];
        v->offset += p.start * stride;
        if (p.drops) continue;
        v->shape[kept] = p.count;
        v->strides[kept++] = stride * p.step;
    }
    v->ndim = kept;
}

static bool picks_element(const struct key *k)
{
    if (k->count < k->a->ndim) return false;
    for (int i = 0; i < k->count; i++)
        if (!k->picks[i].drops) return false;
    return true;
}

/* Masks. A mask covers the first axes of the array; the picked parts come one behind the other in a new array. */

struct masked {
    const struct rt_array *a, *mask;
    const uint8_t *bits; /* the mask on the host */
    int64_t count;       /* how many are true */
    int64_t places;      /* elements of the mask */
    size_t chunk;        /* bytes of what one element of the mask stands for */
    int ndim;            /* shape of what is picked: count, and the axes behind the mask */
    int64_t shape[RT_MAX_DIMS + 1];
};

static void check_mask(lua_State *L, struct masked *m)
{
    const struct rt_array *a = m->a, *mask = m->mask;
    char left[256], right[256];
    if (mask->dtype != RT_BOOL)
        luaL_error(L, "an array that indexes another must be a mask of dtype bool, such as x:gt(0); this one is %s",
                   rt_dtypes[mask->dtype].name);
    bool fits = mask->ndim <= a->ndim && mask->ndim > 0;
    for (int i = 0; fits && i < mask->ndim; i++) fits = mask->shape[i] == a->shape[i];
    if (!fits)
        luaL_error(L, "a mask of shape %s does not fit an array of shape %s: it must have the sizes of its first axes",
                   rt_shape_text(mask->ndim, mask->shape, left, sizeof left),
                   rt_shape_text(a->ndim, a->shape, right, sizeof right));
    if (rt_array_device(mask) != rt_array_device(a))
        luaL_error(L, "the mask is on %s and the array on %s; move the mask by mask:to(\"%s\")",
                   rt_array_device(mask)->name, rt_array_device(a)->name, rt_array_device(a)->name);
}

/* Pushes the mask's elements and counts them. */
static void read_mask(lua_State *L, struct masked *m)
{
    check_mask(L, m);
    m->bits = lg_push_host_copy(L, m->mask);
    m->places = rt_array_size(m->mask);
    for (int64_t i = 0; i < m->places; i++) m->count += m->bits[i] != 0;
    m->chunk = rt_dtypes[m->a->dtype].size;
    m->shape[m->ndim++] = m->count;
    for (int i = m->mask->ndim; i < m->a->ndim; i++) {
        m->shape[m->ndim++] = m->a->shape[i];
        m->chunk *= (size_t)m->a->shape[i];
    }
}

static int read_masked(lua_State *L, const struct rt_array *a, const struct rt_array *mask)
{
    struct masked m = {.a = a, .mask = mask};
    read_mask(L, &m);
    const char *from = lg_push_host_copy(L, a);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, m.ndim, m.shape, out, lg_error_box(L)));
    size_t bytes = (size_t)m.count * m.chunk;
    if (bytes == 0) return 1;
    char *host = lg_array_host(out), *to = host ? host : lua_newuserdatauv(L, bytes, 0);
    char *next = to;
    for (int64_t i = 0; i < m.places; i++) {
        if (!m.bits[i]) continue;
        memcpy(next, from + (size_t)i * m.chunk, m.chunk);
        next += m.chunk;
    }
    if (host) return 1;
    lg_check(L, rt_array_write(out, to, lg_error_box(L)));
    lua_pop(L, 1);
    return 1;
}

static void check_range(lua_State *L, int value, enum rt_dtype dtype)
{
    lua_Integer low, high;
    if (!lg_scalar_fits(L, value, dtype, &low, &high))
        luaL_error(L,
                   "cannot assign %I: the %s elements of the array hold integers from %I to %I; convert the array "
                   "first, e.g. with :to(\"int64\"), or write a float, which is cut to that range",
                   (LUAI_UACINT)lua_tointeger(L, value), rt_dtypes[dtype].name, (LUAI_UACINT)low, (LUAI_UACINT)high);
}

static void write_masked_scalar(lua_State *L, const struct rt_array *a, const struct rt_array *mask, int value)
{
    struct masked m = {.a = a, .mask = mask};
    struct rt_array spread = *mask; /* borrowed, with axes of size 1 for those that it does not cover */
    struct rt_array target = *a;
    struct kn_operand args[3];
    uint64_t bits = 0;
    check_mask(L, &m);
    for (int i = mask->ndim; i < a->ndim; i++) {
        spread.shape[i] = 1;
        spread.strides[i] = 0;
    }
    spread.ndim = a->ndim;
    args[0] = (struct kn_operand){.array = &spread};
    /* Rounded to the array's dtype first, so that the number cannot widen the computation. */
    check_range(L, value, a->dtype);
    lg_store_scalar(L, value, a->dtype, &bits);
    args[1] = rt_dtypes[a->dtype].kind == 'f'
                  ? (struct kn_operand){.is_float = true, .f = rt_load_double(a->dtype, &bits)}
                  : (struct kn_operand){.i = rt_load_int(a->dtype, &bits)};
    args[2] = (struct kn_operand){.array = a};
    lg_check(L, kn_apply(KN_WHERE, args, &target, lg_error_box(L)));
}

static void write_masked_array(lua_State *L, const struct rt_array *a, const struct rt_array *mask,
                               const struct rt_array *value)
{
    struct rt_error *e = lg_error_box(L);
    struct masked m = {.a = a, .mask = mask};
    char left[256], right[256];
    read_mask(L, &m);
    struct rt_array *spread = lg_new_array(L), *converted = lg_new_array(L), *result = lg_new_array(L);
    if (rt_array_broadcast(value, m.ndim, m.shape, spread, e) != RT_OK) {
        rt_error_clear(e);
        luaL_error(L, "cannot assign an array of shape %s to the elements that the mask picks, of shape %s",
                   rt_shape_text(value->ndim, value->shape, left, sizeof left),
                   rt_shape_text(m.ndim, m.shape, right, sizeof right));
    }
    lg_check(L, kn_convert(spread, a->dtype, rt_array_device(a), converted, e));
    lg_check(L, kn_convert(a, a->dtype, rt_array_device(a), result, e));
    if (rt_array_size(a) == 0) return;
    const char *from = lg_push_host_copy(L, converted);
    char *host = lg_array_host(result), *to = host;
    if (!host) {
        size_t bytes = (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size;
        to = lua_newuserdatauv(L, bytes, 0);
        lg_check(L, rt_array_read(result, to, e));
    }
    for (int64_t i = 0; i < m.places; i++) {
        if (!m.bits[i]) continue;
        memcpy(to + (size_t)i * m.chunk, from, m.chunk);
        from += m.chunk;
    }
    if (!host) lg_check(L, rt_array_write(result, to, e));
    lg_check(L, kn_copy(lg_check_array(L, 1), result, e));
}

/* Reading and writing. */

/* C functions that walk a sequence (ipairs, table.unpack) expect nil behind its end; code in Lua gets an error. */
static bool ends_walk(lua_State *L, const struct rt_array *a)
{
    lua_Debug caller;
    if (!lua_isinteger(L, 2) || a->ndim == 0 || lua_tointeger(L, 2) != a->shape[0] + 1) return false;
    return lua_getstack(L, 1, &caller) && lua_getinfo(L, "S", &caller) && *caller.what == 'C';
}

int lg_array_index(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, 1);
    struct key k;
    if (lua_type(L, 2) == LUA_TUSERDATA && lg_test_array(L, 2)) return read_masked(L, a, lg_check_array(L, 2));
    if (ends_walk(L, a)) return 0;
    k.a = a;
    k.count = 0;
    read_key(L, 2, &k);
    if (picks_element(&k)) {
        struct rt_array element = *a; /* borrowed */
        apply(&k, &element);
        lg_push_element(L, &element);
    } else {
        struct rt_array *out = lg_new_array(L);
        rt_array_share(a, out);
        apply(&k, out);
    }
    return 1;
}

static void write_scalar(lua_State *L, const struct rt_array *target, int value)
{
    struct kn_operand number;
    lg_check(L, rt_array_alive(target, lg_error_box(L)));
    check_range(L, value, target->dtype);
    void *host = target->ndim == 0 ? lg_array_host(target) : NULL;
    if (host) {
        lg_store_scalar(L, value, target->dtype, host);
        return;
    }
    lg_check_operand(L, value, &number);
    lg_check(L, kn_fill(target, &number, lg_error_box(L)));
}

/* The value at idx 3 as an array on the target's device, pushed when it comes from a table. */
static const struct rt_array *check_value(lua_State *L, const struct rt_array *target)
{
    if (lua_istable(L, 3)) return lg_push_from_table(L, 3, target->dtype, rt_array_device(target));
    if (!lg_test_array(L, 3))
        luaL_error(L, "cannot assign %s to elements of an array; expected a number, a boolean, a table or an array",
                   luaL_typename(L, 3));
    const struct rt_array *value = lg_check_array(L, 3);
    const char *here = rt_array_device(target)->name;
    if (rt_array_device(value) != rt_array_device(target))
        luaL_error(L, "the array is on %s and the value on %s; move it by value:to(\"%s\")", here,
                   rt_array_device(value)->name, here);
    return value;
}

int lg_array_newindex(lua_State *L)
{
    const struct rt_array *a = lg_check_target(L, 1);
    struct key k;
    bool scalar = lg_is_scalar(L, 3);
    if (lua_type(L, 2) == LUA_TUSERDATA && lg_test_array(L, 2)) {
        const struct rt_array *mask = lg_check_array(L, 2);
        if (scalar)
            write_masked_scalar(L, a, mask, 3);
        else
            write_masked_array(L, a, mask, check_value(L, a));
        return 0;
    }
    k.a = a;
    k.count = 0;
    read_key(L, 2, &k);
    struct rt_array target = *a; /* borrowed */
    apply(&k, &target);
    if (scalar)
        write_scalar(L, &target, 3);
    else
        lg_check(L, kn_copy(&target, check_value(L, a), lg_error_box(L)));
    return 0;
}
