-- Signals: transforms, filters, convolutions.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define PI 3.14159265358979323846
__global__ void dft(const double2 *x, double2 *y, int n, int sign) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= n) return;
  double2 s = {0, 0};
  for (int i = 0; i < n; i++) {
    double c, sn;
    sincospi(2.0 * sign * (f * i % n) / n, &sn, &c);
    s.x += x[i].x * c - x[i].y * sn;
    s.y += x[i].x * sn + x[i].y * c;
  }
  y[f] = s;
}
__device__ float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__global__ void fft(float2 *x, int n, int bits, float sign) {  // radix 2 in place, bits reversed first; n / 2 threads
  extern __shared__ float2 s[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += n / 2) s[__brev(i) >> (32 - bits)] = x[i];
  __syncthreads();
  for (int h = 1; h < n; h *= 2) {
    int j = t % h, i = (t / h) * 2 * h + j;
    float2 w;
    sincospif(sign * j / h, &w.y, &w.x);
    float2 u = s[i], v = times(s[i + h], w);
    s[i] = {u.x + v.x, u.y + v.y};
    s[i + h] = {u.x - v.x, u.y - v.y};
    __syncthreads();
  }
  for (int i = t; i < n; i += n / 2) x[i] = s[i];
}
__global__ void stockham(const float2 *in, float2 *out, int n, int h) {  // one pass a launch, sorted by itself
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n / 2) return;
  int j = t % h, to = (t / h) * 2 * h + j;
  float2 w;
  sincospif(-(float)j / h, &w.y, &w.x);
  float2 u = in[t], v = times(in[t + n / 2], w);
  out[to] = {u.x + v.x, u.y + v.y};
  out[to + h] = {u.x - v.x, u.y - v.y};
}
__global__ void fft_warp(float2 *x) {  // 32 points by shuffles, the result in bit-reversed order
  int lane = threadIdx.x;
  float2 v = x[blockIdx.x * 32 + lane];
  for (int h = 16; h; h /= 2) {
    float2 o = {__shfl_xor_sync(~0u, v.x, h), __shfl_xor_sync(~0u, v.y, h)};
    if (lane & h) {
      float2 w;
      sincospif(-(float)(lane & (h - 1)) / h, &w.y, &w.x);
      v = times(float2{o.x - v.x, o.y - v.y}, w);
    } else {
      v = {v.x + o.x, v.y + o.y};
    }
  }
  __syncwarp();  // shuffles don't order what lanes read before what others write
  x[blockIdx.x * 32 + (__brev(lane) >> 27)] = v;
}
__global__ void radix4(float2 *x, int n) {  // one butterfly of four over n / 4 threads, twiddles included
  int t = blockIdx.x * blockDim.x + threadIdx.x, q = n / 4;
  if (t >= q) return;
  float2 a = x[t], b = x[t + q], c = x[t + 2 * q], d = x[t + 3 * q];
  float2 s = {a.x + c.x, a.y + c.y}, u = {a.x - c.x, a.y - c.y}, v = {b.x + d.x, b.y + d.y}, w = {b.y - d.y, d.x - b.x};
  float2 r[4] = {{s.x + v.x, s.y + v.y}, {u.x + w.x, u.y + w.y}, {s.x - v.x, s.y - v.y}, {u.x - w.x, u.y - w.y}};
  for (int j = 0; j < 4; j++) {
    float2 e;
    sincospif(-2.0f * j * t / n, &e.y, &e.x);
    x[t + j * q] = times(r[j], e);
  }
}
// Modulo the prime 2^64 - 2^32 + 1: products of 128 bits.
__device__ unsigned long long mulmod(unsigned long long a, unsigned long long b) {
  const unsigned long long p = 0xffffffff00000001ull;
  unsigned long long low = a * b, high = __umul64hi(a, b);
  unsigned long long h1 = high >> 32, h0 = high & 0xffffffffu, r = low - h1;
  if (low < h1) r += p;
  unsigned long long m = h0 * 0xffffffffull, s = r + m;
  if (s < m) s -= p;
  return s >= p ? s - p : s;
}
__device__ unsigned long long powmod(unsigned long long a, unsigned e) {
  unsigned long long r = 1;
  for (; e; e >>= 1, a = mulmod(a, a)) if (e & 1) r = mulmod(r, a);
  return r;
}
__global__ void ntt(const unsigned long long *x, unsigned long long *y, int n, unsigned long long root) {
  const unsigned long long p = 0xffffffff00000001ull;
  int f = threadIdx.x;
  unsigned long long s = 0, w = 1, step = powmod(root, f);
  for (int i = 0; i < n; i++, w = mulmod(w, step)) {
    unsigned long long v = mulmod(x[i], w), r = s + v;
    if (r < s || r >= p) r -= p;
    s = r;
  }
  y[f] = s;
}
__global__ void hadamard(int *x, int n) {  // Walsh-Hadamard in place, n threads
  extern __shared__ int h[];
  int t = threadIdx.x;
  h[t] = x[t];
  for (int d = 1; d < n; d *= 2) {
    __syncthreads();
    int a = h[t], b = h[t ^ d];
    __syncthreads();
    h[t] = t & d ? b - a : a + b;
  }
  x[t] = h[t];
}
__global__ void haar(float *x, int n) {  // all levels of the Haar wavelet in one block, without the square roots
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  for (int w = n / 2; w; w /= 2) {
    float a, d;
    if (t < w) a = (s[2 * t] + s[2 * t + 1]) / 2, d = (s[2 * t] - s[2 * t + 1]) / 2;
    __syncthreads();
    if (t < w) s[t] = a, s[w + t] = d;
    __syncthreads();
  }
  for (int i = t; i < n; i += blockDim.x) x[i] = s[i];
}
__constant__ float mask[9] = {1, 2, -3, 4, 5, 4, -3, 2, 1};
__global__ void convolve(const float *x, float *y, int n) {  // a mask in constant memory, zero outside
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
#pragma unroll
  for (int j = 0; j < 9; j++) if (i + j - 4 >= 0 && i + j - 4 < n) s += mask[j] * x[i + j - 4];
  y[i] = s;
}
__global__ void full(const float *x, const float *h, float *y, int n, int m) {  // the full convolution, a warp an output
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (i >= n + m - 1) return;
  float s = 0;
  for (int j = lane; j < m; j += 32) if (i - j >= 0 && i - j < n) s += h[j] * x[i - j];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[i] = s;
}
__global__ void rows(const float *in, float *out, int h, int w) {  // separable: along rows with a halo, then along columns
  __shared__ float s[4][32 + 4];
  int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32, y = blockIdx.y * 4 + ty;
  for (int i = tx; i < 36; i += 32) {
    int x = min(max(x0 + i - 2, 0), w - 1);
    s[ty][i] = y < h ? in[y * w + x] : 0;
  }
  __syncthreads();
  if (x0 + tx < w && y < h)
    out[y * w + x0 + tx] = s[ty][tx] + 4 * s[ty][tx + 1] + 6 * s[ty][tx + 2] + 4 * s[ty][tx + 3] + s[ty][tx + 4];
}
__global__ void columns(const float *in, float *out, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float f[5] = {1, 4, 6, 4, 1};
  float s = 0;
  for (int j = 0; j < 5; j++) s += f[j] * in[min(max(y + j - 2, 0), h - 1) * w + x];
  out[y * w + x] = s;
}
__global__ void median(const unsigned char *x, unsigned char *y, int n, int radius) {  // by insertion into local memory
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned char v[15];
  int count = 0;
  for (int j = max(i - radius, 0); j <= min(i + radius, n - 1); j++) {
    int k = count++;
    while (k > 0 && v[k - 1] > x[j]) v[k] = v[k - 1], k--;
    v[k] = x[j];
  }
  y[i] = v[count / 2];
}
__global__ void smooth(const double *x, double *y, int n, double a) {  // y[i] = a y[i - 1] + x[i] by a scan of a warp
  int lane = threadIdx.x;
  double carry = 0, power = pow(a, lane + 1.0);
  for (int start = 0; start < n; start += 32) {
    double v = start + lane < n ? x[start + lane] : 0, f = a;
    for (int d = 1; d < 32; d *= 2, f *= f) {
      double u = __shfl_up_sync(~0u, v, d);
      if (lane >= d) v += f * u;
    }
    v += power * carry;
    if (start + lane < n) y[start + lane] = v;
    carry = __shfl_sync(~0u, v, 31);
  }
}
__global__ void biquads(const float *x, float *y, int n, int channels, float b0, float b1, float b2, float a1, float a2) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;  // a channel a thread, the state in registers
  if (c >= channels) return;
  float z1 = 0, z2 = 0;
  for (int i = 0; i < n; i++) {
    float in = x[i * channels + c], out = b0 * in + z1;
    z1 = b1 * in - a1 * out + z2;
    z2 = b2 * in - a2 * out;
    y[i * channels + c] = out;
  }
}
__global__ void correlate(const int *x, int *r, int n, int lags) {  // a block a lag
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int s = 0;
  for (int i = threadIdx.x; i + blockIdx.x < n; i += blockDim.x) s += x[i] * x[i + blockIdx.x];
  atomicAdd(&total, s);
  __syncthreads();
  if (threadIdx.x == 0) r[blockIdx.x] = total;
}
__global__ void goertzel(const double *x, double *power, int n) {  // a frequency a thread
  int f = threadIdx.x;
  double c = 2 * cospi(2.0 * f / n), s1 = 0, s2 = 0;
  for (int i = 0; i < n; i++) {
    double s = x[i] + c * s1 - s2;
    s2 = s1, s1 = s;
  }
  power[f] = s1 * s1 + s2 * s2 - c * s1 * s2;
}
__global__ void resample(const float *x, float *y, int n, int m) {  // Catmull-Rom
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  float p = m > 1 ? (float)i * (n - 1) / (m - 1) : 0;
  int j = min((int)p, n - 2);
  float u = p - j, a = x[max(j - 1, 0)], b = x[j], c = x[j + 1], d = x[min(j + 2, n - 1)];
  y[i] = b + 0.5f * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)));
}]=]

