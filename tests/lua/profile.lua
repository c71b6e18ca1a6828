-- gpu.profile: exact figures of kernels whose costs can be worked out by hand.
local gpu = gpu or require "lunarray"
local t = dofile("tests/lua/test.lua")
local device = t.kernel_device()
gpu.device(device)
local counts = device == "simt"

local function line() return debug.getinfo(2, "l").currentline end

-- The profile's entry for the line with `text` in it.
local function at(p, text)
  for _, l in ipairs(p.lines) do
    if l.source and l.source:find(text, 1, true) then return l end
  end
  error("no line with " .. text)
end

local function on_simt(name, body)
  t.test(name, function()
    if not counts then t.skip("a GPU does not count by line") end
    body()
  end)
end

t.test("what every device tells", function()
  local k = gpu.kernel [[
    __global__ void fill(int n, float *x) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] = i;
    }
  ]]
  local x = gpu.zeros(1000)
  local p = gpu.profile(k, 4, 256)(1000, x)
  t.eq(x:sum(), 499500)
  t.eq(p.kernel, "fill")
  t.eq(p.device, gpu.device())
  t.same(p.grid, { 4, 1, 1 })
  t.same(p.block, { 256, 1, 1 })
  t.eq(p.registers, k.registers)
  t.eq(p.shared, 0)
  t.eq(p.array_bytes, 4000)
  t.eq(p.occupancy.limiter, "threads")
  t.eq(p.occupancy.fraction, 1)
  t.eq(p.occupancy.warps, p.occupancy.max_warps)
  assert(p.occupancy.limits.threads == p.occupancy.blocks)
  assert(tostring(p):find("grid 4, block 256", 1, true) and tostring(p):find("limited by threads", 1, true))
  if not counts then
    assert(p.milliseconds > 0 and p.bandwidth > 0 and #p.lines == 0)
  end
end)

on_simt("barriers of a warp's lanes in different lines", function()
  local k = gpu.kernel [[
    __global__ void halves(int *x) {
      int i = threadIdx.x, v;
      if (i < 8) {
        x[i] = i;
        __syncwarp();  // the few
        v = x[i + 8];
      } else {
        x[i] = i * i;
        __syncwarp();  // the many
        v = x[i - 8];
      }
      x[32 + i] = v;
    }
  ]]
  local x = gpu.zeros(64, "int32")
  local p = gpu.profile(k, 1, 32)(x)
  t.eq(x[33], 64)
  t.eq(x[42], 1)
  t.eq(at(p, "the few").instructions, 1)
  t.eq(at(p, "the many").instructions, 1)
  t.eq(at(p, "the few").lanes, 8)
  t.eq(at(p, "the many").lanes, 24)
end)

-- y[i] = x[index]: one load and one store a thread, 8 warps.
local function copy(index)
  return gpu.kernel("__global__ void copy(const float *x, float *y) {\n" ..
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" ..
    "  float v = x[" .. index .. "];\n" ..
    "  y[i] = v;\n}")
end

local function loads(index)
  local x, y = gpu.zeros(256 * 40), gpu.zeros(256)
  local p = gpu.profile(copy(index), 2, 128)(x, y)
  t.same(p.store, { requests = 8, sectors = 32, ideal = 32, bytes = 1024, moved = 1024, efficiency = 1 })
  t.eq(p.load.requests, 8)
  t.eq(p.load.bytes, 1024)
  t.eq(p.load.moved, 32 * p.load.sectors)
  t.near(p.load.efficiency, p.load.ideal / p.load.sectors)
  return p.load.sectors / 8, p.load.ideal / 8
end

on_simt("sectors of loads", function()
  local function check(index, sectors, ideal)
    local a, b = loads(index)
    t.eq(a, sectors, "sectors of " .. index)
    t.eq(b, ideal, "ideal of " .. index)
  end
  check("i", 4, 4)
  check("i + 1", 5, 4)
  check("2 * i", 8, 4)
  check("32 * i", 32, 4)
  check("7", 1, 1)
  check("i / 2", 2, 2)
  check("i ^ 31", 4, 4)
end)

