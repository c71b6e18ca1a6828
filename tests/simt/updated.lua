-- Arrays that a launch loads from and stores to at places that it looks up. Who touches what is counted here, and
-- gpu.check must say just that.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local n = 20480
local random = t.random(7)
local function shuffled(count) return t.shuffled(count, random) end
local each = shuffled(n)

local k = gpu.kernel [==[#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void add(int *y, const int *p, const int *v, int *out) { y[p[I]] += v[I]; }
__global__ void add_pairs(int *y, const int *p, const int *v, int *out)
{
    int2 *q = (int2 *)y + p[I];
    int2 w = *q;
    *q = make_int2(w.x + v[I], w.y);
}
__global__ void add_part(int *y, const int *p, const int *v, int *out) // loads two, stores one of them
{
    int2 w = ((int2 *)y)[p[I]];
    y[2 * p[I] + v[I] % 2] = w.x + w.y;
}
__global__ void add_some(int *y, const int *p, const int *v, int *out)
{
    int w = y[p[I]];
    if (v[I] % 3) y[p[I]] = w + 1;
    else out[I] = w;
}
__global__ void either(int *y, const int *p, const int *v, int *out)
{
    if (v[I] % 3) y[p[I]] = v[I];
    else out[I] = y[p[I]];
}
__global__ void change(int *y, const int *p, const int *v, int *out) // two places each
{
    if (I >= gridDim.x * blockDim.x / 2) return;
    int a = p[2 * I], b = p[2 * I + 1], t = y[a];
    y[a] = y[b];
    y[b] = t;
}
__global__ void often(int *y, const int *p, const int *v, int *out)
{
    for (int i = 0; i < 9; i++) {
        y[p[I]] += v[I];
        if (i == v[I]) y[p[I]] = i;
    }
}
__global__ void turns(int *y, const int *p, const int *v, int *out)
{
    int *own = y + blockIdx.x * blockDim.x;
    own[p[threadIdx.x]] += 1;
    __syncthreads();
    own[threadIdx.x] += v[I];
}
__global__ void no_turns(int *y, const int *p, const int *v, int *out)
{
    int *own = y + blockIdx.x * blockDim.x;
    own[p[threadIdx.x]] += 1;
    __syncwarp();
    own[threadIdx.x] += v[I];
}
__global__ void late(int *y, const int *p, const int *v, int *out)
{
    y[p[I]] += v[I];
    if (I == 20000) out[0] = y[p[5]];
}
__global__ void rows(int *y, const int *p, const int *v, int *out) // whole warps, side by side, in an order of their own
{
    int i = p[I / 32] * 32 + threadIdx.x % 32;
    int w = y[i];
    if (w % 2 == 0) y[i] = w + v[I];
}]==]

