-- Threads that wait for each other: lanes of a warp, warps of a block, blocks of a grid.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device(t.kernel_device())

local k = gpu.kernel [[
__device__ void grid_barrier(unsigned *count, unsigned goal) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile unsigned *)count < goal) {}
    __threadfence();
  }
  __syncthreads();
}
__global__ void heat(int n, int steps, unsigned *count, float *a, float *b) {  // a barrier made by hand between steps
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 1; s <= steps; s++) {
    if (i < n) b[i] = (a[max(i - 1, 0)] + a[i] + a[min(i + 1, n - 1)]) / 3;
    grid_barrier(count, s * gridDim.x);
    float *c = a; a = b; b = c;
  }
}
__global__ void ring(int rounds, volatile int *token, int *trace) {  // a token goes round, against the order of blocks
  for (int r = 0; r < rounds; r++) {
    int mine = r * gridDim.x + gridDim.x - 1 - blockIdx.x;
    if (threadIdx.x == 0) {
      while (*token != mine) __nanosleep(20);
      trace[mine] = blockIdx.x;
      __threadfence();
      *token = mine + 1;
    }
  }
}
__global__ void scan(int n, const int *x, int *y, volatile int *state, volatile int *sums) {  // chained, block by block
  __shared__ int s[64], before;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    int b = 0;
    if (blockIdx.x > 0) {
      while (state[blockIdx.x - 1] == 0) {}
      __threadfence();
      b = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = b + s[63];
    __threadfence();
    state[blockIdx.x] = 1;
    before = b;
  }
  __syncthreads();
  if (i < n) y[i] = s[t] + before;
}
__global__ void queue(int n, unsigned *head, volatile int *ready, int *items, int *got) {  // the first block produces
  if (blockIdx.x == gridDim.x - 1) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      items[i] = i * i;
      __threadfence();
      ready[i] = 1;
    }
    return;
  }
  for (;;) {
    unsigned i = atomicAdd(head, 1);
    if (i >= n) return;
    while (ready[i] == 0) {}
    __threadfence();
    got[i] = items[i] + 1;
  }
}
__global__ void lanes(int *lock, int *count) {  // every thread takes the one lock
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      int c = *(volatile int *)count;
      *(volatile int *)count = c + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
__global__ void lanes_simple(int *lock, int *count) {  // the unlock comes after the loop
  while (atomicCAS(lock, 0, 1)) {}
  __threadfence();
  *(volatile int *)count += 1;
  __threadfence();
  atomicExch(lock, 0);
}
__global__ void warps(int rounds, int *out) {  // two warps hand a value to and fro in shared memory
  __shared__ volatile int turn, value;
  if (threadIdx.x == 0) turn = value = 0;
  __syncthreads();
  int me = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0)
    for (int r = 0; r < rounds; r++) {
      while (turn != me) {}
      value = value + 1;
      __threadfence_block();
      turn = 1 - me;
    }
  __syncthreads();
  if (threadIdx.x == 0) *out = value;
}
__global__ void looks(volatile int *flag, int *out) {  // all threads of a block look together, for what the last block does
  __shared__ int seen;
  int rounds = 0;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      if (blockIdx.x == gridDim.x - 1) *flag = 1;
      seen = *flag;
    }
    __syncthreads();
    rounds++;
  } while (!seen);
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds > 0;
}
__global__ void meeting(int *out) {  // two halves of a group meet at barriers of different lines; others wait for them
  __shared__ int met;
  int t = threadIdx.x;
  if (t == 0) met = 0;
  __syncwarp();
  if (t < 8) {
    out[t] = 10 + t;
    __syncwarp(0xffff);
    out[t] += out[t + 8];
    __threadfence_block();
    if (t == 0) atomicExch(&met, 1);
  } else if (t < 16) {
    out[t] = 100 * t;
    __syncwarp(0xffff);
  } else {
    while (atomicAdd(&met, 0) == 0) {}
    out[t] = 1;
  }
}
__global__ void chain(volatile int *turn, int *out) {  // each lane waits for the one above it, each in a loop of its own
  int t = threadIdx.x;
  switch (t % 4) {
    case 0: while (*turn != t) {} out[t] = 7; break;
    case 1: while (*turn != t) __nanosleep(10); out[t] = 8; break;
    case 2: for (int k = 0; *turn != t; k++) out[t] = k; out[t] = 9; break;
    case 3: do __threadfence(); while (*turn != t); out[t] = 10; break;
  }
  __threadfence();
  *turn = t - 1;
}
__global__ void pairs(int n, ulonglong2 *at, int *torn) {  // block 0 stores two equal numbers at once, the other looks
  unsigned long long a, b;
  at += threadIdx.x;
  if (blockIdx.x == 0) {
    for (long long k = 1; k <= n; k++)
      asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %1};" :: "l"(at), "l"(k * 0x100000001) : "memory");
  } else {
    do {
      asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(at) : "memory");
      if (a != b) atomicAdd(torn, 1);
    } while ((int)a < n);
  }
}
__global__ void lock_and_trap(volatile int *never) {
  if (blockIdx.x == 1) __trap();
  while (*never == 0) {}
}]]

