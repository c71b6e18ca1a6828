-- Mistakes in the corners of what gpu.check knows: odd places, what comes after much that was
-- right. Each case gives source, launch, and what the reports must say. Those with matrices
-- and copies are in faulty_copies.lua, the common mistakes in faulty.lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local function floats(n) return gpu.ones(n) end
local function ints(n) return gpu.zeros(n, "int32") end

---- out of bounds
faulty("an update past the end is told once", [[__global__ void k(int *x) {
  x[threadIdx.x] *= 2;
}]], function(k) k(1, 36)(ints(32)) end,
  { kind = "out of bounds", line = 2, access = "read and write", name = "x", index = 32, count = 4,
    message = "x[32] read and written, x has 32" })

faulty("two places past the end in a line", [[__global__ void k(int *x) {
  x[threadIdx.x + 1] = x[threadIdx.x];
}]], function(k) k(1, 33)(ints(32)) end,
  { { kind = "out of bounds", line = 2, access = "read", index = 32, count = 1 },
    { kind = "out of bounds", line = 2, access = "write", index = 32, count = 2 },
    { kind = "race", line = 2, other = 2 } })

faulty("a kernel of one line, where the caret stands at the array", [[__global__ void k(float *x, const float *xx) { float v = xx[threadIdx.x + 1]; x[threadIdx.x] = v; }]],
  function(k) k(1, 32)(floats(32), floats(32)) end,
  { kind = "out of bounds", line = 1, column = 58, name = "xx", index = 32, access = "read" })

faulty("read past the end into the next array", [[__global__ void k(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0;
  for (const float *p = x + i; v < n; p += 64) v += 1 + *p;
  y[i] = v;
}]], function(k) k(4, 64)(gpu.zeros(64), gpu.zeros(256), 1) end,
  { kind = "out of bounds", line = 4, access = "read", name = "x", index = 64, length = 64, count = 192 })

faulty("far past the end", [[__global__ void k(float *x) {
  x[threadIdx.x + 100000] = 1;
}]], function(k) k(1, 1)(floats(8)) end,
  { kind = "out of bounds", line = 2, name = "x", index = 100000, length = 8 })

faulty("a null pointer", [[__global__ void k(const float *p, float *o) {
  o[threadIdx.x] = p[threadIdx.x + 3];
}]], function(k) k(1, 4)(nil, floats(4)) end,
  { kind = "out of bounds", line = 2, name = "p", index = 3, length = 0, access = "read", message = "p[3] read, but p is nil" })

faulty("past a view", [[__global__ void k(float *x) {
  x[threadIdx.x] = 1;
}]], function(k) k(1, 11)(floats(100)["11:20"]) end,
  { kind = "out of bounds", line = 2, name = "x", index = 10, length = 10, message = "x[10] written, x is a view of 10 elements" })

faulty("shared memory before its start", [[__global__ void k(float *x) {
  __shared__ float s[32];
  s[threadIdx.x] = 0;
  x[threadIdx.x] = s[threadIdx.x - 1];
}]], function(k) k(1, 1)(floats(32)) end,
  { kind = "out of bounds", line = 4, name = "s", index = -1, length = 32, space = "shared", access = "read" })

faulty("from one shared array into the next", [[__global__ void k(float *x) {
  __shared__ float a[64], b[64];
  a[threadIdx.x] = x[threadIdx.x];
  b[threadIdx.x] = 1;
  __syncthreads();
  x[threadIdx.x] = a[threadIdx.x + 1] + b[63 - threadIdx.x] + b[threadIdx.x % 32 * 2];
}]], function(k) k(1, 64)(floats(64)) end,
  { kind = "out of bounds", line = 6, name = "a", index = 64, length = 64, space = "shared", access = "read", count = 1, column = 18 })

