/* For CUDA C++ programs that nvcc builds with -cudart shared. They find the software GPU's runtime in NVIDIA's place
 * and include nothing of lunarray but the tests' harness. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <cuda_runtime.h>
#include "tests/unit/test.h"

#define OK(call)           CHECK_STR(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(call, error) CHECK_STR((call, cudaGetErrorName(cudaGetLastError())), #error)

/* A call that fails says so itself and leaves the error for cudaGetLastError, once. */
#define REFUSES(call, error)                                                                                           \
    do {                                                                                                               \
        CHECK_STR(cudaGetErrorName(call), #error);                                                                     \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), #error);                                                       \
        CHECK_STR(cudaGetErrorName(cudaGetLastError()), "cudaSuccess");                                                \
    } while (0)

template <typename T> T *managed(size_t count)
{
    T *p;
    OK(cudaMallocManaged(&p, count * sizeof(T)));
    return p;
}

#endif
