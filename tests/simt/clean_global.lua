-- Kernels that share global memory between blocks and are right: gpu.check must have nothing to say, whatever the order of
-- blocks, and the results must be right, too.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local clean = t.clean

local function ints(v) return type(v) == "table" and gpu.array(v, "int32") or gpu.zeros(v, "int32") end
local function list(n, f) return t.list(n, f or function(i) return i end) end

local x = gpu.range(0, 255, 1, "int32")
local eighths = x % 8

k = gpu.kernel [=[
__device__ int hits;
__device__ unsigned arrived;
__global__ void bins_of_blocks(const int *x, int *bins) { atomicAdd(&bins[x[blockIdx.x * blockDim.x + threadIdx.x]], 1); }
__global__ void stencil(const int *a, int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i + 1];
}
__global__ void flag(int *data, volatile int *ready, int *seen) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[3] = 42;
    __threadfence();
    *ready = 1;
  } else {
    while (*ready == 0) ;
    __threadfence();
    *seen = data[3];
  }
}
__global__ void flag_of_block(const int *x, int *data, int *ready, int *out) {  // a barrier, then one thread releases for all
  if (blockIdx.x == 0) {
    data[threadIdx.x] = x[threadIdx.x] * 2;
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); atomicExch(ready, 1); }
  } else {
    if (threadIdx.x == 0) { while (atomicAdd(ready, 0) == 0) ; __threadfence(); }
    __syncthreads();
    out[threadIdx.x] = data[63 - threadIdx.x];
  }
}
__global__ void flag_of_warp(int *data, volatile int *ready, int *out) {  // fences, then __syncwarp, then the flag
  int lane = threadIdx.x;
  if (blockIdx.x == 0) {
    data[lane] = lane * 2;
    __threadfence();
    __syncwarp();
    if (lane == 0) *ready = 1;
  } else {
    if (lane == 0) while (*ready == 0) ;
    __syncwarp();
    __threadfence();
    out[lane] = data[31 - lane];
  }
}
__global__ void acquire_release(int *data, int *ready, int *seen) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    *data = 11;
    asm volatile("st.release.gpu.global.s32 [%0], 1;" :: "l"(ready) : "memory");
  } else {
    int v;
    do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(ready) : "memory"); while (!v);
    *seen = *data;
  }
}
__global__ void last_block(const int *x, int *partial, int *total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += partial[b];
    *total = sum;
  }
}
__global__ void lock(int *mutex, int *value) {
  while (atomicCAS(mutex, 0, 1)) ;
  __threadfence();
  *value += 1;
  __threadfence();
  atomicExch(mutex, 0);
}
__global__ void ticket(unsigned *next, volatile unsigned *serving, int *value) {
  if (threadIdx.x) return;
  unsigned mine = atomicAdd(next, 1);
  while (*serving != mine) ;
  __threadfence();
  *value = *value * 2 + 1;
  __threadfence();
  *serving = mine + 1;
}
__global__ void lookback(const int *x, volatile int *state, int *sums, int *out) {  // a chain of blocks
  if (threadIdx.x) return;
  int b = blockIdx.x, before = 0;
  if (b) {
    while (state[b - 1] == 0) ;
    __threadfence();
    before = sums[b - 1];
  }
  sums[b] = before + x[b];
  __threadfence();
  state[b] = 1;
  out[b] = before;
}
__global__ void grid_barrier(unsigned *count, volatile unsigned *turn, int *a, int *b) {
  int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 1; r <= 3; r++) {
    int *from = r & 1 ? a : b, *to = r & 1 ? b : a;
    to[i] = from[(i + 1) % n] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      if (atomicAdd(count, 1) == gridDim.x - 1) { *count = 0; __threadfence(); *turn = r; }
      else while (*turn != r) ;
      __threadfence();
    }
    __syncthreads();
  }
}
__global__ void transpose_pairs(int *a, int n) {  // who owns the pair exchanges it
  int r = blockIdx.x, c = threadIdx.x;
  if (r < c) { int v = a[c * n + r]; a[c * n + r] = a[r * n + c]; a[r * n + c] = v; }
}
__global__ void counts(int *out) {
  if (threadIdx.x == 0) atomicAdd(&hits, 1);
  if (threadIdx.x < 5) atomicMax(&out[threadIdx.x], (int)threadIdx.x);
}
__global__ void chunks(int *a, int each, int n) {
  int from = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (int i = from; i < min(from + each, n); i++) a[i] = from;
}
__global__ void marks(const int *x, unsigned char *seen) { seen[x[blockIdx.x * blockDim.x + threadIdx.x] % 9] = 1; }
__global__ void bytes(bool *even, short *half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  even[i] = i % 2 == 0;
  half[i] = i;
}
__global__ void own_twice(int *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  a[i] = a[i] * 2 + a[i] / 2;
}
__global__ void strides(int *a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] += i;
}
__global__ void hash(const int *keys, int *table, int *value, int slots) {  // a claimed slot is its owner's
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned s = keys[i] * 7u % slots;
  while (true) {
    int old = atomicCAS(&table[s], -1, keys[i]);
    if (old == -1) { value[s] = keys[i] * 3; return; }
    s = (s + 1) % slots;
  }
}
__global__ void queue(int *items, int *tail, int *out) {  // reserved places of an output
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 == 0) items[atomicAdd(tail, 1)] = i;
  atomicAdd(out, i % 3 == 0 ? i : 0);
}
__global__ void relaxed_counter(int *count, int *enough) {  // atomics only: no order is asked for
  atomicAdd(count, 1);
  if (atomicAdd(count, 0) > 10) atomicExch(enough, 1);
}
__global__ void ping(volatile int *ball, int *data, int rounds) {  // two blocks in turn
  if (threadIdx.x) return;
  for (int r = 0; r < rounds; r++) {
    while (*ball != 2 * r + (int)blockIdx.x) ;
    __threadfence();
    *data = *data * 2 + blockIdx.x;
    __threadfence();
    *ball = 2 * r + blockIdx.x + 1;
  }
}
__global__ void heap(int *out) {
  int *p = (int *)malloc(16);
  p[0] = threadIdx.x, p[3] = 5;
  int v = p[0] + p[3];
  free(p);
  p = (int *)malloc(32);
  p[7] = v;
  out[threadIdx.x] = p[7];
  free(p);
}]=]

