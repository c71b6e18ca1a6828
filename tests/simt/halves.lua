-- Fused multiply-adds of bf16 whose product no float holds, by warps that have all their lanes and by others, alone and
-- two in a register: the exact result rounded once.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local k = gpu.kernel [=[
__global__ void one(const unsigned short *x, unsigned short *y) {
  int i = threadIdx.x;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(y[i]) : "h"(x[3 * i]), "h"(x[3 * i + 1]), "h"(x[3 * i + 2]));
}
__global__ void two(const unsigned *x, unsigned *y) {
  int i = threadIdx.x;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y[i]) : "r"(x[3 * i]), "r"(x[3 * i + 1]), "r"(x[3 * i + 2]));
}
]=]

-- Three operands and the sum, as bits.
local rows = {
  { 0x5f80, 0x5f80, 0xff7f, 0x7b80 }, -- 2^64 squared, less the largest number
  { 0x5f80, 0x5f80, 0x0000, 0x7f80 },
  { 0x9780, 0x1780, 0x0000, 0x8000 }, -- -2^-80 times 2^-80, and 0
  { 0x9780, 0x1780, 0x8000, 0x8000 },
  { 0x9780, 0x0000, 0x0000, 0x0000 }, -- a product that is 0
  { 0x7f80, 0x3f80, 0xff80, 0x7fff }, -- infinity less infinity
  { 0x3f81, 0x3f81, 0x3380, 0x3f82 }, -- between two numbers, by a little: 1 + 2^-6 + 2^-14 + 2^-24
  { 0x3fc0, 0x3f81, 0x2f80, 0x3fc2 }, -- halfway between two, and 2^-32
  { 0x3fc0, 0x3f81, 0xaf80, 0x3fc1 }, -- and less than halfway
}

t.test("fused multiply-adds of bf16 beyond floats", function()
  for from = 1, #rows do -- each alone among ordinary ones: they are what makes a warp do otherwise
    for _, n in ipairs { 1, 20, 32, 64 } do
      local function row(i) return i % 32 == from % 20 % n and rows[from] or { 0x4000, 0x4040, 0x3f80, 0x40e0 } end
      local x, y, pairs_of, want, both = {}, gpu.zeros(n, "uint16"), {}, {}, {}
      for i = 0, n - 1 do
        local r, other = row(i), row(i + 1)
        for c = 1, 3 do x[#x + 1], pairs_of[#pairs_of + 1] = r[c], r[c] | other[c] << 16 end
        want[#want + 1], both[#both + 1] = r[4], r[4] | other[4] << 16
      end
      k.one(1, n)(gpu.array(x, "uint16"), y)
      t.same(y:totable(), want)
      local z = gpu.zeros(n, "uint32")
      k.two(1, n)(gpu.array(pairs_of, "uint32"), z)
      t.same(z:totable(), both)
    end
  end
end)
t.done()
