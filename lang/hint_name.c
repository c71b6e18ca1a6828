/* What was probably meant by a name that has no value: another language's word, a function without its table, a slip of
 * the finger. */
#include <stdio.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/hint.h"
#include "lang/lang.h"
#include "lang/load.h"
#include "lang/lookup.h"
#include "lang/session_state.h"

#define MOST_TABLES 20  /* that are followed by __index */
#define MOST_CELLS  200 /* that are looked through */
#define MOST_OPEN   16  /* parentheses in each other */

/* Pushes the table that names are looked up in: that of the session's variables; a script's are globals. */
static void push_scope(lua_State *L)
{
    lg_push_env(L);
    if (lua_istable(L, -1)) return;
    lua_pop(L, 1);
    lua_pushglobaltable(L);
}

/* Pushes what the name before the '.' or ':' that the place follows stands for; or nothing. */
static bool push_owner(lua_State *L, const struct lg_place *p, struct lg_token *owner)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    *owner = before;
    if (!p->at) return false;
    lg_lexer_init(&x, p->text, (size_t)(p->at - p->text));
    while (lg_lexer_code(&x, &t)) {
        *owner = before;
        before = t;
    }
    if (owner->kind != LG_TOKEN_NAME || (!lg_token_is(&x, &before, ".") && !lg_token_is(&x, &before, ":")))
        return false;
    push_scope(L);
    lua_pushlstring(L, p->text + owner->start, owner->end - owner->start);
    if (lg_push_field(L, -2)) {
        lua_remove(L, -2);
        return true;
    }
    lua_settop(L, -2);
    return false;
}

/* Pushes a hint, where a table of functions has the name as its key that stands alone here. */
static bool push_qualified(lua_State *L, const char *name)
{
    static const char *const tables[] = {"math", "gpu", "os", "io", "table", "string"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int top = lua_gettop(L);
        bool found =
            lua_getglobal(L, tables[i]) == LUA_TTABLE && (lua_pushstring(L, name), lua_rawget(L, -2) != LUA_TNIL);
        lua_settop(L, top);
        if (!found) continue;
        bool arrays = i == 0 && lua_getglobal(L, "gpu") == LUA_TTABLE && (lua_pushstring(L, name), lua_rawget(L, -2));
        lua_settop(L, top);
        if (arrays)
            lua_pushfstring(L, "it is written math.%s(x), or of arrays gpu.%s(x)", name, name);
        else
            lua_pushfstring(L, "it is written %s.%s", tables[i], name);
        return true;
    }
    return false;
}

static bool push_foreign(lua_State *L, const char *name)
{
    const char *text = lg_hint_word(name);
    if (text) lua_pushstring(L, text);
    return text != NULL;
}

/* Pushes the known name that is closest, if one is close; of a table's keys, or of those that it has by __index. */
static bool push_similar(lua_State *L, int table, int other, const char *name)
{
    const char *best = lg_closest_key(L, table, name, NULL);
    if (other) best = lg_closest_key(L, other, name, best);
    lua_pushvalue(L, table);
    for (int i = 0; i < MOST_TABLES && luaL_getmetafield(L, -1, "__index") == LUA_TTABLE; i++) {
        lua_replace(L, -2);
        best = lg_closest_key(L, lua_gettop(L), name, best);
    }
    if (!best) return false;
    lua_pushfstring(L, "did you mean '%s'?", best);
    return true;
}

/* A method, or a field, that values of this type have in other languages. */
static bool push_habit(lua_State *L, int type, const char *name)
{
    if (type != LUA_TSTRING && type != LUA_TTABLE) return false;
    const char *text = lg_hint_member(name, type == LUA_TSTRING);
    if (text) {
        lua_pushstring(L, text);
        return true;
    }
    lua_getglobal(L, "table");
    if (type != LUA_TTABLE || !lua_istable(L, -1) || lua_getfield(L, -1, name) != LUA_TFUNCTION) return false;
    lua_pushfstring(L, "it is written table.%s(t, ...)", name);
    return true;
}

