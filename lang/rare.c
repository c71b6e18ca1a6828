/* Rarer distributions that are drawn as they are, by kernels/random.def, beside those of lang/random.c. */
#include "lang/random.h"
#include "lang/steps.h"

static int negative_binomial(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_NEGATIVE_BINOMIAL);
    d.x = lg_check_positive(L, first, "negative_binomial", "the count of successes");
    const double p = lg_check_parameter(L, first + 1, "probability");
    if (!(p > 0 && p <= 1))
        return luaL_error(L, "negative_binomial: the probability must be above 0 and at most 1, got %f", p);
    d.y = (1 - p) / p;
    if (d.x * d.y > KN_MOST_MEAN / 10)
        return luaL_error(L, "negative_binomial: the mean n (1 - p) / p must be at most %f, got %f", KN_MOST_MEAN / 10,
                          d.x * d.y);
    return lg_fill_random(L, g, first + 2, &d, RT_INT64, "iuf");
}

static double check_count(lua_State *L, int idx, const char *function, const char *what)
{
    int is_integer;
    const lua_Integer n = lua_tointegerx(L, idx, &is_integer);
    if (!is_integer || lua_type(L, idx) != LUA_TNUMBER)
        luaL_error(L, "%s: %s: expected a whole number, got %s; the parameters come first, then the shape", function,
                   what, lua_type(L, idx) == LUA_TNUMBER ? lua_tostring(L, idx) : lg_type_name(L, idx));
    if (n < 0 || (double)n > KN_MOST_TRIES)
        luaL_error(L, "%s: %s: expected 0 to %d, got %I", function, what, (int)KN_MOST_TRIES, (LUAI_UACINT)n);
    return (double)n;
}

static int hypergeometric(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_HYPERGEOMETRIC);
    d.x = check_count(L, first, "hypergeometric", "good");
    d.y = check_count(L, first + 1, "hypergeometric", "bad");
    d.z = check_count(L, first + 2, "hypergeometric", "count");
    if (d.z > d.x + d.y)
        return luaL_error(L, "hypergeometric: %d of %d things cannot be taken", (int)d.z, (int)(d.x + d.y));
    return lg_fill_random(L, g, first + 3, &d, RT_INT64, "iuf");
}

static struct rt_array *push_numbers(lua_State *L, struct rt_device *d, int64_t n)
{
    struct rt_array *a = lg_new_array(L);
    lg_check(L, rt_array_new(d, RT_FLOAT64, 1, &n, a, lg_error_box(L)));
    return a;
}

/* Fills `rows` rows of n columns in `out`, contiguous: each column is a binomial number of the tries that those before
 * it left, by the part that its weight has of all from there on; the last is what is left. */
static void fill_multinomial(lua_State *L, struct lg_generator *g, double tries, const double *weights, int64_t n,
                             int64_t rows, const struct rt_array *out)
{
    struct rt_error *e = lg_error_box(L);
    struct rt_array *left = push_numbers(L, rt_array_device(out), rows),
                    *drawn = push_numbers(L, rt_array_device(out), rows);
    double *sums = lua_newuserdatauv(L, (size_t)n * sizeof *sums, 0), sum = 0;
    for (int64_t i = n - 1; i >= 0; i--) sums[i] = sum += weights[i];
    lg_check(L, kn_fill(left, &(struct kn_operand){.is_float = true, .f = tries}, e));
    for (int64_t i = 0; i < n; i++) {
        struct rt_array column = *out; /* borrowed */
        column.ndim = 1;
        column.shape[0] = rows;
        column.strides[0] = n;
        column.offset += i;
        if (i < n - 1) {
            struct kn_draw d = lg_next_draw(g, KN_DRAW_BINOMIAL);
            d.x = sums[i] > 0 ? weights[i] / sums[i] : 0;
            d.tries = left;
            lg_draw(L, g, &d, drawn);
            lg_check(L, kn_apply(KN_SUB, (struct kn_operand[]){{.array = left}, {.array = drawn}}, left, e));
        }
        lg_check(L, kn_copy(&column, i < n - 1 ? drawn : left, e));
    }
}

static int multinomial(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    const double tries = check_count(L, first, "multinomial", "tries");
    const struct rt_array *p = lg_step_array(L, first + 1, NULL, RT_FLOAT64);
    int64_t n = p->ndim == 1 ? p->shape[0] : 0, rows = 1;
    if (lua_isnone(L, first + 2)) lua_newtable(L); /* one row */
    const struct rt_array *out = lg_push_shaped(L, first + 2, RT_INT64, "iuf", &n);
    const int at = lua_gettop(L);
    const double *weights = lg_push_weights(L, first + 1, "multinomial", &n);
    for (int i = 0; i < out->ndim - 1; i++) rows *= out->shape[i];
    if (rows > 0) fill_multinomial(L, g, tries, weights, n, rows, out);
    lua_settop(L, at);
    return 1;
}

