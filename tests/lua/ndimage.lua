-- gpu.ndimage: what it refuses, what it makes of nothing, dtypes and devices. Values are compared with SciPy's in
-- tests/numpy/test_ndimage.py.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local nd = gpu.ndimage

t.every("dtypes and devices", function(device)
  for _, dtype in ipairs(t.compiles(device) and { "float16", "uint8", "int64" } or { "float16", "float32", "float64", "uint8", "int64" }) do
    local x = gpu.ones(4, 5, dtype, device)
    local floating = dtype:find("float") and dtype or dtype == "int64" and "float64" or "float32"
    for _, y in ipairs({ nd.gaussian_filter(x, 1), nd.uniform_filter(x, 3), nd.zoom(x, 2), nd.correlate(x, { { 1 } }) }) do
      t.eq(y.dtype, floating)
      t.eq(y.device, device)
      t.near(y:mean(), 1, 2e-3)
    end
    for _, y in ipairs({ nd.median_filter(x, 3), nd.maximum_filter(x, 2), nd.zoom(x, 2, 0) }) do
      t.eq(y.dtype, dtype)
      t.eq(y:to("float32"):mean(), 1)
    end
    local labels, count = nd.label(x)
    t.eq(labels.dtype .. labels.device, "int32" .. device)
    t.eq(count, 1)
    t.eq(nd.binary_erosion(x).dtype, "bool")
  end
end)

t.every("what is given stays as it is", function(device)
  local x = gpu.range(9, device):reshape(3, 3)
  for _, f in ipairs({ function(v) return nd.gaussian_filter(v, 0) end, function(v) return nd.uniform_filter(v, 1) end,
    function(v) return nd.median_filter(v, 1) end, function(v) return nd.zoom(v, 1) end }) do
    local y = f(x)
    t.eq(t.shares(x, y), false)
    assert(x:equal(gpu.range(9, device):reshape(3, 3)))
  end
end)

