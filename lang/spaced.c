/* Numbers at even distances, of their own or of their exponents. */
#include <math.h>
#include <string.h>
#include "lang/closest.h"
#include "lang/index.h"

/* start, stop [, count [, more]] [, endpoint] [, dtype] [, device] */
struct spaced {
    double start, stop, more;
    int64_t count;
    bool endpoint;
    struct lg_placement place;
};

/* Takes the option endpoint out of the table of options at idx: pushes a copy without it in its place. */
static void take_endpoint(lua_State *L, int idx, struct spaced *s)
{
    lua_newtable(L);
    int rest = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (strcmp(lg_option_name(L), "endpoint") == 0) {
            if (!lua_isboolean(L, -1)) luaL_error(L, "endpoint is true or false, not %s", lg_type_name(L, -1));
            s->endpoint = lua_toboolean(L, -1);
            continue;
        }
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, rest);
    }
    lua_replace(L, idx);
}

/* Reads the arguments; `numbers` is how many of them may be numbers, the fourth being *more. */
static void check_spaced(lua_State *L, int numbers, double more, struct spaced *s)
{
    *s = (struct spaced){luaL_checknumber(L, 1), luaL_checknumber(L, 2), more, 50, true, {RT_DTYPE_COUNT, NULL}};
    int given = lg_last_number(L, 3, numbers);
    if (given > 2 && !lua_isnil(L, 3)) {
        int whole;
        s->count = lua_tointegerx(L, 3, &whole);
        luaL_argcheck(L, whole, 3, "the count is a whole number; gpu.range(start, stop, step) takes a step");
    }
    if (given > 3) s->more = lua_tonumber(L, 4);
    luaL_argcheck(L, s->count >= 0, 3, "the count is negative");
    if (lua_isboolean(L, given + 1)) s->endpoint = lua_toboolean(L, ++given);
    for (int i = given + 1; i <= lua_gettop(L); i++)
        if (lua_istable(L, i)) take_endpoint(L, i, s);
    lg_check_placement(L, given + 1, &s->place);
}

/* The last element, which is exactly this, not what steps come to. */
static void set_last(lua_State *L, const struct rt_array *a, double value)
{
    struct rt_array end = *a; /* borrowed */
    end.ndim = 0;
    end.offset += a->shape[0] - 1;
    lg_check(L, kn_fill(&end, &(struct kn_operand){.is_float = true, .f = value}, lg_error_box(L)));
}

static struct rt_array *push_spaced(lua_State *L, const struct spaced *s)
{
    struct rt_array *out = lg_push_empty(L, &s->place, 1, &s->count);
    int64_t steps = s->endpoint ? s->count - 1 : s->count;
    struct kn_operand first = {.is_float = true, .f = s->start},
                      step = {.is_float = true, .f = steps > 0 ? (s->stop - s->start) / (double)steps : 0};
    lg_check(L, kn_sequence(out, &first, &step, lg_error_box(L)));
    if (s->endpoint && s->count > 1) set_last(L, out, s->stop);
    return out;
}

/* Pushes sign times the base to the power of spaced exponents, in the dtype of s. */
static struct rt_array *push_powers(lua_State *L, const struct spaced *s, double base)
{
    struct spaced exact = *s;
    exact.place.dtype = RT_FLOAT64;
    const struct rt_array *exponents = push_spaced(L, &exact);
    struct rt_array *out = lg_push_empty(L, &s->place, 1, &s->count);
    struct kn_operand args[2] = {{.is_float = true, .f = base}, {.array = exponents}};
    lg_check(L, kn_apply(KN_POW, args, out, lg_error_box(L)));
    return out;
}

static int linspace(lua_State *L)
{
    struct spaced s;
    check_spaced(L, 3, 0, &s);
    push_spaced(L, &s);
    return 1;
}

static int logspace(lua_State *L)
{
    struct spaced s;
    check_spaced(L, 4, 10, &s);
    push_powers(L, &s, s.more);
    return 1;
}

static int geomspace(lua_State *L)
{
    struct spaced s;
    check_spaced(L, 3, 0, &s);
    double first = s.start, last = s.stop;
    if (!(first * last > 0) || !isfinite(first) || !isfinite(last))
        return luaL_error(
            L, "geomspace: start and stop are both above 0 or both below, got %f and %f; gpu.linspace goes through 0",
            first, last);
    s.start = log10(fabs(first));
    s.stop = log10(fabs(last));
    struct rt_array *out = push_powers(L, &s, 10);
    if (s.count == 0) return 1;
    if (first < 0) lg_check(L, kn_apply(KN_NEG, (struct kn_operand[]){{.array = out}}, out, lg_error_box(L)));
    struct rt_array start = *out; /* borrowed */
    start.shape[0] = 1;
    set_last(L, &start, first);
    if (s.endpoint && s.count > 1) set_last(L, out, last);
    return 1;
}

#define SPACED_DOC                                                                                                     \
    "stop is the last one unless endpoint is false, which may also be an option, as in {endpoint = false, dtype = "    \
    "\"float64\"}. There are 50 unless told otherwise, float32 on the default device."

const struct lg_function lg_spaced_functions[] = {
    {"linspace", linspace, "gpu.linspace(start, stop [, count [, endpoint]] [, dtype] [, device])",
     "Evenly spaced numbers from start to stop.\n" SPACED_DOC,
     "local x = gpu.linspace(0, 1, 5)\nassert(x[1] == 0 and x[2] == 0.25 and x[5] == 1)\n"
     "assert(gpu.linspace(0, 1, 4, {endpoint = false})[4] == 0.75)"},
    {"logspace", logspace, "gpu.logspace(start, stop [, count [, base]] [, endpoint] [, dtype] [, device])",
     "base, 10 unless told otherwise, to the power of evenly spaced exponents from start to stop.\n" SPACED_DOC,
     "local x = gpu.logspace(0, 3, 4)\nassert(x[1] == 1 and x[3] == 100)\nassert(gpu.logspace(0, 4, 5, 2)[5] == 16)"},
    {"geomspace", geomspace, "gpu.geomspace(start, stop [, count [, endpoint]] [, dtype] [, device])",
     "Numbers from start to stop, each the same multiple of the one before.\n" SPACED_DOC,
     "assert(gpu.geomspace(1, 1000, 4):allclose(gpu.array({1, 10, 100, 1000})) and gpu.geomspace(-2, -8, 3)[3] == -8)"},
    {0}};
