/* CUDA's runtime API (cudaMalloc, kernel<<<grid, block>>>) over the driver API: programs that nvcc built with
 * -cudart shared find here what they would find in NVIDIA's libcudart.so.13. It is written to cuda.h alone, so that it
 * knows nothing of the software GPU, and goes into libcudart-simt.so.
 *
 * symbols.def has a row for each function of the API with the call of the driver that it is; what takes more than a
 * call is a function in the file of its subject, which the row calls. Those give error codes and leave it to the row
 * to record them. The numbers of CUresult and cudaError_t are the same where both have an error. */
#ifndef SIMT_LIBCUDART_H
#define SIMT_LIBCUDART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(default)
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
#include <cuda.h>
#include <cudaProfiler.h>

/* Returns what the call gives unless that is success. Of either API. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        cudaError_t try_ = (cudaError_t)(call);                                                                        \
        if (try_ != cudaSuccess) return try_;                                                                          \
    } while (0)

static inline CUdeviceptr cudart_address(const void *p)
{
    return (uintptr_t)p;
}

/* ---- error.c ---- */
/* What every call but those about errors begins and ends with: an error that a kernel left behind comes back from every
 * call until the device is reset; a context is there; and the error is kept for cudaGetLastError. */
cudaError_t cudart_begin(void);
cudaError_t cudart_end(cudaError_t error);
void cudart_forget_errors(void);

/* ---- device.c ---- */
cudaError_t cudart_use_context(void); /* the device's primary one, when the thread has none */
cudaError_t cudart_count_devices(int *count);
cudaError_t cudart_set_device(int device);
cudaError_t cudart_get_device(int *device);
cudaError_t cudart_choose_device(int *device, const struct cudaDeviceProp *wanted);
cudaError_t cudart_check_devices(const int *devices, int count);
cudaError_t cudart_reset_device(void);
cudaError_t cudart_get_properties(struct cudaDeviceProp *p, int device);
cudaError_t cudart_set_flags(unsigned flags);
cudaError_t cudart_get_flags(unsigned *flags);
cudaError_t cudart_enable_peer(int device, unsigned flags);
cudaError_t cudart_disable_peer(int device);
cudaError_t cudart_entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status);

/* ---- program.c: kernels and variables of the program, found by the addresses of their host stand-ins ---- */
cudaError_t cudart_find_kernel(CUkernel *kernel, const void *function);
cudaError_t cudart_find_function(CUfunction *f, const void *function); /* the same, for the driver's older calls */
const void *cudart_host_function(CUfunction f); /* what cudart_find_function gives it for; itself when there is none */
cudaError_t cudart_find_variable(CUdeviceptr *address, size_t *bytes, const void *symbol);
/* The part of it that a copy is for. */
cudaError_t cudart_find_part(void **address, const void *symbol, size_t offset, size_t count);
void cudart_unload_program(void); /* it is loaded again when it is used again */

