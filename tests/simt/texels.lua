-- Races of what goes through surfaces and textures, and kernels that look alike and are right.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)

local block_hint = "blocks are not ordered: use atomic functions (with __threadfence() for what goes with them), or two launches"
local function hint_between(a, b)
  return ("__syncthreads() is missing between lines %d and %d"):format(a, b)
end

local function checked(parameters, source, grid, block, ...)
  local head = "__global__ void k(" .. parameters .. ") {\n  int me = threadIdx.x, b = blockIdx.x;\n#line 1 \"case\"\n"
  local k, arguments = gpu.kernel { source = head .. source .. "\n}", chunk = "case", line = 1 }, table.pack(...)
  return gpu.check(function() k(grid, block)(table.unpack(arguments)) end)
end

-- want: pairs of what a report says, "line: message", and its hint.
local function faulty(name, want, ...)
  local arguments = table.pack(...)
  t.test(name, function()
    for _ = 1, 2 do
      local got = {}
      for i, r in ipairs(checked(table.unpack(arguments))) do
        got[2 * i - 1] = ("%d: %s: %s"):format(r.line or 0, r.kind, r.message)
        got[2 * i] = r.hint
      end
      t.eq(table.concat(got, "\n"), table.concat(want, "\n"))
    end
  end)
end

local function clean(name, result, ...)
  local arguments = table.pack(...)
  t.test(name, function()
    local found = checked(table.unpack(arguments))
    reports.none(found)
    result()
  end)
end

local function surface(...) return gpu.surface(gpu.zeros(...)) end

---- before any texture is over memory, which decides what is watched
t.test("a kernel that was checked with a texture of its own memory first", function()
  local x, apart = gpu.zeros(128), gpu.texture(gpu.zeros(128))
  local k = gpu.kernel [[
    __global__ void k(cudaTextureObject_t t, float *out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (n) out[i] = tex1Dfetch<float>(t, i ^ 33) + 1;
    }]]
  t.eq(#gpu.check(function() k(2, 64)(apart, x, 0) end), 0)
  local found = gpu.check(function() k(2, 64)(gpu.texture(x, { fetch = true }), x, 1) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "race")
end)

---- faulty
faulty("a neighbour's element of a surface without a barrier", {
  "1: race: element (0, 0) of s written here and read in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
}, "cudaSurfaceObject_t s, float *out", [[
  surf2Dwrite(1.0f * me, s, me * 4, 0);
  out[me] = surf2Dread<float>(s, (me ^ 33) * 4, 0);
]], 1, 64, surface(2, 64), gpu.zeros(64))

faulty("all threads of two blocks write one element", {
  "1: race: element (3, 1) of s written by several threads, with nothing that orders them",
  "let one thread write, or use an atomic function such as atomicAdd",
}, "cudaSurfaceObject_t s", [[
  surf2Dwrite(1.0f * (b * 32 + me), s, 12, 1);
]], 2, 32, surface(2, 4))

faulty("a blur in place, whose halo other blocks write", {
  "2: race: element 31 of s written and read by different threads, with nothing that orders them", block_hint,
}, "cudaSurfaceObject_t s", [[
  int x = b * 32 + me, left = x ? x - 1 : 0;
  float v = surf1Dread<float>(s, left * 4); __syncthreads(); surf1Dwrite(v + 1, s, x * 4);
]], 2, 32, gpu.surface(gpu.range(1, 64)))

faulty("a reduction, and a plain store to its element", {
  "2: race: element 0 of s written here and updated by an atomic in line 1 by another thread, with nothing that orders them",
  hint_between(1, 2),
}, "cudaSurfaceObject_t s", [[
  if (me < 32) asm("sured.b.add.1d.u32.trap [%0, {%1}], %2;" :: "l"(s), "r"(0), "r"(1u) : "memory");
  if (me == 40) surf1Dwrite(0, s, 0);
]], 1, 64, surface(4, "int32"))

faulty("bytes of a surface that a wider store overlaps", {
  "1: race: element (4, 0) of s written here and written in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
}, "cudaSurfaceObject_t s", [[
  if (me == 0) surf2Dwrite(0x01020304, s, 4, 0);
  if (me == 32) surf2Dwrite((unsigned char)9, s, 4, 0);
]], 1, 64, surface(2, 16, "uint8"))

faulty("a formatted store", {
  "1: race: element 2 of s written by several threads, with nothing that orders them",
  "let one thread write, or use an atomic function such as atomicAdd",
}, "cudaSurfaceObject_t s", [[
  asm volatile("sust.p.1d.b32.trap [%0, {%1}], {%2};" :: "l"(s), "r"(2), "r"(me) : "memory");
]], 1, 64, surface(4, "uint8"))

faulty("layers", {
  "1: race: element (5, 1) of s written here and read in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
}, "cudaSurfaceObject_t s, float *out", [[
  if (me == 0) surf1DLayeredwrite(7.0f, s, 20, 1);
  if (me == 40) *out = surf1DLayeredread<float>(s, 20, 1);
]], 1, 64, gpu.surface(gpu.zeros(2, 8), { layered = true }), gpu.zeros(1))

faulty("three dimensions", {
  "1: race: element (1, 2, 1) of s written by several threads, with nothing that orders them",
  "let one thread write, or use an atomic function such as atomicAdd",
}, "cudaSurfaceObject_t s", [[
  surf3Dwrite(me, s, 4, 2, 1);
]], 1, 64, surface(2, 3, 4, "int32"))

do
  local s = surface(4, 32)
  faulty("a texture of the surface that is written", {
    "1: race: element (7, 2) of s written here and read in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
  }, "cudaSurfaceObject_t s, cudaTextureObject_t t, float *out", [[
  if (me == 40) surf2Dwrite(1.0f, s, 28, 2);
  if (me < 32) out[me] = tex2D<float>(t, me + 0.5f, 2.5f);
]], 1, 64, s, gpu.texture(s), gpu.zeros(32))

  faulty("a filter that reaches the neighbour", {
    "1: race: element (7, 2) of s written here and read in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
  }, "cudaSurfaceObject_t s, cudaTextureObject_t t, float *out", [[
  if (me == 40) surf2Dwrite(1.0f, s, 28, 2);
  if (me == 0) *out = tex2D<float>(t, 7.0f, 2.5f);
]], 1, 64, s, gpu.texture(s, { filter = "linear" }), gpu.zeros(1))
end

do
  local x = gpu.zeros(64)
  faulty("a texture over an array whose elements the threads write", {
    "1: race: x[0] written here and read in line 2 by another thread, with nothing that orders them", hint_between(1, 2),
  }, "float *x, cudaTextureObject_t t, float *out", [[
  x[me] = me;
  out[me] = tex1Dfetch<float>(t, me ^ 33);
]], 1, 64, x, gpu.texture(x, { fetch = true }), gpu.zeros(64))
end

---- clean
local out = gpu.zeros(64)
clean("a barrier between", function() t.eq(out[1], 33) end, "cudaSurfaceObject_t s, float *out", [[
  surf2Dwrite(1.0f * me, s, me * 4, 0);
  __syncthreads();
  out[me] = surf2Dread<float>(s, (me ^ 33) * 4, 0);
]], 1, 64, surface(2, 64), out)

local same = surface(2, 4)
clean("all write the same value", function() t.eq(same:array()[2][4], 3) end, "cudaSurfaceObject_t s", [[
  surf2Dwrite(3.0f, s, 12, 1);
]], 4, 64, same)

local bytes = surface(4, "uint8")
clean("all write what a format makes the same value", function() t.eq(bytes:array()[3], 255) end, "cudaSurfaceObject_t s", [[
  asm volatile("sust.p.1d.b32.trap [%0, {%1}], {%2};" :: "l"(s), "r"(2), "r"(300 + me) : "memory");
]], 2, 64, bytes)

local sum = surface(4, "int32")
clean("reductions of all blocks", function() t.eq(sum:array()[1], 256) end, "cudaSurfaceObject_t s", [[
  asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" :: "l"(s), "r"(0), "r"(1u) : "memory");
]], 4, 64, sum)

local rows = gpu.surface(gpu.range(1, 128):reshape(2, 64))
clean("each thread its own elements, vectors too", function() t.eq(rows:array()[2][64], 129) end, "cudaSurfaceObject_t s", [[
  float4 v = surf2Dread<float4>(s, me % 16 * 16, b);
  if (me < 16) surf2Dwrite(make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1), s, me * 16, b);
]], 2, 16, rows)

