-- Filters with feedback against their definition, and what they say of arguments that do not fit.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- a[1] y[n] = b[1] x[n] + ... - a[2] y[n-1] - ...
local function reference(b, a, x)
  local y = {}
  for n = 1, #x do
    local sum = 0
    for k = 1, math.min(#b, n) do sum = sum + b[k] * x[n + 1 - k] end
    for k = 2, math.min(#a, n) do sum = sum - a[k] * y[n + 1 - k] end
    y[n] = sum / a[1]
  end
  return y
end

for _, device in ipairs(t.devices()) do
  local function test(name, body)
    t.test(name .. " on " .. device, function()
      gpu.seed(8)
      body()
    end)
  end

  test("lfilter by its definition, of views, along axes, of lists and numbers", function()
    local x = gpu.randn(7, 50, "float64", device)
    for _, c in ipairs { { { 1 }, { 1 } }, { { 0.5, -0.25, 2 }, { 2, 0.5 } }, { { 3 }, { 1, -0.9, 0.2, 0.1 } }, { { 1, 2, 3, 4 }, { 4 } } } do
      local b, a = table.unpack(c)
      for i = 1, 7, 3 do t.close(gpu.lfilter(b, a, x)[i], reference(b, a, x[i]:totable()), 1e-12) end
      t.close(gpu.lfilter(b, a, x, 1).T, gpu.lfilter(b, a, x.T:contiguous()), 1e-14)
      t.close(gpu.lfilter(b, gpu.array(a, "float64", device), x.T, { axis = 1 }), gpu.lfilter(b, a, x).T, 1e-14)
      t.close(gpu.lfilter(b, a, x["::-2, 5:"]), gpu.lfilter(b, a, x["::-2, 5:"]:clone()), 0)
    end
    t.close(gpu.lfilter(2, 4, x), x / 2, 0)
    for _, dtype in ipairs(t.dtypes) do
      if not dtype:find("complex") then
        local v = t.as(gpu.range(1, 9, "float32", device), dtype)
        local y = gpu.lfilter(1, { 1, -0.5 }, v)
        t.eq(y.dtype, (v / 1).dtype)
        t.close(y:to("float64"), reference({ 1 }, { 1, -0.5 }, v:to("float64"):totable()), dtype:find("16") and 1e-2 or 1e-6)
      end
    end
    t.eq(tostring(gpu.lfilter({ 1, 2 }, 1, gpu.zeros(3, 0, device)).shape), "(3, 0)")
    t.eq(tostring(gpu.lfilter({ 1, 2 }, 1, gpu.zeros(0, 3, device), 1).shape), "(0, 3)")
    t.eq(gpu.lfilter(1, { 1, -1 }, { 1, 2, 3 })[3], 6)
  end)

  test("a signal in parts, long ones, and states that grow", function()
    local x = gpu.randn(3, 5000, "float64", device)
    local b, a = { 0.1, 0.2, 0.1 }, { 1, -1.2, 0.5 }
    local whole, state = gpu.lfilter(b, a, x), gpu.zeros(3, 2, "float64", device)
    local first, second
    first, state = gpu.lfilter(b, a, x[{ {}, { 1, 3000 } }], { zi = state })
    t.eq(state.dtype .. tostring(state.shape), "float64(3, 2)")
    second, state = gpu.lfilter(b, a, x[{ {}, { 3001, 5000 } }], { zi = state })
    t.close(gpu.concatenate({ first, second }, 2), whole, 1e-12)
    t.close(whole[2], reference(b, a, x[2]:totable()), 1e-10)
    -- A sum of sums is no less exact, and what grows without bound is infinite only where it is.
    t.close(gpu.lfilter(1, { 1, -2, 1 }, gpu.ones(3000, "float64", device)), gpu.range(1, 3000, "float64", device):cumsum(), 1e-6)
    local grows = gpu.lfilter(1, { 1, -2 }, gpu.concatenate { gpu.zeros(1500, "float64", device), gpu.ones(1500, "float64", device) })
    t.eq(grows[1500], 0.0)
    t.eq(grows[1510], 1023.0)
    t.eq(grows[3000], math.huge)
    local y, z = gpu.lfilter({ 2 }, { 1 }, gpu.ones(2, 3, device), { zi = gpu.zeros(2, 0, device) })
    t.eq(y:sum() .. tostring(z.shape), "12.0(2, 0)")
    local taps = gpu.randn(40, "float64", device)
    t.close(gpu.lfilter(taps, 1, x[1]), gpu.convolve(x[1], taps)[{ { 1, 5000 } }], 1e-11)
  end)

  test("arguments that do not fit", function()
    local x = gpu.ones(2, 3, device)
    t.raises("a[1], by which all coefficients are divided, is 0", gpu.lfilter, 1, { 0, 1 }, x)
    t.raises({ "b has the shape (2, 2)", "one axis" }, gpu.lfilter, gpu.ones(2, 2, device), 1, x)
    t.raises({ "a has the shape (0,)", "one axis" }, gpu.lfilter, 1, {}, x)
    t.raises({ "zi has the shape (2,)", "expected (2, 1)" }, gpu.lfilter, 1, { 1, 2 }, x, { zi = { 1, 2 } })
    t.raises({ "zi has the shape (1, 3)", "expected (2, 1)" }, gpu.lfilter, 1, { 1, 2 }, x, { zi = gpu.ones(1, 3, device) })
    t.raises("there is no axis 3", gpu.lfilter, 1, 1, x, 3)
    t.raises("there is no option 'z'; there are axis and zi", gpu.lfilter, 1, 1, x, { z = 3 })
    t.raises("x has no axes", gpu.lfilter, 1, 1, gpu.ones({}, device))
    t.raises({ "lfilter", "complex" }, gpu.lfilter, 1, 1, gpu.complex(x, x))
    t.raises({ "lfilter", "complex" }, gpu.lfilter, gpu.complex(gpu.ones(1), gpu.ones(1)), 1, x)
    t.raises("array or table of numbers expected, got string", gpu.lfilter, "b", 1, x)
    t.raises("array or table of numbers expected, got nil", gpu.lfilter, 1, 1, nil)
    t.raises({ "it is written gpu.lfilter(b, a, gpu.lfilter(b, a, x):flip(-1)):flip(-1)", "gpu.sosfiltfilt" }, function() return gpu.filtfilt end)
  end)
end

t.done()
