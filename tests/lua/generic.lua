-- Templates that gpu.vectorize, gpu.reduction and gpu.scan take: one function for each dtype that is met.
local gpu = gpu or require "lunarray"
local t = dofile("tests/lua/test.lua")
local device = t.kernel_device()
gpu.device(device)

local difference = gpu.vectorize [[
  template <typename T>
  __device__ T difference(T x, T y) { return x > y ? x - y : y - x; }
]]

t.test("the dtype of the arrays is the template's", function()
  for _, dtype in ipairs { "float32", "float64", "int8", "uint8", "int32", "int64" } do
    local x, y = gpu.array({ 1, 5, 100 }, dtype), gpu.array({ 4, 5, 90 }, dtype)
    local z = difference(x, y)
    assert(z.dtype == dtype and z:equal(gpu.array({ 3, 0, 10 }, dtype)), dtype)
  end
  local big = gpu.array({ (1 << 53) + 1 }, "int64") -- no double has it
  t.eq(difference(big, 1)[1], 1 << 53)
end)

t.test("of several dtypes that which they have in common, numbers are weak, axes broadcast", function()
  local x, y = gpu.array({ 1, 2 }, "int32"), gpu.array({ 0.5, 4 }, "float64")
  local z = difference(x, y)
  assert(z.dtype == "float64" and z:equal(gpu.array({ 0.5, 2 }, "float64")))
  assert(difference(3, x).dtype == "int32" and difference(3, x):equal(gpu.array({ 2, 1 }, "int32")))
  local table = difference(gpu.ones(2, 1), gpu.range(3))
  t.eq(table.shape, gpu.zeros(2, 3).shape)
  t.eq(table:sum(), 6)
end)

t.test("types that are not the template's stay", function()
  local above = gpu.vectorize "template <class T> __device__ inline bool above(const T x, int n) { return x > n; }"
  local x = gpu.array({ 1, 2, 3 }, "float64")
  assert(above(x, 2).dtype == "bool" and above(x, 2):equal(gpu.array { false, false, true }))
  assert(above(x, gpu.array({ 0, 2, 3 }, "int32")):equal(gpu.array { true, false, false }))
  t.raises({ "'n' (int) expects an array of int32, got int64", 'n:to("int32")' }, above, x, gpu.array({ 1, 2, 3 }, "int64"))
  -- the last function counts, and is none though another one is
  local quarter = gpu.vectorize "template <typename T> __device__ T half(T x) { return x / 2; } __device__ float quarter(float x) { return half(half(x)); }"
  t.eq(quarter(gpu.ones(1))[1], 0.25)
end)

t.test("reductions and scans", function()
  local largest = gpu.reduction("template <typename T> __device__ T largest(T a, T b) { return a > b ? a : b; }", { identity = -1 })
  for _, dtype in ipairs { "float32", "int16", "float64" } do
    local x = gpu.array({ { 1, 7, 3 }, { 4, 2, 6 } }, dtype)
    t.eq(largest(x), x:max())
    local rows = largest(x, 2)
    assert(rows.dtype == dtype and rows:equal(x:max(2)))
    t.eq(largest(x, { axis = 1, keepdims = true }).shape, gpu.zeros(1, 3).shape)
    t.eq(largest(gpu.zeros(0, dtype)), -1)
  end
  local latest = gpu.scan "template <typename T> __device__ T latest(T a, T b) { return b != T(0) ? b : a; }"
  for _, dtype in ipairs { "int32", "float64" } do
    assert(latest(gpu.array({ 4, 0, 7, 0 }, dtype)):equal(gpu.array({ 4, 4, 7, 7 }, dtype)))
  end
end)

t.test("each dtype is compiled once, with the options given and for the device of its arrays", function()
  local scaled = gpu.vectorize("template <typename T> __device__ T scaled(T x) { return x * N; }", { options = { "-DN=5" } })
  t.eq(scaled(gpu.ones(3))[1], 5)
  local _, made = debug.getupvalue(scaled, 5)
  local first = made.float32
  t.eq(scaled(gpu.ones(4))[1], 5)
  t.eq(scaled(gpu.ones(3, "int64"))[1], 5)
  assert(first and made.float32 == first and made.int64 and made.int64 ~= first)
  t.raises({ "scaled: 'x' is an array on cpu", 'x:to("simt")' }, scaled, gpu.ones(3, "cpu"))
end)

t.test("what is wrong with them", function()
  local first = debug.getinfo(1, "l").currentline
  local wrong = gpu.vectorize [[
    template <typename T>
    __device__ T wrong(T x) { return zz + x; }
  ]]
  t.raises({ (":%d: error: "):format(first + 3), '"zz" is undefined' }, wrong, gpu.ones(3)) -- when it is met
  local here = t.here()
  t.raises({ here, "difference: none of the arguments for T is an array" }, function() difference(1, 2) end)
  t.raises({ here, "difference: takes 2 arguments, got 1" }, function() difference(gpu.ones(3)) end)
  t.raises({ here, "do not broadcast" }, function() difference(gpu.ones(3), gpu.ones(4)) end)
  t.raises({ here, "expects an array of float32 or a number, got string" }, function() difference(gpu.ones(3), "a") end)
  for source, message in pairs {
    ["template <typename T, typename U> __device__ T f(T x, U y) { return x; }"] = "a template has one type here",
    ["template <int N> __device__ float f(float x) { return N * x; }"] = "a template has one type here",
    ["template <typename T> __device__ T f(float x) { return x; }"] = "f: none of its parameters is a T",
    ["template <typename T> __device__ T f(U x) { return x; }"] = "'U' of 'x' is no type of elements",
  } do
    t.raises(message, gpu.vectorize, source)
  end
  t.raises("must combine two numbers of one type", gpu.reduction "template <typename T> __device__ T f(T a, T b, T c) { return a; }", gpu.ones(3))
end)

t.done()
