-- Phases of mbarriers that all threads of a block wait for, or some, or that some arrive in: random programs whose races an
-- oracle tells by who has waited for whom. What is touched between an arrival and the wait does not come with the arrival.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 5))
local BLOCKS, STEPS, WARPS = 2, 6, 3
local THREADS = BLOCKS * WARPS * 32
local READ, WRITE = 1, 2
local SYNC, FULL, SOME = 1, 2, 3 -- how a block meets behind a step: all at a barrier; all in a phase; as roles say
local ARRIVES, WAITS = 1, 2

local source = dofile("tests/simt/shared/mbarriers.lua"):gsub("try_wait", "TEST") .. [==[
  __device__ void arrive(u64 *bar) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(bar)) : "memory");
  }
  __device__ float touch(float *x, int op, int place, float value) {
    if (op == 1) return x[place];
    if (op == 2) x[place] = value;
    return 0;
  }
  __global__ void steps(float *out, float *global, const int *op, const int *place, const int *mid, const int *role, const int *meet,
                        const int *arrivals, int count) {
    __shared__ float shared[16];
    __shared__ u64 bar[8];
    int v = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, parity = 0;
    float sum = 0, *x = MEMORY;
    if (threadIdx.x < 16) shared[threadIdx.x] = 0;
    if (threadIdx.x == 0) begin(&bar[7], blockDim.x);
    if (threadIdx.x == 0) for (int s = 0; s < count; s++) begin(&bar[s], arrivals[s]);
    __syncthreads();
    for (int s = 0; s < count; s++) {
      int k = s * n + v;
      sum += touch(x, op[k], place[k], k + 1);
      if (role[k] & 4) __syncwarp();
      if (meet[s] == 1) __syncthreads();
      u64 *b = meet[s] == 2 ? &bar[7] : &bar[s];
      if (meet[s] == 2 || (meet[s] == 3 && role[k] & 1)) arrive(b);
      sum += touch(x, mid[k], place[k], -k - 1);
      if (meet[s] == 2 || (meet[s] == 3 && role[k] & 2)) wait(b, meet[s] == 2 ? parity : 0);
      if (meet[s] == 2) parity ^= 1;
    }
    out[v] = sum;
  }]==]

-- By step and thread: what is done where, what between arrival and wait, who arrives and waits.
local function program()
  local p = { op = {}, place = {}, mid = {}, role = {}, meet = {}, arrivals = {} }
  local places, mids, full = 1 + random(3), random(3) == 0, random(2)
  for s = 0, STEPS - 1 do
    p.meet[s] = random(8) == 0 and SYNC or random(3) >= full and FULL or SOME
    local all, waiting = random(2) == 0, random(3) > 0 and random(WARPS) or -1
    local count, first = 0, random(WARPS)
    for v = 0, THREADS - 1 do
      local k, warp = s * THREADS + v, v // 32 % WARPS
      local arrives = all or warp == first or (random(64) == 0 and v < WARPS * 32)
      p.op[k], p.place[k], p.mid[k] = 0, random(places), 0
      if v >= WARPS * 32 then -- blocks do the same
        p.role[k] = p.role[k - WARPS * 32]
      else
        p.role[k] = (arrives and ARRIVES or 0) + ((waiting == -1 or waiting == warp) and WAITS or 0)
        count = count + p.role[k] % 2
      end
    end
    for warp = 0, THREADS // 32 - 1 do
      local sync, read, place = random(6) == 0, random(30) == 0, random(places)
      for lane = 0, 31 do
        local k = s * THREADS + warp * 32 + lane
        if sync then p.role[k] = p.role[k] % 4 + 4 end
        if read then p.op[k], p.place[k] = READ, place end
      end
    end
    p.arrivals[s] = count
  end
  local function touch(of, op) -- most often by threads of one block
    of[random(STEPS) * THREADS + random(random(30) == 0 and THREADS or WARPS * 32)] = op
  end
  for _ = 1, 1 + random(4) do touch(p.op, READ) end
  for _ = 0, random(2) do touch(p.op, WRITE) end
  for _ = 1, mids and 1 + random(2) or 0 do touch(p.mid, 1 + random(2)) end
  return p
end

