-- Sums of blocks: by a tree in shared memory (static and dynamic), by warp shuffles, by votes and matches; sums, extremes
-- and moments of whole arrays in the ways that the literature on reductions goes through.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__global__ void tree(const float *x, float *out, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = blockDim.x / 2; d; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void shuffles(const float *x, float *out, int n) {
  __shared__ float s[32];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  float v = i < n ? x[i] : 0;
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? s[t] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}
__global__ void votes(const int *x, int *out) {
  int t = threadIdx.x;
  unsigned odd = __ballot_sync(0xffffffffu, x[t] & 1);
  out[t] = __popc(odd & ((1u << (t & 31)) - 1)) + 100 * __any_sync(0xffffffffu, x[t] == 3) +
           1000 * __all_sync(0xffffffffu, x[t] < 64) + 10000 * __popc(__match_any_sync(0xffffffffu, x[t] / 4));
}
__global__ void scan(int *x) {
  int lane = threadIdx.x & 31, v = x[threadIdx.x];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += u;
  }
  x[threadIdx.x] = v + 1000 * __syncthreads_count(threadIdx.x & 1) + 0 * __reduce_add_sync(0xffffffffu, lane);
}

// One block's sum in its first thread.
__global__ void interleaved(const float *x, float *out, int n) {  // every second, fourth, ... thread works
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void strided(const float *x, float *out, int n) {  // neighbouring threads work, with bank conflicts
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int j = 2 * d * t;
    if (j < blockDim.x) s[j] += s[j + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void lastwarp(const float *x, float *out, int n) {  // the last warp without block barriers
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 32; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) {
    float v = s[t] + s[t + 32];
    for (int d = 16; d; d /= 2) {
      s[t] = v;
      __syncwarp();
      v += s[t + d];
      __syncwarp();
    }
    if (t == 0) out[blockIdx.x] = v;
  }
}
template <int B> __device__ void unrolled_sum(float *s, int t) {
  if (B >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
  if (B >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
  if (B >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
#pragma unroll
  for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
}
__global__ void unrolled(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  unrolled_sum<256>(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void collective(const float *x, float *out, int n) {  // integers, by the warp's own reduction
  __shared__ int total;
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t == 0) total = 0;
  __syncthreads();
  int v = __reduce_add_sync(~0u, i < n ? (int)x[i] : 0);
  if (t % 32 == 0) atomicAdd(&total, v);
  __syncthreads();
  if (t == 0) out[blockIdx.x] = total;
}

// Whole arrays in one launch.
__global__ void striding(const int *x, int *total, int n) {
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) atomicAdd(total, v);
}
__device__ unsigned arrived;
__global__ void lastblock(const float *x, volatile float *partial, float *total, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) v += x[i];
  s[t] = v;
  __syncthreads();
  for (int d = 64; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    v = 0;
    for (int b = 0; b < gridDim.x; b++) v += partial[b];
    *total = v;
  }
}
struct Best { float value; int index; };
__device__ Best better(Best a, Best b) { return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a; }
__global__ void argmin(const float *x, float *value, int *index, int n) {
  __shared__ Best s[64];
  int t = threadIdx.x;
  Best mine = {1e30f, n};
  for (int i = t; i < n; i += 64) mine = better(mine, Best{x[i], i});
  s[t] = mine;
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] = better(s[t], s[t + d]); __syncthreads(); }
  if (t == 0) *value = s[0].value, *index = s[0].index;
}
__global__ void dot(const float *a, const float *b, double *out, int n) {
  double v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += (double)a[i] * b[i];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
__global__ void fours(const float4 *x, float *total, int fours) {
  float v = 0;
  for (int i = threadIdx.x; i < fours; i += blockDim.x) {
    float4 q = x[i];
    v += (q.x + q.y) + (q.z + q.w);
  }
  atomicAdd(total, v);
}
__global__ void kahan(const float *x, float *out, int n) {  // one thread; plain and compensated
  float s = 0, c = 0, plain = 0;
  for (int i = 0; i < n; i++) {
    float y = __fsub_rn(x[i], c), u = __fadd_rn(s, y);
    c = __fsub_rn(__fsub_rn(u, s), y);
    s = u;
    plain += x[i];
  }
  out[0] = s, out[1] = plain;
}
struct Moments { float n, mean, m2; };
__device__ Moments merge(Moments a, Moments b) {
  float n = a.n + b.n;
  if (n == 0) return a;
  float d = b.mean - a.mean;
  return {n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n};
}
__global__ void welford(const float *x, float *out, int n) {
  Moments m = {0, 0, 0};
  for (int i = threadIdx.x; i < n; i += 32) m = merge(m, Moments{1, x[i], 0});
  for (int d = 16; d; d /= 2) {
    Moments o = {__shfl_down_sync(~0u, m.n, d), __shfl_down_sync(~0u, m.mean, d), __shfl_down_sync(~0u, m.m2, d)};
    m = merge(m, o);
  }
  if (threadIdx.x == 0) out[0] = m.mean, out[1] = m.m2 / m.n;
}
__global__ void rows(const float *x, float *out, int w) {  // a block per row
  __shared__ float part[4];
  float v = 0;
  for (int c = threadIdx.x; c < w; c += 128) v += x[blockIdx.x * w + c];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
__global__ void columns(const float *x, float *out, int h, int w) {  // 32 columns, 8 rows at a time
  __shared__ float s[8][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  float v = 0;
  if (c < w) for (int r = threadIdx.y; r < h; r += 8) v += x[r * w + c];
  s[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  for (int d = 4; d; d /= 2) {
    if (threadIdx.y < d) s[threadIdx.y][threadIdx.x] += s[threadIdx.y + d][threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.y == 0 && c < w) out[c] = s[0][threadIdx.x];
}
__global__ void bykey(const int *key, const int *value, int *sums, int n) {  // one atomic per key and warp
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned active = __ballot_sync(~0u, i < n);
  if (i >= n) return;
  unsigned same = __match_any_sync(active, key[i]);
  int v = __reduce_add_sync(same, value[i]);
  if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&sums[key[i]], v);
}
__global__ void predicates(const int *x, int *out, int n) {
  int t = threadIdx.x, v = t < n ? x[t] : 2;
  int all = __syncthreads_and(v > 0), any = __syncthreads_or(v > 90), count = __syncthreads_count(v % 2 == 0);
  if (t == 0) out[0] = all != 0, out[1] = any != 0, out[2] = count;
}]=]

for _, name in ipairs { "tree", "shuffles", "interleaved", "strided", "lastwarp", "unrolled", "collective" } do
  t.test("block sums by " .. name, function()
    for _, n in ipairs { 1, 255, 256, 1000, 5000 } do
      local blocks, x = (n + 255) // 256, gpu.range(0, n - 1, 1, "float32") % 17
      local out = gpu.zeros(blocks)
      k[name](blocks, 256, 1024)(x, out, n)
      t.eq(out:sum(), x:sum(), "sum of " .. n)
      t.eq(out[1], x[{ { 1, math.min(n, 256) } }]:sum())
    end
  end)
end

t.test("votes and matches", function()
  local values, out = {}, gpu.zeros(64, "int32")
  for i = 0, 63 do values[i + 1] = i end
  k.votes(1, 64)(gpu.array(values, "int32"), out)
  for i = 0, 63 do
    t.eq(out[i + 1], (i % 32) // 2 + (i < 32 and 100 or 0) + 1000 + 40000, "thread " .. i)
  end
end)

t.test("an inclusive scan of each warp", function()
  local x = gpu.ones(96, "int32")
  k.scan(1, 96)(x)
  for i = 0, 95 do t.eq(x[i + 1], i % 32 + 1 + 48000) end
end)

t.test("a sum by a grid-stride loop and an atomic per warp", function()
  for _, n in ipairs { 0, 1, 33, 1000, 4097 } do
    local x, total = gpu.array(t.list(4097, function(i) return i * i % 1009 - 500 end), "int32"), gpu.zeros(1, "int32")
    local want = 0
    for i = 0, n - 1 do want = want + i * i % 1009 - 500 end
    k.striding(3, 64)(x, total, n)
    t.eq(total[1], want, "sum of " .. n)
  end
end)

t.test("a sum that the last block finishes", function()
  local x = gpu.range(0, 2999, 1, "float32") % 23
  for _, blocks in ipairs { 1, 5, 9 } do
    local partial, total = gpu.zeros(blocks), gpu.zeros(1)
    k.lastblock(blocks, 128)(x, partial, total, 3000)
    t.eq(total[1], x:sum())
  end
end)

t.test("the first of the smallest elements", function()
  for _, n in ipairs { 1, 63, 64, 65, 1000 } do
    local values = t.list(n, function(i) return (i * 7919 + 13) % 101 end)
    local at = 1
    for i = 2, n do if values[i] < values[at] then at = i end end
    local value, index = gpu.zeros(1), gpu.zeros(1, "int32")
    k.argmin(1, 64)(gpu.array(values), value, index, n)
    t.eq(value[1], values[at] + 0.0)
    t.eq(index[1], at - 1)
  end
end)

t.test("a dot product in double", function()
  local a, b = t.list(1001, function(i) return i % 31 - 15 end), t.list(1001, function(i) return i % 17 - 4 end)
  local want, out = 0, gpu.zeros(1, "float64")
  for i = 1, 1001 do want = want + a[i] * b[i] end
  k.dot(2, 96)(gpu.array(a), gpu.array(b), out, 1001)
  t.eq(out[1], want + 0.0)
end)

t.test("a sum by loads of four floats", function()
  local x, total = gpu.range(0, 403, 1, "float32"), gpu.zeros(1)
  k.fours(1, 33)(x, total, 101)
  t.eq(total[1], x:sum())
end)

t.test("a compensated sum", function()
  local n, out = 5000, gpu.zeros(2)
  k.kahan(1, 1)(gpu.full(n, 0.1), out, n)
  t.near(out[1], n * string.unpack("f", string.pack("f", 0.1)), 4e-5)
  t.eq(math.abs(out[2] - 500) > 1e-3, true)
end)

t.test("mean and variance by merging moments", function()
  for _, n in ipairs { 1, 31, 100, 1000 } do
    local v, out = t.list(n, function(i) return 1000 + i * i % 13 end), gpu.zeros(2)
    local mean, var = 0, 0
    for i = 1, n do mean = mean + v[i] / n end
    for i = 1, n do var = var + (v[i] - mean) ^ 2 / n end
    k.welford(1, 32)(gpu.array(v), out, n)
    t.near(out[1], mean, 1e-3)
    t.near(out[2], var, 1e-3)
  end
end)

t.test("sums of rows and of columns", function()
  for _, s in ipairs { { 1, 1 }, { 7, 129 }, { 33, 70 } } do
    local h, w = s[1], s[2]
    local x, r, c = (gpu.range(0, h * w - 1, 1, "float32") % 19):reshape(h, w), gpu.zeros(h), gpu.zeros(w)
    k.rows(h, 128)(x, r, w)
    k.columns((w + 31) // 32, { 32, 8 })(x, c, h, w)
    t.same(r:totable(), x:sum(2):totable())
    t.same(c:totable(), x:sum(1):totable())
  end
end)

t.test("sums by key with one atomic per key and warp", function()
  local n, want = 333, t.list(10, function() return 0 end)
  local key, value = t.list(n, function(i) return (i * i) % 10 end), t.list(n, function(i) return i - 100 end)
  for i = 1, n do want[key[i] + 1] = want[key[i] + 1] + value[i] end
  local sums = gpu.zeros(10, "int32")
  k.bykey(3, 128)(gpu.array(key, "int32"), gpu.array(value, "int32"), sums, n)
  t.same(sums:totable(), want)
end)

t.test("all, any and how many of a block", function()
  local x, out = t.list(75, function(i) return i + 1 end), gpu.zeros(3, "int32")
  k.predicates(1, 100)(gpu.array(x, "int32"), out, 75)
  t.same(out:totable(), { 1, 0, 37 + 25 })
  x[3], x[40] = -1, 99
  k.predicates(1, 100)(gpu.array(x, "int32"), out, 75)
  t.same(out:totable(), { 0, 1, 36 + 25 })
end)

t.done()
