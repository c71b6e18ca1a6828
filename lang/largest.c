/* The largest arrays by the names that they can be reached under: variables of the functions that run, of the session,
 * and globals, and what is in tables there. Behind a colon are upvalues of functions and what coroutines have,
 * "f: x"; what an array that waits holds for its evaluation is "y (waiting)". Nothing of the user's is run. */
#include <stdio.h>
#include <string.h>
#include "lang/largest.h"
#include "lang/lazy.h"
#include "lang/lexer.h"
#include "lang/session_state.h"

#define DEPTH 5      /* tables in tables */
#define MOST  200000 /* values that are looked at */

struct walk {
    struct lg_largest *out;
    const struct rt_device *device;
    int seen; /* stack index of a table whose keys are the tables that were gone through */
    size_t count;
    bool indirect; /* what is visited is no variable or field, but behind one */
    char name[sizeof((struct lg_largest *)0)->items->name];
};

static int64_t size_of(const struct lg_large *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->ndim; i++) n *= x->shape[i];
    return n;
}

/* Which of two arrays that share memory tells more of it: a variable or field itself, one that is not put aside by a
 * '_', then the one with more elements, then that of the shorter name. */
static bool is_better(const struct lg_large *one, const struct lg_large *other)
{
    if (one->indirect != other->indirect) return other->indirect;
    if ((*one->name == '_') != (*other->name == '_')) return *other->name == '_';
    if (size_of(one) != size_of(other)) return size_of(one) > size_of(other);
    return strlen(one->name) < strlen(other->name);
}

/* Puts the array among the largest. */
static void note(struct walk *w, const struct rt_array *a)
{
    struct lg_largest *out = w->out;
    struct lg_large *items = out->items;
    struct lg_large one = {.storage = a->storage, .dtype = a->dtype, .ndim = a->ndim, .indirect = w->indirect};
    memcpy(one.shape, a->shape, sizeof a->shape);
    memcpy(one.name, w->name, sizeof w->name);
    if (!a->storage || a->storage->bytes == 0 || rt_array_device(a) != w->device) return;
    for (int i = 0; i < out->count; i++)
        if (items[i].storage == a->storage) {
            if (is_better(&one, &items[i])) items[i] = one;
            return;
        }
    int at = out->count;
    while (at > 0 && items[at - 1].storage->bytes < a->storage->bytes) at--;
    if (at == LG_LARGEST) return;
    if (out->count < LG_LARGEST) out->count++;
    memmove(items + at + 1, items + at, (size_t)(out->count - at - 1) * sizeof *items);
    items[at] = one;
}

static void note_held(void *context, const struct rt_array *a)
{
    note(context, a);
}

/* What an array that waits holds for its evaluation. */
static void note_waiting(struct walk *w, const struct lg_array *a)
{
    const size_t length = strlen(w->name);
    const bool indirect = w->indirect;
    if (length + sizeof " (waiting)" > sizeof w->name) return;
    strcpy(w->name + length, " (waiting)");
    w->indirect = true;
    kn_expression_each(a->expression, note_held, w);
    w->indirect = indirect;
    w->name[length] = '\0';
}

static void visit(lua_State *L, struct walk *w, int depth);

/* The name of a field of what is called `w->name`, whose key is at idx; false when it would be too long or is no word
 * or integer. */
static bool add_key(lua_State *L, struct walk *w, size_t length, int idx)
{
    size_t room = sizeof w->name - length, bytes;
    const char *key = lua_type(L, idx) == LUA_TSTRING ? lua_tolstring(L, idx, &bytes) : NULL;
    int n = -1;
    if (key && (!length || lg_is_name(key, bytes)))
        n = snprintf(w->name + length, room, "%s%s", length ? "." : "", key);
    else if (key)
        n = snprintf(w->name + length, room, "[\"%s\"]", key);
    else if (lua_isinteger(L, idx))
        n = snprintf(w->name + length, room, "[" LUA_INTEGER_FMT "]", lua_tointeger(L, idx));
    return n > 0 && (size_t)n < room;
}

/* Whether the value on top is visited for the first time. */
static bool is_new(lua_State *L, const struct walk *w)
{
    lua_pushvalue(L, -1);
    const bool new = lua_rawget(L, w->seen) == LUA_TNIL;
    lua_pop(L, 1);
    if (!new) return false;
    lua_pushvalue(L, -1);
    lua_pushboolean(L, true);
    lua_rawset(L, w->seen);
    return true;
}

