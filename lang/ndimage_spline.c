/* gpu.ndimage: values between elements, by splines of the orders 0 to 5: at coordinates, moved, turned, in other sizes.
 * A spline of order k is a sum of bells, each k + 1 elements wide. From order 2 on their heights are not the elements
 * themselves: a filter whose answer falls off by powers of its poles makes them. */
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/ndimage.h"

enum { MOST_ORDER = 5, MOST_AXES = 6, EDGE = 12 /* elements repeated beyond an edge before the filter */ };
enum mode { CONSTANT, NEAREST, REFLECT, MIRROR, WRAP };

struct spline {
    const char *what;
    int order;
    enum mode mode;
    double value;                                  /* of CONSTANT */
    bool closed;                                   /* all places are inside, but for what rounding does */
    double pieces[MOST_ORDER + 1][MOST_ORDER + 1]; /* of the bell: the factor of f^i between p and p + 1, [p][i] */
};

/* Each bell from the one of an order less, stretched by both its sides. */
static void make_pieces(struct spline *s)
{
    double old[MOST_ORDER + 2][MOST_ORDER + 1] = {{1}};
    for (int d = 1; d <= s->order; d++) {
        double next[MOST_ORDER + 2][MOST_ORDER + 1] = {{0}};
        for (int p = 0; p <= d; p++)
            for (int i = 0; i <= d; i++) {
                double here = p < d ? old[p][i] : 0, before = p > 0 ? old[p - 1][i] : 0;
                next[p][i] += (p * here + (d + 1 - p) * before) / d;
                if (i < d) next[p][i + 1] += (here - before) / d;
            }
        memcpy(old, next, sizeof old);
    }
    memcpy(s->pieces, old, sizeof s->pieces);
}

/* Order, mode and value from idx on. */
static struct spline check_spline(lua_State *L, int idx, const char *what)
{
    static const char *const modes[] = {"constant", "nearest", "reflect", "mirror", "wrap", NULL};
    struct spline s = {.what = what};
    lua_Integer order = lg_integer_option(L, idx, what, "order", 1);
    if (order < 0 || order > MOST_ORDER)
        luaL_error(
            L,
            "%s: order %I is not there; 0 takes the nearest element, 1 goes straight between neighbours, 2 to 5 are "
            "splines",
            what, (LUAI_UACINT)order);
    s.order = (int)order;
    s.mode = (enum mode)lg_check_option(L, idx + 1, "constant", modes);
    s.value = lg_number_option(L, idx + 2, what, "cval", 0);
    make_pieces(&s);
    return s;
}

/* ---- heights of bells ---- */

static int poles_of(int order, double poles[2])
{
    switch (order) {
    case 2: poles[0] = sqrt(8.0) - 3; return 1;
    case 3: poles[0] = sqrt(3.0) - 2; return 1;
    case 4:
        poles[0] = sqrt(664 - sqrt(438976.0)) + sqrt(304.0) - 19;
        poles[1] = sqrt(664 + sqrt(438976.0)) - sqrt(304.0) - 19;
        return 2;
    case 5:
        poles[0] = sqrt(67.5 - sqrt(4436.25)) + sqrt(26.25) - 6.5;
        poles[1] = sqrt(67.5 + sqrt(4436.25)) - sqrt(26.25) - 6.5;
        return 2;
    default: return 0;
    }
}

static struct lg_border border_of(const struct spline *s)
{
    static const char *const pads[] = {"reflect", "symmetric", "symmetric", "reflect", "wrap"};
    return (struct lg_border){pads[s->mode], 0};
}

