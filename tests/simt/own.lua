-- Kernels whose addresses are sums of multiples of thread and block indices: whether two threads of the launch touch the
-- same bytes is counted out here, address by address, and gpu.check must say the same, a race or nothing.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- Does any thread write what another touches? each(tid, block): lists of { address, bytes, write }.
local function races(blocks, block, each)
  local owner, writer = {}, {}
  for by = 0, blocks[2] - 1 do for bx = 0, blocks[1] - 1 do
    for ty = 0, block[2] - 1 do for tx = 0, block[1] - 1 do
      local me = ((by * blocks[1] + bx) * block[2] + ty) * block[1] + tx
      for _, a in ipairs(each(tx, ty, bx, by)) do
        for k = a[1], a[1] + a[2] - 1 do
          if a[3] and (owner[k] or me) ~= me or writer[k] and writer[k] ~= me then return true end
          owner[k] = owner[k] and owner[k] ~= me and -1 or me
          if a[3] then writer[k] = me end
        end
      end
    end end
  end end
  return false
end

local function verdict(launch)
  local found = gpu.check(launch)
  for _, r in ipairs(found) do t.eq(r.kind, "race", r.message) end
  return #found > 0
end

local types = { { "unsigned char", "uint8", 1 }, { "short", "int16", 2 }, { "int", "int32", 4 }, { "long long", "int64", 8 } }

-- Writes at one place and reads and writes at another, of elements of a type; every thread writes its own value.
local function source(c_type)
  return ([[__global__ void k(T *y, int tx, int ty, int bx, int by, int at, int near, int more, int w, int h, int edge) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= w || row > h) return;
    int i = threadIdx.x * tx + threadIdx.y * ty + blockIdx.x * bx + blockIdx.y * by + at;
    int me = ((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    y[i] = me + 1;
    if (more == 1) y[i + near] = -me - 1;
    if (more == 2) y[i + near] += me + 1;
    if (more == 3 && threadIdx.y == 0 && blockIdx.y == 0) y[threadIdx.x * tx + blockIdx.x * bx + at + edge] = me + 1;
  }]]):gsub("T", c_type) .. ""
end

