/* Graphs: nodes, what they need, clones, and the objects of the program that a graph keeps alive. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

CUresult libcuda_check_graph(CUgraph graph)
{
    TRY(simt_check_device(0));
    return simt_handle_is(graph, SIMT_GRAPH) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult libcuda_check_node(CUgraphNode node, int type)
{
    TRY(simt_check_device(0));
    bool good = simt_handle_is(node, SIMT_NODE) && (type < 0 || (int)node->params.type == type);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Making and freeing ---- */

CUgraph libcuda_new_graph(void)
{
    CUgraph g = rt_calloc(1, sizeof *g);
    if (!g || !simt_handle_add(g, SIMT_GRAPH)) {
        free(g);
        return NULL;
    }
    simt_handle_disown(g, SIMT_GRAPH);
    g->end = &g->first;
    return g;
}

static void drop_params(CUgraphNode n)
{
    if (n->params.type == CU_GRAPH_NODE_TYPE_KERNEL) free((void *)(uintptr_t)n->params.kernel.params);
    if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH && n->params.child) libcuda_free_graph(n->params.child);
    if (n->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) libcuda_let_go(n->params.allocation);
    free(n->pointers);
    n->pointers = NULL;
    n->params.type = CU_GRAPH_NODE_TYPE_EMPTY;
}

static void free_node(CUgraphNode n)
{
    simt_handle_remove(n, SIMT_NODE);
    drop_params(n);
    free(n->needs);
    free(n);
}

void libcuda_free_graph(CUgraph graph)
{
    CUgraphNode n = graph->first;
    while (n) {
        CUgraphNode next = n->next;
        free_node(n);
        n = next;
    }
    simt_handle_remove(graph, SIMT_GRAPH);
    libcuda_drop_uses(graph);
    free(graph);
}

/* A kernel's parameters, and pointers to each. */
static bool copy_kernel(const struct simt_kernel *from, struct libcuda_params *to, void ***pointers)
{
    const struct simt_function_info *info = simt_function_info(from->function->function);
    char *block = rt_alloc(info->param_bytes + 1);
    void **list = rt_alloc((info->param_count + 1) * sizeof *list);
    if (!block || !list) {
        free(block);
        free(list);
        return false;
    }
    memcpy(block, from->params, info->param_bytes);
    for (size_t i = 0; i < info->param_count; i++) list[i] = block + info->params[i].offset;
    to->kernel.params = block;
    *pointers = list;
    return true;
}

CUresult libcuda_set_params(CUgraphNode node, const struct libcuda_params *params)
{
    struct libcuda_params mine = *params;
    void **pointers = NULL;
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL && !simt_handle_is(params->kernel.function, SIMT_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE; /* its module was unloaded */
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL && !copy_kernel(&params->kernel, &mine, &pointers))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        TRY(libcuda_clone(&mine.child, params->child));
        mine.child->embedded = true;
    }
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) libcuda_hold(params->allocation);
    drop_params(node);
    node->params = mine;
    node->pointers = pointers;
    return CUDA_SUCCESS;
}

static CUresult check_needs(CUgraph graph, const CUgraphNode *needs, size_t count)
{
    if (count > 0 && !needs) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        TRY(libcuda_check_node(needs[i], -1));
        if (needs[i]->graph != graph) return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++) {
            if (needs[k] == needs[i]) return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

CUresult libcuda_add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                          const struct libcuda_params *params)
{
    TRY(check_needs(graph, needs, count));
    CUgraphNode n = rt_calloc(1, sizeof *n);
    if (!n) return CUDA_ERROR_OUT_OF_MEMORY;
    n->params.type = CU_GRAPH_NODE_TYPE_EMPTY;
    n->graph = graph;
    n->needs = rt_alloc((count + 1) * sizeof *n->needs);
    CUresult r = n->needs ? libcuda_set_params(n, params) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && !simt_handle_add(n, SIMT_NODE)) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        free_node(n);
        return r;
    }
    simt_handle_disown(n, SIMT_NODE);
    if (count > 0) memcpy(n->needs, needs, count * sizeof *needs);
    n->need_count = count;
    *graph->end = n;
    graph->end = &n->next;
    graph->count++;
    *node = n;
    return CUDA_SUCCESS;
}

