-- Mistakes in kernels as textbooks and suites of benchmarks have them: a barrier left out of a tile, a halo one too narrow, an
-- index of a neighbour that wraps, a tree that reads what others write. Each case gives source, launch, and what the reports say.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local function floats(n) return gpu.ones(n) end
local function ints(n) return gpu.zeros(n, "int32") end

faulty("heat in a tile, whose second barrier is left out", [=[__global__ void k(const float *in, float *out, int steps) {
  __shared__ float now[34];
  int x = threadIdx.x;
  now[x] = in[x];
  __syncthreads();
  for (int i = 0; i < steps; i++) {
    float v = 0;
    if (x > 0 && x < 33) v = (now[x - 1] + now[x + 1]) / 2;
    __syncthreads();
    if (x > 0 && x < 33) now[x] = v;
  }
  out[x] = now[x];
}]=], function(k) k(1, 34)(floats(34), floats(34), 2) end,
  { kind = "race", line = 10, other = 8, name = "now", space = "shared", access = "write", other_access = "read" })

faulty("a tile's halo is one too narrow", [=[__global__ void k(const float *in, float *out, int n) {
  __shared__ float tile[64 + 1];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x + 2] = in[i];
  if (threadIdx.x < 2) tile[threadIdx.x] = i >= 2 ? in[i - 2] : 0;
  __syncthreads();
  out[i] = tile[threadIdx.x] + tile[threadIdx.x + 2];
}]=], function(k) k(3, 64)(floats(192), floats(192), 192) end,
  { { kind = "out of bounds", line = 4, name = "tile", index = 65, length = 65, count = 3, access = "write" },
    { kind = "out of bounds", line = 7, name = "tile", index = 65, length = 65, count = 3, access = "read" } })

faulty("the path's wall is read a row too far", [=[__global__ void k(const int *wall, const int *in, int *out, int cols, int rows) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= cols) return;
  int best = in[x];
  for (int r = 0; r <= rows; r++) best = min(best, wall[r * cols + x]);
  out[x] = best;
}]=], function(k) k(4, 32)(ints(100 * 5), ints(100), ints(100), 100, 5) end,
  { kind = "out of bounds", line = 5, name = "wall", index = 500, length = 500, count = 100, access = "read" })

faulty("antidiagonals of an alignment without a barrier between them", [=[__global__ void k(const int *a, const int *b, int *out) {
  __shared__ int s[65][65];
  int t = threadIdx.x;
  s[0][t + 1] = s[t + 1][0] = 0;
  if (t == 0) s[0][0] = 0;
  __syncthreads();
  for (int d = 0; d < 127; d++) {
    int r = d - t;
    if (r >= 0 && r < 64) s[r + 1][t + 1] = max(s[r][t] + (a[t] == b[r]), max(s[r][t + 1], s[r + 1][t]));
  }
  __syncthreads();
  out[t] = s[64][t + 1];
}]=], function(k) k(1, 64)(ints(64), ints(64), ints(64)) end,
  { kind = "race", line = 9, other = 9, name = "s", space = "shared" }, "some")

faulty("centres are summed in shared memory before it is cleared", [=[__global__ void k(const float *x, float *sums, int n) {
  __shared__ float part[32];
  if (threadIdx.x < 32) part[threadIdx.x] = 0;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&part[i % 32], x[i]);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&sums[threadIdx.x], part[threadIdx.x]);
}]=], function(k) k(2, 128)(floats(256), floats(32), 256) end,
  { kind = "race", line = 3, other = 5, name = "part", space = "shared" })

faulty("one cluster too few is cleared", [=[__global__ void k(const int *member, int *count, int n) {
  __shared__ int part[8];
  if (threadIdx.x < 7) part[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < n) atomicAdd(&part[member[threadIdx.x]], 1);
  __syncthreads();
  if (threadIdx.x < 8) count[threadIdx.x] = part[threadIdx.x];
}]=], function(k) k(1, 64)(gpu.full(64, 7, "int32"), ints(8), 64) end,
  { kind = "uninitialized read", line = 5, name = "part", index = 7 })

