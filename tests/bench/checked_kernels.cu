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
