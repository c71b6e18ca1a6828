#include "runtime/png.h"
#include <png.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/library.h"

#define MOST_PACKED 1040 /* bytes that deflate makes of one at most, and a little more */

#define FUNCTIONS(X)                                                                                                   \
    X(png_create_read_struct)                                                                                          \
    X(png_create_write_struct)                                                                                         \
    X(png_create_info_struct)                                                                                          \
    X(png_destroy_read_struct)                                                                                         \
    X(png_destroy_write_struct)                                                                                        \
    X(png_get_error_ptr)                                                                                               \
    X(png_get_io_ptr)                                                                                                  \
    X(png_set_read_fn)                                                                                                 \
    X(png_set_write_fn)                                                                                                \
    X(png_set_user_limits)                                                                                             \
    X(png_read_info)                                                                                                   \
    X(png_set_expand)                                                                                                  \
    X(png_set_swap)                                                                                                    \
    X(png_set_interlace_handling)                                                                                      \
    X(png_read_update_info)                                                                                            \
    X(png_get_image_width)                                                                                             \
    X(png_get_image_height)                                                                                            \
    X(png_get_channels)                                                                                                \
    X(png_get_bit_depth)                                                                                               \
    X(png_get_rowbytes)                                                                                                \
    X(png_read_image)                                                                                                  \
    X(png_read_end)                                                                                                    \
    X(png_set_IHDR)                                                                                                    \
    X(png_write_info)                                                                                                  \
    X(png_write_row)                                                                                                   \
    X(png_write_end)

static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} png;

static const char *const names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
};