/* "... (global 'name')": pushes the name. */
static const char *quoted(lua_State *L, const char *message, const char *kind)
{
    const char *at = strstr(message, kind);
    if (!at) return NULL;
    at += strlen(kind);
    return lua_pushlstring(L, at, strcspn(at, "'"));
}

/* Another language's word is called or stands alone (`use`); one that has a field or is reckoned with, as list in
 * list.x, may be a slip in the name of a variable, too. */
static bool push_for_global(lua_State *L, const char *name, bool use)
{
    lg_push_env(L);
    if (lua_istable(L, -1))
        lg_push_variables(L);
    else
        lua_pushglobaltable(L);
    int variables = lua_gettop(L);
    if (!use && push_similar(L, variables, 0, name)) return true;
    if (push_foreign(L, name) || push_qualified(L, name)) return true;
    lua_pushglobaltable(L);
    return push_similar(L, variables, lua_gettop(L), name);
}

/* Whether the statement at t, behind a comma of a list of names, gives the name nothing, as in a, b = x.shape. */
static bool is_left_by_shape(struct lg_lexer x, struct lg_token t, const char *name)
{
    struct lg_token last = {0};
    size_t n = strlen(name);
    if (t.kind != LG_TOKEN_NAME || t.end - t.start != n || memcmp(x.text + t.start, name, n) != 0) return false;
    do
        if (!lg_lexer_code(&x, &t)) return false;
    while (t.kind == LG_TOKEN_NAME || lg_token_is(&x, &t, ","));
    if (!lg_token_is(&x, &t, "=")) return false;
    for (; lg_lexer_code(&x, &t) && (lg_token_is(&x, &t, ".") || (t.kind == LG_TOKEN_NAME && last.kind != t.kind));
         last = t)
        ;
    return last.end - last.start == 5 && memcmp(x.text + last.start, "shape", 5) == 0 &&
           (t.kind == LG_TOKEN_END || t.kind == LG_TOKEN_NAME || t.kind == LG_TOKEN_KEYWORD ||
            lg_token_is(&x, &t, ";"));
}

static bool leaves_nil(const char *text, size_t length, const char *name)
{
    struct lg_lexer x;
    struct lg_token t;
    bool comma = false;
    lg_lexer_init(&x, text, length);
    for (; lg_lexer_code(&x, &t); comma = lg_token_is(&x, &t, ","))
        if (comma && is_left_by_shape(x, t, name)) return true;
    return false;
}

/* A variable without a value that was to have a part of a shape, by this chunk or an earlier cell. */
static bool push_for_shape(lua_State *L, const char *source, size_t source_length, const char *name)
{
    struct lg_session *s = lg_session_of(L);
    bool found = leaves_nil(source, source_length, name);
    for (int n = s ? s->count : 0, least = n - MOST_CELLS; !found && n > 0 && n > least; n--) {
        char chunk[32];
        size_t length;
        snprintf(chunk, sizeof chunk, "=cell %d", n);
        const char *text = lg_chunk_source(L, chunk, &length);
        found = text && leaves_nil(text, length, name);
        lua_pop(L, 1);
    }
    if (found) lua_pushliteral(L, LG_HINT_SHAPE);
    return found;
}

/* Whether the name that x is behind stands alone or in a list before an =; *to is what follows that. */
static bool is_assigned(struct lg_lexer x, struct lg_token *to)
{
    for (bool behind = true; lg_lexer_code(&x, to); behind = !behind) {
        if (behind && lg_token_is(&x, to, "=")) return lg_lexer_code(&x, to);
        if (behind ? !lg_token_is(&x, to, ",") : to->kind != LG_TOKEN_NAME) return false;
    }
    return false;
}

enum setting { SETS_NOTHING, SETS_NIL, SETS_VALUE };

/* Whether a cell of CUDA C is to make a kernel of that name; as words and brackets go, it reads as Lua does. */
static bool makes_kernel(const char *text, size_t length, const char *name)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    bool kernel = false; /* behind __global__, up to the body */
    lg_lexer_init(&x, text, length);
    for (; lg_lexer_code(&x, &t); before = t) {
        if (kernel && lg_token_is(&x, &t, "(") && lg_token_is(&x, &before, name)) return true;
        kernel = (kernel && !lg_token_is(&x, &t, "{")) || lg_token_is(&x, &t, "__global__");
    }
    return false;
}

