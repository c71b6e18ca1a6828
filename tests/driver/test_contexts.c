/* Devices, contexts and errors: what there is before a context, the primary one, a program's own, each thread's. */
#include <pthread.h>
#include "tests/driver/program.h"

TEST(nothing_before_init)
{
    int n;
    CUdevice device;
    CUcontext c;
    CUdeviceptr p;
    OK(cuDriverGetVersion(&n));
    CHECK(n >= 13000);
    CHECK_INT(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuCtxCreate(&c, NULL, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuMemcpy(0, 0, 4), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_INITIALIZED);
    CUgraph g;
    CHECK_INT(cuGraphCreate(&g, 0), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_INT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    CHECK_INT(n, 1);
    CHECK_INT(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(what_the_device_says)
{
    CUdevice device;
    int v, major, minor;
    char name[128], bus[32];
    CUuuid id, again;
    size_t bytes, width;
    CUdevprop p;
    OK(cuInit(0));
    CHECK_INT(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGet(&device, 0));
    OK(cuDeviceGetName(name, sizeof name, device));
    CHECK(strlen(name) > 5);
    CHECK_INT(cuDeviceGetName(name, 0, device), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetUuid(&id, device));
    OK(cuDeviceGetUuid(&again, device));
    CHECK(memcmp(&id, &again, sizeof id) == 0);
    OK(cuDeviceTotalMem(&bytes, device));
    CHECK(bytes > 1 << 26);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
    CHECK_INT(cuDeviceGetPCIBusId(bus, 4, device), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetByPCIBusId(&device, bus));
    CHECK_INT(cuDeviceGetByPCIBusId(&device, "0000:7f:1f.0"), CUDA_ERROR_INVALID_DEVICE);
    CHECK_INT(cuDeviceGetByPCIBusId(&device, "nonsense"), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceComputeCapability(&major, &minor, device));
    CHECK(major >= 8);
    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++) OK(cuDeviceGetAttribute(&v, a, device));
    CHECK_INT(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MAX, device), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuDeviceGetAttribute(&v, 1, 3), CUDA_ERROR_INVALID_DEVICE);
    static const CUdevice_attribute some[] = {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                              CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
                                              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                              CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
                                              CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
                                              CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
                                              CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
                                              CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT,
                                              CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE};
    for (size_t i = 0; i < COUNT(some); i++) {
        OK(cuDeviceGetAttribute(&v, some[i], device));
        if (v <= 0) FAIL("attribute %d is %d", some[i], v);
    }
    OK(cuDeviceGetProperties(&p, device));
    CHECK_INT(p.SIMDWidth, 32);
    CHECK_INT(p.maxThreadsPerBlock, 1024);
    OK(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, device));
    CHECK(width > 1 << 20);
    OK(cuDeviceCanAccessPeer(&v, device, device));
    CHECK_INT(v, 0);
    CHECK_INT(cuDeviceCanAccessPeer(&v, device, 1), CUDA_ERROR_INVALID_DEVICE);
    CHECK_INT(cuDeviceGetP2PAttribute(&v, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, device),
              CUDA_ERROR_INVALID_DEVICE);
}

TEST(every_error_has_a_name_and_a_text)
{
    const char *text, *name;
    static const CUresult some[] = {CUDA_SUCCESS,
                                    CUDA_ERROR_INVALID_VALUE,
                                    CUDA_ERROR_UNSUPPORTED_LIMIT,
                                    CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                                    CUDA_ERROR_KEY_ROTATION,
                                    CUDA_ERROR_UNKNOWN};
    int known = 0;
    for (int code = 0; code < 1000; code++) {
        CUresult r = cuGetErrorName((CUresult)code, &name);
        CHECK_INT(cuGetErrorString((CUresult)code, &text), r);
        if (r == CUDA_SUCCESS) {
            CHECK(strncmp(name, "CUDA_", 5) == 0 && strlen(text) > 3);
            known++;
        } else {
            CHECK(r == CUDA_ERROR_INVALID_VALUE && !name && !text);
        }
    }
    CHECK(known >= 101);
    for (size_t i = 0; i < COUNT(some); i++) OK(cuGetErrorName(some[i], &name));
    OK(cuGetErrorName(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, &name));
    CHECK_STR(name, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD");
    CHECK_INT(cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
}

TEST(primary_context)
{
    CUcontext c, again, none;
    unsigned flags;
    int active;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK_INT(active, 0);
    CHECK_INT(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
    CHECK_INT(cuDevicePrimaryCtxSetFlags(0, 0x8000), CUDA_ERROR_INVALID_VALUE);
    OK(cuDevicePrimaryCtxRetain(&c, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(c == again);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active == 1 && flags == CU_CTX_SCHED_BLOCKING_SYNC);
    OK(cuCtxSetCurrent(c));
    OK(cuCtxGetFlags(&flags));
    CHECK_INT(flags, CU_CTX_SCHED_BLOCKING_SYNC);
    CHECK_INT(cuCtxDestroy(c), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(0));
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&none));
    CHECK(none == NULL);
}

/* As garbage collectors do, which come whenever they like. */
TEST(objects_go_without_a_current_context)
{
    CUcontext c = start();
    CUdeviceptr p, managed;
    void *pinned;
    CUstream s;
    CUevent e;
    CUmodule m = load("extern \"C\" __global__ void k() {}");
    static char own[4096];
    OK(cuMemAlloc(&p, 4));
    OK(cuMemAllocManaged(&managed, 4, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&pinned, 4));
    OK(cuMemHostRegister(own, sizeof own, 0));
    OK(cuStreamCreate(&s, 0));
    OK(cuEventCreate(&e, 0));
    OK(cuCtxSetCurrent(NULL));
    CHECK_INT(cuMemsetD8(p, 0, 4), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemFree(p));
    OK(cuMemFree(managed));
    OK(cuMemFreeHost(pinned));
    OK(cuMemHostUnregister(own));
    OK(cuStreamDestroy(s));
    OK(cuEventDestroy(e));
    OK(cuModuleUnload(m));
    OK(cuCtxSetCurrent(c));
    CHECK_INT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
    stop();
}

TEST(contexts_of_the_program)
{
    CUcontext a, b, now;
    CUdeviceptr in_a, in_b;
    CUevent event;
    CUstream stream;
    size_t before, after, total;
    CUdevice device = -1;
    unsigned version;
    unsigned long long id_a, id_b;
    OK(cuInit(0));
    CHECK_INT(cuCtxPopCurrent(&now), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(cuCtxCreate(&a, NULL, 0x8000, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuCtxCreate(&a, NULL, 0, 5), CUDA_ERROR_INVALID_DEVICE);
    OK(cuCtxCreate(&a, NULL, CU_CTX_SCHED_YIELD, 0));
    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAlloc(&in_a, 1 << 20));
    OK(cuCtxCreate(&b, NULL, 0, 0));
    CHECK(a != b);
    OK(cuCtxGetId(a, &id_a));
    OK(cuCtxGetId(NULL, &id_b));
    CHECK(id_a != id_b);
    OK(cuMemAlloc(&in_b, 1 << 20));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamCreate(&stream, 0));
    OK(cuCtxGetDevice(&device));
    CHECK_INT(device, 0);
    OK(cuCtxGetApiVersion(b, &version));
    CHECK(version >= 3020);
    OK(cuCtxPopCurrent(&now));
    CHECK(now == b);
    OK(cuCtxGetCurrent(&now));
    CHECK(now == a);
    CHECK_INT(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy(b)); /* with all that was made in it */
    CHECK_INT(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuMemFree(in_b), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuCtxPushCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(cuCtxDestroy(b), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemsetD8(in_a, 1, 1 << 20));
    OK(cuMemFree(in_a));
    OK(cuMemGetInfo(&after, &total));
    CHECK_INT(after, before);
    OK(cuCtxDestroy(a));
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST(limits_and_hints)
{
    size_t value;
    CUfunc_cache cache;
    CUsharedconfig banks;
    int least, greatest;
    start();
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value > 0);
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK_INT(value, 4096);
    OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 21));
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 24));
    CHECK_INT(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2), CUDA_ERROR_UNSUPPORTED_LIMIT);
    CHECK_INT(cuCtxSetLimit(CU_LIMIT_MAX, 2), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    OK(cuCtxGetCacheConfig(&cache));
    CHECK_INT(cache, CU_FUNC_CACHE_PREFER_L1);
    OK(cuCtxGetSharedMemConfig(&banks));
    OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest < 0);
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    stop();
}

