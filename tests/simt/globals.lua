-- __device__ and __constant__ variables, read and written by name, and the shared memory that must be asked for.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device(t.kernel_device())

local ks = gpu.kernel [[
namespace ns { namespace inner { __device__ int hidden = 5; } }
struct P { float x; int y; };
__device__ float table[4] = {1, 2, 3, 4}; // a comment: __device__ int no;
__constant__ double weights[2][3];
__device__ int counter = 7;
__constant__ float scale = 2.5f, bias = 0.5f;
static __device__ unsigned char bytes[5];
__device__ P one, many[3];
__device__ float4 vector, vectors[2];
__device__ float *pointer;
__device__ long long wide = 1ll << 40;
__device__ bool flag;
__device__ const int lut[] = {10, 20, 30};
#define N 6
__device__ unsigned short sized[N][2];
constexpr int R = N / 2;
__constant__ float mask[2 * R + 1][R + 2];
__constant__ int blurred[R ? 2 : 3][sizeof(int)];
__device__ __align__(16) unsigned int aligned{9};
__device__ float helper(float x) { return x * scale + bias; }
__global__ void bump(int n) {
  counter += n;
  flag = !flag;
  wide++;
  sized[1][1] = 11;
  bytes[4] = 44;
  one.x = 1.5f;
  one.y = 3;
  many[2].y = 8;
  vector.w = 4;
  vectors[1].y = 6;
  aligned++;
  ns::inner::hidden++;
}
__global__ void use(float *out) {
  out[0] = helper(table[threadIdx.x]) + (float)weights[1][2] + lut[2] + mask[6][4] + blurred[1][3];
  pointer = out;
}
__global__ void through(float v) { *pointer = v; }]]
local k = ks.bump

t.test("scalars", function()
  t.eq(k:global("counter")[1], 7)
  k(1, 1)(3)
  t.eq(k:global("counter")[1], 10)
  k:global("counter")[1] = 100
  k(1, 1)(1)
  local c = k:global("counter")
  t.eq(c[1], 101)
  t.eq(c.dtype, "int32")
  t.same(c.shape, { 1 })
  t.eq(k:global("wide")[1], (1 << 40) + 2)
  t.eq(k:global("flag")[1], false)
  t.eq(k:global("flag").dtype, "bool")
  t.eq(k:global("aligned")[1], 11)
  t.eq(k:global("aligned").dtype, "uint32")
  t.eq(ks.use:global("counter")[1], 101) -- one module, one variable
end)

t.test("arrays, with the shape of the source", function()
  local function described(name)
    local a, sizes = k:global(name), {}
    for i = 1, #a.shape do sizes[i] = a.shape[i] end
    return a.dtype .. " " .. table.concat(sizes, "x")
  end
  t.eq(described("table"), "float32 4")
  t.eq(described("weights"), "float64 2x3")
  t.eq(described("bytes"), "uint8 5")
  t.eq(described("lut"), "int32 3")
  t.eq(described("sized"), "uint16 6x2")
  t.eq(described("mask"), "float32 7x5")
  t.eq(described("blurred"), "int32 8") -- what only the compiler can compute is one axis
  t.eq(described("vector"), "float32 4")
  t.eq(described("vectors"), "float32 2x4")
  t.close(k:global("table"), { 1, 2, 3, 4 }, 0)
  t.eq(k:global("sized")[2][2], 11)
  t.eq(k:global("bytes")[5], 44)
  t.eq(k:global("vector")[4], 4)
  t.eq(k:global("vectors")[2][2], 6)
end)

t.test("what is written is what kernels read", function()
  local out = gpu.zeros(1)
  k:global("table")[1] = 10
  k:global("scale")[1] = 3
  k:global("weights")[{ 2, 3 }] = 0.25
  ks.use(1, 1)(out)
  t.near(out[1], 10 * 3 + 0.5 + 0.25 + 30)
  k:global("table"):fill(2)
  ks.use(1, 1)(out)
  t.near(out[1], 2 * 3 + 0.5 + 0.25 + 30)
  ks.through(1, 1)(9)
  t.eq(out[1], 9)
end)

t.test("structs and pointers need a dtype", function()
  t.raises({ "'one' has 8 bytes of the type P", 'k:global("one", "uint8")' }, k.global, k, "one")
  t.raises("'many' has 24 bytes", k.global, k, "many")
  t.raises("float *", k.global, k, "pointer")
  t.eq(k:global("one", "float32")[1], 1.5)
  t.eq(k:global("one", "int32")[2], 3)
  t.eq(k:global("many", "int32")[6], 8)
  t.raises("no whole number of float32", k.global, k, "bytes", "float32")
end)

