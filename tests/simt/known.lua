-- What a thread comes to know by flags and by meetings is its own: not what lanes beside it know, that read another flag in
-- the same instruction, nor what it told of before, when there was another fence, nor less where lanes meet those that
-- they met last.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local clean = t.clean

local k = gpu.kernel(dofile("tests/simt/shared/mbarriers.lua") .. [=[
#define SAY(i) (*(volatile int *)&flag[i] = 1)
#define AWAIT(i) while (!*(volatile int *)&flag[i]) {}
#define HALF (0xffffu << (threadIdx.x & 16))
#define TOGETHER() __ballot_sync(0xffffffff, 1) // which orders nothing
__device__ void release(int *data, int *flag, int i) {
  data[i] = i + 1;
  __threadfence();
  atomicExch(&flag[i], 1);
}
__global__ void two_flags(int *data, int *flag, int *out) { // the last lane reads another one than those before it
  if (blockIdx.x < 2) {
    if (threadIdx.x == 0) release(data, flag, blockIdx.x);
    return;
  }
  int i = threadIdx.x == 31;
  AWAIT(i);
  __threadfence();
  out[threadIdx.x] = data[i];
}
__global__ void one_flag(int *data, int *flag, int *out) { // of one, whose last reader knows of another
  if (blockIdx.x < 2) {
    if (threadIdx.x == 0) release(data, flag, blockIdx.x);
    return;
  }
  bool last = threadIdx.x == 31;
  if (last) AWAIT(1);
  TOGETHER();
  AWAIT(0);
  __threadfence();
  out[threadIdx.x] = data[0] + (last ? data[1] : 0);
}
__global__ void used_again(int *data, int *flag, int *out) { // flags of one fence, each cleared by who waited for it
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    for (int i = 0; i < 3; i++) atomicExch(&flag[i], 1);
    return;
  }
  for (int i = 0; i < 3; i++)
    while (atomicAdd(&flag[i], 0) == 0) {}
  __threadfence();
  for (int i = 0; i < 3; i++) flag[i] = 0;
  *out = data[0];
}
__global__ void one_of_two(int *data, int *flag, int *out) { // flags by one line, of which one is waited for
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    __threadfence();
    for (int i = 1; i >= 0; i--) SAY(i);
    return;
  }
  AWAIT(0);
  for (int i = 0; i < 2; i++) flag[i] = 0; // the second one behind nothing
}
__global__ void waits_long(int *data, int *flag, int *out) { // for a flag that another block stores to by the way
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    AWAIT(1);
    *out = data[0];
    return;
  }
  for (int i = 0; i < 1000; i++) SAY(2);
  flag[1] = 0; // behind nothing
  for (int i = 0; i < 1000; i++) SAY(2);
  release(data, flag, 0);
  SAY(1);
}
__global__ void looks_twice(int *data, int *flag, int *out) { // by one instruction, on both sides of a fence
  if (threadIdx.x) return;
  if (blockIdx.x == 1) {
    AWAIT(1);
    flag[0] = 1; // the second look is behind nothing
    return;
  }
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    sum += *(volatile int *)&flag[0];
    __threadfence();
    SAY(1 + i);
  }
  *out = sum;
}
// A fence, then more comes to be known, by a meeting or a phase, then the flag: it says nothing of that.
__device__ void two_flags_of(int *data, int *flag) {
  if (threadIdx.x) return;
  __threadfence();
  SAY(2);
  release(data, flag, 0);
}
__device__ void reads_flag(int *data, int *flag, int *out) {
  if (threadIdx.x) return;
  AWAIT(1);
  *out = data[0]; // behind nothing
}
__global__ void fence_and_meeting(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) return two_flags_of(data, flag);
  if (blockIdx.x == 2) return reads_flag(data, flag, out);
  if (threadIdx.x == 0) { AWAIT(2); __threadfence(); }
  if (threadIdx.x == 1) AWAIT(0);
  __syncwarp();
  if (threadIdx.x == 0) SAY(1);
}
__global__ void fence_and_phase(int *data, int *flag, int *out) {
  __shared__ u64 bar;
  if (blockIdx.x == 0) return two_flags_of(data, flag);
  if (blockIdx.x == 2) return reads_flag(data, flag, out);
  if (threadIdx.x == 0) begin(&bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) { AWAIT(2); __threadfence(); wait(&bar, 0); SAY(1); }
  if (threadIdx.x == 32) {
    AWAIT(0);
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(&bar)) : "memory");
  }
}
__global__ void fence_before_phase(int *data, int *flag, int *out) { // of all the block: what came before goes with it
  __shared__ u64 bar;
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) { AWAIT(1); *out = data[0]; }
    return;
  }
  if (threadIdx.x == 0) begin(&bar, 64);
  __syncthreads();
  if (threadIdx.x == 32) { data[0] = 1; __threadfence(); SAY(0); }
  if (threadIdx.x == 0) { AWAIT(0); __threadfence(); }
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(&bar)) : "memory");
  wait(&bar, 0);
  if (threadIdx.x == 0) SAY(1);
}
__global__ void others_knew(int *data, int *flag, int *out) { // and this block's threads do not
  if (threadIdx.x) return;
  if (blockIdx.x == 0) return release(data, flag, 0);
  int sum = 0;
  if (blockIdx.x == 1) {
    AWAIT(0);
    sum += data[0]; // more than once, as the second time it is less to look at
    __threadfence();
    sum += data[0];
    __threadfence();
  }
  out[blockIdx.x] = sum + data[0]; // or behind nothing
}
__global__ void two_fences(int *data, int *flag, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      data[i] = i + 1;
      __threadfence();
      SAY(i);
    }
    return;
  }
  AWAIT(1);
  __threadfence();
  *out = data[0] + data[1];
}
__global__ void fence_of_block(int *data, int *flag, int *out) { // between the flags, by a barrier behind others' fences
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data[0] = 1;
      __threadfence();
      SAY(0);
    } else {
      data[threadIdx.x] = 2;
    }
    if (threadIdx.x) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) SAY(1);
    return;
  }
  if (threadIdx.x) return;
  AWAIT(1);
  __threadfence();
  *out = data[0] + data[1];
}
__global__ void fence_of_warp(int *data, int *flag, int *out) { // the same by a warp's
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data[0] = 1;
      __threadfence();
      SAY(0);
    } else {
      data[threadIdx.x] = 2;
      __threadfence();
    }
    __syncwarp();
    if (threadIdx.x == 0) SAY(1);
    return;
  }
  if (threadIdx.x) return;
  AWAIT(1);
  __threadfence();
  *out = data[0] + data[1];
}
__global__ void fence_of_half(int *data, int *flag, int *out) { // the same by halves of warps, of many blocks
  int last = gridDim.x - 1, lane = threadIdx.x;
  if (blockIdx.x < last) {
    data[blockIdx.x * 32 + lane] = 1;
    __threadfence();
    __syncwarp(HALF);
    if (lane % 16 == 0) SAY(2 * blockIdx.x + lane / 16);
    return;
  }
  int sum = 0;
  for (int i = 0; i < 2 * last; i++) {
    AWAIT(i);
    __threadfence();
    sum += data[i * 16 + (lane & 15)];
  }
  out[lane] = sum;
}
__global__ void flag_of_half(int *data, int *flag, int *out) { // one lane of each half waits, all of them read
  int lane = threadIdx.x;
  if (blockIdx.x == 0) {
    if (lane == 0) release(data, flag, 0);
    return;
  }
  for (int i = 0; i < 2; i++) __syncwarp(HALF);
  if (lane % 16 == 0) AWAIT(0);
  TOGETHER();
  __syncwarp(HALF);
  out[32 * blockIdx.x + lane] = data[0];
}
__global__ void phase_of_half(int *out) { // the same by an mbarrier
  __shared__ u64 bar;
  __shared__ int s[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) begin(&bar, 32);
  __syncthreads();
  if (threadIdx.x >= 32) {
    s[lane] = lane;
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(&bar)) : "memory");
    return;
  }
  for (int i = 0; i < 2; i++) __syncwarp(HALF);
  if (lane % 16 == 0) wait(&bar, 0);
  TOGETHER();
  __syncwarp(HALF);
  out[32 * blockIdx.x + lane] = s[31 - lane];
}
__global__ void read_again(int *x, int *out) { // before and behind a meeting, and written then
  int lane = threadIdx.x, half = lane / 16;
  for (int i = 0; i < 2; i++) __syncwarp(HALF);
  int sum = lane % 16 == 1 ? x[half] : 0;
  __syncwarp(HALF);
  if (lane % 16 == 1) sum += x[half];
  if (lane % 16 == 0) x[half] = 1;
  out[32 + lane] = sum;
}
// Of many blocks of 32 the last one's lanes 0 and 1 race before they meet; what lanes of others knew is over. `unclear`:
// lanes race behind, so that the block is gone through once more.
__global__ void last_races(int unclear, int *out) {
  __shared__ int s[64];
  int lane = threadIdx.x;
  out += 64 * blockIdx.x;
  if (blockIdx.x == gridDim.x - 1) {
    if (lane == 0) s[32] = 1;
    if (lane == 1) out[32] = s[32]; // behind nothing
  }
  for (int i = 0; i < 20; i++) {
    s[lane] = i;
    __syncwarp(HALF);
    out[lane] += s[lane ^ 1];
    __syncwarp(HALF);
  }
  if (unclear && lane < 2) s[40] = lane;
}
__global__ void one_half_meets(const unsigned *masks, int *out) { // and the other one does not
  __shared__ int s[32];
  int lane = threadIdx.x;
  unsigned mask = masks[lane / 16];
  for (int i = 0; i < 2; i++) __syncwarp(mask);
  s[lane] = lane;
  if (lane < 16) __syncwarp(mask);
  out[lane] = s[lane ^ 1]; // in the upper half behind nothing
}
]=])

