-- A compiler that crashes takes no session with it.
local t = dofile("tests/lua/test.lua")
gpu.device("simt")

local binary = os.getenv "LUNARRAY" or "build/lunarray"
local library = binary:gsub("[^/]*$", "") .. "tests/driver/libnvrtc-crashes.so"

t.test("a crash of the compiler is an error", function()
  if not io.open(library) then t.skip("the compiler that crashes is not here") end
  local script = os.tmpname()
  local f <close> = io.open(script, "w")
  f:write [[
    gpu.device("simt")
    for _, what in ipairs { "reads nothing", "is refused", "gives up", "goes too deep", "reads nothing", "is refused" } do
      local ok, e = pcall(gpu.kernel, "__global__ void k() {} // " .. what)
      print(what, ok, e)
    end
    print(gpu.ones(3):sum())
  ]]
  f:flush()
  local p = io.popen(("LUNARRAY_NVRTC=%s LUNARRAY_CACHE_DIR=%s.d %s %s 2>&1"):format(library, script, binary, script))
  local out = p:read "a"
  local ended = p:close()
  os.execute(("rm -rf %s.d"):format(script))
  os.remove(script)
  t.eq(ended, true, out)
  for _, what in ipairs { "reads nothing", "gives up", "goes too deep" } do
    assert(out:find(what .. "\tfalse\t[^\n]*NVRTC 13.0, crashed on this source %("), out)
  end
  t.eq(select(2, out:gsub("is refused\tfalse[^\n]*refused", "")), 2, out)
  assert(out:find("\n3.0\n", 1, true), out)
end)

t.done()
