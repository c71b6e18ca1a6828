-- What the threads of a warp do together, and how warps wait for each other.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define FULL 0xffffffffu
#define LANE int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31
typedef unsigned long long u64;
__global__ void shuffles(const int *x, int *out) {
  LANE;
  int v = x[t], *o = out + 6 * t;
  o[0] = __shfl_sync(FULL, v, (lane * 7 + 3) & 31), o[1] = __shfl_up_sync(FULL, v, 5), o[2] = __shfl_down_sync(FULL, v, 9);
  o[3] = __shfl_xor_sync(FULL, v, 21), o[4] = __shfl_sync(FULL, v, 2, 8), o[5] = __shfl_down_sync(FULL, v, 3, 8);
}
__global__ void shuffle_types(const double *x, double *d, long long *l, float *f) {
  LANE;
  d[t] = __shfl_down_sync(FULL, x[t], 1);
  l[t] = __shfl_xor_sync(FULL, (long long)(x[t] * 1e10), 3);
  f[t] = __shfl_up_sync(FULL, (float)x[t], 2, 16);
}
__global__ void parts(int *out) {  // some of the lanes, by mask
  LANE;
  out[t] = -1;
  if (lane % 3 == 0) {
    unsigned mask = 0x49249249u;
    int v = __shfl_sync(mask, lane * 10, (lane + 3) % 33);
    out[t] = v + __popc(__ballot_sync(mask, lane > 10)) * 1000;
  } else if (lane & 1) {
    unsigned mask = __activemask();
    out[t] = __reduce_add_sync(mask, lane);
  }
}
__global__ void votes(const int *x, int *out, unsigned *ballots) {
  LANE;
  out[t] = __all_sync(FULL, x[t] >= 0) * 4 + __any_sync(FULL, x[t] > 90) * 2 + (__ballot_sync(FULL, x[t] & 1) >> lane & 1);
  unsigned b = __ballot_sync(FULL, x[t] % 3 == 0);
  if (lane == 0) ballots[t / 32] = b;
}
__global__ void matches(const int *x, const u64 *y, unsigned *any, unsigned *all, int *pred) {
  LANE;
  any[t] = __match_any_sync(FULL, x[t] % 5);
  int p, q;
  all[t] = __match_all_sync(FULL, t / 32, &p) & __match_any_sync(FULL, y[t]);
  __match_all_sync(FULL, x[t], &q);
  pred[t] = p + 2 * q;
}
__global__ void reductions(const int *x, int *out) {
  LANE;
  int v = x[t], *o = out + 6 * (t / 32);
  int a = __reduce_add_sync(FULL, v), l = __reduce_min_sync(FULL, v), h = __reduce_max_sync(FULL, v);
  unsigned n = __reduce_and_sync(FULL, v), r = __reduce_or_sync(FULL, v), e = __reduce_xor_sync(FULL, v);
  if (lane == 0) o[0] = a, o[1] = l, o[2] = h, o[3] = n, o[4] = r, o[5] = e;
}
__global__ void lane_masks(unsigned *out) {
  LANE;
  unsigned lt, le, eq, ge, gt;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
  asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
  out[t] = (lt | eq) == le && (gt | eq) == ge && (le ^ gt) == FULL && __popc(lt) == lane && warpSize == 32;
}
__global__ void transpose(const int *x, int *out) {  // 32 x 32 in registers: five rounds of exchanges
  int lane = threadIdx.x, r[32];
#pragma unroll
  for (int i = 0; i < 32; i++) r[i] = x[i * 32 + lane];
#pragma unroll
  for (int d = 16; d; d /= 2)
#pragma unroll
    for (int i = 0; i < 32; i++)
      if (!(i & d)) {
        int give = lane & d ? r[i] : r[i + d], got = __shfl_xor_sync(FULL, give, d);
        if (lane & d) r[i] = got; else r[i + d] = got;
      }
#pragma unroll
  for (int i = 0; i < 32; i++) out[i * 32 + lane] = r[i];
}
__global__ void histogram(const int *x, int *bins, int n) {  // bins of a warp held by lanes, counted by ballots of bits
  int lane = threadIdx.x, mine = 0;
  for (int start = 0; start < n; start += 32) {
    unsigned inside = __ballot_sync(FULL, start + lane < n), who = inside;
    int v = start + lane < n ? x[start + lane] : 0;
    for (int bit = 0; bit < 5; bit++) {
      unsigned b = __ballot_sync(FULL, v >> bit & 1);
      who &= lane >> bit & 1 ? b : ~b;
    }
    mine += __popc(who);
  }
  bins[lane] = mine;
}
__device__ int aggregated_add(int *p) {  // one atomic for all lanes that are here
  unsigned active = __activemask();
  int leader = __ffs(active) - 1, lane = threadIdx.x & 31, base = 0;
  if (lane == leader) base = atomicAdd(p, __popc(active));
  return __shfl_sync(active, base, leader) + __popc(active & ((1u << lane) - 1));
}
__global__ void aggregated(const int *x, int *out, int *count, int n) {
  LANE;
  if (t < n && x[t] % 3) out[aggregated_add(count)] = x[t];
}
__global__ void nested(int *out) {  // divergence inside divergence, met again
  LANE;
  int v = 0;
  if (lane & 1) {
    if (lane & 2) { v = 1; if (lane & 4) v = 2; }
    else for (int i = 0; i < lane; i++) { if (i == 9) break; v += i; }
  } else {
    switch (lane / 8) { case 0: v = 100; break; case 1: v = 200; default: v += 5; }
  }
  __syncwarp();
  out[t] = v + __popc(__ballot_sync(FULL, v > 50)) * 1000;
}
__global__ void leaving(const int *x, int *out, int n) {  // lanes leave for good; the others go on together
  LANE;
  if (t >= n) return;
  int v = x[t];
  while (true) {
    unsigned here = __activemask();
    if (v <= 0) { out[t] = __popc(here) >= 1 ? v : 77; return; }
    v -= 3;
  }
}
__global__ void exchange(const float *x, float *out) {  // through shared memory of the warp with __syncwarp
  __shared__ float s[4][33];
  int lane = threadIdx.x & 31, w = threadIdx.x / 32;
  s[w][lane] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncwarp();
  float v = s[w][31 - lane];
  __syncwarp();
  s[w][lane] = v * 2;
  __syncwarp();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[w][(lane + 1) & 31];
}
// ---- between warps ----
__global__ void named_barriers(const int *x, int *out, int rounds) {  // two warps, a slot each way, barriers 1 and 2
  __shared__ int slot[32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) {
    for (int r = 0; r < rounds; r++) {
      slot[lane] = x[r * 32 + lane] + 1;
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    }
  } else {
    for (int r = 0; r < rounds; r++) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[r * 32 + lane] = slot[31 - lane] * 2;
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
__global__ void flags(int *out, int rounds) {  // a ring of warps passes a token by flags in shared memory
  __shared__ volatile int turn, token;
  int w = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x == 0) turn = 0, token = 1;
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    for (int r = 0; r < rounds; r++) {
      while (turn != r * warps + w) ;
      __threadfence_block();
      token = token * 3 + w;
      __threadfence_block();
      turn = turn + 1;
    }
  __syncthreads();
  out[threadIdx.x] = token;
}
__global__ void lanes_wait(int *out) {  // lanes of one warp wait for each other: independent threads
  __shared__ int turn;
  int lane = threadIdx.x;
  if (lane == 0) turn = 0;
  __syncwarp();
  while (atomicAdd(&turn, 0) != 31 - lane) ;
  out[31 - lane] = lane;
  atomicExch(&turn, 32 - lane);
}
__global__ void ring_buffer(const int *x, int *out, int n) {  // one warp produces, three consume, counters in shared memory
  __shared__ int buffer[4][32];
  __shared__ volatile int full, taken;
  __shared__ int next;
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) full = taken = next = 0;
  __syncthreads();
  if (warp == 0) {
    for (int r = 0; r < n; r++) {
      while (r - taken >= 4) ;
      __threadfence_block();
      buffer[r % 4][lane] = x[r * 32 + lane];
      __syncwarp();
      if (lane == 0) { __threadfence_block(); full = r + 1; }
      __syncwarp();
    }
  } else {
    while (true) {
      int r = 0;
      if (lane == 0) r = atomicAdd(&next, 1);
      r = __shfl_sync(FULL, r, 0);
      if (r >= n) break;
      while (full <= r) ;
      __threadfence_block();
      out[r * 32 + lane] = buffer[r % 4][lane] * 10;
      __syncwarp();
      if (lane == 0) { while (taken != r) ; __threadfence_block(); taken = r + 1; }
      __syncwarp();
    }
  }
}
__global__ void persistent(int *next, int *out, int tasks) {  // blocks take tasks from a counter until none is left
  __shared__ int task;
  while (true) {
    if (threadIdx.x == 0) task = atomicAdd(next, 1);
    __syncthreads();
    int mine = task;
    __syncthreads();
    if (mine >= tasks) return;
    int s = 0;
    for (int i = threadIdx.x; i <= mine; i += blockDim.x) s += i;
    atomicAdd(&out[mine], s);
  }
}
__global__ void handshake(volatile int *flag, volatile int *data, int *out) {  // block 1 answers block 0
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    data[0] = 41;
    __threadfence();
    flag[0] = 1;
    while (flag[1] == 0) ;
    __threadfence();
    out[0] = data[1];
  } else {
    while (flag[0] == 0) ;
    __threadfence();
    data[1] = data[0] + 1;
    __threadfence();
    flag[1] = 1;
  }
}
__global__ void grid_barrier(unsigned *count, volatile unsigned *sense, int *x, int rounds) {  // by hand, blocks resident
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, *in = x, *out = x + n;
  for (int r = 0; r < rounds; r++) {
    out[i] = in[i] + in[(i + 1) % n];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      if (atomicAdd(count, 1) == gridDim.x - 1) { *count = 0; __threadfence(); *sense = r + 1; }
      else while (*sense != r + 1) ;
    }
    __syncthreads();
    __threadfence();
    int *u = in; in = out; out = u;
  }
}]=]

