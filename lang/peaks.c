/* gpu.find_peaks: the elements of a row that are greater than their neighbours, and what they are like. Found on the
 * host, since most of it goes from one element to the next. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lang/steps.h"

/* What a peak must have, from low to high. */
struct interval {
    bool given;
    double low, high;
};

/* What is known of a peak, each with the name that it goes by among the properties. Places count from 0 here. */
enum property {
    PLATEAU_SIZE,
    LEFT_EDGE,
    RIGHT_EDGE,
    HEIGHT,
    LEFT_THRESHOLD,
    RIGHT_THRESHOLD,
    PROMINENCE,
    LEFT_BASE,
    RIGHT_BASE,
    WIDTH,
    WIDTH_HEIGHT,
    LEFT_IP,
    RIGHT_IP,
    PROPERTIES
};
static const struct {
    const char *name;
    bool place;    /* it counts from 1 for the user */
    bool fraction; /* a place between elements */
} property_names[PROPERTIES] = {
    [PLATEAU_SIZE] = {"plateau_sizes", false, false},
    [LEFT_EDGE] = {"left_edges", true, false},
    [RIGHT_EDGE] = {"right_edges", true, false},
    [HEIGHT] = {"peak_heights", false, true},
    [LEFT_THRESHOLD] = {"left_thresholds", false, true},
    [RIGHT_THRESHOLD] = {"right_thresholds", false, true},
    [PROMINENCE] = {"prominences", false, true},
    [LEFT_BASE] = {"left_bases", true, false},
    [RIGHT_BASE] = {"right_bases", true, false},
    [WIDTH] = {"widths", false, true},
    [WIDTH_HEIGHT] = {"width_heights", false, true},
    [LEFT_IP] = {"left_ips", true, true},
    [RIGHT_IP] = {"right_ips", true, true},
};

struct peak {
    int64_t at;
    double is[PROPERTIES];
};

/* A row of n elements, and the `count` peaks of it that are left. */
struct peaks {
    const double *x;
    int64_t n, count;
    struct peak *peak;
};

/* ---- one after the other ---- */

/* All elements, or the middles of even stretches, with less on both sides; false: there is no room for more. */
static void find_maxima(struct peaks *p)
{
    const double *x = p->x;
    for (int64_t i = 1; i < p->n - 1; i++) {
        int64_t last = i;
        if (!(x[i - 1] < x[i])) continue;
        while (last + 1 < p->n - 1 && x[last + 1] == x[i]) last++;
        if (x[last + 1] < x[i]) {
            struct peak *k = &p->peak[p->count++];
            k->at = (i + last) / 2;
            k->is[PLATEAU_SIZE] = (double)(last - i + 1);
            k->is[LEFT_EDGE] = (double)i;
            k->is[RIGHT_EDGE] = (double)last;
        }
        i = last;
    }
}

/* Keeps the peaks whose property is in the interval; of two properties the lesser and the greater one are. */
static void keep(struct peaks *p, const struct interval *in, enum property one, enum property other)
{
    int64_t left = 0;
    for (int64_t i = 0; i < p->count; i++) {
        double a = p->peak[i].is[one], b = p->peak[i].is[other];
        if ((a < b ? a : b) >= in->low && (a > b ? a : b) <= in->high) p->peak[left++] = p->peak[i];
    }
    p->count = left;
}

static void find_heights(struct peaks *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        const double *x = p->x + p->peak[i].at;
        p->peak[i].is[HEIGHT] = x[0];
        p->peak[i].is[LEFT_THRESHOLD] = x[0] - x[-1];
        p->peak[i].is[RIGHT_THRESHOLD] = x[0] - x[1];
    }
}

struct place {
    double height;
    int64_t index;
};

static int by_height(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->height != other->height) return one->height < other->height ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* From the highest down, each takes away those that are nearer than the distance; `order` and `gone` have room for all
 * peaks. */
static void keep_apart(struct peaks *p, double distance, struct place *order, bool *gone)
{
    int64_t left = 0;
    for (int64_t i = 0; i < p->count; i++) {
        order[i] = (struct place){p->x[p->peak[i].at], i};
        gone[i] = false;
    }
    qsort(order, (size_t)p->count, sizeof *order, by_height);
    for (int64_t i = p->count - 1; i >= 0; i--) {
        int64_t j = order[i].index;
        if (gone[j]) continue;
        for (int64_t k = j - 1; k >= 0 && (double)(p->peak[j].at - p->peak[k].at) < distance; k--) gone[k] = true;
        for (int64_t k = j + 1; k < p->count && (double)(p->peak[k].at - p->peak[j].at) < distance; k++) gone[k] = true;
    }
    for (int64_t i = 0; i < p->count; i++)
        if (!gone[i]) p->peak[left++] = p->peak[i];
    p->count = left;
}

/* How far a peak stands out: above the higher one of the lowest elements that lie between it and the next higher
 * element on each side, at most `reach` away. */
