-- Prefix sums: of a block in several ways, of an array in three passes and in one, by segments, and what is built on them.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
// Inclusive, two buffers, a barrier a step.
__global__ void hillis(const int *x, int *out, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x, from = 0;
  s[t] = t < n ? x[t] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int to = blockDim.x - from;
    s[to + t] = s[from + t] + (t >= d ? s[from + t - d] : 0);
    from = to;
    __syncthreads();
  }
  if (t < n) out[t] = s[from + t];
}
#define PAD(i) ((i) + ((i) >> 5))
// Exclusive, up and down a tree, two elements a thread, padded against bank conflicts.
__global__ void blelloch(const int *x, int *out, int n) {
  __shared__ int s[PAD(512)];
  int t = threadIdx.x, d = 1;
  s[PAD(2 * t)] = 2 * t < n ? x[2 * t] : 0;
  s[PAD(2 * t + 1)] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
  for (int w = 256; w; w /= 2, d *= 2) {
    __syncthreads();
    if (t < w) s[PAD(d * (2 * t + 2) - 1)] += s[PAD(d * (2 * t + 1) - 1)];
  }
  if (t == 0) s[PAD(511)] = 0;
  for (int w = 1; w < 512; w *= 2) {
    d /= 2;
    __syncthreads();
    if (t < w) {
      int a = PAD(d * (2 * t + 1) - 1), b = PAD(d * (2 * t + 2) - 1), v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  if (2 * t < n) out[2 * t] = s[PAD(2 * t)];
  if (2 * t + 1 < n) out[2 * t + 1] = s[PAD(2 * t + 1)];
}
__device__ int warp_scan(int v) {
  int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += u;
  }
  return v;
}
__device__ int block_scan(int v, int *sums) {  // inclusive; blockDim.x a multiple of 32; sums[32] is shared
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  v = warp_scan(v);
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int u = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0);
    sums[lane] = u;
  }
  __syncthreads();
  if (warp) v += sums[warp - 1];
  __syncthreads();
  return v;
}
// An array in three passes.
__global__ void scan_blocks(const int *x, int *out, int *totals, int n) {
  __shared__ int sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? x[i] : 0, sums);
  if (i < n) out[i] = v;
  if (threadIdx.x == blockDim.x - 1 && totals) totals[blockIdx.x] = v;
}
__global__ void add_totals(int *out, const int *totals, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x && i < n) out[i] += totals[blockIdx.x - 1];
}
// An array in one pass: each block looks back at its predecessors' sums. Blocks take their number from a counter.
__global__ void lookback(const int *x, int *out, volatile unsigned long long *state, unsigned *ticket, int n) {
  __shared__ int sums[32], number, before;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1);
  __syncthreads();
  int b = number, i = b * blockDim.x + threadIdx.x;
  int v = block_scan(i < n ? x[i] : 0, sums);
  if (threadIdx.x == blockDim.x - 1) {
    const unsigned long long aggregate = 1ull << 32, prefix = 2ull << 32;
    state[b] = (b ? aggregate : prefix) | (unsigned)v;
    int sum = 0;
    for (int p = b - 1; p >= 0; p--) {
      unsigned long long s;
      while ((s = state[p]) >> 32 == 0) ;
      sum += (int)(unsigned)s;
      if (s >> 32 == 2) break;
    }
    before = sum;
    if (b) state[b] = prefix | (unsigned)(sum + v);
  }
  __syncthreads();
  if (i < n) out[i] = before + v;
}
// Sums that start anew where a flag is set.
__global__ void segmented(const int *x, const int *flag, int *out, int n) {
  __shared__ int value[2][128], head[2][128];
  int t = threadIdx.x, from = 0;
  value[0][t] = t < n ? x[t] : 0;
  head[0][t] = t < n ? flag[t] : 0;
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    int v = value[from][t], f = head[from][t];
    if (t >= d && !f) v += value[from][t - d], f = head[from][t - d];
    value[!from][t] = v, head[!from][t] = f;
    from = !from;
    __syncthreads();
  }
  if (t < n) out[t] = value[from][t];
}
// The elements that are wanted, in order, and the number of them.
__global__ void compact(const int *x, int *out, int *count, int n) {
  __shared__ int sums[32];
  int base = 0;
  for (int start = 0; start < n; start += blockDim.x) {
    int i = start + threadIdx.x, keep = i < n && x[i] % 3 == 0;
    int at = block_scan(keep, sums);
    if (keep) out[base + at - 1] = x[i];
    base += __syncthreads_count(keep);
  }
  if (threadIdx.x == 0) *count = base;
}
// The same without order: a warp reserves its places by one atomic.
__global__ void filter(const int *x, int *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, base = 0;
  bool keep = i < n && x[i] % 3 == 0;
  unsigned mask = __ballot_sync(~0u, keep);
  if (lane == 0) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = x[i];
}
__global__ void running_max(const float *x, float *out, int n) {
  int lane = threadIdx.x;
  float carry = -1e30f;
  for (int start = 0; start < n; start += 32) {
    float v = start + lane < n ? x[start + lane] : -1e30f;
    for (int d = 1; d < 32; d *= 2) {
      float u = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v = fmaxf(v, u);
    }
    v = fmaxf(v, carry);
    if (start + lane < n) out[start + lane] = v;
    carry = __shfl_sync(~0u, v, 31);
  }
}
// A summed-area table: along rows by warps, then along columns by threads.
__global__ void along_rows(const int *x, int *out, int h, int w) {
  int lane = threadIdx.x, r = blockIdx.x * blockDim.y + threadIdx.y, carry = 0;
  if (r >= h) return;
  for (int c = lane; c - lane < w; c += 32) {
    int v = warp_scan(c < w ? x[r * w + c] : 0) + carry;
    if (c < w) out[r * w + c] = v;
    carry = __shfl_sync(~0u, v, 31);
  }
}
__global__ void along_columns(int *x, int h, int w) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, v = 0;
  if (c < w) for (int r = 0; r < h; r++) v = x[r * w + c] += v;
}
// The composition of affine maps, which does not commute: y[i] = a[i] * y[i - 1] + b[i], modulo 2^32.
__global__ void recurrence(const unsigned *a, const unsigned *b, unsigned *y, int n) {
  __shared__ uint2 s[2][256];
  int t = threadIdx.x, from = 0;
  s[0][t] = t < n ? make_uint2(a[t], b[t]) : make_uint2(1, 0);
  __syncthreads();
  for (int d = 1; d < 256; d *= 2, from = !from) {
    uint2 m = s[from][t];
    if (t >= d) {
      uint2 p = s[from][t - d];
      m = make_uint2(m.x * p.x, m.x * p.y + m.y);
    }
    s[!from][t] = m;
    __syncthreads();
  }
  if (t < n) y[t] = s[from][t].y;
}
// Runs of equal elements: where each starts, by a scan of heads; one block.
__global__ void runs(const int *x, int *value, int *start, int *count, int n) {
  __shared__ int sums[32];
  int t = threadIdx.x, head = t < n && (t == 0 || x[t] != x[t - 1]);
  int at = block_scan(head, sums);
  if (head) value[at - 1] = x[t], start[at - 1] = t;
  if (t == blockDim.x - 1) *count = at;
}]=]

