-- Atomic operations of every kind and type, and what is built on them: locks, queues, tables, lists.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
typedef unsigned long long u64;
__global__ void integers(int *v, const int *x, int n) {
  I;
  if (i >= n) return;
  atomicAdd(&v[0], x[i]), atomicSub(&v[1], x[i]), atomicMin(&v[2], x[i]), atomicMax(&v[3], x[i]);
  atomicAnd(&v[4], x[i]), atomicOr(&v[5], x[i]), atomicXor(&v[6], x[i]), atomicExch(&v[7], 5);
}
__global__ void naturals(unsigned *v, const unsigned *x, int n) {
  I;
  if (i >= n) return;
  atomicMin(&v[0], x[i]), atomicMax(&v[1], x[i]), atomicInc(&v[2], 16), atomicDec(&v[3], 16), atomicAdd(&v[4], x[i]);
}
__global__ void longs(u64 *v, long long *s, const long long *x, int n) {
  I;
  if (i >= n) return;
  atomicAdd(&v[0], (u64)x[i]), atomicMin(&v[1], (u64)x[i]), atomicMax(&v[2], (u64)x[i]);
  atomicAnd(&v[3], (u64)x[i]), atomicOr(&v[4], (u64)x[i]), atomicXor(&v[5], (u64)x[i]);
  atomicMin(&s[0], x[i]), atomicMax(&s[1], x[i]);
}
__global__ void floats(float *f, double *d, const float *x, int n) {
  I;
  if (i >= n) return;
  atomicAdd(f, x[i]), atomicAdd(d, (double)x[i] / 4), atomicExch(&f[1], 2.5f);
}
__global__ void vectors(float2 *v, int n) {
  I;
  if (i < n) atomicAdd(&v[i % 3].x, 1.0f), atomicAdd(&v[i % 3].y, (float)i);
}
// Operations that the hardware lacks, by compare-and-swap.
__device__ float atomic_max(float *p, float v) {
  int old = __float_as_int(*(volatile float *)p), seen;
  do {
    if (__int_as_float(old) >= v) break;
    seen = old;
    old = atomicCAS((int *)p, seen, __float_as_int(v));
  } while (old != seen);
  return __int_as_float(old);
}
__device__ void atomic_multiply(double *p, double v) {
  u64 *q = (u64 *)p, old = *(volatile u64 *)q, seen;
  do {
    seen = old;
    old = atomicCAS(q, seen, (u64)__double_as_longlong(__longlong_as_double(seen) * v));
  } while (old != seen);
}
__device__ void atomic_add_byte(unsigned char *p, int v) {  // of a byte, by the word that holds it
  unsigned *word = (unsigned *)((size_t)p & ~(size_t)3), shift = ((size_t)p & 3) * 8, old = *(volatile unsigned *)word, seen;
  do {
    seen = old;
    unsigned byte = ((seen >> shift) + v) & 255;
    old = atomicCAS(word, seen, (seen & ~(255u << shift)) | byte << shift);
  } while (old != seen);
}
__global__ void swapped(float *top, double *product, unsigned char *bytes, const float *x, int n) {
  I;
  if (i >= n) return;
  atomic_max(top, x[i]);
  atomic_multiply(product, i % 2 ? 2 : 0.5);
  atomic_add_byte(&bytes[i % 7], i);
}
__global__ void tickets(int *counter, int *seen) {  // the old values are all different
  I;
  seen[atomicAdd(counter, 1)] = i;
}
__global__ void shared_atomics(int *out) {
  __shared__ int s[4];
  __shared__ u64 wide;
  __shared__ float f;
  int t = threadIdx.x;
  if (t < 4) s[t] = t == 1 ? 1000 : 0;
  if (t == 0) wide = 0, f = 0;
  __syncthreads();
  atomicAdd(&s[0], t), atomicMin(&s[1], t + 3), atomicMax(&s[2], t), atomicXor(&s[3], 1 << t % 31);
  atomicAdd(&wide, 1ull << 33), atomicAdd(&f, 0.5f);
  __syncthreads();
  if (t < 4) out[t] = s[t];
  if (t == 0) out[4] = wide >> 33, out[5] = (int)(2 * f);
}
__global__ void scoped(int *v) {  // scopes of a block and of the system
  atomicAdd_block(&v[blockIdx.x], 1);
  atomicAdd_system(&v[gridDim.x], 1);
  atomicMax_block(&v[gridDim.x + 1], 7);
}
__global__ void orders(int *v) {  // memory orders in PTX
  int old;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 2;" : "=r"(old) : "l"(v) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" :: "l"(v + 1), "r"(old) : "memory");
  asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(v + 2), "r"(9) : "memory");
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(old) : "l"(v + 2) : "memory");
  atomicAdd(&v[3], old);
}
__global__ void bitset(const int *x, unsigned *set, int *fresh, int n) {  // who set a bit first counts it
  I;
  if (i >= n) return;
  unsigned bit = 1u << (x[i] & 31);
  if (!(atomicOr(&set[x[i] >> 5], bit) & bit)) atomicAdd(fresh, 1);
}
// ---- locks ----
__global__ void spin(int *lock, volatile int *value) {  // by every thread, over warps and blocks
  while (atomicCAS(lock, 0, 1) != 0) ;
  __threadfence();
  value[0] = value[0] + 1;
  value[1] = value[0] * 2;
  __threadfence();
  atomicExch(lock, 0);
}
__global__ void spin_inside(int *lock, volatile int *value) {  // the form that works without independent threads, too
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *value = *value + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
__global__ void ticket_lock(unsigned *next, volatile unsigned *serving, volatile int *value) {
  unsigned mine = atomicAdd(next, 1);
  while (*serving != mine) ;
  __threadfence();
  *value = *value * 3 + 1;
  __threadfence();
  *serving = mine + 1;
}
__global__ void semaphore(int *free, int *inside, int *most) {  // at most `free` threads at once
  while (true) {
    int f = atomicAdd(free, 0);
    if (f > 0 && atomicCAS(free, f, f - 1) == f) break;
  }
  atomicMax(most, atomicAdd(inside, 1) + 1);
  atomicSub(inside, 1);
  atomicAdd(free, 1);
}
__global__ void account(int *locks, volatile int *balance, int accounts) {  // two locks, taken in order
  I;
  int from = i % accounts, to = (i * 7 + 1) % accounts, amount = i % 11;
  if (from == to) return;
  int a = min(from, to), b = max(from, to);
  while (atomicCAS(&locks[a], 0, 1)) ;
  while (atomicCAS(&locks[b], 0, 1)) ;
  __threadfence();
  balance[from] = balance[from] - amount;
  balance[to] = balance[to] + amount;
  __threadfence();
  atomicExch(&locks[b], 0);
  atomicExch(&locks[a], 0);
}
// ---- structures without locks ----
__global__ void push(int *head, int *next, int n) {  // a stack of nodes
  I;
  if (i >= n) return;
  int old = *(volatile int *)head, seen;
  do {
    seen = old;
    next[i] = seen;
    __threadfence();
    old = atomicCAS(head, seen, i);
  } while (old != seen);
}
__device__ unsigned hash(unsigned v) { return (v ^ v >> 16) * 0x45d9f3bu; }
__global__ void insert(const int *keys, int *table, int *counts, int slots, int n) {  // open addressing, -1 is free
  I;
  if (i >= n) return;
  for (unsigned s = hash(keys[i]) % slots;; s = (s + 1) % slots) {
    int old = atomicCAS(&table[s], -1, keys[i]);
    if (old == -1 || old == keys[i]) { atomicAdd(&counts[s], 1); return; }
  }
}
__global__ void lookup(const int *keys, const int *table, const int *counts, int *out, int slots, int n) {
  I;
  if (i >= n) return;
  unsigned s = hash(keys[i]) % slots;
  while (table[s] != keys[i] && table[s] != -1) s = (s + 1) % slots;
  out[i] = table[s] == -1 ? 0 : counts[s];
}
__global__ void cuckoo(const unsigned *keys, unsigned *table, int *lost, int slots, int n) {  // exchanges evict
  I;
  if (i >= n) return;
  unsigned key = keys[i], slot = hash(key) % slots;
  for (int tries = 0; tries < 60; tries++) {
    key = atomicExch(&table[slot], key);
    if (key == 0) return;
    unsigned a = hash(key) % slots, b = hash(key * 31 + 7) % slots;
    slot = slot == a ? b : a;
  }
  atomicAdd(lost, 1);
}
__global__ void work(int *queue, int *head, volatile int *tail, int *done, int *sum) {  // tasks that make tasks, from a queue
  while (*(volatile int *)done < 127) {
    int h = *(volatile int *)head;
    if (h >= *tail) continue;
    if (atomicCAS(head, h, h + 1) != h) continue;
    int task;
    while ((task = ((volatile int *)queue)[h]) == 0) ;
    atomicAdd(sum, task);
    if (task < 64)
      for (int c = 0; c < 2; c++) ((volatile int *)queue)[atomicAdd((int *)tail, 1)] = 2 * task + c;
    atomicAdd(done, 1);
  }
}
__global__ void priority(const int *x, u64 *best, int n) {  // value and index in one word
  I;
  if (i < n) atomicMax(best, (u64)(unsigned)x[i] << 32 | (unsigned)(n - i));
}]=]