bool libcuda_has_memory(CUgraph graph)
{
    CUgraphNode n = graph->first;
    while (n && n->params.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC && n->params.type != CU_GRAPH_NODE_TYPE_MEM_FREE)
        n = n->next;
    return n != NULL;
}

CUresult libcuda_clone(CUgraph *clone, CUgraph graph)
{
    CUgraph g = libcuda_new_graph();
    CUgraphNode *made = rt_alloc((graph->count + 1) * sizeof *made);
    CUresult r = g && made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    size_t count = 0;
    for (CUgraphNode n = graph->first; n && r == CUDA_SUCCESS; n = n->next) { /* the nodes, and where each stands */
        n->place = count;
        r = libcuda_add_node(&made[count], g, NULL, 0, &n->params);
        if (r == CUDA_SUCCESS) made[count++]->original = n;
    }
    count = 0;
    for (CUgraphNode n = graph->first; n && r == CUDA_SUCCESS; n = n->next) { /* then what they need */
        CUgraphNode c = made[count++];
        CUgraphNode *needs = rt_realloc(c->needs, (n->need_count + 1) * sizeof *needs);
        if (!needs) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        c->needs = needs;
        c->need_count = n->need_count;
        c->disabled = n->disabled;
        for (size_t i = 0; i < n->need_count; i++) needs[i] = made[n->needs[i]->place];
    }
    free(made);
    if (r == CUDA_SUCCESS) r = libcuda_share_uses(g, graph);
    if (r == CUDA_SUCCESS) {
        *clone = g;
    } else if (g) {
        libcuda_free_graph(g);
    }
    return r;
}

CUgraphNode libcuda_find_clone(CUgraph clone, CUgraphNode original)
{
    CUgraphNode n = clone->first;
    while (n && n->original != original) n = n->next;
    return n;
}

