-- Kernels in the words of modern C++ and of libcu++: atomic references of all scopes, barriers and pipelines that split arriving
-- from waiting, tuples and variants, policies, expression templates, spans, groups, and numbers of 16 bits.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local case = assert(loadfile("tests/simt/shared/both.lua"))(t, gpu)

local source = [=[
#pragma nv_diag_suppress 20054
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/optional>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace cg = cooperative_groups;

template <class T> using device_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
template <class T> using block_ref = cuda::atomic_ref<T, cuda::thread_scope_block>;

// Bins by references to plain memory: of the block first, of the device then.
__global__ void bins_by_reference(const int *x, int n, int *bins) {
  __shared__ int own[32];
  if (threadIdx.x < 32) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    block_ref<int>(own[x[i]]).fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x < 32) device_ref<int>(bins[threadIdx.x]).fetch_add(own[threadIdx.x], cuda::memory_order_relaxed);
}
// A maximum of doubles by compare and exchange, beside one by fetch_max.
__global__ void maximum(const double *x, int n, double *top, int *where) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  device_ref<double> r(*top);
  double seen = r.load(cuda::memory_order_relaxed);
  while (seen < x[i] && !r.compare_exchange_weak(seen, x[i], cuda::memory_order_relaxed)) {
  }
  device_ref<int>(*where).fetch_max(int(x[i] * 1000), cuda::memory_order_relaxed);
}
// A message from one block to the next: released by a flag, acquired by a wait.
__global__ void relay(int *data, int *flags, int *out) {
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    if (b > 0) {
      device_ref<int> before(flags[b - 1]);
      while (before.load(cuda::memory_order_acquire) == 0) __nanosleep(20);
    }
    data[b] = b == 0 ? 1 : data[b - 1] * 3 % 1009;
    device_ref<int>(flags[b]).store(1, cuda::memory_order_release);
    out[b] = data[b];
  }
}
// A stack without locks: heads carry a count against reuse.
struct head { unsigned at, tag; };
__global__ void stack_push(unsigned long long *top, unsigned *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  device_ref<unsigned long long> r(*top);
  unsigned long long old = r.load(cuda::memory_order_relaxed), mine;
  do {
    device_ref<unsigned>(next[i + 1]).store(unsigned(old), cuda::memory_order_relaxed);
    mine = ((old >> 32) + 1) << 32 | unsigned(i + 1);
  } while (!r.compare_exchange_weak(old, mine, cuda::memory_order_release, cuda::memory_order_relaxed));
}
__global__ void stack_pop(unsigned long long *top, unsigned *next, int n, int *popped) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  device_ref<unsigned long long> r(*top);
  unsigned long long old = r.load(cuda::memory_order_acquire), mine;
  do {
    if (unsigned(old) == 0) { popped[i] = -1; return; }
    mine = ((old >> 32) + 1) << 32 | device_ref<unsigned>(next[unsigned(old)]).load(cuda::memory_order_relaxed);
  } while (!r.compare_exchange_weak(old, mine, cuda::memory_order_acq_rel, cuda::memory_order_acquire));
  popped[i] = unsigned(old) - 1;
}
// Arrive, do other work, wait: the tree's levels meet at a split barrier.
__global__ void split_tree(const float *x, float *sums, float *squares) {
  __shared__ float s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  s[threadIdx.x] = x[i];
  for (int half = 64; half > 0; half /= 2) {
    auto token = bar.arrive();
    if (half == 64) squares[i] = x[i] * x[i];
    bar.wait(cuda::std::move(token));
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = s[0];
}
// Tiles in flight: a pipeline of two stages of the block.
__global__ void staged(const int *x, int *y, int tiles) {
  constexpr int size = 64;
  __shared__ alignas(16) int buffer[2][size];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int *in = x + blockIdx.x * tiles * size;
  int filled = 0;
  for (int tile = 0; tile < tiles; tile++) {
    for (; filled < tiles && filled < tile + 2; filled++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[filled % 2], in + filled * size, sizeof(int) * size, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    y[(blockIdx.x * tiles + tile) * size + threadIdx.x] = buffer[tile % 2][size - 1 - threadIdx.x] * 2;
    pipe.consumer_release();
  }
}
// One thread's own pipeline, with copies of its own elements.
__global__ void staged_alone(const float4 *x, float *y, int steps) {
  __shared__ float4 buffer[2][32];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x, stride = blockDim.x * gridDim.x, at = blockIdx.x * blockDim.x + t;
  pipe.producer_acquire();
  cuda::memcpy_async(&buffer[0][t], &x[at], cuda::aligned_size_t<16>(16), pipe);
  pipe.producer_commit();
  float sum = 0;
  for (int i = 0; i < steps; i++) {
    if (i + 1 < steps) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[(i + 1) % 2][t], &x[at + (i + 1) * stride], cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
      cuda::pipeline_consumer_wait_prior<1>(pipe);
    } else {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
    }
    float4 v = buffer[i % 2][t];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    pipe.consumer_release();
  }
  y[at] = sum;
}
// Expression templates over spans.
template <class L, class R, class F> struct binary {
  L l; R r; F f;
  __device__ auto operator[](int i) const { return f(l[i], r[i]); }
};
template <class L, class R, class F> __device__ binary<L, R, F> make(L l, R r, F f) { return {l, r, f}; }
__global__ void expression(const float *a, const float *b, float *c, int n) {
  cuda::std::span<const float> x(a, n), y(b, n);
  cuda::std::span<float> z(c, n);
  auto e = make(make(x, y, [](float p, float q) { return p * q; }), y, [=](float p, float q) { return p - q * n; });
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (int)z.size(); i += gridDim.x * blockDim.x) z[i] = e[i];
}
// The least and the greatest with their places, as a tuple folded by a policy.
struct least { template <class A, class B> static __device__ bool better(A a, B b) { return a < b; } };
struct most { template <class A, class B> static __device__ bool better(A a, B b) { return a > b; } };
template <class Policy> __device__ cuda::std::tuple<float, int> fold(const float *x, int n) {
  cuda::std::tuple<float, int> best{x[0], 0};
  for (int i = threadIdx.x; i < n; i += 32)
    if (Policy::better(x[i], cuda::std::get<0>(best))) best = cuda::std::make_tuple(x[i], i);
  for (int d = 16; d; d /= 2) {
    float v = __shfl_down_sync(~0u, cuda::std::get<0>(best), d);
    int p = __shfl_down_sync(~0u, cuda::std::get<1>(best), d);
    if (Policy::better(v, cuda::std::get<0>(best)) || (v == cuda::std::get<0>(best) && p < cuda::std::get<1>(best))) best = {v, p};
  }
  return best;
}
__global__ void both_ends(const float *x, int width, float *values, int *places) {
  auto [low, at] = fold<least>(x + blockIdx.x * width, width);
  auto [high, there] = fold<most>(x + blockIdx.x * width, width);
  if (threadIdx.x == 0) {
    values[2 * blockIdx.x] = low, values[2 * blockIdx.x + 1] = high;
    places[2 * blockIdx.x] = at, places[2 * blockIdx.x + 1] = there;
  }
}
// Optional roots of quadratics, in complex numbers where there are no real ones.
__device__ cuda::std::optional<float> root(float b, float c) {
  float d = b * b - 4 * c;
  if (d < 0) return cuda::std::nullopt;
  return (-b + sqrtf(d)) / 2;
}
__global__ void roots(const float *b, const float *c, float *re, float *im, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto r = root(b[i], c[i]);
  cuda::std::complex<float> z(r.value_or(-b[i] / 2), r ? 0.0f : sqrtf(4 * c[i] - b[i] * b[i]) / 2);
  auto p = z * z + b[i] * z + cuda::std::complex<float>(c[i]);  // nought
  re[i] = z.real() + p.real(), im[i] = z.imag() + p.imag();
}
// A small matrix of constant size, multiplied at compile time's bounds.
template <class T, int N> struct square {
  cuda::std::array<cuda::std::array<T, N>, N> v;
  __device__ square operator*(const square &o) const {
    square r{};
#pragma unroll
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++) r.v[i][j] += v[i][k] * o.v[k][j];
    return r;
  }
};
__global__ void powers(const unsigned *exponent, unsigned long long *fib, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  square<unsigned long long, 2> result{}, base{};
  result.v[0][0] = result.v[1][1] = base.v[0][0] = base.v[0][1] = base.v[1][0] = 1;
  for (unsigned e = exponent[i]; e; e >>= 1) {
    if (e & 1) result = result * base;
    base = base * base;
  }
  fib[i] = result.v[0][1];
}
// Tiles of a group: each row of 8 lanes normalises its part; labelled groups count themselves.
__global__ void rows_of_tiles(const float *x, float *y, int *mates) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int i = block.group_index().x * block.size() + block.thread_rank();
  float sum = cg::reduce(tile, x[i], cg::plus<float>());
  float top = cg::reduce(tile, x[i], cg::greater<float>());
  y[i] = x[i] / sum + cg::inclusive_scan(tile, 1) + (tile.shfl(x[i], 7) == top);
  auto same = cg::labeled_partition(cg::tiled_partition<32>(block), int(x[i] * 4));
  mates[i] = same.size() * 100 + same.thread_rank();
}
__global__ void copied_by_group(const int *x, int *y) {
  extern __shared__ __align__(16) int s[];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int *own = s + warp.meta_group_rank() * 64;
  cg::memcpy_async(warp, own, x + (blockIdx.x * warp.meta_group_size() + warp.meta_group_rank()) * 64, sizeof(int) * 64);
  cg::wait(warp);
  for (int i = warp.thread_rank(); i < 64; i += warp.size()) y[blockIdx.x * blockDim.x * 2 + warp.meta_group_rank() * 64 + i] = own[63 - i] + i;
}
// Dots of halves, two at a time, and of bfloat16, the sums in float.
__global__ void dots16(const __half2 *a, const __half2 *b, const __nv_bfloat162 *p, const __nv_bfloat162 *q, float *out, int pairs) {
  __half2 h = __float2half2_rn(0);
  float f = 0;
  for (int i = threadIdx.x; i < pairs; i += 32) {
    h = __hfma2(a[blockIdx.x * pairs + i], b[blockIdx.x * pairs + i], h);
    float2 u = __bfloat1622float2(__hmul2(p[blockIdx.x * pairs + i], q[blockIdx.x * pairs + i]));
    f += u.x + u.y;
  }
  for (int d = 16; d; d /= 2) h = __hadd2(h, __shfl_xor_sync(~0u, h, d)), f += __shfl_xor_sync(~0u, f, d);
  if (threadIdx.x == 0) out[2 * blockIdx.x] = __low2float(h) + __high2float(h), out[2 * blockIdx.x + 1] = f;
}
// Curiously recurring: cells that know their kind statically.
template <class D> struct shape {
  __device__ float area() const { return static_cast<const D *>(this)->measure() * 2; }
};
struct box : shape<box> { float a, b; __device__ float measure() const { return a * b; } };
struct disc : shape<disc> { float r; __device__ float measure() const { return 3 * r * r; } };
union any_shape { box b; disc d; __device__ any_shape() {} };
__global__ void areas(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  any_shape s;
  if (i % 3) s.b.a = x[i], s.b.b = x[i] + 1;
  else s.d.r = x[i];
  y[i] = i % 3 ? s.b.area() : s.d.area();
}
]=]

