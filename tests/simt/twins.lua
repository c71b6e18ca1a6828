-- Kernels as courses have them, each with a twin that has one mistake: gpu.check has nothing to say of the one, whose
-- results are compared, and tells just the mistake of the other.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- In the source `right ?? wrong` between {{ }} says where the twins differ. launch(k) may return a function that looks at
-- the results; `want` is what is told of the wrong one: kinds and names, sorted.
local function twins(name, source, launch, want)
  local function told(side)
    local text = source:gsub("{{(.-)%?%?(.-)}}", side == 1 and "%1" or "%2")
    local k, seen, list, verify = gpu.kernel(text), {}, {}, nil
    for _, r in ipairs(gpu.check(function() verify = launch(k) end)) do
      local what = r.kind .. (r.name and " of " .. r.name or "")
      if not seen[what] then list[#list + 1] = what end
      seen[what] = true
    end
    table.sort(list)
    return table.concat(list, ", "), verify
  end
  t.test(name, function()
    local found, verify = told(1)
    t.eq(found, "", "of the right one")
    if verify then verify() end
    t.eq(told(2), want, "of the wrong one")
  end)
end

local function ints(n) return gpu.range(0, n - 1, 1, "int32") end
local function zeros(n) return gpu.zeros(n, "int32") end
-- k(o, n) with a grid and block; want(i, n) is what is in o[i], counted from 0.
local function run(grid, block, n, want, shared)
  return function(k)
    local o = zeros(grid * block)
    k(grid, block, shared or 0)(o, ints(1024), n)
    return function() for i = 0, want and grid * block - 1 or -1 do t.eq(o[i + 1], want(i, n), "o[" .. i .. "]") end end
  end
end

twins("a tile of structures", [==[
struct body { float x, y, z; int mass; };
__global__ void k(int *o, const int *x, int n) {
  __shared__ body tile[32];
  int t = threadIdx.x, sum = 0;
  for (int first = 0; first < n; first += 32) {
    tile[t] = {1, 2, 3, x[first + t]};
    __syncthreads();
    for (int i = 0; i < 32; i++) sum += tile[i].mass * (tile[i].z > tile[t].x);
    {{__syncthreads();??}}
  }
  o[t] = sum;
}]==], run(1, 32, 128, function() return 127 * 64 end), "race of tile")

twins("early returns", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t < n ? x[t] : 0;
  {{??if (t >= n) return;}}
  __syncthreads();
  if (t >= n) return;
  o[t] = s[n - 1 - t];
}]==], run(1, 64, 40, function(i, n) return i < n and n - 1 - i or 0 end), "barrier divergence")

twins("a loop that a flag ends", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ bool done;
  int t = threadIdx.x, v = 0;
  for (int round = 0;; round++) {
    if (t == 0) done = x[round] >= n;
    __syncthreads();
    if (done) break;
    v += round;
    {{__syncthreads();??}}
  }
  o[t] = v;
}]==], run(1, 32, 5, function() return 10 end), "race of done")

twins("what a ternary looks at", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  o[t] = t {{<??<=}} n ? s[t] : -1;
}]==], run(1, 64, 20, function(i, n) return i < n and i or -1 end), "uninitialized read of s")

twins("a union in two phases", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ union { int count[64]; float sum[64]; } u;
  int t = threadIdx.x;
  u.count[t] = x[t];
  __syncthreads();
  int v = u.count[63 - t];
  {{__syncthreads();??}}
  u.sum[t] = v + 1;
  __syncthreads();
  o[t] = (int)u.sum[(t + 1) % 64];
}]==], run(1, 64, 0, function(i) return 64 - (i + 1) % 64 end), "race of u")

twins("pointers to shared memory that change places", [==[
__device__ void step(int *to, const int *from, int t, int d) { to[t] = from[t] + (t >= d ? from[t - d] : 0); }
__global__ void k(int *o, const int *x, int n) {
  __shared__ int a[64], b[64];
  int t = threadIdx.x, *from = a, *to = b;
  a[t] = 1;
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    step(to, from, t, d);
    int *was = from; from = to; to = was;
    {{__syncthreads();??}}
  }
  o[t] = from[t];
}]==], run(1, 64, 0, function(i) return i + 1 end), "race of a, race of b")

