-- Order by flags, fences and atomics: small kernels, made at random, whose races an oracle tells by what happens before what
-- in the PTX memory model. Each lets some threads write and read, tell others by flags and wait for them, in ways that put
-- the same in order whatever runs first. Some have barriers alone, and some have in shared memory what they write and read.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local PLACES, FLAGS = 6, 32

---- programs
-- Threads that do something: block, warp and lane. The program is a list of steps in an order in which it could run.
local function pick(r, list) return list[r(#list)] end

local function random_program(r)
  local p = { blocks = r(3), warps = r(3), threads = {}, steps = {}, flags = 0, lines = 0 }
  local plain = r(3) == 1
  p.shared = p.blocks == 1 and r(2) == 1
  local taken, count = {}, 2 + r(4)
  for tries = 1, 40 do
    local who = { block = r(p.blocks) - 1, warp = r(p.warps) - 1, lane = r(2) - 1 }
    local key = who.block * 64 + who.warp * 2 + who.lane
    if not taken[key] and #p.threads < count then
      taken[key] = true
      p.threads[#p.threads + 1] = who
    end
  end
  local function step(s) p.steps[#p.steps + 1] = s return s end
  local function flag() p.flags = p.flags + 1 return p.flags - 1 end
  -- Somebody tells somebody else by a flag, which others may have updated or overwritten before, each told by the last.
  local function tell()
    local f, last = flag(), nil
    local first = pick(r, p.threads)
    if r(3) > 1 then step { kind = "fence", who = first } end
    step { kind = pick(r, { "set", "exchange", "add" }), who = first, flag = f, value = 1 }
    last = first
    for n = 1, r(3) - 1 do
      local next, gate = pick(r, p.threads), flag()
      step { kind = "set", who = last, flag = gate, value = 1 }
      step { kind = "wait", who = next, flag = gate, value = 1 }
      if r(4) == 1 then step { kind = "fence", who = next } end
      step { kind = pick(r, { "set", "add", "exchange", "swap", "miss" }), who = next, flag = f, value = n + 1 }
      last = next
    end
    local reader, gate = pick(r, p.threads), flag()
    step { kind = "set", who = last, flag = gate, value = 1 }
    step { kind = "wait", who = reader, flag = gate, value = 1 }
    step { kind = pick(r, { "look", "update" }), who = reader, flag = f }
  end
  -- Several count, one after another, and one waits for all of them.
  local function gather()
    local f, n, last = flag(), r(3), nil
    for k = 1, n do
      local who, gate = pick(r, p.threads), k > 1 and flag()
      if gate then
        step { kind = "set", who = last, flag = gate, value = 1 }
        step { kind = "wait", who = who, flag = gate, value = 1 }
      end
      if r(3) > 1 then step { kind = "fence", who = who } end
      step { kind = "add", who = who, flag = f, value = 1 }
      last = who
    end
    step { kind = "wait", who = pick(r, p.threads), flag = f, value = n }
  end
  local most = pick(r, { "write", "same", "strong" })
  local function touch() step { kind = pick(r, { "write", "read", "same", most, most }), who = pick(r, p.threads), place = r(PLACES) - 1 } end
  local function meet()
    local kind = pick(r, { "barrier", "warp", "some" })
    if kind == "some" and p.warps < 3 then kind = "barrier" end
    step { kind = kind, block = r(p.blocks) - 1, warp = r(p.warps) - 1 }
  end
  local function fence() step { kind = "fence", who = pick(r, p.threads) } end
  local some = plain and { touch, touch, meet } or { touch, touch, touch, tell, gather, gather, meet, fence }
  for _ = 1, 6 + r(12) do pick(r, some)() if p.flags > FLAGS then break end end
  for _ = 1, r(4) do touch() end
  return p
end

---- the kernel's source
local code = {
  -- The numbers in these keep the compiler from making one of two.
  write = function(s, n) return ('asm volatile("st.f32 [%%0], %%1; // %d" :: "l"(x + %d), "f"(%d.5f) : "memory");'):format(n, s.place, n) end,
  same = function(s, n) return ('asm volatile("st.f32 [%%0], %%1; // %d" :: "l"(x + %d), "f"(-1.0f) : "memory");'):format(n, s.place) end,
  strong = function(s, n) return ('asm volatile("st.volatile.f32 [%%0], %%1; // %d" :: "l"(x + %d), "f"(-1.0f) : "memory");'):format(n, s.place) end,
  read = function(s, n) return ('asm volatile("ld.f32 %%0, [%%1]; // %d" : "=f"(got) : "l"(x + %d) : "memory"); sum += got;'):format(n, s.place) end,
  fence = function() return "__threadfence();" end,
  set = function(s) return ("*(volatile int *)(flag + %d) = %d;"):format(s.flag, s.value) end,
  exchange = function(s) return ("sum += atomicExch(flag + %d, %d);"):format(s.flag, s.value) end,
  add = function(s) return ("sum += atomicAdd(flag + %d, 1);"):format(s.flag) end,
  swap = function(s) return ("sum += atomicCAS(flag + %d, *(volatile int *)(flag + %d), %d);"):format(s.flag, s.flag, s.value) end,
  miss = function(s) return ("sum += atomicCAS(flag + %d, 77, %d);"):format(s.flag, s.value) end,
  wait = function(s) return ("while (*(volatile int *)(flag + %d) != %d) {}"):format(s.flag, s.value) end,
  look = function(s) return ("sum += *(volatile int *)(flag + %d);"):format(s.flag) end,
  update = function(s) return ("sum += atomicAdd(flag + %d, 1);"):format(s.flag) end,
}
local meeting = {
  barrier = function() return "  __syncthreads();" end,
  warp = function(s) return ("  if (warp == %d) __syncwarp();"):format(s.warp) end,
  some = function(s) return ("  if (warp != %d) asm volatile(\"bar.sync %d, 64;\" ::: \"memory\");"):format(s.warp, s.warp + 1) end,
}

-- Each block's steps, between its meetings those of each thread together. A step gets its line.
local function source_of(p)
  local lines = { "__global__ void k(float *x, int *flag, float *out) { float sum = 0, got; int warp = threadIdx.x / 32, lane = threadIdx.x % 32;" }
  if p.shared then
    lines[2] = ("__shared__ float s[%d]; x = s; if (threadIdx.x < %d) x[threadIdx.x] = 0; __syncthreads();"):format(PLACES, PLACES)
  end
  local function put(line) lines[#lines + 1] = line return #lines end
  for block = 0, p.blocks - 1 do
    local pending = {}
    local function flush()
      for _, who in ipairs(p.threads) do
        if pending[who] then
          put(("  if (warp == %d && lane == %d) {"):format(who.warp, who.lane))
          for _, s in ipairs(pending[who]) do s.line = put("    " .. code[s.kind](s, #lines)) end
          put "  }"
        end
      end
      pending = {}
    end
    put(("if (blockIdx.x == %d) {"):format(block))
    for _, s in ipairs(p.steps) do
      if s.who and s.who.block == block then
        pending[s.who] = pending[s.who] or {}
        table.insert(pending[s.who], s)
      elseif meeting[s.kind] and s.block == block then
        flush()
        put(meeting[s.kind](s))
      end
    end
    flush()
    put "}"
  end
  put "out[blockIdx.x * blockDim.x + threadIdx.x] = sum; }"
  return table.concat(lines, "\n")
end

---- the oracle
local function join(to, from) for k in pairs(from) do to[k] = true end end
local function copy(of) local to = {} join(to, of) return to end

-- Do two accesses to a place conflict? Volatile stores do not, nor, but for strict checks, do stores of the same value. Lanes
-- of a warp that store to volatile shared memory would rely on being in step: `strict.shared` is of a program that has that.
local stores = { write = true, same = true, strong = true }
local function conflict(a, b, strict)
  if not (stores[a.kind] or stores[b.kind]) then return false end
  local in_step = strict and strict.shared and a.who.warp == b.who.warp
  if strict then return a.kind ~= "strong" or b.kind ~= "strong" or in_step end
  return a.kind == "write" or b.kind == "write" or a.kind == "read" or b.kind == "read"
end

-- An access behind which its thread, or another that it is ordered before, stores what the other one of the pair does: that
-- stands for it, and whether the two met before depends on what runs first.
local function is_hidden(touched, a, b, strict)
  local function followed(s, o)
    for _, f in ipairs(touched) do
      if f.place == s.place and f.kind ~= "read" and f.knew[s.id] and not conflict(f, o, strict) then return true end
    end
  end
  return followed(a, b) or followed(b, a)
end

-- The pairs of steps that race: "LINE LINE", the write first, or the lower line. Those that are sure to be told of are true.
local function races_of(p, strict)
  local knows, fenced, comes, touched, pairs_of, found = {}, {}, {}, {}, {}, {}
  local blocks = {} -- fences since the block met
  for _, who in ipairs(p.threads) do knows[who] = {} end
  local function meet(of, fences)
    local all = {}
    for _, who in ipairs(p.threads) do if of(who) then join(all, knows[who]) end end
    for _, who in ipairs(p.threads) do
      if of(who) then
        knows[who] = copy(all)
        if fences then fenced[who] = copy(all) end
      end
    end
  end
  local function acquire(s) join(knows[s.who], comes[s.flag] or {}) end
  local function release(s, updates)
    if not updates then comes[s.flag] = nil end
    if not fenced[s.who] then return end
    comes[s.flag] = comes[s.flag] or {}
    join(comes[s.flag], fenced[s.who])
  end
  for id, s in ipairs(p.steps) do
    local kind = s.kind
    if stores[kind] or kind == "read" then
      for _, o in ipairs(touched) do
        if o.place == s.place and o.who ~= s.who and conflict(o, s, strict) and not knows[s.who][o.id] then pairs_of[#pairs_of + 1] = { o, s } end
      end
      s.id = id
      s.knew = copy(knows[s.who])
      touched[#touched + 1] = s
      knows[s.who][id] = true
    elseif kind == "fence" then
      fenced[s.who] = copy(knows[s.who])
      blocks[s.who.block] = true
    elseif kind == "set" then
      release(s)
    elseif kind == "exchange" or kind == "add" or kind == "swap" or kind == "update" then
      acquire(s)
      release(s, true)
    elseif kind == "miss" or kind == "look" or kind == "wait" then
      acquire(s)
    elseif kind == "barrier" then
      meet(function(who) return who.block == s.block end, blocks[s.block])
      blocks[s.block] = nil
    elseif kind == "warp" then
      meet(function(who) return who.block == s.block and who.warp == s.warp end)
    elseif kind == "some" then
      meet(function(who) return who.block == s.block and who.warp ~= s.warp end)
    end
  end
  for _, pair in ipairs(pairs_of) do
    local o, s = pair[1], pair[2]
    local a, b = o.line, s.line
    if (o.kind == "read" and stores[s.kind]) or (stores[o.kind] and stores[s.kind] and b < a) then a, b = b, a end
    found[("%d %d"):format(a, b)] = not is_hidden(touched, o, s, strict)
  end
  return found
end

---- both
local function found_in(p, k, strict)
  local x, flag, out = gpu.zeros(PLACES), gpu.zeros(FLAGS + 16, "int32"), gpu.zeros(32 * p.blocks * p.warps)
  local seen = {}
  for _, r in ipairs((gpu.check(function() k(p.blocks, 32 * p.warps)(x, flag, out) end, strict))) do
    seen[r.kind == "race" and ("%d %d"):format(r.line, r.other.line) or r.kind .. " " .. r.line] = true
  end
  return seen
end

-- Nothing else is found than what races, and some pair of lines for each place that is raced for.
local function compare(p, found, want, where)
  local place_of, told = {}, {}
  for _, s in ipairs(p.steps) do if s.place then place_of[s.line] = s.place end end
  local function place(pair) return place_of[tonumber(pair:match("%d+"))] end
  for pair in pairs(found) do
    t.eq(want[pair] ~= nil, true, pair .. " is told of " .. where)
    told[place(pair)] = true
  end
  for pair, sure in pairs(want) do t.eq(told[place(pair)] or not sure, true, pair .. " is not told of " .. where) end
end

local function random(seed)
  local below = t.random(seed * 2654435761 % 4294967296)
  return function(n) return 1 + below(n) end
end

local first, count = tonumber(os.getenv("LUNARRAY_SEED") or 1), tonumber(os.getenv("LUNARRAY_PROGRAMS") or 60)
t.test("random programs", function()
  local racing = 0
  for seed = first, first + count - 1 do
    local p = random_program(random(seed))
    local source = source_of(p)
    local want = races_of(p)
    local k = gpu.kernel { source = source, chunk = "case", line = 1 }
    racing = racing + (next(want) and 1 or 0)
    for _ = 1, 3 do compare(p, found_in(p, k), want, "program " .. seed .. "\n" .. source) end
    compare(p, found_in(p, k, "strict"), races_of(p, p), "strict program " .. seed .. "\n" .. source)
  end
  t.eq(racing > count // 4 and racing < count, true, racing .. " of them race")
end)

if not os.getenv("LUNARRAY_THREADS") then
  for threads = 1, 3, 2 do t.again("tests/simt/ordered.lua", "LUNARRAY_THREADS=" .. threads, 1) end
end

t.done()
