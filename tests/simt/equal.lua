-- Stores of equal values, which are no race unless checks are strict, and of values that are equal in one round of a loop or in
-- one lane, and not in another: these race whatever runs first.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")

-- Line 1 of a case is the first one behind this. 96 threads, three warps.
local head = [[
#define PUT(p, v) asm volatile("st.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory")
#define PUT_BYTE(p, v) asm volatile("st.u8 [%0], %1;" :: "l"(p), "r"(v) : "memory")
__global__ void k(int *x, int *out, int rounds) {
  __shared__ int s[128];
  int me = threadIdx.x, warp = me / 32, lane = me % 32;
  for (int i = me; i < 128; i += 96) s[i] = i;
  __syncthreads();
#line 1 "case"
]]

-- What is found: "LINE LINE", with the lower one first.
local function found_in(source, strict)
  local k = gpu.kernel { source = head .. source .. "\n out[me] = s[me]; }", chunk = "case", line = 1 }
  local x, out = gpu.range(1, 512):to("int32"), gpu.zeros(96, "int32")
  local found = {}
  for _, r in ipairs((gpu.check(function() k(1, 96)(x, out, 3) end, strict))) do
    found[#found + 1] = r.kind == "race" and ("%d %d"):format(math.min(r.line, r.other.line), math.max(r.line, r.other.line)) or r.message
  end
  return table.concat(found, ", ")
end

-- What is to be found by default, and by strict checks. In the source, M is x, which is in global memory, or s.
local function case(name, source, want, strict)
  for memory in ("xs"):gmatch "." do
    t.test(name .. " (" .. memory .. ")", function()
      local body = source:gsub("%f[%w]M%f[%W]", memory)
      t.eq(found_in(body), want)
      t.eq(found_in(body, "strict"), strict)
    end)
  end
end

case("the lanes of a warp store the number of the round", [[
  if (warp == 1) for (int r = 0; r < rounds; r++)
    PUT(M + 5, r);
  __syncthreads();
]], "2 2", "2 2")

case("some lanes of a warp do", [[
  if (warp == 1 && lane % 5 == 2) for (int r = 0; r < rounds; r++)
    PUT(M + lane / 10, r);
  __syncthreads();
]], "2 2", "2 2")

case("lanes do to bytes", [[
  if (warp == 1) for (int r = 0; r < rounds; r++)
    PUT_BYTE((char *)M + lane / 4, r);
  __syncthreads();
]], "2 2", "2 2")

case("one lane does, and in the last round all", [[
  if (warp == 1) for (int r = 0; r < rounds; r++)
    if (lane == 31 || r == rounds - 1)
      PUT(M + 5, r);
  __syncthreads();
]], "3 3", "3 3")

case("the lanes of a warp store one value in all rounds", [[
  if (warp == 1) for (int r = 0; r < rounds; r++)
    PUT(M + 5, 7);
  __syncthreads();
]], "", "2 2")

case("lanes store that of their place in all rounds", [[
  if (warp == 1) for (int r = 0; r < rounds; r++)
    PUT(M + lane / 3, lane / 3);
  __syncthreads();
]], "", "2 2")

case("each lane stores the number of the round to a place of its own", [[
  for (int r = 0; r < rounds; r++)
    PUT(M + me, r);
  __syncthreads();
]], "", "")

case("the lanes meet between the rounds", [[
  if (warp == 1) for (int r = 0; r < rounds; r++) {
    PUT(M + 5, r);
    __syncwarp();
  }
  __syncthreads();
]], "", "2 2")

case("two warps store one value in all rounds", [[
  if (warp != 1) for (int r = 0; r < rounds; r++)
    PUT(M + 5, 7);
  __syncthreads();
]], "", "2 2")

t.on_threads("tests/simt/equal.lua", 18)

t.done()
