-- Memory of malloc and new in kernels, by gpu.check: mistakes with the exact words of their reports, and kernels that look
-- like them and are right. Lines count from the first one of the source, which is empty.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
gpu.heap(65536) -- so small that memory is given out again and again

local function ints(n) return gpu.zeros(n or 64, "int32") end

-- The cases' sources become one, which is compiled once; in each the kernels have names of their own.
local cases, sources, lines = {}, {}, 0
local function add(name, want, source, launch)
  local case = { name = name, want = want, launch = launch or function(k) k.k(1, 64)(ints()) end, before = lines }
  local n = #cases + 1
  case.prefix = "c" .. n .. "_"
  source = source:gsub("(__global__ void )", "%1" .. case.prefix) .. "\n"
  sources[n], cases[n] = source, case
  lines = lines + select(2, source:gsub("\n", ""))
end
local function faulty(name, want, source, launch)
  add(name, type(want) == "table" and table.concat(want, "\n") or want, source, launch)
end
local function clean(name, source, launch) add(name, "", source, launch) end

-- Each report as "line: kind: message", in order, with lines counted from the case's first; addresses are left out.
local function texts_of(case, found)
  local texts = {}
  for i, r in ipairs(found) do
    local message = r.message:gsub("0x%x+", "0x..."):gsub("in line (%d+)", function(n) return "in line " .. n - case.before end)
    texts[i] = ("%d: %s: %s"):format(r.line - case.before, r.kind, message)
  end
  return table.concat(texts, "\n")
end

local function run(case, all)
  local k = setmetatable({}, { __index = function(_, name) return all[case.prefix .. name] end })
  for _ = 1, 2 do
    local found = gpu.check(function() case.launch(k) end)
    t.eq(texts_of(case, found), case.want)
    for _, r in ipairs(found) do
      local line = tonumber(r.message:match("malloc gave in line (%d+)"))
      t.eq(r.malloc and r.malloc.line, line)
      if line then t.eq(r.malloc.source:find("malloc") ~= nil or r.malloc.source:find("new ") ~= nil, true, r.malloc.source) end
      if r.access == "free" then t.eq(r.source:find("%a+", r.column), r.column, "the caret") end
    end
  end
end

---- places
faulty("past the end and before the start", {
  "3: out of bounds: 4 bytes written, 0 bytes past the end of a block of 64 bytes that malloc gave in line 2",
  "4: out of bounds: 4 bytes read, 4 bytes past the end of a block of 64 bytes that malloc gave in line 2",
  "5: out of bounds: 8 bytes written, 8 bytes before a block of 64 bytes that malloc gave in line 2",
}, [[__global__ void k(int *out) {
  int *p = (int *)malloc(64);
  p[16] = 1;
  out[threadIdx.x] = p[17];
  *(long long *)(p - 2) = 3;
  free(p);
}]])

faulty("across the end", "3: out of bounds: 8 bytes written, reaching 4 bytes past the end of a block of 12 bytes that malloc gave in line 2",
  [[__global__ void k(int *out) {
  long long *p = (long long *)malloc(12);
  p[1] = out[0];
  free(p);
}]])

faulty("far past the end, beside other blocks", {
  "4: out of bounds: 4 bytes written, 56 bytes past the end of a block of 8 bytes that malloc gave in line 2",
  "5: out of bounds: 4 bytes written, 996 bytes past the end of a block of 4000 bytes that malloc gave in line 3",
}, [[__global__ void k(int *out) {
  int *p = (int *)malloc(8);
  int *q = (int *)malloc(4000);
  p[16] = 1;
  q[1249] = 1;
  free(p);
  free(q);
}]], function(k) k.k(1, 8)(ints()) end)

faulty("past the end of a string", "3: out of bounds: 1 bytes written, 0 bytes past the end of a block of 5 bytes that malloc gave in line 2",
  [[__global__ void k(int *out) {
  char *p = new char[5];
  for (int i = 0; i <= 5; i++) p[i] = "hello"[i];
  out[threadIdx.x] = p[4];
  delete[] p;
}]])

faulty("a misaligned access", "3: misaligned: 8 bytes written at bytes 4 to 11 of a block of 64 bytes that malloc gave in line 2, whose address is not a multiple of 8",
  [[__global__ void k(int *out) {
  int *p = (int *)malloc(64);
  *(double *)(p + 1) = out[0];
  free(p);
}]])