faulty("from a shared array back into the one before", [[__global__ void k(int *x) {
  __shared__ int a[32], b[32];
  a[threadIdx.x] = x[threadIdx.x];
  b[threadIdx.x] = 0;
  __syncthreads();
  for (int i = -1; i < 2; i++) x[threadIdx.x] += b[min((int)threadIdx.x + i, 31)] + a[threadIdx.x];
}]], function(k) k(1, 32)(ints(32)) end,
  { kind = "out of bounds", line = 6, name = "b", index = -1, length = 32, space = "shared", access = "read", count = 1 })

faulty("from a static into the dynamic shared array", [[__global__ void k(int *x) {
  extern __shared__ int pool[];
  __shared__ int a[32];
  a[threadIdx.x] = pool[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  a[threadIdx.x + 8] = 3;
  x[threadIdx.x] = a[threadIdx.x];
}]], function(k) k(1, 32, 128)(ints(32)) end,
  { { kind = "out of bounds", line = 6, name = "a", index = 32, length = 32, space = "shared", access = "write", count = 8 },
    { kind = "race", line = 6 , other = 7 } })

faulty("past what malloc gave to each thread", [[__global__ void k(int *x) {
  int *own = (int *)malloc(16);
  for (int i = 0; i <= x[threadIdx.x]; i++) own[i] = i;
  x[threadIdx.x] = own[1];
}]], function(k) k(1, 8)(gpu.full(8, 4, "int32")) end,
  { kind = "out of bounds", line = 3, access = "write", count = 8 })

faulty("a barrier in a kernel of one line", [[__global__ void k(int *x) { if (threadIdx.x < 3) __syncthreads(); x[threadIdx.x] = 1; }]],
  function(k) k(1, 64)(ints(64)) end, { kind = "barrier divergence", line = 1, column = 50 })

faulty("a barrier for all threads at once, and one for threads that are apart", [[__global__ void k(int *x) {
  if (threadIdx.x < 32)
    __barrier_sync(0);
  else
    __syncthreads();
  x[threadIdx.x] = 1;
}]], function(k) k(1, 64)(ints(64)) end, { kind = "barrier divergence", line = 3, other = 5 })

faulty("a division in a kernel of one line", [[__global__ void k(int *x, int by) { int i = threadIdx.x; x[i] = i % by; }]],
  function(k) k(1, 64)(ints(64), 0) end, { kind = "division by zero", line = 1, column = 67 })

---- misaligned, freed, uninitialised
faulty("freed memory while another array of its size is made", [[struct list { float *items; };
__device__ list kept;
__global__ void k(float *x, float *y, int use) {
  if (use) y[threadIdx.x] = kept.items[threadIdx.x];
  else kept.items = x;
}]], function(k)
  local x, y = floats(1000), floats(64)
  k(1, 1)(x, y, 0)
  x:free()
  local again = floats(1000)
  k(1, 64)(again, y, 1)
end, { kind = "use after free", line = 4, access = "read", count = 64 })

---- far beyond an array
faulty("a compare-and-swap without a result, where nothing is", [[__global__ void k(int *x, long long far, int *flag) {
  atomicCAS(x + far, 1, 2);
  __threadfence();
  atomicAdd(flag, 1);
}]], function(k) k(1, 32)(ints(4), 1 << 34, ints(1)) end, { kind = "out of bounds", line = 2, name = "x", access = "atomic", count = 32 })

faulty("the same in shared memory", [[__global__ void k(int *x, unsigned far) {
  __shared__ int s[32];
  s[threadIdx.x] = 1;
  __syncthreads();
  atomicCAS((int *)((char *)s + far), 1, 2);
  __threadfence_block();
  atomicAdd(s, 1);
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32)(ints(32), 1 << 30) end, { kind = "out of bounds", line = 5, name = "s", access = "atomic", count = 32 })

---- races
faulty("two lanes write one element", [[__global__ void k(int *x) {
  x[threadIdx.x / 2] = threadIdx.x;
}]], function(k) k(1, 32)(ints(16)) end, { kind = "race", line = 2, other = 2, name = "x", index = 0, access = "write", other_access = "write", count = 16 })

faulty("a compare-and-swap that succeeds once, and a plain read", [[__global__ void k(int *x, int *out) {
  atomicCAS(x, 0, threadIdx.x);
  out[threadIdx.x] = *x;
}]], function(k) k(1, 64)(ints(1), ints(64)) end, { kind = "race", line = 2, other = 3, access = "atomic", other_access = "read", name = "x" })

faulty("a compare-and-swap in shared memory and a plain read", [[__global__ void k(int *out) {
  __shared__ int s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  out[threadIdx.x] = s[0];
  atomicCAS(s, 0, threadIdx.x);
}]], function(k) k(1, 64)(ints(64)) end, { kind = "race", line = 6, other = 5, access = "atomic", other_access = "read", name = "s" })

faulty("a compare-and-swap that fails, and a plain write", [[__global__ void k(int *x) {
  if (threadIdx.x < 32) atomicCAS(x, 5, 6);
  else if (threadIdx.x == 32) *x = 1;
}]], function(k) k(1, 64)(ints(1)) end, { kind = "race", line = 3, other = 2, access = "write", other_access = "atomic", name = "x" })

faulty("neighbouring bytes of one word", [[__global__ void k(unsigned char *x) {
  x[threadIdx.x] = threadIdx.x;
  __syncwarp();
  x[(threadIdx.x + 32) % 64] += 1;
}]], function(k) k(1, 64)(gpu.zeros(64, "uint8")) end, { kind = "race", line = 2, other = 4, name = "x", access = "write", other_access = "read" })

faulty("an array that is read, and written by an address from memory", [[__device__ float *kept;
__global__ void keep(float *x) { kept = x; }
__global__ void k(const float *x, float *out) {
  if (threadIdx.x == 63) kept[threadIdx.x - 62] = 2;
  else out[threadIdx.x] = x[threadIdx.x + 1];
}]], function(k)
  local x = floats(65)
  k.keep(1, 1)(x)
  k.k(1, 64)(x, floats(64))
end, { kind = "race", line = 4, other = 5, name = "x", index = 1, access = "write", other_access = "read" })

faulty("one array as input and as output", [[__global__ void k(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x + 1] + 1;
}]], function(k)
  local x = floats(65)
  k(1, 64)(x, x["1:64"])
end, { kind = "race", line = 2, other = 2, name = "x", index = 1 })

---- barriers, masks, division
faulty("a barrier behind an early return", [[__global__ void k(int n, float *x) {
  int i = threadIdx.x;
  if (i >= n) return;
  x[i] = 1;
  __syncthreads();
  x[i] += x[(i + 1) % n];
}]], function(k) k(1, 64)(50, floats(64)) end, { { kind = "barrier divergence", line = 5 }, { kind = "race", line = 6, other = 6 } })

faulty("an integer divided by zero", [[__global__ void k(int *x, const int *d) {
  x[threadIdx.x] = 100 / d[threadIdx.x];
  x[threadIdx.x] += 7 % d[threadIdx.x];
}]], function(k) k(1, 4)(ints(4), gpu.array({ 1, 0, 2, 0 }, "int32")) end,
  { { kind = "division by zero", line = 2, count = 2 }, { kind = "division by zero", line = 3, count = 2 } })

---- shared memory, after much that was right
faulty("a barrier that is missing in the last round only", [[__global__ void k(int *x) {
  __shared__ int s[64];
  int t = threadIdx.x, v = 0;
  for (int r = 0; r < 50; r++) {
    s[t] = v + r;
    __syncthreads();
    v += s[63 - t];
    if (r < 48) __syncthreads();
  }
  x[t] = v;
}]], function(k) k(3, 64)(ints(64)) end, { kind = "race", line = 5, other = 7, name = "s", count = 192 })

faulty("a word that several threads read, then one of them writes", [[__global__ void k(int *x) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  x[t] = s[0] + s[t / 16 * 3] + s[t / 16 * 3];
  if (t == 0) s[3] = 7;
}]], function(k) k(1, 32)(ints(32)) end, { kind = "race", line = 7, other = 6, name = "s", count = 1 })

faulty("atomics, then a read by one of their threads", [[__global__ void k(int *x) {
  __shared__ int s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[threadIdx.x % 4], 1);
  if (threadIdx.x == 1) x[0] = s[1];
}]], function(k) k(1, 64)(ints(1)) end, { kind = "race", line = 5, other = 6, name = "s" })

