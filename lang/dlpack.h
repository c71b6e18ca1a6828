/* DLPack capsules in Lua, for any C module: a header alone, to be included by who makes or takes tensors, with nothing
 * of lunarray to be linked.
 *
 * A capsule is a full userdata whose metatable is registered as LG_DLPACK and whose block is a struct rt_dl_managed. It
 * owns the tensor until somebody takes it; a capsule that is collected or closed before deletes it. So a tensor is
 * deleted exactly once, whatever happens. In lunarray x:dlpack() makes a capsule and gpu.from_dlpack(capsule) takes
 * one.
 *
 *     static int make(lua_State *L)                      static int use(lua_State *L)
 *     {                                                  {
 *         struct rt_dl_managed *m = lg_dlpack_new(L);        struct rt_dl_managed m = lg_dlpack_take(L, 1);
 *         m->pointer = my_tensor();                          ... rt_dl_tensor_of(&m)->data ...
 *         m->versioned = 1;                                  rt_dl_delete(&m);
 *         return 1;                                          return 0;
 *     }                                                  }
 */
#ifndef LG_DLPACK_H
#define LG_DLPACK_H

#include <lua.h>
#include <lauxlib.h>
#include "runtime/dlpack.h"

#define LG_DLPACK "dlpack.capsule"

static inline int lg_dlpack_collect(lua_State *L)
{
    rt_dl_delete((struct rt_dl_managed *)luaL_checkudata(L, 1, LG_DLPACK));
    return 0;
}

/* Pushes a capsule without a tensor, to be filled in place. Raises when memory is short. */
static inline struct rt_dl_managed *lg_dlpack_new(lua_State *L)
{
    struct rt_dl_managed *m = (struct rt_dl_managed *)lua_newuserdatauv(L, sizeof *m, 0);
    m->pointer = 0;
    m->versioned = 1;
    if (luaL_newmetatable(L, LG_DLPACK)) {
        lua_pushcfunction(L, lg_dlpack_collect);
        lua_setfield(L, -2, "__gc");
        lua_pushcfunction(L, lg_dlpack_collect);
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    return m;
}

/* The capsule at idx, whose tensor may be looked at as long as it is on the stack. Raises for other values and for
 * capsules whose tensor was taken. */
static inline struct rt_dl_managed *lg_dlpack_check(lua_State *L, int idx)
{
    struct rt_dl_managed *m = (struct rt_dl_managed *)luaL_checkudata(L, idx, LG_DLPACK);
    luaL_argcheck(L, m->pointer, idx, "the tensor of this DLPack capsule was taken already");
    return m;
}

/* Takes the tensor out of the capsule at idx; the caller deletes it. */
static inline struct rt_dl_managed lg_dlpack_take(lua_State *L, int idx)
{
    struct rt_dl_managed *m = lg_dlpack_check(L, idx), taken = *m;
    m->pointer = 0;
    return taken;
}

#endif
