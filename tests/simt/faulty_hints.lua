-- What a race's hint advises: which barrier, where it belongs, and what orders blocks.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt") -- a GPU has no checks

local faulty = assert(loadfile("tests/simt/shared/corners.lua"))(t, gpu)

local function ints(n) return gpu.zeros(n, "int32") end

faulty("a tile whose rows stay in a warp needs the barrier of the other one", [[__global__ void k(const float *a, const float *b, float *c) {
  __shared__ float As[16][16], Bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  As[ty][tx] = a[ty * 16 + tx];
  Bs[ty][tx] = b[ty * 16 + tx];
  for (int k = 0; k < 16; k++)
    sum += As[ty][k] * Bs[k][tx];
  c[ty * 16 + tx] = sum;
}]], function(k) k(1, { 16, 16 })(gpu.ones(256), gpu.ones(256), gpu.zeros(256)) end,
  { { kind = "race", line = 5, name = "As", hint = "__syncthreads() is missing between lines 5 and 8" },
    { kind = "race", line = 6, name = "Bs", hint = "__syncthreads() is missing between lines 6 and 8" } })

local exchange <const> = [[__global__ void k(int *x, int *y) {
  x[threadIdx.x + 64 * blockIdx.x] = threadIdx.x;
  y[threadIdx.x + 64 * blockIdx.x] = x[(threadIdx.x ^ 32) + 64 * blockIdx.x];
}]]
faulty("global memory in a launch of one block", exchange, function(k) k(1, 64)(ints(64), ints(64)) end,
  { kind = "race", line = 2, hint = "__syncthreads() is missing between lines 2 and 3" })
faulty("global memory in a launch of several blocks", exchange, function(k) k(2, 64)(ints(128), ints(128)) end,
  { kind = "race", line = 2, hint = "threads of several blocks are ordered by atomic functions or two launches; where only threads of one block meet, " ..
    "__syncthreads() is missing between lines 2 and 3" })

-- s is written in the line with WRITE and read in the one with READ, by 64 threads.
local function placed(name, body, hint)
  local text = "__global__ void k(int *out) {\n  __shared__ int s[64];\n  int t = threadIdx.x, sum = 0;\n" ..
    body:gsub("WRITE", "s[t] = t;"):gsub("READ", "sum += s[63 - t];") .. "\n  out[t] = sum;\n}"
  faulty(name, text, function(k) k(1, 64)(ints(64)) end, { kind = "race", name = "s", hint = hint })
end

local again <const> = "__syncthreads() is missing behind line 6, before the loop comes to line 5 again"
placed("a barrier behind the write in its line", "  for (int p = 0; p < 3; p++) {\n  WRITE __syncthreads();\n  READ\n  }", again)
placed("a barrier in a comment", "  for (int p = 0; p < 3; p++) {\n  WRITE\n  /* __syncthreads(); */\n  READ\n  }",
  "__syncthreads() is missing between lines 5 and 7")
placed("a barrier behind an if", "  for (int p = 0; p < 3; p++) {\n  WRITE\n  if (out[t] == 5) __syncthreads();\n  READ\n  }",
  "__syncthreads() is missing between lines 5 and 7")
local never <const> = "  WRITE\n  if (sum == 5)\n  __syncthreads();\n  READ"
placed("a loop that is closed", "  for (int p = 0; p < 3; p++) { sum++; }\n" .. never, "__syncthreads() is missing between lines 5 and 8")
placed("a name that ends as a loop's word", "  int before = 0, awhile = before; sum += awhile;\n" .. never, "__syncthreads() is missing between lines 5 and 8")

faulty("a look at a counter before it is counted down", [[__global__ void k(int *out) {
  __shared__ int left;
  if (threadIdx.x == 0) left = 40;
  __syncthreads();
  if (left > 0)
    out[threadIdx.x] = atomicSub(&left, 1);
}]], function(k) k(1, 64)(ints(64)) end, { kind = "race", name = "left", hint = "__syncthreads() is missing between lines 5 and 6; " ..
  "a read that only decides about the update can go: the atomic function returns what was there" })
for name, update in pairs { ["a look at a counter in its line"] = "out[threadIdx.x] = atomicSub(&left, 1);", ["a look at one that is only counted"] = "atomicSub(&left, 1);" } do
  faulty(name, "__global__ void k(int *out) {\n  __shared__ int left;\n  if (threadIdx.x == 0) left = 40;\n  __syncthreads();\n  if (left > 0) " .. update .. "\n}",
    function(k) k(1, 64)(ints(64)) end, { kind = "race", name = "left", line = 5, other = 5, hint = "__syncthreads() is missing between reading and writing; " ..
    "a read that only decides about the update can go: the atomic function returns what was there" })