/* Pushes the heights along an axis, from the elements at x. */
static int push_heights(lua_State *L, const struct spline *s, int x, int axis)
{
    double poles[2];
    int count = poles_of(s->order, poles);
    struct lg_border b = border_of(s);
    for (int i = 0; i < count; i++) {
        double z = poles[i], factor = -z * (1 - z) * (1 - 1 / z) / (1 - z * z);
        int reach = (int)ceil(log(1e-17) / log(fabs(z)));
        double *w = lua_newuserdatauv(L, (size_t)(2 * reach + 1) * sizeof *w, 0);
        for (int k = -reach; k <= reach; k++) w[k + reach] = factor * pow(z, k < 0 ? -k : k);
        x = lg_push_weighed(L, x, axis, &(struct lg_weights){w, 2 * reach + 1, reach}, &b);
    }
    return x;
}

/* How many elements stand before the first one of what push_bells makes. */
static int64_t before(const struct spline *s)
{
    return (s->order > 1 && s->mode == NEAREST ? EDGE : 0) + s->order / 2 + 1;
}

/* Pushes what bells are added up from along an axis: their heights, with so many more at both ends as the bells of a
 * place inside reach over. */
static int push_bells(lua_State *L, const struct spline *s, int x, int axis)
{
    struct lg_border b = border_of(s), repeated = {"edge", 0};
    int64_t more = s->order / 2 + 1;
    if (s->mode == NEAREST && s->order > 1) x = lg_push_padded(L, x, axis, EDGE, EDGE, &repeated);
    return lg_push_padded(L, push_heights(L, s, x, axis), axis, more, more, s->mode == NEAREST ? &repeated : &b);
}

/* ---- where ---- */

/* Pushes coordinates from 0, float64, as they are where the array is known: from the first to the last element, or half
 * an element beyond them where it is mirrored there. *outside, from 0 where nothing is, is where the others were. */
static int push_inside(lua_State *L, const struct spline *s, int at, int64_t n, int *outside)
{
    double last = (double)(n - 1), beyond = s->mode == NEAREST && s->order > 1 ? EDGE : 0;
    if (s->mode == CONSTANT && !s->closed) {
        int either = lg_step(L, "logical_or", "vv", lg_step(L, "lt", "vn", at, 0.0), lg_step(L, "gt", "vn", at, last));
        *outside = *outside ? lg_step(L, "logical_or", "vv", *outside, either) : either;
    }
    if (s->mode == CONSTANT || s->mode == NEAREST) return lg_step(L, "clip", "vnn", at, -beyond, last + beyond);
    if (s->mode == WRAP) return lg_step(L, "mod", "vn", at, (double)n);
    double half = s->mode == REFLECT ? 0.5 : 0, period = s->mode == REFLECT ? (double)n : last;
    if (period == 0) return lg_step(L, "mul", "vn", at, 0.0);
    int turned = lg_step(L, "mod", "vn", lg_step(L, "add", "vn", at, half), 2 * period); /* there and back */
    int back = lg_step(L, "add", "vn", lg_step(L, "neg", "v", turned), 2 * period);
    return lg_step(L, "add", "vn", lg_step(L, "minimum", "vv", turned, back), -half);
}

/* What a place along one axis adds up: order + 1 elements from `first` on, int64 from 1, by their weights. */
struct taps {
    int first, weight[MOST_ORDER + 1];
};

/* Pushes the taps of coordinates from 0, float64, along an axis of n elements; the weights are of the dtype of the
 * array at x. */
static struct taps push_taps(lua_State *L, const struct spline *s, int x, int at, int64_t n, int *outside)
{
    struct taps t;
    const char *dtype = rt_dtypes[lg_form(L, x)->dtype].name;
    int k = s->order, inside = push_inside(L, s, at, n, outside);
    if (k % 2 == 0) inside = lg_step(L, "add", "vn", inside, 0.5);
    int floor = lg_step(L, "floor", "v", inside), rest = lg_step(L, "sub", "vv", inside, floor);
    int first = lg_step(L, "add", "vn", floor, (double)(before(s) + 1 - (int64_t)(k / 2)));
    t.first = lg_step(L, "to", "vs", first, "int64");
    for (int j = 0; j <= k && k > 0; j++) {
        const double *piece = s->pieces[k - j];
        int sum = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", rest, piece[k]), piece[k - 1]);
        for (int i = k - 2; i >= 0; i--) sum = lg_step(L, "add", "vn", lg_step(L, "mul", "vv", sum, rest), piece[i]);
        t.weight[j] = lg_step(L, "to", "vs", sum, dtype);
    }
    return t;
}

