-- Functions that are put together from others: what they refuse, what they make of nothing, dtypes, devices. Their values
-- are compared with NumPy's in tests/numpy/test_composed.py.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local nan = 0 / 0

t.every("results have the dtype of what they come from", function(device)
  for _, dtype in ipairs({ "float16", "float32", "float64", "int32", "int64" }) do
    local x = gpu.range(6, dtype, device):reshape(2, 3)
    local floating = dtype:find("float") and dtype or dtype == "int64" and "float64" or "float32"
    t.eq(x:diff().dtype, dtype)
    t.eq(x:ptp(1).dtype, dtype)
    for _, name in ipairs({ "gradient", "unwrap", "softmax", "log_softmax", "cov", "corrcoef" }) do
      t.eq(gpu[name](x).dtype, floating, name)
    end
    for _, name in ipairs({ "nanmean", "nanvar", "nanstd", "nanmedian", "average", "trapezoid" }) do
      t.eq(x[name](x, 2).dtype, floating, name)
      t.eq(x[name](x, 2).device, device)
    end
    for _, name in ipairs({ "nansum", "nanmin", "nancumsum" }) do
      t.eq(x[name](x, 2).dtype, dtype == "int32" and name ~= "nanmin" and "int64" or dtype, name)
    end
    t.eq(gpu.union1d(x, x).dtype, dtype)
  end
end)

t.every("over everything they are Lua numbers", function(device)
  local x = gpu.array({ 1, nan, 3 }, device)
  for _, name in ipairs({ "nansum", "nanmean", "nanmax", "nanstd", "nanmedian" }) do
    t.eq(math.type(x[name](x)), "float", name)
    t.eq(x[name](x, nil, true).ndim, 1)
    t.eq(x[name](x, { keepdims = true }).ndim, 1)
  end
  t.eq(x:nanargmax(), 3)
  t.eq(gpu.array({ 1, 3 }, device):trapezoid(), 2.0)
  t.eq(gpu.array({ 1, 3 }, device):cov(), 2.0)
  t.eq(gpu.array({ 1, 3 }, device):corrcoef(), 1.0)
  t.eq(gpu.array({ 1, 3 }, "int32", device):ptp(), 2)
  t.eq(gpu.digitize(2.5, { 1, 2, 3 }), 2)
  t.eq(gpu.digitize(2.5, { 3, 2, 1 }), 1)
  t.same(gpu.array({ 1, 2, 3, 0.5, 4 }, device):digitize({ 3, 2, 1 }):totable(), { 2, 1, 0, 3, 0 })
  t.same(gpu.array({ 1, 2, 3, 0.5, 4 }, device):digitize({ 3, 2, 1 }, true):totable(), { 3, 2, 1, 3, 0 })
end)

t.every("extremes of many elements, of which none, some or all are NaN", function(device)
  for _, dtype in ipairs({ "float32", "float64" }) do
    local x = gpu.evaluate((gpu.range(0, 99999, dtype, device) * 7919) % 100003)
    local least, greatest = math.huge, -math.huge
    for _, v in ipairs(x:totable()) do least, greatest = math.min(least, v), math.max(greatest, v) end
    t.same({ x:nanmin(), x:nanmax() }, { least, greatest })
    local y = x:clone()
    y[{ { 1000, 1100 } }] = nan
    y[1], y[-1] = least - 1, nan
    t.same({ y:nanmin(), y:nanmax() }, { least - 1, y[{ { 1, 999 } }]:max() > y[{ { 1101, -2 } }]:max()
      and y[{ { 1, 999 } }]:max() or y[{ { 1101, -2 } }]:max() })
    y[{}] = nan
    t.same({ y:nanmin(), y:nanmax() }, { nan, nan })
    y[5] = -math.huge
    t.same({ y:nanmin(), y:nanmax() }, { -math.huge, -math.huge })
    local m = x[{ { 1, 60000 } }]:reshape(200, 300):clone()
    for _, axis in ipairs({ 1, 2 }) do
      assert(m:nanmax(axis):equal(m:max(axis)) and m:nanmin(axis):equal(m:min(axis)))
      local some, without = m:clone(), m:clone()
      some[{ 7, {} }], without[{ 7, {} }] = nan, -math.huge
      some[{ {}, 9 }], without[{ {}, 9 }] = nan, -math.huge
      local want = without:max(axis)
      want[axis == 1 and 9 or 7] = nan
      assert(gpu.equal(some:nanmax(axis):nan_to_num(-1), want:nan_to_num(-1)))
    end
  end
end)

