-- A place that many threads of several blocks read, each behind its writer by a flag: who comes to them is told of what
-- it is not behind, and of nothing else, whether it reads or writes, the place, a byte of it or one beside it.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

-- The first block writes, all others but the last two read. They are over before those begin, by a count that puts in
-- order what is FENCED; the last one is behind the other likewise.
local source = [[
#define SAY() (*(volatile int *)flag = 1)
#define AWAIT() while (!*(volatile int *)flag) {}
#define COUNT() atomicAdd(count, 1)
#define REACH(n) while (atomicAdd(count, 0) < (n) * (int)blockDim.x) {}
__global__ void k(int2 *data, int *flag, int *count, int *out) {
  int block = blockIdx.x, last = gridDim.x - 1;
  if (block == 0) {
    if (threadIdx.x) return;
    data[0] = make_int2(1, 2);
    __threadfence();
    SAY();
  } else if (block < last - 1) {
    AWAIT();
    int2 v = data[0]; // by many
    out[block] = v.x + v.y;
    FENCED
    COUNT();
  } else if (block == last - 1) {
    REACH(last - 2);
    OTHER
    COUNT();
  } else {
    REACH(last - 1);
    LAST
  }
}]]

local fence = "__threadfence();"
-- `told`: is there a race with a line that says "behind nothing"? There is no other one.
local function case(name, told, fenced, other, last, threads)
  local k = gpu.kernel((source:gsub("%f[%w_][A-Z]+%f[^%w_]", { FENCED = fenced, OTHER = other, LAST = last })))
  for _, readers in ipairs { 4, 12, 40 } do -- some of which have the list grow
    t.test(name .. " of " .. readers, function()
      for _ = 1, 2 do
        local found = gpu.check(function()
          k(readers + 3, threads or 1)(gpu.zeros({ 64 }, "int32"), gpu.zeros(1, "int32"), gpu.zeros(1, "int32"), gpu.zeros(64, "int32"))
        end)
        t.eq(#found, told and 1 or 0, found[1] and found[1].text)
        t.eq(not told or found[1].text:find("behind nothing", 1, true) ~= nil, true)
      end
    end)
  end
end

local take = "int2 v = data[0]; out[0] = v.x + v.y; // behind nothing\n"
local put = "data[0] = make_int2(3, 4); // behind nothing\n"
case("one more reader", false, "", "AWAIT()" .. take, "AWAIT()" .. take)
case("a reader that waits for nobody", true, "", "", take)
case("a reader of the second word that waits for nobody", true, "", "", "out[0] = data[0].y; // behind nothing\n")
case("a writer", false, fence, fence .. put .. fence, fence .. take)
for _, one in ipairs { "1", "2", "3", "4", "last - 2" } do
  case("a writer for whom reader " .. one .. " has no fence", true, "if (block != " .. one .. ") __threadfence();", "", put)
end
case("a writer for whom a lane has no fence", true, "if (block != 4 || threadIdx.x != 5) __threadfence();", "", put, 32)
case("a reader behind a writer", true, fence, put, "AWAIT()" .. take)
case("readers of other bytes", false, fence, "out[0] = ((volatile char *)data)[0]; out[0] = ((char *)data)[1];",
  "((char *)data)[2] = 1;")
-- Many count in a word beside it, then one reads that, before another one counts.
local counts = "atomicAdd(&data[1].x, 1); __threadfence();"
case("a reader of what many counted", true, counts, "out[0] = data[1].x; // behind nothing\n", "atomicAdd(&data[1].x, 1);")

-- Two that race, one behind both of them, and one behind nothing: who came before is known after the third, too.
t.test("what raced before is told of", function()
  local k = gpu.kernel [[
  __global__ void k(int *data, int *count, int *last) {
    int block = blockIdx.x;
    if (block < 2) {
      data[0] = block;
      __threadfence();
      atomicAdd(count, 1);
    } else if (block == 2) {
      while (atomicAdd(count, 0) < 2) {}
      data[0] = 3;
      atomicAdd(last, 1);
    } else {
      while (atomicAdd(last, 0) < 1) {}
      data[0] = 4;
    }
  }]]
  local function ints() return gpu.zeros(1, "int32") end
  for _ = 1, 2 do t.eq(#gpu.check(function() k(4, 1)(ints(), ints(), ints()) end), 3) end
end)

t.done()
