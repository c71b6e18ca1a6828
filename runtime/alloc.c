/* Host allocation with a switch that makes the nth one fail, so that tests can walk every out-of-memory path. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/host.h"
#include "runtime/memory.h"

#define SMALL 1024     /* bytes */
#define LINE  64       /* of a cache */
#define LARGE 65536    /* bytes of a block for which there must be room */
#define REST  20000000 /* nanoseconds after such a block was refused in which all are */

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

/* The checks of a launch go on without the records that they get no memory for, and ask again with each access. */
__attribute__((noinline)) static bool lacks_room(size_t bytes)
{
    static _Atomic int64_t again;
    if (atomic_load(&again) && rt_clock_ns(CLOCK_MONOTONIC_COARSE) < atomic_load(&again)) return true;
    if (rt_host_has_room(bytes)) return false;
    atomic_store(&again, rt_clock_ns(CLOCK_MONOTONIC_COARSE) + REST);
    return true;
}

static bool is_refused(size_t bytes)
{
    return rt_allocation_fails() || (bytes >= LARGE && lacks_room(bytes));
}

void *rt_alloc(size_t bytes)
{
    if (is_refused(bytes)) return NULL;
    return malloc(bytes ? bytes : 1);
}

void *rt_alloc_lines(size_t bytes)
{
    if (is_refused(bytes) || bytes > SIZE_MAX - LINE) return NULL;
    return aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
}

/* Small blocks from malloc, which has those at hand that the thread freed, as calloc has not. */
void *rt_calloc(size_t count, size_t bytes)
{
    if (!count || !bytes) return rt_calloc(1, 1);
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all) || is_refused(all)) return NULL;
    if (all > SMALL) return calloc(count, bytes);
    void *p = malloc(all);
    return p ? memset(p, 0, all) : NULL;
}

void *rt_realloc(void *p, size_t bytes)
{
    if (is_refused(bytes)) return NULL;
    return realloc(p, bytes ? bytes : 1);
}

char *rt_strdup(const char *s)
{
    return rt_copy_bytes(s, strlen(s));
}

char *rt_copy_bytes(const char *bytes, size_t length)
{
    char *copy = rt_alloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}
