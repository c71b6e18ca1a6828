-- Arguments by name: what the signature of a function names, and options of reductions.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local x = gpu.array({ { 4, 1, 3 }, { 2, 6, 5 } }, "float64")
local s = gpu.array({ 1, 2, 2, 5 }, "float64")

-- The call by name gives what the call by place does.
local function same(named, placed)
  assert(named:equal(placed) and named.dtype == placed.dtype, tostring(named) .. " is not " .. tostring(placed))
end

t.test("names of the signature stand for places", function()
  same(s:searchsorted(s, { side = "right" }), s:searchsorted(s, "right"))
  same(s:searchsorted { values = s, side = "right" }, s:searchsorted(s, "right"))
  same(gpu.searchsorted(s, s, { side = "left" }), s:searchsorted(s))
  t.eq(gpu.searchsorted(s, 2, { side = "right" }), 4)
  same(x:flip { axis = 1 }, x:flip(1))
  same(x:flip { axis = { 1, -1 } }, x:flip(1, 2))
  same(x:triu { k = 1 }, x:triu(1))
  same(x:roll(1, { axis = 2 }), x:roll(1, 2))
  same(x:sort { descending = true }, x:sort(nil, true))
  same(x:std { ddof = 1, axis = 2 }, x:std(2, false, 1))
  same(x:nan_to_num { nan = 1 }, x:nan_to_num(1))
  same((x / 0 - x):nan_to_num { infinity = 7 }, gpu.full({ 2, 3 }, 7, "float64"))
  same(x:isclose(x + 0.5, { atol = 1 }), x:eq(x))
  same((x:topk(2, { axis = 1 })), (x:topk(2, 1)))
  same((s:topk(2, { largest = false })), (s:topk(2, 1, true)))
  same((s:topk { k = 2, largest = true }), (s:topk(2)))
  same(gpu.eye(3, { offset = 1 }), gpu.eye(3, 3, 1))
  same(gpu.eye(2, { columns = 3, dtype = "int8" }), gpu.eye(2, 3, "int8"))
  same(gpu.linspace(0, 1, { count = 3, endpoint = false, dtype = "float64" }), gpu.linspace(0, 1, 3, false, "float64"))
  local a, b = gpu.meshgrid(s, s, { indexing = "ij" })
  local c, d = gpu.meshgrid(s, s, "ij")
  same(a, c)
  same(b, d)
  local out = gpu.zeros(2, 3, "float64")
  assert(rawequal(x:roll(1, { axis = 2, out = out }), out))
  same(out, x:roll(1, 2))
end)

t.test("limits and decimals", function()
  same(x:clip { min = 2 }, x:maximum(2))
  same(x:clip { max = 3 }, x:minimum(3))
  same(x:clip { min = 2, max = 3 }, x:clip(2, 3))
  same(x:clip(2, { max = 3 }), x:clip(2, 3))
  same(gpu.clip(x, { min = x:minimum(2), max = s[2] }), x:minimum(2))
  same((x / 3):round { decimals = 2 }, (x / 3):round(2))
  local out = gpu.zeros(2, 3, "float64")
  assert(rawequal(x:clip({ max = 3, out = out }), out))
  same(out, x:minimum(3))
  assert(rawequal((x / 3):round({ decimals = 1, out = out }), out))
  same(out, (x / 3):round(1))
end)

t.test("names that there are not, and values that are there twice", function()
  t.raises("clip: there is no option 'low'; there are min, max and out", x.clip, x, { low = 1 })
  t.raises("clip: there is no option 'low'; there are min, max and out", x.clip, x, { min = 0, low = 1 })
  t.raises("searchsorted: there is no option 'right'; there is side", s.searchsorted, s, 2, { right = true })
  t.raises("topk: there is no option 'smalest'; there are axis, smallest and largest", s.topk, s, 2, { smalest = true })
  t.raises("either the smallest or the largest", s.topk, s, 2, { smallest = true, largest = true })
  t.raises("roll: axis is argument 3 already, and an option, too", x.roll, x, 1, 2, { axis = 1 })
  t.raises("eye: there is no option 'k'; there are columns, offset, dtype and device", gpu.eye, 3, { k = 1 })
  t.raises("options have names", x.roll, x, 1, { axis = 1, [true] = 2 })
  t.raises("no axis 3", x.roll, x, 1, { axis = 3 })
  t.raises("the axis is named twice", x.sum, x, 1, { axis = 1 })
end)

