/* x:describe(): what the elements are like, as a table that prints as one. Everything in it is computed where the array
 * is, by the methods that users call; NaN is counted and left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"

#define LG_SUMMARY "lunarray.summary"
#define MOST_SHOWN 6 /* columns of a printed summary; of more, the first and the last ones */

/* In the order in which they are printed. */
static const struct {
    const char *field, *label;
} rows[] = {{"count", "count"}, {"missing", "missing"}, {"mean", "mean"}, {"std", "std"}, {"min", "min"},
            {"q1", "25%"},      {"median", "50%"},      {"q3", "75%"},    {"max", "max"}};
#define ROWS (sizeof rows / sizeof *rows)

/* Calls method `name` of the array at idx with the n arguments on top of the stack; leaves its result there. */
static void call_method(lua_State *L, int idx, const char *name, int n)
{
    idx = lua_absindex(L, idx);
    lua_getfield(L, idx, name);
    lua_insert(L, -1 - n);
    lua_pushvalue(L, idx);
    lua_insert(L, -1 - n);
    lua_call(L, n + 1, 1);
}

/* Replaces the array on top of the stack by what its method gives. */
static void become(lua_State *L, const char *name, int n)
{
    call_method(L, -1 - n, name, n);
    lua_remove(L, -2);
}

/* Statistics of few bits would be of few bits, too. */
static bool is_narrow(enum rt_dtype t)
{
    return t == RT_BOOL || t == RT_FLOAT16 || t == RT_BFLOAT16;
}

static void keep_method(lua_State *L, int table, const char *field, const char *method)
{
    call_method(L, -1, method, 0);
    lua_setfield(L, table, field);
}

static void keep_quartiles(lua_State *L, int table)
{
    static const char *const names[] = {"q1", "median", "q3"};
    lua_createtable(L, 3, 0);
    for (int i = 1; i <= 3; i++) {
        lua_pushnumber(L, i / 4.0);
        lua_rawseti(L, -2, i);
    }
    call_method(L, -2, "quantile", 1);
    for (int i = 1; i <= 3; i++) {
        lua_geti(L, -1, i);
        lua_setfield(L, table, names[i - 1]);
    }
    lua_pop(L, 1);
}

/* Replaces the array on top of the stack by a table of its statistics. */
static void summarize(lua_State *L)
{
    const struct rt_array *a = lg_check_array(L, -1);
    lg_check(L, kn_check_real(a, "describe", lg_error_box(L)));
    enum rt_dtype t = a->dtype;
    bool floating = rt_dtypes[t].kind == 'f';
    lua_Integer size = rt_array_size(a), missing = 0;
    lua_createtable(L, 0, ROWS);
    lua_insert(L, -2);
    int table = lua_gettop(L) - 1;
    if (is_narrow(t)) {
        lua_pushstring(L, "float32");
        become(L, "to", 1);
    }
    if (floating) {
        lua_pushvalue(L, -1);
        call_method(L, -2, "ne", 1);
        call_method(L, -1, "count_nonzero", 0);
        missing = lua_tointeger(L, -1);
        lua_pop(L, 2);
        lua_pushinteger(L, missing);
        lua_setfield(L, table, "missing");
    }
    lua_pushinteger(L, size - missing);
    lua_setfield(L, table, "count");
    if (missing) { /* what equals itself is no NaN */
        lua_pushvalue(L, -1);
        call_method(L, -2, "eq", 1);
        lua_gettable(L, -2);
        lua_remove(L, -2);
    }
    if (size > missing) {
        static const char *const methods[] = {"mean", "std", "min", "max"};
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) keep_method(L, table, methods[i], methods[i]);
        keep_quartiles(L, table);
    }
    lua_pop(L, 1);
}

/* ---- as text ---- */

/* Those of uint64 from 2^63 on are negative in Lua. */
static void number_text(lua_State *L, bool without_sign, char out[40])
{
    if (lua_isnil(L, -1))
        snprintf(out, 40, "-");
    else if (lua_isinteger(L, -1))
        snprintf(out, 40, without_sign ? "%llu" : "%lld", (long long)lua_tointeger(L, -1));
    else if (isnan(lua_tonumber(L, -1)))
        snprintf(out, 40, "nan");
    else
        snprintf(out, 40, "%.6g", lua_tonumber(L, -1));
}

static bool is_without_sign(lua_State *L, int idx)
{
    lua_getfield(L, idx, "dtype");
    bool so = lua_isstring(L, -1) && strcmp(lua_tostring(L, -1), rt_dtypes[RT_UINT64].name) == 0;
    lua_pop(L, 1);
    return so;
}

/* The statistic `row` of the table at idx, or of the i-th in its list. */
static void field_text(lua_State *L, int idx, lua_Integer i, size_t row, char out[40])
{
    if (i) lua_rawgeti(L, idx, i);
    lua_getfield(L, i ? -1 : idx, rows[row].field);
    if (lua_isboolean(L, -1))
        snprintf(out, 40, "%s", lua_toboolean(L, -1) ? "true" : "false");
    else
        number_text(L, is_without_sign(L, idx), out);
    lua_pop(L, i ? 2 : 1);
}