local function ints(v) return gpu.array(v, "int32") end

t.test("atomics of int", function()
  local n, x = 333, t.list(333, function(i) return (i * i * 7919) % 2001 - 1000 end)
  local v = ints { 0, 0, 5000, -5000, -1, 0, 0, 1 }
  k.integers(3, 128)(v, ints(x), n)
  local sum, all, any, odd = 0, -1, 0, 0
  for _, e in ipairs(x) do sum, all, any, odd = sum + e, all & e, any | e, odd ~ e end
  t.same(v:totable(), { sum, -sum, math.min(table.unpack(x)), math.max(table.unpack(x)), all, any, odd, 5 })
end)

t.test("atomics of unsigned", function()
  local n, x = 100, t.list(100, function(i) return (i * 2654435761 + 5) & 0xffffffff end)
  local v = gpu.array({ 0xffffffff, 0, 3, 3, 0 }, "uint32")
  k.naturals(4, 32)(v, gpu.array(x, "uint32"), n)
  local sum, inc, dec = 0, 3, 3
  for _, e in ipairs(x) do
    sum = (sum + e) & 0xffffffff
    inc, dec = inc >= 16 and 0 or inc + 1, (dec == 0 or dec > 16) and 16 or dec - 1
  end
  t.same(v:totable(), { math.min(table.unpack(x)), math.max(table.unpack(x)), inc, dec, sum })
end)

