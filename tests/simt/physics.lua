-- Physics, chance and finance: bodies, fields, random walks, options.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__device__ float3 pull(float4 me, float4 other, float3 a) {
  float3 r = {other.x - me.x, other.y - me.y, other.z - me.z};
  float d = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f, s = other.w * rsqrtf(d * d * d);
  return {a.x + s * r.x, a.y + s * r.y, a.z + s * r.z};
}
__global__ void bodies(const float4 *p, float3 *acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 a = {0, 0, 0};
  for (int j = 0; j < n; j++) a = pull(p[i], p[j], a);
  acc[i] = a;
}
__global__ void bodies_tiled(const float4 *p, float3 *acc, int n) {  // positions go through shared memory a tile at a time
  extern __shared__ float4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = i < n ? p[i] : make_float4(0, 0, 0, 0);
  float3 a = {0, 0, 0};
  for (int start = 0; start < n; start += blockDim.x) {
    if (start + threadIdx.x < n) tile[threadIdx.x] = p[start + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < min(blockDim.x, n - start); j++) a = pull(me, tile[j], a);
    __syncthreads();
  }
  if (i < n) acc[i] = a;
}
__global__ void leapfrog(double2 *x, double2 *v, int n, double dt, int steps) {  // planets around a sun, a thread each
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double2 p = x[i], q = v[i];
  for (int s = 0; s < steps; s++) {
    p.x += 0.5 * dt * q.x, p.y += 0.5 * dt * q.y;
    double r2 = p.x * p.x + p.y * p.y, f = -dt / (r2 * sqrt(r2));
    q.x += f * p.x, q.y += f * p.y;
    p.x += 0.5 * dt * q.x, p.y += 0.5 * dt * q.y;
  }
  x[i] = p, v[i] = q;
}
__global__ void lennard_jones(const float *x, float *force, float *energy, int n, float box) {  // 1-D, periodic, half the pairs
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float e = 0;
  for (int j = i + 1; j < n; j++) {
    float r = x[i] - x[j];
    r -= box * rintf(r / box);
    if (fabsf(r) > 3) continue;
    float s = 1 / (r * r), s6 = s * s * s, f = 24 * s6 * (2 * s6 - 1) * s * r;
    atomicAdd(&force[i], f), atomicAdd(&force[j], -f);
    e += 4 * s6 * (s6 - 1);
  }
  atomicAdd(energy, e);
}
struct State { double x, y, z; };
__device__ State lorenz(State s) { return {10 * (s.y - s.x), s.x * (28 - s.z) - s.y, s.x * s.y - 8.0 / 3 * s.z}; }
__device__ State step(State s, State d, double h) { return {s.x + h * d.x, s.y + h * d.y, s.z + h * d.z}; }
__global__ void runge_kutta(State *s, int n, double h, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State u = s[i];
  for (int k = 0; k < steps; k++) {
    State a = lorenz(u), b = lorenz(step(u, a, h / 2)), c = lorenz(step(u, b, h / 2)), d = lorenz(step(u, c, h));
    u = step(step(step(step(u, a, h / 6), b, h / 3), c, h / 3), d, h / 6);
  }
  s[i] = u;
}
// Particles into cells of a grid: counts, then densities of a cell's 3 x 3 neighbours.
__global__ void bin(const float2 *p, int *count, int *slots, int n, int side, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int cell = (int)p[i].y * side + (int)p[i].x, at = atomicAdd(&count[cell], 1);
  if (at < most) slots[cell * most + at] = i;
}
__global__ void density(const float2 *p, const int *count, const int *slots, float *rho, int n, int side, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int cx = (int)p[i].x, cy = (int)p[i].y;
  float s = 0;
  for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++)
    for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); x++)
      for (int j = 0; j < count[y * side + x]; j++) {
        float2 q = p[slots[(y * side + x) * most + j]];
        float dx = q.x - p[i].x, dy = q.y - p[i].y, w = 1 - dx * dx - dy * dy;
        if (w > 0) s += w * w * w;
      }
  rho[i] = s;
}
__global__ void deposit(const float *x, float *rho, int n, int cells) {  // cloud in cell, periodic
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = (int)floorf(x[i]);
  float f = x[i] - c;
  atomicAdd(&rho[c % cells], 1 - f);
  atomicAdd(&rho[(c + 1) % cells], f);
}
// Lattice Boltzmann with nine directions, periodic: collide and stream.
__constant__ int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ double wt[9] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
__global__ void boltzmann(const double *f, double *g, int h, int w, double omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = h * w;
  if (x >= w || y >= h) return;
  double v[9], rho = 0, ux = 0, uy = 0;
#pragma unroll
  for (int d = 0; d < 9; d++) {
    v[d] = f[d * n + (y - ey[d] + h) % h * w + (x - ex[d] + w) % w];
    rho += v[d], ux += ex[d] * v[d], uy += ey[d] * v[d];
  }
  ux /= rho, uy /= rho;
#pragma unroll
  for (int d = 0; d < 9; d++) {
    double e = ex[d] * ux + ey[d] * uy, q = wt[d] * rho * (1 + 3 * e + 4.5 * e * e - 1.5 * (ux * ux + uy * uy));
    g[d * n + y * w + x] = v[d] + omega * (q - v[d]);
  }
}
__device__ unsigned lcg(unsigned &s) { return s = s * 1664525u + 1013904223u; }
__device__ unsigned long long xorshift(unsigned long long &s) { s ^= s << 13; s ^= s >> 7; return s ^= s << 17; }
__global__ void pi(unsigned *hits, int tries) {
  unsigned s = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
  for (int i = 0; i < tries; i++) {
    unsigned x = lcg(s) >> 16, y = lcg(s) >> 16;
    inside += x * x <= 0xffffffffu - y * y;
  }
  atomicAdd(hits, inside);
}
__global__ void ising(signed char *spin, int h, int w, int colour, unsigned seed, float beta) {  // checkerboard Metropolis
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h || (x + y) % 2 != colour) return;
  int around = spin[y * w + (x + 1) % w] + spin[y * w + (x + w - 1) % w] + spin[(y + 1) % h * w + x] + spin[(y + h - 1) % h * w + x];
  int cost = 2 * spin[y * w + x] * around;
  unsigned s = seed ^ (y * w + x) * 2654435761u;
  lcg(s), lcg(s);
  float u = (lcg(s) >> 8) * (1.0f / (1 << 24));
  if (cost <= 0 || u < expf(-beta * cost)) spin[y * w + x] = -spin[y * w + x];
}
__global__ void walk(int *position, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x = 0;
  unsigned long long s = i * 0x9E3779B97F4A7C15ull + 1;
  for (int k = 0; k < steps; k++) {
    unsigned long long r = xorshift(s) % 6;
    switch (r) {
      case 0: x += 1; break;
      case 1: x -= 1; break;
      case 2: x *= -1; break;
      case 3: x += 10; break;
      case 4: if (x > 0) x -= 7; else x += 7; break;
      default: continue;
    }
    if (x > 100 || x < -100) break;
  }
  position[i] = x;
}
__device__ float normal(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
__global__ void black_scholes(const float *price, const float *strike, const float *years, float *call, float *put, float r, float v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float q = v * sqrtf(years[i]), d1 = (logf(price[i] / strike[i]) + (r + 0.5f * v * v) * years[i]) / q, d2 = d1 - q;
  float e = expf(-r * years[i]);
  call[i] = price[i] * normal(d1) - strike[i] * e * normal(d2);
  put[i] = strike[i] * e * normal(-d2) - price[i] * normal(-d1);
}
__global__ void binomial(const double *price, double *value, double strike, double up, double p, double discount, int steps) {
  __shared__ double s[128];  // an American put a block, the tree folded level by level
  int t = threadIdx.x;
  double spot = price[blockIdx.x];
  if (t <= steps) s[t] = fmax(strike - spot * pow(up, 2.0 * t - steps), 0.0);
  for (int k = steps - 1; k >= 0; k--) {
    __syncthreads();
    double v = 0;
    if (t <= k) v = fmax(discount * (p * s[t + 1] + (1 - p) * s[t]), strike - spot * pow(up, 2.0 * t - k));
    __syncthreads();
    if (t <= k) s[t] = v;
  }
  if (t == 0) value[blockIdx.x] = s[0];
}
__global__ void moments(double *out, int paths, double drift, double vol) {  // Monte Carlo by Box-Muller, antithetic
  double s = 0, q = 0;
  for (int i = threadIdx.x; i < paths; i += blockDim.x) {
    unsigned long long state = (i + 1) * 0xD1342543DE82EF95ull;
    xorshift(state);
    double u = ((xorshift(state) >> 11) + 1) * 0x1p-53, v = (xorshift(state) >> 11) * 0x1p-53;
    double z = sqrt(-2 * log(u)) * cospi(2 * v);
    double a = exp(drift + vol * z), b = exp(drift - vol * z);
    s += (a + b) / 2, q += z * z;
  }
  atomicAdd(&out[0], s / paths), atomicAdd(&out[1], q / paths);
}
// Heat on a rod where each material conducts differently.
__global__ void rod(const double *t, double *out, const unsigned char *material, int n) {
  const double conduct[4] = {0.05, 0.1, 0.2, 0.25};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double c = conduct[material[i]];
  out[i] = i == 0 || i == n - 1 ? t[i] : __dadd_rn(t[i], __dmul_rn(c, __dadd_rn(__dsub_rn(t[i - 1], 2 * t[i]), t[i + 1])));
}]=]

