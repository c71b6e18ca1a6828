#include "runtime/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host.h"
#include "runtime/memory.h"
#include "runtime/stream.h"
#include "runtime/threads.h"

#define MAX_GPUS 64

static struct {
    pthread_mutex_t lock;
    struct rt_device *cpu, *simt, *gpus[MAX_GPUS];
    struct rt_device *chosen; /* by rt_device_set_default */
} devices = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Opening ---- */

static struct rt_device *new_device(enum rt_device_kind kind, int ordinal, const char *name, struct rt_error *e)
{
    struct rt_device *d = rt_calloc(1, sizeof *d);
    struct rt_pool *pool = d ? rt_pool_new() : NULL;
    if (!pool) {
        free(d);
        rt_fail(e, RT_NOMEM, "out of host memory while opening %s", name);
        return NULL;
    }
    d->pool = pool;
    d->kind = kind;
    d->ordinal = ordinal;
    snprintf(d->name, sizeof d->name, "%s", name);
    return d;
}

static void drop_device(struct rt_device *d)
{
    free(d->pool);
    free(d);
}

static struct rt_device *open_cpu(struct rt_error *e)
{
    struct rt_device *d = new_device(RT_CPU, 0, "cpu", e);
    if (!d) return NULL;
    rt_cpu_model(d->model, sizeof d->model);
    d->multiprocessors = rt_thread_count();
    d->total_memory = rt_host_memory();
    return d;
}

static enum rt_status read_attributes(struct rt_device *d, struct rt_error *e)
{
    int shared = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &d->compute_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &d->compute_minor},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &d->warp_size},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &d->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &d->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &d->max_block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &d->max_block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &d->max_block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &d->max_grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &d->max_grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &d->max_grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CUresult r = d->driver->DeviceGetAttribute(wanted[i].value, wanted[i].attribute, d->handle);
        enum rt_status status = driver_check(d->driver, r, e, "cuDeviceGetAttribute");
        if (status != RT_OK) return status;
    }
    d->max_shared_per_block = (size_t)shared;
    return driver_check(d->driver, d->driver->DeviceTotalMem(&d->total_memory, d->handle), e, "cuDeviceTotalMem");
}

static enum rt_status open_driver_device(struct rt_device *d, struct rt_error *e)
{
    const struct driver *v = d->driver;
    enum rt_status status = driver_check(v, v->DeviceGet(&d->handle, d->ordinal), e, "cuDeviceGet");
    if (status != RT_OK) return status;
    status = driver_check(v, v->DeviceGetName(d->model, (int)sizeof d->model, d->handle), e, "cuDeviceGetName");
    if (status == RT_OK) status = read_attributes(d, e);
    if (status == RT_OK)
        status = driver_check(v, v->DevicePrimaryCtxRetain(&d->context, d->handle), e, "cuDevicePrimaryCtxRetain");
    if (status == RT_OK) status = rt_device_enter(d, e);
    return status;
}

static struct rt_device *open_on_driver(enum rt_device_kind kind, int ordinal, const struct driver *driver,
                                        struct rt_error *e)
{
    char name[16];
    if (kind == RT_SIMT) {
        snprintf(name, sizeof name, "simt");
    } else {
        snprintf(name, sizeof name, "cuda:%d", ordinal);
    }
    struct rt_device *d = new_device(kind, ordinal, name, e);
    if (!d) return NULL;
    d->driver = driver;
    if (open_driver_device(d, e) != RT_OK) {
        rt_error_prefix(e, "%s cannot be used: ", name);
        drop_device(d);
        return NULL;
    }
    return d;
}

static struct rt_device *open_simt(struct rt_error *e)
{
    const struct driver *driver = driver_simt();
    if (driver_check(driver, driver->Init(0), e, "cuInit") != RT_OK) return NULL;
    return open_on_driver(RT_SIMT, 0, driver, e);
}

