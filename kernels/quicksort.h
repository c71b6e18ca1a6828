/* Sorting unsigned integers in place by vectors of 32 bytes (AVX2): a vector is split about a pivot by one permutation,
 * and what fits eight vectors is sorted in registers. */
#ifndef KN_QUICKSORT_H
#define KN_QUICKSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this processor can (and LUNARRAY_ISA lets it); nothing else here may be called where not. */
bool kn_quick_available(void);

/* Ascending; n may be 0. */
void kn_quick_sort_32(uint32_t *a, size_t n);
void kn_quick_sort_64(uint64_t *a, size_t n);
/* Moves smaller ones to the front and returns how many; both parts can then be sorted for themselves. 0 or n is
 * possible: nothing is known then. n is more than KN_QUICK_FEW. */
#define KN_QUICK_FEW 128
size_t kn_quick_split_32(uint32_t *a, size_t n);
size_t kn_quick_split_64(uint64_t *a, size_t n);
/* Keys in parts about KN_QUICK_PARTS - 1 bounds, which ascend: part i has those that are above i of them. Adds how many
 * of n keys belong to each part; moves them to to[part], one behind the other, and that on, where what is before
 * ends[part] may be written to. Nothing overlaps. */
#define KN_QUICK_PARTS 4
void kn_quick_count_32(const uint32_t *a, size_t n, const uint32_t *bounds, size_t *counts);
void kn_quick_count_64(const uint64_t *a, size_t n, const uint64_t *bounds, size_t *counts);
void kn_quick_deal_32(const uint32_t *a, size_t n, const uint32_t *bounds, uint32_t **to, uint32_t *const *ends);
void kn_quick_deal_64(const uint64_t *a, size_t n, const uint64_t *bounds, uint64_t **to, uint64_t *const *ends);
/* Moves what can be among the k least to the front, in any order, and returns how many that are: k or some more. No two
 * are equal. n is KN_QUICK_MANY at least, k from 1 to KN_QUICK_LEAST. */
#define KN_QUICK_MANY  256
#define KN_QUICK_LEAST 16
size_t kn_quick_keep_least_64(uint64_t *a, size_t n, size_t k);

#endif
