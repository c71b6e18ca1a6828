-- Streams and events: order, races between streams, memory that streams use, what happens to streams that go.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- f() with checks on; the races that it found.
local function races(f)
  local list = {}
  for _, r in ipairs(gpu.check(f)) do
    t.eq(r.kind, "race between streams")
    list[#list + 1] = r.text
  end
  return list
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function pair() return gpu.stream(device), gpu.stream(device) end
  local N = 10000

  test("a stream's fields", function()
    local s, r = pair()
    t.eq(s.device.name, device)
    t.eq(r.number, s.number + 1)
    t.eq(tostring(s), ("stream %d of %s"):format(s.number, device))
    t.eq(s.handle ~= 0, device ~= "cpu")
    t.eq(s:done(), true)
    s:synchronize()
    t.raises("no method or field 'nothing'", function() return s.nothing end)
    t.raises("no method or field 'nothing'", function() return gpu.event(device).nothing end)
  end)

  test("array operations in a stream", function()
    local s = gpu.stream(device)
    local x = gpu.ones(N, device)
    local a, b, rest = s:with(function(k, l)
      local y = x * k + l
      return y, y:sum(), nil
    end, 3, 4)
    t.eq(b, 7.0 * N)
    t.eq(a[N], 7.0)
    t.eq(rest, nil)
    t.eq(select("#", s:with(function() return 1, nil, nil end)), 3)
  end)

  test("what was made lazily belongs to its stream", function()
    local s, r = pair()
    local former = gpu.lazy("always")
    local x = gpu.ones(N, device)
    local y, z, w
    s:with(function()
      y = x * 2
      z = y + 1
    end)
    r:wait(s)
    r:with(function() w = y + z end) -- y is a part of z, computed only here
    gpu.lazy(former)
    t.eq(w:sum(), 5.0 * N)
    t.eq(#races(function()
      local p, q
      s:with(function() p = gpu.ones(N, device) * 2 end)
      r:wait(s)
      r:with(function() q = p + 1 end)
      s:wait(r)
      s:with(function() p:fill(9) end)
      t.eq(q:sum(), 3.0 * N)
    end), 0)
  end)

  test("the former stream is back after an error", function()
    local s, r = pair()
    local x = gpu.zeros(N, device)
    t.raises("on purpose", function()
      s:with(function() error("on purpose") end)
    end)
    t.eq(#races(function()
      x:fill(1)
      r:with(function() x:add_(1) end) -- the fill was in the default stream
    end), 0)
    gpu.synchronize(device)
    s:with(function()
      t.raises("inner", function() r:with(function() error("inner") end) end)
      x:add_(1)
    end)
    t.eq(#races(function() s:with(function() x:add_(1) end) end), 0)
    t.eq(x:sum(), 4.0 * N)
  end)

  test("races of array operations", function()
    local s, r = pair()
    local x, y = gpu.ones(N, device), gpu.zeros(N, device)
    local found = races(function()
      s:with(function() x:mul_(2) end)
      r:with(function() y:copy_(x) end)
    end)
    t.eq(#found, 1)
    for _, part in ipairs({ "written by mul_() at " .. t.here(), "in stream " .. s.number,
      "read by copy_() at " .. t.here(), "in stream " .. r.number, "(10000,)", "s:wait(" }) do
      if not found[1]:find(part, 1, true) then error(found[1] .. " lacks " .. part) end
    end
    t.eq(y:sum(), 2.0 * N)
    t.eq(#races(function() -- reads alone are none; a write behind them is
      s:with(function() return x:sum() end)
      r:with(function() return x:max() end)
    end), 0)
    t.eq(#races(function()
      s:with(function() y:copy_(x) end)
      r:with(function() x:fill(1) end)
    end), 1)
    t.eq(#races(function() -- new arrays are written, too
      local z = s:with(function() return gpu.evaluate(gpu.zeros(N, device)) end)
      r:with(function() return z:sum() end)
    end), 1)
  end)

  test("what puts streams in order", function()
    local s, r = pair()
    local e = gpu.event(device)
    local x = gpu.zeros(N, device)
    local function first() s:with(function() x:add_(1) end) end
    local function second() r:with(function() x:add_(1) end) end
    local orders = {
      function() r:wait(s) end,
      function() s:record(e) r:wait(e) end,
      function() e:record(s) e:synchronize() end,
      function() e:record(s) while not e:done() do end end,
      function() s:synchronize() end,
      function() gpu.synchronize(device) end,
      function() return x[1] end,                                   -- the default stream
      function() gpu.event(device):record() end,                    -- likewise
      function() s:with(function() s:record(e) end) r:wait(e) end,
      function() local m = gpu.stream(device) m:wait(s) r:wait(m) end, -- through a third one
    }
    for i, order in ipairs(orders) do
      t.eq(#races(function() first() order() second() s:wait(r) end), 0, "races of order " .. i)
    end
    t.eq(#races(function() first() second() s:wait(r) end), 1)
    t.eq(#races(function() s:record(e) first() r:wait(e) second() s:wait(r) end), 1, "an event before the work")
    t.eq(#races(function() first() s:wait(r) second() s:wait(r) end), 1, "a wait of the wrong one")
    t.eq(x:sum(), (2.0 * #orders + 6) * N)
  end)

  test("parts of an array", function()
    local s, r = pair()
    local x = gpu.zeros(N, device)
    t.eq(#races(function()
      local low, high = x["1:5000"], x["5001:10000"]
      for _ = 1, 3 do
        s:with(function() low:add_(1) end)
        r:with(function() high:add_(2) end)
      end
    end), 0)
    t.eq(x:sum(), 9.0 * N / 2)
    t.eq(#races(function()
      local low, high = x["1:5001"], x["5001:10000"]
      s:with(function() low:add_(1) end)
      r:with(function() high:add_(2) end)
    end), 1)
    gpu.synchronize(device)
    t.eq(#races(function() -- many pieces of a loop
      for i = 0, 99 do
        local one, by = x[{ { i * 100 + 1, i * 100 + 100 } }], i % 2 == 0 and s or r
        by:with(function() one:fill(i) end)
      end
    end), 0)
    t.eq(x:sum(), 99 * 50 * 100.0)
  end)

  test("what a chain leaves behind orders nothing", function()
    local s, r = pair()
    local x, host, result = gpu.zeros(N, device), gpu.pinned(N), gpu.pinned(N)
    t.eq(#races(function() -- x / 2 waits on, as garbage, when the other stream writes to x
      for _, by in ipairs { s, r } do
        by:with(function()
          x:copy_(host)
          result:copy_((x / 2):sqrt())
        end)
      end
    end), 1)
  end)

  test("a race is an error with checks on", function()
    local s, r = pair()
    local x = gpu.zeros(N, device)
    local before = gpu.check(true)
    s:with(function() x:fill(1) end)
    t.raises({ t.here(), "race between streams", "written by fill()" }, function()
      r:with(function() x:fill(2) end)
    end)
    gpu.check(before)
    t.eq(x:sum(), 1.0 * N) -- the second one did not run
    s:with(function() x:fill(3) end)
    r:with(function() x:fill(2) end)
    t.eq(gpu.check(), before)
  end)

  test("events", function()
    local s = gpu.stream(device)
    local a, b = gpu.event(device), gpu.event(device)
    t.eq(tostring(a), "event of " .. device .. ", not recorded")
    t.eq(a:done(), true)
    a:synchronize()
    s:wait(a)
    t.raises("the later event was never recorded", function() return s:record():elapsed(b) end)
    t.eq(a:record(s), a)
    t.eq(tostring(a), "event of " .. device)
    local x = gpu.ones(200000, device)
    for _ = 1, 20 do s:with(function() x:add_(1) end) end
    t.eq(s:record(b), b)
    local ms = a:elapsed(b)
    assert(ms > 0 and ms < 60000, ms)
    t.near(b:elapsed(a), -ms, 1e-3)
    t.eq(b:done(), true)
    t.eq(gpu.event(device).device.name, device)
  end)

  test("memory that a stream uses", function()
    local s, r = pair()
    gpu.synchronize(device)
    gpu.memory_trim(device)
    local x = gpu.zeros(N, device)
    s:with(function() x:fill(1) end)
    local held = gpu.memory(device).cached
    x:free()
    assert(gpu.memory(device).cached > held)
    held = gpu.memory(device).cached
    local y = r:with(function() return gpu.evaluate(gpu.zeros(N, device)) end)
    t.eq(gpu.memory(device).cached, held, "another stream does not get it")
    local z = s:with(function() return gpu.evaluate(gpu.zeros(N, device)) end)
    assert(gpu.memory(device).cached < held, "the stream itself does")
    y:free()
    z:free()
    held = gpu.memory(device).cached
    gpu.synchronize(device)
    local w = r:with(function() return gpu.evaluate(gpu.zeros(N, device)) end)
    assert(gpu.memory(device).cached < held, "so does another when it is done")
    w:free()
    s:with(function() x = gpu.ones(N, device) end)
    x:free()
    held = gpu.memory(device).cached
    w = gpu.empty(N, device) -- which may go to any stream, unordered
    t.eq(gpu.memory(device).cached, held, "nor does the default stream")
    w:free()
    gpu.synchronize(device)
    gpu.memory_trim(device)
    t.eq(gpu.memory(device).cached, 0)
  end)

  test("streams that are freed, collected and closed", function()
    local s = gpu.stream(device)
    local e = gpu.event(device)
    local x = gpu.zeros(N, device)
    s:with(function() x:add_(1) end)
    s:free()
    s:free()
    t.eq(tostring(s), "stream (freed)")
    t.raises("freed", function() s:synchronize() end)
    t.raises("freed", function() s:with(print) end)
    t.raises("freed", function() e:record(s) end)
    e:free()
    t.eq(tostring(e), "event (freed)")
    t.raises("freed", function() e:record() end)
    gpu.synchronize(device)
    t.eq(#races(function() -- work that nobody waited for is not forgotten with its stream
      do
        local gone <close> = gpu.stream(device)
        gone:with(function() x:add_(1) end)
      end
      gpu.stream(device):with(function() x:add_(1) end)
    end), 1)
    local inner = gpu.stream(device)
    inner:with(function()
      inner:free()
      x:add_(1)
    end)
    t.eq(x:sum(), 4.0 * N)
    local outer = gpu.stream(device)
    outer:with(function()
      inner = gpu.stream(device)
      inner:with(function() outer:free() end)
      gpu.synchronize(device)
      x:mul_(1)
    end)
    t.eq(x:sum(), 4.0 * N)
    for _ = 1, 300 do -- many more than there may be at a time
      gpu.stream(device):with(function() x:add_(1) end)
    end
    t.eq(x:sum(), 304.0 * N)
    local many = {}
    local message = t.raises({ "64 streams", "s:free()" }, function()
      for i = 1, 65 do many[i] = gpu.stream(device) end
    end)
    assert(message:find(t.here(), 1, true), message)
    for _, m in ipairs(many) do m:free() end
    gpu.stream(device):free()
  end)

  test("what is refused", function()
    local s = gpu.stream(device)
    t.raises("expected a stream or an event, got number", function() s:wait(1) end)
    t.raises("expected a stream or an event, got array", function() s:wait(gpu.ones(2)) end)
    t.raises("record: expected a stream", function() gpu.event(device):record(3) end)
    t.raises("function expected", function() s:with(3) end)
    t.raises("unknown device", function() gpu.stream("nowhere") end)
    t.raises("not a whole number", function() error("x is not a whole number") end)
    local other = device == "cpu" and "simt" or "cpu"
    t.raises({ "the event is of " .. other, "of " .. device }, function() gpu.event(other):record(s) end)
    t.raises({ device, other, "e:synchronize()" }, function() s:wait(gpu.event(other):record()) end)
    t.raises("two devices", function() gpu.event(other):record():elapsed(gpu.event(device):record()) end)
  end)

  test("the time of work in a stream", function()
    local s = gpu.stream(device)
    local x = gpu.ones(N, device)
    assert(gpu.time(function() s:with(function() x:add_(1) end) end, device) >= 0)
    s:with(function() assert(gpu.time(function() x:add_(1) end, device) >= 0) end)
    t.eq(gpu.random.uniform(0, 1, 10, "float32", device):max() <= 1, true)
    local y = s:with(function() return gpu.random.uniform(0, 1, { N }, "float32", device) end)
    assert(y:max() <= 1)
    local z = s:with(function() return x:reshape(100, 100):matmul(x:reshape(100, 100)) end)
    t.eq(z:sum(), 4.0 * 100 * N * 2.25)
  end)
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end

  test("copies in a stream", function()
    local N = 300000
    local s = gpu.stream(device)
    local host, back = gpu.pinned(N, device), gpu.pinned(N, "float32", device)
    local plain = gpu.zeros(N, "cpu")
    local x = gpu.empty(N, device)
    for i = 1, 5 do
      host:fill(i) -- waits for the copy that still reads it
      s:with(function()
        x:copy_(host)
        x:add_(1)
        back:copy_(x)
        plain:copy_(x)
      end)
      t.eq(back[N], i + 1.0) -- waits for the copy that writes it
      t.eq(plain:sum(), N * (i + 1.0))
    end
    local y = s:with(function() return x:to("cpu") end)
    t.eq(y:sum(), N * 6.0)
    s:with(function() x:copy_(plain) end)
    plain:free() -- while it is copied
    s:with(function()
      t.eq(x[1], 6.0)
      x:copy_(gpu.ones(N, "cpu"))
      t.eq(x:sum(), 1.0 * N)
      t.eq(x:to("float64"):to("cpu")[N], 1.0)
      x[2] = 5
      t.eq(x["1:3"]:sum(), 7.0)
      t.eq(x:equal(gpu.array(x:totable(), device)), true)
    end)
    host:free()
    t.eq(#races(function()
      s:with(function() back:copy_(x) end)
      gpu.stream(device):with(function() x:copy_(back) end)
    end) > 0, true)
  end)

  test("pinned memory", function()
    local y = gpu.pinned(3, 4, "int16", device)
    t.eq(y.device, "cpu")
    t.eq(y.dtype, "int16")
    t.eq(tostring(y.shape), "(3, 4)")
    t.eq(y:sum(), 0)
    t.eq(y.pinned, device:find("cuda") ~= nil)
    t.eq(y[{ {}, 2 }].pinned, y.pinned)
    t.eq((y + 1):sum(), 12)
    t.eq(gpu.pinned(0, device).size, 0)
    t.eq(gpu.pinned({ 2, 2, dtype = "float64", device = device }).bytes, 32)
    t.raises("beyond any device", gpu.pinned, 1 << 60)
    t.raises("neither a dtype", gpu.pinned, 3, "float7")
  end)
