#include "lang/steps.h"
#include <stdarg.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/reduce.h"

/* Pushes the method, or gpu's function of the name "gpu.linalg.solve". */
static void push_function(lua_State *L, const char *name)
{
    if (strncmp(name, "gpu.", 4) != 0) {
        lg_push_methods(L);
        lua_getfield(L, -1, name);
        lua_remove(L, -2);
        return;
    }
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "lunarray");
    lua_remove(L, -2);
    for (name += 4;;) {
        size_t n = strcspn(name, ".");
        lua_pushlstring(L, name, n);
        lua_gettable(L, -2);
        lua_remove(L, -2);
        if (!name[n]) return;
        name += n + 1;
    }
}

/* Raises the error at the top, with the place of the user's call in front and the status that it stands for. */
static void raise_again(lua_State *L, const char *name)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        enum rt_status status = lg_status_of(L, -1);
        luaL_where(L, 1);
        const char *own = lua_pushfstring(L, "'%s'", name);
        luaL_gsub(L, lua_tostring(L, -3), "'?'", own);
        luaL_gsub(L, lua_tostring(L, -1), "'lunarray.", "'gpu.");
        lua_copy(L, -1, -3);
        lua_pop(L, 2);
        lua_concat(L, 2);
        lg_note_status(L, status);
    }
    lua_error(L);
}

int lg_step(lua_State *L, const char *name, const char *kinds, ...)
{
    va_list list;
    int count = 0;
    luaL_checkstack(L, (int)strlen(kinds) + 24, NULL);
    push_function(L, name);
    va_start(list, kinds);
    for (; kinds[count]; count++) switch (kinds[count]) {
        case 'v': lua_pushvalue(L, va_arg(list, int)); break;
        case 'i': lua_pushinteger(L, va_arg(list, int64_t)); break;
        case 'n': lua_pushnumber(L, va_arg(list, double)); break;
        case 'b': lua_pushboolean(L, va_arg(list, int)); break;
        case 's': lua_pushstring(L, va_arg(list, const char *)); break;
        default: lua_pushnil(L);
        }
    va_end(list);
    if (lua_pcall(L, count, 1, 0) != LUA_OK) raise_again(L, name);
    return lua_gettop(L);
}

const struct rt_array *lg_step_array(lua_State *L, int idx, const struct rt_array *beside, enum rt_dtype dtype)
{
    if (lg_test_array(L, idx)) return lg_check_form(L, idx);
    if (!lua_istable(L, idx)) luaL_typeerror(L, idx, "array or table of numbers");
    struct rt_device *d = beside ? rt_array_device(beside) : lg_check_device(L, lua_gettop(L) + 1);
    lg_push_from_table(L, idx, dtype, d);
    lua_replace(L, idx);
    return lg_form(L, idx);
}

bool lg_step_operand(lua_State *L, int idx, const struct rt_array *beside)
{
    if (lg_is_scalar(L, idx)) return false;
    lg_step_array(L, idx, beside, RT_DTYPE_COUNT);
    return true;
}

static bool is_empty(lua_State *L, int idx)
{
    lua_pushnil(L);
    if (!lua_next(L, idx)) return true;
    lua_pop(L, 2);
    return false;
}

/* Whether a table of options is there: one with names alone. */
static bool has_options(lua_State *L, int idx, bool empty)
{
    return lua_istable(L, idx) && lua_rawlen(L, idx) == 0 && (empty || !is_empty(L, idx));
}