local transpose = gpu.kernel [[
  __global__ void naive(const float *in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[x * 64 + y] = in[y * 64 + x];
  }
  template <int PAD> __global__ void tiled(const float *in, float *out) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * 64 + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    out[y * 64 + x] = tile[threadIdx.x][threadIdx.y];
  }
  template __global__ void tiled<0>(const float *, float *);
  template __global__ void tiled<1>(const float *, float *);
]]

on_simt("a transpose: naive, tiled and padded", function()
  local a, out = gpu.zeros({ 64, 64 }), gpu.zeros({ 64, 64 })
  local naive = gpu.profile(transpose.naive, { 2, 2 }, { 32, 32 })(a, out)
  t.eq(naive.load.efficiency, 1)
  t.same(naive.store, { requests = 128, sectors = 4096, ideal = 512, bytes = 16384, moved = 131072, efficiency = 0.125 })
  t.eq(naive.shared_load, nil)
  for pad, conflicts in pairs { [0] = 31, [1] = 0 } do
    local p = gpu.profile(transpose["tiled<" .. pad .. ">"], { 2, 2 }, { 32, 32 })(a, out)
    t.eq(p.load.efficiency, 1)
    t.eq(p.store.efficiency, 1)
    t.same(p.shared_load, { requests = 128, conflicts = 128 * conflicts, bytes = 16384 })
    t.same(p.shared_store, { requests = 128, conflicts = 0, bytes = 16384 })
    t.eq(p.shared, 128 * (32 + pad))
    t.eq(p.barriers, 128)
    t.eq(at(p, "tile[threadIdx.x][threadIdx.y]").shared_load.conflicts, 128 * conflicts)
    t.eq(at(p, "__syncthreads").barriers, 128)
  end
end)

on_simt("wide elements and broadcasts of shared memory", function()
  local k = gpu.kernel [[
    __global__ void wide(float4 *out) {
      __shared__ double d[64];
      __shared__ float4 q[64];
      int i = threadIdx.x;
      d[i] = i;
      q[i] = make_float4(i, i, i, i);
      __syncthreads();
      double two = d[2 * i];
      double one = d[7];
      float4 v = q[2 * i];
      v.x += two;
      v.y += one;
      out[i] = v;
    }
  ]]
  local p = gpu.profile(k, 1, 32)(gpu.zeros(128))
  t.eq(at(p, "d[i] =").shared_store.conflicts, 0)
  t.eq(at(p, "q[i] =").shared_store.conflicts, 0)
  t.eq(at(p, "d[2 * i]").shared_load.conflicts, 2) -- each half takes two turns
  t.eq(at(p, "d[7]").shared_load.conflicts, 0)
  t.eq(at(p, "q[2 * i]").shared_load.conflicts, 4) -- each quarter takes two turns
  t.same(p.store, { requests = 1, sectors = 16, ideal = 16, bytes = 512, moved = 512, efficiency = 1 })
end)