t.test("a barrier of all blocks, made by hand", function()
  local n, steps = 500, 10
  local a = t.list(n, function(i) return i % 7 == 0 and 1 or 0 end)
  local da, db, count = gpu.array(a), gpu.zeros(n), gpu.zeros(1, "uint32")
  k.heat(8, 64)(n, steps, count, da, db)
  for _ = 1, steps do
    local b = {}
    for i = 1, n do b[i] = (a[math.max(i - 1, 1)] + a[i] + a[math.min(i + 1, n)]) / 3 end
    a = b
  end
  t.close(da, a, 1e-5)
end)

t.test("a barrier of more blocks than are resident here, as a larger GPU has them", function()
  local n, blocks = 500, 300
  local a, b, count = gpu.ones(n), gpu.ones(n), gpu.zeros(1, "uint32")
  if gpu.device().name ~= "simt" then t.skip("it depends on the GPU") end
  k.heat(blocks, 256)(n, 4, count, a, b)
  t.eq(count:item(), 4 * blocks)
end)

t.test("two numbers that are stored at once are seen at once", function()
  local at, torn = gpu.zeros(64, "uint64"), gpu.zeros(1, "int32")
  k.pairs(2, 32)(200000, at, torn)
  t.eq(torn:item(), 0)
end)

t.test("a token that goes round the blocks", function()
  local token, trace = gpu.zeros(1, "int32"), gpu.zeros(12 * 8, "int32")
  k.ring(12, 32)(8, token, trace)
  t.close(trace, t.list(12 * 8, function(i) return 11 - i % 12 end), 0)
end)

