/* Graphs: captured from streams or made node by node, instantiated, changed, launched again, drawn. */
#include "tests/driver/program.h"
#include <unistd.h>

static const char source[] = "extern \"C\" __global__ void add(int *x, int n, int v) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] += v;\n"
                             "}\n"
                             "extern \"C\" __global__ void times(int *x, int n, int v) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] *= v;\n"
                             "}\n";
enum { N = 1000 };

static CUcontext context;
static CUfunction add, times;
static CUdeviceptr x, y;
static int host[N];

static void prepare(void)
{
    context = start();
    CUmodule m = load(source);
    add = function_of(m, "add");
    times = function_of(m, "times");
    OK(cuMemAlloc(&x, sizeof host));
    OK(cuMemAlloc(&y, sizeof host));
}

static CUresult run(CUfunction f, CUdeviceptr p, int v, CUstream s)
{
    int n = N;
    void *parameters[] = {&p, &n, &v};
    return cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, s, parameters, NULL);
}

static void CUDA_CB count(void *data)
{
    ++*(int *)data;
}

static void check_host(int value)
{
    OK(cuCtxSynchronize());
    for (int i = 0; i < N; i++) CHECK_INT(host[i], value);
}

TEST(a_captured_stream_is_launched_again_and_again)
{
    prepare();
    CUstream s;
    CUgraph g;
    CUgraphExec e;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    size_t count_of;
    int called = 0;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamIsCapturing(s, &status));
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuMemsetD32(x, 0, N));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_INT(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamGetCaptureInfo(s, &status, &id, NULL, NULL, NULL, NULL));
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemsetD32Async(y, 1, N, s));
    OK(run(add, x, 2, s));
    OK(run(times, x, 3, s));
    OK(cuMemcpyDtoHAsync(host, x, sizeof host, s));
    OK(cuLaunchHostFunc(s, count, &called));
    OK(cuStreamEndCapture(s, &g));
    CHECK_INT(called, 0); /* nothing ran */
    OK(cuMemcpyDtoH(host, x, sizeof host));
    check_host(0);
    OK(cuGraphGetNodes(g, NULL, &count_of));
    CHECK_INT(count_of, 5);
    OK(cuGraphGetEdges(g, NULL, NULL, NULL, &count_of));
    CHECK_INT(count_of, 4);
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphDestroy(g)); /* the instance has its own */
    for (int i = 0, want = 0; i < 3; i++) {
        OK(cuGraphLaunch(e, s));
        OK(cuStreamSynchronize(s));
        want = (want + 2) * 3;
        check_host(want);
        CHECK_INT(called, i + 1);
    }
    OK(cuGraphUpload(e, s));
    OK(cuGraphExecDestroy(e));
    CHECK_INT(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(streams_fork_and_join_by_events)
{
    prepare();
    CUstream a, b;
    CUevent fork, join;
    CUgraph g;
    CUgraphExec e;
    size_t nodes, edges, roots;
    OK(cuStreamCreate(&a, 0));
    OK(cuStreamCreate(&b, 0));
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuMemsetD32Async(x, 5, N, a));
    OK(cuEventRecord(fork, a));
    OK(cuStreamWaitEvent(b, fork, 0));
    OK(run(add, x, 1, a));
    OK(cuMemsetD32Async(y, 7, N, b));
    OK(run(times, y, 2, b));
    CHECK_INT(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuEventRecord(join, b));
    OK(cuStreamWaitEvent(a, join, 0));
    OK(cuMemcpyDtoDAsync(x, y, 4 * sizeof(int), a));
    OK(cuStreamEndCapture(a, &g));
    OK(cuGraphGetNodes(g, NULL, &nodes));
    OK(cuGraphGetEdges(g, NULL, NULL, NULL, &edges));
    OK(cuGraphGetRootNodes(g, NULL, &roots));
    CHECK(nodes == 5 && edges == 5 && roots == 1);
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, a));
    OK(cuMemcpyDtoH(host, x, sizeof host));
    CHECK(host[0] == 14 && host[3] == 14 && host[4] == 6 && host[N - 1] == 6);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuEventRecord(fork, b)); /* an ordinary event again */
    OK(cuEventSynchronize(fork));
    stop();
}