static struct rt_device *open_gpu(int ordinal, struct rt_error *e)
{
    const struct driver *driver = driver_cuda(e);
    if (!driver) return NULL;
    int count = 0;
    if (driver_check(driver, driver->DeviceGetCount(&count), e, "cuDeviceGetCount") != RT_OK) return NULL;
    if (ordinal >= count) {
        rt_fail(e, RT_MISSING, "there is no cuda:%d: this machine has %d GPU%s. gpu.devices() lists what there is",
                ordinal, count, count == 1 ? "" : "s");
        return NULL;
    }
    return open_on_driver(RT_CUDA, ordinal, driver, e);
}

static struct rt_device *open_once(struct rt_device **slot, enum rt_device_kind kind, int ordinal, struct rt_error *e)
{
    pthread_mutex_lock(&devices.lock);
    if (!*slot) {
        switch (kind) {
        case RT_CPU: *slot = open_cpu(e); break;
        case RT_SIMT: *slot = open_simt(e); break;
        case RT_CUDA: *slot = open_gpu(ordinal, e); break;
        }
    }
    struct rt_device *d = *slot;
    pthread_mutex_unlock(&devices.lock);
    return d;
}

/* N of "cuda:N"; -1 when the name is something else. */
static int gpu_ordinal(const char *name)
{
    if (strcmp(name, "cuda") == 0) return 0;
    if (strncmp(name, "cuda:", 5) != 0) return -1;
    const char *digits = name + 5;
    size_t n = strlen(digits);
    if (n < 1 || n > 4 || strspn(digits, "0123456789") != n) return -1;
    return atoi(digits);
}

struct rt_device *rt_device_open(const char *name, struct rt_error *e)
{
    if (strcmp(name, "cpu") == 0) return open_once(&devices.cpu, RT_CPU, 0, e);
    if (strcmp(name, "simt") == 0) return open_once(&devices.simt, RT_SIMT, 0, e);
    if (strcmp(name, "gpu") == 0) {
        struct rt_device *d = open_once(&devices.gpus[0], RT_CUDA, 0, NULL);
        return d ? d : open_once(&devices.simt, RT_SIMT, 0, e);
    }
    int ordinal = gpu_ordinal(name);
    if (ordinal < 0) {
        rt_fail(e, RT_INVALID, "unknown device \"%s\"; devices are \"cpu\", \"simt\", \"cuda\", \"cuda:N\" and \"gpu\"",
                name);
        return NULL;
    }
    if (ordinal >= MAX_GPUS) {
        rt_fail(e, RT_MISSING, "there is no cuda:%d: at most %d GPUs are supported", ordinal, MAX_GPUS);
        return NULL;
    }
    return open_once(&devices.gpus[ordinal], RT_CUDA, ordinal, e);
}

struct rt_device *rt_device_default(struct rt_error *e)
{
    pthread_mutex_lock(&devices.lock);
    struct rt_device *d = devices.chosen;
    pthread_mutex_unlock(&devices.lock);
    if (d) return d;
    const char *name = getenv("LUNARRAY_DEVICE");
    if (!name || !*name) {
        d = rt_device_open("gpu", e);
    } else {
        d = rt_device_open(name, e);
        if (!d) rt_error_prefix(e, "LUNARRAY_DEVICE=%s: ", name);
    }
    if (d) rt_device_set_default(d);
    return d;
}

void rt_device_set_default(struct rt_device *d)
{
    pthread_mutex_lock(&devices.lock);
    devices.chosen = d;
    pthread_mutex_unlock(&devices.lock);
}

struct rt_device *rt_device_known(void)
{
    pthread_mutex_lock(&devices.lock);
    struct rt_device *d = devices.chosen;
    pthread_mutex_unlock(&devices.lock);
    return d;
}

