-- Copies from global to shared memory that a thread does not wait for, barriers with arrivals, and groups of threads,
-- as libcu++ and cooperative groups have them.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

t.test("a pipeline of copies with cuda::pipeline", function()
  local k = gpu.kernel [[
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
// Sums of neighbours, two tiles ahead of the copies.
__global__ void k(const float *a, float *out, int tiles) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ float s[2][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int ahead = 0;
  for (int i = 0; i < tiles; i++) {
    for (; ahead < tiles && ahead < i + 2; ahead++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[ahead % 2], a + ahead * 128, sizeof(float) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    int x = threadIdx.x;
    out[i * 128 + x] = s[i % 2][x] + s[i % 2][(x + 1) % 128];
    pipe.consumer_release();
  }
}]]
  local a, out = gpu.range(0, 1023):to("float32"), gpu.zeros(1024)
  k(1, 128)(a, out, 8)
  for _, i in ipairs { 1, 2, 128, 500, 1024 } do
    local x = i - 1
    t.eq(out[i], x + (x % 128 == 127 and x - 127 or x + 1))
  end
end)

t.test("copies by the primitives, and zeros behind a short one", function()
  local k = gpu.kernel [[
#include <cuda_pipeline.h>
__global__ void k(const float4 *a, float4 *out) {
  __shared__ float4 s[64];
  int x = threadIdx.x;
  __pipeline_memcpy_async(&s[x], &a[x], 16, x % 2 ? 8 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[x] = s[x ^ 1];
}]]
  local a, out = gpu.range(1, 256):to("float32"), gpu.full({ 64, 4 }, -1)
  k(1, 64)(a, out)
  t.eq(out[{ 1, 2 }], 6)
  t.eq(out[{ 1, 3 }], 0)
  t.eq(out[{ 2, 4 }], 4)
end)

t.test("cuda::barrier counts arrivals and copies", function()
  local k = gpu.kernel [[
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void k(const int *a, int *out, int rounds) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ alignas(16) int s[96];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  block.sync();
  int x = threadIdx.x, sum = 0;
  for (int r = 0; r < rounds; r++) {
    cuda::memcpy_async(block, s, a + r * 96, sizeof(int) * 96, bar);
    bar.arrive_and_wait();
    sum += s[(x * 5 + 1) % 96];
    auto token = bar.arrive();
    bar.wait(cuda::std::move(token));
  }
  out[x] = sum;
  if (x % 3 == 0) { bar.arrive_and_drop(); return; }
  bar.arrive_and_wait();
  out[x] += 1000000;
}]]
  local a, out = gpu.range(0, 287):to("int32"), gpu.zeros(96, "int32")
  k(1, 96)(a, out, 3)
  for x = 0, 95 do
    local i = (x * 5 + 1) % 96
    t.eq(out[x + 1], 3 * i + 96 + 192 + (x % 3 == 0 and 0 or 1000000))
  end
end)

t.test("groups reduce, scan and synchronise", function()
  local k = gpu.kernel [[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void k(const int *a, int *out) {
  __shared__ cg::block_tile_memory<256> memory;
  __shared__ int s[128];
  auto block = cg::this_thread_block(memory);
  auto warp = cg::tiled_partition<32>(block);
  auto eight = cg::tiled_partition<8>(warp);
  auto large = cg::tiled_partition<64>(block);
  int x = threadIdx.x;
  cg::memcpy_async(block, s, a, sizeof(int) * 128);
  cg::wait(block);
  int *o = out + 6 * x;
  o[0] = cg::reduce(warp, s[x], cg::plus<int>());
  o[1] = cg::reduce(eight, s[x], cg::greater<int>());
  o[2] = cg::inclusive_scan(warp, s[x]);
  o[3] = cg::exclusive_scan(eight, s[x]);
  o[4] = cg::reduce(large, s[x], cg::plus<int>());
  auto third = cg::labeled_partition(warp, x % 3);
  o[5] = third.size() * 100 + third.thread_rank();
}]]
  local a, out = gpu.range(0, 127):to("int32"), gpu.zeros({ 128, 6 }, "int32")
  k(1, 128)(a, out)
  for x = 0, 127, 7 do
    local w, e, l = x // 32 * 32, x // 8 * 8, x // 64 * 64
    t.eq(out[{ x + 1, 1 }], 32 * w + 496)
    t.eq(out[{ x + 1, 2 }], e + 7)
    t.eq(out[{ x + 1, 3 }], (x - w + 1) * (w + x) // 2)
    t.eq(out[{ x + 1, 4 }], (x - e) * (e + x - 1) // 2)
    t.eq(out[{ x + 1, 5 }], 64 * l + 2016)
    local size, rank = 0, 0
    for y = w, w + 31 do
      if y % 3 == x % 3 then
        size = size + 1
        if y < x then rank = rank + 1 end
      end
    end
    t.eq(out[{ x + 1, 6 }], size * 100 + rank)
  end
end)

t.done()
