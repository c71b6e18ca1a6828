/* gpu.ndimage: filters by the order of a window's elements, and the morphology of grey images that is made of them. */
#include <string.h>
#include "kernels/rank_filter.h"
#include "lang/ndimage.h"

struct windows {
    int64_t size[RT_MAX_DIMS], count; /* elements along each axis, and of all of them */
    struct lg_border border;
};

/* The sizes of windows at idx, and the border behind them. */
static const struct rt_array *check_windows(lua_State *L, const char *what, int idx, struct windows *w)
{
    const struct rt_array *a = lg_check_form(L, 1);
    double given[RT_MAX_DIMS];
    lg_check(L, kn_check_real(a, what, lg_error_box(L)));
    if (a->ndim == 0) luaL_error(L, "%s: an array of no axes has no neighbours", what);
    lua_settop(L, idx + 2);
    lg_check_sizes(L, idx, a->ndim, what, given);
    lg_check_border(L, idx + 1, "reflect", &w->border);
    w->count = 1;
    for (int i = 0; i < a->ndim; i++) {
        w->size[i] = (int64_t)given[i];
        if (__builtin_mul_overflow(w->count, w->size[i], &w->count))
            luaL_error(L, "%s: a window has more elements than an integer counts", what);
    }
    return a;
}

/* ---- the extremes ---- */

/* Pushes the reduction over windows of the array at x, axis after axis; those of even sizes have one element more
 * before their middle or, with `turned`, behind it. */
static int push_extreme(lua_State *L, int x, const char *reduction, const struct windows *w, bool turned)
{
    const struct rt_array *a = lg_form(L, x);
    int base = lua_gettop(L), at = lg_step(L, "clone", "v", x), ndim = a->ndim;
    for (int i = 0; i < ndim && rt_array_size(a) > 0; i++) {
        int64_t size = w->size[i], before = turned ? (size - 1) / 2 : size / 2;
        if (size == 1) continue;
        int padded = lg_push_padded(L, at, i, before, size - 1 - before, &w->border);
        int windows = lg_step(L, "unfold", "vii", padded, (int64_t)i + 1, size);
        at = lg_step(L, "squeeze", "vi", lg_step(L, reduction, "vib", windows, (int64_t)-1, 1), (int64_t)-1);
    }
    lua_copy(L, at, base + 1);
    lua_settop(L, base + 1);
    return base + 1;
}

static int extreme(lua_State *L, const char *what, const char *reduction)
{
    struct windows w;
    check_windows(L, what, 2, &w);
    push_extreme(L, 1, reduction, &w, false);
    return 1;
}

static int maximum_filter(lua_State *L)
{
    return extreme(L, "maximum_filter", "max");
}
static int minimum_filter(lua_State *L)
{
    return extreme(L, "minimum_filter", "min");
}

/* ---- grey images ---- */

/* Pushes what erosions and dilations, in this order, make of the array at 1. */
static int push_grey(lua_State *L, const char *what, const char *order)
{
    struct windows w;
    check_windows(L, what, 2, &w);
    int at = 1;
    for (; *order; order++) at = push_extreme(L, at, *order == 'e' ? "min" : "max", &w, *order == 'd');
    return at;
}

/* The one less the other; of bools where they differ. */
static int difference(lua_State *L, int one, int other)
{
    lg_step(L, lg_form(L, one)->dtype == RT_BOOL ? "logical_xor" : "sub", "vv", one, other);
    return 1;
}

