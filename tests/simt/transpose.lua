-- A transpose through padded shared memory, for element sizes of 1 to 16 bytes.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local source = [[
struct Wide { double x, y; };
template <class T> __global__ void transpose(const T *in, T *out, int rows, int cols) {
  __shared__ T tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}]]

for type, dtype in pairs { float = "float32", double = "float64", short = "int16", ["unsigned char"] = "uint8" } do
  t.test("transpose of " .. dtype, function()
    local k = gpu.kernel(source, { instantiate = { "transpose<" .. type .. ">" } })
    for _, s in ipairs { { 1, 1 }, { 16, 16 }, { 5, 37 }, { 50, 33 } } do
      local values = {}
      for i = 1, s[1] * s[2] do values[i] = (i * 7) % 100 end
      local x = gpu.array(values, dtype):reshape(s[1], s[2])
      local out = gpu.zeros({ s[2], s[1] }, dtype)
      k({ (s[2] + 15) // 16, (s[1] + 15) // 16 }, { 16, 16 })(x, out, s[1], s[2])
      local got = out:totable()
      for r = 1, s[1] do
        for c = 1, s[2] do t.eq(got[c][r], values[(r - 1) * s[2] + c]) end
      end
    end
  end)
end

t.done()
