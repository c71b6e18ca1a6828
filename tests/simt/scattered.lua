-- Elements of every size that lanes touch here and there, over many pages: who meets whom is known by the indices, and
-- gpu.check must say that, and nothing else, in every run.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n = 20480
local seed = 99
local function random(k)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % k
end
local order = {}
for i = 1, n do order[i] = i - 1 end
for i = n, 2, -1 do
  local j = random(i) + 1
  order[i], order[j] = order[j], order[i]
end
local function index(change)
  local list = table.move(order, 1, n, 1, {})
  if change then change(list) end
  return gpu.array(list, "int32")
end
local each = index()
local met = index(function(p) p[17000] = p[40] end) -- two threads of different blocks
local near = index(function(p) p[34] = p[33] end) -- two lanes of a warp
local few = index(function(p) for i = 1, n do p[i] = p[i] % 700 * 29 end end) -- many threads

local function says(name, found, kinds)
  local all = {}
  for _, r in ipairs(found) do
    local who = { r.access, r.other and r.other.access or "" }
    table.sort(who)
    all[#all + 1] = r.kind .. " " .. table.concat(who, " ")
  end
  t.eq(table.concat(all, ", "), kinds, name)
end

for _, ty in ipairs { { "unsigned char", "uint8" }, { "short", "int16" }, { "int", "int32" }, { "double", "float64" } } do
  local k = gpu.kernel(([==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void put(T *y, const int *p) { y[p[I]] = (T)(I % 100 + 1); }
__global__ void mark(T *y, const int *p) { y[p[I]] = 1; }
__global__ void twice(T *y, const int *p) { y[p[I]] = (T)(I % 50); y[p[I]] += 3; }
__global__ void look(T *y, const int *p, T *out) { out[I] = y[p[I]]; if (I == 77) y[0] = 2; }
__global__ void rows(T *y, const int *p, T *out) { T v = y[I]; if (I % 2) y[p[I]] = v + 1; out[I] = v; }
__global__ void sieve(T *y, int n) { for (int k = 2 * (I + 2); k < n; k += I + 2) y[k] = 1; }]==]):gsub("T", ty[1]) .. "")
  local function found(f) return gpu.check(f) end
  for _, launch in ipairs { { 80, 256 }, { 640, 32 } } do
    local blocks, threads = launch[1], launch[2]
    t.test(("%s by %d threads"):format(ty[1], threads), function()
      local y, out = gpu.zeros(n, ty[2]), gpu.zeros(n, ty[2])
      local function run(name, ...)
        local args = { ... }
        return found(function() k[name](blocks, threads)(y, table.unpack(args)) end)
      end
      says("each its own", run("put", each), "")
      says("two threads", run("put", met), "race write write")
      says("two lanes", run("put", near), "race write write")
      says("the same value by two", run("mark", met), "")
      says("the same value by many", run("mark", few), "")
      says("twice", run("twice", each), "")
      t.eq(#run("twice", met) > 0, true)
      says("read by many", run("look", few, out), "race read write")
      t.eq(#run("rows", each, out) > 0, true)
      local clean = found(function() k.sieve(2, threads)(y, n) end)
      says("a sieve", clean, "")
    end)
  end
end

t.test("atomics", function()
  local k = gpu.kernel [==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void count(int *y, const int *p) { atomicAdd(&y[p[I]], 1); }
__global__ void look(int *y, const int *p, int *out) { atomicAdd(&y[p[I]], 1); if (I == 5000) out[0] = y[p[7]]; }
__global__ void own(int *y, const int *p) { atomicAdd(&y[p[I]], 1); y[p[I]] += 2; }
__global__ void swap(int *y, const int *p, int *out) { out[I] = atomicCAS(&y[p[I]], 0, I + 1); }
__global__ void set(int *y, const int *p) { atomicAdd(&y[p[I]], 1); if (I == 9000) y[p[3]] = 1; }]==]
  local y, out = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
  for _, p in ipairs { each, met, few } do
    says("counts", gpu.check(function() k.count(80, 256)(y, p) end), "")
    says("swaps", gpu.check(function() k.swap(80, 256)(y, p, out) end), "")
    t.eq(#gpu.check(function() k.look(80, 256)(y, p, out) end), 1)
    t.eq(#gpu.check(function() k.set(80, 256)(y, p) end), 1)
  end
  says("one's own", gpu.check(function() k.own(80, 256)(y, each) end), "")
  t.eq(#gpu.check(function() k.own(80, 256)(y, few) end) > 0, true)
  y = gpu.zeros(n, "int32")
  k.count(80, 256)(y, few)
  t.eq(y:sum(), n)
end)

t.done()
