/* gpu.plot and its like: series of points as pictures that gnuplot draws, SVG or PNG where pictures are shown, and
 * letters in a terminal. */
#include "lang/plot.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include "lang/display.h"
#include "lang/gnuplot.h"
#include "lang/session_state.h"

#define MOST_SERIES  32
#define DUMB_COLUMNS 79
#define DUMB_ROWS    24
#define LEAST_PIXELS 64
#define MOST_PIXELS  4096
#define WIDTH        640
#define HEIGHT       400

static const char *const kind_names[] = {"lines", "points", "bars"};

struct plot {
    struct lg_series series[MOST_SERIES];
    int count;
    int options; /* stack index, or 0 */
    const char *title, *xlabel, *ylabel, *label;
    bool logx, logy, png;
    double xrange[2], yrange[2];
    bool has_xrange, has_yrange;
    int width, height;
    int into;
};

/* ---- options ---- */

static const char *text_option(lua_State *L, int table, const char *name)
{
    int type = lua_getfield(L, table, name);
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return NULL;
    }
    if (type != LUA_TSTRING) luaL_error(L, "%s must be a string, not %s", name, luaL_typename(L, -1));
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

static void check_names(lua_State *L, int table)
{
    static const char *const names[] = {"title",  "xlabel", "ylabel", "label", "logx", "logy",
                                        "format", "xrange", "yrange", "size",  "into", "bins"};
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names && lua_type(L, -2) == LUA_TSTRING; i++)
            known |= !strcmp(lua_tostring(L, -2), names[i]);
        if (!known)
            luaL_error(L,
                       "a plot has no option '%s'; its options are title, xlabel, ylabel, label, logx, logy, xrange, "
                       "yrange, size, format, into, and bins of a histogram",
                       luaL_tolstring(L, -2, NULL));
    }
}

static void check_options(lua_State *L, struct plot *p)
{
    double size[2] = {WIDTH, HEIGHT};
    p->width = WIDTH;
    p->height = HEIGHT;
    if (!p->options) return;
    check_names(L, p->options);
    p->title = text_option(L, p->options, "title");
    p->xlabel = text_option(L, p->options, "xlabel");
    p->ylabel = text_option(L, p->options, "ylabel");
    p->label = text_option(L, p->options, "label");
    p->logx = flag_option(L, p->options, "logx");
    p->logy = flag_option(L, p->options, "logy");
    p->has_xrange = pair_option(L, p->options, "xrange", p->xrange);
    p->has_yrange = pair_option(L, p->options, "yrange", p->yrange);
    pair_option(L, p->options, "size", size);
    for (int i = 0; i < 2; i++)
        if (size[i] < LEAST_PIXELS || size[i] > MOST_PIXELS)
            luaL_error(L, "size is {width, height}, each of %d to %d pixels", LEAST_PIXELS, MOST_PIXELS);
    p->width = (int)size[0];
    p->height = (int)size[1];
    const char *format = text_option(L, p->options, "format");
    if (format && strcmp(format, "svg") != 0 && strcmp(format, "png") != 0)
        luaL_error(L, "format must be \"svg\" or \"png\", not \"%s\"", format);
    p->png = format && *format == 'p';
    if (lua_getfield(L, p->options, "into") == LUA_TNIL) return;
    if (!lg_is_handle(L, -1)) luaL_error(L, "into must be what an earlier plot or display returned");
    p->into = lua_gettop(L);
}

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
        luaL_error(L, "%s must be an array or a list of numbers, not %s", what, luaL_typename(L, idx));
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

