-- Cooperative groups: tiles, coalesced threads, partitions, collectives.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local ok, k = pcall(gpu.kernel, [=[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void ranks(int *out) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto four = cg::tiled_partition<4>(warp);
  out[grid.thread_rank()] = block.thread_rank() + 1000 * warp.meta_group_rank() + 10000 * four.thread_rank() + 100000 * four.meta_group_rank() +
                            10000000 * (block.size() == blockDim.x * blockDim.y * blockDim.z && grid.size() == gridDim.x * block.size());
}
template <class G> __device__ int sum(G g, int v) {
  for (int d = g.size() / 2; d; d /= 2) v += g.shfl_xor(v, d);
  return v;
}
__global__ void tiles(const int *x, int *out) {
  auto block = cg::this_thread_block();
  int i = threadIdx.x, v = x[i];
  out[6 * i] = sum(cg::tiled_partition<1>(block), v), out[6 * i + 1] = sum(cg::tiled_partition<2>(block), v);
  out[6 * i + 2] = sum(cg::tiled_partition<16>(block), v);
  auto tile = cg::tiled_partition<8>(block);
  out[6 * i + 3] = tile.shfl_up(v, 2), out[6 * i + 4] = tile.any(v > 100) + 2 * tile.all(v > 0), out[6 * i + 5] = tile.ballot(v & 1);
}
__global__ void reduced(const int *x, int *out, float *f) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int v = x[threadIdx.x];
  int a = cg::reduce(tile, v, cg::plus<int>()), l = cg::reduce(tile, v, cg::less<int>()), h = cg::reduce(tile, v, cg::greater<int>());
  int e = cg::reduce(tile, v, cg::bit_xor<int>());
  float p = cg::reduce(tile, 1.0f + v / 1000.0f, [](float a, float b) { return a * b; });
  if (tile.thread_rank() == 0) {
    int *o = out + 4 * (threadIdx.x / 16);
    o[0] = a, o[1] = l, o[2] = h, o[3] = e;
    f[threadIdx.x / 16] = p;
  }
}
__global__ void scans(const int *x, int *in, int *ex) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  in[threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x]);
  ex[threadIdx.x] = cg::exclusive_scan(tile, x[threadIdx.x], cg::plus<int>());
}
__global__ void coalesced(const int *x, int *out, int *count) {
  int i = threadIdx.x;
  out[i] = -1;
  if (x[i] > 0) {
    cg::coalesced_group g = cg::coalesced_threads();
    int base = 0;
    if (g.thread_rank() == 0) base = atomicAdd(count, (int)g.size());
    out[i] = g.shfl(base, 0) + g.thread_rank();
  }
}
__global__ void partitions(const int *x, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto same = cg::labeled_partition(warp, x[threadIdx.x] % 3);
  auto two = cg::binary_partition(warp, x[threadIdx.x] > 10);
  out[2 * threadIdx.x] = cg::reduce(same, 1, cg::plus<int>());
  out[2 * threadIdx.x + 1] = two.size() * 100 + two.thread_rank();
}
__global__ void block_sum(const int *x, int *out, int n) {  // the guide's first example of a group as an argument
  __shared__ int s[32];
  cg::thread_block g = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(g);
  int v = 0;
  for (int i = g.thread_rank(); i < n; i += g.size()) v += x[i];
  v = cg::reduce(warp, v, cg::plus<int>());
  if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
  g.sync();
  if (warp.meta_group_rank() == 0) {
    v = warp.thread_rank() < warp.meta_group_size() ? s[warp.thread_rank()] : 0;
    v = cg::reduce(warp, v, cg::plus<int>());
    cg::invoke_one(warp, [&] { *out = v; });
  }
}
__global__ void split_barrier(int *out) {  // arrive, work, wait
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  s[threadIdx.x] = threadIdx.x * 2;
  auto token = block.barrier_arrive();
  int own = threadIdx.x * 1000;
  block.barrier_wait(std::move(token));
  out[threadIdx.x] = own + s[63 - threadIdx.x];
}]=])

local function test(name, body)
  t.test(name, function()
    if not ok and tostring(k):find("cannot open source file", 1, true) then t.skip("NVRTC has no cooperative groups here") end
    assert(ok, k)
    body()
  end)
end

local function ints(v) return gpu.array(v, "int32") end
local x = t.list(64, function(i) return (i * i * 31 + 7 * i) % 211 - 60 end)

