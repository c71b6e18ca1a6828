/* gpu.find_peaks: the elements of a row that are greater than their neighbours, and what they are like. Found on the
 * host, since most of it goes from one element to the next. */
#include <float.h>
#include <math.h>
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

/* A row of n elements, where the `count` peaks of it are that are left, and what is known of them, or NULL. */
struct peaks {
    const double *x;
    int64_t n, count, *at;
    double *is[PROPERTIES];
};

/* ---- one after the other ---- */

/* Where an element is greater than the one before it, and not less than the next one; `at` has room for all of these.
 * Returns how many. */
static int64_t find_rises(const double *x, int64_t n, int64_t *at)
{
    int64_t count = 0;
    for (int64_t i = 1; i < n - 1; i++) {
        at[count] = i;
        count += (x[i - 1] < x[i]) & (x[i + 1] <= x[i]);
    }
    return count;
}

/* All elements, or the middles of even stretches, with less on both sides; with `edges` where these begin and end. */
static void find_maxima(struct peaks *p, bool edges)
{
    const double *x = p->x;
    const int64_t rises = find_rises(x, p->n, p->at);
    for (int64_t k = 0; k < rises; k++) {
        const int64_t i = p->at[k];
        int64_t last = i;
        while (last + 1 < p->n - 1 && x[last + 1] == x[i]) last++;
        if (!(x[last + 1] < x[i])) continue;
        if (edges) {
            p->is[PLATEAU_SIZE][p->count] = (double)(last - i + 1);
            p->is[LEFT_EDGE][p->count] = (double)i;
            p->is[RIGHT_EDGE][p->count] = (double)last;
        }
        p->at[p->count++] = (i + last) / 2;
    }
}

/* Takes peak i to place `left`, which is not behind it. */
static void move_peak(struct peaks *p, int64_t left, int64_t i)
{
    p->at[left] = p->at[i];
    for (int k = 0; k < PROPERTIES; k++)
        if (p->is[k]) p->is[k][left] = p->is[k][i];
}

/* Keeps the peaks whose property is in the interval; of two properties the lesser and the greater one are. */
static void keep(struct peaks *p, const struct interval *in, enum property one, enum property other)
{
    int64_t left = 0;
    for (int64_t i = 0; i < p->count; i++) {
        double a = p->is[one][i], b = p->is[other][i];
        if ((a < b ? a : b) >= in->low && (a > b ? a : b) <= in->high) move_peak(p, left++, i);
    }
    p->count = left;
}

static void find_heights(struct peaks *p)
{
    for (int64_t i = 0; i < p->count; i++) p->is[HEIGHT][i] = p->x[p->at[i]];
}

static void find_thresholds(struct peaks *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        const double *x = p->x + p->at[i];
        p->is[LEFT_THRESHOLD][i] = x[0] - x[-1];
        p->is[RIGHT_THRESHOLD][i] = x[0] - x[1];
    }
}

/* From the highest down, each takes away those that are nearer than the distance. `order` has the peaks from the lowest
 * up, from 1; `gone` has room for all. */
static void keep_apart(struct peaks *p, double distance, const int64_t *order, bool *gone)
{
    int64_t left = 0;
    memset(gone, 0, (size_t)p->count);
    for (int64_t i = p->count - 1; i >= 0; i--) {
        int64_t j = order[i] - 1;
        if (gone[j]) continue;
        for (int64_t k = j - 1; k >= 0 && (double)(p->at[j] - p->at[k]) < distance; k--) gone[k] = true;
        for (int64_t k = j + 1; k < p->count && (double)(p->at[k] - p->at[j]) < distance; k++) gone[k] = true;
    }
    for (int64_t i = 0; i < p->count; i++)
        if (!gone[i]) move_peak(p, left++, i);
    p->count = left;
}

/* How far a peak stands out: above the higher one of the lowest elements that lie between it and the next higher
 * element on each side. */
static void find_prominences(struct peaks *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        double left = p->x[(int64_t)p->is[LEFT_BASE][i]], right = p->x[(int64_t)p->is[RIGHT_BASE][i]];
        p->is[PROMINENCE][i] = p->x[p->at[i]] - (left > right ? left : right);
    }
}

