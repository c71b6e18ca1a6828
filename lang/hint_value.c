/* What was probably meant by a cell whose value says little: x == 1 of an array, which is a boolean, s[1] of a string,
 * which is nil, not m of a mask; and by one that takes a mask for a boolean, which is no error in Lua. */
#include <string.h>
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/hint.h"
#include "lang/lang.h"
#include "lang/lexer.h"
#include "lang/lookup.h"
#include "lang/session_state.h"

#define MOST_TOKENS 4

void lg_last_line(const char **code, size_t *length)
{
    const char *p = *code, *end = p + *length;
    while (end > p && strchr(" \t\r\n", end[-1])) end--;
    const char *from = end;
    while (from > p && from[-1] != '\n') from--;
    *code = from;
    *length = (size_t)(end - from);
}

/* The tokens of the code; more than MOST_TOKENS when there are more. */
static size_t read_tokens(struct lg_lexer *x, const char *code, size_t length, struct lg_token *t)
{
    size_t n = 0;
    struct lg_token one;
    lg_lexer_init(x, code, length);
    for (; lg_lexer_code(x, &one); n++) {
        if (n == MOST_TOKENS) return MOST_TOKENS + 1;
        t[n] = one;
    }
    return n;
}

/* Pushes the value of the variable that the token names; nil where it names none. */
static void push_variable(lua_State *L, const char *code, const struct lg_token *t)
{
    int top = lua_gettop(L);
    lg_push_env(L);
    if (!lua_istable(L, -1)) lua_pushglobaltable(L);
    lua_pushlstring(L, code + t->start, t->end - t->start);
    if (t->kind != LG_TOKEN_NAME || !lg_push_field(L, -2)) lua_pushnil(L);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
}

/* Whether the value at the top is a table without a metatable, which == compares by identity. Pops it. */
static bool pop_is_plain(lua_State *L)
{
    int top = lua_gettop(L);
    bool plain = lua_istable(L, top) && !lua_getmetatable(L, top);
    lua_settop(L, top - 1);
    return plain;
}

static bool names_array(lua_State *L, const char *code, const struct lg_token *t)
{
    push_variable(L, code, t);
    bool array = lg_test_array(L, -1) != NULL;
    lua_pop(L, 1);
    return array;
}

static bool names_table(lua_State *L, const char *code, const struct lg_token *t)
{
    push_variable(L, code, t);
    return pop_is_plain(L);
}

/* not m, not x:gt(0) */
static bool is_not_of_array(lua_State *L, const struct lg_lexer *x, const struct lg_token *t, size_t n)
{
    bool ends = n == 2 || (n > 2 && lg_token_is(x, &t[2], ":"));
    return ends && t[0].keyword == LG_NOT && names_array(L, x->text, &t[1]);
}

bool lg_push_compared(lua_State *L, const char *code, size_t length, bool value)
{
    struct lg_lexer x;
    struct lg_token t[MOST_TOKENS];
    lg_last_line(&code, &length);
    size_t n = read_tokens(&x, code, length, t);
    const char *text = value ? "true" : "false";
    luaL_checkstack(L, 32, NULL);
    if (is_not_of_array(L, &x, t, n)) {
        lua_pushfstring(L, "%s\n  hint: an array counts as true, whatever is in it; the opposite of a mask is ~m",
                        text);
        return true;
    }
    if (n < 3 || !lg_token_is(&x, &t[1], value ? "~=" : "==")) return false;
    bool table = lg_token_is(&x, &t[2], "{") || (n == 3 && names_table(L, code, &t[2]));
    if (table && names_table(L, code, &t[0])) {
        lua_pushfstring(L,
                        "%s\n  hint: == asks whether both are the same table; what is in them is compared by a loop, "
                        "numbers by gpu.array(t):equal(gpu.array(u))",
                        text);
        return true;
    }
    if (n != 3) return false;
    const struct lg_token *other = names_array(L, code, &t[0]) ? &t[2] : &t[0];
    if (other == &t[0] && !names_array(L, code, &t[2])) return false;
    if (other->kind != LG_TOKEN_NUMBER && !names_array(L, code, other)) return false;
    lua_pushfstring(
        L,
        "%s\n  hint: == asks whether both are the same array; x:%s(y) compares element by element, x:equal(y) "
        "tells whether all are equal",
        text, value ? "ne" : "eq");
    return true;
}

/* On s[1], or t[0] of a list; NULL: neither. */
static const char *of_element(lua_State *L, const char *code, const struct lg_token *t)
{
    push_variable(L, code, &t[0]);
    bool string = lua_type(L, -1) == LUA_TSTRING, list = lua_istable(L, -1) && lua_rawlen(L, -1) > 0;
    lua_pop(L, 1);
    if (string) return "a string is not indexed: its first character is s:sub(1, 1)";
    return list && t[2].end - t[2].start == 1 && code[t[2].start] == '0' ? "a table's first element is t[1]" : NULL;
}

