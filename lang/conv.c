/* Convolutions and pooling: the arguments and their shapes. Lines are images of height 1, one image a batch of one. */
#include <string.h>
#include "kernels/conv.h"
#include "kernels/program.h"
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/conv.h"

/* What a call has said. dims: 1 for lines, 2 for images; lists have that many integers. */
struct options {
    const char *what; /* "conv2d" */
    int dims;
    struct kn_window window;
    int64_t after[2]; /* padding behind the last element */
    int64_t groups;
    int bias;  /* where it is on the stack; 0: none */
    bool same; /* padding = 'same' */
};

static struct options defaults(const char *what, int dims)
{
    return (struct options){
        .what = what, .dims = dims, .groups = 1, .window = {.size = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};
}

/* ---- options ---- */

void lg_conv_sizes(lua_State *L, const char *what, int dims, const char *name, int64_t min, int64_t *out)
{
    static const char *const lists[] = {"", " or a list of two", " or a list of three"};
    int top = lua_gettop(L);
    bool list = lua_istable(L, top);
    if (list && (int)lua_rawlen(L, top) != dims)
        luaL_error(L, "%s: %s has %d numbers, expected %d", what, name, (int)lua_rawlen(L, top), dims);
    for (int i = 0; i < dims; i++) {
        int is_integer;
        if (list) lua_rawgeti(L, top, i + 1);
        lua_Integer v = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer)
            luaL_error(L, "%s: %s must be an integer%s, got %s", what, name, lists[dims - 1], lg_type_name(L, -1));
        if (v < min || v > INT32_MAX)
            luaL_error(L, "%s: %s is %I, expected %d to %d", what, name, (LUAI_UACINT)v, (int)min, INT32_MAX);
        out[i] = v;
        lua_settop(L, top);
    }
    lua_pop(L, 1);
}

/* Into the last of both axes. */
static void read_sizes(lua_State *L, const struct options *o, const char *name, int64_t min, int64_t *out)
{
    lg_conv_sizes(L, o->what, o->dims, name, min, out + 2 - o->dims);
}

void lg_conv_keys(lua_State *L, int idx, const char *what, const char *names)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = luaL_tolstring(L, -2, NULL), *at = strstr(names, key);
        size_t n = strlen(key);
        if (!at || (at > names && at[-1] != ' ') || (at[n] != ' ' && at[n] != '\0') || n == 0)
            luaL_error(L, "%s: there is no option '%s'; there are %s", what, key, names);
        lua_pop(L, 1);
    }
}

static void read_padding(lua_State *L, struct options *o)
{
    if (lua_type(L, -1) == LUA_TSTRING) {
        const char *word = lua_tostring(L, -1);
        o->same = !strcmp(word, "same");
        if (!o->same && strcmp(word, "valid") != 0)
            luaL_error(L, "%s: padding is '%s', expected 'same', 'valid' or a number", o->what, word);
        lua_pop(L, 1);
        return;
    }
    read_sizes(L, o, "padding", 0, o->window.before);
    memcpy(o->after, o->window.before, sizeof o->after);
}

int64_t lg_conv_groups(lua_State *L, int idx, const char *what)
{
    int64_t groups = 1;
    if (lua_getfield(L, idx, "groups") != LUA_TNIL) {
        groups = lua_tointeger(L, -1);
        if (!lua_isinteger(L, -1) || groups < 1 || groups > INT32_MAX)
            luaL_error(L, "%s: groups must be an integer of 1 or more%s, got %s", what,
                       groups > INT32_MAX ? " and below 2^31" : "", luaL_tolstring(L, -1, NULL));
    }
    lua_pop(L, 1);
    return groups;
}

const struct rt_array *lg_conv_bias(lua_State *L, int idx, const char *what, int64_t filters)
{
    if (!lg_test_array(L, idx)) luaL_error(L, "%s: bias is a %s, expected an array", what, lg_type_name(L, idx));
    const struct rt_array *bias = lg_check_array(L, idx);
    if (bias->ndim != 1 || bias->shape[0] != filters)
        luaL_error(L, "%s: bias has the shape %s, expected one number for each of the %I filters", what,
                   lg_push_shape_text(L, bias), (LUAI_UACINT)filters);
    return bias;
}

