-- Barriers of a grid to which some threads never come: the launch fails instead of waiting for ever; and such as are only late.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU would wait for ever

local k = gpu.kernel { chunk = "case", line = 1, source = [=[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void within_if(float *a, float *b, int n, int steps) {
  int i = cg::this_grid().thread_rank();
  for (int s = 0; s < steps; s++) {
    if (i > 0 && i < n - 1) {
      b[i] = 0.5f * (a[i - 1] + a[i + 1]);
      cg::this_grid().sync();                                                     // line 8
    }
    float *c = a; a = b; b = c;
  }
}
__global__ void some_return(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i]++;
  cg::this_grid().sync();                                                         // line 17
  x[n - 1 - i]++;
}
__global__ void once_more(int *x) {
  cg::this_grid().sync();
  for (int i = 0; i <= blockIdx.x; i++) cg::this_grid().sync();                   // line 22
}
__global__ void late(int *x, volatile int *go, int turns) {
  auto grid = cg::this_grid();
  if (blockIdx.x == 1 && threadIdx.x == 0)
    for (int i = 0; i < turns; i++) x[1] = x[1] * 3 + i;
  if (blockIdx.x == 2 && threadIdx.x == 0) {
    while (!*go) {}
    atomicAdd(x, 1);
  }
  if (blockIdx.x == 3 && threadIdx.x == 0) *go = 1;
  grid.sync();
  if (grid.thread_rank() == 0) x[2] = x[0];
}
__global__ void sleeps(int *x, long long clocks) {
  long long since = clock64();
  if (blockIdx.x == 1) while (clock64() - since < clocks) __nanosleep(100);
  x[blockIdx.x] = 1;
  cg::this_grid().sync();
  if (threadIdx.x == 0 && blockIdx.x != 1) x[blockIdx.x] += x[1];
}]=] }
local together <const> = { cooperative = true }

local function stuck(name, message, launch)
  t.test(name, function()
    for _, checks in ipairs { false, true } do
      local before = gpu.check(checks)
      local ok, e = pcall(launch)
      gpu.check(before)
      t.eq(ok, false, "it fails")
      for _, part in ipairs { message, "all threads of a grid must come to its barrier, equally often", "in kernel" } do
        t.eq(tostring(e):find(part, 1, true) ~= nil, true, ("%s in %s"):format(part, e))
      end
    end
    t.eq(gpu.ones(3):sum(), 3.0) -- and the session goes on
  end)
end

local function zeros(n) return gpu.zeros(n, "int32") end

stuck("within a condition that a block's first thread misses", ":8: deadlock: 7 of the grid's 8 blocks wait here", function()
  k.within_if(8, 128, together)(gpu.zeros(1024), gpu.zeros(1024), 1024, 10)
end)
stuck("behind the return of whole blocks", ":17: deadlock: 3 of the grid's 5 blocks wait here", function()
  k.some_return(5, 64, together)(zeros(160), 160)
end)
stuck("more often in some blocks", ":22: deadlock: 299 of the grid's 300 blocks wait here", function() k.once_more(300, 32, together)(zeros(1)) end)

t.test("what checks found until then is told, too", function()
  local found = gpu.check(function() k.within_if(8, 128, together)(gpu.zeros(1024), gpu.zeros(1024), 1024, 10) end)
  local kinds = {}
  for i, r in ipairs(found) do kinds[i] = r.kind end
  t.eq(kinds[#kinds], "fault", table.concat(kinds, ", "))
  t.eq(table.concat(kinds, ", "):find("barrier divergence", 1, true) ~= nil, true, table.concat(kinds, ", "))
  local before = gpu.check(true)
  t.raises({ "deadlock", "until then:", "barrier divergence" }, function()
    k.within_if(8, 128, together)(gpu.zeros(1024), gpu.zeros(1024), 1024, 10)
  end)
  gpu.check(before)
end)

t.test("blocks that come late are awaited", function()
  for _, turns in ipairs { 0, t.brief(3000000, 300000) } do
    local x, go = zeros(3), zeros(1)
    k.late(6, 64, together)(x, go, turns)
    t.eq(x[3], 1)
  end
  local x, go = zeros(3), zeros(1)
  t.eq(#gpu.check(function() k.late(6, 64, together)(x, go, 20000) end), 0)
  t.eq(x[3], 1)
end)

t.test("a block that sleeps is awaited", function()
  local x = zeros(4)
  k.sleeps(4, 64, together)(x, 200000000)
  t.eq(x[1] + x[4], 4)
end)

if not os.getenv("LUNARRAY_THREADS") then
  for threads = 1, 3, 2 do t.again("tests/simt/grid_waits.lua", "LUNARRAY_TEST_BRIEF=1 LUNARRAY_THREADS=" .. threads, 1) end
end

t.done()
