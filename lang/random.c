/* Random arrays: gpu.random, its generators, and the short names gpu.rand and gpu.randn. Numbers come from
 * kernels/random.h: a generator is a seed and a count of the arrays drawn from it. */
#include "kernels/random.h"
#include <math.h>
#include <string.h>
#include "lang/array.h"
#include "lang/closest.h"
#include "lang/random.h"

#define LG_GENERATOR "lunarray.generator"

struct lg_generator {
    uint64_t seed;
    uint64_t stream; /* counts the arrays made since the seed was set */
};

bool lg_is_generator(lua_State *L, int idx)
{
    return luaL_testudata(L, idx, LG_GENERATOR) != NULL;
}

static const char generator_key; /* the session's own */

static struct lg_generator *session_generator(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &generator_key);
    struct lg_generator *g = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (g) return g;
    g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct lg_generator){0};
    lua_rawsetp(L, LUA_REGISTRYINDEX, &generator_key);
    return g;
}

struct lg_generator *lg_check_generator(lua_State *L, int *first)
{
    struct lg_generator *g = luaL_testudata(L, 1, LG_GENERATOR);
    *first = g ? 2 : 1;
    return g ? g : session_generator(L);
}

struct kn_draw lg_next_draw(const struct lg_generator *g, enum kn_distribution distribution)
{
    return (struct kn_draw){.distribution = distribution, .seed = g->seed, .stream = g->stream % KN_STREAMS};
}

double lg_check_parameter(lua_State *L, int idx, const char *what)
{
    if (lua_type(L, idx) != LUA_TNUMBER)
        luaL_error(L, "%s: expected a number, got %s; the parameters come first, then the shape", what,
                   lg_type_name(L, idx));
    double v = lua_tonumber(L, idx);
    if (!isfinite(v)) luaL_error(L, "%s: expected a finite number, got %f", what, v);
    return v;
}

double lg_check_positive(lua_State *L, int idx, const char *function, const char *what)
{
    const double v = lg_check_parameter(L, idx, what);
    if (v <= 0) luaL_error(L, "%s: %s must be above 0, got %f", function, what, v);
    return v;
}

double lg_check_not_negative(lua_State *L, int idx, const char *function, const char *what)
{
    const double v = lg_check_parameter(L, idx, what);
    if (v < 0) luaL_error(L, "%s: %s must be 0 or more, got %f", function, what, v);
    return v;
}

/* The integers that a dtype holds; uint64's as far as Lua's reach. */
static void range_of(enum rt_dtype t, int64_t *low, int64_t *high)
{
    int bits = 8 * rt_dtypes[t].size - (rt_dtypes[t].kind == 'i');
    *high = rt_dtypes[t].kind == 'b' ? 1 : bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    *low = rt_dtypes[t].kind == 'i' ? -*high - 1 : 0;
}

static void check_kind(lua_State *L, enum rt_dtype t, const char *kinds)
{
    if (strchr(kinds, rt_dtypes[t].kind)) return;
    if (!strcmp(kinds, "f"))
        luaL_error(L, "random floats need a floating dtype, not %s; gpu.random.integers gives whole numbers",
                   rt_dtypes[t].name);
    luaL_error(L, "random whole numbers need an integer dtype%s, not %s; x:to(\"%s\") converts them",
               strchr(kinds, 'f') ? " or a floating one" : "", rt_dtypes[t].name, rt_dtypes[t].name);
}

struct rt_array *lg_push_shaped(lua_State *L, int first, enum rt_dtype dtype, const char *kinds, const int64_t *last)
{
    struct lg_placement p = {dtype, NULL};
    int64_t shape[RT_MAX_DIMS];
    int next;
    int ndim = lg_check_shape(L, first, false, shape, &next);
    if (lua_istable(L, first)) lg_placement_fields(L, first, &p);
    lg_check_placement(L, next, &p);
    check_kind(L, p.dtype, kinds);
    if (last && ndim == RT_MAX_DIMS) luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    if (last) shape[ndim++] = *last;
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(p.device, p.dtype, ndim, shape, out, lg_error_box(L)));
    return out;
}

void lg_draw(lua_State *L, struct lg_generator *g, const struct kn_draw *d, const struct rt_array *to)
{
    lg_check(L, kn_random(d, to, lg_error_box(L)));
    g->stream++;
}

