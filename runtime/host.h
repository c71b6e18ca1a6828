/* What the machine offers this process: CPUs, memory and the limits that affinity and cgroups set on them; and what its
 * clocks say. */
#ifndef RT_HOST_H
#define RT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

int rt_host_cpus(void);           /* that the process may run on, quota counted; 1 or more */
size_t rt_host_memory(void);      /* bytes of memory, a cgroup's limit counted */
size_t rt_host_free_memory(void); /* bytes that are free or could be freed now */
/* Whether there is room for so many bytes more. Linux hands out memory that it has not, and kills who uses it; so what
 * may grow large asks here first. What is free is looked at now and then only, and some is left for all that does not
 * ask. Thread-safe. */
bool rt_host_has_room(size_t bytes);
void rt_cpu_model(char *out, size_t size); /* the CPU's own name, e.g. "AMD EPYC 7B13" */

int64_t rt_clock_ns(clockid_t clock); /* nanoseconds */
int64_t rt_now_ns(void);              /* by the clock that nobody sets */

/* The levels of instructions that some files are compiled for, by the x86-64 psABI's names; another processor's are all
 * RT_BASE. LUNARRAY_ISA (base, v3 or avx2, v4 or avx512) asks for no more than that. */
enum rt_level { RT_BASE, RT_V3, RT_V4 };
enum rt_level rt_host_level(void);

#endif
