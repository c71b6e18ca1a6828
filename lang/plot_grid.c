/* gpu.heatmap and gpu.plot_surface: values over a plane, as colours and as a surface in perspective. */
#include <math.h>
#include <string.h>
#include "lang/colormap.h"
#include "lang/display.h"
#include "lang/plot.h"
#include "lang/session_state.h"

#define MOST_CELLS   240 /* of a heat map along an axis; of more, the means of blocks are drawn */
#define MOST_VEGA    80  /* of one whose cells are written as JSON */
#define MOST_LINES   50  /* of a surface */
#define DUMB_LINES   20
#define DUMB_COLUMNS 144 /* points of a heat map where there are no colours: more than a terminal has characters */
#define DUMB_ROWS    48
#define STOPS        17 /* of a colour map */

static void check_grid(lua_State *L, struct lg_plot *p)
{
    char text[256];
    lua_settop(L, 2);
    if (lua_istable(L, 1)) {
        struct rt_device *host = rt_device_open("cpu", lg_error_box(L));
        if (!host) lg_raise(L, lg_error_box(L));
        lg_push_from_table(L, 1, RT_FLOAT64, host);
        lua_replace(L, 1);
    }
    const struct rt_array *a = lg_check_form(L, 1);
    if (a->ndim != 2 || a->shape[0] < 1 || a->shape[1] < 1)
        luaL_error(L, "z must have two axes, rows and columns, with elements, not the shape %s",
                   rt_shape_text(a->ndim, a->shape, text, sizeof text));
    if (rt_is_complex(a->dtype)) luaL_error(L, "z must be real, not %s", rt_dtypes[a->dtype].name);
    if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    p->options = lua_isnil(L, 2) ? 0 : 2;
    lg_plot_options(L, p, true);
}

/* Pushes what keeps the values: the array's, or means of blocks computed where it is. */
static void push_values(lua_State *L, const struct lg_plot *p, int64_t most, struct lg_plot_grid *g)
{
    const struct rt_array *form = lg_check_form(L, 1);
    const int64_t shape[2] = {form->shape[1], form->shape[0]};
    const double *const ranges[2] = {p->has_xrange ? p->xrange : NULL, p->has_yrange ? p->yrange : NULL};
    luaL_checkstack(L, 24, NULL);
    lua_pushvalue(L, 1);
    for (int axis = 0; axis < 2; axis++) {
        int64_t k = (shape[axis] + most - 1) / most;
        double first = ranges[axis] ? ranges[axis][0] : 1, last = ranges[axis] ? ranges[axis][1] : (double)shape[axis];
        double step = shape[axis] > 1 ? (last - first) / (double)(shape[axis] - 1) : 1;
        g->from[axis] = first + step * (double)(k - 1) / 2;
        g->step[axis] = step * (double)k;
        if (k > 1) lg_shrink_axis(L, 1 - axis, k);
    }
    const struct rt_array a = *lg_check_array(L, -1);
    const char *data = lg_push_host_copy(L, &a);
    int64_t n = a.shape[0] * a.shape[1];
    double *values = lua_newuserdatauv(L, (size_t)n * sizeof *values, 0);
    g->low = INFINITY;
    g->high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double v = rt_load_double(a.dtype, data + i * rt_dtypes[a.dtype].size);
        values[i] = isfinite(v) ? v : NAN;
        g->low = v < g->low && isfinite(v) ? v : g->low;
        g->high = v > g->high && isfinite(v) ? v : g->high;
    }
    g->values = values;
    g->rows = a.shape[0];
    g->columns = a.shape[1];
    lua_replace(L, -3);
    lua_pop(L, 1);
    if (g->low > g->high) luaL_error(L, "there is nothing to plot: no element is a finite number");
}

/* ---- scripts ---- */

static void add_data(const struct lg_plot_grid *g, struct lg_buffer *b)
{
    lg_buffer_puts(b, "$z << EOD\n");
    for (int64_t i = 0, n = g->rows * g->columns; i < n; i++)
        lg_buffer_printf(b, (i + 1) % g->columns ? "%.7g " : "%.7g\n", g->values[i]);
    lg_buffer_puts(b, "EOD\n");
}

