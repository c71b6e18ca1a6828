/* Capturing a stream: while it lasts, work that is issued becomes nodes of a graph instead of being done. Each stream
 * in a capture has its tips, the nodes that its next work comes after; events carry tips from stream to stream. */
#include "runtime/simt/libcuda/libcuda.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

struct capture {
    uint64_t id;
    CUgraph graph;
    bool given; /* the graph is the program's own */
    bool spoiled;
    CUstreamCaptureMode mode;
    pthread_t thread;
    struct member *origin, *members;
};

struct tips {
    CUgraphNode *nodes;
    size_t count, room;
};

struct member { /* a stream in a capture */
    struct capture *capture;
    CUstream stream; /* NULL for a thread's own */
    struct tips tips;
    struct member *next;
};

struct recorded { /* what an event holds */
    uint64_t id;  /* of the capture, which may be over */
    size_t count;
    CUgraphNode nodes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t begun;
static struct capture *captures[64];
static _Thread_local struct member *own_stream; /* of CU_STREAM_PER_THREAD */
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool is_legacy(CUstream s)
{
    return !s || s == CU_STREAM_LEGACY;
}

static struct member *member_of(CUstream s)
{
    if (is_legacy(s)) return NULL;
    return s == CU_STREAM_PER_THREAD ? own_stream : s->capture;
}

static void set_member(CUstream s, struct member *m)
{
    if (s == CU_STREAM_PER_THREAD) {
        own_stream = m;
    } else {
        s->capture = m;
    }
}

static struct capture *find_capture(uint64_t id)
{
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        if (captures[i] && captures[i]->id == id) return captures[i];
    }
    return NULL;
}

/* ---- Tips ---- */

static bool add_tip(struct tips *t, CUgraphNode node)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->nodes[i] == node) return true;
    }
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 4;
        CUgraphNode *more = rt_realloc(t->nodes, room * sizeof(CUgraphNode));
        if (!more) return false;
        t->nodes = more;
        t->room = room;
    }
    t->nodes[t->count++] = node;
    return true;
}

static CUresult add_tips(struct tips *t, const CUgraphNode *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!add_tip(t, nodes[i])) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* ---- Errors that spoil a capture; it must still be ended ---- */

static CUresult spoil(struct capture *c, CUresult r)
{
    c->spoiled = true;
    return r;
}

/* The default stream waits for all streams that were not made otherwise, and those may not be waited for. */
static struct capture *awaited_by_legacy(void)
{
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        struct capture *c = captures[i];
        if (c && c->origin->stream && !(c->origin->stream->flags & CU_STREAM_NON_BLOCKING)) return c;
    }
    return NULL;
}

static CUresult check_legacy(void)
{
    struct capture *c = awaited_by_legacy();
    return c ? spoil(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) : CUDA_SUCCESS;
}

/* What is not of a stream would be missing when the graph is launched. Which captures that concerns is said at
 * cuThreadExchangeStreamCaptureMode. */
static CUresult check_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        struct capture *c = captures[i];
        if (!c || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        bool concerned = pthread_equal(c->thread, pthread_self())
                             ? c->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                             : c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == c->mode;
        if (concerned) r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return r;
}

static CUresult on_unsafe(void)
{
    pthread_mutex_lock(&lock);
    CUresult r = check_unsafe();
    pthread_mutex_unlock(&lock);
    return r;
}

/* A wait for all streams of the context waits for those that are captured, too. */
static CUresult check_context_wait(void)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        struct capture *c = captures[i];
        if (c && (!c->origin->stream || c->origin->stream->context == simt_current()))
            r = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return r;
}

