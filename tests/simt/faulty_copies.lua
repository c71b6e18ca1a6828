-- Mistakes with what a warp moves as a whole, fragments of matrices, and with copies that nobody waited for (cp.async): what
-- gpu.check must say of them.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local function floats(n) return gpu.ones(n) end

local wmma = [[#include <mma.h>
using namespace nvcuda;
]]
local function halves(...) return gpu.zeros(..., "float16") end

faulty("a tile of a matrix past its end", wmma .. [[__global__ void k(const half *a, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::fill_fragment(fb, __float2half(1.0f));
  wmma::load_matrix_sync(fa, a + 16 * blockIdx.x * 16, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c + 256 * blockIdx.x, fc, 16, wmma::mem_row_major);
}]], function(k) k(2, 32)(halves(384), floats(512)) end,
  { kind = "out of bounds", line = 9, name = "a", index = 384, length = 384, access = "read", space = "global" })

faulty("a tile of the result past its end", wmma .. [[__global__ void k(half *c) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
  wmma::fill_fragment(fc, __float2half(1.0f));
  wmma::store_matrix_sync(c + 256 * blockIdx.x, fc, 16, wmma::mem_row_major);
}]], function(k) k(2, 32)(halves(511)) end,
  { kind = "out of bounds", line = 6, name = "c", index = 511, length = 511, access = "write", count = 1 })

faulty("rows of ldmatrix past the end, in the elements of the source", [[__global__ void k(unsigned *out) {
  __shared__ __align__(16) unsigned short s[64];
  s[threadIdx.x] = s[threadIdx.x + 32] = 1;
  __syncthreads();
  unsigned p = (unsigned)__cvta_generic_to_shared(&s[8 * (threadIdx.x % 8 + 1)]), r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p));
  out[threadIdx.x] = r;
}]], function(k) k(1, 32)(gpu.zeros(32, "uint32")) end,
  { kind = "out of bounds", line = 6, name = "s", index = 64, length = 64, access = "read", space = "shared" })

faulty("a vector across the end of an array of floats", [[__global__ void k(float4 *out) {
  __shared__ __align__(16) float s[30];
  if (threadIdx.x < 30) s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = reinterpret_cast<float4 *>(s)[threadIdx.x];
}]], function(k) k(1, 32)(floats(32)) end,
  { kind = "out of bounds", line = 5, name = "s", index = 30, length = 30, access = "read", space = "shared" })

faulty("a row that ldmatrix reads and another lane wrote", [[__global__ void k(unsigned *out) {
  __shared__ __align__(16) unsigned short s[64];
  s[threadIdx.x] = s[threadIdx.x + 32] = 1;
  if (threadIdx.x < 16) s[threadIdx.x] = 2;
  unsigned p = (unsigned)__cvta_generic_to_shared(&s[8 * (threadIdx.x % 4 + 4)]), r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p));
  out[threadIdx.x] = r;
}]], function(k) k(1, 32)(gpu.zeros(32, "uint32")) end,
  { kind = "race", line = 3, other = 6, name = "s", index = 32, length = 64, access = "write", other_access = "read" })

faulty("a tile of shared memory that is not filled", wmma .. [[__global__ void k(float *c) {
  __shared__ __align__(32) half s[256];
  for (int i = threadIdx.x; i < 248; i += 32) s[i] = __float2half(i);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::load_matrix_sync(fa, s, 16);
  c[threadIdx.x] = __half2float(fa.x[0]);
}]], function(k) k(1, 32)(floats(32)) end,
  { kind = "uninitialized read", line = 8, name = "s", space = "shared" })

faulty("a tile that another warp stores", wmma .. [[__global__ void k(float *c) {
  __shared__ __align__(32) float s[256];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  if (threadIdx.x < 32) {
    wmma::fill_fragment(f, 1.0f);
    wmma::store_matrix_sync(s, f, 16, wmma::mem_row_major);
  } else {
    for (int i = threadIdx.x - 32; i < 256; i += 32) c[i] = s[i];
  }
}]], function(k) k(1, 64)(floats(256)) end,
  { kind = "race", line = 8, other = 10, name = "s", access = "write", other_access = "read", hint = "__syncthreads() is missing between lines 8 and 10" })

