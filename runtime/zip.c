/* Reading archives. The directory at the end of the file is what counts; every number in it is checked against the
 * file's size before it is used. */
#include "runtime/zip.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/zlib.h"
#include "runtime/lend.h"

#define END_BYTES     22    /* the end record, without its comment */
#define LONGEST_END   65557 /* with the longest comment */
#define LOCATOR_BYTES 20
#define END64_BYTES   56
#define ENTRY_BYTES   46
#define MOST_PACKED   1040 /* bytes that deflate makes of one at most, and a little more */
#define IN_BUFFER     ((size_t)1 << 16)

static uint16_t get16(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint16_t)(u[0] | u[1] << 8);
}
static uint32_t get32(const char *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static enum rt_status damaged(const struct rt_file *f, uint64_t offset, const char *expected, struct rt_error *e)
{
    return rt_fail(e, RT_INVALID, "%s is no whole zip archive: at byte %" PRIu64 " %s was expected", f->path, offset,
                   expected);
}

struct place {
    uint64_t offset, bytes, count;
};

/* The directory's place, from the 64-bit records in front of the end record at `end`. */
static enum rt_status find_wide(const struct rt_file *f, uint64_t end, struct place *p, struct rt_error *e)
{
    char locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES) return damaged(f, 0, "a 64-bit locator", e);
    enum rt_status status = rt_file_read(f, end - LOCATOR_BYTES, locator, sizeof locator, e);
    if (status != RT_OK) return status;
    uint64_t at = get64(locator + 8);
    if (memcmp(locator, "PK\6\7", 4) != 0) return damaged(f, end - LOCATOR_BYTES, "a 64-bit locator", e);
    if (at > f->size || f->size - at < END64_BYTES) return damaged(f, at, "a 64-bit end record", e);
    status = rt_file_read(f, at, record, sizeof record, e);
    if (status != RT_OK) return status;
    if (memcmp(record, "PK\6\6", 4) != 0) return damaged(f, at, "a 64-bit end record", e);
    *p = (struct place){.count = get64(record + 32), .bytes = get64(record + 40), .offset = get64(record + 48)};
    return RT_OK;
}

static enum rt_status find_directory(const struct rt_file *f, struct place *p, struct rt_error *e)
{
    size_t n = f->size < LONGEST_END ? (size_t)f->size : LONGEST_END;
    char *tail = rt_alloc(n + 1);
    if (!tail) return rt_fail(e, RT_NOMEM, "out of memory for %s", f->path);
    enum rt_status status = rt_file_read(f, f->size - n, tail, n, e);
    if (status != RT_OK) n = 0;
    const char *end = NULL;
    for (size_t i = n >= END_BYTES ? n - END_BYTES + 1 : 0; i-- > 0 && !end;)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 && get16(tail + i + 20) <= n - i - END_BYTES) end = tail + i;
    if (status == RT_OK && !end) status = damaged(f, f->size, "the end of the directory before", e);
    if (status == RT_OK && end) {
        *p = (struct place){.count = get16(end + 10), .bytes = get32(end + 12), .offset = get32(end + 16)};
        if (p->count == 0xffff || p->bytes == 0xffffffff || p->offset == 0xffffffff)
            status = find_wide(f, f->size - n + (uint64_t)(end - tail), p, e);
    }
    free(tail);
    if (status != RT_OK) return status;
    if (p->offset > f->size || p->bytes > f->size - p->offset) return damaged(f, p->offset, "the directory", e);
    if (p->count > p->bytes / ENTRY_BYTES) return damaged(f, p->offset, "a longer directory", e);
    return RT_OK;
}

/* Sizes that do not fit 32 bits are in an extra field, those alone and in this order. */
static bool read_wide_sizes(const char *extra, size_t n, struct rt_zip_member *m)
{
    uint64_t *const values[] = {&m->size, &m->packed, &m->header};
    while (n >= 4) {
        size_t length = get16(extra + 2);
        if (length > n - 4) return false;
        if (get16(extra) == 1) {
            size_t at = 4;
            for (int i = 0; i < 3; i++) {
                if (*values[i] != 0xffffffff) continue;
                if (at + 8 > length + 4) return false;
                *values[i] = get64(extra + at);
                at += 8;
            }
            return true;
        }
        extra += 4 + length;
        n -= 4 + length;
    }
    return m->size != 0xffffffff && m->packed != 0xffffffff && m->header != 0xffffffff;
}

