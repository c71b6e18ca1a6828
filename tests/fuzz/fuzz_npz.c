/* Foreign .npz files: every member is refused or read, and mapped where it is stored; what was read is as large as it
 * says, and what was mapped is the same. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "runtime/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_failure(enum rt_status status, struct rt_error *e)
{
    if (status != RT_OK && (!e->text || !e->text[0])) abort();
    rt_error_clear(e);
}

static uint64_t bytes_of(const struct rt_array *a)
{
    return (uint64_t)rt_array_size(a) * rt_dtypes[a->dtype].size;
}

/* Whether the mapped array is the one that was read, of which the sum may be wrong. */
static void compare(const struct rt_array *read, const struct rt_array *mapped)
{
    if (read->dtype != mapped->dtype || bytes_of(read) != bytes_of(mapped)) abort();
    if (bytes_of(read) && read->dtype != RT_BOOL && memcmp(rt_array_host(read), rt_array_host(mapped), bytes_of(read)))
        abort();
}

static void read_member(const struct rt_zip *z, const struct rt_zip_member *m)
{
    struct rt_zip_input in;
    struct rt_input part;
    struct rt_npy h;
    struct rt_error e = {0};
    struct rt_array a = {0}, mapped = {0};
    struct rt_device *cpu = rt_device_open("cpu", NULL);
    enum rt_status status = rt_zip_member_open(z, m, "member", &in, &e);
    if (status == RT_OK) {
        status = rt_npy_header(&in.input, &h, &e);
        if (status == RT_OK) status = rt_npy_elements(&in.input, &h, cpu, &a, &e);
        if (status == RT_OK && bytes_of(&a) > m->size) abort();
        rt_zip_member_close(&in, NULL);
    }
    const bool was_read = status == RT_OK;
    check_failure(status, &e);
    status = rt_zip_member_place(z, m, "member", &part, &e);
    if (status == RT_OK) status = rt_npy_map_input(&z->file, &part, cpu, &mapped, &e);
    if (status == RT_OK && was_read != (m->method == 0)) abort();
    if (status == RT_OK) compare(&a, &mapped);
    check_failure(status, &e);
    rt_array_release(&a);
    rt_array_release(&mapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rt_zip z;
    struct rt_error e = {0};
    if (!scratch_path[0]) scratch_open("a.npz");
    scratch_write(data, size);
    if (rt_zip_open(scratch_path, &z, &e) != RT_OK && (!e.text || !e.text[0] || z.count)) abort();
    rt_error_clear(&e);
    for (size_t i = 0; i < z.count; i++) {
        uint8_t sum = 0;
        for (size_t k = 0; k < z.members[i].name_length; k++) sum ^= (uint8_t)z.members[i].name[k];
        if (i < 8 || sum == 0) read_member(&z, &z.members[i]);
    }
    rt_zip_close(&z);
    return 0;
}