local function told(name, threads, y, p, v)
  return gpu.check(function() k[name](n // threads, threads)(y, p, v, gpu.zeros(n, "int32")) end)
end
-- The kinds of pairs that race, without who came first.
local function kinds(reports)
  local all = {}
  for _, r in ipairs(reports) do
    local who = { r.access, r.other.access }
    table.sort(who)
    all[r.kind .. " " .. table.concat(who, " ")] = true
  end
  return all
end

for _, threads in ipairs { 32, 256 } do
  t.test(("by lists, %d threads"):format(threads), function()
    for round = 1, t.brief(4, 2) do
      local places, values, at = table.move(each, 1, n, 1, {}), {}, {}
      for i = 1, n do values[i] = round % 4 == 3 and 4 or 1 + random(6) end
      for _ = 1, round % 2 == 0 and 2 or 0 do places[1 + random(n)] = places[1 + random(n)] end
      local two, writes, differ, mixed = false, false, false, false -- threads at one place
      for i = 1, n do
        for _, j in ipairs(at[places[i]] or {}) do
          local a, b = values[i] % 3 ~= 0, values[j] % 3 ~= 0
          two, writes = true, writes or a or b
          differ = differ or (a and b and values[i] ~= values[j])
          mixed = mixed or a ~= b
        end
        at[places[i]] = at[places[i]] or {}
        table.insert(at[places[i]], i)
      end
      local p, v = gpu.array(places, "int32"), gpu.array(values, "int32")
      local y, pairs_of = gpu.zeros(n, "int32"), gpu.zeros(2 * n, "int32")
      t.eq(#told("add", threads, y, p, v) > 0, two, "add " .. round)
      if not two then
        local result, right = y:totable(), true
        for i = 1, n do right = right and result[places[i] + 1] == values[i] end
        t.eq(right, true)
      end
      t.eq(#told("add_pairs", threads, pairs_of, p, v) > 0, two, "add_pairs " .. round)
      t.eq(#told("add_part", threads, pairs_of, p, v) > 0, two, "add_part " .. round)
      t.eq(#told("add_some", threads, y, p, v) > 0, writes, "add_some " .. round)
      local found = kinds(told("either", threads, y, p, v))
      t.eq(found["race read write"] or false, mixed, "either " .. round)
      t.eq(found["race write write"] or false, differ, "either " .. round)
      t.eq(#told("often", threads, y, p, v) > 0, two, "often " .. round)
    end
  end)
  t.test(("two places each, %d threads"):format(threads), function()
    local y, v = gpu.array(each, "int32"), gpu.zeros(n, "int32")
    local p = gpu.array(shuffled(n), "int32")
    t.eq(#told("change", threads, y, p, v), 0)
    local now, order = y:totable(), p:totable()
    local right = true
    for i = 1, n, 2 do
      local a, b = order[i] + 1, order[i + 1] + 1
      right = right and now[a] == each[b] and now[b] == each[a]
    end
    t.eq(right, true)
    order[11] = order[4000]
    t.eq(#told("change", threads, y, gpu.array(order, "int32"), v) > 0, true)
  end)
  t.test(("by turns, %d threads"):format(threads), function()
    local y, v = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
    local p = shuffled(threads)
    t.eq(#told("turns", threads, y, gpu.array(p, "int32"), v), 0)
    t.eq(gpu.all(y:eq(1)), true)
    t.eq(#told("no_turns", threads, y, gpu.array(p, "int32"), v) > 0, threads > 32)
    for i = 1, threads do p[i] = i - 1 end
    t.eq(#told("no_turns", threads, y, gpu.array(p, "int32"), v), 0)
    p[1] = 1
    t.eq(#told("turns", threads, y, gpu.array(p, "int32"), v) > 0, true)
  end)
  t.test(("an element of another thread, %d threads"):format(threads), function()
    local y, v = gpu.zeros(n, "int32"), gpu.zeros(n, "int32")
    local r = told("late", threads, y, gpu.array(each, "int32"), v)
    t.eq(#r, 1)
    local function name(i) return ("block (%d, 0, 0), thread (%d, 0, 0)"):format(i // threads, i % threads) end
    for _, who in ipairs { name(5), name(20000) } do t.eq(r[1].text:find(who, 1, true) ~= nil, true, who) end
  end)
  t.test(("whole warps, %d threads"):format(threads), function()
    local y, v = gpu.array(each, "int32"), gpu.full({ n }, 2, { dtype = "int32" })
    local p = shuffled(n // 32)
    t.eq(#told("rows", threads, y, gpu.array(p, "int32"), v), 0)
    t.eq(y:sum(), n * (n - 1) // 2 + n)
    p[1] = p[#p]
    t.eq(#told("rows", threads, y, gpu.array(p, "int32"), v) > 0, true)
  end)
end

-- Sums that blocks add to behind barriers, over and over: who else touches one of them is told.
t.test("counters", function()
  local c = gpu.kernel [==[
template <class F> __device__ void count(int *sums, const int *p, F also)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = 0;
    also(0);
    __syncthreads();
    atomicAdd(&s[p[blockIdx.x * 64 + t] % 64], 1);
    also(1);
    __syncthreads();
    atomicAdd(&sums[t], s[t]);
    also(2);
    __syncthreads();
    also(3);
}
extern "C" {
__global__ void alone(int *sums, const int *p, int *out, int block, int when) { count(sums, p, [=](int) {}); }
__global__ void look(int *sums, const int *p, int *out, int block, int when)
{
    count(sums, p, [=](int now) { if (now == when && blockIdx.x == block && threadIdx.x == 9) out[0] = sums[9]; });
}
__global__ void set(int *sums, const int *p, int *out, int block, int when)
{
    count(sums, p, [=](int now) { if (now == when && blockIdx.x == block && threadIdx.x == 9) sums[9] = 0; });
}
__global__ void own(int *sums, const int *p, int *out, int block, int when) // a sum for each block
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = p[blockIdx.x * 64 + t];
    if (t == 0) sums[blockIdx.x] = 0;
    if (when) __syncthreads();
    atomicAdd(&sums[blockIdx.x], s[t]);
    __syncthreads();
    if (t == 1) out[blockIdx.x] = sums[blockIdx.x];
}
}]==]
  local blocks = 600
  local list, right = {}, {}
  for i = 1, 64 * blocks do list[i] = random(64) end
  for i = 1, 64 do right[i] = 0 end
  for _, v in ipairs(list) do right[v + 1] = right[v + 1] + 1 end
  local p, out = gpu.array(list, "int32"), gpu.zeros(blocks, "int32")
  local block_of = 0
  for _, size in ipairs(t.brief({ 64, 600, 1 << 16 }, { 64, 600 })) do
    local sums = gpu.zeros(size, "int32")
    local function found(name, block, when)
      return gpu.check(function() c[name](blocks, 64)(sums, p, out, block, when) end)
    end
    t.eq(#found("alone", 0, 0), 0)
    t.eq(gpu.all(sums[{ { 1, 64 } }]:eq(gpu.array(right, "int32"))), true)
    for when = 0, 3 do
      block_of = block_of % 4 + 1 -- each size meets each moment, and the moments all blocks, in turn
      local block = ({ 0, 1, 300, blocks - 1 })[block_of]
      for _, name in ipairs { "look", "set" } do
        local r = found(name, block, when)
        t.eq(#r, 1, ("%s by block %d at %d"):format(name, block, when))
        t.eq(r[1].kind, "race")
        t.eq(r[1].text:find(("block (%d, 0, 0), thread (9, 0, 0)"):format(block), 1, true) ~= nil, true)
      end
    end
    block_of = block_of + 1
    if size >= blocks then
      t.eq(#found("own", 0, 1), 0)
      t.eq(#found("own", 0, 0), 1)
    end
  end
end)

t.done()
