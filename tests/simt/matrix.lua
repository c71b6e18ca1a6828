-- Matrix products by tensor-core instructions: wmma with f16, bf16, tf32 and integers, and inline mma.sync.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local source = [[
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;

__device__ bool is_turned(wmma::row_major *) { return false; }
__device__ bool is_turned(wmma::col_major *) { return true; }
__device__ void load(half *d, float x) { *d = __float2half(x); }
__device__ void load(__nv_bfloat16 *d, float x) { *d = __float2bfloat16(x); }
__device__ void load(float *d, float x) { *d = wmma::__float_to_tf32(x); }

// One warp a block; c = a * b, with tiles rounded to the inputs' format in shared memory.
template <class Type, class Store, class Sum, class LayoutB, int M, int N, int K>
__device__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ __align__(32) Store as[M * K], bs[K * N];
  __shared__ __align__(32) Sum cs[M * N];
  wmma::fragment<wmma::matrix_a, M, N, K, Type, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Type, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  int row = blockIdx.y * M, col = blockIdx.x * N, lane = threadIdx.x;
  bool turned = is_turned((LayoutB *)0);
  wmma::fill_fragment(fc, Sum(0.0f));
  for (int p = 0; p < k; p += K) {
    for (int i = lane; i < M * K; i += 32) load(&as[i], a[(row + i / K) * k + p + i % K]);
    for (int i = lane; i < K * N; i += 32)
      load(&bs[turned ? i % N * K + i / N : i], b[(p + i / N) * n + col + i % N]);
    __syncwarp();
    wmma::load_matrix_sync(fa, as, K);
    wmma::load_matrix_sync(fb, bs, turned ? K : N);
    wmma::mma_sync(fc, fa, fb, fc);
    __syncwarp();
  }
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * Sum(2.0f);
  wmma::store_matrix_sync(cs, fc, M, wmma::mem_col_major);
  __syncwarp();
  for (int i = lane; i < M * N; i += 32) c[(row + i % M) * n + col + i / M] = float(cs[i]);
}
#define KERNEL(name, Type, Store, Sum, Layout, M, N, K)                                         \
  __global__ void name(const float *a, const float *b, float *c, int m, int n, int k) {         \
    product<Type, Store, Sum, wmma::Layout, M, N, K>(a, b, c, m, n, k);                         \
  }
KERNEL(half_float, half, half, float, row_major, 16, 16, 16)
KERNEL(half_half, half, half, half, col_major, 16, 16, 16)
KERNEL(half_tall, half, half, float, col_major, 32, 8, 16)
KERNEL(half_flat, half, half, float, row_major, 8, 32, 16)
KERNEL(bfloat, __nv_bfloat16, __nv_bfloat16, float, row_major, 16, 16, 16)
KERNEL(bfloat_tall, __nv_bfloat16, __nv_bfloat16, float, col_major, 32, 8, 16)
KERNEL(tf32, wmma::precision::tf32, float, float, row_major, 16, 16, 8)
KERNEL(tf32_turned, wmma::precision::tf32, float, float, col_major, 16, 16, 8)
]]
local k = gpu.kernel(source)
for name, tile in pairs {
  half_float = { 16, 16, 16 }, half_half = { 16, 16, 16 }, half_tall = { 32, 8, 16 }, half_flat = { 8, 32, 16 },
  bfloat = { 16, 16, 16 }, bfloat_tall = { 32, 8, 16 }, tf32 = { 16, 16, 8 }, tf32_turned = { 16, 16, 8 },
} do
  t.test("wmma " .. name, function()
    local m, n, depth = 2 * tile[1], 3 * tile[2], 3 * tile[3]
    local a = (gpu.rand({ m, depth }) * 16):floor() / 8 -- few bits: every format holds them
    local b = (gpu.rand({ depth, n }) * 16):floor() / 8 - 1
    local c = gpu.zeros({ m, n })
    k[name]({ 3, 2 }, 32)(a, b, c, m, n, depth)
    t.near((c - gpu.matmul(a, b) * 2):abs():max(), 0, name == "half_half" and 0.5 or 1e-4)
  end)
end

t.test("wmma of bytes", function()
  local k = gpu.kernel [[
#include <mma.h>
using namespace nvcuda;
__global__ void k(const signed char *a, const signed char *b, int *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}]]
  local a = gpu.range(0, 255):reshape(16, 16) % 251 - 125
  local b = gpu.range(0, 255):reshape(16, 16) % 13 - 6
  local c = gpu.ones({ 16, 16 }, "int32")
  k(1, 32)(a:to("int8"), b:to("int8"), c)
  local want = gpu.matmul(a:transpose():to("float32"), b:to("float32")) + 1
  t.eq((c:to("float32") - want):abs():max(), 0)
end)

t.done()
