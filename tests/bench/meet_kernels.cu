// Threads that meet in other ways than all of a block: barriers by number, lanes of a warp by masks, locks, and barriers
// of the grid, around places that come from data. What the checks of the software GPU are measured on besides (check_bench.lua). Blocks of 256.
#define SYNC(id, count) asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory")
#define ARRIVE(id, count) asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory")
extern "C" {
// Half of a block fills a buffer of two while the other half works on the other one.
__global__ void producer_consumer(const float *x, float *y, int tiles) {
  __shared__ float s[2][128];
  int me = threadIdx.x % 128, from = blockIdx.x * tiles * 128;
  if (threadIdx.x < 128) {
    for (int t = 0; t < tiles; t++) {
      SYNC(3 + t % 2, 256); // it is empty
      s[t % 2][me] = x[from + t * 128 + me];
      ARRIVE(1 + t % 2, 256); // it is full
    }
  } else {
    ARRIVE(3, 256);
    ARRIVE(4, 256);
    for (int t = 0; t < tiles; t++) {
      SYNC(1 + t % 2, 256);
      y[from + t * 128 + me] = s[t % 2][127 - me] * 2 + s[t % 2][me];
      if (t + 2 < tiles) ARRIVE(3 + t % 2, 256);
    }
  }
}
// The same where what is read is looked up.
__global__ void producer_lookup(const float *x, const int *p, float *y, int tiles) {
  __shared__ float s[2][128];
  int me = threadIdx.x % 128, from = blockIdx.x * tiles * 128;
  if (threadIdx.x < 128) {
    for (int t = 0; t < tiles; t++) {
      SYNC(3 + t % 2, 256);
      s[t % 2][me] = x[from + t * 128 + me];
      ARRIVE(1 + t % 2, 256);
    }
  } else {
    ARRIVE(3, 256);
    ARRIVE(4, 256);
    for (int t = 0; t < tiles; t++) {
      SYNC(1 + t % 2, 256);
      y[from + t * 128 + me] = s[t % 2][p[from + t * 128 + me] % 128];
      if (t + 2 < tiles) ARRIVE(3 + t % 2, 256);
    }
  }
}
// Two warps each sum what is theirs in shared memory.
__global__ void pair_reduce(const float *x, float *y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x, group = threadIdx.x / 64, me = threadIdx.x % 64;
  s[threadIdx.x] = i < n ? x[i] : 0;
  SYNC(1 + group, 64);
  for (int d = 32; d; d /= 2) {
    if (me < d) s[threadIdx.x] += s[threadIdx.x + d];
    SYNC(1 + group, 64);
  }
  if (!me) y[i / 64] = s[threadIdx.x];
}
// Two halves of a block each scatter and gather stretches of their own in global memory, between barriers of their own.
__global__ void half_scatter(const int *p, int *t, int *y, int rounds) { // p: in each 128 the numbers 0 to 127
  int half = threadIdx.x / 128, me = threadIdx.x % 128, from = (blockIdx.x * 2 + half) * 128, v = me;
  for (int k = 0; k < rounds; k++) {
    t[from + p[from + v]] = v;
    SYNC(1 + half, 128);
    v = t[from + (me ^ k)];
    SYNC(1 + half, 128);
  }
  y[from + me] = v;
}
// The same in shared memory.
__global__ void half_scatter_shared(const int *p, int *y, int rounds) {
  __shared__ int t[256];
  int half = threadIdx.x / 128, me = threadIdx.x % 128, from = (blockIdx.x * 2 + half) * 128, v = me;
  for (int k = 0; k < rounds; k++) {
    t[half * 128 + p[from + v]] = v;
    SYNC(1 + half, 128);
    v = t[half * 128 + (me ^ k)];
    SYNC(1 + half, 128);
  }
  y[from + me] = v;
}
// Half warps each sort eight by eight in shared memory, by masks of theirs.
__global__ void tile_sort(const int *x, int *y, int n) {
  __shared__ int s[256];
  int i = blockIdx.x * 256 + threadIdx.x, me = threadIdx.x, lane = me % 32;
  unsigned mask = 0xffu << lane / 8 * 8;
  s[me] = i < n ? x[i] : 0;
  __syncwarp(mask);
  for (int k = 2; k <= 8; k *= 2)
    for (int j = k / 2; j; j /= 2) {
      int o = me ^ j;
      if (o > me && (s[me] > s[o]) == !(me & k)) { int h = s[me]; s[me] = s[o]; s[o] = h; }
      __syncwarp(mask);
    }
  if (i < n) y[i] = s[me];
}
// Lanes of a half warp add up in shared memory, the other half has nothing to do.
__global__ void half_warp_reduce(const float *x, float *y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncwarp();
  if (lane < 16) {
    for (int d = 16; d; d /= 2) {
      float v = s[threadIdx.x + d];
      __syncwarp(0xffff);
      s[threadIdx.x] += v;
      __syncwarp(0xffff);
    }
  }
  if (!lane) y[i / 32] = s[threadIdx.x];
}
// Tiles of 16 lanes scatter in global memory and read what their others left.
__global__ void tile_scatter(const int *p, int *t, int *y, int rounds) { // p: in each 16 the numbers 0 to 15
  int i = blockIdx.x * 256 + threadIdx.x, from = i / 16 * 16, v = i % 16;
  unsigned mask = 0xffffu << threadIdx.x % 32 / 16 * 16;
  for (int k = 0; k < rounds; k++) {
    t[from + p[from + v]] = v;
    __syncwarp(mask);
    v = t[from + (i % 16 ^ k % 16)];
    __syncwarp(mask);
  }
  y[i] = v;
}
__device__ unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void begin(unsigned long long *bar, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_at(bar)), "r"(n) : "memory");
}
__device__ void arrive(unsigned long long *bar) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_at(bar)) : "memory");
}
__device__ void wait(unsigned long long *bar, int parity) {
  asm volatile("{ .reg .pred p; W: mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }" ::"r"(shared_at(bar)),
               "r"(parity)
               : "memory");
}
// A product by tiles, between which all wait for a phase of an mbarrier.
__global__ void matmul_phases(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  __shared__ unsigned long long bar;
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
  float sum = 0;
  if (tx == 0 && ty == 0) begin(&bar, 256);
  __syncthreads();
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[y * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + x];
    arrive(&bar), wait(&bar, 0);
    for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
    arrive(&bar), wait(&bar, 1);
  }
  c[y * n + x] = sum;
}
// producer_consumer with mbarriers.
__global__ void producer_phases(const float *x, float *y, int tiles) {
  __shared__ float s[256];
  __shared__ unsigned long long full[2], empty[2];
  int me = threadIdx.x % 128, from = blockIdx.x * tiles * 128;
  if (threadIdx.x < 2) begin(&full[threadIdx.x], 128), begin(&empty[threadIdx.x], 128);
  __syncthreads();
  if (threadIdx.x < 128) {
    for (int t = 0; t < tiles; t++) {
      if (t > 1) wait(&empty[t % 2], (t / 2 - 1) % 2);
      s[t % 2 * 128 + me] = x[from + t * 128 + me];
      arrive(&full[t % 2]);
    }
  } else {
    for (int t = 0; t < tiles; t++) {
      wait(&full[t % 2], t / 2 % 2);
      y[from + t * 128 + me] = s[t % 2 * 128 + (me ^ 5)];
      arrive(&empty[t % 2]);
    }
  }
}
// producer_consumer with the buffers in global memory: r has 256 for each block.
__global__ void producer_global(const float *x, float *r, float *y, int tiles) {
  int me = threadIdx.x % 128, from = blockIdx.x * tiles * 128;
  r += blockIdx.x * 256;
  if (threadIdx.x < 128) {
    for (int t = 0; t < tiles; t++) {
      if (t > 1) SYNC(3 + t % 2, 256);
      r[t % 2 * 128 + me] = x[from + t * 128 + me];
      ARRIVE(1 + t % 2, 256);
    }
  } else {
    for (int t = 0; t < tiles; t++) {
      SYNC(1 + t % 2, 256);
      y[from + t * 128 + me] = r[t % 2 * 128 + (me ^ 5)];
      if (t + 2 < tiles) ARRIVE(3 + t % 2, 256);
    }
  }
}
// Tiles of 16 lanes sum up in global memory.
__global__ void tile_reduce(const float *x, float *t, float *y) {
  int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 16;
  unsigned mask = 0xffffu << threadIdx.x % 32 / 16 * 16;
  t[i] = x[i];
  __syncwarp(mask);
  for (int s = 8; s; s /= 2) {
    if (lane < s) t[i] += t[i + s];
    __syncwarp(mask);
  }
  if (!lane) y[i / 16] = t[i];
}
// A lock for each of `cells` sums.
__global__ void lock_cells(const int *p, int *locks, float *sum, int cells) {
  int c = p[blockIdx.x * 256 + threadIdx.x] % cells;
  for (bool done = false; !done;)
    if (atomicCAS(&locks[c], 0, 1) == 0) {
      __threadfence();
      sum[c] += 1.0f;
      __threadfence();
      atomicExch(&locks[c], 0);
      done = true;
    }
}
// One lock for all, which lanes of one warp wait for while another one has it.
__global__ void lock_one(int *lock, float *sum) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *sum += 1.0f;
  __threadfence();
  atomicExch(lock, 0);
}
// Steps of a stencil with a barrier of the grid by a counter in between, which begins at 0.
__global__ void grid_steps(float *a, float *b, unsigned *arrived, int steps) {
  int n = gridDim.x * 256, i = blockIdx.x * 256 + threadIdx.x;
  for (int s = 0; s < steps; s++) {
    float *from = s % 2 ? b : a, *to = s % 2 ? a : b;
    to[i] = 0.5f * (from[(i + 1) % n] + from[(i + n - 1) % n]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1);
      while (*(volatile unsigned *)arrived < gridDim.x * (s + 1)) {}
      __threadfence();
    }
    __syncthreads();
  }
}
// Each block goes on from the row that the one before it hands on.
__global__ void hand_on(float *x, volatile int *flag) {
  float *row = x + blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x == 0 && blockIdx.x) {
    while (!flag[blockIdx.x - 1]) {}
    __threadfence();
  }
  __syncthreads();
  row[256] = row[0] + 1.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    flag[blockIdx.x] = 1;
  }
}
// Solves a lower triangular system: a thread for each row, which awaits the `width` rows that it wants by their flags.
__global__ void solve_rows(const int *p, const double *v, double *x, int *done, int n, int width) {
  int r = blockIdx.x * 256 + threadIdx.x, k = r ? 0 : width;
  double sum = 1;
  for (bool solved = r >= n; !solved;) {
    for (int c; k < width && *(volatile int *)&done[c = p[r * width + k] % r]; k++) {
      __threadfence();
      sum -= v[r * width + k] * x[c];
    }
    if (k < width) continue;
    x[r] = sum;
    __threadfence();
    *(volatile int *)&done[r] = 1;
    solved = true;
  }
}
}
