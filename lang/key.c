/* Reading what stands in x[...]: a number, a table with one item per axis, a string such as "1:2, ::2", index arrays
 * and masks. */
#include <stdlib.h>
#include <string.h>
#include "lang/index.h"

#define NEWAXIS "newaxis"

static int64_t axis_size(const struct lg_key *k)
{
    return k->a->shape[k->axes];
}

static struct lg_item *add_item(lua_State *L, struct lg_key *k, enum lg_item_kind kind, int axes)
{
    if (k->count == LG_MAX_ITEMS) luaL_error(L, "an index has at most %d items", LG_MAX_ITEMS);
    struct lg_item *item = &k->items[k->count++];
    *item = (struct lg_item){.kind = kind, .axis = k->axes, .count = 1, .step = 1};
    k->axes += axes;
    return item;
}

static void add_stretch(lua_State *L, struct lg_key *k, int64_t start, int64_t count, int64_t step)
{
    struct lg_item *item = add_item(L, k, LG_RANGE, 1);
    item->start = start;
    item->count = count;
    item->step = step;
}

static void add_whole(lua_State *L, struct lg_key *k)
{
    add_stretch(L, k, 0, axis_size(k), 1);
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

/* That the key may name so many axes in all. */
static void check_room(lua_State *L, const struct lg_key *k, size_t items)
{
    if (items <= (size_t)k->a->ndim) return;
    if (k->a->ndim == 1 && !k->has_arrays)
        luaL_error(L,
                   "%d indices for an array of 1 axis; a range of it is written x[{{1, 2}}] or x[\"1:2\"], elements by "
                   "a list of indices x[gpu.array{1, 2}]",
                   (int)items);
    luaL_error(L, "%d indices for an array of %d axes", (int)items, k->a->ndim);
}

static void add_index(lua_State *L, struct lg_key *k, int64_t i)
{
    int64_t from_zero = resolve(L, i, k->axes, axis_size(k));
    add_item(L, k, LG_INDEX, 1)->start = from_zero;
}

/* start and stop as the user wrote them, both included. An empty stretch is start one past stop. */
static void add_range(lua_State *L, struct lg_key *k, int64_t start, int64_t stop, int64_t step)
{
    int axis = k->axes;
    int64_t n = axis_size(k);
    if (step == 0) luaL_error(L, "the step of the range on axis %d is 0", axis + 1);
    int64_t a = start < 0 ? start + n + 1 : start, b = stop < 0 ? stop + n + 1 : stop;
    if (a < 0 || a > n + 1) fail_index(L, start, axis, n);
    if (b < 0 || b > n + 1) fail_index(L, stop, axis, n);
    bool empty = step > 0 ? b == a - 1 : b == a + 1;
    int64_t low = step > 0 ? 1 : 0, high = step > 0 ? n + 1 : n;
    if (empty && a >= low && a <= high) {
        add_stretch(L, k, 0, 0, 1);
        return;
    }
    if (a < 1 || a > n) fail_index(L, start, axis, n);
    if (b < 1 || b > n) fail_index(L, stop, axis, n);
    if (step > 0 ? b < a : b > a)
        luaL_error(L, "the range %I to %I on axis %d runs %s; its step must be %s", (LUAI_UACINT)start,
                   (LUAI_UACINT)stop, axis + 1, step > 0 ? "backwards" : "forwards",
                   step > 0 ? "negative" : "positive");
    int64_t count = (b - a) / step + 1; /* a step beyond the end is never taken, and could overflow the stride */
    add_stretch(L, k, a - 1, count, count > 1 ? step : 1);
}

/* Strings: "2", "1:3", "::2", "-3:", "...", "newaxis". */

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
static void add_text_item(lua_State *L, struct lg_key *k, const char **s, const char *all)
{
    int64_t start = 0, stop = 0, step = 1;
    if (!strncmp(*s, NEWAXIS, strlen(NEWAXIS))) {
        *s = skip_blanks(*s + strlen(NEWAXIS));
        add_item(L, k, LG_NEW, 0);
        return;
    }
    check_room(L, k, (size_t)k->axes + 1);
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
        add_stretch(L, k, 0, 0, 1);
        return;
    }
    add_range(L, k, has_start ? start : step > 0 ? 1 : -1, has_stop ? stop : step > 0 ? -1 : 1, step);
}

