-- Boxes of tensors (cp.async.bulk.tensor): where their elements go, beside what indexing an array gives; and what is told of
-- copies that nobody waits for, of what is no tensor map, and of boxes that there are not.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local reports = assert(loadfile("tests/simt/shared/reports.lua"))(t)
local mbarriers = dofile("tests/simt/shared/mbarriers.lua")

local head = mbarriers .. [[
struct alignas(64) CUtensorMap { u64 opaque[16]; };
__device__ void expect(u64 *bar, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(bar)), "r"(n) : "memory");
}
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define WAIT_GROUP() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
]]
-- LOAD2(to, map, barrier, column, row) and STORE2(map, from, column, row), and the same of other numbers of axes.
for rank = 1, 5 do
  local names, places, inputs = {}, {}, {}
  for i = 1, rank do names[i], places[i], inputs[i] = "c" .. i, "%" .. i, ('"r"(c%d)'):format(i) end
  local c, p, r = table.concat(names, ", "), table.concat(places, ", "), table.concat(inputs, ", ")
  head = head .. ([[
#define LOAD%d(to, m, bar, %s) asm volatile("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%%d], [%%0, {%s}], [%%%d];" :: "l"(m), %s, "r"(at(to)), "r"(at(bar)) : "memory")
#define STORE%d(m, from, %s) asm volatile("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%0, {%s}], [%%%d];" :: "l"(m), %s, "r"(at(from)) : "memory")
]]):format(rank, c, rank, rank + 1, p, rank + 2, r, rank, c, rank, p, rank + 1, r)
end

---- where elements go
-- Copies a box to shared memory, from there as it lies to `raw`, and back through another map.
local copies = {}
local function copy(rank, bytes)
  copies[rank] = copies[rank] or gpu.kernel(head .. ([[
    __global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, unsigned *raw, int bytes,
                      int c0, int c1, int c2, int c3, int c4) {
      extern __shared__ __align__(1024) unsigned s[];
      __shared__ u64 bar;
      if (threadIdx.x == 0) { begin(&bar, 1); expect(&bar, bytes); LOAD%d(s, &in, &bar, %s); }
      __syncthreads();
      wait(&bar, 0);
      for (int i = threadIdx.x; i < bytes / 4; i += 32) raw[i] = s[i];
      asm volatile("fence.proxy.async;" ::: "memory");
      __syncthreads();
      if (threadIdx.x == 0) { STORE%d(&out, s, %s); COMMIT(); WAIT_GROUP(); }
    }]]):format(rank, ("c0, c1, c2, c3, c4"):sub(1, 4 * rank - 2), rank, ("c0, c1, c2, c3, c4"):sub(1, 4 * rank - 2)))
  return copies[rank](1, 32, bytes)
end

-- x is read at an index by axes from 0; what lies outside is `outside`.
local function element(x, flat, index, outside)
  local place = 0
  for axis, n in ipairs(x.shape) do
    local i = index[axis]
    if i < 0 or i >= n then return outside end
    place = place * n + i
  end
  return flat[place + 1]
end