static enum rt_status read_entries(struct rt_zip *z, const struct place *p, struct rt_error *e)
{
    const struct rt_file *f = &z->file;
    size_t at = 0;
    for (; z->count < p->count; z->count++) {
        const char *entry = z->directory + at;
        struct rt_zip_member *m = &z->members[z->count];
        if (p->bytes - at < ENTRY_BYTES || memcmp(entry, "PK\1\2", 4) != 0)
            return damaged(f, p->offset + at, "an entry of the directory", e);
        *m = (struct rt_zip_member){.flags = get16(entry + 8),
                                    .method = get16(entry + 10),
                                    .sum = get32(entry + 16),
                                    .packed = get32(entry + 20),
                                    .size = get32(entry + 24),
                                    .name = entry + ENTRY_BYTES,
                                    .name_length = get16(entry + 28),
                                    .header = get32(entry + 42)};
        size_t extra = get16(entry + 30), comment = get16(entry + 32);
        if (m->name_length + extra + comment > p->bytes - at - ENTRY_BYTES)
            return damaged(f, p->offset + at, "an entry that fits the directory", e);
        if (!read_wide_sizes(m->name + m->name_length, extra, m))
            return damaged(f, p->offset + at, "an entry with sizes of 64 bits", e);
        at += ENTRY_BYTES + m->name_length + extra + comment;
    }
    return RT_OK;
}

enum rt_status rt_zip_open(const char *path, struct rt_zip *z, struct rt_error *e)
{
    struct place p = {0};
    *z = (struct rt_zip){.count = 0};
    enum rt_status status = rt_file_open(path, &z->file, e);
    if (status == RT_OK) status = find_directory(&z->file, &p, e);
    if (status == RT_OK) {
        z->directory = rt_alloc(p.bytes + 1);
        z->members = rt_calloc(p.count + 1, sizeof *z->members);
        if (!z->directory || !z->members) {
            rt_zip_close(z);
            return rt_fail(e, RT_NOMEM, "out of memory for the directory of %s", path);
        }
    }
    if (status == RT_OK) status = rt_file_read(&z->file, p.offset, z->directory, p.bytes, e);
    if (status == RT_OK) status = read_entries(z, &p, e);
    if (status != RT_OK) rt_zip_close(z);
    return status;
}

void rt_zip_close(struct rt_zip *z)
{
    rt_file_close(&z->file);
    free(z->directory);
    free(z->members);
    *z = (struct rt_zip){.count = 0};
}

/* ---- a member's bytes ---- */
struct unpacking {
    const struct rt_zip *zip;
    const struct rt_zip_member *member;
    const struct rt_zlib *zlib;
    z_stream stream;
    bool deflated;
    uint64_t at, end; /* in the file */
    uint32_t sum;
    unsigned char buffer[IN_BUFFER];
};

static enum rt_status refill(struct unpacking *u, struct rt_error *e)
{
    size_t n = u->end - u->at < IN_BUFFER ? (size_t)(u->end - u->at) : IN_BUFFER;
    enum rt_status status = rt_file_read(&u->zip->file, u->at, u->buffer, n, e);
    u->at += n;
    u->stream.next_in = u->buffer;
    u->stream.avail_in = (uInt)n;
    return status;
}

static enum rt_status inflate_some(struct unpacking *u, const struct rt_input *in, void *to, size_t n,
                                   struct rt_error *e)
{
    u->stream.next_out = to;
    while (n) {
        uInt most = n < ((size_t)1 << 30) ? (uInt)n : (uInt)1 << 30;
        if (u->stream.avail_in == 0 && u->at < u->end) {
            enum rt_status status = refill(u, e);
            if (status != RT_OK) return status;
        }
        u->stream.avail_out = most;
        rt_lend();
        int result = u->zlib->inflate(&u->stream, Z_NO_FLUSH);
        rt_lend_end();
        uInt made = most - u->stream.avail_out;
        n -= made;
        bool stuck = made == 0 && u->stream.avail_in == 0 && u->at == u->end;
        if (n && (result == Z_STREAM_END || stuck || (result != Z_OK && result != Z_BUF_ERROR)))
            return rt_fail(e, RT_INVALID,
                           "%s: the compressed bytes before byte %" PRIu64 " of the file are damaged%s%s", in->name,
                           u->at - u->stream.avail_in, u->stream.msg ? ": " : "", u->stream.msg ? u->stream.msg : "");
    }
    return RT_OK;
}

