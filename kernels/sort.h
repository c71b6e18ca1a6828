/* Sorting: what is shared by the two ways of doing it. */
#ifndef KN_SORT_H
#define KN_SORT_H

#include "kernels/keys.h"
#include "kernels/order.h"

/* `rows` rows of `length` elements each, one behind the other in `a`. */
struct kn_sorter {
    const struct rt_array *a;
    int64_t rows, length; /* 1 at least */
    bool descending;
    const int64_t *places; /* ascending: what of each sorted row is wanted, the rest may be anything; NULL: all of it */
    int64_t wanted;        /* how many places */
    bool parts;            /* the rest is what lies between the places in the sorted row, in any order */
};

/* Each row sorted, to `values`, and as int64 indices from 1, to `indices`: contiguous arrays of a's size, one of which
 * may be NULL. Equal elements stay in their order. */
enum rt_status kn_sort_host(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e);
/* The values of one row that is small as kn_is_small says, at once: into as much memory as it takes, aligned as its
 * elements are. False, and nothing there, where kn_sort_host needs memory of its own for that. */
bool kn_sort_few(const struct kn_sorter *s, void *values);
enum rt_status kn_sort_cuda(const struct kn_sorter *s, const struct rt_array *values, const struct rt_array *indices,
                            struct rt_error *e);

#endif
