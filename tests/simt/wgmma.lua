-- Matrix products of warp groups (wgmma) over each layout that a descriptor can name, beside products of arrays. Where an
-- element lies in shared memory is computed here from rows and columns, as PTX's and CUTLASS's tables have it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local head = dofile("tests/simt/shared/mbarriers.lua") .. [[
typedef unsigned char u8;
__device__ u64 descriptor(const void *p, u64 leading, u64 stride, u64 mode) {
  u64 at = __cvta_generic_to_shared(p);
  return at >> 4 & 0x3fff | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62;
}
]]

-- How bytes (row, c) of a matrix of rows x 32 bytes, which go along K, and of one of 16 x n halves, which go along N,
-- are placed: C expressions, and the leading and stride offsets. `bytes` is the swizzle's width.
local layouts = {
  { name = "none", mode = 0, bytes = 16 }, { name = "128", mode = 1, bytes = 128 }, { name = "64", mode = 2, bytes = 64 },
  { name = "32", mode = 3, bytes = 32 } }
local function along_k(layout)
  if layout.mode == 0 then return "r / 8 * 256 + c / 16 * 128 + r % 8 * 16 + c % 16", 128, 256 end
  local w = layout.bytes
  local mix = w == 128 and "r % 8" or w == 64 and "r / 2 % 4" or "r / 4 % 2"
  return ("r * %d + (((first + c) / 16) ^ (%s)) * 16 + c %% 16"):format(w, mix), 16, 8 * w
end
local function along_n(layout) -- r is k, c the byte in a line along N
  if layout.mode == 0 then return "c / 16 * 256 + r / 8 * 128 + r % 8 * 16 + c % 16", 128, 256 end
  local w = layout.bytes
  local mix = w == 128 and "r % 8" or w == 64 and "r % 8 / 2" or "r % 8 / 4"
  return ("c / %d * %d + r / 8 * %d + r %% 8 * %d + ((c %% %d / 16) ^ (%s)) * 16 + c %% 16")
    :format(w, 16 * w, 8 * w, w, w, mix), 16 * w, 8 * w
end

