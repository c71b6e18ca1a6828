/* The part of the driver API that only libcuda-simt.so has: programs written to it find every name of cuda.h here.
 *
 * The functions are defined under their real symbols, version suffix included, and checked by the compiler against
 * cuda.h. symbols.def lists all symbols: those that are defined here or in the driver files above, those that are
 * refused with CUDA_ERROR_NOT_SUPPORTED, and the per-thread-default-stream twins, which are the same functions.
 *
 * Work is done beside the thread that issues it (queue.c), but one kernel at a time, which is one of the orders that
 * CUDA allows; a program that needs two kernels to run at the same time never ends, and calls that allocate, load or
 * make something wait while a kernel runs. */
#ifndef SIMT_LIBCUDA_H
#define SIMT_LIBCUDA_H

/* All versions of a function under their own names, and no macros that rename them. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop
#include "runtime/simt/entries.h"

/* ---- module.c ---- */
CUresult libcuda_read_file(const char *path, char **text, size_t *size); /* with a NUL behind; freed by the caller */
CUresult libcuda_param_info(CUfunction function, size_t index, size_t *offset, size_t *size);
unsigned libcuda_count_functions(CUmodule module);
CUresult libcuda_enumerate(CUfunction *functions, unsigned count, CUmodule module); /* the first `count` */

/* ---- queue.c ---- */
CUresult libcuda_enqueue(CUstream stream, const struct simt_work *work); /* to a stream that is not captured */
void libcuda_take_event(CUevent event, CUstream stream); /* it is recorded by what was issued last, to the stream */
extern bool libcuda_unwaited; /* the program has ended, and its host has not waited for its last kernel */

/* ---- print.c ---- */
void libcuda_print_held(void);  /* what kernels printed comes out: before something else does */
void libcuda_print_begin(void); /* so it does, and goes on as it is printed, until the end of a wait */
void libcuda_print_end(void);

/* ---- graph.c: graphs and their nodes. As in CUDA, a graph is not to be used by two threads at a time. ---- */

/* What a node does. A node owns what the pointers lead to: a kernel's parameters, a child graph. */
struct libcuda_params {
    CUgraphNodeType type;
    union {
        struct simt_kernel kernel;
        CUDA_MEMCPY3D copy;
        CUDA_MEMSET_NODE_PARAMS fill;
        CUDA_HOST_NODE_PARAMS host;
        CUevent event;                         /* WAIT_EVENT, EVENT_RECORD */
        CUgraph child;                         /* GRAPH */
        struct libcuda_allocation *allocation; /* MEM_ALLOC: the node holds it */
        CUdeviceptr freed;                     /* MEM_FREE */
    };
};
struct CUgraphNode_st {
    CUgraph graph;
    struct libcuda_params params;
    void **pointers; /* of a kernel: to its parameters, one by one */
    CUgraphNode *needs;
    size_t need_count;
    CUgraphNode original; /* what it is a clone of; not followed, compared only */
    size_t place;         /* scratch for walks: an index, a mark */
    bool disabled;        /* in an instance */
    CUgraphNode next;
};
struct CUgraph_st {
    CUgraphNode first, *end; /* in the order of making */
    size_t count;
    bool embedded;            /* a child's: dies with its node */
    struct libcuda_use *uses; /* user objects it holds */
};

CUresult libcuda_check_graph(CUgraph graph);
CUresult libcuda_check_node(CUgraphNode node, int type); /* -1: of any type */
CUgraph libcuda_new_graph(void);
void libcuda_free_graph(CUgraph graph);
CUresult libcuda_clone(CUgraph *clone, CUgraph graph);
bool libcuda_has_memory(
    CUgraph graph); /* some node allocates or frees: programs may not clone it nor make it a child */
/* A node with its own copy of the parameters. `needs` are checked to be nodes of the graph. */
CUresult libcuda_add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t count,
                          const struct libcuda_params *params);
/* Replaces what a node does, with a copy. */
CUresult libcuda_set_params(CUgraphNode node, const struct libcuda_params *params);
/* The node of a clone that stands for one of the original; NULL when there is none. */
CUgraphNode libcuda_find_clone(CUgraph clone, CUgraphNode original);
/* The nodes so that each comes after those it needs; `order` has room for all. False when they go in a circle. */
bool libcuda_order(CUgraph graph, CUgraphNode *order);

/* ---- user_object.c ---- */
CUresult libcuda_share_uses(CUgraph to, CUgraph from);
void libcuda_drop_uses(CUgraph graph);

/* ---- graph_memory.c ---- */
/* Finds memory for a node and says where. It is held once, for the caller to let go when the node has been made. */
CUresult libcuda_new_allocation(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct libcuda_params *node);
void libcuda_hold(struct libcuda_allocation *a);
void libcuda_let_go(struct libcuda_allocation *a);
bool libcuda_is_graphs(CUdeviceptr address); /* the address is what a node of some graph allocates */
/* What the nodes do. `free_first`: memory still in use is freed first, else that is an error. */
CUresult libcuda_run_allocation(const struct libcuda_allocation *a, bool free_first);
CUresult libcuda_run_free(CUdeviceptr address);

/* ---- graph_exec.c ---- */
CUresult libcuda_check_exec(CUgraphExec exec);
CUresult libcuda_find_in_exec(CUgraphExec exec, CUgraphNode original, CUgraphNode *node);
CUresult libcuda_check_change(CUgraphNode node, const struct libcuda_params *p); /* that an instance allows it */

/* ---- capture.c ---- */
bool libcuda_capturing(CUstream stream);
CUresult libcuda_record_external(CUevent event, CUstream stream);
/* Captures a node of any kind; *captured is false, and nothing done, when the stream is not capturing. */
CUresult libcuda_capture_node(CUstream stream, const struct libcuda_params *params, bool *captured);

#endif
