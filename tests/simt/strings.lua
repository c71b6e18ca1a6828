-- Kernels on words, bits and digits: string matching, distances of words, digests, run lengths, large numbers by carries in
-- PTX, queens, trees over Morton codes, noise, blocks of cosines, recurrences of dynamic programming.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local case = assert(loadfile("tests/simt/shared/both.lua"))(t, gpu)

local k = gpu.kernel [=[
typedef unsigned char byte;
// Knuth, Morris, Pratt: the table in constant memory, each thread a stretch that overlaps the next.
__constant__ unsigned char pattern[16];
__constant__ int fallback[16];
__global__ void find_word(const byte *text, int n, int m, int stretch, byte *starts) {
  int from = (blockIdx.x * blockDim.x + threadIdx.x) * stretch, to = min(n, from + stretch + m - 1), state = 0;
  for (int i = from; i < to; i++) {
    while (state > 0 && (state == m || pattern[state] != text[i])) state = fallback[state - 1];
    if (pattern[state] == text[i]) state++;
    if (state == m) starts[i - m + 1] = 1;
  }
}
// Rabin and Karp: a rolling sum modulo 2^32 of each window, from prefix sums of powers.
__global__ void window_hashes(const byte *text, int n, int m, unsigned wanted, int *count) {
  __shared__ byte piece[64 + 16];
  int first = blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64 + m - 1; i += 64) piece[i] = first + i < n ? text[first + i] : 0;
  __syncthreads();
  unsigned h = 0;
  for (int j = 0; j < m; j++) h = h * 257 + piece[threadIdx.x + j];
  unsigned hits = __ballot_sync(~0u, h == wanted && first + threadIdx.x + m <= n);
  if (threadIdx.x % 32 == 0 && hits) atomicAdd(count, __popc(hits));
}
// The distance of words by bits (Myers), a thread a pair; the pattern has at most 32 letters of 4 kinds.
__global__ void distances(const byte *a, const byte *b, int la, int lb, int *d, int pairs) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pairs) return;
  unsigned eq[4] = {0, 0, 0, 0};
  for (int i = 0; i < la; i++) eq[a[p * la + i]] |= 1u << i;
  unsigned pv = ~0u, mv = 0, last = 1u << (la - 1);
  int score = la;
  for (int j = 0; j < lb; j++) {
    unsigned e = eq[b[p * lb + j]], x = e | mv, y = (((e & pv) + pv) ^ pv) | e, ph = mv | ~(y | pv), mh = pv & y;
    if (ph & last) score++;
    if (mh & last) score--;
    ph = ph << 1 | 1, mh <<= 1;
    pv = mh | ~(x | ph), mv = ph & x;
  }
  d[p] = score;
}
// The longest common subsequence, a block a pair, a wavefront in three diagonals of shared memory.
__global__ void common(const byte *a, const byte *b, int n, int *longest) {
  extern __shared__ int diagonal[];
  int *two_ago = diagonal, *ago = two_ago + n + 1, *now = ago + n + 1, i = threadIdx.x;
  const byte *x = a + blockIdx.x * n, *y = b + blockIdx.x * n;
  for (int j = i; j < 3 * (n + 1); j += blockDim.x) diagonal[j] = 0;
  __syncthreads();
  for (int d = 0; d < 2 * n - 1; d++) {
    int j = d - i;
    if (i < n && j >= 0 && j < n) now[i + 1] = x[i] == y[j] ? two_ago[i] + 1 : max(ago[i], ago[i + 1]);
    __syncthreads();
    int *old = two_ago;
    two_ago = ago, ago = now, now = old;
  }
  if (i == 0) longest[blockIdx.x] = ago[n];
}
// A knapsack, a block, a thread a capacity, two rows in turns.
__global__ void knapsack(const int *weight, const int *value, int items, int *best) {
  __shared__ int row[2][128];
  int c = threadIdx.x, now = 0;
  row[0][c] = 0;
  for (int i = 0; i < items; i++, now ^= 1) {
    __syncthreads();
    int v = row[now][c];
    if (c >= weight[i]) v = max(v, row[now][c - weight[i]] + value[i]);
    row[now ^ 1][c] = v;
  }
  best[blockIdx.x * 128 + c] = row[now][c];
}
// SHA-256 of one block a thread.
__constant__ unsigned primes[64];
__device__ unsigned turn(unsigned x, int n) { return __funnelshift_r(x, x, n); }
__global__ void digests(const unsigned *message, unsigned *digest, int n) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  unsigned w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, s[8];
  for (int i = 0; i < 16; i++) w[i] = message[p * 16 + i];
  for (int i = 16; i < 64; i++) {
    unsigned a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  for (int i = 0; i < 8; i++) s[i] = h[i];
  for (int i = 0; i < 64; i++) {
    unsigned e = s[4], a = s[0];
    unsigned one = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + primes[i] + w[i];
    unsigned two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += one;
    s[0] = one + two;
  }
  for (int i = 0; i < 8; i++) digest[p * 8 + i] = h[i] + s[i];
}
// Check sums by a table that each block makes in shared memory.
__global__ void checksums(const byte *x, int length, unsigned *crc, int n) {
  __shared__ unsigned table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    unsigned v = i;
    for (int b = 0; b < 8; b++) v = v & 1 ? v >> 1 ^ 0xedb88320u : v >> 1;
    table[i] = v;
  }
  __syncthreads();
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  unsigned c = ~0u;
  for (int i = 0; i < length; i++) c = table[(c ^ x[p * length + i]) & 255] ^ c >> 8;
  crc[p] = ~c;
}
// 128-bit sums and products by carries, in PTX.
__global__ void wide(const uint4 *a, const uint4 *b, uint4 *sum, uint4 *product, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 x = a[i], y = b[i], s, p;
  asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
      : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
      : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
  asm("{\n\tmul.lo.u32 %0, %4, %6;\n\tmul.hi.u32 %1, %4, %6;\n\tmad.lo.cc.u32 %1, %4, %7, %1;\n\tmadc.hi.u32 %2, %4, %7, 0;\n\t"
      "mad.lo.cc.u32 %1, %5, %6, %1;\n\tmadc.hi.cc.u32 %2, %5, %6, %2;\n\taddc.u32 %3, 0, 0;\n\t"
      "mad.lo.cc.u32 %2, %5, %7, %2;\n\tmadc.hi.u32 %3, %5, %7, %3;\n\t}"
      : "=&r"(p.x), "=&r"(p.y), "=&r"(p.z), "=&r"(p.w)
      : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
  sum[i] = s, product[i] = p;
}
// Queens: each thread a beginning of two rows, the rest by a stack of its own.
__global__ void queens(int n, unsigned long long *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, a = i / n, b = i % n;
  if (a >= n || a == b || a == b + 1 || a == b - 1) return;
  unsigned all = (1u << n) - 1, columns[20], left[20], right[20], free[20];
  int depth = 0;
  unsigned found = 0;
  columns[0] = 1u << a | 1u << b, left[0] = (1u << a << 1 | 1u << b) << 1, right[0] = (1u << a >> 1 | 1u << b) >> 1;
  free[0] = all & ~(columns[0] | left[0] | right[0]);
  while (depth >= 0) {
    if (free[depth] == 0) { depth--; continue; }
    unsigned bit = free[depth] & -free[depth];
    free[depth] ^= bit;
    if (depth == n - 3) { found++; continue; }
    columns[depth + 1] = columns[depth] | bit, left[depth + 1] = (left[depth] | bit) << 1, right[depth + 1] = (right[depth] | bit) >> 1;
    depth++;
    free[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
  }
  atomicAdd(count, (unsigned long long)found);
}
// A tree over sorted codes, all inner nodes at once, then sums from the leaves, the second to come goes on.
__device__ int alike(const unsigned *code, int n, int i, int j) {
  return j < 0 || j >= n ? -1 : code[i] == code[j] ? 32 + __clz(i ^ j) : __clz(code[i] ^ code[j]);
}
__global__ void build(const unsigned *code, int n, int2 *child, int *parent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 1) return;
  int d = alike(code, n, i, i + 1) > alike(code, n, i, i - 1) ? 1 : -1, least = alike(code, n, i, i - d), most = 2;
  while (alike(code, n, i, i + most * d) > least) most *= 2;
  int length = 0;
  for (int s = most / 2; s > 0; s /= 2)
    if (alike(code, n, i, i + (length + s) * d) > least) length += s;
  int j = i + length * d, whole = alike(code, n, i, j), split = 0, s = length;
  do {
    s = (s + 1) / 2;
    if (alike(code, n, i, i + (split + s) * d) > whole) split += s;
  } while (s > 1);
  int middle = i + split * d + min(d, 0);
  int a = min(i, j) == middle ? n - 1 + middle : middle, b = max(i, j) == middle + 1 ? n + middle : middle + 1;
  child[i] = make_int2(a, b);
  parent[a] = i, parent[b] = i;
  if (i == 0) parent[0] = -1;
}
__global__ void climb(const int2 *child, const int *parent, int n, int *visits, volatile int *size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int node = n - 1 + i;
  size[node] = 1;
  while ((node = parent[node]) >= 0) {
    __threadfence();
    if (atomicAdd(&visits[node], 1) == 0) return;
    __threadfence();
    size[node] = size[child[node].x] + size[child[node].y];
  }
}
// Cosines of 8 by 8 blocks, rows then columns, by a table in constant memory.
__constant__ float cosines[64];
__global__ void cosine_blocks(const float *x, float *y, int w) {
  __shared__ float in[8][9], half[8][9];
  int tx = threadIdx.x, ty = threadIdx.y, at = (blockIdx.y * 8 + ty) * w + blockIdx.x * 8 + tx;
  in[ty][tx] = x[at];
  __syncthreads();
  float s = 0;
  for (int i = 0; i < 8; i++) s += in[ty][i] * cosines[tx * 8 + i];
  half[ty][tx] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; i++) s += half[i][tx] * cosines[ty * 8 + i];
  y[at] = s;
}
// Runs of equal letters: heads by comparison, places by a scan of the block, lengths by the next head.
__global__ void run_lengths(const byte *x, int n, byte *letter, int *length, int *runs) {
  __shared__ int sums[8], starts[257];
  int i = threadIdx.x, lane = i % 32, warp = i / 32;
  bool head = i < n && (i == 0 || x[i] != x[i - 1]);
  unsigned heads = __ballot_sync(~0u, head);
  if (lane == 0) sums[warp] = __popc(heads);
  __syncthreads();
  int before = 0, all = 0;
  for (int w = 0; w < 8; w++) before += w < warp ? sums[w] : 0, all += sums[w];
  int place = before + __popc(heads & ((1u << lane) - 1));
  if (head) starts[place] = i, letter[place] = x[i];
  if (i == 0) starts[all] = n, *runs = all;
  __syncthreads();
  if (i < all) length[i] = starts[i + 1] - starts[i];
}
]=]

