/* The names in a table, for whoever looks for those that begin in one way. A walk through a table of 100,000 names
 * takes milliseconds, so the names of large ones are noted until the session runs anything again. */
#include <string.h>
#include "lang/lookup.h"
#include "lang/session_state.h"

enum {
    LARGE = 2000,   /* names: fewer are walked through as fast */
    MOST = 16000,   /* fields for those who want them all */
    LONGEST = 1000, /* bytes of a name that is noted */
};

/* Names are noted while nothing runs that could change the table. */
static struct lg_session *quiet_session(lua_State *L)
{
    struct lg_session *s = lg_session_of(L);
    return s && s->L == L && !s->running && !s->attending ? s : NULL;
}

static void release(struct lg_names *names)
{
    lg_buffer_release(&names->text);
    *names = (struct lg_names){0};
}

void lg_names_forget(struct lg_session *s)
{
    release(&s->names);
    release(&s->noting);
}

/* Those noted of the table on top of the stack. */
static void each_noted(lua_State *L, const struct lg_names *names, const struct lg_wanted *wanted, lg_visitor *visit,
                       void *context)
{
    int table = lua_gettop(L);
    const char *end = names->text.data + names->text.length;
    for (const char *name = names->text.data; name < end; name += strlen(name) + 1) {
        if (strncmp(name, wanted->prefix, wanted->length) != 0 || !wanted->take(name, context)) continue;
        lua_pushstring(L, name);
        if (lua_rawget(L, table) != LUA_TNIL) visit(L, name, context);
        lua_settop(L, table);
    }
}

/* Text that can't be noted is no name that anybody could write. */
static void note(struct lg_names *names, const char *name, size_t length)
{
    if (length > LONGEST || memchr(name, '\0', length)) return;
    lg_buffer_add(&names->text, name, length + 1);
    names->count++;
}

void lg_each_key(lua_State *L, const struct lg_wanted *wanted, lg_visitor *visit, void *context)
{
    int table = lua_gettop(L), left = MOST;
    struct lg_session *s = wanted ? quiet_session(L) : NULL;
    const void *which = lua_topointer(L, table);
    if (s && s->names.table == which) {
        each_noted(L, &s->names, wanted, visit, context);
        return;
    }
    if (s) release(&s->noting); /* what an error has left */
    for (lua_pushnil(L); (wanted || left-- > 0) && lua_next(L, table); lua_settop(L, table + 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        size_t length;
        const char *name = lua_tolstring(L, -2, &length);
        if (s) note(&s->noting, name, length);
        if (!wanted || (strncmp(name, wanted->prefix, wanted->length) == 0 && wanted->take(name, context)))
            visit(L, name, context);
    }
    lua_settop(L, table);
    if (!s || s->noting.count < LARGE || s->noting.text.failed) return;
    release(&s->names);
    s->names = s->noting;
    s->names.table = which;
    s->noting = (struct lg_names){0};
}

static bool take_none(const char *name, void *context)
{
    (void)name, (void)context;
    return false;
}

static int prepare(lua_State *L)
{
    static const struct lg_wanted none = {"", 0, take_none};
    lua_pushglobaltable(L);
    lg_each_key(L, &none, NULL, NULL);
    return 0;
}

void lg_session_prepare(struct lg_session *s)
{
    lg_protect(s, prepare, NULL);
}
