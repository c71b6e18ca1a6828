/* The different elements of an array, or its different rows along an axis. */
#include <string.h>
#include "kernels/order.h"
#include "lang/closest.h"
#include "lang/steps.h"

struct wants {
    bool index, inverse, counts;
    int axis; /* from 0; -1: elements */
};

static void check_wants(lua_State *L, int ndim, struct wants *w)
{
    if (lua_isnoneornil(L, 2)) return;
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        if (!strcmp(key, "axis"))
            w->axis = lg_check_axis(L, lua_gettop(L), ndim);
        else if (!strcmp(key, "index"))
            w->index = lg_check_flag(L, -1, key);
        else if (!strcmp(key, "inverse"))
            w->inverse = lg_check_flag(L, -1, key);
        else if (!strcmp(key, "counts"))
            w->counts = lg_check_flag(L, -1, key);
        else
            luaL_error(L, "there is no option '%s'; there are axis, index, inverse and counts", key);
    }
}

/* Pushes where each of the different elements of the array at x comes first, from how often each comes: sorted, equal
 * elements stay in their order. */
static int push_firsts(lua_State *L, int x, int counts)
{
    int base = lua_gettop(L), flat = lg_step(L, "flatten", "v", x);
    int order = lg_step(L, "argsort", "v", lg_step(L, "add", "vi", flat, (int64_t)0)); /* -0.0 is 0.0, too */
    int ends = lg_step(L, "cumsum", "v", counts);
    int starts = lg_step(L, "add", "vi", lg_step(L, "sub", "vv", ends, counts), (int64_t)1);
    lg_step(L, "take", "vv", order, starts);
    lua_copy(L, -1, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

/* Pushes the different elements of the array at x and then what is wanted of them. Returns how many values. */
static int push_unique(lua_State *L, int x, const struct wants *w)
{
    int base = lua_gettop(L), at = base + 1;
    struct rt_array *values = lg_new_array(L), *inverse = w->inverse ? lg_new_array(L) : NULL,
                    *counts = w->counts || w->index ? lg_new_array(L) : NULL;
    lg_check(L, kn_unique(lg_check_array(L, x), values, inverse, counts, lg_error_box(L)));
    if (!w->index) return lua_gettop(L) - base;
    push_firsts(L, x, lua_gettop(L));
    lua_insert(L, at + 1);
    if (!w->counts) lua_pop(L, 1);
    return lua_gettop(L) - base;
}

/* Pushes a number for each row of the matrix at x, as int64: equal rows have one number, and greater ones a greater one
 * than those before them in the order of their first different elements. */
static int push_row_numbers(lua_State *L, int x)
{
    const struct rt_array *a = lg_form(L, x);
    int base = lua_gettop(L), numbers = base + 1;
    int64_t rows = a->shape[0], columns = a->shape[1], different = 1;
    lg_push_shape(L, 1, &rows);
    lg_step(L, "gpu.zeros", "vss", numbers, "int64", rt_array_device(a)->name);
    lua_remove(L, numbers);
    for (int64_t i = 1; i <= columns && different < rows; i++) {
        for (int pass = 0; pass < 2; pass++) { /* first the column, then it and what was before it together */
            if (pass && i == 1) break;
            int of = pass ? numbers : lg_step(L, "select", "vii", x, (int64_t)2, i);
            struct rt_array *values = lg_new_array(L), *inverse = lg_new_array(L);
            lg_check(L, kn_unique(lg_check_array(L, of), values, inverse, NULL, lg_error_box(L)));
            int found = lua_gettop(L);
            if (!pass && i > 1) {
                int high = lg_step(L, "mul", "vi", numbers, values->shape[0]);
                found = lg_step(L, "add", "vv", high, found);
            } else {
                different = values->shape[0];
                found = lg_step(L, "sub", "vi", found, (int64_t)1);
            }
            lua_copy(L, found, numbers);
            lua_settop(L, numbers);
        }
    }
    return numbers;
}

static int unique_rows(lua_State *L, const struct wants *w)
{
    const struct rt_array *a = lg_check_array(L, 1);
    int64_t rows = a->shape[w->axis], columns = 1;
    struct wants inner = {true, w->inverse, w->counts, -1};
    lg_check(L, kn_check_real(a, "unique", lg_error_box(L)));
    for (int i = 0; i < a->ndim; i++)
        if (i != w->axis) columns *= a->shape[i];
    lua_settop(L, 1);
    int moved = lg_step(L, "moveaxis", "vii", 1, (int64_t)w->axis + 1, (int64_t)1);
    lg_push_shape(L, 2, (int64_t[]){rows, columns});
    int matrix = lg_step(L, "reshape", "vv", moved, lua_gettop(L));
    int numbers = push_row_numbers(L, matrix), values = numbers + 1;
    push_unique(L, numbers, &inner);
    int found = lg_step(L, "take", "vvi", moved, values + 1, (int64_t)1);
    lg_step(L, "contiguous", "v", lg_step(L, "moveaxis", "vii", found, (int64_t)1, (int64_t)w->axis + 1));
    lua_replace(L, values);
    lua_settop(L, found - 1);
    if (!w->index) lua_remove(L, values + 1);
    return lua_gettop(L) - values + 1;
}

static int unique(lua_State *L)
{
    struct wants w = {.axis = -1};
    check_wants(L, lg_check_array(L, 1)->ndim, &w);
    return w.axis < 0 ? push_unique(L, 1, &w) : unique_rows(L, &w);
}

const struct lg_function lg_unique_functions[] = {
    {"unique", unique, "x:unique([{axis=, index=, inverse=, counts=}])   gpu.unique(x [, {...}])",
     "The different elements in order, as an array of one axis; or along an axis the different rows of it, in the order of "
     "their first different elements.\n"
     "With index = true also where each of them comes first, with inverse = true, for each element or row of x, its index "
     "among them, and with counts = true how often each comes. 0.0 and -0.0 are one element, and so are all NaN.",
     "local values, counts = gpu.array({3, 1, 3}):unique{counts = true}\n"
     "assert(values:equal(gpu.array({1, 3})) and counts:equal(gpu.array({1, 2})))\n"
     "local rows, first = gpu.array({{3, 4}, {1, 2}, {3, 4}}):unique{axis = 1, index = true}\n"
     "assert(rows:equal(gpu.array({{1, 2}, {3, 4}})) and first:equal(gpu.array({2, 1})))"},
    {0}};
