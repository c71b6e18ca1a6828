-- Stencils in one, two and three dimensions: with halos in shared memory, sweeps, in-place colourings, several steps a launch.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define RADIUS 3
__constant__ int taps[2 * RADIUS + 1] = {1, -2, 3, 5, 3, -2, 1};
__global__ void halo(const int *in, int *out, int n) {  // radius 3 with a halo in shared memory, zero outside
  __shared__ int s[64 + 2 * RADIUS];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + RADIUS] = i < n ? in[i] : 0;
  if (t < RADIUS) {
    s[t] = i >= RADIUS ? in[i - RADIUS] : 0;
    s[t + 64 + RADIUS] = i + 64 < n ? in[i + 64] : 0;
  }
  __syncthreads();
  int v = 0;
  for (int j = 0; j <= 2 * RADIUS; j++) v += taps[j] * s[t + j];
  if (i < n) out[i] = v;
}
__global__ void by_shuffle(const int *in, int *out, int n) {  // each warp gives 30 results of its 32 elements
  int lane = threadIdx.x & 31, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int i = warp * 30 + lane - 1, v = i >= 0 && i < n ? in[i] : 0;
  int l = __shfl_up_sync(~0u, v, 1), r = __shfl_down_sync(~0u, v, 1);
  if (lane >= 1 && lane <= 30 && i < n) out[i] = l - 2 * v + r;
}
__global__ void five(const float *in, float *out, int h, int w) {  // 5 points, tile with halo
  __shared__ float s[10][18];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 8 + ty;
  for (int j = ty; j < 10; j += 8)
    for (int i = tx; i < 18; i += 16) {
      int gx = (int)(blockIdx.x * 16) + i - 1, gy = (int)(blockIdx.y * 8) + j - 1;
      s[j][i] = gx >= 0 && gx < w && gy >= 0 && gy < h ? in[gy * w + gx] : 0;
    }
  __syncthreads();
  if (x < w && y < h)
    out[y * w + x] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2] - 4 * s[ty + 1][tx + 1];
}
__global__ void nine(const int *in, int *out, int h, int w) {  // a sum of 9, the grid wrapped around
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int v = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) v += in[(y + dy + h) % h * w + (x + dx + w) % w];
  out[y * w + x] = v;
}
__global__ void seven(const float *in, float *out, int nx, int ny, int nz) {  // a thread a cell
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int i = (z * ny + y) * nx + x;
  out[i] = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny] - 6 * in[i];
}
__global__ void sweep(const float *in, float *out, int nx, int ny, int nz) {  // planes in registers and shared memory
  __shared__ float s[6][10];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 4 + ty;  // of the tile with its halo
  bool inside = x < nx && y < ny, work = tx >= 1 && tx <= 8 && ty >= 1 && ty <= 4 && x < nx - 1 && y < ny - 1;
  int i = y * nx + x, plane = nx * ny;
  float below = inside ? in[i] : 0, here = inside ? in[i + plane] : 0;
  for (int z = 1; z < nz - 1; z++) {
    float above = inside ? in[i + (z + 1) * plane] : 0;
    s[ty][tx] = here;
    __syncthreads();
    if (work) out[i + z * plane] = s[ty][tx - 1] + s[ty][tx + 1] + s[ty - 1][tx] + s[ty + 1][tx] + below + above - 6 * here;
    __syncthreads();
    below = here;
    here = above;
  }
}
__global__ void jacobi(const double *u, double *v, const double *f, int h, int w, int *changed, double eps) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  double s = __dadd_rn(__dadd_rn(u[i - 1], u[i + 1]), __dadd_rn(u[i - w], u[i + w]));
  v[i] = 0.25 * __dadd_rn(s, f[i]);
  if (fabs(v[i] - u[i]) > eps) atomicAdd(changed, 1);
}
__global__ void redblack(double *u, int h, int w, int colour, double omega) {  // in place: neighbours have the other colour
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1 || (x + y) % 2 != colour) return;
  int i = y * w + x;
  double s = 0.25 * __dadd_rn(__dadd_rn(u[i - 1], u[i + 1]), __dadd_rn(u[i - w], u[i + w]));
  u[i] = __dadd_rn(u[i], __dmul_rn(omega, __dsub_rn(s, u[i])));
}
__global__ void wave(const double *before, const double *now, double *next, int n, double c2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 || i == n - 1) next[i] = 0;
  else next[i] = __dadd_rn(__dsub_rn(2 * now[i], before[i]), __dmul_rn(c2, __dadd_rn(__dsub_rn(now[i - 1], 2 * now[i]), now[i + 1])));
}
__global__ void life(const unsigned char *in, unsigned char *out, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int n = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) n += in[(y + dy + h) % h * w + (x + dx + w) % w];
  out[y * w + x] = n == 3 || (n == 2 && in[y * w + x]);
}
// 32 cells in a word: life by adders of bits, a thread a word, the grid 32 wide and wrapped around.
__device__ void add(unsigned a, unsigned b, unsigned c, unsigned &sum, unsigned &carry) {
  sum = a ^ b ^ c;
  carry = (a & b) | (c & (a ^ b));
}
__global__ void life_bits(const unsigned *in, unsigned *out, int h) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= h) return;
  unsigned u = in[(y + h - 1) % h], m = in[y], d = in[(y + 1) % h];