twins("a producer and a consumer", [==[
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 64;" :: "r"(id) : "memory"); }
__device__ void wait(int id) { asm volatile("bar.sync %0, 64;" :: "r"(id) : "memory"); }
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[2][32];
  int lane = threadIdx.x % 32, sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < n; i++) {
      if (i > 1) wait(3 + i % 2);
      s[i % 2][lane] = x[i * 32 + lane];
      arrive(1 + i % 2);
    }
  } else {
    for (int i = 0; i < n; i++) {
      wait(1 + i % 2);
      sum += s[i % 2][31 - lane];
      if (i + {{2??3}} < n) arrive(3 + i % 2);
    }
    o[lane] = sum;
  }
}]==], function(k)
  local o = zeros(32)
  k(1, 64)(o, ints(1024), 4)
  return function() t.eq(o[1], 31 + 63 + 95 + 127) end
end, "barrier divergence")

twins("two buffers that are copied to", [==[
#include <cuda_pipeline.h>
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int i = 0; i < n; i++) {
    if (i + 1 < n) __pipeline_memcpy_async(&s[(i + 1) % 2][t], &x[(i + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i % 2][63 - t];
    {{__syncthreads();??}}
  }
  o[t] = sum;
}]==], run(1, 64, 3, function(i) return 3 * (63 - i) + 192 end), "race of s")

twins("copies that are waited for", [==[
#include <cuda_pipeline.h>
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][t], &x[i * n + t], 4);
    __pipeline_commit();
  }
  __pipeline_wait_prior({{0??1}});
  o[t] = s[0][t] + s[1][t];
}]==], run(1, 64, 64, function(i) return 2 * i + 64 end), "race of s")

twins("a warp's sum in shared memory", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32;
  s[t] = x[t];
  __syncwarp();
  for (int d = 16; d > 0; d /= 2) {
    if (lane < d) s[t] += s[t + d];
    {{__syncwarp();??}}
  }
  o[t] = s[t - lane];
}]==], run(1, 64, 0, function(i) return i < 32 and 496 or 1520 end), "race of s")

twins("neighbours in a warp", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32;
  for (int i = 0; i < n; i++) {
    s[t] = x[t] + i;
    __syncwarp();
    o[t] += s[t - lane + (lane + 1) % 32];
    {{__syncwarp();??}}
  }
}]==], run(1, 64, 3, function(i) return 3 * (i - i % 32 + (i + 1) % 32) + 3 end), "race of s")

twins("a flag with fences", [==[
__device__ int flag, data;
__global__ void k(int *o, const int *x, int n) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      data = n;
      {{__threadfence();??}}
      atomicExch(&flag, 1);
    }
  } else if (threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) ;
    __threadfence();
    o[0] = data;
  }
}]==], function(k)
  local o = zeros(1)
  k(2, 32)(o, ints(4), 7)
  return function() t.eq(o[1], 7) end
end, "race of data")

twins("the last block adds up", [==[
__device__ unsigned done;
__global__ void k(int *o, const int *x, int n) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    o[1 + blockIdx.x] = blockIdx.x + n;
    {{__threadfence();??}}
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += o[1 + i];
    o[0] = sum;
  }
}]==], function(k)
  local o = zeros(9)
  k(8, 64)(o, ints(4), 7)
  return function() t.eq(o[1], 28 + 56) end
end, "race of o")

twins("tiles of cooperative groups", [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int *mine = s + tile.meta_group_rank() * 16, r = tile.thread_rank();
  mine[r] = x[threadIdx.x];
  {{tile.sync();??}}
  int v = mine[15 - r];
  for (int d = 8; d > 0; d /= 2) v += tile.shfl_down(v, d);
  o[threadIdx.x] = tile.shfl(v, 0);
}]==], run(1, 64, 0, function(i) return 120 + i // 16 * 256 end), "race of s")

twins("a histogram of the block", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int bins[16];
  int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  {{__syncthreads();??}}
  for (int i = t; i < n; i += 64) atomicAdd(&bins[x[i] % 16], 1);
  __syncthreads();
  o[t] = t < 16 ? bins[t] : 0;
}]==], run(1, 64, 160, function(i) return i < 16 and 10 or 0 end), "race of bins")

twins("what is kept, behind a counter", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int count, kept[64];
  int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  if (x[t] % 3 == 0) kept[atomicAdd(&count, 1)] = x[t];
  {{__syncthreads();??}}
  int total = count;
  __syncthreads();
  o[t] = t < total ? kept[t] % 3 : n;
}]==], run(1, 64, 9, function(i, n) return i < 22 and 0 or n end), "race of count")

