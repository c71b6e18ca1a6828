-- Kernels that look like those of faulty_corners.lua, or are hard to see through, and are right: gpu.check must have
-- nothing to say. The common ones are in clean.lua and clean_global.lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local clean = assert(loadfile("tests/simt/shared/clean.lua"))(t, gpu)

local function floats(n) return gpu.ones(n) end
local function ints(n) return gpu.zeros(n, "int32") end

---- bounds, memory
clean("a whole view, and a view's neighbours by the array", [[__global__ void k(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x + 2];
}]], function(k)
  local x = floats(34)
  k(1, 32)(x, floats(100)["11:42"])
end)

-- Compilers make vectors of loads between which something is left out, and say so by a pragma.
clean("a vector of seven elements, of which two reach past the end", [[__global__ void k(const float *x, float *y) {
  float4 a = *(const float4 *)x;
  float2 b = *(const float2 *)(x + 4);
  y[threadIdx.x] = a.x + a.y + a.z + a.w + b.x + b.y + x[6];
}]], function(k)
  local x, y = gpu.array({ 1, 2, 3, 4, 5, 6, 7 }), gpu.zeros(40)
  k(1, 40)(x, y)
  return function() t.eq(y:sum(), 40 * x:sum()) end
end)

clean("elements of a vector beside those that another block writes", [[__global__ void k(float4 *x, float *y) {
  if (blockIdx.x == 0)
    y[threadIdx.x] = x[threadIdx.x].x + x[threadIdx.x].z;
  else
    x[threadIdx.x].y = x[threadIdx.x].w = 5;
}]], function(k)
  local x, y = gpu.ones(32, 4), gpu.zeros(32)
  k(2, 32)(x, y)
  return function() t.eq(y:sum(), 64) t.eq(x:sum(), 64 + 320) end
end)

clean("an array that is filled before it is read", [[__global__ void fill(float *x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = 3;
}
__global__ void use(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];
}]], function(k)
  local x, y = gpu.empty(64), gpu.empty(64)
  k.fill(2, 32)(x)
  k.use(1, 64)(x, y)
  return function() t.eq(y:sum(), 192) end
end)

clean("memory used again after it was freed", [[__global__ void k(float *x) { x[threadIdx.x] += 1; }]], function(k)
  for _ = 1, 3 do
    local x = gpu.ones(64)
    k(1, 64)(x)
    x:free()
  end
end)

clean("an array that host code filled in part", [[__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }]], function(k)
  local x = gpu.empty(32)
  x["1:16"] = 1
  x["17:32"] = 2
  k(1, 32)(x, gpu.empty(32))
end)

clean("shared memory written by some, read where written", [[__global__ void k(float *x) {
  __shared__ float s[64];
  if (threadIdx.x % 2) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x % 2 == 0) x[threadIdx.x] = s[threadIdx.x + 1];
}]], function(k) k(1, 64)(floats(64)) end)

clean("dynamic shared memory cut in two", [[__global__ void k(int n, float *x, int *y) {
  extern __shared__ char pool[];
  float *f = (float *)pool;
  int *i = (int *)(f + n);
  f[threadIdx.x] = x[threadIdx.x];
  i[threadIdx.x] = threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = f[n - 1 - threadIdx.x];
  y[threadIdx.x] = i[n - 1 - threadIdx.x];
}]], function(k) k(1, 64, 512)(64, floats(64), ints(64)) end)

---- shared memory and barriers
clean("a reduction whose last warp uses shuffles", [[__global__ void k(const float *x, float *out) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 64) s[threadIdx.x] += s[threadIdx.x + 64];
  __syncthreads();
  if (threadIdx.x < 32) {
    float v = s[threadIdx.x] + s[threadIdx.x + 32];
    for (int n = 16; n > 0; n /= 2) v += __shfl_down_sync(0xffffffff, v, n);
    if (threadIdx.x == 0) *out = v;
  }
}]], function(k) k(1, 128)(floats(128), gpu.empty(1)) end)

