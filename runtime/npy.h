/* NumPy's .npy format, versions 1.0 to 3.0: a header with a dtype, an order and a shape, then the elements. The header
 * is parsed from bytes; elements come from an input, which is a file or a member of a zip archive (runtime/zip.h).
 * bfloat16, which NumPy lacks, is written as "<V2", as the ml_dtypes package does, and read from that. */
#ifndef RT_NPY_H
#define RT_NPY_H

#include "runtime/array.h"
#include "runtime/file.h"

struct rt_npy {
    enum rt_dtype dtype;
    bool swapped; /* the elements' bytes are in the other order than the host's */
    bool fortran; /* the first axis runs fastest */
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    uint64_t bytes; /* of all elements */
};

/* Bytes that come one after the other. `left` is how many there are still. */
struct rt_input {
    const char *name; /* for messages */
    uint64_t at, left;
    enum rt_status (*read)(struct rt_input *in, void *to, size_t n, struct rt_error *e); /* exactly n */
    void *context;
};
/* Reads n bytes and counts them; RT_INVALID that tells the byte where fewer are left. */
enum rt_status rt_input_read(struct rt_input *in, void *to, size_t n, struct rt_error *e);
/* The whole of a file. */
void rt_input_of_file(const struct rt_file *f, struct rt_input *in);

/* Reads the header, up to the first element. RT_INVALID where it is damaged or promises more than is left,
 * RT_UNSUPPORTED for dtypes that there are not. */
enum rt_status rt_npy_header(struct rt_input *in, struct rt_npy *h, struct rt_error *e);
/* Reads the elements that follow the header into a new array on d; of Fortran order, a transposed view. */
enum rt_status rt_npy_elements(struct rt_input *in, const struct rt_npy *h, struct rt_device *d, struct rt_array *out,
                               struct rt_error *e);

/* The bytes in front of the elements: a multiple of 64. Returns how many, at most RT_NPY_HEADER. */
#define RT_NPY_HEADER 1024
size_t rt_npy_write_header(enum rt_dtype t, int ndim, const int64_t *shape, char out[RT_NPY_HEADER]);

/* Files. `data` is contiguous host memory. */
enum rt_status rt_npy_save(const char *path, enum rt_dtype t, int ndim, const int64_t *shape, const void *data,
                           struct rt_error *e);
enum rt_status rt_npy_load(const char *path, struct rt_device *d, struct rt_array *out, struct rt_error *e);
/* An array on the cpu device over the file itself: what is not looked at is never read. Writes stay in memory.
 * RT_UNSUPPORTED for the other byte order and for an offset that the dtype cannot be at. */
enum rt_status rt_npy_map(const char *path, struct rt_device *cpu, struct rt_array *out, struct rt_error *e);
/* The same of a part of an open file: `in` is an input of that file (rt_input_of_file), at the header's start. */
enum rt_status rt_npy_map_input(const struct rt_file *f, struct rt_input *in, struct rt_device *cpu,
                                struct rt_array *out, struct rt_error *e);

#endif
