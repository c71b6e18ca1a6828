/* The shortest decimal number that stands for a binary one: of those that lie closer to it than to its neighbours, one
 * with the fewest digits, and of several the nearest. */
#ifndef RT_DECIMAL_H
#define RT_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* digits * 10^exponent; the digits end in no 0. */
struct rt_decimal {
    uint64_t digits;
    int exponent;
};

/* Of c * 2^q, for every finite number of float64 and of what is narrower: 0 < c < 2^53, -1074 <= q <= 971. `closer`:
 * the neighbour below is half as far away as the one above, as it is of powers of two. Rounding goes to even c. From
 * any thread. */
struct rt_decimal rt_decimal_of(uint64_t c, int q, bool closer);

#endif