local ok, k = pcall(gpu.kernel, source)
if not ok and tostring(k):find("cannot open source file", 1, true) then
  t.test("libcu++", function() t.skip("NVRTC has no libcu++ here") end)
  t.done()
  return
end
assert(ok, k)

local i32 = "int32"

case("bins by atomic references", function(s)
  local n = 1000 * s
  local x, bins = (gpu.rand(n) * 31):to(i32), gpu.zeros(32, i32)
  return function() k.bins_by_reference(4, 128)(x, n, bins) end, function()
    local want = t.list(32, function() return 0 end)
    for _, v in ipairs(x:totable()) do want[v + 1] = want[v + 1] + 1 end
    t.same(bins:totable(), want)
  end
end)

case("a maximum of doubles by compare and exchange", function(s)
  local n = 1000 * s
  local x, top, where = gpu.rand(n, "float64"), gpu.zeros(1, "float64"), gpu.zeros(1, i32)
  return function() k.maximum((n + 127) // 128, 128)(x, n, top, where) end, function()
    local best = math.max(table.unpack(x:totable()))
    t.eq(top[1], best)
    t.eq(where[1], math.floor(best * 1000))
  end
end)

case("a message passed on from block to block", function(s)
  local n = 40 * s
  local data, flags, out = gpu.zeros(n, i32), gpu.zeros(n, i32), gpu.zeros(n, i32)
  return function()
    flags:fill(0)
    k.relay(n, 32)(data, flags, out)
  end, function()
    local v = 1
    t.same(out:totable(), t.list(n, function(i)
      if i > 0 then v = v * 3 % 1009 end
      return v
    end))
  end
end)

case("a stack without locks", function(s)
  local n = 300 * s
  local top, next, popped = gpu.zeros(1, "uint64"), gpu.zeros(n + 1, "uint32"), gpu.zeros(n + 50, i32)
  return function()
    k.stack_push((n + 63) // 64, 64)(top, next, n)
    k.stack_pop((n + 50 + 63) // 64, 64)(top, next, n + 50, popped)
  end, function()
    local list = popped:totable()
    table.sort(list)
    t.same(list, t.list(n + 50, function(i) return math.max(-1, i - 50) end))
  end
end)

case("a tree whose levels meet at a split barrier", function(s)
  local blocks = 3 * s
  local x, sums, squares = gpu.rand(128 * blocks), gpu.zeros(blocks), gpu.zeros(128 * blocks)
  return function() k.split_tree(blocks, 128)(x, sums, squares) end, function()
    local want, list = t.list(blocks, function() return 0 end), x:totable()
    for i, v in ipairs(list) do want[(i + 127) // 128] = want[(i + 127) // 128] + v end
    t.close(sums, want, 1e-5)
    for i, v in ipairs(list) do list[i] = v * v end
    t.close(squares, list, 1e-6)
  end
end)

case("a pipeline of two stages", function(s)
  local blocks, tiles = 3 * s, 5
  local n = blocks * tiles * 64
  local x, y = gpu.range(0, n - 1):to(i32), gpu.zeros(n, i32)
  return function() k.staged(blocks, 64)(x, y, tiles) end, function()
    t.same(y:totable(), t.list(n, function(i) return (i - i % 64 + 63 - i % 64) * 2 end))
  end
end)

case("a thread's own pipeline", function(s)
  local blocks, steps = 3 * s, 4
  local x, y = gpu.rand { blocks * 32 * steps, 4 }, gpu.zeros(blocks * 32)
  return function() k.staged_alone(blocks, 32)(x, y, steps) end, function()
    local v = x:totable()
    t.close(y, t.list(blocks * 32, function(i)
      local sum = 0
      for j = 0, steps - 1 do
        local e = v[j * blocks * 32 + i + 1]
        sum = sum + e[1] + 2 * e[2] + 3 * e[3] + 4 * e[4]
      end
      return sum
    end), 1e-5)
  end
end)

case("expression templates over spans", function(s)
  local n = 333 * s
  local a, b, c = gpu.rand(n), gpu.rand(n), gpu.zeros(n)
  return function() k.expression(2 * s, 64)(a, b, c, n) end, function()
    local x, y = a:totable(), b:totable()
    t.close(c, t.list(n, function(i) return x[i + 1] * y[i + 1] - y[i + 1] * n end), 1e-5)
  end
end)

case("ends and their places as tuples", function(s)
  local rows, width = 5 * s, 77
  local x, values, places = gpu.rand(rows * width), gpu.zeros(2 * rows), gpu.zeros(2 * rows, i32)
  return function() k.both_ends(rows, 32)(x, width, values, places) end, function()
    local v, vals, places_wanted = x:totable(), {}, {}
    for r = 0, rows - 1 do
      local low, high = 0, 0
      for i = 1, width - 1 do
        if v[r * width + i + 1] < v[r * width + low + 1] then low = i end
        if v[r * width + i + 1] > v[r * width + high + 1] then high = i end
      end
      table.move({ v[r * width + low + 1], v[r * width + high + 1] }, 1, 2, #vals + 1, vals)
      table.move({ low, high }, 1, 2, #places_wanted + 1, places_wanted)
    end
    t.close(values, vals, 0)
    t.same(places:totable(), places_wanted)
  end
end)

case("optional roots", function(s)
  local n = 100 * s
  local b, c, re, im = gpu.rand(n) * 4, gpu.rand(n) * 2, gpu.zeros(n), gpu.zeros(n)
  return function() k.roots((n + 63) // 64, 64)(b, c, re, im, n) end, function()
    local x, y, wr, wi = b:totable(), c:totable(), {}, {}
    for i = 1, n do
      local d = x[i] * x[i] - 4 * y[i]
      wr[i] = d < 0 and -x[i] / 2 or (-x[i] + math.sqrt(d)) / 2
      wi[i] = d < 0 and math.sqrt(-d) / 2 or 0
      if math.abs(d) < 1e-5 then wi[i] = im[i] end
    end
    t.close(re, wr, 1e-5)
    t.close(im, wi, 1e-4)
  end
end)

case("Fibonacci numbers by powers of a matrix", function(s)
  local n = 90 * s
  local e, f = (gpu.range(0, n - 1) % 93):to("uint32"), gpu.zeros(n, "uint64")
  return function() k.powers((n + 31) // 32, 32)(e, f, n) end, function()
    local a, b = 0, 1
    t.same(f:totable(), t.list(n, function()
      local r = a
      a, b = b, a + b
      return r
    end))
  end
end)

case("tiles of a group and labelled groups", function(s)
  local n = 128 * s
  local x, y, mates = gpu.rand(n) + 0.01, gpu.zeros(n), gpu.zeros(n, i32)
  return function() k.rows_of_tiles(n // 64, 64)(x, y, mates) end, function()
    local v, wy, wm = x:totable(), {}, {}
    for i = 0, n - 1 do
      local sum, top, tile = 0, 0, i - i % 8
      for j = tile + 1, tile + 8 do sum, top = sum + v[j], math.max(top, v[j]) end
      wy[i + 1] = v[i + 1] / sum + i % 8 + 1 + (v[tile + 8] == top and 1 or 0)
      local same, rank, warp = 0, 0, i - i % 32
      for j = warp, warp + 31 do
        if v[j + 1] * 4 // 1 == v[i + 1] * 4 // 1 then
          same = same + 1
          if j < i then rank = rank + 1 end
        end
      end
      wm[i + 1] = same * 100 + rank
    end
    t.close(y, wy, 1e-5)
    t.same(mates:totable(), wm)
  end
end)

case("copies of a warp's group", function(s)
  local n = 384 * s
  local x, y = gpu.range(0, n - 1):to(i32), gpu.zeros(n, i32)
  return function() k.copied_by_group(n // 128, 64, 512)(x, y) end, function()
    t.same(y:totable(), t.list(n, function(i) return i - i % 64 + 63 end))
  end
end)

case("dots of 16 bit numbers", function(s)
  local rows, pairs_ = 3 * s, 50
  local function numbers(dtype) return (gpu.rand(rows * pairs_ * 2) * 7):to(i32):to(dtype) end
  local a, b, p, q, out = numbers "float16", numbers "float16", numbers "bfloat16", numbers "bfloat16", gpu.zeros(2 * rows)
  return function() k.dots16(rows, 32)(a, b, p, q, out, pairs_) end, function()
    local want = {}
    local ha, hb, hp, hq = a:totable(), b:totable(), p:totable(), q:totable()
    for r = 0, rows - 1 do
      local x, y = 0, 0
      for i = r * pairs_ * 2 + 1, (r + 1) * pairs_ * 2 do x, y = x + ha[i] * hb[i], y + hp[i] * hq[i] end
      want[#want + 1], want[#want + 2] = x, y -- small integers: exact
    end
    t.close(out, want, 0)
  end
end)

case("shapes that know their kind", function(s)
  local n = 100 * s
  local x, y = gpu.rand(n), gpu.zeros(n)
  return function() k.areas((n + 31) // 32, 32)(x, y, n) end, function()
    local v = x:totable()
    t.close(y, t.list(n, function(i) return i % 3 ~= 0 and 2 * v[i + 1] * (v[i + 1] + 1) or 6 * v[i + 1] ^ 2 end), 1e-5)
  end
end)

t.done()
