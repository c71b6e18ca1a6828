#include "lang/colormap.h"

#include <lauxlib.h>
#include <stdint.h>
#include <string.h>

#define MOST_ANCHORS 12

/* Colours at equal distances, 0xrrggbb; between them they change evenly. */
static const struct {
    const char *name;
    int count;
    uint32_t anchors[MOST_ANCHORS];
} maps[] = {
    {"viridis",
     10,
     {0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59, 0xb4de2c, 0xfde725}},
    {"gray", 2, {0x000000, 0xffffff}},
    {"magma", 10, {0x000004, 0x180f3e, 0x451077, 0x721f81, 0x9f2f7f, 0xcd4071, 0xf1605d, 0xfd9567, 0xfec98d, 0xfcfdbf}},
    {"inferno",
     10,
     {0x000004, 0x1b0c42, 0x4b0c6b, 0x781c6d, 0xa52c60, 0xcf4446, 0xed6925, 0xfb9a06, 0xf7d03c, 0xfcffa4}},
    {"plasma",
     10,
     {0x0d0887, 0x47039f, 0x7301a8, 0x9c179e, 0xbd3786, 0xd8576b, 0xed7953, 0xfa9e3b, 0xfdc926, 0xf0f921}},
    {"hot", 4, {0x000000, 0xff0000, 0xffff00, 0xffffff}},
    {"coolwarm", 5, {0x3b4cc0, 0x8db0fe, 0xdddddd, 0xf49a7b, 0xb40426}},
    {"hsv", 7, {0xff0000, 0xffff00, 0x00ff00, 0x00ffff, 0x0000ff, 0xff00ff, 0xff0000}},
};
#define MAPS (sizeof maps / sizeof *maps)

const char *lg_colormap_name(int i)
{
    return i < (int)MAPS ? maps[i].name : NULL;
}

static void fill(struct lg_colormap *out, const uint32_t *anchors, int count)
{
    for (int i = 0; i < 256; i++) {
        int at = i * (count - 1), left = at / 255 < count - 1 ? at / 255 : count - 2, part = at - left * 255;
        for (int c = 0; c < 3; c++) {
            int shift = 16 - 8 * c, a = anchors[left] >> shift & 255, b = anchors[left + 1] >> shift & 255;
            out->colors[i][c] = (unsigned char)((a * (255 - part) + b * part + 127) / 255);
        }
    }
}

static void turn_round(struct lg_colormap *m)
{
    for (int i = 0; i < 128; i++) {
        unsigned char kept[3];
        memcpy(kept, m->colors[i], 3);
        memcpy(m->colors[i], m->colors[255 - i], 3);
        memcpy(m->colors[255 - i], kept, 3);
    }
}

void lg_check_colormap(lua_State *L, const char *name, struct lg_colormap *out)
{
    for (size_t i = 0; i < MAPS; i++) {
        size_t n = strlen(maps[i].name);
        if (strncmp(name, maps[i].name, n) != 0 || (name[n] && strcmp(name + n, "_r") != 0)) continue;
        fill(out, maps[i].anchors, maps[i].count);
        if (name[n]) turn_round(out);
        return;
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < MAPS; i++) {
        if (i) luaL_addstring(&b, ", ");
        luaL_addstring(&b, maps[i].name);
    }
    luaL_pushresult(&b);
    luaL_error(L, "there is no colour map '%s'; there are %s, and each turned round, as in \"gray_r\"", name,
               lua_tostring(L, -1));
}

/* A cube of 6 levels from 16 on, and 24 greys from 232 on. */
int lg_color_256(const int rgb[3])
{
    int level[3], cube = 0, grey = (rgb[0] + rgb[1] + rgb[2]) / 3;
    int step = grey < 3 ? 0 : grey > 238 ? 23 : (grey - 3) / 10, to_cube = 0, to_grey = 0;
    for (int i = 0; i < 3; i++) {
        int n = rgb[i] < 48 ? 0 : rgb[i] < 115 ? 1 : (rgb[i] - 35) / 40;
        level[i] = n ? 55 + 40 * n : 0;
        cube = 6 * cube + n;
        to_cube += (level[i] - rgb[i]) * (level[i] - rgb[i]);
        to_grey += (8 + 10 * step - rgb[i]) * (8 + 10 * step - rgb[i]);
    }
    return to_grey < to_cube ? 232 + step : 16 + cube;
}