int lg_fill_random(lua_State *L, struct lg_generator *g, int first, const struct kn_draw *d, enum rt_dtype dtype,
                   const char *kinds)
{
    const struct rt_array *out = lg_push_shaped(L, first, dtype, kinds, NULL);
    if (d->distribution == KN_DRAW_INTEGERS) {
        int64_t low, high;
        range_of(out->dtype, &low, &high);
        if (d->low < low || d->high > high)
            return luaL_error(L, "integers: %s does not hold all integers from %I to %I; choose another dtype",
                              rt_dtypes[out->dtype].name, (LUAI_UACINT)d->low, (LUAI_UACINT)d->high);
    }
    lg_draw(L, g, d, out);
    return 1;
}

/* ---- the distributions ---- */
/* The shape and placement begin at `first`. */
static int push_floats(lua_State *L, struct lg_generator *g, int first, enum kn_distribution which, double x, double y)
{
    struct kn_draw d = lg_next_draw(g, which);
    d.x = x;
    d.y = y;
    return lg_fill_random(L, g, first, &d, RT_FLOAT32, "f");
}

static int rand_(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    return push_floats(L, g, first, KN_DRAW_UNIFORM, 0, 1);
}

static int uniform(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    if (lua_istable(L, first)) return push_floats(L, g, first, KN_DRAW_UNIFORM, 0, 1); /* a shape alone */
    double low = lg_check_parameter(L, first, "low"), high = lg_check_parameter(L, first + 1, "high");
    if (low > high) return luaL_error(L, "uniform: low is %f, above high, which is %f", low, high);
    return push_floats(L, g, first + 2, KN_DRAW_UNIFORM, low, high);
}

static int randn(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    return push_floats(L, g, first, KN_DRAW_NORMAL, 0, 1);
}

static int normal(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    if (lua_istable(L, first)) return push_floats(L, g, first, KN_DRAW_NORMAL, 0, 1); /* a shape alone */
    double mean = lg_check_parameter(L, first, "mean"),
           deviation = lg_check_parameter(L, first + 1, "standard deviation");
    if (deviation < 0) return luaL_error(L, "normal: the standard deviation is negative: %f", deviation);
    return push_floats(L, g, first + 2, KN_DRAW_NORMAL, mean, deviation);
}

static int exponential(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_EXPONENTIAL);
    d.x = lg_check_parameter(L, first, "mean");
    if (d.x < 0) return luaL_error(L, "exponential: the mean is negative: %f", d.x);
    return lg_fill_random(L, g, first + 1, &d, RT_FLOAT32, "f");
}

static int gamma_(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_GAMMA);
    d.x = lg_check_parameter(L, first, "shape parameter");
    d.y = lg_check_parameter(L, first + 1, "scale");
    if (!(d.x > 0)) return luaL_error(L, "gamma: the shape parameter must be above 0, got %f", d.x);
    if (d.y < 0) return luaL_error(L, "gamma: the scale is negative: %f", d.y);
    return lg_fill_random(L, g, first + 2, &d, RT_FLOAT32, "f");
}

static int poisson(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_POISSON);
    d.x = lg_check_parameter(L, first, "mean");
    if (d.x < 0 || d.x > KN_MOST_MEAN)
        return luaL_error(L, "poisson: the mean must be from 0 to %f, got %f", KN_MOST_MEAN, d.x);
    return lg_fill_random(L, g, first + 1, &d, RT_INT64, "iuf");
}

static int binomial(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_BINOMIAL);
    d.y = (double)luaL_checkinteger(L, first);
    d.x = lg_check_parameter(L, first + 1, "probability");
    if (d.y < 0 || d.y > KN_MOST_TRIES)
        return luaL_error(L, "binomial: there are from 0 to %d tries, got %f", (int)KN_MOST_TRIES, d.y);
    if (d.x < 0 || d.x > 1) return luaL_error(L, "binomial: a probability is from 0 to 1, got %f", d.x);
    return lg_fill_random(L, g, first + 2, &d, RT_INT64, "iuf");
}

static int bernoulli(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_BERNOULLI);
    d.x = lg_check_parameter(L, first, "probability");
    if (d.x < 0 || d.x > 1) return luaL_error(L, "bernoulli: a probability is from 0 to 1, got %f", d.x);
    return lg_fill_random(L, g, first + 1, &d, RT_BOOL, "biuf");
}

