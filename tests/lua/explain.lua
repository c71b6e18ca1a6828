-- gpu.explain: what waits, what evaluating it would do, and that asking changes nothing.
local test = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs(test.devices()) do
  local function lazily(name, f)
    test.test(name .. " on " .. device, function()
      local former = gpu.lazy("always")
      local restore <close> = setmetatable({}, { __close = function() gpu.lazy(former) end })
      f()
    end)
  end

  lazily("bytes, operations and arrays of a chain", function()
    local x, y = gpu.ones({ 30, 40 }, device), gpu.ones({ 40 }, "float64", device)
    local z = (x * y + 1):sqrt()
    local e = gpu.explain(z)
    test.eq(e.operations, 3)
    test.eq(e.arrays, 2)
    test.eq(e.read, 30 * 40 * 4 + 40 * 8)
    test.eq(e.written, 30 * 40 * 8)
    test.eq(e.eager, e.read + 5 * 30 * 40 * 8) -- two intermediate results, written and read, and the last one
    local text = tostring(e)
    for _, part in ipairs { "3 operations in one", "float64 (30, 40) on " .. device, "float64 (40,), broadcast",
      "float32 (30, 40), contiguous", "= mul(", "= sqrt(", "__global__" } do
      assert(text:find(part, 1, true), part .. " is missing in\n" .. text)
    end
    assert(e.source:find("\n  const I n = (I)p.n;", 1, true), e.source)
    assert(e.source:find("p.out[", 1, true))
    local html = getmetatable(e).__display(e)["text/html"]
    assert(html:find("&lt; n", 1, true) and not html:find("< n", 1, true) and html:find("= mul(", 1, true))
    test.near(z:sum(), 30 * 40 * math.sqrt(2), 1e-9)
  end)

  lazily("what computes long stands once in a kernel, other work once for each of the elements that are on their way", function()
    local function copies(x)
      local _, count = gpu.explain(x).source:gsub("#pragma unroll\n", "")
      return count
    end
    local x = gpu.ones({ 20, 20 }, device)
    for _, y in ipairs { x, x[{ {}, { 1, 10 } }] } do
      assert(copies(y:sqrt()) > 0)
      test.eq(copies(y:lgamma()), 0)
      assert(copies(y:to("complex64") * 2) > 0)
      test.eq(copies(y:to("complex64"):log()), 0)
    end
  end)

  lazily("layouts of what is read", function()
    local x = gpu.ones({ 20, 20 }, device)
    assert(tostring(gpu.explain(x.T + 1)):find("(20, 20), strided", 1, true))
    assert(tostring(gpu.explain(x + x[1])):find("(20,), broadcast", 1, true))
    assert(tostring(gpu.explain(x:to("int8") + gpu.ones({}, "int8", device))):find("int8 (), broadcast", 1, true))
    assert(tostring(gpu.explain(x:gt(2):where(x, 3))):find(", 3)", 1, true))
  end)

  lazily("arrays that several parts read count once", function()
    local sum = gpu.ones({ 20, 20 }, device)
    for i = 1, 11 do
      sum = sum + gpu.full({ 20, 20 }, i, device)
    end
    local e = gpu.explain(sum:gt(66) | (sum:lt(3) & sum:ne(0)))
    assert(e.operations == 16 and e.arrays == 12 and e.passes == 1, tostring(e))
  end)

  lazily("what is rolled", function()
    local x = gpu.ones({ 200, 200 }, device)
    local e = gpu.explain(x:roll(1, 1) + x)
    if e.operations == 1 then return end -- a GPU has copied it
    assert(e.operations == 2 and e.arrays == 2 and e.eager == 5 * x.bytes and tostring(e):find("rolled: read where", 1, true))
  end)

  lazily("reductions, and what becomes of them", function()
    local x, kernels = gpu.ones({ 200, 300 }, device), test.compiles(device)
    local sum = gpu.explain((2 * x):sum(nil, true))
    assert(sum.operations == 2 and sum.passes == 1 and sum.read == x.bytes and sum.written == 4)
    assert(tostring(sum):find("= sum(r", 1, true) and sum.source:find("__shared__", 1, true), tostring(sum))
    local e = (x - x:max(2, true)):exp()
    local softmax = e / e:sum(2, true)
    local told = gpu.explain(softmax)
    assert(told.operations == 5 and told.arrays == 1)
    local unit = kernels and device ~= "cpu" and "kernel" or "pass"
    local _, sources = told.source:gsub("__global__", "")
    assert(sources == 1 and told.passes == 1 and told.read == x.bytes and told.written == x.bytes)
    assert(tostring(told):find("one " .. unit .. " over rows", 1, true), tostring(told))
    local long = gpu.explain(gpu.zeros({ 1, 140000 }, device) / gpu.ones({ 1, 140000 }, device):sum(2, true))
    _, sources = long.source:gsub("__global__", "")
    assert(long.passes == 2 and sources == 2 and tostring(long):find("in 2 " .. unit, 1, true), tostring(long))
    local columns = gpu.explain(x / x:sum(1, true))
    assert(columns.passes == 2 and columns.read == 2 * x.bytes + 300 * 4)
    assert(math.abs(softmax[200][300] - 1 / 300) < 1e-8)
  end)

  lazily("functions, whose reductions to numbers wait as well", function()
    local x = gpu.ones({ 200, 300 }, device)
    local runs = 0
    local e = gpu.explain(function()
      runs = runs + 1
      return (2 * x):sum()
    end)
    assert(runs == 1 and e.operations == 2 and e.passes == 1 and e.read == x.bytes and e.written == 4)
    assert(tostring(e):find("= sum(r", 1, true) and e.source:find("__shared__", 1, true), tostring(e))
    assert(gpu.explain(function() return x:std() + 1 end).operations > 5)
    assert(gpu.explain(function() return x:mean(2) end).written == 200 * 4)
    assert(gpu.explain(function() return x:gt(0):all() end).operations == 2)
    test.raises("the function returned number, expected an array", gpu.explain, function() return x:argmax() end)
    test.raises("mine", gpu.explain, function() error("mine") end)
    test.eq(x:sum(), 60000.0) -- and is a number again
    test.eq(x:std(), 0.0)
  end)

  lazily("nothing waits", function()
    local x = gpu.ones(5, device)
    local e = x:explain()
    assert(e.operations == 0 and e.read == 0 and e.written == 0 and e.source == nil)
    assert(tostring(e):find("nothing waits", 1, true))
    local y = x + 1
    test.eq(y:explain().operations, 1)
    gpu.evaluate(y)
    test.eq(y:explain().operations, 0)
    local empty = gpu.explain(gpu.zeros({ 0, 3 }, device) + 1)
    assert(empty.read == 0 and empty.written == 0 and empty.operations == 1)
    test.raises({ "got a number, which is computed already", "gpu.explain(function()" }, gpu.explain, 3)
    local all = gpu.lazy("large")
    local small = tostring(gpu.explain(gpu.ones(5, "cpu") + 1))
    assert(small:find("nothing waits", 1, true) and small:find("fewer than 4096 are computed at once", 1, true), small)
    test.eq(gpu.explain(function() return gpu.ones(5, "cpu") + 1 end).operations, 1)
    assert(not tostring(gpu.explain(gpu.ones(5000, "cpu"))):find("fewer", 1, true))
    gpu.lazy(all)
  end)

  lazily("where an expression is cut off", function()
    local x = gpu.ones(100, device)
    local y = (x * 2):exp()
    gpu.evaluate(y + 1)
    local again = gpu.explain(y + 2)
    assert(again.operations == 1 and tostring(again):find("needed again", 1, true), tostring(again))
    test.eq(gpu.explain(y + 2).operations, 1) -- asking is no use of it
    local many = x
    for i = 1, 100 do many = many + i end
    local full = many:explain()
    assert(full.operations < 100 and tostring(full):find("too large for one kernel", 1, true))
    test.eq(many[1], 1 + 100 * 101 / 2)
  end)

  lazily("asking evaluates nothing", function()
    local x = gpu.ones(1000, device)
    collectgarbage()
    local before = gpu.memory(device).in_use
    local y = x * 2 + 1
    for _ = 1, 5 do tostring(y:explain()) end
    assert(gpu.memory(device).in_use <= before)
    x:fill(7)
    test.eq(y[1], 3)
  end)
end

test.done()
