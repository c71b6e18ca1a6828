-- Sums on the host: in blocks, of rows side by side, of products that are no arrays, of integers as they lie in memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- Of whole numbers, of which every sum is exact, by lengths around those of the blocks that long rows are added in.
t.host("sums of doubles in blocks", function()
  gpu.seed(12)
  for _, n in ipairs { 1, 255, 256, 257, 511, 512, 513, 1023, 1025, 2048, 2049, 32768, 32769, 70001 } do
    local whole = gpu.random.integers(-1000, 1000, { 5, 2 * n }, "cpu"):to("int64")
    for _, dtype in ipairs { "float64", "complex128", "float32", "complex64" } do
      local factor = dtype:find "complex" and gpu.complex(2, -3) or 3
      local x, integers = gpu.evaluate(whole:to(dtype) * factor), whole:to("complex128")
      for _, part in ipairs { { { 1, n } }, { { n + 1, -1 } }, { { 1, -1, 2 } }, { { -1, 1, -2 } } } do
        local a, i = x[{ {}, part[1] }], integers[{ {}, part[1] }]
        local want = i.real:to("int64"):sum(2):to("complex128") * factor
        assert(a:sum(2):to("complex128"):equal(want), dtype .. " " .. n)
        assert((a + a):sum(2):to("complex128"):equal(2 * want), dtype .. " " .. n)
        t.eq(tostring(a[1]:sum()), tostring(a:sum(2)[1]))
      end
    end
  end
end)

-- Of elements apart, which are added where they lie.
t.host("sums of every second or third element are those of a copy, to the same bits", function()
  gpu.seed(13)
  for _, dtype in ipairs { "float64", "float32" } do
    local x = gpu.randn({ 3, 100000 }, "float64", "cpu"):to(dtype):clone()
    for _, n in ipairs { 5, 64, 127, 130, 400, 513, 1000, 4098, 33000, 100000 } do
      for _, step in ipairs { 2, 3, 7, -3 } do
        local first, last = table.unpack(step > 0 and { 1, n } or { n, 1 })
        local apart = x[{ {}, { first, last, step } }]
        local copy, what = apart:clone(), ("%s %d %d"):format(dtype, n, step)
        assert(apart:sum(2):equal(copy:sum(2)) or step < 0, what) -- which is added upwards
        t.eq(apart[2]:flip():sum(), (step < 0 and copy[2]:flip():clone() or copy[2]):sum(), what)
        local whole = apart:to("float64")
        assert(apart:sum(2):to("float64"):allclose(whole:sum(2), 1e-6, 1e-4), what)
      end
    end
  end
end)

-- Rows that are read side by side, and long ones whose parts are.
t.host("sums of rows are those of each by itself, to the same bits", function()
  gpu.seed(14)
  for _, shape in ipairs { { 300, 127 }, { 301, 130 }, { 67, 1003 }, { 33, 4097 }, { 7, 65551 }, { 1, 1000003 } } do
    local rows, length = shape[1], shape[2]
    local whole = gpu.randn({ rows, length + 1 }, "float64", "cpu")
    for _, dtype in ipairs { "float32", "float64", "complex64", "int64" } do
      local x = gpu.evaluate((whole * 1000):to(dtype))
      for _, a in ipairs { x, x[{ {}, { 2, -1 } }] } do
        local sums, width = a:sum(2), a.shape[2]
        for i = 1, rows, math.max(rows // 9, 1) do
          t.eq(tostring(sums[i]), tostring(a[i]:sum()), dtype .. " " .. length)
          t.eq(tostring(sums[i]), tostring(a[i]:clone():reshape(1, width):sum(2)[1]), dtype .. " " .. length)
        end
      end
    end
  end
end)

-- Products that are only summed are no array in between; their sums are those of one.
t.host("sums of products and squares", function()
  gpu.seed(13)
  for _, dtype in ipairs(t.brief({ "float32", "float64", "float16", "int32", "complex128" }, { "float32", "float16", "complex128" })) do
    for _, shape in ipairs { { 5, 1 }, { 5, 511 }, { 5, 513 }, { 3, 40000 }, { 1, 70001 }, { 2, 3, 700 }, { 0, 4 }, { 4, 0 } } do
      local x = gpu.evaluate((gpu.randn(shape, "float64", "cpu") * 10):to(dtype))
      local y = gpu.evaluate((gpu.randn(shape, "float64", "cpu") * 10):to(dtype))
      local odd = { "...", { 1, -1, 2 } }
      local pairs_of = { { x, y }, { x, x }, { x:flip(), y }, { x[odd], y[odd] }, { x, y[{ { 1, math.min(1, #y) } }] } }
      if #x > 0 then pairs_of[#pairs_of + 1] = { x, y[1] } end
      for k, p in ipairs(pairs_of) do
        local name = ("%s %s %d"):format(dtype, table.concat(shape, "x"), k)
        local product, square = gpu.evaluate(p[1] * p[2]), gpu.evaluate(p[1]:square())
        t.eq(tostring((p[1] * p[2]):sum()), tostring(product:sum()))
        assert((p[1] * p[2]):sum(-1):equal(product:sum(-1)), name)
        assert((p[1] * p[2]):sum(1):equal(product:sum(1)), name)
        assert(p[1]:square():sum(-1):equal(square:sum(-1)), name)
      end
    end
  end
end)

t.host("sums of integers as they lie in memory", function()
  gpu.seed(11)
  for _, dtype in ipairs(t.brief({ "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64" }, { "int8", "uint16", "int32", "uint64" })) do
    local bits = tonumber(dtype:match "%d+")
    local low = dtype:sub(1, 1) == "i" and -2.0 ^ (bits - 1) or 0
    local wide = dtype == "uint64" and "uint64" or "int64"
    for _, shape in ipairs { { 1, 100003 }, { 3, 40009 }, { 70, 1001 }, { 2, 5, 777 } } do
      local x = gpu.evaluate((gpu.rand(shape, "float64", "cpu") * 2.0 ^ math.min(bits, 40) + low):to(dtype))
      local ends = gpu.full(shape, low < 0 and low or 2.0 ^ math.min(bits, 53) - 1, dtype, "cpu")
      for _, a in ipairs { x, ends, x:flip(), x.T, x[{ "...", { 2, -1 } }] } do
        local rows = gpu.evaluate(a:to(wide)):cumsum(-1)[{ "...", -1 }]
        local got = a:sum(-1)
        local name = dtype .. " " .. table.concat(a.shape, "x")
        assert(gpu.evaluate(got:to(wide)):equal(rows), name)
        assert(a:sum() == rows:reshape(-1):cumsum()[-1], name)
        local letters = ("ijk"):sub(1, a.ndim)
        local wrapped = gpu.einsum(letters .. "->" .. letters:sub(1, -2), a)
        assert(wrapped.dtype == dtype and gpu.evaluate(wrapped):equal(rows:to(dtype)), name)
      end
    end
  end
end)

t.done()
