/* What the machine offers this process: CPUs, memory and the limits that affinity and cgroups set on them. */
#ifndef RT_HOST_H
#define RT_HOST_H

#include <stddef.h>

int rt_host_cpus(void);                    /* that the process may run on, quota counted; 1 or more */
size_t rt_host_memory(void);               /* bytes of memory, a cgroup's limit counted */
size_t rt_host_free_memory(void);          /* bytes that are free or could be freed now */
void rt_cpu_model(char *out, size_t size); /* the CPU's own name, e.g. "AMD EPYC 7B13" */

#endif
