-- Who reads a flag comes behind what was released with the value that it reads, and behind nothing else.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)

-- Line 1 of a case is the first one behind this. Who does something: the first lane of each warp of three, or of each block.
local head = [[
__device__ void store_release(int *p, int v) { asm volatile("st.release.gpu.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ void store_relaxed(int *p, int v) { asm volatile("st.relaxed.gpu.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ int load_acquire(int *p) { int v; asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
#define SET(i, v) atomicExch(&flag[i], v)
#define SAY(i, v) (*(volatile int *)&flag[i] = (v)) // no order by itself
#define AWAIT(i, v) while (*(volatile int *)&flag[i] != (v)) {}
__global__ void k(float *x, float *out, int *flag) {
  __shared__ float s[4];
  __shared__ int near[4];
  int me = threadIdx.x, who = gridDim.x > 1 ? blockIdx.x : me / 32;
  if (me < 4) { s[me] = 0; near[me] = 0; }
  __syncthreads();
  if (gridDim.x > 1 ? me : me % 32) return;
#line 1 "case"
]]

local function check(source, blocks, threads)
  local k = gpu.kernel { source = head .. source .. "\n}", chunk = "case", line = 1 }
  local x, out, flag = gpu.zeros(8), gpu.zeros(8), gpu.zeros(2048, "int32")
  return gpu.check(function() k(blocks, threads or 96)(x, out, flag) end), out
end

local function race(line, what, other)
  return ("%d: %s written here and read in line %d by another thread, with nothing that orders them (1 times)"):format(line, what, other)
end
local function each(name, body)
  t.test(name .. ", warps of a block", function() body(1) end)
  t.test(name .. ", blocks", function() body(3) end)
end
local function faulty(name, source, want)
  each(name, function(blocks)
    local text = reports.text((check(source, blocks)))
    t.eq((text:gsub(" of another block", ""):gsub("by a thread", "by another thread")), want)
  end)
end
local function clean(name, source, value)
  each(name, function(blocks)
    local found, out = check(source, blocks)
    reports.none(found)
    t.eq(out[1], value or 1)
  end)
end

---- order
clean("a flag behind a fence", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(0, 1); out[0] = x[0]; }
]])
clean("a chain of flags", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(0, 1); __threadfence(); SET(1, 1); }
  if (who == 2) { AWAIT(1, 1); out[0] = x[0]; }
]])
clean("an update goes on with what came with the value", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(0, 1); atomicAdd(&flag[0], 1); }
  if (who == 2) { AWAIT(0, 2); out[0] = x[0]; }
]])
clean("stores that release and loads that acquire", [[
  if (who == 0) { x[0] = 1; store_release(flag, 1); }
  if (who == 1) { while (!load_acquire(flag)) {} store_release(flag + 1, 1); }
  if (who == 2) { while (!load_acquire(flag + 1)) {} out[0] = x[0]; }
]])
clean("a flag that is read plainly behind the wait", [[
  if (who == 0) store_release(flag, 1);
  if (who == 1) { while (!load_acquire(flag)) {} out[0] = *flag; *flag = 0; }
]])
clean("a lock", [[
  for (int i = 0; i < 20; i++) {
    while (atomicCAS(&flag[0], 0, 1)) {}
    __threadfence();
    x[0] += 1;
    __threadfence();
    atomicExch(&flag[0], 0);
  }
  __threadfence();
  if (atomicAdd(&flag[1], 1) == 2) out[0] = x[0];
]], 60)
clean("a ticket, and the last of all", [[
  x[who] = 1;
  __threadfence();
  if (atomicAdd(&flag[0], 1) == 2) { out[0] = x[0] + x[1] + x[2]; flag[0] = 0; }
]], 3)
clean("two words that are read as one", [[
  unsigned long long *both = (unsigned long long *)flag;
  if (who == 0) { x[0] = 1; __threadfence(); atomicExch(both, 1ull << 32); }
  if (who == 1) { AWAIT(1, 1); out[0] = x[0] + (flag[0] + flag[1] - 1); }
]])
clean("flags of a byte", [[
  volatile char *byte = (volatile char *)flag;
  if (who == 0) { x[0] = 1; __threadfence(); byte[1] = 1; }
  if (who == 1) { while (!byte[1]) {} byte[2] = 1; out[0] = x[0]; }
  if (who == 2) { while (!byte[2]) {} while (!byte[1]) {} out[1] = x[0]; }
]])

