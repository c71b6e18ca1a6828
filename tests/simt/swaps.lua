-- Loops around a compare-and-swap, and other atomics, beside plain accesses to the same variable of shared memory, or to the
-- same array: they race where no barrier stands between the two, in whatever order threads come, and nowhere else.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

local head = [[
__device__ __forceinline__ void swap_int(int *p) {
  int old = *p, seen;
  do { seen = old; old = atomicCAS(p, seen, 2 * seen + 1); } while (seen != old);
}
__device__ __forceinline__ void swap_double(double *p) {
  unsigned long long *cell = (unsigned long long *)p, old = *cell, seen;
  do {
    seen = old;
    old = atomicCAS(cell, seen, __double_as_longlong(1.0 + __longlong_as_double(seen)));
  } while (seen != old);
}
]]
local acts = {
  store = "x[me] = t;",
  load = "sum += x[(me + 3) % 8];", -- or the compiler would take it for what a swap begins with
  add = "atomicAdd(&x[me], (T)1);",
  swap = "SWAP(&x[me]);",
  other = "if (t < 8) z[t] += 1;", -- another variable
}
local names = { "store", "load", "add", "swap", "other" }
local fine = { load = { load = true }, add = { add = true, swap = true }, swap = { add = true, swap = true } }

-- Eight places, each of which eight threads of two warps touch: do two acts of a list race that no barrier parts?
local function races(list)
  for i = 1, #list do
    for j = i, #list do
      local a, b = list[i], list[j]
      if b == "barrier" then break end
      if a ~= "barrier" and a ~= "other" and b ~= "other" and not (fine[a] and fine[a][b]) then return true end
    end
  end
  return false
end

