-- Warps that hand each other buffers for so long that what all have seen is left out of the notes: what some have not seen
-- is told of all the same, and what a thread has seen stays known.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- Warps 0 and 1 hand on a buffer, by mbarriers or barriers by number; 2 and 3 wait until all is over, by what orders nothing.
-- Line 1 of a case is the first one behind this.
local head = dofile("tests/simt/shared/mbarriers.lua") .. [[
__device__ void arrive(u64 *bar) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(bar)) : "memory"); }
#define SYNC(id) asm volatile("bar.sync %0, 64;" :: "r"(id) : "memory")
#define OVER() do { if (lane == 0) atomicAdd(flag, 1); } while (0)
#define WAIT(n) while (*(volatile int *)flag < n) {}
#define LOAD(to, p) asm volatile("ld.shared.s32 %0, [%1];" : "=r"(to) : "r"(at(p)) : "memory")
__global__ void k(int *out, int *flag) {
  __shared__ int s[512];
  __shared__ u64 full, empty, one, two, other[2];
  int me = threadIdx.x, warp = me / 32, lane = me % 32, sum = 0;
  if (me == 0) { begin(&full, 32); begin(&empty, 32); begin(&one, 1); begin(&two, 1); begin(&other[0], 32); begin(&other[1], 32); }
  asm volatile("" :: "r"(at(s)) : "memory"); // the compiler does not know all that is stored there
  __syncthreads();
  auto ring = [&](int from, int rounds) {
    for (int i = from; i < from + rounds; i++) {
      if (PHASES) {
        if (warp == 0 && i) wait(&empty, (i - 1) % 2);
        if (warp == 0) s[lane] = i, arrive(&full);
        if (warp == 1) wait(&full, i % 2), sum += s[31 - lane], arrive(&empty);
      } else {
        if (warp == 0) s[lane] = i;
        SYNC(1);
        if (warp == 1) sum += s[31 - lane];
        SYNC(2);
      }
    }
  };
#line 1 "case"
]]

local function check(source, phases)
  source = (head .. source .. "\nout[me] = sum;\n}"):gsub("PHASES", phases)
  local k = gpu.kernel { source = source, chunk = "case", line = 1 }
  local out, flag = gpu.zeros(128, "int32"), gpu.zeros(1, "int32")
  return gpu.check(function() k(1, 128)(out, flag) end), out
end

-- Reports without their numbers: compilers load early what only one lane needs.
local function text(found)
  local lines = {}
  for i, r in ipairs(found) do lines[i] = r.line .. ": " .. r.message end
  return table.concat(lines, "\n")
end

local function each(name, f, last)
  for phases = 0, last or 1 do t.test(name .. (phases == 1 and ", by mbarriers" or ""), function() f(phases) end) end
end

local function faulty(name, source, want, last)
  each(name, function(phases) t.eq(text((check(source, phases))), want) end, last)
end

local function clean(name, source, sum)
  each(name, function(phases)
    local found, out = check(source, phases)
    t.eq(text(found), "")
    t.eq(out[33], sum)
  end)
end

faulty("what a warp did that nobody came behind", [[
  if (warp == 3 && lane == 9) s[200] = 1;
  if (warp < 2) { ring(0, 700); OVER(); }
  if (me == 64) { WAIT(2); LOAD(sum, &s[200]); }
]], "1: s[200] written here and read in line 3 by another thread, with nothing that orders them")

faulty("what one lane did, of a warp of which another arrived", [[
  if (warp == 3) { s[200 + lane] = 1; if (lane == 0) arrive(&one); }
  if (warp < 2) { wait(&one, 0); sum = s[200]; ring(0, 700); }
  if (me == 33) LOAD(sum, &s[205]);
]], "1: s[205] written here and read in line 3 by another thread, with nothing that orders them")

faulty("what one lane did that only other warps came behind", [[
  if (me == 64) { s[210] = 1; arrive(&one); }
  if (warp < 2) { wait(&one, 0); ring(0, 700); OVER(); }
  if (warp == 2) { WAIT(2); if (lane == 9) LOAD(sum, &s[210]); }
]], "1: s[210] written here and read in line 3 by another thread, with nothing that orders them", 0) -- arrivals have fences

clean("lanes that waited for others before long", [[
  if (me == 64) { s[300] = 1; arrive(&one); }
  if (me == 96) { s[301] = 1; arrive(&two); }
  if (warp == 1) {
    if (lane < 16) { wait(&one, 0); sum = s[300]; }
    else { wait(&two, 0); sum = s[301]; }
  }
  if (warp < 2) ring(0, 700);
  if (warp == 1) { int late; LOAD(late, &s[lane < 16 ? 300 : 301]); sum += late; }
  if (warp == 1) ((volatile char *)s)[2000 + lane] = 1; // by bytes: all is looked at more closely from then on
  if (warp < 2) ring(700, 20);
]], 719 * 360 + 2)

clean("halves of warps that met before", [[
  if (warp == 3) { s[352 + lane] = 1; OVER(); WAIT(2); }
  if (warp == 2) { s[320 + lane] = 1; WAIT(1); }
  if (warp >= 2) {
    if (lane < 16) __syncwarp(0xffff);
    else __syncwarp(0xffff0000);
    OVER();
  }
  if (warp < 2) { WAIT(3); ring(0, 700); OVER(); }
  if (warp >= 2) { WAIT(5); if (lane % 16 == 1) LOAD(sum, &s[256 + me - 1]); }
  if (warp == 2) ((volatile char *)s)[2000 + lane] = 1;
]], 699 * 350)

faulty("what one lane of a warp came behind, and others did not", [[
  if (me == 64) { s[310] = 1; arrive(&one); }
  if (warp < 2) { wait(&one, 0); ring(0, 700); OVER(); }
  if (warp == 3) { if (lane == 0) wait(&one, 0); WAIT(2); if (lane == 5) LOAD(sum, &s[310]); }
]], "1: s[310] written here and read in line 3 by another thread, with nothing that orders them", 0)

clean("what comes behind many rounds", [[
  if (warp == 0) s[100 + lane] = lane;
  if (warp < 2) ring(0, 700);
  if (warp == 1) { int late; LOAD(late, &s[131 - lane]); sum += late; __syncwarp(); s[100 + lane] = 5; }
  if (warp == 1) ((volatile char *)s)[2000 + lane] = 1;
  if (warp < 2) ring(700, 20);
]], 719 * 360 + 31)

if not os.getenv("LUNARRAY_THREADS") then t.again("tests/simt/rings.lua", "LUNARRAY_JIT=0 LUNARRAY_THREADS=1", 1) end

t.done()
