/* The sets of instructions that results must not depend on. */
#ifndef TESTS_ISA_H
#define TESTS_ISA_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host.h"

/* Asks for a set of instructions by a name of LUNARRAY_ISA, "" for all of the newest. False where the machine lacks it
 * and would compute by a lesser one, which has its turn under its own name. */
static inline bool take_isa(const char *name)
{
    enum rt_level wanted = RT_V4;
    if (!strcmp(name, "base")) wanted = RT_BASE;
    if (!strcmp(name, "v3") || !strcmp(name, "avx2")) wanted = RT_V3;
    setenv("LUNARRAY_ISA", name, 1);
    return rt_host_level() == wanted;
}

#endif
