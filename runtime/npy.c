#include "runtime/npy.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/mapped.h"

#define LONGEST_HEADER 65536 /* nobody's shape of RT_MAX_DIMS axes takes more */
#define PIECE          ((size_t)16 << 20)

static const char magic[] = "\x93NUMPY";

/* ---- inputs ---- */
enum rt_status rt_input_read(struct rt_input *in, void *to, size_t n, struct rt_error *e)
{
    if (n > in->left)
        return rt_fail(e, RT_INVALID, "%s ends at byte %" PRIu64 "; %zu bytes were expected from byte %" PRIu64 " on",
                       in->name, in->at + in->left, n, in->at);
    enum rt_status status = n ? in->read(in, to, n, e) : RT_OK;
    in->at += n;
    in->left -= n;
    return status;
}

static enum rt_status read_file(struct rt_input *in, void *to, size_t n, struct rt_error *e)
{
    return rt_file_read(in->context, in->at, to, n, e);
}

void rt_input_of_file(const struct rt_file *f, struct rt_input *in)
{
    *in = (struct rt_input){.name = f->path, .left = f->size, .read = read_file, .context = (void *)(uintptr_t)f};
}

/* ---- the header's text, a dictionary as Python writes it ---- */
struct text {
    const char *start, *at, *end;
    const char *name;
    struct rt_error *e;
};

static enum rt_status wrong(const struct text *t, const char *expected)
{
    char found[24] = "the end";
    int n = t->end - t->at < 12 ? (int)(t->end - t->at) : 12;
    if (n) snprintf(found, sizeof found, "'%.*s'", n, t->at);
    for (char *c = found; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
    return rt_fail(t->e, RT_INVALID, "%s: the header has %s at its byte %d, where %s was expected", t->name, found,
                   (int)(t->at - t->start), expected);
}

static void skip_blanks(struct text *t)
{
    while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at) t->at++;
}

static bool accept(struct text *t, char c)
{
    skip_blanks(t);
    if (t->at == t->end || *t->at != c) return false;
    t->at++;
    return true;
}

/* A string in quotes, without escapes. */
static enum rt_status parse_string(struct text *t, char *out, size_t size)
{
    skip_blanks(t);
    const char *before = t->at;
    char quote = t->at < t->end ? *t->at : 0;
    if (quote != '\'' && quote != '"') return wrong(t, "a string");
    const char *last = memchr(t->at + 1, quote, (size_t)(t->end - t->at - 1));
    if (!last || (size_t)(last - before) > size) return wrong(t, "a short string");
    size_t n = (size_t)(last - before) - 1;
    memcpy(out, before + 1, n);
    out[n] = '\0';
    t->at = last + 1;
    return RT_OK;
}

static enum rt_status parse_bool(struct text *t, bool *out)
{
    skip_blanks(t);
    size_t left = (size_t)(t->end - t->at);
    *out = left >= 4 && memcmp(t->at, "True", 4) == 0;
    if (!*out && !(left >= 5 && memcmp(t->at, "False", 5) == 0)) return wrong(t, "True or False");
    t->at += *out ? 4 : 5;
    return RT_OK;
}

static enum rt_status parse_size(struct text *t, int64_t *out)
{
    skip_blanks(t);
    const char *first = t->at;
    for (*out = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *t->at - '0', out))
            return wrong(t, "a smaller size");
    if (t->at == first) return wrong(t, "a size");
    if (t->at < t->end && *t->at == 'L') t->at++; /* of Python 2 */
    return RT_OK;
}

static enum rt_status parse_shape(struct text *t, struct rt_npy *h)
{
    if (!accept(t, '(')) return wrong(t, "a shape in parentheses");
    h->ndim = 0;
    while (!accept(t, ')')) {
        if (h->ndim == RT_MAX_DIMS)
            return rt_fail(t->e, RT_UNSUPPORTED, "%s: the array has more than %d axes", t->name, RT_MAX_DIMS);
        enum rt_status status = parse_size(t, &h->shape[h->ndim++]);
        if (status != RT_OK) return status;
        if (accept(t, ',')) continue;
        if (!accept(t, ')')) return wrong(t, "a comma or the shape's end");
        break;
    }
    return RT_OK;
}