/* These lowest elements, the nearest of equal ones, at most `reach` away. */
static void find_bases_near(lua_State *L, struct peaks *p, int64_t reach)
{
    for (int64_t i = 0; i < p->count; i++) {
        if (i % 16 == 0) lg_poll(L); /* each way may be long */
        const int64_t at = p->at[i];
        int64_t first = at > reach ? at - reach : 0, last = p->n - 1 - at > reach ? at + reach : p->n - 1;
        int64_t left = at, right = at;
        for (int64_t j = at - 1; j >= first && p->x[j] <= p->x[at]; j--)
            if (p->x[j] < p->x[left]) left = j;
        for (int64_t j = at + 1; j <= last && p->x[j] <= p->x[at]; j++)
            if (p->x[j] < p->x[right]) right = j;
        p->is[LEFT_BASE][i] = (double)left;
        p->is[RIGHT_BASE][i] = (double)right;
    }
}

/* An element that is higher than all that followed it, and the lowest one that it has behind it and since the entry
 * before it. */
struct higher {
    double height, low;
    int64_t at;
};

/* The same on one side, however far: every element goes once to the top of a pile of falling heights, from which it
 * takes those that are not higher. `pile` has room for all elements. */
static void find_bases(struct peaks *p, bool right, struct higher *pile)
{
    const int64_t n = p->n, way = right ? -1 : 1;
    double *bases = p->is[right ? RIGHT_BASE : LEFT_BASE];
    int64_t peak = right ? p->count - 1 : 0, entries = 0;
    for (int64_t k = 0, i = right ? n - 1 : 0; k < n; k++, i += way) {
        struct higher here = {p->x[i], p->x[i], i};
        if (here.height != here.height) entries = 0; /* nothing is looked for behind NaN */
        for (; entries > 0 && pile[entries - 1].height <= here.height; entries--) {
            const struct higher *last = &pile[entries - 1];
            const bool lower = last->low < here.low;
            here.low = lower ? last->low : here.low;
            here.at = lower ? last->at : here.at;
        }
        if (here.height == here.height) pile[entries++] = here;
        if (peak < 0 || peak >= p->count || p->at[peak] != i) continue;
        bases[peak] = (double)here.at;
        peak += way;
    }
}

/* How wide it is at a part of its prominence below its top, between elements on the straight lines. */
static void find_widths(lua_State *L, struct peaks *p, double part)
{
    const double *x = p->x;
    for (int64_t i = 0; i < p->count; i++) {
        if (i % 16 == 0) lg_poll(L); /* below the bases of small peaks the ways may be as long as the row */
        const int64_t at = p->at[i], first = (int64_t)p->is[LEFT_BASE][i], last = (int64_t)p->is[RIGHT_BASE][i];
        double height = x[at] - p->is[PROMINENCE][i] * part;
        int64_t left = at, right = at;
        while (left > first && height < x[left]) left--;
        while (right < last && height < x[right]) right++;
        double begin = (double)left, end = (double)right;
        if (x[left] < height) begin += (height - x[left]) / (x[left + 1] - x[left]);
        if (x[right] < height) end -= (height - x[right]) / (x[right - 1] - x[right]);
        p->is[LEFT_IP][i] = begin;
        p->is[RIGHT_IP][i] = end;
        p->is[WIDTH][i] = end - begin;
        p->is[WIDTH_HEIGHT][i] = height;
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
        double v = p->is[which][i] + property_names[which].place;
        int64_t whole = (int64_t)v;
        memcpy(&values[i], fraction ? (void *)&v : (void *)&whole, sizeof v);
    }
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(d, fraction ? RT_FLOAT64 : RT_INT64, 1, &p->count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, values, lg_error_box(L)));
    lua_remove(L, -2);
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
    p.at = lua_newuserdatauv(L, (size_t)(p.n / 2 + 1) * sizeof *p.at, 0);
    return p;
}

/* Pushes room for those properties of all peaks, and of `most` where they are not found yet. */
static void push_room(lua_State *L, struct peaks *p, int first, int last, int64_t most)
{
    luaL_checkstack(L, PROPERTIES, NULL);
    for (int i = first; i <= last; i++) p->is[i] = lua_newuserdatauv(L, (size_t)most * sizeof *p->is[i] + 1, 0);
}

static void push_apart(lua_State *L, struct peaks *p, double distance)
{
    struct rt_array *heights = lg_new_array(L);
    int at = lua_gettop(L);
    double *values = lua_newuserdatauv(L, (size_t)p->count * sizeof *values, 0);
    for (int64_t i = 0; i < p->count; i++) values[i] = p->x[p->at[i]] + 0.0; /* both zeros are as high */
    struct rt_device *d = rt_device_open("cpu", lg_error_box(L));
    if (!d) lg_check(L, RT_DEVICE);
    lg_check(L, rt_array_new(d, RT_FLOAT64, 1, &p->count, heights, lg_error_box(L)));
    lg_check(L, rt_array_write(heights, values, lg_error_box(L)));
    const int64_t *order = rt_array_host(lg_check_array(L, lg_step(L, "argsort", "v", at)));
    keep_apart(p, distance, order, lua_newuserdatauv(L, (size_t)p->count, 0));
}

