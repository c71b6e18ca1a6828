/* Kernels made before anybody needs them: those of what people do first, for a kind of GPU, by a process of its own
 * that runs `lunarray prepare`. It needs no GPU: it computes on the software GPU by the kernels that the other would
 * run (lang/prepare.lua), so that they lie in the disk cache, where every session finds them. The compiler of a session
 * is never kept waiting by that. */
#ifndef LG_PREPARE_H
#define LG_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "runtime/status.h"

/* Makes those for a compute capability, 90 for 9.0, unless this program has done so before with this NVRTC; *count
 * gets how many there are, and 0 when there was nothing to do. `dtype`: for arrays of this one alone; NULL: for all
 * that are common. `quiet`: prints nothing. The process is spoilt for anything else. */
enum rt_status lg_prepare(int capability, const char *dtype, bool quiet, size_t *count, struct rt_error *e);
/* Lets everything else go first, and ends with the process that started it; false when that has ended already. */
bool lg_prepare_aside(pid_t parent);
/* The compute capability of the machine's first GPU that is in use, 0 without. */
int lg_prepare_capability(void);

/* Behind a cell: has the kernels made in the background once a GPU is in use. Does it once in a process; not where
 * LUNARRAY_COMPILE says that operations wait. */
void lg_prepare_beside(void);

#endif
