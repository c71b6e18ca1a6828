-- What a kernel does wrong is named by the software GPU, with line, block and thread, and the session goes on.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU says less, and loses its arrays

local x = gpu.ones(100)

local function here() return debug.getinfo(2, "l").currentline end

t.test("an index out of bounds", function()
  local line = here() + 4
  local k = gpu.kernel [[
__global__ void beyond(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 1;
}]]
  local e = t.raises({ "beyond", "faults.lua:" .. line .. ":", "write of 4 bytes", "that is x[100], and x has 100 elements", "block (1, 0, 0), thread (36, 0, 0)" }, function()
    k(4, 64)(x)
  end)
  t.eq(e:find("past the end of an allocation", 1, true), nil) -- of a neighbour
  t.eq(x:sum(), 100)
end)

t.test("negative indices of shared and local arrays", function()
  local k = gpu.kernel [==[
__global__ void of_shared(int *y, int by) { __shared__ int s[64]; s[threadIdx.x] = 1; __syncthreads(); y[0] = s[(int)threadIdx.x - by]; }
__global__ void of_local(int *y, int by) {
  int a[4];
  for (int i = 0; i < 4; i++) a[i] = y[i];
  a[(int)threadIdx.x - by] = 5;
  for (int i = 0; i < 4; i++) y[i] = a[i];
}
__global__ void across(float *y, int by) {
  extern __shared__ float s[];
  float4 v = ((float4 *)s)[by];
  y[0] = v.x + v.y;
  y[1] = v.z + v.w;
}]==]
  local y = gpu.zeros(64, "int32")
  t.raises("of shared memory, 8 bytes before the first of its 256 bytes", k.of_shared(1, 1), y, 2)
  t.raises("local memory, 12 bytes before the first of its", k.of_local(1, 1), y, 3)
  t.raises("of shared memory, reaching 8 bytes past the end of its ", k.across(1, 1, 40), gpu.zeros(2), 2)
end)

t.test("an index of one lane that is out of bounds, behind a base in the middle", function()
  local line = here() + 5
  local k = gpu.kernel [==[
__global__ void middle(const int *i, const float *x, float *y, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  if (t % 3 < n) s = x[i[t] + 50] + (x + 50)[i[t]];
  y[t] = s;
}]==]
  local index, values = (gpu.range(0, 255) * 37 % 100 - 50):to "int32", gpu.range(1, 100):to "float32"
  local y = gpu.zeros(256)
  local function expect(n)
    for l = 0, 255 do t.eq(y[l + 1], l % 3 < n and 2 * (l * 37 % 100 + 1) or 0) end
  end
  k(4, 64)(index, values, y, 3)
  expect(3)
  k(4, 64)(index, values, y, 2)
  expect(2)
  for _, bad in ipairs { -2147483648, -1 << 29, -51, 50, 1 << 29, 2147483597 } do
    index[75] = bad -- of a thread that does not load
    k(4, 64)(index, values, y, 2)
    expect(2)
    t.raises({ "faults.lua:" .. line .. ":", "read of 4 bytes", "block (1, 0, 0), thread (10, 0, 0)" }, function() k(4, 64)(index, values, y, 3) end)
  end
end)

t.test("a number of one lane that lies between two, in global and in shared memory", function()
  local k = gpu.kernel [==[
__global__ void apart(const int *i, const char *x, short *y) {
  __shared__ char s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = *(const short *)(x + i[t]) + *(const short *)(s + i[t + 128]) + s[i[t]];
}]==]
  local index, x, y = (gpu.range(0, 255) * 37 % 64 * 2):to "int32", gpu.ones(128, "int8"), gpu.zeros(128, "int16")
  k(1, 128)(index, x, y)
  t.eq(y:sum(), 128 * (257 + 257 + 1))
  for _, lane in ipairs { 1, 128, 129, 256 } do
    local former = index[lane]
    index[lane] = 63
    t.raises({ "which is not a multiple of 2", "read of 2 bytes", ("thread (%d, 0, 0)"):format((lane - 1) % 128) }, function() k(1, 128)(index, x, y) end)
    index[lane] = former
  end
end)

t.test("a null pointer", function()
  local k = gpu.kernel "__global__ void null(const float *p, float *o) { o[0] = p[threadIdx.x]; }"
  t.raises({ "null pointer: p", "read of 4 bytes" }, function() k(1, 32)(nil, x) end)
end)

