-- Loads that the compiler makes in all threads, and of which it chooses afterwards who wants them: gpu.check takes those for
-- readers, and no others. Each kernel is right for some numbers, and for others it is not.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local compare = assert(loadfile("tests/simt/shared/interpreted.lua"))(t)

---- random programs
-- Variables a to d, and g of the device: a is always written, b to d for some n. Then statements that want some of them by
-- conditions of the thread, of n, of data and of a, some in loops; between them barriers, and stores of one thread. Threads
-- that read what nobody wrote, or what another one stores to without a barrier between, are wrong.
local names <const> = { "a", "b", "c", "d", "g" }

-- A condition's text, and holds(i, read, how): does it hold for thread i, which reads by read(name, how)? How is nil, or
-- "perhaps" where it does not matter what is there, as a in a && b where b is false, or "unseen".
local function condition(random, n, data)
  local k, number = random(6), random(64)
  if k == 1 then return ("t %% 5 == %d"):format(number % 5), function(i) return i % 5 == number % 5 end end
  if k == 2 then return ("n > %d"):format(number % 4), function() return n > number % 4 end end
  if k == 3 then return ("w[t] > %d"):format(number % 8), function(i) return data[i + 1] > number % 8 end end
  if k == 4 then return ("a > %d"):format(number % 6), function(_, read, how) return read("a", how) > number % 6 end end
  if k == 5 then return ("t < %d"):format(number), function(i) return i < number end end
  return ("t == %d"):format(number), function(i) return i == number end
end

local function conditions(random, n, data)
  local text, holds = condition(random, n, data)
  if random(3) > 0 then return text, holds end
  local other, also = condition(random, n, data)
  local both = random(2) == 0
  return ("(%s) %s (%s)"):format(text, both and "&&" or "||", other), function(i, read, how)
    local decided = also(i, read, "unseen") ~= both
    local first = holds(i, read, how or decided and "perhaps")
    if first ~= both then return first end
    return also(i, read, how)
  end
end

