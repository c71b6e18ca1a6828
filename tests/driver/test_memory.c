/* Memory of every kind, and all ways to copy and fill it. */
#include "tests/driver/program.h"

static const char source[] = "extern \"C\" __global__ void add_one(int *x, int n) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] += 1;\n"
                             "}\n"
                             "extern \"C\" __global__ void sum(const int *x, int n, int *total) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) atomicAdd(total, x[i]);\n"
                             "}\n";

static void add_one(CUfunction f, CUdeviceptr x, int n)
{
    void *parameters[] = {&x, &n};
    OK(cuLaunchKernel(f, (unsigned)(n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    OK(cuCtxSynchronize());
}

TEST(plain_allocations)
{
    start();
    CUdeviceptr p, base;
    size_t bytes, total, before, after;
    char in[1000], out[1000];
    for (int i = 0; i < 1000; i++) in[i] = (char)i;
    OK(cuMemGetInfo(&before, &total));
    CHECK_INT(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemAlloc(NULL, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemAlloc(&p, (size_t)1 << 60), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 1000));
    CHECK_INT(p % 256, 0);
    OK(cuMemGetAddressRange(&base, &bytes, p + 77));
    CHECK(base == p && bytes == 1000);
    OK(cuMemGetInfo(&after, &total));
    CHECK(after < before);
    OK(cuMemcpyHtoD(p, in, 1000));
    OK(cuMemcpyDtoD(p + 500, p, 100));
    OK(cuMemcpyDtoH(out, p, 1000));
    CHECK(memcmp(out, in, 500) == 0 && memcmp(out + 500, in, 100) == 0 && memcmp(out + 600, in + 600, 400) == 0);
    CHECK_INT(cuMemcpyHtoD(p + 1, in, 1000), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemcpyHtoD(p, NULL, 10), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemFree(p + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    CHECK_INT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemGetAddressRange(&base, &bytes, p), CUDA_ERROR_NOT_FOUND);
    OK(cuMemFree(0));
    OK(cuMemGetInfo(&after, &total));
    CHECK_INT(after, before);
    stop();
}

TEST(copies_that_know_by_the_address)
{
    CUcontext c = start();
    CUdeviceptr p, q;
    CUstream s;
    char in[100], out[100] = "";
    memset(in, 7, sizeof in);
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&p, 100));
    OK(cuMemAlloc(&q, 100));
    OK(cuMemcpy(p, (CUdeviceptr)(uintptr_t)in, 100));
    OK(cuMemcpyAsync(q, p, 100, s));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)out, q, 100));
    CHECK(memcmp(in, out, 100) == 0);
    OK(cuMemcpyPeer(p, c, q, c, 100));
    OK(cuMemcpyPeerAsync(p, c, q, c, 100, s));
    CHECK_INT(cuMemcpyPeer(p, NULL, q, c, 100), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_INT(cuMemcpyAsync(q, p, 100, (CUstream)in), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuMemcpy(q, p, 101), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(fills)
{
    start();
    CUdeviceptr p;
    unsigned char b[64];
    size_t pitch = 16;
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8(p, 0, 64));
    OK(cuMemsetD16(p + 2, 0x1234, 3));
    OK(cuMemsetD32(p + 16, 0xAABBCCDD, 2));
    OK(cuMemsetD2D8(p + 32, pitch, 5, 3, 2));
    OK(cuMemcpyDtoH(b, p, 64));
    CHECK(b[0] == 0 && b[2] == 0x34 && b[3] == 0x12 && b[7] == 0x12 && b[8] == 0);
    CHECK(b[16] == 0xDD && b[23] == 0xAA && b[24] == 0);
    CHECK(b[32] == 5 && b[34] == 5 && b[35] == 0 && b[48] == 5 && b[50] == 5 && b[51] == 0);
    OK(cuMemsetD2D16Async(p, pitch, 0x0102, 2, 4, NULL));
    OK(cuMemsetD2D32(p + 8, pitch, 9, 1, 2));
    OK(cuMemsetD16Async(p + 62, 0xFFFF, 1, CU_STREAM_PER_THREAD));
    OK(cuMemcpyDtoH(b, p, 64));
    CHECK(b[0] == 2 && b[1] == 1 && b[48] == 2 && b[8] == 9 && b[24] == 9 && b[62] == 0xFF);
    CHECK_INT(cuMemsetD16(p + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemsetD8(p, 0, 65), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemsetD2D8(p, 2, 0, 3, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD32(p, 0, 0));
    stop();
}

TEST(long_fills_are_whole)
{
    enum { BYTES = (9 << 20) + 12 };
    static unsigned char b[BYTES];
    static const unsigned values[] = {0x5A, 0xABCD, 0x7777, 0x01020304, 0x33333333, 0};
    static const unsigned sizes[] = {1, 2, 2, 4, 4, 4};
    start();
    CUdeviceptr p;
    OK(cuMemAlloc(&p, BYTES));
    for (int k = 0; k < 6; k++) {
        unsigned size = sizes[k];
        OK(cuMemsetD8(p, 0xEE, BYTES));
        if (size == 1)
            OK(cuMemsetD8(p + 4, (unsigned char)values[k], BYTES - 8));
        else if (size == 2)
            OK(cuMemsetD16(p + 4, (unsigned short)values[k], (BYTES - 8) / 2));
        else
            OK(cuMemsetD32(p + 4, values[k], (BYTES - 8) / 4));
        OK(cuMemcpyDtoH(b, p, BYTES));
        for (size_t n = 0; n < BYTES; n++) {
            unsigned want = n < 4 || n >= BYTES - 4 ? 0xEE : values[k] >> 8 * (n % size) & 0xFF;
            if (b[n] != want) FAIL("elements of %u bytes: byte %zu is %u, not %u", size, n, b[n], want);
        }
    }
    OK(cuMemFree(p));
    stop();
}

TEST(pitched_memory_and_rectangles)
{
    start();
    enum { W = 37, H = 11 };
    CUdeviceptr p;
    size_t pitch;
    float in[H][W], out[H][W] = {{0}}, part[3][5];
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) in[y][x] = (float)(y * 100 + x);
    }
    CHECK_INT(cuMemAllocPitch(&p, &pitch, 0, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemAllocPitch(&p, &pitch, 8, 1, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocPitch(&p, &pitch, sizeof in[0], H, 4));
    CHECK(pitch >= sizeof in[0]);
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = in,
                       .srcPitch = sizeof in[0],
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = p,
                       .dstPitch = pitch,
                       .WidthInBytes = sizeof in[0],
                       .Height = H};
    OK(cuMemcpy2D(&c));
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = p,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = sizeof out[0],
                          .WidthInBytes = sizeof out[0],
                          .Height = H};
    OK(cuMemcpy2DAsync(&back, NULL));
    CHECK(memcmp(in, out, sizeof in) == 0);
    back.srcXInBytes = 2 * sizeof(float), back.srcY = 4;
    back.dstHost = part, back.dstPitch = sizeof part[0];
    back.WidthInBytes = sizeof part[0], back.Height = 3;
    OK(cuMemcpy2DUnaligned(&back));
    CHECK(part[0][0] == in[4][2] && part[2][4] == in[6][6]);
    back.srcY = H - 2;
    CHECK_INT(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE); /* past the last row */
    back.srcY = 0, back.srcPitch = 8;
    CHECK_INT(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE); /* rows overlap */
    CHECK_INT(cuMemcpy2D(NULL), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(boxes)
{
    start();
    enum { W = 8, H = 6, D = 4 };
    CUdeviceptr p;
    int in[D][H][W], out[2][3][4];
    for (int i = 0; i < D * H * W; i++) (&in[0][0][0])[i] = i;
    OK(cuMemAlloc(&p, sizeof in));
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = in,
                       .srcPitch = W * sizeof(int),
                       .srcHeight = H,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = p,
                       .dstPitch = W * sizeof(int),
                       .dstHeight = H,
                       .WidthInBytes = W * sizeof(int),
                       .Height = H,
                       .Depth = D};
    OK(cuMemcpy3D(&c));
    CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = p,
                          .srcXInBytes = 3 * sizeof(int),
                          .srcY = 2,
                          .srcZ = 1,
                          .srcPitch = W * sizeof(int),
                          .srcHeight = H,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = sizeof out[0][0],
                          .dstHeight = 3,
                          .WidthInBytes = sizeof out[0][0],
                          .Height = 3,
                          .Depth = 2};
    OK(cuMemcpy3DAsync(&back, NULL));
    for (int z = 0; z < 2; z++) {
        for (int y = 0; y < 3; y++) {
            for (int x = 0; x < 4; x++) CHECK_INT(out[z][y][x], in[z + 1][y + 2][x + 3]);
        }
    }
    back.srcZ = 3;
    CHECK_INT(cuMemcpy3D(&back), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(host_memory_that_kernels_use)
{
    start();
    CUmodule m = load(source);
    CUfunction f = function_of(m, "add_one");
    int *host, plain[300];
    CUdeviceptr p;
    unsigned flags;
    OK(cuMemHostAlloc((void **)&host, 300 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED));
    for (int i = 0; i < 300; i++) host[i] = plain[i] = i;
    OK(cuMemHostGetDevicePointer(&p, host, 0));
    add_one(f, p, 300);
    for (int i = 0; i < 300; i++) CHECK_INT(host[i], i + 1);
    OK(cuMemHostGetFlags(&flags, host));
    CHECK(flags & CU_MEMHOSTALLOC_WRITECOMBINED);
    CHECK_INT(cuMemHostGetDevicePointer(&p, plain, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemHostUnregister(plain), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostRegister(plain, sizeof plain, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK_INT(cuMemHostRegister(plain + 10, 8, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&p, plain, 0));
    add_one(f, p, 300);
    CHECK(plain[0] == 1 && plain[299] == 300);
    OK(cuMemHostUnregister(plain));
    void *parameters[] = {&p, &(int){300}};
    OK(cuLaunchKernel(f, 3, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL)); /* unmapped */
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK_INT(cuMemHostRegister((void *)4096, 100, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
    CHECK_INT(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocHost((void **)&host, 16));
    stop();
}

TEST(managed_memory)
{
    start();
    CUmodule m = load(source);
    CUdeviceptr p, total;
    enum { N = 5000 };
    CHECK_INT(cuMemAllocManaged(&p, 4, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&p, N * sizeof(int), CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocManaged(&total, sizeof(int), CU_MEM_ATTACH_HOST));
    int *x = (int *)(uintptr_t)p, n = N; /* both use the same address */
    for (int i = 0; i < N; i++) x[i] = i;
    OK(cuMemPrefetchAsync(p, N * sizeof(int), (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, NULL));
    OK(cuMemAdvise(p, N * sizeof(int), CU_MEM_ADVISE_SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}));
    CHECK_INT(cuMemPrefetchAsync(p, N * sizeof(int) + 1, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, NULL),
              CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemPrefetchAsync(p, 4, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 7}, 0, NULL),
              CUDA_ERROR_INVALID_DEVICE);
    add_one(function_of(m, "add_one"), p, N);
    void *parameters[] = {&p, &n, &total};
    OK(cuLaunchKernel(function_of(m, "sum"), 40, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    OK(cuCtxSynchronize());
    CHECK_INT(x[N - 1], N);
    CHECK_INT(*(int *)(uintptr_t)total, N * (N + 1) / 2);
    OK(cuMemsetD32(p, 3, N));
    CHECK_INT(x[N / 2], 3);
    OK(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_GLOBAL));
    CHECK_INT(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuStreamAttachMemAsync(NULL, p, 4, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    CHECK_INT(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(what_a_pointer_says)
{
    CUcontext c = start(), of;
    CUdeviceptr p, q, managed, start_of;
    unsigned type, is_managed, mapped;
    int plain, ordinal;
    void *host;
    size_t size;
    unsigned long long id, other;
    OK(cuMemAlloc(&p, 256));
    OK(cuMemAlloc(&q, 256));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost(&host, 64));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 5));
    CHECK_INT(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    CHECK(of == c);
    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, q));
    CHECK(id != other);
    OK(cuPointerGetAttribute(&start_of, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 9));
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 9));
    CHECK(start_of == p && size == 256);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host));
    CHECK_INT(type, CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    CHECK_INT(is_managed, 1);
    CHECK_INT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&plain),
              CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p), CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_MAPPED};
    void *data[] = {&type, &ordinal, &mapped};
    OK(cuPointerGetAttributes(3, list, data, q));
    CHECK(type == CU_MEMORYTYPE_DEVICE && ordinal == 0 && mapped == 1);
    OK(cuPointerGetAttributes(2, list, data, (CUdeviceptr)(uintptr_t)&plain));
    CHECK(type == 0 && ordinal == CU_DEVICE_INVALID);
    stop();
}

TEST(pools_and_allocation_in_a_streams_order)
{
    start();
    CUmemoryPool pool, now, own;
    CUdeviceptr p, q;
    CUstream s;
    cuuint64_t used, threshold = 1 << 20;
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, .maxSize = 1000};
    OK(cuStreamCreate(&s, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuDeviceGetMemPool(&now, 0));
    CHECK(pool == now);
    OK(cuMemAllocAsync(&p, 5000, s));
    OK(cuMemsetD8Async(p, 1, 5000, s));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK_INT(used, 5000);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK_INT(used, 0);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    CHECK_INT(used, 5000);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &used));
    CHECK_INT(used, threshold);
    OK(cuMemPoolTrimTo(pool, 0));
    CHECK_INT(cuMemFreeAsync(p, s), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocAsync(&p, 0, s));
    CHECK_INT(p, 0);
    OK(cuMemFreeAsync(p, s));
    OK(cuMemPoolCreate(&own, &props));
    OK(cuMemAllocFromPoolAsync(&p, 600, own, s));
    CHECK_INT(cuMemAllocFromPoolAsync(&q, 600, own, s), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK(now == own);
    OK(cuDeviceSetMemPool(0, own));
    OK(cuMemAllocAsync(&q, 100, s));
    OK(cuMemFree(q));
    OK(cuMemPoolDestroy(own)); /* an allocation lives on */
    OK(cuDeviceGetMemPool(&now, 0));
    CHECK(now == pool);
    OK(cuMemFreeAsync(p, s));
    CHECK_INT(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
    props.location.id = 3;
    CHECK_INT(cuMemPoolCreate(&own, &props), CUDA_ERROR_INVALID_DEVICE);
    stop();
}

TEST(copies_in_a_batch)
{
    start();
    CUstream s;
    CUdeviceptr p;
    unsigned char in[3][8] = {"first", "second", "third"}, out[3][8];
    size_t bytes[] = {8, 8, 8}, first = 0;
    CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    OK(cuStreamCreate(&s, 0));
    OK(cuMemAlloc(&p, sizeof in));
    CUdeviceptr host[3], device[3], back[3];
    for (int i = 0; i < 3; i++) {
        host[i] = (uintptr_t)in[i], device[i] = p + 8 * (unsigned)(2 - i), back[i] = (uintptr_t)out[i];
    }
    OK(cuMemcpyBatchAsync(device, host, bytes, 3, &how, &first, 1, s));
    OK(cuMemcpyBatchAsync(back, device, bytes, 3, &how, &first, 1, s));
    CHECK(memcmp(in, out, sizeof in) == 0);
    CHECK_INT(cuMemcpyBatchAsync(back, device, bytes, 3, &how, &first, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemcpyBatchAsync(back, device, bytes, 3, &how, &first, 4, s), CUDA_ERROR_INVALID_VALUE);
    bytes[2] = 80;
    CHECK_INT(cuMemcpyBatchAsync(device, host, bytes, 3, &how, &first, 1, s), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(arrays)
{
    start();
    enum { W = 5, H = 3 };
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = {.Width = W, .Height = H, .Format = CU_AD_FORMAT_SIGNED_INT16, .NumChannels = 2}, got;
    CUDA_ARRAY3D_DESCRIPTOR d3 = {.Width = 4, .Height = 4, .Depth = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    short in[H][W][2], out[H][W][2];
    for (int i = 0; i < H * W * 2; i++) (&in[0][0][0])[i] = (short)(i - 7);
    OK(cuArrayCreate(&a, &d));
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = in,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = a,
                       .WidthInBytes = sizeof in[0],
                       .Height = H};
    OK(cuMemcpy2D(&c));
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = a,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .WidthInBytes = sizeof in[0],
                          .Height = H};
    OK(cuMemcpy2D(&back));
    CHECK(memcmp(in, out, sizeof in) == 0);
    OK(cuMemcpyAtoH(out, a, 4, 8));
    CHECK(memcmp(out, in[0][1], 8) == 0);
    OK(cuMemcpyHtoA(a, 0, out, 8));
    CHECK_INT(cuMemcpyAtoH(out, a, 4, sizeof in[0]), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemcpyAtoH(out, a, 2, 4), CUDA_ERROR_INVALID_VALUE); /* half an element */
    back.Height = H + 1;
    CHECK_INT(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayGetDescriptor(&got, a));
    CHECK(got.Width == W && got.Height == H && got.NumChannels == 2);
    OK(cuArrayDestroy(a));
    CHECK_INT(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(cuMemcpyAtoH(out, a, 0, 4), CUDA_ERROR_INVALID_HANDLE);
    d.NumChannels = 3;
    CHECK_INT(cuArrayCreate(&a, &d), CUDA_ERROR_INVALID_VALUE);
    d.NumChannels = 1, d.Width = 0;
    CHECK_INT(cuArrayCreate(&a, &d), CUDA_ERROR_INVALID_VALUE);
    OK(cuArray3DCreate(&a, &d3));
    OK(cuArray3DGetDescriptor(&d3, a));
    CHECK_INT(d3.Depth, 4);
    d3.Width = 100000;
    CHECK_INT(cuArray3DCreate(&a, &d3), CUDA_ERROR_INVALID_VALUE);
    d3.Width = 4, d3.Format = CU_AD_FORMAT_NV12;
    CHECK_INT(cuArray3DCreate(&a, &d3), CUDA_ERROR_NOT_SUPPORTED);
    stop();
}
