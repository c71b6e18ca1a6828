-- Kernels whose threads take turns at places of shared memory and at counters, between barriers or in parts of a warp, and are
-- right: gpu.check must have nothing to say.
local t = dofile("tests/lua/test.lua")
local gpu = gpu or require "lunarray"
gpu.device("simt")
local clean = assert(loadfile("tests/simt/shared/clean.lua"))(t, gpu)

local function floats(n) return gpu.ones(n) end
local function ints(n) return gpu.zeros(n, "int32") end

clean("lanes of a warp meet between barriers of the block", [[__global__ void k(int *x) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32, v = 0;
  for (int r = 0; r < 4; r++) {
    s[t] = t + r;
    __syncwarp();
    v += s[t - lane + 31 - lane];
    __syncwarp();
    s[t] = v;
    __syncthreads();
    v += s[63 - t];
    __syncthreads();
  }
  x[64 * blockIdx.x + t] = v;
}]], function(k) k(3, 64)(gpu.zeros(192, "int32")) end)

clean("a thread's own words, many times", [[__global__ void k(int *x) {
  __shared__ int s[4][64];
  int t = threadIdx.x;
  for (int k = 0; k < 4; k++) s[k][t] = k;
  for (int i = 0; i < 5000; i++) s[i % 4][t] += s[(i + 1) % 4][t];
  x[64 * blockIdx.x + t] = s[0][t];
}]], function(k) k(2, 64)(ints(128)) end)

clean("bytes side by side, read as words behind the barrier", [[__global__ void k(unsigned *x) {
  __shared__ unsigned s[16];
  ((unsigned char *)s)[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 16) x[16 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  ((unsigned short *)s)[threadIdx.x % 32] = 1;
  __syncthreads();
  if (threadIdx.x < 16) x[16 * blockIdx.x + threadIdx.x] += s[threadIdx.x];
}]], function(k) k(2, 64)(gpu.zeros(32, "uint32")) end)

clean("a histogram in shared memory, with odd vectors", [[__global__ void k(const int4 *in, int *x) {
  __shared__ int s[8];
  __shared__ int4 q[32];
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;
  q[t] = in[t];
  __syncthreads();
  for (int r = 0; r < 100; r++) atomicAdd(&s[(t * r) % 8], q[31 - t].x + 1);
  __syncthreads();
  if (t < 8) atomicAdd(&x[t], s[t]);
}]], function(k)
  local x = ints(8)
  k(4, 32)(ints(128), x)
  return function() t.eq(x:sum(), 4 * 32 * 100) end
end)

clean("counters of a block, read behind its barrier, twice", [[__global__ void k(int *h, int *out) {
  int t = threadIdx.x, *mine = h + 64 * blockIdx.x, sum = 0;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 100; i++) atomicAdd(&mine[t * i % 64], 1);
    __syncthreads();
    sum += mine[(t + 1) % 64];
    __syncthreads();
  }
  out[64 * blockIdx.x + t] = sum;
}]], function(k)
  local h, out = gpu.zeros(384, "int32"), gpu.zeros(384, "int32")
  k(6, 64)(h, out)
  return function()
    t.eq(h:sum(), 6 * 2 * 64 * 100)
    t.eq(out:sum(), 6 * 3 * 64 * 100)
  end
end)

clean("vectors of a thread's own, read and written between what all read", [[__global__ void k(const float4 *x, float *o) {
  __shared__ float4 s[64];
  __shared__ float row[16];
  int t = threadIdx.x;
  float sum = 0;
  s[t] = x[t];
  if (t < 16) row[t] = 1;
  for (int i = 0; i < 3; i++) {
    s[t] = make_float4(s[t].y, s[t].z, s[t].w, s[t].x + i);
    __syncthreads();
    for (int k = 0; k < 16; k++) sum += row[k] * s[t].y;
    sum += s[63 - t].x;
    __syncthreads();
  }
  o[t] = sum;
}]], function(k)
  local o = floats(64)
  k(1, 64)(gpu.ones { 64, 4 }, o)
  return function() t.eq(o:sum(), 64 * 3 * (16 + 1)) end
end)

clean("whole rows that go from warp to warp, from launch to launch", [[__global__ void k(float *x, double *y) {
  int mine = 64 * blockIdx.x + 32 * threadIdx.y, other = 64 * blockIdx.x + 32 * (1 - threadIdx.y);
  x[mine + threadIdx.x] += 1;
  y[mine + threadIdx.x] = x[mine + threadIdx.x];
  __syncthreads();
  x[other + threadIdx.x] = y[other + threadIdx.x] + 1;
  __syncthreads();
  y[mine + threadIdx.x] += x[mine + threadIdx.x] + x[other + threadIdx.x];
}]], function(k)
  local x, y = gpu.zeros(1024), gpu.zeros(1024, "float64")
  for _ = 1, 3 do k(16, { 32, 2 })(x, y) end
  k(8, { 32, 2 })(x["513:1024"], y["513:1024"])
  return function()
    t.eq(x:sum(), 512 * 6 + 512 * 8)
    t.eq(y:sum(), 512 * (5 + 12) + 512 * (7 + 16))
  end
end)

