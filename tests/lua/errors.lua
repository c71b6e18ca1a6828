-- Errors carry the position of the Lua code that made them, and devices that are not there say so.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

t.test("positions", function()
  local code = "local gpu = ...\nlocal x = gpu.zeros(3)\n"
  for _, line in ipairs({ "return x[4]", "x[4] = 1", "return x + gpu.zeros(2)", "return x:reshape(2)", "return x:sum(2)",
    "return gpu.zeros(-1)", "return gpu.array({1, 'a'})", "return x < 1", "return x.nothing", "return x:to('nowhere')",
    "return gpu.device('nowhere')", "return x:matmul(gpu.zeros(2))", "return x:sqrt(), gpu.sqrt(1)" }) do
    -- A local keeps the call from being a tail call, whose position Lua does not know.
    local body = line:gsub("^return (.*)$", "local y = %1; return y")
    local ok, e = pcall(assert(load(code .. body, "=here")), gpu)
    assert(not ok, line)
    assert(e:find("^here:3: "), line .. " gave " .. e)
  end
end)

t.test("errors are short and whole", function()
  local x = gpu.zeros(3)
  local e = t.raises("out of range", function() return x[4] end)
  assert(#e < 200 and not e:find("\n"))
  assert(not t.raises("", function() return x + gpu.zeros(2) end):find("%%"))
end)

t.test("more arguments than there are", function()
  local x, la = gpu.ones(3, 4), gpu.linalg
  for _, case in ipairs({ { gpu.seed, 1, 2 }, { x.roll, x, 1, 2, 3 }, { x.copy_, x, x, 3 }, { x.totable, x, 3 },
    { gpu.unique, x, {}, 1 }, { gpu.array, { 1 }, "float32", "cpu", "cpu" }, { la.inv, x, 1 }, { gpu.fft.fft, x, 4, 1, "ortho", 5 },
    { gpu.random.permutation, 3, "int64", "cpu", 1 }, { x.frexp, x, 1 } }) do
    t.raises("nothing expected here, got ", table.unpack(case))
  end
  t.raises("gpu.seed(integer)", gpu.seed, 1, 2)
  t.eq(gpu.unique(x, nil, nil).size, 1)
  t.eq(gpu.cat({ x, x }, 1, { out = gpu.zeros(6, 4) }):sum(), 24)
  t.eq(gpu.random.generator(7):permutation(3, "int64", "cpu"):sum(), 6)
end)

t.test("options have names, and what takes none is told", function()
  local x = gpu.ones(3, 4)
  for _, f in ipairs({ x.unique, gpu.linalg.svd }) do
    t.raises("options have names, as in {name = value}; this table has the key 1", f, x, { 1.5, 2 })
  end
  t.raises("meshgrid: there is no option 'index'; there is indexing", gpu.meshgrid, x[1], x[1], { index = "ij" })
  t.raises("isin: there is no option 'invert'; it is x:isin(y)", gpu.isin, x, { invert = true })
  t.raises("this table has the name 'invert'", gpu.isin, x, { 1, 2, invert = true })
  t.raises("this table has the key 0, too; lists begin at 1", gpu.array, { [0] = 1, 2, 3 })
  t.raises("a list of 2 numbers expected, and this table has the key 2.5", gpu.array, { 1, 2, [2.5] = 3 })
  t.raises("this table has the name 'y'", gpu.array, { { 1, 2 }, { 3, 4, y = 5 } })
  t.raises("this table has the name 'dtype'", gpu.array, { { 1, 2 }, { 3, 4, dtype = "int8" } })
  local long = {}
  for i = 1, 1000 do long[i] = i end
  t.eq(gpu.array(long):sum(), 500500)
  long.size = 1000
  t.raises("this table has the name 'size'", gpu.isin, x, long)
  t.raises("expected {full = true} or nothing, got boolean", gpu.linalg.svd, x, false)
  t.raises("nothing expected here, got table", gpu.docs, nil, {})
  t.raises("function expected, got boolean", gpu.time, true)
  t.raises({ "the length of a transform is an integer from 1 to 2^48, not table" }, gpu.fft.fft, x, { n = {} })
  t.raises("equal parts", gpu.zeros(0).split, gpu.zeros(0), math.maxinteger)
  local code = "local gpu = ...\nlocal x = gpu.ones(3)\nlocal y = x:outer('a', {out = x})"
  t.raises("here:3: bad argument #2 to 'outer' (array expected, got string)", assert(load(code, "=here")), gpu)
end)

t.test("of numbers alone it is told what computes an operation", function()
  t.raises("sqrt needs an array; of numbers it is math.sqrt", gpu.sqrt, 4)
  t.raises("erf needs an array; of numbers it is gpu.erf(gpu.array{x})[1]", gpu.erf, 1)
  t.raises("hypot needs an array; of numbers it is gpu.hypot(gpu.array{x}, y)[1]", gpu.hypot, 3, 4)
  t.eq(gpu.hypot(gpu.array { 3 }, 4)[1], 5.0)
end)

t.test("an axis may be named", function()
  local x = gpu.range(6):reshape(2, 3)
  for _, f in ipairs { x.cumsum, x.cummax, x.softmax, x.log_softmax } do assert(f(x, { axis = 1 }):equal(f(x, 1))) end
  assert(x:repeat_interleave(2, { axis = -1 }):equal(x:repeat_interleave(2, 2)))
  assert(gpu.stack({ x, x }, { axis = 2 }):equal(gpu.stack({ x, x }, 2)))
  assert(gpu.concatenate({ x, x }, { axis = 2 }):equal(gpu.concatenate({ x, x }, 2)))
  assert(x:take(gpu.array { 2 }, { axis = 1 }):equal(x[{ { 2, 2 } }]))
  t.raises("there is no axis 3: the array has 2, from 1 to 2, or from -1 to -2 from the end", x.cumsum, x, { axis = 3 })
  t.raises("there is no axis 0: the array has one, which is 1, or -1 from the end", x.sum, x[1], 0)
  t.raises("there is no axis 1: the array has none", x.sum, gpu.full({}, 1), 1)
  t.raises("there is no option 'dtype'; there is axis", x.cumsum, x, { axis = 1, dtype = "float64" })
  t.raises("there is no option 'axs'; there is axis", x.cumsum, x, { axs = 1 })
  t.raises("and not table", x.cumsum, x, {})
  t.raises("and not table", x.cumsum, x, { 1 })
end)

t.test("switches are booleans", function()
  local x = gpu.ones(3, 4)
  t.raises("several axes are one table, as {1, 2}", x.sum, x, 1, 2)
  t.raises("keepdims is true or false, not string", x.sum, x, 1, "yes")
  t.raises("descending is true or false, not string", x.sort, x, 1, "up")
  t.raises("counts is true or false, not number", x.unique, x, { counts = 1 })
end)

t.test("what is missing or of another kind", function()
  local x = gpu.ones(3, 4)
  t.raises("function expected, got number", gpu.fromfunction, 3, { 2 })
  t.raises("x:to_sparse()", gpu.sparse.csr, x)
  t.raises({ "{rows, columns}", "got no value" }, gpu.sparse.csr, { 1 }, { 1 }, { 1, 2 })
  t.raises("two lists of axes", gpu.tensordot, x, x, { 1 })
  t.raises({ "a quantile from 0 to 1", "got nil" }, x.quantile, x)
  t.raises("this one has the key x", function() return x[{ x = 1 }] end)
  for _, f in ipairs({ x.sum, x.flip, x.permute }) do t.raises("an axis is an integer from 1 on, or from the end with -1, and not nil", f, gpu.ones(2, 3, 4), { 1, nil, 2 }) end
  t.raises("not nil", gpu.tensordot, x, x, { { 1, nil, 2 }, { 1, 2 } })
  t.raises("not nil", gpu.fft.fftn, x, { 2, nil, 3 })
  t.raises("and not 1.5", x.sum, x, 1.5)
  t.raises("expected a list of arrays, as {x, y}, got array", gpu.cat, x, x)
  t.raises("array or number expected, got table; gpu.array makes an array of it", function() return x + { 1 } end)
  t.raises("array expected, got table; gpu.array", x.matmul, x, { { 1 } })
  t.raises("for i, v in ipairs(x) do", function() for _ in x do end end)
  t.raises({ t.here(), "ipairs(x) gives" }, function() for _ in pairs(x) do end end)
  t.raises({ '"1:n" is no slice', "x[{{a, b}}]" }, function() return x["1:n"] end)
  t.raises({ '"1:n" is no slice', "x[{{a, b}}]" }, function() x["1:n"] = 0 end)
  t.raises({ '":, None" is no slice', 'x[":, newaxis"]' }, function() return x[":, None"] end)
  t.raises({ "item 1 of the index is nil", "gpu.newaxis" }, function() return x[{ nil, {} }] end)
  for name, meant in pairs { Float32 = "float32", ["np.float64"] = "float64", f4 = "float32", flaot32 = "float32", int23 = "int32" } do
    t.raises({ "'" .. name .. "' is neither", 'did you mean "' .. meant .. '"?' }, gpu.zeros, 3, name)
  end
  t.raises('(such as "cpu")', gpu.zeros, 3, "qwertz")
  t.raises("it is written #x", function() return x.length end)
  t.raises("bins: expected a whole number", gpu.hist, gpu.ones(3), { bins = "a" })
  t.raises("a function is drawn by its values", gpu.plot, math.sin)
  t.raises('style = "points"', gpu.plot, gpu.ones(3), "r--")
  t.raises("it is written gpu.memory()", function() return gpu.mem_get_info() end)
  t.raises({ "floating dtype, not int32", "gpu.random.integers" }, gpu.random.normal, 0, 1, 3, "int32")
end)

t.test("fields of arrays are not set", function()
  local x = gpu.ones(2, 3)
  t.raises({ "cannot set 'shape' of an array", "x:reshape(...)" }, function() x.shape = { 3, 2 } end)
  t.raises({ "cannot set 'dtype' of an array", 'x:to("int32")' }, function() x.dtype = "int32" end)
  t.raises({ "cannot set 'device'", 'x:to("cpu")' }, function() x.device = "cpu" end)
  t.raises({ "cannot set 'name'", "takes indices" }, function() x.name = 3 end)
end)

t.test("names of NumPy and Torch", function()
  local x = gpu.array({ 1, 0 / 0, 5, 2 })
  t.raises("it is written gpu.random.integers", function() return gpu.randint end)
  t.raises("it is written gpu.randn", function() return gpu.random.standard_normal end)
  t.raises("nothing takes gradients by itself", function() return x:backward() end)
  t.raises("it is written gpu.where(mask, value, x)", function() return x:masked_fill() end)
  t.raises({ "gpu has no module 'signal'", "gpu.butter" }, function() return gpu.signal end)
  t.raises({ "iirnotch: the frequency is 600", "500" }, function() gpu.iirnotch(600, 30, 1000) end)
  t.raises({ "iirpeak: the quality is 0.2, expected more than 0.8" }, function() gpu.iirpeak(400, 0.2, 1000) end)
  t.raises({ "deconvolve: h[1]", "is 0" }, function() gpu.deconvolve({ 1, 2 }, { 0, 1 }) end)
  t.raises({ "poly: the roots are one axis" }, function() gpu.poly(gpu.ones(2, 2)) end)
  t.raises({ "ellipj", "complex" }, function() gpu.ellipj({ 1 }, gpu.array { gpu.complex(1, 2) }) end)
  t.raises({ "fresnel", "x:fresnels() and x:fresnelc()" }, function() return gpu.fresnel end)
  t.raises({ "sph_harm", "gpu.sph_harm_y(n, m, polar, azimuth)" }, function() return gpu.sph_harm end)
  t.raises({ "sph_harm_y", "complex" }, function() gpu.sph_harm_y(1, 0, { 1 }, gpu.array { gpu.complex(1, 2) }) end)
  t.raises({ "sici", "x:sinint() and x:cosint()" }, function() return gpu.sici end)
  t.raises({ "gpu has no module 'nn'", "gpu.conv2d(x, w)" }, function() return gpu.nn end)
  t.raises("the shape is one table, then comes the value", gpu.full, 2, 3, 7)
  t.raises("did you mean 'integers'?", function() return gpu.random.randint end)
  t.raises("it is written gpu.rand", function() return gpu.random.rand end)
  t.raises("it is written gpu.randn", function() return x:randn() end)
  t.raises("the path comes first, gpu.save", gpu.save, x, "x.npy")
  x = gpu.array({ 1, 4, 9 })
  local y, nan = gpu.array({ 9, 4, 7 }), 0 / 0
  local recipes = { { "mse_loss", "((x - y) ^ 2):mean()", (64 + 0 + 4) / 3 }, { "addcmul", "x + y * z", { 19, 12, 23 } },
    { "zscore", "(x - x:mean()) / x:std()", ((x - 14 / 3) / x:std()):totable() }, { "tolist", "x:totable()", { 1, 4, 9 } },
    { "H", "x.T:conj()", { 1, 4, 9 } }, { "atleast_1d", "x:reshape(-1)", { 1, 4, 9 } }, { "e", "math.exp(1)", math.exp(1) },
    { "flat", "x:flatten()", { 1, 4, 9 } }, { "isreal", "x.imag:eq(0)", { true, true, true } },
    { "iscomplex", "x.imag:ne(0)", { false, false, false } } }
  for _, r in ipairs(recipes) do
    t.raises("it is written " .. r[2], function() return gpu[r[1]] end)
    local got = assert(load("local x, y, z = ...\nreturn " .. r[2]))(x, y, 2)
    t.close(type(got) == "number" and { got } or got, type(r[3]) == "number" and { r[3] } or r[3], 1e-6)
  end
  -- Of other data: the name, how it is written, what is given to that, and what comes.
  for _, r in ipairs({
    { "circulant", "c[gpu.fromfunction(function(i, j) return (i - j) % n + 1 end, n, n)]", gpu.array({ 7, 8, 9 }), { 7, 9, 8, 8, 7, 9, 9, 8, 7 } },
    { "entr", "-x:xlogy(x)", gpu.array({ 0, 1, 0.5 }), { 0, 0, 0.5 * math.log(2) } },
    { "normalize", "x / x:norm(2, -1, true)", gpu.array({ 3, 4 }), { 0.6, 0.8 } },
    { "smooth_l1_loss", "gpu.where(d:lt(1), d ^ 2 / 2, d - 0.5):mean()", gpu.array({ 0.5, 3 }), { (0.125 + 2.5) / 2 } },
    { "relu6", "x:clip(0, 6)", gpu.array({ -1, 3, 9 }), { 0, 3, 6 } },
    { "logsigmoid", "-(-x):softplus()", gpu.array({ 0 }), { -math.log(2) } },
    { "mish", "x * x:softplus():tanh()", gpu.array({ 1 }), { 0.8650984 } },
    { "hsplit", "x:split(n, 2)", gpu.ones(2, 2), 2 },
    { "triu_indices_from", "gpu.triu_indices(#x)", gpu.ones(2, 2), { 1, 1, 2 } },
    { "real_if_close", "x.real", gpu.array({ 1, 2 }), { 1, 2 } }, { "single", 'x:to("float32")', gpu.array({ 1 }), { 1 } },
    { "unit_impulse", 'gpu.range(n):eq(1):to("float32")', gpu.ones(3), { 1, 0, 0 } },
    { "argrelmin", "gpu.find_peaks(-x)", gpu.array({ 3, 1, 2 }), { 2 } },
    { "polyder", "x[{{1, #x - 1}}] * gpu.range(#x - 1, 1, -1)", gpu.array({ 3, 2, 7 }), { 6, 2 } },
  }) do
    t.raises("it is written " .. r[2], function() return gpu[r[1]] end)
    local x = r[3]
    local got = assert(load("local x, y, c, n, d = ...\nreturn " .. r[2]))(x, gpu.array({ 2 }), x, x.shape[1], x)
    if type(got) == "number" then got = gpu.array({ got }) end
    if type(r[4]) == "number" then t.eq(#got, r[4]) else t.close(got:flatten(), r[4], 1e-5) end
  end
  t.raises('it is written gpu.array({math.huge}):to("int32")[1]', function() return gpu.iinfo end)
  t.eq(gpu.array({ math.huge }):to("int32")[1], 2147483647)
  local root, symmetric = "(v * w:sqrt()):matmul(v.T)", gpu.array({ { 2, 1 }, { 1, 3 } }, "float64")
  t.raises("it is written " .. root, function() return gpu.sqrtm end)
  local w, v = gpu.linalg.eigh(symmetric)
  root = assert(load("local v, w = ...\nreturn " .. root))(v, w)
  t.close(root:matmul(root):flatten(), { 2, 1, 1, 3 }, 1e-12)
  local names = { kl_div = "(y * (y:log() - x)):mean()", flags = "x:is_contiguous()", astype = 'x:to("int32")' }
  for name, written in pairs(names) do t.raises("it is written " .. written, function() return x[name] end) end
  t.raises("it is written x:diagonal():sum()", function() return x.trace end)
  t.raises("it is written gpu.sparse.cg", function() return gpu.cg end)
  t.raises("did you mean 'todense'?", function() return gpu.sparse.eye(2).toarray end)
  local logits, classes = gpu.array({ { 1, 2 }, { 3, nan } }):nan_to_num(1), gpu.array({ 2, 1 })
  local loss = "-x:gather(2, classes:unsqueeze(2)):mean()"
  t.raises("it is written " .. loss, function() return logits.nll_loss end)
  t.near(assert(load("local x, classes = ...\nreturn " .. loss))(logits:log_softmax(), classes), gpu.cross_entropy(logits, classes))
  t.raises("it is written x:gather", function() return gpu.take_along_axis end)
  t.raises("did you mean 'trapezoid'?", function() return gpu.trapz end)
  t.raises("did you mean 'isin'?", function() return gpu.in1d end)
  t.raises("it is written gpu.reduction [[ template", function() return gpu.ReductionKernel end)
  t.raises("function expected, got array", gpu.time, x)
  assert(gpu.time(setmetatable({}, { __call = function() return x + 1 end })) >= 0)
  t.raises("array or table of numbers expected, got number", gpu.isin, 1, { 1 })
  t.raises("x.T, x.real and x.imag are arrays themselves", function() return x:T() end)
  t.raises('a dtype is a string, as in gpu.zeros(3, "int32")', function() return gpu.int32 end)
  t.raises('it is written x:to("float64")', function() return x:double() end)
  t.raises("it is written gpu.linalg.svd", function() return x:svd() end)
  t.raises("it is written gpu.linspace", function() return x:linspace() end)
  t.raises("it is written gpu.fft.fft", function() return x.fft.nothing or gpu.rfft or x.rfft end)
  t.raises("it is written gpu.linalg.inv", function() return x:inverse() end)
  t.raises('rows 1 to 2 are x["1:2"]', function() return x:sub(1, 2) end)
  t.raises("attempt to call a shape value", function() return x:shape() end)
  t.raises("gpu.fft is a module, not a function: it has gpu.fft.fft(x)", function() return gpu.fft(x) end)
  t.raises("it is written gpu.range(0, n - 1)", function() return gpu.arange end)
  t.raises('it is written x:to("cpu")', function() return x.get end)
  t.raises("it is written gpu.vectorize [[ template", function() return gpu.ElementwiseKernel end)
  t.raises("did you mean 'synchronize'?", function() return gpu.sync end)
  t.raises("did you mean 'unsqueeze'?", function() return x.expand_dims end)
end)

t.test("devices", function()
  t.raises({ "nowhere", "simt" }, gpu.device, "nowhere")
  t.raises({ "got the number 3", '"cuda:3"' }, gpu.device, 3)
  t.raises("expected a device name", gpu.device, 3.5)
  t.raises("expected a device name", gpu.device, {})
  local d = gpu.device()
  t.raises("no field 'speed'", function() return d.speed end)
  t.eq(gpu.device(d), d)
  t.eq(gpu.devices().nowhere, nil)
  for _, device in ipairs(gpu.devices()) do
    assert(#device.name > 0 and #device.model > 0 and device.memory > 0)
    assert(device.kind == "cpu" or device.kind == "simt" or device.kind == "cuda")
    t.eq(device.runs_kernels, device.kind ~= "cpu")
    if device.runs_kernels then
      t.eq(device.warp_size, 32)
      t.eq(#device.max_grid, 3)
      assert(device.compute_capability:find("^%d+%.%d+$"))
    else
      t.eq(device.warp_size, nil)
    end
  end
  local before = gpu.device()
  gpu.device("cpu")
  t.eq(gpu.zeros(1).device, "cpu")
  gpu.device(before)
  t.eq(gpu.zeros(1).device, before.name)
end)

t.test("foreign values", function()
  local x = gpu.zeros(3)
  for _, bad in ipairs({ "text", {}, print, io.stdout, coroutine.create(print) }) do
    t.raises("", function() return x + bad end)
    t.raises("array expected", x.sum, bad)
    t.raises("", gpu.zeros, 3, bad ~= nil and (type(bad) == "table" and { nonsense = 1 } or bad))
  end
  t.raises("array expected", getmetatable(x).__len, io.stdout)
  t.raises("expected", getmetatable(x).__close, io.stdout)
  t.raises("expected", getmetatable(gpu.device()).__index, x, "name")
end)

t.done()
