/* Colours for numbers. */
#ifndef LG_COLORMAP_H
#define LG_COLORMAP_H

#include <lua.h>

struct lg_colormap {
    unsigned char colors[256][3]; /* red, green, blue, from the least value to the greatest */
};
const char *lg_colormap_name(int i); /* the i-th from 0; NULL beyond the last */
/* The map of that name, "_r" behind it turns it round; an unknown one raises with the names. [raises] */
void lg_check_colormap(lua_State *L, const char *name, struct lg_colormap *out);

/* The one of the 256 colours of terminals that is nearest. */
int lg_color_256(const int rgb[3]);

#endif
