-- Tensor memory and its products of matrices (tcgen05), beside products of arrays: each layout that a descriptor can
-- name, each way between registers and tensor memory, and what is told of wrong uses. Where an element lies in shared
-- memory is computed here from rows and columns, as PTX's and CUTLASS's tables have it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local head = dofile("tests/simt/shared/mbarriers.lua") .. [[
typedef unsigned char u8; typedef unsigned u32;
__device__ u64 descriptor(u32 from, u64 leading, u64 stride, int width) {
  u64 mode = width == 128 ? 2 : width == 64 ? 4 : width == 32 ? 6 : 0;
  return from >> 4 & 0x3fff | (leading >> 4) << 16 | (stride >> 4) << 32 | 1ull << 46 | mode << 61;
}
__device__ void allocate(u32 *to, u32 columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(at(to)), "r"(columns) : "memory");
}
__device__ void release(u32 from, u32 columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(from), "r"(columns));
}
__device__ void load8(u32 *v, u32 from) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8]; tcgen05.wait::ld.sync.aligned;"
    : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "r"(from));
}
__device__ void store8(const u32 *v, u32 to) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7}; tcgen05.wait::st.sync.aligned;"
    :: "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7]), "r"(to));
}
]]

---- products
-- `o` says of them: kind, m, n, k, bytes (of an element), description, a_turned, b_turned, width (of the swizzle; 16: none),
-- first (byte of a line that the matrices begin at), a_here (A comes from tensor memory), steps (the same product so often),
-- mask (lanes left out), scale (D is divided by 2 to the 3rd first), column (where D begins)
local fields = { "kind", "m", "n", "k", "bytes", "description", "a_turned", "b_turned", "width", "first", "a_here", "steps",
  "mask", "scale", "column" }
local members = "struct options { int " .. table.concat(fields, ", ") .. "; };"
local product = head .. members .. [[
// Where byte c of row r goes, along K or, turned, of line r of K along M or N.
__device__ int place(int r, int c, int turned, int k, int width, int first) {
  if (width == 16) return turned ? c / 16 * 16 * k + r * 16 + c % 16 : r / 8 * 256 + c / 16 * 128 + r % 8 * 16 + c % 16;
  int mix = width == 128 ? r % 8 : width == 64 ? r / 2 % 4 : r / 4 % 2;
  if (turned) return c / width * width * k + r * width + (c % width / 16 ^ mix) * 16 + c % 16;
  return r * width + ((first + c) / 16 ^ mix) * 16 + c % 16;
}
__device__ void fill(u8 *to, const u8 *from, int rows, int turned, const options &o, int me) {
  int lines = turned ? o.k : rows, each = turned ? rows * o.bytes : 32;
  for (int i = me; i < lines * each; i += 128) to[place(i / each, i % each, turned, o.k, o.width, o.first)] = from[i];
}
__device__ u64 describe(const u8 *from, int turned, const options &o) {
  if (turned) return o.width == 16 ? descriptor(at(from), 128, 16 * o.k, 16) : descriptor(at(from), o.width * o.k, 8 * o.width, o.width);
  return o.width == 16 ? descriptor(at(from), 128, 256, 16) : descriptor(at(from) + o.first, 16, 8 * o.width, o.width);
}
#define PRODUCT(KIND, A, LETTER, SCALE) asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0;" \
  "tcgen05.mma.cta_group::1.kind::" KIND " [%0], " A ", %2, %3, {%5, %6, %7, %8}, p" SCALE "; }" :: "r"(d), LETTER, "l"(b), \
  "r"(o.description), "r"(adds), "r"(o.mask), "r"(0), "r"(o.mask), "r"(0) : "memory")
__device__ void multiply(u32 d, u64 a, u64 b, int adds, const options &o) {
  u32 here = (u32)a;
  if (o.a_here) {
    if (o.kind == 0) PRODUCT("f16", "[%1]", "r"(here), "");
    if (o.kind == 1) PRODUCT("tf32", "[%1]", "r"(here), "");
    if (o.kind == 3) PRODUCT("i8", "[%1]", "r"(here), "");
  } else {
    if (o.kind == 0 && o.scale) PRODUCT("f16", "%1", "l"(a), ", 3");
    if (o.kind == 0 && !o.scale) PRODUCT("f16", "%1", "l"(a), "");
    if (o.kind == 1) PRODUCT("tf32", "%1", "l"(a), "");
    if (o.kind == 2) PRODUCT("f8f6f4", "%1", "l"(a), "");
    if (o.kind == 3) PRODUCT("i8", "%1", "l"(a), "");
  }
}
__global__ void k(const u8 *a, const u8 *b, int *out, const int *numbers, int threads) {
  extern __shared__ __align__(1024) u8 sa[];
  __shared__ u64 done;
  __shared__ u32 base;
  u8 *sb = sa + 16384;
  const options o = *(const options *)numbers;
  int me = threadIdx.x, warp = me / 32;
  fill(sa, a, o.m, o.a_turned, o, me);
  fill(sb, b, o.n, o.b_turned, o, me);
  if (me == 0) begin(&done, 1);
  if (warp == 0) allocate(&base, 512);
  asm volatile("fence.proxy.async; tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  u32 d = base + o.column, row = (u32)warp * 32 << 16, v[8];
  if (o.a_here) { // a row of A is 8 columns of a lane
    int r = o.m == 64 ? warp * 16 + me % 16 : me;
    for (int j = 0; j < 8; j++) v[j] = ((const u32 *)a)[r * 8 + j];
    store8(v, base + 480 + row);
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  }
  if (me < threads) {
    u64 da = o.a_here ? base + 480 : describe(sa, o.a_turned, o);
    for (int i = 0; i < o.steps; i++) multiply(d, da, describe(sb, o.b_turned, o), i > 0, o);
    if (me == 0)
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(at(&done)) : "memory");
  }
  wait(&done, 0);
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  for (int c = 0; c < o.n; c += 8) {
    load8(v, d + row + c);
    for (int j = 0; j < 8; j++) out[me * o.n + c + j] = v[j];
  }
  __syncthreads();
  if (warp == 0) release(base, 512);
}]]