static void read_conv_options(lua_State *L, int idx, struct options *o)
{
    if (lua_isnoneornil(L, idx)) return;
    luaL_checktype(L, idx, LUA_TTABLE);
    lg_conv_keys(L, idx, o->what, "stride padding dilation groups bias");
    if (lua_getfield(L, idx, "stride") != LUA_TNIL) read_sizes(L, o, "stride", 1, o->window.stride);
    if (lua_getfield(L, idx, "dilation") != LUA_TNIL) read_sizes(L, o, "dilation", 1, o->window.dilation);
    if (lua_getfield(L, idx, "padding") != LUA_TNIL) read_padding(L, o);
    o->groups = lg_conv_groups(L, idx, o->what);
    if (lua_getfield(L, idx, "bias") != LUA_TNIL) o->bias = lua_gettop(L);
}

static void read_pool_options(lua_State *L, int idx, struct options *o)
{
    bool table = lua_istable(L, idx) && lua_rawlen(L, idx) == 0;
    if (!table) {
        if (lua_isnoneornil(L, idx))
            luaL_error(L, "%s: the size of the window is missing, as in {window = 2}", o->what);
        lua_pushvalue(L, idx);
        read_sizes(L, o, "window", 1, o->window.size);
        memcpy(o->window.stride, o->window.size, sizeof o->window.stride);
        return;
    }
    lg_conv_keys(L, idx, o->what, "window stride padding dilation");
    if (lua_getfield(L, idx, "window") == LUA_TNIL)
        luaL_error(L, "%s: the size of the window is missing, as in {window = 2}", o->what);
    read_sizes(L, o, "window", 1, o->window.size);
    memcpy(o->window.stride, o->window.size, sizeof o->window.stride);
    if (lua_getfield(L, idx, "stride") != LUA_TNIL) read_sizes(L, o, "stride", 1, o->window.stride);
    if (lua_getfield(L, idx, "dilation") != LUA_TNIL) read_sizes(L, o, "dilation", 1, o->window.dilation);
    if (lua_getfield(L, idx, "padding") == LUA_TNIL) return;
    read_sizes(L, o, "padding", 0, o->window.before);
    memcpy(o->after, o->window.before, sizeof o->after);
    for (int i = 0; i < 2; i++)
        if (o->window.before[i] > o->window.size[i] / 2)
            luaL_error(L, "%s: a padding of %d is more than half of the window's %d, so windows would be empty",
                       o->what, (int)o->window.before[i], (int)o->window.size[i]);
}

/* ---- shapes ---- */

/* A borrowed view of lines or images with all four axes. */
static struct rt_array as_images(const struct rt_array *a, int dims)
{
    struct rt_array out = *a;
    int missing = dims + 2 - a->ndim;
    out.ndim = 4;
    for (int i = 3; i >= 0; i--) {
        int own = i < 2 ? i - missing : i == 2 && dims == 1 ? -1 : i - missing - (2 - dims);
        out.shape[i] = own < 0 ? 1 : a->shape[own];
        out.strides[i] = own < 0 ? 1 : a->strides[own];
    }
    return out;
}

/* The result takes the form that x had. */
static void as_given(struct rt_array *out, const struct rt_array *x, int dims)
{
    if (dims == 1) {
        out->shape[2] = out->shape[3];
        out->strides[2] = out->strides[3];
    }
    out->ndim = dims + 2;
    if (x->ndim == dims + 2) return;
    memmove(out->shape, out->shape + 1, (size_t)(dims + 1) * sizeof *out->shape);
    memmove(out->strides, out->strides + 1, (size_t)(dims + 1) * sizeof *out->strides);
    out->ndim--;
}

const char *lg_push_shape_text(lua_State *L, const struct rt_array *a)
{
    char text[256];
    return lua_pushstring(L, rt_shape_text(a->ndim, a->shape, text, sizeof text));
}

static const char *form_of(int dims, bool batched)
{
    return dims == 1 ? (batched ? "(N, C, L)" : "(C, L)") : batched ? "(N, C, H, W)" : "(C, H, W)";
}

static const struct rt_array *check_images(lua_State *L, const struct options *o)
{
    const struct rt_array *x = lg_check_array(L, 1);
    if (x->ndim != o->dims + 1 && x->ndim != o->dims + 2)
        luaL_error(L, "%s: x has the shape %s, expected %s or %s", o->what, lg_push_shape_text(L, x),
                   form_of(o->dims, true), form_of(o->dims, false));
    return x;
}

