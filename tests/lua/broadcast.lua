-- Operands that are the same along some axes, as a column is to the elements of its rows: as if they were spread out first.
-- With rows from 1 to some hundred elements, whole vectors of them or not, of every type.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 11))
local function pick(list) return list[random(#list) + 1] end

local types = { "bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
  "complex128" }

-- Some integers, which no operation rounds.
local function make(shape, dtype, device)
  local x = gpu.random.integers(0, 9, shape, { device = device })
  return dtype == "bool" and x:gt(4) or x:to(dtype)
end

for _, device in ipairs(t.devices()) do
  for _, dtype in ipairs(types) do
    t.test(("rows and columns of %s on %s"):format(dtype, device), function()
      gpu.seed(random(1000))
      for _ = 1, device == "cpu" and 60 or t.compiles(device) and 2 or 6 do
        local full, one, other = {}, {}, {}
        for axis = 1, 1 + random(3) do
          full[axis] = 1 + random(pick { 9, 40, 40, 300 })
          one[axis], other[axis] = pick { 1, full[axis] }, pick { full[axis], full[axis], 1 }
          if one[axis] == 1 then other[axis] = full[axis] end
        end
        local a, b = make(one, dtype, device), make(other, dtype, device)
        if #one > 1 and random(3) == 0 then a = a:transpose(1, #one):contiguous():transpose(1, #one) end
        if random(2) == 0 then b = gpu.cat({ b, b }, #other)[("..., 1:%d"):format(other[#other])] end -- rows apart
        local op = pick { "add", "mul", "eq", dtype:find "complex" and "ne" or "maximum" }
        local want = gpu[op](a:expand(table.unpack(full)):contiguous(), b:expand(table.unpack(full)):contiguous())
        local what = ("%s of %s and %s"):format(op, table.concat(one, " x "), table.concat(other, " x "))
        assert(gpu[op](a, b):equal(want), what)
        local out = gpu.empty(full, want.dtype, device)
        assert(gpu[op](b, a, { out = out }):equal(want) and out:equal(want), what)
      end
    end)
  end
end

-- What repeats its elements is combined once: along the axes that stay, and for most reductions along those that go.
for _, device in ipairs(t.devices()) do
  for _, dtype in ipairs(types) do
    t.test(("reductions of repeated %s on %s"):format(dtype, device), function()
      gpu.seed(random(1000))
      local names = { "sum", "mean", "prod", "any", "all", "max", "min", "argmax", "argmin" }
      for _ = 1, device == "cpu" and 100 or t.compiles(device) and 1 or 4 do
        local full, one, axes = {}, {}, {}
        for axis = 1, 1 + random(3) do
          full[axis] = 1 + random(pick { 5, 40 })
          one[axis] = pick { 1, 1, full[axis] }
          if random(2) == 0 then axes[#axes + 1] = axis end
        end
        local name = names[1 + random(dtype:find "complex" and 5 or #names)]
        local a = make(one, dtype, device)
        if name == "prod" then a = gpu.maximum((a.real:to "int8"):remainder(3), 1):to(dtype) end -- which no product rounds
        if #axes == 0 then axes[1] = 1 + random(#full) end
        local keep = #axes == #full or random(2) == 0
        local what = ("%s of %s in %s along %s"):format(name, table.concat(one, " x "), table.concat(full, " x "), table.concat(axes, ", "))
        local got, want = a:expand(table.unpack(full)), a:expand(table.unpack(full)):contiguous()
        got, want = got[name](got, axes, keep), want[name](want, axes, keep)
        assert(got.dtype == want.dtype and got:equal(want), what)
      end
    end)
  end
  t.test("repeated elements are added with as few roundings on " .. device, function()
    for _, dtype in ipairs { "float16", "float32", "float64" } do
      local x = (gpu.rand(1, 700, "float64", device) - 0.25):to(dtype)
      local exact = x:to("float64"):sum() * 13
      local got = x:expand(13, 700):sum({ 1, 2 }, true):to("float64")[{ 1, 1 }]
      local most = ({ float16 = 2 ^ -10, float32 = 2 ^ -23, float64 = 2 ^ -48 })[dtype]
      assert(math.abs(got - exact) <= most * math.abs(exact), dtype)
    end
  end)
end

-- Chains of operations, which blocks of several short rows go through, into arrays whose rows lie apart, too.
for _, device in ipairs(t.devices()) do
  for _, dtype in ipairs { "bool", "int8", "int16", "int32", "float16", "float32", "float64", "complex64", "complex128" } do
    t.test(("chains over short rows of %s on %s"):format(dtype, device), function()
      gpu.seed(random(1000))
      local former = gpu.lazy "always"
      for _ = 1, device == "cpu" and t.brief(60, 10) or t.compiles(device) and 1 or 4 do
        local shape = { 1 + random(4), 1 + random(60), pick { 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 62, 127, 1 + random(126) } }
        local function apart(size) -- of a larger array: in the middle of its rows
          local x = make({ size[1] + 1, size[2] + 2, size[3] + 3 }, dtype, device)
          return x[("2:, 2:-2, 2:%d"):format(size[3] + 1)]
        end
        local a, b = apart(shape), make({ shape[1], shape[2], 1 }, dtype, device)
        local c, d = make({ 1, 1, shape[3] }, dtype, device), apart { shape[1], shape[3], shape[2] }:transpose(2, 3)
        local function chain(p, q, r, s)
          if dtype == "bool" then return (p & q | r) ~ s end
          return p * q + r - s
        end
        local function full(x) return x:expand(table.unpack(shape)):contiguous() end
        local want = gpu.evaluate(chain(full(a), full(b), full(c), full(d)))
        local what = table.concat(shape, " x ")
        assert(chain(a, b, c, d):equal(want), what)
        local into = apart(shape)
        into:copy_(chain(a, b, c, d))
        assert(into:equal(want), what)
      end
      gpu.lazy(former)
    end)
  end
end

t.done()