faulty("rows of ldmatrix past the end", [[__global__ void k(unsigned *out) {
  __shared__ __align__(16) unsigned short s[8 * 16], after[64];
  for (int i = threadIdx.x; i < 128; i += 32) s[i] = i;
  for (int i = threadIdx.x; i < 64; i += 32) after[i] = i;
  __syncwarp();
  unsigned at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x % 8 * 16 + threadIdx.x / 8 * 8), a, b, c, d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at + 128));
  out[threadIdx.x] = a + b + c + d + after[threadIdx.x];
}]], function(k) k(1, 32)(gpu.zeros(32, "uint32")) end, { kind = "out of bounds", line = 8, space = "shared", access = "read" })

faulty("a copy that reads past the end", [[#include <cuda_pipeline.h>
__global__ void k(const float4 *x, float4 *out) {
  __shared__ float4 s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32)(floats(124), floats(128)) end,
  { kind = "out of bounds", line = 4, name = "x", index = 31, length = 31, access = "read", count = 1 })

faulty("a short copy whose source is shorter still", [[#include <cuda_pipeline.h>
__global__ void k(const float *x, float *out) {
  __shared__ float s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4, threadIdx.x < 30 ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32)(floats(20), floats(32)) end,
  { kind = "out of bounds", line = 4, name = "x", index = 20, length = 20, access = "read", count = 10 })

faulty("a copy that its own thread doesn't wait for", [[#include <cuda_pipeline.h>
__global__ void k(const float4 *x, float4 *out) {
  __shared__ float4 s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  out[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 64)(floats(256), floats(256)) end,
  { kind = "race", line = 4, other = 6, name = "s", space = "shared", access = "write", other_access = "read", count = 64,
    message = "s[0] read in line 6 while the copy begun here may still write it" })

faulty("a barrier does not wait for copies", [[#include <cuda_pipeline.h>
__global__ void k(const float *x, float *out) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}]], function(k) k(1, 64)(floats(64), floats(64)) end, { kind = "race", line = 4, other = 6, name = "s", count = 64 })

faulty("a pipeline that waits for one group too few", [[#include <cuda_pipeline.h>
__global__ void k(const float *x, float *out, int tiles) {
  __shared__ float s[2][64];
  float sum = 0;
  __pipeline_memcpy_async(&s[0][threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  for (int i = 0; i < tiles; i++) {
    if (i + 1 < tiles)
      __pipeline_memcpy_async(&s[(i + 1) % 2][threadIdx.x], &x[(i + 1) * 64 + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += s[i % 2][63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}]], function(k) k(1, 64)(floats(256), floats(64), 4) end,
  { { kind = "race", line = 5, other = 13, name = "s", other_access = "read" },
    { kind = "race", line = 9, other = 13, name = "s", other_access = "read" },
    -- and the next copy into the same tile begins before that
    { kind = "race", line = 5, other = 9, name = "s", other_access = "write" },
    { kind = "race", line = 9, other = 9, name = "s", other_access = "write" } })

faulty("a copy that is waited for, but by the other threads", [[#include <cuda_pipeline.h>
__global__ void k(const float *x, float *out) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = s[63 - threadIdx.x];
}]], function(k) k(1, 64)(floats(64), floats(64)) end,
  { kind = "race", line = 4, other = 7, name = "s", hint = "__syncthreads() is missing between lines 4 and 7" })

-- What memcpy_async writes is read too early, or written again too early, or neither: into half HALF, behind WAIT.
local over <const> = "memcpy_async is over behind a wait (arrive_and_wait(), consumer_wait(), cooperative_groups::wait(); with __syncthreads() where each " ..
  "thread waits for its own copy), and may copy there again behind all readers (consumer_release())"
local function copied(name, wait, half, want)
  local source = ([[#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void k(const int *x, int *y) {
  __shared__ int s[2][64];
  auto block = cg::this_thread_block();
  for (int i = 0; i < 3; i++) {
    cg::memcpy_async(block, s[HALF], x + i * 64, sizeof(int) * 64);
    WAIT
    y[i * 64 + threadIdx.x] = s[HALF][63 - threadIdx.x];
  }
}]]):gsub("WAIT", wait):gsub("HALF", half)
  faulty(name, source, function(k) k(1, 64)(gpu.zeros(192, "int32"), gpu.zeros(192, "int32")) end, want)
end
local early <const> = { kind = "race", line = 8, other = 10, name = "s", access = "write", other_access = "read", hint = over }
copied("memcpy_async without a wait", "", "i & 1",
  { early, { kind = "race", line = 8, other = 8, name = "s", access = "write", other_access = "write", hint = over } })
copied("memcpy_async into what others still read", "cg::wait(block);", "0", early)
copied("memcpy_async into two halves", "cg::wait(block);", "i & 1", {})

t.done()
