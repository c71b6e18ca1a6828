-- Views in other shapes, copies, and which of the two a method gives.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function cube() return gpu.range(24, "int32", device):reshape(2, 3, 4) end
  local shares = t.shares

  test("turned copies of every size", function()
    for _, dtype in ipairs { "uint8", "float16", "int32", "float64", "complex128" } do
      for _, rows in ipairs { 1, 3, 10, 16, 33, 70 } do
        for _, columns in ipairs { 2, 8, 15, 16, 17, 64, 100 } do
          local x = (gpu.range(rows * columns, "int32", device) % 251):reshape(rows, columns):to(dtype)
          local want, of = {}, x:flatten():totable()
          for i = 1, columns do
            for j = 1, rows do want[#want + 1] = of[(j - 1) * columns + i] end
          end
          t.same(x.T:clone():flatten():totable(), want, ("%s, %d x %d"):format(dtype, rows, columns))
        end
      end
    end
  end)

  test("reshape and view", function()
    local x = gpu.range(24, device)
    local y = x:reshape(2, 3, 4)
    assert(shares(x, y))
    t.eq(y[{ 2, 1, 1 }], 13.0)
    t.eq(tostring(x:reshape(-1, 6).shape), "(4, 6)")
    t.eq(tostring(x:reshape({ 4, -1 }).shape), "(4, 6)")
    t.eq(x[{ { 3, 3 } }]:reshape({}):item(), 3.0)
    local z = y:transpose(1, 3)
    assert(not shares(x, z:reshape(24)))
    t.same(z:flatten():totable()[2], 13.0)
    t.raises("view", z.view, z, 24)
    t.raises({ "(2, 3, 4)", "5" }, y.reshape, y, 5)
    assert(not pcall(y.reshape, y, -1, -1))
    assert(not pcall(y.reshape, y, -1, 5))
    t.eq(tostring(gpu.zeros(0, 3, device):reshape(3, 0).shape), "(3, 0)")
  end)

  test("the same bytes as another dtype", function()
    local x = gpu.array({ 1, -2, 0.5, 3 }, "float32", device)
    local bits = x:view("int32")
    assert(shares(x, bits))
    t.same(bits:totable(), { 0x3f800000, -0x40000000, 0x3f000000, 0x40400000 })
    t.eq(x:view("float64").shape[1], 2)
    t.eq(x:view("complex64")[2], gpu.complex(0.5, 3))
    t.eq(x:view("uint8"):view("float32")[2], -2.0)
    local later = x * 2 -- what was asked for before keeps its elements
    bits[1] = 0x40000000
    t.same(later:totable(), { 2.0, -4.0, 1.0, 6.0 })
    t.eq(x[1], 2.0)
    local halves = x:view("uint16")[{ { 1, 4 } }]
    halves["..."] = x -- elements are read before bytes of theirs are written
    t.same(halves:totable(), { 2, 0, 0, 3 })
    t.raises({ "bool", "0 and 1" }, x.view, x, "bool")
    t.raises({ "side by side", "(2, 2)" }, x.view, x:reshape(2, 2).T, "int8")
    t.raises({ "whole elements of 8 bytes", "(3,)" }, x.view, x[{ { 1, 3 } }], "int64")
    t.raises({ "(3,)" }, x.view, x[{ { 2, 4 } }], "int64")
    t.raises({ "()" }, x.view, x[{ 1 }] and gpu.full({}, 1, "float32", device), "int8")
    t.raises({ "flaot32", "float32" }, x.view, x, "flaot32")
  end)

  test("transpose and permute", function()
    local x = cube()
    t.eq(tostring(x.T.shape), "(4, 3, 2)")
    t.eq(tostring(x:transpose(1, -1).shape), "(4, 3, 2)")
    t.eq(tostring(x:transpose(1, 2).shape), "(3, 2, 4)")
    local p = x:permute(3, 1, 2)
    t.eq(tostring(p.shape), "(4, 2, 3)")
    for i = 1, 4 do
      for j = 1, 2 do
        for k = 1, 3 do t.eq(p[{ i, j, k }], x[{ j, k, i }]) end
      end
    end
    assert(shares(x, p))
    assert(x:permute({ 3, 1, 2 }):equal(p))
    t.raises("takes all 3 axes", x.permute, x, 1, 2)
    t.raises("comes twice", x.permute, x, 1, 1, 2)
    t.raises({ "no axis 4", "has 3" }, x.permute, x, 1, 2, 4)
    t.raises("no axis 0", x.transpose, x, 0, 1)
  end)

  test("axes of size 1", function()
    local x = gpu.zeros(1, 3, 1, device)
    t.eq(tostring(x:squeeze().shape), "(3,)")
    t.eq(tostring(x:squeeze(1).shape), "(3, 1)")
    t.eq(tostring(x:squeeze(-1).shape), "(1, 3)")
    t.raises("axis 2 has 3 elements", x.squeeze, x, 2)
    local y = gpu.zeros(2, 3, device)
    t.eq(tostring(y:unsqueeze(1).shape), "(1, 2, 3)")
    t.eq(tostring(y:unsqueeze(2).shape), "(2, 1, 3)")
    t.eq(tostring(y:unsqueeze(-1).shape), "(2, 3, 1)")
    assert(y:unsqueeze(2):is_contiguous())
    t.raises("no axis 4: the result has 3", y.unsqueeze, y, 4)
    assert(shares(y, y:unsqueeze(2)))
  end)

  test("select and narrow", function()
    local x = cube()
    assert(x:select(2, -1):equal(x[{ {}, 3 }]))
    assert(x:narrow(3, 2, 2):equal(x[{ {}, {}, { 2, 3 } }]))
    t.eq(x:narrow(1, 1, 0).size, 0)
    t.raises({ "index 3", "axis 1", "2 elements" }, x.select, x, 1, 3)
    t.raises({ "do not fit", "axis 3" }, x.narrow, x, 3, 3, 3)
    assert(shares(x, x:narrow(2, 2, 1)))
  end)

  test("broadcast_to", function()
    local x = gpu.array({ { 1 }, { 2 } }, device)
    t.same(x:broadcast_to(2, 3):totable(), { { 1, 1, 1 }, { 2, 2, 2 } })
    t.eq(x:broadcast_to(4, 2, 3):sum(), 36.0)
    t.same(x:broadcast_to({ 2, 2 }).strides[2], 0)
    assert(not pcall(x.broadcast_to, x, 3, 3))
  end)

  test("copies", function()
    local x = cube()
    assert(not shares(x, x:clone()))
    t.eq(x:contiguous(), x)
    local y = x.T:contiguous()
    assert(y:is_contiguous() and y:equal(x.T) and not shares(x, y))
    t.eq(x.T:is_contiguous(), false)
    assert(x.T:clone():is_contiguous())
    local z = gpu.zeros(3, 4, device)
    t.eq(z:copy_(gpu.range(4, "int64", "cpu")), z)
    t.same(z[3]:totable(), { 1, 2, 3, 4 })
    t.raises({ "(3, 4)", "(5,)" }, z.copy_, z, gpu.zeros(5, device))
    t.eq(z:fill(2):sum(), 24.0)
    z.T:fill(3)
    t.eq(z:sum(), 36.0)
    t.raises("number or boolean", z.fill, z, "1")
  end)

  test("concatenate and stack", function()
    local a, b = gpu.range(6, "int32", device):reshape(2, 3), gpu.full({ 1, 3 }, 9, "int64", device)
    local c = gpu.concatenate({ a, b, a["::-1"] })
    t.same(c:totable(), { { 1, 2, 3 }, { 4, 5, 6 }, { 9, 9, 9 }, { 4, 5, 6 }, { 1, 2, 3 } })
    t.eq(c.dtype, "int64")
    t.same(gpu.concatenate({ a, a.T:reshape(2, 3) }, 2):totable(), { { 1, 2, 3, 1, 4, 2 }, { 4, 5, 6, 5, 3, 6 } })
    t.eq(gpu.concatenate({ gpu.zeros(0, 3, device), a:to("float32") }).size, 6)
    t.same(gpu.stack({ a[1], a[2] }):totable(), a:totable())
    t.same(gpu.stack({ a[1], a[2] }, 2):totable(), a.T:totable())
    t.eq(tostring(gpu.stack({ a, a, a, a }, -1).shape), "(2, 3, 4)")
    t.eq(tostring(gpu.stack({ a, a, a, a }, 2).shape), "(2, 4, 3)")
    t.same(gpu.stack({ gpu.array(1, device), gpu.array(2, device) }):totable(), { 1, 2 })
    t.raises({ "item 2", "(1, 3)", "(2, 3)" }, gpu.stack, { a, b })
    t.raises({ "item 2", "(1, 3)", "(2, 3)" }, gpu.concatenate, { a, b }, 2)
    t.raises({ "item 2", "number" }, gpu.stack, { a, 1 })
    t.raises("holds no arrays", gpu.concatenate, {})
    t.raises("no axis 1", gpu.concatenate, { gpu.array(1, device) })
    t.raises("no axis 4", gpu.stack, { a, a }, 4)
  end)

  test("what is computed from and into short rows of elements apart", function()
    for _, dtype in ipairs({ "uint8", "int16", "float16", "float32", "float64", "complex64" }) do
      for _, columns in ipairs(t.brief and { 3, 17 } or { 1, 2, 3, 4, 8, 15, 16, 17 }) do
        for _, step in ipairs({ -1, -2, 2, 3 }) do
          local rows, wide = 300, columns * math.abs(step)
          local x = gpu.evaluate((gpu.range(rows * wide, "int32", device) % 100):reshape(rows, wide):to(dtype))
          local key, y = (":, ::%d"):format(step), gpu.zeros(rows, wide, dtype, device)
          local more, values = (x[key] + 1):totable(), x:totable()
          y[key] = x[key] * 2
          local written = y:totable()
          for i = 1, rows do
            for j = 1, columns do
              local place = step > 0 and 1 + (j - 1) * step or wide + (j - 1) * step
              t.eq(more[i][j], values[i][place] + 1)
              t.eq(written[i][place], values[i][place] * 2)
              for beside = place + 1, math.min(step > 0 and place + step - 1 or place, wide) do
                t.eq(written[i][beside], values[i][beside] * 0)
              end
            end
          end
        end
      end
    end
  end)

  test("fields", function()
    local x = gpu.zeros(2, 3, "float64", device)
    t.eq(x.ndim, 2)
    t.eq(x.size, 6)
    t.eq(x.bytes, 48)
    t.eq(tostring(x.strides), "(3, 1)")
    t.eq(x.device, device)
    assert(x.shape == gpu.ones(2, 3).shape and x.shape ~= x.T.shape)
    t.eq("shape " .. x.shape, "shape (2, 3)")
  end)
end

t.done()
