/* Virtual memory management: an array that grows in place, memory at two addresses, and what is refused. */
#include "tests/driver/program.h"
#include <unistd.h>

static const CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
static const CUmemAccessDesc both = {.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t piece_of(void)
{
    size_t piece;
    OK(cuMemGetAllocationGranularity(&piece, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    return piece;
}

/* Backs the range by new memory, whose handle only the mapping keeps. */
static void grow(CUdeviceptr at, size_t bytes)
{
    CUmemGenericAllocationHandle memory;
    OK(cuMemCreate(&memory, bytes, &kind, 0));
    OK(cuMemMap(at, bytes, 0, memory, 0));
    OK(cuMemSetAccess(at, bytes, &both, 1));
    OK(cuMemRelease(memory));
}

TEST(grows)
{
    start();
    CUfunction f =
        function_of(load("extern \"C\" __global__ void edge(int *x, int n) { x[n - 32 + threadIdx.x] += 1; }"), "edge");
    size_t piece = piece_of(), bytes;
    CUdeviceptr array, base;
    int n = (int)(piece / sizeof(int)) + 16, out[48];
    void *args[] = {&array, &n};
    OK(cuMemAddressReserve(&array, 4 * piece, 0, 0, 0));
    CHECK_INT(array % piece, 0);
    CHECK_INT(cuMemsetD32(array, 7, 1), CUDA_ERROR_INVALID_VALUE); /* nothing is there yet */
    grow(array, piece);
    CHECK_INT(cuMemsetD32(array, 7, (size_t)n), CUDA_ERROR_INVALID_VALUE);
    grow(array + piece, piece);
    OK(cuMemsetD32(array, 7, (size_t)n));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL)); /* one warp over both pieces */
    OK(cuMemcpyDtoH(out, array + sizeof(int) * (size_t)(n - 48), sizeof out));
    for (int i = 0; i < 48; i++) CHECK_INT(out[i], i < 16 ? 7 : 8);
    OK(cuMemGetAddressRange(&base, &bytes, array + piece));
    CHECK(base == array && bytes == 2 * piece);
    CUmemorytype type;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, array));
    CHECK_INT(type, CU_MEMORYTYPE_DEVICE);
    CHECK_INT(cuMemUnmap(array, piece / 2), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemAddressFree(array, 4 * piece), CUDA_ERROR_INVALID_VALUE); /* in use */
    OK(cuMemUnmap(array + piece, piece));
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    CHECK_INT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuMemUnmap(array, piece));
    CHECK_INT(cuMemUnmap(array, piece), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(array, 4 * piece));
    CHECK_INT(cuMemAddressFree(array, 4 * piece), CUDA_ERROR_INVALID_VALUE);
    stop();
}

TEST(memory_at_two_addresses)
{
    start();
    size_t piece = piece_of();
    CUmemGenericAllocationHandle memory, same, shared;
    CUmemAllocationProp got;
    CUdeviceptr a, b;
    unsigned long long access;
    CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    int fd, value = 0;
    OK(cuMemCreate(&memory, 2 * piece, &kind, 0));
    OK(cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&shared, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CHECK_INT(close(fd), 0);
    OK(cuMemAddressReserve(&a, 2 * piece, 8 * piece, 0, 0));
    CHECK_INT(a % (8 * piece), 0);
    OK(cuMemAddressReserve(&b, piece, 0, 0, 0));
    OK(cuMemMap(a, 2 * piece, 0, memory, 0));
    OK(cuMemMap(b, piece, 0, shared, 0));
    CHECK_INT(cuMemMap(b, piece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);         /* taken */
    CHECK_INT(cuMemMap(a, 2 * piece, piece, memory, 0), CUDA_ERROR_INVALID_VALUE); /* past its end */
    OK(cuMemGetAccess(&access, &device, b));
    CHECK_INT(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(a, 2 * piece, &both, 1));
    OK(cuMemSetAccess(b, piece, &both, 1));
    OK(cuMemGetAccess(&access, &device, b + 5));
    CHECK_INT(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD32(a, 11, 100));
    OK(cuMemcpyDtoH(&value, b + 4, sizeof value));
    CHECK_INT(value, 11);
    OK(cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)(a + piece)));
    CHECK(same == memory);
    OK(cuMemRelease(same));
    OK(cuMemGetAllocationPropertiesFromHandle(&got, memory));
    CHECK_INT(got.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuMemRelease(memory));
    OK(cuMemRelease(shared));
    OK(cuMemUnmap(a, 2 * piece));
    CHECK_INT(cuMemRelease(memory), CUDA_ERROR_INVALID_VALUE); /* it went with its mapping */
    OK(cuMemUnmap(b, piece));
    OK(cuMemAddressFree(a, 2 * piece));
    OK(cuMemAddressFree(b, piece));
    stop();
}

TEST(refused)
{
    start();
    size_t piece = piece_of();
    CUmemGenericAllocationHandle memory;
    CUmemAllocationProp other = kind;
    CUdeviceptr p;
    CHECK_INT(cuMemCreate(&memory, piece + 1, &kind, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemCreate(&memory, piece << 30, &kind, 0), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_INT(cuMemCreate(&memory, piece, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    other.location.id = 1;
    CHECK_INT(cuMemCreate(&memory, piece, &other, 0), CUDA_ERROR_INVALID_DEVICE);
    other.location.type = CU_MEM_LOCATION_TYPE_HOST;
    CHECK_INT(cuMemCreate(&memory, piece, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(cuMemAddressReserve(&p, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemAddressReserve(&p, piece, 3 * piece, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc(&p, piece));
    OK(cuMemCreate(&memory, piece, &kind, 0));
    CHECK_INT(cuMemMap(p, piece, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemSetAccess(p, piece, &both, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(cuMemUnmap(p, piece), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(memory));
    stop();
}