t.test("what was followed where a pointer is null, whoever noticed", function()
  local line = here() + 2
  local k = gpu.kernel [==[
__global__ void seen(float *x, int n) {
  float *q = x;
  if (n == 3) {
    q = nullptr;
    *q = 1; // the compiler knows that it is null
  }
  x[0] = 2;
}
__global__ void loaded(float *const *table, float *x) {
  float *row = table[1];
  x[0] = row[2] + 1;
}
__global__ void two(float *const *table, float *x) {
  float *a = table[0], *b = table[1];
  x[0] = a[1] + b[1];
}
__global__ void meant(float *x, int n) {
  if (n == 3) __trap();
  x[0] = 2;
}]==]
  local function excerpt(at, text, caret)
    return ("%5d | %s\n      | %s^\n"):format(line + at, text, (" "):rep(caret))
  end
  local table = gpu.zeros(4, "uint64")
  t.raises({ "access through a null pointer: q\n" .. excerpt(4, "*q = 1; // the compiler knows that it is null", 1), "kernel seen" },
    function() k.seen(1, 32)(x, 3) end)
  t.raises({ "next to a null pointer: row\n" .. excerpt(10, "x[0] = row[2] + 1;", 7), "read of 4 bytes at 0x8" }, function() k.loaded(1, 1)(table, x) end)
  local e = t.raises({ "next to a null pointer\n" .. excerpt(14, "x[0] = a[1] + b[1];", 0) }, function() k.two(1, 1)(table, x) end)
  t.eq(e:find("pointer:", 1, true), nil) -- either of them may be it
  e = t.raises({ ": trap\n", excerpt(17, "if (n == 3) __trap();", 0) }, function() k.meant(1, 1)(x, 3) end)
  t.eq(e:find("null", 1, true), nil)
  t.eq(x:sum(), 100)
end)

t.test("an atomic on a variable of the thread's own", function()
  local k = gpu.kernel [=[
__device__ __noinline__ int up(int *p, int v) { return atomicMax(p, v); }
__device__ __noinline__ int own(int *p, int v) { return atomicAdd(p, v); }
__global__ void called(int *x) { int a[2] = {1, 2}; x[threadIdx.x] = own(a + (x[0] & 1), 3); }
__global__ void unknown(int *x, int n) { int a[2] = {1, 2}; x[threadIdx.x] = up(n > 1 ? a + (n & 1) : x, 3); }
__global__ void alone(int *x) { int a = 3; x[threadIdx.x] = atomicAdd(&a, 2) + a; }
__global__ void meant(int *x) { __trap(); }
]=]
  local x = gpu.zeros(1, "int32")
  t.raises({ "trap: an atomic on a thread's own variable", "return atomicAdd(p, v);" }, function() k.called(1, 1)(x) end)
  t.raises({ "faults.lua", ": an atomic on a thread's own variable", "return atomicMax(p, v);" }, function() k.unknown(1, 1)(x, 2) end)
  k.unknown(1, 1)(x, 1)
  t.eq(x[1], 0)
  t.raises({ "trap: an atomic on a thread's own variable", "kernel alone" }, function() k.alone(1, 1)(x) end)
  local e = t.raises(": trap\n", function() k.meant(1, 1)(x) end)
  t.eq(e:find("atomic", 1, true), nil)
end)

t.test("an assertion that fails", function()
  local line = here() + 5
  local k = gpu.kernel [[
#include <cassert>
__global__ void checked(int n) {
  int i = threadIdx.x;
  assert(i < n);
}]]
  k(1, 32)(32)
  t.raises({ "i < n", "checked", "faults.lua:" .. line .. ":" }, function() k(1, 33)(32) end)
  k(1, 32)(32)
end)

t.test("a trap, a barrier that not all reach, recursion without an end", function()
  t.raises("trap", function() gpu.kernel("__global__ void k() { __trap(); }")(1, 1)() end)
  t.raises({ "deadlock", "faults.lua:" .. here() + 3 .. ":" }, function()
    gpu.kernel [[
__global__ void k() {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
  else asm volatile("bar.sync 2, 64;");
}]](1, 64)()
  end)
  t.raises("calls of f(int, volatile int *) are nested", function()
    gpu.kernel "__device__ __noinline__ int f(int n, volatile int *p) { *p = n; return f(n + 1, p) + *p; } __global__ void k(int *o) { o[0] = f(0, o); }" (1, 1)(gpu.zeros(1, "int32"))
  end)
end)

t.test("more static shared memory than there is", function()
  t.raises({ "faults.lua:" .. here() + 2 .. ":", "in big", "50000 bytes of static shared memory", "extern __shared__" }, function()
    gpu.kernel [[
__global__ void big(float *x) { __shared__ float s[12500]; s[threadIdx.x] = 1; __syncthreads(); x[0] = s[threadIdx.x ^ 1]; }]](1, 2)(x)
  end)
end)

t.test("an access out of bounds by a thread of a block of few", function()
  local k = gpu.kernel [[__global__ void k(float *x) { x[threadIdx.x + 2 * threadIdx.y == 3 ? 1 << 28 : threadIdx.x] = 1; }]]
  t.raises({ "block (0, 0, 0), thread (1, 1, 0)", "write of 4 bytes" }, function() k(1, { 2, 3 })(gpu.ones(2)) end)
end)