/* The fields of the table on top. */
static void visit_fields(lua_State *L, struct walk *w, int depth)
{
    int table = lua_gettop(L);
    size_t length = strlen(w->name);
    for (lua_pushnil(L); lua_next(L, table); lua_settop(L, table + 1)) {
        if (++w->count > MOST) break;
        if (add_key(L, w, length, table + 1)) visit(L, w, depth + 1);
        w->name[length] = '\0';
    }
    lua_settop(L, table);
}

/* The value on top, which a function has in the variable `name`: of one that runs, or behind what is called w->name. */
static void visit_variable(lua_State *L, struct walk *w, const char *name, int depth)
{
    const size_t length = strlen(w->name), room = sizeof w->name - length;
    const bool indirect = w->indirect;
    w->count++;
    if (*name == '(' || *name == '\0' || strcmp(name, "_ENV") == 0) return;
    const int n = snprintf(w->name + length, room, "%s%s", length ? ": " : "", name);
    w->indirect |= length > 0;
    if (n > 0 && (size_t)n < room) visit(L, w, depth);
    w->indirect = indirect;
    w->name[length] = '\0';
}

/* The upvalues of the function on top; that of coroutine.wrap's is the coroutine itself. */
static void visit_upvalues(lua_State *L, struct walk *w, int depth)
{
    const char *name;
    for (int i = 1; (name = lua_getupvalue(L, -1, i)); lua_pop(L, 1), i++) {
        if (*name)
            visit_variable(L, w, name, depth);
        else if (lua_isthread(L, -1))
            visit(L, w, depth);
    }
}

/* The locals and upvalues of the functions that run in `of`, which may be L; of a coroutine that was not started yet
 * those of its function. */
static void visit_stack(lua_State *L, lua_State *of, struct walk *w, int depth)
{
    lua_Debug d;
    const char *name;
    int level = 0;
    if (!lua_checkstack(of, 8)) return;
    for (; lua_getstack(of, level, &d); level++) {
        for (int i = 1; (name = lua_getlocal(of, &d, i)); i++) {
            lua_xmove(of, L, 1);
            visit_variable(L, w, name, depth);
            lua_pop(L, 1);
        }
        lua_getinfo(of, "f", &d);
        lua_xmove(of, L, 1);
        visit_upvalues(L, w, depth);
        lua_pop(L, 1);
    }
    if (level == 0 && of != L && lua_status(of) == LUA_OK && lua_gettop(of) > 0) {
        lua_pushvalue(of, 1);
        lua_xmove(of, L, 1);
        visit_upvalues(L, w, depth);
        lua_pop(L, 1);
    }
}

/* The value on top, which is called w->name. */
static void visit(lua_State *L, struct walk *w, int depth)
{
    luaL_checkstack(L, 8, NULL);
    const struct rt_array *a = lg_test_array(L, -1);
    if (a && lg_waits(a))
        note_waiting(w, (const struct lg_array *)a);
    else if (a)
        note(w, a);
    if (a || depth >= DEPTH || w->count >= MOST) return;
    const int type = lua_type(L, -1);
    if ((type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TTHREAD) || !is_new(L, w)) return;
    if (type == LUA_TTABLE)
        visit_fields(L, w, depth);
    else if (type == LUA_TFUNCTION)
        visit_upvalues(L, w, depth + 1);
    else if (lua_tothread(L, -1) != L)
        visit_stack(L, lua_tothread(L, -1), w, depth + 1);
}

void lg_find_largest(lua_State *L, const struct rt_device *d, struct lg_largest *out)
{
    int top = lua_gettop(L);
    struct walk w = {.out = out, .device = d};
    memset(out, 0, sizeof *out);
    luaL_checkstack(L, 16, NULL);
    lua_newtable(L);
    w.seen = lua_gettop(L);
    visit_stack(L, L, &w, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    if (lua_tothread(L, -1) != L && is_new(L, &w)) visit_stack(L, lua_tothread(L, -1), &w, 0);
    lua_settop(L, w.seen);
    lg_push_env(L);
    visit(L, &w, 0);
    lua_settop(L, w.seen);
    lua_pushglobaltable(L);
    visit(L, &w, 0);
    lua_settop(L, top);
}
