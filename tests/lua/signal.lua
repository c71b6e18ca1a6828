-- Filters by design, spectra, normalizations and pixels: what NumPy does not say. tests/numpy/test_signal.py has the figures.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs { "cpu", "simt" } do
  local x = gpu.array({ { 1, 3 }, { 10, 30 } }, device)

  t.test("dtypes and devices on " .. device, function()
    t.eq(gpu.layer_norm(x:to("int32")).dtype, "float32")
    t.eq(gpu.layer_norm(x:to("float16")).dtype, "float16")
    t.eq(gpu.batch_norm(x:to("float64")).device, x.device)
    t.eq(gpu.hilbert(x).dtype, "complex64")
    t.eq(gpu.hilbert(x:to("float64")).dtype, "complex128")
    t.eq(gpu.pixel_shuffle(gpu.ones(4, 1, 1, "int8", device), 2).dtype, "int8")
    t.eq(gpu.sosfilt(gpu.butter(1, 0.5), x:to("float16")).dtype, "float16")
    t.eq(gpu.sosfiltfilt(gpu.butter(1, 0.5), gpu.ones(20, "float16", device)).dtype, "float16")
    local s = gpu.stft(x, 2)
    assert(s.device == x.device and s.dtype == "complex64")
    t.eq(gpu.stft(x:to("float64"), 2).dtype, "complex128")
    t.eq(gpu.istft(s).dtype, "float32")
    t.eq(select(3, gpu.spectrogram(x:to("float64"))).dtype, "float64")
    local f, p = gpu.welch(x)
    assert(f.device == x.device and p.dtype == "float32")
  end)

  t.test("smoothing, peaks and rates on " .. device, function()
    for _, dtype in ipairs { "float16", "float32", "float64", "int32" } do
      local y = gpu.ones(3, 40, dtype, device)
      local floating = dtype == "int32" and "float32" or dtype
      for _, z in ipairs { gpu.savgol_filter(y, 5, 2), gpu.resample_poly(y, 2, 1), gpu.resample(y:to(dtype == "float16" and "float32" or dtype), 20),
        gpu.decimate(y, 2), gpu.upfirdn({ 1 }, y, 1, 2), gpu.detrend(y), gpu.chirp(y, 1, 1, 2) } do
        t.eq(z.device, device)
        if dtype ~= "float16" then t.eq(z.dtype, floating) end
      end
      t.eq(gpu.medfilt(y).dtype, dtype)
      t.near(gpu.detrend(y):to("float32"):abs():max(), 0, 1e-2)
    end
    local none = gpu.zeros(0, 40, device)
    t.same(gpu.savgol_filter(none, 5, 2).shape, { 0, 40 })
    t.same(gpu.resample(none, 10).shape, { 0, 10 })
    t.same(gpu.resample_poly(none, 3, 2).shape, { 0, 60 })
    t.same(gpu.upfirdn({ 1, 2 }, gpu.zeros(3, 0, device)).shape, { 3, 0 })
    t.same(gpu.detrend(gpu.zeros(3, 0, device)).shape, { 3, 0 })
    local at, known = gpu.find_peaks(gpu.array({ 0, 1, 1, 0, 2, 0 }, device), { plateau_size = 2 })
    t.same(at:totable(), { 2 })
    t.eq(at.device .. at.dtype, device .. "int64")
    t.same(known.right_edges:totable(), { 3 })
    local line = gpu.range(1, t.brief(9000, 900), 1, "float64", device) -- of which each window's polynomial is all
    assert(gpu.savgol_filter(line, t.brief(8001, 801), 3):allclose(line, 1e-11))
    assert(gpu.savgol_filter(line * line, t.brief(8001, 801), 2, 1):allclose(2 * line, 1e-8, 1e-6))
    local w = gpu.range(0.1, 2000, 0.1, "float64", device) -- more turns than are computed at once
    local swing = (line * 0.7):sin()
    local peak = gpu.memory(device).peak
    local power = gpu.lombscargle(line, swing, w)
    assert(gpu.memory(device).peak < peak + 2 ^ 28)
    assert(power[{ { 1, 50 } }]:allclose(gpu.lombscargle(line, swing, w[{ { 1, 50 } }]), 1e-9, 1e-9))
    assert(power[{ { -50, -1 } }]:allclose(gpu.lombscargle(line, swing, w[{ { -50, -1 } }]), 1e-9, 1e-9))
    t.near(w[power:argmax()] % (2 * math.pi) % math.pi, 0.7, 0.05)
    local few = gpu.resample_poly(line[{ { 1, 40 } }], 65536, 65535) -- fewer values than a turn has
    t.eq(#few, 41)
    assert(few[{ { 11, 30 } }]:allclose(line[{ { 11, 30 } }], 1e-3))
    t.raises("x has the shape (3, 40), expected one axis", gpu.find_peaks, gpu.zeros(3, 40, device))
    t.raises("wlen is 1.0, expected the elements around a peak", gpu.find_peaks, { 1, 2 }, { wlen = 1, prominence = 1 })
    t.raises("pos is 9, expected a place in the window, 1 to 5", gpu.savgol_coeffs, 5, 2, { pos = 9 })
    t.raises("n is 0, expected the order of the filter, 1 to 64", gpu.decimate, gpu.range(100, device), 2, 0)
    t.raises("distance is 0.0", gpu.find_peaks, { 1, 2 }, { distance = 0 })
    t.raises("height is string, expected a number", gpu.find_peaks, { 1, 2 }, { height = "high" })
    t.raises("an odd number of elements", gpu.savgol_filter, x, 4, 2)
    t.raises({ "order is 3", "3 elements" }, gpu.savgol_filter, x, 3, 3)
    t.raises({ "the window has 5 elements, and x 2", "another mode" }, gpu.savgol_filter, x, 5, 2)
    t.raises("odd number", gpu.medfilt, x, 2)
    t.raises("a break is at 1", gpu.detrend, x, { breaks = { 1 } })
    t.raises("count is 0", gpu.resample, x, 0)
    t.raises("up is 0", gpu.resample_poly, x, 0, 1)
    t.raises("h has the shape (2, 2)", gpu.upfirdn, { { 1, 2 }, { 3, 4 } }, x)
    t.raises("no axes", gpu.detrend, gpu.full({}, 1, device))
  end)

  t.test("halves are normalized as floats on " .. device, function()
    local y = gpu.array({ { 0, 600 } }, "float16", device) -- whose squares a half does not hold
    t.same(gpu.layer_norm(y):totable(), { { -1, 1 } })
    t.same(gpu.group_norm(y, 1):totable(), { { -1, 1 } })
    t.same(gpu.batch_norm(y.T):totable(), { { -1 }, { 1 } })
    local small = gpu.array({ { 0, 1 } }, "float16", device) -- eps is less than the smallest half
    t.same(gpu.batch_norm(small, gpu.zeros(2, "float16", device), gpu.zeros(2, "float16", device), { eps = 2 ^ -40 }):isnan():totable(),
      { { false, false } })
    t.eq(gpu.batch_norm(y, gpu.zeros(2, "float64", device), gpu.ones(2, "float64", device)).dtype, "float16")
  end)

  t.test("few elements, and none on " .. device, function()
    t.same(gpu.layer_norm(gpu.zeros(0, 3, device)).shape, { 0, 3 })
    t.same(gpu.pixel_shuffle(gpu.zeros(0, 4, 2, 2, device), 2).shape, { 0, 1, 4, 4 })
    t.same(gpu.batch_norm(gpu.ones(1, 2, device)):totable(), { { 0, 0 } })
    t.same(gpu.hilbert(gpu.array({ 5 }, device)):abs():totable(), { 5 })
    t.same(gpu.sosfilt(gpu.butter(3, 0.1), gpu.zeros(2, 0, device)).shape, { 2, 0 })
    t.same(gpu.sosfiltfilt(gpu.butter(3, 0.1), gpu.zeros(0, 20, device)).shape, { 0, 20 })
    t.same(gpu.stft(gpu.zeros(0, 20, device), 8).shape, { 0, 5, 11 })
    t.same(gpu.istft(gpu.stft(gpu.zeros(0, 20, device), 8)).shape, { 0, 20 })
    t.eq(gpu.istft(gpu.stft(gpu.array({ 5 }, device), 1), 1):item(), 5.0)
    t.same(gpu.istft(gpu.stft(gpu.ones(8, device), { n = 4, step = 4, center = false }), { n = 4, step = 4, center = false }):totable(),
      { 0, 1, 1, 1, 0, 1, 1, 1 }) -- which the window begins with nothing of
    for _, scale in ipairs({ 1e-6, 1e6 }) do -- what a window is, not how great
      local frames = { n = 16, window = gpu.ones(16, "float64", device) * scale }
      local signal = gpu.range(100, "float64", device)
      assert(gpu.istft(gpu.stft(signal, frames), frames):allclose(signal))
    end
    local half = { n = 4, step = 4, window = gpu.array({ 0, 1, 1, 0 }, device) * 1e-6, center = false }
    t.same((gpu.istft(gpu.stft(gpu.ones(8, device), half), half) * 16):round():totable(), { 0, 16, 16, 0, 0, 16, 16, 0 })
    local f, p = gpu.welch(gpu.ones(1, device))
    t.eq(f:item() + p:item(), 0.0)
    t.eq(#gpu.firwin(1, 0.5), 1)
  end)

  t.test("what is written into an array on " .. device, function()
    local out = gpu.zeros(2, 2, device)
    assert(rawequal(gpu.layer_norm(x, { eps = 0, out = out }), out))
    t.same(out:totable(), { { -1, 1 }, { -1, 1 } })
  end)
end

-- How much sections of second order let through at an angle, without a product that leaves the range.
local function response(sos, w)
  local sum = 0
  for _, s in ipairs(sos:totable()) do
    local function square(a, b, c)
      local re, im = a + b * math.cos(w) + c * math.cos(2 * w), b * math.sin(w) + c * math.sin(2 * w)
      return re * re + im * im
    end
    sum = sum + math.log(square(s[1], s[2], s[3])) - math.log(square(s[4], s[5], s[6]))
  end
  return math.exp(sum / 2)
end

t.test("sections whose gains' product leaves the range", function()
  local function angle(edge) return math.tan(math.pi * edge / 2) end
  local middle = 2 * math.atan(math.sqrt(angle(0.3) * angle(0.30001)))
  for _, case in ipairs { { 0, 64, 1e-6 }, { middle, 64, { 0.3, 0.30001 }, "bandpass" }, { math.pi, 64, 0.9999, "highpass" },
    { 0, 64, { 0.3, 0.30001 }, "bandstop" } } do
    local sos = gpu.butter(case[2], case[3], case[4])
    t.near(response(sos, case[1]), 1, 1e-3)
    assert(sos[{ {}, { 1, 3 } }]:abs():sum(2):gt(0):all())
  end
  t.raises("butter: the edges are so near", gpu.butter, 2, 1e-12)
end)

t.test("arguments of filters", function()
  t.raises("an order is from 1 to 64", gpu.butter, 0, 0.5)
  t.raises("lowpass has one edge, got 2", gpu.butter, 2, { 0.1, 0.2 })
  t.raises("bandpass has two edges, {low, high}, got 1", gpu.butter, 2, 0.1, "bandpass")
  t.raises("edges are between 0 and half the sampling rate, 1.0", gpu.butter, 2, 1)
  t.raises("edges are between 0 and half the sampling rate, 50.0", gpu.firwin, 5, { 20, 10 }, "bandstop", 100)
  t.raises("fs is -1, expected the sampling rate", gpu.butter, 2, 0.5, { fs = -1 })
  t.raises("an edge is boolean, expected a number", gpu.butter, 2, true)
  t.raises({ "notch", "lowpass" }, gpu.butter, 2, 0.5, "notch")
  t.raises("highpass with 4 coefficients lets nothing through", gpu.firwin, 4, 0.5, "highpass")
  t.raises("a filter has from 1 to 2^20 coefficients", gpu.firwin, 0, 0.5)
  t.raises("butter: there is no option 'cutoff'; there are kind and fs", gpu.butter, 2, 0.5, { cutoff = 1 })
  t.raises("sos has the shape (2, 3), expected (sections, 6)", gpu.sosfilt, gpu.ones(2, 3), gpu.ones(4))
  t.raises("sosfilt has no meaning for complex numbers (complex64)", gpu.sosfilt, gpu.butter(1, 0.5), gpu.ones(4, "complex64"))
  t.raises("no axis 2", gpu.sosfilt, gpu.butter(1, 0.5), gpu.ones(4), 2)
end)

t.test("arguments of spectra", function()
  t.raises("the signal has no elements", gpu.welch, gpu.zeros(2, 0))
  t.raises("the signal has no axes", gpu.hilbert, gpu.ones(3):sum({ axis = 1, keepdims = true }):reshape({}))
  t.raises("n is 9, expected the length of a segment, from 1 to the signal's 8", gpu.welch, gpu.ones(8), { n = 9 })
  t.raises("step is 0, expected 1 or more", gpu.welch, gpu.ones(8), { n = 4, step = 0 })
  t.raises("fs is 0, expected the sampling rate", gpu.welch, gpu.ones(8), 0)
  t.raises("no axis 3", gpu.hilbert, gpu.ones(2, 8), 3)
  t.raises("complex", gpu.welch, gpu.ones(8, "complex64"))
end)

t.test("arguments of normalizations", function()
  local x = gpu.ones(2, 6, 4)
  t.raises("axes is 4, expected how many of the array's 3 axes", gpu.layer_norm, x, 4)
  t.raises("layer_norm: weight has the shape (3,), expected (4,)", gpu.layer_norm, x, 1, { 1, 2, 3 })
  t.raises("layer_norm: bias has the shape (4,), expected (6, 4)", gpu.layer_norm, x, { axes = 2, bias = gpu.ones(4) })
  t.raises("6 channels cannot be parted into 4 groups", gpu.group_norm, x, 4)
  t.raises("group_norm: weight has the shape (4,), expected (6,)", gpu.group_norm, x, 2, gpu.ones(4))
  t.raises("there is a mean, and no variance", gpu.batch_norm, x, gpu.ones(6))
  t.raises("the array has 1 axis, expected (N, C) or (N, C, ...)", gpu.batch_norm, gpu.ones(3))
  t.raises("eps is -1, expected a number from 0 on", gpu.layer_norm, x, { eps = -1 })
  t.raises("layer_norm: there is no option 'axis'; there are axes, weight, bias and eps", gpu.layer_norm, x, { axis = 1 })
  t.raises("the factor 2 does not divide the shape (2, 6, 4): expected (..., C r r, H, W)", gpu.pixel_shuffle, x, 2)
  t.raises("the factor 4 does not divide the shape (2, 6, 4): expected (..., C, H r, W r)", gpu.pixel_unshuffle, x, 4)
  t.raises("the factor 0 does not divide", gpu.pixel_unshuffle, x, 0)
  local none = gpu.zeros(1 << 40, 0, 0)
  t.raises("the factor 1048576 makes a size of the shape (1099511627776, 0, 0) larger than", gpu.pixel_unshuffle, none, 1 << 20)
  t.raises("the factor 1048576 makes a size of the shape", gpu.pixel_shuffle, gpu.zeros(0, 1 << 44, 0), 1 << 20)
  t.same(gpu.pixel_shuffle(none, 2).shape, { 1 << 38, 0, 0 })
  t.raises("expected (..., C, H, W)", gpu.pixel_shuffle, gpu.ones(4, 4), 2)
end)

t.test("a signal in parts, whose state is not changed", function()
  local sos, x = gpu.butter(4, 0.2), gpu.random.normal(0, 1, { 2, 50 })
  local zero = gpu.zeros(2, 2, 2, "float64")
  local first, state = gpu.sosfilt(sos, x[{ {}, { 1, 20 } }], { zi = zero })
  assert(zero:eq(0):all() and not state:eq(0):any())
  local second = gpu.sosfilt(sos, x[{ {}, { 21, 50 } }], { zi = state })
  assert(gpu.concatenate({ first, second }, 2):allclose(gpu.sosfilt(sos, x), 1e-5, 1e-6))
end)

t.test("sections, states and segments that do not fit are told", function()
  local sos, x = gpu.butter(3, 0.2), gpu.ones(50)
  t.raises({ "zi has the shape (2, 3), expected (2, 2)" }, function() gpu.sosfilt(sos, x, { zi = gpu.zeros(2, 3) }) end)
  t.raises({ "a[1] of section 1,", "is 0" }, function() gpu.sosfilt({ { 1, 0, 0, 0, 1, 0 } }, x) end)
  t.raises({ "padlen is 12, expected 0 or more, and less than the 9" }, function() gpu.sosfiltfilt(sos, gpu.ones(9)) end)
  t.raises({ "section 1 never comes to rest" }, function() gpu.sosfiltfilt({ { 1, 0, 0, 1, -1, 0 } }, x) end)
  t.raises({ "axis" }, function() gpu.sosfiltfilt(sos, x, 2) end)
  t.raises({ "50 elements, expected more than half of", "200" }, function() gpu.stft(x, 200) end)
  t.raises({ "50 elements, expected at least", "60" }, function() gpu.stft(x, { n = 60, center = false }) end)
  t.raises({ "step is 9, expected 1 to 8" }, function() gpu.stft(x, 8, 9) end)
  t.raises({ "window has the shape (7,), expected (8,)" }, function() gpu.stft(x, 8, 4, gpu.ones(7)) end)
  t.raises({ "hann" }, function() gpu.stft(x, 8, 4, "kaiser") end)
  t.raises({ "istft: x is of float32" }, function() gpu.istft(x) end)
  t.raises({ "expected 7 frequencies for n = 12" }, function() gpu.istft(gpu.stft(x, 8), 12) end)
  t.raises({ "length is 100, expected up to the 54" }, function() gpu.istft(gpu.stft(x, 8), { length = 100 }) end)
  t.raises({ "window has the shape (2,), expected (8,)" }, function() gpu.welch(x, { n = 8, window = { 1, 2 } }) end)
end)

t.test("designs and waves refuse", function()
  t.raises("rp is 0, expected decibels above 0", gpu.cheby1, 4, 0, 0.3)
  t.raises({ "rp is 40 and rs 1", "greater" }, gpu.ellip, 4, 40, 1, 0.3)
  t.raises("an order is from 1 to 64", gpu.cheby2, 65, 40, 0.3)
  t.raises("bandpass has two edges", gpu.ellip, 4, 1, 40, 0.3, "bandpass")
  t.raises("n is 0", gpu.freqz, { 1 }, 1, 0)
  local on_cpu = gpu.array({ 1, 2 }, "float64", "cpu")
  for _, args in ipairs { { on_cpu }, { { 1 }, on_cpu }, { { 1 }, 1, on_cpu } } do
    local f, h = gpu.freqz(table.unpack(args))
    assert(f.device == on_cpu.device and h.device == on_cpu.device)
  end
  t.raises("fs is 0", gpu.sosfreqz, gpu.butter(2, 0.5), { fs = 0 })
  t.raises("expected (sections, 6)", gpu.sosfreqz, { 1, 2 })
  t.raises("expected one axis, as long as that of t", gpu.lombscargle, { 1, 2 }, { 1 }, { 1 })
  t.raises("two frequencies of one sign", gpu.chirp, { 1 }, 0, 1, 5, "logarithmic")
  t.raises("a part of the period", gpu.sawtooth, { 1 }, 2)
  t.raises("it is called axis", gpu.detrend, { 1, 2 }, { dim = 1 })
  t.raises("did you mean 'medfilt'?", function() return gpu.medfilt2d end)
end)

t.done()
