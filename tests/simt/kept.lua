-- Stores that may come in any order, since they store the same or are volatile: whoever touches the place behind one of them
-- still races with the others, and that is told whatever came last. Parties that nothing orders, which are blocks, warps or
-- halves of a warp, do the same to elements of every width, in rows, here and there, and to one place. Strict checks take
-- stores of one value for races, whatever came before.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local PARTIES = 3
local types = { { "unsigned char", "uint8" }, { "int", "int32" }, { "double", "float64" } }
local places = { rows = "lane", scattered = "at[lane]", one = "40" }
local parties = {
  blocks = { me = "blockIdx.x", lane = "threadIdx.x", blocks = PARTIES, threads = 32 },
  warps = { me = "threadIdx.x / 32", lane = "threadIdx.x % 32", blocks = 1, threads = 32 * PARTIES, sync = "__syncthreads();" },
  lanes = { me = "threadIdx.x / 8 % PARTIES", lane = "threadIdx.x % 8", blocks = 1, threads = 8 * PARTIES, sync = "__syncwarp(0xffffff);" },
}

-- Between two steps the compiler may not keep in mind what is in memory. `MINE`: one party.
local steps = {
  same = "y[i] = 5;", other = "y[i] = 6;", own = "y[i] = me + 7;", read = "sum += y[i];", add = "y[i] += me + 1;",
  atomic = "atomicAdd((int *)&y[i], 1);", exchange = "atomicExch((int *)&y[i], 5);",
  strong = "((volatile T *)y)[i] = 5;", strong_own = "((volatile T *)y)[i] = me + 7;", look = "sum += ((volatile T *)y)[i];",
  sync = "SYNC",
}
-- What all do, then what one of them does; is it a race? "parted": where no barrier puts them in order.
local cases = {
  { "same", "", false }, { "same same", "", false }, { "same", "same", false }, { "same same", "same same", false },
  { "same", "read", true }, { "same read", "", true }, { "same add", "", true }, { "same same", "read", true },
  { "same", "other", true }, { "same", "other other", true }, { "same", "own", true }, { "same", "same other", true },
  { "same", "same read", true }, { "same", "look", true }, { "same", "strong", false }, { "same", "strong read", true },
  { "same sync", "read", "parted" }, { "same sync", "other", "parted" }, { "same sync read sync", "other", "parted" },
  { "same sync", "other read", "parted" }, { "same sync same sync", "add", "parted" }, { "same sync same", "read", true },
  { "same sync same", "other", true }, { "same sync", "same", false }, { "same sync read sync same", "other", true },
  { "strong", "", false }, { "strong look", "strong", false }, { "strong_own look", "", false },
  { "strong", "read", true }, { "strong_own", "strong_own read", true }, { "strong", "strong read", true },
  { "strong", "same", false }, { "strong", "other", true }, { "strong_own", "own", true }, { "look", "strong other", true },
  { "look strong sync", "read", "parted" }, { "strong_own sync", "own", "parted" },
  { "same", "atomic", true, words = true },
  { "same sync", "atomic", "parted", words = true },
  { "atomic", "strong", false, words = true },
  { "atomic", "strong read", true, words = true },
  { "exchange strong look", "", false, words = true },
  { "strong", "exchange read", true, words = true },
  { "strong", "atomic read", true, words = true },
  { "strong", "exchange look", false, words = true },
  { "atomic sync", "strong read", "parted", words = true },
  -- What one of them does first is forgotten when it stores what all store: only strict checks tell of it in any order.
  { "other", "", first = "same" }, { "other", "", first = "other same" }, { "other", "same other" },
  { "same", "", first = "read" }, { "same", "", first = "own" }, { "same", "", first = "add" }, { "same", "", first = "strong_own" },
}