#define LEFT(v) __funnelshift_l(v, v, 1)
#define RIGHT(v) __funnelshift_r(v, v, 1)
  unsigned s0, c0, s1, c1, s2, c2, s3, c3;
  add(LEFT(u), u, RIGHT(u), s0, c0);
  add(LEFT(d), d, RIGHT(d), s1, c1);
  s2 = LEFT(m) ^ RIGHT(m), c2 = LEFT(m) & RIGHT(m);
  add(s0, s1, s2, s3, c3);              // ones
  unsigned t0, k0;
  add(c0, c1, c2, t0, k0);              // twos
  unsigned twos = t0 ^ c3, fours = k0 | (t0 & c3);
  out[y] = twos & ~fours & (s3 | m);    // three, or two and alive
}
// Several steps of the heat equation by one block without leaving shared memory.
__global__ void steps(double *u, int n, double r, int count) {
  __shared__ double a[2][130];
  int i = threadIdx.x;
  if (i < n) a[0][i] = u[i];
  __syncthreads();
  for (int k = 0; k < count; k++) {
    const double *s = a[k & 1];
    if (i > 0 && i < n - 1) a[~k & 1][i] = __dadd_rn(s[i], __dmul_rn(r, __dadd_rn(__dsub_rn(s[i - 1], 2 * s[i]), s[i + 1])));
    else if (i < n) a[~k & 1][i] = s[i];
    __syncthreads();
  }
  if (i < n) u[i] = a[count & 1][i];
}
// Upwind advection where the direction is data: lanes take different branches.
__global__ void upwind(const double *q, const double *speed, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double c = speed[i];
  if (c > 0) out[i] = __dsub_rn(q[i], __dmul_rn(c, __dsub_rn(q[i], q[(i + n - 1) % n])));
  else if (c < 0) out[i] = __dsub_rn(q[i], __dmul_rn(c, __dsub_rn(q[(i + 1) % n], q[i])));
  else out[i] = q[i];
}
// Game of a line: rule 110 on a ring, many generations by one block.
__global__ void rule(unsigned char *rows, int n, int generations, int number) {
  int i = threadIdx.x;
  for (int g = 0; g < generations; g++) {
    const unsigned char *r = rows + g * n;
    if (i < n) rows[(g + 1) * n + i] = number >> (r[(i + n - 1) % n] * 4 + r[i] * 2 + r[(i + 1) % n]) & 1;
    __syncthreads();
  }
}]=]

local function numbers(n)
  return t.list(n, function(i) return (i * i * 31 + 7 * i) % 211 - 60 end)
end

