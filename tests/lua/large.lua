-- Results of 16 MiB and more, which the host writes past its caches: the same elements as of parts, which it does not.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local ROWS, COLUMNS = 1100, 4240 -- of 4 bytes more than 16 MiB, and 18 KB

-- f over whole arrays and over groups of their rows, which are at most an eighth as large.
local function check(what, f, ...)
  local arrays = { ... }
  local whole, parts, step = f(...), {}, 137
  for first = 1, ROWS, step do
    local last, part = math.min(first + step - 1, ROWS), {}
    for i, a in ipairs(arrays) do part[i] = a.shape[1] == ROWS and a[{ { first, last } }] or a end
    parts[#parts + 1] = f(table.unpack(part))
  end
  local want = gpu.concatenate(parts)
  t.eq(whole.dtype, want.dtype, what)
  assert(whole:equal(want), what)
end

for _, columns in ipairs({ COLUMNS, COLUMNS + 1 }) do -- rows of whole cache lines, and others
  t.test("large results of rows of " .. columns, function()
    gpu.seed(columns)
    local x, y = gpu.rand({ ROWS, columns }, "float32", "cpu"), gpu.rand({ ROWS, columns }, "float32", "cpu")
    local i, d, row = (x * 100):to("int32"), y:to("float64"), y[1]:clone()
    gpu.evaluate(i, d)
    check("a chain", function(a, b) return 2 * a + b end, x, y)
    check("one array", function(a) return a:sqrt() end, x)
    check("a row to each", function(a, b) return a + b end, x, row)
    check("several dtypes", function(a, b, c) return a * b + c end, i, x, d)
    check("a choice", function(a, b) return a:gt(b):where(a, b) end, x, y)
    check("another dtype", function(a) return a:to("float64") end, x)
    check("16 bits", function(a) return a:to("float16") + 1 end, y)
    check("complex numbers", function(a, b) return gpu.complex(a, b) * 2 end, x, y)
    check("a copy", function(a) return a:clone() end, x)
    check("every other column", function(a) return a[{ {}, { 1, -1, 2 } }] * 3 end, d)
  end)
end

t.test("large results in arrays that there are", function()
  gpu.seed(3)
  local n = ROWS * COLUMNS
  local x, y = gpu.rand(n, "float32", "cpu"), gpu.rand(n, "float32", "cpu")
  local want, out = gpu.evaluate(2 * x + y), gpu.zeros(n + 1, "float32", "cpu")
  gpu.add(2 * x, y, { out = out["2:"] }) -- which does not begin where a cache line does
  assert(out["2:"]:equal(want) and out[1] == 0)
  gpu.add(2 * x, y, { out = out["1:-2"] })
  assert(out["1:-2"]:equal(want))
  local z = x:clone()
  z:mul_(2)
  z:add_(y)
  assert(z:equal(want))
end)

t.done()