static enum rt_status read_member(struct rt_input *in, void *to, size_t n, struct rt_error *e)
{
    struct unpacking *u = in->context;
    enum rt_status status;
    if (u->deflated) {
        status = inflate_some(u, in, to, n, e);
    } else {
        status = rt_file_read(&u->zip->file, u->at, to, n, e);
        u->at += n;
    }
    if (status == RT_OK) u->sum = (uint32_t)u->zlib->crc32_z(u->sum, to, n);
    return status;
}

/* Where the member's bytes begin: its local header tells how long that is. */
static enum rt_status find_data(const struct rt_zip *z, const struct rt_zip_member *m, uint64_t *start,
                                struct rt_error *e)
{
    const struct rt_file *f = &z->file;
    char local[RT_ZIP_LOCAL];
    if (m->header > f->size || f->size - m->header < RT_ZIP_LOCAL) return damaged(f, m->header, "a member's header", e);
    enum rt_status status = rt_file_read(f, m->header, local, sizeof local, e);
    if (status != RT_OK) return status;
    if (memcmp(local, "PK\3\4", 4) != 0) return damaged(f, m->header, "a member's header", e);
    *start = m->header + RT_ZIP_LOCAL + get16(local + 26) + get16(local + 28);
    if (*start > f->size || m->packed > f->size - *start) return damaged(f, *start, "all of a member", e);
    return RT_OK;
}

static enum rt_status check_member(const struct rt_zip_member *m, const char *name, struct rt_error *e)
{
    if (m->flags & 1) return rt_fail(e, RT_UNSUPPORTED, "%s is encrypted", name);
    if (m->method != 0 && m->method != 8)
        return rt_fail(e, RT_UNSUPPORTED, "%s is packed by method %d; stored and deflated members can be read", name,
                       m->method);
    if (m->method == 0 ? m->packed != m->size : m->size / MOST_PACKED > m->packed)
        return rt_fail(e, RT_INVALID, "%s: %" PRIu64 " packed bytes cannot be %" PRIu64 " unpacked ones", name,
                       m->packed, m->size);
    return RT_OK;
}

enum rt_status rt_zip_member_place(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                                   struct rt_input *in, struct rt_error *e)
{
    uint64_t start = 0;
    enum rt_status status = check_member(m, name, e);
    if (status == RT_OK && m->method != 0)
        status = rt_fail(e, RT_UNSUPPORTED, "%s is packed, so it cannot be mapped", name);
    if (status == RT_OK) status = find_data(z, m, &start, e);
    if (status != RT_OK) return status;
    rt_input_of_file(&z->file, in);
    in->name = name;
    in->at = start;
    in->left = m->size;
    return RT_OK;
}

enum rt_status rt_zip_member_open(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                                  struct rt_zip_input *in, struct rt_error *e)
{
    *in = (struct rt_zip_input){.unpacking = NULL};
    const struct rt_zlib *zlib = rt_zlib(e);
    if (!zlib) return RT_MISSING;
    enum rt_status status = check_member(m, name, e);
    if (status != RT_OK) return status;
    struct unpacking *u = rt_calloc(1, sizeof *u);
    if (!u) return rt_fail(e, RT_NOMEM, "out of memory for unpacking %s", name);
    *u = (struct unpacking){.zip = z, .member = m, .zlib = zlib};
    status = find_data(z, m, &u->at, e);
    u->end = u->at + m->packed;
    if (status == RT_OK && m->method == 8) {
        u->deflated = zlib->inflateInit2_(&u->stream, -MAX_WBITS, ZLIB_VERSION, (int)sizeof u->stream) == Z_OK;
        if (!u->deflated) status = rt_fail(e, RT_NOMEM, "out of memory for unpacking %s", name);
    }
    if (status != RT_OK) {
        free(u);
        return status;
    }
    in->unpacking = u;
    in->input = (struct rt_input){.name = name, .left = m->size, .read = read_member, .context = u};
    return RT_OK;
}

enum rt_status rt_zip_member_close(struct rt_zip_input *in, struct rt_error *e)
{
    struct unpacking *u = in->unpacking;
    enum rt_status status = RT_OK;
    if (in->input.left == 0 && u->sum != u->member->sum)
        status = rt_fail(e, RT_INVALID, "%s is damaged: its checksum is %08x, and %08x was expected", in->input.name,
                         u->sum, u->member->sum);
    if (u->deflated) u->zlib->inflateEnd(&u->stream);
    free(u);
    in->unpacking = NULL;
    return status;
}
