/* The software GPU's driver: launches that a configuration with attributes describes, clusters among them. */
#include "runtime/simt/entries.h"
#include "runtime/threads.h"

/* What an attribute asks for; hints need nothing. */
static CUresult apply(const CUlaunchAttribute *a, struct simt_kernel *k, CUevent *done)
{
    switch (a->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: k->cooperative = a->value.cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        k->cluster[0] = a->value.clusterDim.x;
        k->cluster[1] = a->value.clusterDim.y;
        k->cluster[2] = a->value.clusterDim.z;
        return k->cluster[0] && k->cluster[1] && k->cluster[2] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: *done = a->value.programmaticEvent.event; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: *done = a->value.launchCompletionEvent.event; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* The launch that a configuration describes. */
static CUresult read_config(const CUlaunchConfig *c, CUfunction function, struct simt_kernel *k, CUevent *done)
{
    if (!c || (c->numAttrs > 0 && !c->attrs)) return CUDA_ERROR_INVALID_VALUE;
    *k = (struct simt_kernel){.function = function,
                              .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                              .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                              .shared = c->sharedMemBytes};
    for (unsigned i = 0; i < c->numAttrs; i++) TRY(apply(&c->attrs[i], k, done));
    return CUDA_SUCCESS;
}

CUresult simt_LaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra)
{
    struct simt_kernel k;
    CUevent done = NULL;
    TRY(read_config(c, function, &k, &done));
    TRY(simt_launch(&k, c->hStream, parameters, extra));
    return done ? simt_EventRecord(done, c->hStream) : CUDA_SUCCESS;
}

/* How many blocks of the size are resident on the device; a cluster is as a whole, however large. */
static CUresult resident(CUfunction function, const CUlaunchConfig *c, struct simt_kernel *k, int *blocks)
{
    CUevent done = NULL;
    TRY(simt_check_function(function));
    TRY(read_config(c, function, k, &done));
    unsigned long long threads = (unsigned long long)k->block[0] * k->block[1] * k->block[2];
    if (threads == 0 || threads > SIMT_MAX_THREADS) return CUDA_ERROR_INVALID_VALUE;
    *blocks = simt_active_blocks(function, (int)threads, k->shared) * rt_thread_count();
    return CUDA_SUCCESS;
}

CUresult simt_OccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config)
{
    struct simt_kernel k;
    int blocks;
    if (!size) return CUDA_ERROR_INVALID_VALUE;
    TRY(resident(function, config, &k, &blocks));
    *size = blocks == 0 ? 0 : function->large_clusters ? SIMT_MAX_CLUSTER : SIMT_CLUSTER;
    return CUDA_SUCCESS;
}

CUresult simt_OccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    struct simt_kernel k;
    unsigned size[3];
    int blocks;
    if (!clusters) return CUDA_ERROR_INVALID_VALUE;
    TRY(resident(function, config, &k, &blocks));
    int of_one = (int)simt_cluster_of(&k, size);
    *clusters = blocks == 0 ? 0 : blocks < of_one ? 1 : blocks / of_one;
    return CUDA_SUCCESS;
}
