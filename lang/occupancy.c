/* The occupancy of a kernel: of a launch that was profiled, and of one that is only thought of. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "lang/kernel.h"
#include "runtime/occupancy.h"

void lg_push_occupancy(lua_State *L, const struct rt_occupancy *o)
{
    static const char *const keys[RT_LIMITER_COUNT] = {
        [RT_LIMIT_THREADS] = "threads",
        [RT_LIMIT_REGISTERS] = "registers",
        [RT_LIMIT_SHARED] = "shared_memory",
        [RT_LIMIT_BLOCKS] = "blocks",
    };
    lua_createtable(L, 0, 8);
    lg_set_number(L, "fraction", o->max_warps ? (double)o->warps / o->max_warps : 0);
    lg_set_integer(L, "blocks", o->blocks);
    lg_set_integer(L, "warps", o->warps);
    lg_set_integer(L, "max_warps", o->max_warps);
    lg_set_string(L, "limiter", rt_limiter_names[o->limiter]);
    lua_createtable(L, 0, RT_LIMITER_COUNT);
    for (int i = 0; i < RT_LIMITER_COUNT; i++)
        if (o->limits[i] != INT_MAX) lg_set_integer(L, keys[i], o->limits[i]);
    lua_setfield(L, -2, "limits");
}

/* What a launch needs, beside its block. */
struct needs {
    struct rt_multiprocessor on;
    int registers;
    size_t shared;
};

static void push_for(lua_State *L, const struct needs *n, int threads)
{
    struct rt_occupancy o = rt_occupancy_of(&n->on, threads, n->registers, n->shared);
    lg_push_occupancy(L, &o);
    lg_set_integer(L, "block", threads);
    lg_set_integer(L, "registers", n->registers);
    lg_set_integer(L, "shared", (lua_Integer)n->shared);
}

static lua_Integer option(lua_State *L, int table, const char *key, lua_Integer fallback, lua_Integer most)
{
    int type = lua_getfield(L, table, key), whole = 0;
    lua_Integer value = type == LUA_TNIL ? fallback : lua_tointegerx(L, -1, &whole);
    if (type != LUA_TNIL && (!whole || value < 0 || value > most))
        luaL_error(L, "occupancy: %s: expected an integer from 0 to %d, got %s", key, (int)most,
                   luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return value;
}

static void read_needs(lua_State *L, const struct rt_kernel *k, struct needs *n)
{
    enum { MOST_REGISTERS = 255, MOST_SHARED = 1 << 24 };
    lua_Integer dynamic = 0;
    n->registers = k->registers;
    if (lua_istable(L, 3)) {
        for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
            const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : lg_type_name(L, -2);
            if (strcmp(key, "shared") != 0 && strcmp(key, "registers") != 0)
                luaL_error(L, "occupancy: there is no option '%s'; there are shared and registers", key);
        }
        n->registers = (int)option(L, 3, "registers", k->registers, MOST_REGISTERS);
        dynamic = option(L, 3, "shared", 0, MOST_SHARED);
    } else if (!lua_isnoneornil(L, 3)) {
        dynamic = luaL_checkinteger(L, 3);
        luaL_argcheck(L, dynamic >= 0 && dynamic <= MOST_SHARED, 3, "bytes of shared memory are expected");
    }
    n->shared = (size_t)k->shared_bytes + (size_t)dynamic;
}

static lua_Integer field(lua_State *L, const char *key)
{
    lua_getfield(L, -1, key);
    lua_Integer value = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

/* A line for each block of the list: fraction, blocks and warps, and what keeps more away. */
static int list_tostring(lua_State *L)
{
    luaL_Buffer b;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "block  fraction  blocks  warps  limiter");
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 1); i <= n; i++) {
        char line[96];
        if (lua_rawgeti(L, 1, i) != LUA_TTABLE) {
            lua_pop(L, 1);
            continue;
        }
        lua_getfield(L, -1, "fraction");
        double percent = 100 * lua_tonumber(L, -1);
        lua_pop(L, 1);
        lua_getfield(L, -1, "limiter");
        const char *limiter = lua_tostring(L, -1);
        lua_pop(L, 1);
        snprintf(line, sizeof line, "\n%5lld  %7.0f%%  %6lld  %5lld  %s", (long long)field(L, "block"), percent,
                 (long long)field(L, "blocks"), (long long)field(L, "warps"), limiter ? limiter : "");
        lua_pop(L, 1);
        luaL_addstring(&b, line);
    }
    luaL_pushresult(&b);
    return 1;
}

int lg_kernel_occupancy(lua_State *L)
{
    const struct lg_kernel *k = lg_check_object(L, 1, LG_KERNEL);
    const struct rt_kernel *on = &k->loaded[0];
    struct rt_device *d = k->family->devices[0];
    struct needs n;
    lua_settop(L, 3);
    read_needs(L, on, &n);
    lg_check(L, rt_multiprocessor_read(d, &n.on, lg_error_box(L)));
    if (!lua_isnil(L, 2)) {
        unsigned block[3];
        lg_read_size(L, 2, "occupancy: block", block);
        const double threads = (double)block[0] * block[1] * block[2];
        luaL_argcheck(L, threads <= d->max_threads_per_block, 2,
                      lua_pushfstring(L, "threads of a block, from 1 to %d, are expected", d->max_threads_per_block));
        push_for(L, &n, (int)threads);
        lg_make_record(L);
        return 1;
    }
    lua_newtable(L);
    lg_set_text(L, "lunarray.occupancies", list_tostring);
    for (int i = 1; i * d->warp_size <= d->max_threads_per_block; i++) {
        push_for(L, &n, i * d->warp_size);
        lua_rawseti(L, -2, i);
    }
    return 1;
}
