/* Array code in Lua with every allocation failing in turn: Lua's own, and those of runtime/ and kernels/. Whatever
 * fails, there is a Lua error, nothing leaks, and the state goes on working. */
#include "test.h"
#include "lang/lang.h"

/* Pieces of scripts, since each allocation that fails runs again what comes before it. */
struct pieces {
    const char *beginning, *list[10]; /* of each, which has both devices in turn */
};

#define ON_BOTH_DEVICES                                                                                                \
    "local gpu = ...\n"                                                                                                \
    "for _, device in ipairs({'cpu', 'simt'}) do\n"                                                                    \
    "  gpu.lazy(device == 'simt' and 'always' or 'never')\n"
static const char both_end[] = "\nend";

/* Touches creation, views, masks, operators, reductions, printing and conversion. */
static const struct pieces script = {
    ON_BOTH_DEVICES "local x = gpu.array({{1, 1, 2}, {4, 3, 4}}, device)\n"
                    "local z = gpu.range(6, device):reshape(2, 3)\n",
    {"local x = gpu.array({{1, 2, 3}, {4, 5, 6}}, device)\n"
     "local y = (2 * x + 1):sqrt()\n"
     "y:add_(x.T.T)\n"
     "x[{1, 2}] = 7\n"
     "x[x:gt(4)] = {10, 20, 30}\n"
     "assert(#x[x:gt(5)] == 3)\n"
     "x[{{}, {2, 3}}] = {{1, 2}, {3, 4}}\n"
     "local z, i = gpu.range(6, device):reshape(2, 3), gpu.array({3, -1, 1}, device)\n"
     "assert(z[{1, i}]:sum() == 7 and z[i:ne(3)[{{1, 2}}]].size == 3)\n"
     "z.T[i] = {{0, 0}, {1, 2}, {5, 5}}\n"
     "z.T[z.T:gt(4)] = {7, 8, 9}\n"
     "assert(z:sum() == 29 and #z:scatter_add(2, {{1, 1}, {3, 3}}, 1):argwhere() == 6)\n"
     "assert(z:pad(1, 'edge'):tile(2, 1):roll(1, 2).size == 40 and #z:repeat_interleave({1, 2}, 1) == 3)\n"
     "assert(gpu.diag(z:diagonal()):tril():sum() == 16 and #z:split(3, 2) == 3)\n",
     "assert(x:sum() == 15 and x:sum(1)[2] == 4, x:sum())\n"
     "assert(#tostring(x) > 10 and #x:totable() == 2)\n"
     "assert(gpu.allclose(gpu.matmul(x, gpu.eye(3, device)), x))\n"
     "assert(gpu.einsum('bij,jk,kl->bl', gpu.ones(2, 1, 3, device), x.T, x):sum() > 0)\n"
     "assert(math.abs(gpu.linalg.cond(gpu.eye(2, device) * 3) - 1) < 1e-6)\n"
     "assert(x.T:reshape(6):to('cpu', 'int64')[1] == 1)\n"
     "assert(gpu.rand(5, device):max() < 1 and gpu.linspace(0, 1, 3, device)[3] == 1)\n"
     "local c = gpu.complex(z, 1):conj() * gpu.complex(0, 2)\n"
     "c.imag:fill(0)\n"
     "assert(c:sum() == gpu.complex(12) and #tostring(c) > 20 and c:totable()[1][1].re == 2, tostring(c))\n",
     "local f = gpu.fft\n"
     "for _, n in ipairs({6, 7, 37, 2500}) do\n"
     "  local w = gpu.ones(n, device)\n"
     "  assert(f.irfft(f.rfft(w), n):allclose(w, 1e-3) and f.ifft(f.fft(w)):allclose(w, 1e-3))\n"
     "end\n"
     "assert(f.fftn(gpu.ones(2, 3, device))[{1, 1}].re == 6)\n",
     "local g = gpu.random.generator(1)\n"
     "assert(g:choice(x, 4, {p = {1, 2}}).size == 12 and g:poisson(3, 4, device):min() >= 0)\n"
     "local s = gpu.eye(3, device):to_sparse()\n"
     "assert((s + 2 * s):matmul(s.T):matmul(x.T):sum() == 45 and s:sum(1)[2] == 1)\n"
     "assert(#tostring(gpu.sparse.csr({1, 2}, {2, 1}, {1, 3}, {1, 2}, device)) > 10)\n",
     "assert(#gpu.conv1d(x, gpu.ones(6, 2, 2, device), {padding = 'same'}) == 6 and #x:max_pool1d(2) == 2)\n"
     "assert(gpu.ones(1, 8, 20, 20, device):conv2d(gpu.ones(8, 8, 3, 3, device)):max() == 72)\n"
     "local v = gpu.ones(1, 2, 3, 4, 4, device)\n"
     "assert(v:conv3d(gpu.ones(1, 2, 2, 2, 2, device), {padding = 1}):max() == 16 and v:avg_pool3d(2).size == 8)\n"
     "assert(v[1]:conv_transpose2d(gpu.ones(3, 1, 2, 2, device), {stride = 2, bias = gpu.ones(1, device)}).size == 128)\n"
     "assert(select(2, gpu.lfilter({1, 2}, {1, -0.5}, x.T, {axis = 1, zi = {{0, 0}}})).size == 2)\n"
     "assert(gpu.sparse.gmres(gpu.eye(3, device) * 2, x[1], {restart = 2}):sum() > 0)\n",
     "assert(gpu.convolve(x[1], gpu.ones(2, 'int32', device)).size == 4)\n"
     "assert(gpu.array({0, 1}, 'int32', device):bincount(0, x[{1, {1, 2}}]).size == 2)\n"
     "local m, n = (x / 2):frexp()\n"
     "assert(m:ldexp(n):equal(x / 2) and select(2, x:remquo(2)):sum() > 0 and x:nextafter(9):vecdot(x)[1] > 0)\n"
     "assert(z:histogram({0, 5, 9}):sum() == 6 and #z:compress({true, false}) == 1)\n"
     "assert((x - 1):std() > 0 and (x * x):max(1)[2] > 0 and (x / 2):exp():logsumexp(2)[1] > 0)\n"
     "assert(#tostring((x + x[1]:sqrt()):explain()) > 20)\n",
     "local s, r = gpu.stream(device), gpu.stream(device)\n"
     "local before, w = s:record(), gpu.ones(500, device)\n"
     "assert(#gpu.check(function()\n"
     "  s:with(function() w:add_(1) end)\n"
     "  r:with(function() w['1:9']:mul_(2) w['11:19']:mul_(2) w['21:29']:mul_(2) end)\n"
     "end) == 1)\n"
     "r:wait(s)\n"
     "assert(r:with(function() return w:sum() end) == 1054 and before:elapsed(r:record()) >= 0)\n"
     "if device == 'simt' then\n"
     "  local g, v = gpu.graph(function() w:add_(1) return w * 2 end, device)\n"
     "  g:launch(s)\n"
     "  r:wait(s)\n"
     "  assert(v:sum() == 3108)\n"
     "end\n"
     "assert(gpu.pinned(3, device):sum() == 0)\n"
     "assert(x[1]:median() and x[1]:topk(2).size == 2 and #gpu.memory(device).arrays > 0)\n"}};

