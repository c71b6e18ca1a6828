/* Nodes of graphs: the runtime's parameters of kernels and copies and the driver's. Those of other nodes are the same
 * in both. */
#include "runtime/simt/libcudart/libcudart.h"
#include <string.h>

static cudaError_t current(CUcontext *context)
{
    return (cudaError_t)cuCtxGetCurrent(context);
}

/* ---- Kernels ---- */

static cudaError_t read_kernel(const struct cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
    if (!from) return cudaErrorInvalidValue;
    *to = (CUDA_KERNEL_NODE_PARAMS){.gridDimX = from->gridDim.x,
                                    .gridDimY = from->gridDim.y,
                                    .gridDimZ = from->gridDim.z,
                                    .blockDimX = from->blockDim.x,
                                    .blockDimY = from->blockDim.y,
                                    .blockDimZ = from->blockDim.z,
                                    .sharedMemBytes = from->sharedMemBytes,
                                    .kernelParams = from->kernelParams,
                                    .extra = from->extra};
    return cudart_find_function(&to->func, from->func);
}

cudaError_t cudart_add_kernel(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                              const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    TRY(read_kernel(params, &k));
    return (cudaError_t)cuGraphAddKernelNode(node, graph, needs, count, &k);
}

cudaError_t cudart_get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    if (!params) return cudaErrorInvalidValue;
    TRY(cuGraphKernelNodeGetParams(node, &k));
    *params = (struct cudaKernelNodeParams){.func = (void *)(uintptr_t)cudart_host_function(k.func),
                                            .gridDim = {k.gridDimX, k.gridDimY, k.gridDimZ},
                                            .blockDim = {k.blockDimX, k.blockDimY, k.blockDimZ},
                                            .sharedMemBytes = k.sharedMemBytes,
                                            .kernelParams = k.kernelParams,
                                            .extra = k.extra};
    return cudaSuccess;
}

cudaError_t cudart_set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS k;
    TRY(read_kernel(params, &k));
    return (cudaError_t)(exec ? cuGraphExecKernelNodeSetParams(exec, node, &k) : cuGraphKernelNodeSetParams(node, &k));
}

/* ---- Copies ---- */

static cudaError_t add_box(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                           const CUDA_MEMCPY3D *c)
{
    CUcontext context;
    TRY(current(&context));
    return (cudaError_t)cuGraphAddMemcpyNode(node, graph, needs, count, c, context);
}

static cudaError_t set_box(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *c)
{
    CUcontext context;
    TRY(current(&context));
    return (cudaError_t)(exec ? cuGraphExecMemcpyNodeSetParams(exec, node, c, context)
                              : cuGraphMemcpyNodeSetParams(node, c));
}

cudaError_t cudart_add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D c;
    TRY(cudart_read_box(params, &c));
    return add_box(node, graph, needs, count, &c);
}

cudaError_t cudart_set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D c;
    TRY(cudart_read_box(params, &c));
    return set_box(exec, node, &c);
}

cudaError_t cudart_get_copy(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D c;
    size_t to = 1, from = 1;
    if (!params) return cudaErrorInvalidValue;
    TRY(cuGraphMemcpyNodeGetParams(node, &c));
    *params = (struct cudaMemcpy3DParms){.kind = cudaMemcpyDefault};
    if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        params->srcArray = (cudaArray_t)c.srcArray;
        TRY(cudart_element_bytes(&from, params->srcArray));
    } else {
        const void *p = c.srcMemoryType == CU_MEMORYTYPE_HOST ? c.srcHost : (void *)(uintptr_t)c.srcDevice;
        params->srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)p, c.srcPitch, c.WidthInBytes, c.srcHeight};
    }
    if (c.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        params->dstArray = (cudaArray_t)c.dstArray;
        TRY(cudart_element_bytes(&to, params->dstArray));
    } else {
        void *p = c.dstMemoryType == CU_MEMORYTYPE_HOST ? c.dstHost : (void *)(uintptr_t)c.dstDevice;
        params->dstPtr = (struct cudaPitchedPtr){p, c.dstPitch, c.WidthInBytes, c.dstHeight};
    }
    params->srcPos = (struct cudaPos){c.srcXInBytes / from, c.srcY, c.srcZ};
    params->dstPos = (struct cudaPos){c.dstXInBytes / to, c.dstY, c.dstZ};
    params->extent = (struct cudaExtent){c.WidthInBytes / (params->srcArray ? from : to), c.Height, c.Depth};
    return cudaSuccess;
}

