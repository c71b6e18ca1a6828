/* Distributions that are made of others by a few operations, in float64. */
#include <math.h>
#include <string.h>
#include "lang/random.h"
#include "lang/steps.h"

/* What a call has said but for the parameters. */
struct wanted {
    int generator; /* where it is; 0: the session's own */
    int first;     /* the first parameter */
    int shape;     /* where a table of the sizes is */
    int ndim;
    int64_t sizes[RT_MAX_DIMS];
    struct lg_placement place;
};

/* The start of reading: parameters are at w->first and behind. */
static void begin(lua_State *L, struct wanted *w)
{
    memset(w, 0, sizeof *w);
    w->generator = lg_is_generator(L, 1) ? 1 : 0;
    w->first = w->generator + 1;
}

/* Reads the shape and the placement behind the parameters and pushes the shape. Whole numbers are int64 unless told
 * otherwise, others float32. */
static void read_shape_of(lua_State *L, int parameters, const char *what, bool whole, struct wanted *w)
{
    int next, at = w->first + parameters;
    w->place = (struct lg_placement){whole ? RT_INT64 : RT_FLOAT32, NULL};
    w->ndim = lg_check_shape(L, at, false, w->sizes, &next);
    if (lua_istable(L, at)) lg_placement_fields(L, at, &w->place);
    lg_check_placement(L, next, &w->place);
    if (!strchr(whole ? "iuf" : "f", rt_dtypes[w->place.dtype].kind))
        luaL_error(L, "%s: random numbers need %s dtype, not %s", what, whole ? "an integer or floating" : "a floating",
                   rt_dtypes[w->place.dtype].name);
    lg_push_shape(L, w->ndim, w->sizes);
    w->shape = lua_gettop(L);
}

static void read_shape(lua_State *L, int parameters, const char *what, struct wanted *w)
{
    read_shape_of(L, parameters, what, false, w);
}

/* Pushes float64 numbers of a distribution of one or two parameters. */
static int push_draw(lua_State *L, const struct wanted *w, const char *name, int count, double x, double y)
{
    char kinds[8] = "", *k = kinds;
    if (w->generator) *k++ = 'v';
    *k++ = 'n';
    if (count == 2) *k++ = 'n';
    memcpy(k, "vss", 4);
    const char *device = w->place.device->name;
    if (w->generator && count == 2) return lg_step(L, name, kinds, w->generator, x, y, w->shape, "float64", device);
    if (w->generator) return lg_step(L, name, kinds, w->generator, x, w->shape, "float64", device);
    if (count == 2) return lg_step(L, name, kinds, x, y, w->shape, "float64", device);
    return lg_step(L, name, kinds, x, w->shape, "float64", device);
}

static int push_exponential(lua_State *L, const struct wanted *w, double mean)
{
    return push_draw(L, w, "gpu.random.exponential", 1, mean, 0);
}

static int push_gamma(lua_State *L, const struct wanted *w, double k, double scale)
{
    return push_draw(L, w, "gpu.random.gamma", 2, k, scale);
}

static int push_normal(lua_State *L, const struct wanted *w, double mean, double deviation)
{
    return push_draw(L, w, "gpu.random.normal", 2, mean, deviation);
}

/* The array at the top in the dtype asked for. */
static int finish(lua_State *L, const struct wanted *w)
{
    if (w->place.dtype != RT_FLOAT64) lg_step(L, "to", "vs", lua_gettop(L), rt_dtypes[w->place.dtype].name);
    lg_check_array(L, -1);
    return 1;
}

/* Reads a place and a scale, which is not negative, and the shape. */
static void read_scaled(lua_State *L, const char *function, const char *place, struct wanted *w, double *at,
                        double *scale)
{
    begin(L, w);
    *at = lg_check_parameter(L, w->first, place);
    *scale = lg_check_parameter(L, w->first + 1, "scale");
    if (*scale < 0) luaL_error(L, "%s: the scale is negative: %f", function, *scale);
    read_shape(L, 2, function, w);
}

