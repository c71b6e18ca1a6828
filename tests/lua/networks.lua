-- What neural networks are made of: dtypes, devices, nothing at all, and what is refused. Values are compared in
-- tests/numpy/test_networks.py.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

t.every("dtypes and devices", function(device)
  for _, dtype in ipairs({ "float16", "bfloat16", "float32", "float64", "uint8", "int64" }) do
    local x = gpu.ones(1, 2, 4, 5, dtype, device)
    local floating = dtype:find("float") and dtype or dtype == "int64" and "float64" or "float32"
    local grid = gpu.zeros(1, 3, 3, 2, device)
    for _, y in ipairs({ gpu.interpolate(x, 3, nil, "bilinear"), gpu.interpolate(x, { 7, 9 }, nil, "bicubic"),
      gpu.interpolate(x, 2, nil, "area"), gpu.grid_sample(x, grid), gpu.grid_sample(x, grid, "bicubic"),
      gpu.scaled_dot_product_attention(x, x, x), gpu.rms_norm(x, 2, { eps = 0 }) }) do
      t.eq(y.dtype, floating)
      t.eq(y.device, device)
      t.near(y:to("float32"):mean(), 1, 1e-2)
    end
    for _, y in ipairs({ gpu.interpolate(x, 3), gpu.grid_sample(x, grid, "nearest"), gpu.fold(x, 3) }) do
      t.eq(y.dtype, dtype)
      t.eq(y.device, device)
    end
    t.eq(gpu.dropout(x, 0):to("float32"):sum(), 40)
    t.eq(gpu.dropout(x, 1):to("float32"):sum(), 0)
  end
end)

t.every("of nothing", function(device)
  t.same(gpu.interpolate(gpu.zeros(0, 2, 3, device), 5).shape, { 0, 2, 5 })
  t.same(gpu.interpolate(gpu.zeros(0, 2, 3, device), 5, nil, "linear").shape, { 0, 2, 5 })
  t.same(gpu.grid_sample(gpu.zeros(0, 2, 3, 3, device), gpu.zeros(0, 4, 5, 2, device)).shape, { 0, 2, 4, 5 })
  t.same(gpu.grid_sample(gpu.zeros(1, 2, 3, 3, device), gpu.zeros(1, 0, 5, 2, device)).shape, { 1, 2, 0, 5 })
  local none = gpu.scaled_dot_product_attention(gpu.ones(2, 3, device), gpu.ones(0, 3, device), gpu.ones(0, 4, device))
  assert(none:equal(gpu.zeros(2, 4, device)))
  t.same(gpu.scaled_dot_product_attention(gpu.ones(0, 3, device), gpu.ones(2, 3, device), gpu.ones(2, 4, device)).shape, { 0, 4 })
  local q = gpu.ones(2, 3, device)
  local left = gpu.scaled_dot_product_attention(q, q, q, { mask = gpu.array({ { 1, 0 }, { 0, 0 } }, "bool", device) })
  assert(left:equal(gpu.array({ { 1, 1, 1 }, { 0, 0, 0 } }, "float32", device)), "a query that no key is left for")
end)

t.every("dropout", function(device)
  local x = gpu.range(1000, device)
  gpu.seed(3)
  local y = gpu.dropout(x, 0.2)
  gpu.seed(3)
  assert(gpu.dropout(x, { p = 0.2 }):equal(y))
  local kept = y:ne(0)
  assert((y / x):masked_select(kept):allclose(1.25))
  t.near(kept:sum(), 800, 60)
end)

