-- Each optional parameter that a signature names can be given by that name alone: what is left out before it is no error.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- The parameters of the first form of a signature that has their names, each with whether it is optional; nil where a
-- form has other things, or where nothing is optional. Then whether it is a method.
local function parameters(d)
  local mark, form = d.signature:match("([%.:])" .. d.name:match("[%w_]+$") .. "(%b())")
  if not d.signature:find "^gpu%." and not d.signature:find "^[xy]:" then return nil end
  if not form or form:find '[{"|=]' or form:find "options" then return nil end
  local list, depth, any = {}, 0, false
  for before, name in form:sub(2, -2):gmatch "([%[%] ,.]*)([%w_]*)" do
    for bracket in before:gmatch "[%[%]]" do depth = depth + (bracket == "[" and 1 or -1) end
    if name ~= "" then list[#list + 1] = { name = name, optional = depth > 0 } end
    any = any or name ~= "" and depth > 0
  end
  return any and list, mark == ":"
end

local square = gpu.array({ { 4, 1, 3 }, { 2, 6, 5 }, { 7, 9, 8 } }, "float64")
local line = gpu.array({ 1, 2, 2, 5 }, "float64")
local whole = gpu.array({ 1, 2, 2, 0 }, "int64")
local batch = gpu.range(12, "float64"):reshape(2, 2, 3)
local two = gpu.ones(2, "float64")

-- What values parameters have, by their names, and where a function wants others, by those of the function.
local usual = {
  x = square, y = square, a = square, b = square, f = function(i) return i end, list = { square, square }, parts = 3,
  shift = 1, count = 3, size = 2, widths = 1, indices = whole:narrow(1, 1, 3), mask = gpu.array { true, false, true },
  values = line, edges = line, shape = 3, rows = 3, n = 3, start = 1, stop = 3, k = 1, value = 2, cval = 2, factor = 2, re = line,
  im = line, low = 0, high = 5, mean = 1, deviation = 1, p = 0.5, scale = 1, freedom = 3, mode = "reflect", axis = 1,
  axes = { 1, 2 }, keepdims = true, dtype = "float64", device = "cpu", order = 1, descending = true, largest = true,
  smallest = true, right = true, side = "right", ddof = 1, rtol = 1, atol = 1, max = 5, min = 2, nan = 0, infinity = 1,
  negative = -1, step = 1, offset = 1, period = 3, spacing = 2, decimals = 1, base = 2, endpoint = false, columns = 2,
  times = 2, tolerance = 1e-9, rcond = 1e-9, ord = 2, fs = 10, window = "hann", increasing = true, groups = 1, beta = 1,
  structure = gpu.ones(3, 3, "bool"), weights = gpu.ones(3, 3, "float64"), eps = 1e-3, d = 0.5, discont = 4,
  norm = "ortho", s = { 3, 3 },
  method = "direct", bins = 3, xrange = { 0, 9 }, yrange = { 0, 9 }, weight = two, bias = two, variance = two, least = 7,
  edge = 0.2, kind = "highpass", default = 7, conditions = { square:gt(3) }, choices = { square }, left = -1,
  target = gpu.array({ 1, 2, 3 }, "int64"), q = 2, rp = 1, rs = 40, up = 3, down = 2, labels = gpu.ones(3, 3, "int32"),
  label = "x", by = 1, index = 1, numerator = 5, denominator = 12, noncentrality = 2, xp = line, fp = line, coordinates = gpu.ones(2, 4, "float64"), sos = gpu.butter(2, 0.3),
}
local special = {
  batch_norm = { x = batch, mean = two },
  beta = { a = 1, b = 2 },
  affine_grid = { theta = gpu.ones(2, 2, 3), size = { 2, 1, 3, 3 }, align_corners = true },
  bincount = { x = whole, weights = line },
  butter = { edge = 0.2 },
  chirp = { t = line, f0 = 1, t1 = 2, f1 = 3, method = "linear", phi = 90 },
  cross_entropy = { weight = line:narrow(1, 1, 3), reduction = "sum", ignore_index = 2, label_smoothing = 0.1 },
  decimate = { x = gpu.ones(200, "float64"), n = 2, ftype = "fir", zero_phase = false },
  detrend = { kind = "constant", breaks = { 2 } },
  convolve = { x = line, y = line, mode = "same" },
  correlate = { x = line, y = line, mode = "same" },
  firwin = { count = 5 },
  find_peaks = { x = line, height = 1, threshold = 1, distance = 2, prominence = 1, width = 1, wlen = 3, rel_height = 0.7, plateau_size = 1 },
  freqz = { b = line, a = 1, whole = true },
  flip = { axis = 2 },
  grid_sample = { x = batch:unsqueeze(1), grid = gpu.zeros(1, 2, 2, 2), mode = "nearest", padding_mode = "border", align_corners = true },
  group_norm = { x = batch },
  gumbel = { mode = 0 },
  hypergeometric = { good = 3, bad = 4, count = 2 },
  histogram2d = { x = line, y = line, weights = line, density = true },
  multinomial = { n = 5, p = { 1, 2 } },
  integers = { dtype = "int16" },
  insert = { values = 7 },
  interp = { x = line, xp = gpu.range(4, "float64"), right = 9 },
  graph = { device = "simt" },
  layer_norm = { x = batch, axes = 1, weight = gpu.ones(3, "float64"), bias = gpu.ones(3, "float64") },
  interpolate = { x = batch, size = 5, scale_factor = 2, mode = "linear", align_corners = false },
  multivariate_normal = { mean = two, cov = gpu.eye(2, "float64") },
  medfilt = { size = 3 },
  one_hot = { x = whole + 1, count = 5 },
  packbits = { x = gpu.ones(3, 3, "uint8"), bitorder = "little" },
  cumulative_trapezoid = { initial = 0 },
  dirichlet = { alpha = { 1, 2 } },
  fill_diagonal = { wrap = true },
  fill_diagonal_ = { wrap = true },
  rms_norm = { axes = 1, weight = gpu.ones(3, "float64") },
  savgol_coeffs = { window = 3, deriv = 1, delta = 0.5, pos = 2 },
  savgol_filter = { window = 3, deriv = 1, delta = 0.5, mode = "wrap", cval = 1 },
  sawtooth = { t = line, width = 0.5 },
  scaled_dot_product_attention = { q = square, k = square, v = square, mask = gpu.ones(3, 3, "bool"), causal = true },
  square_wave = { t = line, duty = 0.5 },
  upfirdn = { h = line },
  scatter_reduce = { x = line, indices = { 1, 2 }, reduce = "sum", include_self = false, values = 1 },
  scatter_reduce_ = { x = line, indices = { 1, 2 }, reduce = "sum", include_self = false, values = 1 },
  tensorinv = { ind = 1 },
  toeplitz = { c = line, r = line },
  trim_zeros = { sides = "f" },
  unpackbits = { x = gpu.ones(3, 3, "uint8"), count = 5, bitorder = "little" },
  searchsorted = { x = line },
  squeeze = { x = square:narrow(1, 1, 1) },
  vander = { x = line },
  pareto = { a = 3 },
  power = { a = 3 },
  triangular = { left = 0, mode = 1, right = 5 },
  vonmises = { concentration = 2 },
  weibull = { a = 1 },
  zipf = { a = 3 },
  ["gpu.ndimage.convolve"] = { x = square, y = square, mode = "reflect" },
  ["gpu.ndimage.correlate"] = { x = square, y = square, mode = "reflect" },
  ["gpu.ndimage.distance_transform_edt"] = { sampling = 2, return_indices = true },
  ["gpu.ndimage.gaussian_gradient_magnitude"] = { sigma = 1 },
  ["gpu.ndimage.gaussian_laplace"] = { sigma = 1 },
  ["gpu.ndimage.center_of_mass"] = { index = 1 },
  ["gpu.ndimage.maximum"] = { index = 1 },
  ["gpu.ndimage.maximum_position"] = { index = 1 },
  ["gpu.ndimage.mean"] = { index = 1 },
  ["gpu.ndimage.median"] = { index = 1 },
  ["gpu.ndimage.minimum"] = { index = 1 },
  ["gpu.ndimage.minimum_position"] = { index = 1 },
  ["gpu.ndimage.standard_deviation"] = { index = 1 },
  ["gpu.ndimage.sum_labels"] = { index = 1 },
  ["gpu.ndimage.variance"] = { index = 1 },
  ["gpu.ndimage.find_objects"] = { labels = gpu.ones(3, 3, "int32") },
  ["gpu.ndimage.percentile_filter"] = { percentile = 30 },
  ["gpu.ndimage.rank_filter"] = { rank = 1 },
  ["gpu.resample_poly"] = { window = two },
  ["gpu.sosfreqz"] = { n = 5, whole = true },
  ["gpu.coherence"] = { x = line, y = line },
  ["gpu.csd"] = { x = line, y = line },
  ["gpu.iirnotch"] = { frequency = 0.2, quality = 3 },
  ["gpu.iirpeak"] = { frequency = 0.2, quality = 3 },
  ["gpu.welch"] = { x = line },
  ["gpu.spectrogram"] = { x = line },
  ["gpu.sosfilt"] = { x = line, zi = gpu.ones(1, 2, "float64") },
  ["gpu.sosfiltfilt"] = { x = gpu.ones(20, "float64"), padlen = 2 },
  ["gpu.stft"] = { x = gpu.ones(200, "float64"), n = 16, center = false },
  ["gpu.istft"] = { x = gpu.stft(gpu.ones(20, "float64"), 4), n = 4, center = false, length = 5 },
}
-- Values that a function has only together with another: their names.
local together = { interpolate = { align_corners = "size", mode = "size" }, batch_norm = { mean = "variance", variance = "mean" } }
-- Those that name a pair, change the session, need a file, or print.
local others = {}
for name in ("transpose diagonal gpu.device gpu.dtypes gpu.evaluate gpu.from_dlpack dlpack gpu.help gpu.lazy gpu.heap "
  .. "gpu.sparse.load gpu.progress"):gmatch "%S+" do others[name] = true end

local function find(name)
  if name:find "^array%." then return square[name:match "[%w_]+$"] end
  local f = gpu
  for part in name:sub(5):gmatch "[%w_]+" do f = f[part] end
  return f
end

local function check(d, list, method)
  local short = d.name:match "[%w_]+$"
  local own = special[d.name] or special[short] or {}
  local function value(name)
    local v = own[name]
    if v == nil then v = usual[name] end
    assert(v ~= nil, "the test knows no value for " .. name)
    return v
  end
  local required = {}
  if method then required[1] = value "x" end
  for _, p in ipairs(list) do if not p.optional then required[#required + 1] = value(p.name) end end
  if short:find "_$" then required[1] = required[1]:clone() end
  for _, p in ipairs(list) do
    if p.optional then
      local args = table.move(required, 1, #required, 1, {})
      local named = { [p.name] = value(p.name) }
      local other = together[short] and together[short][p.name]
      if other then named[other] = value(other) end
      args[#args + 1] = named
      local ok, e = pcall(find(d.name), table.unpack(args))
      if not ok then error(d.name .. " by the name " .. p.name .. ": " .. tostring(e), 0) end
    end
  end
end

local checked = 0
for _, d in ipairs(gpu.docs()) do
  local short, list, method = d.name:match "[%w_]+$", parameters(d)
  if list and d.name:find "^[ga][pr][ur]" and not others[d.name] and not others[short] then
    checked = checked + 1
    t.test(d.name, function() check(d, list, method) end)
  end
end
t.test("there are many", function() assert(checked > 150, checked) end)

t.done()
