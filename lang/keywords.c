/* Arguments by name: f{x, axis = 2} becomes f(x, 2), by the names that the signature of f has. */
#include "lang/closest.h"
#include "lang/keywords.h"

#include <ctype.h>
#include <string.h>

static bool is(const char *s, size_t length, const char *name)
{
    return strlen(name) == length && !strncmp(s, name, length);
}

/* The parameters of a form from behind its parenthesis; -1 where they are more than LG_PARAMETERS. Blanks, brackets and
 * dots are no part of a name. */
static int read_parameters(const char *s, struct lg_parameter_name out[LG_PARAMETERS])
{
    int n = 0, depth = 0;
    bool dtype = false, device = false;
    while (*s && *s != ')') {
        size_t length = 0;
        for (; *s && strchr(" ,[]", *s); s++) depth += (*s == '[') - (*s == ']');
        while (isalnum((unsigned char)s[length]) || s[length] == '_') length++;
        if (*s == ')' || !*s) break;
        if (!length || n == LG_PARAMETERS) return -1;
        struct lg_parameter_name *p = &out[n++];
        *p = (struct lg_parameter_name){.name = s, .length = length, .optional = depth > 0};
        dtype |= is(s, length, "dtype");
        device |= is(s, length, "device");
        p->floats = is(s, length, "dtype") || is(s, length, "device") || is(s, length, "endpoint");
        s += length;
        if (!strncmp(s, "...", 3)) s += 3;
        if (!strchr(" ,[])", *s)) return -1;
    }
    for (int i = 0; i < n && !(dtype && device); i++) out[i].floats = false; /* one of them alone has its place */
    return n;
}

/* Does the text from s to end end in this word? */
static bool ends_with(const char *s, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - s) >= length && strncmp(end - length, word, length) == 0;
}

/* Functions that read tables of options themselves say so in their signature or, as {axis = ..., n = ...}, in their
 * documentation; transforms, which have a norm, all do. */
static bool has_options(const struct lg_function *row)
{
    const char *s = row->signature;
    if (strchr(s, '{') || strstr(s, "options") || (!strncmp(s, "gpu.fft.", 8) && strstr(s, "norm"))) return true;
    for (const char *at = row->doc; at && (at = strstr(at, " = ...")); at++) /* dtype and device everything takes */
        if (!ends_with(row->doc, at, "dtype") && !ends_with(row->doc, at, "device")) return true;
    return false;
}

/* From behind the parenthesis of the form that names all parameters; NULL without one. */
static const char *find_form(const struct lg_function *row)
{
    size_t length = strlen(row->name);
    const char *of = row->signature;
    if (strncmp(of, "gpu.", 4) != 0 && strncmp(of, "x:", 2) != 0 && strncmp(of, "y:", 2) != 0) return NULL;
    if (has_options(row)) return NULL;
    for (const char *s = row->signature; (s = strstr(s, row->name)); s += length) {
        if (s == row->signature || !strchr(".:", s[-1]) || s[length] != '(') continue;
        const char *form = s + length + 1, *end = strchr(form, ')');
        bool others = end && end - form >= 3 && strncmp(end - 3, "...", 3) == 0 && (end - form == 3 || end[-4] == ' ');
        if (!others) return form; /* "gpu.flip(x, ...)" leaves them to the other form */
    }
    return NULL;
}

bool lg_keyword_form(const struct lg_function *row, struct lg_keyword_form *f)
{
    const char *text = find_form(row);
    if (!text) return false;
    f->first = text[-(ptrdiff_t)strlen(row->name) - 2] == ':' ? 2 : 1;
    f->count = read_parameters(text, f->parameters);
    return f->count >= 0;
}

/* What table.pack() gives, an empty list: {n = 0}. */
static bool is_empty_pack(lua_State *L, int idx)
{
    int keys = 0;
    bool zero = false;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), keys++)
        zero |= lua_type(L, -2) == LUA_TSTRING && !strcmp(lua_tostring(L, -2), "n") && lua_isinteger(L, -1) &&
                lua_tointeger(L, -1) == 0;
    return zero && keys == 1;
}

static int find(const struct lg_parameter_name *p, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (is(p[i].name, p[i].length, name)) return i;
    return -1;
}

/* Raises what there is instead. */
static int raise_unknown(lua_State *L, const struct lg_function *row, const char *name,
                         const struct lg_parameter_name *p, int count, int given)
{
    struct lg_parameter_name known[LG_PARAMETERS + 1];
    int names = 0;
    luaL_Buffer b;
    bool optional = false;
    for (int i = 0; i < count; i++) {
        if (i < given && !p[i].floats) continue;
        optional |= p[i].optional;
        known[names++] = p[i];
    }
    const char *synonym = lg_option_synonym(name);
    if (synonym && find(known, names, synonym) >= 0)
        return luaL_error(L, "%s: there is no option '%s'; it is called %s", row->name, name, synonym);
    if (!optional) names = 0; /* the signature says it all */
    if (row->doc && strstr(row->doc, "out = ")) known[names++] = (struct lg_parameter_name){.name = "out", .length = 3};
    luaL_buffinit(L, &b);
    for (int i = 0; i < names; i++) {
        if (i) luaL_addstring(&b, i + 1 == names ? " and " : ", ");
        luaL_addlstring(&b, known[i].name, known[i].length);
    }
    luaL_pushresult(&b);
    if (!names) return luaL_error(L, "%s: there is no option '%s'; it is %s", row->name, name, row->signature);
    return luaL_error(L, "%s: there is no option '%s'; there %s %s", row->name, name, names == 1 ? "is" : "are",
                      lua_tostring(L, -1));
}

