/* Arrays as JSON: lists of lists of numbers, booleans, or null, which is NaN. NaN, Infinity and -Infinity, which JSON
 * lacks, are written and read as Python's json does. */
#ifndef RT_JSON_H
#define RT_JSON_H

#include "runtime/array.h"
#include "runtime/file.h"

struct rt_json {
    const char *name, *text, *end; /* borrowed; a NUL is behind the text; name: for messages */
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    bool booleans; /* the elements are true and false alone */
};
/* Checks the text and finds its shape. RT_INVALID tells the byte of what is wrong: damage, lists of different lengths,
 * or anything but numbers. */
enum rt_status rt_json_measure(const char *name, const char *text, size_t size, struct rt_json *out,
                               struct rt_error *e);
/* Stores the elements of a measured text. */
enum rt_status rt_json_read(const struct rt_json *j, enum rt_dtype t, void *elements, struct rt_error *e);
/* Writes contiguous elements. */
enum rt_status rt_json_save(const char *path, enum rt_dtype t, int ndim, const int64_t *shape, const void *elements,
                            struct rt_error *e);

#endif
