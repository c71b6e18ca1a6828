-- Surfaces: read and written by byte and element, in every shape, and what happens outside of them.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device(t.kernel_device())
local simt = gpu.device().name == "simt"

local k = gpu.kernel [[
__global__ void transpose(int h, int w, cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) surf2Dwrite(surf2Dread<float>(from, x * 4, y), to, y * 4, x);
}
__global__ void blur(int h, int w, cudaSurfaceObject_t from, cudaSurfaceObject_t to) {  // edges by clamping
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) sum += surf2Dread<float>(from, (x + i) * 4, y + j, cudaBoundaryModeClamp);
  surf2Dwrite(sum / 9, to, x * 4, y);
}
__global__ void around(int h, int w, cudaSurfaceObject_t s, int *out) {  // zeros outside, and stores there are dropped
  int x = (int)threadIdx.x - 1, y = (int)blockIdx.x - 1, i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = surf2Dread<unsigned char>(s, x, y, cudaBoundaryModeZero);
  if (x < 0 || y < 0 || x >= w || y >= h) surf2Dwrite((unsigned char)99, s, x, y, cudaBoundaryModeZero);
}
__global__ void one(cudaSurfaceObject_t s) { surf1Dwrite(surf1Dread<short>(s, threadIdx.x * 2), s, (7 - threadIdx.x) * 2 + 16); }
__global__ void three(cudaSurfaceObject_t s) {
  int i = threadIdx.x, x = i % 4, y = i / 4 % 3, z = i / 12;
  surf3Dwrite(surf3Dread<int>(s, x * 4, y, z) * 10 + z, s, x * 4, y, z);
}
__global__ void layers(cudaSurfaceObject_t one, cudaSurfaceObject_t two) {
  int i = threadIdx.x;
  surf1DLayeredwrite(surf1DLayeredread<float>(one, i * 4, 1) + 1, one, i * 4, 0);
  surf2DLayeredwrite(surf2DLayeredread<float>(two, i * 4, 1, 0) + 1, two, i * 4, 0, 1);
}
__global__ void vectors(cudaSurfaceObject_t f4, cudaSurfaceObject_t u4, cudaSurfaceObject_t f2) {
  float4 v = surf2Dread<float4>(f4, 16, 0);
  surf2Dwrite(make_float4(v.w, v.z, v.y, v.x), f4, 0, 1);
  uchar4 u = surf2Dread<uchar4>(u4, 4, 1);
  surf2Dwrite(make_uchar4(u.x + 1, u.y + 1, u.z + 1, u.w + 1), u4, 0, 0);
  float2 f = surf2Dread<float2>(f2, 0, 0);
  long long whole = surf2Dread<long long>(f2, 8, 0);
  surf2Dwrite(whole, f2, 0, 0);
  surf2Dwrite(f, f2, 8, 0);
}
__global__ void formatted(cudaSurfaceObject_t u8, cudaSurfaceObject_t s16, cudaSurfaceObject_t f16, int value, float real) {
  asm("sust.p.1d.b32.trap [%0, {%1}], {%2};" :: "l"(u8), "r"(1), "r"(value));
  asm("sust.p.1d.b32.trap [%0, {%1}], {%2};" :: "l"(s16), "r"(1), "r"(value));
  asm("sust.p.1d.v2.b32.trap [%0, {%1}], {%2, %3};" :: "l"(f16), "r"(1), "f"(real), "f"(-real));
}
__global__ void reduce(cudaSurfaceObject_t s, cudaSurfaceObject_t wide) {
  unsigned v = threadIdx.x;
  asm("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(0), "r"(0), "r"(v));
  asm("sured.b.max.2d.s32.clamp [%0, {%1, %2}], %3;" :: "l"(s), "r"(4), "r"(-3), "r"((int)v - 100));
  asm("sured.p.min.2d.u32.zero [%0, {%1, %2}], %3;" :: "l"(s), "r"(2), "r"(0), "r"(v + 5));
  asm("sured.b.or.2d.b32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(12), "r"(0), "r"(1u << threadIdx.x));
  asm("sured.p.min.2d.u32.zero [%0, {%1, %2}], %3;" :: "l"(s), "r"(99), "r"(0), "r"(v));
  asm("sured.b.add.1d.u64.trap [%0, {%1}], %2;" :: "l"(wide), "r"(8), "l"(1ull << 33));
}
__global__ void at(cudaSurfaceObject_t s, int x, int y) { surf2Dwrite(1.0f, s, x, y); }
__global__ void sizes(cudaSurfaceObject_t s, int *out) {
  asm("suq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(s));
  asm("suq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(s));
}
__global__ void sampled(cudaTextureObject_t t, float *out) { *out = tex2D<float>(t, 1.0f, 0.5f); }]]

local function surface(...) return gpu.surface(gpu.array(...)) end

t.test("a transposition", function()
  local h, w = 19, 33
  local x = gpu.range(1, h * w):reshape(h, w)
  local from, to = gpu.surface(x), gpu.surface(gpu.zeros(w, h))
  k.transpose({ 3, 3 }, { 16, 8 })(h, w, from, to)
  t.close(to:array(), x:transpose():contiguous(), 0)
end)

t.test("a blur that clamps at the edges", function()
  local h, w = 5, 6
  local data = t.list(h * w, function(i) return i * 7 % 11 end)
  local from, to = gpu.surface(gpu.array(data):reshape(h, w)), gpu.surface(gpu.zeros(h, w))
  k.blur(1, { 8, 8 })(h, w, from, to)
  local function at(y, x) return data[math.min(math.max(y, 0), h - 1) * w + math.min(math.max(x, 0), w - 1) + 1] end
  local want = t.list(h * w, function(i)
    local sum = 0
    for j = -1, 1 do for l = -1, 1 do sum = sum + at(i // w + j, i % w + l) end end
    return sum / 9
  end)
  t.close(to:array(), want, 1e-6)
end)

t.test("zeros outside", function()
  local s, out = surface({ { 1, 2, 3 }, { 4, 5, 6 } }, "uint8"), gpu.zeros(4 * 5, "int32")
  k.around(4, 5)(2, 3, s, out)
  t.close(out, { 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0 }, 0)
  t.eq(s:array():sum(), 21)
end)

t.test("one and three dimensions, layers", function()
  local s = gpu.surface(gpu.range(1, 16):to("int16"))
  k.one(1, 8)(s)
  t.close(s:array()[{ { 9, 16 } }], { 8, 7, 6, 5, 4, 3, 2, 1 }, 0)
  local cube = gpu.surface(gpu.range(0, 23):to("int32"):reshape(2, 3, 4))
  k.three(1, 24)(cube)
  t.close(cube:array(), t.list(24, function(i) return i * 10 + i // 12 end), 0)
  local one = gpu.surface(gpu.array { { 1, 2 }, { 3, 4 } }, { layered = true })
  local two = gpu.surface(gpu.range(1, 8):reshape(2, 2, 2), { layered = true })
  k.layers(1, 2)(one, two)
  t.close(one:array(), { 4, 5, 3, 4 }, 0)
  t.close(two:array(), { 1, 2, 3, 4, 4, 5, 7, 8 }, 0)
end)

t.test("vectors and wide elements", function()
  local f4 = gpu.surface(gpu.range(1, 16):reshape(2, 2, 4), { channels = 4 })
  local u4 = gpu.surface(gpu.range(1, 16):to("uint8"):reshape(2, 2, 4), { channels = 4 })
  local f2 = gpu.surface(gpu.range(1, 4):reshape(1, 2, 2), { channels = 2 })
  k.vectors(1, 1)(f4, u4, f2)
  t.close(f4:array(), { 1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 13, 14, 15, 16 }, 0)
  t.close(u4:array()[1][1], { 14, 15, 16, 17 }, 0)
  t.close(f2:array(), { 3, 4, 1, 2 }, 0)
end)

t.test("formatted stores saturate", function()
  local u8, s16, f16 = surface({ 1, 2, 3 }, "uint8"), surface({ 1, 2, 3 }, "int16"), gpu.surface(gpu.zeros(2, 2, "float16"), { channels = 2 })
  k.formatted(1, 1)(u8, s16, f16, 70000, 1.5)
  t.close(u8:array(), { 1, 255, 3 }, 0)
  t.close(s16:array(), { 1, 32767, 3 }, 0)
  t.close(f16:array(), { 0, 0, 1.5, -1.5 }, 0)
  k.formatted(1, 1)(u8, s16, f16, -40000, 1.5)
  t.eq(s16:array()[2], -32768)
end)

t.test("reductions", function()
  local s = surface({ { 1, -50, 100, 0 } }, "int32")
  local wide = gpu.surface(gpu.zeros(2, 2, "int32"), { channels = 2 })
  k.reduce(2, 16)(s, wide)
  t.close(s:array(), { 1 + 2 * 120, -50, 5, 65535 }, 0)
  t.close(wide:array(), { 0, 0, 0, 64 }, 0)
end)

t.test("queries, and a texture of a surface", function()
  local s, out = gpu.surface(gpu.array { { 2, 4, 8 }, { 16, 32, 64 } }), gpu.zeros(2, "int32")
  k.sizes(1, 1)(s, out)
  t.close(out, { 3, 2 }, 0)
  local texture, value = gpu.texture(s, { filter = "linear" }), gpu.zeros(1)
  k.sampled(1, 1)(texture, value)
  t.eq(value[1], 3)
  k.at(1, 1)(s, 0, 0)
  s:free()
  k.sampled(1, 1)(texture, value)
  t.eq(value[1], 2.5)
end)

t.test("what is wrong with an access", function()
  if not simt then t.skip("it would cost the context") end
  local s = gpu.surface(gpu.zeros(2, 3))
  t.raises({ "surface access of 4 bytes at byte 12 of row 1", "outside of its 3 x 2 x 1 elements", "x counts in bytes" }, k.at(1, 1), s, 12, 1)
  t.raises("outside", k.at(1, 1), s, -4, 0)
  t.raises("outside", k.at(1, 1), s, 0, 2)
  t.raises("not a multiple of 4", k.at(1, 1), s, 2, 0)
  t.raises("over a 1-D array", k.at(1, 1), gpu.surface(gpu.zeros(4)), 0, 0)
  t.raises("expects a surface, as gpu.surface makes them, got a texture", k.at(1, 1), gpu.texture(s), 0, 0)
  t.eq(s:array():sum(), 0)
end)

t.done()
