-- Device functions, templates, function pointers, half floats, special functions, locks, cooperative groups, printf.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

t.test("a device function that is not inlined, recursion, a pointer to a function", function()
  local k = gpu.kernel [[
  __device__ __noinline__ int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }
  __device__ __noinline__ float twice(float x) { return 2 * x; }
  __device__ __noinline__ float square(float x) { return x * x; }
  __global__ void k(const int *a, const int *b, int *out, float *f) {
    float (*table[2])(float) = {twice, square};
    int i = threadIdx.x;
    out[i] = gcd(a[i], b[i]);
    f[i] = table[a[i] & 1]((float)a[i]);
  }]]
  local a, b, want, wantf = {}, {}, {}, {}
  local function gcd(x, y) return y == 0 and x or gcd(y, x % y) end
  for i = 1, 40 do
    a[i], b[i] = i * 6, i * i + 4
    if i % 3 == 0 then a[i] = a[i] + 1 end
    want[i] = gcd(a[i], b[i])
    wantf[i] = a[i] % 2 == 0 and 2.0 * a[i] or 1.0 * a[i] * a[i]
  end
  local out, f = gpu.zeros(40, "int32"), gpu.zeros(40)
  k(1, 40)(gpu.array(a, "int32"), gpu.array(b, "int32"), out, f)
  t.same(out:totable(), want)
  t.same(f:totable(), wantf)
end)

t.test("a template for two types", function()
  for type, dtype in pairs { float = "float32", int = "int32" } do
    local k = gpu.kernel("template <class T> __global__ void scale(T *x, T f) { x[threadIdx.x] *= f; }",
      { instantiate = { "scale<" .. type .. ">" } })
    local x = gpu.range(0, 10 - 1, 1, dtype)
    k(1, 10)(x, 3)
    t.eq(x:sum(), 135)
  end
end)

t.test("elementary functions", function()
  local k = gpu.kernel [[
  __global__ void k(const float *x, float *o, const double *y, double *p) {
    int i = threadIdx.x;
    o[i] = sinf(x[i]) + expf(x[i]) + logf(x[i]) + sqrtf(x[i]) + powf(x[i], 1.5f) + __sinf(x[i]) + tanhf(x[i]);
    p[i] = sin(y[i]) + exp(y[i]) + log(y[i]) + sqrt(y[i]) + pow(y[i], 1.5) + atan2(y[i], 2.0) + erf(y[i]);
  }]]
  local v = {}
  for i = 1, 32 do v[i] = i / 7 end
  local o, p = gpu.zeros(32), gpu.zeros(32, "float64")
  k(1, 32)(gpu.array(v), o, gpu.array(v, "float64"), p)
  for i = 1, 32 do
    local x = v[i]
    local e = math.exp(2 * x)
    t.near(o[i], 2 * math.sin(x) + math.exp(x) + math.log(x) + x ^ 0.5 + x ^ 1.5 + (e - 1) / (e + 1), 1e-4 * math.exp(x) + 1e-4)
    t.eq(p[i] == p[i] and p[i] > math.exp(x) + x ^ 1.5 - 3, true)
  end
end)

-- Angles beyond 2^20 go another way, by which those beside them must not be any others.
t.test("fast sines and cosines, also beside far angles", function()
  local k = gpu.kernel [[
  __global__ void k(const float *x, float *s, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[i] = __sinf(x[i]), c[i] = __cosf(x[i]);
  }]]
  local near, far = {}, {}
  for i = 1, 1024 do near[i] = (i - 512.5) * (i % 8 == 0 and 1e3 or 0.03) end
  for i = 1, 1024 do far[i] = i % 32 == 5 and 3e7 or near[i] end
  local x = gpu.array(near)
  local s, c, s2, c2 = gpu.zeros(1024), gpu.zeros(1024), gpu.zeros(1024), gpu.zeros(1024)
  k(4, 256)(x, s, c)
  k(4, 256)(gpu.array(far), s2, c2)
  for i = 1, 1024 do
    t.near(s[i], math.sin(x[i]), 1e-7 * math.abs(math.sin(x[i])), x[i])
    t.near(c[i], math.cos(x[i]), 1e-7 * math.abs(math.cos(x[i])), x[i])
    local angle = i % 32 == 5 and 3e7 or x[i]
    t.near(s2[i], math.sin(angle), 1e-7 * math.abs(math.sin(angle)), angle)
    if angle == x[i] then t.eq(s2[i] == s[i] and c2[i] == c[i], true, angle) end
  end
  local odd = gpu.array { 0.0, -0.0, math.huge, -math.huge, 0 / 0, 1e-40, 1048575, 1048576 }
  k(1, 8)(odd, s, c)
  t.eq(1 / s[1], math.huge)
  t.eq(1 / s[2], -math.huge)
  for i = 3, 5 do t.eq(s[i] ~= s[i] and c[i] ~= c[i], true, odd[i]) end
  t.near(s[7], math.sin(1048575), 1e-7)
  t.near(s[8], math.sin(1048576), 1e-7)
end)

