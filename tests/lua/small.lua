-- Small arrays take shorter ways through some functions. What waits for somebody to look goes the long one: both give the
-- same bits.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local nan, inf = 0 / 0, math.huge

-- Bits of a number, or of all elements; every NaN is one.
local function bits(v)
  if type(v) == "boolean" then return tostring(v) end
  if math.type(v) then return v ~= v and "nan" or string.pack("n", v) end
  local list = { v.dtype, table.concat(v.shape, "x") }
  for _, x in ipairs(v:flatten():totable()) do list[#list + 1] = bits(x) end
  return table.concat(list, " ")
end

-- f of the array at once, and of the same elements that wait.
local function same(f, x, what)
  local at_once = bits(f(x))
  local former = gpu.lazy("always")
  local later = bits(f(x.dtype == "bool" and x | x or x * 1))
  gpu.lazy(former)
  assert(at_once == later, what)
end

-- Every shape with numbers, with NaN and infinities among them, and with hardly anything but NaN.
local function each_array(device, shapes, f)
  gpu.seed(3)
  local host = device == "cpu" -- others have one way for all
  for _, dtype in ipairs(host and { "float32", "float64", "float16" } or { "float32" }) do
    for _, shape in ipairs(host and shapes or { { 17 }, { 3, 5 } }) do
      local n = 1
      for _, size in ipairs(shape) do n = n * size end
      local some = (gpu.rand(n, "float64", device) * 20 - 10):to(dtype)
      local gone = gpu.rand(n, device):lt(0.2)
      local few = gpu.where(gone, nan, some)
      if n > 3 then few[2], few[3] = inf, -inf end
      local none = some * nan
      none[1] = 2
      for kind, x in ipairs({ some, few, none }) do
        f(x:reshape(shape), ("%s %s %d"):format(dtype, table.concat(shape, "x"), kind))
      end
    end
  end
end

local SHAPES = { { 1 }, { 2 }, { 3 }, { 17 }, { 1000 }, { 1024 }, { 1025 }, { 2048 }, { 2049 }, { 10, 100 }, { 100, 10 }, { 1, 9 },
  { 2, 1024 }, { 1024, 2 }, { 3, 4, 5 } }

t.every("statistics of what is there", function(device)
  each_array(device, SHAPES, function(x, what)
    for _, name in ipairs({ "nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "ptp" }) do
      for axis = 0, x.ndim do
        same(function(v) return v[name](v, axis > 0 and axis or nil) end, x, what .. " " .. name .. " along " .. axis)
      end
    end
    same(function(v) return v:nanvar(nil, false, 1.5) end, x, what)
    same(function(v) return v:nanmean(-1, true) end, x, what)
  end)
end)

t.every("they leave out what is NaN, and nothing else", function(device)
  for _, dtype in ipairs({ "float32", "float64" }) do
    local x = gpu.array({ 4, nan, 1, nan, 7 }, dtype, device)
    t.same({ x:nansum(), x:nanmean(), x:nanvar(), x:nanvar(nil, false, 1), x:nanmin(), x:nanmax() }, { 12, 4, 6, 9, 1, 7 })
    local y = x:reshape(1, 5):tile(2, 1)
    t.same(y:nanstd({ axis = 2, ddof = 1 }):totable(), { 3, 3 })
    t.same(y:nansum(1):totable(), { 8, 0, 2, 0, 14 })
  end
  local whole = gpu.range(9, "int32", device) * 1000
  for _, ddof in ipairs({ 0, 1 }) do t.eq(whole:nanvar(nil, false, ddof), whole:var(nil, false, ddof)) end
end)

t.every("softmax and its logarithm", function(device)
  each_array(device, SHAPES, function(x, what)
    for axis = 1, x.ndim do
      same(function(v) return v:softmax(axis) end, x, what .. " softmax along " .. axis)
      same(function(v) return v:log_softmax(axis) end, x, what .. " log_softmax along " .. axis)
    end
  end)
  local x = gpu.log(gpu.array({ 1, 3, 4 }, "float64", device))
  local p = x:softmax()
  for i, expected in ipairs({ 0.125, 0.375, 0.5 }) do assert(math.abs(p[i] - expected) < 1e-15) end
end)

t.every("neighbours", function(device)
  each_array(device, { { 1 }, { 2 }, { 3 }, { 17 }, { 1000 }, { 1024 }, { 1025 }, { 2047 }, { 2048 }, { 2049 }, { 3, 5 } }, function(x, what)
    for _, name in ipairs({ "diff", "gradient", "trapezoid" }) do
      if name == "gradient" and x.size == 1 then break end
      same(function(v) return (v[name](v)) end, x, what .. " " .. name)
      if x.ndim == 1 then
        local every_other = x[{ { 1, -1, 2 } }]
        if name ~= "gradient" or every_other.size > 1 then same(function(v) return (v[name](v)) end, every_other, what) end
      end
    end
    for _, h in ipairs({ 3, 0.1 }) do
      if x.size > 1 then same(function(v) return (v:gradient(h)) end, x, what) end
      same(function(v) return v:trapezoid(h) end, x, what)
    end
  end)
  local squares = gpu.range(5, "float64", device) ^ 2
  t.same(squares:diff():totable(), { 3, 5, 7, 9 })
  t.same(squares:gradient(0.5):totable(), { 6, 8, 12, 16, 18 })
  t.eq(squares:trapezoid(2), 84.0)
  t.same(gpu.array({ 5, 1 }, "int32", device):diff():totable(), { -4 })
  local one = gpu.array({ 5 }, "int32", device):diff()
  t.same({ one.size, one.ndim, one.dtype }, { 0, 1, "int32" })
  t.same({ gpu.array({ 5 }, device):trapezoid(), gpu.array({ nan }, device):trapezoid(2) }, { 0.0, 0.0 })
  t.raises("expected 2 or more", gpu.gradient, gpu.ones(1, device))
end)

t.every("variance along an axis", function(device)
  each_array(device, { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 10, 100 } }, function(x, what)
    for axis = 1, x.ndim do
      for _, ddof in ipairs({ 0, 1 }) do
        same(function(v) return v:var(axis, false, ddof) end, x, what)
        same(function(v) return v:std(axis, false, ddof) end, x, what)
      end
    end
  end)
end)

-- Down columns of few elements, and of a row that has axes of one element behind it.
t.every("reductions along an axis", function(device)
  gpu.seed(9)
  local host = device == "cpu"
  for _, dtype in ipairs(host and { "bool", "int8", "int32", "int64", "float32", "float64" } or { "float32", "int32" }) do
    local shapes = { { 10, 100 }, { 5, 3, 40 }, { 1, 70 }, { 40, 1 }, { 16, 64 }, { 17, 64 }, { 19, 64 }, { 3, 63 }, { 6, 40, 1 }, { 1, 1 } }
    for i = 1, t.compiles(device) and 4 or #shapes do -- the last differ by the short ways alone
      local shape = shapes[i]
      local x = (gpu.rand(shape, "float64", device) * 20 - (dtype:find("u") and 0 or 10)):to(dtype)
      if dtype:find("float") and x.size > 60 then
        local row = x:reshape(-1)
        row[1], row[5], row[7], row[9], row[61], row[62] = nan, inf, -0.0, 0.0, -inf, -0.0
      end
      for _, name in ipairs({ "sum", "mean", "min", "max", "prod", "any", "all", "argmin", "argmax" }) do
        for axis = 1, x.ndim do
          for _, keep in ipairs({ false, true }) do
            same(function(v) return v[name](v, axis, keep) end, x, ("%s of %s %s along %d"):format(name, dtype, table.concat(shape, "x"), axis))
          end
        end
      end
    end
  end
end)

-- Rows of a table and results with more beside them go the long way.
t.every("the order of elements", function(device)
  each_array(device, { { 1 }, { 2 }, { 17 }, { 129 }, { 1000 }, { 2048 }, { 2049 }, { 3, 5 } }, function(x, what)
    local n, row = x.size, x:flatten()
    if n > 5 then row[n - 1], row[n] = -0.0, 0 end
    local whole, table_ = row:reshape(x.shape), row:reshape(1, n)
    t.eq(bits(whole:median()), bits(table_:median(2)[1]), what)
    for _, method in ipairs({ "linear", "lower", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "weibull" }) do
      for _, q in ipairs({ 0, 0.25, 0.5, 0.77, 1 }) do
        local long = table_:quantile(q, { axis = 2, method = method })[1]
        t.eq(bits(whole:quantile(q, { method = method })), bits(long), what .. " " .. method)
      end
    end
    t.eq(bits(whole:unique()), bits((whole:unique { counts = true })), what)
    t.eq(bits(row:take(row:argsort())), bits(row:sort()), what)
    t.eq(bits(row:take(row:argsort(1, true))), bits(row:sort(1, true)), what)
    for _, k in ipairs({ 1, n // 2 + 1, n }) do
      for _, smallest in ipairs({ false, true }) do
        local values, places = row:topk(k, 1, smallest)
        local more, where = table_:topk(k, 2, smallest)
        t.eq(bits(values), bits(more:flatten()), what)
        t.eq(bits(places), bits(where:flatten()), what)
        t.eq(values.bytes, k * x.bytes // n, "no memory for the others")
      end
    end
  end)
  t.raises("from 0 to 1, not 1.5", gpu.quantile, gpu.ones(3, device), 1.5)
  t.raises("from 0 to 1, not", gpu.quantile, gpu.ones(3, device), nan)
end)

-- Bins by arithmetic, and the same edges as a list, which are searched.
t.every("histograms", function(device)
  each_array(device, { { 1 }, { 17 }, { 1000 }, { 2049 }, { 10, 100 } }, function(x, what)
    for _, bins in ipairs({ 1, 7, 10, 64, 65, 300 }) do
      local inside = gpu.where(x:gt(-8) & x:lt(8), x, 0)
      for _, range in ipairs({ { -10, 10 }, { -3, 4.5 }, { 2, 2 + 2 ^ -50 }, { 30, 40 } }) do
        local counts, edges = x:histogram(bins, range)
        if edges[1] < edges[bins + 1] then t.eq(bits(counts), bits((x:histogram(edges))), what .. " " .. bins) end
        local on = edges:to(x.dtype) -- the edges themselves, rounded
        t.eq(bits((on:histogram(bins, range))), bits((on:histogram(edges))), what .. " " .. bins)
      end
      local counts, edges = inside:histogram(bins)
      t.eq(counts:sum(), x.size)
      t.eq(bits(counts), bits((inside:histogram(edges))), what .. " " .. bins)
    end
  end)
end)

t.every("few different ones, of every dtype", function(device)
  gpu.seed(4)
  for _, dtype in ipairs(device == "cpu" and t.dtypes or { "int32" }) do
    for _, n in ipairs({ 1, 5, 300 }) do
      local x = (gpu.rand(n, "float64", device) * 9):to(dtype)
      t.eq(bits(x:unique()), bits((x:unique { counts = true })), dtype)
      local values, places = x:topk(n // 2 + 1)
      t.eq(bits(values), bits(x:take(places)), dtype)
      t.eq(bits(x:median()), bits(x:reshape(1, n):median(2)[1]), dtype)
      local y = x:clone()
      t.eq(x:equal(y), true, dtype)
      y[n] = y[n] == true and 0 or y[n] == false and 1 or y[n] + 1
      t.eq(x:equal(y), false, dtype)
    end
  end
end)

t.every("close and equal arrays", function(device)
  each_array(device, SHAPES, function(x, what)
    local near = x * (1 + 2 ^ -9)
    local one = x:clone()
    one:reshape(-1)[x.size] = 77
    for _, y in ipairs({ x, x:clone(), near, one, -x }) do
      for _, v in ipairs({ x, near }) do
        for _, limit in ipairs({ {}, { 0, 0 }, { 2 ^ -8, 0 }, { 0, 0.1 }, { inf, 0 }, { 0, nan } }) do
          t.eq(v:allclose(y, limit[1], limit[2]), v:isclose(y, limit[1], limit[2]):all(), what)
        end
        t.eq(v:equal(y), v:eq(y):all(), what)
      end
    end
  end)
  local plus, minus = gpu.array({ 0.0, inf }, device), gpu.array({ -0.0, inf }, device)
  t.eq(plus:equal(minus) and plus:allclose(minus), true)
  t.eq(plus:allclose(-plus, 1, 1), false)
end)

-- Where a key could be inserted, by looking at every element; NaN is behind all else.
local function place(list, key, right)
  local before = 0
  for _, v in ipairs(list) do
    local less = v == v and (key ~= key or v < key)
    if less or (right and (v == key or (v ~= v and key ~= key))) then before = before + 1 end
  end
  return before + 1
end

t.every("searchsorted of every dtype and of numbers around whole vectors", function(device)
  gpu.seed(5)
  local host = device == "cpu"
  for _, dtype in ipairs(host and t.dtypes or { "float32" }) do
    local signed = not dtype:find("^u") and dtype ~= "bool"
    for _, n in ipairs(host and { 1, 2, 7, 16, 90 } or { 7 }) do
      for _, count in ipairs(host and { 1, 31, 33, 128, 130 } or { 33 }) do
        local row = (gpu.rand(n, "float64", device) * 40 - (signed and 20 or 0)):to(dtype)
        local keys = (gpu.rand(count, "float64", device) * 50 - (signed and 25 or 0)):to(dtype)
        if dtype:find("float") and n > 6 then row[1], row[2], row[3], row[4], row[5] = nan, inf, -inf, -0.0, 0 end
        if dtype:find("float") and count > 6 then keys[1], keys[2], keys[3], keys[4], keys[5] = nan, -inf, inf, 0, -0.0 end
        row = row:sort()
        if count > 9 then keys[8], keys[9] = row[1], row[n] end
        local list = row:totable()
        for _, side in ipairs({ "left", "right" }) do
          local places = row:searchsorted(keys, side):totable()
          for i, key in ipairs(keys:totable()) do
            if dtype == "bool" then
              t.eq(places[i], row:to("uint8"):searchsorted(keys:to("uint8"), side)[i])
            else
              t.eq(places[i], place(list, key, side == "right"), ("%s %d in %d, %s"):format(dtype, count, n, side))
            end
          end
        end
      end
    end
  end
end)

-- The lines between points, one operation after the other.
local function lines(x, xs, ys, left, right)
  local n = xs.size
  local two = xs:searchsorted(x, "right"):clip(n > 1 and 2 or 1, n)
  local one = (two - 1):clip(1, n)
  local x1, y1 = xs:take(one), ys:take(one)
  local y = (ys:take(two) - y1) / (xs:take(two) - x1) * (x - x1) + y1
  y = gpu.where(x:eq(xs[{ { n, n } }]), ys[{ { n, n } }], y)
  return gpu.where(x:lt(xs[{ { 1, 1 } }]), left or ys[1], gpu.where(x:gt(xs[{ { n, n } }]), right or ys[n], y))
end

t.every("interp gives what its steps give", function(device)
  gpu.seed(6)
  local kinds = { { "float32", "float32" }, { "float32", "float64" }, { "float64", "float32" }, { "float64", "float64" },
    { "float32", "int32" }, { "float16", "float16" } }
  for _, kind in ipairs(device == "cpu" and kinds or { kinds[1] }) do
    for _, n in ipairs({ 1, 2, 40 }) do
      local xs = (gpu.rand(n, "float64", device) * 10):to(kind[1]):sort()
      local ys = (gpu.rand(n, "float64", device) * 10):to(kind[2])
      if n > 2 and kind[2] ~= "int32" then ys[7], ys[9] = inf, nan end
      local x = (gpu.rand(150, "float64", device) * 14 - 2):to(kind[1])
      x[1], x[2], x[3], x[4], x[5] = nan, inf, -inf, xs[1], xs[n]
      t.eq(bits(x:interp(xs, ys)), bits(lines(x, xs, ys)))
      t.eq(bits(x:interp(xs, ys, -1, 0.3)), bits(lines(x, xs, ys, -1, 0.3)))
      t.eq(bits(x:reshape(10, 15).T:interp(xs, ys)), bits(lines(x, xs, ys):reshape(10, 15).T))
    end
  end
end)

-- A key for each of so many points is too much for a number.
t.every("interp of one value among many points", function(device)
  gpu.seed(7)
  for _, n in ipairs({ 8191, 8192, 8196, 20000 }) do
    local xs = (gpu.rand(n, "float64", device) * 10):sort()
    local ys = gpu.rand(n, "float64", device)
    for _, v in ipairs({ -1, 0.3, 5, 11, nan }) do
      local x = gpu.array({ v }, "float64", device)
      t.eq(bits(x:interp(xs, ys)), bits(lines(x, xs, ys)), n)
      t.eq(bits(gpu.interp(v, xs, ys)), bits(lines(x, xs, ys)[1]), n)
    end
  end
end)

-- Operands as wide as the result, its rows or columns, and numbers, at once and by the way of what waits.
t.every("operations on rows, columns, numbers and halves", function(device)
  gpu.seed(8)
  local random = t.random(8)
  local function pick(list) return list[random(#list) + 1] end
  local dtypes = { "bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64" }
  local names = { "add", "sub", "mul", "div", "pow", "maximum", "eq", "lt", "hypot", "floordiv", "bitwise_and", "clip", "where" }
  local done = 0
  local function all(x) return x.dtype:find("complex") and bits(x.real) .. bits(x.imag) or bits(x) end
  for _ = 1, device == "cpu" and 3000 or 40 do
    local shape, args = pick({ { 1 }, { 5 }, { 3, 5 }, { 2, 3, 17 }, { 7, 300 } }), {}
    local name, first, second = pick(names), pick(dtypes), pick(dtypes)
    for i = 1, name == "clip" and 3 or name == "where" and 3 or 2 do
      local own = table.move(shape, 1, #shape, 1, {})
      local kind = random(6)
      if kind < 3 then for _ = 1, random(#own + 1) do table.remove(own, 1) end end -- a row
      if kind == 3 then own[1] = 1 end
      if kind == 4 then own[#own] = 1 end
      local x = (gpu.rand(#own > 0 and own or { 1 }, "float64", device) * 9):to(i == 1 and name == "where" and "bool" or i == 1 and first or second)
      args[i] = i > 1 and kind == 5 and pick({ 3, 2, 0.5, -1 }) or x
    end
    local f = function() return gpu[name](table.unpack(args)) end
    local what = ("%s of %s and %s, %s"):format(name, first, second, table.concat(shape, " x "))
    local ok, at_once = pcall(f)
    local former = gpu.lazy("always")
    local also, later = pcall(f)
    t.eq(ok, also, what)
    if ok then t.eq(all(at_once), all(later), what) end
    gpu.lazy(former)
    if ok then
      local out = gpu.empty(at_once.shape, at_once.dtype, device)
      args[#args + 1] = { out = out }
      f()
      t.eq(all(out), all(at_once), what)
      done = done + 1
    end
  end
  assert(done > 10)
  local x, want = gpu.range(40, "float32", device), {}
  for i = 1, 40 do want[i] = i == 1 and 1 or 2 * i - 1 end
  x["2:40"]:add_(x["1:39"])
  t.same(x:totable(), want)
  local row = gpu.range(6, "float32", device):reshape(2, 3)
  t.same(row:add_(row[1]):totable(), { { 2, 4, 6 }, { 5, 7, 9 } })
end)

-- A matrix of one row goes the long way.
t.every("products of vectors", function(device)
  gpu.seed(21)
  for _, dtype in ipairs { "float32", "float64", "float16", "int32" } do
    for _, n in ipairs(device == "cpu" and { 1, 2, 63, 64, 65, 100, 1000, 2048, 2049 } or { 1, 70 }) do
      local x, y = (gpu.randn(n + 1, "float64", device) * 9):to(dtype), (gpu.randn(n, "float64", device) * 9):to(dtype)
      for _, a in ipairs { x["1:-2"], x["2:"], gpu.evaluate(x:flip()["2:"]) } do
        local want, what = bits(a:reshape(1, n):matmul(y)[1]), dtype .. " " .. n
        t.eq(bits(a:dot(y)), want, what)
        t.eq(bits(y:matmul(a)), want, what)
        t.eq(math.type(a:dot(y)), math.type(a:sum()), what)
      end
    end
  end
  local x = gpu.ones(3, device)
  t.eq(x:dot(gpu.array({ 1, 2, 3 }, "float64", device)), 6.0)
  t.raises({ "3", "4" }, x.dot, x, gpu.ones(4, device))
end)

t.done()