twins("a mean for all", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ float mean;
  int t = threadIdx.x;
  if (t == 0) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    mean = sum / n;
  }
  {{__syncthreads();??}}
  o[t] = x[t] > mean;
}]==], run(1, 64, 64, function(i) return i > 31 and 1 or 0 end), "race of mean")

twins("cases of a switch", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int low, high, other;
  int t = threadIdx.x;
  switch (t) {
  case 0: low = n; break;
  case 1: high = 2 * n; break;
  case {{2??1 + 64}}: other = 3; break;
  default: break;
  }
  __syncthreads();
  o[t] = t < 20 ? low : t < 40 ? high : other;
}]==], run(1, 64, 5, function(i, n) return i < 20 and n or i < 40 and 2 * n or 3 end), "uninitialized read of other")

twins("columns of a tile", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[8][9];
  int t = threadIdx.x;
  s[t / 8][t % 8] = x[t];
  __syncthreads();
  o[t] = s[t % 8 {{??+ 1}}][t / 8];
}]==], run(1, 64, 0, function(i) return i % 8 * 8 + i // 8 end), "out of bounds of s")

twins("dynamic shared memory in parts", [==[
__global__ void k(int *o, const int *x, int n) {
  extern __shared__ char bytes[];
  int *keys = (int *)bytes;
  float *values = (float *)(bytes + {{64??60}} * sizeof(int));
  int t = threadIdx.x;
  keys[t] = x[t];
  values[t] = 2 * x[t];
  __syncthreads();
  o[t] = keys[63 - t] + (int)values[t];
}]==], run(1, 64, 0, function(i) return 63 - i + 2 * i end, 512), "race of bytes")

twins("a loop with continue", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[8], first;
  int t = threadIdx.x, v = 0;
  if (t < n) s[t] = x[t];
  if (t == 9) first = 3;
  __syncthreads();
  for (int i = 0; i < 8; i++) {
    if (i >= n {{??+ 1}}) continue;
    v += s[i] * (t > 50 ? first : 1);
  }
  o[t] = v;
}]==], run(1, 64, 5, function(i) return i > 50 and 30 or 10 end), "uninitialized read of s")

twins("a queue that a leader empties", [==[
struct queue { int head, tail, items[64]; };
__global__ void k(int *o, const int *x, int n) {
  __shared__ queue q;
  __shared__ int item;
  int t = threadIdx.x, v = 0;
  q.items[t] = x[t];
  if (t == 0) q.head = 0, q.tail = n;
  __syncthreads();
  for (;;) {
    if (t == 0) item = q.head < q.tail ? q.items[q.head++] : -1;
    __syncthreads();
    int mine = item;
    {{__syncthreads();??}}
    if (mine < 0) break;
    v += mine;
  }
  o[t] = v;
}]==], run(1, 64, 10, function() return 45 end), "race of item")

twins("a lock around a sum", [==[
__device__ int lock, total;
__global__ void k(int *o, const int *x, int n) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) ;
    __threadfence();
    total += n;
    {{__threadfence();??}}
    atomicExch(&lock, 0);
  }
}]==], function(k) k(8, 32)(zeros(1), ints(1), 3) end, "race of total")

twins("a member by pointer, of a function that returns early", [==[
struct state { int level, values[64]; };
__device__ int look(const state *s, int t, int n) {
  if (t >= n) return -1;
  return s->values[t] + s->level;
}
__global__ void k(int *o, const int *x, int n) {
  __shared__ state s;
  int t = threadIdx.x;
  if (t < n) s.values[t] = x[t];
  if (t == 0) s.level = {{n??1}};
  __syncthreads();
  {{??if (t == 40) s.level = 5;}}
  o[t] = look(&s, t, n);
}]==], run(1, 64, 30, function(i, n) return i < n and i + n or -1 end), "race of s")

twins("stacks of threads", [==[
template <int N> struct stack {
  int top, items[N];
  __device__ void push(int v) { items[top++] = v; }
  __device__ int pop() { return items[--top]; }
};
__global__ void k(int *o, const int *x, int n) {
  __shared__ stack<4> all[64];
  stack<4> &mine = all[threadIdx.x {{??/ 2}}];
  mine.top = 0;
  for (int i = 0; i < n; i++) mine.push(i + x[threadIdx.x]);
  int v = 0;
  while (mine.top > 0) v += mine.pop();
  o[threadIdx.x] = v;
}]==], run(1, 64, 3, function(i) return 3 * i + 3 end), "race of all")

