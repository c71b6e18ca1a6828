-- Graphs: work that is recorded once and launched again and again.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local device = t.kernel_device()
local function test(name, body) t.test(name .. " on " .. device, body) end
local N = 5000
local function ones() return gpu.ones(N, device) end
local source = [[
__global__ void scale(int n, float a, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= a; }
__global__ void add(int n, const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }
struct Pair { int a, b; };
__global__ void put(Pair p, float *x) { x[0] = p.a; x[1] = p.b; }
__global__ void wrong(float *x) { x[threadIdx.x + (1 << 28)] = 1; }
__global__ void sees(cudaTextureObject_t t, float *x) { x[0] = tex1Dfetch<float>(t, 0); }
]]

test("launches of kernels", function()
  local k = gpu.kernel(source, { device = device })
  local x, y = ones(), gpu.zeros(N, device)
  local g = gpu.graph(function()
    k.scale:forall(N)(N, 2, x)
    k.add(20, 256)(N, x, y)
    k.put(1, 1)(string.pack("i4i4", 7, 8), y)
  end, device)
  t.eq(x:sum(), 1.0 * N)
  t.eq(y:sum(), 0.0)
  t.eq(g.nodes, 3)
  t.eq(g.device.name, device)
  t.eq(tostring(g), "graph of 3 nodes on " .. device)
  t.eq(tostring(gpu.graph(function() k.scale:forall(N)(N, 2, x) end, device)), "graph of 1 node on " .. device)
  t.eq(g:launch(), g)
  t.eq(x:sum(), 2.0 * N)
  t.eq(y:sum(), 2.0 * (N - 2) + 15)
  g()
  g()
  t.eq(x[N], 8.0)
  t.eq(y[N], 14.0)
  t.eq(y[2], 8.0)
  x:fill(1) -- new input
  g()
  t.eq(x[N], 2.0)
  t.eq(y[N], 16.0)
end)

test("parts of chains that are garbage do not become nodes", function()
  local function step(x) x["2:-2"] = x["2:-2"] + 0.5 * (x["1:-3"] - 2 * x["2:-2"] + x["3:-1"]) end
  local x, y = gpu.zeros(130, device), gpu.zeros(130, device)
  x[-1], y[-1] = 100, 100
  local g = gpu.graph(function()
    for _ = 1, 10 do step(x) end
  end, device)
  t.eq(g.nodes, 20) -- of six operations each: the right side, then its place in x
  g()
  for _ = 1, 10 do step(y) end
  t.eq(x:equal(y), true)
end)

test("array operations", function()
  local x = ones()
  local m = gpu.range(16, device):reshape(4, 4)
  local g, y, sums, product = gpu.graph(function()
    local a = (x * 3 + 1):sqrt()
    local b = gpu.where(a:gt(1.5), a, -a)
    x:add_(1)
    return b + x, x:reshape(50, 100):sum(2), m:matmul(m)
  end, device)
  for i = 1, 4 do
    g()
    t.close(y, t.list(N, function() return math.sqrt(3 * i + 1) + i + 1 end), 1e-6)
    t.close(sums, t.list(50, function() return 100.0 * (i + 1) end), 1e-6)
    t.eq(product:equal(m:matmul(m)), true)
    m:add_(1)
  end
end)

test("what waited before, and what waits while it is launched", function()
  local former = gpu.lazy("always")
  local x = ones()
  local y = x * 2
  local g, z = gpu.graph(function()
    x:add_(1)
    return y + x
  end, device)
  local before = x * 10
  local part = before + 1
  g()
  t.eq(y[1], 2.0)
  t.eq(before[1], 10.0)
  t.eq(part[1], 11.0)
  t.eq(z[1], 4.0)
  gpu.lazy(former)
end)

test("copies", function()
  local from, to = gpu.range(N, "float32", "cpu"), gpu.zeros(N, "cpu")
  local x = gpu.zeros(N, device)
  local g = gpu.graph(function()
    x:copy_(from)
    x:mul_(2)
    to:copy_(x)
  end, device)
  t.eq(g.nodes >= 3, true)
  t.eq(to:sum(), 0.0)
  g()
  t.eq(to[N], 2.0 * N)
  from:fill(5)
  g()
  t.eq(to[N], 10.0)
  from:fill(6)
  local s = gpu.stream(device)
  g:launch(s)
  t.eq(to[1], 12.0) -- the host waits by itself
end)