/* ---- Graphs made by hand ---- */

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction f, void **parameters)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = f,
                                     .gridDimX = (N + 127) / 128,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 128,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = parameters};
}

static CUDA_MEMCPY3D to_host(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = x,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host,
                           .WidthInBytes = sizeof host,
                           .Height = 1,
                           .Depth = 1};
}

TEST(nodes_added_one_by_one)
{
    prepare();
    CUgraph g, clone;
    CUgraphNode fill, one, two, copy, call, empty, found, list[8];
    CUgraphExec e;
    CUgraphNodeType type;
    int n = N, v = 4, w = 5, called = 0;
    size_t count_of;
    void *p1[] = {&x, &n, &v}, *p2[] = {&x, &n, &w};
    CUDA_KERNEL_NODE_PARAMS k1 = kernel(add, p1), k2 = kernel(times, p2), got;
    CUDA_MEMSET_NODE_PARAMS f = {.dst = x, .value = 1, .elementSize = 4, .width = N, .height = 1}, got_fill;
    CUDA_MEMCPY3D c = to_host(), got_copy;
    CUDA_HOST_NODE_PARAMS h = {count, &called}, got_host;
    OK(cuGraphCreate(&g, 0));
    CHECK_INT(cuGraphCreate(&g, 1), CUDA_ERROR_INVALID_VALUE);
    /* in an order that is not that of running */
    OK(cuGraphAddHostNode(&call, g, NULL, 0, &h));
    OK(cuGraphAddMemcpyNode(&copy, g, NULL, 0, &c, context));
    OK(cuGraphAddKernelNode(&two, g, NULL, 0, &k2));
    OK(cuGraphAddKernelNode(&one, g, NULL, 0, &k1));
    OK(cuGraphAddMemsetNode(&fill, g, NULL, 0, &f, context));
    CUgraphNode from[] = {fill, one, two, copy}, to[] = {one, two, copy, call};
    OK(cuGraphAddDependencies(g, from, to, NULL, 4));
    CHECK_INT(cuGraphAddDependencies(g, from, to, NULL, 1), CUDA_ERROR_INVALID_VALUE); /* there already */
    OK(cuGraphAddEmptyNode(&empty, g, &call, 1));
    v = 1000; /* the node has a copy */
    OK(cuGraphKernelNodeGetParams(one, &got));
    CHECK(got.func == add && got.blockDimX == 128 && *(int *)got.kernelParams[2] == 4);
    OK(cuGraphMemsetNodeGetParams(fill, &got_fill));
    CHECK(got_fill.dst == x && got_fill.width == N);
    OK(cuGraphMemcpyNodeGetParams(copy, &got_copy));
    CHECK(got_copy.dstHost == host);
    OK(cuGraphHostNodeGetParams(call, &got_host));
    CHECK(got_host.fn == count);
    CHECK_INT(cuGraphHostNodeGetParams(copy, &got_host), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphNodeGetType(empty, &type));
    CHECK_INT(type, CU_GRAPH_NODE_TYPE_EMPTY);
    count_of = 8;
    OK(cuGraphNodeGetDependencies(two, list, NULL, &count_of));
    CHECK(count_of == 1 && list[0] == one);
    OK(cuGraphNodeGetDependentNodes(two, NULL, NULL, &count_of));
    CHECK_INT(count_of, 1);
    count_of = 8;
    OK(cuGraphGetRootNodes(g, list, &count_of));
    CHECK(count_of == 1 && list[0] == fill && list[1] == NULL);
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    check_host((1 + 4) * 5);
    CHECK_INT(called, 1);
    OK(cuGraphClone(&clone, g));
    OK(cuGraphNodeFindInClone(&found, one, clone));
    CHECK(found != one);
    CHECK_INT(cuGraphNodeFindInClone(&found, found, clone), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRemoveDependencies(g, from, to, NULL, 1));
    CHECK_INT(cuGraphRemoveDependencies(g, from, to, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroyNode(fill));
    OK(cuGraphGetNodes(g, NULL, &count_of));
    CHECK_INT(count_of, 5);
    CHECK_INT(cuGraphDestroyNode(fill), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphGetNodes(clone, NULL, &count_of));
    CHECK_INT(count_of, 6);
    OK(cuGraphAddDependencies(g, &two, &one, NULL, 1));
    CUgraphExec never;
    CHECK_INT(cuGraphInstantiate(&never, g, 0), CUDA_ERROR_INVALID_VALUE); /* a circle */
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuGraphDestroy(clone));
    stop();
}

