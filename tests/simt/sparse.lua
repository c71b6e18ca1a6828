-- Sparse matrices: products in every common format, conversions, solvers.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__global__ void csr_scalar(const int *row, const int *col, const float *val, const float *x, float *y, int m) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m) return;
  float s = 0;
  for (int j = row[r]; j < row[r + 1]; j++) s += val[j] * x[col[j]];
  y[r] = s;
}
__global__ void csr_vector(const int *row, const int *col, const float *val, const float *x, float *y, int m) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (r >= m) return;
  float s = 0;
  for (int j = row[r] + lane; j < row[r + 1]; j += 32) s += val[j] * x[col[j]];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[r] = s;
}
__global__ void csr_quads(const int *row, const int *col, const float *val, const float *x, float *y, int m) {  // 4 lanes a row
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x & 3;
  float s = 0;
  if (r < m) for (int j = row[r] + lane; j < row[r + 1]; j += 4) s += val[j] * x[col[j]];
  s += __shfl_down_sync(~0u, s, 2, 4);
  s += __shfl_down_sync(~0u, s, 1, 4);
  if (r < m && lane == 0) y[r] = s;
}
__global__ void csr_transposed(const int *row, const int *col, const float *val, const float *x, float *y, int m) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < m) for (int j = row[r]; j < row[r + 1]; j++) atomicAdd(&y[col[j]], val[j] * x[r]);
}
__global__ void ell(const int *col, const float *val, const float *x, float *y, int m, int width) {  // column-major, -1 is empty
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m) return;
  float s = 0;
  for (int j = 0; j < width; j++) {
    int c = col[j * m + r];
    if (c >= 0) s += val[j * m + r] * x[c];
  }
  y[r] = s;
}
__global__ void coo(const int *row, const int *col, const float *val, const float *x, float *y, int nnz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nnz) atomicAdd(&y[row[i]], val[i] * x[col[i]]);
}
__global__ void coo_segments(const int *row, const int *col, const float *val, const float *x, float *y, int nnz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int r = i < nnz ? row[i] : -1;
  float v = i < nnz ? val[i] * x[col[i]] : 0;
  for (int d = 1; d < 32; d *= 2) {  // sums of runs of a row inside the warp
    float u = __shfl_up_sync(~0u, v, d);
    int q = __shfl_up_sync(~0u, r, d);
    if (lane >= d && q == r) v += u;
  }
  int next = __shfl_down_sync(~0u, r, 1);
  if (r >= 0 && (lane == 31 || next != r)) atomicAdd(&y[r], v);
}
__global__ void dia(const int *offset, const float *diagonals, const float *x, float *y, int n, int count) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float s = 0;
  for (int d = 0; d < count; d++) {
    int c = r + offset[d];
    if (c >= 0 && c < n) s += diagonals[d * n + r] * x[c];
  }
  y[r] = s;
}
__global__ void bsr(const int *row, const int *col, const float *val, const float *x, float *y, int blocks) {  // blocks of 2 x 2
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= 2 * blocks) return;
  float s = 0;
  for (int j = row[r / 2]; j < row[r / 2 + 1]; j++)
    for (int c = 0; c < 2; c++) s += val[4 * j + r % 2 * 2 + c] * x[2 * col[j] + c];
  y[r] = s;
}
__global__ void spmm(const int *row, const int *col, const float *val, const float *b, float *c, int m, int n) {
  int q = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || q >= n) return;
  float s = 0;
  for (int j = row[r]; j < row[r + 1]; j++) s += val[j] * b[col[j] * n + q];
  c[r * n + q] = s;
}
// From coordinates in any order to rows: count, scan, fill by tickets.
__global__ void count_rows(const int *row, int *count, int nnz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nnz) atomicAdd(&count[row[i] + 1], 1);
}
__global__ void starts(int *count, int m) {  // inclusive scan of m + 1 numbers by one thread block of one warp
  int carry = 0, lane = threadIdx.x;
  for (int i = lane; i - lane <= m; i += 32) {
    int v = i <= m ? count[i] : 0;
    for (int d = 1; d < 32; d *= 2) { int u = __shfl_up_sync(~0u, v, d); if (lane >= d) v += u; }
    v += carry;
    if (i <= m) count[i] = v;
    carry = __shfl_sync(~0u, v, 31);
  }
}
__global__ void fill_rows(const int *row, const int *col, const float *val, const int *start, int *used, int *out, float *value, int nnz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nnz) return;
  int at = start[row[i]] + atomicAdd(&used[row[i]], 1);
  out[at] = col[i], value[at] = val[i];
}
// A lower triangular system by levels of rows that do not depend on each other.
__global__ void solve_level(const int *row, const int *col, const double *val, const int *rows, int count, double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int r = rows[i], end = row[r + 1] - 1;  // the diagonal is last
  double s = x[r];
  for (int j = row[r]; j < end; j++) s -= val[j] * x[col[j]];
  x[r] = s / val[end];
}
// The same without levels: a row waits for the rows that it needs.
__global__ void solve_waiting(const int *row, const int *col, const double *val, volatile int *done, volatile double *x, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  int j = row[r], end = row[r + 1] - 1;
  double s = x[r];
  while (j < end) {
    if (!done[col[j]]) continue;
    __threadfence();
    s -= val[j] * x[col[j]];
    j++;
  }
  x[r] = s / val[end];
  __threadfence();
  done[r] = 1;
}
// Conjugate gradients for the 1-D Laplacian plus the identity, one block, vectors in shared memory.
__device__ double total(double v, double *s) {
  int t = threadIdx.x;
  __syncthreads();
  s[t] = v;
  __syncthreads();
  for (int d = blockDim.x / 2; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  return s[0];
}
__global__ void gradients(const double *b, double *x, int n, int iterations, double *residual) {
  __shared__ double p[130], s[128];
  int t = threadIdx.x;
  double xi = 0, r = t < n ? b[t] : 0;
  p[t + 1] = r;
  if (t == 0) p[0] = p[129] = 0;
  double rr = total(r * r, s);
  for (int k = 0; k < iterations && rr > 1e-24; k++) {
    double q = t < n ? 3 * p[t + 1] - p[t] - p[t + 2] : 0;
    double alpha = rr / total(p[t + 1] * q, s);
    xi += alpha * p[t + 1];
    r -= alpha * q;
    double fresh = total(r * r, s);
    p[t + 1] = r + fresh / rr * p[t + 1];
    rr = fresh;
    __syncthreads();
  }
  if (t < n) x[t] = xi;
  if (t == 0) *residual = rr;
}]=]

