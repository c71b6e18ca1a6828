-- Random numbers: the same on every device, and distributed as they should be. All seeds are fixed, so a test that
-- passes once passes always.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
local random = gpu.random
local devices = t.devices()

-- Each as a function of a generator, a shape and where to.
local draws = {
  rand = function(g, ...) return g:rand(...) end,
  randn = function(g, ...) return g:randn(...) end,
  uniform = function(g, ...) return g:uniform(-3, 5.5, ...) end,
  normal = function(g, ...) return g:normal(100, 0.5, ...) end,
  exponential = function(g, ...) return g:exponential(2, ...) end,
  gamma = function(g, ...) return g:gamma(0.7, 3, ...) end,
  integers = function(g, ...) return g:integers(-10, 10, ...) end,
  bernoulli = function(g, ...) return g:bernoulli(0.3, ...) end,
  poisson = function(g, ...) return g:poisson(17, ...) end,
  binomial = function(g, ...) return g:binomial(100, 0.3, ...) end,
  ["few tries"] = function(g, ...) return g:binomial(9, 0.8, ...) end,
  beta = function(g, ...) return g:beta(0.5, 2, ...) end,
  chisquare = function(g, ...) return g:chisquare(3, ...) end,
  standard_t = function(g, ...) return g:standard_t(4, ...) end,
  standard_cauchy = function(g, ...) return g:standard_cauchy(...) end,
  laplace = function(g, ...) return g:laplace(1, 2, ...) end,
  rayleigh = function(g, ...) return g:rayleigh(2, ...) end,
  geometric = function(g, ...) return g:geometric(0.2, ...) end,
  triangular = function(g, ...) return g:triangular(-1, 0.5, 2, ...) end,
  wald = function(g, ...) return g:wald(1, 3, ...) end,
  f = function(g, ...) return g:f(3, 7.5, ...) end,
  noncentral_f = function(g, ...) return g:noncentral_f(3, 7.5, 2, ...) end,
  noncentral_chisquare = function(g, ...) return g:noncentral_chisquare(0.5, 3, ...) end,
  negative_binomial = function(g, ...) return g:negative_binomial(2.5, 0.3, ...) end,
  multinomial = function(g, ...) return g:multinomial(40, { 1, 2, 0, 3.5 }, ...) end,
  hypergeometric = function(g, ...) return g:hypergeometric(30, 50, 20, ...) end,
  ["few things"] = function(g, ...) return g:hypergeometric(30, 5, 20, ...) end,
  zipf = function(g, ...) return g:zipf(1.5, ...) end,
  logseries = function(g, ...) return g:logseries(0.9, ...) end,
  vonmises = function(g, ...) return g:vonmises(1, 2, ...) end,
}
local names = {}
for name in pairs(draws) do names[#names + 1] = name end
table.sort(names)

for _, name in ipairs(names) do
  t.test(name .. " is the same on all devices", function()
    local want = draws[name](random.generator(11), 3, 67, "cpu")
    for _, device in ipairs(devices) do
      local got = draws[name](random.generator(11), 3, 67, { device = device })
      t.eq(got.device, device)
      t.eq(got.dtype, want.dtype)
      t.same(got:totable(), want:totable())
    end
    local count = 0
    for _, dtype in ipairs(t.dtypes) do
      local ok, want = pcall(draws[name], random.generator(12), 4097, dtype, "cpu") -- or has no such dtype
      for _, device in ipairs(ok and devices or {}) do
        local got = draws[name](random.generator(12), 4097, dtype, device)
        assert(got.dtype == dtype and got:to("cpu"):equal(want), dtype)
      end
      count = count + (ok and 1 or 0)
    end
    assert(count >= 4)
  end)
  t.test(name .. " takes shapes", function()
    local g = random.generator(1)
    local sets = name == "multinomial" -- of 4 numbers, and one where no shape is told
    t.eq(tostring(draws[name](g, {}, "cpu").shape), sets and "(4,)" or "()")
    t.eq(draws[name](g, 0, "cpu").size, 0)
    t.eq(tostring(draws[name](g, { 2, 3 }, "cpu").shape), sets and "(2, 3, 4)" or "(2, 3)")
    if not sets then t.raises("expected a shape", draws[name], g) end
    t.raises("negative", draws[name], g, -1)
  end)
end

t.test("generators", function()
  local a, b = random.generator(5), random.generator(5)
  local first = a:rand(4)
  gpu.rand(3) -- of no concern to them
  assert(b:rand(4):equal(first))
  assert(not a:rand(4):equal(first), "the next array has the same numbers")
  a:seed(5)
  assert(a:rand(4):equal(first))
  assert(not random.generator(6):rand(4):equal(first))
  t.eq(tostring(a), "generator of random numbers, seed 5, 1 arrays drawn")
  -- The session's generator draws what one of the same seed does, and failures draw nothing.
  gpu.seed(5)
  t.raises("floating dtype", gpu.rand, 4, "int32")
  assert(gpu.rand(4):equal(first))
  gpu.seed(5)
  assert(random.uniform(0, 1, 4):equal(first))
  local big = random.generator(-1)
  assert(big:rand(2):equal(random.generator(-1):rand(2)))
end)

t.test("arguments", function()
  local g, same = random.generator(7), random.generator(7)
  assert(g:uniform({ 2, 3 }):equal(same:uniform(0, 1, 2, 3)))
  assert(g:normal({ 5 }, "float64"):equal(same:normal(0, 1, 5, "float64")))
  t.raises({ "low", "expected a number", "shape" }, random.uniform, "3")
  t.raises("finite", random.uniform, 0, 1 / 0, 3)
  t.raises("above high", random.uniform, 2, 1, 3)
  t.raises("deviation is negative", random.normal, 0, -1, 3)
  t.raises("floating dtype, not int32", random.normal, 0, 1, 3, "int32")
  t.raises("mean is negative", random.exponential, -1, 3)
  t.raises("above 0", random.gamma, 0, 1, 3)
  t.raises("scale is negative", random.gamma, 1, -1, 3)
  t.raises("from 0 to", random.poisson, -1, 3)
  t.raises("from 0 to", random.poisson, 1e16, 3)
  t.raises("from 0 to 1", random.bernoulli, 1.5, 3)
  t.raises("above high", random.integers, 3, 1, 3)
  t.raises({ "int8", "-200" }, random.integers, -200, 1, 3, "int8")
  t.raises("uint32", random.integers, -1, 1, 3, "uint32")
  t.raises("integer dtype, not float32", random.integers, 0, 1, 3, "float32")
  t.raises("array, table or count", random.permutation, "x")
  t.eq(random.permutation({ 5, 7 }):sum(), 12)
  t.raises("negative", random.permutation, -1)
  t.raises("no axes", random.permutation, gpu.array(1))
  t.raises("no option 'replac'", random.choice, 3, 2, { replac = true })
  t.raises("without replacement", random.choice, 3, 4, { replace = false })
  t.raises("nothing to choose from", random.choice, 0, 1)
  t.raises("one weight for each", random.choice, 3, 1, { p = { 1, 2 } })
  t.raises("weight 2 is -1", random.choice, 3, 1, { p = { 1, -1, 1 } })
  t.raises("above 0", random.choice, 2, 1, { p = { 0, 0 } })
  t.raises("replacement only", random.choice, 2, 1, { p = { 1, 1 }, replace = false })
  t.raises("expected a shape", random.choice, 3)
end)

-- Statistics of n draws on the host, in Lua's doubles.
local function sorted(x)
  local list = x:flatten():totable()
  table.sort(list)
  return list
end

local function moments(list)
  local n, mean, square = #list, 0, 0
  for _, v in ipairs(list) do mean = mean + v / n end
  for _, v in ipairs(list) do square = square + (v - mean) ^ 2 / (n - 1) end
  return mean, square
end

-- Kolmogorov and Smirnov's distance from a distribution, times sqrt(n): above 1.63 by chance once in a hundred.
local function distance(list, cdf)
  local n, most = #list, 0
  for i, v in ipairs(list) do
    local p = cdf(v)
    most = math.max(most, i / n - p, p - (i - 1) / n)
  end
  return most * math.sqrt(n)
end

-- The normal distribution, by integrating its density (Simpson) from 0.
local function phi(x)
  local steps, sum = 60, 0
  local h = x / steps
  for i = 0, steps do sum = sum + (i % steps == 0 and 1 or i % 2 == 1 and 4 or 2) * math.exp(-(i * h) ^ 2 / 2) end
  return 0.5 + sum * h / 3 / math.sqrt(2 * math.pi)
end

local N = 20000
-- draw(generator, dtype), mean, variance, cdf
local continuous = {
  { "uniform", function(g, d) return g:uniform(2, 6, N, d, "cpu") end, 4, 16 / 12, function(x) return (x - 2) / 4 end },
  { "normal", function(g, d) return g:normal(1, 2, N, d, "cpu") end, 1, 4, function(x) return phi((x - 1) / 2) end },
  { "exponential", function(g, d) return g:exponential(3, N, d, "cpu") end, 3, 9, function(x) return 1 - math.exp(-x / 3) end },
  { "gamma 1", function(g, d) return g:gamma(1, 2, N, d, "cpu") end, 2, 4, function(x) return 1 - math.exp(-x / 2) end },
  { "gamma 2", function(g, d) return g:gamma(2, 1, N, d, "cpu") end, 2, 2, function(x) return 1 - math.exp(-x) * (1 + x) end },
  { "gamma 1/2", function(g, d) return g:gamma(0.5, 2, N, d, "cpu") end, 1, 2, function(x) return 2 * phi(math.sqrt(x)) - 1 end },
}
for _, case in ipairs(continuous) do
  for _, dtype in ipairs({ "float32", "float64" }) do
    t.test(case[1] .. " " .. dtype .. " is distributed as it should be", function()
      local list = sorted(case[2](random.generator(42), dtype))
      local mean, variance = moments(list)
      t.near(mean, case[3], 5 * math.sqrt(case[4] / N), "mean")
      t.near(variance, case[4], 0.12 * case[4], "variance")
      local d = distance(list, case[5])
      assert(d < 1.8, "the distance is " .. d)
      assert(d > 0.2, "too even to be random: " .. d)
    end)
  end
end

-- Counts against their probabilities: Pearson's sum over those that are expected often enough, per degree of freedom.
local function pearson(list, probability, from, to)
  local counts, sum, freedom = {}, 0, 0
  for _, v in ipairs(list) do counts[v] = (counts[v] or 0) + 1 end
  for k = from, to do
    local want = probability(k) * #list
    if want >= 10 then
      sum, freedom = sum + ((counts[k] or 0) - want) ^ 2 / want, freedom + 1
    end
  end
  return sum / freedom
end

-- Probabilities that are as f(k), of whole k from 0 on, as far as they matter.
local function shares(f, to)
  local sum = 0
  for k = 0, to do sum = sum + f(k) end
  return function(k) return f(k) / sum end
end

local function poisson_probability(mean)
  return function(k)
    local log = -mean + k * math.log(mean)
    for i = 2, k do log = log - math.log(i) end
    return math.exp(log)
  end
end

for _, mean in ipairs({ 0.4, 9.5, 10.5, 60 }) do
  t.test("poisson " .. mean .. " is distributed as it should be", function()
    local list = random.generator(8):poisson(mean, N, "cpu"):totable()
    local got_mean, variance = moments(list)
    t.near(got_mean, mean, 5 * math.sqrt(mean / N), "mean")
    t.near(variance, mean, 0.1 * mean, "variance")
    local x = pearson(list, poisson_probability(mean), 0, 200)
    assert(x < 2.2, "Pearson's sum by degree of freedom is " .. x)
  end)
end

t.test("a large Poisson mean", function()
  local mean, variance = moments(random.generator(8):poisson(1e6, N, "float64", "cpu"):totable())
  t.near(mean, 1e6, 5 * math.sqrt(1e6 / N))
  t.near(variance, 1e6, 1e5)
  t.eq(random.poisson(0, 5, "cpu"):sum(), 0)
end)

local function binomial_probability(n, p)
  return function(k)
    if k > n then return 0 end
    local log = k * math.log(p) + (n - k) * math.log(1 - p)
    for i = 1, k do log = log + math.log(n - k + i) - math.log(i) end
    return math.exp(log)
  end
end

for _, case in ipairs({ { 1, 0.5 }, { 12, 0.3 }, { 12, 0.9 }, { 40, 0.2 }, { 40, 0.3 }, { 200, 0.55 }, { 150, 0.93 } }) do
  local n, p = case[1], case[2]
  t.test("binomial " .. n .. " times " .. p .. " is distributed as it should be", function()
    local list = random.generator(9):binomial(n, p, N, "cpu"):totable()
    local mean, variance = moments(list)
    t.near(mean, n * p, 5 * math.sqrt(n * p * (1 - p) / N), "mean")
    t.near(variance, n * p * (1 - p), 0.1 * n * p * (1 - p), "variance")
    local x = pearson(list, binomial_probability(n, p), 0, n)
    assert(x < 3, "Pearson's sum by degree of freedom is " .. x)
  end)
end

-- The logarithm of n! / (n - k)!.
local function falling(n, k)
  local log = 0
  for i = 0, k - 1 do log = log + math.log(n - i) end
  return log
end

local function hypergeometric_probability(good, bad, count)
  return function(k)
    if k > good or k > count or count - k > bad then return 0 end
    return math.exp(falling(good, k) - falling(k, k) + falling(bad, count - k) - falling(count - k, count - k)
      - falling(good + bad, count) + falling(count, count))
  end
end

for _, case in ipairs({ { 7, 5, 4 }, { 5, 7, 9 }, { 300, 6, 100 }, { 6, 300, 290 }, { 40, 60, 30 }, { 60, 40, 30 },
  { 60, 40, 70 }, { 40, 60, 70 }, { 400, 90, 200 }, { 12, 12, 12 } }) do
  local good, bad, count = table.unpack(case)
  t.test("hypergeometric " .. table.concat(case, ", ") .. " is distributed as it should be", function()
    local list = random.generator(9):hypergeometric(good, bad, count, N, "cpu"):totable()
    local got, variance = moments(list)
    local p, all = good / (good + bad), good + bad
    local want = count * p * (1 - p) * (all - count) / (all - 1)
    t.near(got, count * p, 5 * math.sqrt(want / N), "mean")
    t.near(variance, want, 0.1 * want, "variance")
    local x = pearson(list, hypergeometric_probability(good, bad, count), 0, count)
    assert(x < 3, "Pearson's sum by degree of freedom is " .. x)
  end)
end

t.test("multinomial counts are distributed as they should be", function()
  local p, tries = { 0.1, 0.25, 0, 0.65 }, 200
  local x = random.generator(31):multinomial(tries, p, N, "cpu")
  t.same(x.shape, { N, 4 })
  assert(x:sum(2):eq(tries):all() and x:min() >= 0)
  local cov = x:to("float64").T:cov()
  for i = 1, 4 do
    local want = tries * p[i]
    t.near(x[{ {}, i }]:mean(), want, 5 * math.sqrt(want / N), "mean")
    for j = 1, 4 do
      local size = tries * math.sqrt(p[i] * p[j])
      t.near(cov[{ i, j }], i == j and want * (1 - p[i]) or -want * p[j], 0.1 * size, "covariance")
    end
    local chance = p[i]
    local function probability(k)
      return k <= tries and math.exp(falling(tries, k) - falling(k, k) + k * math.log(chance) + (tries - k) * math.log(1 - chance)) or 0
    end
    local sum = chance > 0 and pearson(x[{ {}, i }]:totable(), probability, 0, tries) or 1
    assert(sum < 2.2, "Pearson's sum by degree of freedom is " .. sum)
  end
  t.eq(x[{ {}, 3 }]:max(), 0)
end)

t.test("multinomial of edges, and what it refuses", function()
  local g = random.generator(5)
  t.same(g:multinomial(7, { 3 }):totable(), { 7 })
  t.same(g:multinomial(0, { 1, 2 }, 2):totable(), { { 0, 0 }, { 0, 0 } })
  t.same(g:multinomial(9, { 0, 5, 0 }):totable(), { 0, 9, 0 })
  t.same(g:multinomial(9, gpu.array({ 1, 1 }), 2, 0, 3).shape, { 2, 0, 3, 2 })
  t.eq(g:multinomial(300, { 1, 1 }, 4, "uint8").dtype, "uint8")
  t.eq(g:multinomial(1000000000, { 1, 1, 1 }, 3):sum(), 3000000000)
  t.raises("multinomial: tries: expected 0 to 1000000000, got -1", random.multinomial, -1, { 1 })
  t.raises("multinomial: tries: expected a whole number, got 1.5", random.multinomial, 1.5, { 1 })
  t.raises("multinomial: weight 2 is -1.0, expected 0 or more", random.multinomial, 1, { 1, -1 })
  t.raises("multinomial: the weights' sum is 0.0", random.multinomial, 1, { 0, 0 })
  t.raises("multinomial: the weights p are one axis, got 2", random.multinomial, 1, gpu.ones(2, 2))
  t.raises("complex64", random.multinomial, 1, { 1, 1 }, 3, "complex64")
  t.raises("expected", random.multinomial, 1)
end)

for _, case in ipairs({ { "negative_binomial", { 3, 0.4 }, shares(function(k) return (k + 1) * (k + 2) / 2 * 0.6 ^ k end, 200) },
  { "negative_binomial", { 0.5, 0.1 }, shares(function(k)
    local v = 0.9 ^ k
    for i = 1, k do v = v * (i - 0.5) / i end
    return v
  end, 400) },
  { "negative_binomial", { 1, 0.02 }, function(k) return 0.02 * 0.98 ^ k end },
  { "zipf", { 2 }, function(k) return k < 1 and 0 or 6 / math.pi ^ 2 / k ^ 2 end },
  { "zipf", { 4 }, function(k) return k < 1 and 0 or 90 / math.pi ^ 4 / k ^ 4 end },
  { "zipf", { 1.5 }, function(k) return k < 1 and 0 or k ^ -1.5 / 2.6123753486854883 end },
  { "logseries", { 0.2 }, function(k) return k < 1 and 0 or -0.2 ^ k / k / math.log(0.8) end },
  { "logseries", { 0.97 }, function(k) return k < 1 and 0 or -0.97 ^ k / k / math.log(0.03) end } }) do
  local name, parameters, probability = table.unpack(case)
  t.test(name .. " " .. table.concat(parameters, ", ") .. " is distributed as it should be", function()
    local g, arguments = random.generator(21), { table.unpack(parameters) }
    table.insert(arguments, { N })
    local x = pearson(g[name](g, table.unpack(arguments)):totable(), probability, 0, 300)
    assert(x < 2.2 and x > 0.2, "Pearson's sum by degree of freedom is " .. x)
  end)
end

t.test("extremes of the rarer distributions", function()
  local g = random.generator(6)
  t.eq(g:zipf(1e9, 100, "cpu"):max(), 1)
  assert(g:zipf(1.01, 100, "float64", "cpu"):max() > 1e15)
  t.eq(g:negative_binomial(5, 1, 100, "cpu"):max(), 0)
  t.eq(g:logseries(0, 100, "cpu"):max(), 1)
  t.eq(g:hypergeometric(5, 0, 3, 9, "cpu"):sum(), 27)
  t.eq(g:hypergeometric(0, 5, 3, 9, "cpu"):sum(), 0)
  t.eq(g:hypergeometric(4, 5, 9, 9, "cpu"):sum(), 36)
  t.eq(g:hypergeometric(0, 0, 0, 9, "cpu"):sum(), 0)
  local mean, variance = moments(g:hypergeometric(1000000000, 500000000, 300000000, N, "float64", "cpu"):totable())
  local want = 3e8 * 2 / 9 * 0.8
  t.near(mean, 2e8, 5 * math.sqrt(want / N))
  t.near(variance, want, 0.1 * want)
  mean, variance = moments(g:negative_binomial(1e6, 0.5, N, "float64", "cpu"):totable())
  t.near(mean, 1e6, 5 * math.sqrt(2e6 / N))
  t.near(variance, 2e6, 2e5)
  t.eq(g:triangular(3, 3, 3, 9, "cpu"):sum(), 27)
  assert(g:wald(1e-3, 1e3, 99, "cpu"):allclose(1e-3, 1e-2) and g:wald(1e3, 1e-6, 999, "cpu"):min() > 0)
end)

-- I_k(c) / I_0(c) is the mean of the cosine of k times the angle.
t.test("the angles of von Mises's distribution", function()
  local function bessel(k, c)
    local sum, term = 0, 1
    for i = 1, k do term = term * c / 2 / i end
    for i = 1, 200 do sum, term = sum + term, term * (c / 2) ^ 2 / i / (i + k) end
    return sum
  end
  for _, c in ipairs({ 0, 1e-9, 0.3, 2, 40 }) do
    local x = random.generator(3):vonmises(2.5, c, N, "float64", "cpu")
    assert(x:min() >= -math.pi and x:max() <= math.pi)
    for k = 1, 3 do
      t.near(((x - 2.5) * k):cos():mean(), bessel(k, c) / bessel(0, c), 4 / math.sqrt(N), c .. " " .. k)
      t.near(((x - 2.5) * k):sin():mean(), 0, 4 / math.sqrt(N))
    end
  end
  for _, c in ipairs({ 9e5, 1.1e6 }) do
    local mean, variance = moments(random.generator(3):vonmises(20, c, N, "float64", "cpu"):totable())
    t.near(mean, 20 - 6 * math.pi, 5 / math.sqrt(c * N))
    t.near(variance, 1 / c, 0.05 / c)
  end
end)

t.test("the ends of the binomial distribution", function()
  t.eq(random.binomial(0, 0.5, 9, "cpu"):sum(), 0)
  t.eq(random.binomial(7, 0, 9, "cpu"):sum(), 0)
  t.eq(random.binomial(7, 1, 9, "cpu"):sum(), 63)
  local mean, variance = moments(random.generator(8):binomial(1000000000, 0.7, N, "float64", "cpu"):totable())
  t.near(mean, 7e8, 5 * math.sqrt(2.1e8 / N))
  t.near(variance, 2.1e8, 2.1e7)
  t.raises("from 0 to 1000000000 tries", random.binomial, -1, 0.5, 3)
  t.raises("a probability is from 0 to 1", random.binomial, 5, 1.5, 3)
end)

-- The middle and how far from it half of the numbers are: there where moments are not.
for _, case in ipairs({ { "beta", { 2, 5 }, 2 / 7, 10 / 49 / 8 }, { "chisquare", { 4 }, 4, 8 }, { "laplace", { 3, 2 }, 3, 8 },
  { "gumbel", { 1, 2 }, 1 + 2 * 0.5772157, 4 * math.pi ^ 2 / 6 }, { "logistic", { 2, 0.5 }, 2, math.pi ^ 2 / 12 },
  { "lognormal", { 0, 0.5 }, math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25) },
  { "weibull", { 2 }, math.sqrt(math.pi) / 2, 1 - math.pi / 4 }, { "rayleigh", { 2 }, 2 * math.sqrt(math.pi / 2), 8 - 2 * math.pi },
  { "geometric", { 0.3 }, 1 / 0.3, 0.7 / 0.09 }, { "standard_t", { 10 }, 0, 1.25 },
  { "pareto", { 6 }, 0.2, 6 / 100 }, { "power", { 2 }, 2 / 3, 1 / 18 }, { "triangular", { 1, 2, 5 }, 8 / 3, 13 / 18 },
  { "wald", { 2, 6 }, 2, 8 / 6 }, { "f", { 5, 20 }, 10 / 9, 2 * 400 * 23 / (5 * 324 * 16) },
  { "noncentral_f", { 5, 20, 3 }, 20 * 8 / (5 * 18), 2 * (64 + 11 * 18) / (324 * 16) * 16 },
  { "noncentral_chisquare", { 0.5, 3 }, 3.5, 13 }, { "noncentral_chisquare", { 6, 1 }, 7, 16 },
  { "zipf", { 6 }, 1.0369277551 / 1.0173430620, 1.0823232337 / 1.0173430620 - (1.0369277551 / 1.0173430620) ^ 2 },
  { "vonmises", { 0, 1e4 }, 0, 1e-4 } }) do
  local name, parameters, mean, variance = table.unpack(case)
  t.test(name .. " has its mean and variance", function()
    local g, arguments = random.generator(4), { table.unpack(parameters) }
    table.insert(arguments, { N })
    local got, spread = moments(g[name](g, table.unpack(arguments)):to("float64"):totable())
    t.near(got, mean, 5 * math.sqrt(variance / N), "mean")
    t.near(spread, variance, 0.15 * variance, "variance")
    table.insert(arguments, "complex64")
    t.raises("not complex64", g[name], g, table.unpack(arguments))
  end)