local function numbers(n, scale)
  return t.list(n, function(i) return ((i * i * 31 + 7 * i) % 211 - 105) / (scale or 1) end)
end

-- The discrete Fourier transform of n complex numbers, real and imaginary parts side by side.
local function dft(x, sign)
  local n, y = #x // 2, {}
  for f = 0, n - 1 do
    local re, im = 0, 0
    for i = 0, n - 1 do
      local w = 2 * math.pi * (sign or -1) * (f * i % n) / n
      local c, s = math.cos(w), math.sin(w)
      re, im = re + x[2 * i + 1] * c - x[2 * i + 2] * s, im + x[2 * i + 1] * s + x[2 * i + 2] * c
    end
    y[2 * f + 1], y[2 * f + 2] = re, im
  end
  return y
end

t.test("a discrete Fourier transform of any length", function()
  for _, n in ipairs { 1, 7, 33 } do
    local x, y = numbers(2 * n), gpu.zeros(2 * n, "float64")
    k.dft(2, 32)(gpu.array(x, "float64"), y, n, -1)
    t.close(y, dft(x), 1e-11)
  end
end)

t.test("fast Fourier transforms of a block, forward and back", function()
  for _, bits in ipairs { 1, 4, 6, 8 } do
    local n = 1 << bits
    local x = numbers(2 * n, 100)
    local a = gpu.array(x)
    k.fft(1, n // 2, 8 * n)(a, n, bits, -1)
    if n <= 64 then t.close(a, dft(x), 2e-5) end
    k.fft(1, n // 2, 8 * n)(a, n, bits, 1)
    t.close(a / n, x, 1e-5)
  end
end)

t.test("a Stockham transform", function()
  local n, x = 64, numbers(128, 100)
  local a, b, h = gpu.array(x), gpu.zeros(128), 1
  while h < n do
    k.stockham(2, 20)(a, b, n, h)
    a, b, h = b, a, h * 2
  end
  t.close(a, dft(x), 2e-5)
end)

t.test("transforms of 32 points by shuffles", function()
  local x = numbers(128, 100)
  local a = gpu.array(x)
  k.fft_warp(2, 32)(a)
  t.close(a[{ { 1, 64 } }], dft(table.move(x, 1, 64, 1, {})), 2e-5)
  t.close(a[{ { 65, 128 } }], dft(table.move(x, 65, 128, 1, {})), 2e-5)
end)

t.test("a butterfly of radix 4", function()
  local n, x = 32, numbers(64, 100)
  local a, want = gpu.array(x), dft(x)
  k.radix4(1, 8)(a, n)
  for j = 0, 3 do
    local part = dft(a[{ { 16 * j + 1, 16 * j + 16 } }]:totable())
    for f = 0, 7 do
      for c = 1, 2 do t.near(part[2 * f + c], want[2 * (4 * f + j) + c], 1e-4) end
    end
  end
end)

t.test("a number theoretic transform modulo a prime of 64 bits", function()
  -- 7 generates the units modulo p, so 7^((p - 1) / 32) is a root of unity of order 32; compared with convolution
  local p = { 0xffffffff, 0x00000001 }
  local function mod(a, b) -- a * b mod p by doubling, with unsigned comparisons
    local prime, r = p[1] << 32 | p[2], 0
    local function plus(x, y)
      local s = x + y
      if math.ult(s, x) or not math.ult(s, prime) then s = s - prime end
      return s
    end
    while b ~= 0 do
      if b & 1 == 1 then r = plus(r, a) end
      a, b = plus(a, a), b >> 1
    end
    return r
  end
  local function power(a, e)
    local r = 1
    while e ~= 0 do
      if e & 1 == 1 then r = mod(r, a) end
      a, e = mod(a, a), e >> 1
    end
    return r
  end
  local root = power(7, 0xffffffff << 27)
  t.eq(power(root, 32), 1)
  t.eq(power(root, 16), 0xffffffff00000000)
  local x, y = t.list(32, function(i) return i * 0x123456789abcdef % 0xfffffffff end), gpu.zeros(32, "uint64")
  k.ntt(1, 32)(gpu.array(x, "uint64"), y, 32, root)
  local got = y:totable()
  for _, f in ipairs { 0, 1, 5, 31 } do
    local want, prime = 0, 0xffffffff00000001
    for i = 0, 31 do
      local v = mod(x[i + 1], power(root, f * i))
      local s = want + v
      if math.ult(s, want) or not math.ult(s, prime) then s = s - prime end
      want = s
    end
    t.eq(got[f + 1], want)
  end
end)

t.test("a Walsh-Hadamard transform", function()
  for _, n in ipairs { 2, 32, 64 } do
    local x = numbers(n)
    local a = gpu.array(x, "int32")
    k.hadamard(1, n, 4 * n)(a, n)
    t.close(a, t.list(n, function(f)
      local s = 0
      for i = 0, n - 1 do
        local bits, odd = f & i, 0
        while bits ~= 0 do odd, bits = odd ~ (bits & 1), bits >> 1 end
        s = s + (odd == 1 and -x[i + 1] or x[i + 1])
      end
      return s
    end), 0)
  end
end)

t.test("Haar wavelets", function()
  for _, n in ipairs { 2, 64, 256 } do
    local x = numbers(n)
    local a, w = gpu.array(x), n // 2
    k.haar(1, 128)(a, n)
    while w >= 1 do
      local copy = table.move(x, 1, 2 * w, 1, {})
      for i = 0, w - 1 do
        x[i + 1], x[w + i + 1] = (copy[2 * i + 1] + copy[2 * i + 2]) / 2, (copy[2 * i + 1] - copy[2 * i + 2]) / 2
      end
      w = w // 2
    end
    t.close(a, x, 0)
  end
end)

t.test("convolution with a mask, and of two signals", function()
  local mask = { 1, 2, -3, 4, 5, 4, -3, 2, 1 }
  for _, n in ipairs { 1, 4, 33, 100 } do
    local x, y, z = numbers(n), gpu.zeros(n), gpu.zeros(n + 8)
    k.convolve(4, 32)(gpu.array(x), y, n)
    k.full((n + 8 + 1) // 2, 64)(gpu.array(x), gpu.array(mask), z, n, 9)
    local function at(i)
      local s = 0
      for j = 1, 9 do s = s + mask[j] * (x[i - j + 2] or 0) end
      return s
    end
    t.close(y, t.list(n, function(i) return at(i + 4) end), 0)
    t.close(z, t.list(n + 8, at), 0)
  end
end)

t.test("a separable filter", function()
  local h, w, f = 11, 45, { 1, 4, 6, 4, 1 }
  local x, a, b = numbers(h * w), gpu.zeros(h * w), gpu.zeros(h * w)
  k.rows({ 2, 3 }, { 32, 4 })(gpu.array(x), a, h, w)
  k.columns({ 3, 3 }, { 16, 4 })(a, b, h, w)
  t.close(b, t.list(h * w, function(i)
    local s = 0
    for dy = -2, 2 do
      for dx = -2, 2 do
        local r, c = math.min(math.max(i // w + dy, 0), h - 1), math.min(math.max(i % w + dx, 0), w - 1)
        s = s + f[dy + 3] * f[dx + 3] * x[r * w + c + 1]
      end
    end
    return s
  end), 0)
end)

t.test("running medians", function()
  local n, x, y = 77, t.list(77, function(i) return (i * i * 31) % 251 end), gpu.zeros(77, "uint8")
  for _, radius in ipairs { 1, 3, 7 } do
    k.median(2, 64)(gpu.array(x, "uint8"), y, n, radius)
    t.close(y, t.list(n, function(i)
      local v = {}
      for j = math.max(i - radius, 0), math.min(i + radius, n - 1) do v[#v + 1] = x[j + 1] end
      table.sort(v)
      return v[#v // 2 + 1]
    end), 0)
  end
end)

t.test("recursive filters, by a scan and by channels", function()
  local n, x, y, last, want = 100, numbers(100, 32), gpu.zeros(100, "float64"), 0, {}
  k.smooth(1, 32)(gpu.array(x, "float64"), y, n, 0.75)
  for i = 1, n do
    last = 0.75 * last + x[i]
    want[i] = last
  end
  t.close(y, want, 1e-12)
  local channels, in_, out = 37, numbers(37 * 20, 64), gpu.zeros(37 * 20)
  k.biquads(2, 32)(gpu.array(in_), out, 20, channels, 0.25, 0.5, 0.25, -0.5, 0.25)
  local got = out:totable()
  for c = 1, channels do
    local x1, x2, y1, y2 = 0, 0, 0, 0
    for i = 0, 19 do
      local v = in_[i * channels + c]
      local o = 0.25 * v + 0.5 * x1 + 0.25 * x2 + 0.5 * y1 - 0.25 * y2
      x1, x2, y1, y2 = v, x1, o, y1
      t.near(got[i * channels + c], o, 1e-5)
    end
  end
end)

t.test("an autocorrelation", function()
  local n, x, r = 150, numbers(150), gpu.zeros(20, "int32")
  k.correlate(20, 64)(gpu.array(x, "int32"), r, n, 20)
  t.close(r, t.list(20, function(lag)
    local s = 0
    for i = 1, n - lag do s = s + x[i] * x[i + lag] end
    return s
  end), 0)
end)

t.test("the power of single frequencies", function()
  local n, x, power = 40, numbers(40, 16), gpu.zeros(21, "float64")
  k.goertzel(1, 21)(gpu.array(x, "float64"), power, n)
  local spectrum = dft(t.list(2 * n, function(i) return i % 2 == 0 and x[i // 2 + 1] or 0 end))
  t.close(power, t.list(21, function(f) return spectrum[2 * f + 1] ^ 2 + spectrum[2 * f + 2] ^ 2 end), 1e-9)
end)

t.test("resampling by cubics", function()
  local n, m, x, y = 20, 58, numbers(20, 8), gpu.zeros(58)
  k.resample(2, 32)(gpu.array(x), y, n, m)
  t.close(y, t.list(m, function(i)
    local p = i * (n - 1) / (m - 1)
    local j = math.min(p // 1 | 0, n - 2)
    local u, a, b, c, d = p - j, x[math.max(j, 1)], x[j + 1], x[j + 2], x[math.min(j + 3, n)]
    return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)))
  end), 2e-5)
end)

t.done()
