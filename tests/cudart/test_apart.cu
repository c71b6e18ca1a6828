// A program in two files, compiled apart (-rdc=true) and with --default-stream per-thread: test_apart.cu and apart.cu.
#include "tests/cudart/program.h"

extern __device__ float twice(float x);
extern __device__ int hits;
int hits_so_far(void);

__global__ void use(float *out)
{
    out[threadIdx.x] = twice((float)threadIdx.x);
    atomicAdd(&hits, 1);
}

TEST(a_program_in_two_files)
{
    float *out = managed<float>(32);
    use<<<1, 32>>>(out);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK_NEAR(out[31], 62, 0);
    CHECK_INT(hits_so_far(), 32);
    OK(cudaFree(out));
}

// The stream of a thread of its own is what calls without a stream mean here.
TEST(copies_in_the_stream_of_the_thread)
{
    int h = 5, *d;
    OK(cudaMalloc(&d, 4));
    OK(cudaMemcpyAsync(d, &h, 4, cudaMemcpyHostToDevice, 0));
    OK(cudaMemsetAsync(d, 0, 2, 0));
    OK(cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost));
    CHECK_INT(h, 0);
    OK(cudaFree(d));
}
