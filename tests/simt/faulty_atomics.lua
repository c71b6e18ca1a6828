-- Atomics beside plain accesses, by gpu.check: the same is found whichever thread comes first. Kernels with `first` make one
-- block or warp wait for the other by a volatile flag, which puts nothing in order.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local source = [[
#define FIRST(who, first, go) if ((who) != (first)) while (!*(go)) {}
#define DONE(who, first, go) if ((who) == (first)) *(go) = 1
__global__ void read_after_own(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  atomicAdd(x, 1); //read_after_own 1
  if (who == 0) out[threadIdx.x] = *x; //read_after_own 2
  DONE(who, first, go);
}
__global__ void write_before_own(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  if (who == 0 && threadIdx.x == 0) *x = 5; //write_before_own 1
  atomicAdd(x, 1); //write_before_own 2
  DONE(who, first, go);
}
__global__ void read_before_own(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  if (who == 0) out[threadIdx.x] = *x; //read_before_own 2
  atomicMax(x, 1); //read_before_own 1
  DONE(who, first, go);
}
__global__ void read_before_barrier(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  if (who == 0 && threadIdx.x == 0) out[0] = *x; //read_before_barrier 2
  __syncthreads();
  if (threadIdx.x == 1) atomicAdd(x, 1); //read_before_barrier 1
  DONE(who, first, go);
}
__global__ void guess_and_swap(int *x, int first, volatile int *go, int *out) {  // an update begins with a plain read
  int who = blockIdx.x;
  FIRST(who, first, go);
  for (int i = 0; i < 2; i++) {
    int old = x[i * threadIdx.x], seen;
    do {
      seen = old;
      old = atomicCAS(x + i * threadIdx.x, seen, seen * 2 + 1);
    } while (seen != old);
  }
  DONE(who, first, go);
}
__global__ void guess_from_elsewhere(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  if (who == 0) {
    int seen = x[1]; //guess_from_elsewhere 2
    atomicCAS(x, seen, 7);
  } else {
    atomicAdd(x + 1, 1); //guess_from_elsewhere 1
  }
  DONE(who, first, go);
}
__global__ void guess_that_is_kept(int *x, int first, volatile int *go, int *out) {
  int who = blockIdx.x;
  FIRST(who, first, go);
  int old = *x; //guess_that_is_kept 2
  if (who == 0) out[threadIdx.x] = old;
  else atomicAdd(x, old + 1); //guess_that_is_kept 1
  DONE(who, first, go);
}
__global__ void in_shared(int *x, int first, volatile int *go, int *out) {
  __shared__ int s, flag;
  int who = threadIdx.x / 32;
  if (threadIdx.x == 0) s = flag = 0;
  __syncthreads();
  FIRST(who, first, (volatile int *)&flag);
  if (threadIdx.x % 32 == 0) atomicAdd(&s, 1); //in_shared 1
  if (threadIdx.x == 0) out[0] = s; //in_shared 2
  DONE(who, first, (volatile int *)&flag);
}
// By warps of which the first runs first: it is `who` or the other one. Waiting for a flag would be looked at in another way.
__global__ void warp_behind_zero(int *x, int first, volatile int *go, int *out) {  // for all of its warp, not for the other
  __shared__ int s;
  int who = threadIdx.x / 32 ^ first, lane = threadIdx.x % 32;
  if (who == 0 && lane == 0) s = 0; //warp_behind_zero 1
  __syncwarp();
  atomicAdd(&s, 1); //warp_behind_zero 2
  __syncthreads();
  out[threadIdx.x] = s;
}
__global__ void lanes_behind_zero(int *x, int first, volatile int *go, int *out) {
  __shared__ int s;
  int who = threadIdx.x / 32 ^ first, lane = threadIdx.x % 32;
  if (who == 0 && lane == 0) s = 0; //lanes_behind_zero 1
  if (lane < 8) __syncwarp(255);
  if (lane < 8 || who) atomicAdd(&s, 1); //lanes_behind_zero 2
  __syncthreads();
  out[threadIdx.x] = s;
}
__global__ void behind_own_zero(int *x, int first, volatile int *go, int *out) {  // of a lane that has met some
  __shared__ int s;
  int who = threadIdx.x / 32 ^ first, lane = threadIdx.x % 32;
  if (lane < 8) __syncwarp(255);
  if (who == 0 && lane == 0) s = 0; //behind_own_zero 1
  if (who || lane == 0) atomicAdd(&s, 1); //behind_own_zero 2
  __syncthreads();
  out[threadIdx.x] = s;
}
__global__ void warps_behind_zero(int *x, int first, volatile int *go, int *out) {  // two of three
  __shared__ int s;
  int warp = threadIdx.x / 32, who = first ? 2 - warp : warp;
  if (who == 0 && threadIdx.x % 32 == 0) s = 0; //warps_behind_zero 1
  if (who < 2) asm volatile("bar.sync 3, 64;" ::: "memory");
  if (who > 0) atomicAdd(&s, 1); //warps_behind_zero 2
  __syncthreads();
  if (warp < 2) out[threadIdx.x] = s;
}
__global__ void zero_of_each_warp(int *x, int first, volatile int *go, int *out) {
  __shared__ int s[2];
  int who = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) s[who] = 0;
  __syncwarp();
  atomicAdd(&s[who], 1);
  atomicAdd(&s[who], 1);
  __syncwarp();
  out[threadIdx.x] = s[who];
  __syncwarp();
  if (threadIdx.x % 32 < 8) atomicAdd(&s[who], 1);
  __syncthreads();
  atomicAdd(&s[1 - who], 1);
}
__global__ void no_barrier_behind_zero(int *x, int first, volatile int *go, int *out) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 0; //no_barrier_behind_zero 1
  atomicAdd(&s, 1); //no_barrier_behind_zero 2
  __syncthreads();
  out[threadIdx.x] = s;
}
__global__ void read_by_the_last(int *x, int first, volatile int *go, int *out) {
  if (blockIdx.x) return;
  atomicAdd(x, 1); //read_by_the_last 1
  if (threadIdx.x == 31) out[0] = *x; //read_by_the_last 2
}
__global__ void counted_and_read(int *x, int first, volatile int *go, int *out) {
  for (int i = 0; i < 4; i++) atomicAdd(&x[threadIdx.x % 2], 1); //counted_and_read 1
  if (threadIdx.x == 5 && blockIdx.x == first) out[0] = x[1]; //counted_and_read 2
}
__global__ void last_without_fence(int *x, int first, volatile int *go, int *out) {
  if (threadIdx.x == 0 && atomicAdd(x, 1) == gridDim.x - 1) //last_without_fence 2
    *x = 0; //last_without_fence 1
}
__global__ void last_with_fence(int *x, int first, volatile int *go, int *out) {
  if (threadIdx.x) return;
  __threadfence();
  if (atomicAdd(x, 1) == gridDim.x - 1) *x = 0;
}
__global__ void zero_and_barrier(int *x, int first, volatile int *go, int *out) {
  __shared__ int s;
  if (threadIdx.x == 0) s = x[blockIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s, 1);
  atomicAdd(&x[blockIdx.x], 1);
  __syncthreads();
  out[threadIdx.x] = s;
  if (threadIdx.x == 5) x[blockIdx.x] = 0;
}
__global__ void of_one_thread(int *x, int first, volatile int *go, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 1;
  atomicAdd(&x[i], 2);
  x[i] += 1;
  if (atomicExch(&x[i], 7) == 4) x[i] = 8;
}
__global__ void told_of_too_early(int *x, int first, volatile int *go, int *out) {  // the fence is before both atomics
  if (threadIdx.x) return;
  if (blockIdx.x == first) {
    __threadfence();
    atomicAdd(x, 1); //told_of_too_early 1
    atomicExch((int *)go, 1);
  } else {
    while (!atomicAdd((int *)go, 0)) {}
    __threadfence();
    out[0] = *x; //told_of_too_early 2
  }
}
__global__ void told_of_in_time(int *x, int first, volatile int *go, int *out) {
  int *flag = (int *)go;
  if (threadIdx.x) return;
  if (blockIdx.x == first) {
    atomicAdd(x, 1);
    __threadfence();
    atomicAdd(x + 1, 1);
    atomicExch(flag, 1);
  } else {
    while (!atomicAdd(flag, 0)) {}
    __threadfence();
    out[0] = *x + *flag;
    *flag = 0;
  }
}]]
local k = gpu.kernel { source = source, chunk = "case", line = 1 }

