-- Arrays that wait: whatever a program does, it sees what it would see if each operation were computed at once.
local test = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

-- ---- random programs: the same steps in every mode, all arrays compared in the end
-- Small ones that meet in all ways, and large ones, for which there are tiles, several threads and passes over rows.
local small = { { 7 }, { 5, 7 }, { 5, 1 }, { 1, 7 }, {} }
local large = { { 210 }, { 190, 210 }, { 210, 190 }, { 190, 1 }, { 1, 210 }, {} }
local dtypes = { "float32", "float32", "float64", "int32", "int64", "bool", "float16", "uint8" }
local unary = { "neg", "abs", "sqrt", "exp", "sin", "floor", "sigmoid", "square", "relu", "isnan", "logical_not" }
local binary = { "add", "sub", "mul", "div", "floordiv", "mod", "minimum", "maximum", "lt", "ge", "eq", "hypot",
  "logical_or", "pow" }

local function generator(seed)
  local state = seed
  return function(n)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return (state >> 33) % n + 1
  end
end

local function make(random, shapes, device)
  local shape, dtype = shapes[random(#shapes)], dtypes[random(#dtypes)]
  local size = 1
  for _, n in ipairs(shape) do size = size * n end
  local values = {}
  for i = 1, size do values[i] = random(9) - (dtype == "uint8" and 1 or 5) end
  local flat = gpu.array(values, "float64", device):to(dtype)
  return #shape == 0 and flat:reshape({}) or flat:reshape(shape)
end

-- One step; errors are part of what a program sees.
local function step(random, arrays, device)
  local what, i, j = random(32), random(#arrays), random(#arrays)
  local x, y = arrays[i], arrays[j]
  if what <= 5 then
    return x[binary[random(#binary)]](x, y)
  elseif what <= 8 then
    return x[unary[random(#unary)]](x)
  elseif what == 9 then
    return x[binary[random(#binary)]](x, random(4) / (random(2) == 1 and 1 or 2))
  elseif what == 10 then
    return x:gt(y):where(y, 2)
  elseif what == 11 then
    return x:to(dtypes[random(#dtypes)])
  elseif what == 12 then
    local op = ({ "add_", "mul_", "maximum_" })[random(3)]
    return x[op](x, y)
  elseif what == 13 then
    local value = random(9)
    if x.ndim > 0 then x[random(x.shape[1])] = value else x:fill(value) end
    return x
  elseif what == 14 then
    if x.ndim > 0 then x[random(x.shape[1])] = y end
    return x
  elseif what == 15 then
    return x.ndim > 0 and x[{ { 1, x.shape[1] } }] or x.T
  elseif what == 16 then -- views that are reversed, or of every other element
    return x[({ { { -1, 1, -1 } }, { { 1, -1, 2 } }, { "...", { 2, -1 } } })[random(3)]]
  elseif what == 17 then
    return x.T
  elseif what <= 19 then
    local name = ({ "sum", "max", "mean", "var", "logsumexp", "argmin", "any" })[random(7)]
    return x[name](x, x.ndim > 0 and random(x.ndim) or nil, true) * 1
  elseif what == 20 then
    local e = (x - x:max(-1, true)):exp()
    return e / e:sum(-1, true)
  elseif what == 24 then -- reductions, and what becomes of them, over the same rows and over others
    local name = ({ "sum", "prod", "max", "min", "mean", "var", "norm", "any" })[random(8)]
    local r = name == "norm" and x:norm(random(3), -1, true) or x[name](x, -1, true)
    return random(2) == 1 and x - r or r
  elseif what == 25 then
    local m = x:mean(-1, true)
    return ((x - m) / (x:std(-1, true) + 0.5) * y):to(dtypes[random(#dtypes)])
  elseif what == 26 then
    local e = x:exp()
    return e / (e:sum(x.ndim > 0 and random(x.ndim) or nil, true) + y:max(-1, true)) - e:logsumexp(nil, true)
  elseif what == 21 then
    local draw = gpu.random[({ "uniform", "normal" })[random(2)]]
    return x + draw(0, 1, 7, device)
  elseif what == 22 then
    x:sub_(gpu.random.uniform(0, 4, 7, device))
    return x
  elseif what == 27 then -- what is rolled is read where it was, or moved
    local rolled = x:roll(random(9) - 5, x.ndim > 0 and random(2) == 1 and random(x.ndim) or nil)
    return random(3) == 1 and rolled or rolled:roll(1) - y
  elseif what == 28 then
    x[x:gt(random(5) - 3)] = random(2) == 1 and random(7) or y:sum()
    return x
  elseif what == 29 then -- what is computed at once, of what waits
    return random(2) == 1 and x:cumsum(x.ndim > 0 and random(x.ndim) or nil) or gpu.cat({ x, y }, 1)[{ { 1, 2 } }]
  elseif what == 30 then
    x[{ { 1, 1 } }] = y:sum(1, true)
    return x
  elseif what == 31 then
    return x:copy_(y * 2)
  elseif what == 32 then
    return gpu.sum(x + y, { axis = 1, keepdims = true, out = arrays[random(#arrays)] })
  elseif what == 23 then -- into a view of what is read, or of what others read
    local z = arrays[random(#arrays)]
    return gpu.add(x, y, { out = z[{ { 1, -1 } }] })
  end
  return gpu.array(x:sum(), "float64", device)
end

local function text_of(x)
  local out = { x.dtype, tostring(x.shape) }
  if x.size > 1000 then -- as bytes, with one kind of NaN
    if x.dtype:find("float") then x = x:isnan():where(12345, x):to(x.dtype) end
    return table.concat(out, " ") .. " " .. x:contiguous():tobytes()
  end
  local function put(v)
    if type(v) == "table" then
      for _, w in ipairs(v) do put(w) end
    else
      out[#out + 1] = type(v) == "number" and v ~= v and "nan" or string.format("%q", v)
    end
  end
  put(x:totable())
  return table.concat(out, " ")
end

local function run(seed, steps, shapes, device)
  local random, arrays, seen = generator(seed), {}, {}
  gpu.seed(seed)
  for i = 1, 4 do arrays[i] = make(random, shapes, device) end
  for _ = 1, steps do
    local ok, result = pcall(step, random, arrays, device)
    if not ok then
      seen[#seen + 1] = tostring(result)
    else
      arrays[#arrays < 10 and #arrays + 1 or random(10)] = result
    end
    if random(8) == 1 then collectgarbage() end
  end
  for i, x in ipairs(arrays) do seen[#seen + 1] = text_of(x) end
  return table.concat(seen, "\n")
end

test.every("random programs give the same bits lazily and at once", function(device)
  local former = gpu.lazy("never")
  local compiles = test.compiles(device)
  for seed = 1, tonumber(os.getenv "LUNARRAY_TEST_PROGRAMS") or compiles and 2 or 60 do
    local shapes = seed % 3 == 0 and large or small
    gpu.lazy("never")
    local want = run(seed, 30, shapes, device)
    gpu.lazy("always")
    local got = run(seed, 30, shapes, device)
    if got ~= want then
      gpu.lazy(former)
      local lines, other = want:gmatch("[^\n]+"), got:gmatch("[^\n]+")
      for line in lines do
        local lazily = other()
        if line ~= lazily then
          error(("program %d\n-- at once:\n%q\n-- lazily:\n%q"):format(seed, line:sub(1, 4000), (lazily or ""):sub(1, 4000)))
        end
      end
    end
  end
  gpu.lazy(former)
end)

local function lazily(name, f)
  test.every(name, function(device)
    local former = setmetatable({ gpu.lazy("always") }, { __close = function(m) gpu.lazy(m[1]) end })
    local restore <close> = former
    f(device)
  end)
end

lazily("a waiting array keeps what it was made of", function(device)
  local x = gpu.array({ 1, 2, 3 }, device)
  local y = x * 2
  x:add_(10)
  assert(y[1] == 2 and x[1] == 11)
  local z, v = x + 1, x[{ { 2, 3 } }]
  v:fill(0)
  assert(z[2] == 13 and x[2] == 0)
  local w = x - 1
  x:free()
  assert(w[1] == 10)
end)

lazily("shapes, dtypes and mistakes are known at once", function(device)
  local x, y = gpu.ones({ 2, 3 }, device), gpu.ones({ 4 }, device)
  local z = x:gt(0)
  assert(z.dtype == "bool" and tostring(z.shape) == "(2, 3)" and z.size == 6 and #z == 2 and z.device == x.device)
  assert(not pcall(function() return x + y end) and not pcall(function() return x & 1 end))
end)

lazily("chains longer than one program", function(device)
  local x = gpu.zeros({ 3 }, device)
  for i = 1, 500 do x = x + 1 end
  assert(x[3] == 500)
  local y = gpu.ones({ 3 }, device)
  for i = 1, 40 do y = y * y + y - y end
  assert(y[1] == 1)
  local many = gpu.zeros({ 2 }, device)
  for i = 1, 40 do many = many + gpu.full(2, i, device) end
  assert(many[2] == 820)
end)

lazily("a value used twice after it was fused once", function(device)
  local x = gpu.range(5, "float32", device)
  local y = x:exp()
  local a, b, c = y + 1, y + 2, y + 3
  local e = math.exp(2)
  assert(math.abs(a[2] - e - 1) < 1e-4 and math.abs(b[2] - e - 2) < 1e-4 and math.abs(c[2] - e - 3) < 1e-4)
  assert(math.abs(y[2] - e) < 1e-4)
end)

-- Reductions compute what they reduce on the way, whatever its layout: to the bits of the stored elements.
local reductions = { "sum", "prod", "min", "max", "mean", "argmin", "argmax", "any", "all", "var", "std", "logsumexp",
  "norm", "count_nonzero" }
local function reduced(operands)
  local out = {}
  for _, make_operand in ipairs(operands) do
    local ndim = make_operand().ndim
    for _, name in ipairs(reductions) do
      for axis = 0, ndim do
        local x, along = make_operand(), axis > 0 and axis or nil
        local _, r = pcall(x[name], x, name == "norm" and 2 or along, name == "norm" and along or nil)
        out[#out + 1] = name .. " " .. axis .. " " .. (type(r) == "userdata" and text_of(r) or ("%q"):format(r))
      end
    end
  end
  return out
end

lazily("a reduction waits, though not for ever", function(device)
  local x = gpu.ones({ 100, 50 }, device)
  local m = x:sum(2, true)
  assert(m:explain().operations == 1 and tostring(m.shape) == "(100, 1)")
  x:fill(3)
  assert(m[1][1] == 50)
  collectgarbage()
  local before, sums = gpu.memory(device).in_use, {}
  for i = 1, 40 do sums[i] = (gpu.full({ 100, 50 }, i, device)):mean(2, true) end
  collectgarbage()
  assert(gpu.memory(device).in_use - before < 20 * x.bytes and sums[40]:sum() == 4000)
  assert(not pcall(function() return gpu.zeros({ 3, 0 }, device):max(2, true) end))
  assert(gpu.zeros({ 3, 0 }, device):sum(2, true):equal(gpu.zeros({ 3, 1 })))
end)

test.every("reductions of chains give the same bits lazily and at once", function(device)
  local former = gpu.lazy("never")
  local compiles = test.compiles(device)
  local x, y = gpu.rand({ 70, 300 }, "float32", device) - 0.5, gpu.rand({ 70, 300 }, "float32", device)
  local row, column = gpu.rand({ 1, 300 }, "float32", device), gpu.rand({ 70, 1 }, "float64", device)
  local cube, long = gpu.rand({ 65, 5, 4 }, device), gpu.rand(150000, device)
  gpu.evaluate(x, y)
  local operands = { function() return x * row + column end, function() return (x * 9):to("int8") end,
    function() return cube:permute(3, 1, 2) + cube[{ 1, {}, 1 }] end }
  if not compiles then
    for _, f in ipairs { function() return x - y end, function() return x.T * 2 end, function() return long * long end,
      function() return x[{ {}, { 1, -1, 3 } }] * row[{ {}, { 1, -1, 3 } }] end,
      function() return (x + y):to("float16") end, function() return x[{ {}, { 1, 0 } }] + 1 end } do
      operands[#operands + 1] = f
    end
  end
  local want = reduced(operands)
  gpu.lazy("always")
  local got = reduced(operands)
  gpu.lazy(former)
  for i = 1, #want do test.eq(got[i], want[i]) end
end)

test.every("reductions of rows that lie backwards or apart give the same bits lazily and at once", function(device)
  local former = gpu.lazy("never")
  local x, few = gpu.rand({ 900, 200 }, "float64", device) - 0.5, gpu.rand({ 900, 80 }, "float32", device)
  gpu.evaluate(x, few)
  local function results()
    local all = {}
    for _, part in ipairs { "..., ::-1", "..., ::2", "..., ::-2" } do
      for _, v in ipairs { x[part].T, few[part].T } do
        all[#all + 1] = (v - v:mean(-1, true)) / v:sum(-1, true)
        all[#all + 1] = v:sum(-1)
      end
    end
    gpu.evaluate(table.unpack(all))
    return all
  end
  local want = results()
  gpu.lazy("always")
  local got = results()
  gpu.lazy(former)
  for i = 1, #want do assert(got[i]:equal(want[i]), i) end
end)

lazily("what reductions and chains compute on the way takes no memory", function(device)
  if os.getenv "LUNARRAY_COMPILE" == "background" then test.skip "what serves until a kernel is compiled stores each operation" end
  local x, m = gpu.rand(1 << 20, device), gpu.rand({ 256, 4096 }, device)
  collectgarbage()
  collectgarbage("stop")
  local restart <close> = setmetatable({}, { __close = function() collectgarbage("restart") end })
  local function extra(f) -- how far it takes the most memory that was ever in use
    local now = gpu.memory(device)
    local filler <close> = gpu.empty(math.max(now.peak - now.in_use, 1), "uint8", device)
    local before = gpu.memory(device).peak
    local result <close> = gpu.evaluate(f())
    return gpu.memory(device).peak - before
  end
  local function sum(...) return gpu.array((...):sum(), device) end
  local bytes = x.bytes
  assert(extra(function() return (x * x + 1):exp() / (x + 2) end) < 1.1 * bytes)
  assert(extra(function() return sum((x * x + 1):sqrt() - x) end) < 0.1 * bytes)
  assert(extra(function() return (m - m[1]):abs():max(1) end) < 0.1 * bytes)
  assert(extra(function() return gpu.array(x:std() + (2 * x):norm() + m:logsumexp(2):sum(), device) end) < 0.1 * bytes)
  assert(extra(function()
    local e = (m - m:max(2, true)):exp()
    return e / e:sum(2, true)
  end) < 1.2 * bytes)
  assert(extra(function() return m - (m * 2 + 1):var(1, true) end) < 1.2 * bytes)
  assert(extra(function() return m / (m * 2 + 1):norm(2, 1, true) end) < 1.2 * bytes)
  local function softmax() -- exp is costly on a host: what it gave is stored, and that gpu.explain tells
    local e = (m - m:max(1, true)):exp()
    return e / e:sum(1, true)
  end
  local said = tonumber(tostring(gpu.explain(softmax())):match("read, ([%d.]+) MiB written")) * 2 ^ 20
  assert(math.abs(extra(softmax) - said) < 0.1 * bytes)
end)

lazily("in place with a chain that reads the target", function(device)
  local x = gpu.array({ 1, 2, 3, 4 }, device)
  x:add_(x * 2 + x:flatten())
  assert(x[4] == 16)
  local y = gpu.array({ 1, 2, 3, 4 }, device)
  y[{ { 1, 3 } }] = y[{ { 2, 4 } }] * 10
  assert(y[1] == 20 and y[3] == 40 and y[4] == 4)
end)

lazily("what is assigned beside a chain that reads the target, and what keeps a name, is computed in time", function(device)
  local function at(f) -- the same values whether anything waits or not
    local x, y, z = gpu.range(6, device), gpu.zeros(6, device), {}
    f(x, y, z)
    for _, v in ipairs({ table.unpack(z, 1, 4) }) do y = y + 10 * v end
    return (x + 100 * y):totable()
  end
  local function both(f)
    local lazily_done = at(f)
    local former = gpu.lazy("never")
    local want = at(f)
    gpu.lazy(former)
    test.same(lazily_done, want)
  end
  -- w is there for x + 2, of which it is made
  both(function(x, y, z) z[1], x["2:"], z[2] = x * 2, x[":-2"] + 3 * x["2:"], x - 1 end)
  both(function(x, y, z) z[1], z[2], x["2:"] = x * 2, x - 1, x[":-2"] + 3 * x["2:"] end)
  both(function(x, y, z)
    local w = (x + 1) * (x + 2)
    y["1:"], z[1], z[2], x["1:"] = x * 2, x - 1, 2 * x, w
  end)
  both(function(x, y, z) -- v is also in a register of its own, since it is assigned before v[1] is
    local v = (x + 1) * (x + 2)
    z[1], v[1], v, x["1:"] = x * 2, 5, 2 * x, v
    z[2] = v
  end)
  both(function(x, y, z) -- twice in registers
    local v = (x + 1) * (x + 2)
    local function upvalue() v[1], z[1], x["1:"] = 5, x * 2, v end
    upvalue()
  end)
  both(function(x, y, z)
    local function store(v) x["1:"] = v * (x + 2); return v end
    z[1], z[2] = x * 2, store(x + 1) + x
  end)
  both(function(x, y, z) -- a call is in the midst of its statement
    local w, newindex = (x + 1) * (x + 2), getmetatable(x).__newindex
    local function upvalue() return { w, x * 2, newindex(x, "1:", w), x } end
    z[1] = upvalue()[2]
  end)
  local stripped = load(string.dump(function(x, y, z)
    local w = (x + 1) * (x + 2)
    local v = x * 2
    x["1:"] = w
    z[1] = v
  end, true), "=stripped", "b")
  both(stripped)
end)

lazily("a reduction that waits is written to a row of a matrix", function(device)
  local x, m = gpu.range(12, "float32", device):reshape(3, 4), gpu.zeros({ 2, 4 }, device)
  m[{ { 2 } }] = x:sum(1, true)
  m[{ { 1 }, { 3 } }] = x:max({ 1, 2 }, true)
  test.same(m:totable(), { { 0, 0, 12, 0 }, { 15, 18, 21, 24 } })
  test.raises("does not broadcast", function() m[{ { 1 } }] = x:sum(2, true) end)
end)

test.every("small expressions without end stay flat", function(device)
  local before
  local x = gpu.ones({ 8 }, device)
  local former = gpu.lazy("always")
  for i = 1, device == "cpu" and test.brief(1000000, 60000) or 100000 do
    local _ = x + i
    if i == 50000 then
      collectgarbage()
      before = gpu.memory(device).in_use
    end
  end
  gpu.lazy(former)
  collectgarbage()
  assert(gpu.memory(device).in_use <= before)
end)

test.test("a process may end while kernels are being compiled", function()
  if not pcall(gpu.kernel, "__global__ void k() {}", { device = "simt" }) then test.skip("no NVRTC") end
  local binary = os.getenv("LUNARRAY") or "build/lunarray"
  local chain = "x"
  for i, ending in ipairs { "", "os.exit(true)", "os.exit(true, true)" } do -- each with an expression that is new
    chain = ("(%s + x)"):format(chain)
    local code = ("local x = gpu.ones(10, 'simt'); print((%s / x):sum()) %s"):format(chain, ending)
    local settings = "LUNARRAY_COMPILE=background LUNARRAY_GENERATED=1"
    local pipe <close> = assert(io.popen(('%s %s -e "%s" 2>&1'):format(settings, binary, code)))
    local text = pipe:read("a")
    assert(pipe:close(), "it did not end well")
    assert(tonumber(text) == 10 * (i + 1), text)
  end
end)

test.done()