-- The window that is kept in order while it moves, beside all windows sorted. Rows of more than 4096 are done in pieces.
t.host("ranks of windows of every dtype", function()
  gpu.seed(6)
  for _, dtype in ipairs(t.dtypes) do
    for _, case in ipairs({ { { 9000 }, { 5 } }, { { 4200 }, { 33 } }, { { 70, 31 }, { 4, 5 } }, { { 6, 7, 40 }, { 1, 3, 6 } } }) do
      local shape, sizes = case[1], case[2]
      local float = dtype:find "float"
      local x = (gpu.rand(shape, "float64", "cpu") * 40 - (dtype:find "^u" and 0 or 20)):to(dtype)
      if float then x:flatten()["::97"] = 0 / 0 end
      local windows = x
      for axis = 1, #sizes do windows = windows:unfold(axis, sizes[axis]) end
      local inner = windows.shape
      local count, kept, whole = 1, {}, {}
      for axis = 1, #sizes do
        count = count * sizes[axis]
        kept[axis] = inner[axis]
        whole[axis] = { sizes[axis] // 2 + 1, sizes[axis] // 2 + inner[axis] } -- where no window reaches beyond the edges
      end
      kept[#kept + 1] = count
      local sorted = windows:reshape(kept):sort()
      local function want(rank, got, what)
        local expected, inside = sorted:select(-1, rank), got[whole]
        if float and what == "median" then
          expected = gpu.where(windows:reshape(kept):isnan():any(-1), 0 / 0, expected:to "float64"):to(dtype)
        end
        t.eq(got.dtype, dtype)
        if float then
          assert(inside:isnan():equal(expected:isnan()), dtype .. what)
          inside, expected = inside:nan_to_num(), expected:nan_to_num()
        end
        assert(inside:equal(expected), dtype .. what .. count)
      end
      want(2, nd.rank_filter(x, 2, sizes), "second")
      want(count, nd.rank_filter(x, -1, sizes), "greatest")
      if count % 2 == 1 then want(count // 2 + 1, nd.median_filter(x, sizes), "median") end
    end
  end
end)

t.every("a shape that winds, and one of a million elements", function(device)
  local n = t.brief(1001, 101)
  local mask = gpu.ones(n, n, "bool", device)
  mask["2::4, :-2"] = false -- walls with a gap at one end, then at the other: one snake
  mask["4::4, 2:"] = false
  local labels, count = nd.label(mask)
  t.eq(count, 1)
  t.eq(labels:sum(), mask:sum())
  local squares, many = nd.label(gpu.range(n, device):reshape(n, 1):add(gpu.range(n, device)):mod(2))
  t.eq(many, n * n // 2)
  t.eq(squares:max(), many)
end)

t.every("distances and measures", function(device)
  local all = gpu.ones(3, 4, "bool", device)
  local far, at = nd.distance_transform_edt(all, { return_indices = true })
  t.eq(far:min(), math.huge)
  t.eq(at:abs():max(), 0)
  t.same(at.shape, { 2, 3, 4 })
  t.eq(far.dtype .. at.dtype .. far.device, "float32int64" .. device)
  local n = t.brief(700, 50)
  local wide = gpu.ones(n, n, "uint8", device)
  wide[{ 1, 1 }] = 0
  local d = nd.distance_transform_edt(wide)
  local i = gpu.range(0, n - 1, device)
  assert(d:allclose((i:unsqueeze(2) ^ 2 + i ^ 2):sqrt(), 1e-6))
  local ring = gpu.zeros(5, 5, "int32", device)
  ring["2:4, 2:4"] = 1
  ring[{ 3, 3 }] = 0
  t.eq(nd.binary_fill_holes(ring):sum(), 9)
  t.eq(nd.binary_fill_holes(ring).dtype, "bool")
  local x, labels = gpu.array({ 1, 0 / 0, 3 }, device), gpu.array({ 1, 2, 2 }, "int32", device)
  t.eq(nd.maximum(x, labels, 1), 1)
  assert(nd.maximum(x, labels, 2) ~= nd.maximum(x, labels, 2), "NaN is the greatest")
  t.eq(nd.minimum(x, labels, 2), 3)
  local boxes = nd.find_objects(gpu.array({ { 0, 3 }, { 1, 3 } }, "int32", device))
  t.eq(#boxes, 3)
  t.eq(boxes[2], false)
  t.same(boxes[3], { { 1, 2 }, { 2, 2 } })
  t.raises({ "the labels have the shape (2,)", "(3,)" }, nd.mean, x, gpu.ones(2, "int32", device))
  t.raises("the labels are float32, expected integers", nd.mean, x, x)
  t.raises("array expected, got table", nd.mean, { 1, 2 }, labels, { 1, 2 })
  t.raises("no element has the label at index 2", nd.maximum, x, labels, { 1, 7 })
  t.raises("2^28", nd.mean, x, gpu.array({ 1, 2, 1000000000 }, "int32", device), 1)
  t.raises("find_objects: the labels are float32", nd.find_objects, x)
  local low, high = math.mininteger, math.maxinteger
  t.raises("the labels reach from -9223372036854775808 to", nd.mean, x, gpu.array({ low, 1, high }, "int64", device), 1)
  t.same(nd.sum_labels(gpu.ones(2, device), gpu.array({ -1, 2 }, "int64", device), { low, high, 2 }):totable(), { 0, 0, 1 })
  t.eq(nd.median(x, labels, gpu.zeros(0, "int32", device)).dtype, "float64")
  boxes = nd.find_objects(gpu.array({ (1 << 32) + 1, 1 - (1 << 32), 2, 0 }, "int64", device), 2)
  t.eq(boxes[1], false) -- what ends as 1 does in 32 bits is another label
  t.same(boxes[2], { { 3, 3 } })
  t.same(nd.distance_transform_edt(gpu.array({ 1, 1, 0 }, device), 5000):totable(), { 10000, 5000, 0 })
  t.raises("sampling must be from 1e-100 to 1e+100, got 0", nd.distance_transform_edt, x, 0)
  t.raises("size is 2.5, expected a whole number", nd.maximum_filter, x, 2.5)
  t.raises("no axes", nd.distance_transform_edt, gpu.full({}, 1, device))
  t.raises({ "rank is 4", "3 elements" }, nd.rank_filter, x, 4, 3)
  t.raises("percentile is 101", nd.percentile_filter, x, 101, 3)
  t.raises("sigma is 0 for axis 1", nd.gaussian_laplace, x, 0)
  t.raises("order is 1.5", nd.gaussian_filter, x, { sigma = 1, order = 1.5 })
end)

-- Windows have more elements together than are copied at a time.
t.every("many large windows", function(device)
  local n, size = t.brief(t.compiles(device) and 28000 or 60000, 400), t.brief(601, 61) -- more than 2^24 elements
  local x, half = gpu.random.uniform(0, 1, n, device), size // 2
  local padded = x:pad({ { half, half } }, "symmetric")
  local peak = gpu.memory(device).peak
  local ranks, medians = nd.rank_filter(x, 7, size)
  if not t.compiles(device) then -- there sorting takes as much again, and medians come the same way in twelve seconds
    medians = nd.median_filter(x:reshape(1, n), { 1, size })
    assert(gpu.memory(device).peak < peak + 2 ^ 28)
  end
  for _, at in ipairs({ 1, n // 3, n - 20 }) do
    local part = { { at, at + 20 } }
    local windows = padded[{ { at, at + 20 + size - 1 } }]:unfold(1, size)
    assert(ranks[part]:equal(windows:sort()[{ {}, 7 }]))
    if medians then assert(medians[1][part]:equal(windows:median(2))) end
  end
end)

t.every("of nothing", function(device)
  local none = gpu.zeros(0, 3, device)
  for _, f in ipairs({ nd.grey_opening, nd.black_tophat, nd.gaussian_gradient_magnitude }) do t.same(f(none, 3).shape, { 0, 3 }) end
  t.same(nd.percentile_filter(none, 30, 3).shape, { 0, 3 })
  t.same(nd.distance_transform_edt(none).shape, { 0, 3 })
  t.same(nd.binary_fill_holes(none).shape, { 0, 3 })
  t.same(nd.find_objects(none:to("int32")), {})
  t.eq(nd.sum_labels(none, none:to("int32")), 0)
  t.same(nd.mean(none, none:to("int32"), { 1, 2 }).shape, { 2 })
  t.raises("x has no elements", nd.maximum, none, none:to("int32"), 1)
  t.same(nd.gaussian_filter(none, 1).shape, { 0, 3 })
  t.same(nd.median_filter(none, 3).shape, { 0, 3 })
  t.same(nd.maximum_filter(none, 3).shape, { 0, 3 })
  t.same(nd.convolve(none, { { 1 } }).shape, { 0, 3 })
  local labels, count = nd.label(none)
  t.same(labels.shape, { 0, 3 })
  t.eq(count, 0)
  t.raises("x has no elements", nd.map_coordinates, none, { { 1 }, { 1 } })
end)

t.every("splines go through the elements", function(device)
  for n = 1, 6 do
    local x = gpu.random.normal(0, 5, n, "float64", device)
    for order = 0, 5 do
      local modes = { "constant", "nearest", "reflect", "mirror", "wrap" }
      for _, mode in ipairs(t.compiles(device) and { modes[(n + order) % 5 + 1] } or modes) do -- each meets each order
        local back = nd.map_coordinates(x, gpu.range(n, "float64", device):unsqueeze(1), order, mode)
        assert(back:allclose(x, 1e-9, 1e-9), mode .. " " .. order .. " of " .. n)
      end
    end
  end
  local image = gpu.range(12, device):reshape(3, 4)
  for i = 0, 3 do assert(nd.rotate(image, 90 * i, { order = i + 1 }):allclose(gpu.rot90(image, i), 1e-4, 1e-4)) end
  assert(nd.rotate(image, 90, { 2, 1 }):equal(gpu.rot90(image)))
  assert(nd.rotate(image, 0, nil, nil, 3):allclose(image, 1e-5, 1e-5))
  assert(nd.shift(image, { 1, -1 }, 0, "wrap"):equal(image:roll({ 1, -1 }, { 1, 2 })))
end)

t.every("what it refuses", function(device)
  local x = gpu.ones(3, 4, device)
  t.raises({ '"reflect", "mirror", "nearest", "wrap" or "constant" expected, got "edge"' }, nd.uniform_filter, x, 3, "edge")
  t.raises("sigma has 3 numbers, expected one for each of the 2 axes", nd.gaussian_filter, x, { 1, 2, 3 })
  t.raises("gaussian_filter: sigma must be from 0 to 4096, got -1", nd.gaussian_filter, x, -1)
  t.raises("gaussian_filter: sigma holds string, expected numbers", nd.gaussian_filter, x, { 1, "a" })
  t.raises("expected less than 2^28", nd.find_objects, gpu.full({ 1 }, 1 << 30, "int64", device))
  t.raises("an array of 1 to 4 axes expected, not of 5", nd.binary_fill_holes, gpu.ones(1, 1, 1, 1, 1, "bool", device))
  t.raises("the shape has 1 sizes, expected 2", nd.affine_transform, x, gpu.eye(2, device), nil, { 2 })
  t.raises("number, or list of one for each axis expected", nd.gaussian_filter, x)
  t.raises("size must be from 1", nd.median_filter, x, 0)
  t.raises({ "the weights have the shape (3,)", "as many axes as x of shape (3, 4)" }, nd.correlate, x, { 1, 2, 3 })
  t.raises("no axis 3", nd.sobel, x, 3)
  t.raises({ "order 6 is not there; 0 takes the nearest element, 1 goes straight", "2 to 5" }, nd.zoom, x, 2, 6)
  t.raises({ "a matrix of 2 rows and columns expected", "shape (3,)" }, nd.affine_transform, x, { 1, 2, 3 })
  t.raises("an offset of 2 numbers expected", nd.affine_transform, x, gpu.eye(2, device), { 1 })
  t.raises({ "no option 'ofset'", "offset, shape, order, mode and cval" }, nd.affine_transform, x, gpu.eye(2, device), { ofset = { 1, 2 } })
  t.raises("the axes are two", nd.rotate, x, 30, { 1 })
  t.raises("x has 1 axes, expected 2 or more", nd.rotate, gpu.ones(3, device), 30)
  t.raises("x has no elements", nd.rotate, gpu.ones(0, 3, device), 30)
  t.raises("number expected", nd.rotate, x)
  t.raises("has 3 numbers, expected one for each of the 2 axes", nd.shift, x, { 1, 2, 3 })
  t.raises("a factor is above 0", nd.zoom, x, 0)
  t.raises("zoom: factor has 3 numbers, expected one for each of the 2 axes", nd.zoom, x, { 1, 2, 3 })
  t.raises("expected 2 rows, one for each axis of x", nd.map_coordinates, x, { { 1 } })
  t.raises("the structure must be 3 elements along each of the 2 axes", nd.label, x, { 1, 1, 1 })
  t.raises("the structure is empty", nd.binary_erosion, x, gpu.zeros(3, 3, device))
  t.raises("1 to 4 axes expected, not of 5", nd.label, gpu.ones(1, 1, 1, 1, 1, device))
  t.raises("once or more", nd.binary_dilation, x, nil, 0)
  local spot = gpu.zeros({ 5, 6 }, device) -- it ends where nothing changes any more
  spot[3][2] = 1
  t.eq(nd.binary_dilation(spot, nil, 1 << 40):all(), true)
  t.eq(nd.binary_closing(spot, nil, 1 << 40):any(), false)
  t.raises("complex", nd.gaussian_filter, gpu.complex(x, x), 1)
  t.raises("it is written gpu.ndimage.gaussian_filter", function() return gpu.gaussian_filter end)
  t.raises("gpu.ndimage has no function 'sobl'; did you mean 'sobel'?", function() return nd.sobl end)
end)

t.done()
