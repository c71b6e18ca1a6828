/* Images in other sizes, and at places of a grid, as neural networks have them: gpu.interpolate, gpu.grid_sample and
 * gpu.affine_grid, by PyTorch's rules. An element's coordinate is its middle, or with aligned corners the first and the
 * last element lie on the edges. */
#include <math.h>
#include <string.h>
#include "kernels/statistics.h"
#include "lang/closest.h"
#include "lang/steps.h"

enum { MOST_TAPS = 4, MOST_AXES = 3 };
#define CUBIC (-0.75) /* the slope of the cubic's outer part */

/* The weights of four neighbours where the second is t before the place, as products: the result is w[0..3]. */
static void weigh_cubic(double t, double w[MOST_TAPS])
{
    double a = CUBIC, r = 1 - t;
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * r - (a + 3)) * r * r + 1;
    w[3] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
}

/* Pushes the array at x rounded to the dtype, where it has another. */
static int push_settled(lua_State *L, int x, enum rt_dtype t)
{
    return lg_form(L, x)->dtype == t ? x : lg_step(L, "to", "vs", x, rt_dtypes[t].name);
}

/* ---- interpolate ---- */

enum way { NEAREST, NEAREST_EXACT, LINEAR, BILINEAR, TRILINEAR, BICUBIC, AREA };
static const char *const ways[] = {"nearest",   "nearest-exact", "linear", "bilinear",
                                   "trilinear", "bicubic",       "area",   NULL};

#define LONGEST (1 << 27) /* elements of a new axis, for each of which places and weights are kept at a time */

/* An axis in its new length. */
struct line {
    enum way way;
    int64_t from, to;
    double scale; /* elements of the old one for one of the new */
    bool aligned;
};

/* Element k of the new axis: what it adds up, places from 0 and their weights. Returns how many there are. */
static int place(const struct line *l, int64_t k, int64_t at[MOST_TAPS], double weight[MOST_TAPS])
{
    double last = (double)(l->from - 1), x = l->aligned ? (double)k * l->scale : ((double)k + 0.5) * l->scale - 0.5;
    weight[0] = 1;
    if (l->way == NEAREST || l->way == NEAREST_EXACT) {
        double v = floor(((double)k + (l->way == NEAREST ? 0 : 0.5)) * l->scale);
        at[0] = (int64_t)(v < last ? v : last);
        return 1;
    }
    if (l->way != BICUBIC) {
        x = x < 0 ? 0 : x < last ? x : last;
        at[0] = (int64_t)x;
        at[1] = at[0] < l->from - 1 ? at[0] + 1 : at[0];
        weight[1] = x - (double)at[0];
        weight[0] = 1 - weight[1];
        return 2;
    }
    weigh_cubic(x - floor(x), weight);
    for (int j = 0; j < MOST_TAPS; j++) {
        double v = floor(x) + j - 1;
        at[j] = (int64_t)(v < 0 ? 0 : v < last ? v : last);
    }
    return MOST_TAPS;
}

/* Pushes a new array of one axis with the values. */
static int push_line(lua_State *L, struct rt_device *d, enum rt_dtype dtype, int64_t n, const void *values)
{
    struct rt_array *a = lg_new_array(L);
    lg_check(L, rt_array_new(d, dtype, 1, &n, a, lg_error_box(L)));
    lg_check(L, rt_array_write(a, values, lg_error_box(L)));
    return lua_gettop(L);
}

