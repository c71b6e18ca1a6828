/* Masks: where a bool array is true, and what lies there. A mask is counted once, chunk by chunk, so that afterwards
 * every chunk knows where its own elements go and all are done at the same time. */
#ifndef KN_NONZERO_H
#define KN_NONZERO_H

#include "kernels/kernels.h"

#define KN_MASK_CHUNK 4096

struct kn_mask {
    struct rt_array bits;   /* contiguous */
    int64_t places, count;  /* elements, and how many of them are true */
    struct rt_array before; /* int64 for each chunk: true elements in front of it */
    int64_t only;           /* in place of `before` where the host has one chunk alone, or none */
};

/* Release with kn_mask_release, also after a failure. The mask must be bool; it is copied unless contiguous. */
enum rt_status kn_mask_count(const struct rt_array *mask, struct kn_mask *out, struct rt_error *e);
void kn_mask_release(struct kn_mask *m);
/* out, int64, contiguous, m->count elements: the row-major places of the true elements, counted from 1. */
enum rt_status kn_mask_places(const struct kn_mask *m, const struct rt_array *out, struct rt_error *e);
/* `rows` has m->places equal parts along its only or first axis, of which `picked` has or gets the m->count true ones.
 * Both have one dtype; picked is contiguous, and so are the parts of rows that are read. */
enum rt_status kn_mask_read(const struct kn_mask *m, const struct rt_array *rows, const struct rt_array *picked,
                            struct rt_error *e);
enum rt_status kn_mask_write(const struct kn_mask *m, const struct rt_array *rows, const struct rt_array *picked,
                             struct rt_error *e);

/* For the files of kernels/. Counts go to m->before, each chunk's own. Host code moves bytes: `size` for each place. */
int64_t *kn_mask_before(const struct kn_mask *m); /* on the host */
void kn_mask_count_host(const struct kn_mask *m);
void kn_mask_places_host(const struct kn_mask *m, const struct rt_array *out);
void kn_mask_read_host(const struct kn_mask *m, const char *rows, char *picked, size_t size);
void kn_mask_write_host(const struct kn_mask *m, char *rows, const char *picked, size_t size);
enum rt_status kn_mask_count_cuda(const struct kn_mask *m, struct rt_error *e);
enum rt_status kn_mask_places_cuda(const struct kn_mask *m, const struct rt_array *out, struct rt_error *e);

#endif
