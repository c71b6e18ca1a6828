#include "lang/head.h"
#include <string.h>
#include "lang/kernel.h"
#include "runtime/spelling.h"

/* The dtype that a type of CUDA C is, by its words; RT_DTYPE_COUNT: none. */
static enum rt_dtype dtype_of(const char *type)
{
    static const struct {
        const char *type;
        enum rt_dtype dtype;
    } others[] = {{"char", RT_INT8},          {"unsigned", RT_UINT32}, {"int8_t", RT_INT8},
                  {"int16_t", RT_INT16},      {"int32_t", RT_INT32},   {"int64_t", RT_INT64},
                  {"uint8_t", RT_UINT8},      {"uint16_t", RT_UINT16}, {"uint32_t", RT_UINT32},
                  {"uint64_t", RT_UINT64},    {"long", RT_INT64},      {"unsigned long", RT_UINT64},
                  {"long long int", RT_INT64}};
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        if (strcmp(rt_dtypes[t].cuda, type) == 0) return (enum rt_dtype)t;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].type, type) == 0) return others[i].dtype;
    return RT_DTYPE_COUNT;
}

/* Reads "inline float f" or "const float x" from [from, to): words that say nothing of the type are left out, the last
 * one is the name. */
static void read_declaration(lua_State *L, const char *what, const char *from, const char *to, const char *generic,
                             struct lg_parameter *out)
{
    static const char *const silent[] = {"const", "inline", "static", "__host__", "__forceinline__", "__inline__"};
    char type[LG_HEAD_NAME] = "", word[LG_HEAD_NAME];
    *out = (struct lg_parameter){0};
    for (const char *s = from; s < to;) {
        size_t n = 0;
        while (s + n < to && rt_in_name(s[n])) n++;
        if (!n) {
            if (!strchr(" \t\r\n", *s))
                luaL_error(L, "%s: the function's parameters are numbers, such as float x; '%c' stands there", what,
                           *s);
            s++;
            continue;
        }
        if (n >= LG_HEAD_NAME || strlen(type) + strlen(out->name) + 2 >= LG_HEAD_NAME)
            luaL_error(L, "%s: a name is too long", what);
        memcpy(word, s, n);
        word[n] = '\0';
        s += n;
        bool leave = false;
        for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) leave = leave || strcmp(silent[i], word) == 0;
        if (leave) continue;
        if (*out->name && *type) strcat(type, " ");
        strcat(type, out->name);
        memcpy(out->name, word, n + 1);
    }
    out->dtype = dtype_of(type);
    if (out->dtype == RT_DTYPE_COUNT && (!*generic || strcmp(type, generic) != 0))
        luaL_error(L,
                   "%s: '%s' of '%s' is no type of elements; there are float, double, int, long long, bool and so on",
                   what, type, out->name);
}

/* Skips a word that stands at s, before `end`, and blanks around it; NULL: another one does. */
static const char *behind(const char *s, const char *end, const char *word)
{
    size_t n = strlen(word);
    s += strspn(s, " \t\r\n");
    if (s + n > end || strncmp(s, word, n) != 0) return NULL;
    s += n;
    return s + strspn(s, " \t\r\n");
}

/* The type's name in a `template <typename T>` that stands before the function that is marked at `mark`; "": none does.
 */
static void read_template(lua_State *L, const char *what, const char *text, const char *mark, char out[LG_HEAD_NAME])
{
    const char *at = NULL, *next = text;
    size_t n = 0;
    *out = '\0';
    while ((next = strstr(next, "template")) != NULL && next < mark) at = next++;
    if (!at || memchr(at, '}', (size_t)(mark - at)) || memchr(at, ';', (size_t)(mark - at))) return; /* another's */
    const char *list = behind(at + strlen("template"), mark, "<");
    if (!list) return;
    const char *name = behind(list, mark, "typename");
    if (!name) name = behind(list, mark, "class");
    while (name && rt_in_name(name[n])) n++;
    if (!n || n >= LG_HEAD_NAME || !behind(name + n, mark, ">"))
        luaL_error(L, "%s: a template has one type here, as template <typename T> __device__ T f(T x)", what);
    memcpy(out, name, n);
    out[n] = '\0';
}

void lg_read_head(lua_State *L, const char *what, const char *text, struct lg_head *f)
{
    static const char mark[] = "__device__";
    const char *at = NULL, *s = text;
    while ((s = strstr(s, mark))) at = s += sizeof mark - 1;
    const char *open = at ? strchr(at, '(') : NULL, *close = open ? strchr(open, ')') : NULL;
    if (!close) luaL_error(L, "%s: expected CUDA C with a function such as __device__ float f(float x) { ... }", what);
    read_template(L, what, text, at, f->type);
    read_declaration(L, what, at, open, f->type, &f->result);
    f->count = 0;
    for (const char *from = open + 1; from < close;) {
        const char *to = memchr(from, ',', (size_t)(close - from));
        if (!to) to = close;
        if (f->count == LG_HEAD_MOST) luaL_error(L, "%s: more than %d parameters", what, LG_HEAD_MOST);
        read_declaration(L, what, from, to, f->type, &f->list[f->count++]);
        from = to + 1;
    }
    if (!f->count) luaL_error(L, "%s: %s has no parameters", what, f->result.name);
}

int lg_push_placed(lua_State *L, int options)
{
    lua_newtable(L);
    int own = lua_gettop(L);
    if (lua_istable(L, options))
        for (lua_pushnil(L); lua_next(L, options); lua_settop(L, own + 1)) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, own);
        }
    if (lua_getfield(L, own, "chunk") == LUA_TNIL) {
        struct rt_source place = {.text = luaL_checklstring(L, 1, &place.length)};
        lua_Debug ar;
        lg_find_source(L, &ar, &place);
        lua_pushstring(L, place.name);
        lua_setfield(L, own, "chunk");
        lua_pushinteger(L, place.first_line);
        lua_setfield(L, own, "line");
    }
    lua_settop(L, own);
    return own;
}

void lg_make_around(lua_State *L, int options, const char *text)
{
    int own = lg_push_placed(L, options);
    lua_pushstring(L, text);
    lua_setfield(L, own, "source");
    lua_pushcfunction(L, lg_make_kernel);
    lua_pushvalue(L, own);
    lua_call(L, 1, 1);
    lua_replace(L, own);
}