end

t.test("Cauchy's quartiles are at -1 and 1", function()
  local x = random.generator(4):standard_cauchy(N)
  t.near(x:quantile(0.25), -1, 0.1)
  t.near(x:quantile(0.75), 1, 0.1)
end)

t.test("what the distributions made of others refuse", function()
  t.raises("beta: a must be above 0, got -1", random.beta, -1, 2, 3)
  t.raises("laplace: the scale is negative", random.laplace, 0, -1, 3)
  t.raises("parameters come first, then the shape", random.laplace, { 3 })
  t.raises("geometric: a probability is from 0 to 1", random.geometric, 2, 3)
  t.raises("the covariances a matrix of as many rows", random.multivariate_normal, { 1, 2 }, { { 1 } })
  t.raises("floating dtype, not int32", random.weibull, 1, 3, "int32")
  t.raises("triangular: the mode must be from left to right", random.triangular, 0, 2, 1, 3)
  t.raises("wald: the scale must be above 0", random.wald, 1, 0, 3)
  t.raises("noncentral_f: the noncentrality must be 0 or more", random.noncentral_f, 1, 1, -1, 3)
  t.raises("noncentral_chisquare: the degree of freedom must be above 0", random.noncentral_chisquare, 0, 1, 3)
  t.raises("vonmises: the concentration must be 0 or more", random.vonmises, 0, -1, 3)
  t.raises("zipf: the exponent must be above 1", random.zipf, 1, 3)
  t.raises("logseries: p must be from 0 to below 1", random.logseries, 1, 3)
  t.raises("negative_binomial: the probability must be above 0", random.negative_binomial, 1, 0, 3)
  t.raises("at most 1e+14", random.negative_binomial, 1e9, 1e-6, 3)
  t.raises("hypergeometric: 4 of 3 things cannot be taken", random.hypergeometric, 1, 2, 4, 3)
  t.raises({ "good", "expected a whole number, got 1.5" }, random.hypergeometric, 1.5, 2, 2, 3)
  t.raises({ "bad", "expected 0 to 1000000000, got -1" }, random.hypergeometric, 1, -1, 2, 3)
end)

