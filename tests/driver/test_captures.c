/* What captures of streams forbid, and how they end. What becomes of those that end well: test_graphs.c. */
#include <pthread.h>
#include "tests/driver/program.h"

static CUcontext context;
static CUfunction add;
static CUdeviceptr x;

static void prepare(void)
{
    context = start();
    add = function_of(load("extern \"C\" __global__ void add(int *x) { x[threadIdx.x]++; }"), "add");
    OK(cuMemAlloc(&x, 32 * sizeof(int)));
}

static CUresult run_add(CUstream s)
{
    void *parameters[] = {&x};
    return cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, s, parameters, NULL);
}

TEST(what_a_capture_forbids)
{
    prepare();
    CUstream s, other, third;
    CUgraph g;
    CUevent ev, plain;
    CUstreamCaptureStatus status;
    OK(cuStreamCreate(&s, 0));
    OK(cuStreamCreate(&other, 0));
    OK(cuStreamCreate(&third, 0));
    OK(cuEventCreate(&ev, 0));
    OK(cuEventCreate(&plain, 0));
    OK(cuEventRecord(plain, other));
    CHECK_INT(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
    /* waiting for what does not run */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_INT(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamIsCapturing(s, &status));
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK_INT(run_add(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(g == NULL);
    /* the default stream, which waits for this one: to ask about it spoils nothing */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_INT(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cuStreamIsCapturing(s, &status));
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK_INT(cuMemsetD8(x, 0, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* the whole context */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* work from outside */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_INT(cuStreamWaitEvent(s, plain, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    /* a fork that is not joined, and ended at the wrong end */
    OK(cuEventRecord(ev, s));
    OK(cuStreamWaitEvent(other, ev, 0));
    OK(run_add(other));
    CHECK_INT(cuStreamEndCapture(other, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(ev, s));
    OK(cuStreamWaitEvent(other, ev, 0));
    OK(run_add(other));
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuStreamIsCapturing(other, &status));
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
    /* two that meet */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture(third, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(ev, s));
    CHECK_INT(cuStreamWaitEvent(third, ev, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CHECK_INT(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_INT(cuStreamEndCapture(third, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_INT(cuStreamWaitEvent(other, ev, 0), CUDA_ERROR_CAPTURED_EVENT);
    /* other streams go on */
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(run_add(other));
    OK(cuStreamSynchronize(other));
    OK(cuStreamDestroy(s));
    OK(cuCtxSynchronize());
    stop();
}

TEST(a_stream_may_go_before_the_capture_that_it_has_joined_ends)
{
    prepare();
    CUstream s, other;
    CUgraph g;
    CUevent ev;
    size_t count;
    OK(cuEventCreate(&ev, 0));
    OK(cuStreamCreate(&s, 0));
    for (int joins = 1; joins >= 0; joins--) {
        OK(cuStreamCreate(&other, 0));
        OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuEventRecord(ev, s));
        OK(cuStreamWaitEvent(other, ev, 0));
        OK(run_add(other));
        OK(cuEventRecord(ev, other));
        if (joins) OK(cuStreamWaitEvent(s, ev, 0));
        OK(cuStreamDestroy(other));
        CHECK_INT(cuStreamEndCapture(s, &g), joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        if (!joins) continue;
        OK(cuGraphGetNodes(g, NULL, &count));
        CHECK_INT(count, 1);
        OK(cuGraphDestroy(g));
    }
    stop();
}

static void *end_capture(void *stream)
{
    CUgraph g;
    OK(cuCtxSetCurrent(context));
    CHECK_INT(cuStreamEndCapture(stream, &g), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    return NULL;
}

TEST(a_capture_ends_in_its_thread)
{
    prepare();
    CUstream s;
    CUgraph g;
    pthread_t thread;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK_INT(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamCreate(&s, 0));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(run_add(s));
    CHECK_INT(pthread_create(&thread, NULL, end_capture, s), 0);
    pthread_join(thread, NULL);
    OK(cuStreamEndCapture(s, &g));
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(run_add(CU_STREAM_PER_THREAD));
    OK(cuStreamEndCapture(CU_STREAM_PER_THREAD, &g));
    stop();
}