/* What is put together from steps, or found on the host in memory of its own. */
static const struct pieces by_steps = {
    ON_BOTH_DEVICES "local nd, sp = gpu.ndimage, gpu.sparse\n"
                    "local x = gpu.array({{1, 2, 3, 0}, {4, 5, 6, 0}, {7, 1, 9, 2}}, device)\n"
                    "local line, i = x:reshape(12), gpu.array({1, 3, 3}, 'int64', device)\n",
    {"local at, known = gpu.find_peaks(line, {height = 2, distance = 2, prominence = 1, width = 0, plateau_size = 1})\n"
     "assert(#at > 1 and #known.widths == #at)\n"
     "assert(gpu.savgol_filter(x, 3, 1, {axis = 1}).size == 12 and gpu.medfilt(line):max() > 0)\n"
     "assert(#gpu.resample_poly(line, 3, 2) == 18 and #gpu.resample(line, 5) == 5 and #gpu.decimate(line, 2, 4, 'fir') == 6)\n"
     "assert(#gpu.detrend(line, {breaks = {4}}) == 12 and gpu.chirp(line, 1, 1, 2):max() <= 1)\n"
     "assert(#gpu.ellip(3, 1, 40, 0.3) == 2 and #gpu.freqz({1, 2}, {1, 0.5}, 4) == 4)\n",
     "local d, where = nd.distance_transform_edt(x, {return_indices = true})\n"
     "assert(d:max() > 1 and where.size == 24)\n"
     "assert(nd.sum_labels(x, x:to('int32'), {1, 9}):sum() == 11 and #nd.find_objects(x:to('int32')) == 9)\n"
     "assert(nd.median(x, x:to('int32'), 1) == 1 and nd.maximum_position(x, x:to('int32'), 9)[1] == 3)\n"
     "assert(nd.binary_fill_holes(x):any() and nd.rank_filter(x, 2, 3).size == 12 and nd.white_tophat(x, 2).size == 12)\n",
     "assert(gpu.cdist(x, x, 3).size == 9 and #gpu.pdist(x) == 3)\n"
     "local a = sp.diags({-1, 3, -1}, {-9, 0, 9}, {12, 12}, device)\n"
     "assert(sp.factorized(a)(line).size == 12 and sp.spsolve(a, line).size == 12)\n"
     "assert(sp.minres(a, line, {steps = 2}).size == 12 and sp.lsqr(a, line, {steps = 2}).size == 12)\n",
     "assert(gpu.interpolate(x:reshape(1, 3, 4), 2, nil, 'linear').size == 6)\n"
     "assert(gpu.grid_sample(x:reshape(1, 1, 3, 4), gpu.zeros(1, 1, 2, 2, device)).size == 2)\n"
     "assert(gpu.scaled_dot_product_attention(x, x, x, {causal = true}).size == 12 and gpu.cross_entropy(x, i) > 0)\n"
     "assert(gpu.dropout(x, 0.5).size == 12 and gpu.embedding(i, x).size == 12 and gpu.fold(x, 1, 2).size == 8)\n",
     "local bits = x:gt(2):packbits(2)\n"
     "assert(bits:unpackbits(2, 4):sum() == x:gt(2):sum() and #line:partition({3, 5}) == 12 and #line:argpartition(4) == 12)\n"
     "assert(x:to('float64'):argpartition(2).size == 12 and line:kthvalue(1) == 0 and line:mode() == 0)\n",
     "assert(line:scatter_reduce(1, i, line['1:3'], 'mean', false).size == 12 and x:index_add(1, i, 1):sum() > 40)\n"
     "assert(x:fill_diagonal({1, 2, 3})[{3, 3}] == 3 and #x:unstack(2) == 4 and #line:unstack() == 12 and #x:trim_zeros() == 3)\n"
     "assert(x:vdot(x) > 0 and x:cumulative_trapezoid{initial = 0}.size == 12 and x:logcumsumexp(1)[{3, 1}] > 7)\n"
     "assert(x:var{where = x:gt(1)} > 0 and select(2, x:frexp()):max() == 4 and #gpu.tril_indices(x) == 6)\n"
     "assert(gpu.linalg.null_space(x).size == 4 and gpu.linalg.toeplitz(line).size == 144)\n"
     "assert(gpu.random.generator(1):dirichlet({0.5, 2}, 3, device).size == 6 and gpu.zeta(line + 2)[1] > 1)\n"}};

