/* The options of plots. */
#include "lang/plot.h"

#include <math.h>
#include <string.h>
#include "lang/display.h"
#include "lang/session_state.h"

#define LEAST_PIXELS 64
#define MOST_PIXELS  4096
#define WIDTH        640
#define HEIGHT       400

const char *lg_plot_text_option(lua_State *L, int table, const char *name)
{
    int type = lua_getfield(L, table, name);
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return NULL;
    }
    if (type != LUA_TSTRING) luaL_error(L, "%s must be a string, not %s", name, lg_type_name(L, -1));
    return lua_tostring(L, -1); /* stays on the stack */
}

static bool flag_option(lua_State *L, int table, const char *name)
{
    lua_getfield(L, table, name);
    bool set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return set;
}

/* Two numbers, {a, b}. */
static bool pair_option(lua_State *L, int table, const char *name, double out[2])
{
    int type = lua_getfield(L, table, name);
    for (int i = 0; i < 2 && type == LUA_TTABLE; i++) {
        if (lua_rawgeti(L, -1, i + 1) != LUA_TNUMBER) type = LUA_TNONE;
        out[i] = lua_tonumber(L, -1);
        if (!isfinite(out[i])) type = LUA_TNONE;
        lua_pop(L, 1);
    }
    if (type != LUA_TTABLE && type != LUA_TNIL) luaL_error(L, "%s must be a table of two finite numbers", name);
    lua_pop(L, 1);
    return type == LUA_TTABLE;
}

static void check_names(lua_State *L, int table, bool grid)
{
    static const char *const series[] = {"title",  "xlabel", "ylabel", "label", "logx", "logy", "xrange",
                                         "yrange", "size",   "format", "into",  "bins", NULL};
    static const char *const grids[] = {"title",  "xlabel", "ylabel", "zlabel", "logz", "cmap", "xrange",
                                        "yrange", "zrange", "size",   "format", "into", NULL};
    const char *const *names = grid ? grids : series;
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        bool known = false;
        for (int i = 0; names[i] && lua_type(L, -2) == LUA_TSTRING; i++)
            known |= !strcmp(lua_tostring(L, -2), names[i]);
        if (known) continue;
        const char *name = luaL_tolstring(L, -2, NULL);
        struct lg_buffer *list = lg_push_buffer(L);
        for (int i = 0; names[i]; i++) lg_buffer_printf(list, "%s%s", i ? ", " : "", names[i]);
        lg_push_buffer_text(L, list);
        luaL_error(L, "this plot has no option '%s'; its options are %s", name, lua_tostring(L, -1));
    }
}

static enum lg_plot_format format_option(lua_State *L, int table)
{
    static const char *const formats[] = {"svg", "png", "vega"};
    const char *format = lg_plot_text_option(L, table, "format");
    for (int i = 0; format && i < 3; i++)
        if (!strcmp(format, formats[i])) return (enum lg_plot_format)i;
    if (format) luaL_error(L, "format must be \"svg\", \"png\" or \"vega\", not \"%s\"", format);
    return LG_PLOT_SVG;
}

void lg_plot_options(lua_State *L, struct lg_plot *p, bool grid)
{
    double size[2] = {WIDTH, HEIGHT};
    p->width = WIDTH;
    p->height = HEIGHT;
    p->cmap = "viridis";
    if (!p->options) return;
    int t = p->options;
    luaL_checkstack(L, 16, NULL);
    check_names(L, t, grid);
    p->title = lg_plot_text_option(L, t, "title");
    p->xlabel = lg_plot_text_option(L, t, "xlabel");
    p->ylabel = lg_plot_text_option(L, t, "ylabel");
    p->zlabel = lg_plot_text_option(L, t, "zlabel");
    p->label = lg_plot_text_option(L, t, "label");
    const char *cmap = lg_plot_text_option(L, t, "cmap");
    if (cmap) p->cmap = cmap;
    p->logx = flag_option(L, t, "logx");
    p->logy = flag_option(L, t, "logy");
    p->logz = flag_option(L, t, "logz");
    p->has_xrange = pair_option(L, t, "xrange", p->xrange);
    p->has_yrange = pair_option(L, t, "yrange", p->yrange);
    p->has_zrange = pair_option(L, t, "zrange", p->zrange);
    pair_option(L, t, "size", size);
    for (int i = 0; i < 2; i++)
        if (size[i] < LEAST_PIXELS || size[i] > MOST_PIXELS)
            luaL_error(L, "size is {width, height}, each of %d to %d pixels", LEAST_PIXELS, MOST_PIXELS);
    p->width = (int)size[0];
    p->height = (int)size[1];
    p->format = format_option(L, t);
    if (lua_getfield(L, t, "into") == LUA_TNIL) return;
    if (!lg_is_handle(L, -1)) luaL_error(L, "into must be what an earlier plot or display returned");
    p->into = lua_gettop(L);
}