TEST(what_nodes_refuse)
{
    prepare();
    CUgraph g, other;
    CUgraphNode node, foreign;
    int n = N, v = 1;
    void *parameters[] = {&x, &n, &v};
    CUDA_KERNEL_NODE_PARAMS k = kernel(add, parameters);
    CUDA_MEMSET_NODE_PARAMS f = {.dst = x + 2, .value = 1, .elementSize = 4, .width = N, .height = 1};
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddEmptyNode(&foreign, other, NULL, 0));
    CHECK_INT(cuGraphAddKernelNode(&node, g, &foreign, 1, &k), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphAddKernelNode(&node, g, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphAddMemsetNode(&node, g, NULL, 0, &f, context), CUDA_ERROR_INVALID_VALUE);
    f.dst = x;
    CHECK_INT(cuGraphAddMemsetNode(&node, g, NULL, 0, &f, NULL), CUDA_ERROR_INVALID_CONTEXT);
    k.blockDimX = 4096;
    CHECK_INT(cuGraphAddKernelNode(&node, g, NULL, 0, &k), CUDA_ERROR_INVALID_VALUE);
    k.func = (CUfunction)&k;
    CHECK_INT(cuGraphAddKernelNode(&node, g, NULL, 0, &k), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuGraphAddChildGraphNode(&node, g, NULL, 0, g), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphAddEventRecordNode(&node, g, NULL, 0, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuGraphAddMemFreeNode(&node, g, NULL, 0, x), CUDA_ERROR_INVALID_VALUE); /* no graph's */
    CHECK_INT(cuGraphAddEmptyNode(&node, (CUgraph)foreign, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(g));
    OK(cuGraphDestroy(other));
    stop();
}

TEST(instances_are_changed)
{
    prepare();
    CUgraph g, again, smaller;
    CUgraphNode one, copy, node;
    CUgraphExec e;
    int n = N, v = 1, w = 10;
    unsigned enabled;
    void *p1[] = {&x, &n, &v}, *p2[] = {&x, &n, &w};
    CUDA_KERNEL_NODE_PARAMS k1 = kernel(add, p1), k2 = kernel(add, p2), k3 = kernel(times, p2);
    CUDA_MEMCPY3D c = to_host();
    CUgraphExecUpdateResultInfo info;
    OK(cuMemsetD32(x, 0, N));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddKernelNode(&one, g, NULL, 0, &k1));
    OK(cuGraphAddMemcpyNode(&copy, g, &one, 1, &c, context));
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, NULL));
    check_host(1);
    OK(cuGraphExecKernelNodeSetParams(e, one, &k2));
    OK(cuGraphLaunch(e, NULL));
    check_host(11);
    OK(cuGraphNodeSetEnabled(e, one, 0));
    OK(cuGraphNodeGetEnabled(e, one, &enabled));
    CHECK_INT(enabled, 0);
    OK(cuGraphLaunch(e, NULL));
    check_host(11);
    OK(cuGraphNodeSetEnabled(e, one, 1));
    OK(cuGraphKernelNodeSetParams(one, &k3)); /* of the graph, not of the instance */
    OK(cuGraphLaunch(e, NULL));
    check_host(21);
    OK(cuGraphClone(&again, g));
    OK(cuGraphExecUpdate(e, again, &info));
    CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(e, NULL));
    check_host(210);
    OK(cuGraphCreate(&smaller, 0));
    OK(cuGraphAddEmptyNode(&node, smaller, NULL, 0));
    CHECK_INT(cuGraphExecUpdate(e, smaller, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphAddEmptyNode(&node, smaller, &node, 1));
    CHECK_INT(cuGraphExecUpdate(e, smaller, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    CHECK_INT(cuGraphExecKernelNodeSetParams(e, copy, &k2), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphExecKernelNodeSetParams(e, node, &k2), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(children_events_and_nodes_of_any_type)
{
    prepare();
    CUgraph g, child, inner;
    CUgraphNode node, record;
    CUgraphExec e;
    CUevent a, b, got;
    float ms;
    size_t count_of;
    int n = N, v = 3;
    void *parameters[] = {&x, &n, &v};
    OK(cuEventCreate(&a, 0));
    OK(cuEventCreate(&b, 0));
    OK(cuMemsetD32(x, 1, N));
    OK(cuGraphCreate(&child, 0));
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
                           .kernel = {.func = times,
                                      .gridDimX = 8,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 128,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = parameters}};
    OK(cuGraphAddNode(&node, child, NULL, NULL, 0, &p));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddEventRecordNode(&record, g, NULL, 0, a));
    OK(cuGraphAddChildGraphNode(&node, g, &record, 1, child));
    OK(cuGraphAddChildGraphNode(&node, g, &node, 1, child));
    OK(cuGraphDestroy(child)); /* the nodes have their own */
    OK(cuGraphChildGraphNodeGetGraph(node, &inner));
    OK(cuGraphGetNodes(inner, NULL, &count_of));
    CHECK_INT(count_of, 1);
    CHECK_INT(cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddEventWaitNode(&node, g, &node, 1, a));
    OK(cuGraphAddEventRecordNode(&node, g, &node, 1, b));
    OK(cuGraphEventRecordNodeGetEvent(node, &got));
    CHECK(got == b);
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, NULL));
    OK(cuMemcpyDtoH(host, x, sizeof host));
    check_host(9);
    OK(cuEventElapsedTime(&ms, a, b));
    CHECK(ms >= 0);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    stop();
}

