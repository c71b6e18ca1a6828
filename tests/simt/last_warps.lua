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

-- What must not be done twice where lanes repeat others, or looks across lanes: old values are looked at where one warp
-- gives them their order. Masks are of the warp's threads (W), of all lanes, of those that are there, or wrong by chance.
local function exchange(r)
  local mask = pick(r, { "W", "W", "W", "~0u", "__activemask()", r(4) > 0 and "W" or "0x3fffu" })
  local text = pick(r, {
    "v += __shfl_down_sync(M, v, K);", "v ^= __shfl_xor_sync(M, v + t, K);", "v += __shfl_up_sync(M, t, K, 8);", "v += __shfl_sync(M, v, K + t);",
    "v += __ballot_sync(M, v & 1);", "v += __any_sync(M, v & 4) + 2 * __all_sync(M, t < 9);", "v ^= __reduce_add_sync(M, v);", "v += __match_any_sync(M, v & 3);",
    "v += __popc(__activemask());", "__syncwarp(M);", "{ int p; v += __match_all_sync(M, t / 40, &p) + p; }", "v += lane();",
    "atomicAdd(&D[16 * blockIdx.x + K], v);", "if (N <= 32) v += atomicAdd(&D[16 * blockIdx.x + v % 7u], t);", "atomicAdd(&D[t % 5], 1);",
    "atomicMax(&q[(v + K) % 16u], v);", "if (N <= 32) v ^= atomicExch(&q[t / 3 % 16], v);", "if (N <= 32) v += atomicCAS(&q[K], t + K, v);", "atomicAdd(&q[t % 16], K);",
    "if (N <= 32) v += (int)atomicAdd(&e[K % 4], 3ull);", "{ int old = D[48], was; do { was = old; old = atomicCAS(&D[48], was, was + t); } while (was != old); }",
    "v += *(volatile int *)&D[50 + t % 3];", "((volatile int *)q)[t % 16] = v;", "__threadfence();", "v += D[51 + K % 2];", "q[15] = K;",
  })
  return (text:gsub("%(M([,)])", "(" .. mask .. "%1"):gsub("%f[%w]K%f[%W]", tostring(r(16))))
end