end

t.test("ranges for profilers", function()
  local binary = os.getenv("LUNARRAY") or "build/lunarray"
  local library = binary:gsub("[^/]*$", "") .. "tests/driver/libnvtx3interop.so.1"
  local f = io.open(library)
  if not f then t.skip("the stand-in for NVTX's library is not built") end
  f:close()
  local shown, script = os.tmpname(), os.tmpname()
  local out = assert(io.open(script, "w"))
  out:write([[
assert(gpu.nvtx.available())
local a, b = gpu.nvtx.range("outer", function(x, y)
  gpu.nvtx.mark("here")
  gpu.nvtx.push("inner")
  gpu.nvtx.pop()
  return y, x
end, 1, 2)
assert(a == 2 and b == 1)
assert(not pcall(gpu.nvtx.range, "fails", error))
assert(not pcall(gpu.nvtx.range, "name") and not pcall(gpu.nvtx.push))
]])
  out:close()
  local ok = os.execute(("NVTX_SHOWN=%s LUNARRAY_NVTX=%s %s %s"):format(shown, library, binary, script))
  local lines = {}
  for line in io.lines(shown) do lines[#lines + 1] = line end
  os.remove(shown)
  os.remove(script)
  t.eq(ok, true)
  t.eq(table.concat(lines, "; "), "push outer; mark here; push inner; pop; pop; push fails; pop")
end)

-- ---- kernels ----

local device = t.kernel_device()
local source = [[
__global__ void twice(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
__global__ void add(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] += x[i]; }
__global__ void add_too(float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] += x[i]; }
extern "C" __global__ void plain(float const *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void nothing() {}
__global__ void some(int n, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
__global__ void wrong(float *x) { x[threadIdx.x + (1 << 28)] = 1; }
]]

local function on(name, body) t.test(name .. " on " .. device, body) end
local checked = device == "simt" -- a GPU has no checked launches

on("launches in a stream", function()
  local k = gpu.kernel(source, { device = device })
  local s, r = gpu.stream(device), gpu.stream(device)
  local x, y = gpu.ones(64, device), gpu.ones(64, device)
  k.twice(2, 32, 0, s)(x)
  k.twice(2, 32, { stream = s })(x)
  k.twice(2, 32, { shared = 16 }, s)(x)
  k.twice(2, 32, nil, s)(x)
  k.some:forall(64, { stream = s })(64, x)
  k.twice(2, 32)(x)
  r:wait(s)
  k.add(2, 32, 0, r)(x, y)
  t.eq(y:sum(), 64 * 65.0)
  k.nothing(1, 1, 0, s)()
  local launch = k.twice(2, 32, 0, s)
  launch(x)
  launch(x)
  t.eq(x:sum(), 64 * 256.0)
  t.raises("stream: expected a stream", function() k.twice(2, 32, 0, 7) end)
  t.raises("stream: expected a stream", function() k.twice(2, 32, { stream = "s" }) end)
  s:free()
  t.raises("the stream of this launch was freed", function() launch(x) end)
  t.raises("was freed", function() k.twice(2, 32, 0, s) end)
  local host = gpu.stream("cpu")
  t.raises({ "twice", "is of cpu", 'gpu.stream("' .. device .. '")' }, function() k.twice(2, 32, 0, host)(x) end)
end)

on("a launcher keeps its stream", function()
  local k = gpu.kernel(source, { device = device })
  local x = gpu.ones(32, device)
  local launch = k.twice(1, 32, 0, gpu.stream(device))
  collectgarbage()
  collectgarbage()
  k.twice(1, 16)(x)
  launch(x)
  t.eq(x:sum(), 16 * 2.0 + 32 + 16 * 2)
end)

on("streams that are freed while they work leave their places when that is done", function()
  local k = gpu.kernel([[
__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
__global__ void late(int *x, int ms) { for (auto end = now() + ms * 1000000ull; now() < end;) {} x[0] += 1; }]], { device = device })
  local x = gpu.zeros({ 100 }, "int32", device)
  collectgarbage()
  for i = 1, 100 do
    local s = gpu.stream(device)
    k(1, 1, 0, s)(x[{ { i, i } }], i == 1 and 100 or 0)
    s:free()
  end
  t.eq(x:sum(), 100)
end)

on("races of kernels", function()
  if not checked then t.skip("launches are not checked on " .. device) end
  local k = gpu.kernel(source, { device = device })
  local s, r = gpu.stream(device), gpu.stream(device)
  local x, y, z = gpu.ones(32, device), gpu.ones(32, device), gpu.ones(32, device)
  local found = races(function()
    k.twice(1, 32, 0, s)(x)
    k.add(1, 32, 0, r)(x, y)
  end)
  t.eq(#found, 1)
  for _, part in ipairs({ "x is written by kernel twice at " .. t.here(), "in stream " .. s.number,
    "read by kernel add at " .. t.here() }) do
    if not found[1]:find(part, 1, true) then error(found[1] .. " lacks " .. part) end
  end
  gpu.synchronize(device)
  t.eq(#races(function() -- const says that a kernel reads alone
    k.add(1, 32, 0, s)(x, y)
    k.add(1, 32, 0, r)(x, z)
  end), 0)
  gpu.synchronize(device)
  t.eq(#races(function()
    k.plain(1, 32, 0, s)(x, y)
    k.plain(1, 32, 0, r)(x, z)
  end), 0)
  gpu.synchronize(device)
  found = races(function()
    k.add_too(1, 32, 0, s)(x, y)
    k.add_too(1, 32, 0, r)(x, z)
  end)
  t.eq(#found, 1)
  assert(found[1]:find("pointer to const", 1, true), found[1])
  gpu.synchronize(device)
  t.eq(#races(function() -- the default stream is in order with all
    k.twice(1, 32, 0, s)(x)
    k.twice(1, 32)(x)
    k.twice(1, 32, 0, r)(x)
    s:wait(r)
    k.nothing(1, 1)()
    k.twice(1, 32, 0, s)(x)
    k.nothing(1, 1)()
    k.twice(1, 32, 0, r)(x)
  end), 0)
end)

on("a fault in a stream", function()
  local k = gpu.kernel(source, { device = device })
  local s, r = gpu.stream(device), gpu.stream(device)
  local e = r:record()
  local x = gpu.ones(32, device)
  local why = t.raises("wrong", function()
    k.wrong(1, 32, 0, s)(x)
    s:synchronize()
  end)
  if device == "simt" then
    k.twice(1, 32, 0, s)(x)
    t.eq(x:sum(), 64.0)
    return
  end
  for _, part in ipairs({ "wrong at " .. t.here(), "in stream " .. s.number }) do
    if not why:find(part, 1, true) then error(why .. " lacks " .. part) end
  end
  t.raises({ "stream " .. r.number, "lost" }, function() r:synchronize() end)
  t.raises("lost", function() e:synchronize() end)
  t.raises("lost", function() s:with(print) end)
  r = gpu.stream(device)
  x = r:with(function() return gpu.ones(32, device) + 1 end)
  k.twice(1, 32, 0, r)(x)
  t.eq(x:sum(), 128.0)
end)

t.done()
