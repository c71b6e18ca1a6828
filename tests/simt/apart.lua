-- Lanes that have left a loop, and those that are still in it: who waits for whom.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
gpu.check(false)

local k = gpu.kernel [[
// Row w is 1 and the sum of up to 32 rows before it, by a warp whose lanes wait for one row each and then add up as
// warps did before __syncwarp: they must have come together again. A block's last rows are begun first.
__global__ void rows(int n, volatile int *ready, volatile unsigned *x) {
  __shared__ volatile unsigned s[256];
  int t = threadIdx.x, lane = t % 32, w = blockIdx.x * blockDim.x / 32 + (blockDim.x - 1 - t) / 32, from = w - 1 - 3 * (31 - lane);
  if (w >= n) return;
  unsigned sum = 0;
  for (bool there = from < 0; !there;) {
    if (ready[from]) {
      __threadfence();
      sum = x[from];
      there = true;
    }
  }
  s[t] = sum;
  for (int d = 16; d > 0; d /= 2)
    if (lane < d) s[t] += s[t + d];
  if (lane == 0) {
    x[w] = (s[t] + 1) % 1009;
    __threadfence();
    ready[w] = 1;
  }
}
__global__ void lock(int *taken, volatile int *count) {
  while (atomicCAS(taken, 0, 1) != 0) {}
  __threadfence();
  *count += 1;
  __threadfence();
  atomicExch(taken, 0);
}
__global__ void lock_twice(int *taken, volatile int *count) {  // left by a branch ahead, and asked for again
  for (int k = 0; k < 2; k++) {
    while (true) {
      if (atomicCAS(taken, 0, 1) == 0) break;
      __nanosleep(20);
    }
    __threadfence();
    *count += 1;
    __threadfence();
    atomicExch(taken, 0);
  }
}
__global__ void chain(volatile int *ready, int *order, int *next) {  // each lane waits for the one before it
  int i = blockIdx.x * 32 + threadIdx.x;
  if (threadIdx.x) while (!ready[i - 1]) {}
  __threadfence();
  order[i] = atomicAdd(&next[blockIdx.x], 1);
  __threadfence();
  ready[i] = 1;
}
__global__ void chain_shared(int *looks) {
  __shared__ volatile int next;
  int lane = threadIdx.x, n = 0;
  if (lane == 0) next = 0;
  __syncthreads();
  while (next != lane) n++;
  __threadfence_block();
  next = lane + 1;
  looks[lane] = n;
}
__device__ int look(const int *p) {  // no wait that could be told from a computation
  int v;
  asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__global__ void mixed(int *taken, volatile int *count, int *done) {
  if (threadIdx.x >= 32) {
    while (!look(done)) {}
    return;
  }
  while (atomicCAS(taken, 0, 1) != 0) {}
  __threadfence();
  *count += 1;
  if (*count == 32) *(volatile int *)done = 1;
  __threadfence();
  atomicExch(taken, 0);
}
]]

local function zeros(n) return gpu.zeros(n, "int32") end

for _, n in ipairs { 7, 300, 3000 } do
  t.test(("lanes meet behind a loop in which they waited for other warps: %d rows"):format(n), function()
    local ready, x = zeros(n), gpu.zeros(n, "uint32")
    k.rows((n + 7) // 8, 256)(n, ready, x) -- as a race, checks tell it: below
    local want = {}
    for w = 1, n do
      local sum = 1
      for lane = 0, 31 do sum = sum + (want[w - 1 - 3 * lane] or 0) end
      want[w] = sum % 1009
    end
    t.same(x:totable(), want)
  end)
end

for _, d in ipairs { { 1, 32 }, { 3, 32 }, { 4, 160 } } do
  local threads = d[1] * d[2]
  t.test(("a lock that lanes of one warp take, one after the other: %d blocks of %d"):format(d[1], d[2]), function()
    local taken, count = zeros(1), zeros(1)
    k.lock(d[1], d[2])(taken, count)
    t.eq(count[1], threads)
    k.lock_twice(d[1], d[2])(taken, count)
    t.eq(count[1], 3 * threads)
  end)
end

t.test("lanes that wait for the one before them", function()
  local ready, order, next = zeros(5 * 32), zeros(5 * 32), zeros(5)
  k.chain(5, 32)(ready, order, next)
  t.eq((order:reshape(5, 32) - gpu.range(0, 31)):abs():max(), 0)
end)

t.test("the same through shared memory, soon", function()
  local looks = zeros(32)
  k.chain_shared(1, 32)(looks)
  t.eq(looks[1], 0)
  assert(looks:min() >= 0 and looks:max() < 20000, "so often looked lane 31: " .. looks[32])
end)

t.test("a lock beside a warp that reads without end", function()
  local taken, count, done = zeros(1), zeros(1), zeros(1)
  k.mixed(1, 64)(taken, count, done)
  t.eq(count[1], 32)
end)

t.test("the sum of a warp that does not synchronise is a race", function()
  local found = gpu.check(function() k.rows(1, 96)(3, zeros(3), gpu.zeros(3, "uint32")) end)
  t.eq(found[1].kind, "race")
  t.eq(found[1].name:match("^s"), "s")
end)

t.done()
