/* Nodes of each type: adding them, asking for their parameters, changing those in a graph or in an instance. All of
 * this goes through read_params; the functions of one type are that with another shape. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

/* ---- Reading ---- */

static CUresult read_kernel(const CUDA_KERNEL_NODE_PARAMS *from, struct libcuda_params *to)
{
    CUfunction f = from->func ? from->func : (CUfunction)from->kern;
    struct simt_kernel k = {.function = f,
                            .grid = {from->gridDimX, from->gridDimY, from->gridDimZ},
                            .block = {from->blockDimX, from->blockDimY, from->blockDimZ},
                            .shared = from->sharedMemBytes};
    TRY(simt_check_launch(&k));
    void *block = rt_alloc(simt_function_info(f->function)->param_bytes + 1);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = simt_gather(f, from->kernelParams, from->extra, block);
    if (r != CUDA_SUCCESS) {
        free(block);
        return r;
    }
    k.params = block;
    *to = (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = k};
    return CUDA_SUCCESS;
}

static CUresult read_event(CUgraphNodeType type, CUevent event, struct libcuda_params *to)
{
    if (!simt_handle_is(event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    *to = (struct libcuda_params){.type = type, .event = event};
    return CUDA_SUCCESS;
}

static CUresult read_fill(const CUDA_MEMSET_NODE_PARAMS *from, struct libcuda_params *to)
{
    TRY(simt_check_fill(from));
    *to = (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_MEMSET, .fill = *from};
    return CUDA_SUCCESS;
}

static bool is_memory(CUmemorytype type)
{
    return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
}

/* Parameters as the API has them to those of a node, checked. The kinds of parameters of a node of any type begin as
 * those of its own calls do; a context after them says where, and there is one device. A kernel's are gathered into a
 * block that release_params frees. */
static CUresult read_params(const CUgraphNodeParams *from, struct libcuda_params *to)
{
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS k;
        memcpy(&k, &from->kernel, sizeof k);
        return read_kernel(&k, to);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        *to = (struct libcuda_params){.type = from->type, .copy = from->memcpy.copyParams};
        return is_memory(to->copy.srcMemoryType) && is_memory(to->copy.dstMemoryType) ? CUDA_SUCCESS
                                                                                      : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS f;
        memcpy(&f, &from->memset, sizeof f);
        return read_fill(&f, to);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
        if (!from->host.fn) return CUDA_ERROR_INVALID_VALUE;
        *to = (struct libcuda_params){.type = from->type, .host = {from->host.fn, from->host.userData}};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        TRY(libcuda_check_graph(from->graph.graph));
        if (libcuda_has_memory(from->graph.graph)) return CUDA_ERROR_NOT_SUPPORTED;
        *to = (struct libcuda_params){.type = from->type, .child = from->graph.graph};
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY: *to = (struct libcuda_params){.type = from->type}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return read_event(from->type, from->eventWait.event, to);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return read_event(from->type, from->eventRecord.event, to);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static void release_params(struct libcuda_params *p)
{
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL) free((void *)(uintptr_t)p->kernel.params);
}

/* ---- The three things that are done with parameters. `exec` NULL: to the graph itself ---- */

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                    const CUgraphNodeParams *from)
{
    struct libcuda_params p;
    TRY(libcuda_check_graph(graph));
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    TRY(read_params(from, &p));
    CUresult r = libcuda_add_node(node, graph, needs, count, &p);
    release_params(&p);
    return r;
}

static CUresult set(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *from)
{
    struct libcuda_params p;
    TRY(libcuda_check_node(node, (int)from->type));
    if (exec) TRY(libcuda_find_in_exec(exec, node, &node));
    TRY(read_params(from, &p));
    CUresult r = exec ? libcuda_check_change(node, &p) : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) r = libcuda_set_params(node, &p);
    release_params(&p);
    return r;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, const CUgraphEdgeData *edges,
                           size_t count, CUgraphNodeParams *params)
{
    (void)edges;
    return cuGraphAddNode(node, graph, needs, count, params);
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                        CUgraphNodeParams *params)
{
    if (params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        CUDA_MEM_ALLOC_NODE_PARAMS p;
        memcpy(&p, &params->alloc, sizeof p);
        CUresult r = cuGraphAddMemAllocNode(node, graph, needs, count, &p);
        if (r == CUDA_SUCCESS) params->alloc.dptr = p.dptr;
        return r;
    }
    if (params && params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return cuGraphAddMemFreeNode(node, graph, needs, count, params->free.dptr);
    return add(node, graph, needs, count, params);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    return params ? set(NULL, node, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    TRY(libcuda_check_exec(exec));
    return params ? set(exec, node, params) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- One type at a time. MEMBER is what the type's parameters are called in CUgraphNodeParams ---- */

#define IN(member, type_, from)                                                                                        \
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_##type_};                                                      \
    if (!(from)) return CUDA_ERROR_INVALID_VALUE;                                                                      \
    memcpy(&all.member, (from), sizeof *(from))

/* Adding, setting and setting in an instance, where those take the same parameters. */
#define SETTERS(Name, version, member, type_, T)                                                                       \
    CUresult cuGraphAdd##Name##Node##version(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count, \
                                             const T *params)                                                          \
    {                                                                                                                  \
        IN(member, type_, params);                                                                                     \
        return add(node, graph, needs, count, &all);                                                                   \
    }                                                                                                                  \
    CUresult cuGraph##Name##NodeSetParams##version(CUgraphNode node, const T *params)                                  \
    {                                                                                                                  \
        IN(member, type_, params);                                                                                     \
        return set(NULL, node, &all);                                                                                  \
    }                                                                                                                  \
    CUresult cuGraphExec##Name##NodeSetParams##version(CUgraphExec exec, CUgraphNode node, const T *params)            \
    {                                                                                                                  \
        TRY(libcuda_check_exec(exec));                                                                                 \
        IN(member, type_, params);                                                                                     \
        return set(exec, node, &all);                                                                                  \
    }

SETTERS(Kernel, _v2, kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v2)
SETTERS(Kernel, , kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v1)
SETTERS(Host, , host, HOST, CUDA_HOST_NODE_PARAMS)

/* The same for those that take a context. */
#define SETTERS_IN_CONTEXT(Name, member, type_, T)                                                                     \
    CUresult cuGraphAdd##Name##Node(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,          \
                                    const T *params, CUcontext context)                                                \
    {                                                                                                                  \
        IN(member, type_, params);                                                                                     \
        if (!simt_handle_is(context, SIMT_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;                                 \
        return add(node, graph, needs, count, &all);                                                                   \
    }                                                                                                                  \
    CUresult cuGraph##Name##NodeSetParams(CUgraphNode node, const T *params)                                           \
    {                                                                                                                  \
        IN(member, type_, params);                                                                                     \
        return set(NULL, node, &all);                                                                                  \
    }                                                                                                                  \
    CUresult cuGraphExec##Name##NodeSetParams(CUgraphExec exec, CUgraphNode node, const T *params, CUcontext context)  \
    {                                                                                                                  \
        TRY(libcuda_check_exec(exec));                                                                                 \
        IN(member, type_, params);                                                                                     \
        if (!simt_handle_is(context, SIMT_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;                                 \
        return set(exec, node, &all);                                                                                  \
    }

SETTERS_IN_CONTEXT(Memcpy, memcpy.copyParams, MEMCPY, CUDA_MEMCPY3D)
SETTERS_IN_CONTEXT(Memset, memset, MEMSET, CUDA_MEMSET_NODE_PARAMS)

/* Events, which stand for themselves. */
#define EVENTS(Name, member, type_)                                                                                    \
    CUresult cuGraphAdd##Name##Node(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,          \
                                    CUevent event)                                                                     \
    {                                                                                                                  \
        CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_##type_, .member.event = event};                           \
        return add(node, graph, needs, count, &all);                                                                   \
    }                                                                                                                  \
    CUresult cuGraph##Name##NodeSetEvent(CUgraphNode node, CUevent event)                                              \
    {                                                                                                                  \
        return set(NULL, node, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_##type_, .member.event = event});       \
    }                                                                                                                  \
    CUresult cuGraphExec##Name##NodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)                        \
    {                                                                                                                  \
        TRY(libcuda_check_exec(exec));                                                                                 \
        return set(exec, node, &(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_##type_, .member.event = event});       \
    }                                                                                                                  \
    CUresult cuGraph##Name##NodeGetEvent(CUgraphNode node, CUevent *event)                                             \
    {                                                                                                                  \
        TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_##type_));                                                     \
        if (!event) return CUDA_ERROR_INVALID_VALUE;                                                                   \
        *event = node->params.event;                                                                                   \
        return CUDA_SUCCESS;                                                                                           \
    }

EVENTS(EventRecord, eventRecord, EVENT_RECORD)
EVENTS(EventWait, eventWait, WAIT_EVENT)

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add(node, graph, needs, count, &all);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                                  CUgraph child)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child};
    return child == graph ? CUDA_ERROR_INVALID_VALUE : add(node, graph, needs, count, &all);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child};
    TRY(libcuda_check_exec(exec));
    return set(exec, node, &all);
}

/* ---- Asking ---- */

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_KERNEL));
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const struct simt_kernel *k = &node->params.kernel;
    *p = (CUDA_KERNEL_NODE_PARAMS_v2){.func = k->function,
                                      .gridDimX = k->grid[0],
                                      .gridDimY = k->grid[1],
                                      .gridDimZ = k->grid[2],
                                      .blockDimX = k->block[0],
                                      .blockDimY = k->block[1],
                                      .blockDimZ = k->block[2],
                                      .sharedMemBytes = k->shared,
                                      .kernelParams = node->pointers};
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS_v2 all;
    TRY(cuGraphKernelNodeGetParams_v2(node, &all));
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    memcpy(p, &all, sizeof *p);
    return CUDA_SUCCESS;
}