clean("a histogram over blocks with atomics", list(8, function() return 16 end), function()
  local bins = ints(8)
  k.bins_of_blocks(2, 64)(eighths, bins)
  return bins
end)
clean("a stencil into another array", list(100, function(i) return (i == 0 or i == 99) and 0 or 2 * i end), function()
  local b = ints(100)
  k.stencil(2, 64)(x, b, 100)
  return b
end)
clean("a flag with fences between blocks", { 42 }, function()
  local seen = ints(1)
  k.flag(2, 32)(ints(4), ints(1), seen)
  return seen
end)
clean("one thread releases for its block", list(64, function(i) return 2 * (63 - i) end), function()
  local out = ints(64)
  k.flag_of_block(2, 64)(x, ints(64), ints(1), out)
  return out
end)
clean("one lane releases for its warp", list(32, function(i) return 2 * (31 - i) end), function()
  local out = ints(32)
  k.flag_of_warp(2, 32)(ints(32), ints(1), out)
  return out
end)
clean("a release store and an acquire load", { 11 }, function()
  local seen = ints(1)
  k.acquire_release(2, 32)(ints(1), ints(1), seen)
  return seen
end)
clean("a last block with fences", { 28 }, function()
  local total = ints(1)
  k.last_block(8, 32)(x, ints(8), total)
  return total
end)
clean("a lock with fences", { 120 }, function()
  local value = ints(1)
  k.lock(3, 40)(ints(1), value)
  return value
end)
clean("a ticket lock with fences", { 15 }, function()
  local value = ints(1)
  k.ticket(4, 32)(gpu.zeros(1, "uint32"), gpu.zeros(1, "uint32"), value)
  return value
end)
clean("a chain of blocks", list(8, function(i) return i * (i - 1) // 2 end), function()
  local out = ints(8)
  k.lookback(8, 32)(x, ints(8), ints(8), out)
  return out
end)
clean("a barrier of the grid by hand", list(128, function(i) return (i + 3) % 128 + 3 end), function()
  local b = ints(128)
  k.grid_barrier(2, 64)(gpu.zeros(1, "uint32"), gpu.zeros(1, "uint32"), ints(list(128)), b)
  return b
end)
clean("a transpose in place by pairs", list(256, function(i) return i % 16 * 16 + i // 16 end), function()
  local a = ints(list(256))
  k.transpose_pairs(16, 16)(a, 16)
  return a
end)
clean("atomics on a device variable", list(5), function()
  local out = ints(5)
  k.counts(4, 32)(out)
  return out
end)
clean("chunks that meet and don't overlap", list(62, function(i) return i // 4 * 4 end), function()
  local a = ints(62)
  k.chunks(1, 16)(a, 4, 62)
  return a
end)
clean("marks of the same value from all blocks", list(9, function() return 1 end), function()
  local seen = gpu.zeros(9, "uint8")
  k.marks(4, 64)(x, seen)
  return seen
end)
clean("bytes of one word from two blocks", list(70, function(i) return i end), function()
  local half = gpu.zeros(70, "int16")
  k.bytes(10, 7)(gpu.zeros(70, "bool"), half)
  return half
end)
clean("each thread its own element, twice", list(64, function(i) return 2 * i + i // 2 end), function()
  local a = gpu.empty(64, "int32")
  k.own_twice(2, 32)(a)
  return a
end)
clean("a grid-stride loop", list(200, function(i) return i end), function()
  local a = ints(200)
  k.strides(2, 32)(a, 200)
  return a
end)
clean("slots of a hash table that are claimed", { 3 * 63 * 32 }, function()
  local value = ints(128)
  k.hash(2, 32)(x, gpu.full(128, -1, "int32"), value, 128)
  return { value:sum() }
end)
clean("places of an output that are reserved", list(1, function() return 33 * 34 // 2 * 3 end), function()
  local out = ints(1)
  k.queue(2, 50)(ints(34), ints(1), out)
  return out
end)
clean("a counter by atomics alone", { 1 }, function()
  local enough = ints(1)
  k.relaxed_counter(2, 32)(ints(1), enough)
  return enough
end)
clean("two blocks in turn", { 5 }, function()
  local data = ints(1)
  k.ping(2, 32)(ints(1), data, 2)
  return data
end)
clean("memory of the device's heap, used again", list(40, function(i) return i + 5 end), function()
  local out = ints(40)
  k.heap(1, 40)(out)
  return out
end)

t.done()
