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
  same(x:std(2, { ddof = 1 }), x:std(2, false, 1))
  same(x:nanvar(2, { ddof = 1, keepdims = true }), x:var(2, true, 1))
  same(x:sort(1, { descending = true }), x:sort(1, true))
  same(x:argsort(1, { descending = true }), x:argsort(1, true))
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

t.test("options of functions that read them themselves stand behind the arguments, too", function()
  local w = gpu.array { 1, 2, 3 }
  same(x:average(2, { weights = w }), x:average(2, w))
  same(x:diff(1, { axis = 1 }), x:diff(1, 1))
  same(x:quantile(0.3, 2, { keepdims = true }), x:quantile(0.3, 2, true))
  same((x:histogram(4, { range = { 0, 8 } })), (x:histogram(4, { 0, 8 })))
  same(gpu.fft.fft(x, 4, { norm = "ortho" }), gpu.fft.fft(x, 4, -1, "ortho"))
  same(gpu.fft.fft2(x, { 4, 4 }, { norm = "ortho" }), gpu.fft.fft2(x, { 4, 4 }, nil, "ortho"))
  t.raises("average: axis is given twice", x.average, x, 2, { axis = 1 })
  t.raises("average: there is no option 'weight'", x.average, x, 2, { weight = w })
  t.raises("a range is {low, high}, in a table", x.histogram, x, 4, 0, 8)
  t.raises("stand behind the least number of bins, x:bincount(0, weights)", gpu.bincount, s:to("int32"), s)
  t.raises("the sum of a matrix's diagonal is gpu.linalg.trace(x)", gpu.trace, x)
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
  t.raises("normal: there is no option 'size'; it is called shape", gpu.random.normal, 0, 1, { size = 3 })
  t.raises("normal: there is no option 'middle'; there are mean, deviation, shape, dtype and device", gpu.random.normal,
    { middle = 0 })
  t.raises("full: there is no option 'fill_value'; it is called value", gpu.full, 3, { fill_value = 1 })
  t.raises("polyfit: there is no option 'deg'; it is called degree", gpu.polyfit, s, s, { deg = 1 })
  t.raises("sum: there is no option 'size'; there are axis", x.sum, x, { size = 3 })
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

-- All functions that make arrays of a shape, and what stands before it.
local makers = {
  { gpu.zeros }, { gpu.ones }, { gpu.empty }, { gpu.pinned }, { gpu.rand }, { gpu.randn },
  { gpu.random.uniform, 0, 1 }, { gpu.random.normal, 0, 1 }, { gpu.random.bernoulli, 0.5 },
  { gpu.random.exponential, 1 }, { gpu.random.gamma, 2, 1 }, { gpu.random.poisson, 3 }, { gpu.random.binomial, 9, 0.5 },
  { gpu.random.integers, 1, 6, dtype = "int16" }, { gpu.random.beta, 1, 2 }, { gpu.random.chisquare, 2 }, { gpu.random.standard_t, 3 },
  { gpu.random.standard_cauchy }, { gpu.random.laplace, 0, 1 }, { gpu.random.gumbel, 0, 1 }, { gpu.random.logistic, 0, 1 },
  { gpu.random.lognormal, 0, 1 }, { gpu.random.weibull, 2 }, { gpu.random.rayleigh, 1 }, { gpu.random.geometric, 0.5 },
  { gpu.fromfunction, function(i) return i * 1 end },
}

t.test("dtype and device by name behind any number of sizes", function()
  for _, maker in ipairs(makers) do
    local dtype = maker.dtype or "float64"
    for n = 1, 3 do
      local args = table.move(maker, 2, #maker, 1, {})
      for i = 1, n do args[#args + 1] = i + 1 end
      args[#args + 1] = { dtype = dtype }
      t.eq(maker[1](table.unpack(args)).dtype, dtype)
      args[#args] = { device = "cpu" }
      local made = maker[1](table.unpack(args))
      t.eq(made.device, "cpu")
      t.eq(#made.shape, n)
      t.eq(made.shape[n], n + 1)
      args[#args] = "cpu"
      args[#args + 1] = { dtype = dtype }
      t.eq(maker[1](table.unpack(args)).dtype, dtype)
    end
  end
  t.eq(gpu.full({ 2 }, 1, "cpu", { dtype = "int8" }).dtype, "int8")
  t.eq(gpu.full_like(s, 1, "cpu", { dtype = "int8" }).dtype, "int8")
  for _, like in ipairs { gpu.zeros_like, gpu.ones_like, gpu.empty_like } do
    t.eq(like(s, "cpu", { dtype = "int8" }).dtype, "int8")
  end
  t.eq(gpu.linspace(0, 1, 3, "float64", { endpoint = false })[3], gpu.linspace(0, 1, 3, false, "float64")[3])
  t.raises("zeros: there is no option 'typ'; there are dtype and device", gpu.zeros, 2, 3, 4, { typ = "int8" })
end)

t.test("numbers by name behind ones that are left out", function()
  same(gpu.logspace(0, 2, { base = 2 }), gpu.logspace(0, 2, 50, 2))
  same(gpu.logspace(0, 2, { base = 2, count = 3, dtype = "float64" }), gpu.logspace(0, 2, 3, 2, "float64"))
  same(gpu.tri(3, { k = 1 }), gpu.tri(3, 3, 1))
  same(gpu.tri(3, { columns = 2, dtype = "int8" }), gpu.tri(3, 2, "int8"))
  same(gpu.eye(3, nil, 1, { columns = 4 }), gpu.eye(3, 4, 1))
  same(gpu.eye(3, nil, "int8"), gpu.eye(3, "int8"))
  same(gpu.range(5, { step = 2 }), gpu.range(1, 5, 2))
  same(gpu.range { stop = 5 }, gpu.range(5))
  same(gpu.range { stop = 5, dtype = "int8" }, gpu.range(5, "int8"))
  same(gpu.range(10, { start = 8 }), gpu.range(8, 10))
  same(gpu.range(10, { start = 4, step = 3, device = "cpu" }):to("cpu"), gpu.range(4, 10, 3, "cpu"))
  same(gpu.range(2, { stop = 4 }), gpu.range(2, 4))
  same(gpu.range(2, 6, { step = 2 }), gpu.range(2, 6, 2))
  same(gpu.range(5, { dtype = "int64" }), gpu.range(5, "int64"))
  same(gpu.range { step = -1, stop = 1, start = 3 }, gpu.range(3, 1, -1))
  t.raises("range: stop is missing; it is gpu.range([start,] stop", gpu.range, { start = 3 })
  t.raises("range: start is argument 1 already", gpu.range, 1, 5, { start = 3 })
  t.raises("number expected, got nil", gpu.range, 1, nil, 2)
  t.raises("bad argument #1 to 'lunarray.range' (number expected, got string)", gpu.range, "a", { dtype = "int8" })
  t.raises("searchsorted: values is missing", s.searchsorted, s, { side = "right" })
end)

t.test("meshgrid knows one option", function()
  local a, b, more = gpu.meshgrid(s, { 7, 8 }, { indexing = "ij" })
  t.eq(more, nil)
  t.same(a.shape, { 4, 2 })
  t.same(b.shape, { 4, 2 })
  t.raises("meshgrid: there is no option 'sparse'; there is indexing", gpu.meshgrid, s, s, { indexing = "ij", sparse = true })
  t.raises("meshgrid: there is no option 'index'; there is indexing", gpu.meshgrid, s, s, { index = "ij" })
  t.raises('meshgrid: indexing is "xy" or "ij", not number', gpu.meshgrid, s, s, { indexing = 1 })
  t.same((gpu.meshgrid(s, {})).shape, { 0, 4 })
end)

t.test("forms that write into the array take names, too", function()
  local y = x:clone()
  assert(rawequal(y:clip_ { min = 2 }, y))
  same(y, x:clip { min = 2 })
  same(y:clip_(3, { max = 5 }), x:clip(3, 5))
  same(x:clone():clip_ { max = 3 }, x:minimum(3))
  same((x / 3):round_ { decimals = 1 }, (x / 3):round(1))
  same((x / 3):round_(2), (x / 3):round(2))
  same((x / 3):round_(), (x / 3):round())
  same(x.T:clone().T:round_ { decimals = -1 }, x:round(-1))
  y = gpu.full({ 2, 2 }, 1.26, "float64")
  y[1]:round_(1)
  t.same(y:totable(), { { 1.3, 1.3 }, { 1.26, 1.26 } })
  same((x / 0 - x):nan_to_num_ { infinity = 7 }, gpu.full({ 2, 3 }, 7, "float64"))
  t.raises("clip_: there is no option 'low'; there are min and max", x.clip_, x, { low = 1 })
  t.raises("clip_: there is no option 'out'; there are min and max", x.clip_, x, { min = 1, out = y })
  t.raises("round_: there is no option 'places'; there is decimals", x.round_, x, { decimals = 1, places = 2 })
  t.raises("behind it there is an array", gpu.exp, x, s)
  t.raises("behind them there is a table", x.round_, x, 1, { out = y })
end)

t.test("calls without arguments say what is missing", function()
  t.raises("array expected, got no value", gpu.sum)
  t.raises("value expected", gpu.clip)
  t.raises("array or number expected, got no value", gpu.round)
end)

t.test("table.pack makes a list of numbers", function()
  same(gpu.array(table.pack(1, 2, 3)), gpu.array { 1, 2, 3 })
  same(gpu.array { table.pack(1, 2), table.pack(3, 4) }, gpu.array { { 1, 2 }, { 3, 4 } })
  same(gpu.zeros(table.pack(2, 3)), gpu.zeros(2, 3))
  same(gpu.array(table.pack()), gpu.zeros(0))
  t.same(gpu.zeros(table.pack()).shape, {})
  t.raises("no option 'n'", gpu.array, { 1, 2, n = 3 })
  t.raises("has the name 'n'", gpu.array, { { 1, 2, n = 3 } })
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
  t.eq(gpu.full(1, math.mininteger, "uint64"):sum { initial = 0.5 }, 0x1p63)
  t.eq(gpu.full(1, math.mininteger, "uint64"):prod { initial = 0.5 }, 0x1p62)
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
  t.raises("sum: there is no option 'wher'; there are axis, keepdims, where, initial, dtype and out", x.sum, x, { wher = 1 })
  t.raises("std: there is no option 'ddofs'; there are axis, keepdims, ddof, where, dtype and out", x.std, x, { ddofs = 1 })
  t.raises("argmax: there is no option 'where'; there are axis, keepdims, dtype and out", x.argmax, x, { where = x:gt(0) })
  t.raises("there is no option 'dim'; it is called axis", x.sum, x, { dim = 1 })
  t.raises("there is no option 'keepdim'; it is called keepdims", x.max, x, { keepdim = true })
  t.raises("topk: there is no option 'dim'; it is called axis", x.topk, x, 2, { dim = 1 })
  t.raises("diff: there is no option 'axes'; it is called axis", x.diff, x, { axes = 1 })
  t.raises("there is no option 'dim'; there is axis", x.cumsum, x, { dim = 1 })
end)

t.done()
