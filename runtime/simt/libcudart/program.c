/* The program's device code. The host code that nvcc generates registers fat binaries before main begins, and for each
 * kernel and variable a host address that stands for it. A fat binary is loaded when something in it is used first, so
 * that a program without launches takes no time, and errors come from calls that can return them. */
#include "runtime/simt/libcudart/libcudart.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/fatbin_layout.h"

struct image {
    const struct simt_fatbin_wrapper *wrapper;
    CUlibrary library; /* NULL: not loaded */
    struct image *next;
};
struct symbol {
    const void *host;
    const char *name; /* as in the PTX */
    struct image *image;
    void **managed;  /* where the program keeps the address of a managed variable */
    size_t bytes;    /* of that */
    void *spare;     /* what stands in for it where the program could not be loaded */
    CUkernel kernel; /* once it was asked for */
    struct symbol *next;
};

#define BUCKETS 1024
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image *images;
static struct symbol *symbols[BUCKETS];

static struct symbol **bucket(const void *host)
{
    return &symbols[((uintptr_t)host * UINT64_C(0x9E3779B97F4A7C15)) >> 54];
}

static struct symbol *find(const void *host)
{
    struct symbol *s = *bucket(host);
    while (s && s->host != host) s = s->next;
    return s;
}

/* The name of a managed variable is its memory to the program, so that it comes as the variable's address, too. */
static struct symbol *find_variable(const void *host)
{
    struct symbol *found = find(host);
    for (size_t b = 0; b < BUCKETS && !found; b++)
        for (struct symbol *s = symbols[b]; s; s = s->next)
            if (s->managed && host && *s->managed == host) found = s;
    return found;
}

/* ---- Loading; all of it under the lock ---- */

static size_t fatbin_bytes(const void *image)
{
    struct simt_fatbin_header h;
    memcpy(&h, image, sizeof h);
    return h.header_bytes + h.bytes;
}

/* Of a program whose parts were compiled apart (nvcc -rdc=true) the wrapper lists the parts. */
static cudaError_t link_parts(CUlinkState state, void *const *parts, void **linked)
{
    size_t bytes;
    for (; *parts; parts++)
        TRY(cuLinkAddData(state, CU_JIT_INPUT_FATBINARY, *parts, fatbin_bytes(*parts), NULL, 0, NULL, NULL));
    return (cudaError_t)cuLinkComplete(state, linked, &bytes);
}

static cudaError_t load_linked(struct image *i)
{
    CUlinkState state;
    void *linked;
    TRY(cuLinkCreate(0, NULL, NULL, &state));
    cudaError_t r = link_parts(state, i->wrapper->parts, &linked);
    if (r == cudaSuccess) r = (cudaError_t)cuLibraryLoadData(&i->library, linked, NULL, NULL, 0, NULL, NULL, 0);
    cuLinkDestroy(state);
    return r;
}

static cudaError_t place_managed(struct image *i)
{
    CUdeviceptr address;
    size_t bytes;
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; s; s = s->next) {
            if (s->image != i || !s->managed) continue;
            TRY(cuLibraryGetManaged(&address, &bytes, i->library, s->name));
            *s->managed = (void *)(uintptr_t)address;
        }
    return cudaSuccess;
}

/* Host code that uses a managed variable lives to see that its launches fail. */
static void place_spares(struct image *i)
{
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; s; s = s->next) {
            if (s->image != i || !s->managed || s->spare) continue;
            *s->managed = s->spare = calloc(1, s->bytes + 1);
        }
}

static cudaError_t load(struct image *i)
{
    if (i->library) return cudaSuccess;
    bool apart = i->wrapper->version == SIMT_FATBIN_PARTS && i->wrapper->parts;
    if (apart)
        TRY(load_linked(i));
    else
        TRY(cuLibraryLoadData(&i->library, i->wrapper, NULL, NULL, 0, NULL, NULL, 0));
    return place_managed(i);
}

static void unload(struct image *i)
{
    if (i->library) cuLibraryUnload(i->library);
    i->library = NULL;
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; s; s = s->next)
            if (s->image == i) s->kernel = NULL;
}

void cudart_unload_program(void)
{
    pthread_mutex_lock(&lock);
    for (struct image *i = images; i; i = i->next) unload(i);
    pthread_mutex_unlock(&lock);
}

/* ---- Looking up ---- */

static cudaError_t kernel_of(CUkernel *kernel, struct symbol *s)
{
    TRY(load(s->image));
    CUresult r = s->kernel ? CUDA_SUCCESS : cuLibraryGetKernel(&s->kernel, s->image->library, s->name);
    *kernel = s->kernel;
    return r == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)r;
}

