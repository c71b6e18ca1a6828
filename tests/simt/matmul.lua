-- Matrix products: naive, and in 16 x 16 tiles of shared memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [[
__global__ void naive(const float *a, const float *b, float *c, int m, int n, int k) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float s = 0;
  for (int i = 0; i < k; i++) s += a[row * k + i] * b[i * n + col];
  c[row * n + col] = s;
}
#define T 16
__global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[T][T], bs[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
  float s = 0;
  for (int p = 0; p < k; p += T) {
    as[ty][tx] = row < m && p + tx < k ? a[row * k + p + tx] : 0;
    bs[ty][tx] = p + ty < k && col < n ? b[(p + ty) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < T; i++) s += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}]]

for _, name in ipairs { "naive", "tiled" } do
  t.test(name .. " matrix product of odd shapes", function()
    for _, s in ipairs { { 1, 1, 1 }, { 16, 16, 16 }, { 17, 5, 33 }, { 64, 48, 31 } } do
      local m, n, kk = s[1], s[2], s[3]
      local a, b, c = gpu.rand({ m, kk }), gpu.rand({ kk, n }), gpu.zeros({ m, n })
      k[name]({ (n + 15) // 16, (m + 15) // 16 }, { 16, 16 })(a, b, c, m, n, kk)
      t.near((c - gpu.matmul(a, b)):abs():max(), 0, 1e-4)
    end
  end)
end

t.done()