#define GREY(name, order)                                                                                              \
    static int name(lua_State *L)                                                                                      \
    {                                                                                                                  \
        push_grey(L, #name, order);                                                                                    \
        return 1;                                                                                                      \
    }
GREY(grey_erosion, "e")
GREY(grey_dilation, "d")
GREY(grey_opening, "ed")
GREY(grey_closing, "de")

static int white_tophat(lua_State *L)
{
    return difference(L, 1, push_grey(L, "white_tophat", "ed"));
}
static int black_tophat(lua_State *L)
{
    return difference(L, push_grey(L, "black_tophat", "de"), 1);
}
static int morphological_gradient(lua_State *L)
{
    struct windows w;
    check_windows(L, "morphological_gradient", 2, &w);
    int high = push_extreme(L, 1, "max", &w, true);
    return difference(L, high, push_extreme(L, 1, "min", &w, false));
}

/* ---- any rank ---- */

/* Sorts each window of the padded array at x, and pushes its element at `rank`, from 1; `shape` is that of the windows.
 */
static int push_sorted(lua_State *L, int x, int ndim, const int64_t *shape, const struct windows *w, int64_t rank)
{
    int64_t rows[RT_MAX_DIMS];
    int at = x;
    for (int i = 0; i < ndim; i++) at = lg_step(L, "unfold", "vii", at, (int64_t)i + 1, w->size[i]);
    memcpy(rows, shape, (size_t)ndim * sizeof *rows);
    rows[ndim] = w->count;
    at = lg_push_reshaped(L, at, ndim + 1, rows);
    if (w->count % 2 && rank == w->count / 2 + 1) {
        enum rt_dtype t = lg_form(L, at)->dtype;
        at = lg_step(L, "median", "vi", at, (int64_t)-1);
        return lg_form(L, at)->dtype == t ? at : lg_step(L, "to", "vs", at, rt_dtypes[t].name);
    }
    at = lg_step(L, "select", "vii", lg_step(L, "sort", "v", at), (int64_t)-1, rank);
    return lg_step(L, "contiguous", "v", at);
}

/* Pushes the element at `rank`, from 1, of each sorted window of the array at `at`, by the host's filter; false, and
 * nothing, where that is not for it. Elements of few bits go there as float32, which all of them are. */
static bool push_by_filter(lua_State *L, int at, const struct windows *w, int64_t rank)
{
    const enum rt_dtype t = lg_form(L, at)->dtype;
    const bool narrow = rt_dtypes[t].size < 4, middle = w->count % 2 && rank == w->count / 2 + 1;
    const struct rt_array *a = lg_check_array(L, narrow ? lg_step(L, "to", "vs", at, "float32") : at);
    enum rt_status status = kn_rank_filter(a, w->size, rank - 1, middle, lg_new_array(L), lg_error_box(L));
    if (status == RT_UNSUPPORTED) {
        lua_pop(L, 1);
        return false;
    }
    lg_check(L, status);
    if (narrow) lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[t].name);
    return true;
}

#define MOST_SORTED (1 << 24) /* elements of windows that are copied at a time */

/* Pushes the element at `rank`, from 1, of the window around each element of the array at 1: of so many at a time along
 * its longest axis as there is room for. */
static int push_rank(lua_State *L, const char *what, const struct windows *w, int64_t rank)
{
    const struct rt_array *a = lg_form(L, 1);
    int64_t shape[RT_MAX_DIMS], most = 1, n;
    int axis = 0;
    if (2 * a->ndim > RT_MAX_DIMS) luaL_error(L, "%s: an array has %d axes at most", what, RT_MAX_DIMS / 2);
    if (rt_array_size(a) == 0) return lg_step(L, "clone", "v", 1);
    memcpy(shape, a->shape, sizeof shape);
    for (int i = 1; i < a->ndim; i++)
        if (shape[i] > shape[axis]) axis = i;
    n = shape[axis];
    int64_t beside = rt_array_size(a) / n;
    int padded = lg_push_padded_all(L, 1, w->size, false, &w->border);
    if (push_by_filter(L, padded, w, rank)) return lua_gettop(L);
    if (beside <= MOST_SORTED / w->count) most = MOST_SORTED / w->count / beside;
    if (most >= n) return push_sorted(L, padded, a->ndim, shape, w, rank);
    lua_newtable(L);
    int parts = lua_gettop(L), count = 0;
    for (int64_t from = 0; from < n; from += most) {
        lg_poll(L);
        shape[axis] = n - from < most ? n - from : most;
        int part = lg_push_narrowed(L, padded, axis, from, shape[axis] + w->size[axis] - 1);
        part = push_sorted(L, part, a->ndim, shape, w, rank);
        lg_check_array(L, part); /* now, so that the windows go */
        lua_pushvalue(L, part);
        lua_rawseti(L, parts, ++count);
        lua_settop(L, parts);
    }
    return lg_step(L, "gpu.concatenate", "vi", parts, (int64_t)axis + 1);
}

/* Of an even number of elements SciPy takes the one above the middle. */
static int median_filter(lua_State *L)
{
    struct windows w;
    check_windows(L, "median_filter", 2, &w);
    push_rank(L, "median_filter", &w, w.count / 2 + 1);
    return 1;
}

/* gpu.ndimage.rank_filter(x, rank, size [, mode [, cval]]) */
static int rank_filter(lua_State *L)
{
    struct windows w;
    lua_Integer rank = luaL_checkinteger(L, 2);
    check_windows(L, "rank_filter", 3, &w);
    if (rank == 0 || rank > w.count || rank < -w.count)
        return luaL_error(L,
                          "rank_filter: rank is %I, expected 1 to the %I elements of a window, or -1 for the greatest",
                          (LUAI_UACINT)rank, (LUAI_UACINT)w.count);
    push_rank(L, "rank_filter", &w, rank < 0 ? rank + w.count + 1 : rank);
    return 1;
}

