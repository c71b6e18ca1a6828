/* Fat binaries: what nvcc puts the code for several devices into. The software GPU takes the PTX in one, of the highest
 * target. A fat binary is a header, then entries, each a header and a payload that may be compressed. */
#include "runtime/simt/fatbin.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/fatbin_layout.h"

#define KIND_PTX  1
#define FLAG_LZ4  0x2000u
#define FLAG_ZSTD 0x8000u
#define MOST      ((uint64_t)1 << 30) /* bytes of an image or a text; more is damage */

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed, reserved;
    uint16_t minor, major;
    uint32_t target;
    uint64_t name;
    uint64_t flags;
    uint64_t reserved2;
    uint64_t uncompressed; /* there when header_bytes says so */
};

enum simt_image simt_image_kind(const void *image)
{
    uint32_t magic;
    /* Byte by byte: a short text ends before four. */
    const unsigned char *p = image;
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0) return SIMT_IMAGE_TEXT;
    }
    memcpy(&magic, image, sizeof magic);
    if (magic == SIMT_FATBIN_WRAPPER_MAGIC || magic == SIMT_FATBIN_HEADER_MAGIC) return SIMT_IMAGE_FATBIN;
    return memcmp(image, "\177ELF", 4) == 0 ? SIMT_IMAGE_ELF : SIMT_IMAGE_TEXT;
}

/* Adds the bytes that say how long a run is, when the token's 4 bits did not suffice. */
static bool lz4_length(const unsigned char **at, const unsigned char *end, size_t *length)
{
    unsigned char more = 255;
    if (*length < 15) return true;
    while (more == 255) {
        if (*at == end) return false;
        more = *(*at)++;
        *length += more;
    }
    return true;
}

/* A block of LZ4: literals, then a copy of what came before, again and again. */
static bool lz4(const unsigned char *at, size_t bytes, char *out, size_t size)
{
    const unsigned char *end = at + bytes;
    size_t n = 0;
    while (at < end) {
        unsigned token = *at++;
        size_t literals = token >> 4, copy = token & 15;
        if (!lz4_length(&at, end, &literals)) return false;
        if (literals > (size_t)(end - at) || literals > size - n) return false;
        memcpy(out + n, at, literals);
        n += literals;
        at += literals;
        if (at == end) break; /* the last one is literals only */
        if (end - at < 2) return false;
        size_t distance = at[0] | (size_t)at[1] << 8;
        at += 2;
        if (!lz4_length(&at, end, &copy)) return false;
        copy += 4;
        if (distance == 0 || distance > n || copy > size - n) return false;
        for (size_t i = 0; i < copy; i++, n++) out[n] = out[n - distance]; /* may overlap */
    }
    return n == size;
}

static enum rt_status zstd(const void *from, size_t bytes, char *out, size_t size, struct rt_error *e)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    size_t (*decompress)(void *, size_t, const void *, size_t) = NULL;
    if (library) *(void **)&decompress = dlsym(library, "ZSTD_decompress");
    size_t n = decompress ? decompress(out, size, from, bytes) : 0;
    if (library) dlclose(library);
    if (!decompress)
        return rt_fail(e, RT_MISSING,
                       "the PTX in this fat binary is compressed by zstd and libzstd.so.1 is not there; install it, or "
                       "give nvcc -no-compress");
    return n == size ? RT_OK : rt_fail(e, RT_COMPILE, "the compressed PTX in this fat binary is damaged");
}

static char *unpack(const struct entry *entry, const unsigned char *payload, struct rt_error *e)
{
    bool packed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
    size_t size = packed ? entry->uncompressed : entry->bytes;
    size_t stored = packed && entry->compressed <= entry->bytes ? entry->compressed : entry->bytes;
    if (size > MOST) return rt_fail(e, RT_COMPILE, "this fat binary is damaged"), NULL;
    char *text = rt_alloc(size + 1);
    enum rt_status status = text ? RT_OK : rt_fail(e, RT_NOMEM, "no memory for %zu bytes of PTX", size);
    if (!text) return NULL;
    if (entry->flags & FLAG_ZSTD)
        status = zstd(payload, stored, text, size, e);
    else if (!packed)
        memcpy(text, payload, size);
    else if (!lz4(payload, stored, text, size))
        status = rt_fail(e, RT_COMPILE, "the compressed PTX in this fat binary is damaged");
    text[size] = '\0';
    if (status == RT_OK) return text;
    free(text);
    return NULL;
}

/* For one architecture and no later one: sm_100a, sm_100f? */
static bool is_specific(const char *ptx)
{
    const char *target = strstr(ptx, ".target sm_");
    if (!target) return false;
    target += strlen(".target sm_");
    target += strspn(target, "0123456789");
    return *target == 'a' || *target == 'f';
}

struct texts { /* of the highest target */
    struct entry items[4];
    const unsigned char *payloads[4];
    size_t count;
};

static void add(struct texts *x, const struct entry *entry, const unsigned char *payload)
{
    if (x->count && entry->target > x->items[0].target) x->count = 0;
    if (x->count == sizeof x->items / sizeof *x->items || (x->count && entry->target < x->items[0].target)) return;
    x->items[x->count] = *entry;
    x->payloads[x->count++] = payload;
}

/* Of several nvcc has made one for what is built for sm_100a, and another one for those that run no such code. */
static char *choose(const struct texts *x, struct rt_error *e)
{
    char *text = unpack(&x->items[0], x->payloads[0], e);
    for (size_t k = 1; text && k < x->count && !is_specific(text); k++) {
        char *other = unpack(&x->items[k], x->payloads[k], e);
        if (!other || !is_specific(other)) {
            free(other);
            continue;
        }
        free(text);
        text = other;
    }
    return text;
}

char *simt_fatbin_ptx(const void *image, struct rt_error *e)
{
    struct simt_fatbin_header h;
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == SIMT_FATBIN_WRAPPER_MAGIC) image = ((const struct simt_fatbin_wrapper *)image)->fatbin;
    memcpy(&h, image, sizeof h);
    if (h.magic != SIMT_FATBIN_HEADER_MAGIC || h.header_bytes < sizeof h || h.bytes > MOST)
        return rt_fail(e, RT_COMPILE, "this fat binary is damaged"), NULL;
    const unsigned char *at = (const unsigned char *)image + h.header_bytes, *end = at + h.bytes;
    struct texts texts = {.count = 0};
    const size_t least = offsetof(struct entry, uncompressed);
    while ((size_t)(end - at) >= least) {
        struct entry entry = {0};
        memcpy(&entry, at, least);
        size_t left = (size_t)(end - at);
        if (entry.header_bytes < least || entry.header_bytes > left || entry.bytes > left - entry.header_bytes) break;
        if (entry.header_bytes >= sizeof entry) memcpy(&entry, at, sizeof entry);
        if (entry.kind == KIND_PTX) add(&texts, &entry, at + entry.header_bytes);
        at += entry.header_bytes + entry.bytes;
    }
    if (texts.count) return choose(&texts, e);
    rt_fail(e, RT_UNSUPPORTED,
            "this fat binary has binary code only; the software GPU runs PTX: give nvcc -gencode "
            "arch=compute_80,code=compute_80");
    return NULL;
}
