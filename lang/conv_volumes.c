/* Convolutions and pooling of volumes, and transposed convolutions: the arguments and their shapes. */
#include <string.h>
#include "kernels/conv_volumes.h"
#include "kernels/program.h"
#include "lang/array.h"
#include "lang/conv.h"

/* What a call has said: `dims` numbers of each. */
struct options {
    const char *what;
    int dims;
    int64_t size[3], stride[3], padding[3], after[3], dilation[3];
    int64_t groups;
    int bias; /* where it is on the stack; 0: none */
    bool same;
};

static void read_option(lua_State *L, const struct options *o, int idx, const char *name, int64_t min, int64_t *out)
{
    if (lua_getfield(L, idx, name) == LUA_TNIL)
        lua_pop(L, 1);
    else
        lg_conv_sizes(L, o->what, o->dims, name, min, out);
}

/* A borrowed view with the axes that all forms have: of one sample a batch of it, of lines images of height 1. */
static struct rt_array with_axes(const struct rt_array *a, int dims, int wanted)
{
    struct rt_array out = *a;
    int batch = a->ndim == dims + 1, line = wanted - 2 - dims;
    out.ndim = wanted;
    for (int i = 0; i < wanted; i++) {
        int own = i < 2 ? i - batch : i < 2 + line ? -1 : i - batch - line;
        out.shape[i] = own < 0 ? 1 : a->shape[own];
        out.strides[i] = own < 0 ? 1 : a->strides[own];
    }
    return out;
}

/* The result, contiguous, takes the form that x had. */
static void as_given(struct rt_array *out, const struct rt_array *x, int dims)
{
    const int line = out->ndim - 2 - dims, batch = x->ndim == dims + 1;
    int64_t shape[RT_MAX_DIMS], stride = 1;
    int n = 0;
    for (int i = batch; i < out->ndim; i++)
        if (i < 2 || i >= 2 + line) shape[n++] = out->shape[i];
    out->ndim = n;
    for (int i = n - 1; i >= 0; stride *= shape[i--]) {
        out->shape[i] = shape[i];
        out->strides[i] = stride;
    }
}

static const struct rt_array *check_input(lua_State *L, const struct options *o)
{
    static const char *const forms[] = {"(N, C, L) or (C, L)", "(N, C, H, W) or (C, H, W)",
                                        "(N, C, D, H, W) or (C, D, H, W)"};
    const struct rt_array *x = lg_check_array(L, 1);
    if (x->ndim != o->dims + 1 && x->ndim != o->dims + 2)
        luaL_error(L, "%s: x has the shape %s, expected %s", o->what, lg_push_shape_text(L, x), forms[o->dims - 1]);
    return x;
}

static void check_filters(lua_State *L, struct options *o, const struct rt_array *w, const char *form)
{
    if (w->ndim != o->dims + 2)
        luaL_error(L, "%s: w has the shape %s, expected %s", o->what, lg_push_shape_text(L, w), form);
    for (int i = 0; i < o->dims; i++) {
        o->size[i] = w->shape[2 + i];
        if (o->size[i] == 0) luaL_error(L, "%s: the filters of shape %s are empty", o->what, lg_push_shape_text(L, w));
    }
}

/* ---- volumes ---- */

static int64_t reach_of(const struct options *o, int i)
{
    return o->dilation[i] * (o->size[i] - 1) + 1;
}

/* How many windows there are along each axis of the volumes. */
static struct kn_volume place_windows(lua_State *L, const struct options *o, const struct rt_array *x)
{
    struct kn_volume v;
    for (int i = 0; i < 3; i++) {
        int64_t reach = reach_of(o, i), before = o->padding[i], after = before;
        if (o->same) {
            if (o->stride[i] != 1)
                luaL_error(L, "%s: padding = 'same' needs a stride of 1, not %d", o->what, (int)o->stride[i]);
            before = (reach - 1) / 2;
            after = reach - 1 - before;
        }
        int64_t padded = x->shape[2 + i] + before + after;
        if (padded < reach)
            luaL_error(L, "%s: a window that reaches over %I elements does not fit into x of shape %s%s", o->what,
                       (LUAI_UACINT)reach, lg_push_shape_text(L, lg_check_form(L, 1)),
                       before || after ? " and its padding" : "");
        v.size[i] = o->size[i];
        v.stride[i] = o->stride[i];
        v.before[i] = before;
        v.dilation[i] = o->dilation[i];
        v.places[i] = (padded - reach) / o->stride[i] + 1;
    }
    return v;
}