local function numbers(n)
  return t.list(n, function(i) return (i * i * 31 + 7 * i) % 211 - 60 end)
end

local function scanned(x, inclusive)
  local out, sum = {}, 0
  for i, v in ipairs(x) do
    out[i] = inclusive and sum + v or sum
    sum = sum + v
  end
  return out
end

for name, launch in pairs { hillis = { 1, 256, 2048 }, blelloch = { 1, 256 } } do
  t.test("the " .. name .. " scan of a block", function()
    for _, n in ipairs { 1, 31, 32, 33, 200, 256 } do
      local x, out = numbers(n), gpu.zeros(n, "int32")
      k[name](table.unpack(launch))(gpu.array(x, "int32"), out, n)
      t.same(out:totable(), scanned(x, name == "hillis"))
    end
  end)
end

t.test("a scan of an array in three passes", function()
  for _, n in ipairs { 1, 96, 97, 1000, 3001 } do
    local blocks = (n + 95) // 96
    local x, out, totals = numbers(n), gpu.zeros(n, "int32"), gpu.zeros(blocks, "int32")
    k.scan_blocks(blocks, 96)(gpu.array(x, "int32"), out, totals, n)
    k.scan_blocks(1, 64)(totals, totals, nil, blocks)
    k.add_totals(blocks, 96)(out, totals, n)
    t.same(out:totable(), scanned(x, true))
  end
end)