/* Pushes the array at x where it is inside, and else the value. */
static int push_bounded(lua_State *L, const struct spline *s, int x, int outside)
{
    return outside ? lg_step(L, "where", "vnv", outside, s->value, x) : x;
}

/* ---- along one axis ---- */

/* Pushes the values of the bells at x at coordinates from 0, one axis of float64, along an axis that had n elements. */
static int push_along(lua_State *L, const struct spline *s, int x, int axis, int64_t n, int at)
{
    const struct rt_array *a = lg_form(L, x);
    int64_t shape[RT_MAX_DIMS];
    int base = lua_gettop(L), outside = 0, sum = 0, ndim = a->ndim;
    for (int i = 0; i < ndim; i++) shape[i] = i == axis ? -1 : 1;
    lg_push_shape(L, ndim, shape);
    int beside = lua_gettop(L);
    const struct taps t = push_taps(L, s, x, at, n, &outside);
    for (int j = 0; j <= s->order; j++) {
        int place = j ? lg_step(L, "add", "vi", t.first, (int64_t)j) : t.first;
        int part = lg_step(L, "take", "vvi", x, place, (int64_t)axis + 1);
        if (s->order) part = lg_step(L, "mul", "vv", part, lg_step(L, "reshape", "vv", t.weight[j], beside));
        sum = sum ? lg_step(L, "add", "vv", sum, part) : part;
    }
    if (outside) outside = lg_step(L, "reshape", "vv", outside, beside);
    lua_copy(L, push_bounded(L, s, sum, outside), base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* Pushes coordinates start, start + step, ..., `count` of them. */
static int push_coordinates(lua_State *L, double start, double step, int64_t count, const struct rt_array *beside)
{
    int at = lg_step(L, "gpu.range", "iiss", (int64_t)0, count - 1, "float64", rt_array_device(beside)->name);
    return lg_step(L, "add", "vn", lg_step(L, "mul", "vn", at, step), start);
}

static int zoom(lua_State *L)
{
    double factor[RT_MAX_DIMS] = {0};
    const struct rt_array *a = lg_check_form(L, 1);
    lua_settop(L, 5);
    struct spline s = check_spline(L, 3, "zoom");
    s.closed = true;
    lg_check_each(L, 2, a->ndim, &(struct lg_each){"zoom", "factor", 0, LG_MOST_REACH}, factor);
    if (s.order) a = lg_check_image(L, "zoom");
    int x = 1, ndim = a->ndim;
    for (int i = 0; i < ndim; i++) {
        int64_t n = lg_form(L, x)->shape[i];
        double count = rint((double)n * factor[i]);
        if (!(factor[i] > 0) || !(count < 1e15)) return luaL_error(L, "zoom: a factor is above 0, not %f", factor[i]);
        if ((int64_t)count == n || n == 0) continue;
        double step = count > 1 ? (double)(n - 1) / (count - 1) : 0;
        int at = push_coordinates(L, 0, step, (int64_t)count, lg_form(L, x));
        x = push_along(L, &s, push_bells(L, &s, x, i), i, n, at);
    }
    if (x == 1) x = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, x);
    return 1;
}

static int shift(lua_State *L)
{
    double by[RT_MAX_DIMS] = {0};
    const struct rt_array *a = lg_check_image(L, "shift");
    lua_settop(L, 5);
    struct spline s = check_spline(L, 3, "shift");
    lg_check_each(L, 2, a->ndim, &(struct lg_each){"shift", "by", -1e15, 1e15}, by);
    int x = 1, ndim = a->ndim;
    for (int i = 0; i < ndim && rt_array_size(a) > 0; i++) {
        int64_t n = lg_form(L, x)->shape[i];
        if (by[i] == 0) continue;
        x = push_along(L, &s, push_bells(L, &s, x, i), i, n, push_coordinates(L, -by[i], 1, n, lg_form(L, x)));
    }
    if (x == 1) x = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, x);
    return 1;
}

