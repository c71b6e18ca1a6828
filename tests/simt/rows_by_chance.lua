-- Places of shared memory that are looked up and, for whole warps, turn out to be rows, or nearly: gpu.check finds a race
-- just where threads touch an element between two barriers that another one writes, as a model of the launch counts
-- them, and leaves results as they are.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local WORDS, EPOCHS = 160, 3
local source = [==[
  __global__ void meet(const int *c, const int *a, const int *b, const int *w, int *y) {
    __shared__ int s[WORDS];
    int i = threadIdx.x, sum = 0;
    for (int k = i; k < WORDS; k += blockDim.x) s[k] = k;
    __syncthreads();
    for (int e = 0; e < EPOCHS; e++) {
      int at = e * blockDim.x + i;
      sum = 3 * sum + s[a[at]];
      for (int q = 0; q < c[at]; q++) sum += s[b[at] + q];
      if (w[at] >= 0) s[w[at]] = 1000 * e + i;
      __syncthreads();
    }
    y[i] = sum;
  }
  __global__ void broadcast(const int *at, int word, int *y) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = i;
    __syncthreads();
    int v = s[at[i]];
    if (i == word) s[i] = -v - 1;
    __syncthreads();
    y[i] = v + s[i];
  }
  __global__ void beyond(const int *a, int *y) {
    __shared__ int s[64], behind[64];
    int i = threadIdx.x;
    s[i] = i, behind[i] = i;
    __syncthreads();
    y[i] = s[a[i]] + behind[63 - i];
  }
  // The addresses of s[i] are wanted again behind a load that leaves the variable.
  __global__ void again(const int *a, int *y, int n) {
    __shared__ struct { int x, y; } s[40];
    int i = threadIdx.x, v = i;
    v += s[i - 1].x;
    for (int k = 0; k < n; k++)
      if (v & 1) v += a[i + k];
    s[i].x = i;
    s[i].y = i;
    y[i] = v;
  }
]==]
local kernels = gpu.kernel((source:gsub("WORDS", WORDS):gsub("EPOCHS", EPOCHS)))

-- Where thread i of n goes. `k` and `r`: numbers that stay for all threads.
local places = {
  function(i, _, k) return i + k end,
  function(i, n, k) return math.min(math.max(i + k - 8, 8), n - 5) end,
  function(i, _, k) return i == k and i + 30 or i + 16 end,
  function(i, _, k) return (i ~ (k % 32)) + 16 end,
  function(_, _, k) return k end,
  function(i, n, k) return n - 1 - i + k end,
  function(i, _, k) return 40 + i * 7 % 11 + k % 3 end,
}
local writes = {
  function() return -1 end,
  function(i, n, k) return i < 3 and n + 32 + i + k % 20 or -1 end,
  function(i, _, k, r) return i == k and r or -1 end,
  function(i, _, k) return i + k end,
  function(i, _, k) return i % 32 == k % 32 and i + 16 or -1 end,
  function(i, _, k) return i // 32 == k % 2 and i + k or -1 end,
}
local conditions = {
  function() return 1 end,
  function(i, _, k) return i % 32 == k % 32 and 0 or 1 end,
  function(i, _, k) return i // 32 == k % 3 and 0 or 1 end,
  function(i, _, k) return (i + k) % 4 end,
}

-- What each thread sums, and whether one touches what another writes in the same epoch.
local function model(n, c, a, b, w)
  local s, sums, race = {}, {}, false
  for k = 0, WORDS - 1 do s[k] = k end
  for i = 1, n do sums[i] = 0 end
  for e = 0, EPOCHS - 1 do
    local first = e * n
    local writers, now = {}, {}
    for i = 1, n do
      local at = w[first + i]
      if at >= 0 then
        race = race or writers[at] ~= nil
        writers[at] = i
        now[at] = 1000 * e + i - 1
      end
    end
    for i = 1, n do
      local x, y = a[first + i], b[first + i]
      sums[i] = 3 * sums[i] + s[x]
      race = race or (writers[x] or i) ~= i
      for q = y, y + c[first + i] - 1 do
        sums[i] = sums[i] + s[q]
        race = race or (writers[q] or i) ~= i
      end
    end
    for at, v in pairs(now) do s[at] = v end
  end
  return race, sums
end

local seed = tonumber(os.getenv "LUNARRAY_SEED") or 5
t.test("races and results are those of the model", function()
  local random, raced, clean = t.random(seed), 0, 0
  for trial = 1, 300 do
    local n = 32 * (random(3) + 1)
    local lists, few = { {}, {}, {}, {} }, random(2) == 0
    for e = 0, EPOCHS - 1 do
      local k, r = random(32), random(n + 16)
      for l, forms in ipairs { conditions, places, places, writes } do
        local form = forms[random(few and (l == 1 and 2 or l == 4 and 1) or #forms) + 1]
        if few and l == 2 then form = function() return WORDS - 1 end end
        for i = 0, n - 1 do lists[l][#lists[l] + 1] = form(i, n, k, r) end
      end
      -- Another one writes where lane k goes, or would go.
      if few and e == trial % EPOCHS then lists[4][e * n + (k + 1) % 32 + 1] = lists[3][e * n + k + 1] end
    end
    local race, sums = model(n, table.unpack(lists))
    local y, given = gpu.zeros(n, "int32"), {}
    for l, list in ipairs(lists) do given[l] = gpu.array(list, "int32") end
    local found = gpu.check(function() kernels.meet(1, n)(given[1], given[2], given[3], given[4], y) end)
    for _, r in ipairs(found) do t.eq(r.kind, "race", "trial " .. trial) end
    t.eq(#found > 0, race, "trial " .. trial)
    if not race then t.eq(gpu.equal(y, gpu.array(sums, "int32")), true, "trial " .. trial) end
    if race then raced = raced + 1 else clean = clean + 1 end
  end
  assert(raced > 30 and clean > 30, raced .. " " .. clean)
end)

t.test("what all lanes of one warp read, one of them writes", function()
  local y = gpu.zeros(32, "int32")
  for word = 0, 31 do
    local found = gpu.check(function() kernels.broadcast(1, 32)(gpu.full({ 32 }, word, "int32"), word, y) end)
    t.eq(#found, 1, word)
    t.eq(#gpu.check(function() kernels.broadcast(1, 32)(gpu.full({ 32 }, word, "int32"), 40, y) end), 0, word)
  end
end)

t.test("a row that leaves its variable is told", function()
  local y = gpu.zeros(64, "int32")
  local function run(on)
    return gpu.check(function() kernels.beyond(1, 64)(gpu.range(0, 63, "int32") + on, y) end)
  end
  t.eq(#run(0), 0)
  for _, on in ipairs { 1, 32, 40, -1, -33 } do
    local found = run(on)
    t.eq(#found, 1, on)
    t.eq(found[1].kind, "out of bounds", on)
    t.eq(found[1].count, math.min(math.abs(on), 64), on)
  end
end)

t.test("behind a row that leaves its variable all is where it was", function()
  local found = gpu.check(function() kernels.again(1, 32)(gpu.range(0, 99, "int32"), gpu.zeros(32, "int32"), 4) end)
  local kinds = {}
  for k, r in ipairs(found) do kinds[k] = r.kind .. " " .. r.count end
  t.same(kinds, { "out of bounds 1", "race 31" })
end)

t.done()
