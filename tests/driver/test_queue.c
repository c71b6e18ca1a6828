/* Work goes on beside the thread that issues it: what waits for what, and what does not. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/driver/program.h"

static const char source[] = "extern \"C\" __global__ void until(volatile int *go, int *out)\n"
                             "{\n"
                             "    while (!*go) {}\n"
                             "    out[threadIdx.x] = *go;\n"
                             "}\n"
                             "extern \"C\" __global__ void add(int *x, int v) { x[threadIdx.x] += v; }\n"
                             "extern \"C\" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }\n"
                             "extern \"C\" __global__ void say(int v) { printf(\"kernel %d\\n\", v); }\n"
                             "extern \"C\" __global__ void forever(volatile int *go) { while (!*go) {} }\n";

enum { N = 32 };

/* A kernel that runs until the host writes what go[0] is, and memory of both sides. */
struct scene {
    CUmodule module;
    CUfunction until, add, twice;
    CUdeviceptr go, out, x;
    volatile int *host; /* where go is */
    int *pinned;
    CUstream s, other, apart; /* apart: non-blocking */
};

static struct scene prepare(void)
{
    struct scene c;
    void *p;
    start();
    c.module = load(source);
    c.until = function_of(c.module, "until");
    c.add = function_of(c.module, "add");
    c.twice = function_of(c.module, "twice");
    OK(cuMemHostAlloc(&p, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    c.host = p;
    *c.host = 0;
    OK(cuMemHostGetDevicePointer(&c.go, p, 0));
    OK(cuMemHostAlloc(&p, 4 * N, 0));
    c.pinned = p;
    OK(cuMemAlloc(&c.out, 4 * N));
    OK(cuMemAlloc(&c.x, 4 * N));
    OK(cuMemsetD32(c.x, 1, N));
    OK(cuStreamCreate(&c.s, 0));
    OK(cuStreamCreate(&c.other, 0));
    OK(cuStreamCreate(&c.apart, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSynchronize());
    return c;
}

static void launch(CUfunction f, CUstream s, void **parameters)
{
    OK(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, s, parameters, NULL));
}

static void hold_up(struct scene *c, CUstream s)
{
    launch(c->until, s, (void *[]){&c->go, &c->out});
    CHECK_INT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
}

static int first(CUdeviceptr x)
{
    int h[N];
    OK(cuMemcpyDtoH(h, x, sizeof h));
    return h[0];
}

TEST(a_kernel_waits_for_what_the_host_writes_later)
{
    struct scene c = prepare();
    hold_up(&c, c.s);
    OK(cuMemcpyDtoHAsync(c.pinned, c.out, 4 * N, c.s));
    CHECK_INT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    *c.host = 7;
    OK(cuStreamSynchronize(c.s));
    OK(cuStreamQuery(c.s));
    CHECK_INT(c.pinned[N - 1], 7);
    stop();
}

TEST(copies_fills_and_host_functions_go_on_beside_a_kernel)
{
    struct scene c = prepare();
    CUdeviceptr range;
    size_t bytes;
    hold_up(&c, c.apart);
    OK(cuMemsetD32Async(c.x, 5, N, c.s));
    OK(cuMemcpyDtoHAsync(c.pinned, c.x, 4 * N, c.s));
    OK(cuStreamSynchronize(c.s));
    CHECK_INT(c.pinned[0], 5);
    CHECK_INT(first(c.x), 5); /* the default stream does not wait for a non-blocking one */
    OK(cuMemGetAddressRange(&range, &bytes, c.x + 4));
    CHECK(range == c.x && bytes == 4 * N);
    CHECK_INT(cuStreamQuery(c.apart), CUDA_ERROR_NOT_READY);
    OK(cuStreamWriteValue32(c.s, c.go, 3, 0));
    OK(cuStreamSynchronize(c.apart));
    CHECK_INT(first(c.out), 3);
    stop();
}

/* No call between them has a worker look again. */
TEST(what_is_issued_at_once_goes_on_at_once)
{
    struct scene c = prepare();
    for (int i = 1; i <= 100; i++) {
        *c.host = 0;
        c.pinned[0] = 0;
        launch(c.until, c.apart, (void *[]){&c.go, &c.out});
        OK(cuMemcpyDtoHAsync(c.pinned, c.x, 4, c.s));
        if (i % 10 == 0) usleep(5000); /* the workers sleep */
        wait_for_word((const volatile uint32_t *)c.pinned);
        *c.host = i;
        OK(cuCtxSynchronize());
    }
    CHECK_INT(first(c.out), 100);
    stop();
}

/* The kernel that is held up takes the device, so what is not ordered behind it is shown by copies. */
TEST(the_default_stream_comes_after_all_and_before_all)
{
    struct scene c = prepare();
    memset(c.pinned, 0, 4 * N);
    hold_up(&c, c.s);
    OK(cuMemcpyDtoHAsync(c.pinned, c.x, 4, NULL));        /* waits for s */
    OK(cuMemcpyDtoHAsync(c.pinned + 1, c.x, 4, c.other)); /* waits for the default stream */
    OK(cuMemcpyDtoHAsync(c.pinned + 2, c.x, 4, c.apart)); /* waits for none */
    OK(cuStreamSynchronize(c.apart));
    CHECK_INT(c.pinned[2], 1);
    CHECK_INT(c.pinned[0] + c.pinned[1], 0);
    CHECK_INT(cuStreamQuery(c.other), CUDA_ERROR_NOT_READY);
    *c.host = 1;
    OK(cuStreamSynchronize(c.other));
    CHECK_INT(c.pinned[0] + c.pinned[1], 2);
    stop();
}

TEST(events_order_streams)
{
    struct scene c = prepare();
    CUevent e, never;
    float ms;
    OK(cuEventCreate(&e, 0));
    OK(cuEventCreate(&never, 0));
    memset(c.pinned, 0, 4 * N);
    OK(cuStreamWaitEvent(c.apart, never, 0)); /* was not recorded: nothing to wait for */
    OK(cuMemcpyDtoHAsync(c.pinned + 1, c.x, 4, c.apart));
    OK(cuStreamSynchronize(c.apart));
    CHECK_INT(c.pinned[1], 1);
    hold_up(&c, c.s);
    OK(cuEventRecord(e, c.s));
    CHECK_INT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    CHECK_INT(cuEventElapsedTime(&ms, e, e), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(c.apart, e, 0));
    OK(cuMemcpyDtoHAsync(c.pinned, c.x, 4, c.apart));
    CHECK_INT(cuStreamQuery(c.apart), CUDA_ERROR_NOT_READY);
    CHECK_INT(c.pinned[0], 0);
    *c.host = 1;
    OK(cuEventSynchronize(e));
    OK(cuEventElapsedTime(&ms, e, e));
    OK(cuStreamSynchronize(c.apart));
    CHECK_INT(c.pinned[0], 1);
    stop();
}

TEST(a_stream_keeps_its_order)
{
    struct scene c = prepare();
    int v = 3;
    for (int i = 0; i < 400; i++) { /* x = 2 (x + 3) modulo 2^32, from two streams that wait for each other's */
        CUstream s = i % 2 ? c.apart : c.s;
        CUevent e;
        launch(c.add, s, (void *[]){&c.x, &v});
        launch(c.twice, s, (void *[]){&c.x});
        OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
        OK(cuEventRecord(e, s));
        OK(cuStreamWaitEvent(i % 2 ? c.s : c.apart, e, 0));
        if (i % 8 == 0) OK(cuEventDestroy(e));
    }
    OK(cuCtxSynchronize());
    unsigned want = 1;
    for (int i = 0; i < 400; i++) want = 2 * (want + 3);
    CHECK_INT((unsigned)first(c.x), want);
    for (int i = 0; i < 3000; i++) launch(c.add, c.s, (void *[]){&c.x, &v}); /* more than the queue holds */
    OK(cuStreamSynchronize(c.s));
    CHECK_INT((unsigned)first(c.x), want + 9000);
    stop();
}

TEST(pageable_memory_and_parameters_are_read_before_the_call_returns)
{
    struct scene c = prepare();
    int h[N], v = 10;
    for (int i = 0; i < N; i++) h[i] = i;
    OK(cuMemcpyHtoDAsync(c.x, h, sizeof h, c.s));
    memset(h, 0, sizeof h);
    hold_up(&c, c.apart);
    launch(c.add, c.s, (void *[]){&c.x, &v});
    v = 1000;
    *c.host = 1;
    OK(cuMemcpyDtoHAsync(h, c.x, sizeof h, c.s));
    CHECK_INT(h[5], 15);
    stop();
}

TEST(wrong_work_is_refused_by_the_call)
{
    struct scene c = prepare();
    hold_up(&c, c.apart);
    CHECK_INT(cuMemcpyDtoHAsync(c.pinned, c.x + 4, 4 * N, c.s), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemsetD32Async(c.x, 0, N + 1, c.s), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemFreeAsync(c.x + 4, c.s), CUDA_ERROR_INVALID_VALUE);
    *c.host = 1;
    OK(cuCtxSynchronize());
    stop();
}

static void CUDA_CB set(void *data)
{
    CHECK_INT(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_PERMITTED); /* it would wait for its own end */
    *(atomic_int *)data = 1;
}

TEST(host_functions_run_in_their_turn_by_another_thread)
{
    struct scene c = prepare();
    atomic_int called = 0;
    hold_up(&c, c.s);
    OK(cuLaunchHostFunc(c.s, set, &called));
    CHECK_INT(called, 0);
    *c.host = 1;
    while (!called) {
    }
    OK(cuStreamSynchronize(c.s));
    stop();
}

TEST(graphs_are_launched_in_their_turn)
{
    struct scene c = prepare();
    CUgraph g;
    CUgraphExec e;
    CUevent recorded;
    int v = 1;
    OK(cuEventCreate(&recorded, 0));
    OK(cuStreamBeginCapture(c.apart, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch(c.add, c.apart, (void *[]){&c.x, &v});
    OK(cuEventRecordWithFlags(recorded, c.apart, CU_EVENT_RECORD_EXTERNAL));
    OK(cuStreamEndCapture(c.apart, &g));
    OK(cuGraphInstantiate(&e, g, 0));
    hold_up(&c, c.s);
    for (int i = 0; i < 5; i++) OK(cuGraphLaunch(e, c.s));
    CHECK_INT(cuEventQuery(recorded), CUDA_ERROR_NOT_READY);
    *c.host = 1;
    OK(cuGraphExecDestroy(e)); /* waits for the launches */
    CHECK_INT(first(c.x), 6);
    OK(cuEventQuery(recorded));
    stop();
}

TEST(what_goes_is_waited_for)
{
    struct scene c = prepare();
    CUdeviceptr again;
    int v = 4;
    for (int i = 0; i < 100; i++) launch(c.add, c.s, (void *[]){&c.x, &v});
    OK(cuMemFreeAsync(c.x, c.s));
    OK(cuStreamSynchronize(c.s));
    CHECK_INT(cuMemFree(c.x), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc(&again, 4 * N));
    for (int i = 0; i < 100; i++) launch(c.add, c.apart, (void *[]){&again, &v});
    OK(cuStreamDestroy(c.apart));
    for (int i = 0; i < 100; i++) launch(c.add, c.s, (void *[]){&again, &v});
    OK(cuMemFree(again));
    for (int i = 0; i < 100; i++) launch(c.add, c.s, (void *[]){&c.out, &v});
    OK(cuModuleUnload(c.module));
    OK(cuCtxSynchronize());
    stop();
}

/* ---- What a program prints, and how it ends: in a process of its own ---- */

/* Runs the program that this is as NAME says and returns what it printed. */
static void output_of(const char *name, const char *blocking, char *out, size_t size)
{
    char command[600], self[400];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = '\0';
    snprintf(command, sizeof command, "QUEUE_PROGRAM=%s CUDA_LAUNCH_BLOCKING=%s '%s' 2>&1", name, blocking, self);
    FILE *f = popen(command, "r");
    CHECK(f != NULL);
    out[fread(out, 1, size - 1, f)] = '\0';
    CHECK_INT(pclose(f), 0);
}

__attribute__((constructor)) static void run_as(void)
{
    const char *name = getenv("QUEUE_PROGRAM");
    CUstream s;
    if (!name) return;
    unsetenv("QUEUE_PROGRAM");
    start();
    CUmodule module = load(source);
    OK(cuStreamCreate(&s, 0));
    for (int v = 1; v < 4 && strcmp(name, "endless") != 0; v++)
        OK(cuLaunchKernel(function_of(module, "say"), 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&v}, NULL));
    if (strcmp(name, "waits") == 0) {
        puts("host");
        fflush(stdout);
        OK(cuStreamSynchronize(s));
        puts("end");
    } else if (strcmp(name, "endless") == 0) {
        CUdeviceptr go;
        OK(cuMemAlloc(&go, 4));
        OK(cuMemsetD32(go, 0, 1));
        OK(cuLaunchKernel(function_of(module, "forever"), 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&go}, NULL));
        puts("end");
    }
    exit(0);
}

TEST(what_kernels_print_comes_when_the_host_waits)
{
    char out[200];
    output_of("waits", "0", out, sizeof out);
    CHECK_STR(out, "host\nkernel 1\nkernel 2\nkernel 3\nend\n");
}

TEST(a_program_ends_with_its_work)
{
    char out[200];
    output_of("ends", "0", out, sizeof out);
    CHECK_STR(out, "kernel 1\nkernel 2\nkernel 3\n");
    output_of("endless", "0", out, sizeof out);
    CHECK_STR(out, "end\n");
}