/* What is no kernel of the program may be a handle that the driver gave. */
cudaError_t cudart_find_kernel(CUkernel *kernel, const void *function)
{
    CUfunction f;
    if (!kernel) return cudaErrorInvalidValue;
    pthread_mutex_lock(&lock);
    struct symbol *s = find(function);
    cudaError_t r = s ? kernel_of(kernel, s) : cudaErrorInvalidDeviceFunction;
    pthread_mutex_unlock(&lock);
    if (s || !function) return r;
    *kernel = (CUkernel)(uintptr_t)function;
    return cuKernelGetFunction(&f, *kernel) == CUDA_SUCCESS ? cudaSuccess : r;
}

cudaError_t cudart_find_function(CUfunction *f, const void *function)
{
    CUkernel kernel;
    if (!f) return cudaErrorInvalidValue;
    TRY(cudart_find_kernel(&kernel, function));
    return (cudaError_t)cuKernelGetFunction(f, kernel);
}

const void *cudart_host_function(CUfunction f)
{
    CUfunction of;
    const void *host = f;
    pthread_mutex_lock(&lock);
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; s; s = s->next)
            if (s->kernel && cuKernelGetFunction(&of, s->kernel) == CUDA_SUCCESS && of == f) host = s->host;
    pthread_mutex_unlock(&lock);
    return host;
}

cudaError_t cudart_find_variable(CUdeviceptr *address, size_t *bytes, const void *host)
{
    pthread_mutex_lock(&lock);
    struct symbol *s = find_variable(host);
    cudaError_t r = s ? load(s->image) : cudaErrorInvalidSymbol;
    if (r == cudaSuccess) {
        CUresult found = cuLibraryGetGlobal(address, bytes, s->image->library, s->name);
        r = found == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)found;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

cudaError_t cudart_find_part(void **address, const void *symbol, size_t offset, size_t count)
{
    CUdeviceptr start;
    size_t bytes;
    TRY(cudart_find_variable(&start, &bytes, symbol));
    if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
    *address = (void *)(uintptr_t)(start + offset);
    return cudaSuccess;
}

/* ---- What the generated host code calls, as nvcc's crt/host_runtime.h and crt/device_functions.h declare it ---- */

#define EXPORT __attribute__((visibility("default")))
EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads,
                                   void *tid, void *bid, void *block, void *grid, int *warp);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size,
                              int constant, int global);
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                                     int constant, int global);
EXPORT char __cudaInitModule(void **handle);
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct image *i = calloc(1, sizeof *i);
    if (!i) abort(); /* before main: there is nobody to tell */
    i->wrapper = wrapper;
    pthread_mutex_lock(&lock);
    i->next = images;
    images = i;
    pthread_mutex_unlock(&lock);
    return (void **)i;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

static void register_symbol(void **handle, const void *host, const char *name, void **managed, size_t bytes)
{
    struct symbol *s = calloc(1, sizeof *s);
    if (!s) abort();
    *s = (struct symbol){
        .host = host, .name = name, .image = (struct image *)handle, .managed = managed, .bytes = bytes};
    pthread_mutex_lock(&lock);
    s->next = *bucket(host);
    *bucket(host) = s;
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *tid,
                            void *bid, void *block, void *grid, int *warp)
{
    (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    register_symbol(handle, host, name, NULL, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global)
{
    (void)device, (void)ext, (void)size, (void)constant, (void)global;
    register_symbol(handle, host, name, NULL, 0);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                              int constant, int global)
{
    (void)device, (void)ext, (void)constant, (void)global;
    register_symbol(handle, host, name, host, size);
}

/* Called before host code touches a managed variable. */
char __cudaInitModule(void **handle)
{
    cudaError_t r = cudart_begin();
    pthread_mutex_lock(&lock);
    if (r == cudaSuccess) r = load((struct image *)handle);
    if (r != cudaSuccess) place_spares((struct image *)handle);
    pthread_mutex_unlock(&lock);
    return cudart_end(r) == cudaSuccess;
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct image *image = (struct image *)handle;
    pthread_mutex_lock(&lock);
    unload(image);
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct symbol **at = &symbols[b]; *at;) {
            struct symbol *s = *at;
            if (s->image == image) {
                *at = s->next;
                free(s->spare);
                free(s);
            } else {
                at = &s->next;
            }
        }
    struct image **at = &images;
    while (*at && *at != image) at = &(*at)->next;
    if (*at) *at = image->next;
    pthread_mutex_unlock(&lock);
    free(image);
}

/* The stub of a kernel keeps what this gives for good, and a reset changes the driver's handles: it gets the address
 * that stands for the kernel, which __cudaLaunchKernel looks up again. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    *kernel = (cudaKernel_t)(uintptr_t)function;
    return cudaSuccess;
}