end
faulty("a counter that is read behind its updates", [[__global__ void k(int *out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (out[threadIdx.x] == 0) atomicAdd(&count, 1);
  out[threadIdx.x] = count;
}]], function(k) k(1, 64)(ints(64)) end, { kind = "race", name = "count", hint = "__syncthreads() is missing between lines 5 and 6" })

t.test("shared memory that the launch gives none of", function()
  local k = gpu.kernel "__global__ void k(int *y) { extern __shared__ int s[]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x]; }"
  local found = gpu.check(function() k(1, 4)(ints(4)) end)
  t.eq(found[1].kind, "out of bounds")
  assert(found[1].hint:find("extern __shared__ array stand in the launch's configuration, behind grid and block: k(grid, block, bytes)", 1, true))
  t.eq(#gpu.check(function() k(1, 4, 16)(ints(4)) end), 0)
end)

-- The stencil of a course: `array` is its shared memory, for blocks of 64.
local function stencil(array)
  return "__global__ void k(const int *in, int *out) {\n  " .. array .. [[;
  int i = threadIdx.x + 3;
  s[i] = in[i];
  if (threadIdx.x < 3) s[i - 3] = in[i - 3], s[i + 64] = in[i + 64];
  __syncthreads();
  out[i - 3] = s[i - 3] + s[i] + s[i + 3];
}]]
end
faulty("elements of shared memory instead of bytes", stencil "extern __shared__ int s[]", function(k) k(1, 64, 70)(ints(70), ints(64)) end,
  { { kind = "out of bounds", line = 4, name = "s", index = 17, hint = "the launch gives it 70 bytes, by k(grid, block, bytes)(...): is that a number of elements? " ..
      "If not, is it < where it says <=, or is a check of the index missing?" },
    { kind = "out of bounds", line = 5, index = 64 + 3, hint = "the launch gives it 70 bytes, by k(grid, block, bytes)(...): is that a number of elements?" } }, "some")