clean("a tile of rows that begin within lines, and one of whole lines", [[__global__ void k(const float *x, float *y, int pitch) {
  int row = 4 * blockIdx.x + threadIdx.y;
  float v = x[row * pitch + threadIdx.x] + x[row * pitch + threadIdx.x + 24];
  __syncthreads();
  y[row * pitch + threadIdx.x + 16] = v;
  y[row * pitch + threadIdx.x + 32] = v;
}]], function(k)
  local x, y = gpu.ones(32, 48), gpu.zeros(32, 48)
  k(8, { 16, 4 })(x, y, 48)
  return function() t.eq(y:sum(), 2 * 2 * 16 * 32) end
end)

clean("lanes of tiles that exchange values over and over, then look closely", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, v = x[t];
  unsigned mask = 0xffu << t % 32 / 8 * 8;
  for (int k = 0; k < 8; k++) {
    s[t] = v;
    __syncwarp(mask);
    v += s[t ^ 1 << k % 3];
    __syncwarp(mask);
  }
  s[t ^ 7] = v;
  __syncwarp(mask);
  y[t] = *(volatile int *)&s[t];
}]], function(k)
  local x, y = gpu.ones(64, "int32"), gpu.zeros(64, "int32")
  k(1, 64)(x, y)
  return function() t.eq(y:sum(), 64 * 256) end
end)

clean("lanes of tiles that are cut in two ways by turns, then look closely", [[__global__ void k(const int *x, int *y, int rounds) {
  __shared__ int s[32];
  int t = threadIdx.x, v = x[t];
  unsigned halves = 0xffffu << t / 16 * 16, odds = 0x55555555u << t % 2;
  for (int k = 0; k < rounds; k++) {
    unsigned mask = k % 2 ? odds : halves;
    s[t] = v;
    __syncwarp(mask);
    v = s[t ^ (k % 2 ? 16 : 1)];
    __syncwarp(mask);
    __syncwarp(mask);
  }
  y[t] = *(volatile int *)&s[t];
}]], function(k)
  local x, y = gpu.range(1, 32):to("int32"), gpu.zeros(32, "int32")
  k(1, 32)(x, y, 400)
  return function() t.eq(y:sum(), 528) end
end)
clean("lanes of tiles that hand on what all of them did, and what one has seen", [[__global__ void k(int *x, int *flag, int *y) {
  int lane = threadIdx.x % 32, v = 0;
  unsigned mask = 0xffffu << lane / 16 * 16;
  for (int r = 0; r < 3; r++) {
    int *ready = flag + 2 * r + lane / 16;
    if (threadIdx.x < 32) {
      x[32 * r + lane] = lane + r;
      __threadfence();
      __syncwarp(mask);
      if (lane % 16 == 0) atomicExch(ready, 1);
    } else {
      if (lane % 16 == 0) while (!atomicAdd(ready, 0)) {}
      __threadfence();
      __syncwarp(mask);
      v += x[32 * r + (lane ^ 5)];
    }
  }
  if (threadIdx.x >= 32) y[lane] = v;
}]], function(k)
  local y = gpu.zeros(32, "int32")
  k(1, 64)(gpu.zeros(96, "int32"), gpu.zeros(6, "int32"), y)
  return function() t.eq(y:sum(), 3 * 496 + 3 * 32) end
end)
clean("lanes that exchange values over and over, then warps do", [[__global__ void k(const int *x, int *y) {
  __shared__ int s[128];
  int t = threadIdx.x, v = x[t];
  for (int i = 0; i < 300; i++) {
    s[t] = v;
    __syncwarp();
    v = s[t ^ (1 << i % 5)] + s[t / 32 * 32] - s[t & 96];
    __syncwarp();
    if (i % 100 == 99) {
      __syncthreads();
      v += s[127 - t] - s[127 - t];
      __syncthreads();
    }
  }
  y[t] = v;
}]], function(k)
  local x, y = gpu.range(1, 128):to("int32"), ints(128)
  k(1, 128)(x, y)
  return function()
    t.eq(y:sum(), 64 * 129)
    t.eq(y[1], 1)
  end
end)

clean("words that threads scatter, gather behind a barrier, and write once more", [[__global__ void k(int *y, int *z) {
  int t = threadIdx.x;
  y[37 * t % 256] = t;
  y[37 * t % 256] += 1;
  __syncthreads();
  z[t] = y[37 * (255 - t) % 256];
  __syncthreads();
  y[101 * t % 256] = z[t];
}]], function(k)
  local y, z = ints(256), ints(256)
  k(1, 256)(y, z)
  return function()
    t.eq(z[1], 256)
    t.eq(y:sum(), 256 * 257 // 2)
  end
end)

clean("threads that scatter the same value to one place", [[__global__ void k(int *y) {
  int t = threadIdx.x;
  y[37 * t % 256 / 2] = 7;
}]], function(k)
  local y = ints(128)
  for _ = 1, 2 do k(2, 256)(y) end
  return function() t.eq(y:sum(), 7 * 128) end
end)

t.done()
