-- Threads with stretches of their own in global memory, whose starts are looked up, as the rows of a sparse matrix: what they
-- do there in any order is right, and where two of them overlap in a place that one of them stores to, they race.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 5))
local function pick(list) return list[random(#list) + 1] end

local types = { { "float", "float32" }, { "double", "float64" }, { "long long", "int64" }, { "short", "int16" } }
local THREADS, ROUNDS = 256, 24

-- Each thread goes through its list of places, which data says: what it does there is 0, to read, 1, to store, 2, both.
local source = [==[
  __global__ void walk(T *x, T *out, const int *start, const int *place, const unsigned char *what, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    T last = 0;
    for (int k = start[v]; k < start[v + 1]; k++) {
      if (what[k] == 0) last = x[place[k]];
      else if (what[k] == 1) x[place[k]] = (T)(v + k);
      else x[place[k]] += (T)(v % 7 + 1);
    }
    out[v] = last;
  }
  __global__ void sort(T *x, const int *start, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int i = start[v] + 1; i < start[v + 1]; i++) {
      T key = x[i];
      int j = i - 1;
      while (j >= start[v] && x[j] > key) {
        x[j + 1] = x[j];
        j--;
      }
      x[j + 1] = key;
    }
  }]==]

-- Lists of places: each thread has a stretch, and in some programs one or two threads go into another one's, too.
local function program(strays)
  local first, lists = { 0 }, {}
  for v = 1, THREADS do first[v + 1] = first[v] + random(9) end
  for v = 1, THREADS do
    local list, low, room = {}, first[v], first[v + 1] - first[v]
    for k = 1, room > 0 and random(ROUNDS) or 0 do
      list[k] = { low + random(room), pick { 0, 0, 1, 2, 2 } }
    end
    lists[v] = list
  end
  for _ = 1, strays do
    local v = random(THREADS) + 1
    table.insert(lists[v], random(#lists[v] + 1) + 1, { random(first[THREADS + 1]), random(3) })
  end
  return first[THREADS + 1], lists
end

local function races(lists)
  local readers, writers = {}, {}
  local function note(who, place, v)
    if who[place] and who[place] ~= v then who[place] = 0 else who[place] = v end
  end
  for v, list in ipairs(lists) do
    for _, step in ipairs(list) do
      note(readers, step[1], v)
      if step[2] > 0 then note(writers, step[1], v) end
    end
  end
  for place, v in pairs(writers) do
    if v == 0 or readers[place] ~= v then return true end
  end
  return false
end

local function run(k, ty, size, lists, shape)
  local start, place, what, x, last = { 0 }, {}, {}, {}, {}
  for at = 0, size do x[at] = at % 100 end
  local before = gpu.array(table.move(x, 0, size, 1, {}), ty[2])
  for v, list in ipairs(lists) do
    last[v] = 0
    for _, step in ipairs(list) do
      local index = #place
      place[index + 1], what[index + 1] = step[1], step[2]
      if step[2] == 0 then last[v] = x[step[1]] end
      if step[2] == 1 then x[step[1]] = v - 1 + index end
      if step[2] == 2 then x[step[1]] = x[step[1]] + (v - 1) % 7 + 1 end
    end
    start[v + 1] = #place
  end
  local out = gpu.zeros({ THREADS }, ty[2])
  local found = gpu.check(function()
    k.walk(THREADS // shape, shape)(before, out, gpu.array(start, "int32"), gpu.array(place, "int32"), gpu.array(what, "uint8"),
      THREADS)
  end)
  for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
  if #found == 0 then
    assert(before:equal(gpu.array(table.move(x, 0, size, 1, {}), ty[2])), "what was stored")
    assert(out:equal(gpu.array(last, ty[2])), "what was read")
  end
  return #found > 0
end

for _, ty in ipairs(types) do
  local k = gpu.kernel((source:gsub("%f[%w_]T%f[^%w_]", ty[1])))
  t.test("lists of places in stretches: " .. ty[1], function()
    local seen = 0
    for n = 1, tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(20, 8)) do
      local size, lists = program(pick { 0, 0, 1, 2, 6 })
      local wanted, shape = races(lists), pick { 32, 64, 128, 256 }
      t.eq(run(k, ty, size, lists, shape), wanted, ("program %d, blocks of %d"):format(n, shape))
      if wanted then seen = seen + 1 end
    end
    assert(seen > 0, "none of them raced")
  end)

  t.test("stretches that their threads sort: " .. ty[1], function()
    local first, n = { 0 }, 1000
    for v = 1, n do first[v + 1] = first[v] + random(14) end
    local x = gpu.random.integers(0, 100, { first[n + 1] }):to(ty[2])
    local want = x:totable()
    for v = 1, n do
      local part = table.move(want, first[v] + 1, first[v + 1], 1, {})
      table.sort(part)
      table.move(part, 1, #part, first[v] + 1, want)
    end
    local found = gpu.check(function() k.sort(8, 128)(x, gpu.array(first, "int32"), n) end)
    t.eq(#found, 0, found[1] and found[1].message)
    assert(x:equal(gpu.array(want, ty[2])))
    local v = 500 -- it goes on into the next one's
    while first[v + 1] == first[v] or first[v + 2] < first[v + 1] + 2 do v = v + 1 end
    local wrong = gpu.kernel((source:gsub("%f[%w_]T%f[^%w_]", ty[1]):gsub("i < start%[v %+ 1%]", "%0 + (v == " .. v - 1 .. ")")))
    x:copy_(gpu.range(#x, 1, -1):to(ty[2]))
    local some = gpu.check(function() wrong.sort(8, 128)(x, gpu.array(first, "int32"), n) end)
    assert(#some > 0 and some[1].kind == "race", "the place behind a stretch is the next one's")
  end)
end

-- The same in stages, behind each of which blocks or warps meet: what the threads of one do in different stages is in order.
local STAGES = 3
local staged = [==[
  __global__ void walk(T *x, T *out, const int *start, const int *place, const unsigned char *what) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    T last = 0;
    for (int s = v * 3; s < v * 3 + 3; s++) {
      for (int k = start[s]; k < start[s + 1]; k++) {
        if (what[k] == 0) last = x[place[k]];
        else if (what[k] == 1) x[place[k]] = (T)(v + k);
        else x[place[k]] += (T)(v % 7 + 1);
      }
      MEET;
    }
    out[v] = last;
  }]==]

local function staged_program(strays, group)
  local first, steps = { 0 }, {}
  for v = 1, THREADS do first[v + 1] = first[v] + random(9) end
  local function step(v, stage, place) table.insert(steps, { v = v, stage = stage, place = place, what = pick { 0, 0, 1, 2, 2 } }) end
  for v = 1, THREADS do
    local room = first[v + 1] - first[v]
    for _ = 1, room > 0 and random(ROUNDS) or 0 do step(v, random(STAGES), first[v] + random(room)) end
  end
  for _ = 1, strays do -- mostly to what threads of the group touch in other stages
    local s = steps[random(#steps) + 1]
    local v = (s.v - 1) // group * group + random(group) + 1
    if random(8) == 0 then v = random(THREADS) + 1 end
    step(v, random(6) > 0 and (s.stage + 1) % STAGES or s.stage, s.place)
  end
  return first[THREADS + 1], steps
end

local function staged_races(steps, group)
  local by_place = {}
  for _, s in ipairs(steps) do
    local others = by_place[s.place] or {}
    for _, o in ipairs(others) do
      local ordered = (o.v - 1) // group == (s.v - 1) // group and o.stage ~= s.stage
      if o.v ~= s.v and o.what + s.what > 0 and not ordered then return true end
    end
    by_place[s.place] = others
    table.insert(others, s)
  end
  return false
end

for _, ty in ipairs { types[1], types[2] } do
  for _, meet in ipairs { "__syncthreads()", "__syncwarp()" } do
    local k = gpu.kernel((staged:gsub("%f[%w_]T%f[^%w_]", ty[1]):gsub("MEET", meet)))
    t.test(("stretches in stages, with %s: %s"):format(meet, ty[1]), function()
      local seen = 0
      for n = 1, tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(20, 8)) do
        local shape = pick { 32, 64, 128, 256 }
        local group = meet == "__syncwarp()" and 32 or shape
        local size, steps = staged_program(pick { 0, 1, 2, 4 }, group)
        local start, place, what = { 0 }, {}, {}
        table.sort(steps, function(a, b) return a.v * STAGES + a.stage < b.v * STAGES + b.stage end)
        local at = 1
        for s = 0, THREADS * STAGES - 1 do
          while steps[at] and (steps[at].v - 1) * STAGES + steps[at].stage == s do
            place[at], what[at] = steps[at].place, steps[at].what
            at = at + 1
          end
          start[s + 2] = at - 1
        end
        local x, out = gpu.zeros({ size }, ty[2]), gpu.zeros({ THREADS }, ty[2])
        local found = gpu.check(function()
          k(THREADS // shape, shape)(x, out, gpu.array(start, "int32"), gpu.array(place, "int32"), gpu.array(what, "uint8"))
        end)
        for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
        local wanted = staged_races(steps, group)
        t.eq(#found > 0, wanted, ("program %d, blocks of %d"):format(n, shape))
        if wanted then seen = seen + 1 end
      end
      assert(seen > 0, "none of them raced")
    end)
  end
end

-- Threads that go over their stretches again and again, and one of another warp, which reads or stores to a place of theirs
-- in some round; before it may come a barrier, behind which they store again or do not.
local again = [==[
  __global__ void again(T *x, T *out, const int *start, int who, int place, int round, int writes, int last) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    for (int r = 0; r < 4; r++) {
      if (r < last || v / 32 == who / 32)
        for (int k = start[v]; k < start[v + 1]; k++) {
          T y = x[k];
          sum += y;
          x[k] = y + (T)(v + k + 1);
        }
      if (v == who && r == round) {
        if (writes) x[place] = (T)-5; else sum += x[place];
      }
      MEET;
    }
    out[v] = sum;
  }]==]
for _, ty in ipairs { types[1], types[2] } do
  for _, meet in ipairs { "__syncthreads()", "", "__syncwarp()" } do
    t.test(("stretches again and again, with %s: %s"):format(meet == "" and "nothing" or meet, ty[1]), function()
      local k = gpu.kernel((again:gsub("%f[%w_]T%f[^%w_]", ty[1]):gsub("MEET", meet)))
      local first = { 0 }
      for v = 1, 128 do first[v + 1] = first[v] + 1 + random(6) end
      local start = gpu.array(first, "int32")
      for _ = 1, 40 do
        local x, out = gpu.zeros({ first[129] }, ty[2]), gpu.zeros({ 128 }, ty[2])
        local who, round, writes, last = random(128), random(4), random(2), random(5)
        local other = (who // 32 * 32 + 32 * (1 + random(3)) + random(32)) % 128
        local apart = who // 64 ~= other // 64 -- in another block
        local found = gpu.check(function() k(2, 64)(x, out, start, who, first[other + 1], round, writes, last) end)
        local meets = meet == "__syncthreads()" and not apart
        local wanted = last > 0 and (not meets or round < last)
        t.eq(#found > 0, wanted, ("who %d other %d round %d writes %d last %d"):format(who, other, round, writes, last))
      end
    end)
  end
end

t.on_threads("tests/simt/stretches.lua", 0)

t.done()
