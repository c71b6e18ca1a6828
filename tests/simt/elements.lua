-- Elements of every size in shared memory that lanes store to and load from by tables, all of them or some: who meets whom
-- between two barriers is counted here, and gpu.check must say that, of one block and of one behind others that are right.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local THREADS <const>, COUNT <const>, STEPS <const>, BLOCKS <const> = 64, 256, 5, 5
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 7))
local function chance(percent) return random(100) < percent end

local source <const> = [==[
__global__ void k(const int *at, const int *store, const int *meet, long long *out) {
  __shared__ T s[256];
  int i = threadIdx.x;
  long long sum = 0;
  at += 5 * 64 * blockIdx.x, store += 5 * blockIdx.x, meet += 5 * blockIdx.x;
  for (int j = i; j < 256; j += 64) s[j] = (T)(j % 100);
  __syncthreads();
  for (int k = 0; k < 5; k++) {
    int to = at[64 * k + i];
    if (store[k] == 2) s[to] = (T)(4 * i + k % 4); // all lanes do
    else if (store[k] && to >= 0) s[to] = (T)(4 * i + k % 4);
    else if (to >= 0) sum += (long long)s[to] * (k + 1);
    if (meet[k]) __syncthreads();
  }
  out[64 * blockIdx.x + i] = sum;
}]==]

-- Which element each thread means, -1: none.
local function places(before)
  local list, kind, from = {}, random(7), random(COUNT - THREADS)
  local order = t.shuffled(COUNT, random)
  for i = 0, THREADS - 1 do
    list[i] = kind == 0 and from + i
      or kind == 1 and COUNT - 1 - i
      or kind == 2 and 2 * i + from % 2
      or kind == 3 and from
      or kind == 4 and random(COUNT)
      or before and before[i] >= 0 and before[i]
      or order[i + 1]
  end
  if chance(20) then list[random(THREADS)] = list[random(THREADS)] end
  local some = chance(40)
  for i = 0, THREADS - 1 do
    if some and chance(30) then list[i] = -1 end
  end
  return list, some
end

-- A program, whether threads race in it, and the sums if they don't.
local function program(whole)
  local p, values = { at = {}, store = {}, meet = {}, sums = {}, race = false }, {}
  local written, read, before = {}, {}, nil -- since the last barrier, by element: a thread, or -1 for several
  for i = 0, THREADS - 1 do p.sums[i] = 0 end
  for e = 0, COUNT - 1 do values[e] = e % 100 end
  for k = 0, STEPS - 1 do
    local list, some = places(before)
    local stores, meets = chance(40), chance(60)
    p.store[k + 1], p.meet[k + 1] = stores and (some and 1 or 2) or 0, meets and 1 or 0
    for i = 0, THREADS - 1 do
      local e = list[i]
      p.at[#p.at + 1] = e
      if e >= 0 then
        p.race = p.race or (written[e] or i) ~= i or (stores and (read[e] or i) ~= i)
        if stores then
          written[e] = i
          values[e] = whole(4 * i + k % 4)
        else
          read[e] = (read[e] or i) == i and i or -1
          p.sums[i] = p.sums[i] + values[e] * (k + 1)
        end
      end
    end
    before = list
    if meets then written, read, before = {}, {}, nil end
  end
  return p
end

-- What is said of programs by blocks, and are the sums right of those that don't race?
local function run(k, programs, what)
  local all, out, count = { at = {}, store = {}, meet = {} }, gpu.zeros(THREADS * #programs, "int64"), 0
  for name, list in pairs(all) do
    for _, p in ipairs(programs) do table.move(p[name], 1, #p[name], #list + 1, list) end
    all[name] = gpu.array(list, "int32")
  end
  for _, r in ipairs(gpu.check(function() k.k(#programs, THREADS)(all.at, all.store, all.meet, out) end)) do
    t.eq(r.kind, "race", r.text)
    count = count + r.count
  end
  local got = out:totable()
  for b, p in ipairs(programs) do
    for i = 0, p.race and -1 or THREADS - 1 do t.eq(got[THREADS * (b - 1) + i + 1], p.sums[i], what) end
  end
  return count
end

local types <const> = {
  { "unsigned char", "uint8", function(v) return v & 255 end },
  { "signed char", "int8", function(v) return (v & 255) - ((v & 128) << 1) end },
  { "short", "int16", function(v) return v end },
  { "int", "int32", function(v) return v end },
  { "double", "float64", function(v) return v end },
}
for _, ty in ipairs(types) do
  t.test(ty[1], function()
    local k = gpu.kernel((source:gsub("%f[%w]T%f[%W]", ty[1])))
    local right, racing = {}, 0
    for round = 1, t.brief(60, 15) do
      local p = program(ty[3])
      local what = "round " .. round
      t.eq(run(k, { p }, what) > 0, p.race, what)
      local several = table.move(right, math.max(1, #right - BLOCKS + 2), #right, 1, {})
      several[#several + 1] = p
      t.eq(run(k, several, what) > 0, p.race, what)
      if p.race then racing = racing + 1 else right[#right + 1] = p end
    end
    assert(#right > t.brief(3, 0) and racing > 3, ("%d right, %d racing"):format(#right, racing))
  end)
end

if not os.getenv "LUNARRAY_ISA" and os.getenv "LUNARRAY_JIT" ~= "0" then
  t.again("tests/simt/elements.lua", "LUNARRAY_JIT=0", 5)
  t.again("tests/simt/elements.lua", "LUNARRAY_ISA=base", 5)
end

t.done()