/* What the cell first gives the variable outside of its blocks. */
static enum setting setting_of(const char *text, size_t length, const char *name)
{
    static const char cuda[] = "%%cuda";
    if (strncmp(text + lg_blanks_before_magic(text, length), cuda, sizeof cuda - 1) == 0)
        return makes_kernel(text, length, name) ? SETS_VALUE : SETS_NOTHING;
    struct lg_lexer x;
    struct lg_token t, to, before = {0};
    size_t n = strlen(name);
    int blocks = 0, braces = 0;
    lg_lexer_init(&x, text, length);
    for (; lg_lexer_code(&x, &t); before = t) {
        bool named = t.kind == LG_TOKEN_NAME && t.end - t.start == n && memcmp(text + t.start, name, n) == 0;
        if (named && before.keyword == LG_FUNCTION && blocks == 1) return SETS_VALUE;
        blocks += t.keyword == LG_FUNCTION || t.keyword == LG_IF || t.keyword == LG_DO || t.keyword == LG_REPEAT;
        blocks -= t.keyword == LG_END || t.keyword == LG_UNTIL;
        braces += lg_token_is(&x, &t, "{") - lg_token_is(&x, &t, "}");
        if (!named || blocks || braces || lg_token_is(&x, &before, ".") || lg_token_is(&x, &before, ":")) continue;
        if (is_assigned(x, &to)) return to.keyword == LG_NIL ? SETS_NIL : SETS_VALUE;
    }
    return SETS_NOTHING;
}

/* What the last cell that sets the variable gives it; its number goes to *number. */
static enum setting last_setting(lua_State *L, const char *name, int *number)
{
    static const char reset[] = "%reset";
    struct lg_session *s = lg_session_of(L);
    int top = lua_gettop(L);
    for (int n = s ? s->count - 1 : 0, least = n - MOST_CELLS; n > 0 && n > least; n--) {
        char chunk[32];
        size_t length;
        snprintf(chunk, sizeof chunk, "=cell %d", n);
        const char *text = lg_chunk_source(L, chunk, &length);
        enum setting setting = text ? setting_of(text, length, name) : SETS_NOTHING;
        bool forgets = text && strncmp(text, reset, sizeof reset - 1) == 0;
        lua_settop(L, top);
        *number = n;
        if (forgets || setting != SETS_NOTHING) return setting;
    }
    return SETS_NOTHING;
}

/* A variable without a value that an earlier cell was to give one. */
static bool push_for_cell(lua_State *L, const char *name)
{
    int number;
    if (last_setting(L, name, &number) != SETS_VALUE) return false;
    return lua_pushfstring(L, "cell %d sets %s, but ended before that, or gave it nil", number, name);
}

/* In a notebook, whose cells are run in any order, or not at all since it was opened. */
static bool push_for_notebook(lua_State *L, const char *name)
{
    const struct lg_session *s = lg_session_of(L);
    int number;
    if (!s || !s->hosted || last_setting(L, name, &number) != SETS_NOTHING) return false;
    return lua_pushfstring(L, "no cell that was run has set %s; the one that does may stand above", name);
}

bool lg_push_nil(lua_State *L, const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token name, t;
    bool alone = true;
    const char *cell = code;
    size_t cell_length = length;
    lg_last_line(&code, &length);
    lg_lexer_init(&x, code, length);
    if (!lg_lexer_code(&x, &name) || name.kind != LG_TOKEN_NAME) return false;
    for (; lg_lexer_code(&x, &t); alone = false)
        if (!lg_token_is(&x, &t, ".") || !lg_lexer_code(&x, &t) || t.kind != LG_TOKEN_NAME) return false;
    int top = lua_gettop(L);
    luaL_checkstack(L, 32, NULL);
    lua_pushlstring(L, code + name.start, name.end - name.start);
    const char *text = lua_tostring(L, -1);
    if (alone &&
        (push_for_shape(L, cell, cell_length, text) || push_for_cell(L, text) || push_for_global(L, text, true)))
        lua_pushfstring(L, "nil\n  hint: %s", lua_tostring(L, -1));
    else
        lua_pushliteral(L, "nil");
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return true;
}