static enum rt_status find_dtype(const char *descr, struct text *t, struct rt_npy *h)
{
    const char *code = descr + (strchr("<>|=", *descr) && *descr ? 1 : 0);
    long size = *code ? strtol(code + 1, NULL, 10) : 0;
    h->dtype = RT_DTYPE_COUNT;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        if (i != RT_BFLOAT16 && rt_dtypes[i].kind == *code && rt_dtypes[i].size == size) h->dtype = (enum rt_dtype)i;
    if (!strcmp(code, "V2")) h->dtype = RT_BFLOAT16;
    if (h->dtype == RT_DTYPE_COUNT)
        return rt_fail(t->e, RT_UNSUPPORTED, "%s: there is no dtype here for NumPy's '%s'", t->name, descr);
    h->swapped = rt_dtypes[h->dtype].size > 1 && (*descr == '>' || *descr == '<') && (*descr == '<') != RT_LITTLE;
    return RT_OK;
}

static enum rt_status parse_descr(struct text *t, struct rt_npy *h)
{
    char descr[32] = "";
    skip_blanks(t);
    if (t->at < t->end && *t->at == '[')
        return rt_fail(t->e, RT_UNSUPPORTED, "%s holds records; save each field as an array of its own", t->name);
    enum rt_status status = parse_string(t, descr, sizeof descr);
    return status == RT_OK ? find_dtype(descr, t, h) : status;
}

static enum rt_status count_bytes(struct text *t, struct rt_npy *h)
{
    bool empty = false, overflow = false;
    h->bytes = rt_dtypes[h->dtype].size;
    for (int i = 0; i < h->ndim; i++) { /* strides must fit, too, those of arrays without elements among them */
        empty |= h->shape[i] == 0;
        overflow |= __builtin_mul_overflow(h->bytes, h->shape[i] ? (uint64_t)h->shape[i] : 1, &h->bytes);
    }
    if (overflow || h->bytes > INT64_MAX)
        return rt_fail(t->e, RT_INVALID, "%s: the shape in the header is larger than any array", t->name);
    if (empty) h->bytes = 0;
    return RT_OK;
}

/* From a header's text, which is what follows its length. */
static enum rt_status parse(const char *text, size_t length, const char *name, struct rt_npy *h, struct rt_error *e)
{
    struct text t = {.start = text, .at = text, .end = text + length, .name = name, .e = e};
    bool has_descr = false, has_order = false, has_shape = false;
    *h = (struct rt_npy){0};
    if (!accept(&t, '{')) return wrong(&t, "'{'");
    while (!accept(&t, '}')) {
        char key[32];
        enum rt_status status = parse_string(&t, key, sizeof key);
        if (status != RT_OK) return status;
        if (!accept(&t, ':')) return wrong(&t, "':'");
        if (!strcmp(key, "descr")) {
            has_descr = true;
            status = parse_descr(&t, h);
        } else if (!strcmp(key, "fortran_order")) {
            has_order = true;
            status = parse_bool(&t, &h->fortran);
        } else if (!strcmp(key, "shape")) {
            has_shape = true;
            status = parse_shape(&t, h);
        } else {
            return rt_fail(e, RT_INVALID, "%s: the header has a key '%s', which no version knows", name, key);
        }
        if (status != RT_OK) return status;
        if (accept(&t, ',')) continue;
        if (!accept(&t, '}')) return wrong(&t, "a comma or '}'");
        break;
    }
    if (!has_descr || !has_order || !has_shape)
        return rt_fail(e, RT_INVALID, "%s: the header lacks '%s'", name,
                       !has_descr   ? "descr"
                       : !has_order ? "fortran_order"
                                    : "shape");
    return count_bytes(&t, h);
}

