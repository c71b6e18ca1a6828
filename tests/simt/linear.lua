-- Linear algebra: vectors, matrix times vector, many ways to multiply matrices, factorisations, systems of equations.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel([=[
__global__ void rotate(float *x, float *y, int n, float c, float s) {  // a plane rotation of two vectors
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float a = x[i], b = y[i];
    x[i] = c * a + s * b;
    y[i] = c * b - s * a;
  }
}
__global__ void norm(const double *x, double *out, int n) {  // scaled, so that squares do not overflow
  __shared__ double s[64], top;
  int t = threadIdx.x;
  double v = 0;
  for (int i = t; i < n; i += 64) v = fmax(v, fabs(x[i]));
  s[t] = v;
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] = fmax(s[t], s[t + d]); __syncthreads(); }
  if (t == 0) top = s[0];
  __syncthreads();
  v = 0;
  if (top > 0) for (int i = t; i < n; i += 64) { double q = x[i] / top; v += q * q; }
  s[t] = v;
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) *out = top * sqrt(s[0]);
}
__global__ void gemv(const float *a, const float *x, float *y, int m, int n) {  // a warp a row
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (row >= m) return;
  float v = 0;
  for (int c = lane; c < n; c += 32) v += a[row * n + c] * x[c];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (lane == 0) y[row] = v;
}
__global__ void gemv_t(const float *a, const float *x, float *y, int m, int n) {  // a thread a column, x in shared memory
  extern __shared__ float xs[];
  for (int r = threadIdx.x; r < m; r += blockDim.x) xs[r] = x[r];
  __syncthreads();
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  float v = 0;
  for (int r = 0; r < m; r++) v += a[r * n + c] * xs[r];
  y[c] = v;
}
__global__ void ger(float *a, const float *x, const float *y, int m, int n, float alpha) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < m && c < n) a[r * n + c] += alpha * x[r] * y[c];
}
// C = op(A) op(B), the transpositions known to the compiler.
template <bool TA, bool TB> __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[8][9], bs[8][9];
  int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 8 + tx, row = blockIdx.y * 8 + ty;
  float s = 0;
  for (int p = 0; p < k; p += 8) {
    as[ty][tx] = row < m && p + tx < k ? (TA ? a[(p + tx) * m + row] : a[row * k + p + tx]) : 0;
    bs[ty][tx] = p + ty < k && col < n ? (TB ? b[col * k + p + ty] : b[(p + ty) * n + col]) : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) s += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}