-- Where in shared memory byte `b` of line `row` is, of lines of `line` bytes: units of 16 bytes are mixed by numbers of
-- lines of the swizzle's width.
local function mixed(row, line, b, swizzle)
  local place = row * line + b
  if swizzle == 0 then return place end
  local width, wide = swizzle, place // swizzle
  local among = swizzle == 128 and wide % 8 or swizzle == 64 and wide // 2 % 4 or wide // 4 % 2
  return wide * width + ((place % width // 16) ~ among) * 16 + place % 16
end

local function compare(x, box, origin, options)
  options = options or {}
  local rank, step, outside = x.ndim, options.step or {}, options.fill or 0
  local map = gpu.tensormap(x, box, options)
  local y = gpu.zeros(x.shape, x.dtype)
  local back = gpu.tensormap(y, box, { step = options.step, swizzle = options.swizzle })
  local raw = gpu.zeros(map.bytes // 4, "uint32")
  local c = {}
  for i = 1, 5 do c[i] = origin[rank + 1 - i] or 0 end
  t.eq(#gpu.check(function() copy(rank, map.bytes)(map, back, raw, map.bytes, table.unpack(c)) end), 0)
  local extent, size = map.box, x.dtype:match("%d+") // 8
  local lines, line = map.bytes // (extent[rank] * size), extent[rank] * size
  local got = raw:view(x.dtype):totable()
  local flat, kept, want = x:flatten():totable(), y:flatten():totable(), gpu.zeros(x.shape, x.dtype):flatten():totable()
  for row = 0, lines - 1 do
    for e = 0, extent[rank] - 1 do
      local index, rest = {}, row
      index[rank] = origin[rank] + e
      for axis = rank - 1, 1, -1 do
        index[axis] = origin[axis] + rest % extent[axis] * (step[axis] or 1)
        rest = rest // extent[axis]
      end
      local should, is = element(x, flat, index, outside), got[mixed(row, line, e * size, map.swizzle) // size + 1]
      if should ~= is and not (should ~= should and is ~= is) then error(("line %d, element %d: %s, not %s"):format(row, e, is, should)) end
      local place = 0
      for axis, n in ipairs(x.shape) do place = index[axis] >= 0 and index[axis] < n and place and place * n + index[axis] or nil end
      if place then want[place + 1] = flat[place + 1] end
    end
  end
  t.same(kept, want)
end

t.test("boxes of one to five axes, inside and over each edge", function()
  local function range(dtype, ...) return gpu.range(1, select("#", ...) > 0 and gpu.zeros(...).size or 1):to(dtype):reshape(...) end
  compare(range("float32", 40), { 16 }, { 7 })
  compare(range("float32", 40), { 16 }, { -5 })
  compare(range("int64", 40), { 8 }, { 36 })
  compare(range("int32", 9, 12), { 4, 8 }, { 2, 3 })
  compare(range("int32", 9, 12), { 4, 8 }, { 7, -3 })
  compare(range("int16", 9, 24), { 5, 16 }, { -2, 17 })
  compare(range("uint8", 5, 32), { 3, 16 }, { 3, 30 })
  compare(range("float64", 4, 5, 6), { 2, 3, 4 }, { 1, 3, 4 })
  compare(range("float32", 2, 3, 4, 8), { 2, 2, 3, 4 }, { -1, 2, 2, 6 })
  compare(range("float32", 2, 3, 2, 3, 4), { 2, 2, 2, 2, 4 }, { 1, -1, 0, 2, -2 })
  compare(range("int32", 9, 12), { 4, 8 }, { 20, 3 }) -- nothing of it is inside
end)

t.test("boxes of views, with steps, filled up with NaN", function()
  local x = gpu.range(1, 200):to("float32"):reshape(10, 20)
  compare(x[{ {}, { 5, 16 } }], { 4, 8 }, { 7, 9 })
  compare(x[{ { 1, 10, 3 } }], { 2, 4 }, { 3, 18 })
  compare(x, { 7, 8 }, { 5, 2 }, { step = { 2, 1 } })
  compare(x:reshape(5, 2, 20), { 4, 2, 8 }, { 1, 0, 13 }, { step = { 3, 1, 1 } })
  compare(x, { 4, 8 }, { 8, 15 }, { fill = 0 / 0 })
  compare(x:to("float16")[{ {}, { 1, 16 } }]:contiguous(), { 4, 8 }, { 8, 12 }, { fill = 0 / 0 })
end)

t.test("boxes that are mixed in shared memory", function()
  local x = gpu.range(1, 20 * 64):to("float32"):reshape(20, 64)
  for _, swizzle in ipairs { 32, 64, 128 } do
    compare(x, { 17, swizzle // 4 }, { 5, 58 }, { swizzle = swizzle })
    if swizzle > 32 then t.raises("where such boxes lie in shared memory CUDA leaves open", gpu.tensormap, x, { 2, 8 }, { swizzle = swizzle }) end
  end
  compare(x:to("int8"):contiguous(), { 12, 64 }, { 2, 0 }, { swizzle = 64 })
end)

t.test("boxes that are added and combined", function()
  for _, case in ipairs { { "add", "float32" }, { "add", "int32" }, { "add", "uint64" }, { "add", "float16" }, { "min", "int32" },
    { "max", "int64" }, { "max", "bfloat16" }, { "and", "uint32" }, { "or", "int64" }, { "xor", "uint32" }, { "inc", "uint32" } } do
    local operation, dtype = case[1], case[2]
    local k = gpu.kernel(head .. ([[
      __global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int bytes) {
        extern __shared__ __align__(128) unsigned s[];
        __shared__ u64 bar;
        if (threadIdx.x == 0) {
          begin(&bar, 1); expect(&bar, bytes); LOAD2(s, &in, &bar, -1, 2); wait(&bar, 0);
          asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.%s.tile.bulk_group [%%0, {%%1, %%2}], [%%3];"
            :: "l"(&out), "r"(-1), "r"(2), "r"(at(s)) : "memory");
          COMMIT(); WAIT_GROUP();
        }
      }]]):format(operation))
    gpu.seed(5)
    local x, y = gpu.random.integers(1, 30, 6, 8):to(dtype), gpu.random.integers(1, 30, 6, 8):to(dtype)
    local want, a, b = y:totable(), x:totable(), y:totable()
    for r = 3, 5 do for c = 1, 7 do
      local p, q = a[r][c], b[r][c]
      want[r][c] = operation == "add" and p + q or operation == "min" and math.min(p, q) or operation == "max" and math.max(p, q)
        or operation == "and" and p & q or operation == "or" and p | q or operation == "xor" and p ~ q
        or operation == "inc" and (q >= p and 0 or q + 1)
    end end
    local size = 16 // (dtype:match("%d+") // 8)
    if size < 8 then size = 8 end
    local from, to = gpu.tensormap(x, { 3, size }), gpu.tensormap(y, { 3, size })
    t.eq(#gpu.check(function() k(1, 32, from.bytes)(from, to, from.bytes) end), 0)
    t.same(y:totable(), want)
  end
end)

t.test("tensor maps that a kernel changes, or makes of zeros, and that lie in global memory", function()
  local module = gpu.kernel(head .. [[
    __global__ void change(const __grid_constant__ CUtensorMap from, CUtensorMap *to, const int *x, int rows, int columns, bool anew) {
      __shared__ alignas(128) u64 s[16];
      int me = threadIdx.x;
      if (me < 16) s[me] = anew ? 0 : from.opaque[me];
      __syncwarp();
      if (me == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(at(s)), "l"(x) : "memory");
        asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], %1;" :: "r"(at(s)), "r"(1) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(at(s)), "r"(8) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at(s)), "r"(4) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(at(s)), "r"(columns) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at(s)), "r"(rows) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" :: "r"(at(s)), "l"(4ll * columns) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(at(s)), "r"(1) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at(s)), "r"(2) : "memory");
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 3;" :: "r"(at(s)) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0;" :: "r"(at(s)) : "memory");
        asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" :: "r"(at(s)) : "memory");
      }
      __syncwarp();
      asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
        :: "l"(to), "r"(at(s)) : "memory");
    }
    __global__ void use(const CUtensorMap *m, int *out, int c, int r) {
      __shared__ alignas(128) int s[2][8];
      __shared__ u64 bar;
      asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(m) : "memory");
      if (threadIdx.x == 0) { begin(&bar, 1); expect(&bar, sizeof s); LOAD2(s, m, &bar, c, r); }
      __syncwarp();
      wait(&bar, 0);
      if (threadIdx.x < 16) out[threadIdx.x] = s[threadIdx.x / 8][threadIdx.x % 8];
    }
    __global__ void give(const CUtensorMap *m, int c, int r) {
      __shared__ alignas(128) int s[2][8];
      if (threadIdx.x < 16) s[threadIdx.x / 8][threadIdx.x % 8] = -1 - (int)threadIdx.x;
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      if (threadIdx.x == 0) { STORE2(m, s, c, r); COMMIT(); WAIT_GROUP(); }
    }]])
  local x, place, out = gpu.range(1, 160):to("int32"):reshape(10, 16), gpu.zeros(16, "int64"), gpu.zeros({ 2, 8 }, "int32")
  local from = gpu.tensormap(gpu.zeros(64), { 32 }, { fill = 0 / 0 })
  for _, anew in ipairs { false, true } do
    place:fill(0)
    out:fill(0)
    t.eq(#gpu.check(function()
      module.change(1, 32)(from, place, x, 10, 16, anew)
      module.use(1, 32)(place, out, 4, 5)
    end), 0)
    t.same(out:totable(), x[{ { 6, 8, 2 }, { 5, 12 } }]:totable())
    t.eq(#gpu.check(function() module.give(1, 32)(place, 8, 2) end), 0)
    t.same(x[{ { 3, 5, 2 }, { 9, 16 } }]:totable(), (-gpu.range(1, 16)):to("int32"):reshape(2, 8):totable())
  end
  module.change(1, 32)(from, place, x, 0, 3, false)
  t.raises("there is no tensor map of 2 dimensions at its address", module.use(1, 32), place, out, 4, 5)
end)