-- types: of sums, A and B; o: n, layout, first (byte of a line that the matrices begin at), a_turned, b_turned,
-- registers (A comes from them), scale (what predicate), signs
local function source(types, bits, o)
  local k, half = 256 // bits, types[1] == "f16"
  local count = half and o.n // 4 or o.n // 2
  local function names(from, n) local list = {} for i = 0, n - 1 do list[#list + 1] = "%" .. from + i end return table.concat(list, ", ") end
  local a_place, a_lead, a_stride = (o.a_turned and along_n or along_k)(o.layout)
  local b_place, b_lead, b_stride = (o.b_turned and along_n or along_k)(o.layout)
  local signs = (types[2] == "s8" or types[2] == "u8" or types[2] == "b1") and "" or ", " .. (o.signs or "1, 1")
  if bits == 16 then signs = signs .. (o.registers and "" or o.a_turned and ", 1" or ", 0") .. (o.b_turned and ", 1" or ", 0") end
  local inputs = o.registers and 4 or 1
  local after = count + inputs
  local sums = half and "unsigned" or types[1] == "s32" and "int" or "float"
  local letter = (half or types[1] == "s32") and "r" or "f"
  local outs = {}
  for i = 0, count - 1 do outs[#outs + 1] = ('"+%s"(d[%d])'):format(letter, i) end
  return head .. ([[
  __global__ void k(const u8 *a, const u8 *b, SUM *out, int scale, int first) {
    __shared__ alignas(1024) u8 sa[16384], sb[65536 / 2];
    int me = threadIdx.x, lane = me % 32, warp = me / 32;
    for (int i = me; i < A_LINES * A_BYTES; i += 128) { int r = i / A_BYTES, c = i % A_BYTES; sa[A_PLACE] = a[i]; }
    for (int i = me; i < B_LINES * B_BYTES; i += 128) { int r = i / B_BYTES, c = i % B_BYTES; sb[B_PLACE] = b[i]; }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    u64 da = descriptor(sa + A_FIRST, A_LEAD, A_STRIDE, MODE), db = descriptor(sb + B_FIRST, B_LEAD, B_STRIDE, MODE);
    unsigned ra[4];
    for (int j = 0; j < 4; j++) ra[j] = *(const unsigned *)(a + (16 * warp + lane / 4 + 8 * (j & 1)) * 32 + lane % 4 * 4 + 16 * (j >> 1));
    SUM d[COUNT];
    for (int j = 0; j < COUNT; j++) d[j] = START;
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %AFTER1, 0; wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64nNkK.T0.T1.T2WORDS {NAMES}, A_OPERAND, %AFTER0, pSIGNS;\n"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"
      : OUTS : A_INPUT, "l"(db), "r"(scale));
    for (int j = 0; j < COUNT; j++) out[me * COUNT + j] = d[j];
  }]]):gsub("[A-Z][A-Z0-9_]*", {
    SUM = sums, COUNT = count, START = half and "0x3c003c00u" or "1", OUTS = table.concat(outs, ", "), NAMES = names(0, count),
    A_OPERAND = o.registers and "{" .. names(count, 4) .. "}" or "%" .. count, AFTER0 = after, AFTER1 = after + 1,
    A_INPUT = o.registers and '"r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3])' or '"l"(da)', T0 = types[1], T1 = types[2],
    T2WORDS = types[3] .. (types[2] == "b1" and ".and.popc" or ""), SIGNS = signs, MODE = o.layout.mode,
    A_LINES = o.a_turned and 16 or 64, A_BYTES = o.a_turned and 128 or 32, A_PLACE = a_place, A_LEAD = a_lead, A_STRIDE = a_stride,
    B_LINES = o.b_turned and 16 or o.n, B_BYTES = o.b_turned and 2 * o.n or 32, B_PLACE = b_place, B_LEAD = b_lead, B_STRIDE = b_stride,
    A_FIRST = o.a_turned and "0" or "first", B_FIRST = o.b_turned and "0" or "first",
  }):gsub("m64nNkK", ("m64n%dk%d"):format(o.n, k))
end

-- The sums as a matrix: a lane has two neighbours of row lane / 4, and of the row 8 below, of each eight columns.
local function matrix(out, n, half)
  local count = half and n // 4 or n // 2
  local flat, rows = (half and out:view("float16"):to("float32") or out):totable(), {}
  for row = 0, 63 do
    rows[row + 1] = {}
    for column = 0, n - 1 do
      local me, low = row // 16 * 32 + row % 8 * 4 + column % 8 // 2, row % 16 // 8
      local e = 4 * (column // 8) + 2 * low + column % 2
      rows[row + 1][column + 1] = flat[me * (half and 2 * count or count) + e + 1]
    end
  end
  return gpu.array(rows)
end

local dtypes = { e4m3 = "uint8", e5m2 = "uint8", f16 = "float16", bf16 = "bfloat16", tf32 = "float32", s8 = "int8", u8 = "uint8" }
local function run(types, o)
  local dtype = dtypes[types[2]]
  local bits, k = dtype:match("8$") and 8 or dtype == "float32" and 32 or 16, nil
  k = 256 // bits
  gpu.seed(o.n + k)
  local small = types[2]:match("^e")
  local low = types[2]:match("^u") and 0 or -4
  local a = gpu.random.integers(low, 4, 64, k):to(dtype)
  local b = gpu.random.integers(types[3] == "u8" and 0 or -4, 4, o.n, k):to(dtypes[types[3]])
  local raw_a, raw_b = a, b
  if small then -- 0, 1, 2, -1, -2, 0.5, 3, -1.5 as they are written in 8 bits
    local values = gpu.array { 0, 1, 2, -1, -2, 0.5, 3, -1.5 }
    local codes = { e4m3 = { 0, 0x38, 0x40, 0xb8, 0xc0, 0x30, 0x44, 0xbc }, e5m2 = { 0, 0x3c, 0x40, 0xbc, 0xc0, 0x38, 0x42, 0xbe } }
    local i, j = gpu.random.integers(1, 8, 64, k), gpu.random.integers(1, 8, o.n, k)
    raw_a, raw_b = gpu.array(codes[types[2]], "uint8"):take(i), gpu.array(codes[types[3]], "uint8"):take(j)
    a, b = values:take(i), values:take(j)
  end
  local want = gpu.matmul(a:to("float32"), b:to("float32").T)
  if o.signs == "-1, 1" then want = -want end
  if o.scale ~= 0 then want = want + 1 end
  local first = o.first or 0
  local kernel = gpu.kernel((source(types, bits, o)))
  local function bytes(x, turned) return (turned and x.T or x):contiguous():flatten():view("uint8") end
  local half = types[1] == "f16"
  local out = gpu.zeros(128 * (half and o.n // 4 or o.n // 2), half and "uint32" or types[1] == "s32" and "int32" or "float32")
  local reports = gpu.check(function() kernel(1, 128)(bytes(raw_a, o.a_turned), bytes(raw_b, o.b_turned), out, o.scale or 1, first) end)
  t.eq(#reports, 0)
  assert(matrix(out, o.n, half):to("float32"):equal(want), table.concat(types, " ") .. " n " .. o.n .. " " .. o.layout.name)
end

t.test("wgmma of bf16 in all layouts along K, at all places of a swizzled line", function()
  for _, layout in ipairs(layouts) do
    for first = 0, layout.bytes - 32, 32 do run({ "f32", "bf16", "bf16" }, { n = 24, layout = layout, first = first }) end
    if layout.mode == 0 then run({ "f32", "bf16", "bf16" }, { n = 40, layout = layout }) end
  end
end)

t.test("wgmma of f16 that goes along M and N", function()
  for _, layout in ipairs(layouts) do
    run({ "f32", "f16", "f16" }, { n = 128, layout = layout, b_turned = true })
    run({ "f32", "f16", "f16" }, { n = 64, layout = layout, a_turned = true })
    run({ "f16", "f16", "f16" }, { n = 72, layout = layout, a_turned = true, b_turned = layout.mode ~= 1 })
  end
end)

t.test("wgmma of other types, shapes, scales and signs, and A in registers", function()
  local layout = layouts[2]
  run({ "f32", "tf32", "tf32" }, { n = 32, layout = layout, first = 64 })
  run({ "s32", "s8", "u8" }, { n = 16, layout = layout, first = 32 })
  run({ "s32", "u8", "s8" }, { n = 8, layout = layouts[1] })
  run({ "f32", "bf16", "bf16" }, { n = 256, layout = layout })
  run({ "f16", "f16", "f16" }, { n = 8, layout = layout, registers = true })
  run({ "f32", "f16", "f16" }, { n = 16, layout = layout, registers = true, b_turned = true, signs = "-1, 1" })
  run({ "f32", "bf16", "bf16" }, { n = 16, layout = layout, scale = 0 })
  run({ "f32", "bf16", "bf16" }, { n = 16, layout = layout, signs = "-1, -1" })
  run({ "f32", "tf32", "tf32" }, { n = 8, layout = layout, signs = "-1, 1" })
  run({ "f32", "e4m3", "e5m2" }, { n = 24, layout = layout, first = 96 })
  run({ "f16", "e5m2", "e4m3" }, { n = 8, layout = layout, signs = "-1, 1" })
end)

t.test("wgmma of bits", function()
  local types, o = { "s32", "b1", "b1" }, { n = 16, layout = layouts[3], first = 32 }
  gpu.seed(3)
  local a, b = gpu.random.integers(0, 255, 64, 32):to("uint8"), gpu.random.integers(0, 255, 16, 32):to("uint8")
  local out, x, y, want = gpu.zeros(128 * 8, "int32"), a:totable(), b:totable(), {}
  for r = 1, 64 do
    want[r] = {}
    for c = 1, 16 do
      local n = 1
      for i = 1, 32 do local both = x[r][i] & y[c][i] while both ~= 0 do n, both = n + (both & 1), both >> 1 end end
      want[r][c] = n
    end
  end
  gpu.kernel((source(types, 1, o)))(1, 128)(a:flatten(), b:flatten(), out, 1, 32)
  t.same(matrix(out, 16):totable(), gpu.array(want):totable())
end)

-- Boxes of tensors through a ring of stages, which one warp group fills and two others multiply; `wait` is what the filling
-- thread does before it fills a stage again.
local function ring(wait)
  local names, outs = {}, {}
  for i = 0, 31 do names[#names + 1], outs[#outs + 1] = "%" .. i, ('"+f"(d[%d])'):format(i) end
  return gpu.kernel(head .. ([[
    struct alignas(64) CUtensorMap { u64 opaque[16]; };
    #define LOAD(to, m, bar, c, r) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" \
      :: "r"(at(to)), "l"(m), "r"(at(bar)), "r"(c), "r"(r) : "memory")
    __global__ void __launch_bounds__(384) multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int n, int depth) {
      extern __shared__ __align__(1024) u8 stages[][192 * 128];
      __shared__ u64 full[2], empty[2];
      int group = threadIdx.x / 128, me = threadIdx.x % 128;
      if (threadIdx.x == 0) for (int i = 0; i < 2; i++) {
        begin(&full[i], 1);
        begin(&empty[i], 2);
      }
      __syncthreads();
      if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        for (int k = 0; me == 0 && k < depth / 64; k++) {
          int q = k % 2;
          WAIT
          asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(&full[q])), "r"(192 * 128) : "memory");
          LOAD(stages[q], &a, &full[q], k * 64, blockIdx.y * 128);
          LOAD(stages[q] + 128 * 128, &b, &full[q], k * 64, blockIdx.x * 64);
        }
        return;
      }
      asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
      float d[32] = {};
      for (int k = 0; k < depth / 64; k++) {
        int q = k % 2;
        wait(&full[q], k / 2 & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < 4; step++) {
          u64 da = descriptor(stages[q] + (group - 1) * 64 * 128 + step * 32, 16, 1024, 1), db = descriptor(stages[q] + 128 * 128 + step * 32, 16, 1024, 1);
          asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {NAMES}, %32, %33, 1, 1, 1, 0, 0;" : OUTS : "l"(da), "l"(db));
        }
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (me == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(&empty[q])) : "memory");
      }
      int row = blockIdx.y * 128 + (group - 1) * 64 + me / 32 * 16 + me % 32 / 4, column = blockIdx.x * 64 + me % 4 * 2;
      for (int i = 0; i < 32; i++) c[(row + i % 4 / 2 * 8) * n + column + i / 4 * 8 + i % 2] = d[i];
    }]]):gsub("[A-Z]+", { NAMES = table.concat(names, ", "), OUTS = table.concat(outs, ", "), WAIT = wait }))