faulty("three bytes of four are written", [[__global__ void k(unsigned *x) {
  __shared__ unsigned s[32];
  char *b = (char *)&s[threadIdx.x];
  for (int i = 0; i < 3 + (threadIdx.x != 5); i++) b[i] = i;
  unsigned v = s[threadIdx.x];
  __syncthreads();
  x[32 * blockIdx.x + threadIdx.x] = v + s[threadIdx.x];
}]], function(k) k(2, 32)(gpu.zeros(64, "uint32")) end,
  { { kind = "uninitialized read", line = 5, count = 2 }, { kind = "uninitialized read", line = 7, count = 2 } })

faulty("written in the block before only", [[__global__ void k(int *x) {
  __shared__ int s[32];
  if (blockIdx.x == 0) s[threadIdx.x] = 1;
  __syncthreads();
  x[32 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
}]], function(k) k(4, 32)(ints(128)) end, { kind = "uninitialized read", line = 5, count = 96, name = "s" })

faulty("a race behind a very long way", [[__global__ void k(int *x) {
  __shared__ int s[256];
  int t = threadIdx.x;
  for (int i = 0; i < 20000; i++) s[i % 4 * 64 + t] = i;
  x[t] = s[(t + 32) % 64];
}]], function(k) k(1, 64)(ints(64)) end, { kind = "race", line = 4, other = 5, name = "s" })

---- loads of an unrolled loop, which are looked at together
faulty("the last round of an unrolled loop reads what another warp writes", [[__global__ void k(int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, v = 0;
  s[t] = t;
  __syncthreads();
  if (t == 40) s[7] = 1;
#pragma unroll
  for (int r = 0; r < 8; r++) v += s[n + r];
  x[t] = v;
}]], function(k) k(2, 64)(ints(64), 0) end, { kind = "race", line = 6, other = 8, name = "s" })

faulty("an unrolled loop that runs past its array", [[__global__ void k(int *x, int n) {
  __shared__ int s[8], u[64];
  int t = threadIdx.x, v = 0;
  u[t] = t;
  if (t < 8) s[t] = t;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 8; r++) v += s[n + r];
  x[t] = v + u[63 - t];
}]], function(k) k(3, 64)(ints(64), 4) end, { kind = "out of bounds", line = 8, name = "s", count = 3 * 64 * 4 })

