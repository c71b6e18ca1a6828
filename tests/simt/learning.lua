-- Machine learning: normalisations, attention, losses, convolutions and pools, quantised products, optimisers.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel([=[
#define FULL 0xffffffffu
__device__ float warp_sum(float v) { for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d); return v; }
__device__ float warp_max(float v) { for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(FULL, v, d)); return v; }
__device__ float block_sum(float v) {
  __shared__ float s[32];
  __syncthreads();
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? s[threadIdx.x % 32] : 0);
}
__global__ void softmax(const float *x, float *y, int w) {  // a warp a row, three passes
  const float *in = x + blockIdx.x * w;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < w; i += 32) m = fmaxf(m, in[i]);
  m = warp_max(m);
  for (int i = threadIdx.x; i < w; i += 32) s += expf(in[i] - m);
  s = warp_sum(s);
  for (int i = threadIdx.x; i < w; i += 32) y[blockIdx.x * w + i] = expf(in[i] - m) / s;
}
__global__ void softmax_online(const float *x, float *y, int w) {  // maximum and sum in one pass, merged over the warp
  const float *in = x + blockIdx.x * w;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < w; i += 32) {
    float n = fmaxf(m, in[i]);
    s = s * expf(m - n) + expf(in[i] - n);
    m = n;
  }
  for (int d = 16; d; d /= 2) {
    float om = __shfl_xor_sync(FULL, m, d), os = __shfl_xor_sync(FULL, s, d), n = fmaxf(m, om);
    s = (s > 0 ? s * expf(m - n) : 0) + (os > 0 ? os * expf(om - n) : 0);
    m = n;
  }
  for (int i = threadIdx.x; i < w; i += 32) y[blockIdx.x * w + i] = __expf(in[i] - m) / s;
}
__global__ void layer_norm(const float *x, const float *gain, const float *bias, float *y, int w, float eps) {
  const float *in = x + blockIdx.x * w;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < w; i += blockDim.x) s += in[i];
  float mean = block_sum(s) / w;
  for (int i = threadIdx.x; i < w; i += blockDim.x) q += (in[i] - mean) * (in[i] - mean);
  float scale = rsqrtf(block_sum(q) / w + eps);
  for (int i = threadIdx.x; i < w; i += blockDim.x) y[blockIdx.x * w + i] = (in[i] - mean) * scale * gain[i] + bias[i];
}
__global__ void layer_norm_back(const float *x, const float *dy, const float *gain, float *dx, float *dgain, float *dbias, int w, float eps) {
  const float *in = x + blockIdx.x * w, *g = dy + blockIdx.x * w;
  float s = 0, q = 0, a = 0, b = 0;
  for (int i = threadIdx.x; i < w; i += blockDim.x) s += in[i];
  float mean = block_sum(s) / w;
  for (int i = threadIdx.x; i < w; i += blockDim.x) q += (in[i] - mean) * (in[i] - mean);
  float scale = rsqrtf(block_sum(q) / w + eps);
  for (int i = threadIdx.x; i < w; i += blockDim.x) {
    float h = (in[i] - mean) * scale;
    a += g[i] * gain[i];
    b += g[i] * gain[i] * h;
    atomicAdd(&dgain[i], g[i] * h);
    atomicAdd(&dbias[i], g[i]);
  }
  a = block_sum(a) / w, b = block_sum(b) / w;
  for (int i = threadIdx.x; i < w; i += blockDim.x)
    dx[blockIdx.x * w + i] = scale * (g[i] * gain[i] - a - (in[i] - mean) * scale * b);
}
__global__ void rms_norm(const float *x, float *y, int w) {
  float s = 0;
  for (int i = threadIdx.x; i < w; i += blockDim.x) { float v = x[blockIdx.x * w + i]; s += v * v; }
  float scale = rsqrtf(block_sum(s) / w + 1e-6f);
  for (int i = threadIdx.x; i < w; i += blockDim.x) y[blockIdx.x * w + i] = x[blockIdx.x * w + i] * scale;
}
__global__ void batch_norm(const float *x, float *y, float *mean, float *var, int n, int c) {  // a block a channel, (n, c)
  int ch = blockIdx.x;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { float v = x[i * c + ch]; s += v, q += v * v; }
  s = block_sum(s) / n, q = block_sum(q) / n - s * s;
  if (threadIdx.x == 0) mean[ch] = 0.9f * mean[ch] + 0.1f * s, var[ch] = 0.9f * var[ch] + 0.1f * q;
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i * c + ch] = (x[i * c + ch] - s) * rsqrtf(q + 1e-5f);
}
// Attention in three kernels, and in one that never stores the scores.
__global__ void scores(const float *q, const float *k, float *s, int n, int d, bool causal) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float v = 0;
  for (int c = 0; c < d; c++) v += q[i * d + c] * k[j * d + c];
  s[i * n + j] = causal && j > i ? -INFINITY : v * rsqrtf((float)d);
}
__global__ void mix(const float *p, const float *v, float *o, int n, int d) {
  int c = threadIdx.x, i = blockIdx.x;
  float s = 0;
  for (int j = 0; j < n; j++) s += p[i * n + j] * v[j * d + c];
  o[i * d + c] = s;
}
template <int D, int B> __global__ void flash(const float *q, const float *k, const float *v, float *o, int n, bool causal) {
  __shared__ float ks[B][D + 1], vs[B][D + 1];
  int t = threadIdx.x, i = blockIdx.x * B + t;
  float mine[D], acc[D] = {}, m = -INFINITY, l = 0;
  for (int c = 0; c < D; c++) mine[c] = i < n ? q[i * D + c] * rsqrtf((float)D) : 0;
  for (int start = 0; start < n; start += B) {
    for (int c = 0; c < D; c++) {
      ks[t][c] = start + t < n ? k[(start + t) * D + c] : 0;
      vs[t][c] = start + t < n ? v[(start + t) * D + c] : 0;
    }
    __syncthreads();
    for (int j = 0; j < min(B, n - start); j++) {
      if (causal && start + j > i) break;
      float s = 0;
      for (int c = 0; c < D; c++) s += mine[c] * ks[j][c];
      float fresh = fmaxf(m, s), keep = expf(m - fresh), p = expf(s - fresh);
      l = l * keep + p;
      for (int c = 0; c < D; c++) acc[c] = acc[c] * keep + p * vs[j][c];
      m = fresh;
    }
    __syncthreads();
  }
  if (i < n) for (int c = 0; c < D; c++) o[i * D + c] = acc[c] / l;
}
__global__ void activations(const float *x, float *gelu, float *silu, float *leaky, float *softplus, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  gelu[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
  silu[i] = v / (1 + expf(-v));
  leaky[i] = v > 0 ? v : 0.01f * v;
  softplus[i] = v > 20 ? v : log1pf(expf(v));
}
__global__ void gelu_tanh(const float4 *x, float4 *y, int fours) {  // the approximation, by fours
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= fours) return;
  float4 v = x[i];
  auto f = [](float u) { return 0.5f * u * (1 + tanhf(0.79788456f * (u + 0.044715f * u * u * u))); };
  y[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
}
__global__ void cross_entropy(const float *x, const int *label, float *loss, float *grad, int w, int rows) {  // mean loss, gradient
  const float *in = x + blockIdx.x * w;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < w; i += 32) m = fmaxf(m, in[i]);
  m = warp_max(m);
  for (int i = threadIdx.x; i < w; i += 32) s += expf(in[i] - m);
  s = warp_sum(s);
  int y = label[blockIdx.x];
  for (int i = threadIdx.x; i < w; i += 32) grad[blockIdx.x * w + i] = (expf(in[i] - m) / s - (i == y)) / rows;
  if (threadIdx.x == 0) atomicAdd(loss, (logf(s) + m - in[y]) / rows);
}
__global__ void gather(const float *table, const long long *id, float *out, int d) {
  out[blockIdx.x * d + threadIdx.x] = table[id[blockIdx.x] * d + threadIdx.x];
}
__global__ void scatter(float *grad, const long long *id, const float *dy, int d) {
  atomicAdd(&grad[id[blockIdx.x] * d + threadIdx.x], dy[blockIdx.x * d + threadIdx.x]);
}
__global__ void rotary(float *x, int heads, int d) {  // rotates pairs by the position
  int pos = blockIdx.x, head = threadIdx.y, i = threadIdx.x;
  float angle = pos * powf(10000, -2.0f * i / d), s, c;
  sincosf(angle, &s, &c);
  float2 *p = (float2 *)(x + (pos * heads + head) * d) + i, v = *p;
  *p = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}
