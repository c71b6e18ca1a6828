/* gpu.imshow: arrays as pictures, PNG where pictures are shown, else half blocks in colour. */
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "lang/array.h"
#include "lang/colormap.h"
#include "lang/display.h"
#include "lang/plot.h"
#include "runtime/png.h"

#define MOST_PIXELS  1024 /* along an axis; longer ones are averaged on the device */
#define LEAST_PIXELS 320  /* of a picture's longer side; single elements become squares */
#define LEAST_BLOCKS 16   /* likewise in a terminal */

struct picture {
    struct rt_array form; /* dtype and shape of what was given */
    const struct rt_device *device;
    int64_t rows, columns;
    unsigned char *pixels; /* red, green, blue, opacity */
    bool opaque;
    /* Numbers as colours. */
    bool mapped, has_low, has_high;
    double low, high;
    const char *cmap;
    int into; /* stack index of a handle, or 0 */
};

/* ---- what is to be shown ---- */

static double check_limit(lua_State *L, const char *name, bool *there)
{
    if (lua_getfield(L, 2, name) == LUA_TNIL) {
        lua_pop(L, 1);
        return 0;
    }
    double v = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(v)) luaL_error(L, "%s must be a finite number", name);
    lua_pop(L, 1);
    *there = true;
    return v;
}

static void check_options(lua_State *L, struct picture *p)
{
    p->cmap = "viridis";
    if (lua_isnoneornil(L, 2)) return;
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        static const char *const names[] = {"cmap", "vmin", "vmax", "into"};
        bool known = false;
        for (size_t i = 0; i < 4 && lua_type(L, -2) == LUA_TSTRING; i++)
            known |= !strcmp(lua_tostring(L, -2), names[i]);
        if (!known)
            luaL_error(L, "gpu.imshow has no option '%s'; its options are cmap, vmin, vmax and into",
                       luaL_tolstring(L, -2, NULL));
    }
    if (lua_getfield(L, 2, "cmap") != LUA_TNIL) {
        if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "cmap must be a name such as \"viridis\"");
        p->cmap = lua_tostring(L, -1);
    }
    p->low = check_limit(L, "vmin", &p->has_low);
    p->high = check_limit(L, "vmax", &p->has_high);
    if (p->has_low && p->has_high && p->low > p->high) luaL_error(L, "vmin is greater than vmax");
    if (lua_getfield(L, 2, "into") == LUA_TNIL) return;
    if (!lg_is_handle(L, -1)) luaL_error(L, "into must be what an earlier gpu.imshow or display returned");
    p->into = lua_gettop(L);
}

static void check_image(lua_State *L, const struct rt_array *a)
{
    char text[256];
    bool colors = a->ndim == 3 && (a->shape[2] == 3 || a->shape[2] == 4);
    if ((a->ndim != 2 && !colors) || a->shape[0] < 1 || a->shape[1] < 1)
        luaL_error(L, "an image has the shape (rows, columns), or (rows, columns, 3 or 4) for colours, not %s",
                   rt_shape_text(a->ndim, a->shape, text, sizeof text));
    if (rt_is_complex(a->dtype))
        luaL_error(L, "an image shows real numbers, not %s; x:abs() and x:angle() are two", rt_dtypes[a->dtype].name);
    if (colors && a->dtype != RT_UINT8 && a->dtype != RT_BOOL && rt_dtypes[a->dtype].kind != 'f')
        luaL_error(L, "colours are uint8, or floats from 0 to 1, not %s", rt_dtypes[a->dtype].name);
}

/* ---- making it small on its device ---- */

void lg_shrink_axis(lua_State *L, int axis, int64_t k)
{
    const int top = lua_gettop(L);
    const struct rt_array a = *lg_check_array(L, top);
    int64_t whole = a.shape[axis] / k, rest = a.shape[axis] % k;
    struct rt_array *part = lg_new_array(L);
    lg_check(L, rt_array_slice(&a, axis, 0, whole * k, 1, part, lg_error_box(L)));
    lua_getfield(L, top + 1, "reshape");
    lua_pushvalue(L, top + 1);
    for (int i = 0; i < a.ndim; i++) {
        lua_pushinteger(L, i == axis ? whole : a.shape[i]);
        if (i == axis) lua_pushinteger(L, k);
    }
    lua_call(L, a.ndim + 2, 1);
    lua_getfield(L, -1, "mean");
    lua_insert(L, -2);
    lua_pushinteger(L, axis + 2);
    lua_call(L, 2, 1);
    if (rest) {
        lua_createtable(L, 2, 0);
        lua_insert(L, -2);
        lua_rawseti(L, -2, 1);
        part = lg_new_array(L);
        lg_check(L, rt_array_slice(&a, axis, whole * k, rest, 1, part, lg_error_box(L)));
        lua_getfield(L, -1, "mean");
        lua_insert(L, -2);
        lua_pushinteger(L, axis + 1);
        lua_pushboolean(L, true);
        lua_call(L, 3, 1);
        lua_rawseti(L, -2, 2);
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_getfield(L, -1, "lunarray");
        lua_getfield(L, -1, "concatenate");
        lua_pushvalue(L, -4);
        lua_pushinteger(L, axis + 1);
        lua_call(L, 2, 1);
    }
    lua_replace(L, top);
    lua_settop(L, top);
}