// 32 x 32 tiles, 4 x 4 results a thread in registers.
__global__ void registers(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[8][32], bs[8][32];
  int t = threadIdx.x, row = blockIdx.y * 32, col = blockIdx.x * 32, tr = t / 8 * 4, tc = t % 8 * 4;
  float acc[4][4] = {};
  for (int p = 0; p < k; p += 8) {
    for (int i = t; i < 256; i += 64) {
      int ar = row + i / 8, ac = p + i % 8, br = p + i / 32, bc = col + i % 32;
      as[i % 8][i / 8] = ar < m && ac < k ? a[ar * k + ac] : 0;
      bs[i / 32][i % 32] = br < k && bc < n ? b[br * n + bc] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 8; q++) {
      float ra[4], rb[4];
      for (int i = 0; i < 4; i++) ra[i] = as[q][tr + i], rb[i] = bs[q][tc + i];
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (row + tr + i < m && col + tc + j < n) c[(row + tr + i) * n + col + tc + j] = acc[i][j];
}
// Two buffers: the next tile is on its way while this one is used, one barrier a tile.
__global__ void buffered(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[2][16][16], bs[2][16][16];
  int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty, now = 0;
  float s = 0, na = row < m && tx < k ? a[row * k + tx] : 0, nb = ty < k && col < n ? b[ty * n + col] : 0;
  as[0][ty][tx] = na, bs[0][ty][tx] = nb;
  __syncthreads();
  for (int p = 0; p < k; p += 16) {
    int q = p + 16;
    if (q < k) {
      na = row < m && q + tx < k ? a[row * k + q + tx] : 0;
      nb = q + ty < k && col < n ? b[(q + ty) * n + col] : 0;
    }
    for (int i = 0; i < 16; i++) s += as[now][ty][i] * bs[now][i][tx];
    if (q < k) as[!now][ty][tx] = na, bs[!now][ty][tx] = nb;
    __syncthreads();
    now = !now;
  }
  if (row < m && col < n) c[row * n + col] = s;
}
__global__ void by_fours(const float4 *a, const float *b, float *c, int m, int n, int k) {  // rows of A by float4, k % 4 == 0
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float s = 0;
  for (int p = 0; p < k / 4; p++) {
    float4 q = a[row * (k / 4) + p];
    const float *bp = b + 4 * p * n + col;
    s += q.x * bp[0] + q.y * bp[n] + q.z * bp[2 * n] + q.w * bp[3 * n];
  }
  c[row * n + col] = s;
}
__global__ void split_k(const float *a, const float *b, float *c, int m, int n, int k, int part) {  // sums of parts meet by atomics
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, from = blockIdx.z * part;
  if (row >= m || col >= n) return;
  float s = 0;
  for (int p = from; p < min(from + part, k); p++) s += a[row * k + p] * b[p * n + col];
  atomicAdd(&c[row * n + col], s);
}
struct Mat3 { float v[3][3]; };
__global__ void batched(const Mat3 *a, const Mat3 *b, Mat3 *c, int n) {  // a thread a product of 3 x 3
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Mat3 x = a[i], y = b[i], z = {};
  for (int r = 0; r < 3; r++)
    for (int q = 0; q < 3; q++)
      for (int s = 0; s < 3; s++) z.v[r][s] += x.v[r][q] * y.v[q][s];
  c[i] = z;
}
__global__ void syrk(const float *a, float *c, int n, int k) {  // the lower triangle of A A^T, blocks above it leave at once
  if (blockIdx.x > blockIdx.y) return;
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col > row) return;
  float s = 0;
  for (int p = 0; p < k; p++) s += a[row * k + p] * a[col * k + p];
  c[row * n + col] = s;
}
__global__ void triangle(const double *l, double *x, int n) {  // L x = b by one block, column by column
  __shared__ double s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t];
  __syncthreads();
  for (int j = 0; j < n; j++) {
    if (t == j) s[j] /= l[j * n + j];
    __syncthreads();
    if (t > j && t < n) s[t] -= l[t * n + j] * s[j];
    __syncthreads();
  }
  if (t < n) x[t] = s[t];
}
__global__ void lu(double *a, int *pivots, int n) {  // partial pivoting, one block, a thread a row
  __shared__ double best[64];
  __shared__ int where[64];
  int t = threadIdx.x;
  for (int c = 0; c < n; c++) {
    best[t] = t >= c && t < n ? fabs(a[t * n + c]) : -1;
    where[t] = t;
    __syncthreads();
    for (int d = 32; d; d /= 2) {
      if (t < d && best[t + d] > best[t]) best[t] = best[t + d], where[t] = where[t + d];
      __syncthreads();
    }
    int p = where[0];
    if (t < n && p != c) { double v = a[c * n + t]; a[c * n + t] = a[p * n + t]; a[p * n + t] = v; }
    if (t == 0) pivots[c] = p;
    __syncthreads();
    if (t > c && t < n) {
      double f = a[t * n + c] /= a[c * n + c];
      for (int j = c + 1; j < n; j++) a[t * n + j] -= f * a[c * n + j];
    }
    __syncthreads();
  }
}
__global__ void cholesky(float *a, int n) {  // in place, lower triangle, one block of two dimensions
  int x = threadIdx.x, y = threadIdx.y;
  for (int c = 0; c < n; c++) {
    if (x == c && y == c) a[c * n + c] = sqrtf(a[c * n + c]);
    __syncthreads();
    if (x == c && y > c && y < n) a[y * n + c] /= a[c * n + c];
    __syncthreads();
    if (x > c && y >= x && y < n) a[y * n + x] -= a[y * n + c] * a[x * n + c];
    __syncthreads();
  }
}
__global__ void inverse(const double *a, double *out, int n) {  // Gauss-Jordan on [A | I] in shared memory, no pivoting
  extern __shared__ double s[];
  int x = threadIdx.x, y = threadIdx.y, w = 2 * n;
  if (y < n && x < w) s[y * w + x] = x < n ? a[y * n + x] : (x - n == y);
  __syncthreads();
  for (int c = 0; c < n; c++) {
    double pivot = s[c * w + c], factor = y < n ? s[y * w + c] : 0;
    double mine = x < w ? s[c * w + x] / pivot : 0;
    __syncthreads();
    if (y < n && x < w) s[y * w + x] = y == c ? mine : s[y * w + x] - factor * mine;
    __syncthreads();
  }
  if (y < n && x >= n && x < w) out[y * n + x - n] = s[y * w + x];
}
__global__ void thomas(const double *low, double *mid, const double *up, double *d, int n, int systems) {  // a thread a system
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
#define AT(i) ((i) * systems + s)
  for (int i = 1; i < n; i++) {
    double f = low[AT(i)] / mid[AT(i - 1)];
    mid[AT(i)] -= f * up[AT(i - 1)];
    d[AT(i)] -= f * d[AT(i - 1)];
  }
  d[AT(n - 1)] /= mid[AT(n - 1)];
  for (int i = n - 2; i >= 0; i--) d[AT(i)] = (d[AT(i)] - up[AT(i)] * d[AT(i + 1)]) / mid[AT(i)];
}
__global__ void cyclic(const double *low, const double *mid, const double *up, double *x, int n) {  // parallel cyclic reduction
  __shared__ double a[128], b[128], c[128], d[128];
  int i = threadIdx.x;
  if (i < n) a[i] = i ? low[i] : 0, b[i] = mid[i], c[i] = i < n - 1 ? up[i] : 0, d[i] = x[i];
  __syncthreads();
  for (int h = 1; h < n; h *= 2) {
    double na, nb, nc, nd;
    if (i < n) {
      double f = i >= h ? a[i] / b[i - h] : 0, g = i + h < n ? c[i] / b[i + h] : 0;
      na = i >= h ? -f * a[i - h] : 0;
      nc = i + h < n ? -g * c[i + h] : 0;
      nb = b[i] - (i >= h ? f * c[i - h] : 0) - (i + h < n ? g * a[i + h] : 0);
      nd = d[i] - (i >= h ? f * d[i - h] : 0) - (i + h < n ? g * d[i + h] : 0);
    }
    __syncthreads();
    if (i < n) a[i] = na, b[i] = nb, c[i] = nc, d[i] = nd;
    __syncthreads();
  }
  if (i < n) x[i] = d[i] / b[i];
}
__global__ void givens(double *a, double *b, int m, int n) {  // least squares: R x = Q^T b by rotations; one warp, a lane a column
  int lane = threadIdx.x;
  for (int c = 0; c < n; c++)
    for (int r = m - 1; r > c; r--) {
      double p = a[(r - 1) * n + c], q = a[r * n + c], h = hypot(p, q);
      __syncwarp();
      if (h == 0) continue;
      double cs = p / h, sn = q / h;
      double *row = lane < n ? a + lane : b, *top = row + (r - 1) * (lane < n ? n : 1), *low = row + r * (lane < n ? n : 1);
      if (lane <= n) {
        double u = *top, v = *low;
        *top = cs * u + sn * v;
        *low = cs * v - sn * u;
      }
      __syncwarp();
    }
}
__global__ void power(const float *a, float *v, float *lambda, int n, int iterations) {  // the largest eigenvalue, one block
  __shared__ float x[64], s[64];
  int t = threadIdx.x;
  x[t] = t < n ? 1 : 0;
  __syncthreads();
  for (int k = 0; k < iterations; k++) {
    float y = 0;
    if (t < n) for (int j = 0; j < n; j++) y += a[t * n + j] * x[j];
    s[t] = y * y;
    __syncthreads();
    for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    x[t] = y * rsqrtf(s[0]);
    if (t == 0) *lambda = sqrtf(s[0]);
    __syncthreads();
  }
  if (t < n) v[t] = x[t];
}
__global__ void jacobi_rotation(float *a, int n, int sweeps) {  // eigenvalues of a symmetric matrix on the diagonal, one warp
  int i = threadIdx.x;
  for (int s = 0; s < sweeps; s++)
    for (int p = 0; p < n - 1; p++)
      for (int q = p + 1; q < n; q++) {
        float apq = a[p * n + q], app = a[p * n + p], aqq = a[q * n + q];
        __syncwarp();
        if (fabsf(apq) < 1e-12f) continue;
        float theta = (aqq - app) / (2 * apq), tn = copysignf(1, theta) / (fabsf(theta) + sqrtf(theta * theta + 1));
        float c = rsqrtf(tn * tn + 1), sn = tn * c;
        if (i < n) { float u = a[i * n + p], v = a[i * n + q]; a[i * n + p] = c * u - sn * v; a[i * n + q] = sn * u + c * v; }
        __syncwarp();
        if (i < n) { float u = a[p * n + i], v = a[q * n + i]; a[p * n + i] = c * u - sn * v; a[q * n + i] = sn * u + c * v; }
        __syncwarp();
      }
}]=], { instantiate = { "gemm<false, false>", "gemm<false, true>", "gemm<true, false>", "gemm<true, true>" } })