t.test("a box that goes to both blocks of a cluster", function()
  local k = gpu.kernel(head .. [[
    __global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ CUtensorMap m, float *out, bool waits) {
      __shared__ alignas(128) float s[4][8];
      __shared__ u64 bar;
      if (threadIdx.x == 0) begin(&bar, 1), expect(&bar, sizeof s);
      asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
      if (blockIdx.x % 2 == 0 && threadIdx.x == 0)
        asm volatile("{ .reg .b16 m; mov.b16 m, 3; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
          ".multicast::cluster [%0], [%1, {%2, %3}], [%4], m; }"
          :: "r"(at(s)), "l"(&m), "r"(4), "r"(-1), "r"(at(&bar)) : "memory");
      if (waits) wait(&bar, 0);
      out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x / 8][threadIdx.x % 8];
      asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    }]])
  local x, out = gpu.range(1, 320):to("float32"):reshape(20, 16), gpu.zeros(4, 4, 8)
  local m = gpu.tensormap(x, { 4, 8 })
  t.eq(#gpu.check(function() k(4, 32)(m, out, true) end), 0)
  for block = 1, 4 do
    t.same(out[block][1]:totable(), { 0, 0, 0, 0, 0, 0, 0, 0 })
    t.same(out[block][{ { 2, 4 } }]:totable(), x[{ { 1, 3 }, { 5, 12 } }]:totable())
  end
  local found = gpu.check(function() k(2, 32)(m, out, false) end)
  t.eq(found[1] and found[1].message:match("while the copy begun here may still write it"), "while the copy begun here may still write it")
end)