test("in streams", function()
  local x = ones()
  local g = gpu.graph(function() x:add_(1) end, device)
  local s, r = gpu.stream(device), gpu.stream(device)
  g:launch(s)
  r:wait(s)
  g:launch(r)
  s:wait(r)
  s:with(function() g() end)
  t.eq(x:sum(), 4.0 * N)
  local found = gpu.check(function()
    g:launch(s)
    g:launch(r)
    r:with(function() x:add_(1) end)
    s:with(function() return x:sum() end)
  end)
  t.eq(#found, 2)
  assert(found[1].text:find("launch() at " .. t.here(), 1, true), found[1].text)
  t.eq(x:sum(), 7.0 * N)
  t.raises({ "the graph is of " .. device, "of cpu" }, function() g:launch(gpu.stream("cpu")) end)
  local inner = gpu.graph(function()
    s:with(function() x:fill(1) end)
    r:with(function() x:add_(1) end)
  end, device)
  inner()
  t.eq(x:sum(), 2.0 * N)
end)

test("its memory stays", function()
  local g, y = (function()
    local x = ones()
    return gpu.graph(function()
      local a = x + 1
      local b = a * 2
      x:add_(1)
      a:free()
      return b:clone()
    end, device)
  end)()
  for _ = 1, 3 do
    collectgarbage()
    for i = 1, 20 do gpu.full(N, -i, device):add_(1) end
    g()
  end
  t.eq(y:sum(), 8.0 * N)
  local used = gpu.memory(device).in_use
  g:free()
  collectgarbage()
  assert(gpu.memory(device).in_use < used)
  t.eq(tostring(g), "graph (freed)")
  t.raises("the graph was freed", function() g() end)
  t.eq(y:sum(), 8.0 * N)
  y:free()
end)

test("streams that part and meet again by events", function()
  local k, x, y, z = gpu.kernel(source, { device = device }), ones(), ones(), ones()
  local side, other, fork, join = gpu.stream(device), gpu.stream(device), gpu.event(device), gpu.event(device)
  local g = gpu.graph(function()
    x:mul_(2)
    fork:record()
    side:wait(fork)
    side:with(function() y:copy_(x) end)
    z:copy_(x)
    join:record(side)
    gpu.event(device):record()
    other:wait(join)
    other:with(function() y:add_(z) end)
  end, device)
  for _ = 1, 3 do g:launch() end
  t.eq(y:sum(), 16.0 * N)
  t.raises("orders the graph's work", fork.synchronize, fork)
  t.raises("orders the graph's work", join.done, join)
  t.raises("orders the graph's work", fork.elapsed, fork, join)
  t.raises("orders the graph's work", side.wait, side, join)
  fork:record()
  fork:synchronize()
  side:wait(fork)
end)

test("what cannot be recorded", function()
  local x = ones()
  local k = gpu.kernel(source, { device = device })
  local function refuses(parts, f)
    t.raises(parts, gpu.graph, f, device)
    t.eq(x:sum(), 1.0 * N) -- and nothing is recorded any more
    x:mul_(1)
  end
  refuses("neither read nor written", function() return x:sum() end)
  refuses("neither read nor written", function() return x[1] end)
  refuses("neither read nor written", function() return tostring(x) end)
  refuses("neither read nor written", function() return x:totable() end)
  refuses("neither read nor written", function() return gpu.array({ 1, 2 }, device) end)
  refuses("neither read nor written", function() return x[x:gt(1)] end)
  refuses("g:launch()", function() return x:max() end)
  refuses("on the host", function() return gpu.fft.fft(x) end)
  refuses("on the host", function() return x:to("cpu"):sum() end)
  refuses("on purpose", function() error("on purpose") end)
  refuses("no textures", function() k.sees(1, 1)(gpu.texture(gpu.ones(4, device), { fetch = true }), x) end)
  refuses("is being recorded", function() gpu.graph(function() end, device) end)
  local g = gpu.graph(function() x:mul_(1) end, device)
  refuses("takes no other graph", function() g() end)
end)

test("an empty graph, and what is no function", function()
  local g = gpu.graph(function() end, device)
  t.eq(g.nodes, 0)
  g()
  t.raises("function expected", gpu.graph, 3)
  t.raises({ "cpu runs no kernels", "simt" }, gpu.graph, function() end, "cpu")
  t.raises("no field 'nothing'", function() return g.nothing end)
end)

local wrongs = [[
__global__ void turn(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void past(float *x) {
  x[threadIdx.x + 1] = 2;
}
__global__ void same(int *x) {
  x[0] = 3;
}
__global__ void stops(float *x) {
  assert(x[0] < 0);
}
]]

local function texts(found)
  local list = {}
  for i, f in ipairs(found) do list[i] = f.text end
  return list
end

test("launches of a graph are checked as they are without it", function()
  local k = gpu.kernel(wrongs, { device = device })
  local x, i = gpu.ones(65, device)["1:64"], gpu.zeros(2, { dtype = "int32", device = device })
  local function work()
    k.turn(1, 64)(x)
    k.past(1, 64)(x)
    k.same(1, 64)(i)
  end
  local g = gpu.graph(work, device)
  if device ~= "simt" then
    t.raises({ "checks need the software GPU", device }, gpu.check, function() g() end)
    t.raises({ "turn: checks need the software GPU", device }, gpu.graph, function() k.turn(1, 64, { check = true })(x) end, device)
    return t.eq(g(), g)
  end
  local plain, found = gpu.check(work), gpu.check(function() g() end)
  t.eq(#plain, 2)
  t.same(texts(found), texts(plain))
  t.eq(found[1].name, "s")
  t.eq(found[2].name, "x")
  t.eq(found[2].length, 64)
  t.eq(#gpu.check(function() gpu.graph(work, device) end), 0) -- nothing ran
  t.same(texts(gpu.check(function() g:launch(gpu.stream(device)) end, "strict")), texts(gpu.check(work, "strict")))
  t.eq(#gpu.check(function() g() end, "strict"), 3)
  t.eq(g(), g) -- in scripts nothing is checked
  for _, mode in ipairs { true, "strict" } do
    local before = gpu.check(mode)
    t.raises({ "race", "turn" }, g)
    t.eq(gpu.time(g, device) > 0, true)
    gpu.check(before)
  end
  x:fill(1)
  i:fill(1)
  t.eq(pcall(gpu.check, true) and pcall(g), false)
  gpu.check(false)
  t.eq(i[1], 1) -- what follows a launch that found something does not run
end)

test("a launch in a graph says itself whether it is checked", function()
  if device ~= "simt" then return end
  local k = gpu.kernel(wrongs, { device = device })
  local x, i = gpu.ones(64, device), gpu.zeros(2, { dtype = "int32", device = device })
  local function found(kernel, option, ...)
    local g = gpu.graph(function() kernel(1, 64, { check = option })(x) end, device)
    return #gpu.check(function() g() end, ...)
  end
  t.eq(found(k.turn, false), 0)
  t.eq(found(k.turn, true), 1)
  local always = gpu.graph(function() k.turn(1, 64, { check = true })(x) end, device)
  t.raises({ "race", "turn" }, always)
  t.raises({ "race", "turn" }, gpu.time, always, device)
  local strict = gpu.graph(function() k.same(1, 64, { check = "strict" })(i) end, device)
  t.raises({ "race", "same" }, strict)
  t.eq(#gpu.check(function() strict() end), 1)
  local chains = gpu.graph(function() x:mul_(2) end, device) -- array operations
  x:free()
  t.eq(#gpu.check(function() chains() end), 0)
end)

test("a launch that ends with a fault is told among what was found, and the graph goes on", function()
  if device ~= "simt" then return end
  local k = gpu.kernel(wrongs, { device = device })
  local x = gpu.ones(65, device)["1:64"]
  local g = gpu.graph(function()
    k.turn(1, 64)(x)
    k.stops(1, 1)(x)
    k.past(1, 64)(x)
  end, device)
  local kinds = {}
  for n, f in ipairs(gpu.check(function() g() end)) do kinds[n] = f.kind end
  t.same(kinds, { "race", "fault", "out of bounds" })
  t.eq(x[64], 2.0)
  t.raises("assertion", g)
end)

test("who takes the time has no checks, unless gpu.check(f) asks", function()
  if device ~= "simt" then return end
  local k = gpu.kernel(wrongs, { device = device })
  local x = gpu.ones(64, device)
  local function work() k.turn(1, 64)(x) end
  local before = gpu.check(true)
  t.eq(gpu.time(work, device) > 0, true)
  gpu.benchmark(work)
  t.raises("race", work)
  gpu.check(before)
  t.eq(#gpu.check(function() gpu.time(work, device) end) > 0, true)
end)

test("a fault in a graph", function()
  local k = gpu.kernel(source, { device = device })
  local x = ones()
  local g = gpu.graph(function() k.wrong(1, 1)(x) end, device)
  t.raises(device == "simt" and "kernel wrong" or "a graph", function()
    g()
    gpu.synchronize(device)
  end)
  if device == "simt" then return t.eq(x:sum(), 1.0 * N) end
  t.raises("lost", function() g() end)
end)

t.done()
