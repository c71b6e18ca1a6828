/* The software GPU's driver through its table, as lunarray uses it: memory, streams, modules, launches, faults, and
 * allocations that fail in turn. */
#include "runtime/device.h"
#include "runtime/interrupt.h"
#include "runtime/kernel.h"
#include "runtime/memory.h"
#include "runtime/simt/simt.h"
#include "tests/unit/driver_ptx.h"
#include "tests/unit/test.h"

#include <pthread.h>

static const struct driver *d;
static CUcontext context;
static CUmodule module;
static CUfunction saxpy;

static void start(void)
{
    CUdevice device;
    d = driver_simt();
    CHECK_INT(d->Init(0), CUDA_SUCCESS);
    CHECK_INT(d->DeviceGet(&device, 0), CUDA_SUCCESS);
    CHECK_INT(d->DevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    CHECK_INT(d->CtxSetCurrent(context), CUDA_SUCCESS);
}

static void load(void)
{
    start();
    char log[1000] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUresult r = d->ModuleLoadDataEx(&module, saxpy_ptx, 2, options, values);
    if (r != CUDA_SUCCESS) FAIL("load: %d, %s", (int)r, log);
    CHECK_INT(d->ModuleGetFunction(&saxpy, module, "saxpy"), CUDA_SUCCESS);
}

static void stop(void)
{
    CHECK_INT(d->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

static CUdeviceptr device_floats(int n, float value)
{
    float host[1000];
    CUdeviceptr p;
    for (int i = 0; i < n; i++) host[i] = value * (float)i;
    CHECK_INT(d->MemAlloc(&p, (size_t)n * sizeof host[0]), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyHtoD(p, host, (size_t)n * sizeof host[0]), CUDA_SUCCESS);
    return p;
}

static CUresult launch(int n, int blocks, int threads, CUdeviceptr x, CUdeviceptr y)
{
    float a = 3;
    void *parameters[] = {&n, &a, &x, &y};
    return d->LaunchKernel(saxpy, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, NULL, parameters, NULL);
}

TEST(calls_before_init_and_without_context)
{
    CUdeviceptr p;
    int n;
    d = driver_simt();
    CHECK_INT(d->DeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(d->MemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(d->Init(1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->Init(0), CUDA_SUCCESS);
    CHECK_INT(d->DeviceGetCount(&n), CUDA_SUCCESS);
    CHECK_INT(n, 1);
    CHECK_INT(d->MemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(d->CtxSetCurrent((CUcontext)&n), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(d->CtxGetCurrent(&context), CUDA_SUCCESS);
    CHECK(context == NULL);
    CUdevice device;
    CHECK_INT(d->DeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    CHECK_INT(d->DevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(device_attributes)
{
    start();
    int v;
    size_t bytes, free_bytes, total;
    char name[100];
    CHECK_INT(d->DeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_SUCCESS);
    CHECK_INT(v, 32);
    CHECK_INT(d->DeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
    CHECK_INT(v, 8);
    CHECK_INT(d->DeviceGetAttribute(&v, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->DeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->DeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
    CHECK_HAS(name, "lunarray software GPU (");
    CHECK_INT(d->DeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
    CHECK_INT(d->MemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    CHECK(bytes == total && free_bytes == total && total > 1 << 26);
    CHECK_INT(d->DriverGetVersion(&v), CUDA_SUCCESS);
    CHECK(v >= 11000);
    stop();
}

TEST(error_names)
{
    const char *text;
    d = driver_simt();
    CHECK_INT(d->GetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    CHECK_STR(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_INT(d->GetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == NULL);
    struct rt_error e = {0};
    CHECK_INT(driver_check(d, CUDA_SUCCESS, &e, "x"), RT_OK);
    CHECK_INT(driver_check(d, CUDA_ERROR_OUT_OF_MEMORY, &e, "cuMemAlloc"), RT_NOMEM);
    CHECK_STR(e.text, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY, error 2 (out of memory)");
    CHECK_INT(driver_check(d, (CUresult)12345, &e, "cuX"), RT_DEVICE);
    CHECK_HAS(e.text, "12345");
    rt_error_clear(&e);
}

TEST(memory_and_copies)
{
    start();
    CUdeviceptr p, q;
    unsigned char in[300], out[300];
    for (int i = 0; i < 300; i++) in[i] = (unsigned char)i;
    CHECK_INT(d->MemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemAlloc(&p, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_INT(d->MemAlloc(&p, 300), CUDA_SUCCESS);
    CHECK_INT(d->MemAlloc(&q, 300), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyHtoD(p, in, 300), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyHtoD(p, in, 301), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemcpyHtoD(p + 1, in, 300), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemcpyHtoD((CUdeviceptr)(uintptr_t)out, in, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemcpyDtoD(q + 10, p, 290), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyDtoH(out, q + 10, 290), CUDA_SUCCESS);
    CHECK(memcmp(in, out, 290) == 0);
    CHECK_INT(d->MemcpyDtoD(p + 1, p, 100), CUDA_SUCCESS); /* overlapping */
    CHECK_INT(d->MemcpyDtoH(out, p, 101), CUDA_SUCCESS);
    CHECK(out[0] == 0 && memcmp(out + 1, in, 100) == 0);
    CHECK_INT(d->MemsetD8Async(p, 9, 300, NULL), CUDA_SUCCESS);
    CHECK_INT(d->MemsetD8Async(p, 9, 301, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemsetD32Async(p + 4, 0x01020304, 2, NULL), CUDA_SUCCESS);
    CHECK_INT(d->MemsetD32Async(p + 2, 0, 2, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemcpyDtoHAsync(out, p, 300, NULL), CUDA_SUCCESS);
    CHECK(out[3] == 9 && out[4] == 4 && out[11] == 1 && out[12] == 9 && out[299] == 9);
    CHECK_INT(d->MemFree(p + 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemFree(p), CUDA_SUCCESS);
    CHECK_INT(d->MemFree(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemcpyDtoH(out, p, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemFree(0), CUDA_SUCCESS);
    CHECK_INT(d->MemFree(q), CUDA_SUCCESS);
    void *host;
    CHECK_INT(d->MemHostAlloc(&host, 100, 0), CUDA_SUCCESS);
    memset(host, 1, 100);
    CHECK_INT(d->MemFreeHost(out), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->MemFreeHost(host), CUDA_SUCCESS);
    CHECK_INT(d->MemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(large_copies_use_all_threads_and_are_whole)
{
    start();
    size_t n = ((size_t)9 << 20) + 13;
    unsigned char *in = malloc(n), *out = calloc(n, 1);
    CUdeviceptr p;
    for (size_t i = 0; i < n; i++) in[i] = (unsigned char)(i * 7 >> 3);
    CHECK_INT(d->MemAlloc(&p, n), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyHtoD(p, in, n), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyDtoH(out, p, n), CUDA_SUCCESS);
    CHECK(memcmp(in, out, n) == 0);
    free(in);
    free(out);
    stop();
}

TEST(streams_and_events)
{
    start();
    CUstream s;
    CUevent a, b, silent;
    float ms = -1;
    CHECK_INT(d->StreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(d->StreamCreate(&s, 77), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->EventCreate(&a, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    CHECK_INT(d->EventCreate(&b, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    CHECK_INT(d->EventCreate(&silent, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    CHECK_INT(d->EventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE); /* not recorded */
    CHECK_INT(d->EventQuery(a), CUDA_SUCCESS);
    double before = rt_now_ms();
    CHECK_INT(d->EventRecord(a, s), CUDA_SUCCESS);
    double first = rt_now_ms();
    usleep(2000);
    double second = rt_now_ms();
    CHECK_INT(d->EventRecord(b, CU_STREAM_LEGACY), CUDA_SUCCESS);
    double after = rt_now_ms();
    CHECK_INT(d->EventRecord(silent, NULL), CUDA_SUCCESS);
    CHECK_INT(d->StreamWaitEvent(s, b, 0), CUDA_SUCCESS);
    CHECK_INT(d->EventSynchronize(b), CUDA_SUCCESS);
    CHECK_INT(d->EventElapsedTime(&ms, a, b), CUDA_SUCCESS);
    CHECK(ms >= second - first - 0.001 && ms <= after - before + 0.001);
    CHECK_INT(d->EventElapsedTime(&ms, a, silent), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->EventRecord((CUevent)s, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->StreamSynchronize((CUstream)a), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->StreamQuery(s), CUDA_SUCCESS);
    CHECK_INT(d->StreamDestroy(s), CUDA_SUCCESS);
    CHECK_INT(d->StreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->StreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->EventDestroy(a), CUDA_SUCCESS);
    CHECK_INT(d->EventDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    stop(); /* takes the other two events with it */
}

TEST(saxpy_both_ways_of_parameters)
{
    load();
    CUdeviceptr x = device_floats(1000, 1), y = device_floats(1000, 2);
    CHECK_INT(launch(999, 4, 256, x, y), CUDA_SUCCESS);
    CHECK_INT(d->CtxSynchronize(), CUDA_SUCCESS);
    struct {
        int n;
        float a;
        CUdeviceptr x, y;
    } block = {999, 10, x, y};
    size_t size = sizeof block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK_INT(d->LaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS);
    float out[1000];
    CHECK_INT(d->MemcpyDtoH(out, y, sizeof out), CUDA_SUCCESS);
    for (int i = 0; i < 999; i++) CHECK_NEAR(out[i], 15.0 * i, 0);
    CHECK_NEAR(out[999], 2.0 * 999, 0);
    size = 10;
    CHECK_INT(d->LaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    void *neither = NULL;
    CHECK_INT(d->LaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->LaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, NULL, &neither, extra), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(launch_shapes_that_are_refused)
{
    load();
    CUdeviceptr x = device_floats(10, 1);
    CHECK_INT(launch(0, 0, 32, x, x), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(launch(0, 1, 0, x, x), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(launch(0, 1, 1025, x, x), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(launch(0, 1, 1024, x, x), CUDA_SUCCESS);
    CHECK_INT(d->LaunchKernel(saxpy, 1, 65536, 1, 1, 1, 1, 0, NULL, (void *[]){0}, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->LaunchKernel(saxpy, 1, 1, 1, 1, 1, 65, 0, NULL, (void *[]){0}, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->LaunchKernel((CUfunction)module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    int n = 0, value;
    float a = 0;
    void *parameters[] = {&n, &a, &x, &x};
    CHECK_INT(d->LaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 60000, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->FuncSetAttribute(saxpy, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000), CUDA_SUCCESS);
    CHECK_INT(d->FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, saxpy), CUDA_SUCCESS);
    CHECK_INT(value, 60000);
    CHECK_INT(d->LaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 60000, NULL, parameters, NULL), CUDA_SUCCESS);
    CHECK_INT(d->FuncSetAttribute(saxpy, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 102 * 1024),
              CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->CtxSynchronize(), CUDA_SUCCESS);
    stop();
}

TEST(modules_and_functions)
{
    load();
    CUfunction again;
    CUdeviceptr counter;
    size_t bytes;
    unsigned value;
    int n, grid, block;
    CHECK_INT(d->ModuleGetFunction(&again, module, "saxpy"), CUDA_SUCCESS);
    CHECK(again == saxpy);
    CHECK_INT(d->ModuleGetFunction(&again, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK_INT(d->ModuleGetFunction(&again, (CUmodule)saxpy, "saxpy"), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->ModuleGetGlobal(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
    CHECK_INT(bytes, 4);
    CHECK_INT(d->MemcpyDtoH(&value, counter, 4), CUDA_SUCCESS);
    CHECK_INT(value, 42);
    CHECK_INT(d->ModuleGetGlobal(&counter, NULL, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK_INT(d->FuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, saxpy), CUDA_SUCCESS);
    CHECK(n > 0 && n < 256);
    CHECK_INT(d->FuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, saxpy), CUDA_SUCCESS);
    CHECK_INT(n, 1024);
    CHECK_INT(d->OccupancyMaxPotentialBlockSize(&grid, &block, saxpy, NULL, 0, 0), CUDA_SUCCESS);
    CHECK(grid >= 1 && block >= 32 && block <= 1024);
    CHECK_INT(d->OccupancyMaxPotentialBlockSize(&grid, &block, saxpy, NULL, 0, 100), CUDA_SUCCESS);
    CHECK(block <= 100);
    CHECK_INT(d->OccupancyMaxActiveBlocksPerMultiprocessor(&n, saxpy, 1024, 0), CUDA_SUCCESS);
    CHECK_INT(n, 2);
    CHECK_INT(d->ModuleUnload(module), CUDA_SUCCESS);
    CHECK_INT(d->ModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->FuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, saxpy), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

static CUresult try_load(const char *text, char *log, unsigned size, unsigned *written)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)size};
    CUmodule m;
    CUresult r = d->ModuleLoadDataEx(&m, text, 2, options, values);
    *written = (unsigned)(uintptr_t)values[1];
    return r;
}

TEST(bad_modules_leave_their_reason)
{
    start();
    char log[400];
    unsigned written;
    CHECK_INT(try_load("this is no PTX", log, sizeof log, &written), CUDA_ERROR_INVALID_PTX);
    CHECK_HAS(log, "line 1");
    CHECK_INT(written, strlen(log));
    CHECK_INT(try_load("", log, sizeof log, &written), CUDA_ERROR_INVALID_PTX);
    CHECK_INT(try_load("this is no PTX", log, 6, &written), CUDA_ERROR_INVALID_PTX);
    CHECK_INT(strlen(log), 5);
    CHECK_INT(try_load("\x7f"
                       "ELF...",
                       log, sizeof log, &written),
              CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK_HAS(log, "PTX");
    CUmodule m;
    CHECK_INT(d->ModuleLoadDataEx(&m, "garbage", 0, NULL, NULL), CUDA_ERROR_INVALID_PTX);
    CHECK_INT(try_load(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                       "  frobnicate.b32 1;\n  ret;\n}\n",
                       log, sizeof log, &written),
              CUDA_ERROR_INVALID_PTX);
    CHECK_HAS(log, "PTX has no instruction frobnicate");
    stop();
}

TEST(a_fault_is_returned_once_and_the_context_lives)
{
    load();
    struct rt_error e = {0};
    CUdeviceptr x = device_floats(100, 1), y = device_floats(100, 1);
    CHECK_INT(launch(-1, 4, 32, x, y), CUDA_SUCCESS); /* 128 threads on 100 elements */
    CUresult r = d->CtxSynchronize();
    CHECK_INT(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_INT(driver_check(d, r, &e, "launch"), RT_FAULT);
    CHECK_HAS(e.text, "saxpy.cu:4");
    CHECK_HAS(e.text, "kernel saxpy");
    CHECK_HAS(e.text, "block (3,0,0), thread (4,0,0)");
    CHECK_HAS(e.text, "400");
    CHECK_INT(d->CtxSynchronize(), CUDA_SUCCESS);
    CHECK_INT(driver_check(d, CUDA_ERROR_ILLEGAL_ADDRESS, &e, "launch"), RT_FAULT); /* its report was taken */
    CHECK_HAS(e.text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_INT(launch(-1, 4, 32, x, y), CUDA_SUCCESS);
    CHECK_INT(launch(100, 4, 32, x, y), CUDA_ERROR_ILLEGAL_ADDRESS); /* the launch after it */
    CHECK_INT(launch(100, 4, 32, x, y), CUDA_SUCCESS);
    float out[100];
    CHECK_INT(d->MemcpyDtoH(out, y, sizeof out), CUDA_SUCCESS);
    CHECK(out[1] > 0);
    rt_error_clear(&e);
    stop();
}

static void *interrupt_once_changed(void *word)
{
    wait_for_word(word);
    rt_interrupt();
    return NULL;
}

TEST(an_endless_kernel_is_interrupted)
{
    load();
    CUfunction forever;
    pthread_t thread;
    struct rt_error e = {0};
    CUdeviceptr counter;
    unsigned zero = 0;
    CHECK_INT(d->ModuleGetFunction(&forever, module, "forever"), CUDA_SUCCESS);
    CHECK_INT(d->ModuleGetGlobal(&counter, NULL, module, "counter"), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyHtoD(counter, &zero, 4), CUDA_SUCCESS);
    CHECK_INT(pthread_create(&thread, NULL, interrupt_once_changed, simt_host(counter)), 0);
    CHECK_INT(d->LaunchKernel(forever, 3, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    pthread_join(thread, NULL);
    rt_interrupt_clear();
    CUresult r = d->StreamQuery(NULL);
    CHECK_INT(r, CUDA_ERROR_LAUNCH_FAILED);
    CHECK_INT(driver_check(d, r, &e, "launch"), RT_INTERRUPTED);
    CHECK_INT(d->CtxSynchronize(), CUDA_SUCCESS);
    rt_error_clear(&e);
    stop();
}

TEST(reset_frees_everything)
{
    load();
    CUdeviceptr x = device_floats(100, 1);
    size_t free_bytes, total;
    CUstream s;
    float out[100];
    CHECK_INT(d->StreamCreate(&s, 0), CUDA_SUCCESS);
    CHECK_INT(d->DevicePrimaryCtxReset(0), CUDA_SUCCESS);
    CHECK_INT(d->MemcpyDtoH(out, x, sizeof out), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(d->StreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(launch(0, 1, 1, x, x), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(d->MemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    CHECK_INT(free_bytes, total);
    stop();
    CHECK_INT(d->CtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(each_allocation_failing_in_turn)
{
    start();
    int n = 0;
    for (;;) {
        CUmodule m;
        CUfunction f;
        CUevent v;
        CUdeviceptr p = 0;
        rt_fail_allocation(++n);
        CUresult r = d->ModuleLoadDataEx(&m, saxpy_ptx, 0, NULL, NULL), first = r;
        if (first == CUDA_SUCCESS) r = d->ModuleGetFunction(&f, m, "saxpy");
        if (r == CUDA_SUCCESS) r = d->EventCreate(&v, 0);
        if (r == CUDA_SUCCESS) r = d->MemAlloc(&p, 100);
        rt_fail_allocation(0);
        if (p) d->MemFree(p);
        if (first == CUDA_SUCCESS) CHECK_INT(d->ModuleUnload(m), CUDA_SUCCESS);
        if (r == CUDA_SUCCESS) break;
        CHECK_INT(r, CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(n < 100000);
    }
    CHECK(n > 20);
    size_t free_bytes, total;
    CHECK_INT(d->MemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    CHECK_INT(free_bytes, total);
    stop();
}