local function numbers(n, scale)
  return t.list(n, function(i) return ((i * i * 31 + 7 * i) % 211 - 105) / (scale or 1) end)
end

-- A matrix of n x n that is well conditioned, as a list of rows one after the other.
local function dominant(n, symmetric)
  return t.list(n * n, function(i)
    local r, c = i // n, i % n
    if r == c then return 10 + n + r % 3 end
    if symmetric then r, c = math.min(r, c), math.max(r, c) end
    return ((r * 13 + c * 7) % 11 - 5) / 4
  end)
end

t.test("a plane rotation", function()
  local x, y = numbers(300), numbers(300)
  local a, b = gpu.array(x), gpu.array(y)
  k.rotate(2, 64)(a, b, 300, 0.5, -2)
  t.close(a, t.list(300, function(i) return 0.5 * x[i + 1] - 2 * y[i + 1] end), 0)
  t.close(b, t.list(300, function(i) return 0.5 * y[i + 1] + 2 * x[i + 1] end), 0)
end)

t.test("a norm whose squares overflow", function()
  local out = gpu.zeros(1, "float64")
  for _, scale in ipairs { 1.0, 1e200, 1e-200 } do
    k.norm(1, 64)(gpu.array(t.list(100, function(i) return (i % 2 == 0 and 3 or -4) * scale end), "float64"), out, 100)
    t.near(out[1] / scale, math.sqrt(50 * 25), 1e-12)
  end
end)