-- known[v][n]: before which time all that the nth thread of those that touch anything did is ordered before what v does now; a
-- step has two times.
local function races(p, shared)
  local known, touched, number, touching = {}, {}, {}, 0
  for v = 0, THREADS - 1 do
    for k = v, STEPS * THREADS - 1, THREADS do
      if not number[v] and p.op[k] + p.mid[k] > 0 then
        touching = touching + 1
        number[v] = touching
      end
    end
  end
  for v = 0, THREADS - 1 do
    known[v] = {}
    for n = 1, touching do known[v][n] = 0 end
  end
  local function touch(op, v, k, time)
    if op == 0 then return false end
    local key = shared and v // (WARPS * 32) * 16 + p.place[k] or p.place[k]
    local before = touched[key] or {}
    for _, o in ipairs(before) do
      if o.v ~= v and (o.op == WRITE or op == WRITE) and known[v][number[o.v]] <= o.time then return true end
    end
    touched[key] = before
    table.insert(before, { v = v, time = time, op = op })
  end
  -- Those in `to` come to know what those in `from` knew and did before the time.
  local function join(from, to, time)
    local most = {}
    for n = 1, touching do
      most[n] = 0
      for _, v in ipairs(from) do most[n] = math.max(most[n], known[v][n]) end
    end
    for _, v in ipairs(from) do
      local n = number[v]
      if n then most[n] = math.max(most[n], time) end
    end
    return function()
      for _, v in ipairs(to) do
        for n = 1, touching do known[v][n] = math.max(known[v][n], most[n]) end
      end
    end
  end
  local function threads_of(first, count, takes)
    local list = {}
    for v = first, first + count - 1 do
      if not takes or takes(v) then list[#list + 1] = v end
    end
    return list
  end
  for s = 0, STEPS - 1 do
    local ends = {}
    for v = 0, THREADS - 1 do
      if touch(p.op[s * THREADS + v], v, s * THREADS + v, 2 * s) then return true end
    end
    for w = 0, THREADS // 32 - 1 do
      local all = threads_of(w * 32, 32)
      if p.role[s * THREADS + w * 32] >= 4 then join(all, all, 2 * s + 1)() end
    end
    for b = 0, BLOCKS - 1 do
      local first, count = b * WARPS * 32, WARPS * 32
      local function has(role)
        return function(v) return p.meet[s] ~= SOME or p.role[s * THREADS + v] & role ~= 0 end
      end
      local meets = join(threads_of(first, count, has(ARRIVES)), threads_of(first, count, has(WAITS)), 2 * s + 1)
      if p.meet[s] == SYNC then meets() else ends[#ends + 1] = meets end
    end
    for v = 0, THREADS - 1 do
      if touch(p.mid[s * THREADS + v], v, s * THREADS + v, 2 * s + 1) then return true end
    end
    for _, meets in ipairs(ends) do meets() end
  end
  return false
end

local function listed(of, last)
  local list = {}
  for at = 0, last do list[at + 1] = of[at] end
  return gpu.array(list, "int32")
end

for _, memory in ipairs { "shared", "global" } do
  for _, test in ipairs { "test_wait", "try_wait" } do
    local k = gpu.kernel((source:gsub("MEMORY", memory):gsub("TEST", test)))
    t.test("random programs, " .. memory .. " memory, " .. test, function()
      local count, racing = tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(80, 40)), 0
      for n = 1, count do
        local p = program()
        local last = STEPS * THREADS - 1
        local op, place, mid, role = listed(p.op, last), listed(p.place, last), listed(p.mid, last), listed(p.role, last)
        local meet, arrivals = listed(p.meet, STEPS - 1), listed(p.arrivals, STEPS - 1)
        local found = gpu.check(function()
          k(BLOCKS, WARPS * 32)(gpu.zeros(THREADS), gpu.zeros(16), op, place, mid, role, meet, arrivals, STEPS)
        end)
        for _, r in ipairs(found) do t.eq(r.kind, "race", r.text) end
        local wanted = races(p, memory == "shared")
        racing = racing + (wanted and 1 or 0)
        t.eq(#found > 0, wanted, "program " .. n)
      end
      t.eq(racing > count // 8 and racing < count * 15 // 16, true, racing .. " of them race")
    end)
  end
end

t.on_threads("tests/simt/phases.lua", 1)

t.done()
