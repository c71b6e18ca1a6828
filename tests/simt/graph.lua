-- Graphs: searches, distances, components, ranks, triangles, colourings.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
// Breadth first, a launch a level, a thread a vertex.
__global__ void bfs_level(const int *row, const int *col, volatile int *level, int now, int *changed, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != now) return;
  for (int j = row[v]; j < row[v + 1]; j++)
    if (level[col[j]] < 0) level[col[j]] = now + 1, *changed = 1;
}
// Breadth first with a queue of the frontier; the first to claim a vertex appends it.
__global__ void bfs_frontier(const int *row, const int *col, int *level, int depth, const int *queue, int count, int *next, int *next_count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int v = queue[i];
  for (int j = row[v]; j < row[v + 1]; j++)
    if (atomicCAS(&level[col[j]], -1, depth) == -1) next[atomicAdd(next_count, 1)] = col[j];
}
// The whole search in one block, the frontier in shared memory, a warp a vertex.
__global__ void bfs_block(const int *row, const int *col, int *level, int source, int n) {
  __shared__ int queue[2][128], count[2];
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32, now = 0;
  for (int v = threadIdx.x; v < n; v += blockDim.x) level[v] = v == source ? 0 : -1;
  if (threadIdx.x == 0) queue[0][0] = source, count[0] = 1, count[1] = 0;
  __syncthreads();
  for (int depth = 1; count[now]; depth++) {
    for (int i = warp; i < count[now]; i += blockDim.x / 32) {
      int v = queue[now][i];
      for (int j = row[v] + lane; j < row[v + 1]; j += 32)
        if (atomicCAS(&level[col[j]], -1, depth) == -1) queue[!now][atomicAdd(&count[!now], 1)] = col[j];
    }
    __syncthreads();
    if (threadIdx.x == 0) count[now] = 0;
    now = !now;
    __syncthreads();
  }
}
// Reachability by bits, up to 32 sources at once.
__global__ void reach(const int *row, const int *col, const unsigned *in, unsigned *out, int *changed, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  unsigned bits = in[v];
  for (int j = row[v]; j < row[v + 1]; j++) bits |= in[col[j]];
  out[v] = bits;
  if (bits != in[v]) atomicOr(changed, 1);
}
__global__ void bellman_ford(const int *from, const int *to, const int *weight, int *distance, int *changed, int edges) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  int d = *(volatile int *)&distance[from[e]];
  if (d == 0x7fffffff) return;
  if (atomicMin(&distance[to[e]], d + weight[e]) > d + weight[e]) *changed = 1;
}
__global__ void propagate(const int *row, const int *col, volatile int *label, int *changed, int n) {  // the smallest label wins
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int best = label[v];
  for (int j = row[v]; j < row[v + 1]; j++) best = min(best, label[col[j]]);
  if (best < label[v]) atomicMin((int *)&label[v], best), *changed = 1;
}
__device__ int root(volatile int *parent, int v) {
  while (parent[v] != v) v = parent[v];
  return v;
}
__global__ void unite(const int *from, const int *to, int *parent, int edges) {  // union by hooking larger roots onto smaller
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  int a = root(parent, from[e]), b = root(parent, to[e]);
  while (a != b) {
    int high = max(a, b), low = min(a, b), old = atomicCAS(&parent[high], high, low);
    if (old == high) break;
    a = root(parent, old), b = root(parent, low);
  }
}
__global__ void flatten(volatile int *parent, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) parent[v] = root(parent, v);
}
__global__ void rank_pull(const int *row, const int *col, const int *degree, const float *in, float *out, float damping, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  float s = 0;
  for (int j = row[v]; j < row[v + 1]; j++) s += in[col[j]] / degree[col[j]];
  out[v] = (1 - damping) / n + damping * s;
}
__global__ void rank_push(const int *row, const int *col, const float *in, float *out, float damping, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  float share = damping * in[v] / (row[v + 1] - row[v]);
  for (int j = row[v]; j < row[v + 1]; j++) atomicAdd(&out[col[j]], share);
}
__global__ void triangles(const int *row, const int *col, int *count, int n) {  // neighbours ascending; u < v < w
  int u = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
  if (u < n)
    for (int i = row[u]; i < row[u + 1]; i++) {
      int v = col[i];
      if (v <= u) continue;
      int a = i + 1, b = row[v];
      while (a < row[u + 1] && b < row[v + 1]) {
        if (col[a] < col[b]) a++;
        else if (col[a] > col[b]) b++;
        else found += col[b] > v, a++, b++;
      }
    }
  for (int d = 16; d; d /= 2) found += __shfl_down_sync(~0u, found, d);
  if (threadIdx.x % 32 == 0) atomicAdd(count, found);
}
__global__ void floyd(int *d, int k, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= n || c >= n) return;
  int through = d[r * n + k] + d[k * n + c];
  if (through < d[r * n + c]) d[r * n + c] = through;  // never in row or column k, which others read
}
__global__ void peel(const int *row, const int *col, volatile int *degree, int *core, int k, int *changed, int n) {  // k-core
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || core[v] >= 0 || degree[v] > k) return;
  core[v] = k;
  *changed = 1;
  for (int j = row[v]; j < row[v + 1]; j++) atomicSub((int *)&degree[col[j]], 1);
}
__device__ unsigned priority(unsigned v) { return (v * 2654435761u ^ 0x9e3779b9u) * 2246822519u; }
__global__ void independent(const int *row, const int *col, const int *in, int *out, int *left, int n) {  // 0 open, 1 in, 2 out
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int s = in[v];
  if (s == 0) {
    bool best = true;
    for (int j = row[v]; j < row[v + 1]; j++) {
      int u = col[j];
      if (in[u] == 1) s = 2;
      if (in[u] == 0 && priority(u) > priority(v)) best = false;
    }
    if (s == 0 && best) s = 1;
    if (s == 0) atomicAdd(left, 1);
  }
  out[v] = s;
}
__global__ void colour(const int *row, const int *col, int *colour, int n) {  // greedy, one warp a vertex, in order of vertices
  int lane = threadIdx.x;
  for (int v = 0; v < n; v++) {
    unsigned used = 0;
    for (int j = row[v] + lane; j < row[v + 1]; j += 32) if (colour[col[j]] >= 0) used |= 1u << colour[col[j]];
    used = __reduce_or_sync(~0u, used);
    if (lane == 0) colour[v] = __ffs(~used) - 1;
    __syncwarp();
  }
}
__global__ void list_rank(int *next, int *rank, int n) {  // pointer jumping in one block
  int t = threadIdx.x;
  int to = t < n ? next[t] : t, r = t < n && to != t ? 1 : 0;
  __shared__ int link[128], value[128];
  link[t] = to, value[t] = r;
  for (int step = 1; step < 128; step *= 2) {
    __syncthreads();
    r += value[to], to = link[to];
    __syncthreads();
    link[t] = to, value[t] = r;
  }
  if (t < n) rank[t] = r;
}
__global__ void topological(const int *row, const int *col, int *indegree, int *order, int *tail, int n) {  // Kahn, one block
  __shared__ int head, stop;
  int t = threadIdx.x;
  for (int v = t; v < n; v += blockDim.x) if (indegree[v] == 0) order[atomicAdd(tail, 1)] = v;
  if (t == 0) head = 0;
  __syncthreads();
  while (true) {
    if (t == 0) stop = *(volatile int *)tail;
    __syncthreads();
    int from = head, to = stop;
    if (from == to) break;
    for (int i = from + t; i < to; i += blockDim.x)
      for (int j = row[order[i]]; j < row[order[i] + 1]; j++)
        if (atomicSub(&indegree[col[j]], 1) == 1) order[atomicAdd(tail, 1)] = col[j];
    __syncthreads();
    if (t == 0) head = to;
    __syncthreads();
  }
}]=]

