-- What of an array counts as written, for reads that find it uninitialized: what array operations set, and no more.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n = 4096
local k = gpu.kernel [[
__global__ void copy(const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i];
}]]

-- How many elements a kernel finds unwritten, and the first of them.
local function unwritten(x)
  local found = gpu.check(function() k(n // 256, 256)(x, gpu.empty(n)) end)
  assert(#found <= 1)
  if #found == 0 then return 0 end
  t.eq(found[1].kind, "uninitialized read")
  return found[1].count, found[1].index
end

local function case(name, count, first, write)
  t.test(name, function()
    for _ = 1, 2 do -- the second time, there were checks before the array
      local x = gpu.empty(n)
      write(x)
      local missing, from = unwritten(x)
      t.eq(missing, count)
      t.eq(from, first)
    end
  end)
end

t.test("an allocation that is used again is unwritten", function()
  for _ = 1, 8 do -- before the first checks, from which on freed memory is kept for a while
    local x = gpu.empty(n)
    x["1:1000"] = 1
    x = nil
    collectgarbage()
  end
  local x = gpu.empty(n)
  x["1:10"] = 1
  t.eq(unwritten(x), n - 10)
end)
case("nothing is written", n, 0, function() end)
case("the first part is", n - 1000, 1000, function(x) x["1:1000"] = 1 end)
case("the last part is", 1000, 0, function(x) x["1001:4096"] = 1 end)
case("parts that follow one another are", 96, 4000, function(x)
  x["1001:2000"] = 1
  x["2001:4000"] = x["1001:2000"]:tile(2)
  x["1:1500"] = 2
end)
case("parts that make up the whole are", 0, nil, function(x)
  x["2049:4096"] = 1
  x["1:2048"] = 1
end)
case("parts that lie apart are", n - 150, 33, function(x)
  x["1:33"] = 1
  x["101:200"] = 1
  x["4080:4096"] = 1
end)
case("parts that lie apart make up the whole", 0, nil, function(x)
  x["1:1"] = 1
  x["3:4096"] = 1
  x[2] = 1
end)
case("elements in reverse are, with what lies between them", n - 101, 0, function(x) x["201:101:-10"] = 1 end)
case("all but one is", 1, 65, function(x)
  x["1:65"] = 1
  x["67:4096"] = 1
end)
t.test("what a kernel writes is added to what was written before", function()
  local fill = gpu.kernel "__global__ void fill(float *x) { x[threadIdx.x + 500] = 1; }"
  local x = gpu.empty(n)
  x["1:200"] = 1
  gpu.check(function() fill(1, 256)(x) end)
  t.eq(unwritten(x), n - 200 - 256)
end)
t.done()
