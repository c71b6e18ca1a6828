/* Launches and what orders them: parameters, shapes, attributes, streams, events, faults. */
#include <pthread.h>
#include "tests/driver/program.h"

static const char source[] =
    "extern \"C\" __global__ void vector_add(const float *a, const float *b, float *c, int n) {\n"
    "  int i = blockDim.x * blockIdx.x + threadIdx.x;\n"
    "  if (i < n) c[i] = a[i] + b[i];\n"
    "}\n"
    "template <int T> __device__ void multiply(float *c, const float *a, const float *b, int wa, int wb) {\n"
    "  float sum = 0;\n"
    "  for (int k = 0; k < wa; k += T) {\n"
    "    __shared__ float as[T][T], bs[T][T];\n"
    "    as[threadIdx.y][threadIdx.x] = a[wa * (blockIdx.y * T + threadIdx.y) + k + threadIdx.x];\n"
    "    bs[threadIdx.y][threadIdx.x] = b[wb * (k + threadIdx.y) + blockIdx.x * T + threadIdx.x];\n"
    "    __syncthreads();\n"
    "    for (int i = 0; i < T; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];\n"
    "    __syncthreads();\n"
    "  }\n"
    "  c[wb * (blockIdx.y * T + threadIdx.y) + blockIdx.x * T + threadIdx.x] = sum;\n"
    "}\n"
    "extern \"C\" __global__ void matrix_mul(float *c, float *a, float *b, int wa, int wb) {\n"
    "  multiply<16>(c, a, b, wa, wb);\n"
    "}\n"
    "extern \"C\" __global__ void dynamic(int *x) {\n"
    "  extern __shared__ int s[];\n"
    "  s[threadIdx.x] = threadIdx.x;\n"
    "  __syncthreads();\n"
    "  x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(64) small() {}\n"
    "extern \"C\" __global__ void work(int n, float *x) {\n"
    "  float v = threadIdx.x;\n"
    "  for (int i = 0; i < n; i++) v = v * 1.000001f + 0.5f;\n"
    "  x[blockIdx.x * blockDim.x + threadIdx.x] = v;\n"
    "}\n"
    "__device__ unsigned long long now() { unsigned long long t; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t)); return t; }\n"
    "extern \"C\" __global__ void last(unsigned long long ns) { for (auto end = now() + ns; now() < end;); }\n"
    "extern \"C\" __global__ void wild(int *x) { x[1 << 20] = 1; }\n"
    "extern \"C\" __global__ void own(int *x, int n) { int a[2] = {n}; *x = atomicMax(n ? a + n / 2 : x, 3); }\n";

