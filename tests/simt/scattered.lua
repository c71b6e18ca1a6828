-- Elements of every size that lanes touch here and there, over many pages: who meets whom is known by the indices, and
-- gpu.check must say that, and nothing else, in every run.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n = 20480
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 99))
local function pick(list) return list[random(#list) + 1] end
local order = t.shuffled(n, random)
local function index(change)
  local list = table.move(order, 1, n, 1, {})
  if change then change(list) end
  return gpu.array(list, "int32")
end
local each = index()
local met = index(function(p) p[17000] = p[40] end) -- two threads of different blocks
local near = index(function(p) p[34] = p[33] end) -- two lanes of a warp
local few = index(function(p) for i = 1, n do p[i] = p[i] % 700 * 29 end end) -- many threads

local function says(name, found, kinds)
  local all = {}
  for _, r in ipairs(found) do
    local who = { r.access, r.other and r.other.access or "" }
    table.sort(who)
    all[#all + 1] = r.kind .. " " .. table.concat(who, " ")
  end
  t.eq(table.concat(all, ", "), kinds, name)
end

for _, ty in ipairs { { "unsigned char", "uint8" }, { "short", "int16" }, { "int", "int32" }, { "double", "float64" } } do
  local k = gpu.kernel(([==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void put(T *y, const int *p) { y[p[I]] = (T)(I % 100 + 1); }
__global__ void mark(T *y, const int *p) { y[p[I]] = 1; }
__global__ void twice(T *y, const int *p) { y[p[I]] = (T)(I % 50); y[p[I]] += 3; }
__global__ void look(T *y, const int *p, T *out) { out[I] = y[p[I]]; if (I == 77) y[0] = 2; }
__global__ void rows(T *y, const int *p, T *out) { T v = y[I]; if (I % 2) y[p[I]] = v + 1; out[I] = v; }
__global__ void sieve(T *y, int n) { for (int k = 2 * (I + 2); k < n; k += I + 2) y[k] = 1; }]==]):gsub("T", ty[1]) .. "")
  local function found(f) return gpu.check(f) end
  for _, launch in ipairs { { 80, 256 }, { 640, 32 } } do
    local blocks, threads = launch[1], launch[2]
    t.test(("%s by %d threads"):format(ty[1], threads), function()
      local y, out = gpu.zeros(n, ty[2]), gpu.zeros(n, ty[2])
      local function run(name, ...)
        local args = { ... }
        return found(function() k[name](blocks, threads)(y, table.unpack(args)) end)
      end
      says("each its own", run("put", each), "")
      says("two threads", run("put", met), "race write write")
      says("two lanes", run("put", near), "race write write")
      says("the same value by two", run("mark", met), "")
      says("the same value by many", run("mark", few), "")
      says("twice", run("twice", each), "")
      t.eq(#run("twice", met) > 0, true)
      says("read by many", run("look", few, out), "race read write")
      t.eq(#run("rows", each, out) > 0, true)
      local clean = found(function() k.sieve(2, threads)(y, n) end)
      says("a sieve", clean, "")
    end)
  end
end

-- Arrays that nobody reads in the launch: that two threads store to one element is found when the second one does, or at
-- the end. Who may store what where is counted here.
t.test("only stored to", function()
  local k = gpu.kernel [==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void put(int *y, const int *p, const int *v) { y[p[I]] = v[I]; }
__global__ void put_some(int *y, const int *p, const int *v) { if (v[I] % 3) y[p[I]] = v[I]; }
__global__ void put_pairs(int2 *y, const int *p, const int *v) { y[p[I]] = make_int2(v[I], I); }
__global__ void put_parts(short *y, const int *p, const int *v) { *(int *)(y + 2 * p[I]) = v[I]; if (v[I] == 77) y[2 * p[I] + 1] = 7; }
__global__ void by_turns(int *y, const int *p, const int *v)
{
    int *own = y + blockIdx.x * blockDim.x;
    own[p[threadIdx.x]] = 1;
    __syncthreads();
    own[threadIdx.x] = v[I];
}
__global__ void late(int *y, const int *p, const int *v) { y[p[I]] = v[I]; if (I == 20000) y[p[5]] = -1; }]==]
  local function told(name, y, p, v)
    return gpu.check(function() k[name](80, 256)(y, p, v) end)
  end
  for round = 1, t.brief(12, 6) do
    local places, values, at, race, some, y = {}, {}, {}, false, false, gpu.full({ n }, -5, { dtype = "int32" })
    for i = 1, n do
      places[i], values[i] = order[i], round % 3 == 0 and 5 or 1 + random(4)
    end
    for _ = 1, round % 2 == 0 and 3 or 0 do places[1 + random(n)] = places[1 + random(n)] end
    for i = 1, n do
      local other = at[places[i]]
      race = race or (other and values[other] ~= values[i])
      some = some or (other and values[other] ~= values[i] and values[other] % 3 ~= 0 and values[i] % 3 ~= 0)
      at[places[i]] = i
    end
    local p, v = gpu.array(places, "int32"), gpu.array(values, "int32")
    t.eq(#told("put", y, p, v), race and 1 or 0, "round " .. round)
    local result, right = y:totable(), true
    for place, i in pairs(at) do right = right and (race or result[place + 1] == values[i]) end
    t.eq(right, true)
    t.eq(#told("put_some", y, p, v), some and 1 or 0)
    local doubled = false
    for i = 1, n do doubled = doubled or at[places[i]] ~= i end
    t.eq(#told("put_pairs", gpu.zeros({ 2 * n }, "int32"), p, v), doubled and 1 or 0)
    t.eq(#told("put_parts", gpu.zeros({ 2 * n }, "int16"), p, v), race and 1 or 0)
  end
  local within = {}
  for i = 1, 256 do within[i] = 256 - i end
  local y, v = gpu.zeros({ n }, "int32"), gpu.array(order, "int32")
  says("before and behind a barrier", told("by_turns", y, gpu.array(within, "int32"), v), "")
  t.eq(gpu.all(y:eq(v)), true)
  local r = told("late", y, each, v)
  t.eq(#r, 1)
  for _, who in ipairs { "block (0, 0, 0), thread (5, 0, 0)", "block (78, 0, 0), thread (32, 0, 0)" } do
    t.eq(r[1].text:find(who, 1, true) ~= nil, true, who)
  end
end)

-- Most instructions load, from places that many may load from as long as nobody else stores there. Who does what to
-- which element is counted here; half of the launches have no race.
local function races(threads, each)
  local loaded, stored = {}, {}
  for i = 0, threads - 1 do
    local from, to = each(i)
    for _, place in ipairs(from) do
      if stored[place] and stored[place] ~= i then return true end
      loaded[place] = loaded[place] and loaded[place] ~= i and -1 or i
    end
    if to then
      if stored[to] or loaded[to] and loaded[to] ~= i then return true end
      stored[to] = i
    end
  end
  return false
end

for _, ty in ipairs { { "unsigned char", "uint8" }, { "float", "float32" }, { "double", "float64" } } do
  local k = gpu.kernel(([==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void mix(T *y, const int *p, const int *a, const int *b, int n) { int i = I; if (i < n) y[p[i]] = y[a[i]] + y[b[i]] + 1; }
__global__ void add(T *y, const int *p, const int *a, const int *b, int n) { int i = I; if (i < n) y[p[i]] = y[p[i]] + y[a[i]] + y[b[i]]; }
__global__ void twice(T *y, const int *p, const int *a, const int *b, int n)
{
    int i = I;
    if (i >= n) return;
    T v = y[p[i]] + y[a[i]] + y[b[i]] + y[a[i] ^ 2];
    y[p[i]] = v;
    if (i % 3 == 0) y[p[i]] += 1;
}
__global__ void steps(T *y, int step, int at, int left, int right, int m, int n)
{
    int i = I;
    if (i < n && i % m == 0) y[i * step + at] = y[i * step + at - left] + y[i * step + at] + y[i * step + at + right] + 1;
}]==]):gsub("T", ty[1]) .. "")
  t.test("stored between what others load: " .. ty[1], function()
    local y, clean, racing = gpu.ones({ n }, ty[2]), 0, 0
    local function same(race, launch, name)
      if race then racing = racing + 1 else clean = clean + 1 end
      for _ = 1, 2 do
        local found = gpu.check(launch)
        t.eq(#found > 0, race, name)
        for _, r in ipairs(found) do t.eq(r.kind, "race", name) end
      end
    end
    for round = 1, 8 do
      local threads, blocks = 4096, round % 2 == 0 and { 16, 256 } or { 128, 32 }
      local p, a, b = {}, {}, {}
      local mixed = t.shuffled(threads, random)
      for i = 1, threads do -- they store to even places, by rows or here and there, and load from odd ones
        p[i], a[i], b[i] = 2 * (round % 4 < 2 and i - 1 or mixed[i]), 2 * random(threads) + 1, 2 * i % 64 + 1
      end
      if round > 4 then a[1 + random(threads)] = p[1 + random(threads)] end
      local pp, aa, bb = gpu.array(p, "int32"), gpu.array(a, "int32"), gpu.array(b, "int32")
      for _, name in ipairs { "mix", "add", "twice" } do
        local race = races(threads, function(i)
          local from = { a[i + 1], b[i + 1], name ~= "mix" and p[i + 1] or nil }
          if name == "twice" then from[4] = a[i + 1] ~ 2 end
          return from, p[i + 1]
        end)
        same(race, function() k[name](blocks[1], blocks[2])(y, pp, aa, bb, threads) end, name .. " " .. round)
      end
    end
    for _ = 1, 24 do
      local step, left, right, m = 1 + random(5), random(4), random(4), 1 + random(3)
      local threads = 700 + random(300)
      local race = races(threads, function(i)
        if i % m > 0 then return {} end
        local at = i * step + 8
        return { at - left, at, at + right }, at
      end)
      same(race, function() k.steps(8, 128)(y, step, 8, left, right, m, threads) end,
        ("step %d left %d right %d m %d of %d threads"):format(step, left, right, m, threads))
    end
    assert(clean > 10 and racing > 10, ("%d clean, %d racing"):format(clean, racing))
  end)
end

t.test("atomics", function()
  local k = gpu.kernel [==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void count(int *y, const int *p) { atomicAdd(&y[p[I]], 1); }
__global__ void look(int *y, const int *p, int *out) { atomicAdd(&y[p[I]], 1); if (I == 5000) out[0] = y[p[7]]; }
__global__ void own(int *y, const int *p) { atomicAdd(&y[p[I]], 1); y[p[I]] += 2; }
__global__ void swap(int *y, const int *p, int *out) { out[I] = atomicCAS(&y[p[I]], 0, I + 1); }
__global__ void set(int *y, const int *p) { atomicAdd(&y[p[I]], 1); if (I == 9000) y[p[3]] = 1; }]==]
  local y, out = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
  for _, p in ipairs { each, met, few } do
    says("counts", gpu.check(function() k.count(80, 256)(y, p) end), "")
    says("swaps", gpu.check(function() k.swap(80, 256)(y, p, out) end), "")
    t.eq(#gpu.check(function() k.look(80, 256)(y, p, out) end), 1)
    t.eq(#gpu.check(function() k.set(80, 256)(y, p) end), 1)
  end
  says("one's own", gpu.check(function() k.own(80, 256)(y, each) end), "")
  t.eq(#gpu.check(function() k.own(80, 256)(y, few) end) > 0, true)
  y = gpu.zeros(n, "int32")
  k.count(80, 256)(y, few)
  t.eq(y:sum(), n)
end)

-- Steps in place, as Floyd and Warshall's: each thread loads its element, one of its row that its row's threads all load, and
-- one of its column; some of them do only part of that, and some store, most often to their own.
do
  local k = gpu.kernel [==[__global__ void step(float *x, const unsigned char *does, const int *to, int across, int down, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x, me = row * n + col;
    if (row >= n || col >= n) return;
    float v = 0;
    if (does[me] & 1) v += x[me];
    if (does[me] & 2) v += x[row * n + across];
    if (does[me] & 4) v += x[down * n + col];
    if (does[me] & 8) x[to[me]] = v + me;
  }]==]
  local what = {
    function() return 7 end,
    function(i) return i % 3 end,
    function(i, q) return i % 7 == q and 6 or 1 end,
    function(i, q) return i == q * 11 and 2 or 0 end,
    function() return 2 end,
  }
  local some = {
    function() return false end,
    function(_, row, col, across, down) return row ~= down and col ~= across end,
    function(i, _, _, _, _, q) return i == q * 11 end,
    function(i, row, col, across, down, q) return i % 5 == q % 5 and row ~= down and col ~= across end,
  }
  t.test("steps in place by what a row and a column have", function()
    local clean, racing = 0, 0
    for round = 1, 160 do
      local n, q = pick({ 16, 20, 33, 48 }), random(7)
      local block = pick({ { 16, 16 }, { 8, 8 }, { 32, 4 }, { 64, 2 } })
      local across, down = random(n), random(n)
      local form, stores = pick(what), pick(some)
      local does, to = {}, {}
      for i = 0, n * n - 1 do
        local row, col = i // n, i % n
        does[i + 1] = form(i, q) + (stores(i, row, col, across, down, q) and 8 or 0)
        to[i + 1] = i
      end
      if round % 3 == 0 then -- somebody does it elsewhere, or where others load
        local i = random(n * n)
        does[i + 1] = does[i + 1] | 8
        to[i + 1] = pick({ i, i // n * n + across, down * n + i % n, random(n * n) })
      end
      if round % 5 == 0 then -- several do it at one place
        for i = down * n, down * n + q do does[i + 1], to[i + 1] = does[i + 1] | 8, across end
      end
      if round % 7 == 0 then -- what a neighbour has loaded
        for i = 0, n * n - 1 do does[i + 1], to[i + 1] = i % n < n // 2 and 9 or 1, i + (i > n * n // 2 and i % n or 0) end
      end
      local race = races(n * n, function(i)
        local from, d = {}, does[i + 1]
        if d & 1 > 0 then from[#from + 1] = i end
        if d & 2 > 0 then from[#from + 1] = i // n * n + across end
        if d & 4 > 0 then from[#from + 1] = down * n + i % n end
        return from, d & 8 > 0 and to[i + 1] or nil
      end)
      local dd, tt, x = gpu.array(does, "uint8"), gpu.array(to, "int32"), gpu.ones({ n * n })
      local grid = { (n + block[1] - 1) // block[1], (n + block[2] - 1) // block[2] }
      for _ = 1, 2 do
        local found = gpu.check(function() k(grid, block)(x, dd, tt, across, down, n) end)
        t.eq(#found > 0, race, "round " .. round)
        for _, r in ipairs(found) do t.eq(r.kind, "race", "round " .. round) end
      end
      if race then racing = racing + 1 else clean = clean + 1 end
    end
    assert(clean > 30 and racing > 20, ("%d clean, %d racing"):format(clean, racing))
  end)
end

t.done()
