-- CUDA C made at random, beside the same text compiled by the host's C compiler, bit for bit: arithmetic of all types,
-- branches, loops and switches, local and global arrays, structures and functions. What C leaves undefined is not in it.
--
--   build/lunarray tests/simt/compiled.lua "" SEED COUNT     searches on: programs SEED to SEED + COUNT - 1
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local THREADS, FUNCTIONS, PLACES = 200, 6, 8
local SHAPES = { 64, 64, 200, 100, 33, 31, 16, 5 } -- threads of a block

-- The same text means the same on both: no contraction, no overflow of signed numbers, one NaN.
local common = [[
typedef unsigned int u32; typedef unsigned long long u64; typedef long long i64;
struct S { int a; unsigned char b[4]; float c; double d; short e; i64 g; };
F int add(int a, int b) { return (int)((u32)a + (u32)b); }
F int sub(int a, int b) { return (int)((u32)a - (u32)b); }
F int mul(int a, int b) { return (int)((u32)a * (u32)b); }
F i64 addl(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
F i64 subl(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
F i64 mull(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
F int quo(int a, int b) { return b == 0 || b == -1 ? a : a / b; }
F int rest(int a, int b) { return b == 0 || b == -1 ? b : a % b; }
F i64 quol(i64 a, i64 b) { return b == 0 || b == -1 ? a : a / b; }
F i64 restl(i64 a, i64 b) { return b == 0 || b == -1 ? b : a % b; }
F u32 quou(u32 a, u32 b) { return b ? a / b : 5; }
F u32 restu(u32 a, u32 b) { return b ? a % b : a; }
F int whole(float x) { return x > -1e6f && x < 1e6f ? (int)x : 3; }
F i64 wholed(double x) { return x > -1e12 && x < 1e12 ? (i64)x : 4; }
F u64 mix(u64 h, u64 v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }
F u64 mixf(u64 h, float x) { return mix(h, x != x ? 0x7fc00000u : bits_of_float(x)); }
F u64 mixd(u64 h, double x) { return mix(h, x != x ? 0x7ff8000000000000ull : bits_of_double(x)); }
]]
local of_cuda = [[
#define F __device__
#define OUT_OF_LINE __noinline__ __device__
F u32_ bits_of_float(float x) { return __float_as_uint(x); }
F u64_ bits_of_double(double x) { return (u64_)__double_as_longlong(x); }
]]
local of_c = [[
#include <math.h>
#include <stdio.h>
#include <string.h>
#define F static
#define OUT_OF_LINE static __attribute__((noinline))
F u32_ bits_of_float(float x) { u32_ u; memcpy(&u, &x, 4); return u; }
F u64_ bits_of_double(double x) { u64_ u; memcpy(&u, &x, 8); return u; }
]]
local function whole_text(start, body)
  return "typedef unsigned int u32_; typedef unsigned long long u64_;\n" .. start .. common .. body
end

---- programs
local types = { i = "int", u = "u32", l = "i64", f = "float", d = "double" }
local names = { "i", "u", "l", "f", "d" }

-- An expression of the type, of at most `depth` levels; `p` is what is known where it stands.
local expression
local function pick(p, list) return list[p.r(#list)] end
local function number(p, type)
  if type == "f" or type == "d" then
    return pick(p, { "0.0", "1.0", "-2.5", "1e-3", "3.0e8", "0.1", "-0.0", "1e30", "7.25" }) .. (type == "f" and "f" or "")
  end
  local value = pick(p, { 0, 1, 2, 3, 5, 7, 8, 31, 100, 255, 1023, 65535, 1000003, 2147483647 })
  if type == "u" then return value .. "u" end
  return type == "l" and value .. "ll" or p.r(3) == 1 and "(-" .. value .. ")" or tostring(value)
end
local function place(p) return ("(%s & %d)"):format(expression(p, "i", 1), PLACES - 1) end
local leaves = {
  i = { function() return "I[t]" end, function(p) return "arr[" .. place(p) .. "]" end, function(p) return "mem[" .. place(p) .. "]" end,
    function(p) return ("(int)B[%s & 63]"):format(expression(p, "i", 1)) end, function() return "s.a" end, function() return "(int)s.e" end,
    function(p) return ("(int)s.b[%s & 3]"):format(expression(p, "i", 1)) end, function() return "(t & 31)" end, function() return "t" end },
  u = { function() return "(u32)I[t]" end, function(p) return "(u32)mem[" .. place(p) .. "]" end, function() return "(u32)t" end },
  l = { function() return "s.g" end, function() return "(i64)I[t]" end, function() return "((i64)t << 20)" end },
  f = { function() return "X[t]" end, function() return "s.c" end, function(p) return "farr[" .. place(p) .. "]" end },
  d = { function() return "s.d" end, function() return "(double)X[t]" end },
}
local function ternary(p, type, depth)
  local a = pick(p, names)
  return ("(%s %s %s ? %s : %s)"):format(expression(p, a, depth - 1), pick(p, { "<", "<=", ">", ">=", "==", "!=" }),
    expression(p, a, depth - 1), expression(p, type, depth - 1), expression(p, type, depth - 1))
end
local formats = { -- %i and so on stand for an expression of that type
  i = { "add(%i, %i)", "sub(%i, %i)", "mul(%i, %i)", "(%i & %i)", "(%i | %i)", "(%i ^ %i)", "(%i >> (%i & 31))", "(int)((u32)%i << (%i & 31))",
    "quo(%i, %i)", "rest(%i, %i)", "whole(%f)", "(int)%l", "(int)%u", "~%i", "(%i < %i)", "(%f < %f)", "(%d != %d)", "(%i && %l)", "(int)(short)%i",
    "(int)(signed char)%i", "(int)(unsigned char)%u", "(int)(%l >> 32)", "!%i" },
  u = { "(%u + %u)", "(%u - %u)", "(%u * %u)", "(%u & %u)", "(%u ^ %u)", "(%u >> (%i & 31))", "(%u << (%i & 31))", "quou(%u, %u)", "restu(%u, %u)",
    "(u32)%i", "(u32)%l", "(u32)((u64)%u * (u64)%u >> 32)", "(u32)(unsigned short)%u" },
  l = { "addl(%l, %l)", "subl(%l, %l)", "mull(%l, %l)", "(%l & %l)", "(%l ^ %l)", "(%l >> (%i & 63))", "(i64)((u64)%l << (%i & 63))", "quol(%l, %l)",
    "restl(%l, %l)", "(i64)%i", "(i64)%u", "wholed(%d)", "((i64)%i * (i64)%i)", "(i64)((u64)%u << 32 | (u64)%u)" },
  f = { "(%f + %f)", "(%f - %f)", "(%f * %f)", "(%f / %f)", "sqrtf(%f)", "fabsf(%f)", "(- %f)", "(float)%i", "(float)%u", "(float)%l", "(float)%d",
    "floorf(%f)", "truncf(%f)", "fmaf(%f, %f, %f)" },
  d = { "(%d + %d)", "(%d - %d)", "(%d * %d)", "(%d / %d)", "sqrt(%d)", "fabs(%d)", "(double)%f", "(double)%i", "(double)%l", "(double)%u",
    "ceil(%d)", "fma(%d, %d, %d)" },
}
function expression(p, type, depth)
  local choice = p.r(12)
  if depth <= 0 or choice <= 3 then
    choice = p.r(7)
    if choice <= 4 then return type .. p.r(3) - 1 end
    return choice == 5 and number(p, type) or pick(p, leaves[type])(p)
  end
  if choice == 4 then return ternary(p, type, depth) end
  if choice == 5 and p.calls and type == "i" and p.r(2) == 1 then
    return ("%s(%s, %s, %s)"):format(p.calls, expression(p, "i", 1), expression(p, "f", 1), expression(p, "l", 1))
  end
  return (pick(p, formats[type]):gsub("%%(%a)", function(of) return expression(p, of, depth - 1) end))
end

-- A block of statements. Variables i0 to i2, u0 and so on are anybody's; loops count in their own.
local function block(p, depth, count)
  local out = {}
  local function say(...) out[#out + 1] = ("  "):rep(p.indent) .. string.format(...) end
  local function inner(d, n)
    p.indent = p.indent + 1
    local text = block(p, d, n)
    p.indent = p.indent - 1
    return text
  end
  local function loop(head, ...)
    p.loops = p.loops + 1
    local was = p.inside
    p.inside = true
    say("%s {", head:format(...))
    out[#out + 1] = inner(depth - 1, p.r(3))
    p.inside = was
    p.loops = p.loops - 1
    say("}")
  end
  for _ = 1, count do
    local kind = p.r(depth > 0 and 12 or 6)
    local type = pick(p, names)
    if kind <= 4 then
      say("%s%d = %s;", type, p.r(3) - 1, expression(p, type, 3))
    elseif kind == 5 then
      local where = pick(p, { "arr[%s]", "mem[%s]", "farr[%s]", "s.b[%s & 3]", "s.a", "s.c", "s.d", "s.e", "s.g" })
      local of = { ["farr[%s]"] = "f", ["s.c"] = "f", ["s.d"] = "d", ["s.g"] = "l" }
      local cast = { ["s.b[%s & 3]"] = "(unsigned char)", ["s.e"] = "(short)" }
      say("%s = %s(%s);", where:find "%%s" and where:format(place(p)) or where, cast[where] or "", expression(p, of[where] or "i", 2))
    elseif kind == 6 then
      say(p.inside and p.r(2) == 1 and "if (%s) %s;" or "if (%s) i0 = t;", expression(p, "i", 1), pick(p, { "break", "continue" }))
    elseif kind <= 8 then
      say("if (%s) {", expression(p, "i", 2))
      out[#out + 1] = inner(depth - 1, p.r(3))
      if p.r(2) == 1 then
        say("} else {")
        out[#out + 1] = inner(depth - 1, p.r(3))
      end
      say("}")
    elseif kind <= 10 and p.loops < 3 then
      p.counters = p.counters + 1
      local c = "n" .. p.counters
      local bound = pick(p, { "4", "7", "(%s & 7)", "(%s & 15)" }):gsub("%%s", function() return expression(p, "i", 1) end)
      if p.r(3) == 1 then
        say("int %s = %s;", c, bound)
        loop("while (%s-- > 0)", c)
      else
        loop(p.r(3) == 1 and "_Pragma(\"unroll\") for (int %s = 0; %s < %s; %s++)" or "for (int %s = 0; %s < %s; %s++)", c, c, bound, c)
      end
    elseif kind == 11 then
      local was = p.inside
      p.inside = false -- a break would leave the switch
      say("switch (%s & 3) {", expression(p, "i", 1))
      for k = 0, p.r(4) - 1 do
        say("case %d:", k)
        out[#out + 1] = inner(depth - 1, p.r(2))
        if p.r(4) > 1 then say("  break;") end
      end
      say("}")
      p.inside = was
    elseif p.inside == nil then
      say("if (%s) return mix(h, (u64)i0 ^ (u64)l1);", expression(p, "i", 1))
    end
  end
  return table.concat(out, "\n")
end

local function make_function(r, k)
  local p = { r = r, indent = 1, loops = 0, counters = 0 }
  local helper = ("%s int helper%d(int i0, float f0, i64 l0) {\n  return %s;\n}\n"):format(pick(p, { "OUT_OF_LINE", "F" }), k,
    pick(p, { "add(i0, whole(f0))", "l0 > i0 ? (int)l0 : mul(i0, 7)", "f0 < 2 ? sub(i0, (int)l0) : quo(i0, 3)", "(int)(l0 >> (i0 & 31))" }))
  p.calls = "helper" .. k
  local lines = { helper, ("F u64 f%d(int t, const int *I, const float *X, const unsigned char *B, int *mem) {"):format(k), "  u64 h = 17;" }
  for _, n in ipairs(names) do
    local from = { i = "I[t]", u = "(u32)I[t] * 3u", l = "(i64)I[t] << 13", f = "X[t]", d = "X[t] * 1.5" }
    for j = 0, 2 do lines[#lines + 1] = ("  %s %s%d = %s;"):format(types[n], n, j, j == 0 and from[n] or number(p, n)) end
  end
  lines[#lines + 1] = ("  int arr[%d]; float farr[%d];"):format(PLACES, PLACES)
  lines[#lines + 1] = ("  for (int k = 0; k < %d; k++) { arr[k] = I[t] ^ k; farr[k] = X[t] + k; }"):format(PLACES)
  lines[#lines + 1] = "  struct S s = {I[t], {1, 2, 3, 4}, X[t], 2.5, 7, 11};"
  lines[#lines + 1] = block(p, 3, 6 + r(8))
  for _, n in ipairs(names) do
    local how = { i = "h = mix(h, (u64)(i64)%s);", u = "h = mix(h, %s);", l = "h = mix(h, (u64)%s);", f = "h = mixf(h, %s);", d = "h = mixd(h, %s);" }
    for j = 0, 2 do lines[#lines + 1] = "  " .. how[n]:format(n .. j) end
  end
  lines[#lines + 1] = ("  for (int k = 0; k < %d; k++) h = mixf(mix(mix(h, (u64)arr[k]), (u64)mem[k]), farr[k]);"):format(PLACES)
  lines[#lines + 1] = "  return mixd(mixf(mix(mix(h, (u64)s.a + s.b[0] + s.b[3]), (u64)s.g ^ (u64)s.e), s.c), s.d);\n}\n"
  return table.concat(lines, "\n")
end

---- both ways
local floats = { 0, -0.0, 1, -1.5, 1e-40, 3e38, 1 / 0, -1 / 0, 0.1, 1000.7, -7.25, 1e-3 }
local function inputs(r)
  local whole, real, bytes = {}, {}, {}
  for k = 1, THREADS do
    whole[k] = r(3) == 1 and r(9) - 5 or r(3) == 1 and r(-0x80000000, 0x7fffffff) or r(1000)
    real[k] = r(3) == 1 and floats[r(#floats)] or (r() - 0.5) * 100
  end
  for k = 1, 64 do bytes[k] = r(0, 255) end
  return { whole = whole, real = real, bytes = bytes }
end

local function list(x, format)
  local out = {}
  for k = 1, #x do out[k] = format:format(x[k]) end
  return table.concat(out, ",")
end

local function bits_of(x) return (string.unpack("<I4", string.pack("<f", x))) end

-- What the host gives: for each function and thread a number.
local function by_compiler(body, given)
  local calls, bits = {}, {}
  for k, x in ipairs(given.real) do bits[k] = bits_of(x) end
  for k = 1, FUNCTIONS do
    calls[k] = ("for (int t = 0; t < %d; t++) { int mem[%d] = {0}; mem[t & 7] = t; printf(\"%%llx\\n\", f%d(t, I, X, B, mem)); }"):format(THREADS, PLACES, k)
  end
  local data = ("static const int I[] = {%s};\nstatic const u32 bits[] = {%s};\nstatic const unsigned char B[] = {%s};\n"):format(
    list(given.whole, "(int)%dll"), list(bits, "%du"), list(given.bytes, "%d"))
  local main = ("int main(void)\n{\nfloat X[%d]; memcpy(X, bits, sizeof X);\n%s\n}\n"):format(THREADS, table.concat(calls, "\n"))
  return t.by_compiler(whole_text(of_c, body) .. data .. main)
end

local function by_kernels(body, given)
  local kernels, out = {}, {}
  local whole, real, bytes = gpu.array(given.whole, "int32"), gpu.array(given.real, "float32"), gpu.array(given.bytes, "uint8")
  for k = 1, FUNCTIONS do
    kernels[k] = ([[
extern "C" __global__ void k%d(const int *I, const float *X, const unsigned char *B, int *mem, u64 *out, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) { mem[t * 8 + (t & 7)] = t; out[t] = f%d(t, I, X, B, mem + t * 8); }
}]]):format(k, k)
  end
  local program = gpu.kernel(whole_text(of_cuda, body) .. table.concat(kernels, "\n"), { options = { "-fmad=false" } })
  for k = 1, FUNCTIONS do
    local mem, results = gpu.zeros(THREADS * PLACES, "int32"), gpu.zeros(THREADS, "int64")
    local threads = SHAPES[math.random(#SHAPES)]
    program["k" .. k]((THREADS + threads - 1) // threads, threads)(whole, real, bytes, mem, results, THREADS)
    out[k] = results:totable()
  end
  return out
end

local function compare(seed)
  local r, body = math.random, {}
  for k = 1, FUNCTIONS do body[k] = make_function(r, k) end
  body = table.concat(body, "\n")
  local given = inputs(r)
  local want, got = by_compiler(body, given), by_kernels(body, given)
  for k = 1, FUNCTIONS do
    for thread = 1, THREADS do
      local a, b = got[k][thread], want[(k - 1) * THREADS + thread]
      if a ~= b then error(("program %d, function %d, thread %d: %x on the software GPU, %x by the compiler"):format(seed, k, thread - 1, a, b), 0) end
    end
  end
end

t.seeds("a program made at random beside the compiler's", 4, compare)
t.done()
