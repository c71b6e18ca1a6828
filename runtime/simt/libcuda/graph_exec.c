/* Instances of graphs: a clone and an order in which its nodes run, one after the other. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

#define INSTANTIATE_FLAGS                                                                                              \
    (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |                            \
     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

struct CUgraphExec_st {
    CUgraph graph;
    CUgraphNode *order;
    unsigned long long flags;
};

CUresult libcuda_check_exec(CUgraphExec exec)
{
    TRY(simt_check_device(0));
    return simt_handle_is(exec, SIMT_GRAPH_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult libcuda_find_in_exec(CUgraphExec exec, CUgraphNode original, CUgraphNode *node)
{
    simt_settle(false); /* who asks may change it, and launches may be on their way */
    CUgraphNode found = libcuda_find_clone(exec->graph, original);
    if (found) *node = found;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Making ---- */

/* Also of the graphs within, as one that goes in a circle cannot be told later. */
static CUresult instantiate(CUgraphExec exec, CUgraph graph)
{
    TRY(libcuda_clone(&exec->graph, graph));
    for (CUgraphNode n = graph->first, c = exec->graph->first; n; n = n->next, c = c->next) c->original = n;
    exec->order = rt_alloc((graph->count + 1) * sizeof(CUgraphNode));
    if (!exec->order) return CUDA_ERROR_OUT_OF_MEMORY;
    return libcuda_order(exec->graph, exec->order) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void free_exec(CUgraphExec exec)
{
    if (exec->graph) libcuda_free_graph(exec->graph);
    free(exec->order);
    free(exec);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    TRY(libcuda_check_graph(graph));
    if (!exec || flags & ~(unsigned long long)(INSTANTIATE_FLAGS | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    CUgraphExec e = rt_calloc(1, sizeof *e);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    e->flags = flags;
    CUresult r = instantiate(e, graph);
    if (r == CUDA_SUCCESS && !simt_handle_add(e, SIMT_GRAPH_EXEC)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        simt_handle_disown(e, SIMT_GRAPH_EXEC);
        *exec = e;
    } else {
        free_exec(e);
    }
    return r;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuGraphInstantiateWithFlags(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return r;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log, size_t size)
{
    CUresult r = cuGraphInstantiateWithFlags(exec, graph, 0);
    if (error) *error = NULL;
    if (log && size > 0) snprintf(log, size, "%s", r == CUDA_SUCCESS ? "" : "the graph's nodes wait for each other");
    return r;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    TRY(libcuda_check_exec(exec));
    simt_settle(false);
    simt_handle_remove(exec, SIMT_GRAPH_EXEC);
    free_exec(exec);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    TRY(libcuda_check_exec(exec));
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

/* ---- Running ---- */

static CUresult run_graph(CUgraph graph, CUgraphNode *order, unsigned long long flags);

static CUresult run_node(CUgraphNode n, unsigned long long flags)
{
    struct libcuda_params *p = &n->params;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        TRY(simt_check_launch(&p->kernel)); /* its module may be gone */
        simt_run_kernel(&p->kernel);
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY: return simt_copy(&p->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return simt_fill(&p->fill);
    case CU_GRAPH_NODE_TYPE_HOST: p->host.fn(p->host.userData); return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: return run_graph(p->child, NULL, flags);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return libcuda_run_allocation(p->allocation, flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return libcuda_run_free(p->freed);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (!simt_handle_is(p->event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
        return simt_perform(&(struct simt_work){.kind = SIMT_WORK_RECORD, .event = p->event});
    default: return CUDA_SUCCESS; /* nothing to do: the launch came after the events that are waited for */
    }
}

/* order: from libcuda_order, or NULL; flags: the instance's */
static CUresult run_graph(CUgraph graph, CUgraphNode *order, unsigned long long flags)
{
    CUgraphNode *own = order ? NULL : rt_alloc((graph->count + 1) * sizeof *own);
    CUresult r = order || own ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (own && !libcuda_order(graph, own)) r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_SUCCESS && i < graph->count; i++) {
        CUgraphNode n = (order ? order : own)[i];
        if (!n->disabled) r = run_node(n, flags);
    }
    free(own);
    return r;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    TRY(libcuda_check_exec(exec));
    return simt_stream_ready(stream);
}

static CUresult run_exec(const uint64_t *with)
{
    CUgraphExec exec = (CUgraphExec)(uintptr_t)with[0];
    return run_graph(exec->graph, exec->order, exec->flags);
}

/* Calls for the events of nodes of a type, also of the graphs within. */
static CUresult for_events(CUgraph graph, CUgraphNodeType type, CUstream stream,
                           CUresult (*call)(CUstream stream, CUevent event))
{
    for (CUgraphNode n = graph->first; n; n = n->next) {
        if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH) TRY(for_events(n->params.child, type, stream, call));
        if (n->params.type != type) continue;
        if (!simt_handle_is(n->params.event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
        TRY(call(stream, n->params.event));
    }
    return CUDA_SUCCESS;
}

static CUresult take_event(CUstream stream, CUevent event)
{
    libcuda_take_event(event, stream);
    return CUDA_SUCCESS;
}

static CUresult check_kernels(CUgraph graph)
{
    for (CUgraphNode n = graph->first; n; n = n->next) {
        if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH) TRY(check_kernels(n->params.child));
        if (n->params.type == CU_GRAPH_NODE_TYPE_KERNEL && !n->disabled) TRY(simt_check_launch(&n->params.kernel));
    }
    return CUDA_SUCCESS;
}

/* One with memory is run by the call itself, which returns what is wrong with that. The events that a graph records
 * have happened when it has ended. */
static CUresult launch(CUgraphExec exec, CUstream stream)
{
    struct simt_work work = {.kind = SIMT_WORK_CALL,
                             .call = {.run = run_exec, .with = {(uintptr_t)exec}, .on_device = true}};
    TRY(check_kernels(exec->graph));
    if (!simt_queue.issue || libcuda_has_memory(exec->graph)) {
        simt_settle(false);
        return run_exec(work.call.with);
    }
    TRY(for_events(exec->graph, CU_GRAPH_NODE_TYPE_WAIT_EVENT, stream, simt_queue.after));
    TRY(libcuda_enqueue(stream, &work));
    return for_events(exec->graph, CU_GRAPH_NODE_TYPE_EVENT_RECORD, stream, take_event);
}

/* Into a captured stream, a launch goes as a child. */
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    bool captured = false;
    TRY(simt_stream_ready(stream));
    TRY(libcuda_check_exec(exec));
    struct libcuda_params p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = exec->graph};
    TRY(libcuda_capture_node(stream, &p, &captured));
    if (captured) return CUDA_SUCCESS;
    TRY(simt_pending());
    return launch(exec, stream);
}

/* ---- Changing ---- */

CUresult libcuda_check_change(CUgraphNode node, const struct libcuda_params *p)
{
    bool child = p->type == CU_GRAPH_NODE_TYPE_GRAPH;
    if (p->type != node->params.type) return CUDA_ERROR_INVALID_VALUE;
    return child && p->child->count != node->params.child->count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
    TRY(libcuda_check_exec(exec));
    TRY(libcuda_check_node(node, -1));
    TRY(libcuda_find_in_exec(exec, node, &node));
    CUgraphNodeType t = node->params.type;
    bool can = t == CU_GRAPH_NODE_TYPE_KERNEL || t == CU_GRAPH_NODE_TYPE_MEMCPY || t == CU_GRAPH_NODE_TYPE_MEMSET;
    if (!can || enabled > 1) return CUDA_ERROR_INVALID_VALUE;
    node->disabled = !enabled;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
    TRY(libcuda_check_exec(exec));
    TRY(libcuda_check_node(node, -1));
    TRY(libcuda_find_in_exec(exec, node, &node));
    if (!enabled) return CUDA_ERROR_INVALID_VALUE;
    *enabled = !node->disabled;
    return CUDA_SUCCESS;
}

/* The same nodes in the same order, each needing the same: what another capture of the same code gives. */
static CUgraphExecUpdateResult compare(CUgraph now, CUgraph wanted, CUgraphNode *error)
{
    CUgraphNode a = now->first, b = wanted->first;
    size_t place = 0;
    if (now->count != wanted->count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (; a; a = a->next, b = b->next) {
        *error = b;
        a->place = b->place = place++;
        if (a->params.type != b->params.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
        if (libcuda_check_change(a, &b->params) != CUDA_SUCCESS) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        if (a->need_count != b->need_count) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    for (a = now->first, b = wanted->first; a; a = a->next, b = b->next) {
        *error = b;
        for (size_t i = 0; i < a->need_count; i++) {
            if (a->needs[i]->place != b->needs[i]->place) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        }
    }
    *error = NULL;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    TRY(libcuda_check_exec(exec));
    TRY(libcuda_check_graph(graph));
    if (!info) return CUDA_ERROR_INVALID_VALUE;
    simt_settle(false);
    *info = (CUgraphExecUpdateResultInfo){0};
    info->result = compare(exec->graph, graph, &info->errorNode);
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (CUgraphNode a = exec->graph->first, b = graph->first; a; a = a->next, b = b->next) {
        CUresult r = libcuda_set_params(a, &b->params);
        if (r != CUDA_SUCCESS) {
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
            return r;
        }
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error, CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info = {0};
    CUresult r = cuGraphExecUpdate_v2(exec, graph, &info);
    if (error) *error = info.errorNode;
    if (result) *result = info.result;
    return r;
}