---- what is told
local function check(source)
  local k = gpu.kernel { source = head .. [[
__global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap flat, float *x, float *out) {
  __shared__ alignas(128) float s[2][4][8];
  __shared__ u64 bar[2];
  int me = threadIdx.x;
  if (me == 0) begin(&bar[0], 1), begin(&bar[1], 1);
  __syncthreads();
#line 1 "case"
]] .. source .. "\n}", chunk = "case", line = 1 }
  local x, out = gpu.range(1, 320):to("float32"):reshape(20, 16), gpu.zeros(320)
  return gpu.check(function() k(1, 64)(gpu.tensormap(x, { 4, 8 }), gpu.tensormap(x:flatten(), { 32 }), x, out) end), out
end
local function faulty(name, source, ...)
  local want = table.concat({ ... }, "\n")
  t.test(name, function() t.eq(reports.text(check(source)), want) end)
end
local function clean(name, source, index, value)
  t.test(name, function()
    local found, out = check(source)
    reports.none(found)
    t.eq(out[index], value)
  end)
end

faulty("nobody waits for a box", [[
  if (me == 0) { expect(&bar[0], 128);
    LOAD2(s[0], &in, &bar[0], 4, 2); }
  __syncthreads();
  if (me < 32) out[me] = s[0][me / 8][me % 8];
]], "2: s[0] read in line 4 while the copy begun here may still write it (32 times)")

