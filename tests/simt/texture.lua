-- Texture fetches against what the CUDA C++ Programming Guide says they give, computed here texel by texel.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device(t.kernel_device())
local simt = gpu.device().name == "simt"

local k = gpu.kernel [[
__global__ void at1(cudaTextureObject_t t, int n, const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1D<float>(t, x[i]);
}
__global__ void at2(cudaTextureObject_t t, int n, const float *x, const float *y, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i % 3 == 0 ? tex2D<float>(t, x[i], y[i]) : i % 3 == 1 ? tex2DLod<float>(t, x[i], y[i], 0)
    : tex2DGrad<float>(t, x[i], y[i], make_float2(0, 0), make_float2(0, 0));
}
__global__ void at3(cudaTextureObject_t t, int n, const float *x, const float *y, const float *z, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex3D<float>(t, x[i], y[i], z[i]);
}
__global__ void layers(cudaTextureObject_t one, cudaTextureObject_t two, float x, float y, int layer, float *out) {
  out[0] = tex1DLayered<float>(one, x, layer);
  out[1] = tex2DLayered<float>(two, x, y, layer);
}
__global__ void resident(cudaTextureObject_t t, float *out, bool *there) {
  out[0] = tex2D<float>(t, 1.5f, 0.5f, there);
  out[1] = tex2Dgather<float4>(t, 1.0f, 1.0f, there + 1).w;
}
__global__ void fetch(cudaTextureObject_t t, int first, int n, float *out) {
  for (int i = 0; i < n; i++) out[i] = tex1Dfetch<float>(t, first + i);
}
__global__ void fetch4(cudaTextureObject_t t, int *out) {
  int4 v = tex1Dfetch<int4>(t, 1);
  out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
}
__global__ void integers(cudaTextureObject_t s8, cudaTextureObject_t u16, cudaTextureObject_t s32, int *out) {
  out[0] = tex1D<signed char>(s8, 0.5f);
  out[1] = tex1D<unsigned short>(u16, 1.5f);
  out[2] = tex1D<int>(s32, 2.5f);
}
__global__ void vectors(cudaTextureObject_t f4, cudaTextureObject_t u2, float *out) {
  float4 v = tex2D<float4>(f4, 1.5f, 0.5f);
  uchar2 w = tex2D<uchar2>(u2, 0.5f, 1.5f);
  out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w; out[4] = w.x; out[5] = w.y;
}
__global__ void missing(cudaTextureObject_t t, float *out) {
  float4 v = tex2D<float4>(t, 0.5f, 0.5f);
  out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
}
__global__ void gather(cudaTextureObject_t t, float x, float y, float *out) {
  float4 v = tex2Dgather<float4>(t, x, y, 1);
  out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
}
__global__ void sizes(cudaTextureObject_t t, int *out) {
  asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
  asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
}
__global__ void both(cudaTextureObject_t a, cudaTextureObject_t b, float *out) {  // an object for each half of the lanes
  out[threadIdx.x] = tex1D<float>(threadIdx.x & 1 ? b : a, threadIdx.x / 2 + 0.5f);
}]]

-- ---- the reference ----
local function frac(x) return x - math.floor(x) end

-- The texel of an index, nil: border.
local function resolve(i, n, mode)
  if i >= 0 and i < n then return i end
  if mode == "border" then return nil end
  if mode == "clamp" then return i < 0 and 0 or n - 1 end
  if mode == "wrap" then return i % n end
  i = i % (2 * n)
  return i < n and i or 2 * n - 1 - i
end

local function position(x, n, o)
  if not o.normalized then return x end
  if o.address == "wrap" then x = frac(x) end
  if o.address == "mirror" then x = math.floor(x) % 2 == 0 and frac(x) or 1 - frac(x) end
  return x * n
end

-- Texels and weights along one axis.
local function footprint(x, n, o)
  local p = position(x, n, o)
  if o.filter ~= "linear" then return { { resolve(math.floor(p), n, o.address), 1 } } end
  local fixed = math.floor((p - 0.5) * 256 + 0.5)
  local i, w = fixed // 256, fixed % 256 / 256
  return { { resolve(i, n, o.address), 1 - w }, { resolve(i + 1, n, o.address), w } }
end

