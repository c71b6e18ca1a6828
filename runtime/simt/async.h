/* mbarrier and asynchronous copies, between decode_async.c and ops_async.c. */
#ifndef SIMT_ASYNC_H
#define SIMT_ASYNC_H

#include "runtime/simt/exec.h"

/* The mode of "+mbarrier": slot b counts arrivals, or bytes. */
enum {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_EXPECT,
    MBARRIER_DROP,
    MBARRIER_DROP_EXPECT
};
#define SLOT_NOWHERE UINT32_MAX /* for d: the state is not wanted */

/* What program->extra holds of a bulk copy or store. Slots a and b are whole addresses, c the number of bytes. A
 * reduction (cp.reduce.async.bulk) has the mode, type and size of the atomic that it does with each element. */
struct async_bulk {
    uint32_t destination, source; /* enum ptx_space: shared or global; of st.bulk BULK_ZEROS, and the destination may be
                                     generic */
    uint32_t barrier;             /* slot of the mbarrier's address; 0 when there is none */
    uint32_t ranks; /* slot of the blocks of the cluster that it goes to, by bits; 0: as the address says */
    uint32_t mask;  /* slot of the bytes of each 16 that are copied, by bits; 0: all are */
};
#define BULK_ZEROS UINT32_MAX
/* The same of cp.async.bulk.tensor, a lane's copy of a box of a tensor. Slot a is the whole address in shared memory; a
 * reduction has a size, and which it is depends on the tensor's type, too. */
struct async_tensor {
    struct async_bulk bulk;
    uint32_t map; /* slot of the generic address of its tensor map */
    uint32_t rank, coords[5];
    uint32_t operation; /* index into simt_bulk_operations */
};
extern const char *const simt_bulk_operations[];                  /* ends with NULL */
static inline uint32_t simt_bulk_unit(const struct async_bulk *x) /* bytes: what the number of them is a multiple of */
{
    return x->source == BULK_ZEROS ? 8 : 16;
}
/* The mode of what stands for instructions that wait for cp.async and cp.async.bulk, which do nothing here: extra is
 * the number of groups that may still be under way. */
enum { COPY_COMMIT = 1, COPY_WAIT, COPY_WAIT_ALL, COPY_BULK_COMMIT, COPY_BULK_WAIT, COPY_BULK_WAIT_READ };
static inline int simt_copy_mode(const struct insn *i)
{
    return i->run == simt_op_nop ? i->mode : 0;
}
bool simt_is_barrier_init(const struct insn *i); /* mbarrier.init, which finds nothing there */
bool simt_is_fill(const struct insn *i);         /* the load of a cp.async that fills up with zeros */
bool simt_is_bulk(const struct insn *i);         /* cp.async.bulk, st.bulk: extra is a struct async_bulk */
bool simt_is_tensor(const struct insn *i);       /* of these, cp.async.bulk.tensor: it is a struct async_tensor */
static inline bool simt_is_bulk_reduction(const struct insn *i) /* of these, cp.reduce.async.bulk */
{
    return simt_is_bulk(i) && i->size;
}
static inline bool simt_is_store_bulk(const struct simt_program *p, const struct insn *i) /* of these, st.bulk */
{
    return ((const struct async_bulk *)(const void *)(p->extra + i->extra))->source == BULK_ZEROS;
}
bool simt_is_barrier_test(const struct insn *i); /* mbarrier.test_wait, mbarrier.try_wait */
bool simt_is_mbarrier(const struct insn *i);     /* anything on an mbarrier, which is at its address */
/* The counting of bytes that stands behind the access of a st.async or red.async, or is a mbarrier.complete_tx. */
bool simt_is_complete(const struct insn *i);
static inline bool simt_is_commit(const struct insn *i) /* tcgen05.commit */
{
    return i->flags & F_COMMIT;
}
bool simt_arrives(const struct insn *i); /* counts arrivals or bytes, as a bulk copy does */
/* May the arrivals of lanes m at the mbarrier there end more than three phases? */
bool simt_ends_many(const struct insn *i, char *R, uint32_t m, const void *cell);
/* Of the mbarrier there, modulo 4. */
uint32_t simt_phase_of(const void *cell);
/* Will the test of lane l find the mbarrier's phase over? *phase: that which it asks for. */
bool simt_phase_over(const struct insn *i, char *R, uint32_t l, const void *cell, uint32_t *phase);
/* The lanes of m whose tests will, by the phase that they ask for. */
void simt_phases_over(const struct insn *i, char *R, uint32_t m, const void *cell, uint32_t lanes[4]);
/* Bytes that lane l reads of the instruction's i->size; more than that is a fault. */
uint32_t simt_fill_bytes(char *R, const struct insn *i, uint32_t l);

/* ---- between ops_async.c and ops_tensor.c ---- */
/* Where in shared memory a lane's destination and mbarrier are: as it says, or there in the block of rank `rank` - 1;
 * NULL is a fault. */
void *simt_bulk_target(char *R, const struct insn *i, uint32_t slot, enum ptx_space space, uint32_t lane,
                       uint32_t offset, uint32_t size, uint32_t rank, struct warp *w);
/* Counts the n bytes that lane l has copied at the copy's mbarrier, when there is one. */
enum event simt_bulk_complete(char *R, const struct insn *i, const struct async_bulk *x, uint32_t l, uint32_t n,
                              uint32_t rank, struct warp *w);

/* ---- for observers ---- */
struct simt_tensor_map;
/* The tensor map of lane l's copy and where its box begins; false: that is a fault. */
bool simt_tensor_at(char *R, const struct insn *i, uint32_t l, struct warp *w, struct simt_tensor_map *map,
                    int32_t coords[5]);

#endif