local function marked(kernel, n)
  local at = source:find("//" .. kernel .. " " .. n .. "\n", 1, true)
  return at and 1 + select(2, source:sub(1, at):gsub("\n", ""))
end

local function launch(kernel, first, threads)
  return gpu.check(function() k[kernel](2, threads or 64)(gpu.zeros(128, "int32"), first, gpu.zeros(1, "int32"), gpu.zeros(64, "int32")) end)
end

-- `want`: what the threads of the lines marked 1 and 2 do.
local function faulty(kernel, want, threads)
  t.test((kernel:gsub("_", " ")), function()
    for first = 0, 1 do
      local found = launch(kernel, first, threads)
      local seen = {}
      for i, r in ipairs(found) do seen[i] = ("%s %s %d, %s %d"):format(r.kind, r.access, r.line, r.other and r.other.access, r.other and r.other.line) end
      t.eq(table.concat(seen, "; "), ("race %s %d, %s %d"):format(want[1], marked(kernel, 1), want[2], marked(kernel, 2)), "with " .. first .. " first")
      t.eq(found[1].message:find("updated by an atomic", 1, true) ~= nil, true, found[1].message)
    end
  end)
end
local function clean(kernel)
  t.test((kernel:gsub("_", " ")) .. " is right", function()
    for first = 0, 1 do
      local found = launch(kernel, first)
      t.eq(#found, 0, found[1] and found[1].message)
    end
  end)
end

faulty("read_after_own", { "atomic", "read" })
faulty("write_before_own", { "write", "atomic" })
faulty("read_before_own", { "atomic", "read" })
faulty("read_before_barrier", { "atomic", "read" })
faulty("in_shared", { "atomic", "read" })
faulty("warp_behind_zero", { "write", "atomic" })
faulty("lanes_behind_zero", { "write", "atomic" })
faulty("behind_own_zero", { "write", "atomic" })
faulty("warps_behind_zero", { "write", "atomic" }, 96)
faulty("no_barrier_behind_zero", { "write", "atomic" })
faulty("read_by_the_last", { "atomic", "read" })
faulty("counted_and_read", { "atomic", "read" })
faulty("last_without_fence", { "write", "atomic" })
faulty("told_of_too_early", { "atomic", "read" })
clean("told_of_in_time")
clean("last_with_fence")
clean("zero_and_barrier")
clean("zero_of_each_warp")
clean("of_one_thread")
clean("guess_and_swap")
faulty("guess_from_elsewhere", { "atomic", "read" })
faulty("guess_that_is_kept", { "atomic", "read" })

-- A thread adds once more by the very line and in the same stretch of time, and what was read in between, behind all that was
-- added before, is not behind that.
local twice = gpu.kernel [=[
__global__ void adds_again(int *x, volatile int *go, int *out, int reads) {
  if (blockIdx.x) {
    __threadfence();
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
      if (k && blockIdx.x > 1) break;
      atomicAdd(x, 1);
      if (blockIdx.x == 1 && !k) while (!*go) {}
    }
  } else {
    while (*(volatile int *)x < gridDim.x - 1) {}
    int v = 0; // the compiler would take what it knows from above
    if (reads) asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(x) : "memory");
    out[0] = v;
    *go = 1;
  }
}]=]
t.test("an addition that comes again behind a read", function()
  for reads = 0, 1 do
    local found = gpu.check(function()
      twice.adds_again(5, 1)(gpu.zeros(1, "int32"), gpu.zeros(1, "int32"), gpu.zeros(1, "int32"), reads)
    end)
    t.eq(#found, reads, found[1] and found[1].text)
    if reads == 1 then t.eq(found[1].kind .. " " .. found[1].access .. " " .. found[1].other.access, "race atomic read") end
  end
end)

t.done()
