#include "runtime/graph.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/module.h"
#include "runtime/report.h"
#include "runtime/uses.h"

struct rt_graph_node {
    struct rt_graph_node *next;
    struct rt_kernel kernel; /* of a copy all zeros */
    struct rt_launch launch;
    struct rt_arg *args;
    struct rt_array *arrays; /* those of the arguments, by their place; of a copy: to and from */
    size_t count;
};

struct kept {
    struct rt_array array;
    bool writes;
};

struct rt_graph {
    struct rt_device *device;
    struct rt_graph_node *first, **end;
    size_t count;
    struct kept *kept;
    size_t kept_count, room;
    bool spoiled, copies; /* to or from the host's memory */
    bool prints;          /* some kernel may */
    bool checks;          /* some launch is checked where checks are on */
    CUgraphExec exec;
    unsigned generation;
};

/* ---- recording ---- */

struct rt_graph *rt_graph_record(struct rt_device *d, struct rt_error *e)
{
    if (!d->driver) {
        rt_fail(e, RT_INVALID, "%s runs no kernels, so it records no graphs; those of simt run without a GPU", d->name);
        return NULL;
    }
    if (d->recording) {
        rt_fail(e, RT_INVALID, "a graph is being recorded on %s already", d->name);
        return NULL;
    }
    struct rt_graph *g = rt_calloc(1, sizeof *g);
    if (!g) {
        rt_fail(e, RT_NOMEM, "out of memory for a graph");
        return NULL;
    }
    g->device = d;
    g->end = &g->first;
    g->generation = d->generation;
    d->recording = g;
    atomic_store(&rt_streams_on, true); /* so that what is used is told */
    return g;
}

void rt_graph_spoil(struct rt_graph *g)
{
    g->spoiled = true;
}

enum rt_status rt_graph_refuse(const struct rt_device *d, struct rt_error *e)
{
    return rt_fail(e, RT_INVALID,
                   "a graph is being recorded on %s: nothing runs, so elements can be neither read nor written from "
                   "here. Make arrays of Lua values before, look at results after g:launch()",
                   d->name);
}

static void free_node(struct rt_graph_node *n)
{
    for (size_t i = 0; n->arrays && i < n->count; i++) rt_array_release(&n->arrays[i]);
    for (size_t i = 0; n->args && i < n->count; i++)
        if (n->args[i].kind == RT_ARG_BYTES) free((void *)(uintptr_t)n->args[i].as.bytes.data);
    if (n->kernel.module) rt_kernel_release(&n->kernel);
    free(n->args);
    free(n->arrays);
    free(n);
}

static struct rt_graph_node *new_node(size_t count)
{
    struct rt_graph_node *n = rt_calloc(1, sizeof *n);
    if (!n) return NULL;
    n->count = count;
    n->args = rt_calloc(count + 1, sizeof *n->args);
    n->arrays = rt_calloc(count + 1, sizeof *n->arrays);
    if (n->args && n->arrays) return n;
    free_node(n);
    return NULL;
}

static enum rt_status add(struct rt_graph *g, struct rt_graph_node *n)
{
    *g->end = n;
    g->end = &n->next;
    g->count++;
    return RT_OK;
}

static enum rt_status copy_argument(struct rt_graph_node *n, size_t i, const struct rt_arg *from, struct rt_error *e)
{
    struct rt_arg *to = &n->args[i];
    *to = *from;
    if (from->kind == RT_ARG_TEXTURE) {
        to->kind = RT_ARG_NULL;
        return rt_fail(e, RT_UNSUPPORTED, "%s: a graph takes no textures and surfaces", n->kernel.entry->name);
    }
    struct rt_arg map = {.kind = RT_ARG_BYTES}; /* what a tensor map is to a kernel */
    if (from->kind == RT_ARG_TENSOR) {
        rt_array_share(&from->as.tensor->array, &n->arrays[i]);
        map.as.bytes.data = from->as.tensor->bytes;
        map.as.bytes.size = RT_TENSOR_BYTES;
        *to = map;
        from = &map;
    }
    if (from->kind == RT_ARG_ARRAY) {
        rt_array_share(from->as.array, &n->arrays[i]);
        to->as.array = &n->arrays[i];
    }
    if (from->kind != RT_ARG_BYTES) return RT_OK;
    void *bytes = rt_alloc(from->as.bytes.size + 1);
    to->as.bytes.data = bytes;
    if (!bytes) return rt_fail(e, RT_NOMEM, "out of memory for a graph");
    memcpy(bytes, from->as.bytes.data, from->as.bytes.size);
    return RT_OK;
}

