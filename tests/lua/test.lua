-- The Lua tests' harness. A test file starts with `local t = dofile("tests/lua/test.lua")`, calls t.test(name, function)
-- and ends with t.done(). One line a test for the runner: "ok NAME", "not ok NAME", "skip NAME"; details after "# ".
local t = { failed = 0 }
local skip_mark = {}

-- Every launch is checked, and a report is an error.
if os.getenv("LUNARRAY_TEST_CHECK") then (gpu or require "lunarray").check(true) end

-- The devices that array tests run on, from LUNARRAY_TEST_DEVICES ("cpu,simt" unless told otherwise).
function t.devices()
  local list = {}
  for name in (os.getenv("LUNARRAY_TEST_DEVICES") or "cpu,simt"):gmatch("[^,]+") do list[#list + 1] = name end
  return list
end

-- The device that kernel tests run on: the first that is not cpu.
function t.kernel_device()
  for _, name in ipairs(t.devices()) do
    if name ~= "cpu" then return name end
  end
  return "simt"
end

-- Whether the device's arrays are computed by generated code, which is compiled anew for each layout and dtype, for a tenth
-- of a second at times.
function t.compiles(device)
  return device:find "cuda" ~= nil or os.getenv "LUNARRAY_GENERATED" ~= nil
end

-- A list, for the k-th member of another one. Where code is compiled, each member of either comes with half of the other's.
function t.half(device, list, k)
  if not t.compiles(device) then return list end
  local half = {}
  for i = 1 + k % 2, #list, 2 do half[#half + 1] = list[i] end
  return half
end

-- `short` in the place of `full` where a script runs once more only to see that it runs.
function t.brief(full, short)
  if os.getenv("LUNARRAY_TEST_BRIEF") then return short end
  return full
end

function t.skip(why) error({ skip_mark, why }, 0) end

local function handler(e)
  if type(e) == "table" and e[1] == skip_mark then return e end
  return debug.traceback(tostring(e), 2)
end

function t.test(name, body)
  if arg and arg[1] and not name:find(arg[1], 1, true) then return end
  local ok, e = xpcall(body, handler)
  if ok then
    print("ok " .. name)
  elseif type(e) == "table" then
    print("# skip: " .. e[2] .. "\nskip " .. name)
  else
    print("# " .. e:gsub("\n", "\n# ") .. "\nnot ok " .. name)
    t.failed = t.failed + 1
  end
  io.stdout:flush()
end

-- A test for each device, which is handed to the body.
function t.every(name, body)
  for _, device in ipairs(t.devices()) do
    t.test(name .. " on " .. device, function() body(device) end)
  end
end

-- A test of arrays on cpu, which says nothing new where all devices that are tested have generated code.
function t.host(name, body)
  for _, device in ipairs(t.devices()) do
    if not t.compiles(device) then return t.test(name, body) end
  end
end

-- What tests of arrays go through.
t.dtypes = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
  "float32", "float64" }
t.sizes = { 0, 1, 5, 7, 11, 13, 4097 }

-- Whether writing through y changes x, which is left as it was.
function t.shares(x, y)
  local before = x:clone()
  y:fill(-7)
  local changed = not x:equal(before)
  x:copy_(before)
  return changed
end

-- x converted to a dtype that may not have its sign or its size.
function t.as(x, dtype)
  if dtype == "bool" then return x:gt(0) end
  if dtype:find("^u") then x = x:abs() end
  return x:to(dtype)
end

local function show(v)
  return type(v) == "string" and string.format("%q", v) or tostring(v)
end

function t.eq(got, want, what)
  if got ~= want then error((what or "value") .. " is " .. show(got) .. ", expected " .. show(want), 2) end
end

function t.near(got, want, tolerance, what)
  if not (math.abs(got - want) <= (tolerance or 1e-6)) then
    error((what or "value") .. " is " .. show(got) .. ", expected " .. show(want), 2)
  end
end

-- Nested tables, compared element by element.
function t.same(got, want, path)
  path = path or "value"
  if type(want) ~= "table" then
    if got ~= want and not (got ~= got and want ~= want) then error(path .. " is " .. show(got) .. ", expected " .. show(want), 2) end
    return
  end
  if type(got) ~= "table" then error(path .. " is " .. show(got) .. ", expected a table", 2) end
  for k in pairs(got) do
    if want[k] == nil then error(path .. " has an unexpected [" .. tostring(k) .. "]", 2) end
  end
  for k, v in pairs(want) do t.same(got[k], v, path .. "[" .. tostring(k) .. "]") end
end

