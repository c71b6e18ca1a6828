-- Reductions, matrix products and comparisons of whole arrays.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local function list_of(x)
  local out = {}
  for i = 1, x.size do out[i] = x:flatten()[i] end
  return out
end

local REFERENCE = {
  sum = function(v) local s = 0 for _, x in ipairs(v) do s = s + x end return s end,
  prod = function(v) local p = 1 for _, x in ipairs(v) do p = p * x end return p end,
  min = function(v) return math.min(table.unpack(v)) end,
  max = function(v) return math.max(table.unpack(v)) end,
  mean = function(v) local s = 0 for _, x in ipairs(v) do s = s + x end return s / #v end,
  argmin = function(v) local best = 1 for i, x in ipairs(v) do if x < v[best] then best = i end end return best end,
  argmax = function(v) local best = 1 for i, x in ipairs(v) do if x > v[best] then best = i end end return best end,
  any = function(v) for _, x in ipairs(v) do if x ~= 0 then return true end end return false end,
  all = function(v) for _, x in ipairs(v) do if x == 0 then return false end end return true end,
}

local function near(got, want, what)
  if type(want) == "boolean" then return t.eq(got, want, what) end
  t.near(got, want, 1e-12 * math.max(1, math.abs(want)), what)
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function kinds(all, some) return ipairs(t.compiles(device) and some or all) end

  test("windows of an image", function()
    gpu.seed(5)
    for _, dtype in kinds({ "bool", "uint8", "int32", "float16", "float32", "float64" }, { "float32" }) do
      for _, size in kinds({ { 9, 16 }, { 20, 17 }, { 13, 70 }, { 5, 300 }, { 40, 50 } }, { { 20, 17 } }) do
        local x = gpu.random.integers(0, 2, { 2, size[1], size[2] }, { device = device }):to(dtype)
        for _, window in ipairs { { 1, 2, 1 }, { 3, 3, 1 }, { 2, 2, 2 }, { 4, 5, 3 }, { 2, 9, 9 }, { 5, 16, 1 } } do
          if window[2] <= size[2] then
            local views = x:unfold(2, window[1], window[3]):unfold(3, window[2], window[3])
            for _, name in ipairs { "sum", "prod", "max", "any", "mean" } do
              local what = ("%s of %s, %d x %d"):format(name, dtype, size[1], size[2])
              local want = views:contiguous()[name](views:contiguous(), { 4, 5 })
              if dtype == "float16" and name == "mean" then
                assert(views[name](views, { 4, 5 }):allclose(want, 1e-3), what)
              else
                assert(views[name](views, { 4, 5 }):allclose(want, 1e-6, 0), what)
              end
            end
          end
        end
      end
    end
  end)

  test("of all elements and along axes", function()
    gpu.seed(3)
    for _, shape in ipairs({ { 1 }, { 5 }, { 33 }, { 3, 7 }, { 2, 3, 5 } }) do
      local x = gpu.randn(shape, "float64", device)
      for name, f in pairs(REFERENCE) do
        near(x[name](x), f(list_of(x)), name)
        near(gpu[name](x), f(list_of(x)), name)
        for axis = 1, #shape do
          local r = x[name](x, axis, true)
          t.eq(r.shape[axis], 1)
          -- Compare each result with the reduction of the elements along its line.
          local moved = x:transpose(axis, -1):reshape(-1, shape[axis])
          local results = list_of(r:transpose(axis, -1))
          for i = 1, #moved do near(results[i], f(list_of(moved[i])), name .. " along " .. axis) end
          if #shape > 1 then assert(x[name](x, axis - #shape - 1):equal(r:squeeze(axis))) end
        end
      end
    end
  end)

  test("down the columns", function()
    gpu.seed(4)
    for _, rows in ipairs({ 2, 3, 4, 5, 15, 16, 19, 37, 300 }) do
      local whole = gpu.random.integers(-1000, 1000, { rows, 70 }, device)
      for _, dtype in ipairs({ "float32", "float64" }) do
        local x = whole:to(dtype)
        for _, view in ipairs({ x, x["::-1"], x["::2"], x[":, 3:68"], x:transpose():clone():transpose() }) do
          local exact, sums = view:to("int64"):transpose():clone():sum(2), view:sum(1)
          assert(sums:to("int64"):equal(exact), dtype .. ", " .. rows .. " rows")
          assert((view + 1):sum(1):equal(sums + view.shape[1]), dtype .. ", " .. rows .. " rows computed on the way")
        end
        x[{ 2, 1 }], x[{ rows, 2 }] = 0 / 0, 1 / 0
        local sums = x:sum(1)
        assert(sums[1] ~= sums[1] and sums[2] == 1 / 0 and sums[3] == sums[3])
      end
    end
  end)

  test("what is true, wherever it lies", function()
    local sizes = t.brief({ 1, 300, 5000, 70001 }, { 1, 300, t.compiles(device) and 5000 or 70001 })
    for _, dtype in kinds({ "bool", "uint8", "int16", "int32", "uint64", "float16", "bfloat16", "float32", "float64" },
      { "bool", "int16", "uint64", "bfloat16", "float32" }) do
      for _, n in ipairs(sizes) do
        for _, at in ipairs { 1, n // 2 + 1, n } do
          local x = gpu.zeros(n, dtype, device)
          if dtype:match "float" then x = gpu.evaluate(-x) end -- zeros with a sign are zeros
          x[at] = dtype:match "float" and 0 / 0 or 1
          local y = x:eq(0):to(dtype)
          local what = dtype .. " " .. at .. " of " .. n
          assert(x:any() and x:count_nonzero() == 1 and x:all() == (n == 1), what)
          assert(y:any() == (n > 1) and y:count_nonzero() == n - 1 and not y:all(), what)
          if dtype == "bool" then
            t.eq(x:argmax(), at, what)
            t.eq(y:argmin(), at, what)
            assert(x:max() == true and y:min() == false and x:min() == (n == 1) and y:max() == (n > 1), what)
            assert(y:argmax() == (at == 1 and n > 1 and 2 or 1), what)
            assert((x & y):argmax() == 1 and (x | y):argmin() == 1, what)
          end
        end
      end
    end
  end)

  test("the place of a row's extreme, wherever it is", function()
    for _, n in ipairs({ 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 191, 193, 257 }) do
      for _, dtype in kinds({ "int32", "int64", "uint64", "float32", "float64" }, { "int32", "float64" }) do
        local x, places = gpu.eye(n, n, dtype, device), gpu.range(1, n, 1, "int64", device)
        if dtype:match "float" then x = x - 1 end -- the extremes are zeros
        assert(x:argmax(2):equal(places), dtype .. " " .. n)
        assert(x:flip(2):argmax(2):equal(n + 1 - places), dtype .. " " .. n)
        if dtype ~= "uint64" then assert((-x):argmin(2):equal(places), dtype .. " " .. n) end
        if dtype:match "float" then
          local twice = gpu.where(x:eq(0), 0 / 0, x):to(dtype)
          twice[{ {}, n }] = 0 / 0
          assert(twice:argmax(2):equal(places) and twice:argmin(2):equal(places), "NaN, " .. dtype .. " " .. n)
        end
      end
    end
    t.eq(gpu.array({ -1, -0.0, 0, -0.0 }, device):argmax(), 2)
    t.eq(gpu.array({ 1, 0, -0.0, 0 }, device):argmin(), 2)
  end)

  test("the places of rows' extremes, among few values and with NaN", function()
    gpu.seed(5)
    for _, width in ipairs(t.brief(t.compiles(device) and { 1, 7, 33, 129, 300 } or { 1, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 129, 216, 300 }, { 7, 33, 129 })) do
      local whole = gpu.random.integers(0, 20, { 6, 11, width + 3 }, device)
      for k, dtype in kinds({ "bool", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64" },
        { "bool", "int32", "uint64", "float16", "float64" }) do
        local x = (dtype == "bool" and whole:lt(2) or whole):to(dtype)
        for _, view in ipairs { x, x[{ {}, {}, { 2, width + 1 } }], x["::-1, ::2"], x["..., ::-1"] } do
          for _, name in ipairs(t.half(device, { "argmax", "argmin" }, k)) do
            local at, n = view[name](view, -1, true), view.shape[3]
            local best = name == "argmax" and view:max(-1, true) or view:min(-1, true)
            assert(view:gather(-1, at):equal(best), name .. " of " .. dtype)
            local before = gpu.range(1, n, 1, "int64", device):lt(at)
            assert(not (before & view:eq(best)):any(), "an earlier one, " .. name .. " of " .. dtype)
            assert((view:to("float64") + 1)[name](view:to("float64") + 1, -1, true):equal(at), "computed on the way")
          end
        end
        if dtype:match "float" then
          x[{ 2, 3, width }], x[{ 2, 3, width + 2 }] = 0 / 0, 0 / 0
          t.eq(x:argmax(3)[{ 2, 3 }], width)
          t.eq(x:argmin(3)[{ 2, 3 }], width)
          local most, row = x:max(3), x[{ 2, 3 }]:max()
          assert(row ~= row and most[{ 2, 3 }] ~= most[{ 2, 3 }] and most[{ 2, 4 }] == most[{ 2, 4 }])
        end
      end
    end
  end)

  test("extremes down the columns keep NaN and the sign of zero, in every row of a group", function()
    for _, kind in ipairs { "float32", "float64" } do
      for rows = 4, 9 do
        for at = 1, rows do
          local values, numbers = {}, gpu.linspace(-3, 3, rows * 301, kind, device):reshape(rows, 301)
          for i = 1, rows do values[i] = numbers[i]:clone() end
          values[at][{ { 3, 301 } }] = at % 2 == 0 and 0.0 or -0.0
          values[at][7], values[at][300] = 0 / 0, 0 / 0
          local most, least = values[1], values[1]
          for i = 2, rows do most, least = most:maximum(values[i]), least:minimum(values[i]) end
          local all = gpu.stack(values)
          for _, pair in ipairs { { all:max(1), most }, { all:min(1), least } } do
            t.eq(pair[1]:nan_to_num(9):equal(pair[2]:nan_to_num(9)), true, kind)
            t.eq(pair[1]:signbit():equal(pair[2]:signbit()), true, kind)
            t.eq(pair[1]:isnan():sum(), 2, kind)
          end
        end
      end
    end
  end)
  test("along axes that are not side by side", function()
    gpu.seed(6)
    local function same_bits(a, b, what)
      assert(a.dtype == b.dtype and a:equal(b), what)
    end
    local few = { { 7, 5, 40 }, { 2, 3, 5, 64 } }
    for _, shape in kinds(t.brief({ few[1], { 3, 130, 33 }, few[2], { 300, 2, 100 }, { 2, 2, 40000 } }, few), t.brief({ few[1], few[2], { 300, 2, 100 } }, few)) do
      local whole = gpu.random.integers(-9, 9, shape, device)
      local last = #shape
      for k, dtype in kinds({ "bool", "int8", "int32", "uint64", "float16", "float32", "float64", "complex64" },
        { "bool", "int8", "float16", "float64", "complex64" }) do
        local x = (dtype == "bool" and whole:gt(0) or dtype == "uint64" and whole + 9 or whole):to(dtype)
        for _, view in ipairs { x, x["..., ::-1, :"], x["..., 1:33"], x:transpose(1, 2):clone():transpose(1, 2) } do
          local count = view.shape[1] * view.shape[last]
          local exact = view:to(dtype == "complex64" and "complex128" or "float64"):sum(last):sum(1)
          local sums = view:sum({ 1, last })
          assert(sums:to(exact.dtype):allclose(exact, dtype == "float16" and 1e-3 or 0), dtype)
          assert(view:mean({ 1, last }):to(exact.dtype):allclose(exact / count, 1e-3, 1e-3), dtype)
          for _, name in ipairs(dtype == "complex64" and {} or t.half(device, { "max", "min", "any" }, k)) do
            local kept, f = name == "min", view[name]
            same_bits(f(view, { 1, last }, kept):squeeze(), f(f(view, last), 1):squeeze(), name .. " " .. dtype)
          end
        end
      end
      local x = gpu.randn(shape, "float32", device)
      for _, axes in ipairs { { 1, last }, { 2, last } } do
        for _, dtype in ipairs { "float32", "float64" } do
          local y = gpu.evaluate((x * 3):to(dtype))
          same_bits((x * 3):to(dtype):sum(axes), y:sum(axes), "computed on the way")
          same_bits(y:sum(axes), y:clone():sum(axes), "twice")
        end
      end
      local part = x["..., 1:33"]
      local means = part:mean({ 2, 3 }, true)
      same_bits(gpu.evaluate(part - part:mean({ 2, 3 }, true)), part - gpu.evaluate(means), "some rows at a time")
      assert(math.abs(part:sum() - part:to("float64"):clone():sum()) < 1e-3)
    end
  end)

  test("what is true far apart and computed", function()
    local n = t.brief(200001, 9001)
    for _, at in ipairs { 1, n // 2 + 1, n } do
      local x = gpu.zeros(n * 2, "float32", device)
      x[2 * at - 1] = 1
      local far = x["::2"]
      for name, any in pairs { far = far, bools = x:ne(0)["::2"], computed = far:gt(0.5), halves = x:to("float16")["::-2"][{ { 1, n } }] } do
        local odd = name == "halves"
        assert(any:any() == not odd, name .. " at " .. at)
        assert(any:eq(0):all() == odd, name .. " at " .. at)
      end
      assert(not x["2::2"]:any() and x["2::2"]:eq(0):all())
    end
    for _, at in ipairs { 1, 256, 257, 768, 769, 9001 } do
      local x = gpu.zeros({ 2, 9001 }, "int16", device)
      x[{ 2, at }] = 1
      t.same(x:any(2):totable(), { false, true }, "any at " .. at)
      t.same(gpu.evaluate(x:eq(0)):all(2):totable(), { true, false }, "all at " .. at)
    end
  end)

  test("rows of what is true, and their extremes, in every layout", function()
    local whole = gpu.range(0, 130 * 77 - 1, 1, "int32", device):reshape(130, 77) * 37 % 101
    for k, dtype in kinds({ "bool", "int8", "uint8", "int16", "uint16", "int64", "float32" }, { "bool", "int8", "uint16", "float32" }) do
      local x = (dtype == "bool" and whole:lt(3) or whole - (dtype:match "^u" and 0 or 50)):to(dtype)
      for _, view in ipairs { x, x.T, x["::2, ::3"], x:reshape(13, 10, 77):moveaxis(1, 3):reshape(10, -1), x:reshape(13, 10, 77)[{ 2, {}, {} }] } do
        local plain = view:to("float64"):clone()
        for axis = 1, 2 do
          assert(view:count_nonzero(axis):equal(plain:ne(0):to("int64"):sum(axis)), dtype)
          local count = view:count_nonzero(axis)
          local wants = { any = count:gt(0), max = plain:max(axis), all = count:eq(view.shape[axis]), min = plain:min(axis) }
          for _, name in ipairs(t.half(device, { "any", "all", "max", "min" }, k)) do
            assert(view[name](view, axis):to("float64"):equal(wants[name]:to("float64")), name .. " " .. dtype)
          end
        end
        t.eq(view:count_nonzero(), plain:count_nonzero(), dtype)
      end
    end
  end)

  test("reductions of what runs across the rows", function()
    gpu.seed(9)
    local x = gpu.rand({ 300, 400 }, "float32", device)
    local later, now = x.T * 1.5, gpu.evaluate(x.T * 1.5)
    assert(later:sum() == now:sum() and later:max() == now:max())
    for axis = 1, 2 do
      later = x.T * 1.5
      assert(later:sum(axis):equal(now:sum(axis)) and (x.T * 1.5):max(axis, true):equal(now:max(axis, true)))
    end
  end)

  test("sums of short rows", function()
    gpu.seed(8)
    for _, length in ipairs { 1, 15, 17, 100, 256, 257, 511, 512, 513 } do
      local whole = gpu.random.integers(-1000, 1000, { 40, length }, device)
      local exact = whole.T:clone():sum(1):to("float64")
      for _, dtype in ipairs { "int16", "int64", "float64", "complex64", "complex128" } do
        local x = whole:to(dtype)
        local sums = x:sum(2)
        assert((dtype:match "complex" and sums.real or sums):to("float64"):equal(exact), dtype .. " " .. length)
        assert(x[1]:sum() == (dtype == "int16" and math.tointeger(exact[1]) or sums[1]), dtype)
      end
      assert(whole:abs():to("uint64"):sum(2):to("int64"):equal(whole:abs():to("int64"):sum(2)))
      local r = gpu.randn({ 40, length }, "float64", device)
      local later = r * 1.1
      assert(later:sum(2):equal(gpu.evaluate(r * 1.1):sum(2)), "computed on the way")
    end
  end)

  -- The host has loops of its own for these; generated code has none.
  if not t.compiles(device) then
    test("of all elements and of one row, to the same bits", function()
      gpu.seed(12)
      for _, length in ipairs { 1, 2, 15, 33, 511, 513, 1000, 2047, 2048, 2049 } do
        local whole = gpu.randn(length, "float64", device) * 50
        for _, dtype in ipairs { "float32", "float64", "int32", "int64", "bool", "int16", "uint8", "float16", "uint64" } do
          local x = whole:abs():to(dtype)
          if dtype ~= "bool" and dtype:sub(1, 1) ~= "u" then x = x * whole:sign():to(dtype) end
          for _, name in ipairs { "sum", "mean", "min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "var",
            "std", "norm" } do
            local value, row = x[name](x), x:reshape(1, length)
            row = name == "norm" and row:norm(2, 2) or row[name](row, 2)
            assert(value == row[1], ("%s of %d %s: %s, of a row %s"):format(name, length, dtype, value, row[1]))
            t.eq(math.type(value), math.type(row[1]), name .. " " .. dtype)
          end
        end
      end
      local x = gpu.array({ 1, 0 / 0, 3 }, device)
      assert(x:max() ~= x:max() and x:argmax() == 2 and x:any() and x:sum() ~= x:sum())
    end)

    -- A view is no few elements one after the other, and a transposed copy has its columns as rows.
    test("along the axes of few, as along those of a view and of a transposed copy", function()
      gpu.seed(13)
      for _, shape in ipairs { { 1, 5 }, { 7, 1 }, { 10, 100 }, { 3, 17 }, { 33, 9 }, { 2, 1000 }, { 1024, 2 } } do
        local rows, columns = shape[1], shape[2]
        local whole = gpu.random.integers(-6, 7, { rows, columns + 1 }, device):to("float64")
        for _, dtype in ipairs { "float32", "float64", "int32", "int64", "uint64", "bool", "int16", "float16" } do
          local view = (dtype:sub(1, 1) == "u" and whole:abs() or whole):to(dtype)[{ {}, { 1, columns } }]
          if dtype:sub(1, 5) == "float" then
            view[{ rows // 2 + 1, columns // 2 + 1 }] = 0 / 0
            view[{ rows, columns // 2 + 1 }] = 0 / 0
          end
          local x, turned = view:clone(), view.T:clone()
          for axis = 1, 2 do
            for _, name in ipairs { "argmin", "argmax", "count_nonzero", "prod" } do
              local got, what = x[name](x, axis), ("%s of %dx%d %s along %d"):format(name, rows, columns, dtype, axis)
              local same = view[name](view, axis)
              assert(got.dtype == same.dtype and (got:eq(same) | (got:ne(got) & same:ne(same))):all(), what)
              if name ~= "prod" then assert(got:equal(turned[name](turned, 3 - axis)), what) end
            end
          end
        end
      end
    end)
  end

  test("extremes and sums of bytes that are computed or lie far apart", function()
    local shapes = { { 130, 67 }, { 3, 5 }, { 1, 200 }, { 70, 1000 }, { 33, 4, 65 }, { 3, 40001 } }
    local types = t.brief({ "int8", "uint8", "int16", "uint16", "int32", "float32" }, { "int8", "uint16", "float32" })
    for _, dtype in kinds(types, { "int8" }) do
      for _, shape in kinds(t.brief(shapes, { shapes[1], shapes[5], shapes[6] }), { shapes[1] }) do
        local size = 1
        for _, n in ipairs(shape) do size = size * n end
        local a = gpu.evaluate((gpu.range(1, 2 * size, 1, "int64", device) * 40503 // 64 % 128):to(dtype))
        local x, y = a[{ { 1, size } }]:reshape(shape), a[{ { size + 1, 2 * size } }]:reshape(shape)
        for _, both in ipairs { { x, y }, { x:flip(), y }, { x:transpose(1, #shape), y:transpose(1, #shape) }, { x["::2"], y["::2"] } } do
          local b, c = both[1], both[2]
          for _, made in ipairs { (b - c):abs(), b - c, gpu.maximum(b, c) + 3, (b + c):minimum(100) } do
            local stored = made:to("float64")
            for axis = 1, #shape do
              t.eq(made:max(axis):to("float64"):eq(stored:max(axis)):all(), true)
              t.eq(made:min(axis):to("float64"):eq(stored:min(axis)):all(), true)
            end
            t.eq(made:max(), stored:max() // 1 | 0)
            t.eq(made:min(), stored:min() // 1 | 0)
          end
        end
        if #shape == 2 and dtype ~= "float32" then
          local bits = gpu.einsum("ij->j", x)
          t.eq(bits.dtype, dtype)
          t.eq(bits:eq(x:sum(1):to(dtype)):all(), true)
        end
      end
    end
  end)

  test("products of float32 with vectors, to nine roundings", function()
    for _, n in kinds({ 1, 2, 7, 8, 16, 23, 63, 64, 65, 100, 513, 1000, 16385 }, { 7, 513 }) do
      local a, v = gpu.rand(5, n, device) - 0.5, gpu.rand(n, device) - 0.5
      local function check(m, x)
        local y, wide = m:matmul(x), m:to("float64"):matmul(x:to("float64"))
        local sizes = m:to("float64"):abs():matmul(x:to("float64"):abs())
        local most = t.compiles(device) and n + 2 or 9.01 -- roundings, and those of what is rounded
        assert(((y:to("float64") - wide):abs() - sizes * (most * 2 ^ -24)):max() <= 0, n)
      end
      check(a, v)
      check(a.T:clone().T, v)
      check(a:flip(2), v)
      check(gpu.concatenate({ a, a, a }, 1)[{ { 2, 12 } }], v)
    end
  end)

  test("results", function()
    local x = gpu.array({ { 1, 2 }, { 3, 4 } }, "int32", device)
    t.eq(math.type(x:sum()), "integer")
    t.eq(x:sum(1).dtype, "int64")
    t.eq(math.type(x:mean()), "float")
    t.eq(gpu.array({ true, true, false }, device):sum(), 2)
    t.eq(x:gt(0):all(), true)
    t.same(x:gt(3):any(1):totable(), { false, true })
    t.same(x:sum({ 1, 2 }):totable(), 10)
    t.same(x:sum({ axis = 1, keepdims = true }):totable(), { { 4, 6 } })
    t.same(x:sum(nil, true):totable(), { { 10 } })
    t.same(x:max({ keepdims = true }):totable(), { { 4 } })
    t.same(x.T:sum(1):totable(), { 3, 7 })
    t.eq(gpu.array({ 1, 0 / 0, 2 }, device):isnan():any(), true)
    local m = gpu.array({ 1, 0 / 0, 2 }, device):max()
    assert(m ~= m, "NaN wins")
  end)

  test("of nothing", function()
    local x = gpu.zeros(0, device)
    t.eq(x:sum(), 0.0)
    t.eq(x:prod(), 1.0)
    t.eq(x:any(), false)
    t.eq(x:all(), true)
    for _, name in ipairs({ "min", "max", "argmin", "argmax", "mean" }) do
      assert(not pcall(x[name], x), name .. " of nothing")
    end
    t.same(gpu.zeros(3, 0, device):sum(2):totable(), { 0, 0, 0 })
    t.eq(gpu.zeros(3, 0, device):sum(1).size, 0)
  end)

  test("indices along several axes are row-major among those", function()
    local x = gpu.array({ { { 5, 1 }, { 7, 2 } }, { { 5, 8 }, { 0, 3 } } }, device)
    t.same(x:argmax({ 1, 2 }):totable(), { 2, 3 })
    t.same(x:argmax({ 3, 1 }, true):totable(), { { { 4 }, { 1 } } })
    t.same(x:permute(3, 1, 2):argmin({ 1, -1 }):totable(), { 3, 2 })
  end)

  test("arguments", function()
    local x = gpu.zeros(2, 3, device)
    t.raises({ "no axis 3", "has 2" }, x.sum, x, 3)
    t.raises("no axis 0", x.sum, x, 0)
    t.raises("named twice", x.sum, x, { 1, -2 })
    t.raises("option 'axes'", x.sum, x, { axes = 1 })
    t.raises("array expected", gpu.sum, 3)
  end)

  test("float32 sums are accurate", function()
    local n = 1000003
    t.near(gpu.full(n, 0.1, "float32", device):sum(), n * 0.1, n * 0.1 * 1e-6)
  end)

  test("matmul", function()
    gpu.seed(5)
    for _, s in ipairs({ { 1, 1, 1 }, { 2, 3, 4 }, { 17, 5, 33 }, { 64, 64, 64 }, { 3, 0, 2 } }) do
      local m, k, n = table.unpack(s)
      for dtype, tolerance in pairs({ float32 = 1e-5, float64 = 1e-13 }) do
        local a, b = gpu.randn(m, k, dtype, device), gpu.randn(k, n, dtype, device)
        local c, ta, tb = gpu.matmul(a, b):totable(), a:totable(), b:totable()
        for i = 1, m do
          for j = 1, n do
            local sum = 0
            for l = 1, k do sum = sum + ta[i][l] * tb[l][j] end
            t.near(c[i][j], sum, tolerance * (1 + k))
          end
        end
        assert(gpu.matmul(b.T, a.T):allclose(gpu.matmul(a, b).T, 1e-4, 1e-5))
      end
    end
    local a = gpu.array({ { 1, 2 }, { 3, 4 } }, device)
    t.same(a:matmul(gpu.array({ 1, 1 }, device)):totable(), { 3, 7 })
    t.same(gpu.array({ 1, 1 }, device):matmul(a):totable(), { 4, 6 })
    t.eq(gpu.array({ 1, 2 }, device):dot(gpu.array({ 3, 4 }, device)), 11.0)
    t.raises({ "(2, 2)", "(3,)" }, a.matmul, a, gpu.zeros(3, device))
    t.raises("array expected", a.matmul, a, 3)
  end)

  test("allclose and equal", function()
    local x = gpu.array({ 1, 2, 3 }, device)
    t.eq(gpu.allclose(x, x + 1e-6), true)
    t.eq(gpu.allclose(x, x + 1e-3), false)
    t.eq(gpu.allclose(x, x + 1e-3, 1e-2), true)
    t.eq(gpu.allclose(x, x + 1e-3, 0, 1e-2), true)
    t.eq(gpu.allclose(x, 1), false)
    t.eq(gpu.allclose(1, gpu.ones(2, 2, device)), true)
    t.eq(x:allclose(gpu.array({ 1, 2, 3 }, "float64", "cpu")), true)
    local inf, nan = 1 / 0, 0 / 0
    t.eq(gpu.allclose(gpu.array({ inf }, device), gpu.array({ inf }, device)), true)
    t.eq(gpu.allclose(gpu.array({ inf }, device), gpu.array({ 1 }, device)), false)
    t.eq(gpu.allclose(gpu.array({ 1 }, device), gpu.array({ inf }, device)), false)
    t.eq(gpu.allclose(gpu.array({ nan }, device), gpu.array({ nan }, device)), false)
    t.raises({ "(3,)", "(2,)" }, gpu.allclose, x, gpu.zeros(2, device))
    t.eq(x:equal(gpu.array({ 1, 2, 3 }, "int64", "cpu")), true)
    t.eq(x:equal(x[{ { 1, 2 } }]), false)
    t.eq(x:equal(gpu.array({ 1, 2, 4 }, device)), false)
    local big = gpu.array({ (1 << 53) + 1 }, "int64", device)
    t.eq(big:equal(gpu.array({ 1 << 53 }, "int64", device)), false)
    t.raises("array expected", x.equal, x, 3)
  end)

  test("sums of many float32", function()
    local x = gpu.linspace(0, 1, 1000000, device) * 2 + 1
    local exact = x:to("float64"):sum()
    assert(math.abs(x:sum() / exact - 1) < 1e-7 and math.abs(x:mean() - exact / 1000000) < 2e-7)
    -- The bounds that the documentation states, of the sum of the absolute values.
    local generated = t.compiles(device)
    for _, n in ipairs { 7, 4097, 16385, 300001 } do
      local y = gpu.random.generator(n):normal(0, 1, n, "float32", device)
      local off = math.abs(y:sum() - y:to("float64"):sum()) / y:abs():to("float64"):sum() * 2 ^ 24
      assert(off <= (generated and (n > 16384 and 144 or 72) or 40), n .. ": " .. off)
    end
    local rows = gpu.linspace(0, 1, 300000, device):reshape(3, 100000)
    assert(gpu.allclose(rows:sum(2):to("float64"), rows:to("float64"):sum(2), 1e-7, 0))
  end)

  test("results written into arrays", function()
    local x = gpu.array({ { 1, 2, 3 }, { 4, 5, 6 } }, device)
    local three, two, one = gpu.zeros(3, device), gpu.zeros(2, "float64", device), gpu.zeros({}, "int32", device)
    t.eq(x:sum(1, { out = three }), three)
    t.same(three:totable(), { 5, 7, 9 })
    x:max { axis = 2, out = two }
    t.same(two:totable(), { 3, 6 })
    x:argmax({ out = one })
    t.eq(one:item(), 6)
    t.eq(x:gt(5):any({ out = one }), one)
    t.eq(one:item(), 1)
    x:std(1, false, 0, { out = three })
    x:quantile(0.5, 2, { out = two })
    t.same(two:totable(), { 2, 5 })
    t.same(three:totable(), { 1.5, 1.5, 1.5 })
    t.same(x:cumsum(2, { out = x }):totable(), { { 1, 3, 6 }, { 4, 9, 15 } }) -- the operand itself
    t.same(gpu.matmul(x, x.T[{ {}, { 1, 2 } }], { out = gpu.zeros({ 2, 2 }, device) }):totable(),
      { { 46, 121 }, { 121, 322 } })
    t.same(gpu.einsum("ij->j", x, { out = three }):totable(), { 5, 12, 21 })
    t.same(gpu.concatenate({ two, two }, { out = gpu.zeros(4, device) }):totable(), { 2, 5, 2, 5 })
    t.same(two:take({ 2, 1 }, { out = two[{ { -1, 1, -1 } }] }):totable(), { 5, 2 })
    t.same(two:totable(), { 2, 5 })
    t.same(gpu.array({ 15, 25 }, device):round(-1, { out = two }):totable(), { 20, 20 })
    t.raises({ "sum", "(3,)", "(2,)" }, x.sum, x, 1, { out = two })
    t.raises({ "mean gives float32", "int32" }, x.mean, x, { axis = { 1, 2 }, out = one })
    t.raises({ "prod", "out must be an array, not number" }, x.prod, x, { out = 3 })
    t.raises("no option 'axes'", x.prod, x, { axes = 1, out = one })
  end)
end

-- Bools that wait are counted as they are computed, whatever lies where.
t.every("counts of what is compared", function(device)
  gpu.seed(12)
  local former = gpu.lazy("always")
  for _, shape in ipairs(t.brief({ { 100003 }, { 3, 40009 }, { 501, 211 } }, { { 3, 40009 }, { 301, 211 } })) do
    local whole = gpu.evaluate(gpu.random.integers(0, 9, shape, device):to("float32"))
    for _, x in ipairs { whole, whole.T, whole:flip(), whole[{ "...", { 2, -1 } }] } do
      local count, both, last = 0, 0, 0
      local values = x:clone():reshape(-1):totable()
      for i, v in ipairs(values) do
        count = count + (v > 3 and 1 or 0)
        both = both + (v > 3 and v < 7 and 1 or 0)
        if i > #values - x.shape[x.ndim] then last = last + (v > 3 and 1 or 0) end
      end
      local name = table.concat(x.shape, "x")
      t.eq(x:gt(3):count_nonzero(), count, name)
      t.eq(x:gt(3):sum(), count, name)
      t.eq((x:gt(3) & x:lt(7)):count_nonzero(), both, name)
      if x.ndim > 1 then t.eq(x:gt(3):count_nonzero(-1)[-1], last, name) end
      assert(math.abs(x:gt(3):mean() - count / #values) < 1e-6, name)
    end
  end
  gpu.lazy(former)
end)

-- Rows that lie side by side in memory, but apart from each other, are read in place where they are long enough.
t.every("along an axis in the middle", function(device)
  for k, dtype in ipairs { "float32", "float64", "int32", "uint8", "bool", "complex64" } do
    for _, size in ipairs(t.brief({ { 1, 200 }, { 8, 128 }, { 9, 127 }, { 33, 31 }, { 33, 32 }, { 40, 33 }, { 300, 100 } }, { { 9, 130 }, { 40, 33 } })) do
      local length, inner = table.unpack(size)
      local x = (gpu.range(1, 4 * length * 2 * inner, "int64", device) * 37 % 101):to(dtype):reshape(4, length, 2 * inner)
      local half = { 1, inner }
      for at, view in ipairs { x[{ {}, {}, half }], x["::2"], x[":, ::-1"], x["..., ::2"], x["..., ::-1"], gpu.expand(x[{ {}, {}, { 1 } }], { 4, length, inner }) } do
        for _, name in ipairs(dtype == "complex64" and { "sum", "any" } or t.half(device, { "sum", "any", "max", "argmin" }, k)) do
          local got = view[name](view, 2)
          for i = 1, view.shape[1] do
            local what = ("%s of %s, %d x %d, view %d, row %d"):format(name, dtype, length, inner, at, i)
            assert(got[i]:equal(view[i]:clone()[name](view[i]:clone(), 1)), what)
          end
        end
      end
    end
  end
end)

t.done()