clean("plain reads beside compare-and-swaps that fail", [[__global__ void k(int *keys, int *out) {
  __shared__ int taken[2];
  if (threadIdx.x < 2) taken[threadIdx.x] = 1;
  __syncthreads();
  int i = threadIdx.x % 32;
  int old = atomicCAS(&keys[i], 0, 9), held = atomicCAS(&taken[i % 2], 0, 1);
  out[threadIdx.x] = old + keys[(i + 1) % 32] + taken[0] + held;
}]], function(k)
  local keys, out = gpu.range(1, 32, 1, "int32"), gpu.zeros(64, "int32")
  k(1, 64)(keys, out)
  return function() t.eq(out:totable()[32], 32 + 1 + 2) end
end)

clean("pointers that go from one shared array to another", [[__device__ void scale(float *p, float f) { p[threadIdx.x] *= f; }
__global__ void k(float *x, int rounds) {
  extern __shared__ float pool[];
  __shared__ float a[64], b[64];
  float *from = a, *to = b, *half = pool + 64;
  pool[threadIdx.x] = half[threadIdx.x] = x[threadIdx.x];
  a[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < rounds; i++) {
    to[threadIdx.x] = from[63 - threadIdx.x] + half[63 - threadIdx.x];
    __syncthreads();
    float *t = from;
    from = to;
    to = t;
  }
  const float *end = b + 64;
  float last = end[-1];
  __syncthreads();
  scale(from, 2), scale(half, 3);
  x[threadIdx.x] = from[threadIdx.x] + half[(int)threadIdx.x - 64] + last;
}]], function(k) k(1, 64, 512)(floats(64), 5) end)

clean("structures and rows of shared memory", [[struct tile { float a[16][17]; int n; double d[4]; };
__global__ void k(float *x) {
  __shared__ tile t[2];
  __shared__ float4 q[16];
  int i = threadIdx.x % 16, j = threadIdx.x / 16;
  t[j].a[i][16] = t[j].a[i][i] = i;
  if (i < 4) t[j].d[i] = i;
  if (i == 0) t[j].n = 4;
  ((float *)q)[threadIdx.x] = ((float *)q)[threadIdx.x + 32] = 1;
  __syncthreads();
  x[threadIdx.x] = t[1 - j].a[15 - i][15 - i] + t[j].d[t[j].n - 1] + q[i].w + q[15 - i].x;
}]], function(k) k(1, 32)(floats(32)) end)