bool libcuda_order(CUgraph graph, CUgraphNode *order)
{
    size_t done = 0, before;
    for (CUgraphNode n = graph->first; n; n = n->next) n->place = SIZE_MAX; /* not placed yet */
    do {
        before = done;
        for (CUgraphNode n = graph->first; n; n = n->next) {
            bool ready = n->place == SIZE_MAX;
            for (size_t i = 0; ready && i < n->need_count; i++) ready = n->needs[i]->place != SIZE_MAX;
            if (!ready) continue;
            n->place = done;
            order[done++] = n;
        }
    } while (done > before && done < graph->count);
    return done == graph->count;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    TRY(simt_check_device(0));
    if (!graph || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    CUgraph g = libcuda_new_graph();
    if (g) *graph = g;
    return g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    TRY(libcuda_check_graph(graph));
    if (graph->embedded) return CUDA_ERROR_INVALID_VALUE;
    libcuda_free_graph(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
    TRY(libcuda_check_graph(graph));
    if (libcuda_has_memory(graph)) return CUDA_ERROR_NOT_SUPPORTED;
    return clone ? libcuda_clone(clone, graph) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
    TRY(libcuda_check_graph(clone));
    TRY(libcuda_check_node(original, -1));
    CUgraphNode found = libcuda_find_clone(clone, original);
    if (!node || !found) return CUDA_ERROR_INVALID_VALUE;
    *node = found;
    return CUDA_SUCCESS;
}

static bool drop_need(CUgraphNode n, CUgraphNode need)
{
    for (size_t i = 0; i < n->need_count; i++) {
        if (n->needs[i] != need) continue;
        memmove(n->needs + i, n->needs + i + 1, (--n->need_count - i) * sizeof *n->needs);
        return true;
    }
    return false;
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
    TRY(libcuda_check_node(node, -1));
    CUgraph g = node->graph;
    CUgraphNode *link = &g->first;
    while (*link != node) {
        drop_need(*link, node);
        link = &(*link)->next;
    }
    for (CUgraphNode n = node->next; n; n = n->next) drop_need(n, node);
    *link = node->next;
    if (!*link) g->end = link;
    g->count--;
    free_node(node);
    return CUDA_SUCCESS;
}

/* ---- Looking at a graph. A list is copied as far as *count goes; without a list, *count becomes its length. ---- */

struct listing {
    CUgraphNode *to, *from;
    CUgraphEdgeData *edges;
    size_t room, count;
};

static void list(struct listing *l, CUgraphNode from, CUgraphNode to)
{
    if (l->count < l->room) {
        if (l->from) l->from[l->count] = from;
        if (l->to) l->to[l->count] = to;
        if (l->edges) memset(&l->edges[l->count], 0, sizeof *l->edges);
    }
    l->count++;
}

/* What was asked for beyond the list's end is NULL. */
static CUresult listed(struct listing *l, size_t *count)
{
    if (l->room == 0 || !(l->to || l->from)) {
        *count = l->count;
        return CUDA_SUCCESS;
    }
    for (size_t i = l->count; i < l->room; i++) {
        if (l->from) l->from[i] = NULL;
        if (l->to) l->to[i] = NULL;
    }
    if (l->count < *count) *count = l->count;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    TRY(libcuda_check_graph(graph));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct listing l = {.to = nodes, .room = nodes ? *count : 0};
    for (CUgraphNode n = graph->first; n; n = n->next) list(&l, NULL, n);
    return listed(&l, count);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    TRY(libcuda_check_graph(graph));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct listing l = {.to = nodes, .room = nodes ? *count : 0};
    for (CUgraphNode n = graph->first; n; n = n->next) {
        if (n->need_count == 0) list(&l, NULL, n);
    }
    return listed(&l, count);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count)
{
    TRY(libcuda_check_graph(graph));
    if (!count || (from != NULL) != (to != NULL)) return CUDA_ERROR_INVALID_VALUE;
    struct listing l = {.from = from, .to = to, .edges = edges, .room = to ? *count : 0};
    for (CUgraphNode n = graph->first; n; n = n->next) {
        for (size_t i = 0; i < n->need_count; i++) list(&l, n->needs[i], n);
    }
    return listed(&l, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *needs, CUgraphEdgeData *edges, size_t *count)
{
    TRY(libcuda_check_node(node, -1));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct listing l = {.to = needs, .edges = edges, .room = needs ? *count : 0};
    for (size_t i = 0; i < node->need_count; i++) list(&l, NULL, node->needs[i]);
    return listed(&l, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *needs, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, needs, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *users, CUgraphEdgeData *edges, size_t *count)
{
    TRY(libcuda_check_node(node, -1));
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    struct listing l = {.to = users, .edges = edges, .room = users ? *count : 0};
    for (CUgraphNode n = node->graph->first; n; n = n->next) {
        for (size_t i = 0; i < n->need_count; i++) {
            if (n->needs[i] == node) list(&l, NULL, n);
        }
    }
    return listed(&l, count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *users, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, users, NULL, count);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    TRY(libcuda_check_node(node, -1));
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    *type = node->params.type;
    return CUDA_SUCCESS;
}

/* ---- Changing what nodes need ---- */

static CUresult check_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    TRY(libcuda_check_graph(graph));
    if (count > 0 && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        TRY(libcuda_check_node(from[i], -1));
        TRY(libcuda_check_node(to[i], -1));
        if (from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult add_need(CUgraphNode node, CUgraphNode need)
{
    for (size_t i = 0; i < node->need_count; i++) {
        if (node->needs[i] == need) return CUDA_ERROR_INVALID_VALUE; /* it is there */
    }
    CUgraphNode *more = rt_realloc(node->needs, (node->need_count + 1) * sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    node->needs = more;
    node->needs[node->need_count++] = need;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    (void)edges; /* which part of a kernel is waited for: here, all of it */
    TRY(check_edges(graph, from, to, count));
    for (size_t i = 0; i < count; i++) TRY(add_need(to[i], from[i]));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count)
{
    (void)edges;
    TRY(check_edges(graph, from, to, count));
    for (size_t i = 0; i < count; i++) {
        if (!drop_need(to[i], from[i])) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
