/* Completion of what only documentation and files know: names of options, f{... or f(..., {...; modules after
 * require. */
#include "lang/completing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- options ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

static void add_option(struct lg_completing *c, const char *name, size_t length)
{
    char text[64];
    if (length < 2 || length > 40) return;
    snprintf(text, sizeof text, "%.*s = ", (int)length, name);
    lg_add_match(c, text, "option", "");
}

/* The list behind "Options: ", as far as names are parted by commas and "and". */
static void add_list(struct lg_completing *c, const char *p)
{
    while (is_letter(*p)) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
        bool comma = strncmp(p + n, ", ", 2) == 0, and = strncmp(p + n, " and ", 5) == 0;
        if (!comma && !and&&strncmp(p + n, " = ", 3) != 0) return;
        add_option(c, p, n);
        p += n + (comma ? 2 : 5);
        if (!comma && !and) return;
    }
}

/* A text that documents options writes each as `name = `, or in a signature as `name=` before the next or the end. */
static void add_options(struct lg_completing *c, const char *text)
{
    const char *list = strstr(text, "Options: ");
    if (list) add_list(c, list + strlen("Options: "));
    for (const char *equals = text; (equals = strchr(equals, '=')) != NULL; equals++) {
        bool apart = equals > text && equals[-1] == ' ';
        const char *end = equals - apart, *start = end;
        while (start > text && is_letter(start[-1])) start--;
        bool word = start == text || strchr(" {[;,(", start[-1]);
        if (word && (apart ? equals[1] != '=' : equals[1] == ',' || equals[1] == '}'))
            add_option(c, start, (size_t)(end - start));
    }
}

/* The innermost '{' that is open at token `end`, or `end`. */
static size_t open_brace(const struct lg_tokens *t, size_t end)
{
    int closed = 0;
    for (size_t i = end; i-- > 0;) {
        if (t->items[i].kind == LG_TOKEN_KEYWORD && lg_token_block(&t->items[i]) != 0) return end;
        if (lg_is_sign(t, i, ")]}")) closed++;
        if (lg_is_sign(t, i, "([{") && closed-- <= 0) return lg_is_sign(t, i, "{") ? i : end;
    }
    return end;
}

bool lg_complete_options(lua_State *L, struct lg_completing *c, size_t before)
{
    const struct lg_tokens *t = &c->tokens;
    size_t brace = open_brace(t, before);
    if (brace == before || brace == 0 || !lg_is_sign(t, before - 1, "{,;")) return false;
    const struct lg_function *callee = lg_callee(L, t, brace);
    if (!callee) return false;
    add_options(c, callee->signature);
    add_options(c, callee->doc);
    return c->count > 0;
}

/* ---- modules ---- */

static void add_loaded(lua_State *L, struct lg_completing *c, const char *table)
{
    int top = lua_gettop(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, table);
    for (lua_pushnil(L); lua_next(L, top + 1); lua_settop(L, top + 2))
        if (lua_type(L, -2) == LUA_TSTRING) lg_add_match(c, lua_tostring(L, -2), "module", "");
    lua_settop(L, top);
}

/* The modules that a template such as "./?.lua" finds in one folder: that of what is typed up to its last dot. */
static void add_found(struct lg_completing *c, const char *template, size_t length)
{
    char folder[4096], path[8192], name[512];
    const char *mark = memchr(template, '?', length), *after = mark ? mark + 1 : NULL;
    const char *typed = c->prefix, *dot = typed + c->prefix_length;
    struct stat st;
    while (dot > typed && dot[-1] != '.') dot--;
    int parents = (int)(dot - typed);
    if (!mark || (mark > template && mark[-1] != '/')) return;
    int n = snprintf(folder, sizeof folder, "%.*s%.*s", (int)(mark - template), template, parents, typed);
    if (n < 0 || (size_t)n >= sizeof folder) return;
    for (char *p = folder + (mark - template); *p; p++)
        if (*p == '.') *p = '/';
    size_t suffix = length - (size_t)(after - template);
    DIR *d = opendir(n ? folder : ".");
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        size_t whole = strlen(e->d_name), cut = *after == '/' ? 0 : suffix;
        if (*e->d_name == '.' || whole <= cut || memcmp(e->d_name + whole - cut, after, cut) != 0) continue;
        snprintf(path, sizeof path, "%s%s%.*s", folder, e->d_name, (int)(suffix - cut), after);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
        snprintf(name, sizeof name, "%.*s%.*s", parents, typed, (int)(whole - cut), e->d_name);
        lg_add_match(c, name, "module", "");
    }
    closedir(d);
}

void lg_complete_modules(lua_State *L, struct lg_completing *c)
{
    static const char *const paths[] = {"path", "cpath"};
    add_loaded(L, c, LUA_LOADED_TABLE);
    add_loaded(L, c, LUA_PRELOAD_TABLE);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushliteral(L, "package");
    if (lua_rawget(L, -2) != LUA_TTABLE) return;
    for (int i = 0; i < 2; i++) {
        lua_pushstring(L, paths[i]);
        lua_rawget(L, -2);
        const char *p = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        for (size_t n; *p; p += n + (p[n] == ';')) {
            n = strcspn(p, ";");
            add_found(c, p, n);
        }
        lua_pop(L, 1);
    }
}
