/* Random arrays: Philox 4x32-10, a counter-based generator (Salmon et al., 2011). Element i of the nth call depends
 * only on the seed, on n and on i, so the numbers are the same on every device. */
#include <math.h>
#include <string.h>
#include "lang/array.h"

struct generator {
    uint64_t seed;
    uint64_t stream; /* counts the arrays made since the seed was set */
};

static const char generator_key;

static struct generator *find_generator(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &generator_key);
    struct generator *g = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (g) return g;
    g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct generator){0};
    lua_rawsetp(L, LUA_REGISTRYINDEX, &generator_key);
    return g;
}

/* Four random words for a counter of 128 bits (here: block and stream) and a key of 64. */
static void philox(uint64_t block, uint64_t stream, uint64_t seed, uint32_t out[4])
{
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1,
                            (uint32_t)p0};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

/* [0, 1) with 53 bits from two words; float32 rounds it down to 24 so that 1 never comes out. */
static double uniform_of(const uint32_t w[2])
{
    return (double)(((uint64_t)w[0] << 21) | (w[1] >> 11)) * 0x1p-53;
}

static double truncated(double u, enum rt_dtype t)
{
    int bits = t == RT_FLOAT64 ? 53 : t == RT_FLOAT32 ? 24 : t == RT_FLOAT16 ? 11 : 8;
    return ldexp(floor(ldexp(u, bits)), -bits);
}

static void fill_uniform(const struct generator *g, enum rt_dtype t, char *p, int64_t n)
{
    uint32_t w[4];
    for (int64_t i = 0; i < n; i++) {
        if (i % 2 == 0) philox((uint64_t)i / 2, g->stream, g->seed, w);
        rt_store_double(t, p + i * rt_dtypes[t].size, truncated(uniform_of(w + i % 2 * 2), t));
    }
}

/* Box and Muller's method: two normal numbers from two uniform ones. */
static void fill_normal(const struct generator *g, enum rt_dtype t, char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i += 2) {
        uint32_t w[4];
        philox((uint64_t)i / 2, g->stream, g->seed, w);
        double radius = sqrt(-2 * log(1 - uniform_of(w))), angle = 2 * 3.14159265358979323846 * uniform_of(w + 2);
        rt_store_double(t, p + i * rt_dtypes[t].size, radius * cos(angle));
        if (i + 1 < n) rt_store_double(t, p + (i + 1) * rt_dtypes[t].size, radius * sin(angle));
    }
}

static int make(lua_State *L, void (*fill)(const struct generator *, enum rt_dtype, char *, int64_t))
{
    int64_t shape[RT_MAX_DIMS];
    int next;
    struct lg_placement p = {RT_FLOAT32, NULL};
    int ndim = lg_check_shape(L, 1, false, shape, &next);
    if (lua_istable(L, 1)) lg_placement_fields(L, 1, &p);
    lg_check_placement(L, next, &p);
    if (rt_dtypes[p.dtype].kind != 'f')
        return luaL_error(L, "random numbers need a floating dtype, not %s", rt_dtypes[p.dtype].name);
    struct generator *g = find_generator(L);
    struct rt_array *out = lg_new_array(L);
    lg_check(L, rt_array_new(p.device, p.dtype, ndim, shape, out, lg_error_box(L)));
    int64_t n = rt_array_size(out);
    char *host = lg_array_host(out), *to = host;
    if (!host) to = lua_newuserdatauv(L, (size_t)n * rt_dtypes[p.dtype].size + 1, 0);
    fill(g, p.dtype, to, n);
    g->stream++;
    if (host) return 1;
    lg_check(L, rt_array_write(out, to, lg_error_box(L)));
    lua_pop(L, 1);
    return 1;
}

static int uniform(lua_State *L)
{
    return make(L, fill_uniform);
}
static int normal(lua_State *L)
{
    return make(L, fill_normal);
}
static int seed(lua_State *L)
{
    struct generator *g = find_generator(L);
    *g = (struct generator){.seed = (uint64_t)luaL_checkinteger(L, 1)};
    return 0;
}

const struct lg_function lg_random_functions[] = {
    {"rand", uniform, "gpu.rand(shape... [, dtype] [, device])",
     "Random numbers, evenly distributed from 0 (included) to 1 (not included).\n"
     "A session starts with the same seed, and all devices give the same numbers; gpu.seed sets another.",
     "local x = gpu.rand(1000)\nassert(x:min() >= 0 and x:max() < 1 and math.abs(x:mean() - 0.5) < 0.05)"},
    {"randn", normal, "gpu.randn(shape... [, dtype] [, device])",
     "Random numbers, normally distributed with mean 0 and standard deviation 1.",
     "assert(math.abs(gpu.randn(10000):mean()) < 0.05)"},
    {"seed", seed, "gpu.seed(integer)", "Sets the seed of the random numbers; the same seed gives the same numbers.",
     "gpu.seed(7)\nlocal x = gpu.rand(5)\ngpu.seed(7)\nassert(gpu.rand(5):equal(x))"},
    {0}};
