-- Bulk copies (cp.async.bulk) and asynchronous stores (st.async, red.async) that are used too early, and those that are waited for as they must be.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)
local mbarriers = dofile("tests/simt/shared/mbarriers.lua")

-- Line 1 of a case is the first one behind this.
local head = mbarriers .. [[
__device__ u64 expect(u64 *bar, int n) {
  u64 token;
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;" : "=l"(token) : "r"(at(bar)), "r"(n) : "memory");
  return token;
}
__device__ void wait_token(u64 *bar, u64 token) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.shared.b64 p, [%0], %1; @!p bra W; }" :: "r"(at(bar)), "l"(token) : "memory");
}
#define LOAD(to, from, n, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
  :: "r"(at(to)), "l"(from), "r"(n), "r"(at(bar)) : "memory")
#define STORE(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(at(from)), "r"(n) : "memory")
#define ADD(to, from, n) \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" :: "l"(to), "r"(at(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define ST_ASYNC(to, v, bar) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" \
  :: "r"(at(to)), "f"(v), "r"(at(bar)) : "memory")
#define RED_ASYNC(to, v, bar) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" \
  :: "r"(at(to)), "r"(v), "r"(at(bar)) : "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.bulk.wait_group " #n ";" ::: "memory")
#define SEND() do { __threadfence(); atomicExch(flag, 1); } while (0)
#define RECEIVE() do { while (!atomicAdd(flag, 0)) {} __threadfence(); } while (0)
__global__ void k(float *x, float *out, int *flag) {
  __shared__ alignas(128) float s[2][64];
  __shared__ u64 bar[2], empty[2];
  int me = threadIdx.x;
  if (me == 0) {
    begin(&bar[0], 1); begin(&bar[1], 1);
    begin(&empty[0], 64); begin(&empty[1], 64);
  }
  __syncthreads();
#line 1 "case"
]]

local function check(source, blocks)
  local k = gpu.kernel { source = head .. source .. "\n}", chunk = "case", line = 1 }
  local x, out, flag = gpu.range(1, 512):to("float32"), gpu.zeros(512), gpu.zeros(1, "int32")
  return gpu.check(function() k(blocks or 1, 64)(x, out, flag) end), out
end

-- What the reports say, in order, one line each: the lines of the copy and the access, with threads, and the text.
local hints = {
  write = "cp.async.bulk (st.async, red.async) is under way until the phase of its mbarrier is over: let each thread wait for it "
    .. "(mbarrier.try_wait), or one, with __syncthreads() behind it; who copies to a place again must come behind its readers",
  load = "cp.async.bulk reads its source until the phase of its mbarrier is over: who writes there must have waited for it "
    .. "(mbarrier.try_wait), or come behind __syncthreads() with one that has",
  read = "cp.async.bulk reads its source until it is waited for: cp.async.bulk.wait_group.read in the thread that began "
    .. "it is missing, with __syncthreads() behind it where other threads write",
  store = "cp.async.bulk writes to global memory until it is waited for: cp.async.bulk.wait_group (without .read) in the thread "
    .. "that began it is missing, with __syncthreads() behind it where other threads read",
}
local function faulty(name, source, ...)
  local want = { ... }
  local blocks = type(want[1]) == "number" and table.remove(want, 1)
  t.test(name, function()
    local found = check(source, blocks)
    for _, r in ipairs(found) do
      if r.kind == "race" and r.message:find "copy begun" then
        local does = r.message:match "still (%a+) it"
        t.eq(r.hint, r.space ~= "global" and hints[does] or does == "read" and hints.load or hints.store)
      end
    end
    t.eq(reports.text(found), table.concat(want, "\n"))
  end)
end

local function clean(name, source, index, value, blocks)
  t.test(name, function()
    local found, out = check(source, blocks)
    reports.none(found)
    t.eq(out[index], value)
  end)
end

---- faulty
faulty("nobody waits", [[
  if (me == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]); }
  __syncthreads();
  out[me] = s[0][me];
]], "2: s[0] read in line 4 while the copy begun here may still write it (64 times)")

faulty("the thread that begins a copy uses it", [[
  if (me == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]);
    s[0][5] += 1;
    wait(&bar[0], 0); }
]], "2: s[5] read in line 3 while the copy begun here may still write it (2 times)")

faulty("one thread waits, and the others don't wait for it", [[
  if (me == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]); }
  __syncthreads();
  if (me == 0) wait(&bar[0], 0);
  out[me] = s[0][me];
]], "2: s[1] read in line 5 while the copy begun here may still write it (63 times)")

