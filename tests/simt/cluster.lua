-- Clusters: blocks that meet, and that read and write each other's shared memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local device = gpu.device(t.kernel_device())
local capability = tonumber(device.compute_capability:match("^%d+"))
local has = device.name == "simt" or (capability and capability >= 9)

local source = [[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Bins spread over the blocks of a cluster: each thread counts in the memory of whatever block has the bin.
__global__ void histogram(int *bins, int all, int per_block, const int *x, int n) {
  extern __shared__ int part[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) part[i] = 0;
  cluster.sync();
  for (int i = cg::this_grid().thread_rank(); i < n; i += blockDim.x * gridDim.x) {
    int b = min(max(x[i], 0), all - 1);
    atomicAdd(cluster.map_shared_rank(part, b / per_block) + b % per_block, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) atomicAdd(&bins[cluster.block_rank() * per_block + i], part[i]);
}
__global__ void places(unsigned *out) {
  cg::cluster_group c = cg::this_cluster();
  unsigned at[18], v = 0;
#define GET(name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(at[v++]));
  GET("clusterid.x") GET("clusterid.y") GET("clusterid.z") GET("nclusterid.x") GET("nclusterid.y") GET("nclusterid.z")
  GET("cluster_ctaid.x") GET("cluster_ctaid.y") GET("cluster_ctaid.z") GET("cluster_nctaid.x") GET("cluster_nctaid.y")
  GET("cluster_nctaid.z") GET("cluster_ctarank") GET("cluster_nctarank")
  at[14] = c.block_rank(), at[15] = c.num_blocks(), at[16] = c.thread_rank();
  asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(at[17]));
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == blockDim.x - 1) for (int i = 0; i < 18; i++) out[18 * block + i] = at[i];
}
// Every block writes into the next one, and reads what the one before wrote into it.
__global__ void __cluster_dims__(4) ring(float *out, int rounds) {
  __shared__ float mine[2][64];
  cg::cluster_group c = cg::this_cluster();
  unsigned to = (c.block_rank() + 1) % c.num_blocks();
  float v = 1000 * blockIdx.x + threadIdx.x;
  c.sync();
  for (int k = 0; k < rounds; k++) {
    c.map_shared_rank(&mine[k & 1][0], to)[threadIdx.x] = v + 1;
    c.sync();
    v = mine[k & 1][63 - threadIdx.x];
  }
  out[blockIdx.x * 64 + threadIdx.x] = v;
  c.sync();
}
// The barrier in two halves, with work between, and threads that have gone.
__global__ void halves(int *out) {
  __shared__ int mine[32];
  cg::cluster_group c = cg::this_cluster();
  if (threadIdx.x >= 32) return;
  mine[threadIdx.x] = blockIdx.x + 10 * threadIdx.x;
  auto token = c.barrier_arrive();
  int own = threadIdx.x * 7;
  c.barrier_wait(std::move(token));
  int *other = c.map_shared_rank(mine, c.num_blocks() - 1 - c.block_rank());
  out[blockIdx.x * 32 + threadIdx.x] = own + other[threadIdx.x] + 100000 * c.query_shared_rank(other);
  c.sync();
}
// Wide and narrow accesses, and atomics of all kinds, through both kinds of addresses.
__global__ void __cluster_dims__(2) kinds(unsigned *out) {
  __shared__ uint4 wide[32];
  __shared__ unsigned long long sums[4];
  __shared__ unsigned char bytes[64];
  __shared__ float f;
  cg::cluster_group c = cg::this_cluster();
  unsigned other = c.block_rank() ^ 1, t = threadIdx.x;
  if (t < 4) sums[t] = 100;
  if (t == 0) f = 1;
  c.sync();
  c.map_shared_rank(wide, other)[t] = make_uint4(t, t + 1, t + 2, c.block_rank());
  c.map_shared_rank(bytes, other)[63 - t] = t;
  atomicAdd(c.map_shared_rank(&sums[0], other), 3ull);
  atomicMax(c.map_shared_rank(&sums[1], other), 90ull + t);
  atomicAdd(c.map_shared_rank(&f, other), 0.5f);
  if (t == 0) atomicCAS(c.map_shared_rank(&sums[2], other), 100ull, 7ull);
  unsigned a = __cvta_generic_to_shared(&sums[3]), r;
  asm volatile("{ .reg .u32 m; mapa.shared::cluster.u32 m, %1, %2; atom.shared::cluster.add.u32 %0, [m+4], 1; }"
               : "=r"(r) : "r"(a), "r"(other) : "memory");
  c.sync();
  uint4 *far = c.map_shared_rank(wide, other);
  uint4 v = wide[t], w = far[31 - t];
  unsigned rank;
  asm("{ .reg .u32 m; mapa.shared::cluster.u32 m, %1, %2; getctarank.shared::cluster.u32 %0, m; }" : "=r"(rank) : "r"(a), "r"(other));
  unsigned *o = out + 12 * (blockIdx.x * 32 + t);
  o[0] = v.x, o[1] = v.y, o[2] = v.z, o[3] = v.w, o[4] = w.x, o[5] = w.w, o[6] = bytes[63 - t], o[7] = (unsigned)sums[0];
  o[8] = (unsigned)sums[1], o[9] = (unsigned)sums[2] + 1000 * (unsigned)f, o[10] = (unsigned)(sums[3] >> 32), o[11] = rank;
  c.sync();
}
// A consumer that waits at its mbarrier for stores from another block.
__global__ void __cluster_dims__(2) mailbox(int *out) {
  __shared__ alignas(16) int box[64];
  __shared__ alignas(8) unsigned long long bar;
  cg::cluster_group c = cg::this_cluster();
  unsigned b = __cvta_generic_to_shared(&bar), s = __cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(b) : "memory");
  }
  c.sync();
  asm volatile("{ .reg .u32 m, n; mapa.shared::cluster.u32 m, %0, %2; mapa.shared::cluster.u32 n, %1, %2;"
               "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [m], %3, [n]; }"
               :: "r"(s + 4 * threadIdx.x), "r"(b), "r"(c.block_rank() ^ 1), "r"(blockIdx.x * 100 + threadIdx.x) : "memory");
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(b) : "memory");
  out[blockIdx.x * 64 + threadIdx.x] = box[threadIdx.x];
  c.sync();
}
// One block's copy for all; and arrivals of all at the first one's mbarrier.
__global__ void __cluster_dims__(4) spread(const int *x, int *out) {
  __shared__ alignas(16) int box[64];
  __shared__ alignas(8) unsigned long long bar, all;
  cg::cluster_group c = cg::this_cluster();
  unsigned b = __cvta_generic_to_shared(&bar), a = __cvta_generic_to_shared(&all), s = __cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1; mbarrier.init.shared.b64 [%1], 4;" :: "r"(b), "r"(a) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(b) : "memory");
  }
  box[threadIdx.x] = -1;
  c.sync();
  if (c.block_rank() == 1 && threadIdx.x == 0)
    asm volatile("{ .reg .b16 m; mov.b16 m, 11; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1], 256, [%2], m; }" :: "r"(s), "l"(x), "r"(b) : "memory");
  if (c.block_rank() != 2)
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(b) : "memory");
  out[blockIdx.x * 64 + threadIdx.x] = box[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("{ .reg .u32 m; mapa.shared::cluster.u32 m, %0, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [m]; }" :: "r"(a) : "memory");
  if (c.block_rank() == 0)
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%0], 0; @!p bra W; }" :: "r"(a) : "memory");
  c.sync();
}
__global__ void grid_too(int *x) {
  __shared__ int mine;
  cg::cluster_group c = cg::this_cluster();
  if (threadIdx.x == 0) mine = blockIdx.x + 1;
  c.sync();
  int v = *c.map_shared_rank(&mine, c.block_rank() ^ 1);
  if (threadIdx.x == 0) x[blockIdx.x] = v;
  cg::this_grid().sync();
  if (threadIdx.x == 0 && blockIdx.x == 0) for (int i = 1; i < gridDim.x; i++) x[0] += x[i];
  c.sync();
}
__global__ void index(int n, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i + 1000000 * cg::this_cluster().num_blocks();
}
__global__ void far(int *x, int rank, int index) {
  __shared__ int mine[8];
  cg::cluster_group c = cg::this_cluster();
  c.sync();
  if (blockIdx.x == 2 && threadIdx.x == 3) c.map_shared_rank(mine, rank)[index] = 1;
  c.sync();
  x[threadIdx.x] = mine[threadIdx.x];
}
__global__ void apart(int *x) {
  if (blockIdx.x == 0) { cg::this_cluster().sync(); return; }
  if (threadIdx.x == 0) asm volatile("barrier.cluster.wait;");
}
]]
local ok, k = pcall(gpu.kernel, source)

