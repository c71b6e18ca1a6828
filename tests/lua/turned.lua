-- What runs along another axis than its result: copies and operations that go by tiles, whose last rows and columns are
-- parts of lines, or, where all operands lie alike, are computed as they lie and then turned. Each row of a result is compared with the elements that belong there, as one axis, which no tile has.
-- And reductions of what is not in order in memory, compared with those of contiguous copies.
local t = dofile("tests/lua/test.lua")
local test = t.every
local dtypes = { "uint8", "int16", "float32", "float64", "complex128" }
local lengths = t.brief({ 1, 3, 8, 15, 17, 33, 63, 64, 65, 100, 129, 317 }, { 1, 17, 65, 130 })

-- Values that differ from their neighbours' along both axes, in a storage that ends with them.
local function made(device, dtype, rows, columns)
  local i, j = gpu.range(1, rows, device):reshape(rows, 1), gpu.range(1, columns, device)
  return ((i * 7 + j * 31 + i * j) % 113):to(dtype)
end

local function agrees(got, x, f, what)
  for i = 1, x.shape[1] do
    local want = x[i]:clone()
    if f then want = f(want, i) end
    assert(got[i]:equal(want), ("%s, row %d of %s"):format(what, i, tostring(x)))
  end
end

local function each(x, row, what)
  agrees(x:clone(), x, nil, what .. " copied")
  agrees(x + 1, x, function(v) return v + 1 end, what .. " and a number")
  agrees(x * row, x, function(v) return v * row end, what .. " and a row")
  local whole = x:clone()
  agrees(whole - x * 2, x, function(v, i) return whole[i] - v * 2 end, what .. " and what lies otherwise")
  agrees(x:ne(row[1]), x, function(v) return v:ne(row[1]) end, what .. " compared")
end