t.test("names", function()
  t.eq(k:global("ns::inner::hidden")[1] > 5, true)
  t.raises("there is no __device__ or __constant__ variable 'nothing' in the source; there are hidden, table, weights", k.global, k, "nothing")
  t.raises("namespace", k.global, k, "hidden")
  t.raises("'no'", k.global, k, "no")
  t.raises("bad argument", k.global, k)
end)

t.test("an array keeps the module it lies in", function()
  local c = gpu.kernel("__device__ int c = 3; __global__ void k() { c++; }"):global("c")
  collectgarbage()
  collectgarbage()
  t.eq(c[1], 3)
  c[1] = 4
  t.eq((c + 1)[1], 5)
  c:free()
  t.raises("freed", function() return c[1] end)
end)

t.test("variables that PTX declares in a function are the module's, each for its scope", function()
  local k = gpu.kernel [[
__global__ void count(unsigned *out) {
  unsigned v;
  asm volatile("{ .global .align 4 .u32 n = 7; .const .u32 c[2] = {5, 6}; .reg .u32 r; atom.global.add.u32 %0, [n], 1;"
               " ld.const.u32 r, [c+4]; add.u32 %0, %0, r; }" : "=r"(v));
  out[threadIdx.x] = v;
}
__global__ void nested(unsigned *out) {
  unsigned v;
  asm volatile("{ .global .u32 n = 100; { .global .u32 n; st.global.u32 [n], 3; } ld.global.u32 %0, [n]; }" : "=r"(v));
  *out = v;
}]]
  local out = gpu.zeros(2, "uint32")
  k.count(1, 2)(out)
  k.count(1, 2)(out)
  t.same(out:totable(), { 15, 16 })
  k.nested(1, 1)(out)
  t.eq(out[1], 100)
end)

t.test("dynamic shared memory up to the device's limit", function()
  local s = gpu.kernel [[
extern __shared__ int s[];
__global__ void reverse(int n, int *out) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[n - 1 - i];
}]]
  local n = 99 * 256
  local out = gpu.zeros(n, "int32")
  s(1, 256, n * 4)(n, out)
  t.eq(out[1], n - 1)
  t.eq(out:sum(), n * (n - 1) // 2)
  if gpu.device().name == "simt" then
    t.raises("of shared memory", function() s(1, 256, { shared = 99 * 1024 + 4 })(n, out) end)
  end
end)

t.test("managed variables", function()
  local k = gpu.kernel [[
    __managed__ int m[4] = {1, 2, 3, 4};
    __global__ void sum(int *out) { m[1] += 10; *out = m[0] + m[1] + m[2] + m[3]; }]]
  local out = gpu.zeros(1, "int32")
  k.sum(1, 1)(out)
  t.eq(out[1], 20)
  local m = k:global("m")
  t.eq(m[2], 12)
  m[1] = 100
  k.sum(1, 1)(out)
  t.eq(out[1], 129)
end)

local function shape(source, name, options)
  local a = gpu.kernel(source .. "\n__global__ void none() {}", { name = "none", options = options }):global(name)
  local sizes = {}
  for i = 1, #a.shape do sizes[i] = a.shape[i] end
  return table.concat(sizes, "x")
end

t.test("a size that an option may set is not taken from the text", function()
  local guarded = "#ifndef H\n#define H 4\n#endif\n#if !defined(W)\n#define W 16\n#endif\n__device__ float a[H][W];"
  t.eq(shape(guarded, "a", { "-DH=8", "-DW=8" }), "64")
  t.eq(shape(guarded, "a"), "64")
  local either = "#ifdef BIG\n#define R 2\n#else\n#define R 4\n#endif\n__device__ int a[R][sizeof(int)];"
  t.eq(shape(either, "a"), "16")
  t.eq(shape(either, "a", { "-DBIG" }), "8")
  t.eq(shape("/* #define H 4 */ // #define H 4\n__device__ float a[H][sizeof(int)];", "a", { "-DH=8" }), "32")
  t.eq(shape("__device__ const char s[] = \"//\"; // it's\n#define H 8\n__device__ float a[H][sizeof(int)];", "a"), "8x4")
end)

t.test("a #define is text", function()
  t.eq(shape("#define N 1+2\n__device__ int a[N*2][N*2+1];", "a"), "30") -- 5 x 6, not 6 x 7
  t.eq(shape("#define N (1+2)\n__device__ int a[N*2][sizeof(int)];", "a"), "6x4")
  t.eq(shape("constexpr int N = 1+2;\n__device__ int a[N*2][sizeof(int)];", "a"), "6x4")
end)

t.test("sizes whose product no number holds", function()
  local many = "__device__ char a[N][N][N][N][sizeof(char)];"
  t.eq(shape("#ifndef N\n#define N 65536\n#endif\n" .. many, "a", { "-DN=16" }), "65536")
  t.eq(shape("enum { BEFORE = 15, N };\n__device__ int other() { const int N = 65536; return N; }\n" .. many, "a"), "65536")
end)

t.done()