faulty("what a box is read from is written meanwhile", [[
  if (me == 0) { expect(&bar[0], 128);
    LOAD2(s[0], &in, &bar[0], 4, 2); }
  __syncthreads();
  if (me < 32) x[(2 + me / 8) * 16 + 4 + me % 8] = 7;
]], "2: x[36] written in line 4 while the copy begun here may still read it (32 times)")

clean("what lies beside a box is written meanwhile", [[
  if (me == 0) { expect(&bar[0], 128);
    LOAD2(s[0], &in, &bar[0], 4, 2); }
  __syncthreads();
  if (me < 32) x[(2 + me / 8) * 16 + (4 + 8 + me % 8) % 16] = 7;
  wait(&bar[0], 0);
  if (me < 32) out[me] = s[0][me / 8][me % 8];
]], 1, 37)

faulty("where a box is stored is read before it is waited for", [[
  if (me < 32) s[0][me / 8][me % 8] = me;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (me == 0) { STORE2(&in, s, 8, 17);
    COMMIT(); WAIT_READ(); }
  __syncthreads();
  out[me] = x[17 * 16 + me % 48];
]], "4: x[280] read in line 7 while the copy begun here may still write it (32 times)")

faulty("a stored box is changed before it was read", [[
  if (me < 32) s[0][me / 8][me % 8] = me;
  __syncthreads();
  if (me == 0) { STORE2(&in, s, 8, 16);
    COMMIT(); }
  __syncthreads();
  if (me < 32) s[0][me / 8][me % 8] = 3;
  if (me == 0) WAIT_READ();
]], "3: s[0] written in line 6 while the copy begun here may still read it (32 times)")

faulty("two threads store boxes that overlap", [[
  if (me < 64) s[me / 32][me / 8 % 4][me % 8] = me;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (me == 0 || me == 32) { STORE2(&in, s[me / 32], 8, 10 + me / 16);
    COMMIT(); WAIT_GROUP(); }
]], "4: x[200] written by several threads, with nothing that orders them (4 times)")

faulty("a box of what nobody wrote", [[
  if (me < 16) s[0][me / 8][me % 8] = me;
  __syncthreads();
  if (me == 0) { STORE2(&in, s, 8, 10); COMMIT(); WAIT_GROUP(); }
]], "3: s[4] read, but never written (4 times)")

local function fault(text, source)
  t.test(text, function()
    local found = check(source)
    t.eq(found[1] and found[1].kind, "fault")
    assert(found[1].message:find(text, 1, true), found[1].message)
  end)
end
fault("is for tensors of 2 dimensions, and the tensor map was made for 1", "if (me == 0) LOAD2(s[0], &flat, &bar[0], 0, 0);")
fault("there is no tensor map of 2 dimensions at its address", "if (me == 0) LOAD2(s[0], (const CUtensorMap *)x, &bar[0], 0, 0);")
fault("is not a multiple of 128; declare the array with alignas(128)", "if (me == 0) LOAD2(&s[0][1][0], &in, &bar[0], 0, 0);")
fault("waits for a phase that nobody completes", "if (me == 0) { expect(&bar[0], 64); LOAD2(s[0], &in, &bar[0], 0, 0); }\nwait(&bar[0], 0);")

