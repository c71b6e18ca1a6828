-- Who waits for a phase of an mbarrier comes behind those who arrived in it, and behind nobody else.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)
local mbarriers = dofile("tests/simt/shared/mbarriers.lua")

-- Line 1 of a case is the first one behind this. 96 threads, three warps, whose first lanes do most of it.
local head = mbarriers .. [[
__device__ u64 arrive(u64 *bar) {
  u64 token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at(bar)) : "memory");
  return token;
}
__device__ void wait_token(u64 *bar, u64 token) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.shared.b64 p, [%0], %1; @!p bra W; }" :: "r"(at(bar)), "l"(token) : "memory");
}
#define SEND() do { __threadfence(); atomicExch(flag, 1); } while (0)
#define RECEIVE() do { while (!atomicAdd(flag, 0)) {} __threadfence(); } while (0)
__global__ void k(float *x, float *out, int *flag) {
  __shared__ float s[128];
  __shared__ u64 bar[4], other[2];
  int me = threadIdx.x, warp = me / 32, lane = me % 32;
  if (me == 0) {
    for (int i = 0; i < 4; i++) begin(&bar[i], 1);
    begin(&other[0], 32); begin(&other[1], 32);
  }
  asm volatile("" :: "r"(at(s)) : "memory"); // the compiler does not know all that is stored there
  __syncthreads();
#line 1 "case"
]]

local function check(source, blocks)
  local k = gpu.kernel { source = head .. source .. "\n}", chunk = "case", line = 1 }
  local x, out, flag = gpu.range(1, 512):to("float32"), gpu.zeros(512), gpu.zeros(1, "int32")
  return gpu.check(function() k(blocks or 1, 96)(x, out, flag) end), out
end