-- The lanes of a warp add to 8 bins at once: 4 lanes meet at each. By bins that lie side by side the banks have nothing to wait
-- for; by bins 32 words apart all 8 are in one bank.
on_simt("a histogram whose bins are in one bank", function()
  for stride, conflicts in pairs { [1] = 0, [4] = 0, [16] = 4 * 3, [32] = 4 * 7 } do
    local k = gpu.kernel [==[
      __global__ void histogram(const int *x, int *bins, int stride) {
        extern __shared__ int s[];
        atomicAdd(&s[x[threadIdx.x] * stride], 1);
        __syncthreads();
        if (threadIdx.x < 8) bins[threadIdx.x] = s[threadIdx.x * stride];
      }
    ]==]
    local x, bins = gpu.range(0, 127):to("int32") % 8, gpu.zeros(8, "int32")
    local p = gpu.profile(k, 1, 128, 8 * 4 * stride)(x, bins, stride)
    local line = at(p, "atomicAdd")
    t.same(line.shared_atomic, { requests = 4, conflicts = conflicts, bytes = 512 })
    t.same(line.atomics, { requests = 4, lanes = 128, collisions = 4 })
    t.eq(p.shared_load.conflicts, conflicts // 4)
    t.eq(tostring(p):find(conflicts * 5 // 4 .. " extra turns by bank conflicts", 1, true) ~= nil, true)
  end
end)

on_simt("rows of a matrix with padding", function()
  local k = gpu.kernel [[
    __global__ void rows(unsigned *y) {
      __shared__ uint4 s[32];
      s[threadIdx.x] = uint4{1, 2, 3, 4};
      __syncthreads();
      unsigned from = __cvta_generic_to_shared(&s[threadIdx.x]), a, b, c, d;
      asm volatile("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32 {%0, %1, %2, %3}, [%4];"
          : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from));
      y[threadIdx.x] = a + b + c + d;
    }
  ]]
  local p = gpu.profile(k, 1, 32)(gpu.zeros(32, "uint32"))
  t.same(at(p, "(from));").shared_load, { requests = 1, conflicts = 0, bytes = 512 })
end)

on_simt("branches that diverge", function()
  local k = gpu.kernel [[
    __global__ void odd(int *x) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (threadIdx.x % 2)
        x[i] = __ldg(x + i) * 3;
      if (blockIdx.x == 1)
        x[i] = __ldg(x + i) * 5;
      __syncthreads();
    }
  ]]
  local p = gpu.profile(k, 2, 64)(gpu.zeros(128, "int32"))
  t.eq(p.branches, 8) -- two a warp
  t.eq(p.divergent, 4)
  local odd, even = at(p, "* 3"), at(p, "* 5")
  t.eq(odd.lanes, 16)
  t.eq(odd.load.requests, 4)
  t.eq(odd.load.sectors, 16)
  t.eq(odd.load.bytes, 4 * 16 * 4)
  t.eq(odd.load.ideal, 8)
  t.eq(even.lanes, 32)
  t.eq(even.load.requests, 2)
  t.eq(at(p, "__syncthreads").lanes, 32)
end)

on_simt("a loop whose lanes leave one by one", function()
  local k = gpu.kernel [[
    __global__ void count(int *out) {
      int n = 0;
      for (int j = 0; j < threadIdx.x; j++)
        n += atomicAdd(out + 32, 0) + 1;
      out[threadIdx.x] = n;
    }
  ]]
  local out = gpu.zeros(33, "int32")
  local p = gpu.profile(k, 1, 32)(out)
  t.eq(out[32], 31)
  t.same(p.atomics, { requests = 31, lanes = 31 * 32 // 2, collisions = 16 })
  t.same(at(p, "atomicAdd").atomics, p.atomics)
  t.eq(p.atomic.sectors, 31)
end)

on_simt("atomics", function()
  local k = gpu.kernel [[
    __global__ void add(int *one, int *all) {
      __shared__ int s;
      if (threadIdx.x == 0) s = 0;
      __syncthreads();
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      atomicAdd(all + i, 1);
      atomicMax(one + i % 4, i);
      atomicAdd(&s, i);
    }
  ]]
  local p = gpu.profile(k, 2, 64)(gpu.zeros(4, "int32"), gpu.zeros(128, "int32"))
  t.same(at(p, "all + i").atomics, { requests = 4, lanes = 128, collisions = 1 })
  t.eq(at(p, "all + i").atomic.sectors, 16)
  t.same(at(p, "i % 4").atomics, { requests = 4, lanes = 128, collisions = 8 })
  t.eq(at(p, "i % 4").atomic.sectors, 4)
  t.eq(at(p, "&s").atomics.requests, 4)
  t.eq(at(p, "&s").atomic, nil)
end)

on_simt("instructions, by hand-written PTX", function()
  local k = gpu.kernel [[
    __global__ void hand(unsigned *out) {
      unsigned v;
      asm volatile("{ .reg .pred p; .reg .u32 i, n;\n"
          "mov.u32 i, 0;\n"
          "mov.u32 n, %%tid.x;\n"
          "again: add.u32 i, i, 1;\n"
          "setp.lt.u32 p, i, 10;\n"
          "@p bra again;\n"
          "@p add.u32 n, n, 1;\n"
          "shfl.sync.bfly.b32 %0, n, 1, 31, -1; }" : "=r"(v));
      out[threadIdx.x] = v;
    }
  ]]
  local out = gpu.zeros(64, "uint32")
  local p = gpu.profile(k, 1, 64)(out)
  t.eq(out[1], 1)
  local l = at(p, "asm volatile")
  -- The compiler's cvta; two moves, ten rounds of three, an addition that no lane does, an exchange.
  t.eq(l.instructions, 2 * (1 + 2 + 30 + 1 + 1))
  t.near(l.lanes, 32 * 34 / 35)
  t.eq(l.branches, 20)
  t.eq(l.divergent, 0)
end)

on_simt("an asynchronous copy loads and stores", function()
  local k = gpu.kernel [[
    __global__ void fetch(const float *x, float *y) {
      __shared__ float s[32];
      unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.wait_all;" :: "r"(to), "l"(x + threadIdx.x * 2));
      __syncthreads();
      y[threadIdx.x] = s[threadIdx.x];
    }
  ]]
  local p = gpu.profile(k, 1, 32)(gpu.zeros(64), gpu.zeros(32))
  local l = at(p, "cp.async.ca")
  t.same(l.load, { requests = 1, sectors = 8, ideal = 4, bytes = 128, moved = 256, efficiency = 0.5 })
  t.same(l.shared_store, { requests = 1, conflicts = 0, bytes = 128 })
end)

on_simt("lanes that meet at an exchange are counted once", function()
  local k = gpu.kernel [[
    __global__ void meet(int *x) {
      int v = threadIdx.x;
      if (v < 8) v = __ldg(x + v) + 1;
      v += __shfl_xor_sync(~0u, v, 16);
      x[threadIdx.x] = v;
    }
  ]]
  local p = gpu.profile(k, 1, 32)(gpu.zeros(32, "int32"))
  local l = at(p, "__shfl_xor_sync")
  t.eq(l.lanes, 32)
  t.eq(p.divergent, 1)
end)

on_simt("lanes that wait for others, and local memory, are told below the lines", function()
  local k = gpu.kernel [[
    __global__ void halves(float *x) {
      float v = x[threadIdx.x];
      if (threadIdx.x % 2)
        for (int i = 0; i < 50; i++) v = sinf(v);
      x[threadIdx.x] = v;
    }
    __global__ void table(int n, float *x) {
      float v[64];
      for (int i = 0; i < n; i++) v[i] = x[i];
      x[threadIdx.x] = v[threadIdx.x];
    }
    __global__ void whole(float *x) {
      float v = x[threadIdx.x];
      for (int i = 0; i < 50; i++) v = sinf(v);
      x[threadIdx.x] = v;
    }
  ]]
  local x = gpu.zeros(64)
  local text = tostring(gpu.profile(k.halves, 1, 64)(x))
  assert(text:find("line %d+: 16.0 of 32 lanes run it, while the others wait"), text)
  assert(not text:find("local memory holds", 1, true), text)
  text = tostring(gpu.profile(k.table, 1, 64)(64, x))
  assert(select(2, text:gsub("line %d+: local memory holds what has no register", "")) == 1, text)
  -- Of a block of half a warp all lanes run that there are.
  text = tostring(gpu.profile(k.whole, 1, 16)(x))
  assert(not text:find("lanes run it", 1, true), text)
end)

on_simt("a branch by a table diverges once", function()
  local k = gpu.kernel [[
    __global__ void choose(const unsigned *x, unsigned *out) {
      unsigned v, i = x[threadIdx.x];
      asm volatile("{ places: .branchtargets A, B, C;\n"
          "brx.idx %1, places;\n"
          "A: mov.u32 %0, 10;\n bra.uni E;\n"
          "B: mov.u32 %0, 20;\n bra.uni E;\n"
          "C: mov.u32 %0, 30;\n"
          "E: add.u32 %0, %0, 1; }" : "=r"(v) : "r"(i));
      out[threadIdx.x] = v;
    }
  ]]
  local out = gpu.zeros(64, "uint32")
  local x = (gpu.range(0, 63) % 3):to("uint32")
  x[{ { 33, 64 } }] = 2
  local p = gpu.profile(k, 1, 64)(x, out)
  t.eq(out[1] + out[2] + out[3] + out[64], 11 + 21 + 31 + 31)
  t.eq(p.branches, 2)
  t.eq(p.divergent, 1) -- the second warp goes one way
  -- First warp: a branch, a move each, two jumps, one addition once all have met; second: branch, move, addition.
  t.eq(at(p, '"r"(i)').instructions, 1 + 3 + 2 + 1 + 3)
end)

on_simt("local memory, included lines, device functions", function()
  local k = gpu.kernel [[
    __device__ __noinline__ int step(int v) {
      return v * 3 + 1;
    }
    __global__ void local(int n, int *out) {
      int a[8];
      for (int j = 0; j < n; j++) a[(j * 5) & 7] = step(j);
      out[threadIdx.x] = a[n & 7];
    }
  ]]
  local p = gpu.profile(k, 1, 32)(8, gpu.zeros(32, "int32"))
  t.eq(p.local_memory.requests, 9)
  t.eq(p.local_memory.bytes, 9 * 32 * 4)
  assert(at(p, "v * 3 + 1").instructions >= 8)
  assert(k.local_bytes >= 32 and p.local_bytes == k.local_bytes)
end)

on_simt("fragments of matrices", function()
  local found, k = pcall(gpu.kernel, [[
    #include <mma.h>
    using namespace nvcuda;
    __global__ void tile(const half *a, float *c) {
      __shared__ __align__(32) float s[16 * 20];
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
      wmma::fill_fragment(fc, 0.0f);
      wmma::load_matrix_sync(fa, a, 64);
      wmma::load_matrix_sync(fb, a + 8, 24);
      wmma::mma_sync(fc, fa, fb, fc);
      wmma::store_matrix_sync(s, fc, 20, wmma::mem_row_major);
      wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    }
  ]])
  if not found then t.skip("CUDA's headers are not there") end
  local p = gpu.profile(k, 2, 32)(gpu.zeros(64 * 16, "float16"), gpu.ones(256))
  t.same(at(p, "fa, a, 64").load, { requests = 2, sectors = 32, ideal = 32, bytes = 1024, moved = 1024, efficiency = 1 })
  -- rows of 48 bytes that begin 16 bytes into a sector: one in two of 32 bytes lies in two of them
  t.same(at(p, "a + 8, 24").load, { requests = 2, sectors = 48, ideal = 32, bytes = 1024, moved = 1536, efficiency = 32 / 48 })
  t.same(at(p, "(c, fc").store, { requests = 4, sectors = 64, ideal = 64, bytes = 2048, moved = 2048, efficiency = 1 })
  t.eq(at(p, "(s, fc").shared_store.requests, 4)
  t.eq(at(p, "(s, fc").shared_store.bytes, 2048)
end)

on_simt("textures and surfaces", function()
  local k = gpu.kernel [[
    __global__ void fetch(cudaTextureObject_t t, cudaTextureObject_t line, float *out) {
      float v = tex2D<float>(t, threadIdx.x + 0.5f, 2.5f);
      v += tex2D<float>(t, 1.5f, threadIdx.x % 8 + 0.5f);
      v += tex1Dfetch<float>(line, threadIdx.x * 8);
      out[threadIdx.x] = v;
    }
  ]]
  local t2, line = gpu.texture(gpu.zeros { 8, 32 }), gpu.texture(gpu.zeros(256), { fetch = true })
  local p = gpu.profile(k, 1, 32)(t2, line, gpu.zeros(32))
  t.same(at(p, "2.5f").load, { requests = 1, sectors = 4, ideal = 4, bytes = 128, moved = 128, efficiency = 1 })
  t.same(at(p, "1.5f").load, { requests = 1, sectors = 8, ideal = 1, bytes = 128, moved = 256, efficiency = 1 / 8 })
  t.same(at(p, "tex1Dfetch").load, { requests = 1, sectors = 32, ideal = 4, bytes = 128, moved = 1024, efficiency = 1 / 8 })
end)

on_simt("device variables keep their values", function()
  local k = gpu.kernel [[
    __device__ int total = 5;
    __global__ void count(int *out) {
      total += 1;
      *out = total;
    }
  ]]
  local out = gpu.zeros(1, "int32")
  k(1, 1)(out)
  t.eq(out[1], 6)
  gpu.profile(k, 1, 1)(out)
  t.eq(out[1], 7)
  k(1, 1)(out)
  t.eq(out[1], 8)
end)

on_simt("ways to say the launch, and what limits it", function()
  local k = gpu.kernel [[
    __global__ void shared(int *out) {
      extern __shared__ int s[];
      s[threadIdx.x] = threadIdx.x;
      if (threadIdx.x < 64) out[threadIdx.x] = s[threadIdx.x ^ 1];
    }
  ]]
  local out = gpu.zeros(64, "int32")
  for _, profile in ipairs { gpu.profile(k, 1, 64, 40000), gpu.profile(k, { 1 }, { 64, 1 }, { shared = 40000 }),
    gpu.profile(k(1, 64, 40000)), gpu.profile(k:forall(64, 40000)) } do
    local p = profile(out)
    t.eq(p.shared, 40000)
    t.eq(p.occupancy.limiter, "shared memory")
    t.eq(p.occupancy.limits.shared_memory, p.occupancy.blocks)
    t.eq(p.instructions > 0, true)
  end
  local empty = gpu.profile(k:forall(0))(out)
  t.eq(empty.instructions, 0)
  t.same(empty.lines, {})
end)

on_simt("text and HTML", function()
  local first = line() + 2
  local k = gpu.kernel [[
    __global__ void compare(int n, const float *x, float *y) {
      int i = threadIdx.x;

      if (i < n && x[i] > 0) y[32 * i] = x[i];
    }
  ]]
  local p = gpu.profile(k, 1, 32)(32, gpu.ones(32), gpu.zeros(1024))
  local text = tostring(p)
  t.eq(at(p, "if (i < n").line, first + 3)
  for _, part in ipairs { "profile of compare\n", "grid 1, block 32", "instr.", "sectors", ("%d | "):format(first + 2),
    ("%d |   if (i < n && x[i] > 0)"):format(first + 3), ("line %d: a store touches 32.0 sectors where 4.0 would do"):format(first + 3) } do
    assert(text:find(part, 1, true), "no '" .. part .. "' in\n" .. text)
  end
  for one in text:gmatch("[^\n]+") do assert(#one <= 120, one) end
  local forms = getmetatable(p).__display(p)
  local html = forms["text/html"]
  assert(html:find("if (i &lt; n &amp;&amp; x[i] &gt; 0)", 1, true))
  assert(not html:find("(i < n", 1, true))
  local _, opened = html:gsub("<td", "")
  local _, closed = html:gsub("</td>", "")
  t.eq(opened, closed)
end)

on_simt("floating-point operations", function()
  local k = gpu.kernel [[
    __global__ void kinds(int n, const float *x, float *y, double *z) {
      int i = threadIdx.x;
      if (i >= n) return;
      float v = x[i];
      float w = v * v + v; // a fused multiply-add
      z[i] = sqrt((double)w) / 3;
      y[i] = __fadd_rn(w, v);
      y[i + 32] = __int2float_rn(i * 5);
    }
    __global__ void integers(int *y) { y[threadIdx.x] = y[threadIdx.x] * 3 + 1; }
  ]]
  local x, y, z = gpu.ones(32), gpu.zeros(64), gpu.zeros(32, "float64")
  local p = gpu.profile(k.kinds, 1, 32)(20, x, y, z)
  t.eq(at(p, "fused multiply-add").flops, 2 * 20)
  t.eq(at(p, "sqrt").flops, 2 * 20)
  t.eq(at(p, "__fadd_rn").flops, 20)
  t.eq(p.flops, 5 * 20)
  t.eq(p.intensity, 100 / (p.load.moved + p.store.moved))
  assert(tostring(p):find("arithmetic     100 floating%-point operations"))
  assert(p.double_flops == 2 * 20 and at(p, "sqrt").double_flops == 2 * 20 and at(p, "__fadd_rn").double_flops == nil)
  assert(tostring(p):find("operations (40 of doubles)", 1, true) and not tostring(p):find("become doubles")) -- they are meant
  p = gpu.profile(k.integers, 1, 32)(gpu.ones(32, "int32"))
  assert(p.flops == 0 and p.intensity == 0 and not tostring(p):find("arithmetic"))
  local product = gpu.kernel [[
    #include <mma.h>
    using namespace nvcuda;
    __global__ void product(const __half *a, float *c) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> A;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> B;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> C;
      wmma::fill_fragment(C, 0.0f);
      wmma::load_matrix_sync(A, a, 16);
      wmma::load_matrix_sync(B, a, 16);
      wmma::mma_sync(C, A, B, C);
      wmma::store_matrix_sync(c, C, 16, wmma::mem_row_major);
    }
  ]]
  t.eq(gpu.profile(product, 1, 32)(gpu.ones(16, 16, "float16"), gpu.zeros(16, 16)).flops, 2 * 16 ^ 3)
end)

on_simt("literals that make doubles of floats", function()
  local k = gpu.kernel [[
    __global__ void scaled(int n, float *x, double *sum) {
      int i = threadIdx.x;
      x[i] = x[i] * 0.1; // one letter short
      x[i] = x[i] * 0.1f;
      x[i] = x[i] + (float)sum[0]; // narrowed
      if (x[i] > 0.5) sum[1] = 2.0 * x[i]; // widened
    }
  ]]
  local p = gpu.profile(k, 1, 32)(32, gpu.ones(32), gpu.ones(2, "float64"))
  local _, notes = tostring(p):gsub("floats become doubles and back", "")
  t.eq(notes, 1)
  assert(tostring(p):find(("line %d: floats become doubles and back"):format(at(p, "one letter short").line), 1, true))
end)

t.test("mistakes are named", function()
  local k = gpu.kernel "__global__ void k(int n, float *x) { if (n == 7) x[4 + n] = 1; }"
  local x = gpu.zeros(4)
  t.raises("gpu.profile(kernel, grid, block [, options])(arguments)", gpu.profile, k)
  t.raises("gpu.profile(kernel, grid, block [, options])(arguments)", gpu.profile, 5, 1, 1)
  t.raises("no option 'shred'", gpu.profile, k, 1, 1, { shred = 1 })
  t.raises("k: takes 2 arguments", gpu.profile(k, 1, 1), 1)
  t.raises("over", gpu.profile(k, 1, 4096), 1, x)
  if counts then t.raises({ "write of 4 bytes", "x[11]" }, gpu.profile(k, 1, 1), 7, x) end
  gpu.profile(k, 1, 1)(1, x) -- and the session goes on
end)

t.done()