/* Whether an array stands before the place and its dot without being a variable: gpu.ones(3).sum(), x[1].sum(),
 * x.T.sum(). */
static bool follows_array(const struct lg_place *p)
{
    static const char *const ends[] = {")", "]", ".T", ".real", ".imag"};
    size_t length = (size_t)(p->at - 1 - p->text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (length > n && memcmp(p->at - 1 - n, ends[i], n) == 0) return true;
    }
    return false;
}

/* x.sum() where x:sum() was meant: what is missing is x itself, and with it the last argument where another one came in
 * its place, as in x.dot(y). */
static bool push_for_colon(lua_State *L, const struct lg_place *p, const char *message)
{
    struct lg_token owner;
    bool first = strstr(message, "bad argument #1 to '");
    const char *name = strstr(message, "bad argument #") ? quoted(L, message, " to '") : NULL;
    if (!name || !strstr(message, first ? " expected, got " : " expected, got no value")) return false;
    if (!p->at || p->at == p->text || p->at[-1] != '.') return false;
    if (!follows_array(p) && (!push_owner(L, p, &owner) || lua_istable(L, -1))) return false;
    lua_pushfstring(L, "a method is called with a colon, x:%s(...)", name);
    return true;
}

static bool opens(const struct lg_lexer *x, const struct lg_token *t)
{
    return lg_token_is(x, t, "(") || lg_token_is(x, t, "[") || lg_token_is(x, t, "{");
}

static bool closes(const struct lg_lexer *x, const struct lg_token *t)
{
    return lg_token_is(x, t, ")") || lg_token_is(x, t, "]") || lg_token_is(x, t, "}");
}

/* Whether the source may give the name a value: as a local or a parameter, or in an assignment, alone or in a list.
 * What only might be one counts, too. */
static bool is_given(const char *source, size_t length, const char *name)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    size_t n = strlen(name);
    int depth = 0, braces = 0;
    bool declares = false; /* behind local, for or function, up to what ends their names */
    lg_lexer_init(&x, source, length);
    for (; lg_lexer_code(&x, &t); before = t) {
        if (t.keyword == LG_LOCAL || t.keyword == LG_FOR || t.keyword == LG_FUNCTION) declares = true;
        if (t.keyword == LG_IN || lg_token_is(&x, &t, "=") || lg_token_is(&x, &t, ")")) declares = false;
        depth += opens(&x, &t) - closes(&x, &t);
        braces += lg_token_is(&x, &t, "{") - lg_token_is(&x, &t, "}");
        if (t.kind != LG_TOKEN_NAME || t.end - t.start != n || memcmp(x.text + t.start, name, n) != 0 ||
            lg_token_is(&x, &before, ".") || lg_token_is(&x, &before, ":"))
            continue;
        struct lg_lexer ahead = x;
        struct lg_token next;
        lg_lexer_code(&ahead, &next);
        if (declares || (lg_token_is(&x, &next, "=") && braces == 0) || (lg_token_is(&x, &next, ",") && depth == 0))
            return true;
    }
    return false;
}

/* Whether what follows the name at x gives a field of a table that name, {axis = 1}. */
static bool is_key(struct lg_lexer x)
{
    struct lg_token t;
    return lg_lexer_code(&x, &t) && lg_token_is(&x, &t, "=");
}

/* The dtype that the line names without quotes, as in gpu.zeros(3, float64), where that is a variable without a value;
 * pushed, else NULL. */
static const char *push_bare_dtype(lua_State *L, const char *source, size_t length, int line)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    lg_lexer_init(&x, source, length);
    for (; lg_lexer_code(&x, &t) && t.line <= line; before = t, lua_settop(L, top)) {
        bool behind = lg_token_is(&x, &before, ",") || lg_token_is(&x, &before, "=");
        if (t.line < line || t.kind != LG_TOKEN_NAME || !behind || is_key(x)) continue;
        const char *name = lua_pushlstring(L, source + t.start, t.end - t.start);
        if (rt_dtype_find(name) == RT_DTYPE_COUNT || is_given(source, length, name)) continue;
        push_scope(L);
        lua_pushvalue(L, top + 1);
        if (!lg_push_field(L, -2)) {
            lua_settop(L, top + 1);
            return lua_tostring(L, -1);
        }
    }
    return NULL;
}

