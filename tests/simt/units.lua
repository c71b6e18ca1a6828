-- Arrays of bytes and halves in shared memory, of which gpu.check keeps tags of these instead of words: what that must not
-- miss, where something else touches them, too, or tags of words go on beside.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local head <const> = [[
typedef unsigned __attribute__((may_alias)) word;
extern __shared__ __align__(128) unsigned char smem[]; // its name is known to asm
__device__ __noinline__ void store(unsigned at, int value) {
  asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(value) : "memory");
}
__device__ unsigned start() {
  unsigned at;
  asm("mov.u32 %0, smem;" : "=r"(at));
  return at;
}
__global__ void k(unsigned char *x, const int *at, int *out, int n) {
  int i = threadIdx.x;
  x += 256 * blockIdx.x, out += 64 * blockIdx.x;
]]

-- 64 threads, 256 dynamic bytes; `at` holds i, then i * 5 % 64; n is 1. kind: of the reports, nil: there are none. Machine
-- code, which blocks run that come later, says as much of each of them.
local BLOCKS <const> = 9
local function case(name, kind, body)
  t.test(name, function()
    local k = gpu.kernel { source = head .. body .. "\n}", chunk = "case", line = 1 }
    local at = {}
    for i = 0, 127 do at[i + 1] = i < 64 and i or i * 5 % 64 end
    local function count(blocks)
      local x, out, sum = gpu.zeros(256 * blocks, "uint8"), gpu.zeros(64 * blocks, "int32"), 0
      for _, r in ipairs(gpu.check(function() k.k(blocks, 64, 256)(x, gpu.array(at, "int32"), out, 1) end)) do
        t.eq(r.kind, kind, r.text)
        sum = sum + r.count
      end
      return sum
    end
    local one = count(1)
    t.eq(one > 0, kind ~= nil)
    t.eq(count(BLOCKS), BLOCKS * one)
  end)
end

local fill <const> = "__shared__ __align__(4) unsigned char s[256];\n for (int k = 0; k < 4; k++) s[4 * i + k] = k;\n __syncthreads();\n"
case("words by some lanes, and a byte of another's", "race",
  fill .. "if (i % 4 != 3) ((word *)s)[at[i]] = i;\n out[i] = s[(4 * i + 4) % 256];")
case("words in a row, and the byte of a place that is the thread's number", "race",
  fill .. "((word *)s)[at[i]] = i;\n if (i == 4) out[i] = s[at[i]];")
case("the bytes of one's own word", nil, fill .. "((word *)s)[at[i]] = i;\n out[i] = s[4 * i + 3] + s[4 * i];")
case("bytes of one word by four threads", nil, fill .. "s[i] = 1;\n s[i] += at[i];\n out[i] = s[i];")
case("halves of one word by two threads", nil,
  "__shared__ short h[64];\n h[at[i]] = i;\n h[i] += 1;\n __syncthreads();\n out[i] = ((word *)h)[i / 2];")
case("a half that another thread reads", "race", "__shared__ short h[64];\n h[at[i]] = i;\n out[i] = h[i ^ 1];")
case("the second of two words that are stored together", "race",
  "__shared__ int2 p[64];\n p[i] = make_int2(n, n);\n __syncthreads();\n p[at[i + 64]] = make_int2(i, i);\n out[i] = ((word *)p)[(2 * i + 3) % 128];")
-- Tables that are loaded by words and bytes, and counters, in one array: its bytes have tags, with updates of words, too.
local table <const> = "word *w = (word *)smem;\n w[i] = 4 * i;\n __syncthreads();\n int e = w[at[i + 64]] / 4 + smem[4 * at[i]];\n"
case("words and bytes of a table, then counters there", nil,
  table .. "__syncthreads();\n w[i] = 0;\n __syncthreads();\n atomicAdd(&w[e % 8], 1);\n atomicAdd(&w[i], i);\n __syncthreads();\n out[i] = w[e % 8] + smem[i];")
case("a counter in a table that others may still read", "race", table .. "out[i] = e;\n atomicAdd(&w[63 - i], 1);")
case("a byte of a counter that is still updated", "race",
  table .. "__syncthreads();\n atomicAdd(&w[at[i]], 1);\n out[i] = smem[4 * (63 - i)] + e;")
case("a byte beside those of a counter that is still updated", nil,
  table .. "__syncthreads();\n if (i < 32) atomicAdd(&w[at[i]], 1);\n else smem[4 * i + 1] = e;\n __syncthreads();\n out[i] = w[i];")
case("a byte of a counter is stored, too", "race",
  table .. "__syncthreads();\n atomicAdd(&w[at[i]], 1);\n smem[4 * (63 - i) + 3] = e;")