// Images (channels, h, w), filters (out, in, 3, 3), zero around.
__global__ void conv(const float *x, const float *f, const float *bias, float *y, int cin, int h, int w) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, o = blockIdx.z;
  if (c >= w || r >= h) return;
  float s = bias[o];
  for (int i = 0; i < cin; i++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++)
        if (r + dy >= 0 && r + dy < h && c + dx >= 0 && c + dx < w)
          s += f[((o * cin + i) * 3 + dy + 1) * 3 + dx + 1] * x[(i * h + r + dy) * w + c + dx];
  y[(o * h + r) * w + c] = s;
}
__global__ void im2col(const float *x, float *columns, int cin, int h, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, total = cin * 9 * h * w;
  if (i >= total) return;
  int c = i % w, r = i / w % h, tap = i / (h * w) % 9, ch = i / (h * w * 9), sr = r + tap / 3 - 1, sc = c + tap % 3 - 1;
  columns[i] = sr >= 0 && sr < h && sc >= 0 && sc < w ? x[(ch * h + sr) * w + sc] : 0;
}
__global__ void depthwise(const float *x, const float *f, float *y, int h, int w, int stride) {
  int ow = (w - 1) / stride + 1, oh = (h - 1) / stride + 1, i = blockIdx.x * blockDim.x + threadIdx.x, ch = blockIdx.y;
  if (i >= oh * ow) return;
  int r = i / ow * stride, c = i % ow * stride;
  float s = 0;
#pragma unroll
  for (int tap = 0; tap < 9; tap++) {
    int sr = r + tap / 3 - 1, sc = c + tap % 3 - 1;
    if ((unsigned)sr < h && (unsigned)sc < w) s += f[ch * 9 + tap] * x[(ch * h + sr) * w + sc];
  }
  y[ch * oh * ow + i] = s;
}
__global__ void max_pool(const float *x, float *y, int *where, int h, int w) {  // 2 x 2, with the index that won
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= w / 2 || r >= h / 2) return;
  int best = 2 * r * w + 2 * c;
  for (int j = 0; j < 4; j++) {
    int i = (2 * r + j / 2) * w + 2 * c + j % 2;
    if (x[i] > x[best]) best = i;
  }
  y[r * (w / 2) + c] = x[best], where[r * (w / 2) + c] = best;
}
__global__ void unpool(const float *dy, const int *where, float *dx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dx[where[i]] = dy[i];
}
// Philox 4 x 32 with ten rounds: the same mask for the same counter and key, whatever the launch.
__device__ uint4 philox(uint4 c, uint2 key) {
  for (int r = 0; r < 10; r++) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
  }
  return c;
}
__global__ void random_bits(uint4 *out, unsigned k0, unsigned k1, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = philox(make_uint4(i, 0, 0, 0), make_uint2(k0, k1));
}
__global__ void dropout(const float *x, float *y, unsigned key, float keep, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i >= n) return;
  uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2(key, 0));
  unsigned bits[4] = {r.x, r.y, r.z, r.w};
  for (int j = 0; j < 4 && 4 * i + j < n; j++)
    y[4 * i + j] = (bits[j] >> 8) * (1.0f / (1 << 24)) < keep ? x[4 * i + j] / keep : 0;
}
struct Adam { float rate, beta1, beta2, eps, decay; int step; };
__global__ void adam(float *p, const float *g, float *m, float *v, Adam a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = a.beta1 * m[i] + (1 - a.beta1) * g[i];
  v[i] = a.beta2 * v[i] + (1 - a.beta2) * g[i] * g[i];
  float mh = m[i] / (1 - powf(a.beta1, a.step)), vh = v[i] / (1 - powf(a.beta2, a.step));
  p[i] -= a.rate * (mh / (sqrtf(vh) + a.eps) + a.decay * p[i]);
}
__global__ void clip(float *g, const float *norm2, float limit, int n) {  // gradients scaled down to a norm
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = fminf(1, limit / sqrtf(*norm2));
  if (i < n) g[i] *= s;
}
__global__ void quantise(const float *x, signed char *q, float *scale, int w) {  // a row a warp, by its largest value
  float m = 0;
  for (int i = threadIdx.x; i < w; i += 32) m = fmaxf(m, fabsf(x[blockIdx.x * w + i]));
  m = warp_max(m);
  float s = m / 127;
  for (int i = threadIdx.x; i < w; i += 32) q[blockIdx.x * w + i] = m > 0 ? __float2int_rn(x[blockIdx.x * w + i] / s) : 0;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
}
__global__ void product8(const int *a, const int *b, int *c, int m, int n, int k4) {  // four products of bytes an instruction
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  int s = 0;
  for (int i = 0; i < k4; i++) s = __dp4a(a[row * k4 + i], b[col * k4 + i], s);
  c[row * n + col] = s;
}]=], { instantiate = { "flash<8, 16>", "flash<4, 32>" } })

