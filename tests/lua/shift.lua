-- Shifts by any number, and products of 8 bits, whose vectors are of other lanes than the elements.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = {
  { "int8", 8, true }, { "int16", 16, true }, { "int32", 32, true }, { "int64", 64, true },
  { "uint8", 8, false }, { "uint16", 16, false }, { "uint32", 32, false }, { "uint64", 64, false },
}

local function wrap(v, bits, signed)
  if bits == 64 then return v end
  local low = v & ((1 << bits) - 1)
  return signed and low >> (bits - 1) == 1 and low - (1 << bits) or low
end

-- Of a number with a sign, bits from the left are as the highest one.
local function right(a, n, signed)
  if not signed then return a >> n end
  if n > 62 then return a < 0 and -1 or 0 end
  return a // (1 << n)
end

-- a by b bits to the left; b is negative or, without a sign, of 64 bits.
local function shifted(a, b, bits, signed)
  if signed and b < 0 then return right(a, b <= -bits and bits - 1 or -b, signed) end
  return math.ult(b, bits) and wrap(a << b, bits, signed) or 0
end

local function shifted_right(a, b, bits, signed)
  if signed and b < 0 then return b <= -bits and 0 or wrap(a << -b, bits, signed) end
  if math.ult(b, bits) then return right(a, b, signed) end
  return signed and right(a, bits - 1, signed) or 0
end

for _, device in ipairs(t.devices()) do
  t.test("shifts by any number on " .. device, function()
    for _, row in ipairs(DTYPES) do
      local dtype, bits, signed = table.unpack(row)
      local high = 1 << (bits - 1)
      local by = { high, high - 1, -high, high + bits - 1 }
      for n = -bits - 2, bits + 2 do by[#by + 1] = n end
      local a, b, left, to_right = {}, {}, {}, {}
      for _, v in ipairs { 1, -1, 0, 5, -77, high, high - 1, high | 1, 0x123456789abcdef1 } do
        for _, n in ipairs(by) do
          local i = #a + 1
          a[i], b[i] = wrap(v, bits, signed), wrap(n, bits, signed)
          left[i], to_right[i] = shifted(a[i], b[i], bits, signed), shifted_right(a[i], b[i], bits, signed)
        end
      end
      local x, y = gpu.array(a, dtype, device), gpu.array(b, dtype, device)
      t.same((x << y):totable(), left, dtype .. " to the left")
      t.same((x >> y):totable(), to_right, dtype .. " to the right")
      x:left_shift_(y)
      t.same(x:totable(), left, dtype .. " in place")
    end
  end)

  t.test("products of 8 bits on " .. device, function()
    for _, dtype in ipairs { "int8", "uint8" } do
      local all = gpu.range(0, 65535, "int32", device)
      local a, b = (all // 256):to(dtype), (all % 256):to(dtype)
      assert((a * b):equal((a:to("int32") * b:to("int32")):to(dtype)), dtype)
    end
  end)
end
