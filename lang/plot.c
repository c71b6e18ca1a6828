/* gpu.plot and its like: series of points as pictures that gnuplot draws, SVG or PNG where pictures are shown, and
 * letters in a terminal. */
#include "lang/plot.h"

#include <math.h>
#include <string.h>
#include "lang/display.h"
#include "lang/gnuplot.h"
#include "lang/session_state.h"

static const char *const kind_names[] = {"lines", "points", "bars"};

/* ---- series ---- */

/* Pushes the array of one axis that an array or a list of numbers at idx stands for. */
static int push_data(lua_State *L, int idx, const char *what)
{
    char text[256];
    if (lg_test_array(L, idx)) {
        lua_pushvalue(L, idx);
    } else if (lua_istable(L, idx)) {
        struct rt_device *host = rt_device_open("cpu", lg_error_box(L));
        if (!host) lg_raise(L, lg_error_box(L));
        lg_push_from_table(L, idx, RT_FLOAT64, host);
    } else
        luaL_error(L, "%s must be an array or a list of numbers, not %s%s", what, lg_type_name(L, idx),
                   lua_isfunction(L, idx)            ? "; a function is drawn by its values, gpu.plot(x, x:sin())"
                   : lua_type(L, idx) == LUA_TSTRING ? "; how it looks is said in a table, gpu.plot{{x, y, style = "
                                                       "\"points\", label = \"...\"}}"
                                                     : "");
    const struct rt_array *a = lg_check_form(L, -1);
    if (a->ndim != 1)
        luaL_error(L, "%s must have one axis, not the shape %s; gpu.imshow shows two", what,
                   rt_shape_text(a->ndim, a->shape, text, sizeof text));
    if (rt_is_complex(a->dtype)) luaL_error(L, "%s must be real, not %s", what, rt_dtypes[a->dtype].name);
    return lua_gettop(L);
}

static bool is_list_of(lua_State *L, int idx, int type)
{
    bool yes = lua_istable(L, idx) && lua_rawgeti(L, idx, 1) == type;
    if (lua_istable(L, idx)) lua_pop(L, 1);
    return yes;
}

/* Whether the value at idx is data: an array or a table with a list part. */
static bool is_data(lua_State *L, int idx)
{
    return lg_test_array(L, idx) || (lua_istable(L, idx) && lua_rawlen(L, idx) > 0);
}

static struct lg_series *add_series(lua_State *L, struct lg_plot *p, enum lg_plot_kind kind, int x, int y)
{
    if (p->count == LG_MOST_SERIES) luaL_error(L, "a plot has %d series at most", LG_MOST_SERIES);
    luaL_checkstack(L, 16, "too many series");
    struct lg_series *s = &p->series[p->count++];
    *s = (struct lg_series){.kind = kind};
    s->y = push_data(L, y, "y");
    if (x && is_list_of(L, x, LUA_TSTRING)) {
        if (kind != LG_PLOT_BARS) luaL_error(L, "x of a plot must be numbers; gpu.bar takes names");
        s->names = x;
    } else if (x) {
        s->x = push_data(L, x, "x");
    }
    int64_t xs = s->names ? (int64_t)lua_rawlen(L, x) : s->x ? lg_check_form(L, s->x)->shape[0] : -1;
    int64_t ys = lg_check_form(L, s->y)->shape[0];
    if (xs >= 0 && xs != ys) luaL_error(L, "x has %I elements and y has %I", (LUAI_UACINT)xs, (LUAI_UACINT)ys);
    return s;
}

/* A series of a list: an array or list of numbers, or {[x,] y, label = , style = }. */
static void add_item(lua_State *L, struct lg_plot *p, enum lg_plot_kind kind, int item)
{
    if (lg_test_array(L, item) || is_list_of(L, item, LUA_TNUMBER)) {
        add_series(L, p, kind, 0, item);
        return;
    }
    if (!lua_istable(L, item) || !lua_rawlen(L, item)) luaL_error(L, "a series is {[x,] y, label = , style = }");
    const char *style = lg_plot_text_option(L, item, "style"), *label = lg_plot_text_option(L, item, "label");
    if (style) {
        int k = 0;
        while (k < 3 && strcmp(style, kind_names[k]) != 0) k++;
        if (k == 3) luaL_error(L, "style must be \"lines\", \"points\" or \"bars\", not \"%s\"", style);
        kind = (enum lg_plot_kind)k;
    }
    lua_rawgeti(L, item, 1);
    int first = lua_gettop(L);
    lua_rawgeti(L, item, 2);
    struct lg_series *s =
        lua_isnil(L, -1) ? add_series(L, p, kind, 0, first) : add_series(L, p, kind, first, first + 1);
    s->label = label;
}