local function window(i, n) return table.move(x, i // n * n + 1, i // n * n + n, 1, {}) end

local function total(list, f)
  local s = list[1]
  for i = 2, #list do s = f(s, list[i]) end
  return s
end

local function plus(a, b) return a + b end

test("ranks in the grid, the block, the tiles", function()
  local out = gpu.zeros(144, "int32")
  k.ranks(3, { 6, 4, 2 })(out)
  t.same(out:totable(), t.list(144, function(i)
    local r = i % 48
    return r + r // 32 * 1000 + r % 4 * 10000 + r % 32 // 4 * 100000 + 10000000
  end))
end)

test("tiles of 1 to 16 threads", function()
  local out = gpu.zeros(384, "int32")
  k.tiles(1, 64)(ints(x), out)
  t.same(out:totable(), t.list(384, function(j)
    local i = j // 6
    local eight, ballot = window(i, 8), 0
    for b, v in ipairs(eight) do ballot = ballot | (v & 1) << (b - 1) end
    return ({ [0] = x[i + 1], total(window(i, 2), plus), total(window(i, 16), plus), x[i % 8 < 2 and i + 1 or i - 1],
      (math.max(table.unpack(eight)) > 100 and 1 or 0) + (math.min(table.unpack(eight)) > 0 and 2 or 0), ballot })[j % 6]
  end))
end)

test("reductions of tiles", function()
  local out, f, want, products = gpu.zeros(16, "int32"), gpu.zeros(4), {}, {}
  k.reduced(1, 64)(ints(x), out, f)
  for i = 0, 63, 16 do
    local w = window(i, 16)
    table.move({ total(w, plus), math.min(table.unpack(w)), math.max(table.unpack(w)), total(w, function(a, b) return a ~ b end) }, 1, 4, #want + 1, want)
    local p = 1
    for _, v in ipairs(w) do p = p * (1 + v / 1000) end
    products[#products + 1] = p
  end
  t.same(out:totable(), want)
  t.close(f, products, 1e-5)
end)

test("scans of tiles", function()
  local a, b, inclusive, exclusive, s = gpu.zeros(64, "int32"), gpu.zeros(64, "int32"), {}, {}, 0
  k.scans(1, 64)(ints(x), a, b)
  for i, v in ipairs(x) do
    if i == 33 then s = 0 end
    exclusive[i], s = s, s + v
    inclusive[i] = s
  end
  t.same(a:totable(), inclusive)
  t.same(b:totable(), exclusive)
end)

test("the threads that are here", function()
  local out, count, used, want = gpu.zeros(64, "int32"), gpu.zeros(1, "int32"), {}, 0
  k.coalesced(1, 64)(ints(x), out, count)
  for _, v in ipairs(x) do if v > 0 then want = want + 1 end end
  t.eq(count[1], want)
  for i, v in ipairs(out:totable()) do
    t.eq(v >= 0, x[i] > 0)
    if v >= 0 then
      t.eq(used[v], nil)
      used[v] = true
    end
  end
end)

test("partitions by a label and by a predicate", function()
  local out = gpu.zeros(128, "int32")
  k.partitions(1, 64)(ints(t.list(64, function(i) return x[i + 1] + 60 end)), out)
  t.same(out:totable(), t.list(128, function(j)
    local i, same, size, rank = j // 2, 0, 0, 0
    for p = i // 32 * 32, i // 32 * 32 + 31 do
      if (x[p + 1] + 60) % 3 == (x[i + 1] + 60) % 3 then same = same + 1 end
      if (x[p + 1] > -50) == (x[i + 1] > -50) then size, rank = size + 1, rank + (p < i and 1 or 0) end
    end
    return j % 2 == 0 and same or size * 100 + rank
  end))
end)

test("a block's sum by groups", function()
  local out = gpu.zeros(1, "int32")
  for _, n in ipairs { 1, 33, 64 } do
    k.block_sum(1, 96)(ints(x), out, n)
    t.eq(out[1], total(table.move(x, 1, n, 1, {}), plus))
  end
end)

test("a barrier in two halves", function()
  local out = gpu.zeros(64, "int32")
  k.split_barrier(1, 64)(out)
  t.same(out:totable(), t.list(64, function(i) return i * 1000 + 2 * (63 - i) end))
end)

t.done()