t.test("matrix times vector, plain and transposed", function()
  for _, s in ipairs { { 1, 1 }, { 5, 33 }, { 33, 70 }, { 64, 31 } } do
    local m, n = s[1], s[2]
    local a, x, z, y = gpu.array(numbers(m * n)):reshape(m, n), gpu.array(numbers(n)), gpu.array(numbers(m)), gpu.zeros(m)
    k.gemv((m + 3) // 4, 128)(a, x, y, m, n)
    t.close(y, a:to("cpu"):matmul(x:to("cpu")), 0)
    y = gpu.zeros(n)
    k.gemv_t((n + 31) // 32, 32, 4 * m)(a, z, y, m, n)
    t.close(y, a.T:contiguous():to("cpu"):matmul(z:to("cpu")), 0)
  end
end)

t.test("a rank 1 update", function()
  local m, n, x, y = 9, 20, numbers(9), numbers(20)
  local a = gpu.ones({ m, n })
  k.ger({ 2, 2 }, { 16, 8 })(a, gpu.array(x), gpu.array(y), m, n, 0.5)
  t.close(a, t.list(m * n, function(i) return 1 + 0.5 * x[i // n + 1] * y[i % n + 1] end), 0)
end)

local shapes = { { 1, 1, 1 }, { 32, 32, 32 }, { 33, 5, 17 }, { 7, 40, 9 } }

local function check_product(name, launch)
  t.test("matrix product: " .. name, function()
    for _, s in ipairs(shapes) do
      local m, n, q = s[1], s[2], name == "by float4" and (s[3] + 3) // 4 * 4 or s[3]
      local a, b, c = gpu.array(numbers(m * q)):reshape(m, q), gpu.array(numbers(q * n)):reshape(q, n), gpu.zeros({ m, n })
      launch(a, b, c, m, n, q)
      t.close(c, a:to("cpu"):matmul(b:to("cpu")), 0, table.concat(s, "x"))
    end
  end)
end

check_product("4 x 4 results a thread", function(a, b, c, m, n, q)
  k.registers({ (n + 31) // 32, (m + 31) // 32 }, 64)(a, b, c, m, n, q)
end)

check_product("two buffers", function(a, b, c, m, n, q)
  k.buffered({ (n + 15) // 16, (m + 15) // 16 }, { 16, 16 })(a, b, c, m, n, q)
end)

check_product("by float4", function(a, b, c, m, n, q)
  k.by_fours({ (n + 15) // 16, (m + 7) // 8 }, { 16, 8 })(a, b, c, m, n, q)
end)

check_product("split along k", function(a, b, c, m, n, q)
  k.split_k({ (n + 7) // 8, (m + 7) // 8, 3 }, { 8, 8 })(a, b, c, m, n, q, (q + 2) // 3)
end)

for _, p in ipairs { "false, false", "false, true", "true, false", "true, true" } do
  check_product("transposed " .. p, function(a, b, c, m, n, q)
    if p:find("^true") then a = a.T:contiguous() end
    if p:find("true$") then b = b.T:contiguous() end
    k["gemm<" .. p .. ">"]({ (n + 7) // 8, (m + 7) // 8 }, { 8, 8 })(a, b, c, m, n, q)
  end)
end

t.test("many products of 3 x 3", function()
  local n = 70
  local a, b, c = numbers(9 * n), numbers(9 * n), gpu.zeros(9 * n)
  k.batched(3, 32)(gpu.array(a), gpu.array(b), c, n)
  t.close(c, t.list(9 * n, function(i)
    local base, r, q, v = i // 9 * 9, i % 9 // 3, i % 3, 0
    for j = 0, 2 do v = v + a[base + 3 * r + j + 1] * b[base + 3 * j + q + 1] end
    return v
  end), 0)
end)

t.test("the lower triangle of a matrix by its transpose", function()
  local n, q, a = 21, 10, numbers(210)
  local c = gpu.zeros({ n, n })
  k.syrk({ 3, 3 }, { 8, 8 })(gpu.array(a), c, n, q)
  t.close(c, t.list(n * n, function(i)
    local r, col, v = i // n, i % n, 0
    if col <= r then for j = 1, q do v = v + a[r * q + j] * a[col * q + j] end end
    return v
  end), 0)
end)

-- a x for a list of n rows one after the other
local function apply(a, x, n)
  return t.list(#a // n, function(r)
    local v = 0
    for c = 1, n do v = v + a[r * n + c] * x[c] end
    return v
  end)
end

t.test("a triangular system", function()
  for _, n in ipairs { 1, 31, 33, 64 } do
    local l, x = dominant(n), numbers(n, 16)
    for i = 0, n * n - 1 do if i % n > i // n then l[i + 1] = 0 end end
    local b = gpu.array(apply(l, x, n), "float64")
    k.triangle(1, 64)(gpu.array(l, "float64"), b, n)
    t.close(b, x, 1e-12)
  end
end)

t.test("LU factors with pivoting", function()
  for _, n in ipairs { 1, 6, 33 } do
    local m = t.list(n * n, function(i) return ((i * i * 17 + i * 5) % 101 - 50) / 8 + (i % (n + 1) == 0 and 0.5 or 0) end)
    local a, pivots = gpu.array(m, "float64"), gpu.zeros(n, "int32")
    k.lu(1, 64)(a, pivots, n)
    local f, order = a:totable(), t.list(n, function(i) return i end)
    for c, p in ipairs(pivots:totable()) do order[c], order[p + 1] = order[p + 1], order[c] end
    t.close(t.list(n * n, function(i)
      local r, c, v = i // n, i % n, 0
      for j = 0, math.min(r, c) do v = v + (j == r and 1 or f[r * n + j + 1]) * f[j * n + c + 1] end
      return v
    end), t.list(n * n, function(i) return m[order[i // n + 1] * n + i % n + 1] end), 1e-10)
  end
end)

t.test("Cholesky factors", function()
  for _, n in ipairs { 1, 5, 16 } do
    local m = dominant(n, true)
    local a = gpu.array(m)
    k.cholesky(1, { 16, 16 })(a, n)
    local l = a:totable()
    for r = 0, n - 1 do
      for c = 0, r do
        local v = 0
        for j = 0, c do v = v + l[r * n + j + 1] * l[c * n + j + 1] end
        t.near(v, m[r * n + c + 1], 1e-4)
      end
    end
  end
end)

t.test("an inverse by Gauss-Jordan elimination", function()
  for _, n in ipairs { 1, 7, 16 } do
    local a, out = gpu.array(dominant(n), "float64"):reshape(n, n), gpu.zeros({ n, n }, "float64")
    k.inverse(1, { 32, 16 }, 16 * n * n)(a, out, n)
    t.close(a:to("cpu"):matmul(out:to("cpu")), gpu.eye(n, "float64", "cpu"), 1e-12)
  end
end)

-- The product of a tridiagonal matrix, given by its diagonals, and x.
local function tridiagonal(low, mid, up, x)
  return t.list(#x, function(i)
    local j = i + 1
    return mid[j] * x[j] + (j > 1 and low[j] * x[j - 1] or 0) + (j < #x and up[j] * x[j + 1] or 0)
  end)
end

t.test("tridiagonal systems, a thread each", function()
  local n, systems = 20, 37
  local low, up, x = numbers(n, 100), numbers(n, 90), numbers(n, 7)
  local mid = t.list(n, function(i) return 3 + i % 4 end)
  local b = tridiagonal(low, mid, up, x)
  local function spread(v) return gpu.array(t.list(n * systems, function(i) return v[i // systems + 1] end), "float64") end
  local d = gpu.array(t.list(n * systems, function(i) return b[i // systems + 1] * (i % systems + 1) end), "float64")
  k.thomas(2, 32)(spread(low), spread(mid), spread(up), d, n, systems)
  t.close(d, t.list(n * systems, function(i) return x[i // systems + 1] * (i % systems + 1) end), 1e-10)
end)

t.test("a tridiagonal system by cyclic reduction", function()
  for _, n in ipairs { 1, 2, 33, 100, 128 } do
    local low, up, x = numbers(n, 100), numbers(n, 90), numbers(n, 7)
    local mid = t.list(n, function(i) return 3 + i % 4 end)
    local b = gpu.array(tridiagonal(low, mid, up, x), "float64")
    k.cyclic(1, 128)(gpu.array(low, "float64"), gpu.array(mid, "float64"), gpu.array(up, "float64"), b, n)
    t.close(b, x, 1e-10)
  end
end)

t.test("least squares by rotations", function()
  local m, n, x = 12, 5, { 1.5, -2, 0.25, 3, -1 }
  local a = numbers(m * n, 32)
  local A, b = gpu.array(a, "float64"), gpu.array(apply(a, x, n), "float64")
  k.givens(1, 32)(A, b, m, n)
  local r, y, got = A:totable(), b:totable(), {}
  for i = n, 1, -1 do
    got[i] = y[i]
    for j = i + 1, n do got[i] = got[i] - r[(i - 1) * n + j] * got[j] end
    got[i] = got[i] / r[(i - 1) * n + i]
    for j = 1, i - 1 do t.near(r[(i - 1) * n + j], 0, 1e-12) end
  end
  t.close(got, x, 1e-9)
  for i = n + 1, m do t.near(y[i], 0, 1e-10) end
end)

t.test("the largest eigenvalue by iteration", function()
  local n, m = 9, dominant(9, true)
  local v, lambda = gpu.zeros(n), gpu.zeros(1)
  k.power(1, 64)(gpu.array(m), v, lambda, n, 200)
  local x = v:totable()
  t.close(apply(m, x, n), t.list(n, function(i) return lambda[1] * x[i + 1] end), 2e-2)
  t.near(v:square():sum(), 1, 1e-4)
end)

t.test("all eigenvalues by Jacobi rotations", function()
  local n, m = 6, dominant(6, true)
  local a = gpu.array(m)
  k.jacobi_rotation(1, 32)(a, n, 8)
  local d, trace, squares, want, want2 = a:totable(), 0, 0, 0, 0
  for i = 1, n * n do
    want2 = want2 + m[i] ^ 2
    if (i - 1) % (n + 1) == 0 then
      trace, want, squares = trace + d[i], want + m[i], squares + d[i] ^ 2
    else
      t.near(d[i], 0, 1e-3)
    end
  end
  t.near(trace, want, 1e-3)
  t.near(squares, want2, 0.2)
end)

t.done()
