/* Writing archives. All sizes and places are written in 64 bits, whatever they are, so there is one form and that is
 * the one that is tested. */
#include <stdlib.h>
#include <string.h>
#include "runtime/zip.h"
#include "runtime/zlib.h"
#include "runtime/lend.h"

#define OUT_BUFFER ((size_t)1 << 16)
#define LEAST      6    /* bytes of a field that fills the room before data */
#define LINE       64   /* stored data begin at a multiple of it: an array can be mapped from there */
#define DATE       0x21 /* the first of January 1980: the same arrays make the same file */

struct packed {
    char *name;
    uint64_t packed, size, header;
    uint32_t sum;
};

struct bytes {
    char data[128];
    size_t count;
};

static void put(struct bytes *b, int width, uint64_t value)
{
    for (int i = 0; i < width; i++) b->data[b->count++] = (char)(value >> 8 * i & 255);
}

enum rt_status rt_zip_create(const char *path, bool compress, struct rt_zip_writer *w, struct rt_error *e)
{
    *w = (struct rt_zip_writer){.compress = compress};
    w->file.handle = -1;
    if (!rt_zlib(e)) return RT_MISSING;
    return rt_writer_open(path, &w->file, e);
}

/* What a local header and a directory entry share, from the version needed on. */
static void put_common(struct bytes *b, const struct rt_zip_writer *w, const struct packed *m)
{
    put(b, 2, 45);
    put(b, 2, 0x800); /* names are UTF-8 */
    put(b, 2, w->compress ? 8 : 0);
    put(b, 2, 0);
    put(b, 2, DATE);
    put(b, 4, m->sum);
    put(b, 4, 0xffffffff);
    put(b, 4, 0xffffffff);
    put(b, 2, strlen(m->name));
}

static void put_local(const struct rt_zip_writer *w, const struct packed *m, size_t filling, struct bytes *b)
{
    b->count = 0;
    put(b, 4, 0x04034b50);
    put_common(b, w, m);
    put(b, 2, 20 + filling);
}

/* A field that nobody reads, of the kind that Android's zipalign puts before what shall be mapped. */
static void put_filling(struct bytes *b, size_t n)
{
    if (!n) return;
    put(b, 2, 0xd935);
    put(b, 2, n - 4);
    put(b, 2, LINE);
    while (n-- > LEAST) put(b, 1, 0);
}

static void put_sizes(struct bytes *b, const struct packed *m, bool place)
{
    put(b, 2, 1);
    put(b, 2, place ? 24 : 16);
    put(b, 8, m->size);
    put(b, 8, m->packed);
    if (place) put(b, 8, m->header);
}

/* Deflates the parts one after the other into the file. */
static bool deflate_parts(struct rt_zip_writer *w, const struct rt_zlib *z, const void *const parts[2],
                          const size_t sizes[2])
{
    z_stream s = {0};
    unsigned char *out = rt_alloc(OUT_BUFFER);
    if (!out ||
        z->deflateInit2_(&s, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof s) != Z_OK) {
        free(out);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        size_t left = sizes[i];
        s.next_in = (Bytef *)(uintptr_t)parts[i];
        do {
            s.avail_in = left < ((size_t)1 << 20) ? (uInt)left : (uInt)1 << 20;
            left -= s.avail_in;
            int flush = i == 1 && left == 0 ? Z_FINISH : Z_NO_FLUSH;
            do {
                s.next_out = out;
                s.avail_out = OUT_BUFFER;
                rt_lend();
                z->deflate(&s, flush);
                rt_lend_end();
                rt_writer_put(&w->file, out, OUT_BUFFER - s.avail_out);
            } while (s.avail_out == 0);
        } while (left && !w->file.failure);
    }
    z->deflateEnd(&s);
    free(out);
    return true;
}

static struct packed *new_member(struct rt_zip_writer *w, const char *name)
{
    if (w->count == w->room) {
        size_t room = w->room ? w->room * 2 : 16;
        struct packed *more = rt_realloc(w->members, room * sizeof *more);
        if (!more) return NULL;
        w->members = more;
        w->room = room;
    }
    struct packed *m = &w->members[w->count];
    *m = (struct packed){.name = rt_strdup(name), .header = w->file.at};
    if (!m->name) return NULL;
    w->count++;
    return m;
}