-- A statement that makes another v of thread i's, and its text.
local function statement(random, n, data)
  local when, holds = conditions(random, n, data)
  local kind, name, number, rounds = random(6), names[1 + random(#names)], random(6), 2 + random(8)
  if kind == 0 then
    return ("v = 31 * v + (%s ? %s : %d);"):format(when, name, number), function(i, v, read)
      return 31 * v + (holds(i, read) and read(name) or number)
    end
  elseif kind == 1 then
    return ("if ((%s) && %s > %d) v = 31 * v + %d;"):format(when, name, number, number), function(i, v, read)
      local decided = read(name, "unseen") <= number
      if holds(i, read, decided and "perhaps") then return read(name) > number and 31 * v + number or v end
      if when:find "a >" then read(name, "perhaps") end -- compilers exchange the two if they have loaded it before
      return v
    end
  elseif kind == 2 then
    return ("for (int i = 0; i < %d + n; i++) if (w[t + i] == %d && (%s)) v = 31 * v + %s;"):format(rounds, number, when, name), function(i, v, read)
      for k = i + 1, i + rounds + n do
        if data[k] == number and holds(i, read) then v = 31 * v + read(name) end
        -- Where it is loaded before the loop, and is not if the thread has stored it, nothing more is known there; and
        -- the loop may be written twice, by what the condition says of a.
        if holds(i, read, "perhaps") then read(name, "perhaps") end
      end
      return v
    end
  end
  return ("if (%s) v = 31 * v + %s;"):format(when, name), function(i, v, read) return holds(i, read) and 31 * v + read(name) or v end
end

local function program(seed)
  local random = t.random(seed)
  local n, data = random(5), {}
  for k = 1, 80 do data[k] = random(10) end
  local text, steps, least, stored = {}, {}, { a = 0 }, {}
  local function add(line, step)
    text[#text + 1] = line
    steps[#steps + 1] = step
  end
  for k, name in ipairs(names) do
    least[name] = k == 1 and 0 or random(3)
    local thread, number = random(64), k
    add(("if (t == %d && n >= %d) %s = n + %d;"):format(thread, least[name], name, number),
      n >= least[name] and { stores = name, thread = thread, value = n + number } or {})
  end
  add("__syncthreads();", { meets = 64 })
  for _ = 1, 2 + random(6) do
    local kind, name, thread = random(6), names[1 + random(#names)], random(64)
    if kind == 0 then add("__syncwarp();", { meets = 32 }) end
    if kind == 1 then
      add("__syncthreads();", { meets = 64 })
      stored = {}
    end
    -- Who reads it unwritten may come behind who stores it; where two stores race, perhaps nobody reads it.
    if kind == 2 and n >= least[name] and not stored[name] then
      stored[name] = true
      add(("if (t == %d) %s = n + %d;"):format(thread, name, #steps), { stores = name, thread = thread, value = n + #steps })
    end
    local line, makes = statement(random, n, data)
    add(line, { makes = makes })
  end
  local source = "__device__ int g;\n__global__ void k(const int *w, int *o, int n) {\n  __shared__ int a, b, c, d;\n  int t = threadIdx.x, v = t;\n  " ..
    table.concat(text, "\n  ") .. "\n  o[t] = v;\n}\n"
  return { n = n, data = data, steps = steps, least = least, source = source }
end

-- What is to be found, what may be, and what the threads compute if nothing is.
local function expected(p)
  local wrong, perhaps, values, now, accesses = {}, {}, {}, { a = 0, b = 0, c = 0, d = 0, g = 0 }, {}
  local met = { [32] = 0, [64] = 0 } -- the steps behind which a warp, and the block, met last
  local function access(name, thread, step, stores, told)
    for _, x in ipairs(accesses) do
      local ordered = x.step < met[64] or (x.step < met[32] and x.thread // 32 == thread // 32)
      if x.name == name and x.thread ~= thread and (x.stores or stores) and not ordered then
        (x.told == wrong and told or x.told)["race of " .. name] = true
      end
    end
    accesses[#accesses + 1] = { name = name, thread = thread, step = step, stores = stores, told = told }
  end
  for i = 0, 63 do values[i] = i end
  for k, s in ipairs(p.steps) do
    if s.meets then met[s.meets] = k end
    if s.stores then
      access(s.stores, s.thread, k, true, wrong)
      now[s.stores] = s.value
    end
    for i = 0, s.makes and 63 or -1 do
      local read = function(name, how)
        local told = how and perhaps or wrong
        if how ~= "unseen" then access(name, i, k, false, told) end
        if how ~= "unseen" and p.n < p.least[name] and name ~= "g" then told["uninitialized read of " .. name] = true end
        return now[name]
      end
      values[i] = s.makes(i, values[i], read) & 0xffffffff
    end
  end
  return wrong, perhaps, values
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

local function run(seed)
  local p, found = program(seed), {}
  local kernel, output = gpu.kernel(p.source), gpu.zeros(64, "int32")
  local reports = gpu.check(function() kernel(1, 64)(gpu.array(p.data, "int32"), output, p.n) end)
  for _, r in ipairs(reports) do found[r.kind .. " of " .. r.name] = true end
  local wrong, perhaps, values = expected(p)
  local got, want = sorted(found), sorted(wrong)
  if found["race of a"] and (wrong["race of a"] or perhaps["race of a"]) then return got, p.source, true end -- whatever comes of it
  for name in pairs(perhaps) do wrong[name] = found[name] end
  if got ~= sorted(wrong) then return ("found %s\nexpected %s"):format(got, want), p.source, false end
  if got ~= "" or next(perhaps) then return got, p.source, true end
  for k = 1, 64 do
    if output[k] & 0xffffffff ~= values[k - 1] then return ("o[%d] is %d, not %d"):format(k, output[k], values[k - 1]), p.source, false end
  end
  return "computed", p.source, true
end

if compare("random programs, as machine code and interpreted", "tests/simt/chosen.lua", run, t.brief and 10 or 40, 0.1) then return end

---- inline PTX
-- As Triton writes what a block does with one element: all threads load it, and those of a number below `least` store.
t.test("all threads load what some of them store to", function()
  local k = gpu.kernel [[
__global__ void k(int *total, int n, int least, int *seen) {
  int v;
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(v) : "l"(total));
  v += n;
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %0, %3; @p st.global.b32 [%1], %2; }"
    :: "r"(threadIdx.x), "l"(total), "r"(v), "r"(least) : "memory");
  if (seen) seen[threadIdx.x] = v;
}]]
  local total, seen = gpu.zeros(1, "int32"), gpu.zeros(64, "int32")
  t.eq(#gpu.check(function() k(1, 64)(total, 5, 1, nil) end), 0)
  t.eq(total[1], 5)
  t.eq(gpu.check(function() k(1, 64)(total, 5, 33, nil) end)[1].kind, "race") -- thread 32 reads what thread 0 writes
  t.eq(gpu.check(function() k(1, 64)(total, 5, 1, seen) end)[1].kind, "race") -- all keep what they have read
end)

-- As it writes arrays of fewer elements than threads: each element is loaded by those whose number has some bits in common.
t.test("many threads load what one of them stores to", function()
  local function changes(place, stores)
    return gpu.kernel(([[
__global__ void k(int *x, int n, int *seen) {
  const int t = threadIdx.x;
  int v;
  asm volatile("ld.global.b32 %%0, [%%1];" : "=r"(v) : "l"(x + (%s)));
  v += n;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %%0, 0; @p st.global.b32 [%%1], %%2; }"
    :: "r"(%s), "l"(x + %s), "r"(v) : "memory");
  if (seen) seen[threadIdx.x] = v;
}]]):format(place, stores, stores == "t & 1" and "t" or "(" .. place .. ")"))
  end
  local seen = gpu.zeros(128, "int32")
  for place, stores in pairs { ["t & 7"] = "t & 120", ["t >> 3"] = "t & 7", ["t >> 3 & 7"] = "t & 71" } do
    local x, k = gpu.zeros(128, "int32"), changes(place, stores)
    t.eq(#gpu.check(function() k(1, 128)(x, 5, nil) end), 0, place)
    t.eq(x:sum(), place == "t >> 3" and 80 or 40)
    t.eq(gpu.check(function() k(1, 128)(x, 5, seen) end)[1].kind, "race") -- all keep what they have read
  end
  local x = gpu.zeros(128, "int32")
  t.eq(gpu.check(function() changes("t & 7", "t & 56")(1, 128)(x, 5, nil) end)[1].kind, "race") -- two threads store
  t.eq(gpu.check(function() changes("t ^ 1", "t & 1")(1, 128)(x, 5, nil) end)[1].kind, "race") -- a place for each
end)

t.test("random programs: who wants a value reads it", function()
  local first = tonumber(arg[2] or os.getenv "LUNARRAY_SEED") or 1
  for seed = first, first + (tonumber(arg[3]) or (t.brief and 10 or 40)) - 1 do
    local text, source, right = run(seed)
    if not right then error(("program %d\n%s\n%s"):format(seed, source, text)) end
  end
end)

---- what compilers write
-- What is found in k(o, n) for each n, as "kind of name", sorted.
local function found(kernel, n)
  local output, list = gpu.ones(256, "int32"), {}
  for _, r in ipairs(gpu.check(function() kernel(1, 64)(output, n) end)) do
    local name = r.kind .. " of " .. r.name
    if name ~= list[#list] then list[#list + 1] = name end
  end
  table.sort(list)
  return table.concat(list, ", "), output
end

local function case(name, body, wants)
  t.test(name, function()
    local kernel = gpu.kernel("struct pair { int a; long b; float4 c; };\n__device__ int g; __device__ pair p;\n" ..
      "__global__ void k(int *o, int n) {\n  int t = threadIdx.x, v = 0;\n" .. body .. "\n  o[t] = v;\n}")
    for n, want in pairs(wants) do t.eq((found(kernel, n)), want, "for " .. n) end
  end)
end

local UNWRITTEN <const>, RACE <const> = "uninitialized read of s", "race of s"

case("a scalar by a condition of the block", [[  __shared__ int s;
  if (n > 1 && t == 0) s = n;
  __syncthreads();
  v = n > 0 ? s : 7;]], { [0] = "", UNWRITTEN, "" })

case("an element that its thread alone wants", [[  __shared__ int s[64];
  s[t] = o[t];
  if (t == n) v = s[7];]], { [7] = "", [6] = RACE })

case("a variable of the device", [[  if (t == 3) v = g;
  else if (t < n) v = g;
  if (t == 3) g = 4;]], { [0] = "", [3] = "race of g" })

case("parts of a struct, some by vectors", [[  if (t == n) v = p.a + p.c.x * p.c.y;
  if (t == 3) p.c.y = 3;]], { [3] = "", [4] = "race of p" })

case("one more side of &&", [[  __shared__ int s, r;
  if (t == 0 && n > 1) s = r = n;
  __syncthreads();
  v = n > 0 && s > r ? 4 : 5;]], { [0] = "", "uninitialized read of r, " .. UNWRITTEN, "" })

case("one more side of ||, of a byte", [[  __shared__ unsigned char s;
  if (t == 0) s = n;
  if (t > n || s > 2) v = 3;]], { [-1] = "", [5] = RACE })

case("two things by one condition, and what comes of it", [[  __shared__ int s;
  int w = 2;
  if (t == 0 && n == 3) s = n;
  __syncthreads();
  if (t < n) v = s, w = 3 * s + 1;
  o[t + 64] = w;]], { [0] = "", [2] = UNWRITTEN, [3] = "" })

case("two that are chosen by others", [[  __shared__ int s, r;
  if (t == 0) n & 1 ? s = n : r = n;
  __syncthreads();
  v = n & 2 ? s : r;]], { [0] = "", [1] = "uninitialized read of r", [2] = UNWRITTEN, [3] = "" })

case("by what is loaded beside it", [[  __shared__ int s;
  if (t == 0 && n == 0) s = n;
  __syncthreads();
  v = o[t];
  if (v > n) v = s;]], { [0] = "", "", [-1] = UNWRITTEN })

case("64 bits, and what another arm has stored", [[  __shared__ double s;
  if (t == 0) s = n;
  if (t < n) v = s;]], { [0] = "", "", RACE })

case("chosen behind a barrier", [[  __shared__ int s[64];
  s[t] = n;
  if (t == n) v = s[5];
  __syncthreads();
  if (t == 5) s[5] = 4;]], { [5] = "", [4] = RACE })

case("chosen by what is loaded behind the arm that stores", [[  __shared__ int s, r;
  if (t == 5) r = s = n;
  __syncthreads();
  if (t == 0) s = n + 4;
  if (r > 2) v = s;]], { [1] = "", [3] = RACE })

case("chosen by data that come behind that arm", [[  __shared__ int s;
  if (t == 5) s = n;
  __syncthreads();
  if (t == 0) s = n + 4;
  if (o[t] > n) v = s;]], { [1] = "", [0] = RACE })

case("behind an arm that stores another variable", [[  __shared__ int s, r;
  if (t == 5) r = s = n;
  __syncthreads();
  v = n > 7 ? s : 0;
  if (t == 0) s = n + 4;
  if (r > 2) v = s;]], { [1] = "", [3] = RACE })

case("chosen by data that are loaded again in the other arm", [[  if (o[t] > 6) v = 31 * v + n;
  if (t == 18) g = n + 8;
  if (o[t] > n && t == 12) v = 31 * v + g;]], { [1] = "", [0] = "race of g" })

case("by a sign", [[  __shared__ int s;
  if (t == 5 && n < -1) s = n;
  __syncthreads();
  v += (o[t] ^ n) < 0 ? s : 0;]], { [0] = "", [-1] = UNWRITTEN, [-2] = "" })

case("where one of two conditions is known", [[  __shared__ int s, r;
  if (t == 5) r = s = n;
  __syncthreads();
  if (t == 0) s = n + 4;
  if (r > 2 && n > 1 && s > 1) v = 2;
  __syncwarp();
  if (n > 0) v += s;]], { [0] = "", [3] = RACE })

case("before a loop that finds it wanted", [[  __shared__ int s;
  if (t == 0 && n > 2) s = n;
  __syncthreads();
  for (int i = 0; i < t; i++)
    if (o[64 + i] + n == 3) v += s * o[64 + i];]], { [1] = "", [2] = UNWRITTEN, [3] = "" })

case("before a branch and a loop", [[  __shared__ int s;
  if (t == 5) s = n + 1;
  __syncthreads();
  if (t == 0) s = n;
  if (n > 2)
    for (int i = 0; i < t; i++) v = o[64 + i] > 0 ? 3 * v + s : v * v;
  if (t == n) v += s;]], { [0] = "", [3] = RACE })

case("in a loop, by the thread and by data", [[  __shared__ int s;
  if (t == 5) s = n + 1;
  __syncthreads();
  if (t == 0) s = n + 4;
  for (int i = 0; i < n + 5; i++)
    if (o[64 + i] == 1 && t == n) v = 31 * v + s;
  if (t == n) v += s;]], { [0] = "", [3] = RACE })

case("in the next round", [[  __shared__ int s;
  int last = 0;
  for (int i = 0; i < o[64] + 4; i++) {
    if (t == 0 && i > 0) s = i;
    __syncthreads();
    if (i == n) v += last;
    last = s;
    __syncthreads();
  }]], { UNWRITTEN, [2] = UNWRITTEN })

case("by what is loaded behind barriers", [[  __shared__ int s, r;
  if (t == 5) r = n > 100, s = n;
  __syncthreads();
  if (t == 3) s = n + 1;
  int x = s;
  __syncthreads();
  if (t == 5) r = n;
  __syncthreads();
  if (r > 0) v = x;]], { RACE })

case("before the thread's own store", [[  __shared__ int s;
  if (t == 0) {
    int x = s;
    s = n;
    for (int i = 0; i < n + 7; i++)
      if (o[64 + i] == 1) v += x * i;
  }]], { UNWRITTEN })

case("what && looks at first", [[  __shared__ int s, r;
  if (t == 0) r = n;
  if (t == 0 && n > 1) s = n;
  __syncthreads();
  if (s > 1 && r > 1) v = 3;]], { [0] = UNWRITTEN, [2] = "" })

case("chosen in a loop by how often it went round", [[  __shared__ int s;
  for (int k = 0; k < 6; k++) {
    if (t == 0 && k >= n) s = k;
    __syncthreads();
    if (k > 2) v += s;
    __syncthreads();
  }]], { [0] = "", [3] = "", [4] = UNWRITTEN })

case("read by all, and then chosen", [[  __shared__ int s[64];
  s[t] = n;
  int w = s[(t + 1) % 64];
  if (t == 70) v = w;]], { [0] = RACE })

case("behind its end", [[  __shared__ int s[64];
  s[t] = n;
  if (t == n) v = ((volatile int *)s)[64];]], { [64] = "", [3] = "out of bounds of s" })

t.done()
