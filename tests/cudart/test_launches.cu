// Launches, their errors, the device, occupancy, cooperative grids.
#include <cooperative_groups.h>
#include "tests/cudart/program.h"

__global__ void set(int *p, int value)
{
    p[threadIdx.x] = value;
}

__global__ __launch_bounds__(64) void small(int *p)
{
    p[threadIdx.x] = 1;
}

__global__ void shared(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST(shapes_that_do_not_work)
{
    int *p = managed<int>(1024);
    FAILS((set<<<1, 2048>>>(p, 1)), cudaErrorInvalidConfiguration);
    FAILS((set<<<0, 32>>>(p, 1)), cudaErrorInvalidConfiguration);
    FAILS((set<<<1, dim3(1, 1, 65)>>>(p, 1)), cudaErrorInvalidConfiguration);
    FAILS((set<<<dim3(1, 65536), 1>>>(p, 1)), cudaErrorInvalidConfiguration);
    FAILS((small<<<1, 128>>>(p)), cudaErrorInvalidValue);
    FAILS((shared<<<1, 32, 64 << 10>>>(p)), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    for (int i = 0; i < 32; i++) p[i] = i;
    FAILS((shared<<<1, 32, 64 << 10>>>(p)), cudaSuccess);
    OK(cudaDeviceSynchronize());
    CHECK_INT(p[0], 31);
    REFUSES(cudaLaunchKernel((const void *)exit, 1, 1, NULL, 0, 0), cudaErrorInvalidDeviceFunction);
    OK(cudaFree(p));
}

// What a kernel leaves behind comes back from every call, until the device is reset.
TEST(errors_that_stay)
{
    int *p, h = 0;
    OK(cudaMalloc(&p, 4));
    FAILS((set<<<1, 1>>>(p + (1 << 24), 1)), cudaSuccess);
    CHECK_STR(cudaGetErrorName(cudaDeviceSynchronize()), "cudaErrorIllegalAddress");
    CHECK_STR(cudaGetErrorName(cudaMalloc(&p, 4)), "cudaErrorIllegalAddress");
    CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorIllegalAddress");
    CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaErrorIllegalAddress");
    FAILS((set<<<1, 1>>>(p, 1)), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaGetLastError());
    OK(cudaMalloc(&p, 4));
    set<<<1, 1>>>(p, 9);
    OK(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
    CHECK_INT(h, 9);
    OK(cudaFree(p));
}

__device__ int kept = 1;
__global__ void count(int *p)
{
    *p = kept++;
}

TEST(a_reset_begins_anew)
{
    int h, *p;
    for (int i = 0; i < 2; i++) {
        OK(cudaMalloc(&p, 4));
        for (int k = 1; k <= 3; k++) {
            count<<<1, 1>>>(p);
            OK(cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost));
            CHECK_INT(h, k);
        }
        OK(cudaDeviceReset());
        REFUSES(cudaFree(p), cudaErrorInvalidValue);
    }
}

TEST(the_device)
{
    int n, value;
    cudaDeviceProp p;
    OK(cudaGetDeviceCount(&n));
    CHECK_INT(n, 1);
    OK(cudaGetDeviceProperties(&p, 0));
    CHECK_HAS(p.name, "lunarray");
    CHECK_INT(p.warpSize, 32);
    CHECK_INT(p.maxThreadsPerBlock, 1024);
    CHECK_INT(p.sharedMemPerBlock, 49152);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK_INT(p.multiProcessorCount, value);
    REFUSES(cudaSetDevice(1), cudaErrorInvalidDevice);
    REFUSES(cudaGetDeviceProperties(&p, 1), cudaErrorInvalidDevice);
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&n));
    CHECK_INT(n, 0);
    OK(cudaRuntimeGetVersion(&value));
    CHECK_INT(value, CUDART_VERSION);
    OK(cudaDeviceSynchronize());
    cudaIpcMemHandle_t shared_memory;
    REFUSES(cudaIpcGetMemHandle(&shared_memory, &n), cudaErrorNotSupported);
}

TEST(occupancy_and_attributes)
{
    int blocks, least, size;
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, small));
    CHECK_INT(a.maxThreadsPerBlock, 64);
    CHECK_INT(a.ptxVersion, 75); // the lowest that nvcc 13 compiles for, which is its default
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, set, 256, 0));
    CHECK_INT(blocks, 8);
    OK(cudaOccupancyMaxPotentialBlockSize(&least, &size, set, 0, 0));
    CHECK(least > 0 && size > 0 && size <= 1024);
    const char *name;
    OK(cudaFuncGetName(&name, (const void *)small));
    CHECK_STR(name, "_Z5smallPi");
}

__global__ void sum(const float *x, float *part, int n)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    float v = 0;
    for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size()) v += x[i];
    atomicAdd(&part[blockIdx.x], v);
    grid.sync();
    for (unsigned b = 1; grid.thread_rank() == 0 && b < gridDim.x; b++) part[0] += part[b];
}

TEST(cooperative_launches)
{
    int n = 5000;
    float *x = managed<float>(n), *part = managed<float>(2);
    for (int i = 0; i < n; i++) x[i] = 1;
    void *arguments[] = {&x, &part, &n};
    OK(cudaLaunchCooperativeKernel(sum, 2, 128, arguments));
    OK(cudaDeviceSynchronize());
    CHECK_NEAR(part[0], 5000, 0);
    REFUSES(cudaLaunchCooperativeKernel(sum, 100000, 128, arguments), cudaErrorCooperativeLaunchTooLarge);
    part[0] = part[1] = 0;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute together;
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.gridDim = 2;
    config.blockDim = 64;
    config.attrs = &together;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, sum, (const float *)x, part, n));
    OK(cudaDeviceSynchronize());
    CHECK_NEAR(part[0], 5000, 0);
    OK(cudaFree(x));
    OK(cudaFree(part));
}

static int three(int *p)
{
    set<<<1, 3>>>(p, 3); // a launch among the arguments of another
    return 4;
}

template <typename T> __global__ void store(T *p, T value)
{
    p[threadIdx.x] = value;
}

TEST(templates_and_launches_within_launches)
{
    int *p = managed<int>(4);
    double *q = managed<double>(4);
    set<<<1, 4>>>(p, three(p));
    store<<<1, 4>>>(q, 2.5);
    OK(cudaDeviceSynchronize());
    CHECK_INT(p[0], 4);
    CHECK_NEAR(q[3], 2.5, 0);
    OK(cudaFree(p));
    OK(cudaFree(q));
}