enum rt_status rt_zip_add(struct rt_zip_writer *w, const char *name, const void *header, size_t header_bytes,
                          const void *data, size_t bytes, struct rt_error *e)
{
    const struct rt_zlib *z = rt_zlib(e);
    const void *const parts[2] = {header, data};
    const size_t sizes[2] = {header_bytes, bytes};
    struct bytes local, wide = {.count = 0};
    if (strlen(name) > 60000) return rt_fail(e, RT_INVALID, "a name of %zu bytes is too long", strlen(name));
    struct packed *m = new_member(w, name);
    if (!m) return rt_fail(e, RT_NOMEM, "out of memory for writing %s", w->file.path);
    m->size = header_bytes + bytes;
    for (int i = 0; i < 2; i++)
        if (sizes[i]) m->sum = (uint32_t)z->crc32_z(m->sum, parts[i], sizes[i]); /* of nothing it starts anew */
    const uint64_t behind = m->header + RT_ZIP_LOCAL + strlen(name) + 20;        /* the sizes */
    const size_t filling = w->compress ? 0 : LEAST + (size_t)(0 - (behind + LEAST)) % LINE;
    put_local(w, m, filling, &local);
    put_sizes(&wide, m, false);
    put_filling(&wide, filling);
    rt_writer_put(&w->file, local.data, local.count);
    rt_writer_put(&w->file, name, strlen(name));
    uint64_t at = w->file.at;
    rt_writer_put(&w->file, wide.data, wide.count);
    uint64_t start = w->file.at;
    if (w->compress && !deflate_parts(w, z, parts, sizes))
        return rt_fail(e, RT_NOMEM, "out of memory for packing %s", name);
    for (int i = 0; i < 2 && !w->compress; i++) rt_writer_put(&w->file, parts[i], sizes[i]);
    m->packed = w->file.at - start;
    wide.count = 0;
    put_sizes(&wide, m, false);
    rt_writer_patch(&w->file, at, wide.data, wide.count);
    return RT_OK;
}

static void write_directory(struct rt_zip_writer *w)
{
    struct bytes b;
    uint64_t start = w->file.at;
    for (size_t i = 0; i < w->count; i++) {
        const struct packed *m = &w->members[i];
        b.count = 0;
        put(&b, 4, 0x02014b50);
        put(&b, 2, 3 << 8 | 45); /* made on Unix */
        put_common(&b, w, m);
        put(&b, 2, 28);
        put(&b, 6, 0); /* comment, disk, kind */
        put(&b, 4, (uint64_t)0100644 << 16);
        put(&b, 4, 0xffffffff);
        rt_writer_put(&w->file, b.data, b.count);
        rt_writer_put(&w->file, m->name, strlen(m->name));
        b.count = 0;
        put_sizes(&b, m, true);
        rt_writer_put(&w->file, b.data, b.count);
    }
    uint64_t end = w->file.at;
    b.count = 0;
    put(&b, 4, 0x06064b50);
    put(&b, 8, 44);
    put(&b, 2, 3 << 8 | 45);
    put(&b, 2, 45);
    put(&b, 8, 0);
    put(&b, 8, w->count);
    put(&b, 8, w->count);
    put(&b, 8, end - start);
    put(&b, 8, start);
    put(&b, 4, 0x07064b50);
    put(&b, 4, 0);
    put(&b, 8, end);
    put(&b, 4, 1);
    put(&b, 4, 0x06054b50);
    put(&b, 4, 0);
    put(&b, 2, 0xffff);
    put(&b, 2, 0xffff);
    put(&b, 4, 0xffffffff);
    put(&b, 4, 0xffffffff);
    put(&b, 2, 0);
    rt_writer_put(&w->file, b.data, b.count);
}

enum rt_status rt_zip_finish(struct rt_zip_writer *w, bool keep, struct rt_error *e)
{
    if (keep && w->file.path) write_directory(w);
    enum rt_status status = rt_writer_finish(&w->file, keep, e);
    for (size_t i = 0; i < w->count; i++) free(w->members[i].name);
    free(w->members);
    *w = (struct rt_zip_writer){.count = 0};
    w->file.handle = -1;
    return status;
}
