-- Lanes at places that are looked up, and that are side by side in some warps and nearly so in others: a vector may be
-- loaded or stored only where they are, and where all of them run. (Rows that each lane goes through are in sparse.lua.)
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n = 24 * 32
-- What the lanes of warp w look up, lanes counted from 0.
local patterns = {
  in_order = function(w, lane) return 32 * w + lane end,
  swapped = function(w, lane) return 32 * w + (lane == 14 and 15 or lane == 15 and 14 or lane) end,
  ends_in_order = function(w, lane) return 32 * w + (lane == 0 and 0 or lane == 31 and 31 or 31 - lane) end,
  first_half = function(w, lane) return 32 * w + (lane < 16 and lane or 47 - lane) end,
  reversed = function(w, lane) return 32 * w + 31 - lane end,
  one_place = function(w) return 32 * w end,
  shifted = function(w, lane) return (32 * w + lane + 5) % n end,
  mixed = function(w, lane) return 32 * w + (w % 3 == 2 and 31 - lane or lane) end,
}

local function listed(y) return table.concat(y:totable(), " ") end

for _, kind in ipairs { { "float", "float32" }, { "double", "float64" }, { "int", "int32" }, { "short", "int16" } } do
  local source = ([==[
__global__ void get(const int *p, const T *x, T *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[p[i] + 3]; }
__global__ void put(const int *p, const T *x, T *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[p[i] + 3] = x[i]; }
__global__ void some(const int *p, const T *x, T *y, unsigned bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (bits >> (i & 31) & 1) y[p[i] + 3] = x[p[i] + 3] + (T)1;
}]==]):gsub("%f[%w]T%f[%W]", kind[1])
  local k = gpu.kernel(source)
  local x, none = gpu.range(1, n + 3):to(kind[2]), gpu.zeros(n + 3, kind[2]):totable()
  local xs = x:totable()
  for name, where in pairs(patterns) do
    local at, loaded, stored = {}, {}, table.move(none, 1, n + 3, 1, {})
    for i = 1, n do
      at[i] = where((i - 1) // 32, (i - 1) % 32)
      loaded[i], stored[at[i] + 4] = xs[at[i] + 4], xs[i]
    end
    local p = gpu.array(at, "int32")
    local function test(what, block, body)
      t.test(("%s of %s, blocks of %d: %s"):format(name, kind[1], block, what), function() body(n // block) end)
    end
    for _, block in ipairs { 256, 32 } do
      test("loads", block, function(grid)
        local y = gpu.zeros(n, kind[2])
        k.get(grid, block)(p, x, y)
        t.eq(listed(y), table.concat(loaded, " "))
      end)
      if name == "one_place" then break end -- who stores there last is nobody's to say
      test("stores", block, function(grid)
        local y = gpu.zeros(n + 3, kind[2])
        k.put(grid, block)(p, x, y)
        t.eq(listed(y), table.concat(stored, " "))
      end)
      test("by some lanes", block, function(grid)
        for _, bits in ipairs { 0xffffffff, 0x7fffffff, 0x0000ffff, 0x55555555, 0x80000001, 1 } do
          local y, want = gpu.zeros(n + 3, kind[2]), table.move(none, 1, n + 3, 1, {})
          k.some(grid, block)(p, x, y, bits)
          for i = 1, n do
            if bits >> ((i - 1) % 32) & 1 == 1 then want[at[i] + 4] = xs[at[i] + 4] + 1 end
          end
          t.eq(listed(y), table.concat(want, " "), ("%x"):format(bits))
        end
      end)
    end
  end
end

t.test("a loop that lanes begin and leave apart", function()
  local k = gpu.kernel [==[
extern "C" __global__ void strides(const float *x, float *y, int n, const int *from)
{
    float s = 0;
    for (int i = from[threadIdx.x]; i < n; i += blockDim.x) s += x[i];
    y[threadIdx.x] = s;
}]==]
  for _, count in ipairs { 1024, 1000, 257, 31, 5120 } do
    local x, from = gpu.range(1, count):to("float32"), gpu.range(0, 255):to("int32")
    local y = gpu.zeros(256)
    k.strides(1, 256)(x, y, count, from)
    local want = {}
    for lane = 1, 256 do
      want[lane] = 0.0
      for i = lane, count, 256 do want[lane] = want[lane] + i end
    end
    t.eq(listed(y), table.concat(want, " "), count)
  end
end)

t.test("places beyond the array's end are still an error", function()
  local k = gpu.kernel [==[extern "C" __global__ void get(const int *p, const float *x, float *y)
{
    y[threadIdx.x] = x[p[threadIdx.x]];
}]==]
  local x, y = gpu.ones(64), gpu.zeros(32)
  local fine, far = gpu.range(32, 63):to("int32"), gpu.range(33, 64):to("int32")
  for _ = 1, 3 do k.get(1, 32)(fine, x, y) end
  t.eq(y:sum(), 32.0)
  local found = gpu.check(function() for _ = 1, 3 do k.get(1, 32)(far, x, y) end end)
  t.eq(found[1].kind, "out of bounds")
end)
t.done()
