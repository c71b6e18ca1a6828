-- Reductions of rows and what becomes of them, in one pass (kernels/rows.h), beside one operation after the other.
local test = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- Some rows at a time, all at once, or one after the other: of as many shapes and layouts.
test.every("softmax, standardisation and norms give the same bits lazily and at once", function(device)
  local former = gpu.lazy("never")
  local compiles = test.compiles(device)
  local function softmax(x, axis)
    local e = (x - x:max(axis, true)):exp()
    return e / e:sum(axis, true)
  end
  local patterns = { function(x) return softmax(x, -1) end,
    function(x) return (x - x:mean(-1, true)) / (x:var(-1, true) + 1e-5):sqrt() end,
    function(x) return x / x:norm(2, -1, true) end,
    function(x) return x:logsumexp(-1, true) + 1 end }
  local makers = { function() return gpu.random.uniform(-1, 1, { 37, 700 }, device) end }
  if not compiles then
    for _, f in ipairs { function(x) return softmax(x, 1) end,
      function(x) return softmax(softmax(x, -1) * 2, { -2, -1 }) end,
      function(x) return x:sum(-1, true) * softmax(x, -1) + x[1] end,
      function(x) return (x:gt(0):all(-1, true) | x:lt(0)):where(x:min(-1, true), x / x:sum({ -2, -1 }, true)) end,
      function(x) return x * (x[{ {}, { 1 } }] + x:prod(-1, true)) - x:sum(nil, true) end } do
      patterns[#patterns + 1] = f
    end
    for _, f in ipairs { function(u) return u({ 200, 130 }).T end, function(u) return u({ 3, 9, 40, 50 }) end,
      function(u) return u({ 2000, 11 }) end, function(u) return u({ 2, 140000 }) end,
      function(u) return u({ 90, 300 })[{ { -1, 1, -1 }, { 1, -1, 2 } }] end,
      function(u) return u({ 90, 300 }):to("float16") end, function(u) return (u({ 90, 300 }) * 9):to("int16") end,
      function(u) return u({ 1, 300 }):broadcast_to({ 90, 300 }) end, function(u) return u({ 1, 5000 }) end,
      function(u) return u({ 0, 5 }) end } do
      makers[#makers + 1] = function()
        return f(function(shape) return gpu.random.uniform(-1, 1, shape, "float64", device) end)
      end
    end
  end
  for _, make_operand in ipairs(makers) do
    local x = make_operand()
    for i, f in ipairs(patterns) do
      gpu.lazy("never")
      local done, want = pcall(f, x)
      gpu.lazy("always")
      local also, got = pcall(f, x)
      local same = done == also and (not done or (got.dtype == want.dtype and tostring(got.shape) == tostring(want.shape)
        and (got:eq(want) | (got:ne(got) & want:ne(want))):all()))
      if not same then error(("pattern %d of %s %s"):format(i, x.dtype, x.shape)) end
    end
  end
  gpu.lazy(former)
end)

-- Rows that run across memory, whose columns are combined side by side, are not cut into slabs of a few.
test.host("reductions of transposed arrays give the same bits with the axis and without it, and in one expression", function()
  for _, shape in ipairs { { 20000, 8 }, { 3000, 70 }, { 256, 1000 }, { 64, 1024 }, { 40, 3000 }, { 8, 20000 } } do
    for _, dtype in ipairs { "float32", "float64", "complex64" } do
      local x = gpu.random.uniform(-1, 1, shape, "float64", "cpu"):to(dtype)
      local columns, sum, mean = x:sum(1), x.T:sum(2, true), x.T:mean(2)
      gpu.evaluate(x, columns, sum, mean)
      assert(sum:equal(columns[{ {}, gpu.newaxis }]), dtype .. " " .. tostring(x.shape))
      assert((x.T - x.T:mean(2, true)):equal(x.T - mean[{ {}, gpu.newaxis }]), dtype .. " " .. tostring(x.shape))
    end
  end
end)

test.done()