local function ints(v) return gpu.array(v, "int32") end
local function numbers(n) return t.list(n, function(i) return (i * i * 31 + 7 * i) % 211 - 60 end) end

t.test("shuffles in every direction and width", function()
  local x, out = numbers(64), gpu.zeros(384, "int32")
  k.shuffles(1, 64)(ints(x), out)
  t.same(out:totable(), t.list(384, function(j)
    local i = j // 6
    local base, lane = i // 32 * 32, i % 32
    local from = ({ [0] = (lane * 7 + 3) % 32, lane < 5 and lane or lane - 5, lane + 9 > 31 and lane or lane + 9, lane ~ 21,
      lane // 8 * 8 + 2, lane % 8 + 3 > 7 and lane or lane + 3 })[j % 6]
    return x[base + from + 1]
  end))
end)

t.test("shuffles of 64 bits and of floats", function()
  local x, d, l, f = t.list(32, function(i) return i * 1.25 end), gpu.zeros(32, "float64"), gpu.zeros(32, "int64"), gpu.zeros(32)
  k.shuffle_types(1, 32)(gpu.array(x, "float64"), d, l, f)
  t.close(d, t.list(32, function(i) return x[math.min(i + 1, 31) + 1] end), 0)
  t.same(l:totable(), t.list(32, function(i) return x[(i ~ 3) + 1] * 1e10 // 1 | 0 end))
  t.close(f, t.list(32, function(i) return x[(i % 16 < 2 and i or i - 2) + 1] end), 0)
end)

t.test("some of the lanes", function()
  local out = gpu.zeros(64, "int32")
  k.parts(2, 32)(out)
  t.same(out:totable(), t.list(64, function(i)
    local lane = i % 32
    if lane % 3 == 0 then return (lane + 3) % 33 * 10 + 7000 end
    if lane % 2 == 0 then return -1 end
    local s = 0
    for j = 1, 31, 2 do if j % 3 ~= 0 then s = s + j end end
    return s
  end))
end)

t.test("votes", function()
  local x, out, ballots = numbers(96), gpu.zeros(96, "int32"), gpu.zeros(3, "uint32")
  for i = 33, 64 do x[i] = math.abs(x[i]) % 80 end
  k.votes(1, 96)(ints(x), out, ballots)
  t.same(out:totable(), t.list(96, function(i)
    local all, any = 4, 0
    for j = i // 32 * 32 + 1, i // 32 * 32 + 32 do
      if x[j] < 0 then all = 0 end
      if x[j] > 90 then any = 2 end
    end
    return all + any + x[i + 1] % 2
  end))
  t.same(ballots:totable(), t.list(3, function(w)
    local b = 0
    for lane = 0, 31 do if x[32 * w + lane + 1] % 3 == 0 then b = b | 1 << lane end end
    return b
  end))
end)

t.test("matches", function()
  local x = t.list(64, function(i) return i < 32 and i * i or 6 end)
  local y = t.list(64, function(i) return i % 2 == 0 and 5 or 5 + (1 << 40) end)
  local any, all, pred = gpu.zeros(64, "uint32"), gpu.zeros(64, "uint32"), gpu.zeros(64, "int32")
  k.matches(2, 32)(ints(x), gpu.array(y, "uint64"), any, all, pred)
  t.same(any:totable(), t.list(64, function(i)
    local b = 0
    for lane = 0, 31 do if x[i // 32 * 32 + lane + 1] % 5 == x[i + 1] % 5 then b = b | 1 << lane end end
    return b
  end))
  t.same(all:totable(), t.list(64, function(i) return i % 2 == 0 and 0x55555555 or 0xaaaaaaaa end))
  t.same(pred:totable(), t.list(64, function(i) return i < 32 and 1 or 3 end))
end)

t.test("reductions of a warp", function()
  local x, out, want = numbers(64), gpu.zeros(12, "int32"), {}
  k.reductions(1, 64)(ints(x), out)
  for w = 0, 1 do
    local v = table.move(x, 32 * w + 1, 32 * w + 32, 1, {})
    local sum, all, any, odd = 0, -1, 0, 0
    for _, e in ipairs(v) do sum, all, any, odd = sum + e, all & e, any | e, odd ~ e end
    table.move({ sum, math.min(table.unpack(v)), math.max(table.unpack(v)), all, any, odd }, 1, 6, #want + 1, want)
  end
  t.same(out:totable(), want)
end)

t.test("masks of lanes", function()
  local out = gpu.zeros(40, "uint32")
  k.lane_masks(1, 40)(out)
  t.eq(out:sum(), 40)
end)

t.test("a transpose in registers", function()
  local out = gpu.zeros(1024, "int32")
  k.transpose(1, 32)(gpu.range(0, 1023, 1, "int32"), out)
  t.same(out:totable(), t.list(1024, function(i) return i % 32 * 32 + i // 32 end))
end)

t.test("a histogram by ballots", function()
  local x, want = t.list(150, function(i) return i * i % 29 end), t.list(32, function() return 0 end)
  for _, v in ipairs(x) do want[v + 1] = want[v + 1] + 1 end
  local bins = gpu.zeros(32, "int32")
  k.histogram(1, 32)(ints(x), bins, 150)
  t.same(bins:totable(), want)
end)

t.test("atomics joined by a warp", function()
  local x, want, out, count = t.list(200, function(i) return i * 5 end), {}, gpu.zeros(200, "int32"), gpu.zeros(1, "int32")
  k.aggregated(4, 64)(ints(x), out, count, 200)
  for _, v in ipairs(x) do if v % 3 ~= 0 then want[#want + 1] = v end end
  t.eq(count[1], #want)
  local got = out[{ { 1, #want } }]:totable()
  table.sort(got)
  t.same(got, want)
end)

t.test("divergence inside divergence", function()
  local out = gpu.zeros(32, "int32")
  k.nested(1, 32)(out)
  t.same(out:totable(), t.list(32, function(i)
    local v = 0
    if i % 2 == 1 then
      if i & 2 ~= 0 then v = i & 4 ~= 0 and 2 or 1 else
        for j = 0, math.min(i, 9) - 1 do v = v + j end
      end
    else
      v = ({ [0] = 100, 205, 5, 5 })[i // 8]
    end
    return v + 8000
  end))
end)

t.test("lanes that leave a loop for good", function()
  local x, out = numbers(77), gpu.full(77, -100, "int32")
  k.leaving(3, 32)(ints(x), out, 77)
  t.same(out:totable(), t.list(77, function(i)
    local v = x[i + 1]
    while v > 0 do v = v - 3 end
    return v
  end))
end)

t.test("an exchange inside each warp", function()
  local x, out = numbers(256), gpu.zeros(256)
  k.exchange(2, 128)(gpu.array(x), out)
  t.close(out, t.list(256, function(i) return 2 * x[i // 32 * 32 + 31 - (i + 1) % 32 + 1] end), 0)
end)

t.test("barriers by number: one warp arrives, the other waits", function()
  local x, out = numbers(160), gpu.zeros(160, "int32")
  k.named_barriers(1, 64)(ints(x), out, 5)
  t.same(out:totable(), t.list(160, function(i) return 2 * (x[i // 32 * 32 + 31 - i % 32 + 1] + 1) end))
end)

t.test("a token passed by flags", function()
  local out, want = gpu.zeros(128, "int32"), 1
  for _ = 1, 4 do
    for w = 0, 3 do want = want * 3 + w end
  end
  k.flags(1, 128)(out, 4)
  t.same(out:totable(), t.list(128, function() return want end))
end)

t.test("lanes of a warp that wait for each other", function()
  local out = gpu.zeros(32, "int32")
  k.lanes_wait(1, 32)(out)
  t.same(out:totable(), t.list(32, function(i) return 31 - i end))
end)

t.test("a ring buffer between warps", function()
  local x, out = numbers(320), gpu.zeros(320, "int32")
  k.ring_buffer(2, 128)(ints(x), out, 10)
  t.same(out:totable(), t.list(320, function(i) return 10 * x[i + 1] end))
end)

t.test("blocks that stay and take tasks", function()
  local out = gpu.zeros(50, "int32")
  k.persistent(3, 40)(gpu.zeros(1, "int32"), out, 50)
  t.same(out:totable(), t.list(50, function(i) return i * (i + 1) // 2 end))
end)

t.test("blocks that answer each other", function()
  local out = gpu.zeros(1, "int32")
  k.handshake(2, 32)(gpu.zeros(2, "int32"), gpu.zeros(2, "int32"), out)
  t.eq(out[1], 42)
end)

t.test("a barrier of the grid by hand", function()
  local n, rounds = 80, 4
  local x = numbers(n)
  local a = ints(x)
  local both = gpu.concatenate { a, gpu.zeros(n, "int32") }
  k.grid_barrier(2, 40)(gpu.zeros(1, "uint32"), gpu.zeros(1, "uint32"), both, rounds)
  for _ = 1, rounds do x = t.list(n, function(i) return x[i + 1] + x[(i + 1) % n + 1] end) end
  t.same(both[{ { 1, n } }]:totable(), x)
end)

t.done()
