-- Rows that whole blocks write and read, and hand on to others by a flag behind a barrier. What each block does is drawn at
-- random: it writes rows, reads them, lets others go on, awaits blocks before it. An oracle tells which rows race, by what each
-- block knows of the others at each step.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local BLOCKS, STEPS, ROWS, THREADS = 5, 8, 6, 64
local WRITE, READ, HAND_ON, AWAIT, NOTHING = 0, 1, 2, 3, 4

-- Each lets others go on by one flag for each of its steps. The fences are those of thread 0, or everybody's.
local source = [[
__global__ void hand(const int2 *steps, float *x, volatile int *flag, float *out, int apart, int all_fence) {
  int t = threadIdx.x, b = blockIdx.x;
  float sum = 0;
  for (int s = 0; s < %d; s++) {
    int2 step = steps[b * %d + s];
    float *row = x + step.y * apart;
    if (step.x == 0) row[t] = 100 * b + s; // by each another value
    if (step.x == 1) sum += row[t];
    if (step.x == 2) {
      if (all_fence) __threadfence();
      __syncthreads();
      if (t == 0) {
        if (!all_fence) __threadfence();
        flag[step.y] = 1;
      }
    }
    if (step.x == 3) {
      if (t == 0) {
        while (!flag[step.y]) {}
        __threadfence();
      }
      __syncthreads();
      if (all_fence) __threadfence();
    }
  }
  out[b * blockDim.x + t] = sum;
}]]
local k = gpu.kernel { source = source:format(STEPS, STEPS), chunk = "case", line = 1 }

local function random_steps(below)
  local steps = {}
  for b = 0, BLOCKS - 1 do
    steps[b] = {}
    for s = 0, STEPS - 1 do
      local kind = ({ WRITE, READ, HAND_ON, AWAIT })[1 + below(4)]
      local at = below(ROWS)
      if kind == AWAIT then
        local given = {} -- flags of blocks before
        for of = 0, b - 1 do
          for g = 0, STEPS - 1 do
            if steps[of][g][1] == HAND_ON then given[#given + 1] = of * STEPS + g end
          end
        end
        if given[1] then at = given[1 + below(#given)] else kind, at = READ, below(ROWS) end
      elseif kind == HAND_ON then
        at = b * STEPS + s
      end
      steps[b][s] = { kind, at }
    end
  end
  return steps
end

-- Rows for which two blocks race. Steps of which `drop` says so that would race are left out.
local function races_of(steps, drop)
  local given, done = {}, {} -- what comes with each flag; what was done to each row
  local racing = {}
  for b = 0, BLOCKS - 1 do
    local knows = {} -- of each block, how many of its steps
    for s = 0, STEPS - 1 do
      local kind, at = steps[b][s][1], steps[b][s][2]
      knows[b] = s
      if kind == HAND_ON then
        given[at] = { table.unpack(knows, 0, BLOCKS - 1) }
      elseif kind == AWAIT then
        for of = 0, BLOCKS - 1 do knows[of] = math.max(knows[of] or -1, given[at][1 + of] or -1) end
      else
        done[at] = done[at] or {}
        local races = false
        for _, other in ipairs(done[at]) do
          local writes = kind == WRITE or other.kind == WRITE
          races = races or (other.block ~= b and writes and other.step >= (knows[other.block] or -1))
        end
        if races and drop() then
          steps[b][s] = { NOTHING, 0 }
        else
          racing[at] = racing[at] or races or nil
          table.insert(done[at], { block = b, step = s, kind = kind })
        end
      end
    end
  end
  return racing
end

local function rows_found(steps, apart, all_fence)
  local flat = {}
  for b = 0, BLOCKS - 1 do
    for s = 0, STEPS - 1 do flat[#flat + 1] = steps[b][s] end
  end
  local x, flag = gpu.zeros(ROWS * apart), gpu.zeros(BLOCKS * STEPS, "int32")
  local args = { gpu.array(flat, "int32"), x, flag, gpu.zeros(BLOCKS * THREADS), apart, all_fence and 1 or 0 }
  local found = {}
  for _, r in ipairs((gpu.check(function() k(BLOCKS, THREADS)(table.unpack(args)) end))) do
    t.eq(r.kind == "race" and r.name == "x", true, r.message)
    found[1 + #found] = r
  end
  return found
end

local first, count = tonumber(os.getenv("LUNARRAY_SEED") or 1), tonumber(os.getenv("LUNARRAY_PROGRAMS") or t.brief(300, 100))
t.test("random programs", function()
  local racing = 0
  for seed = first, first + count - 1 do
    local below = t.random(seed * 2654435761 % 4294967296)
    local steps = random_steps(below)
    local want = races_of(steps, function() return seed % 2 == 0 or below(8) > 0 end) -- some race, but in few places
    racing = racing + (next(want) and 1 or 0)
    -- rows of whole lines, and such as begin and end within lines
    for _, way in ipairs { { THREADS, false }, { THREADS + 3, false }, { THREADS, true } } do
      local found = rows_found(steps, table.unpack(way))
      t.eq(found[1] ~= nil, next(want) ~= nil, ("program %d, rows %d apart, %s"):format(seed, way[1], found[1] and found[1].message))
      for _, r in ipairs(found) do
        local row = r.index // way[1]
        t.eq(want[row], true, ("program %d: row %d does not race"):format(seed, row))
      end
    end
  end
  t.eq(racing > count // 4 and racing < count, true, racing .. " of them race")
end)

if not os.getenv("LUNARRAY_THREADS") then
  for threads = 1, 3, 2 do t.again("tests/simt/handed.lua", "LUNARRAY_TEST_BRIEF=1 LUNARRAY_THREADS=" .. threads, 1) end
end

t.done()
