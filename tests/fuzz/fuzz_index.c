/* Index strings such as "1:2, ::-1". Whatever is written, the answer is an error or a view that lies inside its array.
 */
#include <stdint.h>
#include "lang/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "gpu", luaopen_lunarray, 1);
    if (luaL_dostring(L, "return {gpu.zeros({}, 'cpu'), gpu.zeros(7, 'cpu'), gpu.zeros(2, 0, 3, 'cpu'),"
                         " gpu.zeros(3, 4, 5, 'cpu')['::2, :, ::-1']}, function(x, key) return x[key] end") != LUA_OK)
        __builtin_trap();
    lua_remove(L, 1);
    return L;
}

static void check_inside(const struct rt_array *a)
{
    int64_t low = a->offset, high = a->offset, room = (int64_t)(a->storage->bytes / rt_dtypes[a->dtype].size);
    if (a->ndim < 0 || a->ndim > RT_MAX_DIMS) __builtin_trap();
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] < 0) __builtin_trap();
        if (a->shape[i] == 0) return;
        int64_t last = (a->shape[i] - 1) * a->strides[i];
        *(last < 0 ? &low : &high) += last;
    }
    if (low < 0 || high >= room) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static lua_State *L;
    if (!L) L = open_state();
    for (int i = 1; i <= 4; i++) {
        lua_pushvalue(L, 2);
        lua_rawgeti(L, 1, i);
        lua_pushlstring(L, (const char *)data, size);
        const struct rt_array *view = lua_pcall(L, 2, 1, 0) == LUA_OK ? lg_test_array(L, -1) : NULL;
        if (view) check_inside(view);
        lua_settop(L, 2);
    }
    return 0;
}
