// NVIDIA's own algorithms over the runtime, which ask it which code there is.
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_reduce.cuh>
#include "tests/cudart/program.h"

TEST(a_reduction_of_the_device)
{
    const int n = 50000;
    int *x = managed<int>(n), *out = managed<int>(1);
    long long want = 0;
    for (int i = 0; i < n; i++) want += x[i] = i * 31 % 1000;
    size_t bytes = 0;
    void *scratch = NULL;
    OK(cub::DeviceReduce::Sum(scratch, bytes, x, out, n));
    OK(cudaMalloc(&scratch, bytes));
    OK(cub::DeviceReduce::Sum(scratch, bytes, x, out, n));
    OK(cudaDeviceSynchronize());
    CHECK_INT(*out, want);
    OK(cudaFree(scratch));
    OK(cudaFree(x));
    OK(cudaFree(out));
}
