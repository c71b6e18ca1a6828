-- malloc, free, new and delete in kernels, and the clocks.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device(t.kernel_device())
local simt = gpu.device().name == "simt"

local k = gpu.kernel [[
struct node { int value; node *next; char more[112]; };
__global__ void push(int n, node **head, int *fails) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  node *x = new node;
  if (!x) { atomicAdd(fails, 1); return; }
  x->value = i;
  unsigned long long *h = (unsigned long long *)head, seen = *(volatile unsigned long long *)h, expected;
  do {
    expected = seen;
    x->next = (node *)expected;
    seen = atomicCAS(h, expected, (unsigned long long)x);
  } while (seen != expected);
}
__global__ void total(node **head, long long *sum, int *count) {
  while (*head) {
    node *x = *head;
    *sum += x->value;
    *head = x->next;
    delete x;
    ++*count;
  }
}
__global__ void churn(int rounds, int *bad) {  // blocks of all sizes keep what is written to them
  unsigned r = 12345 + blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char *kept[4] = {};
  int size[4];
  for (int i = 0; i < rounds; i++) {
    r = r * 1664525 + 1013904223;
    int j = r >> 30;
    if (kept[j]) {
      for (int b = 0; b < size[j]; b++)
        if (kept[j][b] != (unsigned char)(threadIdx.x + b)) atomicAdd(bad, 1);
      free(kept[j]);
    }
    size[j] = (r >> 16 & 255) + 1;
    kept[j] = (unsigned char *)malloc(size[j]);
    if (!kept[j] || (size_t)kept[j] % 16) atomicAdd(bad, 1);
    for (int b = 0; b < size[j]; b++) kept[j][b] = threadIdx.x + b;
  }
  for (int j = 0; j < 4; j++) free(kept[j]);
}
__global__ void limits(int *out) {
  void *p = malloc(7 << 20), *q = malloc(2 << 20);
  out[0] = p != 0;
  out[1] = q != 0;
  free(p);
  q = malloc(7 << 20);
  out[2] = q != 0;
  free(q);
  free(0);
  out[3] = malloc((size_t)1 << 40) != 0;
}
__global__ void touch(int bytes, int at, int value) {
  volatile char *p = (char *)malloc(bytes);
  p[at] = value;
  free((void *)p);
}
__global__ void late(volatile int **keep) {
  volatile int *p = (int *)malloc(40);
  p[1] = 1;
  free((void *)p);
  p[1] = 2;
}
__global__ void twice(int offset) {
  char *p = (char *)malloc(40);
  free(p + offset);
  free(p);
}
__global__ void twice_beside(int *x) {
  char *p = (char *)malloc(*x);
  free(p);
  free(p);
}
__global__ void clocks(long long *out) {
  long long c = clock64();
  unsigned long long g, h;
  unsigned a = clock();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
  while (clock64() - c < 10000) {}
  __nanosleep(100);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(h));
  out[0] = clock64() - c;
  out[1] = h - g;
  out[2] = clock() - a;
}]]

t.test("the heap's size", function()
  t.raises("bytes, more than 0", gpu.heap, 0)
  t.raises("runs no kernels", gpu.heap, 4096, "cpu")
  if not simt then t.skip("another kernel may have run") end
  local size = gpu.heap()
  t.eq(gpu.heap(1 << 20), 1 << 20)
  t.eq(gpu.heap(), 1 << 20)
  t.eq(gpu.heap(size), size)
end)

t.test("a list that many threads build and another launch frees", function()
  for _ = 1, 2 do
    local head, fails, sum, count = gpu.zeros(1, "int64"), gpu.zeros(1, "int32"), gpu.zeros(1, "int64"), gpu.zeros(1, "int32")
    local n = 5000
    k.push(20, 256)(n, head, fails)
    t.eq(fails:item(), 0)
    k.total(1, 1)(head, sum, count)
    t.eq(count:item(), n)
    t.eq(sum:item(), n * (n - 1) // 2)
  end
end)

t.test("blocks of all sizes, by many threads", function()
  local bad = gpu.zeros(1, "int32")
  k.churn(8, 64)(30, bad)
  t.eq(bad:item(), 0)
end)

t.test("malloc gives null when the heap is full, and all of it again once it is freed", function()
  local out = gpu.zeros(4, "int32")
  k.limits(1, 1)(out)
  t.close(out, { 1, 0, 1, 0 }, 0)
end)

t.test("malloc without room for every thread", function()
  local head, fails, sum, count = gpu.zeros(1, "int64"), gpu.zeros(1, "int32"), gpu.zeros(1, "int64"), gpu.zeros(1, "int32")
  local n = 70000
  if not simt then t.skip("how much fits is the GPU's own") end
  k.push(n // 256 + 1, 256)(n, head, fails)
  local missing = fails:item()
  t.eq(missing > 0, true)
  k.total(1, 1)(head, sum, count)
  t.eq(count:item(), n - missing)
end)

t.test("what is wrong with a pointer of malloc", function()
  if not simt then t.skip("it would cost the context") end
  if os.getenv("LUNARRAY_TEST_CHECK") then t.skip("checks say it in other words") end
  k.touch(1, 1)(10, 9, 1)
  t.raises({ "write of 1 bytes", "0 bytes past the end of an allocation of 10 bytes" }, function() k.touch(1, 1)(10, 10, 1) end)
  t.raises("2 bytes past the end of an allocation of 16 bytes", function() k.touch(1, 1)(16, 18, 1) end)
  t.raises("nothing is allocated or no longer", function() k.late(1, 1)(nil) end)
  t.raises({ "free of 0x", "freed before" }, function() k.twice(1, 1)(0) end)
  t.raises({ "free of 0x", "malloc did not return" }, function() k.twice(1, 1)(8) end)
  local _, message = pcall(k.twice_beside(1, 1), gpu.full(1, 8, "int32"))
  t.eq(message:find("that is x", 1, true), nil, message)
  t.raises("null pointer", function() k.touch(1, 1)(1 << 30, 0, 1) end)
  t.raises("has run already", gpu.heap, 1 << 20)
end)

t.test("clocks go on", function()
  local out = gpu.zeros(3, "int64")
  k.clocks(1, 1)(out)
  t.eq(out[1] >= 10000, true)
  t.eq(out[2] >= 0, true)
  if simt then t.eq(out[2] > 0 and out[2] <= out[1], true) end -- both count nanoseconds, the other one from before to after
  t.eq(out[3] >= 10000, true)
end)

t.done()
