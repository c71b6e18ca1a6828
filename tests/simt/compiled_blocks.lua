-- Threads that work together, made at random, beside the same text compiled by the host's C compiler, which goes through
-- a block's threads step by step: shuffles, votes, shared memory between barriers, atomics of 32 and 64 bits, lanes that
-- part in between. Checks have nothing to say of any of it.
--
--   build/lunarray tests/simt/compiled_blocks.lua "" SEED COUNT     searches on: programs SEED to SEED + COUNT - 1
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local BLOCKS, SLOTS = 3, 16

-- EACH is what a thread does, MEET where all wait for each other; a, b and i are a thread's own, s and w are shared.
local of_cuda = [[
#define EACH
#define MEET __syncthreads();
#define TAKE(x, how) x = how(~0u, x, k);
#define XOR(x, of) { int k = of; x = __shfl_xor_sync(~0u, x, k & 31); }
#define INDEX(x, of) { int k = of; x = __shfl_sync(~0u, x, k & 31); }
#define UP(x, of, width) x = __shfl_up_sync(~0u, x, of, width);
#define DOWN(x, of, width) x = __shfl_down_sync(~0u, x, of, width);
#define BALLOT(x, of) x = __ballot_sync(~0u, of);
#define ANY(x, of) x += __any_sync(~0u, of) ? 7 : 1;
#define ADD(p, v) atomicAdd(p, v);
#define MOST(p, v) atomicMax(p, v);
#define LEAST(p, v) atomicMin(p, v);
#define FLIP(p, v) atomicXor(p, v);
#define WITH(p, v) atomicOr(p, v);
]]
local of_c = [[
#include <stdio.h>
static u64 all_a[N]; static u32 all_b[N]; static int all_i[N]; static u64 was[N];
#define a all_a[t]
#define b all_b[t]
#define i all_i[t]
#define EACH for (int t = 0; t < N; t++)
#define MEET
#define KEEP(x) EACH was[t] = (u64)x;
#define XOR(x, of) KEEP(x) { int to[N]; EACH to[t] = of; EACH x = was[t - t % 32 + (t % 32 ^ (to[t] & 31))]; }
#define INDEX(x, of) KEEP(x) { int to[N]; EACH to[t] = of; EACH x = was[t - t % 32 + (to[t] & 31)]; }
#define UP(x, of, width) KEEP(x) EACH x = was[t % width >= of ? t - of : t];
#define DOWN(x, of, width) KEEP(x) EACH x = was[t % width + of < width ? t + of : t];
#define BALLOT(x, of) EACH was[t] = (of) != 0; EACH { u32 v = 0; for (int l = 0; l < 32; l++) v |= (u32)was[t - t % 32 + l] << l; x = v; }
#define ANY(x, of) EACH was[t] = (of) != 0; EACH { u32 v = 0; for (int l = 0; l < 32; l++) v |= (u32)was[t - t % 32 + l]; x += v ? 7 : 1; }
#define ADD(p, v) *(p) += v;
#define MOST(p, v) { __typeof__(*(p)) n = v; *(p) = *(p) > n ? *(p) : n; }
#define LEAST(p, v) { __typeof__(*(p)) n = v; *(p) = *(p) < n ? *(p) : n; }
#define FLIP(p, v) *(p) ^= v;
#define WITH(p, v) *(p) |= v;
]]

