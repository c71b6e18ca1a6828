-- Between dtypes, between devices, and into Lua values.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local INTEGERS = {
  { "int8", 8, true }, { "int16", 16, true }, { "int32", 32, true }, { "int64", 64, true },
  { "uint8", 8, false }, { "uint16", 16, false }, { "uint32", 32, false }, { "uint64", 64, false },
}
local FLOATS = { "float16", "bfloat16", "float32", "float64" }

local function wrap(v, bits, signed)
  if bits == 64 then return v end
  local low = v & ((1 << bits) - 1)
  if signed and low >> (bits - 1) == 1 then low = low - (1 << bits) end
  return low
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  test("integers wrap", function()
    local values = { 0, 1, -1, 127, 128, 255, 256, 32768, 65536, -129, 1 << 31, 1 << 40, math.maxinteger, math.mininteger }
    local x = gpu.array(values, "int64", device)
    for _, row in ipairs(INTEGERS) do
      local dtype, bits, signed = table.unpack(row)
      local want = {}
      for i, v in ipairs(values) do want[i] = wrap(v, bits, signed) end
      t.same(x:to(dtype):totable(), want, dtype)
    end
    local want = {}
    for i, v in ipairs(values) do want[i] = v ~= 0 end
    t.same(x:to("bool"):totable(), want)
  end)

  -- Several at a time where all are small, else one by one: what is next to the limits stands alone and among others.
  test("64-bit integers and floats", function()
    local limits = { 0, 1, (1 << 24) + 1, (1 << 31) + 1, (1 << 32) - 1, (1 << 51) - 1, 1 << 51, (1 << 53) - 1, 1 << 53,
      (1 << 53) + 1, (1 << 54) + 2, (1 << 54) + 3, (1 << 62) + 513, math.maxinteger }
    local function unsigned(v) return v < 0 and (v >> 1 | v & 1) * 2.0 or v + 0.0 end
    local function check(values)
      local signed, without = gpu.array(values, "int64", device), gpu.array(values, "uint64", device)
      local doubles, of_unsigned = signed:to("float64"):totable(), without:to("float64"):totable()
      local floats = without:to("float32"):totable()
      for i, v in ipairs(values) do
        t.eq(doubles[i], v + 0.0)
        t.eq(of_unsigned[i], unsigned(v))
        if v >> 53 == 0 then t.eq(floats[i], (string.unpack("f", string.pack("f", v)))) end
      end
      local halves = {}
      for i, v in ipairs(values) do halves[i] = math.abs(v) < 1 << 50 and v + (v < 0 and -0.5 or 0.5) or v + 0.0 end
      local x = gpu.array(halves, "float64", device)
      local back, back_unsigned = x:to("int64"):totable(), x:to("uint64"):totable()
      local of_floats = x:to("float32"):to("uint64"):totable()
      for i, v in ipairs(halves) do
        local float = string.unpack("f", string.pack("f", v))
        t.eq(back[i], v >= 2.0 ^ 63 and math.maxinteger or (math.modf(v)) | 0)
        t.eq(back_unsigned[i], v >= 2.0 ^ 63 and math.mininteger or v > 0 and (math.modf(v)) | 0 or 0)
        t.eq(of_floats[i], float >= 2.0 ^ 63 and math.mininteger or float > 0 and (math.modf(float)) | 0 or 0)
      end
    end
    for _, v in ipairs(limits) do
      for _, w in ipairs { v, -v, ~v } do
        check { w, w, w, w, w }
        check { 1, 2, w, 3, 4, 5, 6, 7 }
      end
    end
  end)

  test("floats to integers cut off and saturate", function()
    local x = gpu.array({ 1.9, -1.9, 0 / 0, 1e30, -1e30, 200.5 }, "float64", device)
    t.same(x:to("int32"):totable(), { 1, -1, 0, 2147483647, -2147483648, 200 })
    t.same(x:to("int64"):totable(), { 1, -1, 0, math.maxinteger, math.mininteger, 200 })
    t.same(x:to("bool"):totable(), { true, true, true, true, true, true })
  end)

  -- Few and many elements, side by side and apart, take different ways.
  local function everywhere(x, dtype, want)
    t.same(x:to(dtype):totable(), want, x.dtype .. " to " .. dtype)
    local once, many = x:to(dtype), x:tile(500)
    assert(many:to(dtype):equal(once:tile(500)), x.dtype .. " to " .. dtype .. ", many")
    assert(many["::2"]:to(dtype):equal(once:tile(500)["::2"]), x.dtype .. " to " .. dtype .. ", apart")
    assert(many:reshape(x.size, 500).T:to(dtype):equal(once:tile(500):reshape(x.size, 500).T), x.dtype .. ", turned")
  end

  -- What an integer of 64 bits, which Lua has with a sign, keeps of a float.
  local function kept_of(v, signed)
    if v ~= v or (not signed and v <= 0) then return 0 end
    if v >= (signed and 2.0 ^ 63 or 2.0 ^ 64) then return signed and math.maxinteger or -1 end
    if v <= -(2.0 ^ 63) then return math.mininteger end
    local whole = v < 0 and math.ceil(v) or math.floor(v)
    return math.tointeger(whole) or math.tointeger(v - 2.0 ^ 63) + math.mininteger
  end

  test("floats at the ends of integers", function()
    for _, row in ipairs(INTEGERS) do
      local dtype, bits, signed = table.unpack(row)
      local least = signed and -(2.0 ^ (bits - 1)) or 0
      local most = 2.0 ^ (signed and bits - 1 or bits) - 1
      local values = { 0 / 0, 1 / 0, -1 / 0, 0, -0.0, 0.5, -0.5, -1, 1e-310, 1e38, -1e38, 2.0 ^ 63, 2.0 ^ 64 }
      for power = 50, 53 do -- where doubles begin to be whole
        for _, step in ipairs { -0.75, 0, 0.25 } do
          values[#values + 1] = 2.0 ^ power + step
          values[#values + 1] = -(2.0 ^ power) - step
        end
      end
      for _, limit in ipairs { least, most } do
        for _, step in ipairs { -1.5, -1, -0.5, 0, 0.5, 1, 1.5 } do values[#values + 1] = limit + step end
      end
      for _, from in ipairs { "float32", "float64" } do
        local x, want = gpu.array(values, from, device), {}
        for i, v in ipairs(x:totable()) do
          local cut = v ~= v and 0 or math.max(least, math.min(most, v))
          want[i] = bits < 64 and math.tointeger(cut < 0 and math.ceil(cut) or math.floor(cut)) or kept_of(v, signed)
        end
        everywhere(x, dtype, want)
      end
    end
  end)

  test("integers as floats and as wider integers", function()
    for _, row in ipairs(INTEGERS) do
      local dtype, bits, signed = table.unpack(row)
      local values, singles, doubles = { 0, 1, 2, 100 }, {}, {}
      for _, v in ipairs { 1 << (bits - 2) | 1, (1 << (bits - 1)) - 1, signed and -1 or 77, signed and -(1 << (bits - 1)) or 3 } do
        values[#values + 1] = v
      end
      for i, v in ipairs(values) do
        singles[i] = string.unpack("f", string.pack("f", v))
        doubles[i] = v + 0.0
      end
      local x = gpu.array(values, dtype, device)
      everywhere(x, "float32", singles)
      everywhere(x, "float64", doubles)
      everywhere(x, "int64", values)
    end
  end)

  test("small integers survive every dtype", function()
    local x = gpu.range(0, 100, "int32", device)
    for _, row in ipairs(INTEGERS) do assert(x:to(row[1]):to("int32"):equal(x), row[1]) end
    for _, dtype in ipairs(FLOATS) do assert(x:to(dtype):to("int32"):equal(x), dtype) end
  end)

  test("rounding of floats", function()
    local x = gpu.array({ 0.1, 1 / 3, 65504, 1e10, 1e-10 }, "float64", device)
    t.same(x:to("float32"):totable(), (function()
      local out = {}
      for i, v in ipairs(x:totable()) do out[i] = string.unpack("f", string.pack("f", v)) end
      return out
    end)())
    local h = x:to("float16"):totable()
    t.eq(h[1], 0.0999755859375)
    t.eq(h[3], 65504.0)
    t.eq(h[4], 1 / 0)
    t.eq(x:to("bfloat16"):totable()[1], 0.10009765625)
  end)

  test("to", function()
    local x = gpu.array({ { 1, 2 }, { 3, 4 } }, device)
    t.eq(x:to(device), x)
    t.eq(x:to("float32"), x)
    t.eq(x:to(device, "float32"), x)
    t.eq(x:to(gpu.devices()[x.device] or gpu.device(device)), x)
    local y = x.T:to("cpu", "int64")
    t.eq(y.device, "cpu")
    t.eq(y.dtype, "int64")
    t.same(y:totable(), { { 1, 3 }, { 2, 4 } })
    t.same(y:to({ device = device, dtype = "float64" }):totable(), { { 1, 3 }, { 2, 4 } })
    for _, other in ipairs(t.devices()) do
      assert(x.T:to(other):to(device):equal(x.T))
      t.eq(gpu.zeros(0, 3, device):to(other).size, 0)
    end
    t.raises("needs a device, a dtype or both", x.to, x)
    t.raises({ "'floaty'", "neither" }, x.to, x, "floaty")
  end)

  test("totable and item", function()
    local x = gpu.range(24, "int32", device):reshape(2, 3, 4)
    local value = x:totable()
    for i = 1, 2 do
      for j = 1, 3 do
        for k = 1, 4 do t.eq(value[i][j][k], x[{ i, j, k }]) end
      end
    end
    t.same(gpu.array(value, "int32", device):totable(), value)
    t.same(x["..., ::-2"]:totable()[2][3], { 24, 22 })
    t.same(gpu.zeros(2, 0, device):totable(), { {}, {} })
    t.eq(gpu.array(3, "int8", device):totable(), 3)
    t.eq(gpu.array({ { true } }, device):item(), true)
    t.eq(x[{ { 2 }, { 1 }, { 1 } }]:item(), 13)
    t.raises({ "one element", "(2, 3, 4)" }, x.item, x)
  end)

  -- Rows of each dtype, short ones and such as are made in several parts.
  test("totable of every dtype", function()
    local function row(dtype, n)
      local x = (gpu.range(0, n - 1, 1, "int64", device) % 2):to(dtype)
      local values = x:totable()
      t.eq(#values, n, dtype)
      for i = 1, n do
        local want = (i - 1) % 2
        if dtype == "bool" then want = want == 1 end
        if dtype:find "complex" then want = gpu.complex(want, 0) end
        if values[i] ~= want then error(dtype .. ": element " .. i .. " is " .. tostring(values[i])) end
      end
      t.eq(math.type(values[n]), math.type(x[n]), dtype)
      t.eq(getmetatable(values[n]), getmetatable(x[n]), dtype)
    end
    for _, dtype in ipairs { "bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128" } do
      row(dtype, 5)
    end
    for _, integer in ipairs(INTEGERS) do row(integer[1], 5) end
    for _, dtype in ipairs { "uint8", "int32", "float32", "complex64" } do row(dtype, t.brief(131075, 65538)) end
    t.same(gpu.array({ -1, 2, -3 }, "int8", device):totable(), { -1, 2, -3 })
    t.same(gpu.array({ 1.5, -2.25 }, "float64", device):totable(), { 1.5, -2.25 })
    local z = gpu.complex(gpu.array({ 1, 2 }, device), gpu.array({ -3, 4 }, device)):reshape(2, 1):totable()
    t.eq(tostring(z[1][1]) .. tostring(z[2][1]), tostring(gpu.complex(1, -3)) .. tostring(gpu.complex(2, 4)))
  end)
end

t.done()
