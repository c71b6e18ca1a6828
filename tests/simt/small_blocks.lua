-- Blocks whose last warp, or only one, has fewer threads than lanes: what they compute beside the same in Lua, and that
-- each thread does what others could see once, not as often as there are lanes.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"

local SIZES = { { 1 }, { 2 }, { 5 }, { 16 }, { 31 }, { 4, 4 }, { 3, 3, 3 }, { 1, 7 }, { 2, 1, 8 }, { 33 }, { 48 }, { 90 }, { 100 }, { 10, 10 }, { 32, 2, 1 },
  { 7, 5, 3 }, { 32, 3, 1 }, { 16, 3 }, { 255 } }
local function threads_of(block) return block[1] * (block[2] or 1) * (block[3] or 1) end

local k = gpu.kernel [=[
#define ME (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
#define ALL (blockDim.x * blockDim.y * blockDim.z)
__global__ void where(int *out) {
  int *o = out + 4 * (blockIdx.x * ALL + ME);
  o[0] = threadIdx.x; o[1] = threadIdx.y; o[2] = threadIdx.z; o[3] = blockDim.x;
}
// Each thread runs its own number of rounds, then they meet, and read what the next one left.
__global__ void rounds(const int *in, int *out, int n) {
  __shared__ int s[256];
  int local[4] = {0, 1, 2, 3}, me = ME, v = in[blockIdx.x * ALL + me];
  for (int i = 0; i < v % 7 + me % 3; i++) {
    if ((i + me) % 2) local[i % 4] += v; else local[(i + v) % 4] -= i;
    if (local[i % 4] > n) break;
  }
  s[me] = local[0] + 3 * local[1] + 5 * local[2] + 7 * local[3];
  __syncthreads();
  int next = s[(me + 1) % ALL];
  __syncthreads();
  s[me] = next;
  __syncthreads();
  out[blockIdx.x * ALL + me] = s[(me + 1) % ALL] * 2 + me;
}
// Adds to what is there, without atomics.
__global__ void more(int *x, int n) { for (int i = 0; i < n; i++) x[blockIdx.x * ALL + ME] += i; }
__global__ void leave(int *out) { if (ME % 2) return; out[ME] += 11; }
]=]

t.test("what small blocks compute", function()
  for _, block in ipairs(SIZES) do
    local n, blocks = threads_of(block), 5
    local out = gpu.zeros(4 * blocks * n, "int32")
    k.where(blocks, block)(out)
    local want = {}
    for b = 0, blocks - 1 do
      for m = 0, n - 1 do
        local x, y = m % block[1], m // block[1] % (block[2] or 1)
        for _, v in ipairs { x, y, m // (block[1] * (block[2] or 1)), block[1] } do want[#want + 1] = v end
      end
    end
    t.same(out:totable(), want)
  end
end)

t.test("threads of small blocks part and meet", function()
  for _, block in ipairs(SIZES) do
    local n, blocks, limit = threads_of(block), 6, 90
    local numbers = t.list(blocks * n, function(i) return i * 37 % 61 end)
    local out = gpu.zeros(blocks * n, "int32")
    k.rounds(blocks, block)(gpu.array(numbers, "int32"), out, limit)
    local want = {}
    for b = 0, blocks - 1 do
      local s = {}
      for m = 0, n - 1 do
        local v, l = numbers[b * n + m + 1], { [0] = 0, 1, 2, 3 }
        for i = 0, v % 7 + m % 3 - 1 do
          if (i + m) % 2 == 1 then l[i % 4] = l[i % 4] + v else l[(i + v) % 4] = l[(i + v) % 4] - i end
          if l[i % 4] > limit then break end
        end
        s[m] = l[0] + 3 * l[1] + 5 * l[2] + 7 * l[3]
      end
      for m = 0, n - 1 do want[#want + 1] = s[(m + 2) % n] * 2 + m end
    end
    t.same(out:totable(), want)
  end
end)

t.test("what threads of small blocks add to and leave out", function()
  for _, block in ipairs(SIZES) do
    local n = threads_of(block)
    local x, out = gpu.ones(4 * n, "int32"), gpu.zeros(n, "int32")
    k.more(4, block)(x, 20)
    t.same(x:totable(), t.list(4 * n, function() return 191 end))
    k.leave(1, block)(out)
    t.same(out:totable(), t.list(n, function(i) return i % 2 == 0 and 11 or 0 end))
  end
end)

-- Each line of the table: what is done, and what it leaves in out[0] for n threads; `wide`: also for those of more than
-- one warp. 32 lanes would leave more.
local once = {
  { "atomicAdd(out, 1);", function(n) return n end, wide = true },
  { "__shared__ int s; if (!ME) s = 0; __syncthreads(); atomicAdd(&s, 1); __syncthreads(); out[0] = s;", function(n) return n end, wide = true },
  { "int c = __syncthreads_count(1); out[0] = c;", function(n) return n end, wide = true },
  { "unsigned m = __activemask(); out[0] = __popc(m);", function(n) return n end },
  { "unsigned m = __ballot_sync((1ull << ALL) - 1, 1); out[0] = __popc(m);", function(n) return n end },
  { "int v = __reduce_add_sync((1ull << ALL) - 1, 1); out[0] = v;", function(n) return n end },
  { "__syncwarp((1ull << ALL) - 1); out[0] = 7;", function() return 7 end },
  { "int v = __shfl_sync((1ull << ALL) - 1, ME + 1, ALL - 1); out[0] = v;", function(n) return n end },
  { "unsigned l; asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(l)); out[l] = 1 + l; __syncthreads(); int s = 0; for (int i = 0; i < 32; i++) s += out[i]; __syncthreads(); out[0] = s;",
    function(n) return n * (n + 1) // 2 end },
  { "add_one(out);", function(n) return n end, wide = true },
  { "void (*f)(int *) = table[n % 2]; f(out);", function(n) return n * (1 + n % 2) end },
  { "int *p = (int *)malloc(4); *p = 1; atomicAdd(out, *p); free(p);", function(n) return n end, wide = true },
  { "asm volatile(\"red.global.add.u32 [%0], 1;\" :: \"l\"(out) : \"memory\");", function(n) return n end, wide = true },
  { "asm volatile(\"barrier.sync 1, 32;\"); out[0] = 5;", function() return 5 end },
}

t.test("threads of small blocks do once what others can see", function()
  local head = [[
#define ME (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
#define ALL (blockDim.x * blockDim.y * blockDim.z)
__device__ __noinline__ void add_one(int *x) { atomicAdd(x, 1); }
__device__ __noinline__ void add_two(int *x) { atomicAdd(x, 2); }
__device__ void (*const table[2])(int *) = { add_one, add_two };
__global__ void k(int *out, int n) { ]]
  for _, row in ipairs(once) do
    local kernel = gpu.kernel { source = head .. row[1] .. " }" }
    for _, block in ipairs(SIZES) do
      local n, out = threads_of(block), gpu.zeros(40, "int32")
      if n <= 32 or row.wide then
        kernel(1, block)(out, n)
        t.eq(out[1], row[2](n), row[1])
      end
    end
  end
end)

t.done()
