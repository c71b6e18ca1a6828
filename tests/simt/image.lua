-- Images: colours, histograms, neighbourhoods, geometry, dithering by a wavefront, labels.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define PIXEL int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return
typedef unsigned char byte;
__device__ int clampi(int v, int low, int high) { return min(max(v, low), high); }

__global__ void grey(const uchar4 *in, byte *out, int h, int w) {
  PIXEL;
  uchar4 p = in[y * w + x];
  out[y * w + x] = (p.x * 77 + p.y * 150 + p.z * 29 + 128) >> 8;
}
__global__ void swap_channels(const uchar3 *in, uchar3 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_uchar3(in[i].z, in[i].y, in[i].x);
}
__global__ void hue(const float3 *in, float3 *out, int n) {  // RGB to HSV: every lane its own branch
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 c = in[i];
  float v = fmaxf(c.x, fmaxf(c.y, c.z)), m = v - fminf(c.x, fminf(c.y, c.z)), a = 0;
  if (m > 0) {
    if (v == c.x) a = (c.y - c.z) / m;
    else if (v == c.y) a = 2 + (c.z - c.x) / m;
    else a = 4 + (c.x - c.y) / m;
    if (a < 0) a += 6;
  }
  out[i] = make_float3(a * 60, v > 0 ? m / v : 0, v);
}
__constant__ byte gamma_table[256] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
__global__ void lookup(const byte *in, byte *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = gamma_table[in[i]];
}
// Histogram equalisation: counts by warps' own bins, a scan, the map.
__global__ void counts(const byte *in, int *bins, int n) {
  __shared__ int s[2][256];
  for (int i = threadIdx.x; i < 512; i += blockDim.x) (&s[0][0])[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[threadIdx.x / 32 % 2][in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (int c = s[0][i] + s[1][i]) atomicAdd(&bins[i], c);
}
__global__ void equalise(const byte *in, byte *out, const int *bins, int n) {
  __shared__ int cdf[256];
  int t = threadIdx.x;
  cdf[t] = bins[t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = t >= d ? cdf[t - d] : 0;
    __syncthreads();
    cdf[t] += v;
    __syncthreads();
  }
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) out[i] = (long long)255 * cdf[in[i]] / n;
}
__global__ void otsu(const int *bins, int *threshold, int n) {  // the split with the largest variance between classes
  __shared__ float best[256];
  __shared__ int at[256];
  int t = threadIdx.x;
  float w = 0, s = 0, total = 0;
  for (int i = 0; i < 256; i++) {
    total += (float)i * bins[i];
    if (i <= t) w += bins[i], s += (float)i * bins[i];
  }
  float m = w > 0 && w < n ? s / w - (total - s) / (n - w) : 0;
  best[t] = w * (n - w) * m * m, at[t] = t;
  __syncthreads();
  for (int d = 128; d; d /= 2) {
    if (t < d && best[t + d] > best[t]) best[t] = best[t + d], at[t] = at[t + d];
    __syncthreads();
  }
  if (t == 0) *threshold = at[0];
}
__global__ void sobel(const byte *in, byte *out, int h, int w) {
  PIXEL;
  int v[3][3];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) v[j][i] = in[clampi(y + j - 1, 0, h - 1) * w + clampi(x + i - 1, 0, w - 1)];
  int gx = v[0][2] + 2 * v[1][2] + v[2][2] - v[0][0] - 2 * v[1][0] - v[2][0];
  int gy = v[2][0] + 2 * v[2][1] + v[2][2] - v[0][0] - 2 * v[0][1] - v[0][2];
  out[y * w + x] = min(abs(gx) + abs(gy), 255);
}
__global__ void box(const int *table, int *out, int h, int w, int r) {  // means by a summed-area table with a border of zeros
  PIXEL;
  int x0 = max(x - r, 0), x1 = min(x + r + 1, w), y0 = max(y - r, 0), y1 = min(y + r + 1, h), s = w + 1;
  int sum = table[y1 * s + x1] - table[y0 * s + x1] - table[y1 * s + x0] + table[y0 * s + x0];
  out[y * w + x] = sum / ((x1 - x0) * (y1 - y0));
}
__global__ void bilateral(const float *in, float *out, int h, int w, float space, float range) {
  PIXEL;
  float c = in[y * w + x], sum = 0, weight = 0;
  for (int j = max(y - 2, 0); j <= min(y + 2, h - 1); j++)
    for (int i = max(x - 2, 0); i <= min(x + 2, w - 1); i++) {
      float v = in[j * w + i], d = v - c;
      float g = expf(-((i - x) * (i - x) + (j - y) * (j - y)) * space - d * d * range);
      sum += g * v, weight += g;
    }
  out[y * w + x] = sum / weight;
}
__global__ void median9(const byte *in, byte *out, int h, int w) {  // a network of exchanges in registers
  PIXEL;
  int p[9];
#pragma unroll
  for (int i = 0; i < 9; i++) p[i] = in[clampi(y + i / 3 - 1, 0, h - 1) * w + clampi(x + i % 3 - 1, 0, w - 1)];
#define SWAP(a, b) { int u = min(p[a], p[b]); p[b] = max(p[a], p[b]); p[a] = u; }
  SWAP(1, 2) SWAP(4, 5) SWAP(7, 8) SWAP(0, 1) SWAP(3, 4) SWAP(6, 7) SWAP(1, 2) SWAP(4, 5) SWAP(7, 8) SWAP(0, 3)
  SWAP(5, 8) SWAP(4, 7) SWAP(3, 6) SWAP(1, 4) SWAP(2, 5) SWAP(4, 7) SWAP(4, 2) SWAP(6, 4) SWAP(4, 2)
  out[y * w + x] = p[4];
}
__global__ void morphology(const byte *in, byte *out, int h, int w, int r, bool dilate) {
  PIXEL;
  byte v = in[y * w + x];
  for (int j = max(y - r, 0); j <= min(y + r, h - 1); j++)
    for (int i = max(x - r, 0); i <= min(x + r, w - 1); i++) v = dilate ? max(v, in[j * w + i]) : min(v, in[j * w + i]);
  out[y * w + x] = v;
}
__global__ void resize(const float *in, float *out, int h0, int w0, int h, int w) {  // bilinear, centres aligned
  PIXEL;
  float sx = (x + 0.5f) * w0 / w - 0.5f, sy = (y + 0.5f) * h0 / h - 0.5f;
  int x0 = (int)floorf(sx), y0 = (int)floorf(sy);
  float fx = sx - x0, fy = sy - y0;
  int xa = clampi(x0, 0, w0 - 1), xb = clampi(x0 + 1, 0, w0 - 1), ya = clampi(y0, 0, h0 - 1), yb = clampi(y0 + 1, 0, h0 - 1);
  float top = in[ya * w0 + xa] * (1 - fx) + in[ya * w0 + xb] * fx, low = in[yb * w0 + xa] * (1 - fx) + in[yb * w0 + xb] * fx;
  out[y * w + x] = top * (1 - fy) + low * fy;
}
__global__ void turn(const byte *in, byte *out, int h, int w, float c, float s) {  // nearest pixel around the centre, 0 outside
  PIXEL;
  float dx = x - (w - 1) * 0.5f, dy = y - (h - 1) * 0.5f;
  int sx = (int)rintf(c * dx + s * dy + (w - 1) * 0.5f), sy = (int)rintf(c * dy - s * dx + (h - 1) * 0.5f);
  out[y * w + x] = sx >= 0 && sx < w && sy >= 0 && sy < h ? in[sy * w + sx] : 0;
}
__global__ void flood(const int2 *in, int2 *out, int h, int w, int step) {  // jump flooding: the nearest seed
  PIXEL;
  int2 best = in[y * w + x];
  int d = best.x < 0 ? 1 << 30 : (best.x - x) * (best.x - x) + (best.y - y) * (best.y - y);
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) {
      int nx = x + i * step, ny = y + j * step;
      if (nx < 0 || ny < 0 || nx >= w || ny >= h) continue;
      int2 s = in[ny * w + nx];
      if (s.x < 0) continue;
      int e = (s.x - x) * (s.x - x) + (s.y - y) * (s.y - y);
      if (e < d) d = e, best = s;
    }
  out[y * w + x] = best;
}
// Floyd-Steinberg by one block: row y runs three pixels behind row y - 1; error in fixed point.
__global__ void dither(int *image, int h, int w) {
  int y = threadIdx.x;
  for (int step = 0; step < w + 3 * (h - 1); step++) {
    int x = step - 3 * y;
    if (y < h && x >= 0 && x < w) {
      int v = image[y * w + x], on = v >= 128 * 16 ? 255 * 16 : 0, e = v - on;
      image[y * w + x] = on;
      if (x + 1 < w) image[y * w + x + 1] += e * 7 / 16;
      if (y + 1 < h) {
        if (x > 0) image[(y + 1) * w + x - 1] += e * 3 / 16;
        image[(y + 1) * w + x] += e * 5 / 16;
        if (x + 1 < w) image[(y + 1) * w + x + 1] += e / 16;
      }
    }
    __syncthreads();
  }
}
// Connected regions of equal pixels: union-find over neighbours.
__global__ void label_start(int *label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) label[i] = i;
}
__device__ int find(volatile int *label, int i) { while (label[i] != i) i = label[i]; return i; }
__device__ void merge(int *label, int a, int b) {
  for (a = find(label, a), b = find(label, b); a != b;) {
    if (a < b) { int c = a; a = b; b = c; }
    int old = atomicMin(&label[a], b);
    if (old == a) break;
    a = find(label, old), b = find(label, b);
  }
}
__global__ void label_join(const byte *in, int *label, int h, int w) {
  PIXEL;
  int i = y * w + x;
  if (x > 0 && in[i] == in[i - 1]) merge(label, i, i - 1);
  if (y > 0 && in[i] == in[i - w]) merge(label, i, i - w);
}
__global__ void label_flat(volatile int *label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) label[i] = find(label, i);
}
__global__ void julia(int *out, int h, int w, double cr, double ci, int limit) {
  PIXEL;
  double zr = 4.0 * x / w - 2, zi = 4.0 * y / h - 2;
  int i = 0;
  for (; i < limit; i++) {
    double a = __dmul_rn(zr, zr), b = __dmul_rn(zi, zi);
    if (__dadd_rn(a, b) > 4) break;
    zi = __dadd_rn(2 * __dmul_rn(zr, zi), ci);
    zr = __dadd_rn(__dsub_rn(a, b), cr);
  }
  out[y * w + x] = i;
}
// Blend of two premultiplied images packed in words: four bytes at once.
__global__ void over(const unsigned *top, const unsigned *low, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = 256 - (top[i] >> 24), even = (low[i] & 0xff00ff) * a >> 8 & 0xff00ff, odd = (low[i] >> 8 & 0xff00ff) * a & 0xff00ff00;
  out[i] = __vaddus4(top[i], even | odd);
}]=]