t.every("many elements and sets of few, of which each is compared, and of more", function(device)
  for _, dtype in ipairs({ "bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64" }) do
    local most = dtype == "bool" and 1 or 100
    local x = (gpu.range(0, 29999, "int64", device) * 7919 % (most + 1)):to(dtype)
    if dtype:find "float" then x = x * 0.25 - 3 end
    x[17] = dtype:find "float" and nan or 1
    local values = x:totable()
    for _, size in ipairs({ 1, 2, 11, 12, 13 }) do
      local set, member = x[{ { 1, size } }]:clone(), {}
      for _, v in ipairs(set:totable()) do member[v] = true end
      local want = {}
      for i, v in ipairs(values) do want[i] = member[v] or false end
      want = gpu.array(want, "bool", device)
      assert(x:isin(set):equal(want), dtype .. size)
      assert(x["::-1"]:isin(set):equal(want:flip()) and (x + 0):isin(set:totable()):equal(want), dtype .. size)
    end
  end
end)

t.every("rows of nothing but NaN", function(device)
  local x = gpu.array({ { nan, nan }, { 1, nan } }, device)
  t.same(x:nansum(2):totable(), { 0, 1 })
  t.same(x:nanmax(2):totable(), { nan, 1 })
  t.same(x:nanmean(2):totable(), { nan, 1 })
  t.same(x:nanmedian(2):totable(), { nan, 1 })
  t.same(x:nanvar(2, false, 1):totable(), { nan, nan })
  t.raises("nanargmin: there is a row of nothing but NaN", x.nanargmin, x, 2)
  t.raises("nanargmax: all elements are NaN", gpu.nanargmax, x[1])
  t.eq(gpu.array({ -math.huge, nan }, device):nanmedian(), -math.huge)
  for _, dtype in ipairs({ "float32", "float64" }) do -- two whose distance no number is large enough for
    local most = dtype == "float32" and 0x1.fffffep127 or 0x1.fffffffffffffp1023
    for _, c in ipairs({ { -most, most, 0 }, { 2, math.huge, math.huge }, { -most, 0, -most / 2 } }) do
      local x = gpu.array({ c[1], c[2] }, dtype, device)
      t.eq(x:median(), c[3])
      t.eq(x:nanmedian(), c[3])
      t.same(gpu.stack({ x, x, x }):median(2):totable(), { c[3], c[3], c[3] })
      t.eq(gpu.ndimage.median(x, gpu.ones(2, "int32", device), { 1 })[1], c[3])
    end
  end
end)

t.every("of nothing", function(device)
  local none, rows = gpu.zeros(0, device), gpu.zeros(3, 0, device)
  t.eq(none:diff().size, 0)
  t.same(rows:diff(2, 1).shape, { 1, 0 })
  t.eq(none:trapezoid(), 0.0)
  t.eq(none:nansum(), 0.0)
  t.same(rows:nansum(2):totable(), { 0, 0, 0 })
  t.eq(none:softmax().size, 0)
  t.same(rows:log_softmax(1).shape, { 3, 0 })
  t.eq(none:isin({ 1 }).size, 0)
  t.eq(gpu.array({ 1 }, device):isin(none):sum(), 0)
  t.eq(gpu.union1d(none, { 2 }):sum(), 2)
  t.eq(gpu.setxor1d(none, none).size, 0)
  t.same(gpu.one_hot(none, 3).shape, { 0, 3 })
  t.eq(gpu.polyval({}, gpu.ones(2, device)):sum(), 0)
  t.eq(gpu.roots({ 3 }).size, 0)
  t.eq(gpu.hanning(0, device).size, 0)
  t.raises("axis 1 has the size 0", none.gradient, none)
  t.raises("nanmedian of no elements", none.nanmedian, none)
  t.raises("there are no points", gpu.interp, 1, {}, {})
  t.raises("there are no observations", none.cov, none)
end)