---- what was never written
faulty("never written", "4: uninitialized read: bytes 4 to 7 of a block of 64 bytes that malloc gave in line 2 read, but never written",
  [[__global__ void k(int *out) {
  int *p = (int *)malloc(64);
  p[0] = 1;
  out[threadIdx.x] = p[1];
  free(p);
}]])

faulty("never written again, by who has the memory now", "8: uninitialized read: bytes 0 to 3 of a block of 4000 bytes that malloc gave in line 7 read, but never written",
  [[__global__ void k(int *out) {
  for (int i = 0; i < 64; i++) {
    int *q = (int *)malloc(4000);
    q[0] = i;
    free(q);
  }
  int *p = (int *)malloc(4000);
  out[threadIdx.x] = p[0];
  free(p);
}]], function(k) k.k(1, 1)(ints()) end)

faulty("a byte that was never written", "4: uninitialized read: byte 2 of a block of 3 bytes that malloc gave in line 2 read, but never written",
  [[__global__ void k(int *out) {
  signed char *p = new signed char[3];
  p[0] = p[1] = 1;
  for (int i = 0; i < 3; i++) out[threadIdx.x] += p[i];
  delete[] p;
}]])

faulty("never written, in a later launch", "6: uninitialized read: bytes 4 to 7 of a block of 16 bytes that malloc gave read, but never written",
  [[__global__ void make(int **kept) {
  *kept = (int *)malloc(16);
  **kept = 1;
}
__global__ void use(int **kept, int *out) {
  *out = (*kept)[0] + (*kept)[1];
  free(*kept);
}]], function(k)
  local kept = gpu.zeros(1, "int64")
  k.make(1, 1)(kept)
  k.use(1, 1)(kept, ints())
end)

---- free
faulty("read and written after free", {
  "5: use after free: bytes 8 to 11 of a block of 64 bytes that malloc gave in line 2 read after it was freed in line 4",
  "6: use after free: bytes 0 to 3 of a block of 64 bytes that malloc gave in line 2 written after it was freed in line 4",
}, [[__global__ void k(int *out) {
  int *p = (int *)malloc(64);
  p[2] = threadIdx.x;
  free(p);
  out[threadIdx.x] = p[2];
  p[0] = 1;
}]])

faulty("used after another thread freed it, behind a barrier", "8: use after free: bytes 60 to 63 of a block of 256 bytes that malloc gave in line 3 read after it was freed in line 6",
  [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = new int[64];
  __syncthreads();
  p[threadIdx.x] = threadIdx.x;
  if (__syncthreads_or(0) == 0 && threadIdx.x == 63) delete[] p;
  __syncthreads();
  if (threadIdx.x == 15) out[threadIdx.x] = p[threadIdx.x];
}]])

faulty("freed twice", "4: invalid free: a block of 64 bytes that malloc gave in line 2 is freed twice, here and in line 5",
  [[__global__ void k(int *out) {
  int *p = (int *)malloc(64);
  out[threadIdx.x] = p == 0;
  free(p);
  free(p);
}]])

faulty("freed by every thread", "5: invalid free: a block of 64 bytes that malloc gave in line 3 is freed twice, here and in line 5",
  [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(64);
  __syncthreads();
  free(p);
}]])

faulty("a wrong pointer is freed", {
  "3: invalid free: free of an address 16 bytes behind the start of a block of 64 bytes that malloc gave in line 2",
  "4: invalid free: free of the address of out[0], which malloc did not return",
}, [[__global__ void k(int *out) {
  int *p = new int[16];
  delete[] (p + 4);
  free(out);
  free(p);
}]])

faulty("freed in an earlier launch", {
  "6: use after free: 4 bytes at 0x... read in memory that was freed, or that malloc never gave out",
  "7: invalid free: free of 0x..., which was freed before, or malloc did not return",
}, [[__global__ void make(int **kept) {
  *kept = (int *)malloc(16);
  free(*kept);
}
__global__ void use(int **kept, int *out) {
  *out = **kept;
  free(*kept);
}]], function(k)
  local kept = gpu.zeros(1, "int64")
  k.make(1, 1)(kept)
  k.use(1, 1)(kept, ints())
end)

