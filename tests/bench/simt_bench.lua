-- The software GPU on the kernels of six_kernels.h and course_kernels.h: "build MS" (compiling the six as the first that is
-- compiled, and one small launch), "build_course MS" (then the others), then "NAME BEST MEDIAN" in milliseconds of 9 runs after
-- 2 to warm up; bench_opencl.c prints the same of another engine.
-- With the word "checked" on the six and on those of checked_kernels.cu: "NAME BEST MEDIAN BEST MEDIAN", without checks and with
-- all of them, in turn. With "threads" one line a launch size instead, from one warp on: "COUNT NANOSECONDS" a thread of saxpy.
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
#define EXP expf
]]
local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end
local six, others = prelude .. read "tests/bench/six_kernels.h", prelude .. read "tests/bench/course_kernels.h"
local k
local built = gpu.time(function()
  k = gpu.kernel(six)
  k.saxpy(1, 32)(1, 2, gpu.zeros(1), gpu.zeros(1))
end)

-- What is timed is checked within gpu.check(f) alone.
local function timed(way)
  if type(way) == "function" then return gpu.time(way) end
  local ms
  gpu.check(function() ms = gpu.time(way.checked) end)
  return ms
end

-- Best and median of each of the ways to launch, which take turns.
local function measure(...)
  local ways, out = { ... }, {}
  local times = {}
  for w in ipairs(ways) do times[w] = {} end
  for i = -1, 9 do
    for w, way in ipairs(ways) do
      local ms = timed(way)
      if i > 0 then times[w][i] = ms end
    end
  end
  for _, t in ipairs(times) do
    table.sort(t)
    table.move({ t[1], t[5] }, 1, 2, #out + 1, out)
  end
  return table.unpack(out)
end

if mode == "threads" then
  for _, count in ipairs { 32, 10000, 100000, 1000000, 10000000, 100000000 } do
    local x, y = gpu.zeros(count), gpu.zeros(count)
    local launch, times = k.saxpy((count + 255) // 256, math.min(count, 256)), count < 1000 and 1000 or 1
    local best = measure(function()
      for _ = 1, times do launch(count, 2, x, y) end
    end)
    print(count, best * 1e6 / count / times)
    x:free()
    y:free()
  end
  return
end

local N, n = 1024, 4 << 20
local a, b, c = gpu.rand { n }, gpu.rand { n }, gpu.zeros(n)
local g, bins = (gpu.rand { n } * 256):to("int32"), gpu.zeros(256, "int32")
local tiles, block = { N // 16, N // 16 }, { 16, 16 }
local cases = {
  { "saxpy", function() k.saxpy(n // 256, 256)(n, 2, a, c) end },
  { "tiled_matmul", function() k.tiled_matmul(tiles, block)(a, b, c, N) end },
  { "mandelbrot", function() k.mandelbrot(tiles, block)(c, N, N) end },
  { "block_sum", function() k.block_sum(256, 256)(a, c, n) end },
  { "histogram", function() k.histogram(256, 256)(g, bins, n) end },
  { "transpose", function() k.transpose(tiles, block)(a, c, N) end },
}
if mode ~= "checked" then
  local course
  local then_built = gpu.time(function() course = gpu.kernel(others) end)
  print(("build %.3f\nbuild_course %.3f"):format(built, then_built))
  local rgb, gray = gpu.zeros(3 * 4096 * 256, "uint8"), gpu.zeros(4096 * 256, "uint8")
  local signs, words = gpu.zeros(256 * 256, "int8"), gpu.zeros(1 << 20, "int32")
  table.move({
    { "stencil", function() course.stencil({ 128, 128 }, block)(a, c, 2048) end },
    { "scan", function() course.scan(4096, 256)(a, c) end },
    { "softmax", function() course.softmax(4096, 256)(a, c, 1024) end },
    { "spmv", function() course.spmv(1024, 256)(g, a, b, c) end },
    { "gray", function() course.gray(4096, 256)(rgb, gray) end },
    { "sobel", function() course.sobel(tiles, block)(rgb, gray, N) end },
    { "sigmoid", function() course.sigmoid(4096, 256)(a, c) end },
    { "structs", function() course.structs(4096, 256)(a, c) end },
    { "bitonic", function() course.bitonic(1024, 256)(a, c) end },
    { "hash", function() course.hash(4096, 256)(g, words, 16) end },
    { "matmul_bytes", function() course.matmul_bytes({ 16, 16 }, block)(signs, signs, words, 256) end },
  }, 1, 11, #cases + 1, cases)
  for _, case in ipairs(cases) do print(("%s %.3f %.3f"):format(case[1], measure(case[2]))) end
  return
end

local q = gpu.kernel(read "tests/bench/checked_kernels.cu")
local m, rows = 1 << 20, 1 << 16
local any = (gpu.rand { m } * m):to("int32")
local each = (gpu.rand { m }:argsort() - 1):to("int32")
local before, after = gpu.zeros(n, "uint8"), gpu.zeros(n, "uint8")
local start, column = (gpu.range(0, rows) * 16):to("int32"), (gpu.rand { rows * 16 } * rows):to("int32")
table.move({
  { "stencil_1023", function() q.stencil({ 64, 128 }, { 16, 8 })(a, c, 1023, 1021) end },
  { "gather", function() q.gather(m // 256, 256)(a, any, c, m) end },
  { "scatter", function() q.scatter(m // 256, 256)(a, each, c, m) end },
  { "spmv", function() q.spmv(rows // 256, 256)(start, column, a, b, c, rows) end },
  { "scan", function() q.scan(m // 256, 256)(a, c) end },
  { "exchange", function() q.exchange(m // 256, 256)(a, c) end },
  { "tree_sum", function() q.tree_sum(m // 256, 256)(a, c) end },
  { "shift", function() q.shift(m // 256, 256)(a, c, m) end },
  { "structs", function() q.structs(m // 256, 256)(c) end },
  { "bytes", function() q.bytes(n // 256, 256)(before, after) end },
}, 1, 10, #cases + 1, cases)
for _, case in ipairs(cases) do
  print(("%s %.3f %.3f %.3f %.3f"):format(case[1], measure(case[2], { checked = case[2] })))
end