static const char *chosen;

struct countdown {
    long left; /* allocations that still succeed; negative: all do */
    size_t bytes;
    bool failed;
};

static void *count_down(void *context, void *p, size_t old, size_t size)
{
    struct countdown *c = context;
    if (!p) old = 0;
    if (size == 0) {
        free(p);
        c->bytes -= old;
        return NULL;
    }
    if (size > old && c->left == 0) {
        c->failed = true;
        return NULL;
    }
    if (size > old && c->left > 0) c->left--;
    void *q = realloc(p, size);
    if (q) c->bytes += size - old;
    return q;
}

static char file[64];

static void remove_file(void)
{
    unlink(file);
}

static void name_file(void)
{
    if (*file) return;
    snprintf(file, sizeof file, "/tmp/lunarray-alloc-%ld", (long)getpid());
    setenv("LUNARRAY_TEST_FILE", file, 1);
    atexit(remove_file);
}

/* Lua never lets an allocation that shrinks fail, and neither do we. */
static lua_State *open_state(struct countdown *c)
{
    name_file();
    lua_State *L = lua_newstate(count_down, c);
    CHECK(L != NULL);
    luaL_openlibs(L);
    luaL_requiref(L, "lunarray", luaopen_lunarray, 0);
    return L;
}

static int run_script(lua_State *L)
{
    luaL_loadstring(L, chosen);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    return 0;
}

static int protected_run(lua_State *L)
{
    lua_pushcfunction(L, run_script);
    lua_pushvalue(L, 1);
    int status = lua_pcall(L, 1, 0, 0);
    if (status == LUA_OK) return LUA_OK;
    CHECK(lua_type(L, -1) == LUA_TSTRING);
    const char *message = lua_tostring(L, -1);
    if (!strstr(message, "memory")) FAIL("the message is \"%s\", expected one on memory", message);
    lua_pop(L, 1);
    return status;
}

