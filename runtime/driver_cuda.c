/* The table filled from the machine's libcuda.so.1. Symbols are looked up by their exported names, which carry the ABI
 * version that cuda.h's types belong to, so an older or newer driver either has that version or misses the name. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "runtime/driver.h"
#include "runtime/library.h"

static struct driver table;
static enum rt_status outcome;
static struct rt_error reason;

static enum rt_status resolve(const struct rt_library *l)
{
    enum rt_status status = RT_OK;
    void *entry;
#define X(member, symbol, parameters)                                                                                  \
    entry = status == RT_OK ? rt_library_symbol(l, #symbol, &reason) : NULL;                                           \
    if (!entry) status = RT_MISSING;                                                                                   \
    memcpy(&table.member, &entry, sizeof entry); /* ISO C has no cast from object to function pointers */
    RT_DRIVER_ENTRIES(X)
#undef X
    return status;
}

/* Each for itself. */
static void resolve_newer(const struct rt_library *l)
{
    void *entry;
#define X(member, symbol, parameters)                                                                                  \
    entry = rt_library_symbol(l, #symbol, NULL);                                                                       \
    memcpy(&table.member, &entry, sizeof entry);
    RT_DRIVER_NEWER_ENTRIES(X)
#undef X
}

/* All or none. */
static void resolve_gpu(const struct rt_library *l)
{
    bool all = true;
    void *entry;
#define X(member, symbol, parameters)                                                                                  \
    entry = rt_library_symbol(l, #symbol, NULL);                                                                       \
    all &= entry != NULL;                                                                                              \
    memcpy(&table.gpu.member, &entry, sizeof entry);
    RT_DRIVER_GPU_ENTRIES(X)
#undef X
    if (!all) memset(&table.gpu, 0, sizeof table.gpu);
}

/* A driver may be installed without a GPU, or not fit the kernel module; then this machine has no CUDA device. */
static enum rt_status initialise(void)
{
    CUresult r = table.Init(0);
    int count = 0, version = 0;
    if (r == CUDA_SUCCESS) r = table.DeviceGetCount(&count);
    if (r == CUDA_SUCCESS && count == 0) r = CUDA_ERROR_NO_DEVICE;
    if (r == CUDA_SUCCESS) return RT_OK;
    const char *name = NULL, *text = NULL;
    if (table.GetErrorName(r, &name) != CUDA_SUCCESS || !name) name = "unknown error";
    if (table.GetErrorString(r, &text) != CUDA_SUCCESS || !text) text = "no explanation";
    if (table.DriverGetVersion(&version) != CUDA_SUCCESS) version = 0;
    return rt_fail(&reason, RT_MISSING,
                   "the NVIDIA driver is installed (%s, CUDA %d.%d) but has no usable GPU: %s, error %d (%s). "
                   "Try `nvidia-smi`; the device \"simt\" works without a GPU",
                   table.path, version / 1000, version % 1000 / 10, name, (int)r, text);
}

static void open_driver(void)
{
    const struct rt_library *l = rt_library_open(RT_LIB_CUDA, &reason);
    if (!l) {
        outcome = RT_MISSING;
        return;
    }
    table.name = "cuda";
    table.path = l->path;
    outcome = resolve(l);
    resolve_newer(l);
    resolve_gpu(l);
    if (outcome == RT_OK) outcome = initialise();
}

const struct driver *driver_cuda(struct rt_error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    if (outcome == RT_OK) return &table;
    rt_fail(e, outcome, "%s", reason.text ? reason.text : "the NVIDIA driver cannot be used");
    return NULL;
}
