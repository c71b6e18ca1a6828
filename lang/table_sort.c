/* table.sort of long lists of numbers or strings without a function: one call that may take seconds, in which the stock
 * one can neither be interrupted nor let requests be answered. Here the values are copied, sorted by runs that are
 * merged, and put back; between the pieces who asks is answered, and an interrupt leaves the table as it was. All else
 * is the stock function's: short lists, mixed ones, NaN, metatables, and functions, between whose calls the hook of
 * lang/interrupt.c does the same. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/quicksort.h"
#include "lang/session_state.h"

#define LONG 16384 /* elements: of a list that is worth it, and of the runs that are sorted in one go */

enum kind { OTHER, INTEGERS, FLOATS, STRINGS };

/* Of n elements each: keys that are in the order of the numbers, or the addresses of the strings. */
struct lists {
    enum kind kind;
    size_t n;
    uint64_t *from, *to;
};

#define TOP ((uint64_t)1 << 63)

/* The key of a float: as an unsigned number it is in the floats' order. NaN is nowhere in it. */
static uint64_t float_key(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & TOP ? ~bits : bits | TOP;
}

static double key_float(uint64_t key)
{
    double x;
    uint64_t bits = key & TOP ? key & ~TOP : ~key;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of the value at the top; OTHER when it does not go with the first. */
static enum kind read_key(lua_State *L, enum kind first, uint64_t *key)
{
    enum kind kind = OTHER;
    if (lua_isinteger(L, -1)) {
        kind = INTEGERS;
        *key = (uint64_t)lua_tointeger(L, -1) ^ TOP;
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
        double x = lua_tonumber(L, -1);
        kind = x == x ? FLOATS : OTHER;
        *key = float_key(x);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        kind = strlen(text) == length ? STRINGS : OTHER;
        *key = (uint64_t)(uintptr_t)text;
    }
    return first == OTHER || kind == first ? kind : OTHER;
}

/* The kind is OTHER when the list is not to be sorted here. Strings stay alive in a table of their own, which is the
 * last thing pushed. */
static void read_list(lua_State *L, struct lists *l)
{
    for (size_t i = 0; i < l->n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        l->kind = read_key(L, l->kind, &l->from[i]);
        if (l->kind == STRINGS && i == 0) {
            lua_createtable(L, (int)l->n, 0);
            lua_insert(L, -2);
        }
        if (l->kind == OTHER) return;
        if (l->kind == STRINGS)
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        else
            lua_pop(L, 1);
        if (i % LONG == 0) lg_poll(L);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* As lvm.c compares strings that have no zero bytes in them. */
static int compare_strings(const void *a, const void *b)
{
    return strcoll((const char *)(uintptr_t) * (const uint64_t *)a, (const char *)(uintptr_t) * (const uint64_t *)b);
}

static void sort_run(const struct lists *l, uint64_t *run, size_t n)
{
    if (l->kind == STRINGS)
        qsort(run, n, sizeof *run, compare_strings);
    else if (kn_quick_available())
        kn_quick_sort_64(run, n);
    else
        qsort(run, n, sizeof *run, compare_numbers);
}

static void merge(lua_State *L, const struct lists *l, size_t first, size_t middle, size_t end)
{
    const uint64_t *a = l->from + first, *b = l->from + middle;
    const uint64_t *a_end = b, *b_end = l->from + end;
    uint64_t *out = l->to + first;
    for (size_t left = LONG; a < a_end || b < b_end; left--) {
        bool second = a == a_end;
        if (!second && b < b_end) second = l->kind == STRINGS ? compare_strings(b, a) < 0 : *b < *a;
        *out++ = second ? *b++ : *a++;
        if (left > 1) continue;
        lg_poll(L);
        left = LONG + 1;
    }
}

static void sort_list(lua_State *L, struct lists *l)
{
    for (size_t i = 0; i < l->n; i += LONG) {
        sort_run(l, l->from + i, l->n - i < LONG ? l->n - i : LONG);
        lg_poll(L);
    }
    for (size_t width = LONG; width < l->n; width *= 2) {
        for (size_t i = 0; i < l->n; i += 2 * width) {
            size_t middle = l->n - i < width ? l->n : i + width;
            merge(L, l, i, middle, l->n - middle < width ? l->n : middle + width);
        }
        uint64_t *sorted = l->to;
        l->to = l->from;
        l->from = sorted;
    }
}

static void write_list(lua_State *L, const struct lists *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->kind == INTEGERS)
            lua_pushinteger(L, (lua_Integer)(l->from[i] ^ TOP));
        else if (l->kind == FLOATS)
            lua_pushnumber(L, key_float(l->from[i]));
        else
            lua_pushstring(L, (const char *)(uintptr_t)l->from[i]);
        lua_rawseti(L, 1, (lua_Integer)i + 1);
        if (i % LONG == 0) lg_answer_here(L); /* not to be interrupted any more: it would lose elements */
    }
}

static int call_stock(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 0);
    return 0;
}

static int session_sort(lua_State *L)
{
    lua_settop(L, 2);
    bool has_metatable = lua_getmetatable(L, 1) != 0;
    if (!has_metatable) luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    bool plain = lua_istable(L, 1) && !has_metatable && lua_isnil(L, 2);
    struct lists l = {.n = plain ? (size_t)lua_rawlen(L, 1) : 0};
    if (l.n < LONG || l.n > INT_MAX) return call_stock(L);
    l.from = lua_newuserdatauv(L, 2 * l.n * sizeof *l.from, 0);
    l.to = l.from + l.n;
    read_list(L, &l);
    if (l.kind == OTHER) return call_stock(L);
    sort_list(L, &l);
    write_list(L, &l);
    return 0;
}

void lg_open_sort(lua_State *L, const struct lg_session *s)
{
    if (!s->sink.attend_beside) return;
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_pushcclosure(L, session_sort, 1);
    lua_setfield(L, -2, "sort");
    lua_pop(L, 1);
}