-- data is a list in row-major order; sizes and coordinates x first.
local function sample(data, sizes, c, o)
  local sum, prints = 0, {}
  for a = 1, 3 do prints[a] = sizes[a] and footprint(c[a], sizes[a], o) or { { 0, 1 } } end
  for _, z in ipairs(prints[3]) do
    for _, y in ipairs(prints[2]) do
      for _, x in ipairs(prints[1]) do
        local v = o.border or 0
        if x[1] and y[1] and z[1] then v = data[(z[1] * (sizes[2] or 1) + y[1]) * sizes[1] + x[1] + 1] end
        local w = x[2] * y[2] * z[2]
        if w ~= 0 then sum = sum + v * w end
      end
    end
  end
  return sum
end

local random = 7
local function next_random(low, high)
  random = (random * 1103515245 + 12345) % 2147483648
  return low + (high - low) * (random / 2147483648)
end

-- Coordinates of all kinds: far outside, at texels' middles and borders, random ones.
local function coordinates(count, n, normalized)
  local list = {}
  for i = 1, count do
    local x = i % 4 == 0 and math.floor(next_random(-2 * n, 3 * n)) / 2 or next_random(-1.5 * n, 2.5 * n)
    list[i] = string.unpack("f", string.pack("f", normalized and x / n or x))
  end
  return list
end

