-- Divisors of 0 among others: gpu.check counts the lanes that divide by one, and no other lane, whether divisors are one
-- number, differ, or are those of lanes that do something else; results are those of the host.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 7))

local source = [==[
  #define I (blockIdx.x * blockDim.x + threadIdx.x)
  __global__ void each(const T *x, const T *by, T *y, T one, int n) { int i = I; y[i] = x[i] / by[i] + x[i] % by[i]; }
  __global__ void some(const T *x, const T *by, T *y, T one, int n) {
    int i = I;
    if (by[i] != 0) y[i] = x[i] / by[i] + x[i] % by[i];
  }
  __global__ void below(const T *x, const T *by, T *y, T one, int n) { int i = I; if (i < n) y[i] = x[i] / by[i]; }
  __global__ void same(const T *x, const T *by, T *y, T one, int n) { int i = I; y[i] = x[i] / one; }
  __global__ void often(const T *x, const T *by, T *y, T one, int n) {
    int i = I;
    T sum = 0;
    for (int k = 0; k < 4; k++)
      if ((i + k) % 3) sum += x[i] / (by[i] + k);
    y[i] = sum;
  }
  __global__ void steps(const T *x, const T *by, T *y, T one, int n) { int i = I; y[i] = x[i] / (T)(i + n); }
]==]

local THREADS = 96
-- What thread i does: its divisors, and its result if none is 0.
local forms = {
  each = function(x, by) return { by, by }, function() return x // by + x % by end end,
  some = function(x, by) return by ~= 0 and { by } or {}, function() return by ~= 0 and x // by + x % by or 7 end end,
  below = function(x, by, _, n, i) return i < n and { by } or {}, function() return i < n and x // by or 7 end end,
  same = function(x, _, one) return { one }, function() return x // one end end,
  often = function(x, by, _, _, i)
    local list, sum = {}, 0
    for k = 0, 3 do if (i + k) % 3 ~= 0 then list[#list + 1] = by + k end end
    return list, function()
      for _, d in ipairs(list) do sum = sum + x // d end
      return sum
    end
  end,
  steps = function(x, _, _, n, i) return { i + n }, function() return x // (i + n) end end,
}

for _, ty in ipairs { { "int", "int32" }, { "unsigned", "uint32" }, { "long long", "int64" } } do
  t.test("divisors of 0: " .. ty[1], function()
    local k, found_some = gpu.kernel((source:gsub("%f[%w]T%f[%W]", ty[1]))), 0
    for round = 1, 72 do
      local name = ({ "each", "some", "below", "same", "often", "steps" })[round % 6 + 1]
      local zeros = round % 4 < 2 and 0 or round % 4 == 2 and 30 or 2
      local x, by = {}, {}
      for i = 1, THREADS do
        x[i] = random(100000)
        by[i] = zeros > 0 and random(zeros) == 0 and 0 or 4 + random(900)
      end
      local one, n = round % 5 == 0 and 0 or 1 + random(9), name == "steps" and random(3) or random(THREADS)
      local want, count = {}, 0
      for i = 1, THREADS do
        local divisors, result = forms[name](x[i], by[i], one, n, i - 1)
        local bad = 0
        for _, d in ipairs(divisors) do bad = bad + (d == 0 and 1 or 0) end
        count = count + bad
        want[i] = bad == 0 and result() or false
      end
      local y, told, what = gpu.full({ THREADS }, 7, ty[2]), 0, ("%s, round %d"):format(name, round)
      local reports = gpu.check(function() k[name](3, 32)(gpu.array(x, ty[2]), gpu.array(by, ty[2]), y, one, n) end)
      for _, r in ipairs(reports) do
        t.eq(r.kind, "division by zero", r.message)
        told = told + r.count
      end
      -- A quotient and a remainder are one instruction or two.
      t.eq(told == count or (name == "each" and 2 * told == count), true, ("%s: %d told, %d are"):format(what, told, count))
      found_some = found_some + told
      for i = 1, THREADS do
        if want[i] then t.eq(y[i], want[i], what .. " " .. i) end
      end
    end
    assert(found_some > 100)
  end)
end

t.test("by a 0 that stands there", function()
  local k = gpu.kernel [[__global__ void k(const int *x, int *y) {
    int i = threadIdx.x, q;
    asm("div.s32 %0, %1, 0;" : "=r"(q) : "r"(x[i]));
    y[i] = q + 1;
  }]]
  local x, y = gpu.ones({ 64 }, "int32"), gpu.zeros(64, "int32")
  for _ = 1, 2 do
    local found = gpu.check(function() k(1, 64)(x, y) end)
    t.eq(#found, 1)
    t.eq(found[1].count, 64)
  end
end)

t.done()