/* "[start,] stop": an argument alone beside names is the second parameter, unless the names have that one; nil stands
 * before it then. Returns where the table is. */
static int skip_first(lua_State *L, const struct lg_parameter_name *p, int count, int first, int table)
{
    if (table - first != 1 || count < 2 || !p[0].optional || p[1].optional) return table;
    bool any = false, second = false;
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, p[i].name, p[i].length);
        bool named = lua_rawget(L, table) != LUA_TNIL && !p[i].floats;
        any |= named;
        second |= named && i == 1;
        lua_pop(L, 1);
    }
    if (!any || second) return table;
    lua_pushnil(L);
    lua_insert(L, first);
    return table + 1;
}

/* Values of the parameters from `given` on lie on the stack behind `values`. */
static void check_there(lua_State *L, const struct lg_function *row, const struct lg_parameter_name *p, int count,
                        int given, int values)
{
    for (int i = given; i < count; i++) {
        if (p[i].optional || !lua_isnil(L, values + 1 + i)) continue;
        lua_pushlstring(L, p[i].name, p[i].length);
        luaL_error(L, "%s: %s is missing; it is %s", row->name, lua_tostring(L, -1), row->signature);
    }
}

/* What a table at the end of the arguments is to a form. */
enum table {
    NO_NAMES, /* a list, or empty */
    STAYS,    /* all that it names the function reads itself */
    SPREADS   /* there is what names the place of an argument, or is an error */
};

static enum table look_at(lua_State *L, const struct lg_keyword_form *f, int idx)
{
    bool names = false, others = false;
    if (lua_rawlen(L, idx) > 0) return NO_NAMES;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) {
            others = true;
            continue;
        }
        const char *name = lua_tostring(L, -2);
        int k = find(f->parameters, f->count, name);
        names = true;
        others |= k >= 0 ? !f->parameters[k].floats : strcmp(name, "out") != 0;
    }
    return !names ? NO_NAMES : others ? SPREADS : STAYS;
}

/* Keeps the name and the value at the top in a table at `rest`, which is made for the first of them. */
static void keep(lua_State *L, int rest)
{
    if (lua_isnil(L, rest)) {
        lua_createtable(L, 0, 2);
        lua_replace(L, rest);
    }
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, rest);
}

bool lg_take_keywords(lua_State *L, const struct lg_function *row, const struct lg_keyword_form *f)
{
    const struct lg_parameter_name *p = f->parameters;
    const int count = f->count, first = f->first;
    int table = lua_gettop(L);
    enum table kind = look_at(L, f, table);
    if (kind == NO_NAMES || table < first) return false;
    if (kind == STAYS) return true;
    if (find(p, count, "n") < 0 && is_empty_pack(L, table)) return false;
    luaL_checkstack(L, 2 * LG_PARAMETERS + 6, NULL);
    table = skip_first(L, p, count, first, table);
    lua_pushnil(L);                                    /* the rest, where there is one */
    const int given = table - first, rest = table + 1; /* parameters that have their values */
    int last = given;
    for (int i = 0; i < count; i++) lua_pushnil(L); /* from rest + 1 on: a value for each parameter */
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "%s: options have names, as in {name = value}", row->name);
        const char *name = lua_tostring(L, -2);
        int k = find(p, count, name);
        if (k < 0 && strcmp(name, "out") != 0) raise_unknown(L, row, name, p, count, given);
        if (k >= 0 && k < given && !p[k].floats && !lua_isnil(L, first + k)) /* what floats may stand anywhere */
            luaL_error(L, "%s: %s is argument %d already, and an option, too", row->name, name, k + first);
        if (k < 0 || p[k].floats) {
            keep(L, rest);
            continue;
        }
        lua_pushvalue(L, -1);
        lua_replace(L, k < given ? first + k : rest + 1 + k);
        if (k >= last) last = k + 1;
    }
    check_there(L, row, p, count, given, rest);
    const bool any = !lua_isnil(L, rest);
    int moved = last - given + any, from = lua_gettop(L) + 1;
    for (int k = given; k < last; k++) lua_pushvalue(L, rest + 1 + k);
    if (any) lua_pushvalue(L, rest);
    for (int k = 0; k < moved; k++) lua_copy(L, from + k, table + k);
    lua_settop(L, table + moved - 1);
    return true;
}
