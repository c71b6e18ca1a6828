/* Plots on their way to the screen: gnuplot's pictures and letters, and specifications that the front end draws. */
#include <sodium.h>
#include <string.h>
#include "lang/display.h"
#include "lang/gnuplot.h"
#include "lang/plot.h"
#include "lang/session_state.h"

#define DUMB_COLUMNS 79
#define DUMB_ROWS    24

/* Colours that people with any kind of sight tell apart. */
const char *const lg_plot_colors[LG_PLOT_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#e69f00", "#56b4e9", "#777777"};

void lg_plot_setting(struct lg_buffer *b, const char *name, const char *text)
{
    if (!text) return;
    lg_buffer_printf(b, "set %s ", name);
    lg_add_gnuplot_string(b, text);
    lg_buffer_puts(b, "\n");
}

void lg_plot_range(struct lg_buffer *b, const char *name, const double range[2], bool given)
{
    if (given) lg_buffer_printf(b, "set %s [%.9g:%.9g]\n", name, range[0], range[1]);
}

bool lg_plot_pictures(lua_State *L, struct lg_plot *p, struct lg_terminal *t)
{
    if (lg_shows_pictures(L, t)) return true;
    if (lg_pictures_as(L, t) != LG_PICTURES_PNG) return false;
    p->format = LG_PLOT_PNG;
    return true;
}

void lg_plot_begin(const struct lg_plot *p, bool pictures, const struct lg_terminal *t, struct lg_buffer *b)
{
    static const char *const colored[] = {"border lc", "title tc",   "xlabel tc", "ylabel tc",
                                          "key tc",    "cblabel tc", "zlabel tc", "tics tc"};
    int columns = t->columns > 20 ? t->columns - 1 : DUMB_COLUMNS;
    int rows = t->rows > 12 ? t->rows - 3 : DUMB_ROWS;
    lg_buffer_puts(b, "set encoding utf8\n");
    if (!pictures) {
        lg_buffer_printf(b, "set terminal dumb size %d,%d noenhanced %s\nset grid\n", columns > 120 ? 120 : columns,
                         rows > 32 ? 32 : rows, t->color ? "ansirgb" : "mono");
    } else {
        bool png = p->format == LG_PLOT_PNG;
        lg_buffer_printf(b,
                         png ? "set terminal pngcairo transparent size %d,%d noenhanced font 'sans,11'\n"
                             : "set terminal svg size %d,%d fixed noenhanced font 'sans-serif,13'\n",
                         p->width, p->height);
        for (size_t i = 0; i < sizeof colored / sizeof *colored; i++)
            lg_buffer_printf(b, "set %s rgb '" LG_PLOT_NEUTRAL "'\n", colored[i]);
        lg_buffer_puts(b, "set grid lc rgb '#b0808080'\n");
    }
    for (int i = 0; i < LG_PLOT_COLORS; i++)
        lg_buffer_printf(b, "set linetype %d lc rgb '%s'\n", i + 1, lg_plot_colors[i]);
    lg_buffer_printf(b, "set linetype cycle %d\n", LG_PLOT_COLORS);
    lg_plot_setting(b, "title", p->title);
    lg_plot_setting(b, "xlabel", p->xlabel);
    lg_plot_setting(b, "ylabel", p->ylabel);
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

/* Shows the strings on top of the stack, text/plain above the other form (or alone), and replaces them by the handle.
 */
static void show(lua_State *L, const struct lg_plot *p, const char *type)
{
    struct lg_mime items[2];
    size_t count = type ? 2 : 1;
    int plain = lua_gettop(L);
    if (type) {
        items[0].type = type;
        items[0].data = lua_tolstring(L, plain - 1, &items[0].length);
    }
    items[count - 1].type = "text/plain";
    items[count - 1].data = lua_tolstring(L, plain, &items[count - 1].length);
    lg_show_with_handle(L, &(struct lg_bundle){items, count}, p->into);
    int first = plain + 1 - (int)count;
    lua_replace(L, first);
    lua_settop(L, first);
}

void lg_plot_show(lua_State *L, const struct lg_plot *p, bool pictures, struct lg_buffer *script)
{
    lg_push_gnuplot(L, script);
    lg_buffer_release(script);
    if (!pictures) {
        trim(L);
        lua_replace(L, -2); /* the words */
        show(L, p, NULL);
        return;
    }
    if (p->format == LG_PLOT_PNG) to_base64(L);
    lua_insert(L, -2);
    show(L, p, p->format == LG_PLOT_PNG ? "image/png" : "image/svg+xml");
}

void lg_plot_show_vega(lua_State *L, const struct lg_plot *p, const struct lg_buffer *specification)
{
    lg_push_buffer_text(L, specification);
    lua_insert(L, -2);
    show(L, p, "application/vnd.vegalite.v5+json");
}