-- Programs of three acts with barriers between some of them, once or in a loop, whose first lines are those of all.
local state = 12345
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % n + 1
end
local programs, text = {}, { head }
for k = 1, 240 do
  local p, lines = { rounds = random(3), type = random(2) == 1 and "int" or "double", dynamic = random(3) == 1 }, {}
  for a = 1, 3 do
    local act = names[a == 1 and random(5) or random(4)]
    p[#p + 1], lines[#lines + 1] = act, acts[act]
    local way = random(4) -- most have barriers
    if way > 1 then p[#p + 1], lines[#lines + 1] = "barrier", way == 2 and "if (n) __syncthreads();" or "__syncthreads();" end
  end
  programs[k] = p
  text[#text + 1] = ([[
#define T %s
#define SWAP swap_%s
extern "C" __global__ void k%d(T *y, int rounds, int n) {
  __shared__ T s[8], z[8];
  extern __shared__ T d[];
  T *x = %s, sum = 0;
  int t = threadIdx.x, me = t * 5 %% 8;
  if (t < 8) x[t] = z[t] = 0;
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < rounds; r++) {
    %s
  }
  __syncthreads();
  y[t] = sum + x[me];
}
#undef T
#undef SWAP]]):format(p.type, p.type, k, p.dynamic and "(T *)d" or "s", table.concat(lines, "\n    "))
end
local k = gpu.kernel((table.concat(text, "\n"):gsub("extern __shared__ T d", "extern __shared__ double d")))
local y32, y64 = gpu.zeros(64, "int32"), gpu.zeros(64, "float64")

local told, silent = 0, 0
for n, p in ipairs(programs) do
  local list = {}
  for _ = 1, p.rounds do
    table.move(p, 1, #p, #list + 1, list)
  end
  local want = races(list)
  if want then told = told + 1 else silent = silent + 1 end
  t.test(("program %d, %s, %d times: %s"):format(n, table.concat(p, " "), p.rounds, want and "races" or "right"), function()
    local found = gpu.check(function() k["k" .. n](2, 64, 64)(p.type == "int" and y32 or y64, p.rounds, 1) end)
    t.eq(#found > 0, want)
    for _, r in ipairs(found) do t.eq(r.kind, "race") end
  end)
end
t.test("programs of both kinds", function() assert(told > 40 and silent > 40, told .. " " .. silent) end)

-- Places that most threads of a launch only swap or add to, or look at, and one thread also touches plainly: before that, in any
-- block, or behind that of its own block and then of all.
local late = gpu.kernel { source = head .. [[
extern "C" __global__ void k(int *x, int *out, int kind, int what, int who, int first, volatile int *went) {
  int t = threadIdx.x, me = t * 5 % 8, sum = 0;
  bool mine = blockIdx.x == who && t == 37;
  for (int pass = 0; pass < 2; pass++) {
    if (pass && blockIdx.x == who) while (*went < gridDim.x - 1) {} // which puts nothing in order
    if (pass) __syncthreads();
    if (mine && pass == first) {
      if (what == 1) x[me] = 7; // line STORE
      if (what == 2) sum += x[me]; // line LOAD
    }
    if (pass == 0 && kind & 1) swap_int(&x[me]);
    if (pass == 0 && kind & 2) atomicAdd(&x[me], 1);
    if (pass == 0 && kind & 4) sum += ((volatile int *)x)[me];
    if (pass == 0 && kind & 8) atomicMax(&x[8 + me], 1);
  }
  if (t == 0 && blockIdx.x != who) atomicAdd((int *)went, 1);
  out[blockIdx.x * blockDim.x + t] = sum;
}]], chunk = "late", line = 1 }
local line_of = {}
local number = 0
for line in (head .. late.source:sub(#head + 1)):gmatch "([^\n]*)\n" do
  number = number + 1
  local name = line:match "// line (%u+)"
  if name then line_of[name] = number end
end
local what_is = { [0] = "nothing", "a store", "a load" }
for kind = 1, 11 do
  for what = 0, 2 do
    local meets = what == 1 and kind & 7 ~= 0 or what == 2 and kind & 3 ~= 0
    t.test(("%s beside %s%s%s%s"):format(what_is[what], kind & 1 > 0 and "swaps " or "", kind & 2 > 0 and "additions " or "",
      kind & 4 > 0 and "looks " or "", kind & 8 > 0 and "others" or ""), function()
      for _, blocks in ipairs { 1, 2, 9 } do
        for _, who in ipairs { 0, blocks // 2, blocks - 1 } do
          for first = 0, 1 do
            local x, out, went = gpu.zeros(16, "int32"), gpu.zeros(blocks * 64, "int32"), gpu.zeros(1, "int32")
            local found = gpu.check(function() late.k(blocks, 64)(x, out, kind, what, who, first, went) end)
            t.eq(#found > 0, meets and (first == 0 or blocks > 1))
            local line = line_of[what == 1 and "STORE" or "LOAD"]
            for _, r in ipairs(found) do assert(r.line == line or r.other.line == line, r.text) end
          end
        end
      end
    end)
  end
end

-- The same with the places in a variable of the source: known by its name, with another one touched plainly beside it, or by a
-- parameter, too.
local named = gpu.kernel { source = head .. [[
__device__ int x[8], z[8];
extern "C" __global__ void k(int *alias, int *out, int what, int last, volatile int *went) {
  int t = threadIdx.x, me = t * 5 % 8, sum = 0;
  bool mine = blockIdx.x == 0 && t == 37;
  if (mine || !blockIdx.x == last) while (*went < (last ? gridDim.x - 1 : t != 37)) {} // which puts nothing in order
  if (mine && what == 1) x[me] = 7;
  if (mine && what == 2) sum += x[me];
  if (mine && what == 3) alias[me] = 7;
  if (mine && what == 4) sum += alias[me];
  if (mine && what == 5) z[me] = sum + 1;
  swap_int(&x[me]);
  if (last ? t == 0 && blockIdx.x : mine) atomicAdd((int *)went, 1);
  out[blockIdx.x * blockDim.x + t] = sum;
}]], chunk = "named", line = 1 }
for what, name in pairs { [0] = "nothing", "a store", "a load", "a store by a parameter", "a load by a parameter", "another variable" } do
  t.test(name .. " beside swaps of a variable", function()
    for _, own in ipairs(what >= 3 and { false, true } or { false }) do
      for _, blocks in ipairs { 1, 2, 9 } do
        for last = 0, 1 do
          local alias, out, went = named:global(own and "z" or "x"), gpu.zeros(blocks * 64, "int32"), gpu.zeros(1, "int32")
          local found = gpu.check(function() named(blocks, 64)(alias, out, what, last, went) end)
          t.eq(#found > 0, what >= 1 and what <= 4 and not own)
        end
      end
    end
  end)
end