faulty("elimination in one launch, rows below the pivot in the pivot's block alone", [=[__global__ void k(float *a, int n, int col) {
  int r = blockIdx.x * blockDim.x + threadIdx.x + col;
  if (r >= n) return;
  float f = r > col ? a[r * n + col] / a[col * n + col] : 0.5f;
  for (int c = col; c < n; c++) a[r * n + c] -= f * a[col * n + c];
}]=], function(k) k(2, 16)((gpu.rand { 32, 32 } + gpu.eye(32)), 32, 0) end,
  { { kind = "race", line = 5, other = 4, name = "a", access = "write", other_access = "read" },
    { kind = "race", line = 5, other = 5, name = "a" } })

faulty("a column of a factorisation is scaled while others read it", [=[__global__ void k(float *a, int n, int j) {
  int i = j + threadIdx.x;
  if (i < n) {
    if (i == j) a[j * n + j] = sqrtf(a[j * n + j]);
    a[i * n + j] /= a[j * n + j];
  }
}]=], function(k) k(1, 64)(floats(64 * 64), 64, 0) end,
  { { kind = "race", line = 4, name = "a", index = 0 }, { kind = "race", line = 5, other = 4, name = "a", index = 0 } })

faulty("a sweep of Gauss and Seidel in the natural order", [=[__global__ void k(float *u, const float *f, int w) {
  int x = threadIdx.x + 1, y = threadIdx.y + 1;
  u[y * w + x] = 0.25f * (u[y * w + x - 1] + u[y * w + x + 1] + u[(y - 1) * w + x] + u[(y + 1) * w + x] - f[y * w + x]);
}]=], function(k) k(1, { 16, 4 })(floats(18 * 6), floats(18 * 6), 18) end,
  { kind = "race", line = 3, other = 3, name = "u" })

faulty("a wrapped neighbour is one below", [=[__global__ void k(const int *in, int *out, int w, int h) {
  int x = threadIdx.x, y = blockIdx.x, alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) alive += in[(y + dy) % h * w + (x + dx + w) % w];
  out[y * w + x] = alive;
}]=], function(k) k(8, 32)(ints(256), ints(256), 32, 8) end,
  { kind = "out of bounds", line = 4, name = "in", access = "read", count = 96 })

faulty("particles move where others read their places", [=[__global__ void k(float4 *p, float *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 own = p[i];
  float a = 0;
  for (int j = 0; j < n; j++) a += (p[j].x - own.x) * p[j].w;
  v[i] += a;
  own.x += v[i] * 0.01f;
  p[i] = own;
}]=], function(k) k(2, 32)(floats(256):reshape(64, 4), floats(64), 64) end,
  { { kind = "race", line = 8, other = 5, name = "p" } }, "some")

faulty("each block clears the queue that others fill already", [=[__global__ void k(const int *x, int *queue, int *count, int n) {
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] == 0) queue[atomicAdd(count, 1) % n] = i;
}]=], function(k) k(4, 32)(ints(128), ints(128), ints(1), 128) end,
  { kind = "race", line = 2, other = 5, name = "count" }, "some")

faulty("the last block sums without having waited", [=[__device__ int done;
__global__ void k(const float *x, float *part, float *total) {
  __shared__ float s[64];
  __shared__ bool last;
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (int d = 32; d; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0];
    last = atomicAdd(&done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b];
    *total = sum;
  }
}]=], function(k)
  k:global("done")[1] = 0
  k(4, 64)(floats(256), floats(4), floats(1))
end, { kind = "race", line = 12, other = 18, name = "part", access = "write", other_access = "read" })

faulty("a scan down the tree that reads what the lane beside writes", [=[__global__ void k(int *x, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    if (t >= d) s[t] += s[t - d];
    __syncthreads();
  }
  x[t] = s[t];
}]=], function(k) k(1, 128, 512)(ints(128), 128) end,
  { kind = "race", line = 7, other = 7, name = "s", space = "shared" })

faulty("a sorted run is merged from one element too many", [=[__global__ void k(const int *a, const int *b, int *out, int n) {
  int i = threadIdx.x, low = 0, high = n;
  while (low <= high) {
    int m = (low + high) / 2;
    if (b[m] < a[i]) low = m + 1;
    else high = m - 1;
  }
  out[i + low] = a[i];
}]=], function(k) k(1, 64)(gpu.full(64, 9, "int32"), ints(64), ints(129), 64) end,
  { kind = "out of bounds", line = 5, name = "b", index = 64, length = 64, count = 64, access = "read" })