t.every("coordinates whose distances halves can't tell", function(device)
  local at, half = { 100.01, 100.11, 100.2, 100.31 }, gpu.array({ 1, 2, 4, 8 }, "float16", device)
  local want = gpu.array({ 1, 2, 4, 8 }, "float64", device)
  t.eq(half:gradient(at).dtype, "float16")
  assert(gpu.allclose(half:gradient(at), want:gradient(at), { rtol = 2e-3 }))
  t.near(half:trapezoid(at), want:trapezoid(at), 2e-3)
end)

t.every("what they refuse, and what to write instead", function(device)
  local x, z = gpu.range(6, device):reshape(2, 3), gpu.complex(gpu.ones(2, device), 1)
  t.raises("diff: n is -1, expected how often, 0 or more", x.diff, x, -1)
  t.raises({ "diff: there is no option 'axes'; it is called axis" }, x.diff, x, { axes = 1 })
  t.raises("a table of options stands behind the other arguments", x.diff, x, { n = 1 }, 2)
  t.raises("no axis 3", x.diff, x, 1, 3)
  t.raises("numbers or arrays, not string", function() return x:diff({ prepend = "a" }) end)
  t.raises("there are 2 coordinates for the 3 elements of axis 2", x.trapezoid, x, { 1, 2 })
  t.raises("there are 2 coordinates for the 3 elements of axis 2", x.gradient, x, { 1, 2 }, 2)
  t.raises("the spacings are 3, expected one for each of the 2 axes", x.gradient, x, { 1, 2, 3 })
  t.raises("a number or the coordinates along an axis, not string", x.gradient, x, "a")
  t.raises("there are 3 points and 2 values", gpu.interp, x, { 1, 2, 3 }, { 1, 2 })
  t.raises("unwrap: period is 0", x.unwrap, x, { period = 0 })
  t.raises({ "cross: argument 2 has the shape (2,)", "3 elements along axis 1" }, gpu.cross, x, gpu.ones(2, device))
  t.raises({ "the weights have the shape (2,)", "the elements (2, 3)" }, x.average, x, 2, { 1, 2 })
  local one = gpu.full({}, 3, "int32")
  assert(one:average() == 3.0 and one:average({ weights = one }) == 3.0 and one:average({ keepdims = true }).ndim == 0)
  t.raises("a percentage is from 0 to 100", x.percentile, x, 101)
  t.raises("a percentage is from 0 to 100", x.percentile, x, { 50, -1 })
  t.raises("q is from 0 to 1, got 1.5", x.nanquantile, x, 1.5)
  t.raises("of x there are 3 observations, of y 2", x.cov, x, gpu.ones(2, device))
  t.raises("not of 3", gpu.cov, gpu.ones(2, 2, 2, device))
  t.raises("corrcoef: ddof makes no difference", x.corrcoef, x, { ddof = 1 })
  for _, name in ipairs({ "isin", "intersect1d", "digitize" }) do t.raises("complex", gpu[name], z, { 1 }) end
  for _, name in ipairs({ "ptp", "nanmax", "nanmedian", "softmax", "unwrap" }) do t.raises("complex", gpu[name], z) end
  t.raises("the classes reach from 1 to 6, expected 1 to 4", x.one_hot, x, 4)
  t.raises("the classes reach from 0", gpu.one_hot, { 0, 1 }, 4)
  t.raises("one_hot: classes are whole numbers", gpu.one_hot, { 1.5 }, 4)
  t.raises("one_hot: classes are whole numbers", gpu.one_hot, gpu.array({ 1, 2.5 }), 4)
  assert(gpu.one_hot(gpu.array({ 2.0, 1.0 }), 2):equal(gpu.array { { 0, 1 }, { 1, 0 } }))
  t.raises("there are 1 conditions and 2 choices", gpu.select, { x:gt(1) }, { 1, 2 })
  t.raises("condition 1 is boolean, expected an array, as x:gt(0)", gpu.select, { true }, { 1 })
  t.raises("a list of conditions expected", gpu.select, x:gt(1), { 1 })
  t.raises("the indices reach from 1.0 to 6.0, expected 1 to 2", gpu.choose, x, { 1, 2 })
  t.raises("choose: choice 2 is string, expected an array or a number", gpu.choose, gpu.ones(2, "int32", device), { 1, "a" })
  t.raises("there are 2 conditions and 1 pieces", gpu.piecewise, x, { x:gt(1), x:gt(2) }, { 1 })
  t.raises("piece 1 is string", gpu.piecewise, x, { x:gt(1) }, { "one" })
  t.raises("key 2 is not", gpu.lexsort, { gpu.ones(3), gpu.ones(2) })
  t.raises("different depth, 1 and 2", gpu.block, { 1, { 2 } })
  t.raises("a list is empty", gpu.block, { {} })
  t.raises("two axes or more", gpu.rot90, gpu.ones(3, device))
  local wide = gpu.zeros(2, 2049, "float16", device) -- which has no 2049
  wide[{ {}, 2049 }] = 1
  local places = gpu.apply_along_axis(function(v) return v:argmax() end, 2, wide)
  t.same({ places.dtype, places:totable() }, { "int64", { 2049, 2049 } })
  t.raises("the function returned nil", gpu.apply_along_axis, function() end, 1, x)
  local calls = 0
  t.raises("the function returned array, and something else before", gpu.apply_along_axis, function(v)
    calls = calls + 1
    return calls == 1 and v:sum() or v
  end, 1, x)
  t.raises("coefficient 2 is string", gpu.polyval, { 1, "a" }, x)
  t.raises("the degree is negative", gpu.polyfit, { 1, 2 }, { 1, 2 }, -1)
  t.raises("a window has a floating dtype, not int32", gpu.hanning, 4, "int32")
  t.raises("a window has a floating dtype, not int32", gpu.kaiser, 4, 1, "int32")
  t.raises("beta is from -700 to 700", gpu.kaiser, 4, 1e9)
  t.raises("an axis is an integer", x.nansum, x, "all")
end)

