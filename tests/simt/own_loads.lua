-- Threads that load their own elements of an array, and those of others, and store to some: whether one stores to what
-- another touches is counted out here, and gpu.check must say just that, though loads of what nobody else stores to are
-- not recorded.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n, room = 600, 4000
local out = gpu.zeros(n, "int32")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 4711))

-- LOADS and STORES: lists of indices of x, the latter touched where some[i].
local function source(loads, stores)
  local sum, writes = "0", ""
  for _, e in ipairs(loads) do sum = sum .. " + x[" .. e .. "]" end
  for _, e in ipairs(stores) do writes = writes .. "x[" .. e .. "] = v + i;" end
  return ([[__global__ void k(int *x, const unsigned char *some, int *out, int n, int a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = SUM;
    out[i] = v;
    if (some[i]) { WRITES }
  }]]):gsub("%u%u+", { SUM = sum, WRITES = writes }) .. ""
end

local function index(e, i, a) return load("local i, a, n = ... return " .. e)(i, a, n) end

-- Does a thread store to what another one touches?
local function races(loads, stores, some, a)
  local owner, writer = {}, {}
  for i = 0, n - 1 do
    local function touch(e, write)
      local k = index(e, i, a)
      if write and (owner[k] or i) ~= i or (writer[k] or i) ~= i then return true end
      owner[k] = owner[k] and owner[k] ~= i and -1 or i
      if write then writer[k] = i end
    end
    for _, e in ipairs(loads) do if touch(e) then return true end end
    for _, e in ipairs(stores) do if some[i + 1] == 1 and touch(e, true) then return true end end
  end
  return false
end

local function pattern(which, a)
  local some = {}
  for i = 1, n do
    some[i] = which == "all" and 1 or which == "one" and (i == n // 2 and 1 or 0) or
              which == "others" and (i ~= a + 1 and random(3) > 0 and 1 or 0) or 0
  end
  return some
end

for _, case in ipairs {
  { "one element of another thread", { "i", "a" }, { "i" } },
  { "each from the end", { "i", "n - 1 - i" }, { "i" } },
  { "the next thread's", { "i", "i + 1" }, { "i" } },
  { "two, one of them the next thread's", { "2 * i", "2 * i + 1", "2 * i + 2" }, { "2 * i" } },
  { "two rows", { "i", "i + n", "a" }, { "i", "i + n" } },
  { "stores to what others load", { "i", "a" }, { "i + 1" } },
  { "stores by two ways", { "i", "a" }, { "i", "n + n - i" } },
  { "stores to one place", { "i", "i + n" }, { "i", "a" } },
  { "stores far away", { "i", "a" }, { "i + n" } },
} do
  t.test(case[1], function()
    local k = gpu.kernel(source(case[2], case[3]))
    for _, which in ipairs { "none", "one", "others", "all" } do
      local a = random(n)
      local some = pattern(which, a)
      local mask = gpu.array(some):to("uint8")
      for _ = 1, 2 do -- the second launch is known from the first one
        local reports = gpu.check(function() k(5, 128)(gpu.zeros(room, "int32"), mask, out, n, a) end)
        t.eq(#reports > 0, races(case[2], case[3], some, a), ("%s, a = %d"):format(which, a))
        for _, r in ipairs(reports) do t.eq(r.kind, "race", r.text) end
      end
    end
  end)
end

t.test("more instructions than are compared", function()
  local loads = {}
  for k = 1, 70 do loads[k] = ("x[i + %d * 600]"):format(k) end
  local k = gpu.kernel(([[__global__ void k(int *x, int *out, int n, int a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (a < 0) x[i] = 1;
    int v = SUM;
    out[i] = v;
    if (v) x[a + 600] = v;
  }]]):gsub("SUM", table.concat(loads, " + ")) .. "")
  local x = gpu.zeros(60000, "int32")
  t.eq(#gpu.check(function() k(5, 128)(x, out, n, 7) end), 0)
  x[1 + 2 * 600] = 1 -- thread 0 comes to store to what thread 7 loads
  t.eq(#gpu.check(function() k(5, 128)(x, out, n, 7) end) > 0, true)
end)

t.test("a copy that goes on while its thread stores", function()
  local k = gpu.kernel [==[
    #include <cuda_pipeline.h>
    __global__ void k(int *x, int *y, int a, int late) {
      __shared__ int s[128];
      int i = blockIdx.x * 128 + threadIdx.x;
      __pipeline_memcpy_async(&s[threadIdx.x], &x[i], 4);
      __pipeline_commit();
      if (late) __pipeline_wait_prior(0);
      x[i] = 5;
      __pipeline_wait_prior(0);
      y[i] = s[threadIdx.x] + x[a];
    }]==]
  local x, y = gpu.zeros(1000, "int32"), gpu.zeros(1000, "int32")
  t.eq(#gpu.check(function() k(5, 128)(x, y, 900, 1) end), 0)
  t.eq(#gpu.check(function() k(5, 128)(x, y, 900, 0) end), 1)
end)

t.on_threads("tests/simt/own_loads.lua", 1)

t.done()
