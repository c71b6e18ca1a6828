-- Sorting: networks, radix, merges, ranks; keys alone and with values; selection.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__device__ void order(int &a, int &b, bool up) {
  if (a > b == up) { int c = a; a = b; b = c; }
}
__global__ void bitonic_block(int *x) {  // blockDim.x elements, a power of two
  extern __shared__ int s[];
  int t = threadIdx.x;
  s[t] = x[t];
  for (int size = 2; size <= blockDim.x; size *= 2)
    for (int d = size / 2; d; d /= 2) {
      __syncthreads();
      int p = t ^ d;
      if (p > t) order(s[t], s[p], (t & size) == 0);
    }
  __syncthreads();
  x[t] = s[t];
}
__global__ void bitonic_step(int *x, int size, int d, int n) {  // one launch a step, n a power of two
  int t = blockIdx.x * blockDim.x + threadIdx.x, p = t ^ d;
  if (t < n && p > t) order(x[t], x[p], (t & size) == 0);
}
__global__ void bitonic_warp(int *x) {  // each warp its own 32, by shuffles
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = t & 31, v = x[t];
  for (int size = 2; size <= 32; size *= 2)
    for (int d = size / 2; d; d /= 2) {
      int o = __shfl_xor_sync(~0u, v, d);
      bool lower = !(lane & d), up = !(lane & size);
      v = lower == up ? min(v, o) : max(v, o);
    }
  x[t] = v;
}
__global__ void odd_even(int *x, int n) {
  extern __shared__ int s[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  for (int phase = 0; phase < n; phase++) {
    int i = 2 * t + (phase & 1);
    if (i + 1 < n) order(s[i], s[i + 1], true);
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x) x[i] = s[i];
}
__global__ void batcher(int *x, int n) {  // odd-even merge sort of 128 places
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = t < n ? x[t] : 0x7fffffff;
  __syncthreads();
  for (int p = 1; p < 128; p *= 2)
    for (int d = p; d; d /= 2) {
      int j = t - d % p;
      bool first = j >= 0 && j / d % 2 == 0 && t + d < 128 && t / (2 * p) == (t + d) / (2 * p);
      if (first) order(s[t], s[t + d], true);
      __syncthreads();
    }
  if (t < n) x[t] = s[t];
}
__global__ void ranks(const int *x, int *out, int n) {  // each element counts those before it
  __shared__ int s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0, v = i < n ? x[i] : 0;
  for (int start = 0; start < n; start += 64) {
    if (start + threadIdx.x < n) s[threadIdx.x] = x[start + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < min(64, n - start); j++) rank += s[j] < v || (s[j] == v && start + j < i);
    __syncthreads();
  }
  if (i < n) out[rank] = v;
}
// Radix sort, least significant digit first: digits of four bits counted by block, offsets, stable scatter by one thread a digit.
__global__ void radix_count(const unsigned *x, int *counts, int shift, int n) {
  __shared__ int s[16];
  if (threadIdx.x < 16) s[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&s[x[i] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = s[threadIdx.x];
}
__global__ void radix_offsets(int *counts, int n) {  // exclusive scan by one warp
  int carry = 0, lane = threadIdx.x;
  for (int i = lane; i - lane < n; i += 32) {
    int c = i < n ? counts[i] : 0, v = c;
    for (int d = 1; d < 32; d *= 2) {
      int u = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v += u;
    }
    if (i < n) counts[i] = carry + v - c;
    carry += __shfl_sync(~0u, v, 31);
  }
}
__global__ void radix_scatter(const unsigned *x, const int *value, unsigned *keys, int *values, const int *offsets, int shift, int n) {
  __shared__ int next[16], digits[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 16) next[t] = offsets[t * gridDim.x + blockIdx.x];
  digits[t] = i < n ? x[i] >> shift & 15 : 16;
  __syncthreads();
  if (i >= n) return;
  int at = next[digits[t]];
  for (int j = 0; j < t; j++) at += digits[j] == digits[t];
  keys[at] = x[i];
  values[at] = value[i];
}
__global__ void radix_split(unsigned *x, int n) {  // one bit at a time in one block, by a scan of the zeros
  __shared__ unsigned s[256];
  __shared__ int zeros[256];
  int t = threadIdx.x;
  s[t] = t < n ? x[t] : ~0u;
  for (int bit = 0; bit < 32; bit++) {
    unsigned v = s[t];
    int zero = !(v >> bit & 1);
    zeros[t] = zero;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
      int u = t >= d ? zeros[t - d] : 0;
      __syncthreads();
      zeros[t] += u;
      __syncthreads();
    }
    int all = zeros[255], before = zeros[t] - zero;
    s[zero ? before : all + t - before] = v;
    __syncthreads();
  }
  if (t < n) x[t] = s[t];
}
// Merges neighbouring runs of `run` elements: each thread finds its split by bisection along the diagonal.
__global__ void merge_path(const float *x, float *out, int run, int n) {
  const int each = 2;
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  if (first >= n) return;
  int base = first / (2 * run) * (2 * run), d = first - base;
  int na = min(run, n - base), nb = max(0, min(run, n - base - run));
  const float *a = x + base, *b = a + na;
  int low = max(0, d - nb), high = min(d, na);
  while (low < high) {
    int mid = (low + high) / 2;
    if (a[mid] <= b[d - 1 - mid]) low = mid + 1; else high = mid;
  }
  int i = low, j = d - low;
  for (int c = 0; c < each && first + c < n; c++) {
    bool left = j >= nb || (i < na && a[i] <= b[j]);
    out[first + c] = left ? a[i++] : b[j++];
  }
}
__global__ void counting(const unsigned char *x, unsigned char *out, int n) {  // one block
  __shared__ int count[256], start[256];
  int t = threadIdx.x;
  count[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += 256) atomicAdd(&count[x[i]], 1);
  __syncthreads();
  if (t == 0) for (int i = 0, s = 0; i < 256; i++) start[i] = s, s += count[i];
  __syncthreads();
  for (int i = 0; i < count[t]; i++) out[start[t] + i] = t;
}
// Quicksort of each thread's own part with a stack in local memory.
__global__ void quick(int *x, int part, int n) {
  int from = (blockIdx.x * blockDim.x + threadIdx.x) * part;
  if (from >= n) return;
  int stack[32], top = 0;
  stack[top++] = from;
  stack[top++] = min(from + part, n) - 1;
  while (top) {
    int high = stack[--top], low = stack[--top];
    if (low >= high) continue;
    int pivot = x[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot) i++;
      while (x[j] > pivot) j--;
      if (i <= j) { int v = x[i]; x[i++] = x[j]; x[j--] = v; }
    }
    bool left_larger = j - low > high - i;  // the larger part first onto the stack, so that it stays shallow
    stack[top++] = left_larger ? low : i, stack[top++] = left_larger ? j : high;
    stack[top++] = left_larger ? i : low, stack[top++] = left_larger ? high : j;
  }
}
// The k largest of a warp's row, largest first: k rounds of a maximum and its removal.
__global__ void largest(const float *x, float *out, int *index, int width, int count) {
  int lane = threadIdx.x, row = blockIdx.x;
  float v[4];
  for (int j = 0; j < 4; j++) v[j] = lane + 32 * j < width ? x[row * width + lane + 32 * j] : -1e30f;
  for (int r = 0; r < count; r++) {
    float best = -1e30f;
    int at = 1 << 30;
    for (int j = 0; j < 4; j++) if (v[j] > best) best = v[j], at = lane + 32 * j;
    for (int d = 16; d; d /= 2) {
      float b = __shfl_xor_sync(~0u, best, d);
      int a = __shfl_xor_sync(~0u, at, d);
      if (b > best || (b == best && a < at)) best = b, at = a;
    }
    for (int j = 0; j < 4; j++) if (at == lane + 32 * j) v[j] = -1e30f;
    if (lane == 0) out[row * count + r] = best, index[row * count + r] = at;
  }
}
// The element of rank r by bisection of its bits; one block.
__global__ void select_rank(const unsigned *x, unsigned *out, int rank, int n) {
  unsigned prefix = 0, mask = 0;
  for (int bit = 31; bit >= 0; bit--) {
    int zeros = 0;
    for (int start = 0; start < n; start += blockDim.x) {
      int i = start + threadIdx.x;
      zeros += __syncthreads_count(i < n && (x[i] & mask) == prefix && !(x[i] >> bit & 1));
    }
    mask |= 1u << bit;
    if (rank >= zeros) rank -= zeros, prefix |= 1u << bit;
  }
  if (threadIdx.x == 0) *out = prefix;
}]=]