-- m x n with rows of very different lengths, some empty: rows, columns, values as lists, and x.
local function sparse(m, n)
  local s = { row = { 0 }, col = {}, val = {}, rows = {}, m = m, n = n, nnz = 0 }
  for r = 0, m - 1 do
    for c = 0, n - 1 do
      if (r * 7 + c * c * 3) % (2 + r * r % 13) == 0 and r % 6 ~= 4 then
        s.nnz = s.nnz + 1
        s.rows[s.nnz], s.col[s.nnz], s.val[s.nnz] = r, c, (r * 5 + c * 3) % 17 - 8
      end
    end
    s.row[r + 2] = s.nnz
  end
  return s
end

local function multiply(s, x, transposed)
  local y = t.list(transposed and s.n or s.m, function() return 0 end)
  for i = 1, s.nnz do
    local r, c = s.rows[i] + 1, s.col[i] + 1
    if transposed then y[c] = y[c] + s.val[i] * x[r] else y[r] = y[r] + s.val[i] * x[c] end
  end
  return y
end

local function numbers(n)
  return t.list(n, function(i) return (i * i + 3 * i) % 23 - 11 end)
end

local function ints(v) return gpu.array(v, "int32") end

for name, lanes in pairs { csr_scalar = 1, csr_vector = 32, csr_quads = 4, csr_transposed = 1 } do
  t.test("sparse product: " .. name, function()
    for _, size in ipairs { { 1, 1 }, { 33, 70 }, { 100, 41 } } do
      local s, x = sparse(size[1], size[2]), numbers(math.max(size[1], size[2]))
      local back = name == "csr_transposed"
      local y = gpu.zeros(back and s.n or s.m)
      k[name]((s.m * lanes + 63) // 64, 64)(ints(s.row), ints(s.col), gpu.array(s.val), gpu.array(x), y, s.m)
      t.close(y, multiply(s, x, back), 0)
    end
  end)
end

t.test("sparse product: ELL", function()
  local s, x, width = sparse(50, 30), numbers(30), 0
  for r = 1, s.m do width = math.max(width, s.row[r + 1] - s.row[r]) end
  local col, val = {}, {}
  for j = 0, width - 1 do
    for r = 0, s.m - 1 do
      local at = s.row[r + 1] + j
      local inside = at < s.row[r + 2]
      col[j * s.m + r + 1], val[j * s.m + r + 1] = inside and s.col[at + 1] or -1, inside and s.val[at + 1] or 999
    end
  end
  local y = gpu.zeros(s.m)
  k.ell(2, 32)(ints(col), gpu.array(val), gpu.array(x), y, s.m, width)
  t.close(y, multiply(s, x), 0)
end)

for _, name in ipairs { "coo", "coo_segments" } do
  t.test("sparse product: " .. name, function()
    local s, x = sparse(60, 45), numbers(45)
    local y = gpu.zeros(s.m)
    k[name]((s.nnz + 95) // 96, 96)(ints(s.rows), ints(s.col), gpu.array(s.val), gpu.array(x), y, s.nnz)
    t.close(y, multiply(s, x), 0)
  end)
end

t.test("sparse product: diagonals", function()
  local n, offsets, x = 70, { -33, -1, 0, 2, 40 }, numbers(70)
  local d = numbers(n * #offsets)
  local y = gpu.zeros(n)
  k.dia(3, 32)(ints(offsets), gpu.array(d), gpu.array(x), y, n, #offsets)
  t.close(y, t.list(n, function(r)
    local v = 0
    for i, o in ipairs(offsets) do
      if r + o >= 0 and r + o < n then v = v + d[(i - 1) * n + r + 1] * x[r + o + 1] end
    end
    return v
  end), 0)
end)

t.test("sparse product: blocks of 2 x 2", function()
  local s = sparse(20, 15)
  local x, val, y = numbers(30), numbers(4 * s.nnz), gpu.zeros(40)
  k.bsr(2, 32)(ints(s.row), ints(s.col), gpu.array(val), gpu.array(x), y, s.m)
  t.close(y, t.list(40, function(r)
    local v = 0
    for i = s.row[r // 2 + 1], s.row[r // 2 + 2] - 1 do
      for c = 0, 1 do v = v + val[4 * i + r % 2 * 2 + c + 1] * x[2 * s.col[i + 1] + c + 1] end
    end
    return v
  end), 0)
end)

t.test("sparse times dense", function()
  local s, n, b = sparse(23, 31), 9, numbers(31 * 9)
  local c = gpu.zeros({ s.m, n })
  k.spmm({ 2, 3 }, { 8, 8 })(ints(s.row), ints(s.col), gpu.array(s.val), gpu.array(b), c, s.m, n)
  t.close(c, t.list(s.m * n, function(i)
    local v = 0
    for j = s.row[i // n + 1] + 1, s.row[i // n + 2] do v = v + s.val[j] * b[s.col[j] * n + i % n + 1] end
    return v
  end), 0)
end)

t.test("from coordinates to rows", function()
  local s = sparse(40, 25)
  local rows, cols, vals = {}, {}, {}
  for i = 0, s.nnz - 1 do
    local j = (i * 101 + 7) % s.nnz + 1 -- another order; 101 is prime to the number of elements
    rows[i + 1], cols[i + 1], vals[i + 1] = s.rows[j], s.col[j], s.val[j]
  end
  t.eq(s.nnz % 101 ~= 0, true)
  local start, used = gpu.zeros(s.m + 1, "int32"), gpu.zeros(s.m, "int32")
  local out, value, blocks = gpu.zeros(s.nnz, "int32"), gpu.zeros(s.nnz), (s.nnz + 63) // 64
  k.count_rows(blocks, 64)(ints(rows), start, s.nnz)
  k.starts(1, 32)(start, s.m)
  k.fill_rows(blocks, 64)(ints(rows), ints(cols), gpu.array(vals), start, used, out, value, s.nnz)
  t.same(start:totable(), s.row)
  out, value = out:totable(), value:totable()
  for r = 1, s.m do
    local got, want = {}, {}
    for j = s.row[r] + 1, s.row[r + 1] do
      got[#got + 1] = out[j] * 100 + value[j] + 50
      want[#want + 1] = s.col[j] * 100 + s.val[j] + 50.0
    end
    table.sort(got)
    t.same(got, want)
  end
end)

-- A lower triangle with the diagonal last in each row.
local function lower(n)
  local l = { row = { 0 }, col = {}, val = {}, level = {}, n = n }
  for r = 0, n - 1 do
    local level = 1
    for c = 0, r - 1 do
      if (r * 5 + c * 3) % 9 == 0 then
        l.col[#l.col + 1], l.val[#l.val + 1] = c, ((r + c) % 7 - 3) / 4
        level = math.max(level, l.level[c + 1] + 1)
      end
    end
    l.col[#l.col + 1], l.val[#l.val + 1], l.level[r + 1], l.row[r + 2] = r, 2 + r % 3, level, #l.col + 1
  end
  return l
end

local function lower_times(l, x)
  return t.list(l.n, function(r)
    local v = 0
    for j = l.row[r + 1] + 1, l.row[r + 2] do v = v + l.val[j] * x[l.col[j] + 1] end
    return v
  end)
end

t.test("a sparse triangular system by levels", function()
  local l, x = lower(60), numbers(60)
  local row, col, val, b = ints(l.row), ints(l.col), gpu.array(l.val, "float64"), gpu.array(lower_times(l, x), "float64")
  for level = 1, math.max(table.unpack(l.level)) do
    local rows = {}
    for r, v in ipairs(l.level) do if v == level then rows[#rows + 1] = r - 1 end end
    k.solve_level((#rows + 31) // 32, 32)(row, col, val, ints(rows), #rows, b)
  end
  t.close(b, x, 1e-9)
end)

t.test("a sparse triangular system whose rows wait for each other", function()
  local l, x = lower(75), numbers(75)
  local b = gpu.array(lower_times(l, x), "float64")
  k.solve_waiting(3, 32)(ints(l.row), ints(l.col), gpu.array(l.val, "float64"), gpu.zeros(75, "int32"), b, 75)
  t.close(b, x, 1e-9)
end)

t.test("conjugate gradients in one block", function()
  for _, n in ipairs { 1, 50, 128 } do
    local x = numbers(n)
    local b = t.list(n, function(i) return 3 * x[i + 1] - (x[i] or 0) - (x[i + 2] or 0) end)
    local out, residual = gpu.zeros(n, "float64"), gpu.zeros(1, "float64")
    k.gradients(1, 128)(gpu.array(b, "float64"), out, n, 100, residual)
    t.close(out, x, 1e-10)
  end
end)

t.done()