faulty("a wait for an older phase", [[
  u64 token = 0;
  for (int i = 0; i < 2; i++) {
    if (me == 0) { u64 now = expect(&bar[0], 256);
      if (i == 0) token = now;
      LOAD(s[i], x, 256, &bar[0]);
      wait_token(&bar[0], token); }
    __syncthreads();
    out[me] = s[i][me];
  }
]], "5: s[64] read in line 8 while the copy begun here may still write it (64 times)")

faulty("bytes of a word that is stored asynchronously", [[
  if (me == 0) { expect(&bar[0], 4);
    ST_ASYNC(&s[0][1], 1.0f, &bar[0]); }
  __syncthreads();
  out[me] = ((const unsigned char *)s[0])[4 + me % 4];
]], "2: s[4] read in line 4 while the copy begun here may still write it (64 times)")

faulty("two copies, and a wait for one of them", [[
  if (me == 0) {
    expect(&bar[0], 256); expect(&bar[1], 256);
    LOAD(s[0], x, 256, &bar[0]);
    LOAD(s[1], x + 64, 256, &bar[1]);
  }
  __syncthreads();
  wait(&bar[0], 0);
  out[me] = s[0][me] + s[1][me];
]], "4: s[64] read in line 8 while the copy begun here may still write it (64 times)")

faulty("a copy into a place that another one is still written to", [[
  if (me == 0) {
    expect(&bar[0], 384);
    LOAD(s[0], x, 256, &bar[0]);
    LOAD(&s[0][32], x + 64, 128, &bar[0]);
    wait(&bar[0], 0);
  }
]], "3: s[8] written in line 4 while the copy begun here may still write it (8 times)")

faulty("a source that is overwritten before it was read", [[
  for (int i = 0; i < 3; i++) {
    s[i % 2][me] = i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (me == 0) {
      STORE(out + 64 * i, s[i % 2], 256);
      COMMIT();
      if (i) WAIT_READ(2);
    }
    __syncthreads();
  }
]], "6: s[0] written in line 2 while the copy begun here may still read it (64 times)")

faulty("a thread of another warp that meets nobody, whichever ran first", [[
  if (me == 0) out[0] = s[0][3];
  if (me == 32) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]); }
  if (me == 33) out[1] = s[0][3];
]], "3: s[3] read in line 1 while the copy begun here may still write it (1 times)",
  "3: s[3] read in line 4 while the copy begun here may still write it (1 times)")

faulty("a consumer that waits, but a copy that doesn't wait for it", [[
  for (int i = 0; i < 2; i++) {
    if (me == 0) { expect(&bar[i], 256);
      LOAD(s[0], x, 256, &bar[i]); }
    wait(&bar[i], 0);
    if (me == 40) out[0] = s[0][3];
  }
]], "3: s[3] read in line 5 while the copy begun here may still write it (1 times)")

faulty("a reduction into what another thread reads", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) {
    ADD(out, s[0], 256);
    COMMIT();
    WAIT_GROUP(0);
  }
  if (me == 40) out[64] = out[3];
]], "4: out[3] updated by an atomic here and read in line 8 by another thread, with nothing that orders them (1 times)")

faulty("a source that is overwritten before it was added", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { ADD(out, s[0], 256); COMMIT(); }
  __syncthreads();
  s[0][me] = 0;
]], "3: s[0] written in line 5 while the copy begun here may still read it (64 times)")

faulty("bytes of a source that are overwritten before it was added", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { ADD(out, s[0], 256); COMMIT(); }
  __syncthreads();
  ((unsigned char *)s[0])[me] = 0;
]], "3: s[0] written in line 5 while the copy begun here may still read it (64 times)")

faulty("a store's destination that is read before it was written", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { STORE(out, s[0], 256); COMMIT(); WAIT_READ(0); }
  __syncthreads();
  s[0][me] = 0;
  out[64 + me] = out[me];
]], "3: out[0] read in line 6 while the copy begun here may still write it (64 times)")

faulty("a store's destination that is read after another group", [[
  s[0][me] = s[1][me] = me;
  __syncthreads();
  if (me == 0) {
    STORE(out, s[0], 256); COMMIT();
    STORE(out + 64, s[1], 256); COMMIT();
    WAIT_GROUP(1); }
  __syncthreads();
  out[128 + me] = out[me] + out[64 + me];
]], "5: out[64] read in line 8 while the copy begun here may still write it (64 times)")