static bool load(struct rt_error *e)
{
    const struct rt_library *l = rt_library_open(RT_LIB_PNG, e);
    if (!l) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = rt_library_symbol(l, names[i], e);
        if (!symbol) return false;
        memcpy((char *)&png + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return true;
}

static bool open_library(struct rt_error *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool loaded;
    pthread_mutex_lock(&lock);
    loaded = loaded || load(e);
    bool there = loaded;
    pthread_mutex_unlock(&lock);
    return there;
}

/* libpng's errors must not return; they jump to where the image was begun, over its frames and no others. */
struct image {
    jmp_buf jump;
    png_structp png;
    png_infop info;
    struct rt_file file;
    uint64_t at;
    struct rt_writer writer;
    bool in_memory; /* written there, not to the writer */
    unsigned char *memory;
    size_t length, capacity;
    png_bytep *rows;
    char message[160];
    enum rt_status status; /* of a failure of ours, inside libpng */
    struct rt_error *e;
};

static void fail(png_structp p, png_const_charp message)
{
    struct image *i = png.png_get_error_ptr(p);
    snprintf(i->message, sizeof i->message, "%s", message);
    longjmp(i->jump, 1);
}

static void warn(png_structp p, png_const_charp message)
{
    (void)p;
    (void)message;
}

static void read_data(png_structp p, png_bytep to, size_t n)
{
    struct image *i = png.png_get_io_ptr(p);
    i->status = rt_file_read(&i->file, i->at, to, n, i->e);
    i->at += n;
    if (i->status != RT_OK) longjmp(i->jump, 1);
}

static void write_data(png_structp p, png_bytep from, size_t n)
{
    struct image *i = png.png_get_io_ptr(p);
    if (!i->in_memory) {
        rt_writer_put(&i->writer, from, n);
        return;
    }
    if (n > i->capacity - i->length) {
        size_t capacity = 2 * i->capacity + n + 4096;
        unsigned char *more = rt_realloc(i->memory, capacity);
        if (!more) fail(p, "out of memory");
        i->memory = more;
        i->capacity = capacity;
    }
    memcpy(i->memory + i->length, from, n);
    i->length += n;
}

static void flush_data(png_structp p)
{
    (void)p;
}

/* ---- reading ---- */

/* The header, and the form that rows are to come in. What it promises is checked before libpng makes room for a row. */
static void begin_read(struct image *i)
{
    png.png_set_read_fn(i->png, i, read_data);
    png.png_set_user_limits(i->png, 0x7fffffff, 0x7fffffff);
    png.png_read_info(i->png, i->info);
    uint64_t rows = png.png_get_image_height(i->png, i->info), bytes = png.png_get_rowbytes(i->png, i->info);
    if (rows * bytes / MOST_PACKED > i->file.size) {
        i->status = rt_fail(i->e, RT_INVALID, "%s: an image of %llu by %llu pixels is not in a file of %llu bytes",
                            i->file.path, (unsigned long long)png.png_get_image_width(i->png, i->info),
                            (unsigned long long)rows, (unsigned long long)i->file.size);
        longjmp(i->jump, 1);
    }
    png.png_set_expand(i->png);
    if (RT_LITTLE) png.png_set_swap(i->png);
    png.png_set_interlace_handling(i->png);
    png.png_read_update_info(i->png, i->info);
}

static void shape_of(const struct image *i, enum rt_dtype *t, int *ndim, int64_t shape[3])
{
    shape[0] = png.png_get_image_height(i->png, i->info);
    shape[1] = png.png_get_image_width(i->png, i->info);
    shape[2] = png.png_get_channels(i->png, i->info);
    *ndim = shape[2] == 1 ? 2 : 3;
    *t = png.png_get_bit_depth(i->png, i->info) == 16 ? RT_UINT16 : RT_UINT8;
}

static bool read_header(struct image *i)
{
    if (setjmp(i->jump)) return false;
    begin_read(i);
    return true;
}

static bool read_pixels(struct image *i)
{
    if (setjmp(i->jump)) return false;
    png.png_read_image(i->png, i->rows);
    png.png_read_end(i->png, NULL);
    return true;
}

static enum rt_status failure(const struct image *i)
{
    if (i->status != RT_OK) return i->status;
    return rt_fail(i->e, RT_INVALID, "%s is no whole PNG image: %s, before byte %llu", i->file.path,
                   i->message[0] ? i->message : "out of memory", (unsigned long long)i->at);
}

/* Reads the rows into host memory of the shape. */
static enum rt_status read_rows(struct image *i, char *to, const int64_t shape[3])
{
    size_t row = png.png_get_rowbytes(i->png, i->info);
    i->rows = rt_calloc((size_t)shape[0] + 1, sizeof *i->rows);
    if (!i->rows) return rt_fail(i->e, RT_NOMEM, "out of memory for %s", i->file.path);
    for (int64_t k = 0; k < shape[0]; k++) i->rows[k] = (png_bytep)to + (size_t)k * row;
    return read_pixels(i) ? RT_OK : failure(i);
}

static enum rt_status read_image(struct image *i, struct rt_device *d, struct rt_array *out)
{
    enum rt_dtype t;
    int ndim;
    int64_t shape[3];
    if (!read_header(i)) return failure(i);
    shape_of(i, &t, &ndim, shape);
    enum rt_status status = rt_array_new(d, t, ndim, shape, out, i->e);
    if (status == RT_OK) status = rt_device_synchronize(d, i->e);
    if (status == RT_OK) {
        size_t bytes = (size_t)rt_array_size(out) * rt_dtypes[t].size;
        char *host = rt_array_host(out), *to = host ? host : rt_alloc(bytes);
        status = to ? read_rows(i, to, shape) : rt_fail(i->e, RT_NOMEM, "out of memory for %s", i->file.path);
        if (status == RT_OK && !host) status = rt_array_write(out, to, i->e);
        if (!host) free(to);
    }
    if (status != RT_OK) rt_array_release(out);
    return status;
}

enum rt_status rt_png_load(const char *path, struct rt_device *d, struct rt_array *out, struct rt_error *e)
{
    struct image i = {.e = e};
    if (!open_library(e)) return RT_MISSING;
    enum rt_status status = rt_file_open(path, &i.file, e);
    if (status != RT_OK) return status;
    i.png = png.png_create_read_struct(PNG_LIBPNG_VER_STRING, &i, fail, warn);
    i.info = i.png ? png.png_create_info_struct(i.png) : NULL;
    status = i.info ? read_image(&i, d, out) : rt_fail(e, RT_NOMEM, "out of memory for %s", path);
    if (i.png) png.png_destroy_read_struct(&i.png, &i.info, NULL);
    free(i.rows);
    rt_file_close(&i.file);
    return status;
}

/* ---- writing ---- */
static bool write_image(struct image *i, const struct rt_pixels *p)
{
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(i->jump)) return false;
    png.png_set_write_fn(i->png, i, write_data, flush_data);
    png.png_set_user_limits(i->png, 0x7fffffff, 0x7fffffff);
    png.png_set_IHDR(i->png, i->info, (png_uint_32)p->columns, (png_uint_32)p->rows, p->wide ? 16 : 8,
                     types[p->channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png.png_write_info(i->png, i->info);
    if (p->wide && RT_LITTLE) png.png_set_swap(i->png);
    size_t row = (size_t)p->columns * (size_t)p->channels * (p->wide ? 2 : 1);
    for (int64_t k = 0; k < p->rows; k++) png.png_write_row(i->png, (png_const_bytep)p->values + (size_t)k * row);
    png.png_write_end(i->png, i->info);
    return true;
}

static enum rt_status write_whole(struct image *i, const char *what, const struct rt_pixels *p)
{
    enum rt_status status = RT_OK;
    i->png = png.png_create_write_struct(PNG_LIBPNG_VER_STRING, i, fail, warn);
    i->info = i->png ? png.png_create_info_struct(i->png) : NULL;
    if (!i->info)
        status = rt_fail(i->e, RT_NOMEM, "out of memory for %s", what);
    else if (!write_image(i, p))
        status = rt_fail(i->e, RT_INVALID, "%s cannot be written: %s", what, i->message);
    if (i->png) png.png_destroy_write_struct(&i->png, &i->info);
    return status;
}

enum rt_status rt_png_save(const char *path, const struct rt_pixels *p, struct rt_error *e)
{
    struct image i = {.e = e};
    if (!open_library(e)) return RT_MISSING;
    enum rt_status status = rt_writer_open(path, &i.writer, e);
    if (status != RT_OK) return status;
    status = write_whole(&i, path, p);
    enum rt_status finished = rt_writer_finish(&i.writer, status == RT_OK, status == RT_OK ? e : NULL);
    return status == RT_OK ? finished : status;
}

enum rt_status rt_png_encode(const struct rt_pixels *p, void **bytes, size_t *length, struct rt_error *e)
{
    struct image i = {.e = e, .in_memory = true};
    *bytes = NULL;
    *length = 0;
    if (!open_library(e)) return RT_MISSING;
    enum rt_status status = write_whole(&i, "an image", p);
    if (status != RT_OK) {
        free(i.memory);
        return status;
    }
    *bytes = i.memory;
    *length = i.length;
    return RT_OK;
}