static size_t bytes_in_use(void)
{
    size_t sum = 0;
    struct rt_memory_stats s;
    const char *const names[] = {"cpu", "simt"};
    for (int i = 0; i < 2; i++) {
        rt_memory_stats(rt_device_open(names[i], NULL), &s);
        sum += s.in_use;
    }
    return sum;
}

static void collect_and_check(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT);
    CHECK_INT(bytes_in_use(), 0);
}

static void choose(const struct pieces *p, int i)
{
    static char text[4096];
    int length = snprintf(text, sizeof text, "%s%s%s", p->beginning, p->list[i], both_end);
    CHECK(length < (int)sizeof text);
    chosen = text;
}

static void fail_each_of_lua(void)
{
    struct countdown c = {.left = -1};
    lua_State *L = open_state(&c);
    CHECK_INT(protected_run(L), LUA_OK); /* what is made once is made now */
    long n = 0;
    for (;; n++) {
        collect_and_check(L);
        c.left = n;
        c.failed = false;
        int status = protected_run(L);
        c.left = -1;
        if (!c.failed) {
            CHECK_INT(status, LUA_OK);
            break;
        }
    }
    CHECK(n > 100);
    collect_and_check(L);
    lua_close(L);
    CHECK_INT(c.bytes, 0);
}

TEST(allocations_of_lua)
{
    for (int i = 0; script.list[i]; i++) {
        choose(&script, i);
        fail_each_of_lua();
    }
}
TEST(allocations_of_lua_in_steps)
{
    for (int i = 0; by_steps.list[i]; i++) {
        choose(&by_steps, i);
        fail_each_of_lua();
    }
}

TEST(opening_the_library)
{
    long n = 0;
    for (bool failed = true; failed; n += 1 + n / 8) {
        struct countdown c = {.left = -1};
        lua_State *L = lua_newstate(count_down, &c);
        CHECK(L != NULL);
        lua_pushcfunction(L, luaopen_lunarray);
        c.left = n;
        int status = lua_pcall(L, 0, 1, 0);
        failed = c.failed;
        CHECK(failed || status == LUA_OK);
        c.left = -1;
        lua_close(L);
        CHECK_INT(c.bytes, 0);
    }
    CHECK(n > 100);
}

static int fail_each_of_the_runtime(void)
{
    struct countdown c = {.left = -1};
    lua_State *L = open_state(&c);
    CHECK_INT(protected_run(L), LUA_OK);
    int failures = 0;
    for (long n = 1, passes = 0; passes < 20; n++) {
        collect_and_check(L);
        rt_fail_allocation(n);
        int status = protected_run(L);
        rt_fail_allocation(0);
        /* Some failures are survived by collecting or by computing without scratch memory, so one pass is not the end.
         */
        if (status == LUA_OK) {
            passes++;
        } else {
            passes = 0;
            failures++;
        }
    }
    collect_and_check(L);
    lua_close(L);
    return failures;
}

TEST(allocations_of_the_runtime)
{
    int failures = 0;
    for (int i = 0; script.list[i]; i++) {
        choose(&script, i);
        failures += fail_each_of_the_runtime();
    }
    CHECK(failures > 100);
}
TEST(allocations_of_the_runtime_in_steps)
{
    int failures = 0;
    for (int i = 0; by_steps.list[i]; i++) {
        choose(&by_steps, i);
        failures += fail_each_of_the_runtime();
    }
    CHECK(failures > 100);
}

TEST(a_full_device_collects)
{
    struct countdown c = {.left = -1};
    lua_State *L = open_state(&c);
    lua_setglobal(L, "gpu");
    /* 20 MB of garbage of which the device cannot know; the collector is stopped so that nobody else takes it away. */
    CHECK(luaL_dostring(L, "collectgarbage('stop'); for i = 1, 50 do gpu.empty(100000, 'cpu') end") == LUA_OK);
    CHECK(bytes_in_use() >= 20000000);
    rt_device_open("cpu", NULL)->total_memory = 25000000;
    CHECK(luaL_dostring(L, "big = gpu.empty(2000000, 'cpu')") == LUA_OK);
    CHECK(bytes_in_use() < 9000000);
    /* What is in use stays, and the error tells how much that is. */
    CHECK(luaL_dostring(L, "bigger = gpu.empty(6000000, 'cpu')") != LUA_OK);
    CHECK_HAS(lua_tostring(L, -1), "out of memory on cpu");
    CHECK(luaL_dostring(L, "assert(big:fill(1):sum() == 2000000)") == LUA_OK);
    lua_close(L);
    CHECK_INT(bytes_in_use(), 0);
}
