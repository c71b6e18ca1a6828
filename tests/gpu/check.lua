-- What only a GPU can show. `lunarray tests/gpu/check.lua FOLDER` runs the Lua tests and the kernel tests on cuda, compares
-- results between cuda, simt and cpu, measures launch overhead and bandwidth, and writes FOLDER/gpu-check.json and
-- FOLDER/gpu-check.txt. Without a GPU it says so and exits with 77. With --list it names its checks as skipped.
local folder = arg[1] or "."
-- The program that runs this: what arg[-1] says is not where it is.
local link = io.popen("readlink /proc/$PPID/exe")
local binary = os.getenv("LUNARRAY") or link:read("l") or "lunarray"
link:close()

local report = { checks = {}, measured = {} }
local lines = {}
local function say(...)
  local text = table.concat({ ... })
  lines[#lines + 1] = text
  print(text)
end

local function files(pattern)
  local list, p = {}, io.popen("ls " .. pattern .. " 2>/dev/null")
  for path in p:lines() do
    if not path:find("/test%.lua$") then list[#list + 1] = path end
  end
  p:close()
  return list
end

local scripts = {}
for _, pattern in ipairs { "tests/lua/*.lua", "tests/simt/*.lua" } do
  for _, path in ipairs(files(pattern)) do scripts[#scripts + 1] = path end
end

local function record(name, ok, detail)
  report.checks[#report.checks + 1] = { name = name, ok = ok, detail = detail or "" }
  say(ok and "ok " or "not ok ", name)
  if not ok and detail and detail ~= "" then say("    ", (detail:gsub("\n", "\n    "))) end
end

-- ---- results of one expression or kernel on every device, compared with the cpu or the software GPU

local function same(a, b, tolerance)
  a, b = a:to("cpu"), b:to("cpu")
  if a.dtype ~= b.dtype or tostring(a.shape) ~= tostring(b.shape) then
    return false, "shapes or dtypes differ: " .. a.dtype .. " and " .. b.dtype
  end
  if gpu.allclose(a, b, tolerance, tolerance) then return true end
  return false, "largest difference " .. (a:to("float64") - b:to("float64")):abs():max()
end

local comparisons = {
  { "arithmetic", 0, function(d) local x = gpu.linspace(-3, 5, 100003, "float32", d) return (2 * x + 1) * x - x / 3 end },
  { "square root", 0, function(d) return gpu.linspace(0, 9, 4099, "float64", d):sqrt() end },
  { "functions", 1e-5, function(d) local x = gpu.linspace(0.1, 4, 5003, "float32", d) return x:sin() + x:exp() * x:log() end },
  { "integers", 0, function(d) local x = gpu.range(-500, 500, 1, "int64", d) return x // 7 + x % 5 end },
  { "comparison", 0, function(d) local x = gpu.linspace(-1, 1, 777, "float32", d) return x:gt(0) end },
  { "broadcast", 0, function(d) local x = gpu.linspace(0, 1, 300, "float32", d) return x:reshape(300, 1) * x:reshape(1, 300) end },
  { "strided", 0, function(d) local x = gpu.linspace(0, 1, 3000, "float32", d):reshape(50, 60) return x.T["::2, ::-3"] + 1 end },
  { "sum of an axis", 1e-5, function(d) return gpu.linspace(0, 1, 60000, "float32", d):reshape(200, 300):sum(1) end },
  { "matmul", 1e-4, function(d)
    local x = gpu.linspace(-1, 1, 130 * 70, "float32", d):reshape(130, 70)
    return gpu.matmul(x, x.T)
  end },
  { "large matmul", 1e-3, function(d)
    local x = gpu.linspace(-1, 1, 260 * 300, "float32", d):reshape(260, 300)
    return gpu.matmul(x.T, x) + gpu.matmul(x.T["::, 1:200"], x["1:200, ::"]:copy())
  end },
  { "large matmul of float16", 1e-2, function(d)
    local x = gpu.linspace(-1, 1, 300 * 300, "float32", d):reshape(300, 300):to("float16")
    return gpu.matmul(x, x)
  end },
  { "batches of products", 1e-9, function(d)
    local x = gpu.linspace(-1, 1, 30 * 70 * 50, "float64", d):reshape(30, 70, 50)
    return gpu.matmul(x, x:transpose(2, 3))
  end },
}

local kernels = {
  { "saxpy", 0, [[
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}]], function(k, d)
    local n = 100003
    local x, y = gpu.linspace(0, 1, n, "float32", d), gpu.ones({ n }, "float32", d)
    k:forall(n)(n, 2.5, x, y)
    return y
  end },
  { "block reduction with shuffles", 1e-5, [[
__global__ void block_sum(int n, const float *x, float *out) {
  __shared__ float partial[8];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 8) {
    v = partial[threadIdx.x];
    for (int d = 4; d; d >>= 1) v += __shfl_down_sync(0xffu, v, d);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}]], function(k, d)
    local x, out = gpu.linspace(0, 1, 50000, "float32", d), gpu.zeros({ 20 }, "float32", d)
    k(20, 256)(50000, x, out)
    return out
  end },
  { "histogram with atomics", 0, [[
__global__ void histogram(int n, const int *x, int *bins) {
  __shared__ int local_bins[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) local_bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local_bins[x[i] & 63], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&bins[i], local_bins[i]);
}]], function(k, d)
    local x, bins = gpu.range(1, 99999, 1, "int32", d), gpu.zeros({ 64 }, "int32", d)
    k(30, 128)(99999, x, bins)
    return bins
  end },
}

-- ---- measuring

local function best(rounds, f)
  local least = math.huge
  for _ = 1, rounds do least = math.min(least, f()) end
  return least
end

local function measure(name, value, unit)
  report.measured[#report.measured + 1] = { name = name, value = value, unit = unit }
  say(string.format("%-32s %12.3f %s", name, value, unit))
end

local function measurements(device)
  local empty = gpu.kernel("__global__ void empty() {}")
  local launch = empty(1, 32)
  launch()
  gpu.synchronize()
  local rounds = 20000
  measure("launch, back to back", best(5, function()
    return gpu.time(function() for _ = 1, rounds do launch() end end)
  end) / rounds * 1000, "us")
  measure("launch and wait", best(5, function()
    local start = os.clock()
    for _ = 1, 1000 do launch() gpu.synchronize() end
    return os.clock() - start
  end) * 1000, "us of processor time")
  local n = gpu.devices()[device].memory > 1 << 35 and 1 << 28 or 1 << 24
  local x = gpu.ones({ n }, "float32", device)
  local ms = best(10, function() return gpu.time(function() local y <close> = 2 * x + 1 end) end)
  measure(string.format("2*x+1 of %d float32", n), ms, "ms")
  measure("2*x+1, bytes of x and result", 2 * 4 * n / ms / 1e6, "GB/s")
end

-- ---- reports

local function json(v)
  if type(v) == "table" then
    local parts = {}
    if #v > 0 or next(v) == nil then
      for i, item in ipairs(v) do parts[i] = json(item) end
      return "[" .. table.concat(parts, ", ") .. "]"
    end
    local keys = {}
    for k in pairs(v) do keys[#keys + 1] = k end
    table.sort(keys)
    for i, k in ipairs(keys) do parts[i] = json(k) .. ": " .. json(v[k]) end
    return "{" .. table.concat(parts, ", ") .. "}"
  elseif type(v) == "string" then
    return '"' .. v:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
  end
  return tostring(v)
end

local function write(path, text)
  local f = assert(io.open(path, "w"))
  f:write(text, "\n")
  f:close()
end

-- ---- the run

if arg[1] == "--list" then
  for _, path in ipairs(scripts) do print("skip gpu: " .. path) end
  for _, c in ipairs(comparisons) do print("skip gpu: " .. c[1] .. " on cuda as on cpu and simt") end
  for _, k in ipairs(kernels) do print("skip gpu: kernel " .. k[1] .. " on cuda as on simt") end
  print("skip gpu: measurements")
  os.exit(0)
end

local found, device = pcall(gpu.device, "cuda:0")
if not found then
  print("no GPU to check: " .. tostring(device))
  os.exit(77)
end
report.device, report.version = device.model, gpu.version
say("lunarray ", gpu.version, " on ", tostring(device))

-- One by one, since they share the GPU's memory; LUNARRAY_CHECK_JOBS=N runs N beside each other, for the software GPU.
local at_once = math.max(1, math.tointeger(tonumber(os.getenv("LUNARRAY_CHECK_JOBS"))) or 1)
local running = {}
local function start(i)
  if not scripts[i] then return end
  running[i] = io.popen("LUNARRAY='" .. binary .. "' LUNARRAY_COMPILE=" .. (os.getenv "LUNARRAY_COMPILE" or "wait") .. " LUNARRAY_TEST_DEVICES=cuda:0 LUNARRAY_DEVICE=cuda:0 '" ..
    binary .. "' " .. scripts[i] .. " 2>&1")
end
for i = 1, at_once do start(i) end
for i, path in ipairs(scripts) do
  local text = running[i]:read("a")
  local good = running[i]:close()
  start(i + at_once)
  local failures = {}
  for detail in text:gmatch("[^\n]+") do
    if not detail:find("^ok ") then failures[#failures + 1] = detail end
  end
  record(path, good == true, good and "" or table.concat(failures, "\n"))
end
for _, c in ipairs(comparisons) do
  for _, other in ipairs { "cpu", "simt" } do
    local ok, fine, detail = pcall(function() return same(c[3]("cuda:0"), c[3](other), c[2]) end)
    record(c[1] .. " on cuda as on " .. other, ok and fine, ok and (detail or "") or tostring(fine))
  end
end
for _, k in ipairs(kernels) do
  local ok, fine, detail = pcall(function()
    local results = {}
    for _, name in ipairs { "cuda:0", "simt" } do
      gpu.device(name)
      results[#results + 1] = k[4](gpu.kernel(k[3]), name)
    end
    return same(results[1], results[2], k[2])
  end)
  gpu.device("cuda:0")
  record("kernel " .. k[1] .. " on cuda as on simt", ok and fine, ok and (detail or "") or tostring(fine))
end
local ok, why = pcall(measurements, "cuda:0")
record("measurements", ok, ok and "" or tostring(why))

local failed = 0
for _, c in ipairs(report.checks) do if not c.ok then failed = failed + 1 end end
say(#report.checks - failed .. " right, " .. failed .. " wrong")
write(folder .. "/gpu-check.json", json(report))
write(folder .. "/gpu-check.txt", table.concat(lines, "\n"))
os.exit(failed == 0 and 0 or 1)
