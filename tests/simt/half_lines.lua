-- Halves of warps that hand each other the words of a line of global memory, in any order, and meet in between; some touch
-- only a part, in other sizes, or what is another half's, and some meet fewer or more. Random programs whose races an oracle
-- tells by who has met whom.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 5))
local BLOCKS, THREADS, STEPS, HALF = 2, 64, 7, 16
local HALVES = BLOCKS * THREADS // HALF
local LOAD, STORE, SOME, ONE, WIDE, BYTE, TURN, TWICE, ON, FEW = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local QUARTER, MEET, WARP = 1, 2, 3

local text = [==[
  __global__ void steps(int *x, int *out, const int *op, const int *line, const int *by, const int *meet, const int *bar, int count) {
    int v = blockIdx.x * blockDim.x + threadIdx.x, halves = gridDim.x * blockDim.x / 16, h = v / 16, i = v % 16;
    int own = (v + 1) * 0x01010101, sum = 0; // no byte is another thread's
    for (int s = 0; s < count; s++) {
      int k = s * halves + h, *at = x + 16 * line[k];
      if (op[k] == 1) sum += at[i ^ by[k]];
      else if (op[k] == 2) at[i ^ by[k]] = own;
      else if (op[k] == 3) { if (i < by[k]) at[i] = own; }
      else if (op[k] == 4) sum += at[by[k]];
      else if (op[k] == 5) sum += (int)((long long *)at)[(i ^ by[k]) % 8];
      else if (op[k] == 6) ((char *)at)[4 * i + by[k] % 4] = own;
      else if (op[k] == 7) at[i * 5 % 16] = own;
      else if (op[k] == 8) at[i / 2] = own;
      else if (op[k] == 9) at[(i ^ 1) + by[k]] = own;
      else if (op[k] == 10) {
        int *to = at + (i ^ 5);
        sum += (int)(long long)to; // all lanes know where they would store
        if (i < by[k]) *to = own;
      }
      unsigned quarter = 0xffu << threadIdx.x / 8 % 4 * 8, half = 0xffffu << threadIdx.x / 16 % 2 * 16;
      if (meet[k]) __syncwarp(meet[k] == 1 ? quarter : meet[k] == 2 ? half : 0xffffffffu);
      BARRIER
    }
    out[v] = sum;
  }]==]
local kernels = {}
for name, barrier in pairs { alone = "", blocks = "if (bar[s]) __syncthreads();" } do
  kernels[name] = gpu.kernel((text:gsub("BARRIER", barrier)))
end

local function program(blocks)
  local p = { op = {}, line = {}, by = {}, meet = {}, bar = {} }
  local often = 4 + random(60) -- how seldom something is odd
  for s = 0, STEPS - 1 do
    for h = 0, HALVES - 1 do
      local k, odd = s * HALVES + h, random(5 * often)
      p.op[k] = odd == 0 and random(8) or random(2) == 0 and LOAD or random(4) == 0 and TURN or STORE
      p.line[k] = odd == 1 and random(HALVES) or h
      p.by[k] = random(16)
      p.meet[k] = odd == 2 and random(2) or MEET
    end
    for h = 0, HALVES - 1, 2 do
      local k = s * HALVES + h
      if random(8) == 0 then p.meet[k], p.meet[k + 1] = WARP, WARP end
    end
    p.bar[s] = blocks and random(4) == 0 and 1 or 0
  end
  return p
end

