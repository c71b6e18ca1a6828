-- gpu.reduction and gpu.scan: functions in CUDA C that combine two numbers, against what arrays have and against Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local device = t.kernel_device()
gpu.device(device)
gpu.seed(5)

local sum = gpu.reduction([[__device__ long long sum(long long a, long long b) { return a + b; }]], { identity = 0 })
local greatest = gpu.reduction [[
  __device__ float half_of(float a) { return a / 2; }
  __device__ float greatest(float a, float b) { return half_of(a) > half_of(b) ? a : b; }
]]
-- Maps y = m x + c of whole numbers, m and c in the halves of a word: one after the other they are such a map again, and
-- not the same in the other order.
local COMPOSE = [[
  __device__ unsigned long long compose(unsigned long long f, unsigned long long g) {
    unsigned m = (unsigned)f * (unsigned)g, c = (unsigned)(f >> 32) * (unsigned)g + (unsigned)(g >> 32);
    return (unsigned long long)c << 32 | m;
  }
]]

local function compose(f, g)
  local m, c = (f & 0xffffffff) * (g & 0xffffffff), (f >> 32) * (g & 0xffffffff) + (g >> 32)
  return (c & 0xffffffff) << 32 | m & 0xffffffff
end

t.test("reductions of all sizes, to what sum and max say", function()
  for _, n in ipairs({ 1, 2, 31, 32, 33, 255, 256, 257, 2048, 2049, t.brief(70001, 5001) }) do
    local x = gpu.random.integers(-50, 50, n)
    t.eq(sum(x), x:sum(), n .. " elements")
    t.eq(math.type(sum(x)), "integer")
    local y = gpu.randn(3, n)
    t.eq(greatest(y), y:max())
    assert(greatest(y, 2):equal(y:max(2)), n .. " columns")
    assert(greatest(y.T, -2):equal(y:max(2)))
    assert(greatest(y, 1):equal(y:max(1)))
  end
  local many = gpu.random.integers(-9, 9, t.brief(70000, 3000), 33)
  assert(sum(many, 2):equal(many:sum(2)))
  assert(sum(many["::, :5"], 2):equal(many["::, :5"]:sum(2)), "short rows")
end)

t.test("reductions along axes", function()
  local x = gpu.random.integers(-50, 50, 4, 5, 6, 40)
  for bits = 1, 15 do
    local axes = {}
    for axis = 1, 4 do
      if bits >> (axis - 1) & 1 == 1 then axes[#axes + 1] = axis end
    end
    assert(sum(x, axes):equal(x:sum(axes)), table.concat(axes, ", "))
    assert(sum(x, axes, true):equal(x:sum(axes, true)))
  end
  local view = x:permute(3, 1, 4, 2)["::2, ::-1, 2:39, 3"]
  assert(sum(view, { axis = 1, keepdims = true }):equal(view:sum(1, true)))
  t.eq(sum(2 * x), 2 * x:sum())
end)

t.test("reductions of nothing", function()
  t.eq(sum(gpu.zeros(0, "int64")), 0)
  t.same(sum(gpu.zeros(2, 0, "int64"), 2):totable(), { 0, 0 })
  t.eq(sum(gpu.zeros(2, 0, "int64"), 1).size, 0)
  t.raises({ "greatest of no elements", "{identity = 0}" }, greatest, gpu.zeros(0))
  t.eq(greatest(gpu.zeros(0, 3), 2).size, 0)
end)

t.test("scans keep the order", function()
  local scan, affine = gpu.scan [[__device__ int plus(int a, int b) { return a + b; }]], gpu.scan(COMPOSE)
  for _, n in ipairs({ 1, 2, 32, 255, 256, 257, 4097, t.brief(70001, 5001) }) do
    local x = gpu.random.integers(0, 9, n, "int32")
    assert(scan(x):equal(x:cumsum()), n .. " elements")
    local bits = gpu.random.integers(0, 1 << 62, n)
    local list, want = bits:totable(), {}
    for i, v in ipairs(list) do want[i] = i == 1 and v or compose(want[i - 1], v) end
    t.same(affine(bits:to("uint64")):to("int64"):totable(), want)
  end
  local x = gpu.random.integers(0, 9, 3, 300, 2, "int32")
  for axis = 1, 3 do assert(scan(x, axis):equal(x:cumsum(axis)), "axis " .. axis) end
  assert(scan(x):equal(x:cumsum()))
  assert(scan(x.T, -2):equal(x.T:cumsum(-2)))
  t.same(scan(gpu.zeros(3, 0, "int32"), 2).shape, { 3, 0 })
end)

t.test("of other types", function()
  local any = gpu.reduction [[__device__ bool either(bool a, bool b) { return a || b; }]]
  t.eq(any(gpu.zeros(300):gt(0)), false)
  t.eq(any(gpu.range(300):gt(299)), true)
  local small = gpu.reduction [[__device__ unsigned char smaller(unsigned char a, unsigned char b) { return a < b ? a : b; }]]
  t.eq(small(gpu.array({ 9, 7, 200 }, "uint8")), 7)
end)

t.test("what they refuse", function()
  t.raises("sum: expects an array of int64, got float32; convert it with x:to(\"int64\")", sum, gpu.ones(3))
  t.raises("sum: expects an array of int64, got number", sum, 5)
  t.raises({ "sum: the array is on cpu, which runs no kernels", 'x:to("simt")' }, sum, gpu.ones(3, "int64", "cpu"))
  t.raises("no axis 2", sum, gpu.ones(3, "int64"), 2)
  t.raises("must combine two numbers of one type", gpu.reduction, "__device__ float f(float a) { return a; }")
  t.raises("must combine two numbers of one type", gpu.scan, "__device__ float f(float a, int b) { return a; }")
  t.raises("reduction: expected CUDA C with a function", gpu.reduction, "a + b")
  t.raises("scan: 'void' of 'f' is no type", gpu.scan, "__device__ void f(float a, float b) { }")
  t.raises("identity is a number, not string", gpu.reduction, "__device__ float f(float a, float b) { return a; }",
    { identity = "zero" })
  t.raises("there is no option 'idenity'", gpu.reduction, "__device__ float f(float a, float b) { return a; }",
    { idenity = 0 })
  t.raises({ t.here(), '"z" is undefined' }, gpu.scan, [[
    __device__ float f(float a, float b) { return z; }]])
end)

t.done()
