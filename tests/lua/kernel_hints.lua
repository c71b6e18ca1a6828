-- What a kernel that does not compile was probably meant to be: the hints below the compiler's messages.
local gpu = gpu or require "lunarray"
local t = dofile("tests/lua/test.lua")
local device = t.kernel_device()
gpu.device(device)

t.test("names that CUDA C has otherwise", function()
  for said, hint in pairs { ["int i = threadidx.x;"] = "did you mean threadIdx?", ["syncthreads();"] = "did you mean __syncthreads?",
    ["_shared float s[3];"] = "did you mean __shared__?", ["local i = 3;"] = "kernels are CUDA C, not Lua",
    ["__syncthread();"] = "did you mean __syncthreads?", ["int n = blokIdx.x;"] = "did you mean blockIdx?",
    ["int width = 3, n = widht;"] = "did you mean width?",
    ["auto f = [] __device__ (int i) { return i; };"] = "a lambda takes no __device__", ["std::vector<int> v;"] = "cuda::std" } do
    t.raises({ "error: ", "\n  hint: ", hint }, gpu.kernel, { "__global__ void k() { " .. said .. " }", chunk = "here" })
  end
  for said, hint in pairs {
    ["x[cuda.grid(1)] = 1;"] = "blockIdx.x * blockDim.x + threadIdx.x", ["x[get_global_id(0)] = 1;"] = "blockIdx.x * blockDim.x",
    ["if (n > 3) then x[0] = 1;"] = "not Lua: if (i < n)", ["if (n ~= 3) x[0] = 1;"] = "written !=", ["if n > 3 { x[0] = 1; }"] = "if (i < n) { ... }",
    ["for i = 0, 3 do x[i] = 1; end"] = "for (int i = 0;", ["while n { x[0] = 1; }"] = "while (i < n) { ... }",
    ["half h = 1;"] = "#include <cuda_fp16.h>", ["__nv_bfloat16 h;"] = "#include <cuda_bf16.h>", ["cuComplex h;"] = "#include <cuComplex.h>",
    ["curandState s;"] = "#include <curand_kernel.h>", ["cooperative_groups::this_grid();"] = "#include <cooperative_groups.h>",
    ["nvcuda::wmma::fragment<int> y;"] = "#include <mma.h>", ["cub::BlockReduce<float, 128> y;"] = "#include <cub/cub.cuh>",
    ["cuda::std::array<int, 3> y;"] = "#include <cuda/std/array>", ["x[0] = complex(1, 2);"] = "cuda::std::complex<float>",
    ["cout << n;"] = "printf", ["std::cout << n << std::endl;"] = "printf", ["x[0] = __shfl_down(x[0], 1);"] = "__shfl_down_sync(0xffffffff", ["printf('%d', n);"] = "double quotes", ["bool b = True;"] = "written true", ["x = nil;"] = "written nullptr",
    ["float s[n];"] = "#define N 64", ["__shared__ float s[n];"] = "extern __shared__", ["int i = blockIdx * blockDim;"] = "threadIdx.x",
    ["int i = blockDim;"] = "blockDim.x", ["x[0] = x[1] ** 2;"] = "powf(x, y)", ["x[0] = x[1] ^ 2;"] = "powf", ["x[0] = x[1] % 2;"] = "fmodf",
    ["switch (n) { case n: x[0] = 1; }"] = "a case and a template's argument are constants", ["float f = 1; x[f] = 1;"] = "an index, and",
    ["struct P { float m; } *p = 0; p.m = 1;"] = "p->m", ["return n;"] = "returns nothing", ["atomicAdd(x[0], 1.0f);"] = "&x[i]",
    ["atomicMax(x, 1.0f);"] = "__float_as_int(x)", ["double *d = 0; atomicMin(d, 1.0);"] = "__double_as_longlong(x)",
    ["const int *c = &n; atomicAdd(c, 1);"] = "what is const is not updated", ["char *c = 0; atomicAdd(c, 1);"] = "of 4 and 8 bytes",
    ["unsigned char *c = 0; atomicOr(c, 1);"] = "of 4 and 8 bytes", ["bool *b = 0; atomicExch(b, 1);"] = "of 4 and 8 bytes",
    ["short *s = 0; atomicMax(s, 1);"] = "of 4 and 8 bytes",
    ["x[0] = min(n, 2.0f);"] = "fminf", ["x[0] = max(n, 2.0f);"] = "fmaxf", ["x[0] = pow(x[0], 2.5);"] = "powf(x, 2.5f)",
    ["float4 v, w = v + v;"] = "for .x, .y", ["float4 v = (1, 2, 3, 4);"] = "make_float4(x, y, z, w)", ["int2 v = 1;"] = "float4 v = {x, y, z, w}", ["x[0] = rand();"] = "curand_uniform", ["int m = len(x);"] = "comes as a parameter",
    ["x.fill(3);"] = "comes as a parameter", ["cublasHandle_t h;"] = "gpu.matmul", ["cusparseHandle_t h;"] = "gpu.sparse",
    ["x[0] = 1; -- first"] = "begins with //", ["i = threadIdx.x;"] = "with its type, int i = ...",
    ["int i = 3\nx[i] = 1;"] = "the line before ends without a ;", ["x[0][1] = 1;"] = "x[r * columns + c]", ["n[0] = 1;"] = "a pointer, float *x",
    ["const int m = 1; m = 2;"] = "const is not written", ["if (threadIdx.x = n) x[0] = 1;"] = "written ==",
    ["float *y = malloc(4);"] = "(float *)malloc", ["extern float s[];"] = "extern __shared__", ["float32 y = 1;"] = "called float",
    ["x[0] = math.sqrt(x[0]);"] = "sqrtf(x)", ["float y = x;"] = "its elements are x[i]", ["x[0] = x;"] = "its elements are x[i]",
    ["__shared__ float s[3] = {0};"] = "threads set shared memory", ["for (int i = 0, i < n, i++) x[i] = 1;"] = "for (int i = 0;",
    ["x[0] = 2 \u{d7} n;"] = "\u{d7} is written *", ["printf(\u{201c}hi\u{201d});"] = '\u{201c} is written "', ["if (n \u{2260} 1) x[0] = 1;"] = "\u{2260} is written !=",
    ["x[0]\u{a0}= 1;"] = "what looks like a space is U+00A0", ["float \u{3b1} = 1;"] = "\u{3b1} may stand in strings",
    ["auto i = threadidx.x; float s[n];"] = "did you mean threadIdx?", -- of two mistakes, the first
  } do
    t.raises({ "error: ", "\n  hint: ", hint }, gpu.kernel, { "__global__ void k(int n, float *x) { " .. said .. "\n }", chunk = "here" })
  end
  for source, hint in pairs {
    ["__global__ void k(float *x) { }\nk(1, 32)(x)"] = "Lua's lines go into a cell of their own", ["__global__ void k() { } }"] = "a } too many",
    ["__global__ void k(float *x) { }\nx = gpu.zeros(3)"] = "Lua's lines", ["__global__ void k() { }\n%time k(1, 32)()"] = "Lua's lines",
    ["__global__ void k(half *x) { }"] = "#include <cuda_fp16.h>", ["__global__ void k() { }\nk<<<1, 32>>>();"] = "the host's part",
    ["__global__ void k() { }\nint main() {\n  k<<<1, 32>>>();\n}"] = "the host's part", ["__global__ void k() { }\n__global__ void j() { k<<<1, 32>>>(); }"] = "do not launch kernels",
    ["namespace cg = cooperative_groups;\n__global__ void k() { }"] = "#include <cooperative_groups.h>",
    ["@cuda.jit\ndef k(x):\n  x[1] = 2"] = "are CUDA C", ["kernel void k(device float *x) { }"] = "are CUDA C",
    ["global void k(float *x) { }"] = "__global__ void f(int n", ["__global__ k(float *x) { }"] = "__global__ void f(int n",
    ["__global__ int k(float *x) { return 1; }"] = "a kernel returns nothing",
    ["__global__ void k(float[] x) { }"] = "a pointer, float *x", ["__global__ void k(float *x, n) { x[0] = n; }"] = "its type, int n",
    ["__global__ void k(int *x) { help(x); }\n__device__ void help(int *x) { }"] = "help comes too late",
    ["__global__ void k(float *x) { x[0] = tex2D<float>(x, 1, 2); }"] = "cudaTextureObject_t t, that gpu.texture(x) makes",
    ["__global__ void k(cudaTextureObject_t t, float *x) { x[0] = tex2D(t, 1, 2); }"] = "tex2D<float>(t, x, y)",
    ["texture<float, 2> t;\n__global__ void k(float *x) { x[0] = 1; }"] = "gpu.texture(x)",
    ["#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n" ..
      "__global__ void k(float *x) {\n  x[0] = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), x[0]);\n}"] = "cg::plus<float>()",
    ["def t(c):\n  i = cuda.grid(1)\n  c[i] = 1"] = "are CUDA C", ["#include <cupy/complex.cuh>\n__global__ void k(complex<float> *x) { }"] = "cuda::std::complex<float>",
    ["#include <thrust/complex.h>\n__global__ void k(thrust::complex<float> *x) { }"] = "cuda::std::complex<float>",
    ["__host__ int f() { return 1; }\n__global__ void k(int *x) { *x = f(); }"] = "__device__",
  } do
    t.raises({ "error: ", "\n  hint: ", hint }, gpu.kernel, { source, chunk = "here" })
  end
  t.raises("hint: in Lua ]] ends the string, in x[y[i]] too", gpu.kernel, "__global__ void k(float *x, int *i) {\n  x[i[0")
  t.raises("did you mean syncwidth?", gpu.kernel, "__global__ void k(int syncwidth) { int n = syncwidht; }")
  t.raises("did you mean fmaxg?", gpu.kernel, "__global__ void k(float fmaxg) { fmaxg = fmaxh; }") -- as near as fmaxf
  t.raises("did you mean while?", gpu.kernel, "__global__ void k() { while (0) { } int n = whiel; }")
  for _, source in ipairs { "int n = ind;", "int n = thh; /* tth */", 'printf("tth"); int n = thh;' } do
    local e = t.raises("is undefined", gpu.kernel, "__global__ void k() { " .. source .. " }")
    assert(not e:find("hint: "), e)
  end
  local e = t.raises('"ttt" is undefined', gpu.kernel, "__global__ void k() { int n = ttt + 3; }")
  assert(not e:find("hint: "))
  t.raises("expects an int32 array, got float32", gpu.kernel("__global__ void k(int *x) { }")(1, 1), gpu.ones(3, { device = device }))
  local fours = gpu.kernel("__global__ void k(const float4 *x, float4 *y) { y[0] = x[0]; }")(1, 1)
  local x, y = gpu.ones({ 2, 4 }, { device = device }), gpu.zeros({ 2, 4 }, { device = device })
  t.raises({ "parameter 1 'x' (const float4 *) expects a float32 array, got float64", 'x:to("float32")' }, fours, x:to("float64"), y)
  fours(x, y)
  t.eq(y:sum(), 4.0)
  local rows = gpu.kernel("__global__ void k(float **x) { x[0][0] = 1; }")(1, 1)
  t.raises({ "parameter 1 'x' (float **) expects addresses", "got float32", "x[r * columns + c]" }, rows, y)
  local flat = gpu.kernel("__global__ void k(float *x) { }")
  t.raises("have parentheses of their own, k:forall(n)(arguments)", flat.forall, flat, 3, x)
  t.raises({ "such as the elements of an array, #x", "got array" }, flat.forall, flat, x)
  t.raises({ "such as the elements of an array, #x", "got no value" }, flat.forall, flat)
  t.raises("a whole number of threads", flat.forall, flat, 2.5)
  local two = gpu.kernel("__global__ void f(int *a) { } __global__ void g(int *a) { }")
  t.raises("called with a dot, k.f(grid, block)(arguments)", function() two:f(1, 1) end)
  t.raises("got a string of 1 byte", gpu.kernel("__global__ void k(short x) { }")(1, 1), "a")
end)

