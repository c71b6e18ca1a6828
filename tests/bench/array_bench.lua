-- Times of array work on the host, one line a case, median of 9 runs after 2, in milliseconds. The names are those of
-- NumPy's list in tests/bench/run.py, so that the two can be laid side by side.
--
--   build/lunarray tests/bench/array_bench.lua [DEVICE]       (cpu unless said otherwise)
local gpu = gpu or require "lunarray"
local device = arg and arg[1] or "cpu"

local n = tonumber(os.getenv "N") or 1 << 24
gpu.seed(1)
local x = gpu.rand(n, "float32", device)
local y = gpu.rand(n, "float32", device)
local m = gpu.rand({4096, 4096}, "float32", device)
local a = gpu.rand({1024, 1024}, "float32", device)
local small, small2 = x[{{1, 1000}}]:clone(), y[{{1, 1000}}]:clone()

local cases = {
  {"2x+1 16M", function() return 2 * x + 1 end},
  {"axpb 16M", function() return 2 * x + y end},
  {"chain 16M", function() return (x * x + y * y):sqrt() / (1 + (x - y):abs()) end},
  {"trig 16M", function() return x:sin() ^ 2 + y:cos() ^ 2 end},
  {"exp 16M", function() return x:exp() end},
  {"sum 16M", function() return x:sum() end},
  {"mean axis1 4096", function() return m:mean(1) end},
  {"mean axis2 4096", function() return m:mean(2) end},
  {"broadcast 4096", function() return m + m[1] * 2 end},
  {"transpose copy 4096", function() return m:transpose():clone() end},
  {"matmul 1024", function() return a:matmul(a) end},
  {"small add 1000", function() return small + small2 end, 1000},
  {"random 16M", function() return gpu.rand(n, "float32", device) end},
  {"normal 16M", function() return gpu.randn(n, "float32", device) end},
  {"random64 16M", function() return gpu.rand(n, "float64", device) end},
  {"normal64 16M", function() return gpu.randn(n, "float64", device) end},
  {"integers 16M", function() return gpu.random.integers(1, 6, n, device) end},
}

-- The time of one call; the result is released inside, as NumPy's reference count does.
local function once(f, times)
  local timer = gpu.time(function()
    for _ = 1, times do
      local r = f()
      if type(r) == "userdata" then gpu.evaluate(r):free() end
    end
  end, device)
  return timer / times
end

for _, case in ipairs(cases) do
  local name, f, times = case[1], case[2], case[3] or 1
  local runs = {}
  for i = 1, 11 do
    local t = once(f, times)
    if i > 2 then runs[#runs + 1] = t end
    collectgarbage()
  end
  table.sort(runs)
  print(string.format("%-22s %10.4f", name, runs[5]))
end
