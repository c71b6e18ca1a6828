-- What rests on the order of elements (topk, searchsorted, unique, median, quantile), and counting, against plain Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes
local nan, inf = 0 / 0, math.huge

local function number(e) return e == true and 1 or e == false and 0 or e end

-- NaN after all else.
local function less(a, b)
  a, b = number(a), number(b)
  if a ~= a or b ~= b then return b ~= b and a == a end
  return a < b
end

local function sorted(v)
  local s = table.move(v, 1, #v, 1, {})
  table.sort(s, less)
  return s
end

local function quantile(v, q)
  local s = sorted(v)
  if s[#s] ~= s[#s] then return nan end
  local place = q * (#s - 1)
  local i, rest = math.floor(place), place - math.floor(place)
  local a, b = number(s[i + 1]), number(s[math.min(i + 2, #s)])
  return a == b and a or a + (b - a) * rest
end

-- Values, the index of each element among them, and how often each comes.
local function unique(v)
  local s, values, counts, inverse = sorted(v), {}, {}, {}
  for _, e in ipairs(s) do
    local last = values[#values]
    if #values > 0 and (last == e or last ~= last and e ~= e) then
      counts[#counts] = counts[#counts] + 1
    else
      values[#values + 1], counts[#counts + 1] = e, 1
    end
  end
  for i, e in ipairs(v) do
    for k, value in ipairs(values) do
      if value == e or value ~= value and e ~= e then inverse[i] = k end
    end
  end
  return values, inverse, counts
end

local function near(got, want, tolerance, what)
  if want ~= want then return assert(got ~= got, what .. " is NaN") end
  if got ~= want then t.near(got, want, tolerance * math.max(1, math.abs(want)), what) end
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  local function make(dtype, ...)
    return t.as(gpu.randn({ ... }, "float32", device) * 4, dtype)
  end

  test("topk", function()
    gpu.seed(41)
    for _, dtype in ipairs({ "int16", "float32", "uint64" }) do
      local x = make(dtype, 5, 40)
      local sorted_rows, order = x:sort { descending = true }, x:argsort { descending = true }
      local values, indices = x:topk(7)
      assert(values:equal(sorted_rows[{ {}, { 1, 7 } }]) and indices:equal(order[{ {}, { 1, 7 } }]), dtype)
      values, indices = gpu.topk(x, 2, 1, true)
      assert(values:equal(x:sort(1)[{ { 1, 2 } }]) and indices:equal(x:argsort(1)[{ { 1, 2 } }]), dtype)
    end
    local values = gpu.array({ nan, 1, 2 }, device):topk(3)
    t.same(values:totable(), { 2, 1, nan })
    t.eq(gpu.zeros(3, device):topk(0).size, 0)
    t.raises({ "axis 1 has 3", "4 are asked" }, values.topk, gpu.zeros(3, device), 4)
  end)

  test("searchsorted of more values than there are patterns of bits", function()
    if t.compiles(device) then t.skip("generated code has one way for all") end
    gpu.seed(5)
    for dtype, count in pairs { bool = 600, int8 = 600, uint8 = 9001, int16 = 131072, uint16 = 131080, float16 = 140000 } do
      local function some(n)
        local x = gpu.rand(n, "float32", device)
        return gpu.evaluate((dtype == "float16" and (x * 8 - 4):log() or dtype == "bool" and x:gt(0.4) or x * 300):to(dtype))
      end
      local sorted, values = some(1000):sort(), some(count)
      for _, x in ipairs { sorted, sorted[{ { 1, 1 } }], gpu.zeros(0, dtype, device) } do
        local wide, others = gpu.evaluate(x:to("float64")), gpu.evaluate(values:to("float64"))
        for _, side in ipairs { "left", "right" } do
          assert(x:searchsorted(values, side):equal(wide:searchsorted(others, side)), dtype .. " " .. side)
        end
      end
    end
  end)

  test("searchsorted", function()
    gpu.seed(42)
    for _, dtype in ipairs(DTYPES) do
      local x, v = make(dtype, 300):sort(), make(dtype, 3, 50)
      local list, wanted = x:totable(), v:flatten():totable()
      local left, right = x:searchsorted(v):flatten():totable(), gpu.searchsorted(x, v, "right"):flatten():totable()
      for i, e in ipairs(wanted) do
        local first, behind = 1, 1
        for _, other in ipairs(list) do
          if less(other, e) then first = first + 1 end
          if not less(e, other) then behind = behind + 1 end
        end
        t.eq(left[i], first, dtype)
        t.eq(right[i], behind, dtype)
      end
    end
    local x = gpu.array({ -inf, -1, -0.0, 0, 0, 5, inf, nan }, device)
    t.same({ x:searchsorted(0), x:searchsorted(-0.0), x:searchsorted(0, "right"), x:searchsorted(inf),
      x:searchsorted(nan), x:searchsorted(nan, "right"), x:searchsorted(4.5) }, { 3, 3, 6, 7, 8, 9, 6 })
    local whole = gpu.array({ 1, 2, 3 }, "int32", device)
    t.eq(whole:searchsorted(2.5), 3)
    t.same(whole:searchsorted(gpu.array({ 0.5, 9 }, device)):totable(), { 1, 4 })
    t.eq(gpu.zeros(0, device):searchsorted(1), 1)
    t.eq(whole:searchsorted(gpu.zeros(0, device)).size, 0)
    t.raises("one axis", x.searchsorted, gpu.zeros(2, 2, device), 1)
    t.raises("middle", x.searchsorted, x, 1, "middle")
  end)

  test("searchsorted of many values in rows of many lengths", function()
    gpu.seed(45)
    for _, dtype in ipairs { "int32", "int64", "uint32", "float32", "float64" } do
      for _, n in ipairs { 1, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 255, 257, 1000, 1023, 1025, 3000 } do
        local span = n % 2 == 0 and 40 or 5 * n
        local x = gpu.random.integers(0, span, n, "int64", device):to(dtype):sort()
        local v = gpu.random.integers(dtype == "uint32" and 0 or -2, span + 2, 530, "int64", device):to(dtype)
        if dtype:find "float" and n > 20 then x[n], v[3] = nan, nan end
        local left, right = x:searchsorted(v):totable(), x:searchsorted(v, "right"):totable()
        local list = x:totable()
        for i, e in ipairs(v:totable()) do
          local a, b = left[i], right[i] -- neighbours say whether a place is right
          assert((a == 1 or less(list[a - 1], e)) and (a == n + 1 or not less(list[a], e)), dtype .. " left " .. n)
          assert((b == 1 or not less(e, list[b - 1])) and (b == n + 1 or less(e, list[b])), dtype .. " right " .. n)
        end
      end
    end
  end)

  test("unique", function()
    gpu.seed(43)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 7, 30)
      if dtype:find("float") then x = x:floor() end
      local values, inverse, counts = x:unique { inverse = true, counts = true }
      local want, want_inverse, want_counts = unique(x:clone():flatten():totable())
      t.eq(values.dtype, dtype)
      t.same(values:totable(), want, dtype)
      t.same(inverse:flatten():totable(), want_inverse, dtype)
      t.eq(tostring(inverse.shape), "(7, 30)")
      t.same(counts:totable(), want_counts, dtype)
      t.same(x.T:unique():totable(), want, dtype)
    end
    local values, counts = gpu.array({ nan, 0, -0.0, nan, 1 }, device):unique { counts = true }
    t.same(values:totable(), { 0, 1, nan })
    t.same(counts:totable(), { 2, 1, 2 })
    local long = (gpu.range(0, 70000, "int32", device) * 7919) % 1000
    assert(long:unique():equal(gpu.range(0, 999, "int32", device)))
    for _, dtype in ipairs { "float32", "float64", "int32", "uint32", "int64" } do
      for _, n in ipairs { 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 300, 1000, 2048 } do
        local some = {}
        for i = 1, n do
          local v = i * 7919 % (n + 3) // 2 - (dtype == "uint32" and 0 or n // 8)
          some[i] = dtype:find "float" and ({ [0] = nan, 0.0, -0.0 })[i % 11] or v
        end
        local x = gpu.array(some, dtype, device)
        t.same(x:unique():totable(), (x:unique { counts = true }):totable(), dtype .. " " .. n)
      end
    end
    for _, dtype in ipairs({ "int8", "uint8", "bool" }) do -- which are counted, not sorted
      local bytes = (long % 151 - (dtype == "int8" and 75 or 0)):to(dtype)
      local want, want_first, want_inverse, want_counts =
        bytes:to("int16"):unique { index = true, inverse = true, counts = true }
      local values, first, inverse, counts = bytes:unique { index = true, inverse = true, counts = true }
      assert(values:equal(want:to(dtype)) and first:equal(want_first), dtype)
      assert(inverse:equal(want_inverse) and counts:equal(want_counts), dtype)
    end
    t.eq(gpu.range(1, 70001, "float32", device):unique().size, 70001)
    local values, first = gpu.array({ { 5, 4, 5 }, { 1, 0, 1 } }, "int16", device):unique { axis = 2, index = true }
    t.same(values:totable(), { { 4, 5 }, { 0, 1 } })
    t.same(first:totable(), { 2, 1 })
    t.same(select(2, gpu.array({ 0.0, -0.0, 7, 7 }, device):unique { index = true }):totable(), { 1, 3 })
    t.raises({ "no option 'axs'", "axis, index, inverse and counts" }, gpu.unique, values, { axs = 1 })
    local none, where, often = gpu.zeros(0, 2, device):unique { inverse = true, counts = true }
    t.same({ none.size, tostring(where.shape), often.size }, { 0, "(0, 2)", 0 })
    t.raises("no option 'count'", none.unique, none, { count = true })
  end)

  test("median and quantile", function()
    gpu.seed(44)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 4, 5, 7)
      local flat, tolerance = x:clone():flatten():totable(), dtype == "bfloat16" and 8e-3 or dtype == "float16" and 1e-3 or 1e-6
      near(x:median(), quantile(flat, 0.5), tolerance, "median of " .. dtype)
      for _, q in ipairs({ 0, 0.1, 0.37, 0.5, 0.9, 1 }) do near(x:quantile(q), quantile(flat, q), tolerance, dtype) end
      local rows = x:transpose(1, 2):clone():reshape(5, 28):totable()
      local got = x:quantile({ 0.25, 0.8 }, { 1, 3 })
      t.eq(tostring(got.shape), "(2, 5)")
      for i, v in ipairs(rows) do
        near(got[{ 1, i }], quantile(v, 0.25), tolerance, dtype)
        near(got[{ 2, i }], quantile(v, 0.8), tolerance, dtype)
      end
      t.eq(tostring(x:median({ 1, 3 }, true).shape), "(1, 5, 1)")
      near(x:median({ 1, 3 })[4], quantile(rows[4], 0.5), tolerance, dtype)
    end
    t.eq(gpu.array({ 1, 2 }, "int32", device):median(), 1.5)
    near(gpu.array({ 1, nan, 2 }, device):median(), nan, 0, "the median with a NaN")
    t.eq(gpu.array({ inf, inf, 1 }, device):median(), inf)
    t.eq(gpu.array({ -inf, 1, 2, inf }, device):median(), 1.5)
    t.same(gpu.array({ 1, 2, 3 }, device):quantile(gpu.array({ 0, 0.5 }, device)):totable(), { 1, 2 })
    t.eq(gpu.zeros(0, 3, device):median(2).size, 0)
    t.raises("no elements", gpu.median, gpu.zeros(0, device))
    t.raises("from 0 to 1, not 1.5", gpu.quantile, gpu.zeros(3, device), 1.5)
    local function weighed(weights, q, method)
      local options = { weights = weights, method = method or "inverted_cdf" }
      return gpu.quantile(gpu.array({ 3, 1, 2 }, device), q or 0.5, options)
    end
    t.eq(weighed { 5, 1, 1 }, 3)
    t.eq(weighed({ 5, 0, 1 }, 0), 2)
    t.eq(weighed({ 0.1, 0.7, 0.2 }, 0.7 / (0.7 + 0.2 + 0.1)), 1, "weights of a list are float64")
    t.raises({ "method = \"inverted_cdf\" alone", "\"linear\"" }, weighed, { 1, 1, 1 }, 0.5, "linear")
    t.raises({ "quantile: the weights have the shape (2,)", "(3,)" }, weighed, { 1, 1 })
    t.raises("a weight is negative or NaN", weighed, { 1, -1, 1 })
    t.raises("no sum above 0", weighed, { 0, 0, 0 })
    t.raises("q is from 0 to 1, not 1.5", weighed, { 1, 1, 1 }, 1.5)
    t.raises("no option 'weights'", gpu.nanquantile, gpu.zeros(3, device), 0.5, { weights = { 1, 1, 1 } })
    t.raises("from 0 to 1", gpu.quantile, gpu.zeros(3, device), { 0, nan })
  end)

  test("bincount", function()
    gpu.seed(45)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 11, 13)
      if dtype:find("float") then
        t.raises("counts integers", x.bincount, x)
      else
        if dtype ~= "bool" then x = x:abs() end
        local want, v = {}, x:flatten():totable()
        for i = 1, 20 do want[i] = 0 end
        for _, e in ipairs(v) do want[number(e) + 1] = want[number(e) + 1] + 1 end
        local got = x:bincount(20)
        assert(#got >= 20 and got:sum() == 143, dtype)
        for i = 1, 20 do t.eq(got[i], want[i], dtype) end
      end
    end
    local long = gpu.range(0, 299999, "int32", device) % 1000
    assert(long:bincount():equal(gpu.full(1000, 300, "int64", device)))
    local wide = gpu.array({ 100000, 0 }, "int32", device):bincount()
    t.same({ #wide, wide[1], wide[2], wide[100001] }, { 100001, 1, 0, 1 })
    t.eq(#gpu.zeros(0, "int32", device):bincount(), 0)
    t.same(gpu.zeros(0, "int32", device):bincount(2):totable(), { 0, 0 })
    t.raises("there is -3", gpu.bincount, gpu.array({ 1, -3 }, "int32", device))
    t.raises("negative", gpu.bincount, gpu.zeros(1, "int32", device), -1)
  end)

  local function bin_of(x, edges)
    local n = #edges - 1
    if not (x >= edges[1] and x <= edges[n + 1]) then return nil end
    for i = 1, n do
      if x < edges[i + 1] then return i end
    end
    return n
  end

  test("histogram", function()
    gpu.seed(46)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 11, 31)
      for _, range in ipairs({ false, { -2, 3 } }) do
        local counts, edges = x:histogram(7, range or nil)
        local bounds, want = edges:totable(), { 0, 0, 0, 0, 0, 0, 0 }
        t.eq(#bounds, 8)
        t.eq(edges.dtype, "float64")
        for _, e in ipairs(x:clone():flatten():totable()) do
          local bin = bin_of(number(e), bounds)
          if bin then want[bin] = want[bin] + 1 end
        end
        t.same(counts:totable(), want, dtype)
        if not range then t.eq(counts:sum(), x.size, dtype) end
      end
    end
    -- Every element lies on an edge, where arithmetic alone is wrong for some.
    local x = gpu.range(0, 1000, "float64", device) / 1000
    local counts = x:histogram(1000, { 0, 1 })
    t.same({ counts[1], counts[500], counts[1000], counts:sum() }, { 1, 1, 2, 1001 })
    local many = gpu.range(0, 99999, "float32", device):histogram(5000)
    assert(many:equal(gpu.full(5000, 20, "int64", device)))
    t.same(gpu.array({ 0, 0, 4e-310, 1e-309 }, "float64", device):histogram(2):totable(), { 3, 1 })
    t.raises("too wide", gpu.histogram, x, 3, { -1e308, 1e308 })
    local _, edges = gpu.full(3, 2, device):histogram(2)
    t.same(edges:totable(), { 1.5, 2, 2.5 })
    t.same(gpu.zeros(0, device):histogram(2):totable(), { 0, 0 })
    local v, w = gpu.array({ 0, 1, 1, 6 }, device), gpu.array({ 2, 1, 1, 4 }, device)
    t.same(v:histogram({ 0, 2, 6 }, { density = true }):totable(), { 0.375, 0.0625 })
    t.same(v:histogram(2, { weights = w, density = true }):totable(), { 4 / 24, 4 / 24 })
    t.same(gpu.array({ nan, 0.5, inf }, device):histogram(1, { 0, 1 }):totable(), { 1 })
    local counts, around = gpu.array({ nan, 1, 3, nan, 2 }, "float16", device):histogram(2)
    t.same({ counts:totable(), around:totable() }, { { 1, 2 }, { 1, 2, 3 } }, "NaN has no part in the range")
    t.raises("from nan to nan; name a range", gpu.histogram, gpu.array({ nan, nan }, device))
    t.raises("from 1.0 to inf; name a range", gpu.histogram, gpu.array({ nan, inf, 1 }, device))
    t.raises("low", gpu.histogram, x, 3, { 2, 1 })
    t.raises("two numbers", gpu.histogram, x, 3, { 2 })
    t.raises("bins: their number is from 1", gpu.histogram, x, 0)
    t.raises({ "the weights have the shape (1,)", "the elements" }, gpu.histogram, x, 3, nil, gpu.ones(1, device))
    local values = gpu.array({ { -1, 0, 0.5 }, { 1, 3, nan } }, device)
    t.same(values:histogram({ 0, 0, 1, 3 }):totable(), { 0, 2, 2 })
    t.same(values.T:histogram(gpu.array({ 0, 1, inf }, device), nil, values.T):totable(), { 0.5, 4 })
    t.same(gpu.zeros(0, device):histogram({ 1, 2 }):totable(), { 0 })
    for _, bad in ipairs { { 2, 1 }, { 1 }, {}, { nan, 1 }, { { 1, 2 } } } do t.raises("edge", gpu.histogram, x, bad) end
    t.raises("not both", gpu.histogram, x, { 1, 2 }, { 1, 2 })
  end)

  test("histogram of few bins counts as given edges do", function()
    gpu.seed(46)
    for _, dtype in ipairs { "float32", "float64", "int16" } do
      local x = make(dtype, 3000)
      if dtype ~= "int16" then x["::7"], x["::31"], x["::101"], x["::103"] = nan, inf, -inf, 3 end
      for _, bins in ipairs { 1, 2, 3, 10, 15, 16, 17, 40 } do
        local counts, edges = x:histogram(bins, { -3, 3 })
        assert(counts:equal((x:histogram(edges))), dtype .. " " .. bins)
      end
    end
  end)

  test("histogram2d", function()
    gpu.seed(47)
    local x, y = make("float32", 500), make("float64", 500)
    local counts, xedges, yedges = gpu.histogram2d(x, y, 5, { -3, 4 })
    local want, xs, ys = {}, xedges:totable(), yedges:totable()
    for i = 1, 5 do want[i] = { 0, 0, 0, 0, 0 } end
    local xv, yv = x:totable(), y:totable()
    for i = 1, 500 do
      local row, column = bin_of(xv[i], xs), bin_of(yv[i], ys)
      if row and column then want[row][column] = want[row][column] + 1 end
    end
    t.same(counts:totable(), want)
    t.eq(gpu.histogram2d(x, y):sum(), 500)
    local edges = { -1, 0, 0.25, 2 }
    local uneven, across, along = gpu.histogram2d(x, y, { edges, 4 })
    t.eq(tostring(uneven.shape), "(3, 4)")
    t.eq(#across + #along, 9)
    local both = gpu.histogram2d(x, y, gpu.array(edges, "float64"))
    local inside = x:ge(0) & x:lt(0.25) & y:ge(0.25) & y:le(2)
    t.eq(both[{ 2, 3 }], inside:sum())
    t.raises("not both", gpu.histogram2d, x, y, edges, { 0, 1 })
    t.raises("list of edges", gpu.histogram2d, x, y, "many")
    t.raises("one shape", gpu.histogram2d, x, y[{ { 1, 3 } }])
  end)

  test("histogramdd", function()
    gpu.seed(48)
    local x = make("float32", 3, 400)
    local counts, a, b, c = gpu.histogramdd(x.T, { 3, 4, { -1, 0, 0.25, 2 } })
    t.eq(tostring(counts.shape) .. #a .. #b .. #c, "(3, 4, 3)454")
    t.same(counts:sum({ 2, 3 }):totable(), (x[1][x[3]:ge(-1) & x[3]:le(2)]:histogram(a)):totable())
    t.eq(gpu.histogramdd(x.T):sum(), 400)
    t.near(gpu.histogramdd(x.T, { density = true, bins = { 1, 1, 1 }, range = { { 0, 2 }, { -9, 9 }, { -9, 9 } } }):sum() * 2 * 18 * 18, 1, 1e-6)
    t.same(gpu.histogramdd(gpu.zeros(0, 2, device), 2):totable(), { { 0, 0 }, { 0, 0 } })
    t.raises({ "x is a matrix with a point in each row", "(400,)" }, gpu.histogramdd, x[1])
    t.raises("bins has 2 values, expected one for each of the 3 axes", gpu.histogramdd, x.T, { 2, 2 })
    t.raises("edges of bins or a range along axis 2, not both", gpu.histogramdd, x.T, { 2, { 0, 1 }, 2 }, { nil, { 0, 1 } })
    t.raises("range: expected a list of 3 ranges, each {low, high}, got number", gpu.histogramdd, x.T, 2, 7)
    t.raises("range is a list of 3 ranges", gpu.histogramdd, x.T, 2, { 0, 1 })
    t.raises("the weights have the shape (3,), and the elements (400,)", gpu.histogramdd, x.T, 2, nil, gpu.ones(3, device))
    t.raises("at most 1073741824 cells", gpu.histogramdd, x.T, 2000)
    t.raises("no option 'bin'", gpu.histogramdd, x.T, { bin = 3 })
  end)
end

t.done()
