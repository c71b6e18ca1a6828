-- What arrays look like.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local function shown(x, title, ...)
  t.eq(tostring(x), table.concat({ title, ... }, "\n"))
end

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function title(rest) return "array " .. rest .. " on " .. device end

  test("tables and rows", function()
    shown(gpu.array({ { 1, 2, 3 }, { 4, 5, 60 } }, device), title "float32 (2, 3)", "   1   2   3", "   4   5  60")
    shown(gpu.array({ 1, -2 }, "int8", device), title "int8 (2,)", "   1  -2")
    shown(gpu.array({ true, false }, device), title "bool (2,)", "   true  false")
    shown(gpu.array(1.5, device), title "float32 ()", "  1.5")
    shown(gpu.zeros(0, 3, device), title "float32 (0, 3)", "  no elements")
    shown(gpu.array({ { 1, 2 }, { 3, 4 } }, "int32", device).T, title "int32 (2, 2)", "  1  3", "  2  4")
    shown(gpu.range(8, "int32", device):reshape(2, 2, 2), title "int32 (2, 2, 2)", "(1, :, :)", "  1  2", "  3  4",
      "(2, :, :)", "  5  6", "  7  8")
  end)

  test("LaTeX", function()
    local function source(x) return tostring(x:latex()) end
    local function matrix(...) return "\\begin{bmatrix}\n  " .. table.concat({ ... }, " \\\\\n  ") .. "\n\\end{bmatrix}" end
    t.eq(source(gpu.array({ 1, 2.5 }, device)), matrix "1.0 & 2.5")
    t.eq(source(gpu.array({ { 1 }, { -2 } }, "int32", device)), matrix("1", "-2"))
    t.eq(source(gpu.array(7, "int32", device)), "7")
    t.eq(source(gpu.array({ true, false }, device)), matrix "\\mathrm{true} & \\mathrm{false}")
    t.eq(source(gpu.array({ 1 / 0, -1 / 0, 0 / 0 }, device)), matrix "\\infty & -\\infty & \\mathrm{nan}")
    t.eq(source(gpu.array({ 1e-20, 2e20 }, device)), matrix "1 \\times 10^{-20} & 2 \\times 10^{20}")
    t.eq(source(gpu.array({ gpu.complex(1, -2) }, "complex64", device)), matrix "1-2i")
    t.eq(source(gpu.eye(100, "int32", device)):match("bmatrix}\n([^\n]*)"), "  1 & 0 & 0 & \\cdots & 0 & 0 & 0 \\\\")
    t.eq(select(2, source(gpu.eye(100, "int32", device)):gsub("\\ddots", "")), 1)
    t.eq(source(gpu.zeros(0, device)), "\\begin{bmatrix}\n\\end{bmatrix}")
    t.raises("has 3 axes", gpu.zeros(1, 1, 1).latex, gpu.zeros(1, 1, 1, device))
  end)

  test("numbers", function()
    local function row(values, dtype)
      return tostring(gpu.array(values, dtype or "float32", device)):match("\n%s*(.*)")
    end
    t.eq(row({ 0.1, 0.25, 10 }), "0.10   0.25  10.00")
    t.eq(row({ 1 / 3 }), "0.333333")
    t.eq(row({ 1 / 3 }, "float64"), "0.333333")
    t.eq(row({ 1e-8, 1 }), "1e-08  1e+00")
    t.eq(row({ 1.5e20 }), "1.5e+20")
    t.eq(row({ 123456789 }, "float64"), "123456789")
    t.eq(row({ 0 / 0, 1 / 0, -1 / 0, 1 }), "nan   inf  -inf     1")
    t.eq(row({ 1234.5, 0.001 }), "1234.500     0.001")
    t.eq(row({ 1234567, 0.5 }), "1234567.0        0.5")
    t.eq(row({ 0.1, 0.25, 1e5 }), "0.10       0.25  100000.00")
    t.eq(row({ 0.001234, 12.5, 1000 }), "0.00123    12.50000  1000.00000")
    t.eq(row({ -507.022095, 0.977971 }), "-507.0221     0.9780")
    t.eq(row({ 100000.5, 7 }), "100000.5       7.0")
    t.eq(row({ 1, 1000000.25 }, "float64"), "1.0  1000000.2")
    t.eq(row({ 1e9 + 0.5 }, "float64"), "1e+09")
    t.eq(row({ -1 }, "uint64"), "18446744073709551615")
    t.eq(row({ math.mininteger }, "int64"), "-9223372036854775808")
    t.eq(row({ 0.1, 2 }, "float16"), "0.1  2.0")
    t.eq(row({ 0.1, 2 }, "bfloat16"), "0.1  2.0")
    t.eq(row({ 1, 2.5, 1e-300 }, "float64"), "1.0e+00   2.5e+00  1.0e-300")
  end)

  test("edges of large arrays", function()
    shown(gpu.range(1000, device), title "float32 (1000,)", "     1     2     3  ...   998   999  1000")
    shown(gpu.range(100 * 100, "int32", device):reshape(100, 100), title "int32 (100, 100)",
      "      1      2      3  ...     98     99    100", "    101    102    103  ...    198    199    200",
      "    201    202    203  ...    298    299    300", "  ...",
      "   9701   9702   9703  ...   9798   9799   9800", "   9801   9802   9803  ...   9898   9899   9900",
      "   9901   9902   9903  ...   9998   9999  10000")
    local text = tostring(gpu.zeros(5, 40, 2, 40, device))
    for _, part in ipairs({ "(1, 1, :, :)", "(1, 40, :, :)", "(5, 1, :, :)", "(5, 40, :, :)" }) do
      assert(text:find(part, 1, true), part)
    end
    assert(not text:find("(2, ", 1, true))
    assert(#text < 2000)
    -- The view's own edges, not those of what it views.
    local x = gpu.range(2000, device)
    assert(tostring(x["::-1"]):find("2000  1999  1998", 1, true))
    local deep = gpu.zeros({ 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 }, "int8", device)
    assert(#tostring(deep) < 5000)
    assert(#tostring(gpu.zeros({ 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 }, "int8", device)) < 200000)
    assert(#tostring(gpu.zeros({ 8, 8, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 8 }, "int8", device)) < 200000)
  end)

  test("lines fit", function()
    for _, x in ipairs({ gpu.rand(300, device), gpu.rand(4, 70, device), gpu.randn(3, 3, 30, device), gpu.rand(90, 90, device) }) do
      for line in tostring(x):gmatch("[^\n]+") do assert(#line <= 84, line) end
    end
  end)

  test("printing copies only what it shows", function()
    local x = gpu.zeros(1 << 20, device)
    local before = gpu.memory(device).peak
    tostring(x)
    assert(gpu.memory(device).peak - before < 1 << 16)
  end)

  test("print options", function()
    local x, original = gpu.array({ 1 / 3, 2e-5, 123.456 }, device), gpu.printoptions()
    local function row(options, y)
      local before = gpu.printoptions(options)
      local text = tostring(y or x):match("\n%s*(.*)")
      gpu.printoptions(before)
      return text
    end
    t.eq(original.precision, false)
    t.eq(original.scientific, "auto")
    t.eq(row {}, "0.333333    0.000020  123.456001")
    t.eq(row { precision = 3, scientific = false }, "0.333    0.000  123.456")
    t.eq(row { precision = 2, scientific = true }, "3.33e-01  2.00e-05  1.23e+02")
    t.eq(row({ precision = 0 }, gpu.array({ 1.6, 2.4 }, device)), "2  2")
    t.eq(row({ precision = 3 }, gpu.array({ 0.5, 0.25 }, device)), "0.50  0.25")
    t.eq(row({ precision = 12 }, gpu.array({ 0.1, 1 / 3 }, device)), "0.10000000  0.33333334")
    t.eq(row({ precision = 12 }, gpu.array({ 0.1, 1 / 3 }, "float64", device)), "0.100000000000  0.333333333333")
    t.eq(row({ scientific = false }, gpu.array({ 1e15, 1 }, "float64", device)), "1000000000000000                 1")
    t.eq(row({ scientific = false }, gpu.array({ 1e16, 1 }, "float64", device)), "1e+16  1e+00")
    t.eq(row({ scientific = true }, gpu.range(2, "int32", device)), "1  2")
    t.eq(row({ threshold = 10, edgeitems = 2 }, gpu.range(20, device)), "1   2  ...  19  20")
    t.eq(select(2, row({ threshold = 400 }, gpu.range(400, device)):gsub("%d+", "")), 400)
    t.eq(row({ linewidth = 12 }, gpu.range(4, device)), "1  2  3  4")
    t.eq(row({ linewidth = 11 }, gpu.range(4, device)), "1  2  3\n  4")
    t.eq(select(2, row({ edgeitems = 9, linewidth = 200 }, gpu.eye(50, "int8", device)):gsub("1", "")), 18)
    t.eq(row({ threshold = 0 }, gpu.zeros(2, 2, "int8", device)), "0  0\n  0  0")
    local complex = gpu.array({ gpu.complex(1 / 3, 1e15) }, "complex128", device)
    t.eq(row({ precision = 17, scientific = false }, complex), "0.3333333333333333+1000000000000000.0000000000000000i")
    t.eq(row({ precision = 1 }, gpu.array({ gpu.complex(1 / 3, 2) }, device)), "0.3+2.0i")
    local before = gpu.printoptions { precision = 2, scientific = false }
    t.eq(tostring(x:latex()):match("\n  (.-) "), "0.33")
    t.eq(gpu.printoptions { precision = false }.precision, 2)
    t.eq(gpu.printoptions(before).precision, false)
    t.raises("precision is -1, expected 0 at least", gpu.printoptions, { precision = -1 })
    t.raises("precision is 18, expected 17 at most", gpu.printoptions, { precision = 18 })
    t.raises("edgeitems is 0, expected 1 at least", gpu.printoptions, { edgeitems = 0 })
    t.raises("linewidth is 2.5, expected an integer", gpu.printoptions, { linewidth = 2.5 })
    t.raises('scientific is 3, expected true, false or "auto"', gpu.printoptions, { scientific = 3 })
    t.raises("there is no option 'suppress'; there are precision", gpu.printoptions, { suppress = true })
    t.raises("expected a table of options", gpu.printoptions, 3)
    -- What was wrong changes nothing.
    t.raises("edgeitems is 0", gpu.printoptions, { precision = 3, edgeitems = 0 })
    t.eq(gpu.printoptions().precision, false)
  end)

  test("other forms", function()
    local x = gpu.array({ 1 }, device)
    t.eq("x: " .. x, "x: " .. tostring(x))
    t.eq(x .. "!", tostring(x) .. "!")
    x:free()
    t.eq(tostring(x), "array (freed)")
    t.eq(tostring(gpu.zeros(3, 4).shape), "(3, 4)")
  end)
end

t.test("devices and the module", function()
  assert(tostring(gpu):find(gpu.version, 1, true))
  assert(tostring(gpu.devices()):find("cpu", 1, true))
  assert(tostring(gpu.devices().cpu):find("^cpu"))
end)

t.test("long sentences of what a check found", function()
  local found = gpu.check(function() end)
  found[1] = { text = ("words that go on "):rep(500) .. "\n  12 | " .. ("x"):rep(3000) .. "\nthe end" }
  t.eq(tostring(found), found[1].text)
end)

t.done()