faulty("an unrolled loop over rows of which one was never written", [[__global__ void k(int *x) {
  __shared__ int s[8][32];
  int t = threadIdx.x, v = 0;
  for (int r = 0; r < 8; r++)
    if (r != 5) s[r][t] = r;
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 8; r++) v += s[r][t];
  x[t] = v;
}]], function(k) k(2, 32)(ints(32)) end, { kind = "uninitialized read", line = 8, name = "s", count = 64 })

faulty("never written, behind a meeting by masks", [[__global__ void k(int *x, const int *at) {
  __shared__ int s[32];
  int i = threadIdx.x, from = at[i];
  if (i % 2) s[i] = i;
  __syncwarp(i < 16 ? 0xffff : 0xffff0000);
  x[i] = s[from];
}]], function(k) k(2, 32)(ints(32), gpu.array(t.list(32, function(i) return i ~ 1 end), "int32")) end,
  { kind = "uninitialized read", line = 6, name = "s", count = 32 })

---- counters in global memory
faulty("counters, then a read by one of their threads", [[__global__ void k(int *x, int *y) {
  for (int i = 0; i < 9; i++) atomicAdd(&x[(threadIdx.x + i) % 4], 1);
  if (threadIdx.x == 1) y[0] = x[1];
}]], function(k) k(1, 64)(ints(4), ints(1)) end, { kind = "race", line = 2, other = 3, name = "x" })

