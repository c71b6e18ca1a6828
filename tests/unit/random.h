/* Numbers that look random and are the same in each run. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 1; /* a test may begin elsewhere */

/* One of 0 to n - 1. */
static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

#endif
