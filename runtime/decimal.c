/* Giulietti's algorithm ("The Schubfach way to render doubles", 2020): the number and the middles between it and its
 * neighbours, times 4 and a power of ten, are rounded to integers so that nothing which they are compared with is
 * passed over. One product by 128 bits of that power is enough for each. */
#include "runtime/decimal.h"
#include <pthread.h>

#define LEAST (-292) /* the powers of ten that the products take: 10^LEAST to 10^MOST */
#define MOST  324
#define LIMBS 27 /* of 32 bits: 5^324 has 753, and 2^863 / 5^292 still has 185 */

/* 10^e by its highest 128 bits, rounded up: g * 2^(log2_of_power(e) - 127). */
static struct power {
    uint64_t high, low;
} powers[MOST - LEAST + 1];

/* floor(log2(10^e)) */
static int log2_of_power(int e)
{
    return (e * 1741647) >> 19;
}

/* From an integer, the least limb first. `exact`: nothing was cut off below it. */
static struct power highest_bits(const uint32_t limbs[LIMBS], bool exact)
{
    int top = LIMBS - 1;
    while (!limbs[top]) top--;
    const int shift = __builtin_clz(limbs[top]);
    uint32_t words[5] = {0}; /* the highest first; the last one is below the 128 bits once shifted */
    for (int i = 0; i < 5 && i <= top; i++) words[i] = limbs[top - i];
    for (int i = 0; i <= top - 5; i++) exact &= !limbs[i];
    uint32_t out[4];
    for (int i = 0; i < 4; i++) out[i] = shift ? words[i] << shift | words[i + 1] >> (32 - shift) : words[i];
    exact &= (uint32_t)(words[4] << shift) == 0;
    struct power p = {(uint64_t)out[0] << 32 | out[1], (uint64_t)out[2] << 32 | out[3]};
    p.low += !exact;
    p.high += !exact && p.low == 0;
    return p;
}

static void make_powers(void)
{
    uint32_t up[LIMBS] = {1},
             down[LIMBS] = {[LIMBS - 1] = 1U << 31}; /* 5^e and 2^863 / 5^-e, cut off: so are quotients of quotients */
    for (int e = 0; e <= MOST; e++) {
        powers[e - LEAST] = highest_bits(up, true);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)up[i] * 5;
            up[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    for (int e = -1; e >= LEAST; e--) {
        uint64_t rest = 0;
        for (int i = LIMBS; i-- > 0;) {
            rest = rest << 32 | down[i];
            down[i] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        powers[e - LEAST] = highest_bits(down, false);
    }
}

/* c * p / 2^128, cut off, where the last bit is set for any rest. */
static uint64_t product(struct power p, uint64_t c)
{
    const unsigned __int128 low = (unsigned __int128)p.low * c,
                            high = (unsigned __int128)p.high * c + (uint64_t)(low >> 64);
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static struct rt_decimal without_zeros(uint64_t digits, int exponent)
{
    for (; digits % 10 == 0; exponent++) digits /= 10;
    return (struct rt_decimal){digits, exponent};
}

struct rt_decimal rt_decimal_of(uint64_t c, int q, bool closer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_powers);
    /* floor(log10) of the distance between the middles, 2^q or 3/4 of it: the last digit that may be needed */
    const int k = (q * 1262611 - (closer ? 524031 : 0)) >> 22, shift = q + log2_of_power(-k) + 1;
    const struct power p = powers[-k - LEAST];
    const bool odd = c & 1; /* the middles round to even numbers, so they do not belong to odd ones */
    const uint64_t v = product(p, c * 4 << shift);
    const uint64_t least = product(p, (c * 4 - 2 + closer) << shift) + odd,
                   most = product(p, (c * 4 + 2) << shift) - odd;
    const uint64_t digits = v / 4, fewer = digits / 10;
    if (fewer) { /* is there one with a digit less? At most one of both */
        const bool below = least <= 40 * fewer, above = 40 * fewer + 40 <= most;
        if (below != above) return without_zeros(fewer + above, k + 1);
    }
    const bool below = least <= 4 * digits, above = 4 * digits + 4 <= most;
    const uint64_t middle = 4 * digits + 2;
    const bool up = below != above ? above : v > middle || (v == middle && digits & 1);
    return without_zeros(digits + up, k);
}
