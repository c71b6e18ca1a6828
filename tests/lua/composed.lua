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

t.every("what they refuse, and what to write instead", function(device)
  local x, z = gpu.range(6, device):reshape(2, 3), gpu.complex(gpu.ones(2, device), 1)
  t.raises("0 times or more", x.diff, x, -1)
  t.raises({ "diff: there is no option 'axes'; there are n, axis, prepend and append" }, x.diff, x, { axes = 1 })
  t.raises("a table of options stands alone", x.diff, x, { n = 1 }, 2)
  t.raises("no axis 3", x.diff, x, 1, 3)
  t.raises("numbers or arrays, not string", function() return x:diff({ prepend = "a" }) end)
  t.raises("there are 2 coordinates for the 3 elements of axis 2", x.trapezoid, x, { 1, 2 })
  t.raises("there are 2 coordinates for the 3 elements of axis 2", x.gradient, x, { 1, 2 }, 2)
  t.raises("the spacings are 3, expected one for each of the 2 axes", x.gradient, x, { 1, 2, 3 })
  t.raises("there are 3 points and 2 values", gpu.interp, x, { 1, 2, 3 }, { 1, 2 })
  t.raises("the period is above 0", x.unwrap, x, { period = 0 })
  t.raises({ "cross: argument 2 has the shape (2,)", "3 elements along axis 1" }, gpu.cross, x, gpu.ones(2, device))
  t.raises({ "the weights have the shape (2,)", "the elements (2, 3)" }, x.average, x, 2, { 1, 2 })
  t.raises("a percentage is from 0 to 100", x.percentile, x, 101)
  t.raises("a percentage is from 0 to 100", x.percentile, x, { 50, -1 })
  t.raises("q is from 0 to 1, got 1.5", x.nanquantile, x, 1.5)
  t.raises("of x there are 3 observations, of y 2", x.cov, x, gpu.ones(2, device))
  t.raises("not of 3", gpu.cov, gpu.ones(2, 2, 2, device))
  t.raises("corrcoef: ddof makes no difference", x.corrcoef, x, { ddof = 1 })
  for _, name in ipairs({ "isin", "intersect1d", "digitize" }) do t.raises("complex", gpu[name], z, { 1 }) end
  for _, name in ipairs({ "ptp", "nanmax", "nanmedian", "softmax", "unwrap" }) do t.raises("complex", gpu[name], z) end
  t.raises("the classes reach from 1.0 to 6.0, expected 1 to 4", x.one_hot, x, 4)
  t.raises("the classes reach from 0", gpu.one_hot, { 0, 1 }, 4)
  t.raises("there are 1 conditions and 2 choices", gpu.select, { x:gt(1) }, { 1, 2 })
  t.raises("condition 1 is boolean, expected an array, as x:gt(0)", gpu.select, { true }, { 1 })
  t.raises("a list of conditions expected", gpu.select, x:gt(1), { 1 })
  t.raises("the indices reach from 1.0 to 6.0, expected 1 to 2", gpu.choose, x, { 1, 2 })
  t.raises("there are 2 conditions and 1 pieces", gpu.piecewise, x, { x:gt(1), x:gt(2) }, { 1 })
  t.raises("piece 1 is string", gpu.piecewise, x, { x:gt(1) }, { "one" })
  t.raises("key 2 is not", gpu.lexsort, { gpu.ones(3), gpu.ones(2) })
  t.raises("different depth, 1 and 2", gpu.block, { 1, { 2 } })
  t.raises("a list is empty", gpu.block, { {} })
  t.raises("two axes or more", gpu.rot90, gpu.ones(3, device))
  t.raises("the function returned nil", gpu.apply_along_axis, function() end, 1, x)
  t.raises("coefficient 2 is string", gpu.polyval, { 1, "a" }, x)
  t.raises("the degree is negative", gpu.polyfit, { 1, 2 }, { 1, 2 }, -1)
  t.raises("a window has a floating dtype, not int32", gpu.hanning, 4, "int32")
  t.raises("an axis is an integer", x.nansum, x, "all")
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

t.done()