clean("a product in place by tensor cores", [[#include <mma.h>
using namespace nvcuda;
__global__ void k(const half *a, float *c) {
  __shared__ __align__(32) float s[2][256];
  float *mine = s[threadIdx.x / 32];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  for (int i = threadIdx.x % 32; i < 256; i += 32) mine[i] = 1;
  __syncwarp();
  for (int round = 0; round < 3; round++) {
    wmma::load_matrix_sync(fc, mine, 16, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, a, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(mine, fc, 16, wmma::mem_row_major);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) c[i] = s[0][i] + s[1][i];
}]], function(k)
  local a, c = gpu.ones(256, "float16"), gpu.empty(256)
  k(1, 64)(a, c)
  return function() t.eq(c[256], 2 * (1 + 3 * 16)) end
end)

clean("a copy and a store that a macro puts in one place of the source", [[#include <cuda_pipeline.h>
#define ALL __pipeline_memcpy_async(s + t, x + t, 4); __pipeline_commit(); __pipeline_wait_prior(0); o[t] = s[t];
__global__ void k(const int *x, int *o) {
  __shared__ int s[64];
  int t = threadIdx.x;
  ALL
}]], function(k)
  local x, o = gpu.range(0, 63):to("int32"), ints(64)
  k(1, 64)(x, o)
  return function() t.eq(o:sum(), x:sum()) end
end)

clean("a pipeline of copies two tiles ahead", [[#include <cuda_pipeline.h>
__global__ void k(const float *x, float *out, int tiles) {
  __shared__ float s[3][64], own[64];
  float sum = 0;
  __pipeline_memcpy_async(&own[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  sum += own[threadIdx.x];
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][threadIdx.x], &x[i * 64 + threadIdx.x], 4);
    __pipeline_commit();
  }
  for (int i = 0; i < tiles; i++) {
    if (i + 2 < tiles)
      __pipeline_memcpy_async(&s[(i + 2) % 3][threadIdx.x], &x[(i + 2) * 64 + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += s[i % 3][63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}]], function(k)
  local out = gpu.empty(64)
  k(2, 64)(floats(512), out, 8)
  return function() t.eq(out[1], 9) end
end)

clean("warps with tiles of their own", [[__global__ void k(float *x) {
  __shared__ float s[4][32];
  int w = threadIdx.x / 32, l = threadIdx.x % 32;
  for (int i = 0; i < 3; i++) {
    s[w][l] = x[threadIdx.x] + i;
    __syncwarp();
    float v = s[w][31 - l];
    __syncwarp();
    x[threadIdx.x] = v;
  }
}]], function(k) k(1, 128)(floats(128)) end)

clean("a transpose through a padded tile", [[__global__ void k(int n, const float *a, float *b) {
  __shared__ float s[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}]], function(k)
  local a, b = gpu.range(0, 64 * 64 - 1):reshape(64, 64):to("float32"), gpu.empty(64, 64)
  k({ 2, 2 }, { 32, 8 })(64, a, b)
  return function() t.eq(b[{ 3, 5 }], a[{ 5, 3 }]) end
end)

clean("a matrix product with tiles", [[__global__ void k(int n, const float *a, const float *b, float *c) {
  __shared__ float s[16][16], t[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float v = 0;
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[row * n + k + x];
    t[y][x] = b[(k + y) * n + col];
    __syncthreads();
    for (int j = 0; j < 16; j++) v += s[y][j] * t[j][x];
    __syncthreads();
  }
  c[row * n + col] = v;
}]], function(k)
  local c = gpu.empty(48, 48)
  k({ 3, 3 }, { 16, 16 })(48, gpu.ones(48, 48), gpu.ones(48, 48), c)
  return function() t.eq(c:sum(), 48 ^ 3) end
end)

clean("threads that return when no barrier follows", [[__global__ void k(int n, float *x) {
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = 2;
}]], function(k) k(2, 64)(100, floats(100)) end)

clean("a barrier that warps may come to by several lines", [[__global__ void k(float *x) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t];
    __barrier_sync(0);
  } else {
    s[t] = 2 * x[t];
    __barrier_sync(0);
  }
  x[t] = s[63 - t];
}]], function(k)
  local x = floats(64)
  k(1, 64)(x)
  return function() t.eq(x:sum(), 96) end
end)

clean("producers and consumers at a named barrier", [[__global__ void k(float *x) {
  __shared__ float s[32];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    x[threadIdx.x] = s[63 - threadIdx.x];
  }
}]], function(k) k(1, 64)(floats(64)) end)

clean("the same value by blocks that write at the same time", [[__global__ void k(int *found, int *out) {
  int s = 0;
  for (int i = 0; i < 60; i++) s += (i * s) ^ 3;
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
  *found = 1;
}]], function(k)
  local found, out = ints(1), ints(8 * 32)
  for _ = 1, 200 do
    found:fill(0)
    k(8, 32)(found, out)
  end
end)

clean("bytes side by side", [[__global__ void k(unsigned char *x) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x] + 1;
}]], function(k) k(1, 64)(gpu.zeros(64, "uint8")) end)

---- atomics, fences
clean("the last block adds up", [[__device__ unsigned done = 0;
__global__ void k(const float *x, volatile float *part, float *out) {
  __shared__ float s[64];
  __shared__ bool last;
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (int n = 32; n > 0; n /= 2) {
    if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i];
    *out = sum;
  }
}]], function(k)
  local out = gpu.empty(1)
  k(16, 64)(floats(1024), gpu.empty(16), out)
  return function() t.eq(out:item(), 1024) end
end)

clean("the last block, with plain reads by all threads", [[__device__ unsigned done = 0;
__global__ void k(float *part, float *out) {
  __shared__ unsigned ticket;
  part[blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) ticket = atomicAdd(&done, 1);
  __syncthreads();
  if (ticket == gridDim.x - 1) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i * 32 + (31 - threadIdx.x)];
    out[threadIdx.x] = sum;
  }
}]], function(k) k(8, 32)(gpu.empty(256), gpu.empty(32)) end)