local function source(ty, place, party, shared, cases)
  local lines = { "#define SYNC " .. (parties[party].sync or ""), "#define PARTIES " .. PARTIES }
  local function code(list)
    return (list:gsub("[%w_]+", function(name) return steps[name] .. ' asm volatile("" ::: "memory");\n' end))
  end
  for n, case in ipairs(cases) do
    lines[#lines + 1] = ([[__global__ void k%d(T *g, T *out, const int *at, int who) {
      __shared__ T s[512];
      T *y = %s, sum = 0;
      int lane = %s, me = %s, i = %s;
      for (int k = threadIdx.x; k < 512; k += blockDim.x) s[k] = 0;
      asm volatile("" :: "l"(s) : "memory");
      __syncthreads();
      if (me == who) {
        %s
      }
      %s
      if (me == who) {
        %s
      }
      out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }]]):format(n, shared and "s" or "g", parties[party].lane, parties[party].me, places[place], code(case.first or ""), code(case[1]),
      code(case[2]))
  end
  return (table.concat(lines, "\n"):gsub("%f[%w_]T%f[^%w_]", ty))
end

-- At one place the lanes of a party are parties, too.
local function races(case, place, party, strict)
  local function has(step) return (case[1] .. " " .. case[2]):find("%f[%w_]" .. step .. "%f[^%w_]") end
  if case.first or (strict and (has "same" or (place == "one" and (has "own" or has "other")))) then return true end
  if case[3] ~= "parted" or not parties[party].sync then return case[3] == true or case[3] == "parted" end
  return place == "one" and (case[2]:find " read" or case[2]:find "add") ~= nil
end

local order = t.shuffled(256, t.random(7))
local at = gpu.array(table.move(order, 1, 32, 1, {}), "int32")

local function test(ty, place, party, shared)
  local p, wanted = parties[party], {}
  for _, case in ipairs(cases) do
    -- Volatile shared memory has a rule of its own for lanes of a warp.
    local volatile = (case[1] .. case[2]):find "strong" and shared and (place == "one" or party == "lanes")
    if not volatile and (ty[1] == "int" or not case.words) then wanted[#wanted + 1] = case end
  end
  t.test(("%s of %s, %s, %s"):format(party, ty[1], place, shared and "shared" or "global"), function()
    local k = gpu.kernel(source(ty[1], place, party, shared, wanted))
    local y, out = gpu.zeros(512, ty[2]), gpu.zeros(p.blocks * p.threads, ty[2])
    for n, case in ipairs(wanted) do
      for who = t.brief(0, n % PARTIES), t.brief(PARTIES - 1, n % PARTIES) do
        y:fill(0)
        for _, strict in ipairs(case[3] == nil and { true } or { false, true }) do
          local found = gpu.check(function() k["k" .. n](p.blocks, p.threads)(y, out, at, who) end, strict and "strict" or nil)
          for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
          t.eq(#found > 0, races(case, place, party, strict),
            ("all: %s; party %d: %s%s"):format(case[1], who, case[2], strict and ", strict" or ""))
        end
      end
    end
  end)
end

for _, ty in ipairs(types) do
  for _, place in ipairs { "rows", "scattered", "one" } do
    for _, party in ipairs { "blocks", "warps", "lanes" } do
      local wanted = place ~= "one" or ty[1] == "int"
      if wanted then test(ty, place, party, false) end
      if wanted and party ~= "blocks" then test(ty, place, party, true) end
    end
  end
end

t.test("strict checks are asked for in three ways", function()
  local mark = gpu.kernel "__global__ void mark(int *y) { y[threadIdx.x / 2] = 5; }"
  local y = gpu.zeros(64, "int32")
  local function launch() mark(2, 64)(y) end
  local before = gpu.check()
  t.eq(#gpu.check(launch), 0)
  local found = gpu.check(launch, "strict")
  t.eq(found[1].kind .. " " .. found[1].name, "race y")
  t.eq(#gpu.check(launch), 0, "the next ones are not")
  t.eq(gpu.check "strict", before)
  t.eq(gpu.check(), "strict")
  t.raises("race: y[0] written by several threads", launch)
  t.eq(#gpu.check(launch) > 0, true)
  mark(2, 64, { check = false })(y)
  t.eq(gpu.check(true), "strict")
  launch()
  t.raises("race: y[0] written by several threads", mark(2, 64, { check = "strict" }), y)
  t.eq(gpu.check(before), true)
  t.raises('expected true, false, "strict" or a function, got "strictly"', gpu.check, "strictly")
  t.raises('expected "strict" or nothing, got boolean', gpu.check, launch, true)
  t.raises('check: expected true, false or "strict", got number', function() return mark(2, 64, { check = 1 }) end)
end)

t.on_threads("tests/simt/kept.lua", 0)

t.done()