local dropped = surface(2, 4)
clean("stores outside, which are dropped", function() t.eq(dropped:array():sum(), 0) end, "cudaSurfaceObject_t s", [[
  surf2Dwrite(1.0f * me, s, -4 - 4 * me, 0, cudaBoundaryModeZero);
]], 2, 64, dropped)

do
  local s, near = surface(4, 32), gpu.zeros(1)
  clean("a filter that has the neighbour with no weight", function() t.eq(near[1], 0) end,
    "cudaSurfaceObject_t s, cudaTextureObject_t t, float *out", [[
  if (me == 40) surf2Dwrite(1.0f, s, 28, 2);
  if (me == 0) *out = tex2D<float>(t, 6.5f, 2.5f);
]], 1, 64, s, gpu.texture(s, { filter = "linear" }), near)

  local copy = gpu.texture(gpu.ones(4, 32))
  clean("a texture of another array", function() t.eq(near[1], 1) end, "cudaSurfaceObject_t s, cudaTextureObject_t t, float *out", [[
  if (me == 40) surf2Dwrite(1.0f, s, 28, 2);
  if (me == 0) *out = tex2D<float>(t, 7.5f, 2.5f);
]], 1, 64, s, copy, near)

  local x, sums = gpu.range(1, 64):to("float32"), gpu.zeros(64)
  clean("a texture over an array that is only read", function() t.eq(sums[1], 1 + 34) end, "const float *x, cudaTextureObject_t t, float *out", [[
  out[me] = x[me] + tex1Dfetch<float>(t, me ^ 33);
]], 1, 64, x, gpu.texture(x, { fetch = true }), sums)

  local own = gpu.zeros(64)
  clean("a texture over elements of the thread's own", function() t.eq(own[64], 63) end, "float *x, cudaTextureObject_t t, float *out", [[
  x[me] = me;
  out[me] = tex1Dfetch<float>(t, me) * 0 + x[me];
]], 1, 64, own, gpu.texture(own, { fetch = true }), sums)

  local flag, got = gpu.zeros(1, "int32"), gpu.zeros(1)
  clean("a block that waits for another one's flag", function() t.eq(got[1], 5) end, "cudaSurfaceObject_t s, int *flag, float *out", [[
  if (b == 0) { surf2Dwrite(5.0f, s, 4, 1); __threadfence(); atomicExch(flag, 1); }
  else { while (!atomicAdd(flag, 0)) {} __threadfence(); *out = surf2Dread<float>(s, 4, 1); }
]], 2, 1, s, flag, got)
end

t.done()