/* How many axes the items of a text name. */
static size_t count_axes(const char *s)
{
    size_t n = 1;
    for (const char *p = s; *p; p++) n += *p == ',';
    for (const char *p = s; (p = strstr(p, NEWAXIS)); p += strlen(NEWAXIS)) n -= n > 0;
    return n;
}

/* The dots stand for the axes that the items behind them, `behind` axes in all, leave. */
static void add_dots(lua_State *L, struct lg_key *k, size_t behind)
{
    if (k->had_dots) luaL_error(L, "\"...\" stands twice in an index");
    k->had_dots = true;
    check_room(L, k, (size_t)k->axes + behind);
    if (k->axes == k->a->ndim - (int)behind) add_item(L, k, LG_NOTHING, 0);
    while (k->axes < k->a->ndim - (int)behind) add_whole(L, k);
}

/* `behind` axes are named by what follows the text. */
static void add_text(lua_State *L, struct lg_key *k, const char *all, size_t behind)
{
    const char *s = all;
    for (;;) {
        s = skip_blanks(s);
        if (!strncmp(s, "...", 3)) {
            s = skip_blanks(s + 3);
            add_dots(L, k, (*s ? count_axes(s) - 1 : 0) + behind);
        } else {
            add_text_item(L, k, &s, all);
        }
        if (*s == '\0') return;
        if (*s != ',')
            luaL_error(L, "cannot read the index \"%s\" at \"%s\"; it is written like \"1:2, ::2, -1\"", all, s);
        s++;
    }
}

bool lg_is_key_text(const char *s)
{
    for (;;) {
        s += strspn(s, " \t-:.,0123456789");
        if (*s == '\0') return true;
        if (strncmp(s, NEWAXIS, strlen(NEWAXIS)) != 0) return false;
        s += strlen(NEWAXIS);
    }
}

/* Tables: one item per axis. */

static int64_t bound(lua_State *L, int table, int i, int axis)
{
    int is_integer;
    lua_rawgeti(L, table, i);
    int64_t v = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer)
        luaL_error(L, "item %d of the range on axis %d must be an integer, got %s", i, axis + 1, lg_type_name(L, -1));
    lua_pop(L, 1);
    return v;
}

static void add_range_table(lua_State *L, struct lg_key *k, int table)
{
    int axis = k->axes;
    check_room(L, k, (size_t)axis + 1);
    size_t n = lua_rawlen(L, table);
    if (n > 3)
        luaL_error(L, "a range is {first, last} or {first, last, step}; on axis %d it has %d items", axis + 1, (int)n);
    if (n == 0) {
        add_whole(L, k);
        return;
    }
    int64_t start = bound(L, table, 1, axis), stop = n > 1 ? bound(L, table, 2, axis) : start;
    add_range(L, k, start, stop, n > 2 ? bound(L, table, 3, axis) : 1);
}

/* An array of indices or a mask, at the top of the stack; what it becomes stays there. */
static void add_array(lua_State *L, struct lg_key *k)
{
    const struct rt_array *index = lg_check_array(L, -1);
    int axes = index->dtype == RT_BOOL ? index->ndim : 1;
    k->has_arrays = true;
    check_room(L, k, (size_t)k->axes + (size_t)axes);
    if (index->dtype == RT_BOOL) {
        lg_check_mask(L, k->a, k->axes, index);
        lg_push_nonzero(L, index);
        for (int i = 0; i < axes; i++) add_item(L, k, LG_PICKED, 1)->index = lua_touserdata(L, i - axes);
        return;
    }
    index = lg_push_indices(L, lua_gettop(L), k->a, k->axes);
    add_item(L, k, LG_PICKED, 1)->index = index;
}

/* How many axes item i of the table names. */
static size_t axes_of_item(lua_State *L, int table, lua_Integer i)
{
    size_t n = 1;
    int type = lua_rawgeti(L, table, i);
    const struct rt_array *a = type == LUA_TUSERDATA ? lg_test_array(L, -1) : NULL;
    if (type == LUA_TSTRING) n = count_axes(lua_tostring(L, -1));
    if (type == LUA_TSTRING && strstr(lua_tostring(L, -1), "...")) n--;
    if (a && a->dtype == RT_BOOL) n = (size_t)a->ndim;
    lua_pop(L, 1);
    return n;
}

