-- Lanes that leave a loop at different times.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [[
__global__ void mandelbrot(int *out, int w, int h, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  double cr = -2 + 3.0 * x / w, ci = -1 + 2.0 * y / h, zr = 0, zi = 0;
  int i = 0;
  while (i < limit && __dadd_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)) < 4) {
    double t = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
    zi = __dadd_rn(__dmul_rn(2 * zr, zi), ci);
    zr = t;
    i++;
  }
  out[y * w + x] = i;
}]]

t.test("mandelbrot is what Lua computes", function()
  local w, h, limit = 45, 30, 100
  local out = gpu.zeros({ h, w }, "int32")
  k({ 3, 4 }, { 16, 8 })(out, w, h, limit)
  local got = out:totable()
  for y = 0, h - 1 do
    for x = 0, w - 1 do
      local cr, ci, zr, zi, i = -2 + 3.0 * x / w, -1 + 2.0 * y / h, 0.0, 0.0, 0
      while i < limit and zr * zr + zi * zi < 4 do
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        i = i + 1
      end
      t.eq(got[y + 1][x + 1], i, ("pixel %d, %d"):format(x, y))
    end
  end
end)

t.done()