static void find_prominences(lua_State *L, struct peaks *p, int64_t reach)
{
    for (int64_t i = 0; i < p->count; i++) {
        struct peak *k = &p->peak[i];
        if (i % 16 == 0) lg_poll(L); /* each way may go through all elements */
        int64_t first = k->at > reach ? k->at - reach : 0, last = p->n - 1 - k->at > reach ? k->at + reach : p->n - 1;
        int64_t left = k->at, right = k->at;
        for (int64_t j = k->at - 1; j >= first && p->x[j] <= p->x[k->at]; j--)
            if (p->x[j] < p->x[left]) left = j;
        for (int64_t j = k->at + 1; j <= last && p->x[j] <= p->x[k->at]; j++)
            if (p->x[j] < p->x[right]) right = j;
        k->is[LEFT_BASE] = (double)left;
        k->is[RIGHT_BASE] = (double)right;
        k->is[PROMINENCE] = p->x[k->at] - (p->x[left] > p->x[right] ? p->x[left] : p->x[right]);
    }
}

/* How wide it is at a part of its prominence below its top, between elements on the straight lines. */
static void find_widths(struct peaks *p, double part)
{
    const double *x = p->x;
    for (int64_t i = 0; i < p->count; i++) {
        struct peak *k = &p->peak[i];
        double height = x[k->at] - k->is[PROMINENCE] * part;
        int64_t left = k->at, right = k->at;
        while (left > (int64_t)k->is[LEFT_BASE] && height < x[left]) left--;
        while (right < (int64_t)k->is[RIGHT_BASE] && height < x[right]) right++;
        k->is[LEFT_IP] = (double)left;
        k->is[RIGHT_IP] = (double)right;
        if (x[left] < height) k->is[LEFT_IP] += (height - x[left]) / (x[left + 1] - x[left]);
        if (x[right] < height) k->is[RIGHT_IP] -= (height - x[right]) / (x[right - 1] - x[right]);
        k->is[WIDTH] = k->is[RIGHT_IP] - k->is[LEFT_IP];
        k->is[WIDTH_HEIGHT] = height;
    }
}

/* ---- arguments and results ---- */

enum {
    X = 1,
    HEIGHTS,
    THRESHOLDS,
    DISTANCE,
    PROMINENCES,
    WIDTHS,
    WLEN,
    REL_HEIGHT,
    PLATEAUS,
    LAST_ARGUMENT = PLATEAUS
};

static struct interval check_interval(lua_State *L, int idx, const char *name)
{
    struct interval in = {!lua_isnil(L, idx), -INFINITY, INFINITY};
    if (!in.given) return in;
    if (!lua_istable(L, idx)) {
        in.low = lg_number_option(L, idx, "find_peaks", name, 0);
        return in;
    }
    for (int i = 1; i <= 2; i++) {
        lua_rawgeti(L, idx, i);
        double v = lg_number_option(L, lua_gettop(L), "find_peaks", name, i == 1 ? -INFINITY : INFINITY);
        if (i == 1)
            in.low = v;
        else
            in.high = v;
        lua_pop(L, 1);
    }
    return in;
}

/* Pushes a new array with what is known of all peaks: int64 for whole numbers, else float64. */
static void push_property(lua_State *L, const struct peaks *p, enum property which, struct rt_device *d)
{
    bool fraction = property_names[which].fraction;
    double *values = lua_newuserdatauv(L, (size_t)p->count * sizeof *values + 1, 0);
    for (int64_t i = 0; i < p->count; i++) {
        double v = p->peak[i].is[which] + property_names[which].place;
        int64_t whole = (int64_t)v;
        memcpy(&values[i], fraction ? (void *)&v : (void *)&whole, sizeof v);
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(d, fraction ? RT_FLOAT64 : RT_INT64, 1, &p->count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, values, lg_error_box(L)));
    lua_remove(L, -2);
}

/* Sets those properties of all peaks into the table at the top. */
static void set_properties(lua_State *L, const struct peaks *p, int first, int last, struct rt_device *d)
{
    for (int i = first; i <= last; i++) {
        push_property(L, p, (enum property)i, d);
        lua_setfield(L, -2, property_names[i].name);
    }
}

/* The row at 1 on the host, in float64, and room for its peaks; pushed. */
static struct peaks push_peaks(lua_State *L)
{
    const struct rt_array *x = lg_step_array(L, X, NULL, RT_DTYPE_COUNT);
    char text[256];
    lg_check(L, kn_check_real(x, "find_peaks", lg_error_box(L)));
    if (x->ndim != 1)
        luaL_error(L, "find_peaks: x has the shape %s, expected one axis",
                   rt_shape_text(x->ndim, x->shape, text, sizeof text));
    lg_step(L, "contiguous", "v", lg_step(L, "to", "vs", X, "float64"));
    struct peaks p = {.x = lg_push_host_copy(L, lg_check_array(L, -1)), .n = x->shape[0]};
    p.peak = lua_newuserdatauv(L, (size_t)(p.n / 2 + 1) * sizeof *p.peak, 0);
    return p;
}