static int integers(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_INTEGERS);
    d.low = luaL_checkinteger(L, first);
    d.high = luaL_checkinteger(L, first + 1);
    if (d.low > d.high)
        return luaL_error(L, "integers: low is %I, above high, which is %I", (LUAI_UACINT)d.low, (LUAI_UACINT)d.high);
    return lg_fill_random(L, g, first + 2, &d, RT_INT64, "biu");
}

/* ---- choosing ---- */

/* Pushes a block of memory for n values of 8 bytes. */
static void *push_block(lua_State *L, int64_t n)
{
    if (n > INT64_MAX / 16) luaL_error(L, "%I elements are too many", (LUAI_UACINT)n);
    return lua_newuserdatauv(L, (size_t)n * 8 + 1, 0);
}

/* What is chosen from: the numbers 1 to n, or the rows of an array along its first axis. */
static int64_t check_source(lua_State *L, int idx, const struct rt_array **a)
{
    *a = lua_istable(L, idx) || lg_test_array(L, idx) ? lg_check_elements(L, idx) : NULL;
    if (*a && (*a)->ndim == 0) luaL_argerror(L, idx, "an array of no axes has nothing to choose from");
    if (*a) return (*a)->shape[0];
    int is_integer;
    lua_Integer n = lua_tointegerx(L, idx, &is_integer);
    if (!is_integer || lua_type(L, idx) != LUA_TNUMBER) luaL_typeerror(L, idx, "array, table or count");
    luaL_argcheck(L, n >= 0, idx, "the count is negative");
    return n;
}

/* Pushes an int64 array with the indices, which count from 1. */
static void push_indices(lua_State *L, struct rt_device *device, enum rt_dtype dtype, int ndim, const int64_t *shape,
                         const int64_t *indices)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(device, RT_INT64, ndim, shape, out, e));
    lg_check(L, rt_array_write(out, indices, e));
    if (dtype == RT_INT64) return;
    struct rt_array *converted = lg_new_array(L);
    lg_check(L, kn_convert(out, dtype, device, converted, e));
}

/* Pushes an array of ndim axes in front of the rows' own that holds the rows named by the indices. */
static void push_rows(lua_State *L, const struct rt_array *a, int ndim, const int64_t *shape, const int64_t *indices)
{
    struct rt_array to = {.dtype = a->dtype, .ndim = ndim + a->ndim - 1};
    int64_t count = 1, row = 1;
    if (to.ndim > RT_MAX_DIMS) luaL_error(L, "the result would have more than %d axes", RT_MAX_DIMS);
    for (int i = 0; i < ndim; i++) count *= to.shape[i] = shape[i];
    for (int i = 1; i < a->ndim; i++) row *= to.shape[ndim + i - 1] = a->shape[i];
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(rt_array_device(a), a->dtype, to.ndim, to.shape, out, lg_error_box(L)));
    const char *from = lg_push_host_copy(L, a);
    size_t bytes = (size_t)row * rt_dtypes[a->dtype].size;
    char *rows = lua_newuserdatauv(L, (size_t)count * bytes + 1, 0);
    for (int64_t i = 0; i < count && bytes; i++)
        memcpy(rows + (size_t)i * bytes, from + (size_t)(indices[i] - 1) * bytes, bytes);
    lg_check(L, rt_array_write(out, rows, lg_error_box(L)));
    lua_pop(L, 2);
}

static int permutation(lua_State *L)
{
    int first;
    const struct rt_array *a;
    struct lg_generator *g = lg_check_generator(L, &first);
    int64_t n = check_source(L, first, &a);
    struct lg_placement p = {RT_INT64, NULL};
    if (!a) {
        lg_check_placement(L, first + 1, &p);
        check_kind(L, p.dtype, "iuf");
    }
    int64_t *indices = push_block(L, n);
    kn_shuffle(g->seed, g->stream % KN_STREAMS, 1, n, n, indices);
    if (a)
        push_rows(L, a, 1, &n, indices);
    else
        push_indices(L, p.device, p.dtype, 1, &n, indices);
    g->stream++;
    return 1;
}

struct choosing {
    bool replace;
    struct rt_device *device;
    int weights; /* stack index of p, or 0 */
};