void lg_spread(lua_State *L, int idx, const char *what, const char *const names[])
{
    int count = 0, last = lua_gettop(L);
    while (names[count]) count++;
    for (int i = idx; i < last; i++)
        if (has_options(L, i, false)) luaL_argerror(L, i + 1, "a table of options stands behind the other arguments");
    if (last < idx || last > idx + count || !has_options(L, last, last == idx)) {
        lua_settop(L, idx - 1 + count);
        return;
    }
    luaL_checkstack(L, count + 8, NULL);
    const int table = idx + count;
    for (int i = last; i < table; i++) {
        lua_pushnil(L);
        lua_insert(L, last);
    }
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        int which = 0;
        const char *key = lg_option_name(L);
        while (which < count && strcmp(key, names[which]) != 0) which++;
        const char *synonym = which == count ? lg_option_synonym(key) : NULL;
        for (int i = 0; synonym && i < count; i++)
            if (strcmp(synonym, names[i]) == 0)
                luaL_error(L, "%s: there is no option '%s'; it is called %s", what, key, synonym);
        if (which == count) {
            luaL_Buffer b;
            luaL_buffinit(L, &b);
            for (int i = 0; i < count; i++) {
                if (i) luaL_addstring(&b, names[i + 1] ? ", " : " and ");
                luaL_addstring(&b, names[i]);
            }
            luaL_pushresult(&b);
            luaL_error(L, "%s: there is no option '%s'; there %s %s", what, key, count == 1 ? "is" : "are",
                       lua_tostring(L, -1));
        }
        if (!lua_isnil(L, idx + which)) luaL_error(L, "%s: %s is given twice", what, key);
        lua_pushvalue(L, -1);
        lua_replace(L, idx + which);
    }
    lua_settop(L, table - 1);
}

void lg_spread_list(lua_State *L, int idx, const char *what, const char *const names[])
{
    if (lua_gettop(L) == idx && lua_istable(L, idx) && is_empty(L, idx)) lua_pushnil(L);
    lg_spread(L, idx, what, names);
}

/* The value as a message has it: a number as it is written, of other values their kind. */
static const char *push_shown(lua_State *L, int idx)
{
    return lua_isnumber(L, idx) ? luaL_tolstring(L, idx, NULL) : lua_pushstring(L, lg_type_name(L, idx));
}

double lg_number_option(lua_State *L, int idx, const char *what, const char *name, double otherwise)
{
    int given;
    if (lua_isnoneornil(L, idx)) return otherwise;
    double v = lua_tonumberx(L, idx, &given);
    if (!given) luaL_error(L, "%s: %s is %s, expected a number", what, name, push_shown(L, idx));
    return v;
}

lua_Integer lg_integer_option(lua_State *L, int idx, const char *what, const char *name, lua_Integer otherwise)
{
    int given;
    if (lua_isnoneornil(L, idx)) return otherwise;
    lua_Integer v = lua_tointegerx(L, idx, &given);
    if (!given) luaL_error(L, "%s: %s is %s, expected an integer", what, name, push_shown(L, idx));
    return v;
}

int lg_push_axes(lua_State *L, unsigned axes, int ndim)
{
    lua_Integer n = 0;
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++)
        if (axes >> i & 1) {
            lua_pushinteger(L, i + 1);
            lua_rawseti(L, -2, ++n);
        }
    return lua_gettop(L);
}

enum rt_dtype lg_floating(const struct rt_array *a)
{
    return rt_is_complex(a->dtype) ? a->dtype : kn_floating_dtype(a->dtype);
}

int lg_end_reduction(lua_State *L, int idx, const struct rt_array *a, const struct lg_reduction *r)
{
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    lua_pushvalue(L, idx);
    if (r->keepdims) return 1;
    if (r->value) {
        lg_step(L, "item", "v", lua_gettop(L));
        return 1;
    }
    kn_reduced_shape(a, r->axes, false, &ndim, shape);
    lg_push_shape(L, ndim, shape);
    lg_step(L, "reshape", "vv", lua_gettop(L) - 1, lua_gettop(L));
    return 1;
}

int lg_push_reshaped(lua_State *L, int idx, int ndim, const int64_t *shape)
{
    lg_push_shape(L, ndim, shape);
    return lg_step(L, "reshape", "vv", idx, lua_gettop(L));
}

int lg_push_narrowed(lua_State *L, int idx, int axis, int64_t start, int64_t count)
{
    return lg_step(L, "narrow", "viii", idx, (int64_t)axis + 1, start + 1, count);
}

int lg_push_joined(lua_State *L, int axis, int count, const int *parts)
{
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushvalue(L, parts[i]);
        lua_rawseti(L, -2, i + 1);
    }
    int list = lua_gettop(L);
    lg_step(L, "gpu.concatenate", "vi", list, (int64_t)axis + 1);
    lua_remove(L, list);
    return list;
}
