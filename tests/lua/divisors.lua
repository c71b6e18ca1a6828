-- Integers divided by one number, which the host multiplies by its inverse where all of a block has it and dividends
-- are up to 2^50: quotients and remainders are Lua's, near every multiple and at the ends of each range.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local RANGES = {
  int8 = {-2^7 | 0, 2^7 - 1 | 0}, int16 = {-2^15 | 0, 2^15 - 1 | 0}, int32 = {-2^31 | 0, 2^31 - 1 | 0},
  int64 = {math.mininteger, math.maxinteger}, uint8 = {0, 255}, uint16 = {0, 65535}, uint32 = {0, 2^32 - 1 | 0},
  uint64 = {0, math.maxinteger},
}
local DIVISORS = {1, 2, 3, 7, 10, 255, 1000, 65537, 715827883, 2^31 - 1 | 0, 2^49 + 1 | 0, 2^50 - 1 | 0, 2^50 | 0,
                  2^50 + 1 | 0, math.maxinteger}
local LIMIT = 2^50 | 0
math.randomseed(7)

-- Numbers of the range beside multiples of b, no larger than `most` where one is given.
local function dividends(range, b, count, most)
  local low, high = range[1], range[2]
  if most then low, high = math.max(low, -most), math.min(high, most - 1) end
  local out = {low, high, 0, 1, math.min(high, b), math.max(low, -b)}
  while #out < count do
    local a = math.random(low, high)
    local near = a // b * b + math.random(-1, 1)
    out[#out + 1] = near >= low and near <= high and near or a
  end
  return out
end

local function wrapped(v, range)
  local low, high = range[1], range[2]
  return v > high and high < 2^62 and low + (v - high - 1) or v
end

local function compare(name, dtype, values, divisors)
  local x, y = gpu.array(values, dtype), type(divisors) == "table" and gpu.array(divisors, dtype) or divisors
  local quotients, rests, places = (x // y):totable(), (x % y):totable(), x:clone()
  places:floordiv_(y)
  local again = places:totable()
  local cut, cuts = x:fmod(y):totable(), x:clone()
  cuts:fmod_(y)
  local cut_again = cuts:totable()
  for i, a in ipairs(values) do
    local b = type(divisors) == "table" and divisors[i] or divisors
    local q = b == 0 and 0 or wrapped(a // b, RANGES[dtype])
    local r, c = b == 0 and 0 or a % b, b == 0 and 0 or math.fmod(a, b)
    if quotients[i] ~= q or rests[i] ~= r or again[i] ~= q then
      error(("%s: %d by %d in %s: %s, %s and %s"):format(name, a, b, dtype, quotients[i], rests[i], again[i]))
    end
    if cut[i] ~= c or cut_again[i] ~= c then
      error(("%s: fmod(%d, %d) in %s: %s and %s"):format(name, a, b, dtype, cut[i], cut_again[i]))
    end
  end
end

for _, dtype in ipairs { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64" } do
  local range = RANGES[dtype]
  t.test("quotients by one number in " .. dtype, function()
    for _, size in ipairs(DIVISORS) do
      for _, b in ipairs(range[1] < 0 and {size, -size} or {size}) do
        if b >= range[1] and b <= range[2] then
          compare("all", dtype, dividends(range, b, 300), b)
          compare("few bits", dtype, dividends(range, b, 1100, LIMIT), b)
          compare("one", dtype, {range[2]}, b)
        end
      end
    end
    compare("by 0", dtype, dividends(range, 3, 300, LIMIT), 0)
  end)

  t.test("a divisor that differs in " .. dtype, function()
    for _, at in ipairs {1, 2, 3, 255, 256, 257, 300} do
      local by = {}
      for i = 1, 300 do by[i] = i == at and 5 or 3 end
      compare("other", dtype, dividends(range, 3, 300, LIMIT), by)
    end
  end)

  t.test("a dividend with more bits in " .. dtype, function()
    for _, at in ipairs {1, 2, 255, 300} do
      local values = dividends(range, 3, 300, 1000)
      values[at] = range[2]
      compare("wide", dtype, values, 3)
    end
  end)
end

-- All of 8 and 16 bits, and of 32 those beside multiples, as wider integers have them.
t.test("quotients of narrow integers by one number", function()
  for dtype, wide in pairs { int8 = "int32", uint8 = "int32", int16 = "int32", uint16 = "int32", uint32 = "int64" } do
    local low, high = table.unpack(RANGES[dtype])
    for b = 1, t.brief(130, 12) do
      b = b <= math.min(high, 127) and b or math.random(math.min(high, 100), high)
      local values = dtype == "uint32" and gpu.array(dividends(RANGES[dtype], b, 2000), wide) or gpu.range(low, high):to(wide)
      local x = values:to(dtype)
      local cut = values:abs() // b * values:sign()
      local same = (x // b):to(wide):eq(values // b):all() and (x % b):to(wide):eq(values % b):all() and
        x:fmod(b):to(wide):eq(values - cut * b):all()
      if not same then error(("%s by %d"):format(dtype, b)) end
    end
  end
end)

-- Remainders of floats, of which those of great quotients are found otherwise: also where the result is the operand.
for _, dtype in ipairs { "float32", "float64" } do
  local format = dtype == "float32" and "f" or "d"
  local function rounded(v) return (string.unpack(format, string.pack(format, v))) end
  t.test("remainders in " .. dtype, function()
    for round = 1, 60 do
      local n, a, b = round % 3 == 0 and 300 or 40, {}, {}
      for i = 1, n do
        a[i] = rounded((math.random() - 0.5) * 10 ^ math.random(-3, 5))
        b[i] = rounded((math.random() - 0.5) * 10 ^ math.random(-1, 2))
        if b[i] == 0 then b[i] = 1.0 end
        if math.random(4) == 1 then a[i] = rounded(b[i] * math.random(-1000, 1000)) end
      end
      if round % 2 == 0 then a[math.random(n)] = 1e30 end
      if round % 5 == 0 then b[math.random(n)] = 1 / 0 end
      for i = 1, n do a[i] = rounded(a[i]) end
      local x, y = gpu.array(a, dtype), gpu.array(b, dtype)
      local apart, place = (x % y):totable(), x:clone()
      place:mod_(y)
      local inside = place:totable()
      for i = 1, n do
        local r = math.fmod(a[i], b[i])
        if r ~= 0 and (r < 0) ~= (b[i] < 0) then r = rounded(r + b[i]) end
        if apart[i] ~= r or inside[i] ~= r then
          error(("%.17g %% %.17g is %.17g: %.17g, in place %.17g"):format(a[i], b[i], r, apart[i], inside[i]))
        end
      end
    end
  end)
end

t.done()
