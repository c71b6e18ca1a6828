-- Models that are fitted to data: clusters, a line.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__device__ float warp_sum(float v) { for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d); return v; }
// Clusters: the nearest centre; sums in shared memory.
__global__ void assign(const float2 *p, const float2 *centre, int *which, float *sum, int *count, int n, int k) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 3 * k; i += blockDim.x) s[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int best = 0;
    float d = INFINITY;
    for (int j = 0; j < k; j++) {
      float dx = p[i].x - centre[j].x, dy = p[i].y - centre[j].y, e = dx * dx + dy * dy;
      if (e < d) d = e, best = j;
    }
    which[i] = best;
    atomicAdd(&s[3 * best], p[i].x), atomicAdd(&s[3 * best + 1], p[i].y), atomicAdd(&s[3 * best + 2], 1);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < k; j += blockDim.x)
    atomicAdd(&sum[2 * j], s[3 * j]), atomicAdd(&sum[2 * j + 1], s[3 * j + 1]), atomicAdd(&count[j], (int)s[3 * j + 2]);
}
__global__ void descend(const float *x, const float *y, float *ab, int n, float rate, int steps) {  // a line by gradient descent
  float a = 0, b = 0;
  for (int k = 0; k < steps; k++) {
    float ga = 0, gb = 0;
    for (int i = threadIdx.x; i < n; i += 32) { float e = a * x[i] + b - y[i]; ga += e * x[i], gb += e; }
    a -= rate * warp_sum(ga) / n, b -= rate * warp_sum(gb) / n;
  }
  if (threadIdx.x == 0) ab[0] = a, ab[1] = b;
}]=]

t.test("a step of k-means", function()
  local n, centres = 100, { 0, 0, 10, 3, -5, 8 }
  local p = t.list(2 * n, function(i) return (i * i * 7 + i) % 31 - 12 end)
  local which, sum, count = gpu.zeros(n, "int32"), gpu.zeros(6), gpu.zeros(3, "int32")
  k.assign(2, 64, 36)(gpu.array(p), gpu.array(centres), which, sum, count, n, 3)
  local sums, counts = { 0, 0, 0, 0, 0, 0 }, { 0, 0, 0 }
  t.same(which:totable(), t.list(n, function(i)
    local best, d = 0, math.huge
    for j = 0, 2 do
      local e = (p[2 * i + 1] - centres[2 * j + 1]) ^ 2 + (p[2 * i + 2] - centres[2 * j + 2]) ^ 2
      if e < d then best, d = j, e end
    end
    counts[best + 1] = counts[best + 1] + 1
    for c = 1, 2 do sums[2 * best + c] = sums[2 * best + c] + p[2 * i + c] end
    return best
  end))
  t.close(sum, sums, 0)
  t.same(count:totable(), counts)
end)

t.test("a line by gradient descent", function()
  local x = t.list(50, function(i) return i / 25 - 1 end)
  local ab = gpu.zeros(2)
  k.descend(1, 32)(gpu.array(x), gpu.array(t.list(50, function(i) return 3 * x[i + 1] - 2 end)), ab, 50, 0.5, 120)
  t.close(ab, { 3, -2 }, 1e-4)
end)

t.done()