/* gpu.ndimage.percentile_filter(x, percentile, size [, mode [, cval]]) */
static int percentile_filter(lua_State *L)
{
    struct windows w;
    double p = luaL_checknumber(L, 2);
    check_windows(L, "percentile_filter", 3, &w);
    if (!(p >= -100 && p <= 100))
        return luaL_error(L,
                          "percentile_filter: percentile is %f, expected 0 to 100, or as much less than 100 as a "
                          "negative one says",
                          p);
    if (p < 0) p += 100;
    push_rank(L, "percentile_filter", &w, p == 100 ? w.count : 1 + (int64_t)((double)w.count * p / 100));
    return 1;
}

#define SIZES       "Size is a number, or a list of one for each axis. "
#define SIZED(name) "gpu.ndimage." name "(x, size [, mode [, cval]])"
#define GREY_DOC    SIZES "On bools it is what it is of 0 and 1. " LG_BORDER_DOC

const struct lg_function lg_ndimage_ranks[] = {
    {"median_filter", median_filter, SIZED("median_filter"),
     "The median of the window around each element, which takes out what stands alone.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.median_filter(gpu.array({1, 1, 9, 1, 1}), 3):equal(gpu.ones(5)))"},
    {"rank_filter", rank_filter, "gpu.ndimage.rank_filter(x, rank, size [, mode [, cval]])",
     "The element that stands at `rank` when the window around each element is sorted: 1 is the smallest, -1 the "
     "greatest.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.rank_filter(gpu.array({1, 2, 9, 1, 1}), -1, 3):equal(gpu.array({2, 9, 9, 9, 1})))"},
    {"percentile_filter", percentile_filter, "gpu.ndimage.percentile_filter(x, percentile, size [, mode [, cval]])",
     "The element below which so many of a hundred elements of the window around each one are.\n"
     "A negative percentile counts from 100 down. " SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.percentile_filter(gpu.array({1, 2, 9, 1, 1}), 50, 3):equal(gpu.array({1, 2, 2, 1, 1})))"},
    {"maximum_filter", maximum_filter, SIZED("maximum_filter"),
     "The greatest element of the window around each.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.maximum_filter(gpu.array({1, 2, 9, 1, 1}), 3):equal(gpu.array({2, 9, 9, 9, 1})))"},
    {"minimum_filter", minimum_filter, SIZED("minimum_filter"),
     "The smallest element of the window around each.\n" SIZES LG_BORDER_DOC,
     "assert(gpu.ndimage.minimum_filter(gpu.array({1, 2, 9, 1, 1}), 3):equal(gpu.array({1, 1, 1, 1, 1})))"},
    {"grey_erosion", grey_erosion, SIZED("grey_erosion"), "The smallest element of the window around each.\n" GREY_DOC,
     "assert(gpu.ndimage.grey_erosion(gpu.array({1, 2, 9, 9, 9}), 3):equal(gpu.array({1, 1, 2, 9, 9})))"},
    {"grey_dilation", grey_dilation, SIZED("grey_dilation"),
     "The greatest element of the window around each; one of an even size is turned round, as dilation has it.\n" GREY_DOC,
     "assert(gpu.ndimage.grey_dilation(gpu.array({0, 0, 5, 0}), 2):equal(gpu.array({0, 5, 5, 0})))"},
    {"grey_opening", grey_opening, SIZED("grey_opening"),
     "Eroded and then dilated: what is bright and smaller than the window goes.\n" GREY_DOC,
     "assert(gpu.ndimage.grey_opening(gpu.array({1, 9, 1, 1, 1}), 3):equal(gpu.ones(5)))"},
    {"grey_closing", grey_closing, SIZED("grey_closing"),
     "Dilated and then eroded: what is dark and smaller than the window goes.\n" GREY_DOC,
     "assert(gpu.ndimage.grey_closing(gpu.array({9, 1, 9, 9, 9}), 3):equal(gpu.full({5}, 9)))"},
    {"white_tophat", white_tophat, SIZED("white_tophat"),
     "What gpu.ndimage.grey_opening takes away: what is bright and small.\n" GREY_DOC,
     "assert(gpu.ndimage.white_tophat(gpu.array({1, 9, 1, 1, 1}), 3):equal(gpu.array({0, 8, 0, 0, 0})))"},
    {"black_tophat", black_tophat, SIZED("black_tophat"),
     "What gpu.ndimage.grey_closing adds: what is dark and small.\n" GREY_DOC,
     "assert(gpu.ndimage.black_tophat(gpu.array({9, 1, 9, 9, 9}), 3):equal(gpu.array({0, 8, 0, 0, 0})))"},
    {"morphological_gradient", morphological_gradient, SIZED("morphological_gradient"),
     "Dilated less eroded: how much the elements of the window around each one differ.\n" GREY_DOC,
     "assert(gpu.ndimage.morphological_gradient(gpu.array({1, 1, 5, 5}), 3):equal(gpu.array({0, 4, 4, 0})))"},
    {0}};