static void read_padding(lua_State *L, struct options *o, int idx)
{
    if (lua_getfield(L, idx, "padding") == LUA_TSTRING) {
        const char *word = lua_tostring(L, -1);
        o->same = !strcmp(word, "same");
        if (!o->same && strcmp(word, "valid") != 0)
            luaL_error(L, "%s: padding is '%s', expected 'same', 'valid' or a number", o->what, word);
    } else if (!lua_isnil(L, -1)) {
        lg_conv_sizes(L, o->what, o->dims, "padding", 0, o->padding);
        return;
    }
    lua_pop(L, 1);
}

static int conv3d(lua_State *L)
{
    struct options o = {.what = "conv3d", .dims = 3, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1};
    const struct rt_array *x = check_input(L, &o), *w = lg_check_array(L, 2), *bias = NULL;
    struct rt_array volumes = with_axes(x, 3, 5);
    lua_settop(L, 3);
    check_filters(L, &o, w, "(O, C, KD, KH, KW): filters, channels / groups, size");
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        lg_conv_keys(L, 3, o.what, "stride padding dilation groups bias");
        read_option(L, &o, 3, "stride", 1, o.stride);
        read_option(L, &o, 3, "dilation", 1, o.dilation);
        read_padding(L, &o, 3);
        o.groups = lg_conv_groups(L, 3, o.what);
        if (lua_getfield(L, 3, "bias") != LUA_TNIL) bias = lg_conv_bias(L, 4, o.what, w->shape[0]);
    }
    if (volumes.shape[1] % o.groups || w->shape[0] % o.groups || volumes.shape[1] / o.groups != w->shape[1])
        return luaL_error(L, "conv3d: x of shape %s and w of shape %s do not fit each other in %I group%s",
                          lg_push_shape_text(L, x), lg_push_shape_text(L, w), (LUAI_UACINT)o.groups,
                          o.groups > 1 ? "s" : "");
    struct kn_volume v = place_windows(L, &o, &volumes);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_conv3d(&(struct kn_filtered){o.what, &volumes, w, bias, o.groups}, &v, out, lg_error_box(L)));
    as_given(out, x, 3);
    return 1;
}

static int pool3d(lua_State *L, const char *what, enum kn_pooling which)
{
    struct options o = {.what = what, .dims = 3, .dilation = {1, 1, 1}};
    const struct rt_array *x = check_input(L, &o);
    struct rt_array volumes = with_axes(x, 3, 5);
    lua_settop(L, 2);
    bool table = lua_istable(L, 2) && lua_rawlen(L, 2) == 0;
    if (table) {
        lg_conv_keys(L, 2, what, "window stride padding dilation");
        lua_getfield(L, 2, "window");
    }
    if (lua_isnil(L, -1)) return luaL_error(L, "%s: the size of the window is missing, as in {window = 2}", what);
    lg_conv_sizes(L, what, 3, "window", 1, o.size);
    memcpy(o.stride, o.size, sizeof o.stride);
    if (table) {
        read_option(L, &o, 2, "stride", 1, o.stride);
        read_option(L, &o, 2, "dilation", 1, o.dilation);
        read_option(L, &o, 2, "padding", 0, o.padding);
    }
    for (int i = 0; i < 3; i++)
        if (o.padding[i] > o.size[i] / 2)
            return luaL_error(L, "%s: a padding of %d is more than half of the window's %d, so windows would be empty",
                              what, (int)o.padding[i], (int)o.size[i]);
    struct kn_volume v = place_windows(L, &o, &volumes);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, kn_pool3d(what, which, &volumes, &v, out, lg_error_box(L)));
    as_given(out, x, 3);
    return 1;
}

