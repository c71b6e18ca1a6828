/* How the table of gpu.memory reads: figures, then the largest arrays by name, then what other devices hold. */
#include <string.h>
#include "lang/largest.h"
#include "lang/session_state.h"

/* An integer field of the table at idx; false when it has none. */
static bool integer_field(lua_State *L, int idx, const char *name, long long *out)
{
    bool is = lua_getfield(L, idx, name) == LUA_TNUMBER;
    *out = (long long)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return is;
}

static void add_figure(lua_State *L, struct lg_buffer *b, int idx, const char *name, bool bytes)
{
    long long value;
    char size[32];
    if (!integer_field(L, idx, name, &value)) return;
    lg_buffer_printf(b, "\n  %s = %lld", name, value);
    if (bytes && value >= 1024) lg_buffer_printf(b, "  (%s)", rt_size_text((double)value, size));
}

/* "      7.8 KiB  model.weights  float64 (1000,)" */
static void add_array(lua_State *L, struct lg_buffer *b, int array)
{
    long long bytes;
    char size[32];
    if (!lua_istable(L, array) || !integer_field(L, array, "bytes", &bytes)) return;
    lua_getfield(L, array, "name");
    lua_getfield(L, array, "dtype");
    lua_getfield(L, array, "shape");
    const char *shape = luaL_tolstring(L, -1, NULL), *name = lua_tostring(L, array + 1),
               *dtype = lua_tostring(L, array + 2);
    lg_buffer_printf(b, "\n    %11s  %s  %s %s", rt_size_text((double)bytes, size), name ? name : "?",
                     dtype ? dtype : "?", shape);
    lua_settop(L, array);
}

static void add_device(lua_State *L, struct lg_buffer *b, int idx)
{
    static const struct {
        const char *name;
        bool bytes;
    } rows[] = {{"in_use", true},
                {"cached", true},
                {"peak", true},
                {"free", true},
                {"total", true},
                {"allocations", false},
                {"driver_allocations", false}};
    int top = lua_gettop(L);
    lua_getfield(L, idx, "device");
    const char *name = lua_tostring(L, -1);
    lg_buffer_printf(b, "%s%s", b->length ? "\n" : "", name ? name : "?");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) add_figure(L, b, idx, rows[k].name, rows[k].bytes);
    if (lua_getfield(L, idx, "arrays") == LUA_TTABLE && lua_rawlen(L, -1) > 0) {
        int arrays = lua_gettop(L);
        lg_buffer_puts(b, "\n  arrays, the largest first");
        for (lua_Integer i = 1; lua_rawgeti(L, arrays, i) == LUA_TTABLE; i++) {
            add_array(L, b, arrays + 1);
            lua_settop(L, arrays);
        }
    }
    lua_settop(L, top);
}

static int memory_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 16, NULL);
    struct lg_buffer *b = lg_push_buffer(L); /* 2 */
    lua_getfield(L, 1, "device");            /* 3 */
    add_device(L, b, 1);
    if (lua_getfield(L, 1, "devices") == LUA_TTABLE) { /* 4; by name, so that the text is the same each time */
        lua_newtable(L);                               /* 5 */
        lua_Integer n = 0;
        for (lua_pushnil(L); lua_next(L, 4); lua_pop(L, 1)) {
            if (lua_type(L, -1) != LUA_TTABLE || lua_rawequal(L, -2, 3)) continue;
            lua_pushvalue(L, -2);
            lua_rawseti(L, 5, ++n);
        }
        lg_sort_keys(L, n);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, 5, i);
            lua_rawget(L, 4);
            add_device(L, b, lua_gettop(L));
            lua_settop(L, 5);
        }
    }
    lg_push_buffer_text(L, b);
    return 1;
}

void lg_set_memory_text(lua_State *L)
{
    lg_set_text(L, "lunarray.memory", memory_tostring);
}
