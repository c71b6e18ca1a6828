-- Times of array work on the host, one line a case, median of 9 runs after 2, in milliseconds; behind them, where memory
-- decides, the floor: the bytes that must be moved over the bandwidth of the first case, a copy. The names are those of
-- NumPy's list in tests/bench/run.py, so that the two can be laid side by side.
--
--   build/lunarray tests/bench/array_bench.lua [DEVICE [TEXT]]       (cpu unless said otherwise; TEXT: those cases alone
--                                                                    that have it in their names, and the copy)
local gpu = gpu or require "lunarray"
local device, only = arg and arg[1] or "cpu", arg and arg[2]

local n = tonumber(os.getenv "N") or 1 << 24
gpu.seed(1)
local x = gpu.rand(n, "float32", device)
local y = gpu.rand(n, "float32", device)
local m = gpu.rand({4096, 4096}, "float32", device)
local a = gpu.rand({1024, 1024}, "float32", device)
local batch = gpu.rand({64, 128, 128}, "float32", device)
local tiny = gpu.rand({10000, 4, 4}, "float64", device) + 4 * gpu.eye(4, "float64", device)
local square = gpu.rand({500, 500}, "float64", device) + 500 * gpu.eye(500, "float64", device)
local slim = gpu.rand({1000, 20}, "float64", device)
local i = gpu.random.integers(1, n, n // 4, device):to("int64")
local mask = x:gt(0.5)
local rows = gpu.random.integers(1, 4096, 4096, device):to("int64")
local bins, sums = i % 1000 + 1, gpu.zeros(1000, "float32", device)
local v, target = y[{{1, n // 4}}]:clone(), y:clone()
gpu.evaluate(mask, bins)
local z = gpu.complex(x[{{1, n // 4}}], y[{{1, n // 4}}])
local wave, waves, prime = z["1:1048576"], z["1:1024000"]:reshape(1000, 1024), z["1:100003"]
local real_waves, plane = waves.real:clone(), z["1:1048576"]:reshape(1024, 1024)
local small, small2 = x[{{1, 1000}}]:clone(), y[{{1, 1000}}]:clone()

local part, whole = x[{{1, n // 4}}], (x * 1000):to("int32")
local part_sorted = part:sort()

local cases = {
  {"copy 16M", function() return x:clone() end},
  {"2x+1 16M", function() return 2 * x + 1 end},
  {"axpb 16M", function() return 2 * x + y end},
  {"chain 16M", function() return (x * x + y * y):sqrt() / (1 + (x - y):abs()) end},
  {"trig 16M", function() return x:sin() ^ 2 + y:cos() ^ 2 end},
  {"exp 16M", function() return x:exp() end},
  {"sum 16M", function() return x:sum() end},
  {"dot 16M", function() return x:dot(y) end},
  {"mean axis1 4096", function() return m:mean(1) end},
  {"mean axis2 4096", function() return m:mean(2) end},
  {"var 16M", function() return x:var() end},
  {"softmax 4096", function()
    local e = (m - m:max(2, true)):exp()
    return e / e:sum(2, true)
  end},
  {"logsumexp axis2 4096", function() return m:logsumexp(2) end},
  {"cumsum 16M", function() return x:cumsum() end},
  {"cumsum axis1 4096", function() return m:cumsum(1) end},
  {"sort 16M", function() return x:sort() end},
  {"sort axis2 4096", function() return m:sort() end},
  {"argsort 4M", function() return part:argsort() end},
  {"unique 4M", function() return part:unique() end},
  {"searchsorted 4M", function() return part_sorted:searchsorted(part) end},
  {"median 16M", function() return x:median() end},
  {"bincount 16M", function() return whole:bincount() end},
  {"histogram 16M", function() return (x:histogram(100)) end},
  {"broadcast 4096", function() return m + m[1] * 2 end},
  {"transpose copy 4096", function() return m:transpose():clone() end},
  {"matmul 1024", function() return a:matmul(a) end},
  {"matmul 64x128x128", function() return batch:matmul(batch) end},
  {"matmul 10000x4x4", function() return tiny:matmul(tiny) end},
  {"einsum bij,bjk->bk", function() return gpu.einsum("bij,bjk->bk", batch, batch) end, 10},
  {"einsum ij,jk,kl->il", function() return gpu.einsum("ij,jk,kl->il", slim, slim.T, slim) end, 10},
  {"solve 1024", function() return gpu.linalg.solve(a, a[1]) end},
  {"solve 500", function() return gpu.linalg.solve(square, square[1]) end},
  {"solve 10000x4x4", function() return gpu.linalg.solve(tiny, tiny) end},
  {"svd 200", function() return (gpu.linalg.svd(square[{{1, 200}, {1, 200}}])) end},
  {"eigh 200", function() return (gpu.linalg.eigh(square[{{1, 200}, {1, 200}}])) end},
  {"complex multiply 4M", function() return z * z end},
  {"fft 1M", function() return gpu.fft.fft(wave) end},
  {"fft 1000x1024", function() return gpu.fft.fft(waves) end},
  {"fft 100003", function() return gpu.fft.fft(prime) end},
  {"rfft 1000x1024", function() return gpu.fft.rfft(real_waves) end},
  {"fft2 1024", function() return gpu.fft.fft2(plane) end},
  {"small add 1000", function() return small + small2 end, 10000},
  {"gather 4M", function() return x[i] end},
  {"gather columns 4096", function() return m[{{}, rows}] end},
  {"put 4M", function() target[i] = v end},
  {"scatter add 4M", function() sums:scatter_add_(1, bins, v) end},
  {"mask select 16M", function() return x[mask] end},
  {"mask write 16M", function() target[mask] = 0 end},
  {"nonzero 16M", function() return mask:nonzero() end},
  {"roll 16M", function() return x:roll(1000) end},
  {"roll axis2 4096", function() return m:roll(7, 2) end},
  {"concatenate 2x16M", function() return gpu.concatenate({x, y}) end},
  {"repeat 16Mx2", function() return x:repeat_interleave(2) end},
  {"tile 4096 2x2", function() return m:tile(2, 2) end},
  {"pad 4096", function() return m:pad(3, "reflect") end},
  {"random 16M", function() return gpu.rand(n, "float32", device) end},
  {"normal 16M", function() return gpu.randn(n, "float32", device) end},
  {"random64 16M", function() return gpu.rand(n, "float64", device) end},
  {"normal64 16M", function() return gpu.randn(n, "float64", device) end},
  {"integers 16M", function() return gpu.random.integers(1, 6, n, device) end},
}

-- Elements of 4 bytes that are read or written at least, in units of n.
local moved = {
  ["copy 16M"] = 2, ["2x+1 16M"] = 2, ["axpb 16M"] = 3, ["chain 16M"] = 3, ["trig 16M"] = 3, ["exp 16M"] = 2,
  ["sum 16M"] = 1, ["dot 16M"] = 2, ["mean axis1 4096"] = 1, ["mean axis2 4096"] = 1, ["var 16M"] = 2,
  ["softmax 4096"] = 2, ["logsumexp axis2 4096"] = 1, ["cumsum 16M"] = 2, ["cumsum axis1 4096"] = 2,
  ["broadcast 4096"] = 2, ["transpose copy 4096"] = 2, ["gather 4M"] = 1, ["gather columns 4096"] = 2, ["put 4M"] = 1,
  ["scatter add 4M"] = 0.75, ["mask select 16M"] = 1.75, ["mask write 16M"] = 1.25, ["nonzero 16M"] = 1.25,
  ["roll 16M"] = 2, ["roll axis2 4096"] = 2, ["concatenate 2x16M"] = 4, ["repeat 16Mx2"] = 3, ["tile 4096 2x2"] = 5,
  ["pad 4096"] = 2, ["random 16M"] = 1, ["normal 16M"] = 1, ["random64 16M"] = 2, ["normal64 16M"] = 2,
  ["integers 16M"] = 2,
}
local unit -- milliseconds for n elements

-- The time of one call; the result is released inside, as NumPy's reference count does. Of many calls, whose results wait
-- for nobody, all but the last one leave theirs to the collector, as programs do: it runs inside, too.
local function once(f, times)
  local timer = gpu.time(function()
    local r
    for _ = 1, times do r = f() end
    if type(r) == "userdata" then gpu.evaluate(r):free() end
  end, device)
  return timer / times
end

for _, case in ipairs(cases) do
  local name, f, times = case[1], case[2], case[3] or 1
  if not unit or not only or name:find(only, 1, true) then
    local runs = {}
    for i = 1, 11 do
      local t = once(f, times)
      if i > 2 then runs[#runs + 1] = t end
      collectgarbage()
    end
    table.sort(runs)
    unit = unit or runs[5] / moved[name]
    print(("%-22s %10.4f %10s"):format(name, runs[5], moved[name] and ("%.4f"):format(moved[name] * unit) or "-"))
  end
end
