-- Random calls of every function with random arguments: each ends in a result or in an error that speaks of the call.
-- LUNARRAY_SEED and LUNARRAY_PROGRAMS ask for others and for more.
local test = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local draw
local function random(n) return draw(n) + 1 end
local function one_of(list) return list[random(#list)] end

-- ---- what is called: all of gpu and its modules, the methods and the metamethods of arrays
local left_out = { ["gpu.device"] = true, ["gpu.interact"] = true } -- those that go on behind the call
local functions = {}
local function collect(t, path)
  for name, value in pairs(t) do
    local full = path .. "." .. tostring(name)
    if type(value) == "function" and not left_out[full] and name ~= "__gc" and name ~= "__close" then
      functions[#functions + 1] = { full, value }
    elseif type(value) == "table" and path == "gpu" then
      collect(value, full)
    end
  end
end
collect(gpu, "gpu")
local meta = getmetatable(gpu.zeros(1))
collect(meta, "array")
collect(meta.__methods, "array")
table.sort(functions, function(a, b) return a[1] < b[1] end)

-- ---- arguments
local shapes = { {}, { 0 }, { 1 }, { 3 }, { 7 }, { 2, 3 }, { 3, 3 }, { 3, 0 }, { 1, 4 }, { 2, 3, 4 }, { 1, 1, 1, 1 }, { 130 }, { 70, 80 } }
local dtypes = { "float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool", "complex64", "complex128" }
local numbers = { 0, 1, 2, 3, -1, -2, 5, 7, 100, 0.5, -0.5, 1e300, 1 / 0, -1 / 0, 0 / 0, math.maxinteger, math.mininteger, 2 ^ 53, 1e-300, 3.7 }
local strings = { "", "sum", "1:3", "1:0:-1", "...", "float32", "complex128", "reduce", "same", "a,b->ab", "ij,jk->ik", "cpu",
  "nearest", "hann", "fro", "\0", "%s%n", ("z"):rep(300) }
local names = { "axis", "keepdims", "dtype", "out", "device", "n", "mode", "size", "weights", "axes", "where", "initial", "step" }
local callables = { function() end, function(x) return x end, function(a) return a end, math.sin }
local strange = { coroutine.create(print), io.stdout, gpu, print }

local function array()
  local shape = one_of(shapes)
  local size = 1
  for _, n in ipairs(shape) do size = size * n end
  local x = gpu.range(size, "float64"):mod(11):sub(4):to(one_of(dtypes)):reshape(shape)
  if random(4) == 1 and #shape > 0 then return x[{ { -1, 1, -1 } }] end
  return random(4) == 1 and x.T or x
end

local value
local function list(depth)
  local t = {}
  for i = 1, random(5) - 1 do t[i] = value(depth + 1) end
  return t
end
function value(depth)
  local what = random(depth > 1 and 9 or 10)
  if what <= 2 then return one_of(numbers) end
  if what <= 4 then return random(6) - 1 end
  if what == 5 then return one_of(strings) end
  if what == 6 then return random(3) > 1 and random(2) == 1 or nil end
  if what == 7 then return one_of(random(3) == 1 and strange or callables) end
  if what == 8 and depth < 3 then return list(depth) end
  if what == 9 and depth < 3 then
    local t = random(2) == 1 and list(depth) or {}
    for _ = 1, random(2) do t[one_of(names)] = value(depth + 1) end
    return t
  end
  return array()
end

-- ---- calls
local function call(name, f)
  local count = random(5) - 1
  local arguments = { n = count }
  for i = 1, count do arguments[i] = value(0) end
  if name:find("^array") and random(12) > 1 then arguments[1], count = array(), math.max(count, 1) end
  local result = table.pack(pcall(f, table.unpack(arguments, 1, count)))
  if not result[1] then
    local message = tostring(result[2])
    assert(#message > 10 and not message:find("internal", 1, true), name .. ": " .. message)
    return
  end
  for i = 2, result.n do
    if type(result[i]) == "userdata" then tostring(result[i]) end -- what waits is computed
  end
end

local first, count = tonumber(os.getenv("LUNARRAY_SEED") or 1), tonumber(os.getenv("LUNARRAY_PROGRAMS") or 10)
for _, device in ipairs(test.devices()) do
  for _, mode in ipairs { "never", "large", "always" } do
    test.test("anything called with anything, lazily " .. mode .. ", on " .. device, function()
      local before, former, shown = gpu.device(), gpu.lazy(mode), print
      gpu.device(device)
      print = function() end
      for seed = first, first + test.brief(count, 1) - 1 do
        draw = test.random(seed)
        for _ = 1, test.brief(600, 250) do
          local f = one_of(functions)
          call(f[1], f[2])
        end
      end
      print = shown
      gpu.lazy(former)
      gpu.device(before)
    end)
  end
end
test.done()