/* Pushes the array, or its means over squares where it has more elements than a picture needs. */
static void push_shrunk(lua_State *L, const struct rt_array *form)
{
    int64_t longer = form->shape[0] > form->shape[1] ? form->shape[0] : form->shape[1];
    int64_t k = (longer + MOST_PIXELS - 1) / MOST_PIXELS;
    luaL_checkstack(L, 24, NULL);
    lua_pushvalue(L, 1);
    for (int axis = 0; axis < 2 && k > 1; axis++) {
        int64_t size = lg_check_form(L, -1)->shape[axis];
        if (size > 1) lg_shrink_axis(L, axis, k < size ? k : size);
    }
}

/* ---- colours ---- */

static void find_limits(struct picture *p, const struct rt_array *a, const char *data)
{
    double low = INFINITY, high = -INFINITY;
    int size = rt_dtypes[a->dtype].size;
    for (int64_t i = 0, n = p->rows * p->columns; i < n; i++) {
        double v = rt_load_double(a->dtype, data + i * size);
        if (!isfinite(v)) continue;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    if (low > high) low = high = 0;
    if (!p->has_low) p->low = p->has_high && low > p->high ? p->high : low;
    if (!p->has_high) p->high = high < p->low ? p->low : high;
}

/* NaN is transparent. */
static void map_colors(struct picture *p, const struct rt_array *a, const char *data, const struct lg_colormap *map)
{
    int size = rt_dtypes[a->dtype].size;
    for (int64_t i = 0, n = p->rows * p->columns; i < n; i++) {
        double v = rt_load_double(a->dtype, data + i * size);
        unsigned char *to = p->pixels + 4 * i;
        if (isnan(v)) {
            p->opaque = false;
            memset(to, 0, 4);
            continue;
        }
        double t = v <= p->low ? 0 : v >= p->high ? 1 : (v / 2 - p->low / 2) / (p->high / 2 - p->low / 2);
        memcpy(to, map->colors[(int)(t * 255 + 0.5)], 3);
        to[3] = 255;
    }
}

static void copy_colors(struct picture *p, const struct rt_array *a, const char *data)
{
    int size = rt_dtypes[a->dtype].size, channels = (int)a->shape[2];
    double scale = p->form.dtype == RT_UINT8 ? 1 : 255;
    for (int64_t i = 0, n = p->rows * p->columns; i < n; i++) {
        p->pixels[4 * i + 3] = 255;
        for (int c = 0; c < channels; c++) {
            double v = rt_load_double(a->dtype, data + (i * channels + c) * size) * scale;
            p->pixels[4 * i + c] = v >= 255 ? 255 : v > 0 ? (unsigned char)rint(v) : 0;
        }
        if (p->pixels[4 * i + 3] != 255) p->opaque = false;
    }
}

/* Pushes what keeps the pixels. */
static void push_pixels(lua_State *L, struct picture *p)
{
    struct lg_colormap map;
    lg_check_colormap(L, p->cmap, &map);
    push_shrunk(L, &p->form);
    const struct rt_array a = *lg_check_array(L, -1);
    p->rows = a.shape[0];
    p->columns = a.shape[1];
    p->mapped = a.ndim == 2;
    p->opaque = true;
    const char *data = lg_push_host_copy(L, &a);
    p->pixels = lua_newuserdatauv(L, (size_t)(p->rows * p->columns) * 4, 0);
    if (p->mapped) {
        find_limits(p, &a, data);
        map_colors(p, &a, data, &map);
    } else {
        copy_colors(p, &a, data);
    }
}

/* ---- forms ---- */

static void push_description(lua_State *L, const struct picture *p)
{
    const char *device = p->device->name, *dtype = rt_dtypes[p->form.dtype].name;
    lua_pushfstring(L, "image of %I x %I %s, %s on %s", (LUAI_UACINT)p->form.shape[0], (LUAI_UACINT)p->form.shape[1],
                    p->mapped ? "values" : "colours", dtype, device);
    if (!p->mapped) return;
    char range[128];
    snprintf(range, sizeof range, "%.6g to %.6g", p->low, p->high);
    lua_pushfstring(L, "%s, %s from %s", lua_tostring(L, -1), p->cmap, range);
    lua_remove(L, -2);
}

/* Pushes pixels as PNG has them: each repeated in both directions, without opacity where all are opaque. */
static const unsigned char *push_enlarged(lua_State *L, const struct picture *p, int64_t times)
{
    size_t channels = p->opaque ? 3 : 4, row = (size_t)(p->columns * times) * channels;
    unsigned char *all = lua_newuserdatauv(L, row * (size_t)(p->rows * times), 0), *to = all;
    for (int64_t y = 0; y < p->rows * times; y++)
        for (int64_t x = 0; x < p->columns * times; x++, to += channels)
            memcpy(to, p->pixels + 4 * (y / times * p->columns + x / times), channels);
    return all;
}

struct encoding {
    void *bytes;
    size_t length;
};

static int push_base64(lua_State *L)
{
    const struct encoding *e = lua_touserdata(L, 1);
    size_t size = sodium_base64_encoded_len(e->length, sodium_base64_VARIANT_ORIGINAL);
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, size);
    sodium_bin2base64(to, size, e->bytes, e->length, sodium_base64_VARIANT_ORIGINAL);
    luaL_pushresultsize(&b, size - 1);
    return 1;
}

