/* Control groups: version 2 has one tree of folders, version 1 one for each controller. */
#include "runtime/cgroup.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return quota > 0 && period > 0 ? quota / period + (quota % period != 0) : INT64_MAX;
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
    const int64_t kept = droppable(folder);
    used = kept < used ? used - kept : 0; /* the two are not read at one moment */
    return used < limit ? limit - used : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether a list of names with commas between them has this one. */
static bool has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        if (n == length && memcmp(list, name, n) == 0) return true;
        list += n;
        if (!*list) return false;
    }
}

/* The tightest limit of the group at a path and of those above it, below a folder. The path is cut short. */
static int64_t tightest_along(const char *root, const char *between, char *path, int64_t (*limit)(const char *folder))
{
    char folder[2 * PATH_MAX];
    int64_t best = INT64_MAX;
    while (path[0] == '/' && path[1] != '\0') {
        snprintf(folder, sizeof folder, "%s%s%s", root, between, path);
        best = smaller(best, limit(folder));
        *strrchr(path, '/') = '\0';
    }
    return best;
}

/* The tightest limit of the process's groups and of those above them. `between` is "/cpu" or "/memory". */
static int64_t tightest(const struct rt_cgroups *g, const char *between, int64_t (*limit)(const char *folder))
{
    char folder[PATH_MAX], line[PATH_MAX];
    snprintf(folder, sizeof folder, "%s%s", g->root, between);
    int64_t best = smaller(limit(g->root), limit(folder));
    FILE *f = fopen(g->own, "re");
    if (!f) return best;
    while (fgets(line, sizeof line, f)) { /* "0::/path", or "4:cpu,cpuacct:/path" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(++controllers, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        if (!*controllers)
            best = smaller(best, tightest_along(g->root, "", path, limit));
        else if (has_name(controllers, between + 1))
            best = smaller(best, tightest_along(g->root, between, path, limit));
    }
    fclose(f);
    return best;
}

int64_t rt_cgroup_cpus(const struct rt_cgroups *g)
{
    return tightest(g, "/cpu", cpu_limit);
}

int64_t rt_cgroup_memory(const struct rt_cgroups *g)
{
    return tightest(g, "/memory", memory_limit);
}

int64_t rt_cgroup_memory_left(const struct rt_cgroups *g)
{
    return tightest(g, "/memory", memory_left);
}