local formats = { f16 = 0, bf16 = 1, tf32 = 2, e4m3 = 0, e5m2 = 1, e2m3 = 3, e3m2 = 4, e2m1 = 5, u8 = 0, s8 = 1 }
local kinds = { f16 = 0, bf16 = 0, tf32 = 1, u8 = 3, s8 = 3 }
local dtypes = { f16 = "float16", bf16 = "bfloat16", tf32 = "float32", s8 = "int8", u8 = "uint8" }
local sums = { f16 = 0, f32 = 1, s32 = 2 }
-- 0, 1, 2, -1, -2, 0.5, 3 and -1.5 as they are written in few bits.
local values = gpu.array { 0, 1, 2, -1, -2, 0.5, 3, -1.5 }
local codes = { e4m3 = { 0, 0x38, 0x40, 0xb8, 0xc0, 0x30, 0x44, 0xbc }, e5m2 = { 0, 0x3c, 0x40, 0xbc, 0xc0, 0x38, 0x42, 0xbe },
  e2m3 = { 0, 8, 16, 40, 48, 4, 20, 44 }, e3m2 = { 0, 12, 16, 44, 48, 8, 18, 46 }, e2m1 = { 0, 2, 4, 10, 12, 1, 5, 11 } }
local width_of = { e2m3 = 6, e3m2 = 6, e2m1 = 4 }

