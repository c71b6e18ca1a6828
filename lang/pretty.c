/* The readable text of Lua values. Tables are written as Lua would read them where that is possible, on one line when
 * they fit; what is long, deep or cyclic is cut, and says so. */
#include "lang/session_state.h"

#include <stdlib.h>
#include <string.h>
#include "lang/lookup.h"

#define LINE_WIDTH 76
#define MAX_DEPTH  4
#define MAX_ITEMS  200
#define MAX_STRING 2000  /* bytes shown of one string inside a table */
#define MAX_RESULT 50000 /* bytes shown of a string that is the value itself */
#define TEXT_LINES 3     /* ends of lines from which on a value is shown as text */
#define EQUALS     "=========="
#define MAX_LEVEL  ((int)sizeof EQUALS - 1)
#define MAX_TABLE  20000 /* bytes behind which no table goes on: items of items would come to 200 times 200 */

struct printer {
    lua_State *L;
    struct lg_buffer *out;
    const void *open[MAX_DEPTH + 1]; /* the tables being written */
    int depth;
    bool flat;       /* everything on one line, or not at all */
    size_t flat_end; /* where the line is full */
};

static int free_buffer(lua_State *L)
{
    lg_buffer_release(lua_touserdata(L, 1));
    return 0;
}

struct lg_buffer *lg_push_buffer(lua_State *L)
{
    struct lg_buffer *b = lua_newuserdatauv(L, sizeof *b, 0);
    *b = (struct lg_buffer){0};
    if (luaL_newmetatable(L, "lunarray.buffer")) {
        lua_pushcfunction(L, free_buffer);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return b;
}

void lg_push_buffer_text(lua_State *L, const struct lg_buffer *b)
{
    if (b->failed) luaL_error(L, "not enough memory");
    lua_pushlstring(L, b->length ? b->data : "", b->length);
}

/* The length of the UTF-8 sequence at s, or 0 when it is none. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    size_t want = *s >= 0xF0 && *s < 0xF5 ? 4 : *s >= 0xE0 && *s < 0xF0 ? 3 : *s >= 0xC2 && *s < 0xE0 ? 2 : 0;
    if (!want || want > n) return 0;
    for (size_t i = 1; i < want; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if ((*s == 0xE0 && s[1] < 0xA0) || (*s == 0xED && s[1] > 0x9F) || (*s == 0xF0 && s[1] < 0x90) ||
        (*s == 0xF4 && s[1] > 0x8F))
        return 0;
    return want;
}

static void put_escaped(struct lg_buffer *out, unsigned char c)
{
    static const char letters[] = "a\ab\bf\fn\nr\rt\tv\v\\\\\"\"";
    for (const char *p = letters; *p; p += 2)
        if ((unsigned char)p[1] == c) {
            lg_buffer_printf(out, "\\%c", p[0]);
            return;
        }
    lg_buffer_printf(out, "\\x%02X", c);
}

static void put_string(struct lg_buffer *out, const char *text, size_t length, size_t limit)
{
    size_t shown = length;
    lg_buffer_puts(out, "\"");
    for (size_t i = 0; i < length;) {
        if (i >= limit) {
            shown = i;
            break;
        }
        unsigned char c = (unsigned char)text[i];
        size_t n = c < 0x80 ? 1 : utf8_length((const unsigned char *)text + i, length - i);
        if (n > 1 || (n == 1 && c >= ' ' && c != 127 && c != '"' && c != '\\')) {
            lg_buffer_add(out, text + i, n);
        } else {
            put_escaped(out, c);
            n = 1;
        }
        i += n;
    }
    lg_buffer_puts(out, "\"");
    if (shown < length) lg_buffer_printf(out, "... (%zu more bytes)", length - shown);
}

/* Whether what is shown of it is text of several lines, which is read more easily as it stands. */
static bool has_lines(const char *text, size_t length, size_t limit)
{
    int lines = 0;
    for (size_t i = 0; i < length && i < limit;) {
        const unsigned char c = (unsigned char)text[i];
        const size_t n = c < 0x80 ? 1 : utf8_length((const unsigned char *)text + i, length - i);
        if (n == 0 || c == 127 || (c < ' ' && c != '\n' && c != '\t')) return false;
        lines += c == '\n';
        i += n;
    }
    return lines >= TEXT_LINES;
}

/* Of long brackets that do not end within it. */
static int level_around(const char *text, size_t length)
{
    size_t level = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ']') continue;
        const size_t equals = strspn(text + i + 1, "="), next = i + 1 + equals;
        if ((next == length || text[next] == ']') && equals >= level) level = equals + 1;
    }
    return level > MAX_LEVEL ? MAX_LEVEL : (int)level;
}

static void put_lines(struct lg_buffer *out, const char *text, size_t length, size_t limit)
{
    size_t shown = length < limit ? length : limit;
    while (shown < length && ((unsigned char)text[shown] & 0xC0) == 0x80) shown--;
    const int level = level_around(text, shown);
    lg_buffer_printf(out, "[%.*s[\n", level, EQUALS);
    lg_buffer_add(out, text, shown);
    if (shown < length) lg_buffer_printf(out, "... (%zu more bytes)", length - shown);
    lg_buffer_printf(out, "]%.*s]", level, EQUALS);
}