#define GETTER(Name, type_, member, T)                                                                                 \
    CUresult cuGraph##Name##NodeGetParams(CUgraphNode node, T *p)                                                      \
    {                                                                                                                  \
        TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_##type_));                                                     \
        if (!p) return CUDA_ERROR_INVALID_VALUE;                                                                       \
        *p = node->params.member;                                                                                      \
        return CUDA_SUCCESS;                                                                                           \
    }

GETTER(Memcpy, MEMCPY, copy, CUDA_MEMCPY3D)
GETTER(Memset, MEMSET, fill, CUDA_MEMSET_NODE_PARAMS)
GETTER(Host, HOST, host, CUDA_HOST_NODE_PARAMS)

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_GRAPH));
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    *graph = node->params.child;
    return CUDA_SUCCESS;
}

/* Of a kernel's attributes two matter: whether its blocks may wait for each other, and its clusters. */
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value)
{
    TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_KERNEL));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value->cooperative = node->params.kernel.cooperative; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        unsigned size[3];
        simt_cluster_of(&node->params.kernel, size);
        value->clusterDim.x = size[0] ? size[0] : 1;
        value->clusterDim.y = size[0] ? size[1] : 1;
        value->clusterDim.z = size[0] ? size[2] : 1;
        return CUDA_SUCCESS;
    }
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue *value)
{
    CUkernelNodeAttrValue now;
    TRY(cuGraphKernelNodeGetAttribute(node, attribute, &now));
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct simt_kernel k = node->params.kernel;
    const unsigned size[3] = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        memcpy(k.cluster, size, sizeof k.cluster);
    else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        k.cooperative = value->cooperative != 0;
    else
        return CUDA_SUCCESS;
    TRY(simt_check_launch(&k));
    node->params.kernel = k;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
    TRY(libcuda_check_node(from, CU_GRAPH_NODE_TYPE_KERNEL));
    TRY(libcuda_check_node(to, CU_GRAPH_NODE_TYPE_KERNEL));
    struct simt_kernel k = to->params.kernel;
    k.cooperative = from->params.kernel.cooperative;
    memcpy(k.cluster, from->params.kernel.cluster, sizeof k.cluster);
    TRY(simt_check_launch(&k));
    to->params.kernel = k;
    return CUDA_SUCCESS;
}