/* Pushes the picture as PNG in base64. */
static void push_png(lua_State *L, const struct picture *p)
{
    struct encoding e;
    int64_t longer = p->rows > p->columns ? p->rows : p->columns, times = (LEAST_PIXELS + longer - 1) / longer;
    const struct rt_pixels larger = {p->rows * times, p->columns * times, p->opaque ? 3 : 4, false,
                                     push_enlarged(L, p, times)};
    lua_pushcfunction(L, push_base64);
    lua_pushlightuserdata(L, &e);
    struct rt_error *box = lg_error_box(L);
    rt_lend();
    lg_check_lent(L, rt_png_encode(&larger, &e.bytes, &e.length, box));
    int failed = lua_pcall(L, 1, 1, 0);
    free(e.bytes);
    if (failed) lua_error(L);
    lua_remove(L, -2);
}

/* The mean colour of the part of the picture that pixel (y, x) of a smaller or larger one of that size shows. */
static void mean_color(const struct picture *p, int64_t y, int64_t rows, int64_t x, int64_t columns, int color[4])
{
    int64_t y0 = y * p->rows / rows, y1 = (y + 1) * p->rows / rows, x0 = x * p->columns / columns,
            x1 = (x + 1) * p->columns / columns, sum[4] = {0}, n = 0;
    y1 = y1 > y0 ? y1 : y0 + 1;
    x1 = x1 > x0 ? x1 : x0 + 1;
    for (int64_t i = y0; i < y1; i++)
        for (int64_t j = x0; j < x1; j++, n++) {
            const unsigned char *c = p->pixels + 4 * (i * p->columns + j);
            for (int k = 0; k < 3; k++) sum[k] += c[k] * c[3];
            sum[3] += c[3];
        }
    for (int k = 0; k < 3; k++) color[k] = sum[3] ? (int)(sum[k] / sum[3]) : 0;
    color[3] = sum[3] * 2 > n * 255;
}

/* Each channel all or nothing, by a threshold (Bayer's) that differs between neighbours: so areas have the right mean.
 */
