-- Races that three and more threads have for a place, of which some come behind others and some do not: threads that meet at a
-- barrier of some of their block, arrive at one or release something, and places that are touched by accesses which race with
-- less than others. Whatever runs first, each is told; and what comes behind those that matter is no race. 96 threads, three warps.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- Line 1 of a case is the first one behind this.
local head = [[
#define SYNC(id, count) asm volatile("barrier.sync " #id ", " #count ";" ::: "memory")
#define ARRIVE(id, count) asm volatile("barrier.arrive " #id ", " #count ";" ::: "memory")
#define RELEASE(n) do { __threadfence(); atomicAdd(flag + n, 1); } while (0)
#define WAIT(n, count) do { while (vflag[n] < count) {} __threadfence(); } while (0)
#define GET(p) do { asm volatile("ld.f32 %0, [%1];" : "=f"(got) : "l"(p) : "memory"); sum += got; } while (0)
#define PUT(p) asm volatile("st.f32 [%0], 1.0;" :: "l"(p) : "memory")
#define ADD(p) sum += atomicAdd((int *)(p), 1)
#define FAIL(p) sum += atomicCAS((int *)(p), 77, 78) // nothing is 77
__global__ void k(float *x, int *flag, float *out) {
  __shared__ float s[128];
  volatile int *vflag = flag;
  int me = threadIdx.x, warp = me / 32, lane = me % 32, block = blockIdx.x;
  float sum = 0, got;
  for (int i = me; i < 128; i += 96) s[i] = i;
  __syncthreads();
#line 1 "case"
]]
local tail = "\n out[blockIdx.x * 96 + me] = sum; }"

-- What is found, as "LINE LINE" or the kind of what is no race.
local function found_in(source, options, strict)
  local k = gpu.kernel { source = head .. source .. tail, chunk = "case", line = 1 }
  local x, flag, out = gpu.range(1, 512):to("float32"), gpu.zeros(64, "int32"), gpu.zeros(4 * 96)
  local found = {}
  for _, r in ipairs((gpu.check(function() k(options.blocks or 1, 96, { cluster = options.cluster })(x, flag, out) end, strict))) do
    if r.kind == "race" then
      local a, b = r.line, r.other.line
      found[#found + 1] = ("%d %d"):format(math.min(a, b), math.max(a, b))
    else
      found[#found + 1] = r.kind .. " in line " .. r.line
    end
  end
  table.sort(found)
  return table.concat(found, ", ")
end

-- In the source, M is x, which is in global memory, or s.
local function case(name, source, want, options)
  options = options or {}
  for memory in (options.memory or "xs"):gmatch "." do
    t.test(name .. " (" .. memory .. ")", function()
      local body = source:gsub("%f[%w]M%f[%W]", memory)
      for strict = 1, 2 do t.eq(found_in(body, options, strict == 2 and "strict" or nil), want, strict == 2 and "strict" or "") end
    end)
  end
end

---- barriers of some threads
case("lanes meet by a mask, and another one has read", [[
  if (warp == 0) GET(M + 5);
  if (warp == 0 && lane < 16) {
    __syncwarp(0xffff);
    if (lane == 3) PUT(M + 5);
  }
]], "1 4")

case("lanes meet by a mask, and all of them that have read", [[
  if (warp == 0 && lane < 16) GET(M + 5);
  if (warp == 0 && lane < 16) {
    __syncwarp(0xffff);
    if (lane == 3) PUT(M + 5);
  }
]], "")

case("lanes meet by a mask, and another one has updated", [[
  if (warp == 0 && lane < 18) ADD(M + 5);
  if (warp == 0 && lane < 16) {
    __syncwarp(0xffff);
    if (lane == 3) PUT(M + 5);
  }
]], "1 4")

case("two warps of three meet, and the other one has read", [[
  GET(M + 5);
  if (warp != 1) {
    SYNC(1, 64);
    if (me == 3) PUT(M + 5);
  }
]], "1 4")

case("two warps of three meet, which have read", [[
  if (warp != 1) GET(M + 5);
  if (warp != 1) {
    SYNC(1, 64);
    if (me == 3) PUT(M + 5);
  }
]], "")

case("two warps meet and one of them reads, then the third one, which comes before the next meeting", [[
  if (warp < 2) {
    SYNC(1, 64);
    SYNC(2, 64);
    if (me == 32) {
      GET(M + 5);
      vflag[0] = 1;
    }
  }
  if (warp == 2) {
    while (!vflag[0]) {}
    GET(M + 5);
  }
  if (warp != 1) {
    SYNC(3, 64);
    if (me == 3) PUT(M + 5);
  }
]], "5 15")

case("two warps of three meet, and some have read places of their own, too", [[
  GET(M + me);
  GET(M + 95 - me);
  if (warp != 1) {
    SYNC(1, 64);
    if (me == 3) PUT(M + 50);
  }
]], "1 5, 2 5")

case("a warp meets, and waits before it for a flag of another one, which has read", [[
  if (warp < 2) GET(M + 5);
  if (me == 32) vflag[0] = 1;
  if (warp == 0) {
    while (!vflag[0]) {}
    __syncwarp();
    if (me == 3) PUT(M + 5);
  }
]], "1 6")

case("a warp meets, and waits for a flag of another one, which has not read", [[
  if (warp == 0) GET(M + 5);
  if (me == 32) vflag[0] = 1;
  if (warp == 0) {
    while (!vflag[0]) {}
    __syncwarp();
    if (me == 3) PUT(M + 5);
  }
]], "")

case("halves of two warps meet, and a lane of the other half has read", [[
  if (lane < 17 && warp < 2) GET(M + 5);
  if (lane < 16 && warp < 2) {
    SYNC(1, 32);
    if (me == 35) PUT(M + 5);
  }
  __syncthreads(); // lanes that have ended would count
]], "1 4")

case("halves of two warps meet, which have read", [[
  if (lane < 16 && warp < 2) GET(M + 5);
  if (lane < 16 && warp < 2) {
    SYNC(1, 32);
    if (me == 35) PUT(M + 5);
  }
  __syncthreads(); // lanes that have ended would count
]], "")

case("a barrier by number that the whole block comes to", [[
  GET(M + 5);
  SYNC(1, 96);
  if (me == 3) PUT(M + 5);
]], "")

case("blocks of a cluster meet, and another block has read", [[
  GET(x + 5);
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
  if (block == 0 && me == 3) PUT(x + 5);
]], "1 3", { blocks = 4, cluster = 2, memory = "x" })

---- arrivals
case("lanes that have parted arrive, and one of them reads behind that", [[
  if (warp == 0 && lane < 16) {
    GET(M + 5);
    ARRIVE(2, 64);
    GET(M + 6);
  }
  if (warp == 0 && lane >= 16) {
    GET(M + 7);
    ARRIVE(2, 64);
  }
  if (warp == 1) {
    SYNC(2, 64);
    if (lane == 0) {
      PUT(M + 5);
      PUT(M + 6);
      PUT(M + 7);
    }
  }
]], "4 14")

case("a place is read again behind the arrival", [[
  if (warp == 0) {
    GET(M + 5);
    ARRIVE(2, 64);
    GET(M + 5);
  }
  if (warp == 1) {
    SYNC(2, 64);
    if (lane == 0) PUT(M + 5);
  }
]], "4 8")

case("who arrives comes to know more before the barrier is over", [[
  if (me == 64) PUT(M + 5);
  if (warp == 0) ARRIVE(2, 64);
  if (warp != 1) SYNC(3, 64);
  if (me == 0) vflag[0] = 1;
  if (warp == 1) {
    while (!vflag[0]) {}
    SYNC(2, 64);
    GET(M + 5);
  }
]], "1 8")

case("who arrives knew it before", [[
  if (me == 64) PUT(M + 5);
  if (warp != 1) SYNC(3, 64);
  if (warp == 0) ARRIVE(2, 64);
  if (warp == 1) {
    SYNC(2, 64);
    GET(M + 5);
  }
]], "")

---- releases
case("three have read, and two of them release", [[
  if (warp == 0 && lane < 3) GET(M + 5);
  if (me == 0 || me == 1) RELEASE(0);
  if (me == 2) vflag[1] = 1;
  if (me == 64) {
    while (!vflag[1]) {}
    WAIT(0, 2);
    PUT(M + 5);
  }
]], "1 7")

case("three have read, and all of them release", [[
  if (warp == 0 && lane < 3) GET(M + 5);
  if (warp == 0 && lane < 3) RELEASE(0);
  if (me == 64) {
    WAIT(0, 3);
    PUT(M + 5);
  }
]], "")

case("rows are read, and all but one thread release", [[
  GET(M + me);
  GET(M + me + 1);
  if (me != 50) RELEASE(0);
  if (me == 50) vflag[1] = 1;
  if (me == 0) {
    while (!vflag[1]) {}
    WAIT(0, 95);
    PUT(M + 50);
    PUT(M + 51);
    PUT(M + 52);
  }
]], "1 8, 2 9")

case("a place is read again behind the release", [[
  if (me == 0) {
    GET(M + 5);
    RELEASE(0);
    GET(M + 5);
    vflag[1] = 1;
  }
  if (me == 32) {
    while (!vflag[1]) {}
    WAIT(0, 1);
    PUT(M + 5);
  }
]], "4 10")

case("a row is read again behind the release", [[
  if (warp == 0) {
    GET(M + lane);
    RELEASE(0);
    GET(M + lane);
    vflag[1] = 1;
  }
  if (warp == 1) {
    while (!vflag[1]) {}
    WAIT(0, 32);
    PUT(M + lane);
  }
]], "4 10")

-- Strong accesses go with a release of the same place, and of no other one, however many there are.
t.test("behind releases at many places, stores to others", function()
  local n = 256
  local k = gpu.kernel { source = head .. [[
    if (me == 0) {
      __threadfence();
      for (int i = 0; i < 512; i++) atomicAdd(flag + i * i, 1);
      for (int i = 0; i < 256; i++) asm volatile("st.relaxed.gpu.f32 [%0], 1.0;" :: "l"(x + i) : "memory");
      vflag[512 * 512] = 1;
    }
    if (me == 32) {
      while (!vflag[512 * 512]) {}
      for (int i = 0; i < 512; i++) WAIT(i * i, 1);
      for (int i = 0; i < 256; i++) GET(x + i);
    }
  ]] .. tail, chunk = "case", line = 1 }
  local x, flag, out = gpu.zeros(n), gpu.zeros(512 * 512 + 1, "int32"), gpu.zeros(96)
  local found = gpu.check(function() k(1, 96)(x, flag, out) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
  t.eq(found[1].count, n)
end)

---- compare-and-swaps that fail
case("a plain read, then one that fails", [[
  if (me == 0) {
    GET(M + 5);
    FAIL(M + 5);
  }
  if (me == 33) ADD(M + 5);
]], "2 5")

case("a plain read, a barrier, and then one that fails", [[
  if (me == 0 && block == 0) GET(x + 5);
  __syncthreads();
  if (me == 40 && block == 0) FAIL(x + 5);
  __syncthreads();
  if (me == 0 && block == 0) vflag[0] = 1;
  if (me == 33 && block == 1) {
    while (!vflag[0]) {}
    ADD(x + 5);
  }
]], "1 8", { blocks = 2, memory = "x" })

case("plain reads and ones that fail, of several warps", [[
  if (lane == 0) GET(M + 5);
  if (lane == 1) FAIL(M + 5);
  __syncwarp();
  if (me == 2) PUT(M + 5);
]], "1 4, 2 4")

case("plain reads and ones that fail alone", [[
  if (lane == 0) GET(M + 5);
  FAIL(M + 5);
  if (lane < 3) GET(M + 5);
]], "")

case("what a barrier puts behind reads of both kinds", [[
  if (lane == 0) GET(M + 5);
  FAIL(M + 5);
  __syncthreads();
  if (me == 3) PUT(M + 5);
  __syncthreads();
  FAIL(M + 5);
  ADD(M + 5);
]], "")

---- volatile stores in shared memory, which lanes of one warp may not rely on
case("between those of two lanes another warp comes behind the first", [[
  if (me == 34) {
    *(volatile float *)(s + 5) = 1;
    RELEASE(0);
  }
  if (me == 0) {
    while (!vflag[0]) {} // no fence behind it, which the next flag would release
    *(volatile float *)(s + 5) = 2;
    vflag[1] = 1;
  }
  if (me == 49) {
    while (!vflag[1]) {}
    *(volatile float *)(s + 5) = 3;
  }
]], "2 12", { memory = "s" })

t.on_threads("tests/simt/partly.lua", 40)

t.done()