end

t.test("a product of tiles that the tensor memory accelerator brings, stage by stage", function()
  gpu.seed(8)
  local wide, high = t.brief(2, 1), t.brief(2, 1) -- blocks
  local a, b = gpu.random.integers(-3, 3, 128 * high, 320):to("bfloat16"), gpu.random.integers(-3, 3, 64 * wide, 320):to("bfloat16")
  local c = gpu.zeros(128 * high, 64 * wide)
  local ma, mb = gpu.tensormap(a, { 128, 64 }, { swizzle = 128 }), gpu.tensormap(b, { 64, 64 }, { swizzle = 128 })
  local grid = { wide, high }
  t.eq(#gpu.check(function() ring("wait(&empty[q], k / 2 & 1 ^ 1);")(grid, 384, 2 * 192 * 128)(ma, mb, c, 64 * wide, 320) end), 0)
  assert(c:equal(gpu.matmul(a:to("float32"), b:to("float32").T)))
  -- The third box comes into the first one's stage.
  local found = gpu.check(function() ring("")(1, 384, 2 * 192 * 128)(ma, mb, c, 64 * wide, 192) end)
  assert(#found > 0 and found[1].kind == "race" and found[1].space == "shared", tostring(found))
end)

t.test("what wgmma needs is told", function()
  local k = gpu.kernel((source({ "f32", "bf16", "bf16" }, 16, { n = 8, layout = layouts[2] })))
  local x = gpu.zeros(4096, "uint8")
  t.raises("a warp group, four warps that follow each other, and the block has 2 warps", function() k(1, 64)(x, x, gpu.zeros(512), 1, 0) end)
  t.raises("the software GPU does not have sparse matrix products, which wgmma", gpu.kernel, [[
    __global__ void k() { asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0}, %1, %1, %2, 0, 1, 1, 1, 0, 0;" :: "f"(1.0f), "l"(0ll), "r"(0)); }]])
  t.raises("this shape and these types of wgmma", gpu.kernel, [[
    __global__ void k() { asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.f16.f16 {%0}, %1, %1, 1, 1, 1, 0, 0;" :: "f"(1.0f), "l"(0ll)); }]])
end)