lunarray_outer = 2 -- a global

t.test("names that Lua has, and the kernel has not", function()
  local count, factor, whole, flag, list, text = 16, 0.5, gpu.ones(3, "int64", device), true, { 1 }, "text"
  local function hint(name, compile)
    local source = "__global__ void k(int *x) { x[0] = " .. name .. "; }"
    return t.raises({ 'identifier "' .. name .. '" is undefined' }, compile or gpu.kernel, source):match("\n  hint: (.*)")
  end
  -- the function that compiles is the one whose variables count
  local is = " is Lua's, and kernels do not see Lua's variables: it comes as a parameter, "
  local function compile(source) return gpu.kernel(source), count, factor, whole, flag, list, text end
  for name, parameter in pairs { count = 'int count, or as a constant by options = {"-Dcount=16"}', factor = "float factor", whole = "long long *whole",
    flag = "bool flag", lunarray_outer = 'int lunarray_outer, or as a constant by options = {"-Dlunarray_outer=2"}' } do
    t.eq(hint(name, compile), name .. is .. parameter)
  end
  for _, name in ipairs { "list", "text", "string" } do t.eq(hint(name, compile), nil) end
  -- nearer than a name that is spelt otherwise, further than what is known of the name or of its place
  local n, i = 3, 4
  local function both(source) return gpu.kernel(source), n, i end
  t.raises("hint: n is Lua's", both, "__global__ void k(int m, int *x) { x[0] = n; }")
  t.raises("hint: a variable is declared with its type, int i = ...", both, "__global__ void k(int *x) { i = threadIdx.x; }")
  local e = t.raises('expected a ";"', both, "__global__ void k(int *x) { x[0] = 1 }\n__device__ int f() { return n; }")
  assert(not e:find("is Lua's"), e) -- which is not the first mistake
  -- where a function of the library stands between
  local scale = 3.5
  t.raises("hint: scale is Lua's", function() return gpu.vectorize("__device__ float f(float x) { return scale * x; }"), scale end)
  do
    local count = "of a block that hides it"
    t.eq(hint("count", function(source) return gpu.kernel(source), count end), nil)
  end
end)

t.done()
