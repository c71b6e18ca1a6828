/* gpu.help and gpu.docs: what is known of a name, lists of names, and where a word occurs. */
#define _GNU_SOURCE /* strcasestr */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/lang.h"
#include "runtime/spelling.h"

#define HELP_COLUMNS 80
#define FOUND_LINES  40 /* of a list of names with a word in them */

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

/* A name and the first line of what is known of it. */
static void add_summary(luaL_Buffer *b, const char *name, const struct lg_function *row)
{
    char head[64];
    snprintf(head, sizeof head, "%-24s ", name);
    luaL_addstring(b, head);
    luaL_addlstring(b, row->doc, strcspn(row->doc, "\n"));
    luaL_addchar(b, '\n');
}

static void push_overview(lua_State *L)
{
    size_t count;
    luaL_Buffer b;
    const char **names = push_sorted_names(L, &count);
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < count; i++) add_summary(&b, names[i], lg_doc_by_name(L, names[i]));
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

/* ---- words that are no name ---- */

/* How a documented name goes with the word: 1: a module's function; 2: the word is part of the name; 3: of its text. */
static int goes_with(const char *name, const struct lg_function *row, const char *word)
{
    size_t length = strlen(word);
    bool prose = length > 2 && !strchr(word, '.');
    const char *inside = strncmp(name, "gpu.", 4) == 0 ? name + 4 : name;
    if (strncmp(word, "gpu.", 4) == 0) word += 4, length -= 4;
    if (strncmp(inside, word, length) == 0 && inside[length] == '.') return 1;
    if (strcasestr(name, word)) return 2;
    return prose && row->doc && strcasestr(row->doc, word) ? 3 : 0;
}

/* The least of these numbers, that is the best, that a name has with the word; 4: the word occurs nowhere. */
static int best_rank(lua_State *L, const char *const *names, size_t count, const char *word)
{
    int best = 4;
    for (size_t i = 0; i < count && *word; i++) {
        int rank = goes_with(names[i], lg_doc_by_name(L, names[i]), word);
        if (rank && rank < best) best = rank;
    }
    return best;
}

static bool is_module(lua_State *L, const char *word)
{
    size_t count;
    int top = lua_gettop(L);
    const char **names = push_sorted_names(L, &count);
    bool found = best_rank(L, names, count, word) == 1;
    lua_settop(L, top);
    return found;
}

/* Pushes the word without what may follow it in a name: "gpu.fft" of "gpu.fft."; "" for gpu, which has everything. */
static const char *push_trimmed(lua_State *L, const char *word)
{
    size_t length = strlen(word);
    while (length > 0 && word[length - 1] == '.') length--;
    return lua_pushlstring(L, word, length == 3 && strncmp(word, "gpu", 3) == 0 ? 0 : length);
}

/* Adds the names of this rank to `listed` of them, as long as there is room; returns how many there are by then. */
static int add_found(lua_State *L, luaL_Buffer *b, const char *const *names, size_t count, const char *word, int rank,
                     int listed)
{
    for (size_t i = 0; i < count; i++) {
        const struct lg_function *row = lg_doc_by_name(L, names[i]);
        if (goes_with(names[i], row, word) == rank && listed++ < FOUND_LINES) add_summary(b, names[i], row);
    }
    return listed;
}

bool lg_push_found(lua_State *L, const char *word)
{
    size_t count;
    luaL_Buffer b;
    int top = lua_gettop(L), listed = 0;
    word = push_trimmed(L, word);
    if (!*word) {
        push_overview(L);
        lua_replace(L, top + 1);
        lua_settop(L, top + 1);
        return true;
    }
    const char **names = push_sorted_names(L, &count);
    int best = best_rank(L, names, count, word);
    luaL_buffinit(L, &b);
    lua_pushfstring(L, best == 1 ? "functions of %s:\n" : "nothing is called '%s'; it occurs in\n", word);
    luaL_addvalue(&b);
    for (int rank = best; rank <= (best == 1 ? 1 : 3); rank++)
        listed = add_found(L, &b, names, count, word, rank, listed);
    if (listed > FOUND_LINES) {
        lua_pushfstring(L, "... and %d more\n", listed - FOUND_LINES);
        luaL_addvalue(&b);
    }
    luaL_addstring(&b, "gpu.help \"name\" tells more about one of them.");
    luaL_pushresult(&b);
    lua_replace(L, top + 1);
    lua_settop(L, best < 4 ? top + 1 : top);
    return best < 4;
}

const char *lg_push_way_out(lua_State *L, const char *word)
{
    size_t count, length = strlen(word);
    int top = lua_gettop(L), least = length < 3 ? 0 : length < 6 ? 1 : 2;
    const char **names = push_sorted_names(L, &count), *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *dot = strrchr(names[i], '.'), *spelt = strchr(word, '.') || !dot ? names[i] : dot + 1;
        int distance = rt_spelling_distance(word, spelt);
        if (distance > least || (distance == least && best)) continue;
        least = distance;
        best = names[i];
    }
    if (best)
        lua_pushfstring(L, "did you mean '%s'?", best);
    else
        lua_pushliteral(L, "gpu.help() lists what there is");
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return lua_tostring(L, -1);
}

/* ---- the functions ---- */

/* What is known of "array" is a function, of "array." the methods. */
static const struct lg_function *check_trimmed(lua_State *L, int idx)
{
    if (lua_type(L, idx) != LUA_TSTRING) return check_topic(L, idx);
    bool dot = lua_rawlen(L, idx) > 0 && lua_tostring(L, idx)[lua_rawlen(L, idx) - 1] == '.';
    push_trimmed(L, lua_tostring(L, idx));
    lua_replace(L, idx);
    return dot && is_module(L, lua_tostring(L, idx)) ? NULL : check_topic(L, idx);
}

static int help(lua_State *L)
{
    lua_settop(L, 1); /* so that a missing argument is nil, and not what comes next */
    if (lua_isnil(L, 1)) {
        push_overview(L);
    } else {
        const struct lg_function *row = check_trimmed(L, 1);
        if (row)
            push_help(L, row);
        else if (lua_type(L, 1) != LUA_TSTRING)
            return luaL_error(L, "there is no help on %s; in a session ?name shows what it is", lg_type_name(L, 1));
        else if (!lg_push_found(L, lua_tostring(L, 1)))
            return luaL_error(L, "there is no help on '%s'; %s", lua_tostring(L, 1),
                              lg_push_way_out(L, lua_tostring(L, 1)));
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
     "`name` is a string such as \"linspace\" or \"array.sum\", a module's such as \"fft\", the function itself, or one of the topics \"indexing\", "
     "\"dtypes\", \"broadcasting\", \"devices\", \"memory\", \"numpy\", \"random\" and \"files\". Any other word is searched for in names and texts, as \"eigenvalue\".",
     "gpu.help('linspace')\ngpu.help(gpu.zeros)\ngpu.help 'eigenvalue'"},
    {"docs", docs, "gpu.docs()",
     "The documentation as data: a list, sorted by name, of tables with name, signature, doc and example.",
     "assert(#gpu.docs() > 50 and gpu.docs()[1].doc)"},
    {0}};

void lg_open_help(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
