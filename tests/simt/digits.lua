-- Threads that take a number of theirs apart by division, as row and column, or batch, head and place, and put the parts
-- together in some way: whether two of them store to one element is counted out here, and gpu.check must say the same.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 11))
local function pick(list) return list[random(#list) + 1] end

-- A and B are the sizes, numbers or parameters; T the type of what is computed.
local source = [==[
  #define PARTS T a, T b, T low, T middle, T high, T whole, T more
  #define I ((T)blockIdx.x * blockDim.x + threadIdx.x)
  #define AT(x, y, z) ((x) * low + (y) * middle + (z) * high + i * whole + more)
  __global__ void up(float *y, PARTS, T add, T n) {
    T i = I + add;
    if (i < n) y[AT(i % A, i / A % B, i / (A * B))] = i;
  }
  __global__ void down(float *y, PARTS, T add, T n) {
    T i = I + add;
    if (i >= n) return;
    T top = i / (A * B), rest = i % (A * B);
    y[AT(rest % A, rest / A, top)] = i;
  }
  __global__ void stretch(float *y, PARTS, T add, T n) {
    T i = I + add;
    if (i >= n) return;
    float *to = y + AT(i % A, i / A % B, i / (A * B));
    for (int k = 0; k < 3; k++) to[k] = 16 * i;
    for (int k = 0; k < 3; k++) to[k] += k;
  }
  __global__ void both(float *y, PARTS, T add, T n) {
    T i = I + add;
    if (i < n) y[AT(i % A, i / A % B, i / (A * B))] = y[i] + i;
  }
  __global__ void rows(float *y, PARTS, T add, T n) { // the number is the row's; each has two blocks
    T i = (blockIdx.x / 2) * blockDim.x + threadIdx.x + add;
    if (i < n) y[AT(i % A, i / A % B, i / (A * B)) + blockIdx.x % 2] = i;
  }
  __global__ void windows(float *y, PARTS, T add, T n) { // threads of two blocks have one number
    T i = blockIdx.x * (blockDim.x / 2) + threadIdx.x + add;
    if (i < n) y[AT(i % A, i / A % B, i / (A * B))] = I;
  }
  __global__ void strange(float *y, PARTS, T add, T n) { // sizes that have nothing to do with each other
    T i = I + add;
    if (i < n) y[AT(i % A, i / B, 0)] = i;
  }
]==]

-- What a thread touches: { place, write } each.
local forms = {
  up = function(i, at) return { { at(i), true } } end,
  stretch = function(i, at) return { { at(i), true }, { at(i) + 1, true }, { at(i) + 2, true } } end,
  both = function(i, at) return { { i, false }, { at(i), true } } end,
}
forms.down, forms.rows, forms.windows, forms.strange = forms.up, forms.up, forms.up, forms.up

local function races(threads, each)
  local owner, writer = {}, {}
  for me = 0, threads - 1 do
    for _, x in ipairs(each(me)) do
      local k, write = x[1], x[2]
      if write and (owner[k] or me) ~= me or writer[k] and writer[k] ~= me then return true end
      owner[k] = owner[k] and owner[k] ~= me and -1 or me
      if write then writer[k] = me end
    end
  end
  return false
end

local function launches(k, y, fixed, count)
  local clean, racing = 0, 0
  for _ = 1, count do
    local a, b = fixed and fixed[1] or pick { 2, 3, 5, 8, 12, 32 }, fixed and fixed[2] or pick { 1, 2, 6, 7, 16 }
    local name = pick { "up", "down", "stretch", "both", "rows", "windows", "strange" }
    local width = name == "stretch" and 3 or name == "rows" and 2 or 1
    local block, blocks = pick { 8, 32, 64, 96 }, pick { 1, 2, 4, 6 }
    local high = 1 + block * blocks // (a * b)
    local digits = { { a, "low" }, { b, "middle" }, { high, "high" } }
    local p, by = { whole = 0, more = random(5) }, width
    for k = 3, 1, -1 do -- the digits in some order
      local d = table.remove(digits, random(k) + 1)
      p[d[2]] = by + (random(9) == 0 and pick { -1, 1 } or 0)
      by = by * d[1]
    end
    if random(4) == 0 then p.low, p.middle, p.high = width, width * a, width * a * b end -- as it was
    if random(8) == 0 then p.whole = pick { 1, 2, a } end
    local add, threads = pick { 0, 0, 1, 5 }, block * blocks
    local n = math.max(threads + add - pick { 0, 0, 3, 17 }, 0)
    local function at(i) return i % a * p.low + i // a % b * p.middle + i // (a * b) * p.high + i * p.whole + p.more end
    local race = races(threads, function(me)
      local i, on = me + add, 0
      if name == "rows" then i, on = me // block // 2 * block + me % block + add, me // block % 2 end
      if name == "windows" then i = me // block * (block // 2) + me % block + add end
      if i >= n then return {} end
      if name == "strange" then return { { i % a * p.low + i // b * p.middle + i * p.whole + p.more, true } } end
      return forms[name](i, function(j) return at(j) + on end)
    end)
    local found = gpu.check(function() k[name](blocks, block)(y, a, b, p.low, p.middle, p.high, p.whole, p.more, add, n) end)
    local what = ("%s a %d b %d by %d %d %d %d add %d, %d threads, %d in a block"):format(name, a, b, p.low, p.middle, p.high,
      p.whole, add, n, block)
    for _, r in ipairs(found) do t.eq(r.kind, "race", what .. ": " .. r.message) end
    t.eq(#found > 0, race, what)
    if race then racing = racing + 1 else clean = clean + 1 end
  end
  assert(clean > 0 and racing > 0, ("%d clean, %d racing"):format(clean, racing))
end

local y = gpu.zeros(1 << 20)
gpu.evaluate(y)
for _, ty in ipairs { "int", "unsigned", "long long", "size_t" } do
  t.test("by sizes that are given: " .. ty, function()
    local k = gpu.kernel((source:gsub("%f[%w]A%f[%W]", "a"):gsub("%f[%w]B%f[%W]", "b"):gsub("%f[%w]T%f[%W]", ty)))
    launches(k, y, nil, 60)
  end)
end
for _, fixed in ipairs { { 10, 3 }, { 7, 5 }, { 1000, 2 }, { 28, 28 }, { 6, 16 } } do
  for _, ty in ipairs { "int", "unsigned" } do
    t.test(("by constants %d and %d: %s"):format(fixed[1], fixed[2], ty), function()
      local k = gpu.kernel((source:gsub("%f[%w]A%f[%W]", fixed[1]):gsub("%f[%w]B%f[%W]", fixed[2]):gsub("%f[%w]T%f[%W]", ty)))
      launches(k, y, fixed, 24)
    end)
  end
end

t.test("what is nearly a division", function()
  local k = gpu.kernel [[__global__ void k(float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, third = (unsigned long long)i * 1500000000u >> 32;
    if (i < n) y[i + 5 * (i / 3) - 5 * third + 640] = i;
  }]]
  t.eq(#gpu.check(function() k(1, 32)(y, 16) end), 0) -- up to there it is one
  t.eq(#gpu.check(function() k(8, 32)(y, 256) end), 1)
end)

t.done()
