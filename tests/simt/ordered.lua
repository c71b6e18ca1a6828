-- Order by flags, fences, atomics and barriers: small kernels, made at random, whose races an oracle tells by what happens
-- before what in the PTX memory model. Each lets some threads write and read, plainly and not, tell others by flags and wait
-- for them, in ways that put the same in order whatever runs first; and whole warps touch rows. Some have barriers alone, of
-- blocks, warps and lanes. What they write and read is in global memory, in shared memory, or in both.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local PLACES, ROWS, FLAGS = 6, 48, 32

---- programs
local function pick(r, list) return list[r(#list)] end

-- What is done to a place. `value`: that a store leaves; "own": another one in each step.
local kinds = {
  write = { stores = true, value = "own" }, same = { stores = true, value = -1 }, read = {},
  strong = { stores = true, value = -1, strong = true, volatile = true },
  strong_own = { stores = true, value = "own", strong = true, volatile = true },
  strong_read = { strong = true, volatile = true },
  relaxed = { stores = true, value = -1, strong = true }, relaxed_own = { stores = true, value = "own", strong = true },
  relaxed_read = { strong = true },
  atomic = { stores = true, strong = true }, fail = { strong = true },
}
local mixes = {
  { "write", "read", "same" }, { "same" }, { "strong", "strong_own", "strong_read" }, { "read", "strong_read", "strong" },
  { "same", "write", "strong", "strong_own" }, { "atomic", "fail", "strong_read", "read" }, { "relaxed", "relaxed_own", "relaxed_read" },
  { "read", "same" }, { "atomic", "write", "read", "same" }, { "read", "strong_read" },
}
-- Without those that read what another thread released, which would put it in order if it came before.
local mute = {
  { "write", "read", "same" }, { "same" }, { "strong", "strong_own" }, { "read", "strong" }, { "read", "same" },
  { "same", "write", "strong", "strong_own" }, { "relaxed", "relaxed_own", "read" }, { "write", "strong_own", "read", "relaxed" },
}
local releases = { "set", "set", "exchange", "add", "say", "swap_release", "add_release" }

-- Threads that do something: block, warp and lane. The program is a list of steps in an order in which it could run. A step of
-- a warp, whose lanes each do it to the place after the one before, has `lanes`.
local function random_program(r)
  local p = { blocks = r(3), warps = r(3), threads = {}, steps = {}, flags = 0, ids = 3 }
  local plain, spaces = r(3) == 1, pick(r, { "global", "global", "shared", "both" })
  local rows, mix, near = r(3) == 1, pick(r, plain and mixes or mute), r(2) == 1 and PLACES // 3 or PLACES
  local few = r(2) == 1 -- so that races are not hidden by others
  local all, count = {}, few and 1 + r(2) or 2 + r(4)
  if few then near = r(2) end
  local function thread(block, warp, lane)
    local key = (block * 4 + warp) * 32 + lane
    if not all[key] then
      all[key] = { block = block, warp = warp, lane = lane }
      p.threads[#p.threads + 1] = all[key]
    end
    return all[key]
  end
  for tries = 1, 40 do
    if #p.threads < count then thread(r(p.blocks) - 1, r(p.warps) - 1, pick(r, { 0, 0, 1, 2, 5, 17 })) end
  end
  local some_threads = table.move(p.threads, 1, #p.threads, 1, {})
  local function someone() return pick(r, some_threads) end
  local function step(s) p.steps[#p.steps + 1] = s return s end
  local function flag() p.flags = p.flags + 1 return p.flags - 1 end
  local function fence(who) step { kind = pick(r, { "fence", "fence", "fence_block", "fence_system", "fence_sc" }), who = who or someone() } end
  -- Somebody tells somebody else by a flag, which others may have updated or overwritten before, each told by the last.
  local function tell()
    local f, last = flag(), nil
    local first = someone()
    if r(3) > 1 then fence(first) end
    step { kind = pick(r, releases), who = first, flag = f, value = 1 }
    last = first
    for n = 1, r(3) - 1 do
      local next, gate = someone(), flag()
      step { kind = "set", who = last, flag = gate, value = 1 }
      step { kind = "wait", who = next, flag = gate, value = 1 }
      if r(4) == 1 then fence(next) end
      step { kind = pick(r, { "set", "add", "exchange", "swap", "miss", "say", "add_release" }), who = next, flag = f, value = n + 1 }
      last = next
    end
    local reader, gate = someone(), flag()
    step { kind = "set", who = last, flag = gate, value = 1 }
    step { kind = "wait", who = reader, flag = gate, value = 1 }
    step { kind = pick(r, { "look", "update", "acquire" }), who = reader, flag = f }
  end
  -- Several count, one after another, and one waits for all of them.
  local function gather()
    local f, n, last = flag(), r(3), nil
    for k = 1, n do
      local who, gate = someone(), k > 1 and flag()
      if gate then
        step { kind = "set", who = last, flag = gate, value = 1 }
        step { kind = "wait", who = who, flag = gate, value = 1 }
      end
      if r(3) > 1 then fence(who) end
      step { kind = pick(r, { "add", "add", "add_release" }), who = who, flag = f, value = 1 }
      last = who
    end
    step { kind = pick(r, { "wait", "wait_acquire" }), who = someone(), flag = f, value = n }
  end
  local most = pick(r, mix)
  local function space() return spaces == "both" and pick(r, { "global", "shared" }) or spaces end
  local function touch()
    if rows and r(2) == 1 then
      local s = step { kind = pick(r, mix), lanes = {}, place = PLACES + r(ROWS - 31) - 1, space = space() }
      if r(2) == 1 then s.place = PLACES end
      local block, warp, from, to = r(p.blocks) - 1, r(p.warps) - 1, 0, 31
      if r(3) == 1 then from, to = r(16) - 1, 15 + r(16) end
      for l = from, to do s.lanes[#s.lanes + 1] = thread(block, warp, l) end
      return
    end
    local place = rows and r(3) == 1 and PLACES + r(ROWS) - 1 or r(near) - 1
    step { kind = r(3) == 1 and most or pick(r, mix), who = someone(), place = place, space = space() }
  end
  local function meet()
    local kind = pick(r, { "barrier", "warp", "some", "lanes", "lanes", "arrive" })
    local s = { kind = kind, block = r(p.blocks) - 1, warp = r(p.warps) - 1 }
    if kind == "some" and p.warps < 3 then s.kind = "barrier" end
    if kind == "arrive" and (p.warps < 2 or p.ids == 15) then s.kind = "warp" end
    if s.kind == "arrive" then
      p.ids = p.ids + 1
      s.id, s.from = p.ids, (s.warp + 1) % p.warps
      step { kind = "warp", block = s.block, warp = s.from } -- bar.arrive wants its lanes together
    elseif s.kind == "lanes" then
      s.mask = 0
      if r(3) == 1 then s.mask = pick(r, { 0xffff, 0xff, 0xffff0000, 0x55555555, 0x3 }) end
      for _, who in ipairs(some_threads) do
        if who.block == s.block and who.warp == s.warp and r(3) > 1 then s.mask = s.mask | 1 << who.lane end
      end
      if s.mask == 0 then s.mask = 0xf end
    end
    step(s)
  end
  local some = plain and { touch, touch, meet } or { touch, touch, touch, tell, gather, gather, meet, fence }
  for _ = 1, few and r(5) or 6 + r(12) do pick(r, some)() if p.flags > FLAGS then break end end
  for _ = 1, few and 1 + r(2) or r(4) do touch() end
  return p
end

---- the kernel's source
local function value_of(s, n) return kinds[s.kind].value == "own" and n + 0.5 or -1 end
local function store(how) -- the numbers keep the compiler from making one of two
  return function(s, n) return ('asm volatile("st%s.f32 [%%0], %%1; // %d" :: "l"(%s), "f"(%.1ff) : "memory");'):format(how, n, s.at, value_of(s, n)) end
end
local function load(how)
  return function(s, n) return ('asm volatile("ld%s.f32 %%0, [%%1]; // %d" : "=f"(got) : "l"(%s) : "memory"); sum += got;'):format(how, n, s.at) end
end
local function asm(text) -- with %d for the flag and the value
  return function(s) return ('asm volatile("%s" :: "l"(flag + %d), "r"(%d) : "memory");'):format(text, s.flag, s.value or 0) end
end
local function atom(text)
  return function(s) return ('asm volatile("%s" : "=r"(old) : "l"(flag + %d), "r"(%d) : "memory"); sum += old;'):format(text, s.flag, s.value or 0) end
end
local function scope_at(line) return ({ "", "_block", "_system" })[1 + line % 3] end
local function is_of_block(kind, line)
  return kind == "relaxed_own" or ((kind == "atomic" or kind == "exchange" or kind == "add") and scope_at(line) == "_block")
end
local code = {
  write = store "", same = store "", strong = store ".volatile", strong_own = store ".volatile", relaxed = store ".relaxed.gpu",
  relaxed_own = store ".relaxed.cta", read = load "", strong_read = load ".volatile", relaxed_read = load ".relaxed.sys",
  atomic = function(s, n) return ("sum += atomicAdd%s((int *)(%s), 1);"):format(scope_at(n), s.at) end,
  fail = function(s) return ("sum += atomicCAS((int *)(%s), 77, 78);"):format(s.at) end,
  fence = function() return "__threadfence();" end,
  fence_block = function() return "__threadfence_block();" end,
  fence_system = function() return "__threadfence_system();" end,
  fence_sc = function() return 'asm volatile("fence.sc.gpu;" ::: "memory");' end,
  set = function(s) return ("*(volatile int *)(flag + %d) = %d;"):format(s.flag, s.value) end,
  say = asm "st.release.gpu.s32 [%0], %1;",
  exchange = function(s, n) return ("sum += atomicExch%s(flag + %d, %d);"):format(scope_at(n), s.flag, s.value) end,
  add = function(s, n) return ("sum += atomicAdd%s(flag + %d, 1);"):format(scope_at(n), s.flag) end,
  add_release = atom "atom.add.release.gpu.s32 %0, [%1], 1;",
  swap_release = atom "atom.exch.acq_rel.gpu.b32 %0, [%1], %2;",
  swap = function(s) return ("sum += atomicCAS(flag + %d, *(volatile int *)(flag + %d), %d);"):format(s.flag, s.flag, s.value) end,
  miss = function(s) return ("sum += atomicCAS(flag + %d, 77, %d);"):format(s.flag, s.value) end,
  wait = function(s) return ("while (*(volatile int *)(flag + %d) != %d) {}"):format(s.flag, s.value) end,
  wait_acquire = function(s)
    return ('do asm volatile("ld.acquire.gpu.s32 %%0, [%%1];" : "=r"(old) : "l"(flag + %d) : "memory"); while (old != %d);'):format(s.flag, s.value)
  end,
  look = function(s) return ("sum += *(volatile int *)(flag + %d);"):format(s.flag) end,
  acquire = function(s) return ('asm volatile("ld.acquire.gpu.s32 %%0, [%%1];" : "=r"(old) : "l"(flag + %d) : "memory"); sum += old;'):format(s.flag) end,
  update = function(s) return ("sum += atomicAdd(flag + %d, 1);"):format(s.flag) end,
}
local meeting = {
  barrier = function() return "  __syncthreads();" end,
  warp = function(s) return ("  if (warp == %d) __syncwarp();"):format(s.warp) end,
  lanes = function(s) return ("  if (warp == %d && %du >> lane & 1) __syncwarp(%du);"):format(s.warp, s.mask, s.mask) end,
  some = function(s) return ("  if (warp != %d) asm volatile(\"bar.sync %d, 64;\" ::: \"memory\");"):format(s.warp, s.warp + 1) end,
  arrive = function(s)
    return ([[  if (warp == %d) asm volatile("bar.arrive %d, 64;" ::: "memory"); if (warp == %d) asm volatile("bar.sync %d, 64;" ::: "memory");]])
      :format(s.from, s.id, s.warp, s.id)
  end,
}

-- Each block's steps, between its meetings those of each thread together. A step gets its line.
local function source_of(p)
  local lines = { "__global__ void k(float *x, int *flag, float *out) { float sum = 0, got; int warp = threadIdx.x / 32, lane = threadIdx.x % 32, old;" }
  lines[2] = ("__shared__ float y[%d]; for (int k = threadIdx.x; k < %d; k += blockDim.x) y[k] = 0; __syncthreads();"):format(PLACES + ROWS, PLACES + ROWS)
  local function put(line) lines[#lines + 1] = line return #lines end
  local function put_step(s)
    if s.place then s.at = ("%s + %d%s"):format(s.space == "shared" and "y" or "x", s.place, s.lanes and (" + lane - %d"):format(s.lanes[1].lane) or "") end
    local n = #lines + 1
    s.line = put("    " .. code[s.kind](s, n))
    if s.place then s.value = kinds[s.kind].stores and kinds[s.kind].value and value_of(s, n) end
  end
  for block = 0, p.blocks - 1 do
    local pending = {}
    local function flush(warp)
      for _, who in ipairs(p.threads) do
        if pending[who] and (not warp or who.warp == warp) then
          put(("  if (warp == %d && lane == %d) {"):format(who.warp, who.lane))
          for _, s in ipairs(pending[who]) do put_step(s) end
          put "  }"
          pending[who] = nil
        end
      end
    end
    put(("if (blockIdx.x == %d) {"):format(block))
    for _, s in ipairs(p.steps) do
      local of = s.who or (s.lanes and s.lanes[1]) or s
      if of.block == block then
        if s.who then
          pending[s.who] = pending[s.who] or {}
          table.insert(pending[s.who], s)
        elseif s.lanes then
          flush(of.warp)
          put(("  if (warp == %d && lane >= %d && lane <= %d) {"):format(of.warp, of.lane, s.lanes[#s.lanes].lane))
          put_step(s)
          put "  }"
        else
          flush()
          put(meeting[s.kind](s))
        end
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

-- What is atomic among the threads of a block is not beside another block's.
local function are_apart(a, b)
  return a.space ~= "shared" and a.who.block ~= b.who.block and (is_of_block(a.kind, a.line) or is_of_block(b.kind, b.line))
end

-- Do two accesses to a place conflict? Strong ones, atomic or volatile or relaxed, do not, nor, but for strict checks, do stores
-- of the same value. Lanes of a warp that share volatile shared memory would rely on being in step.
local function conflict(a, b, strict)
  local k, l = kinds[a.kind], kinds[b.kind]
  if not (k.stores or l.stores) then return false end
  local in_step = a.space == "shared" and a.who.warp == b.who.warp and k.volatile and l.volatile
  if k.strong and l.strong and not in_step then return are_apart(a, b) end
  return strict or not (a.value and a.value == b.value)
end

-- An access behind which its thread, or another that it is ordered before, stores what the other one of the pair does: that
-- stands for it, unless checks are strict, and whether the two met before depends on what runs first.
local function is_hidden(touched, a, b)
  local function followed(s, o)
    for _, f in ipairs(touched[s.key]) do
      if f.value and f.value == o.value and f.knew[s.id] then return true end
    end
  end
  return followed(a, b) or followed(b, a)
end

-- What only reads its flag.
local READS = { miss = true, look = true, wait = true, acquire = true, wait_acquire = true }

local function pair_of(a, b) return ("%d %d"):format(math.min(a, b), math.max(a, b)) end

-- By place, the pairs of steps that race, "LINE LINE", and whether one of them is sure to be told of.
local function races_of(p, strict)
  local knows, touched, pairs_of, found = {}, {}, {}, {}
  -- By reach: 1, the block's threads; 2, all. The first are told apart where there is something to tell.
  local narrow = false
  for _, s in ipairs(p.steps) do narrow = narrow or (p.blocks > 1 and s.kind == "fence_block") end
  local fenced, comes = { {}, {} }, { {}, {} }
  local since = { {}, {} } -- those that had a fence since their warp or block met
  local blocks = { {}, {} } -- fences since the block met
  for _, who in ipairs(p.threads) do knows[who] = {} end
  local ids = 0
  -- `to` come to know what `of` know; by default the same.
  local function meet(of, reach, to)
    local all = {}
    for _, who in ipairs(p.threads) do if of(who) then join(all, knows[who]) end end
    for _, who in ipairs(p.threads) do
      if (to or of)(who) then
        knows[who] = copy(all)
        for n = 1, reach do fenced[n][who] = copy(all) end
      end
    end
  end
  local function forget(of)
    for n = 1, 2 do
      for _, who in ipairs(p.threads) do if of(who) then since[n][who] = nil end end
    end
  end
  local function place(s, n) return n == 1 and s.flag .. " " .. s.who.block or s.flag end
  local function acquire(s)
    for n = narrow and 1 or 2, 2 do join(knows[s.who], comes[n][place(s, n)] or {}) end
  end
  local function fence(s)
    for n = 1, narrow and s.kind == "fence_block" and 1 or 2 do
      fenced[n][s.who] = copy(knows[s.who])
      blocks[n][s.who.block] = true
      since[n][s.who] = true
    end
  end
  local function release(s, updates)
    for n = 1, 2 do
      local at = place(s, n)
      if not updates then comes[n][at] = nil end
      if fenced[n][s.who] then
        comes[n][at] = comes[n][at] or {}
        join(comes[n][at], fenced[n][s.who])
      end
    end
  end
  local function touch(s)
    ids = ids + 1
    s.id = ids
    s.key = s.space == "shared" and ("%d %d"):format(s.who.block, s.place) or s.place
    touched[s.key] = touched[s.key] or {}
    for _, o in ipairs(touched[s.key]) do
      local stored = not strict and o.value and o.value == s.value and not (kinds[o.kind].strong and kinds[s.kind].strong and are_apart(o, s))
      if o.who ~= s.who and (conflict(o, s, strict) or stored) and not knows[s.who][o.id] then pairs_of[#pairs_of + 1] = { o, s, stored } end
    end
    s.knew = copy(knows[s.who])
    table.insert(touched[s.key], s)
    knows[s.who][s.id] = true
  end
  -- Flags are touched by what is strong alone; what comes with them is not known yet.
  local function touch_flag(s)
    local key = "flag " .. s.flag
    local me = { kind = s.kind, who = s.who, line = s.line, key = key }
    touched[key] = touched[key] or {}
    for _, o in ipairs(touched[key]) do
      local unordered = o.who ~= s.who and not knows[s.who][o.id]
      if unordered and are_apart(o, me) and not (READS[o.kind] and READS[s.kind]) then pairs_of[#pairs_of + 1] = { o, me } end
    end
    ids = ids + 1
    me.id = ids
    table.insert(touched[key], me)
    return me.id
  end
  for _, s in ipairs(p.steps) do
    local kind = s.kind
    local flag = s.flag and s.line and touch_flag(s)
    if kinds[kind] then
      for l, who in ipairs(s.lanes or { s.who }) do
        touch { kind = kind, who = who, line = s.line, value = s.value, space = s.space, place = s.place + l - 1 }
      end
    elseif kind:find "^fence" then
      fence(s)
    elseif kind == "set" then
      release(s)
    elseif kind == "say" then
      fence(s)
      release(s)
    elseif kind == "add_release" or kind == "swap_release" then
      fence(s)
      acquire(s)
      release(s, true)
    elseif kind == "exchange" or kind == "add" or kind == "swap" or kind == "update" then
      acquire(s)
      release(s, true)
    elseif kind == "miss" or kind == "look" or kind == "wait" or kind == "acquire" or kind == "wait_acquire" then
      acquire(s)
    elseif kind == "barrier" then
      local function of(who) return who.block == s.block end
      meet(of, blocks[2][s.block] and 2 or blocks[1][s.block] and 1 or 0)
      forget(of)
      for n = 1, 2 do blocks[n][s.block] = nil end
    elseif kind == "warp" then
      local function of(who) return who.block == s.block and who.warp == s.warp end
      meet(of, 0)
      forget(of)
    elseif kind == "some" then
      local function of(who) return who.block == s.block and who.warp ~= s.warp end
      meet(of, 0)
      forget(of)
    elseif kind == "lanes" then
      local reach, mask = 2, s.mask
      local function of(who) return who.block == s.block and who.warp == s.warp and s.mask >> who.lane & 1 == 1 end
      for _, who in ipairs(p.threads) do
        if of(who) then
          mask = mask & ~(1 << who.lane)
          reach = math.min(reach, since[2][who] and 2 or since[1][who] and 1 or 0)
        end
      end
      meet(of, mask == 0 and reach or 0)
    elseif kind == "arrive" then
      local function to(who) return who.block == s.block and who.warp == s.warp end
      meet(function(who) return who.block == s.block and (who.warp == s.warp or who.warp == s.from) end, 0, to)
      forget(to)
    end
    if flag then knows[s.who][flag] = true end -- but not before: no release takes it along
  end
  for _, pair in ipairs(pairs_of) do
    local o, s, stored = table.unpack(pair)
    local at = found[s.key] or { pairs = {} }
    if stored then -- what an atomic then changes is no longer known
      local changed = false
      for _, f in ipairs(touched[s.key]) do changed = changed or f.kind == "atomic" end
      if not changed then goto continue end
    end
    at.pairs[pair_of(o.line, s.line)] = true
    at.sure = at.sure or (not stored and (strict or are_apart(o, s) or not is_hidden(touched, o, s)))
    found[s.key] = at
    ::continue::
  end
  return found
end

---- both
local function found_in(p, k, strict)
  local x, flag, out = gpu.zeros(PLACES + ROWS), gpu.zeros(FLAGS + 16, "int32"), gpu.zeros(32 * p.blocks * p.warps)
  local seen = {}
  for _, r in ipairs((gpu.check(function() k(p.blocks, 32 * p.warps)(x, flag, out) end, strict))) do
    seen[r.kind == "race" and pair_of(r.line, r.other.line) or r.kind .. " " .. r.line] = true
  end
  return seen
end

-- Nothing else is found than what races, and some pair of lines for each place that is raced for.
local function compare(found, want, where)
  local pairs_wanted = {}
  for key, at in pairs(want) do
    local told = false
    for pair in pairs(at.pairs) do
      pairs_wanted[pair] = true
      told = told or found[pair]
    end
    t.eq(told or not at.sure, true, ("a race for place %s, as lines %s, is not told of %s"):format(key, next(at.pairs), where))
  end
  for pair in pairs(found) do t.eq(pairs_wanted[pair] ~= nil, true, pair .. " is told of " .. where) end
end

local function random(seed)
  local below = t.random(seed * 2654435761 % 4294967296)
  return function(n) return 1 + below(n) end
end

local first, count = tonumber(os.getenv("LUNARRAY_SEED") or 1), tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(150, 50))
t.test("random programs", function()
  local racing = 0
  for seed = first, first + count - 1 do
    local p = random_program(random(seed))
    local source = source_of(p)
    local want = races_of(p)
    local k = gpu.kernel { source = source, chunk = "case", line = 1 }
    racing = racing + (next(want) and 1 or 0)
    for _ = 1, 3 do compare(found_in(p, k), want, "program " .. seed .. "\n" .. source) end
    compare(found_in(p, k, "strict"), races_of(p, true), "strict program " .. seed .. "\n" .. source)
  end
  t.eq(racing > count // 4 and racing < count, true, racing .. " of them race")
end)

if not os.getenv("LUNARRAY_THREADS") then
  for threads = 1, 3, 2 do t.again("tests/simt/ordered.lua", "LUNARRAY_TEST_BRIEF=1 LUNARRAY_THREADS=" .. threads, 1) end
end

t.done()
