/* Records that stand for the elements of a row while it is sorted on the host, results from sorted ones, and what the
 * files of that sorting (sort_host.c, sort_parts.c, sort_ranks.c, sort_counted.c) have from one another. */
#ifndef KN_SORT_RECORDS_H
#define KN_SORT_RECORDS_H

#include "kernels/loops.h"
#include "kernels/quicksort.h"
#include "kernels/sort.h"

#define CHUNK        2048  /* elements that are turned into keys at a time */
#define KN_SORT_LONG 65536 /* elements of a row that all threads sort together */
#define PIECE        65536 /* elements that are turned into keys, or keys into elements, at a time */

/* Keys of 8 bytes with their index. */
struct pair {
    uint64_t key, index;
};

/* A key alone, or above an index of 4 bytes, or beside one of 8; or, SHORT64, so much of a key of 8 bytes as there is
 * room for above the bits of an index. */
enum record { KEY32, KEY64, PAIR32, PAIR64, SHORT64 };

/* The keys of a row: what is between the least one and another is a number of some bits, of which the last ones may be
 * 0 in all. */
struct span {
    uint64_t least;
    int zeros, bits; /* of those behind the zeros, 1 at least */
};

struct job {
    const struct kn_sorter *s;
    const struct kn_loops *loops;
    enum record record;
    size_t record_bytes, element_bytes;
    int kind;
    uint64_t inf, flip, top, nan;
    const char *in;
    char *values;
    int64_t *indices;
    int index_bits;   /* of a record that has an index of fewer than 8 bytes */
    bool quick;       /* sorted in place, as integers */
    bool ranked;      /* the indices of a row come by its keys alone */
    bool in_values;   /* the records of a row are where its results will be */
    bool in_indices;  /* or where its indices will be */
    size_t row_bytes; /* of scratch memory for a row */
    char *scratch;    /* that; for each worker where rows are sorted beside each other */
    struct span span; /* of the row that is sorted now, where records are SHORT64 */
    /* Of the long row that is sorted now: */
    const char *row;
    char *records;
    int64_t row_number;
};

/* Of an index of n elements. */
static inline int kn_sort_index_bits(int64_t n)
{
    return n > 1 ? 64 - __builtin_clzll((uint64_t)n - 1) : 32;
}
static inline uint64_t kn_sort_index_mask(const struct job *j)
{
    return ((uint64_t)1 << j->index_bits) - 1;
}
/* Bits of a key for which there is no room: fewer than those of an index. */
static inline int kn_sort_bits_over(const struct job *j)
{
    const int bits = j->span.bits + j->index_bits;
    return bits > 64 ? bits - 64 : 0;
}
/* What of row r is in j->in. */
static inline const char *kn_sort_row(const struct job *j, int64_t r)
{
    return j->in + (size_t)(r * j->s->length) * j->element_bytes;
}
/* Of several places those from the first on are wanted. */
static inline bool kn_sort_are_firsts(const struct kn_sorter *s)
{
    return !s->parts && s->wanted > 1 && s->places[s->wanted - 1] == s->wanted - 1;
}

/* sort_records.c: */

/* What is known of some keys of a row of elements of 8 bytes: `differ` has the bits in which any of them is not as the
 * first one. */
struct survey {
    uint64_t least, greatest, differ;
};
struct survey kn_sort_survey(const struct job *j, const char *row, size_t begin, size_t end);
struct span kn_sort_span(struct survey s);
/* The bits of the element whose key it is. */
uint64_t kn_sort_bits_of(const struct job *j, uint64_t key);
/* Records of a row's elements begin..end, the first of them to records[0]. */
void kn_sort_make(const struct job *j, const char *row, void *records, size_t begin, size_t end);
/* Orders begin..end of sorted records by what there was no room for, too; no more of them are equal but for that. */
void kn_sort_mend(const struct job *j, const char *row, uint64_t *records, size_t begin, size_t end);
/* The results begin..end of row r from its sorted records. */
void kn_sort_write(const struct job *j, int64_t r, const void *records, size_t begin, size_t end);

/* sort_parts.c, where j->quick: */

/* Sorts records from place `base` of their row on, as far as they are wanted. */
void kn_sort_quick(const struct job *j, char *records, size_t base, size_t n);
/* Sorts the long row in j by all threads and, where all of it is wanted, writes it. */
void kn_sort_parts(const struct job *j, size_t n);

/* sort_ranks.c, where j->ranked: the results of row r; `keys` is scratch memory. */
void kn_sort_ranks(const struct job *j, int64_t r, uint64_t *keys);

/* sort_counted.c: whether the rows are to be counted; does that. RT_NOMEM or RT_INTERRUPTED. */
bool kn_sort_is_counted(const struct job *j);
enum rt_status kn_sort_counted(struct job *j, struct rt_error *e);

#endif