local exchanges -- in the program at hand
local function statement(r, depth, indent)
  if exchanges and r(3) == 0 then return indent .. exchange(r) end
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
  exchanges = r(2) == 0
  for _ = 1, 3 + r(7) do
    out[#out + 1] = statement(r, 2, "  ")
    if r(3) == 0 then out[#out + 1] = "  __syncthreads();" end
  end
  local type, shared, second = pick(r, types), pick(r, shared_types), pick(r, shared_types)
  local head = ([[
struct both { int x, y; __device__ both() {} __device__ both(int v) : x(v), y(v + 1) {} __device__ operator int() const { return x ^ y; } };
__device__ unsigned lane() { unsigned l, m; asm("mov.u32 %%0, %%%%laneid; mov.u32 %%1, %%%%lanemask_lt;" : "=r"(l), "=r"(m)); return l + m; }
__global__ void k(const int *A, %s *B, int *C, int *D, int n, int rounds) {
  __shared__ %s s[40];
  __shared__ %s z[64];
  __shared__ int q[16];
  __shared__ unsigned long long e[4];
  int N = blockDim.x * blockDim.y * blockDim.z, t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), g = blockIdx.x * N + t, v = g, i = 2;
  unsigned W = N - t / 32 * 32 >= 32 ? ~0u : (1u << (N - t / 32 * 32)) - 1;
  float w = 1;
  for (int q = t; q < 40; q += N) s[q] = q;
]]):format(type, shared, second)
  local fill = r(3) > 0 and "  for (int q = t; q < 64; q += N) z[q] = q * 5;\n" or ""
  fill = fill .. "  for (int k = t; k < 16; k += N) q[k] = k, e[k % 4] = 5;\n"
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
  local C, D = gpu.zeros(2 * all + 70, "int32"), gpu.zeros(64, "int32")
  local strict = r(4) == 0 and "strict" or nil
  local clean = true
  for time = 1, 3 do -- the last one without checks, which says nothing of what is raced for
    if time == 3 and not clean then break end
    local function launch() k(BLOCKS, shape)(A, B, C, D, all, 3) end
    local found = time == 3 and launch() or time < 3 and gpu.check(launch, strict) or {}
    clean = clean and #found == 0
    local told = true -- what is computed
    for _, f in ipairs(found) do told = told and f.kind == "out of bounds" end
    if n > 32 and #found > 0 then found = { { text = "something" } } end
    for _, f in ipairs(found) do lines[#lines + 1] = n < 32 and f.text or f.text:gsub(" %(%d+ times%)", "") end
    if told then lines[#lines + 1] = ("computed %s %s %s: %s"):format(C:sum(), D:sum(), not empty and B:sum(), table.concat(C:totable(), " ", 1, n)) end
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

-- By the block's threads, with and without checks: what each of them gets, from what its warp's threads have, and whether that
-- is undefined on a GPU.
local function each(source, values, threads)
  local k = gpu.kernel("__global__ void k(int *y, int *z) { int t = threadIdx.x, v = t * t + 3; unsigned W = blockDim.x - t / 32 * 32 >= 32 ? ~0u : (1u << (blockDim.x % 32)) - 1;\n" ..
    source .. "\ny[blockDim.x * blockIdx.x + t] = v; }")
  for _, n in ipairs(threads or { 1, 2, 5, 8, 10, 16, 17, 24, 31, 40, 48, 61 }) do
    for _, checks in ipairs { true, false } do
      local y, z = gpu.zeros(2 * n, "int32"), gpu.range(1, 22, 3):to "int32"
      local function launch() k(2, n)(y, z) end
      local found = checks and gpu.check(launch) or launch() or {}
      local want, undefined = {}, 0
      for g = 0, 2 * n - 1 do
        local at = g % n
        local first = at // 32 * 32
        local value, open = values(at, math.min(n - first, 32), first)
        want[g + 1] = value
        if open then undefined = undefined + 1 end
      end
      t.eq(found[1] and found[1].count or 0, checks and undefined or 0, n)
      t.same(y:totable(), want, n)
    end
  end
end
local function of(at) return at * at + 3 end

t.test("lanes without a thread take part in nothing", function()
  each("v = __shfl_down_sync(W, v, 3);", function(at, n, first)
    local from = at - first + 3
    return from > 31 and of(at) or from < n and of(at + 3) or 0
  end)
  each("v = __shfl_xor_sync(~0u, v, 5);", function(at, n, first)
    local from = (at - first) ~ 5
    return from < n and of(first + from) or 0, from >= n
  end)
  each("v = __shfl_up_sync(W, v, 1, 4);", function(at) return of(at % 4 > 0 and at - 1 or at) end)
  each("v = __ballot_sync(~0u, v) >> 1;", function(_, n) return ((1 << n) - 1) >> 1 end)
  each("v = __any_sync(W, t % 32 == 31) + 2 * __all_sync(W, v > 2);", function(_, n) return (n == 32 and 1 or 0) + 2 end)
  each("v = z[t * 3 % 7] + __activemask() * 0;", function(at) return at * 3 % 7 * 3 + 1 end) -- code for 2 threads is none for 5
  each("v = __activemask() >> 1;", function(_, n) return ((1 << n) - 1) >> 1 end)
  each("v = __reduce_add_sync(W, v);", function(_, n, first)
    local sum = 0
    for l = first, first + n - 1 do sum = sum + of(l) end
    return sum
  end)
  each("v = __match_any_sync(W, t % 3);", function(at, n, first)
    local m = 0
    for l = first, first + n - 1 do m = m | (l % 3 == at % 3 and 1 or 0) << (l - first) end
    return m < 1 << 31 and m or m - (1 << 32)
  end)
  each("int p; v = __match_all_sync(W, t / 32, &p) & 0xffff; v += p;", function(_, n) return ((1 << n) - 1 & 0xffff) + 1 end)
  each([[unsigned l, m; asm("mov.u32 %0, %laneid; mov.u32 %1, %lanemask_lt;" : "=r"(l), "=r"(m)); v = l + (m & 0xff00);]],
    function(at, _, first) return at - first + ((1 << (at - first)) - 1 & 0xff00) end)
end)

t.test("lanes without a thread add nothing, and get no old value of their own", function()
  for _, n in ipairs { 1, 2, 7, 8, 10, 16, 20, 31, 40, 61 } do
    local k = gpu.kernel [[
    __global__ void k(int *x, long long *y, int *old, int *sums) {
      __shared__ int s[8];
      __shared__ unsigned long long e[1];
      int t = threadIdx.x;
      if (t < 8) s[t] = 0;
      if (t == 0) for (int i = 0; i < 8; i++) s[i] = 0;
      if (t == 0) e[0] = 0;
      __syncthreads();
      old[blockIdx.x * blockDim.x + t] = atomicAdd(&x[4 + blockIdx.x], 1);
      atomicAdd(&x[0], 3);
      atomicAdd((unsigned long long *)&y[0], 5ull);
      atomicXor(&x[1], 1 << blockIdx.x);
      atomicAdd(&s[t % 3], t);
      int ticket = (int)atomicAdd(&e[0], 1ull);
      if (ticket % 2) atomicAdd(&s[5], 1); else s[7] = 1;
      __syncthreads();
      if (t < 6) atomicAdd(&sums[t], s[t]);
    }]]
    for _, checks in ipairs { true, false } do
      local x, y, old, sums = gpu.zeros(8, "int32"), gpu.zeros(1, "int64"), gpu.zeros(3 * n, "int32"), gpu.zeros(8, "int32")
      local function launch() k(3, n)(x, y, old, sums) end
      if checks then gpu.check(launch) else launch() end
      t.same(x:totable(), { 9 * n, n % 2 * 7, 0, 0, n, n, n, 0 }, n)
      t.eq(y[1], 15 * n)
      for b = 0, 2 do
        local seen = {}
        for g = 1, n do seen[old[b * n + g] + 1] = true end
        t.eq(#seen, n)
      end
      local want = { 0, 0, 0, 0, 0, n // 2 * 3 }
      for at = 0, n - 1 do want[at % 3 + 1] = want[at % 3 + 1] + 3 * at end
      for i = 1, math.min(n, 6) do t.eq(sums[i], want[i], n) end
    end
  end
end)

t.test("lanes go on with the old value that the lane they repeat has got, also where the checks have done the atomic", function()
  local function is_odd(at) return ((at % 2 == 0 and 1 or 4) + at // 2) % 2 == 1 end
  each("__threadfence(); int old = atomicAdd(&z[t % 2 + 4 * blockIdx.x], 1); v = 0; if (old & 1) v = __popc(__ballot_sync(__activemask(), 1));", function(at, n)
    local odd = 0
    for l = 0, n - 1 do odd = odd + (is_odd(l) and 1 or 0) end
    return is_odd(at) and odd or 0
  end, { 1, 2, 5, 8, 10, 16, 17, 31 })
end)

t.test("what lanes without a thread keep in shared memory is what the lane they repeat has got from an atomic", function()
  local k = gpu.kernel [[
  __global__ void k(int *x, int *y, int *z) {
    __shared__ int s[64], u[64];
    int t = threadIdx.x;
    x[t] = t;
    __threadfence();
    s[t] = atomicAdd(&z[0], 1);
    u[t] = *(volatile int *)&z[1];
    __syncthreads();
    y[t] = s[t] + 100 * u[t];
  }]]
  for _, n in ipairs { 1, 2, 5, 8, 10, 16, 17, 31, 33, 40 } do
    for _, checks in ipairs { true, false } do
      local y, z = gpu.zeros(n, "int32"), gpu.array({ 7, 3 }, "int32")
      local function launch() k(1, n)(gpu.zeros(n, "int32"), y, z) end
      local found = checks and gpu.check(launch) or launch() or {}
      t.eq(#found, 0)
      local all = y:sort():totable()
      for l = 1, n do t.eq(all[l], 306 + l, n) end
    end
  end
end)

t.test("what one lane has given away is not stored again", function()
  local k = gpu.kernel [[
  __global__ void add(int *locks, int *sums) {
    int t = threadIdx.x;
    for (int r = 0; r < 10; r++) {
      int i = (t + r) % 3 * 16;
      for (bool done = false; !done;)
        if (atomicCAS(&locks[i], 0, 1) == 0) {
          *(volatile int *)&sums[i] = *(volatile int *)&sums[i] + 1;
          __threadfence();
          locks[i] = 0;
          done = true;
        }
    }
  }]]
  for _, n in ipairs { 1, 2, 5, 16 } do
    local sums, blocks = gpu.zeros(48, "int32"), t.brief(200, 40)
    k(blocks, n)(gpu.zeros(48, "int32"), sums)
    t.eq(sums:sum(), 10 * blocks * n, n)
  end
end)

-- What lanes load while other blocks change it is one value for a thread and the lanes that repeat it: else the latter
-- would go other ways, alone.
t.test("what other blocks change is loaded once", function()
  local k = gpu.kernel [[
  __global__ void most(int *x, long long *y, const int *a) {
    int t = threadIdx.x, v = a[blockIdx.x * blockDim.x + t];
    for (int r = 0; r < 20; r++) {
      int old = x[(t + r) & 1], was;
      long long wide = y[(t + r) & 1], other;
      do { was = old; old = atomicCAS(&x[(t + r) & 1], was, was + v); } while (was != old);
      do { other = wide; wide = (long long)atomicCAS((unsigned long long *)&y[(t + r) & 1], (unsigned long long)other, (unsigned long long)(other + v)); } while (wide != other);
    }
  }]]
  local meeting = gpu.kernel [[
  __global__ void meet(int *x, long long *y, int *z) {
    int t = threadIdx.x, v = 0;
    for (int r = 0; r < 60; r++) {
      atomicAdd(&x[t % 5], 1);
      atomicAdd((unsigned long long *)&y[t % 5], 1ull);
      if (x[t * 3 % 5] & 1) v += __popc(__ballot_sync(__activemask(), 1));
      if (y[t * 3 % 5] & 1) v += __popc(__ballot_sync(__activemask(), 1));
    }
    z[blockIdx.x] = v;
  }]]
  for _, n in ipairs { 2, 5, 8, 16, 21 } do
    for _ = 1, 4 do meeting(400, n)(gpu.zeros(8, "int32"), gpu.zeros(8, "int64"), gpu.zeros(400, "int32")) end
    gpu.synchronize()
    local x, y, a = gpu.zeros(2, "int32"), gpu.zeros(2, "int64"), (gpu.rand(200 * n) * 9):to "int32"
    for _ = 1, 3 do k.most(200, n)(x, y, a) end
    t.eq(x:sum(), 60 * a:sum(), n)
    t.eq(y:sum(), 60 * a:sum(), n)
  end
end)

t.test("a mask that lacks lanes, and lanes that never come, are told as interpreted", function()
  local k = gpu.kernel [[
  __global__ void lacks(int *y) { y[threadIdx.x] = __shfl_down_sync(0x0ff7, threadIdx.x, 1); }
  __global__ void gone(int *y) {
    int t = threadIdx.x;
    if (t > 5) return;
    y[t] = __ballot_sync(~0u, t & 1);
  }
  __global__ void never(int *y) {
    int t = threadIdx.x;
    if (t < 4) __syncwarp(0x1f); else __syncthreads();
    y[t] = t;
  }]]
  local y = gpu.zeros(32, "int32")
  for _, n in ipairs { 10, 16 } do
    local found = gpu.check(function() k.lacks(1, n)(y) end)
    t.eq(#found, 1)
    t.eq(found[1].count, n == 10 and 1 or 5) -- lane 3, and those from 12 on
    t.eq(#gpu.check(function() k.gone(1, n)(y) end), 0)
    t.same(y[{ { 1, 6 } }]:totable(), { 42, 42, 42, 42, 42, 42 })
    t.raises("lanes 0x0000000f of a warp", function()
      k.never(1, n)(y)
      gpu.synchronize()
    end)
  end
end)

t.done()