faulty("counters that one of the blocks sets to 0", [[__global__ void k(int *h) {
  int t = threadIdx.x;
  if (blockIdx.x == 3) h[t] = 0;
  __syncthreads();
  for (int i = 0; i < 200; i++) atomicAdd(&h[t * i % 64], 1);
}]], function(k) k(8, 64)(ints(64)) end, { kind = "race", line = 3, other = 5, name = "h" })

faulty("counters of two blocks that a third one reads, whose threads have the same numbers", [[__global__ void k(int *h, int *o) {
  int t = threadIdx.x;
  if (blockIdx.x == 2)
    o[t] = h[t] + h[64 + t];
  else
    for (int i = 0; i < 9; i++) atomicAdd(&h[64 * blockIdx.x + t], 1);
}]], function(k) k(3, 64)(ints(128), ints(64)) end, { kind = "race", name = "h" })

---- rows that are not aligned, of global memory
faulty("a row beside the one that the neighbours read", [[__global__ void k(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = y[i] + y[i + 1];
  y[i + 2] = x[i] + v;
}]], function(k) k(2, 64)(gpu.ones(160), gpu.ones(160), 128) end, { kind = "race", line = 4, other = 3, name = "y" })

faulty("the last word of a row that the next block writes", [[__global__ void k(float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = y[i + 3], b = y[i + 4];
  y[i + 3 - 64 * (blockIdx.x & 1)] = a;
  if (b < 0) y[0] = b;
}]], function(k) k(2, 64)(gpu.ones(256)) end, { kind = "race", line = 4, other = 3, name = "y" })

faulty("pairs over words of another thread", [[__global__ void k(float2 *p, float *x) {
  int t = threadIdx.x;
  p[t] = make_float2(1, 2);
  x[t] = x[t + 80];
}]], function(k)
  local x = gpu.ones(256)
  k(1, 32)(x["65:128"], x)
end, { kind = "race", line = 3, other = 4, count = 30 })

faulty("a place that all have read", [[__global__ void k(float *x, float *y) {
  float v = 0;
  for (int r = 0; r < 20; r++) v += x[r];
  y[32 * blockIdx.x + threadIdx.x] = v;
  if (blockIdx.x == 7 && threadIdx.x == 9) x[11] = v;
}]], function(k) k(8, 32)(gpu.ones(32), gpu.ones(256)) end, { kind = "race", line = 5, other = 3, name = "x" })

faulty("more rows than a line has strips", [[__global__ void k(float *x, float *y) {
  int t = threadIdx.x;
  float v = 0;
  for (int r = 0; r < 9; r++) v += x[(t + 5 * r) % 61];
  y[t] = v;
  x[t] = 1;
}]], function(k) k(1, 64)(gpu.zeros(64), gpu.ones(64)) end, { kind = "race", line = 6, other = 4, name = "x" })

---- whole rows of global memory
faulty("blocks that store the same rows", [[__global__ void k(float *y) {
  y[64 * (blockIdx.x / 2) + threadIdx.x] = blockIdx.x;
}]], function(k) k(16, 64)(gpu.zeros(512)) end, { kind = "race", line = 2, other = 2, count = 512, name = "y" })

faulty("rows that another block reads", [[__global__ void k(float *x) {
  float v = x[64 * blockIdx.x + threadIdx.x];
  x[64 * (blockIdx.x ^ 1) + threadIdx.x] = v + 1;
}]], function(k) k(16, 64)(gpu.zeros(1024)) end, { kind = "race", line = 3, other = 2, name = "x" })

