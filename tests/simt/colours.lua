-- Threads of one colour, as on a chessboard, compute their places from those around them: whether two threads of a launch
-- touch the same place, one of them storing, is counted out here, and gpu.check must say the same, a race or nothing.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 20))
local function pick(list) return list[random(#list) + 1] end

-- What threads (i, j) run, of colour c, in CUDA C and here. C's remainders of negative numbers are negative.
local function rest(a, b) return math.fmod(a, b) end
local colours = {
  { "(i + j) % 2 == c", function(i, j, c) return (i + j) % 2 == c end },
  { "((i + j) & 1) == c", function(i, j, c) return (i + j) & 1 == c end },
  { "((i + j) & 1) == 1", function(i, j) return (i + j) & 1 == 1 end },
  { "!((i + j) & 1)", function(i, j) return (i + j) & 1 == 0 end },
  { "((i ^ j) & 1) == c", function(i, j, c) return (i ~ j) & 1 == c end },
  { "(i - j) % 2 == 0", function(i, j) return rest(i - j, 2) == 0 end },
  { "(i - j) % 2 == 1", function(i, j) return rest(i - j, 2) == 1 end },
  { "(unsigned)(i + 3 * j) % 2u == (unsigned)c", function(i, j, c) return (i + 3 * j) % 2 == c end },
  { "i % 2 == c", function(i, _, c) return i % 2 == c end },
  { "j % 2 != c", function(_, j, c) return j % 2 ~= c end },
  { "(i & 1) == c && (j & 1) == c", function(i, j, c) return i & 1 == c and j & 1 == c end },
  { "((i + 2 * j) & 3) == c", function(i, j, c) return (i + 2 * j) & 3 == c end },
  { "(i + j) % 4 == c", function(i, j, c) return (i + j) % 4 == c end },
  { "(i + j) % 3 == c", function(i, j, c) return (i + j) % 3 == c end },
  { "(i | j) % 2 == c", function(i, j, c) return (i | j) % 2 == c end },
  { "((i >> 1) + j) % 2 == c", function(i, j, c) return ((i >> 1) + j) % 2 == c end },
  { "(i * j) % 2 == c", function(i, j, c) return (i * j) % 2 == c end },
}
-- Columns that a thread has: its own, or each second one, which begin where the row and the colour say.
local columns = {
  { "x", function(x) return x end },
  { "2 * x + ((y + c) & 1)", function(x, y, c) return 2 * x + ((y + c) & 1) end },
  { "2 * x + (y + c) % 2", function(x, y, c) return 2 * x + (y + c) % 2 end },
  { "4 * x + ((y + c) & 3)", function(x, y, c) return 4 * x + ((y + c) & 3) end },
  { "2 * x + (y & 1)", function(x, y) return 2 * x + (y & 1) end },
  { "2 * x + ((x + y) & 1)", function(x, y) return 2 * x + ((x + y) & 1) end },
  { "2 * x + (((x + y) & 1) | 1)", function(x, y) return 2 * x + (((x + y) & 1) | 1) end },
  { "2 * x + (((y + c) & 1) | 1)", function(x, y, c) return 2 * x + (((y + c) & 1) | 1) end },
  { "4 * x + (((y + c) & 2) | 1)", function(x, y, c) return 4 * x + (((y + c) & 2) | 1) end },
  { "4 * x + (((x + y) & 3) ^ 3)", function(x, y) return 4 * x + (((x + y) & 3) ~ 3) end },
  { "3 * x + (y & 1) - (y & 2)", function(x, y) return 3 * x + (y & 1) - (y & 2) end },
  { "(2 * x + (y & 1)) * 2 + ((x + c) & 1)", function(x, y, c) return (2 * x + (y & 1)) * 2 + ((x + c) & 1) end },
  { "(x << 1) | ((y ^ c) & 1)", function(x, y, c) return (x << 1) | ((y ~ c) & 1) end },
}
local always = { "true", function() return true end }

local kernels = {}
local function kernel(column, colour)
  local name = column[1] .. "|" .. colour[1]
  kernels[name] = kernels[name] or gpu.kernel(([[
    __global__ void k(float *all, int first, int w, int n, int m, int c, int from, int di, int dj, int ei, int ej) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      float *u = all + first;
      int i = COLUMN, j = y;
      if (i < from || i >= n || j >= m || !(COLOUR)) return;
      float sum = u[(j + dj) * w + i + di] + u[(j + ej) * w + i + ei];
      u[j * w + i] = sum + 1 + x + 1000 * y;
    }]]):gsub("COLUMN", (column[1]:gsub("%%", "%%%%"))):gsub("COLOUR", (colour[1]:gsub("%%", "%%%%"))) .. "")
  return kernels[name]
end

local MARGIN = 3 -- how far a neighbour is off, at most
local function races(o, column, colour, c)
  local owner, places = {}, {}
  for y = 0, o.grid[2] * o.block[2] - 1 do for x = 0, o.grid[1] * o.block[1] - 1 do
    local i, j, me = column[2](x, y, c), y, y * 100000 + x
    if i >= o.from and i < o.n and j < o.m and colour[2](i, j, c) then
      local at = j * o.w + i
      if owner[at] then return true end
      owner[at] = me
      places[#places + 1] = { me, (j + o.dj) * o.w + i + o.di }
      places[#places + 1] = { me, (j + o.ej) * o.w + i + o.ei }
    end
  end end
  for _, p in ipairs(places) do
    if (owner[p[2]] or p[1]) ~= p[1] then return true end
  end
  return false
end

local function run(column, colour, o)
  local c, data = o.c, gpu.zeros((o.grid[2] * o.block[2] + 2 * MARGIN + 4) * o.w + 8 * o.w + 1024)
  local found = gpu.check(function()
    kernel(column, colour)(o.grid, o.block)(data, MARGIN * o.w + MARGIN, o.w, o.n, o.m, c, o.from, o.di, o.dj, o.ei, o.ej)
  end)
  for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
  local what = ("%s; %s; w %d, n %d, m %d, c %d, from %d, (%d, %d), (%d, %d), grid %dx%d, block %dx%d"):format(column[1],
    colour[1], o.w, o.n, o.m, c, o.from, o.di, o.dj, o.ei, o.ej, o.grid[1], o.grid[2], o.block[1], o.block[2])
  local wanted = races(o, column, colour, c)
  t.eq(#found > 0, wanted, what)
  return wanted
end

local function some()
  local block, grid = pick { { 8, 8 }, { 32, 2 }, { 5, 3 }, { 16, 1 } }, pick { { 1, 1 }, { 2, 3 }, { 3, 1 }, { 1, 4 } }
  local w = pick { 8, 9, 15, 16, 33, 34, 64, 65 }
  return { block = block, grid = grid, w = w, n = pick { w, w - 1, w - 2, w + 1, 1000 }, m = pick { 5, 20, 1000 },
    from = pick { 0, 1, 1, 2 }, c = random(2), di = pick { 1, -1, 0, 0, 2, -3 }, dj = pick { 0, 0, 1, -1, 2 },
    ei = pick { 0, -1, 1, 0 }, ej = pick { 0, 1, -1, 0 } }
end

-- Neighbours of another colour; then as it comes.
local function test(name, count, column, colour)
  t.test(name, function()
    local seen = { [true] = 0, [false] = 0 }
    for k = 1, count do
      local o = some()
      if k % 2 == 0 then o.di, o.dj, o.ei, o.ej, o.n = pick { 1, -1 }, 0, 0, pick { 1, -1 }, o.w - pick { 0, 1, 2 } end
      local wanted = run(column, colour, o)
      seen[wanted] = seen[wanted] + 1
    end
    assert(seen[true] > 0, "none of them raced")
  end)
end

local count = os.getenv("LUNARRAY_PROGRAMS") and tonumber(os.getenv("LUNARRAY_PROGRAMS")) or 16
for _, colour in ipairs(colours) do test("of a thread each: " .. colour[1], count, columns[1], colour) end
for n = 2, #columns do
  test("columns " .. columns[n][1], count, columns[n], always)
  test("columns " .. columns[n][1] .. ", of a colour", count, columns[n], colours[1])
end

-- Pairs of places, of which one thread exchanges the values, as in a sorting network. C's condition, and ours.
local partners = {
  { "p > i", function(i, p) return p > i end }, { "p < i", function(i, p) return p < i end },
  { "i < p && i < n", function(i, p, _, n) return i < p and i < n end },
  { "p >= i", function(i, p) return p >= i end }, { "p != i", function(i, p) return p ~= i end },
  { "(i & j) == 0", function(i, _, j) return i & j == 0 end }, { "(i & j) != 0", function(i, _, j) return i & j ~= 0 end },
  { "!(i & j) && i < n", function(i, _, j, n) return i & j == 0 and i < n end },
  { "(i & (2 * j)) == 0", function(i, _, j) return i & (2 * j) == 0 end },
  { "p > i && (i & 3) == 1", function(i, p) return p > i and i & 3 == 1 end },
  { "p > j", function(_, p, j) return p > j end },
}
local others = { { "i ^ j", function(i, j) return i ~ j end }, { "i + j", function(i, j) return i + j end },
  { "j ^ i", function(i, j) return j ~ i end }, { "(i | j)", function(i, j) return i | j end },
  { "i + 2 * j - (i & j)", function(i, j) return i + 2 * j - (i & j) end } }
local numbers = { "int", "unsigned", "long long" }

local function exchange(number, other, condition)
  local name = number .. other[1] .. condition[1]
  kernels[name] = kernels[name] or gpu.kernel(([[
    __global__ void k(double *a, T j, T n) {
      T i = (T)blockIdx.x * blockDim.x + threadIdx.x, p = OTHER;
      if (!(CONDITION)) return;
      double x = a[i], y = a[p];
      if (x <= y) { a[i] = y + 1; a[p] = x - i; }
    }]]):gsub("OTHER", other[1]):gsub("CONDITION", condition[1]):gsub("T", number) .. "")
  return kernels[name]
end

local function exchange_races(other, condition, threads, j, n)
  local owner = {}
  for i = 0, threads - 1 do
    local p = other[2](i, j)
    if condition[2](i, p, j, n) then
      for _, at in ipairs { i, p } do
        if (owner[at] or i) ~= i then return true end
        owner[at] = i
      end
    end
  end
  return false
end

for _, number in ipairs(numbers) do
  for _, condition in ipairs(partners) do
    t.test(("%s partners, %s"):format(number, condition[1]), function()
      for _ = 1, count do
        local other, j = pick { others[1], others[1], pick(others) }, pick { 1, 2, 4, 8, 16, 32, 64, 128, 3, 6, 5, 0, 7 }
        local blocks, threads = pick { 1, 2, 3, 4 }, pick { 8, 16, 32, 48, 64 }
        local n = pick { 1000, blocks * threads, blocks * threads - 3, 20 }
        local a = gpu.zeros(1024, "float64")
        local found = gpu.check(function() exchange(number, other, condition)(blocks, threads)(a, j, n) end)
        for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
        t.eq(#found > 0, exchange_races(other, condition, blocks * threads, j, n),
          ("p = %s, j %d, n %d, grid %d, block %d"):format(other[1], j, n, blocks, threads))
      end
    end)
  end
end

-- A step of an elimination: the row of a pivot, and each row's place in its column, are read by those below and behind it.
local below = { { "i > k", function(i, k) return i > k end }, { "i >= k", function(i, k) return i >= k end },
  { "!(i <= k)", function(i, k) return i > k end }, { "i > 2", function(i) return i > 2 end },
  { "i != k", function(i, k) return i ~= k end }, { "i < k", function(i, k) return i < k end },
  { "i == k + 1", function(i, k) return i == k + 1 end }, { "i - k > 0", function(i, k) return i - k > 0 end } }
local function eliminate(rows, columns)
  local name = rows[1] .. "," .. columns[1]
  kernels[name] = kernels[name] or gpu.kernel(([[
    __global__ void k(float *a, int w, int n, int m, int k, int p, int q) {
      int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
      if (!(ROWS) || i >= n || j >= m || !(COLUMNS)) return;
      a[i * w + j] -= a[i * w + p] * a[q * w + j] + i + 100 * j + 1;
    }]]):gsub("ROWS", rows[1]):gsub("COLUMNS", (columns[1]:gsub("i", "j"))) .. "")
  return kernels[name]
end

local function elimination_races(o, rows, columns)
  local owner, places = {}, {}
  for i = 0, o.grid[2] * o.block[2] - 1 do for j = 0, o.grid[1] * o.block[1] - 1 do
    if rows[2](i, o.k) and i < o.n and j < o.m and columns[2](j, o.k) then
      local me, at = i * 1000 + j, i * o.w + j
      if owner[at] then return true end
      owner[at] = me
      places[#places + 1] = { me, i * o.w + o.p }
      places[#places + 1] = { me, o.q * o.w + j }
    end
  end end
  for _, p in ipairs(places) do
    if (owner[p[2]] or p[1]) ~= p[1] then return true end
  end
  return false
end

for _, rows in ipairs(below) do
  t.test("an elimination's step, " .. rows[1], function()
    for _ = 1, 2 * count do
      local columns, k = pick(below), 1 + random(5)
      local o = { grid = pick { { 1, 1 }, { 2, 3 }, { 3, 2 } }, block = pick { { 8, 4 }, { 16, 2 }, { 5, 3 } }, k = k,
        w = pick { 12, 16, 24, 25, 48 }, p = pick { k, k, k + 1, k - 1, 0 }, q = pick { k, k, k + 1, k - 1, 0 } }
      o.n, o.m = pick { 1000, 6, 11 }, pick { o.w, o.w, o.w - 1, 7, 1000 }
      local a = gpu.zeros(1024)
      local found = gpu.check(function() eliminate(rows, columns)(o.grid, o.block)(a, o.w, o.n, o.m, k, o.p, o.q) end)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
      t.eq(#found > 0, elimination_races(o, rows, columns),
        ("%s, columns %s; w %d, n %d, m %d, k %d, p %d, q %d, grid %dx%d, block %dx%d"):format(rows[1], columns[1], o.w,
          o.n, o.m, k, o.p, o.q, o.grid[1], o.grid[2], o.block[1], o.block[2]))
    end
  end)
end

-- The same with a thread for each row, which goes along it: the compiler makes two loops of that, one behind the other.
local ways = { { "j++", 1 }, { "j += 2", 2 }, { "j += by", 3 } }
local function along(way)
  kernels[way[1]] = kernels[way[1]] or gpu.kernel(([[
    __global__ void k(float *a, int w, int n, int first, int from, int to, int q, int by) {
      int i = blockIdx.x * blockDim.x + threadIdx.x + first;
      if (i >= n) return;
      a[i * w + q] /= a[q * w + q] + 1;
      for (int j = from; j < to; WAY) a[i * w + j] -= a[i * w + q] * a[q * w + j] + i + 100 * j;
    }]]):gsub("WAY", way[1]) .. "")
  return kernels[way[1]]
end

-- The rows as the kernel leaves them, or nil: threads race.
local function rows_behind(a, o, way)
  local owner, read = {}, {}
  local function touch(i, at, write)
    local list = write and owner or read
    list[at] = (list[at] or i) == i and i or -1
  end
  for i = o.first, math.min(o.n, o.threads + o.first) - 1 do
    local function add(at, f)
      touch(i, at, true)
      a[at] = f
    end
    touch(i, o.q * o.w + o.q)
    add(i * o.w + o.q, a[i * o.w + o.q] / (a[o.q * o.w + o.q] + 1))
    for j = o.from, o.to - 1, way[2] do
      touch(i, o.q * o.w + j)
      touch(i, i * o.w + o.q)
      add(i * o.w + j, a[i * o.w + j] - (a[i * o.w + o.q] * a[o.q * o.w + j] + i + 100 * j))
    end
  end
  for at, who in pairs(owner) do
    if who == -1 or (read[at] or who) ~= who then return nil end
  end
  return a
end

for _, way in ipairs(ways) do
  t.test("rows along which threads go by " .. way[1], function()
    local races = 0
    for _ = 1, 4 * count do
      local q, w = random(5), pick { 12, 17, 24, 25 }
      local o = { q = q, w = w, blocks = pick { 1, 2 }, block = pick { 4, 8, 33 }, first = pick { q + 1, q + 1, q + 1, q, 0 },
        from = q + pick { 1, 1, 1, 2, 0 }, to = pick { w, w, w, w - 1, w - 2, w - 3, w + q, w + q + 1, 3 } }
      o.threads, o.n = o.blocks * o.block, pick { 40, 20, 7 }
      if o.first + o.threads > 79 or o.n > 79 then o.n = 70 end
      local a, before = gpu.random.uniform { 80 * 25 }, {}
      for at, v in ipairs(a:totable()) do before[at - 1] = v end
      local found = gpu.check(function() along(way)(o.blocks, o.block)(a, w, o.n, o.first, o.from, o.to, q, way[2]) end)
      local want = rows_behind(before, o, way)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
      local what = ("w %d, n %d, first %d, from %d, to %d, q %d, %d blocks of %d"):format(w, o.n, o.first, o.from, o.to, q,
        o.blocks, o.block)
      t.eq(#found > 0, want == nil, what)
      races = races + (want and 0 or 1)
      if want then
        want = table.move(want, 0, 80 * 25 - 1, 1, {})
        assert(gpu.allclose(a, gpu.array(want, "float32"), { rtol = 1e-3, atol = 1e-3 }), what)
      end
    end
    assert(races > 0 and races < 4 * count, "some race")
  end)
end

t.test("a sweep of each colour, in place, is silent and right", function()
  local sweep = gpu.kernel [[
    __global__ void sweep(float *u, int w, int h, int colour) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
      if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1 || (i + j) % 2 != colour) return;
      u[j * w + i] = 0.25f * (u[j * w + i - 1] + u[j * w + i + 1] + u[(j - 1) * w + i] + u[(j + 1) * w + i]);
    }]]
  for _, w in ipairs { 40, 41 } do
    local h = 23
    local u = gpu.random.uniform({ h, w })
    local expected = u:totable()
    for colour = 0, 1 do
      local found = gpu.check(function() sweep({ 3, 2 }, { 16, 16 })(u, w, h, colour) end)
      t.eq(#found, 0, found[1] and found[1].message)
      for j = 2, h - 1 do for i = 2, w - 1 do
        if (i + j) % 2 == colour then
          expected[j][i] = 0.25 * (expected[j][i - 1] + expected[j][i + 1] + expected[j - 1][i] + expected[j + 1][i])
        end
      end end
    end
    assert(gpu.allclose(u, gpu.array(expected)), "width " .. w)
  end
end)

t.test("a sweep without its colour races, and says with whom", function()
  local sweep = gpu.kernel [[
    __global__ void sweep(float *u, int w, int h) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
      if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1 || (i + 2 * j) % 2) return;
      u[j * w + i] = 0.5f * (u[(j - 1) * w + i] + u[(j + 1) * w + i]);
    }]]
  local u = gpu.zeros(32, 32)
  local found = gpu.check(function() sweep({ 2, 2 }, { 16, 16 })(u, 32, 32) end)
  assert(#found > 0 and found[1].kind == "race", "a row's neighbours have its colour")
end)

t.done()