static void add_row(lua_State *L, luaL_Buffer *b, size_t row, lua_Integer count, const int *width)
{
    char text[40], cell[100];
    bool known = false;
    for (lua_Integer i = count ? 1 : 0; i <= count && !known; i++) {
        field_text(L, 1, i, row, text);
        known = strcmp(text, "-") != 0;
    }
    if (!known) return;
    snprintf(cell, sizeof cell, "\n  %-7s", rows[row].label);
    luaL_addstring(b, cell);
    for (lua_Integer i = count ? 1 : 0, k = 0; i <= count; i++, k++) {
        if (count > MOST_SHOWN && i == MOST_SHOWN / 2 + 1) {
            luaL_addstring(b, "  ...");
            i = count - MOST_SHOWN / 2 + 1;
        }
        field_text(L, 1, i, row, text);
        snprintf(cell, sizeof cell, "  %*s", width[k], text);
        luaL_addstring(b, cell);
    }
}

/* The widths of the printed columns, each with its number from 1 above it when there is a list. */
static void measure(lua_State *L, lua_Integer count, int *width)
{
    char text[40];
    for (lua_Integer i = count ? 1 : 0, k = 0; i <= count; i++, k++) {
        if (count > MOST_SHOWN && i == MOST_SHOWN / 2 + 1) i = count - MOST_SHOWN / 2 + 1;
        width[k] = count ? snprintf(text, sizeof text, "%lld", (long long)i) : 0;
        for (size_t row = 0; row < ROWS; row++) {
            field_text(L, 1, i, row, text);
            if ((int)strlen(text) > width[k]) width[k] = (int)strlen(text);
        }
    }
}

static void add_numbers(luaL_Buffer *b, lua_Integer count, const int *width)
{
    char cell[100];
    luaL_addstring(b, "\n         ");
    for (lua_Integer i = 1, k = 0; i <= count; i++, k++) {
        if (count > MOST_SHOWN && i == MOST_SHOWN / 2 + 1) {
            luaL_addstring(b, "  ...");
            i = count - MOST_SHOWN / 2 + 1;
        }
        snprintf(cell, sizeof cell, "  %*lld", width[k], (long long)i);
        luaL_addstring(b, cell);
    }
}

static int summary_tostring(lua_State *L)
{
    int width[MOST_SHOWN + 1];
    luaL_Buffer b;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer count = (lua_Integer)lua_rawlen(L, 1);
    measure(L, count, width);
    lua_getfield(L, 1, "title");
    const char *title = lua_tostring(L, -1);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, title ? title : "summary");
    if (count) add_numbers(&b, count, width);
    for (size_t row = 0; row < ROWS; row++) add_row(L, &b, row, count, width);
    luaL_pushresult(&b);
    return 1;
}

static void set_title(lua_State *L, const struct rt_array *a, const char *of)
{
    lg_push_array_title(L, a);
    lua_pushfstring(L, "%s%s", lua_tostring(L, -1), of);
    lua_remove(L, -2);
    lua_setfield(L, -2, "title");
    lg_set_string(L, "dtype", rt_dtypes[a->dtype].name);
    if (luaL_newmetatable(L, LG_SUMMARY)) {
        lua_pushcfunction(L, summary_tostring);
        lua_setfield(L, -2, "__tostring");
    }
    lua_setmetatable(L, -2);
}

static int describe(lua_State *L)
{
    const struct rt_array a = *lg_check_array(L, 1); /* a copy: a finalizer may free it on the way */
    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_pushvalue(L, 1);
        summarize(L);
        set_title(L, &a, "");
        return 1;
    }
    if (a.ndim != 2)
        return luaL_error(L, "describe along an axis takes a table of rows and columns, not %d axes", a.ndim);
    int axis = lg_check_axis(L, 2, a.ndim), other = 1 - axis;
    lua_createtable(L, (int)(a.shape[other] < 1000 ? a.shape[other] : 1000), 1);
    for (int64_t i = 0; i < a.shape[other]; i++) {
        const struct rt_array *whole = lg_check_array(L, 1);
        struct rt_array *one = lg_new_array(L);
        lg_check(L, rt_array_select(whole, other, i, one, lg_error_box(L)));
        summarize(L);
        lua_rawseti(L, -2, i + 1);
        lg_poll(L);
    }
    set_title(L, &a, axis == 0 ? ", by column" : ", by row");
    return 1;
}

const struct lg_function lg_describe_methods[] = {
    {"describe", describe, "x:describe([axis])",
     "What the elements are like, as a table that prints as one.\n"
     "It has count, missing (how many are NaN, which is left out elsewhere; of floating dtypes), mean, std, min, q1, "
     "median, q3 and max, and the array's dtype; without elements only the counts. Along an axis of an array of rows and columns it is a list "
     "of such tables: x:describe(1) has one for each column, x:describe(2) one for each row.",
     "local d = gpu.array({1, 2, 3, 4, 0/0}):describe()\nprint(d)\n"
     "assert(d.count == 4 and d.missing == 1 and d.mean == 2.5 and d.median == 2.5 and d.max == 4)\n"
     "assert(gpu.array({{1, 2}, {3, 6}}):describe(1)[2].mean == 4)"},
    {0}};
