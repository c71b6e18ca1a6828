-- Kernels as suites of benchmarks have them: heat in tiles with a halo that shrinks, paths, alignments along diagonals, clusters,
-- layers, boxes of particles, trees, images from a scanner.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local case = assert(loadfile("tests/simt/shared/both.lua"))(t, gpu)

local k = gpu.kernel [=[
#define TILE 16
// Two steps of heat on a chip in one launch: the part of the tile that is right shrinks by one cell a step.
__global__ void heat_pyramid(const float *power, const float *in, float *out, int w, int h, int steps, float rate) {
  __shared__ float now[TILE][TILE], next[TILE][TILE], source[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, inner = TILE - 2 * steps;
  int x = blockIdx.x * inner + tx - steps, y = blockIdx.y * inner + ty - steps;
  bool inside = x >= 0 && x < w && y >= 0 && y < h;
  if (inside) {
    now[ty][tx] = in[y * w + x];
    source[ty][tx] = power[y * w + x];
  }
  __syncthreads();
  int west = max(x - 1, 0) - x + tx, east = min(x + 1, w - 1) - x + tx;
  int north = max(y - 1, 0) - y + ty, south = min(y + 1, h - 1) - y + ty;
  bool computed = false;
  for (int i = 0; i < steps; i++) {
    computed = false;
    if (tx >= i + 1 && tx <= TILE - i - 2 && ty >= i + 1 && ty <= TILE - i - 2 && inside) {
      computed = true;
      next[ty][tx] = now[ty][tx] + rate * (source[ty][tx] + now[south][tx] + now[north][tx] - 2.0f * now[ty][tx] +
                                           now[ty][east] + now[ty][west] - 2.0f * now[ty][tx]);
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (computed) now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (computed) out[y * w + x] = next[ty][tx];
}
// The cheapest way through a grid, several rows a launch, one block's ends wasted on its halo.
__global__ void path_rows(const int *wall, const int *in, int *out, int cols, int row, int steps) {
  __shared__ int before[128], after[128];
  int tx = threadIdx.x, inner = 128 - 2 * steps, x = blockIdx.x * inner + tx - steps;
  bool valid = x >= 0 && x < cols, done = false;
  int left = max(tx - 1, x <= 0 ? tx : 0), right = min(tx + 1, x >= cols - 1 ? tx : 127);
  if (valid) before[tx] = in[x];
  __syncthreads();
  for (int i = 0; i < steps; i++) {
    done = false;
    if (tx >= i + 1 && tx <= 128 - i - 2 && valid) {
      done = true;
      after[tx] = min(before[left], min(before[tx], before[right])) + wall[(row + i) * cols + x];
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (done) before[tx] = after[tx];
    __syncthreads();
  }
  if (done) out[x] = after[tx];
}
// Global alignment, tiles along an antidiagonal of the matrix; inside of a tile, antidiagonals again.
__global__ void align_tiles(const signed char *a, const signed char *b, int *score, int n, int diagonal, int first, int gap) {
  __shared__ int s[TILE + 1][TILE + 1];
  int bx = first + blockIdx.x, by = diagonal - bx, tx = threadIdx.x;
  int top = by * TILE, left = bx * TILE, pitch = n + 1;
  if (tx == 0) s[0][0] = score[top * pitch + left];
  s[0][tx + 1] = score[top * pitch + left + tx + 1];
  s[tx + 1][0] = score[(top + tx + 1) * pitch + left];
  __syncwarp(0xffff);
  int mine = a[left + tx];
  for (int d = 0; d < 2 * TILE - 1; d++) {
    int r = d - tx;
    if (r >= 0 && r < TILE) {
      int match = s[r][tx] + (mine == b[top + r] ? 3 : -2);
      s[r + 1][tx + 1] = max(match, max(s[r][tx + 1], s[r + 1][tx]) - gap);
    }
    __syncwarp(0xffff);
  }
  for (int r = 0; r < TILE; r++) score[(top + r + 1) * pitch + left + tx + 1] = s[r + 1][tx + 1];
}
// Clusters: centres in constant memory, sums by shared atomics, then global ones.
__constant__ float centres[8 * 4];
__global__ void assign_means(const float *features, int n, int *member, float *sums, int *counts, int *moved) {
  __shared__ float part[8 * 4];
  __shared__ int sizes[8];
  if (threadIdx.x < 32) part[threadIdx.x] = 0;
  if (threadIdx.x < 8) sizes[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool changed = false;
  if (i < n) {
    int best = 0;
    float nearest = 3e38f;
    for (int c = 0; c < 8; c++) {
      float d = 0;
      for (int f = 0; f < 4; f++) {
        float diff = features[f * n + i] - centres[c * 4 + f];
        d += diff * diff;
      }
      if (d < nearest) nearest = d, best = c;
    }
    changed = member[i] != best;
    member[i] = best;
    for (int f = 0; f < 4; f++) atomicAdd(&part[best * 4 + f], features[f * n + i]);
    atomicAdd(&sizes[best], 1);
  }
  int all = __syncthreads_count(changed);
  if (threadIdx.x == 0) atomicAdd(moved, all);
  if (threadIdx.x < 32) atomicAdd(&sums[threadIdx.x], part[threadIdx.x]);
  if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], sizes[threadIdx.x]);
}
// A layer of a network forwards: products in a tile, added by a tree over the rows.
__global__ void layer_forward(const float *input, const float *weight, float *partial, int hidden) {
  __shared__ float node[16], products[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty;
  if (tx == 0) node[ty] = input[row];
  __syncthreads();
  products[ty][tx] = weight[row * hidden + tx] * node[ty];
  __syncthreads();
  for (int i = 1; i <= 4; i++) {
    int power = 1 << i;
    if (ty % power == 0) products[ty][tx] += products[ty + power / 2][tx];
    __syncthreads();
  }
  if (tx == 0) partial[blockIdx.y * hidden + ty] = products[tx][ty];
}
__global__ void layer_adjust(const float *delta, const float *input, float *weight, float *old, int hidden) {
  int row = blockIdx.y * 16 + threadIdx.y, at = row * hidden + threadIdx.x;
  float change = 0.3f * delta[threadIdx.x] * input[row] + 0.3f * old[at];
  weight[at] += change;
  old[at] = change;
}
// Particles in boxes, each box a block that loads its neighbours' particles in turn.
struct place { float x, y, z, charge; };
__global__ void boxes(const int *first_neighbour, const int *neighbours, const place *p, float4 *force, int per, float alpha) {
  extern __shared__ place shared_places[];
  place *own = shared_places, *other = shared_places + per;
  int box = blockIdx.x;
  for (int i = threadIdx.x; i < per; i += blockDim.x) own[i] = p[box * per + i];
  __syncthreads();
  for (int j = first_neighbour[box]; j < first_neighbour[box + 1]; j++) {
    int nb = neighbours[j];
    for (int i = threadIdx.x; i < per; i += blockDim.x) other[i] = p[nb * per + i];
    __syncthreads();
    for (int i = threadIdx.x; i < per; i += blockDim.x) {
      place a = own[i];
      float4 f = force[box * per + i];
      for (int m = 0; m < per; m++) {
        place b = other[m];
        float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
        float e = __expf(-alpha * (dx * dx + dy * dy + dz * dz)) * b.charge;
        f.w += e, f.x += 2 * e * dx, f.y += 2 * e * dy, f.z += 2 * e * dz;
      }
      force[box * per + i] = f;
    }
    __syncthreads();
  }
}
// A search tree of wide nodes: a block a query, a thread a key.
struct node { int keys[9], next[9]; };
__global__ void tree_find(const node *nodes, const int *wanted, int height, int *answer) {
  __shared__ int at;
  if (threadIdx.x == 0) at = 0, answer[blockIdx.x] = -1;
  __syncthreads();
  int key = wanted[blockIdx.x], i = threadIdx.x;
  for (int level = 0; level < height; level++) {
    int here = at;
    __syncthreads();
    if (i < 8 && nodes[here].keys[i] <= key && key < nodes[here].keys[i + 1]) at = nodes[here].next[i];
    __syncthreads();
  }
  if (i < 8 && nodes[at].keys[i] == key) answer[blockIdx.x] = nodes[at].next[i];
}
// Gaussian elimination: the multipliers of a column, then the rows below.
__global__ void fan1(float *m, const float *a, int size, int col) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size - 1 - col) return;
  m[size * (i + col + 1) + col] = a[size * (i + col + 1) + col] / a[size * col + col];
}
__global__ void fan2(const float *m, float *a, float *b, int size, int col) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size - 1 - col || y >= size - col) return;
  a[size * (x + 1 + col) + y + col] -= m[size * (x + 1 + col) + col] * a[size * col + y + col];
  if (y == 0) b[x + 1 + col] -= m[size * (x + 1 + col) + col] * b[col];
}
// Particles drawn anew by their weights.
__global__ void redraw(const float *sums, const float *draws, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int low = 0, high = n - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sums[middle] >= draws[i]) high = middle;
    else low = middle + 1;
  }
  y[i] = x[low];
}
// Scanner: each voxel sums over samples that stand in constant memory, a piece at a time.
struct sample { float x, y, z, phi; };
__constant__ sample samples[64];
__global__ void fourier(const float *x, const float *y, const float *z, float2 *q, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float px = x[i], py = y[i], pz = z[i];
  float2 sum = q[i];
  for (int s = 0; s < count; s++) {
    float angle = 6.2831853f * (samples[s].x * px + samples[s].y * py + samples[s].z * pz);
    float si, co;
    sincosf(angle, &si, &co);
    sum.x += samples[s].phi * co;
    sum.y += samples[s].phi * si;
  }
  q[i] = sum;
}
// Sums of absolute differences, all offsets of a search window, a block a macroblock.
__global__ void differences(const unsigned char *now, const unsigned char *before, unsigned short *sad, int w, int range) {
  __shared__ unsigned char block[16][16];
  int bx = blockIdx.x * 16 + range, by = blockIdx.y * 16 + range, side = 2 * range + 1;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) block[i / 16][i % 16] = now[(by + i / 16) * w + bx + i % 16];
  __syncthreads();
  for (int o = threadIdx.x; o < side * side; o += blockDim.x) {
    int dx = o % side - range, dy = o / side - range;
    unsigned sum = 0;
    for (int r = 0; r < 16; r++)
      for (int c = 0; c < 16; c++) sum = __usad(block[r][c], before[(by + dy + r) * w + bx + dx + c], sum);
    sad[(blockIdx.y * gridDim.x + blockIdx.x) * side * side + o] = sum;
  }
}
// Angles between all pairs, in bins found by bisection of the edges; a histogram a warp.
__constant__ float edges[9];
__global__ void angles(const float3 *v, int n, unsigned *bins) {
  __shared__ unsigned own[4][8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane < 8) own[warp][lane] = 0;
  __syncwarp();
  int i = blockIdx.x;
  for (int j = i + 1 + threadIdx.x; j < n; j += blockDim.x) {
    float dot = v[i].x * v[j].x + v[i].y * v[j].y + v[i].z * v[j].z;
    int low = 0, high = 8;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (dot >= edges[middle]) low = middle;
      else high = middle;
    }
    atomicAdd(&own[warp][low], 1);
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    unsigned sum = 0;
    for (int w = 0; w < 4; w++) sum += own[w][threadIdx.x];
    atomicAdd(&bins[threadIdx.x], sum);
  }
}
// Diffusion that keeps edges: coefficients, then the update, with clamped neighbours.
__global__ void diffuse_coefficients(const float *j, float *c, int w, int h, float q0) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= w || y >= h) return;
  float v = j[y * w + x], n = j[max(y - 1, 0) * w + x] - v, s = j[min(y + 1, h - 1) * w + x] - v;
  float e = j[y * w + min(x + 1, w - 1)] - v, o = j[y * w + max(x - 1, 0)] - v;
  float g = (n * n + s * s + e * e + o * o) / (v * v), l = (n + s + e + o) / v;
  float d = 1 + 0.25f * l, q = (0.5f * g - l * l / 16) / (d * d);
  c[y * w + x] = fminf(fmaxf(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0), 1);
}
__global__ void diffuse_update(float *j, const float *c, const float *in, int w, int h, float lambda) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= w || y >= h) return;
  float v = in[y * w + x], here = c[y * w + x], cs = c[min(y + 1, h - 1) * w + x], ce = c[y * w + min(x + 1, w - 1)];
  float d = here * (in[max(y - 1, 0) * w + x] - v) + cs * (in[min(y + 1, h - 1) * w + x] - v) +
            here * (in[y * w + max(x - 1, 0)] - v) + ce * (in[y * w + min(x + 1, w - 1)] - v);
  j[y * w + x] = v + 0.25f * lambda * d;
}
]=]

