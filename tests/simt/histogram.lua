-- Histograms with atomics in global and in shared memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__global__ void direct(const int *x, int *bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1);
}
__global__ void staged(const int *x, int *bins, int n) {
  __shared__ int s[64];
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void extremes(const float *x, float *sum, int *low, unsigned *high, double *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sum, 1.0f);
  atomicMin(low, (int)x[i]);
  atomicMax(high, (unsigned)(x[i] + 1000));
  atomicAdd(wide, (double)x[i]);
}]=]

for _, name in ipairs { "direct", "staged" } do
  t.test(name .. " histogram counts every element", function()
    local n, values, want = 10007, {}, {}
    for b = 1, 64 do want[b] = 0 end
    for i = 1, n do
      local v = (i * i + 7 * i) % 64
      values[i] = v
      want[v + 1] = want[v + 1] + 1
    end
    local bins = gpu.zeros(64, "int32")
    k[name](5, 96)(gpu.array(values, "int32"), bins, n)
    t.same(bins:totable(), want)
  end)
end

t.test("atomics of floats, minima and maxima", function()
  local n = 1000
  local x = gpu.range(0, n - 1, 1, "float32") - 300
  local sum, low, high, wide = gpu.zeros(1), gpu.zeros(1, "int32"), gpu.zeros(1, "uint32"), gpu.zeros(1, "float64")
  k.extremes(8, 128)(x, sum, low, high, wide, n)
  t.eq(sum[1], n)
  t.eq(low[1], -300)
  t.eq(high[1], 1699)
  t.eq(wide[1], x:sum())
end)

t.done()
