/* The functions of symbols.def that are one call each. */
#include "runtime/simt/libcudart/libcudart.h"

#define OWN(name, twin)
#define REFUSED(name, twin)
#define CALL(name, twin, parameters, call)                                                                             \
    cudaError_t name parameters                                                                                        \
    {                                                                                                                  \
        cudaError_t error = cudart_begin();                                                                            \
        return cudart_end(error == cudaSuccess ? (cudaError_t)(call) : error);                                         \
    }
#include "runtime/simt/libcudart/symbols.def"
#undef REFUSED
#undef CALL

/* Names of our own for those that are refused, whatever they are declared as. */
cudaError_t cudart_refused(void);
cudaError_t cudart_refused(void)
{
    return cudart_end(cudaErrorNotSupported);
}
#define CALL(name, twin, parameters, call)
#define REFUSED(name, twin)                                                                                            \
    extern cudaError_t refused_##name(void) __asm__(#name)                                                             \
        __attribute__((alias("cudart_refused"), visibility("default")));
#include "runtime/simt/libcudart/symbols.def"

/* A reset is what an error of a kernel is left behind by. */
cudaError_t cudaDeviceReset(void)
{
    cudaError_t error = cudart_use_context();
    return cudart_end(error == cudaSuccess ? cudart_reset_device() : error);
}

__attribute__((visibility("default"))) cudaError_t
__cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