clean("a chain of flags from block to block", [[__global__ void k(int *sum, int *flag) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      while (atomicAdd(&flag[blockIdx.x - 1], 0) == 0) { }
      __threadfence();
      before = sum[blockIdx.x - 1];
    }
    sum[blockIdx.x] = before + 1;
    __threadfence();
    atomicExch(&flag[blockIdx.x], 1);
  }
}]], function(k)
  local sum = gpu.empty(12, "int32")
  k(12, 32)(sum, ints(12))
  return function() t.eq(sum:sum(), 78) end
end)

clean("a spin lock", [[__device__ int lock = 0;
__global__ void k(int *x) {
  bool mine = false;
  while (!mine) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      x[0] += 1;
      x[1] = x[0] * 2;
      __threadfence();
      atomicExch(&lock, 0);
      mine = true;
    }
  }
}]], function(k)
  local x = ints(2)
  k(4, 32)(x)
  return function() t.eq(x[1], 128) t.eq(x[2], 256) end
end)

clean("a lock in shared memory", [[__global__ void k(int *out) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  for (bool mine = false; !mine;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      sum = sum + 1;
      __threadfence_block();
      atomicExch(&lock, 0);
      mine = true;
    }
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}]], function(k)
  local x = ints(1)
  k(2, 64)(x)
  return function() t.eq(x[1], 64) end
end)

clean("a semaphore whose loads and stores are atomics", [[#define AT_BLOCK __NV_THREAD_SCOPE_BLOCK
__global__ void k(int *out) {
  __shared__ int free, sum;
  if (threadIdx.x == 0) free = 1, sum = 0;
  __syncthreads();
  for (bool mine = false; !mine;)
    if (__nv_atomic_load_n(&free, __NV_ATOMIC_RELAXED, AT_BLOCK) && __nv_atomic_exchange_n(&free, 0, __NV_ATOMIC_ACQUIRE, AT_BLOCK)) {
      sum++;
      __nv_atomic_store_n(&free, 1, __NV_ATOMIC_RELEASE, AT_BLOCK);
      mine = true;
    }
  __syncthreads();
  out[threadIdx.x] = sum;
}]], function(k)
  local out = ints(64)
  k(1, 64)(out)
  return function() t.eq(out[64], 64) end
end)

clean("compare and swap as an atomic maximum", [[__global__ void k(float *m, const float *x) {
  int *a = (int *)m, old = *(volatile int *)a, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= x[blockIdx.x * 32 + threadIdx.x]) break;
    old = atomicCAS(a, seen, __float_as_int(x[blockIdx.x * 32 + threadIdx.x]));
  } while (old != seen);
}]], function(k)
  local m = gpu.zeros(1)
  k(4, 32)(m, gpu.range(1, 128):to("float32"))
  return function() t.eq(m:item(), 128) end
end)

clean("compare and swap as a maximum in shared memory, which begins with a plain read", [[
__device__ void raise(int *a, float v) {
  int old = *a, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= v) break;
    old = atomicCAS(a, seen, __float_as_int(v));
  } while (old != seen);
}
__global__ void k(float *m, const float *x) {
  __shared__ float most, bins[4];
  if (threadIdx.x < 4) most = 0, bins[threadIdx.x] = 0;
  __syncthreads();
  raise((int *)&most, x[threadIdx.x]);
  raise((int *)&bins[2], x[threadIdx.x]);
  raise((int *)&bins[threadIdx.x % 2], x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 4) m[threadIdx.x] = most + bins[threadIdx.x];
}]], function(k)
  local m = gpu.zeros(4)
  k(1, 64)(m, gpu.range(1, 64):to("float32"))
  return function() t.eq(m:sum(), 127 + 128 + 128 + 64) end
end)

clean("sums and scans of tiles of several warps", [[#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  int i = block.thread_rank();
  y[i] = cg::reduce(tile, x[i], cg::plus<int>()) + cg::exclusive_scan(tile, x[i], cg::plus<int>());
}
]], function(k)
  local y = ints(256)
  k(1, 256)(gpu.ones(256, "int32"), y)
  return function() t.eq(y:sum(), 256 * 64 + 4 * 63 * 32) end
end)