-- Lists of numbers, element by element within tolerance * max(1, |want|). Either may be an array.
function t.close(got, want, tolerance, what)
  if type(got) == "userdata" then got = got:flatten():totable() end
  if type(want) == "userdata" then want = want:flatten():totable() end
  if #got ~= #want then error((what or "the list") .. " has " .. #got .. " elements, expected " .. #want, 2) end
  for i, w in ipairs(want) do
    local same = got[i] == w -- else an infinite w would be near everything
    if not (same or math.abs(got[i] - w) < math.huge and math.abs(got[i] - w) <= tolerance * math.max(1, math.abs(w))) then
      error(("%s[%d] is %s, expected %s"):format(what or "value", i, show(got[i]), show(w)), 2)
    end
  end
end

-- {f(0), ..., f(n - 1)}
function t.list(n, f)
  local list = {}
  for i = 1, n do list[i] = f(i - 1) end
  return list
end

-- A generator of its own, the same numbers everywhere: a function that gives one of 0 to k - 1, k below 2^15.
function t.random(state)
  return function(k)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % k
  end
end

-- 0 to n - 1 in an order by such a generator.
function t.shuffled(n, random)
  local list = t.list(n, function(i) return i end)
  for i = n, 2, -1 do
    local j = random(i) + 1
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- How messages name the chunk that calls this: a file, standard input, a cell.
function t.here()
  return debug.getinfo(2, "S").short_src .. ":"
end

-- Calls f(...), which must raise an error whose text holds every string of `parts` (one string or a list). Returns it.
function t.raises(parts, f, ...)
  local ok, e = pcall(f, ...)
  if ok then error("no error was raised", 2) end
  e = tostring(e)
  for _, part in ipairs(type(parts) == "table" and parts or { parts }) do
    if not e:find(part, 1, true) then error("the error " .. show(e) .. " lacks " .. show(part), 2) end
  end
  return e
end

-- A test that runs f() with checks on, more than once: gpu.check must report nothing, and what f returns must be `want`.
function t.clean(name, want, f)
  t.test(name, function()
    for _ = 1, 2 do
      local got
      local messages = {}
      for i, r in ipairs((gpu or require "lunarray").check(function() got = f() end)) do messages[i] = r.message end
      if #messages > 0 then error("reports of what is right:\n" .. table.concat(messages, "\n"), 0) end
      t.close(got, want, 0)
    end
  end)
end

-- Runs a script once more, with settings in its environment: `least` tests or more are fine in it, too.
function t.again(script, settings, least)
  t.test("the same with " .. settings, function()
    local p = io.popen(("%s %s %s"):format(settings, os.getenv("LUNARRAY") or "build/lunarray", script))
    local lines = 0
    for line in p:lines() do
      if not line:find("^#") then
        t.eq(line:sub(1, 3), "ok ", line)
        lines = lines + 1
      end
    end
    t.eq(p:close(), true, "it ends well")
    t.eq(lines >= least, true, ("there are %d tests"):format(lines))
  end)
end

-- A script that runs on as many host threads as there are processors runs again on others, in brief: what there is to see
-- without them it has seen.
function t.on_threads(script, least)
  if os.getenv("LUNARRAY_THREADS") then return end
  local pipe = io.popen("nproc")
  local own = pipe:read("n")
  pipe:close()
  for _, threads in ipairs(t.brief({ 1, 2, 8 }, { 8 })) do
    if threads ~= own then t.again(script, "LUNARRAY_TEST_BRIEF=1 LUNARRAY_THREADS=" .. threads, least) end
  end
end

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local said = pipe:read "a"
  return pipe:close(), said
end

-- The whole numbers that a C program prints in hexadecimal. (Without -frounding-math GCC makes -x of 0 - x where x was a whole
-- number, which 0 is, too.)
function t.by_compiler(text)
  local path, out = os.tmpname(), {}
  local f = assert(io.open(path .. ".c", "w"))
  f:write(text)
  f:close()
  local flags = "-w -O1 -std=gnu11 -ffp-contract=off -frounding-math -fwrapv -fno-strict-aliasing"
  local well, said = output_of(("cc %s -o %s %s.c -lm && %s"):format(flags, path, path, path))
  os.remove(path)
  os.remove(path .. ".c")
  assert(well, said)
  for line in said:gmatch "%x+" do out[#out + 1] = math.tointeger(tonumber("0x" .. line)) end
  return out
end

-- A test of compare(seed), which asks the C compiler, for each seed from 1 to `count`, or as the script's second and third
-- argument say: from which, and how many.
function t.seeds(name, count, compare)
  if not output_of "cc --version" then return t.test(name, function() t.skip "no C compiler" end) end
  local first = tonumber(arg and arg[2] or 1)
  for seed = first, first + tonumber(arg and arg[3] or count) - 1 do
    t.test(name .. ", " .. seed, function()
      math.randomseed(seed)
      compare(seed)
    end)
  end
end

function t.done()
  os.exit(t.failed == 0 and 0 or 1, true)
end

return t
