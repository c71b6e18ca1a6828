-- Loads that the compiler makes in all threads, and of which it chooses afterwards who wants them: gpu.check takes those for
-- readers, and no others. Each kernel is right for some numbers, and for others it is not.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local compare = assert(loadfile("tests/simt/shared/interpreted.lua"))(t)

---- random programs
-- Variables a to d; a is always written, the others for some n. Then statements by conditions of the thread, of n, of data
-- and of a; at the end a thread stores to some. Threads that read what nobody wrote, or others store to, are wrong.
local names <const> = { "a", "b", "c", "d" }

local function condition(random, n, c)
  local k, number = random(6), random(64)
  if k == 1 then return ("t %% 5 == %d"):format(number % 5), function(i) return i % 5 == number % 5 end end
  if k == 2 then return ("n > %d"):format(number % 4), function() return n > number % 4 end end
  if k == 3 then return ("c[t] > %d"):format(number % 8), function(i) return c[i + 1] > number % 8 end end
  if k == 4 then return ("a > %d"):format(number % 6), function(_, reads) reads.a = 0 return n + 1 > number % 6 end end
  if k == 5 then return ("t < %d"):format(number), function(i) return i < number end end
  return ("t == %d"):format(number), function(i) return i == number end
end

local function conditions(random, n, c)
  local text, holds = condition(random, n, c)
  if random(3) > 0 then return text, holds end
  local other, also = condition(random, n, c)
  if random(2) == 0 then
    return ("(%s) && (%s)"):format(text, other), function(i, reads) return holds(i, reads) and also(i, reads) end
  end
  return ("(%s) || (%s)"):format(text, other), function(i, reads) return holds(i, reads) or also(i, reads) end
end

local function program(seed)
  local random = t.random(seed)
  local n, data = random(5), {}
  for k = 1, 64 do data[k] = random(10) end
  local text, steps, least, late, meets = {}, {}, { a = 0 }, {}, 0 -- the step behind which warps meet last
  for k, name in ipairs(names) do
    least[name] = k == 1 and 0 or random(3)
    text[#text + 1] = ("if (t == %d && n >= %d) %s = n + %d;"):format(random(64), least[name], name, k)
  end
  text[#text + 1] = "__syncthreads();"
  for _ = 1, 2 + random(4) do
    local when, holds = conditions(random, n, data)
    local k = 1 + random(4)
    if random(3) == 0 then
      text[#text + 1] = "__syncwarp();"
      meets = #steps
    end
    text[#text + 1] = ("if (%s) v = 31 * v + %s;"):format(when, names[k])
    steps[#steps + 1] = { holds = holds, k = k, name = names[k] }
  end
  local name = names[2 + random(3)]
  if random(2) == 0 and n >= least[name] then -- who reads it unwritten may come behind who stores it
    late.name, late.thread = name, random(64)
    text[#text + 1] = ("if (t == %d) %s = 1;"):format(late.thread, late.name)
  end
  local source = "__global__ void k(const int *c, int *o, int n) {\n  __shared__ int a, b, c_, d;\n  int t = threadIdx.x, v = t;\n  " ..
    table.concat(text, "\n  "):gsub("%f[%w_]c%f[^%w_%[]", "c_") .. "\n  o[t] = v;\n}\n"
  return { n = n, data = data, meets = meets, steps = steps, least = least, late = late, source = source:gsub("c_%[", "c[") }
end

-- What is to be found, and what the threads compute if nothing is.
local function expected(p)
  local wrong, values = {}, {}
  for i = 0, 63 do
    local v, reads = i, {}
    for k, s in ipairs(p.steps) do
      if s.holds(i, reads) then
        reads[s.name] = k
        v = (31 * v + p.n + s.k) & 0xffffffff
      end
    end
    for name, last in pairs(reads) do
      local shown = name == "c" and "c_" or name
      if p.n < p.least[name] then wrong["uninitialized read of " .. shown] = true end
      local met = last <= p.meets and i // 32 == (p.late.thread or 0) // 32
      if name == p.late.name and i ~= p.late.thread and not met then wrong["race of " .. shown] = true end
    end
    values[i + 1] = v >= 1 << 31 and v - (1 << 32) or v
  end
  local list = {}
  for name in pairs(wrong) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", "), values
end

local function run(seed)
  local p = program(seed)
  local kernel, output, list, seen = gpu.kernel(p.source), gpu.zeros(64, "int32"), {}, {}
  local reports = gpu.check(function() kernel(1, 64)(gpu.array(p.data, "int32"), output, p.n) end)
  for _, r in ipairs(reports) do
    local name = r.kind .. " of " .. r.name
    if not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  table.sort(list)
  local want, values = expected(p)
  local got = table.concat(list, ", ")
  if got ~= want then return ("found %s\nexpected %s"):format(got, want), p.source, false end
  if want ~= "" then return want, p.source, true end
  for k = 1, 64 do
    if output[k] ~= values[k] then return ("o[%d] is %d, not %d"):format(k, output[k], values[k]), p.source, false end
  end
  return "computed", p.source, true
end

if compare("random programs, as machine code and interpreted", "tests/simt/chosen.lua", run, t.brief and 10 or 40, 0.1) then return end

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
  for _, r in ipairs(gpu.check(function() kernel(1, 64)(output, n) end)) do list[#list + 1] = r.kind .. " of " .. r.name end
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

case("parts of a struct, some by vectors", [[  if (t == n) v = p.a + p.c.x * p.c.y;
  if (t == 3) p.c.y = 3;]], { [3] = "", [4] = "race of p" })

case("one more side of &&", [[  __shared__ int s, r;
  if (t == 0 && n > 1) s = r = n;
  __syncthreads();
  v = n > 0 && s > r ? 4 : 5;]], { [0] = "", "uninitialized read of r, " .. UNWRITTEN, "" })

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
