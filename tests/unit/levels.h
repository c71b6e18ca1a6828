/* Results that must not depend on the instruction set that the processor has. */
#ifndef TESTS_LEVELS_H
#define TESTS_LEVELS_H

#include "tests/unit/isa.h"
#include "tests/unit/test.h"

/* Computes the sum of bits with each set of instructions that the machine has. */
static inline void check_levels(uint64_t (*bits)(void))
{
    static const char *const levels[] = {"base", "v3", "v4"};
    uint64_t sums[3] = {0};
    for (int i = 0; i < 3 && take_isa(levels[i]); i++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        if (fork() == 0) { /* the choice is made once in a process */
            uint64_t sum = bits();
            _exit(write(ends[1], &sum, sizeof sum) == sizeof sum ? 0 : 1);
        }
        close(ends[1]); /* or the end of a child that crashes would never be read */
        CHECK(read(ends[0], &sums[i], sizeof sums[i]) == sizeof sums[i]);
        close(ends[0]);
        CHECK(sums[i] != 0 && sums[i] == sums[0]);
    }
}

#endif