t.every("places in arrays of a shape", function(device)
  local i, j = gpu.unravel_index(gpu.array({ 1, 6 }, "int8", device), { 2, 3 })
  t.same({ i:totable(), j:totable(), i.dtype, i.device }, { { 1, 2 }, { 1, 3 }, "int64", device })
  t.same({ gpu.unravel_index(6, gpu.zeros(2, 3, device).shape) }, { 2, 3 })
  t.same({ gpu.unravel_index(1, {}) }, {})
  t.same(gpu.ravel_multi_index({ 2, gpu.array({ 1, 3 }, "int32", device) }, { 2, 3 }):totable(), { 4, 6 })
  t.same(gpu.ravel_multi_index({ gpu.array({ 1, 2 }, "int32", device), 3 }, { 2, 3 }):totable(), { 3, 6 })
  t.raises("index 7 is out of range for an array of this shape, which has 6 elements", gpu.unravel_index, 7, { 2, 3 })
  t.raises("index 0 is out of range", gpu.unravel_index, { 0, 1 }, { 2, 3 })
  t.raises("indices are whole numbers, not float32", gpu.unravel_index, gpu.ones(2, device), { 2, 3 })
  t.raises("an index is a whole number, not 3.5", gpu.unravel_index, 3.5, { 2, 3 })
  t.raises("the shape is too large", gpu.unravel_index, 3, { 1 << 40, 1 << 40 })
  t.raises("index 4 is out of range for axis 2, which has 3 elements", gpu.ravel_multi_index, { 1, 4 }, { 2, 3 })
  t.raises("there are 1 indices for a shape of 2 axes", gpu.ravel_multi_index, { 1 }, { 2, 3 })
end)

