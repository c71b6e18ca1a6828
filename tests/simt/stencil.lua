-- A float64 stencil, bit for bit what Lua's own doubles give, and a stencil in constant memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [[
__global__ void heat(const double *in, double *out, int n, double r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double l = in[i > 0 ? i - 1 : 0], c = in[i], h = in[i < n - 1 ? i + 1 : n - 1];
  out[i] = __dadd_rn(c, __dmul_rn(r, __dadd_rn(__dsub_rn(l, 2 * c), h)));
}
__constant__ float weights[3] = {0.25f, 0.5f, 0.25f};
__device__ int launches;
__global__ void smooth(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&launches, 1);
  if (i >= n) return;
  float s = 0;
  for (int j = -1; j <= 1; j++) s += weights[j + 1] * in[min(max(i + j, 0), n - 1)];
  out[i] = s;
}
__global__ void count(int *out) { out[0] = launches; }]]

t.test("heat equation in float64", function()
  local n, r, v = 300, 0.2, {}
  for i = 1, n do v[i] = math.sin(i / 10) end
  local a, b = gpu.array(v, "float64"), gpu.zeros(n, "float64")
  for _ = 1, 5 do
    k.heat(3, 128)(a, b, n, r)
    a, b = b, a
    local w = {}
    for i = 1, n do
      local l, c, h = v[math.max(i - 1, 1)], v[i], v[math.min(i + 1, n)]
      w[i] = c + r * ((l - 2 * c) + h)
    end
    v = w
  end
  t.same(a:totable(), v)
end)

t.test("constant and device variables", function()
  local x, out, n = gpu.array({ 4, 8, 12, 16 }), gpu.zeros(4), gpu.zeros(1, "int32")
  k.smooth(1, 32)(x, out, 4)
  t.same(out:totable(), { 5.0, 8.0, 12.0, 15.0 })
  k.smooth(1, 32)(x, out, 4)
  k.count(1, 1)(n)
  t.eq(n[1], 2)
end)

t.done()