static int zipf(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_ZIPF);
    const double exponent = lg_check_parameter(L, first, "exponent");
    if (!(exponent > 1)) return luaL_error(L, "zipf: the exponent must be above 1, got %f", exponent);
    d.x = exponent - 1;
    return lg_fill_random(L, g, first + 1, &d, RT_INT64, "iuf");
}

static int logseries(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_LOGSERIES);
    d.x = lg_check_parameter(L, first, "p");
    if (!(d.x >= 0 && d.x < 1)) return luaL_error(L, "logseries: p must be from 0 to below 1, got %f", d.x);
    return lg_fill_random(L, g, first + 1, &d, RT_INT64, "iuf");
}

static int noncentral_chisquare(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_NONCENTRAL_CHISQUARE);
    d.x = lg_check_positive(L, first, "noncentral_chisquare", "the degree of freedom");
    d.y = lg_check_not_negative(L, first + 1, "noncentral_chisquare", "the noncentrality");
    if (d.y > 2 * KN_MOST_MEAN)
        return luaL_error(L, "noncentral_chisquare: the noncentrality must be at most %f, got %f", 2 * KN_MOST_MEAN,
                          d.y);
    return lg_fill_random(L, g, first + 2, &d, RT_FLOAT32, "f");
}

static int vonmises(lua_State *L)
{
    int first;
    struct lg_generator *g = lg_check_generator(L, &first);
    struct kn_draw d = lg_next_draw(g, KN_DRAW_VONMISES);
    d.x = lg_check_parameter(L, first, "mean direction");
    d.y = lg_check_not_negative(L, first + 1, "vonmises", "the concentration");
    return lg_fill_random(L, g, first + 2, &d, RT_FLOAT32, "f");
}

#define CUT "\nCounts that the dtype cannot hold are cut to its range."

const struct lg_function lg_rare_distributions[] = {
    {"negative_binomial", negative_binomial, "gpu.random.negative_binomial(n, p, shape... [, dtype] [, device])",
     "How many tries fail before n have succeeded, each with probability p; int64 unless told otherwise.\n" LG_SHAPED
     "\nn, above 0, need not be whole; the mean n (1 - p) / p is at most 1e14." CUT,
     "local x = gpu.random.negative_binomial(3, 0.25, 10000)\nassert(x:min() >= 0 and math.abs(x:mean() - 9) < 0.5)"},
    {"hypergeometric", hypergeometric, "gpu.random.hypergeometric(good, bad, count, shape... [, dtype] [, device])",
     "How many of `count` things are good that are taken out of so many good and bad ones, and not put back; int64 unless "
     "told otherwise.\n" LG_SHAPED "\nThere are up to 1e9 of either kind." CUT,
     "local x = gpu.random.hypergeometric(15, 10, 5, 10000)\nassert(x:max() <= 5 and math.abs(x:mean() - 3) < 0.1)"},
    {"multinomial", multinomial, "gpu.random.multinomial(n, p [, shape...] [, dtype] [, device])",
     "How often each of some things comes in n tries, up to 1e9, of the probabilities p, a list or an array; int64 unless "
     "told otherwise.\nThe counts are the last axis behind the shape; without one there is one set of them. p need not "
     "add up to 1: it is divided by its sum." CUT,
     "local x = gpu.random.multinomial(20, {1, 2, 1}, 1000)\n"
     "assert(x:sum(2):eq(20):all() and math.abs(x[{{}, 2}]:mean() - 10) < 0.5)"},
    {"zipf", zipf, "gpu.random.zipf(a, shape... [, dtype] [, device])",
     "Random whole numbers k from 1 on whose probabilities are as k ^ -a, a above 1; int64 unless told otherwise.\n" LG_SHAPED
     "\nNumbers above 2^63 do not come." CUT,
     "local x = gpu.random.zipf(4, 10000)\nassert(x:min() == 1 and math.abs(x:eq(1):mean() - 0.9239) < 0.02)"},
    {"logseries", logseries, "gpu.random.logseries(p, shape... [, dtype] [, device])",
     "Random whole numbers k from 1 on whose probabilities are as p ^ k / k, p below 1; int64 unless told otherwise.\n" LG_SHAPED
         CUT,
     "local x = gpu.random.logseries(0.5, 10000)\nassert(x:min() == 1 and math.abs(x:mean() - 1 / math.log(2)) < 0.1)"},
    {"noncentral_chisquare", noncentral_chisquare,
     "gpu.random.noncentral_chisquare(freedom, noncentrality, shape... [, dtype] [, device])",
     "Random sums of so many squares of normal numbers whose means have this sum of squares.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.noncentral_chisquare(3, 2, 10000):mean() - 5) < 0.3)"},
    {"vonmises", vonmises, "gpu.random.vonmises(mean, concentration, shape... [, dtype] [, device])",
     "Random angles, in radians from -pi to pi, of von Mises's distribution: the normal one of a circle.\n" LG_SHAPED
     "\nA concentration of 0 makes all angles equally likely.",
     "local x = gpu.random.vonmises(1, 4, 10000)\nassert(math.abs(math.atan(x:sin():mean(), x:cos():mean()) - 1) < 0.05)"},
    {0}};
