/* Plots as Vega-Lite specifications: JSON that JupyterLab and other front ends draw by themselves, with the values at
 * the pointer. Text, axes and grids are of a colour that is read on dark and on light pages. */
#include <math.h>
#include <string.h>
#include "lang/colormap.h"
#include "lang/json.h"
#include "lang/plot.h"
#include "lang/session_state.h"

#define SCHEMA  "https://vega.github.io/schema/vega-lite/v5.json"
#define STOPS   17  /* colours of a map */
#define OVERLAP 1.3 /* of neighbouring cells, at least a pixel: nothing shines through between them */

/* "name":"text", and a comma behind it; nothing without a text. */
static void add_text(struct lg_buffer *b, const char *name, const char *text)
{
    if (!text) return;
    lg_buffer_printf(b, "\"%s\":", name);
    lg_add_json_string(b, text, strlen(text));
    lg_buffer_puts(b, ",");
}

static void begin(struct lg_buffer *b, const struct lg_plot *p)
{
    lg_buffer_printf(b,
                     "{\"$schema\":\"" SCHEMA
                     "\",\"width\":%d,\"height\":%d,\"autosize\":{\"type\":\"fit\",\"contains\":"
                     "\"padding\"},\"background\":null,",
                     p->width, p->height);
    add_text(b, "title", p->title);
    lg_buffer_puts(b, "\"config\":{\"view\":{\"stroke\":\"" LG_PLOT_NEUTRAL
                      "\"},\"title\":{\"color\":\"" LG_PLOT_NEUTRAL "\"},\"axis\":{\"labelColor\":\"" LG_PLOT_NEUTRAL
                      "\",\"titleColor\":\"" LG_PLOT_NEUTRAL "\",\"tickColor\":\"" LG_PLOT_NEUTRAL
                      "\",\"domainColor\":\"" LG_PLOT_NEUTRAL "\",\"gridColor\":\"" LG_PLOT_NEUTRAL
                      "\",\"gridOpacity\":0.3},\"legend\":{\"labelColor\":\"" LG_PLOT_NEUTRAL
                      "\",\"titleColor\":\"" LG_PLOT_NEUTRAL "\"}},");
}

/* "x":{"field":"x", ...: type, title, scale. The brace stays open. */
static void begin_axis(struct lg_buffer *b, const char *axis, const char *title, bool log, const double *range)
{
    lg_buffer_printf(b, "\"%s\":{\"field\":\"%s\",\"type\":\"quantitative\",\"title\":", axis, axis);
    lg_add_json_string(b, title ? title : "", title ? strlen(title) : 0);
    lg_buffer_printf(b, ",\"scale\":{\"type\":\"%s\"", log ? "log" : "linear");
    if (range) lg_buffer_printf(b, ",\"domain\":[%.9g,%.9g],\"nice\":false", range[0], range[1]);
    if (!range) lg_buffer_puts(b, ",\"zero\":false");
    lg_buffer_puts(b, "}");
}

/* The lines "x y" of a series as objects; NaN is null, which makes a gap. Bars of numbers get an end, too: "to". */
static void add_values(lua_State *L, const struct lg_series *s, const char *lines, struct lg_buffer *b)
{
    double width = 0, last = 0;
    lg_buffer_puts(b, "\"data\":{\"values\":[");
    for (long i = 0; *lines; i++) {
        char *end;
        double x = strtod(lines, &end), y = strtod(end, &end);
        lines = *end == '\n' ? end + 1 : end;
        if (i == 1 || (i > 1 && x - last < width)) width = x - last;
        last = x;
        lg_buffer_printf(b, "%s{", i ? "," : "");
        if (s->names) {
            lua_rawgeti(L, s->names, (lua_Integer)i + 1);
            if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "name %d of the bars is no string", (int)i + 1);
            add_text(b, "x", lua_tostring(L, -1));
            lua_pop(L, 1);
        } else if (isnan(x)) {
            lg_buffer_puts(b, "\"x\":null,");
        } else {
            lg_buffer_printf(b, "\"x\":%.9g,", x);
        }
        lg_buffer_printf(b, isnan(y) ? "\"y\":null" : "\"y\":%.9g", y);
        if (s->kind == LG_PLOT_LINES) lg_buffer_printf(b, ",\"i\":%ld", i);
        lg_buffer_puts(b, "}");
    }
    lg_buffer_puts(b, "]},");
    if (s->kind != LG_PLOT_BARS || s->names) return;
    double half = width > 0 ? 0.45 * width : 0.45;
    lg_buffer_printf(
        b,
        "\"transform\":[{\"calculate\":\"datum.x + %.9g\",\"as\":\"to\"},{\"calculate\":\"datum.x - %.9g\","
        "\"as\":\"x\"}],",
        half, half);
}

/* "color": by the label, with a legend that has all labels; without one by the mark. */
static void add_color(const struct lg_plot *p, int i, struct lg_buffer *b)
{
    if (!p->series[i].label) return;
    lg_buffer_puts(b, ",\"color\":{\"type\":\"nominal\",\"datum\":");
    lg_add_json_string(b, p->series[i].label, strlen(p->series[i].label));
    lg_buffer_puts(b, ",\"legend\":{\"title\":null},\"scale\":{\"domain\":[");
    for (int pass = 0; pass < 2; pass++) {
        bool first = true;
        for (int k = 0; k < p->count; k++) {
            const char *text = pass ? lg_plot_colors[k % LG_PLOT_COLORS] : p->series[k].label;
            if (!p->series[k].label) continue;
            if (!first) lg_buffer_puts(b, ",");
            lg_add_json_string(b, text, strlen(text));
            first = false;
        }
        lg_buffer_puts(b, pass ? "]}}" : "],\"range\":[");
    }
}

