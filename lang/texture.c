/* Textures and surfaces: made of arrays, passed to kernels as cudaTextureObject_t and cudaSurfaceObject_t. A userdata
 * holds a struct rt_texture; one without a device is empty: just made, or released by free, __close or __gc. */
#include <string.h>
#include "lang/array.h"
#include "lang/closest.h"

struct request { /* what the options say */
    struct rt_picture picture;
    struct rt_sampling how;
    bool fetch;
};

/* ---- objects ---- */

static struct rt_texture *new_texture(lua_State *L)
{
    struct rt_texture *t = lua_newuserdatauv(L, sizeof *t, 0);
    memset(t, 0, sizeof *t);
    luaL_setmetatable(L, LG_TEXTURE);
    return t;
}

struct rt_texture *lg_test_texture(lua_State *L, int idx)
{
    return luaL_testudata(L, idx, LG_TEXTURE);
}

struct rt_texture *lg_check_texture(lua_State *L, int idx)
{
    struct rt_texture *t = lg_check_object(L, idx, LG_TEXTURE);
    if (!t->device) luaL_error(L, "this texture or surface was freed");
    return t;
}

static int release(lua_State *L)
{
    struct rt_texture *t = lg_check_object(L, 1, LG_TEXTURE);
    if (t->device) rt_texture_release(t);
    return 0;
}

/* ---- options ---- */

/* The place of the string at idx in the list. [raises] */
static int read_choice(lua_State *L, int idx, const char *option, const char *const *list)
{
    const char *text = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : NULL;
    luaL_Buffer b;
    for (int i = 0; text && list[i]; i++)
        if (!strcmp(list[i], text)) return i;
    const char *came = luaL_tolstring(L, idx, NULL);
    luaL_buffinit(L, &b);
    for (int i = 0; list[i]; i++) {
        if (i) luaL_addstring(&b, ", ");
        luaL_addstring(&b, list[i]);
    }
    luaL_pushresult(&b);
    return luaL_error(L, "%s: expected one of %s, got %s", option, lua_tostring(L, -1), came);
}

static bool read_flag(lua_State *L, int idx, const char *option)
{
    if (!lua_isboolean(L, idx)) luaL_error(L, "%s: expected true or false, got %s", option, lg_type_name(L, idx));
    return lua_toboolean(L, idx);
}

/* One mode for all axes, or a list of them, x first. [raises] */
static void read_address(lua_State *L, int idx, struct rt_sampling *how)
{
    static const char *const modes[] = {[RT_ADDRESS_WRAP] = "wrap",
                                        [RT_ADDRESS_CLAMP] = "clamp",
                                        [RT_ADDRESS_MIRROR] = "mirror",
                                        [RT_ADDRESS_BORDER] = "border",
                                        NULL};
    bool list = lua_istable(L, idx);
    if (list && (lua_rawlen(L, idx) < 1 || lua_rawlen(L, idx) > 3))
        luaL_error(L, "address: expected a mode or a list of 1 to 3 modes, x first");
    for (int i = 0; i < 3; i++) {
        if (list && i >= (int)lua_rawlen(L, idx)) break;
        if (list)
            lua_rawgeti(L, idx, i + 1);
        else
            lua_pushvalue(L, idx);
        how->address[i] = (enum rt_address)read_choice(L, lua_gettop(L), "address", modes);
        lua_pop(L, 1);
    }
}

