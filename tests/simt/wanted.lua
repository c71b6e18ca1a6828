-- Loads of shared memory that the compiler makes before it is known whether they are wanted: who does not look at what was
-- loaded has not read it, and who does has.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local clean = assert(loadfile("tests/simt/shared/clean.lua"))(t, gpu)
local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local function kernel(body)
  return "__global__ void k(const float *x, float *y, int n) {\n  __shared__ float s[8];\n  int t = threadIdx.x;\n" .. body .. "\n}"
end
-- Launches the kernel, and compares what is in y with a function of the thread.
local function launch(n, want)
  return function(k)
    local x, y = gpu.range(1, 64), gpu.zeros(64)
    k(2, 64)(x, y, n)
    return want and function() for i = 1, 64 do t.eq(y[i], want(i - 1)) end end
  end
end

local first = "  if (t < n) s[t] = x[t];\n  __syncthreads();\n"
clean("an element that a condition leaves out", kernel(first .. "  y[t] = n > 5 ? s[5] : 7;"), launch(3, function() return 7 end))
clean("one that is chosen by its negation", kernel(first .. "  float v = 7;\n  if (!(n <= 5)) v = s[5];\n  y[t] = v;"), launch(3, function() return 7 end))
clean("sums of those that there are", kernel(first .. [[
  float sum = 0;
  for (int i = 0; i < 8; i++) if (i < n) sum += s[i];
  y[t] = sum;]]), launch(3, function() return 6 end))
clean("before a loop, for some of its rounds", kernel(first .. [[
  float sum = 0;
  for (int i = 0; i < t; i++) {
    if (n > 4 && x[i] > 2) sum += s[5] * x[i];
    else sum += s[1];
  }
  y[t] = sum;]]), launch(4, function(i) return 2 * i end))
for what, condition in pairs { ["makes needless"] = "t == n && s[6] > v", ["decides"] = "!(t != n || s[6] <= v)" } do
  clean("a comparison that another one " .. what, kernel([[
  if (t < 7) s[t] = x[t] + 1;
  float v = x[t];
  if (]] .. condition .. [[) v = v * 2 + 1;
  y[t] = v;]]), launch(6, function(i) return i == 6 and 15 or i + 1 end))
end
clean("an element that is one thread's until the barrier", kernel [[
  if (t == 3) s[7] = x[0];
  float v = x[t];
  for (int i = 0; i < n; i++) if (t == 3) v += s[7] * i;
  y[t] = v;]], launch(4, function(i) return i == 3 and 10 or i + 1 end))
clean("what was loaded an epoch ago", kernel [[
  if (t == 0) s[2] = x[0];
  __syncthreads();
  float v = s[2], sum = 0;
  for (int i = 0; i < n; i++) {
    if (x[t] > i) sum += v;
    __syncthreads();
    if (t == 0) s[2] = i;
  }
  y[t] = sum;]], launch(5, function(i) return math.min(i + 1, 5) end))

local race = { kind = "race", name = "s", line = 4 }
local store = "  if (t == 0) s[2] = x[0];\n"
for name, body in pairs {
  ["in a branch"] = "  float total = s[2];\n  if (t < n) y[t] = x[t] / total;",
  ["chosen"] = "  float total = s[2];\n  y[t] = t < n ? x[t] + total : 0;",
  ["chosen by a negation"] = "  float total = s[2];\n  y[t] = t >= n ? 0 : x[t] + total;",
  ["compared"] = "  float v = x[t];\n  if (t < n && s[2] > v) v = v * 2 + 1;\n  y[t] = v;",
  ["or compared"] = "  float v = x[t];\n  if (t >= n || s[2] > v) v = v * 2 + 1;\n  y[t] = v;",
  ["in a loop"] = "  float sum = 0;\n  for (int i = 0; i < t; i++) if (x[i] > 0) sum += s[2] * x[i];\n  y[t] = sum;" } do
  faulty("a race with what is looked at " .. name, kernel(store .. body), launch(50), race)
end
local unwritten = { kind = "uninitialized read", name = "s", index = 5 }
faulty("an element that nobody wrote, for some", kernel(first .. "  y[t] = t > 40 ? s[5] : 7;"), launch(3), unwritten)
faulty("in a loop, for some", kernel(first .. "  float sum = 0;\n  for (int i = 0; i < t; i++) if (x[i] > 9) sum += s[5] * x[i];\n  y[t] = sum;"),
  launch(4), unwritten)

t.done()