bool rt_device_is_near(void)
{
    const char *name = getenv("LUNARRAY_DEVICE"), *driver = getenv("LUNARRAY_CUDA");
    if (rt_device_known()) return true;
    if (name && *name && strcmp(name, "gpu") != 0) return strncmp(name, "cuda", 4) != 0;
    /* NVIDIA's driver on Linux, and in Windows' subsystem for it. */
    return access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0 && !(driver && *driver);
}

static int gpu_count(void)
{
    const struct driver *driver = driver_cuda(NULL);
    int count = 0;
    if (!driver || driver->DeviceGetCount(&count) != CUDA_SUCCESS || count < 0) return 0;
    return count < MAX_GPUS ? count : MAX_GPUS;
}

int rt_device_count(void)
{
    return gpu_count() + 2;
}

struct rt_device *rt_device_at(int i, struct rt_error *e)
{
    int gpus = gpu_count();
    if (i >= 0 && i < gpus) return open_once(&devices.gpus[i], RT_CUDA, i, e);
    if (i == gpus) return rt_device_open("simt", e);
    if (i == gpus + 1) return rt_device_open("cpu", e);
    rt_fail(e, RT_INVALID, "there is no device number %d; there are %d", i + 1, gpus + 2);
    return NULL;
}

struct rt_device *rt_device_next_opened(const struct rt_device *d)
{
    struct rt_device *next = NULL;
    bool behind = d == NULL;
    pthread_mutex_lock(&devices.lock);
    for (int i = 0; i < MAX_GPUS + 2 && !next; i++) {
        struct rt_device *here = i < MAX_GPUS ? devices.gpus[i] : i == MAX_GPUS ? devices.simt : devices.cpu;
        if (here && behind) next = here;
        behind |= here == d;
    }
    pthread_mutex_unlock(&devices.lock);
    return next;
}

/* ---- Using ---- */

enum rt_status rt_device_enter(struct rt_device *d, struct rt_error *e)
{
    if (!d->driver) return RT_OK;
    return driver_check(d->driver, d->driver->CtxSetCurrent(d->context), e, "cuCtxSetCurrent");
}

/* A fault takes a GPU's context with it and all memory in it. The primary context is given up and made anew, so that
 * the process can go on; what cannot be made anew is reported with the fault. */
static void renew_context(struct rt_device *d, struct rt_error *e)
{
    const struct driver *v = d->driver;
    pthread_mutex_lock(&devices.lock);
    rt_streams_lost(d);
    rt_memory_lost(d);
    v->DevicePrimaryCtxReset(d->handle);
    v->DevicePrimaryCtxRelease(d->handle);
    CUcontext fresh = NULL;
    CUresult r = v->DevicePrimaryCtxRetain(&fresh, d->handle);
    if (r == CUDA_SUCCESS) {
        d->context = fresh;
        r = v->CtxSetCurrent(fresh);
    }
    pthread_mutex_unlock(&devices.lock);
    if (!e || !e->text) return;
    if (r == CUDA_SUCCESS) {
        rt_fail(e, e->status, "%s\nThe fault reset %s: its arrays are lost and must be made anew", e->text, d->name);
    } else {
        rt_fail(e, e->status, "%s\n%s could not be reset after the fault: restart the session to use it again", e->text,
                d->name);
    }
}

