-- What one lane of a warp does in loops while the others wait, in programs made at random, with faults by chance: machine
-- code, which treats such a lane as if there were no others, computes and finds what the interpreter does. Of several
-- warps that race it depends on which runs first who is named; and of a full warp how many times, on whether its lanes
-- are looked at one by one.
--
--   build/lunarray tests/simt/alone.lua "" SEED COUNT     searches on: programs SEED to SEED + COUNT - 1
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local compare = assert(loadfile("tests/simt/shared/interpreted.lua"))(t)

local function pick(r, list) return list[1 + r(#list)] end

local function number(r) -- of an int
  return pick(r, { "v", "u", "i", "t", "g", "K", "v / (1 + (u & 7))", "u % (2 + (v & 3))", "max(v, u)", "min(v, K)", "abs(v)", "(v ^ K)", "~u", "(v << (u & 7))", "(v >> K)",
    "__mulhi(v, u)", "__popc(v)", "__clz(u)", "(int)(w * 3)", "(int)x", "(int)(l >> 3)", "(short)v", "(char)u", "__float_as_int(w)", "__byte_perm(v, u, 0x5140)", "p ? v : u",
    "(v < u ? K : v)", "__ffs(v)", "(w < x ? v : K)", "A[(v & 15) + K]", "A[g]", "S[v & 31]", "s[(u + K) & 31]", "L[v & 7]", "B[g & 7]", "H[u & 7]", "C[g]" }):gsub("K", function()
    return tostring(r(9))
  end)
end
local function real(r, type)
  return pick(r, { "w", "x", "w * 0.5f", "w + v", "x - u", "fminf(w, K)", "sqrtf(fabsf(w))", "x / (1 + (u & 3))", "fmaf(w, 0.25f, K)", "(v > 3 ? w : 2.0f)", "F[u & 15]", "fabs(x)",
    "floorf(w)", "D[v & 7]", "rsqrtf(1 + fabsf(w))", "fmax(x, 1.5)" }):gsub("K", function() return tostring(r(9)) end)
end

local function statement(r, depth, indent, odd)
  local kind = r(depth > 0 and 19 or 12)
  if kind <= 2 then return indent .. pick(r, { "v", "u" }) .. " = " .. number(r) .. " + " .. number(r) .. ";" end
  if kind == 3 then return indent .. "l = l * " .. number(r) .. " + " .. number(r) .. ";" end
  if kind <= 5 then return indent .. pick(r, { "w = (float)(", "x = (double)(" }) .. real(r) .. ");" end
  if kind == 6 then return indent .. "p = " .. pick(r, { "v > u", "w < 4", "!p", "p && v & 1", "x >= w", "l > 9", "v == u || p" }) .. ";" end
  if kind == 7 then return indent .. pick(r, { "L[v & 7] = ", "S[u & 31] = ", "s[(v + 1) & 31] = ", "s[t] = " }) .. number(r) .. ";" end
  if kind == 8 then return indent .. pick(r, { "F[g & 15] = w;", "C[g] = v;", "C[2 * g] = u;", "B[v & 7] = u;", "H[t & 7] = v;", "D[u & 7] = x;", "C[g + i] += v;" }) end
  if kind == 9 then return indent .. pick(r, { "atomicAdd(&C[g], v);", "atomicAdd(&S[0], 1);", "u = atomicAdd(&S[v & 31], u);", "v = atomicMax(&C[u & 7], v);" }) end
  if kind == 10 then return indent .. pick(r, { "q = (int4 *)A; v += q[u & 3].y + q[v & 3].w;", "((int2 *)C)[g] = make_int2(v, u);", "l += *(long long *)(C + 2 * g);" }) end
  if kind == 11 then
    local how = pick(r, { "v = %s / (u & 1);", "v += A[n + v];", "S[v] = u;", "v += *(const int *)((const char *)A + u);" })
    return indent .. (odd and how:format((number(r))) or "v ^= l;")
  end
  local out, inner = {}, indent .. "  "
  for _ = 1, 1 + r(3) do out[#out + 1] = statement(r, depth - 1, inner, odd) end
  local body = table.concat(out, "\n")
  if kind <= 14 then
    local condition = pick(r, { "t == 0", "t == 0", "t < 2", "v & 1", "t % 4 == 0", "p", "u > v", "w < x", "t == 5", "i == 3" })
    local other = r(3) == 0 and (" else {\n%s\n%s}"):format(statement(r, depth - 1, inner, odd), indent) or ""
    return ("%sif (%s) {\n%s\n%s}%s"):format(indent, condition, body, indent, other)
  end
  local limit = pick(r, { "rounds", "t % 4", "rounds + (t == 0 ? 9 : t / 8)", "(t ? 0 : 12)", "(t ? 1 : rounds)", "40 / (1 + t)" })
  local leave = r(3) == 0 and ("\n%sif (%s) %s;"):format(inner, pick(r, { "v > 900", "p", "u & 1", "w > 7" }), pick(r, { "break", "continue" })) or ""
  return ("%sfor (int i = 0; i < %s; i++) {\n%s%s\n%s}"):format(indent, limit, body, leave, indent)
end

local function source_of(r)
  local out, odd = {}, r(3) == 0
  for _ = 1, 2 + r(4) do
    out[#out + 1] = statement(r, 3, "    ", odd)
    if r(3) == 0 then out[#out + 1] = "    __syncthreads();" end
  end
  local guard = pick(r, { "t == 0", "t == 0", "t % 32 == 0", "true" })
  local body = table.concat(out, "\n")
  if guard ~= "true" then body = ("  if (%s) {\n%s\n  }"):format(guard, (body:gsub("    __syncthreads%(%);\n?", ""))) end
  return ([[
__global__ void k(const int *A, int *C, unsigned char *B, short *H, float *F, double *D, int n, int rounds) {
  __shared__ int S[32];
  __shared__ short s[64];
  int t = threadIdx.x + blockDim.x * threadIdx.y, g = blockIdx.x * blockDim.x * blockDim.y + t, v = g, u = t, i = 2, L[8];
  float w = t; double x = g; long long l = v; bool p = t & 1; int4 *q;
  B += 8 * g; H += 8 * g; F += 16 * g; D += 8 * g;
  for (int m = 0; m < 8; m++) L[m] = A[m] + t;
  if (t < 32) { S[t] = t; s[t] = t; s[t + 32] = 2; }
  __syncthreads();
]]) .. body .. "\n  __syncthreads();\n  C[4 * n + g] = v ^ u ^ (int)l ^ (int)w ^ (int)x ^ p ^ S[t & 31] ^ s[t & 63] ^ L[t & 7];\n}\n"
end

local SHAPES = { { 32 }, { 64 }, { 16, 4 }, { 40 }, { 8, 8 }, { 20 } }

-- What is found, and what is left in memory, as a text.
local function run(seed)
  local of = t.random(seed * 2654435761 % 4294967296)
  local function r(n) return of(n) end
  local source = source_of(r)
  local k = gpu.kernel { source = source, chunk = "case", line = 1 }
  local shape, lines, numbers = pick(r, SHAPES), {}, {}
  local blocks = 2
  local n = blocks * shape[1] * (shape[2] or 1)
  for i = 1, 2 * n + 64 do numbers[i] = r(2000) - 300 end
  local A, C = gpu.array(numbers, "int32"), gpu.zeros(6 * n, "int32")
  local B, H = gpu.zeros(8 * n, "uint8"), gpu.zeros(8 * n, "int16")
  local F, D = gpu.zeros(16 * n), gpu.zeros(8 * n, "float64")
  local function launch() -- each time the same: threads that write one number to a place race when it is another
    for _, x in ipairs { C, B, H, F, D } do x:fill(0) end
    k(blocks, shape)(A, C, B, H, F, D, n, 5)
  end
  local found = gpu.check(launch)
  for _, f in ipairs(found) do lines[#lines + 1] = n == blocks * 32 and f.text:gsub(" %(%d+ times%)", "") or f.kind end
  local ok, why = true, nil
  if #found == 0 then ok, why = pcall(launch) end
  if not ok then lines[#lines + 1] = tostring(why) end
  if #found == 0 and ok and source:find("= atomic", 1, true) then -- what it gives depends on which lane comes first
    lines[#lines + 1] = "computed"
  elseif #found == 0 and ok then
    lines[#lines + 1] = ("computed %s %s %s %s %s"):format(B:sum(), H:sum(), F:sum(), D:sum(), table.concat(C:totable(), " "))
  elseif n > blocks * 32 then
    lines = { "something" }
  end
  return table.concat(lines, "\n"), source
end

if compare("machine code computes and finds what the interpreter does", "tests/simt/alone.lua", run, t.brief(150, 30), 1 / 10) then return end

t.done()
