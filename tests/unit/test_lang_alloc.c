/* Array code in Lua with every allocation failing in turn: Lua's own, and those of runtime/ and kernels/. Whatever
 * fails, there is a Lua error, nothing leaks, and the state goes on working. */
#include "test.h"
#include "lang/lang.h"

/* Touches creation, views, masks, operators, reductions, printing and conversion, on both devices. */
static const char script[] =
    "local gpu = ...\n"
    "for _, device in ipairs({'cpu', 'simt'}) do\n"
    "  gpu.lazy(device == 'simt' and 'always' or 'never')\n"
    "  local x = gpu.array({{1, 2, 3}, {4, 5, 6}}, device)\n"
    "  local y = (2 * x + 1):sqrt()\n"
    "  y:add_(x.T.T)\n"
    "  x[{1, 2}] = 7\n"
    "  x[x:gt(4)] = {10, 20, 30}\n"
    "  assert(#x[x:gt(5)] == 3)\n"
    "  x[{{}, {2, 3}}] = {{1, 2}, {3, 4}}\n"
    "  local z, i = gpu.range(6, device):reshape(2, 3), gpu.array({3, -1, 1}, device)\n"
    "  assert(z[{1, i}]:sum() == 7 and z[i:ne(3)[{{1, 2}}]].size == 3)\n"
    "  z.T[i] = {{0, 0}, {1, 2}, {5, 5}}\n"
    "  z.T[z.T:gt(4)] = {7, 8, 9}\n"
    "  assert(z:sum() == 29 and #z:scatter_add(2, {{1, 1}, {3, 3}}, 1):argwhere() == 6)\n"
    "  assert(z:pad(1, 'edge'):tile(2, 1):roll(1, 2).size == 40 and #z:repeat_interleave({1, 2}, 1) == 3)\n"
    "  assert(gpu.diag(z:diagonal()):tril():sum() == 16 and #z:split(3, 2) == 3)\n"
    "  assert(x:sum() == 15 and x:sum(1)[2] == 4, x:sum())\n"
    "  assert(#tostring(x) > 10 and #x:totable() == 2)\n"
    "  assert(gpu.allclose(gpu.matmul(x, gpu.eye(3, device)), x))\n"
    "  assert(gpu.einsum('bij,jk,kl->bl', gpu.ones(2, 1, 3, device), x.T, x):sum() > 0)\n"
    "  assert(math.abs(gpu.linalg.cond(gpu.eye(2, device) * 3) - 1) < 1e-6)\n"
    "  assert(x.T:reshape(6):to('cpu', 'int64')[1] == 1)\n"
    "  assert(gpu.rand(5, device):max() < 1 and gpu.linspace(0, 1, 3, device)[3] == 1)\n"
    "  local c = gpu.complex(z, 1):conj() * gpu.complex(0, 2)\n"
    "  c.imag:fill(0)\n"
    "  assert(c:sum() == gpu.complex(12) and #tostring(c) > 20 and c:totable()[1][1].re == 2, tostring(c))\n"
    "  local f = gpu.fft\n"
    "  for _, n in ipairs({6, 7, 37, 2500}) do\n"
    "    local w = gpu.ones(n, device)\n"
    "    assert(f.irfft(f.rfft(w), n):allclose(w, 1e-3) and f.ifft(f.fft(w)):allclose(w, 1e-3))\n"
    "  end\n"
    "  assert(f.fftn(gpu.ones(2, 3, device))[{1, 1}].re == 6)\n"
    "  local g = gpu.random.generator(1)\n"
    "  assert(g:choice(x, 4, {p = {1, 2}}).size == 12 and g:poisson(3, 4, device):min() >= 0)\n"
    "  local s = gpu.eye(3, device):to_sparse()\n"
    "  assert((s + 2 * s):matmul(s.T):matmul(x.T):sum() == 45 and s:sum(1)[2] == 1)\n"
    "  assert(#tostring(gpu.sparse.csr({1, 2}, {2, 1}, {1, 3}, {1, 2}, device)) > 10)\n"
    "  assert(#gpu.conv1d(x, gpu.ones(6, 2, 2, device), {padding = 'same'}) == 6 and #x:max_pool1d(2) == 2)\n"
    "  assert(gpu.ones(1, 8, 20, 20, device):conv2d(gpu.ones(8, 8, 3, 3, device)):max() == 72)\n"
    "  local v = gpu.ones(1, 2, 3, 4, 4, device)\n"
    "  assert(v:conv3d(gpu.ones(1, 2, 2, 2, 2, device), {padding = 1}):max() == 16 and v:avg_pool3d(2).size == 8)\n"
    "  assert(v[1]:conv_transpose2d(gpu.ones(3, 1, 2, 2, device), {stride = 2, bias = gpu.ones(1, device)}).size == 128)\n"
    "  assert(select(2, gpu.lfilter({1, 2}, {1, -0.5}, x.T, {axis = 1, zi = {{0, 0}}})).size == 2)\n"
    "  assert(gpu.sparse.gmres(gpu.eye(3, device) * 2, x[1], {restart = 2}):sum() > 0)\n"
    "  assert(gpu.convolve(x[1], gpu.ones(2, 'int32', device)).size == 4)\n"
    "  assert(gpu.array({0, 1}, 'int32', device):bincount(0, x[{1, {1, 2}}]).size == 2)\n"
    "  local m, n = (x / 2):frexp()\n"
    "  assert(m:ldexp(n):equal(x / 2) and select(2, x:remquo(2)):sum() > 0 and x:nextafter(9):vecdot(x)[1] > 0)\n"
    "  assert(z:histogram({0, 5, 9}):sum() == 6 and #z:compress({true, false}) == 1)\n"
    "  assert((x - 1):std() > 0 and (x * x):max(1)[2] > 0 and (x / 2):exp():logsumexp(2)[1] > 0)\n"
    "  assert(#tostring((x + x[1]:sqrt()):explain()) > 20)\n"
    "  local s, r = gpu.stream(device), gpu.stream(device)\n"
    "  local before, w = s:record(), gpu.ones(500, device)\n"
    "  assert(#gpu.check(function()\n"
    "    s:with(function() w:add_(1) end)\n"
    "    r:with(function() w['1:9']:mul_(2) w['11:19']:mul_(2) w['21:29']:mul_(2) end)\n"
    "  end) == 1)\n"
    "  r:wait(s)\n"
    "  assert(r:with(function() return w:sum() end) == 1054 and before:elapsed(r:record()) >= 0)\n"
    "  if device == 'simt' then\n"
    "    local g, v = gpu.graph(function() w:add_(1) return w * 2 end, device)\n"
    "    g:launch(s)\n"
    "    r:wait(s)\n"
    "    assert(v:sum() == 3108)\n"
    "  end\n"
    "  assert(gpu.pinned(3, device):sum() == 0)\n"
    "  assert(x[1]:median() and x[1]:topk(2).size == 2 and #gpu.memory(device).arrays > 0)\n"
    "end\n";

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
    luaL_loadstring(L, script);
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

TEST(allocations_of_lua)
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

TEST(allocations_of_the_runtime)
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
    CHECK(failures > 10);
    collect_and_check(L);
    lua_close(L);
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
