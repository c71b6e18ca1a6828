/* Magics about the process: the folder it is in, and the variables of its environment. */
#define _GNU_SOURCE /* environ, O_PATH, strcasestr */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lang/completing.h"
#include "lang/magic.h"
#include "runtime/memory.h"

#define MOVED "lunarray.moved"

/* Where the process was before the session's first %cd: a session that ends leaves it there, since paths of the command
 * line that are used later count from there. Its user value is the folder before the last %cd. */
struct moved {
    int first;
};

static int moved_close(lua_State *L)
{
    struct moved *m = lua_touserdata(L, 1);
    if (m->first < 0) return 0;
    int failed = fchdir(m->first);
    (void)failed; /* the folder may be closed to us by now: nobody is left to be told */
    close(m->first);
    m->first = -1;
    return 0;
}

static void push_moved(lua_State *L)
{
    if (lua_getfield(L, LUA_REGISTRYINDEX, MOVED) == LUA_TUSERDATA) return;
    lua_pop(L, 1);
    struct moved *m = lua_newuserdatauv(L, sizeof *m, 1);
    m->first = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    lg_set_event(L, "__gc", moved_close);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, MOVED);
}

/* Pushes the folder's path; NULL and nothing when it has none, as after its removal. */
static const char *push_current(lua_State *L)
{
    char path[PATH_MAX];
    return getcwd(path, sizeof path) ? lua_pushstring(L, path) : NULL;
}

/* Pushes the path that %cd names: the first word, or all of an unquoted name with spaces. */
static const char *push_wanted(struct lg_magic_call *call, int moved)
{
    lua_State *L = call->L;
    const char *home = getenv("HOME");
    if (strcmp(call->rest, "-") == 0) {
        lua_getiuservalue(L, moved, 1);
        if (lua_isnil(L, -1)) luaL_error(L, "%%cd - goes back, and there was no %%cd before");
        return lua_tostring(L, -1);
    }
    if (*lg_push_word(L, call->rest)) lua_pushstring(L, call->rest);
    const char *path = lua_tostring(L, -1);
    bool below = *path == '~' && (path[1] == '/' || !path[1]);
    if (*path && !below) return path;
    if (!home || !*home) luaL_error(L, "HOME is not set; %%cd needs the name of a folder");
    return lua_pushfstring(L, "%s%s", home, below ? path + 1 : "");
}

int lg_magic_cd(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    push_moved(L);
    int moved = lua_gettop(L);
    const char *path = push_wanted(call, moved);
    if (!push_current(L)) lua_pushnil(L);
    if (chdir(path) != 0) return luaL_error(L, "cannot go to %s: %s", path, strerror(errno));
    lua_setiuservalue(L, moved, 1);
    const char *now = push_current(L);
    lua_pushfstring(L, "%s\n", now ? now : path);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), lua_rawlen(L, -1));
    return 0;
}

int lg_magic_pwd(struct lg_magic_call *call)
{
    if (!push_current(call->L)) return luaL_error(call->L, "the current folder has no path: %s", strerror(errno));
    return 1;
}

/* The environment */

/* Arrays that environ has been. They stay: other threads, and libraries in them, may be reading one, which is why this
 * is not left to setenv. */
struct environment {
    struct environment *former;
    char *entries[];
};

/* False when out of memory. */
static bool set_variable(const char *name, size_t length, const char *value)
{
    static struct environment *last;
    size_t count = 0, n = 0, size = strlen(value) + 1;
    while (environ && environ[count]) count++;
    struct environment *e = rt_alloc(sizeof *e + (count + 2) * sizeof *e->entries);
    char *entry = rt_alloc(length + 1 + size);
    if (!e || !entry) return free(e), free(entry), false;
    memcpy(entry, name, length);
    entry[length] = '=';
    memcpy(entry + length + 1, value, size);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], entry, length + 1) != 0) e->entries[n++] = environ[i];
    e->entries[n++] = entry;
    e->entries[n] = NULL;
    e->former = last;
    last = e;
    __atomic_store_n(&environ, e->entries, __ATOMIC_RELEASE);
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Notebooks are given away: what is likely to be a secret is not in the list. */
static bool is_secret(const char *name)
{
    static const char *const parts[] = {"key", "token", "secret", "passw"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(name, parts[i])) return true;
    return false;
}

static int list_environment(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    size_t count = 0;
    struct lg_buffer *b = lg_push_buffer(L);
    while (environ && environ[count]) count++;
    char **entries = lua_newuserdatauv(L, (count + 1) * sizeof *entries, 0);
    for (size_t i = 0; i < count; i++) entries[i] = environ[i];
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++) {
        const char *name = lua_pushlstring(L, entries[i], strcspn(entries[i], "="));
        if (is_secret(name))
            lg_buffer_printf(b, "%s=<hidden>\n", name);
        else
            lg_buffer_printf(b, "%s\n", entries[i]);
        lua_pop(L, 1);
    }
    lg_push_buffer_text(L, b);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), b->length);
    return 0;
}

int lg_magic_env(struct lg_magic_call *call)
{
    lua_State *L = call->L;
    size_t length = strcspn(call->rest, "= \t");
    if (!*call->rest) return list_environment(call);
    const char *name = lua_pushlstring(L, call->rest, length), *value = call->rest + length;
    if (!*value) {
        const char *set = getenv(name);
        if (!set) return luaL_error(L, "the environment has no %s; %%env %s=VALUE sets it", name, name);
        lua_pushstring(L, set);
        return 1;
    }
    value += strspn(value, " \t");
    if (*value == '=') value += 1 + strspn(value + 1, " \t");
    if (!length) return luaL_error(L, "%%env needs a name before the =");
    if (!set_variable(name, length, value)) return luaL_error(L, "not enough memory");
    lua_pushfstring(L, "env: %s=%s\n", name, value);
    lg_output(call->session, LG_STDOUT, lua_tostring(L, -1), lua_rawlen(L, -1));
    return 0;
}

void lg_complete_environment(struct lg_completing *c)
{
    char name[256];
    char **entries = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
    for (; entries && *entries; entries++) {
        size_t n = strcspn(*entries, "=");
        if (n >= sizeof name) continue;
        memcpy(name, *entries, n);
        name[n] = '\0';
        lg_add_match(c, name, "environment", is_secret(name) ? "" : *entries + n + (*(*entries + n) == '='));
    }
}
