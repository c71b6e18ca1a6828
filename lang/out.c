#include "lang/out.h"
#include <string.h>
#include "kernels/program.h"
#include "lang/array.h"

/* Pushes a copy of the options at idx without out; false, and nothing, when there are no others. */
static bool push_others(lua_State *L, int idx)
{
    bool any = false;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "out") == 0) continue;
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
        any = true;
    }
    if (!any) lua_pop(L, 1);
    return any;
}

static void check_shape(lua_State *L, const char *name, int ndim, const int64_t *shape, const struct rt_array *out)
{
    char wanted[256], there[256];
    if (ndim == out->ndim && (ndim == 0 || memcmp(shape, out->shape, (size_t)ndim * sizeof *shape) == 0)) return;
    luaL_error(L, "%s: the result's shape is %s, and that of out %s", name,
               rt_shape_text(ndim, shape, wanted, sizeof wanted),
               rt_shape_text(out->ndim, out->shape, there, sizeof there));
}

/* The result, at the top, is an array, a number or a boolean. */
static void write_result(lua_State *L, const char *name, const struct rt_array *out)
{
    struct kn_operand value = {0};
    enum rt_dtype t = RT_BOOL;
    const struct rt_array *result = lg_test_array(L, -1) ? lg_check_array(L, -1) : NULL;
    if (result) {
        t = result->dtype;
    } else if (lua_isboolean(L, -1)) {
        value.i = lua_toboolean(L, -1);
    } else {
        lg_check_operand(L, lua_gettop(L), &value);
        t = value.is_complex ? RT_COMPLEX128 : value.is_float ? RT_FLOAT64 : RT_INT64;
    }
    if (rt_dtypes[t].kind == 'f' && rt_dtypes[out->dtype].kind != 'f' && !rt_is_complex(out->dtype))
        luaL_error(L, "%s gives %s, which the %s elements of out cannot hold; make out %s", name, rt_dtypes[t].name,
                   rt_dtypes[out->dtype].name, rt_dtypes[t].name);
    check_shape(L, name, result ? result->ndim : 0, result ? result->shape : NULL, out);
    lg_check(L, result ? kn_copy(out, result, lg_error_box(L)) : kn_fill(out, &value, lg_error_box(L)));
}

/* Raises the error at the top. Called from C, a function knows neither its name nor whose line it is. */
static void raise_again(lua_State *L, const char *name)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        const char *ours = lua_pushfstring(L, "'%s'", name);
        luaL_gsub(L, lua_tostring(L, -3), "'?'", ours);
        luaL_gsub(L, lua_tostring(L, -1), "'lunarray.", "'");
        lua_pushvalue(L, -4);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    lua_error(L);
}

int lg_out(lua_State *L, const char *name)
{
    int last = lua_gettop(L), arguments = last - 1;
    lua_Debug running;
    if (last == 0 || !lua_istable(L, last)) return 0;
    lua_pushliteral(L, "out");
    if (lua_rawget(L, last) == LUA_TNIL) {
        lua_pop(L, 1);
        return 0;
    }
    luaL_checkstack(L, last + 4, NULL);
    if (!lg_test_array(L, -1)) luaL_error(L, "%s: out must be an array, not %s", name, lg_type_name(L, -1));
    lua_getstack(L, 0, &running);
    lua_getinfo(L, "f", &running);
    for (int i = 1; i < last; i++) lua_pushvalue(L, i);
    if (push_others(L, last)) arguments++;
    if (lua_pcall(L, arguments, 1, 0) != LUA_OK) raise_again(L, name);
    struct rt_array out = *lg_check_target(L, last + 1); /* borrowed */
    write_result(L, name, &out);
    lua_settop(L, last + 1);
    return 1;
}
