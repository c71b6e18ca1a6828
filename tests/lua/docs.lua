-- Every documented function, method and field has a text, and its example runs.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local docs = gpu.docs()

-- Runs an example with `device` as the default; what it prints is thrown away.
local function run(d, device)
  local before, print_before = gpu.device(), print
  gpu.device(device)
  if d.name == "gpu.tensormap" and device:find("^cuda") and tonumber(gpu.device().compute_capability) < 9 then
    gpu.device(before)
    t.skip("tensor maps came with compute capability 9.0")
  end
  print = function() end
  local chunk = assert(load(d.example, "=example of " .. d.name, "t", setmetatable({ gpu = gpu }, { __index = _G })))
  local ok, e = pcall(chunk)
  print = print_before
  gpu.device(before)
  assert(ok, e)
end

for _, device in ipairs(t.devices()) do
  for _, d in ipairs(docs) do
    local needs_kernels = d.name:find("^kernel") or d.name:find("^texture") or d.example and (d.example:find("gpu.kernel", 1, true) or d.example:find("gpu.vectorize", 1, true)
      or d.example:find("gpu.graph", 1, true) or d.example:find("__device__", 1, true))
    if d.example and (device ~= "cpu" or not needs_kernels) then
      t.test("example of " .. d.name .. " on " .. device, function() run(d, device) end)
    end
  end
end

