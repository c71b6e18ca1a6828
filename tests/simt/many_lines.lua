-- Elements that three lines or more race for: gpu.check names every pair of them, the same ones on every run, by any number of
-- threads, whichever came one after the other.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local k = gpu.kernel [=[
__global__ void writers(int *a) {
  int b = blockIdx.x, t = threadIdx.x;
  if (b % 3 == 0) a[t] = b;
  if (b % 3 == 1) a[t] = b + 1000;
  if (b % 3 == 2) a[t] = b + 2000;
}
__global__ void in_turn(int *a, int *out) {
  int b = blockIdx.x, t = threadIdx.x;
  a[t] = b;
  __syncthreads();
  a[t ^ 1] = b + 1000;
  __syncthreads();
  out[b * blockDim.x + t] = a[t];
}
__global__ void atomics_too(int *a, int *out) {
  int b = blockIdx.x, i = b * blockDim.x + threadIdx.x;
  if (b % 3 == 0) atomicAdd(&a[0], 1);
  if (b % 3 == 1) a[0] = i;
  if (b % 3 == 2) out[i] = a[0];
}
__global__ void same_value(int *a) {
  int b = blockIdx.x, t = threadIdx.x;
  if (b % 3 == 0) a[t] = 5;
  if (b % 3 == 1) a[t] = 5 + 0 * t;
  if (b % 3 == 2) a[t] = 6;
}
__global__ void narrow(unsigned char *a) {
  int b = blockIdx.x, t = threadIdx.x;
  if (b % 3 == 0) a[t] = b;
  if (b % 3 == 1) a[t] = 64 + b;
  if (b % 3 == 2) ((unsigned short *)a)[t] = 128 + b;
}
__global__ void apart(int *a, int *out) {
  int b = blockIdx.x, i = b * blockDim.x + threadIdx.x;
  if (b % 2) a[0] = i;
  else a[1] = i;
  out[i] = a[b & 1];
}
]=]

-- More volatile stores than there are numbers for what stands beside readers.
local crowded = gpu.kernel([=[
__global__ void crowded(int *a, volatile int *own) {
  int b = blockIdx.x, i = b * blockDim.x + threadIdx.x;
]=] .. ("  own[i] = i;\n"):rep(1100) .. [=[
  if (i == 0) atomicAdd(&a[0], 1);
  if (i == 1) atomicAdd(&a[1], 1);
  if (i == 32) a[0] = i;
  if (i == 33) a[1] = i;
}
]=])

local threads, blocks = 32, 60
local out = gpu.zeros(blocks * threads, "int32")

-- `want`: pairs of lines, counted from the kernel's first.
local function case(name, want, f)
  t.test(name, function()
    for round = 1, t.brief(20, 5) do
      local found, pairs_of = gpu.check(f), {}
      local first = math.maxinteger
      for _, r in ipairs(found) do first = math.min(first, r.line, r.other.line) end
      for i, r in ipairs(found) do
        t.eq(r.kind, "race")
        local a, b = r.line - first, r.other.line - first
        pairs_of[i] = math.min(a, b) .. "-" .. math.max(a, b)
      end
      table.sort(pairs_of)
      t.eq(table.concat(pairs_of, " "), want, "the pairs in round " .. round)
    end
  end)
end
local a = gpu.zeros(64, "int32")
case("three lines that write", "0-0 0-1 0-2 1-1 1-2 2-2", function() k.writers(blocks, threads)(a) end)
case("lines that a thread comes to in turn", "0-0 0-2 0-4 2-2 2-4", function() k.in_turn(blocks, threads)(a, out) end)
case("an atomic, a write and a read", "0-1 0-2 1-1 1-2", function() k.atomics_too(blocks, threads)(a, out) end)
case("values that are the same", "0-2 1-2", function() k.same_value(blocks, threads)(a) end)
case("elements of another size", "0-0 0-1 0-2 1-1 1-2 2-2", function() k.narrow(blocks, threads)(gpu.zeros(64, "uint8")) end)
case("atomics behind many stores", "0-2 1-3", function() crowded(2, threads)(a, out) end)
case("neighbours that other lines race for", "0-0 0-2 1-1 1-2", function() k.apart(blocks, threads)(a, out) end)

if not os.getenv("LUNARRAY_THREADS") then
  for _, settings in ipairs { "LUNARRAY_THREADS=1", "LUNARRAY_THREADS=2", "LUNARRAY_THREADS=3 LUNARRAY_JIT=0" } do
    t.again("tests/simt/many_lines.lua", settings, 7)
  end
end
t.done()
