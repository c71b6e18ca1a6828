-- Kernels in which each thread, or each block, walks a row of its own, up and down, in loops of any kind: which elements
-- are touched is counted out here by the same loops in Lua, and gpu.check must find a race where two threads touch the
-- same, or nothing.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

math.randomseed(4321)
local function pick(list) return list[math.random(#list)] end

-- What every launch writes is another number for each thread: writes of what is there already are no race.
local launches = 0
local function salt()
  launches = launches + 1
  return launches * 977 + 5
end

-- Do two threads touch one element? walk(touch, p, me) calls touch(i) for the elements that thread `me` writes.
local function races(walk, p, threads)
  local owner = {}
  for me = 0, threads - 1 do
    local found = false
    walk(function(i)
      i = i + me * p.pitch
      found = found or (owner[i] or me) ~= me
      owner[i] = me
    end, p, me)
    if found then return true end
  end
  return false
end

local head = [[__global__ void k(int *y, int salt, int pitch, int n, int from, int step, int near, int flag) {
  int id = blockIdx.x * blockDim.x + threadIdx.x, me = id * 40503 + salt;
  int *row = y + id * pitch + 2000;
]]

-- The body, what it touches, and how many elements of a row that are about.
local walks = {
  { "up and then down", [[for (int i = from; i < n; i++) row[i] = me;
      for (int i = n - 2; i >= from; i--) row[i] += row[i + near];]],
    function(touch, p)
      for i = p.from, p.n - 1 do touch(i) end
      for i = p.n - 2, p.from, -1 do touch(i) touch(i + p.near) end
    end },
  { "by a step", "for (int i = from; i < n; i += step) row[i] = me;",
    function(touch, p) for i = p.from, p.n - 1, p.step do touch(i) end end },
  { "down by a constant, not unrolled", "#pragma unroll 1\n for (int i = n; i > from; i -= 3) row[i + near] = me;",
    function(touch, p) for i = p.n, p.from + 1, -3 do touch(i + p.near) end end },
  { "by pointers", [[int *p = row + from; int *q = row + n;
      for (int i = 0; i < n; i++) { *p++ = me; *--q = -me; } *p = me;]],
    function(touch, p)
      for i = 0, p.n - 1 do touch(p.from + i) touch(p.n - 1 - i) end
      touch(p.from + math.max(p.n, 0))
    end },
  { "and the place behind the loop", "int i; for (i = from; i < n; i += 2) row[i] = me; row[i + near] = -me;",
    function(touch, p)
      local i = p.from
      while i < p.n do touch(i) i = i + 2 end
      touch(i + p.near)
    end },
  { "until something is found", [[int i; for (i = from; i < n; i++) { row[i] = me; if (row[i] == flag) break; }
      row[i + near] = me;]],
    function(touch, p)
      for i = p.from, p.n - 1 do touch(i) end
      touch(math.max(p.n, p.from) + p.near)
    end },
  { "in two loops", "for (int i = 0; i < from; i++) for (int j = 0; j < n; j++) row[i * step + j] = me;",
    function(touch, p) for i = 0, p.from - 1 do for j = 0, p.n - 1 do touch(i * p.step + j) end end end },
  { "in two loops by one pointer", [[int *p = row;
      for (int i = 0; i < from; i++) { for (int j = 0; j < n; j++) *p++ = me; p += near; }]],
    function(touch, p)
      local at = 0
      for _ = 1, p.from do
        for _ = 1, p.n do touch(at) at = at + 1 end
        at = at + p.near
      end
    end },
  { "in a triangle", "for (int j = from; j <= id; j++) row[j] = me;",
    function(touch, p, me) for j = p.from, me do touch(j) end end },
  { "without a sign", "for (unsigned i = n; i-- > from;) row[i] = me;",
    function(touch, p) for i = p.n - 1, p.from, -1 do touch(i) end end },
  { "every other one", "for (int i = from; i < n; i++) { if (i & 1) continue; row[i] = me; }",
    function(touch, p) for i = p.from, p.n - 1 do if i % 2 == 0 then touch(i) end end end },
  { "from either of two places", "int i = flag ? from : near; for (; i < n; i++) row[i] = me; row[i] = -me;",
    function(touch, p)
      local first = p.flag ~= 0 and p.from or p.near
      for i = first, p.n - 1 do touch(i) end
      touch(math.max(first, p.n))
    end },
  { "behind a guard", "int i = 0; if (n > from) for (i = from; i < n; i += 4) row[i] = me; for (; i < n + 3; i++) row[i] = me;",
    function(touch, p)
      local i = 0
      if p.n > p.from then
        i = p.from
        while i < p.n do touch(i) i = i + 4 end
      end
      for j = i, p.n + 2 do touch(j) end
    end },
  { "from a place of each thread to another", [[int at = id * pitch + 2000;
      for (int i = at + from; i < at + n; i++) y[i] = me; for (int i = at + n; i != at; i--) y[i + near] = -me;]],
    function(touch, p)
      for i = p.from, p.n - 1 do touch(i) end
      for i = p.n, 1, -1 do touch(i + p.near) end
    end },
  { "down by a step to a place of each thread", "int at = id * pitch + 2000; for (int i = at + n; i >= at; i -= step) y[i] = me;",
    function(touch, p) for i = p.n, 0, -p.step do touch(i) end end },
  { "each place and the one before", "int at = id * pitch + 2000; for (int i = at + 1; i < at + n; i++) { y[i] = me; y[i - 1] += me; }",
    function(touch, p) for i = 1, p.n - 1 do touch(i) touch(i - 1) end end },
  { "from where another loop was, or from elsewhere", [[int i = 0; for (; i < from; i++) row[i] = me;
      for (int k = 0; k < n; k++) { if (k & 1) { row[i] = me; i = k * step; } row[i + near] -= me; }]],
    function(touch, p)
      local i = p.from
      for j = 0, i - 1 do touch(j) end
      for k = 0, p.n - 1 do
        if k % 2 == 1 then touch(i) i = k * p.step end
        touch(i + p.near)
      end
    end },
  { "at least once", "int i = from; do { row[i] = me; i += step; } while (i < n);",
    function(touch, p)
      local i = p.from
      repeat touch(i) i = i + p.step until i >= p.n
    end },
  { "by two loops of one pointer", [[int *p = row; for (int i = 0; i < n; i++) *p++ = me;
      for (int i = 0; i < from; i++) *p++ = -me; for (int i = 0; i < near; i++) *--p = me + 1;]],
    function(touch, p)
      local at = 0
      for _ = 1, p.n do touch(at) at = at + 1 end
      for _ = 1, p.from do touch(at) at = at + 1 end
      for _ = 1, p.near do at = at - 1 touch(at) end
    end },
  { "towards each other", "for (int i = from, j = n - 1 + near; i < j; i++, j--) { row[i] = me; row[j] = me + 1; }",
    function(touch, p)
      local i, j = p.from, p.n - 1 + p.near
      while i < j do touch(i) touch(j) i, j = i + 1, j - 1 end
    end },
  { "towards each other, at least once", "int i = from, j = n; do { row[i++] = me; row[j--] = -me; } while (j >= i);",
    function(touch, p)
      local i, j = p.from, p.n
      repeat touch(i) touch(j) i, j = i + 1, j - 1 until j < i
    end },
  { "towards each other by other steps, and where they are then", [[int i = from, j = n + near;
      for (; i <= j; i += 2, j -= 3) { row[i] = me; row[j] = -me; } row[i] = me; row[j] = me;]],
    function(touch, p)
      local i, j = p.from, p.n + p.near
      while i <= j do touch(i) touch(j) i, j = i + 2, j - 3 end
      touch(i)
      touch(j)
    end },
  { "towards each other, compared before the steps", "int i = from, j = n, a, b; do { row[i] = me; row[j] = me; a = i; b = j; i += 3; j -= 1; } while (a < b);",
    function(touch, p)
      local i, j, a, b = p.from, p.n, nil, nil
      repeat
        touch(i)
        touch(j)
        a, b, i, j = i, j, i + 3, j - 1
      until a >= b
    end },
  { "towards each other from places of each thread", "int at = id * pitch + 2000; for (int i = at + from, j = at + n; i < j; i += step, j--) { y[i] = me; y[j + near] = -me; }",
    function(touch, p)
      local i, j = p.from, p.n
      while i < j do touch(i) touch(j + p.near) i, j = i + p.step, j - 1 end
    end },
  { "one after the other, which is slower", "for (int i = from, j = n; i < j && j < 50; i += 3, j += 1) { row[i] = me; row[j + near] = -me; }",
    function(touch, p)
      local i, j = p.from, p.n
      while i < j and j < 50 do touch(i) touch(j + p.near) i, j = i + 3, j + 1 end
    end },
  { "each from the one before, from the row's own place on", [[int at = id * pitch + 2000; y[at + from] = me;
      for (int i = at + 1; i < at + n; i++) y[i] = y[i - 1] + me; for (int i = n - 2; i >= 0; i--) y[at + i] -= y[at + i + 1];]],
    function(touch, p)
      touch(p.from)
      for i = 1, p.n - 1 do touch(i) touch(i - 1) end
      for i = p.n - 2, 0, -1 do touch(i) touch(i + 1) end
    end },
  { "a loop that goes on where the last round was", [[int j = from;
      for (int i = 0; i < n; i++) { for (; j < i; j++) row[j] = me; if (flag) j = near; }]],
    function(touch, p)
      local j = p.from
      for i = 0, p.n - 1 do
        while j < i do touch(j) j = j + 1 end
        if p.flag ~= 0 then j = p.near end
      end
    end },
}

local y = gpu.zeros(40000, "int32")
for _, walk in ipairs(walks) do
  t.test(walk[1], function()
    local k = gpu.kernel(head .. walk[2] .. "\n}")
    local clean, racing = 0, 0
    for _ = 1, 60 do
      local p = { n = pick { 0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 33 }, from = pick { 0, 0, 1, 2, 5 }, step = pick { 1, 2, 3, 5 },
        near = pick { 0, 0, 1, -1, 2 }, flag = math.random(0, 1) }
      p.pitch = math.max(0, p.n + pick { 0, 0, 1, 2, -1, -1, -2, -3, -4, 8, 64, 130, -p.from, p.from, p.n * 4, p.step * p.from, p.step * p.from - 1 })
      local grid, block = pick { 1, 2 }, pick { 32, 64 }
      local want = races(walk[3], p, grid * block)
      local found = gpu.check(function() k(grid, block)(y, salt(), p.pitch, p.n, p.from, p.step, p.near, p.flag) end)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
      t.eq(#found > 0, want, ("%d blocks of %d: pitch %d n %d from %d step %d near %d flag %d"):format(grid, block, p.pitch,
        p.n, p.from, p.step, p.near, p.flag))
      if want then racing = racing + 1 else clean = clean + 1 end
    end
    assert(clean > 2 and racing > 2, ("%d clean, %d with races"):format(clean, racing))
  end)
end

-- Rows of blocks, whose threads go by turns: touch(i), p, the thread's number in the block.
local block_head = [[__global__ void k(int *y, int salt, int pitch, int n, int from, int more, int near) {
  int id = blockIdx.x * blockDim.x + threadIdx.x, me = id * 40503 + salt, t = threadIdx.x, step = blockDim.x + more;
  int *row = y + blockIdx.x * pitch + 2000;
]]
local function by_turns(touch, first, last, step) for i = first, last, step do touch(i) end end
local turns = {
  { "by turns", "for (int i = t + from; i < n; i += step) row[i] = me;",
    function(touch, p, me) by_turns(touch, me + p.from, p.n - 1, p.step) end },
  { "by turns, to the end and past it", "for (int i = t; i <= n; i += step) row[i + near] = me;",
    function(touch, p, me) by_turns(function(i) touch(i + p.near) end, me, p.n, p.step) end },
  { "by turns, two elements", "for (unsigned i = t; i < n; i += step) { row[2 * i] = me; row[2 * i + from] += me; }",
    function(touch, p, me) by_turns(function(i) touch(2 * i) touch(2 * i + p.from) end, me, p.n - 1, p.step) end },
  { "by turns, twice", "for (int i = t; i < n; i += step) row[i] = me; for (int i = t; i < n; i += blockDim.x) row[i + near] += me;",
    function(touch, p, me)
      by_turns(touch, me, p.n - 1, p.step)
      by_turns(function(i) touch(i + p.near) end, me, p.n - 1, p.block)
    end },
  { "by turns, at least once", "int i = t; do { row[i] = me; i += step; } while (i < n);",
    function(touch, p, me) touch(me) by_turns(touch, me + p.step, p.n - 1, p.step) end },
  { "by turns, compared before the step", "int i = t, j; do { row[i] = me; j = i; i += step; } while (j < n);",
    function(touch, p, me) touch(me) by_turns(touch, me + p.step, p.n - 1 + p.step, p.step) end },
  { "by turns, backwards", "for (int i = t; i < n; i += step) row[n - 1 - i] = me;",
    function(touch, p, me) by_turns(function(i) touch(p.n - 1 - i) end, me, p.n - 1, p.step) end },
  { "by turns of the grid", "for (int i = id; i < n * 2; i += step * gridDim.x) y[i * (1 + near * near) + 2000] = me;",
    function(touch, p, _, me)
      by_turns(function(i) touch(i * (1 + p.near * p.near) - me // p.block * p.pitch) end, me, 2 * p.n - 1, p.step * p.grid)
    end },
  { "by turns, with a loop in each", "for (int i = t; i < n; i += step) for (int j = 0; j < from; j++) row[i * from + j + near] = me;",
    function(touch, p, me)
      by_turns(function(i) for j = 0, p.from - 1 do touch(i * p.from + j + p.near) end end, me, p.n - 1, p.step)
    end },
}
for _, turn in ipairs(turns) do
  t.test(turn[1], function()
    local k = gpu.kernel(block_head .. turn[2] .. "\n}")
    local clean, racing = 0, 0
    for _ = 1, 60 do
      local p = { n = pick { 0, 1, 31, 32, 33, 64, 70, 100, 128, 200 }, from = pick { 0, 1, 1, 2 }, near = pick { 0, 0, 1, -1 },
        block = pick { 32, 64 }, grid = pick { 1, 2, 3 } }
      p.more = pick { 0, 0, 0, 0, 1, -1, p.block }
      p.step = p.block + p.more
      p.pitch = math.max(0, p.n + pick { 0, 0, 1, -1, 2, -2, p.n, p.n + 1, p.block, p.step, 7 })
      local owner, want = {}, false
      for me = 0, p.grid * p.block - 1 do
        turn[3](function(i)
          i = i + me // p.block * p.pitch
          want = want or (owner[i] or me) ~= me
          owner[i] = me
        end, p, me % p.block, me)
      end
      local found = gpu.check(function() k(p.grid, p.block)(y, salt(), p.pitch, p.n, p.from, p.more, p.near) end)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
      t.eq(#found > 0, want, ("%d blocks of %d: pitch %d n %d from %d more %d near %d"):format(p.grid, p.block, p.pitch, p.n,
        p.from, p.more, p.near))
      if want then racing = racing + 1 else clean = clean + 1 end
    end
    assert(clean > 2 and racing > 2, ("%d clean, %d with races"):format(clean, racing))
  end)
end

t.test("races of a row's halves, which lie apart, are counted once", function()
  local k = gpu.kernel [[__global__ void k(float *x) { x[threadIdx.x + 64 * threadIdx.y + 8 * blockIdx.x] = 1 + blockIdx.x; }]]
  local found = gpu.check(function() k(3, { 16, 2 })(gpu.zeros(200)) end)
  t.eq(#found, 1)
  t.eq(found[1].count, 2 * 16) -- blocks 1 and 2 write 8 elements of each half that the one before has written
end)

t.done()
