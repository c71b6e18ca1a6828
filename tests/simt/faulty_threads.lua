-- Kernels whose threads miss each other, at barriers or in masks, or divide by zero, and the report that gpu.check gives of each
-- (shared/marked.lua).
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks
local faulty = assert(loadfile("tests/simt/shared/marked.lua"))("tests/simt/faulty_threads.lua", t, gpu)

local function at(x, y, z) return { x = x, y = y or 0, z = z or 0 } end
local x, out = gpu.range(0, 255, 1, "int32"), gpu.zeros(256, "int32")

local k = gpu.kernel [=[
#define FULL 0xffffffffu
__global__ void two_branches(int *out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = 1;
    __syncthreads();                               //1
  } else {
    out[threadIdx.x] = 2;
    __syncthreads();                               //2
  }
}
__global__ void early_return(int *out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;                              //2
  out[i] = i;
  __syncthreads();                                 //1
  out[i] += out[i] * n;
}
__global__ void return_in_a_block(int *out, int n) {
  int i = threadIdx.x;
  if (i >= n) { out[i] = 1; return; }              //2
  out[i] = i;
  __syncthreads();                                 //1
  if (i & 1) out[i] += out[i] * n;
}
__global__ void two_ways_out(int *out, int n) {
  if (threadIdx.x == 40) return;
  out[threadIdx.x]++;
  if (threadIdx.x >= n) return;
  __syncthreads();                                 //1
  out[threadIdx.x]++;
}                                                  //2
__global__ void trips_differ(int *out) {
  for (int j = 0; j <= threadIdx.x / 32; j++) {    //2
    out[threadIdx.x] = j;
    __syncthreads();                               //1
  }
}
__global__ void only_one_half(int *out) {
  if (threadIdx.x < 32) {                          //2
    out[threadIdx.x] = 1;
    __syncthreads();                               //1
  }
  out[threadIdx.x] += 1;
}
__global__ void different_numbers(int *out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory"); //1
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");  //2
  out[threadIdx.x] = 1;
}
__global__ void shuffle_in_a_branch(int *out) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_down_sync(FULL, v, 1); //1
  __syncthreads();                                 //2
  out[threadIdx.x] = v;
}
__global__ void mask_too_small(int *out) {
  out[threadIdx.x] = __shfl_sync(0xffffu, threadIdx.x, 0); //1
}
__global__ void reads_past_its_mask(int *out) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_sync(0xffffu, v, 20); //1
  out[threadIdx.x] = v;
}
__global__ void half_by_xor(int *out) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffu, v, 16); //1
  out[threadIdx.x] = v;
}
__global__ void returned_before(int *out, int n) {
  int v = 1;
  if (threadIdx.x >= n) return;
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d); //1
  out[threadIdx.x] = v;
}
__global__ void no_such_thread(int *out) {
  out[threadIdx.x] = __shfl_sync(FULL, threadIdx.x, threadIdx.x + 1); //1
}
__global__ void vote_mask_too_small(int *out) {
  out[threadIdx.x] = __ballot_sync(0x7fffffffu, threadIdx.x & 1); //1
}
__global__ void sync_mask_too_small(int *out) {
  __syncwarp(0x0000fffeu);                         //1
  out[threadIdx.x] = 1;
}
__global__ void reduce_mask_too_small(int *out) {
  out[threadIdx.x] = __reduce_add_sync(0xfffffff0u, 1); //1
}
__global__ void divides(const int *a, const int *b, int *out) {
  out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x]; //1
}
__global__ void remainders(const unsigned long long *a, const unsigned long long *b, unsigned long long *out) {
  out[threadIdx.x] = a[threadIdx.x] % b[threadIdx.x]; //1
}]=]

faulty("two_branches", "threads meet at different barriers", { kind = "barrier divergence", thread = at(0), other = { thread = at(16) } },
  function() k.two_branches(1, 64)(out) end)
faulty("early_return", "some threads are gone", { kind = "barrier divergence", other = { thread = at(50) } },
  function() k.early_return(1, 64)(out, 50) end)
faulty("return_in_a_block", "some threads do something else and go", { kind = "barrier divergence", other = { thread = at(50) } },
  function() k.return_in_a_block(1, 64)(out, 50) end)
faulty("two_ways_out", "which of them is not known", { kind = "barrier divergence", other = { thread = at(40) } },
  function() k.two_ways_out(1, 64)(out, 50) end)