faulty("rows of doubles that another block reads", [[__global__ void k(double *x) {
  double v = x[64 * blockIdx.x + threadIdx.x];
  x[64 * (blockIdx.x ^ 1) + threadIdx.x] = v + 1;
}]], function(k) k(16, 64)(gpu.zeros(1024, "float64")) end, { kind = "race", line = 3, other = 2, name = "x" })

faulty("a tile whose rows another block stores", [[__global__ void k(float *x, int pitch) {
  int row = 4 * blockIdx.x + threadIdx.y;
  x[row * pitch + threadIdx.x] = 1;
  x[(row ^ 4) * pitch + threadIdx.x] = 2;
}]], function(k) k(8, { 16, 4 })(gpu.zeros(32, 48), 48) end, { kind = "race", line = 3, other = 4, name = "x" })

faulty("the other warp's row, without a barrier the second time", [[__global__ void k(float *x, float *y) {
  int mine = 64 * blockIdx.x + 32 * threadIdx.y, other = 64 * blockIdx.x + 32 * (1 - threadIdx.y);
  x[mine + threadIdx.x] = 1;
  __syncthreads();
  float v = x[other + threadIdx.x];
  x[mine + threadIdx.x] = 2;
  y[mine + threadIdx.x] = v;
}]], function(k) k(8, { 32, 2 })(gpu.zeros(512), gpu.zeros(512)) end, { kind = "race", line = 6, other = 5, name = "x" })

---- rows of shared memory
faulty("two warps store the same row", [[__global__ void k(int *o) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.y;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, { 32, 2 })(ints(32)) end, { { kind = "race", line = 3, other = 3, name = "s", access = "write" } })

faulty("the halves of a warp store rows that overlap", [[__global__ void k(int *o) {
  __shared__ int s[2][48];
  s[threadIdx.z][threadIdx.y * 8 + threadIdx.x] = threadIdx.y + 1;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(o, s[threadIdx.z][threadIdx.y]);
}]], function(k) k(1, { 16, 3, 2 })(ints(1)) end, { kind = "race", line = 3, other = 3, name = "s" })

faulty("the halves of a warp store one row", [[__global__ void k(int *o) {
  __shared__ int s[16];
  s[threadIdx.x] = threadIdx.y;
  __syncthreads();
  if (threadIdx.y == 0) o[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, { 16, 2 })(ints(16)) end, { kind = "race", line = 3, other = 3, name = "s", count = 16 })

faulty("columns of which two lanes share some", [[__global__ void k(int *o) {
  __shared__ int s[40];
  s[threadIdx.x * 2 + threadIdx.y * 4] = threadIdx.y;
  __syncthreads();
  if (threadIdx.y == 0) o[threadIdx.x] = s[threadIdx.x * 2];
}]], function(k) k(1, { 16, 2 })(ints(16)) end, { kind = "race", line = 3, other = 3, name = "s", count = 14 })

faulty("a column that is read before all rows are written", [[__global__ void k(const float *x, float *o) {
  __shared__ float s[16][17];
  int i = threadIdx.y * 16 + threadIdx.x;
  s[threadIdx.y][threadIdx.x] = x[i];
  o[i] = s[threadIdx.x][threadIdx.y];
}]], function(k) k(1, { 16, 16 })(floats(256), floats(256)) end, { kind = "race", line = 4, other = 5, name = "s" })

faulty("a row that is read beside many others that are written", [[__global__ void k(int *o) {
  __shared__ int s[300][32];
  if (threadIdx.y == 0)
    for (int i = 0; i < 300; i++) s[i][threadIdx.x] = i;
  else
    o[threadIdx.x] = s[0][threadIdx.x];
}]], function(k) k(1, { 32, 2 })(ints(32)) end, { { kind = "race", line = 4, other = 6, name = "s", count = 32 } })

faulty("vectors that their threads read, and others write", [[__global__ void k(const float4 *x, float *o) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  float4 v = s[t];
  o[t] = v.x + v.y + v.z + v.w;
  s[t] = x[63 - t];
  s[63 - t] = x[t];
}]], function(k) k(1, 64)(gpu.ones { 64, 4 }, floats(64)) end,
  { kind = "race", line = 9, other = 6, name = "s", access = "write", other_access = "read" })

faulty("a row that all have read, and one thread writes", [[__global__ void k(const float *x, float *o) {
  __shared__ float s[2][16];
  int t = threadIdx.y * 16 + threadIdx.x;
  float v = 0;
  s[threadIdx.y][threadIdx.x] = x[t];
  __syncthreads();
  for (int k = 0; k < 16; k++) v += s[1][k];
  if (t == 0) s[1][5] = v;
  o[t] = v;
}]], function(k) k(1, { 16, 2 })(floats(32), floats(32)) end,
  { kind = "race", line = 8, other = 7, name = "s", index = 21, access = "write", other_access = "read", count = 1 })

---- lanes of a warp that met
faulty("an exchange whose lanes meet once only", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, v = x[t];
  for (int d = 16; d; d >>= 1) {
    s[t] = v;
    __syncwarp();
    v += s[t ^ d];
  }
  y[t] = v;
}]], function(k) k(1, 64)(gpu.range(1, 64):to("int32"), ints(64)) end,
  { kind = "race", line = 5, other = 7, name = "s", access = "write", other_access = "read" })

