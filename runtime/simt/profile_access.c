/* Counting sectors, turns at the banks of shared memory, and collisions of atomics. */
#include "runtime/simt/profile_access.h"

#define WARP 32

/* The addresses of the mask's lanes, in rising order. Mostly they come so, and then this is one pass. */
static uint32_t sort_addresses(const uint64_t *address, uint32_t mask, uint64_t *out)
{
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t a = address[__builtin_ctz(mask)];
        uint32_t k = n++;
        for (; k > 0 && out[k - 1] > a; k--) out[k] = out[k - 1];
        out[k] = a;
    }
    return n;
}

struct simt_sectors simt_count_sectors(const uint64_t *address, uint32_t mask, uint32_t size)
{
    uint64_t sorted[WARP];
    uint32_t n = sort_addresses(address, mask, sorted), touched = 0, distinct = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0 && sorted[k] == sorted[k - 1]) continue;
        distinct++;
        touched += k == 0 || sorted[k] / SIMT_SECTOR != sorted[k - 1] / SIMT_SECTOR;
    }
    return (struct simt_sectors){touched, (distinct * size + SIMT_SECTOR - 1) / SIMT_SECTOR};
}

/* The turns of lanes that go at once: the most different words that one bank has to give. */
static uint32_t turns_of(const uint64_t *address, uint32_t mask, uint32_t size)
{
    uint64_t sorted[WARP], last = UINT64_MAX;
    uint8_t words_of[SIMT_BANKS] = {0};
    uint32_t n = sort_addresses(address, mask, sorted), most = 0, words = size > 4 ? size / 4 : 1;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < words; j++) {
            uint64_t word = sorted[k] / 4 + j;
            if (last != UINT64_MAX && word <= last) continue; /* a word that another lane has asked for */
            last = word;
            uint32_t count = ++words_of[word % SIMT_BANKS];
            if (count > most) most = count;
        }
    return most;
}

struct simt_turns simt_count_turns(const uint64_t *address, uint32_t mask, uint32_t size)
{
    uint32_t lanes = size <= 4 ? WARP : size == 8 ? WARP / 2 : WARP / 4;
    struct simt_turns t = {0, 0};
    for (uint32_t first = 0; first < WARP; first += lanes) {
        uint32_t part = mask & (lanes == WARP ? UINT32_MAX : ((1u << lanes) - 1) << first);
        if (!part) continue;
        t.taken += turns_of(address, part, size);
        t.ideal++;
    }
    return t;
}

uint32_t simt_count_collisions(const uint64_t *address, uint32_t mask)
{
    uint64_t sorted[WARP];
    uint32_t n = sort_addresses(address, mask, sorted), most = 0, same = 0;
    for (uint32_t k = 0; k < n; k++) {
        same = k > 0 && sorted[k] == sorted[k - 1] ? same + 1 : 1;
        if (same > most) most = same;
    }
    return most;
}
