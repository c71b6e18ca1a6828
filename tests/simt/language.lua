-- What CUDA C++ offers inside a kernel: functions, classes, memory spaces, types, arithmetic, inline PTX.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
typedef unsigned long long u64;

// ---- functions ----
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n != 0 && even(n - 1); }
__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__global__ void recursion(int *out) {
  I;
  out[i] = fibonacci(i % 12) + 1000 * even(i) + 10000 * ackermann(2, i % 3);
}
typedef int (*operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ __noinline__ int power(int a, int b) { int r = 1; while (b--) r *= a; return r; }
__device__ operation operations[4] = {plus, minus, product, power};
__global__ void pointers(const int *which, int *out) {
  I;
  out[i] = operations[which[i]](i, 3);
}
template <class F> __device__ int fold(F f, int n, int v) { for (int j = 0; j < n; j++) v = f(v, j); return v; }
__global__ void lambdas(int *out, int scale) {
  I;
  auto f = [=](int v, int j) { return v + scale * j + i; };
  int calls = 0;
  auto g = [&calls](int v, int j) { calls++; return v ^ j; };
  out[i] = fold(f, 4, 0) + 1000 * fold(g, i % 5, 7) + 100000 * calls;
}
template <class... A> __device__ int count_all(A... a) { return sizeof...(a); }
__device__ int sum_all() { return 0; }
template <class F, class... R> __device__ int sum_all(F f, R... r) { return (int)f + sum_all(r...); }
template <int N> struct Factorial { static const int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static const int value = 1; };
constexpr int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }
__global__ void templates(int *out) {
  I;
  out[i] = sum_all(i, 2.9f, (char)3, 4u) + 100 * count_all(1, 2, 3) + 1000 * Factorial<5>::value + gcd(84, 36) * 1000000;
}
// ---- classes ----
struct Shape { int id; __device__ Shape(int n) : id(n) {} __device__ virtual float area() const { return 0; } __device__ virtual ~Shape() {} };
struct Circle : Shape { float r; __device__ Circle(int n, float v) : Shape(n), r(v) {} __device__ float area() const override { return 3 * r * r; } };
struct Box : Shape { float a, b; __device__ Box(int n, float x, float y) : Shape(n), a(x), b(y) {} __device__ float area() const override { return a * b; } };
__global__ void virtuals(float *out) {
  I;
  Circle c(i, 2);
  Box b(i, i, 4);
  Shape s(i);
  const Shape *list[3] = {&c, &b, &s};
  out[i] = list[i % 3]->area() + list[(i + 1) % 3]->area();
}
template <class D> struct Base { __device__ int twice() { return 2 * static_cast<D *>(this)->value(); } };
struct Derived : Base<Derived> { int v; __device__ int value() { return v; } };
struct Vec {
  float x, y;
  __device__ Vec operator+(Vec o) const { return {x + o.x, y + o.y}; }
  __device__ Vec &operator*=(float s) { x *= s, y *= s; return *this; }
  __device__ float operator[](int i) const { return i ? y : x; }
  __device__ float norm() const { return x * x + y * y; }
};
__global__ void classes(const Vec *v, float *out, int *twice) {
  I;
  Vec a = v[i] + Vec{1, 2};
  a *= 2;
  float (Vec::*f)() const = &Vec::norm;
  out[i] = (a.*f)() + a[i & 1];
  Derived d;
  d.v = i;
  twice[i] = d.twice();
}
struct Params { signed char tag; short step; int base; double scale; int table[5]; };
__global__ void by_value(Params p, double *out) {
  I;
  out[i] = p.table[i % 5] * p.scale + p.base + p.step + p.tag;
}
union Word { float f; int i; unsigned char b[4]; struct { unsigned mantissa : 23, exponent : 8, sign : 1; } parts; };
__global__ void unions(const float *x, int *out) {
  I;
  Word w;
  w.f = x[i];
  out[4 * i] = w.i, out[4 * i + 1] = w.b[3] * 256 + w.b[0], out[4 * i + 2] = w.parts.exponent, out[4 * i + 3] = w.parts.sign;
}
struct Flags { unsigned a : 3, b : 5; int c : 7; u64 d : 40; };
__global__ void bitfields(long long *out) {
  I;
  Flags f = {};
  f.a = i, f.b = i * 3, f.c = i - 60, f.d = (u64)i << 33;
  f.c += 1;
  out[i] = f.a + 10 * f.b + 1000 * f.c + (long long)(f.d >> 30) * 1000000;
}
// ---- memory ----
__constant__ double coefficients[4] = {1.5, -2, 0.25, 8};
__constant__ struct { int a; char name[8]; } settings = {42, "simt"};
__device__ int generation = 5;
__device__ float2 corner[2] = {{1, 2}, {3, 4}};
__global__ void spaces(double *out) {
  I;
  out[i] = coefficients[i % 4] + settings.a + settings.name[i % 4] + generation + corner[i % 2].y;
}
__global__ void counter(int *out) {  // a static of the function keeps its value between launches
  static __device__ int calls = 100;
  out[threadIdx.x] = atomicAdd(&calls, 1);
}
__global__ void locals(const int *x, int *out, int n) {  // arrays indexed by data live in local memory
  I;
  int histogram[8] = {}, stack[16], top = 0;
  for (int j = 0; j < n; j++) histogram[(x[j] + i) & 7]++;
  for (int j = 0; j < 8; j++) if (histogram[j] & 1) stack[top++] = j * histogram[j];
  int s = 0;
  while (top) s = 3 * s + stack[--top];
  out[i] = s;
}
__global__ void dynamic(int *out, int ints, int floats) {  // several arrays in one block of dynamic shared memory
  extern __shared__ __align__(16) unsigned char raw[];
  double *d = (double *)raw;
  int *n = (int *)(d + floats);
  char *c = (char *)(n + ints);
  for (int j = threadIdx.x; j < floats; j += blockDim.x) d[j] = j * 0.5;
  for (int j = threadIdx.x; j < ints; j += blockDim.x) n[j] = j * 3, c[j] = j;
  __syncthreads();
  int j = blockDim.x - 1 - threadIdx.x;
  out[threadIdx.x] = (int)(d[j % floats] * 2) + n[j % ints] + c[j % ints];
}
__global__ void restricted(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  I;
  if (i < n) c[i] = __ldg(a + i) + 2 * __ldg(b + i);
}
__global__ void vectors(const float4 *a, const short4 *s, const uchar2 *u, float4 *out, double2 *wide) {
  I;
  float4 v = a[i];
  short4 w = s[i];
  out[i] = make_float4(v.x + w.w, v.y + w.z, v.z + w.y + u[i].x, v.w + w.x - u[i].y);
  wide[i] = make_double2((double)v.x * v.y, v.z);
}
__device__ void swap(int &a, int &b) { int c = a; a = b; b = c; }
__global__ void references(int *x) {
  I;
  int a = x[2 * i], b = x[2 * i + 1];
  int &low = a < b ? a : b, *p = &a;
  low *= 10;
  swap(*p, b);
  x[2 * i] = a, x[2 * i + 1] = b;
}
// ---- control ----
__global__ void switches(const int *x, int *out) {
  I;
  int v = x[i], r = 0;
  switch (v) {
    case 0: r = 5; break;
    case 1: r = 3;
    case 2: r += 7; break;
    case 3: case 4: r = v * v; break;
    case 5: r = -1; break;
    case 6: r = 100 / v; break;
    case 7: return;
    case 1000: r = 9; break;
    default: r = v % 13;
  }
  out[i] = r;
}
__global__ void loops(int *out) {
  I;
  int s = 0;
  for (int a = 0; a < i; a++) {
    if (a % 5 == 3) continue;
    int b = a;
    do { s += b; if (s > 500) goto out; } while (b-- > 2);
  }
  s = -s;
out:
  out[i] = s;
}
__global__ void collatz(int *out, int n) {
  I;
  if (i >= n) return;
  int steps = 0;
  for (u64 v = i + 1; v != 1; steps++) v = v & 1 ? 3 * v + 1 : v / 2;
  out[i] = steps;
}
__global__ void __launch_bounds__(64, 4) bounded(float *x) {
  I;
  float r[8];
#pragma unroll
  for (int j = 0; j < 8; j++) r[j] = x[i] + j;
#pragma unroll 4
  for (int j = 1; j < 8; j++) r[0] += r[j] * j;
#pragma unroll 1
  for (int j = 0; j < 3; j++) r[0] -= 1;
  x[i] = r[0];
}
// ---- arithmetic ----
__global__ void wide(const long long *a, const long long *b, long long *out) {
  I;
  long long x = a[i], y = b[i], *o = out + 10 * i;
  u64 ux = x, uy = y;
  o[0] = x + y, o[1] = x * y, o[2] = y ? x / y : 0, o[3] = y ? x % y : 0, o[4] = uy ? ux / uy : 0, o[5] = uy ? ux % uy : 0;
  o[6] = x >> (y & 63), o[7] = ux >> (y & 63), o[8] = x << (y & 63), o[9] = (x < y) + 2 * (ux < uy);
}
__global__ void narrow(const int *a, int *out) {
  I;
  signed char c = a[i];
  unsigned char u = a[i];
  short s = a[i];
  unsigned short w = a[i];
  out[4 * i] = c / 3 + (c >> 1), out[4 * i + 1] = u / 3 + (u >> 1), out[4 * i + 2] = s % 7 * 2, out[4 * i + 3] = (unsigned short)(w * w);
}
__global__ void bits(const unsigned *a, unsigned *out) {
  I;
  unsigned x = a[i], *o = out + 10 * i;
  o[0] = __brev(x), o[1] = __clz(x), o[2] = __ffs(x), o[3] = __popc(x), o[4] = __byte_perm(x, ~x, 0x6240);
  o[5] = __funnelshift_l(x, 0x12345678, i), o[6] = __funnelshift_r(x, 0x12345678, i), o[7] = __umulhi(x, 0x9e3779b9), o[8] = __usad(x, 1000, 5);
  o[9] = __clzll((u64)x << 16) + 100 * __popcll((u64)x << 8 | x) + 10000 * __ffsll((u64)x << 20);
}
__global__ void roundings(const float *x, int *out, float *f) {
  I;
  out[4 * i] = __float2int_rn(x[i]), out[4 * i + 1] = __float2int_rz(x[i]), out[4 * i + 2] = __float2int_ru(x[i]), out[4 * i + 3] = __float2int_rd(x[i]);
  f[4 * i] = roundf(x[i]), f[4 * i + 1] = truncf(x[i]), f[4 * i + 2] = __fadd_ru(x[i], 1e-8f), f[4 * i + 3] = __fdiv_rd(x[i], 3);
}
__global__ void halves(const float *x, float *out) {
  I;
  __half h = __float2half(x[i]), two = __float2half(2.f);
  __half2 p = __floats2half2_rn(x[i], 1), q = __hadd2(p, p);
  __nv_bfloat16 b = __float2bfloat16(x[i]);
  out[4 * i] = __half2float(__hfma(h, two, h)), out[4 * i + 1] = __low2float(q) - __high2float(q);
  out[4 * i + 2] = __bfloat162float(b), out[4 * i + 3] = __half2float(__hmax(h, two)) + (__hlt(h, two) ? 1000 : 0);
}
__global__ void assembly(const int *x, int *out, u64 *wide) {
  I;
  int a, b;
  u64 w;
  unsigned lane;
  asm("mad.lo.s32 %0, %1, 7, %2;" : "=r"(a) : "r"(x[i]), "r"(i));
  asm("{ .reg .pred p; setp.gt.s32 p, %1, 50; selp.s32 %0, 1, -1, p; @p add.s32 %0, %0, %1; }" : "=r"(b) : "r"(x[i]));
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(w) : "r"(x[i]), "r"(0xffffffffu));
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  out[i] = a * 1000 + b + (int)lane * 1000000;
  wide[i] = w;
}
__global__ void clocks(long long *out) {
  long long a = clock64();
  unsigned c = clock();
  __nanosleep(20);
  for (int i = 0; i < 1000000 && (clock64() == a || clock() == c); i++) {}  // a tick may be longer than that
  u64 g0, g1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g0));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g1));
  out[threadIdx.x] = clock64() > a && clock() != c && g1 >= g0;
}
__global__ void special(float *out, float x) {
  const float v[8] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, x, -x, x * 1e-42f};
  I;
  float f = v[i % 8], g = v[i / 8];
  out[i] = (f < g) + 2 * (f == g) + 4 * !(f >= g) + 8 * isnan(f * g) + 16 * isinf(f + g) + 32 * signbit(f * g) + 64 * (fminf(f, g) == f) + 128 * (f != f);
}]=]

