// Sorting, scans and what is made of them, by blocks in shared memory: for check_bench.lua.
__global__ void bitonic_step(int *a, int j, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (i < n && p > i) { int x = a[i], y = a[p]; bool up = (i & k) == 0; if ((x > y) == up) { a[i] = y; a[p] = x; } }
}
__global__ void bitonic_block(const int *x, int *out) {
  __shared__ int s[512];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  s[t] = x[i]; s[t + 256] = x[i + 256];
  __syncthreads();
  for (int k = 2; k <= 512; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int lo = 2 * t - (t & (j - 1)), hi = lo + j;
      bool up = (lo & k) == 0;
      int a = s[lo], b = s[hi];
      if ((a > b) == up) { s[lo] = b; s[hi] = a; }
      __syncthreads();
    }
  out[i] = s[t]; out[i + 256] = s[t + 256];
}
__global__ void bitonic_xor(const int *x, int *out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 2147483647;
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int p = t ^ j;
      if (p > t) {
        bool up = (t & k) == 0;
        if ((s[t] > s[p]) == up) { int v = s[t]; s[t] = s[p]; s[p] = v; }
      }
      __syncthreads();
    }
  if (i < n) out[i] = s[t];
}
__global__ void oddeven(const int *x, int *out) {
  __shared__ int s[512];
  int t = threadIdx.x, i = blockIdx.x * 512;
  s[2*t] = x[i + 2*t]; s[2*t+1] = x[i + 2*t+1];
  __syncthreads();
  for (int r = 0; r < 64; r++) {
    int a = 2 * t + (r & 1);
    if (a + 1 < 512 && s[a] > s[a + 1]) { int v = s[a]; s[a] = s[a + 1]; s[a + 1] = v; }
    __syncthreads();
  }
  out[i + 2*t] = s[2*t]; out[i + 2*t+1] = s[2*t+1];
}
__global__ void scan_guard(const int *x, int *out, int *totals, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (i >= n) return;
  s[t] = x[i];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  out[i] = s[t];
  if (t == blockDim.x - 1) totals[blockIdx.x] = s[t];
}
__global__ void scan_guard2(const float *x, float *out, int n) {
  __shared__ float s[512];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (i < n) s[t] = x[i];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    float v = 0;
    if (t >= d) v = s[t - d];
    __syncthreads();
    if (t >= d) s[t] += v;
    __syncthreads();
  }
  if (i < n) out[i] = s[t];
}
__global__ void blelloch(const int *x, int *out, int n) {
  __shared__ int s[512];
  int t = threadIdx.x, d = 1, base = blockIdx.x * 512;
  s[2 * t] = base + 2 * t < n ? x[base + 2 * t] : 0;
  s[2 * t + 1] = base + 2 * t + 1 < n ? x[base + 2 * t + 1] : 0;
  for (int w = 256; w; w /= 2, d *= 2) {
    __syncthreads();
    if (t < w) s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];
  }
  if (t == 0) s[511] = 0;
  for (int w = 1; w < 512; w *= 2) {
    d /= 2;
    __syncthreads();
    if (t < w) { int a = d * (2 * t + 1) - 1, b = d * (2 * t + 2) - 1, v = s[a]; s[a] = s[b]; s[b] += v; }
  }
  __syncthreads();
  if (base + 2 * t < n) out[base + 2 * t] = s[2 * t];
  if (base + 2 * t + 1 < n) out[base + 2 * t + 1] = s[2 * t + 1];
}
__global__ void radix_block(const unsigned *x, unsigned *out, int n) { // 4 splits by bits
  __shared__ unsigned s[256], r[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0xffffffffu;
  __syncthreads();
  for (int bit = 0; bit < 4; bit++) {
    unsigned v = s[t], b = v >> bit & 1;
    r[t] = 1 - b;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) { unsigned u = t >= d ? r[t - d] : 0; __syncthreads(); r[t] += u; __syncthreads(); }
    unsigned zeros = r[255], at = b ? zeros + t - r[t] : r[t] - 1;
    __syncthreads();
    s[at] = v;
    __syncthreads();
  }
  if (i < n) out[i] = s[t];
}
__global__ void merge_block(const int *x, int *out) { // rank by binary search
  __shared__ int s[2][256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
  s[0][t] = x[i] & 1023;
  __syncthreads();
  for (int w = 1; w < 256; w *= 2) {
    int base = t / (2 * w) * 2 * w, left = t - base < w, other = left ? base + w : base, lo = 0, hi = w, v = s[from][t];
    while (lo < hi) { int mid = (lo + hi) / 2; int u = s[from][other + mid]; if (left ? u < v : u <= v) lo = mid + 1; else hi = mid; }
    s[!from][base + (left ? t - base : t - base - w) + lo] = v;
    from = !from;
    __syncthreads();
  }
  out[i] = s[from][t];
}
__global__ void compact(const int *x, int *out, int *counts, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  int v = i < n ? x[i] : 0, keep = v & 1;
  s[t] = keep;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) { int u = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += u; __syncthreads(); }
  if (keep) out[blockIdx.x * 256 + s[t] - 1] = v;
  if (t == 255) counts[blockIdx.x] = s[255];
}
__global__ void split_bytes(const unsigned char *x, unsigned char *y, int n) { // sorts them in the block, bit by bit
  __shared__ unsigned char s[256], sorted[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  unsigned char v = i < n ? x[i] : 255;
  for (int bit = 0; bit < 8; bit++) {
    int one = v >> bit & 1;
    s[t] = !one;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
      unsigned char before = t >= d ? s[t - d] : 0;
      __syncthreads();
      s[t] += before;
      __syncthreads();
    }
    int at = one ? s[255] + t - s[t] : (unsigned char)(s[t] - 1);
    sorted[at] = v;
    __syncthreads();
    v = sorted[t];
  }
  if (i < n) y[i] = v;
}
__global__ void place_halves(const short *x, const int *at, short *y, int n, int rounds) { // by a table
  __shared__ short s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, to = at[t];
  short v = i < n ? x[i] : 0;
  for (int k = 0; k < rounds; k++) {
    s[to] = v;
    __syncthreads();
    v = s[t] + s[255 - t];
    __syncthreads();
  }
  if (i < n) y[i] = v;
}
__global__ void block_reverse(const int *x, int *y, int n) {
  extern __shared__ int d[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (i < n) d[t] = x[i];
  __syncthreads();
  if (i < n) y[i] = d[blockDim.x - 1 - t];
}
