/* Colours for numbers. */
#ifndef LG_COLORMAP_H
#define LG_COLORMAP_H

#include <lua.h>

struct lg_colormap {
    unsigned char colors[256][3]; /* red, green, blue, from the least value to the greatest */
};
/* The map of that name, "_r" behind it turns it round; an unknown one raises with the names. [raises] */
void lg_check_colormap(lua_State *L, const char *name, struct lg_colormap *out);

#endif
