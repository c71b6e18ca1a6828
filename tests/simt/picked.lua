-- Numbers, pairs and quads of them by an index that lanes look up, of which some lanes must not use theirs; doubles to
-- whole numbers; the smaller and the larger of numbers of 16 bits.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__global__ void picked(const float4 *x, const double2 *p, const int *from, float4 *y, double2 *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (from[i] < 0 || from[i] >= n) return;
  float4 v = x[from[i]];
  y[n - 1 - from[i]] = make_float4(v.w, v.x, v.y, v.z);
  double2 w = p[from[i]];
  q[from[i]] = make_double2(w.y, w.x + i);
}
__global__ void whole(const double *x, int *y) {
  int i = threadIdx.x;
  y[4 * i] = __double2int_rn(x[i]), y[4 * i + 1] = __double2int_rz(x[i]);
  y[4 * i + 2] = __double2int_rd(x[i]), y[4 * i + 3] = __double2int_ru(x[i]);
}
__global__ void extremes(const short *a, const short *b, int *y) {
  int i = threadIdx.x;
  unsigned short p = a[i], q = b[i];
  short least = a[i] < b[i] ? a[i] : b[i], most = a[i] > b[i] ? a[i] : b[i];
  unsigned short low = p < q ? p : q, high = p > q ? p : q;
  y[4 * i] = least, y[4 * i + 1] = most, y[4 * i + 2] = low, y[4 * i + 3] = high;
}
]=]

t.test("pairs and quads by an index", function()
  local n = 96
  local from = t.list(n, function(i) return i % 9 == 4 and (i % 2 == 0 and n or -1) or i * 31 % n end)
  local x, p = t.list(4 * n, function(i) return i + 0.5 end), t.list(2 * n, function(i) return -i end)
  local y, q = gpu.zeros(4 * n), gpu.zeros(2 * n, "float64")
  k.picked(2, 48)(gpu.array(x), gpu.array(p, "float64"), gpu.array(from, "int32"), y, q, n)
  local quads, twos = t.list(4 * n, function() return 0 end), t.list(2 * n, function() return 0 end)
  for i, f in ipairs(from) do
    if f >= 0 and f < n then
      for c = 0, 3 do quads[4 * (n - 1 - f) + c + 1] = x[4 * f + (c + 3) % 4 + 1] end
      twos[2 * f + 1], twos[2 * f + 2] = p[2 * f + 2], p[2 * f + 1] + i - 1
    end
  end
  t.close(y, quads, 0)
  t.close(q, twos, 0)
end)

t.test("an index of pairs beyond the end", function()
  if gpu.device().name ~= "simt" then t.skip("a GPU says less, and loses its arrays") end
  local from, y = gpu.range(0, 31):to("int32"), gpu.zeros(4 * 32)
  local q, p = gpu.zeros(64, "float64"), gpu.zeros(62, "float64")
  t.raises("that is p[62], and p has 62 elements", function()
    k.picked(1, 32)(gpu.zeros(4 * 32), p, from, y, q, 32)
    gpu.synchronize()
  end)
end)

t.test("doubles to whole numbers, each way", function()
  local x = { 0.5, 1.5, -0.5, -1.5, 2.25, -2.75, 2147483646.5, 2147483647.0, 2147483647.5, 3e9, -2147483648.0,
    -2147483648.5, -2147483649.0, -1e300, math.huge, -math.huge, 0.0, -0.0, 1e-300, -1e-300, 0 / 0 }
  while #x < 64 do x[#x + 1] = #x * 1.37 - 30 end
  local function kept(v) return v ~= v and -2147483648 or math.tointeger(math.max(-2147483648, math.min(v, 2147483647))) end
  local function nearest(v)
    local low = math.floor(v)
    return (v - low > 0.5 or (v - low == 0.5 and low % 2 == 1)) and low + 1 or low
  end
  local function each(v)
    if v ~= v or math.abs(v) > 1e10 then return { kept(v), kept(v), kept(v), kept(v) } end
    local cut = v < 0 and math.ceil(v) or math.floor(v)
    return { kept(nearest(v)), kept(cut), kept(math.floor(v)), kept(math.ceil(v)) }
  end
  local y = gpu.zeros(256, "int32")
  k.whole(1, 64)(gpu.array(x, "float64"), y)
  t.close(y, t.list(256, function(i) return each(x[i // 4 + 1])[i % 4 + 1] end), 0)
end)

t.test("the smaller and the larger of small numbers", function()
  local numbers = { 0, 1, -1, 255, 256, -256, 32767, -32768, 12345, -12345 }
  local a = t.list(64, function(i) return numbers[i % 10 + 1] end)
  local b = t.list(64, function(i) return numbers[i * 3 // 5 % 10 + 1] end)
  local y = gpu.zeros(256, "int32")
  k.extremes(1, 64)(gpu.array(a, "int16"), gpu.array(b, "int16"), y)
  t.close(y, t.list(256, function(i)
    local p, q, which = a[i // 4 + 1], b[i // 4 + 1], i % 4
    if which > 1 then p, q = p & 0xffff, q & 0xffff end
    return which % 2 == 0 and math.min(p, q) or math.max(p, q)
  end), 0)
end)

-- Indices that would lead 8 GB away: into a table in global memory, and into one in shared memory.
t.test("lanes that do not run may have any index", function()
  local k = gpu.kernel [=[__global__ void k(const int *x, const int *at, int *y, int *z, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, j = at[i], v = -1, w = -1;
    s[t] = 5 * t;
    __syncthreads();
    if (j >= 0 && j < n) v = x[j], w = s[j & 63];
    y[i] = v;
    z[i] = w;
  }]=]
  local n, all, away = 100, 64 * 8, { 2147483647, -2147483648, -1, 1000000000 }
  local x, at = gpu.range(1, n):to "int32", {}
  for i = 1, all do at[i] = i * i % 7 < i // 64 and away[i % 4 + 1] or i * 37 % n end
  at[1], at[33], at[64] = away[1], away[2], away[1]
  local y, z = gpu.zeros(all, "int32"), gpu.zeros(all, "int32")
  k(all // 64, 64)(x, gpu.array(at, "int32"), y, z, n)
  y, z = y:totable(), z:totable()
  for i, j in ipairs(at) do
    local inside = j >= 0 and j < n
    t.eq(y[i], inside and j + 1 or -1)
    t.eq(z[i], inside and 5 * (j & 63) or -1)
  end
end)

t.done()
