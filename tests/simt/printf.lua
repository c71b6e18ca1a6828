-- printf in kernels, compared with what the host's printf makes of the same formats and values.
local t = dofile("tests/lua/test.lua")

-- Runs a script in a process of its own; what it prints.
local function output_of(script)
  local program, file = os.getenv("LUNARRAY") or "build/lunarray", os.tmpname()
  local f = assert(io.open(file, "w"))
  f:write("local gpu = gpu or require 'lunarray'\ngpu.device('" .. t.kernel_device() .. "')\n", script)
  f:close()
  local p = io.popen(program .. " " .. file .. " 2>&1")
  local got = p:read("a")
  p:close()
  os.remove(file)
  return got
end

-- Format, the argument in CUDA C, the value in Lua, and the host's format where it is another.
local rows = {}
local function add(format, code, value, host) rows[#rows + 1] = { format, code, value, host or format } end
for _, flags in ipairs { "", "-", "+", " ", "0", "12", "-12", "+012", "-+12", ".7", "12.7", "+ 12", "%s" } do
  if flags ~= "%s" then
    for _, v in ipairs { 0, 42, -42, 2147483647, -2147483647 } do add("%" .. flags .. "d", tostring(v), v) end
    for _, v in ipairs { 0, 5000000000, -5000000000 } do
      add("%" .. flags .. "lld", v .. "ll", v, "%" .. flags .. "d")
      add("%" .. flags .. "ld", v .. "l", v, "%" .. flags .. "d")
    end
  end
end
for _, flags in ipairs { "", "#", "-10", "010", "#10", "#010", ".6", "-#12.4" } do
  for _, kind in ipairs { "x", "X", "o" } do
    for _, v in ipairs { 0, 255, 0xdeadbeef } do
      add("%" .. flags .. kind, v .. "u", v)
      add("%" .. flags .. "ll" .. kind, v .. "ull << 16", v << 16, "%" .. flags .. kind)
      add("%" .. flags .. "z" .. kind, "(size_t)" .. v, v, "%" .. flags .. kind)
    end
  end
end
for _, flags in ipairs { "", "-14", "+", " ", "#", "014", ".0", ".3", "14.2", "+.10", "-+14.1" } do
  for _, kind in ipairs { "f", "e", "E", "g", "G", "a", "A" } do
    for _, v in ipairs { 0.0, 1.5, -2.75, 1e-10, 12345.678, 6.02e23, 1 / 3 } do add("%" .. flags .. kind, ("%a"):format(v), v) end
    if not flags:find("0", 1, true) then
      add("%" .. flags .. kind, "__longlong_as_double(0x7ff0000000000000ll)", math.huge)
      add("%" .. flags .. kind, "-__longlong_as_double(0x7ff0000000000000ll)", -math.huge)
    end
  end
end
for _, flags in ipairs { "", "8", "-8", ".2", "8.3", ".0" } do add("%" .. flags .. "s", '"words"', "words") end
add("%c", "'q'", 113)
add("%5c", "'q'", 113)
add("%-5c", "'q'", 113)
add("%u", "4000000000u", 4000000000, "%d")
add("%llu", "9000000000000000000ull", 9000000000000000000, "%d")
add("%zu", "(size_t)77", 77, "%d")
add("%hd", "70000", 4464, "%d")
add("%hhd", "300", 44, "%d")
add("%hu", "70000", 4464, "%d")
add("%hhx", "0x1ff", 255, "%x")
add("%i", "-9", -9)
add("%p", "(void *)0x1234abcd", 0x1234abcd, "0x%x")

t.test("every format as the host prints it", function()
  local code, want = {}, {}
  for i, row in ipairs(rows) do
    code[#code + 1] = ('if (k == %d) printf("%d|%s|\\n", %s);'):format(i, i, row[1], row[2])
    want[#want + 1] = ("%d|" .. row[4] .. "|"):format(i, row[3])
  end
  local parts, each = {}, 60 -- a kernel of moderate size each
  for first = 1, #code, each do
    parts[#parts + 1] = ("__global__ void p%d(int k) {\n%s\n}\n"):format(first, table.concat(code, "\n", first, math.min(first + each - 1, #code)))
  end
  local got = output_of(("local k = gpu.kernel [=[%s]=]\nfor i = 1, %d do k['p' .. (i - 1) // %d * %d + 1](1, 1)(i) end gpu.synchronize()"):format(
    table.concat(parts), #code, each, each))
  local i = 0
  for line in got:gmatch("[^\n]+") do
    i = i + 1
    t.eq(line, want[i], rows[i] and rows[i][1])
  end
  t.eq(i, #want)
end)

t.test("widths from arguments, percent signs, many arguments, what printf returns", function()
  local numbers = table.concat(t.list(32, tostring), ", ")
  local got = output_of([=[
local k = gpu.kernel [[
__global__ void k(int n, const char *none) {
  printf("%*d|%-*d|%.*f|%*.*f|%*d\n", 6, n, 6, n, 2, 3.14159, 8, 3, 2.71828, -5, n);
  printf("%%|100%%\n");
  int r = printf("%d %s %f\n", n, "x", 1.0);
  printf("%d %d\n", r, printf("plain\n"));
  printf("%s\n", none);
  printf("]=] .. ("%d "):rep(32) .. [=[\n", ]=] .. numbers .. [=[);
}]]
k(1, 1)(42, nil)
gpu.synchronize()]=])
  t.eq(got, "    42|42    |3.14|   2.718|42   \n%|100%\n42 x 1.000000\nplain\n3 0\n(null)\n" .. numbers:gsub(",", "") .. " \n")
end)

t.test("what no number is has no sign", function()
  local got = output_of([=[
local k = gpu.kernel [[__global__ void k(float *x) { printf("%f %5.1f %e|%G\n", x[0] / x[0], sqrtf(x[0] - 1), x[1] - x[1], (double)(x[1] * x[0])); }]]
k(1, 1)(gpu.array({0, math.huge}))
gpu.synchronize()]=])
  t.eq(got, "nan   nan nan|NAN\n")
end)

t.test("an endless width is cut, a line longer than any buffer is not", function()
  local got = output_of([=[
local k = gpu.kernel [[__global__ void k(int n) { printf("%99999999d|\n", n); for (int i = 0; i < 3; i++) printf("%1000d", i); }]]
k(1, 1)(7)
gpu.synchronize()]=])
  local field, line = got:match("^(.-)|\n(.*)$")
  t.eq(#field, 999)
  t.eq(#line, 3000)
end)

t.test("what a kernel prints comes when it is waited for, whichever way, and at the end", function()
  local got = output_of([=[
local k = gpu.kernel [[__global__ void k(int n) { printf("kernel %d\n", n); }]]
local s, e = gpu.stream(), gpu.event()
k(1, 1)(1)
gpu.synchronize()
print("device")
s:with(function() k(1, 1)(2) end)
s:synchronize()
print("stream")
k(1, 1)(3)
e:record()
e:synchronize()
print("event")
local g = gpu.graph(function() k(1, 1)(4) end)
g:launch()
gpu.synchronize()
print("graph")
k(1, 1)(5)]=])
  t.eq(got, "kernel 1\ndevice\nkernel 2\nstream\nkernel 3\nevent\nkernel 4\ngraph\nkernel 5\n")
end)

t.done()