local i32 = "int32"
local function letters(n, kinds, seed)
  local random = t.random(seed)
  return t.list(n, function() return random(kinds) end)
end
-- Enough of them for any scale: the host's list is made for scale 1 only.
local function text(n, kinds, seed) return gpu.array(letters(math.min(n, 1000), kinds, seed), "uint8"):tile((n + 999) // 1000)["1:" .. n] end

case("a word found by a table of fallbacks", function(s)
  local n, word = 1000 * s, { 0, 1, 0, 0, 1, 0 }
  local x, starts = text(n, 2, 5), gpu.zeros(n, "uint8")
  local fall, j = { 0 }, 0
  for i = 2, 6 do
    while j > 0 and word[i] ~= word[j + 1] do j = fall[j] end
    if word[i] == word[j + 1] then j = j + 1 end
    fall[i] = j
  end
  k:global("pattern")["1:6"]:copy_(gpu.array(word, "uint8"))
  k:global("fallback")["1:6"]:copy_(gpu.array(fall, i32))
  return function() k.find_word((n // 20 + 31) // 32, 32)(x, n, 6, 20, starts) end, function()
    local v = x:totable()
    t.same(starts:totable(), t.list(n, function(i)
      for q = 1, 6 do if v[i + q] ~= word[q] then return 0 end end
      return 1
    end))
  end
end)

case("windows by their hashes", function(s)
  local n = 1000 * s
  local x, count = text(n, 3, 9), gpu.zeros(1, i32)
  local h = 0
  for _, v in ipairs { 1, 2, 0 } do h = (h * 257 + v) & 0xffffffff end
  return function() k.window_hashes((n + 63) // 64, 64)(x, n, 3, h, count) end, function()
    local found = 0
    for _ in string.char(table.unpack(x:totable())):gmatch("()\1\2\0") do found = found + 1 end
    t.eq(count[1], found)
  end
end)

-- Edit distance, and the longest common subsequence, by the whole matrix.
local function matrix(a, b, edit)
  local row = t.list(#b + 1, function(j) return edit and j or 0 end)
  for i = 1, #a do
    local next = { edit and i or 0 }
    for j = 1, #b do
      local same = a[i] == b[j]
      if edit then next[j + 1] = math.min(row[j + 1] + 1, next[j] + 1, row[j] + (same and 0 or 1))
      else next[j + 1] = same and row[j] + 1 or math.max(row[j + 1], next[j]) end
    end
    row = next
  end
  return row[#b + 1]
end
local function part(list, from, n) return table.move(list, from, from + n - 1, 1, {}) end

case("distances of words by bits", function(s)
  local pairs_ = 20 * s
  local a, b, d = text(pairs_ * 30, 4, 1), text(pairs_ * 37, 4, 2), gpu.zeros(pairs_, i32)
  return function() k.distances((pairs_ + 31) // 32, 32)(a, b, 30, 37, d, pairs_) end, function()
    local x, y = a:totable(), b:totable()
    t.same(d:totable(), t.list(pairs_, function(p)
      return matrix(part(x, p * 30 + 1, 30), part(y, p * 37 + 1, 37), true)
    end))
  end
end)

case("common subsequences in three diagonals", function(s)
  local n, pairs_ = 60, 4 * s
  local a, b, d = text(pairs_ * n, 4, 3), text(pairs_ * n, 4, 4), gpu.zeros(pairs_, i32)
  return function() k.common(pairs_, 64, 3 * (n + 1) * 4)(a, b, n, d) end, function()
    local x, y = a:totable(), b:totable()
    t.same(d:totable(), t.list(pairs_, function(p) return matrix(part(x, p * n + 1, n), part(y, p * n + 1, n), false) end))
  end
end)

case("a knapsack in two rows", function(s)
  local weight, value = letters(12, 40, 6), letters(12, 100, 7)
  for i = 1, 12 do weight[i] = weight[i] + 1 end
  local best, w, v = gpu.zeros(128 * s, i32), gpu.array(weight, i32), gpu.array(value, i32)
  return function() k.knapsack(s, 128)(w, v, 12, best) end, function()
    local most = t.list(128, function() return 0 end)
    for set = 0, (1 << 12) - 1 do
      local ws, vs = 0, 0
      for i = 0, 11 do if set >> i & 1 == 1 then ws, vs = ws + weight[i + 1], vs + value[i + 1] end end
      for c = ws, 127 do most[c + 1] = math.max(most[c + 1], vs) end
    end
    t.same(best:totable(), most)
  end
end)

case("digests of one block a thread", function(s)
  local n = 40 * s
  local message, digest = gpu.zeros { n, 16 }:to("uint32"), gpu.zeros({ n, 8 }, "uint32")
  message[{ {}, 1 }], message[{ {}, 16 }] = 0x61626380, 24 -- "abc" and its length in bits
  local primes = {}
  for c = 2, 400 do
    local prime = #primes < 64
    for d = 2, c - 1 do prime = prime and c % d ~= 0 end
    if prime then
      -- the first 32 bits behind the point of the cube root, which a step by Newton has made exact enough
      local r = c ^ (1 / 3)
      r = r - (r * r * r - c) / (3 * r * r)
      primes[#primes + 1] = math.floor((r - math.floor(r)) * 4294967296)
    end
  end
  k:global("primes"):copy_(gpu.array(primes, "uint32"))
  return function() k.digests((n + 31) // 32, 32)(message, digest, n) end, function()
    for _, row in ipairs(digest:totable()) do
      t.same(row, { 0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad })
    end
  end
end)

case("check sums by a table of the block", function(s)
  local n = 70 * s
  local x, crc = text(n * 9, 200, 8), gpu.zeros(n, "uint32")
  x["1:9"] = gpu.array({ ("123456789"):byte(1, 9) }, "uint8")
  return function() k.checksums((n + 63) // 64, 64)(x, 9, crc, n) end, function()
    local v = x:totable()
    t.eq(crc[1], 0xcbf43926)
    t.same(crc:totable(), t.list(n, function(p)
      local c = 0xffffffff
      for i = 1, 9 do
        c = c ~ v[p * 9 + i]
        for _ = 1, 8 do c = c & 1 == 1 and c >> 1 ~ 0xedb88320 or c >> 1 end
      end
      return c ~ 0xffffffff
    end))
  end
end)

case("sums and products of 128 bits by carries", function(s)
  local n, random = 100 * s, t.random(12)
  local function digits() return t.list(400, function() local r = random(4) return r == 0 and 0xffffffff or r == 1 and 0 or random(32768) * 131071 % 4294967296 end) end
  local la, lb = digits(), digits()
  local function array(l) return gpu.array(l, "uint32"):tile(s):reshape(n, 4) end
  local a, b, sum, product = array(la), array(lb), gpu.zeros({ n, 4 }, "uint32"), gpu.zeros({ n, 4 }, "uint32")
  return function() k.wide((n + 31) // 32, 32)(a, b, sum, product, n) end, function()
    local ws, wp = {}, {}
    for i = 0, n - 1 do
      local carry, p = 0, { 0, 0, 0, 0, 0, 0, 0, 0 }
      for j = 1, 4 do
        local v = la[i * 4 + j] + lb[i * 4 + j] + carry
        ws[#ws + 1], carry = v & 0xffffffff, v >> 32
      end
      local function short(l, j) return l[i * 4 + j // 2 + 1] >> j % 2 * 16 & 0xffff end -- digits of 16 bits
      for q = 0, 3 do for r = 0, 3 do p[q + r + 1] = p[q + r + 1] + short(la, q) * short(lb, r) end end
      for q = 1, 7 do p[q + 1], p[q] = p[q + 1] + (p[q] >> 16), p[q] & 0xffff end
      for q = 1, 7, 2 do wp[#wp + 1] = p[q] | (p[q + 1] & 0xffff) << 16 end
    end
    t.same(sum:flatten():totable(), ws)
    t.same(product:flatten():totable(), wp)
  end
end)

case("queens", function(s)
  local n, count = math.min(8 + s - 1, 12), gpu.zeros(1, "uint64")
  return function() k.queens((n * n + 31) // 32, 32)(n, count) end, function() t.eq(count[1], 92) end
end)

case("a tree over sorted codes, and its sizes from the leaves", function(s)
  local n = 150 * s
  local code = gpu.sort((gpu.rand(n) * 1000 * s):to("uint32"))
  local child, parent = gpu.zeros({ n - 1, 2 }, i32), gpu.zeros(2 * n - 1, i32)
  local visits, size = gpu.zeros(n, i32), gpu.zeros(2 * n - 1, i32)
  local blocks = (n + 31) // 32
  return function()
    visits:fill(0)
    k.build(blocks, 32)(code, n, child, parent)
    k.climb(blocks, 32)(child, parent, n, visits, size)
  end, function()
    local c, sizes, order = child:totable(), size:totable(), {}
    local function walk(node) -- leaves in order, and their number
      if node >= n - 1 then
        order[#order + 1] = node - (n - 1)
        return 1
      end
      local number = walk(c[node + 1][1]) + walk(c[node + 1][2])
      t.eq(sizes[node + 1], number)
      return number
    end
    t.eq(walk(0), n)
    t.same(order, t.list(n, function(i) return i end))
  end
end)

case("cosines of blocks", function(s)
  local w, h = 24 * s, 16
  local x, y = gpu.rand { h, w }, gpu.zeros { h, w }
  local function factor(u, i) return math.sqrt(u == 0 and 1 / 8 or 1 / 4) * math.cos((2 * i + 1) * u * math.pi / 16) end
  k:global("cosines"):copy_(gpu.array(t.list(64, function(i) return factor(i // 8, i % 8) end)))
  return function() k.cosine_blocks({ w // 8, h // 8 }, { 8, 8 })(x, y, w) end, function()
    local v, want = x:totable(), {}
    for r = 0, h - 1 do for q = 0, w - 1 do
      local sum = 0
      for i = 0, 7 do for j = 0, 7 do
        sum = sum + v[r - r % 8 + i + 1][q - q % 8 + j + 1] * factor(r % 8, i) * factor(q % 8, j)
      end end
      want[#want + 1] = sum
    end end
    t.close(y, want, 1e-5)
  end
end)

case("lengths of runs", function()
  local n = 250
  local x, letter, length, runs = text(n, 2, 10), gpu.zeros(n, "uint8"), gpu.zeros(n, i32), gpu.zeros(1, i32)
  return function() k.run_lengths(1, 256)(x, n, letter, length, runs) end, function()
    local l, c, back = length:totable(), letter:totable(), {}
    for i = 1, runs[1] do
      t.eq(i == 1 or c[i] ~= c[i - 1], true)
      for _ = 1, l[i] do back[#back + 1] = c[i] end
    end
    t.same(back, x:totable())
  end
end)

t.done()
