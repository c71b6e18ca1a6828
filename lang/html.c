/* The HTML form of arrays, for notebooks: a table in the page's own colours and fonts, so it suits dark and light
 * themes. One axis is one row, or several of a long one, two are a table, of more the first and the last table are
 * shown. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"

#define COLUMNS 20  /* tables that are wider show their edges, vectors have several rows */
#define LINE    790 /* pixels of such a row, of a page that is not wide: about 8 a character and 10 between cells */
#define BLOCKS  4   /* tables of an array of more than two axes */

void lg_add_format(luaL_Buffer *b, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    luaL_addstring(b, text);
}

void lg_add_html(luaL_Buffer *b, const char *text, size_t length)
{
    for (const char *s = text; s < text + length; s++) {
        if (*s == '<')
            luaL_addstring(b, "&lt;");
        else if (*s == '>')
            luaL_addstring(b, "&gt;");
        else if (*s == '&')
            luaL_addstring(b, "&amp;");
        else if (*s == '"')
            luaL_addstring(b, "&quot;");
        else
            luaL_addchar(b, *s);
    }
}

static int give_text(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

static int give_forms(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setfield(L, -2, "text/html");
    return 1;
}

void lg_set_forms(lua_State *L)
{
    lua_pushcclosure(L, give_forms, 1);
    lua_insert(L, -2);
    lua_pushcclosure(L, give_text, 1);
    lua_createtable(L, 0, 2);
    lua_insert(L, -3);
    lua_setfield(L, -3, "__tostring");
    lua_setfield(L, -2, "__display");
    lua_setmetatable(L, -2);
}

static void add_index(luaL_Buffer *b, int64_t index)
{
    char text[80];
    snprintf(text, sizeof text, "<th style=\"font-weight:normal;opacity:.55\">%lld</th>", (long long)index);
    luaL_addstring(b, text);
}

static void add_cell(luaL_Buffer *b, const struct lg_cells *c, int64_t i)
{
    char text[LG_CELL_TEXT];
    lg_cell_text(c, i, text);
    luaL_addstring(b, "<td>");
    lg_add_html(b, text, strlen(text));
    luaL_addstring(b, "</td>");
}

static void add_row(luaL_Buffer *b, const struct lg_cells *c, int64_t first)
{
    int last = c->ndim - 1;
    int64_t count = c->ndim ? c->count[last] : 1, front = c->ndim ? c->front[last] : 1;
    for (int64_t i = 0; i < count; i++) {
        if (i == front) luaL_addstring(b, "<td>&hellip;</td>");
        add_cell(b, c, first + i);
    }
    if (c->ndim && front == count && lg_has_gap(c, last)) luaL_addstring(b, "<td>&hellip;</td>");
}

static void add_column_numbers(luaL_Buffer *b, const struct lg_cells *c, bool corner)
{
    int last = c->ndim - 1;
    luaL_addstring(b, corner ? "<tr><th></th>" : "<tr>");
    for (int64_t i = 0; i < c->count[last]; i++) {
        if (i == c->front[last]) luaL_addstring(b, "<th></th>");
        add_index(b, lg_cell_index(c, last, i));
    }
    luaL_addstring(b, "</tr>");
}

static void add_rows(luaL_Buffer *b, const struct lg_cells *c, int64_t first)
{
    int axis = c->ndim - 2;
    int64_t rows = c->count[axis];
    add_column_numbers(b, c, true);
    for (int64_t i = 0; i < rows; i++) {
        if (i == c->front[axis]) luaL_addstring(b, "<tr><th>&#8942;</th></tr>");
        luaL_addstring(b, "<tr>");
        add_index(b, lg_cell_index(c, axis, i));
        add_row(b, c, first + i * c->count[axis + 1]);
        luaL_addstring(b, "</tr>");
    }
    if (c->front[axis] == rows && lg_has_gap(c, axis)) luaL_addstring(b, "<tr><th>&#8942;</th></tr>");
}

/* A vector that is shown whole and is no row of the page's width; each row begins with the index of its first. */
static void add_lines(luaL_Buffer *b, const struct lg_cells *c)
{
    int64_t step = 16; /* which warps and blocks are multiples of */
    while (step > 4 && step * (8 * c->width + 10) > LINE) step /= 2;
    for (int64_t i = 0; i < c->size; i++) {
        if (i % step == 0) {
            luaL_addstring(b, i ? "</tr><tr>" : "<tr>");
            add_index(b, i + 1);
        }
        add_cell(b, c, i);
    }
    luaL_addstring(b, "</tr>");
}

/* Heading of one table of an array of more than two axes. */
static void add_heading(luaL_Buffer *b, const struct lg_cells *c, int64_t block)
{
    char text[32];
    int64_t at[RT_MAX_DIMS];
    for (int i = c->ndim - 3; i >= 0; i--) {
        at[i] = block % c->count[i];
        block /= c->count[i];
    }
    luaL_addstring(b, "<tr><td colspan=\"99\" style=\"text-align:left;opacity:.7\">(");
    for (int i = 0; i < c->ndim - 2; i++) {
        snprintf(text, sizeof text, "%lld, ", (long long)lg_cell_index(c, i, at[i]));
        luaL_addstring(b, text);
    }
    luaL_addstring(b, ":, :)</td></tr>");
}

static void add_blocks(luaL_Buffer *b, const struct lg_cells *c)
{
    char text[128];
    int64_t step = c->count[c->ndim - 2] * c->count[c->ndim - 1], shown = c->size / step, all = 1;
    for (int i = 0; i < c->ndim - 2; i++) all *= c->shape[i];
    for (int64_t block = 0; block < shown && block < BLOCKS; block++) {
        if (c->ndim > 2) add_heading(b, c, block);
        add_rows(b, c, block * step);
    }
    int64_t left_out = all - (shown < BLOCKS ? shown : BLOCKS);
    if (left_out == 0) return;
    snprintf(text, sizeof text,
             "<tr><td colspan=\"99\" style=\"text-align:left;opacity:.7\">and %lld more slices</td></tr>",
             (long long)left_out);
    luaL_addstring(b, text);
}

static void add_caption(luaL_Buffer *b, const char *title, int64_t bytes)
{
    char text[32];
    luaL_addstring(b,
                   "<caption style=\"caption-side:top;text-align:left;white-space:nowrap;color:inherit;opacity:.8\">");
    lg_add_html(b, title, strlen(title));
    luaL_addstring(b, ", ");
    luaL_addstring(b, rt_size_text((double)bytes, text));
    luaL_addstring(b, "</caption>");
}

void lg_push_array_html(lua_State *L, const struct rt_array *a)
{
    struct lg_cells c;
    luaL_Buffer b;
    bool wide = a->ndim > 1 && a->shape[a->ndim - 1] > COLUMNS && lg_print_options(L)->threshold < 0;
    lg_push_cells(L, a, wide ? 0 : LG_SHOWN_WHOLE, &c);
    int64_t bytes = rt_array_size(a) * rt_dtypes[a->dtype].size;
    lg_push_array_title(L, a);
    const char *title = lua_tostring(L, -1);
    luaL_buffinit(L, &b);
    luaL_addstring(&b,
                   "<table class=\"lunarray\" cellpadding=\"4\" style=\"color:inherit;background:none;text-align:right;"
                   "font-family:monospace;font-variant-numeric:tabular-nums;border-collapse:collapse\">");
    add_caption(&b, title, bytes);
    luaL_addstring(&b, "<tbody>");
    if (c.size == 0) {
        luaL_addstring(&b, "<tr><td>no elements</td></tr>");
    } else if (c.ndim == 1 && c.size > COLUMNS && !lg_has_gap(&c, 0)) {
        add_lines(&b, &c);
    } else if (c.ndim < 2) {
        if (c.ndim == 1) add_column_numbers(&b, &c, false);
        luaL_addstring(&b, "<tr>");
        add_row(&b, &c, 0);
        luaL_addstring(&b, "</tr>");
    } else {
        add_blocks(&b, &c);
    }
    luaL_addstring(&b, "</tbody></table>");
    luaL_pushresult(&b);
    lua_replace(L, -3);
    lua_pop(L, 1);
}
