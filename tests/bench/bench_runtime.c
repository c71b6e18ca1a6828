/* What the lowest layer costs: a storage from the pool and back, a first touch of fresh memory, a parallel loop, a copy
 * to the software GPU. Prints one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/array.h"
#include "runtime/threads.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pool(struct rt_device *d, size_t bytes)
{
    enum { N = 100000 };
    rt_storage_release(rt_storage_new(d, bytes, NULL));
    double start = now();
    for (int i = 0; i < N; i++) rt_storage_release(rt_storage_new(d, bytes, NULL));
    printf("%-5s storage of %9zu bytes from the pool and back: %7.1f ns\n", d->name, bytes, (now() - start) / N * 1e9);
}

static void touch(struct rt_device *d, size_t bytes)
{
    rt_memory_trim(d);
    double start = now();
    struct rt_storage *s = rt_storage_new(d, bytes, NULL);
    memset(rt_storage_host(s, 0, s->bytes), 1, bytes);
    double fresh = now() - start;
    rt_storage_release(s);
    start = now();
    s = rt_storage_new(d, bytes, NULL);
    memset(rt_storage_host(s, 0, s->bytes), 1, bytes);
    double again = now() - start;
    rt_storage_release(s);
    printf("%-5s %zu MiB allocated and filled: fresh %.1f ms, from the pool %.1f ms\n", d->name, bytes >> 20,
           fresh * 1e3, again * 1e3);
}

static void nothing(void *context, size_t begin, size_t end, int worker)
{
    (void)context, (void)begin, (void)end, (void)worker;
}

static void loops(int pause_us)
{
    enum { N = 2000 };
    double total = 0;
    for (int i = 0; i < N; i++) {
        struct timespec pause = {0, pause_us * 1000L};
        if (pause_us) nanosleep(&pause, NULL);
        double start = now();
        rt_parallel_for((size_t)rt_thread_count(), 1, nothing, NULL);
        total += now() - start;
    }
    printf("empty parallel loop on %d threads, %s: %.2f us\n", rt_thread_count(),
           pause_us ? "workers asleep" : "workers awake", total / N * 1e6);
}

static void copies(struct rt_device *d, size_t bytes)
{
    struct rt_array a;
    int64_t n = (int64_t)bytes;
    void *host = malloc(bytes);
    memset(host, 1, bytes);
    if (rt_array_new(d, RT_UINT8, 1, &n, &a, NULL) != RT_OK) return;
    rt_array_write(&a, host, NULL);
    double start = now();
    for (int i = 0; i < 10; i++) rt_array_write(&a, host, NULL);
    double in = (now() - start) / 10;
    start = now();
    for (int i = 0; i < 10; i++) rt_array_read(&a, host, NULL);
    double out = (now() - start) / 10;
    printf("%-5s copies of %zu MiB: in %.1f GB/s, out %.1f GB/s\n", d->name, bytes >> 20, (double)bytes / in * 1e-9,
           (double)bytes / out * 1e-9);
    rt_array_release(&a);
    free(host);
}

int main(void)
{
    struct rt_device *cpu = rt_device_open("cpu", NULL), *simt = rt_device_open("simt", NULL);
    if (!cpu || !simt) return 1;
    pool(cpu, 1000);
    pool(cpu, 64 << 20);
    pool(simt, 1000);
    touch(cpu, 64 << 20);
    touch(simt, 64 << 20);
    loops(0);
    loops(1000);
    copies(cpu, 64 << 20);
    copies(simt, 64 << 20);
    return 0;
}
