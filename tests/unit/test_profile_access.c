/* Sectors, bank conflicts and collisions, against figures worked out by hand and a count the slow way. */
#include "runtime/simt/profile_access.h"
#include "tests/unit/test.h"

#define FULL 0xffffffffu

static uint64_t lanes[32];

static const uint64_t *strided(uint64_t first, uint64_t stride)
{
    for (uint64_t l = 0; l < 32; l++) lanes[l] = first + l * stride;
    return lanes;
}

#define CHECK_SECTORS(address, mask, size, want, want_ideal)                                                           \
    do {                                                                                                               \
        struct simt_sectors s_ = simt_count_sectors(address, mask, size);                                              \
        CHECK_INT(s_.touched, want);                                                                                   \
        CHECK_INT(s_.ideal, want_ideal);                                                                               \
    } while (0)
#define CHECK_TURNS(address, mask, size, want, want_ideal)                                                             \
    do {                                                                                                               \
        struct simt_turns t_ = simt_count_turns(address, mask, size);                                                  \
        CHECK_INT(t_.taken, want);                                                                                     \
        CHECK_INT(t_.ideal, want_ideal);                                                                               \
    } while (0)

TEST(sectors_of_regular_accesses)
{
    CHECK_SECTORS(strided(256, 4), FULL, 4, 4, 4);
    CHECK_SECTORS(strided(260, 4), FULL, 4, 5, 4); /* shifted by one element */
    CHECK_SECTORS(strided(256, 8), FULL, 4, 8, 4);
    CHECK_SECTORS(strided(256, 128), FULL, 4, 32, 4);
    CHECK_SECTORS(strided(256, 0), FULL, 4, 1, 1);
    CHECK_SECTORS(strided(256, 1), FULL, 1, 1, 1);
    CHECK_SECTORS(strided(256, 8), FULL, 8, 8, 8);
    CHECK_SECTORS(strided(256, 16), FULL, 16, 16, 16);
    CHECK_SECTORS(strided(256 + 31 * 4, (uint64_t)-4), FULL, 4, 4, 4); /* backwards */
}

TEST(sectors_of_partial_masks)
{
    CHECK_SECTORS(strided(256, 4), 0x000000ff, 4, 1, 1);
    CHECK_SECTORS(strided(256, 4), 0x80000001, 4, 2, 1);
    CHECK_SECTORS(strided(256, 4), 0, 4, 0, 0);
}

TEST(turns_of_regular_accesses)
{
    CHECK_TURNS(strided(0, 4), FULL, 4, 1, 1);
    CHECK_TURNS(strided(0, 0), FULL, 4, 1, 1); /* a broadcast */
    CHECK_TURNS(strided(0, 8), FULL, 4, 2, 1);
    CHECK_TURNS(strided(0, 128), FULL, 4, 32, 1); /* a column of a tile 32 wide */
    CHECK_TURNS(strided(0, 132), FULL, 4, 1, 1);  /* and of one 33 wide */
    CHECK_TURNS(strided(0, 1), FULL, 1, 1, 1);    /* four lanes a word */
    CHECK_TURNS(strided(0, 2), FULL, 2, 1, 1);
    CHECK_TURNS(strided(0, 128), 0xff, 4, 8, 1);
    CHECK_TURNS(strided(0, 4), 0, 4, 0, 0);
}

TEST(turns_of_wide_accesses)
{
    CHECK_TURNS(strided(0, 8), FULL, 8, 2, 2);
    CHECK_TURNS(strided(0, 16), FULL, 8, 4, 2);
    CHECK_TURNS(strided(0, 16), FULL, 16, 4, 4);
    CHECK_TURNS(strided(0, 32), FULL, 16, 8, 4);
    CHECK_TURNS(strided(0, 0), FULL, 16, 4, 4);
    CHECK_TURNS(strided(0, 8), 0xffff, 8, 1, 1); /* the first half alone */
}

TEST(collisions)
{
    CHECK_INT(simt_count_collisions(strided(64, 4), FULL), 1);
    CHECK_INT(simt_count_collisions(strided(64, 0), FULL), 32);
    CHECK_INT(simt_count_collisions(strided(64, 0), 0x111), 3);
    CHECK_INT(simt_count_collisions(strided(64, 0), 0), 0);
    for (uint64_t l = 0; l < 32; l++) lanes[l] = 64 + l % 5 * 4; /* 7, 7, 6, 6, 6 lanes */
    CHECK_INT(simt_count_collisions(lanes, FULL), 7);
}

/* The same by sets of bytes, words and addresses. */
static uint32_t count_different(const uint64_t *v, uint32_t n)
{
    uint32_t different = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t j = 0;
        while (j < k && v[j] != v[k]) j++;
        different += j == k;
    }
    return different;
}

static uint32_t slow_turns(const uint64_t *address, uint32_t mask, uint32_t size, uint32_t first, uint32_t count)
{
    uint32_t most = 0;
    for (uint64_t bank = 0; bank < 32; bank++) {
        uint64_t words[128];
        uint32_t n = 0;
        for (uint32_t l = first; l < first + count; l++)
            for (uint32_t byte = 0; mask >> l & 1 && byte < size; byte += 4)
                if ((address[l] + byte) / 4 % 32 == bank) words[n++] = (address[l] + byte) / 4;
        uint32_t d = count_different(words, n);
        if (d > most) most = d;
    }
    return most;
}

TEST(random_accesses_agree_with_a_slow_count)
{
    uint64_t state = 1;
    for (int round = 0; round < 2000; round++) {
        uint64_t sectors[32], used[32];
        uint32_t mask = 0, n = 0, size = 1u << round % 5, span = round % 3 ? 512 : 4096;
        for (uint32_t l = 0; l < 32; l++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            lanes[l] = (state >> 33) % span / size * size;
            if (round % 4 && (state >> 20) % 4 == 0) continue;
            mask |= 1u << l;
            sectors[n] = lanes[l] / 32;
            used[n++] = lanes[l];
        }
        uint32_t distinct = count_different(used, n), group = size <= 4 ? 32 : size == 8 ? 16 : 8, turns = 0, most = 0;
        CHECK_SECTORS(lanes, mask, size, count_different(sectors, n), (distinct * size + 31) / 32);
        for (uint32_t first = 0; first < 32; first += group) turns += slow_turns(lanes, mask, size, first, group);
        CHECK_INT(simt_count_turns(lanes, mask, size).taken, turns);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t same = 0;
            for (uint32_t j = 0; j < n; j++) same += used[j] == used[k];
            if (same > most) most = same;
        }
        CHECK_INT(simt_count_collisions(lanes, mask), most);
    }
}