enum rt_status rt_graph_add_launch(struct rt_graph *g, const struct rt_kernel *k, const struct rt_launch *l,
                                   const struct rt_arg *args, size_t count, struct rt_error *e)
{
    struct rt_graph_node *n = new_node(count);
    if (!n) return rt_fail(e, RT_NOMEM, "out of memory for a graph");
    n->kernel = *k;
    g->prints |= k->module->prints;
    g->checks |= l->checked == RT_CHECKED_DEFAULT;
    rt_module_retain(k->module);
    n->launch = *l;
    n->launch.stream = NULL;
    n->launch.findings = NULL;
    n->launch.place = NULL;
    for (size_t i = 0; i < count; i++) {
        enum rt_status status = copy_argument(n, i, &args[i], e);
        if (status == RT_OK) continue;
        free_node(n);
        return status;
    }
    return add(g, n);
}

enum rt_status rt_graph_add_copy(struct rt_graph *g, const struct rt_array *to, const struct rt_array *from,
                                 struct rt_error *e)
{
    struct rt_device *d = g->device;
    const struct rt_device *target = rt_array_device(to), *source = rt_array_device(from);
    if ((target != d && target->kind != RT_CPU) || (source != d && source->kind != RT_CPU))
        return rt_fail(e, RT_UNSUPPORTED, "a graph of %s takes no copies between %s and %s", d->name, source->name,
                       target->name);
    struct rt_graph_node *n = new_node(2);
    enum rt_status status = n ? rt_graph_keep(g, to, true, e) : rt_fail(e, RT_NOMEM, "out of memory for a graph");
    if (status == RT_OK) status = rt_graph_keep(g, from, false, e);
    if (status != RT_OK) {
        if (n) free_node(n);
        return status;
    }
    rt_array_share(to, &n->arrays[0]);
    rt_array_share(from, &n->arrays[1]);
    if (target->kind == RT_CPU) to->storage->recorded = g;
    g->copies |= target != source;
    return add(g, n);
}

static bool same_place(const struct rt_array *a, const struct rt_array *b)
{
    return a->storage == b->storage && a->offset == b->offset && a->ndim == b->ndim && a->dtype == b->dtype &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0 &&
           memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides) == 0;
}

enum rt_status rt_graph_keep(struct rt_graph *g, const struct rt_array *a, bool writes, struct rt_error *e)
{
    if (a->storage->bytes == 0) return RT_OK;
    for (size_t i = 0; i < g->kept_count; i++)
        if ((g->kept[i].writes || !writes) && same_place(&g->kept[i].array, a)) return RT_OK;
    if (g->kept_count == g->room) {
        size_t room = g->room ? 2 * g->room : 16;
        struct kept *larger = rt_realloc(g->kept, room * sizeof *larger);
        if (!larger) return rt_fail(e, RT_NOMEM, "out of memory for a graph");
        g->kept = larger;
        g->room = room;
    }
    struct kept *k = &g->kept[g->kept_count++];
    rt_array_share(a, &k->array);
    k->writes = writes;
    return RT_OK;
}

static void stop_recording(struct rt_graph *g)
{
    if (g->device->recording == g) g->device->recording = NULL;
    for (size_t i = 0; i < g->kept_count; i++) g->kept[i].array.storage->recorded = NULL;
}

/* ---- running ---- */

static enum rt_status run_node(const struct rt_graph_node *n, struct rt_graph_run *r, struct rt_error *e)
{
    if (!n->kernel.module) return rt_array_transfer(&n->arrays[0], &n->arrays[1], e);
    struct rt_launch l = n->launch;
    if (rt_is_checked(l.checked, r->checked)) l.findings = r->findings;
    l.strict = r->strict || l.checked == RT_CHECKED_STRICT;
    r->kernel = &n->kernel;
    r->asked = l.checked;
    return rt_kernel_launch(&n->kernel, &l, n->args, n->count, e);
}

static enum rt_status run_nodes(const struct rt_graph *g, struct rt_graph_run *r, struct rt_error *e)
{
    enum rt_status status = RT_OK;
    const struct rt_graph_node *n = r->next ? r->next : g->first;
    for (r->next = NULL; n && status == RT_OK; n = n->next) {
        r->next = n->next;
        status = run_node(n, r, e);
        if (r->findings && r->findings->count > 0) break;
    }
    return status;
}

/* The driver captures what is given to a stream that nothing else uses. */
static enum rt_status capture(struct rt_graph *g, CUstream stream, CUgraph *graph, struct rt_error *e)
{
    struct rt_device *d = g->device;
    const struct driver *v = d->driver;
    enum rt_status status =
        rt_device_check(d, v->gpu.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), e, "recording a graph");
    if (status != RT_OK) return status;
    struct rt_stream *former = rt_stream_enter(d, NULL);
    d->stream = stream;
    d->instantiates = true;
    status = run_nodes(g, &(struct rt_graph_run){0}, e);
    d->instantiates = false;
    rt_stream_enter(d, former);
    enum rt_status ended =
        rt_device_check(d, v->gpu.StreamEndCapture(stream, graph), status == RT_OK ? e : NULL, "recording a graph");
    return status == RT_OK ? ended : status;
}

