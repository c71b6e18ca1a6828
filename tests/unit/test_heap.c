/* The heap of kernels' malloc: what it gives out never overlaps, comes back whole, and is found again by its addresses.
 */
#include "runtime/simt/heap.h"
#include "tests/unit/test.h"

#define KEPT 300

static uint32_t seed = 1;
static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

TEST(blocks_keep_their_bytes)
{
    uint64_t address[KEPT] = {0};
    size_t bytes[KEPT] = {0};
    CHECK(simt_heap_ready());
    for (int round = 0; round < 20000; round++) {
        size_t k = next_random() % KEPT;
        if (address[k]) {
            const unsigned char *p = simt_host(address[k]);
            for (size_t i = 0; i < bytes[k]; i++) CHECK_INT(p[i], (unsigned char)k);
            CHECK(simt_heap_free(address[k]));
            CHECK(!simt_heap_free(address[k]));
        }
        bytes[k] = next_random() % (k % 10 ? 200 : 20000) + 1;
        address[k] = simt_heap_malloc(bytes[k]);
        CHECK(address[k] != 0 && address[k] % 16 == 0);
        memset(simt_host(address[k]), (int)k, bytes[k]);
        struct simt_block b;
        bool live;
        CHECK(simt_heap_find(address[k] + bytes[k] - 1, &b, &live) && live);
        CHECK(b.address == address[k] && b.bytes == bytes[k]);
        CHECK(simt_heap_find(address[k] + bytes[k], &b, &live) && !live);
        CHECK(simt_find(address[k], &b) && !simt_find(address[k] + bytes[k], &b));
        CHECK(!simt_heap_free(address[k] + 1));
    }
    for (size_t k = 0; k < KEPT; k++) CHECK(!address[k] || simt_heap_free(address[k]));
    uint64_t all = simt_heap_malloc(SIMT_HEAP_SIZE - 16); /* it is in one piece again */
    CHECK(all != 0);
    CHECK(simt_heap_malloc(1) == 0);
    CHECK(simt_heap_free(all));
}

TEST(wrong_sizes_and_pointers)
{
    CHECK(simt_heap_malloc(0) == 0);
    CHECK(simt_heap_malloc(UINT64_MAX) == 0);
    CHECK(simt_heap_malloc(SIMT_HEAP_SIZE) == 0);
    CHECK(!simt_heap_free(0));
    CHECK(!simt_heap_free(UINT64_MAX - 15));
    CHECK(!simt_heap_free(SIMT_GLOBAL_BASE));
    struct simt_block b;
    bool live;
    CHECK(!simt_heap_find(0, &b, &live));
    CHECK(!simt_heap_find(UINT64_MAX, &b, &live));
}

/* What is kept is nobody else's until there is no other room; then the oldest goes first. */
TEST(what_is_freed_is_kept_for_a_while)
{
    size_t most = SIMT_HEAP_SIZE / 4 - 16;
    uint64_t part[4], turn = simt_heap_turn();
    struct simt_heap_block b;
    CHECK(simt_heap_ready());
    for (int k = 0; k < 4; k++) part[k] = simt_heap_malloc(most);
    simt_heap_mark(part[1], 7);
    CHECK(simt_heap_look(part[1] + 100, &b) && b.address == part[1] && b.bytes == most && b.mark == 7 && !b.kept);
    CHECK(simt_heap_keep(part[1]) && simt_heap_keep(part[3]) && simt_heap_turn() == turn + 2);
    CHECK(!simt_heap_keep(part[1]) && !simt_heap_free(part[1]) && !simt_heap_keep(part[0] + 16));
    CHECK(simt_heap_look(part[1], &b) && b.kept && b.mark == 7);
    uint64_t again;
    int others = 0; /* that are kept in their turn */
    while ((again = simt_heap_malloc(most)) != part[1]) CHECK(simt_heap_keep(again) && ++others < 100);
    CHECK(simt_heap_look(part[1], &b) && !b.kept && b.mark == 0);
    CHECK(simt_heap_look(part[3], &b) && b.kept);
    simt_heap_settle();
    CHECK(simt_heap_look(part[3], &b) && !b.bytes);
    for (int k = 0; k < 3; k++) CHECK(simt_heap_free(part[k]));
    uint64_t all = simt_heap_malloc(SIMT_HEAP_SIZE - 16);
    CHECK(all && simt_heap_free(all));
}

/* Behind each block is a gap that is nobody's, and yet as many blocks fit as if there were none. */
TEST(gaps_take_nothing_from_the_heaps_size)
{
    static const size_t sizes[] = {1, 16, 40, 64, 500, 2000, 70000};
    static uint64_t at[SIMT_HEAP_SIZE / 32];
    struct simt_heap_block b;
    CHECK(simt_heap_ready());
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t bytes = sizes[k], gap = bytes < 64 ? 64 : bytes < 1024 ? bytes / 16 * 16 : 1024;
        size_t fit = SIMT_HEAP_SIZE / ((bytes + 15) / 16 * 16 + 16);
        for (size_t n = 0; n < fit; n++) CHECK(at[n] = simt_heap_malloc(bytes));
        CHECK(simt_heap_malloc(bytes) == 0);
        for (size_t past = 0; past < gap; past += 7) {
            CHECK(simt_heap_look(at[fit / 2] + bytes + past, &b));
            CHECK(b.address == at[fit / 2] && b.bytes == bytes);
        }
        CHECK(simt_heap_look(at[fit / 2] - 1, &b) && b.address == at[fit / 2]);
        for (size_t n = 0; n < fit; n++) CHECK(simt_heap_free(at[n]));
    }
}

TEST(the_size_is_set_before_the_first_use)
{
    CHECK(simt_heap_ready());
    CHECK(!simt_heap_set_size(1 << 20));
    CHECK_INT(simt_heap_size(), SIMT_HEAP_SIZE);
    simt_memory_reset();
    CHECK(simt_heap_malloc(16) == 0);
    CHECK(simt_heap_set_size(100000));
    CHECK_INT(simt_heap_size(), 102400);
    CHECK(simt_heap_ready());
    uint64_t all = simt_heap_malloc(102400 - 16);
    CHECK(all != 0 && simt_heap_free(all));
    simt_memory_reset();
    CHECK_INT(simt_heap_size(), SIMT_HEAP_SIZE);
}