/* ---- Lines, of memory and of variables ---- */

cudaError_t cudart_add_line(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    TRY(cudart_check_kind(to, from, kind));
    CUDA_MEMCPY3D c = cudart_line(to, from, bytes);
    return add_box(node, graph, needs, count, &c);
}

cudaError_t cudart_add_to_symbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                                 const void *symbol, const void *from, size_t bytes, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    void *to;
    TRY(cudart_find_part(&to, symbol, offset, bytes));
    return cudart_add_line(node, graph, needs, count, to, from, bytes, kind);
}

cudaError_t cudart_add_from_symbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                                   void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    void *from;
    TRY(cudart_find_part(&from, symbol, offset, bytes));
    return cudart_add_line(node, graph, needs, count, to, from, bytes, kind);
}

cudaError_t cudart_set_line(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind)
{
    TRY(cudart_check_kind(to, from, kind));
    CUDA_MEMCPY3D c = cudart_line(to, from, bytes);
    return set_box(exec, node, &c);
}

cudaError_t cudart_set_to_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol, const void *from,
                                 size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    void *to;
    TRY(cudart_find_part(&to, symbol, offset, bytes));
    return cudart_set_line(exec, node, to, from, bytes, kind);
}

cudaError_t cudart_set_from_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *symbol,
                                   size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    void *from;
    TRY(cudart_find_part(&from, symbol, offset, bytes));
    return cudart_set_line(exec, node, to, from, bytes, kind);
}

/* ---- Fills ---- */

cudaError_t cudart_add_fill(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, size_t count,
                            const struct cudaMemsetParams *params)
{
    CUcontext context;
    TRY(current(&context));
    return (cudaError_t)cuGraphAddMemsetNode(node, graph, needs, count, (const CUDA_MEMSET_NODE_PARAMS *)params,
                                             context);
}

cudaError_t cudart_set_fill(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
    CUcontext context;
    const CUDA_MEMSET_NODE_PARAMS *p = (const CUDA_MEMSET_NODE_PARAMS *)params;
    TRY(current(&context));
    return (cudaError_t)(exec ? cuGraphExecMemsetNodeSetParams(exec, node, p, context)
                              : cuGraphMemsetNodeSetParams(node, p));
}

/* ---- Nodes of any type ---- */

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "both APIs have the same nodes");

static cudaError_t read_node(const struct cudaGraphNodeParams *from, CUgraphNodeParams *to)
{
    if (!from) return cudaErrorInvalidValue;
    memset(to, 0, sizeof *to);
    to->type = (CUgraphNodeType)from->type;
    if (from->type == cudaGraphNodeTypeKernel) {
        struct cudaKernelNodeParams k;
        CUDA_KERNEL_NODE_PARAMS driver;
        memcpy(&k, &from->kernel, sizeof k);
        TRY(read_kernel(&k, &driver));
        memcpy(&to->kernel, &driver, sizeof to->kernel);
        return cudaSuccess;
    }
    if (from->type == cudaGraphNodeTypeMemcpy) {
        TRY(current(&to->memcpy.copyCtx));
        return cudart_read_box(&from->memcpy.copyParams, &to->memcpy.copyParams);
    }
    memcpy(to, from, sizeof *to);
    return cudaSuccess;
}

/* An allocation's address is written into the parameters. */
cudaError_t cudart_add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs,
                            const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    TRY(read_node(params, &p));
    TRY(cuGraphAddNode(node, graph, needs, (const CUgraphEdgeData *)edges, count, &p));
    if (params->type == cudaGraphNodeTypeMemAlloc) params->alloc.dptr = (void *)(uintptr_t)p.alloc.dptr;
    return cudaSuccess;
}

cudaError_t cudart_set_node(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams p;
    TRY(read_node(params, &p));
    return (cudaError_t)(exec ? cuGraphExecNodeSetParams(exec, node, &p) : cuGraphNodeSetParams(node, &p));
}
