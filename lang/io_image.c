/* Arrays as PNG images. */
#include <math.h>
#include "lang/io.h"
#include "runtime/png.h"

int lg_load_png(lua_State *L, const char *path, const struct lg_file_options *o)
{
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_png_load(path, o->place.device, out, lg_error_box(L)));
    lg_to_wanted(L, &o->place);
    return 1;
}

/* Pushes pixels of 8 bits: floats from 0 to 1 become 0 to 255, what is beyond is cut; booleans black and white. */
static const void *push_pixels(lua_State *L, enum rt_dtype t, const char *from, int64_t n)
{
    unsigned char *to = lua_newuserdatauv(L, (size_t)n, 0);
    for (int64_t i = 0; i < n; i++) {
        double v = rt_load_double(t, from + i * rt_dtypes[t].size);
        to[i] = v >= 1 ? 255 : v > 0 ? (unsigned char)rint(v * 255) : 0;
    }
    return to;
}

void lg_save_png(lua_State *L, const char *path, const struct lg_file_options *o)
{
    const struct rt_array a = *lg_check_array(L, 2);
    (void)o;
    int64_t channels = a.ndim == 3 ? a.shape[2] : 1;
    char text[256];
    if ((a.ndim != 2 && a.ndim != 3) || channels < 1 || channels > 4 || a.shape[0] < 1 || a.shape[1] < 1 ||
        a.shape[0] > INT32_MAX || a.shape[1] > INT32_MAX)
        luaL_error(L, "an image has the shape (rows, columns) or (rows, columns, 1 to 4 channels), not %s",
                   rt_shape_text(a.ndim, a.shape, text, sizeof text));
    bool straight = a.dtype == RT_UINT8 || a.dtype == RT_UINT16;
    if (!straight && a.dtype != RT_BOOL && rt_dtypes[a.dtype].kind != 'f')
        luaL_error(L, "an image is of uint8, uint16, bool, or of floats from 0 to 1, not of %s",
                   rt_dtypes[a.dtype].name);
    const void *data = lg_push_host_copy(L, &a);
    if (!straight) data = push_pixels(L, a.dtype, data, rt_array_size(&a));
    const struct rt_pixels p = {a.shape[0], a.shape[1], (int)channels, a.dtype == RT_UINT16, data};
    struct rt_error *e = lg_error_box(L);
    rt_lend();
    lg_check_lent(L, rt_png_save(path, &p, e));
}