---- races
faulty("a race in a block of the thread block", "5: race: bytes 0 to 3 of a block of 256 bytes that malloc gave in line 3 written here and read in line 6 by another thread, with nothing that orders them",
  [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(256);
  __syncthreads();
  p[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = p[63 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(p);
}]])

faulty("freed while others may still read", "7: race: a block of 256 bytes that malloc gave in line 3 freed here and read in line 8 by another thread, with nothing that orders them",
  [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(256);
  __syncthreads();
  p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) free(p);
  else out[threadIdx.x] = p[63 - threadIdx.x];
}]])

faulty("freed while others may still write", "6: race: a block of 256 bytes that malloc gave in line 3 written here and freed in line 8 by another thread, with nothing that orders them",
  [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(256);
  __syncthreads();
  if (threadIdx.x < 63) {
    p[threadIdx.x] = threadIdx.x;
  } else
    free(p);
}]])

-- Too many readers for a cell's records: the list of its readers is what tells who freed it.
faulty("freed while one of three readers may still read, and used later", {
  "9: race: a block of 64 bytes that malloc gave in line 3 freed here and read in line 6 by another thread, with nothing that orders them",
  "13: use after free: bytes 0 to 3 of a block of 64 bytes that malloc gave in line 3 read after it was freed in line 9",
}, [[__global__ void k(int *out, int *flag) {
  __shared__ int *p;
  if (threadIdx.x == 0) { p = (int *)malloc(64); *p = 1; }
  __syncthreads();
  volatile int *seen = flag;
  int warp = threadIdx.x / 32, value = warp < 3 ? *p : 0;
  if (threadIdx.x % 32) return;
  if (warp < 3) { if (value && warp < 2) __threadfence(); atomicExch(&flag[warp], 1); }
  if (warp == 3) { while (!seen[0] || !seen[1] || !seen[2]) {} free(p);
    __threadfence(); atomicExch(&flag[3], 1); }
  if (warp == 4) {
    while (!seen[3]) {}
    value += *p; }
  out[warp] = value;
}]], function(k) k.k(1, 160)(ints(), ints()) end)

faulty("published without a fence", "3: race: bytes 0 to 3 of a block of 16 bytes that malloc gave in line 2 written here and read in line 7 by another thread, with nothing that orders them",
  [[__global__ void k(unsigned long long *slots, int *count, int *out) {
  int *p = (int *)malloc(16);
  p[0] = 1;
  atomicExch(&slots[blockIdx.x], (unsigned long long)p);
  if (atomicAdd(count, 1) < gridDim.x - 1) return;
  for (int i = 0; i < gridDim.x; i++)
    *out += *(int *)atomicAdd(&slots[i], 0);
}]], function(k) k.k(8, 1)(gpu.zeros(8, "uint64"), ints(1), ints(1)) end)

faulty("freed by one block while others may use it", "6: race: a block of 4 bytes that malloc gave freed here and read in line 7 by another thread, with nothing that orders them",
  [[__global__ void make(int **kept) {
  *kept = new int;
  **kept = 5;
}
__global__ void use(int **kept, int *out) {
  if (blockIdx.x == 3) free(*kept);
  else out[blockIdx.x] = **kept;
}]], function(k)
  local kept = gpu.zeros(1, "int64")
  k.make(1, 1)(kept)
  k.use(8, 1)(kept, ints())
end)

faulty("an atomic beside a plain read", "6: race: bytes 0 to 3 of a block of 4 bytes that malloc gave in line 3 updated by an atomic here and read in line 7 by another thread, with nothing that orders them",
  [[__global__ void k(int *out) {
  __shared__ int *count;
  if (threadIdx.x == 0) count = new int;
  if (threadIdx.x == 0) *count = 0;
  __syncthreads();
  atomicAdd(count, 1);
  if (threadIdx.x == 0) out[0] = *count;
  __syncthreads();
  if (threadIdx.x == 0) delete count;
}]])

