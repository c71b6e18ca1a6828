/* Kernels of courses that the six lack: neighbours, lanes that part, rows with exponentials, loops of different lengths
 * and bytes. In the dialect of six_kernels.h, with EXP besides. */
KERNEL void stencil(GLOBAL const float *x, GLOBAL float *y, int n)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X, j = BLOCK_Y * BLOCK_DIM_Y + THREAD_Y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
    y[j * n + i] = 0.25f * (x[j * n + i - 1] + x[j * n + i + 1] + x[(j - 1) * n + i] + x[(j + 1) * n + i]);
}

KERNEL void scan(GLOBAL const float *x, GLOBAL float *y)
{
    LOCAL float a[2][256];
    int t = THREAD_X, i = BLOCK_X * 256 + t, in = 0;
    a[0][t] = x[i];
    BARRIER;
    for (int d = 1; d < 256; d *= 2) {
        a[1 - in][t] = t >= d ? a[in][t] + a[in][t - d] : a[in][t];
        in = 1 - in;
        BARRIER;
    }
    y[i] = a[in][t];
}

KERNEL void softmax(GLOBAL const float *x, GLOBAL float *y, int n)
{
    LOCAL float s[256];
    int t = THREAD_X;
    GLOBAL const float *row = x + BLOCK_X * n;
    float m = row[t], sum = 0;
    for (int i = t; i < n; i += 256) m = row[i] > m ? row[i] : m;
    s[t] = m;
    BARRIER;
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] = s[t + d] > s[t] ? s[t + d] : s[t];
        BARRIER;
    }
    m = s[0];
    BARRIER;
    for (int i = t; i < n; i += 256) sum += EXP(row[i] - m);
    s[t] = sum;
    BARRIER;
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        BARRIER;
    }
    for (int i = t; i < n; i += 256) y[BLOCK_X * n + i] = EXP(row[i] - m) / s[0];
}

KERNEL void spmv(GLOBAL const int *g, GLOBAL const float *v, GLOBAL const float *x, GLOBAL float *y)
{
    int r = BLOCK_X * BLOCK_DIM_X + THREAD_X, end = r * 16 + (g[r] & 15); /* up to 15 in a row */
    float s = 0;
    for (int k = r * 16; k < end; k++) s += v[k] * x[g[k]];
    y[r] = s;
}

KERNEL void gray(GLOBAL const unsigned char *rgb, GLOBAL unsigned char *y)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X;
    y[i] = (unsigned char)(0.299f * rgb[3 * i] + 0.587f * rgb[3 * i + 1] + 0.114f * rgb[3 * i + 2]);
}