local function faulty(name, source, ...)
  local want = { ... }
  local blocks = type(want[1]) == "number" and table.remove(want, 1)
  t.test(name, function()
    t.eq(reports.text((check(source, blocks))), table.concat(want, "\n"))
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
faulty("a wait at another mbarrier, where somebody else arrived later", [[
  if (me == 0) { s[5] = 1; arrive(&bar[0]); }
  if (me == 32) { wait(&bar[0], 0); arrive(&bar[1]); }
  if (me == 64) arrive(&bar[2]);
  if (me == 65) { wait(&bar[2], 0); out[0] = s[5]; }
]], "1: s[5] written here and read in line 4 by another thread, with nothing that orders them (1 times)")

faulty("two lanes read one place, and one of them writes it, behind a wait", [[
  s[me] = me;
  __syncthreads();
  if (me == 64) arrive(&bar[0]);
  if (me == 32) wait(&bar[0], 0);
  if (warp == 1) {
    __syncwarp();
    out[me] = s[lane / 2];
    if (me == 33) s[0] = 2;
  }
]], "8: s[0] written here and read in line 7 by another thread, with nothing that orders them (1 times)")

faulty("one lane of many that read a place has arrived", [[
  s[me] = me;
  __syncthreads();
  if (me == 64) arrive(&bar[1]);
  if (warp == 1) {
    wait(&bar[1], 0);
    out[me] = s[lane / 16];
    if (lane == 31) arrive(&bar[0]);
  }
  if (warp == 0) {
    wait(&bar[0], 0);
    if (lane == 0) s[1] = 3;
  }
]], "11: s[1] written here and read in line 6 by another thread, with nothing that orders them (1 times)")

faulty("what is written behind the arrival", [[
  if (me == 0) { s[5] = 1;
    arrive(&bar[0]);
    s[6] = 2;
    arrive(&bar[1]); }
  if (me == 32) { wait(&bar[0], 0); out[0] = s[5] + s[6]; }
]], "3: s[6] written here and read in line 5 by another thread, with nothing that orders them (1 times)")

faulty("a wait for an older phase of the same mbarrier", [[
  u64 token = 0;
  if (me == 0) begin(&bar[0], 2);
  __syncthreads();
  if (me == 32) token = arrive(&bar[0]);
  if (me == 0) {
    s[5] = 1; wait_token(&bar[0], arrive(&bar[0]));
    s[6] = 2; arrive(&bar[0]);
  }
  if (me == 33) { wait(&bar[0], 0); arrive(&bar[0]); arrive(&bar[3]); }
  if (me == 32) { wait(&bar[3], 0); wait_token(&bar[0], token); out[0] = s[5] + s[6]; }
]], "7: s[6] written here and read in line 10 by another thread, with nothing that orders them (1 times)")

faulty("a place that is written again before its reader told that it is empty", [[
  if (warp == 0)
    for (int i = 0; i < 4; i++) {
      if (i == 2) wait(&other[0], 0);
      s[i % 2 * 32 + lane] = i;
      __syncwarp();
      if (lane == 0) arrive(&bar[i]);
    }
  if (warp == 1)
    for (int i = 0; i < 4; i++) {
      wait(&bar[i], 0);
      out[lane] += s[i % 2 * 32 + lane];
      if (i == 0) arrive(&other[0]);
    }
]], "4: s[32] written here and read in line 11 by another thread, with nothing that orders them (32 times)")

faulty("global memory, and the wait of another lane", [[
  if (me == 0) { x[7] = 1; arrive(&bar[0]); }
  if (warp == 1) {
    if (lane == 3) wait(&bar[0], 0);
    if (lane == 4) out[0] = x[7];
    __syncwarp();
    out[me] = x[7];
  }
]], "1: x[7] written here and read in line 4 by another thread, with nothing that orders them (1 times)")

faulty("another block is told before the arrival was waited for", [[
  if (blockIdx.x == 0) {
    if (me == 0) { x[7] = 1; arrive(&bar[0]); }
    if (me == 64) { SEND(); wait(&bar[0], 0); }
  } else if (me == 0) {
    RECEIVE();
    out[0] = x[7];
  }
]], 2, "2: x[7] written here and read in line 6 by another thread, with nothing that orders them (1 times)")

for warp = 0, 2 do
  faulty("a mbarrier that all have waited at, set up again by warp " .. warp, ([[
    if (me == 0) begin(&bar[0], 96);
    __syncthreads();
    arrive(&bar[0]);
    wait(&bar[0], 0);
    if (warp == WARP) { __syncwarp(); if (lane == 8) begin(&bar[0], 7); }
  ]]):gsub("WARP", warp), "3: bar[0] written here and updated by an atomic in line 5 by another thread, with nothing that orders them (1 times)")
end

---- clean
clean("a ring of places, filled and emptied by two warps", [[
  if (warp == 0)
    for (int i = 0; i < 9; i++) {
      if (i >= 2) wait(&bar[2 + i % 2], (i / 2 - 1) % 2);
      s[i % 2 * 32 + lane] = i + lane;
      __syncwarp();
      if (lane == 0) arrive(&bar[i % 2]);
    }
  if (warp == 1)
    for (int i = 0; i < 9; i++) {
      wait(&bar[i % 2], i / 2 % 2);
      out[lane] += s[i % 2 * 32 + 31 - lane];
      __syncwarp();
      if (lane == 0) arrive(&bar[2 + i % 2]);
    }
]], 1, 36 + 9 * 31)

clean("a thread that comes behind one that comes behind another", [[
  if (me == 0) { s[5] = 1; x[3] = 2; arrive(&bar[0]); }
  if (me == 32) { wait(&bar[0], 0); s[6] = 4; arrive(&bar[1]); }
  if (me == 64) { wait(&bar[1], 0); out[0] = s[5] + x[3] + s[6]; s[5] = 3; }
]], 1, 7)

clean("a thread that waited for two which know nothing of each other", [[
  if (me == 0) { s[5] = 1; arrive(&bar[0]); }
  if (me == 32) { s[6] = 2; arrive(&bar[1]); }
  if (me == 64) { wait(&bar[0], 0); wait(&bar[1], 0); out[0] = s[5] + s[6]; }
]], 1, 3)

clean("a warp whose lanes meet, and warps that do, behind one that waited", [[
  if (me == 0) { s[5] = 1; arrive(&bar[0]); }
  if (warp == 1) {
    if (lane == 9) wait(&bar[0], 0);
    __syncwarp();
    out[lane] = s[5];
  }
  if (warp) asm volatile("bar.sync 1, 64;" ::: "memory");
  if (warp == 2) out[64] = s[5];
]], 65, 1)

clean("lanes that met before one of them arrives", [[
  if (warp == 0) {
    s[lane] = lane;
    __syncwarp();
    if (lane == 7) arrive(&bar[0]);
  }
  if (warp == 2) { wait(&bar[0], 0); out[lane] = s[31 - lane]; }
]], 1, 31)

clean("a mask of lanes that met, and warps that did, before one arrives", [[
  if (warp == 0 && lane < 8) {
    s[lane] = lane;
    __syncwarp(0xff);
    if (lane == 7) arrive(&bar[0]);
  }
  if (warp == 1) s[32 + lane] = 1;
  if (warp >= 1) asm volatile("bar.sync 2, 64;" ::: "memory");
  if (me == 64) { wait(&bar[0], 0); arrive(&bar[1]); }
  if (me == 30) { wait(&bar[1], 0); out[0] = s[3] + s[40]; }
]], 1, 4)

clean("all threads arrive one by one", [[
  s[me] = me;
  arrive(&bar[0]);
  if (me == 95) arrive(&bar[0]);
  wait(&bar[0], 0);
  if (me == 95) out[0] = s[95];
  if (warp == 2) { wait_token(&other[0], arrive(&other[0])); out[1 + lane] = s[64 + 31 - lane]; }
]], 2, 95)

clean("a block that is told by one that waited, and one that waits for who was told", [[
  if (blockIdx.x == 0) {
    if (me == 0) { x[7] = 1; arrive(&bar[0]); }
    if (me == 64) { wait(&bar[0], 0); SEND(); }
  } else {
    if (me == 0) { RECEIVE(); arrive(&bar[0]); }
    if (me == 40) { wait(&bar[0], 0); out[0] = x[7]; x[7] = 5; }
  }
]], 1, 1, 2)

clean("a mbarrier that is used again for another number, behind __syncthreads()", [[
  if (me == 0) { s[5] = 1; arrive(&bar[0]); }
  wait(&bar[0], 0);
  __syncthreads();
  if (me == 0) begin(&bar[0], 2);
  __syncthreads();
  if (me == 1 || me == 33) { s[me] = 7; arrive(&bar[0]); }
  if (me == 64) { wait(&bar[0], 0); out[0] = s[1] + s[33] + s[5]; }
]], 1, 15)

t.test("lanes look at mbarriers of their own at once", function()
  local k = gpu.kernel [[
    typedef unsigned long long u64;
    __global__ void look(int *out) {
      __shared__ u64 bar[32];
      unsigned mine = (unsigned)__cvta_generic_to_shared(&bar[threadIdx.x / 2]); // of two lanes, which arrive or don't
      if (threadIdx.x % 2 == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(mine) : "memory");
      __syncwarp();
      if (threadIdx.x % 6 == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(mine) : "memory");
      __syncwarp();
      int over;
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                   : "=r"(over) : "r"(mine) : "memory");
      out[threadIdx.x] = over;
    }
  ]]
  local out = gpu.zeros(32, "int32")
  k(1, 32)(out)
  for i = 1, 32 do t.eq(out[i], (i - 1) // 2 % 3 == 0 and 1 or 0, "lane " .. i - 1) end
end)

t.done()