/* The options' table at idx; p stays on the stack. */
static void check_options(lua_State *L, int idx, struct choosing *c)
{
    *c = (struct choosing){.replace = true};
    if (lua_isnoneornil(L, idx)) return;
    if (!lua_istable(L, idx)) luaL_argerror(L, idx, "expected a table of options: replace, p, device");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lg_option_name(L);
        if (!strcmp(key, "replace"))
            c->replace = lua_toboolean(L, -1);
        else if (!strcmp(key, "device"))
            c->device = lg_check_device(L, -1);
        else if (strcmp(key, "p") != 0)
            luaL_error(L, "choice has no option '%s'; there are replace, p and device", key);
    }
    if (lua_getfield(L, idx, "p") == LUA_TNIL)
        lua_pop(L, 1);
    else
        c->weights = lua_gettop(L);
    if (c->weights && !c->replace) luaL_error(L, "choice: p goes with replacement only; leave out replace = false");
}

const double *lg_push_weights(lua_State *L, int idx, const char *what, int64_t *n)
{
    struct rt_array *form;
    if (lua_istable(L, idx))
        form = lg_push_from_table(L, idx, RT_FLOAT64, rt_device_open("cpu", lg_error_box(L)));
    else
        form = lg_check_array(L, idx);
    if (form->ndim != 1) luaL_error(L, "%s: the weights p are one axis, got %d", what, form->ndim);
    enum rt_dtype t = form->dtype;
    const char *values = lg_push_host_copy(L, form);
    *n = form->shape[0];
    double *weights = push_block(L, *n), sum = 0;
    for (int64_t i = 0; i < *n; i++) {
        weights[i] = rt_load_double(t, values + (size_t)i * rt_dtypes[t].size);
        if (!(weights[i] >= 0))
            luaL_error(L, "%s: weight %I is %f, expected 0 or more", what, (LUAI_UACINT)i + 1, weights[i]);
        sum += weights[i];
    }
    if (!(sum > 0) || !isfinite(sum))
        luaL_error(L, "%s: the weights' sum is %f, expected a finite one above 0", what, sum);
    return weights;
}

/* Pushes the sums of the weights up to each of the n things, the last of which is the sum of all. */
static const double *push_sums(lua_State *L, int idx, int64_t n)
{
    int64_t count;
    const double *weights = lg_push_weights(L, idx, "choice", &count);
    if (count != n) luaL_error(L, "choice: p needs one weight for each of the %I things", (LUAI_UACINT)n);
    double *sums = push_block(L, n), sum = 0;
    for (int64_t i = 0; i < n; i++) sums[i] = sum += weights[i];
    return sums;
}

/* Replaces uniform numbers by the indices (from 1) of the things that their parts of the sum fall to. */
static void weigh(double *drawn, int64_t count, const double *sums, int64_t n)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = n - 1;
        double at = drawn[i] * sums[n - 1];
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sums[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        while (low > 0 && sums[low] == sums[low - 1]) low--; /* a product rounded up to the sum of all */
        low++;
        memcpy(&drawn[i], &low, sizeof low);
    }
}

static int choice(lua_State *L)
{
    int first, next;
    int64_t shape[RT_MAX_DIMS], count = 1;
    const struct rt_array *a;
    struct choosing c;
    struct lg_generator *g = lg_check_generator(L, &first);
    int64_t n = check_source(L, first, &a);
    int ndim = lg_check_shape(L, first + 1, false, shape, &next);
    check_options(L, next, &c);
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(count, shape[i], &count)) luaL_error(L, "so many elements cannot be chosen");
    if (n == 0 && count > 0) return luaL_error(L, "choice: there is nothing to choose from");
    if (!c.replace && count > n)
        return luaL_error(L, "choice: %I of %I things cannot be chosen without replacement", (LUAI_UACINT)count,
                          (LUAI_UACINT)n);
    if (!a && !c.device) c.device = lg_check_device(L, lua_gettop(L) + 1);
    const double *sums = c.weights ? push_sums(L, c.weights, n) : NULL;
    int64_t *indices = push_block(L, c.replace ? count : n);
    if (!c.replace) {
        kn_shuffle(g->seed, g->stream % KN_STREAMS, 1, n, count, indices);
    } else {
        struct kn_draw d = lg_next_draw(g, sums ? KN_DRAW_UNIFORM : KN_DRAW_INTEGERS);
        d.y = 1;
        d.low = 1;
        d.high = n;
        struct rt_array *drawn = lg_new_array(L);
        struct rt_error *e = lg_error_box(L);
        struct rt_device *cpu = rt_device_open("cpu", e);
        lg_check(L, rt_array_new(cpu, sums ? RT_FLOAT64 : RT_INT64, 1, &count, drawn, e));
        lg_check(L, kn_random(&d, drawn, e));
        lg_check(L, rt_array_read(drawn, indices, e));
        if (sums) weigh((double *)indices, count, sums, n);
    }
    if (a)
        push_rows(L, a, ndim, shape, indices);
    else
        push_indices(L, c.device, RT_INT64, ndim, shape, indices);
    g->stream++;
    return 1;
}