static int laplace(lua_State *L)
{
    struct wanted w;
    double mean, scale;
    read_scaled(L, "laplace", "mean", &w, &mean, &scale);
    int up = push_exponential(L, &w, scale), down = push_exponential(L, &w, scale);
    lg_step(L, "add", "vn", lg_step(L, "sub", "vv", up, down), mean);
    return finish(L, &w);
}

static int gumbel(lua_State *L)
{
    struct wanted w;
    double mode, scale;
    read_scaled(L, "gumbel", "mode", &w, &mode, &scale);
    int log = lg_step(L, "log", "v", push_exponential(L, &w, 1));
    lg_step(L, "add", "vn", lg_step(L, "mul", "vn", log, -scale), mode);
    return finish(L, &w);
}

static int logistic(lua_State *L)
{
    struct wanted w;
    double mean, scale;
    read_scaled(L, "logistic", "mean", &w, &mean, &scale);
    int up = push_exponential(L, &w, 1), down = push_exponential(L, &w, 1);
    int log = lg_step(L, "log", "v", lg_step(L, "div", "vv", up, down));
    lg_step(L, "add", "vn", lg_step(L, "mul", "vn", log, scale), mean);
    return finish(L, &w);
}

static int lognormal(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double mean = lg_check_parameter(L, w.first, "mean"),
           deviation = lg_check_parameter(L, w.first + 1, "standard deviation");
    if (deviation < 0) return luaL_error(L, "lognormal: the standard deviation is negative: %f", deviation);
    read_shape(L, 2, "lognormal", &w);
    lg_step(L, "exp", "v", push_normal(L, &w, mean, deviation));
    return finish(L, &w);
}

static int beta(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double a = lg_check_positive(L, w.first, "beta", "a"), b = lg_check_positive(L, w.first + 1, "beta", "b");
    read_shape(L, 2, "beta", &w);
    int one = push_gamma(L, &w, a, 1), two = push_gamma(L, &w, b, 1);
    lg_step(L, "div", "vv", one, lg_step(L, "add", "vv", one, two));
    return finish(L, &w);
}

static int chisquare(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double freedom = lg_check_positive(L, w.first, "chisquare", "the degree of freedom");
    read_shape(L, 1, "chisquare", &w);
    push_gamma(L, &w, freedom / 2, 2);
    return finish(L, &w);
}

static int standard_t(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double freedom = lg_check_positive(L, w.first, "standard_t", "the degree of freedom");
    read_shape(L, 1, "standard_t", &w);
    int normal = push_normal(L, &w, 0, 1),
        spread = lg_step(L, "sqrt", "v", push_gamma(L, &w, freedom / 2, 2 / freedom));
    lg_step(L, "div", "vv", normal, spread);
    return finish(L, &w);
}

static int standard_cauchy(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    read_shape(L, 0, "standard_cauchy", &w);
    int one = push_normal(L, &w, 0, 1);
    lg_step(L, "div", "vv", one, push_normal(L, &w, 0, 1));
    return finish(L, &w);
}

static int weibull(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double a = lg_check_positive(L, w.first, "weibull", "the shape parameter");
    read_shape(L, 1, "weibull", &w);
    lg_step(L, "pow", "vn", push_exponential(L, &w, 1), 1 / a);
    return finish(L, &w);
}

static int rayleigh(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double scale = lg_check_positive(L, w.first, "rayleigh", "the scale");
    read_shape(L, 1, "rayleigh", &w);
    lg_step(L, "mul", "vn", lg_step(L, "sqrt", "v", push_exponential(L, &w, 2)), scale);
    return finish(L, &w);
}

static int pareto(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double a = lg_check_positive(L, w.first, "pareto", "the shape parameter");
    read_shape(L, 1, "pareto", &w);
    lg_step(L, "expm1", "v", push_exponential(L, &w, 1 / a));
    return finish(L, &w);
}

static int power(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double a = lg_check_positive(L, w.first, "power", "a");
    read_shape(L, 1, "power", &w);
    lg_step(L, "exp", "v", lg_step(L, "neg", "v", push_exponential(L, &w, 1 / a)));
    return finish(L, &w);
}