static void push_prominences(lua_State *L, struct peaks *p, double wlen)
{
    push_room(L, p, PROMINENCE, RIGHT_BASE, p->count);
    if (wlen < (double)p->n * 2) {
        find_bases_near(L, p, (int64_t)ceil(wlen) / 2);
    } else {
        struct higher *pile = lua_newuserdatauv(L, (size_t)p->n * sizeof *pile + 1, 0);
        find_bases(p, false, pile);
        find_bases(p, true, pile);
    }
    find_prominences(p);
}

/* What is asked for. */
struct wishes {
    struct interval height, plateau, threshold, width, prominence;
    double distance, part, wlen;
};

static struct wishes check_wishes(lua_State *L)
{
    const char *what = "find_peaks";
    lua_settop(L, LAST_ARGUMENT);
    struct wishes w = {.height = check_interval(L, HEIGHTS, "height"),
                       .plateau = check_interval(L, PLATEAUS, "plateau_size"),
                       .threshold = check_interval(L, THRESHOLDS, "threshold"),
                       .width = check_interval(L, WIDTHS, "width"),
                       .prominence = check_interval(L, PROMINENCES, "prominence"),
                       .distance = lg_number_option(L, DISTANCE, what, "distance", 1),
                       .part = lg_number_option(L, REL_HEIGHT, what, "rel_height", 0.5),
                       .wlen = lg_number_option(L, WLEN, what, "wlen", DBL_MAX)};
    if (!(w.distance >= 1)) luaL_error(L, "%s: distance is %f, expected 1 or more", what, w.distance);
    if (!(w.wlen > 1))
        luaL_error(L, "%s: wlen is %f, expected the elements around a peak that count, more than 1", what, w.wlen);
    if (!(w.part >= 0)) luaL_error(L, "%s: rel_height is %f, expected 0 or more", what, w.part);
    return w;
}

/* Finds the peaks, keeps those that are asked for, and pushes what is found out on the way. */
static void push_wanted(lua_State *L, struct peaks *p, const struct wishes *w)
{
    if (w->plateau.given) push_room(L, p, PLATEAU_SIZE, RIGHT_EDGE, p->n / 2);
    find_maxima(p, w->plateau.given);
    if (w->plateau.given) keep(p, &w->plateau, PLATEAU_SIZE, PLATEAU_SIZE);
    if (w->height.given) {
        push_room(L, p, HEIGHT, HEIGHT, p->count);
        find_heights(p);
        keep(p, &w->height, HEIGHT, HEIGHT);
    }
    if (w->threshold.given) {
        push_room(L, p, LEFT_THRESHOLD, RIGHT_THRESHOLD, p->count);
        find_thresholds(p);
        keep(p, &w->threshold, LEFT_THRESHOLD, RIGHT_THRESHOLD);
    }
    if (w->distance > 1 && p->count) push_apart(L, p, ceil(w->distance));
    if (w->prominence.given || w->width.given) push_prominences(L, p, w->wlen);
    if (w->prominence.given) keep(p, &w->prominence, PROMINENCE, PROMINENCE);
    if (!w->width.given) return;
    push_room(L, p, WIDTH, RIGHT_IP, p->count);
    find_widths(L, p, w->part);
    keep(p, &w->width, WIDTH, WIDTH);
}

/* gpu.find_peaks(x [, height [, threshold [, distance [, prominence [, width [, wlen [, rel_height [, plateau_size
 * ]]]]]]]]) */
static int find_peaks(lua_State *L)
{
    const struct wishes w = check_wishes(L);
    struct peaks p = push_peaks(L);
    struct rt_device *d = rt_array_device(lg_form(L, X));
    push_wanted(L, &p, &w);
    int64_t *at = lua_newuserdatauv(L, (size_t)p.count * sizeof *at + 1, 0);
    for (int64_t i = 0; i < p.count; i++) at[i] = p.at[i] + 1;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(d, RT_INT64, 1, &p.count, out, lg_error_box(L)));
    lg_check(L, rt_array_write(out, at, lg_error_box(L)));
    lua_newtable(L);
    for (int i = 0; i < PROPERTIES; i++) {
        if (!p.is[i]) continue;
        push_property(L, &p, (enum property)i, d);
        lua_setfield(L, -2, property_names[i].name);
    }
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
