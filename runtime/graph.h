/* Graphs: work that is recorded once and given to a device again and again. While a device records, nothing that it is
 * given runs: launches, with their arguments as they are, and copies between arrays become the nodes of the graph, in
 * their order; array operations do so as generated kernels. A graph keeps the memory that its nodes use, theirs own
 * temporary arrays' too, and each launch of it reads what is in it then. On a GPU it is a CUDA graph, which costs one
 * launch; the software GPU goes through the nodes. */
#ifndef RT_GRAPH_H
#define RT_GRAPH_H

#include "runtime/array.h"
#include "runtime/kernel.h"

struct rt_graph;

/* Has the device record into a new graph. NULL with RT_INVALID on the cpu and while it records already, RT_NOMEM. */
struct rt_graph *rt_graph_record(struct rt_device *d, struct rt_error *e);
/* Ends recording. RT_INVALID when something was done meanwhile that cannot be repeated; the graph is good for release
 * alone then. */
enum rt_status rt_graph_end(struct rt_graph *g, struct rt_error *e);
/* Gives up recording, too. Work that is under way goes on; NULL is fine. */
void rt_graph_release(struct rt_graph *g);
size_t rt_graph_count(const struct rt_graph *g); /* nodes */
/* The i-th array that its nodes write to, from 0; NULL behind the last one. */
const struct rt_array *rt_graph_written(const struct rt_graph *g, size_t i);
struct rt_device *rt_graph_device(const struct rt_graph *g);
/* A launch of a graph, and how far it came. On the software GPU it stops where something was found. */
struct rt_graph_run {
    bool checked, strict;         /* checks of the launches that do not say; of all that are checked */
    struct rt_findings *findings; /* what checks find in `kernel`; to be cleared before it goes on */
    const struct rt_kernel *kernel;
    enum rt_checked asked;            /* by the launch of `kernel` */
    const struct rt_graph_node *next; /* NULL at first, and when all nodes have run */
};
/* Gives its work to the device's current stream. Called again, it goes on at r->next, also behind a fault.
 * RT_UNSUPPORTED for checks on a GPU. */
enum rt_status rt_graph_launch(struct rt_graph *g, struct rt_graph_run *r, struct rt_error *e);

/* ---- for the rest of runtime/, of a device that records ---- */

/* RT_UNSUPPORTED for textures. */
enum rt_status rt_graph_add_launch(struct rt_graph *g, const struct rt_kernel *k, const struct rt_launch *l,
                                   const struct rt_arg *args, size_t count, struct rt_error *e);
enum rt_status rt_graph_add_copy(struct rt_graph *g, const struct rt_array *to, const struct rt_array *from,
                                 struct rt_error *e);
/* What a node is about to use. */
enum rt_status rt_graph_keep(struct rt_graph *g, const struct rt_array *a, bool writes, struct rt_error *e);
/* The host reaches for elements that are not computed. */
void rt_graph_spoil(struct rt_graph *g);
/* The error of who needs elements now. */
enum rt_status rt_graph_refuse(const struct rt_device *d, struct rt_error *e);

#endif