t.test("doubles to whole numbers, and integers of 64 bits", function()
  local k = gpu.kernel [[
  __global__ void k(const double *x, double *d, long long *n, unsigned long long *u, int *w) {
    int i = threadIdx.x;
    double v = x[i];
    d[4 * i] = floor(v), d[4 * i + 1] = ceil(v), d[4 * i + 2] = trunc(v), d[4 * i + 3] = rint(v);
    n[2 * i] = (long long)v, n[2 * i + 1] = __double2ll_rd(v), u[i] = (unsigned long long)v;
    w[3 * i] = (int)v, w[3 * i + 1] = __popcll(u[i]), w[3 * i + 2] = __clzll(u[i]);
  }]]
  local x = { 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 4503599627370495.5, 0x1p53, 1e15 + 0.3, -1e15 - 0.7,
    2147483647.5, -2147483648.5, 3e9, -3e9, 9.2233720368547748e18, 1e300, -1e300, math.huge, -math.huge, 7.0, -7.0, 1e-320, 1.8446744073709550e19 }
  local m = #x
  local d, n = gpu.zeros(4 * m, "float64"), gpu.zeros(2 * m, "int64")
  local u, w = gpu.zeros(m, "uint64"), gpu.zeros(3 * m, "int32")
  k(1, m)(gpu.array(x, "float64"), d, n, u, w)
  local function whole(v) return v >= 0x1p63 and math.maxinteger or v < -0x1p63 and math.mininteger or math.tointeger(v) end
  for i, v in ipairs(x) do
    local down, up = v // 1, -(-v // 1)
    local cut, middle = v < 0 and up or down, v - down
    local near = (middle < 0.5 or middle == 0.5 and down % 2 == 0) and down or up
    if v - v ~= 0 then down, up, cut, near = v, v, v, v end
    for j, want in ipairs { down, up, cut, near } do t.eq(d[4 * i - 4 + j] == want, true, v) end
    t.eq(n[2 * i - 1], whole(cut), v)
    t.eq(n[2 * i], whole(down), v)
    local bits = v >= 0x1p64 and -1 or cut >= 0x1p63 and math.tointeger(cut - 0x1p64) or cut > 0 and math.tointeger(cut) or 0
    local ones, zeros = 0, 64
    for b = 0, 63 do
      if bits >> b & 1 == 1 then ones, zeros = ones + 1, 63 - b end
    end
    t.eq(w[3 * i - 2], cut >= 0x1p31 and 0x7fffffff or cut < -0x1p31 and -0x80000000 or math.tointeger(cut), v)
    t.eq(w[3 * i - 1], ones, v)
    t.eq(w[3 * i], zeros, v)
  end
end)

t.test("powers of doubles, which the toolkit leaves as calls", function()
  local k = gpu.kernel [[
  __global__ void k(const double *x, const double *y, double *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = pow(x[i], y[i]);
  }]]
  local odd = { -2, -1, -0.5, -0.0, 0.0, 0.3, 1, 2, 2.5, 3, 1023.5, 1e300, 5e-324, math.huge, -math.huge, 0 / 0 }
  local x, y = {}, {}
  for _, a in ipairs(odd) do
    for _, b in ipairs(odd) do x[#x + 1], y[#y + 1] = a, b end
  end
  local p = gpu.zeros(#x, "float64")
  k((#x + 63) // 64, 64)(gpu.array(x, "float64"), gpu.array(y, "float64"), p, #x)
  for i, got in ipairs(p:totable()) do
    local want = x[i] ^ y[i]
    local same = got == want and 1 / got == 1 / want or got ~= got and want ~= want
    t.eq(same or math.abs(got - want) <= 1e-15 * math.abs(want), true, ("pow(%s, %s) is %s"):format(x[i], y[i], got))
  end
end)

t.test("half precision arithmetic", function()
  local k = gpu.kernel [[
  #include <cuda_fp16.h>
  __global__ void k(const float *x, float *o) {
    int i = threadIdx.x;
    __half h = __float2half(x[i]);
    __half2 two = __halves2half2(h, __float2half(2.0f));
    two = __hfma2(two, two, two);
    o[i] = __low2float(two) + __high2float(two) + (h > __float2half(4.0f) ? 100.0f : 0.0f);
  }]]
  local x, o = gpu.range(0, 8 - 1, 1, "float32"), gpu.zeros(8)
  k(1, 8)(x, o)
  for i = 0, 7 do t.eq(o[i + 1], i * i + i + 6.0 + (i > 4 and 100 or 0)) end
end)

t.test("a lock that every thread takes", function()
  local k = gpu.kernel [[
  __global__ void k(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1)) ;
    volatile int *c = count;
    *c = *c + 1;
    __threadfence();
    atomicExch(lock, 0);
  }]]
  local lock, count = gpu.zeros(1, "int32"), gpu.zeros(1, "int32")
  k(4, 64)(lock, count)
  t.eq(count[1], 256)
end)

t.test("warps of a block wait for each other's flags", function()
  local k = gpu.kernel [[
  __global__ void k(int *out) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) { while (flag == 0) ; out[threadIdx.x] = flag; }
    else if (threadIdx.x == 32) flag = 7;
  }]]
  local out = gpu.zeros(32, "int32")
  k(1, 64)(out)
  t.eq(out:sum(), 7 * 32)
end)