static void *in_a_thread(void *context)
{
    CUcontext now;
    CUdeviceptr p;
    OK(cuCtxGetCurrent(&now));
    CHECK(now == NULL);
    CHECK_INT(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPushCurrent(context));
    OK(cuMemAlloc(&p, 4));
    OK(cuCtxPopCurrent(&now));
    CHECK(now == context);
    return NULL;
}

TEST(each_thread_has_its_own_current_context)
{
    CUcontext c = start();
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, in_a_thread, c), 0);
    pthread_join(thread, NULL);
    stop();
}

TEST(peers_and_what_is_not_there)
{
    CUcontext c = start();
    CUipcMemHandle handle;
    CUdeviceptr p;
    CUexternalMemory memory;
    CUmipmappedArray mipmapped;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = 4, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    OK(cuMemAlloc(&p, 4));
    CHECK_INT(cuCtxEnablePeerAccess(c, 0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(cuCtxDisablePeerAccess(c), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CHECK_INT(cuIpcGetMemHandle(&handle, p), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuImportExternalMemory(&memory, NULL), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuMipmappedArrayCreate(&mipmapped, &d, 2), CUDA_ERROR_NOT_SUPPORTED);
    CUipcEventHandle event_handle;
    CUevent event;
    CUtexref reference;
    CUarray sparse;
    int advice;
    d.Flags = CUDA_ARRAY3D_SPARSE;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_INT(cuIpcGetEventHandle(&event_handle, event), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuArray3DCreate(&sparse, &d), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuTexRefCreate(&reference), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuMemRangeGetAttribute(&advice, sizeof advice, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 4),
              CUDA_ERROR_NOT_SUPPORTED);
    stop();
}

TEST(nvidias_runtime_is_told_what_it_needs)
{
    char text[1000] = "";
    const void *table;
    const CUuuid ids[] = {{"anything at all"}, /* as of NVRTC */
                          {"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9"}};
    CUresult results[4];
    int saved = dup(2);
    FILE *f = tmpfile();
    CHECK(f && saved >= 0 && dup2(fileno(f), 2) == 2);
    for (int i = 0; i < 4; i++) {
        results[i] = cuGetExportTable(&table, &ids[i / 2]);
        if (i == 1) CHECK(lseek(fileno(f), 0, SEEK_END) == 0);
    }
    dup2(saved, 2);
    rewind(f);
    CHECK(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    for (int i = 0; i < 4; i++) CHECK_INT(results[i], CUDA_ERROR_NOT_SUPPORTED);
    CHECK(strstr(text, "nvcc -cudart shared") && strchr(text, '\n') == text + strlen(text) - 1);
}
