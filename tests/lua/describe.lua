-- x:describe() against the same statistics in Lua.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- The statistics of a list without NaN.
local function reference(list)
  table.sort(list)
  local n, mean, square = #list, 0, 0
  for _, v in ipairs(list) do mean = mean + v / n end
  for _, v in ipairs(list) do square = square + (v - mean) ^ 2 / n end
  local function quantile(q)
    local at = 1 + q * (n - 1)
    local low = math.floor(at)
    return list[low] + (at - low) * ((list[low + 1] or list[low]) - list[low])
  end
  return { count = n, mean = mean, std = math.sqrt(square), min = list[1], q1 = quantile(0.25), median = quantile(0.5),
    q3 = quantile(0.75), max = list[n] }
end

local function check(d, list, missing)
  for name, want in pairs(reference(list)) do t.near(d[name], want, 1e-5 * math.max(1, math.abs(want)), name) end
  t.eq(d.missing, missing)
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  test("all dtypes", function()
    for _, dtype in ipairs({ "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
      "float32", "float64" }) do
      local values = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5 }
      check(gpu.array(values, dtype, device):describe(), values, dtype:find("float") and 0 or nil)
    end
    local d = gpu.array({ true, false, true, true }, device):describe()
    t.eq(d.mean, 0.75)
    t.eq(d.max, 1)
  end)

  test("missing values are left out", function()
    local values, list = {}, {}
    for i = 1, 5000 do
      local v = math.sin(i * i)
      if i % 7 == 0 then v = 0 / 0 else list[#list + 1] = v end
      values[i] = v
    end
    check(gpu.array(values, device):describe(), list, 714)
    assert(tostring(gpu.array({ 1, -1 }, "uint64", device):describe()):find("max%s+18446744073709551615"))
    assert(tostring(gpu.array({ -math.huge, math.huge }, device):describe()):find("50%%%s+nan"))
    local none = gpu.array({ 0 / 0, 0 / 0 }, device):describe()
    t.eq(none.count, 0)
    t.eq(none.missing, 2)
    t.eq(none.mean, nil)
  end)

  test("views, scalars and nothing", function()
    local x = gpu.range(24, device):reshape(4, 6)
    check(x.T["::2"]:describe(), { 1, 7, 13, 19, 3, 9, 15, 21, 5, 11, 17, 23 }, 0)
    check((x * 2):describe(), t.list(24, function(i) return 2 * i + 2 end), 0)
    check(gpu.array(5, device):describe(), { 5 }, 0)
    t.eq(gpu.zeros(0, 3, device):describe().count, 0)
    t.raises("rows and columns", x.describe, gpu.zeros(3, device), 1)
  end)

  test("by column and by row", function()
    local x = gpu.array({ { 1, 20 }, { 2, 0 / 0 }, { 6, 40 } }, device)
    local columns, rows = x:describe(1), x:describe(2)
    t.eq(#columns, 2)
    t.eq(#rows, 3)
    check(columns[1], { 1, 2, 6 }, 0)
    check(columns[2], { 20, 40 }, 1)
    check(rows[2], { 2 }, 1)
    check(x:describe(-1)[3], { 6, 40 }, 0)
    t.eq(#gpu.zeros(0, 2, device):describe(1), 2)
    t.eq(#gpu.zeros(0, 2, device):describe(2), 0)
  end)

  test("texts", function()
    t.eq(tostring(gpu.array({ { 1, 2 }, { 3, 6 } }, device):describe(1)), table.concat({
      "array float32 (2, 2) on " .. device .. ", by column", "             1  2", "  count      2  2", "  missing    0  0",
      "  mean       2  4", "  std        1  2", "  min        1  2", "  25%      1.5  3", "  50%        2  4", "  75%      2.5  5",
      "  max        3  6" }, "\n"))
    t.eq(tostring(gpu.zeros({ 0 }, "int32", device):describe()), "array int32 (0,) on " .. device .. "\n  count    0")
    local wide = tostring(gpu.zeros(2, 100, device):describe(1))
    assert(wide:find("1  2  3  ...  98  99  100", 1, true), wide)
    for line in wide:gmatch("[^\n]+") do assert(#line < 60) end
  end)
end

t.done()
