/* The limits that control groups set on this process: what a container gives it. A group's limit holds for those below
 * it, so the tightest one counts. A file that is not there, says "max" or makes no sense is no limit. */
#ifndef RT_CGROUP_H
#define RT_CGROUP_H

#include <stdint.h>

/* Where the groups are, and which are the process's own. Borrowed. */
struct rt_cgroups {
    const char *root; /* a folder: "/sys/fs/cgroup" */
    const char *own;  /* a file: "/proc/self/cgroup" */
};

/* INT64_MAX is no limit. */
int64_t rt_cgroup_cpus(const struct rt_cgroups *g);        /* that a quota allows, rounded up */
int64_t rt_cgroup_memory(const struct rt_cgroups *g);      /* bytes */
int64_t rt_cgroup_memory_left(const struct rt_cgroups *g); /* bytes; files that Linux would drop count as free */

#endif