TEST(a_graph_keeps_objects_alive)
{
    CUgraph g, clone;
    CUuserObject object;
    int destroyed = 0;
    start();
    OK(cuGraphCreate(&g, 0));
    OK(cuUserObjectCreate(&object, &destroyed, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphClone(&clone, g));
    OK(cuGraphDestroy(g));
    CHECK_INT(destroyed, 0);
    OK(cuGraphDestroy(clone));
    CHECK_INT(destroyed, 1);
    CHECK_INT(cuUserObjectRetain(object, 1), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(graphs_allocate)
{
    start();
    CUfunction f = function_of(load("extern \"C\" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }"), "twice");
    CUcontext c;
    CUstream s;
    CUgraph g, clone;
    CUgraphExec exec;
    CUgraphNode first, fill, kernel, copy, last;
    CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .bytesize = 128},
                               got;
    cuuint64_t used, zero = 0;
    CUdeviceptr p;
    int out[32] = {0};
    OK(cuCtxGetCurrent(&c));
    OK(cuStreamCreate(&s, 0));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemAllocNode(&first, g, NULL, 0, &a));
    CUDA_MEMSET_NODE_PARAMS m = {.dst = a.dptr, .elementSize = 4, .value = 21, .width = 32, .height = 1};
    void *args[] = {&a.dptr};
    CUDA_KERNEL_NODE_PARAMS k = {.func = f,
                                 .gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = args};
    CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = a.dptr,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .WidthInBytes = sizeof out,
                          .Height = 1,
                          .Depth = 1};
    OK(cuGraphAddMemsetNode(&fill, g, &first, 1, &m, c));
    OK(cuGraphAddKernelNode(&kernel, g, &fill, 1, &k));
    OK(cuGraphAddMemcpyNode(&copy, g, &kernel, 1, &back, c));
    OK(cuGraphMemAllocNodeGetParams(first, &got));
    CHECK(got.dptr == a.dptr && got.bytesize == 128);
    CHECK_INT(cuGraphClone(&clone, g), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphLaunch(exec, s));
    CHECK_INT(out[31], 42);
    CHECK_INT(cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE); /* what the first left is in use */
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    CHECK_INT(used, 128);
    OK(cuMemFreeAsync(a.dptr, s));
    OK(cuGraphLaunch(exec, s));
    OK(cuMemFree(a.dptr));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiate(&exec, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    OK(cuGraphLaunch(exec, s));
    OK(cuGraphLaunch(exec, s));
    OK(cuMemFree(a.dptr));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphAddMemFreeNode(&last, g, &copy, 1, a.dptr));
    OK(cuGraphMemFreeNodeGetParams(last, &p));
    CHECK(p == a.dptr);
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuGraphLaunch(exec, s));
    OK(cuGraphLaunch(exec, s));
    CHECK_INT(cuMemFree(a.dptr), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
    CHECK_INT(used, 0);
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    OK(cuDeviceGraphMemTrim(0));

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&p, sizeof out, s));
    OK(cuMemsetD32Async(p, 5, 32, s));
    OK(cuMemcpyDtoHAsync(out, p, sizeof out, s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphInstantiate(&exec, g, 0));
    OK(cuGraphLaunch(exec, s));
    CHECK_INT(out[0], 5);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
    OK(cuMemsetD32(p, 6, 32)); /* outlives its graph */
    OK(cuMemFree(p));
    CHECK_INT(cuMemsetD32(p, 6, 32), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(drawings)
{
    prepare();
    CUgraph g, inner;
    CUgraphNode a, b, c;
    CUDA_KERNEL_NODE_PARAMS k = kernel(add, (void *[]){&x, &(int){N}, &(int){1}});
    char path[] = "/tmp/lunarray-graph-XXXXXX", text[2000] = "";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 64));
    CUcontext now;
    OK(cuCtxGetCurrent(&now));
    CUDA_MEMSET_NODE_PARAMS m = {.dst = p, .elementSize = 4, .value = 9, .width = 16, .height = 1};
    OK(cuGraphCreate(&inner, 0));
    OK(cuGraphAddEmptyNode(&a, inner, NULL, 0));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemsetNode(&a, g, NULL, 0, &m, now));
    OK(cuGraphAddEmptyNode(&b, g, &a, 1));
    OK(cuGraphAddChildGraphNode(&c, g, &b, 1, inner));
    OK(cuGraphAddKernelNode(&a, g, NULL, 0, &k));
    OK(cuGraphDebugDotPrint(g, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    CHECK(read(fd, text, sizeof text - 1) > 0);
    CHECK_HAS(text, "MEMSET\\n16 x 1 of 4 bytes = 9");
    CHECK_HAS(text, "\"graph_0\" -> \"graph_1\";");
    CHECK_HAS(text, "cluster_graph_2");
    CHECK_HAS(text, "KERNEL\\nadd\\n<<<(8,1,1), (128,1,1), 0>>>");
    OK(cuGraphDebugDotPrint(g, path, 0));
    const ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    CHECK_HAS(text, "KERNEL\\nadd\"]");
    CHECK_INT(cuGraphDebugDotPrint(g, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuGraphDebugDotPrint(g, "/nowhere/at/all", 0), CUDA_ERROR_OPERATING_SYSTEM);
    close(fd);
    unlink(path);
    stop();
}
