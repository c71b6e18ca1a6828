-- Atomics of block scope, by gpu.check: those of several blocks at one place are a race, whichever came first and however
-- they are written; those of one block, and those that something orders, are none.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- KERNEL(name, { ... }): the kernel of that name, in which the block `first` comes before the other.
local source = [[
#define SET(f, v) asm volatile("st.relaxed.cta.global.s32 [%0], %1;" ::"l"(f), "r"(v) : "memory")
#define GET(v, f) asm volatile("ld.relaxed.cta.global.s32 %0, [%1];" : "=r"(v) : "l"(f) : "memory")
#define FIRST(go, first) if (blockIdx.x != (first)) while (!*(volatile int *)(go)) {}
#define DONE(go, first) __syncthreads(); if (blockIdx.x == (first)) *(volatile int *)(go) = 1
KERNEL(one, { atomicAdd_block(&x[0], 1); })
KERNEL(two, {
  if (blockIdx.x == 0)
    atomicMax_block(&x[5], 1);
  else
    atomicAdd(&x[5], 1);
})
KERNEL(by_looks, {
  if (blockIdx.x == 0)
    atomicAdd_block(&x[5], 1);
  else
    y[threadIdx.x] = *(volatile int *)&x[5];
})
KERNEL(looks_of_a_block, {
  int v;
  if (blockIdx.x == 0)
    atomicAdd(&x[5], 1);
  else {
    GET(v, &x[5]);
    y[threadIdx.x] = v;
  }
})
KERNEL(stores, {
  if (blockIdx.x == 0)
    SET(&x[9], 3);
  else
    atomicExch(&x[9], 4);
})
KERNEL(wide, { atomicAdd_block((unsigned long long *)&z[threadIdx.x / 32], 1ull); })
KERNEL(tries, {
  int seen = x[64 + threadIdx.x];
  while (true) {
    int was = atomicCAS_block(&x[3], seen, seen + 1);
    if (was == seen) break;
    seen = was;
  }
})
KERNEL(third_of_few, { if (threadIdx.x < 3) atomicAdd_block(&x[threadIdx.x], 1); })
KERNEL(upper_warp_first, {
  __shared__ int s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  if (threadIdx.x < 32) while (!*(volatile int *)s) {}
  atomicAdd_block(&x[0], 1);
  if (threadIdx.x >= 32) *(volatile int *)s = 1;
})
KERNEL(own, { atomicAdd_block(&x[blockIdx.x], 1); })
KERNEL(own_and_all, {
  atomicAdd_block(&x[blockIdx.x], 1);
  atomicAdd(&x[10], 1);
})
KERNEL(of_device, { atomicAdd(&x[5], 1); atomicAdd_block(&x[16 + blockIdx.x], 1); })
KERNEL(only_looks, {
  int v;
  GET(v, &x[5]);
  y[64 * blockIdx.x + threadIdx.x] = v;
  atomicAdd_block(&x[16 + blockIdx.x], 1);
})
KERNEL(in_shared, {
  __shared__ int s[1];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  atomicAdd_block(&s[0], 1);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
})
__global__ void handed(int *x, long long *z, int *y, int *go, int first) {
  if (blockIdx.x == first) {
    atomicAdd_block(&x[0], 1);
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); atomicExch(&go[1], 1); }
  } else {
    if (threadIdx.x == 0) { while (!*(volatile int *)&go[1]) {} __threadfence(); }
    __syncthreads();
    atomicAdd_block(&x[0], 1);
  }
}
__global__ void handed_late(int *x, long long *z, int *y, int *go, int first) {
  if (blockIdx.x == first) {
    if (threadIdx.x == 0) { __threadfence(); atomicExch(&go[1], 1); }
    __syncthreads();
    atomicAdd_block(&x[0], 1);
  } else {
    if (threadIdx.x == 0) { while (!*(volatile int *)&go[1]) {} __threadfence(); }
    __syncthreads();
    atomicAdd_block(&x[0], 1);
  }
}
__global__ void handed_in_part(int *x, long long *z, int *y, int *go, int first) {
  if (blockIdx.x == first) {
#pragma unroll 1
    for (int round = 0; round < 2; round++) {
      atomicAdd_block(&x[0], 1); // the second is handed to nobody
      if (round == 0) __syncthreads();
      if (round == 0 && threadIdx.x == 0) { __threadfence(); atomicExch(&go[1], 1); }
    }
    *(volatile int *)go = 1;
  } else {
    if (threadIdx.x == 0) { while (!*(volatile int *)&go[1]) {} __threadfence(); while (!*(volatile int *)go) {} }
    __syncthreads();
    atomicAdd_block(&x[0], 1);
  }
}
]]
local all = gpu.kernel { chunk = "case", line = 1, source = source:gsub("KERNEL%(([%w_]+), (%b{})%)",
  "__global__ void %1(int *x, long long *z, int *y, int *go, int first) { FIRST(go, first) %2 DONE(go, first); }") }

