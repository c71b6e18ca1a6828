#include "lang/heap.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/host.h"

#if defined __SANITIZE_ADDRESS__
#define MOST 0 /* whoever uses a freed block is to be found out */
#else
#define MOST LG_HEAP_KEPT
#endif

#define GRANT   ((size_t)1 << 20)
#define RESERVE ((size_t)4 << 20)

struct lg_heap_block {
    struct lg_heap_block *next;
};

static size_t units_of(size_t bytes)
{
    return (bytes + LG_HEAP_UNIT - 1) / LG_HEAP_UNIT;
}

/* Room is asked for by the megabyte. */
static bool has_room(struct lg_heap *h, size_t bytes)
{
    if (h->granted < bytes) {
        const size_t more = bytes > GRANT ? bytes : GRANT;
        if (!rt_host_has_room(more)) return false;
        h->granted += more;
    }
    h->granted -= bytes;
    return true;
}

static void *fresh(struct lg_heap *h, size_t bytes)
{
    void *b = has_room(h, bytes) ? malloc(bytes) : NULL;
    h->refused |= !b;
    return b;
}

static void *resized(struct lg_heap *h, void *block, size_t former, size_t bytes)
{
    void *b = bytes <= former || has_room(h, bytes - former) ? realloc(block, bytes) : NULL;
    h->refused |= !b;
    return b;
}

static void *take(struct lg_heap *h, size_t bytes)
{
    if (bytes > LG_HEAP_LARGEST) return fresh(h, bytes);
    const size_t units = units_of(bytes);
    struct lg_heap_block *b = h->freed[units];
    if (!b) return fresh(h, units * LG_HEAP_UNIT);
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
    if (former > LG_HEAP_LARGEST && bytes > LG_HEAP_LARGEST) return resized(h, block, former, bytes);
    void *b = take(h, bytes);
    if (!b) return bytes < former ? block : NULL; /* Lua counts on blocks that shrink */
    memcpy(b, block, former < bytes ? former : bytes);
    put(h, block, former);
    return b;
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void free_reserve(struct lg_heap *h)
{
    if (h->reserve) munmap(h->reserve, RESERVE);
    h->reserve = NULL;
}

bool lg_heap_relieve(struct lg_heap *h)
{
    const bool refused = h->refused;
    h->refused = false;
    if (h->granted < GRANT) h->granted = GRANT;
    if (refused) free_reserve(h);
    if (refused || h->reserve) return !refused;
    h->reserve = map(2 * RESERVE); /* as much must be left beside it */
    if (h->reserve) munmap((char *)h->reserve + RESERVE, RESERVE);
    return h->reserve != NULL;
}

void lg_heap_empty(struct lg_heap *h)
{
    free_reserve(h);
    for (size_t i = 0; i <= LG_HEAP_LARGEST / LG_HEAP_UNIT; i++) {
        while (h->freed[i]) {
            struct lg_heap_block *b = h->freed[i];
            h->freed[i] = b->next;
            free(b);
        }
    }
    h->kept = 0;
}