t.every("functions of matrices", function(device)
  local la, a = gpu.linalg, gpu.array({ { 1, 2 }, { 3, 4 } }, device)
  for _, dtype in ipairs({ "float16", "float32", "float64", "int32" }) do
    t.eq(la.expm(a:to(dtype) // 4).dtype, dtype == "int32" and "float32" or dtype)
  end
  assert(la.expm(gpu.zeros(3, 2, 2, device)):equal(gpu.eye(2):broadcast_to(3, 2, 2)))
  t.same(la.expm(gpu.zeros(0, 2, 2, device)).shape, { 0, 2, 2 })
  t.raises("expm: the matrix must be square, the shape is (2, 3)", la.expm, gpu.ones(2, 3, device))
  t.raises("not finite", la.expm, gpu.full({ 2, 2 }, math.huge, device))
  local p, l, u = la.lu(gpu.zeros(2, 3, device)) -- singular matrices have them, too
  assert(p:equal(gpu.eye(2)) and l:equal(gpu.eye(2)) and u:equal(gpu.zeros(2, 3)))
  p, l, u = la.lu(gpu.zeros(4, 3, 0, device))
  t.same({ p.shape[2], l.shape[3], u.shape[2] }, { 3, 0, 0 })
  t.raises("item 2 has 3 rows, and the one before it 2 columns", la.multi_dot, { a, gpu.ones(3, 1, device) })
  t.raises("item 2 has 1 axes, expected 2", la.multi_dot, { a, gpu.ones(2, device), a })
  t.raises("a list of 2 to 64 matrices expected, got 1", la.multi_dot, { a })
end)

t.every("into an array that there is", function(device)
  local x, out = gpu.array({ { 1, nan }, { 3, 4 } }, device), gpu.zeros(2, device)
  t.eq(x:nansum(2, { out = out }), out)
  t.same(out:totable(), { 1, 7 })
  t.same(x:nanmax({ axis = 1, out = out }):totable(), { 3, 4 })
end)

t.every("a message has the place of the call", function(device)
  if device == "cpu" then return end
  local e = t.raises("on different devices", function() return gpu.isin(gpu.ones(2, device), gpu.ones(2, "cpu")) end)
  assert(e:find("composed.lua:%d+:"), e)
end)

-- Points of one dtype and values of another: as if all had the wider one, but that a width of float32 is computed so.
t.every("interp of mixed dtypes", function(device)
  for _, n in ipairs { 1, 3, 100, 5000 } do
    local xp = gpu.range(0, 40, 1, "float64", device)
    local fp = (xp * 37 % 11)
    local x = (gpu.range(1, 2 * n, "int64", device) * 29 % 173):to("float32") / 4 - 1
    for _, v in ipairs { x[{ { 1, n } }], x["::2"], x["::-2"], x:reshape(2, n).T } do
      local want = v:to("float64"):interp(xp, fp, -7, 8)
      for _, points in ipairs { "float32", "float64" } do
        for _, heights in ipairs { "float32", "float64" } do
          local got = v:interp(xp:to(points), fp:to(heights), -7, 8)
          t.eq(got.dtype, (points == "float64" or heights == "float64") and "float64" or "float32")
          assert(got:to("float64"):equal(want), points .. heights .. n)
          local other = v:to("float64"):interp(xp:to(points), fp:to(heights), -7, 8)
          assert(other.dtype == "float64" and other:equal(want), "float64 " .. points .. heights .. n)
        end
      end
    end
    local near = gpu.array({ 1 + 2 ^ -40 }, "float64", device) -- that float32 does not tell from 1
    t.eq(near:interp(xp:to("float32"), xp)[1], 1 + 2 ^ -40)
  end
end)

t.done()
