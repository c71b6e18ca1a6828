/* How errors of runtime/ and kernels/ become Lua's: the state's box, what types are called, and the status of a
 * message. */
#include "lang/session_state.h"
#include <string.h>
#include "runtime/interrupt.h"

void lg_set_event(lua_State *L, const char *event, lua_CFunction f)
{
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, event);
    lua_setmetatable(L, -2);
}

/* The address is the key in Lua's registry. */
static const char box_key, message_key, status_key;

static int clear_box(lua_State *L)
{
    rt_error_clear(lua_touserdata(L, 1));
    return 0;
}

static struct rt_error *make_box(lua_State *L)
{
    struct rt_error *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (struct rt_error){0};
    lg_set_event(L, "__gc", clear_box);
    lg_set_own(L, LG_OWN_ERROR, &box_key);
    return box;
}

struct rt_error *lg_error_box(lua_State *L)
{
    struct rt_error *box = lg_own(L, LG_OWN_ERROR);
    return box ? box : make_box(L);
}

void lg_note_status(lua_State *L, enum rt_status status)
{
    lua_pushinteger(L, status);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &status_key);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &message_key);
}

/* "event" of "lunarray.event". */
static const char *bare(const char *type)
{
    size_t ours = strlen("lunarray.");
    return strncmp(type, "lunarray.", ours) == 0 ? type + ours : type;
}

const char *lg_type_name(lua_State *L, int idx)
{
    const char *name = luaL_typename(L, idx);
    if (luaL_getmetafield(L, idx, "__name") == LUA_TNIL) return name;
    if (lua_type(L, -1) == LUA_TSTRING) name = lua_tostring(L, -1); /* the metatable keeps it */
    lua_pop(L, 1);
    return bare(name);
}

int lg_raise_expected(lua_State *L, int idx, const char *expected)
{
    const char *got = lua_isnone(L, idx) ? "no value" : lg_type_name(L, idx);
    return luaL_argerror(L, idx, lua_pushfstring(L, "%s, got %s", expected, got));
}

void *lg_check_object(lua_State *L, int idx, const char *type)
{
    void *object = luaL_testudata(L, idx, type);
    if (!object) luaL_typeerror(L, idx, bare(type));
    return object;
}

enum rt_status lg_status_of(lua_State *L, int idx)
{
    idx = lua_absindex(L, idx);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &message_key);
    bool same = lua_isstring(L, -1) && lua_rawequal(L, -1, idx);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &status_key);
    enum rt_status status = same ? (enum rt_status)lua_tointeger(L, -1) : RT_OK;
    lua_pop(L, 2);
    return status;
}

int lg_raise(lua_State *L, struct rt_error *e)
{
    enum rt_status status = e->status;
    luaL_where(L, 1);
    lua_pushstring(L, e->text ? e->text : rt_status_name(status));
    rt_error_clear(e);
    lua_concat(L, 2);
    lg_note_status(L, status);
    if (status == RT_INTERRUPTED) lg_count_interrupt();
    return lua_error(L);
}

void lg_poll(lua_State *L)
{
    lg_answer_here(L);
    if (!rt_interrupted()) return;
    struct rt_error *e = lg_error_box(L);
    rt_fail(e, RT_INTERRUPTED, "interrupted");
    lg_raise(L, e);
}