static void dither(int color[4], int64_t y, int64_t x)
{
    static const unsigned char order[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    for (int k = 0; k < 3; k++) color[k] = color[k] > 16 * order[y & 3][x & 3] + 7 ? 255 : 0;
}

/* The code of a colour, of the text or `behind` it. */
static void color_code(const int color[4], enum lg_pictures as, bool behind, char *to, size_t size)
{
    int base = behind ? 40 : 30;
    if (as == LG_PICTURES_BLOCKS_8)
        snprintf(to, size, "%d", base + (color[0] > 0) + 2 * (color[1] > 0) + 4 * (color[2] > 0));
    else if (as == LG_PICTURES_BLOCKS_256)
        snprintf(to, size, "%d;5;%d", base + 8, lg_color_256(color));
    else
        snprintf(to, size, "%d;2;%d;%d;%d", base + 8, color[0], color[1], color[2]);
}

/* Two pixels, one above the other: the upper half block in two colours, or what is there of them. */
static void add_block(luaL_Buffer *b, const int upper[4], const int lower[4], enum lg_pictures as)
{
    char text[96], first[24], second[24];
    color_code(upper[3] ? upper : lower, as, false, first, sizeof first);
    color_code(lower, as, true, second, sizeof second);
    if (upper[3] && lower[3])
        snprintf(text, sizeof text, "\033[%s;%sm\xe2\x96\x80", first, second);
    else if (upper[3] || lower[3])
        snprintf(text, sizeof text, "\033[0;%sm%s", first, upper[3] ? "\xe2\x96\x80" : "\xe2\x96\x84");
    else
        snprintf(text, sizeof text, "\033[0m ");
    luaL_addstring(b, text);
}

/* Pushes the picture as half blocks that fit into the terminal. */
static void push_blocks(lua_State *L, const struct picture *p, const struct lg_terminal *t, enum lg_pictures as)
{
    int64_t most_columns = t->columns > 1 ? t->columns - 1 : 1, most_rows = t->rows > 4 ? 2 * (t->rows - 3) : 2;
    int64_t longer = p->rows > p->columns ? p->rows : p->columns, times = (LEAST_BLOCKS + longer - 1) / longer;
    int64_t columns = p->columns * times, rows = p->rows * times;
    if (columns > most_columns) {
        rows = rows * most_columns / columns;
        columns = most_columns;
    }
    if (rows > most_rows) {
        columns = columns * most_rows / rows;
        rows = most_rows;
    }
    columns = columns > 0 ? columns : 1;
    rows = rows > 0 ? rows : 1;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int64_t y = 0; y < rows; y += 2) {
        if (y) luaL_addchar(&b, '\n');
        for (int64_t x = 0; x < columns; x++) {
            int upper[4], lower[4] = {0};
            mean_color(p, y, rows, x, columns, upper);
            if (y + 1 < rows) mean_color(p, y + 1, rows, x, columns, lower);
            if (as == LG_PICTURES_BLOCKS_8) {
                dither(upper, y, x);
                dither(lower, y + 1, x);
            }
            add_block(&b, upper, lower, as);
        }
        luaL_addstring(&b, "\033[0m");
    }
    luaL_pushresult(&b);
}

static int imshow(lua_State *L)
{
    struct picture p = {0};
    struct lg_terminal terminal;
    struct lg_mime items[2];
    lua_settop(L, 2);
    p.form = *lg_check_form(L, 1);
    p.device = rt_array_device(&p.form);
    check_image(L, &p.form);
    check_options(L, &p);
    push_pixels(L, &p);
    size_t count = 0;
    bool rich = lg_shows_pictures(L, &terminal);
    enum lg_pictures as = rich ? LG_PICTURES_PNG : lg_pictures_as(L, &terminal);
    if (as == LG_PICTURES_PNG) {
        push_png(L, &p);
        items[count].type = "image/png";
        items[count].data = lua_tolstring(L, -1, &items[count].length);
        count++;
    }
    if (as == LG_PICTURES_NONE || as == LG_PICTURES_PNG)
        push_description(L, &p);
    else
        push_blocks(L, &p, &terminal, as);
    items[count].type = "text/plain";
    items[count].data = lua_tolstring(L, -1, &items[count].length);
    lg_show_with_handle(L, &(struct lg_bundle){items, count + 1}, p.into);
    return 1;
}

static const struct lg_function functions[] = {
    {"imshow", imshow, "gpu.imshow(x [, {cmap = , vmin = , vmax = , into = }])",
     "Shows an array as a picture: (rows, columns) of numbers, or (rows, columns, 3 or 4) of colours.\n"
     "Numbers become colours of the map `cmap`: viridis unless said otherwise, gray, magma, inferno, plasma, hot, coolwarm, "
     "hsv, and each with _r turned round. vmin and vmax are what its ends stand for, the least and greatest finite element "
     "unless said otherwise; NaN is transparent. Colours are uint8, or floats from 0 to 1. Arrays with more than 1024 rows "
     "or columns are averaged over squares on their device first. A terminal shows what it can, pixels or half blocks of colour (?shell.images), a pipe a "
     "line of text. Returns a handle as display does; `into` takes one, and the picture replaces what that showed.",
     "local x = gpu.linspace(0, 1, 64):reshape(8, 8)\nlocal h = gpu.imshow(x, {cmap = 'magma'})\n"
     "gpu.imshow(x.T, {vmin = 0, vmax = 2, into = h})"},
    {0}};

void lg_open_image(lua_State *L)
{
    lg_register(L, "gpu", functions);
}
