-- The kernels that the chapters of the CUDA C++ Programming Guide teach by, in our own words.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define FULL 0xffffffffu
// Programming model: threads, blocks of two dimensions, vectors and matrices.
__global__ void vec_add(const float *a, const float *b, float *c) { int i = threadIdx.x; c[i] = a[i] + b[i]; }
__global__ void mat_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) c[j * n + i] = a[j * n + i] + b[j * n + i];
}
__global__ void mat_add_one_block(const float *a, const float *b, float *c) {
  int i = threadIdx.y * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}
// Pitched memory in two and three dimensions.
__global__ void pitched(void *base, size_t pitch, int width, int height) {
  for (int r = 0; r < height; r++) {
    float *row = (float *)((char *)base + r * pitch);
    for (int c = threadIdx.x; c < width; c += blockDim.x) row[c] = r * 100 + c;
  }
}
__global__ void pitched3(void *base, size_t pitch, int width, int height, int depth) {
  size_t slice = pitch * height;
  for (int z = 0; z < depth; z++)
    for (int y = 0; y < height; y++) {
      float *row = (float *)((char *)base + z * slice + y * pitch);
      for (int x = threadIdx.x; x < width; x += blockDim.x) row[x] += x + 10 * y + 100 * z;
    }
}
// Shared memory: matrices as structures, sub-matrices in tiles.
struct Matrix { int width, height, stride; float *elements; };
__device__ float get(const Matrix m, int r, int c) { return m.elements[r * m.stride + c]; }
__device__ void set(Matrix m, int r, int c, float v) { m.elements[r * m.stride + c] = v; }
#define TILE 8
__device__ Matrix part(Matrix m, int r, int c) { return {TILE, TILE, m.stride, &m.elements[m.stride * TILE * r + TILE * c]}; }
__device__ Matrix matrix(float *p, int height, int width) { return {width, height, width, p}; }
__global__ void mat_mul(float *pa, float *pb, float *pc, int m, int n, int k) {
  Matrix a = matrix(pa, m, k), b = matrix(pb, k, n), c = matrix(pc, m, n);
  float s = 0;
  int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
  for (int e = 0; e < a.width; e++) s += get(a, r, e) * get(b, e, q);
  set(c, r, q, s);
}
__global__ void mat_mul_shared(float *pa, float *pb, float *pc, int m, int n, int k) {
  Matrix a = matrix(pa, m, k), b = matrix(pb, k, n), c = matrix(pc, m, n);
  Matrix sub = part(c, blockIdx.y, blockIdx.x);
  float s = 0;
  int r = threadIdx.y, q = threadIdx.x;
  for (int i = 0; i < a.width / TILE; i++) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    as[r][q] = get(part(a, blockIdx.y, i), r, q);
    bs[r][q] = get(part(b, i, blockIdx.x), r, q);
    __syncthreads();
    for (int e = 0; e < TILE; e++) s += as[r][e] * bs[e][q];
    __syncthreads();
  }
  set(sub, r, q, s);
}
// Performance: the same product with its transpose, strided and coalesced; and copies with a stride or an offset.
__global__ void times_transposed(const float *a, float *c, int m, int n) {
  __shared__ float rows[16][17], columns[16][17];
  int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x;
  float s = 0;
  for (int p = 0; p < n; p += 16) {
    rows[threadIdx.y][threadIdx.x] = r < m && p + threadIdx.x < n ? a[r * n + p + threadIdx.x] : 0;
    int other = blockIdx.x * 16 + threadIdx.y;
    columns[threadIdx.x][threadIdx.y] = other < m && p + threadIdx.x < n ? a[other * n + p + threadIdx.x] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) s += rows[threadIdx.y][i] * columns[i][threadIdx.x];
    __syncthreads();
  }
  if (r < m && q < m) c[r * m + q] = s;
}
__global__ void strided(const float *in, float *out, int stride) { int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride; out[i] = in[i]; }
__global__ void shifted(const float *in, float *out, int offset) { int i = blockIdx.x * blockDim.x + threadIdx.x + offset; out[i] = in[i]; }
// Device memory: variables of every space.
__constant__ float const_data[64] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ float dev_data = 3.14f;
__device__ float *dev_pointer;
__global__ void set_pointer(float *p) { if (threadIdx.x == 0) dev_pointer = p; }
__global__ void use_pointer() { dev_pointer[threadIdx.x] = const_data[threadIdx.x % 8] + dev_data; }
// Memory fences: the sum that the last block finishes.
__device__ unsigned finished = 0;
__device__ float calculate_total(volatile float *result, int blocks) {
  float s = 0;
  for (int b = threadIdx.x; b < blocks; b += 32) s += result[b];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(FULL, s, d);
  return s;
}
__global__ void sum(const float *x, int n, volatile float *result) {
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(FULL, s, d);
  if (threadIdx.x == 0) {
    result[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float total = calculate_total(result, gridDim.x);
    if (threadIdx.x == 0) result[0] = total, finished = 0;
  }
}
// Warp shuffles: a broadcast, a scan of eights, a sum.
__global__ void broadcast(int arg, int *out) {
  int lane = threadIdx.x & 31, v = lane == 0 ? arg : -1;
  out[threadIdx.x] = __shfl_sync(FULL, v, 0);
}
__global__ void scan8(int *out) {
  int lane = threadIdx.x & 31, v = 31 - lane;
  for (int i = 1; i <= 4; i *= 2) {
    int n = __shfl_up_sync(FULL, v, i, 8);
    if ((lane & 7) >= i) v += n;
  }
  out[threadIdx.x] = v;
}
__global__ void warp_sum(int *out) {
  int v = 31 - (threadIdx.x & 31);
  for (int i = 16; i >= 1; i /= 2) v += __shfl_xor_sync(FULL, v, i);
  out[threadIdx.x] = v;
}
// Atomics on memory that the host sees, an atomic of double by compare-and-swap.
__device__ double add_double(double *p, double v) {
  unsigned long long *q = (unsigned long long *)p, old = *q, seen;
  do {
    seen = old;
    old = atomicCAS(q, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (seen != old);
  return __longlong_as_double(old);
}
__global__ void add_doubles(double *p) { add_double(p, threadIdx.x * 0.5); }
// Address spaces: predicates and conversions.
__device__ int global_variable;
__constant__ int constant_variable;
__global__ void spaces(int *p, int *out) {
  __shared__ int s[4];
  int local[4];
  local[threadIdx.x & 3] = threadIdx.x;
  s[threadIdx.x & 3] = 0;
  __syncthreads();
  out[threadIdx.x] = __isGlobal(p) + 2 * __isShared(s) + 4 * __isLocal(local) + 8 * __isConstant(&constant_variable) +
                     16 * __isGlobal(&global_variable) + 32 * __isShared(p) + 64 * __isGlobal(s) +
                     128 * (*(int *)__cvta_shared_to_generic(__cvta_generic_to_shared(&s[1])) == 0) +
                     256 * (local[threadIdx.x & 3] == threadIdx.x);
}
// Compiler hints: assume, expect, unreachable.
__global__ void hints(const int *x, int *out) {
  int i = threadIdx.x, v = x[i];
  __builtin_assume(v >= 0);
  if (__builtin_expect(v > 50, 0)) v -= 50;
  switch (v & 3) {
    case 0: out[i] = v; return;
    case 1: out[i] = v * 2; return;
    case 2: out[i] = v / 3; return;
    case 3: out[i] = -v; return;
    default: __builtin_unreachable();
  }
}
// Performance: instructions that approximate.
__global__ void intrinsics(const float *x, float *out) {
  int i = threadIdx.x;
  float v = x[i], *o = out + 8 * i;
  o[0] = __sinf(v), o[1] = __cosf(v), o[2] = __expf(v), o[3] = __logf(v);
  o[4] = __powf(v, 1.5f), o[5] = __fdividef(1, v), o[6] = rsqrtf(v), o[7] = __saturatef(v / 2);
}
// Half-warp and single threads: blocks of one thread, blocks that are not whole warps.
__global__ void odd_blocks(int *out) {
  extern __shared__ int s[];
  int n = blockDim.x;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * n + threadIdx.x] = s[n - 1 - threadIdx.x] + __popc(__activemask()) * 1000;
}
// Grids and blocks in three dimensions, and their limits.
__global__ void dimensions(int *out) {
  if (threadIdx.x == blockDim.x - 1 && threadIdx.y == blockDim.y - 1 && threadIdx.z == blockDim.z - 1 && blockIdx.x == gridDim.x - 1 &&
      blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1) {
    int v[12] = {(int)threadIdx.x, (int)threadIdx.y, (int)threadIdx.z, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z,
                 (int)blockDim.x, (int)blockDim.y, (int)blockDim.z, (int)gridDim.x, (int)gridDim.y, (int)gridDim.z};
    for (int i = 0; i < 12; i++) out[i] = v[i];
  }
}
// C++: a class with a constructor in shared memory, a functor, a range of a container, constexpr, structured bindings, fold.
struct Range {
  int from, to;
  struct Iterator {
    int v;
    __device__ int operator*() const { return v; }
    __device__ void operator++() { v++; }
    __device__ bool operator!=(Iterator o) const { return v != o.v; }
  };
  __device__ Iterator begin() const { return {from}; }
  __device__ Iterator end() const { return {to}; }
};
template <int N> struct Polynomial {
  float c[N];
  __device__ constexpr float operator()(float x) const {
    float s = 0;
    for (int i = N - 1; i >= 0; i--) s = s * x + c[i];
    return s;
  }
};
template <class... T> __device__ auto all_of(T... v) { return (v + ... + 0); }
enum class Kind : unsigned char { sum, product };
template <Kind K> __device__ int combine(int a, int b) {
  if constexpr (K == Kind::sum) return a + b;
  else return a * b;
}
__global__ void modern(float *out) {
  int i = threadIdx.x, s = 0;
  for (int v : Range{i, i + 4}) s += v;
  struct { int q, r; } d = {i / 5, i % 5};
  auto [q, r] = d;
  constexpr Polynomial<3> p = {{1, 2, 3}};
  decltype(s) both = combine<Kind::sum>(q, r) + combine<Kind::product>(q, r);
  out[i] = s + p((float)i) + all_of(q, r, 1) * 0.5f + both;
}]=]

