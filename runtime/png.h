/* PNG images through libpng, which is opened at its first use. An image is rows of pixels of 1 to 4 channels (grey,
 * grey and opacity, red green blue, and opacity) of 8 or 16 bits; palettes and fewer bits are widened to 8. Values are
 * what the file holds: no gamma is applied. */
#ifndef RT_PNG_H
#define RT_PNG_H

#include "runtime/array.h"
#include "runtime/file.h"

/* A new array of uint8 or uint16 on d: rows, columns and, unless it is one, channels. */
enum rt_status rt_png_load(const char *path, struct rt_device *d, struct rt_array *out, struct rt_error *e);

/* An image to be written. */
struct rt_pixels {
    int64_t rows, columns; /* 1 or more each */
    int channels;
    bool wide;          /* of uint16; else uint8 */
    const void *values; /* contiguous; borrowed */
};
enum rt_status rt_png_save(const char *path, const struct rt_pixels *p, struct rt_error *e);
/* The same into memory: *bytes is to be freed, and NULL after an error. */
enum rt_status rt_png_encode(const struct rt_pixels *p, void **bytes, size_t *length, struct rt_error *e);

#endif