static void put_value(struct printer *p, int idx, int indent);

/* "function: cell 3:1" for Lua functions and the signature of documented ones: the address tells nobody anything. */
static void put_function(struct printer *p, int idx)
{
    lua_State *L = p->L;
    const struct lg_function *row = lg_doc_of_value(L, idx);
    if (row) {
        lg_buffer_printf(p->out, "function: %s", row->signature);
        return;
    }
    if (!lua_iscfunction(L, idx)) {
        lua_Debug ar;
        lua_pushvalue(L, idx);
        if (lua_getinfo(L, ">S", &ar)) {
            lg_buffer_printf(p->out, "function: %s:%d", ar.short_src, ar.linedefined);
            return;
        }
    }
    lg_buffer_puts(p->out, luaL_tolstring(L, idx, NULL));
    lua_pop(L, 1);
}

/* Text over several lines keeps its columns. */
static void put_text(struct printer *p, const char *text, size_t length, int indent)
{
    for (size_t i = 0; i < length; i++) {
        lg_buffer_add(p->out, text + i, 1);
        if (text[i] == '\n') lg_buffer_printf(p->out, "%*s", indent, "");
    }
}

static void put_object(struct printer *p, int idx, int indent)
{
    lua_State *L = p->L;
    size_t n;
    const struct rt_array *a = lg_test_array(L, idx);
    if (lg_is_beside(L)) {
        char note[256];
        lua_pushfstring(L, "%s %s", lg_describe(L, idx, note, sizeof note), note);
    } else if (a && a->storage) {
        lg_push_array_text(L, lg_check_array(L, idx));
    } else {
        luaL_tolstring(L, idx, NULL);
    }
    const char *text = lua_tolstring(L, -1, &n);
    put_text(p, text, n, indent);
    lua_pop(L, 1);
}

/* Numbers by value, then strings by bytes, then the rest as it comes. */
static int compare_keys(lua_State *L, int a, int b)
{
    int ta = lua_type(L, a), tb = lua_type(L, b);
    if (ta != tb) return ta == LUA_TNUMBER ? -1 : tb == LUA_TNUMBER ? 1 : ta == LUA_TSTRING ? -1 : tb == LUA_TSTRING;
    if (ta != LUA_TNUMBER && ta != LUA_TSTRING) return 0;
    return lua_compare(L, a, b, LUA_OPLT) ? -1 : lua_compare(L, b, a, LUA_OPLT);
}

/* Sorts the list of n keys on top of the stack by merging runs, since a comparison needs the stack. */
void lg_sort_keys(lua_State *L, lua_Integer n)
{
    int keys = lua_gettop(L);
    for (lua_Integer width = 1; width < n; width *= 2) {
        lua_createtable(L, (int)n, 0);
        for (lua_Integer low = 0; low < n; low += 2 * width) {
            lua_Integer i = low, middle = low + width < n ? low + width : n, j = middle;
            lua_Integer high = low + 2 * width < n ? low + 2 * width : n;
            for (lua_Integer k = low; k < high; k++) {
                lua_rawgeti(L, keys, i + 1);
                lua_rawgeti(L, keys, j + 1);
                bool left = i < middle && (j >= high || compare_keys(L, -2, -1) <= 0);
                if (left)
                    lua_pop(L, 1);
                else
                    lua_remove(L, -2);
                lua_rawseti(L, keys + 1, k + 1);
                if (left)
                    i++;
                else
                    j++;
            }
        }
        lua_replace(L, keys);
    }
}

/* Pushes the sorted list of the keys that are no part of 1..length, and returns their number. */
static lua_Integer push_keys(lua_State *L, int idx, lua_Integer length)
{
    lua_Integer n = 0;
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, idx);) {
        lua_pop(L, 1);
        if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= length) continue;
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++n);
    }
    lg_sort_keys(L, n);
    return n;
}

/* Between two items: a comma, and a new line where one is due. */
static void put_separator(struct printer *p, bool first, bool wraps, int indent, size_t *line_start)
{
    if (!first) lg_buffer_puts(p->out, ",");
    if (p->flat) {
        if (!first) lg_buffer_puts(p->out, " ");
    } else if (first || !wraps || p->out->length - *line_start > LINE_WIDTH - 12) {
        lg_buffer_printf(p->out, "\n%*s", indent, "");
        *line_start = p->out->length - (size_t)indent;
    } else {
        lg_buffer_puts(p->out, " ");
    }
}

static void put_key(struct printer *p, int idx)
{
    size_t n;
    if (lua_type(p->L, idx) == LUA_TSTRING) {
        const char *key = lua_tolstring(p->L, idx, &n);
        if (lg_is_name(key, n)) {
            lg_buffer_add(p->out, key, n);
            lg_buffer_puts(p->out, " = ");
            return;
        }
    }
    lg_buffer_puts(p->out, "[");
    put_value(p, idx, 0);
    lg_buffer_puts(p->out, "] = ");
}

