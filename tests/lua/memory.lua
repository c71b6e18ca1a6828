-- Releasing arrays, and Lua's collector knowing what they hold.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function in_use()
    return gpu.memory(device).in_use
  end
  local function collect()
    collectgarbage()
    collectgarbage()
  end

  test("free", function()
    collect()
    local before = in_use()
    local x = gpu.zeros(1 << 18, device)
    assert(in_use() - before >= 1 << 20)
    x:free()
    t.eq(in_use(), before)
    x:free()
    for _, use in ipairs({
      function() return x[1] end, function() x[1] = 1 end, function() return x + 1 end, function() return 1 + x end,
      function() return x:sum() end, function() return x.shape end, function() return #x end,
      function() return gpu.matmul(x, x) end, function() return x:to("cpu") end, function() return gpu.array(x) end,
      function() return gpu.zeros(3, device)[x] end, function() gpu.zeros(3, device)[1] = x end,
    }) do
      t.raises("freed", use)
    end
    t.eq(tostring(x), "array (freed)")
  end)

  test("close", function()
    collect()
    local before = in_use()
    do
      local x <close> = gpu.zeros(1 << 18, device)
      local y <close> = x + 1
      assert(y[1] == 1)
    end
    t.eq(in_use(), before)
    pcall(function()
      local x <close> = gpu.zeros(1 << 18, device)
      error("left by an error" .. tostring(x.size))
    end)
    t.eq(in_use(), before)
  end)

  test("views keep the memory", function()
    collect()
    local before = in_use()
    local x = gpu.ones(1 << 18, device)
    local view = x[{ { 1, 10 } }]
    x:free()
    t.eq(view:sum(), 10.0)
    assert(in_use() > before)
    view:free()
    t.eq(in_use(), before)
  end)

  test("garbage is collected as memory grows", function()
    collect()
    local before = in_use()
    local most = 0
    for _ = 1, 400 do
      local x = gpu.empty(1 << 18, device) -- 1 MiB each, and nothing for Lua to see
      most = math.max(most, in_use() - before)
      assert(x)
    end
    assert(most < 64 << 20, "400 MiB of garbage were not collected: " .. most)
  end)

  test("garbage of small arrays is collected soon, on a large heap too", function()
    local former = collectgarbage("generational")
    local x, heap = gpu.zeros(9, device), {}
    for i = 1, 10000 do heap[i] = x:narrow(1, 1, 2) end
    collect()
    gpu.memory_trim(device) -- what comes from here on is counted
    local before, most, largest = in_use(), 0, 0
    for _ = 1, 200 do
      for _ = 1, 50 do gpu.empty(4000, device) end
      most, largest = math.max(most, in_use() - before), math.max(largest, collectgarbage("count") * 1024)
    end
    collectgarbage(former)
    -- However slow the machine is, garbage of no more than Lua's own heap waits.
    assert(#heap == 10000 and most < 2 * largest, "160 MB of garbage were not collected: " .. most)
  end)

  test("a stopped collector stays stopped", function()
    collect()
    collectgarbage("stop")
    local before, count = in_use(), 100
    for _ = 1, count do gpu.empty(1 << 18, device) end
    local grown = in_use() - before
    collectgarbage("restart")
    t.eq(grown, count << 20)
    collect()
    t.eq(in_use(), before)
  end)

  test("memory_trim and statistics", function()
    gpu.zeros(1 << 18, device):free()
    assert(gpu.memory(device).cached > 0)
    gpu.memory_trim(device)
    local m = gpu.memory(device)
    t.eq(m.cached, 0)
    assert(m.peak >= m.in_use and m.total >= m.free and m.allocations >= m.driver_allocations)
  end)

  test("the largest arrays by name", function()
    local function named(list)
      local names = {}
      for i, a in ipairs(list) do
        if i > 1 then assert(list[i - 1].bytes >= a.bytes) end
        names[a.name] = a
      end
      return names
    end
    local model = { ["odd key"] = gpu.zeros(1 << 15, device), weights = { gpu.zeros(1 << 16, device), gpu.zeros(3, 1 << 16, "float64", device) } }
    model.itself = model
    local big = gpu.zeros(1 << 20, device)
    local _, view, v = big:reshape(1024, 1024), big[{ { 1, 10 } }], big["1:7"]
    large_global = gpu.zeros(1 << 17, device)
    local names = named(gpu.memory(device).arrays)
    large_global = nil
    assert(not names._ and not names.view and not names.v and #v == 7)
    t.eq(names['model["odd key"]'].bytes, 4 << 15)
    t.eq(names.big.bytes, 4 << 20)
    t.eq(names.big.dtype .. tostring(names.big.shape), "float32(1048576,)")
    t.eq(names.large_global.bytes, 4 << 17)
    t.eq(names["model.weights[1]"].bytes, 4 << 16)
    t.eq(tostring(names["model.weights[2]"].shape), "(3, 65536)")
    collect()
    local here = gpu.memory().devices[device]
    t.eq(named(here.arrays).big.bytes, 4 << 20)
    assert(here.in_use == gpu.memory(device).in_use and here.peak >= here.in_use and here.cached)
    local list = {}
    for i = 1, 30 do list[i] = gpu.zeros(i, device) end
    t.eq(#gpu.memory(device).arrays, 10)
    local function below() assert(named(gpu.memory(device).arrays).big and view) end
    below()
  end)

  test("arrays behind functions, coroutines and what waits", function()
    local function names()
      local found = {}
      for _, a in ipairs(gpu.memory(device).arrays) do found[a.name] = a.bytes end
      return found
    end
    local function of(n) return gpu.zeros(n << 15, device) end
    local co = coroutine.create(function(given)
      local inside = of(2)
      coroutine.yield()
      assert(given and inside)
    end)
    assert(coroutine.resume(co, of(3)))
    local wrapped = coroutine.wrap(function()
      local wide = of(4)
      coroutine.yield()
      assert(wide)
    end)
    wrapped()
    local fresh = (function() local hidden = of(5) return coroutine.create(function() return hidden end) end)()
    local f = (function() local closed = { x = of(6) } return function() return closed end end)()
    local own = of(7)
    local again = function() return own end
    local former = gpu.lazy("always")
    local waits = of(8) + 1
    gpu.lazy(former)
    local want = { ["co: inside"] = 2, ["co: given"] = 3, ["wrapped: wide"] = 4, ["fresh: hidden"] = 5, ["f: closed.x"] = 6, own = 7,
      ["waits (waiting)"] = 8 }
    local function check(found)
      for name, n in pairs(want) do t.eq(found[name], n << 17, name) end
      assert(not found["again: own"])
    end
    check(names())
    coroutine.wrap(function() -- the main one's variables are there, too
      local here = of(9)
      local found = names()
      t.eq(found.here, 9 << 17)
      check(found)
      assert(here)
    end)()
    assert(waits[1] == 1)
    t.eq(names().waits, 8 << 17)
    wrapped()
    assert(not names()["wrapped: wide"] and coroutine.resume(co) and fresh and f and again)
  end)

  test("garbage of every kind, and arrays that finalizers still use", function()
    collect()
    local before, sum = in_use(), nil
    do
      local x = gpu.ones(1 << 16, device)
      local view, waits = x["2:9"], gpu.lazy() and x + 1
      assert(view:sum() == 8 and waits.size == 1 << 16)
      setmetatable({ x + 2 }, { __gc = function(o) sum = o[1]:sum() end })
    end
    collect()
    t.eq(in_use(), before)
    t.eq(sum, 3 << 16)
    -- Blocks of Lua's heap as large as an array's, in which arrays were before.
    for round = 1, 20 do
      local kept = {}
      for i = 1, 200 do kept[i] = gpu.ones(3, device) end
      kept = {}
      collectgarbage()
      for length = 280, 360 do kept[#kept + 1] = ("x"):rep(length, round % 2 == 0 and "\0" or "") .. round end
      for size = 1, 64 do kept[#kept + 1] = table.pack(table.unpack({}, 1, size)) end
      kept = nil
      collectgarbage()
    end
    t.eq(in_use(), before)
  end)

  test("finalizers that free an array in use", function()
    local freed = 0
    local function handed_out() -- an array whose owner is garbage as soon as it is used, and then frees it
      local x = gpu.ones(4, 4, device)
      setmetatable({}, { __gc = function() x:free() freed = freed + 1 end })
      return x
    end
    local former = collectgarbage("generational")
    for _ = 1, 300 do
      pcall(function() return handed_out() + 1 end)
      pcall(function() return handed_out().T[{ {}, 1 }]:clone() end)
      pcall(function() return tostring(handed_out()) end)
      pcall(function() return gpu.matmul(handed_out(), handed_out()) end)
      pcall(function() handed_out()[1] = { 1, 2, 3, 4 } end)
      pcall(function() local x = handed_out() x[x:gt(0)] = gpu.zeros(16, device) end)
      pcall(function() return gpu.allclose(handed_out(), handed_out()) end)
      pcall(function() return handed_out():totable() end)
      pcall(function() return handed_out():equal(handed_out()) end)
      pcall(function() return gpu.stack({ handed_out(), handed_out() }) end)
      pcall(function() return handed_out():sum(1, true) end)
    end
    collectgarbage(former)
    collect()
    assert(freed > 1000)
  end)

  test("failed calls leave nothing behind", function()
    collect()
    local x, y = gpu.zeros(1000, device), gpu.zeros(999, device)
    local before = in_use()
    for _ = 1, 20 do
      pcall(function() return x + y end)
      pcall(gpu.array, { { 1, 2 }, { 3 } }, device)
      pcall(function() x[x:gt(0)] = { 1, 2 } end)
      pcall(gpu.matmul, x, y)
      pcall(x.reshape, x, 7)
    end
    collect()
    t.eq(in_use(), before)
  end)

  test("more than there is", function()
    t.raises("4503599627370496 bytes", gpu.empty, 1 << 50, device)
    t.eq(gpu.zeros(3, device):sum(), 0.0)
  end)
end

t.done()
