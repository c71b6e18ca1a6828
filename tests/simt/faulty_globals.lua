-- Variables of a module under checks: who races for their elements, and what lies beyond them.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

t.test("the checks know a variable as they know an array", function()
  local v = gpu.kernel [=[
    __device__ int cells[64];
    __global__ void by_two_ways(int *p) {
      if (threadIdx.x == 0) p[1] = 1;
      if (threadIdx.x == 40) cells[1] = 2;
    }
    __global__ void by_name() { cells[threadIdx.x] = threadIdx.x; }
    __global__ void overlaps() { cells[threadIdx.x / 2] = threadIdx.x; }
    __global__ void looks_up(const int *p) { cells[p[threadIdx.x]] = threadIdx.x; }
    __global__ void how_far(const int *x, long long *far) { *far = x - cells; }
    __global__ void strays(int *x, long long far) {
      if (threadIdx.x == 0) cells[far] = 1;
      else x[threadIdx.x] = 2;
    }
    __global__ void adds() { atomicAdd(&cells[threadIdx.x % 2], 1); }
    __global__ void adds_and_reads(int *y) {
      atomicAdd(&cells[threadIdx.x % 2], 1);
      y[threadIdx.x] = cells[0];
    }]=]
  local function kinds(f, ...)
    local list = {}
    for _, r in ipairs(gpu.check(f, ...)) do list[#list + 1] = r.kind .. " " .. r.name end
    return table.concat(list, ", ")
  end
  local cells, x, far = v:global "cells", gpu.zeros(64, "int32"), gpu.zeros(1, "int64")
  local twice = gpu.range(0, 63):to("int32")
  t.eq(kinds(function() v.by_name(1, 64)() end), "")
  t.eq(kinds(function() v.looks_up(1, 64)(twice) end), "")
  twice[40] = 7
  t.eq(kinds(function() v.looks_up(1, 64)(twice) end), "race cells")
  t.eq(kinds(function() v.overlaps(1, 64)() end), "race cells")
  t.eq(kinds(function() v.by_two_ways(1, 64)(cells) end), "race cells")
  t.eq(kinds(function() v.by_two_ways(1, 64)(x) end), "")
  v.how_far(1, 1)(x, far)
  x:fill(0)
  t.eq(kinds(function() v.strays(1, 64)(x, far[1] + 5) end), "out of bounds cells") -- though an array is there
  t.eq(x[6], 2)
  t.eq(kinds(function() v.adds(2, 64)() end), "")
  t.eq(kinds(function() v.adds_and_reads(1, 64)(x) end), "race cells")
end)

t.done()
