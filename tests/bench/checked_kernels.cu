// Ways to touch memory that the six kernels lack: what the checks of the software GPU are measured on besides.
__global__ void stencil(const float *x, float *y, int w, int h)  // rows that begin within lines
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1) return;
    y[j * w + i] = 0.25f * (x[j * w + i - 1] + x[j * w + i + 1] + x[(j - 1) * w + i] + x[(j + 1) * w + i]);
}

__global__ void gather(const float *x, const int *index, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}

__global__ void scatter(const float *x, const int *index, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[index[i]] = x[i];
}

__global__ void spmv(const int *start, const int *column, const float *v, const float *x, float *y, int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float s = 0;
    for (int k = start[r]; k < start[r + 1]; k++) s += v[k] * x[column[k]];
    y[r] = s;
}

__global__ void scan(const float *x, float *y)
{
    __shared__ float a[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, in = 0;
    a[0][t] = x[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        a[1 - in][t] = t >= d ? a[in][t] + a[in][t - d] : a[in][t];
        in = 1 - in;
        __syncthreads();
    }
    y[i] = a[in][t];
}

__global__ void exchange(const float *x, float *y)  // among the lanes of a warp
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float v = x[i];
    for (int d = 16; d; d >>= 1) {
        s[t] = v;
        __syncwarp();
        v += s[t ^ d];
        __syncwarp();
    }
    y[i] = v;
}

__global__ void tree_sum(const float *x, float *y)  // lanes drop out
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (!t) y[blockIdx.x] = s[0];
}

__global__ void shift(const float *x, float *y, int n)  // a row that begins within a line, and nothing else
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) y[i + 1] = x[i];
}

__global__ void structs(float3 *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 v = p[i];
    v.x += v.y;
    v.z *= 2;
    p[i] = v;
}

__global__ void bytes(const unsigned char *x, unsigned char *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 255 - x[i];
}