/* Pushes the array at x, of floats but for the nearest elements, with the axis in its new length. */
static int push_axis(lua_State *L, int x, int axis, const struct line *l)
{
    const struct rt_array *a = lg_form(L, x);
    struct rt_device *d = rt_array_device(a);
    int64_t n = l->to, at[MOST_TAPS] = {0}, shape[RT_MAX_DIMS];
    double weight[MOST_TAPS] = {0};
    int base = lua_gettop(L), ndim = a->ndim, count = place(l, 0, at, weight), sum = 0;
    int64_t *places = lua_newuserdatauv(L, (size_t)(n * count) * sizeof *places, 0);
    double *weights = lua_newuserdatauv(L, (size_t)(n * count) * sizeof *weights, 0);
    for (int64_t k = 0; k < n; k++) {
        place(l, k, at, weight);
        for (int j = 0; j < count; j++) {
            places[j * n + k] = at[j] + 1;
            weights[j * n + k] = weight[j];
        }
    }
    for (int i = 0; i < ndim; i++) shape[i] = i == axis ? n : 1;
    const char *dtype = rt_dtypes[a->dtype].name;
    for (int j = 0; j < count; j++) {
        int indices = push_line(L, d, RT_INT64, n, places + j * n);
        int part = lg_step(L, "take", "vvi", x, indices, (int64_t)axis + 1);
        if (count > 1) {
            int w = lg_step(L, "to", "vs", push_line(L, d, RT_FLOAT64, n, weights + j * n), dtype);
            part = lg_step(L, "mul", "vv", part, lg_push_reshaped(L, w, ndim, shape));
        }
        sum = sum ? lg_step(L, "add", "vv", sum, part) : part;
    }
    lua_copy(L, sum, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* One of a number or of a list at idx with one for each of `axes` axes. */
static double number_of(lua_State *L, int idx, const char *name, int axis, int axes)
{
    bool list = lua_istable(L, idx);
    if (list && (int)lua_rawlen(L, idx) != axes)
        luaL_error(L, "interpolate: %s has %d numbers, expected one for each of the %d axes behind (N, C)", name,
                   (int)lua_rawlen(L, idx), axes);
    if (list)
        lua_rawgeti(L, idx, axis + 1);
    else
        lua_pushvalue(L, idx);
    if (!lua_isnumber(L, -1))
        luaL_error(L, "interpolate: %s is %s, expected a number, or a list of one for each axis behind (N, C)", name,
                   lg_type_name(L, -1));
    double v = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return v;
}

/* The new length of each axis behind (N, C), and what it is scaled by, from the size at 2 or the factor at 3. */
static void check_lengths(lua_State *L, const struct rt_array *x, enum way way, bool aligned, struct line *lines)
{
    int axes = x->ndim - 2;
    bool sized = !lua_isnil(L, 2);
    if (sized == !lua_isnil(L, 3))
        luaL_error(L, "interpolate: %s; one of size and scale_factor is given",
                   sized ? "there are a size and a scale_factor" : "there is no size and no scale_factor");
    for (int i = 0; i < axes; i++) {
        int64_t from = x->shape[i + 2];
        double v = number_of(L, sized ? 2 : 3, sized ? "size" : "scale_factor", i, axes);
        double to = sized ? v : floor((double)from * v);
        if (from == 0) luaL_error(L, "interpolate: axis %d of x has no elements", i + 3);
        if (to > LONGEST)
            luaL_error(L, "interpolate: axis %d would have %f elements; it can have %d at most", i + 3, to, LONGEST);
        if (!(to >= 1) || (sized && to != floor(to)))
            luaL_error(L, "interpolate: axis %d of %I elements cannot have the %s %f; it has one element at least",
                       i + 3, (LUAI_UACINT)from, sized ? "size" : "scale_factor", v);
        double scale = sized ? (double)from / to : 1 / v;
        if (aligned) scale = to > 1 ? (double)(from - 1) / (to - 1) : 0;
        lines[i] = (struct line){way, from, (int64_t)to, scale, aligned};
    }
}

static enum way check_way(lua_State *L, const struct rt_array *x, bool aligned)
{
    static const int axes[] = {[LINEAR] = 1, [BILINEAR] = 2, [TRILINEAR] = 3, [BICUBIC] = 2, [AREA] = 0};
    enum way way = (enum way)lg_check_option(L, 4, "nearest", ways);
    char text[256];
    if (x->ndim < 3 || x->ndim > 2 + MOST_AXES)
        luaL_error(L, "interpolate: x has the shape %s, expected (N, C, ...) with one to three axes more",
                   rt_shape_text(x->ndim, x->shape, text, sizeof text));
    if (axes[way] && axes[way] != x->ndim - 2)
        luaL_error(L, "interpolate: '%s' is of arrays with %d axes, and x has the shape %s; there is '%s'", ways[way],
                   axes[way] + 2, rt_shape_text(x->ndim, x->shape, text, sizeof text), ways[LINEAR + x->ndim - 3]);
    if (aligned && (way <= NEAREST_EXACT || way == AREA))
        luaL_error(L, "interpolate: align_corners is of 'linear', 'bilinear', 'trilinear' and 'bicubic', not of '%s'",
                   ways[way]);
    return way;
}

/* Pushes the means of all old elements of the array at x that a new one stands for. */
static int push_area(lua_State *L, int x, const struct line *lines)
{
    static const char *const pools[] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
    int axes = lg_form(L, x)->ndim - 2;
    int64_t size[MOST_AXES];
    for (int i = 0; i < axes; i++) size[i] = lines[i].to;
    lg_push_shape(L, axes, size);
    return lg_step(L, pools[axes - 1], "vv", x, lua_gettop(L));
}

/* gpu.interpolate(x [, size [, scale_factor [, mode [, align_corners]]]]) */
static int interpolate(lua_State *L)
{
    const struct rt_array *x = lg_check_form(L, 1);
    struct line lines[MOST_AXES];
    lua_settop(L, 5);
    bool aligned = lg_check_flag(L, 5, "align_corners");
    enum way way = check_way(L, x, aligned);
    check_lengths(L, x, way, aligned, lines);
    enum rt_dtype t = x->dtype;
    if (way > NEAREST_EXACT) {
        lg_check(L, kn_check_real(x, "interpolate", lg_error_box(L)));
        t = lg_floating(x);
    }
    if (way == AREA) {
        push_area(L, push_settled(L, 1, t), lines);
        return 1;
    }
    int at = push_settled(L, 1, way > NEAREST_EXACT ? kn_wide_dtype(t) : t);
    for (int i = 0; i < x->ndim - 2; i++)
        if (lines[i].to != lines[i].from || lines[i].scale != 1) at = push_axis(L, at, i + 2, &lines[i]);
    at = push_settled(L, at, t);
    if (at == 1) at = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, at);
    return 1;
}

/* ---- grid_sample ---- */

enum sampling { SAMPLE_BILINEAR, SAMPLE_NEAREST, SAMPLE_BICUBIC };
enum beyond { ZEROS, BORDER, REFLECTION };

struct sampler {
    enum sampling sampling;
    enum beyond beyond;
    bool aligned;
};

/* What a place along one axis of n elements adds up: indices from 0, as floats inside the axis, and weights; 0: one. */
struct taps {
    int64_t n;
    int count, at[MOST_TAPS], weight[MOST_TAPS];
};

static int push_clipped(lua_State *L, int x, int64_t n)
{
    return lg_step(L, "clip", "vnn", x, 0.0, (double)(n - 1));
}

/* Pushes coordinates mirrored at the first and last elements, or at their outer edges, until they are inside. */
static int push_mirrored(lua_State *L, int x, int64_t n, bool aligned)
{
    double low = aligned ? 0 : -0.5, span = aligned ? (double)(n - 1) : (double)n;
    if (span == 0) return lg_step(L, "mul", "vn", x, 0.0);
    int turned = lg_step(L, "mod", "vn", lg_step(L, "sub", "vn", x, low), 2 * span);
    int back = lg_step(L, "sub", "nv", 2 * span, turned);
    return push_clipped(L, lg_step(L, "add", "vn", lg_step(L, "minimum", "vv", turned, back), low), n);
}

/* Pushes coordinates from 0 of those in a grid, from -1 to 1, as the mode has them beyond the axis. */
static int push_coordinates(lua_State *L, const struct sampler *s, int grid, int64_t n)
{
    double half = (s->aligned ? (double)(n - 1) : (double)n) / 2;
    int x = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", grid, half), (double)(n - 1) / 2);
    if (s->sampling == SAMPLE_BICUBIC || s->beyond == ZEROS) return x;
    return s->beyond == BORDER ? push_clipped(L, x, n) : push_mirrored(L, x, n, s->aligned);
}

/* The weights as weigh_cubic has them, of the rest t at a stack index. */
static int push_cubic(lua_State *L, int t, int j)
{
    double a = CUBIC;
    int r = j < 2 ? t : lg_step(L, "sub", "nv", 1.0, t);
    if (j == 0 || j == 3) {
        int u = lg_step(L, "add", "vn", r, 1.0);
        int v = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", u, a), -5 * a);
        v = lg_step(L, "add", "vn", lg_step(L, "mul", "vv", v, u), 8 * a);
        return lg_step(L, "add", "vn", lg_step(L, "mul", "vv", v, u), -4 * a);
    }
    int v = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", r, a + 2), -(a + 3));
    return lg_step(L, "add", "vn", lg_step(L, "mul", "vv", lg_step(L, "mul", "vv", v, r), r), 1.0);
}

/* Pushes the taps of the coordinates at x. */
static void push_taps(lua_State *L, const struct sampler *s, int x, int64_t n, struct taps *t)
{
    bool nearest = s->sampling == SAMPLE_NEAREST;
    int first = lg_step(L, nearest ? "round" : "floor", "v", x), rest = lg_step(L, "sub", "vv", x, first);
    *t = (struct taps){.n = n, .count = nearest ? 1 : s->sampling == SAMPLE_BILINEAR ? 2 : MOST_TAPS};
    for (int j = 0; j < t->count; j++) {
        int away = t->count == MOST_TAPS ? j - 1 : j, at = first, weight = 0;
        if (away) at = lg_step(L, "add", "vn", first, (double)away);
        if (t->count == 2) weight = j ? rest : lg_step(L, "sub", "nv", 1.0, rest);
        if (t->count == MOST_TAPS) weight = push_cubic(L, rest, j);
        if (s->beyond == ZEROS) {
            int inside = lg_step(L, "to", "vs", lg_step(L, "eq", "vv", at, push_clipped(L, at, n)),
                                 rt_dtypes[lg_form(L, x)->dtype].name);
            weight = weight ? lg_step(L, "mul", "vv", weight, inside) : inside;
        }
        t->at[j] = t->count == MOST_TAPS && s->beyond == REFLECTION ? push_mirrored(L, at, n, s->aligned)
                                                                    : push_clipped(L, at, n);
        t->weight[j] = weight;
    }
}

/* Pushes the sum over all taps of `axes` axes of the array at x, (N, C, elements), at (N, 1, places). */
static int push_sum(lua_State *L, int x, int axes, const struct taps *taps, int64_t places)
{
    const struct rt_array *a = lg_form(L, x);
    int j[MOST_AXES] = {0}, sum = 0, base = lua_gettop(L);
    const char *dtype = rt_dtypes[a->dtype].name;
    int64_t shape[3] = {a->shape[0], a->shape[1], places};
    lg_push_shape(L, 3, shape);
    int whole = lua_gettop(L), keep = whole + 1;
    for (bool more = true; more;) {
        int flat = 0, weight = 0;
        for (int i = 0; i < axes; i++) {
            int at = lg_step(L, "to", "vs", taps[i].at[j[i]], "int64"), w = taps[i].weight[j[i]];
            flat = flat ? lg_step(L, "add", "vv", lg_step(L, "mul", "vi", flat, taps[i].n), at) : at;
            if (w) weight = weight ? lg_step(L, "mul", "vv", weight, w) : w;
        }
        flat = lg_step(L, "broadcast_to", "vv", lg_step(L, "add", "vi", flat, (int64_t)1), whole);
        int part = lg_step(L, "gather", "viv", x, (int64_t)3, flat);
        if (weight) part = lg_step(L, "mul", "vv", part, lg_step(L, "to", "vs", weight, dtype));
        if (sum) part = lg_step(L, "add", "vv", sum, part);
        lua_copy(L, part, keep);
        lua_settop(L, sum = keep);
        int i = axes - 1;
        for (; i >= 0 && ++j[i] == taps[i].count; i--) j[i] = 0;
        more = i >= 0;
    }
    lua_copy(L, sum, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

static void check_grid(lua_State *L, const struct rt_array *x, const struct rt_array *grid)
{
    char has[256], text[256];
    int axes = x->ndim - 2;
    if (x->ndim != 4 && x->ndim != 5)
        luaL_error(L, "grid_sample: x has the shape %s, expected (N, C, H, W) or (N, C, D, H, W)",
                   rt_shape_text(x->ndim, x->shape, has, sizeof has));
    if (grid->ndim != x->ndim || grid->shape[0] != x->shape[0] || grid->shape[grid->ndim - 1] != axes)
        luaL_error(L, "grid_sample: the grid has the shape %s beside x of shape %s, expected (N, ..., %d) of %d axes",
                   rt_shape_text(grid->ndim, grid->shape, has, sizeof has),
                   rt_shape_text(x->ndim, x->shape, text, sizeof text), axes, x->ndim);
    for (int i = 2; i < x->ndim; i++)
        if (x->shape[i] == 0) luaL_error(L, "grid_sample: axis %d of x has no elements", i + 1);
    lg_check(L, kn_check_real(x, "grid_sample", lg_error_box(L)));
    lg_check(L, kn_check_real(grid, "grid_sample", lg_error_box(L)));
}

/* gpu.grid_sample(x, grid [, mode [, padding_mode [, align_corners]]]) */
static int grid_sample(lua_State *L)
{
    static const char *const modes[] = {"bilinear", "nearest", "bicubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const struct rt_array *x = lg_check_form(L, 1), *grid = lg_step_array(L, 2, x, RT_DTYPE_COUNT);
    lua_settop(L, 5);
    check_grid(L, x, grid);
    struct sampler s = {(enum sampling)lg_check_option(L, 3, "bilinear", modes),
                        (enum beyond)lg_check_option(L, 4, "zeros", paddings), lg_check_flag(L, 5, "align_corners")};
    int axes = x->ndim - 2;
    if (s.sampling == SAMPLE_BICUBIC && axes != 2)
        return luaL_error(L, "grid_sample: 'bicubic' is of images (N, C, H, W); of volumes there is 'bilinear'");
    enum rt_dtype t = s.sampling == SAMPLE_NEAREST ? x->dtype : lg_floating(x), wide = kn_wide_dtype(lg_floating(x));
    int64_t n = x->shape[0], places = 1, elements = 1, shape[RT_MAX_DIMS] = {n, x->shape[1]};
    for (int i = 0; i < axes; i++) {
        elements *= x->shape[i + 2];
        places *= shape[i + 2] = grid->shape[i + 1];
    }
    struct taps taps[MOST_AXES];
    luaL_checkstack(L, 256, NULL);
    int g = push_settled(L, 2, kn_wide_dtype(lg_floating(grid)));
    g = lg_push_reshaped(L, g, 4, (int64_t[]){n, 1, places, axes});
    int images = push_settled(L, 1, s.sampling == SAMPLE_NEAREST && s.beyond != ZEROS ? t : wide);
    images = lg_push_reshaped(L, images, 3, (int64_t[]){n, x->shape[1], elements});
    for (int i = 0; i < axes; i++) { /* the grid names the last axis first */
        int at = lg_step(L, "select", "vii", g, (int64_t)4, (int64_t)(axes - i));
        push_taps(L, &s, push_coordinates(L, &s, at, x->shape[i + 2]), x->shape[i + 2], &taps[i]);
    }
    int sum = push_settled(L, push_sum(L, images, axes, taps, places), t);
    lg_push_reshaped(L, sum, x->ndim, shape);
    return 1;
}

/* ---- affine_grid ---- */

/* gpu.affine_grid(theta, size [, align_corners]) */
static int affine_grid(lua_State *L)
{
    const struct rt_array *theta = lg_step_array(L, 1, NULL, RT_DTYPE_COUNT);
    char text[256];
    lua_settop(L, 3);
    luaL_checktype(L, 2, LUA_TTABLE);
    int axes = (int)lua_rawlen(L, 2) - 2, next;
    int64_t size[RT_MAX_DIMS];
    lg_check(L, kn_check_real(theta, "affine_grid", lg_error_box(L)));
    if (axes != 2 && axes != 3)
        return luaL_error(L, "affine_grid: size has %d numbers, expected those of (N, C, H, W) or (N, C, D, H, W)",
                          axes + 2);
    lg_check_shape(L, 2, false, size, &next);
    bool aligned = lg_check_flag(L, 3, "align_corners");
    if (theta->ndim != 3 || theta->shape[0] != size[0] || theta->shape[1] != axes || theta->shape[2] != axes + 1)
        return luaL_error(L, "affine_grid: theta has the shape %s, expected (%I, %d, %d) for that size",
                          rt_shape_text(theta->ndim, theta->shape, text, sizeof text), (LUAI_UACINT)size[0], axes,
                          axes + 1);
    enum rt_dtype t = lg_floating(theta);
    const char *wide = rt_dtypes[kn_wide_dtype(t)].name, *device = rt_array_device(theta)->name;
    int turn = lg_step(L, "reshape", "viiii", lg_step(L, "to", "vs", 1, wide), size[0], (int64_t)1, (int64_t)axes,
                       (int64_t)axes + 1);
    int sum = lg_step(L, "select", "vii", turn, (int64_t)4, (int64_t)axes + 1); /* what moves */
    for (int i = 0; i < axes; i++) {                                            /* x, y, z: the last axis first */
        int64_t n = size[axes + 1 - i], shape[RT_MAX_DIMS];
        int at = lg_step(L, "gpu.range", "iiss", (int64_t)1, n, "float64", device);
        double step = aligned ? (n > 1 ? 2.0 / (double)(n - 1) : 0) : n ? 2.0 / (double)n : 0;
        at = lg_step(L, "mul", "vn", lg_step(L, "sub", "vn", at, (double)(n + 1) / 2), step);
        for (int k = 0; k < axes + 2; k++) shape[k] = k == axes - i ? n : 1;
        at = lg_push_reshaped(L, lg_step(L, "to", "vs", at, wide), axes + 2, shape);
        int column = lg_step(L, "select", "vii", turn, (int64_t)4, (int64_t)i + 1);
        for (int k = 0; k < axes + 2; k++) shape[k] = k == 0 ? size[0] : k == axes + 1 ? axes : 1;
        int term = lg_step(L, "mul", "vv", at, lg_push_reshaped(L, column, axes + 2, shape));
        sum = i ? sum : lg_push_reshaped(L, sum, axes + 2, shape);
        sum = lg_step(L, "add", "vv", sum, term);
    }
    lua_pushvalue(L, push_settled(L, sum, t));
    return 1;
}

#define ALIGNED                                                                                                        \
    "With align_corners the middles of the first and the last element lie at the ends, and without it their outer "    \
    "edges. "

const struct lg_function lg_sample_functions[] = {
    {"interpolate", interpolate, "gpu.interpolate(x [, size [, scale_factor [, mode [, align_corners]]]])",
     "x, (N, C, ...) with one to three axes more, in another size: a number, or a list of one for each of these axes.\n"
     "scale_factor says it as a multiple instead. The mode is \"nearest\", unless told otherwise, \"nearest-exact\", whose "
     "elements lie in the middle, \"linear\", \"bilinear\" or \"trilinear\" for one, two or three axes, \"bicubic\" for "
     "images, or \"area\", the mean of what an element stands for. " ALIGNED
     "As in PyTorch nothing is smoothed before an image is made smaller; integers become floats unless the nearest is taken. "
     "No axis of the result has more than 134,217,728 elements (2^27).",
     "local x = gpu.array({{{1, 3}}})\n"
     "assert(gpu.interpolate(x, {scale_factor = 2}):equal(gpu.array({{{1, 1, 3, 3}}})))\n"
     "assert(gpu.interpolate(x, 3, {mode = 'linear', align_corners = true}):equal(gpu.array({{{1, 2, 3}}})))"},
    {"grid_sample", grid_sample, "gpu.grid_sample(x, grid [, mode [, padding_mode [, align_corners]]])",
     "Images x, (N, C, H, W), at the places of a grid, (N, rows, columns, 2): the result is (N, C, rows, columns).\n"
     "A place is {across, down}, from -1 to 1; volumes (N, C, D, H, W) have a grid (N, ..., 3). The mode is "
     "\"bilinear\", unless told otherwise, \"nearest\" or, for images, \"bicubic\". What lies beyond the edges is 0 with "
     "padding_mode \"zeros\", the default, the last element with \"border\", or mirrored with \"reflection\". " ALIGNED
     "gpu.affine_grid makes grids.",
     "local x = gpu.array({{{{1, 2}, {3, 4}}}})\n"
     "assert(gpu.grid_sample(x, {{{{0, 0}, {1, -1}}}}, {align_corners = true}):equal(gpu.array({{{{2.5, 2}}}})))"},
    {"affine_grid", affine_grid, "gpu.affine_grid(theta, size [, align_corners])",
     "The grid by which gpu.grid_sample turns, moves and stretches images: theta, (N, 2, 3), times {across, down, 1}.\n"
     "size is that of the images to come, {N, C, H, W}; volumes have a theta (N, 3, 4) and {N, C, D, H, W}. " ALIGNED,
     "local x = gpu.range(6):reshape(1, 1, 2, 3)\nlocal turn = gpu.array({{{-1, 0, 0}, {0, -1, 0}}})\n"
     "assert(gpu.grid_sample(x, gpu.affine_grid(turn, {1, 1, 2, 3})):allclose(gpu.rot90(x, 2, {3, 4})))"},
    {0}};