test("turned matrices of all dtypes and shapes", function(device)
  for _, dtype in ipairs(dtypes) do
    for k, rows in ipairs(lengths) do
      local columns = lengths[#lengths + 1 - k]
      for _, shape in ipairs { { rows, columns }, { rows, 64 }, { 64, rows } } do
        local a = made(device, dtype, shape[1], shape[2])
        each(a.T, a[{ {}, 1 }]:clone(), ("%s %d x %d"):format(dtype, shape[2], shape[1]))
      end
    end
  end
end)

test("turned matrices of 5,120 bytes, behind which there is no more memory", function(device)
  for dtype, columns in pairs { uint8 = 80, int16 = 40, float32 = 20, float64 = 10 } do
    local a = made(device, dtype, 64, columns):clone()
    each(a.T, a[{ {}, 1 }]:clone(), dtype)
  end
end)

test("turned parts, backwards, and of windows", function(device)
  for _, dtype in ipairs(dtypes) do
    local a = made(device, dtype, 70, 101)
    each(a["4:, 9:"].T, a["4:, 1"]:clone(), dtype .. " at the end")
    each(a["4:-2, 9:-5"].T, a["4:-2, 1"]:clone(), dtype .. " within")
    each(a:flip(1).T, a[{ {}, 1 }]:clone(), dtype .. " columns backwards")
    each(a:flip(2).T, a[{ {}, 1 }]:clone(), dtype .. " rows backwards")
    each(a["::3"].T, a["::3, 1"]:clone(), dtype .. " every third")
    local x = a:flatten()
    for _, size in ipairs { 17, 40 } do
      local windows = x["1:300"]:unfold(1, size).T
      each(windows, windows[1]:clone(), dtype .. " windows")
    end
  end
end)

test("turned axes of more", function(device)
  for _, dtype in ipairs { "uint8", "float32" } do
    local k = made(device, dtype, 21 * 33, 67):reshape(21, 33, 67)
    for _, order in ipairs { { 3, 2, 1 }, { 1, 3, 2 }, { 3, 1, 2 }, { 2, 3, 1 } } do
      local x = k:permute(table.unpack(order))
      local other = (k * 3):permute(table.unpack(order))
      gpu.evaluate(other)
      local copy, sum, both = x:clone(), x + 1, x * 2 - other
      local places = gpu.range(0, x.size - 1, 1, "int64", device):reshape(x.shape)
      local before = x:le(places)
      for i = 1, x.shape[1] do
        for j = 1, x.shape[2] do
          local want = x[{ i, j }]:clone()
          assert(copy[{ i, j }]:equal(want) and sum[{ i, j }]:equal(want + 1), table.concat(order) .. dtype)
          assert(both[{ i, j }]:equal(want * 2 - other[{ i, j }]:clone()), table.concat(order) .. dtype)
          assert(before[{ i, j }]:equal(want:le(places[{ i, j }])), table.concat(order) .. dtype)
        end
      end
    end
  end
end)

test("turned into rows that lie apart", function(device)
  for _, dtype in ipairs(dtypes) do
    local a, out = made(device, dtype, 77, 133), gpu.full({ 140, 90 }, 5, dtype, device)
    out["3:135, 9:85"] = a.T
    agrees(out["3:135, 9:85"], a.T, nil, dtype)
    assert(gpu.all(out["1:2"]:eq(5)) and gpu.all(out["136:"]:eq(5)) and gpu.all(out[":, 1:8"]:eq(5)) and
      gpu.all(out[":, 86:"]:eq(5)), dtype)
    out["3:135, 9:85"] = a.T + 1
    agrees(out["3:135, 9:85"], a.T, function(v) return v + 1 end, dtype)
    assert(gpu.all(out["1:2"]:eq(5)) and gpu.all(out[":, 86:"]:eq(5)), dtype)
  end
end)

test("turned matrices so large that they go past the cache", function(device)
  for dtype, n in pairs { uint8 = 4163, int16 = 2953, float32 = 2087, float64 = 1471, complex128 = 1031 } do
    local a = made(device, dtype, n, n - 2)
    local x, some = a.T, { 1, 2, 63, 64, 65, 500, n - 17, n - 3, n - 2 }
    local copy, sum = x:clone(), x + 1
    for _, i in ipairs(some) do
      local want = x[i]:clone()
      assert(copy[i]:equal(want) and sum[i]:equal(want + 1), ("%s, row %d"):format(dtype, i))
    end
    local function total(v) return (dtype == "float32" and v:to("float64") or v):sum() end -- exactly, in any order
    assert(total(copy) == total(a) and (sum - copy):eq(1):all(), dtype)
  end
end)

-- Arrays and others that lie as they do, in layouts whose order in memory is not that of their axes.
local function layouts(device, dtype)
  local a, b = made(device, dtype, 37, 131), (made(device, dtype, 37, 131) * 3 % 50):to(dtype):clone()
  local k, l = made(device, dtype, 30, 77):reshape(6, 5, 77), made(device, dtype, 5, 462):reshape(6, 5, 77)
  return {
    { a.T, b.T }, { a:flip(2).T, b:flip(2).T }, { a:flip(1), b:flip(1) }, { a["::2"].T, b["::2"].T },
    { gpu.expand(a[1], 37, 131), gpu.expand(b[2], 37, 131) }, { gpu.expand(a[{ {}, { 1 } }], 37, 131), gpu.expand(b[{ {}, { 3 } }], 37, 131) },
    { k:permute(3, 1, 2), l:permute(3, 1, 2) }, { k:permute(2, 3, 1), l:permute(2, 3, 1) }, { k:permute(2, 1, 3), l:permute(2, 1, 3) },
    { a.T, a["1:, 1:"]:clone().T }, { a.T, b.T:clone() }, { a["1:0"].T, b["1:0"].T },
  }
end

test("what is computed from arrays that lie alike, combined in the order of memory", function(device)
  for _, dtype in ipairs { "bool", "uint8", "int32", "float32", "float64" } do
    for n, pair in ipairs(layouts(device, dtype)) do
      local x, y = pair[1], pair[2]
      local u, v = x:clone(), y:clone()
      local axes = x.ndim == 2 and { { 1, 2 }, 1, 2 } or { { 1, 2, 3 }, 1, 2, 3, { 1, 2 }, { 2, 3 } }
      for _, axis in ipairs(axes) do
        local function same(f, what)
          local got, want = f(x, y, axis), f(u, v, axis)
          assert(type(got) == "number" and got == want or got:equal(want), ("%s of %s, layout %d"):format(what, dtype, n))
        end
        same(function(p, q, i) return gpu.any(p:eq(q), i, true) end, "any")
        same(function(p, q, i) return gpu.all(p:le(q), i, true) end, "all")
        same(function(p, q, i) return gpu.sum(p:lt(q), i, true) end, "sum")
        same(function(p, _, i) return gpu.sum(p:ge(2), i, true) end, "sum of one")
        same(function(p, q, i) return gpu.sum((p:to("int32") * q:to("int32") + 1), i, true) end, "sum of products")
        same(function(p, q, i) return gpu.sum(gpu.where(p:gt(q), 2, 1), i, true) end, "sum of chosen")
        if x.size > 0 then
          same(function(p, q, i) return gpu.max(p:to("int64") - q:to("int64"), i, true) end, "max")
          same(function(p, _, i) return gpu.nanmax(p, i, true) end, "nanmax")
        end
      end
      assert(gpu.equal(x, y) == gpu.equal(u, v) and gpu.equal(x, x))
      if dtype ~= "bool" and x.size > 0 then
        for _, f in ipairs { "norm", "std", "var", "nansum", "nanmean", "nanstd", "ptp", "count_nonzero" } do
          local got, want = gpu[f](x), gpu[f](u)
          assert(math.abs(got - want) <= 1e-5 * math.abs(want), ("%s of %s, layout %d"):format(f, dtype, n))
        end
      end
    end
  end
end)

t.done()
