-- Random kernels whose threads touch bytes, halves and words of arrays in shared memory, in rows and anywhere, all lanes or
-- some: gpu.check finds a race just where a model of each byte does, and else what is read before it was written, and leaves
-- results as they are.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local BYTES <const> = 256
local types <const> = { "unsigned char", "half_word", [4] = "word" }
local head <const> = [[
typedef unsigned short __attribute__((may_alias)) half_word;
typedef unsigned __attribute__((may_alias)) word;
]]
local random = t.random(tonumber(os.getenv "LUNARRAY_SEED") or 3)
local function one_of(list) return list[random(#list) + 1] end

-- Arrays: how they are declared, and the sizes of what is done with them.
local function declarations()
  local kinds = { { 1 }, { 2 }, { 4 }, { 1, 2 }, { 1, 4 }, { 2, 4 }, { 1, 2, 4 } }
  local arrays = { { name = "a", sizes = one_of(kinds) }, { name = "b", sizes = one_of { { 4 }, { 1 }, { 2 } } } }
  local text = { random(2) == 0 and "__shared__ unsigned char c[3];" or "" }
  for k, array in ipairs(arrays) do
    local dynamic = k == 1 and random(3) == 0
    text[#text + 1] = dynamic and "extern __shared__ __align__(4) unsigned char a[];"
      or ("__shared__ __align__(%d) unsigned char %s[%d];"):format(array.sizes[#array.sizes], array.name, BYTES)
    array.dynamic = dynamic
  end
  if text[1] ~= "" then text[#text + 1] = "if (i < 3) c[i] = i;" end
  return arrays, table.concat(text, "\n  ")
end

-- An element of which thread i does something, from its lists; the index is -1 where it does nothing. `row`: the code says
-- that neighbours touch neighbours.
local function access(array, number)
  local size, store, row = one_of(array.sizes), random(5) < 2, random(3) > 0
  local index = row and ("i + on[%d]"):format(number) or ("place[%d * n + i]"):format(number)
  local element = ("((%s *)%s)[%s]"):format(types[size], array.name, index)
  local text = store and ("%s = 7 * i + %d;"):format(element, number) or ("sum = 3 * sum + %s;"):format(element)
  local masked = not row or random(2) == 0
  if masked then text = ("if (place[%d * n + i] >= 0) "):format(number) .. text end
  return { array = array, size = size, store = store, row = row, masked = masked, text = text }
end

local function program()
  local arrays, declared = declarations()
  local steps, text = {}, {}
  local function add(step)
    if not step.meet then step.number = #steps end
    steps[#steps + 1], text[#text + 1] = step, step.text
  end
  for _, array in ipairs(arrays) do
    if random(4) > 0 then
      local size = one_of(array.sizes)
      text[#text + 1] = ("for (int k = i; k < %d; k += n) ((%s *)%s)[k] = k;"):format(BYTES // size, types[size], array.name)
      array.filled = size
    end
  end
  add { meet = "block", text = "__syncthreads();" }
  for _ = 1, 4 + random(8) do
    local meet = random(6)
    if meet < 2 then add { meet = "block", text = "__syncthreads();" } end
    if meet == 2 then add { meet = "warp", text = "__syncwarp();" } end
    add(access(one_of(arrays), #steps))
  end
  for _, array in ipairs(arrays) do -- what is never read the compiler leaves out
    text[#text + 1] = ("if (on[0] < 0) sum += ((%s *)%s)[-on[0]];"):format(types[array.sizes[1]], array.name)
  end
  local source = head .. ([[
__global__ void k(const int *on, const int *place, unsigned *out) {
  int i = threadIdx.x, n = blockDim.x;
  unsigned sum = 0;
  %s
  %s
  out[i] = sum;
}]]):format(declared, table.concat(text, "\n  "))
  return { arrays = arrays, steps = steps, source = source, kernel = gpu.kernel { source = source, chunk = "chance", line = 1 } }
end

-- Where threads of a step are: forms of the lists.
local forms = {
  function(i, _, k) return i + k % 16 end,
  function(i, n, k) return n - 1 - i + k % 8 end,
  function(i, _, k) return i ~ (k % 32) end,
  function(i, _, k) return i * 5 % 61 + k % 3 end,
  function(i, _, k) return i % 32 < k % 34 and i or -1 end,
  function(i, _, k) return i % 32 >= k % 32 and 2 * i or -1 end,
  function(i, _, k) return i % 4 == k % 4 and i // 4 or -1 end,
  function(i, _, k) return i == k and i + 1 or -1 end,
  function(_, _, k) return k % 40 end,
  function(i, _, k) return i // 32 == k % 2 and i or -1 end,
  function() return -1 end,
}
local function lists(p, n)
  local on, place = {}, {}
  local quiet = random(2) == 0 -- most often each thread has its own
  for s = 1, #p.steps do
    local form, k, most = quiet and forms[random(3) == 0 and 5 or 1] or one_of(forms), random(64), BYTES // (p.steps[s].size or 1)
    if quiet then k = form == forms[1] and 0 or k end
    on[s] = quiet and random(4) > 0 and 0 or random(most - n + 1)
    for i = 0, n - 1 do place[#place + 1] = math.min(form(i, n, k), most - 1) end
  end
  return on, place
end

local function model(p, n, on, place)
  local found, sums, memory, touched, warp_times = {}, {}, {}, {}, {}
  for i = 0, n - 1 do sums[i] = 0 end
  for _, array in ipairs(p.arrays) do
    memory[array], touched[array] = {}, {}
    for at = 0, array.filled and BYTES - 1 or -1 do
      local k = at // array.filled
      memory[array][at] = k >> 8 * (at % array.filled) & 255
    end
  end
  local time = 0
  local function touch(array, at, i, store)
    local list = touched[array][at] or {}
    touched[array][at] = list
    for _, x in ipairs(list) do
      local ordered = x.thread == i or (x.thread // 32 == i // 32 and x.time < (warp_times[i // 32] or 0))
      if not ordered and (store or x.store) then found.race = true end
    end
    list[#list + 1] = { thread = i, time = time, store = store }
  end
  for s, step in ipairs(p.steps) do
    time = time + 1
    if step.meet == "block" then
      for _, array in ipairs(p.arrays) do touched[array] = {} end
    elseif step.meet == "warp" then
      for w = 0, (n - 1) // 32 do warp_times[w] = time end
    end
    for i = 0, step.meet and -1 or n - 1 do
      local listed = place[(s - 1) * n + i + 1]
      local index = step.row and i + on[s] or listed
      if not (step.masked and listed < 0) then
        local value, bytes = 7 * i + step.number, memory[step.array]
        local read = 0
        for b = 0, step.size - 1 do
          local at = index * step.size + b
          touch(step.array, at, i, step.store)
          if step.store then
            bytes[at] = value >> 8 * b & 255
          else
            if not bytes[at] then found.lacking = true end
            read = read | (bytes[at] or 0) << 8 * b
          end
        end
        if not step.store then sums[i] = (3 * sums[i] + read) & 0xffffffff end
      end
    end
  end
  return found, sums
end

t.test("what is told of bytes, halves and words is what the model says", function()
  local raced, lacking, clean = 0, 0, 0
  for trial = 1, 40 do
    local p = program()
    for run = 1, 12 do
      local n = one_of { 32, 64, 64, 40 }
      local on, place = lists(p, n)
      local want, sums = model(p, n, on, place)
      local out, what = gpu.zeros(n, "uint32"), ("trial %d, run %d, %d threads\n%s\n"):format(trial, run, n, p.source)
      local given, places = gpu.array(on, "int32"), gpu.array(place, "int32")
      local found = {}
      for _, r in ipairs((gpu.check(function() p.kernel(1, n, p.arrays[1].dynamic and BYTES or 0)(given, places, out) end, "strict"))) do
        assert(r.kind == "race" or r.kind == "uninitialized read", what .. r.text)
        found[r.kind] = true
        what = what .. r.text .. "\n"
      end
      t.eq(found.race == true, want.race == true, what)
      if not want.race then
        t.eq(found["uninitialized read"] == true, want.lacking == true, what)
        for i = 0, want.lacking and -1 or n - 1 do t.eq(out[i + 1], sums[i], what) end
      end
      raced, lacking = raced + (want.race and 1 or 0), lacking + (not want.race and want.lacking and 1 or 0)
      clean = clean + (not (want.race or want.lacking) and 1 or 0)
    end
  end
  assert(raced > 40 and lacking > 20 and clean > 40, raced .. " " .. lacking .. " " .. clean)
end)

local generic = gpu.kernel [=[
__global__ void k(unsigned char *x, const int *store, const int *load, int *out, int meet) {
  __shared__ unsigned char s[64];
  __shared__ int w[64];
  int i = threadIdx.x;
  s[i] = i, w[i] = i;
  __syncthreads();
  unsigned char *p = store[i] < 0 ? x : s, *q = load[i] < 0 ? x + 64 : s;
  if (store[i] < 64) p[store[i] < 0 ? i : store[i]] = i;
  if (meet) __syncthreads();
  out[i] = q[load[i] < 0 ? i : load[i]] + w[63 - i];
  if (meet > 1) out[i] += s[63 - i];
}]=]

t.test("an address that may be of shared memory or not", function()
  local x, out = gpu.zeros(128, "uint8"), gpu.zeros(64, "int32")
  local function races(store, load, meet)
    local at, from = {}, {}
    for i = 0, 63 do at[i + 1], from[i + 1] = store(i), load(i) end
    local list = gpu.check(function() generic.k(1, 64)(x, gpu.array(at, "int32"), gpu.array(from, "int32"), out, meet) end)
    for _, r in ipairs(list) do t.eq(r.kind, "race") end
    return #list > 0
  end
  local function nowhere() return -1 end
  local function own(i) return i end
  local function turned(i) return 63 - i end
  local function one(i) return i == 5 and 40 or 64 end
  t.eq(races(nowhere, nowhere, 0), false)
  t.eq(races(own, own, 0), false)
  t.eq(races(own, turned, 0), true)
  t.eq(races(own, turned, 1), false)
  t.eq(races(nowhere, turned, 0), false)
  t.eq(races(one, nowhere, 0), false)
  t.eq(races(one, own, 0), true)
  t.eq(races(one, own, 2), false)
end)

local places = gpu.kernel [=[
__global__ void far(int n, int *out, int turned) {
  __shared__ unsigned char s[64];
  __shared__ short h[64];
  int i = threadIdx.x, k = i + n, at = turned ? 63 - i : i;
  s[k - 600000000] = i, h[k - 600000000] = i;
  if (turned != 2) __syncthreads();
  out[i] = s[at + n - 600000000] + h[at + n - 600000000];
}
__global__ void heap(char *x, unsigned long long *top, int *out, int n) {
  __shared__ char s[64];
  int i = threadIdx.x;
  s[i] = i;
  __syncthreads();
  if (i == 0) *top = (unsigned long long)x;
  __syncthreads();
  char *p = i < n ? s + i : (char *)atomicAdd(top, 1ull);
  asm volatile("" : "+l"(p));
  *p = *p + 1;
  __syncthreads();
  out[i] = s[i];
}
__global__ void either(int n, int *out, int meet) {
  __shared__ unsigned char s[64], w[64];
  int i = threadIdx.x;
  s[i] = i, w[i] = i;
  __syncthreads();
  unsigned char *p = n > 7 ? s : w;
  p[i] = 3;
  if (meet) __syncthreads();
  out[i] = s[63 - i] + w[i];
}
__shared__ unsigned char common[64];
__device__ __noinline__ void store(int at, int value) {
  common[at] = value;
}
__global__ void called(int n, int *out, int meet) {
  int i = threadIdx.x;
  store(i, n);
  if (meet) __syncthreads();
  out[i] = common[63 - i];
}
__global__ void counted(const unsigned *from, int *out, int n) {
  __shared__ unsigned count[4];
  __shared__ unsigned char list[128];
  int i = threadIdx.x;
  if (i < 4) count[i] = 0;
  __syncthreads();
  list[atomicAdd(&count[0], 1)] = i;
  __syncthreads();
  list[64 + (from[i] ^ n)] = list[count[0] - 1 - i];
  __syncthreads();
  out[i] = list[64 + i];
}]=]

t.test("bytes and halves by an offset that takes a large sum back", function()
  local out = gpu.zeros(64, "int32")
  for turned = 0, 2 do
    local found = gpu.check(function() places.far(1, 64)(600000000, out, turned) end)
    t.eq(#found > 0, turned == 2)
    for _, r in ipairs(found) do t.eq(r.kind, "race", r.text) end
    for i = 0, 63 do t.eq(out[i + 1], turned == 0 and 2 * i or turned == 1 and 2 * (63 - i) or out[i + 1]) end
  end
end)

t.test("a pointer that is counted on in memory is not one to the variable that it stands for elsewhere", function()
  local x, top, out = gpu.zeros(128, "int8"), gpu.zeros(1, "uint64"), gpu.zeros(64, "int32")
  local found = gpu.check(function() places.heap(1, 64)(x, top, out, 32) end)
  t.eq(#found, 0, found[1] and found[1].text)
  for i = 0, 63 do t.eq(out[i + 1], i < 32 and i + 1 or i) end
  for i = 0, 31 do t.eq(x[i + 1], 1) end
end)

t.test("bytes of one of two arrays, and of one that a function that is called stores to", function()
  local out = gpu.zeros(64, "int32")
  for meet = 0, 1 do
    for _, name in ipairs { "either", "called" } do
      local found = gpu.check(function() places[name](1, 64)(9, out, meet) end)
      t.eq(#found > 0, meet == 0, name)
      for _, r in ipairs(found) do t.eq(r.kind, "race", r.text) end
    end
  end
end)

t.test("places that are counted in shared memory", function()
  local from, out = {}, gpu.zeros(64, "int32")
  for i = 0, 63 do from[i + 1] = i ~ 5 end
  local function found(n) return gpu.check(function() places.counted(1, 64)(gpu.array(from, "uint32"), out, n) end) end
  t.eq(#found(5), 0)
  t.eq(out:sum(), 63 * 32)
  from[8] = from[9]
  local reports = found(5)
  t.eq(reports[1] and reports[1].kind, "race")
end)

t.done()
