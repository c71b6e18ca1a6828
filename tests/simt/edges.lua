-- Warps of which some lanes are outside of an array's bounds: those inside load and store what is theirs, up to the first
-- and the last byte of an array, and nobody touches what lies beside it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local types = { uint8 = "unsigned char", int8 = "signed char", int16 = "short", int32 = "int", float32 = "float", float64 = "double",
  int64 = "long long" }

local function values(n, m) -- small, as all types have them
  local rows = {}
  for j = 0, m - 1 do
    for i = 0, n - 1 do rows[#rows + 1] = (7 * i + 13 * j) % 23 end
  end
  return rows
end

-- y[j][i] = the four neighbours' sum where there are four, else what was there.
local function neighbours(n, m, blocks, block, name)
  local text = [[__global__ void k(const T *x, T *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= m - 1) return;
    y[j * n + i] = x[j * n + i - 1] + x[j * n + i + 1] + x[(j - 1) * n + i] + x[(j + 1) * n + i];
  }]]
  local k = gpu.kernel((text:gsub("%f[%w]T%f[%W]", types[name])))
  local x = values(n, m)
  local y = gpu.full({ n * m }, 99, name)
  k(blocks, block)(gpu.array(x, name), y, n, m)
  local out = y:totable()
  for j = 0, m - 1 do
    for i = 0, n - 1 do
      local at = j * n + i + 1
      local inside = i > 0 and j > 0 and i < n - 1 and j < m - 1
      local sum = inside and x[at - 1] + x[at + 1] + x[at - n] + x[at + n] or 99
      t.eq(out[at], sum, ("%s, %d x %d, at %d %d"):format(name, n, m, i, j))
    end
  end
end

for name in pairs(types) do
  t.test("edges of a plane of " .. name, function()
    neighbours(35, 21, { 3, 2 }, { 16, 16 }, name)
    neighbours(64, 9, { 1, 9 }, { 64, 1 }, name)
    neighbours(19, 18, { 3, 5 }, { 8, 4 }, name)
    neighbours(33, 5, { 2, 2 }, { 32, 4 }, name)
  end)
end

t.test("any lanes of a row, forwards and in shared memory", function()
  local k = gpu.kernel [[__global__ void k(const int *x, int *y, unsigned mask, int from) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = 5;
    __syncwarp();
    if (mask >> t & 1) { int v = x[t - from]; s[t - from] = v; y[t - from] = v + 1; }
    __syncwarp();
    y[40 + t] = s[t];
  }]]
  local x = {}
  for i = 1, 32 do x[i] = 100 + i end
  for _, mask in ipairs { 0x1, 0x80000000, 0xffff0000, 0xffff, 0x10000, 0x8000, 0x55555550, 0xfffffff0, 0x0ff00000 } do
    local from = 0 -- as far as it goes: the first lane that runs has element 0
    while mask >> from & 1 == 0 do from = from + 1 end
    local y = gpu.full({ 72 }, -1, "int32")
    k(1, 32)(gpu.array(x, "int32"), y, mask, from)
    local out = y:totable()
    for i = 0, 31 do
      local run = mask >> (i + from) & 1 == 1 and i + from < 32
      t.eq(out[i + 1], run and x[i + 1] + 1 or -1, ("mask %x, element %d"):format(mask, i))
      t.eq(out[41 + i], run and x[i + 1] or 5, ("mask %x, shared %d"):format(mask, i))
    end
  end
end)

t.test("a lane outside that runs is a fault of its own, whatever the others do", function()
  local k = gpu.kernel [[__global__ void k(const int *x, int *y, int low, int high) {
    int t = threadIdx.x;
    if (t < low || t >= high) return;
    y[t] = x[t - 4];
  }]]
  local x, y = gpu.zeros({ 28 }, "int32"), gpu.zeros({ 32 }, "int32")
  k(1, 32)(x, y, 4, 32)
  for _, bounds in ipairs { { 3, 32 }, { 3, 4 }, { 0, 20 } } do
    t.raises(("thread (%d, 0, 0)"):format(bounds[1]), function()
      k(1, 32)(x, y, bounds[1], bounds[2])
      gpu.synchronize()
    end)
  end
end)

t.done()
