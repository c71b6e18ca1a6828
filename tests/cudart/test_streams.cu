// Streams, events, memory in the order of streams, graphs.
#include "tests/cudart/program.h"

__global__ void add(int *p, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += value;
}

static void CUDART_CB called(cudaStream_t, cudaError_t error, void *count)
{
    *(int *)count += 1 + (int)error;
}

static void called_by_host(void *count)
{
    *(int *)count += 10;
}

TEST(streams_and_events)
{
    const int n = 1 << 14, parts = 4;
    int *h, *d, calls = 0;
    cudaStream_t streams[parts];
    cudaEvent_t begin, end;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMallocHost(&h, n * sizeof *h));
    OK(cudaMalloc(&d, n * sizeof *h));
    for (int i = 0; i < n; i++) h[i] = i;
    OK(cudaEventRecord(begin));
    for (int k = 0; k < parts; k++) {
        const int m = n / parts, o = k * m;
        OK(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking));
        OK(cudaMemcpyAsync(d + o, h + o, m * sizeof *h, cudaMemcpyHostToDevice, streams[k]));
        add<<<m / 256, 256, 0, streams[k]>>>(d + o, m, k);
        OK(cudaMemcpyAsync(h + o, d + o, m * sizeof *h, cudaMemcpyDeviceToHost, streams[k]));
        OK(cudaStreamAddCallback(streams[k], called, &calls, 0));
        OK(cudaLaunchHostFunc(streams[k], called_by_host, &calls));
    }
    OK(cudaStreamWaitEvent(streams[0], begin, 0));
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    for (int k = 0; k < parts; k++) OK(cudaStreamSynchronize(streams[k]));
    for (int i = 0; i < n; i++) CHECK_INT(h[i], i + i / (n / parts));
    CHECK_INT(calls, 4 * 11);
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms > 0);
    for (int k = 0; k < parts; k++) OK(cudaStreamDestroy(streams[k]));
    REFUSES(cudaStreamSynchronize(streams[0]), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaFreeHost(h));
    OK(cudaFree(d));
}

static void CUDART_CB wait_for(void *go)
{
    while (!*(volatile int *)go) continue;
}

TEST(work_that_goes_on_is_no_error)
{
    int go = 0;
    cudaStream_t s;
    cudaEvent_t event;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&event));
    OK(cudaLaunchHostFunc(s, wait_for, &go));
    OK(cudaEventRecord(event, s));
    CHECK_STR(cudaGetErrorName(cudaStreamQuery(s)), "cudaErrorNotReady");
    OK(cudaPeekAtLastError());
    CHECK_STR(cudaGetErrorName(cudaEventQuery(event)), "cudaErrorNotReady");
    OK(cudaGetLastError());
    *(volatile int *)&go = 1;
    OK(cudaStreamSynchronize(s));
    OK(cudaEventQuery(event));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(s));
}

TEST(memory_in_the_order_of_a_stream)
{
    int *p, h[256];
    cudaMemPool_t pool;
    uint64_t used, all = UINT64_MAX;
    cudaStream_t s;
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    OK(cudaMallocAsync(&p, sizeof h, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used >= sizeof h);
    OK(cudaMemsetAsync(p, 0, sizeof h, s));
    add<<<1, 256, 0, s>>>(p, 256, 7);
    OK(cudaMemcpyAsync(h, p, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamSynchronize(s));
    CHECK_INT(h[255], 7);
    OK(cudaStreamDestroy(s));
}

TEST(graphs_by_capture)
{
    const int n = 1024;
    int *d, h[n] = {0};
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaMemset(d, 0, sizeof h));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<4, 256, 0, s>>>(d, n, 1);
    add<<<4, 256, 0, s>>>(d, n, 2);
    OK(cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamEndCapture(s, &graph));
    CHECK_INT(h[0], 0);
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK_INT(nodes, 3);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 5; i++) OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    CHECK_INT(h[n - 1], 15);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(d));
    OK(cudaStreamDestroy(s));
}

__device__ int limit;

TEST(graphs_by_hand)
{
    int n = 512, value = 100, *d, h[512], *at = NULL;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, kernel, copy, symbol;
    OK(cudaMalloc(&d, sizeof h));
    OK(cudaGraphCreate(&graph, 0));
    void *arguments[] = {&d, &n, &value};
    cudaKernelNodeParams k = {}, got;
    k.func = (void *)add;
    k.gridDim = 2;
    k.blockDim = 256;
    k.kernelParams = arguments;
    cudaMemsetParams m = {};
    m.dst = d;
    m.value = 1;
    m.elementSize = 4;
    m.width = 512;
    m.height = 1;
    m.pitch = sizeof h;
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &m));
    OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &k));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, h, d, sizeof h, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, NULL, 0, limit, &n, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaGraphKernelNodeGetParams(kernel, &got));
    CHECK(got.func == (void *)add && got.gridDim.x == 2 && got.blockDim.x == 256);
    cudaMemcpy3DParms box;
    OK(cudaGraphMemcpyNodeGetParams(copy, &box));
    CHECK(box.dstPtr.ptr == h && box.srcPtr.ptr == d && box.extent.width == sizeof h);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK_INT(h[511], 101);
    value = 5;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK_INT(h[0], 6);
    int got_limit = 0;
    OK(cudaMemcpyFromSymbol(&got_limit, limit, 4));
    CHECK_INT(got_limit, 512);
    REFUSES(cudaGraphExecKernelNodeSetParams(NULL, kernel, &k), cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    // The same by the nodes of any type, with memory of the graph's own.
    cudaGraphNodeParams p = {cudaGraphNodeTypeMemAlloc};
    p.alloc.bytesize = sizeof h;
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location = (cudaMemLocation){cudaMemLocationTypeDevice, 0};
    cudaGraphNode_t last;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddNode(&last, graph, NULL, NULL, 0, &p));
    at = (int *)p.alloc.dptr;
    CHECK(at != NULL);
    m.dst = at;
    OK(cudaGraphAddMemsetNode(&fill, graph, &last, 1, &m));
    p = {cudaGraphNodeTypeKernel};
    void *others[] = {&at, &n, &value};
    p.kernel.func = (void *)add;
    p.kernel.gridDim = 2;
    p.kernel.blockDim = 256;
    p.kernel.kernelParams = others;
    OK(cudaGraphAddNode(&kernel, graph, &fill, NULL, 1, &p));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, h, at, sizeof h, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemFreeNode(&last, graph, &copy, 1, at));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    h[3] = 0;
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK_INT(h[3], 6);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(d));
}