-- Of each 16 codes the bits one after the other, and zeros up to 16 bytes, as the tensor memory accelerator unpacks them.
local function packed(list, bits)
  local bytes = {}
  for first = 1, #list, 16 do
    local text, n = 0, 0
    local out = {}
    for i = first, first + 15 do
      text, n = text | list[i] << n, n + bits
      while n >= 8 do out[#out + 1], text, n = text & 255, text >> 8, n - 8 end
    end
    for i = 1, 16 do bytes[#bytes + 1] = out[i] or 0 end
  end
  return gpu.array(bytes, "uint8")
end

-- A matrix of rows x k elements of the type: its numbers, and its bytes as memory has them.
local function matrix(type, rows, k, turned)
  if codes[type] then
    local i = gpu.random.integers(1, 8, rows, k)
    local raw = gpu.array(codes[type], "uint8"):take(i)
    if width_of[type] then return values:take(i), packed(raw:flatten():totable(), width_of[type]) end
    return values:take(i), (turned and raw.T or raw):contiguous():flatten()
  end
  local x = gpu.random.integers(type == "u8" and 0 or -4, 4, rows, k):to(dtypes[type])
  return x:to("float32"), (turned and x.T or x):contiguous():flatten():view("uint8")
end

local program
local function launch(o, raw_a, raw_b, out, threads)
  program = program or gpu.kernel(product)
  local numbers = {}
  for i, name in ipairs(fields) do numbers[i] = o[name] end
  program.k(1, 128, 16384 + 32768)(raw_a, raw_b, out, gpu.array(numbers, "int32"), threads or 1)
end

local function complete(types, o)
  local a, b, sum = types[1], types[2], types[3]
  o.kind, o.bytes = kinds[a] or 2, (codes[a] or a:match("8$")) and 1 or a == "tf32" and 4 or 2
  o.k = 32 // o.bytes
  o.column, o.steps, o.width = o.column or 0, o.steps or 1, o.width or 16
  local negative = (o.negate_a and 1 << 13 or 0) | (o.negate_b and 1 << 14 or 0) | (o.saturate and 8 or 0)
  o.description = sums[sum] << 4 | formats[a] << 7 | formats[b] << 10 | (o.a_turned and 1 << 15 or 0) | (o.b_turned and 1 << 16 or 0)
    | o.n // 8 << 17 | o.m // 16 << 24 | negative
  for _, name in ipairs(fields) do o[name] = o[name] == true and 1 or o[name] or 0 end
  return o
end

local function run(types, o)
  gpu.seed(o.n + o.m)
  complete(types, o)
  local a, raw_a = matrix(types[1], o.m, o.k, o.a_turned == 1)
  local b, raw_b = matrix(types[2], o.n, o.k, o.b_turned == 1)
  local out = gpu.zeros({ 128, o.n }, "int32")
  local reports = gpu.check(function() launch(o, raw_a, raw_b, out) end)
  t.eq(#reports, 0, tostring(reports))
  local want = gpu.matmul(a, b.T)
  if o.negate_a then want = -want end
  local times = 1
  for _ = 2, o.steps do times = (o.scale == 1 and times / 8 or times) + 1 end
  want = want * times
  local got = types[3] == "s32" and out or types[3] == "f32" and out:view("float32") or out:view("float16")[{ {}, { 1, 2 * o.n, 2 } }]
  got = got:to("float32")
  if o.m == 64 then got = got:reshape(4, 32, o.n)[{ {}, { 1, 16 } }]:reshape(64, o.n) end
  local name = ("%s m %d n %d width %d"):format(table.concat(types, " "), o.m, o.n, o.width)
  if o.mask ~= 0 then -- lanes 0 to 31 and 64 to 95 by its bits
    for lane = 0, 127 do
      local left_out = lane // 32 % 2 == 0 and o.mask >> lane % 32 & 1 == 1
      local row = got[lane + 1]
      if left_out then assert(row:isnan():all(), name) else assert(row:equal(want[lane + 1]), name) end
    end
    return
  end
  assert(got:equal(want), name)
end

t.test("products of all layouts along K, at all places of a swizzled line", function()
  for _, width in ipairs { 16, 32, 64, 128 } do
    for first = 0, math.max(width - 32, 0), 32 do
      run({ "bf16", "bf16", "f32" }, { m = 128, n = 48, width = width, first = first })
    end
  end
  run({ "f16", "f16", "f32" }, { m = 128, n = 256, width = 128, column = 128 })
  run({ "f16", "f16", "f32" }, { m = 64, n = 24, width = 64 })
end)

t.test("products of matrices that go along M and N", function()
  for _, width in ipairs { 16, 32, 64, 128 } do
    run({ "f16", "f16", "f32" }, { m = 128, n = 128, width = width, b_turned = true })
    run({ "bf16", "bf16", "f32" }, { m = 128, n = 64, width = width, a_turned = true, b_turned = true })
    run({ "s8", "u8", "s32" }, { m = 128, n = 128, width = width, a_turned = true })
    run({ "e4m3", "e5m2", "f32" }, { m = 128, n = 128, width = width, b_turned = true })
    run({ "tf32", "tf32", "f32" }, { m = 64, n = 32, width = width, a_turned = true, b_turned = true })
  end
end)

t.test("products of each type, with signs, in steps, into halves, with lanes left out", function()
  run({ "f16", "f16", "f16" }, { m = 128, n = 32, width = 128, steps = 3 })
  run({ "tf32", "tf32", "f32" }, { m = 128, n = 32, width = 128, steps = 2 })
  run({ "s8", "s8", "s32" }, { m = 128, n = 32, width = 32, steps = 3 })
  run({ "u8", "s8", "s32" }, { m = 64, n = 8, width = 64, saturate = true })
  for _, a in ipairs { "e4m3", "e5m2", "e2m3", "e3m2", "e2m1" } do
    for _, b in ipairs { "e4m3", "e2m3", "e2m1" } do run({ a, b, "f32" }, { m = 128, n = 16, width = 128, first = 64 }) end
  end
  run({ "e5m2", "e4m3", "f16" }, { m = 64, n = 16, width = 32, steps = 2 })
  run({ "f16", "f16", "f32" }, { m = 128, n = 16, width = 32, negate_a = true })
  run({ "f16", "f16", "f32" }, { m = 128, n = 16, width = 32, steps = 3, scale = true })
  run({ "bf16", "bf16", "f32" }, { m = 128, n = 16, mask = 0x40000081 })
end)

t.test("products of A in tensor memory", function()
  run({ "f16", "f16", "f32" }, { m = 128, n = 64, width = 128, a_here = true })
  run({ "bf16", "bf16", "f32" }, { m = 64, n = 32, width = 64, a_here = true, steps = 2 })
  run({ "tf32", "tf32", "f32" }, { m = 128, n = 16, width = 16, a_here = true })
  run({ "s8", "u8", "s32" }, { m = 128, n = 16, width = 32, a_here = true, b_turned = true })
end)

t.test("a sum of integers that does not fit is clamped where that is asked for", function()
  local o = complete({ "u8", "u8", "s32" }, { m = 128, n = 16, steps = 1100, saturate = true })
  local full, out = gpu.full({ 128 * 32 }, 255, "uint8"), gpu.zeros({ 128, 16 }, "int32")
  launch(o, full, full, out)
  assert(out:eq(2147483647):all())
  o.description = o.description & ~8
  launch(o, full, full, out)
  assert(out:eq((1100 * 32 * 255 * 255 + 2 ^ 31) % 2 ^ 32 - 2 ^ 31):all())
end)

---- between registers and tensor memory
-- What register r of lane l is: its lane and column from the address on, by shape.
local shapes = {
  ["32x32b"] = { 1, function(l, r) return l, r end },
  ["16x32bx2"] = { 1, function(l, r) return l % 16, r + l // 16 * 40 end },
  ["16x64b"] = { 1, function(l, r) return l // 4 + l % 2 * 8, 2 * r + l // 2 % 2 end },
  ["16x128b"] = { 2, function(l, r) return l // 4 + r % 2 * 8, r // 2 * 4 + l % 4 end },
  ["16x256b"] = { 4, function(l, r) return l // 4 + r // 2 % 2 * 8, r // 4 * 8 + l % 4 * 2 + r % 2 end },
}

local function moves(shape, times, store, half)
  local each = shapes[shape][1] * times
  local names, list = {}, {}
  for i = 0, each - 1 do names[#names + 1], list[#list + 1] = "%" .. i, ('"%s"(v[%d])'):format(store and "r" or "=r", i) end
  local offset = shape == "16x32bx2" and ", 40" or ""
  local registers, address = "{" .. table.concat(names, ", ") .. "}", "[%" .. each .. "]" .. offset
  local words = (".sync.aligned.%s.x%d%s.b32 "):format(shape, times, half and (store and ".unpack::16b" or ".pack::16b") or "")
  local text = (store and "tcgen05.st" or "tcgen05.ld") .. words .. (store and address .. ", " .. registers or registers .. ", " .. address)
  local operands = store and (":: " .. table.concat(list, ", ") .. ', "r"(address)') or (": " .. table.concat(list, ", ") .. ' : "r"(address)')
  return head .. ([[
  __global__ void k(u32 *out, int half) { // memory has its lane and column; lanes 16 on of a warp where `half` is 16
    __shared__ u32 base;
    u32 warp = threadIdx.x / 32, row = warp * 32 << 16, v[EACH], w[8];
    if (warp == 0) allocate(&base, 256);
    __syncthreads();
    for (int c = 0; c < 256; c += 8) {
      for (int j = 0; j < 8; j++) w[j] = STORES ? 0 : threadIdx.x << 16 | (c + j);
      store8(w, base + row + c);
    }
    u32 address = base + row + (half << 16) + 8;
    for (int j = 0; j < EACH; j++) v[j] = threadIdx.x << 16 | j;
    asm volatile("TEXT;" OPERANDS);
    if (STORES) for (int c = 0; c < 256; c += 8) {
      load8(w, base + row + c);
      for (int j = 0; j < 8; j++) out[threadIdx.x * 256 + c + j] = w[j];
    } else {
      for (int j = 0; j < EACH; j++) out[threadIdx.x * EACH + j] = v[j];
    }
    __syncthreads();
    if (warp == 0) release(base, 256);
  }]]):gsub("[A-Z][A-Z]+", { EACH = each, STORES = store and 1 or 0, TEXT = text, OPERANDS = operands }), each
end

t.test("loads and stores of tensor memory in each shape", function()
  for _, case in ipairs { { "32x32b", 4 }, { "16x32bx2", 8 }, { "16x64b", 4 }, { "16x128b", 2 }, { "16x256b", 2 },
    { "32x32b", 2, true }, { "16x64b", 8, true }, { "16x256b", 1, true }, { "16x128b", 4, true } } do
    local shape, times, half = case[1], case[2], case[3]
    local where, wide = shapes[shape][2], half and 2 or 1
    local text, each = moves(shape, times, false, half)
    for base = 0, shape == "32x32b" and 0 or 16, 16 do
      local out = gpu.zeros({ 128, each }, "uint32")
      t.eq(#gpu.check(function() gpu.kernel(text)(1, 128)(out, base) end), 0)
      local got = out:totable()
      for thread = 0, 127 do
        for r = 0, each - 1 do
          local lane, column = where(thread % 32, r)
          lane, column = thread // 32 * 32 + lane + base, column * wide + 8
          local want = half and (column | (column + 1) << 16) or lane << 16 | column
          if got[thread + 1][r + 1] ~= want then
            error(("%s.x%d: thread %d register %d has %x, not %x"):format(shape, times, thread, r, got[thread + 1][r + 1], want))
          end
        end
      end
      local stored = gpu.zeros({ 128, 256 }, "uint32")
      gpu.kernel((moves(shape, times, true, half)))(1, 128)(stored, base)
      local cells, want = stored:totable(), {}
      for l = 0, 127 do want[l + 1] = {} for c = 1, 256 do want[l + 1][c] = 0 end end
      for thread = 0, 127 do
        for r = 0, each - 1 do
          local lane, column = where(thread % 32, r)
          local row, v = want[thread // 32 * 32 + lane + base + 1], thread << 16 | r
          if half then row[column * 2 + 9], row[column * 2 + 10] = v & 0xffff, v >> 16 else row[column + 9] = v end
        end
      end
      t.same(cells, want)
    end
  end
end)

t.test("warps that wait for a commit have their turn before the next one", function()
  local out = gpu.zeros(128, "int32")
  gpu.kernel(head .. [[
  __global__ void k(int *out) { // where warp 0 went on at once, the others would find its second phases over, too
    __shared__ u64 full, done;
    int me = threadIdx.x;
    if (me == 0) begin(&full, 1), begin(&done, 1);
    __syncthreads();
    for (int i = 0; i < 2; i++) {
      if (me == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(&full)) : "memory");
      wait(&full, i);
      if (me == 0)
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(at(&done)) : "memory");
      wait(&done, i);
      out[me]++;
    }
  }]])(1, 128)(out)
  assert(out:eq(2):all())
end)

---- what is told
local function small(body, threads)
  return function()
    gpu.kernel(head .. "__global__ void k(u32 *out) { __shared__ u32 base; u32 warp = threadIdx.x / 32, v[8] = {}; " .. body .. " }")(1, threads or 128)(gpu.zeros(1024, "uint32"))
  end
end

t.test("what is wrong with allocations is told", function()
  t.raises("the block ended with 64 columns of tensor memory that it allocated; free them by tcgen05.dealloc",
    small "if (warp == 0) allocate(&base, 64);")
  t.raises("expected a power of 2 from 32 to 512 columns of tensor memory, got 48", small "if (warp == 0) allocate(&base, 48);")
  t.raises("waits for ever for 256 columns: of the 512 of tensor memory the block has allocated 512",
    small "if (warp == 0) { allocate(&base, 256); allocate(&base, 256); allocate(&base, 256); }")
  t.raises("by which the block has said that it allocates no more",
    small 'if (warp == 0) { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); allocate(&base, 32); }')
  t.raises("tcgen05.dealloc: at the address 0x20 of tensor memory no 32 columns were allocated",
    small "if (warp == 0) { allocate(&base, 32); release(base + 32, 32); }")
  t.raises("needs all 32", small "if (threadIdx.x < 16) allocate(&base, 32);")
  small "if (warp == 0) { allocate(&base, 32); u32 a = base; allocate(&base, 128); u32 b = base; release(a, 32); release(b, 128); out[0] = b; }" ()
end)

t.test("what is wrong with accesses to tensor memory is told", function()
  local function with(body) return small("if (warp == 0) allocate(&base, 32); __syncthreads();" .. body .. "__syncthreads(); if (warp == 0) release(base, 32);") end
  t.raises("warp 3 of the block reaches lanes 96 to 127 of tensor memory, by addresses of lane 96, and this one is of lane 0",
    with "load8(v, base);")
  t.raises("touches columns 28 to 35 of tensor memory, of which 32 was not allocated", with "load8(v, base + 28 + (warp * 32 << 16));")
  t.raises("touches columns 508 to 515 of tensor memory, which has 512", small "if (warp == 0) allocate(&base, 512); __syncthreads(); load8(v, base + 508 + (warp * 32 << 16));")
  t.raises("not allocated", small "load8(v, warp * 32 << 16); out[threadIdx.x] = v[0];")
end)

t.test("what is wrong with products is told", function()
  local function with(types, o, change, threads)
    return function()
      complete(types, o)
      if change then change(o) end
      launch(o, gpu.zeros(4096, "uint8"), gpu.zeros(8192, "uint8"), gpu.zeros({ 128, o.n }, "int32"), threads)
    end
  end
  local halves = { "f16", "f16", "f32" }
  t.raises("and 32 threads of a warp do; let one of them, as elect.sync chooses it", with(halves, { m = 128, n = 16 }, nil, 32))
  t.raises("asks for what this kind does not have, or the software GPU does not (M = 128, N = 24,", with(halves, { m = 128, n = 24 }))
  t.raises("(M = 128, N = 16, formats 0 and 0, of sums 2)", with(halves, { m = 128, n = 16 }, function(o) o.description = o.description ~ 3 << 4 end))
  t.raises("touches columns 500 to 515 of tensor memory, which has 512", with(halves, { m = 128, n = 16, column = 500 }))
  t.raises("the software GPU does not have sparse matrix products, which tcgen05.mma.sp", gpu.kernel, [[
    __global__ void k() { asm volatile("{ .reg .pred p; tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %1, [%0], %0, p; }" :: "r"(0), "l"(0ll)); }]])
  t.raises("this form of tcgen05 (by two blocks", gpu.kernel, [[
    __global__ void k() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"); }]])
end)

-- A product in each of `rounds` rounds of tiles that threads write; `done` is what all do behind it, `last` what they do before
-- they load the sums.
local function rounds(done, last)
  return gpu.check(function()
    gpu.kernel(head .. ([[
    __global__ void k(u32 *out) {
      __shared__ alignas(1024) u8 sa[128 * 32], sb[16 * 32];
      __shared__ u32 base;
      __shared__ u64 done, other;
      u32 me = threadIdx.x, v[8];
      if (me == 0) begin(&done, 1), begin(&other, 1);
      if (me < 32) allocate(&base, 32);
      for (int i = 0; i < 3; i++) {
        for (int j = me; j < 128 * 32; j += 128) sa[j] = i, sb[j % 512] = i;
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        if (me == 0) {
          u64 a = descriptor(at(sa), 128, 256, 16), b = descriptor(at(sb), 128, 256, 16);
          asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
            :: "r"(base), "l"(a), "l"(b), "r"(1 << 4 | 2 << 17 | 8 << 24) : "memory");
          COMMIT(&done);
        }
        DONE
      }
      LAST
      load8(v, base + (me / 32 * 32 << 16));
      out[me] = v[0];
      sa[me] = 1;
      __syncthreads();
      if (me < 32) release(base, 32);
    }]]):gsub("[A-Z][A-Z]+", { DONE = done, LAST = last }):gsub("COMMIT(%b())", function(bar)
      return 'asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(at' .. bar .. ') : "memory")'
    end))(1, 128)(gpu.zeros(128, "uint32"))
  end)
end

t.test("who touches what a product reads or writes must have waited for it", function()
  t.eq(#rounds("wait(&done, i & 1);", ""), 0)
  t.eq(#rounds("if (me == 127) wait(&done, i & 1); __syncthreads();", ""), 0) -- or come behind one that has
  local early = rounds("if (me < 64) wait(&done, i & 1);", "")
  t.eq(early[1].kind, "race")
  local unwaited = rounds("__syncthreads();", "wait(&done, 0);")
  assert(#unwaited == 2 and unwaited[1].message:find("^sa%[%d+%] written in line %d+ while the product begun here may still read it$")
    and unwaited[2].message:find("^sb%["), tostring(unwaited))
  local sums = rounds("if (i < 2) wait(&done, i & 1); else __syncthreads();", "")
  assert(#sums == 2 and tostring(sums):find("tensor memory[0] read in line", 1, true) and
    tostring(sums):find("while the product begun here may still write it", 1, true), tostring(sums))
  -- A later commit is of the products before, too: who has waited for it needs no other.
  t.eq(#rounds("if (i < 2) wait(&done, i & 1);", "if (me == 0) COMMIT(&other); wait(&other, 0);"), 0)
end)

t.test("what a product reads of shared memory is checked", function()
  local function found(body)
    return gpu.check(function()
      gpu.kernel(head .. [[
      __global__ void k() {
        __shared__ alignas(1024) u8 sa[128 * 32], sb[16 * 32];
        __shared__ u32 base;
        __shared__ u64 done;
        int me = threadIdx.x;
        if (me == 0) begin(&done, 1);
        if (me < 32) allocate(&base, 32);
        ]] .. body .. [[
        if (me == 0) {
          u64 a = descriptor(at(sa), 128, 256, 16), b = descriptor(at(sb), 128, 256, 16);
          asm volatile("{ .reg .pred p; setp.ne.u32 p, 0, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
            :: "r"(base), "l"(a), "l"(b), "r"(1 << 4 | 2 << 17 | 8 << 24) : "memory");
          asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(at(&done)) : "memory");
        }
        wait(&done, 0);
        for (int i = me; i < 16 * 32; i += 128) sb[i] = 2;
        if (me < 32) release(base, 32);
      }]])(1, 128)()
    end)
  end
  t.eq(#found "for (int i = me; i < 128 * 32; i += 128) sa[i] = 1, sb[i % 512] = 1; __syncthreads();", 0)
  local races = found "for (int i = me; i < 128 * 32; i += 128) sa[i] = 1, sb[i % 512] = 1;"
  assert(#races > 0 and races[1].kind == "race", tostring(races))
  local unwritten = found "for (int i = me; i < 64 * 32; i += 128) sa[i] = 1, sb[i % 512] = 1; __syncthreads();"
  assert(#unwritten == 1 and unwritten[1].kind == "uninitialized read", tostring(unwritten))
end)