local function ints(n) return gpu.zeros(n, "int32") end
local function all(n, value, last) return t.list(n, function(l) return l == n - 1 and last or value end) end
local function run(name, n, blocks, threads)
  local out = ints(n)
  k[name](blocks, threads or 32)(ints(1024), ints(64), out)
  return out
end
clean("the last lane's flag is another one", all(32, 1, 2), function() return run("two_flags", 32, 3) end)
clean("the last lane knows more than the others", all(32, 1, 3), function() return run("one_flag", 32, 3) end)
clean("flags of one fence that are used again", { 7 }, function() return run("used_again", 1, 2) end)
clean("two flags, a fence before each", { 3 }, function() return run("two_fences", 1, 2) end)
clean("two flags, between them a barrier behind fences", { 3 }, function() return run("fence_of_block", 1, 2, 64) end)
clean("two flags, between them a meeting behind fences", { 3 }, function() return run("fence_of_warp", 1, 2) end)
clean("halves of warps of many blocks, behind fences", all(32, 12), function() return run("fence_of_half", 32, 7) end)
clean("a flag for half a warp", t.list(64, function(i) return i // 32 end), function() return run("flag_of_half", 64, 2) end)
clean("an mbarrier for half a warp", t.list(128, function(i) return 31 - i % 32 end), function()
  local out = ints(128)
  k.phase_of_half(4, 64)(out)
  return out
end)
clean("a fence, then a phase of the whole block", { 1 }, function() return run("fence_before_phase", 1, 2, 64) end)
-- Is there a race where the source says so, and how many others?
local function races(name, others, f)
  t.test(name, function()
    for _ = 1, 2 do
      local told, count = false, 0
      for _, r in ipairs(gpu.check(f)) do
        count = count + 1
        told = told or r.text:find("behind nothing", 1, true) ~= nil
      end
      t.eq(told, true)
      t.eq(count, others + 1)
    end
  end)
end
races("what lanes of other blocks knew is over", 0, function() k.last_races(16, 32)(0, ints(1024)) end)
races("and where they were gone through once more", 1, function() k.last_races(16, 32)(1, ints(1024)) end)
races("of two flags one that nobody waited for", 0, function() run("one_of_two", 1, 2) end)
races("what comes to be known by a meeting behind the fence", 0, function() run("fence_and_meeting", 1, 3) end)
races("what comes to be known by a phase behind the fence", 0, function() run("fence_and_phase", 1, 3, 64) end)
races("what a block before knew", 0, function() run("others_knew", 3, 3) end)
races("a flag that is looked at again behind a fence", 0, function() run("looks_twice", 1, 2) end)
races("a flag that is stored to while it is waited for", 0, function() run("waits_long", 1, 2) end)
races("half of a warp that does not meet", 0, function()
  k.one_half_meets(1, 32)(gpu.array({ 0xffff, 0xffff0000 }, "uint32"), ints(32))
end)
t.test("what is read again behind a meeting races", function()
  for _ = 1, 2 do
    local found = gpu.check(function() k.read_again(1, 32)(ints(2), ints(64)) end)
    t.eq(#found > 0, true)
  end
end)

t.done()