/* ---- launch.c ---- */
cudaError_t cudart_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream, bool cooperative);
cudaError_t cudart_launch_ex(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t cudart_get_function(struct cudaFuncAttributes *a, const void *function);
cudaError_t cudart_set_function(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudart_cache_config(const void *function, enum cudaFuncCache config);
cudaError_t cudart_function_name(const char **name, const void *function);
cudaError_t cudart_param_info(const void *function, size_t index, size_t *offset, size_t *size);
cudaError_t cudart_active_blocks(int *blocks, const void *function, int block_size, size_t shared, unsigned flags);
cudaError_t cudart_available_shared(size_t *bytes, const void *function, int blocks, int block_size);
cudaError_t cudart_cluster_size(int *size, const void *function, const cudaLaunchConfig_t *config);
cudaError_t cudart_active_clusters(int *clusters, const void *function, const cudaLaunchConfig_t *config);
cudaError_t cudart_bank_size(enum cudaSharedMemConfig *config);

/* ---- memory.c ---- */
cudaError_t cudart_malloc(void **pointer, size_t bytes);
cudaError_t cudart_malloc_host(void **pointer, size_t bytes, unsigned flags);
cudaError_t cudart_malloc_pitch(void **pointer, size_t *pitch, size_t width, size_t height);
cudaError_t cudart_malloc_3d(struct cudaPitchedPtr *p, struct cudaExtent extent);
cudaError_t cudart_free_host(void *pointer);
cudaError_t cudart_pointer_attributes(struct cudaPointerAttributes *a, const void *pointer);
cudaError_t cudart_fill(void *to, size_t pitch, int value, size_t width, size_t height, size_t depth, size_t slice,
                        cudaStream_t stream);

/* ---- copy.c. `async`: as the call with a stream does it ---- */
struct cudart_way { /* how a copy is to be done */
    enum cudaMemcpyKind kind;
    bool async;
    cudaStream_t stream;
};
#define NOW(kind)           ((struct cudart_way){kind, false, NULL})
#define LATER(kind, stream) ((struct cudart_way){kind, true, stream})
/* That the pointers are on the sides that the kind says; NULL: that side is an array. */
cudaError_t cudart_check_kind(const void *to, const void *from, enum cudaMemcpyKind kind);
cudaError_t cudart_copy(void *to, const void *from, size_t bytes, struct cudart_way way);
cudaError_t cudart_copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                           struct cudart_way way);
cudaError_t cudart_copy_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                 size_t height, struct cudart_way way);
cudaError_t cudart_copy_from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                   size_t height, struct cudart_way way);
cudaError_t cudart_copy_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                               size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind);
/* The same for `bytes` that go on in the next row where one ends; wide at the other side. */
cudaError_t cudart_flow_to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                 struct cudart_way way);
cudaError_t cudart_flow_from_array(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                   struct cudart_way way);
cudaError_t cudart_flow_arrays(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                               size_t from_y, size_t bytes);
cudaError_t cudart_copy_3d(const struct cudaMemcpy3DParms *p, struct cudart_way way);
cudaError_t cudart_copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, bool async, cudaStream_t stream);
cudaError_t cudart_to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset, struct cudart_way way);
cudaError_t cudart_from_symbol(void *to, const void *symbol, size_t bytes, size_t offset, struct cudart_way way);
cudaError_t cudart_read_box(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to);
CUDA_MEMCPY3D cudart_line(void *to, const void *from, size_t bytes);

/* ---- texture.c ---- */
cudaError_t cudart_element_bytes(size_t *bytes, cudaArray_const_t array);
cudaError_t cudart_malloc_array(cudaArray_t *array, const struct cudaChannelFormatDesc *d, struct cudaExtent extent,
                                unsigned flags);
cudaError_t cudart_array_info(struct cudaChannelFormatDesc *d, struct cudaExtent *extent, unsigned *flags,
                              cudaArray_const_t array);
cudaError_t cudart_new_texture(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view);
cudaError_t cudart_new_surface(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource);
cudaError_t cudart_texture_resource(struct cudaResourceDesc *resource, unsigned long long object, bool surface);
cudaError_t cudart_texture_texture(struct cudaTextureDesc *texture, cudaTextureObject_t object);
cudaError_t cudart_linear_width(size_t *elements, const struct cudaChannelFormatDesc *d, int device);

/* ---- graph.c. `exec` NULL: the node of the graph itself is changed ---- */
cudaError_t cudart_add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                              const struct cudaKernelNodeParams *params);
cudaError_t cudart_get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParams *params);
cudaError_t cudart_set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params);
cudaError_t cudart_add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            const struct cudaMemcpy3DParms *params);
cudaError_t cudart_get_copy(cudaGraphNode_t node, struct cudaMemcpy3DParms *params);
cudaError_t cudart_set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params);
cudaError_t cudart_add_line(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudart_add_to_symbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                                 const void *symbol, const void *from, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind);
cudaError_t cudart_add_from_symbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                                   void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudart_set_line(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind);
cudaError_t cudart_set_to_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol, const void *from,
                                 size_t bytes, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudart_set_from_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *symbol,
                                   size_t bytes, size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudart_add_fill(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            const struct cudaMemsetParams *params);
cudaError_t cudart_set_fill(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params);
cudaError_t cudart_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs,
                            const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params);
cudaError_t cudart_set_node(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params);

#endif
