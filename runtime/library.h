/* Finding and opening the libraries that are loaded on first use: libcuda, NVRTC, cuBLAS, cuFFT, cuSOLVER,
 * OpenBLAS, ZeroMQ, zlib, libpng, NVTX.
 *
 * Places are tried in this order: the environment variable of the library (a file or a folder), the folder lib/ beside
 * the executable and PREFIX/lib/lunarray, build/cuda of a source tree, the loader's own path, the CUDA toolkit
 * (CUDA_HOME, CUDA_PATH, the folder of nvcc on PATH, /usr/local/cuda), NVIDIA's Python wheels (VIRTUAL_ENV,
 * CONDA_PREFIX, user and system site-packages), conda. The answer is remembered for the process; thread-safe. */
#ifndef RT_LIBRARY_H
#define RT_LIBRARY_H

#include "runtime/status.h"

enum rt_library_id {
    RT_LIB_CUDA,
    RT_LIB_NVRTC,
    RT_LIB_CUBLAS,
    RT_LIB_OPENBLAS,
    RT_LIB_ZMQ,
    RT_LIB_ZLIB,
    RT_LIB_PNG,
    RT_LIB_CUFFT,
    RT_LIB_CUSOLVER,
    RT_LIB_NVTX,
    RT_LIB_COUNT
};

struct rt_library {
    const char *name;     /* "NVRTC" */
    const char *variable; /* "LUNARRAY_NVRTC" */
    const char *advice;   /* how to get it, one line */
    void *handle;         /* dlopen's, NULL until opened */
    char *path;           /* resolved file, NULL when missing */
    char *tried;          /* what was tried, one per line */
};

/* Finds without loading: path is set where a file was found. For --info. */
const struct rt_library *rt_library_find(enum rt_library_id id);
/* Opens; NULL with RT_MISSING and a message: what, where it was looked for, how to get it. */
const struct rt_library *rt_library_open(enum rt_library_id id, struct rt_error *e);
/* A symbol of an opened library; NULL with RT_MISSING that names both. */
void *rt_library_symbol(const struct rt_library *l, const char *symbol, struct rt_error *e);
/* The folder with cuda_fp16.h and the other CUDA headers for kernels that include them, or NULL. */
const char *rt_cuda_include(void);

#endif
