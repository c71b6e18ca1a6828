/* The software GPU's driver: launches. A fault is kept and returned by the next call that synchronises or launches, as
 * on a GPU. Unlike there, on purpose, it is returned once and the context stays good, memory and all: a session goes on
 * after a kernel's mistake. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/entries.h"
#include "runtime/simt/exec.h"
#include "runtime/simt/study.h"
#include "runtime/threads.h"

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

void simt_lock(void)
{
    pthread_mutex_lock(&device_lock);
}

void simt_unlock(void)
{
    pthread_mutex_unlock(&device_lock);
}

/* ---- Faults ---- */

static struct {
    pthread_mutex_t lock;
    CUresult pending; /* not yet returned by any call */
    bool report;      /* `fault` was not yet taken */
    struct simt_fault fault;
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUresult result_of(enum simt_fault_kind kind)
{
    switch (kind) {
    case SIMT_FAULT_NONE: return CUDA_SUCCESS;
    case SIMT_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIMT_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SIMT_FAULT_SPACE: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
    case SIMT_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case SIMT_FAULT_DEADLOCK: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case SIMT_FAULT_NOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
    case SIMT_FAULT_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case SIMT_FAULT_TRAP:
    case SIMT_FAULT_INTERRUPTED:
    case SIMT_FAULT_BARRIER: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static void keep_fault(const struct simt_fault *f)
{
    pthread_mutex_lock(&last.lock);
    if (last.pending == CUDA_SUCCESS) { /* else what came first is told */
        last.fault = *f;
        last.pending = result_of(f->kind);
        last.report = false;
    }
    pthread_mutex_unlock(&last.lock);
}

void simt_keep_error(CUresult r)
{
    pthread_mutex_lock(&last.lock);
    if (last.pending == CUDA_SUCCESS) last.pending = r;
    pthread_mutex_unlock(&last.lock);
}

CUresult simt_pending(void)
{
    pthread_mutex_lock(&last.lock);
    CUresult r = last.pending;
    if (r != CUDA_SUCCESS) last.report = true;
    last.pending = CUDA_SUCCESS;
    pthread_mutex_unlock(&last.lock);
    return r;
}

bool simt_take_fault(struct simt_fault *out)
{
    pthread_mutex_lock(&last.lock);
    bool there = last.report;
    if (there) *out = last.fault;
    last.report = false;
    pthread_mutex_unlock(&last.lock);
    return there;
}

void simt_forget_fault(void)
{
    pthread_mutex_lock(&last.lock);
    last.pending = CUDA_SUCCESS;
    last.report = false;
    pthread_mutex_unlock(&last.lock);
}

struct simt_watch simt_watch;

void simt_report_refused(const struct simt_function *f)
{
    if (simt_watch.refuse) simt_watch.refuse(simt_function_refused(f), CUDA_ERROR_NOT_SUPPORTED);
    pthread_mutex_lock(&last.lock);
    last.fault = (struct simt_fault){.kind = SIMT_FAULT_UNSUPPORTED};
    snprintf(last.fault.kernel, sizeof last.fault.kernel, "%s", simt_function_info(f)->name);
    snprintf(last.fault.text, sizeof last.fault.text, "%s", simt_function_refused(f));
    last.report = true;
    pthread_mutex_unlock(&last.lock);
}

/* ---- Launches ---- */

unsigned simt_cluster_of(const struct simt_kernel *k, unsigned out[3])
{
    const unsigned *from = k->cluster[0] ? k->cluster : k->function->cluster;
    memcpy(out, from, 3 * sizeof *out);
    return out[0] ? out[0] * out[1] * out[2] : 1;
}

/* What a function was compiled for holds for all of its launches. */
static CUresult check_cluster(const struct simt_kernel *k)
{
    const struct simt_function_info *info = simt_function_info(k->function->function);
    unsigned size[3], blocks = simt_cluster_of(k, size),
                      most = k->function->large_clusters ? SIMT_MAX_CLUSTER : SIMT_CLUSTER;
    if (!size[0]) return info->must_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    if (info->cluster[0] && memcmp(size, info->cluster, sizeof size) != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int d = 0; d < 3; d++)
        if (size[d] == 0 || size[d] > most) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (blocks > most) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    for (int d = 0; d < 3 && !info->grid_of_clusters; d++)
        if (k->grid[d] % size[d]) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* The grid in blocks. */
static void take_grid(const struct simt_kernel *k, unsigned grid[3], unsigned cluster[3])
{
    bool counts_clusters = simt_function_info(k->function->function)->grid_of_clusters;
    simt_cluster_of(k, cluster);
    for (int d = 0; d < 3; d++) grid[d] = k->grid[d] * (counts_clusters && cluster[d] ? cluster[d] : 1);
}

CUresult simt_check_launch(const struct simt_kernel *k)
{
    CUresult r = simt_check_function(k->function);
    if (r == CUDA_SUCCESS) r = check_cluster(k);
    if (r != CUDA_SUCCESS) return r;
    const unsigned *g = k->grid, *b = k->block;
    for (int i = 0; i < 3; i++) {
        if (g[i] == 0 || b[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    }
    if (g[0] > SIMT_MAX_GRID_X || g[1] > SIMT_MAX_GRID_YZ || g[2] > SIMT_MAX_GRID_YZ) return CUDA_ERROR_INVALID_VALUE;
    if (b[0] > SIMT_MAX_THREADS || b[1] > SIMT_MAX_THREADS || b[2] > SIMT_MAX_BLOCK_Z) return CUDA_ERROR_INVALID_VALUE;
    unsigned long long threads = (unsigned long long)b[0] * b[1] * b[2];
    if (threads > SIMT_MAX_THREADS) return CUDA_ERROR_INVALID_VALUE;
    const struct simt_function_info *info = simt_function_info(k->function->function);
    if (threads > (unsigned)info->max_threads) return CUDA_ERROR_INVALID_VALUE;
    if (info->required_threads[0] && memcmp(b, info->required_threads, 3 * sizeof *b)) return CUDA_ERROR_INVALID_VALUE;
    if (k->shared > (size_t)k->function->max_dynamic) return CUDA_ERROR_INVALID_VALUE;
    if (!k->cooperative) return CUDA_SUCCESS;
    unsigned grid[3], cluster[3];
    take_grid(k, grid, cluster);
    int most = simt_waiting_blocks(k->function->function, (int)threads, k->shared);
    return (uint64_t)grid[0] * grid[1] * grid[2] > (unsigned)most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                  : CUDA_SUCCESS;
}

/* The parameter block that `extra` names, which must be long enough; NULL when it is wrong. */
static const void *block_of_extra(void **extra, size_t needed)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[i + 1];
        } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1]) {
            size = *(const size_t *)extra[i + 1];
        } else {
            return NULL;
        }
    }
    return size >= needed ? buffer : NULL;
}

CUresult simt_gather(CUfunction function, void **parameters, void **extra, void *block)
{
    const struct simt_function_info *info = simt_function_info(function->function);
    memset(block, 0, info->param_bytes);
    if (parameters && extra) return CUDA_ERROR_INVALID_VALUE;
    if (info->param_count == 0) return CUDA_SUCCESS;
    if (!parameters && !extra) return CUDA_ERROR_INVALID_VALUE;
    if (extra) {
        const void *from = block_of_extra(extra, info->param_bytes);
        if (from) memcpy(block, from, info->param_bytes);
        return from ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < info->param_count; i++) {
        if (!parameters[i]) return CUDA_ERROR_INVALID_VALUE;
        memcpy((char *)block + info->params[i].offset, parameters[i], info->params[i].size);
    }
    return CUDA_SUCCESS;
}

static _Thread_local struct simt_observer *next_observer;

void simt_observe_next(struct simt_observer *o)
{
    next_observer = o;
}

static _Thread_local struct simt_study *study; /* of the calling thread's launches */

void simt_study_launches(struct simt_study *s)
{
    study = s;
}

void simt_run_kernel(const struct simt_kernel *k)
{
    struct simt_fault fault = {0};
    struct simt_launch l = {.function = k->function->function,
                            .block = {k->block[0], k->block[1], k->block[2]},
                            .dynamic_shared = k->shared,
                            .params = k->params,
                            .observer = next_observer,
                            .cooperative = k->cooperative};
    next_observer = NULL;
    take_grid(k, l.grid, l.cluster);
    simt_lock();
    bool watched = !l.observer && simt_watch.begin && (l.observer = simt_watch.begin(&l));
    if (!l.observer || !l.observer->tracks_writes) simt_wrote_everything();
    bool finished = study ? study->run(study, &l, &fault) : simt_run(&l, &fault);
    if (watched) simt_watch.end(&l, finished ? NULL : &fault);
    if (!watched && fault.kind == SIMT_FAULT_ASSERT && simt_watch.asserted) simt_watch.asserted(&l, &fault);
    simt_unlock();
    if (!finished) keep_fault(&fault);
}

/* A module's function runs in the context that the module is of, which must be the current one and the stream's. */
static CUresult check_contexts(CUfunction function, CUstream stream)
{
    CUcontext of = function->module->context;
    bool good = !of || (of == simt_current() && of == simt_stream_context(stream));
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simt_launch(const struct simt_kernel *kernel, CUstream stream, void **parameters, void **extra)
{
    CUresult r = simt_stream_ready(stream);
    if (r == CUDA_SUCCESS) r = simt_check_function(kernel->function);
    if (r == CUDA_SUCCESS) r = check_contexts(kernel->function, stream);
    if (r == CUDA_SUCCESS) r = simt_pending();
    if (r == CUDA_SUCCESS) r = simt_check_launch(kernel);
    if (r != CUDA_SUCCESS) return r;
    char small[512], *block = small;
    size_t bytes = simt_function_info(kernel->function->function)->param_bytes;
    if (bytes > sizeof small) block = rt_alloc(bytes);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    r = simt_gather(kernel->function, parameters, extra, block);
    struct simt_work work = {.kind = SIMT_WORK_KERNEL, .kernel = *kernel};
    work.kernel.params = block;
    if (r == CUDA_SUCCESS) r = simt_issue(stream, &work);
    if (block != small) free(block);
    return r;
}

CUresult simt_LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                           unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                           CUstream stream, void **parameters, void **extra)
{
    struct simt_kernel kernel = {
        .function = function, .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared};
    return simt_launch(&kernel, stream, parameters, extra);
}

CUresult simt_LaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                      unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                      unsigned int block_z, unsigned int shared, CUstream stream, void **parameters)
{
    struct simt_kernel kernel = {.function = function,
                                 .grid = {grid_x, grid_y, grid_z},
                                 .block = {block_x, block_y, block_z},
                                 .shared = shared,
                                 .cooperative = true};
    return simt_launch(&kernel, stream, parameters, NULL);
}