t.test("a stencil of radius 3 with a halo", function()
  local taps = { 1, -2, 3, 5, 3, -2, 1 }
  for _, n in ipairs { 1, 63, 64, 65, 130, 200 } do
    local x, out = numbers(n), gpu.zeros(n, "int32")
    k.halo((n + 63) // 64, 64)(gpu.array(x, "int32"), out, n)
    t.same(out:totable(), t.list(n, function(i)
      local v = 0
      for j = 1, 7 do v = v + taps[j] * (x[i + j - 3] or 0) end
      return v
    end))
  end
end)

t.test("a stencil by shuffles", function()
  for _, n in ipairs { 1, 30, 31, 100 } do
    local x, out = numbers(n), gpu.zeros(n, "int32")
    k.by_shuffle(2, 64)(gpu.array(x, "int32"), out, n)
    t.same(out:totable(), t.list(n, function(i) return (x[i] or 0) - 2 * x[i + 1] + (x[i + 2] or 0) end))
  end
end)

t.test("five points in two dimensions", function()
  local h, w = 21, 37
  local x, out = numbers(h * w), gpu.zeros({ h, w })
  k.five({ 3, 3 }, { 16, 8 })(gpu.array(x), out, h, w)
  local function at(r, c) return r >= 0 and r < h and c >= 0 and c < w and x[r * w + c + 1] or 0 end
  t.close(out, t.list(h * w, function(i)
    local r, c = i // w, i % w
    return at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1) - 4 * at(r, c)
  end), 0)
end)