faulty("asynchronous stores that nobody waits for", [[
  if (me == 0) expect(&bar[0], 256);
  __syncthreads();
  ST_ASYNC(&s[0][me], 1.f * me, &bar[0]);
  __syncthreads();
  out[me] = s[0][63 - me];
]], "3: s[0] read in line 5 while the copy begun here may still write it (64 times)")

faulty("asynchronous additions, of which one warp waits", [[
  unsigned *sum = (unsigned *)s;
  if (me == 0) { expect(&bar[0], 256); sum[0] = 0; }
  __syncthreads();
  RED_ASYNC(sum, me, &bar[0]);
  if (me < 32) wait(&bar[0], 0);
  out[me] = sum[0];
]], "4: s[0] read in line 6 while the copy begun here may still write it (32 times)")

faulty("a source in global memory that is overwritten before it was read", [[
  if (me == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]); }
  __syncthreads();
  x[me] = me;
  wait(&bar[0], 0);
]], "2: x[0] written in line 4 while the copy begun here may still read it (64 times)")

faulty("a load whose thread writes to the source itself", [[
  if (me == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]);
    x[17] = 1;
    wait(&bar[0], 0); }
]], "2: x[17] written in line 3 while the copy begun here may still read it (1 times)")

faulty("a source that a block writes which another one loads", [[
  if (me == 0 && blockIdx.x == 0) { expect(&bar[0], 256);
    LOAD(s[0], x, 256, &bar[0]);
    wait(&bar[0], 0); }
  if (me == 0 && blockIdx.x == 1) x[17] = 1;
]], 2, "4: x[17] written here and read in line 2 by another thread, with nothing that orders them (1 times)")

faulty("a store that another block is told of before it was written", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) {
    STORE(out, s[0], 256); COMMIT();
    SEND();
    WAIT_GROUP(0); }
  if (me == 1 && blockIdx.x == 1) { RECEIVE();
    out[100] = out[5]; }
]], 2, "4: out[5] written here and read in line 8 by another thread, with nothing that orders them (1 times)")

faulty("a store that another block is told of, and nobody waits for", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) {
    STORE(out, s[0], 256); COMMIT(); WAIT_READ(0);
    SEND(); }
  if (me == 1 && blockIdx.x == 1) { RECEIVE();
    out[100] = out[5]; }
]], 2, "4: out[5] written here and read in line 7 by another thread, with nothing that orders them (1 times)")

faulty("a reduction that another block is told of too early", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) {
    ADD(out, s[0], 256); COMMIT();
    SEND();
    WAIT_GROUP(0); }
  if (me == 1 && blockIdx.x == 1) { RECEIVE();
    out[100] = out[5]; }
]], 2, "4: out[5] updated by an atomic here and read in line 8 by another thread, with nothing that orders them (1 times)")

---- clean
clean("a reduction that another block is told of when it was done", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) { ADD(out, s[0], 256); COMMIT(); __threadfence(); WAIT_GROUP(0); SEND(); }
  if (me == 1 && blockIdx.x == 1) { RECEIVE(); out[100] = out[5]; }
]], 101, 5, 2)

clean("a source that is overwritten behind its load, by all", [[
  if (me == 0) { expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]); wait(&bar[0], 0); }
  __syncthreads();
  x[me] = 0;
  out[me] = s[0][me];
]], 64, 64)

clean("all wait and write to the source, and read beside before", [[
  if (me == 0) { expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]); }
  float v = x[63 - me];
  x[64 + me] = v;
  wait(&bar[0], 0);
  __syncthreads();
  x[me] = v;
  out[me] = s[0][me] + v;
]], 64, 65)

clean("many loads in two places, whose sources are then written", [[
  for (int i = 0; i < 400; i++) {
    if (me == 0) { expect(&bar[0], 16); LOAD(s[i % 2], x + i % 128 * 4, 16, &bar[0]); }
    wait(&bar[0], i & 1);
    if (me == 40) x[i % 128 * 4] += 1;
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(&empty[0])) : "memory");
    wait(&empty[0], i & 1);
  }
  if (me == 40) out[0] = x[0];
]], 1, 1 + 4)

clean("a store that another block is told of when it was written", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) { STORE(out, s[0], 256); COMMIT(); __threadfence(); WAIT_GROUP(0); SEND(); }
  if (me == 1 && blockIdx.x == 1) { RECEIVE(); out[100] = out[5]; }
]], 101, 5, 2)

