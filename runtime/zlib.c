#include "runtime/zlib.h"
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include "runtime/library.h"

static struct rt_zlib functions;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool load(struct rt_error *e)
{
    const struct rt_library *l = rt_library_open(RT_LIB_ZLIB, e);
    static const char *const names[] = {"inflateInit2_", "inflate",    "inflateEnd", "deflateInit2_",
                                        "deflate",       "deflateEnd", "crc32_z"};
    if (!l) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = rt_library_symbol(l, names[i], e);
        if (!symbol) return false;
        memcpy((char *)&functions + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return true;
}

const struct rt_zlib *rt_zlib(struct rt_error *e)
{
    pthread_mutex_lock(&lock);
    loaded = loaded || load(e);
    pthread_mutex_unlock(&lock);
    return loaded ? &functions : NULL;
}
