/* The heap that malloc and free in kernels use: of a fixed size, set before the first kernel that uses it runs. What is
 * not freed lives on between launches. All functions may be called from several threads at once; what makes and drops
 * the heap only while no launch runs. */
#ifndef SIMT_HEAP_H
#define SIMT_HEAP_H

#include "runtime/simt/simt.h"

#define SIMT_HEAP_SIZE ((size_t)8 << 20) /* bytes, unless set otherwise */

/* Makes the heap when there is none; false without memory. For launches of programs that use it. */
bool simt_heap_ready(void);
size_t simt_heap_size(void);
/* False when the heap was made and its size cannot change any more. Rounded up to whole pages. */
bool simt_heap_set_size(size_t bytes);
/* Forgets the heap: the arena is reset with it. */
void simt_heap_reset(void);

/* memory.c: the allocation at the address is the heap. */
void simt_mark_heap(uint64_t address);

/* A device address, a multiple of 16; 0 when there is no room. */
uint64_t simt_heap_malloc(uint64_t bytes);
/* False when it is not what simt_heap_malloc returned, or was freed before. */
bool simt_heap_free(uint64_t address);
/* The chunk that an address of the heap belongs to, of 0 bytes where nothing is allocated; behind a chunk there is room
 * that belongs to it too. *live: the address is inside what malloc gave out. False: the address is not of the heap. */
bool simt_heap_find(uint64_t address, struct simt_block *out, bool *live);

/* ---- for checks ---- */
struct simt_heap_block {
    uint64_t heap;           /* where all of the heap begins */
    uint64_t address, bytes; /* as simt_heap_find has it */
    uint64_t mark;           /* what simt_heap_mark was given; 0 at first */
    bool kept;               /* it was freed, by simt_heap_keep */
};
bool simt_heap_look(uint64_t address, struct simt_heap_block *out);
/* A word of its user's for what simt_heap_malloc returned. */
void simt_heap_mark(uint64_t address, uint64_t mark);
/* As simt_heap_free, but no other malloc gets the memory before simt_heap_settle, or before there is no other room.
 * Till then it is as if it were in use, but for `kept`. */
bool simt_heap_keep(uint64_t address);
void simt_heap_settle(void);
/* Counts what simt_heap_keep was called for: until it changes, what is allocated remains so. */
uint64_t simt_heap_turn(void);

#endif