local function numbers(n, scale)
  return t.list(n, function(i) return ((i * i * 31 + 7 * i) % 211 - 105) / (scale or 50) end)
end

local function row(x, r, w) return table.move(x, r * w + 1, (r + 1) * w, 1, {}) end

local function flat(rows)
  local list = {}
  for _, r in ipairs(rows) do table.move(r, 1, #r, #list + 1, list) end
  return list
end

local function softmax(x)
  local m, s = math.max(table.unpack(x)), 0
  for _, v in ipairs(x) do s = s + math.exp(v - m) end
  return t.list(#x, function(i) return math.exp(x[i + 1] - m) / s end), m + math.log(s)
end

local function moments(x)
  local mean, var = 0, 0
  for _, v in ipairs(x) do mean = mean + v / #x end
  for _, v in ipairs(x) do var = var + (v - mean) ^ 2 / #x end
  return mean, var
end

for _, name in ipairs { "softmax", "softmax_online" } do
  t.test(name:gsub("_", " "), function()
    for _, s in ipairs { { 1, 1 }, { 3, 31 }, { 2, 33 }, { 5, 100 } } do
      local rows, w = s[1], s[2]
      local x, y = numbers(rows * w, 4), gpu.zeros(rows * w)
      k[name](rows, 32)(gpu.array(x), y, w)
      t.close(y, flat(t.list(rows, function(r) return softmax(row(x, r, w)) end)), 2e-6)
    end
  end)
end

t.test("layer norm and its gradient", function()
  local rows, w, eps = 3, 70, 1e-5
  local x, gain, bias, dy = numbers(rows * w), numbers(w, 90), numbers(w, 40), t.list(rows * w, function(i) return math.sin(i) end)
  local y = gpu.zeros(rows * w)
  k.layer_norm(rows, 64)(gpu.array(x), gpu.array(gain), gpu.array(bias), y, w, eps)
  local function forward(v)
    return flat(t.list(rows, function(r)
      local line = row(v, r, w)
      local mean, var = moments(line)
      return t.list(w, function(i) return (line[i + 1] - mean) / math.sqrt(var + eps) * gain[i + 1] + bias[i + 1] end)
    end))
  end
  local want = forward(x)
  t.close(y, want, 1e-5)
  local dx, dgain, dbias = gpu.zeros(rows * w), gpu.zeros(w), gpu.zeros(w)
  k.layer_norm_back(rows, 64)(gpu.array(x), gpu.array(dy), gpu.array(gain), dx, dgain, dbias, w, eps)
  for _, i in ipairs { 1, 40, 71, 210 } do -- by finite differences
    local h, sum = 1e-4, 0
    local up = table.move(x, 1, #x, 1, {})
    up[i] = up[i] + h
    for j, v in ipairs(forward(up)) do sum = sum + dy[j] * (v - want[j]) / h end
    t.near(dx[i], sum, 2e-3)
  end
  for _, i in ipairs { 1, 33, 70 } do
    local g, b = 0, 0
    for r = 0, rows - 1 do
      g = g + dy[r * w + i] * (want[r * w + i] - bias[i]) / gain[i]
      b = b + dy[r * w + i]
    end
    t.near(dgain[i], g, 1e-4)
    t.near(dbias[i], b, 1e-5)
  end
end)

t.test("root mean square norm", function()
  local rows, w, x = 2, 100, numbers(200)
  local y = gpu.zeros(200)
  k.rms_norm(rows, 96)(gpu.array(x), y, w)
  t.close(y, t.list(200, function(i)
    local s = 0
    for _, v in ipairs(row(x, i // w, w)) do s = s + v * v / w end
    return x[i + 1] / math.sqrt(s + 1e-6)
  end), 1e-5)
end)

t.test("batch norm with running moments", function()
  local n, c, x = 45, 5, numbers(225)
  local y, mean, var = gpu.zeros(225), gpu.ones(c), gpu.ones(c)
  k.batch_norm(c, 64)(gpu.array(x), y, mean, var, n, c)
  local got = y:totable()
  for ch = 1, c do
    local column = t.list(n, function(i) return x[i * c + ch] end)
    local m, v = moments(column)
    t.near(mean[ch], 0.9 + 0.1 * m, 1e-5)
    t.near(var[ch], 0.9 + 0.1 * v, 1e-5)
    for i = 0, n - 1 do t.near(got[i * c + ch], (column[i + 1] - m) / math.sqrt(v + 1e-5), 2e-5) end
  end
end)

local function attention(q, key, v, n, d, causal)
  return flat(t.list(n, function(i)
    local p = softmax(t.list(causal and i + 1 or n, function(j)
      local s = 0
      for c = 1, d do s = s + q[i * d + c] * key[j * d + c] end
      return s / math.sqrt(d)
    end))
    return t.list(d, function(c)
      local s = 0
      for j, w in ipairs(p) do s = s + w * v[(j - 1) * d + c + 1] end
      return s
    end)
  end))
end

t.test("attention that stores its scores, and that does not", function()
  for _, case in ipairs { { 1, 8, 16 }, { 33, 8, 16 }, { 40, 4, 32 } } do
    local n, d, b = table.unpack(case)
    for _, causal in ipairs { false, true } do
      local q, key, v = numbers(n * d), numbers(n * d, 35), t.list(n * d, function(i) return math.cos(i * i) end)
      local Q, K, V, s, o, o2 = gpu.array(q), gpu.array(key), gpu.array(v), gpu.zeros(n * n), gpu.zeros(n * d), gpu.zeros(n * d)
      local want = attention(q, key, v, n, d, causal)
      k.scores({ 3, 5 }, { 16, 8 })(Q, K, s, n, d, causal)
      k.softmax(n, 32)(s, s, n)
      k.mix(n, d)(s, V, o, n, d)
      k["flash<" .. d .. ", " .. b .. ">"]((n + b - 1) // b, b)(Q, K, V, o2, n, causal)
      t.close(o, want, 1e-5)
      t.close(o2, want, 1e-5)
    end
  end
end)

t.test("activations", function()
  local n, x = 96, numbers(96, 10)
  local y = t.list(5, function() return gpu.zeros(n) end)
  k.activations(3, 32)(gpu.array(x), y[1], y[2], y[3], y[4], n)
  k.gelu_tanh(1, 32)(gpu.array(x), y[5], n // 4)
  local function tanh(v) return 1 - 2 / (math.exp(2 * v) + 1) end
  t.close(y[5], t.list(n, function(i)
    local v = x[i + 1]
    return 0.5 * v * (1 + tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ^ 3)))
  end), 1e-5)
  t.close(y[1], y[5], 2e-3) -- which approximates it
  t.close(y[2], t.list(n, function(i) return x[i + 1] / (1 + math.exp(-x[i + 1])) end), 1e-5)
  t.close(y[3], t.list(n, function(i) return x[i + 1] > 0 and x[i + 1] or 0.01 * x[i + 1] end), 1e-6)
  t.close(y[4], t.list(n, function(i) return math.log(1 + math.exp(x[i + 1])) end), 1e-5)
end)

t.test("cross entropy and its gradient", function()
  local rows, w = 4, 45
  local x, label = numbers(rows * w, 20), t.list(rows, function(r) return r * 11 % w end)
  local loss, grad, want = gpu.zeros(1), gpu.zeros(rows * w), 0
  k.cross_entropy(rows, 32)(gpu.array(x), gpu.array(label, "int32"), loss, grad, w, rows)
  t.close(grad, flat(t.list(rows, function(r)
    local p, top = softmax(row(x, r, w))
    want = want + (top - x[r * w + label[r + 1] + 1]) / rows
    return t.list(w, function(i) return (p[i + 1] - (i == label[r + 1] and 1 or 0)) / rows end)
  end)), 1e-6)
  t.near(loss[1], want, 1e-5)
end)

t.test("embeddings and their gradient", function()
  local d, ids, table_ = 40, { 3, 0, 7, 3, 3 }, numbers(400)
  local out, grad, id = gpu.zeros(5 * d), gpu.zeros(400), gpu.array({ 3, 0, 7, 3, 3 }, "int64")
  k.gather(5, d)(gpu.array(table_), id, out, d)
  t.close(out, gpu.array(flat(t.list(5, function(i) return row(table_, ids[i + 1], d) end))), 0)
  k.scatter(5, d)(grad, id, gpu.ones(5 * d), d)
  t.close(grad, t.list(400, function(i) return ({ [3] = 3, [0] = 1, [7] = 1 })[i // d] or 0 end), 0)
end)

t.test("rotary positions", function()
  local n, heads, d = 5, 3, 16
  local x = numbers(n * heads * d)
  local a = gpu.array(x)
  k.rotary(n, { d // 2, heads })(a, heads, d)
  t.close(a, t.list(#x, function(i)
    local angle = i // (heads * d) * 10000 ^ (-2 * (i % d // 2) / d)
    local even, odd = x[i // 2 * 2 + 1], x[i // 2 * 2 + 2]
    return i % 2 == 0 and even * math.cos(angle) - odd * math.sin(angle) or even * math.sin(angle) + odd * math.cos(angle)
  end), 1e-5)
end)

t.test("convolution direct, as a matrix product, and by channels", function()
  local cin, cout, h, w = 2, 3, 9, 13
  local x, f, bias = t.list(cin * h * w, function(i) return i * i % 13 - 6 end), t.list(cout * cin * 9, function(i) return i * 5 % 7 - 3 end), { 1, -2, 3 }
  local X, F, y, columns = gpu.array(x), gpu.array(f), gpu.zeros(cout * h * w), gpu.zeros({ cin * 9, h * w })
  local function at(ch, r, c) return r >= 0 and r < h and c >= 0 and c < w and x[(ch * h + r) * w + c + 1] or 0 end
  local function tap(ch, r, c, weights, base)
    local s = 0
    for j = 0, 8 do s = s + weights[base + j + 1] * at(ch, r + j // 3 - 1, c + j % 3 - 1) end
    return s
  end
  local want = t.list(cout * h * w, function(i)
    local o, s = i // (h * w), 0
    for ch = 0, cin - 1 do s = s + tap(ch, i // w % h, i % w, f, (o * cin + ch) * 9) end
    return s + bias[o + 1]
  end)
  k.conv({ 1, 3, cout }, { 16, 4 })(X, F, gpu.array(bias), y, cin, h, w)
  t.close(y, want, 0)
  k.im2col((cin * 9 * h * w + 63) // 64, 64)(X, columns, cin, h, w)
  t.close(F:reshape(cout, cin * 9):to("cpu"):matmul(columns:to("cpu")) + gpu.array({ { 1 }, { -2 }, { 3 } }, "float32", "cpu"), want, 0)
  for stride = 1, 2 do
    local oh, ow = (h - 1) // stride + 1, (w - 1) // stride + 1
    local z = gpu.zeros(cin * oh * ow)
    k.depthwise({ (oh * ow + 31) // 32, cin }, 32)(X, F, z, h, w, stride)
    t.close(z, t.list(cin * oh * ow, function(i)
      local ch = i // (oh * ow)
      return tap(ch, i // ow % oh * stride, i % ow * stride, f, ch * 9)
    end), 0)
  end
end)

t.test("pooling and its gradient", function()
  local h, w = 11, 18
  local x = t.list(h * w, function(i) return i * i * 7 % 199 end)
  local n = (h // 2) * (w // 2)
  local y, where, dx = gpu.zeros(n), gpu.zeros(n, "int32"), gpu.zeros(h * w)
  k.max_pool({ 1, 2 }, { 16, 4 })(gpu.array(x), y, where, h, w)
  k.unpool(2, 32)(gpu.range(1, n, 1, "float32"), where, dx, n)
  local want, spread = {}, t.list(h * w, function() return 0 end)
  for i = 0, n - 1 do
    local best = 2 * (i // (w // 2)) * w + 2 * (i % (w // 2))
    for _, o in ipairs { 1, w, w + 1 } do
      local j = 2 * (i // (w // 2)) * w + 2 * (i % (w // 2)) + o
      if x[j + 1] > x[best + 1] then best = j end
    end
    want[i + 1], spread[best + 1] = x[best + 1], i + 1
  end
  t.close(y, want, 0)
  t.close(dx, spread, 0)
end)

local function philox(c, k0, k1)
  for _ = 1, 10 do
    local p, q = 0xD2511F53 * c[1], 0xCD9E8D57 * c[3] -- below 2^64: the upper halves by unsigned shifts
    c = { (q >> 32) ~ c[2] ~ k0, q & 0xffffffff, (p >> 32) ~ c[4] ~ k1, p & 0xffffffff }
    k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
  end
  return c
end

t.test("counter-based random numbers and dropout", function()
  local n, out = 40, gpu.zeros(160, "uint32")
  k.random_bits(2, 32)(out, 0xdeadbeef, 42, n)
  t.same(out:totable(), flat(t.list(n, function(i) return philox({ i, 0, 0, 0 }, 0xdeadbeef, 42) end)))
  t.same(philox({ 0, 0, 0, 0 }, 0, 0), { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }) -- the published vector
  local y = gpu.zeros(157)
  k.dropout(2, 32)(gpu.full(157, 3), y, 7, 0.75, 157)
  local kept = 0
  t.close(y, t.list(157, function(i)
    local keep = (philox({ i // 4, 0, 0, 0 }, 7, 0)[i % 4 + 1] >> 8) / (1 << 24) < 0.75
    kept = kept + (keep and 1 or 0)
    return keep and 4 or 0
  end), 0)
  t.eq(kept > 90 and kept < 145, true)
end)

t.test("Adam steps, gradients clipped", function()
  local n, p, g = 50, numbers(50), numbers(50, 20)
  local norm = 0
  for _, v in ipairs(g) do norm = norm + v * v end
  local P, G, M, V = gpu.array(p), gpu.array(g), gpu.zeros(n), gpu.zeros(n)
  k.clip(1, 64)(G, gpu.array({ norm }), 2.0, n)
  g = t.list(n, function(i) return g[i + 1] * math.min(1, 2 / math.sqrt(norm)) end)
  t.close(G, g, 1e-6)
  local m, v = t.list(n, function() return 0 end), t.list(n, function() return 0 end)
  for step = 1, 4 do
    k.adam(2, 32)(P, G, M, V, string.pack("<fffffi4", 0.1, 0.9, 0.99, 1e-6, 0.01, step), n)
    for i = 1, n do
      m[i], v[i] = 0.9 * m[i] + 0.1 * g[i], 0.99 * v[i] + 0.01 * g[i] ^ 2
      p[i] = p[i] - 0.1 * ((m[i] / (1 - 0.9 ^ step)) / (math.sqrt(v[i] / (1 - 0.99 ^ step)) + 1e-6) + 0.01 * p[i])
    end
  end
  t.close(P, p, 2e-4)
end)

t.test("rows of bytes and their products", function()
  local m, n, w = 9, 12, 40
  local x, y = numbers((m + n) * w), nil
  local q, scale = gpu.zeros((m + n) * w, "int8"), gpu.zeros(m + n)
  k.quantise(m + n, 32)(gpu.array(x), q, scale, w)
  y = q:totable()
  for r = 0, m + n - 1 do
    local line, top = row(x, r, w), 0
    for _, v in ipairs(line) do top = math.max(top, math.abs(v)) end
    t.near(scale[r + 1], top / 127, 1e-6)
    for i, v in ipairs(line) do t.near(y[r * w + i] * top / 127, v, top / 127 * 0.501) end
  end
  local words = t.list((m + n) * w // 4, function(i)
    return (string.unpack("<i4", string.pack("<i1i1i1i1", y[4 * i + 1], y[4 * i + 2], y[4 * i + 3], y[4 * i + 4])))
  end)
  local c = gpu.zeros({ m, n }, "int32")
  k.product8({ 1, 3 }, { 16, 4 })(gpu.array(row(words, 0, m * w // 4), "int32"),
    gpu.array(table.move(words, m * w // 4 + 1, #words, 1, {}), "int32"), c, m, n, w // 4)
  t.close(c, t.list(m * n, function(i)
    local s = 0
    for j = 1, w do s = s + y[i // n * w + j] * y[(m + i % n) * w + j] end
    return s
  end), 0)
end)

t.done()