faulty("two arrays in bytes that are enough for one", [[__global__ void k(float *out) {
  extern __shared__ char memory[];
  float *sums = (float *)memory;
  int *counts = (int *)(sums + 2);
  if (threadIdx.x < 2) sums[threadIdx.x] = 1;
  if (threadIdx.x < 2) counts[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = sums[1] / counts[1];
}]], function(k) k(1, 64, 8)(gpu.zeros(64)) end,
  { { kind = "out of bounds", line = 6, name = "memory", index = 8, hint = "the launch gives it 8 bytes, by k(grid, block, bytes)(...): " ..
      "are those enough for all that the kernel keeps there? If so, is it < where it says <=, or is a check of the index missing?" },
    { kind = "out of bounds", line = 8, name = "memory", index = 12, hint = "the launch gives it 8 bytes, by k(grid, block, bytes)(...): " ..
      "are those enough for all that the kernel keeps there?" } }, "some")
t.test("shared memory of the launch's before its start", function()
  local k = gpu.kernel((stencil("extern __shared__ int s[]"):gsub("s%[i %- 3%] = ", "s[i - 4] = ")))
  local found = gpu.check(function() k(1, 64, 280)(ints(70), ints(64)) end)
  t.eq(found[1].index, -1)
  t.eq(found[1].hint, "the first element is s[0]: is a check missing that the index is not below 0?")
end)
faulty("a larger block than the kernel is written for", stencil "__shared__ int s[70]", function(k) k(1, 128)(ints(134), ints(128)) end,
  { { kind = "out of bounds", line = 4, name = "s", hint = "the block has 128 threads, and s 70 elements: is it the block that the kernel is written for?" } }, "some")

for source, index in pairs { ["threadIdx.x - 1"] = 4294967295, ["(threadIdx.x - 2) * n"] = 4294967295 - 127 } do
  faulty(("before the start by %s"):format(source), ("__global__ void k(const float *x, float *y, unsigned n) { y[threadIdx.x] = x[%s]; }"):format(source),
    function(k) k(1, 1)(gpu.ones(64), gpu.ones(64), 64) end,
    { { kind = "out of bounds", line = 1, name = "x", index = index, hint = ("%d is %d as an unsigned number, which threadIdx.x is, too: " ..
        "is a check missing that the index is not below 0?"):format(index, index - (1 << 32)) } })
end

faulty("a product that an int does not hold", "__global__ void k(const float *x, float *y, int n) { int i = threadIdx.x * n; if (i < 64) y[threadIdx.x] = x[i]; }",
  function(k) k(1, 3)(gpu.ones(64), gpu.ones(64), 1200000000) end,
  { { kind = "out of bounds", line = 1, name = "x", index = 2 * 1200000000 - (1 << 32), hint = "an int that grows past 2147483647 goes on from -2147483648: " ..
      "larger indices are long long, as in (long long)row * width + column" } })
faulty("the neighbour of the first element", "__global__ void k(const float *x, float *y) { int i = threadIdx.x; y[i] = x[i - 1]; }",
  function(k) k(1, 64)(gpu.ones(64), gpu.ones(64)) end,
  { { kind = "out of bounds", line = 1, name = "x", index = -1, hint = "the first element is x[0]: is a check missing that the index is not below 0?" } })
-- Steps of a stencil whose pointers change places: the elements of a are what the line calls b's in every other step. `reads`
-- are the columns of what reads them, by array.
local function swapped(name, statement, grid, hint, reads)
  t.test(name, function()
    local source = ([[__global__ void k(float *a, float *b, const float *w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 0; s < 4; s++) {
    if (i > 0 && i < n - 1)
      STATEMENT
    float *p = a; a = b; b = p;
  }
}]]):gsub("STATEMENT", statement)
    local k = gpu.kernel(source)
    local found = gpu.check(function() k(grid, 128)(gpu.zeros(1024), gpu.zeros(1024), gpu.ones(1), 1024) end)
    t.eq(#found, 2)
    for _, r in ipairs(found) do
      t.eq(r.line, 5)
      t.eq(r.source, statement)
      t.eq(r.access, "write")
      t.eq(r.column, 1)
      t.eq(r.other.column, reads[r.name])
      t.eq(r.hint, hint)
    end
  end)
end
local two_launches <const> = "blocks are not ordered: use atomic functions (with __threadfence() for what goes with them), or two launches"
local in_between <const> = "__syncthreads() is missing between reading and writing; where threads update the same element, use an atomic function such as atomicAdd"
swapped("a step that begins before other blocks have made theirs", "b[i] = 0.5f * (a[i - 1] + a[i + 1]);", 8, two_launches, { a = 16, b = 16 })
swapped("a step that begins before other warps have made theirs", "b[i] = 0.5f * (a[i - 1] + a[i + 1]);", 1, in_between, { a = 16, b = 16 })
swapped("a step that reads another array, too", "b[i] = w[0] * (a[i - 1] + a[i + 1]);", 8, two_launches, { a = 16 })

faulty("a barrier of the block where the grid should meet", [[__global__ void k(int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i;
  __syncthreads();
  y[i] = x[n - 1 - i];
}]], function(k) k(2, 64, { cooperative = true })(ints(128), ints(128)) end,
  { { kind = "race", line = 3, other = 5, name = "x", hint = "blocks of a cooperative grid meet at grid.sync(), which is missing between lines 3 and 5" } })

t.test("a line that is wrong at both ends says so of both", function()
  local k = gpu.kernel "__global__ void k(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i - 1] + x[i + 1]; }"
  local found = gpu.check(function() k(2, 32)(gpu.ones(64), gpu.ones(64)) end)
  t.eq(#found, 2)
  t.eq(found[1].index, -1)
  t.eq(found[2].index, 64)
  t.eq(found[1].count + found[2].count, 2)
end)
t.test("an index that is below 0 by little is no overflow", function()
  local k = gpu.kernel "__global__ void k(const float *x, float *y) { y[0] = x[(int)threadIdx.x - 100000]; }"
  t.eq(gpu.check(function() k(1, 1)(gpu.ones(64), gpu.ones(64)) end)[1].hint, nil)
end)

t.test("a shared array that the compiler takes apart", function()
  local k = gpu.kernel [[__global__ void k(int *y) { __shared__ int few[2];
    if (threadIdx.x == 0) few[0] = 3;
    if (threadIdx.x == 40) few[1] = 4;
    __syncthreads();
    y[threadIdx.x] = few[0] + few[1];
    if (threadIdx.x == 40) few[1] = 5;
  }]]
  local found = gpu.check(function() k(1, 64)(ints(64)) end)
  t.eq(#found, 1)
  t.eq(found[1].name, "few")
  t.eq(found[1].line - found[1].other.line, 1)
  t.eq(found[1].index, 1)
  k = gpu.kernel [[struct pair { int a, b; };
__global__ void k(int *y) { __shared__ pair s;
  if (threadIdx.x == 0) s.a = 3, s.b = 4;
  __syncthreads();
  y[threadIdx.x] = s.a + s.b;
  if (threadIdx.x == 40) s.b = 5;
}]]
  found = gpu.check(function() k(1, 64)(ints(64)) end)
  t.eq(#found, 1)
  t.eq(found[1].index, nil)
  t.eq(found[1].name, "s")
end)

t.done()
