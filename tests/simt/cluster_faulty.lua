-- What checks tell of the blocks of a cluster that touch each other's shared memory, and of look-alikes that are right.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)

local test, run = reports.clusters([[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;]], [[
(int *x, int *out) {
  __shared__ int s[64];
  __shared__ unsigned char bytes[64];
  cg::cluster_group c = cg::this_cluster();
  unsigned me = threadIdx.x, rank = c.block_rank(), n = c.num_blocks(), next = (rank + 1) % n;]])

local function check(k)
  local x, out = gpu.range(1, 512):to("int32"), gpu.zeros(512, "int32")
  return gpu.check(function() k(8, 64, { cluster = 4 })(x, out) end), out
end

local start = "cluster.sync() is missing before the first access to other blocks"
local finish = "a block's shared memory goes when it ends: cluster.sync() is missing behind the last access of others"
local between = "blocks of a cluster meet at cluster.sync() (barrier.cluster.arrive and .wait), which is missing"

-- Each finding as {kind, line, line of the other or nil, the start of the message, hint}.
local function faulty(name, source, wanted)
  test(name, source, function(k)
    local found = check(k)
    for i, w in ipairs(wanted) do
      local f = found[i]
      assert(f, "no finding " .. i .. ": " .. tostring(found))
      t.eq(f.kind, w[1], tostring(found))
      t.eq(f.line, w[2])
      t.eq(f.other and f.other.line, w[3])
      t.eq(f.message:sub(1, #w[4]), w[4])
      t.eq(f.hint, w[5])
      if w[1] == "race" then assert(f.block.x // 4 == f.other.block.x // 4 and f.space == "shared") end
    end
    t.eq(#found, #wanted, tostring(found))
  end)
end

local function clean(name, source, want)
  test(name, source, function(k)
    local found, out = check(k)
    t.eq(#found, 0, tostring(found))
    if want then t.same(out:totable(), t.list(512, want)) end
  end)
end

-- ---- what is wrong ----
faulty("another block's memory before it is known to have started", [[
c.map_shared_rank(s, next)[me] = 1;
c.sync();
out[blockIdx.x * 64 + me] = s[me];]], { { "block not running", 1, nil, "s[0] of another block written here, which may not have started yet", start } })

faulty("what a block writes at its start and others update", [[
s[me] = 0;
atomicAdd(c.map_shared_rank(s, next) + me, 1);
c.sync();
out[blockIdx.x * 64 + me] = s[me];]], { { "race", 1, 2, "s[0] written here and updated by an atomic in line 2", between .. " between lines 1 and 2" } })

faulty("no barrier between what others write and the reading of it", [[
c.sync();
c.map_shared_rank(s, next)[me] = me;
out[blockIdx.x * 64 + me] = s[me];
c.sync();]], { { "race", 2, 3, "s[0] written here and read in line 3 by another thread", between .. " between lines 2 and 3" } })

faulty("no barrier between what others read and the writing of it", [[
s[me] = me;
c.sync();
out[blockIdx.x * 64 + me] = c.map_shared_rank(s, next)[me];
s[me] = 0;
c.sync();]], { { "race", 4, 3, "s[0] written here and read in line 3 by another thread", between .. " between lines 3 and 4" } })

faulty("a barrier of the block where one of the cluster is wanted", [[
bytes[me] = rank;
c.sync();
c.map_shared_rank(bytes, next)[me] = me;
__syncthreads();
out[blockIdx.x * 64 + me] = bytes[63 - me];
c.sync();]], { { "race", 3, 5, "bytes[0] written here and read in line 5 by another thread", between .. " between lines 3 and 5" } })

faulty("several blocks that write in one place", [[
c.sync();
c.map_shared_rank(s, 0)[me] = rank;
c.sync();
out[blockIdx.x * 64 + me] = rank ? 0 : s[me];]], { { "race", 2, 2, "s[0] written by several threads", "let one thread write, or use an atomic function such as atomicAdd" } })

faulty("a histogram that is read too early", [[
s[me] = 0;
c.sync();
int v = x[blockIdx.x * 64 + me];
atomicAdd(c.map_shared_rank(s, v % 4) + v / 4 % 64, 1);
out[blockIdx.x * 64 + me] = s[me];
c.sync();]], { { "race", 4, 5, "s[0] updated by an atomic here and read in line 5", between .. " between lines 4 and 5" } })

faulty("a block that ends while others read its memory", [[
s[me] = me;
c.sync();
out[blockIdx.x * 64 + me] = c.map_shared_rank(s, next)[me];]], { { "block not running", 3, 4, "s[0] of another block read here, which may have ended in line 4 by then", finish } })

faulty("one block that reads for long", [[
s[me] = me;
c.sync();
if (rank == 3)
  for (int i = 0; i < 50; i++) out[blockIdx.x * 64 + me] += c.map_shared_rank(s, 0)[(me + i) % 64];]],
  { { "block not running", 4, 5, "s[49] of another block read here", finish } })

faulty("an index beyond the other block's array", [[
c.sync();
c.map_shared_rank(s, next)[me + 1] = me;
c.sync();]], { { "out of bounds", 2, nil, "s[64] written, s has 64", "the last element is s[63]: is it < where it says <=, or is a check of the index missing?" } })

faulty("what the other block never wrote", [[
if (me) s[me] = me;
c.sync();
out[blockIdx.x * 64 + me] = c.map_shared_rank(s, next)[me];
c.sync();]], { { "uninitialized read", 3, nil, "s[0] read, but never written",
  "shared memory begins without values: a thread has to write each element before the barrier in front of the read" } })

test("global memory without the cluster's barrier", [[
out[blockIdx.x * 64 + me] = me;
x[blockIdx.x * 64 + me] += out[blockIdx.x / 4 * 256 + next * 64 + me];]], function(k)
  local found = check(k)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
  t.eq(found[1].name, "out")
end)

-- ---- what is right ----
clean("global memory behind the cluster's barrier", [[
out[blockIdx.x * 64 + me] = me;
c.sync();
x[blockIdx.x * 64 + me] += out[blockIdx.x / 4 * 256 + next * 64 + me];]], function(i) return i % 64 end)

clean("rounds of writing and reading", [[
for (int round = 0; round < 3; round++) {
  c.sync();
  c.map_shared_rank(s, (rank + round) % n)[me] = round * 100 + me;
  c.sync();
  out[blockIdx.x * 64 + me] += s[63 - me];
}]], function(i) return 300 + 3 * (63 - i % 64) end)

clean("the barrier in two halves, and threads that go before it", [[
if (rank == 1 && me >= 32) return;
s[me] = me;
auto token = c.barrier_arrive();
int v = me * 2;
c.barrier_wait(std::move(token));
out[blockIdx.x * 64 + me] = v + (rank == 1 ? c.map_shared_rank(s, 0)[me] : 0);
c.sync();]], function(i)
  local rank, me = i // 64 % 4, i % 64
  return rank == 1 and (me >= 32 and 0 or 3 * me) or 2 * me
end)

clean("the own memory by its rank, and one value by all", [[
c.map_shared_rank(s, rank)[me] = me;
c.sync();
if (me == 0) c.map_shared_rank(s, 0)[5] = 77;
c.sync();
out[blockIdx.x * 64 + me] = s[me];]], function(i) return i % 256 == 5 and 77 or i % 64 end)

clean("atomics of all blocks, read behind the barrier", [[
s[me] = 0;
c.sync();
for (int r = 0; r < n; r++) atomicAdd(c.map_shared_rank(s, r) + me, r + 1);
c.sync();
out[blockIdx.x * 64 + me] = s[me];]], function(i) return 4 * (i // 64 % 4 + 1) end)

clean("a flag in another block's memory", [[
__shared__ int flag;
if (me == 0) flag = 0;
s[me] = 0;
c.sync();
if (rank == 1) {
  c.map_shared_rank(s, 0)[me] = me + 1;
  __syncthreads();
  if (me == 0) { __threadfence(); atomicExch(c.map_shared_rank(&flag, 0), 1); }
}
if (rank == 0) {
  if (me == 0) { while (atomicAdd(&flag, 0) == 0) {} __threadfence(); }
  __syncthreads();
  out[blockIdx.x * 64 + me] = s[me];
}
c.sync();]], function(i) return i // 64 % 4 == 0 and i % 64 + 1 or 0 end)

run()
t.done()
