-- Sorting, against table.sort with the index as the last word.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes

-- A number that orders as the element at v[i] does: booleans as 0 and 1, uint64 as unsigned.
local function before(a, b, dtype)
  if a == true or a == false then return not a and b end
  if dtype == "uint64" then return math.ult(a, b) end
  if a == 0 and b == 0 and math.type(a) == "float" then return 1 / a < 1 / b end
  return a < b
end

-- The indices that sort the list.
local function order_of(v, dtype, descending)
  local order = {}
  for i = 1, #v do order[i] = i end
  table.sort(order, function(i, j)
    local a, b = v[i], v[j]
    if a ~= a or b ~= b then
      if (a ~= a) ~= (b ~= b) then return b ~= b end
      return i < j
    end
    if descending then a, b = b, a end
    if before(a, b, dtype) then return true end
    if before(b, a, dtype) then return false end
    return i < j
  end)
  return order
end

local function same_bits(a, b)
  return a ~= a and b ~= b or a == b and (a ~= 0 or math.type(a) ~= "float" or 1 / a == 1 / b)
end

local function check(x, axis, descending, what)
  local values, indices = x:sort(axis, descending), x:argsort { axis = axis, descending = descending }
  t.eq(values.dtype, x.dtype)
  t.eq(indices.dtype, "int64")
  t.eq(tostring(values.shape), tostring(x.shape))
  t.eq(values:is_contiguous() and indices:is_contiguous(), true)
  local n = x.shape[axis]
  local function lines(a) return a:transpose(axis, -1):clone():reshape(-1, n):totable() end
  local from, sorted, order = lines(x:clone()), lines(values), lines(indices)
  for r, v in ipairs(from) do
    local want = order_of(v, x.dtype, descending)
    for i = 1, n do
      if order[r][i] ~= want[i] or not same_bits(sorted[r][i], v[want[i]]) then
        error(("%s, line %d: [%d] is %s, index %s; expected %s, index %d"):format(what, r, i, sorted[r][i], order[r][i],
          v[want[i]], want[i]), 2)
      end
    end
  end
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  local function make(dtype, ...)
    return t.as(gpu.randn({ ... }, "float32", device) * 40, dtype)
  end

  test("sort every dtype", function()
    gpu.seed(31)
    for _, dtype in ipairs(DTYPES) do
      local x = make(dtype, 3, 300)
      check(x, 2, false, dtype)
      check(x, 2, true, dtype .. ", descending")
    end
  end)

  test("sort odd lengths", function()
    gpu.seed(32)
    for _, n in ipairs({ 1, 5, 7, 11, 13, 48, 49, 4097 }) do
      check(make("float32", n), 1, false, "float32, " .. n)
      check(make("int64", 2, n), 2, true, "int64, " .. n)
      check(make("int16", n, 3), 1, false, "int16, " .. n)
    end
  end)

  test("sort views", function()
    gpu.seed(33)
    local x = make("float32", 11, 26)
    check(x.T, 1, false, "a transposed array")
    check(x["::3, ::-2"], 2, true, "a reversed array")
    check(x[{ {}, { 4, 4 } }]:broadcast_to(11, 9), 2, false, "a broadcast array")
    check(make("uint8", 4, 5, 6), 2, false, "the middle axis")
  end)

  test("sort long rows", function()
    gpu.seed(34)
    for _, dtype in ipairs(t.brief({ "float32", "float64", "uint16", "int64", "bool" }, { "int64" })) do
      check(make(dtype, 70001), 1, false, dtype)
      check(make(dtype, 70001), 1, true, dtype .. ", descending")
    end
    check(gpu.full(70001, 7, "int32", device), 1, false, "equal elements")
    check(gpu.range(1, 70001, "int32", device)["::-1"], 1, false, "a row in reverse")
  end)

  test("sort long keys that differ in few bits, or in all", function()
    gpu.seed(35)
    local function some(n, dtype)
      local near = 1 + gpu.random.integers(0, 700, n, "int64", device):to("float64") * 2.0 ^ -52 -- alike but for the end
      local low = gpu.random.integers(-3, 3, n, "int64", device)
      if dtype == "float64" then
        local far = near:clone()
        far[1], far[n // 2], far[n] = 1e300, -1e-300, 0 / 0
        return { near = near, far = far, whole = low:to("float64"), equal = gpu.zeros(n, dtype, device) }
      end
      local far = low * 1000003 + (1 << 53)
      far[1], far[2], far[n] = math.maxinteger, -5, math.mininteger
      return { low = low:to(dtype), far = far:to(dtype), even = (low << 40):to(dtype), equal = gpu.ones(n, dtype, device) }
    end
    for _, dtype in ipairs { "float64", "int64", "uint64" } do
      for what, x in pairs(some(300, dtype)) do
        for _, descending in ipairs { false, true } do check(x:reshape(3, 100), 2, descending, dtype .. ", " .. what) end
      end
      for what, x in pairs(some(t.brief(70001, t.compiles(device) and 3001 or 20001), dtype)) do
        for _, descending in ipairs { false, true } do
          local values, order = x:sort(1, descending), x:argsort(1, descending)
          assert(x[order]:equal(values) or dtype == "float64" and what == "far", dtype .. ", " .. what)
          local v, o = values:totable(), order:totable()
          local seen = {}
          for i = 1, #o do
            assert(not seen[o[i]] and (i == 1 or v[i] ~= v[i - 1] or o[i] > o[i - 1]), dtype .. ", " .. what .. ", " .. i)
            seen[o[i]] = true
          end
          assert(dtype ~= "float64" or what ~= "far" or x[order][{ { 1, -2 } }]:equal(values[{ { 1, -2 } }]))
          assert(x[x:argsort(1, descending)]:unique():equal(values:unique()) or what == "far", dtype .. ", " .. what)
        end
      end
    end
  end)

  test("sort special values", function()
    local nan, inf = 0 / 0, math.huge
    for _, dtype in ipairs({ "float16", "bfloat16", "float32", "float64" }) do
      local x = gpu.array({ 1, nan, -inf, 0.0, -0.0, inf, -nan, 0.0, -1, -0.0, nan }, dtype, device)
      check(x, 1, false, dtype)
      check(x, 1, true, dtype .. ", descending")
    end
    local whole = gpu.array({ math.maxinteger, -1, math.mininteger, 0, 1 }, "int64", device)
    check(whole, 1, false, "int64")
    check(whole:to("uint64"), 1, true, "uint64")
  end)

  test("sort nothing", function()
    t.eq(gpu.zeros(0, device):sort().size, 0)
    t.eq(tostring(gpu.zeros(0, 3, device):argsort(1).shape), "(0, 3)")
    t.eq(tostring(gpu.zeros(3, 0, device):sort(1).shape), "(3, 0)")
  end)

  test("arguments of sort", function()
    local x = gpu.zeros(2, 3, device)
    t.raises("no axis 3", x.sort, x, 3)
    t.raises({ "no option 'reverse'", "axis and descending" }, x.sort, x, { reverse = true })
    t.raises("no axes", x.sort, x:sum({ 1, 2 }))
    t.raises("array expected", gpu.argsort, { 1, 2 })
  end)
end

t.host("the best of many", function()
  gpu.seed(4)
  for _, dtype in ipairs { "float64", "float32", "int64", "uint8", "int16", "uint64", "float16", "bool" } do
    for _, n in ipairs(t.brief({ 256, 300, 1000, 2049, 65536, 100001 }, { 300, 2049, 100001 })) do
      local whole = gpu.random.integers(0, dtype == "int64" and 1 << 60 or dtype == "bool" and 1 or 200, n, "int64", "cpu")
      local x = dtype:match "float" and gpu.randn(n, dtype, "cpu") or whole:to(dtype)
      if dtype:match "float" then x["::1000"] = 0 / 0 end
      for _, smallest in ipairs { false, true } do
        local all = x:argsort { descending = not smallest }
        for _, k in ipairs { 1, 7, 16, 17, 60, n // 10, n // 3 } do
          local values, indices = x:topk(k, 1, smallest)
          local order = all[{ { 1, k } }]
          assert(indices:equal(order) and values:equal(x[order]), dtype .. " " .. n .. " " .. k)
        end
      end
    end
  end
  local x = gpu.full({ 100000 }, 0 / 0, "float64", "cpu")
  assert(select(2, x:topk(3)):equal(gpu.array { 1, 2, 3 }))
  x[5] = 1
  assert(select(2, x:topk(3)):equal(gpu.array { 5, 1, 2 }))
  local z = gpu.zeros(100000, "float32", "cpu")
  z[9] = -0.0
  assert(select(2, z:topk(2, 1, true)):equal(gpu.array { 9, 1 }))
end)

-- Values alone, which are counted, beside those that the indices choose.
local function sort_rows_of_few(length, dtypes)
  gpu.seed(5)
  for _, dtype in ipairs(dtypes) do
    local float = dtype:match "float"
    local x = float and gpu.randn({ 3, length }, dtype, "cpu") or
      gpu.random.integers(0, 70000, { 3, length }, "int64", "cpu"):to(dtype)
    if float then x["1:2, ::1000"], x["2:3, ::777"], x["::2, ::333"], x["::2, 5"] = 0 / 0, -0.0, 0, -math.huge end
    for _, descending in ipairs { false, true } do
      local sorted = x:sort(2, descending)
      for i = 1, 3 do
        local want = x[i][x[i]:argsort { descending = descending }]
        local where = dtype .. " " .. i .. (descending and " descending" or "")
        if float then
          local nan = want:isnan()
          assert(sorted[i]:isnan():equal(nan), where)
          assert(sorted[i][~nan]:equal(want[~nan]) and sorted[i][~nan]:signbit():equal(want[~nan]:signbit()), where)
        else
          assert(sorted[i]:equal(want), where)
        end
      end
    end
  end
end

t.host("long rows of few different elements", function()
  for _, length in ipairs { 8191, 8192 } do -- by vectors, and byte by byte
    sort_rows_of_few(length, { "int8", "uint8", "int16", "uint16", "int32", "int64", "bool" })
  end
  sort_rows_of_few(70001, { "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "bool" })
  sort_rows_of_few(t.brief(500003, 70001), { "int16", "uint16", "float16", "bfloat16" })
end)

-- Rows in order are left as they are; in these one element, at each place in turn, belongs before the one before it.
t.host("rows that are nearly in order", function()
  for _, dtype in ipairs { "float32", "float64", "int16", "int64" } do
    for _, n in ipairs { 1, 2, 16, 17, 18, 33, 50 } do
      local x = gpu.range(2, 2 * n, 2, dtype, "cpu"):reshape(1, n):tile(n, 1) - gpu.eye(n, dtype, "cpu") * 3
      local sorted, order = x:sort(2), x:argsort(2)
      for row = 1, n do
        local places, values = {}, {}
        for i = 1, n do places[i] = i end
        if row > 1 then places[row - 1], places[row] = row, row - 1 end
        for i = 1, n do values[i] = 2 * places[i] - (places[i] == row and 3 or 0) end
        t.same(order[row]:totable(), places, dtype .. n)
        t.same(sorted[row]:totable(), values, dtype .. n)
      end
    end
  end
end)

-- Parts of a row that are parted further by one thread, beside what the indices choose.
t.host("rows of a million and more", function()
  gpu.seed(6)
  local n = 1200007
  local rising = gpu.range(0, n - 1, "int64", "cpu")
  local rows = { rising, rising:flip(), gpu.minimum(rising, n - rising), rising * 0, gpu.random.integers(0, 3, n, "cpu"),
    gpu.random.integers(-1 << 30, 1 << 30, n, "cpu") }
  for i, row in ipairs(rows) do
    for _, dtype in ipairs(t.brief({ "float32", "float64", "int32", "int64" }, { i % 2 == 0 and "int32" or "float64" })) do
      local x = gpu.evaluate(row:to(dtype))
      local sorted, places = x:sort(), x:argsort()
      assert(x:take(places):equal(sorted) and sorted:diff():ge(0):all(), dtype .. i)
      assert(x:sort(1, true):flip():equal(sorted), dtype .. i)
      assert(gpu.bincount(places):sum() == n and gpu.bincount(places):max() == 1, dtype .. i)
    end
  end
end)

for _, threads in ipairs(t.compiles(t.devices()[1]) and {} or { 1, 3, 16 }) do
  t.again("tests/lua/sort.lua 'long rows of few'", "LUNARRAY_THREADS=" .. threads, 0)
end

t.done()
