-- gpu.progress where output is a pipe: the loop's numbers, one line at its end, and how it may be left.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local BINARY = os.getenv("LUNARRAY") or "build/lunarray"

-- What a script prints.
local function output(code)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(code)
  file:close()
  local pipe <close> = assert(io.popen(BINARY .. " " .. path .. " 2>&1"))
  local text = pipe:read("a")
  os.remove(path)
  return text
end

t.test("counts", function()
  local seen = {}
  for i in gpu.progress(5) do seen[#seen + 1] = i end
  t.same(seen, { 1, 2, 3, 4, 5 })
  for _ in gpu.progress(0) do error("a step of none") end
end)

t.test("one line at the end", function()
  local text = output("for i in gpu.progress(3, 'steps') do end print('after')")
  local line, rest = text:match("^(steps 100%% [^\n]*)\n(.*)$")
  assert(line, text)
  assert(line:find(("█"):rep(30), 1, true) and line:find("3/3, ", 1, true) and not line:find("left"), text)
  t.eq(rest, "after\n")
  assert(output("for i in gpu.progress(0) do end"):find("^100%% .*0/0"))
end)

t.test("a loop that is left", function()
  local text = output("for i in gpu.progress(8, 'a\\nb') do if i == 3 then break end end")
  assert(text:find("^a b  25%% [^\n]*2/8[^\n]*, stopped\n$"), text)
  text = output("for i in gpu.progress(4) do if i == 2 then error('no more') end end")
  assert(text:find(" 25%% [^\n]*1/4[^\n]*, stopped\n"), text)
  assert(text:find("no more", 1, true), text)
end)

t.test("long labels are cut between characters", function()
  local text = output("for i in gpu.progress(1, ('é'):rep(80)) do end")
  assert(text:find("^" .. ("é"):rep(50) .. " 100%%"), text)
  assert(utf8.len(text))
end)

t.test("misuse", function()
  t.raises("number expected", gpu.progress)
  t.raises("0 or more", gpu.progress, -1)
  t.raises("no integer representation", gpu.progress, 2.5)
  local f, state = gpu.progress(1)
  t.eq(f(state, 0), 1)
  t.eq(f(state, 1), nil)
  t.raises("each loop needs one of its own", f, state, 0)
end)

t.done()