t.test("a chained scan of many blocks", function()
  local n = 64 * 300 - 5
  local y, state, sums = gpu.zeros(n, "int32"), gpu.zeros(300, "int32"), gpu.zeros(300, "int32")
  k.scan(300, 64)(n, gpu.ones(n, "int32"), y, state, sums)
  t.eq(y[1], 1)
  t.eq(y[64], 64)
  t.eq(y[65], 65)
  t.eq(y[n], n)
  t.eq(y:sum(), n * (n + 1) // 2)
end)

t.test("a chained scan when few blocks are resident at once", function()
  local blocks = 600
  local n = 64 * blocks
  local x = gpu.ones(n, "int32")
  for _, shared in ipairs { 0, 40000 } do
    for _ = 1, t.brief(3, 1) do
      local y, state, sums = gpu.zeros(n, "int32"), gpu.zeros(blocks, "int32"), gpu.zeros(blocks, "int32")
      k.scan(blocks, 64, { shared = shared })(n, x, y, state, sums)
      t.eq(y[n], n)
      t.eq(y:sum(), n * (n + 1) // 2)
    end
  end
end)

t.test("blocks that look for another's flag between barriers", function()
  local flag, out = gpu.zeros(1, "int32"), gpu.zeros(6 * 96, "int32")
  k.looks(6, 96)(flag, out)
  t.eq(out:sum(), 6 * 96)
end)

t.test("lanes that meet at barriers of different lines while others wait for them", function()
  local out = gpu.zeros(32, "int32")
  k.meeting(1, 32)(out)
  t.close(out, t.list(32, function(i)
    return i < 8 and 10 + i + 100 * (i + 8) or i < 16 and 100 * i or 1
  end), 0)
end)

t.test("lanes that wait for each other in loops of their own", function()
  local turn, out = gpu.array({ 31 }, "int32"), gpu.zeros(32, "int32")
  k.chain(1, 32)(turn, out)
  t.eq(turn:item(), -1)
  t.close(out, t.list(32, function(i) return 7 + i % 4 end), 0)
end)

t.test("consumers that start before their producer", function()
  local n = 1000
  local head, ready, items, got = gpu.zeros(1, "uint32"), gpu.zeros(n, "int32"), gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
  k.queue(6, 64)(n, head, ready, items, got)
  t.close(got, t.list(n, function(i) return i * i + 1 end), 0)
end)

t.test("a lock that the lanes of all warps take", function()
  for _, kernel in ipairs { k.lanes, k.lanes_simple } do
    local lock, count = gpu.zeros(1, "int32"), gpu.zeros(1, "int32")
    kernel(4, 64)(lock, count)
    t.eq(count:item(), 256, kernel.name)
    t.eq(lock:item(), 0)
  end
end)

t.test("two warps take turns", function()
  local out = gpu.zeros(1, "int32")
  k.warps(3, 64)(50, out)
  t.eq(out:item(), 100)
end)

t.test("blocks that wait for one that faulted", function()
  if gpu.device().name ~= "simt" then t.skip("it would cost the context") end
  local never = gpu.zeros(1, "int32")
  t.raises({ "trap", "block (1, 0, 0)" }, function() k.lock_and_trap(4, 64)(never) end)
end)

t.test("grid.sync() of cooperative groups", function()
  local found, cg = pcall(gpu.kernel, [[
#include <cooperative_groups.h>
__global__ void total(int n, const int *x, int *partial, int *out) {
  auto grid = cooperative_groups::this_grid();
  for (int round = 0; round < 3; round++) {
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    partial[grid.thread_rank()] = sum;
    grid.sync();
    if (grid.thread_rank() == 0) {
      for (int i = 0; i < grid.size(); i++) out[round] += partial[i];
    }
    grid.sync();
  }
}
__global__ void valid(int *out) { *out = cooperative_groups::this_grid().is_valid(); }]])
  if not found then t.skip("CUDA's headers are not there") end
  local n, out, partial = 1000, gpu.zeros(3, "int32"), gpu.zeros(8 * 32, "int32")
  cg.total(8, 32, { cooperative = true })(n, gpu.ones(n, "int32"), partial, out)
  t.close(out, { n, n, n }, 0)
  local valid = gpu.zeros(1, "int32")
  cg.valid(1, 32, { cooperative = true })(valid)
  t.eq(valid:item(), 1)
  cg.valid(1, 32, { shared = 16 })(valid)
  t.eq(valid:item(), 0)
  if gpu.device().name ~= "simt" then return end -- it would cost the context
  t.raises({ "needs a cooperative launch" }, function() cg.total(8, 32)(n, gpu.ones(n, "int32"), partial, out) end)
  -- As many as a large GPU holds.
  local threads = 300 * 256
  out, partial = gpu.zeros(3, "int32"), gpu.zeros(threads, "int32")
  cg.total(300, 256, { cooperative = true })(threads, gpu.ones(threads, "int32"), partial, out)
  t.close(out, { threads, threads, threads }, 0)
end)

t.test("a block awaits what all others add, which then end", function()
  local counts = gpu.kernel [[
__global__ void counts(int *count, int *out) {
  if (blockIdx.x) atomicAdd(&count[threadIdx.x % 2], 1);
  else if (threadIdx.x < 2)
    for (volatile int *at = &count[threadIdx.x]; (out[threadIdx.x] = *at) < 32 * (gridDim.x - 1);) {}
}]]
  for blocks = 2, 200, 33 do
    local out = gpu.zeros(2, "int32")
    counts(blocks, 64)(gpu.zeros(2, "int32"), out)
    t.close(out, { 32 * (blocks - 1), 32 * (blocks - 1) }, 0)
  end
end)

t.test("options of a launch are checked", function()
  local count = gpu.zeros(1, "uint32")
  local x = gpu.zeros(1)
  t.raises({ "cooperative grid of 100000 blocks", "resident at once on " }, function()
    k.heat(100000, 64, { cooperative = true })(1, 1, count, x, x)
  end)
  t.raises("has no option 'share'", k.heat, 1, 64, { share = 1 })
  t.raises("cooperative: expected true or false, got number", k.heat, 1, 64, { cooperative = 1 })
  t.raises("shared: expected bytes of shared memory, 0 or more, got -1", k.heat, 1, 64, { shared = -1 })
  t.raises("shared: expected bytes", k.heat, 1, 64, "x")
  t.eq(tostring(k.heat(2, 64, { cooperative = true })):find("cooperative = true", 1, true) ~= nil, true)
end)

t.done()
