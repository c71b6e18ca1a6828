/* The text form of arrays: a title, then the numbers in columns. One axis is a row that wraps, two are a table, more
 * are tables under headings that name the outer indices. */
#include <stdio.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"
#include "lang/display.h"

#define LINE 80 /* columns of a line where no terminal says how many it has */
#define GAP  5  /* of them for "  ..." */

/* Cells that belong to one row, and which of them fit on a line. */
struct columns {
    int64_t front, back; /* shown in front of the gap and behind it */
    bool gap;
};

static void add_cell(luaL_Buffer *b, const struct lg_cells *c, int64_t i)
{
    char text[LG_CELL_TEXT], padded[LG_CELL_TEXT + 40];
    lg_cell_text(c, i, text);
    int n = snprintf(padded, sizeof padded, "  %*s", c->width, text);
    luaL_addlstring(b, padded, (size_t)n);
}

static int line_columns(lua_State *L)
{
    struct lg_terminal terminal;
    const int64_t asked = lg_print_options(L)->linewidth;
    if (asked > 0) return (int)asked;
    lg_shows_pictures(L, &terminal);
    return terminal.columns > 0 ? terminal.columns : LINE;
}

static struct columns fit_columns(const struct lg_cells *c, int line)
{
    int last = c->ndim - 1;
    int64_t count = c->count[last], fit = line / (c->width + 2);
    struct columns columns = {c->front[last], count - c->front[last], lg_has_gap(c, last)};
    if (count + columns.gap <= fit || count <= 2) return columns;
    int64_t half = (line - GAP) / (c->width + 2) / 2;
    if (half < 1) half = 1;
    if (half * 2 >= count) return columns;
    return (struct columns){half, half, true};
}

static void add_row(luaL_Buffer *b, const struct lg_cells *c, const struct columns *columns, int64_t first)
{
    int64_t count = c->count[c->ndim - 1];
    luaL_addchar(b, '\n');
    for (int64_t i = 0; i < columns->front; i++) add_cell(b, c, first + i);
    if (columns->gap) luaL_addstring(b, "  ...");
    for (int64_t i = count - columns->back; i < count; i++) add_cell(b, c, first + i);
}

static void add_table(luaL_Buffer *b, const struct lg_cells *c, const struct columns *columns, int64_t first)
{
    int axis = c->ndim - 2;
    int64_t rows = c->count[axis], front = c->front[axis];
    for (int64_t i = 0; i < rows; i++) {
        if (i == front && lg_has_gap(c, axis)) luaL_addstring(b, "\n  ...");
        add_row(b, c, columns, first + i * c->count[axis + 1]);
    }
    if (front == rows && lg_has_gap(c, axis)) luaL_addstring(b, "\n  ...");
}

static void add_heading(luaL_Buffer *b, const struct lg_cells *c, const int64_t *at)
{
    char text[32];
    luaL_addstring(b, "\n(");
    for (int i = 0; i < c->ndim - 2; i++) {
        snprintf(text, sizeof text, "%lld, ", (long long)lg_cell_index(c, i, at[i]));
        luaL_addstring(b, text);
    }
    luaL_addstring(b, ":, :)");
}

/* The tables of all outer indices, with a line of dots where some are left out. */
static void add_tables(luaL_Buffer *b, const struct lg_cells *c, const struct columns *columns)
{
    int64_t at[RT_MAX_DIMS] = {0};
    int outer = c->ndim - 2;
    int64_t step = c->count[outer] * c->count[outer + 1];
    for (int64_t first = 0; first < c->size; first += step) {
        if (outer) add_heading(b, c, at);
        add_table(b, c, columns, first);
        int axis = outer - 1;
        for (; axis >= 0; axis--) {
            if (++at[axis] < c->count[axis]) break;
            if (c->front[axis] == c->count[axis] && lg_has_gap(c, axis)) luaL_addstring(b, "\n...");
            at[axis] = 0;
        }
        if (axis >= 0 && at[axis] == c->front[axis] && lg_has_gap(c, axis)) luaL_addstring(b, "\n...");
    }
}

static void add_vector(luaL_Buffer *b, const struct lg_cells *c, int line)
{
    int64_t n = c->count[0];
    int per_line = line / (c->width + 2), column = 0;
    if (per_line < 1) per_line = 1;
    for (int64_t i = 0; i < n; i++) {
        if (i == c->front[0]) {
            luaL_addstring(b, "  ...");
            column++;
        }
        if (column % per_line == 0) luaL_addchar(b, '\n');
        add_cell(b, c, i);
        column++;
    }
}

void lg_push_array_text(lua_State *L, const struct rt_array *a)
{
    struct lg_cells c;
    luaL_Buffer b;
    int line = line_columns(L);
    lg_push_cells(L, a, LG_SHOWN_WHOLE, &c);
    lg_push_array_title(L, a);
    const char *title = lua_tostring(L, -1);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, title);
    if (c.size == 0) {
        luaL_addstring(&b, "\n  no elements");
    } else if (c.ndim == 0) {
        luaL_addchar(&b, '\n');
        add_cell(&b, &c, 0);
    } else if (c.ndim == 1) {
        add_vector(&b, &c, line);
    } else {
        struct columns columns = fit_columns(&c, line);
        add_tables(&b, &c, &columns);
    }
    luaL_pushresult(&b);
    lua_replace(L, -3); /* the cells and the title go */
    lua_pop(L, 1);
}