clean("a block's threads meet behind the store, and another one tells of it", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0 && blockIdx.x == 0) { STORE(out, s[0], 256); COMMIT(); __threadfence(); WAIT_GROUP(0); __threadfence(); }
  __syncthreads();
  if (me == 40 && blockIdx.x == 0) SEND();
  if (me == 1 && blockIdx.x == 1) { RECEIVE(); out[100] = out[5]; }
]], 101, 5, 2)

clean("reductions of two blocks to one place, while fences pass", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { ADD(out, s[0], 256); COMMIT(); __threadfence(); WAIT_GROUP(0); }
]], 64, 126, 2)

clean("asynchronous stores and additions that all wait for", [[
  unsigned *sum = (unsigned *)s[1];
  if (me == 0) { expect(&bar[0], 512); sum[0] = 0; }
  __syncthreads();
  ST_ASYNC(&s[0][me], 1.f * me, &bar[0]);
  RED_ASYNC(sum, me, &bar[0]);
  wait(&bar[0], 0);
  out[me] = s[0][63 - me] + sum[0];
]], 1, 63 + 63 * 32)

clean("a store that is read behind its group, by all", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { STORE(out, s[0], 256); COMMIT(); WAIT_GROUP(0); }
  __syncthreads();
  out[64 + me] = out[63 - me];
]], 65, 63)

clean("a wait for a later phase", [[
  if (me == 0) {
    expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]);
    for (int i = 0; i < 2; i++) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(&bar[0])) : "memory");
    u64 token = expect(&bar[0], 0);
    wait_token(&bar[0], token);
  }
  __syncthreads();
  out[me] = s[0][me];
]], 1, 1)

clean("all wait", [[
  if (me == 0) { expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]); }
  wait(&bar[0], 0);
  out[me] = s[0][me ^ 1];
]], 1, 2)

clean("one thread waits, all meet, and the place is used again", [[
  for (int i = 0; i < 3; i++) {
    if (me == 0) { expect(&bar[0], 256); LOAD(s[0], x + 64 * i, 256, &bar[0]); wait(&bar[0], i & 1); }
    __syncthreads();
    out[me] = s[0][63 - me];
    __syncthreads();
    s[0][me] = 0;
    __syncthreads();
  }
]], 1, 192)

clean("a lane of each warp waits for the others", [[
  if (me == 0) { expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]); }
  if (me % 32 == 0) wait(&bar[0], 0);
  __syncwarp();
  out[me] = s[0][63 - me];
]], 1, 64)

clean("a warp copies ahead, another one consumes, in two places by phases", [[
  if (me == 32) for (int i = 0; i < 6; i++) {
    int n = i % 2;
    wait(&empty[n], i / 2 + 1 & 1);
    expect(&bar[n], 256);
    LOAD(s[n], x + 64 * i, 256, &bar[n]);
  }
  if (me < 32) for (int i = 0; i < 6; i++) {
    int n = i % 2;
    wait(&bar[n], i / 2 & 1);
    out[64 * i + me] = s[n][me + 32];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0], 2;" :: "r"(at(&empty[n])) : "memory");
  }
]], 321, 353)

clean("groups of stores, whose sources are read before they are written again", [[
  for (int i = 0; i < 4; i++) {
    if (me == 0) WAIT_READ(1);
    __syncthreads();
    s[i % 2][me] = i + me;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (me == 0) { STORE(out + 64 * i, s[i % 2], 256); COMMIT(); }
    out[256 + me] = s[i % 2][me];
  }
  if (me == 0) WAIT_GROUP(0);
  __syncthreads();
  s[0][me] = s[1][me] = 0;
]], 193, 3)

clean("stores behind which all is read, and loads from there", [[
  s[0][me] = me;
  __syncthreads();
  if (me == 0) { STORE(out, s[0], 256); COMMIT(); WAIT_GROUP(0);
    expect(&bar[0], 256); LOAD(s[0], x, 256, &bar[0]); }
  wait(&bar[0], 0);
  out[64 + me] = s[0][me];
]], 65, 1)

clean("reductions of two threads to one place, and what all see of it", [[
  s[0][me] = me;
  s[1][me] = 1;
  __syncthreads();
  if (me == 0 || me == 40) { ADD(out, s[me == 40], 256); COMMIT(); WAIT_GROUP(0); }
  __syncthreads();
  out[64 + me] = out[63 - me];
]], 65, 64)

t.done()
