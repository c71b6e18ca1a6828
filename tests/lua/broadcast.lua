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

t.done()