static void copy_text(char *to, const char *from, size_t room)
{
    size_t n = strnlen(from, room - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

void rt_device_note(struct rt_device *d, const char *kernel, const char *place, int line)
{
    struct rt_launched *x = &d->trail.last[d->trail.count++ % RT_TRAIL];
    x->line = place ? line : 0;
    x->stream = d->current ? d->current->number : 0;
    copy_text(x->kernel, kernel, sizeof x->kernel);
    copy_text(x->place, place ? place : "", sizeof x->place);
}

/* "launched since the last wait: scale at cell 3:7 in stream 2, add at cell 3:8" */
static void add_trail(const struct rt_device *d, struct rt_error *e)
{
    char text[600] = "";
    const struct rt_trail *t = &d->trail;
    unsigned kept = t->count < RT_TRAIL ? t->count : RT_TRAIL;
    size_t n = 0;
    for (unsigned i = t->count - kept; i < t->count && n < sizeof text; i++) {
        const struct rt_launched *l = &t->last[i % RT_TRAIL];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", l->kernel);
        if (l->line > 0 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, " at %s:%d", l->place, l->line);
        if (l->stream && n < sizeof text) n += (size_t)snprintf(text + n, sizeof text - n, " in stream %u", l->stream);
    }
    if (kept)
        rt_fail(e, e->status, "%s\nIt was in one of the launches since the last wait: %s%s", e->text,
                t->count > kept ? "..., " : "", text);
}

enum rt_status rt_device_check(struct rt_device *d, CUresult result, struct rt_error *e, const char *what)
{
    enum rt_status status = driver_check(d->driver, result, e, what);
    if (status == RT_FAULT && d->kind == RT_CUDA) {
        if (e && e->text) add_trail(d, e);
        d->trail.count = 0;
        renew_context(d, e);
    }
    return status;
}

static CUresult look_at_device(void *context)
{
    struct rt_device *d = context;
    CUresult r = d->driver->StreamQuery(NULL);
    return r == CUDA_SUCCESS && rt_has_streams() ? rt_streams_query(d) : r;
}

enum rt_status rt_device_synchronize(struct rt_device *d, struct rt_error *e)
{
    if (!d->driver) {
        if (rt_has_streams()) rt_streams_synchronized(d);
        return RT_OK;
    }
    enum rt_status status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    CUresult r = rt_poll(look_at_device, d);
    if (r == CUDA_ERROR_NOT_READY)
        return rt_fail(e, RT_INTERRUPTED, "interrupted; a kernel is still running on %s", d->name);
    if (r == CUDA_SUCCESS) r = d->driver->StreamSynchronize(NULL); /* only such a call lets out what kernels printed */
    d->prints = false;
    status = rt_device_check(d, r, e, "waiting for the device");
    d->trail.count = 0;
    if (rt_has_streams()) rt_streams_synchronized(d);
    return status;
}

enum rt_status rt_device_memory(struct rt_device *d, size_t *free_bytes, size_t *total_bytes, struct rt_error *e)
{
    if (!d->driver) {
        *free_bytes = rt_host_free_memory();
        *total_bytes = d->total_memory;
        return RT_OK;
    }
    enum rt_status status = rt_device_enter(d, e);
    if (status != RT_OK) return status;
    return driver_check(d->driver, d->driver->MemGetInfo(free_bytes, total_bytes), e, "cuMemGetInfo");
}

static enum rt_status enter_for_kernels(struct rt_device *d, struct rt_error *e)
{
    if (rt_device_runs_kernels(d)) return rt_device_enter(d, e);
    return rt_fail(e, RT_INVALID, "%s runs no kernels, so it has no heap for their malloc", d->name);
}

enum rt_status rt_device_heap(struct rt_device *d, size_t *bytes, struct rt_error *e)
{
    enum rt_status status = enter_for_kernels(d, e);
    if (status != RT_OK) return status;
    return rt_device_check(d, d->driver->CtxGetLimit(bytes, CU_LIMIT_MALLOC_HEAP_SIZE), e, "reading the heap's size");
}

enum rt_status rt_device_set_heap(struct rt_device *d, size_t bytes, struct rt_error *e)
{
    enum rt_status status = enter_for_kernels(d, e);
    if (status != RT_OK) return status;
    CUresult r = d->driver->CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, bytes);
    if (r == CUDA_ERROR_INVALID_VALUE)
        return rt_fail(e, RT_INVALID,
                       "the heap of %s cannot become %zu bytes: a kernel that uses malloc has run already; set it "
                       "before",
                       d->name, bytes);
    return rt_device_check(d, r, e, "setting the heap's size");
}