t.every("vectors of normal numbers", function(device)
  local mean, cov = gpu.array({ 1, -2, 3 }, device), gpu.array({ { 2, 1, 0 }, { 1, 1, 0 }, { 0, 0, 0 } }, device)
  local x = random.generator(6):multivariate_normal(mean, cov, { 40, 500 }, device)
  t.eq(tostring(x.shape) .. x.dtype .. x.device, "(40, 500, 3)float32" .. device)
  t.close(x:mean({ 1, 2 }):totable(), { 1, -2, 3 }, 0.05)
  t.close(x:reshape(-1, 3):cov({ rowvar = false }), cov, 0.06)
  t.same(random.multivariate_normal({ 0, 0 }, { { 1, 0 }, { 0, 1 } }).shape, { 2 })
end)

t.every("rows in random order, in place", function(device)
  local x = gpu.range(200, device):reshape(100, 2)
  local view, g = x["::2"], random.generator(3)
  t.eq(g:shuffle(view), view)
  local firsts = view["::, 1"]:totable()
  assert(not view:equal(gpu.range(200, device):reshape(100, 2)["::2"]))
  assert((view["::, 2"] - view["::, 1"]):equal(gpu.ones(50, device)), "rows stay together")
  table.sort(firsts)
  t.same(firsts, t.list(50, function(i) return 4 * i + 1 end))
  assert(x["2::2"]:equal(gpu.range(200, device):reshape(100, 2)["2::2"]), "the others stay")
end)

