/* Kernels of courses that the six lack: neighbours, lanes that part, rows with exponentials, loops of different
 * lengths, bytes, structures, sorting and hashing. In the dialect of six_kernels.h, with EXP besides. */
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

KERNEL void sobel(GLOBAL const unsigned char *x, GLOBAL unsigned char *y, int n)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X, j = BLOCK_Y * BLOCK_DIM_Y + THREAD_Y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
    GLOBAL const unsigned char *p = x + j * n + i;
    int h = p[1 - n] + 2 * p[1] + p[n + 1] - p[-n - 1] - 2 * p[-1] - p[n - 1];
    int v = p[n - 1] + 2 * p[n] + p[n + 1] - p[-n - 1] - 2 * p[-n] - p[1 - n];
    int m = (h < 0 ? -h : h) + (v < 0 ? -v : v);
    y[j * n + i] = (unsigned char)(m > 255 ? 255 : m);
}

KERNEL void sigmoid(GLOBAL const float *x, GLOBAL float *y)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X;
    y[i] = 1 / (1 + EXP(-x[i]));
}

KERNEL void structs(GLOBAL const float *x, GLOBAL float *y)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X;
    float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2], r = 1 / (1 + a * a + b * b + c * c);
    y[3 * i] = a * r;
    y[3 * i + 1] = b * r;
    y[3 * i + 2] = c * r;
}

KERNEL void bitonic(GLOBAL const float *x, GLOBAL float *y)
{
    LOCAL float s[512];
    int t = THREAD_X, base = BLOCK_X * 512;
    s[t] = x[base + t];
    s[t + 256] = x[base + t + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            BARRIER;
            int i = 2 * t - (t & (stride - 1)), j = i + stride, up = (i & size) == 0;
            float a = s[i], b = s[j];
            if ((a > b) == up) {
                s[i] = b;
                s[j] = a;
            }
        }
    BARRIER;
    y[base + t] = s[t];
    y[base + t + 256] = s[t + 256];
}

KERNEL void hash(GLOBAL const int *x, GLOBAL int *y, int rounds)
{
    int i = BLOCK_X * BLOCK_DIM_X + THREAD_X;
    unsigned h = 0x9747b28cu;
    for (int r = 0; r < rounds; r++) {
        unsigned k = x[(i + r) & 1048575] * 0xcc9e2d51u;
        h ^= (k << 15 | k >> 17) * 0x1b873593u;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    y[i] = (int)(h ^ h >> 16);
}

KERNEL void matmul_bytes(GLOBAL const signed char *A, GLOBAL const signed char *B, GLOBAL int *C, int n)
{
    int r = BLOCK_Y * BLOCK_DIM_Y + THREAD_Y, c = BLOCK_X * BLOCK_DIM_X + THREAD_X, s = 0;
    for (int k = 0; k < n; k++) s += A[r * n + k] * B[c * n + k];
    C[r * n + c] = s;
}
