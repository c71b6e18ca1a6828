-- Threads load a row and a column of an array that others load too, and their own element, which some store to, as in a
-- step of Floyd and Warshall's; some store elsewhere. Who touches what is counted here, and gpu.check must say just that.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 7))
local PROGRAMS <const> = tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(150, 15))
local BLOCKS <const> = { { 16, 16 }, { 32, 8 }, { 8, 8 }, { 64, 2 }, { 16, 3 } }

local source <const> = [==[
__global__ void step(T *y, const int *to, int *out, int n, int row, int column, int shift)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int sum = y[i * n + column] + y[row * n + j] + y[i * n + j];
    if (j + shift >= 0 && j + shift < n) sum += y[i * n + j + shift];
    out[i * n + j] = sum;
    int at = to[i * n + j];
    if (at >= 0) y[at] = 1000 + i * n + j;
}]==]

-- Where threads store, -1: nowhere; and whether threads race. Most programs have at most one thread that may.
local function program(n, row, column, shift)
  local to, readers, racing, odd = {}, {}, false, random(2) == 0 and random(n * n) or -1
  local function reads(e, thread) readers[e] = (readers[e] or thread) == thread and thread or -1 end
  for i = 0, n - 1 do
    for j = 0, n - 1 do
      local me = i * n + j
      reads(i * n + column, me)
      reads(row * n + j, me)
      reads(me, me)
      if j + shift >= 0 and j + shift < n then reads(me + shift, me) end
    end
  end
  local most = random(4)
  for me = 0, n * n - 1 do
    local mine = readers[me] == me and random(4) < most
    to[me + 1] = me == odd and (random(4) > 0 and me or random(n * n)) or mine and me or -1
  end
  local writers = {}
  for me = 0, n * n - 1 do
    local at = to[me + 1]
    if at >= 0 then
      racing = racing or readers[at] ~= me or writers[at] ~= nil
      writers[at] = me
    end
  end
  return to, racing
end

for _, type in ipairs { { "int", "int32" }, { "short", "int16" }, { "double", "float64" } } do
  t.test("loads that several share, of " .. type[1], function()
    local f = gpu.kernel((source:gsub("T %*", type[1] .. " *")))
    local races = 0
    for round = 1, PROGRAMS do
      local n, block = 16 + random(30), BLOCKS[1 + random(#BLOCKS)]
      local row, column, shift = random(n), random(n), (random(3) - 1) * random(20)
      local to, racing = program(n, row, column, shift)
      local skip = random(20)
      local whole = gpu.zeros(n * n + 40, type[2])
      local y = whole[{ { skip + 1, skip + n * n } }]
      local grid = { (n + block[1] - 1) // block[1], (n + block[2] - 1) // block[2] }
      local list, out = gpu.array(to, "int32"), gpu.zeros(n * n, "int32")
      local reports = gpu.check(function() f.step(grid, block)(y, list, out, n, row, column, shift) end)
      local what = ("round %d: n %d row %d column %d shift %d skip %d"):format(round, n, row, column, shift, skip)
      for _, r in ipairs(reports) do t.eq(r.kind, "race", what) end
      t.eq(#reports > 0, racing, what)
      races = races + (racing and 1 or 0)
    end
    assert(races > 2 and races < PROGRAMS - 2, races .. " race")
  end)
end

-- Blocks of one warp, whose halves load rows of 16 elements here and there, and a place that all load; one stores.
local rows = gpu.kernel [==[
__global__ void rows(int *y, const int *from, int *out, int store, int who)
{
    int b = blockIdx.x, me = 32 * b + 16 * threadIdx.y + threadIdx.x;
    out[me] = y[from[3 * b] + threadIdx.y * from[3 * b + 1] + threadIdx.x] + y[from[3 * b + 2]];
    if (me == who) y[store] = 1000;
}]==]
t.test("rows some of which several have loaded", function()
  local races, count = 0, 20 * PROGRAMS
  for round = 1, count do
    local blocks, from, readers = 3 + random(4), {}, {}
    local store, who = random(70), 0
    for b = 0, blocks - 1 do
      local place = { 8 * random(4) + random(2), random(3) * (15 + random(3)), random(70) }
      table.move(place, 1, 3, #from + 1, from)
      for lane = 0, 31 do
        for _, e in ipairs { place[1] + lane // 16 * place[2] + lane % 16, place[3] } do
          if e == store then readers[32 * b + lane] = true end
        end
      end
    end
    who = next(readers) and random(2) == 0 and next(readers) or random(32 * blocks)
    readers[who] = nil
    local y, list, out = gpu.zeros(90, "int32"), gpu.array(from, "int32"), gpu.zeros(32 * blocks, "int32")
    local reports = gpu.check(function() rows.rows(blocks, { 16, 2 })(y, list, out, store, who) end)
    local what = ("round %d: %s; %d stores at %d"):format(round, table.concat(from, " "), who, store)
    t.eq(#reports > 0, next(readers) ~= nil, what)
    races = races + #reports
  end
  assert(races > count // 10 and races < 2 * count, races .. " races")
end)

-- Rows of words all of which several have loaded are nothing new, but where a block's begins within a word or behind the
-- end of the view that is meant.
local odd = gpu.kernel [==[
__global__ void odd(int *y, const int *z, const int *from, int *out)
{
    int b = blockIdx.x, me = 32 * b + threadIdx.x;
    out[me] = z[threadIdx.x] + *(const int *)((const char *)y + from[b] + 4 * threadIdx.x) + y[0];
    if (me == 3) y[40] = 1;
}]==]
local function odd_rows(bytes)
  local all, from = gpu.zeros(200, "int32"), gpu.array({ 0, 16, 32, 0, bytes, 16 }, "int32")
  return gpu.check(function() odd.odd(6, 32)(all[{ { 1, 64 } }], all[{ { 65, 128 } }], from, gpu.zeros(200, "int32")) end)
end
for _, wrong in ipairs { { "misaligned", 2 }, { "out of bounds", 4 * 64 } } do
  local name, bytes = table.unpack(wrong)
  t.test("a row that several have loaded, " .. name, function()
    local reports = odd_rows(bytes)
    t.eq(#reports, 1)
    t.eq(reports[1].kind, name)
    t.eq(reports[1].count, 32)
    t.eq(#odd_rows(4), 0)
  end)
end

t.done()
