-- Scans, against one number after the other in Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes
local ROUNDING = { float16 = 1e-3, bfloat16 = 8e-3, float32 = 1.2e-7, float64 = 1e-12 }
local LEAST = { float16 = 6.2e-5, bfloat16 = 1.2e-38, float32 = 1.2e-38, float64 = 2.3e-308 } -- smaller ones have fewer bits

local COMBINE = {
  cumsum = function(a, b) return a + b end,
  cumprod = function(a, b) return a * b end,
  cummax = function(a, b) return (a > b or a ~= a) and a or b end,
  cummin = function(a, b) return (a < b or a ~= a) and a or b end,
}

local function number(e) return e == true and 1 or e == false and 0 or e end

local function close(got, want, dtype, what)
  local tolerance, least = ROUNDING[dtype] or 0, LEAST[dtype] or 0
  t.eq(#got, #want, what .. ": the number of elements")
  for i, w in ipairs(want) do
    local g = number(got[i])
    if not (g == w or g ~= g and w ~= w or math.abs(g - w) <= tolerance * math.max(least, math.abs(w))) then
      error(("%s: [%d] is %s, expected %s"):format(what, i, g, w), 2)
    end
  end
end

-- One list, as a scan gives it.
local function scanned(name, v)
  local out = {}
  for i, e in ipairs(v) do out[i] = i == 1 and number(e) or COMBINE[name](out[i - 1], number(e)) end
  return out
end

local function result_dtype(name, dtype)
  if name == "cummax" or name == "cummin" or dtype:find("float") then return dtype end
  return dtype == "uint64" and "uint64" or "int64"
end

-- Every line of x along the axis.
local function check(name, x, axis, what)
  local got = x[name](x, axis)
  t.eq(got.dtype, result_dtype(name, x.dtype), what)
  t.eq(tostring(got.shape), tostring(x.shape), what)
  local n = x.shape[axis]
  local from = x:clone():transpose(axis, -1):clone():reshape(-1, n):totable()
  local to = got:transpose(axis, -1):clone():reshape(-1, n):totable()
  for i, v in ipairs(from) do
    close(to[i], scanned(name, v), got.dtype, ("%s of %s along %d, line %d"):format(name, what, axis, i))
  end
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  local function make(dtype, ...)
    return t.as(gpu.randn({ ... }, "float32", device) * 1.5 + 0.25, dtype)
  end

  test("of every dtype", function()
    gpu.seed(21)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 7, 33)
      for name in pairs(COMBINE) do
        check(name, x, 1, dtype)
        check(name, x, 2, dtype)
      end
    end
  end)

  test("of odd shapes", function()
    gpu.seed(22)
    for _, n in ipairs({ 1, 5, 7, 11, 13, 4097 }) do
      local x = make("float32", n)
      for name in pairs(COMBINE) do check(name, x, 1, "float32, " .. n) end
      check("cumsum", make("int32", n, 3), 1, "int32, " .. n)
      check("cummax", make("int16", 2, n), 2, "int16, " .. n)
      check("cumsum", make("float64", 2, n, 1, 3), 2, "float64, " .. n)
    end
  end)

  test("of views", function()
    gpu.seed(23)
    local x = make("float32", 11, 26)
    check("cumsum", x.T, 1, "a transposed array")
    check("cumsum", x["::3, ::-2"], 2, "a reversed array")
    check("cummin", x["::3, ::-2"], 1, "a reversed array")
    check("cumprod", x[{ {}, { 4, 4 } }]:broadcast_to(11, 9), 2, "a broadcast array")
  end)

  test("of long rows", function()
    gpu.seed(24)
    for name in pairs(COMBINE) do
      local x = gpu.rand({ 2, 100003 }, "float64", device) / 1e3 + 1
      local got = x[name](x, 2)
      for i = 1, 2 do close(got[i]:totable(), scanned(name, x[i]:totable()), "float64", name) end
    end
    local ones = gpu.ones(300001, "int32", device)
    assert(ones:cumsum():equal(gpu.range(1, 300001, "int64", device)), "of ones")
    local far = gpu.ones(70001, 2, "float32", device)
    assert(far:cumsum(1)[{ {}, 2 }]:equal(gpu.range(1, 70001, "float32", device)), "two side by side")
    local wide = gpu.ones(300, 700, "float32", device):cumsum(1)
    assert(wide:equal(gpu.range(1, 300, "float32", device):reshape(300, 1):broadcast_to(300, 700)), "many side by side")
  end)

  test("without an axis", function()
    local x = gpu.array({ { 1, 2 }, { 3, 4 } }, device)
    t.same(x:cumsum():totable(), { 1, 3, 6, 10 })
    t.same(x.T:cumsum():totable(), { 1, 4, 6, 10 })
    t.same(gpu.cumprod(x):totable(), { 1, 2, 6, 24 })
    t.same(gpu.cummax(x, -1):totable(), { { 1, 2 }, { 3, 4 } })
  end)

  test("what is not finite", function()
    local nan, inf = 0 / 0, math.huge
    local x = gpu.array({ 1, 3, nan, 2, inf }, "float32", device)
    t.same(x:cummax():totable(), { 1, 3, nan, nan, nan })
    t.same(x:cummin():totable(), { 1, 1, nan, nan, nan })
    t.same(x:cumsum():totable(), { 1, 4, nan, nan, nan })
    for _, at in ipairs { 1, 8, 9, 2049, 40000, 70000 } do
      local long = gpu.rand(70000, at % 2 == 0 and "float32" or "float64", device)
      long[at] = nan
      local most, least = long:cummax(), long:cummin()
      t.eq(most:isnan():sum(), 70001 - at)
      t.eq(least:isnan():sum(), 70001 - at)
      assert(at == 1 or most[at - 1] == long[{ { 1, at - 1 } }]:max() and least[at - 1] == long[{ { 1, at - 1 } }]:min())
    end
    t.same(gpu.array({ -inf, inf, 1 }, device):cumsum():totable(), { -inf, nan, nan })
    t.eq(1 / gpu.array({ -0.0, 1 }, "float64", device):cumsum()[1], -inf)
  end)

  test("integers wrap", function()
    t.same(gpu.array({ math.maxinteger, 1 }, "int64", device):cumsum():totable(), { math.maxinteger, math.mininteger })
    t.same(gpu.array({ 127, 1 }, "int8", device):cumsum():totable(), { 127, 128 })
  end)

  test("float32 sums are rounded once", function()
    local n = 1000003
    local got = gpu.full(n, 0.1, "float32", device):cumsum()
    local tenth = gpu.full(1, 0.1, "float32", device)[1]
    for _, i in ipairs({ 1, 2, 1000, 65537, n }) do t.near(got[i], i * tenth, i * tenth * 6e-8) end
  end)

  test("of nothing, and of one", function()
    t.eq(gpu.zeros(0, device):cumsum().size, 0)
    t.eq(tostring(gpu.zeros(3, 0, device):cummax(1).shape), "(3, 0)")
    t.eq(tostring(gpu.zeros(3, 0, device):cummax(2).shape), "(3, 0)")
    local one = gpu.array({ 1, 2, 7 }, "int32", device):max(1, true):reshape({})
    t.same(one:cumsum():totable(), { 7 })
    t.raises("no axis 2", one.cumsum, gpu.zeros(3, device), 2)
    t.raises("array expected", gpu.cumsum, 3)
  end)
end

t.done()
