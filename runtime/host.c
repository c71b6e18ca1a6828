#define _GNU_SOURCE /* CPU_COUNT */
#include "runtime/host.h"

#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cgroup.h"
#include "runtime/environment.h"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define UNSEEN     ((int64_t)16 << 20)
#define LEFT_SHARE 64 /* this part of the memory is left, within these bounds; a quarter of it by */
#define LEFT_LEAST ((int64_t)32 << 20)
#define LEFT_MOST  ((int64_t)256 << 20)
#define LITTLE     65536 /* bytes, which are given where others have taken nearly all */

/* ---- clocks ---- */

int64_t rt_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t rt_now_ns(void)
{
    return rt_clock_ns(CLOCK_MONOTONIC);
}

/* ---- The answers ---- */

static const struct rt_cgroups groups = {.root = "/sys/fs/cgroup", .own = "/proc/self/cgroup"};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int rt_host_cpus(void)
{
    cpu_set_t set;
    int64_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    cpus = smaller(cpus, rt_cgroup_cpus(&groups));
    return cpus < 1 ? 1 : (int)smaller(cpus, INT_MAX);
}

size_t rt_host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t bytes = pages > 0 && page > 0 ? (int64_t)pages * page : (int64_t)4 << 30;
    return (size_t)smaller(bytes, rt_cgroup_memory(&groups));
}

/* Bytes of memory that are free or could be made so, and of swap; false where the system does not say. */
static bool read_free(int64_t *memory, int64_t *swap)
{
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f) return false;
    char line[128];
    long long kilobytes;
    *memory = *swap = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1) *memory = (int64_t)kilobytes << 10;
        if (sscanf(line, "SwapFree: %lld", &kilobytes) == 1) *swap = (int64_t)kilobytes << 10;
    }
    fclose(f);
    return true;
}

size_t rt_host_free_memory(void)
{
    int64_t memory, swap;
    if (!read_free(&memory, &swap)) return rt_host_memory();
    return (size_t)smaller(memory, rt_cgroup_memory_left(&groups));
}

/* ---- Room ---- */

static _Atomic int64_t unseen = UNSEEN; /* bytes that may still be taken before the next look */

/* What may be taken now by those who want so much; less than nothing where others have begun on what is to be left. */
static int64_t room_for(int64_t want)
{
    static _Atomic int64_t known;
    int64_t memory, swap, left = atomic_load(&known);
    if (!read_free(&memory, &swap)) return INT64_MAX;
    if (!left) {
        left = smaller((int64_t)rt_host_memory() / LEFT_SHARE, LEFT_MOST);
        if (left < LEFT_LEAST) left = LEFT_LEAST;
        atomic_store(&known, left);
    }
    return smaller(memory + swap, rt_cgroup_memory_left(&groups)) - (want < LITTLE ? left / 4 : left);
}

bool rt_host_has_room(size_t bytes)
{
    if (bytes > INT64_MAX / 2) return false;
    const int64_t want = (int64_t)bytes;
    if (atomic_fetch_sub(&unseen, want) >= want) return true;
    int64_t have = room_for(want);
    if (have < want) {
        malloc_trim(0); /* what was freed in pieces is still the process's */
        have = room_for(want);
    }
    atomic_store(&unseen, have < want ? 0 : (have - want) / 4);
    return have >= want;
}

void rt_cpu_model(char *out, size_t size)
{
    snprintf(out, size, "CPU");
#if defined(__x86_64__) || defined(__i386__)
    unsigned words[12];
    for (unsigned i = 0; i < 3; i++) {
        unsigned *w = words + 4 * (size_t)i;
        if (!__get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3])) return;
    }
    char text[sizeof words + 1];
    memcpy(text, words, sizeof words);
    text[sizeof words] = '\0';
    const char *start = text + strspn(text, " ");
    if (*start) snprintf(out, size, "%s", start);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--) out[n - 1] = '\0';
#endif
}

enum rt_level rt_host_level(void)
{
    enum rt_level level = RT_BASE;
#if defined __x86_64__
    const int most = rt_variable_word(RT_VAR_ISA);
    if (most == RT_ISA_BASE) return level;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        level = RT_V3;
    if (level == RT_BASE || most == RT_ISA_V3 || most == RT_ISA_AVX2) return level;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
        level = RT_V4;
#endif
    return level;
}