/* On t.length and the like; NULL: none of them. */
static const char *of_length(lua_State *L, const char *code, const struct lg_token *t)
{
    static const char *const names[] = {"length", "len", "size", "count"};
    bool named = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !named; i++) {
        size_t n = strlen(names[i]);
        named = t[2].end - t[2].start == n && memcmp(code + t[2].start, names[i], n) == 0;
    }
    push_variable(L, code, &t[0]);
    bool string = lua_type(L, -1) == LUA_TSTRING, list = lua_istable(L, -1) && lua_rawlen(L, -1) > 0;
    lua_pop(L, 1);
    return !named ? NULL : string ? "the length of a string is #s" : list ? "the length of a table is #t" : NULL;
}

/* On math.inf and the like; pushed, or NULL. */
static const char *of_math(lua_State *L, const char *code, const struct lg_token *t)
{
    const char *name = lua_pushlstring(L, code + t[2].start, t[2].end - t[2].start);
    const char *written = strcmp(name, "PI") == 0 ? "math.pi" : lg_push_synonym(L, name);
    return written ? lua_pushfstring(L, "it is written %s", written) : NULL;
}

bool lg_push_missing(lua_State *L, const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token t[MOST_TOKENS];
    lg_last_line(&code, &length);
    size_t n = read_tokens(&x, code, length, t);
    const char *hint = NULL;
    int top = lua_gettop(L);
    luaL_checkstack(L, 32, NULL);
    if (n == 4 && lg_token_is(&x, &t[1], "[") && t[2].kind == LG_TOKEN_NUMBER && lg_token_is(&x, &t[3], "]"))
        hint = of_element(L, code, t);
    if (n == 3 && lg_token_is(&x, &t[1], ".")) hint = of_length(L, code, t);
    if (n == 3 && lg_token_is(&x, &t[0], "math") && lg_token_is(&x, &t[1], ".")) hint = of_math(L, code, t);
    if (hint) lua_pushfstring(L, "nil\n  hint: %s", hint);
    if (hint) lua_insert(L, top + 1);
    lua_settop(L, top + (hint != NULL));
    return hint != NULL;
}

/* Moves on behind the parenthesis that closes the one at *t, to the token there. */
static void skip_call(struct lg_lexer *x, struct lg_token *t)
{
    int depth = 0;
    do {
        depth += lg_token_is(x, t, "(") - lg_token_is(x, t, ")");
    } while (lg_lexer_code(x, t) && depth > 0);
}

/* Whether the name is of a method that gives a mask, whatever its object is, but for tables with methods of their own.
 */
static bool gives_mask(lua_State *L, const struct lg_lexer *x, const struct lg_token *owner, const struct lg_token *t)
{
    static const char *const names[] = {"gt", "ge", "lt", "le", "eq", "ne"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lg_token_is(x, t, names[i]))
            return i < 4 ? !names_table(L, x->text, owner) : names_array(L, x->text, owner);
    return false;
}

/* Whether `and` stands between the names of two arrays alone: m and n. `or` is for x = x or gpu.zeros(3), and both are
 * for what depends on whether there is a mask: m and x or y. */
static bool joins_arrays(lua_State *L, struct lg_lexer x, const struct lg_token *owner, const struct lg_token *before)
{
    struct lg_token next, last = {0};
    if (lg_token_is(&x, owner, ".") || lg_token_is(&x, owner, ":") || !lg_lexer_code(&x, &next)) return false;
    bool ends = !lg_lexer_code(&x, &last) || last.end - last.start != 1 || !strchr(".:([{", x.text[last.start]);
    return ends && last.keyword != LG_OR && names_array(L, x.text, before) && names_array(L, x.text, &next);
}

int lg_find_truth(lua_State *L, const char *code, size_t length)
{
    struct lg_lexer x;
    struct lg_token owner = {0}, before = {0}, t;
    lg_lexer_init(&x, code, length);
    for (bool more = lg_lexer_code(&x, &t); more; more = lg_lexer_code(&x, &t)) {
        struct lg_lexer ahead = x;
        struct lg_token next;
        if (t.keyword == LG_AND && joins_arrays(L, x, &owner, &before)) return t.line;
        if (lg_token_is(&x, &before, ":") && lg_lexer_code(&ahead, &next) && lg_token_is(&x, &next, "(") &&
            gives_mask(L, &x, &owner, &t)) {
            skip_call(&ahead, &next);
            if (next.keyword == LG_AND || next.keyword == LG_OR || next.keyword == LG_THEN) return next.line;
        }
        owner = before;
        before = t;
    }
    return 0;
}
