/* Devices over drivers that behave as a GPU's would: a mock whose work takes time, and libcuda-simt.so in the place of
 * NVIDIA's library, for what happens after a fault. */
#include "runtime/array.h"
#include "runtime/interrupt.h"
#include "runtime/memory.h"
#include "tests/unit/built.h"
#include "tests/unit/driver_ptx.h"

static struct rt_error e;
static int polls_until_done, waits;
static CUresult outcome;

static CUresult mock_query(CUstream s)
{
    (void)s;
    if (polls_until_done < 0) return CUDA_ERROR_NOT_READY;
    return polls_until_done-- > 0 ? CUDA_ERROR_NOT_READY : outcome;
}
/* What lets out what kernels printed; it may be called only when it doesn't wait, as that can't be interrupted. */
static CUresult mock_synchronize(CUstream s)
{
    CHECK(s == NULL);
    CHECK_INT(polls_until_done, -1);
    waits++;
    return CUDA_SUCCESS;
}
static CUresult mock_current(CUcontext c)
{
    (void)c;
    return CUDA_SUCCESS;
}
static CUresult mock_name(CUresult r, const char **text)
{
    *text = r == CUDA_ERROR_ECC_UNCORRECTABLE ? "CUDA_ERROR_ECC_UNCORRECTABLE" : NULL;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct driver mock = {.name = "cuda",
                                   .path = "mock",
                                   .StreamQuery = mock_query,
                                   .StreamSynchronize = mock_synchronize,
                                   .CtxSetCurrent = mock_current,
                                   .GetErrorName = mock_name,
                                   .GetErrorString = mock_name};

TEST(synchronize_polls_until_the_work_is_done)
{
    struct rt_device d = {.kind = RT_CUDA, .name = "cuda:0", .driver = &mock};
    polls_until_done = 1000;
    CHECK_INT(rt_device_synchronize(&d, &e), RT_OK);
    CHECK_INT(polls_until_done, -1);
    CHECK_INT(waits, 1);
    polls_until_done = 3;
    outcome = CUDA_ERROR_ECC_UNCORRECTABLE;
    CHECK_INT(rt_device_synchronize(&d, &e), RT_DEVICE);
    CHECK_HAS(e.text, "CUDA_ERROR_ECC_UNCORRECTABLE");
    rt_error_clear(&e);
}

TEST(synchronize_is_interrupted)
{
    struct rt_device d = {.kind = RT_CUDA, .name = "cuda:0", .driver = &mock};
    polls_until_done = -1;
    rt_interrupt();
    CHECK_INT(rt_device_synchronize(&d, &e), RT_INTERRUPTED);
    CHECK_INT(waits, 0);
    CHECK_HAS(e.text, "still running on cuda:0");
    rt_error_clear(&e);
}

static struct rt_device *open_stand_in(void)
{
    setenv("LUNARRAY_CUDA", built("libcuda-simt.so"), 1);
    struct rt_device *d = rt_device_open("cuda:0", &e);
    if (!d) FAIL("%s", e.text);
    return d;
}

TEST(a_gpu_comes_first_and_is_the_default)
{
    struct rt_device *d = open_stand_in();
    unsetenv("LUNARRAY_DEVICE");
    CHECK_INT(d->kind, RT_CUDA);
    CHECK_STR(d->name, "cuda:0");
    CHECK_INT(d->compute_major, 8);
    CHECK_INT(d->max_threads_per_block, 1024);
    CHECK_INT(rt_device_count(), 3);
    CHECK(rt_device_at(0, &e) == d && rt_device_open("cuda", &e) == d && rt_device_default(&e) == d);
    CHECK(rt_device_open("cuda:1", &e) == NULL);
    CHECK_INT(e.status, RT_MISSING);
    CHECK_HAS(e.text, "has 1 GPU.");
    rt_error_clear(&e);
}

TEST(transfers_between_gpus_and_the_others)
{
    struct rt_device *gpu = open_stand_in(), *simt = rt_device_open("simt", &e), *cpu = rt_device_open("cpu", &e);
    struct rt_device second = *gpu; /* the stand-in has one GPU alone */
    struct rt_device *all[] = {gpu, &second, simt, cpu};
    enum { N = 5000001 };        /* 20 MB and a little: more than one piece of a copy through host memory */
    second.pool = rt_pool_new(); /* else it would be given memory of the first one */
    snprintf(second.name, sizeof second.name, "cuda:1");
    int64_t shape = N;
    int32_t *host = malloc(N * sizeof *host);
    for (int from = 0; from < 4; from++) {
        for (int to = 0; to < 4; to++) {
            struct rt_array a, b;
            CHECK_INT(rt_array_new(all[from], RT_INT32, 1, &shape, &a, &e), RT_OK);
            CHECK_INT(rt_array_new(all[to], RT_INT32, 1, &shape, &b, &e), RT_OK);
            for (int i = 0; i < N; i++) host[i] = i + 4 * from + to; /* memory comes again */
            CHECK_INT(rt_array_write(&a, host, &e), RT_OK);
            memset(host, 0, N * sizeof *host);
            CHECK_INT(rt_array_transfer(&b, &a, &e), RT_OK);
            CHECK_INT(rt_array_read(&b, host, &e), RT_OK);
            for (int i = 0; i < N; i++) CHECK_INT(host[i], i + 4 * from + to);
            CHECK((rt_array_host(&a) == NULL) == (from < 2));
            rt_array_release(&a);
            rt_array_release(&b);
        }
    }
    free(host);
}

TEST(after_a_fault_the_gpu_goes_on_without_its_arrays)
{
    struct rt_device *d = open_stand_in();
    const struct driver *v = d->driver;
    struct rt_array a, b;
    int64_t shape = 100;
    float host[100] = {0};
    CUmodule module;
    CUfunction saxpy;
    CHECK_INT(rt_array_new(d, RT_FLOAT32, 1, &shape, &a, &e), RT_OK);
    CHECK_INT(rt_array_write(&a, host, &e), RT_OK);
    CHECK_INT(v->ModuleLoadDataEx(&module, saxpy_ptx, 0, NULL, NULL), CUDA_SUCCESS);
    CHECK_INT(v->ModuleGetFunction(&saxpy, module, "saxpy"), CUDA_SUCCESS);
    int n = -1;
    float factor = 1;
    CUdeviceptr nowhere = 0;
    void *parameters[] = {&n, &factor, &nowhere, &nowhere};
    CHECK_INT(v->LaunchKernel(saxpy, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL), CUDA_SUCCESS);
    CHECK_INT(rt_device_synchronize(d, &e), RT_FAULT);
    CHECK_HAS(e.text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_HAS(e.text, "reset cuda:0");
    CHECK_INT(d->generation, 1);
    CHECK_INT(rt_array_read(&a, host, &e), RT_DEVICE);
    CHECK_HAS(e.text, "lost");
    rt_array_release(&a);
    struct rt_memory_stats s;
    rt_memory_stats(d, &s);
    CHECK(s.in_use == 0 && s.cached == 0);

    CHECK_INT(rt_device_synchronize(d, &e), RT_OK);
    CHECK_INT(rt_array_new(d, RT_FLOAT32, 1, &shape, &b, &e), RT_OK);
    for (int i = 0; i < 100; i++) host[i] = (float)i;
    CHECK_INT(rt_array_write(&b, host, &e), RT_OK);
    CHECK_INT(v->ModuleLoadDataEx(&module, saxpy_ptx, 0, NULL, NULL), CUDA_SUCCESS);
    CHECK_INT(v->ModuleGetFunction(&saxpy, module, "saxpy"), CUDA_SUCCESS);
    CUdeviceptr there = rt_array_address(&b);
    n = 100;
    void *good[] = {&n, &factor, &there, &there};
    CHECK_INT(v->LaunchKernel(saxpy, 4, 1, 1, 32, 1, 1, 0, NULL, good, NULL), CUDA_SUCCESS);
    CHECK_INT(rt_array_read(&b, host, &e), RT_OK);
    CHECK_NEAR(host[99], 198, 0);
    rt_array_release(&b);
    rt_error_clear(&e);
}