static int spline_filter(lua_State *L)
{
    const struct rt_array *a = lg_check_image(L, "spline_filter");
    lua_settop(L, 3);
    lua_pushnil(L);
    if (lua_isnil(L, 2)) {
        lua_pushinteger(L, 3);
        lua_replace(L, 2);
    }
    if (lua_isnil(L, 3)) {
        lua_pushliteral(L, "mirror");
        lua_replace(L, 3);
    }
    struct spline s = check_spline(L, 2, "spline_filter");
    int x = 1, ndim = a->ndim;
    for (int i = 0; i < ndim && rt_array_size(a) > 0; i++) x = push_heights(L, &s, x, i);
    if (x == 1) x = lg_step(L, "clone", "v", 1);
    lua_pushvalue(L, x);
    return 1;
}

/* ---- at places of all axes ---- */

/* Pushes the values of the array at x, along its last axes, at coordinates from 0: an array of float64 for each of
 * them, all of one shape, at the stack indices `at`. */
static int push_at(lua_State *L, const struct spline *s, int x, int axes, const int *at)
{
    struct taps t[MOST_AXES] = {{0}};
    int outside = 0, sum = 0, lead = lg_form(L, x)->ndim - axes, bells = x, j[MOST_AXES] = {0};
    const char *dtype = rt_dtypes[lg_form(L, x)->dtype].name;
    luaL_checkstack(L, 64 * axes + 64, NULL);
    for (int i = 0; i < axes; i++) {
        t[i] = push_taps(L, s, x, at[i], lg_form(L, x)->shape[lead + i], &outside);
        bells = push_bells(L, s, bells, lead + i);
    }
    for (bool more = true; more;) {
        int top = lua_gettop(L), product = 0;
        lua_createtable(L, axes + 1, 0);
        lua_pushliteral(L, "...");
        lua_rawseti(L, top + 1, 1);
        for (int i = 0; i < axes; i++) {
            int place = j[i] ? lg_step(L, "add", "vi", t[i].first, (int64_t)j[i]) : t[i].first;
            lua_pushvalue(L, place);
            lua_rawseti(L, top + 1, i + 2);
            if (s->order == 0) continue;
            int w = t[i].weight[j[i]];
            product = product ? lg_step(L, "mul", "vv", product, w) : w;
        }
        lua_pushvalue(L, bells);
        lua_pushvalue(L, top + 1);
        lua_gettable(L, -2);
        int term = lua_gettop(L);
        if (!lg_test_array(L, term)) term = lg_step(L, "gpu.full_like", "vv", t[0].first, term);
        if (product) term = lg_step(L, "mul", "vv", term, product);
        if (sum) term = lg_step(L, "add", "vv", sum, term);
        lua_copy(L, term, top + 1);
        if (sum) lua_copy(L, top + 1, sum);
        if (!sum) sum = top + 1;
        lua_settop(L, sum);
        int i = axes - 1;
        for (; i >= 0 && ++j[i] > s->order; i--) j[i] = 0;
        more = i >= 0;
    }
    int out = push_bounded(L, s, sum, outside);
    return lg_form(L, out)->dtype == lg_form(L, x)->dtype ? out : lg_step(L, "to", "vs", out, dtype);
}

static void check_places(lua_State *L, const struct rt_array *a, const char *what)
{
    if (rt_array_size(a) == 0) luaL_error(L, "%s: x has no elements", what);
    if (a->ndim > MOST_AXES) luaL_error(L, "%s: x has %d axes, expected %d at most", what, a->ndim, MOST_AXES);
}

