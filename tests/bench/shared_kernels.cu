// What courses write with shared memory, most of it behind guards: for check_bench.lua. Sorting and scans are in
// sort_kernels.cu.
#define FULL 0xffffffffu
__global__ void transpose_guard(const float *in, float *out, int w, int h) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_guard16(const float *in, float *out, int w, int h) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
  if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void matmul_guard(const float *A, const float *B, float *C, int m, int n, int kk) {
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float s = 0;
  for (int p = 0; p < (kk + 15) / 16; p++) {
    a[ty][tx] = row < m && p * 16 + tx < kk ? A[row * kk + p * 16 + tx] : 0;
    b[ty][tx] = p * 16 + ty < kk && col < n ? B[(p * 16 + ty) * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < 16; k++) s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (row < m && col < n) C[row * n + col] = s;
}
__global__ void matmul_if(const float *A, const float *B, float *C, int n) { // everything behind the guard
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  if (row >= n || col >= n) return;
  float s = 0;
  for (int p = 0; p < n / 16; p++) {
    a[ty][tx] = A[row * n + p * 16 + tx];
    b[ty][tx] = B[(p * 16 + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < 16; k++) s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  C[row * n + col] = s;
}
__global__ void matmul_ifs(const float *A, const float *B, float *C, int n) { // tiles filled with if/else
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float s = 0;
  for (int p = 0; p < (n + 15) / 16; p++) {
    if (row < n && p * 16 + tx < n) a[ty][tx] = A[row * n + p * 16 + tx]; else a[ty][tx] = 0.0f;
    if (col < n && p * 16 + ty < n) b[ty][tx] = B[(p * 16 + ty) * n + col]; else b[ty][tx] = 0.0f;
    __syncthreads();
    for (int k = 0; k < 16; k++) s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (row < n && col < n) C[row * n + col] = s;
}
__global__ void reduce_guard(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  float v = i < n ? x[i] : 0;
  if (i + 256 < n) v += x[i + 256];
  s[t] = v;
  __syncthreads();
  for (int d = 128; d > 32; d /= 2) { if (t < d) s[t] = v = v + s[t + d]; __syncthreads(); }
  if (t < 32) {
    v += s[t + 32];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(FULL, v, d);
  }
  if (t == 0) out[blockIdx.x] = v;
}
__global__ void reduce_return(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (i >= n) return;
  s[t] = x[i];
  __syncthreads();
  for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_interleaved(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) { if (t % (2 * d) == 0) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_tail(const float *x, float *out, int n) { // guards inside
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (i < n) s[t] = x[i];
  __syncthreads();
  for (int d = 128; d; d /= 2) { if (t < d && i + d < n) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_atomic(const float *x, float *out, int n) {
  __shared__ float s;
  int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  if (i < n) atomicAdd(&s, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}
__global__ void last_block(const float *x, float *partial, unsigned *ticket, float *out, int n) {
  __shared__ float s[256]; __shared__ bool last;
  int t = threadIdx.x; float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i];
  s[t] = v; __syncthreads();
  for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) { partial[blockIdx.x] = s[0]; __threadfence(); last = atomicAdd(ticket, 1) == gridDim.x - 1; }
  __syncthreads();
  if (last) {
    v = 0;
    for (int i = t; i < gridDim.x; i += 256) v += partial[i];
    s[t] = v; __syncthreads();
    for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) *out = s[0], *ticket = 0;
  }
}
#define R 3
__global__ void stencil1d(const float *x, float *y, int n) {
  __shared__ float s[256 + 2 * R];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, l = t + R;
  s[l] = i < n ? x[i] : 0;
  if (t < R) { s[l - R] = i >= R ? x[i - R] : 0; s[l + 256] = i + 256 < n ? x[i + 256] : 0; }
  __syncthreads();
  float v = 0;
  for (int k = -R; k <= R; k++) v += s[l + k];
  if (i < n) y[i] = v;
}
__global__ void stencil1d_ret(const float *x, float *y, int n) {
  __shared__ float s[256 + 2 * R];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, l = t + R;
  if (i >= n) return;
  s[l] = x[i];
  if (t < R) { s[l - R] = i >= R ? x[i - R] : 0; s[l + 256] = i + 256 < n ? x[i + 256] : 0; }
  __syncthreads();
  float v = 0;
  for (int k = -R; k <= R; k++) v += s[l + k];
  y[i] = v;
}
__global__ void stencil2d(const float *x, float *y, int w, int h) {
  __shared__ float s[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
  int cx = min(i, w - 1), cy = min(j, h - 1);
  s[ty + 1][tx + 1] = x[cy * w + cx];
  if (tx == 0) s[ty + 1][0] = x[cy * w + max(cx - 1, 0)];
  if (tx == 15) s[ty + 1][17] = x[cy * w + min(cx + 1, w - 1)];
  if (ty == 0) s[0][tx + 1] = x[max(cy - 1, 0) * w + cx];
  if (ty == 15) s[17][tx + 1] = x[min(cy + 1, h - 1) * w + cx];
  __syncthreads();
  if (i < w && j < h) y[j * w + i] = 0.2f * (s[ty + 1][tx + 1] + s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2]);
}
__global__ void stencil2d_halo(const float *x, float *y, int w, int h) { // only inner ones compute
  __shared__ float s[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 14 + tx - 1, j = blockIdx.y * 14 + ty - 1;
  s[ty][tx] = i >= 0 && i < w && j >= 0 && j < h ? x[j * w + i] : 0;
  __syncthreads();
  if (tx > 0 && tx < 15 && ty > 0 && ty < 15 && i < w && j < h)
    y[j * w + i] = 0.2f * (s[ty][tx] + s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1]);
}
__global__ void stencil2d_inner(const float *x, float *y, int w, int h) { // halo from global memory behind guards
  __shared__ float s[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
  if (i < w && j < h) {
    s[ty + 1][tx + 1] = x[j * w + i];
    if (tx == 0 && i > 0) s[ty + 1][0] = x[j * w + i - 1];
    if (tx == 15 && i < w - 1) s[ty + 1][17] = x[j * w + i + 1];
    if (ty == 0 && j > 0) s[0][tx + 1] = x[(j - 1) * w + i];
    if (ty == 15 && j < h - 1) s[17][tx + 1] = x[(j + 1) * w + i];
  }
  __syncthreads();
  if (i > 0 && j > 0 && i < w - 1 && j < h - 1)
    y[j * w + i] = 0.2f * (s[ty + 1][tx + 1] + s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2]);
}
__constant__ float weights[25] = {1, 2, 3, 2, 1};
__global__ void conv2d(const float *x, float *y, int w, int h) {
  __shared__ float s[20][20];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx - 2, j = blockIdx.y * 16 + ty - 2;
  s[ty][tx] = i >= 0 && i < w && j >= 0 && j < h ? x[j * w + i] : 0;
  __syncthreads();
  if (tx < 16 && ty < 16 && i + 2 < w && j + 2 < h) {
    float v = 0;
    for (int a = 0; a < 5; a++) for (int b = 0; b < 5; b++) v += weights[a * 5 + b] * s[ty + a][tx + b];
    y[(j + 2) * w + i + 2] = v;
  }
}
__global__ void conv2d_cached(const float *x, float *y, int w, int h) { // tile in shared memory, halo by the cache
  __shared__ float s[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.x * 16 + tx, j = blockIdx.y * 16 + ty;
  s[ty][tx] = i < w && j < h ? x[j * w + i] : 0;
  __syncthreads();
  if (i < w && j < h) {
    float v = 0;
    for (int a = 0; a < 5; a++) for (int b = 0; b < 5; b++) {
      int u = tx - 2 + b, r = ty - 2 + a, gx = i - 2 + b, gy = j - 2 + a;
      if (u >= 0 && u < 16 && r >= 0 && r < 16) v += weights[a * 5 + b] * s[r][u];
      else if (gx >= 0 && gx < w && gy >= 0 && gy < h) v += weights[a * 5 + b] * x[gy * w + gx];
    }
    y[j * w + i] = v;
  }
}
__global__ void conv1d(const float *x, float *y, int n) {
  __shared__ float s[256 + 8];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i >= 4 && i - 4 < n ? x[i - 4] : 0;
  if (t < 8) s[t + 256] = i + 252 < n ? x[i + 252] : 0;
  __syncthreads();
  float v = 0;
  for (int k = 0; k < 9; k++) v += weights[k] * s[t + k];
  if (i < n) y[i] = v;
}
__device__ float warp_sum(float v) { for (int d = 16; d; d /= 2) v += __shfl_xor_sync(FULL, v, d); return v; }
__device__ float block_sum(float v, float *s) {
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) s[warp] = v;
  __syncthreads();
  v = lane < blockDim.x / 32 ? s[lane] : 0;
  return warp_sum(v);
}
__global__ void shuffle_mix(const float *x, float *out, int n) {
  __shared__ float s[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = block_sum(i < n ? x[i] : 0, s);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}
__global__ void softmax(const float *x, float *y, int cols) {
  __shared__ float s[256];
  const float *row = x + blockIdx.x * cols; float *o = y + blockIdx.x * cols;
  int t = threadIdx.x; float m = -1e30f;
  for (int c = t; c < cols; c += blockDim.x) m = fmaxf(m, row[c]);
  s[t] = m; __syncthreads();
  for (int d = blockDim.x / 2; d; d /= 2) { if (t < d) s[t] = fmaxf(s[t], s[t + d]); __syncthreads(); }
  m = s[0]; __syncthreads();
  float sum = 0;
  for (int c = t; c < cols; c += blockDim.x) { float e = __expf(row[c] - m); o[c] = e; sum += e; }
  s[t] = sum; __syncthreads();
  for (int d = blockDim.x / 2; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  sum = s[0];
  for (int c = t; c < cols; c += blockDim.x) o[c] /= sum;
}
__global__ void softmax_rows(const float *x, float *y, int cols) { // row in shared memory
  extern __shared__ float row[];
  __shared__ float s[32];
  int t = threadIdx.x; float sum = 0;
  for (int c = t; c < cols; c += blockDim.x) { float e = __expf(x[blockIdx.x * cols + c]); row[c] = e; sum += e; }
  sum = block_sum(sum, s);
  for (int c = t; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = row[c] / sum;
}
__global__ void layernorm(const float *x, const float *g, const float *b, float *y, int cols) {
  __shared__ float s[32];
  const float *row = x + blockIdx.x * cols; float *o = y + blockIdx.x * cols;
  float m = 0, v = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) m += row[c];
  m = block_sum(m, s) / cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) { float d = row[c] - m; v += d * d; }
  v = rsqrtf(block_sum(v, s) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) o[c] = (row[c] - m) * v * g[c] + b[c];
}
__global__ void attention(const float *Q, const float *K, const float *V, float *O, int n) { // a row a block, 64 wide
  __shared__ float q[64], p[256], s[32], acc[4][64];
  int t = threadIdx.x, row = blockIdx.x;
  if (t < 64) q[t] = Q[row * 64 + t];
  __syncthreads();
  float sum = 0;
  for (int j = t; j < n; j += 256) {
    float v = 0;
    for (int d = 0; d < 64; d++) v += q[d] * K[j * 64 + d];
    p[j] = __expf(v * 0.125f); sum += p[j];
  }
  sum = block_sum(sum, s);
  __syncthreads();
  int d = t & 63, part = t / 64; float o = 0;
  for (int j = part; j < n; j += 4) o += p[j] * V[j * 64 + d];
  acc[part][d] = o;
  __syncthreads();
  if (part == 0) O[row * 64 + d] = (acc[0][d] + acc[1][d] + acc[2][d] + acc[3][d]) / sum;
}
__global__ void histogram(const int *x, int *bins, int n) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[x[i] & 255], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void histogram_guard(const int *x, int *bins, int n) {
  __shared__ int s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&s[x[i] & 255], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void nbody(const float4 *p, float4 *a, int n) {
  __shared__ float4 s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = i < n ? p[i] : make_float4(0, 0, 0, 0), acc = make_float4(0, 0, 0, 0);
  for (int k = 0; k < n; k += 256) {
    if (k + threadIdx.x < n) s[threadIdx.x] = p[k + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256 && k + j < n; j++) {
      float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float f = s[j].w * r * r * r;
      acc.x += f * dx; acc.y += f * dy; acc.z += f * dz;
    }
    __syncthreads();
  }
  if (i < n) a[i] = acc;
}
__global__ void jacobi_block(const float *x, float *y, int rounds) { // several sweeps in shared memory
  __shared__ float s[2][258];
  int t = threadIdx.x + 1, i = blockIdx.x * 256 + threadIdx.x, from = 0;
  s[0][t] = x[i];
  if (t == 1) s[0][0] = s[1][0] = 0;
  if (t == 256) s[0][257] = s[1][257] = 0;
  __syncthreads();
  for (int r = 0; r < rounds; r++) { s[!from][t] = 0.5f * (s[from][t - 1] + s[from][t + 1]); from = !from; __syncthreads(); }
  y[i] = s[from][t];
}
__global__ void least_path(const int *x, int *y, int n, int rounds) { // neighbours, clamped where the rows of all end
  __shared__ int from[256], to[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, last = n - 1 - (int)blockIdx.x * 256 < 255 ? n - 1 - (int)blockIdx.x * 256 : 255;
  int left = t > 0 ? t - 1 : 0, right = t < last ? t + 1 : last;
  if (t <= last) from[t] = x[i];
  __syncthreads();
  for (int r = 0; r < rounds; r++) {
    bool inside = t > r && t < 255 - r && t <= last;
    if (inside) to[t] = min(from[left], min(from[t], from[right])) + r;
    __syncthreads();
    if (inside) from[t] = to[t];
    __syncthreads();
  }
  if (t <= last) y[i] = from[t];
}
__global__ void fft_block(const float2 *x, float2 *y) {
  __shared__ float2 s[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  s[__brev(t) >> 23] = x[base + t]; s[__brev(t + 256) >> 23] = x[base + t + 256];
  __syncthreads();
  for (int h = 1; h < 512; h *= 2) {
    int k = t % h, a = t / h * 2 * h + k, b = a + h;
    float sn, cs; __sincosf(-3.14159265f * k / h, &sn, &cs);
    float2 u = s[a], v = s[b], w = make_float2(v.x * cs - v.y * sn, v.x * sn + v.y * cs);
    s[a] = make_float2(u.x + w.x, u.y + w.y); s[b] = make_float2(u.x - w.x, u.y - w.y);
    __syncthreads();
  }
  y[base + t] = s[t]; y[base + t + 256] = s[t + 256];
}
__global__ void median_block(const int *x, int *y, int w, int h) {
  __shared__ int s[18][18];
  int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * 16, by = blockIdx.y * 16;
  for (int k = ty * 16 + tx; k < 18 * 18; k += 256) {
    int c = bx + k % 18 - 1, r = by + k / 18 - 1;
    s[k / 18][k % 18] = c >= 0 && c < w && r >= 0 && r < h ? x[r * w + c] : 0;
  }
  __syncthreads();
  int v[9];
  for (int k = 0; k < 9; k++) v[k] = s[ty + k / 3][tx + k % 3];
  for (int a = 0; a < 5; a++) for (int b = a + 1; b < 9; b++) { int lo = min(v[a], v[b]), hi = max(v[a], v[b]); v[a] = lo, v[b] = hi; }
  if (bx + tx < w && by + ty < h) y[(by + ty) * w + bx + tx] = v[4];
}
__global__ void dot_volatile(const float *a, const float *b, float *c, int n) {
  __shared__ float cache[256];
  int tid = threadIdx.x + blockIdx.x * blockDim.x, ci = threadIdx.x;
  float temp = 0;
  while (tid < n) { temp += a[tid] * b[tid]; tid += blockDim.x * gridDim.x; }
  cache[ci] = temp;
  __syncthreads();
  int i = blockDim.x / 2;
  while (i != 0) { if (ci < i) cache[ci] += cache[ci + i]; __syncthreads(); i /= 2; }
  if (ci == 0) c[blockIdx.x] = cache[0];
}
__global__ void syncwarp_reduce(const float *x, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, lane = t & 31;
  s[t] = i < n ? x[i] : 0;
  __syncwarp();
  for (int d = 16; d; d /= 2) { float v = s[t]; if (lane < d) v += s[t + d]; __syncwarp(); s[t] = v; __syncwarp(); }
  if (lane == 0) out[i / 32] = s[t];
}
__global__ void match_bytes(const unsigned char *text, const unsigned char *word, int *out, int n) {
  __shared__ unsigned char s[256 + 16], w[16];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? text[i] : 0;
  if (t < 16) { s[256 + t] = i + 256 < n ? text[i + 256] : 0; w[t] = word[t]; }
  __syncthreads();
  int same = 0;
  while (same < 16 && s[t + same] == w[same]) same++;
  if (i < n) out[i] = same;
}
__global__ void heat_pyramid(const float *power, const float *from, float *to, int w, int h, int steps) { // as hotspot
  __shared__ float t_on[16][16], p_on[16][16], t_new[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, inner = 16 - 2 * steps;
  int y0 = inner * blockIdx.y - steps, x0 = inner * blockIdx.x - steps, y = y0 + ty, x = x0 + tx, i = w * y + x;
  bool computed = false;
  if (y >= 0 && y < h && x >= 0 && x < w) {
    t_on[ty][tx] = from[i];
    p_on[ty][tx] = power[i];
  }
  __syncthreads();
  int top = max(-y0, 0), bottom = y0 + 15 > h - 1 ? h - 1 - y0 : 15;
  int left = max(-x0, 0), right = x0 + 15 > w - 1 ? w - 1 - x0 : 15;
  int n = max(ty - 1, top), s = min(ty + 1, bottom), e = min(tx + 1, right), v = max(tx - 1, left);
  for (int k = 0; k < steps; k++) {
    computed = tx > k && tx < 15 - k && ty > k && ty < 15 - k && tx >= left && tx <= right && ty >= top && ty <= bottom;
    if (computed)
      t_new[ty][tx] = t_on[ty][tx] + 0.1f * (p_on[ty][tx] + 0.3f * (t_on[s][tx] + t_on[n][tx] - 2 * t_on[ty][tx]) +
                                             0.4f * (t_on[ty][e] + t_on[ty][v] - 2 * t_on[ty][tx]));
    __syncthreads();
    if (k == steps - 1) break;
    if (computed) t_on[ty][tx] = t_new[ty][tx];
    __syncthreads();
  }
  if (computed) to[i] = t_new[ty][tx];
}
__global__ void path_pyramid(const int *wall, const int *from, int *to, int w, int steps) { // as pathfinder
  __shared__ int now[256], next[256];
  int t = threadIdx.x, x0 = (256 - 2 * steps) * blockIdx.x - steps, x = x0 + t;
  int left = max(-x0, 0), right = x0 + 255 > w - 1 ? w - 1 - x0 : 255;
  bool computed = false;
  if (x >= 0 && x < w) now[t] = from[x];
  __syncthreads();
  for (int k = 0; k < steps; k++) {
    computed = t > k && t < 255 - k && t >= left && t <= right;
    if (computed) next[t] = min(min(now[max(t - 1, left)], now[min(t + 1, right)]), now[t]) + wall[w * k + x];
    __syncthreads();
    if (k == steps - 1) break;
    if (computed) now[t] = next[t];
    __syncthreads();
  }
  if (computed) to[x] = next[t];
}
// Which boxes (x0, y0, x1, y1) of a tile overlap each one much, from itself on in its own tile. Blocks of 64.
__global__ void overlaps(const float *box, unsigned long long *mask, int n) {
  __shared__ float s[64 * 4];
  int t = threadIdx.x, tiles = (n + 63) / 64;
  for (int column = blockIdx.y; column < tiles; column += gridDim.y)
    for (int row = blockIdx.x; row < tiles; row += gridDim.x) {
      if (row > column) continue;
      int i = row * 64 + t, count = min(n - column * 64, 64);
      for (int k = 0; t < count && k < 4; k++) s[t * 4 + k] = box[(column * 64 + t) * 4 + k];
      __syncthreads();
      unsigned long long found = 0;
      for (int k = row == column ? t + 1 : 0; i < n && k < count; k++) {
        const float *b = box + i * 4, *o = s + k * 4;
        float w = fminf(b[2], o[2]) - fmaxf(b[0], o[0]), h = fminf(b[3], o[3]) - fmaxf(b[1], o[1]);
        float both = fmaxf(w, 0) * fmaxf(h, 0), area = (b[2] - b[0]) * (b[3] - b[1]);
        if (both > 0.5f * (area + (o[2] - o[0]) * (o[3] - o[1]) - both)) found |= 1ull << k;
      }
      if (i < n) mask[i * tiles + column] = found;
      __syncthreads();
    }
}