void lg_check_bare_dtype(lua_State *L)
{
    lua_Debug ar;
    size_t length;
    int top = lua_gettop(L);
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "Sl", &ar) || ar.currentline < 1) return;
    luaL_checkstack(L, 32, NULL);
    const char *source = lg_chunk_source(L, ar.source, &length);
    const char *name = source ? push_bare_dtype(L, source, length, ar.currentline) : NULL;
    if (name) luaL_error(L, "%s has no value; a dtype is a string, as \"%s\"", name, name);
    lua_settop(L, top);
}

bool lg_push_unset(lua_State *L, const struct lg_place *p)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    lg_lexer_init(&x, p->text, p->length);
    while (lg_lexer_code(&x, &t) && !lg_token_is(&x, &t, "=")) continue;
    if (t.kind == LG_TOKEN_END) lg_lexer_init(&x, p->text, p->length); /* else names in front are given values */
    bool declares = false; /* these are the names of a loop, or of a function's parameters */
    bool magic = p->length && p->text[0] == '%';
    for (; lg_lexer_code(&x, &t); before = t, lua_settop(L, top)) {
        if (t.keyword == LG_FOR || t.keyword == LG_FUNCTION) declares = true;
        if (t.keyword == LG_IN || lg_token_is(&x, &t, "=") || lg_token_is(&x, &t, ")")) declares = false;
        if (t.kind != LG_TOKEN_NAME || declares || lg_token_is(&x, &before, ".") || lg_token_is(&x, &before, ":") ||
            is_key(x))
            continue;
        if (magic && (lg_token_is(&x, &before, "%") || lg_token_is(&x, &before, "-"))) continue; /* %timeit -n 3 */
        push_scope(L);
        const char *name = lua_pushlstring(L, p->text + t.start, t.end - t.start);
        if (lg_push_field(L, -2) || is_given(p->source, p->source_length, name)) continue;
        bool known = push_for_cell(L, name) || push_for_global(L, name, false) || push_for_notebook(L, name);
        lua_pushfstring(L, "%s has no value%s%s", name, known ? ": " : "", known ? lua_tostring(L, -1) : "");
        return true;
    }
    return false;
}

/* Whether the token is the name of a function: of one that is there, or that the source makes. */
static bool names_function(lua_State *L, const struct lg_place *p, const struct lg_token *name)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    int top = lua_gettop(L);
    size_t n = name->end - name->start;
    push_scope(L);
    lua_pushlstring(L, p->text + name->start, n);
    bool found = lg_push_field(L, -2) && lua_isfunction(L, -1);
    lua_settop(L, top);
    lg_lexer_init(&x, p->source, p->source_length);
    for (; !found && lg_lexer_code(&x, &t); before = t)
        found = before.keyword == LG_FUNCTION && t.end - t.start == n &&
                memcmp(p->source + t.start, p->text + name->start, n) == 0;
    return found;
}

/* What a call gave was asked for something, and is nil: k(grid, block)(x):sum(), which may be a launch. */
static bool push_for_launch(lua_State *L, const struct lg_place *p)
{
    struct lg_lexer x;
    struct lg_token t, before = {0}, called[MOST_OPEN] = {{0}}, last = {0};
    int open = 0;
    lg_lexer_init(&x, p->text, p->length);
    for (; lg_lexer_code(&x, &t); before = t) {
        bool opens = lg_token_is(&x, &t, "(");
        if (opens && lg_token_is(&x, &before, ")") && last.kind == LG_TOKEN_NAME && !names_function(L, p, &last))
            return lua_pushliteral(
                L, "a launch gives nothing: what the kernel computed is in the arrays that it was given");
        if (opens && open++ < MOST_OPEN) called[open - 1] = before;
        if (!lg_token_is(&x, &t, ")") || open == 0) continue;
        open--;
        last = open < MOST_OPEN ? called[open] : (struct lg_token){0};
    }
    return false;
}

