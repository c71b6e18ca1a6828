-- Bytes and halves of words in shared memory: what is told of them is what a model of each byte says, whichever lanes share
-- a word.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local threads <const>, size <const> = 64, 96
local source = [=[
__global__ void k(const int *first, const int *seen, const int *second, const int *beside, int *out) {
  __shared__ T s[96];
  int t = threadIdx.x, v = 0;
  if (first[t] >= 0)
    s[first[t]] = t;
  __syncthreads();
  if (seen[t] >= 0)
    v += s[seen[t]];
  __syncthreads();
  if (second[t] >= 0)
    s[second[t]] = t + 64;
  if (beside[t] >= 0)
    v += s[beside[t]];
  out[t] = v;
}]=]
local line <const> = { first = 5, seen = 8, second = 11, beside = 13 } -- of the source

-- Where thread i, from 0, stores or loads; -1: nowhere.
local places = {
  all = function(i) return i end,
  further = function(i) return i + 3 end,
  turned = function(i) return 63 - i end,
  turned_by_16 = function(i) return i ~ 15 end,
  shared = function(i) return i // 4 end,
  twice = function(i) return i == 40 and 41 or i end,
  even = function(i) return i % 2 == 0 and i or -1 end,
  one_warp = function(i) return i < 32 and i or -1 end,
  last = function(i) return i == 63 and 95 or -1 end,
  spread = function(i) return i * 37 % size end,
  none = function() return -1 end,
}
local names = {}
for name in pairs(places) do names[#names + 1] = name end
table.sort(names)

local arrays, at = {}, {}
for name, place in pairs(places) do
  at[name] = {}
  for i = 1, threads do at[name][i] = place(i - 1) end
  arrays[name] = gpu.array(at[name], "int32")
end

-- What is to be told of these four: lines of reads of what was never written, and pairs of lines that race.
local function model(first, seen, second, beside)
  local written, stored, unwritten, races = {}, {}, {}, {}
  for i = 1, threads do written[at[first][i]] = (written[at[first][i]] or 0) + 1 end
  for place, count in pairs(written) do
    if place >= 0 and count > 1 then races[line.first .. " " .. line.first] = true end
  end
  for i = 1, threads do
    if at[seen][i] >= 0 and not written[at[seen][i]] then unwritten[line.seen] = true end
    local place = at[second][i]
    if place >= 0 and stored[place] then races[line.second .. " " .. line.second] = true end
    stored[place] = (stored[place] or 0) + 1
  end
  for i = 1, threads do
    local place = at[beside][i]
    local others = place >= 0 and (stored[place] or 0) - (at[second][i] == place and 1 or 0) or 0
    if others > 0 then races[line.second .. " " .. line.beside] = true end
    if place >= 0 and not written[place] then unwritten[line.beside] = true end -- or not, as a race has it
  end
  return unwritten, races
end

local out = gpu.zeros(threads, "int32")
local function try(k, first, seen, second, beside)
  local what = table.concat({ first, seen, second, beside }, ", ")
  local unwritten, races = model(first, seen, second, beside)
  local told = { unwritten = {}, races = {} }
  local found = gpu.check(function() k(1, threads)(arrays[first], arrays[seen], arrays[second], arrays[beside], out) end)
  for _, r in ipairs(found) do
    local race = r.kind == "race"
    assert(race or r.kind == "uninitialized read", r.text)
    local low, high = r.line, r.other and r.other.line or r.line
    if low > high then low, high = high, low end
    told[race and "races" or "unwritten"][race and low .. " " .. high or r.line] = true
  end
  for pair in pairs(told.races) do t.eq(races[pair], true, what .. ": lines " .. pair) end
  t.eq(next(told.races) ~= nil, next(races) ~= nil, what .. ": a race")
  t.eq(told.unwritten[line.seen], unwritten[line.seen], what .. ": a read behind a barrier")
  if told.unwritten[line.beside] then t.eq(unwritten[line.beside], true, what .. ": a read beside stores") end
  return next(races) ~= nil, next(unwritten) ~= nil
end

for _, type in ipairs { "unsigned char", "short" } do
  t.test("places of " .. type, function()
    local k = gpu.kernel { source = (source:gsub("T s", type .. " s")), chunk = "parts", line = 1 }
    local racing, lacking, count, n = 0, 0, 0, #names
    for step = 0, n * n * n * n - 1, 61 do
      local race, lack = try(k, names[step % n + 1], names[step // n % n + 1], names[step // n // n % n + 1], names[step // n // n // n + 1])
      racing, lacking, count = racing + (race and 1 or 0), lacking + (lack and 1 or 0), count + 1
    end
    assert(racing > count // 4 and racing < count * 3 // 4 and lacking > count // 4, racing)
  end)
end

t.done()