local f32, i32 = "float32", "int32"
local function host(a) return a:flatten():totable() end

case("heat in shrinking tiles", function(s)
  local w, h = 45 * s, 37 * s
  local power, temp = gpu.rand { h, w }, gpu.rand { h, w }
  local out = gpu.zeros { h, w }
  local a, p = s == 1 and host(temp), s == 1 and host(power)
  return function() k.heat_pyramid({ (w + 11) // 12, (h + 11) // 12 }, { 16, 16 })(power, temp, out, w, h, 2, 0.1) end, function()
    for _ = 1, 2 do
      local b = {}
      for y = 0, h - 1 do for x = 0, w - 1 do
        local function at(r, c) return a[math.max(0, math.min(h - 1, r)) * w + math.max(0, math.min(w - 1, c)) + 1] end
        b[#b + 1] = at(y, x) + 0.1 * (p[y * w + x + 1] + at(y + 1, x) + at(y - 1, x) + at(y, x - 1) + at(y, x + 1) - 4 * at(y, x))
      end end
      a = b
    end
    t.close(out, a, 1e-5)
  end
end)

case("the cheapest path, three rows a launch", function(s)
  local cols, rows, random = 300 * s, 13, t.random(7)
  local wall = s == 1 and gpu.array(t.list(cols * rows, function() return random(10) end), i32) or (gpu.rand(cols * rows) * 10):to(i32)
  local a, b = gpu.zeros(cols, i32), gpu.zeros(cols, i32)
  if s == 1 then a = wall["1:300"]:copy() end
  return function()
    for row = 1, 12, 3 do
      k.path_rows((cols + 121) // 122, 128)(wall, a, b, cols, row, 3)
      a, b = b, a
    end
  end, function()
    local wl = wall:totable()
    local d = {}
    for c = 1, cols do d[c] = wl[c] end
    for r = 1, 12 do
      local e = {}
      for c = 1, cols do e[c] = math.min(d[c], d[c - 1] or 1 << 30, d[c + 1] or 1 << 30) + wl[r * cols + c] end
      d = e
    end
    t.same(a:totable(), d)
  end
end)

case("alignment along antidiagonals of tiles", function(s)
  local n, random = 64 * s, t.random(3)
  local a, b = t.list(n, function() return random(4) end), t.list(n, function() return random(4) end)
  local da, db = gpu.array(a, "int8"), gpu.array(b, "int8")
  local start = gpu.zeros((n + 1) * (n + 1), i32)
  start = start:reshape(n + 1, n + 1)
  start[{ 1, {} }] = gpu.range(0, n):to(i32) * -4
  start[{ {}, 1 }] = gpu.range(0, n):to(i32) * -4
  local tiles = n // 16
  return function()
    for d = 0, 2 * tiles - 2 do
      local first = math.max(0, d - tiles + 1)
      k.align_tiles(math.min(d, tiles - 1) - first + 1, 16)(da, db, start, n, d, first, 4)
    end
  end, function()
    local m = {}
    for r = 0, n do
      m[r] = {}
      for c = 0, n do
        if r == 0 or c == 0 then m[r][c] = -4 * (r + c)
        else m[r][c] = math.max(m[r - 1][c - 1] + (a[c] == b[r] and 3 or -2), m[r - 1][c] - 4, m[r][c - 1] - 4) end
      end
    end
    local got = host(start)
    for r = 0, n do for c = 0, n do t.eq(got[r * (n + 1) + c + 1], m[r][c]) end end
  end
end)

case("clusters around centres in constant memory", function(s)
  local n, random = 1000 * s, t.random(11)
  local x = s == 1 and gpu.array(t.list(4 * n, function() return random(64) / 8 end)) or gpu.rand(4 * n) * 8
  local c = t.list(32, function(i) return (i * 5 % 32) / 4 end)
  local member, sums, counts, moved = gpu.full(n, -1, i32), gpu.zeros(32), gpu.zeros(8, i32), gpu.zeros(1, i32)
  k:global("centres"):copy_(gpu.array(c))
  return function() k.assign_means((n + 127) // 128, 128)(x, n, member, sums, counts, moved) end, function()
    local h, want, count, m = x:totable(), t.list(32, function() return 0 end), t.list(8, function() return 0 end), {}
    for i = 1, n do
      local best, nearest = 0, math.huge
      for j = 0, 7 do
        local d = 0
        for f = 0, 3 do d = d + (h[f * n + i] - c[j * 4 + f + 1]) ^ 2 end
        if d < nearest then best, nearest = j, d end
      end
      m[i], count[best + 1] = best, count[best + 1] + 1
      for f = 0, 3 do want[best * 4 + f + 1] = want[best * 4 + f + 1] + h[f * n + i] end
    end
    t.same(member:totable(), m)
    t.same(counts:totable(), count)
    t.close(sums, want, 1e-6)
    t.eq(moved[1], n)
  end
end)

case("a layer forwards and its weights adjusted", function(s)
  local rows = 160 * s
  local input, weight, old = gpu.rand(rows), gpu.rand { rows, 16 } - 0.5, gpu.rand { rows, 16 }
  local partial, delta = gpu.zeros { rows // 16, 16 }, gpu.rand(16)
  local w0, o0 = weight:copy(), old:copy()
  return function()
    k.layer_forward({ 1, rows // 16 }, { 16, 16 })(input, weight, partial, 16)
    k.layer_adjust({ 1, rows // 16 }, { 16, 16 })(delta, input, weight, old, 16)
  end, function()
    local i, w, o, d = input:totable(), host(w0), host(o0), delta:totable()
    local sums, new = t.list(rows, function() return 0 end), {}
    for r = 0, rows - 1 do for c = 0, 15 do
      local at = r // 16 * 16 + c + 1
      sums[at] = sums[at] + i[r + 1] * w[r * 16 + c + 1]
      new[#new + 1] = w[r * 16 + c + 1] + 0.3 * d[c + 1] * i[r + 1] + 0.3 * o[r * 16 + c + 1]
    end end
    t.close(partial, sums, 1e-5)
    t.close(weight, new, 1e-5)
  end
end)

case("particles in boxes with neighbours", function(s)
  local count, per = 6 * s, 20
  local first, list = { 0 }, {}
  for b = 0, count - 1 do
    for d = -1, 1 do if b + d >= 0 and b + d < count then list[#list + 1] = b + d end end
    first[b + 2] = #list
  end
  local p, force = gpu.rand { count * per, 4 }, gpu.zeros { count * per, 4 }
  local df, dl = gpu.array(first, i32), gpu.array(list, i32)
  return function() k.boxes(count, 32, 2 * per * 16)(df, dl, p, force, per, 0.5) end, function()
    local h, want = p:totable(), {}
    for b = 0, count - 1 do for i = 1, per do
      local a, f = h[b * per + i], { 0, 0, 0, 0 }
      for j = first[b + 1] + 1, first[b + 2] do for m = 1, per do
        local o = h[list[j] * per + m]
        local d = { a[1] - o[1], a[2] - o[2], a[3] - o[3] }
        local e = math.exp(-0.5 * (d[1] ^ 2 + d[2] ^ 2 + d[3] ^ 2)) * o[4]
        f[4] = f[4] + e
        for c = 1, 3 do f[c] = f[c] + 2 * e * d[c] end
      end end
      for c = 1, 4 do want[#want + 1] = f[c] end
    end end
    t.close(force, want, 1e-4)
  end
end)

case("queries of a tree of wide nodes", function(s)
  local queries, big = 60 * s, 0x7fffffff
  local flat = {}
  -- keys 0, 2, .. 126 in 8 leaves of 8, under a root
  local function put(keys, next) for i = 1, 9 do flat[#flat + 1] = keys[i] end for i = 1, 9 do flat[#flat + 1] = next[i] or -1 end end
  put(t.list(9, function(i) return i == 8 and big or i * 16 end), t.list(8, function(i) return i + 1 end))
  for leaf = 0, 7 do put(t.list(9, function(i) return i == 8 and big or leaf * 16 + i * 2 end), t.list(8, function(i) return 1000 + leaf * 8 + i end)) end
  local nodes, wanted, answer = gpu.array(flat, i32), gpu.range(0, queries - 1):to(i32), gpu.zeros(queries, i32)
  return function() k.tree_find(queries, 32)(nodes, wanted, 1, answer) end, function()
    t.same(answer:totable(), t.list(queries, function(q) return q % 2 == 0 and q <= 126 and 1000 + q // 2 or -1 end))
  end
end)

case("elimination in two kernels a column", function(s)
  local n = 24 * s
  local a, b, m = gpu.rand { n, n } + gpu.eye(n) * n, gpu.rand(n), gpu.zeros { n, n }
  local a0, b0 = s == 1 and a:totable(), s == 1 and b:totable()
  return function()
    for c = 0, s == 1 and n - 2 or 3 do
      k.fan1((n + 63) // 64, 64)(m, a, n, c)
      k.fan2({ (n + 7) // 8, (n + 7) // 8 }, { 8, 8 })(m, a, b, n, c)
    end
  end, function()
    for c = 1, n - 1 do for r = c + 1, n do
      local f = a0[r][c] / a0[c][c]
      for j = c, n do a0[r][j] = a0[r][j] - f * a0[c][j] end
      b0[r] = b0[r] - f * b0[c]
    end end
    local got = a:totable()
    for r = 1, n do for c = r, n do t.near(got[r][c], a0[r][c], 1e-4) end end
    t.close(b, b0, 1e-4)
  end
end)

case("particles drawn by weight", function(s)
  local n = 200 * s
  local x, y = gpu.rand(n), gpu.zeros(n)
  local sums = gpu.cumsum(gpu.rand(n))
  local draws = gpu.rand(n) * (n / 2 - n / 10)
  return function() k.redraw((n + 127) // 128, 128)(sums, draws, x, y, n) end, function()
    local c, d, v = sums:totable(), draws:totable(), x:totable()
    t.same(y:totable(), t.list(n, function(i)
      for j = 1, n do if c[j] >= d[i + 1] or j == n then return v[j] end end
    end))
  end
end)

case("voxels of samples in constant memory", function(s)
  local n = 64 * s
  local x, y, z, q = gpu.rand(n), gpu.rand(n), gpu.rand(n), gpu.zeros { n, 2 }
  local list = t.list(64, function(i) return { x = i % 7 / 7, y = i % 5 / 5, z = i / 64, phi = (i % 3 - 1) / 2 } end)
  local flat = {}
  for _, v in ipairs(list) do table.move({ v.x, v.y, v.z, v.phi }, 1, 4, #flat + 1, flat) end
  k:global("samples", f32):copy_(gpu.array(flat))
  return function() k.fourier(n // 64, 64)(x, y, z, q, 64) end, function()
    local hx, hy, hz, want = x:totable(), y:totable(), z:totable(), {}
    for i = 1, n do
      local re, im = 0, 0
      for _, v in ipairs(list) do
        local a = 2 * math.pi * (v.x * hx[i] + v.y * hy[i] + v.z * hz[i])
        re, im = re + v.phi * math.cos(a), im + v.phi * math.sin(a)
      end
      want[#want + 1], want[#want + 2] = re, im
    end
    t.close(q, want, 2e-5)
  end
end)

case("sums of absolute differences", function(s)
  local bw, bh, range = 2 * s, 2, 3
  local w, h = bw * 16 + 6, bh * 16 + 6
  local now, before = (gpu.rand(w * h) * 255):to("uint8"), (gpu.rand(w * h) * 255):to("uint8")
  local sad = gpu.zeros(bw * bh * 49, "uint16")
  return function() k.differences({ bw, bh }, 64)(now, before, sad, w, range) end, function()
    local a, b, got = now:totable(), before:totable(), sad:totable()
    for by = 0, bh - 1 do for bx = 0, bw - 1 do for dy = -3, 3 do for dx = -3, 3 do
      local sum = 0
      for r = 0, 15 do for c = 0, 15 do
        local y, x = by * 16 + 3 + r, bx * 16 + 3 + c
        sum = sum + math.abs(a[y * w + x + 1] - b[(y + dy) * w + x + dx + 1])
      end end
      t.eq(got[(by * bw + bx) * 49 + (dy + 3) * 7 + dx + 4], sum)
    end end end end
  end
end)

case("angles of pairs in bins", function(s)
  local n = 150 * s
  local v, bins = gpu.rand { n, 3 }, gpu.zeros(8, "uint32")
  local e = t.list(9, function(i) return i * 0.25 end)
  k:global("edges"):copy_(gpu.array(e))
  return function() k.angles(n, 128)(v, n, bins) end, function()
    local h, sum, least = v:totable(), 0, t.list(8, function() return 0 end)
    for i = 1, n do for j = i + 1, n do
      local d = h[i][1] * h[j][1] + h[i][2] * h[j][2] + h[i][3] * h[j][3]
      local bin = math.min(7, math.floor(d / 0.25))
      least[bin + 1] = least[bin + 1] + 1
    end end
    for i, b in ipairs(bins:totable()) do
      t.near(b, least[i], 3) -- a product may be rounded across an edge
      sum = sum + b
    end
    t.eq(sum, n * (n - 1) // 2)
  end
end)

case("diffusion that keeps edges", function(s)
  local w, h = 35 * s, 29 * s
  local a, c, out = gpu.rand { h, w } + 1, gpu.zeros { h, w }, gpu.zeros { h, w }
  local grid = { (w + 15) // 16, (h + 15) // 16 }
  return function()
    k.diffuse_coefficients(grid, { 16, 16 })(a, c, w, h, 0.05)
    k.diffuse_update(grid, { 16, 16 })(out, c, a, w, h, 0.5)
  end, function()
    local v, co, want = a:totable(), {}, {}
    local function at(m, r, q) return m[math.max(1, math.min(h, r))][math.max(1, math.min(w, q))] end
    local function d(r, q) local x = v[r][q] return at(v, r - 1, q) - x, at(v, r + 1, q) - x, at(v, r, q + 1) - x, at(v, r, q - 1) - x end
    for r = 1, h do
      co[r] = {}
      for q = 1, w do
        local n, so, e, o = d(r, q)
        local x = v[r][q]
        local g, l = (n ^ 2 + so ^ 2 + e ^ 2 + o ^ 2) / x ^ 2, (n + so + e + o) / x
        local qq = (0.5 * g - l * l / 16) / (1 + 0.25 * l) ^ 2
        co[r][q] = math.max(0, math.min(1, 1 / (1 + (qq - 0.05) / (0.05 * 1.05))))
      end
    end
    for r = 1, h do for q = 1, w do
      local n, so, e, o = d(r, q)
      want[#want + 1] = v[r][q] + 0.125 * (co[r][q] * n + at(co, r + 1, q) * so + at(co, r, q + 1) * e + co[r][q] * o)
    end end
    t.close(out, want, 1e-4)
  end
end)

t.done()
