-- Kernels that look like those of faulty.lua and are right: gpu.check must have nothing to say, and the results must
-- be right, too. Shared memory, bounds, barriers, lanes; clean_global.lua goes on with global memory.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local clean = t.clean

local function ints(v) return type(v) == "table" and gpu.array(v, "int32") or gpu.zeros(v, "int32") end
local function list(n, f) return t.list(n, f or function(i) return i end) end

-- ---- shared memory ----
local k = gpu.kernel [=[
#define FULL 0xffffffffu
__global__ void reversed(const int *x, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void tile_loop(const int *x, int *out, int n) {
  __shared__ int tile[64];
  int sum = 0;
  for (int p = 0; p < n; p += 64) {
    tile[threadIdx.x] = x[p + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 64; j++) sum += tile[j];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
__global__ void neighbour_by_register(int *out) {
  __shared__ int s[65];
  s[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) s[64] = 0;
  __syncthreads();
  int v = s[threadIdx.x] + s[threadIdx.x + 1];
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void tree(const int *x, int *out) {
  __shared__ int s[128];
  int i = threadIdx.x;
  s[i] = x[i];
  for (int d = 64; d > 0; d /= 2) {
    __syncthreads();
    if (i < d) s[i] += s[i + d];
  }
  if (i == 0) *out = s[0];
}
__global__ void last_warp(const int *x, int *out) {  // only the first warp goes on, with __syncwarp
  __shared__ int s[64];
  int i = threadIdx.x;
  s[i] = x[i];
  __syncthreads();
  if (i >= 32) return;
  int v = s[i] + s[i + 32];
  for (int d = 16; d; d /= 2) {
    s[i] = v;
    __syncwarp();
    v += s[i ^ d];
    __syncwarp();
  }
  out[i] = v;
}
__global__ void halves_of_a_warp(const int *x, int *out) {  // each half meets by its own mask
  __shared__ int s[32];
  int i = threadIdx.x;
  unsigned mask = i < 16 ? 0xffffu : 0xffff0000u;
  s[i] = x[i];
  __syncwarp(mask);
  out[i] = s[i ^ 15];
}
__global__ void shuffled(const int *x, int *out) {  // a shuffle orders nothing, and nothing needs order
  int v = x[threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d);
  out[threadIdx.x] = v;
}
__global__ void histogram(const int *x, int *out) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[x[threadIdx.x]], 1);
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void two_buffers(const int *x, int *out) {  // one barrier a round is enough
  __shared__ int s[2][64];
  int i = threadIdx.x, now = 0;
  s[0][i] = x[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    s[!now][i] = s[now][i] + (i >= d ? s[now][i - d] : 0);
    __syncthreads();
    now = !now;
  }
  out[i] = s[now][i];
}
__global__ void same_value(const int *x, int *out) {  // all write what all write
  __shared__ int found;
  found = 0;
  __syncthreads();
  if (x[threadIdx.x] % 5 == 0) found = 1;
  __syncthreads();
  out[threadIdx.x] = found;
}
__global__ void own_places(int *out) {  // each thread its own, no barrier at all
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  for (int j = 0; j < 3; j++) s[threadIdx.x] += 2;
  out[threadIdx.x] = s[threadIdx.x];
}
__global__ void bytes_side_by_side(unsigned char *out) {  // neighbours in one word are not one place
  __shared__ bool even[64];
  __shared__ short odd[64];
  even[threadIdx.x] = threadIdx.x % 2 == 0;
  odd[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = even[63 - threadIdx.x] + odd[63 - threadIdx.x];
}
struct Pair { int a; short b, c; };
__global__ void members(int *out) {  // two threads, two members of one structure
  __shared__ Pair p[32];
  int i = threadIdx.x / 2;
  if (threadIdx.x % 2) p[i].a = i; else p[i].b = p[i].c = 2;
  __syncthreads();
  out[threadIdx.x] = p[i].a + p[i].b + p[i].c;
}
__global__ void broadcast(const int *x, int *out) {
  __shared__ int v;
  for (int r = 0; r < 3; r++) {
    if (threadIdx.x == r) v = x[r];
    __syncthreads();
    out[r * 64 + threadIdx.x] = v;
    __syncthreads();
  }
}
__global__ void votes_are_barriers(const int *x, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  int any = __syncthreads_or(x[threadIdx.x] > 62);
  int sum = s[threadIdx.x ^ 63] + any;
  int count = __syncthreads_count(sum & 1);
  s[threadIdx.x] = sum;
  __syncthreads();
  out[threadIdx.x] = s[(threadIdx.x + 1) & 63] + 0 * count;
}
__global__ void padding_never_read(const int *x, int *out) {  // the last column is never written, nor read
  __shared__ int s[8][9];
  s[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 8 + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
__global__ void exactly_the_halo(const int *x, int *out) {
  __shared__ int s[66];
  s[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x == 0) s[0] = s[65] = 0;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];
}
__global__ void dynamic_to_the_end(const int *x, int *out) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}
__global__ void local_index(const int *x, int *out) {
  int v[4] = {0, 1, 2, 3};
  v[x[threadIdx.x] & 3] = 5;
  out[threadIdx.x] = v[(x[threadIdx.x] + 1) & 3];
}
__global__ void odd_even_sort(int *x) {  // pairs that do not overlap, a barrier a phase
  __shared__ int s[64];
  int t = threadIdx.x;
  s[2 * t] = x[2 * t], s[2 * t + 1] = x[2 * t + 1];
  __syncthreads();
  for (int phase = 0; phase < 64; phase++) {
    int i = 2 * t + (phase & 1);
    if (i + 1 < 64 && s[i] > s[i + 1]) { int v = s[i]; s[i] = s[i + 1]; s[i + 1] = v; }
    __syncthreads();
  }
  x[2 * t] = s[2 * t], x[2 * t + 1] = s[2 * t + 1];
}
__global__ void named_barriers(const int *x, int *out) {  // a warp produces, another consumes
  __shared__ int slot[32];
  int lane = threadIdx.x & 31;
  for (int r = 0; r < 3; r++) {
    if (threadIdx.x < 32) {
      slot[lane] = x[r * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[r * 32 + lane] = slot[31 - lane];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
__global__ void flag_in_shared(int *out) {  // a volatile flag, fences on both sides
  __shared__ volatile int flag;
  __shared__ int data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    data = 7;
    __threadfence_block();
    flag = 1;
  } else if (threadIdx.x == 0) {
    while (flag == 0) ;
    __threadfence_block();
    out[0] = data;
  }
}
__global__ void claimed(const int *x, int *out) {  // who wins the exchange writes
  __shared__ int slots[16], owner[16];
  if (threadIdx.x < 16) slots[threadIdx.x] = 0, owner[threadIdx.x] = -1;
  __syncthreads();
  int s = x[threadIdx.x] % 16;
  if (atomicCAS(&slots[s], 0, 1) == 0) owner[s] = s * 10;
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = owner[threadIdx.x];
}]=]

local x = gpu.range(0, 255, 1, "int32")
local eighths = x % 8

-- What the kernel writes into n integers, given behind the first argument, in one block.
local function run(name, n, block, from)
  local out = ints(n)
  k[name](1, block)(from, out)
  return out
end

clean("a barrier between write and read", list(64, function(i) return 63 - i end), function() return run("reversed", 64, 64, x) end)
clean("a barrier at the end of the loop, too", list(64, function() return 255 * 128 end), function()
  local out = ints(64)
  k.tile_loop(1, 64)(x, out, 256)
  return out
end)
clean("a neighbour by a register", list(64, function(i) return i == 63 and 63 or 2 * i + 1 end), function()
  local out = ints(64)
  k.neighbour_by_register(1, 64)(out)
  return out
end)
clean("a tree with barriers", { 127 * 64 }, function() return run("tree", 1, 128, x) end)
clean("a last warp with __syncwarp", list(32, function() return 63 * 32 end), function() return run("last_warp", 32, 64, x) end)
clean("halves of a warp that meet by their own masks", list(32, function(i) return i ~ 15 end), function()
  return run("halves_of_a_warp", 32, 32, x)
end)
clean("shuffles", list(32, function() return 496 end), function() return run("shuffled", 32, 32, x) end)
clean("a histogram with atomics", list(8, function() return 8 end), function() return run("histogram", 8, 64, eighths) end)
clean("two buffers in turn", list(64, function(i) return i * (i + 1) // 2 end), function() return run("two_buffers", 64, 64, x) end)
clean("all write the same value", list(64, function() return 1 end), function() return run("same_value", 64, 64, x) end)
clean("each thread its own place", list(64, function(i) return i + 6 end), function()
  local out = ints(64)
  k.own_places(1, 64)(out)
  return out
end)
clean("bytes and halves of one word", list(64, function(i) return 63 - i + i % 2 end), function()
  local out = gpu.zeros(64, "uint8")
  k.bytes_side_by_side(1, 64)(out)
  return out
end)
clean("members of one structure", list(64, function(i) return i // 2 + 4 end), function()
  local out = ints(64)
  k.members(1, 64)(out)
  return out
end)
clean("a value handed to all, again and again", list(192, function(i) return i // 64 end), function()
  return run("broadcast", 192, 64, x)
end)
clean("votes of the block are barriers", list(64, function(i) return ((i + 1) % 64 ~ 63) + 1 end), function()
  return run("votes_are_barriers", 64, 64, x)
end)
clean("padding that nobody reads", list(64, function(i) return i % 8 * 8 + i // 8 end), function()
  return run("padding_never_read", 64, { 8, 8 }, x)
end)
clean("a halo to the last element", list(64, function(i) return i == 63 and 62 or i == 0 and 1 or 2 * i end), function()
  return run("exactly_the_halo", 64, 64, x)
end)
clean("dynamic shared memory to its end", list(64, function(i) return 63 - i end), function()
  local out = ints(64)
  k.dynamic_to_the_end(1, 64, 256)(x, out)
  return out
end)
clean("a local array indexed by data", list(32, function(i) return (i + 1) % 4 end), function() return run("local_index", 32, 32, x) end)
clean("pairs that do not overlap", list(64), function()
  local out = ints(list(64, function(i) return (i * 29 + 3) % 64 end))
  k.odd_even_sort(1, 32)(out)
  return out
end)
clean("barriers by number, arriving and waiting", list(96, function(i) return i // 32 * 32 + 31 - i % 32 end), function()
  return run("named_barriers", 96, 64, x)
end)
clean("a volatile flag with fences in a block", { 7 }, function()
  local out = ints(1)
  k.flag_in_shared(1, 64)(out)
  return out
end)
clean("who claims a place writes it", list(16, function(i) return i * 10 end), function() return run("claimed", 16, 64, x) end)

-- ---- bounds, barriers, lanes ----
k = gpu.kernel [=[
#define FULL 0xffffffffu
__global__ void guarded(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}
__global__ void clamped(const int *a, int *b, int n) {
  int i = threadIdx.x;
  if (i < n) b[i] = a[max(i - 1, 0)] + a[min(i + 1, n - 1)];
}
__global__ void pitch(const int *a, int *b, int h, int w) { b[threadIdx.x * h + blockIdx.x] = a[blockIdx.x * w + threadIdx.x]; }
__global__ void quads(const float4 *a, float *sums) {
  float4 v = a[threadIdx.x];
  sums[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void slice(int *a, int n) { for (int i = threadIdx.x; i < n; i += 32) a[i] = 1; }
__global__ void back_into_the_slice(int *a) { int *end = a + 40; end[-1 - (int)threadIdx.x] = threadIdx.x; }
__global__ void begun_by_exchanges(const int *x, int *out, int *sums) {  // what they take out nobody looks at
  __shared__ int s[64];
  __shared__ float f[64];
  atomicExch(&s[threadIdx.x], x[threadIdx.x]);
  atomicExch(&f[threadIdx.x], 2.0f);
  atomicExch(&sums[threadIdx.x], 1);
  __syncthreads();
  atomicAdd(&sums[threadIdx.x], s[63 - threadIdx.x] + (int)f[63 - threadIdx.x]);
  out[threadIdx.x] = atomicAdd(&sums[threadIdx.x], 0);
}
__global__ void made_here(int *a) { a[threadIdx.x] = threadIdx.x; }
__global__ void used_there(const int *a, int *b) { b[threadIdx.x] = a[threadIdx.x] + 1; }
__global__ void uniform_branch(int *out, int n) {
  __shared__ int s[64];
  if (n > 10) {
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
  }
}
__global__ void whole_block_leaves(int *out, int blocks) {
  if (blockIdx.x >= blocks) return;
  __shared__ int s[32];
  s[threadIdx.x] = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void uniform_trips(int *out, int n) {
  __shared__ int s;
  for (int r = 0; r < n; r++) {
    if (threadIdx.x == r) s = r * 5;
    __syncthreads();
    out[threadIdx.x] = s;
    __syncthreads();
  }
}
__global__ void guard_after_the_barrier(int *out, int n) {
  __shared__ int s[64];
  bool inside = threadIdx.x < n;
  s[threadIdx.x] = inside ? (int)threadIdx.x : 0;
  __syncthreads();
  if (!inside) return;
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
__global__ void lanes_by_ballot(int *out) {
  int v = threadIdx.x;
  unsigned mask = __ballot_sync(FULL, v < 20);
  if (v < 20) v = __shfl_sync(mask, v, 19 - v);
  out[threadIdx.x] = v;
}
__global__ void lanes_of_the_mask(int *out) {
  int v = threadIdx.x;
  if (v < 16) {
    v += __shfl_sync(0xffffu, v, 20, 16);                     // lane 4 of its 16
    for (int d = 8; d; d /= 2) v += __shfl_xor_sync(0xffffu, v, d);
    for (int d = 8; d; d /= 2) v += __shfl_down_sync(0xffffu, v, d); // half of them read past the mask
  }
  out[threadIdx.x] = threadIdx.x ? threadIdx.x : v;
}
__global__ void syncwarp_beside_shuffle(const int *x, int *out) {  // a shuffle alone orders no memory
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];
  int v = __shfl_xor_sync(FULL, (int)threadIdx.x, 1);
  __syncwarp();
  out[threadIdx.x] = s[v];
}
__global__ void lanes_that_are_here(int *out, int n) {
  if (threadIdx.x >= n) return;
  unsigned mask = __activemask();
  out[threadIdx.x] = __reduce_add_sync(mask, 1);
}
__global__ void lanes_that_ended(int *out, int n) {  // a mask may name lanes that have exited
  if (threadIdx.x >= n) return;
  out[threadIdx.x] = __popc(__ballot_sync(FULL, 1));
}
__global__ void guarded_division(const int *a, const int *b, int *out) {
  int i = threadIdx.x;
  out[i] = b[i] ? a[i] / b[i] + a[i] % b[i] : -1;
}
__global__ void float_division(const float *a, float *out) { out[threadIdx.x] = 1 / (1 / a[threadIdx.x]); }
__global__ void edge_of_division(const int *a, int *out) { out[threadIdx.x] = a[threadIdx.x] / 7; }]=]

clean("a guard", list(100), function()
  local a = ints(100)
  k.guarded(4, 64)(a, 100)
  return a
end)
clean("neighbours that are clamped", list(50, function(i) return math.max(i - 1, 0) + math.min(i + 1, 49) end), function()
  local b = ints(50)
  k.clamped(1, 64)(x, b, 50)
  return b
end)
clean("rows and columns by the right pitch", list(40, function(i) return i % 4 * 10 + i // 4 end), function()
  local b = ints(40)
  k.pitch(4, 10)(ints(list(40)), b, 4, 10)
  return b
end)
clean("float4 at a multiple of 16", list(5, function() return 4 end), function()
  local sums = gpu.zeros(5)
  k.quads(1, 5)(gpu.ones(20), sums)
  return sums
end)
clean("a part of an array to its end", list(100, function(i) return i >= 10 and i < 50 and 1 or 0 end), function()
  local base = ints(100)
  k.slice(1, 32)(base[{ { 11, 50 } }], 40)
  return base
end)
clean("a pointer to the end and back", list(40, function(i) return 39 - i end), function()
  local a = ints(40)
  k.back_into_the_slice(1, 40)(a)
  return a
end)
clean("what exchanges begin", list(64, function(i) return 66 - i end), function()
  local out = ints(64)
  k.begun_by_exchanges(1, 64)(ints(list(64)), out, gpu.empty(64, "int32"))
  return out
end)
clean("what one launch writes the next reads", list(64, function(i) return i + 1 end), function()
  local a, b = gpu.empty(64, "int32"), gpu.empty(64, "int32")
  k.made_here(1, 64)(a)
  k.used_there(1, 64)(a, b)
  return b
end)
clean("arrays made and filled in other ways", list(32, function(i) return i < 16 and 4 or 6 end), function()
  local a, b = gpu.empty(32, "int32"), gpu.empty(32, "int32")
  a[{ { 1, 16 } }]:fill(3)
  a[{ { 17, 32 } }]:copy_(gpu.full(16, 5, "int32"))
  k.used_there(1, 32)(a, b)
  return b
end)
clean("a barrier in a branch that all take", list(64, function(i) return 63 - i end), function()
  local out = ints(64)
  k.uniform_branch(1, 64)(out, 11)
  return out
end)
clean("a block that leaves as a whole", list(128, function(i) return i < 96 and i // 32 or 0 end), function()
  local out = ints(128)
  k.whole_block_leaves(4, 32)(out, 3)
  return out
end)
clean("a barrier in a loop of the same length for all", list(64, function() return 20 end), function()
  local out = ints(64)
  k.uniform_trips(1, 64)(out, 5)
  return out
end)
clean("a guard behind the barrier", list(64, function(i) return i < 50 and 49 - i or 0 end), function()
  local out = ints(64)
  k.guard_after_the_barrier(1, 64)(out, 50)
  return out
end)
clean("a mask by a ballot", list(32, function(i) return i < 20 and 19 - i or i end), function()
  local out = ints(32)
  k.lanes_by_ballot(1, 32)(out)
  return out
end)
clean("lanes of the mask, and what nobody uses", list(32, function(i) return i == 0 and 16 * (120 + 64) or i end), function()
  local out = ints(32)
  k.lanes_of_the_mask(1, 32)(out)
  return out
end)
clean("the lanes that are here", list(40, function(i) return i < 32 and 32 or 8 end), function()
  local out = ints(40)
  k.lanes_that_are_here(1, 64)(out, 40)
  return out
end)
clean("a barrier of lanes beside a shuffle", list(32, function(i) return i ~ 1 end), function()
  local out = ints(32)
  k.syncwarp_beside_shuffle(1, 32)(x, out)
  return out
end)
clean("a mask that names lanes that have ended", list(40, function(i) return i < 32 and 32 or 8 end), function()
  local out = ints(40)
  k.lanes_that_ended(1, 64)(out, 40)
  return out
end)
clean("a division that is guarded", list(20, function(i)
  local b = i % 10 - 3
  if b == 0 then return -1 end
  local q = b < 0 and -(i // -b) or i // b
  return q + i - q * b
end), function()
  local out = ints(20)
  k.guarded_division(1, 20)(x, ints(list(20, function(i) return i % 10 - 3 end)), out)
  return out
end)
clean("floats may be divided by zero", { 0, 2, 4 }, function()
  local out = gpu.zeros(3)
  k.float_division(1, 3)(gpu.array { 0, 2, 4 }, out)
  return out
end)
clean("division by a constant", { 0, -1, 306783378 }, function()
  local out = ints(3)
  k.edge_of_division(1, 3)(ints { 5, -7, 0x7fffffff }, out)
  return out
end)

t.done()