static bool overflows(const struct printer *p)
{
    return p->flat && p->out->length > p->flat_end;
}

/* The items of the table at idx, whose keys beside 1..length are in the list on top of the stack. */
static void put_items(struct printer *p, int idx, lua_Integer length, lua_Integer others, int indent)
{
    lua_State *L = p->L;
    int keys = lua_gettop(L);
    lua_Integer total = length + others;
    size_t line_start = p->out->length;
    bool scalars = true; /* so far */
    for (lua_Integer i = 0; i < total && !overflows(p); i++) {
        put_separator(p, i == 0, i < length && scalars, indent, &line_start);
        if (i == MAX_ITEMS || (i > 0 && p->out->length > MAX_TABLE)) {
            lg_buffer_printf(p->out, "... (%lld more)", (long long)(total - i));
            break;
        }
        if (i < length) {
            lua_rawgeti(L, idx, i + 1);
        } else {
            lua_rawgeti(L, keys, i - length + 1);
            put_key(p, lua_gettop(L));
            lua_rawget(L, idx);
        }
        scalars = lua_type(L, -1) == LUA_TNUMBER || lua_type(L, -1) == LUA_TBOOLEAN;
        put_value(p, lua_gettop(L), indent);
        lua_pop(L, 1);
    }
}

static void put_table_items(struct printer *p, int idx, int indent)
{
    lua_State *L = p->L;
    lua_Integer length = (lua_Integer)lua_rawlen(L, idx);
    lua_Integer others = push_keys(L, idx, length);
    if (length + others == 0) {
        lg_buffer_puts(p->out, "{}");
        lua_pop(L, 1);
        return;
    }
    size_t start = p->out->length;
    bool was_flat = p->flat;
    if (!was_flat) {
        const char *line = p->out->data ? p->out->data + start : NULL;
        size_t column = 0;
        while (line && column < start && line[-1 - (long)column] != '\n') column++;
        p->flat = true;
        p->flat_end = start + (column < LINE_WIDTH ? LINE_WIDTH - column : 0);
    }
    lg_buffer_puts(p->out, "{");
    put_items(p, idx, length, others, 0);
    lg_buffer_puts(p->out, "}");
    p->flat = was_flat;
    bool fits = p->out->length <= p->flat_end && !memchr(p->out->data + start, '\n', p->out->length - start);
    if (!was_flat && !fits) {
        p->out->length = start;
        lg_buffer_puts(p->out, "{");
        put_items(p, idx, length, others, indent + 2);
        lg_buffer_printf(p->out, "\n%*s}", indent, "");
    }
    lua_pop(L, 1);
}

static void put_table(struct printer *p, int idx, int indent)
{
    lua_State *L = p->L;
    const void *identity = lua_topointer(L, idx);
    for (int i = 0; i < p->depth; i++)
        if (p->open[i] == identity) {
            lg_buffer_puts(p->out, "<cycle>");
            return;
        }
    if (p->depth == MAX_DEPTH) {
        lg_buffer_puts(p->out, "{...}");
        return;
    }
    luaL_checkstack(L, 12, "table too deep to print");
    p->open[p->depth++] = identity;
    put_table_items(p, idx, indent);
    p->depth--;
}

static int record_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lg_push_value_text(L, 1);
    return 1;
}

void lg_set_text(lua_State *L, const char *name, lua_CFunction f)
{
    if (luaL_newmetatable(L, name)) {
        lua_pushcfunction(L, f);
        lua_setfield(L, -2, "__tostring");
        lua_pushnil(L); /* a table it is called in messages */
        lua_setfield(L, -2, "__name");
    }
    lua_setmetatable(L, -2);
}

void lg_make_record(lua_State *L)
{
    lg_set_text(L, "lunarray.record", record_tostring);
}

/* Whether the table at idx has a text of its own. */
static bool prints_itself(lua_State *L, int idx)
{
    if (luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL) return false;
    bool own = lua_tocfunction(L, -1) != record_tostring;
    lua_pop(L, 1);
    return own;
}

static void put_value(struct printer *p, int idx, int indent)
{
    lua_State *L = p->L;
    if (overflows(p) || p->out->failed) return;
    switch (lua_type(L, idx)) {
    case LUA_TSTRING: {
        size_t n;
        const char *text = lua_tolstring(L, idx, &n);
        if (!p->depth && has_lines(text, n, MAX_RESULT))
            put_lines(p->out, text, n, MAX_RESULT);
        else
            put_string(p->out, text, n, p->depth ? MAX_STRING : MAX_RESULT);
        break;
    }
    case LUA_TFUNCTION: put_function(p, idx); break;
    case LUA_TTABLE:
        if (prints_itself(L, idx))
            put_object(p, idx, indent);
        else
            put_table(p, idx, indent);
        break;
    default: put_object(p, idx, indent);
    }
}

void lg_push_value_text(lua_State *L, int idx)
{
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 12, NULL);
    struct printer p = {.L = L, .out = lg_push_buffer(L)};
    put_value(&p, idx, 0);
    lg_push_buffer_text(L, p.out);
    lua_remove(L, -2);
}