t.every("what it refuses", function(device)
  local x = gpu.ones(1, 2, 4, 5, device)
  t.raises({ "interpolate: size is string", "a list of one for each axis" }, gpu.interpolate, x, "a")
  t.raises({ "x has the shape (2, 2)", "(N, C, D, H, W)" }, gpu.grid_sample, gpu.ones(2, 2, device), gpu.ones(2, 2, device))
  t.raises({ "weight has the shape (3,)", "(rows, features)" }, gpu.embedding, gpu.ones(1, "int32", device), gpu.ones(3, device))
  t.raises({ "label_smoothing is 2", "from 0 to 1" }, gpu.cross_entropy, gpu.ones(2, 3, device), gpu.ones(2, "int64", device),
    { label_smoothing = 2 })
  t.raises({ "(1, 2)", "(N, C, ...)" }, gpu.interpolate, gpu.ones(1, 2, device), 3)
  t.raises("one of size and scale_factor is given", gpu.interpolate, x)
  t.raises("there are a size and a scale_factor", gpu.interpolate, x, { size = 2, scale_factor = 2 })
  t.raises({ "size has 3 numbers", "2 axes" }, gpu.interpolate, x, { 1, 2, 3 })
  t.raises({ "'linear' is of arrays with 3 axes", "there is 'bilinear'" }, gpu.interpolate, x, 3, nil, "linear")
  t.raises("align_corners is of", gpu.interpolate, x, { size = 3, align_corners = true })
  t.raises({ "axis 4 would have 1099511627776", "134217728 at most" }, gpu.interpolate, x, { 2, 1 << 40 })
  t.raises({ "axis 3 of 4 elements", "scale_factor 0.1" }, gpu.interpolate, x, { scale_factor = 0.1 })
  t.raises("axis 3 of x has no elements", gpu.interpolate, gpu.ones(1, 1, 0, device), 3)
  t.raises("no meaning for complex numbers", gpu.interpolate, gpu.complex(x, x), 3, nil, "bilinear")
  t.raises({ "the grid has the shape (1, 3, 3, 3)", "(N, ..., 2)" }, gpu.grid_sample, x, gpu.zeros(1, 3, 3, 3, device))
  t.raises("of volumes there is 'bilinear'", gpu.grid_sample, gpu.ones(1, 1, 2, 2, 2, device), gpu.zeros(1, 1, 1, 1, 3, device), "bicubic")
  t.raises("padding_mode", gpu.grid_sample, x, gpu.zeros(1, 3, 3, 2, device), { padding = "border" })
  t.raises({ "theta has the shape (2, 3)", "(1, 2, 3)" }, gpu.affine_grid, gpu.ones(2, 3, device), { 1, 1, 4, 4 })
  t.raises("size has 3 numbers", gpu.affine_grid, gpu.ones(1, 2, 3, device), { 1, 4, 4 })
  local q = gpu.ones(2, 3, device)
  t.raises({ "(2, 3), (2, 4) and (2, 3)", "queries and keys of one length" }, gpu.scaled_dot_product_attention, q, gpu.ones(2, 4, device), q)
  t.raises({ "the mask has the shape (3, 3)", "(2, 2)" }, gpu.scaled_dot_product_attention, q, q, q, gpu.ones(3, 3, "bool", device))
  t.raises("indices are float32, expected integers", gpu.embedding, q, q)
  t.raises("index 3", gpu.embedding, { 3 }, q)
  t.raises("a probability from 0 to 1", gpu.dropout, q, 1.5)
  t.raises("axes is 3", gpu.rms_norm, q, 3)
  t.raises("weight has the shape (2,), expected (3,)", gpu.rms_norm, q, 1, { 1, 2 })
  t.raises({ "(2, 3) and the target (3,)", "probabilities of x's shape" }, gpu.cross_entropy, q, { 1, 2, 3 })
  t.raises("the classes reach from 0 to 3, expected 1 to 3", gpu.cross_entropy, q, gpu.array({ 0, 3 }, "int32", device))
  t.raises("classes are whole numbers", gpu.cross_entropy, q, { 1.5, 1 })
  t.raises("classes are whole numbers", gpu.cross_entropy, q, { 0 / 0, 1 })
  t.raises("indices are whole numbers", gpu.embedding, { 1.5 }, q)
  t.raises("weight has the shape (2,), expected (3,)", gpu.cross_entropy, q, { 1, 2 }, { weight = { 1, 2 } })
  t.raises("probabilities are floats, not int32", gpu.cross_entropy, q, gpu.ones(2, 3, "int32", device))
  t.raises("ignore_index is one of classes", gpu.cross_entropy, q, q, { ignore_index = 1 })
  t.raises("expected windows along its last axis", gpu.fold, gpu.ones(3, device), 1)
  t.raises("step is 0", gpu.fold, q, 1, 0)
  t.raises("a window or more", gpu.fold, gpu.zeros(0, 3, device), 1)
  t.raises("further than an integer", gpu.fold, q, 1, math.maxinteger)
  t.same(gpu.fold(q[{ { 1, 1 } }], 1, math.maxinteger):totable(), { 1, 1, 1 }) -- nothing comes behind the only one
end)

t.done()
