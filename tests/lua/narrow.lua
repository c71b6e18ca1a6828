-- Elements of 8 and 16 bits, which the host computes by loops of their own: beside the same in wider types.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

t.test("chains of 8 and 16 bits wrap as each operation does", function()
  local n = 5000
  for dtype, count in pairs { int8 = 256, uint8 = 256, int16 = 65536, uint16 = 65536 } do
    local low = dtype:sub(1, 1) == "i" and count // 2 or 0
    local function wrap(x) return (x + low) % count - low end
    local wide = gpu.range(0, n - 1, 1, "int32", "cpu") * 37
    local x, w = wide:to(dtype), wrap(wide)
    local y, v = x:reshape(50, 100).T:reshape(n), w:reshape(50, 100).T:reshape(n)
    local got = (x * 3 - y):lt(x):where(x:maximum(y) // 7, -x % 5) ~ y
    gpu.evaluate(got) -- else the conversion is of the same pass
    local want = wrap(wrap(w * 3 - v):lt(w):where(w:maximum(v) // 7, wrap(-w) % 5) ~ v)
    assert(got.dtype == dtype and got:to("int32"):equal(want), dtype)
    assert((x[{ { 1, n, 2 } }] + x[{ { 2, n, 2 } }]):to("int32"):equal(wrap(w[{ { 1, n, 2 } }] + w[{ { 2, n, 2 } }])), dtype)
  end
  for _, dtype in ipairs { "int8", "uint16", "float16", "bfloat16" } do
    assert(gpu.full({ n }, 3, dtype, "cpu"):to("int32"):sum() == 3 * n, dtype)
  end
end)

t.test("quotients of 8 and 16 bits are those of 64", function()
  local function check(a, b, dtype)
    local wide, by = a:to("int64"), b:to("int64")
    assert((a // b):equal((wide // by):to(dtype)) and (a % b):equal((wide % by):to(dtype)), dtype)
  end
  for _, dtype in ipairs { "int8", "uint8" } do
    local all = (gpu.range(0, 255, 1, "int64", "cpu") - (dtype == "int8" and 128 or 0)):to(dtype)
    local none = gpu.zeros({ 256, 256 }, dtype, "cpu")
    check(all:reshape(256, 1) + none, all + none, dtype)
  end
  gpu.seed(6)
  for _, dtype in ipairs { "int16", "uint16" } do
    local low = dtype == "int16" and -32768 or 0
    for _, most in ipairs { 9, 300, 65535 } do
      local a = gpu.random.integers(low, low + 65535, 100000, "cpu"):to(dtype)
      local b = gpu.random.integers(math.max(low, -most // 2), math.max(low, -most // 2) + most, 100000, "cpu"):to(dtype)
      check(a, b, dtype)
      local multiple = b:to("int64") * (a:to("int64") % 200)
      for step = -1, 1 do check((multiple + step):to(dtype), b, dtype) end
    end
  end
end)

t.host("functions of float16 and bfloat16 are those of float32, rounded, for all bits", function()
  local bits = {}
  for i = 0, 65535 do bits[i + 1] = string.pack("<I2", i) end
  bits = table.concat(bits)
  local names = "cbrt exp exp2 expm1 log log2 log10 log1p logit sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    .. "atanh sinc sigmoid gelu silu softplus erf erfc erfinv erfcinv erfcx ndtr log_ndtr ndtri lgamma digamma gamma j0 j1 y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e exp1 expi"
  for _, dtype in ipairs { "float16", "bfloat16" } do
    local x = gpu.array(bits, dtype):to("cpu")
    local wide, odd = gpu.evaluate(x:to("float32")), x[{ { 3, 7777 } }]
    for name in t.brief(names, "cbrt gamma log_ndtr"):gmatch "%S+" do
      local want = gpu.evaluate(wide[name](wide)):to(dtype)
      local number = want:eq(want)
      local function check(got, want, number)
        gpu.evaluate(got) -- else what compares is of the same pass
        assert(got.dtype == dtype and got:eq(want):equal(number), name .. " of " .. dtype)
        assert(got:signbit():logical_and(number):equal(want:signbit():logical_and(number)), name .. " of " .. dtype)
      end
      for _ = 1, 3 do check(x[name](x), want, number) end
      check(odd[name](odd), want[{ { 3, 7777 } }], number[{ { 3, 7777 } }])
      check(-x:flip()[name](x:flip()), -want:flip(), number:flip())
    end
  end
end)

t.done()