/* t:sum() of a table: methods are those of arrays; or one that is spelt otherwise, or another language's. */
static bool push_for_method(lua_State *L, const struct lg_place *p, const char *name)
{
    struct lg_token owner;
    if (!push_owner(L, p, &owner)) return false;
    if (lua_type(L, -1) == LUA_TSTRING) return push_habit(L, LUA_TSTRING, name);
    if (!lua_istable(L, -1)) return false;
    int table = lua_gettop(L);
    bool plain = !lua_getmetatable(L, table), list = plain && lua_rawlen(L, table) > 0;
    if (list && lg_doc_by_name(L, lua_pushfstring(L, "array.%s", name))) {
        lua_pushlstring(L, p->text + owner.start, owner.end - owner.start);
        lua_pushfstring(L, "a table is no array; gpu.array makes one of it, gpu.array(%s):%s()", lua_tostring(L, -1),
                        name);
        return true;
    }
    return (plain && push_habit(L, LUA_TTABLE, name)) || push_similar(L, table, 0, name);
}

/* Whether a table is Lua's library of the name. */
static bool is_library(lua_State *L, int table, const char *name)
{
    lua_getglobal(L, name);
    bool same = lua_rawequal(L, table, -1);
    lua_pop(L, 1);
    return same;
}

/* t.append(x), t.sum(), math.Sqrt(2), s.split(","), table.getn(t), string.trim(s). */
static bool push_for_field(lua_State *L, int owner, const char *name)
{
    if (lua_type(L, owner) == LUA_TSTRING) return push_habit(L, LUA_TSTRING, name);
    if (is_library(L, owner, "string") && push_habit(L, LUA_TSTRING, name)) return true;
    if (!lua_istable(L, owner)) return false;
    bool list = lua_rawlen(L, owner) > 0;
    if (list && lg_doc_by_name(L, lua_pushfstring(L, "array.%s", name)))
        return lua_pushfstring(L, "a table is no array; gpu.array makes one of it, gpu.array(t):%s()", name);
    list = list || is_library(L, owner, "table");
    return (list && push_habit(L, LUA_TTABLE, name)) || push_foreign(L, name) || push_similar(L, owner, 0, name);
}

/* Whether the message's first line ends with the words. */
static bool ends_line(const char *message, const char *words)
{
    size_t n = strlen(words), line = strcspn(message, "\n");
    return line >= n && memcmp(message + line - n, words, n) == 0;
}

/* Whether a function or an operator was given nil. */
static bool met_nil(const char *message)
{
    static const char *const said[] = {"got nil", "not by nil", "with nil", "compare nil with"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strstr(message, said[i])) return true;
    return false;
}

bool lg_push_name_hint(lua_State *L, const struct lg_place *p, const char *message)
{
    int top = lua_gettop(L);
    const char *name;
    bool found = false;
    luaL_checkstack(L, 32, NULL);
    bool nil = strstr(message, "a nil value");
    if (nil && ((name = quoted(L, message, "(global '")) || (name = quoted(L, message, "(local '"))) &&
        push_for_shape(L, p->source, p->source_length, name)) {
        found = true;
    } else if (nil && (name = quoted(L, message, "(global '"))) {
        found = push_for_cell(L, name) || push_for_global(L, name, strstr(message, "call a nil value")) ||
                push_for_notebook(L, name);
    } else if (strstr(message, "call a nil value") && (name = quoted(L, message, "(field '"))) {
        struct lg_token owner;
        found = push_owner(L, p, &owner) && push_for_field(L, lua_gettop(L), name);
    } else if (strstr(message, "call a nil value") && (name = quoted(L, message, "(method '"))) {
        found = push_for_method(L, p, name);
    } else if (met_nil(message)) {
        found = lg_push_unset(L, p);
    } else if (ends_line(message, "attempt to index a nil value")) {
        found = push_for_launch(L, p);
    } else {
        found = push_for_colon(L, p, message);
    }
    if (found) lua_copy(L, -1, top + 1);
    lua_settop(L, top + found);
    return found;
}
