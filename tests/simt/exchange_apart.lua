-- Lanes that exchange from different lines, or in a function that they came to from different ones: shuffles, votes, matches
-- and reductions want the same operation and mask, no more (PTX ISA, shfl.sync and the like: all threads of the mask have
-- executed it with the same qualifiers). CUDA's guide has such code for halves of a warp.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local k = gpu.kernel [[
__device__ __noinline__ int both(int v) { return __shfl_sync(~0u, v, 3) + __shfl_xor_sync(~0u, v, 1); }

__global__ void halves(int *o) {
  int t = threadIdx.x, v = 10 * t;
  if (t % 32 < 16) v += __shfl_xor_sync(~0u, v, 16);
  else v -= __shfl_xor_sync(~0u, v, 16);
  o[t] = v;
}
__global__ void called(int *o) {
  int t = threadIdx.x, v = t;
  if (t & 1) v = 3 * both(v);
  else v = 2 * both(v + 1);
  o[t] = v;
}
__global__ void votes(int *o, const int *x) {
  int t = threadIdx.x, v;
  if (t % 3 == 0) v = __ballot_sync(~0u, x[t] > 4);
  else if (t % 3 == 1) v = __ballot_sync(~0u, x[t] < 4) ^ 1;
  else v = __ballot_sync(~0u, 1) ^ 2;
  if (t & 2) v ^= __any_sync(~0u, x[t] > 99) << 7;
  else v ^= __any_sync(~0u, t == 0) << 8;
  o[t] = v;
}
__global__ void matches(int *o, const long long *x) {
  int t = threadIdx.x, v;
  if (t & 4) v = __match_any_sync(~0u, x[t]);
  else v = ~__match_any_sync(~0u, x[t]);
  o[t] = v;
}
__global__ void sums(int *o) {
  int t = threadIdx.x, v;
  if (t & 1) v = __reduce_add_sync(~0u, t);
  else v = -__reduce_add_sync(~0u, 2 * t);
  o[t] = v;
}
/* The first half meets in two lines; of the second one some come by a third line, later. */
__global__ void groups(int *o, volatile int *flag) {
  int t = threadIdx.x, v = t;
  unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;
  if (t % 4 == 0) v = __shfl_sync(mask, v, t & 16 | 5);
  else if (t < 28) v = __shfl_sync(mask, v, t & 16 | 4) + 100;
  else {
    while (!*flag);
    v = __shfl_sync(mask, v, 20) + 200;
  }
  if (t == 3) *flag = 1;
  o[t] = v;
}
__global__ void rounds(int *o) {
  int t = threadIdx.x, v = t;
  if (t & 1)
    for (int i = 0; i < 5; i++) v += __shfl_xor_sync(~0u, v, 1);
  else
    for (int i = 0; i < 5; i++) v ^= __shfl_xor_sync(~0u, v, 1);
  o[t] = v;
}
__global__ void other_operation(int *o) {
  int t = threadIdx.x, v = t;
  if (t & 1) v += __shfl_xor_sync(~0u, v, 1);
  else v -= __shfl_sync(~0u, v, 1);
  o[t] = v;
}
__global__ void other_type(int *o) {
  int t = threadIdx.x;
  o[t] = t & 1 ? __reduce_min_sync(~0u, t) : (int)__reduce_min_sync(~0u, (unsigned)t);
}
]]

-- Of a kernel's 32 threads, checked and not, what f(thread) says of 32-bit integers.
local function expect(name, f, ...)
  local more = table.pack(...)
  t.test(name, function()
    for _, checked in ipairs { false, true } do
      local o = gpu.zeros(32, "int32")
      local launch = function() k[name](1, 32)(o, table.unpack(more)) end
      if checked then t.eq(#gpu.check(launch), 0) else launch() end
      for i = 0, 31 do t.eq(o[i + 1], (f(i) + 0x80000000 & 0xffffffff) - 0x80000000, "thread " .. i) end
    end
  end)
end

expect("halves", function(i) return i < 16 and 10 * i + 10 * (i ~ 16) or 10 * i - 10 * (i ~ 16) end)
expect("called", function(i) return i % 2 == 1 and 3 * (3 + i) or 2 * (3 + i + 1) end)
expect("sums", function(i)
  local sum = 0
  for l = 0, 31 do sum = sum + (l % 2 == 1 and l or 2 * l) end
  return i % 2 == 1 and sum or -sum
end)

local x, wide = {}, {}
for i = 1, 32 do
  x[i] = i * 7 % 11
  wide[i] = (i % 5 << 32) + i % 3
end
expect("votes", function(i)
  local v = 0
  for l = 0, 31 do
    local yes = l % 3 == 2 or (l % 3 == 0 and x[l + 1] > 4) or (l % 3 == 1 and x[l + 1] < 4)
    v = v | (yes and 1 << l or 0)
  end
  return v ~ i % 3 ~ (i & 2 ~= 0 and 128 or 256)
end, gpu.array(x, "int32"))
expect("matches", function(i)
  local v = 0
  for l = 0, 31 do v = v | (wide[l + 1] == wide[i + 1] and 1 << l or 0) end
  return i & 4 ~= 0 and v or ~v
end, gpu.array(wide, "int64"))
expect("rounds", function(i)
  local v = {}
  for l = 0, 31 do v[l] = l end
  for _ = 1, 5 do
    local now = {}
    for l = 0, 31 do now[l] = l % 2 == 1 and v[l] + v[l ~ 1] or v[l] ~ v[l ~ 1] end
    v = now
  end
  return v[i]
end)

t.test("groups, of which one waits for another", function()
  local o, flag = gpu.zeros(32, "int32"), gpu.zeros(1, "int32")
  k.groups(1, 32)(o, flag)
  for i = 0, 31 do
    local want = (i < 16 and 0 or 16) + (i % 4 == 0 and 5 or 4) + (i % 4 == 0 and 0 or i < 28 and 100 or 200)
    t.eq(o[i + 1], want, "thread " .. i)
  end
end)

t.test("half a warp of threads", function()
  local o = gpu.zeros(16, "int32")
  k.called(1, 16)(o)
  for i = 0, 15 do t.eq(o[i + 1], i % 2 == 1 and 3 * (3 + i) or 2 * (3 + i + 1), "thread " .. i) end
end)

t.test("other operations do not meet", function()
  local o = gpu.zeros(32, "int32")
  for _, name in ipairs { "other_operation", "other_type" } do
    t.raises("deadlock", k[name](1, 32), o)
    t.eq(gpu.check(function() k[name](1, 32)(o) end)[1].kind, "missing lane")
  end
end)

t.test("a profile counts what waits at two lines", function()
  local o = gpu.zeros(32, "int32")
  local p = gpu.profile(k.halves, 1, 32)(o)
  local count = 0
  for _, line in ipairs(p.lines) do
    if line.source:find "__shfl_xor" then count = count + (line.instructions > 0 and 1 or 0) end
  end
  t.eq(count, 2)
end)
