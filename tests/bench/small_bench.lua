-- What operations on 1000 elements cost beyond Lua's own call, in microseconds: best of 7 runs of some milliseconds each,
-- whose calls leave their results to the collector, which works as it does in programs: nothing asks it to collect
-- everything. The time of as many calls of a method that does nothing is taken off. Where operations wait, evaluation is
-- part of them. Behind it what the same operation costs on one element, which is all but the work itself; what takes more
-- than a microsecond is marked.
--
--   build/lunarray tests/bench/small_bench.lua [DEVICE [TEXT [turns]]]   (cpu unless said otherwise; TEXT: those alone
--                                                                        that have it in their names; turns: waits for
--                                                                        a line before each row, and prints behind the
--                                                                        name, tab by tab, the microseconds alone)
local gpu = gpu or require "lunarray"
local device, only, turns = arg and arg[1] or "cpu", arg and arg[2], arg and arg[3]
local waits = device ~= "cpu" or os.getenv "LUNARRAY_LAZY" == "always" -- else small arrays are computed at once

-- The cases over arrays of n elements, 1 or a multiple of 10: pairs of a name, for 1000 of them, and what is measured.
local function cases_of(n)
  gpu.seed(1)
  local tens = n > 1 and 10 or 1
  local x, y = gpu.rand(n, "float32", device), gpu.linspace(0.5, 2, n, "float32", device)
  local d, i = y:to("float64"), (y * 1000):to("int32")
  local l, h, z, c = i:to("int64"), y:to("float16"), gpu.complex(x, y), x:to("float64")
  local mask, some = y:gt(1), x:gt(0.5)
  local table_, out = y:reshape(tens, n // tens):clone(), gpu.zeros(n, "float32", device)
  local row, column, places = table_[1]:clone(), table_[{ {}, { 1 } }]:clone(), gpu.range(n, 1, -1, "int64", device)
  local half = (n + 1) // 2
  local whole, range = i + 1, { { 1, half } }
  local near = { float32 = x, float64 = c }
  local wide = { float32 = y, float64 = d }
  gpu.evaluate(x, y, d, i, l, h, z, c, mask, some, whole)

  local cases = {
    {"x + y", function() return x + y end},
    {"x + 1", function() return x + 1 end},
    {"2 * x", function() return 2 * x end},
    {"x / y", function() return x / y end},
    {"x // y", function() return x // y end},
    {"x % y", function() return x % y end},
    {"x ^ 2", function() return x ^ 2 end},
    {"-x", function() return -x end},
    {"x * y + 1, two operations", function() return x * y + 1 end},
    {"sqrt", function() return y:sqrt() end},
    {"exp", function() return y:exp() end},
    {"sin", function() return y:sin() end},
    {"abs", function() return x:abs() end},
    {"x:gt(y)", function() return x:gt(y) end},
    {"x:eq(1)", function() return x:eq(1) end},
    {"where", function() return gpu.where(mask, x, y) end},
    {"clip", function() return x:clip(0.2, 0.8) end},
    {"to float64", function() return x:to("float64") end},
    {"to int32", function() return y:to("int32") end},
    {"float64 + float64", function() return d + d end},
    {"int32 + int32", function() return i + i end},
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
    {"10 x 100 + row", function() return table_ + row end},
    {"take", function() return y:take(places) end},
    {"x[mask]", function() return y[mask] end},
    {"x[{{1, 500}}]", function() return y[range] end},
    {"x[{{1, 500}}] = 0", function() out[range] = 0 end},
    {"reshape", function() return y:reshape(tens, n // tens) end},
    {"transposed copy", function() return table_.T:clone() end},
    {"clone", function() return y:clone() end},
    {"concatenate", function() return gpu.concatenate({y, y}) end},
    {"zeros", function() return gpu.zeros(n, "float32", device) end},
    {"range", function() return gpu.range(1, n, 1, "float32", device) end},
    {"linspace", function() return gpu.linspace(0, 1, n, "float32", device) end},
    {"rand", function() return gpu.rand(n, "float32", device) end},
    {"add_", function() return out:add_(y) end},
    {"fill", function() return out:fill(1) end},
    {"add with out", function() return gpu.add(x, y, {out = out}) end},
  }
  local function add(name, f) cases[#cases + 1] = { name, f } end

  -- Those of ops.def on both floating dtypes, from 0.5 to 2 or, where that is what they take, from 0 to 1.
  local inside = { asin = true, acos = true, atanh = true, logit = true, erfinv = true }
  local functions = { "sign", "square", "reciprocal", "floor", "round", "trunc", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "sinc", "deg2rad", "sigmoid", "relu", "silu", "softplus", "gelu", "erf", "erfc", "erfinv", "lgamma",
    "digamma", "gamma", "logit", "isnan", "isfinite", "signbit" }
  local pairs_of = { "minimum", "fmin", "fmod", "fdim", "hypot", "copysign", "atan2", "pow", "logaddexp", "lt", "ne" }
  for _, dtype in ipairs({ "float32", "float64" }) do
    for _, name in ipairs(functions) do
      local v = inside[name] and near[dtype] or wide[dtype]
      local f = v[name]
      add(dtype .. " " .. name, function() return f(v) end)
    end
    for _, name in ipairs(pairs_of) do
      local f, a, b = x[name], near[dtype], wide[dtype]
      add(dtype .. " " .. name, function() return f(a, b) end)
    end
  end
  local operators = { { "+", function(a, b) return a + b end }, { "*", function(a, b) return a * b end },
    { "//", function(a, b) return a // b end }, { "%", function(a, b) return a % b end } }
  for k, operator in ipairs(operators) do
    local name, f = operator[1], operator[2]
    for _, v in ipairs({ c, whole, l, h, z }) do
      if v ~= z or k <= 2 then
        local by = v == c and d or v
        add(("%s %s %s"):format(v.dtype, name, v.dtype), function() return f(v, by) end)
        if v ~= z then add(("%s %s 3"):format(v.dtype, name), function() return f(v, 3) end) end
      end
    end
  end
  for _, name in ipairs({ "mul_", "sub_", "div_", "maximum_", "abs_", "sqrt_", "exp_", "sin_" }) do
    local f, operand = out[name], name:match "^[msd]" and not name:match "^s[qi]" and y or nil
    add(name, function() return f(out, operand) end)
  end
  add("clip_", function() return out:clip_(0, 1) end)
  add("mask & mask", function() return mask & some end)
  add("~mask", function() return ~mask end)
  add("int32 & 7", function() return i & 7 end)
  add("mask * x", function() return mask * x end)
  add("float32 + float64", function() return x + d end)
  add("int32 * 1.5", function() return i * 1.5 end)
  add("x ^ 3", function() return x ^ 3 end)
  add("where with a number", function() return gpu.where(mask, x, 0) end)
  add("clip of float64", function() return d:clip(0.6, 1) end)
  add("10 x 100 + column", function() return table_ + column end)
  for _, v in ipairs({ y, d, i, h, mask }) do
    for _, to in ipairs({ "float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64" }) do
      if v.dtype ~= to then add(v.dtype .. " to " .. to, function() return v:to(to) end) end
    end
  end
  for _, name in ipairs({ "sum", "mean", "min", "max", "argmin", "any", "all", "prod", "var", "std", "count_nonzero" }) do
    local f = y[name]
    for _, v in ipairs({ y, d, i, mask }) do
      if v ~= mask or not (name == "var" or name == "std") then add(v.dtype .. " " .. name, function() return f(v) end) end
    end
    for axis = 1, 2 do add(("%s of 10 x 100 along %d"):format(name, axis), function() return f(table_, axis) end) end
  end
  add("sum with keepdims", function() return table_:sum(2, true) end)
  add("cumprod", function() return y:cumprod() end)
  add("flip", function() return y:flip() end)
  add("roll", function() return y:roll(3) end)
  add("ones", function() return gpu.ones(n, "float32", device) end)
  add("full", function() return gpu.full(n, 2, "float32", device) end)
  add("x[mask] = 0", function() out[mask] = 0 end)
  add("x[7]", function() return y[1] end)
  add("row of 10 x 100", function() return table_[1] end)

  -- Those put together from several operations.
  for _, name in ipairs({ "logsumexp", "median", "norm", "softmax", "log_softmax", "nansum", "nanmean", "nanmax", "nanstd",
    "diff", "trapezoid", "sort", "argsort", "unique", "ptp", "cummax" }) do
    local f = y[name]
    add(name, function() return f(y) end)
  end
  local inner = n > 1 and y or gpu.ones(2, "float32", device) -- a derivative takes two elements
  add("gradient", function() return inner:gradient() end)
  add("quantile", function() return y:quantile(0.25) end)
  add("norm, inf", function() return y:norm(math.huge) end)
  add("softmax of 10 x 100", function() return table_:softmax(2) end)
  add("logsumexp of 10 x 100 along 2", function() return table_:logsumexp(2) end)
  add("norm of 10 x 100 along 2", function() return table_:norm(2, 2) end)
  add("interp", function() return x:interp(y, d) end)
  add("bincount", function() return i:bincount() end)
  add("histogram", function() return y:histogram(10) end)
  add("searchsorted", function() return y:searchsorted(x) end)
  add("clip in place", function() return out:clip_(0.2, 0.8) end)
  add("equal", function() return y:equal(y) end)
  add("allclose", function() return y:allclose(y) end)
  add("nonzero", function() return some:nonzero() end)
  add("topk 10", function() return y:topk(math.min(10, n)) end)
  add("stack", function() return gpu.stack({ x, y }) end)
  add("split", function() return table_:split(1, 1) end)
  add("matrix by vector", function() return table_:matmul(row) end)
  add("outer", function() return row:outer(row) end)
  add("tile", function() return row:tile(tens) end)
  add("repeat", function() return row:repeat_interleave(2) end)
  add("pad", function() return y:pad(1) end)
  add("gather along 1", function() return y:gather(1, places) end)
  return cases
end

local function evaluated(f)
  return waits and type((f())) == "userdata" and function() return gpu.evaluate((f())) end or f
end

local function run(f, times)
  local start = os.clock()
  for _ = 1, times do f() end
  return os.clock() - start
end

local function best(f)
  run(f, 20)
  local times, least = math.max(20, math.min(5000, 0.003 * 20 // run(f, 20))), math.huge
  for _ = 1, 7 do least = math.min(least, run(f, times)) end
  return least / times * 1e6
end

local few, many = cases_of(1), cases_of(1000)
local y = gpu.ones(1000, "float32", device)
local call = best(function() return y:is_contiguous() end)
local form = turns and "%s\t%.4f\t%.4f" or "%-30s %7.3f us beyond it, on one element %7.3f%s"
print((turns and "%s\t%.4f" or "%-30s %7.3f us, the call itself"):format("1000 elements", call))

local seen = {}
for k, case in ipairs(many) do
  local name = case[1]
  if not seen[name] and (not only or name:find(only, 1, true)) then
    seen[name] = true
    if turns then io.stdout:flush() io.read() end
    local all, one = best(evaluated(case[2])) - call, best(evaluated(few[k][2])) - call
    print(form:format(name, all, one, all > 1 and " *" or ""))
  end
end