enum rt_status rt_npy_header(struct rt_input *in, struct rt_npy *h, struct rt_error *e)
{
    unsigned char start[12] = {0};
    enum rt_status status = rt_input_read(in, start, 8, e);
    if (status != RT_OK) return status;
    if (memcmp(start, magic, 6) != 0)
        return rt_fail(e, RT_INVALID, "%s is not in .npy format: it does not begin with \\x93NUMPY", in->name);
    if (start[6] < 1 || start[6] > 3)
        return rt_fail(e, RT_UNSUPPORTED, "%s is of version %d.%d of the .npy format; 1 to 3 can be read", in->name,
                       start[6], start[7]);
    size_t wide = start[6] == 1 ? 2 : 4;
    status = rt_input_read(in, start + 8, wide, e);
    if (status != RT_OK) return status;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (wide == 4) length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (length > LONGEST_HEADER)
        return rt_fail(e, RT_INVALID, "%s: a header of %zu bytes is longer than any array's", in->name, length);
    char *text = rt_alloc(length + 1);
    if (!text) return rt_fail(e, RT_NOMEM, "out of memory for the header of %s", in->name);
    status = rt_input_read(in, text, length, e);
    if (status == RT_OK) status = parse(text, length, in->name, h, e);
    free(text);
    if (status == RT_OK && h->bytes > in->left)
        return rt_fail(e, RT_INVALID,
                       "%s: the header promises %" PRIu64 " bytes of elements, but %" PRIu64
                       " follow it at byte %" PRIu64,
                       in->name, h->bytes, in->left, in->at);
    return status;
}

/* ---- elements ---- */
static void swap_bytes(char *p, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i += size)
        for (size_t j = 0; j < size / 2; j++) {
            char c = p[i + j];
            p[i + j] = p[i + size - 1 - j];
            p[i + size - 1 - j] = c;
        }
}

/* Reads n bytes of elements; complex numbers are swapped part by part. */
static enum rt_status read_part(struct rt_input *in, const struct rt_npy *h, char *to, size_t n, struct rt_error *e)
{
    size_t size = rt_dtypes[h->dtype].size;
    enum rt_status status = rt_input_read(in, to, n, e);
    if (h->swapped) swap_bytes(to, n, rt_dtypes[h->dtype].kind == 'c' ? size / 2 : size);
    for (size_t i = 0; h->dtype == RT_BOOL && i < n; i++) to[i] = to[i] != 0;
    return status;
}

/* The array that has these elements, contiguous in memory: of h's shape or, for Fortran order, the transposed view. */
static void set_shape(const struct rt_npy *h, struct rt_array *out)
{
    int64_t stride = 1;
    out->ndim = h->ndim;
    for (int i = 0; i < h->ndim; i++) {
        int axis = h->fortran ? i : h->ndim - 1 - i;
        out->shape[axis] = h->shape[axis];
        out->strides[axis] = stride;
        stride *= h->shape[axis] > 0 ? h->shape[axis] : 1;
    }
}

/* To memory that host code cannot reach: piece by piece. */
static enum rt_status read_far(struct rt_input *in, const struct rt_npy *h, const struct rt_array *out,
                               struct rt_error *e)
{
    size_t size = rt_dtypes[h->dtype].size, piece = h->bytes < PIECE ? h->bytes : PIECE;
    char *buffer = rt_alloc(piece + 1);
    if (!buffer) return rt_fail(e, RT_NOMEM, "no %zu bytes of host memory for %s", piece, in->name);
    enum rt_status status = RT_OK;
    struct rt_array part = *out; /* borrowed */
    part.ndim = 1;
    part.strides[0] = 1;
    for (uint64_t done = 0; status == RT_OK && done < h->bytes; done += piece) {
        size_t n = h->bytes - done < piece ? (size_t)(h->bytes - done) : piece;
        part.offset = (int64_t)(done / size);
        part.shape[0] = (int64_t)(n / size);
        status = read_part(in, h, buffer, n, e);
        if (status == RT_OK) status = rt_array_write(&part, buffer, e);
    }
    free(buffer);
    return status;
}

enum rt_status rt_npy_elements(struct rt_input *in, const struct rt_npy *h, struct rt_device *d, struct rt_array *out,
                               struct rt_error *e)
{
    int64_t count = (int64_t)(h->bytes / rt_dtypes[h->dtype].size);
    enum rt_status status = rt_array_new(d, h->dtype, 1, &count, out, e);
    if (status == RT_OK) status = rt_device_synchronize(d, e);
    char *host = status == RT_OK ? rt_array_host(out) : NULL;
    if (status == RT_OK && h->bytes) status = host ? read_part(in, h, host, h->bytes, e) : read_far(in, h, out, e);
    if (status == RT_OK)
        set_shape(h, out);
    else
        rt_array_release(out);
    return status;
}

/* ---- files ---- */
static void dtype_code(enum rt_dtype t, char out[16])
{
    char kind = t == RT_BFLOAT16 ? 'V' : rt_dtypes[t].kind;
    snprintf(out, 16, "%c%c%d", rt_dtypes[t].size == 1 ? '|' : RT_LITTLE ? '<' : '>', kind, rt_dtypes[t].size);
}

