/* The array type: a dtype, a shape and strides over a storage. A struct rt_array is a value that owns one reference to
 * its storage: fill it with one of the functions here and release it with rt_array_release. Without a storage it is "no
 * array" and may be released; axes from ndim on mean nothing. Views share storage. Data always lies inside the storage;
 * strides may be 0 (broadcast) or negative. Only geometry and contiguous transfers live here; whatever computes (casts,
 * strided copies) is in kernels/. */
#ifndef RT_ARRAY_H
#define RT_ARRAY_H

#include "runtime/dtype.h"
#include "runtime/memory.h"

#define RT_MAX_DIMS 16

struct rt_array {
    struct rt_storage *storage;
    enum rt_dtype dtype;
    int ndim;                     /* 0 is a scalar array of one element */
    int64_t shape[RT_MAX_DIMS];   /* elements, 0 or more */
    int64_t strides[RT_MAX_DIMS]; /* in elements, not bytes */
    int64_t offset;               /* of the first element, in elements from the storage's start */
};

/* A new uninitialised contiguous (row-major) array. RT_INVALID for a negative size, too many axes or a byte count that
 * overflows; RT_NOMEM. On failure *out is all zeros. */
enum rt_status rt_array_new(struct rt_device *d, enum rt_dtype t, int ndim, const int64_t *shape, struct rt_array *out,
                            struct rt_error *e);
/* A contiguous array over a storage that has room for it; takes over the reference. */
void rt_array_over(struct rt_storage *s, enum rt_dtype t, int ndim, const int64_t *shape, struct rt_array *out);
void rt_array_release(struct rt_array *a);
/* *out becomes another view of the same data (one more reference). */
void rt_array_share(const struct rt_array *a, struct rt_array *out);

int64_t rt_array_size(const struct rt_array *a); /* number of elements */
bool rt_array_contiguous(const struct rt_array *a);
bool rt_array_same_shape(const struct rt_array *a, const struct rt_array *b);
/* True when the two may touch the same bytes (conservative: compares address ranges). */
bool rt_array_overlap(const struct rt_array *a, const struct rt_array *b);
static inline struct rt_device *rt_array_device(const struct rt_array *a)
{
    return a->storage->device;
}
/* Address of the first element on its device, and the same for host code (NULL on cuda, and when empty). */
uint64_t rt_array_address(const struct rt_array *a);
void *rt_array_host(const struct rt_array *a);

/* Views. `out` gets a reference of its own; axes count from 0 here. RT_INVALID with a message in the user's terms
 * (1-based axes and indices) when the request does not fit. */
enum rt_status rt_array_select(const struct rt_array *a, int axis, int64_t index, struct rt_array *out,
                               struct rt_error *e); /* drops the axis; index from 0 */
/* Elements start, start+step, ... (count of them) of an axis; step may be negative. */
enum rt_status rt_array_slice(const struct rt_array *a, int axis, int64_t start, int64_t count, int64_t step,
                              struct rt_array *out, struct rt_error *e);
/* One size may be -1 and is then computed. Fails with RT_UNSUPPORTED when only a copy could have that shape. */
enum rt_status rt_array_reshape(const struct rt_array *a, int ndim, const int64_t *shape, struct rt_array *out,
                                struct rt_error *e);
enum rt_status rt_array_permute(const struct rt_array *a, const int *axes, struct rt_array *out, struct rt_error *e);
/* The same bytes as elements of another dtype. Where that one has another size, the last axis gets another length, and
 * its elements have to lie side by side. RT_INVALID where they don't, where the bytes are no whole number of elements
 * or lie at no multiple of their alignment, and between bool and another dtype. */
enum rt_status rt_array_view_as(const struct rt_array *a, enum rt_dtype t, struct rt_array *out, struct rt_error *e);
/* The real or the imaginary parts of a complex array; of another array, itself. */
void rt_array_part(const struct rt_array *a, bool imaginary, struct rt_array *out);
enum rt_status rt_array_broadcast(const struct rt_array *a, int ndim, const int64_t *shape, struct rt_array *out,
                                  struct rt_error *e);
/* The shape that arrays broadcast to, NumPy's rules; RT_INVALID names both shapes. */
enum rt_status rt_broadcast_shape(const struct rt_array *const *arrays, int count, int *ndim, int64_t *shape,
                                  struct rt_error *e);

/* runtime/transfer.c: transfers between contiguous arrays and host memory of rt_array_size elements. They wait for
 * earlier work. */
enum rt_status rt_array_read(const struct rt_array *a, void *host, struct rt_error *e);
enum rt_status rt_array_write(const struct rt_array *a, const void *host, struct rt_error *e);
/* Between contiguous arrays of the same dtype and size on any two devices. */
enum rt_status rt_array_transfer(const struct rt_array *to, const struct rt_array *from, struct rt_error *e);
/* RT_DEVICE when the array's memory was lost in a GPU fault. Everything that reads data calls the first of these
 * before, what writes to an array that it was given the second, so that streams' uses of it are known (runtime/uses.h)
 * with its statuses. The third only looks. */
enum rt_status rt_array_alive(const struct rt_array *a, struct rt_error *e);
enum rt_status rt_array_writable(const struct rt_array *a, struct rt_error *e);
enum rt_status rt_array_there(const struct rt_array *a, struct rt_error *e);

/* "(3, 4)" into buffer; returns buffer. */
char *rt_shape_text(int ndim, const int64_t *shape, char *buffer, size_t size);

#endif
