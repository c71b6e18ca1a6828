#include "kernels/blas.h"
#include <pthread.h>
#include <stdlib.h>
#include "runtime/library.h"

/* OpenBLAS takes processors that it does not know, virtual ones among them, for very old ones, and is then ten times
 * slower. It reads this variable when it is loaded; a user's own setting stays. */
static void choose_core(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

void *kn_blas(const char *symbol, struct rt_error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_core);
    const struct rt_library *l = rt_library_open(RT_LIB_OPENBLAS, e);
    return l ? rt_library_symbol(l, symbol, e) : NULL;
}

void kn_blas_threads(int count)
{
    void (*set)(int) = (void (*)(int))kn_blas("openblas_set_num_threads", NULL);
    if (set) set(count);
}
