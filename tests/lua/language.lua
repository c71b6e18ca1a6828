-- The language itself, chapter by chapter of the manual, as a stock lua5.4 has it: this file passes there, too.
local t = dofile("tests/lua/test.lua")

local function fails(text, f, ...)
  local ok, e = pcall(f, ...)
  assert(not ok and tostring(e):find(text, 1, true), tostring(e))
end

t.test("integers and floats", function()
  assert(7 // 2 == 3 and -7 // 2 == -4 and 7 // -2.0 == -4.0 and -7 % 3 == 2 and 7 % -3 == -2 and -6 % 3 == 0)
  assert(math.type(1) == "integer" and math.type(1.0) == "float" and 1 == 1.0 and math.type(2 ^ 2) == "float" and 1 / 2 == 0.5)
  assert(math.maxinteger + 1 == math.mininteger and math.mininteger // -1 == math.mininteger and math.mininteger % -1 == 0)
  assert(1 // 0.0 == math.huge and -1 // 0.0 == -math.huge and 0.0 / 0.0 ~= 0.0 / 0.0)
  fails("divide by zero", load "return 1 // 0")
  fails("attempt to perform 'n%", load "return 1 % 0")
  assert(0x7fffffffffffffff == math.maxinteger and 0xffffffffffffffff == -1 and 0x1p4 == 16.0 and 1e2 == 100.0 and 0xA.8p0 == 10.5)
  assert(5 & 3 == 1 and 5 | 3 == 7 and 5 ~ 3 == 6 and ~0 == -1 and 1 << 63 == math.mininteger and 1 << 64 == 0 and -1 >> 60 == 15)
  fails("number has no integer representation", load "return 1.5 & 1")
  assert("10" + 5 == 15 and "0x10" * 1 == 16 and "3" // "2" == 1 and 10 .. 20 == "1020" and "1e1" + 0 == 10.0)
  assert(tostring(3.0) == "3.0" and tostring(1e15) == "1e+15" and tostring(-0.0) == "-0.0")
  assert(1 < 1.5 and math.maxinteger < math.huge and math.maxinteger + 0.0 == 2^63 and math.ult(1, -1) and not ("a" < "B"))
end)

t.test("numeric loops do not overflow", function()
  local n = 0
  for i = math.maxinteger - 1, math.maxinteger do n = n + 1 end
  for i = 1, 0 do n = n + 100 end
  for i = 3, 1, -1 do n = n + 1 end
  for x = 0.0, 1.0, 0.25 do n = n + 1 end
  assert(n == 10)
  fails("'for' step is zero", load "for i = 1, 2, 0 do end")
end)

t.test("goto, scopes and closures", function()
  local seen = {}
  for i = 1, 3 do
    if i == 2 then goto continue end
    seen[#seen + 1] = function() i = i + 10 return i end
    ::continue::
  end
  assert(#seen == 2 and seen[1]() == 11 and seen[1]() == 21 and seen[2]() == 13)
  local x <const> = 5
  assert(not load "local x <const> = 5; x = 6" and not load "goto nowhere" and not load "break" and not load "::a:: ::a::")
  local function variadic(...) return select("#", ...), ... end
  assert(select("#", variadic(nil, nil)) == 3 and (variadic(1, 2)) == 2)
  local function deep(n) if n == 0 then return "tail" end return deep(n - 1) end
  assert(deep(1e6) == "tail")
end)

t.test("variables that are closed", function()
  local order = {}
  local function closing(name) return setmetatable({}, { __close = function(_, e) order[#order + 1] = name .. ":" .. tostring(e) end }) end
  do
    local a <close> = closing "a"
    local b <close> = closing "b"
  end
  pcall(function() local c <close> = closing "c" error("e", 0) end)
  for i in (function(n, i) if i < 2 then return i + 1 end end), nil, 0, closing "loop" do if i == 1 then break end end
  assert(table.concat(order, " ") == "b:nil a:nil c:e loop:nil", table.concat(order, " "))
  fails("got a non-closable value", load "local x <close> = 1")
end)

t.test("metamethods", function()
  local calls = {}
  local meta = setmetatable({}, { __index = function(_, event) return nil end })
  for _, event in ipairs { "add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor", "shl", "shr", "bnot", "concat", "len" } do
    meta["__" .. event] = function() calls[#calls + 1] = event return event end
  end
  local o = setmetatable({}, meta)
  assert(o + 1 == "add" and 1 - o == "sub" and o * o == "mul" and o / 2 == "div" and o % 2 == "mod" and o ^ 2 == "pow" and -o == "unm")
  assert(o // 1 == "idiv" and o & 1 == "band" and 1 | o == "bor" and o ~ 1 == "bxor" and o << 1 == "shl" and o >> 1 == "shr" and ~o == "bnot")
  assert("x" .. o == "concat" and #o == "len" and #calls == 16)
  local c = setmetatable({}, { __eq = function() return true end, __lt = function() return 1 end, __le = function() return nil end,
    __call = function(self, ...) return ... end, __tostring = function() return "c" end, __name = "C", __pairs = function() return next, { 7 } end })
  assert(c == setmetatable({}, getmetatable(c)) and (c < 1) == true and (1 <= c) == false and c(1, 2) == 1 and tostring(c) == "c")
  for k, v in pairs(c) do assert(k == 1 and v == 7) end
  local proxy = setmetatable({}, { __index = { a = 1 }, __newindex = function(self, k, v) rawset(self, k, v * 2) end })
  proxy.b = 2
  assert(proxy.a == 1 and proxy.b == 4 and rawget(proxy, "a") == nil and rawlen(proxy) == 0)
  fails("attempt to index a nil value (global 'undefined')", load "return undefined.x")
  fails("attempt to call a nil value (method 'none')", load "return ('x'):none()")
  fails("attempt to compare two table values", function() return {} < {} end)
end)

t.test("strings and patterns", function()
  assert("\65\x42\u{43}\z
          D\tE" == "ABCD\tE" and [==[
]]]==] == "]]" and #"\0a" == 2 and "\u{7FFFFFFF}" == "\xFD\xBF\xBF\xBF\xBF\xBF")
  assert(("hello world"):find("o w") == 5 and ("key = value"):match("^(%w+)%s*=%s*(%w+)$") == "key" and ("f(a(b)c)"):match("%b()") == "(a(b)c)")
  assert(("THE (quick) fox"):find("%((%a+)%)") == 5 and ("abc"):gsub("%w", "%0%0") == "aabbcc" and ("x"):rep(3, ",") == "x,x,x")
  assert(("hello"):gsub("l", { l = "L" }) == "heLLo" and ("abc"):gsub("", "-") == "-a-b-c-" and ("THE"):find("%f[%a]%a+%f[%A]") == 1)
  assert(string.format("%5.2f|%-5d|%05d|%x|%q|%s|%i|%g|%a", 3.14159, 42, 42, 255, 'a "b"\n', "s", 3, 1e20, 1) ==
    ' 3.14|42   |00042|ff|"a \\"b\\"\\\n"|s|3|1e+20|0x1p+0')
  assert(("abc"):byte(-1) == 99 and ("abc"):sub(-2) == "bc" and ("x"):rep(-1) == "" and ("aBc"):upper() == "ABC" and ("abc"):reverse() == "cba")
  fails("malformed pattern", string.find, "a", "[a")
  local words = {}
  for w, n in ("a1 b2"):gmatch("(%a)(%d)") do words[#words + 1] = w .. n end
  assert(table.concat(words) == "a1b2")
end)

t.test("pack, unpack and utf8", function()
  local s = string.pack("<i4 >I2 z s1 d !8 xXi8", -2, 513, "zero", "len", 1.5)
  local i, n, z, l, d = string.unpack("<i4 >I2 z s1 d", s)
  assert(i == -2 and n == 513 and z == "zero" and l == "len" and d == 1.5 and string.packsize("<i3i5") == 8)
  fails("overflow", string.pack, "i1", 200)
  assert(utf8.char(72, 228, 8364, 0x10FFFF) == "Hä€\u{10FFFF}" and utf8.len("hä€") == 3 and utf8.codepoint("€") == 8364 and utf8.offset("aä€", 3) == 4)
  assert(select(2, utf8.len("\xff")) == 1 and utf8.len("\u{200000}", 1, -1, true) == 1)
  local points = {}
  for p, c in utf8.codes("aé") do points[#points + 1] = p .. "=" .. c end
  assert(table.concat(points, " ") == "1=97 2=233")
end)

t.test("tables", function()
  local x = table.pack(table.unpack({ 1, 2, nil, 4 }, 1, 4))
  assert(x.n == 4 and x[3] == nil and #{ n = 1, 1, 2, [3] = 3 } == 3 and table.concat({ 1, 2, 3 }, "-", 2) == "2-3")
  local list = { 5, 2, 8, 1 }
  table.sort(list, function(a, b) return a > b end)
  table.insert(list, 2, 7)
  assert(table.remove(list) == 1 and table.concat(list, ",") == "8,7,5,2" and table.concat(table.move({ 1, 2, 3 }, 1, 3, 2), ",") == "1,1,2,3")
  fails("invalid order function", table.sort, { 1, 2, 3, 4, 5 }, function() return true end)
  local t2 = { 10, 20, 30 }
  for k in pairs(t2) do t2[k] = nil end
  assert(next(t2) == nil and next({}, nil) == nil)
  fails("index is nil", function() local z = {} z[nil] = 1 end)
  fails("index is NaN", function() local z = {} z[0 / 0] = 1 end)
end)

t.test("coroutines", function()
  local co = coroutine.create(function(a, b)
    local c = coroutine.yield(a + b)
    local d, e = coroutine.yield(c * 2)
    return d + e
  end)
  assert(select(2, coroutine.resume(co, 1, 2)) == 3 and select(2, coroutine.resume(co, 5)) == 10 and select(2, coroutine.resume(co, 3, 4)) == 7)
  assert(coroutine.status(co) == "dead" and not coroutine.resume(co))
  local through = coroutine.wrap(function() return pcall(function() coroutine.yield(1) error("late", 0) end) end)
  assert(through() == 1)
  local ok, e = through()
  assert(ok == false and e == "late")
  local closed
  co = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() closed = true end }) coroutine.yield() end)
  coroutine.resume(co)
  assert(coroutine.close(co) and closed and coroutine.status(co) == "dead")
  local sorted = coroutine.wrap(function() for i in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end) do coroutine.yield(i * i) end end)
  assert(sorted() == 1 and sorted() == 4 and sorted() == 9)
end)

t.test("errors, load and environments", function()
  fails("stack overflow", function() local function f() return 1 + f() end return f() end)
  local ok, e = xpcall(function() error({ code = 7 }) end, function(e) return e.code end)
  assert(not ok and e == 7 and select("#", pcall(error)) == 2)
  local env = { y = 5 }
  assert(load("return y", "chunk", "t", env)() == 5 and load(string.dump(function() return 9 end), "b", "b")() == 9)
  local parts = { "return ", "1 ", "+ 1", nil }
  local at = 0
  assert(load(function() at = at + 1 return parts[at] end)() == 2)
  assert(select(2, load("x = = 1", "=name")):find("^name:1: unexpected symbol near '='"))
  local _ENV <const> = { z = 3 }
  if z ~= 3 then error "environment" end
end)

t.test("garbage", function()
  local weak, finalized = setmetatable({}, { __mode = "v" }), 0
  weak[1] = {}
  setmetatable({}, { __gc = function() finalized = finalized + 1 end })
  collectgarbage()
  collectgarbage()
  assert(weak[1] == nil and finalized == 1 and collectgarbage("count") > 0)
  local ephemeron = setmetatable({}, { __mode = "k" })
  do local key = {} ephemeron[key] = { key } end
  collectgarbage()
  assert(next(ephemeron) == nil)
end)

t.done()
