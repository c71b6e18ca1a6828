-- Bulk copies to several blocks of a cluster: in each the memory is written until a thread of that block, or one that comes
-- behind it, has waited for the phase of the block's own mbarrier.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)
local mbarriers = dofile("tests/simt/shared/mbarriers.lua")

-- Two clusters of four blocks; the thread 0 of the first block of each copies.
local test, run = reports.clusters(mbarriers .. [[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void expect(u64 *bar) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(at(bar)) : "memory");
}
__device__ void arrive_at(u64 *bar, int rank) {
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }"
    :: "r"(at(bar)), "r"(rank) : "memory");
}
#define COPY(to, from, bar, blocks) asm volatile("{ .reg .b16 m; cvt.u16.u32 m, %4; " \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], m; }" \
  :: "r"(at(to)), "l"(from), "r"(256), "r"(at(bar)), "r"(blocks) : "memory")]], [[
(float *x, float *out) {
  __shared__ alignas(128) float s[2][64];
  __shared__ u64 bar[2], empty;
  cg::cluster_group c = cg::this_cluster();
  int me = threadIdx.x, rank = c.block_rank(), first = me == 0 && rank == 0;
  float *mine = out + 64 * blockIdx.x;
  if (me == 0) { begin(&bar[0], 1); begin(&bar[1], 1); begin(&empty, 3 * 64); expect(&bar[0]); expect(&bar[1]); }
  c.sync();]])

local function check(k)
  local x, out = gpu.range(1, 512):to("float32"), gpu.zeros(512)
  return gpu.check(function() k(8, 64, { cluster = 4 })(x, out) end), out
end

local function faulty(name, source, ...)
  local want = { ... }
  test(name, source, function(k)
    t.eq(reports.text((check(k))), table.concat(want, "\n"))
  end)
end

local function clean(name, source, want)
  test(name, source, function(k)
    local found, out = check(k)
    reports.none(found)
    t.same(out:totable(), t.list(512, want))
  end)
end

---- faulty
faulty("a block whose threads do not wait", [[
if (first)
  COPY(s[0], x, &bar[0], 15);
if (rank != 2) wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], "2: s[0] read in line 4 while the copy begun here may still write it (128 times)")

faulty("a block in which one thread waits for the others, without a barrier", [[
if (first)
  COPY(s[0], x, &bar[0], 15);
if (rank != 2 || me == 5) wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], "2: s[0] read in line 4 while the copy begun here may still write it (126 times)")

faulty("a wait for another copy", [[
if (first) {
  COPY(s[0], x, &bar[0], 15);
  COPY(s[1], x, &bar[1], 6);
}
wait(&bar[0], 0);
c.sync();
if (rank == 1) mine[me] = s[1][me];]], "3: s[64] read in line 7 while the copy begun here may still write it (128 times)")

faulty("a block that no copy goes to", [[
if (first)
  COPY(s[0], x, &bar[0], 11);
if (rank != 2) wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], "4: s[0] read, but never written (128 times)")

faulty("a place that another block still reads when it is written again", [[
if (first) {
  COPY(s[0], x, &bar[0], 15);
  wait(&bar[0], 0);
  COPY(s[0], x + 64, &bar[1], 14);
}
wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], "4: s[0] read in line 7 while the copy begun here may still write it (384 times)")

faulty("a source that is written in a block whose threads do not wait", [[
if (first)
  COPY(s[0], x + blockIdx.x * 16, &bar[0], 7);
c.sync();
if (rank < 2) wait(&bar[0], 0);
c.sync();
if (rank == 2 && me == 9) x[(blockIdx.x - 2) * 16 + 9] = 1;]], "2: x[9] written in line 6 while the copy begun here may still read it (2 times)")

---- clean
clean("a source that is written again by a block that waited for its copy, and by one that it did not go to", [[
float *from = x + blockIdx.x / 4 * 64;
if (first) COPY(s[0], from, &bar[0], 7);
c.sync();
if (rank < 3) wait(&bar[0], 0);
c.sync();
if (rank > 1 && me < 9) from[me + 9 * rank] = 1;
mine[me] = rank < 3 ? s[0][me] - blockIdx.x / 4 * 64 : 0;
c.sync();]], function(i) return i // 64 % 4 < 3 and i % 64 + 1 or 0 end)

clean("all wait, each at the barrier of its block", [[
if (first) COPY(s[0], x, &bar[0], 15);
wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], function(i) return i % 64 + 1 end)

clean("one thread of each block waits, and the block meets", [[
if (first) COPY(s[0], x, &bar[0], 15);
if (me == 3) wait(&bar[0], 0);
__syncthreads();
mine[me] = s[0][63 - me];
c.sync();]], function(i) return 64 - i % 64 end)

clean("a copy that leaves blocks out, which use their memory meanwhile", [[
if (first) COPY(s[0], x, &bar[0], 6);
if (rank == 0 || rank == 3) s[0][me] = rank;
else wait(&bar[0], 0);
mine[me] = s[0][me];
c.sync();]], function(i)
  local rank = i // 64 % 4
  return (rank == 0 or rank == 3) and rank or i % 64 + 1
end)

clean("a place that is written again when all of the other blocks told that it is empty", [[
if (first) COPY(s[0], x, &bar[0], 15);
wait(&bar[0], 0);
mine[me] = s[0][me];
if (rank) arrive_at(&empty, 0);
__syncthreads();
if (first) {
  wait(&empty, 0);
  COPY(s[0], x + 64, &bar[1], 15);
}
wait(&bar[1], 0);
mine[me] += s[0][me];
c.sync();]], function(i) return 2 * (i % 64) + 66 end)

run()
t.done()