static CUresult on_wait(CUstream stream, bool whole_context)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    if (m) {
        r = spoil(m->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    } else if (whole_context) {
        r = check_context_wait();
    } else {
        if (is_legacy(stream)) r = check_legacy();
        if (r == CUDA_SUCCESS) r = check_unsafe();
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- Work ---- */

static CUresult add_node(struct member *m, const struct libcuda_params *p)
{
    CUgraphNode node;
    if (m->capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUresult r = libcuda_add_node(&node, m->capture->graph, m->tips.nodes, m->tips.count, p);
    if (r != CUDA_SUCCESS) return spoil(m->capture, r);
    m->tips.count = 0;
    return add_tip(&m->tips, node) ? CUDA_SUCCESS : spoil(m->capture, CUDA_ERROR_OUT_OF_MEMORY);
}

static CUresult record(struct member *m, CUevent event)
{
    if (m->capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    struct recorded *at = rt_alloc(sizeof *at + m->tips.count * sizeof at->nodes[0]);
    if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
    at->id = m->capture->id;
    at->count = m->tips.count;
    if (at->count > 0) memcpy(at->nodes, m->tips.nodes, at->count * sizeof at->nodes[0]);
    free(event->captured);
    event->captured = at;
    return CUDA_SUCCESS;
}

static struct libcuda_params params_of(const struct simt_work *w)
{
    switch (w->kind) {
    case SIMT_WORK_KERNEL: return (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = w->kernel};
    case SIMT_WORK_COPY: return (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = w->copy};
    case SIMT_WORK_FILL: return (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_MEMSET, .fill = w->fill};
    case SIMT_WORK_HOST: return (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_HOST, .host = w->host};
    case SIMT_WORK_RECORD:
    case SIMT_WORK_CALL:
    case SIMT_WORK_WAIT: break;
    }
    return (struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = w->event};
}

static bool on_issue(CUstream stream, const struct simt_work *work, CUresult *result)
{
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    CUresult r = CUDA_SUCCESS;
    if (m && work->kind == SIMT_WORK_RECORD) {
        r = record(m, work->event);
    } else if (m) {
        struct libcuda_params p = params_of(work);
        r = add_node(m, &p);
    } else if (is_legacy(stream)) {
        r = check_legacy();
    }
    pthread_mutex_unlock(&lock);
    *result = r;
    return m || r != CUDA_SUCCESS;
}

CUresult libcuda_capture_node(CUstream stream, const struct libcuda_params *params, bool *captured)
{
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    CUresult r = m ? add_node(m, params) : CUDA_SUCCESS;
    *captured = m != NULL;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult libcuda_record_external(CUevent event, CUstream stream)
{
    bool captured;
    TRY(simt_stream_ready(stream));
    if (!simt_handle_is(event, SIMT_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    struct libcuda_params p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    TRY(libcuda_capture_node(stream, &p, &captured));
    return captured ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

bool libcuda_capturing(CUstream stream)
{
    pthread_mutex_lock(&lock);
    bool is = member_of(stream) != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

/* ---- Members ---- */

static struct member *enter(struct capture *c, CUstream stream)
{
    struct member *m = rt_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->capture = c;
    m->stream = stream == CU_STREAM_PER_THREAD ? NULL : stream;
    m->next = c->members;
    c->members = m;
    set_member(stream, m);
    return m;
}

static CUresult join(CUstream stream, const struct recorded *at)
{
    struct capture *c = find_capture(at->id);
    struct member *m = member_of(stream);
    if (!c) return CUDA_ERROR_CAPTURED_EVENT; /* that capture is over */
    if (is_legacy(stream)) return spoil(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (c->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (m && m->capture != c) {
        m->capture->spoiled = true;
        return spoil(c, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!m) m = enter(c, stream);
    return m ? add_tips(&m->tips, at->nodes, at->count) : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool on_join(CUstream stream, CUevent event, unsigned flags, CUresult *result)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    if (event->captured) {
        r = join(stream, event->captured);
    } else if (m && flags & CU_EVENT_WAIT_EXTERNAL) {
        r = add_node(m, &(struct libcuda_params){.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event});
    } else if (m && event->recorded) {
        r = spoil(m->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    bool taken = m || event->captured;
    pthread_mutex_unlock(&lock);
    *result = r;
    return taken;
}

/* ---- Begin and end ---- */

static void free_capture(struct capture *c)
{
    for (size_t i = 0; i < sizeof captures / sizeof captures[0]; i++) {
        if (captures[i] == c) captures[i] = NULL;
    }
    while (c->members) {
        struct member *m = c->members;
        c->members = m->next;
        if (m->stream) {
            m->stream->capture = NULL;
        } else if (own_stream == m) {
            own_stream = NULL;
        }
        free(m->tips.nodes);
        free(m);
    }
    free(c);
    atomic_fetch_sub(&simt_captures.count, 1);
}

/* A stream goes; with the one that it began on goes the capture. Another's work stays in it: joined, nothing is
 * missing. */
static void on_leave(CUstream stream)
{
    pthread_mutex_lock(&lock);
    struct member *m = stream->capture;
    struct capture *c = m->capture;
    m->stream = NULL;
    if (m == c->origin) {
        if (!c->given) libcuda_free_graph(c->graph);
        free_capture(c);
    }
    pthread_mutex_unlock(&lock);
}

static CUresult begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
    size_t i = 0;
    while (i < sizeof captures / sizeof captures[0] && captures[i]) i++;
    if (i == sizeof captures / sizeof captures[0]) return CUDA_ERROR_OUT_OF_MEMORY;
    struct capture *c = rt_calloc(1, sizeof *c);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    c->id = ++begun;
    c->mode = mode;
    c->thread = pthread_self();
    c->given = graph != NULL;
    c->graph = graph ? graph : libcuda_new_graph();
    c->origin = c->graph ? enter(c, stream) : NULL;
    if (!c->origin) {
        if (c->graph && !graph) libcuda_free_graph(c->graph);
        free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    captures[i] = c;
    simt_captures.issue = on_issue;
    simt_captures.wait = on_wait;
    simt_captures.unsafe = on_unsafe;
    simt_captures.join = on_join;
    simt_captures.leave = on_leave;
    atomic_fetch_add(&simt_captures.count, 1);
    return CUDA_SUCCESS;
}

static CUresult check_begin(CUstream stream, CUstreamCaptureMode mode)
{
    TRY(simt_stream_ready(stream));
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (is_legacy(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return libcuda_capturing(stream) ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    TRY(check_begin(stream, mode));
    pthread_mutex_lock(&lock);
    CUresult r = begin(stream, NULL, mode);
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *needs,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
    (void)edges;
    TRY(check_begin(stream, mode));
    TRY(libcuda_check_graph(graph));
    if (count > 0 && !needs) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        TRY(libcuda_check_node(needs[i], -1));
        if (needs[i]->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    CUresult r = begin(stream, graph, mode);
    if (r == CUDA_SUCCESS) r = add_tips(&member_of(stream)->tips, needs, count);
    pthread_mutex_unlock(&lock);
    return r;
}

/* Whether another stream's last work is not waited for by the stream that began. */
static bool unjoined(const struct capture *c)
{
    for (CUgraphNode n = c->graph->first; n; n = n->next) n->place = 0;
    for (CUgraphNode n = c->graph->first; n; n = n->next) {
        for (size_t i = 0; i < n->need_count; i++) n->needs[i]->place = 1;
    }
    for (size_t i = 0; i < c->origin->tips.count; i++) c->origin->tips.nodes[i]->place = 1;
    for (const struct member *m = c->members; m; m = m->next) {
        for (size_t i = 0; i < m->tips.count; i++) {
            if (m->tips.nodes[i]->place == 0) return true;
        }
    }
    return false;
}

static CUresult end(struct member *m, CUgraph *graph)
{
    struct capture *c = m->capture;
    if (m != c->origin) return spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult r = c->spoiled    ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                 : unjoined(c) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                               : CUDA_SUCCESS;
    if (r == CUDA_SUCCESS) {
        *graph = c->graph;
    } else if (!c->given) {
        libcuda_free_graph(c->graph);
    }
    free_capture(c);
    return r;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    TRY(simt_stream_ready(stream));
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    *graph = NULL;
    CUresult r = m ? end(m, graph) : CUDA_ERROR_ILLEGAL_STATE;
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- Asking ---- */

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **tips, size_t *count)
{
    TRY(simt_stream_ready(stream));
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    bool unknown = !m && is_legacy(stream) && awaited_by_legacy(); /* to ask spoils nothing */
    *status = !m                    ? CU_STREAM_CAPTURE_STATUS_NONE
              : m->capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (m && id) *id = m->capture->id;
    if (m && graph) *graph = m->capture->graph;
    if (m && tips) *tips = m->tips.nodes;
    if (m && count) *count = m->tips.count;
    pthread_mutex_unlock(&lock);
    return unknown ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return capture_info(stream, status, NULL, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return capture_info(stream, status, id, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **tips, size_t *count)
{
    return capture_info(stream, status, id, graph, tips, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **tips, const CUgraphEdgeData **edges, size_t *count)
{
    if (edges) *edges = NULL; /* all are plain */
    return capture_info(stream, status, id, graph, tips, count);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *needs, const CUgraphEdgeData *edges,
                                              size_t count, unsigned int flags)
{
    (void)edges;
    TRY(simt_stream_ready(stream));
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count > 0 && !needs)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct member *m = member_of(stream);
    CUresult r = m ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
        bool good = simt_handle_is(needs[i], SIMT_NODE) && needs[i]->graph == m->capture->graph;
        if (!good) r = CUDA_ERROR_INVALID_VALUE;
    }
    if (r == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) m->tips.count = 0;
    if (r == CUDA_SUCCESS) r = add_tips(&m->tips, needs, count);
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *needs, size_t count, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(stream, needs, NULL, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    TRY(simt_check_device(0));
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
