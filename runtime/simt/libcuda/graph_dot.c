/* A graph as a drawing for Graphviz: a box a node, an arrow to what waits for it. */
#include "runtime/simt/libcuda/libcuda.h"
#include <stdio.h>
#include <string.h>

#define ALL_FLAGS (((CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS) << 1) - 1)

static const char *type_name(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST: return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "CHILD GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "EVENT WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "EVENT RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "MEM ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "MEM FREE";
    default: return "";
    }
}

static void write_name(FILE *f, const struct libcuda_params *p)
{
    if (p->type == CU_GRAPH_NODE_TYPE_KERNEL && simt_handle_is(p->kernel.function, SIMT_FUNCTION))
        fprintf(f, "\\n%s", simt_function_info(p->kernel.function->function)->name);
}

/* What a node does, in a line of its box. */
static void describe(FILE *f, const struct libcuda_params *p)
{
    const unsigned *g = p->kernel.grid, *b = p->kernel.block;
    const CUDA_MEMCPY3D *c = &p->copy;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        fprintf(f, "\\n<<<(%u,%u,%u), (%u,%u,%u), %u>>>", g[0], g[1], g[2], b[0], b[1], b[2], p->kernel.shared);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: fprintf(f, "\\n%zu bytes", c->WidthInBytes * c->Height * c->Depth); break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        fprintf(f, "\\n%zu x %zu of %u bytes = %u", p->fill.width, p->fill.height, p->fill.elementSize, p->fill.value);
        break;
    default: break;
    }
}

/* `name` tells a graph's nodes from those of the graphs within it. */
static void draw(FILE *f, CUgraph graph, const char *name, bool verbose)
{
    fprintf(f, "subgraph \"cluster_%s\" {\nlabel=\"%s\" graph[style=\"dashed\"];\n", name, name);
    size_t count = 0;
    for (CUgraphNode n = graph->first; n; n = n->next) n->place = count++;
    for (CUgraphNode n = graph->first; n; n = n->next) {
        fprintf(f, "\"%s_%zu\"[shape=\"rectangle\" label=\"%zu\\n%s", name, n->place, n->place,
                type_name(n->params.type));
        write_name(f, &n->params);
        if (verbose) describe(f, &n->params);
        fputs("\"];\n", f);
        for (size_t i = 0; i < n->need_count; i++)
            fprintf(f, "\"%s_%zu\" -> \"%s_%zu\";\n", name, n->needs[i]->place, name, n->place);
        char inner[256];
        if (n->params.type != CU_GRAPH_NODE_TYPE_GRAPH) continue;
        if (snprintf(inner, sizeof inner, "%s_%zu", name, n->place) < (int)sizeof inner)
            draw(f, n->params.child, inner, verbose);
    }
    fputs("}\n", f);
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    TRY(libcuda_check_graph(graph));
    if (!path || flags & ~(unsigned)ALL_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    FILE *f = fopen(path, "w");
    if (!f) return CUDA_ERROR_OPERATING_SYSTEM;
    fputs("digraph dot {\n", f);
    draw(f, graph, "graph", flags != 0);
    fputs("}\n", f);
    bool written = !ferror(f);
    return fclose(f) == 0 && written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
