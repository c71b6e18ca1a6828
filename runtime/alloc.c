/* Host allocation with a switch that makes the nth one fail, so that tests can walk every out-of-memory path. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

#define SMALL 1024 /* bytes */
#define LINE  64   /* of a cache */

static atomic_long countdown; /* 0: off; n: the nth allocation from now fails */

void rt_fail_allocation(long nth)
{
    atomic_store(&countdown, nth > 0 ? nth : 0);
}

bool rt_allocation_fails(void)
{
    if (atomic_load_explicit(&countdown, memory_order_relaxed) == 0) return false;
    long before = atomic_load(&countdown);
    while (before > 0) {
        if (atomic_compare_exchange_weak(&countdown, &before, before - 1)) return before == 1;
    }
    return false;
}

void *rt_alloc(size_t bytes)
{
    if (rt_allocation_fails()) return NULL;
    return malloc(bytes ? bytes : 1);
}

void *rt_alloc_lines(size_t bytes)
{
    if (rt_allocation_fails() || bytes > SIZE_MAX - LINE) return NULL;
    return aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
}

/* Small blocks from malloc, which has those at hand that the thread freed, as calloc has not. */
void *rt_calloc(size_t count, size_t bytes)
{
    if (!count || !bytes) return rt_calloc(1, 1);
    if (rt_allocation_fails()) return NULL;
    if (count > SMALL || bytes > SMALL || count * bytes > SMALL) return calloc(count, bytes);
    void *p = malloc(count * bytes);
    return p ? memset(p, 0, count * bytes) : NULL;
}

void *rt_realloc(void *p, size_t bytes)
{
    if (rt_allocation_fails()) return NULL;
    return realloc(p, bytes ? bytes : 1);
}

char *rt_strdup(const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = rt_alloc(size);
    if (copy) memcpy(copy, s, size);
    return copy;
}
