#include "jupyter/usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/host.h"
#include "runtime/memory.h"

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* In percent of one processor, as top counts. */
static double processor_share(void)
{
    static double before_used, before;
    double used = processor_seconds(), at = (double)rt_now_ns() * 1e-9;
    double share = before > 0 && at > before ? 100 * (used - before_used) / (at - before) : 0;
    before_used = used;
    before = at;
    return share;
}

static json_int_t resident_bytes(void)
{
    long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (json_int_t)resident * sysconf(_SC_PAGESIZE);
}

json_t *jp_usage(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    json_int_t total = (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    json_int_t available = (json_int_t)rt_host_free_memory();
    return json_pack("{s:s, s:i, s:f, s:I, s:I, s:i, s:{s:I, s:I}}", "hostname", host, "pid", (int)getpid(),
                     "kernel_cpu", processor_share(), "kernel_memory", resident_bytes(), "array_memory",
                     (json_int_t)rt_memory_held(), "cpu_count", rt_host_cpus(), "host_virtual_memory", "total", total,
                     "available", available);
}
