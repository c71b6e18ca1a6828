/* Reading and writing by index arrays: one pass over the places of a shape. At each place every picked axis of `data`
 * takes its index from an array of indices, and the other axes of `data` run along with axes of the shape. That is
 * x[idx], x[{idx, {2, 3}}], take, put, gather along an axis and scatter alike; only the fields differ.
 *
 * Indices count from 1, or from the end with negative ones. All of them are checked before anything is written. */
#ifndef KN_GATHER_H
#define KN_GATHER_H

#include "kernels/program.h"

#define KN_MAX_PICKS 12

struct kn_pick {
    const struct rt_array *index; /* int32 or int64, of the places' shape */
    int axis;                     /* of data */
    int named;                    /* the axis that messages call it by */
};

struct kn_indexing {
    const struct rt_array *data;
    int ndim; /* of the places */
    int64_t shape[RT_MAX_DIMS];
    int runs[RT_MAX_DIMS]; /* the axis of data that runs along with an axis of the places; -1: none */
    int count;             /* of picks */
    struct kn_pick picks[KN_MAX_PICKS];
    bool once; /* no element of data is reached from two places */
};

/* out = data at the places; out is new: contiguous, of the places' shape and data's dtype. */
enum rt_status kn_gather(const struct kn_indexing *x, const struct rt_array *out, struct rt_error *e);
/* data at the places = value, or data combined with the value by add, mul, minimum or maximum. The value has data's
 * dtype and broadcasts to the places' shape; it and the indices may overlap data. Of several values for one element the
 * last in row-major order stays; several are combined in that order, so a sum of floats is the same bits every time.
 * Bools are added and multiplied by "or" and "and"; NaN wins in minimum and maximum, which complex numbers have not.
 * RT_INVALID names a bad index, and nothing was written. */
enum rt_status kn_scatter(const struct kn_indexing *x, const struct rt_array *value, struct rt_error *e);
enum rt_status kn_scatter_by(enum kn_op op, const struct kn_indexing *x, const struct rt_array *value,
                             struct rt_error *e);

/* For the files of kernels/: one such pass. */
enum kn_access { KN_READ, KN_CHECK, KN_WRITE, KN_ACCUMULATE, KN_LOCATE };

struct kn_trip {
    const struct kn_indexing *x;
    enum kn_op combine;           /* of KN_ACCUMULATE */
    const struct rt_array *dense; /* out or value, of the places' shape; NULL where indices are only checked */
    struct kn_space space;        /* of data, dense and the picks' indices, in the places' row-major order */
    int64_t step[KN_MAX_PICKS], length[KN_MAX_PICKS]; /* of data along the picked axes */
    int64_t low, span; /* data's elements lie at offsets low to low + span - 1 from its first one */
    bool apart;        /* no two of data's elements are one in memory */
};
enum { KN_TRIP_DATA, KN_TRIP_DENSE, KN_TRIP_INDEX }; /* leaves of the space */

/* Sets *bad to the first place that has a bad index, or to -1. When there is one, nothing that was read or written is
 * to be relied on. A GPU's writing takes the indices for checked. */
enum rt_status kn_gather_host(const struct kn_trip *t, enum kn_access access, int64_t *bad, struct rt_error *e);
enum rt_status kn_gather_cuda(const struct kn_trip *t, enum kn_access access, int64_t *bad, struct rt_error *e);
/* The elements that places lead to, as offsets from t->low, to an int64 array with one for each place. */
enum rt_status kn_gather_locate_cuda(const struct kn_trip *t, const struct rt_array *elements, struct rt_error *e);
/* A pass of KN_ACCUMULATE, in the places' order; see gather_by_cuda.c. */
enum rt_status kn_gather_by_cuda(const struct kn_trip *t, struct rt_error *e);

#endif
