/* Memory for a Lua state: what was freed of small sizes is handed out again, without asking malloc. A step of the
 * collector frees thousands of small arrays' userdata at once, of which malloc itself keeps seven of a size at hand.
 * A state that grows is refused memory before the system would kill the process for it (rt_host_has_room). What is
 * refused is Lua's error "not enough memory"; that something still works then, there is a reserve. */
#ifndef LG_HEAP_H
#define LG_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define LG_HEAP_UNIT    16
#define LG_HEAP_LARGEST 512               /* bytes of a block that is kept */
#define LG_HEAP_KEPT    ((size_t)8 << 20) /* bytes of all that are, at most */

struct lg_heap_block;

/* All zeros is an empty one. It is used by the thread that runs the state. */
struct lg_heap {
    struct lg_heap_block *freed[LG_HEAP_LARGEST / LG_HEAP_UNIT + 1]; /* by their units */
    size_t kept;                                                     /* bytes of them all */
    size_t ending;                                                   /* Blocks of so many bytes, unless it is 0, */
    void (*end)(void *block, size_t bytes);                          /* are given to this before they are freed. */
    size_t granted; /* bytes of new memory that are taken before there must be room for more */
    void *reserve;
    bool refused; /* something was, since the last lg_heap_relieve */
};

/* A lua_Alloc, whose first argument is the heap. All blocks are malloc's, so that a state may change to it from another
 * allocator of such blocks, and back, at any time. */
void *lg_heap_allocate(void *heap, void *block, size_t former, size_t bytes);
/* Between pieces of the user's work: what comes next has some MB whatever was taken before it. False when these are the
 * reserve, since memory was refused; a call after the garbage is collected may find that there is room for it again. */
bool lg_heap_relieve(struct lg_heap *h);
/* Gives back what is kept: the state is closed. */
void lg_heap_empty(struct lg_heap *h);

#endif
