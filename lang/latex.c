/* x:latex(): the elements as LaTeX writes a matrix; a notebook sets it, a terminal shows the source. */
#include <ctype.h>
#include <string.h>
#include "lang/array.h"
#include "lang/cells.h"

#define THRESHOLD 200 /* elements; larger arrays show their edges */

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The text of an element in mathematical notation: 1.5e-07 is a product, inf a sign, words stand upright. */
static void add_number(luaL_Buffer *b, const char *text)
{
    while (*text) {
        if (*text == ' ') {
            text++;
        } else if (begins(text, "inf")) {
            luaL_addstring(b, "\\infty");
            text += 3;
        } else if (*text == 'e') {
            luaL_addstring(b, " \\times 10^{");
            text++;
            if (*text == '-') luaL_addchar(b, '-');
            text += 1 + strspn(text + 1, "0");
            if (!isdigit((unsigned char)*text)) luaL_addchar(b, '0');
            while (isdigit((unsigned char)*text)) luaL_addchar(b, *text++);
            luaL_addchar(b, '}');
        } else if (isalpha((unsigned char)*text) && isalpha((unsigned char)text[1])) {
            luaL_addstring(b, "\\mathrm{");
            while (isalpha((unsigned char)*text) && strcmp(text, "i") != 0) luaL_addchar(b, *text++);
            luaL_addchar(b, '}');
        } else {
            luaL_addchar(b, *text++);
        }
    }
}

static void add_row(luaL_Buffer *b, const struct lg_cells *c, int64_t first, int64_t count, int64_t front)
{
    char text[LG_CELL_TEXT];
    for (int64_t j = 0; j < count; j++) {
        if (j) luaL_addstring(b, " & ");
        if (j == front) luaL_addstring(b, "\\cdots & ");
        lg_cell_text(c, first + j, text);
        add_number(b, text);
    }
}

static void add_dots(luaL_Buffer *b, int64_t count, int64_t front)
{
    luaL_addstring(b, "  ");
    for (int64_t j = 0; j < count; j++) {
        if (j) luaL_addstring(b, " & ");
        if (j == front) luaL_addstring(b, "\\ddots & ");
        luaL_addstring(b, "\\vdots");
    }
    luaL_addstring(b, " \\\\\n");
}

static void add_matrix(luaL_Buffer *b, const struct lg_cells *c)
{
    int last = c->ndim - 1;
    int64_t columns = c->count[last], front = c->front[last], rows = c->ndim > 1 ? c->count[0] : 1;
    luaL_addstring(b, "\\begin{bmatrix}\n");
    for (int64_t i = 0; i < rows && columns > 0; i++) {
        if (c->ndim > 1 && i == c->front[0]) add_dots(b, columns, front);
        luaL_addstring(b, "  ");
        add_row(b, c, i * columns, columns, front);
        luaL_addstring(b, i + 1 < rows ? " \\\\\n" : "\n");
    }
    luaL_addstring(b, "\\end{bmatrix}");
}

static int give_source(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

static int give_forms(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_pushfstring(L, "$$%s$$", lua_tostring(L, lua_upvalueindex(1)));
    lua_setfield(L, -2, "text/latex");
    return 1;
}

static int latex(lua_State *L)
{
    struct lg_cells c;
    luaL_Buffer b;
    const struct rt_array *a = lg_check_array(L, 1);
    if (a->ndim > 2)
        return luaL_error(L, "latex writes vectors and matrices; this array has %d axes, and x[1] is a part of it",
                          a->ndim);
    lg_push_cells(L, a, THRESHOLD, &c);
    luaL_buffinit(L, &b);
    if (c.ndim == 0) {
        char text[LG_CELL_TEXT];
        lg_cell_text(&c, 0, text);
        add_number(&b, text);
    } else {
        add_matrix(&b, &c);
    }
    luaL_pushresult(&b);
    int source = lua_gettop(L);
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, source);
    lua_pushcclosure(L, give_source, 1);
    lua_setfield(L, -2, "__tostring");
    lua_pushvalue(L, source);
    lua_pushcclosure(L, give_forms, 1);
    lua_setfield(L, -2, "__display");
    lua_setmetatable(L, -2);
    return 1;
}

const struct lg_function lg_latex_methods[] = {
    {"latex", latex, "x:latex()",
     "A vector or matrix as LaTeX writes it: a notebook sets it, and tostring gives the source.\n"
     "Arrays of more than 200 elements show their edges.",
     "local source = tostring(gpu.array({{1, 2}, {3, 4}}):latex())\n"
     "assert(source == '\\\\begin{bmatrix}\\n  1 & 2 \\\\\\\\\\n  3 & 4\\n\\\\end{bmatrix}')"},
    {0}};