/* How many windows there are along each axis of x; 'same' padding is known only now. */
static void place_windows(lua_State *L, struct options *o, const struct rt_array *x, const struct rt_array *images)
{
    struct kn_window *v = &o->window;
    for (int i = 0; i < 2; i++) {
        int64_t reach = v->dilation[i] * (v->size[i] - 1) + 1, n = images->shape[2 + i];
        if (o->same) {
            if (v->stride[i] != 1)
                luaL_error(L, "%s: padding = 'same' needs a stride of 1, not %d", o->what, (int)v->stride[i]);
            v->before[i] = (reach - 1) / 2;
            o->after[i] = reach - 1 - v->before[i];
        }
        int64_t padded = n + v->before[i] + o->after[i];
        if (padded < reach)
            luaL_error(L, "%s: a window that reaches over %d elements does not fit into x of shape %s%s", o->what,
                       (int)reach, lg_push_shape_text(L, x), v->before[i] || o->after[i] ? " and its padding" : "");
        v->places[i] = (padded - reach) / v->stride[i] + 1;
    }
}

static void check_filters(lua_State *L, const struct options *o, const struct rt_array *x, const struct rt_array *w,
                          const struct rt_array *images)
{
    int64_t channels = images->shape[1];
    if (w->ndim != o->dims + 2)
        luaL_error(L, "%s: w has the shape %s, expected %s: filters, channels / groups, size", o->what,
                   lg_push_shape_text(L, w), o->dims == 1 ? "(O, C, K)" : "(O, C, KH, KW)");
    for (int i = 2; i < w->ndim; i++)
        if (w->shape[i] == 0) luaL_error(L, "%s: the filters of shape %s are empty", o->what, lg_push_shape_text(L, w));
    if (channels % o->groups || w->shape[0] % o->groups)
        luaL_error(L, "%s: %I channels of x and %I filters of w cannot both be parted into %I groups", o->what,
                   (LUAI_UACINT)channels, (LUAI_UACINT)w->shape[0], (LUAI_UACINT)o->groups);
    if (channels / o->groups != w->shape[1])
        luaL_error(L, "%s: x of shape %s has %I channels in a group, but w of shape %s takes %I", o->what,
                   lg_push_shape_text(L, x), (LUAI_UACINT)(channels / o->groups), lg_push_shape_text(L, w),
                   (LUAI_UACINT)w->shape[1]);
}

static int conv(lua_State *L, const char *what, int dims)
{
    struct options o = defaults(what, dims);
    const struct rt_array *x = check_images(L, &o), *w = lg_check_array(L, 2), *bias = NULL;
    struct rt_array images = as_images(x, dims), filters;
    lua_settop(L, 3);
    read_conv_options(L, 3, &o);
    check_filters(L, &o, x, w, &images);
    filters = as_images(w, dims);
    o.window.size[0] = filters.shape[2];
    o.window.size[1] = filters.shape[3];
    if (o.bias) bias = lg_conv_bias(L, o.bias, what, w->shape[0]);
    place_windows(L, &o, x, &images);
    struct rt_array *out = lg_new_array(L);
    lg_check(L,
             kn_conv(&(struct kn_filtered){what, &images, &filters, bias, o.groups}, &o.window, out, lg_error_box(L)));
    as_given(out, x, dims);
    return 1;
}

static int conv1d(lua_State *L)
{
    return conv(L, "conv1d", 1);
}
static int conv2d(lua_State *L)
{
    return conv(L, "conv2d", 2);
}

static int pool(lua_State *L, const char *what, int dims, enum kn_pooling which)
{
    struct options o = defaults(what, dims);
    const struct rt_array *x = check_images(L, &o);
    struct rt_array images = as_images(x, dims);
    lua_settop(L, 2);
    read_pool_options(L, 2, &o);
    place_windows(L, &o, x, &images);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_pool(what, which, &images, &o.window, out, lg_error_box(L)));
    as_given(out, x, dims);
    return 1;
}

static int max_pool1d(lua_State *L)
{
    return pool(L, "max_pool1d", 1, KN_POOL_MAX);
}
static int max_pool2d(lua_State *L)
{
    return pool(L, "max_pool2d", 2, KN_POOL_MAX);
}
static int avg_pool1d(lua_State *L)
{
    return pool(L, "avg_pool1d", 1, KN_POOL_MEAN);
}
static int avg_pool2d(lua_State *L)
{
    return pool(L, "avg_pool2d", 2, KN_POOL_MEAN);
}

