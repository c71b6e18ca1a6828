-- gpu.trace: the steps of one warp, their lanes, and the values of the source's own variables.
local gpu = gpu or require "lunarray"
local t = dofile("tests/lua/test.lua")
gpu.device("simt")

local function line() return debug.getinfo(2, "l").currentline end

-- The steps at the line with `text` in it.
local function at(steps, text)
  local found = {}
  for _, s in ipairs(steps) do
    if s.source:find(text, 1, true) then found[#found + 1] = s end
  end
  assert(#found > 0, "no step at " .. text)
  return found
end

-- By lane, or index, from 0: first, first + step and so on.
local function lanes(n, first, step)
  local list = {}
  for i = 0, n - 1 do list[i] = first + i * (step or 1) end
  return list
end

local first_line, branch = line() + 1, gpu.kernel [[
  __global__ void branch(int n, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < 2; j++) {
      if (i + j < n)
        sum += x[i + j];
      else
        sum -= 1;
    }
    y[i] = sum;
  }
]]

t.test("lanes part and meet, and variables change", function()
  local x, y = gpu.range(1, 64), gpu.zeros(64)
  local steps = gpu.trace(branch, 2, 32){ block = 1 }(40, x, y)
  t.eq(steps.kernel, "branch")
  t.same(steps.block, { 1, 0, 0 })
  t.eq(steps.warp, 0)
  t.eq(steps.total, #steps)
  local i = at(steps, "int i =")[1]
  t.eq(i.line, first_line + 1)
  t.eq(i.active, 32)
  t.same(i.changed, { "i" })
  t.eq(i.values.i[0], 32)
  t.eq(i.values.i[31], 63)
  t.eq(i.values.n, 40)
  t.eq(i.func, "branch")
  t.eq(i.depth, 0)
  t.eq(at(steps, "float sum = 0")[1].values.sum, 0.0)
  local adds, subtracts = at(steps, "sum += x"), at(steps, "sum -= 1")
  t.eq(#adds, 2)
  t.eq(adds[1].mask, 0x000000ff) -- i < 40: the first eight of the block
  t.eq(adds[2].mask, 0x0000007f)
  t.eq(adds[2].active, 7)
  t.eq(subtracts[1].mask, 0xffffff00)
  t.eq(subtracts[2].mask, 0xffffff80)
  t.eq(adds[1].values.sum[0], 33.0)
  t.eq(adds[2].values.sum[6], 39.0 + 40.0)
  t.eq(subtracts[1].values.sum, -1.0)
  t.eq(subtracts[2].values.sum[7], 40.0 - 1)
  t.eq(subtracts[2].values.sum[31], -2.0)
  t.eq(subtracts[2].values.sum[0], nil) -- a lane that took no part
  local loop = at(steps, "for (int j")
  t.eq(#loop, 3)
  for k, s in ipairs(loop) do
    t.eq(s.values.j, k - 1)
    t.eq(s.active, 32)
  end
  local last = at(steps, "y[i] = sum")[1]
  t.eq(last.active, 32)
  t.same(last.changed, {})
  t.eq(y[33], 33.0 + 34.0)
  t.eq(y[1], 1.0 + 2.0) -- the other block ran, too
end)

-- Lines from the kernel's first one, lanes as hexadecimal digits, and what changed, step by step.
local function walk(steps, first)
  local list = {}
  for i, s in ipairs(steps) do list[i] = ("%d %x %s"):format(s.line - first, s.mask, table.concat(s.changed, " ")):gsub(" $", "") end
  return list
end

t.test("what did not run is not shown where ways meet", function()
  local first, k = line(), gpu.kernel [[
    __global__ void chain(int *x) {
      int v = 0;
      if (threadIdx.x % 2)
        v = 5;
      else if (threadIdx.x > 99)
        v = -1;
      x[threadIdx.x] = v;
    }
  ]]
  t.same(walk(gpu.trace(k, 1, 8)(gpu.zeros(8, "int32")), first), { "1 ff x", "2 ff v", "3 ff", "4 aa v", "5 55", "7 ff", "8 ff" })
  k = gpu.kernel [[
    __global__ void open(int *x) {
      int t = threadIdx.x;
      int v; // has some value where ways meet
      if (t % 2)
        v = x[t] + 5;
      else if (t > 99)
        v = -1;
      if (t % 2)
        x[t] = v;
    }
  ]]
  for _, s in ipairs(gpu.trace(k, 1, 8)(gpu.zeros(8, "int32"))) do assert(not s.source:find("v = -1", 1, true), s.mask) end
  first, k = line(), gpu.kernel [[
    __device__ int within(int v, int low, int high) {
      if (v < low)
        return low;
      if (v > high)
        return high;
      return v;
    }
    __global__ void bound(int *x) {
      int i = threadIdx.x;
      int lo = 0, hi = 7;
      while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (mid < i)
          lo = mid + 1;
        else
          hi = mid;
      }
      x[i] = within(lo, 2, 5);
    }
  ]]
  t.same(walk(gpu.trace(k, 1, 4)(gpu.zeros(8, "int32")), first), { "8 f x", "9 f i", "10 f lo hi",
    "11 f", "12 f mid", "13 f", "16 f hi",
    "11 f", "12 f mid", "13 f", "14 c lo", "16 3 hi",
    "11 f", "12 f mid", "13 f", "14 a lo", "16 5 hi",
    "11 f", "18 f", "1 f v low high", "2 f", "3 3", "4 c", "6 c", "18 f", "19 f" })
end)

t.test("a variable changes where it is written, with calls in the kernel", function()
  local first, k = line(), gpu.kernel [[
    __device__ int twice(int a) {
      return 2 * a;
    }
    __global__ void count(int *x) {
      int i = threadIdx.x;
      int steps = 0;
      while (i > 1) {
        i--;
        steps++;
      }
      if (threadIdx.x % 2)
        steps = twice(i);
      else if (threadIdx.x > 8)
        steps = -1;
      x[threadIdx.x] = steps;
    }
  ]]
  local steps = gpu.trace(k, 1, 4)(gpu.zeros(4, "int32"))
  for _, s in ipairs(at(steps, "steps++")) do t.same(s.changed, { "steps" }) end
  for _, s in ipairs(at(steps, "while")) do t.same(s.changed, {}) end
  t.eq(at(steps, "steps++")[2].values.steps, 2)
  t.eq(walk(steps, first)[4], "7 f")
end)

t.test("the other block's and warp's values", function()
  local k = gpu.kernel [[
    __global__ void where(int *out) {
      int id = (blockIdx.y * gridDim.x + blockIdx.x) * 100 + threadIdx.y * 50 + threadIdx.x;
      out[0] = id;
    }
  ]]
  local out = gpu.zeros(1, "int32")
  local steps = gpu.trace(k, { 2, 3 }, { 50, 2 }){ block = { 1, 2 }, warp = 1 }(out)
  local id = at(steps, "int id")[1].values.id
  t.eq(id[0], 532)
  t.eq(id[17], 549)
  t.eq(id[18], 550)
  assert(tostring(steps):find("block (1, 2, 0), warp 1, threads (32, 0, 0) to (13, 1, 0)", 1, true))
  local partial = gpu.trace(k, { 2, 3 }, { 50, 2 }){ warp = 3 }(out)
  t.eq(partial[1].mask, 15)
end)

t.test("types", function()
  local k = gpu.kernel [[
    struct pair { float x; short n; };
    enum color { red, green, blue };
    __global__ void types(pair p, const bool *flags, const float *x, unsigned char *bytes) {
      unsigned char c = threadIdx.x + 250;
      signed char s = (signed char)c;
      long long big = -5000000000LL;
      unsigned u = 4000000000u;
      double d = 0.1;
      bool b = flags[threadIdx.x];
      color col = blue;
      const float *q = x + threadIdx.x;
      pair r = p;
      r.x += 1;
      float few[3];
      for (int j = 0; j < 3; j++)
        few[j] = x[j];
      bytes[threadIdx.x] = c + s + big + u + d + b + col + *q + r.x + few[p.n];
    }
  ]]
  local x, flags = gpu.range(10, 19), gpu.array({ false, false, true, true }, "bool")
  local steps = gpu.trace(k, 1, 4)(string.pack("fi2xx", 1.5, 2), flags, x, gpu.zeros(4, "uint8"))
  local function value(text, name) return at(steps, text)[1].values[name] end
  t.same(value("unsigned char c", "c"), { [0] = 250, 251, 252, 253 })
  t.eq(value("signed char s", "s")[0], -6)
  t.eq(value("long long big", "big"), -5000000000)
  t.eq(value("unsigned u", "u"), 4000000000)
  t.eq(value("double d", "d"), 0.1)
  t.same(value("bool b", "b"), { [0] = false, false, true, true })
  t.eq(value("color col", "col"), 2)
  t.eq(value("const float *q", "q")[3] - value("const float *q", "q")[0], 12)
  t.eq(value("pair r", "r.x"), 1.5)
  t.eq(value("pair r", "r.n"), 2)
  t.eq(value("r.x += 1", "r.x"), 2.5)
  local few = at(steps, "few[j] =")
  t.same(few[3].changed, { "few[2]" })
  t.eq(few[3].values["few[2]"], 12.0)
  t.eq(few[3].values["few[0]"], 10.0)
  local text = tostring(steps)
  for _, part in ipairs { "b = false false true true", "q = &x[0], &x[1] .. &x[3]", "c = 250..253", "p.x = 1.5   p.n = 2" } do
    assert(text:find(part, 1, true), "no '" .. part .. "' in\n" .. text)
  end
end)

t.test("calls, recursion, and what a function changes through a pointer", function()
  local k = gpu.kernel [[
    __device__ void bump(int *count, int by) {
      *count += by;
    }
    __device__ int fact(int n) {
      if (n <= 1) return 1;
      int rest = fact(n - 1);
      return n * rest;
    }
    __global__ void calls(int *out) {
      int count = 0;
      bump(&count, 3);
      int f = fact(3);
      *out = count + f;
    }
  ]]
  local out = gpu.zeros(1, "int32")
  local steps = gpu.trace(k, 1, 1)(out)
  t.eq(out[1], 9)
  local body = at(steps, "*count += by")[1]
  t.eq(body.func, "bump")
  t.eq(body.depth, 1)
  t.eq(body.values.by, 3)
  t.eq(at(steps, "int f = fact(3)")[1].values.count, 3)
  local deepest = 0
  for _, s in ipairs(steps) do deepest = math.max(deepest, s.depth) end
  t.eq(deepest, 3)
  local n = {}
  for _, s in ipairs(at(steps, "__device__ int fact(int n)")) do n[#n + 1] = s.values.n end
  t.same(n, { 3, 2, 1 })
  local results = at(steps, "int f = fact(3)")
  t.eq(results[#results].values.f, 6)
end)

t.test("a loop on one line is one step a round, and steps are limited", function()
  local k = gpu.kernel [[
    __global__ void count(int n, int *out) {
      int i = 0;
      while (i < n) i++;
      *out = i;
    }
  ]]
  local out = gpu.zeros(1, "int32")
  local steps = gpu.trace(k, 1, 1)(20, out)
  t.eq(#at(steps, "while"), 21)
  local few = gpu.trace(k, 1, 1){ steps = 5 }(20, out)
  t.eq(#few, 5)
  t.eq(few.total, #steps)
  local text = tostring(few)
  assert(text:find(("and %d more steps; gpu.trace(...){steps = %d} keeps them"):format(#steps - 5, #steps), 1, true), text)
  local default = gpu.trace(k, 1, 1)(2000, out)
  t.eq(#default, 1000)
  t.eq(out[1], 2000)
  local html = getmetatable(default).__display(default)["text/html"]
  assert(html:find("more steps", 1, true) and #html < 300000)
end)

t.test("text, lanes by choice, and HTML", function()
  local x, y = gpu.range(1, 64), gpu.zeros(64)
  local steps = gpu.trace(branch, 2, 32){ block = 1 }(40, x, y)
  local text = tostring(steps)
  for _, part in ipairs { "trace of branch: block (1, 0, 0), warp 0, threads (0, 0, 0) to (31, 0, 0)", "i = 32..63", "n = 40   x = &x[0]",
    "########........................  sum += x[i + j];", "sum = 33, 34 .. 40", ("%5d  ################################  int i ="):format(first_line + 1) } do
    assert(text:find(part, 1, true), "no '" .. part .. "' in\n" .. text)
  end
  for one in text:gmatch("[^\n]+") do assert(#one <= 120, one) end
  local some = tostring(gpu.trace(branch, 2, 32){ block = 1 }{ lanes = { 2, 5 } }(40, x, y))
  assert(some:find("i = 34 37", 1, true) and some:find("sum = 35 38", 1, true), some)
  local html = getmetatable(steps).__display(steps)["text/html"]
  assert(html:find("if (i + j &lt; n)", 1, true) and not html:find("j < n", 1, true))
  -- A long line is cut by the page, and whole where the mouse is.
  assert(html:find('text-overflow:ellipsis" title="__global__ void branch(int n', 1, true), html)
  assert(html:find('text-overflow:ellipsis">if (i + j', 1, true) and not html:find('title=""', 1, true), html)
  local _, squares = html:gsub("&#9632;", "")
  t.eq(squares, 32 * #steps)
end)

t.test("a line that is cut behind the marks of its calls is whole where the mouse is", function()
  local k = gpu.kernel [[
    __device__ __noinline__ int four(int v) {
      v *= 12345678; v ^= 1234567;
      v *= 12345678; v ^= 12345;
      return v;
    }
    __device__ __noinline__ int three(int v) {
      v *= 12345678; v ^= 123456789;
      v *= 12345678; v ^= 1234567;
      return four(v) + 1;
    }
    __device__ __noinline__ int two(int v) {
      v *= 123456789; v ^= 123456789;
      v *= 12345678; v ^= 123456789;
      return three(v) + 1;
    }
    __device__ __noinline__ int one(int v) {
      v *= 12345678; v ^= 1234567890;
      v *= 123456789; v ^= 123456789;
      return two(v) + 1;
    }
    __global__ void calls(int *out) {
      out[0] = one(out[0]) * 123456;
      out[0] = out[0] * 123456 + 0x00;
    }
  ]]
  local steps = gpu.trace(k, 1, 1)(gpu.ones(1, "int32"))
  local html = getmetatable(steps).__display(steps)["text/html"]
  local seen = {}
  for style, title, shown in html:gmatch('<td style="([^"]*max%-width[^"]*)"([^>]*)>(.-)</td>') do
    local source, calls = shown:gsub("&rsaquo; ", "")
    assert(style:find("max-width:32ch;", 1, true))
    t.eq(title, 2 * calls + #source > 32 and ' title="' .. source .. '"' or "", source)
    seen[calls] = math.max(seen[calls] or 0, #source)
    if #source >= 25 and #source <= 32 then seen[title ~= "" and "cut" or "whole"] = true end
  end
  assert(seen[0] and seen[4] and seen.cut and seen.whole)
end)

t.test("device variables, shared memory, templates, launchers", function()
  local k = gpu.kernel {
    [[
      __device__ int total = 1;
      template <typename T> __global__ void sum(T *out) {
        extern __shared__ int s[];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        T v = s[threadIdx.x ^ 1] + total;
        if (threadIdx.x == 0) total = v;
        out[threadIdx.x] = v;
      }
    ]],
    instantiate = { "sum<int>" },
  }
  local out = gpu.zeros(64, "int32")
  k(1, 64, 256)(out)
  t.eq(out[1], 2)
  local steps = gpu.trace(k(1, 64, 256)){ warp = 1 }(out)
  t.eq(at(steps, "T v =")[1].values.v[0], 33 + 2)
  local s = at(steps, "s[threadIdx.x] =")[1].shared.s
  for i = 0, 63 do t.eq(s[i], i >= 32 and i or nil) end -- the other half is another warp's
  t.eq(out[1], 3)
  k(1, 64, 256)(out)
  t.eq(out[1], 4)
end)

t.test("the elements of shared memory that a step writes", function()
  local k = gpu.kernel [[
    __device__ void set(short *p, int i) { *p = -i; }
    __global__ void tiles(float *out) {
      __shared__ float tile[64];
      __shared__ int grid[2][32];
      __shared__ double one;
      __shared__ float4 four[2];
      __shared__ short some[32];
      __shared__ int count;
      int i = threadIdx.x;
      tile[i] = i * 0.5f;
      grid[i / 32][i % 32] = 64 - i;
      if (i == 0) one = 0.25;
      if (i < 2) four[i] = make_float4(1, 2, 3, i);
      if (i < 32) some[i] = 7;
      if (i % 8 == 0) set(&some[i / 2], i);
      if (i == 3) count = 0;
      __syncthreads();
      atomicAdd(&count, 2);
      __syncthreads();
      if (i < 16) tile[i * 4] += tile[i];
      if (i == 0) out[0] = tile[i + 1] + grid[1][2] + one + four[1].w + some[4] + count;
      tile[i ^ 1] = 1.5f;
    }
  ]]
  local out = gpu.zeros(1)
  local steps = gpu.trace(k, 1, 64)(out)
  t.eq(out[1], 0.5 + 30 + 0.25 + 1 - 8 + 128)
  local function shared(text)
    local found = at(steps, text)
    return found[#found].shared
  end
  t.same(shared("tile[i] = i"), { tile = lanes(32, 0, 0.5) })
  t.same(shared("grid[i / 32]"), { grid = lanes(32, 64, -1) })
  t.same(shared("one = 0.25"), { one = { [0] = 0.25 } })
  t.same(shared("make_float4"), { four = { [0] = 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 1.0 } })
  t.same(shared("some[i] = 7"), { some = lanes(32, 7, 0) })
  t.same(at(steps, "*p = -i")[1].shared, { some = { [0] = 0, [4] = -8, [8] = -16, [12] = -24 } })
  t.same(shared("count = 0"), { count = { [0] = 0 } })
  t.eq(shared("atomicAdd").count[0] % 2, 0)
  t.same(shared("__syncthreads"), {})
  local sums = {}
  for i = 0, 15 do sums[4 * i] = 2 * i + i / 2 end
  t.same(shared("tile[i * 4] +="), { tile = sums })
  t.eq(shared("tile[i ^ 1]").tile[5], 1.5) -- a constant, which an instruction on integers writes
  local text = tostring(steps)
  for _, part in ipairs { "| tile[0..31] = 0, 0.5 .. 15.5", "| grid[0..31] = 64, 63 .. 33", "| one = 0.25", "| some[0..31] = 7",
    "| some[0, 4 .. 12] = 0, -8 .. -24", "| tile[0, 4 .. 60] = 0, 2.5 .. 37.5" } do
    assert(text:find(part, 1, true), "no '" .. part .. "' in\n" .. text)
  end
  assert(getmetatable(steps).__display(steps)["text/html"]:find("tile[0..31] = 0, 0.5 .. 15.5", 1, true))
  local some = tostring(gpu.trace(k, 1, 64){ warp = 1, lanes = { 2, 9 } }(out))
  for _, part in ipairs { "tile[34] = 17", "tile[41] = 20.5", "grid[34] = 30", "count = " } do
    assert(some:find(part, 1, true), "no '" .. part .. "' in\n" .. some)
  end
  assert(not some:find("tile[35] = 17.5", 1, true) and not some:find(" \n", 1, true), some)
end)

t.test("mistakes are named", function()
  local x, y = gpu.zeros(64), gpu.zeros(64)
  local tracer = gpu.trace(branch, 2, 32)
  t.raises("gpu.trace(kernel, grid, block [, options])", gpu.trace, branch)
  t.raises("no block (2, 0, 0) in a grid of (2, 1, 1)", tracer { block = 2 }, 1, x, y)
  t.raises("no warp 1 in a block of 1", tracer { warp = 1 }, 1, x, y)
  t.raises("there is no option 'wrap'; there are block, warp, steps and lanes", tracer, { wrap = 1 })
  t.raises("steps: expected a whole number from 1 to 100000, got 0", tracer, { steps = 0 })
  t.raises("lanes: expected a whole number from 0 to 31, got 32", tracer, { lanes = { 1, 32 } })
  t.raises("block: expected a whole number from 0", tracer, { block = { 1.5 } })
  t.raises("branch: takes 3 arguments", tracer, 1, x)
  t.raises({ "read of 4 bytes", "x[64]" }, tracer, 1000, x, y)
  t.eq(#tracer(1, x, y) > 0, true) -- and the session goes on
end)

t.done()
