/* Assembles the gpu module, and its help. */
#include <stdlib.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/stream.h"
#include "runtime/background.h"

#define HELP_COLUMNS 80

static int gpu_tostring(lua_State *L)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_device *d = rt_device_default(e);
    if (!d) rt_error_clear(e);
    lua_pushfstring(L, "lunarray %s, default device %s; gpu.help() lists what there is", LUNARRAY_VERSION,
                    d ? d->name : "missing");
    return 1;
}

/* A misspelt function would be nil, and the message of calling it no help. */
static int gpu_missing(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *name = lua_tostring(L, 2);
    luaL_getmetatable(L, LG_ARRAY);
    lua_getfield(L, -1, "__methods");
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) != LUA_TNIL)
        return luaL_error(L, "gpu has no function '%s'; it is a method of arrays, x:%s(...)", name, name);
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        if (!strcmp(rt_dtypes[t].name, name))
            return luaL_error(L, "gpu has no function '%s'; a dtype is a string, as in gpu.zeros(3, \"%s\")", name,
                              name);
    return lg_raise_unknown(L, "gpu has no function", name, 1, 0);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Pushes two values: a table that keeps the names alive and a block with them in order. */
static const char **push_sorted_names(lua_State *L, size_t *count)
{
    lg_push_doc_names(L);
    *count = (size_t)lua_rawlen(L, -1);
    const char **names = lua_newuserdatauv(L, (*count + 1) * sizeof *names, 0);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        names[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    qsort(names, *count, sizeof *names, compare_names);
    return names;
}

static void add_line(luaL_Buffer *b, const char *text, size_t length)
{
    luaL_addlstring(b, text, length);
    luaL_addchar(b, '\n');
}

static void push_overview(lua_State *L)
{
    size_t count;
    luaL_Buffer b;
    const char **names = push_sorted_names(L, &count);
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < count; i++) {
        const struct lg_function *row = lg_doc_by_name(L, names[i]);
        size_t summary = strcspn(row->doc, "\n");
        char head[64];
        snprintf(head, sizeof head, "%-24s ", names[i]);
        luaL_addstring(&b, head);
        add_line(&b, row->doc, summary);
    }
    luaL_addstring(&b, "gpu.help \"name\" tells more about one of them.");
    luaL_pushresult(&b);
}

/* Adds a text with its lines broken at blanks to fit a terminal. */
static void add_wrapped(luaL_Buffer *b, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " \n");
        if (column > 0 && column + 1 + word > HELP_COLUMNS) {
            luaL_addchar(b, '\n');
            column = 0;
        } else if (column > 0) {
            luaL_addchar(b, ' ');
            column++;
        }
        luaL_addlstring(b, text, word);
        column += word;
        text += word;
        if (*text == '\n') {
            luaL_addchar(b, '\n');
            column = 0;
        }
        if (*text) text++;
    }
}

static void push_help(lua_State *L, const struct lg_function *row)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, row->signature);
    luaL_addstring(&b, "\n\n");
    add_wrapped(&b, row->doc);
    if (row->example) {
        luaL_addstring(&b, "\n\nExample:\n    ");
        luaL_addgsub(&b, row->example, "\n", "\n    ");
    }
    luaL_pushresult(&b);
}

static const struct lg_function *check_topic(lua_State *L, int idx)
{
    const struct lg_function *row = lg_doc_of_value(L, idx);
    if (row || lua_type(L, idx) != LUA_TSTRING) return row;
    static const char *const scopes[] = {
        "",       "gpu.",   "array.",      "kernel.",     "texture.", "stream.",     "event.",
        "graph.", "topic.", "gpu.linalg.", "gpu.sparse.", "sparse.",  "gpu.ndimage."};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes && !row; i++) {
        row = lg_doc_by_name(L, lua_pushfstring(L, "%s%s", scopes[i], lua_tostring(L, idx)));
        lua_pop(L, 1);
    }
    return row;
}

static int help(lua_State *L)
{
    lua_settop(L, 1); /* so that a missing argument is nil, and not what comes next */
    if (lua_isnil(L, 1)) {
        push_overview(L);
    } else {
        const struct lg_function *row = check_topic(L, 1);
        if (!row) return luaL_error(L, "there is no help on '%s'", luaL_tolstring(L, 1, NULL));
        push_help(L, row);
    }
    lua_getglobal(L, "print");
    lua_insert(L, -2);
    lua_call(L, 1, 0);
    return 0;
}

static int docs(lua_State *L)
{
    size_t count;
    lua_settop(L, 0);
    lua_newtable(L);
    const char **names = push_sorted_names(L, &count);
    for (size_t i = 0; i < count; i++) {
        const struct lg_function *row = lg_doc_by_name(L, names[i]);
        const char *const fields[][2] = {
            {"name", names[i]}, {"signature", row->signature}, {"doc", row->doc}, {"example", row->example}};
        lua_createtable(L, 0, 4);
        for (int f = 0; f < 4; f++) {
            lua_pushstring(L, fields[f][1]);
            lua_setfield(L, -2, fields[f][0]);
        }
        lua_rawseti(L, 1, (lua_Integer)i + 1);
    }
    lua_settop(L, 1);
    return 1;
}

static const struct lg_function functions[] = {
    {"help", help, "gpu.help([name])",
     "Prints what is known of a function, or a list of all functions.\n"
     "`name` is a string such as \"linspace\" or \"array.sum\", the function itself, or one of the topics \"indexing\", "
     "\"dtypes\", \"broadcasting\", \"devices\", \"memory\", \"numpy\", \"random\" and \"files\".",
     "gpu.help('linspace')\ngpu.help(gpu.zeros)"},
    {"docs", docs, "gpu.docs()",
     "The documentation as data: a list, sorted by name, of tables with name, signature, doc and example.",
     "assert(#gpu.docs() > 50 and gpu.docs()[1].doc)"},
    {0}};

/* ---- the end of the state, or of the process: what compiles in the background is awaited ---- */
static int pause_background(lua_State *L)
{
    (void)L;
    rt_background_pause();
    return 0;
}

static int exit_process(lua_State *L)
{
    if (!lua_isboolean(L, 1)) luaL_optinteger(L, 1, 0); /* its error names this function and who called it */
    rt_background_pause();
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 0);
    return 0;
}

static void open_end(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, pause_background);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    luaL_ref(L, LUA_REGISTRYINDEX);
    if (lua_getglobal(L, "os") == LUA_TTABLE && lua_getfield(L, -1, "exit") == LUA_TFUNCTION) {
        lua_pushcclosure(L, exit_process, 1);
        lua_setfield(L, -2, "exit");
    }
    lua_settop(L, 0);
}

__attribute__((visibility("default"))) int luaopen_lunarray(lua_State *L)
{
    luaL_checkversion(L);
    lua_settop(L, 0);
    lg_error_box(L);
    open_end(L);
    lua_newtable(L);
    lua_pushstring(L, LUNARRAY_VERSION);
    lua_setfield(L, -2, "version");
    lg_register(L, "gpu", functions);
    lg_open_device(L);
    lg_open_array(L);
    lg_open_kernel(L);
    lg_open_stream(L);
    lg_open_graph(L);
    lg_open_nvtx(L);
    lg_open_profile(L);
    lg_open_trace(L);
    lg_open_texture(L);
    lg_open_progress(L);
    lg_open_image(L);
    lg_open_plot(L);
    lg_open_handles(L);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, gpu_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, gpu_missing);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return 1;
}