static int triangular(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double left = lg_check_parameter(L, w.first, "left"), mode = lg_check_parameter(L, w.first + 1, "mode"),
           right = lg_check_parameter(L, w.first + 2, "right");
    if (!(left <= mode && mode <= right))
        return luaL_error(L, "triangular: the mode must be from left to right, got %f, %f and %f", left, mode, right);
    read_shape(L, 3, "triangular", &w);
    /* the part below the mode has the probability that it has of the length */
    const double part = left < right ? (mode - left) / (right - left) : 1;
    int u = push_draw(L, &w, "gpu.random.uniform", 2, 0, 1), under = lg_step(L, "lt", "vn", u, part);
    int up = lg_step(L, "sqrt", "v", lg_step(L, "mul", "vn", u, (right - left) * (mode - left)));
    int rest = lg_step(L, "add", "vn", lg_step(L, "neg", "v", u), 1.0);
    int down = lg_step(L, "sqrt", "v", lg_step(L, "mul", "vn", rest, (right - left) * (right - mode)));
    int low = lg_step(L, "add", "vn", up, left), high = lg_step(L, "add", "vn", lg_step(L, "neg", "v", down), right);
    lg_step(L, "gpu.where", "vvv", under, low, high);
    return finish(L, &w);
}

/* The smaller root of Michael, Schucany and Haas's transformation ("Generating random variates using transformations
 * with multiple roots", 1976) is the mean over 1 + r + sqrt(r (r + 2)), the greater one the mean squared over that. */
static int wald(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double mean = lg_check_positive(L, w.first, "wald", "the mean"),
           scale = lg_check_positive(L, w.first + 1, "wald", "the scale");
    read_shape(L, 2, "wald", &w);
    int r = lg_step(L, "mul", "vn", lg_step(L, "square", "v", push_normal(L, &w, 0, 1)), mean / (2 * scale));
    int root = lg_step(L, "sqrt", "v", lg_step(L, "mul", "vv", r, lg_step(L, "add", "vn", r, 2.0)));
    int over = lg_step(L, "add", "vv", lg_step(L, "add", "vn", r, 1.0), root);
    int less = lg_step(L, "reciprocal", "v", over), share = lg_step(L, "add", "vn", less, 1.0);
    int u = push_draw(L, &w, "gpu.random.uniform", 2, 0, 1);
    int first = lg_step(L, "lt", "vn", lg_step(L, "mul", "vv", u, share), 1.0);
    lg_step(L, "mul", "vn", lg_step(L, "gpu.where", "vvv", first, less, over), mean);
    return finish(L, &w);
}

/* Pushes the quotient of two sums of squares, each over its degree of freedom. */
static int push_quotient(lua_State *L, const struct wanted *w, double upper, double lower, double noncentrality)
{
    int over = noncentrality > 0
                   ? lg_step(L, "div", "vn",
                             push_draw(L, w, "gpu.random.noncentral_chisquare", 2, upper, noncentrality), upper)
                   : push_gamma(L, w, upper / 2, 2 / upper);
    return lg_step(L, "div", "vv", over, push_gamma(L, w, lower / 2, 2 / lower));
}

static int f(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double upper = lg_check_positive(L, w.first, "f", "the numerator's degree of freedom"),
           lower = lg_check_positive(L, w.first + 1, "f", "the denominator's degree of freedom");
    read_shape(L, 2, "f", &w);
    push_quotient(L, &w, upper, lower, 0);
    return finish(L, &w);
}

static int noncentral_f(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double upper = lg_check_positive(L, w.first, "noncentral_f", "the numerator's degree of freedom"),
           lower = lg_check_positive(L, w.first + 1, "noncentral_f", "the denominator's degree of freedom"),
           noncentrality = lg_check_not_negative(L, w.first + 2, "noncentral_f", "the noncentrality");
    read_shape(L, 3, "noncentral_f", &w);
    push_quotient(L, &w, upper, lower, noncentrality);
    return finish(L, &w);
}

