-- Lanes of which some meet, by masks that data says, and touch global memory in between: random programs whose races an oracle
-- tells by who has met whom. Whole warps read one place, too, and many warps the same ones. The same in shared memory, where some
-- warps meet at barriers by number besides, or one arrives at such a barrier and another one waits there. And in global memory
-- where the line has records of each place, since what came before was ordered by meetings alone.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 3))
local BLOCKS, STEPS = 2, 6
local WARPS, THREADS, SHARED -- of what shared memory has arrays, or false
local READ, WRITE, SAME, ATOMIC, WHOLE = 1, 2, 3, 4, 6 -- the last reads the word that a place is in
local ALL, ARRIVE = 1, 5 -- how a block meets behind a step; 2 to 4: all warps but one do

local k = gpu.kernel [==[
  __global__ void steps(float *x, float *out, const int *op, const int *place, const unsigned *mask, const int *meet, int count,
                        int before) {
    int v = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float sum = 0;
    for (int k = 0; k < before; k++) {
      if (v < 8) x[8 + (v + k) % 8] = k;
      __syncwarp(threadIdx.x % 32 < 16 ? 0xffff : 0xffff0000);
    }
    for (int s = 0; s < count; s++) {
      int k = s * n + v;
      if (op[k] == 1) sum += x[place[k]];
      else if (op[k] == 2) x[place[k]] = k + 1;
      else if (op[k] == 3) x[place[k]] = 1;
      else if (op[k] == 4) atomicAdd(&x[place[k]], 1);
      if (mask[k]) __syncwarp(mask[k]);
      if (meet[s]) __syncthreads();
    }
    out[v] = sum;
  }]==]
local shared_text = [==[
  typedef unsigned __attribute__((may_alias)) word;
  __global__ void steps_shared(float *out, const int *op, const int *place, const unsigned *mask, const int *meet, int count) {
    __shared__ __align__(4) element x[16];
    int v = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, warp = threadIdx.x / 32;
    float sum = 0;
    if (threadIdx.x < 16) x[threadIdx.x] = 0;
    __syncthreads();
    for (int s = 0; s < count; s++) {
      int k = s * n + v;
      if (op[k] == 1) sum += x[place[k]];
      else if (op[k] == 2) x[place[k]] = threadIdx.x + 1 + s % 2 * 100; // not what others store
      else if (op[k] == 6) sum += ((const word *)x)[place[k] * sizeof *x / 4];
      if (mask[k]) __syncwarp(mask[k]);
      if (meet[s] == 1) __syncthreads();
      if (meet[s] < 2) continue;
      __syncwarp();
      if (meet[s] < 5 && warp != meet[s] - 2) asm volatile("bar.sync %0, 64;" :: "r"(1 + s) : "memory");
      if (meet[s] == 5 && warp == 0) asm volatile("bar.arrive %0, 64;" :: "r"(1 + s) : "memory");
      if (meet[s] == 5 && warp == 2) asm volatile("bar.sync %0, 64;" :: "r"(1 + s) : "memory");
    }
    out[v] = sum;
  }]==]
local PLACES <const> = { float = 1, ["unsigned char"] = 4, short = 2 } -- of a word
local kernels = {}
for element in pairs(PLACES) do kernels[element] = gpu.kernel("typedef " .. element .. " element;" .. shared_text) end

-- By step and thread: what is done where, and the mask of those that meet behind it, 0: nobody. One or two threads store, late.
local function program()
  local p = { op = {}, place = {}, mask = {}, meet = {} }
  local places, parts, warps, again = 1 + random(3), 1 + random(3), THREADS // 32, {}
  for w = 0, warps - 1 do again[w] = random(2) == 0 end -- lanes meet the same ones each time
  for s = 0, STEPS - 1 do
    p.meet[s] = random(8) == 0 and ALL or 0
    if SHARED and random(2) == 0 then p.meet[s] = 2 + random(4) end
    for w = 0, warps - 1 do
      local all, group = random(40) == 0, {} -- all lanes read one place
      for part = 0, parts - 1 do group[part] = 0 end
      for lane = 0, 31 do
        local at = s * THREADS + w * 32 + lane
        local part = random(8) == 0 and random(parts) or lane * parts // 32
        group[part] = group[part] | 1 << lane
        p.op[at], p.place[at], p.mask[at] = all and READ or 0, 0, part
      end
      for part = 0, parts - 1 do if not again[w] and random(5) == 0 then group[part] = 0 end end
      for lane = 0, 31 do
        local at = s * THREADS + w * 32 + lane
        p.mask[at] = again[w] and s > 0 and p.mask[at - THREADS] or group[p.mask[at]]
      end
    end
  end
  local home = random(warps)
  local function touch(op, s, warp)
    local at = s * THREADS + warp * 32 + random(32)
    p.op[at], p.place[at] = op, random(places)
    if SHARED and PLACES[SHARED] > 1 and op == READ and random(4) == 0 then p.op[at] = WHOLE end
  end
  for _ = 1, random(8) do touch(READ, random(STEPS), random(8) > 0 and home or random(warps)) end
  for _ = 0, random(3) // 2 do touch(WRITE, STEPS - 1 - random(4), random(12) > 0 and home or random(warps)) end
  for _ = 1, SHARED and random(3) or 0 do touch(READ, STEPS - 1 - random(2), random(warps)) end
  return p