clean("a grid that synchronises", [[#include <cooperative_groups.h>
__global__ void k(float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i;
  cooperative_groups::this_grid().sync();
  y[i] = x[n - 1 - i];
  cooperative_groups::this_grid().sync();
  x[i] = y[n - 1 - i];
}]], function(k)
  local x = gpu.empty(128)
  k(4, 32, { cooperative = true })(x, gpu.empty(128))
  return function() t.eq(x[1], 0) end
end)

---- masks, division
clean("a shuffle by the first half", [[__global__ void k(int *x) {
  if (threadIdx.x < 16) x[threadIdx.x] += __shfl_xor_sync(0x0000ffff, x[threadIdx.x], 1);
}]], function(k) k(1, 32)(ints(32)) end)

clean("a ballot in a loop whose lanes leave", [[__global__ void k(int *x) {
  unsigned mask = 0xffffffff;
  for (int i = 0; i < 8; i++) {
    mask = __ballot_sync(mask, (int)threadIdx.x > i * 4);
    if ((int)threadIdx.x <= i * 4) break;
    x[threadIdx.x] = __popc(mask);
  }
}]], function(k) k(1, 32)(ints(32)) end)

clean("a list in device memory", [[struct node { int value; node *next; };
__global__ void k(int *out) {
  node *head = nullptr;
  for (int i = 0; i < 4; i++) head = new node{i + (int)threadIdx.x, head};
  int sum = 0;
  while (head) {
    node *next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  out[threadIdx.x] = sum;
}]], function(k) k(2, 32)(ints(32)) end)

clean("lanes that meet in a function that they called at different times", [[
__device__ __noinline__ int total(int v) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ __noinline__ long long deeper(int v, double d, bool odd) {
  long long sum = total(v);
  return sum + (odd ? (long long)d : 1000) + __popc(__ballot_sync(~0u, odd));
}
__global__ void k(int *x, int n) {
  int i = threadIdx.x, v = 0;
  unsigned s = i;
  for (int j = 0; j < (i % 32 == 20 ? 3 : i % 32 == 7 ? n / 2 : n); j++) {
    s = s * 1664525u + 1013904223u;
    if (s & 0x100) v += (int)(s >> 20);
  }
  x[i] = (int)deeper(i % 32 + 1, i * 2.0, i & 1) + (v == 12345678);
}]], function(k)
  local x = gpu.zeros(64, "int32")
  k(1, 64)(x, 20000)
  return function()
    for i = 0, 63 do t.eq(x[i + 1], 528 + (i % 2 == 1 and 2 * i or 1000) + 16) end
  end
end)

t.test("groups of several warps, in functions that a compiler for debuggers leaves apart", function()
  local k = gpu.kernel { options = { "-G" }, source = [[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(int *out) {
  __shared__ cg::block_tile_memory<256> room;
  auto block = cg::this_thread_block(room);
  auto tile = cg::tiled_partition<128>(block);
  int sum = cg::reduce(tile, (int)(tile.thread_rank() + 1000 * tile.meta_group_rank()), cg::plus<int>());
  tile.sync();
  out[block.thread_rank()] = sum + tile.shfl((int)tile.thread_rank(), 5) + tile.any(tile.thread_rank() == 77);
}]] }
  local out = gpu.zeros(256, "int32")
  local found = gpu.check(function() k(1, 256)(out) end)
  for i = 0, 255 do t.eq(out[i + 1], 8128 + i // 128 * 128000 + 5 + 1) end
  t.eq(found[1] and found[1].text, nil)
end)

clean("an address of 32 bits that leads to one of two arrays", [[extern __shared__ int first[];
__global__ void k(int *out, int n) {
  __shared__ int second[32];
  first[threadIdx.x] = threadIdx.x, second[threadIdx.x] = 100 + threadIdx.x;
  unsigned at, v;
  asm("mov.u32 %0, first;" : "=r"(at));
  at = n > 3 ? (unsigned)__cvta_generic_to_shared(second) : at;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at + 4 * threadIdx.x));
  out[threadIdx.x] = v;
}]], function(k)
  local low, high = ints(32), ints(32)
  k(1, 32, 128)(low, 0)
  k(1, 32, 128)(high, 5)
  return function()
    for i = 0, 31 do t.eq(1000 * low[i + 1] + high[i + 1], 1001 * i + 100) end
  end
end)

t.done()