local ways = {}
for _, filter in ipairs { "point", "linear" } do
  for _, address in ipairs { "clamp", "border" } do
    for _, normalized in ipairs { false, true } do ways[#ways + 1] = { filter = filter, address = address, normalized = normalized } end
  end
  ways[#ways + 1] = { filter = filter, address = "wrap", normalized = true }
  ways[#ways + 1] = { filter = filter, address = "mirror", normalized = true }
end

local function name(o) return o.filter .. " " .. o.address .. (o.normalized and " normalized" or "") end

local function compare(o, sizes, kernel)
  local shape, count, total = {}, 400, 1
  for a = #sizes, 1, -1 do shape[#shape + 1] = sizes[a] end
  for _, n in ipairs(sizes) do total = total * n end
  local data = t.list(total, function() return math.floor(next_random(-100, 100)) / 4 end)
  o.border = o.address == "border" and 3.25 or nil
  local texture = gpu.texture(gpu.array(data):reshape(shape), o)
  local c, args = {}, {}
  for a, n in ipairs(sizes) do
    c[a] = coordinates(count, n, o.normalized)
    args[a] = gpu.array(c[a])
  end
  local out = gpu.zeros(count)
  args[#args + 1] = out
  kernel(7, 64)(texture, count, table.unpack(args))
  local got = out:totable()
  for i = 1, count do
    local at = {}
    for a = 1, #sizes do at[a] = c[a][i] end
    -- a coordinate so close to a texel's edge that a product in another precision falls on the other side is left out
    local edge = false
    for a, n in ipairs(sizes) do
      local p = position(at[a], n, o) * (o.filter == "linear" and 256 or 1)
      edge = edge or (o.normalized and math.abs(p - math.floor(p + 0.5)) < 1e-3 * n) or (o.normalized and o.filter == "linear" and math.abs(frac(p) - 0.5) < 1e-3 * n)
    end
    if not edge then t.near(got[i], sample(data, sizes, at, o), 1e-4, name(o) .. " at " .. table.concat(at, ", ")) end
  end
  texture:free()
end

t.test("one dimension in every mode", function()
  for _, o in ipairs(ways) do compare(o, { 9 }, k.at1) end
end)
t.test("two dimensions in every mode", function()
  for _, o in ipairs(ways) do compare(o, { 7, 5 }, k.at2) end
end)
t.test("three dimensions in every mode", function()
  for _, o in ipairs(ways) do compare(o, { 5, 4, 3 }, k.at3) end
end)

t.test("an address mode for each axis", function()
  local out = gpu.zeros(1)
  local texture = gpu.texture(gpu.array { { 1, 2 }, { 3, 4 } }, { normalized = true, address = { "wrap", "border" }, border = 9 })
  k.at2(1, 1)(texture, 1, gpu.array { 1.25 }, gpu.array { 0.75 }, out)
  t.eq(out[1], 3)
  k.at2(1, 1)(texture, 1, gpu.array { 0.75 }, gpu.array { 1.25 }, out)
  t.eq(out[1], 9)
end)

t.test("what is asked for is in memory", function()
  local out, there = gpu.zeros(2), gpu.zeros(2, "bool")
  k.resident(1, 1)(gpu.texture(gpu.array { { 1, 2 }, { 3, 4 } }), out, there)
  t.close(out, { 2, 1 }, 0)
  t.eq(there:all(), true)
end)

t.test("layers", function()
  local one = gpu.texture(gpu.array { { 1, 2, 3 }, { 4, 5, 6 } }, { layered = true })
  local two = gpu.texture(gpu.range(1, 12):reshape(2, 2, 3), { layered = true, filter = "linear" })
  local out = gpu.zeros(2)
  k.layers(1, 1)(one, two, 1.5, 1, 1, out)
  t.close(out, { 5, (8 + 11) / 2 }, 0)
  k.layers(1, 1)(one, two, 1.5, 1, 7, out) -- the last layer
  t.close(out, { 5, (8 + 11) / 2 }, 0)
end)

t.test("tex1Dfetch over the array's own memory", function()
  local x = gpu.range(1, 8)
  local texture, out = gpu.texture(x, { fetch = true }), gpu.zeros(4)
  k.fetch(1, 1)(texture, 3, 4, out)
  t.close(out, { 4, 5, 6, 7 }, 0)
  x[5] = 50
  k.fetch(1, 1)(texture, 4, 4, out)
  t.close(out, { 50, 6, 7, 8 }, 0)
  if simt then
    k.fetch(1, 1)(texture, -2, 4, out)
    t.close(out, { 0, 0, 1, 2 }, 0)
    k.fetch(1, 1)(texture, 6, 4, out)
    t.close(out, { 7, 8, 0, 0 }, 0)
  end
  local four, ints = gpu.texture(gpu.array({ { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }, "int32"), { fetch = true, channels = 4 }), gpu.zeros(4, "int32")
  k.fetch4(1, 1)(four, ints)
  t.close(ints, { 5, 6, 7, 8 }, 0)
end)

t.test("integers as they are", function()
  local out = gpu.zeros(3, "int32")
  k.integers(1, 1)(gpu.texture(gpu.array({ -7, 1 }, "int8")), gpu.texture(gpu.array({ 1, 60000 }, "uint16")), gpu.texture(gpu.array({ 1, 2, -2000000000 }, "int32")), out)
  t.close(out, { -7, 60000, -2000000000 }, 0)
end)

t.test("integers and half floats read as floats", function()
  local out = gpu.zeros(3)
  local x = gpu.array { 0.5, 1.5, 2.5 }
  local function read(values, dtype, options)
    k.at1(1, 32)(gpu.texture(gpu.array(values, dtype), options), 3, x, out)
    return out:totable()
  end
  local normalized = { read = "normalized" }
  t.close(read({ 0, 255, 51 }, "uint8", normalized), { 0, 1, 51 / 255 }, 1e-6)
  t.close(read({ -128, 127, -127 }, "int8", normalized), { -1, 1, -1 }, 1e-6)
  t.close(read({ 0, 65535, 13107 }, "uint16", normalized), { 0, 1, 0.2 }, 1e-6)
  t.close(read({ -32768, 32767, 0 }, "int16", normalized), { -1, 1, 0 }, 1e-6)
  t.close(read({ 0.5, -2, 1024 }, "float16"), { 0.5, -2, 1024 }, 0)
  k.at1(1, 1)(gpu.texture(gpu.array({ 0, 255 }, "uint8"), { read = "normalized", filter = "linear" }), 1, gpu.array { 1 }, out)
  t.near(out[1], 0.5)
  t.close(read({ 0, 255, 128 }, "uint8", { read = "normalized", srgb = true }), { 0, 1, 0.21586 }, 1e-4)
end)

t.test("channels", function()
  local out = gpu.zeros(6)
  local f4 = gpu.texture(gpu.range(1, 16):reshape(2, 2, 4), { channels = 4 })
  local u2 = gpu.texture(gpu.range(1, 8):to("uint8"):reshape(2, 2, 2), { channels = 2 })
  k.vectors(1, 1)(f4, u2, out)
  t.close(out, { 5, 6, 7, 8, 5, 6 }, 0)
  t.same(f4.shape, { 2, 2, 4 })
  t.eq(f4.channels, 4)
  if simt then
    k.missing(1, 1)(gpu.texture(gpu.array { { 3 } }), out)
    t.close(out[{ { 1, 4 } }], { 3, 0, 0, 1 }, 0)
  end
  k.gather(1, 1)(f4, 1, 1, out)
  t.close(out[{ { 1, 4 } }], { 10, 14, 6, 2 }, 0)
end)

t.test("queries, and two textures in one warp", function()
  local sizes = gpu.zeros(3, "int32")
  k.sizes(1, 1)(gpu.texture(gpu.zeros(3, 5), { normalized = true }), sizes)
  t.close(sizes, { 5, 3, 1 }, 0)
  local out = gpu.zeros(8)
  k.both(1, 8)(gpu.texture(gpu.range(1, 4)), gpu.texture(gpu.range(11, 14)), out)
  t.close(out, { 1, 11, 2, 12, 3, 13, 4, 14 }, 0)
end)

t.test("a texture's picture is its own, and can be changed and read", function()
  local x = gpu.range(1, 6):reshape(2, 3)
  local texture, out = gpu.texture(x), gpu.zeros(1)
  x:fill(0)
  k.at2(1, 1)(texture, 1, gpu.array { 2.5 }, gpu.array { 1.5 }, out)
  t.eq(out[1], 6)
  texture:set(x + 8)
  k.at2(1, 1)(texture, 1, gpu.array { 2.5 }, gpu.array { 1.5 }, out)
  t.eq(out[1], 8)
  t.eq(texture:array():sum(), 48)
  local further = gpu.texture(texture, { filter = "linear" })
  texture:free()
  k.at2(1, 1)(further, 1, gpu.array { 1 }, gpu.array { 1 }, out)
  t.eq(out[1], 8)
  do local closed <close> = further end
  t.raises("freed", function() return further.shape end)
  t.raises("freed", k.at2(1, 1), further, 1, x, x, out)
end)

t.test("what cannot be a texture", function()
  local x = gpu.ones(4)
  t.raises("cannot hold float64", gpu.texture, gpu.ones(4, "float64"))
  t.raises("1 to 3 axes", gpu.texture, gpu.ones(1, 1, 1, 1))
  t.raises("2 or 3 axes", gpu.texture, x, { layered = true })
  t.raises("not the 4 channels", gpu.texture, gpu.ones(4, 3), { channels = 4 })
  t.raises("expected 1, 2 or 4, got 3", gpu.texture, gpu.ones(4, 3), { channels = 3 })
  t.raises("empty", gpu.texture, gpu.ones(0))
  t.raises("contiguous", gpu.texture, gpu.ones(4, 4)["::, ::2"])
  t.raises("no kernels", gpu.texture, gpu.ones(4, "float32", "cpu"))
  t.raises("need normalized = true", gpu.texture, x, { address = "wrap" })
  t.raises('add read = "normalized"', gpu.texture, gpu.ones(4, "uint8"), { filter = "linear" })
  t.raises("8 and 16 bits", gpu.texture, gpu.ones(4, "int32"), { read = "normalized" })
  t.raises("there is no option 'filtre'; there are filter", gpu.texture, x, { filtre = "linear" })
  t.raises("address: expected a mode or a list of 1 to 3 modes", gpu.texture, x, { address = {} })
  t.raises("border: expected a number or a list of up to 4 numbers, got string", gpu.texture, x, { border = "x" })
  t.raises("channels: expected 1, 2 or 4, got 3", gpu.texture, x, { channels = 3 })
  t.eq(tostring(gpu.texture(gpu.ones(4, 4))), "texture float32 (4, 4) on " .. gpu.device().name)
  t.raises("filter: expected one of point, linear, got cubic", gpu.texture, x, { filter = "cubic" })
  t.raises("one axis", gpu.texture, gpu.ones(2, 2), { fetch = true })
  t.raises("read and channels only", gpu.texture, x, { fetch = true, filter = "linear" })
  t.raises("clone", gpu.texture, x[{ { 2, 3 } }], { fetch = true })
  t.raises("more than", gpu.texture, gpu.ones(200000, "uint8"):reshape(200000, 1))
  t.raises({ "at1: parameter 1 't' (cudaTextureObject_t)", "as gpu.texture makes them, got a surface" }, k.at1(1, 1), gpu.surface(x), 1, x, x)
  t.raises("got a float32 array", k.at1(1, 1), x, 1, x, x)
  t.raises("expects a float32 array, got a texture", k.at1(1, 1), gpu.texture(x), 1, gpu.texture(x), x)
end)

t.test("what a kernel does wrong with an object", function()
  if not simt then t.skip("undefined on a GPU") end
  local x, out = gpu.ones(4), gpu.zeros(1)
  t.raises({ "a tex.2d instruction", "over a 1-D array" }, k.at2(1, 1), gpu.texture(x), 1, x, x, out)
  t.raises("over linear memory", k.at1(1, 1), gpu.texture(x, { fetch = true }), 1, x, out)
  local raw = gpu.kernel "__global__ void raw(unsigned long long t, float *o) { *o = tex1D<float>(t, 0.5f); }"
  t.raises("is no live texture object", raw(1, 1), 12345, out)
  local texture = gpu.texture(x)
  raw(1, 1)(texture.handle, out)
  t.eq(out[1], 1)
end)

t.done()
