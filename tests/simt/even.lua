-- Kernels whose first block is right in global memory, where lanes of a warp meet in parts: what the others do wrong must
-- be told all the same, wherever the difference between blocks comes from, and what blocks do to each other.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local blocks, threads = 12, 64
local n = blocks * threads
local zeros, one = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
one[{ { 5 * threads + 1, 6 * threads } }] = 1
local own = gpu.range(0, n - 1):to("int32") % 16
local clashes = own:copy()
clashes[{ { 5 * threads + 1, 5 * threads + 2 } }] = 7 -- two lanes of block 5 mean one place
local counts = gpu.zeros(blocks, "int32")
counts[6] = 1

-- Body of a kernel with x[], a word for each thread and some more, t, b (the block), i, l (of its tile of 16 lanes), in[],
-- per[] (by block), out[]; MEET is a meeting of a tile. `want`: the kind of what is told, once; nil: nothing is.
local function case(name, want, body, input, grid, many)
  t.test(name, function()
    local k = gpu.kernel([[
    #define MEET __syncwarp(mask)
    __global__ void k(const int *in, const int *per, int *x, int *out, int n) {
      int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t, l = t % 16, v = 0;
      unsigned mask = 0xffffu << t % 32 / 16 * 16;
      ]] .. body .. "\n}")
    for _ = 1, 2 do
      local x, out = gpu.zeros(2 * n, "int32"), gpu.zeros(n, "int32")
      local found = gpu.check(function() k(grid or blocks, threads)(input or zeros, counts, x, out, n) end)
      t.eq(#found, want and (many or 1) or 0, found[1] and found[1].text or "reports")
      if want then t.eq(found[1].kind, want) end
    end
  end)
end

case("a sum by tiles", nil, "x[i] = t; MEET; for (int s = 8; s; s /= 2) { if (l < s) x[i] += x[i + s]; MEET; } out[i] = x[i];")
case("a sum by tiles behind a guard", nil,
  "if (i < n) x[i] = t; MEET; for (int s = 8; s; s /= 2) { if (l < s && i < n) x[i] += x[i + s]; MEET; } out[i] = x[i];")
case("tiles turned round", nil, "x[i] = t; MEET; v = x[i + 15 - 2 * l]; MEET; x[i ^ 1] = v; MEET; out[i] = x[i];")
case("tiles from the array's end", nil, "int j = 2 * n - 1 - i; x[j] = t; MEET; if (l) out[i] = x[j + 1];")
-- A race where a condition holds: loads of what others of the tile stored, which do not meet before.
local function where(condition, more) return "x[i] = t; if ((" .. condition .. ") && l < 8) " .. (more or "") .. "out[i] = x[i + 8]; MEET;" end
t.test("each block of one that is wrong in all", function()
  local k = gpu.kernel("__global__ void k(int *x, int *out) { int i = blockIdx.x * 64 + threadIdx.x; x[i] = i; if (threadIdx.x % 16 < 8) out[i] = x[i + 8]; __syncwarp(0xffffu << threadIdx.x % 32 / 16 * 16); }")
  local found = gpu.check(function() k(blocks, threads)(gpu.zeros(2 * n, "int32"), gpu.zeros(n, "int32")) end)
  t.eq(#found, 1)
  t.eq(found[1].count, blocks * threads // 2)
end)
case("a missing meeting in all blocks", "race", where "1")
case("a load under a condition of the block", "race", where "b == 5")
case("a load under a condition of the last threads", "race", where "i >= n - 10")
case("a load under a condition that never holds", nil, where "i >= n")
case("a load under a condition of memory", "race", where "in[i]", one)
case("a load under a condition of shared memory", "race", "__shared__ int s[64]; s[t] = per[b]; " .. where "s[t]")
case("a load under a condition of what a vote says", "race", where "__ballot_sync(~0u, per[b])")
case("a load in a loop as long as memory says", "race", where("1", "for (int k = 0; k < per[b]; k++) "))
case("a load in a loop as long as the block's index", "race", where("1", "for (int k = 5; k <= b; k++) "))
case("a meeting under a condition of memory", "race", "x[i] = t; if (!per[b]) MEET; if (l < 8) out[i] = x[i + 8]; MEET;")
case("a meeting of lanes that memory names", "race",
  "x[i] = t; __syncwarp(per[b] ? 1u << t % 32 : mask); if (l < 8) out[i] = x[i + 8]; MEET;")
case("a meeting of lanes that the block's index names", "race",
  "x[i] = t; __syncwarp(b == 5 ? 1u << t % 32 : mask); if (l < 8) out[i] = x[i + 8]; MEET;")
case("a thread that leaves where memory says so", "race", "x[i] = t; if (in[i] && l < 8) { out[i] = x[i + 8]; return; } MEET; out[i] = x[i];", one)
case("an index that depends on the block", "race", "x[i] = t; MEET; x[b == 5 ? i - t % 2 : i] = t; MEET; out[i] = x[i];")
case("an index from memory", "race", "x[i] = t; MEET; x[i - l + in[i]] = t; MEET; out[i] = x[i];", clashes)
case("an index from memory that is right", nil, "x[i] = t; MEET; x[i - l + in[i]] = t; MEET; out[i] = x[i];", own)
case("an index from memory, behind many others", "race",
  "x[i] = t; MEET; " .. ("out[i] = x[i] + 1; MEET; "):rep(70) .. "x[i - l + in[i]] = t; MEET;", clashes)
case("an index with a quotient", "race", "int j = i - i / 160; x[j] = t; MEET; out[i] = x[j];")
case("an index with a quotient of a number without a sign", "race", "unsigned u = i, j = u - u / 160; x[j] = t; MEET; out[i] = x[j];")
case("an index without a bit", "race", "int j = i & ~64; x[j] = t + b; MEET; out[i] = x[j];")
case("an index with a shift", "race", "int j = i - (int)((unsigned)i >> 7); x[j] = t; MEET; out[i] = x[j];")
case("an index that memory chooses", "race", "x[i] = t; MEET; x[in[i] ? i + 1 : i] = t; MEET; out[i] = x[i];", one)
case("an index that memory chooses by a branch", "race",
  "x[i] = t; MEET; int j = i; if (in[i]) { j = i + 1; v = __float2int_rn(sinf(per[b])); } x[j] = v; MEET; out[i] = x[i];", one)
case("an index that memory chooses by a branch that stays one", "race",
  [[x[i] = t; MEET; int j = i, u = in[i]; if (u) { j = i + 1; _Pragma("unroll 1") for (int k = 0; k < u + 40; k++) v = v * 3 ^ v >> 3 ^ k; } x[j] = v; MEET; out[i] = x[i];]], one)
case("an index that a loop moves", "race", "int j = i; for (int k = 4; k < b; k += 2) j ^= 1, j -= l & 1; x[j] = t; MEET; out[i] = x[j];")
case("values that are the same in the first block", "race", "x[i] = in[i] * t; if (!l) x[i + 1] = 0; MEET; out[i] = x[i];", one)
case("an update under a condition of memory", "race", "x[i] = t; if (in[i] && l < 8) atomicAdd(&x[i + 8], 1); MEET;", one)
case("a swap that memory lets succeed", "race", "x[i] = 0; MEET; v = x[i]; if (l < 15) atomicCAS(&x[i + 1], 1 - per[b], 5); MEET; out[i] = v;")
case("an update in all blocks", "race", "x[i] = t; if (l < 8) atomicAdd(&x[i + 8], 1); MEET;")

-- What is another block's.
case("the next block's words", "race", "x[i] = t; MEET; out[i] = x[i + 8]; MEET;")
case("the next block's words, where all threads meet", "race", "x[i] = t; __syncthreads(); out[i] = x[i + 8]; __syncthreads();")
case("the next block's words, in a tile of the last warp", "race", "x[i] = t; MEET; if (t == 60) out[i] = x[i + 4]; MEET;")
case("the block's words before", "race", "x[i] = t; MEET; if (i >= 1) out[i] = x[i - 1]; MEET;")
case("a word of all blocks", "race", "x[i] = t; MEET; if (t == 63) out[i] = x[7]; MEET; ")
case("blocks that go by other steps", "race", "x[i] = t; MEET; out[i] = x[t + 32 * b]; MEET;")
case("blocks that go by other steps, the first within its own", "race", "x[i] = t; MEET; out[i] = x[t + 128 * b]; MEET;")
case("words below a block's own, in its last warp", "race", "x[i + 8] = t; MEET; __syncthreads(); out[i] = x[64 * b + 63 - t];")
case("two words of which one is the next block's", "race",
  "x[i + 1] = t; MEET; __syncthreads(); if (t < 33) { int2 two = ((int2 *)x)[t + 32 * b]; out[i] = two.x + two.y; }")
case("blocks that lie among each other", "race", "x[t + 32 * b] = t; MEET; out[i] = x[t + 32 * b]; MEET;")
case("blocks of which some are the same", "race",
  "int j = t + 64 * (b + 2 * blockIdx.y); x[j] = t + blockIdx.y; MEET; out[j] = x[j]; MEET;", nil, { 3, 4 }, 2)
case("blocks along two axes", nil, "int j = t + 64 * (b + 3 * blockIdx.y); x[j] = t; MEET; if (l) out[j] = x[j - 1]; MEET;", nil, { 3, 4 })
case("blocks along two axes, by columns", nil, "int j = t + 64 * (4 * b + blockIdx.y); x[j] = t; MEET; if (l) out[j] = x[j - 1]; MEET;", nil, { 3, 4 })
case("blocks along an axis that go to one place", "race", "x[i] = t + blockIdx.y; MEET; if (l) out[i] = x[i - 1]; MEET;", nil, { 12, 2 }, 2)

-- Blocks of which some go another way.
local sum = "MEET; for (int s = 8; s; s /= 2) { if (l < s && i + s < n - 77) x[i] += x[i + s]; MEET; } out[i] = x[i];"
case("a sum up to a place in the last block but one", nil, "if (i < n - 77) x[i] = t; " .. sum)
case("a sum that the last block but one makes too far", "race",
  "if (i < n - 77) x[i] = t; MEET; if (b == 10 && l == 3) x[i + 12] = 0; " .. sum:sub(6))
case("a load where only the last block comes", "race", "x[i] = t; if (i >= n - 64 && l < 8) out[i] = x[i + 8]; MEET;")
case("a load where all but the first block come", "race", "x[i] = t; if (b && l < 8) out[i] = x[i + 8]; MEET;")
case("a load where blocks come that are not the last two", "race", "x[i] = t; if (i < n - 100 && l < 8) out[i] = x[i + 8]; MEET;")
case("a store of the last block to the one before", "race", "x[i] = t; MEET; if (b == 11 && !t) x[i - 1] = 0; MEET;")
case("a store of the last block to the third before", "race", "x[i] = t; MEET; if (b == 11 && !t) x[i - 160] = 0; MEET;")
case("a load of the last block from the one before", "race", "x[i] = t; MEET; if (b == 11 && !t) out[i] = x[i - 1]; MEET;")
case("a store of a block between to the next", "race", "x[i] = t; MEET; if (b == 7 && t == 63) x[i + 1] = 9; MEET;")
case("a store of a block between to the next row's first", "race",
  "int j = t + 64 * (b + 3 * blockIdx.y); x[j] = t; MEET; if (b == 2 && blockIdx.y == 2 && t == 63) x[j + 1] = 9; MEET;", nil, { 3, 4 })
case("stores of each row's last block to the next row's first", "race",
  "int j = t + 64 * (b + 3 * blockIdx.y); x[j] = t; MEET; if (b == 2 && t == 63) x[j + 1] = 9; MEET;", nil, { 3, 4 })
case("ways along two axes", nil,
  "int j = t + 64 * (b + 3 * blockIdx.y); if (b || blockIdx.y < 2) x[j] = t; MEET; if (blockIdx.y != 3 && l) out[j] = x[j - l]; MEET;", nil, { 3, 4 })
case("ways along two axes, one of which is wrong", "race",
  "int j = t + 64 * (b + 3 * blockIdx.y); if (b || blockIdx.y < 2) x[j] = t; if (blockIdx.y == 3 && l) out[j] = x[j - l]; MEET;", nil, { 3, 4 })

local many = {}
for k = 1, 300 do many[k] = ("if (i < n - %d) out[i] = v++;"):format(2 * k) end
case("more conditions than are looked at", "race", "x[i] = t; " .. table.concat(many) .. " MEET; if (l < 8 && b == 11) out[i] = x[i + 8] + x[i + 16]; MEET;")

-- Programs at random, beside ones that memory might lead elsewhere, of which each block is looked at.
local seed, count = tonumber(os.getenv "LUNARRAY_SEED") or 1, tonumber(os.getenv "LUNARRAY_PROGRAMS") or t.brief(40, 10)
local function pick(of) return of[math.random(#of)] end
local function place() return pick { "i", "i", "i", "i + 8", "i + 4", "i - 1", "i ^ 1", "i - l", "i + 15 - 2 * l", "i + 16", "i + 64", "i - 50", "i + 130" } end
local function statement()
  local guard = pick { "", "", "if (l < 8) ", "if (l) ", "if (l < 4) ", "if (t == 37) ", "if (t < 32) ", "if (i < n) ", "if (!(l & 7)) ",
    "if (i < n - 77) ", "if (b == 10) ", "if (b > 2 && l) ", "if (b) ", "if (i >= n && t < 20) " }
  return pick { "MEET;", "MEET;", "__syncwarp();", "__syncthreads();",
    guard .. "x[" .. place() .. "] = t;", guard .. "v += x[" .. place() .. "];", guard .. "x[i] += x[" .. place() .. "];",
    "for (int s = 8; s; s /= 2) { if (l < s) x[i] += x[i + s]; MEET; }" }
end
t.test("random programs", function()
  local racing, right = 0, 0
  for program = seed, seed + count - 1 do
    math.randomseed(program)
    local body, step = { "x[i] = t;", "MEET;" }, pick { 64, 64, 64, 64, 48, 80 }
    for _ = 1, math.random(2, 6) do body[#body + 1] = statement() end
    local blocks_meet = math.random(4) == 1 -- and nothing less
    local function found(first)
      local k = gpu.kernel((blocks_meet and "#define __syncwarp(mask) __syncthreads()" or "") .. [[

      #define MEET __syncwarp(mask)
      __global__ void k(const int *per, int *x, int *out, int n) {
        int t = threadIdx.x, b = blockIdx.x, i = 64 + t + STEP * b, l = t % 16, v = 0;
        unsigned mask = 0xffffu << t % 32 / 16 * 16;
        ]] .. first .. table.concat(body, "\n") .. "\nout[64 * b + t] = v;\n}", { options = { "-DSTEP=" .. step } })
      return gpu.check(function() k(blocks, threads)(counts, gpu.zeros(2 * n, "int32"), gpu.zeros(n, "int32"), n) end)
    end
    local races = #found "if (per[b] == 9) x[0] = 1;" > 0
    t.eq(#found "" > 0, races, "program " .. program .. (blocks_meet and ", blocks meet" or "") .. ", step " .. step .. ":\n" .. table.concat(body, "\n"))
    if races then racing = racing + 1 else right = right + 1 end
  end
  t.eq(right > count // 20 and racing > count // 20, true, right .. " right, " .. racing .. " racing")
end)

t.on_threads("tests/simt/even.lua", 1)

t.done()