-- As the plain mean: summed in what holds the sum, and rounded to the same dtype.
t.test("means of what a mask takes", function()
  local many = gpu.ones(100000, "float16")
  t.eq(many:mean { where = gpu.ones(100000, "bool") }, 1.0)
  for _, dtype in ipairs { "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128" } do
    local v = gpu.array({ { 1, 0, 1 }, { 0, 1, 1 } }, dtype)
    for _, o in ipairs { {}, { axis = 1 }, { axis = { 1, 2 } }, { axis = -1, keepdims = true } } do
      local plain = v:mean(o)
      o.where = gpu.ones(3, "bool")
      local masked = v:mean(o)
      t.eq(tostring(masked), tostring(plain))
    end
  end
end)

t.test("reductions", function()
  same(x:sum(1, { keepdims = true }), x:sum(1, true))
  t.eq(x:sum { where = x:gt(3) }, 15.0)
  t.eq(x:sum { where = x:gt(3), initial = 100 }, 115.0)
  t.eq(x:max { where = x:lt(3), initial = 0 }, 2.0)
  t.eq(x:min { where = x:gt(9), initial = 50 }, 50)
  t.eq(x:mean { where = x:gt(3) }, 5.0)
  t.eq(math.type(x:sum { dtype = "int32" }), "integer")
  t.eq(gpu.array({ true, true }):sum { dtype = "float32" }, 2.0)
  t.eq(x:max { initial = 0 / 0 } ~= x:max { initial = 0 / 0 }, true)
  t.eq(gpu.zeros(0):max { initial = 3 }, 3)
  t.eq(gpu.array({ true, false }):max { initial = 0 }, 1)
  t.eq(gpu.array({ true, false }):min({ axis = 1, keepdims = true, initial = 1 })[1], 0)
  t.eq(gpu.zeros(0):sum { initial = 3 }, 3.0)
  t.eq(gpu.zeros(0, 2):min({ axis = 1, initial = 3 })[2], 3.0)
  t.eq(math.type(gpu.ones(2, "int8"):max { initial = 3.0 }), "integer")
  local big, m = gpu.array({ 16777217 }, "int32"), gpu.ones(1, "bool") -- a float32 would round it
  t.eq(big:max { initial = 2.0 }, 16777217)
  t.eq(big:max { where = m, initial = 2.0 }, 16777217)
  t.eq(big:max({ axis = 1, keepdims = true, where = m, initial = 2.0 })[1], 16777217)
  for _, name in ipairs { "min", "max" } do -- NaN from either side, as one value and along an axis
    for _, way in ipairs { { { 1, 2 }, 0 / 0 }, { { 1, 0 / 0 }, 0 }, { { 1, 0 / 0 }, 0 / 0 } } do
      for _, dtype in ipairs { "float16", "float32", "float64" } do
        local y = gpu.array(way[1], dtype)
        local one, rows = y[name](y, { initial = way[2] }), y[name](y, { axis = 1, keepdims = true, initial = way[2] })
        assert(one ~= one and rows[1] ~= rows[1], name .. " of " .. dtype)
      end
    end
  end
  local most = gpu.full(2, -1, "uint64") -- above what Lua's integers hold
  t.eq(most:max { initial = 0 }, -1)
  t.eq(most:min { initial = 5 }, 5)
  t.eq(gpu.array({ 3, 7 }, "uint64"):max { initial = 5 }, 7)
  t.eq(gpu.array({ 3, 7 }, "uint64"):min { initial = 5 }, 3)
  t.eq(most:max({ axis = 1, keepdims = true, initial = 0 })[1], -1)
  local out = gpu.zeros(3, "float64")
  assert(rawequal(x:sum({ axis = 1, where = x:gt(2), out = out }), out))
  t.same(out:totable(), { 4, 6, 8 })
  t.raises("sum: where is an array of bools, as x:gt(0) gives one, not number", x.sum, x, { where = 1 })
  t.raises("where is an array of bools, as x:gt(0) gives one, not float64", x.sum, x, { where = x })
  t.raises("sum: where has the shape (2, 1, 1), expected one that broadcasts to the array's (2, 3)", x.sum, x,
    { where = gpu.ones(2, 1, 1, "bool") })
  t.raises("where has the shape (3,), expected one that broadcasts to the array's (1,)", x.sum, x["1:1, 1"],
    { where = gpu.ones(3, "bool") })
  t.raises("max: {where = mask} needs {initial = number}", x.max, x, { where = x:gt(1) })
  t.raises("mean: there is no option 'initial'", x.mean, x, { initial = 1 })
  t.raises("argmax: there is no option 'where'", x.argmax, x, { where = x:gt(1) })
  t.raises("initial is 300, which elements of int8 cannot be", function() return gpu.ones(2, "int8"):max { initial = 300 } end)
  t.raises("initial is a number, not string", x.sum, x, { initial = "1" })
  t.raises("there is no option 'wher'; there are axis, keepdims", x.sum, x, { wher = 1 })
end)

t.done()