#define CONV_DOC                                                                                                        \
    "Windows lie a stride apart, the elements of one a dilation apart; both are 1 unless told otherwise. padding is a " \
    "number of zeros on both sides, 'same' (as many as keep the size; stride 1) or 'valid' (none, as unless told "      \
    "otherwise). groups parts channels and filters: each filter sees the channels of its group. bias is "               \
    "an array with a number for each filter. Floats alone; filters are not turned round, as in PyTorch."

const struct lg_function lg_conv_functions[] = {
    {"conv1d", conv1d, "gpu.conv1d(x, w [, {stride=, padding=, dilation=, groups=, bias=}])   x:conv1d(w, ...)",
     "Sums over windows of lines with channels, times the filters w.\n"
     "x is (N, C, L) or (C, L), w (O, C / groups, K); the result is (N, O, places) or (O, places). " CONV_DOC,
     "local x, w = gpu.range(5):reshape(1, 5), gpu.array({{{1, 0, -1}}})\n"
     "assert(gpu.conv1d(x, w):equal(gpu.array({{-2, -2, -2}})))\n"
     "assert(gpu.conv1d(x, w, {padding = 'same', bias = gpu.array({10})})[{1, 1}] == 8)"},
    {"conv2d", conv2d, "gpu.conv2d(x, w [, {stride=, padding=, dilation=, groups=, bias=}])   x:conv2d(w, ...)",
     "Sums over windows of images with channels, times the filters w.\n"
     "x is (N, C, H, W) or (C, H, W), w (O, C / groups, KH, KW); the result is (N, O, rows, columns) or (O, rows, "
     "columns). stride, padding and dilation are a number or {down, across}. " CONV_DOC,
     "local x, w = gpu.ones(2, 3, 8, 8), gpu.ones(4, 3, 3, 3)\n"
     "local y = gpu.conv2d(x, w, {stride = 2, padding = 1})\n"
     "assert(tostring(y.shape) == '(2, 4, 4, 4)' and y[{1, 1, 2, 2}] == 27 and y[{1, 1, 1, 1}] == 12)"},
    {"max_pool1d", max_pool1d,
     "gpu.max_pool1d(x, window | {window=, stride=, padding=, dilation=})   x:max_pool1d(...)",
     "The greatest element of each window of lines (N, C, L) or (C, L); NaN where there is one.\n" LG_POOL_DOC
     "is never the greatest.",
     "assert(gpu.array({{1, 5, 2, 4}}):max_pool1d(2):equal(gpu.array({{5, 4}})))"},
    {"max_pool2d", max_pool2d,
     "gpu.max_pool2d(x, window | {window=, stride=, padding=, dilation=})   x:max_pool2d(...)",
     "The greatest element of each window of images (N, C, H, W) or (C, H, W); NaN where there is one.\n"
     "window and the others are a number or {down, across}. " LG_POOL_DOC "is never the greatest.",
     "local x = gpu.range(16):reshape(1, 4, 4)\nassert(x:max_pool2d(2):equal(gpu.array({{{6, 8}, {14, 16}}})))\n"
     "assert(x:max_pool2d{window = 3, stride = 2, padding = 1}[{1, 2, 2}] == 16)"},
    {"avg_pool1d", avg_pool1d,
     "gpu.avg_pool1d(x, window | {window=, stride=, padding=, dilation=})   x:avg_pool1d(...)",
     "The mean of each window of lines (N, C, L) or (C, L).\n" LG_POOL_DOC "counts as zeros.",
     "assert(gpu.array({{1, 5, 2, 4}}):avg_pool1d(2):equal(gpu.array({{3, 3}})))"},
    {"avg_pool2d", avg_pool2d,
     "gpu.avg_pool2d(x, window | {window=, stride=, padding=, dilation=})   x:avg_pool2d(...)",
     "The mean of each window of images (N, C, H, W) or (C, H, W).\n"
     "window and the others are a number or {down, across}. " LG_POOL_DOC "counts as zeros.",
     "local x = gpu.range(16):reshape(1, 4, 4)\n"
     "assert(x:avg_pool2d({2, 4}):equal(gpu.array({{{4.5}, {12.5}}})))"},
    {0}};
