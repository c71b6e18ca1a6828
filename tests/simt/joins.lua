-- Places of shared memory that many threads' atomics update: who joins them is told of what others do there, of the other
-- places that the lanes go to, and of the other words, whether all threads of the block met last or some.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- Warps 0 to 2 do their part, and warp 3 the last one once it saw that, by what orders nothing.
local source = [[
__global__ void k(int *out, int *flag) {
  __shared__ int s[4];
  __shared__ unsigned long long wide;
  int me = threadIdx.x, warp = me / 32, lane = me % 32;
  if (me < 4) s[me] = 0;
  if (me == 0) wide = 0;
  __syncthreads();
  BEFORE
  if (PARTED && warp < 3) asm volatile("bar.sync 1, 96;" ::: "memory");
  if (warp < 2) FIRST;
  if (warp == 2) SECOND;
  if (warp < 3) atomicAdd(flag, 1);
  else {
    while (atomicAdd(flag, 0) < 96) {}
    LAST;
  }
}]]

local function found(parted, before, first, second, last)
  local parts = { BEFORE = before, PARTED = parted, FIRST = first, SECOND = second, LAST = last }
  local k = gpu.kernel((source:gsub("%u%u+", parts)))
  return gpu.check(function() k(1, 128)(gpu.zeros(128, "int32"), gpu.zeros(1, "int32")) end)
end

local plain = [[asm volatile("st.shared.u32 [%0], 1;" :: "r"((unsigned)__cvta_generic_to_shared(PLACE)) : "memory")]]
local function store(place) return "if (lane == 0) " .. plain:gsub("PLACE", place) end
local both = "atomicAdd(&s[0], 1), atomicAdd((int *)&wide, 1), atomicAdd(&wide, 1ull << 32)"
local low = "atomicAdd((int *)&wide, 1)"

for _, parted in ipairs { "0", "1" } do
  local function case(name, races, ...)
    local parts = table.pack(...)
    t.test(name .. (parted == "1" and ", behind a meeting of some" or ""), function()
      local reports = found(parted, parts[1], parts[2], parts[3], parts[4])
      t.eq(#reports > 0, races, reports[1] and reports[1].text)
      for _, r in ipairs(reports) do t.eq(r.kind, "race", r.text) end
    end)
  end
  case("only atomics", false, "", both, both, both)
  case("another place that a lane goes to", true, "", "atomicAdd(&s[0], 1)", store("&s[1]"), "atomicAdd(&s[lane == 5], 1)")
  case("the other word of a wide one", true, "", low, store("(int *)&wide + 1"), "atomicAdd(&wide, 1ull)")
  case("a word that another thread wrote", true, "", "atomicAdd(&s[0], 1)", store("&s[0]"), "atomicAdd(&s[0], 1)")
end
t.test("a word that others come behind the reader of", function()
  local before = [[if (warp < 3) asm volatile("bar.sync 2, 96;" ::: "memory"); if (warp == 2) out[me] = s[0];]]
  t.eq(#found("1", before, "atomicAdd(&s[0], 1)", "", "atomicAdd(&s[0], 1)") > 0, true)
  t.eq(#found("1", before, "atomicAdd(&s[0], 1)", "", "atomicAdd(&s[1], 1)"), 0)
end)

t.on_threads("tests/simt/joins.lua", 1)

t.done()