t.test("a scan of an array in one pass that looks back", function()
  for _, n in ipairs { 1, 64, 65, 2000 } do
    local blocks = (n + 63) // 64
    local x, out = numbers(n), gpu.zeros(n, "int32")
    k.lookback(blocks, 64)(gpu.array(x, "int32"), out, gpu.zeros(blocks, "uint64"), gpu.zeros(1, "uint32"), n)
    t.same(out:totable(), scanned(x, true))
  end
end)

t.test("a scan by segments", function()
  local n, x, want, sum = 111, numbers(111), {}, 0
  local flags = t.list(n, function(i) return i * i % 7 == 4 and 1 or 0 end)
  for i = 1, n do
    sum = flags[i] == 1 and x[i] or sum + x[i]
    want[i] = sum
  end
  local out = gpu.zeros(n, "int32")
  k.segmented(1, 128)(gpu.array(x, "int32"), gpu.array(flags, "int32"), out, n)
  t.same(out:totable(), want)
end)

t.test("compaction in order and without", function()
  for _, n in ipairs { 1, 64, 333 } do
    local x, want = numbers(n), {}
    for _, v in ipairs(x) do if v % 3 == 0 then want[#want + 1] = v end end
    local a, b, count = gpu.zeros(n, "int32"), gpu.zeros(n, "int32"), gpu.zeros(2, "int32")
    k.compact(1, 96)(gpu.array(x, "int32"), a, count, n)
    k.filter((n + 63) // 64, 64)(gpu.array(x, "int32"), b, count[{ { 2, 2 } }], n)
    t.same(count:totable(), { #want, #want })
    if #want > 0 then
      local got = b[{ { 1, #want } }]:totable()
      t.same(a[{ { 1, #want } }]:totable(), want)
      table.sort(got)
      table.sort(want)
      t.same(got, want)
    end
  end
end)

t.test("running maxima", function()
  local x, want, high = numbers(100), {}, -1e30
  for i, v in ipairs(x) do
    high = math.max(high, v)
    want[i] = high + 0.0
  end
  local out = gpu.zeros(100)
  k.running_max(1, 32)(gpu.array(x), out, 100)
  t.same(out:totable(), want)
end)

t.test("a summed-area table", function()
  local h, w = 19, 45
  local x, out = numbers(h * w), gpu.zeros({ h, w }, "int32")
  k.along_rows(5, { 32, 4 })(gpu.array(x, "int32"), out, h, w)
  k.along_columns(2, 32)(out, h, w)
  local got = out:totable()
  for r = 1, h do
    local row = 0
    for c = 1, w do
      row = row + x[(r - 1) * w + c]
      t.eq(got[r][c], row + (r > 1 and got[r - 1][c] or 0))
    end
  end
end)

t.test("a linear recurrence by a scan of maps", function()
  local n, y, want = 250, 0, {}
  local a, b = t.list(n, function(i) return 2654435761 * (i + 1) % 2 ^ 32 // 1 | 0 end), t.list(n, function(i) return i * i + 3 end)
  for i = 1, n do
    y = (a[i] * y + b[i]) & 0xffffffff
    want[i] = y
  end
  local out = gpu.zeros(n, "uint32")
  k.recurrence(1, 256)(gpu.array(a, "uint32"), gpu.array(b, "uint32"), out, n)
  t.same(out:totable(), want)
end)

t.test("runs of equal elements", function()
  local x = t.list(120, function(i) return (i // (1 + i % 5)) // 9 end)
  local values, starts = {}, {}
  for i, v in ipairs(x) do
    if v ~= x[i - 1] then values[#values + 1], starts[#starts + 1] = v, i - 1 end
  end
  local value, start, count = gpu.zeros(128, "int32"), gpu.zeros(128, "int32"), gpu.zeros(1, "int32")
  k.runs(1, 128)(gpu.array(x, "int32"), value, start, count, 120)
  t.eq(count[1], #values)
  t.same(value[{ { 1, #values } }]:totable(), values)
  t.same(start[{ { 1, #values } }]:totable(), starts)
end)

t.done()
