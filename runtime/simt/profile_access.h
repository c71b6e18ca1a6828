/* What the memory system of a GPU makes of one warp's access: pure counting over lane addresses.
 *
 * Global memory moves in sectors of 32 bytes: a request costs as many as its lanes touch. Shared memory has 32 banks of
 * 4 bytes: lanes that want different words of one bank take turns. 64-bit accesses go by half warps, 128-bit ones by
 * quarters. An atomic takes as many turns as lanes that meet at one address. */
#ifndef SIMT_PROFILE_ACCESS_H
#define SIMT_PROFILE_ACCESS_H

#include <stdint.h>

#define SIMT_SECTOR 32 /* bytes */
#define SIMT_BANKS  32 /* of 4 bytes */

/* `address` has 32 elements, of which those in `mask` count; `size` is what each lane accesses, in bytes, 1 to 16, a
 * power of two, to which the addresses are aligned. */

/* The sectors that a global access touches, and how few would do: the distinct bytes, laid side by side. */
struct simt_sectors {
    uint32_t touched, ideal;
};
struct simt_sectors simt_count_sectors(const uint64_t *address, uint32_t mask, uint32_t size);

/* The turns that a shared access takes, and how few it would take without bank conflicts. Lanes of one turn may read
 * the same word. */
struct simt_turns {
    uint32_t taken, ideal;
};
struct simt_turns simt_count_turns(const uint64_t *address, uint32_t mask, uint32_t size);

/* The most lanes that share one address: 1 when all differ, 0 without lanes. */
uint32_t simt_count_collisions(const uint64_t *address, uint32_t mask);

#endif
