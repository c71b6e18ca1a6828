-- What kernels take from the libraries that come with CUDA: CUB's algorithms of blocks and warps, cuRAND's generators,
-- cuda::std, and the floating-point types of 8 bits and fewer.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local function numbers(n)
  local list, s = {}, 12345
  for i = 1, n do
    s = (s * 1103515245 + 12345) % 2147483648
    list[i] = s
  end
  return list
end

t.test("CUB: reductions, scans and sorts of blocks and warps", function()
  local k = gpu.kernel [=[
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
__global__ void reduce(const int *x, int *out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage s;
  int sum = Reduce(s).Sum(x[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
__global__ void scan(int *x) {
  using Scan = cub::BlockScan<int, 64, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage s;
  int v[4];
  for (int j = 0; j < 4; j++) v[j] = x[threadIdx.x * 4 + j];
  Scan(s).ExclusiveSum(v, v);
  for (int j = 0; j < 4; j++) x[threadIdx.x * 4 + j] = v[j];
}
__global__ void sort(unsigned *keys, int *values) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 4, int>;
  __shared__ typename Sort::TempStorage s;
  unsigned k[4];
  int v[4];
  for (int j = 0; j < 4; j++) k[j] = keys[threadIdx.x * 4 + j], v[j] = threadIdx.x * 4 + j;
  Sort(s).Sort(k, v);
  for (int j = 0; j < 4; j++) keys[threadIdx.x * 4 + j] = k[j], values[threadIdx.x * 4 + j] = v[j];
}
__global__ void warps(const float *x, float *most, float *sums) {
  using Reduce = cub::WarpReduce<float>;
  using Scan = cub::WarpScan<float>;
  __shared__ typename Reduce::TempStorage r[4];
  __shared__ typename Scan::TempStorage s[4];
  int w = threadIdx.x / 32;
  float v = x[threadIdx.x], sum, m = Reduce(r[w]).Reduce(v, cuda::maximum<>{});
  Scan(s[w]).InclusiveSum(v, sum);
  if (threadIdx.x % 32 == 0) most[w] = m;
  sums[threadIdx.x] = sum;
}]=]
  local x, out = gpu.range(0, 1023, 1, "int32"), gpu.zeros(8, "int32")
  k.reduce(8, 128)(x, out)
  for b = 0, 7 do t.eq(out[b + 1], b * 128 * 128 + 127 * 64) end
  x = gpu.range(1, 256, 1, "int32")
  k.scan(1, 64)(x)
  for i = 1, 256 do t.eq(x[i], i * (i - 1) // 2) end
  local list = numbers(512)
  local keys, values = gpu.array(list, "uint32"), gpu.zeros(512, "int32")
  k.sort(1, 128)(keys, values)
  local sorted = table.move(list, 1, 512, 1, {})
  table.sort(sorted)
  for i = 1, 512 do
    t.eq(keys[i], sorted[i])
    t.eq(list[values[i] + 1], sorted[i])
  end
  local most, sums = gpu.zeros(4), gpu.zeros(128)
  k.warps(1, 128)(gpu.range(0, 127), most, sums)
  for w = 0, 3 do t.eq(most[w + 1], w * 32 + 31) end
  for i = 0, 127 do
    local first = i // 32 * 32
    t.eq(sums[i + 1], (first + i) * (i - first + 1) / 2)
  end
end)

t.test("cuRAND: generators and distributions", function()
  local k = gpu.kernel [[
#include <curand_kernel.h>
__global__ void size(int *out) { *out = sizeof(curandState); }
__global__ void setup(curandState *s) { int i = blockIdx.x * blockDim.x + threadIdx.x; curand_init(1234, i, 0, &s[i]); }
__global__ void draw(curandState *s, float *uniform, float *normal, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState own = s[i];
  float u = 0, v = 0;
  for (int j = 0; j < n; j++) {
    float2 pair = curand_normal2(&own);
    u += curand_uniform(&own), v += pair.x * pair.x + pair.y * pair.y;
  }
  s[i] = own, uniform[i] = u / n, normal[i] = v / (2 * n);
}
__global__ void philox(unsigned *out, unsigned *poisson) {
  curandStatePhilox4_32_10_t s;
  curand_init(0, 0, 4 * threadIdx.x, &s);  // thread i begins where 4 numbers of each before it end
  uint4 r = curand4(&s);
  out[4 * threadIdx.x] = r.x, out[4 * threadIdx.x + 1] = r.y, out[4 * threadIdx.x + 2] = r.z, out[4 * threadIdx.x + 3] = r.w;
  poisson[threadIdx.x] = curand_poisson(&s, 4.0);
}]]
  local size = gpu.zeros(1, "int32")
  k.size(1, 1)(size)
  local states, u, v = gpu.zeros(256 * size[1], "uint8"), gpu.zeros(256), gpu.zeros(256)
  k.setup(2, 128)(states)
  k.draw(2, 128)(states, u, v, 50)
  assert(math.abs(u:mean() - 0.5) < 0.01 and math.abs(v:mean() - 1) < 0.05)
  local out, poisson = gpu.zeros(256, "uint32"), gpu.zeros(64, "uint32")
  k.philox(1, 64)(out, poisson)
  -- Random123's known answer for a counter and a key of zeros
  for i, want in ipairs { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } do t.eq(out[i], want) end
  assert(math.abs(poisson:mean() - 4) < 1)
end)

t.test("cuda::std, and no word of the compiler's about what the prelude defines too", function()
  local k = gpu.kernel [[
#include <cuda/std/bit>
#include <cuda/std/limits>
#include <cuda/std/span>
__device__ int find(cuda::std::span<const int> s, int v) {
  for (int i = 0; i < (int)s.size(); i++) if (s[i] == v) return i;
  return -1;
}
__global__ void k(const int *x, int n, int *out) {
  out[0] = find({x, (size_t)n}, 7), out[1] = find({x, (size_t)n}, 1000);
  out[2] = cuda::std::popcount(255u) + cuda::std::countl_zero(1u), out[3] = cuda::std::numeric_limits<short>::max();
}]]
  t.eq(k.log, "")
  local out = gpu.zeros(4, "int32")
  k(1, 1)(gpu.range(0, 9, 1, "int32"), 10, out)
  t.same(out:totable(), { 7, -1, 39, 32767 })
end)

t.test("programs for nvcc keep their headers, and what they name of std is cuda::std's", function()
  local k = gpu.kernel [[
#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <random>
#include <string>
#include <vector>
#include <sys/time.h>
#include <cublas_v2.h>
#include <cuda_profiler_api.h>
using namespace std;
template <class T> __device__ T larger(T a, T b) {
  static_assert(std::is_same<T, float>::value && std::is_integral_v<std::size_t>);
  return std::max<T>(a, b);
}
__global__ void k(const float *x, float *out) {
  std::array<float, 3> a{std::sqrt(x[2]), std::numeric_limits<float>::max(), std::max({x[0], x[2], x[1]})};
  std::pair<float, float> p(x[0], x[1]);
  std::swap(p.first, p.second);
  out[0] = a[0], out[1] = a[1], out[2] = a[2], out[3] = p.first;
  out[4] = larger(x[0], x[1]), out[5] = std::min(x[0], x[1]), out[6] = std::clamp(x[2], 0.0f, 2.5f);
  out[7] = std::min({7, 3, 5});
}]]
  t.eq(k.log, "")
  local out = gpu.zeros(8)
  k(1, 1)(gpu.array { 1, 4, 9 }, out)
  t.same(out:totable(), { 3, 3.4028234663852886e38, 9, 4, 4, 1, 2.5, 3 })
  -- a std of the source's own is its own affair
  k = gpu.kernel [[
namespace std { template <class T> struct is_same { static const int value = 5; }; }
__global__ void k(int *x) { *x = std::is_same<int>::value; }]]
  out = gpu.zeros(1, "int32")
  k(1, 1)(out)
  t.eq(out[1], 5)
  t.raises({ 'namespace "std" has no member "vector"', "hint: of std, kernels have what cuda::std has" }, gpu.kernel,
    "#include <vector>\n__global__ void k() { std::vector<int> v; }")
end)

t.test("<cub/cub.cuh> has CUB's algorithms of blocks and warps", function()
  local k = gpu.kernel [[
#include <cub/cub.cuh>
__global__ void total(const int *x, int *sum, int *sums) {
  typedef cub::BlockReduce<int, 64> Reduce;
  typedef cub::WarpScan<int> Scan;
  __shared__ union { Reduce::TempStorage reduce; Scan::TempStorage scan[2]; } s;
  int own = x[threadIdx.x], all = Reduce(s.reduce).Sum(own);
  if (threadIdx.x == 0) *sum = all;
  __syncthreads();
  Scan(s.scan[threadIdx.x / 32]).InclusiveSum(own, sums[threadIdx.x]);
}]]
  local sum, sums = gpu.zeros(1, "int32"), gpu.zeros(64, "int32")
  k(1, 64)(gpu.range(1, 64, 1, "int32"), sum, sums)
  t.eq(sum[1], 64 * 65 // 2)
  t.eq(sums[32], 32 * 33 // 2)
  t.eq(sums[64], (33 + 64) * 32 // 2)
  t.raises({ "DeviceReduce", "hint: ", "x:sum()" }, gpu.kernel,
    "#include <cub/cub.cuh>\n__global__ void k() { cub::DeviceReduce::Sum(0); }")
end)

t.test("floats of 8, 6 and 4 bits", function()
  local k = gpu.kernel [[
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
__global__ void k(const float *x, float *out) {
  int i = threadIdx.x;
  float v = x[i];
  out[5 * i] = float(__nv_fp8_e4m3(v)), out[5 * i + 1] = float(__nv_fp8_e5m2(v)), out[5 * i + 2] = float(__nv_fp6_e2m3(v));
  out[5 * i + 3] = float(__nv_fp6_e3m2(v)), out[5 * i + 4] = float(__nv_fp4_e2m1(v));
}]]
  local want = { { 0.3125, 0.3125, 0.25, 0.3125, 0.5 }, { 1.75, 1.75, 1.75, 1.75, 1.5 }, { -5, -5, -5, -5, -6 },
                 { 104, 96, 7.5, 28, 6 }, { 448, 512, 7.5, 28, 6 } }
  local out = gpu.zeros({ 5, 5 })
  k(1, 5)(gpu.array { 0.3, 1.7, -5.2, 101, 500 }, out)
  for i = 1, 5 do for j = 1, 5 do t.eq(out[{ i, j }], want[i][j]) end end
end)

t.done()