t.test("cooperative groups: tiles of a warp", function()
  local ok, k = pcall(gpu.kernel, [[
  #include <cooperative_groups.h>
  namespace cg = cooperative_groups;
  __global__ void k(int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = threadIdx.x;
    for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) out[threadIdx.x / 8] = v;
    block.sync();
  }]])
  if not ok and tostring(k):find("cannot open source file \"cooperative_groups", 1, true) then
    t.skip("NVRTC has no cooperative_groups.h here")
  end
  assert(ok, k)
  local out = gpu.zeros(8, "int32")
  k(1, 64)(out)
  for i = 0, 7 do t.eq(out[i + 1], 8 * 8 * i + 28) end
end)

t.test("lanes that come to a function one after the other meet in it", function()
  local k = gpu.kernel [[
  __device__ __noinline__ int meet(int v, int depth) {
    int kept = v * 3, pair[2] = {v, 0};
    if (depth) return meet(v + 1, depth - 1) + kept;
    v = __shfl_xor_sync(0xffffffffu, v, 1);
    return v + kept + pair[v & 1];
  }
  __global__ void k(int *out, int depth) {
    #pragma unroll 1
    for (int turn = 0; turn < 2; turn++)
      if (turn == (threadIdx.x & 1)) out[threadIdx.x] = meet(threadIdx.x, depth);
  }]]
  for _, depth in ipairs { 0, 2 } do
    local out, want = gpu.zeros(32, "int32"), {}
    for lane = 0, 31 do
      local v, other = lane + depth, (lane ~ 1) + depth
      want[lane + 1] = other + 3 * v + (other % 2 == 0 and v or 0)
      for i = 0, depth - 1 do want[lane + 1] = want[lane + 1] + 3 * (lane + i) end
    end
    k(1, 32)(out, depth)
    assert(out:equal(gpu.array(want, "int32")), "calls inside: " .. depth)
  end
end)

t.test("special registers are operands of inline PTX", function()
  local k = gpu.kernel [[
  __global__ void k(unsigned *out) {
    unsigned v;
    asm("mad.lo.u32 %0, %%ntid.x, %%laneid, %%tid.x;" : "=r"(v));
    out[threadIdx.x] = v;
  }]]
  local out = gpu.zeros(64, "uint32")
  k(1, 64)(out)
  for i = 0, 63 do t.eq(out[i + 1], 64 * (i % 32) + i) end
end)

t.test("printf prints whole lines in every format", function()
  local program = os.getenv("LUNARRAY") or "build/lunarray"
  local file = os.tmpname()
  local f = assert(io.open(file, "w"))
  f:write [=[
  local k = gpu.kernel [[
  #include <cstdio>
  __global__ void k(float x) {
    if (threadIdx.x == 0)
      printf("%d|%5d|%-5d|%05d|%+d|%u|%x|%#X|%o|%c|%s|%10s|%.2s|%%|%lld|%f|%8.3f|%e|%g|%*d|%hd\n", -3, 42, 42, 42, 7, 4000000000u,
             255, 255, 8, 'c', "text", "right", "cut", 1LL << 40, x, x, x, x, 6, 12, 70000);
    printf("thread %d\n", threadIdx.x);
  }]]
  k(1, 3)(1.5)
  ]=]
  f:close()
  local p = io.popen(program .. " " .. file)
  local got = p:read("a")
  p:close()
  os.remove(file)
  t.eq(got, "-3|   42|42   |00042|+7|4000000000|ff|0XFF|10|c|text|     right|cu|%|1099511627776|1.500000|   1.500|1.500000e+00|1.5|    12|4464\n" ..
    "thread 0\nthread 1\nthread 2\n")
end)

t.done()