static int geometric(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    double p = lg_check_positive(L, w.first, "geometric", "a probability");
    if (p > 1) return luaL_error(L, "geometric: a probability is from 0 to 1, got %f", p);
    read_shape_of(L, 1, "geometric", true, &w);
    /* the time until the first success, where that comes as often as in a try */
    int time = lg_step(L, "div", "vn", push_exponential(L, &w, 1), p < 1 ? -log1p(-p) : INFINITY);
    lg_step(L, "maximum", "vi", lg_step(L, "ceil", "v", time), (int64_t)1);
    return finish(L, &w);
}

/* Of means and covariances, by the square root of their matrix. */
static int multivariate_normal(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    int mean = w.first, cov = w.first + 1;
    const struct rt_array *m = lg_step_array(L, mean, NULL, RT_FLOAT64), *c = lg_step_array(L, cov, m, RT_FLOAT64);
    int64_t n = m->ndim == 1 ? m->shape[0] : 0;
    if (n < 1 || c->ndim != 2 || c->shape[0] != n || c->shape[1] != n)
        return luaL_error(
            L, "multivariate_normal: the means are one axis, and the covariances a matrix of as many rows and "
               "columns");
    if (lua_isnone(L, w.first + 2)) lua_newtable(L);
    read_shape(L, 2, "multivariate_normal", &w);
    if (w.ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    w.sizes[w.ndim++] = n;
    lg_push_shape(L, w.ndim, w.sizes);
    w.shape = lua_gettop(L);
    const char *device = w.place.device->name;
    int even = lg_step(L, "to", "vss", cov, device, "float64");
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE); /* two results: values and vectors */
    lua_getfield(L, -1, "lunarray");
    lua_getfield(L, -1, "linalg");
    lua_getfield(L, -1, "eigh");
    lua_pushvalue(L, even);
    lua_call(L, 1, 2);
    int vectors = lua_gettop(L), values = vectors - 1;
    int roots = lg_step(L, "sqrt", "v", lg_step(L, "relu", "v", values));
    int root = lg_step(L, "transpose", "v", lg_step(L, "mul", "vv", vectors, roots));
    int product = lg_step(L, "matmul", "vv", push_normal(L, &w, 0, 1), root);
    lg_step(L, "add", "vv", product, lg_step(L, "to", "vss", mean, device, "float64"));
    return finish(L, &w);
}

/* Pushes the logarithms of gamma numbers of the shape k, which may be too small to be numbers themselves: those of k
 * below 1 are those of k + 1 times a uniform one to the power 1 / k. */
static int push_log_gamma(lua_State *L, const struct wanted *w, double k)
{
    int log = lg_step(L, "log", "v", push_gamma(L, w, k < 1 ? k + 1 : k, 1));
    if (k >= 1) return log;
    return lg_step(L, "sub", "vv", log, push_exponential(L, w, 1 / fmax(k, 1e-300)));
}

/* Gamma numbers over their sums. */
static int dirichlet(lua_State *L)
{
    struct wanted w;
    begin(L, &w);
    const struct rt_array *alpha = lg_step_array(L, w.first, NULL, RT_FLOAT64);
    const int64_t n = alpha->ndim == 1 ? alpha->shape[0] : 0;
    if (n < 1) return luaL_error(L, "dirichlet: alpha is one axis of numbers above 0, a list or an array");
    if (lua_isnone(L, w.first + 1)) lua_newtable(L);
    read_shape(L, 1, "dirichlet", &w);
    if (w.ndim == RT_MAX_DIMS) return luaL_error(L, "an array has at most %d axes", RT_MAX_DIMS);
    int list = lg_step(L, "totable", "v", w.first), parts;
    lua_createtable(L, n < 1024 ? (int)n : 1024, 0);
    parts = lua_gettop(L);
    for (int64_t i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        lua_pushvalue(L, push_log_gamma(L, &w, lg_check_positive(L, parts + 1, "dirichlet", "alpha")));
        lua_rawseti(L, parts, i);
        lua_settop(L, parts);
    }
    int all = lg_step(L, "gpu.stack", "vi", parts, (int64_t)-1);
    lg_step(L, "softmax", "vi", all, (int64_t)-1);
    return finish(L, &w);
}

