-- What operations on 1000 elements cost beyond Lua's own call, in microseconds: best of 7 runs, each of 5000 calls that
-- leave their results to the collector, which works as it does in programs: nothing asks it to collect everything. The
-- time of as many calls of a method that does nothing is taken off; evaluation, where an operation would wait, is not.
--
--   build/lunarray tests/bench/small_bench.lua [DEVICE]       (cpu unless said otherwise)
local gpu = gpu or require "lunarray"
local device = arg and arg[1] or "cpu"
gpu.seed(1)
local x, y = gpu.rand(1000, "float32", device), gpu.linspace(0.5, 2, 1000, "float32", device)
local d, i = y:to("float64"), (y * 1000):to("int32")
local mask, table_, out = y:gt(1), y:reshape(10, 100):clone(), gpu.zeros(1000, "float32", device)
local row, places = table_[1]:clone(), gpu.range(1000, 1, -1, "int64", device)
local e = gpu.evaluate
e(x, y, d, i, mask)

local cases = {
  {"x + y", function() return e(x + y) end},
  {"x + 1", function() return e(x + 1) end},
  {"2 * x", function() return e(2 * x) end},
  {"x / y", function() return e(x / y) end},
  {"x // y", function() return e(x // y) end},
  {"x % y", function() return e(x % y) end},
  {"x ^ 2", function() return e(x ^ 2) end},
  {"-x", function() return e(-x) end},
  {"x * y + 1, two operations", function() return e(x * y + 1) end},
  {"sqrt", function() return e(y:sqrt()) end},
  {"exp", function() return e(y:exp()) end},
  {"sin", function() return e(y:sin()) end},
  {"abs", function() return e(x:abs()) end},
  {"x:gt(y)", function() return e(x:gt(y)) end},
  {"x:eq(1)", function() return e(x:eq(1)) end},
  {"where", function() return e(gpu.where(mask, x, y)) end},
  {"clip", function() return e(x:clip(0.2, 0.8)) end},
  {"to float64", function() return e(x:to("float64")) end},
  {"to int32", function() return e(y:to("int32")) end},
  {"float64 + float64", function() return e(d + d) end},
  {"int32 + int32", function() return e(i + i) end},
  {"sum", function() return y:sum() end},
  {"mean", function() return y:mean() end},
  {"max", function() return y:max() end},
  {"argmax", function() return y:argmax() end},
  {"norm", function() return y:norm() end},
  {"std", function() return y:std() end},
  {"var", function() return y:var() end},
  {"any", function() return mask:any() end},
  {"count_nonzero", function() return mask:count_nonzero() end},
  {"float64 sum", function() return d:sum() end},
  {"float64 mean", function() return d:mean() end},
  {"sum of 10 x 100 along 1", function() return table_:sum(1) end},
  {"sum of 10 x 100 along 2", function() return table_:sum(2) end},
  {"cumsum", function() return y:cumsum() end},
  {"dot", function() return x:dot(y) end},
  {"10 x 100 + row", function() return e(table_ + row) end},
  {"take", function() return y:take(places) end},
  {"x[mask]", function() return y[mask] end},
  {"x[{{1, 500}}]", function() return y[{{1, 500}}] end},
  {"x[{{1, 500}}] = 0", function() out[{{1, 500}}] = 0 end},
  {"reshape", function() return y:reshape(10, 100) end},
  {"transposed copy", function() return table_.T:clone() end},
  {"clone", function() return y:clone() end},
  {"concatenate", function() return gpu.concatenate({y, y}) end},
  {"zeros", function() return gpu.zeros(1000, "float32", device) end},
  {"range", function() return gpu.range(1, 1000, 1, "float32", device) end},
  {"linspace", function() return gpu.linspace(0, 1, 1000, "float32", device) end},
  {"rand", function() return gpu.rand(1000, "float32", device) end},
  {"add_", function() return e(out:add_(y)) end},
  {"fill", function() return out:fill(1) end},
  {"add with out", function() return gpu.add(x, y, {out = out}) end},
}

local function best(f)
  local least = math.huge
  for _ = 1, 7 do
    local start = os.clock()
    for _ = 1, 5000 do f() end
    least = math.min(least, os.clock() - start)
  end
  return least / 5000 * 1e6
end

local call = best(function() return y:is_contiguous() end)
print(("%-28s %6.3f us, the call itself"):format("1000 elements", call))
for _, case in ipairs(cases) do print(("%-28s %6.3f us beyond it"):format(case[1], best(case[2]) - call)) end
