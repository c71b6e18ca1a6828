/* The allocator of Lua states: blocks keep what is in them however they grow and shrink, and are handed out again. */
#include <stdlib.h>
#include <string.h>
#include "lang/heap.h"
#include "runtime/host.h"
#include "tests/unit/test.h"

static struct lg_heap heap;

static void fill(unsigned char *p, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) p[i] = (unsigned char)(seed + i * 7);
}

static bool filled(const unsigned char *p, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != (unsigned char)(seed + i * 7)) return false;
    return true;
}

TEST(blocks_keep_their_bytes_however_they_grow_and_shrink)
{
    enum { BLOCKS = 200 };
    struct {
        unsigned char *p;
        size_t bytes;
    } blocks[BLOCKS] = {{0}};
    srand(1);
    for (int round = 0; round < 20000; round++) {
        const int i = rand() % BLOCKS;
        const size_t bytes = rand() % 4 ? (size_t)rand() % 600 : 0;
        const bool elsewhere = !blocks[i].p && bytes && rand() % 2; /* by another allocator */
        unsigned char *p =
            elsewhere ? malloc(bytes) : lg_heap_allocate(&heap, blocks[i].p, blocks[i].p ? blocks[i].bytes : 5, bytes);
        CHECK(bytes ? p != NULL && (uintptr_t)p % 16 == 0 : p == NULL);
        CHECK(filled(p, bytes < blocks[i].bytes ? bytes : blocks[i].bytes, (unsigned)i));
        fill(p, bytes, (unsigned)i);
        blocks[i].p = p;
        blocks[i].bytes = bytes;
    }
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(filled(blocks[i].p, blocks[i].bytes, (unsigned)i));
        lg_heap_allocate(&heap, blocks[i].p, blocks[i].bytes, 0);
    }
    lg_heap_empty(&heap);
    CHECK_INT(heap.kept, 0);
}

TEST(what_is_kept_is_bounded)
{
    enum { BLOCKS = 2 * LG_HEAP_KEPT / 320 };
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) blocks[i] = lg_heap_allocate(&heap, NULL, 0, 320);
    for (int i = 0; i < BLOCKS; i++) lg_heap_allocate(&heap, blocks[i], 320, 0);
    CHECK(heap.kept <= LG_HEAP_KEPT);
    const size_t before = heap.kept;
    void *again = lg_heap_allocate(&heap, NULL, 0, 315);
    CHECK_INT(before - heap.kept, before ? 320 : 0);
    lg_heap_allocate(&heap, again, 315, 0);
    CHECK_INT(heap.kept, before);
    lg_heap_empty(&heap);
}

static int ended;

static void end(void *block, size_t bytes)
{
    ended += bytes == 320 && filled(block, bytes, 3);
}

TEST(blocks_of_one_size_are_shown_before_they_are_freed)
{
    heap.ending = 320;
    heap.end = end;
    for (size_t bytes = 300; bytes < 340; bytes++) {
        unsigned char *p = lg_heap_allocate(&heap, NULL, 0, bytes);
        fill(p, bytes, 3);
        p = lg_heap_allocate(&heap, p, bytes, bytes + 1);
        CHECK_INT(ended, bytes > 320);
        lg_heap_allocate(&heap, lg_heap_allocate(&heap, p, bytes + 1, bytes), bytes, 0);
        CHECK_INT(ended, bytes >= 320);
    }
    lg_heap_empty(&heap);
}

TEST(what_would_not_fit_is_refused_and_something_is_left_behind_it)
{
    size_t most = rt_host_free_memory(); /* which malloc would give */
    while (rt_host_has_room(most)) most += most / 4;
    CHECK(lg_heap_relieve(&heap) && heap.reserve);
    CHECK(lg_heap_allocate(&heap, NULL, 0, most) == NULL);
    void *p = lg_heap_allocate(&heap, NULL, 0, 100);
    CHECK(p && lg_heap_allocate(&heap, p, 100, most) == NULL);
    CHECK(!lg_heap_relieve(&heap) && !heap.reserve && heap.granted >= 1 << 20);
    CHECK(lg_heap_relieve(&heap) && heap.reserve);
    lg_heap_allocate(&heap, p, 100, 0);
    lg_heap_empty(&heap);
    CHECK(!heap.reserve);
}
