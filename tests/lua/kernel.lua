-- Kernel strings: launching, checked arguments, messages with the lines of this file, templates, the cache.
local gpu = gpu or require "lunarray"
local t = dofile("tests/lua/test.lua")
local device = t.kernel_device()
gpu.device(device)

local function line() return debug.getinfo(2, "l").currentline end
-- This file; in the shell, where each statement is a cell, the cell.
local function here() return debug.getinfo(2, "S").short_src end

local saxpy_line = line() + 3
local saxpy = gpu.kernel [[
  __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
  }
]]
local x, y = gpu.ones(1000), gpu.ones(1000)

t.test("a launch with numbers, with tables, with shared memory and by forall", function()
  local function run(launch)
    local z = gpu.ones(1000)
    launch(1000, 2.0, x, z)
    t.eq(z:sum(), 3000)
  end
  run(saxpy(4, 256))
  run(saxpy({4, 1, 1}, {256}))
  run(saxpy({2, 1}, {500}, 64))
  run(saxpy:forall(1000))
  run(saxpy(1, 1000))
  local z = gpu.ones(10)
  saxpy:forall(0)(0, 1, x, z)
  t.eq(z:sum(), 10)
  local launcher = saxpy(4, 256)
  t.eq(rawequal(launcher, saxpy(4, 256)), true, "the same launcher again")
  assert(tostring(launcher):find("launch of saxpy"))
end)