local h, w = 21, 37
local grid = { (w + 15) // 16, (h + 3) // 4 }
local block = { 16, 4 }
local pixels = t.list(h * w, function(i) return (i * i * 31 + 7 * i + i // w * 5) % 251 end)
local image = gpu.array(pixels, "uint8")

local function at(r, c) return pixels[math.min(math.max(r, 0), h - 1) * w + math.min(math.max(c, 0), w - 1) + 1] end

t.test("colours to grey, channels swapped", function()
  local bytes = t.list(4 * h * w, function(i) return (i * 53 + i // 7) % 256 end)
  local out = gpu.zeros(h * w, "uint8")
  k.grey(grid, block)(gpu.array(bytes, "uint8"), out, h, w)
  t.close(out, t.list(h * w, function(i)
    return (bytes[4 * i + 1] * 77 + bytes[4 * i + 2] * 150 + bytes[4 * i + 3] * 29 + 128) >> 8
  end), 0)
  local n = 100
  out = gpu.zeros(3 * n, "uint8")
  k.swap_channels(2, 64)(gpu.array(bytes, "uint8"), out, n)
  t.close(out, t.list(3 * n, function(i) return bytes[i // 3 * 3 + 2 - i % 3 + 1] end), 0)
end)

t.test("colours to hue, saturation and value", function()
  local v = t.list(3 * 60, function(i) return (i * i * 7 % 11) / 10 end)
  local out = gpu.zeros(180)
  k.hue(2, 32)(gpu.array(v), out, 60)
  local got = out:totable()
  for i = 0, 59 do
    local r, g, b = v[3 * i + 1], v[3 * i + 2], v[3 * i + 3]
    local hue, sat, value = got[3 * i + 1], got[3 * i + 2], got[3 * i + 3]
    local function f(n) -- back again
      local q = (n + hue / 60) % 6
      return value - value * sat * math.max(0, math.min(q, 4 - q, 1))
    end
    t.near(f(5), r, 1e-5)
    t.near(f(3), g, 1e-5)
    t.near(f(1), b, 1e-5)
    t.near(value, math.max(r, g, b), 1e-6)
  end
end)

t.test("a table of bytes in constant memory", function()
  local x, out = t.list(100, function(i) return i * 3 % 18 end), gpu.zeros(100, "uint8")
  k.lookup(1, 128)(gpu.array(x, "uint8"), out, 100)
  t.close(out, t.list(100, function(i) return x[i + 1] < 16 and x[i + 1] ^ 2 or 0 end), 0)
end)

t.test("histogram, equalisation and threshold", function()
  local n, bins, want = h * w, gpu.zeros(256, "int32"), t.list(256, function() return 0 end)
  local x = t.list(n, function(i) return i % 3 == 0 and 40 + i % 30 or 150 + i % 50 end)
  for _, v in ipairs(x) do want[v + 1] = want[v + 1] + 1 end
  k.counts(3, 96)(gpu.array(x, "uint8"), bins, n)
  t.same(bins:totable(), want)
  local out, threshold, sum, map = gpu.zeros(n, "uint8"), gpu.zeros(1, "int32"), 0, {}
  k.equalise(2, 256)(gpu.array(x, "uint8"), out, bins, n)
  for i = 0, 255 do
    sum = sum + want[i + 1]
    map[i] = 255 * sum // n
  end
  t.close(out, t.list(n, function(i) return map[x[i + 1]] end), 0)
  k.otsu(1, 256)(bins, threshold, n)
  t.eq(threshold[1] >= 69 and threshold[1] < 150, true, "between the two groups of values")
end)

t.test("edges by Sobel's operator", function()
  local out = gpu.zeros(h * w, "uint8")
  k.sobel(grid, block)(image, out, h, w)
  t.close(out, t.list(h * w, function(i)
    local r, c = i // w, i % w
    local gx = at(r - 1, c + 1) + 2 * at(r, c + 1) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r, c - 1) - at(r + 1, c - 1)
    local gy = at(r + 1, c - 1) + 2 * at(r + 1, c) + at(r + 1, c + 1) - at(r - 1, c - 1) - 2 * at(r - 1, c) - at(r - 1, c + 1)
    return math.min(math.abs(gx) + math.abs(gy), 255)
  end), 0)
end)

-- f of all pixels within `radius`, those outside left out.
local function around(radius, f)
  return t.list(h * w, function(i)
    local v = {}
    for r = math.max(i // w - radius, 0), math.min(i // w + radius, h - 1) do
      for c = math.max(i % w - radius, 0), math.min(i % w + radius, w - 1) do v[#v + 1] = at(r, c) end
    end
    return f(v)
  end)
end

t.test("box means by a summed-area table", function()
  local s = w + 1
  local table_ = t.list((h + 1) * s, function() return 0 end)
  for r = 1, h do
    for c = 1, w do
      table_[r * s + c + 1] = at(r - 1, c - 1) + table_[r * s + c] + table_[(r - 1) * s + c + 1] - table_[(r - 1) * s + c]
    end
  end
  local out = gpu.zeros(h * w, "int32")
  k.box(grid, block)(gpu.array(table_, "int32"), out, h, w, 2)
  t.close(out, around(2, function(v)
    local sum = 0
    for _, q in ipairs(v) do sum = sum + q end
    return sum // #v
  end), 0)
end)

t.test("a bilateral filter", function()
  local out = gpu.zeros(h * w)
  k.bilateral(grid, block)(gpu.array(pixels), out, h, w, 0.1, 0.001)
  t.close(out, t.list(h * w, function(i)
    local y, x, sum, weight = i // w, i % w, 0, 0
    for r = math.max(y - 2, 0), math.min(y + 2, h - 1) do
      for c = math.max(x - 2, 0), math.min(x + 2, w - 1) do
        local g = math.exp(-((c - x) ^ 2 + (r - y) ^ 2) * 0.1 - (at(r, c) - at(y, x)) ^ 2 * 0.001)
        sum, weight = sum + g * at(r, c), weight + g
      end
    end
    return sum / weight
  end), 1e-5)
end)

t.test("medians of nine by a network", function()
  local out = gpu.zeros(h * w, "uint8")
  k.median9(grid, block)(image, out, h, w)
  t.close(out, t.list(h * w, function(i)
    local v = t.list(9, function(j) return at(i // w + j // 3 - 1, i % w + j % 3 - 1) end)
    table.sort(v)
    return v[5]
  end), 0)
end)

t.test("erosion and dilation", function()
  local out = gpu.zeros(h * w, "uint8")
  for _, dilate in ipairs { true, false } do
    k.morphology(grid, block)(image, out, h, w, 2, dilate)
    t.close(out, around(2, function(v) return (dilate and math.max or math.min)(table.unpack(v)) end), 0)
  end
end)

t.test("bilinear resizing", function()
  local nh, nw = 13, 50
  local out = gpu.zeros(nh * nw)
  k.resize({ 4, 4 }, block)(gpu.array(pixels), out, h, w, nh, nw)
  t.close(out, t.list(nh * nw, function(i)
    local sx, sy = (i % nw + 0.5) * w / nw - 0.5, (i // nw + 0.5) * h / nh - 0.5
    local x, y = math.floor(sx), math.floor(sy)
    local fx, fy = sx - x, sy - y
    return (at(y, x) * (1 - fx) + at(y, x + 1) * fx) * (1 - fy) + (at(y + 1, x) * (1 - fx) + at(y + 1, x + 1) * fx) * fy
  end), 1e-4)
end)

t.test("turning by quarters", function()
  local n = 19
  local x = t.list(n * n, function(i) return i % 250 + 1 end)
  local out = gpu.zeros(n * n, "uint8")
  k.turn({ 2, 5 }, block)(gpu.array(x, "uint8"), out, n, n, 0, 1)
  t.close(out, t.list(n * n, function(i) return x[(n - 1 - i % n) * n + i // n + 1] end), 0)
  k.turn({ 2, 5 }, block)(gpu.array(x, "uint8"), out, n, n, -1, 0)
  t.close(out, t.list(n * n, function(i) return x[n * n - i] end), 0)
end)

t.test("distances by jump flooding", function()
  local seeds = { { 3, 4 }, { 30, 2 }, { 17, 18 }, { 5, 20 } }
  local start = t.list(2 * h * w, function() return -1 end)
  for _, s in ipairs(seeds) do start[2 * (s[2] * w + s[1]) + 1], start[2 * (s[2] * w + s[1]) + 2] = s[1], s[2] end
  local a, b = gpu.array(start, "int32"), gpu.zeros(2 * h * w, "int32")
  for _, step in ipairs { 32, 16, 8, 4, 2, 1 } do
    k.flood(grid, block)(a, b, h, w, step)
    a, b = b, a
  end
  local got = a:totable()
  for i = 0, h * w - 1 do
    local x, y, want = i % w, i // w, math.huge
    for _, s in ipairs(seeds) do want = math.min(want, (s[1] - x) ^ 2 + (s[2] - y) ^ 2) end
    t.eq((got[2 * i + 1] - x) ^ 2 + (got[2 * i + 2] - y) ^ 2, want)
  end
end)

t.test("dithering by a wavefront", function()
  local x = t.list(h * w, function(i) return pixels[i + 1] * 16 end)
  local a = gpu.array(x, "int32")
  k.dither(1, 32)(a, h, w)
  local function add(r, c, e, part)
    if r < h and c >= 0 and c < w then
      local q = e * part
      x[r * w + c + 1] = x[r * w + c + 1] + (q < 0 and -(-q // 16) or q // 16)
    end
  end
  for r = 0, h - 1 do
    for c = 0, w - 1 do
      local v = x[r * w + c + 1]
      local on = v >= 2048 and 4080 or 0
      x[r * w + c + 1] = on
      add(r, c + 1, v - on, 7)
      add(r + 1, c - 1, v - on, 3)
      add(r + 1, c, v - on, 5)
      add(r + 1, c + 1, v - on, 1)
    end
  end
  t.close(a, x, 0)
end)

t.test("connected regions", function()
  local x = t.list(h * w, function(i) return ((i % w) // 3 + (i // w) // 2 * 5 + i * i % 7 // 5) % 3 end)
  local label = gpu.zeros(h * w, "int32")
  k.label_start((h * w + 63) // 64, 64)(label, h * w)
  k.label_join(grid, block)(gpu.array(x, "uint8"), label, h, w)
  k.label_flat((h * w + 63) // 64, 64)(label, h * w)
  local want = {}
  for i = 0, h * w - 1 do
    if not want[i + 1] then
      local stack = { i }
      want[i + 1] = i
      while #stack > 0 do
        local p = table.remove(stack)
        for _, q in ipairs { p % w > 0 and p - 1, p % w < w - 1 and p + 1, p >= w and p - w, p + w < h * w and p + w } do
          if q and not want[q + 1] and x[q + 1] == x[p + 1] then
            want[q + 1] = i
            stack[#stack + 1] = q
          end
        end
      end
    end
  end
  t.same(label:totable(), want)
end)

t.test("a Julia set", function()
  local out = gpu.zeros(h * w, "int32")
  k.julia(grid, block)(out, h, w, -0.4, 0.6, 60)
  t.close(out, t.list(h * w, function(i)
    local zr, zi, n = 4.0 * (i % w) / w - 2, 4.0 * (i // w) / h - 2, 0
    while n < 60 and zr * zr + zi * zi <= 4 do
      zr, zi, n = zr * zr - zi * zi - 0.4, 2 * (zr * zi) + 0.6, n + 1
    end
    return n
  end), 0)
end)

t.test("blending packed bytes", function()
  local n = 70
  local top = t.list(n, function(i) return (i * 0x9e3779b9 & 0x7f7f7f7f) end)
  local low = t.list(n, function(i) return (i * 0x85ebca6b + 0x1234567) & 0xffffffff end)
  local out = gpu.zeros(n, "uint32")
  k.over(3, 32)(gpu.array(top, "uint32"), gpu.array(low, "uint32"), out, n)
  t.close(out, t.list(n, function(i)
    local a, b, v = top[i + 1], low[i + 1], 0
    for shift = 0, 24, 8 do
      v = v | math.min((a >> shift & 255) + ((b >> shift & 255) * (256 - (a >> 24)) >> 8), 255) << shift
    end
    return v
  end), 0)
end)

t.done()
