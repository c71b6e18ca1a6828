-- The software GPU on the kernels of six_kernels.h: "build MS" (compiling, and one small launch), then "NAME BEST MEDIAN" in milliseconds of 9 runs after 2
-- to warm up; bench_opencl.c prints the same of another engine. With the word "checked" all checks are on.
-- With "threads" one line a launch size instead: "COUNT NANOSECONDS" a thread of saxpy.
local gpu = gpu or require "lunarray"
local mode = ...

local prelude = [[
#define KERNEL __global__
#define GLOBAL
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define ATOMIC_ADD atomicAdd
#define THREAD_X threadIdx.x
#define THREAD_Y threadIdx.y
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_DIM_X blockDim.x
#define BLOCK_DIM_Y blockDim.y
#define GRID_DIM_X gridDim.x
]]
local file <close> = assert(io.open("tests/bench/six_kernels.h"))
local began = os.clock()
local k = gpu.kernel(prelude .. file:read "a")
k.saxpy(1, 32)(1, 2, gpu.zeros(1), gpu.zeros(1))
local built = (os.clock() - began) * 1e3

local function measure(launch)
  local times = {}
  for i = -1, 9 do
    local ms = gpu.time(launch)
    if i > 0 then times[i] = ms end
  end
  table.sort(times)
  return times[1], times[5]
end

if mode == "threads" then
  for _, count in ipairs { 10000, 100000, 1000000, 10000000, 100000000 } do
    local x, y = gpu.zeros(count), gpu.zeros(count)
    local best = measure(function() k.saxpy((count + 255) // 256, 256)(count, 2, x, y) end)
    print(count, best * 1e6 / count)
    x:free()
    y:free()
  end
  return
end
if mode == "checked" then gpu.check(true) end

local N, n = 1024, 4 << 20
local a, b, c = gpu.rand { n }, gpu.rand { n }, gpu.zeros(n)
local g, bins = (gpu.rand { n } * 256):to("int32"), gpu.zeros(256, "int32")
local tiles, block = { N // 16, N // 16 }, { 16, 16 }
local cases = {
  { "saxpy", function() k.saxpy(n // 256, 256)(n, 2, a, c) end },
  { "matmul", function() k.tiled_matmul(tiles, block)(a, b, c, N) end },
  { "mandelbrot", function() k.mandelbrot(tiles, block)(c, N, N) end },
  { "block_sum", function() k.block_sum(256, 256)(a, c, n) end },
  { "histogram", function() k.histogram(256, 256)(g, bins, n) end },
  { "transpose", function() k.transpose(tiles, block)(a, c, N) end },
}
print(("build %.3f"):format(built))
for _, case in ipairs(cases) do print(("%s %.3f %.3f"):format(case[1], measure(case[2]))) end