t.test("fields and text of a kernel", function()
  t.eq(saxpy.name, "saxpy")
  t.eq(saxpy.signature, "(int n, float a, const float *x, float *y)")
  t.eq(saxpy.device.name, gpu.device().name)
  t.eq(#saxpy.params, 4)
  t.same(saxpy.params[3], { name = "x", type = "const float *", kind = "pointer", dtype = "float32", size = 8, offset = 8 })
  assert(saxpy.ptx:find(".entry", 1, true) and saxpy.source:find("__global__", 1, true))
  assert(saxpy.registers > 0 and saxpy.max_threads >= 256 and saxpy.compile_ms > 0 and saxpy.load_ms > 0)
  t.eq(saxpy.log, "")
  t.eq(type(saxpy.cached), "boolean")
  local text = tostring(saxpy)
  assert(text:find("kernel saxpy(int n, float a, const float *x, float *y) on " .. gpu.device().name .. ": ", 1, true), text)
  t.raises("a kernel has no field 'nothing'", function() return saxpy.nothing end)
  t.raises("a kernel's fields are not set", function() saxpy.nothing = 3 end)
  t.raises("a kernel is not indexed by a table; it is launched by k(grid, block)(arguments)", function() return saxpy[{ 1, 32 }] end)
  t.eq(saxpy.saxpy, saxpy) -- one kernel is reached as one of several is
end)

t.test("every kind of wrong argument names the parameter and both sides", function()
  local k = saxpy(4, 256)
  t.raises("saxpy: takes 4 arguments (int n, float a, const float *x, float *y), got 3", k, 1, 2, x)
  t.raises("saxpy: parameter 3 'x' (const float *) expects a float32 array, got float64; convert it with x:to(\"float32\")",
    k, 1, 2, x:to("float64"), y)
  t.raises({ "parameter 3 'x'", "on cpu", "runs on " .. gpu.device().name, "move it with x:to(" }, k, 1, 2, x:to("cpu"), y)
  t.raises({ "parameter 4 'y'", "strided", "y:contiguous()" }, k, 1, 2, x, gpu.ones(20)["::2"])
  t.raises("parameter 1 'n' (int) expects an integer, got 2.5", k, 2.5, 2, x, y)
  t.raises("parameter 1 'n' (int) takes -2147483648 to 2147483647, got 2147483648", k, 2 ^ 31 | 0, 2, x, y)
  t.raises("parameter 1 'n' (int) expects an integer, got nil", k, nil, 2, x, y)
  t.raises("parameter 1 'n' (int) expects a number, got a float32 array", k, x, 2, x, y)
  t.raises("parameter 2 'a' (float) got 1e+300, which is over the largest float32", k, 1, 1e300, x, y)
  t.raises("parameter 2 'a' (float) expects a number, got true", k, 1, true, x, y)
  t.raises("parameter 3 'x' (const float *) expects a float32 array, got 5", k, 1, 2, 5, y)
  t.raises({ "expects a float32 array, got a table", "gpu.array" }, k, 1, 2, { 1 }, y)
  t.raises("expects a float32 array, got a function", k, 1, 2, print, y)
  k(0, 2, nil, nil) -- a null pointer is one
  k(3.0, 2, x, y) -- a whole number is an integer
end)

t.test("launch limits are explained", function()
  t.raises({ "saxpy: a block of 2048 threads (2048, 1, 1) is over", "use more blocks of fewer threads" }, saxpy(1, 2048), 0, 0, x, y)
  t.raises("a block of 2048 threads (64, 32, 1)", saxpy(1, { 64, 32 }), 0, 0, x, y)
  t.raises("threads along z", saxpy(1, { 1, 1, 128 }), 0, 0, x, y)
  t.raises("blocks along y", saxpy({ 1, 100000 }, 1), 0, 0, x, y)
  t.raises("bytes of shared memory", saxpy(1, 1, 100 << 20), 0, 0, x, y)
  t.raises("grid: 0 along x; it must be 1 or more", saxpy, 0, 1)
  t.raises({ "is not a whole number", "//" }, saxpy, 1000 / 256, 256)
  t.raises("block: expected a number or {x, y, z}, got string", saxpy, 1, "x")
  t.raises("a table of 4 elements", saxpy, 1, { 1, 2, 3, 4 })
  t.raises("a launch is saxpy(grid, block [, options [, stream]])(arguments)", saxpy, 1)
  local small = gpu.kernel [[__global__ void __launch_bounds__(64) small(int n) {}]]
  t.raises("over this kernel's limit of 64", small(1, 128), 1)
end)

t.test("integer widths, bool, char and 64-bit types", function()
  local k = gpu.kernel [[
    __global__ void kinds(unsigned char c, bool b, short s, long long n, unsigned u, double d, char *text, long *out) {
      out[0] = c; out[1] = b; out[2] = s; out[3] = n; out[4] = u; out[5] = (long)d; out[6] = text[0];
    }
  ]]
  local out, text = gpu.zeros(7, "int64"), gpu.full(3, 65, "uint8")
  k(1, 1)(200, true, -5, 1 << 40, 4000000000, 2.75, text, out)
  t.same(out:totable(), { 200, 1, -5, 1 << 40, 4000000000, 2, 65 })
  k(1, 1)(200, 1, -5, 1, 1, 1, text:to("int8"), out)
  t.raises("parameter 1 'c' (unsigned char) takes 0 to 255, got 300", k(1, 1), 300, true, 0, 0, 0, 0, text, out)
  t.raises("parameter 2 'b' (bool) expects true or false, got 7", k(1, 1), 3, 7, 0, 0, 0, 0, text, out)
  t.raises("parameter 3 's' (short) takes -32768 to 32767", k(1, 1), 3, true, 40000, 0, 0, 0, text, out)
  t.raises("parameter 5 'u' (unsigned int) takes 0 to 4294967295, got -1", k(1, 1), 3, true, 0, 0, -1, 0, text, out)
  t.raises("expects an int8 array, got int32", k(1, 1), 3, true, 0, 0, 0, 0, gpu.zeros(1, "int32"), out)
end)

t.test("vectors by tables", function()
  local k = gpu.kernel [[
    __global__ void k(float3 v, int2 o, uchar4 c, double1 d, float *out) {
      out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = o.x; out[4] = o.y; out[5] = c.x + 256 * c.w; out[6] = d.x;
    }
  ]]
  local out = gpu.zeros(7)
  k(1, 1)({ 1, 2, 3.5 }, { -7, 8 }, { 255, 0, 0, 2 }, { 0.25 }, out)
  t.same(out:totable(), { 1, 2, 3.5, -7, 8, 767, 0.25 })
  k(1, 1)({ z = 3, y = 2, x = 1 }, { y = 1, x = 0.0 }, { 1, 2, 3, 4 }, string.pack("d", 0.5), out)
  t.same(out:totable(), { 1, 2, 3, 0, 1, 1025, 0.5 })
  local g = gpu.graph(function() k(1, 1)({ 4, 5, 6 }, { 1, 2 }, { 0, 0, 0, 0 }, { 1 }, out) end)
  out:fill(0)
  g:launch()
  t.same(out:totable(), { 4, 5, 6, 1, 2, 0, 1 })
  local function refused(message, v, o, c) t.raises(message, k(1, 1), v or { 1, 2, 3 }, o or { 1, 2 }, c or { 0, 0, 0, 0 }, { 1 }, out) end
  refused("parameter 1 'v' (float3) expects {x, y, z}, got a table of 2 numbers", { 1, 2 })
  refused("(float3) expects {x, y, z}, got a table", { 1, 2, "3" })
  refused("(float3) expects {x, y, z}, got a table", { 1, 2, y = 3 })
  refused("(float3) expects {x, y, z}, got a table", { 1, 2, 3, 4, 5 })
  refused("(float3) expects {x, y, z}, got 3", 3)
  refused("over the largest float32", { 1, 1e39, 3 })
  refused("(int2) expects an integer, got 2.5", nil, { 1, 2.5 })
  refused("(int2) takes -2147483648 to 2147483647, got 2147483648", nil, { 1, 1 << 31 })
  refused("(uchar4) takes 0 to 255, got -1", nil, nil, { 0, 0, 0, -1 })
end)

t.test("structs by string.pack, pointers to anything", function()
  local k = gpu.kernel [[
    struct P { int a; float b; };
    __global__ void take(P p, const void *any, float *out) { out[0] = p.a + p.b; out[1] = ((const int *)any)[1]; }
  ]]
  local out = gpu.zeros(2)
  k(1, 1)(string.pack("if", 3, 0.5), gpu.array({ 7, 8 }, "int32"), out)
  t.same(out:totable(), { 3.5, 8 })
  t.raises("parameter 1 'p' (P) is 8 bytes long, got a string of 3", k(1, 1), "abc", nil, out)
  t.raises({ "parameter 1 'p' (P) expects a string with the 8 bytes", "string.pack" }, k(1, 1), 5, nil, out)
  t.raises('string.pack("if", 1, 2.5) makes them of an int and a float; got a table', k(1, 1), { a = 3, b = 0.5 }, nil, out)
end)

t.test("kernels that launch kernels are refused by name", function()
  t.raises({ "cudaMalloc", "it is Lua's, see ?cuda" }, gpu.kernel, "__global__ void k() { void *p; cudaMalloc(&p, 4); }")
  t.raises({ "device-side kernel launch", "dynamic parallelism" }, gpu.kernel,
    "__global__ void inner() {} __global__ void outer() { inner<<<1, 1>>>(); }")
end)

t.test("compile errors have the lines of this file", function()
  local first = line() + 2
  local e = t.raises(here() .. ":" .. first + 2 .. ": error: identifier \"foo\" is undefined", gpu.kernel, [[
    __global__ void broken(int n) {
      int unused;
      foo(n);
    }
  ]])
  -- found from the line of the call on, through pcall
  assert(not e:find("detected in the compilation", 1, true) and not e:find("lunarray-kernel", 1, true), e)
  assert(e:find("foo(n);\n", 1, true) and e:find("^", 1, true), e)
  local at = line() + 1 -- a text that is not found has lines of its own
  local _, escaped = pcall(gpu.kernel, "__global__ void escaped(int n) {\n  bar(n);\n}")
  assert(escaped:find("(kernel at " .. here() .. ":" .. at .. "):2: error", 1, true), escaped)
  e = t.raises({ "detected during instantiation", " at " .. here() .. ":" }, gpu.kernel, [[
    template <class T> __device__ void bad(T x) { x.foo(); }
    __global__ void k(int n) { bad(n); }
  ]])
  t.raises("unrecognized option", gpu.kernel, "__global__ void k() {}", { options = { "--no-such-option" } })
  t.raises("is not for users", gpu.kernel, "__global__ void k() {}", { options = { "--gpu-architecture=sm_90" } })
end)

t.test("warnings are kept with their lines", function()
  local at = line() + 2
  local k = gpu.kernel [[
    __global__ void warns(int n) { int unused; }
  ]]
  assert(k.log:find(here() .. ":" .. at .. ": warning", 1, true), k.log)
  assert(not k.log:find("Remark", 1, true), k.log)
end)

t.test("what is no kernel source", function()
  t.raises({ "'saxpy.cu' is no CUDA C", "file = " }, gpu.kernel, "saxpy.cu")
  local two = gpu.kernel("__global__ void a() {}\n__global__ void b() {}")
  t.raises({ "several kernels: ", "k.name(" }, two, 1, 1)
  local words = { "third", "first", "second", "last", "other", "one" } -- in the order of the source
  local many = gpu.kernel("__global__ void " .. table.concat(words, "() {}\n__global__ void ") .. "() {}")
  t.raises("several kernels: " .. table.concat(words, ", ") .. ";", many, 1, 1)
  t.raises("it has " .. table.concat(words, ", "), function() return many.zeroth end)
  t.raises("k(grid, block)(arguments)", function() return two.a[1] end)
  local e = t.raises({ "\"vectors.h\"", "hint: ", "-IFOLDER" }, gpu.kernel, "#include <vectors.h>\n__global__ void a() {}")
  assert(not e:find("detected in the compilation"))
  e = t.raises('"y" is undefined', gpu.kernel, "#include <cuda/std/limits>\n__global__ void a(int *x) { *x = y; }")
  assert(not e:find("redefinition"), e)
  t.raises("expected a string of CUDA C", gpu.kernel, 5)
  t.raises("expected a string of CUDA C", gpu.kernel, {})
  t.raises("no function is marked __global__", gpu.kernel, "__device__ int f() { return 1; }")
  t.raises({ "a template", "instantiate" }, gpu.kernel, "template <class T> __global__ void k(T x) {}")
  t.raises("there is no option 'optoins'", gpu.kernel, "", { optoins = {} })
  t.raises("'options' must be a list of strings", gpu.kernel, "", { options = 5 })
  t.raises("NUL byte", gpu.kernel, "__global__ void k() {}\0")
end)

t.test("functions of numbers as functions of arrays", function()
  local f = gpu.vectorize [[
    #define TWICE 2
    __device__ float twice(float v) { return v * TWICE; }
    __device__ __forceinline__ float f(const float x, float y) {
      if (x > y) return twice(x - y);
      return 0;
    }
  ]]
  local x = gpu.range(1, 6)
  t.same(f(x, 3):totable(), { 0, 0, 0, 2, 4, 6 })
  t.same(f(4, x):totable(), { 6, 4, 2, 0, 0, 0 })
  local y = f(x:reshape(3, 2).T, gpu.array({ { 1, 2, 3 } })) -- a view, broadcast
  t.same(y:totable(), { { 0, 2, 4 }, { 2, 4, 6 } })
  t.same(f(x:reshape(6, 1), x).shape, { 6, 6 })
  t.eq(f(2 * x, x):sum(), 2 * x:sum())
  t.eq(f(gpu.zeros(0), 1).size, 0)
  t.eq(f(gpu.ones(100000), gpu.zeros(100000)):sum(), 200000)
  local mixed = gpu.vectorize "__device__ bool mixed(long long n, double x, unsigned u, bool b) { return b && n * x > u; }"
  local bits = mixed(gpu.array({ 1, 2, 3 }, "int64"), 1.5, gpu.array({ 2, 2, 2 }, "uint32"), true)
  assert(bits.dtype == "bool" and bits:equal(gpu.array({ false, true, true })))
  t.raises("none of the arguments is an array", f, 1, 2)
  t.raises("f: takes 2 arguments, got 1", f, x)
  t.raises("do not broadcast", f, x, gpu.ones(4))
  t.raises({ "'x' (float) expects an array of float32, got int32", 'x:to("float32")' }, f, x:to("int32"), 2)
  t.raises("'y' (float) expects an array of float32 or a number, got string", f, x, "a")
  t.raises({ "on cpu", 'x:to("simt")' }, f, x:to("cpu"), 2)
  t.raises("a function such as __device__", gpu.vectorize, "__global__ void f(float *x) { }")
  t.raises("'void' of 'f' is no type", gpu.vectorize, "__device__ void f(float x) { }")
  t.raises("are numbers, such as float x; '*'", gpu.vectorize, "__device__ float f(float *x) { return *x; }")
  t.raises("f has no parameters", gpu.vectorize, "__device__ float f() { return 1; }")
  local line = debug.getinfo(1, "l").currentline
  t.raises({ here() .. ":" .. line + 2 .. ": error: ", '"z" is undefined' }, gpu.vectorize, [[
    __device__ float f(float x) { return z; }]])
  t.raises("there is no option 'optoins'", gpu.vectorize, "__device__ float f(float x) { return x; }", { optoins = {} })
  t.eq(gpu.vectorize("__device__ float f(float x) { return x + N; }", { options = { "-DN=5" } })(x)[1], 6)
end)

t.test("a table is told how it becomes an array, where one is wanted", function()
  local k = gpu.kernel("__global__ void k(int n, float *x) { }")(1, 1)
  t.raises({ "parameter 2 'x'", "got a table; gpu.array makes an array of one" }, k, 1, { 1, 2 })
  local e = t.raises({ "parameter 1 'n' (int) expects an integer, got a table" }, k, { 1 }, gpu.zeros(1, { device = device }))
  assert(not e:find("gpu.array", 1, true), e)
end)

t.test("templates by instantiate", function()
  local m = gpu.kernel([[
    template <typename T> __global__ void scale(int n, T *x, T a) { if (threadIdx.x < n) x[threadIdx.x] *= a; }
  ]], { instantiate = { "scale<float>", "scale<double>" } })
  local f, d = gpu.ones(3), gpu.ones(3, "float64")
  m["scale<float>"](1, 32)(3, f, 2)
  m["scale<double>"](1, 32)(3, d, 3)
  t.eq(f:sum(), 6)
  t.eq(d:sum(), 9)
  t.eq(m["scale<double>"].signature, "(int n, double *x, double a)")
  t.raises({ "has no kernel 'scale<int>'", "scale<float>" }, function() return m["scale<int>"] end)
  t.raises({ 'instantiate: error: identifier "flaot" is undefined' }, gpu.kernel,
    { "template <class T> __global__ void k(T *x) { *x = 1; }", instantiate = "k<flaot>" })
  local one = gpu.kernel { "template <int N> __global__ void fill(int *x) { x[threadIdx.x] = N; }", instantiate = "fill<7>" }
  local x7 = gpu.zeros(4, "int32")
  one(1, 4)(x7)
  t.eq(x7:sum(), 28)
end)

t.test("several kernels in one string, options, names", function()
  local source = [[
    __device__ int counter;
    __global__ void set(int v) { counter = v * FACTOR; }
    __global__ void get(int *out) { *out = counter; }
  ]]
  local m = gpu.kernel(source, { options = { "-DFACTOR=3" } })
  local out = gpu.zeros(1, "int32")
  m.set(1, 1)(14)
  m.get(1, 1)(out) -- they share one module and so its variables
  t.eq(out:item(), 42)
  t.eq(m:global("counter"):item(), 42)
  for i = 1, 20 do m["note " .. i] = i end -- the table is its user's
  t.eq(m:global("counter"):item(), 42)
  t.raises("there is no __device__ or __constant__ variable 'count'", m.global, m, "count")
  t.raises({ "the source has no kernel 'counter'", "set, get" }, function() return m.counter end)
  t.raises({ "no field 'counter'", 'k:global("counter")' }, function() return m.set.counter end)
  t.raises({ "variable 'counter'", 'k:global("counter"):copy_(x)' }, function() m.set.counter = 3 end)
  t.eq(gpu.kernel({ source = source, options = { "-DFACTOR=1" }, name = "get" }).name, "get")
  t.raises({ "there is no kernel 'put'", "set", "get" }, gpu.kernel, source, { options = { "-DFACTOR=1" }, name = "put" })
end)

t.test("extern \"C\" kernels take their types from the source", function()
  local k = gpu.kernel [[
    extern "C" __global__ void c_kernel(unsigned int n, const float *__restrict__ x, double *out) {
      double s = 0;
      for (unsigned i = 0; i < n; i++) s += x[i];
      *out = s;
    }
  ]]
  t.eq(k.signature, "(unsigned int n, const float *x, double *out)")
  local out = gpu.zeros(1, "float64")
  k(1, 1)(1000, x, out)
  t.eq(out:item(), 1000)
  t.raises("parameter 1 'n' (unsigned int) takes 0 to 4294967295, got -1", k(1, 1), -1, x, out)
  t.raises("expects a float64 array, got float32", k(1, 1), 1, x, x)
end)

t.test("what C programs take for granted is there", function()
  local k = gpu.kernel [[
    #include <stdio.h>
    #include <stdint.h>
    #include <math.h>
    #include <assert.h>
    __global__ void k(int32_t n, uint64_t *out, size_t m) {
      assert(n > 0);
      out[0] = (uint64_t)INT_MAX + (isinf(INFINITY) ? 1 : 0) + (M_PI > 3) + m + (FLT_MAX > 1e38f);
    }
  ]]
  local out = gpu.zeros(1, "uint64")
  k(1, 1)(1, out, 4)
  t.eq(out:item(), 0x7fffffff + 7)
end)

t.test("quoted includes are found and are part of the cache's key", function()
  local unique = os.tmpname() -- other runs of this test may stand beside it
  os.remove(unique)
  local path = "lunarray_test_include_" .. unique:match("[^/]+$") .. ".h"
  local function write(text)
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
  end
  local source = '#include "' .. path .. '"\n__global__ void k(int *out) { *out = VALUE; }'
  local out = gpu.zeros(1, "int32")
  local ok, e = pcall(function()
    write("#define VALUE 1\n")
    gpu.kernel(source)(1, 1)(out)
    t.eq(out:item(), 1)
    write("#define VALUE 2\n")
    gpu.kernel(source)(1, 1)(out)
    t.eq(out:item(), 2)
    write("#error no\n")
    t.raises(path .. ":1: ", gpu.kernel, source)
  end)
  os.remove(path)
  assert(ok, e)
end)

t.test("the second compile comes from the cache and runs the same", function()
  local source = "__global__ void cached(int *out) { *out = " .. os.time() .. "; } // " .. tostring({})
  local first, second = gpu.kernel(source), gpu.kernel(source)
  if os.getenv("LUNARRAY_CACHE_DIR") == "" then t.skip("the cache is switched off") end
  t.eq(first.cached, false)
  if not second.cached then t.skip("there is no folder for the cache") end
  t.eq(second.ptx, first.ptx)
  t.eq(second.compile_ms, first.compile_ms)
  local out = gpu.zeros(1, "int32")
  second(1, 1)(out)
  assert(out:item() > 1000000)
  t.eq(gpu.kernel(source, { options = { "-DX" } }).cached, false)
end)

t.test("what a source does not name is left out when it is compiled, whatever its comments say", function()
  local function minimal(before, inside)
    local out = gpu.zeros(1, "int32")
    gpu.kernel(("// %s\n%s\n__global__ void k(int *out) { %s\n#ifdef __CUDACC_RTC_MINIMAL__\n*out = 1;\n#endif\n}"):format(
      tostring({}), before, inside))(1, 1)(out)
    return out:item() == 1
  end
  t.eq(minimal("#include <cuda/std/cstdint>", ""), false)
  t.eq(minimal("", "cudaError_t unused;"), false)
  t.eq(minimal("#define JOIN(a, b) a##b", "JOIN(cu, daError_t) unused;"), false) -- found to be needed by compiling
  if not minimal("", "") then t.skip("NVRTC is older than 12.8") end
  for _, comment in ipairs { "// a texture, as in CUDA", "/* surfaces,\n cudaMalloc */", "// <<< //\n/**/" } do
    assert(minimal(comment, ""), comment)
  end
  assert(minimal("", "int context = 0, barracuda = context; *out = barracuda;"))
end)

t.test("faults name source line, block, thread and element; the session goes on", function()
  if device ~= "simt" then t.skip("a GPU says less") end
  local first = line() + 2
  local k = gpu.kernel [[
    __global__ void past(int n, float *data) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      assert(n < 5000);
      data[i] = n;
    }
  ]]
  local data = gpu.zeros(1024)
  t.raises({ here() .. ":" .. first + 3 .. ": write of 4 bytes", "in kernel past, block (4, 0, 0), thread (0, 0, 0)",
    "that is data[1024], and data has 1024 elements" }, k(5, 256), 1, data)
  t.raises({ here() .. ":" .. first + 2 .. ": assertion `n < 5000' failed", "in kernel past, block (0, 0, 0)" },
    k(4, 256), 5000, data)
  k(4, 256)(7, data)
  t.eq(data:sum(), 7 * 1024)
end)

