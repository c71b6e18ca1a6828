/* User objects: what a program wants destroyed when no graph uses it any more. */
#include "runtime/simt/libcuda/libcuda.h"
#include <limits.h>
#include <stdlib.h>
#include "runtime/memory.h"

struct CUuserObject_st {
    void *object;
    CUhostFn destroy;
    unsigned references;
};

struct libcuda_use { /* a graph's references to an object */
    CUuserObject object;
    unsigned count;
    struct libcuda_use *next;
};

static CUresult check_object(CUuserObject object, unsigned count)
{
    TRY(simt_check_device(0));
    bool good = simt_handle_is(object, SIMT_USER_OBJECT) && count > 0 && count <= INT_MAX;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectCreate(CUuserObject *object, void *pointer, CUhostFn destroy, unsigned int count,
                            unsigned int flags)
{
    TRY(simt_check_device(0));
    if (!object || !destroy || count == 0 || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    CUuserObject o = rt_alloc(sizeof *o);
    if (!o || !simt_handle_add(o, SIMT_USER_OBJECT)) {
        free(o);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    simt_handle_disown(o, SIMT_USER_OBJECT);
    *o = (struct CUuserObject_st){pointer, destroy, count};
    *object = o;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    TRY(check_object(object, count));
    object->references += count;
    return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    TRY(check_object(object, count));
    if (count > object->references) return CUDA_ERROR_INVALID_VALUE;
    object->references -= count;
    if (object->references > 0) return CUDA_SUCCESS;
    simt_handle_remove(object, SIMT_USER_OBJECT);
    object->destroy(object->object);
    free(object);
    return CUDA_SUCCESS;
}

static struct libcuda_use *use_of(CUgraph graph, CUuserObject object)
{
    struct libcuda_use *u = graph->uses;
    while (u && u->object != object) u = u->next;
    return u;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    TRY(libcuda_check_graph(graph));
    TRY(check_object(object, count));
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
    struct libcuda_use *u = use_of(graph, object);
    if (!u) {
        u = rt_calloc(1, sizeof *u);
        if (!u) return CUDA_ERROR_OUT_OF_MEMORY;
        u->object = object;
        u->next = graph->uses;
        graph->uses = u;
    }
    u->count += count;
    return flags & CU_GRAPH_USER_OBJECT_MOVE ? CUDA_SUCCESS : cuUserObjectRetain(object, count);
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    TRY(libcuda_check_graph(graph));
    TRY(check_object(object, count));
    struct libcuda_use *u = use_of(graph, object);
    if (!u || u->count < count) return CUDA_ERROR_INVALID_VALUE;
    u->count -= count;
    return cuUserObjectRelease(object, count);
}

CUresult libcuda_share_uses(CUgraph to, CUgraph from)
{
    for (struct libcuda_use *u = from->uses; u; u = u->next) {
        if (u->count > 0) TRY(cuGraphRetainUserObject(to, u->object, u->count, 0));
    }
    return CUDA_SUCCESS;
}

void libcuda_drop_uses(CUgraph graph)
{
    struct libcuda_use *u = graph->uses;
    while (u) {
        struct libcuda_use *next = u->next;
        if (u->count > 0) cuUserObjectRelease(u->object, u->count);
        free(u);
        u = next;
    }
    graph->uses = NULL;
}