-- What is found, a line each without counts, whichever of two blocks comes first.
local function texts(name, first)
  local x, z, y = gpu.zeros(128, "int32"), gpu.zeros(8, "int64"), gpu.zeros(128, "int32")
  local lines = {}
  for i, r in ipairs(gpu.check(function() all[name](2, 64)(x, z, y, gpu.zeros(2, "int32"), first) end)) do
    lines[i] = ("%s; blocks %d and %d"):format((r.message:gsub(" in line %d+", "")), r.block.x, r.other.block.x)
    if name == "upper_warp_first" then t.eq(r.thread.x + r.other.thread.x, 0, "not the lowest threads") end
    assert(r.kind == "race" and r.hint:find("thread_scope_device", 1, true), r.text)
  end
  return table.concat(lines, "\n")
end
local function case(name, want)
  for first = 0, 1 do
    t.test(name .. (first == 0 and "" or ", the other block first"), function()
      t.eq(texts(name, first), type(want) == "function" and want(first) or want)
    end)
  end
end
local SEVERAL = "%s updated by an atomic by several blocks, though its scope is a block; blocks 0 and 1"
local ANOTHER = "%s %s here and %s by another block, though the scope of one of them is a block; blocks %d and %d"
local ADDED = "updated by an atomic"
case("one", SEVERAL:format("x[0]"))
case("two", ANOTHER:format("x[5]", ADDED, ADDED, 0, 1))
case("by_looks", ANOTHER:format("x[5]", ADDED, "read", 0, 1))
case("looks_of_a_block", ANOTHER:format("x[5]", ADDED, "read", 0, 1))
case("stores", ANOTHER:format("x[9]", "written", ADDED, 0, 1))
case("wide", SEVERAL:format("z[0]"))
case("tries", SEVERAL:format("x[3]"))
case("third_of_few", SEVERAL:format("x[0]"))
case("upper_warp_first", SEVERAL:format("x[0]"))
case("handed_late", function(first) return ANOTHER:format("x[0]", ADDED, ADDED, first, 1 - first) end)
case("handed_in_part", function(first) return ANOTHER:format("x[0]", ADDED, ADDED, first, 1 - first) end)
for _, name in ipairs { "own", "own_and_all", "of_device", "only_looks", "in_shared", "handed" } do case(name, "") end

t.test("one block has nobody to race with", function()
  local x, y, go = gpu.zeros(128, "int32"), gpu.zeros(128, "int32"), gpu.zeros(2, "int32")
  t.eq(#gpu.check(function() all.one(1, 64)(x, gpu.zeros(8, "int64"), y, go, 0) end), 0)
  t.eq(x[1], 64)
end)

if not os.getenv("LUNARRAY_THREADS") then
  for _, settings in ipairs { "LUNARRAY_THREADS=1", "LUNARRAY_THREADS=3 LUNARRAY_JIT=0" } do
    t.again("tests/simt/scopes.lua", settings, 25)
  end
end

t.done()