local function numbers(n, limit)
  return t.list(n, function(i) return (i * 7919 + i * i * 31 + 17) % (limit or 1000) end)
end

local function sorted(x)
  local y = table.move(x, 1, #x, 1, {})
  table.sort(y)
  return y
end

-- Sorts lists of these lengths by f(array, n), which returns the sorted array.
local function check(name, lengths, dtype, f)
  t.test(name, function()
    for _, n in ipairs(lengths) do
      local x = numbers(n, dtype == "uint8" and 256 or nil)
      t.close(f(gpu.array(x, dtype), n), sorted(x), 0, "of " .. n)
    end
  end)
end

check("bitonic sort of a block", { 1, 2, 32, 64, 256 }, "int32", function(x, n)
  k.bitonic_block(1, n, 4 * n)(x)
  return x
end)

check("bitonic sort of an array", { 128, 512 }, "int32", function(x, n)
  local size = 2
  while size <= n do
    local d = size // 2
    while d > 0 do
      k.bitonic_step((n + 95) // 96, 96)(x, size, d, n)
      d = d // 2
    end
    size = size * 2
  end
  return x
end)

check("bitonic sort of a warp", { 32 }, "int32", function(x)
  k.bitonic_warp(1, 32)(x)
  return x
end)

check("odd-even transposition sort", { 1, 2, 31, 33, 100 }, "int32", function(x, n)
  k.odd_even(1, 64, 4 * n)(x, n)
  return x
end)

check("odd-even merge sort", { 1, 32, 99, 128 }, "int32", function(x, n)
  k.batcher(1, 128)(x, n)
  return x
end)

check("sort by ranks", { 1, 63, 64, 65, 200 }, "int32", function(x, n)
  local out = gpu.zeros(n, "int32")
  k.ranks((n + 63) // 64, 64)(x, out, n)
  return out
end)

t.test("stable radix sort of keys with values", function()
  local n = 700
  local x = t.list(n, function(i) return (i * 2654435761) % 40 * 107374182 end)
  local order = t.list(n, function(i) return i end)
  table.sort(order, function(a, b) return x[a + 1] < x[b + 1] or (x[a + 1] == x[b + 1] and a < b) end)
  local blocks = (n + 127) // 128
  local keys, values, counts = gpu.array(x, "uint32"), gpu.range(0, n - 1, 1, "int32"), gpu.zeros(16 * blocks, "int32")
  local keys2, values2 = gpu.zeros(n, "uint32"), gpu.zeros(n, "int32")
  for shift = 0, 28, 4 do
    k.radix_count(blocks, 128)(keys, counts, shift, n)
    k.radix_offsets(1, 32)(counts, 16 * blocks)
    k.radix_scatter(blocks, 128)(keys, values, keys2, values2, counts, shift, n)
    keys, keys2, values, values2 = keys2, keys, values2, values
  end
  t.same(values:totable(), order)
  t.same(keys:totable(), sorted(x))
end)

check("radix sort by splits", { 1, 200, 256 }, "uint32", function(x, n)
  k.radix_split(1, 256)(x, n)
  return x
end)

check("merge sort by merge paths", { 1, 7, 64, 501 }, "float32", function(x, n)
  local out, run = gpu.zeros(n), 1
  while run < n do
    k.merge_path((n + 63) // 64, 32)(x, out, run, n)
    x, out = out, x
    run = run * 2
  end
  return x
end)

check("counting sort of bytes", { 1, 300, 1000 }, "uint8", function(x, n)
  local out = gpu.zeros(n, "uint8")
  k.counting(1, 256)(x, out, n)
  return out
end)

t.test("quicksort with a stack in each thread", function()
  local n, part = 1000, 37
  local x = numbers(n)
  local a = gpu.array(x, "int32")
  k.quick(1, 32)(a, part, n)
  local got = a:totable()
  for from = 1, n, part do
    local to = math.min(from + part - 1, n)
    t.same(table.move(got, from, to, 1, {}), sorted(table.move(x, from, to, 1, {})))
  end
end)

t.test("the largest of each row", function()
  local rows, width, count = 3, 101, 5
  local x = t.list(rows * width, function(i) return (i * 7919) % 1009 end)
  local out, index = gpu.zeros({ rows, count }), gpu.zeros({ rows, count }, "int32")
  k.largest(rows, 32)(gpu.array(x), out, index, width, count)
  for r = 0, rows - 1 do
    local row = sorted(table.move(x, r * width + 1, (r + 1) * width, 1, {}))
    for j = 1, count do
      t.eq(out[{ r + 1, j }], row[width + 1 - j] + 0.0)
      t.eq(x[r * width + 1 + index[{ r + 1, j }]], row[width + 1 - j])
    end
  end
end)

t.test("the element of a rank", function()
  local x = numbers(333, 4294967295)
  local s, out = sorted(x), gpu.zeros(1, "uint32")
  for _, rank in ipairs { 0, 100, 166, 332 } do
    k.select_rank(1, 96)(gpu.array(x, "uint32"), out, rank, 333)
    t.eq(out[1], s[rank + 1])
  end
end)

t.done()
