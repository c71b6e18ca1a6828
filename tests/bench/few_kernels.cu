// Blocks of fewer threads than a warp has lanes, and blocks one thread of which does what is to be done one after the
// other, as first programs have them.
extern "C" {
__global__ void count_alone(long long *out, int n)
{
    long long sum = 0;
    for (int i = 0; i < n; i++) sum += i % 3;
    out[blockIdx.x] = sum;
}

__global__ void count_first(long long *out, int n)
{
    if (threadIdx.x == 0) {
        long long sum = 0;
        for (int i = 0; i < n; i++) sum += i % 3;
        out[blockIdx.x] = sum;
    }
}

// A block's prefix sums by its first thread.
__global__ void scan_first(const float *x, float *y, float *sums)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    __syncthreads();
    if (t == 0) {
        float sum = 0;
        for (int k = 0; k < 256; k++) s[k] = sum += s[k];
        sums[blockIdx.x] = sum;
    }
    __syncthreads();
    y[i] = s[t];
}

// Each block's first thread walks its part of a list in global memory.
__global__ void peaks_first(const float *x, int *count, int n)
{
    if (threadIdx.x != 0) return;
    int found = 0;
    for (int k = blockIdx.x * n + 1; k < blockIdx.x * n + n - 1; k++)
        if (x[k] > x[k - 1] && x[k] > x[k + 1]) found++;
    count[blockIdx.x] = found;
}

__global__ void sort_alone(float *x, int n)
{
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n - 1 - k; j++)
            if (x[j] > x[j + 1]) {
                float t = x[j];
                x[j] = x[j + 1];
                x[j + 1] = t;
            }
}

__global__ void matmul_few(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

__global__ void add_few(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// Needleman and Wunsch's table, a tile of 16 x 16 by its diagonals, whose first row and column are there.
__global__ void align_few(const int *match, const int *edge, int *out, int penalty)
{
    __shared__ int s[17][17], m[16][16];
    int t = threadIdx.x, at = blockIdx.x * 256;
    for (int k = 0; k < 16; k++) m[k][t] = match[at + 16 * k + t];
    s[t + 1][0] = edge[blockIdx.x * 32 + t];
    s[0][t + 1] = edge[blockIdx.x * 32 + 16 + t];
    if (t == 0) s[0][0] = 0;
    __syncthreads();
    for (int d = 0; d < 31; d++) {
        int y = d - t;
        if (y >= 0 && y < 16) {
            int best = s[y][t] + m[y][t], left = s[y + 1][t] - penalty, above = s[y][t + 1] - penalty;
            best = best > left ? best : left;
            s[y + 1][t + 1] = best > above ? best : above;
        }
        __syncthreads();
    }
    for (int k = 0; k < 16; k++) out[at + 16 * k + t] = s[k + 1][t + 1];
}

// What fewer threads than a warp has lanes do together: a count, sums of half warps, of a block, and by bins.
__global__ void count_few(const int *x, int *counts, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[x[i] & 63], 1);
}

__global__ void half_sum(const float *x, float *sums)
{
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 8; d > 0; d /= 2) v += __shfl_down_sync(0xffff, v, d);
    if (threadIdx.x == 0) sums[blockIdx.x] = v;
}

__global__ void sum_few(const float *x, float *sum, int n)
{
    __shared__ float part[32];
    int t = threadIdx.x, lane = t % 32, here = blockDim.x - (t - lane);
    unsigned mask = here >= 32 ? ~0u : (1u << here) - 1;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int d = 16; d > 0; d /= 2) {
        float other = __shfl_down_sync(mask, v, d);
        if (lane + d < here) v += other;
    }
    if (lane == 0) part[t / 32] = v;
    __syncthreads();
    if (t > 0) return;
    for (int w = 1; w < (blockDim.x + 31) / 32; w++) v += part[w];
    atomicAdd(sum, v);
}

__global__ void bins_few(const int *x, int *counts, int n)
{
    __shared__ int s[64];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i] & 63], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&counts[i], s[i]);
}
}