static int max_pool3d(lua_State *L)
{
    return pool3d(L, "max_pool3d", KN_POOL_MAX);
}
static int avg_pool3d(lua_State *L)
{
    return pool3d(L, "avg_pool3d", KN_POOL_MEAN);
}

/* ---- transposed ---- */

/* The sizes of the result; an axis that is none is one element in all. */
static struct kn_window result_window(lua_State *L, const struct options *o, const struct rt_array *images)
{
    struct kn_window v = {.size = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .places = {1, 1}};
    for (int i = 0; i < o->dims; i++) {
        int axis = i + 2 - o->dims;
        int64_t most = o->stride[i] > o->dilation[i] ? o->stride[i] : o->dilation[i], n = images->shape[2 + axis];
        if (o->after[i] >= most)
            luaL_error(L, "%s: an output_padding of %I is not below the stride or the dilation, which are %I and %I",
                       o->what, (LUAI_UACINT)o->after[i], (LUAI_UACINT)o->stride[i], (LUAI_UACINT)o->dilation[i]);
        v.size[axis] = o->size[i];
        v.stride[axis] = o->stride[i];
        v.before[axis] = o->padding[i];
        v.dilation[axis] = o->dilation[i];
        v.places[axis] = (n - 1) * o->stride[i] - 2 * o->padding[i] + reach_of(o, i) + o->after[i];
        if (n == 0 || v.places[axis] < 1)
            luaL_error(L, "%s: of x of shape %s nothing is left with a padding of %I", o->what,
                       lg_push_shape_text(L, lg_check_form(L, 1)), (LUAI_UACINT)o->padding[i]);
    }
    return v;
}

static int conv_transpose(lua_State *L, const char *what, int dims)
{
    struct options o = {.what = what, .dims = dims, .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    const struct rt_array *x = check_input(L, &o), *w = lg_check_array(L, 2), *bias = NULL;
    lua_settop(L, 3);
    check_filters(L, &o, w, dims == 1 ? "(C, O / groups, K)" : "(C, O / groups, KH, KW)");
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        lg_conv_keys(L, 3, what, "stride padding output_padding dilation groups bias");
        read_option(L, &o, 3, "stride", 1, o.stride);
        read_option(L, &o, 3, "dilation", 1, o.dilation);
        read_option(L, &o, 3, "padding", 0, o.padding);
        read_option(L, &o, 3, "output_padding", 0, o.after);
        o.groups = lg_conv_groups(L, 3, what);
        int64_t channels;
        if (__builtin_mul_overflow(w->shape[1], o.groups, &channels))
            return luaL_error(L, "%s: %I groups of w of shape %s are too many channels", what, (LUAI_UACINT)o.groups,
                              lg_push_shape_text(L, w));
        if (lua_getfield(L, 3, "bias") != LUA_TNIL) bias = lg_conv_bias(L, -1, what, channels);
    }
    struct rt_array images = with_axes(x, dims, 4), filters = with_axes(w, dims, 4);
    if (images.shape[1] != w->shape[0])
        return luaL_error(L, "%s: x of shape %s has %I channels, but w of shape %s takes %I", what,
                          lg_push_shape_text(L, x), (LUAI_UACINT)images.shape[1], lg_push_shape_text(L, w),
                          (LUAI_UACINT)w->shape[0]);
    if (w->shape[0] % o.groups)
        return luaL_error(L, "%s: %I channels of x cannot be parted into %I groups", what, (LUAI_UACINT)w->shape[0],
                          (LUAI_UACINT)o.groups);
    struct kn_window v = result_window(L, &o, &images);
    struct rt_array *out = lg_new_array(L);
    lg_check(
        L, kn_conv_transpose(&(struct kn_filtered){what, &images, &filters, bias, o.groups}, &v, out, lg_error_box(L)));
    as_given(out, x, dims);
    return 1;
}

static int conv_transpose1d(lua_State *L)
{
    return conv_transpose(L, "conv_transpose1d", 1);
}
static int conv_transpose2d(lua_State *L)
{
    return conv_transpose(L, "conv_transpose2d", 2);
}