---- programs
local function pick(r, list) return list[r(#list)] end

-- An expression of 32 bits without a sign, of one with, or of 64 bits.
local function expression(r, type, depth)
  local function of(other) return expression(r, other, depth - 1) end
  if depth <= 0 or r(4) == 1 then
    return pick(r, ({ u = { "b", "(u32)i", "(u32)t", tostring(r(1000)) .. "u", "(u32)a" }, i = { "i", "t", "(int)b", tostring(r(100)), "(t & 31)", "(t >> 5)" },
      l = { "a", "(u64)b", "(u64)t", "(u64)(long long)i", "0x9E3779B97F4A7C15ull" } })[type])
  end
  local form = pick(r, ({ u = { "(%u + %u)", "(%u * %u)", "(%u ^ %u)", "(%u >> (%u & 31u))", "(%u << (%u & 7u))", "(%u < %u ? %u : %u)", "(u32)(%l >> 32)", "(%u & %u)" },
    i = { "(int)(%u + %u)", "(int)(%u - %u)", "(%i & %i)", "(%i >> (%u & 31u))", "(%i < %i ? %i : %i)", "(%i ^ %i)", "(int)(signed char)%i" },
    l = { "(%l + %l)", "(%l * %l)", "(%l ^ %l)", "(%l >> (%u & 63u))", "((u64)%u * %u)", "(%l < %l ? %l : %l)", "(%l << (%u & 31u))" } })[type])
  return (form:gsub("%%(%a)", of))
end

local function assignment(r, indent)
  local type = pick(r, { "u", "i", "l" })
  return ("%s%s = %s;"):format(indent, ({ u = "b", i = "i", l = "a" })[type], expression(r, type, 3))
end

-- What threads do by themselves, and part in.
local function own(r, indent, depth)
  local out = {}
  for _ = 1, r(3) do
    local kind = depth > 0 and r(6) or 1
    if kind <= 2 then
      out[#out + 1] = assignment(r, indent)
    elseif kind <= 4 then
      out[#out + 1] = ("%sif (%s) {\n%s\n%s} else {\n%s\n%s}"):format(indent, expression(r, "i", 2) .. " & " .. r(7), own(r, indent .. "  ", depth - 1), indent,
        own(r, indent .. "  ", depth - 1), indent)
    else
      local c = "k" .. depth
      out[#out + 1] = ("%sfor (u32 %s = 0, end%s = %s & %du; %s < end%s; %s++) {\n%s\n%s}"):format(indent, c, c, expression(r, "u", 1), pick(r, { 3, 7 }), c, c, c,
        own(r, indent .. "  ", depth - 1), indent)
    end
  end
  return table.concat(out, "\n")
end

local function place(r) return ("(t * %d + %d) %% N"):format(pick(r, { 1, 1, 5, 7, 11 }), r(64)) end -- N has no such factor

local function atomic(r)
  local where, type = table.unpack(pick(r, { { "c", "u" }, { "d", "l" }, { "G", "l" }, { "H", "u" }, { "e", "i" } }))
  local at = where .. "[" .. pick(r, { "0", "t & 15", expression(r, "u", 1) .. " & 15u", "t >> 5" }) .. "]"
  local how = pick(r, { "ADD", "MOST", "LEAST", "FLIP", "WITH" })
  if where == "e" and how == "ADD" then how = "MOST" end -- signed numbers must not overflow in C
  -- one array, one operation: then the order does not matter
  return ("  EACH { if (%s & %d) { %s(&%s, %s) } }"):format(expression(r, "u", 1), pick(r, { 1, 3, 255 }), how, at, expression(r, type, 2)), where
end

-- `kinds` are those that the block's threads can do: the numbers below.
local function phase(r, depth, kinds)
  local kind = pick(r, kinds)
  if kind == 10 and depth == 0 then kind = 1 end
  if kind <= 2 then return "  EACH {\n" .. own(r, "    ", 2) .. "\n  }" end
  local x = pick(r, { "a", "b", "i" })
  if kind == 3 then return ("  XOR(%s, %s)"):format(x, pick(r, { "1", "16", "5", "r", "(int)(b & 31u)" })) end
  if kind == 4 then return ("  INDEX(%s, %s)"):format(x, pick(r, { "0", "t + 1", "31", expression(r, "i", 2) })) end
  if kind == 5 then return ("  %s(%s, %d, %d)"):format(pick(r, { "UP", "DOWN" }), x, pick(r, { 1, 2, 4, 8, 3 }), pick(r, { 32, 32, 16, 8 })) end
  if kind == 6 then return r(2) == 1 and ("  BALLOT(b, %s)"):format(expression(r, "i", 2) .. " & 4") or ("  ANY(b, (%s & 63) == 5)"):format(expression(r, "i", 1)) end
  if kind <= 8 then
    local array, own_one = table.unpack(pick(r, { { "s", "b" }, { "w", "a" } }))
    return ("  EACH { %s[%s] = %s; } MEET\n  EACH { %s ^= %s[%s]; } MEET"):format(array, place(r), own_one, own_one, array,
      pick(r, { place(r), "(" .. expression(r, "u", 2) .. ") % N", "N - 1 - t", "t / 2", "0" }))
  end
  if kind == 9 then
    local text, where = atomic(r)
    if where == "G" or where == "H" then return text end
    return ("  MEET EACH { if (t < %d) %s[t] = 0; } MEET\n%s MEET\n  EACH { a += (u64)%s[t & 15]; } MEET"):format(SLOTS, where, text, where)
  end
  local out = { ("  for (int r = 1; r < %d; r %s) {"):format(r(2) == 1 and 32 or 5, pick(r, { "*= 2", "+= 3" })) }
  for _ = 1, r(3) do out[#out + 1] = phase(r, depth - 1, kinds) end
  out[#out + 1] = "  }"
  return table.concat(out, "\n")
end

-- A last warp of fewer than 32 threads exchanges nothing here; without atomics its accesses are those of full warps.
local ALL, APART, PLAIN = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, { 1, 2, 7, 8, 9, 10 }, { 1, 2, 7, 8, 10 }

local function make_body(r, threads)
  local out, kinds = {}, threads % 32 == 0 and ALL or pick(r, { APART, PLAIN, PLAIN })
  for _ = 1, 4 + r(8) do out[#out + 1] = phase(r, 1, kinds) end
  local text = table.concat(out, "\n")
  for _, where in ipairs { "G", "H" } do -- blocks come in any order: one operation for all
    local how = pick(r, { "ADD", "MOST", "LEAST", "FLIP", "WITH" })
    text = text:gsub("%u+(%(&" .. where .. "%[)", how .. "%1")
  end
  return text
end

local function whole_text(start, threads, body, head, tail)
  return ("typedef unsigned int u32; typedef unsigned long long u64;\n#define N %d\n%s%s\n%s\n%s"):format(threads, start, head, body, tail)
end
local shared = "  %s u32 s[N], c[16]; %s u64 w[N], d[16]; %s int e[16];\n"
local first = "  int r = 3; (void)r;\n  EACH { a = in[block * N + t]; b = (u32)(a >> 7); i = (int)a; }\n"
local last = "  EACH { out[block * N + t] = a * 31 + b * 7ull + (u64)(long long)i; }\n"

---- both ways
local function by_kernel(threads, body, input)
  local head = 'extern "C" __global__ void k(const u64 *in, u64 *out, u64 *G, u32 *H) {\n  int t = threadIdx.x, block = blockIdx.x; u64 a; u32 b; int i;\n' ..
    shared:gsub("%%s", "__shared__") .. first
  local k = gpu.kernel(whole_text(of_cuda, threads, body, head, last .. "}"))
  local out, G, H = gpu.zeros(BLOCKS * threads, "int64"), gpu.zeros(SLOTS, "int64"), gpu.zeros(SLOTS, "int32")
  k(BLOCKS, threads)(gpu.array(input, "int64"), out, G, H)
  local all = out:totable()
  for _, x in ipairs(G:totable()) do all[#all + 1] = x end
  for _, x in ipairs(H:totable()) do all[#all + 1] = x & 0xffffffff end
  return all
end

local function by_compiler(threads, body, input)
  local numbers = {}
  for k, x in ipairs(input) do numbers[k] = ("%dll"):format(x) end
  local head = ("static const u64 in[] = {%s};\nstatic u64 out[%d], G[16]; static u32 H[16];\nstatic void k(int block) {\n"):format(table.concat(numbers, ","),
    BLOCKS * threads) .. shared:gsub("%%s", "static") .. first
  local tail = last .. ("}\nint main(void) {\n  for (int n = 0; n < %d; n++) k(n);\n  for (int n = 0; n < %d * N; n++) printf(\"%%llx\\n\", out[n]);\n"):format(BLOCKS, BLOCKS) ..
    "  for (int n = 0; n < 16; n++) printf(\"%llx\\n\", G[n]);\n  for (int n = 0; n < 16; n++) printf(\"%x\\n\", H[n]);\n}\n"
  return t.by_compiler(whole_text(of_c, threads, body, head, tail))
end

local function compare(seed)
  local r, input = math.random, {}
  local threads = pick(r, { 64, 128, 96, 32, 256, 93, 104, 17, 39, 243 })
  local body = make_body(r, threads)
  for k = 1, BLOCKS * threads do input[k] = r(3) == 1 and r(9) or r(math.mininteger, math.maxinteger) end
  local want, got = by_compiler(threads, body, input), by_kernel(threads, body, input)
  local found = gpu.check(function() by_kernel(threads, body, input) end)
  if #found > 0 then error(("program %d: %s\n%s"):format(seed, tostring(found[1].message), body), 0) end
  for k = 1, #want do
    if got[k] ~= want[k] then
      error(("program %d, %d threads, result %d: %x on the software GPU, %x by the compiler\n%s"):format(seed, threads, k, got[k], want[k], body), 0)
    end
  end
end

t.seeds("a block's work made at random beside the compiler's", 6, compare)
t.done()
