// The other half of test_apart.cu.
#include <cuda_runtime.h>

__device__ int hits;

__device__ float twice(float x)
{
    return 2 * x;
}

int hits_so_far(void);
int hits_so_far(void)
{
    int n = -1;
    cudaMemcpyFromSymbol(&n, hits, sizeof n);
    return n;
}
