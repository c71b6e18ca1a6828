-- Lanes of which some meet, by masks that data says, and touch global memory in between: random programs whose races an oracle
-- tells by who has met whom. Whole warps read one place, too, and many warps the same ones.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 3))
local BLOCKS, WARPS, STEPS = 2, 2, 6
local THREADS = BLOCKS * WARPS * 32
local READ, WRITE = 1, 2

local k = gpu.kernel [==[
  __global__ void steps(float *x, float *out, const int *op, const int *place, const unsigned *mask, const int *meet, int count) {
    int v = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float sum = 0;
    for (int s = 0; s < count; s++) {
      int k = s * n + v;
      if (op[k] == 1) sum += x[place[k]];
      else if (op[k] == 2) x[place[k]] = k + 1;
      if (mask[k]) __syncwarp(mask[k]);
      if (meet[s]) __syncthreads();
    }
    out[v] = sum;
  }]==]

-- By step and thread: what is done where, and the mask of those that meet behind it, 0: nobody. One or two threads store, late.
local function program()
  local p = { op = {}, place = {}, mask = {}, meet = {} }
  local places, parts, warps = 1 + random(3), 1 + random(3), THREADS // 32
  for s = 0, STEPS - 1 do
    p.meet[s] = random(8) == 0
    for w = 0, warps - 1 do
      local all, group = random(40) == 0, {} -- all lanes read one place
      for part = 0, parts - 1 do group[part] = 0 end
      for lane = 0, 31 do
        local at = s * THREADS + w * 32 + lane
        local part = random(8) == 0 and random(parts) or lane * parts // 32
        group[part] = group[part] | 1 << lane
        p.op[at], p.place[at], p.mask[at] = all and READ or 0, 0, part
      end
      for part = 0, parts - 1 do if random(5) == 0 then group[part] = 0 end end
      for lane = 0, 31 do
        local at = s * THREADS + w * 32 + lane
        p.mask[at] = group[p.mask[at]]
      end
    end
  end
  local home = random(warps)
  local function touch(op, s, warp)
    local at = s * THREADS + warp * 32 + random(32)
    p.op[at], p.place[at] = op, random(places)
  end
  for _ = 1, random(8) do touch(READ, random(STEPS), random(8) > 0 and home or random(warps)) end
  for _ = 0, random(3) // 2 do touch(WRITE, STEPS - 1 - random(4), random(12) > 0 and home or random(warps)) end
  return p
end

-- known[v][u]: before which step all that thread u did is ordered before what v does now.
local function races(p)
  local known, touched = {}, {}
  for v = 0, THREADS - 1 do
    known[v] = {}
    for u = 0, THREADS - 1 do known[v][u] = 0 end
  end
  local function join(members, s)
    local most = {}
    for u = 0, THREADS - 1 do
      most[u] = 0
      for _, v in ipairs(members) do most[u] = math.max(most[u], known[v][u]) end
    end
    for _, v in ipairs(members) do most[v] = s + 1 end
    for _, v in ipairs(members) do table.move(most, 0, THREADS - 1, 0, known[v]) end
  end
  for s = 0, STEPS - 1 do
    for v = 0, THREADS - 1 do
      local at = s * THREADS + v
      if p.op[at] > 0 then
        local before = touched[p.place[at]] or {}
        for _, o in ipairs(before) do
          if o.v ~= v and (o.op == WRITE or p.op[at] == WRITE) and known[v][o.v] <= o.s then return true end
        end
        touched[p.place[at]] = before
        table.insert(before, { v = v, s = s, op = p.op[at] })
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
    for b = 0, p.meet[s] and BLOCKS - 1 or -1 do
      local all = {}
      for v = 0, THREADS // BLOCKS - 1 do all[v + 1] = b * THREADS // BLOCKS + v end
      join(all, s)
    end
  end
  return false
end

local function listed(of, last, dtype, as)
  local list = {}
  for at = 0, last do list[at + 1] = as and as(of[at]) or of[at] end
  return gpu.array(list, dtype)
end

t.test("random programs", function()
  local count, racing = tonumber(os.getenv("LUNARRAY_PROGRAMS") or 200), 0
  for n = 1, count do
    local p = program()
    local last = STEPS * THREADS - 1
    local op, place = listed(p.op, last, "int32"), listed(p.place, last, "int32")
    local mask = listed(p.mask, last, "uint32")
    local meet = listed(p.meet, STEPS - 1, "int32", function(v) return v and 1 or 0 end)
    local found = gpu.check(function()
      k(BLOCKS, WARPS * 32)(gpu.zeros(16), gpu.zeros(THREADS), op, place, mask, meet, STEPS)
    end)
    for _, r in ipairs(found) do t.eq(r.kind, "race", r.text) end
    local wanted = races(p)
    racing = racing + (wanted and 1 or 0)
    t.eq(#found > 0, wanted, "program " .. n)
  end
  t.eq(racing > count // 8 and racing < count * 15 // 16, true, racing .. " of them race")
end)

if not os.getenv("LUNARRAY_THREADS") then
  for _, threads in ipairs(t.threads()) do t.again("tests/simt/groups.lua", "LUNARRAY_THREADS=" .. threads, 1) end
end

t.done()
