/* Clusters of blocks: launched, asked about, kept by graphs. */
#include "tests/driver/program.h"

/* Each block of a cluster writes into the next one's shared memory. */
static const char *const ring =
    "__device__ unsigned out[64];\n"
    "#define RING(name, dims) extern \"C\" __global__ void dims name() { \\\n"
    "  __shared__ unsigned mine; unsigned rank, n, at, far; \\\n"
    "  asm(\"mov.u32 %0, %%cluster_ctarank; mov.u32 %1, %%cluster_nctarank;\" \\\n"
    "      : \"=r\"(rank), \"=r\"(n)); \\\n"
    "  at = (unsigned)__cvta_generic_to_shared(&mine); \\\n"
    "  asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\"); \\\n"
    "  asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2; st.shared::cluster.u32 [%0], %3;\" \\\n"
    "      : \"=&r\"(far) : \"r\"(at), \"r\"((rank + 1) % n), \"r\"(blockIdx.x) : \"memory\"); \\\n"
    "  asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\"); \\\n"
    "  out[blockIdx.x] = 100 * n + mine; }\n"
    "RING(any, ) RING(pairs, __cluster_dims__(2))\n"
    "extern \"C\" __global__ void __block_size__((32, 1, 1), (4, 1, 1)) counted() {\n"
    "  if (threadIdx.x == 0) out[blockIdx.x] = gridDim.x; }\n";

static void check_ring(CUmodule m, unsigned blocks, unsigned size)
{
    unsigned got[64];
    CUdeviceptr out;
    size_t bytes;
    OK(cuModuleGetGlobal(&out, &bytes, m, "out"));
    OK(cuMemcpyDtoH(got, out, sizeof got));
    for (unsigned b = 0; b < blocks; b++) CHECK_INT(got[b], 100 * size + b / size * size + (b + size - 1) % size);
}

TEST(clusters)
{
    start();
    CUdevice device;
    int value;
    OK(cuDeviceGet(&device, 0));
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, device));
    CHECK_INT(value, 1);
    CUmodule m = load_for(ring, "compute_90");
    CUfunction any = function_of(m, "any"), pairs = function_of(m, "pairs"), counted = function_of(m, "counted");
    CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {4, 1, 1}};
    CUlaunchConfig c = {.gridDimX = 8,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 1,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .attrs = &a,
                        .numAttrs = 1};
    OK(cuLaunchKernelEx(&c, any, NULL, NULL));
    check_ring(m, 8, 4);
    OK(cuLaunchKernel(any, 8, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    check_ring(m, 8, 1);
    OK(cuLaunchKernel(pairs, 8, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    check_ring(m, 8, 2);
    CHECK_INT(cuLaunchKernel(pairs, 7, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchKernelEx(&c, pairs, NULL, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, pairs));
    CHECK_INT(value, 2);
    CHECK_INT(cuFuncSetAttribute(pairs, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4), CUDA_ERROR_NOT_PERMITTED);
    OK(cuLaunchKernel(counted, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    unsigned got[64];
    CUdeviceptr out;
    size_t bytes;
    OK(cuModuleGetGlobal(&out, &bytes, m, "out"));
    OK(cuMemcpyDtoH(got, out, sizeof got));
    CHECK_INT(got[0], 12);
    CHECK_INT(got[11], 12);
    a.value.clusterDim.x = 16;
    c.gridDimX = 16;
    CHECK_INT(cuLaunchKernelEx(&c, any, NULL, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuOccupancyMaxPotentialClusterSize(&value, any, &c));
    CHECK_INT(value, 8);
    OK(cuFuncSetAttribute(any, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(cuOccupancyMaxPotentialClusterSize(&value, any, &c));
    CHECK_INT(value, 16);
    OK(cuLaunchKernelEx(&c, any, NULL, NULL));
    check_ring(m, 16, 16);
    int clusters, blocks, multiprocessors;
    a.value.clusterDim.x = 4;
    OK(cuOccupancyMaxActiveClusters(&clusters, any, &c));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, any, 1, 0));
    OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CHECK_INT(clusters, blocks * multiprocessors / 4);
    stop();
}

TEST(a_graph_keeps_the_clusters_of_its_kernels)
{
    start();
    CUmodule m = load_for(ring, "compute_90");
    CUgraph graph;
    CUgraphNode node, other;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS p = {.func = function_of(m, "any"),
                                 .gridDimX = 8,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 1,
                                 .blockDimY = 1,
                                 .blockDimZ = 1};
    CUkernelNodeAttrValue v = {.clusterDim = {4, 1, 1}}, now;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
    OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v));
    OK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &now));
    CHECK_INT(now.clusterDim.x, 4);
    v.clusterDim.x = 3;
    CHECK_INT(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    check_ring(m, 8, 4);
    OK(cuGraphAddKernelNode(&other, graph, &node, 1, &p));
    OK(cuGraphKernelNodeCopyAttributes(other, node));
    OK(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &now));
    CHECK_INT(now.clusterDim.x, 4);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    stop();
}