t.test("integers and choices are even", function()
  local g = random.generator(3)
  local even = function() return 1 / 12 end
  local x = pearson(g:integers(1, 12, N, "cpu"):totable(), even, 1, 12)
  assert(x < 2.5, "integers: " .. x)
  x = pearson(g:choice(12, N, { device = "cpu" }):totable(), even, 1, 12)
  assert(x < 2.5, "choice: " .. x)
  local weights = { 1, 0, 2, 5 }
  local list = g:choice(4, N, { p = weights, device = "cpu" }):totable()
  x = pearson(list, function(k) return weights[k] / 8 end, 1, 4)
  assert(x < 3.5, "weighted: " .. x)
  for _, k in ipairs(list) do assert(k ~= 2, "chosen with weight 0") end
end)

for _, device in ipairs(devices) do
  t.test("permutations and choices on " .. device, function()
    local g = random.generator(2)
    local p = g:permutation(100, device)
    t.eq(p.device, device)
    t.eq(p.dtype, "int64")
    t.same(sorted(p), t.list(100, function(i) return i + 1 end))
    t.eq(g:permutation(5, "float32", device).dtype, "float32")
    t.eq(g:permutation(0, device).size, 0)
    local x = gpu.range(12, "int32", device):reshape(4, 3)
    for _, view in ipairs({ x, x.T, x["::-1"], (x + 0) }) do
      local rows = g:permutation(view)
      t.same(tostring(rows.shape), tostring(view.shape))
      local sums = {}
      for i = 1, #view do sums[i] = table.concat(view[i]:totable(), " ") end
      local got = {}
      for i = 1, #rows do got[i] = table.concat(rows[i]:totable(), " ") end
      table.sort(sums)
      table.sort(got)
      t.same(got, sums)
    end
    local chosen = g:choice(x, 2, 5)
    t.eq(tostring(chosen.shape), "(2, 5, 3)")
    t.eq(chosen.device, device)
    for _, i in ipairs(chosen:reshape(10, 3):totable()) do t.eq(i[1] % 3, 1) end
    local few = sorted(g:choice(x:flatten(), 12, { replace = false }))
    t.same(few, t.list(12, function(i) return i + 1 end))
    t.eq(g:choice(3, { 0 }, { device = device }).size, 0)
  end)
end

t.done()