twins("until nothing changes", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int label[64], changed;
  int t = threadIdx.x;
  label[t] = t;
  do {
    __syncthreads();
    if (t == 0) changed = 0;
    __syncthreads();
    int v = t > 0 ? label[t - 1] : 0;
    {{__syncthreads();??}}
    if (v < label[t]) {
      label[t] = v;
      changed = 1;
    }
    __syncthreads();
  } while (changed);
  o[t] = label[t];
}]==], run(1, 64, 0, function() return 0 end), "race of label")

twins("sums of warps that there are", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int sums[32];
  int t = threadIdx.x, lane = t % 32, v = x[t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (lane == 0) sums[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = lane < {{blockDim.x / 32??n}} ? sums[lane] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (lane == 0) sums[0] = v;
  }
  __syncthreads();
  o[t] = sums[0];
}]==], run(1, 96, 5, function() return 95 * 48 end), "uninitialized read of sums")

twins("a variable of the device that one thread sets", [==[
__device__ int best;
__global__ void k(int *o, const int *x, int n) {
  int t = threadIdx.x, v = 0;
  if (t == 5) best = n;
  {{__syncthreads();??}}
  if (x[t] > 10) v = best;
  o[t] = v;
}]==], run(1, 64, 8, function(i, n) return i > 10 and n or 0 end), "race of best")

twins("of two members one is set", [==[
struct options { int mode, a, b; };
__global__ void k(int *o, const int *x, int n) {
  __shared__ options s;
  int t = threadIdx.x;
  if (t == 0) {
    s.mode = n;
    if (n == 1) s.a = 3; else s.b = 4;
  }
  __syncthreads();
  o[t] = s.mode == {{1??2}} ? s.a : s.b;
}]==], run(1, 64, 1, function() return 3 end), "uninitialized read of s")

twins("what a thread keeps for itself until the barrier", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int winner;
  int t = threadIdx.x, v = 0;
  if (t == n) winner = x[t];
  if (t {{==??>=}} n) v = winner + 1;
  __syncthreads();
  o[t] = v + winner;
}]==], run(1, 64, 9, function(i, n) return i == n and 2 * n + 1 or n end), "race of winner")

twins("bytes and bits", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ unsigned char seen[64];
  int t = threadIdx.x;
  seen[t] = 0;
  __syncthreads();
  seen[{{t??t / 8}}] |= 1 << (x[t] & 7);
  __syncthreads();
  o[t] = seen[t];
}]==], run(1, 64, 0, function(i) return 1 << i % 8 end), "race of seen")

twins("vectors of two", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ __align__(16) int s[256];
  int t = threadIdx.x;
  s[4 * t] = x[t];
  s[4 * t + 1] = n;
  __syncthreads();
  int2 v = ((int2 *)s)[2 * (63 - t){{?? + 1}}];
  o[t] = v.x + v.y;
}]==], run(1, 64, 7, function(i, n) return 63 - i + n end), "uninitialized read of s")

twins("a stencil with its rim", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[66];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = x[i];
  if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
  if (t == {{63??64}}) s[65] = x[i + 1];
  __syncthreads();
  o[i] = s[t] + s[t + 1] + s[t + 2];
}]==], run(2, 64, 0, function(i) return 3 * i + (i == 0 and 1 or 0) end), "uninitialized read of s")

twins("exchanges in the order of bitonic sorts", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t] ^ 21;
  for (int size = 2; size <= 64; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      {{__syncthreads();??if (d > 1) __syncthreads();}}
      int other = t ^ d;
      if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
        int v = s[t];
        s[t] = s[other];
        s[other] = v;
      }
    }
  __syncthreads();
  o[t] = s[t];
}]==], run(1, 64, 0, function(i) return i end), "race of s")

twins("roles of warps that read what others choose", [==[
__global__ void k(int *o, const int *x, int n) {
  __shared__ int plan[2], result;
  int t = threadIdx.x, warp = t / 32, v = 0;
  if (t == 0) plan[0] = n;
  if (t == 32) plan[1] = n + 1;
  __syncwarp();
  if (warp == 0) v = plan[0];
  else if (warp == 1) v = plan[{{1??0}}];
  __syncthreads();
  if (t == 95) result = v + 2;
  __syncthreads();
  o[t] = v + result;
}]==], run(1, 96, 4, function(i, n) return i < 32 and n + 2 or i < 64 and n + 3 or 2 end), "race of plan")

t.done()
