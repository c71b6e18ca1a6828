/* What a worker's list of touched elements is made of: check_once.c writes it, check_recall.c reads it. */
#ifndef SIMT_CHECK_NOTES_H
#define SIMT_CHECK_NOTES_H

#include <string.h>
#include "runtime/simt/check_inside.h"

#define CHUNK_BYTES ((size_t)1 << 20)

struct note { /* lanes of a load or store; behind it the cells where they begin, and what they stored if that is kept */
    const struct insn *insn;
    record me; /* lane 0's */
    uint32_t lanes, block[3];
    uint32_t apart; /* lanes of each half are so many cells apart: two cells stand for them, those of lanes 0 and 16
                       though they may not be among them; EACH: each has its own */
};
#define EACH UINT32_MAX
struct once_chunk {
    struct once_chunk *next;
    size_t used;
    char notes[CHUNK_BYTES - 2 * sizeof(size_t)];
};

/* Frees chunks, or keeps them for the next launch. */
void simt_once_keep_chunks(struct once_chunk *x);

static inline const uint32_t *slots_of(const struct simt_check *c, const struct insn *i)
{
    return i->count == 1 ? &i->d : c->program->extra + i->extra;
}

static inline size_t width_of(const struct insn *i)
{
    return i->flags & F_WIDE ? 8 : 4;
}

static inline size_t bytes_of_cells(unsigned count)
{
    return (count + 1u) / 2 * 8;
}

/* One worker alone need not keep what was stored: it is still in memory. */
static inline bool keeps_values(const struct simt_check *c, const struct insn *i)
{
    return c->parallel && i->memory == MEMORY_STORE;
}

/* How much a load or store takes in the list. */
static inline size_t bytes_of(const struct simt_check *c, const struct insn *i, unsigned lanes, unsigned cells)
{
    size_t values = keeps_values(c, i) ? (lanes * i->count * width_of(i) + 7) / 8 * 8 : 0;
    return sizeof(struct note) + bytes_of_cells(cells) + values;
}

/* Where lanes begin, by lane, as a note has them. */
static inline void cells_of(unsigned apart, uint32_t lanes, const char *at, uint32_t *cells)
{
    uint32_t first[2] = {0};
    if (apart != EACH) memcpy(first, at, sizeof first);
    EACH_LANE(l, lanes)
    {
        if (apart != EACH)
            cells[l] = first[l / 16] + l % 16 * apart;
        else
            memcpy(&cells[l], at, sizeof *cells), at += sizeof *cells;
    }
}

/* Bits of cells, one plane behind the other: which were touched, and, where several threads may load one, which were
 * stored to and which several have loaded. */
enum plane { TOUCHED, STORED, LOADED, PLANES };

static inline size_t planes_of(const struct once_array *x)
{
    return x->shares ? PLANES : 1;
}

static inline size_t words_of(const struct once_array *x)
{
    return x->cells / 64 + 2; /* what is marked by steps may go on in the next word */
}

static inline uint64_t *plane_of(const struct once *o, enum plane p)
{
    return o->touched + p * words_of(o->array);
}

#endif