#define POOL(name) "gpu." name "(x, window | {window=, stride=, padding=, dilation=})   x:" name "(...)"
#define POOL_DOC   "window and the others are a number or {deep, down, across}. " LG_POOL_DOC
#define TRANSPOSE(name)                                                                                                \
    "gpu." name "(x, w [, {stride=, padding=, output_padding=, dilation=, groups=, bias=}])   x:" name "(w, ...)"
#define TRANSPOSE_DOC                                                                                                  \
    "Each element, times the filter of its channel, is added to a window of the result; windows lie a stride apart, "  \
    "the elements of one a dilation, both 1 unless told otherwise. padding takes so many elements off both ends of "   \
    "the result, output_padding adds some behind. groups parts channels and filters, bias is an array with a number "  \
    "for each filter. Floats alone, as in PyTorch."

const struct lg_function lg_conv_volume_functions[] = {
    {"conv3d", conv3d, "gpu.conv3d(x, w [, {stride=, padding=, dilation=, groups=, bias=}])   x:conv3d(w, ...)",
     "Sums over windows of volumes with channels, times the filters w.\n"
     "x is (N, C, D, H, W) or (C, D, H, W), w (O, C / groups, KD, KH, KW); the result is (N, O, planes, rows, columns) "
     "or (O, planes, rows, columns). stride, padding and dilation are a number or {deep, down, across}; the options are "
     "those of gpu.conv2d. Floats alone; filters are not turned round, as in PyTorch.",
     "local x, w = gpu.ones(2, 3, 4, 8, 8), gpu.ones(5, 3, 3, 3, 3)\n"
     "local y = gpu.conv3d(x, w, {padding = 1, stride = {1, 2, 2}})\n"
     "assert(tostring(y.shape) == '(2, 5, 4, 4, 4)' and y[{1, 1, 2, 2, 2}] == 81 and y[{1, 1, 1, 1, 1}] == 24)"},
    {"max_pool3d", max_pool3d, POOL("max_pool3d"),
     "The greatest element of each window of volumes (N, C, D, H, W) or (C, D, H, W); NaN where there is one.\n" POOL_DOC
     "is never the greatest.",
     "local x = gpu.range(16):reshape(1, 4, 2, 2)\nassert(x:max_pool3d(2):equal(gpu.array({8, 16}):reshape(1, 2, 1, 1)))"},
    {"avg_pool3d", avg_pool3d, POOL("avg_pool3d"),
     "The mean of each window of volumes (N, C, D, H, W) or (C, D, H, W).\n" POOL_DOC "counts as zeros.",
     "local x = gpu.range(16):reshape(1, 4, 2, 2)\n"
     "assert(x:avg_pool3d({4, 2, 1}):equal(gpu.array({8, 9}):reshape(1, 1, 1, 2)))"},
    {"conv_transpose1d", conv_transpose1d, TRANSPOSE("conv_transpose1d"),
     "What conv1d's derivative by x is, a convolution that makes lines longer.\n"
     "x is (N, C, L) or (C, L), w (C, O / groups, K); the result is (N, O, places) or (O, places). " TRANSPOSE_DOC,
     "local y = gpu.conv_transpose1d(gpu.array({{1, 2}}), gpu.array({{{1, 10, 100}}}), {stride = 2})\n"
     "assert(y:equal(gpu.array({{1, 10, 102, 20, 200}})))"},
    {"conv_transpose2d", conv_transpose2d, TRANSPOSE("conv_transpose2d"),
     "What conv2d's derivative by x is, a convolution that makes images larger.\n"
     "x is (N, C, H, W) or (C, H, W), w (C, O / groups, KH, KW); the result is (N, O, rows, columns) or (O, rows, "
     "columns). Options are a number or {down, across}. " TRANSPOSE_DOC,
     "local y = gpu.ones(2, 3, 4, 4):conv_transpose2d(gpu.ones(3, 5, 4, 4), {stride = 2, padding = 1})\n"
     "assert(tostring(y.shape) == '(2, 5, 8, 8)' and y[{1, 1, 4, 4}] == 12)"},
    {0}};