faulty("the lanes of two warps met, but not the warps", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  int v = s[t ^ 1];
  __syncwarp();
  y[t] = v + s[t ^ 33];
}]], function(k) k(1, 64)(gpu.range(1, 64):to("int32"), ints(64)) end,
  { kind = "race", line = 4, other = 8, name = "s", access = "write", other_access = "read" })

faulty("a warp that met writes what another has read", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  __syncwarp();
  int v = s[(t + 5) % 64];
  __syncwarp();
  s[t] = v;
}]], function(k) k(1, 64)(gpu.range(1, 64):to("int32"), ints(64)) end,
  { kind = "race", line = 9, other = 7, name = "s" })

---- parts of words
local function signed_bytes(more, body)
  return "__global__ void k(const int *x, int *y) {\n  __shared__ signed char s[64];\n  int t = threadIdx.x;\n" ..
    "  s[t] = x[t];\n  __syncthreads();\n" .. more .. body .. "  y[t] = v;\n}"
end
local function run_bytes(k) k(1, 64)(gpu.range(1, 64):to("int32"), ints(64)) end

faulty("a byte that a thread read behind another one of its word is written", signed_bytes([[
  int v = s[0];
  v += s[t == 7];
]], "  if (t == 63) s[1] = v;\n"), run_bytes,
  { kind = "race", line = 8, other = 7, name = "s", index = 1, access = "write", other_access = "read" })

faulty("a word is written of which a byte was read", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  int v = ((signed char *)s)[3 + 4 * (t % 32)];
  if (t == 63) s[20] = v;
  y[t] = v;
}]], run_bytes, { kind = "race", line = 7, other = 6, name = "s", access = "write", other_access = "read" })

faulty("a byte is written of a word that was read whole behind bytes of it", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  int v = ((signed char *)s)[t % 2];
  if (t == 9) v += s[0];
  if (t == 63) ((signed char *)s)[2] = v;
  y[t] = v;
}]], run_bytes, { kind = "race", line = 8, other = 7, name = "s", access = "write", other_access = "read" })

faulty("bytes beside those that were written are read", [[__global__ void k(const int *x, int *y) {
  __shared__ signed char s[64];
  int t = threadIdx.x;
  if (t % 4 == 1) s[t] = x[t];
  __syncthreads();
  int v = s[t / 4 * 4 + 1];
  v += s[t / 4 * 4 + 1 + (t == 40)];
  y[t] = v;
}]], run_bytes, { kind = "uninitialized read", line = 7, name = "s", index = 42, access = "read" })

