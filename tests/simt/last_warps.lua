-- Blocks whose last warp, or only one, has fewer threads than lanes, and blocks of one full warp, in programs made at
-- random, with faults by chance: what gpu.check finds in machine code is what it finds where all is interpreted, and so is
-- what is computed where it finds nothing. Of several warps that race it depends on which runs first who is named, and
-- which of several lines a full warp's race is counted for, on whether its lanes are looked at one by one.
--
--   build/lunarray tests/simt/last_warps.lua "" SEED COUNT     searches on: programs SEED to SEED + COUNT - 1
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local compare = assert(loadfile("tests/simt/shared/interpreted.lua"))(t)

local BLOCKS = 3
local SHAPES = { { 1 }, { 2 }, { 3 }, { 5 }, { 8 }, { 10 }, { 16 }, { 17 }, { 31 }, { 4, 4 }, { 3, 3, 3 }, { 2, 1, 8 }, { 32 }, { 16, 2 }, { 33 }, { 90 },
  { 10, 10 } }
local function pick(r, list) return list[1 + r(#list)] end

-- Where a thread goes in an array of a block, or of the grid.
local function place(r, shared)
  local me = shared and "t" or "g"
  local form = pick(r, { "%s", "%s", "%s", "%s", "%s + 1", "(%s ^ 1)", "(%s + A[t]) / 2", "A[%s] + 2", "K", "N - 1 - t", "K + t / 2", "%s + i", "t * 3 %% N", "(%s + K) %% N",
    "2 * %s", "i + t", "i", "%s - 1" })
  local text = form:format(me)
  return (text:gsub("K", tostring(r(9))))
end

local dtypes = { int = "int32", float = "float32", short = "int16", char = "int8", ["long long"] = "int64" }
local types = { "int", "int", "int", "float", "short", "char", "long long" }
local shared_types = { "int", "int", "int", "float", "short", "char", "long long", "both" }

local function statement(r, depth, indent)
  local kind = r(depth > 0 and 12 or 8)
  local shared = r(2) == 0
  local function where(array) return ("%s[%s]"):format(array, place(r, array == "s" or array == "z")) end
  if kind == 0 then return ("%sv += %s;"):format(indent, where("A")) end
  if kind == 1 then return ("%sv += (int)(s[K] + s[K + 1] + s[K + 3]);"):gsub("K", pick(r, { "3", "t / 16", "t" })):format(indent) end
  if kind <= 3 then return ("%sv += (int)%s;"):format(indent, where(shared and pick(r, { "s", "z" }) or "B")) end
  if kind <= 6 then
    local value = pick(r, { "v", "v + t", "t", "7", "i", "g" })
    return ("%s%s = %s;"):format(indent, where(shared and pick(r, { "s", "z" }) or pick(r, { "B", "C" })), value)
  end
  if kind == 7 then return indent .. pick(r, { "v = v * 3 + t;", "v ^= g;", "v += (int)(w = w * 0.5f + v);" }) end
  local out, inner = {}, indent .. "  "
  for _ = 1, 1 + r(3) do out[#out + 1] = statement(r, depth - 1, inner) end
  local body = table.concat(out, "\n")
  if kind <= 9 then
    local condition = pick(r, { "t % 2", "t == 0", "t < 5", "g < n - 7", "v & 1", "A[g % 8] > 20", "blockIdx.x == 1", "i & 1", "t >= N - 2" })
    return ("%sif (%s) {\n%s\n%s}"):format(indent, condition, body, indent)
  end
  local limit = pick(r, { "rounds", "rounds", "t % 4", "rounds + t / 8", "1 + blockIdx.x" })
  return ("%sfor (int i = 0; i < %s; i++) {\n%s\n%s}"):format(indent, limit, body, indent)
end

local function source_of(r)
  local out = {}
  for _ = 1, 3 + r(7) do
    out[#out + 1] = statement(r, 2, "  ")
    if r(3) == 0 then out[#out + 1] = "  __syncthreads();" end
  end
  local type, shared, second = pick(r, types), pick(r, shared_types), pick(r, shared_types)
  local head = ([[
struct both { int x, y; __device__ both() {} __device__ both(int v) : x(v), y(v + 1) {} __device__ operator int() const { return x ^ y; } };
__global__ void k(const int *A, %s *B, int *C, int n, int rounds) {
  __shared__ %s s[40];
  __shared__ %s z[64];
  int N = blockDim.x * blockDim.y * blockDim.z, t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), g = blockIdx.x * N + t, v = g, i = 2;
  float w = 1;
  for (int q = t; q < 40; q += N) s[q] = q;
]]):format(type, shared, second)
  local fill = r(3) > 0 and "  for (int q = t; q < 64; q += N) z[q] = q * 5;\n" or ""
  local meet = r(6) > 0 and "  __syncthreads();\n" or ""
  return head .. fill .. meet .. table.concat(out, "\n") .. "\n  C[g] = v + (int)w;\n}\n", type
end

-- What is found, and what is left in memory, as a text.
local function run(seed)
  local of = t.random(seed * 2654435761 % 4294967296)
  local function r(n) return of(n) end
  local source, type = source_of(r)
  local k = gpu.kernel { source = source, chunk = "case", line = 1 }
  local shape, lines = pick(r, SHAPES), {}
  local n = shape[1] * (shape[2] or 1) * (shape[3] or 1)
  local all = BLOCKS * n
  local size = pick(r, { 2 * all + 70, 2 * all + 70, all + 12, all + 1, all })
  local numbers = {}
  for i = 1, 4 * all + 100 do numbers[i] = r(40) end
  local A = gpu.array(numbers, "int32")
  local empty = r(4) == 0
  local B = (empty and gpu.empty or gpu.zeros)(size, dtypes[type])
  local C = gpu.zeros(2 * all + 70, "int32")
  local strict = r(4) == 0 and "strict" or nil
  for _ = 1, 2 do
    local found = gpu.check(function() k(BLOCKS, shape)(A, B, C, all, 3) end, strict)
    local told = true -- what is computed
    for _, f in ipairs(found) do told = told and f.kind == "out of bounds" end
    if n > 32 and #found > 0 then found = { { text = "something" } } end
    for _, f in ipairs(found) do lines[#lines + 1] = n < 32 and f.text or f.text:gsub(" %(%d+ times%)", "") end
    if told then lines[#lines + 1] = ("computed %s %s: %s"):format(C:sum(), not empty and B:sum(), table.concat(C:totable(), " ", 1, n)) end
  end
  return table.concat(lines, "\n"), source
end

if compare("machine code finds what the interpreter does", "tests/simt/last_warps.lua", run, t.brief(200, 30), 1 / 20) then return end

-- The threads of the last warp alone, which has code of its own though its indices are of no form, as those of the first.
t.test("loads by the same code one after the other are all seen", function()
  local k = gpu.kernel [[
  __global__ void k(int *y) {
    __shared__ int s[45];
    int t = threadIdx.x + blockDim.x * threadIdx.y;
    s[t] = t;
    __syncthreads();
    if (t < 32) return;
    int v = 0;
    for (int k = 3; k < 9; k += 2) v += s[k];
    if (t == 33) s[5] = v;
    y[t] = v;
  }]]
  local found = gpu.check(function() k(1, { 3, 15 })(gpu.zeros(45, "int32")) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
  t.eq(found[1].count, 1)
end)

t.test("what a single thread reads, it may write", function()
  local k = gpu.kernel [[
  __global__ void k(const int *at, int *y, int n) {
    __shared__ int s[40];
    for (int i = 0; i < 40; i++) s[i] = i;
    __syncthreads();
    for (int i = 0; i < n; i++) {
      int v = s[at[i] ];
      s[at[i] ] = v + i;
    }
    y[blockIdx.x] = s[at[n] ];
  }]]
  local at, y = gpu.array({ 7, 9, 9, 3, 20, 9, 20, 39, 9 }, "int32"), gpu.zeros(3, "int32")
  t.eq(#gpu.check(function() k(3, 1)(at, y, 8) end), 0)
  t.same(y:totable(), { 17, 17, 17 })
end)

t.test("a launch of one thread races with nobody but its own copies", function()
  local k = gpu.kernel [[
  __global__ void sort(float *x, char *c, long long *l, int n) {
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n - 1 - k; j++)
        if (x[j] > x[j + 1]) {
          float t = x[j];
          x[j] = x[j + 1];
          x[j + 1] = t;
          c[j % 7] = k;
          l[j % 5] = k + j;
        }
  }
  __global__ void copy(float *x, float *y) {
    __shared__ float s[4];
    unsigned at = __cvta_generic_to_shared(s);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(x) : "memory");
    x[0] = 5;
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[0] = s[0];
  }]]
  local x, c, l = gpu.range(30, 1, -1):to("float32"), gpu.zeros(7, "int8"), gpu.zeros(5, "int64")
  t.eq(#gpu.check(function() k.sort(1, 1)(x, c, l, 30) end), 0)
  t.same(x:totable(), gpu.range(1, 30):totable())
  local chars, longs = {}, {}
  for round = 0, 29 do
    for j = 0, 28 - round do chars[j % 7 + 1], longs[j % 5 + 1] = round, round + j end
  end
  t.same(c:totable(), chars)
  t.same(l:totable(), longs)
  t.eq(#gpu.check(function() k.sort(2, 1)(gpu.range(30, 1, -1):to("float32"), c, l, 30) end) > 0, true)
  local found = gpu.check(function() k.copy(1, 1)(gpu.ones(4), gpu.zeros(1)) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
end)

t.test("one number that all threads store in one place is a race of theirs where checks are strict", function()
  local k = gpu.kernel [[__global__ void k(int *x, int n) { __shared__ int s[4]; for (int i = 0; i < n; i++) x[2] = n, s[1] = n; x[1] = s[1]; }]]
  for _, threads in ipairs { 1, 2, 16, 19, 32 } do
    t.eq(#gpu.check(function() k(1, threads)(gpu.zeros(4, "int32"), 3) end), 0)
    local found = gpu.check(function() k(1, threads)(gpu.zeros(4, "int32"), 3) end, "strict")
    t.eq(#found > 1, threads > 1, threads)
  end
end)

t.done()
