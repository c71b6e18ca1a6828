-- gpu.fft: dtypes, options, mistakes, and what must not depend on the number of threads. tests/numpy/test_fft.py has the
-- numbers.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local f = gpu.fft

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function ones(...) return gpu.ones({ ... }, device) end

  test("dtypes of transforms", function()
    for dtype, want in pairs({ bool = "complex64", int8 = "complex64", int32 = "complex64", int64 = "complex128",
      float16 = "complex64", bfloat16 = "complex64", float32 = "complex64", float64 = "complex128",
      complex64 = "complex64", complex128 = "complex128" }) do
      local x = ones(6):to(dtype)
      t.eq(f.fft(x).dtype .. f.ifft(x).dtype, want .. want, dtype)
      t.eq(f.irfft(x).dtype, want == "complex64" and "float32" or "float64", dtype)
      if not dtype:find("complex") then t.eq(f.rfft(x).dtype, want, dtype) end
    end
  end)

  test("a wave has one frequency", function()
    for _, n in ipairs({ 8, 11, 37, 1000, 4097 }) do
      local phase = gpu.range(0, n - 1, "float64", device) * (2 * math.pi * 3 / n)
      local y = f.fft(gpu.complex(phase:cos(), phase:sin()))
      t.near(y[4].re, n, 1e-9 * n)
      t.near(y:abs():sum(), n, 1e-8 * n)
      t.eq(y.device, device)
    end
  end)

  test("empty batches", function()
    t.eq(tostring(f.fft(gpu.zeros({ 0, 6 }, device)).shape), "(0, 6)")
    t.eq(tostring(f.rfft(gpu.zeros({ 0, 6 }, device)).shape), "(0, 4)")
    t.eq(tostring(f.irfft(gpu.zeros({ 0, 6 }, device)).shape), "(0, 10)")
    t.eq(f.fft(gpu.zeros({ 0 }, device), 4):equal(gpu.zeros({ 4 }, "complex64", device)), true)
    t.eq(tostring(f.fftn(ones(2, 3), { axes = {} }).shape), "(2, 3)")
  end)

  test("what waits and what is a view is transformed", function()
    local x = ones(5000) * 2
    t.near(f.fft(x)[1].re, 10000, 1e-2)
    local z = gpu.complex(ones(8), ones(8) * 2)
    t.eq(f.rfft(z.imag)[1], gpu.complex(16))
    t.eq(f.rfft(ones(9)["2:9"])[1], gpu.complex(8))
  end)

  test("mistakes", function()
    local x = ones(4, 4)
    t.raises({ "length of a transform", "0" }, f.fft, x, 0)
    t.raises("length of a transform", f.fft, x, 2.5)
    t.raises("axis", f.fft, x, nil, 3)
    t.raises({ '"ortho" or', 'got "half"' }, f.fft, x, nil, 1, "half")
    t.raises({ "no option 'length'", "n, axis and norm" }, f.fft, x, { length = 2 })
    t.raises({ "no option 'axis'", "s, axes and norm" }, f.fft2, x, { axis = 2 })
    t.raises("1 lengths for 2 axes", f.fft2, x, { 4 }, { 1, 2 })
    t.raises("2 axes, of an array that has 1", f.fft2, ones(4))
    t.raises({ "rfft transforms real numbers", "x.real" }, f.rfft, x:to("complex64"))
    t.raises({ "axis 1 has 1 element", "give the length n" }, f.irfft, ones(1))
    t.raises({ "axis 1 has 0 elements", "give the length n" }, f.fft, ones(0))
    t.raises("no axes", f.fft, gpu.array(1, device))
    t.raises({ "gpu.fft has no function 'fff'", "fft" }, function() return f.fff end)
  end)
end

t.done()
