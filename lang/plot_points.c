/* The numbers of a plot, as text for gnuplot: all, or, where there are many more than a picture has columns, the least
 * and the greatest of each range. */
#include "lang/plot.h"

#include <math.h>
#include "lang/session_state.h"

#define STRETCHES     1000  /* of a line, each its least and greatest */
#define LOG_STRETCHES 20000 /* on a logarithmic axis the first of them are wide */
#define MOST_POINTS   20000 /* that are drawn one by one */

/* Pushes what the array's method gives for the arguments on top of the stack, which it replaces. */
static void call_method(lua_State *L, int array, const char *name, int arguments)
{
    lua_getfield(L, array, name);
    lua_pushvalue(L, array);
    lua_rotate(L, -arguments - 2, 2);
    lua_call(L, arguments + 1, 1);
}

/* Pushes a view of elements first, first + step, ... */
static int push_part(lua_State *L, int array, int64_t first, int64_t count, int64_t step)
{
    const struct rt_array a = *lg_check_array(L, array);
    struct rt_array *part = lg_new_array(L);
    lg_check(L, rt_array_slice(&a, 0, first, count, step, part, lg_error_box(L)));
    return lua_gettop(L);
}

/* Whether each element is at least as great as the one before. */
static bool in_order(lua_State *L, int array, int64_t n)
{
    int top = lua_gettop(L), later = push_part(L, array, 1, n - 1, 1);
    push_part(L, array, 0, n - 1, 1);
    call_method(L, later, "ge", 1);
    call_method(L, lua_gettop(L), "all", 0);
    bool yes = lua_toboolean(L, -1);
    lua_settop(L, top);
    return yes;
}

/* Elements of an array on the host. */
struct column {
    enum rt_dtype dtype;
    const char *data;
};

static struct column push_column(lua_State *L, int array)
{
    const struct rt_array *a = lg_check_array(L, array);
    return (struct column){a->dtype, lg_push_host_copy(L, a)};
}

static double at(const struct column *c, int64_t i)
{
    double v = rt_load_double(c->dtype, c->data + i * rt_dtypes[c->dtype].size);
    return isfinite(v) ? v : NAN;
}

static void add_point(struct lg_series *s, double x, double y, struct lg_buffer *to)
{
    s->low = y < s->low ? y : s->low;
    s->high = y > s->high ? y : s->high;
    if (isnan(x) || isnan(y))
        lg_buffer_puts(to, "NaN NaN\n"); /* a gap */
    else
        lg_buffer_printf(to, "%.9g %.9g\n", x, y);
}

/* Every step-th element. */
static void add_elements(lua_State *L, struct lg_series *s, struct lg_buffer *to)
{
    int64_t n = (s->count + s->step - 1) / s->step;
    struct column y = push_column(L, push_part(L, s->y, 0, n, s->step)), x = {0};
    if (s->x) x = push_column(L, push_part(L, s->x, 0, n, s->step));
    for (int64_t i = 0; i < n; i++) add_point(s, s->x ? at(&x, i) : (double)(i * s->step + 1), at(&y, i), to);
}

/* The least and the greatest of each of n stretches of the elements from first on, in the order in which the line comes
 * by them: back and forth, it would be thick where it falls. */
static void add_ranges(lua_State *L, struct lg_series *s, int64_t first, int64_t n, int64_t length,
                       struct lg_buffer *to)
{
    int part = push_part(L, s->y, first, n * length, 1);
    lua_pushinteger(L, n);
    lua_pushinteger(L, length);
    call_method(L, part, "reshape", 2);
    int stretches = lua_gettop(L);
    static const char *const names[] = {"min", "max"};
    struct column ends[2], x = {0};
    for (int i = 0; i < 2; i++) {
        lua_pushinteger(L, 2);
        call_method(L, stretches, names[i], 1);
        ends[i] = push_column(L, lua_gettop(L));
    }
    if (s->x) x = push_column(L, push_part(L, s->x, first, n, length));
    double last = n > 1 && at(&ends[0], 1) < at(&ends[0], 0) ? INFINITY : -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double where = s->x ? at(&x, i) : (double)(first + i * length + 1);
        double low = at(&ends[0], i), high = at(&ends[1], i);
        bool falls = last > low + (high - low) / 2;
        last = falls ? low : high;
        add_point(s, where, falls ? high : low, to);
        add_point(s, where, last, to);
    }
}

void lg_add_points(lua_State *L, struct lg_series *s, bool logarithmic, struct lg_buffer *to)
{
    int top = lua_gettop(L);
    luaL_checkstack(L, 24, NULL);
    int64_t n = lg_check_array(L, s->y)->shape[0], stretches = logarithmic ? LOG_STRETCHES : STRETCHES;
    s->count = n;
    s->step = 1;
    s->low = INFINITY;
    s->high = -INFINITY;
    if (s->kind == LG_PLOT_LINES && n > 4 * stretches && (!s->x || in_order(L, s->x, n))) {
        int64_t length = n / stretches, whole = n / length;
        s->ranges = true;
        add_ranges(L, s, 0, whole, length, to);
        if (n % length) add_ranges(L, s, whole * length, 1, n % length, to);
    } else {
        if (s->kind != LG_PLOT_BARS) s->step = (n + MOST_POINTS - 1) / MOST_POINTS;
        s->step = s->step > 0 ? s->step : 1;
        if (n > 0) add_elements(L, s, to);
    }
    lua_settop(L, top);
}
