-- Local memory: arrays of a thread's own, by indices that are known at run time only: of all sizes, where lanes part, in
-- functions that call themselves, and beyond their ends.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [[
__global__ void sort(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float w[12];
  for (int k = 0; k < 12; k++) w[k] = x[12 * i + k];
  for (int k = 1; k < 12; k++) {
    float v = w[k];
    int m = k - 1;
    for (; m >= 0 && w[m] > v; m--) w[m + 1] = w[m];
    w[m + 1] = v;
  }
  for (int k = 0; k < 12; k++) y[12 * i + k] = w[k];
}
template <typename T> __device__ long long shuffled(int i, int first, int step) {
  T w[32];
  for (int k = 0; k < 32; k++) w[k * 5 + i & 31] = (T)(k * first - 1000 * i);
  long long s = 0;
  for (int k = 0; k < 32; k++) if ((k ^ i) % 3) s = 3 * s + (long long)w[k * step & 31];
  return s;
}
__global__ void sizes(long long *y, int first, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[8 * i] = shuffled<signed char>(i, first, step);
  y[8 * i + 1] = shuffled<unsigned char>(i, first, step);
  y[8 * i + 2] = shuffled<short>(i, first, step);
  y[8 * i + 3] = shuffled<unsigned short>(i, first, step);
  y[8 * i + 4] = shuffled<int>(i, first, step);
  y[8 * i + 5] = shuffled<unsigned>(i, first, step);
  y[8 * i + 6] = shuffled<long long>(i, first, step);
  y[8 * i + 7] = shuffled<double>(i, first, step);
}
__global__ void quads(const float4 *x, float4 *y, const int *turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 w[4];
  for (int k = 0; k < 4; k++) w[k + turns[i] & 3] = x[4 * i + k];
  for (int k = 0; k < 4; k++) y[4 * i + k] = w[turns[i] * 3 + k & 3];
}
__device__ __noinline__ int nested(int depth, int i) {
  int w[4];
  for (int k = 0; k < 4; k++) w[k + i & 3] = depth * 10 + k;
  if (depth < i % 5) w[i + 1 & 3] += nested(depth + 1, i);
  return w[depth + i & 3] + w[i + 1 & 3];
}
__global__ void calls(int *y) { y[threadIdx.x] = nested(0, threadIdx.x); }
__global__ void beyond(int *y, int index) {
  int w[6];
  for (int k = 0; k < 6; k++) w[k] = k * y[0];
  if (threadIdx.x == 7) w[index] = 1;
  y[threadIdx.x] = w[threadIdx.x % 6];
}
]]

t.test("rows sorted by insertion", function()
  local n = 100
  local x = t.list(12 * n, function(i) return i * 7919 % 1009 / 8 end)
  local y = gpu.zeros(12 * n)
  k.sort(2, 64)(gpu.array(x), y, n)
  local got = y:totable()
  for i = 0, n - 1 do
    local row = table.move(x, 12 * i + 1, 12 * i + 12, 1, {})
    table.sort(row)
    for c = 1, 12 do t.eq(got[12 * i + c], row[c], "row " .. i) end
  end
end)

t.test("elements of all sizes", function()
  local kept = {
    function(v) return (v + 128) % 256 - 128 end,
    function(v) return v % 256 end,
    function(v) return (v + 32768) % 65536 - 32768 end,
    function(v) return v % 65536 end,
    function(v) return v end,
    function(v) return v % 2 ^ 32 // 1 | 0 end,
    function(v) return v end,
    function(v) return v end,
  }
  for _, block in ipairs { 64, 40 } do
    local y = gpu.zeros(8 * 2 * block, "int64")
    k.sizes(2, block)(y, 37, 3)
    local got = y:totable()
    for i = 0, 2 * block - 1 do
      for type = 1, 8 do
        local w, s = {}, 0
        for c = 0, 31 do w[c * 5 + i & 31] = kept[type](c * 37 - 1000 * i) end
        for c = 0, 31 do
          if (c ~ i) % 3 ~= 0 then s = 3 * s + w[c * 3 & 31] end
        end
        t.eq(got[8 * i + type], s, ("type %d of thread %d"):format(type, i))
      end
    end
  end
end)

t.test("elements of four numbers", function()
  local n = 64
  local x, turns = t.list(16 * n, function(i) return i end), t.list(n, function(i) return i * i % 7 end)
  local y = gpu.zeros(16 * n)
  k.quads(2, 32)(gpu.array(x), y, gpu.array(turns, "int32"))
  t.close(y, t.list(16 * n, function(i)
    local thread, c = i // 16, i // 4 % 4
    local turn = turns[thread + 1]
    return x[16 * thread + 4 * ((turn * 3 + c - turn) & 3) + i % 4 + 1]
  end), 0)
end)

t.test("functions that call themselves", function()
  local function nested(depth, i)
    local w = {}
    for c = 0, 3 do w[c + i & 3] = depth * 10 + c end
    if depth < i % 5 then w[i + 1 & 3] = w[i + 1 & 3] + nested(depth + 1, i) end
    return w[depth + i & 3] + w[i + 1 & 3]
  end
  local y = gpu.zeros(96, "int32")
  k.calls(1, 96)(y)
  t.close(y, t.list(96, function(i) return nested(0, i) end), 0)
end)

t.test("an index beyond the end of all of it", function()
  if gpu.device().name ~= "simt" then t.skip("a GPU says less, and loses its arrays") end
  for _, index in ipairs { 1 << 20, -(1 << 20) } do
    local y = gpu.ones(32, "int32")
    t.raises("local memory", function()
      k.beyond(1, 32)(y, index)
      gpu.synchronize()
    end)
  end
end)

t.done()