t.test("an access out of bounds by the last thread of a block's last warp, which is not full", function()
  local k = gpu.kernel [[__global__ void k(float *x) { x[threadIdx.x + 10 * threadIdx.y == 69 ? 1 << 28 : threadIdx.x] = 1; }]]
  t.raises({ "block (0, 0, 0), thread (9, 6, 0)", "write of 4 bytes" }, function() k(1, { 10, 7 })(gpu.ones(10)) end)
end)

-- What a last warp that is not full has found right of single words is not for the rows of the others.
t.test("a row that begins where the last warp has been, and goes out of bounds", function()
  local k = gpu.kernel [[__global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 2; }]]
  k(400, 50)(gpu.ones(20000))
  t.raises({ "block (399, 0, 0), thread (12, 0, 0)", "write of 4 bytes" }, function() k(400, 50)(gpu.ones(19962)) end)
end)

t.test("an instruction that the software GPU lacks", function()
  t.raises({ "does not know the instruction", "sin.nothing" }, function()
    gpu.kernel([[__global__ void k(float *x) { asm("sin.nothing.f32 %0, %0;" : "+f"(x[0])); }]])(1, 1)(x)
  end)
end)

t.test("votes without a mask, which no GPU has any more", function()
  t.raises({ "GPUs from Volta on have no vote.ballot.b32", "__ballot_sync(0xffffffff" }, function()
    gpu.kernel "__global__ void k(float *x) { x[0] = __ballot(x[0] > 1); }"
  end)
end)

t.test("a kernel beside one that needs such an instruction", function()
  local line = here() + 3
  local k = gpu.kernel [[
__device__ __noinline__ float lacking(float x) {
  asm volatile("sin.nothing.f32 %0, %0;" : "+f"(x));
  return x;
}
__global__ void good(float *x) { x[threadIdx.x] += 1; }
__global__ void bad(float *x) { x[0] = lacking(x[0]); }]]
  local y = gpu.ones(10)
  k.good(1, 10)(y)
  t.eq(y:sum(), 20)
  t.raises({ "does not know the instruction sin.nothing", "faults.lua:" .. line .. ":", "lacking" }, function() k.bad(1, 1)(y) end)
  k.good(1, 10)(y)
  t.eq(y:sum(), 30)
end)

t.test("checks list a fault with its place and thread", function()
  local line = here() + 2
  local k = gpu.kernel [[
__device__ __noinline__ int deep(int n) {
  volatile int a[64];
  a[n % 64] = n;
  return n <= 0 ? a[0] : deep(n - 1) + a[n % 64];
}
__global__ void stack(int *o) { o[0] = deep(1000000); }
__device__ void check(int i) {
  assert(i < 37);
}
__global__ void asserts(int *o) {
  check(blockIdx.x * 32 + threadIdx.x);
}
__global__ void traps(int *o) {
  if (threadIdx.x == 3)   __trap();
}
__global__ void written(cudaSurfaceObject_t s) {
  surf1Dwrite(1.0f, s, 4 * threadIdx.x);
}]]
  local o = gpu.zeros(1, "int32")
  local function expect(f, block, thread, want)
    local found = gpu.check(f)
    t.eq(#found, 1)
    local r = found[1]
    for key, v in pairs(want) do t.eq(r[key], v, key) end
    t.eq(r.kind, "fault")
    t.eq(r.thread.x, thread)
    t.eq(r.block.x, block)
    assert(r.file:find "faults.lua" and r.text:find("faults.lua:" .. r.line .. ": " .. r.message, 1, true), r.text)
    if r.column then assert(r.text:find("| " .. r.source .. "\n      | " .. (" "):rep(r.column - 1) .. "^", 1, true), r.text) end
    assert(getmetatable(found).__display(found)["text/html"]:find("faults.lua:" .. r.line .. " | ", 1, true))
  end
  expect(function() k.asserts(2, 32)(o) end, 1, 5,
    { line = line + 7, source = "assert(i < 37);", message = "assertion `i < 37' failed in void check(int)" })
  expect(function() k.traps(1, 32)(o) end, 0, 3, { line = line + 13, source = "if (threadIdx.x == 3)   __trap();", message = "trap" })
  expect(function() k.written(1, 5)(gpu.surface(gpu.zeros(4))) end, 0, 4,
    { line = line + 16, source = "surf1Dwrite(1.0f, s, 4 * threadIdx.x);", column = 1 })
  expect(function() k.stack(1, 1)(o) end, 0, 0, { line = line + 3, column = 1 })
end)

t.test("the session goes on", function()
  local k = gpu.kernel "__global__ void k(float *x) { x[threadIdx.x] += 1; }"
  k(1, 100)(x)
  t.eq(x:sum(), 200)
end)

t.done()