t.test("nine points on a torus", function()
  local h, w = 7, 33
  local x, out = numbers(h * w), gpu.zeros({ h, w }, "int32")
  k.nine({ 2, 2 }, { 32, 4 })(gpu.array(x, "int32"), out, h, w)
  t.close(out, t.list(h * w, function(i)
    local v = 0
    for dy = -1, 1 do
      for dx = -1, 1 do v = v + x[(i // w + dy) % h * w + (i % w + dx) % w + 1] end
    end
    return v
  end), 0)
end)

t.test("seven points in three dimensions, by cells and by a sweep", function()
  local nx, ny, nz = 19, 11, 6
  local x = numbers(nx * ny * nz)
  local a, b = gpu.zeros({ nz, ny, nx }), gpu.zeros({ nz, ny, nx })
  k.seven({ 3, 3, 3 }, { 8, 4, 2 })(gpu.array(x), a, nx, ny, nz)
  k.sweep({ 3, 3 }, { 10, 6 })(gpu.array(x), b, nx, ny, nz)
  local want = t.list(nx * ny * nz, function(i)
    local px, py, pz = i % nx, i // nx % ny, i // (nx * ny)
    if px < 1 or py < 1 or pz < 1 or px >= nx - 1 or py >= ny - 1 or pz >= nz - 1 then return 0 end
    local j, p = i + 1, nx * ny
    return x[j - 1] + x[j + 1] + x[j - nx] + x[j + nx] + x[j - p] + x[j + p] - 6 * x[j]
  end)
  t.close(a, want, 0)
  t.close(b, want, 0)
end)

t.test("Jacobi iteration counts what still changes", function()
  local h, w = 9, 12
  local u, f = t.list(h * w, function(i) return (i % 7) * 0.5 end), t.list(h * w, function(i) return (i % 5) * 0.1 end)
  local a, b, changed = gpu.array(u, "float64"), gpu.array(u, "float64"), gpu.zeros(1, "int32")
  for _ = 1, 6 do
    changed:fill(0)
    k.jacobi({ 2, 2 }, { 8, 8 })(a, b, gpu.array(f, "float64"), h, w, changed, 0.02)
    a, b = b, a
    local v, count = table.move(u, 1, #u, 1, {}), 0
    for y = 1, h - 2 do
      for x = 1, w - 2 do
        local i = y * w + x + 1
        v[i] = 0.25 * (((u[i - 1] + u[i + 1]) + (u[i - w] + u[i + w])) + f[i])
        if math.abs(v[i] - u[i]) > 0.02 then count = count + 1 end
      end
    end
    u = v
    t.eq(changed[1], count)
  end
  t.close(a, u, 0)
end)

t.test("red-black relaxation in place", function()
  local h, w = 10, 13
  local u = t.list(h * w, function(i) return (i * i % 11) * 0.25 end)
  local a = gpu.array(u, "float64")
  for step = 0, 5 do
    k.redblack({ 2, 2 }, { 8, 8 })(a, h, w, step % 2, 1.5)
    for y = 1, h - 2 do
      for x = 1, w - 2 do
        local i = y * w + x + 1
        if (x + y) % 2 == step % 2 then
          u[i] = u[i] + 1.5 * (0.25 * ((u[i - 1] + u[i + 1]) + (u[i - w] + u[i + w])) - u[i])
        end
      end
    end
  end
  t.close(a, u, 0)
end)

t.test("the wave equation", function()
  local n = 70
  local u0 = t.list(n, function(i) return (i == 0 or i == n - 1) and 0 or math.sin(i / 5) end)
  local u1 = table.move(u0, 1, n, 1, {})
  local a, b, c = gpu.array(u0, "float64"), gpu.array(u1, "float64"), gpu.zeros(n, "float64")
  for _ = 1, 8 do
    k.wave(3, 32)(a, b, c, n, 0.3)
    a, b, c = b, c, a
    u0, u1 = u1, t.list(n, function(i)
      if i == 0 or i == n - 1 then return 0.0 end
      return (2 * u1[i + 1] - u0[i + 1]) + 0.3 * ((u1[i] - 2 * u1[i + 1]) + u1[i + 2])
    end)
  end
  t.close(b, u1, 0)
end)

local function alive(cells, h, w)
  return t.list(h * w, function(i)
    local n = 0
    for dy = -1, 1 do
      for dx = -1, 1 do
        if dx ~= 0 or dy ~= 0 then n = n + cells[(i // w + dy) % h * w + (i % w + dx) % w + 1] end
      end
    end
    return (n == 3 or (n == 2 and cells[i + 1] == 1)) and 1 or 0
  end)
end

t.test("the game of life in bytes and in bits", function()
  local h, w = 20, 32
  local cells = t.list(h * w, function(i) return (i * i * 7 + i // 5) % 3 == 0 and 1 or 0 end)
  local words = t.list(h, function(y)
    local v = 0
    for x = 0, 31 do v = v | cells[y * w + x + 1] << x end
    return v
  end)
  local a, b = gpu.array(cells, "uint8"), gpu.zeros(h * w, "uint8")
  local p, q = gpu.array(words, "uint32"), gpu.zeros(h, "uint32")
  for _ = 1, 4 do
    k.life({ 2, 3 }, { 16, 8 })(a, b, h, w)
    k.life_bits(1, 32)(p, q, h)
    a, b, p, q = b, a, q, p
    cells = alive(cells, h, w)
  end
  t.close(a, cells, 0)
  local bits = p:totable()
  t.same(t.list(h * w, function(i) return bits[i // w + 1] >> (i % w) & 1 end), cells)
end)

t.test("many steps in shared memory", function()
  for _, n in ipairs { 1, 2, 100, 128 } do
    local u = t.list(n, function(i) return math.cos(i / 3) end)
    local a = gpu.array(u, "float64")
    k.steps(1, 128)(a, n, 0.2, 7)
    for _ = 1, 7 do
      u = t.list(n, function(i)
        if i == 0 or i == n - 1 then return u[i + 1] end
        return u[i + 1] + 0.2 * ((u[i] - 2 * u[i + 1]) + u[i + 2])
      end)
    end
    t.close(a, u, 0)
  end
end)

t.test("upwind advection", function()
  local n, q = 77, t.list(77, function(i) return math.sin(i / 4) end)
  local speed = t.list(n, function(i) return (i * 5 % 7 - 3) / 8 end)
  local out = gpu.zeros(n, "float64")
  k.upwind(2, 64)(gpu.array(q, "float64"), gpu.array(speed, "float64"), out, n)
  t.close(out, t.list(n, function(i)
    local c = speed[i + 1]
    if c > 0 then return q[i + 1] - c * (q[i + 1] - q[(i - 1) % n + 1]) end
    if c < 0 then return q[i + 1] - c * (q[(i + 1) % n + 1] - q[i + 1]) end
    return q[i + 1]
  end), 0)
end)

t.test("an elementary cellular automaton", function()
  local n, generations, cells = 75, 30, {}
  for i = 1, n do cells[i] = i == n and 1 or 0 end
  local start = table.move(cells, 1, n, 1, {})
  for i = n + 1, (generations + 1) * n do start[i] = 0 end
  local rows = gpu.array(start, "uint8")
  k.rule(1, 96)(rows, n, generations, 110)
  for g = 1, generations do
    cells = t.list(n, function(i) return 110 >> (cells[(i - 1) % n + 1] * 4 + cells[i + 1] * 2 + cells[(i + 1) % n + 1]) & 1 end)
  end
  t.close(rows[{ { generations * n + 1, (generations + 1) * n } }], cells, 0)
end)

t.done()
