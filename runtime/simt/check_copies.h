/* Copies that are under way: those of cp.async, and bulk ones, which mbarriers or groups wait for. */
#ifndef SIMT_CHECK_COPIES_H
#define SIMT_CHECK_COPIES_H

#include "runtime/simt/check_inside.h"

/* ---- check_copies.c ---- */
/* A cp.async of lanes m writes to shared memory from now on until it is waited for. */
void simt_copies_begin(const struct access *a, uint32_t m);
/* A cp.async of lanes m reads from global memory, likewise. */
void simt_copies_fetch(const struct access *a, uint32_t m);
/* cp.async.commit_group and the instructions that wait. */
void simt_copies_wait(struct block *b, const struct warp *w, const struct insn *i, uint32_t m);
/* The lanes that touch what a copy may still write, which is told. */
uint32_t simt_copies_meet(const struct access *a, uint32_t m);
/* Those that write or update what a copy may still read, likewise. */
uint32_t simt_copies_meet_source(const struct access *a, uint32_t m);
void simt_copies_end(struct block *b);   /* a block ends */
void simt_copies_start(struct block *b); /* a block begins */
void simt_copies_free(struct block *b);

/* ---- check_bulk.c ---- */
struct async_bulk;
/* The bulk copy of lanes m, which have touched what it moves, is under way from now on. */
void simt_bulk_begin(const struct access *a, const struct async_bulk *x, uint32_t m);
struct async_tensor;
struct simt_tensor_map;
/* The same of one lane's copy of a box of a tensor. */
void simt_bulk_begin_box(const struct access *a, const struct async_tensor *x, unsigned lane,
                         const struct simt_tensor_map *map, const int32_t *coords);
/* A lane's product (tcgen05.mma) has read rows of shared memory, and may do so until it has been waited for: at an
 * mbarrier, where a commit behind it arrives. */
struct product_rows {
    uint64_t at, pitch;
    uint32_t rows, bytes;
};
void simt_bulk_begin_product(const struct access *a, unsigned lane, const struct product_rows *x);
/* And may still write its sums to columns of tensor memory. Who moves those columns without having waited is told. */
void simt_bulk_begin_sums(const struct access *a, unsigned lane, uint32_t column, uint32_t columns);
void simt_bulk_meet_sums(struct access *a, uint32_t column, uint32_t columns);
/* Lanes m do something with the mbarriers at a->at[lane], when there was a copy; they may test them. */
void simt_bulk_observe(const struct access *a, uint32_t m);
/* They count off the bytes that the instruction before this one, a st.async or red.async, stored. */
void simt_bulk_stored(const struct access *a, uint32_t m);
/* cp.async.bulk.commit_group and the instructions that wait. */
void simt_bulk_wait(struct block *b, const struct warp *w, const struct insn *i, uint32_t m);
/* The lanes that touch what a copy may still move, of shared or of global memory, which is told. */
uint32_t simt_bulk_meet(const struct access *a, uint32_t m, bool shared);
bool simt_bulk_covers(const struct block *b, uint64_t at, uint32_t bytes); /* does a copy move some of them? */
void simt_bulk_met(struct block *b);                                       /* all threads met */
void simt_bulk_start(struct block *b);                                     /* a block begins */
void simt_bulk_end(struct block *b);                                       /* it ends */
void simt_bulk_free(struct block *b);

#endif
