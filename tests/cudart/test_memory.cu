// Memory, copies in all directions, variables, and what a pointer says of itself.
#include "tests/cudart/program.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

TEST(a_first_program)
{
    const int n = 10000;
    float h[n], *a, *b, *c;
    for (int i = 0; i < n; i++) h[i] = (float)i;
    OK(cudaMalloc(&a, sizeof h));
    OK(cudaMalloc(&b, sizeof h));
    OK(cudaMalloc(&c, sizeof h));
    OK(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, sizeof h, cudaMemcpyDeviceToDevice));
    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) CHECK_NEAR(h[i], 2.0 * i, 0);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(c));
}

// Where the kind is wrong the host would read what it cannot.
TEST(copies_whose_sides_are_not_what_they_say)
{
    int h[4] = {1, 2, 3, 4}, *d;
    OK(cudaMalloc(&d, sizeof h));
    REFUSES(cudaMemcpy(d, h, sizeof h, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    REFUSES(cudaMemcpy(h, d, sizeof h, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    REFUSES(cudaMemcpy(h, d, sizeof h, cudaMemcpyHostToHost), cudaErrorInvalidValue);
    REFUSES(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    REFUSES(cudaMemcpy(h, d, sizeof h, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    REFUSES(cudaMemcpy(d, h, 1 << 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy(d, h, sizeof h, cudaMemcpyDefault));
    OK(cudaMemcpy(h, d, 0, cudaMemcpyDeviceToHost));
    OK(cudaFree(d));
    REFUSES(cudaFree(d), cudaErrorInvalidValue);
}

TEST(allocations_that_do_not_work)
{
    void *p;
    OK(cudaMalloc(&p, 0));
    CHECK(p == NULL);
    OK(cudaFree(p));
    OK(cudaFreeHost(NULL));
    REFUSES(cudaMalloc((void **)NULL, 4), cudaErrorInvalidValue);
    REFUSES(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
    CHECK_STR(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    CHECK_STR(cudaGetErrorString((cudaError_t)12345), "unrecognized error code");
}

TEST(rows_and_boxes)
{
    char h[6][10], back[6][10], *d;
    size_t pitch;
    for (int i = 0; i < 60; i++) h[i / 10][i % 10] = (char)i;
    OK(cudaMallocPitch(&d, &pitch, 10, 6));
    CHECK(pitch >= 10);
    OK(cudaMemcpy2D(d, pitch, h, 10, 10, 6, cudaMemcpyHostToDevice));
    OK(cudaMemset2D(d + pitch, pitch, 7, 3, 2));
    OK(cudaMemcpy2D(back, 10, d, pitch, 10, 6, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 60; i++)
        CHECK_INT(back[i / 10][i % 10], i % 10 < 3 && (i / 10 == 1 || i / 10 == 2) ? 7 : i);
    REFUSES(cudaMemcpy2D(back, 5, d, pitch, 10, 6, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    OK(cudaFree(d));

    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(10, 3, 2)));
    OK(cudaMemset3D(box, 1, make_cudaExtent(10, 3, 2)));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(h, 10, 10, 3);
    p.dstPtr = box;
    p.dstPos = make_cudaPos(2, 1, 1);
    p.extent = make_cudaExtent(4, 2, 1);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    OK(cudaMemcpy2D(back, 10, box.ptr, box.pitch, 10, 6, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 60; i++) {
        int x = i % 10, y = i / 10; // rows 3, 4, 5 are the second slice
        CHECK_INT(back[y][x], x >= 2 && x < 6 && y >= 4 ? h[y - 4][x - 2] : 1);
    }
    OK(cudaFree(box.ptr));
}

__constant__ float coefficients[4];
__device__ int counter = 3;

__global__ void use(float *x)
{
    x[threadIdx.x] = coefficients[threadIdx.x];
    atomicAdd(&counter, 1);
}

TEST(variables)
{
    float h[4] = {1, 2, 3, 4}, *x = managed<float>(4);
    int n = 0;
    void *address;
    size_t bytes;
    OK(cudaMemcpyToSymbol(coefficients, h, sizeof h));
    OK(cudaMemcpyToSymbol(coefficients, h, 4, 12));
    use<<<1, 4>>>(x);
    OK(cudaMemcpyFromSymbol(&n, counter, sizeof n));
    CHECK_INT(n, 7);
    CHECK_NEAR(x[2], 3, 0);
    CHECK_NEAR(x[3], 1, 0);
    OK(cudaGetSymbolAddress(&address, counter));
    OK(cudaGetSymbolSize(&bytes, coefficients));
    CHECK_INT(bytes, 16);
    n = 100;
    OK(cudaMemcpy(address, &n, sizeof n, cudaMemcpyHostToDevice));
    n = 0;
    OK(cudaMemcpyFromSymbol(&n, counter, sizeof n));
    CHECK_INT(n, 100);
    REFUSES(cudaMemcpyToSymbol(coefficients, h, sizeof h, 4), cudaErrorInvalidValue);
    REFUSES(cudaMemcpyToSymbol(&n, h, sizeof h), cudaErrorInvalidSymbol);
    OK(cudaFree(x));
}

__managed__ int total = 5;
__device__ __managed__ double pi = 3.25;

struct node {
    int value;
    node *next;
};

__global__ void walk(const node *n)
{
    for (; n; n = n->next) total += n->value;
    pi *= 2;
}

TEST(managed_memory_and_variables)
{
    node *list = NULL;
    for (int i = 1; i <= 10; i++) {
        node *n = managed<node>(1);
        *n = (node){i, list};
        list = n;
    }
    CHECK_INT(total, 5);
    total = 1000;
    walk<<<1, 1>>>(list);
    OK(cudaDeviceSynchronize());
    CHECK_INT(total, 1055);
    CHECK_NEAR(pi, 6.5, 0);
    int n = 8;
    void *address;
    OK(cudaMemcpyToSymbol(total, &n, sizeof n));
    CHECK_INT(total, 8);
    OK(cudaGetSymbolAddress(&address, total));
    CHECK(address == &total);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPrefetchAsync(list, sizeof *list, here, 0, 0));
    OK(cudaMemAdvise(list, sizeof *list, cudaMemAdviseSetReadMostly, here));
    while (list) {
        node *next = list->next;
        OK(cudaFree(list));
        list = next;
    }
}

TEST(what_pointers_say)
{
    cudaPointerAttributes a;
    int local, *d, *pinned, *m = managed<int>(1);
    OK(cudaMalloc(&d, 4));
    OK(cudaMallocHost(&pinned, 4));
    OK(cudaPointerGetAttributes(&a, d));
    CHECK_INT(a.type, cudaMemoryTypeDevice);
    CHECK(a.devicePointer == d && a.hostPointer == NULL && a.device == 0);
    OK(cudaPointerGetAttributes(&a, pinned));
    CHECK_INT(a.type, cudaMemoryTypeHost);
    CHECK(a.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&a, m));
    CHECK_INT(a.type, cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&a, &total));
    CHECK_INT(a.type, cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&a, &local));
    CHECK_INT(a.type, cudaMemoryTypeUnregistered);
    OK(cudaFree(d));
    OK(cudaFree(m));
    OK(cudaFreeHost(pinned));
}
