/* Templates among the functions in CUDA C that functions of arrays are made of: one is made for each dtype that is met.
 */
#include "kernels/ops.h"
#include "lang/head.h"
#include "lang/steps.h"

/* Upvalues of the function that is given out. */
#define MAKE    lua_upvalueindex(1)
#define TEXT    lua_upvalueindex(2)
#define OPTIONS lua_upvalueindex(3)
#define HEAD    lua_upvalueindex(4)
#define MADE    lua_upvalueindex(5) /* by dtype */

/* Raises the error at the top, which says its place if it is of a kernel. */
static int raise_again(lua_State *L)
{
    enum rt_status status = lg_status_of(L, -1);
    bool own = status == RT_COMPILE || status == RT_FAULT || status == RT_UNSUPPORTED || status == RT_INTERRUPTED;
    if (lua_type(L, -1) == LUA_TSTRING && !own) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
        if (status != RT_OK) lg_note_status(L, status);
    }
    return lua_error(L);
}

/* Adds what a declaration says: the type, and a name. */
static void add_declared(luaL_Buffer *b, const struct lg_parameter *p, enum rt_dtype dtype)
{
    luaL_addstring(b, rt_dtypes[p->dtype == RT_DTYPE_COUNT ? dtype : p->dtype].cuda);
    luaL_addchar(b, ' ');
    luaL_addstring(b, p->name);
}

/* Pushes the text with a function behind it, of the template's name, that is the template's for the dtype. */
static void push_bound(lua_State *L, const struct lg_head *f, enum rt_dtype dtype)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    lua_pushvalue(L, TEXT);
    luaL_addvalue(&b);
    luaL_addstring(&b, "\n__device__ ");
    add_declared(&b, &f->result, dtype);
    for (int i = 0; i < f->count; i++) {
        luaL_addstring(&b, i ? ", " : "(");
        add_declared(&b, &f->list[i], dtype);
    }
    luaL_addstring(&b, ") { return ");
    luaL_addstring(&b, f->result.name);
    luaL_addchar(&b, '<');
    luaL_addstring(&b, rt_dtypes[dtype].cuda);
    for (int i = 0; i < f->count; i++) {
        luaL_addstring(&b, i ? ", " : ">(");
        luaL_addstring(&b, f->list[i].name);
    }
    luaL_addstring(&b, "); }");
    luaL_pushresult(&b);
}

/* Pushes the function for the dtype. */
static void push_made(lua_State *L, const struct lg_head *f, enum rt_dtype dtype)
{
    if (lua_getfield(L, MADE, rt_dtypes[dtype].name) != LUA_TNIL) return;
    lua_pop(L, 1);
    lua_pushvalue(L, MAKE);
    push_bound(L, f, dtype);
    lua_pushvalue(L, OPTIONS);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK) raise_again(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, MADE, rt_dtypes[dtype].name);
}

/* What the template's type is for the arguments. */
static enum rt_dtype bind(lua_State *L, const struct lg_head *f)
{
    enum rt_dtype dtype = RT_DTYPE_COUNT;
    for (int i = 0; i < f->count && i < lua_gettop(L); i++) {
        const struct rt_array *a = f->list[i].dtype == RT_DTYPE_COUNT ? lg_test_array(L, i + 1) : NULL;
        if (a) dtype = dtype == RT_DTYPE_COUNT ? a->dtype : kn_promote(dtype, a->dtype);
    }
    if (dtype == RT_DTYPE_COUNT)
        luaL_error(L, "%s: none of the arguments for %s is an array, whose dtype it would be", f->result.name, f->type);
    return dtype;
}

static int call(lua_State *L)
{
    const struct lg_head *f = lua_touserdata(L, HEAD);
    int count = lua_gettop(L);
    enum rt_dtype dtype = bind(L, f);
    luaL_checkstack(L, count + 24, NULL);
    push_made(L, f, dtype);
    for (int i = 1; i <= count; i++) {
        const struct rt_array *a = lg_test_array(L, i);
        if (a && i <= f->count && f->list[i - 1].dtype == RT_DTYPE_COUNT && a->dtype != dtype)
            lg_step(L, "to", "vs", i, rt_dtypes[dtype].name);
        else
            lua_pushvalue(L, i);
    }
    if (lua_pcall(L, count, LUA_MULTRET, 0) != LUA_OK) return raise_again(L);
    return lua_gettop(L) - count;
}

int lg_push_generic(lua_State *L, const struct lg_head *f, lua_CFunction make)
{
    bool any = false;
    for (int i = 0; i < f->count; i++) any = any || f->list[i].dtype == RT_DTYPE_COUNT;
    if (!any) return luaL_error(L, "%s: none of its parameters is a %s", f->result.name, f->type);
    int options = lg_push_placed(L, 2);
    lua_pushcfunction(L, make);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, options);
    *(struct lg_head *)lua_newuserdatauv(L, sizeof *f, 0) = *f;
    lua_newtable(L);
    lua_pushcclosure(L, call, 5);
    return 1;
}