---- no order
faulty("a flag of somebody else", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); SAY(1, 1); }
  if (who == 1) { __threadfence(); SET(2, 1); }
  if (who == 2) { AWAIT(2, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("what is written behind the fence", [[
  if (who == 0) { __threadfence(); x[0] = 1;
    SET(0, 1); }
  if (who == 1) { AWAIT(0, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("a value that somebody else has put in its place", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(0, 1); SAY(0, 2); SAY(1, 1); }
  if (who == 2) { AWAIT(1, 1); AWAIT(0, 2);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("a chain whose second part has no fence", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(0, 1); SET(1, 1); }
  if (who == 2) { AWAIT(1, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("a chain whose fence comes before the wait", [[
  if (who == 0) { x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { __threadfence(); AWAIT(0, 1); SET(1, 1); }
  if (who == 2) { AWAIT(1, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("a chain whose fence comes between its waits", [[
  if (who == 0) { __threadfence(); SAY(2, 1); x[0] = 1; __threadfence(); SET(0, 1); }
  if (who == 1) { AWAIT(2, 1); __threadfence(); AWAIT(0, 1); SET(1, 1); }
  if (who == 2) { AWAIT(1, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("a compare-and-swap that fails writes nothing", [[
  if (who == 0) { x[0] = 1; __threadfence(); atomicCAS(&flag[0], 5, 6); SAY(1, 1); }
  if (who == 1) { atomicAdd(&flag[0], 0); }
  if (who == 2) { atomicAdd(&flag[0], 0);
    out[0] = x[0]; }
]], race(1, "x[0]", 4))
faulty("relaxed stores", [[
  if (who == 0) { x[0] = 1; store_relaxed(flag, 1); }
  if (who == 1) { while (!load_acquire(flag)) {}
    out[0] = x[0]; }
]], race(1, "x[0]", 3))

---- several threads, of which some are in order
local function some_in_order(name, source, want)
  for _, blocks in ipairs { 1, 4 } do
    t.test(name .. (blocks == 1 and ", warps of a block" or ", blocks"), function()
      local text = reports.text((check(source, blocks, 128)))
      t.eq((text:gsub(" of another block", ""):gsub("by a thread", "by another thread")), want)
    end)
  end
end
for late = 0, 3 do -- whose flag comes without a fence; none: 3
  local lines = {}
  for who = 0, 2 do
    lines[#lines + 1] = ("if (who == %d) { out[who] = x[0]; %s; }"):format(who, who == late and "SAY(who, 1)" or "__threadfence(); SET(who, 1)")
  end
  lines[#lines + 1] = "if (who == 3) { AWAIT(0, 1); AWAIT(1, 1); AWAIT(2, 1); x[0] = 1; }"
  some_in_order("of three readers one is not waited for: " .. late, table.concat(lines, "\n"), late < 3 and race(4, "x[0]", late + 1) or "")
end

-- All lanes of a warp read one place; a thread of another warp, or block, waits for so many of them before it writes there.
local lanes = gpu.kernel { chunk = "case", line = 1, source = [==[
enum { GLOBAL, SHARED, TEXTURE };
template <int where> __device__ void read_and_write(float *x, float *out, int *flag, int n, int met, cudaTextureObject_t t, const int *at) {
  __shared__ float s[4];
  int lane = threadIdx.x % 32, who = gridDim.x > 1 ? blockIdx.x : threadIdx.x / 32;
  float *p = where == SHARED ? s : x;
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  if (who == 0) {
#line 1 "case"
    out[lane] = where == TEXTURE ? tex1Dfetch<float>(t, at[lane]) : p[at[lane]];
#line 20 "case"
    if (met) __syncwarp();
    if (lane < n) { __threadfence(); atomicExch(&flag[lane], 1); }
  } else if (lane == 0) {
    for (int k = 0; k < n; k++) while (*(volatile int *)&flag[k] != 1) {}
#line 2 "case"
    p[0] = 1;
  }
}
__global__ void global(float *x, float *out, int *flag, int n, int met, cudaTextureObject_t t, const int *at) {
  read_and_write<GLOBAL>(x, out, flag, n, met, t, at);
}
__global__ void shared(float *x, float *out, int *flag, int n, int met, cudaTextureObject_t t, const int *at) {
  read_and_write<SHARED>(x, out, flag, n, met, t, at);
}
__global__ void texture(float *x, float *out, int *flag, int n, int met, cudaTextureObject_t t, const int *at) {
  read_and_write<TEXTURE>(x, out, flag, n, met, t, at);
}]==] }
for where, of in pairs {
  ["one place"] = function() return 0 end, ["four places by turns"] = function(l) return l % 4 end,
  ["a place for each half"] = function(l) return l // 16 end,
} do
  for _, space in ipairs { "global", "shared", "texture" } do
    for blocks = 1, space == "shared" and 1 or 2 do
      t.test(("lanes that read %s, %s memory, %d blocks"):format(where, space, blocks), function()
        local at = {}
        for l = 0, 31 do at[l + 1] = of(l) end
        for _, n in ipairs { 1, 2, 3, 12, 31, 32 } do for met = 0, 1 do
          local x, all = gpu.zeros(8), true
          for l = n, 31 do all = all and of(l) ~= 0 end
          local found = gpu.check(function()
            lanes[space](blocks, 64 // blocks)(x, gpu.zeros(64), gpu.zeros(64, "int32"), n, met, gpu.texture(x, { fetch = true }), gpu.array(at, "int32"))
          end)
          local text = reports.text(found):gsub(" of another block", ""):gsub("by a thread", "by another thread")
          t.eq(text, (all or met == 1) and "" or race(2, space == "shared" and "s[0]" or "x[0]", 1), n .. " lanes")
        end end
      end)
    end
  end
end
some_in_order("of two that store the same one is not waited for", [[
  if (who == 0) { x[0] = 1; SAY(0, 1); }
  if (who == 1) { AWAIT(0, 1);
    x[0] = 1; __threadfence(); SET(1, 1); }
  if (who == 2) { AWAIT(1, 1);
    out[0] = x[0]; }
]], race(1, "x[0]", 5))
some_in_order("a volatile store does not stand for what was stored before", [[
  if (who == 0) { x[0] = 1;
    *(volatile float *)x = 2; SAY(0, 1); }
  if (who == 1) { AWAIT(0, 1);
    out[0] = *(volatile float *)x; __threadfence(); }
]], race(1, "x[0]", 4))
some_in_order("an update of a thread does not stand for what it read before", [[
  if (who == 0) { out[0] = x[0];
    atomicAdd(x, 1); SAY(0, 1); __threadfence(); }
  if (who == 1) { AWAIT(0, 1);
    atomicAdd(x, 1); }
]], (race(4, "x[0]", 1):gsub("written", "updated by an atomic")))

t.test("a barrier of some warps does not wait for one that has ended", function()
  local k = gpu.kernel { chunk = "case", line = 1, source = [[
__global__ void k(float *x, float *out) {
  if (threadIdx.x == 64) x[5] = 1;
  if (threadIdx.x >= 64) return;
  asm volatile("bar.sync 1, 64;" ::: "memory");
  if (threadIdx.x == 0) out[0] = x[5];
}]] }
  for _ = 1, 5 do
    local found = gpu.check(function() k(1, 96)(gpu.zeros(8), gpu.zeros(8)) end)
    t.eq(reports.text(found), "2: x[5] written here and read in line 5 by another thread, with nothing that orders them (1 times)")
  end
end)

-- Who says so for those that it met, at a barrier of two warps or of half a warp, says nothing of the others beside them.
for name, of in pairs { warps = { 64, 96, 'asm volatile("bar.sync 1, 64;" ::: "memory")' }, lanes = { 16, 32, "__syncwarp(0xffff)" } } do
  t.test("a flag behind a meeting of some " .. name, function()
    local met, all, meet = table.unpack(of)
    local k = gpu.kernel { chunk = "case", line = 1, source = ([[
__global__ void k(float *x, float *out, int *flag) {
  int me = threadIdx.x;
  if (me < ALL) {
    x[me] = me;
    if (me < MET) MEET;
    if (me == 3) { __threadfence(); atomicExch(flag, 1); }
  } else if (me == ALL) {
    while (!*(volatile int *)flag) {}
    for (int k = 0; k < MET; k++) out[0] += x[k];
    out[1] = x[MET];
  }
}]]):gsub("%u%u%u%u?", { ALL = all, MET = met, MEET = meet }) }
    local out = gpu.zeros(2)
    local found = gpu.check(function() k(1, all + 32)(gpu.zeros(128), out, gpu.zeros(1, "int32")) end)
    t.eq(reports.text(found), ("4: x[%d] written here and read in line 10 by another thread, with nothing that orders them (1 times)"):format(met))
    t.eq(out[1], met * (met - 1) // 2)
  end)
end

-- What one lane has seen those know that it meets, but not who hears of them behind a fence from before.
for lanes = 16, 32, 16 do
  t.test("what others of " .. lanes .. " lanes have seen", function()
    local k = gpu.kernel { chunk = "case", line = 1, source = [[
#define SAY(i) __threadfence(), atomicExch(&flag[i], 1)
#define AWAIT(i) while (!*(volatile int *)&flag[i]) {}
__global__ void k(float *x, float *out, int *flag, int lanes) {
  int me = threadIdx.x;
  if (me == 5) AWAIT(1);
  if (me == 3) { AWAIT(2); __threadfence(); }
  if (me < lanes) __syncwarp(lanes == 32 ? 0xffffffff : 0xffff);
  if (me == 3) { out[0] = x[0]; atomicExch(&flag[0], 1); }
  if (me == 64) { x[0] = 1; SAY(1); }
  if (me == 96) { SAY(2); AWAIT(0);
    out[1] = x[0]; }
}]] }
    local out = gpu.zeros(2)
    local found = gpu.check(function() k(1, 128)(gpu.zeros(1), out, gpu.zeros(3, "int32"), lanes) end)
    t.eq(reports.text(found), race(9, "x[0]", 11))
    t.eq(out[1], 1)
  end)
end

-- A fence of any thread before a barrier stands for all of the block, with what the block has seen by then.
for what, waits in pairs {
  ["a flag behind the block's barrier"] = "if (me == 34) { AWAIT(1); __threadfence(); }",
  ["a flag behind the block's barrier and another thread's fence"] = "if (me == 5) __threadfence(); if (me == 34) AWAIT(1);",
} do
  t.test(what, function()
    local k = gpu.kernel { chunk = "case", line = 1, source = [[
#define AWAIT(i) while (!*(volatile int *)&flag[i]) {}
__global__ void k(float *x, float *out, int *flag) {
  int me = threadIdx.x, b = blockIdx.x;
  if (b == 0) {
    ]] .. waits .. [[

    __syncthreads();
    if (me == 3) atomicExch(&flag[0], 1);
  }
  if (me == 0 && b == 1) { x[0] = 1; __threadfence(); atomicExch(&flag[1], 1); }
  if (me == 0 && b == 2) { AWAIT(0); out[0] = x[0]; }
}]] }
    local out = gpu.zeros(1)
    reports.none((gpu.check(function() k(3, 64)(gpu.zeros(1), out, gpu.zeros(2, "int32")) end)))
    t.eq(out[1], 1)
  end)
end

t.test("a flag behind a cluster's barrier, for what its other block did before that", function()
  local k = gpu.kernel { chunk = "case", line = 1, source = [[
__global__ void __cluster_dims__(2) k(float *x, float *out, int *flag) {
  int b = blockIdx.x;
  if (b == 1) x[0] = 1;
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
  if (b == 1) x[1] = 1;
  if (b == 0) { __threadfence(); atomicExch(flag, 1); }
  if (b == 2) { while (!*(volatile int *)flag) {}
    out[0] = x[0];
    out[1] = x[1]; }
}]] }
  local out = gpu.zeros(2)
  local found = gpu.check(function() k(4, 1)(gpu.zeros(2), out, gpu.zeros(1, "int32")) end)
  t.eq(reports.text(found), race(5, "x[1]", 9))
  t.eq(out[1], 1)
end)

---- launches that are too large for all of it
t.test("more flags than are told apart", function()
  local k = gpu.kernel [[
__global__ void k(float *x, int *flag, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, next = (i + 32) % (gridDim.x * blockDim.x);
  x[i] = i;
  __threadfence();
  atomicExch(&flag[i], 1);
  if (next < i) return;
  if (*(volatile int *)&flag[next]) out[i] = x[next]; // mostly too early; where it is not, it is in order
}]]
  local n = 300 * 1024
  local x, flag, out = gpu.zeros(n), gpu.zeros(n, "int32"), gpu.zeros(n)
  reports.none((gpu.check(function() k(n // 256, 256)(x, flag, out) end)))
  local k = gpu.kernel [[
__global__ void k(float *x, int *flag, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 1;
  __threadfence();
  if (atomicAdd(flag, 1) < gridDim.x * blockDim.x - 1) return;
  float sum = 0;
  for (int k = 0; k < 2048; k++) sum += x[k];
  out[0] = sum;
}]]
  flag:fill(0)
  reports.none((gpu.check(function() k(n // 256, 256)(x, flag, out) end)))
  t.eq(out[1], 2048)
end)

t.test("what is told apart behind more flags than that", function()
  local k = gpu.kernel { chunk = "case", line = 1, source = [==[
#define SAY(k) atomicExch(&said[k], 1)
#define AWAIT(k) while (*(volatile int *)&said[k] != 1) {}
__global__ void k(int *flag, float *x, float *out, int *said) {
  __shared__ int turn;
  int me = threadIdx.x, others = gridDim.x - 2;
  if (me == 0) turn = atomicAdd(&said[5], 1);
  __threadfence();
  __syncthreads();
  if (turn < others) {
    atomicExch(&flag[blockIdx.x * 1024 + me], 1);
    __syncthreads();
    if (me == 0) atomicAdd(&said[6], 1);
    return;
  }
  if (me == 0) while (*(volatile int *)&said[6] < others) {} // some share numbers with those below
  __syncthreads();
  if (turn == others) { // 0 and 3 go with one thread's fence, 128 to 159 with a warp's, 256 to 511 with all's,
                       // 2048 to 2111 with those of two warps
    x[me] = 1;
    if (me == 0 || me == 3) { __threadfence(); SAY(me); }
    if (me / 32 == 4) { __threadfence(); __syncwarp(); }
    if (me == 130) SAY(1);
    __threadfence();
    __syncthreads();
    if (me == 300) SAY(2);
    if (me / 64 == 10) {
      x[2048 + me % 64] = 1;
      __threadfence();
      asm volatile("bar.sync 1, 64;" ::: "memory");
      if (me == 640) SAY(7);
    }
    __syncthreads();
#line 20 "case"
    x[1024 + me] = 1;
    if (me == 7 || me == 300) { __threadfence(); atomicExch(&said[4], 1); } // for which nobody waits
  } else if (me == 0) {
    AWAIT(0); AWAIT(3);
    out[0] = x[0] + x[3];
    said[0] = said[3] = 0; // plainly: what was awaited comes before that
    AWAIT(1);
    for (int k = 128; k < 160; k++) out[1] += x[k];
    AWAIT(2);
    for (int k = 256; k < 512; k++) out[2] += x[k];
    AWAIT(7);
    for (int k = 2048; k < 2112; k++) out[3] += x[k];
#line 30 "case"
    out[4] = x[1024 + 7];
    out[5] = x[1024 + 300];
    said[4] = 0;
  }
}]==] }
  local blocks = 300
  local x, out = gpu.zeros(2112), gpu.zeros(6)
  local found = gpu.check(function() k(blocks, 1024)(gpu.zeros(blocks * 1024, "int32"), x, out, gpu.zeros(8, "int32")) end)
  local late = "20: x[%d] written here and read in line %d by another thread, with nothing that orders them (1 times)"
  local atomic = "32: said[4] written here and updated by an atomic in line 21 by another thread, with nothing that orders them (1 times)"
  t.eq(reports.text(found), late:format(1024 + 7, 30) .. "\n" .. late:format(1024 + 300, 31) .. "\n" .. atomic)
  t.eq(table.concat({ out[1], out[2], out[3], out[4] }, " "), "2.0 32.0 256.0 64.0")
end)

if not os.getenv("LUNARRAY_THREADS") then
  for _, settings in ipairs { "LUNARRAY_THREADS=1", "LUNARRAY_THREADS=3 LUNARRAY_JIT=0" } do t.again("tests/simt/flags.lua", settings, 30) end
end

t.test("a warp that waits under checks looks a few times, and then others have their turn", function()
  local k = gpu.kernel [[
__global__ void k(int *out, volatile int *flag, int *data) {
  if (threadIdx.x < 32) {
    int looks = 0;
    while (!*flag) looks++;
    __threadfence();
    if (threadIdx.x == 0) out[0] = data[0], out[1] = looks;
  } else if (threadIdx.x == 32) {
    data[0] = 5;
    __threadfence();
    atomicExch((int *)flag, 1);
  }
}]]
  local out = gpu.zeros(2, "int32")
  t.eq(#gpu.check(function() k(1, 64)(out, gpu.zeros(1, "int32"), gpu.zeros(1, "int32")) end), 0)
  t.eq(out[1], 5)
  assert(out[2] > 0 and out[2] <= 12, out[2]) -- of the 82 that a warp has time for where nothing is checked
end)

t.done()
