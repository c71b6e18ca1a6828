-- Complex numbers as Lua values, arrays of them beside real ones, how they print, what refuses them, and kernels over them.
-- What NumPy computes with such arrays is in tests/numpy/test_complex.py.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local z = gpu.complex(1, -2)

t.test("complex numbers compute with each other and with numbers", function()
  t.eq(tostring(z) .. " " .. tostring(z + 1) .. " " .. tostring(2 * z) .. " " .. z / 2, "1-2i 2-2i 2-4i 0.5-1i")
  t.eq(tostring(z * z) .. " " .. tostring(z ^ 2) .. " " .. tostring(-z), "-3-4i -3-4i -1+2i")
  t.eq(z / z, gpu.complex(1))
  t.eq(z:abs() ^ 2 < 5.0001 and z:conj() == gpu.complex(1, 2), true)
  t.near(z:angle(), math.atan(-2, 1))
  t.near((z:sqrt() ^ 2 - z):abs(), 0, 1e-14)
  t.eq(z == gpu.complex(1, 2) or z == 1, false)
  t.eq(tostring(gpu.complex(0, -0.0)), "0-0i")
  t.eq(z:isnan() or gpu.complex(0 / 0):isnan() == false, false)
end)

t.test("what complex numbers are not is said", function()
  t.raises({ "no order", "z:abs()" }, function() return z < z end)
  t.raises({ "no 'real'", "re, im" }, function() return z.real end)
  t.raises({ "arithmetic" }, function() return z // 2 end)
  t.raises({ "add of a complex number and table" }, function() return z + {} end)
  t.raises({ "number expected" }, function() return gpu.complex("a") end)
  t.raises({ "real numbers" }, function() return gpu.complex(gpu.ones(2), z) end)
  t.raises({ "gpu.complex has no meaning for complex numbers" }, function() return gpu.complex(gpu.complex(gpu.ones(2))) end)
end)

for _, device in ipairs(t.devices()) do
  local function test(name, body) t.test(name .. " on " .. device, body) end
  local function array(values, dtype) return gpu.array(values, dtype, device) end

  test("arrays of complex numbers and their dtypes", function()
    local x = array({ { z, 2 }, { gpu.complex(0, 1), 3 } })
    t.eq(x.dtype .. gpu.full(2, z, device).dtype .. gpu.array(z, device).dtype, "complex64complex64complex64")
    t.eq(x[1][1], z)
    t.eq(x[{ 1, 2 }], gpu.complex(2))
    t.eq(x:totable()[2][1], gpu.complex(0, 1))
    t.eq((x * array({ 1, 2 }, "float64")).dtype .. (x + array({ 1, 2 }, "int16")).dtype, "complex128complex64")
    t.eq((array({ 1, 2 }, "float64") * z).dtype .. (array({ 1, 2 }, "int64") * z).dtype .. (array({ 1 }) + z).dtype,
      "complex128complex128complex64")
    t.eq((x + 1).dtype .. (x * 2.5).dtype .. x:abs().dtype .. x.real.dtype .. x:eq(2).dtype, "complex64complex64float32float32bool")
    t.eq(gpu.complex(gpu.ones(2, "float16", device), 1).dtype .. gpu.complex(1, gpu.ones(2, "int64", device)).dtype,
      "complex64complex128")
    t.eq(x:equal(gpu.array(x:tobytes(), "complex64", device):reshape(2, 2)), true)
    t.eq(x:allclose(x * (1 + 1e-7)) and not x:allclose(x:conj()) and not x:equal(x.real), true)
  end)

  test("nan_to_num looks at both parts", function()
    local x = array({ gpu.complex(0 / 0, 1 / 0), gpu.complex(2, -1 / 0) }, "complex128")
    local y = x:nan_to_num(-1, 100, -200)
    t.same(y:totable(), { gpu.complex(-1, 100), gpu.complex(2, -200) })
    t.eq(y.dtype .. tostring(x[1]:isnan()), "complex128true")
    t.eq(gpu.nan_to_num(x).imag[1], 0x1.fffffffffffffp1023)
  end)

  test("the parts are views", function()
    local x = gpu.zeros(3, 4, "complex128", device)
    x.real:fill(2)
    x.T.imag[{ {}, 2 }] = gpu.range(4, device)
    t.eq(x[{ 2, 3 }], gpu.complex(2, 3))
    t.eq(x[{ 1, 3 }], gpu.complex(2, 0))
    x.real:copy_(x.imag) -- reads what it writes beside
    t.eq(x[{ 2, 3 }], gpu.complex(3, 3))
    local lazy = gpu.ones(5000, "complex64", device) * z
    t.eq(lazy.imag:sum(), -10000.0)
  end)

  test("elements are written", function()
    local x = gpu.zeros(4, "complex64", device)
    x[1], x["2:3"], x[x:eq(0)] = z, gpu.complex(0, 1), 7
    t.eq(tostring(x), "array complex64 (4,) on " .. device .. "\n  1-2i  0+1i  0+1i  7+0i")
    x:mul_(2):add_(gpu.complex(0, 1))
    t.eq(x[1], gpu.complex(2, -3))
    local y = gpu.ones(2, device)
    t.raises({ "complex number to float32", ":to(\"complex64\")" }, function() y[1] = z end)
    t.raises({ "complex number to float32" }, function() y[{ {} }] = z end)
    t.raises({ "complex number to float32" }, function() y[y:gt(0)] = z end)
    t.raises({ "fill: float32 holds no complex numbers" }, function() y:fill(z) end)
    t.raises({ "float32" }, function() y:add_(z) end)
    t.raises({ "do not become float32", "x.real" }, function() y:copy_(x["1:2"]) end)
    t.raises({ "element [2] is a complex number", "complex64" }, function() return array({ 1, z }) end)
  end)

  test("casts", function()
    local x = array({ z, 0 })
    t.eq(x:to("complex128")[1], z)
    t.eq(x:to("bool")[1] and not x:to("bool")[2], true)
    for _, dtype in ipairs({ "int32", "float16", "float64" }) do
      t.raises({ "complex64 elements do not become " .. dtype, "x.real" }, function() return x:to(dtype) end)
    end
    t.raises({ "do not become float32" }, function() return gpu.evaluate((gpu.ones(5000, device) * z):to("float32")) end)
    t.eq(gpu.ones(2, "int8", device):to("complex64")[2], gpu.complex(1))
  end)

  test("operations without a complex meaning say so", function()
    local x = array({ z, 2 })
    for _, op in ipairs({ "floor", "cbrt", "erf", "max", "argmin", "cummax", "sort", "unique", "logsumexp", "describe" }) do
      t.raises({ op .. " has no meaning for complex numbers (complex64)" }, function() return x[op](x) end)
    end
    for _, op in ipairs({ "lt", "maximum", "atan2", "floordiv", "bitwise_and" }) do
      t.raises({ op .. " has no meaning for complex numbers (complex64)" }, function() return x[op](x, z) end)
    end
    t.raises({ "complex64" }, function() return gpu.random.normal(0, 1, { 2 }, "complex64", device) end)
  end)

  test("columns of complex numbers are aligned", function()
    local x = array({ { gpu.complex(1.5, -20), gpu.complex(-100) }, { gpu.complex(0, 0 / 0), gpu.complex(1e-3, 1 / 0) } },
      "complex128")
    t.eq(tostring(x):gsub("^[^\n]*", ""), "\n" ..
      "     1.500-20.000i  -100.000 +0.000i\n" ..
      "     0.000   +nani     0.001   +infi")
    t.eq(tostring(array({ gpu.complex(1e20, 1) })):match("\n(.*)"), "  1e+20+1e+00i")
  end)

  -- Of 1 or 8 MiB, behind which no memory need be: a BLAS that reads on ends the process.
  local function whole(dtype, rows, columns)
    gpu.seed(3)
    local function part() return gpu.rand(rows, columns, { dtype = dtype == "complex64" and "float32" or "float64", device = device }) end
    return gpu.complex(part(), part())
  end
  for _, dtype in ipairs { "complex64", "complex128" } do
    local count = dtype == "complex64" and 1 << 17 or 1 << 16
    test("products of " .. dtype .. " read no further than their operands reach", function()
      local tolerance = dtype == "complex64" and 1e-4 or 1e-10
      for _, v in ipairs { whole(dtype, count, 1):flatten(), whole(dtype, count, 8)[{ ":", 8 }] } do
        for _, rows in ipairs { 1, 3, 7, 11 } do
          local a = (v * gpu.range(rows, "float32", device):reshape(rows, 1)):contiguous()
          local want = (a * v):sum(2)
          local function close(got) assert(((got - want):abs() / want:abs()):max() < tolerance) end
          close(gpu.matmul(a, v))
          close(gpu.matmul(v, a.T))
          close(gpu.matmul(v, a.T:contiguous()))
        end
      end
    end)
    test("a matrix of one column by a number, of " .. dtype, function()
      local a = whole(dtype, count, 1)
      local got, want = gpu.matmul(a, gpu.array({ z }, device)), a:flatten() * z
      assert((got - want):abs():max() < 1e-5)
      got = gpu.matmul(gpu.array({ z }, device), a.T)
      assert((got - want):abs():max() < 1e-5)
    end)
    test("factorings of " .. dtype .. " read no further than their matrices reach", function()
      local a = whole(dtype, 128, count // 128)
      for _, m in ipairs { a, a.T } do
        local u, s, vt = gpu.linalg.svd(m, { full = true })
        local k = "1:" .. s.size
        assert((gpu.matmul(u[{ ":", k }] * s, vt[{ k, ":" }]) - m):abs():max() < 1e-3)
        local b = gpu.matmul(m, gpu.ones(m.shape[2], 2, m.dtype, device))
        assert((gpu.matmul(m, (gpu.linalg.lstsq(m, b))) - b):abs():max() < 1e-2)
      end
    end)
  end
end

t.host("vectors of a batch are multiplied with matrices and vectors that lie either way", function()
  for _, dtype in ipairs { "complex64", "complex128" } do
    local function half(rows, columns) return gpu.rand(6, rows, columns, "float64", "cpu") end
    local function some(...) return gpu.complex(half(...), half(...)):to(dtype) end
    local m, row, column = some(190, 180), some(1, 190), some(180, 1)
    local turned, long, other = m:transpose(2, 3), some(1, 40000), some(40000, 1)
    for _, p in ipairs { { row, m }, { m, column }, { column:transpose(2, 3), turned }, { turned, row:transpose(2, 3) }, { long, other } } do
      local got = p[1]:matmul(p[2])
      local want = (p[1]:unsqueeze(4) * p[2]:unsqueeze(2)):sum(3)
      assert((got - want):abs():max() < 1e-4 * want:abs():max(), dtype)
    end
  end
end)

t.test("kernels take complex arrays and numbers", function()
  local k = gpu.kernel [[
    struct pair { double re, im; };
    __global__ void f(const float2 *x, float2 *y, float2 a, int n) {
      int i = threadIdx.x;
      if (i < n) y[i] = {x[i].x * a.x - x[i].y * a.y, x[i].x * a.y + x[i].y * a.x};
    }
    __global__ void g(double2 *x, pair p) { x[threadIdx.x].x += p.re; x[threadIdx.x].y += p.im; }
  ]]
  local x, y = gpu.array({ z, 2 }), gpu.zeros(2, "complex64")
  k.f(1, 32)(x, y, gpu.complex(0, 1), 2)
  t.eq(y:equal(x * gpu.complex(0, 1)), true)
  local w = gpu.zeros(2, "complex128")
  k.g(1, 2)(w, z)
  t.eq(w[2], z)
  t.raises({ "expects a complex64 array, got complex128" }, function() k.f(1, 32)(w, y, z, 2) end)
  t.raises({ "expects a complex64 array, got int32" }, function() k.f(1, 32)(gpu.ones(2, "int32"), y, z, 2) end)
  k.f(1, 32)(gpu.ones(4), gpu.zeros(4), z, 2) -- pairs of floats
end)

t.every("choosing among complex numbers", function(device)
  for _, dtype in ipairs { "complex64", "complex128" } do
    for _, n in ipairs { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 2100 } do
      local k = gpu.range(1, n, "int64", device)
      local mask = (k * 7 % 5):gt(2)
      local x, y = gpu.complex(k:to("float64"), -k:to("float64")):to(dtype), gpu.complex(0 * k:to("float64"), 1 / k):to(dtype)
      local got, filled = gpu.where(mask, x, y), x:clone()
      filled[mask] = gpu.complex(3, -4)
      assert(got.real:equal(gpu.where(mask, x.real, y.real)) and got.imag:equal(gpu.where(mask, x.imag, y.imag)), dtype .. n)
      assert(filled.real:equal(gpu.where(mask, 3, x.real)) and filled.imag:equal(gpu.where(mask, -4, x.imag)), dtype .. n)
    end
  end
end)

t.done()