static void read_border(lua_State *L, int idx, struct rt_sampling *how)
{
    bool list = lua_istable(L, idx);
    for (int i = 0; i < 4; i++) {
        if (list)
            lua_rawgeti(L, idx, i + 1);
        else
            lua_pushvalue(L, idx);
        bool absent = list && lua_isnil(L, -1);
        if (!absent && lua_type(L, -1) != LUA_TNUMBER)
            luaL_error(L, "border: expected a number or a list of up to 4 numbers, got %s", lg_type_name(L, -1));
        how->border[i] = absent ? 0 : (float)lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
}

/* One option of a picture; false when there is none of that name. [raises] */
static bool read_picture_option(lua_State *L, const char *key, int value, struct rt_picture *p)
{
    if (!strcmp(key, "channels")) {
        if (!lua_isinteger(L, value) || lua_tointeger(L, value) < 1 || lua_tointeger(L, value) > 4)
            luaL_error(L, "channels: expected 1, 2 or 4, got %s", luaL_tolstring(L, value, NULL));
        p->channels = (int)lua_tointeger(L, value);
    } else if (!strcmp(key, "layered")) {
        p->layered = read_flag(L, value, key);
    } else {
        return false;
    }
    return true;
}

static bool read_texture_option(lua_State *L, const char *key, int value, struct request *r)
{
    static const char *const filters[] = {"point", "linear", NULL}, *const reads[] = {"element", "normalized", NULL};
    if (!strcmp(key, "filter"))
        r->how.linear = read_choice(L, value, key, filters) == 1;
    else if (!strcmp(key, "read"))
        r->how.floats = read_choice(L, value, key, reads) == 1;
    else if (!strcmp(key, "normalized"))
        r->how.normalized = read_flag(L, value, key);
    else if (!strcmp(key, "srgb"))
        r->how.srgb = read_flag(L, value, key);
    else if (!strcmp(key, "fetch"))
        r->fetch = read_flag(L, value, key);
    else if (!strcmp(key, "address"))
        read_address(L, value, &r->how);
    else if (!strcmp(key, "border"))
        read_border(L, value, &r->how);
    else
        return false;
    return true;
}

/* The options at idx. [raises] */
static void read_options(lua_State *L, int idx, bool surface, bool shares, struct request *r)
{
    *r = (struct request){.picture.channels = 1};
    for (int i = 0; i < 3; i++) r->how.address[i] = RT_ADDRESS_CLAMP;
    if (lua_isnoneornil(L, idx)) return;
    luaL_checktype(L, idx, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        int value = lua_gettop(L);
        if (!shares && read_picture_option(L, key, value, &r->picture)) continue;
        if (!surface && read_texture_option(L, key, value, r)) continue;
        const char *list = surface  ? "channels and layered"
                           : shares ? "filter, address, normalized, read, border and srgb"
                                    : "filter, address, normalized, read, border, srgb, channels, layered and fetch";
        luaL_error(L, "there is no option '%s'; there are %s", key, list);
    }
}

/* ---- functions ---- */

static enum rt_status make(lua_State *L, const struct request *r, bool surface, struct rt_texture *out,
                           struct rt_error *e)
{
    const struct rt_texture *t = lg_test_texture(L, 1);
    const struct rt_array *a = t ? NULL : lg_test_array(L, 1);
    if (t) return rt_texture_of(t, &r->how, out, e);
    if (surface) return rt_surface_new(a, &r->picture, out, e);
    if (r->fetch) return rt_texture_linear(a, r->picture.channels, &r->how, out, e);
    return rt_texture_new(a, &r->picture, &r->how, out, e);
}

static int create(lua_State *L, bool surface)
{
    struct request r;
    bool shares = !surface && lg_test_texture(L, 1);
    lua_settop(L, 2);
    if (shares)
        lg_check_texture(L, 1);
    else
        lg_check_array(L, 1);
    read_options(L, 2, surface, shares, &r);
    struct rt_error *e = lg_error_box(L);
    struct rt_texture *t = new_texture(L);
    enum rt_status status = make(L, &r, surface, t, e);
    if (status == RT_NOMEM) { /* what nobody uses may hold the room */
        lua_gc(L, LUA_GCCOLLECT);
        lg_check_frame(L);
        rt_error_clear(e);
        status = make(L, &r, surface, t, e);
    }
    lg_check(L, status);
    return 1;
}

static int texture(lua_State *L)
{
    return create(L, false);
}

static int surface(lua_State *L)
{
    return create(L, true);
}

static int texture_array(lua_State *L)
{
    const struct rt_texture *t = lg_check_texture(L, 1);
    struct rt_error *e = lg_error_box(L);
    int64_t shape[4];
    int ndim = rt_texture_shape(t, shape);
    struct rt_array *a = lg_new_array(L);
    lg_check(L, rt_array_new(t->device, t->dtype, ndim, shape, a, e));
    lg_check(L, rt_texture_read(lg_check_texture(L, 1), a, e));
    return 1;
}

static int texture_set(lua_State *L)
{
    const struct rt_texture *t = lg_check_texture(L, 1);
    lg_check(L, rt_texture_write(t, lg_check_array(L, 2), lg_error_box(L)));
    lua_settop(L, 1);
    return 1;
}

/* ---- fields ---- */

static int texture_index(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const struct rt_texture *t = lg_check_texture(L, 1);
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    int64_t shape[4];
    if (!strcmp(key, "shape"))
        lg_push_shape(L, rt_texture_shape(t, shape), shape);
    else if (!strcmp(key, "dtype"))
        lua_pushstring(L, rt_dtypes[t->dtype].name);
    else if (!strcmp(key, "channels"))
        lua_pushinteger(L, t->channels);
    else if (!strcmp(key, "layered"))
        lua_pushboolean(L, t->layered);
    else if (!strcmp(key, "device"))
        lg_push_device(L, t->device);
    else if (!strcmp(key, "handle"))
        lua_pushinteger(L, (lua_Integer)t->handle);
    else
        return luaL_error(L, "a texture has no field '%s'", luaL_tolstring(L, 2, NULL));
    return 1;
}

static const char *const fields[] = {"shape",  "dtype", "channels", "layered", "device",
                                     "handle", "array", "set",      "free",    NULL};

static int texture_fields(lua_State *L)
{
    return lg_push_names(L, fields);
}

static int texture_tostring(lua_State *L)
{
    char text[160];
    const struct rt_texture *t = lg_check_object(L, 1, LG_TEXTURE);
    if (!t->device) {
        lua_pushstring(L, "a texture or surface that was freed");
        return 1;
    }
    lua_pushfstring(L, "%s%s %s %s on %s", t->layered ? "layered " : "", t->surface ? "surface" : "texture",
                    rt_dtypes[t->dtype].name, rt_shape_text(t->ndim, t->shape, text, sizeof text), t->device->name);
    if (t->channels > 1) {
        lua_pushfstring(L, ", %d channels", t->channels);
        lua_concat(L, 2);
    }
    return 1;
}

static const struct lg_function functions[] = {
    {"texture", texture, "gpu.texture(x [, options])",
     "A texture with the elements of an array, for kernel parameters of the type cudaTextureObject_t.\n"
     "x has 1 to 3 axes, the last one is CUDA's x: an array of the shape {h, w} is read by tex2D<float>(t, x, y). The "
     "texture has its own copy; of a surface or another texture it is a further view. Options: filter = \"point\" or "
     "\"linear\"; address = \"clamp\", \"border\", \"wrap\" or \"mirror\", or a list for x, y and z; normalized = true "
     "for coordinates from 0 to 1, which wrap and mirror need; read = \"normalized\" makes floats of 8 and 16 bit "
     "integers; border = a number or list of up to 4; srgb; channels = 2 or 4 when the last axis counts those, as for "
     "tex2D<float4>; layered = true when the first axis counts layers; fetch = true for tex1Dfetch over the array's own "
     "memory.\n"
     "Linear filtering weighs with 8 bits of the coordinates' fractions, as GPUs do.",
     "local k = gpu.kernel [[\n"
     "  __global__ void middle(cudaTextureObject_t t, float *out) { out[0] = tex2D<float>(t, 1.0f, 1.0f); }\n"
     "]]\n"
     "local t = gpu.texture(gpu.array {{1, 2}, {3, 4}}, {filter = 'linear'})\n"
     "local out = gpu.zeros(1)\n"
     "k(1, 1)(t, out)\n"
     "assert(out[1] == 2.5)"},
    {"surface", surface, "gpu.surface(x [, options])",
     "A surface that starts with the elements of an array, for kernel parameters of the type cudaSurfaceObject_t.\n"
     "Kernels read and write it by surf2Dread and surf2Dwrite, where x counts bytes. s:array() gives the elements back; "
     "gpu.texture(s, options) reads the same picture through a texture. Options: channels and layered, as for "
     "gpu.texture.",
     "local k = gpu.kernel [[\n"
     "  __global__ void put(cudaSurfaceObject_t s) { surf2Dwrite(7.0f, s, threadIdx.x * sizeof(float), 0); }\n"
     "]]\n"
     "local s = gpu.surface(gpu.zeros(2, 3))\n"
     "k(1, 3)(s)\n"
     "assert(s:array():sum() == 21)"},
    {0}};

static const struct lg_function methods[] = {
    {"array", texture_array, "t:array()", "The elements of a texture or surface as a new array.",
     "local t = gpu.texture(gpu.ones(2, 3))\nassert(t:array():sum() == 6)"},
    {"set", texture_set, "t:set(x)",
     "Copies an array of the same shape, dtype and device into a texture or surface; gives t.",
     "local t = gpu.texture(gpu.ones(2, 3))\nassert(t:set(gpu.zeros(2, 3)):array():sum() == 0)"},
    {"free", release, "t:free()",
     "Gives the memory back at once, as closing it does and at last the garbage collector.",
     "local t <close> = gpu.texture(gpu.ones(4))\nt:free()"},
    {0}};

void lg_open_texture(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__gc", release},
                                    {"__close", release},
                                    {"__tostring", texture_tostring},
                                    {"__fields", texture_fields},
                                    {NULL, NULL}};
    lg_register(L, "gpu", functions);
    luaL_newmetatable(L, LG_TEXTURE);
    luaL_setfuncs(L, meta, 0);
    lua_newtable(L);
    lg_register(L, "texture", methods);
    lua_pushcclosure(L, texture_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