t.test("texts are complete", function()
  assert(#docs > 150)
  for _, d in ipairs(docs) do
    assert(d.signature and #d.signature > 0, d.name .. " has no signature")
    assert(d.doc and d.doc:find("%.") and #d.doc > 4, d.name .. " has no doc")
    local scope = d.name:match("^(%w+)%.")
    if scope == "gpu" or scope == "array" then assert(d.example, d.name .. " has no example") end
  end
end)

t.test("each option of a signature is told of, there or with a function that the text names", function()
  local texts = {}
  for _, d in ipairs(docs) do texts[d.name] = d.doc end
  for _, d in ipairs(docs) do
    local told = d.doc
    for name in d.doc:gmatch("[%w_]+") do
      told = told .. (texts["gpu." .. name] or texts["gpu.fft." .. name] or texts["array." .. name] or "")
    end
    for options in d.signature:gmatch("%b{}") do
      for name in options:gmatch("([%a_][%w_]*) ?=") do
        assert(told:lower():find("%f[%w]" .. name:lower() .. "%f[%W]"), d.name .. " does not tell of " .. name)
      end
    end
  end
end)

t.test("everything in the gpu table is documented", function()
  local known = {}
  for _, d in ipairs(docs) do known[d.name] = true end
  for name, value in pairs(gpu) do
    if type(value) == "function" then assert(known["gpu." .. name], "gpu." .. name .. " has no documentation") end
  end
  for name in pairs(getmetatable(gpu.zeros(1)).__methods) do
    assert(known["array." .. name], "array." .. name .. " has no documentation")
  end
end)

-- What gpu.help(...) prints.
local function help(...)
  local shown, print_before = {}, print
  print = function(...) shown[#shown + 1] = table.concat({ ... }, "\t") end
  local ok, e = pcall(gpu.help, ...)
  print = print_before
  assert(ok, e)
  return table.concat(shown, "\n")
end

t.test("help", function()
  local by_name = help("linspace")
  assert(by_name:find("gpu.linspace(start, stop", 1, true))
  t.eq(help(gpu.linspace), by_name)
  assert(help("array.sum"):find("keepdims", 1, true))
  assert(help("numpy"):find("\n- int32 and uint32 with [^\n]+\n  make float32 or complex64 | float64, complex128\n"), "items of a list are not indented")
  assert(help("precision"):find("topic.accuracy", 1, true))
  local shuffles = help("warp shuffles") -- an item of a list with both words
  assert(shuffles:find("topic.kernels [^\n]+\n  %- __shfl_down_sync"), "the item is not told")
  assert(not shuffles:find("atomicAdd", 1, true), "other items are told, too")
  local all = help()
  assert(all:find("\nfunctions, as gpu.zeros(3, 4)\n  abs ", 1, true) and all:find(" zeros_like%s"), all)
  for line in all:gmatch("[^\n]+") do assert(#line <= 80, line) end
  local known = {}
  for name in all:gmatch("[%w_]+") do known[name] = true end
  for _, row in ipairs(gpu.docs()) do
    local name = row.name:match("[%w_]+$")
    assert(known[name] or name:sub(-1) == "_", row.name)
  end
  assert(select(2, all:gsub("\n", "")) < #gpu.docs() / 5, "an overview is read")
  t.raises({ "there is no help on 'qwertz'", "gpu.help() lists" }, gpu.help, "qwertz")
  t.raises("there is no help on 'lnspace'; did you mean 'gpu.linspace'?", gpu.help, "lnspace")
  t.raises("there is no help on table; in a session ?name", gpu.help, {})
end)

t.test("a profile or trace that waits for the kernel's arguments says so", function()
  local k = gpu.kernel "__global__ void k(int *x) { x[0] = 1; }"
  for _, name in ipairs { "profile", "trace" } do
    assert(help(gpu[name](k, 1, 32)):find("gpu." .. name .. "(kernel, grid, block), to be called with the kernel's arguments", 1, true))
    assert(not help(gpu[name]):find("to be called", 1, true))
  end
  t.raises("there is no help on function", gpu.help, coroutine.wrap(print))
end)

t.test("help on a module, and on words", function()
  local fft = help("fft")
  assert(fft:find("gpu.fft.rfft  ", 1, true) and fft:find("gpu.fft.dctn  ", 1, true) and not fft:find("array.", 1, true))
  t.eq(help("gpu.fft"):match("\n(.*)"), fft:match("\n(.*)"))
  local found = help("eigenvalue")
  assert(found:find("nothing is called 'eigenvalue'", 1, true) and found:find("gpu.linalg.eigh  ", 1, true))
  assert(not found:find("gpu.zeros", 1, true))
  local the = help("the")
  assert(the:find("... and %d+ more\n")) -- too many to be listed
  t.eq(select(2, the:gsub("\n%S", "")), 42)
  for line in the:gmatch("[^\n]+") do assert(#line <= 80 or not line:find(" ", 26, true), line) end
  assert(the:find("\n" .. (" "):rep(25) .. "%a"), "lines go on in their column")
  -- All words, in any order; names of other libraries; words of CUDA C and of Lua.
  assert(help("deviation standard"):find("\narray.std ", 1, true) and not help("deviation standard"):find("\narray.sum ", 1, true))
  -- Other libraries' names for what is called the same here, functions of modules, and signs.
  for word, signature in pairs { ["np.sum"] = "x:sum(", ["numpy.linalg.svd"] = "gpu.linalg.svd(", svd = "gpu.linalg.svd(", fft2 = "gpu.fft.fft2(",
    ["torch.nn.functional.softmax"] = "x:softmax(", permutation = "gpu.random.permutation(", random = "gpu.rand" } do
    t.eq(help(word):sub(1, #signature), signature)
  end
  for sign, text in pairs { ["!="] = "~=", ["+="] = "x = x + 1", ["**"] = "x ^ y", ["@"] = "A:matmul(B)", ["#"] = "length of", ["&&"] = "a & b", ["//"] = "?lua", ["[]"] = "?indexing" } do
    assert(help(sign):find(text, 1, true), sign)
  end
  assert(help("how do I slice"):find("?indexing", 1, true) and help("what is the moving average"):find("?avg_pool1d", 1, true))
  t.eq(help("np.arange"):match("^[^\n]*"), "arange is written gpu.range(0, n - 1), with both ends")
  assert(help("astype"):find("\narray.to ", 1, true) and help("vstack"):find("\ngpu.sparse.vstack ", 1, true))
  assert(help("__syncthreads"):find("void __syncthreads()", 1, true) and help("for"):find("?lua", 1, true))
  assert(help("elapsed_time"):find("elapsed_time is written event:elapsed\nevent.elapsed  ", 1, true))
  -- Subjects, in their spellings, and where they stand.
  local tutorials = {}
  for word in ("slices|csv|grid-stride|coalescing|bank conflicts|Roofline|tiling|race_condition|divergence|nvprof|debugger|prefix sum|"
    .. "privatization|tensor cores|spmv|unified memory|pinned memory|shared memory|constant memory|cuBLAS|cublasSgemm|thrust::reduce|CUDA graphs|monte carlo|k-means|linear regression|logistic regression|PCA|pandas|dropna|"
    .. "newaxis|boolean mask|axis|matrix multiplication|dot product|sort descending|value counts|fourier transform|join arrays|copy to host|timing|ufunc|read csv|warps|block size|convolution|0-based|index from 0|templates|workshop")
    :gmatch("[^|]+") do
    local text = help(word)
    assert(text:find("on '" .. word .. "': ", 1, true), text)
    for name in text:gmatch("?([%w_.]+)") do help((name:gsub("%.$", ""))) end
    local notebook = text:match("the tutorial (%S+)")
    if notebook then tutorials[notebook] = assert(io.open("tutorials/" .. notebook)):close() end
  end
  assert(not help("cubic"):find("?cuda, ?kernels", 1, true))
  assert(tutorials["01-first-kernel.ipynb"] and tutorials["07-streams.ipynb"])
  local x, centres = gpu.array { { 0, 1 }, { 4, 4 }, { 1, 0 } }, gpu.array { { 0, 0 }, { 5, 5 } }
  local y, w, p, rate = gpu.array({ { 0 }, { 1 }, { 0 } }), gpu.zeros(2, 1), nil, 0.5
  local env = setmetatable({ x = x, centres = centres, y = y, w = w, rate = rate }, { __index = _G })
  local sums = assert(load(help("kmeans"):match("': (.-), and ") .. " return " .. help("kmeans"):match("and (gpu.-%b()%S-%b())"), "", "t", env))()
  t.same(sums:totable(), { { 1, 1 }, { 4, 4 } })
  assert(load(help("logistic regression"):match("': (.-):? nothing"):gsub(" and ", " "):gsub(":$", ""), "", "t", env))()
  assert(env.p.size == 3 and w[{ 1, 1 }] > 0)
  local named = 0
  for name in tostring(gpu):gmatch("?(%w+)") do named = named + #help(name):sub(1, 1) end
  t.eq(named, 5)
  -- What occurs nowhere as a whole is looked for by those of its words that do.
  local standard = help("standard-deviation")
  assert(standard:find("nothing is called 'standard-deviation'; 'standard deviation' occurs in\n", 1, true) and standard:find("\narray.std ", 1, true))
  for _, word in ipairs { "k", "A" } do t.raises("there is no help on '" .. word .. "'; gpu.help() lists what there is", gpu.help, word) end
  assert(help("eigenvalue qwertz"):find("nothing is called 'eigenvalue qwertz'; 'eigenvalue' occurs in\n", 1, true))
  -- Words that begin so come before those inside which it stands, which are told where there is nothing else.
  assert(help("rms"):find("gpu.rms_norm", 1, true) and not help("rms"):find("convolve", 1, true))
  assert(help("leases"):find("array.free", 1, true))
  t.raises("did you mean 'array.argmax'?", gpu.help, "array.argmx")
  t.raises("there is no help on 'to qwertz'", gpu.help, "to qwertz") -- words as short as that are everywhere
  -- Those with the word in their name come first.
  local names, texts = help("conv"), false
  for name in names:gmatch("\n([%w_.]+)  +%S") do
    local named = name:lower():find("conv", 1, true)
    assert(not (named and texts), names)
    texts = texts or not named
  end
  assert(names:find("\ngpu.ndimage.convolve ", 1, true) and names:find("\narray.all ", 1, true) and texts)
  -- A dot at the end asks for what is in it.
  t.eq(help("gpu."), help())
  t.eq(help("."), help())
  t.eq(help(""), help())
  t.eq(help("gpu.fft."), help("gpu.fft"))
  t.eq(help("linspace."), help("linspace"))
  local methods = help("array.")
  assert(methods:find("functions of array:", 1, true) and methods:find("\narray.abs ", 1, true), methods)
  assert(not methods:find("\ngpu%.%w+  "), methods)
  for _, row in ipairs(gpu.docs()) do assert(not row.name:find "^array%." or methods:find("\n" .. row.name .. " ", 1, true), row.name) end
  t.raises("there is no help on 'qwertz'", gpu.help, "qwertz.")
end)

t.test("the table of dtypes says what operators do", function()
  local text = help("gpu.dtypes")
  local function short(name) return name == "bool" and "b" or (name:gsub("^uint", "u"):gsub("^int", "i"):gsub("^bfloat", "bf"):gsub("^float", "f"):gsub("^complex", "c")) end
  local names, columns = gpu.dtypes(), {}
  text = text:sub(text:find("\n+", 1, true), -1)
  for word in text:match("^\n%+([^\n]*)"):gmatch("%S+") do columns[#columns + 1] = word end
  t.eq(#columns, #names)
  for _, a in ipairs(names) do
    local row, i = text:match("\n" .. short(a) .. " ([^\n]*)"), 0
    for word in row:gmatch("%S+") do
      i = i + 1
      t.eq(columns[i], short(names[i]))
      t.eq(word, short(gpu.dtypes(a, names[i])))
      -- of bools arithmetic makes int32; maximum and the others follow the table
      local both = a == "bool" and names[i] == "bool"
      local complex = gpu.dtypes(a, names[i]):find("^complex")
      local meet = complex and gpu.add or gpu.maximum -- complex numbers have no order
      t.eq(meet(gpu.ones(1, a), gpu.ones(1, names[i])).dtype, both and "int32" or gpu.dtypes(a, names[i]))
    end
    t.eq(i, #names)
  end
  t.raises("a dtype or an array expected", gpu.dtypes, "int8")
end)

t.test("names that do not exist", function()
  local x = gpu.ones(2)
  t.raises({ "gpu has no function 'linspac'", "did you mean 'linspace'?" }, function() return gpu.linspac(0, 1) end)
  t.raises("did you mean 'ones'?", function() return gpu.oens(3) end)
  t.raises("did you mean 'sum'?", function() return x:usm() end)
  t.raises("it is written gpu.range(0, n - 1)", function() return gpu.arange(3) end)
  t.raises("method of arrays, x:nonzero(...)", function() return gpu.nonzero(gpu.ones(3)) end)
  t.raises("did you mean 'integers'?", function() return gpu.random.randint(3) end)
  t.raises("gpu.help()", function() return gpu.entirely_unknown end)
  t.raises("did you mean 'shape'?", function() return x.shap end)
  t.raises('it is written x:to("int32")', function() return x:astype("int32") end)
  t.raises("did you mean 'reshape'?", function() return x:reshap(1) end)
  t.raises({ "no method or field 'q'", "gpu.help()" }, function() return x:q() end)
  t.raises("x[\"1:5\"]", function() return x:head() end)
  t.raises("g:bincount(0, x) / g:bincount()", function() return x:groupby(1) end)
  t.raises("arrays are on one device", function() return gpu.managed(3) end)
  t.raises("x:to_sparse()", function() return gpu.sparse.csr_matrix(x) end)
  t.raises("gpu has no function 'cudaMalloc'; memory is that of arrays", function() return gpu.cudaMalloc(3) end)
  local s = gpu.stream()
  t.raises("a stream has no method or field 'sync'; did you mean 'synchronize'?", function() return s:sync() end)
  t.raises("an event has no method or field 'elapsed_time'; did you mean 'elapsed'?",
    function() return s:record():elapsed_time() end)
  t.eq(rawget(gpu, "linspac"), nil)
end)

t.done()