case("a counter that is updated by all, and stored", "race",
  table .. "__syncthreads();\n atomicAdd(&w[5], 1);\n if (i == 40) w[5] = e;")
case("a counter of which one byte was never written", "uninitialized read",
  "word *w = (word *)smem;\n smem[4 * i] = smem[4 * i + 1] = smem[4 * i + 2] = i;\n if (i) smem[4 * i + 3] = 0;\n __syncthreads();\n atomicAdd(&w[i], 1);\n __syncthreads();\n out[i] = w[i];")
case("a pointer that may lead elsewhere, and the array itself", "race",
  fill .. "word *p = (word *)(n ? s : x);\n p[i] = i;\n out[i] = s[(4 * i + 4) % 256];")
case("a pointer that may lead elsewhere, behind the barrier", nil,
  fill .. "word *p = (word *)(n ? s : x);\n p[i] = i;\n __syncthreads();\n out[i] = s[63 - i];\n __syncthreads();\n s[i] = 1;")
case("lanes that meet by masks read words of bytes", "race",
  fill .. "if (i < 32) { s[i] = i; return; }\n __syncwarp(i % 32 < 16 ? 0xffff : 0xffff0000);\n out[i] = ((word *)s)[i % 8];")
case("lanes that meet by masks write words of bytes", "race",
  fill .. "if (i < 32) { s[i] = i; return; }\n __syncwarp(i % 32 < 16 ? 0xffff : 0xffff0000);\n ((word *)s)[at[i] % 32] = i;\n out[i] = s[4 * (i % 32)];")
case("what volatile stores write is written", nil,
  "__shared__ unsigned char s[64];\n ((volatile unsigned char *)s)[i] = i;\n __syncthreads();\n out[i] = s[63 - i];")
case("words at an odd place", "misaligned",
  "__shared__ unsigned char c[3], s[256];\n if (i < 3) c[i] = i;\n for (int k = 0; k < 4; k++) s[4 * i + k] = k;\n __syncthreads();\n"
    .. "if (i % 4 != 3) out[i] = ((word *)s)[at[i]];\n __syncthreads();\n if (i < 3) out[i] += c[i];")
case("halves at an odd place, by a table", "misaligned",
  "__shared__ unsigned char c[3], s[256];\n if (i < 3) c[i] = i;\n ((short *)s)[at[i + 64]] = i;\n __syncthreads();\n"
    .. "out[i] = ((short *)s)[at[i + 64]];\n __syncthreads();\n if (i < 3) out[i] += c[i];")
case("a function stores by an address that it is given", "race",
  fill .. "store((unsigned)__cvta_generic_to_shared(s + 4 * i), n);\n out[i] = s[(4 * i + 4) % 256];")
case("an address that is kept in shared memory", nil, [[
  __shared__ unsigned table[64];
  __shared__ unsigned char w[64];
  table[i] = (unsigned)__cvta_generic_to_shared(w) + 63 - i;
  smem[i] = i;
  __syncthreads();
  unsigned p = start();
  if (n) p = table[63 - i];
  asm volatile("st.shared.u8 [%0], %1;" :: "r"(p), "r"(i) : "memory");
  __syncthreads();
  out[i] = w[63 - i] + smem[63 - i];]])
case("an offset that takes a large sum back", nil, [[
  unsigned p = start() + i + 600000000 * n;
  asm volatile("st.shared.u8 [%0-600000000], %1;" :: "r"(p), "r"(i) : "memory");
  __syncthreads();
  out[i] = smem[63 - i];]])
case("a byte of a word that is copied, and nobody waits", "race", [[
  smem[i] = i;
  __syncthreads();
  if (i == 0) asm volatile("cp.async.ca.shared.global [smem+4], [%0], 4;" :: "l"(x) : "memory");
  __syncthreads();
  out[i] = smem[4];]])
case("a byte of a source that is still added", "race", [[
  smem[i] = i;
  __syncthreads();
  if (i == 0)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [smem], 16;" :: "l"(x) : "memory");
  __syncthreads();
  smem[i] = 1;]])
case("a byte of a word that is stored asynchronously", "race", [[
  smem[i] = i;
  if (i == 0) asm volatile("mbarrier.init.shared.b64 [smem+128], 1;" ::: "memory");
  __syncthreads();
  if (i == 0) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [smem+128], 4;" ::: "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [smem+4], %0, [smem+128];" :: "r"(i) : "memory");
  }
  __syncthreads();
  out[i] = smem[4];]])

if os.getenv "LUNARRAY_JIT" ~= "0" then t.again("tests/simt/units.lua", "LUNARRAY_JIT=0", 1) end

t.done()
