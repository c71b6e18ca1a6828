-- Which floats are finite, infinite or NaN: every kind of float at every place of arrays of many lengths, which vectors and
-- what is left behind them take apart, and of views.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local inf, nan = math.huge, 0 / 0
local LARGEST = { float16 = 65504, bfloat16 = 3.3895313892515355e38, float32 = 3.4028234663852886e38,
                  float64 = 1.7976931348623157e308 }

local function is_inf(v) return v == inf or v == -inf end
local function is_finite(v) return v == v and not is_inf(v) end

local function compare(x, values)
  local infinite, finite, none = x:isinf():totable(), x:isfinite():totable(), x:isnan():totable()
  for i, v in ipairs(values) do
    if infinite[i] ~= is_inf(v) or finite[i] ~= is_finite(v) or none[i] ~= (v ~= v) then
      error(("element %d of %d, %s in %s: %s %s %s"):format(i, #values, v, x.dtype, infinite[i], finite[i], none[i]))
    end
  end
end

for _, dtype in ipairs { "float16", "bfloat16", "float32", "float64" } do
  local largest = LARGEST[dtype]
  t.test("finite, infinite and NaN elements in " .. dtype, function()
    local kinds = { inf, 1.5, nan, -inf, largest, -largest, 0.0, -0.0, -nan }
    for _, n in ipairs { 1, 7, 31, 32, 33, 63, 64, 65, 100, 1025 } do
      for shift = 1, #kinds do
        local values = {}
        for i = 1, n do values[i] = kinds[(i * shift + i // 9) % #kinds + 1] end
        local x = gpu.array(values, dtype)
        compare(x, values)
        compare(gpu.stack({ x, x }, 2)[{ {}, 1 }], values)
      end
    end
  end)

  t.test("one element that is another in " .. dtype, function()
    for place = 1, 67 do
      for _, pair in ipairs { { 1.0, inf }, { 1.0, nan }, { inf, 1.0 }, { nan, -inf } } do
        local values = {}
        for i = 1, 67 do values[i] = pair[i == place and 2 or 1] end
        compare(gpu.array(values, dtype), values)
      end
    end
  end)
end

-- Integers are answered without a look at them: at once up to some size, beyond it and where they wait in a pass.
t.every("integers are finite", function(device)
  local sizes = t.compiles(device) and { 0, 3, 5000 } or { 0, 1, 2049, 100000, 1 << 20, (1 << 20) + 1 }
  for _, dtype in ipairs { "bool", "int8", "uint32", "int64" } do
    for _, n in ipairs(sizes) do
      local x = gpu.ones(n, dtype, device)
      local function check(y, want, count)
        t.eq(y.dtype .. y.device, "bool" .. device)
        t.eq(y:sum(), want and count or 0, dtype .. " " .. n)
        y[{}] = true -- it is an array of its own
      end
      for _, name in ipairs { "isnan", "isinf", "isfinite", "isposinf", "isneginf" } do
        check(x[name](x), name == "isfinite", n)
        local turned = x:reshape(1, n).T
        t.eq(turned[name](turned).shape[1], n)
        check(x:broadcast_to(2, n)[name](x:broadcast_to(2, n)), name == "isfinite", 2 * n)
        check((x + 1)[name](x + 1), name == "isfinite", n)
        local out = gpu.ones(n, "bool", device)
        x[name](x, { out = out })
        t.eq(out:sum(), name == "isfinite" and n or 0)
      end
      t.eq(x:sum(), n, "what was asked stays as it is")
    end
  end
  t.eq(gpu.array(3, "int32", device):isfinite():item(), true)
  local freed = gpu.ones(5000, "int32", device)
  freed:free()
  t.raises("the array was freed", freed.isnan, freed)
end)

t.done()
