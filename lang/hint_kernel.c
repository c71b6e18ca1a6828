/* What was probably meant by a name in a kernel that nobody declared there: kernels of Numba and of Taichi see the
 * variables around them, those in CUDA C do not. */
#include <stdio.h>
#include <string.h>
#include "lang/hint.h"
#include "lang/lang.h"
#include "lang/lookup.h"

#define MOST_LEVELS 20 /* callers that are asked for the function that compiles */

/* Pushes the variable of that name that the function at this level sees as its own, or an outer one's. */
static bool push_own(lua_State *L, lua_Debug *ar, const char *name)
{
    const char *own;
    int top = lua_gettop(L), found = 0;
    for (int i = 1; (own = lua_getlocal(L, ar, i)) != NULL; i++, lua_pop(L, 1))
        if (strcmp(own, name) == 0) found = i;
    if (found) return lua_getlocal(L, ar, found) != NULL;
    lua_getinfo(L, "f", ar);
    for (int i = 1; (own = lua_getupvalue(L, top + 1, i)) != NULL; i++, lua_pop(L, 1)) {
        if (strcmp(own, name) != 0) continue;
        lua_replace(L, top + 1);
        return true;
    }
    lua_settop(L, top);
    return false;
}

/* Pushes the value that Lua's code where the kernel is compiled has by the name. */
static bool push_outer(lua_State *L, const char *name)
{
    lua_Debug ar;
    for (int level = 1; level < MOST_LEVELS && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "l", &ar);
        if (ar.currentline <= 0) continue; /* a C function, such as gpu.vectorize */
        if (push_own(L, &ar, name)) return true;
        break;
    }
    lg_push_env(L);
    if (!lua_istable(L, -1)) lua_pushglobaltable(L); /* a script's */
    lua_pushstring(L, name);
    return lg_push_field(L, -2);
}

/* The parameter that takes the value at the top; "" where none does. */
static void write_parameter(lua_State *L, const char *name, char *text, size_t size)
{
    const struct rt_array *a = lg_test_array(L, -1);
    *text = '\0';
    if (a)
        snprintf(text, size, "%s *%s", rt_dtypes[a->dtype].cuda, name);
    else if (lua_isinteger(L, -1))
        snprintf(text, size, "int %s, or as a constant by options = {\"-D%s=%lld\"}", name, name,
                 (long long)lua_tointeger(L, -1));
    else if (lua_type(L, -1) == LUA_TNUMBER)
        snprintf(text, size, "float %s", name);
    else if (lua_isboolean(L, -1))
        snprintf(text, size, "bool %s", name);
}

bool lg_push_outer_name(lua_State *L, const char *message)
{
    static const char undefined[] = "error: identifier \"", meant[] = "\n  hint: did you mean ";
    char name[64], parameter[256];
    const char *at = strstr(message, "error: "), *hint = strstr(message, "\n  hint: ");
    int top = lua_gettop(L);
    if (!at || strncmp(at, undefined, sizeof undefined - 1) != 0) return false;
    if (hint && strncmp(hint, meant, sizeof meant - 1) != 0) return false; /* it knows better */
    at += sizeof undefined - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
    luaL_checkstack(L, 16, NULL);
    if (!push_outer(L, name)) {
        lua_settop(L, top);
        return false;
    }
    write_parameter(L, name, parameter, sizeof parameter);
    lua_settop(L, top);
    if (!*parameter) return false;
    lua_pushlstring(L, message, hint ? (size_t)(hint - message) : strlen(message));
    lua_pushfstring(L, "\n  hint: %s is Lua's, and kernels do not see Lua's variables: it comes as a parameter, %s",
                    name, parameter);
    lua_concat(L, 2);
    return true;
}