static void check_arguments(lua_State *L, struct lg_plot *p, enum lg_plot_kind kind)
{
    int top = lua_gettop(L);
    if (top > 1 && lua_istable(L, top) && !is_data(L, top)) p->options = top--;
    bool list = lua_istable(L, 1) && !is_list_of(L, 1, LUA_TNUMBER) && !is_list_of(L, 1, LUA_TSTRING);
    luaL_argcheck(L, top <= (list ? 1 : 2), top, "a table of options such as {title = \"...\"} expected");
    lg_plot_options(L, p, false);
    if (!list) {
        add_series(L, p, kind, top == 2 ? 1 : 0, top == 2 ? 2 : 1)->label = p->label;
        return;
    }
    int n = (int)lua_rawlen(L, 1);
    luaL_argcheck(L, n > 0, 1, "an array, a list of numbers, or a list of series expected");
    for (int i = 1; i <= n; i++) {
        luaL_checkstack(L, 16, "too many series");
        lua_rawgeti(L, 1, i);
        add_item(L, p, kind, lua_gettop(L));
    }
}

/* ---- the script ---- */

static void add_tics(lua_State *L, const struct lg_series *s, struct lg_buffer *b)
{
    lg_buffer_puts(b, "set xtics (");
    int n = (int)lua_rawlen(L, s->names);
    for (int i = 1; i <= n; i++) {
        if (lua_rawgeti(L, s->names, i) != LUA_TSTRING) luaL_error(L, "name %d of the bars is no string", i);
        lg_add_gnuplot_string(b, lua_tostring(L, -1));
        lg_buffer_printf(b, " %d%s", i, i < n ? ", " : ")\n");
        lua_pop(L, 1);
    }
}

static void add_script(lua_State *L, struct lg_plot *p, bool pictures, struct lg_buffer *b)
{
    const char *const styles[] = {"lines lw 1.5", pictures ? "points pt 7 ps 0.4" : "points pt 'o'",
                                  "boxes fs solid 0.7 noborder"};
    bool bars = false, labels = false;
    if (p->logx) lg_buffer_puts(b, "set logscale x\n");
    if (p->logy) lg_buffer_puts(b, "set logscale y\n");
    for (int i = 0; i < p->count; i++) {
        struct lg_series *s = &p->series[i];
        lg_buffer_printf(b, "$s%d << EOD\n", i);
        lg_add_points(L, s, p->logx, b);
        lg_buffer_puts(b, "EOD\n");
        bars |= s->kind == LG_PLOT_BARS;
        labels |= s->label != NULL;
        if (s->names) add_tics(L, s, b);
    }
    if (bars && !p->logy) lg_buffer_puts(b, "set yrange [*<0:0<*]\n");
    if (bars) lg_buffer_puts(b, "set boxwidth 0.9 relative\nset style fill solid\n");
    lg_plot_range(b, "xrange", p->xrange, p->has_xrange);
    lg_plot_range(b, "yrange", p->yrange, p->has_yrange);
    if (!labels)
        lg_buffer_puts(b, "unset key\n");
    else
        lg_buffer_puts(b, "set key bmargin center horizontal\n"); /* where it hides nothing */
    bool points = p->count && p->series[0].kind == LG_PLOT_POINTS;
    if (pictures && !p->logx && !p->logy) /* nothing lies on the border */
        lg_buffer_printf(b, "set offsets %s, graph 0.03, %s\n", points ? "graph 0.02, graph 0.02" : "0, 0",
                         bars ? "0" : "graph 0.03");
    for (int i = 0; i < p->count; i++) {
        lg_buffer_printf(b, "%s $s%d using 1:2 with %s", i ? "," : "plot", i, styles[p->series[i].kind]);
        lg_buffer_puts(b, p->series[i].label ? " title " : " notitle");
        if (p->series[i].label) lg_add_gnuplot_string(b, p->series[i].label);
    }
    lg_buffer_puts(b, "\n");
}

/* ---- forms ---- */

/* "plot "title": lines "sin", 100 elements, y from -1 to 1; points ..." */
static void push_description(lua_State *L, const struct lg_plot *p)
{
    struct lg_buffer *b = lg_push_buffer(L);
    lg_buffer_puts(b, "plot");
    if (p->title) lg_buffer_printf(b, " \"%s\"", p->title);
    for (int i = 0; i < p->count; i++) {
        const struct lg_series *s = &p->series[i];
        lg_buffer_printf(b, "%s%s", i ? "; " : ": ", kind_names[s->kind]);
        if (s->label) lg_buffer_printf(b, " \"%s\"", s->label);
        lg_buffer_printf(b, ", %lld elements", (long long)s->count);
        if (s->low <= s->high) lg_buffer_printf(b, ", y from %.6g to %.6g", s->low, s->high);
        if (s->step > 1) lg_buffer_printf(b, ", one of %lld drawn", (long long)s->step);
    }
    lg_push_buffer_text(L, b);
    lua_remove(L, -2);
}