/* In place. */
static int shuffle(lua_State *L)
{
    int at = lg_is_generator(L, 1) ? 2 : 1;
    lg_check_array(L, at);
    lua_settop(L, at);
    int mixed =
        at == 2 ? lg_step(L, "gpu.random.permutation", "vv", 1, 2) : lg_step(L, "gpu.random.permutation", "v", 1);
    lg_step(L, "copy_", "vv", at, mixed);
    lua_pushvalue(L, at);
    return 1;
}

#define LAST_BITS "\nLogarithms and powers may differ in their last bits between devices."

const struct lg_function lg_distributions[] = {
    {"beta", beta, "gpu.random.beta(a, b, shape... [, dtype] [, device])",
     "Random numbers of the beta distribution, from 0 to 1; their mean is a / (a + b).\n" LG_SHAPED,
     "local x = gpu.random.beta(2, 6, 10000)\nassert(x:min() >= 0 and x:max() <= 1 and math.abs(x:mean() - 0.25) < 0.01)"},
    {"chisquare", chisquare, "gpu.random.chisquare(freedom, shape... [, dtype] [, device])",
     "Random sums of so many squares of normal numbers; their mean is the degree of freedom.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.chisquare(3, 10000):mean() - 3) < 0.15)"},
    {"standard_t", standard_t, "gpu.random.standard_t(freedom, shape... [, dtype] [, device])",
     "Random numbers of Student's t distribution with this degree of freedom.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.standard_t(10, 10000):mean()) < 0.1)"},
    {"standard_cauchy", standard_cauchy, "gpu.random.standard_cauchy(shape... [, dtype] [, device])",
     "Random numbers of Cauchy's distribution, which has no mean.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.standard_cauchy(10000):median()) < 0.1)"},
    {"laplace", laplace, "gpu.random.laplace(mean, scale, shape... [, dtype] [, device])",
     "Random numbers of Laplace's distribution, two exponential ones back to back.\n" LG_SHAPED,
     "local x = gpu.random.laplace(5, 2, 10000)\nassert(math.abs(x:mean() - 5) < 0.15)"},
    {"gumbel", gumbel, "gpu.random.gumbel(mode, scale, shape... [, dtype] [, device])",
     "Random numbers of Gumbel's distribution, of extremes.\n" LG_SHAPED LAST_BITS,
     "assert(math.abs(gpu.random.gumbel(0, 1, 10000):mean() - 0.5772) < 0.1)"},
    {"logistic", logistic, "gpu.random.logistic(mean, scale, shape... [, dtype] [, device])",
     "Random numbers of the logistic distribution.\n" LG_SHAPED LAST_BITS,
     "assert(math.abs(gpu.random.logistic(3, 0.5, 10000):mean() - 3) < 0.1)"},
    {"lognormal", lognormal, "gpu.random.lognormal(mean, deviation, shape... [, dtype] [, device])",
     "Random numbers whose logarithm is normally distributed with this mean and standard deviation.\n" LG_SHAPED
         LAST_BITS,
     "assert(math.abs(gpu.random.lognormal(0, 0.5, 10000):log():std() - 0.5) < 0.05)"},
    {"weibull", weibull, "gpu.random.weibull(a, shape... [, dtype] [, device])",
     "Random numbers of Weibull's distribution with the shape parameter a and the scale 1.\n" LG_SHAPED LAST_BITS,
     "assert(math.abs(gpu.random.weibull(1, 10000):mean() - 1) < 0.05)"},
    {"rayleigh", rayleigh, "gpu.random.rayleigh(scale, shape... [, dtype] [, device])",
     "Random lengths of vectors of two normal numbers of this standard deviation.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.rayleigh(2, 10000):square():mean() - 8) < 0.5)"},
    {"pareto", pareto, "gpu.random.pareto(a, shape... [, dtype] [, device])",
     "Random numbers of the distribution of Pareto and Lomax, from 0 on; 1 more are Pareto's own of the scale 1.\n" LG_SHAPED
         LAST_BITS,
     "local x = gpu.random.pareto(3, 10000)\nassert(x:min() >= 0 and math.abs(x:mean() - 0.5) < 0.1)"},
    {"power", power, "gpu.random.power(a, shape... [, dtype] [, device])",
     "Random numbers from 0 to 1 whose density is as x ^ (a - 1).\n" LG_SHAPED LAST_BITS,
     "assert(math.abs(gpu.random.power(3, 10000):mean() - 0.75) < 0.02)"},
    {"triangular", triangular, "gpu.random.triangular(left, mode, right, shape... [, dtype] [, device])",
     "Random numbers from left to right whose density is a triangle with its top at the mode.\n" LG_SHAPED,
     "local x = gpu.random.triangular(0, 1, 5, 10000)\nassert(x:min() >= 0 and x:max() <= 5 and math.abs(x:mean() - 2) < 0.1)"},
    {"wald", wald, "gpu.random.wald(mean, scale, shape... [, dtype] [, device])",
     "Random numbers of Wald's distribution, the inverse Gaussian one: when a random walk with a drift comes somewhere.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.wald(2, 8, 10000):mean() - 2) < 0.1)"},
    {"f", f, "gpu.random.f(numerator, denominator, shape... [, dtype] [, device])",
     "Random numbers of Fisher's distribution: quotients of two chisquare numbers over their degrees of freedom.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.f(5, 12, 10000):mean() - 1.2) < 0.1)"},
    {"noncentral_f", noncentral_f,
     "gpu.random.noncentral_f(numerator, denominator, noncentrality, shape... [, dtype] [, device])",
     "The same as gpu.random.f with a noncentral_chisquare number above.\n" LG_SHAPED,
     "assert(math.abs(gpu.random.noncentral_f(5, 12, 5, 10000):mean() - 2.4) < 0.2)"},
    {"geometric", geometric, "gpu.random.geometric(p, shape... [, dtype] [, device])",
     "How many tries it takes until one succeeds, each with probability p; int64 unless told otherwise.\n" LG_SHAPED,
     "local x = gpu.random.geometric(0.25, 10000)\nassert(x:min() == 1 and math.abs(x:mean() - 4) < 0.2)"},
    {"multivariate_normal", multivariate_normal,
     "gpu.random.multivariate_normal(mean, cov [, shape...] [, dtype] [, device])",
     "Random vectors, normally distributed with these means, a list or array, and this matrix of covariances.\n"
     "The vectors are the last axis behind the shape; without one there is one vector. The covariances may be singular. "
     "Products may differ in their last bits between devices.",
     "local x = gpu.random.multivariate_normal({1, 2}, {{1, 0.5}, {0.5, 1}}, 10000)\n"
     "assert(x.shape[2] == 2 and x.T:cov():allclose(gpu.array({{1, 0.5}, {0.5, 1}}), 0, 0.06))"},
    {"dirichlet", dirichlet, "gpu.random.dirichlet(alpha [, shape...] [, dtype] [, device])",
     "Random parts of a whole: numbers from 0 to 1, as many as alpha has, a list or an array, whose sum is 1.\n"
     "They are the last axis behind the shape; without one there is one set of them. Their means are alpha over its sum.",
     "local x = gpu.random.dirichlet({1, 3}, 10000)\n"
     "assert(x.shape[2] == 2 and x:sum(2):allclose(1) and math.abs(x:mean(1)[2] - 0.75) < 0.01)"},
    {"shuffle", shuffle, "gpu.random.shuffle(x)",
     "Brings the rows of x, along its first axis, into a random order, in place. Returns x.\n"
     "gpu.random.permutation(x) leaves x as it is.",
     "local x = gpu.range(10)\ngpu.random.shuffle(x)\nassert(x:sort():equal(gpu.range(10)))"},
    {0}};
