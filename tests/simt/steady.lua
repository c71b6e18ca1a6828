-- Kernels whose first block is right in shared memory: what the others do wrong must be told all the same, wherever the
-- difference between blocks comes from. And of what all blocks do alike, each must be told.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local blocks, threads = 12, 64
local n = blocks * threads
local order = gpu.range(0, n - 1):to("int32") % threads
local clashes = order:copy()
clashes[{ { 5 * threads + 1, 5 * threads + 2 } }] = 7 -- two lanes of block 5 mean one place
local zeros, one = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
one[{ { 5 * threads + 1, 6 * threads } }] = 1
local counts = gpu.zeros(blocks, "int32")
counts[6] = 1

-- Body of a kernel with `s`, 128 ints of shared memory, t, b (the block), i, in[], per[] (by block), out[]. `want`: the
-- kind of what is told first, of block 5 alone or of all (so many times, 0: any); nil: nothing is.
local function case(name, want, body, input, of_all, reports)
  t.test(name, function()
    local k = gpu.kernel([[__global__ void k(const int *in, const int *per, int *out, int n) {
      __shared__ int s[128];
      int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
      ]] .. body .. "\n}")
    for _ = 1, 3 do
      local out = gpu.zeros(n, "int32")
      local found = gpu.check(function() k(blocks, threads)(input or zeros, counts, out, n) end)
      t.eq(#found, reports or want and 1 or 0, found[1] and found[1].text or "reports")
      if want then
        t.eq(found[1].kind, want)
        t.eq(found[1].block.x, of_all and 0 or 5)
        if of_all and of_all > 0 then t.eq(found[1].count, of_all) end
      end
    end
  end)
end

case("an index that depends on the block", "race", "s[b == 5 ? t / 2 : t] = t; __syncthreads(); out[i] = s[t / 2];")
case("an index from memory", "race", "s[t] = t; __syncthreads(); s[in[i]] = t; __syncthreads(); out[i] = s[t];", clashes)
case("an index from memory that is right", nil, "s[in[i]] = t; __syncthreads(); out[i] = s[t];", order)
case("an index that memory chooses", "race", "int d = 1; if (per[b]) d = 2; s[t] = 0; __syncthreads(); s[t / d] = t; __syncthreads(); out[i] = s[t];")
case("a store under a condition of the block", "race", "s[t] = t; __syncthreads(); if (b == 5) s[0] = t; __syncthreads(); out[i] = s[t];")
for what, condition in pairs { -- n is 768: what compilers know they compute
  ["a number's quotient"] = "b * 5 - 22 >> 2 == n - 768", ["a quotient"] = "unsigned(b * 5 + 2) >> 2 == n - 762",
  ["a negative number's bits"] = "unsigned(b * 5 - 26) >> 2 == n - 768 + 0x3FFFFFFF",
} do
  case("a store under a condition of " .. what, "race",
    ("s[t] = t; __syncthreads(); if (%s) s[0] = t; __syncthreads(); out[i] = s[t];"):format(condition))
end
case("a store under a condition of threads' quotients", "race",
  "if (i >> 2 >= n - 673) s[63 - t] = t; else s[t] = t; __syncthreads(); out[i] = s[t];")
case("a store under a condition of memory", "race", "s[t] = t; __syncthreads(); if (in[i]) s[0] = t; __syncthreads(); out[i] = s[t];", one)
case("a barrier under a condition of memory", "race", "s[t] = t; if (!per[b]) __syncthreads(); out[i] = s[63 - t];")
case("a loop as long as memory says", "race",
  "s[t] = t; __syncthreads(); for (int k = 0; k < per[b]; k++) s[k] = t; __syncthreads(); out[i] = s[t];")
case("a loop that leaves early where memory says so", "race",
  "for (int k = 0; k < 4; k++) { s[t] = k + t; if (per[b] && k == 1) break; __syncthreads(); out[i] = s[63 - t]; __syncthreads(); } out[i] += s[t ^ 1];")
case("values that are the same in the first block", "race", "s[t] = t; __syncthreads(); s[0] = in[i] * t; __syncthreads(); out[i] = s[t];", one)
case("a value of a lane of the warp", "race",
  "int d = __shfl_sync(~0u, per[b], 3); s[t] = t; __syncthreads(); s[t >> d] = t; __syncthreads(); out[i] = s[t];")
case("a value of shared memory", "race",
  "s[t] = t; if (t == 0) s[64] = per[b]; __syncthreads(); if (s[64]) s[t / 2] = 2 * t; __syncthreads(); out[i] = s[t];")
case("a word that one block does not write", "uninitialized read", "if (b != 5 || t < 63) s[t] = t; __syncthreads(); out[i] = s[t];")
case("a thread that leaves where memory says so", "uninitialized read",
  "if (per[b] && t == 9) return; s[t] = t; __syncthreads(); out[i] = s[63 - t];", nil, nil, 2) -- and at the barrier
case("an index past the end in one block", "out of bounds", "s[t] = t; __syncthreads(); out[i] = s[per[b] && t == 63 ? 128 : t];")
case("a warp that does not meet in one block", "race",
  "s[t] = t; if (!per[b]) __syncwarp(); out[i] = s[t ^ 1];")

-- Conditions of the block's index: `lim` lies within block 5, `five` at its start.
local function guarded(name, want, body, reports)
  case(name, want, "int five = n - 448, lim = five + 10; " .. body, nil, nil, reports)
end
guarded("a guard that some threads of a block fail", "race", "if (i < lim || i >= five + 64) s[t] = t; else s[0] = t; __syncthreads(); out[i] = s[0];")
guarded("a word that is written behind a guard alone", "uninitialized read", "if (i < lim || b > 5) s[t] = t; __syncthreads(); out[i] = s[t];")
guarded("a return behind a guard", "uninitialized read", "if (i >= lim && b < 6) return; s[t] = t; __syncthreads(); out[i] = s[63 - t];", 2)
guarded("a guard that all threads of a block fail", "race", "if (i < five || b > 5) s[t] = t; else s[t / 2] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard without a sign", "race", "if ((unsigned)(i - five) < 64u) s[t / 2] = t; else s[t] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard whose sum goes round", "race", "if ((int)((unsigned)i + 2147483647u - lim) >= 0) s[t] = t; else if (b > 5) s[t] = t; else s[0] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard of the larger of two", "race", "if (max(i, lim - t) < five + 64 && b > 4) s[t / 2] = t; else s[t] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard of 64 bits", "race", "if ((long long)i * i < (long long)five * five || b > 5) s[t] = t; else s[0] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard of bits", "race", "if (i >> 6 != 5) s[t] = t; else s[t & 62] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard of bits that are cut off", "race", "if ((i & 448) != 320) s[t] = t; else s[t & 62] = t; __syncthreads(); out[i] = s[0];")
guarded("an index that a guard chooses", "race", "int d = i < five || i > five + 63 ? 1 : 2; s[t / d] = t; __syncthreads(); out[i] = s[0];")
guarded("a guard of the block alone", "race", "if (b == 5) s[t / 2] = t; else s[t] = t; __syncthreads(); out[i] = s[0];")
guarded("a loop as long as the block's index", "race", "s[t] = t; __syncthreads(); for (int k = 5; k <= b && k < 6; k++) s[k] = t; __syncthreads(); out[i] = s[t];", nil)
guarded("a barrier behind a guard", "race", "s[t] = t; if (i < five || b > 5) __syncthreads(); out[i] = s[63 - t];")
guarded("two guards, of which the second fails", "race", "if (b < 9) { if (i < five || b > 5) s[t] = t; else s[t / 2] = t; } __syncthreads(); if (b < 9) out[i] = s[t];")
guarded("an index by the larger of two of the block's numbers", "race", "s[t >> max(b - 4, 0) * max(6 - b, 0)] = t; __syncthreads(); out[i] = s[t];")
guarded("an index by the smaller of two of them", "race", "s[t >> min(b - 6, 0) * min(4 - b, 0)] = t; __syncthreads(); out[i] = s[t];")
guarded("an index by one of two of them", "race", "int d = b < 5 ? 0 : b; s[t >> (d > 5 ? 0 : d)] = t; __syncthreads(); out[i] = s[t];")
guarded("an index by the other one of two", "race", "int d = five == 64 * b ? lim - five - 9 : n - 768; s[t >> d] = t; __syncthreads(); out[i] = s[t];")
guarded("an index by the smaller of two that are not followed", "race", "s[t >> 1 - min(b ^ 5, 1)] = t; __syncthreads(); out[i] = s[t];")
guarded("an index by one of two where the opposite of what is asked holds", "race", [[
  int d, least = (b - 5) * (b - 5) + 4;
  asm("{.reg .pred p; setp.ge.s32 p, %1, 5; selp.b32 %0, %2, 1, p;}" : "=r"(d) : "r"(least), "r"(max(b - 12, 0)));
  s[t >> d] = t; __syncthreads(); out[i] = s[t];]])
local many = {}
for k = 1, 20 do many[k] = ("max(b - %d, 0)"):format(11 + k) end
guarded("an index by more of them than are kept", "race",
  "s[t >> max(b - 4, 0) * max(6 - b, 0) + " .. table.concat(many, " + ") .. "] = t; __syncthreads(); out[i] = s[t];")
guarded("an atomic under a guard beside a store", "race", "s[t] = 0; __syncthreads(); if (i < lim - 2 || b > 5) s[t] = 1; else atomicAdd(&s[63], 1); if (t == 63) s[t] = 2; __syncthreads(); out[i] = s[t];")
guarded("guards that are right in all blocks", nil, "if (i < lim) s[t] = t; else s[t] = -t; __syncthreads(); if (i >= five) out[i] = s[63 - t];")
guarded("a tail that is right", nil, "s[t] = i < lim ? in[i] : 0; __syncthreads(); for (int d = 32; d; d /= 2) { if (t < d && i + d < n) s[t] += s[t + d]; __syncthreads(); } if (i < lim) out[i] = s[0];")
guarded("an address that goes round before the start", nil, "s[t] = t; __syncthreads(); int u = t - 4, v = 0; for (int k = 0; k < 9; k++) if (u + k >= 0 && u + k < 64) v += s[u + k]; if (i < lim) out[i] = v;")

case("a race in all blocks", "race", "s[t / 2] = t; __syncthreads(); out[i] = s[t / 4];", nil, 0)
case("a missing barrier in all blocks", "race", "s[t] = t; out[i] = s[63 - t];", nil, 0)
case("a word that no block writes", "uninitialized read", "s[t] = t; __syncthreads(); out[i] = s[t + 1];", nil, blocks)
case("an index past the end in all blocks", "out of bounds", "s[t] = t; __syncthreads(); out[i] = s[t == 63 ? 128 : t];", nil, blocks)
case("loops over memory beside it", nil,
  "int v = 0; for (int k = i; k < n; k += 128) if (in[k]) v += in[k] + per[b]; s[t] = v; __syncthreads(); for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); } out[i] = s[0];", one)
case("the same values in all blocks", nil, "s[t] = t; __syncthreads(); s[0] = 5; __syncthreads(); out[i] = s[t];")

t.test("a race of all blocks is counted in all of them", function()
  local k = gpu.kernel [[__global__ void k(int *out) { __shared__ int s[64]; int t = threadIdx.x; s[t] = t; out[blockIdx.x * 64 + t] = s[t ^ 32]; }]]
  local function count(blocks)
    local found = gpu.check(function() k(blocks, 64)(gpu.zeros(blocks * 64, "int32")) end)
    return found[1].count
  end
  t.eq(count(30), 30 * count(1))
end)

-- Loads that go by what memory says, where nobody stores to what they read: what is wrong with them in one block.
local fill = "s[t] = t; s[t + 64] = in[i]; __syncthreads(); "
local text = "unsigned char *c = (unsigned char *)s; for (int k = t; k < 512; k += 64) c[k] = k % 5 + in[i]; __syncthreads(); "
case("loads under a condition of memory", nil, fill .. "if (in[i]) out[i] = s[2 * t + 1];", one)
case("loads as often as memory says", nil, fill .. "for (int k = 0; k <= per[b]; k++) out[i] += s[t + 32 * k];")
case("loads where memory says", nil, fill .. "out[i] = s[in[i] + 2 * t] + s[127 - t - in[i]];", one)
case("loads past the end under a condition of memory", "out of bounds", fill .. "if (in[i]) out[i] = s[t + 100];", one)
case("loads before the start as often as memory says", "out of bounds", fill .. "for (int k = 0; k <= per[b]; k++) out[i] += s[t + 3 - 4 * k];")
case("loads past the end by one lane", "out of bounds", fill .. "out[i] = s[in[i] && t == 40 ? 128 : 2 * t];", one)
case("loads of what is not written in one block", "uninitialized read", "s[t] = t; __syncthreads(); if (in[i]) out[i] = s[t + 1];", one)
case("loads beside a store to something else", nil, "__shared__ int u[64]; " .. fill .. "if (in[i]) out[i] = s[2 * t]; u[t] = t; __syncthreads(); out[i] += u[63 - t];", one)
case("loads beside a store", "race", fill .. "if (in[i]) out[i] = s[63 - t]; if (t == 9) s[t] = 1;", one)
case("loads beside a store where memory says", "race", "__shared__ int u[64]; u[t] = t; " .. fill .. "if (in[i]) out[i] = s[63 - t]; int *p = u; if (per[b]) p = s; p[t] = u[t] = 1;", one)
case("loads in turns with stores", nil, "for (int k = 0; k < 4; k++) { s[t] = s[t + 64] = k; __syncthreads(); if (in[i]) out[i] += s[2 * t + 1]; __syncthreads(); }", one)
case("loads in turns with stores, but for a barrier", "race", "for (int k = 0; k < 4; k++) { s[t] = s[t + 64] = k * t; __syncthreads(); if (in[i]) out[i] += s[2 * t + 1]; }", one)
case("loads that go on into the next turn", "race",
  "for (int k = 0; k < 4; k++) { s[t] = s[t + 64] = k * t; __syncthreads(); if (in[i]) out[i] += s[2 * t]; __syncthreads(); if (in[i] && k == 2) out[i] += s[63 - t]; }", one)
case("loads as long as bytes are alike", nil, text .. "int k = 0; while (k < 256 && c[t + k] == c[5 + k]) k++; out[i] = k;", one)
case("loads of bytes past the end", "out of bounds", text .. "int k = 0; while (in[i] && k < 90 && c[511 - t + k] < 9) k++; out[i] = k;", one)
case("loads of bytes beside a store", "race", text .. "int k = 0; while (k < 256 && c[t + k] == c[5 + k]) k++; out[i] = k; if (t == 0) c[511] = k; if (in[i]) out[i] += c[511 - t / 2];", one)
case("loads of two words at an odd place", "misaligned", fill .. "int2 v = *(int2 *)(s + t * 2 - in[i] * (t > 0)); out[i] = v.x + v.y;", one)
case("loads between barriers of some warps", "race",
  "s[t] = s[t + 64] = t; __syncthreads(); if (in[i]) out[i] = s[63 - t]; if (t < 32) asm volatile(\"bar.sync 1, 32;\"); s[t] = 2 * t;", one)

-- Stores where memory says so to what the thread has touched anyway: somebody else reads it in one block, or stores to it.
case("exchanges where memory says so", nil,
  "s[2 * t] = in[i]; s[2 * t + 1] = t; __syncthreads(); for (int r = 0; r < 4; r++) { int a = 2 * t + r % 2; if (a < 127 && s[a] > s[a + 1]) { int v = s[a]; s[a] = s[a + 1]; s[a + 1] = v; } __syncthreads(); } out[i] = s[t] + s[t + 64];", one)
case("exchanges by turned bits where memory says so", nil,
  "s[t] = in[i] + t * 37 % 64; __syncthreads(); for (int j = 32; j; j /= 2) { int p = t ^ j; if (p > t && s[t] > s[p]) { int v = s[t]; s[t] = s[p]; s[p] = v; } __syncthreads(); } out[i] = s[t];", one)
case("a store where memory says so to what it stored", nil, "s[t] = t; if (in[i]) s[t] = 2 * t; __syncthreads(); out[i] = s[63 - t];", one)
case("a store where memory says so to what a neighbour reads", "race",
  "s[t] = t; __syncthreads(); int v = s[t], u = s[(t + 1) % 64]; if (in[i]) s[t] = u + 1; __syncthreads(); out[i] = u + v + s[t];", one)
case("a store where memory says so to a byte that a neighbour reads", "race",
  "__shared__ unsigned char u[64]; u[t] = t; __syncthreads(); int v = u[t], w = u[(t + 1) % 64]; if (in[i]) u[t] = w + 1; __syncthreads(); out[i] = v + w + u[t];", one)
case("a store where memory says so to what a neighbour reads at the end", "race",
  "s[t] = t; __syncthreads(); int v = s[t], u = s[t ^ 33]; if (in[i]) s[t] = u + 1; out[i] = u + v;", one)
-- The same where some threads of the block meet, who read what is theirs alone behind that.
for _, of in ipairs {
  { "lanes of a tile", "__syncwarp(0xffu << t % 32 / 8 * 8);" },
  { "lanes of a warp", "__syncwarp();" },
  { "warps by a barrier's number", [[asm volatile("bar.sync %0, 32;" ::"r"(1 + t / 32) : "memory");]] },
} do
  local who, meet = table.unpack(of)
  case("exchanges where memory says so among " .. who, nil,
    "s[t] = in[i] + t * 37 % 64; " .. meet .. " for (int j = 4; j; j /= 2) { int p = t ^ j; if (p > t && s[t] > s[p]) { int v = s[t]; s[t] = s[p]; s[p] = v; } " .. meet .. " } out[i] = s[t];", one)
  case("a store where memory says so to what another one reads among " .. who, "race",
    "s[t] = t; " .. meet .. " int v = s[t], u = s[t ^ 1]; if (in[i]) s[t] = u + 1; " .. meet .. " out[i] = u + v + s[t];", one)
end
case("a store where memory says so to what all read", "race",
  "s[t] = t; __syncthreads(); for (int r = 0; r < 2; r++) { int v = s[t]; if (in[i] && r) s[t] = v + 70; out[i] += v; if (r) out[i] += s[3]; __syncthreads(); }", one)
case("a store where memory says so behind one more barrier", "race",
  "s[t] = t; __syncthreads(); int *p = s + t / 2, v = *p; __syncthreads(); if (in[i]) *p = t; __syncthreads(); out[i] = v + s[t];", one)
case("a store where memory says so to what only some have touched", "race",
  "s[t] = t; __syncthreads(); int *p = s + t / 2, v = 0; if (t % 2) v = *p; if (in[i]) *p = t + v; __syncthreads(); out[i] = v + s[t];", one)
case("a store where memory says so behind another place", "race",
  "s[t] = t; __syncthreads(); int *p = s + t, v = 0; for (int k = 0; k < 2; k++) { v += *p; p = s + t / 2; } if (in[i]) *p = v + t; __syncthreads(); out[i] = v + s[t];", one)
case("a wider store where memory says so", "race",
  "s[t] = s[t + 64] = t; __syncthreads(); int v = s[t & 62]; if (in[i]) *(int2 *)(s + (t & 62)) = make_int2(v, t); __syncthreads(); out[i] = v + s[t];", one)
case("a store where memory says so to what another reads after a barrier", "race",
  "s[t] = t; __syncthreads(); int v = s[t]; __syncthreads(); int u = s[63 - t]; if (in[i]) s[t] = u + 1; out[i] = u + v;", one)
case("a wider store where memory says so to what a neighbour reads", "race",
  "s[2 * t] = s[2 * t + 1] = t; __syncthreads(); int v = s[2 * t], u = s[(2 * t + 3) % 128]; if (in[i]) *(int2 *)(s + 2 * t) = make_int2(u, v); out[i] = u + v;", one)
case("a store where memory says so between meetings of the warp", nil,
  "s[t] = t; __syncthreads(); int v = s[t], u = s[t ^ 1]; __syncwarp(); if (in[i]) s[t] = u + v; __syncwarp(); out[i] = u + v + s[t ^ 1];", one)

-- Warps that meet where nothing is to be said of shared memory order what they do to global memory all the same.
local passed = "s[t] = t; __syncwarp(); out[i] = s[t ^ 1]; __syncwarp(); int v = out["
case("lanes that meet and read what others of the warp left", nil, passed .. "i ^ 1]; __syncwarp(); out[i] = v + s[t ^ 2];")
case("lanes that meet and read what others left where memory says", nil,
  passed .. "in[i] + (i & ~31 | t & 7)]; __syncwarp(); for (int k = 0; k < 3; k++) { out[i] = v; __syncwarp(); v += out[i ^ k]; __syncwarp(); }", zeros)
case("lanes that meet and read what another warp left", "race", passed .. "per[b] ? i ^ 32 : i ^ 1]; __syncwarp(); s[t] = v;")
case("lanes that read what others left before they meet", "race", "s[t] = t; __syncwarp(); int v = s[t ^ 1]; out[i] = v; v = out[per[b] ? i ^ 1 : i]; __syncwarp(); s[t] = v;")

-- Variables that are touched alike in all blocks, beside one that is not.
local beside = "__shared__ int r[64]; r[t] = t; __syncthreads(); for (int d = 1; d < 64; d *= 2) { int u = t >= d ? r[t - d] : 0; __syncthreads(); r[t] += u; __syncthreads(); } "
case("stores where memory says beside a scan", nil, beside .. "s[in[i]] = r[63 - t]; __syncthreads(); out[i] = s[t];", order)
case("stores where memory says, that clash, beside a scan", "race", beside .. "s[t] = 0; __syncthreads(); s[in[i]] = r[63 - t]; __syncthreads(); out[i] = s[t];", clashes)
case("a word that is not written beside a scan", "uninitialized read",
  beside .. "if (!per[b] || t < 63) s[in[i]] = r[63 - t]; __syncthreads(); out[i] = s[t];", order)
case("stores past the end beside a scan", "out of bounds", beside .. "s[in[i] + 100 * (per[b] && t > 62)] = r[63 - t]; __syncthreads(); out[i] = r[t] + (t < 63 ? s[t] : 0);", order)
case("a race of what is alike beside what is not", "race", "__shared__ int r[64]; r[t] = t; s[in[i]] = r[63 - t]; __syncthreads(); out[i] = s[t];", order, 0)
case("a store where memory says so to what is alike otherwise", "race",
  "__shared__ int r[64]; r[t] = t; s[in[i]] = t; __syncthreads(); if (in[i] == 7 && per[b]) r[t + 1] = 99; out[i] = s[t] + r[t];", order)
case("a store to one of two variables", "race", "__shared__ int r[64]; r[t] = s[t] = t; __syncthreads(); int *p = r; if (per[b]) p = s; p[per[b] ? t / 2 : t] = 2 * t; __syncthreads(); out[i] = s[t] + r[t];")
case("meetings of warps beside what is alike", nil, beside .. "s[in[i]] = t; __syncwarp(); out[i] = s[t ^ 1] + r[t]; __syncwarp(); s[in[i]] = 2 * t; __syncwarp(); out[i] += s[t ^ 1];", order)
case("a warp that does not meet beside what is alike", "race", beside .. "s[in[i]] = t; if (!per[b]) __syncwarp(); out[i] = s[t ^ 1] + r[t];", order)
case("exchanges beside an index from memory", nil,
  "__shared__ int r[64]; r[t] = in[i]; s[in[i]] = t; __syncthreads(); int v = r[t], u = r[63 - t]; __syncthreads(); if (t < 32 && r[t] > r[63 - t]) { r[t] = u; r[63 - t] = v; } __syncthreads(); out[i] = r[t] + s[t];", order)

-- Where a table says where threads go, the same one in all blocks. `hand`: each block waits for the one
-- before it, and block 0 hands over what it has stored.
case("an index from a table", nil, "s[in[t]] = i; __syncthreads(); out[i] = s[63 - t];", order)
case("an index from a table that clashes", "race", "s[t] = 0; __syncthreads(); s[in[t + 320]] = t; __syncthreads(); out[i] = s[t];", clashes, 0)
case("an index from a part of a table", "race", "s[t] = 0; __syncthreads(); s[in[t + 64 * b]] = t; __syncthreads(); out[i] = s[t];", clashes)
case("a guard by a table", nil, "s[t] = t; __syncthreads(); if (per[t % 12] == 0) s[t + 64] = s[63 - t]; __syncthreads(); out[i] = s[t + (per[t % 12] ? 0 : 64)];")
case("a loop as long as a table says", "uninitialized read", "for (int k = 0; k < per[5] * 60; k++) s[k] = 1; __syncthreads(); out[i] = s[t];", nil, 4 * blocks)
local hand = [[
  if (t == 0) while (atomicAdd(per, 0) < b) __nanosleep(100);
  __syncthreads(); __threadfence();
  s[%s] = t; __syncthreads(); out[i] = s[t];
  if (!b) { %s; } __threadfence(); __syncthreads();
  if (t == 0) atomicExch(per, b + 1);]]
local function handed(name, index, store, want)
  t.test(name, function()
    local k = gpu.kernel("__device__ int table[64];\n__constant__ int fixed[64];\n" ..
      "__global__ void k(const int *in, int *other, int *per, int *out) { __shared__ int s[64]; int t = threadIdx.x, b = blockIdx.x, i = b * 64 + t; " ..
      hand:format(index, store) .. "}")
    for _ = 1, 3 do
      local all = gpu.range(0, 63):to("int32")
      k:global("table"):copy_(all)
      k:global("fixed"):copy_(all)
      local found = gpu.check(function() k(blocks, 64)(all, all, gpu.zeros(1, "int32"), gpu.zeros(n, "int32")) end)
      t.eq(#found, want and 1 or 0, found[1] and found[1].text or "reports")
      if want then t.eq(found[1].kind, want) end
    end
  end)
end
handed("a table that is stored to by another name", "in[t]", "if (t == 7) other[t] = 9", "race")
handed("a table that is stored to", "other[t]", "if (t == 7) other[t] = 9", "race")
handed("a table of the program that is stored to", "table[t]", "if (t == 7) table[t] = 9", "race")
handed("a table beside one that is stored to", "table[t]", "if (t == 7) other[t] = 9")
handed("a table of constants", "fixed[t]", "if (t == 7) other[t] = 9")
handed("a table that a reduction changes", "other[t]", "if (t == 7) atomicAdd(other + t, 2)", "race")

t.done()