/* gpu.find_peaks(x [, height [, threshold [, distance [, prominence [, width [, wlen [, rel_height [, plateau_size
 * ]]]]]]]]) */
static int find_peaks(lua_State *L)
{
    const char *what = "find_peaks";
    lua_settop(L, LAST_ARGUMENT);
    struct interval height = check_interval(L, HEIGHTS, "height"),
                    plateau = check_interval(L, PLATEAUS, "plateau_size");
    struct interval threshold = check_interval(L, THRESHOLDS, "threshold"), width = check_interval(L, WIDTHS, "width");
    struct interval prominence = check_interval(L, PROMINENCES, "prominence");
    double distance = lg_number_option(L, DISTANCE, what, "distance", 1),
           part = lg_number_option(L, REL_HEIGHT, what, "rel_height", 0.5);
    double wlen = lg_number_option(L, WLEN, what, "wlen", DBL_MAX);
    if (!(distance >= 1)) return luaL_error(L, "%s: distance is %f, expected 1 or more", what, distance);
    if (!(wlen > 1))
        return luaL_error(L, "%s: wlen is %f, expected the elements around a peak that count, more than 1", what, wlen);
    if (!(part >= 0)) return luaL_error(L, "%s: rel_height is %f, expected 0 or more", what, part);
    struct peaks p = push_peaks(L);
    struct rt_device *d = rt_array_device(lg_form(L, X));
    find_maxima(&p);
    if (plateau.given) keep(&p, &plateau, PLATEAU_SIZE, PLATEAU_SIZE);
    find_heights(&p);
    if (height.given) keep(&p, &height, HEIGHT, HEIGHT);
    if (threshold.given) keep(&p, &threshold, LEFT_THRESHOLD, RIGHT_THRESHOLD);
    if (distance > 1 && p.count) {
        struct place *order = lua_newuserdatauv(L, (size_t)p.count * sizeof *order, 0);
        keep_apart(&p, ceil(distance), order, lua_newuserdatauv(L, (size_t)p.count, 0));
    }
    bool stands = prominence.given || width.given;
    if (stands) find_prominences(L, &p, wlen < (double)p.n * 2 ? (int64_t)ceil(wlen) / 2 : p.n);
    if (prominence.given) keep(&p, &prominence, PROMINENCE, PROMINENCE);
    if (width.given) {
        find_widths(&p, part);
        keep(&p, &width, WIDTH, WIDTH);
    }
    int64_t *at = lua_newuserdatauv(L, (size_t)p.count * sizeof *at + 1, 0);
    for (int64_t i = 0; i < p.count; i++) at[i] = p.peak[i].at + 1;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(d, RT_INT64, 1, &p.count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, at, lg_error_box(L)));
    lua_newtable(L);
    if (plateau.given) set_properties(L, &p, PLATEAU_SIZE, RIGHT_EDGE, d);
    if (height.given) set_properties(L, &p, HEIGHT, HEIGHT, d);
    if (threshold.given) set_properties(L, &p, LEFT_THRESHOLD, RIGHT_THRESHOLD, d);
    if (stands) set_properties(L, &p, PROMINENCE, RIGHT_BASE, d);
    if (width.given) set_properties(L, &p, WIDTH, RIGHT_IP, d);
    return 2;
}

const struct lg_function lg_peaks_functions[] = {
    {"find_peaks", find_peaks,
     "gpu.find_peaks(x [, height [, threshold [, distance [, prominence [, width [, wlen [, rel_height [, plateau_size]]]]]]]])",
     "The indices of the elements of a row that are greater than both neighbours, or the middle of several that are equal; "
     "and a table of what is known of them.\n"
     "Those are kept that have what is asked for, a number, which is the least, or {least, most}: the height; the threshold, "
     "the distances in height to both neighbours; the prominence, how far a peak stands above the lowest ground on the way "
     "to a higher one, looked for in wlen elements around it; the width, in elements, at the part rel_height, 0.5 unless "
     "told otherwise, of the prominence; the plateau_size, of equal elements. Of peaks nearer to each other than the distance "
     "the highest stays. The table has an array for each: peak_heights, left_thresholds, right_thresholds, prominences, "
     "left_bases, right_bases, widths, width_heights, left_ips, right_ips, plateau_sizes, left_edges, right_edges, those "
     "that were asked for. It is found on the host.",
     "local x = gpu.array({0, 3, 1, 2, 0, 5, 5, 0})\nassert(gpu.find_peaks(x):equal(gpu.array({2, 4, 6}, 'int64')))\n"
     "local at, known = gpu.find_peaks(x, {prominence = 2})\n"
     "assert(at:equal(gpu.array({2, 6}, 'int64')) and known.prominences[1] == 3)"},
    {0}};
