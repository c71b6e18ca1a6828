#include "runtime/nvtx.h"

#include <pthread.h>
#include <stddef.h>
#include "runtime/library.h"

static int (*push)(const char *name);
static int (*pop)(void);
static void (*mark)(const char *name);

static void open_library(void)
{
    const struct rt_library *l = rt_library_open(RT_LIB_NVTX, NULL);
    if (!l) return;
    push = (int (*)(const char *))rt_library_symbol(l, "nvtxRangePushA", NULL);
    pop = (int (*)(void))rt_library_symbol(l, "nvtxRangePop", NULL);
    mark = (void (*)(const char *))rt_library_symbol(l, "nvtxMarkA", NULL);
}

bool rt_nvtx_available(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return push && pop && mark;
}

void rt_nvtx_push(const char *name)
{
    if (rt_nvtx_available()) push(name);
}

void rt_nvtx_pop(void)
{
    if (rt_nvtx_available()) pop();
}

void rt_nvtx_mark(const char *name)
{
    if (rt_nvtx_available()) mark(name);
}