---- gpu.tensormap
t.test("what a tensor map cannot be made of is told", function()
  local x = gpu.zeros(8, 16)
  t.raises("box: expected 2 numbers, one for each axis, got 1", gpu.tensormap, x, { 8 })
  t.raises("box: expected a list of whole numbers, one for each axis, got number", gpu.tensormap, x, 8)
  t.raises("box: expected whole numbers, got 2.5", gpu.tensormap, x, { 2.5, 4 })
  t.raises("the box has 300 elements along axis 1, expected 1 to 256", gpu.tensormap, x, { 300, 16 })
  t.raises("a line of the box is 12 bytes long, expected a multiple of 16", gpu.tensormap, x, { 1, 3 })
  t.raises("a line of the box is 64 bytes long, which is more than the swizzle's 32", gpu.tensormap, x, { 1, 16 }, { swizzle = 32 })
  t.raises("axis 1 goes on by 28 bytes, but the accelerator needs a multiple of 16", gpu.tensormap, gpu.zeros(4, 7), { 1, 4 })
  t.raises("the elements of the last axis are not neighbours in memory", gpu.tensormap, x[{ {}, { 1, 16, 4 } }], { 4, 4 })
  t.raises("the array's first element is not at a multiple of 16 bytes", gpu.tensormap, x[{ {}, { 2, 9 } }], { 1, 4 })
  t.raises("the step along axis 2 is 2, expected 1 along the last axis", gpu.tensormap, x, { 1, 4 }, { step = { 1, 2 } })
  t.raises("swizzle: expected 0, 32, 64 or 128 (bytes), got 16", gpu.tensormap, x, { 1, 4 }, { swizzle = 16 })
  t.raises("fill: expected 0 or NaN (0/0), got 1", gpu.tensormap, x, { 1, 4 }, { fill = 1 })
  t.raises("only floating-point numbers can be NaN, and the array has int32", gpu.tensormap, x:to("int32"), { 1, 4 }, { fill = 0 / 0 })
  t.raises("there is no option 'swizle'; there are fill, step and swizzle", gpu.tensormap, x, { 1, 4 }, { swizle = 32 })
  t.raises("expected an array of 1 to 5 axes, got one of 6", gpu.tensormap, gpu.zeros(1, 1, 1, 1, 1, 4), { 1, 1, 1, 1, 1, 4 })
  t.raises("array expected, got string", gpu.tensormap, "x", { 1 })
  t.raises("which runs no kernels; move it with x:to(\"simt\")", gpu.tensormap, gpu.zeros({ 4, 4 }, "float32", "cpu"), { 1, 4 })
end)

t.test("a tensor map in a graph holds its array", function()
  local k = gpu.kernel(head .. [[
    __global__ void k(const __grid_constant__ CUtensorMap m, float *out) {
      __shared__ alignas(128) float s[32];
      __shared__ u64 bar;
      if (threadIdx.x == 0) { begin(&bar, 1); expect(&bar, 128); LOAD1(s, &m, &bar, 4); }
      __syncwarp();
      wait(&bar, 0);
      out[threadIdx.x] += s[threadIdx.x];
    }]])
  local out = gpu.zeros(32)
  local g = gpu.graph(function() k(1, 32)(gpu.tensormap(gpu.range(1, 64):to("float32"), { 32 }), out) end)
  collectgarbage()
  collectgarbage()
  g:launch()
  g:launch()
  t.same({ out[1], out[32] }, { 10, 72 })
end)

t.test("a tensor map as an argument and as an object", function()
  local x = gpu.zeros(8, 16)
  local m = gpu.tensormap(x, { 4, 8 }, { step = { 2, 1 }, swizzle = 32 })
  t.eq(tostring(m), "tensor map of float32 (8, 16) on simt, boxes of (2, 8), 64 bytes")
  t.same({ m.box[1], m.box[2], m.bytes, m.swizzle }, { 2, 8, 64, 32 })
  t.eq(m.array, x)
  t.raises("a tensor map has no field 'shape'; it has array, box, bytes and swizzle", function() return m.shape end)
  local k = gpu.kernel "struct alignas(64) CUtensorMap { char c[128]; }; __global__ void k(const __grid_constant__ CUtensorMap m, float *y) {}"
  t.raises("parameter 1 'm' (CUtensorMap) expects a tensor map, as gpu.tensormap makes them, got a float32 array", k(1, 1), x, x)
  t.raises("parameter 2 'y' (float *) expects a float32 array, got a tensor map", k(1, 1), m, m)
  t.raises("1 'm' (CUtensorMap) expects a tensor map, as gpu.tensormap makes them, got a string of 7 bytes", k(1, 1), "1234567", x)
  k(1, 1)(m, x)
  x:free()
  t.raises("freed", k(1, 1), m, gpu.zeros(1))
end)
