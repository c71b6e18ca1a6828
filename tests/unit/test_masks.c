/* The loops that move what a mask picks: what they write, and that they write nothing behind it. */
#include "kernels/loops.h"
#include "tests/unit/test.h"

#define MOST  4096
#define GUARD 64 /* bytes behind the room */

static kn_eight numbers_of[256];

static void make_numbers(void)
{
    for (unsigned flags = 0; flags < 256; flags++)
        for (unsigned k = 0, n = 0; k < 8; k++)
            if (flags >> k & 1) numbers_of[flags][n++] = (uint16_t)k;
}

/* One of `rare` is true, as any byte but 0. */
static size_t make_mask(uint8_t *bits, size_t n, unsigned rare, uint64_t *seed)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        bits[i] = (*seed >> 40) % rare == 0 ? (uint8_t)(*seed >> 56 | 1) : 0;
        count += bits[i] != 0;
    }
    return count;
}

static void check(kn_pick_loop *loop, size_t size, bool places, const uint8_t *bits, size_t n, size_t count)
{
    static unsigned char from[MOST * 8], got[MOST * 8 + GUARD], want[MOST * 8 + GUARD];
    const int64_t first = 4097;
    size_t at = 0;
    for (size_t i = 0; i < n * size; i++) from[i] = (unsigned char)(i * 7 + i / 251);
    memset(got, 0xa5, sizeof got);
    memset(want, 0xa5, sizeof want);
    for (size_t i = 0; i < n; i++) {
        const int64_t place = first + (int64_t)i;
        if (bits[i]) memcpy(want + at++ * size, places ? (const void *)&place : from + i * size, size);
    }
    loop(got, count, places ? NULL : from, bits, n, numbers_of, first);
    if (memcmp(got, want, sizeof got) != 0) FAIL("%zu of %zu elements of %zu bytes", count, n, size);
}

TEST(picks_write_what_the_mask_picks_and_nothing_behind_it)
{
    static const size_t lengths[] = {0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 100, 1000, 4095, MOST};
    static const unsigned rares[] = {1, 2, 3, 40, 100000};
    static uint8_t bits[MOST];
    const struct kn_loops *l = kn_host_loops();
    uint64_t seed = 1;
    if (!l->pick[0]) SKIP("no permutations");
    make_numbers();
    for (size_t a = 0; a < sizeof lengths / sizeof *lengths; a++)
        for (size_t b = 0; b < sizeof rares / sizeof *rares; b++) {
            size_t n = lengths[a], count = make_mask(bits, n, rares[b], &seed);
            for (int k = 0; k < 4; k++) check(l->pick[k], (size_t)1 << k, false, bits, n, count);
            check(l->pick_places, 8, true, bits, n, count);
        }
}