static int draw(lua_State *L, struct lg_plot *p)
{
    struct lg_terminal terminal;
    bool pictures = lg_plot_pictures(L, p, &terminal), vega = pictures && p->format == LG_PLOT_VEGA;
    struct lg_buffer *script = lg_push_buffer(L);
    if (vega) {
        lg_vega_series(L, p, script);
    } else {
        lg_plot_begin(p, pictures, &terminal, script);
        add_script(L, p, pictures, script);
    }
    bool empty = true;
    for (int i = 0; i < p->count; i++) empty &= p->series[i].low > p->series[i].high;
    if (empty) return luaL_error(L, "there is nothing to plot: no element is a finite number");
    push_description(L, p);
    if (vega)
        lg_plot_show_vega(L, p, script);
    else
        lg_plot_show(L, p, pictures, script);
    return 1;
}

static int plot_kind(lua_State *L, enum lg_plot_kind kind)
{
    struct lg_plot p = {0};
    luaL_checkany(L, 1);
    check_arguments(L, &p, kind);
    return draw(L, &p);
}

static int plot(lua_State *L)
{
    return plot_kind(L, LG_PLOT_LINES);
}

static int scatter(lua_State *L)
{
    return plot_kind(L, LG_PLOT_POINTS);
}

static int bar(lua_State *L)
{
    return plot_kind(L, LG_PLOT_BARS);
}

/* Counted on the array's device: the centres of the bins and the counts are a plot of bars. */
static int hist(lua_State *L)
{
    struct lg_plot p = {0};
    lua_settop(L, 2);
    int x = push_data(L, 1, "x");
    if (lua_istable(L, 2)) {
        p.options = 2;
        lg_plot_options(L, &p, false);
        lua_getfield(L, 2, "bins");
    } else {
        lg_plot_options(L, &p, false);
        lua_pushvalue(L, 2);
    }
    int bins = lua_gettop(L);
    if (!lua_isnoneornil(L, bins) && !lua_isinteger(L, bins) && !lua_istable(L, bins) && !lg_test_array(L, bins))
        return luaL_error(L, "bins: expected a whole number, or the edges as a list or an array, got %s",
                          lua_type(L, bins) == LUA_TNUMBER ? lua_tostring(L, bins) : lg_type_name(L, bins));
    lg_push_histogram(L, lg_check_array(L, x), bins);
    int counts = lua_gettop(L) - 1, edges = counts + 1;
    int64_t n = lg_check_array(L, counts)->shape[0];
    const struct rt_array all = *lg_check_array(L, edges);
    for (int64_t side = 0; side < 2; side++) {
        struct rt_array *part = lg_new_array(L);
        lg_check(L, rt_array_slice(&all, 0, side, n, 1, part, lg_error_box(L)));
    }
    lua_arith(L, LUA_OPADD);
    lua_pushnumber(L, 2);
    lua_arith(L, LUA_OPDIV);
    add_series(L, &p, LG_PLOT_BARS, lua_gettop(L), counts)->label = p.label;
    return draw(L, &p);
}

#define OPTIONS_DOC                                                                                                                                                                \
    "Options: title, xlabel, ylabel, label, logx, logy, xrange and yrange = {from, to}, size = {width, height} in "                                                                \
    "pixels, format = \"svg\" or \"png\", which gnuplot draws, or \"vega\", which the notebook draws itself (for nbconvert's LaTeX \"png\", as SVG needs Inkscape there); into = " \
    "what an earlier plot returned, which it then replaces. A terminal that shows pictures gets one (?shell.images), others show gnuplot's letters."

static const struct lg_function functions[] = {
    {"plot", plot, "gpu.plot([x,] y [, options])   gpu.plot({{x, y, label = }, ...} [, options])",
     "Draws lines through points: y over x, or over 1, 2, 3, ...; or several series, each {[x,] y, label = , style = }.\n"
     "x and y are arrays of one axis on any device, or lists of numbers; a style is \"lines\", \"points\" or \"bars\". Of "
     "long lines the least and greatest element of each stretch are found on the device, and only they are drawn. NaN "
     "leaves a gap. " OPTIONS_DOC,
     "local x = gpu.linspace(0, 6, 100)\n"
     "gpu.plot({{x, x:sin(), label = 'sin'}}, {title = 'a wave'})"},
    {"scatter", scatter, "gpu.scatter([x,] y [, options])",
     "Draws points; as gpu.plot with the style \"points\".\nOf more than 20000 elements one of so and so many is drawn, and "
     "the text says so. " OPTIONS_DOC,
     "gpu.scatter(gpu.rand(50), gpu.rand(50))"},
    {"bar", bar, "gpu.bar([x,] y [, options])",
     "Draws bars; x may be a list of names.\nAs gpu.plot with the style \"bars\". " OPTIONS_DOC,
     "gpu.bar({'one', 'two'}, {3, 5})"},
    {"hist", hist, "gpu.hist(x [, bins or options])",
     "Draws how many elements of x lie in each bin, as gpu.histogram counts them on x's device.\n"
     "There are 10 bins unless told otherwise. " OPTIONS_DOC " bins = their number.",
     "gpu.hist(gpu.randn(1000), {bins = 20})"},
    {0}};

void lg_open_plot(lua_State *L)
{
    lg_register(L, "gpu", functions);
    lg_open_plot_grid(L);
}
