-- Views and rearrangements, and arrays made from where their elements are. tests/numpy/test_shape.py has the random ones.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes
local SIZES = t.sizes

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function cube() return gpu.range(24, "int32", device):reshape(2, 3, 4) end
  local shares = t.shares

  test("every dtype and size", function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs(SIZES) do
        local x = (gpu.range(n, "int32", device) % 2):to(dtype)
        local list = x:totable()
        local flipped, rolled, twice, padded = {}, {}, {}, {}
        for i, v in ipairs(list) do
          flipped[n + 1 - i] = v
          rolled[(i + 2) % n + 1] = v
          twice[2 * i - 1], twice[2 * i] = v, v
          padded[i + 1] = v
        end
        t.same(x:flip():totable(), flipped, dtype)
        t.same(x:roll(3):totable(), rolled, dtype)
        t.same(x:repeat_interleave(2):totable(), twice, dtype)
        t.same(x:tile(2):totable(), gpu.cat({ x, x }):totable(), dtype)
        if n > 1 then
          padded[1], padded[n + 2] = list[2], list[n - 1]
          t.same(x:pad(1, "reflect"):totable(), padded, dtype)
        end
        t.same(gpu.array(x:tobytes(), dtype, device):totable(), list, dtype)
      end
    end
  end)

  -- In generated CUDA C the first go through tiles, the others through vectors of 16 bytes, or not where they begin
  -- between two.
  test("axes that change places, and lengths and beginnings around vectors", function()
    for _, dtype in ipairs { "float32", "uint8", "float16", "complex128" } do
      local function same(f, ...)
        local here, there = {}, { ... }
        for i, a in ipairs(there) do here[i] = a:to("cpu") end
        local want, got = f(table.unpack(here)), f(table.unpack(there)):to("cpu")
        if not got:equal(want) then error(("%s %s: %s"):format(dtype, there[1].shape, got)) end
      end
      for _, shape in ipairs { { 16, 16 }, { 70, 129 }, { 3, 33, 65 }, { 65, 2, 20 }, device == "cpu" and { 2100, 67 } or nil } do
        local n = 1
        for _, size in ipairs(shape) do n = n * size end
        local x = (gpu.range(n, "int32", device) % 101):to(dtype):reshape(shape)
        local y = gpu.full(shape, 3, dtype, device)
        same(function(a) return a:transpose(1, -1):clone() end, x)
        same(function(a, b) return a:transpose(1, -1) * b:transpose(1, -1) + b:transpose(1, -1):clone() end, x, y)
      end
      for _, n in ipairs { 1, 4, 5, 16, 31, 4099 } do
        local x = (gpu.range(n, "int32", device) % 101):to(dtype)
        same(function(a) return a + a end, x)
        if n > 1 then same(function(a) return a[{ { 2, -1 } }] + a[n] end, x) end
      end
    end
  end)

  -- Counts that several threads add up and follow, from 0 to more than are written at once.
  test("repetitions by many counts", function()
    local n, want = 9000, {}
    local counts, places = gpu.range(0, n - 1, 1, "int64", device) * 7 % 11 % 7, {}
    for i, count in ipairs(counts:totable()) do
      for _ = 1, count do want[#want + 1] = i end
    end
    places = gpu.array(want, "int64", device)
    for _, dtype in ipairs(DTYPES) do
      local x = (gpu.range(n, "int64", device) % 101):to(dtype)
      assert(x:repeat_interleave(counts):equal(x[places]), dtype)
    end
    local rows = gpu.range(3 * n, "int32", device):reshape(n, 3)
    assert(rows:repeat_interleave(counts, 1):equal(rows[places]))
    assert(rows.T:repeat_interleave(counts, 2):equal(rows[places].T))
    assert(rows:flip():repeat_interleave(counts:flip(), 1):equal(rows[places]:flip(1):flip(2)))
    t.eq(#rows:repeat_interleave(gpu.zeros(n, "int8", device), 1), 0)
  end)

  test("which are views", function()
    local x = cube()
    for _, view in ipairs({ x:flip(2), x:moveaxis(1, 3), x:unfold(3, 2), x:diagonal(0, 2, 3), x:split(3, 2)[2],
      x:chunk(2, 3)[2], x:expand(5, -1, -1, -1), x[1]:diag() }) do
      assert(shares(x, view))
    end
    for _, copy in ipairs({ x:roll(1), x:roll(1, 2), x:tile(1), x:repeat_interleave(1), x:pad(0), x:tril(9), x:copy() }) do
      assert(not shares(x, copy))
    end
    assert(x:pad(0):equal(x) and x:tile(1):equal(x) and x:tril(9):equal(x))
  end)

  test("windows", function()
    local x = gpu.range(7, device)
    t.same(x:unfold(1, 3, 2):totable(), { { 1, 2, 3 }, { 3, 4, 5 }, { 5, 6, 7 } })
    t.same(x:unfold(-1, 7):totable(), { { 1, 2, 3, 4, 5, 6, 7 } })
    t.eq(tostring(x:unfold(1, 0).shape), "(8, 0)")
    t.same(x:unfold(1, 2, math.maxinteger):totable(), { { 1, 2 } })
    t.same((x:unfold(1, 3):sum(2) / 3):totable(), { 2, 3, 4, 5, 6 })
    t.raises({ "8 elements", "axis 1", "has 7" }, x.unfold, x, 1, 8)
    t.raises("positive step", x.unfold, x, 1, 2, 0)
    t.raises("no axis 2", x.unfold, x, 2, 2)
  end)

  test("parts", function()
    local x = cube()
    t.same(gpu.split(x, 2, -1)[2][{ 1, 1 }]:totable(), { 3, 4 })
    t.eq(#x:split({}, 3), 1)
    t.eq(x:split({ 0, 4 }, 3)[3].size, 0)
    t.raises({ "axis 2 of 3 elements", "2 equal parts", "chunk" }, x.split, x, 2, 2)
    t.raises({ "cut 2", "from 2 to 4", "axis 3" }, x.split, x, { 2, 1 }, 3)
    t.raises({ "cut 1", "from 0 to 4" }, x.split, x, { 5 }, 3)
    t.raises("cut 1", x.split, x, { "a" })
    t.raises("must be positive", x.split, x, 0)
    t.raises("must be positive", x.chunk, x, 0)
    t.eq(#gpu.zeros(0, device):chunk(3), 1)
    t.eq(#gpu.zeros(5, device):chunk(4), 3)
    t.raises("no axes", gpu.split, gpu.array(1, device), 1)
  end)

  test("what does not fit", function()
    local x = cube()
    t.raises({ "no axis 4", "has 3" }, x.flip, x, 4)
    t.raises("axis 2 is named twice", x.flip, x, 2, -2)
    t.raises("flip: there is no option 'axes'; it is called axis", x.flip, x, { axes = 1 })
    t.raises({ "2 shifts", "1 axes" }, x.roll, x, { 1, 2 }, { 1 })
    t.raises("no axis 0", x.roll, x, 1, 0)
    t.raises("a shift must be an integer", x.roll, x, { "a" }, { 1 })
    t.raises("must not be negative, got -1", x.repeat_interleave, x, -1)
    t.raises({ "3 elements of axis 2" }, x.repeat_interleave, x, { 1, 2 }, 2)
    t.raises("must not be negative", x.repeat_interleave, x, { 1, -2 }, 1)
    t.raises("count", x.repeat_interleave, x, "2")
    t.raises("more elements than any memory", x.repeat_interleave, x, math.maxinteger)
    t.raises("more elements than any memory", x.repeat_interleave, x, { math.maxinteger, 1 }, 1)
    t.raises("more elements than any memory", x.tile, x, math.maxinteger)
    t.raises("must not be negative, got -1", x.pad, x, -1)
    t.raises("no pair for axis 3", x.pad, x, { { 1, 1 }, { 1, 1 } })
    t.raises("must be an integer", x.pad, x, { "a" })
    t.raises({ '"edge"', 'got "mirror"' }, x.pad, x, 1, "mirror")
    t.raises({ "axis 1", "no elements", "constant" }, gpu.pad, gpu.zeros(0, device), 1, "edge")
    t.raises("more elements than any memory", x.pad, x, math.maxinteger)
    t.raises("needs two axes", gpu.diagonal, gpu.zeros(3, device))
    t.raises("axis 2 was named twice", x.diagonal, x, 0, 2, 2)
    t.raises("one or two axes", gpu.diag, x)
    t.raises("needs two axes", gpu.tril, gpu.zeros(3, device))
    t.raises({ "(2, 3, 4)", "(2, 5, 4)" }, x.expand, x, 2, 5, 4)
    t.raises("axis 1 of the new shape", x.expand, x, -1, 2, 3, 4)
    t.same(gpu.array(5, device):flip():item(), 5.0)
    t.same(gpu.array(5, device):tile(2):totable(), { 5, 5 })
    t.same(gpu.array(5, device):repeat_interleave(2):totable(), { 5, 5 })
    t.same(gpu.array(5, device):roll(2):item(), 5.0)
    t.same(gpu.array(5, device):pad(3):item(), 5.0)
  end)

  -- What is rolled is read where its array has it, cell by cell between the places where some operand comes round an
  -- end; small arrays, short last axes and many cells go by copies. Eagerly, each roll is one.
  test("rolled arrays in expressions", function()
    local r = t.random(41)
    local shapes = t.brief and { { 200, 200 }, { 5, 9000 } }
      or { { 200, 200 }, { 129, 257 }, { 40000 }, { 30, 40, 50 }, { 5, 9000 }, { 9000, 5 }, { 60, 50 } }
    for _, shape in ipairs(shapes) do
      for _, dtype in ipairs({ "float32", "uint8", "complex128" }) do
        local x = (gpu.rand(shape, device) * 100):to("int32"):to(dtype)
        local y, axes, edge = x:flip(1):copy(), {}, 1
        for i in ipairs(shape) do
          axes[i] = i
        end
        local function shifts()
          local list = {}
          for i, n in ipairs(shape) do
            list[i] = r(2) == 1 and r(5) - 3 or r(2 * n) - n
          end
          return list
        end
        for _ = 1, 3 do
          local one, two, three = shifts(), shifts(), shifts()
          local function results()
            local turned = x
            for i = 1, #shape do
              turned = turned:roll(one[i], i)
            end
            local all = x:roll(1, #shape) + y * turned - x:roll(-edge, 1) + y:roll(two, axes)
            return turned, all, all + x:roll(three, axes):roll(two, axes), turned - x.T:roll(1, 1).T, all + x[1]
          end
          local mode = gpu.lazy("never")
          local want = { results() }
          gpu.lazy("large")
          local got = { results() }
          for i, w in ipairs(want) do
            assert(got[i]:equal(w), dtype .. " " .. table.concat(shape, " ") .. " " .. i)
          end
          gpu.lazy(mode)
        end
      end
    end
  end)

  test("what is rolled may change or be read again", function()
    local x = gpu.range(40000, device):reshape(200, 200)
    local first = x:copy()
    local a, b = x:roll(1, 1), x:roll(-1, 2) + x
    x:add_(1)
    t.eq(a[{ 1, 3 }], first[{ 200, 3 }])
    t.eq(b[{ 7, 200 }], first[{ 7, 1 }] + first[{ 7, 200 }])
    x["2:-2"] = x:roll(1, 1)["2:-2"] + x:roll(1, 2)["2:-2"]
    t.eq(x[{ 2, 5 }], first[{ 1, 5 }] + first[{ 2, 4 }] + 2)
    x:copy_(first)
    x:copy_(x:roll(1, 1) + x:roll(2, 1))
    t.eq(x[{ 3, 9 }], first[{ 2, 9 }] + first[{ 1, 9 }])
    x:copy_(first)
    x:add_(x:roll(1, 1))
    t.eq(x[{ 3, 9 }], first[{ 2, 9 }] + first[{ 3, 9 }])
    x[":, :"] = x:roll(1, 2) + 2 * x:roll(2, 2)
    t.eq(x[{ 3, 9 }], first[{ 2, 8 }] + first[{ 3, 8 }] + 2 * (first[{ 2, 7 }] + first[{ 3, 7 }]))
    x:copy_(first)
    local z = gpu.zeros_like(x)
    z[":, :"] = x:roll(1, 2) + x
    t.eq(z[{ 3, 9 }], first[{ 3, 8 }] + first[{ 3, 9 }])
    local turned = x:roll(3, 1)
    for i = 1, 4 do
      t.eq((turned + i)[{ 4, 2 }], first[{ 1, 2 }] + i)
    end
    t.eq((x:roll(1, 1) - x):abs():max(), 200.0 * 199)
    local soft = x:roll(1, 2) / x:roll(1, 2):sum(2, true)
    t.eq(soft[{ 1, 1 }], (first / first:sum(2, true))[{ 1, 200 }])
    t.eq(x:roll({}, {})[{ 1, 2 }], 2.0)
    t.eq(gpu.zeros({ 0, 3 }, device):roll(1, 1).size, 0)
    t.eq(gpu.zeros({ 0, 3 }, device):roll(5).size, 0)
  end)

  test("diagonals and triangles", function()
    local x = gpu.range(12, "int32", device):reshape(3, 4)
    t.same(x:diagonal(-1):totable(), { 5, 10 })
    t.same(x:diagonal(math.maxinteger):totable(), {})
    t.same(x:diagonal(math.mininteger):totable(), {})
    t.same(x:tril(math.mininteger):sum(), 0)
    t.same(x:triu(math.mininteger):sum(), 78)
    t.same(x:triu(math.maxinteger):sum(), 0)
    local wide = gpu.range(60000, "int32", device):reshape(2, 300, 100)
    for _, k in ipairs { -250, 0, 70 } do
      local lower = gpu.range(0, 299, 1, "int64", device):reshape(300, 1) + k
      lower = lower:ge(gpu.range(0, 99, 1, "int64", device))
      assert(wide:tril(k):equal(gpu.where(lower, wide, 0)) and wide:triu(k + 1):equal(gpu.where(lower, 0, wide)))
      assert(wide:transpose(2, 3):triu(-k):equal(wide:tril(k):transpose(2, 3)))
    end
    t.same(gpu.stack({ x, -x }):triu(1)[2]:totable(), { { 0, -2, -3, -4 }, { 0, 0, -7, -8 }, { 0, 0, 0, -12 } })
    local m = gpu.ones(2, 2, "bool", device):tril()
    t.eq(m.dtype, "bool")
    t.same(m:totable(), { { true, false }, { true, true } })
    t.eq(gpu.tri(2, "float64", device).dtype, "float64")
    t.eq(gpu.tri(2, device).dtype, "float32")
    t.same(gpu.diag(gpu.array({ 1, 2 }, device), -1):totable(), { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 2, 0 } })
    t.same(gpu.diag({ 1, 2 }):totable(), { { 1, 0 }, { 0, 2 } })
    t.same(select(2, gpu.meshgrid({ 1, 2 }, { 3, 4 })):totable(), { { 3, 3 }, { 4, 4 } })
    t.raises("too far out", gpu.diag, gpu.zeros(2, device), math.mininteger)
    local nan = gpu.full({ 2, 2 }, 0 / 0, device):tril()
    t.eq(nan[{ 1, 2 }], 0.0)
  end)

  test("grids", function()
    local x, y = gpu.meshgrid(gpu.array({ 1, 2, 3 }, "int64", device), gpu.array({ 7, 8 }, device))
    t.same(x:totable(), { { 1, 2, 3 }, { 1, 2, 3 } })
    t.same(y:totable(), { { 7, 7, 7 }, { 8, 8, 8 } })
    t.eq(x.dtype .. y.dtype, "int64float32")
    t.eq(select("#", gpu.meshgrid()), 0)
    t.raises("one axis", gpu.meshgrid, gpu.zeros(2, 2, device))
    t.raises('"xy" or "ij" expected', gpu.meshgrid, gpu.zeros(2, device), "yx")
    local f = gpu.fromfunction(function(i, j) return i * 10 + j end, { 2, 3 }, "int32", device)
    t.same(f:totable(), { { 11, 12, 13 }, { 21, 22, 23 } })
    t.same(gpu.fromfunction(function() return 5 end, 2, device):totable(), { 5, 5 })
    t.eq(gpu.fromfunction(function() return 5 end, {}, device):item(), 5.0)
    t.raises("boom", gpu.fromfunction, function() error("boom") end, 2, device)
  end)

  test("logspace", function()
    for _, base in ipairs({ 10, 2, 0.5 }) do
      local x = gpu.logspace(-2, 3, 11, base, "float64", device):totable()
      for i = 1, 11 do t.near(x[i], base ^ (-2 + (i - 1) * 0.5), 1e-12 * base ^ 3 + 1e-12) end
    end
    t.same(gpu.logspace(0, 3, 4, "int32", device):totable(), { 1, 10, 100, 1000 })
    t.eq(#gpu.logspace(0, 1, device), 50)
    t.raises("count is negative", gpu.logspace, 0, 1, -1)
  end)

  test("bytes", function()
    t.same(gpu.array("\1\2\255", "uint8", device):totable(), { 1, 2, 255 })
    t.same(gpu.array("\0\0\128\63\0\0\0\192", "float32", device):totable(), { 1, -2 })
    t.same(gpu.array("\0\7", "bool", device):totable(), { false, true })
    t.eq(gpu.array("\0\7", "bool", device):tobytes(), "\0\1")
    t.eq(gpu.array("", "float64", device).size, 0)
    t.eq(gpu.zeros(0, device):tobytes(), "")
    t.eq(gpu.array({ { 1, 2 }, { 3, 4 } }, "int8", device).T:tobytes(), "\1\3\2\4")
    t.raises({ "3 bytes", "int16", "2" }, gpu.array, "abc", "int16")
    t.raises("needs the dtype", gpu.array, "abc")
  end)
end

t.every("insert", function(device)
  local x = gpu.array({ 10, 20, 30 }, "int32", device)
  local function same(got, want)
    t.eq(got.dtype .. got.device, "int32" .. device)
    t.same(got:totable(), want)
  end
  for i, want in pairs({ { 5, 10, 20, 30 }, { 10, 5, 20, 30 }, { 10, 20, 5, 30 }, { 10, 20, 30, 5 } }) do
    same(gpu.insert(x, i, 5), want)
  end
  same(gpu.insert(x, -1, 5), { 10, 20, 5, 30 })
  same(gpu.insert(x, 2, { 1, 2, 3.5 }), { 10, 1, 2, 3, 20, 30 })
  same(gpu.insert(x, { 4, 1, 1, -1 }, { 1, 2, 3, 4 }), { 2, 3, 10, 20, 4, 30, 1 })
  same(gpu.insert(x, gpu.array({ 1, 3 }, "int64", device), 9), { 9, 10, 20, 9, 30 })
  same(gpu.insert(x, {}, 9), { 10, 20, 30 })
  same(gpu.insert(gpu.zeros(0, "int32", device), 1, 9), { 9 })
  local m = gpu.range(6, "int32", device):reshape(2, 3)
  same(gpu.insert(m, 3, 0), { 1, 2, 0, 3, 4, 5, 6 })
  same(gpu.insert(m, 2, 0, 1), { { 1, 2, 3 }, { 0, 0, 0 }, { 4, 5, 6 } })
  same(gpu.insert(m, 2, { 7, 8, 9 }, 1), { { 1, 2, 3 }, { 7, 8, 9 }, { 4, 5, 6 } })
  same(gpu.insert(m, 1, { 7, 8 }, -1), { { 7, 1, 2, 3 }, { 8, 4, 5, 6 } })
  same(gpu.insert(m, 1, { { 7, 8 } }, 2), { { 7, 8, 1, 2, 3 }, { 7, 8, 4, 5, 6 } })
  same(gpu.insert(m.T, { 1, 4 }, { { 7, 8 }, { 9, 0 } }, 1), { { 7, 8 }, { 1, 4 }, { 2, 5 }, { 3, 6 }, { 9, 0 } })
  t.raises("index 5 is outside of 1 to 4", gpu.insert, x, 5, 1)
  t.raises("index 0 is outside", gpu.insert, x, 0, 1)
  t.raises("from 1 to 4", gpu.insert, x, { 1, 5 }, 1)
  t.raises("from 1 to 4", gpu.insert, x, { 0 }, 1)
  t.raises("integers of one axis", gpu.insert, x, gpu.zeros(2, device), 1)
  t.raises("value expected", gpu.insert, x, 1)
end)

t.done()
