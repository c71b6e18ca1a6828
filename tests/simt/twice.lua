-- What a thread does to a place does not hide what it did there before: volatile accesses and plain ones, loads and stores, of
-- one value and of others. Two parties that nothing orders, blocks, warps or quarters of a warp, each do up to two things to one
-- place or to a row, all that there are; whether they race follows from each pair of these, whichever party comes first. But
-- one that ends with a store of what the other one stores may be told or not, unless checks are strict.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local is = {
  read = { code = 1 }, same = { code = 2, value = 5 }, other = { code = 3, value = 6 }, atomic = { code = 4, strong = true, updates = true },
  look = { code = 5, strong = true, volatile = true }, strong = { code = 6, value = 5, strong = true, volatile = true },
  strong_other = { code = 7, value = 6, strong = true, volatile = true },
  guess = { code = 8, strong = true, updates = true }, -- a loop around a compare-and-swap, which begins with a plain read
}
-- A launch that has volatile accesses, or guesses, keeps more in mind than one that has none.
local kinds = {
  { "read", "same", "other", "atomic" },
  { "read", "same", "other", "atomic", "look", "strong", "strong_other", name = ", also volatile" },
  { "read", "same", "atomic", "guess", name = ", also guesses" },
}
local source = [[
__device__ __forceinline__ void act(int *y, int *sum, int what) {
  switch (what) {
    case 1: asm volatile("ld.s32 %0, [%1];" : "=r"(*sum) : "l"(y) : "memory"); break;
    case 2: asm volatile("st.s32 [%0], 5;" :: "l"(y) : "memory"); break;
    case 3: asm volatile("st.s32 [%0], 6;" :: "l"(y) : "memory"); break;
    case 4: atomicAdd(y, 1); break;
#if KIND == 2
    case 5: *sum += *(volatile int *)y; break;
    case 6: *(volatile int *)y = 5; break;
    case 7: *(volatile int *)y = 6; break;
#elif KIND == 3
    case 8: {
      int old = *y, seen;
      do { seen = old; old = atomicCAS(y, seen, seen + 1); } while (seen != old);
    }
#endif
  }
}
template <int parties> __device__ __forceinline__ void both(int *y, int *out, int row, int a, int b) {
  int lanes = parties == 0 ? 8 : 32, me = parties == 2 ? blockIdx.x : threadIdx.x / lanes, sum = 0;
  y += row ? threadIdx.x % lanes : 40;
  if (me < 2 && (row || threadIdx.x % lanes == 3))
    for (int code = me ? b : a; code; code >>= 4) act(y, &sum, code & 15);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
template <int parties> __device__ __forceinline__ void both_shared(int *out, int row, int a, int b) {
  __shared__ int s[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0;
  __syncthreads();
  both<parties>(s, out, row, a, b);
}
__global__ void global1(int *y, int *out, int row, int a, int b) { both<0>(y, out, row, a, b); }
__global__ void global2(int *y, int *out, int row, int a, int b) { both<1>(y, out, row, a, b); }
__global__ void global3(int *y, int *out, int row, int a, int b) { both<2>(y, out, row, a, b); }
__global__ void shared1(int *y, int *out, int row, int a, int b) { both_shared<0>(out, row, a, b); }
__global__ void shared2(int *y, int *out, int row, int a, int b) { both_shared<1>(out, row, a, b); }]]

-- All that a party may do, as the kernel is told of it.
local function lists_of(steps)
  local lists = {}
  for _, one in ipairs(steps) do
    lists[#lists + 1] = { one, code = is[one].code }
    for _, two in ipairs(steps) do lists[#lists + 1] = { one, two, code = is[one].code | is[two].code << 4 } end
  end
  return lists
end

local function conflict(a, b, strict, in_step)
  a, b = is[a], is[b]
  if not (a.value or a.updates or b.value or b.updates) then return false end
  if a.strong and b.strong and not (in_step and a.volatile and b.volatile) then return false end
  return strict or not (a.value and a.value == b.value)
end

-- Does a later step of the list store what another one does?
local function is_hidden(list, n, other)
  for later = n + 1, #list do
    if is[other].value and is[list[later]].value == is[other].value then return true end
  end
  return false
end

-- Do two parties race? And is it sure to be told?
local function races(one, two, strict, in_step)
  local any, sure = false, false
  for m, a in ipairs(one) do
    for n, b in ipairs(two) do
      if conflict(a, b, strict, in_step) then
        any = true
        sure = sure or strict or not (is_hidden(one, m, b) or is_hidden(two, n, a))
      end
    end
  end
  return any, sure
end

local y, out = gpu.zeros({ 64 }, "int32"), gpu.zeros({ 128 }, "int32")
local function test(name, launch, lists, in_step)
  t.test(name, function()
    local wrong = {}
    for m, one in ipairs(lists) do
      for n = 1 + m % t.brief(1, 7), #lists, t.brief(1, 7) do
        local two = lists[n]
        for _, strict in ipairs { false, true } do
          local found = gpu.check(function() launch(one.code, two.code) end, strict and "strict" or nil)
          local any, sure = races(one, two, strict, in_step)
          if (#found > 0 and not any) or (#found == 0 and sure) then
            wrong[#wrong + 1] = ("%s beside %s%s: %d reports"):format(table.concat(one, ", "), table.concat(two, ", "), strict and ", strict" or "", #found)
          end
        end
      end
    end
    t.eq(table.concat(wrong, "\n"), "")
  end)
end

for n, steps in ipairs(kinds) do
  local k, lists = gpu.kernel { source = source, options = { "-DKIND=" .. n } }, lists_of(steps)
  for _, space in ipairs { "global", "shared" } do
    for parties, name in ipairs { "quarters of a warp", "warps", space == "global" and "blocks" or nil } do
      for row = 0, 1 do
        test(("%s, %s, %s memory%s"):format(name, row == 1 and "a row" or "one place", space, steps.name or ""),
          function(a, b) k[space .. parties](parties == 3 and 2 or 1, parties == 2 and 64 or 32)(y, out, row, a, b) end,
          lists, space == "shared" and parties == 1)
      end
    end
  end
end

t.on_threads("tests/simt/twice.lua", 10)

t.done()
