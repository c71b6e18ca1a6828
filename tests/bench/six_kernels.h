/* The kernels that the software GPU is measured on first, for CUDA C and for OpenCL C alike: the program that compiles
 * them puts the definitions of its dialect before (KERNEL, GLOBAL, LOCAL, BARRIER, ATOMIC_ADD and the indices). */
KERNEL void saxpy(int n, float a, GLOBAL const float *x, GLOBAL float *y)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X;
    if (i < n) y[i] = a * x[i] + y[i];
}

KERNEL void tiled_matmul(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int N)
{
    LOCAL float a[16][16], b[16][16];
    int tx = THREAD_X, ty = THREAD_Y, r = BLOCK_Y * 16 + ty, c = BLOCK_X * 16 + tx;
    float s = 0;
    for (int t = 0; t < N / 16; t++) {
        a[ty][tx] = A[r * N + t * 16 + tx];
        b[ty][tx] = B[(t * 16 + ty) * N + c];
        BARRIER;
        for (int k = 0; k < 16; k++) s += a[ty][k] * b[k][tx];
        BARRIER;
    }
    C[r * N + c] = s;
}

KERNEL void mandelbrot(GLOBAL float *o, int w, int h)
{
    int x = BLOCK_X * BLOCK_DIM_X + THREAD_X, y = BLOCK_Y * BLOCK_DIM_Y + THREAD_Y, i = 0;
    if (x >= w || y >= h) return;
    float cr = -2 + 3.f * x / w, ci = -1 + 2.f * y / h, zr = 0, zi = 0;
    while (i < 200 && zr * zr + zi * zi < 4) {
        float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        i++;
    }
    o[y * w + x] = i;
}

KERNEL void block_sum(GLOBAL const float *x, GLOBAL float *out, int n)
{
    LOCAL float s[256];
    int t = THREAD_X;
    float v = 0;
    for (int i = BLOCK_X * BLOCK_DIM_X + t; i < n; i += BLOCK_DIM_X * GRID_DIM_X) v += x[i];
    s[t] = v;
    BARRIER;
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        BARRIER;
    }
    if (t == 0) out[BLOCK_X] = s[0];
}

KERNEL void histogram(GLOBAL const int *x, GLOBAL int *h, int n)
{
    for (int i = BLOCK_X * BLOCK_DIM_X + THREAD_X; i < n; i += BLOCK_DIM_X * GRID_DIM_X) ATOMIC_ADD(&h[x[i]], 1);
}

KERNEL void transpose(GLOBAL const float *in, GLOBAL float *out, int n)
{
    LOCAL float t[16][17];
    int x = BLOCK_X * 16 + THREAD_X, y = BLOCK_Y * 16 + THREAD_Y;
    t[THREAD_Y][THREAD_X] = in[y * n + x];
    BARRIER;
    x = BLOCK_Y * 16 + THREAD_X;
    y = BLOCK_X * 16 + THREAD_Y;
    out[y * n + x] = t[THREAD_X][THREAD_Y];
}
