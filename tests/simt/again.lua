-- Launches that repeat an earlier one: what was found out about that holds for them, and nothing else does. Each case
-- launches one kernel twice or more, where something differs that the checks must not take for the same.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local q = gpu.kernel [=[
__global__ void table(const int *in, int *out) { // by what the memory holds
  __shared__ int s[64];
  int i = threadIdx.x;
  s[i] = 0;
  __syncthreads();
  s[in[i]] = i;
  __syncthreads();
  out[blockIdx.x * 64 + i] = s[63 - i];
}
__global__ void apart(int *x, int by) { x[blockIdx.x * by + threadIdx.x] = threadIdx.x; } // own, if by is no less than 64
__global__ void pairs(int *x, int by) { x[blockIdx.x * by + threadIdx.x / 2] = threadIdx.x; }
__global__ void scatter(const int *p, int *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[p[i]] = i; }
__global__ void last(const int *x, int *out) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void one(int *x) { x[0] = 5; }
__global__ void both(int *x, const int *y) { x[threadIdx.x] = y[63 - threadIdx.x]; }
__global__ void of_block(int *out, int n) { // shared memory, and conditions
  extern __shared__ int s[];
  int i = threadIdx.x;
  if (blockIdx.x * blockDim.x + i < n) s[i] = i; else s[i / 2] = i;
  __syncthreads();
  out[blockIdx.x * blockDim.x + i] = s[blockDim.x - 1 - i];
}
__global__ void wrong(int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[63 - threadIdx.x];
}
__device__ int cell[64];
__global__ void variable(int by) { cell[threadIdx.x * by] = threadIdx.x; }
]=]
local function kinds(f, strict)
  local list = {}
  for i, r in ipairs(gpu.check(f, strict)) do list[i] = r.kind end
  return table.concat(list, ", ")
end
local function twice(want, f, strict)
  for _ = 1, 2 do t.eq(kinds(f, strict), want) end
end

t.test("a table whose elements have changed", function()
  local order, out = gpu.range(0, 63):to("int32"), gpu.zeros(256, "int32")
  local function run() q.table(4, 64)(order, out) end
  twice("", run)
  order[3] = 7
  twice("race", run)
  order[3] = 2
  twice("", run)
end)

t.test("what is wrong is told each time", function()
  local out = gpu.zeros(64, "int32")
  for _ = 1, 4 do t.eq(kinds(function() q.wrong(1, 64)(out) end), "race") end
end)

t.test("numbers, and another kernel of the same source", function()
  local x = gpu.zeros(64 * 8, "int32")
  for _ = 1, 2 do
    twice("", function() q.apart(8, 64)(x, 64) end)
    twice("race", function() q.pairs(8, 64)(x, 64) end)
    twice("race", function() q.apart(8, 64)(x, 63) end)
  end
  for _ = 1, 2 do
    twice("", function() q.variable(1, 64)(1) end)
    twice("race", function() q.variable(1, 64)(0) end)
  end
end)

t.test("sizes of launches", function()
  local cells = gpu.zeros(64 * 8, "int32")
  for _ = 1, 2 do
    twice("", function() q.apart(1, 64)(cells, 63) end)
    twice("", function() q.apart(8, 63)(cells, 63) end)
    twice("race", function() q.apart(8, 64)(cells, 63) end)
  end
  local out = gpu.zeros(1024, "int32")
  twice("", function() q.of_block(4, 64, 256)(out, 256) end)
  twice("race, uninitialized read", function() q.of_block(5, 64, 256)(out, 256) end)
  twice("out of bounds, out of bounds", function() q.of_block(4, 64, 192)(out, 256) end)
  twice("", function() q.of_block(2, 128, 512)(out, 256) end)
  local x = gpu.zeros(64, "int32")
  twice("", function() q.one(1, 1)(x) end)
end)

t.test("arrays of another length at the same address", function()
  local x, out = gpu.zeros(64, "int32"), gpu.zeros(64, "int32")
  twice("", function() q.last(1, 64)(x, out) end)
  twice("out of bounds", function() q.last(1, 64)(x["1:32"], out) end)
  twice("", function() q.last(1, 64)(x, out) end)
  twice("out of bounds", function() q.last(1, 64)(x, out["1:63"]) end)
end)

t.test("a larger allocation at the same address", function()
  local p = gpu.zeros(4096, "int32")
  for turn = 1, 6 do
    local n = turn % 2 == 1 and 4096 or 4096 * 50
    gpu.memory_trim("simt")
    local y = gpu.zeros(n, "int32")
    p:copy_(gpu.random.permutation(n)["1:4096"])
    p:sub_(1)
    twice("", function() q.scatter(16, 256)(p, y) end)
    p[7] = p[6]
    twice("race", function() q.scatter(16, 256)(p, y) end)
    y:free()
  end
end)

t.test("one array in two places", function()
  local x, y = gpu.zeros(64, "int32"), gpu.zeros(64, "int32")
  for _ = 1, 2 do
    twice("", function() q.both(1, 64)(x, y) end)
    twice("race", function() q.both(1, 64)(x, x) end)
  end
end)

t.test("stores of one value", function()
  local x = gpu.zeros(64, "int32")
  for _ = 1, 2 do
    twice("", function() q.one(1, 64)(x) end)
    twice("race", function() q.one(1, 64)(x) end, "strict")
  end
end)

t.test("elements that are written only later", function()
  local x, out = gpu.empty(64, "int32"), gpu.zeros(64, "int32")
  twice("uninitialized read", function() q.last(1, 64)(x, out) end)
  x:fill(1)
  twice("", function() q.last(1, 64)(x, out) end)
end)

t.test("kernels that are compiled anew", function()
  local x = gpu.zeros(64, "int32")
  for turn = 0, 5 do
    local k = gpu.kernel(("__global__ void k(int *x) { x[threadIdx.x / %d] = threadIdx.x; }"):format(1 + turn % 2))
    twice(turn % 2 == 0 and "" or "race", function() k(1, 64)(x) end)
    k = nil
    collectgarbage()
  end
end)

t.test("more launches than are kept", function()
  local x = gpu.zeros(64 * 64, "int32")
  for _ = 1, 2 do
    for by = 40, 80 do t.eq(kinds(function() q.apart(8, 64)(x, by) end), by < 64 and "race" or "") end
  end
end)

t.done()