local random = t.random(tonumber(os.getenv("LUNARRAY_SEED") or 12345))
local function pick(list) return list[random(#list) + 1] end

-- How far from the first place threads may get.
local function reach(by, block, blocks, near)
  local far = math.abs(near)
  for k, count in ipairs { block[1], block[2], blocks[1], blocks[2] } do far = far + math.abs(by[k]) * (count - 1) end
  return far
end

local room = 400000
for _, ty in ipairs(types) do
  t.test("places by random multiples: " .. ty[1], function()
    local k = gpu.kernel(source(ty[1]))
    local y = gpu.zeros(room, ty[2])
    local clean, racing = 0, 0
    for _ = 1, 120 do
      local block, blocks = { pick { 1, 8, 16, 32, 64 }, pick { 1, 1, 2, 4 } }, { pick { 1, 2, 3 }, pick { 1, 1, 2 } }
      local one = pick { 1, 1, 2, 3, -1, -2 }
      local by = { one, one * block[1] + pick { 0, 0, 0, -1, 1, 5 } }
      by[3] = by[2] * block[2] + pick { 0, 0, 0, -1, 7 }
      by[4] = by[3] * blocks[1] + pick { 0, 0, -2, 1 }
      if random(4) == 0 then by[1], by[3] = by[3], by[1] end
      if random(4) == 0 then by[1], by[2] = by[2], by[1] end
      local near, more = pick { 0, 1, 2, -1, 3 }, random(4)
      local w, h = block[1] * blocks[1] + pick { 0, 0, -1, -5, 9 }, block[2] * blocks[2] + pick { 0, -1, -2, 4 }
      if random(2) == 0 then -- rows as they lie in an image that the grid is larger than
        by[2] = w * by[1] + pick { 0, 0, 0, -1 }
        by[3], by[4] = by[1] * block[1], by[2] * block[2]
      end
      local edge = pick { near, by[2], -by[2], -by[2] - by[1], -by[3], -by[4] - 1, 5000 }
      local function each(tx, ty_, bx, by_)
        if bx * block[1] + tx >= w or by_ * block[2] + ty_ > h then return {} end
        local i = (tx * by[1] + ty_ * by[2] + bx * by[3] + by_ * by[4]) * ty[3]
        local list = { { i, ty[3], true } }
        if more == 1 or more == 2 then list[2] = { i + near * ty[3], ty[3], true } end
        if more == 3 and ty_ == 0 and by_ == 0 then list[2] = { i + edge * ty[3], ty[3], true } end
        return list
      end
      local threads = block[1] * block[2] * blocks[1] * blocks[2]
      local own = threads < 1 << 8 * math.min(ty[3], 7) -- no two threads have one value
      if own and reach(by, block, blocks, near) + math.abs(edge) < room // 2 then
        local want = races(blocks, block, each)
        local got = verdict(function() k(blocks, block)(y, by[1], by[2], by[3], by[4], room // 2, near, more, w, h, edge) end)
        t.eq(got, want, ("block %dx%d, %dx%d blocks, by %d %d %d %d, near %d, more %d, %d columns, %d rows, edge %d"):format(block[1], block[2], blocks[1],
          blocks[2], by[1], by[2], by[3], by[4], near, more, w, h, edge))
        if want then racing = racing + 1 else clean = clean + 1 end
      end
    end
    assert(clean > 5 and racing > 5, ("%d clean, %d with races"):format(clean, racing))
  end)
end

-- Of one array: the kernel's body, the launch, and whether there is a race.
local function case(name, race, body, launch)
  t.test(name, function()
    local k = gpu.kernel("__global__ void k(float *x, float *y, const int *at, int n) {\n" .. body .. "\n}")
    for _ = 1, 2 do t.eq(verdict(function() launch(k) end), race, "a race") end
  end)
end
local n = 4096
local x, y = gpu.range(0, n - 1):to("float32"), gpu.zeros(n)
local at = (gpu.range(0, n - 1):to("int32") * 7) % n
local function plain(k) k(8, 128)(x, y, at, 1024) end
local i = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"

-- Conditions that say less of an index than they seem to.
local two = "int tx = threadIdx.x, ty = threadIdx.y;\n"
case("one place for the last ones", true, two .. "if (n - tx < 100) y[0] = tx;", function(k) k(1, 128)(x, y, at, 128) end)
case("one place for those whose sum wraps round", true, two .. "if ((int)(tx + 0x7ffffff0u) < n) y[0] = tx;", function(k) k(1, 128)(x, y, at, 128) end)
case("a column that those set again whose indices make up for each other", true,
  two .. "y[64 * ty + tx] = tx; if ((int)(tx - ty + 100u) < n) y[64 * ty] = tx + 100;", function(k) k(1, { 16, 8 })(x, y, at, 101) end)
case("rows by twice the index, behind the first column alone", true,
  two .. "if (tx < n) y[64 * ty] = 5; y[64 * ty + tx] += 1; y[64 * ty + 2 * tx] += 1;", function(k) k(1, { 16, 8 })(x, y, at, 1) end)
case("a column that those set again whose sum wraps round", true,
  two .. "y[64 * ty + tx] = tx; if ((int)(tx + 0x7fffffffu) < n) y[64 * ty] = tx + 100;", function(k) k(1, { 16, 8 })(x, y, at, 0) end)
case("loops over the grid", false, i .. "for (; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * y[i];",
  function(k) k(4, 128)(x, y, at, n) end)
case("loops over the grid, several to a thread", false,
  i .. "for (; i < n / 4; i += gridDim.x * blockDim.x) for (int k = 0; k < 4; k++) y[4 * i + k] += i;",
  function(k) k(4, 64)(x, y, at, n) end)
case("loops over the grid that begin in the middle of a warp", false,
  i .. "for (i += 5; i < n; i += gridDim.x * blockDim.x) y[i] = i;", function(k) k(4, 96)(x, y, at, n) end)
case("loops over the grid, and one store of each thread far from where those begin", true,
  i .. "for (int j = i; j < n; j += gridDim.x * blockDim.x) y[j] = i; y[3000 - i] = 5;", function(k) k(4, 128)(x, y, at, n) end)
case("loops by the block instead of the grid", true, i .. "for (; i < n; i += blockDim.x) y[i] = blockIdx.x;",
  function(k) k(4, 128)(x, y, at, n) end)
case("loops by less than the grid", true, i .. "for (; i < n; i += gridDim.x * blockDim.x - 32) y[i] = i - blockIdx.x;",
  function(k) k(4, 128)(x, y, at, n) end)
case("loops whose step is a parameter", true, i .. "for (int j = i; j < 4096; j += n) y[j] = i;",
  function(k) k(4, 128)(x, y, at, 384) end)
case("a stretch for each thread", false, i .. "for (int k = 0; k < 4; k++) y[4 * i + k] = k;", plain)
case("a stretch for each thread, one too long", true, i .. "for (int k = 0; k <= 4; k++) y[4 * i + k] = i;",
  function(k) k(4, 128)(x, y, at, n) end)
case("a loop down", false, i .. "for (int j = n - 1 - i; j >= 0; j -= 512) y[j] = j;", function(k) k(4, 128)(x, y, at, n) end)
case("the array backwards", false, i .. "y[n - 1 - i] = x[i];", plain)
case("the array backwards in its place", true, i .. "x[n - 1 - i] = x[i] + 1;", plain)
case("each other element", false, i .. "y[2 * i] = y[2 * i] + y[2 * i + 1];", plain)
case("elements and their doubles", true, i .. "if (i) y[2 * i] = y[i] + i;", plain)
case("a place that one of two ways sets", false, i .. "float *p = y + 2 * i; if (x[i] > 9) p++; *p = i; for (int k = 0; k < n % 3; k++) *p += k;", plain)
case("a place that one of three ways sets", false, i .. [[float *p = y + 4 * i; for (int k = 0; k < n % 3; k++) *p += k;
  if (x[i] > 9) { p = y + 4 * i + 3; *p = 1; } else if (x[i] < 4) p = y + 4 * i + 1; *p += i;]], plain)
case("a place that one of two ways takes from another thread", true, i .. [[float *p = y + 4 * i; for (int k = 0; k < n % 3; k++) *p += k;
  if (x[i] > 9 && i < 1023) { p = y + 4 * i + 4; *p = 1; } *p += i;]], plain)
case("a place by a table", true, i .. "y[i] = y[at[i]] + 1;", plain)
case("a place by a table for a reader of its own", false, i .. "y[i] = x[at[i]];", plain)
case("a row above the others that the first ones set", false, [[int p = blockDim.x + 1, c = threadIdx.x + 1;
  y[(blockIdx.x * 8 + threadIdx.y + 1) * p + c] += 1; if (threadIdx.y == 0 && blockIdx.x == 0) y[c] = y[c] + c;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("the first row, which the first ones set again", false, [[int p = blockDim.x + 1, c = threadIdx.x;
  y[(blockIdx.x * 8 + threadIdx.y) * p + c] += 1; if (threadIdx.y == 0 && blockIdx.x == 0) y[c] = y[c] + c;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("the first row, which the first ones of blocks set again", true, [[int p = blockDim.x + 1, c = threadIdx.x;
  y[(blockIdx.x * 8 + threadIdx.y) * p + c] += 1; if (threadIdx.y == 0) y[c] = y[c] + c + blockIdx.x;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("a row above the others that the first ones set, one too far", true, [[int p = blockDim.x + 1, c = threadIdx.x + 1;
  y[(blockIdx.x * 8 + threadIdx.y + 1) * p + c] += 1; if (threadIdx.y == 0 && blockIdx.x == 0) y[c + 2] += c;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("the first row, which those without a bit in common set again", true, [[int p = blockDim.x + 1, c = threadIdx.x;
  y[(blockIdx.x * 8 + threadIdx.y) * p + c] += 1; if ((threadIdx.y & blockIdx.x) == 0) y[c] = y[c] + c + blockIdx.x;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("the first row, which others set again", true, [[int p = blockDim.x + 1, c = threadIdx.x;
  y[(blockIdx.x * 8 + threadIdx.y) * p + c] += 1; if ((threadIdx.y | blockIdx.x) == 1) y[c] = y[c] + c;]], function(k) k(4, { 16, 8 })(x, y, at, n) end)
case("an atomic beside a store", true, i .. "y[i] = i; if (i) atomicAdd(&y[i - 1], 1.0f);", plain)
case("every second thread by an index that goes round", true, "unsigned i = threadIdx.x; if (i % 2 == 0) y[i * 0x80000000u] = i;",
  function(k) k(1, 64)(x, y, at, n) end)
case("rows that are wider than the array's", true,
  "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; y[r * n + c] = c + 2 * r;",
  function(k) k({ 2, 2 }, { 16, 16 })(x, y, at, 31) end)
case("rows that are as wide", false,
  "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; y[r * n + c] = c + 2 * r;",
  function(k) k({ 2, 2 }, { 16, 16 })(x, y, at, 32) end)
case("rows that are wider, where nobody goes past their ends", false,
  "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; if (c < n) y[r * n + c] = c + 2 * r;",
  function(k) k({ 2, 2 }, { 16, 16 })(x, y, at, 31) end)
local grid = "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; "
for body, race in pairs {
  ["if (c < n && r < n) y[r * n + c] = r - c;"] = false,
  ["if (c >= n) return; y[r * n + c] = r - c;"] = false,
  ["if (!(c < n) || r > 20) return; for (int k = 0; k < 3; k++) y[(r * n + c) * 3 + k] = k + c;"] = false,
  ["if (c <= n) y[r * n + c] = r - c;"] = true,
  ["if ((unsigned)c < (unsigned)(n - 32)) y[r * n + c] = r - c;"] = true,
  ["if (r < n) y[r * n + c] = r - 2 * c;"] = true,
  ["if (c < n || r < n) y[r * n + c] = r - c;"] = true,
  ["if (c < n) y[r * n + c] = r; else y[r * n + c] = c;"] = true,
  ["if (c < n) y[r * n + c] = r; y[r * n + c] += c;"] = true,
  ["y[r * n + c] += c; __threadfence(); if (c < n) y[r * n + c] = x[c];"] = true,
  ["if (c < n) { int d = c / 2; y[r * n + d] = c; }"] = true,
  ["if (c - 1 < n) y[r * n + c] = r - c;"] = true,
  ["if (c + 1 < n) y[r * n + c + 1] = r - c;"] = false,
  ["if (c < n) for (int k = c; k < n; k += 40) y[r * n + k] = k;"] = false,
  ["if (c < n) for (int k = c; k < n + 7; k += 40) y[r * n + k] = k + r;"] = false, -- nobody comes round
  ["for (int k = c; k < 2 * n; k += 32) y[r * n + k] = k + r;"] = true,
} do
  case("31 columns of a grid of 32: " .. body, race, grid .. body, function(k) k({ 2, 2 }, { 16, 16 })(x, y, at, 31) end)
end
local across = "int c = blockIdx.y * 16 + threadIdx.x, r = blockIdx.x * 16 + threadIdx.y; "
for body, race in pairs {
  ["if (c < n && r < n) y[r * n + c] = r;"] = false, ["if (c <= n && r < n) y[r * n + c] = r;"] = true,
  ["if (r < n) y[r * n + c] = r;"] = true, ["if (c < n && r < n) y[c * n + r] = r;"] = false,
  ["if (c < n && r < n - 1) y[c * (n - 1) + r] = c;"] = false, ["if (c < n && r < n) y[c * (n - 1) + r] = c;"] = true,
} do
  case("31 columns of a grid of 32, across: " .. body, race, across .. body, function(k) k({ 2, 2 }, { 16, 16 })(x, y, at, 31) end)
end
-- Tiles that overlap, whose edges only load: what threads inside of them may touch, counted out as above.
local tiles = "int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 14 + tx - 1, r = blockIdx.y * 14 + ty - 1, " ..
  "me = blockIdx.x + 3 * blockIdx.y + 9 * tx; "
local inside = "if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && c < n && r < n) "
for body, race in pairs {
  [inside .. "y[r * n + c] = me;"] = false,
  [inside .. "y[r * n + c] += y[r * n + c] + me;"] = false,
  [inside .. "{ y[(r * n + c) * 2] = me; y[(r * n + c) * 2 + 1] = tx; }"] = false,
  [inside .. "y[r * (n - 1) + c] = me;"] = true,
  [inside .. "y[r * n + c] = y[r * n + c + 1];"] = true,
  [inside .. "y[r * n + c + (n & 1)] = me;"] = false,
  [inside .. "y[r * n + c] = me; if (tx < 15) y[900 + tx] = me;"] = true,
  [inside .. "y[r * n + c] = me; if (tx && r >= 0 && r < n && tx < 15 && c < n && ty != 15 && !ty) y[r * n + c] = 7;"] = true,
  ["if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && c <= n && r < n) y[r * n + c] = me;"] = true,
  ["if (tx > 0 && tx < 16 && ty > 0 && ty < 15 && c < n && r < n) y[r * n + c] = me;"] = true,
  ["if (tx > 0 && tx < 15 && ty > 0 && ty < 16 && c < n && r < n) y[r * n + c] = me;"] = true,
  ["if (tx < 15 && ty > 0 && ty < 15 && c >= 0 && c < n && r < n) y[r * n + c] = me;"] = true,
  ["if (tx - 1 < 14 && ty > 0 && ty < 15 && c >= 0 && c < n && r < n) y[r * n + c] = me;"] = true,
  ["if ((unsigned)tx - 1 < 14 && (unsigned)ty - 1 < 14 && c < n && r < n) y[r * n + c] = me;"] = false,
  ["if (tx >= 1 && tx <= 14 && ty >= 1 && ty <= 14 && c < n && r < n) y[r * n + c] = me;"] = false,
  ["if (tx < 1 || tx > 14 || ty < 1 || ty > 14) return; if (c < n && r < n) y[r * n + c] = me;"] = false,
  ["if (tx < 1 || tx > 14 || ty < 1 || ty > 14) return; if (c < n || r < n) y[r * n + c] = me;"] = true,
  ["if (tx > 0 && tx < 14 && ty > 0 && ty < 13 && c < n && r < n) y[r * n + c] = me;"] = false,
} do
  case("tiles of 14 by blocks of 16: " .. body, race, tiles .. body, function(k) k({ 3, 3 }, { 16, 16 })(x, y, at, 41) end)
end
case("loops over a grid of 3 blocks", false, i .. "for (; i < n; i += gridDim.x * blockDim.x) { y[3 * i] = i; y[3 * i + 2] = 1; }",
  function(k) k(3, 96)(x, y, at, n // 3) end)
case("loops over a grid of 3 blocks, one element too long", true,
  i .. "for (; i < n; i += gridDim.x * blockDim.x) for (int k = 0; k < 4; k++) y[3 * i + k] = i;", function(k) k(3, 96)(x, y, at, n // 3 - 1) end)
case("threads of a second row that do the same", true, i .. "y[i] = threadIdx.y;", function(k) k(2, { 32, 2 })(x, y, at, n) end)
case("a place for all below the lesser of two bounds", true, i .. "if (i < min(n, 20)) y[0] = i;", plain)
case("a place for all below what few bits leave", true, i .. "if (i < (n & 3)) y[0] = i;", function(k) k(8, 128)(x, y, at, 1023) end)
case("a place for one below the greater of two bounds", false, i .. "if (i < max(n, 1)) y[0] = i;",
  function(k) k(8, 128)(x, y, at, -5) end)
local all = i .. "for (int k = i % 37 + 2; k < n; k += i % 37 + 2) " -- many threads come to one place
for body, race in pairs {
  ["y[k] = 1.5f;"] = false, ["y[k] = i % 2;"] = true, ["y[k] = i % 2 ? 1 : 2;"] = true,
  ["if (i < 512) y[k] = 1; else y[k] = 2;"] = true, ["if (i < 512) y[k] = 1; else y[k] = 1;"] = false,
  ["if (i < 512) y[k] = 0.0f; else y[k] = -0.0f;"] = true, ["y[k] = 1; if (i == 9) x[0] = y[40];"] = true,
  ["y[k] = 1; if (i == 9) x[0] = x[40];"] = false, ["y[k] = 1; if (i == 9) atomicAdd(&y[40], 1.0f);"] = true,
  ["((int *)y)[k] = n;"] = false, ["((int *)y)[k] = n + blockIdx.x;"] = true, ["((int *)y)[k] = i > 9 ? n : n - 1;"] = true,
  ["((int *)y)[k] = 0x01010101; if (i == 9) ((short *)y)[k] = 1;"] = true,
  ["((long long *)y)[k / 2] = n;"] = false, ["((long long *)y)[k / 2] = n; ((int *)y)[41] = n;"] = true,
  ["((float2 *)y)[k / 2] = make_float2(1, 1);"] = false, ["((float2 *)y)[k / 2] = make_float2(1, i);"] = true,
  ["((volatile float *)y)[k] = 1; y[k] = 2;"] = true, ["if (n < 5) y[k] = i; y[k] = 3;"] = false,
  ["y[k] = 1; if (k == 40 && i > 500) y[k] = n;"] = true, ["x[k] = 1; y[k] = 2;"] = false,
} do
  case("one value by all: " .. body, race, all .. "{ " .. body .. " }", function(k) k(8, 128)(x, y, at, 2048) end)
end
case("one value by all, and another through a view", true, all .. "{ y[k] = 1; x[k] = 2; }", function(k)
  local both = gpu.zeros(3000)
  k(8, 128)(both[{ { 1, 2048 } }], both[{ { 2, 2100 } }], at, 2048)
end)
case("numbers that are added to each other", true, i .. [[
  unsigned a = i, b = 1;
  for (int k = 0; k < n; k++) { a += b; b += a; ((unsigned *)y)[k % 8] = b; }]], function(k) k(8, 128)(x, y, at, 9) end)
case("numbers that are added to each other where loads say", false, i .. [[
  int a = 0, b = 1;
  while (x[i + 1] > a) { a += b; b += a; ((int *)y)[i] = a; }]], function(k) k(8, 128)(x, y, at, 9) end)

-- What a register is when a loop begins, or behind it, by the ways that the launch can go: the other ones don't count.
local function ways(name, body, expected)
  local k = gpu.kernel("__global__ void k(float *y, int m, int w, int n) {\n" .. i .. body .. "\n}")
  for m = 0, 1 do for w = 0, 1 do for n = 0, 9 do
    local y = gpu.zeros(8000)
    t.test(("%s: %d %d %d"):format(name, m, w, n), function()
      t.eq(verdict(function() k(2, 64)(y, m, w, n) end), expected(m > 0, w > 0, n), "a race")
    end)
  end end end
end
ways("around a loop", [[
  int j = 5000;
  if (m) {
    if (w) j = i * 8;
#pragma unroll 1
    for (int q = 0; q < n; q++) { y[j] += i; j++; }
  }
  y[j] = i;]], function(m, w, n) return not (m and w and n < 8) end)
ways("into a loop from two sides", [[
  int j = i * 10;
  if (m) j = w ? 5000 : i * 10 + 1;
#pragma unroll 1
  for (int q = 0; q < n; q++) { y[j] += i; j++; }]], function(m, w, n)
  if n == 0 then return false end
  return m and w
end)
ways("behind one loop and before another", [[
  int j = i * 9;
  if (m)
#pragma unroll 1
    for (int q = 0; q < 3; q++) { y[j] += i; j++; }
  if (w) j = i * 9 + 2;
#pragma unroll 1
  for (int q = 0; q < n; q += 2) { y[j] -= i; y[j + 1] = i; j += 2; }]], function(m, w, n)
  local first, last = w and 2 or m and 3 or 0, (n + 1) // 2 * 2
  return n > 0 and first + last - (m and 0 or first) > 9
end)
ways("by turns", [[
  int j = w ? i * 12 : 0;
  if (!w) j = m ? i * 12 + 1 : i * 11;
#pragma unroll 1
  for (int p = 0; p < 2; p++) {
#pragma unroll 1
    for (int q = 0; q < n; q++) { y[j] += i; j++; }
    j -= n;
    if (m && p) j = i * 12;
  }]], function() return false end)
for body, race in pairs {
  ["for (int q = r + 1; q < r + n; q++) { y[q] -= y[q - 1]; x[q] += y[q]; }"] = false,
  ["for (int q = r + 1; q <= r + n; q++) { y[q] -= y[q - 1]; x[q] += y[q]; }"] = true,
  ["for (int q = n - 2; q >= 0; q--) y[r + q] -= x[r + q] * y[r + q + 1];"] = false,
  ["for (int q = n - 1; q >= 0; q--) y[r + q] -= x[r + q] * y[r + q + 1];"] = true,
  ["for (int q = n - 2; q >= -1; q--) y[r + q + 1] -= x[r + q + 1] * y[r + q + 2];"] = true,
} do
  t.test("rows of some lengths: " .. body, function()
    local k = gpu.kernel("__global__ void k(float *x, float *y, int n) {\n" .. i .. "int r = i * n + 1; " .. body .. "\n}")
    for n = 2, 20 do t.eq(verdict(function() k(2, 64)(x, y, n) end), race, "rows of " .. n) end
  end)
end
case("columns", false, "y[threadIdx.x * n + blockIdx.x] = threadIdx.x;", function(k) k(16, 128)(x, y, at, 16) end)
case("columns that overlap", true, "y[threadIdx.x * n + blockIdx.x] = threadIdx.x;", function(k) k(17, 128)(x, y, at, 16) end)
case("two views of an array, apart", false, i .. "y[i] = x[i];", function(k)
  local both = gpu.zeros(2048)
  k(8, 128)(both[{ { 1, 1024 } }], both[{ { 1025, 2048 } }], at, 0)
end)
case("two views of an array that overlap", true, i .. "y[i] = x[i] + 1;", function(k)
  local both = gpu.zeros(1100)
  k(8, 128)(both[{ { 1, 1024 } }], both[{ { 2, 1025 } }], at, 0)
end)
case("an array for both", true, i .. "y[i] = x[i + 1] + 1;", function(k) k(7, 128)(y, y, at, 0) end)

t.test("one way up and one way down, and planes", function()
  local k = gpu.kernel [[__global__ void k(int *y, int a, int row, int at, int b, int back, int plane, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, me = j * gridDim.x * blockDim.x + i + 1;
    if (i >= m / 2) return;
    y[j * row + i * a + at] = me;
    if (b) y[j * row + back - i * b] = -me;
    if (plane) y[j * row + i * a + at + plane] += me;
  }]]
  local y, clean, racing = gpu.zeros(40000, "int32"), 0, 0
  for _ = 1, 150 do
    local grid, block = { pick { 1, 2, 3 }, pick { 1, 1, 2, 4 } }, pick { 32, 40, 64 }
    local n, a, b = grid[1] * block, pick { 1, 1, 2, 3 }, pick { 0, 1, 1, 2 }
    local m = pick { 2 * n, n, n - 1, 3 * n }
    local near = math.min(m // 2, n)
    local back = near * a + near * b + pick { 0, -1, -2, 1, 40 }
    local row, plane = pick { near * (a + b), near * (a + b) + 3, back + 1, 2 * near, 5000 }, pick { 0, 0, near * a, near, 1, -near * a }
    local at = plane < 0 and -plane or pick { 0, 5 }
    local expected = races(grid, { block, 1 }, function(tx, _, bx, j)
      local i, out = bx * block + tx, {}
      if i >= m // 2 then return out end
      out[1] = { j * row + i * a + at, 1, true }
      if b > 0 then out[#out + 1] = { j * row + back - i * b, 1, true } end
      if plane ~= 0 then out[#out + 1] = { j * row + i * a + at + plane, 1, true } end
      return out
    end)
    local said = verdict(function() k(grid, block)(y, a, row, at, b, back, plane, m) end)
    t.eq(said, expected, ("grid %dx%d of %d: a %d b %d back %d row %d plane %d at %d m %d"):format(grid[1], grid[2], block, a, b, back, row, plane, at, m))
    if said then racing = racing + 1 else clean = clean + 1 end
  end
  t.eq(clean > 20 and racing > 20, true)
end)

-- A block's threads share out its row, and one of them alone touches some element before.
local shares = "for (int q = threadIdx.x; q < n; q += blockDim.x) row[q] += threadIdx.x + 2;"
for body, race in pairs {
  ["if (threadIdx.x == 0) s = row[0]; __syncthreads(); " .. shares] = false,
  ["if (threadIdx.x == 0) s = row[1]; __syncthreads(); " .. shares] = false,
  ["if (threadIdx.x == 0) s = row[0]; " .. shares] = false,
  ["if (threadIdx.x == 0) s = row[1]; " .. shares] = true,
  ["if (threadIdx.x < 1) row[0] = 7; " .. shares] = false,
  ["if (threadIdx.x == 0 && blockIdx.x < 5) row[blockDim.x] = 7; " .. shares] = false,
  ["if (!threadIdx.x) row[n] = 7; " .. shares] = true,
  ["if (!threadIdx.x) row[-1] = 7; " .. shares] = true,
  ["if (threadIdx.x == 1) row[0] = 7; " .. shares] = true,
  ["if (threadIdx.x == 1) row[1] = 7; " .. shares] = false,
  ["if (threadIdx.x <= 1) row[0] = threadIdx.x; " .. shares] = true,
  ["if (threadIdx.x != 0) row[0] = threadIdx.x; " .. shares] = true,
  ["if (threadIdx.x == 0 || n == 3) row[0] = threadIdx.x; " .. shares] = false,
  ["if (blockIdx.x == 0) x[threadIdx.x + n] = 7; " .. shares] = false,
  ["if (blockIdx.x == 1) x[threadIdx.x + n] = 7; " .. shares] = true,
  [shares .. " if (threadIdx.x == 0) row[0] = 7;"] = false,
  [shares .. " if (threadIdx.x == 0) row[3] = 7;"] = true,
} do
  case("one before all: " .. body, race, "__shared__ float s; float *row = x + (blockIdx.x + 1) * n;\n" .. body .. "\nif (n < 0) y[0] = s;",
    function(k) k(6, 64)(x, y, at, 200) end)
end

t.test("a row for each block, one of whose threads touches an element before", function()
  local k = gpu.kernel [[__global__ void k(int *y, int who, int at, int from, int by, int n, int row) {
    int me = blockIdx.x * blockDim.x + threadIdx.x + 1, *r = y + blockIdx.x * row;
    if (threadIdx.x == who) r[at] = -me;
    for (int q = threadIdx.x + from; q < n; q += by) r[q] += me;
  }]]
  local y, clean, racing = gpu.zeros(4000, "int32"), 0, 0
  for _ = 1, 150 do
    local blocks, block = pick { 1, 2, 3 }, pick { 32, 40, 64 }
    local n, from, who = pick { 30, 100, 200, 333 }, pick { 0, 0, 1, 3 }, pick { 0, 0, 0, 1, 5 }
    local by, row = block + pick { 0, 0, 0, -1, 2 }, n + pick { 0, 0, 5, -1 }
    local at = pick { from + who, from + who, from + who + block, 0, n, row, 7 }
    local expected = races({ blocks, 1 }, { block, 1 }, function(tx, _, bx)
      local out = { tx == who and { bx * row + at, 1, true } or nil }
      for q = tx + from, n - 1, by do out[#out + 1] = { bx * row + q, 1, true } end
      return out
    end)
    local said = verdict(function() k(blocks, block)(y, who, at, from, by, n, row) end)
    t.eq(said, expected, ("%d blocks of %d, who %d at %d from %d by %d n %d row %d"):format(blocks, block, who, at, from, by, n, row))
    if said then racing = racing + 1 else clean = clean + 1 end
  end
  t.eq(clean > 20 and racing > 20, true)
end)

-- The inner of two loops begins where the outer one is and goes on by what it reads; behind it, a place that ways set
-- differently. Each thread has a row, which the loops may leave.
for _, way in ipairs {
  { "j >= end", -1, function(j, last) return j >= last end }, { "j > end", -1, function(j, last) return j > last end },
  { "j < end", 1, function(j, last) return j < last end }, { "j <= end", 1, function(j, last) return j <= last end },
} do
  t.test("a triangle for each thread, as long as " .. way[1], function()
    local text = [[__global__ void k(int *y, int row, int n, int by, int first, int end, int step, int beside, int near) {
      int me = blockIdx.x * blockDim.x + threadIdx.x, *r = y + 4000 + me * row;
      for (int i = 0; i < n; i += by) {
        int v = r[i], j = i + first;
        int *last = r + i;
        while (WHILE && r[j] >= 0) {
          r[j + near] = v + me;
          last = r + j;
          j STEP step;
        }
        if (r[i] < 0) last = r + i + beside;
        *last = me;
      }
    }]]
    local k = gpu.kernel((text:gsub("WHILE", way[1]):gsub("STEP", way[2] > 0 and "+=" or "-=")))
    local clean, racing = 0, 0
    for _ = 1, 60 do
      local n, by, step, near = pick { 1, 5, 8, 16 }, pick { 1, 1, 2, 3 }, pick { 1, 1, 2, 5 }, pick { 0, 0, 1, -1 }
      local row, beside, first = n + pick { 0, 1, 2, 7, -1 }, pick { 0, 1, 0, -1 }, pick { 0, 1, -1, way[2] }
      local stop = way[2] > 0 and n + pick { 0, 0, -1, 1, -20 } or pick { 0, 0, 1, -1, 20 }
      local said = verdict(function() k(2, 48)(gpu.zeros(20000, "int32"), row, n, by, first, stop, step, beside, near) end)
      local want = races({ 2, 1 }, { 48, 1 }, function(tx, _, bx)
        local out, at = {}, (bx * 48 + tx) * row
        for i = 0, n - 1, by do
          local j, last = i + first, i
          out[#out + 1] = { at + i, 1, false }
          while way[3](j, stop) do
            out[#out + 1] = { at + j, 1, false }
            out[#out + 1] = { at + j + near, 1, true }
            last, j = j, j + way[2] * step
          end
          out[#out + 1] = { at + last, 1, true }
        end
        return out
      end)
      t.eq(said, want, ("rows of %d, n %d by %d, first %d to %d by %d, near %d"):format(row, n, by, first, stop, step, near))
      if want then racing = racing + 1 else clean = clean + 1 end
    end
    t.eq(clean > 3 and racing > 3, true, ("%d clean, %d with races"):format(clean, racing))
  end)
end

t.test("what is wrong besides is told where nobody can race", function()
  local k = gpu.kernel("__global__ void k(float *y, int n) {\n" .. i .. "y[3 * i + 1] = i; }")
  local found = gpu.check(function() k(8, 128)(gpu.zeros(3 * 1024 - 30), 0) end)
  t.eq(#found, 1)
  t.eq(found[1].kind, "out of bounds")
  t.eq(found[1].count, 10)
end)

t.done()
