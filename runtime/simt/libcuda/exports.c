/* Looking functions up by name, and the functions that are there to be found and refused. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "runtime/simt/libcuda/libcuda.h"

CUresult libcuda_refused(void);
CUresult libcuda_refused(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* NVIDIA's own runtime asks for tables that nobody documents, this one first, and then gives its caller an error that
 * says nothing. NVRTC asks for another and does without. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static const unsigned char runtime[] = {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e,
                                            0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9};
    static atomic_flag told = ATOMIC_FLAG_INIT;
    (void)table;
    if (id && memcmp(id->bytes, runtime, sizeof runtime) == 0 && !atomic_flag_test_and_set(&told))
        fputs(
            "lunarray: NVIDIA's CUDA runtime is in this program, or in a library of it such as cuBLAS, and needs NVIDIA's "
            "driver: nvcc -cudart shared builds a program without it\n",
            stderr);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Code that is good but not for the software GPU: the program hears no more than a number, so its user is told, once.
 */
static void tell_lack(const char *why, CUresult returned)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (returned == CUDA_ERROR_NOT_SUPPORTED && !atomic_flag_test_and_set(&told))
        fprintf(stderr, "lunarray: %s\n", why);
}

__attribute__((constructor)) static void start(void)
{
    if (!simt_watch.refuse) simt_watch.refuse = tell_lack; /* else check.c tells all */
}

/* Names of our own for all symbols, whatever they are declared as elsewhere; a refused one is defined by that. */
#define HAVE(name, suffix, since, twin)       extern CUresult symbol_##name##suffix(void) __asm__(#name #suffix);
#define SAME(name, suffix, since, twin, same) HAVE(name, suffix, since, twin)
#define REFUSED(name, suffix, since, twin)                                                                             \
    extern CUresult symbol_##name##suffix(void) __asm__(#name #suffix)                                                 \
        __attribute__((alias("libcuda_refused"), visibility("default")));
#define GRAPHICS REFUSED
#include "runtime/simt/libcuda/symbols.def"
#undef HAVE
#undef SAME
#undef REFUSED

static const struct symbol {
    const char *name; /* without the version's suffix */
    int since;
    CUresult (*function)(void);
} symbols[] = {
#define HAVE(name, suffix, since, twin)       {#name, since, symbol_##name##suffix},
#define SAME(name, suffix, since, twin, same) HAVE(name, suffix, since, twin)
#define REFUSED(name, suffix, since, twin)    HAVE(name, suffix, since, twin)
#include "runtime/simt/libcuda/symbols.def"
};

/* The newest function of the name that the version knows. The per-thread default stream's twins are the same. */
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    const struct symbol *found = NULL;
    bool there = false;
    if (!name || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const struct symbol *s = &symbols[i];
        if (strcmp(s->name, name) != 0) continue;
        there = true;
        if (s->since <= version && (!found || s->since >= found->since)) found = s;
    }
    *function = found ? (void *)found->function : NULL;
    if (status)
        *status = found   ? CU_GET_PROC_ADDRESS_SUCCESS
                  : there ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
