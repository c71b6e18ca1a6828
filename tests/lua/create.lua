-- Making arrays, on every device.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local before = gpu.device()
  gpu.device(device)

  test("array from tables", function()
    local x = gpu.array({ { 1, 2, 3 }, { 4, 5, 6 } })
    t.same(x:totable(), { { 1, 2, 3 }, { 4, 5, 6 } })
    t.eq(x.dtype, "float32")
    t.eq(x.device, gpu.device().name)
    t.eq(tostring(x.shape), "(2, 3)")
    t.same(gpu.array({ true, false }):totable(), { true, false })
    t.eq(gpu.array({ true, false }).dtype, "bool")
    t.eq(gpu.array({ { { { 7 } } } }).ndim, 4)
    t.same(gpu.array({ 1.9, -1.9 }, "int32"):totable(), { 1, -1 })
    t.same(gpu.array({ 1, 2, dtype = "int64" }):totable(), { 1, 2 })
    t.eq(gpu.array({ 1, 2, dtype = "int64" }).dtype, "int64")
  end)

  test("array of every dtype", function()
    for _, dtype in ipairs(DTYPES) do
      local x = gpu.array({ { 1, 0 }, { 0, 1 } }, dtype)
      t.eq(x.dtype, dtype)
      local back = x:to("float64"):totable()
      t.same(back, { { 1, 0 }, { 0, 1 } }, dtype)
      if dtype ~= "bool" then t.same(gpu.array({ 2, 3, 100 }, dtype):to("float64"):totable(), { 2, 3, 100 }, dtype) end
    end
    t.same(gpu.array({ math.maxinteger, math.mininteger }, "int64"):totable(), { math.maxinteger, math.mininteger })
    t.same(gpu.array({ 255, 0, 300.5, -1.0 }, "uint8"):totable(), { 255, 0, 255, 0 })
    t.raises({ "element [2][1] is 256", "uint8", "from 0 to 255" }, gpu.array, { { 1 }, { 256 } }, "uint8")
    t.raises({ "element [1] is -129", "int8", "from -128 to 127" }, gpu.array, { -129 }, "int8")
    t.same(gpu.array({ -1 }, "uint64"):totable(), { -1 })
  end)

  test("array from numbers and arrays", function()
    t.eq(gpu.array(5):item(), 5.0)
    t.eq(gpu.array(5).ndim, 0)
    t.eq(gpu.array(true).dtype, "bool")
    t.eq(gpu.array(5, "int64"):item(), 5)
    local x = gpu.array({ 1, 2 })
    local y = gpu.array(x)
    y[1] = 9
    t.eq(x[1], 1.0)
    t.eq(gpu.array(x, "float64").dtype, "float64")
    t.eq(gpu.array(x, "cpu").device, "cpu")
  end)

  test("ragged and mixed tables", function()
    t.raises({ "element [2]", "3 elements", "first one has 2" }, gpu.array, { { 1, 2 }, { 1, 2, 3 } })
    t.raises({ "element [2]", "number", "table" }, gpu.array, { { 1, 2 }, 3 })
    t.raises({ "element [1][2]", "table" }, gpu.array, { { 1, { 2 } } })
    t.raises({ "element [3]", "boolean", "number" }, gpu.array, { 1, 2, true })
    t.raises({ "element [2][1]", "string" }, gpu.array, { { 1 }, { "a" } })
    t.raises({ "element [1]", "function" }, gpu.array, { print })
    t.raises("nested more than 16", gpu.array, (function()
      local deep = 1
      for _ = 1, 20 do deep = { deep } end
      return deep
    end)())
    t.raises({ "string of bytes needs the dtype", "rows of numbers are {{1, 2}, {3, 4}}" }, gpu.array, [[1,2],[3,4]])
    t.raises("value expected", gpu.array)
  end)

  test("empty tables", function()
    t.eq(tostring(gpu.array({}).shape), tostring(gpu.zeros(0).shape))
    t.eq(tostring(gpu.array({ {}, {} }).shape), "(2, 0)")
    t.raises("element [2]", gpu.array, { {}, { 1 } })
  end)

  test("filled", function()
    t.same(gpu.zeros(2, 3):totable(), { { 0, 0, 0 }, { 0, 0, 0 } })
    t.same(gpu.ones({ 2 }, "int32"):totable(), { 1, 1 })
    t.same(gpu.full({ 2, 2 }, 2.5):totable(), { { 2.5, 2.5 }, { 2.5, 2.5 } })
    t.same(gpu.full(2, 7, "int16"):totable(), { 7, 7 })
    t.same(gpu.full(2, true):totable(), { true, true })
    t.eq(gpu.zeros({}):item(), 0.0)
    t.eq(gpu.zeros({ 3, dtype = "float64" }).dtype, "float64")
    t.eq(gpu.zeros(3, { dtype = "int8", device = "cpu" }).device, "cpu")
    t.eq(gpu.zeros(3, "cpu", "int8").dtype, "int8")
    t.eq(gpu.zeros(3, nil, "cpu").device, "cpu")
    t.eq(gpu.zeros(3, gpu.devices().cpu).device, "cpu")
    t.eq(gpu.empty(3, 4).size, 12)
    local x = gpu.zeros(2, 3, "int32")
    for _, name in ipairs({ "zeros_like", "ones_like", "empty_like" }) do
      local y = gpu[name](x)
      assert(y.shape == x.shape and y.dtype == "int32" and y.device == x.device)
      t.eq(gpu[name](x, "float64").dtype, "float64")
    end
    t.eq(gpu.full_like(x, 3):sum(), 18)
  end)

  test("shapes and options that do not fit", function()
    t.raises("axis 2 is negative: -1", gpu.zeros, 2, -1)
    t.raises("axis 1 must be an integer, got 1.5", gpu.zeros, 1.5)
    t.raises("axis 1 must be an integer, got string", gpu.zeros, { "3" })
    t.raises("expected a shape: sizes as numbers, or one table of them, {} for a scalar, got no value", gpu.zeros)
    t.raises({ "expected a shape", ", got nil" }, gpu.zeros, nil)
    t.raises({ "#2", "expected a dtype", ", got shape" }, gpu.zeros, 3, gpu.zeros(3).shape)
    t.raises("gpu.array{1, 2, 3}", gpu.array, 1, 2, 3)
    t.raises({ "'float33'", "dtype", "device" }, gpu.zeros, 3, "float33")
    t.raises({ "option 'type'" }, gpu.zeros, 3, { type = "int32" })
    t.raises({ "no dtype 'x'", "float32" }, gpu.zeros, 3, { dtype = "x" })
    t.raises("expected a dtype", gpu.zeros, 3, true)
    t.raises("at most 16 axes", gpu.zeros, table.unpack({ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }))
    assert(not pcall(gpu.zeros, math.maxinteger, math.maxinteger))
    assert(not pcall(gpu.zeros, 1 << 60))
  end)

  test("range", function()
    t.same(gpu.range(5):totable(), { 1, 2, 3, 4, 5 })
    t.same(gpu.range(2, 5):totable(), { 2, 3, 4, 5 })
    t.same(gpu.range(0, 10, 5, "int32"):totable(), { 0, 5, 10 })
    t.same(gpu.range(3, 1, -1):totable(), { 3, 2, 1 })
    t.same(gpu.range(3, 1):totable(), {})
    t.eq(#gpu.range(0, 0.3, 0.1), 4)
    t.eq(#gpu.range(0, 1, 0.3), 4)
    t.eq(gpu.range(1 << 40, (1 << 40) + 2, "int64")[3], (1 << 40) + 2)
    for _, start in ipairs { 1 << 53, (1 << 53) + 1, math.maxinteger - 5, math.mininteger } do
      t.same(gpu.range(start, start + 5, 1, "int64"):totable(),
             { start, start + 1, start + 2, start + 3, start + 4, start + 5 })
      t.same(gpu.range(start + 5, start, -2, "int64"):totable(), { start + 5, start + 3, start + 1 })
    end
    t.same(gpu.range(math.mininteger, math.maxinteger, math.maxinteger, "int64"):totable(),
           { math.mininteger, -1, math.maxinteger - 1 })
    t.same(gpu.range(math.maxinteger, math.mininteger, math.mininteger, "int64"):totable(), { math.maxinteger, -1 })
    t.eq(#gpu.range(0, 5, math.mininteger), 0)
    t.raises("too long", gpu.range, math.mininteger, math.maxinteger)
    -- Integers become floats in one step, whichever way they go.
    for _, start in ipairs { 1, -5, 1 << 40, (1 << 52) - 3, -(1 << 52), (1 << 53) + 1, (1 << 60) + 1 } do
      for _, step in ipairs { 1, -7, 1 << 29, (1 << 49) + 1, (1 << 53) + 1 } do
        for _, dtype in ipairs { "float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8" } do
          local got, list = gpu.range(start, start + 8 * step, step, dtype), {}
          for i = 1, got.size do list[i] = start + (i - 1) * step end -- how many there are is told by doubles
          t.same(got:totable(), gpu.array(list, "int64"):to(dtype):totable(), dtype .. " from " .. start .. " by " .. step)
        end
      end
    end
    t.raises("step of a range cannot be 0", gpu.range, 1, 2, 0)
    t.raises("finite", gpu.range, 1, math.huge)
    t.raises("number expected", gpu.range)
  end)

  test("an integer above Lua's meets its array as it was read", function()
    for _, length in ipairs({ 3, 5000 }) do -- as one loop, and as a program
      local x = gpu.full(length, 2, "uint64", device)
      x[1] = -1
      local top = x[1]
      t.same(x:eq(top)[{ { 1, 3 } }]:totable(), { true, false, false })
      t.same(x:lt(0xffffffffffffffff)[{ { 1, 3 } }]:totable(), { false, true, true })
      t.same(x:maximum(top)[{ { 1, 3 } }]:totable(), { -1, -1, -1 })
      t.same((x + top)[{ { 1, 3 } }]:totable(), { -2, 1, 1 })
      t.same((top // x)[{ { 1, 3 } }]:totable(), { 1, math.maxinteger, math.maxinteger })
      t.same(((x - top) * 3):eq(9)[{ { 1, 3 } }]:totable(), { false, true, true })
      t.eq((x + top).dtype, "uint64")
      t.same(gpu.where(x:eq(2), top, x):eq(top):all(), true)
    end
    local sorted = gpu.array({ 1, 2, -2, -1 }, "uint64", device)
    t.eq(sorted:searchsorted(-1), 4)
    t.eq(sorted:searchsorted(2, "right"), 3)
    t.raises("does not fit uint8 (0 to 255)", function() return gpu.ones(2, "uint8", device) + -1 end)
    t.raises("does not fit uint32 (0 to 4294967295)", function() return gpu.ones(2, "uint32", device) - (1 << 32) end)
    for _, dtype in ipairs { "int8", "uint8", "int16", "uint16", "int32", "uint32" } do -- comparisons have an answer
      for _, n in ipairs { 3, 5000 } do
        local x, far = gpu.ones(n, dtype, device), 1 << 32
        assert(x:lt(far):all() and x:gt(-far):all() and x:ne(far):all() and not x:eq(far):any() and not x:ge(far):any())
        assert((x * 2):le(far):all() and not (x * 2):lt(-far):any())
      end
    end
    assert(gpu.array({ 0, 255 }, "uint8", device):gt(-1):all())
  end)

  test("an integer above Lua's is filled with as it is read", function()
    local x = gpu.array({ -1 }, "uint64", device)
    t.eq(tostring(gpu.full(2, x[1], "uint64", device)):match("\n%s*(%d+)"), "18446744073709551615")
    t.raises("does not fit int8", gpu.full, 2, 300, "int8", device)
    t.raises("holds no complex numbers", gpu.full, 2, gpu.complex(1, 2), "uint64", device)
  end)

  test("linspace", function()
    for _, count in ipairs({ 0, 1, 2, 3, 7, 50, 1001 }) do
      local x = gpu.linspace(-1, 3, count, "float64"):totable()
      t.eq(#x, count)
      for i = 1, count do t.near(x[i], count > 1 and -1 + 4 * (i - 1) / (count - 1) or -1, 1e-15) end
      if count > 1 then t.eq(x[count], 3.0) end
    end
    t.same(gpu.linspace(0, 1, 4, false):totable(), { 0, 0.25, 0.5, 0.75 })
    local half = gpu.linspace(2, 0, 2, { endpoint = false, dtype = "float64" })
    t.eq(half[2], 1.0)
    t.eq(half.dtype, "float64")
    t.raises("endpoint is true or false, not number", gpu.linspace, 0, 1, 4, { endpoint = 1 })
    t.raises("no option 'endpint'", gpu.linspace, 0, 1, 4, { endpint = true })
    t.eq(#gpu.linspace(0, 1), 50)
    t.raises("count is negative", gpu.linspace, 0, 1, -1)
    t.raises({ "bad argument #3", "the count is a whole number; gpu.range(start, stop, step)" }, gpu.linspace, 0, 1, 0.1)
  end)

  test("logspace and geomspace", function()
    for i, v in ipairs(gpu.logspace(0, 2, 4, false, "float64"):totable()) do t.near(v, 10 ^ ((i - 1) / 2), 1e-13) end
    for _, pair in ipairs({ { 1, 1000 }, { 3, 0.5 }, { -2, -7 }, { 5, 5 } }) do
      local a, b = pair[1], pair[2]
      for _, count in ipairs({ 0, 1, 2, 3, 50 }) do
        local x = gpu.geomspace(a, b, count, "float64"):totable()
        t.eq(#x, count)
        for i = 1, count do t.near(x[i], count > 1 and a * (b / a) ^ ((i - 1) / (count - 1)) or a, 1e-12) end
        if count > 1 then t.eq(x[count], b + 0.0) end
      end
      local open = gpu.geomspace(a, b, 5, false, "float64"):totable()
      for i = 1, 5 do t.near(open[i], a * (b / a) ^ ((i - 1) / 5), 1e-12) end
    end
    t.raises({ "both above 0 or both below", "gpu.linspace" }, gpu.geomspace, -1, 1)
    t.raises("both above 0", gpu.geomspace, 0, 1)
    t.raises("number expected", gpu.geomspace, 1)
  end)

  test("eye", function()
    t.same(gpu.eye(2, 3, "int32"):totable(), { { 1, 0, 0 }, { 0, 1, 0 } })
    t.same(gpu.eye(3, 2, "int32"):totable(), { { 1, 0 }, { 0, 1 }, { 0, 0 } })
    t.same(gpu.eye(2, 3, 1, "int32"):totable(), { { 0, 1, 0 }, { 0, 0, 1 } })
    t.same(gpu.eye(3, 2, -1):totable(), { { 0, 0 }, { 1, 0 }, { 0, 1 } })
    t.eq(gpu.eye(3, 3, 3):sum() + gpu.eye(3, 3, -7):sum() + gpu.eye(0, 0, 1).size, 0)
    t.eq(gpu.eye(0).size, 0)
    t.eq(gpu.eye(4):sum(), 4.0)
  end)

  test("random", function()
    gpu.seed(42)
    local x = gpu.rand(100, 100)
    assert(x:min() >= 0 and x:max() < 1)
    t.near(x:mean(), 0.5, 0.01)
    local y = gpu.rand(100, 100)
    assert(not y:equal(x), "two calls gave the same numbers")
    gpu.seed(42)
    assert(gpu.rand(100, 100):equal(x), "the same seed gave other numbers")
    local z = gpu.randn(100, 101, "float64")
    t.near(z:mean(), 0, 0.05)
    t.near((z * z):mean(), 1, 0.05)
    assert(gpu.rand(10000, "bfloat16"):to("float32"):max() < 1)
    t.raises("floating dtype", gpu.rand, 3, "int32")
    t.eq(gpu.rand(0).size, 0)
  end)

  gpu.device(before)
end

t.test("all devices give the same random numbers", function()
  local first
  for _, device in ipairs(t.devices()) do
    gpu.seed(1)
    local x = gpu.rand(7, device):to("cpu")
    first = first or x
    assert(first:equal(x))
  end
end)

t.test("Philox agrees with its published test vector", function()
  -- Counter 0 and key 0 give 6627e8d5 e169c58d bc57ac4c 9b00dbd8; two words make one number of 53 bits.
  gpu.seed(0)
  local x = gpu.rand(2, "float64", "cpu")
  t.eq(x[1] * 2.0 ^ 53, (0x6627e8d5 << 21 | 0xe169c58d >> 11) * 1.0)
  t.eq(x[2] * 2.0 ^ 53, (0xbc57ac4c << 21 | 0x9b00dbd8 >> 11) * 1.0)
end)

t.done()