static void add_table_item(lua_State *L, struct lg_key *k, size_t behind)
{
    int is_integer;
    if (lua_istable(L, -1)) {
        add_range_table(L, k, lua_gettop(L));
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        add_text(L, k, lua_tostring(L, -1), behind);
    } else {
        int64_t index = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer)
            luaL_error(L, "the index on axis %d must be an integer, a range in braces, a string or an array, got %s",
                       k->axes + 1, lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : lg_type_name(L, -1));
        check_room(L, k, (size_t)k->axes + 1);
        add_index(L, k, index);
    }
}

static void add_table(lua_State *L, struct lg_key *k, int table)
{
    size_t n = lua_rawlen(L, table), behind = 0;
    if (n == 0 && (lua_pushnil(L), lua_next(L, table)))
        luaL_error(L, "an index has one item per axis, in a list; this one has the key %s",
                   luaL_tolstring(L, -2, NULL));
    for (size_t i = 1; i <= n; i++, lua_pop(L, 1))
        if (lua_rawgeti(L, table, (lua_Integer)i) == LUA_TNIL)
            luaL_error(L, "item %d of the index is nil; a whole axis is {}, a new one gpu.newaxis", (int)i);
    if (n > LG_MAX_ITEMS) check_room(L, k, n);
    for (size_t i = 1; i <= n; i++) behind += axes_of_item(L, table, (lua_Integer)i);
    check_room(L, k, behind);
    for (size_t i = 1; i <= n; i++) {
        behind -= axes_of_item(L, table, (lua_Integer)i);
        lua_rawgeti(L, table, (lua_Integer)i);
        if (lg_test_array(L, -1)) {
            add_array(L, k); /* the array is needed until the key is done with */
            continue;
        }
        add_table_item(L, k, behind);
        lua_pop(L, 1);
    }
}

/* An item of a key, the table or number at the top of the stack: a range of one to three integers, or an integer.
 * False, with nothing added, for what add_table reads or refuses. */
static bool add_plain_item(lua_State *L, struct lg_key *k, int type)
{
    int64_t numbers[3] = {0, 0, 1};
    int whole = 1, top = lua_gettop(L);
    if (type == LUA_TNUMBER) {
        numbers[0] = lua_tointegerx(L, top, &whole);
        if (whole) add_index(L, k, numbers[0]);
        return whole;
    }
    const size_t n = lua_rawlen(L, top);
    if (n == 0 || n > 3) return false;
    for (int i = 0; i < (int)n && whole; i++) {
        lua_rawgeti(L, top, i + 1);
        numbers[i] = lua_tointegerx(L, top + i + 1, &whole);
    }
    if (!whole) return false;
    add_range(L, k, numbers[0], numbers[n > 1], numbers[2]);
    return true;
}

/* A key of integers and ranges alone, which most are, in one go. False where there is anything else: add_table reads
 * it again from its start. */
static bool add_plain_table(lua_State *L, struct lg_key *k, int table)
{
    const int top = lua_gettop(L), n = (int)lua_rawlen(L, table);
    if (n > k->a->ndim) return false;
    for (int i = 1; i <= n; i++) {
        const int type = lua_rawgeti(L, table, i);
        const bool added = (type == LUA_TNUMBER || type == LUA_TTABLE) && add_plain_item(L, k, type);
        lua_settop(L, top);
        if (added) continue;
        k->count = k->axes = 0;
        return false;
    }
    return n > 0;
}

void lg_read_key(lua_State *L, int idx, const struct rt_array *a, struct lg_key *k)
{
    k->a = a;
    k->count = k->axes = 0;
    k->has_arrays = k->had_dots = false;
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER: {
        int is_integer;
        int64_t i = lua_tointegerx(L, idx, &is_integer);
        if (!is_integer) luaL_error(L, "an index must be an integer, got %s", lua_tostring(L, idx));
        check_room(L, k, 1);
        add_index(L, k, i);
        return;
    }
    case LUA_TSTRING: add_text(L, k, lua_tostring(L, idx), 0); return;
    case LUA_TTABLE:
        luaL_checkstack(L, 4 * RT_MAX_DIMS, NULL);
        if (!add_plain_table(L, k, idx)) add_table(L, k, idx);
        return;
    default:
        if (!lg_test_array(L, idx))
            luaL_error(L,
                       "an array is indexed by a number, a table with one item per axis, a string, an array of indices "
                       "or a mask, not by %s",
                       lg_type_name(L, idx));
        lua_pushvalue(L, idx);
        add_array(L, k);
    }
}
