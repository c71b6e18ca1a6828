-- Operators, their broadcasting and dtypes, and every elementwise operation in place and in strides.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- Shapes that are awkward for blocks, warps and vectors.
local SHAPES = { { 1 }, { 7 }, { 33 }, { 1000 }, { 5, 7 }, { 3, 1, 11 }, { 0 }, { 2, 0 }, {} }

local function numbers(shape, dtype, device, from)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return gpu.range(from or 1, (from or 1) + n - 1, dtype, device):reshape(shape)
end

-- f over the elements of x and y, which have the same shape or are numbers.
local function map(f, x, y)
  if type(x) ~= "table" and type(y) ~= "table" then return f(x, y) end
  local out = {}
  for i = 1, #(type(x) == "table" and x or y) do
    out[i] = map(f, type(x) == "table" and x[i] or x, type(y) == "table" and y[i] or y)
  end
  return out
end

local OPERATORS = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b) return a / b end,
  ["//"] = function(a, b) return a // b end,
  ["%"] = function(a, b) return a % b end,
  ["^"] = function(a, b) return a ^ b end,
}
local BITS = {
  ["&"] = function(a, b) return a & b end,
  ["|"] = function(a, b) return a | b end,
  ["~"] = function(a, b) return a ~ b end,
  ["<<"] = function(a, b) return a << (b & 7) end,
}
local COMPARISONS = {
  lt = function(a, b) return a < b end,
  le = function(a, b) return a <= b end,
  gt = function(a, b) return a > b end,
  ge = function(a, b) return a >= b end,
  eq = function(a, b) return a == b end,
  ne = function(a, b) return a ~= b end,
}