faulty("a hash table's keys are claimed without an atomic", [=[__global__ void k(const int *keys, int *table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int h = keys[i] * 7 % 64;
  while (table[h] != 0 && table[h] != keys[i]) h = (h + 1) % 64;
  table[h] = keys[i];
}]=], function(k) k(2, 16)((gpu.range(0, 31) % 4 + 1):to("int32"), ints(64), 64) end,
  { kind = "race", line = 5, other = 4, name = "table", access = "write", other_access = "read" }, "some")

faulty("a barrier in a loop whose threads leave when their part converged", [=[__global__ void k(float *x, int n) {
  float v = x[threadIdx.x];
  while (v > 1) {
    v *= 0.5f;
    __syncthreads();
  }
  x[threadIdx.x] = v;
}]=], function(k) k(1, 64)(gpu.linspace(1, 40, 64), 64) end,
  { kind = "barrier divergence", line = 5 })

faulty("a sparse row ends where the next but one begins", [=[__global__ void k(const int *row, const int *col, const float *v, const float *x, float *y, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r > n) return;
  float sum = 0;
  for (int j = row[r]; j < row[r + 1]; j++) sum += v[j] * x[col[j]];
  y[r] = sum;
}]=], function(k) k(2, 32)(gpu.range(0, 100, 2):to("int32")["1:51"], ints(100), floats(100), floats(50), floats(50), 50) end,
  { { kind = "out of bounds", line = 5, name = "row", index = 51, count = 1 }, { kind = "out of bounds", line = 6, name = "y", index = 50, count = 1 } })

faulty("a table made by one thread of each block is read at once", [=[__global__ void k(const unsigned char *text, int n, int *found) {
  __shared__ int fail[8];
  if (threadIdx.x == 0)
    for (int i = 0; i < 8; i++) fail[i] = i ? fail[i - 1] + 1 : 0;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += fail[text[i] % 8];
  atomicAdd(found, sum);
}]=], function(k) k(2, 64)(gpu.zeros(256, "uint8"), 256, ints(1)) end,
  { kind = "race", line = 4, other = 6, name = "fail", space = "shared", access = "write", other_access = "read" })

---- libcu++, where the compiler has it
if not pcall(gpu.kernel, "#include <cuda/barrier>\n__global__ void k() {}") then
  t.done()
  return
end

faulty("a split barrier is left before the wait", [=[#include <cuda/barrier>
#pragma nv_diag_suppress 20054
__global__ void k(float *x) {
  __shared__ float s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  s[threadIdx.x] = x[threadIdx.x];
  auto token = bar.arrive();
  x[threadIdx.x] = s[63 - threadIdx.x];
  bar.wait(cuda::std::move(token));
}]=], function(k) k(1, 64)(floats(64)) end,
  { kind = "race", line = 8, other = 10, name = "s", space = "shared", access = "write", other_access = "read" })

faulty("a relaxed reference passes a message on", [=[#include <cuda/atomic>
__global__ void k(int *data, int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> r(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *data = 42;
    r.store(1, cuda::memory_order_relaxed);
  }
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (r.load(cuda::memory_order_acquire) == 0) {
    }
    *out = *data;
  }
}]=], function(k) k(2, 32)(ints(1), ints(1), ints(1)) end,
  { kind = "race", line = 5, other = 11, name = "data" })

faulty("a pipeline's buffer is read before the wait", [=[#include <cuda/pipeline>
__global__ void k(const float4 *x, float *y) {
  __shared__ float4 buffer[32];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&buffer[threadIdx.x], &x[threadIdx.x], cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  y[threadIdx.x] = buffer[threadIdx.x].x;
  pipe.consumer_wait();
  pipe.consumer_release();
}]=], function(k) k(1, 32)(floats(128):reshape(32, 4), floats(32)) end,
  { kind = "race", line = 6, other = 8, name = "buffer" })

t.done()
