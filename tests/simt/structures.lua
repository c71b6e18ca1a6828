-- What is loaded and not looked at. With a structure that is copied comes what lies between its members, or a member that
-- nobody has set: that is no uninitialized read, but where nothing of what is copied was written, or more is done with it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local clean = assert(loadfile("tests/simt/shared/clean.lua"))(t, gpu)
local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local types <const> = [[struct P { char c; int x; }; struct Q { float a; double b; char k; }; struct alignas(16) R { float x, y, z; }; struct S { int x; char c; };
]]

-- Threads set some members of a structure in shared memory, `sets`, and make something of their neighbour's, `makes`.
local function exchange(type, sets, makes)
  return ([[%s__global__ void k(%s *o) {
  __shared__ %s s[64];
  int t = threadIdx.x;
  %s
  __syncthreads();
  %s
}]]):format(types, type, type, sets, makes)
end

local function run(k, bytes, dtype)
  local o = gpu.zeros(64 * bytes, "uint8")
  k(1, 64)(dtype and o:view(dtype) or o)
  return o
end
-- The 4 bytes at the offset in each of the structures of so many bytes, as a dtype.
local function member(o, bytes, offset, dtype) return o:view(dtype):reshape(64, bytes // 4)[{ {}, offset // 4 + 1 }] end

clean("room behind a char", exchange("P", "s[t].c = t, s[t].x = 2 * t;", "o[t] = s[t ^ 1];"), function(k)
  local o = run(k, 8)
  return function() t.eq(member(o, 8, 4, "int32")[4], 4) end
end)

clean("room before a double, and at the end", exchange("Q", "s[t].a = t, s[t].b = 2 * t, s[t].k = t;", "o[t] = s[t ^ 1];"), function(k)
  local o = run(k, 24)
  return function()
    t.eq(member(o, 24, 0, "float32")[4], 2.0)
    t.eq(o[{ 24 * 3 + 17 }], 2)
  end
end)

clean("room at the end of what is aligned", exchange("R", "s[t].x = t, s[t].y = 2 * t, s[t].z = 1;", "o[t] = s[t ^ 1];"), function(k)
  local o = run(k, 16)
  return function() t.eq(member(o, 16, 4, "float32")[4], 4.0) end
end)

clean("a member that nobody uses", exchange("float4", "s[t].x = t, s[t].y = 2 * t, s[t].z = 1;", "o[t] = s[t ^ 1];"), function(k)
  local o = run(k, 16, "float32")
  return function() t.eq(member(o, 16, 4, "float32")[4], 4.0) end
end)

clean("a member that is set on the way", exchange("float4", "s[t].x = t, s[t].y = 2 * t, s[t].z = 1;", "float4 v = s[t ^ 1]; v.w = 3; o[t] = v;"), function(k)
  local o = run(k, 16, "float32")
  return function() t.eq(member(o, 16, 12, "float32")[4], 3.0) end
end)

clean("in global memory, from launch to launch", types .. [[
__global__ void k(const R *from, R *to, int sets) {
  int t = threadIdx.x;
  if (sets) to[t].x = 1, to[t].y = t, to[t].z = 3; else to[t] = from[t];
}]], function(k)
  local a, b, c = gpu.empty(1024, "uint8"), gpu.empty(1024, "uint8"), gpu.empty(1024, "uint8")
  k(1, 64)(a, b, 1)
  k(1, 64)(b, c, 0)
  return function() t.eq(member(c, 16, 4, "float32")[4], 3.0) end
end)

clean("by way of registers that loops turn round", [[
__global__ void k(float4 *o, int n) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t].x = t, s[t].y = 2 * t, s[t].z = 1;
  __syncthreads();
  float4 here = s[t];
  for (int i = 0; i < n; i++) {
    float4 next = s[(t + i + 1) % 64];
    o[64 * i + t] = here;
    here = next;
  }
}]], function(k)
  local o = gpu.zeros(3 * 256)
  k(1, 64)(o, 3)
  return function() t.eq(o[4 * (64 + 3) + 2], 8.0) end
end)

clean("one of two that is chosen", exchange("R", "s[t].x = t, s[t].y = 2 * t, s[t].z = 1;", "R a = s[t ^ 1], b = s[t ^ 2]; o[t] = a.x < b.x ? a : b;"), function(k)
  local o = run(k, 16)
  return function() t.eq(member(o, 16, 4, "float32")[4], 2.0) end
end)