-- An undirected graph of n vertices with several components, neighbours ascending.
local function graph(n)
  local neighbours = t.list(n, function() return {} end)
  local function join(a, b)
    if a ~= b and not neighbours[a + 1][b] then neighbours[a + 1][b], neighbours[b + 1][a] = true, true end
  end
  for v = 0, n - 1 do
    if v % 10 ~= 9 then join(v, (v + 10) % n) end
    if v % 3 == 0 and v % 10 ~= 9 and v + 20 < n then join(v, v + 20) end
    if v % 4 == 1 and v + 3 < n and (v + 3) % 10 ~= 9 and v % 10 ~= 9 then join(v, v + 3) end
    if v % 7 == 2 and (v * v) % n % 10 ~= 9 and v % 10 ~= 9 then join(v, v * v % n) end
    if v % 10 == 9 and v + 20 < n then join(v, v + 20) end
    if v % 10 == 9 and v + 10 < n and v < 40 then join(v, v + 10) end
  end
  local g = { n = n, row = { 0 }, col = {}, from = {}, degree = {} }
  for v = 0, n - 1 do
    for u = 0, n - 1 do
      if neighbours[v + 1][u] then g.col[#g.col + 1], g.from[#g.from + 1] = u, v end
    end
    g.row[v + 2], g.degree[v + 1] = #g.col, #g.col - g.row[v + 1]
  end
  g.drow, g.dcol = gpu.array(g.row, "int32"), gpu.array(g.col, "int32")
  g.blocks = (n + 31) // 32
  return g
end

local function each(g, v) -- the neighbours of v
  local j = g.row[v + 1]
  return function()
    j = j + 1
    if j <= g.row[v + 2] then return g.col[j] end
  end
end

local function levels(g, source)
  local level, queue = t.list(g.n, function(v) return v == source and 0 or -1 end), { source }
  for _, v in ipairs(queue) do
    for u in each(g, v) do
      if level[u + 1] < 0 then
        level[u + 1] = level[v + 1] + 1
        queue[#queue + 1] = u
      end
    end
  end
  return level
end

local function components(g)
  local label = {}
  for v = 0, g.n - 1 do
    if not label[v + 1] then
      for u, d in ipairs(levels(g, v)) do if d >= 0 then label[u] = v end end
    end
  end
  return label
end

local g = graph(101)

-- Calls f(changed) until it leaves changed[1] at 0.
local function until_stable(f)
  local changed, rounds = gpu.zeros(1, "int32"), 0
  repeat
    changed:fill(0)
    f(changed, rounds)
    rounds = rounds + 1
    assert(rounds < 1000)
  until changed[1] == 0
end

t.test("breadth first by levels", function()
  for _, source in ipairs { 0, 9, 100 } do
    local level = gpu.full(g.n, -1, "int32")
    level[source + 1] = 0
    until_stable(function(changed, now) k.bfs_level(g.blocks, 32)(g.drow, g.dcol, level, now, changed, g.n) end)
    t.same(level:totable(), levels(g, source))
  end
end)

t.test("breadth first by a queue of the frontier", function()
  local level, queue, next = gpu.full(g.n, -1, "int32"), gpu.zeros(g.n, "int32"), gpu.zeros(g.n, "int32")
  local count, n, depth = gpu.zeros(1, "int32"), 1, 0
  level[1] = 0
  while n > 0 do
    count:fill(0)
    depth = depth + 1
    k.bfs_frontier((n + 31) // 32, 32)(g.drow, g.dcol, level, depth, queue, n, next, count)
    queue, next, n = next, queue, count[1]
  end
  t.same(level:totable(), levels(g, 0))
end)

t.test("breadth first in one block", function()
  local level = gpu.zeros(g.n, "int32")
  k.bfs_block(1, 96)(g.drow, g.dcol, level, 3, g.n)
  t.same(level:totable(), levels(g, 3))
end)

t.test("what many sources reach", function()
  local a = gpu.array(t.list(g.n, function(v) return v < 32 and 1 << v or 0 end), "uint32")
  local b = gpu.zeros(g.n, "uint32")
  until_stable(function(changed)
    k.reach(g.blocks, 32)(g.drow, g.dcol, a, b, changed, g.n)
    a, b = b, a
  end)
  local label = components(g)
  t.close(a, t.list(g.n, function(v)
    local bits = 0
    for s = 0, 31 do if label[s + 1] == label[v + 1] then bits = bits | 1 << s end end
    return bits
  end), 0)
end)

local weights = t.list(#g.col, function(i) return 1 + (g.from[i + 1] * 7 + g.col[i + 1] * 7) % 20 end)
local far = 0x7fffffff

local function distances(source)
  local d, again = t.list(g.n, function(v) return v == source and 0 or far end), true
  while again do
    again = false
    for i, to in ipairs(g.col) do
      local through = d[g.from[i] + 1] + weights[i]
      if d[g.from[i] + 1] < far and through < d[to + 1] then d[to + 1], again = through, true end
    end
  end
  return d
end

t.test("shortest paths by relaxing edges", function()
  local d = gpu.array(distances(-1), "int32")
  d[6] = 0
  until_stable(function(changed)
    k.bellman_ford((#g.col + 63) // 64, 64)(gpu.array(g.from, "int32"), g.dcol, gpu.array(weights, "int32"), d, changed, #g.col)
  end)
  t.same(d:totable(), distances(5))
end)

t.test("shortest paths of all pairs", function()
  local n, none = 33, 1 << 20
  local m = t.list(n * n, function(i) return i // n == i % n and 0 or none end)
  for i, to in ipairs(g.col) do
    if g.from[i] < n and to < n then m[g.from[i] * n + to + 1] = weights[i] end
  end
  local d = gpu.array(m, "int32")
  for step = 0, n - 1 do k.floyd({ 3, 5 }, { 16, 8 })(d, step, n) end
  for q = 1, n do
    for r = 1, n do
      for c = 1, n do m[(r - 1) * n + c] = math.min(m[(r - 1) * n + c], m[(r - 1) * n + q] + m[(q - 1) * n + c]) end
    end
  end
  t.same(d:totable(), m)
end)

t.test("components by labels and by union", function()
  local label, parent = gpu.range(0, g.n - 1, 1, "int32"), gpu.range(0, g.n - 1, 1, "int32")
  until_stable(function(changed) k.propagate(g.blocks, 32)(g.drow, g.dcol, label, changed, g.n) end)
  k.unite((#g.col + 31) // 32, 32)(gpu.array(g.from, "int32"), g.dcol, parent, #g.col)
  k.flatten(g.blocks, 32)(parent, g.n)
  t.same(label:totable(), components(g))
  t.same(parent:totable(), components(g))
end)

t.test("page ranks by pulling and by pushing", function()
  local want = t.list(g.n, function() return 1 / g.n end)
  local a, b = gpu.full(g.n, 1 / g.n), gpu.zeros(g.n)
  local p, q = gpu.full(g.n, 1 / g.n), gpu.zeros(g.n)
  for _ = 1, 6 do
    k.rank_pull(g.blocks, 32)(g.drow, g.dcol, gpu.array(g.degree, "int32"), a, b, 0.85, g.n)
    q:fill(0.15 / g.n)
    k.rank_push(g.blocks, 32)(g.drow, g.dcol, p, q, 0.85, g.n)
    a, b, p, q = b, a, q, p
    want = t.list(g.n, function(v)
      local s = 0
      for u in each(g, v) do s = s + want[u + 1] / g.degree[u + 1] end
      return 0.15 / g.n + 0.85 * s
    end)
  end
  t.close(a, want, 1e-6)
  t.close(p, want, 1e-6)
end)

t.test("triangles", function()
  local want, count = 0, gpu.zeros(1, "int32")
  local joined = {}
  for i, to in ipairs(g.col) do joined[g.from[i] * 1000 + to] = true end
  for i, v in ipairs(g.col) do
    local u = g.from[i]
    for w in each(g, v) do if u < v and v < w and joined[u * 1000 + w] then want = want + 1 end end
  end
  k.triangles(g.blocks, 32)(g.drow, g.dcol, count, g.n)
  t.eq(want > 3, true)
  t.eq(count[1], want)
end)

t.test("cores by peeling", function()
  local degree, core = gpu.array(g.degree, "int32"), gpu.full(g.n, -1, "int32")
  for level = 0, math.max(table.unpack(g.degree)) do
    until_stable(function(changed) k.peel(g.blocks, 32)(g.drow, g.dcol, degree, core, level, changed, g.n) end)
  end
  local left, want = table.move(g.degree, 1, g.n, 1, {}), {}
  for level = 0, g.n do
    local again = true
    while again do
      again = false
      for v = 0, g.n - 1 do
        if not want[v + 1] and left[v + 1] <= level then
          want[v + 1], again = level, true
          for u in each(g, v) do left[u + 1] = left[u + 1] - 1 end
        end
      end
    end
  end
  t.same(core:totable(), want)
end)

t.test("a maximal independent set", function()
  local a, b, left = gpu.zeros(g.n, "int32"), gpu.zeros(g.n, "int32")
  until_stable(function(changed)
    k.independent(g.blocks, 32)(g.drow, g.dcol, a, b, changed, g.n)
    a, b = b, a
  end)
  local s = a:totable()
  for v = 0, g.n - 1 do
    local near = 0
    for u in each(g, v) do if s[u + 1] == 1 then near = near + 1 end end
    if s[v + 1] == 1 then t.eq(near, 0) else t.eq(near > 0, true, "vertex " .. v .. " has a neighbour in the set") end
  end
end)

t.test("a greedy colouring", function()
  local c, want = gpu.full(g.n, -1, "int32"), {}
  k.colour(1, 32)(g.drow, g.dcol, c, g.n)
  for v = 0, g.n - 1 do
    local used, free = {}, 0
    for u in each(g, v) do if want[u + 1] then used[want[u + 1]] = true end end
    while used[free] do free = free + 1 end
    want[v + 1] = free
  end
  t.same(c:totable(), want)
end)

t.test("ranks in a linked list", function()
  local n, next, want, at = 90, {}, {}, 0
  for i = 0, n - 1 do next[(i * 7) % n + 1] = (i + 1) * 7 % n end
  next[(n - 1) * 7 % n + 1] = (n - 1) * 7 % n
  for i = 0, n - 1 do want[(i * 7) % n + 1] = n - 1 - i end
  local rank = gpu.zeros(n, "int32")
  k.list_rank(1, 128)(gpu.array(next, "int32"), rank, n)
  t.same(rank:totable(), want)
end)

t.test("an order in which all edges go forward", function()
  local row, col, indegree = { 0 }, {}, t.list(g.n, function() return 0 end)
  for v = 0, g.n - 1 do
    for u in each(g, v) do
      if u > v then
        col[#col + 1] = u
        indegree[u + 1] = indegree[u + 1] + 1
      end
    end
    row[v + 2] = #col
  end
  local order, tail, place = gpu.zeros(g.n, "int32"), gpu.zeros(1, "int32"), {}
  k.topological(1, 64)(gpu.array(row, "int32"), gpu.array(col, "int32"), gpu.array(indegree, "int32"), order, tail, g.n)
  t.eq(tail[1], g.n)
  for i, v in ipairs(order:totable()) do place[v] = i end
  for v = 0, g.n - 1 do
    for j = row[v + 1] + 1, row[v + 2] do t.eq(place[v] < place[col[j]], true) end
  end
end)

t.done()
