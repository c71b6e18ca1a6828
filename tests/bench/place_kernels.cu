// Threads that update places which are looked up, or that other threads' places stand between: what the checks of the
// software GPU are measured on besides shared memory and rows (check_bench.lua).
extern "C" {
__global__ void add_at(const float *x, const int *p, float *y, int n) { // y[p] += x
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[p[i]] += x[i];
}
__global__ void add_at_double(const double *x, const int *p, double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[p[i]] += x[i];
}
__global__ void rotate_at(const int *p, const int *q, float *y, int n) { // pairs of places exchange their values
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = y[p[i]];
  y[p[i]] = y[q[i]];
  y[q[i]] = t;
}
__global__ void red_black(float *x, int w, int h, int colour) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1 || (i + j) % 2 != colour) return;
  x[j * w + i] = 0.25f * (x[j * w + i - 1] + x[j * w + i + 1] + x[(j - 1) * w + i] + x[(j + 1) * w + i]);
}
__global__ void red_black_half(float *x, int w, int h, int colour) { // a thread for each place of the colour
  int j = blockIdx.y * blockDim.y + threadIdx.y, i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((j + colour) & 1);
  if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1) return;
  x[j * w + i] = 0.25f * (x[j * w + i - 1] + x[j * w + i + 1] + x[(j - 1) * w + i] + x[(j + 1) * w + i]);
}
__global__ void permute(const float *x, float *y, int heads, int rows, int d, int n) { // as attention does
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int batch = i / (heads * rows * d), rest = i % (heads * rows * d), head = rest / (rows * d);
  rest %= rows * d;
  y[((batch * rows + rest / d) * heads + head) * d + rest % d] = x[i];
}
__global__ void head_sums(float *y, const float *x, int rows, int heads, int width, int n) { // a thread for each head
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int head = i % heads, row = i / heads % rows, batch = i / (heads * rows), d = width / heads;
  float *to = y + (batch * rows + row) * width + head * d;
  for (int k = 0; k < d; k++) to[k] = 0;
  for (int j = 0; j < 16; j++)
    for (int k = 0; k < d; k++) to[k] += x[j * d + k];
}
__global__ void floyd_step(float *x, int n, int k) { // of shortest paths, in place
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float way = x[i * n + k] + x[k * n + j];
  if (way < x[i * n + j]) x[i * n + j] = way;
}
__global__ void gauss_step(float *a, const float *m, int n, int k) { // rows below a pivot's
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > k && i < n && j > k && j < n) a[i * n + j] -= m[i] * a[k * n + j];
}
__global__ void lu_rows(float *a, int n, int k) { // the same with a thread for each row
  int i = blockIdx.x * blockDim.x + threadIdx.x + k + 1;
  if (i >= n) return;
  a[i * n + k] /= a[k * n + k];
  for (int j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}
__global__ void odd_even(int *x, int n, int phase, int up) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + phase;
  if (i + 1 >= n) return;
  int a = x[i], b = x[i + 1];
  if (a != b && (a < b) != up) { x[i] = b; x[i + 1] = a; }
}
__global__ void insertion_stretches(const int *start, float *x, int n) { // each thread sorts what begins where data says
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  for (int i = start[v] + 1; i < start[v + 1]; i++) {
    float key = x[i];
    int j = i - 1;
    while (j >= start[v] && x[j] > key) {
      x[j + 1] = x[j];
      j--;
    }
    x[j + 1] = key;
  }
}
__global__ void sieve_all(unsigned char *composite, int n, int most) { // a thread for each factor
  int p = blockIdx.x * blockDim.x + threadIdx.x + 2;
  if (p > most) return;
  for (int k = 2 * p; k <= n; k += p) composite[k] = 1;
}
__global__ void sieve_words(int *prime, int n, int p) { // a launch for each prime
  int k = p * p + (blockIdx.x * blockDim.x + threadIdx.x) * p;
  if (k <= n) prime[k] = 0;
}
__global__ void insertion_rows(float *x, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float *row = x + r * n;
  for (int i = 1; i < n; i++) {
    float v = row[i];
    int j = i - 1;
    while (j >= 0 && row[j] > v) { row[j + 1] = row[j]; j--; }
    row[j + 1] = v;
  }
}
}
__global__ void adjust_weights(const float *delta, const float *ly, float *w, float *before, int hid) { // of backprop
  int tx = threadIdx.x, ty = threadIdx.y, i = (hid + 1) * (16 * blockIdx.y + ty + 1) + tx + 1;
  w[i] += 0.3f * delta[tx + 1] * ly[16 * blockIdx.y + ty + 1] + 0.3f * before[i];
  before[i] = 0.3f * delta[tx + 1] * ly[16 * blockIdx.y + ty + 1] + 0.3f * before[i];
  __syncthreads();
  if (ty == 0 && blockIdx.y == 0) {
    w[tx + 1] += 0.3f * delta[tx + 1] + 0.3f * before[tx + 1];
    before[tx + 1] = 0.3f * delta[tx + 1] + 0.3f * before[tx + 1];
  }
}
