-- Fences of block scope, by gpu.check: they put in order for the threads of their block, whoever runs first, and for no
-- others; those of the device do for all.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local source = [[
// A block whose thread 0 has stored tells others so, or itself.
__device__ unsigned counted; __device__ int lock_word, under_lock;
__global__ void last_block(volatile int *flag, int *data, int *out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x; //last_block 1
    FENCE;
    last = atomicInc(&counted, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = data[threadIdx.x]; //last_block 2
}
__global__ void to_another(volatile int *flag, int *data, int *out) {
  int b = blockIdx.x, other = (b + 1) % gridDim.x;
  if (threadIdx.x == 0) {
    data[b] = b; //to_another 1
    FENCE;
    flag[b] = 1;
  }
  if (threadIdx.x == 32) {
    while (!flag[other]) {}
    FENCE;
    out[b] = data[other]; //to_another 2
  }
}
__global__ void to_its_own(volatile int *flag, int *data, int *out) {
  int b = blockIdx.x;
  if (threadIdx.x == 0) { data[b] = b; FENCE; flag[b] = 1; }
  if (threadIdx.x == 32) { while (!flag[b]) {} FENCE; out[b] = data[b]; }
}
__global__ void by_a_third(volatile int *flag, int *data, int *out) { // who has read it tells the others
  int b = blockIdx.x, other = (b + 1) % gridDim.x;
  if (threadIdx.x == 0) { data[b] = b; __threadfence_block(); flag[b] = 1; }
  if (threadIdx.x == 32) {
    while (!flag[b]) {}
    FENCE;
    flag[gridDim.x + b] = 1;
  }
  if (threadIdx.x == 64) {
    while (!flag[gridDim.x + other]) {}
    out[b] = data[other];
  }
}
__global__ void lock_of_all(volatile int *flag, int *data, int *out) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock_word, 0, 1)) {}
    FENCE;
    under_lock += 1; //lock_of_all 1
    FENCE;
    atomicExch(&lock_word, 0);
  }
}
__global__ void lock_of_block(volatile int *flag, int *data, int *out) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS((int *)flag + blockIdx.x, 0, 1)) {}
    FENCE;
    data[blockIdx.x] += 1;
    FENCE;
    atomicExch((int *)flag + blockIdx.x, 0);
  }
}
__global__ void behind_barrier(volatile int *flag, int *data, int *out) { // what all did before goes with it
  data[64 * blockIdx.x + threadIdx.x % 64] = 1; //behind_barrier 1
  FENCE;
  __syncthreads();
  if (threadIdx.x == 0) flag[blockIdx.x] = 1;
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (!flag[0]) {}
    *out = data[63]; //behind_barrier 2
  }
}
__global__ void behind_warps(volatile int *flag, int *data, int *out) {
  data[128 * blockIdx.x + threadIdx.x] = threadIdx.x; //behind_warps 1
  FENCE;
  __syncwarp();
  if (threadIdx.x == 0) flag[blockIdx.x] = 1;
  if (blockIdx.x == 1 && threadIdx.x == 32) {
    while (!flag[0]) {}
    *out = data[31]; //behind_warps 2
  }
}
__global__ void releases(volatile int *flag, int *data, int *out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = 1; //releases 1
    asm volatile("red.release.SCOPE.global.add.s32 [%0], 1;" :: "l"((int *)flag + blockIdx.x) : "memory");
  }
  if (blockIdx.x == 1 && threadIdx.x == 32) {
    while (!flag[0]) {}
    *out = data[0]; //releases 2
  }
}
]]
local first = {} -- the lines that the comments name
do
  local n = 0
  for line in source:gmatch "(.-)\n" do
    n = n + 1
    local name, which = line:match "//([%w_]+) (%d)"
    if name then first[name .. " " .. which] = n end
  end
end

-- The lines of races that are found with fences, by name, in a launch of so many blocks.
local function found_in(name, fence, scope, blocks)
  local k = gpu.kernel { chunk = "case", line = 1, source = source:gsub("FENCE", fence):gsub("SCOPE", scope) }
  local flag, data, out = gpu.zeros(32, "int32"), gpu.zeros(1024, "int32"), gpu.zeros(64, "int32")
  local found = gpu.check(function() k[name](blocks, 128)(flag, data, out) end)
  local lines = {}
  for i, r in ipairs(found) do
    lines[i] = ("%d %d"):format(math.min(r.line, r.other.line), math.max(r.line, r.other.line))
    assert(r.kind == "race", r.text)
    t.eq(r.hint, "a fence of block scope, such as __threadfence_block(), orders for threads of its own block: others need __threadfence()")
  end
  return table.concat(lines, ", ")
end

local function pair(name)
  local a = first[name .. " 1"]
  return ("%d %d"):format(a, first[name .. " 2"] or a)
end

local names = { "last_block", "to_another", "to_its_own", "by_a_third", "lock_of_all", "lock_of_block", "behind_barrier", "behind_warps", "releases" }
local racing = { last_block = true, to_another = true, lock_of_all = true, behind_barrier = true, behind_warps = true, releases = true }
local DEVICE, BLOCK <const> = "__threadfence()", "__threadfence_block()"
for _, name in ipairs(names) do
  t.test(name .. " with fences of the device", function()
    t.eq(found_in(name, DEVICE, "gpu", 8), "")
    t.eq(found_in(name, BLOCK .. "; " .. DEVICE, "gpu", 8), "")
    t.eq(found_in(name, DEVICE .. "; " .. BLOCK, "gpu", 8), "")
  end)
  t.test(name .. " with fences of the block", function()
    if name == "by_a_third" then -- by the order of what it tells of
      assert(found_in(name, BLOCK, "cta", 8) ~= "")
    elseif name == "releases" then -- of block scope is also where it writes, which another block reads
      local k = gpu.kernel { chunk = "case", line = 1, source = source:gsub("FENCE", DEVICE):gsub("SCOPE", "cta") }
      local flag, data, out = gpu.zeros(32, "int32"), gpu.zeros(1024, "int32"), gpu.zeros(64, "int32")
      local found = gpu.check(function() k[name](8, 128)(flag, data, out) end)
      local of_data = 0
      for _, r in ipairs(found) do of_data = of_data + (r.name == "data" and 1 or 0) end
      t.eq(of_data, 1)
    else
      t.eq(found_in(name, BLOCK, "cta", 8), racing[name] and pair(name) or "")
    end
  end)
end

t.test("one block has nobody else", function()
  for _, name in ipairs { "last_block", "to_its_own", "lock_of_all", "lock_of_block" } do t.eq(found_in(name, BLOCK, "cta", 1), "") end
end)

if not os.getenv("LUNARRAY_THREADS") then
  for _, settings in ipairs { "LUNARRAY_THREADS=1", "LUNARRAY_THREADS=3 LUNARRAY_JIT=0" } do
    t.again("tests/simt/fences.lua", settings, 1)
  end
end

t.done()