---- and what is right
clean("each thread has its own, which others had before", [[__global__ void k(int *out) {
  for (int i = 0; i < 8; i++) {
    int n = 1 + (threadIdx.x * 7 + i * 13 + blockIdx.x) % 100, sum = 0;
    int *p = (int *)malloc(n * sizeof *p);
    if (!p) continue;
    for (int j = 0; j < n; j++) p[j] = j;
    for (int j = 0; j < n; j++) sum += p[j];
    if (sum != n * (n - 1) / 2) atomicAdd(out, 1);
    free(p);
  }
}]], function(k)
  local bad = ints(1)
  k.k(2, 64)(bad)
  t.eq(bad:item(), 0)
end)

clean("one for the block, between barriers", [[__global__ void k(int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(256);
  __syncthreads();
  if (p) p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (p) out[threadIdx.x] = p[63 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 32) free(p);
  free(0);
}]], function(k) k.k(8, 64)(ints()) end)

clean("published by an atomic behind a fence, freed by the block that comes last", [[__global__ void k(int **slots, int *count, int *out) {
  if (threadIdx.x) return;
  int *p = (int *)malloc(16);
  p[0] = blockIdx.x;
  p[3] = 1;
  slots[blockIdx.x] = p;
  __threadfence();
  if (atomicAdd(count, 1) < gridDim.x - 1) return;
  __threadfence();
  for (int i = 0; i < gridDim.x; i++) {
    *out += slots[i][0] + slots[i][3];
    free(slots[i]);
  }
}]], function(k)
  local out = ints(1)
  k.k(16, 32)(gpu.zeros(16, "int64"), ints(1), out)
  t.eq(out:item(), 136)
end)

clean("a list, taken apart by another launch", [[struct node { int value; node *next; };
__global__ void push(unsigned long long *head) {
  node *x = new node;
  x->value = 1;
  unsigned long long seen = 0, before;
  do {
    before = seen;
    x->next = (node *)before;
    __threadfence();
    seen = atomicCAS(head, before, (unsigned long long)x);
  } while (seen != before);
}
__global__ void total(unsigned long long *head, int *sum) {
  for (node *x = (node *)*head, *next; x; x = next) {
    *sum += x->value;
    next = x->next;
    delete x;
  }
}]], function(k)
  local head, sum = gpu.zeros(1, "uint64"), ints(1)
  k.push(2, 32)(head)
  k.total(1, 1)(head, sum)
  t.eq(sum:item(), 64)
end)

clean("handed from lane to lane", [[__global__ void k(int *out) {
  int *p = threadIdx.x % 32 == 0 ? new int[32] : 0;
  p = (int *)__shfl_sync(0xffffffff, (unsigned long long)p, 0);
  p[threadIdx.x % 32] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = p[31 - threadIdx.x % 32];
  __syncwarp();
  if (threadIdx.x % 32 == 31) delete[] p;
}]])

clean("written by a launch without checks", [[__global__ void make(int **kept) {
  *kept = (int *)malloc(64);
  for (int i = 0; i < 16; i++) (*kept)[i] = 1;
}
__global__ void use(int **kept, int *out) {
  for (int i = 0; i < 16; i++) *out += (*kept)[i];
  free(*kept);
}]], function(k)
  local kept, out = gpu.zeros(1, "int64"), ints(1)
  k.make(1, 1, { check = false })(kept)
  k.use(1, 1)(kept, out)
  t.eq(out:item(), 16)
end)

local all = gpu.kernel { source = table.concat(sources), chunk = "case", line = 1 }
for _, case in ipairs(cases) do
  t.test(case.name, function() run(case, all) end)
end

t.test("an array's index that leads into what malloc gave", function()
  local k = gpu.kernel [[
__global__ void k(int *out) {
  int *p = (int *)malloc(64), d = p - out, at;
  asm volatile("sub.s32 %0, %1, 0;" : "=r"(at) : "r"(d)); // p is not to be seen in it
  p[1] = 1;
  out[at] = p[1];
  free(p);
}]]
  local found = gpu.check(function() k(1, 1)(ints()) end)
  t.eq(#found, 1)
  t.eq(found[1].message:gsub("%[%-?%d+%]", "[...]"), "out[...] written, out has 64")
end)

-- What is found must not depend on what runs it.
if not os.getenv("LUNARRAY_THREADS") then
  for _, settings in ipairs { "LUNARRAY_THREADS=1", "LUNARRAY_THREADS=3 LUNARRAY_JIT=0" } do
    t.again("tests/simt/faulty_heap.lua", settings, 20)
  end
end

t.done()
