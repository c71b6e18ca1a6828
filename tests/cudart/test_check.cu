// LUNARRAY_CHECK=1, or strict: what is wrong with a program's kernels, in its own words. Tests run themselves with it.
#include <cassert>
#include "tests/cudart/program.h"

__global__ void scale(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = 2 * x[i];
}

template <typename T> __global__ void reverse(T *d)
{
    __shared__ T s[64];
    s[threadIdx.x] = d[threadIdx.x];
    d[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void add(const int *x, int *y)
{
    y[threadIdx.x] += x[threadIdx.x];
}

__global__ void mark(int *y)
{
    y[threadIdx.x / 2] = 5;
}

__global__ void shift(int n, int *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1) y[i] = y[i + 1];
}

__global__ void stop(int n)
{
    assert(n > 5);
}

__global__ void sum_rows(float *in, float *out, int w, int h, int depth)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int z = 0; z < depth; z++) sum += in[x * (h * depth) + y * depth + z];
    out[x * h + y] = sum;
}

/* The program's output, with the variable set. */
static const char *checked(const char *test, const char *how = "1")
{
    static char text[20000];
    char path[1000], command[1200];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    path[length] = 0;
    snprintf(command, sizeof command, "LUNARRAY_CHECK=%s %s %s 2>&1", how, path, test);
    FILE *f = popen(command, "r");
    CHECK(f != NULL);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    CHECK_INT(pclose(f), 0);
    return text;
}

static bool inside(void)
{
    return getenv("LUNARRAY_CHECK") != NULL;
}

TEST(a_loop_that_goes_too_far)
{
    if (inside()) {
        float *x = managed<float>(256), *y;
        OK(cudaMalloc(&y, 256 * sizeof *y));
        for (int k = 0; k < 3; k++) scale<<<3, 128>>>(256, x, y);
        OK(cudaDeviceSynchronize()); // the wrong accesses were left out
        OK(cudaFree(x));
        OK(cudaFree(y));
        return;
    }
    const char *text = checked("a_loop_that_goes_too_far");
    CHECK_HAS(text, "test_check.cu:8: out of bounds: x[256] read, x has 256");
    CHECK_HAS(text, "test_check.cu:8: out of bounds: y[256] written, y has 256");
    CHECK_HAS(text, "if (i <= n) y[i] = 2 * x[i];");
    CHECK_HAS(text, "in kernel scale, block (2, 0, 0), thread (0, 0, 0)");
    CHECK_HAS(text, "launch 1: grid 3 x 1 x 1, block 128 x 1 x 1");
    CHECK(!strstr(text, "launch 2:")); /* the same again is not said again */
    CHECK_HAS(text, "LUNARRAY_CHECK: 3 launches checked, 6 reports");
}

TEST(races_and_memory_that_nobody_wrote)
{
    if (inside()) {
        double *d = managed<double>(64);
        int *x, *y;
        reverse<<<1, 64>>>(d);
        OK(cudaMalloc(&x, 256));
        OK(cudaMalloc(&y, 256));
        OK(cudaMemset(y, 0, 256));
        add<<<1, 64>>>(x, y);
        OK(cudaFree(y));
        add<<<1, 64>>>(NULL, x);
        add<<<1, 64>>>(y, x);
        OK(cudaDeviceSynchronize());
        OK(cudaFree(x));
        OK(cudaFree(d));
        return;
    }
    const char *text = checked("races_and_memory_that_nobody_wrote");
    CHECK_HAS(text, "race: s[0] written here and read in line 15 by another thread");
    CHECK_HAS(text, "hint: __syncthreads() is missing between lines 14 and 15");
    CHECK_HAS(text, "in kernel reverse<double>");
    CHECK_HAS(text, "uninitialized read: x[0] read, but never written");
    CHECK_HAS(text, "hint: cudaMalloc gives memory without values");
    CHECK_HAS(text, "x[0] read, but x is a null pointer");
    CHECK_HAS(text, "use after free");
}

TEST(an_assertion)
{
    if (inside()) {
        stop<<<1, 1>>>(3);
        CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorAssert");
        return;
    }
    const char *text = checked("an_assertion");
    CHECK_HAS(text, "test_check.cu:36: assertion `n > 5' failed");
    CHECK_HAS(text, "in kernel stop, block (0, 0, 0), thread (0, 0, 0), which stopped");
}

TEST(a_program_that_does_not_wait)
{
    if (inside()) {
        int *y;
        OK(cudaMalloc(&y, 4 * 64));
        mark<<<1, 128>>>(y);
        if (getenv("WAITS")) OK(cudaDeviceSynchronize());
        exit(0);
    }
    CHECK_HAS(checked("a_program_that_does_not_wait"), "ended without waiting for its last work");
    setenv("WAITS", "1", 1);
    CHECK(!strstr(checked("a_program_that_does_not_wait"), "ended without waiting"));
}

TEST(threads_that_store_the_same)
{
    if (inside()) {
        int *y = managed<int>(64);
        mark<<<1, 128>>>(y);
        OK(cudaDeviceSynchronize());
        OK(cudaFree(y));
        return;
    }
    CHECK_HAS(checked("threads_that_store_the_same"), "LUNARRAY_CHECK: 1 launch checked, 0 reports");
    CHECK_HAS(checked("threads_that_store_the_same", "strict"), "race: y[0] written by several threads");
}

TEST(races_in_memory_of_the_host)
{
    int *managed_too = managed<int>(1000), *pinned;
    OK(cudaMallocHost(&pinned, 1000 * sizeof *pinned));
    for (int i = 0; i < 1000; i++) managed_too[i] = pinned[i] = i;
    if (inside()) {
        shift<<<4, 256>>>(1000, getenv("PINNED") ? pinned : managed_too);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < 64; i++) pinned[i] = i;
        add<<<1, 64>>>(pinned, managed_too);
        OK(cudaDeviceSynchronize());
    } else {
        for (int k = 0; k < 2; k++) {
            k ? setenv("PINNED", "1", 1) : unsetenv("PINNED");
            const char *text = checked("races_in_memory_of_the_host");
            CHECK_HAS(text, "test_check.cu:31: race: y[");
            CHECK_HAS(text, "written and read");
            CHECK_HAS(text, "LUNARRAY_CHECK: 2 launches checked, 1 report");
        }
    }
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed_too));
}

TEST(scattered_reads_of_memory_of_the_host)
{
    if (inside()) {
        float *x = managed<float>(16 * 3), *y = managed<float>(16);
        for (int i = 0; i < 16 * 3; i++) x[i] = i;
        sum_rows<<<1, dim3(4, 4)>>>(x, y, 4, 4, 3);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < 16; i++) CHECK_NEAR(y[i], 9 * i + 3, 0);
        OK(cudaFree(x));
        OK(cudaFree(y));
        return;
    }
    CHECK_HAS(checked("scattered_reads_of_memory_of_the_host"), "LUNARRAY_CHECK: 1 launch checked, 0 reports");
}

TEST(a_program_with_nothing_wrong)
{
    if (inside()) {
        int *x = managed<int>(64);
        add<<<1, 64>>>(x, x);
        OK(cudaDeviceSynchronize());
        OK(cudaFree(x));
        return;
    }
    CHECK_HAS(checked("a_program_with_nothing_wrong"), "LUNARRAY_CHECK: 1 launch checked, 0 reports");
}