clean("a key whose room a sort carries along", types .. [[
#include <cub/block/block_merge_sort.cuh>
struct Key { double a; float b; };
struct Before { __device__ bool operator()(const Key &l, const Key &r) const { return l.a < r.a; } };
__global__ void fill(Key *x) { x[threadIdx.x].a = (threadIdx.x * 37) % 256, x[threadIdx.x].b = threadIdx.x; }
__global__ void k(Key *x) {
  typedef cub::BlockMergeSort<Key, 64, 4> Sort;
  __shared__ typename Sort::TempStorage room;
  Key mine[4];
  for (int i = 0; i < 4; i++) mine[i] = x[threadIdx.x * 4 + i];
  Sort(room).Sort(mine, Before());
  for (int i = 0; i < 4; i++) x[threadIdx.x * 4 + i] = mine[i];
}]], function(k)
  local x = gpu.empty(256 * 16, "uint8")
  k.fill(1, 256)(x)
  k.k(1, 64)(x)
  return function() t.eq(string.unpack("<d", x:tobytes(), 16 * 100 + 1), 100.0) end
end)

clean("room that one side of a branch loads far from the members, whose addresses come from both", [[
struct Key { double a; float b; };
__global__ void fill(Key *x) { x[threadIdx.x].a = threadIdx.x, x[threadIdx.x].b = 2 * threadIdx.x; }
__global__ void k(Key *o, const Key *x, const Key *y, int n) {
  Key mine[8];
  int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (n > 8) mine[i] = y[8 * t + i < n ? 8 * t + i : n - 1 - i];
    else mine[i].a = x[8 * t + i].a, mine[i].b = x[i].b;
#pragma unroll
  for (int i = 0; i < 8; i++) o[64 * i + t] = mine[i];
}]], function(k)
  local x, o = gpu.empty(512 * 16, "uint8"), gpu.empty(512 * 16, "uint8")
  k.fill(1, 512)(x)
  k.k(1, 64)(o, x, x, 500)
  return function() t.eq(string.unpack("<d", o:tobytes(), 16 * (64 * 3 + 7) + 1), 59.0) end
end)

-- The compiler loads such room byte by byte, and puts it together with the byte before it for wider stores.
local chosen <const> = types .. [[
struct Key { double a; char b; };
__global__ void fill(Key *x, int without) { x[threadIdx.x].a = threadIdx.x; if (threadIdx.x != without) x[threadIdx.x].b = threadIdx.x / 2; }
__global__ void k(%s *o, const Key *x, const Key *y, int n) {
  Key mine[4];
  int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (n > 8) mine[i] = y[4 * t + i < n ? 4 * t + i : n - 1 - i];
    else mine[i].a = x[4 * t + i].a, mine[i].b = x[i].b;
#pragma unroll
  for (int i = 0; i < 4; i++) %s;
}]]

local function choose(without)
  return function(k)
    local x, o = gpu.empty(256 * 16, "uint8"), gpu.empty(256 * 16, "uint8")
    k.fill(1, 256)(x, without)
    k.k(1, 64)(o, x, x, 250)
    return function()
      t.eq(string.unpack("<d", o:tobytes(), 16 * (64 * 3 + 7) + 1), 31.0)
      t.eq(o[{ 16 * (64 * 3 + 7) + 9 }], 15)
    end
  end
end

clean("room behind a byte that is stored with it", chosen:format("Key", "o[64 * i + t] = mine[i]"), choose(-1))

clean("room that is shifted behind a byte", [[
struct Key { double a; unsigned char b, room[7]; };
__global__ void fill(Key *x) { x[threadIdx.x].a = threadIdx.x, x[threadIdx.x].b = threadIdx.x; }
__global__ void k(Key *o, const Key *x) {
  int t = threadIdx.x;
  double a = x[t].a;
  unsigned b = x[t].b, room = x[t].room[0], shifted, both;
  asm("shl.b32 %0, %1, 8;" : "=r"(shifted) : "r"(room));
  asm("or.b32 %0, %1, %2;" : "=r"(both) : "r"(shifted), "r"(b));
  o[t].a = a, *(unsigned short *)&o[t].b = both;
}]], function(k)
  local x, o = gpu.empty(64 * 16, "uint8"), gpu.empty(64 * 16, "uint8")
  k.fill(1, 64)(x)
  k.k(1, 64)(o, x)
  return function() t.eq(o[{ 16 * 7 + 9 }], 7) end
end)

faulty("a byte that is stored as a number beside others", chosen:format("S", "o[64 * i + t].c = mine[i].a, o[64 * i + t].x = mine[i].b"), choose(77), { kind = "uninitialized read", line = 12, count = 1 })