/* ---- generators ---- */
static int seed(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    *g = (struct lg_generator){.seed = (uint64_t)luaL_checkinteger(L, first)};
    return 0;
}

static int generator(lua_State *L)
{
    lua_Integer value = luaL_checkinteger(L, 1);
    struct lg_generator *g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct lg_generator){.seed = (uint64_t)value};
    luaL_setmetatable(L, LG_GENERATOR);
    return 1;
}

static int generator_tostring(lua_State *L)
{
    const struct lg_generator *g = lg_check_object(L, 1, LG_GENERATOR);
    lua_pushfstring(L, "generator of random numbers, seed %I, %I arrays drawn", (LUAI_UACINT)g->seed,
                    (LUAI_UACINT)g->stream);
    return 1;
}

static const struct lg_function random_functions[] = {
    {"uniform", uniform, "gpu.random.uniform(low, high, shape... [, dtype] [, device])",
     "Random numbers, evenly distributed from low (included) to high (not included); a table with the shape alone means "
     "from 0 to 1.\n" LG_SHAPED
     "\nAll functions of gpu.random draw from one generator, Philox 4x32-10, which counts: a session starts with the seed "
     "0, gpu.seed sets another, and for one seed all devices give the same bits, whatever the number of threads. "
     "gpu.random.generator makes generators with seeds of their own, of which these functions are methods.",
     "local x = gpu.random.uniform(-1, 1, 1000)\nassert(x:min() >= -1 and x:max() < 1 and math.abs(x:mean()) < 0.1)"},
    {"normal", normal, "gpu.random.normal(mean, deviation, shape... [, dtype] [, device])",
     "Random numbers, normally distributed with this mean and standard deviation; a table with the shape alone means 0 "
     "and 1.\n" LG_SHAPED,
     "local x = gpu.random.normal(10, 2, {100, 100})\nassert(math.abs(x:mean() - 10) < 0.2)"},
    {"integers", integers, "gpu.random.integers(low, high, shape... [, dtype] [, device])",
     "Random integers from low to high, both included, as with Lua's math.random; int64 unless told otherwise.\n" LG_SHAPED
     "\nEach is made from 64 random bits (from 128 where there are more than 2^32 integers), so that none is more likely "
     "than another by more than one part in 2^32.",
     "local dice = gpu.random.integers(1, 6, 1000)\nassert(dice:min() == 1 and dice:max() == 6)"},
    {"bernoulli", bernoulli, "gpu.random.bernoulli(p, shape... [, dtype] [, device])",
     "True with probability p, else false; in other dtypes than bool 1 and 0.\n" LG_SHAPED,
     "local n = gpu.random.bernoulli(0.25, 10000):sum()\nassert(n > 2300 and n < 2700)"},
    {"exponential", exponential, "gpu.random.exponential(mean, shape... [, dtype] [, device])",
     "Random numbers, exponentially distributed with this mean.\n" LG_SHAPED,
     "local x = gpu.random.exponential(3, 10000)\nassert(x:min() >= 0 and math.abs(x:mean() - 3) < 0.2)"},
    {"gamma", gamma_, "gpu.random.gamma(k, scale, shape... [, dtype] [, device])",
     "Random numbers of the gamma distribution with shape parameter k and this scale; their mean is k * scale.\n" LG_SHAPED,
     "local x = gpu.random.gamma(2, 0.5, 10000)\nassert(x:min() > 0 and math.abs(x:mean() - 1) < 0.05)"},
    {"poisson", poisson, "gpu.random.poisson(mean, shape... [, dtype] [, device])",
     "Random counts of the Poisson distribution with this mean, up to 1e15; int64 unless told otherwise.\n" LG_SHAPED
     "\nCounts that the dtype cannot hold are cut to its range.",
     "local x = gpu.random.poisson(4, 10000)\nassert(x:min() >= 0 and math.abs(x:mean() - 4) < 0.2)"},
    {"binomial", binomial, "gpu.random.binomial(n, p, shape... [, dtype] [, device])",
     "How many of n tries succeed, each with probability p, n up to 1e9; int64 unless told otherwise.\n" LG_SHAPED
     "\nCounts that the dtype cannot hold are cut to its range.",
     "local x = gpu.random.binomial(10, 0.5, 10000)\nassert(x:min() >= 0 and x:max() <= 10 and math.abs(x:mean() - 5) < 0.1)"},
    {"permutation", permutation, "gpu.random.permutation(n | x [, dtype] [, device])",
     "The numbers from 1 to n in random order, or the rows of an array or table (along its first axis), as a new array.\n"
     "Every order is equally likely. It is made on the host and copied to the device.",
     "local p = gpu.random.permutation(5)\nassert(p:sum() == 15 and p:max() == 5)\n"
     "assert(gpu.random.permutation(gpu.array{{1, 2}, {3, 4}}):sum() == 10)"},
    {"choice", choice, "gpu.random.choice(n | x, shape... [, {replace = true, p = nil, device = nil}])",
     "Random members of the numbers 1 to n, or random rows of an array or table (along its first axis).\n"
     "replace = false chooses each one at most once. p, a table or an array, weighs them; the weights need not add up "
     "to 1. It is made on the host and copied to the device.",
     "local x = gpu.random.choice(gpu.array{2, 3, 5, 7}, 100)\nassert(x:min() >= 2 and x:max() <= 7)\n"
     "assert(gpu.random.choice(5, 5, {replace = false}):sum() == 15)\n"
     "assert(gpu.random.choice(3, 10, {p = {0, 1, 0}}):sum() == 20)"},
    {"generator", generator, "gpu.random.generator(seed)",
     "A generator with a seed of its own, whose numbers do not depend on what else is drawn.\n"
     "Its methods are the functions of gpu.random, with rand, randn and seed: g:normal(0, 1, 100), g:rand(3, 3).",
     "local a, b = gpu.random.generator(7), gpu.random.generator(7)\ngpu.rand(10)\nassert(a:rand(5):equal(b:rand(5)))"},
    {0}};