TEST(vector_add)
{
    start();
    enum { N = 50000 };
    CUfunction f = function_of(load(source), "vector_add");
    size_t size = N * sizeof(float);
    float *a = malloc(size), *b = malloc(size), *c = malloc(size);
    CUdeviceptr da, db, dc;
    int n = N;
    for (int i = 0; i < N; i++) a[i] = (float)i / 3, b[i] = (float)(N - i);
    OK(cuMemAlloc(&da, size));
    OK(cuMemAlloc(&db, size));
    OK(cuMemAlloc(&dc, size));
    OK(cuMemcpyHtoD(da, a, size));
    OK(cuMemcpyHtoD(db, b, size));
    void *parameters[] = {&da, &db, &dc, &n};
    OK(cuLaunchKernel(f, (N + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(c, dc, size));
    for (int i = 0; i < N; i++) CHECK_NEAR(c[i], a[i] + b[i], 0);
    free(a);
    free(b);
    free(c);
    stop();
}

TEST(matrix_mul_with_both_forms_of_parameters)
{
    start();
    enum { H = 48, W = 64, K = 32 };
    CUfunction f = function_of(load(source), "matrix_mul");
    float a[H * K], b[K * W], c[H * W];
    CUdeviceptr da, db, dc;
    int wa = K, wb = W;
    for (int i = 0; i < H * K; i++) a[i] = (float)(i % 7);
    for (int i = 0; i < K * W; i++) b[i] = (float)(i % 5) - 2;
    OK(cuMemAlloc(&da, sizeof a));
    OK(cuMemAlloc(&db, sizeof b));
    OK(cuMemAlloc(&dc, sizeof c));
    OK(cuMemcpyHtoD(da, a, sizeof a));
    OK(cuMemcpyHtoD(db, b, sizeof b));
    struct {
        CUdeviceptr c, a, b;
        int wa, wb;
    } block = {dc, da, db, wa, wb};
    size_t size = sizeof block;
    void *parameters[] = {&dc, &da, &db, &wa, &wb};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    for (int form = 0; form < 2; form++) {
        OK(cuMemsetD32(dc, 0, H * W));
        OK(cuLaunchKernel(f, W / 16, H / 16, 1, 16, 16, 1, 0, NULL, form ? NULL : parameters, form ? extra : NULL));
        OK(cuMemcpyDtoH(c, dc, sizeof c));
        for (int y = 0; y < H; y++) {
            for (int x = 0; x < W; x++) {
                float want = 0;
                for (int k = 0; k < K; k++) want += a[y * K + k] * b[k * W + x];
                CHECK_NEAR(c[y * W + x], want, 0);
            }
        }
    }
    CHECK_INT(cuLaunchKernel(f, 1, 1, 1, 16, 16, 1, 0, NULL, parameters, extra), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchKernel(f, 1, 1, 1, 16, 16, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    size = 8;
    CHECK_INT(cuLaunchKernel(f, 1, 1, 1, 16, 16, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(shapes_and_resources)
{
    start();
    CUmodule m = load(source);
    CUfunction dynamic = function_of(m, "dynamic"), small = function_of(m, "small");
    CUdeviceptr x;
    int out[256];
    OK(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&x};
    OK(cuLaunchKernel(dynamic, 1, 1, 1, 256, 1, 1, 1024, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < 256; i++) CHECK_INT(out[i], 255 - i);
    CHECK_INT(cuLaunchKernel(dynamic, 1, 1, 1, 256, 1, 1, 60000, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(dynamic, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(cuLaunchKernel(dynamic, 1, 1, 1, 256, 1, 1, 60000, NULL, parameters, NULL));
    CHECK_INT(cuLaunchKernel(dynamic, 0, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchKernel(dynamic, 1, 1, 1, 1025, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchKernel(dynamic, 1, 70000, 1, 1, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(small, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    CHECK_INT(cuLaunchKernel(small, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchKernel(small, 1, 1, 1, 1, 1, 1, 0, (CUstream)m, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

TEST(occupancy)
{
    start();
    CUmodule m = load(source);
    CUfunction f = function_of(m, "vector_add"), small = function_of(m, "small");
    int blocks, grid, block;
    size_t bytes;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
    CHECK(blocks >= 1 && blocks <= 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, small, 128, 0, CU_OCCUPANCY_DEFAULT));
    CHECK_INT(blocks, 0);
    CHECK_INT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, small, NULL, 0, 0));
    CHECK(grid > 0 && block > 0 && block <= 64);
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, f, NULL, 0, 32, 0));
    CHECK(block <= 32);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 256));
    CHECK(bytes > 0 && bytes <= 99 * 1024);
    CHECK_INT(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1000, 256), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(launches_with_attributes)
{
    start();
    CUfunction f = function_of(load(source), "small");
    CUevent done;
    OK(cuEventCreate(&done, CU_EVENT_DEFAULT));
    CUlaunchAttribute a[3] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0},
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {1, 1, 1}},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, .value.programmaticEvent.event = done},
    };
    CUlaunchConfig c = {.gridDimX = 4,
                        .gridDimY = 1,
                        .gridDimZ = 1,
                        .blockDimX = 32,
                        .blockDimY = 1,
                        .blockDimZ = 1,
                        .attrs = a,
                        .numAttrs = 3};
    OK(cuLaunchKernelEx(&c, f, NULL, NULL));
    OK(cuEventSynchronize(done));
    OK(cuEventQuery(done));
    a[1].value.clusterDim.x = 2;
    OK(cuLaunchKernelEx(&c, f, NULL, NULL));
    a[1].value.clusterDim.x = 3;
    CHECK_INT(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    a[1].value.clusterDim.x = 0;
    CHECK_INT(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    CHECK_INT(cuLaunchKernelEx(NULL, f, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    a[0] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    c.numAttrs = 1;
    OK(cuLaunchKernelEx(&c, f, NULL, NULL));
    c.gridDimX = 1 << 20;
    CHECK_INT(cuLaunchKernelEx(&c, f, NULL, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    stop();
}

TEST(an_assertion_is_told_in_words_of_the_driver)
{
    start();
    CUmodule m =
        load("extern \"C\" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);\n"
             "#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))\n"
             "extern \"C\" __global__ void check(int n) {\n"
             "  assert(threadIdx.x + 10 * threadIdx.y != n && \"all but two\");\n"
             "}\n"
             "extern \"C\" __global__ void half() { if (blockIdx.x == 1) assert(threadIdx.x < 62); }\n");
    char text[2000] = "";
    int n = 23, saved = dup(2);
    FILE *f = tmpfile();
    CHECK(f && saved >= 0 && dup2(fileno(f), 2) == 2);
    void *arguments[] = {&n};
    CUresult first = cuLaunchKernel(function_of(m, "check"), 2, 1, 1, 8, 8, 1, 0, NULL, arguments, NULL);
    CUresult told = cuCtxSynchronize();
    CUresult second = cuLaunchKernel(function_of(m, "half"), 2, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
    CUresult again = cuCtxSynchronize();
    dup2(saved, 2);
    rewind(f);
    CHECK(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    CHECK_INT(first, CUDA_SUCCESS);
    CHECK_INT(told, CUDA_ERROR_ASSERT);
    CHECK_INT(second, CUDA_SUCCESS);
    CHECK_INT(again, CUDA_ERROR_ASSERT);
    CHECK_STR(text,
              "program.cu:4: void check(int): block: [0,0,0], thread: [3,2,0] Assertion `threadIdx.x + 10 * "
              "threadIdx.y != n && \"all but two\"` failed.\n"
              "program.cu:6: void half(): block: [1,0,0], thread: [62,0,0] Assertion `threadIdx.x < 62` failed.\n"
              "program.cu:6: void half(): block: [1,0,0], thread: [63,0,0] Assertion `threadIdx.x < 62` failed.\n");
    stop();
}

TEST(blocks_that_wait_for_each_other)
{
    start();
    CUmodule m = load("__device__ unsigned arrived;\n"
                      "__device__ void wait_for_all(unsigned round) {\n"
                      "  __threadfence();\n"
                      "  atomicAdd(&arrived, 1);\n"
                      "  while (atomicAdd(&arrived, 0) < round * gridDim.x) ;\n"
                      "}\n"
                      "extern \"C\" __global__ void ring(volatile int *x) {\n"
                      "  for (int i = 0; i < 3; i++) {\n"
                      "    int v = x[(blockIdx.x + 1) % gridDim.x];\n"
                      "    wait_for_all(2 * i + 1);\n"
                      "    x[blockIdx.x] = v;\n"
                      "    wait_for_all(2 * i + 2);\n"
                      "  }\n"
                      "}\n"
                      "extern \"C\" __global__ void deep(volatile int *x) {\n"
                      "  volatile int own[8192];\n"
                      "  own[x[0]] = 1;\n"
                      "  x[0] = own[x[1]];\n"
                      "}\n");
    CUfunction f = function_of(m, "ring");
    enum { BLOCKS = 100 }; /* more than are resident on a device of few host threads */
    int in[BLOCKS], out[BLOCKS];
    CUdeviceptr x;
    for (int i = 0; i < BLOCKS; i++) in[i] = 10 + i;
    OK(cuMemAlloc(&x, sizeof in));
    OK(cuMemcpyHtoD(x, in, sizeof in));
    void *parameters[] = {&x};
    OK(cuLaunchCooperativeKernel(f, BLOCKS, 1, 1, 1, 1, 1, 0, NULL, parameters));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < BLOCKS; i++) CHECK_INT(out[i], in[(i + 3) % BLOCKS]);
    CHECK_INT(cuLaunchCooperativeKernel(f, 1 << 16, 1, 1, 1024, 1, 1, 0, NULL, parameters),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    /* 32 MiB of local memory a block: there is no room for as many as of small ones. */
    CHECK_INT(cuLaunchCooperativeKernel(function_of(m, "deep"), 200, 1, 1, 1024, 1, 1, 0, NULL, parameters),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    stop();
}

/* ---- Streams and events ---- */

static void CUDA_CB count(void *data)
{
    ++*(int *)data;
}

static void CUDA_CB count_callback(CUstream stream, CUresult status, void *data)
{
    if (stream && status == CUDA_SUCCESS) ++*(int *)data;
}

TEST(streams)
{
    CUcontext c = start(), of;
    CUstream s, high, odd;
    int priority, least, greatest, called = 0;
    unsigned flags;
    unsigned long long a, b;
    CUdevice device = 9;
    CUstreamAttrValue value = {.priority = -1};
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK_INT(cuStreamCreate(&odd, 5), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamCreateWithPriority(&high, 0, greatest - 100));
    OK(cuStreamGetPriority(high, &priority));
    CHECK_INT(priority, greatest);
    OK(cuStreamGetFlags(s, &flags));
    CHECK_INT(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(s, &a));
    OK(cuStreamGetId(high, &b));
    CHECK(a != b);
    OK(cuStreamGetCtx(s, &of));
    CHECK(of == c);
    OK(cuStreamGetDevice(s, &device));
    CHECK_INT(device, 0);
    OK(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    OK(cuStreamCopyAttributes(high, s));
    OK(cuStreamGetAttribute(high, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    CHECK_INT(value.priority, -1);
    OK(cuLaunchHostFunc(s, count, &called));
    OK(cuStreamAddCallback(s, count_callback, &called, 0));
    OK(cuStreamSynchronize(s));
    CHECK_INT(called, 2);
    CHECK_INT(cuStreamAddCallback(s, count_callback, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchHostFunc(s, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamQuery(CU_STREAM_LEGACY));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    OK(cuStreamDestroy(s));
    CHECK_INT(cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuStreamSynchronize((CUstream)&called), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

TEST(words_that_streams_write_and_wait_for)
{
    start();
    CUdeviceptr p;
    CUstream s, other;
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&p, 16));
    OK(cuStreamWriteValue32(s, p, 7, 0));
    OK(cuStreamWriteValue64(s, p + 8, 1ull << 40, 0));
    OK(cuStreamWaitValue32(s, p, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWaitValue64(s, p + 8, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamSynchronize(s));
    OK(cuStreamWaitValue32(s, p, 8, CU_STREAM_WAIT_VALUE_EQ));
    CHECK_INT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWriteValue32(other, p, 8, 0));
    OK(cuStreamSynchronize(s));
    CUstreamBatchMemOpParams list[] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = p + 8, .value64 = 1ull << 41}},
        {.operation = CU_STREAM_MEM_OP_BARRIER},
        {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
                       .address = p + 8,
                       .value64 = 1ull << 41,
                       .flags = CU_STREAM_WAIT_VALUE_EQ}}};
    OK(cuStreamBatchMemOp(s, COUNT(list), list, 0));
    CHECK_INT(cuStreamBatchMemOp(s, 0, list, 0), CUDA_ERROR_INVALID_VALUE);
    list[0].writeValue.address = p + 400;
    CHECK_INT(cuStreamBatchMemOp(s, COUNT(list), list, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamWriteValue32(s, p + 2, 7, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamWriteValue32(s, p + 400, 7, 0), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(events_measure_the_work_between_them)
{
    start();
    CUfunction f = function_of(load(source), "last");
    CUevent a, b, c, silent;
    CUstream s;
    float first, second, both;
    unsigned long long little = 0, much = 5000000; /* ns */
    OK(cuStreamCreate(&s, 0));
    OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&c, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING));
    CHECK_INT(cuEventCreate(&c, 64), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuEventElapsedTime(&first, a, b), CUDA_ERROR_INVALID_HANDLE); /* not recorded */
    void *quick[] = {&little}, *slow[] = {&much};
    OK(cuEventRecord(a, s));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, quick, NULL));
    OK(cuEventRecord(b, s));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, slow, NULL));
    OK(cuEventRecord(c, s));
    OK(cuEventRecord(silent, s));
    OK(cuStreamWaitEvent(NULL, c, 0));
    OK(cuEventSynchronize(c));
    OK(cuEventElapsedTime(&first, a, b));
    OK(cuEventElapsedTime(&second, b, c));
    OK(cuEventElapsedTime(&both, a, c));
    CHECK(first >= 0 && second >= 5); /* no upper bound: other programs may run in between */
    CHECK_NEAR(both, first + second, 1e-3 * both + 1e-3);
    CHECK_INT(cuEventElapsedTime(&first, a, silent), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuEventElapsedTime(NULL, a, b), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuEventRecord((CUevent)s, s), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(a));
    CHECK_INT(cuEventDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuEventQuery(a), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

/* ---- Faults ---- */

TEST(a_fault_is_reported_by_a_later_call)
{
    start();
    CUfunction f = function_of(load(source), "wild");
    CUdeviceptr x;
    OK(cuMemAlloc(&x, 16));
    void *parameters[] = {&x};
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK_INT(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK_INT(cuMemcpyDtoH(&(int){0}, x, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    stop();
}

TEST(an_atomic_needs_memory_that_others_see)
{
    start();
    CUfunction f = function_of(load(source), "own");
    CUdeviceptr x;
    OK(cuMemAlloc(&x, 4));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&x, &(int){0}}, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&x, &(int){2}}, NULL));
    CHECK_INT(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_ADDRESS_SPACE);
    stop();
}

static void *launch_some(void *context)
{
    OK(cuCtxSetCurrent(context));
    CUfunction f = function_of(load(source), "work");
    CUdeviceptr x;
    CUstream s;
    int n = 1000;
    float out[4 * 32];
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&x, sizeof out));
    void *parameters[] = {&n, &x};
    for (int i = 0; i < 20; i++) OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, s, parameters, NULL));
    OK(cuMemcpyDtoHAsync(out, x, sizeof out, s));
    OK(cuStreamSynchronize(s));
    CHECK(out[31] > 31 && out[127] == out[31]);
    return NULL;
}

TEST(threads_launch_beside_each_other)
{
    CUcontext c = start();
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++) CHECK_INT(pthread_create(&threads[i], NULL, launch_some, c), 0);
    for (size_t i = 0; i < COUNT(threads); i++) pthread_join(threads[i], NULL);
    stop();
}

/* Of a vector, or of one wide element, the bytes that the pragma says are read, and no others: here the last ones of an
 * allocation. */
TEST(only_the_used_bytes_of_a_load_are_read)
{
    start();
    static const char head[] = ".version 8.8\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
                               ".reg .b64 %a, %b, %x<8>;\n.reg .b32 %r<8>;\n.reg .b16 %h<8>;\n"
                               "ld.param.u64 %a, [from];\nld.param.u64 %b, [to];\n";
    static const struct {
        const char *code;
        size_t bytes;
        uint32_t out;
    } cases[] = {
        {".pragma \"used_bytes_mask 0xfff\";\nld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%a];\n"
         "shl.b32 %r1, %r1, 8;\nshl.b32 %r2, %r2, 16;\nor.b32 %r0, %r0, %r1;\nor.b32 %r0, %r0, %r2;\n",
         12, 0x03020100 | 0x07060504u << 8 | 0x0b0a0908u << 16},
        {".pragma \"used_bytes_mask 3840\";\nld.global.v4.b32 {%r4, %r5, %r0, %r3}, [%a];\n", 12, 0x0b0a0908},
        {".pragma \"used_bytes_mask 4080\";\nld.v2.b64 {%x0, %x1}, [%a];\n" /* the first half of the second */
         "shr.u64 %x0, %x0, 32;\nxor.b64 %x0, %x0, %x1;\ncvt.u32.u64 %r0, %x0;\n",
         12, 0x07060504 ^ 0x0b0a0908},
        {".pragma \"used_bytes_mask 1\";\nld.global.b32 %r0, [%a];\nand.b32 %r0, %r0, 255;\n", 1, 0},
        {".pragma \"used_bytes_mask 63\";\nld.global.v4.u16 {%h0, %h1, %h2, %h3}, [%a];\n"
         "mov.b32 %r0, {%h1, %h2};\n",
         6, 0x05040302},
        {".pragma \"used_bytes_mask 0xfff\";\nld.global.v2.b64 {%a, %x0}, [%a];\n" /* into its own address */
         "cvt.u32.u64 %r0, %x0;\n",
         12, 0x0b0a0908},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char ptx[1000];
        uint8_t bytes[16];
        uint32_t out = 0;
        CUmodule m;
        CUdeviceptr from, to;
        for (int k = 0; k < 16; k++) bytes[k] = (uint8_t)k;
        snprintf(ptx, sizeof ptx, "%s%sst.global.u32 [%%b], %%r0;\nret;\n}\n", head, cases[i].code);
        OK(cuModuleLoadData(&m, ptx));
        OK(cuMemAlloc(&from, cases[i].bytes));
        OK(cuMemAlloc(&to, sizeof out));
        OK(cuMemcpyHtoD(from, bytes, cases[i].bytes));
        void *parameters[] = {&from, &to};
        OK(cuLaunchKernel(function_of(m, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
        OK(cuMemcpyDtoH(&out, to, sizeof out));
        CHECK_INT(out, cases[i].out);
        OK(cuMemFree(from));
        OK(cuModuleUnload(m));
    }
    stop();
}

/* As programs did before CUDA 4. */
TEST(launches_take_what_was_set_before)
{
    start();
    CUfunction f =
        function_of(load("extern \"C\" __global__ void k(int *x, float f, int i) {\n"
                         "  extern __shared__ int s[];\n"
                         "  s[threadIdx.x] = 100 * blockIdx.x + 10 * blockIdx.y + threadIdx.y;\n"
                         "  x[2 * (blockIdx.x + gridDim.x * blockIdx.y) + threadIdx.y] = s[threadIdx.x] + f * i;\n"
                         "}\n"),
                    "k");
    CUdeviceptr x;
    CUstream stream;
    int out[8];
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&x, sizeof out));
    OK(cuMemsetD8(x, 0, sizeof out));
    CHECK_INT(cuLaunch(f), CUDA_ERROR_INVALID_VALUE); /* no block yet */
    CHECK_INT(cuFuncSetBlockShape(f, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetBlockShape(f, 1, 2, 1));
    OK(cuFuncSetSharedSize(f, sizeof(int)));
    OK(cuParamSetv(f, 0, &x, sizeof x));
    OK(cuParamSetf(f, 8, 0.5f));
    OK(cuParamSeti(f, 12, 6));
    CHECK_INT(cuParamSetv(f, -4, &x, sizeof x), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuParamSetv(f, 4090, &x, sizeof x), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuParamSetSize(f, 5000), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuLaunchGrid(f, 2, 2), CUDA_ERROR_INVALID_VALUE); /* fewer bytes than the parameters have */
    OK(cuParamSetSize(f, 16));
    CHECK_INT(cuLaunchGrid(f, 2, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchGrid(f, 2, 2));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    for (int i = 0; i < 8; i++) CHECK_INT(out[i], 100 * (i / 2 % 2) + 10 * (i / 4) + i % 2 + 3);
    OK(cuParamSeti(f, 12, 8));
    OK(cuLaunchGridAsync(f, 1, 2, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    CHECK_INT(out[3], 10 + 1 + 4);
    CHECK_INT(out[4], 10 + 3);
    OK(cuLaunch(f));
    OK(cuMemcpyDtoH(out, x, sizeof out));
    CHECK_INT(out[1], 1 + 4);
    CHECK_INT(cuFuncSetBlockShape(NULL, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    stop();
}
