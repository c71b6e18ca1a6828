-- Convolutions and pooling against sums written out in Lua, and what they say of arguments that do not fit.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- conv2d of nested tables by its definition.
local function reference(x, w, stride, padding, dilation, groups)
  local height, width, kh, kw = #x[1][1], #x[1][1][1], #w[1][1], #w[1][1][1]
  local out, list = #w // groups, {}
  for n = 1, #x do
    for o = 1, #w do
      local first = (o - 1) // out * #w[1]
      for row = 0, (height + 2 * padding - dilation * (kh - 1) - 1) // stride do
        for column = 0, (width + 2 * padding - dilation * (kw - 1) - 1) // stride do
          local sum = 0
          for c = 1, #w[1] do
            for i = 0, kh - 1 do
              for j = 0, kw - 1 do
                local line = x[n][first + c][row * stride - padding + i * dilation + 1]
                sum = sum + w[o][c][i + 1][j + 1] * (line and line[column * stride - padding + j * dilation + 1] or 0)
              end
            end
          end
          list[#list + 1] = sum
        end
      end
    end
  end
  return list
end

for _, device in ipairs(t.devices()) do
  local function test(name, body)
    t.test(name .. " on " .. device, function()
      gpu.seed(5)
      body()
    end)
  end
  local function whole(...) return (gpu.rand({ ... }, "float64", device) * 9 - 4):floor() end

  test("conv2d by its definition", function()
    for _, case in ipairs { { 1, 0, 1, 1 }, { 2, 1, 1, 1 }, { 1, 2, 2, 2 }, { 3, 1, 1, 4 } } do
      local stride, padding, dilation, groups = table.unpack(case)
      local x, w = whole(2, 4, 7, 9), whole(20, 4 // groups, 3, 2)
      local want = reference(x:totable(), w:totable(), stride, padding, dilation, groups)
      for _, dtype in ipairs { "float32", "float64" } do
        local y = gpu.conv2d(x:to(dtype), w:to(dtype), { stride = stride, padding = padding, dilation = dilation, groups = groups })
        t.eq(y.dtype, dtype)
        t.close(y, want, 1e-6)
      end
    end
  end)

  test("a deep sum over many places is parted into blocks", function()
    local x, w = whole(1, 70, 30, 31):to("float32"), whole(33, 70, 3, 3):to("float32")
    local y = x:conv2d(w, { padding = 1, bias = gpu.full(33, 2, "float32", device) })
    local wide = x:to("float64"):pad({ { 0, 0 }, { 0, 0 }, { 1, 1 }, { 1, 1 } }):unfold(3, 3):unfold(4, 3)
    local want = gpu.einsum("ncrskl,ockl->nors", wide, w:to("float64")) + 2
    t.close(y, want, 1e-5)
  end)

  test("views, and lines of one channel", function()
    local x, w = whole(9, 5, 2), whole(3, 5, 4)
    t.close(x.T[{ { 2, 1, -1 } }]:conv1d(w, { padding = { 2 } }), x.T[{ { 2, 1, -1 } }]:clone():conv1d(w, { padding = 2 }), 0)
    t.eq(tostring(gpu.conv1d(x.T[1], w).shape), "(3, 6)")
    t.eq(tostring(gpu.conv1d(gpu.zeros(0, 5, 9, device), w:to("float32")).shape), "(0, 3, 6)")
    t.close(gpu.convolve(gpu.range(1, 3, device), gpu.array({ 1, 1 }, "int32", device)), { 1, 3, 5, 3 }, 0)
    t.eq(gpu.convolve(gpu.ones(2, "int64", device), gpu.ones(3, "int32", device)).dtype, "int64")
  end)

  test("pooling", function()
    local x = whole(2, 3, 8, 8)
    t.close(x:max_pool2d(2), x:reshape(2, 3, 4, 2, 4, 2):max({ 4, 6 }), 0)
    t.close(x:avg_pool2d { window = { 2, 4 } }, x:reshape(2, 3, 4, 2, 2, 4):mean({ 4, 6 }), 1e-12)
    t.close(gpu.max_pool1d(gpu.array({ { -3, -1, -2 } }, device), { window = 3, padding = 1, stride = 2 }), { -1, -1 }, 0)
    local y = gpu.array({ { 1, 0 / 0, 3, 4 } }, device):max_pool1d(2)
    assert(y[{ 1, 1 }] ~= y[{ 1, 1 }] and y[{ 1, 2 }] == 4)
  end)

  test("volumes of float16 and of views, and a transposed convolution is the other way of a convolution", function()
    local x, w = whole(5, 6, 7, 2), whole(3, 2, 2, 3, 2)
    local view = x:permute(4, 1, 2, 3)[{ {}, { -1, 1, -1 } }]
    t.close(view:conv3d(w.T.T), view:clone():unsqueeze(1):conv3d(w)[1], 0)
    t.close(view:max_pool3d(2), view:clone():max_pool3d { window = { 2, 2, 2 } }, 0)
    t.eq(view:to("float16"):conv3d(w:to("bfloat16")).dtype, "float32")
    t.eq(tostring(gpu.conv3d(gpu.zeros(0, 2, 4, 4, 4, device), w:to("float32")).shape), "(0, 3, 3, 2, 3)")
    -- The sum of y times conv2d(x) is that of x times conv_transpose2d(y).
    for _, case in ipairs { { 1, 0, 1, 1 }, { 2, 1, 1, 2 }, { 3, 2, 2, 1 } } do
      local stride, padding, dilation, groups = table.unpack(case)
      local o = { stride = stride, padding = padding, dilation = dilation, groups = groups }
      local a, f = whole(2, 4, 13, 16), whole(6, 4 // groups, 3, 4)
      local y = whole(table.unpack(gpu.conv2d(a, f, o).shape))
      local back = gpu.conv_transpose2d(y.T.T, f, o)
      local h, v = back.shape[3], back.shape[4]
      t.near((gpu.conv2d(a, f, o) * y):sum(), (a[{ {}, {}, { 1, h }, { 1, v } }] * back):sum(), 1e-6)
    end
    t.eq(tostring(gpu.conv_transpose1d(gpu.ones(3, 4, device), gpu.ones(3, 2, 5, device), { padding = 2 }).shape), "(2, 4)")
  end)

  test("arguments of volumes and transposed convolutions that do not fit", function()
    local x, w = gpu.zeros(1, 3, 8, 8, 8, device), gpu.zeros(4, 3, 3, 3, 3, device)
    t.raises({ "conv3d: x has the shape (8, 8)", "(N, C, D, H, W)" }, gpu.conv3d, gpu.zeros(8, 8, device), w)
    t.raises({ "conv3d: w has the shape (3, 3)", "(O, C, KD, KH, KW)" }, gpu.conv3d, x, gpu.zeros(3, 3, device))
    t.raises({ "conv3d: x of shape", "(4, 2, 3, 3, 3)", "in 1 group" }, gpu.conv3d, x, gpu.zeros(4, 2, 3, 3, 3, device))
    t.raises({ "stride has 2 numbers, expected 3" }, gpu.conv3d, x, w, { stride = { 1, 1 } })
    t.raises({ "stride must be an integer or a list of three, got string" }, gpu.conv3d, x, w, { stride = "a" })
    t.raises("'same' needs a stride of 1, not 2", gpu.conv3d, x, w, { padding = "same", stride = 2 })
    t.raises("padding is 'full'", gpu.conv3d, x, w, { padding = "full" })
    t.raises({ "reaches over 9 elements", "(1, 3, 8, 8, 8)" }, gpu.conv3d, x, w, { dilation = 4 })
    t.raises("bias has the shape (3,)", gpu.conv3d, x, w, { bias = gpu.zeros(3, device) })
    t.raises("conv3d takes floats, not int32", gpu.conv3d, x:to("int32"), w)
    t.raises("the size of the window is missing", gpu.max_pool3d, x)
    t.raises("more than half of the window's 2", gpu.avg_pool3d, x, { window = 2, padding = 2 })
    t.raises("no option 'pad'", gpu.avg_pool3d, x, { window = 2, pad = 2 })
    t.raises("max_pool3d takes floats, not bool", gpu.max_pool3d, x:to("bool"), 2)
    local y, f = gpu.zeros(1, 3, 4, 4, device), gpu.zeros(3, 2, 3, 3, device)
    t.raises({ "conv_transpose2d: x of shape (1, 3, 4, 4) has 3 channels", "takes 4" }, gpu.conv_transpose2d, y, gpu.zeros(4, 2, 3, 3, device))
    t.raises("3 channels of x cannot be parted into 2 groups", gpu.conv_transpose2d, y, f, { groups = 2 })
    t.raises("an output_padding of 1 is not below the stride", gpu.conv_transpose2d, y, f, { output_padding = 1 })
    t.raises("nothing is left with a padding of 3", gpu.conv_transpose2d, y, f, { padding = 3 })
    t.raises("nothing is left", gpu.conv_transpose2d, gpu.zeros(1, 3, 0, 4, device), f)
    t.raises("the filters of shape (3, 2, 0, 3) are empty", gpu.conv_transpose2d, y, gpu.zeros(3, 2, 0, 3, device))
    t.raises({ "bias has the shape (3,)", "each of the 2 filters" }, gpu.conv_transpose2d, y, f, { bias = gpu.zeros(3, device) })
    t.raises("conv_transpose2d takes floats, not int64", gpu.conv_transpose2d, y:to("int64"), f)
    t.raises({ "different devices", device }, gpu.conv_transpose2d, y, f:to(device == "cpu" and "simt" or "cpu"))
  end)

  test("arguments that do not fit", function()
    local x, w = gpu.zeros(1, 3, 8, 8, device), gpu.zeros(4, 3, 3, 3, device)
    t.raises({ "conv2d: x has the shape (8, 8)", "(N, C, H, W)" }, gpu.conv2d, gpu.zeros(8, 8, device), w)
    t.raises({ "conv2d: w has the shape (3, 3)", "(O, C, KH, KW)" }, gpu.conv2d, x, gpu.zeros(3, 3, device))
    t.raises({ "(1, 3, 8, 8)", "3 channels", "(4, 2, 3, 3) takes 2" }, gpu.conv2d, x, gpu.zeros(4, 2, 3, 3, device))
    t.raises("cannot both be parted into 2 groups", gpu.conv2d, x, w, { groups = 2 })
    t.raises({ "bias has the shape (3,)", "4 filters" }, gpu.conv2d, x, w, { bias = gpu.zeros(3, device) })
    t.raises("bias is a number, expected an array", gpu.conv2d, x, w, { bias = 3 })
    t.raises({ "no option 'strides'", "stride" }, gpu.conv2d, x, w, { strides = 3 })
    t.raises("stride is 0", gpu.conv2d, x, w, { stride = 0 })
    t.raises("stride has 3 numbers, expected 2", gpu.conv2d, x, w, { stride = { 1, 1, 1 } })
    t.raises("groups must be an integer of 1 or more, got 0", gpu.conv2d, x, w, { groups = 0 })
    t.raises("groups must be an integer of 1 or more and below 2^31, got 4611686018427387904", gpu.conv_transpose1d,
      gpu.zeros(1, 0, 4), gpu.zeros(0, 4, 2), { groups = 1 << 62 })
    t.raises("are too many channels", gpu.conv_transpose1d, gpu.zeros(1, 0, 4), gpu.zeros(0, 1 << 40, 2),
      { groups = 1 << 30 })
    t.raises("padding is 'full'", gpu.conv2d, x, w, { padding = "full" })
    t.raises("'same' needs a stride of 1, not 2", gpu.conv2d, x, w, { padding = "same", stride = 2 })
    t.raises({ "reaches over 9 elements", "(1, 3, 8, 8)" }, gpu.conv2d, x, w, { dilation = 4 })
    t.raises("the filters of shape (4, 3, 0, 3) are empty", gpu.conv2d, x, gpu.zeros(4, 3, 0, 3, device))
    t.raises({ "conv2d takes floats, not int32", ":to(" }, gpu.conv2d, x:to("int32"), w)
    t.raises({ "conv2d takes floats, not complex64", ".real" }, gpu.conv2d, gpu.complex(x, x), w)
    t.raises({ "different devices", device }, gpu.conv2d, x, w:to(device == "cpu" and "simt" or "cpu"))
    t.raises("the size of the window is missing", gpu.max_pool2d, x)
    t.raises("the size of the window is missing", gpu.max_pool2d, x, { stride = 2 })
    t.raises("more than half of the window's 2", gpu.max_pool2d, x, { window = 2, padding = 2 })
    t.raises("avg_pool1d takes floats, not bool", gpu.avg_pool1d, gpu.zeros(2, 4, "bool", device), 2)
    t.raises("convolve: argument 2 has the shape (0,)", gpu.convolve, gpu.ones(2, device), gpu.zeros(0, device))
    t.raises({ "correlate: argument 2 has the shape (2,)", "expected 2 axes" }, gpu.correlate, gpu.ones(2, 2, device), gpu.ones(2, device))
    t.raises("need floats, and these are int32", gpu.convolve, gpu.ones(2, "int32", device), gpu.ones(2, "int32", device), "full", "fft")
    t.raises("neither fits into the other", gpu.convolve, gpu.ones(2, 3, device), gpu.ones(3, 2, device), "valid")
    t.raises('"auto", "direct" or "fft" expected', gpu.convolve, gpu.ones(2, device), gpu.ones(2, device), "full", "fast")
    -- So long that they are transformed.
    local x, y = gpu.random.normal(0, 1, 20000, "float64", device), gpu.random.normal(0, 1, 9000, "float64", device)
    t.near(gpu.convolve(x, y, "same")[7777], gpu.convolve(x, y, "same", "direct")[7777], 1e-8)
  end)
end

-- The windows one by one.
local function pooled(x, m, mean)
  local n, parts = x.shape[2], {}
  for i = 0, m - 1 do
    local first, last = i * n // m, ((i + 1) * n + m - 1) // m
    local window = x[{ {}, { first + 1, last } }]
    parts[i + 1] = (mean and window:mean(2, true) or window:max(2, true))
  end
  return gpu.concatenate(parts, 2)
end

t.every("windows of adaptive pools of all lengths", function(device)
  gpu.seed(8)
  for n = 1, 12 do
    local x = gpu.rand(2, n, "float64", device)
    for m = 1, 14 do
      local what = n .. " to " .. m
      assert(x:adaptive_max_pool1d(m):equal(pooled(x, m, false)), what)
      assert(x:adaptive_avg_pool1d(m):allclose(pooled(x, m, true), 1e-12, 0), what)
    end
  end
end)

t.test("windows of adaptive pools are no Lua values", function()
  local x = gpu.ones(1, 3)
  collectgarbage()
  collectgarbage("stop")
  local before = collectgarbage("count")
  local sum = x:adaptive_avg_pool1d(100000):sum()
  local made = collectgarbage("count") - before
  collectgarbage("restart")
  t.eq(sum, 100000.0)
  assert(made < 1000, made .. " KiB")
end)

t.test("sizes of adaptive pools", function()
  local x = gpu.ones(2, 3, 4)
  t.eq(gpu.adaptive_avg_pool1d(x:to("float16"), 3).dtype, "float16")
  t.eq(gpu.adaptive_avg_pool1d(x:to("uint8"), 3).dtype, "float32")
  t.eq(gpu.adaptive_max_pool1d(x:to("uint8"), 3).dtype, "uint8")
  local most = gpu.full({ 1, 2, 5 }, 60000, "float16")
  t.eq(most:adaptive_avg_pool1d(2):max(), gpu.full(1, 60000, "float16")[1]) -- whose sum a half does not hold
  local y = gpu.array({ { 1, 0 / 0, 3, 4, 5 } }):adaptive_max_pool1d(2)
  assert(y[{ 1, 1 }] ~= y[{ 1, 1 }] and y[{ 1, 2 }] == 5)
  t.raises("size is 0, expected 1", gpu.adaptive_avg_pool1d, x, 0)
  t.raises("size has 1 numbers, expected 2", gpu.adaptive_max_pool2d, x, { 2 })
  t.raises("size must be an integer", gpu.adaptive_max_pool1d, x, nil)
  t.raises({ "adaptive_avg_pool2d: x has the shape (4,)", "(N, C, H, W) or (C, H, W)" }, gpu.adaptive_avg_pool2d, gpu.ones(4), 2)
  t.raises("x has the shape (3, 0), expected elements", gpu.adaptive_avg_pool1d, gpu.ones(3, 0), 2)
  t.raises("complex", gpu.adaptive_avg_pool1d, gpu.complex(x, x), 2)
end)

t.done()