const struct lg_function lg_random_functions[] = {
    {"rand", rand_, "gpu.rand(shape... [, dtype] [, device])",
     "Random numbers, evenly distributed from 0 (included) to 1 (not included).\n"
     "A session starts with the same seed, and all devices give the same numbers; gpu.seed sets another. gpu.random has "
     "other distributions.",
     "local x = gpu.rand(1000)\nassert(x:min() >= 0 and x:max() < 1 and math.abs(x:mean() - 0.5) < 0.05)"},
    {"randn", randn, "gpu.randn(shape... [, dtype] [, device])",
     "Random numbers, normally distributed with mean 0 and standard deviation 1.",
     "assert(math.abs(gpu.randn(10000):mean()) < 0.05)"},
    {"seed", seed, "gpu.seed(integer)", "Sets the seed of the random numbers; the same seed gives the same numbers.",
     "gpu.seed(7)\nlocal x = gpu.rand(5)\ngpu.seed(7)\nassert(gpu.rand(5):equal(x))"},
    {0}};

static void set_methods(lua_State *L, const struct lg_function *rows)
{
    for (; rows->name; rows++) {
        if (rows->call == generator) continue;
        lua_pushcfunction(L, rows->call);
        lua_setfield(L, -2, rows->name);
    }
}

void lg_open_random(lua_State *L)
{
    lua_newtable(L);
    lg_register(L, "gpu.random", random_functions);
    lg_register(L, "gpu.random", lg_distributions);
    lg_register(L, "gpu.random", lg_rare_distributions);
    lg_seal_module(L, "gpu.random",
                   "it has gpu.random.uniform(0, 1, shape), gpu.random.integers(1, 6, shape) and others");
    lua_setfield(L, -2, "random");
    luaL_newmetatable(L, LG_GENERATOR);
    lua_pushcfunction(L, generator_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_newtable(L);
    set_methods(L, random_functions);
    set_methods(L, lg_distributions);
    set_methods(L, lg_rare_distributions);
    set_methods(L, lg_random_functions);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__methods"); /* for completion */
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
