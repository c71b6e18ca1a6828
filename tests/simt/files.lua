-- Kernels whose source is a file: the headers beside it, what its errors name, and what is no such file.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder .. "/inner"))

-- Gives the path.
local function write(name, text)
  local path = folder .. "/" .. name
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
  return path
end

local scale = [[
#include "scale.cuh"
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= FACTOR;
}
]]

local function scaled(options)
  local x = gpu.ones(4)
  gpu.kernel(options):forall(4)(x, 4)
  return x[1]
end

t.test("headers are found beside the file, and changes of them noticed", function()
  local path = write("scale.cu", scale)
  write("scale.cuh", "#define FACTOR 3\n")
  t.eq(scaled { file = path }, 3)
  write("scale.cuh", "#define FACTOR 5\n")
  t.eq(scaled { file = path }, 5)
  t.eq(scaled { file = path, options = { "-DUNUSED" } }, 5)
  write("scale.cuh", '#include "inner/factor.cuh"\n')
  write("inner/factor.cuh", '#include "value.cuh"\n#define FACTOR VALUE\n')
  write("inner/value.cuh", "#define VALUE 7\n")
  t.eq(scaled { file = path }, 7)
  write("inner/value.cuh", "#define VALUE 8\n")
  t.eq(scaled { file = path }, 8)
end)

t.test("errors are at the lines of the file", function()
  local path = write("bad.cu", "__global__ void f(float *x) {\n  x[0] = y;\n}\n")
  t.raises({ path .. ':2: error: identifier "y" is undefined', "x[0] = y;" }, gpu.kernel, { file = path })
end)

t.test("what is no file of a kernel", function()
  t.raises({ "cannot read the file", folder .. "/none.cu" }, gpu.kernel, { file = folder .. "/none.cu" })
  t.raises("cannot read the file", gpu.kernel, { file = folder })
  t.raises("the path is too long", gpu.kernel, { file = ("x"):rep(5000) })
  t.raises("'file' must be the path of a file, got number", gpu.kernel, { file = 3 })
  t.raises("there are a file and a source", gpu.kernel, { file = folder .. "/scale.cu", source = scale })
  t.raises("there are a file and a source", gpu.kernel, { scale, file = folder .. "/scale.cu" })
end)

os.execute("rm -r " .. folder)
t.done()
