#define _GNU_SOURCE /* CPU_COUNT */
#include "runtime/host.h"

#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

/* ---- cgroups, version 2 and 1 ---- */

/* The first or second number in a file; -1 when it is not there or not a number ("max"). */
static int64_t read_number(const char *folder, const char *name, int index)
{
    char path[PATH_MAX + 128], words[2][32] = {"", ""};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    if (!f) return -1;
    int got = fscanf(f, "%31s %31s", words[0], words[1]);
    fclose(f);
    if (got <= index) return -1;
    char *end;
    long long value = strtoll(words[index], &end, 10);
    return end != words[index] && *end == '\0' ? value : -1;
}

/* CPUs that a quota allows, rounded up. */
static int64_t cpu_limit(const char *folder)
{
    int64_t quota = read_number(folder, "cpu.max", 0), period = read_number(folder, "cpu.max", 1);
    if (quota <= 0 || period <= 0) {
        quota = read_number(folder, "cpu.cfs_quota_us", 0);
        period = read_number(folder, "cpu.cfs_period_us", 0);
    }
    return quota > 0 && period > 0 ? (quota + period - 1) / period : INT64_MAX;
}

static int64_t memory_limit(const char *folder)
{
    int64_t limit = read_number(folder, "memory.max", 0);
    if (limit < 0) limit = read_number(folder, "memory.limit_in_bytes", 0);
    return limit > 0 ? limit : INT64_MAX;
}

/* Bytes of files that the kernel keeps in memory for the group and would drop for something better. Not those that are
 * mapped: the programs' own code is among them, which would come back from the disk at every step. */
static int64_t droppable(const char *folder)
{
    char path[PATH_MAX + 128], line[128];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int64_t sum = 0;
    while (fgets(line, sizeof line, f)) {
        long long bytes;
        if (sscanf(line, "active_file %lld", &bytes) == 1 || sscanf(line, "inactive_file %lld", &bytes) == 1)
            sum += bytes;
        if (sscanf(line, "file_mapped %lld", &bytes) == 1 || sscanf(line, "mapped_file %lld", &bytes) == 1)
            sum -= bytes;
    }
    fclose(f);
    return sum > 0 ? sum : 0;
}

/* What a group's limit leaves. */
static int64_t memory_left(const char *folder)
{
    int64_t limit = memory_limit(folder), used = read_number(folder, "memory.current", 0);
    if (used < 0) used = read_number(folder, "memory.usage_in_bytes", 0);
    if (limit == INT64_MAX || used < 0) return INT64_MAX;
    used -= droppable(folder);
    return used < limit ? limit - used : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The tightest limit of the process's group and of those above it. `controller` is "cpu" or "memory". */
static int64_t tightest(const char *controller, int64_t (*limit)(const char *folder))
{
    char folder[PATH_MAX + 64], line[PATH_MAX];
    int64_t best = limit("/sys/fs/cgroup");
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/%s", controller);
    best = smaller(best, limit(folder));
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f) return best;
    while (fgets(line, sizeof line, f)) { /* "0::/path", or "4:cpu,cpuacct:/path" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        bool unified = controllers[1] == '\0';
        if (!unified && !strstr(controllers, controller)) continue;
        while (path[0] == '/' && path[1] != '\0') {
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s%s", unified ? "" : "/", unified ? "" : controller,
                     path);
            best = smaller(best, limit(folder));
            *strrchr(path, '/') = '\0';
        }
    }
    fclose(f);
    return best;
}

/* ---- The answers ---- */

int rt_host_cpus(void)
{
    cpu_set_t set;
    int64_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    cpus = smaller(cpus, tightest("cpu", cpu_limit));
    return cpus < 1 ? 1 : (int)smaller(cpus, INT_MAX);
}

size_t rt_host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t bytes = pages > 0 && page > 0 ? (int64_t)pages * page : (int64_t)4 << 30;
    return (size_t)smaller(bytes, tightest("memory", memory_limit));
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
    return (size_t)smaller(memory, tightest("memory", memory_left));
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
    return smaller(memory + swap, tightest("memory", memory_left)) - (want < LITTLE ? left / 4 : left);
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