t.test("atomics of 64 bits", function()
  local n, x = 70, t.list(70, function(i) return (i - 30) * 0x123456789abcdef end)
  local v, s = gpu.array({ 0, -1, 0, -1, 0, 0 }, "uint64"), gpu.array({ math.maxinteger, math.mininteger }, "int64")
  k.longs(3, 32)(v, s, gpu.array(x, "int64"), n)
  local want = { 0, -1, 0, -1, 0, 0 }
  for _, e in ipairs(x) do
    want[1], want[4], want[5], want[6] = want[1] + e, want[4] & e, want[5] | e, want[6] ~ e
    if math.ult(e, want[2]) then want[2] = e end
    if math.ult(want[3], e) then want[3] = e end
  end
  t.same(v:totable(), want)
  t.same(s:totable(), { math.min(table.unpack(x)), math.max(table.unpack(x)) })
end)

t.test("atomics of float and double", function()
  local f, d, x = gpu.zeros(2), gpu.zeros(1, "float64"), t.list(200, function(i) return i % 17 - 5 end)
  k.floats(4, 64)(f, d, gpu.array(x), 200)
  local sum = 0
  for _, e in ipairs(x) do sum = sum + e end
  t.same(f:totable(), { sum + 0.0, 2.5 })
  t.eq(d[1], sum / 4)
  local v = gpu.zeros(6)
  k.vectors(2, 50)(v, 99)
  t.close(v, { 33, 1584, 33, 1617, 33, 1650 }, 0)
end)

t.test("operations by compare and swap", function()
  local n, x = 151, t.list(151, function(i) return math.sin(i) * 100 end)
  local top, product, bytes = gpu.full(1, -1e9), gpu.ones(1, "float64"), gpu.zeros(8, "uint8")
  k.swapped(5, 32)(top, product, bytes, gpu.array(x), n)
  t.near(top[1], math.max(table.unpack(x)), 1e-5)
  t.eq(product[1], 0.5)
  local want = t.list(8, function() return 0 end)
  for i = 0, n - 1 do want[i % 7 + 1] = (want[i % 7 + 1] + i) % 256 end
  t.close(bytes, want, 0)
end)

t.test("old values are all different", function()
  local counter, seen = gpu.zeros(1, "int32"), gpu.full(200, -1, "int32")
  k.tickets(5, 40)(counter, seen)
  local got = seen:totable()
  table.sort(got)
  t.same(got, t.list(200, function(i) return i end))
end)

t.test("atomics in shared memory", function()
  local out, odd = gpu.zeros(6, "int32"), 0
  k.shared_atomics(1, 100)(out)
  for i = 0, 99 do odd = odd ~ 1 << i % 31 end
  t.same(out:totable(), { 4950, 3, 99, odd, 100, 100 })
end)

t.test("scopes and orders", function()
  local v, w = gpu.zeros(6, "int32"), gpu.zeros(4, "int32")
  k.scoped(4, 33)(v)
  t.same(v:totable(), { 33, 33, 33, 33, 132, 7 })
  k.orders(2, 32)(w)
  t.same(w:totable(), { 128, 126, 9, 9 * 64 })
end)