clean("structures with bytes between their members, copied whole", [[
struct P { char c; double d; };
struct Q { short a; char b; int x; };
__global__ void fill(P *p, Q *q) {
  int i = threadIdx.x;
  p[i].c = i, p[i].d = i, q[i].a = i, q[i].b = 1, q[i].x = i;
}
__global__ void copy(const P *p, P *o, const Q *q, Q *r) {
  o[threadIdx.x] = p[threadIdx.x], r[threadIdx.x] = q[threadIdx.x];
}
__global__ void turned(P *o) {
  __shared__ P s[64];
  int i = threadIdx.x;
  s[i].c = i, s[i].d = i;
  __syncthreads();
  o[i] = s[63 - i];
}]], function(k)
  local p, o, q, r = gpu.empty(1024, "uint8"), gpu.empty(1024, "uint8"), gpu.empty(512, "uint8"), gpu.empty(512, "uint8")
  k.fill(1, 64)(p, q)
  k.copy(1, 64)(p, o, q, r)
  local turned = gpu.empty(1024, "uint8")
  k.turned(1, 64)(turned)
  return function()
    for i = 0, 63 do
      local c, d = string.unpack("<bxxxxxxxd", o:tobytes(), 16 * i + 1)
      t.eq(c, i) t.eq(d, i + 0.0)
      c, d = string.unpack("<bxxxxxxxd", turned:tobytes(), 16 * i + 1)
      t.eq(c, 63 - i) t.eq(d, 63.0 - i)
      local a, b, x = string.unpack("<i2bxi4", r:tobytes(), 8 * i + 1)
      t.eq(a, i) t.eq(b, 1) t.eq(x, i)
    end
  end
end)

clean("CUB's merge sort of a block, which loads keys behind the last ones", [[
#include <cub/block/block_merge_sort.cuh>
struct Before { __device__ bool operator()(int a, int b) const { return a < b; } };
__global__ void k(int *x) {
  typedef cub::BlockMergeSort<int, 64, 4> Sort;
  __shared__ typename Sort::TempStorage room;
  int mine[4];
  for (int i = 0; i < 4; i++) mine[i] = x[threadIdx.x * 4 + i];
  Sort(room).Sort(mine, Before());
  for (int i = 0; i < 4; i++) x[threadIdx.x * 4 + i] = mine[i];
}]], function(k)
  local x = gpu.range(0, 255, 1, "int32") * 37 % 256
  k(1, 64)(x)
  return function() assert(gpu.all(x:eq(gpu.range(0, 255, 1, "int32")))) end
end)

faulty("nothing of what is copied was written", exchange("float4", "if (t < 32) s[t].x = s[t].y = 1;", "o[t] = s[t ^ 1];"), function(k) run(k, 16, "float32") end, { kind = "uninitialized read", line = 7, count = 32 })

faulty("nothing of one that is chosen was written", exchange("R", "if (t < 32) s[t].x = s[t].y = s[t].z = t;", "R a = s[t ^ 1], b = s[t ^ 2]; o[t] = t < 8 ? a : b;"), function(k) run(k, 16) end, { kind = "uninitialized read", line = 7, count = 32 })

faulty("a byte of a structure that is stored elsewhere", exchange("S", "s[t].x = t;", "((char *)o)[t] = s[t ^ 1].c; if (s[t ^ 1].x == 77) o[9].x = 1;"), function(k) run(k, 8) end, { kind = "uninitialized read", line = 7 })

faulty("a byte that becomes a member", types .. [[__global__ void k(S *o) {
  __shared__ char s[64];
  int t = threadIdx.x;
  if (t < 32) s[t] = 1;
  __syncthreads();
  o[t].x = t, o[t].c = s[t ^ 1];
}]], function(k) run(k, 8) end, { kind = "uninitialized read", line = 7, count = 32 })

faulty("bytes beside others", [[__global__ void k(char *o) {
  __shared__ char s[256];
  int t = threadIdx.x;
  s[4 * t] = s[4 * t + 1] = s[4 * t + 3] = t;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; i++) o[4 * t + i] = s[4 * (t ^ 1) + i];
}]], function(k) run(k, 4) end, { kind = "uninitialized read", line = 7, count = 64 })

faulty("a member that is looked at", exchange("float4", "s[t].x = s[t].y = s[t].z = t;", "float4 v = s[t ^ 1]; v.x += v.w; o[t] = v;"), function(k) run(k, 16, "float32") end, { kind = "uninitialized read", line = 7 })

faulty("a member that is looked at beside the copy", exchange("float4", "s[t].x = s[t].y = s[t].z = t;", "float4 v = s[t ^ 1]; o[t] = v; if (v.w > 3) o[t].x = 1;"), function(k) run(k, 16, "float32") end, { kind = "uninitialized read", line = 7 })

t.done()