local function numbers(n, scale)
  return t.list(n, function(i) return ((i * i * 31 + 7 * i) % 211 - 105) / (scale or 1) end)
end

t.test("gravity between all bodies, plain and by tiles", function()
  for _, n in ipairs { 1, 33, 70 } do
    local p = t.list(4 * n, function(i) return i % 4 == 3 and 1 + i % 3 or math.sin(i * i) * 4 end)
    local a, b, want = gpu.zeros(3 * n), gpu.zeros(3 * n), {}
    k.bodies((n + 31) // 32, 32)(gpu.array(p), a, n)
    k.bodies_tiled((n + 31) // 32, 32, 512)(gpu.array(p), b, n)
    for i = 0, n - 1 do
      local x, y, z = 0, 0, 0
      for j = 0, n - 1 do
        local dx, dy, dz = p[4 * j + 1] - p[4 * i + 1], p[4 * j + 2] - p[4 * i + 2], p[4 * j + 3] - p[4 * i + 3]
        local s = p[4 * j + 4] / (dx * dx + dy * dy + dz * dz + 0.01) ^ 1.5
        x, y, z = x + s * dx, y + s * dy, z + s * dz
      end
      want[3 * i + 1], want[3 * i + 2], want[3 * i + 3] = x, y, z
    end
    t.close(a, want, 1e-4)
    t.close(b, want, 1e-4)
  end
end)

t.test("planets keep their energy", function()
  local n = 40
  local x = t.list(2 * n, function(i) return i % 2 == 0 and 1 + i / 20 or 0 end)
  local v = t.list(2 * n, function(i) return i % 2 == 1 and 0.9 / math.sqrt(1 + (i - 1) / 20) or 0.1 end)
  local X, V = gpu.array(x, "float64"), gpu.array(v, "float64")
  local function energy(p, q, i) return 0.5 * (q[2 * i + 1] ^ 2 + q[2 * i + 2] ^ 2) - 1 / math.sqrt(p[2 * i + 1] ^ 2 + p[2 * i + 2] ^ 2) end
  k.leapfrog(2, 32)(X, V, n, 0.005, 200)
  local p, q = X:totable(), V:totable()
  for i = 0, n - 1 do
    t.near(energy(p, q, i), energy(x, v, i), 1e-5)
    t.near(p[2 * i + 1] * q[2 * i + 2] - p[2 * i + 2] * q[2 * i + 1], x[2 * i + 1] * v[2 * i + 2], 1e-12, "angular momentum")
    t.eq(math.abs(p[2 * i + 2]) > 0.2, true, "it moved")
  end
end)

t.test("Lennard-Jones forces", function()
  local n, box = 45, 60
  local x = t.list(n, function(i) return i * 4 / 3 + 0.1 * math.sin(i * i) end)
  local force, energy = gpu.zeros(n), gpu.zeros(1)
  k.lennard_jones(2, 32)(gpu.array(x), force, energy, n, box)
  local want, e = t.list(n, function() return 0 end), 0
  for i = 1, n do
    for j = 1, n do
      local r = x[i] - x[j]
      r = r - box * math.floor(r / box + 0.5)
      if i ~= j and math.abs(r) <= 3 then
        want[i] = want[i] + 24 * (2 * r ^ -13 - r ^ -7)
        e = e + 2 * (r ^ -12 - r ^ -6)
      end
    end
  end
  t.close(force, want, 1e-4)
  t.near(energy[1], e, 1e-3)
end)

t.test("Runge-Kutta steps of the Lorenz system", function()
  local n, h = 33, 0.01
  local s = t.list(3 * n, function(i) return 1 + i % 5 + i / 100 end)
  local a = gpu.array(s, "float64")
  k.runge_kutta(2, 32)(a, n, h, 10)
  local function f(u) return { 10 * (u[2] - u[1]), u[1] * (28 - u[3]) - u[2], u[1] * u[2] - 8 / 3 * u[3] } end
  local function go(u, d, w) return { u[1] + w * d[1], u[2] + w * d[2], u[3] + w * d[3] } end
  for i = 0, n - 1 do
    local u = { s[3 * i + 1], s[3 * i + 2], s[3 * i + 3] }
    for _ = 1, 10 do
      local p = f(u)
      local q = f(go(u, p, h / 2))
      local r = f(go(u, q, h / 2))
      local w = f(go(u, r, h))
      u = go(go(go(go(u, p, h / 6), q, h / 3), r, h / 3), w, h / 6)
    end
    t.close(a[{ { 3 * i + 1, 3 * i + 3 } }], u, 1e-10)
  end
end)

t.test("particles in cells: neighbours and deposits", function()
  local n, side, most = 90, 6, 20
  local p = t.list(2 * n, function(i) return (math.sin(i * i + 1) + 1) * 2.99 end)
  local count, slots, rho = gpu.zeros(side * side, "int32"), gpu.zeros(side * side * most, "int32"), gpu.zeros(n)
  k.bin(3, 32)(gpu.array(p), count, slots, n, side, most)
  t.eq(count:sum(), n)
  t.eq(count:max() <= most, true)
  k.density(3, 32)(gpu.array(p), count, slots, rho, n, side, most)
  t.close(rho, t.list(n, function(i)
    local s = 0
    for j = 0, n - 1 do
      s = s + math.max(0, 1 - (p[2 * i + 1] - p[2 * j + 1]) ^ 2 - (p[2 * i + 2] - p[2 * j + 2]) ^ 2) ^ 3
    end
    return s
  end), 1e-5)
  local x, cells, want = t.list(100, function(i) return (i * i * 5 % 128) / 8 end), gpu.zeros(16), t.list(16, function() return 0 end)
  k.deposit(2, 64)(gpu.array(x), cells, 100, 16)
  for _, v in ipairs(x) do
    local c = v // 1 | 0
    want[c + 1], want[(c + 1) % 16 + 1] = want[c + 1] + 1 - (v - c), want[(c + 1) % 16 + 1] + v - c
  end
  t.close(cells, want, 0)
end)

t.test("a lattice Boltzmann step", function()
  local h, w, n, omega = 6, 19, 6 * 19, 0.8
  local ex, ey = { 0, 1, 0, -1, 0, 1, -1, -1, 1 }, { 0, 0, 1, 0, -1, 1, 1, -1, -1 }
  local wt = { 4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36 }
  local f = t.list(9 * n, function(i) return wt[i // n + 1] * (1 + 0.1 * math.sin(i)) end)
  local a, b = gpu.array(f, "float64"), gpu.zeros(9 * n, "float64")
  k.boltzmann({ 2, 2 }, { 16, 4 })(a, b, h, w, omega)
  t.near(b:sum(), a:sum(), 1e-10, "mass")
  local want = {}
  for i = 0, n - 1 do
    local v, rho, ux, uy = {}, 0, 0, 0
    for d = 1, 9 do
      v[d] = f[(d - 1) * n + (i // w - ey[d]) % h * w + (i % w - ex[d]) % w + 1]
      rho, ux, uy = rho + v[d], ux + ex[d] * v[d], uy + ey[d] * v[d]
    end
    ux, uy = ux / rho, uy / rho
    for d = 1, 9 do
      local e = ex[d] * ux + ey[d] * uy
      want[(d - 1) * n + i + 1] = v[d] + omega * (wt[d] * rho * (1 + 3 * e + 4.5 * e * e - 1.5 * (ux * ux + uy * uy)) - v[d])
    end
  end
  t.close(b, want, 1e-13)
end)

local function lcg(s) return (s * 1664525 + 1013904223) & 0xffffffff end

t.test("pi by chance", function()
  local hits, want = gpu.zeros(1, "uint32"), 0
  k.pi(3, 50)(hits, 20)
  for i = 0, 149 do
    local s = i
    for _ = 1, 20 do
      local x = lcg(s)
      s = lcg(x)
      x = x >> 16
      local y = s >> 16
      if x * x + y * y <= 0xffffffff then want = want + 1 end
    end
  end
  t.eq(hits[1], want)
  t.near(4 * want / 3000, math.pi, 0.1)
end)

t.test("spins on a checkerboard", function()
  local h, w = 8, 38
  local s = t.list(h * w, function(i) return i * i % 3 == 0 and -1 or 1 end)
  local a = gpu.array(s, "int8")
  for step = 0, 5 do
    local seed = 12345 * (step + 1)
    k.ising({ 3, 2 }, { 16, 4 })(a, h, w, step % 2, seed, 0.4)
    for i = 0, h * w - 1 do
      local y, x = i // w, i % w
      if (x + y) % 2 == step % 2 then
        local near = s[y * w + (x + 1) % w + 1] + s[y * w + (x - 1) % w + 1] + s[(y + 1) % h * w + x + 1] + s[(y - 1) % h * w + x + 1]
        local cost, r = 2 * s[i + 1] * near, lcg(lcg(lcg(seed ~ (i * 2654435761 & 0xffffffff))))
        if cost <= 0 or (r >> 8) / (1 << 24) < math.exp(-0.4 * cost) then s[i + 1] = -s[i + 1] end
      end
    end
  end
  t.close(a, s, 0)
end)

t.test("random walks with branches", function()
  local position = gpu.zeros(70, "int32")
  k.walk(2, 35)(position, 60)
  t.same(position:totable(), t.list(70, function(i)
    local s, x = i * 0x9E3779B97F4A7C15 + 1, 0
    for _ = 1, 60 do
      s = s ~ s << 13
      s = s ~ s >> 7
      s = s ~ s << 17
      local r = 2 * ((s >> 1) % 3) + (s & 1) -- s % 6 of an unsigned number
      if r == 0 then x = x + 1
      elseif r == 1 then x = x - 1
      elseif r == 2 then x = -x
      elseif r == 3 then x = x + 10
      elseif r == 4 then x = x > 0 and x - 7 or x + 7 end
      if r ~= 5 and (x > 100 or x < -100) then break end
    end
    return x
  end))
end)

t.test("option prices: closed form and tree", function()
  local n, r, v = 60, 0.03, 0.25
  local price = t.list(n, function(i) return 20 + i end)
  local strike = t.list(n, function(i) return 50 + i % 7 * 5 end)
  local years = t.list(n, function(i) return 0.25 + i % 10 / 4 end)
  local call, put = gpu.zeros(n), gpu.zeros(n)
  k.black_scholes(1, 64)(gpu.array(price), gpu.array(strike), gpu.array(years), call, put, r, v, n)
  local c, p = call:totable(), put:totable()
  local function phi(x) -- the normal distribution by Simpson's rule
    local s, m = 0, 200
    for i = 0, m do s = s + math.exp(-(x * i / m) ^ 2 / 2) * ((i == 0 or i == m) and 1 or i % 2 == 1 and 4 or 2) end
    return 0.5 + s * x / m / 3 / math.sqrt(2 * math.pi)
  end
  for i = 1, n do
    t.near(c[i] - p[i], price[i] - strike[i] * math.exp(-r * years[i]), 1e-3, "parity")
    if i % 7 == 0 then
      local q = v * math.sqrt(years[i])
      local d = (math.log(price[i] / strike[i]) + (r + v * v / 2) * years[i]) / q
      t.near(c[i], price[i] * phi(d) - strike[i] * math.exp(-r * years[i]) * phi(d - q), 1e-3)
    end
  end
  local steps, dt = 50, 1 / 50
  local up, discount = math.exp(v * math.sqrt(dt)), math.exp(-r * dt)
  local q, value = (1 / discount - 1 / up) / (up - 1 / up), gpu.zeros(3, "float64")
  k.binomial(3, 128)(gpu.array({ 40, 50, 65 }, "float64"), value, 50, up, q, discount, steps)
  for i, spot in ipairs { 40, 50, 65 } do
    local s = t.list(steps + 1, function(j) return math.max(50 - spot * up ^ (2 * j - steps), 0) end)
    for level = steps - 1, 0, -1 do
      for j = 0, level do s[j + 1] = math.max(discount * (q * s[j + 2] + (1 - q) * s[j + 1]), 50 - spot * up ^ (2 * j - level)) end
    end
    t.near(value[i], s[1], 1e-9)
  end
end)

t.test("moments of a lognormal by chance", function()
  local out, paths = gpu.zeros(2, "float64"), 2000
  k.moments(1, 128)(out, paths, -0.02, 0.2)
  t.near(out[1], 1, 5e-3)
  t.near(out[2], 1, 0.1)
end)

t.test("heat in a rod of several materials", function()
  local n, u, m = 77, numbers(77, 10), t.list(77, function(i) return i * i % 4 end)
  local conduct, out = { [0] = 0.05, 0.1, 0.2, 0.25 }, gpu.zeros(77, "float64")
  k.rod(2, 64)(gpu.array(u, "float64"), out, gpu.array(m, "uint8"), n)
  t.close(out, t.list(n, function(i)
    if i == 0 or i == n - 1 then return u[i + 1] end
    return u[i + 1] + conduct[m[i + 1]] * ((u[i] - 2 * u[i + 1]) + u[i + 2])
  end), 0)
end)

t.done()