faulty("trips_differ", "a barrier in a loop of different lengths", { kind = "barrier divergence", other = { thread = at(0) } },
  function() k.trips_differ(1, 64)(out) end)
faulty("only_one_half", "one warp never comes", { kind = "barrier divergence", other = { thread = at(32) } },
  function() k.only_one_half(1, 64)(out) end)
faulty("different_numbers", "each half waits for the other", { kind = "barrier divergence", thread = at(0), other = { thread = at(32) } },
  function() k.different_numbers(1, 64)(out) end)
faulty("shuffle_in_a_branch", "half of the lanes are elsewhere", { kind = "missing lane", thread = at(0), other = { thread = at(16) } },
  function() k.shuffle_in_a_branch(1, 32)(out) end)
faulty("mask_too_small", "lanes that are not in their mask", { kind = "missing lane", count = 16, thread = at(16) },
  function() k.mask_too_small(1, 32)(out) end)
faulty("reads_past_its_mask", "a lane of the other half", { kind = "missing lane", count = 16, thread = at(0) },
  function() k.reads_past_its_mask(1, 32)(out) end)
faulty("half_by_xor", "all of the half read the other", { kind = "missing lane", count = 16, thread = at(0) },
  function() k.half_by_xor(1, 32)(out) end)
faulty("returned_before", "those with an index past the end are gone", { kind = "missing lane", count = 20, thread = at(36) },
  function() k.returned_before(1, 64)(out, 52) end)
faulty("no_such_thread", "the last thread reads on", { kind = "missing lane", count = 1, thread = at(19) },
  function() k.no_such_thread(1, 20)(out) end)
faulty("vote_mask_too_small", "the last lane is not in the mask", { kind = "missing lane", count = 1, thread = at(31) },
  function() k.vote_mask_too_small(1, 32)(out) end)
faulty("sync_mask_too_small", "many lanes are not in the mask", { kind = "missing lane", count = 17, thread = at(0) },
  function() k.sync_mask_too_small(1, 32)(out) end)
faulty("reduce_mask_too_small", "the first lanes are not in the mask", { kind = "missing lane", count = 4, thread = at(0) },
  function() k.reduce_mask_too_small(1, 32)(out) end)
faulty("divides", "an integer by zero", { kind = "division by zero", count = 2, thread = at(3) },
  function() k.divides(1, 20)(x, gpu.array(t.list(20, function(i) return i % 10 - 3 end), "int32"), out) end)
faulty("remainders", "64 bits modulo zero", { kind = "division by zero", count = 1, thread = at(5) },
  function() k.remainders(1, 9)(gpu.ones(9, "uint64"), gpu.array({ 1, 2, 3, 4, 5, 0, 7, 8, 9 }, "uint64"), gpu.zeros(9, "uint64")) end)

-- What is found must not depend on how the blocks are spread over threads.
if not os.getenv("LUNARRAY_THREADS") then
  for _, threads in ipairs { 1, 3 } do t.again("tests/simt/faulty_threads.lua", "LUNARRAY_THREADS=" .. threads, 10) end
end

-- Lanes that wait for a flag, and others of their warp that do not, read one place together.
local waits = [[__global__ void k(int *x, volatile int *flag, int *out, int waiting) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      x[0] = 7;
      __threadfence();
      *flag = 1;
    }
    return;
  }
  if (threadIdx.x < waiting) {
    while (!*flag);
    __threadfence();
  }
  SYNC
  out[threadIdx.x] = x[0];
}]]
for _, lanes in ipairs { 1, 2, 16, 31, 32 } do
  for _, sync in ipairs { "", "__syncwarp();" } do
    t.test(lanes .. " lanes wait for a flag, and all read" .. (sync == "" and "" or " behind __syncwarp"), function()
      local k = gpu.kernel((waits:gsub("SYNC", sync)))
      local x, flag, out = gpu.zeros(1, "int32"), gpu.zeros(1, "int32"), gpu.zeros(32, "int32")
      local found = gpu.check(function() k(2, 32)(x, flag, out, lanes) end)
      local races = sync == "" and lanes < 32
      t.eq(#found, races and 1 or 0, found[1] and found[1].message)
      if not races then return end
      local lines = { found[1].line, found[1].other.line }
      table.sort(lines)
      t.eq(found[1].kind .. " " .. table.concat(lines, " "), "race 4 15")
    end)
  end
end

t.done()
