-- The first kernel: every launch size, types, and a bound that the last block must respect.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local saxpy = gpu.kernel [[
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}]]

t.test("saxpy over sizes around a warp and a block", function()
  for _, n in ipairs { 1, 5, 31, 32, 33, 127, 128, 129, 1000, 100003 } do
    local x, y = gpu.range(0, n - 1, 1, "float32"), gpu.ones(n)
    local want = x * 2.5 + 1
    saxpy((n + 127) // 128, 128)(n, 2.5, x, y)
    t.eq((y - want):abs():max(), 0, "largest difference for n = " .. n)
  end
end)

t.test("saxpy changes nothing beyond n", function()
  local x, y = gpu.ones(100), gpu.zeros(100)
  saxpy(1, 128)(70, 1, x, y)
  t.eq(y:sum(), 70)
  t.eq(y[70], 1)
  t.eq(y[71], 0)
end)

t.test("every block shape reaches every element", function()
  local k = gpu.kernel [[
  __global__ void index(int *out) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    out[i] += i;
  }]]
  for _, s in ipairs { { { 2, 3, 4 }, { 5, 3, 2 } }, { { 7 }, { 1, 1, 64 } }, { { 1, 1, 9 }, { 33 } } } do
    local n = 1
    for _, list in ipairs(s) do for _, v in ipairs(list) do n = n * v end end
    local out = gpu.zeros(n, "int32")
    k(s[1], s[2])(out)
    t.eq((out - gpu.range(0, n - 1, 1, "int32")):abs():max(), 0)
  end
end)

t.done()