local function numbers(n) return t.list(n, function(i) return (i * i * 31 + 7 * i) % 23 - 11 end) end

t.test("the sum of two vectors, of two matrices", function()
  local a, b, c = numbers(100), t.list(100, function(i) return i end), gpu.zeros(100)
  local want = t.list(100, function(i) return a[i + 1] + i end)
  k.vec_add(1, 100)(gpu.array(a), gpu.array(b), c)
  t.close(c, want, 0)
  c = gpu.zeros(100)
  k.mat_add({ 2, 2 }, { 8, 8 })(gpu.array(a), gpu.array(b), c, 10)
  t.close(c, want, 0)
  c = gpu.zeros(100)
  k.mat_add_one_block(1, { 10, 10 })(gpu.array(a), gpu.array(b), c)
  t.close(c, want, 0)
end)

t.test("pitched memory in two and three dimensions", function()
  local pitch, w, h, depth = 64, 13, 5, 3 -- 64 bytes are 16 floats
  local a, b = gpu.full(16 * h, -1), gpu.full(16 * h * depth, -1)
  k.pitched(1, 8)(a, pitch, w, h)
  t.close(a, t.list(16 * h, function(i) return i % 16 < w and i // 16 * 100 + i % 16 or -1 end), 0)
  k.pitched3(1, 32)(b, pitch, w, h, depth)
  t.close(b, t.list(16 * h * depth, function(i)
    return i % 16 < w and i % 16 + 10 * (i // 16 % h) + 100 * (i // (16 * h)) - 1 or -1
  end), 0)
end)

for _, name in ipairs { "mat_mul", "mat_mul_shared" } do
  t.test("the product of matrices in structures: " .. name, function()
    local m, n, q = 16, 24, 32
    local a, b, c = gpu.array(numbers(m * q)):reshape(m, q), gpu.array(numbers(q * n)):reshape(q, n), gpu.zeros({ m, n })
    k[name]({ n // 8, m // 8 }, { 8, 8 })(a, b, c, m, n, q)
    t.close(c, a:to("cpu"):matmul(b:to("cpu")), 0)
  end)
end

t.test("a matrix times its transpose", function()
  local m, n = 35, 21
  local a, c = gpu.array(numbers(m * n)):reshape(m, n), gpu.zeros({ m, m })
  k.times_transposed({ 3, 3 }, { 16, 16 })(a, c, m, n)
  t.close(c, a:to("cpu"):matmul(a.T:to("cpu")), 0)
end)

t.test("copies with a stride, with an offset", function()
  local x = gpu.range(1, 200, 1, "float32")
  for _, stride in ipairs { 1, 2, 3 } do
    local out = gpu.zeros(200)
    k.strided(2, 32)(x, out, stride)
    t.close(out, t.list(200, function(i) return i % stride == 0 and i < 64 * stride and i + 1 or 0 end), 0)
  end
  for _, offset in ipairs { 0, 1, 17 } do
    local out = gpu.zeros(200)
    k.shifted(2, 64)(x, out, offset)
    t.close(out, t.list(200, function(i) return i >= offset and i < 128 + offset and i + 1 or 0 end), 0)
  end
end)

t.test("constants, a variable and a pointer in device memory", function()
  local x = gpu.zeros(20)
  k.set_pointer(1, 32)(x)
  k.use_pointer(1, 20)()
  t.close(x, t.list(20, function(i) return i % 8 + 1 + 3.14 end), 1e-6)
end)

t.test("a sum that the last block finishes, again and again", function()
  local x, result = gpu.range(0, 999, 1, "float32") % 19, gpu.zeros(40)
  for _ = 1, 100 do -- on some threads another block's atomic is under way when the last one stores
    for _, blocks in ipairs { 1, 7, 40 } do
      k.sum(blocks, 32)(x, 1000, result)
      t.eq(result[1], x:sum())
    end
  end
end)

t.test("shuffles: a broadcast, a scan of eights, a sum", function()
  local out = gpu.zeros(64, "int32")
  k.broadcast(1, 64)(1234, out)
  t.eq(out:sum(), 64 * 1234)
  k.scan8(1, 64)(out)
  t.same(out:totable(), t.list(64, function(i)
    local s = 0
    for j = i // 8 * 8, i do s = s + 31 - j % 32 end
    return s
  end))
  k.warp_sum(1, 64)(out)
  t.eq(out:sum(), 64 * 496)
end)

t.test("an atomic of doubles by compare and swap", function()
  local p = gpu.zeros(1, "float64")
  k.add_doubles(3, 70)(p)
  t.eq(p[1], 3 * 0.5 * 69 * 35)
end)

t.test("which space an address lies in", function()
  local out = gpu.zeros(32, "int32")
  k.spaces(1, 32)(gpu.zeros(1, "int32"), out)
  t.same(out:totable(), t.list(32, function() return 1 + 2 + 4 + 8 + 16 + 128 + 256 end))
end)

t.test("assumptions and what cannot be reached", function()
  local x, out = t.list(90, function(i) return i end), gpu.zeros(90, "int32")
  k.hints(1, 90)(gpu.array(x, "int32"), out)
  t.same(out:totable(), t.list(90, function(i)
    local v = i > 50 and i - 50 or i
    return ({ [0] = v, 2 * v, v // 3, -v })[v % 4]
  end))
end)

t.test("approximate intrinsics", function()
  local x, out = t.list(40, function(i) return (i + 1) / 16 end), gpu.zeros(320)
  k.intrinsics(1, 40)(gpu.array(x), out)
  t.close(out, t.list(320, function(j)
    local v = x[j // 8 + 1]
    return ({ [0] = math.sin(v), math.cos(v), math.exp(v), math.log(v), v ^ 1.5, 1 / v, v ^ -0.5, math.min(v / 2, 1) })[j % 8]
  end), 2e-6)
end)

t.test("blocks of one thread, blocks that are not whole warps", function()
  for _, n in ipairs { 1, 31, 33, 100 } do
    local out = gpu.zeros(3 * n, "int32")
    k.odd_blocks(3, n, 4 * n)(out)
    t.same(out:totable(), t.list(3 * n, function(i)
      return n - 1 - i % n + 1000 * math.min(32, n - i % n // 32 * 32)
    end))
  end
end)

t.test("grids and blocks in three dimensions", function()
  for _, s in ipairs { { { 2, 3, 4 }, { 8, 4, 2 } }, { { 1, 1, 1 }, { 1024, 1, 1 } }, { { 1, 70, 1 }, { 1, 1, 64 } } } do
    local out, g, b = gpu.zeros(12, "int32"), s[1], s[2]
    k.dimensions(g, b)(out)
    t.same(out:totable(), { b[1] - 1, b[2] - 1, b[3] - 1, g[1] - 1, g[2] - 1, g[3] - 1, b[1], b[2], b[3], g[1], g[2], g[3] })
  end
end)

t.test("C++17: ranges, bindings, folds, constexpr", function()
  local out = gpu.zeros(40)
  k.modern(1, 40)(out)
  t.close(out, t.list(40, function(i)
    local q, r = i // 5, i % 5
    return 4 * i + 6 + 1 + 2 * i + 3 * i * i + (q + r + 1) * 0.5 + q + r + q * r
  end), 0)
end)

t.done()
