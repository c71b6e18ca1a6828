-- Lanes that part, some of which write what others may read: gpu.check finds a race just where threads touch an element
-- that another one writes, as a model of the launch counts them, and leaves results as they are.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local kernels = gpu.kernel [[
  __global__ void far(const int *c, int *x, int *y, int stride, int from, int step, int start) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (c[i]) x[stride * i + from] = i;
    else y[i] = x[step * i + start];
  }
  __global__ void near(const int *c, const int *x, int *y, int stride, int from, int step, int start) {
    __shared__ int s[320];
    int i = threadIdx.x;
    for (int k = i; k < 320; k += blockDim.x) s[k] = x[k];
    __syncthreads();
    if (c[i]) s[stride * i + from] = i;
    else y[i] = s[step * i + start];
  }
]]

-- Two stretches of indices that threads 0 to n - 1 have, in an array of 320.
local places = {
  { 1, 0 }, { 1, 1 }, { 1, 17 }, { 2, 0 }, { 2, 1 }, { 2, 64 }, { -1, 100 }, { -2, 255 }, { 3, 5 }, { 0, 200 }, { 1, 96 },
}
local conditions = {
  function(i) return i % 2 == 0 end,
  function(i) return i % 3 == 1 end,
  function(i) return i * 2654435761 % 4294967296 // 65536 % 2 == 1 end,
  function(i) return i % 32 > 20 end,
  function(i) return i % 32 == 7 end,
}

-- Does any thread touch what another writes? And what the threads read, where none does.
local function model(n, condition, w, r)
  local writer, seen, race = {}, {}, false
  for i = 0, n - 1 do
    if condition(i) then
      local at = w[1] * i + w[2]
      race = race or writer[at] ~= nil
      writer[at] = i
    end
  end
  for i = 0, n - 1 do
    local at = r[1] * i + r[2]
    race = race or (not condition(i) and writer[at] ~= nil)
    seen[i + 1] = condition(i) and -1 or 1000 + at
  end
  return race, seen, writer
end

local function try(name, grid, block)
  local n, races = grid * block, 0
  for which, condition in ipairs(conditions) do
    local mask = {}
    for i = 0, n - 1 do mask[i + 1] = condition(i) and 1 or 0 end
    local c = gpu.array(mask, "int32")
    for _, w in ipairs(places) do
      for _, r in ipairs(places) do
        local x, y = gpu.range(1000, 1319):to "int32", gpu.full({ n }, -1, "int32")
        local race, seen, writer = model(n, condition, w, r)
        local found = gpu.check(function() kernels[name](grid, block)(c, x, y, w[1], w[2], r[1], r[2]) end)
        local what = ("%s, condition %d, writes %d i + %d, reads %d i + %d"):format(name, which, w[1], w[2], r[1], r[2])
        t.eq(#found > 0, race, what)
        for _, report in ipairs(found) do t.eq(report.kind, "race", what) end
        if race then
          races = races + 1
        else
          t.eq(table.concat(y:totable(), " "), table.concat(seen, " "), what)
          local after = x:totable()
          for at, i in pairs(name == "far" and writer or {}) do t.eq(after[at + 1], i, what) end
        end
      end
    end
  end
  assert(races > 100 and races < #conditions * #places * #places - 50, races)
end

t.test("races of lanes that parted in global memory are those of the model", function() try("far", 3, 32) end)
t.test("races of lanes that parted in shared memory are those of the model", function() try("near", 1, 96) end)

t.test("a lane that parted and goes past the end is told", function()
  local k = gpu.kernel [[__global__ void k(const int *c, int *x, int *y) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = i;
    __syncthreads();
    if (c[i]) y[i] = s[i + 3] + x[i + 2];
  }]]
  local odd, x, y = {}, gpu.ones({ 64 }, "int32"), gpu.zeros({ 64 }, "int32")
  for i = 0, 63 do odd[i + 1] = i % 2 end
  local c = gpu.array(odd, "int32")
  local places_told = {}
  for _, r in ipairs(gpu.check(function() k(1, 64)(c, x, y) end)) do
    t.eq(r.kind, "out of bounds")
    places_told[#places_told + 1] = ("%s[%d] %d"):format(r.name, r.index, r.count)
  end
  table.sort(places_told)
  t.eq(table.concat(places_told, ", "), "s[64] 2, x[65] 1")
end)