local function same_numbers(got, want, what)
  if type(want) ~= "table" then
    if want ~= want then assert(got ~= got, what) return end
    if got == want then return end
    return t.near(got, want, 1e-14 * math.max(1, math.abs(want)), what)
  end
  for i = 1, #want do same_numbers(got[i], want[i], what) end
  t.eq(#got, #want, what)
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  test("operators on float64 follow Lua", function()
    for name, f in pairs(OPERATORS) do
      for _, shape in ipairs(SHAPES) do
        local x, y = numbers(shape, "float64", device, -3), numbers(shape, "float64", device, 2)
        local a, b = x:totable(), y:totable()
        same_numbers(f(x, y):totable(), map(f, a, b), name)
        same_numbers(f(x, 3):totable(), map(f, a, 3.0), name)
        same_numbers(f(2.5, y):totable(), map(f, 2.5, b), name)
      end
    end
    t.same((-numbers({ 3 }, "float64", device)):totable(), { -1, -2, -3 })
  end)

  test("operators on int64 follow Lua", function()
    for _, name in ipairs({ "+", "-", "*", "//", "%" }) do
      local f = OPERATORS[name]
      local x, y = numbers({ 40 }, "int64", device, -20), numbers({ 40 }, "int64", device, 1)
      t.same(f(x, y):totable(), map(f, x:totable(), y:totable()), name)
      t.same(f(x, -3):totable(), map(f, x:totable(), -3), name)
      t.eq(f(x, y).dtype, "int64")
    end
    for name, f in pairs(BITS) do
      local x, y = numbers({ 40 }, "int64", device, -20), numbers({ 40 }, "int64", device, 1)
      t.same(f(x, y):totable(), map(f, x:totable(), y:totable()), name)
    end
    t.same((~gpu.array({ 0, 5 }, "int64", device)):totable(), { -1, -6 })
    t.same((gpu.array({ -8, 8 }, "int32", device) >> 1):totable(), { -4, 4 })
  end)

  test("comparisons", function()
    for name, f in pairs(COMPARISONS) do
      local x, y = gpu.array({ 1, 2, 3 }, device), gpu.array({ 3, 2, 1 }, device)
      t.same(x[name](x, y):totable(), map(f, { 1, 2, 3 }, { 3, 2, 1 }), name)
      t.same(gpu[name](2, y):totable(), map(f, 2, { 3, 2, 1 }), name)
      t.eq(x[name](x, 1).dtype, "bool")
    end
    local mask = gpu.array({ true, false, true }, device)
    t.same((mask & gpu.array({ true, true, false }, device)):totable(), { true, false, false })
    t.same((~mask):totable(), { false, true, false })
  end)

  -- Large ones are gone through in tiles on the host: whole ones, and what is left at the ends of both axes.
  test("operands that lie across the result", function()
    for i, dtype in ipairs(t.compiles(device) and { "bool", "int8", "uint16", "float32", "int64" } or t.dtypes) do
      local x = t.as(gpu.range(3 * 190 * 150, "float32", device) % 100 - 50, dtype):reshape(190, 3, 150)
      local y = gpu.range(190, "float64", device)
      local views = { x.T, x:permute(3, 2, 1)["2:, :, 5:"], x[{ {}, 2 }].T, x:permute(2, 3, 1)[{ {}, { -1, 1, -1 } }] }
      local v = views[i % #views + 1]
      local a = v:contiguous()
      t.eq((v + v):equal(a + a), true, dtype)
      local n = v.shape[v.ndim]
      t.eq((v * 2 - y[{ { 1, n } }] + a):equal(a * 2 - y[{ { 1, n } }] + a), true, dtype)
      local out = gpu.zeros(v.shape, "float64", device)
      t.eq(gpu.add(v, a:gt(0), { out = out }):equal(a + a:gt(0)), true, dtype)
      t.eq((v + 1):is_contiguous(), true)
    end
  end)

  -- Short ones are whole blocks of them, as long as lines of the cache have elements.
  test("short rows that lie across the result", function()
    local types = t.brief(t.dtypes, { "int8", "float16", "uint32", "float64" }) -- one of each size
    for i, dtype in ipairs(t.compiles(device) and { "int8", "float32" } or types) do
      for k, n in ipairs { 2, 3, 17, 60, 100, 127, 128, 130 } do
        local m = 40000 // n + (i + k) % 70
        local v = t.as(gpu.range(n * m, "float32", device) % 100 - 50, dtype):reshape(n, m).T
        local a, row, column = v:contiguous(), gpu.range(n, "float64", device), gpu.range(m, "float32", device):unsqueeze(2)
        local what = dtype .. " " .. n
        assert((v + v):equal(a + a) and (v + a):equal(a + a) and v:to("float64"):equal(a:to("float64")), what)
        assert((v * 2 - row + a):equal(a * 2 - row + a) and (v * column + v):equal(a * column + a), what)
        local out = gpu.zeros(m, n + 1, "float64", device)
        assert(gpu.add(v, a:gt(0), { out = out[{ {}, { 2, -1 } }] }):equal(a + a:gt(0)) and out[{ {}, 1 }]:eq(0):all(), what)
        local deep = gpu.stack({ v, v + v }):contiguous():permute(1, 3, 2):contiguous():permute(1, 3, 2)
        assert((deep + 1):equal(gpu.stack({ a + 1, a + a + 1 })), what)
        local far = gpu.stack({ v, v + v }):permute(3, 1, 2):contiguous():permute(3, 2, 1)
        assert((far + 1):equal(gpu.stack({ a + 1, a + a + 1 }, 2)), what)
      end
    end
  end)

  test("broadcasting", function()
    local row, column = gpu.array({ 1, 2, 3 }, device), gpu.array({ { 10 }, { 20 } }, device)
    t.same((row + column):totable(), { { 11, 12, 13 }, { 21, 22, 23 } })
    t.same((column * row):totable(), { { 10, 20, 30 }, { 20, 40, 60 } })
    t.eq(tostring((gpu.zeros(4, 1, 3, device) + gpu.zeros(2, 1, device)).shape), "(4, 2, 3)")
    t.eq((gpu.zeros(0, 3, device) + row).size, 0)
    t.raises({ "(3,)", "(2,)" }, function() return row + gpu.zeros(2, device) end)
  end)

  test("strided operands", function()
    local x = numbers({ 6, 8 }, "float64", device)
    local all = x:totable()
    for i, row in ipairs(all) do t.eq((x.T * 2)[{ 3, i }], 2 * row[3]) end
    t.same((x["::2, ::-1"] + 1)[2]:totable(), map(function(i) return all[3][i] + 1 end, { 8, 7, 6, 5, 4, 3, 2, 1 }))
    local y = gpu.zeros(6, 8, "float64", device)
    y["::2, 1"]:add_(x["::2, 2"])
    t.eq(y:sum(), all[1][2] + all[3][2] + all[5][2])
  end)

  test("dtypes", function()
    local function dtype_of(x) return x.dtype end
    local i32, i64 = gpu.ones(2, "int32", device), gpu.ones(2, "int64", device)
    local f32, f64 = gpu.ones(2, "float32", device), gpu.ones(2, "float64", device)
    local b = gpu.ones(2, "bool", device)
    t.eq(dtype_of(i32 * 2), "int32")
    t.eq(dtype_of(i32 * 2.5), "float32")
    t.eq(dtype_of(i64 * 2.5), "float64")
    t.eq(dtype_of(f32 * 2.5), "float32")
    t.eq(dtype_of(f32 * f64), "float64")
    t.eq(dtype_of(i32 + i64), "int64")
    t.eq(dtype_of(i32 / i32), "float32")
    t.eq(dtype_of(b + i32), "int32")
    t.eq(dtype_of(f32:gt(0)), "bool")
    t.eq(dtype_of(b & b), "bool")
  end)

  test("in place", function()
    local x = gpu.array({ { 1, 2 }, { 3, 4 } }, device)
    local view = x[1]
    t.eq(x:add_(1), x)
    t.same(view:totable(), { 2, 3 })
    x:mul_(gpu.array({ 10, 100 }, device))
    t.same(x:totable(), { { 20, 300 }, { 40, 500 } })
    x:sub_(x.T)
    t.same(x:totable(), { { 0, 260 }, { -260, 0 } })
    x:fill(9):sqrt_():neg_()
    t.eq(x:sum(), -12.0)
    local i = gpu.array({ 5, 6 }, "int32", device)
    t.same(i:mul_(2):totable(), { 10, 12 })
    t.raises({ "x:div_()", "float32", "int32" }, i.div_, i, 2)
    t.raises({ "x:add_()", "float32", "int32" }, i.add_, i, 0.5)
    t.raises("does not broadcast", i.add_, i, gpu.ones(#i + 1, "float32", device)) -- no dtype would help
    assert(not pcall(i.add_, i, gpu.zeros(2, 2, "int32", device)))
    t.raises("no method or field 'where_'", function() return i.where_ end)
  end)

  test("in place and into an operand, of more elements than are computed at a time", function()
    local x = gpu.linspace(0.1, 40, 515, "float64", device)
    for _, name in ipairs({ "erf", "erfc", "gelu", "gamma", "lgamma", "digamma", "exp", "log", "asinh" }) do
      for _, v in ipairs({ x, x - (name:find "log" and 0 or 20), x:flip() }) do
        local want = v[name](v)
        assert(v:clone()[name .. "_"](v:clone()):equal(want), name)
        assert(v:flip()[name](v:flip()):flip():equal(want), name)
      end
    end
    for _, name in ipairs({ "pow", "atan2", "logaddexp", "fmod" }) do
      local y = gpu.linspace(3, -3.1, 515, "float64", device)
      local f, want = gpu[name], gpu[name](x, y)
      local first, second = x:clone(), y:clone()
      assert(f(first, y, { out = first }):equal(want), name)
      assert(f(x, second, { out = second }):equal(want), name)
      assert(f(x:flip(), y:flip()):flip():equal(want), name)
    end
  end)

  test("out", function()
    for _, mode in ipairs({ "never", "always" }) do
      local before = gpu.lazy(mode)
      local x, z = gpu.array({ 1, 4, 9 }, device), gpu.zeros(3, device)
      t.eq(x:sqrt({ out = z }), z)
      t.same(z:totable(), { 1, 2, 3 })
      t.eq(gpu.add(x, z * 2, { out = z }), z)
      t.same(z:totable(), { 3, 8, 15 })
      local rows = gpu.zeros(2, 3, "float64", device)
      gpu.mul(x, 2, { out = rows }) -- broadcast and converted
      t.same(rows:totable(), { { 2, 8, 18 }, { 2, 8, 18 } })
      x:add(1, { out = rows["2, ::-1"] })
      t.same(rows[2]:totable(), { 10, 5, 2 })
      local later = x + 0
      x:mul(10, { out = x })
      t.same(later:totable(), { 1, 4, 9 })
      t.same(x:totable(), { 10, 40, 90 })
      t.raises({ "x:sqrt(..., {out = out})", "int32", "out:to(" }, x.sqrt, x, { out = gpu.zeros(3, "int32", device) })
      t.raises("there is no option 'into'; there is out", x.sqrt, x, { into = z })
      t.raises("out must be an array, not number", x.add, x, 1, { out = 3 })
      assert(not pcall(x.add, x, 1, { out = gpu.zeros(2, device) }))
      gpu.lazy(before)
    end
  end)

  test("isclose and nan_to_num", function()
    local inf, nan = math.huge, 0 / 0
    local x = gpu.array({ 1, 1, inf, inf, -inf, nan, 1, inf }, device)
    local y = gpu.array({ 1 + 5e-6, 1.1, inf, -inf, -inf, nan, inf, 1 }, device)
    t.same(x:isclose(y):totable(), { true, false, true, false, true, false, false, false })
    t.same(gpu.isclose(1, gpu.array({ 1, 2 }, device)):totable(), { true, false })
    t.same(x:isclose(inf):totable(), { false, false, true, true, false, false, false, true })
    t.same(gpu.array({ 100, 90 }, device):isclose(99, 0, 1):totable(), { true, false })
    t.same(gpu.array({ 100, 90 }, device):isclose(99, 0.011, 0):totable(), { true, false })
    t.same(gpu.array({ 0, 255 }, "uint8", device):isclose(gpu.array({ 1, 255 }, "uint8", device)):totable(), { false, true })
    local big = gpu.array({ 1 << 62 }, "int64", device)
    t.same(big:isclose(big - 1):totable(), { true })
    t.raises("isclose needs an array", gpu.isclose, 1, 1)
    local out, ints = gpu.zeros(8, "float64", device), gpu.zeros(8, "int32", device)
    assert(rawequal(x:isclose(y, { out = out }), out) and out:equal(x:isclose(y)))
    assert(x:isclose(y, 0, 100, { out = ints }):equal(x:isclose(y, 0, 100)))
    assert(gpu.nan_to_num(x, { out = out }):equal(x:nan_to_num()) and x:nan_to_num(1, 2, 3, { out = out }):equal(x:nan_to_num(1, 2, 3)))
    local f = x:nan_to_num()
    assert(f:nextafter(0, { out = out[{ { 8, 1, -1 } }] }):equal(f:nextafter(0)) and out:equal(f:nextafter(0):flip()))
    local z = x:clone()
    assert(rawequal(z:nan_to_num_(7), z) and z:equal(x:nan_to_num(7)) and z:nextafter_(z * 2):equal(x:nan_to_num(7):nextafter(x:nan_to_num(7) * 2)))
    t.raises("nextafter gives float", gpu.nextafter, x, 0, { out = ints })
    t.raises("there is no option 'into'; there are rtol, atol and out", x.isclose, x, y, { into = out })
    t.raises("out must be an array, not number", x.isclose, x, y, { out = 1 })
    t.raises("shape", x.spacing, x, { out = gpu.zeros(3, "float64", device) })
    for dtype, largest in pairs({ float16 = 65504, bfloat16 = 0x1.fep127, float32 = 0x1.fffffep127, float64 = 0x1.fffffffffffffp1023 }) do
      local z = gpu.array({ nan, inf, -inf, 2 }, dtype, device)
      t.same(z:nan_to_num():totable(), { 0, largest, -largest, 2 })
      t.eq(z:nan_to_num().dtype, dtype)
      t.same(z:nan_to_num(7, nil, -8):totable(), { 7, largest, -8, 2 })
    end
    local i = gpu.array({ 1, 2 }, "int32", device)
    t.same(gpu.nan_to_num(i):totable(), { 1, 2 })
  end)

  test("clip with one limit, rounding to decimals", function()
    local x = gpu.array({ -1.25, 2, 7.75 }, device)
    t.same(x:clip(nil, 3):totable(), { -1.25, 2, 3 })
    t.same(x:clip(0):totable(), { 0, 2, 7.75 })
    t.same(gpu.clip(x, 0, nil, { out = gpu.zeros(3, device) }):totable(), { 0, 2, 7.75 })
    t.same(x:clone():clip_(nil, 0):totable(), { -1.25, 0, 0 })
    t.raises("value expected", x.clip, x)
    assert(x:round(1):allclose(gpu.array({ -1.2, 2, 7.8 }, device)))
    t.same(gpu.array({ 1250, -1350, 7 }, "int16", device):round(-2):totable(), { 1200, -1400, 0 })
    t.same(gpu.array({ 1250 }, "int64", device):round(3):totable(), { 1250 })
    t.raises({ "behind the decimals", "out" }, x.round, x, 1, 3)
    t.raises("decimals", x.round, x, 1000)
  end)

  test("arguments that have no meaning", function()
    local x = gpu.ones(3, device)
    t.raises("one array", x.exp, x, 3)
    t.raises({ "two operands", "number" }, x.add, x, 1, 2)
    t.raises("two operands", x.add_, x, 1, 2)
    t.raises("three operands", gpu.where, x, 1, 2, 3)
    t.raises({ "keepdims", "table of options" }, x.sum, x, 1, { 3 })
    t.raises({ "behind keepdims", "out" }, x.sum, x, 1, true, 3)
    t.raises("behind the axis", x.cumsum, x, 1, { 3 })
    t.raises("nothing expected here, got number", x.matmul, x, x, 3)
    t.same((-x):totable(), { -1, -1, -1 })
  end)

  test("parts of floating numbers in strides", function()
    -- tests/numpy/test_ufuncs.py has them in generated code.
    for _, shape in ipairs(t.compiles(device) and {} or { { 0 }, {}, { 1 }, { 5, 7 }, { 4097 } }) do
      local n = 1
      for _, size in ipairs(shape) do n = n * size end
      local x = (gpu.range(1, n, "float64", device) * 0.37 - 20):reshape(shape)
      local stepped = #shape > 0 and x["..., ::2"] or x
      local spread = x:unsqueeze(1):expand(2, table.unpack(shape))
      for _, y in ipairs { x, x.T, x:flip(), stepped, spread } do
        local mantissa, exponent = y:frexp()
        assert(mantissa:ldexp(exponent):equal(y) and exponent.dtype == "int32")
        local fraction, whole = y:modf()
        assert((fraction + whole):equal(y) and whole:equal(y:trunc()))
        local quotient, rest = y:divmod(0.25)
        assert((quotient * 0.25 + rest):equal(y) and quotient:equal(y // 0.25))
        local left, count = y:remquo(2)
        assert((left + (y - left)):equal(y) and count:mod(2):equal(((y - left) / 2):round():mod(2)))
        assert((y + y:spacing()):equal(y:nextafter(gpu.where(y:lt(0), -math.huge, math.huge))))
        assert(y:nextafter(1e9):nextafter(-1e9):equal(y) and y:isnormal():all())
      end
    end
    for _, dtype in ipairs { "float32", "float64" } do -- without leading digits, infinite, NaN; in vectors and behind them
      local tiny = dtype == "float32" and 2 ^ -149 or 2 ^ -1074
      local x = gpu.array({ 0, -0.0, 1, -0.5, 3e5, tiny, -tiny * 5, tiny * 2 ^ 22, 1 / 0, -1 / 0, 0 / 0, 1e-38 }, dtype, device)
      x = x:tile(9)
      local mantissa, exponent = x:frexp()
      local plain = x:ne(0) & x:isfinite()
      assert(mantissa:ldexp(exponent)[plain]:equal(x[plain]) and exponent[~plain]:eq(0):all(), dtype)
      assert(mantissa:abs()[plain]:ge(0.5):all() and mantissa:abs()[plain]:lt(1):all(), dtype)
      local same = mantissa:eq(x) | (mantissa:isnan() & x:isnan())
      assert(same[~plain]:all() and mantissa:signbit():equal(x:signbit()), dtype)
      assert(mantissa.dtype == dtype and exponent.dtype == "int32")
    end
    for _, name in ipairs { "nextafter", "divmod", "remquo" } do
      t.raises({ name, "needs an array" }, gpu[name], 1, 2)
      t.raises("complex", gpu[name], gpu.zeros(2, "complex64", device), 1)
    end
    for _, name in ipairs { "frexp", "modf", "spacing", "isnormal" } do
      t.raises({ name, "complex" }, gpu[name], gpu.zeros(2, "complex64", device))
    end
  end)

  test("functions", function()
    local x = gpu.array({ 0.25, 1, 4 }, "float64", device)
    for _, name in ipairs({ "sqrt", "exp", "log", "sin", "cos", "tan", "floor", "ceil", "abs" }) do
      local f = math[name]
      same_numbers(x[name](x):totable(), map(function(v) return f(v) * 1.0 end, x:totable()), name)
      assert(gpu[name](x):equal(x[name](x)))
    end
    t.same(gpu.maximum(x, 1):totable(), { 1, 1, 4 })
    t.same(gpu.minimum(1, x):totable(), { 0.25, 1, 1 })
    t.same(x:clip(0.5, 2):totable(), { 0.5, 1, 2 })
    t.same(gpu.where(x:gt(0.5), x, -1):totable(), { -1, 1, 4 })
    t.raises("array or number expected", gpu.sqrt)
    t.raises("array or number expected", gpu.sqrt, "4")
    t.raises({ "sqrt needs an array", "math" }, gpu.sqrt, 4)
    t.raises("array or number expected", function() return x + nil end)
    t.raises("array or number expected", function() return {} + x end)
  end)

  -- What the loops take together is exact only up to some size; beyond it they go another way. Both are Lua's own.
  test("quotients and remainders of all sizes", function()
    gpu.seed(3)
    local n, draw = 600, gpu.random.integers
    for _, most in ipairs { 9, 1 << 31, 1 << 50, 1 << 62 } do
      local x, y = draw(-most, most, n, device), draw(-most, most, n, device)
      local small, factor = draw(-9, 9, n, device), draw(-99, 99, n, device)
      for _, pair in ipairs { { x, y }, { x, small }, { y * factor - 1, y }, { y * factor, y } } do
        local a, b = pair[1], pair[2]
        local quotients, remainders = a // b, a % b
        for i = 1, n do
          if b[i] ~= 0 then t.eq(quotients[i], a[i] // b[i]) end
          t.eq(remainders[i], b[i] == 0 and 0 or a[i] % b[i])
        end
      end
    end
    t.same((gpu.array({ -1 << 31, 7 }, "int32", device) // gpu.array({ -1, 0 }, "int32", device)):totable(),
      { -1 << 31, 0 })
    for _, dtype in ipairs { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32" } do
      local unsigned = dtype:find("uint") ~= nil
      local most = (1 << (8 * gpu.zeros(1, dtype).bytes - (unsigned and 0 or 1))) - 1
      local least = unsigned and 0 or -most - 1
      local values, a, b = { least, least + 1, 0, 1, 3, 7, most - 1, most, unsigned and 9 or -9 }, {}, {}
      for _, v in ipairs(values) do
        for _, w in ipairs(values) do a[#a + 1], b[#b + 1] = v, w end
      end
      local rests = gpu.array(a, dtype, device):fmod(gpu.array(b, dtype, device))
      t.eq(rests.dtype, dtype)
      for i = 1, #a do t.eq(rests[i], b[i] == 0 and 0 or math.fmod(a[i], b[i])) end
    end
    for _, scale in ipairs { 1, 1e5, 1e12, 1e300 } do
      local x = gpu.random.normal(0, scale, n, "float64", device)
      local y = gpu.random.normal(0, 1, n, "float64", device)
      local whole, floored = x:fmod(y), x % y
      for i = 1, n do
        t.eq(whole[i], math.fmod(x[i], y[i]))
        t.eq(floored[i], x[i] % y[i])
      end
    end
    local odd = gpu.array({ 5, -5, 0, 1 / 0, 0 / 0, 1 }, device)
    odd = odd:fmod(gpu.array({ 1 / 0, 1 / 0, 2, 2, 1, 0 }, device))
    t.same(odd["1:3"]:totable(), { 5, -5, 0 })
    assert(odd["4:6"]:isnan():all())
    t.eq(1 / gpu.array({ -4 }, "float32", device):fmod(2)[1], -1 / 0)
  end)

  -- From the remainders of C's fmod, which are exact, by the divisor and by its double, which tells whether the quotient
  -- is odd.
  test("remainders beside the nearest multiple", function()
    local function nearest(a, b)
      local rest, odd = math.fmod(a, b), math.abs(math.fmod(a, 2 * b)) >= math.abs(b)
      local twice, size = 2 * math.abs(rest), math.abs(b)
      if twice < size or (twice == size and not odd) then return rest end
      return a < 0 and rest + size or rest - size
    end
    local function check(x, y)
      local rests = x:remainder(y)
      for i = 1, #x do
        local want, got = nearest(x[i], y[i]), rests[i]
        if got ~= want or 1 / got ~= 1 / want then
          error(("the remainder of %a by %a in %s: %a, not %a"):format(x[i], y[i], x.dtype, got, want))
        end
      end
    end
    gpu.seed(5)
    local n = 600
    for _, dtype in ipairs { "float32", "float64" } do
      for _, scale in ipairs { 1, 1e3, 1e12 } do
        local x = gpu.random.normal(0, scale, n, dtype, device)
        check(x, gpu.random.normal(0, 1, n, dtype, device))
      end
      local y = gpu.random.integers(1, 99, n, device):to(dtype) * gpu.where(gpu.rand(n, device):gt(0.5), 1, -1):to(dtype)
      local halves = (gpu.random.integers(-999, 999, n, device):to(dtype) + 0.5) * y
      for _, x in ipairs { halves, halves:nextafter(1 / 0), halves:nextafter(-1 / 0), (halves * 2):round() } do
        check(x, y)
        check(x / 3, y / 3)
      end
    end
    t.eq(1 / gpu.array({ -4 }, "float32", device):remainder(2)[1], -1 / 0)
    t.eq(gpu.array({ 5 }, "float32", device):remainder(1 / 0)[1], 5)
    assert(gpu.array({ 1 / 0, 1 }, "float64", device):remainder(gpu.array({ 2, 0 }, "float64", device)):isnan():all())
  end)

  test("quotients and remainders of uint64", function()
    local function divide(a, b) -- of unsigned numbers
      if b == 0 then return 0 end
      if b < 0 then return math.ult(a, b) and 0 or 1 end
      if a >= 0 then return a // b end
      local q = ((a >> 1) // b) << 1
      return math.ult(a - q * b, b) and q or q + 1
    end
    local values = { 0, 1, 2, 3, 7, 1000, 999999937, (1 << 49) + 1, (1 << 50) - 1, 1 << 50, (1 << 50) + 1, 1 << 62,
      math.maxinteger, math.mininteger, -2, -1 }
    for most = 8, #values do -- of small numbers alone, and with some that are not
      local a, b, quotients, rests = {}, {}, {}, {}
      for i = 1, most do
        for j = most, 1, -1 do
          local q = divide(values[i], values[j])
          a[#a + 1], b[#b + 1] = values[i], values[j]
          quotients[#a], rests[#a] = q, values[j] == 0 and 0 or values[i] - q * values[j]
        end
      end
      local x, y = gpu.array(a, "uint64", device):tile(50), gpu.array(b, "uint64", device):tile(50)
      assert((x // y):equal(gpu.array(quotients, "uint64", device):tile(50)), most)
      assert((x % y):equal(gpu.array(rests, "uint64", device):tile(50)), most)
    end
  end)

  test("bits of all numbers of 16 bits, and of others", function()
    local function count(v)
      local bits = 0
      while v ~= 0 do v, bits = v & (v - 1), bits + 1 end
      return bits
    end
    local x = gpu.range(0, 65535, "int32", device)
    local bits = gpu.array(t.list(65536, count), "int32", device)
    assert(x:to("uint16"):bitwise_count():equal(bits:to("uint16")))
    assert((x - 32768):to("int16"):bitwise_count():equal(gpu.array(
      t.list(65536, function(i) return count(math.abs(i - 32768)) end), "int16", device)))
    local high = x * 65536 + x:flip()
    assert(high:to("uint32"):bitwise_count():equal((bits + bits:flip()):to("uint32")))
    local wide = x:to("int64") * ((1 << 48) + (1 << 32) + 1)
    assert(wide:to("uint64"):bitwise_count():equal(gpu.array(
      t.list(65536, function(i) return count(i * ((1 << 48) + (1 << 32) + 1)) end), "uint64", device)))
    t.same(gpu.array({ math.mininteger, -1, math.maxinteger }, "int64", device):bitwise_count():totable(), { 1, 1, 63 })
    t.same(gpu.array({ -1 << 31, -1, (1 << 31) - 1 }, "int32", device):bitwise_count():totable(), { 1, 1, 31 })
  end)

  test("what all integers are", function()
    for _, dtype in ipairs { "bool", "int8", "uint16", "int32", "uint64" } do
      local x = gpu.array(t.list(600, function(i) return i % 2 == 0 end), "bool", device):to(dtype)
      for _, v in ipairs { x, x["::3"], gpu.expand(x, 400, 600), gpu.expand(x:reshape(600, 1), 600, 500), x:reshape(20, 30).T } do
        for _, name in ipairs { "isnan", "isinf", "isposinf", "isneginf" } do
          local result = v[name](v)
          t.eq(result.dtype, "bool")
          t.eq(tostring(result.shape), tostring(v.shape))
          assert(not result:any(), name)
        end
        assert(v:isfinite():all() and not v:isunordered(v):any())
        assert((v | v):isfinite():all() and v:isfinite():sum() == v.size, dtype)
        assert(gpu.where(v:isnan(), 1, 2):eq(2):all())
      end
    end
  end)

  test("powers of common exponents, as numbers and among others", function()
    local inf = 1 / 0
    local bases = { 0, -0.0, 1, 2, 3, 0.1, 7.3, 1e-30, 1e30, inf, -inf, 0 / 0, -2, -0.7 }
    for _, dtype in ipairs { "float32", "float64" } do
      local x = gpu.array(t.list(800, function(i) return bases[i % #bases + 1] end), dtype, device)
      local same = function(a, b) return (a:eq(b) | (a:isnan() & b:isnan())):all() and (1 / a):isneginf():equal((1 / b):isneginf()) end
      assert(same(x ^ 2, x * x) and same(x ^ -1, 1 / x))
      local root = gpu.where(x:isinf(), x:abs(), x:sqrt() + 0)
      assert(same(x ^ 0.5, root), dtype)
      local which = gpu.range(800, dtype, device) % 4
      local exponents = gpu.where(which:eq(0), 2, gpu.where(which:eq(1), -1, gpu.where(which:eq(2), 0.5, 3)))
      local want = gpu.where(which:eq(0), x * x, gpu.where(which:eq(1), 1 / x, gpu.where(which:eq(2), root, x ^ 3)))
      assert(same(x ^ exponents:to(dtype), want), dtype)
    end
  end)

  test("mixed devices", function()
    local other = device == "cpu" and t.kernel_device() or "cpu"
    local x, y = gpu.zeros(2, device), gpu.zeros(2, other)
    t.raises({ device, other, ":to(" }, function() return x + y end)
    t.raises({ device, other, ":to(" }, function() x[1] = y[{ { 1 } }] end)
    t.raises({ device, other, ":to(" }, function() return x[y:gt(0)] end)
  end)
end

t.test("Lua's own comparisons", function()
  local x = gpu.zeros(2)
  t.raises("x:lt(y)", function() return x < x end)
  t.raises("x:le(y)", function() return x >= 1 end)
  assert(x == x and x ~= gpu.zeros(2))
end)

t.every("rows with a column, a row or a number", function(device)
  local host = device == "cpu" -- others have one way for all
  local add, where = function(a, b) return a + b end, function(a, b) return gpu.where(a:gt(b), a, 3) end
  gpu.seed(5)
  for _, dtype in ipairs(host and { "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "bool" } or { "float32" }) do
    for _, shape in ipairs(host and { { 5, 8 }, { 100, 100 }, { 3, 7, 100 }, { 700, 130 }, { 2, 3, 2049 }, { 4, 7 } } or { { 3, 9 } }) do
      local n, rows, columns = #shape, shape[#shape - 1], shape[#shape]
      local function made(...) return gpu.evaluate((gpu.rand({ ... }, "float32", device) * 100):to(dtype)) end
      local every = {}
      for i, size in ipairs(shape) do every[i] = size end
      local full, some = made(table.unpack(every)), gpu.evaluate(made(rows, 1))
      every[n - 1] = 2 * rows
      local apart = made(table.unpack(every))[n == 2 and { { 1, -1, 2 } } or { {}, { 1, -1, 2 } }]
      local operands = { some, made(columns), full, apart, made(1), made(columns):flip(), some:flip() }
      local fs = { add, dtype ~= "complex64" and where or nil }
      for _, f in ipairs(fs) do
        for i, a in ipairs(operands) do
          for k, b in ipairs(operands) do
            local want = f(a:broadcast_to(shape):clone(), b:broadcast_to(shape):clone())
            local got = f(a, b)
            gpu.evaluate(got)
            assert(got:broadcast_to(shape):equal(want), ("%s %s %d %d"):format(dtype, table.concat(shape, "x"), i, k))
          end
        end
      end
      if dtype ~= "bool" then
        local wide = gpu.zeros(shape, dtype, device):transpose(n - 1, n):clone():transpose(n - 1, n)
        for _, out in ipairs({ full:clone(), wide }) do
          gpu.mul(some, operands[2], { out = out })
          assert(out:equal(some:broadcast_to(shape):clone() * operands[2]), dtype)
        end
        local x = full:clone()
        x:sub_(x[n == 2 and { 1 } or { 1, 1 }]) -- the row is what it was, for all
        assert(x:equal(full - full[n == 2 and { 1 } or { 1, 1 }]:clone()), dtype)
      end
    end
  end
end)

t.test("logical operations ask of each number whether it is zero, and not for bits in common", function()
  local first, second = { 0, 1, 2, 4, 0, 64, 3 }, { 0, 2, 1, 0, 8, 63, 3 }
  local function both(f)
    return gpu.array(map(function(a, b) return f(a ~= 0, b ~= 0) end, first, second))
  end
  for i, one in ipairs { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32" } do
    local others = { one, "int32", "bool" }
    for _, other in ipairs(t.compiles(gpu.device().name) and { others[i % 3 + 1] } or others) do
      local x, y, what = gpu.array(first):to(one), gpu.array(second):to(other), one .. " and " .. other
      assert(x:logical_and(y):equal(both(function(a, b) return a and b end)), what)
      assert(x:logical_or(y):equal(both(function(a, b) return a or b end)), what)
      assert(x:logical_xor(y):equal(both(function(a, b) return a ~= b end)), what)
      assert(x:logical_not():equal(both(function(a) return not a end)), one)
      assert(x:logical_and(y).dtype == "bool" and x:logical_and(2):equal(both(function(a) return a end)), what)
    end
  end
end)

t.done()