size_t rt_npy_write_header(enum rt_dtype t, int ndim, const int64_t *shape, char out[RT_NPY_HEADER])
{
    char code[16];
    dtype_code(t, code);
    size_t n = 10;
    n += (size_t)snprintf(out + n, RT_NPY_HEADER - n, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (int i = 0; i < ndim; i++)
        n += (size_t)snprintf(out + n, RT_NPY_HEADER - n, "%s%" PRId64 "%s", i ? ", " : "", shape[i],
                              ndim == 1 ? "," : "");
    n += (size_t)snprintf(out + n, RT_NPY_HEADER - n, "), }");
    while ((n + 1) % 64) out[n++] = ' ';
    out[n++] = '\n';
    memcpy(out, magic, 6);
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)((n - 10) & 255);
    out[9] = (char)((n - 10) >> 8);
    return n;
}

enum rt_status rt_npy_save(const char *path, enum rt_dtype t, int ndim, const int64_t *shape, const void *data,
                           struct rt_error *e)
{
    struct rt_writer w;
    char header[RT_NPY_HEADER];
    size_t bytes = rt_dtypes[t].size;
    for (int i = 0; i < ndim; i++) bytes *= (size_t)shape[i];
    enum rt_status status = rt_writer_open(path, &w, e);
    if (status != RT_OK) return status;
    rt_writer_put(&w, header, rt_npy_write_header(t, ndim, shape, header));
    rt_writer_put(&w, data, bytes);
    return rt_writer_finish(&w, true, e);
}

enum rt_status rt_npy_load(const char *path, struct rt_device *d, struct rt_array *out, struct rt_error *e)
{
    struct rt_file f;
    struct rt_input in;
    struct rt_npy h = {0};
    enum rt_status status = rt_file_open(path, &f, e);
    if (status != RT_OK) return status;
    rt_input_of_file(&f, &in);
    status = rt_npy_header(&in, &h, e);
    if (status == RT_OK) status = rt_npy_elements(&in, &h, d, out, e);
    rt_file_close(&f);
    return status;
}

static enum rt_status map_elements(const struct rt_file *f, uint64_t offset, const struct rt_npy *h,
                                   struct rt_device *cpu, struct rt_array *out, struct rt_error *e)
{
    struct rt_mapped *m;
    void *data;
    enum rt_status status = rt_mapped_new(f, offset, h->bytes, &m, &data, e);
    if (status != RT_OK) return status;
    struct rt_storage *s = rt_storage_over(cpu, (uintptr_t)data, h->bytes, m, rt_mapped_free, e);
    if (!s) {
        rt_mapped_free(m);
        return RT_NOMEM;
    }
    int64_t count = (int64_t)(h->bytes / rt_dtypes[h->dtype].size);
    rt_array_over(s, h->dtype, 1, &count, out);
    set_shape(h, out);
    return RT_OK;
}

enum rt_status rt_npy_map_input(const struct rt_file *f, struct rt_input *in, struct rt_device *cpu,
                                struct rt_array *out, struct rt_error *e)
{
    struct rt_npy h = {0};
    enum rt_status status = rt_npy_header(in, &h, e);
    if (status != RT_OK) return status;
    if (h.swapped)
        return rt_fail(e, RT_UNSUPPORTED, "%s has the other byte order, so it cannot be mapped; load it without map",
                       in->name);
    if (in->at % rt_dtypes[h.dtype].size)
        return rt_fail(e, RT_UNSUPPORTED,
                       "the elements of %s begin at byte %" PRIu64 ", where a %s cannot lie; load it without map",
                       in->name, in->at, rt_dtypes[h.dtype].name);
    return h.bytes == 0 ? rt_npy_elements(in, &h, cpu, out, e) : map_elements(f, in->at, &h, cpu, out, e);
}

enum rt_status rt_npy_map(const char *path, struct rt_device *cpu, struct rt_array *out, struct rt_error *e)
{
    struct rt_file f;
    struct rt_input in;
    enum rt_status status = rt_file_open(path, &f, e);
    if (status != RT_OK) return status;
    rt_input_of_file(&f, &in);
    status = rt_npy_map_input(&f, &in, cpu, out, e);
    rt_file_close(&f);
    return status;
}