local function int32(v)
  v = v & 0xffffffff
  return v < 2 ^ 31 and v or v - (1 << 32)
end

-- Runs kernel `name` by n threads in blocks of 32; the last argument is a zeroed array of `each` numbers a thread, returned.
local function run(name, n, dtype, each, ...)
  local out, args = gpu.zeros(n * each, dtype), { ... }
  args[#args + 1] = out
  k[name](n // 32, 32)(table.unpack(args))
  return out:totable()
end

t.test("recursion of a function, of two, nested", function()
  local fib = { [0] = 0, 1 }
  for i = 2, 12 do fib[i] = fib[i - 1] + fib[i - 2] end
  t.same(run("recursion", 32, "int32", 1), t.list(32, function(i) return fib[i % 12] + (i % 2 == 0 and 1000 or 0) + 10000 * (2 * (i % 3) + 3) end))
end)

t.test("a table of functions in device memory", function()
  local which = t.list(64, function(i) return i * i % 7 % 4 end)
  t.same(run("pointers", 64, "int32", 1, gpu.array(which, "int32")),
    t.list(64, function(i) return ({ [0] = i + 3, i - 3, i * 3, i ^ 3 | 0 })[which[i + 1]] end))
end)

t.test("lambdas that capture", function()
  local out = gpu.zeros(32, "int32")
  k.lambdas(1, 32)(out, 5)
  t.same(out:totable(), t.list(32, function(i)
    local v = 7
    for j = 0, i % 5 - 1 do v = v ~ j end
    return 30 + 4 * i + 1000 * v + 100000 * (i % 5)
  end))
end)

t.test("templates: packs, recursion, constants", function()
  t.same(run("templates", 32, "int32", 1), t.list(32, function(i) return i + 9 + 300 + 120000 + 12000000 end))
end)

t.test("virtual functions", function()
  local function area(i, j) return ({ [0] = 12, 4 * i, 0 })[j % 3] end
  t.close(run("virtuals", 32, "float32", 1), t.list(32, function(i) return area(i, i) + area(i, i + 1) end), 0)
end)

t.test("operators, member pointers, static polymorphism", function()
  local v, out, twice = t.list(128, function(i) return i % 9 end), gpu.zeros(64), gpu.zeros(64, "int32")
  k.classes(2, 32)(gpu.array(v), out, twice)
  t.close(out, t.list(64, function(i)
    local x, y = 2 * (v[2 * i + 1] + 1), 2 * (v[2 * i + 2] + 2)
    return x * x + y * y + (i % 2 == 1 and y or x)
  end), 0)
  t.same(twice:totable(), t.list(64, function(i) return 2 * i end))
end)

t.test("a structure by value", function()
  local p = string.pack("<!8bi2i4!8di4i4i4i4i4!8i4", -3, 500, 70000, 0.5, 1, 2, 3, 4, 5, 0)
  local out = gpu.zeros(32, "float64")
  k.by_value(1, 32)(p, out)
  t.close(out, t.list(32, function(i) return (i % 5 + 1) * 0.5 + 70497 end), 0)
end)

t.test("unions and their bit fields", function()
  local x = t.list(32, function(i) return (i - 10) * 1.375 end)
  local got = run("unions", 32, "int32", 4, gpu.array(x))
  for i = 0, 31 do
    local word = string.unpack("<i4", string.pack("<f", x[i + 1]))
    t.same({ table.unpack(got, 4 * i + 1, 4 * i + 4) }, { word, (word >> 24 & 255) * 256 + (word & 255), word >> 23 & 255, word >> 31 & 1 })
  end
end)

t.test("bit fields of several widths", function()
  t.same(run("bitfields", 96, "int64", 1), t.list(96, function(i)
    local c = ((i - 60 + 64) % 128 - 64 + 1 + 64) % 128 - 64
    return i % 8 + 10 * (i * 3 % 32) + 1000 * c + ((i << 33) % (1 << 40) >> 30) * 1000000
  end))
end)

t.test("constant and device variables of several types", function()
  local c, name = { [0] = 1.5, -2, 0.25, 8 }, "simt"
  t.close(run("spaces", 32, "float64", 1), t.list(32, function(i)
    return c[i % 4] + 42 + name:byte(i % 4 + 1) + 5 + (i % 2 == 0 and 2 or 4)
  end), 0)
end)

t.test("a static variable between launches", function()
  local seen = {}
  for _ = 1, 2 do
    local out = gpu.zeros(40, "int32")
    k.counter(1, 40)(out)
    for _, v in ipairs(out:totable()) do seen[#seen + 1] = v end
  end
  table.sort(seen)
  t.same(seen, t.list(80, function(i) return 100 + i end))
end)

t.test("local arrays indexed by data", function()
  local x, out = t.list(50, function(i) return i * i % 13 end), gpu.zeros(64, "int32")
  k.locals(2, 32)(gpu.array(x, "int32"), out, 50)
  t.same(out:totable(), t.list(64, function(i)
    local h, s = {}, 0
    for _, v in ipairs(x) do h[v + i & 7] = (h[v + i & 7] or 0) + 1 end
    for j = 7, 0, -1 do if (h[j] or 0) % 2 == 1 then s = 3 * s + j * h[j] end end
    return s
  end))
end)

t.test("several arrays in dynamic shared memory", function()
  local out = gpu.zeros(70, "int32")
  k.dynamic(1, 70, 11 * 8 + 37 * 4 + 37)(out, 37, 11)
  t.same(out:totable(), t.list(70, function(i)
    local j = 69 - i
    return j % 11 + 4 * (j % 37)
  end))
end)

t.test("restricted pointers and read-only loads", function()
  local c = gpu.zeros(100)
  k.restricted(4, 32)(gpu.range(0, 99, 1, "float32"), gpu.ones(100), c, 100)
  t.close(c, t.list(100, function(i) return i + 2 end), 0)
end)

t.test("vector types", function()
  local f, s, u = t.list(128, function(i) return i / 4 end), t.list(128, function(i) return i * 300 - 20000 end), t.list(64, function(i) return i * 4 end)
  local out, wide = gpu.zeros(128), gpu.zeros(64, "float64")
  k.vectors(1, 32)(gpu.array(f), gpu.array(s, "int16"), gpu.array(u, "uint8"), out, wide)
  t.close(out, t.list(128, function(i)
    local c = i % 4
    return f[i + 1] + s[i - c + 4 - c] + (c == 2 and u[i // 4 * 2 + 1] or c == 3 and -u[i // 4 * 2 + 2] or 0)
  end), 0)
  t.close(wide, t.list(64, function(i) return i % 2 == 0 and f[2 * i + 1] * f[2 * i + 2] or f[2 * i + 1] end), 0)
end)

t.test("references", function()
  local x = t.list(64, function(i) return i * 7 % 31 end)
  local a = gpu.array(x, "int32")
  k.references(1, 32)(a)
  t.same(a:totable(), t.list(64, function(i)
    local p, q = x[i // 2 * 2 + 1], x[i // 2 * 2 + 2]
    if p < q then p = p * 10 else q = q * 10 end
    return i % 2 == 0 and q or p
  end))
end)

t.test("a switch by a table, with holes and falling through", function()
  local x = t.list(32, function(i) return i < 10 and i or i == 10 and 1000 or i * 37 - 500 end)
  local direct = { [0] = 5, 10, 7, 9, 16, -1, 16, 0, [1000] = 9 }
  t.same(run("switches", 32, "int32", 1, gpu.array(x, "int32")),
    t.list(32, function(i) return direct[x[i + 1]] or math.tointeger(math.fmod(x[i + 1], 13)) end))
end)

t.test("loops with continue, do and goto", function()
  t.same(run("loops", 64, "int32", 1), t.list(64, function(i)
    local s = 0
    for a = 0, i - 1 do
      if a % 5 ~= 3 then
        local b = a
        repeat
          s = s + b
          if s > 500 then return s end
          b = b - 1
        until b + 1 <= 2
      end
    end
    return -s
  end))
end)

t.test("loops of very different lengths", function()
  local out = gpu.zeros(100, "int32")
  k.collatz(4, 32)(out, 100)
  t.same(out:totable(), t.list(100, function(i)
    local v, steps = i + 1, 0
    while v ~= 1 do v, steps = v % 2 == 1 and 3 * v + 1 or v // 2, steps + 1 end
    return steps
  end))
end)

t.test("launch bounds and unrolling", function()
  local x = gpu.range(0, 63, 1, "float32")
  k.bounded(1, 64)(x)
  t.close(x, t.list(64, function(i)
    local s = i - 3
    for j = 1, 7 do s = s + (i + j) * j end
    return s
  end), 0)
  t.eq(k.bounded.max_threads, 64)
end)

t.test("arithmetic in 64 bits", function()
  local edge = { 0, 1, -1, 7, -13, math.maxinteger, math.mininteger, 1 << 40, -(1 << 33) - 5, 0x123456789abcdef }
  local a, b = t.list(96, function(i) return edge[i % 10 + 1] end), t.list(96, function(i) return edge[i // 10 + 1] end)
  local got = run("wide", 96, "int64", 10, gpu.array(a, "int64"), gpu.array(b, "int64"))
  local function udiv(x, y) -- of unsigned numbers
    if y < 0 then return math.ult(x, y) and 0 or 1 end
    if x >= 0 then return x // y end
    local q = (x >> 1) // y << 1
    return math.ult(x - q * y, y) and q or q + 1
  end
  for i = 0, 95 do
    local x, y = a[i + 1], b[i + 1]
    if not (x == math.mininteger and y == -1) then
      local q = y == 0 and 0 or x // y
      if y ~= 0 and q < 0 and q * y ~= x then q = q + 1 end
      local u, s = y == 0 and 0 or udiv(x, y), y & 63
      t.same({ table.unpack(got, 10 * i + 1, 10 * i + 10) }, { x + y, x * y, q, y == 0 and 0 or x - q * y, u, y == 0 and 0 or x - u * y,
        x >= 0 and x >> s or ~(~x >> s), x >> s, x << s, (x < y and 1 or 0) + (math.ult(x, y) and 2 or 0) }, x .. " and " .. y)
    end
  end
end)

t.test("arithmetic in 8 and 16 bits", function()
  local x = t.list(64, function(i) return i * 1237 - 40000 end)
  local got = run("narrow", 64, "int32", 4, gpu.array(x, "int32"))
  local function quotient(a, b) return a < 0 and -(-a // b) or a // b end
  for i = 0, 63 do
    local v = x[i + 1]
    local c, u, s, w = (v + 128) % 256 - 128, v % 256, (v + 32768) % 65536 - 32768, v % 65536
    t.same({ table.unpack(got, 4 * i + 1, 4 * i + 4) },
      { quotient(c, 3) + (c // 2), u // 3 + u // 2, (s - 7 * quotient(s, 7)) * 2, w * w % 65536 })
  end
end)

t.test("operations on bits", function()
  local x = t.list(32, function(i) return i == 0 and 0 or (i * 0x9e3779b9 ~ i << 27) & 0xffffffff end)
  local got = run("bits", 32, "uint32", 10, gpu.array(x, "uint32"))
  for i = 0, 31 do
    local v, rev, pop, clz, ffs, perm, other = x[i + 1], 0, 0, 32, 0, 0, 0x12345678
    for b = 0, 31 do
      if v >> b & 1 == 1 then
        rev, pop, clz = rev | 1 << (31 - b), pop + 1, 31 - b
        if ffs == 0 then ffs = b + 1 end
      end
    end
    local both = v | (~v & 0xffffffff) << 32
    for n = 0, 3 do perm = perm | (both >> 8 * (0x6240 >> 4 * n & 7) & 255) << 8 * n end
    local pair = other << 32 | v
    local clz64, ffs64 = v == 0 and 64 or clz + 16, v == 0 and 0 or ffs + 20
    local pop64, twice = 0, v << 8 | v
    while twice ~= 0 do pop64, twice = pop64 + (twice & 1), twice >> 1 end
    t.same({ table.unpack(got, 10 * i + 1, 10 * i + 10) }, { rev, clz, ffs, pop, perm, (pair << i) >> 32, (pair >> i) & 0xffffffff,
      v * 0x9e3779b9 >> 32, (math.abs(v - 1000) + 5) & 0xffffffff, clz64 + 100 * pop64 + 10000 * ffs64 }, ("bits of %x"):format(v))
  end
end)

t.test("rounding modes", function()
  local x = t.list(32, function(i) return (i - 16) / 4 end)
  local out, f = gpu.zeros(128, "int32"), gpu.zeros(128)
  k.roundings(1, 32)(gpu.array(x), out, f)
  local got, ff = out:totable(), f:totable()
  for i = 0, 31 do
    local v = x[i + 1]
    local down, up, zero = math.floor(v), math.ceil(v), v < 0 and math.ceil(v) or math.floor(v)
    local near = math.floor(v + 0.5)
    if v + 0.5 == near and near % 2 == 1 then near = near - 1 end
    t.same({ table.unpack(got, 4 * i + 1, 4 * i + 4) }, { near, zero, up, down })
    t.eq(ff[4 * i + 1], v < 0 and -math.floor(-v + 0.5) + 0.0 or math.floor(v + 0.5) + 0.0)
    t.eq(ff[4 * i + 2], zero + 0.0)
    t.eq(ff[4 * i + 3] > v, true, "rounded up")
    t.eq(ff[4 * i + 4] <= v / 3 and ff[4 * i + 4] >= v / 3 - 1e-6, true, "rounded down")
  end
end)

t.test("half and bfloat16", function()
  local x = t.list(32, function(i) return (i - 8) * 0.5 end)
  local got = run("halves", 32, "float32", 4, gpu.array(x))
  for i = 0, 31 do
    local v = x[i + 1]
    t.same({ table.unpack(got, 4 * i + 1, 4 * i + 4) }, { 3 * v, 2 * v - 2, v, math.max(v, 2.0) + (v < 2 and 1000 or 0) })
  end
  got = run("halves", 32, "float32", 4, gpu.full(32, 1 / 3))
  t.eq(got[2], 2 * 0.333251953125 - 2) -- a half has 11 bits
  t.eq(got[3], 0.333984375) -- a bfloat16 has 8
end)

t.test("inline PTX", function()
  local x, out, wide = t.list(64, function(i) return i * 5 - 100 end), gpu.zeros(64, "int32"), gpu.zeros(64, "uint64")
  k.assembly(2, 32)(gpu.array(x, "int32"), out, wide)
  t.same(out:totable(), t.list(64, function(i)
    local v = x[i + 1]
    return (v * 7 + i) * 1000 + (v > 50 and 1 + v or -1) + i % 32 * 1000000
  end))
  t.same(wide:totable(), t.list(64, function(i) return (x[i + 1] & 0xffffffff) * 0xffffffff end))
end)

t.test("clocks go forward", function()
  t.same(run("clocks", 32, "int64", 1), t.list(32, function() return 1 end))
end)

t.test("comparisons of zeros, infinities and NaN", function()
  local x, out = 1.5, gpu.zeros(64)
  k.special(2, 32)(out, x)
  local tiny = string.unpack("f", string.pack("f", x * 1e-42))
  local v = { [0] = 0.0, -0.0, math.huge, -math.huge, 0 / 0, x, -x, tiny }
  local function bit(c, w) return c and w or 0 end
  local got = out:totable()
  for i = 0, 63 do
    local f, g = v[i % 8], v[i // 8]
    local p, s = string.unpack("f", string.pack("f", f * g)), f + g
    local low = f ~= f and g or g ~= g and f or math.min(f, g)
    local want = bit(f < g, 1) + bit(f == g, 2) + bit(not (f >= g), 4) + bit(p ~= p, 8) + bit(s == math.huge or s == -math.huge, 16) +
      bit(low == f, 64) + bit(f ~= f, 128)
    if p ~= p then got[i + 1] = got[i + 1] % 32 + got[i + 1] // 64 * 64 -- a NaN's sign is nobody's business
    else want = want + bit(p < 0 or (p == 0 and 1 / p < 0), 32) end
    t.eq(got[i + 1], want + 0.0, i % 8 .. " against " .. i // 8)
  end
end)

t.done()
