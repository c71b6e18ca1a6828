/* Foreign PNG images: refused or read, and what was read is the same when it is written and read again. The checksums
 * of chunks are put right first, so that what they protect is looked at. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "runtime/png.h"
#include "runtime/zlib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Chunks, behind 8 bytes that every image begins with: length, name, data, checksum of name and data. */
static void put_checksums(uint8_t *bytes, size_t size)
{
    const struct rt_zlib *z = rt_zlib(NULL);
    for (size_t at = 8; z && size - at >= 12; at += 12 + big_endian(bytes + at)) {
        size_t length = big_endian(bytes + at);
        if (length > size - at - 12) return;
        uint32_t sum = (uint32_t)z->crc32_z(0, bytes + at + 4, length + 4);
        for (int i = 0; i < 4; i++) bytes[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
    }
}

static void check_again(const struct rt_array *a)
{
    struct rt_array b = {0};
    struct rt_error e = {0};
    void *bytes = NULL;
    size_t length = 0, size = (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size;
    const struct rt_pixels p = {a->shape[0], a->shape[1], a->ndim == 2 ? 1 : (int)a->shape[2], a->dtype == RT_UINT16,
                                rt_array_host(a)};
    if (rt_png_encode(&p, &bytes, &length, &e)) abort();
    scratch_write(bytes, length);
    if (rt_png_load(scratch_path, rt_array_device(a), &b, &e) != RT_OK) abort();
    if (a->dtype != b.dtype || !rt_array_same_shape(a, &b) || memcmp(rt_array_host(a), rt_array_host(&b), size) != 0)
        abort();
    free(bytes);
    rt_array_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rt_array a = {0};
    struct rt_error e = {0};
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return 0;
    if (!scratch_path[0]) scratch_open("a.png");
    memcpy(bytes, data, size);
    if (size >= 8) put_checksums(bytes, size);
    scratch_write(bytes, size);
    free(bytes);
    enum rt_status status = rt_png_load(scratch_path, rt_device_open("cpu", NULL), &a, &e);
    if (status != RT_OK && (!e.text || !e.text[0] || a.storage)) abort();
    if (status == RT_OK) check_again(&a);
    rt_error_clear(&e);
    rt_array_release(&a);
    return 0;
}