static void add_layer(lua_State *L, struct lg_plot *p, int i, struct lg_buffer *b)
{
    static const char *const marks[] = {"line", "circle", "bar"};
    struct lg_series *s = &p->series[i];
    struct lg_buffer *points = lg_push_buffer(L);
    lg_add_points(L, s, p->logx, points);
    if (points->failed) luaL_error(L, "not enough memory for the plot");
    lg_buffer_puts(b, "{");
    add_values(L, s, points->data ? points->data : "", b);
    lua_pop(L, 1);
    lg_buffer_printf(b, "\"mark\":{\"type\":\"%s\",\"tooltip\":true,\"clip\":true,\"color\":\"%s\"},\"encoding\":{",
                     marks[s->kind], lg_plot_colors[i % LG_PLOT_COLORS]);
    if (s->names) {
        lg_buffer_puts(
            b, "\"x\":{\"field\":\"x\",\"type\":\"nominal\",\"sort\":null,\"axis\":{\"labelAngle\":0},\"title\":");
        lg_add_json_string(b, p->xlabel ? p->xlabel : "", p->xlabel ? strlen(p->xlabel) : 0);
    } else {
        begin_axis(b, "x", p->xlabel, p->logx, p->has_xrange ? p->xrange : NULL);
    }
    lg_buffer_puts(b, s->kind == LG_PLOT_BARS && !s->names ? "},\"x2\":{\"field\":\"to\"}," : "},");
    begin_axis(b, "y", p->ylabel, p->logy, p->has_yrange ? p->yrange : NULL);
    lg_buffer_puts(b, "}");
    if (s->kind == LG_PLOT_BARS) lg_buffer_printf(b, ",\"y2\":{\"datum\":%.9g}", p->logy ? s->low / 2 : 0);
    if (s->kind == LG_PLOT_LINES) lg_buffer_puts(b, ",\"order\":{\"field\":\"i\",\"type\":\"quantitative\"}");
    add_color(p, i, b);
    lg_buffer_puts(b, "}}");
}

void lg_vega_series(lua_State *L, struct lg_plot *p, struct lg_buffer *b)
{
    begin(b, p);
    lg_buffer_puts(b, "\"layer\":[");
    for (int i = 0; i < p->count; i++) {
        if (i) lg_buffer_puts(b, ",");
        add_layer(L, p, i, b);
    }
    lg_buffer_puts(b, "]}");
}

/* Each value a rectangle between x and x2, y and y2. */
void lg_vega_grid(lua_State *L, const struct lg_plot *p, const struct lg_plot_grid *g, struct lg_buffer *b)
{
    struct lg_colormap map;
    double ends[2][2];
    for (int axis = 0; axis < 2; axis++) {
        ends[axis][0] = g->from[axis] - g->step[axis] / 2;
        ends[axis][1] = ends[axis][0] + g->step[axis] * (double)(axis ? g->rows : g->columns);
    }
    lg_check_colormap(L, p->cmap, &map);
    begin(b, p);
    lg_buffer_puts(b, "\"data\":{\"values\":[");
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->columns; j++) {
            double x = ends[0][0] + g->step[0] * (double)j, y = ends[1][0] + g->step[1] * (double)i;
            double z = g->values[i * g->columns + j];
            lg_buffer_printf(b, "%s{\"x\":%.7g,\"x2\":%.7g,\"y\":%.7g,\"y2\":%.7g,\"z\":", i + j ? "," : "", x,
                             x + OVERLAP * g->step[0], y, y + OVERLAP * g->step[1]);
            lg_buffer_printf(b, isfinite(z) ? "%.7g}" : "null}", z);
        }
    lg_buffer_puts(b, "]},\"mark\":{\"type\":\"rect\",\"tooltip\":true,\"clip\":true},\"encoding\":{");
    begin_axis(b, "x", p->xlabel, false, ends[0]);
    lg_buffer_puts(b, ",\"axis\":{\"grid\":false}},\"x2\":{\"field\":\"x2\"},");
    begin_axis(b, "y", p->ylabel, false, ends[1]);
    lg_buffer_puts(
        b,
        ",\"axis\":{\"grid\":false}},\"y2\":{\"field\":\"y2\"},\"color\":{\"field\":\"z\",\"type\":\"quantitative\",\"title\":");
    lg_add_json_string(b, p->zlabel ? p->zlabel : "", p->zlabel ? strlen(p->zlabel) : 0);
    lg_buffer_printf(b, ",\"scale\":{\"type\":\"%s\",", p->logz ? "log" : "linear");
    if (p->has_zrange) lg_buffer_printf(b, "\"domain\":[%.9g,%.9g],\"clamp\":true,", p->zrange[0], p->zrange[1]);
    lg_buffer_puts(b, "\"range\":[");
    for (int i = 0; i < STOPS; i++) {
        const unsigned char *c = map.colors[i * 255 / (STOPS - 1)];
        lg_buffer_printf(b, "%s\"#%02x%02x%02x\"", i ? "," : "", c[0], c[1], c[2]);
    }
    lg_buffer_puts(b, "]}}}}");
}