t.test("an instruction that the software GPU lacks is named with its line", function()
  if device ~= "simt" then t.skip("a GPU has it") end
  local at = line() + 3
  local e = t.raises({ here() .. ":" .. at, "in odd" }, gpu.kernel, [[
    __global__ void odd(int *x) {
      asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" :: "l"(x), "r"(1));
    }
  ]])
  assert(e:find("multimem", 1, true), e)
end)

t.test("checks on a GPU are refused with the way out", function()
  if device == "simt" then t.skip("the software GPU has them") end
  t.raises({ "checks need the software GPU", device, 'x:to("simt")' }, saxpy(4, 256, { check = true }), 1000, 2, x, y)
end)

t.test("benchmark", function()
  local calls = 0
  local b = gpu.benchmark(function() calls = calls + 1 end, { repeats = 4, warmup = 2 })
  assert(calls == 6 and b.repeats == 4 and #b.times == 4)
  table.sort(b.times)
  assert(b.min == b.times[1] and b.max == b.times[4] and b.median == (b.times[2] + b.times[3]) / 2)
  assert(math.abs(b.mean - (b.times[1] + b.times[2] + b.times[3] + b.times[4]) / 4) < 1e-9)
  assert(tostring(b):find("the median of 4"))
  local x = gpu.ones(200000, { device = device })
  local both = gpu.benchmark({ long = function() for _ = 1, 30 do x:sum() end end, short = function() end }, { repeats = 5 })
  assert(tostring(both):find("^short .- 1%.00 x\nlong "), tostring(both))
  assert(gpu.benchmark(function() end, { device = "cpu" }).repeats >= 5)
  t.raises("function expected, got number", gpu.benchmark, 3)
  t.raises("functions by name", gpu.benchmark, { 1 })
  t.raises("no option 'repaets'", gpu.benchmark, print, { repaets = 3 })
  t.raises("repeats: expected an integer from 1", gpu.benchmark, print, { repeats = 0 })
  t.raises("inside", gpu.benchmark, function() error("inside") end)
end)

t.test("timings of several functions, with entries of the user's", function()
  local times = gpu.benchmark({ a = function() end, b = function() end }, { repeats = 1 })
  times[1], times[true], times.c = { median = 1 }, {}, 3
  local lines = tostring(times)
  assert(lines:find("a ", 1, true) and lines:find("b ", 1, true) and select(2, lines:gsub("\n", "")) == 1, lines)
  t.raises("table expected", getmetatable(times).__tostring, 3)
end)

t.test("occupancy of a launch that is only thought of", function()
  local few = saxpy:occupancy(32)
  assert(few.warps == few.blocks and few.limits.threads == few.max_warps and few.block == 32)
  t.eq(saxpy:occupancy(64, { registers = 255 }).limiter, "registers")
  t.eq(saxpy:occupancy(64, 40000).limiter, "shared memory")
  t.eq(saxpy:occupancy(64, { shared = 40000 }).blocks, saxpy:occupancy(64, 40000).blocks)
  local lines = {}
  for line in tostring(saxpy:occupancy()):gmatch("[^\n]+") do lines[#lines + 1] = line end
  for i, o in ipairs(saxpy:occupancy()) do
    local block, percent, blocks, warps, limiter = lines[i + 1]:match("^ *(%d+) +(%d+)%% +(%d+) +(%d+)  (.+)$")
    t.eq(("%s %s %s"):format(block, blocks, warps), ("%d %d %d"):format(o.block, o.blocks, o.warps))
    t.near(tonumber(percent), 100 * o.fraction, 0.5)
    t.eq(limiter, o.limiter)
  end
  for i, o in ipairs(saxpy:occupancy()) do assert(o.block == 32 * i and o.warps == o.blocks * i) end
  t.same(saxpy:occupancy({ 8, 4, 2 }), saxpy:occupancy(64))
  t.raises("from 1 to 1024", saxpy.occupancy, saxpy, 5000)
  t.raises("from 1 to 1024", saxpy.occupancy, saxpy, { 64, 64 })
  t.raises("occupancy: block: expected a number or {x, y, z}, got string", saxpy.occupancy, saxpy, "64")
  t.raises("no option 'regs'", saxpy.occupancy, saxpy, 64, { regs = 3 })
  t.raises("registers: expected an integer from 0 to 255, got 300", saxpy.occupancy, saxpy, 64, { registers = 300 })
end)

t.test("time and synchronize", function()
  local ms = gpu.time(function() saxpy(4, 256)(1000, 2, x, y) end)
  assert(ms >= 0)
  assert(gpu.time(function() end, "cpu") >= 0)
  t.raises("function expected, got no value", gpu.time)
  t.raises("inside", gpu.time, function() error("inside") end)
  gpu.synchronize()
  gpu.synchronize("cpu")
end)

t.test("many kernels come and go", function()
  for i = 1, 20 do
    local k = gpu.kernel("__global__ void k(int *x) { *x = 5; }")
    local out = gpu.zeros(1, "int32")
    k(1, 1)(out)
    assert(out:item() == 5)
    if i % 5 == 0 then collectgarbage() end
  end
end)

t.test("launches that lack their grid and block", function()
  local k = gpu.kernel [[ __global__ void scale(int n, float a, float *x) { if (threadIdx.x < n) x[threadIdx.x] *= a; } ]]
  local x = gpu.ones(3)
  for _, call in ipairs({ function() k(3, 2.0, x) end, function() k({ 1 }, { 32 }, { 3, 2.0, x }) end, function() k(x) end }) do
    local e = t.raises("a launch is scale(grid, block [, options [, stream]])(arguments)", call)
    assert(not e:find("array", 1, true))
  end
  t.raises("shared: expected bytes of shared memory, 0 or more, got string", k, 1, 32, "a")
  t.raises("with a dot, k.scale(grid, block)(arguments)", function() k:scale(1, 32)(3, 2.0, x) end)
  t.raises('chosen by {name = "f"}', gpu.kernel, "__global__ void f() {}", "f")
  t.raises("event expected, got number", function() gpu.event():elapsed(3) end)
  t.raises("did you mean 'registers'?", function() return k.num_regs end)
  t.raises("did you mean 'launches'?", function() return k.lanches end)
  t.raises("what is measured is called here", function() gpu.time(k(1, 32)(3, 2.0, x)) end)
  t.raises("what is checked is called here", function() gpu.check(k(1, 32)(3, 2.0, x)) end)
  local function on(...)
    local now = gpu.check(...)
    return now
  end
  t.eq(on(), gpu.check())
  t.raises("gpu.synchronize()", function() gpu.cuda.synchronize() end)
end)

-- Two devices where the tests run on cuda:0, which the software GPU may stand behind.
t.test("a kernel runs where its arrays are", function()
  local k = gpu.kernel "__device__ int calls; __global__ void count(int *x) { *x += 10 + ++calls; }"
  local here, there = gpu.zeros(1, "int32", t.kernel_device()), gpu.zeros(1, "int32", "simt")
  k(1, 1)(here)
  k(1, 1)(there)
  k(1, 1)(there)
  local same = t.kernel_device() == "simt" -- then they have one variable
  t.eq(here[1], 11)
  t.eq(there[1], same and 10 + 2 + 10 + 3 or 10 + 1 + 10 + 2)
end)

t.test("finalizers of what is collected with a kernel find it freed", function()
  local found = {}
  local function make() -- a function of its own, so that nothing of it stays on the stack
    local owner = setmetatable({}, { __gc = function(o)
      for k, use in ipairs(o.uses) do found[k] = tostring(select(2, pcall(use))) end
    end })
    local k = gpu.kernel "__global__ void k(float *x) { *x = 1; }" -- newer than the owner, so finalized before it
    local launch = k(1, 1)
    owner.uses = { function() return k(1, 1) end, function() return k.registers end, function() return launch(gpu.ones(1)) end,
      function() return launch end, function() return k end, function() return gpu.profile(k, 1, 1) end,
      function() return k:forall(3) end }
  end
  make()
  collectgarbage()
  collectgarbage()
  for _, use in ipairs({ 1, 2, 3, 7 }) do assert(found[use]:find("the kernel was freed", 1, true), found[use]) end
  assert(found[4]:find("launch of a kernel that was freed", 1, true), found[4])
  assert(found[5]:find("kernel (freed)", 1, true), found[5])
  assert(found[6]:find("expected gpu.profile(kernel", 1, true), found[6])
end)

t.done()
