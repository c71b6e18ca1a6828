/* Memory that graphs allocate and free. The address is found when the node is made and stays with the graph and its
 * instances, so a launch only notes that the memory is in use; who frees it, a node of any graph or the program, notes
 * that it is not. What is in use when its last graph goes becomes an ordinary allocation. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

struct libcuda_allocation {
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    size_t uses; /* by nodes */
    struct libcuda_allocation *next;
};

/* All under the device's lock. */
static struct libcuda_allocation *all;
static struct CUmemPoolHandle_st graph_pool = {.keeps = true}; /* of what is in use */
static size_t reserved, most_reserved;

static void *handle_of(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static bool in_use(CUdeviceptr address)
{
    struct simt_handle h;
    return simt_handle_get(handle_of(address), SIMT_MEMORY, &h) && h.extra == &graph_pool;
}

void libcuda_hold(struct libcuda_allocation *a)
{
    simt_lock();
    a->uses++;
    simt_unlock();
}

void libcuda_let_go(struct libcuda_allocation *a)
{
    CUdeviceptr address = a->params.dptr;
    simt_lock();
    bool last = --a->uses == 0;
    if (last) {
        struct libcuda_allocation **link = &all;
        while (*link != a) link = &(*link)->next;
        *link = a->next;
        reserved -= a->params.bytesize;
        if (in_use(address)) {
            simt_handle_set(handle_of(address), SIMT_MEMORY, NULL);
            graph_pool.used -= a->params.bytesize;
        } else {
            simt_free(address);
        }
    }
    simt_unlock();
    if (last) free(a);
}

/* Under the lock. */
static struct libcuda_allocation *find(CUdeviceptr address)
{
    struct libcuda_allocation *a = all;
    while (a && a->params.dptr != address) a = a->next;
    return a;
}

static CUresult check_wish(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    TRY(simt_ready());
    if (!p || p->bytesize == 0 || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE || p->accessDescCount > 1) return CUDA_ERROR_INVALID_VALUE;
    if (p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    return p->poolProps.location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult libcuda_new_allocation(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct libcuda_params *node)
{
    uint64_t address;
    TRY(check_wish(p));
    struct libcuda_allocation *a = rt_calloc(1, sizeof *a);
    simt_lock();
    bool ok = a && simt_alloc(p->bytesize, &address, NULL) == RT_OK;
    if (ok) {
        p->dptr = address;
        *a = (struct libcuda_allocation){*p, 1, all};
        a->params.accessDescs = NULL; /* the program's, and all that it can say is so */
        a->params.accessDescCount = 0;
        all = a;
        reserved += p->bytesize;
        if (reserved > most_reserved) most_reserved = reserved;
    }
    simt_unlock();
    if (!ok) free(a);
    *node = (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .allocation = a};
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool libcuda_is_graphs(CUdeviceptr address)
{
    simt_lock();
    bool is = find(address) != NULL;
    simt_unlock();
    return is;
}

/* ---- What nodes do ---- */

CUresult libcuda_run_allocation(const struct libcuda_allocation *a, bool free_first)
{
    CUdeviceptr address = a->params.dptr;
    simt_lock();
    if (free_first && in_use(address)) simt_memory_free(address);
    CUresult r = in_use(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS && !simt_handle_add(handle_of(address), SIMT_MEMORY)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        simt_handle_set(handle_of(address), SIMT_MEMORY, &graph_pool);
        graph_pool.used += a->params.bytesize;
        if (graph_pool.used > graph_pool.high) graph_pool.high = graph_pool.used;
    }
    simt_unlock();
    return r;
}

CUresult libcuda_run_free(CUdeviceptr address)
{
    simt_lock();
    bool freed = in_use(address) && simt_memory_free(address);
    simt_unlock();
    return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- The calls ---- */

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct libcuda_params p;
    TRY(libcuda_check_graph(graph));
    if (!node) return CUDA_ERROR_INVALID_VALUE;
    TRY(libcuda_new_allocation(params, &p));
    CUresult r = libcuda_add_node(node, graph, needs, count, &p);
    libcuda_let_go(p.allocation); /* the node has its own hold */
    return r;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                               CUdeviceptr address)
{
    struct libcuda_params p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .freed = address};
    TRY(libcuda_check_graph(graph));
    if (!node || !libcuda_is_graphs(address)) return CUDA_ERROR_INVALID_VALUE;
    return libcuda_add_node(node, graph, needs, count, &p);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC));
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    *params = node->params.allocation->params;
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    TRY(libcuda_check_node(node, CU_GRAPH_NODE_TYPE_MEM_FREE));
    if (!address) return CUDA_ERROR_INVALID_VALUE;
    *address = node->params.freed;
    return CUDA_SUCCESS;
}

/* Nothing is kept beyond what graphs have. */
CUresult cuDeviceGraphMemTrim(CUdevice device)
{
    return simt_check_device(device);
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    TRY(simt_check_device(device));
    if (!value || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    simt_lock();
    const size_t now[] = {[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = graph_pool.used,
                          [CU_GRAPH_MEM_ATTR_USED_MEM_HIGH] = graph_pool.high,
                          [CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = reserved,
                          [CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH] = most_reserved};
    *(cuuint64_t *)value = now[attribute];
    simt_unlock();
    return CUDA_SUCCESS;
}

/* The highest values can be reset, and nothing else. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
    TRY(simt_check_device(device));
    bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!value || !high || *(cuuint64_t *)value != 0) return CUDA_ERROR_INVALID_VALUE;
    simt_lock();
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        graph_pool.high = graph_pool.used;
    else
        most_reserved = reserved;
    simt_unlock();
    return CUDA_SUCCESS;
}