static enum rt_status instantiate(struct rt_graph *g, struct rt_error *e)
{
    struct rt_device *d = g->device;
    const struct driver *v = d->driver;
    CUstream stream = NULL;
    CUgraph graph = NULL;
    if (!v->gpu.GraphLaunch)
        return rt_fail(e, RT_UNSUPPORTED, "the driver %s has no graphs; one of CUDA 12 has", v->path);
    enum rt_status status = rt_device_enter(d, e);
    if (status == RT_OK)
        status = rt_device_check(d, v->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), e, "creating a stream");
    if (status == RT_OK) status = capture(g, stream, &graph, e);
    if (status == RT_OK)
        status = rt_device_check(d, v->gpu.GraphInstantiate(&g->exec, graph, 0), e, "instantiating a graph");
    if (graph) v->gpu.GraphDestroy(graph);
    if (stream && g->generation == d->generation) v->StreamDestroy(stream);
    return status;
}

enum rt_status rt_graph_end(struct rt_graph *g, struct rt_error *e)
{
    struct rt_device *d = g->device;
    stop_recording(g);
    if (g->spoiled)
        return rt_fail(e, RT_INVALID,
                       "the graph is not good: an operation computes on the host what it does on %s, and cannot be "
                       "recorded",
                       d->name);
    return d->kind == RT_CUDA ? instantiate(g, e) : RT_OK;
}

/* The uses of all nodes are those of the launch. */
static enum rt_status touch(const struct rt_graph *g, struct rt_error *e)
{
    struct rt_device *d = g->device;
    enum rt_status status = RT_OK;
    for (size_t i = 0; i < g->kept_count && status == RT_OK; i++) {
        const struct kept *k = &g->kept[i];
        status = rt_array_there(&k->array, e);
        if (status != RT_OK) break;
        if (rt_array_device(&k->array) == d || !d->current)
            status = rt_touch_as(&k->array, k->writes, NULL, NULL, e);
        else
            status = rt_touch_by(&k->array, k->writes, d->current, e);
    }
    return status;
}

static enum rt_status launch_whole(const struct rt_graph *g, struct rt_error *e)
{
    struct rt_device *d = g->device;
    rt_device_note(d, "a graph", NULL, 0);
    d->prints |= g->prints;
    enum rt_status status = rt_device_check(d, d->driver->gpu.GraphLaunch(g->exec, d->stream), e, "launching a graph");
    if (status == RT_OK && g->copies && !d->current) status = rt_device_synchronize(d, e);
    return status;
}

enum rt_status rt_graph_launch(struct rt_graph *g, struct rt_graph_run *r, struct rt_error *e)
{
    struct rt_device *d = g->device;
    if (d->recording)
        return rt_fail(e, RT_INVALID, "a graph is being recorded on %s, and takes no other graph", d->name);
    if (d->kind == RT_CUDA && r->checked && g->checks)
        return rt_fail(
            e, RT_UNSUPPORTED,
            "checks need the software GPU, and this graph is of %s; record it with arrays that are there, as "
            "by x:to(\"simt\"), or switch the checks off",
            d->name);
    enum rt_status status = r->next ? RT_OK : touch(g, e);
    if (status == RT_OK) status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    rt_streams_worked(d);
    if (d->kind == RT_CUDA) return launch_whole(g, e);
    d->instantiates = true;
    status = run_nodes(g, r, e);
    d->instantiates = false;
    return status;
}

size_t rt_graph_count(const struct rt_graph *g)
{
    return g->count;
}

const struct rt_array *rt_graph_written(const struct rt_graph *g, size_t i)
{
    for (size_t k = 0; k < g->kept_count; k++)
        if (g->kept[k].writes && i-- == 0) return &g->kept[k].array;
    return NULL;
}

struct rt_device *rt_graph_device(const struct rt_graph *g)
{
    return g->device;
}

void rt_graph_release(struct rt_graph *g)
{
    if (!g) return;
    struct rt_device *d = g->device;
    stop_recording(g);
    if (g->exec && g->generation == d->generation && rt_device_enter(d, NULL) == RT_OK)
        d->driver->gpu.GraphExecDestroy(g->exec);
    while (g->first) {
        struct rt_graph_node *n = g->first;
        g->first = n->next;
        free_node(n);
    }
    for (size_t i = 0; i < g->kept_count; i++) rt_array_release(&g->kept[i].array);
    free(g->kept);
    free(g);
}