static int map_coordinates(lua_State *L)
{
    const struct rt_array *a = lg_check_image(L, "map_coordinates"), *c = lg_step_array(L, 2, a, lg_floating(a));
    char text[256];
    lua_settop(L, 5);
    struct spline s = check_spline(L, 3, "map_coordinates");
    lg_check(L, kn_check_real(c, "map_coordinates", lg_error_box(L)));
    if (c->ndim == 0 || c->shape[0] != a->ndim)
        return luaL_error(
            L, "map_coordinates: the coordinates have the shape %s, expected %d rows, one for each axis of x",
            rt_shape_text(c->ndim, c->shape, text, sizeof text), a->ndim);
    check_places(L, a, "map_coordinates");
    int at[MOST_AXES] = {0};
    for (int i = 0; i < a->ndim; i++) {
        int row = lg_step(L, "select", "vii", 2, (int64_t)1, (int64_t)i + 1);
        at[i] = lg_step(L, "sub", "vi", lg_step(L, "to", "vs", row, "float64"), (int64_t)1);
    }
    push_at(L, &s, 1, a->ndim, at);
    return 1;
}

/* Where an array is looked at for the places of a shape: the matrix, of `axes` rows, times the place plus the offset.
 */
struct move {
    int axes;
    const double *matrix, *offset;
    const int64_t *shape;
};

/* Pushes for each axis the coordinates at all places, both from 0. */
static void push_moved(lua_State *L, const struct move *m, int *at, const struct rt_array *beside)
{
    const int axes = m->axes;
    int64_t along[MOST_AXES];
    int places[MOST_AXES] = {0};
    lg_push_shape(L, axes, m->shape);
    int whole = lua_gettop(L);
    for (int i = 0; i < axes; i++) {
        for (int k = 0; k < axes; k++) along[k] = k == i ? m->shape[i] : 1;
        int line = push_coordinates(L, 0, 1, m->shape[i], beside);
        lg_push_shape(L, axes, along);
        places[i] = lg_step(L, "reshape", "vv", line, lua_gettop(L));
    }
    for (int i = 0; i < axes; i++) {
        const double *row = m->matrix + (ptrdiff_t)i * axes;
        int sum = lg_step(L, "add", "vn", lg_step(L, "mul", "vn", places[0], row[0]), m->offset[i]);
        for (int k = 1; k < axes; k++) sum = lg_step(L, "add", "vv", sum, lg_step(L, "mul", "vn", places[k], row[k]));
        at[i] = lg_step(L, "broadcast_to", "vv", sum, whole);
    }
}

/* Replaces the table or array of numbers at idx by a list of them, row by row; what it is is in `expected`. */
static void check_numbers(lua_State *L, int idx, int count, const char *expected)
{
    char text[256];
    const struct rt_array *a = lg_step_array(L, idx, NULL, RT_FLOAT64);
    lg_check(L, kn_check_real(a, "affine_transform", lg_error_box(L)));
    if (rt_array_size(a) != count)
        luaL_error(L, "affine_transform: %s expected, got the shape %s", expected,
                   rt_shape_text(a->ndim, a->shape, text, sizeof text));
    lg_step(L, "totable", "v", lg_step(L, "flatten", "v", lg_step(L, "to", "vs", idx, "float64")));
    lua_replace(L, idx);
}

static double number_of(lua_State *L, int list, int i)
{
    lua_rawgeti(L, list, i + 1);
    double v = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return v;
}

