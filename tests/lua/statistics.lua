-- Statistics along axes, against one number after the other in Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes
local TOLERANCE = { float16 = 2e-3, bfloat16 = 2e-2, float32 = 3e-6, float64 = 1e-12 }

local function result_dtype(dtype)
  if dtype:find("float") then return dtype end
  return dtype:find("64") and "float64" or "float32"
end

local function sum(v, f)
  local s = 0.0
  for _, x in ipairs(v) do s = s + f(x) end
  return s
end

local function variance(v, ddof)
  local mean = sum(v, function(x) return x end) / #v
  return sum(v, function(x) return (x - mean) ^ 2 end) / (#v - ddof)
end

local function norm(v, p)
  if p == math.huge then
    local best = 0
    for _, x in ipairs(v) do best = math.max(best, math.abs(x)) end
    return best
  end
  return sum(v, function(x) return math.abs(x) ^ p end) ^ (1 / p)
end

local REFERENCE = {
  { "var", function(x, axis, keep) return x:var(axis, keep) end, function(v) return variance(v, 0) end },
  { "var, ddof 1", function(x, axis, keep) return x:var { axis = axis, keepdims = keep, ddof = 1 } end,
    function(v) return variance(v, 1) end },
  { "std", function(x, axis, keep) return gpu.std(x, axis, keep, 0.5) end, function(v) return variance(v, 0.5) ^ 0.5 end },
  { "norm", function(x, axis, keep) return x:norm(nil, axis, keep) end, function(v) return norm(v, 2) end },
  { "norm 1", function(x, axis, keep) return x:norm { ord = 1, axis = axis, keepdims = keep } end,
    function(v) return norm(v, 1) end },
  { "norm 3", function(x, axis, keep) return gpu.norm(x, 3, axis, keep) end, function(v) return norm(v, 3) end },
  { "norm inf", function(x, axis, keep) return x:norm(math.huge, axis, keep) end,
    function(v) return norm(v, math.huge) end },
  { "norm 0", function(x, axis, keep) return x:norm(0, axis, keep) end,
    function(v) return sum(v, function(x) return x ~= 0 and 1 or 0 end) end },
  { "logsumexp", function(x, axis, keep) return x:logsumexp(axis, keep) end,
    function(v) return math.log(sum(v, math.exp)) end },
}

-- The elements in row-major order, as numbers.
local function list_of(x)
  local v = x:clone():flatten():totable()
  for i, e in ipairs(v) do v[i] = e == true and 1 or e == false and 0 or e end
  return v
end

-- The elements that become result number i (in row-major order, from 1) when `axes` (a set) are reduced.
local function rows_of(x, axes)
  local rows, list, shape = {}, list_of(x), x.shape
  for i = 0, #list - 1 do
    local rest, row, stride = i, 0, 1
    for axis = #shape, 1, -1 do
      local c = rest % shape[axis]
      rest = rest // shape[axis]
      if not axes[axis] then
        row = row + c * stride
        stride = stride * shape[axis]
      end
    end
    rows[row + 1] = rows[row + 1] or {}
    table.insert(rows[row + 1], list[i + 1])
  end
  return rows
end

local function check(x, axes, what)
  local set = {}
  for _, axis in ipairs(axes) do set[axis] = true end
  local rows = rows_of(x, set)
  for _, case in ipairs(REFERENCE) do
    local got = case[2](x, axes, true)
    t.eq(got.dtype, result_dtype(x.dtype), case[1] .. " of " .. what)
    for axis = 1, #x.shape do t.eq(got.shape[axis], set[axis] and 1 or x.shape[axis]) end
    local want = {}
    for i, v in ipairs(rows) do want[i] = case[3](v) end
    t.close(got:to("float64"), want, TOLERANCE[got.dtype], case[1] .. " of " .. what)
    t.eq(case[2](x, axes, false).ndim, #x.shape - #axes)
  end
  local counts = {}
  for i, v in ipairs(rows) do counts[i] = math.tointeger(sum(v, function(e) return e ~= 0 and 1 or 0 end)) end
  t.same(x:count_nonzero(axes, true):flatten():totable(), counts, "count_nonzero of " .. what)
  if not x.dtype:find("float") and x.dtype ~= "bool" then
    local sums, greatest = {}, {}
    for i, v in ipairs(rows) do
      sums[i] = math.tointeger(sum(v, function(e) return e end))
      greatest[i] = math.max(table.unpack(v))
    end
    t.same(x:sum(axes, true):flatten():totable(), sums, "sum of " .. what)
    t.same(x:max(axes, true):flatten():totable(), greatest, "max of " .. what)
  end
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  local function make(dtype, ...)
    return t.as(gpu.randn({ ... }, "float32", device) * 2.5 + 0.5, dtype)
  end

  test("of every dtype", function()
    gpu.seed(11)
    local types = t.compiles(device) and { "bool", "uint8", "int64", "bfloat16", "float64" } or DTYPES
    for _, dtype in ipairs(types) do check(make(dtype, 5, 13), { 2 }, dtype) end
  end)

  -- The host has a shorter way for small ones that keep no axis of size 1: to the same bits.
  test("of small matrices", function()
    gpu.seed(13)
    for _, dtype in ipairs({ "float32", "float64", "int32", "int64", "bool" }) do
      for _, shape in ipairs({ { 10, 100 }, { 16, 64 }, { 17, 64 }, { 3, 7, 20 }, { 1, 100 }, { 100, 1 }, { 63, 31 } }) do
        local x = make(dtype, table.unpack(shape))
        for _, name in ipairs({ "var", "std", "norm" }) do
          local f = name == "norm" and function(...) return x:norm(2, ...) end or function(...) return x[name](x, ...) end
          for axis = 1, #shape do
            local short, long = f(axis), f(axis, true)
            assert(short.dtype == long.dtype and short:equal(long:reshape(short.shape)), name .. " " .. dtype)
          end
        end
      end
    end
  end)

  test("along sets of axes", function()
    gpu.seed(12)
    local x = make("float64", 3, 5, 2, 7)
    for bits = 1, 15 do
      local axes = {}
      for axis = 1, 4 do
        if bits >> (axis - 1) & 1 == 1 then axes[#axes + 1] = axis end
      end
      check(x, axes, "axes " .. table.concat(axes, ", "))
    end
    check(make("int16", 70, 2, 70), { 1, 3 }, "far axes")
  end)

  test("of views", function()
    gpu.seed(13)
    local x = make("float32", 11, 13)
    check(x.T, { 1 }, "a transposed array")
    check(x["::2, ::-1"], { 2 }, "a reversed array")
    check(x[{ {}, { 4, 4 } }]:broadcast_to(11, 7), { 1, 2 }, "a broadcast array")
  end)

  test("of long rows", function()
    gpu.seed(14)
    local x = gpu.rand({ 3, 70001 }, "float64", device)
    local sums = x:sum(2):totable()
    for i = 1, 3 do
      local v = x[i]:totable()
      t.near(sums[i], sum(v, function(e) return e end), 1e-8)
      t.near(x:var(2)[i], variance(v, 0), 1e-9)
      t.near(x:logsumexp(2)[i], math.log(sum(v, math.exp)), 1e-9)
    end
    -- Far from 0 the squares of the elements alone would have lost the variance.
    t.near((x:to("float32") + 1000):var(), x:var(), 1e-3)
  end)

  test("numbers, and what is not finite", function()
    local x = gpu.array({ 3, -4 }, device)
    t.eq(math.type(x:var()), "float")
    t.eq(x:count_nonzero(), 2)
    t.eq(x:norm(-math.huge), 3.0)
    t.eq(gpu.array({ 5 }, device):var() , 0.0)
    local lonely = gpu.array({ 5 }, device):var { ddof = 1 }
    assert(lonely ~= lonely, "0 / 0")
    t.eq(gpu.array({ 5, 7 }, device):var { ddof = 3 }, math.huge)
    local nan, inf = 0 / 0, math.huge
    for _, f in ipairs({ "var", "std", "norm", "logsumexp" }) do
      local v = gpu.array({ 1, nan }, device)
      assert(v[f](v) ~= v[f](v), f .. " of NaN")
    end
    t.eq(gpu.array({ 1, nan, 0 }, device):count_nonzero(), 2)
    t.eq(gpu.array({ 1, inf }, device):logsumexp(), inf)
    t.eq(gpu.array({ -inf, -inf }, device):logsumexp(), -inf)
    t.eq(gpu.array({ -inf, 3 }, device):norm(), inf)
  end)

  test("all elements of few, to the bits that the same statistic has as an expression", function()
    for _, dtype in ipairs { "float32", "float64", "bool" } do
      for _, n in ipairs { 1, 7, 1000, 1025, 2048 } do
        local x = gpu.linspace(-3, 5, n, device):to(dtype)
        for _, name in ipairs(dtype == "bool" and { "count_nonzero" } or { "var", "std", "norm", "count_nonzero" }) do
          t.eq(x[name](x), x[name](x, { keepdims = true })[1])
        end
      end
    end
  end)

  test("all elements and rows of few, to the bits that they have as elements that lie apart", function()
    local function same(a, b, what)
      if type(a) == "number" then
        assert(a == b or (a ~= a and b ~= b), ("%s: %.17g, and apart %.17g"):format(what, a, b))
        return
      end
      t.eq(a.dtype, b.dtype)
      local alike = a:eq(b) | (a:isnan() & b:isnan())
      assert(alike:all(), what)
    end
    local code = t.compiles(device) -- it has one way for both
    for _, dtype in ipairs(code and { "float32", "int64" } or { "float32", "float64", "int32", "int64" }) do
      for _, n in ipairs(code and { 130 } or { 1, 10, 130, 1000 }) do
        local wide = gpu.zeros(n, 2, dtype, device)
        local x = (gpu.linspace(-30, 50, n, "float64", device) * 1.37):to(dtype)
        if dtype:find("float") and n == 130 then x[7], x[n] = math.huge, -math.huge end
        wide[{ {}, 1 }] = x
        local apart, rows = wide[{ {}, 1 }], n > 1 and { 10, n // 10 } or { 1, 1 }
        local m, mapart = x:reshape(rows), wide:reshape(rows[1], rows[2], 2)[{ {}, {}, 1 }]
        for _, name in ipairs { "sum", "mean", "min", "max", "prod", "var", "std", "logsumexp" } do
          local f = x[name]
          same(f(x), f(apart), ("%s of %d %s"):format(name, n, dtype))
          same(f(x, 1, true), f(apart, 1, true), ("%s with keepdims of %d %s"):format(name, n, dtype))
          for axis = 1, 2 do
            same(f(m, axis), f(mapart, axis), ("%s along %d of %d %s"):format(name, axis, n, dtype))
          end
        end
        for _, ord in ipairs { 0, 1, 2, 3, -1, math.huge, -math.huge } do
          same(x:norm(ord), apart:norm(ord), ("norm %s of %d %s"):format(ord, n, dtype))
          same(m:norm(ord, 2), mapart:norm(ord, 2), ("norm %s along 2 of %d %s"):format(ord, n, dtype))
        end
      end
    end
  end)

  test("of nothing", function()
    local x = gpu.zeros(0, device)
    t.eq(x:norm(), 0.0)
    t.eq(x:count_nonzero(), 0)
    t.eq(x:logsumexp(), -math.huge)
    t.raises("var of no elements", x.var, x)
    t.raises("std of no elements", x.std, x)
    t.same(gpu.zeros(2, 0, device):norm(nil, 2):totable(), { 0, 0 })
    t.same(gpu.zeros(2, 0, device):logsumexp(2, true):totable(), { { -math.huge }, { -math.huge } })
    t.eq(gpu.zeros(2, 0, device):var(1).size, 0)
  end)

  test("arguments", function()
    local x = gpu.ones(2, 3, device)
    t.raises("no axis 3", x.var, x, 3)
    t.raises({ "no option 'dof'", "axis, keepdims, ddof, where, dtype and out" }, x.var, x, { dof = 1 })
    t.raises("ddof is string", x.var, x, { ddof = "one" })
    t.raises("no option 'order'", x.norm, x, { order = 1 })
    t.raises("NaN", x.norm, x, 0 / 0)
    t.raises("number expected", x.norm, x, "two")
    t.raises("named twice", x.std, x, { 1, 1 })
    t.raises("array expected", gpu.var, 3)
  end)
end

t.done()