-- The bytes of its line that a lane touches: from one on, how many, and whether it writes them.
local function touched(op, by, i)
  if op == LOAD or op == STORE then return 4 * (i ~ by), 4, op == STORE end
  if op == SOME then return 4 * i, i < by and 4 or 0, true end
  if op == ONE then return 4 * by, 4, false end
  if op == WIDE then return 8 * ((i ~ by) % 8), 8, false end
  if op == BYTE then return 4 * i + by % 4, 1, true end
  if op == TURN then return 4 * (i * 5 % 16), 4, true end
  if op == TWICE then return 4 * (i // 2), 4, true end
  if op == ON then return 4 * ((i ~ 1) + by), 4, true end -- to the next line
  if op == FEW then return 4 * (i ~ 5), i < by and 4 or 0, true end
  return 0, 0, false
end

-- known[v][u]: before which step all that u did is ordered before what v does now.
local function races(p)
  local known, done = {}, {}
  for v = 0, BLOCKS * THREADS - 1 do
    known[v] = {}
    for u = 0, BLOCKS * THREADS - 1 do known[v][u] = 0 end
  end
  local function join(first, count, s)
    local most = {}
    for u = 0, BLOCKS * THREADS - 1 do
      most[u] = u >= first and u < first + count and s + 1 or 0
      for v = first, first + count - 1 do most[u] = math.max(most[u], known[v][u]) end
    end
    for v = first, first + count - 1 do known[v] = table.move(most, 0, #most, 0, {}) end
  end
  for s = 0, STEPS - 1 do
    for v = 0, BLOCKS * THREADS - 1 do
      local k = s * HALVES + v // HALF
      local from, bytes, write = touched(p.op[k], p.by[k], v % HALF)
      for at = 64 * p.line[k] + from, 64 * p.line[k] + from + bytes - 1 do
        done[at] = done[at] or {}
        for _, o in ipairs(done[at]) do
          if o.v ~= v and (write or o.write) and known[v][o.v] <= o.s then return true end
        end
        table.insert(done[at], { v = v, s = s, write = write })
      end
    end
    for h = 0, HALVES - 1 do
      local meet = p.meet[s * HALVES + h]
      if meet == QUARTER then
        join(16 * h, 8, s)
        join(16 * h + 8, 8, s)
      elseif meet == MEET then
        join(16 * h, 16, s)
      elseif meet == WARP and h % 2 == 0 then
        join(16 * h, 32, s)
      end
    end
    for b = 0, p.bar[s] == 1 and BLOCKS - 1 or -1 do join(b * THREADS, THREADS, s) end
  end
  return false
end

-- What halves 0 and 1 do, step by step: { what, how, what they meet }, on the line of half 0; nothing where a step lacks.
local function written(first, second)
  local p = { op = {}, line = {}, by = {}, meet = {}, bar = {} }
  for s = 0, STEPS - 1 do
    for h = 0, HALVES - 1 do
      local k, of = s * HALVES + h, ({ first, second })[h + 1] or {}
      local step = of[s + 1] or {}
      p.op[k], p.by[k], p.meet[k], p.line[k] = step[1] or 0, step[2] or 0, step[3] or 0, h > 1 and h or 0
    end
    p.bar[s] = 0
  end
  return p
end

-- Of all launches: what records one has left of a line is not the next one's.
local x = gpu.zeros(HALVES * 16, "int32")
local function array(list) return gpu.array(table.move(list, 0, #list, 1, {})):to("int32") end

for name, k in pairs(kernels) do
  t.test("random programs: " .. name, function()
    local function judge(p, what)
      local out = gpu.zeros(BLOCKS * THREADS, "int32")
      local reports = gpu.check(function()
        k(BLOCKS, THREADS)(x, out, array(p.op), array(p.line), array(p.by), array(p.meet), array(p.bar), STEPS)
      end)
      local expected = races(p)
      t.eq(#reports > 0, expected, ("%s: %s"):format(what, reports[1] and reports[1].text or "nothing"))
      for _, r in ipairs(reports) do t.eq(r.kind, "race", r.text) end
      return expected
    end
    local wrote, pass = { STORE, 3, MEET }, { 0, 0, WARP }
    judge(written { wrote, { LOAD, 1 }, { LOAD, 9, QUARTER }, { STORE, 1 } }, "both of two loads count")
    judge(written { wrote, { LOAD, 5 }, { STORE, 5 }, { LOAD, 6 } }, "a store behind a load of the same words")
    judge(written { wrote, { LOAD, 5 }, { LOAD, 5, MEET }, { STORE, 2, MEET }, { LOAD, 0 } }, "a load again")
    judge(written({ wrote, { LOAD, 5, WARP }, { LOAD, 5 } }, { {}, pass, {}, { STORE, 1 } }), "a load behind a barrier")
    judge(written({ wrote, { LOAD, 5, WARP } }, { {}, pass, { STORE, 1, MEET }, { LOAD, 7 } }), "another half's turn")
    judge(written { { STORE, 1 }, { STORE, 3 } }, "two stores without a meeting")
    judge(written { wrote, { TWICE, 0, MEET } }, "a store of two lanes to each word")
    judge(written({ { ON, 4 } }, { {}, { ONE, 18 } }), "a store to two lines")
    judge(written({ wrote, { SOME, 3, MEET }, pass, { LOAD, 5 } }, { {}, {}, pass, {}, { LOAD, 5 } }), "loads by both")
    judge(written({ { FEW, 3 } }, { {}, { ONE, 15 } }), "a store by some")
    judge(written({ wrote, pass, { LOAD, 5 } }, { {}, pass, {}, { STORE, 1 } }), "a load behind the other half's barrier")
    judge(written({ wrote, { LOAD, 5 } }, { {}, {}, { STORE, 1 } }), "another half without a turn")
    local racing, count = 0, tonumber(os.getenv("LUNARRAY_PROGRAMS")) or t.brief(80, 25)
    for n = 1, count do
      racing = racing + (judge(program(name == "blocks"), "program " .. n) and 1 or 0)
    end
    t.eq(racing > count // 10 and racing < count - count // 10, true, ("%d of %d race"):format(racing, count))
  end)
end

t.on_threads("tests/simt/half_lines.lua", 1)

t.done()