static int affine_transform(lua_State *L)
{
    static const char *const names[] = {"offset", "shape", "order", "mode", "cval", NULL};
    const struct rt_array *a = lg_check_image(L, "affine_transform");
    double matrix[MOST_AXES * MOST_AXES] = {0}, offset[MOST_AXES] = {0};
    int64_t shape[RT_MAX_DIMS];
    int at[MOST_AXES] = {0}, n = a->ndim, next;
    lg_spread(L, 3, "affine_transform", names);
    struct spline s = check_spline(L, 5, "affine_transform");
    check_places(L, a, "affine_transform");
    check_numbers(L, 2, n * n, lua_pushfstring(L, "a matrix of %d rows and columns", n));
    for (int i = 0; i < n * n; i++) matrix[i] = number_of(L, 2, i);
    if (!lua_isnil(L, 3)) {
        check_numbers(L, 3, n, lua_pushfstring(L, "an offset of %d numbers", n));
        for (int i = 0; i < n; i++) offset[i] = number_of(L, 3, i);
    }
    for (int i = 0; i < n; i++) { /* indices count from 1 on both sides */
        offset[i] -= 1;
        for (int k = 0; k < n; k++) offset[i] += matrix[i * n + k];
    }
    memcpy(shape, a->shape, sizeof shape);
    if (!lua_isnil(L, 4)) {
        luaL_checktype(L, 4, LUA_TTABLE);
        if (lg_check_shape(L, 4, false, shape, &next) != n)
            return luaL_error(L, "affine_transform: the shape has %d sizes, expected %d", (int)lua_rawlen(L, 4), n);
    }
    push_moved(L, &(struct move){n, matrix, offset, shape}, at, a);
    push_at(L, &s, 1, n, at);
    return 1;
}

/* The sine and the cosine of an angle in degrees, exact where it is a multiple of a right angle. */
static void turn_of(double degrees, double *c, double *s)
{
    static const double exact[] = {1, 0, -1, 0};
    double r = fmod(degrees, 360), quarter = rint(r / 90);
    int q = ((int)quarter % 4 + 4) % 4;
    double rest = (r - 90 * quarter) * (3.14159265358979323846 / 180);
    *c = exact[q] * cos(rest) - exact[(q + 3) % 4] * sin(rest);
    *s = exact[(q + 3) % 4] * cos(rest) + exact[q] * sin(rest);
}

/* The plane's sizes that hold it turned. */
static void fit_plane(double c, double s, const int64_t *in, int64_t *out)
{
    for (int i = 0; i < 2; i++) out[i] = (int64_t)(fabs(c) * (double)in[i] + fabs(s) * (double)in[1 - i] + 0.5);
}

static int rotate(lua_State *L)
{
    static const char *const names[] = {"axes", "reshape", "order", "mode", "cval", NULL};
    const struct rt_array *a = lg_check_image(L, "rotate");
    double degrees = luaL_checknumber(L, 2), c, sine, offset[2];
    int axes[RT_MAX_DIMS] = {0, 1}, at[2] = {0};
    lg_spread(L, 3, "rotate", names);
    luaL_argcheck(L, isfinite(degrees), 2, "the angle is not finite");
    if (a->ndim < 2) return luaL_error(L, "rotate: x has %d axes, expected 2 or more", a->ndim);
    if (!lua_isnil(L, 3) && lg_check_axes(L, 3, a->ndim, axes) != 2)
        return luaL_error(L, "rotate: the axes are two, as {1, 2}");
    int low = axes[0] < axes[1] ? axes[0] : axes[1], high = axes[0] + axes[1] - low;
    bool fit = lua_isnil(L, 4) || lg_check_flag(L, 4, "reshape");
    struct spline s = check_spline(L, 5, "rotate");
    if (rt_array_size(a) == 0) return luaL_error(L, "rotate: x has no elements");
    int64_t in[2] = {a->shape[low], a->shape[high]}, out[2] = {in[0], in[1]};
    turn_of(degrees, &c, &sine);
    if (fit) fit_plane(c, sine, in, out);
    const double matrix[4] = {c, sine, -sine, c};
    for (int i = 0; i < 2; i++) {
        offset[i] = (double)(in[i] - 1) / 2;
        for (int k = 0; k < 2; k++) offset[i] -= matrix[2 * i + k] * (double)(out[k] - 1) / 2;
    }
    int x = lg_step(L, "moveaxis", "vii", 1, (int64_t)high + 1, (int64_t)-1);
    x = lg_step(L, "moveaxis", "vii", x, (int64_t)low + 1, (int64_t)-2);
    push_moved(L, &(struct move){2, matrix, offset, out}, at, a);
    int turned = push_at(L, &s, x, 2, at);
    turned = lg_step(L, "moveaxis", "vii", turned, (int64_t)-2, (int64_t)low + 1);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", turned, (int64_t)-1, (int64_t)high + 1));
    return 1;
}

