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
