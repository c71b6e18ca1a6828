#include "lang/heap.h"
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__
#define MOST 0 /* whoever uses a freed block is to be found out */
#else
#define MOST ((size_t)1 << 20) /* bytes that are kept */
#endif

struct lg_heap_block {
    struct lg_heap_block *next;
};

static size_t units_of(size_t bytes)
{
    return (bytes + LG_HEAP_UNIT - 1) / LG_HEAP_UNIT;
}

static void *take(struct lg_heap *h, size_t bytes)
{
    if (bytes > LG_HEAP_LARGEST) return malloc(bytes);
    const size_t units = units_of(bytes);
    struct lg_heap_block *b = h->freed[units];
    if (!b) return malloc(units * LG_HEAP_UNIT);
    h->freed[units] = b->next;
    h->kept -= units * LG_HEAP_UNIT;
    return b;
}

/* What another allocator got from malloc may hold less than its last unit. */
static void put(struct lg_heap *h, void *block, size_t bytes)
{
    const size_t whole = malloc_usable_size(block) / LG_HEAP_UNIT;
    const size_t units = units_of(bytes) < whole ? units_of(bytes) : whole;
    struct lg_heap_block *b = block;
    if (bytes > LG_HEAP_LARGEST || units == 0 || h->kept + units * LG_HEAP_UNIT > MOST) {
        free(block);
        return;
    }
    b->next = h->freed[units];
    h->freed[units] = b;
    h->kept += units * LG_HEAP_UNIT;
}

void *lg_heap_allocate(void *heap, void *block, size_t former, size_t bytes)
{
    struct lg_heap *h = heap;
    if (!block) return bytes ? take(h, bytes) : NULL; /* `former` is then a type */
    if (bytes == 0) {
        if (former == h->ending) h->end(block, former);
        put(h, block, former);
        return NULL;
    }
    const bool fits = bytes <= former || malloc_usable_size(block) >= bytes;
    if (units_of(former) == units_of(bytes) && bytes <= LG_HEAP_LARGEST && fits) return block;
    if (former > LG_HEAP_LARGEST && bytes > LG_HEAP_LARGEST) return realloc(block, bytes);
    void *b = take(h, bytes);
    if (!b) return bytes < former ? block : NULL; /* Lua counts on blocks that shrink */
    memcpy(b, block, former < bytes ? former : bytes);
    put(h, block, former);
    return b;
}

void lg_heap_empty(struct lg_heap *h)
{
    for (size_t i = 0; i <= LG_HEAP_LARGEST / LG_HEAP_UNIT; i++) {
        while (h->freed[i]) {
            struct lg_heap_block *b = h->freed[i];
            h->freed[i] = b->next;
            free(b);
        }
    }
    h->kept = 0;
}