---- words that threads write apart
faulty("two of many threads that scatter meet in a word", [[__global__ void k(int *y) {
  int t = threadIdx.x;
  y[t == 200 ? 37 * 100 % 256 : 37 * t % 256] = t;
}]], function(k) k(1, 256)(ints(256)) end,
  { kind = "race", line = 3, other = 3, name = "y", index = 37 * 100 % 256, access = "write", other_access = "write" })

faulty("what another thread scattered is read", [[__global__ void k(int *y, int *z) {
  int t = threadIdx.x;
  y[37 * t % 256] = t;
  z[t] = y[37 * (t ^ 1) % 256];
}]], function(k) k(1, 256)(ints(256), ints(256)) end,
  { kind = "race", line = 3, other = 4, name = "y", access = "write", other_access = "read" })

faulty("what another block gathered is written", [[__global__ void k(int *y, int *z) {
  int i = 64 * blockIdx.x + threadIdx.x;
  z[i] = y[37 * i % 256];
  y[37 * (i ^ 64) % 256] = i;
}]], function(k) k(4, 64)(ints(256), ints(256)) end,
  { kind = "race", line = 4, other = 3, name = "y", access = "write", other_access = "read" })

local falling = 257 - gpu.range(1, 256):to("int32")
for _, apart in ipairs { 1, 4, 16 } do
  faulty("what some lanes of a warp exchanged, " .. apart .. " apart, is written by another block", ([[__global__ void k(int *y) {
  int i = 64 * blockIdx.x + threadIdx.x, p = i ^ APART;
  if (p > i && y[i] > y[p]) {
    int v = y[i];
    y[i] = y[p];
    y[p] = v;
  }
  if (i == 198) y[2 + APART] = 7;
}]]):gsub("APART", apart), function(k) k(4, 64)(gpu.add(falling, 0)) end,
    { kind = "race", line = 6, other = 8, name = "y", access = "write", other_access = "write",
      index = 2 + apart }, "some")
end

t.test("carets behind characters of several bytes, and tabs", function()
  local line, caret = "/* größer als 日本 */ x[threadIdx.x + n] = 1;", (" "):rep(20) .. "^"
  local k = gpu.kernel("__global__ void k(float *x, int n) {\n  " .. line .. "\n\t/* é */\tx[0] = n / (int)threadIdx.x;\n}")
  local report = gpu.check(function() k(1, 1)(gpu.ones(32), 32) end)[1]
  assert(report.text:find(" | " .. line .. "\n      | " .. caret .. "\n", 1, true), report.text)
  local function fault() k(1, 1)(gpu.ones(32), 1 << 28); gpu.sync() end
  t.raises({ " | " .. line .. "\n      | " .. caret .. "\n" }, fault)
  report = gpu.check(function() k(1, 1)(gpu.ones(32), 0) end)[1]
  assert(report.text:find(" | /* é */\tx[0] = n / (int)threadIdx.x;\n      |        \t         ^\n", 1, true), report.text)
end)

-- So many that checks count them from the beginning again.
faulty("shared memory behind a million barriers", [[__global__ void k(int *x, int rounds) {
  __shared__ int s[64], early[64], late[64], first[64];
  int t = threadIdx.x, v = 0;
  early[t] = t; if (blockIdx.x == 0) first[t] = t;
  for (int r = 0; r <= rounds * blockIdx.x; r++) { s[t] = r; __syncthreads(); v += s[63 - t]; __syncthreads(); if (r == rounds - 3000) v += early[63 - t], late[t] = t; }
  if (blockIdx.x == 0) return; early[t] = v; s[t] = late[63 - t];
  v += s[63 - t];
  x[t] = v + first[t];
}]], function(k) k(2, 64)(ints(64), 525000) end,
  { { kind = "race", line = 6, other = 7, count = 64 }, { kind = "uninitialized read", line = 8, count = 64 } })

t.done()