end

-- known[v][n]: before which step all that the nth thread of those that touch anything did is ordered before what v does now.
local function races(p)
  local known, touched, number, touching = {}, {}, {}, 0
  for v = 0, THREADS - 1 do
    for at = v, STEPS * THREADS - 1, THREADS do
      if not number[v] and p.op[at] > 0 then
        touching = touching + 1
        number[v] = touching
      end
    end
  end
  for v = 0, THREADS - 1 do
    known[v] = {}
    for n = 1, touching do known[v][n] = 0 end
  end
  -- Those in `to`, by default all members, come to know what the members know.
  local function join(members, s, to)
    local most = {}
    for n = 1, touching do
      most[n] = 0
      for _, v in ipairs(members) do most[n] = math.max(most[n], known[v][n]) end
    end
    for _, v in ipairs(members) do
      if number[v] then most[number[v]] = s + 1 end
    end
    for _, v in ipairs(to or members) do table.move(most, 1, touching, 1, known[v]) end
  end
  for s = 0, STEPS - 1 do
    for v = 0, THREADS - 1 do
      local at = s * THREADS + v
      if p.op[at] > 0 then
        local first, count = p.place[at], p.op[at] == WHOLE and PLACES[SHARED] or 1
        if SHARED then first = v // (WARPS * 32) * 16 + first // count * count end
        for key = first, first + count - 1 do
          local before = touched[key] or {}
          for _, o in ipairs(before) do
            if o.v ~= v and (o.op == WRITE or p.op[at] == WRITE) and known[v][number[o.v]] <= o.s then return true end
          end
          touched[key] = before
          table.insert(before, { v = v, s = s, op = p.op[at] })
        end
      end
    end
    for w = 0, THREADS // 32 - 1 do
      local groups = {}
      for lane = 0, 31 do
        local mask = p.mask[s * THREADS + w * 32 + lane]
        if mask ~= 0 then
          groups[mask] = groups[mask] or {}
          table.insert(groups[mask], w * 32 + lane)
        end
      end
      for _, members in pairs(groups) do join(members, s) end
    end
    for b = 0, BLOCKS - 1 do
      local function threads_of(...)
        local all = {}
        for _, w in ipairs { ... } do
          for lane = 0, 31 do all[#all + 1] = (b * WARPS + w) * 32 + lane end
        end
        return all
      end
      local meet = p.meet[s]
      if meet == ALL then join(WARPS == 2 and threads_of(0, 1) or threads_of(0, 1, 2), s) end
      for w = 0, meet > ALL and WARPS - 1 or -1 do join(threads_of(w), s) end
      if meet == ARRIVE then
        join(threads_of(0, 2), s, threads_of(2))
      elseif meet > ALL then
        join(threads_of(meet == 2 and 1 or 0, meet == 4 and 1 or 2), s)
      end
    end
  end
  return false
end

local function listed(of, last, dtype)
  local list = {}
  for at = 0, last do list[at + 1] = of[at] end
  return gpu.array(list, dtype)
end

local shared = { ["shared memory"] = "float", ["bytes of shared memory"] = "unsigned char", ["halves of shared memory"] = "short" }
for _, what in ipairs { "", "shared memory", "bytes of shared memory", "halves of shared memory", "late" } do
  local name = what == "" and "random programs" or "random programs, " .. what
  SHARED = shared[what] or false
  WARPS = SHARED and 3 or 2
  THREADS = BLOCKS * WARPS * 32
  local before = what == "late" and 3 or 0
  t.test(name, function()
    local count, racing = tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(what:find " of " and 60 or 120, 60)), 0
    for n = 1, count do
      local p = program()
      local last = STEPS * THREADS - 1
      local op, place = listed(p.op, last, "int32"), listed(p.place, last, "int32")
      local mask, meet = listed(p.mask, last, "uint32"), listed(p.meet, STEPS - 1, "int32")
      local found = gpu.check(function()
        local out = gpu.zeros(THREADS)
        if SHARED then
          kernels[SHARED].steps_shared(BLOCKS, WARPS * 32)(out, op, place, mask, meet, STEPS)
        else
          k.steps(BLOCKS, WARPS * 32)(gpu.zeros(16), out, op, place, mask, meet, STEPS, before)
        end
      end)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.text) end
      local wanted = races(p)
      racing = racing + (wanted and 1 or 0)
      t.eq(#found > 0, wanted, "program " .. n)
    end
    t.eq(racing > count // 8 and racing < count * 15 // 16, true, racing .. " of them race")
  end)
end

-- What lanes of a warp do to one place, one after the other: r3 reads, w3 writes, s3 writes what all do by this, a3 adds; m1,3 meet.
local stories = {
  { "r0 r1 r2 m0,2,3 w3", true }, { "r0 r1 r2 m0,1,2,3 w3", false }, -- of three readers the second is to be kept
  { "r0 r1 m0,2 r2 m2,3 w3", true }, { "r0 r1 m0,1,2 r2 m2,3 w3", false }, -- one takes the place of the first alone
  { "r0 r1 m1,2 r2 m2,3 w3", true }, { "r0 r1 m0,2 w2", true }, { "r0 r1 m1,2 w2", true }, { "r0 r1 m0,1,2 w2", false },
  { "r0 m0,1 r0 w1", true }, { "r0 r2 m0,1,2 r2 w1", true }, { "r0 r2 r0 r2 m0,1,2 w1", false }, -- reads again behind a meeting
  { "s0 s1 m1,2 r2", true }, { "s0 s1 m0,2 r2", true }, { "s0 s1 m0,1,2 r2", false }, { "s0 s1 s0", false },
  { "a0 a1 m1,2 r2", true }, { "a0 a1 m0,2 r2", true }, { "a0 a1 m0,1,2 r2", false }, { "a0 a1 m1,2 w2", true },
  { "a0 a1 m1,3 m0,1,2 r2 r3", true }, { "a0 a1 m0,1,3 m0,1,2 r2 r3", false },
  { "w0 m0,1 r1 m1,2 w2 m2,3 r3", false }, { "w0 m0,1 r1 m1,2 w2 r3", true }, { "w0 r0 w0 m0,1 w1 m0,1 r0", false },
  { "w0 m1,2 r1", true }, { "w0 m0,1 m1,2 r2 m2,0 w0", false }, { "w0 m0,1 m1,2 r2 m1,0 w0", true },
}
local ops = { r = READ, w = WRITE, s = SAME, a = ATOMIC }
local function program_of(story)
  local p, count = { op = {}, place = {}, mask = {}, meet = {} }, 0
  for what, lanes in story:gmatch "(%a)([%d,]+)" do
    for at = count * THREADS, (count + 1) * THREADS - 1 do p.op[at], p.place[at], p.mask[at] = 0, 0, 0 end
    local mask = 0
    for lane in lanes:gmatch "%d+" do mask = mask | 1 << math.tointeger(lane) end
    for lane in lanes:gmatch "%d+" do
      local at = count * THREADS + math.tointeger(lane)
      if what == "m" then p.mask[at] = mask else p.op[at] = ops[what] end
    end
    p.meet[count], count = 0, count + 1
  end
  return p, count
end
SHARED, WARPS, THREADS = false, 2, BLOCKS * 2 * 32
for _, before in ipairs { 0, 3 } do
  t.test("what is kept of a place, after " .. before .. " meetings", function()
    for _, story in ipairs(stories) do
      local p, count = program_of(story[1])
      local op, place = listed(p.op, count * THREADS - 1, "int32"), listed(p.place, count * THREADS - 1, "int32")
      local mask, meet = listed(p.mask, count * THREADS - 1, "uint32"), listed(p.meet, count - 1, "int32")
      local found = gpu.check(function()
        k.steps(BLOCKS, WARPS * 32)(gpu.zeros(16), gpu.zeros(THREADS), op, place, mask, meet, count, before)
      end)
      t.eq(#found > 0, story[2], story[1])
    end
  end)
end

-- Some lanes of a half store what lies l ^ flip from where it begins, and the others, or all, read their own word.
local flips = gpu.kernel [[
  extern "C" __global__ void flips(const int *stores, const int *reads, int *out, int flip, int meets) {
    __shared__ int x[64];
    int l = threadIdx.x;
    unsigned mask = 0xffffu << l % 32 / 16 * 16;
    x[l] = l;
    __syncwarp(mask);
    if (stores[l]) x[l ^ flip] = l + 100;
    if (meets) __syncwarp(mask);
    if (reads[l]) out[l] = x[l];
  }]]
t.test("rows in shared memory that lanes of a half turn round", function()
  for flip = 1, 15 do
    local stores, reads, out = {}, {}, gpu.zeros(64, "int32")
    for l = 0, 63 do
      stores[l + 1] = (l ~ flip) > l and random(3) > 0 and 1 or 0
      reads[l + 1] = (l ~ flip) < l and 1 or 0
    end
    stores, reads = gpu.array(stores, "int32"), gpu.array(reads, "int32")
    local function found(who, meets)
      return #gpu.check(function() flips.flips(1, 64)(stores, who, out, flip, meets) end)
    end
    t.eq(found(reads, 0), 1, "flip " .. flip)
    t.eq(found(1 - reads, 0), 0, "flip " .. flip .. ", its own words")
    t.eq(found(reads, 1), 0, "flip " .. flip .. ", behind a meeting")
  end
end)

-- What all lanes read before half of them meet, not for the first time: two readers do not stand for the others then.
t.test("readers who have not met the one who stores", function()
  local readers = gpu.kernel [[__global__ void readers(int *x, int *out) {
    int v = 0;
    for (int k = 0; k < 3; k++) {
      v += x[k];
      __syncwarp(threadIdx.x < 16 ? 0xffff : 0xffff0000);
    }
    if (threadIdx.x == 0) x[2] = v;
    out[threadIdx.x] = v;
  }]]
  local found = gpu.check(function() readers(1, 32)(gpu.zeros(3, "int32"), gpu.zeros(32, "int32")) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
end)

-- A meeting behind a guard, of lanes that met last as they would again, is one of those whom the guard lets through.
t.test("half of a warp meets again", function()
  local k = gpu.kernel [[__global__ void k(int *out, int alone) {
    __shared__ int s[32];
    int t = threadIdx.x, v = 0;
    unsigned mask = 0xffffu << t / 16 * 16;
    s[t] = t;
    __syncwarp(mask);
    v = s[t ^ 1];
    __syncwarp(mask);
    s[t] = v;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, %1; @p bar.warp.sync %2; }" ::"r"(t / 16), "r"(alone), "r"(mask) : "memory");
    out[t] = s[t ^ 1];
  }]]
  for alone = 0, 2 do
    local found = gpu.check(function() k(1, 32)(gpu.zeros(32, "int32"), alone) end)
    t.eq(#found, alone < 2 and 1 or 0)
    if alone < 2 then t.eq(found[1].count, 16) end
  end
end)

-- A line of 16 words that tiles have met over: what one of their lanes does there is seen beside what all others did.
local tiles = [[__global__ void tiles(int *x, int *out) {
  int t = threadIdx.x, lane = t % 32, v = 0;
  unsigned mask = 0xffu << lane / 8 * 8;
  for (int k = 0; k < 3; k++) {
    if (t < 8) x[t ^ k] = k, x[t + 8 ^ k] = k;
    __syncwarp(mask);
  }
  BODY
  out[t] = v;
}]]
local function tile(name, lines, body)
  t.test("tiles and a line: " .. name, function()
    local k = gpu.kernel((tiles:gsub("BODY", body)))
    local found = gpu.check(function() k(1, 64)(gpu.zeros(16, "int32"), gpu.zeros(64, "int32")) end)
    t.eq(#found, lines and 1 or 0, found[1] and found[1].text)
    if not lines then return end
    local one, other = found[1].line, found[1].other.line
    t.eq(("%d %d"):format(math.min(one, other), math.max(one, other)), lines)
  end)
end
tile("what the tile left", nil, "if (t < 8) v = x[t] + x[t + 8];")
tile("what another tile left", "5 8", "if (t < 16) v = x[t];")
tile("what another warp left", "5 8", "if (t / 32 && lane < 8) v = x[lane];")
tile("a word that two of its lanes store to", "8 8", "if (t < 8) x[t / 2] = t;")
tile("what two lanes had read before one stored there", "10 11", [[if (t < 8) v = x[t] + x[t ^ 1];
  __syncwarp(mask);
  if (t < 8) x[t] = v;
  if (t == 8) x[3] = 2;
]])
tile("what another warp left before all of a warp met", "5 10", [[__syncwarp();
  __syncwarp(mask);
  if (t / 32 && lane < 8) v = x[lane];]])
tile("a second word", "8 9", [[if (t < 8) ((long long *)x)[t] = 1;
  if (t == 8) v = x[1];]])
tile("what others add", "9 11", [[__syncthreads();
  atomicAdd(&x[15], 1);
  __syncwarp(mask);
  if (t < 8) v = x[t + 8];]])
tile("what a lane left since", "10 12", [[
  if (t < 8) {
    v = x[t];
    x[t] = v + 1;
    v = x[t + 8];
    v += x[t ^ 1];
  }]])
tile("the first of two loads", "9 11", [[if (t < 8) {
    v = x[t]; asm volatile("" ::: "memory");
    v += x[t] / 2;
  } if (t == 8) x[3] = 2;
]])
t.on_threads("tests/simt/groups.lua", 1)

t.done()