static struct lg_series *add_series(lua_State *L, struct plot *p, enum lg_plot_kind kind, int x, int y)
{
    if (p->count == MOST_SERIES) luaL_error(L, "a plot has %d series at most", MOST_SERIES);
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
static void add_item(lua_State *L, struct plot *p, enum lg_plot_kind kind, int item)
{
    if (lg_test_array(L, item) || is_list_of(L, item, LUA_TNUMBER)) {
        add_series(L, p, kind, 0, item);
        return;
    }
    if (!lua_istable(L, item) || !lua_rawlen(L, item)) luaL_error(L, "a series is {[x,] y, label = , style = }");
    const char *style = text_option(L, item, "style"), *label = text_option(L, item, "label");
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

static void check_arguments(lua_State *L, struct plot *p, enum lg_plot_kind kind)
{
    int top = lua_gettop(L);
    if (top > 1 && lua_istable(L, top) && !is_data(L, top)) p->options = top--;
    bool list = lua_istable(L, 1) && !is_list_of(L, 1, LUA_TNUMBER) && !is_list_of(L, 1, LUA_TSTRING);
    luaL_argcheck(L, top <= (list ? 1 : 2), top, "a table of options such as {title = \"...\"} expected");
    check_options(L, p);
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

static void add_setting(struct lg_buffer *b, const char *name, const char *text)
{
    if (!text) return;
    lg_buffer_printf(b, "set %s ", name);
    lg_add_gnuplot_string(b, text);
    lg_buffer_puts(b, "\n");
}

static void add_range(struct lg_buffer *b, const char *name, const double range[2], bool given)
{
    if (given) lg_buffer_printf(b, "set %s [%.9g:%.9g]\n", name, range[0], range[1]);
}

static void add_terminal(const struct plot *p, bool pictures, const struct lg_terminal *t, struct lg_buffer *b)
{
    int columns = t->columns > 20 ? t->columns - 1 : DUMB_COLUMNS;
    int rows = t->rows > 12 ? t->rows - 3 : DUMB_ROWS;
    lg_buffer_puts(b, "set encoding utf8\n");
    if (pictures && p->png)
        lg_buffer_printf(b, "set terminal pngcairo size %d,%d noenhanced font 'sans,11' background '#ffffff'\n",
                         p->width, p->height);
    else if (pictures)
        lg_buffer_printf(b, "set terminal svg size %d,%d fixed noenhanced font 'sans-serif,13' background '#ffffff'\n",
                         p->width, p->height);
    else
        lg_buffer_printf(b, "set terminal dumb size %d,%d noenhanced %s\n", columns > 120 ? 120 : columns,
                         rows > 32 ? 32 : rows, t->color ? "ansirgb" : "mono");
}

/* Colours that people with any kind of sight tell apart. */
static void add_colors(struct lg_buffer *b)
{
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777"};
    for (int i = 0; i < 7; i++) lg_buffer_printf(b, "set linetype %d lc rgb '%s'\n", i + 1, colors[i]);
    lg_buffer_puts(b, "set linetype cycle 7\n");
}

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

static void add_script(lua_State *L, struct plot *p, bool pictures, struct lg_buffer *b)
{
    const char *const styles[] = {"lines lw 1.5", pictures ? "points pt 7 ps 0.4" : "points pt 'o'",
                                  "boxes fs solid 0.7 noborder"};
    bool bars = false, labels = false;
    add_colors(b);
    add_setting(b, "title", p->title);
    add_setting(b, "xlabel", p->xlabel);
    add_setting(b, "ylabel", p->ylabel);
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
    add_range(b, "xrange", p->xrange, p->has_xrange);
    add_range(b, "yrange", p->yrange, p->has_yrange);
    lg_buffer_puts(b, pictures ? "set grid lc rgb '#cccccc'\nset border lc rgb '#444444'\n" : "set grid\n");
    if (!labels) lg_buffer_puts(b, "unset key\n");
    for (int i = 0; i < p->count; i++) {
        lg_buffer_printf(b, "%s $s%d using 1:2 with %s", i ? "," : "plot", i, styles[p->series[i].kind]);
        lg_buffer_puts(b, p->series[i].label ? " title " : " notitle");
        if (p->series[i].label) lg_add_gnuplot_string(b, p->series[i].label);
    }
    lg_buffer_puts(b, "\n");
}

/* ---- forms ---- */

/* "plot "title": lines "sin", 100 elements, y from -1 to 1; points ..." */
static void push_description(lua_State *L, const struct plot *p)
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

/* Replaces the bytes on top by base64. */
static void to_base64(lua_State *L)
{
    size_t n;
    const char *bytes = lua_tolstring(L, -1, &n);
    size_t size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, size);
    sodium_bin2base64(to, size, (const unsigned char *)bytes, n, sodium_base64_VARIANT_ORIGINAL);
    luaL_pushresultsize(&b, size - 1);
    lua_remove(L, -2);
}

/* Replaces gnuplot's text on top by one without the form feed before it and the blank lines around it. */
static void trim(lua_State *L)
{
    size_t n, first = 0;
    const char *text = lua_tolstring(L, -1, &n);
    while (first < n && (text[first] == '\f' || text[first] == '\n')) first++;
    while (n > first && (text[n - 1] == '\n' || text[n - 1] == '\f')) n--;
    lua_pushlstring(L, text + first, n - first);
    lua_remove(L, -2);
}

static int draw(lua_State *L, struct plot *p)
{
    struct lg_terminal terminal;
    struct lg_mime items[2];
    size_t count = 0;
    int top = lua_gettop(L);
    bool pictures = lg_shows_pictures(L, &terminal);
    struct lg_buffer *script = lg_push_buffer(L);
    add_terminal(p, pictures, &terminal, script);
    add_script(L, p, pictures, script);
    bool empty = true;
    for (int i = 0; i < p->count; i++) empty &= p->series[i].low > p->series[i].high;
    if (empty) return luaL_error(L, "there is nothing to plot: no element is a finite number");
    lg_push_gnuplot(L, script);
    lg_buffer_release(script);
    if (pictures) {
        if (p->png) to_base64(L);
        items[0].type = p->png ? "image/png" : "image/svg+xml";
        items[0].data = lua_tolstring(L, -1, &items[0].length);
        count++;
        push_description(L, p);
    } else {
        trim(L);
    }
    items[count].type = "text/plain";
    items[count].data = lua_tolstring(L, -1, &items[count].length);
    lg_show_with_handle(L, &(struct lg_bundle){items, count + 1}, p->into);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return 1;
}

static int plot_kind(lua_State *L, enum lg_plot_kind kind)
{
    struct plot p = {0};
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
    struct plot p = {0};
    lua_settop(L, 2);
    int x = push_data(L, 1, "x");
    if (lua_istable(L, 2)) {
        p.options = 2;
        check_options(L, &p);
        lua_getfield(L, 2, "bins");
    } else {
        check_options(L, &p);
        lua_pushvalue(L, 2);
    }
    int bins = lua_gettop(L);
    lua_getfield(L, x, "histogram");
    lua_pushvalue(L, x);
    lua_pushvalue(L, bins);
    lua_call(L, 2, 2);
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

#define OPTIONS_DOC                                                                                                      \
    "Options: title, xlabel, ylabel, label, logx, logy, xrange and yrange = {from, to}, size = {width, height} in "      \
    "pixels, format = \"svg\" or \"png\", into = what an earlier plot returned, which it then replaces. gnuplot draws; " \
    "a terminal shows its letters."

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
}
