// Kernels in which each thread or block walks a row of its own, for check_bench.lua: sums along a row, tridiagonal systems by
// rows and by columns, softmax where the data stand.
extern "C" {
__global__ void prefix_rows(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int i = 0; i < n; i++) { s += x[r * n + i]; y[r * n + i] = s; }
}
__global__ void prefix_rows_inplace(float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int i = 1; i < n; i++) y[r * n + i] += y[r * n + i - 1];
}
__global__ void prefix_rows_pointers(const float *x, float *y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float *from = x + r * n;
  float *to = y + r * n, s = 0;
  for (int i = 0; i < n; i++) { s += *from++; *to++ = s; }
}
__global__ void tridiagonal(const float *a, const float *b, const float *c, const float *d, float *t, float *x, int rows,
                            int n, int next, int row) { // element i of system r stands at r * row + i * next
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int at = r * row;
  t[at] = c[at] / b[at];
  x[at] = d[at] / b[at];
  for (int i = 1; i < n; i++) {
    int k = at + i * next;
    float m = 1.0f / (b[k] - a[k] * t[k - next]);
    t[k] = c[k] * m;
    x[k] = (d[k] - a[k] * x[k - next]) * m;
  }
  for (int i = n - 2; i >= 0; i--) x[at + i * next] -= t[at + i * next] * x[at + (i + 1) * next];
}
__global__ void tridiagonal_rows(const float *a, const float *b, const float *c, const float *d, float *t, float *x, int rows,
                                 int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int at = r * n;
  t[at] = c[at] / b[at];
  x[at] = d[at] / b[at];
  for (int i = at + 1; i < at + n; i++) {
    float m = 1.0f / (b[i] - a[i] * t[i - 1]);
    t[i] = c[i] * m;
    x[i] = (d[i] - a[i] * x[i - 1]) * m;
  }
  for (int i = n - 2; i >= 0; i--) x[at + i] -= t[at + i] * x[at + i + 1];
}
__global__ void softmax_thread(float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float *row = x + r * n, most = row[0], sum = 0;
  for (int i = 1; i < n; i++) most = fmaxf(most, row[i]);
  for (int i = 0; i < n; i++) { row[i] = expf(row[i] - most); sum += row[i]; }
  for (int i = 0; i < n; i++) row[i] /= sum;
}
__global__ void reverse_rows(float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float *row = x + r * n;
  for (int i = 0, j = n - 1; i < j; i++, j--) { float t = row[i]; row[i] = row[j]; row[j] = t; }
}
__global__ void scale_block(float *x, int n) {
  __shared__ float s;
  float *row = x + (size_t)blockIdx.x * n;
  if (threadIdx.x == 0) s = row[0] * 0.5f + 1.0f;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = expf(-row[i] / s);
}
}