local function test(name, body)
  t.test(name, function()
    if not has then t.skip("clusters need compute capability 9.0") end
    if not ok and tostring(k):find("cannot open source file", 1, true) then t.skip("NVRTC has no cooperative groups here") end
    assert(ok, k)
    body()
  end)
end

local function ints(n) return gpu.zeros(n, "int32") end
local function on_simt() return device.name == "simt" end

test("a histogram in the shared memory of clusters", function()
  local n = 20000
  local x = gpu.random.integers(-3, 66, { n }):to("int32")
  local want = gpu.bincount(x:clip(0, 63):to("int32"), 64)
  for _, c in ipairs { 1, 2, 4, 8 } do
    local bins = ints(64)
    k.histogram(16, 128, { cluster = c, shared = 64 // c * 4 })(bins, 64, 64 // c, x, n)
    t.same(bins:totable(), want:totable())
  end
end)

test("where a block is", function()
  local g, c = { 4, 6, 2 }, { 2, 3, 1 }
  local out = gpu.zeros(48 * 18, "uint32")
  k.places(g, 40, { cluster = c })(out)
  t.same(out:totable(), t.list(48 * 18, function(i)
    local b, what = i // 18, i % 18
    local at = { b % 4, b // 4 % 6, b // 24 }
    local rank = at[1] % 2 + 2 * (at[2] % 3)
    if what < 3 then return at[what + 1] // c[what + 1] end
    if what < 6 then return g[what - 2] // c[what - 2] end
    if what < 9 then return at[what - 5] % c[what - 5] end
    if what < 12 then return c[what - 8] end
    return ({ rank, 6, rank, 6, rank * 40 + 39, 1 })[what - 11]
  end))
  k.places(2, 32)(out)
  t.same(out["1:36"]:totable(), t.list(36, function(i)
    return ({ i // 18, 0, 0, 2, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 31, 0 })[i % 18 + 1]
  end))
end)

test("each block writes into the next", function()
  local rounds = 5
  local out = gpu.zeros(12 * 64)
  k.ring(12, 64)(out, rounds)
  local v = t.list(768, function(i) return 1000 * (i // 64) + i % 64 end)
  for _ = 1, rounds do
    v = t.list(768, function(i)
      local b, j = i // 64, 63 - i % 64
      return v[(b // 4 * 4 + (b + 3) % 4) * 64 + j + 1] + 1
    end)
  end
  t.same(out:totable(), v)
end)

test("the barrier in two halves", function()
  local out = ints(8 * 32)
  k.halves(8, 96, { cluster = 4 })(out)
  t.same(out:totable(), t.list(256, function(i)
    local b, j = i // 32, i % 32
    local other = 3 - b % 4
    return 7 * j + b // 4 * 4 + other + 10 * j + 100000 * other
  end))
end)

test("accesses of all kinds", function()
  local out = gpu.zeros(12 * 128, "uint32")
  k.kinds(4, 32)(out)
  t.same(out:totable(), t.list(12 * 128, function(i)
    local j, b = i // 12 % 32, i // 12 // 32
    local me, other = b % 2, 1 - b % 2
    return ({ j, j + 1, j + 2, other, 31 - j, me, j, 100 + 96, 121, 7 + 17000, 32, other })[i % 12 + 1]
  end))
end)

test("stores into another block that its mbarrier counts", function()
  local out = ints(256)
  k.mailbox(4, 64)(out)
  t.same(out:totable(), t.list(256, function(i) return (i // 64 ~ 1) * 100 + i % 64 end))
end)

test("a copy to several blocks at once", function()
  local x, out = gpu.range(1, 64):to("int32"), ints(512)
  k.spread(8, 64)(x, out)
  t.same(out:totable(), t.list(512, function(i) return i // 64 % 4 == 2 and -1 or i % 64 + 1 end))
end)

test("a cooperative grid of clusters", function()
  local x = ints(4)
  k.grid_too(4, 32, { cooperative = true, cluster = 2 })(x)
  t.eq(x[1], 10)
end)

test("forall makes whole clusters", function()
  local x = ints(3000)
  k.index:forall(3000, { cluster = 8 })(3000, x)
  t.same(x:totable(), t.list(3000, function(i) return i + 8000000 end))
end)

test("a graph of clusters", function()
  local x, out = gpu.range(1, 64):to("int32"), ints(256)
  local g = gpu.graph(function() k.halves(4, 32, { cluster = 2 })(out) end)
  g:launch()
  t.eq(out[1], 1 + 100000)
  t.eq(x[1], 1)
end)

test("profiles and traces of clusters", function()
  if not on_simt() then t.skip("what the software GPU shows") end
  local out = ints(256)
  assert(tostring(gpu.profile(k.mailbox, 4, 64)(out)):find("mailbox", 1, true))
  t.eq(out[1], 100)
  out:fill(0)
  t.eq(#gpu.trace(k.halves, 4, 32, { cluster = 2 })(out), 10)
  t.eq(out[1], 1 + 100000)
end)

test("what a launch with clusters refuses", function()
  local out = ints(256)
  t.raises("halves: a grid of 15 blocks along x cannot be cut into clusters of 2; round it up to 16", k.halves(15, 32, { cluster = 2 }), out)
  t.raises("halves: a cluster of (8, 4, 1) blocks is over the limit of 16; 8 are portable", k.halves({ 8, 4 }, 32, { cluster = { 8, 4 } }), out)
  t.raises("ring: a cluster of (2, 1, 1) blocks, but the kernel's __cluster_dims__ say (4, 1, 1); leave one of them out",
    k.ring(4, 64, { cluster = 2 }), gpu.zeros(256), 1)
  t.raises("ring: a grid of 6 blocks along x cannot be cut into clusters of 4; round it up to 8", k.ring(6, 64), gpu.zeros(384), 1)
  t.raises("cluster: 0 along x; it must be 1 or more", function() return k.halves(4, 32, { cluster = 0 }) end)
  t.raises("cluster: expected a number or {x, y, z}, got string", function() return k.halves(4, 32, { cluster = "2" }) end)
  t.raises("there are shared, stream, cooperative, cluster and check", function() return k.halves(4, 32, { clusters = 2 }) end)
  assert(tostring(k.halves(4, 32, { cluster = 2, cooperative = true })):find("{cooperative = true, cluster = {2, 1, 1}, shared = 0}", 1, true))
end)

test("wrong addresses in other blocks, and barriers that are missed", function()
  if not on_simt() then t.skip("what the software GPU finds") end
  local x, plain = ints(8), { cluster = 4, check = false }
  t.raises("write of 4 bytes at 0x20 of the shared memory of block 1 of the cluster, 0 bytes past the end of its 32 bytes", k.far(4, 8, plain), x, 1, 8)
  t.raises("in kernel far, block (2, 0, 0), thread (3, 0, 0)", k.far(4, 8, plain), x, 1, 8)
  t.raises("shared memory of block 4 of the cluster, which has 4 blocks, numbered from 0", k.far(4, 8, plain), x, 4, 0)
  t.raises("shared memory of block 1 of the cluster, which has 1 block; a launch says how many it has", k.far(4, 8, { check = false }), x, 1, 0)
  t.raises("a thread waits at the barrier of its cluster and has not arrived there", k.apart(2, 8, { cluster = 2, check = false }), x)
  local half = gpu.kernel [[
    __global__ void __cluster_dims__(2) half() {
      __shared__ int s;
      if (blockIdx.x % 2) asm volatile("barrier.cluster.arrive; barrier.cluster.arrive;");
      asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
      if (threadIdx.x < 40) __syncthreads();
      asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
      s = 1;
    }
  ]]
  t.raises("a thread arrives twice at the barrier of its cluster without waiting there between", half(2, 64, { check = false }))
  local lost = gpu.kernel [[
    __global__ void __cluster_dims__(2) lost(int *x) {
      if (threadIdx.x < 32 && blockIdx.x) asm volatile("bar.sync 1, 64;");
      asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
      x[threadIdx.x] = 1;
    }
  ]]
  t.raises("the barrier of their cluster, where", lost(2, 64, { check = false }), ints(64))
end)

t.done()