/* Which columns are x, y and z of the block $z. */
static void add_source(const struct lg_plot_grid *g, struct lg_buffer *b)
{
    lg_buffer_printf(b, "$z matrix using (%.9g+$1*%.9g):(%.9g+$2*%.9g):3", g->from[0], g->step[0], g->from[1],
                     g->step[1]);
}

static void add_palette(lua_State *L, const struct lg_plot *p, struct lg_buffer *b)
{
    struct lg_colormap map;
    lg_check_colormap(L, p->cmap, &map);
    lg_buffer_puts(b, "set palette defined (");
    for (int i = 0; i < STOPS; i++) {
        const unsigned char *c = map.colors[i * 255 / (STOPS - 1)];
        lg_buffer_printf(b, "%s%d '#%02x%02x%02x'", i ? ", " : "", i, c[0], c[1], c[2]);
    }
    lg_buffer_puts(b, ")\n");
    if (p->logz) lg_buffer_puts(b, "set logscale zcb\n");
    lg_plot_range(b, "cbrange", p->zrange, p->has_zrange);
}

/* Where there are no colours: nine characters from faint to heavy, each the points of one range of values. */
static void add_characters(const struct lg_plot *p, const struct lg_plot_grid *g, struct lg_buffer *b)
{
    static const char levels[] = ".:-=+*%#@";
    const int count = sizeof levels - 1;
    double low = p->has_zrange ? p->zrange[0] : g->low, high = p->has_zrange ? p->zrange[1] : g->high;
    double x = g->from[0] - g->step[0] / 2, y = g->from[1] - g->step[1] / 2;
    double width = g->step[0] * (double)g->columns, height = g->step[1] * (double)g->rows;
    lg_buffer_printf(b, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nunset grid\n", x, x + width, y, y + height);
    bool used[sizeof levels] = {false}, first = true;
    for (int level = 0; level < count; level++) {
        lg_buffer_printf(b, "$c%d << EOD\n", level);
        for (int i = 0; i < DUMB_ROWS; i++)
            for (int j = 0; j < DUMB_COLUMNS; j++) {
                double v = g->values[i * g->rows / DUMB_ROWS * g->columns + j * g->columns / DUMB_COLUMNS];
                double t = p->logz ? (log(v) - log(low)) / (log(high) - log(low)) : (v - low) / (high - low);
                int at = high > low ? (int)floor(fmin(fmax(t, 0), 1) * (count - 0.001)) : count / 2;
                if (isnan(v) || at != level) continue;
                used[level] = true;
                lg_buffer_printf(b, "%.7g %.7g\n", x + width * (j + 0.5) / DUMB_COLUMNS,
                                 y + height * (i + 0.5) / DUMB_ROWS);
            }
        lg_buffer_puts(b, "EOD\n");
    }
    for (int level = 0; level < count; level++) {
        if (!used[level]) continue;
        lg_buffer_printf(b, "%s $c%d using 1:2 with points pt '%c' notitle", first ? "plot" : ",", level,
                         levels[level]);
        first = false;
    }
    lg_buffer_puts(b, "\n");
}

static void add_heat_map(const struct lg_plot *p, const struct lg_plot_grid *g, struct lg_buffer *b)
{
    lg_plot_setting(b, "cblabel", p->zlabel);
    lg_buffer_puts(b, "set autoscale noextend\nset tics out nomirror\nunset grid\nplot ");
    add_source(g, b);
    lg_buffer_puts(b, " with image notitle\n");
}

static void add_surface(const struct lg_plot *p, const struct lg_plot_grid *g, bool pictures, struct lg_buffer *b)
{
    lg_plot_setting(b, "zlabel", p->zlabel);
    lg_plot_range(b, "zrange", p->zrange, p->has_zrange);
    lg_buffer_puts(
        b, pictures ? "set pm3d depthorder border lc rgb '#a0404040' lw 0.4\nset view 55, 35\nset xyplane 0.1\nsplot "
                    : "set hidden3d\nunset grid\nset view 55, 35\nset xyplane 0\nunset colorbox\nsplot ");
    add_source(g, b);
    lg_buffer_puts(b, pictures ? " with pm3d notitle\n" : " with lines notitle\n");
}

/* ---- forms ---- */

static void push_description(lua_State *L, const struct lg_plot *p, const struct lg_plot_grid *g, const char *what)
{
    const struct rt_array *a = lg_check_form(L, 1);
    struct lg_buffer *b = lg_push_buffer(L);
    lg_buffer_puts(b, what);
    if (p->title) lg_buffer_printf(b, " \"%s\"", p->title);
    lg_buffer_printf(b, ": %lld x %lld values from %.6g to %.6g", (long long)a->shape[0], (long long)a->shape[1],
                     g->low, g->high);
    if (g->rows < a->shape[0] || g->columns < a->shape[1])
        lg_buffer_printf(b, ", drawn as means of %lld x %lld blocks", (long long)g->rows, (long long)g->columns);
    lg_push_buffer_text(L, b);
    lua_remove(L, -2);
}

static int heatmap(lua_State *L)
{
    struct lg_plot p = {0};
    struct lg_plot_grid g;
    struct lg_terminal terminal;
    check_grid(L, &p);
    bool pictures = lg_plot_pictures(L, &p, &terminal), vega = pictures && p.format == LG_PLOT_VEGA;
    push_values(L, &p, vega ? MOST_VEGA : MOST_CELLS, &g);
    struct lg_buffer *script = lg_push_buffer(L);
    if (vega) {
        lg_vega_grid(L, &p, &g, script);
        push_description(L, &p, &g, "heat map");
        lg_plot_show_vega(L, &p, script);
        return 1;
    }
    lg_plot_begin(&p, pictures, &terminal, script);
    if (pictures || terminal.color) {
        add_palette(L, &p, script);
        add_data(&g, script);
        add_heat_map(&p, &g, script);
    } else {
        add_characters(&p, &g, script);
    }
    push_description(L, &p, &g, "heat map");
    lg_plot_show(L, &p, pictures, script);
    return 1;
}

static int plot_surface(lua_State *L)
{
    struct lg_plot p = {0};
    struct lg_plot_grid g;
    struct lg_terminal terminal;
    check_grid(L, &p);
    if (p.format == LG_PLOT_VEGA)
        luaL_error(L, "Vega-Lite draws no surfaces; the formats \"svg\" and \"png\" do, and gpu.heatmap has all three");
    bool pictures = lg_plot_pictures(L, &p, &terminal);
    push_values(L, &p, pictures ? MOST_LINES : DUMB_LINES, &g);
    if (lg_check_form(L, 1)->shape[0] < 2 || lg_check_form(L, 1)->shape[1] < 2)
        luaL_error(L, "a surface needs two rows and two columns or more");
    struct lg_buffer *script = lg_push_buffer(L);
    lg_plot_begin(&p, pictures, &terminal, script);
    add_palette(L, &p, script);
    add_data(&g, script);
    add_surface(&p, &g, pictures, script);
    push_description(L, &p, &g, "surface");
    lg_plot_show(L, &p, pictures, script);
    return 1;
}

#define OPTIONS_DOC                                                                                                        \
    "Options: title, xlabel, ylabel, zlabel, xrange and yrange = what the first and last column and row stand for (1 and " \
    "their number), zrange = {from, to} and logz of the colours, cmap as in gpu.imshow, size = {width, height} in pixels, "

static const struct lg_function functions[] = {
    {"heatmap", heatmap, "gpu.heatmap(z [, options])",
     "Draws an array of rows and columns as colours, with axes and a scale; the first row is at the bottom.\n"
     "Of more than 240 rows or columns the means of blocks are drawn, computed on the array's device. NaN is left "
     "blank. " OPTIONS_DOC
     "format = \"svg\", \"png\" or \"vega\", into = what an earlier plot returned, which it then replaces.",
     "local x, y = gpu.meshgrid(gpu.linspace(-2, 2, 50), gpu.linspace(-1, 1, 30))\n"
     "gpu.heatmap((x * y):sin(), {title = 'a saddle', xrange = {-2, 2}, yrange = {-1, 1}})"},
    {"plot_surface", plot_surface, "gpu.plot_surface(z [, options])",
     "Draws an array of rows and columns as a surface in perspective.\n"
     "Of more than 50 rows or columns the means of blocks are drawn, computed on the array's device. " OPTIONS_DOC
     "format = \"svg\" or \"png\", into = what an earlier plot returned, which it then replaces.",
     "local x, y = gpu.meshgrid(gpu.linspace(-2, 2, 40), gpu.linspace(-2, 2, 40))\n"
     "gpu.plot_surface((-(x * x + y * y)):exp(), {title = 'a hill'})"},
    {0}};

void lg_open_plot_grid(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