t.test("a set of bits", function()
  local x, set, fresh, want, count = t.list(300, function(i) return i * i % 199 end), gpu.zeros(8, "uint32"), gpu.zeros(1, "int32"), {}, 0
  k.bitset(5, 64)(ints(x), set, fresh, 300)
  for i = 1, 8 do want[i] = 0 end
  for _, v in ipairs(x) do
    if want[v // 32 + 1] >> v % 32 & 1 == 0 then count = count + 1 end
    want[v // 32 + 1] = want[v // 32 + 1] | 1 << v % 32
  end
  t.same(set:totable(), want)
  t.eq(fresh[1], count)
end)

t.test("spin locks", function()
  for _, blocks in ipairs { 1, 3 } do
    local value = gpu.zeros(2, "int32")
    k.spin(blocks, 70)(gpu.zeros(1, "int32"), value)
    t.same(value:totable(), { 70 * blocks, 140 * blocks })
    value:fill(0)
    k.spin_inside(blocks, 70)(gpu.zeros(1, "int32"), value)
    t.eq(value[1], 70 * blocks)
  end
end)

t.test("a ticket lock", function()
  local value, want = gpu.zeros(1, "int32"), 0
  for _ = 1, 80 do want = (want * 3 + 1) & 0xffffffff end
  k.ticket_lock(2, 40)(gpu.zeros(1, "uint32"), gpu.zeros(1, "uint32"), value)
  t.eq(value[1] & 0xffffffff, want)
end)

t.test("a semaphore", function()
  local free, inside, most = ints { 3 }, gpu.zeros(1, "int32"), gpu.zeros(1, "int32")
  k.semaphore(3, 40)(free, inside, most)
  t.eq(free[1], 3)
  t.eq(inside[1], 0)
  t.eq(most[1] >= 1 and most[1] <= 3, true)
end)

t.test("transfers under two locks", function()
  local accounts, balance = 10, t.list(10, function() return 1000 end)
  local b = ints(balance)
  k.account(3, 40)(gpu.zeros(accounts, "int32"), b, accounts)
  for i = 0, 119 do
    local from, to = i % accounts + 1, (i * 7 + 1) % accounts + 1
    if from ~= to then balance[from], balance[to] = balance[from] - i % 11, balance[to] + i % 11 end
  end
  t.same(b:totable(), balance)
end)

t.test("a stack without locks", function()
  local n, head, next, seen = 130, ints { -1 }, gpu.zeros(130, "int32"), {}
  k.push(3, 64)(head, next, n)
  local links, at, count = next:totable(), head[1], 0
  while at ~= -1 do
    t.eq(seen[at], nil)
    seen[at], count, at = true, count + 1, links[at + 1]
  end
  t.eq(count, n)
end)

t.test("hash tables: counting, looking up, evicting", function()
  local n, keys, want = 200, t.list(200, function(i) return i * i % 97 * 1000 end), {}
  for _, v in ipairs(keys) do want[v] = (want[v] or 0) + 1 end
  local table_, counts, out = gpu.full(128, -1, "int32"), gpu.zeros(128, "int32"), gpu.zeros(100, "int32")
  k.insert(4, 64)(ints(keys), table_, counts, 128, n)
  k.lookup(4, 32)(ints(t.list(100, function(i) return i * 1000 end)), table_, counts, out, 128, 100)
  t.same(out:totable(), t.list(100, function(i) return want[i * 1000] or 0 end))
  local unique, slots, lost = t.list(60, function(i) return i * 77 + 1 end), gpu.zeros(256, "uint32"), gpu.zeros(1, "int32")
  k.cuckoo(2, 32)(gpu.array(unique, "uint32"), slots, lost, 256, 60)
  local got = {}
  for _, v in ipairs(slots:totable()) do if v ~= 0 then got[#got + 1] = v end end
  table.sort(got)
  t.eq(lost[1], 0)
  t.same(got, unique)
end)

t.test("a queue of tasks that make tasks", function()
  local queue, sum = gpu.zeros(128, "int32"), gpu.zeros(1, "int32")
  queue[1] = 1
  k.work(2, 48)(queue, gpu.zeros(1, "int32"), ints { 1 }, gpu.zeros(1, "int32"), sum)
  t.eq(sum[1], 127 * 64)
end)

t.test("value and index in one word", function()
  local x, best, at = t.list(150, function(i) return i * i % 83 end), gpu.zeros(1, "uint64"), 1
  k.priority(3, 64)(ints(x), best, 150)
  for i = 2, 150 do if x[i] > x[at] then at = i end end
  t.eq(best[1], x[at] << 32 | 150 - (at - 1))
end)

t.done()