#define ORDER_DOC                                                                                                       \
    "Order 1, unless told otherwise, goes straight between neighbours, 0 takes the nearest, 2 to 5 are splines, 3 the " \
    "cubic one. "
#define MODE_DOC                                                                                                       \
    "Outside is cval, 0 unless told otherwise; by the mode \"nearest\" the element at the edge, by \"reflect\" and "   \
    "\"mirror\" the elements mirrored, with the last one or without, by \"wrap\" those of the other end."
#define LAST "[, order [, mode [, cval]]]"

const struct lg_function lg_ndimage_splines[] = {
    {"map_coordinates", map_coordinates, "gpu.ndimage.map_coordinates(x, coordinates " LAST ")",
     "The values of x at coordinates that lie between its elements.\n"
     "Coordinates, a row for each axis of x, count from 1 as indices do; the result has the shape of a row. " ORDER_DOC
         MODE_DOC,
     "local x = gpu.array({{1, 2}, {3, 4}})\n"
     "assert(gpu.ndimage.map_coordinates(x, {{1.5, 2}, {1.5, 1.25}}):equal(gpu.array({2.5, 3.25})))"},
    {"zoom", zoom, "gpu.ndimage.zoom(x, factor " LAST ")",
     "With so many times as many elements along each axis; factor is a number or a list of one for each axis.\n"
     "The first and the last elements stay the first and the last. " ORDER_DOC MODE_DOC,
     "assert(gpu.ndimage.zoom(gpu.array({1, 3}), 1.5):equal(gpu.array({1, 2, 3})))"},
    {"shift", shift, "gpu.ndimage.shift(x, by " LAST ")",
     "Moved on along each axis by so many elements, which need not be whole; a number or a list of one for each axis.\n" ORDER_DOC
         MODE_DOC,
     "assert(gpu.ndimage.shift(gpu.array({2, 4, 8}), 0.5, 1, 'nearest'):equal(gpu.array({2, 3, 6})))"},
    {"affine_transform", affine_transform,
     "gpu.ndimage.affine_transform(x, matrix [, offset [, shape " LAST "]] | {offset=, shape=, order=, mode=, cval=})",
     "The array whose element at the index i is that of x at the coordinates matrix times i plus offset; both count from "
     "1.\n"
     "It has the shape of x unless told otherwise. " ORDER_DOC MODE_DOC,
     "local x = gpu.array({{1, 2}, {3, 4}})\n"
     "assert(gpu.ndimage.affine_transform(x, {{0, 1}, {1, 0}}):equal(x.T))"},
    {"rotate", rotate,
     "gpu.ndimage.rotate(x, degrees [, axes [, reshape " LAST "]] | {axes=, reshape=, order=, mode=, cval=})",
     "Turned by an angle in the plane of two axes, in whatever order, the first two unless told otherwise: an image "
     "anticlockwise.\n"
     "It is as large as to hold all of x, or with reshape = false as large as x. " ORDER_DOC MODE_DOC,
     "local x = gpu.array({{1, 2, 3}, {4, 5, 6}})\nassert(gpu.ndimage.rotate(x, 90):equal(gpu.rot90(x)))"},
    {"spline_filter", spline_filter, "gpu.ndimage.spline_filter(x [, order [, mode]])",
     "The heights of the bells whose sum a spline through the elements is: what the functions with an order use from order 2 "
     "on.\nOrder 3 and the mode \"mirror\" unless told otherwise.",
     "local x = gpu.array({1, 1, 1})\nassert(gpu.ndimage.spline_filter(x):allclose(x))"},
    {0}};
