-- Small arrays take shorter ways through some functions. What waits for somebody to look goes the long one: both give the
-- same bits.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local nan, inf = 0 / 0, math.huge

-- Bits of a number, or of all elements; every NaN is one.
local function bits(v)
  if math.type(v) then return v ~= v and "nan" or string.pack("n", v) end
  local list = { v.dtype, table.concat(v.shape, "x") }
  for _, x in ipairs(v:flatten():totable()) do list[#list + 1] = bits(x) end
  return table.concat(list, " ")
end

-- f of the array at once, and of the same elements that wait.
local function same(f, x, what)
  local at_once = bits(f(x))
  local former = gpu.lazy("always")
  local later = bits(f(x * 1))
  gpu.lazy(former)
  assert(at_once == later, what)
end

-- Every shape with numbers, with NaN and infinities among them, and with hardly anything but NaN.
local function each_array(device, shapes, f)
  gpu.seed(3)
  local host = device == "cpu" -- others have one way for all
  for _, dtype in ipairs(host and { "float32", "float64", "float16" } or { "float32" }) do
    for _, shape in ipairs(host and shapes or { { 17 }, { 3, 5 } }) do
      local n = 1
      for _, size in ipairs(shape) do n = n * size end
      local some = (gpu.rand(n, "float64", device) * 20 - 10):to(dtype)
      local gone = gpu.rand(n, device):lt(0.2)
      local few = gpu.where(gone, nan, some)
      if n > 3 then few[2], few[3] = inf, -inf end
      local none = some * nan
      none[1] = 2
      for kind, x in ipairs({ some, few, none }) do
        f(x:reshape(shape), ("%s %s %d"):format(dtype, table.concat(shape, "x"), kind))
      end
    end
  end
end

local SHAPES = { { 1 }, { 2 }, { 3 }, { 17 }, { 1000 }, { 1024 }, { 1025 }, { 10, 100 }, { 100, 10 }, { 1, 9 }, { 3, 4, 5 } }

t.every("statistics of what is there", function(device)
  each_array(device, SHAPES, function(x, what)
    for _, name in ipairs({ "nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "ptp" }) do
      for axis = 0, x.ndim do
        same(function(v) return v[name](v, axis > 0 and axis or nil) end, x, what .. " " .. name .. " along " .. axis)
      end
    end
    same(function(v) return v:nanvar(nil, false, 1.5) end, x, what)
    same(function(v) return v:nanmean(-1, true) end, x, what)
  end)
end)

t.every("they leave out what is NaN, and nothing else", function(device)
  for _, dtype in ipairs({ "float32", "float64" }) do
    local x = gpu.array({ 4, nan, 1, nan, 7 }, dtype, device)
    t.same({ x:nansum(), x:nanmean(), x:nanvar(), x:nanvar(nil, false, 1), x:nanmin(), x:nanmax() }, { 12, 4, 6, 9, 1, 7 })
    local y = x:reshape(1, 5):tile(2, 1)
    t.same(y:nanstd({ axis = 2, ddof = 1 }):totable(), { 3, 3 })
    t.same(y:nansum(1):totable(), { 8, 0, 2, 0, 14 })
  end
  local whole = gpu.range(9, "int32", device) * 1000
  for _, ddof in ipairs({ 0, 1 }) do t.eq(whole:nanvar(nil, false, ddof), whole:var(nil, false, ddof)) end
end)

t.every("softmax and its logarithm", function(device)
  each_array(device, SHAPES, function(x, what)
    for axis = 1, x.ndim do
      same(function(v) return v:softmax(axis) end, x, what .. " softmax along " .. axis)
      same(function(v) return v:log_softmax(axis) end, x, what .. " log_softmax along " .. axis)
    end
  end)
  local x = gpu.log(gpu.array({ 1, 3, 4 }, "float64", device))
  local p = x:softmax()
  for i, expected in ipairs({ 0.125, 0.375, 0.5 }) do assert(math.abs(p[i] - expected) < 1e-15) end
end)

t.every("neighbours", function(device)
  each_array(device, { { 2 }, { 3 }, { 17 }, { 1000 }, { 1024 }, { 1025 }, { 3, 5 } }, function(x, what)
    for _, name in ipairs({ "diff", "gradient", "trapezoid" }) do
      same(function(v) return (v[name](v)) end, x, what .. " " .. name)
      if x.ndim == 1 then
        local every_other = x[{ { 1, -1, 2 } }]
        if name ~= "gradient" or every_other.size > 1 then same(function(v) return (v[name](v)) end, every_other, what) end
      end
    end
    for _, h in ipairs({ 3, 0.1 }) do
      same(function(v) return (v:gradient(h)) end, x, what)
      same(function(v) return v:trapezoid(h) end, x, what)
    end
  end)
  local squares = gpu.range(5, "float64", device) ^ 2
  t.same(squares:diff():totable(), { 3, 5, 7, 9 })
  t.same(squares:gradient(0.5):totable(), { 6, 8, 12, 16, 18 })
  t.eq(squares:trapezoid(2), 84.0)
  t.same(gpu.array({ 5, 1 }, "int32", device):diff():totable(), { -4 })
end)
