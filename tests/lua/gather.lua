-- Index arrays and masks: x[indices], take, put, gather, scatter, compress, nonzero.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local DTYPES = t.dtypes
local SIZES = t.sizes

-- Numbers that look random and are the same every time.
local function numbers(seed)
  local state = seed
  return function(n)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % n
  end
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function ints(list) return gpu.array(list, "int64", device) end
  local function cube() return gpu.range(24, "int32", device):reshape(2, 3, 4) end
  -- n elements that every dtype holds, and a list of them.
  local function sample(n, dtype)
    local x = gpu.array(t.list(n, function(i) return i % 2 end), "int32", device)
    if dtype ~= "bool" then x = gpu.array(t.list(n, function(i) return i % 100 end), "int32", device) end
    x = x:to(dtype)
    return x, x:totable()
  end

  test("index arrays of every dtype and size", function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs(SIZES) do
        local x, list = sample(n, dtype)
        local next_number = numbers(n + 1)
        local picks = t.list(n == 0 and 0 or 9, function(i) return next_number(n) * (1 - 2 * (i % 2)) + 1 - 2 * (i % 2) end)
        local want = {}
        for i, p in ipairs(picks) do want[i] = list[p > 0 and p or n + 1 + p] end
        local got = x[ints(picks)]
        t.eq(got.dtype, dtype)
        t.same(got:totable(), want, dtype .. " " .. n)
        t.same(x:take(picks):totable(), want)
        for i, p in ipairs(picks) do
          local value = list[(i * 7) % n + 1]
          list[p > 0 and p or n + 1 + p] = value
          picks[i], want[i] = p, value
        end
        x[ints(picks)] = gpu.array(want, dtype, device)
        t.same(x:totable(), list, dtype .. " " .. n)
      end
    end
  end)

  test("short rows at indices", function()
    for _, dtype in ipairs { "uint8", "int16", "float32", "int64", "complex128" } do
      for _, length in ipairs { 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65, 300 } do
        local n, picked = 20, t.brief(2100, 30)
        local x = gpu.range(n * length, "int64", device):reshape(n, length):to(dtype)
        local next_number = numbers(length)
        local list = t.list(picked, function(i) return (next_number(n) + 1) * (i % 3 == 0 and -1 or 1) end)
        local rows = gpu.array(list, "int64", device)
        local places = gpu.where(rows:lt(0), rows + n, rows - 1)[{ {}, gpu.newaxis }] * length + gpu.range(length, "int64", device)
        local want, what = x:flatten():take(places), dtype .. " " .. length
        assert(x[rows]:equal(want), what)
        local grid = rows:reshape(picked // 3, 3)
        assert(x[grid]:equal(want:reshape(picked // 3, 3, length)), what)
        assert(gpu.stack { x, x }[{ {}, rows }]:equal(gpu.stack { want, want }), what)
        local wide = gpu.zeros(n, length + 2, dtype, device) -- rows that lie apart
        wide[{ {}, { 2, length + 1 } }] = x
        assert(wide[{ rows, { 2, length + 1 } }]:equal(want), what)
        local y, expected = x:clone(), x:totable() -- of several rows for one place the last stays
        local values = gpu.range(picked * length, "int64", device):reshape(picked, length):to(dtype)
        for i, row in ipairs(values:totable()) do expected[list[i] > 0 and list[i] or n + 1 + list[i]] = row end
        if not t.compiles(device) then
          y[rows] = values
          t.same(y:totable(), expected, what)
        end
        for _, bad in ipairs { 0, n + 1, -n - 1 } do
          local wrong = rows:clone()
          wrong[picked - 2] = bad
          t.raises(tostring(bad), function() return gpu.evaluate(x[wrong]) end)
        end
      end
    end
  end)

  test("indices of 32 and 64 bits that count from the start, or not all", function()
    for _, dtype in ipairs { "uint8", "float16", "float32", "int64", "complex128" } do
      for _, n in ipairs { 1, 9, 1000, 2500 } do
        local x, list = sample(n, dtype)
        local next_number = numbers(n + 3)
        local picks = t.list(n, function() return next_number(n) + 1 end)
        for _, last in ipairs { picks[n], -1 } do
          picks[n] = last
          local want = {}
          for i, p in ipairs(picks) do want[i] = list[p > 0 and p or n + 1 + p] end
          for _, width in ipairs { "int32", "int64" } do
            local index = gpu.array(picks, width, device)
            t.same(x[index]:totable(), want, dtype .. " " .. n .. " " .. width)
            t.same(x:take(index):totable(), want)
            if n > 1 then t.same(x["2:"]:take(index:minimum(n - 1):maximum(1))[1], list[math.max(1, math.min(n - 1, picks[1])) + 1]) end
          end
        end
        for _, wrong in ipairs { 0, n + 1, -n - 1, math.mininteger, math.maxinteger } do
          picks[n] = wrong
          t.raises(wrong == 0 and "index 0" or { "out of range", tostring(wrong) }, x.take, x, gpu.array(picks, "int64", device))
        end
      end
    end
  end)

  -- Blocks of indices that count from the start are offsets as they are; a block with one that does not is not.
  test("writes and sums by indices that count from the start, or not all", function()
    for _, dtype in ipairs { "uint8", "int16", "float32", "float64", "complex128" } do
      for _, n in ipairs { 1, 9, 1000, 2500 } do
        local next_number = numbers(n + 4)
        local picks = t.list(n, function() return next_number(n // 2 + 1) + 1 end)
        local values = gpu.array(t.list(n, function(i) return i % 5 end), "int32", device):to(dtype)
        local sources = { values, values:flip(), values[1] }
        for _, last in ipairs { picks[n], -1 } do
          picks[n] = last
          for k, source in ipairs(sources) do
            local set, sums = t.list(n, function() return 7 end), t.list(n, function() return 1 end)
            for i, p in ipairs(picks) do
              local v = k == 1 and (i - 1) % 5 or k == 2 and (n - i) % 5 or 0
              p = p > 0 and p or n + 1 + p
              set[p], sums[p] = v, (sums[p] + v) % (dtype == "uint8" and 256 or 1 << 15)
            end
            for _, width in ipairs { "int32", "int64" } do
              local index, x, y = gpu.array(picks, width, device), gpu.full(n, 7, dtype, device), gpu.ones(n, dtype, device)
              x[index] = source
              assert(x:equal(gpu.array(set, dtype, device)), ("%s %d %s set %d"):format(dtype, n, width, k))
              if k < 3 then y:scatter_add_(1, index, source) end
              assert(k == 3 or y:equal(gpu.array(sums, dtype, device)), ("%s %d %s sums %d"):format(dtype, n, width, k))
            end
          end
        end
      end
    end
  end)

  test("many indices on all threads", function()
    local n = t.brief(200000, 20000)
    local next_number = numbers(5)
    local x = gpu.range(n, "int32", device)
    local at = t.list(n, function() return next_number(n) + 1 end)
    local got, want = x[ints(at)]:totable(), {}
    t.same(got, at)
    for i = 1, n do want[i] = i end
    for i, p in ipairs(at) do want[p] = -i end
    x[gpu.array(at, "int32", device)] = -gpu.range(n, "int32", device)
    t.same(x:totable(), want)
    local sums = {}
    for i = 1, 100 do sums[i] = 0 end
    for i, p in ipairs(at) do sums[p % 100 + 1] = sums[p % 100 + 1] + i end
    local y = gpu.zeros(100, "int64", device):scatter_add(1, ints(at) % 100 + 1, gpu.range(n, "int64", device))
    t.same(y:totable(), sums)
  end)

  test("indices of every dtype", function()
    local x = gpu.range(10, device)
    for _, dtype in ipairs(DTYPES) do
      if dtype ~= "bool" then t.same(x[gpu.array({ 3, 10, 1 }, dtype, device)]:totable(), { 3, 10, 1 }, dtype) end
    end
    t.same(x[gpu.array({ { 1 }, { -1 } }, device)]:totable(), { { 1 }, { 10 } })
    t.eq(x[gpu.array(-2, "int64", device)], 9.0)
    t.eq(tostring(x[gpu.zeros(0, "int64", device)].shape), "(0,)")
    t.eq(x[gpu.array({ 2, 3 }, device):to("uint8"):reshape(2, 1, 1)].ndim, 3)
    t.raises({ "whole numbers", "axis 1" }, function() return x[gpu.array({ 1.5 }, device)] end)
    t.raises({ "whole numbers", "axis 1" }, function() return x[gpu.array({ 0 / 0 }, device)] end)
    t.raises({ "float16", "axis 1", "4097", "int64" }, function() return gpu.zeros(4097, device)[gpu.ones(2, "float16", device)] end)
    t.raises({ "bfloat16", "the array", "300" }, gpu.zeros(300, device).take, gpu.zeros(300, device), gpu.ones(2, "bfloat16", device))
  end)

  test("index arrays beside ranges, numbers and each other", function()
    local x = cube()
    local rows, columns = ints { 2, 1, 2 }, ints { 1, -1, 1 }
    t.same(x[{ rows, columns, columns }]:totable(), { 13, 12, 13 })
    t.same(x[{ rows, {}, 1 }]:totable(), { { 13, 17, 21 }, { 1, 5, 9 }, { 13, 17, 21 } })
    t.same(x[{ 1, {}, columns }]:totable(), { { 1, 5, 9 }, { 4, 8, 12 }, { 1, 5, 9 } })
    t.same(x[{ {}, { 2, 3 }, ints { { 4 }, { 1 } } }]:totable(),
      { { { { 8 }, { 5 } }, { { 12 }, { 9 } } }, { { { 20 }, { 17 } }, { { 24 }, { 21 } } } })
    t.same(x[{ ints { { 1 }, { 2 } }, ints { 1, 3 } }]:sum(3):totable(), { { 10, 42 }, { 58, 90 } })
    t.same(x[{ "...", columns, 2 }]:totable(), { { 2, 10, 2 }, { 14, 22, 14 } })
    t.eq(tostring(x[{ gpu.newaxis, rows, "..." }].shape), "(1, 3, 3, 4)")
    x[{ {}, columns, { 2, 3 } }] = gpu.array({ { -1 }, { -2 }, { -3 } }, "int8", device)
    t.same(x:totable()[1], { { 1, -3, -3, 4 }, { 5, 6, 7, 8 }, { 9, -2, -2, 12 } })
    x[{ 1, rows }] = 0
    t.same(x:totable()[1], { { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 9, -2, -2, 12 } })
    x[{ rows, columns }] = { 1, 2, 3, 4 }
    t.same(x:totable()[2][1], { 1, 2, 3, 4 })
    local mask = gpu.array({ true, false, true }, device)
    t.same(cube()[{ 2, mask, { 1, 2 } }]:totable(), { { 13, 14 }, { 21, 22 } })
    t.same(cube()[{ {}, mask, 1 }]:totable(), { { 1, 9 }, { 13, 21 } })
    t.same(cube()[{ cube():gt(23), }]:totable(), { 24 })
  end)

  test("newaxis and dots", function()
    local x = cube()
    t.eq(tostring(x[{ gpu.newaxis, 1, gpu.newaxis }].shape), "(1, 1, 3, 4)")
    t.eq(tostring(x["newaxis, ..., newaxis"].shape), "(1, 2, 3, 4, 1)")
    t.same(x[{ "...", 2, "newaxis, ::2" }]:totable(), { { { 5, 7 } }, { { 17, 19 } } })
    t.same(x[{ "...", "1:2", 3 }]:totable(), { { 3, 7 }, { 15, 19 } })
    t.raises("stands twice", function() return x["..., ..."] end)
    t.raises("at most 16 axes", function() return x["newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis,newaxis"] end)
    x[{ gpu.newaxis, 1, 1, 1 }] = 9
    t.eq(x[{ 1, 1, 1 }], 9)
  end)

  test("writes that read what they write", function()
    local x = gpu.range(5, "int64", device)
    x[x] = x["::-1"]
    t.same(x:totable(), { 5, 4, 3, 2, 1 })
    x[ints { 1, 1, 2 }] = ints { 7, 8, 9 }
    t.same(x:totable(), { 8, 9, 3, 2, 1 })
    local y = gpu.array({ true, false, true }, device)
    y[y] = gpu.array({ false, true }, device)
    t.same(y:totable(), { false, false, true })
    local z = gpu.zeros(2, 3, device):broadcast_to(4, 2, 3)
    z[{ {}, ints { 2 } }] = 5
    t.same(z[3]:totable(), { { 0, 0, 0 }, { 5, 5, 5 } })
  end)

  test("bad indices leave all as it was", function()
    local x, before = cube(), cube()
    t.raises({ "index 4", "axis 2", "3 elements" }, function() x[{ {}, ints { 1, 4 } }] = 0 end)
    t.raises({ "index -3", "axis 1", "2 elements" }, function() x[ints { 1, -3 }] = 0 end)
    t.raises({ "index 0", "axis 3", "count from 1" }, function() x[{ 1, 1, ints { 1, 0 } }] = 0 end)
    t.raises({ "index 25", "axis 1", "24 elements" }, x.put_, x, { 1, 25 }, 0)
    t.raises({ "index 5", "axis 3" }, x.scatter_, x, 3, gpu.full({ 2, 3, 1 }, 5, "int32", device), 1)
    t.raises({ "index 5", "axis 3" }, x.scatter_add_, x, 3, gpu.full({ 2, 3, 1 }, 5, "int32", device), 1)
    t.raises("cannot assign 1000", function() gpu.zeros(3, "int8", device)[ints { 1 }] = 1000 end)
    t.raises({ "(4,)", "indices pick", "(2, 3, 2)" }, function() x[{ {}, {}, ints { 1, 2 } }] = { 1, 2, 3, 4 } end)
    t.raises({ "(2,)", "(3,)" }, function() return x[{ ints { 1, 1 }, ints { 1, 2, 3 } }] end)
    t.raises("4 indices for an array of 3 axes", function() return x[{ 1, 1, 1, ints { 1 } }] end)
    t.raises({ "mask", "(2,)", "from axis 2" }, function() return x[{ 1, gpu.ones(2, "bool", device) }] end)
    t.raises("masks of dtype bool go into", x.take, x, gpu.ones(2, "bool", device))
    assert(x:equal(before))
    t.raises({ "index 1", "0 elements" }, function() return gpu.zeros(0, device)[ints { 1 }] end)
    t.raises({ "index " .. math.mininteger }, function() return x[ints { math.mininteger }] end)
    t.raises({ "index " .. math.maxinteger }, function() return x[ints { math.maxinteger }] end)
    local far = gpu.ones(100000, "int64", device)
    far[70000], far[90000] = 4, 3
    t.raises({ "index 4", "axis 1" }, function() return x[far] end)
    local few = gpu.range(3, device)
    t.raises({ "index 4", "axis 1" }, function() few[far] = 7 end)
    t.raises({ "index 4", "axis 1" }, few.scatter_add_, few, 1, far, 1)
    t.same(few:totable(), { 1, 2, 3 })
  end)

  test("take and put", function()
    local x = cube()
    t.same(x:take({ { 1, -1 }, { 24, 5 } }):totable(), { { 1, 24 }, { 24, 5 } })
    t.same(x.T:take({ 2 }):totable(), { 13 })
    t.same(x:take({ 3, 1 }, 2)[2]:totable(), { { 21, 22, 23, 24 }, { 13, 14, 15, 16 } })
    t.eq(tostring(x:take({ { 1, 2 }, { 1, 2 } }, -1).shape), "(2, 3, 2, 2)")
    t.eq(x:take(gpu.array(5, "int64", device)).ndim, 0)
    t.same(x:put({ 1, 2 }, { 100, 200 })[{ 1, 1 }]:totable(), { 100, 200, 3, 4 })
    t.eq(x[{ 1, 1, 1 }], 1)
    t.eq(x.T:put_({ 2 }, -5)[{ 1, 1, 2 }], -5)
    t.eq(x[{ 2, 1, 1 }], -5)
    t.raises("no axis 4", x.take, x, { 1 }, 4)
    t.raises("value expected", x.take, x)
  end)

  test("gather and scatter", function()
    local x = gpu.array({ { 10, 20, 30 }, { 40, 50, 60 } }, device)
    t.same(x:gather(1, { { 2, 1, 2 } }):totable(), { { 40, 20, 60 } })
    t.same(x.T:gather(2, { { 2, 2, 1 }, { 1, 1, 1 } }):totable(), { { 40, 40, 10 }, { 20, 20, 20 } })
    t.same(x:scatter(2, { { 1 }, { 3 } }, { { -1 }, { -2 } }):totable(), { { -1, 20, 30 }, { 40, 50, -2 } })
    t.same(x:scatter_add(2, { { 1, 1, 1 }, { 3, 3, 1 } }, 1):totable(), { { 13, 20, 30 }, { 41, 50, 62 } })
    t.same(x:totable(), { { 10, 20, 30 }, { 40, 50, 60 } })
    t.raises({ "(3, 1)", "axis 2", "(2, 3)" }, x.gather, x, 2, { { 1 }, { 1 }, { 1 } })
    t.raises({ "(1,)", "(2, 3)" }, x.gather, x, 1, { 1 })
    t.raises("no axis 3", x.gather, x, 3, { { 1 } })
  end)

  test("sums of every dtype", function()
    for _, dtype in ipairs(DTYPES) do
      local x = gpu.zeros(3, dtype, device)
      x:scatter_add_(1, ints { 1, 3, 1, 1, 3 }, gpu.ones(5, dtype, device))
      local want = { 3, 0, 2 }
      if dtype == "bool" then want = { 1, 0, 1 } end
      t.same(x:to("int64"):totable(), want, dtype)
    end
    t.same(gpu.zeros(1, "int8", device):scatter_add(1, { 1, 1 }, { 100, 100 }):totable(), { -56 })
  end)

  test("sums of floats have an order", function()
    local n = 50000
    local next_number = numbers(9)
    local values = t.list(n, function() return (next_number(1 << 20) - (1 << 19)) / 1024.0 + next_number(1000) * 1e-6 end)
    local at = t.list(n, function() return next_number(7) + 1 end)
    local want = gpu.zeros(7, "float64", "cpu"):totable()
    for i, p in ipairs(at) do want[p] = want[p] + values[i] end
    local got = gpu.zeros(7, "float64", device):scatter_add(1, ints(at), gpu.array(values, "float64", device))
    t.same(got:totable(), want)
  end)

  test("masks of every dtype and size", function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs(SIZES) do
        local x, list = sample(n, dtype)
        local next_number = numbers(n + 3)
        local bits, want, at = {}, {}, {}
        for i = 1, n do
          bits[i] = next_number(3) == 0
          if bits[i] then
            want[#want + 1] = list[i]
            at[#at + 1] = i
          end
        end
        local mask = gpu.array(bits, "bool", device)
        t.same(x[mask]:totable(), want, dtype .. " " .. n)
        t.same(mask:nonzero():totable(), at)
        t.same(x["::-1"][mask["::-1"]]["::-1"]:totable(), want)
        for i = 1, #at do list[at[i]] = list[#list + 1 - i] end
        local values = {}
        for i = 1, #at do values[i] = list[at[i]] end
        x[mask] = gpu.array(values, dtype, device)
        t.same(x:totable(), list, dtype .. " " .. n)
      end
    end
  end)

  test("masks over some axes, and over views", function()
    local x = cube()
    local mask = gpu.array({ { true, false, true }, { false, false, true } }, device)
    t.same(x[mask]:totable(), { { 1, 2, 3, 4 }, { 9, 10, 11, 12 }, { 21, 22, 23, 24 } })
    t.same(x:permute(2, 1, 3)[mask.T]:totable(), { { 1, 2, 3, 4 }, { 9, 10, 11, 12 }, { 21, 22, 23, 24 } })
    x:permute(2, 1, 3)[mask.T] = gpu.array({ { 0 }, { -1 }, { -2 } }, device)
    t.same(x:sum(3):totable(), { { 0, 26, -4 }, { 58, 74, -8 } })
    local y = gpu.range(6, "int32", device):reshape(2, 3)
    local step = y[{ {}, "::2" }]
    t.same(step[step:gt(1)]:totable(), { 3, 4, 6 })
    step[step:gt(1)] = { 30, 40, 60 }
    t.same(y:totable(), { { 1, 2, 30 }, { 40, 5, 60 } })
    t.same(y:masked_select(gpu.array({ true, false, true }, device)):totable(), { 1, 30, 40, 60 })
    t.same(gpu.array(5, device):masked_select(gpu.array({ true, false, true }, device)):totable(), { 5, 5 })
    t.same(gpu.array(5, device):masked_select(gpu.array(true, device)):totable(), { 5 })
    t.same(y:compress(gpu.array({ true, false, true }, device), -1):totable(), { { 1, 30 }, { 40, 60 } })
    t.same(y:compress(gpu.array({ false, true }, device)):totable(), { { 40, 5, 60 } })
    t.same(y:compress({ false, true }):totable(), { { 40, 5, 60 } })
    t.raises("array or table of indices expected", y.take, y, 3)
    t.raises({ "(2,)", "axis 2", "3 elements" }, y.compress, y, gpu.array({ false, true }, device), 2)
    t.raises({ "dtype bool", "int32" }, y.compress, y, y)
    t.eq(tostring(gpu.zeros(0, 3, device)[gpu.zeros(0, "bool", device)].shape), "(0, 3)")
    t.eq(tostring(gpu.zeros(2, 0, device)[gpu.ones(2, "bool", device)].shape), "(2, 0)")
  end)

  test("where an array is true", function()
    local x = gpu.array({ { 0, 5, 0 / 0 }, { -0.0, 0, 1 } }, device)
    local i, j = x:nonzero()
    t.same(i:totable(), { 1, 1, 2 })
    t.same(j:totable(), { 2, 3, 3 })
    t.same({ gpu.where(x:gt(0))[1], select("#", gpu.where(x)) }, { 1, 2 })
    t.same(x:argwhere():totable(), { { 1, 2 }, { 1, 3 }, { 2, 3 } })
    t.same(x.T:argwhere():totable(), { { 2, 1 }, { 3, 1 }, { 3, 2 } })
    t.same(x:flatnonzero():totable(), { 2, 3, 6 })
    t.eq(tostring(gpu.zeros(2, 3, device):argwhere().shape), "(0, 2)")
    t.eq(tostring(gpu.ones({}, device):argwhere().shape), "(1, 0)")
    t.same(x[{ x:nonzero() }]:flatten():totable(), { 5, 0 / 0, 1 })
    t.raises("no axes", gpu.ones({}, device).nonzero, gpu.ones({}, device))
    local y = gpu.range(3 * 5 * 7, "int32", device):reshape(3, 5, 7)
    local a, b, c = (y % 4):eq(1):nonzero()
    t.same((((a - 1) * 5 + b - 1) * 7 + c):totable(), gpu.range(1, 105, 4):totable())
  end)

  -- What indices mean for one row they mean for all; beside rows of the transposed, which have one index each.
  test("columns of tables, and of what lies across them, in every way", function()
    for _, dtype in ipairs { "uint8", "float16", "float32", "int64", "complex128" } do
      for _, n in ipairs { 9, 300, 1500 } do
        local x = (gpu.range(40 * n, "int32", device):reshape(40, n) % 97):to(dtype)
        local across = x.T:clone().T
        local next_number, picks = numbers(n), {}
        for i = 1, n + 100 do picks[i] = (next_number(n) + 1) * (1 - 2 * (i % 2)) end
        picks = ints(picks)
        local want = x.T:clone()[picks].T
        assert(x[{ {}, picks }]:equal(want) and across[{ {}, picks }]:equal(want), dtype)
        assert(across[{ { 2, -2 }, picks }]:equal(want[{ { 2, -2 } }]), dtype)
        assert(x:reshape(5, 8, n)[{ {}, { -1, 1, -2 }, picks }]:equal(want:reshape(5, 8, -1)[{ {}, { -1, 1, -2 } }]), dtype)
        local values = (gpu.range(40 * (n + 100), "int32", device):reshape(40, -1) % 89):to(dtype)
        local down, sums = x.T:clone(), x.T:clone():index_add_(1, picks, values.T)
        down[picks] = values.T
        for _, copy in ipairs { function() return x:clone() end, function() return x.T:clone().T end } do
          local y = copy()
          y[{ {}, picks }] = values
          assert(y:equal(down.T) and copy():index_add_(2, picks, values):equal(sums.T), dtype)
        end
        picks[n + 50] = n + 1
        local y = x:clone()
        t.raises({ tostring(n + 1), "axis 2" }, function() return y[{ {}, picks }] end)
        t.raises({ tostring(n + 1), "axis 2" }, function() return across[{ {}, picks }] end)
        t.raises({ tostring(n + 1), "axis 2" }, function() y[{ {}, picks }] = values end)
        assert(y:equal(x))
      end
    end
  end)

  test("indices of tables that change from row to row, or lead to one element from several rows", function()
    local next_number = numbers(7)
    local function some(n, ...) return ints(t.list(n, function() return next_number(1100) + 1 end)):reshape(...) end
    local x, picks = gpu.range(40 * 1100, "int32", device):reshape(40, 1100), some(40 * 500, 40, 500)
    local want = x:reshape(-1)[picks + gpu.range(0, 39, 1, "int64", device)[{ {}, gpu.newaxis }] * 1100]
    assert(x:gather(2, picks):equal(want) and x.T:clone().T:gather(2, picks):equal(want))
    local y, list = x:clone(), picks:totable()
    y:scatter_(2, picks, -want)
    assert(y:gather(2, picks):equal(-want) and y:lt(0):sum() == (x.T:clone().T:scatter_(2, picks, -1)):eq(-1):sum())
    local row, values, last = some(2500, 2500), gpu.range(64 * 2500, "int32", device):reshape(64, 2500), {}
    for i, p in ipairs(row:totable()) do last[p] = 63 * 2500 + i end
    local line = gpu.zeros(1100, "int32", device)
    line[row:broadcast_to(64, 2500)] = values
    for i = 1, 1100, 7 do t.eq(line[i], last[i] or 0) end
    local windows, many = gpu.zeros(1200, "int32", device):unfold(1, 1100), gpu.range(101 * 2500, "int32", device)
    windows[{ {}, row }] = many:reshape(101, 2500)
    for i, p in ipairs(row:totable()) do last[p] = 100 * 2500 + i end
    for i = 1, 1100, 7 do assert(not last[i] or windows[{ 101, i }] == last[i]) end
    local cube = gpu.range(9 * 20 * 30, "int32", device):reshape(9, 30, 20):permute(1, 3, 2)
    assert(cube[{ ints { 3 } }]:equal(cube["3:3"]) and cube[{ {}, ints { 3 } }]:equal(cube[":, 3:3"]))
    assert(cube:clone()[{ ints { 3 } }]:equal(cube["3:3"]))
  end)

  test("expressions written straight to their place", function()
    local x, y = gpu.zeros(10000, device), gpu.range(10000, device)
    x[{}] = 2 * y + 1
    t.eq(x[10000], 20001.0)
    x[{ { 1, 9999 } }] = x["2:"] * 2 - x[{ { 1, 9999 } }]
    t.same({ x[1], x[9999], x[10000] }, { 7.0, 20003.0, 20001.0 })
    local z = y + 1
    x["::-1"] = z
    t.same({ x[1], z[1] }, { 10001.0, 2.0 })
    local whole = gpu.zeros(2, 10000, "int32", device)
    whole[{}] = y * 1.5
    t.same({ whole[{ 1, 3 }], whole[{ 2, 9999 }] }, { 4, 14998 })
    t.raises({ "(10000,)", "(3,)" }, function() gpu.zeros(3, device)[{}] = y * 2 end)
  end)
end

t.done()
