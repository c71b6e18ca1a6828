/* Foreign .npy files: refused, or an array that reads the same when it is mapped and when it was saved again. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "runtime/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The elements as they lie in memory, which is dense for both orders. */
static void same_elements(const struct rt_array *a, const struct rt_array *b)
{
    if (a->dtype != b->dtype || !rt_array_same_shape(a, b)) abort();
    if (memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides) != 0) abort();
    size_t bytes = (size_t)rt_array_size(a) * rt_dtypes[a->dtype].size;
    if (a->dtype != RT_BOOL && bytes && memcmp(rt_array_host(a), rt_array_host(b), bytes) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rt_array a = {0}, b = {0};
    struct rt_device *cpu = rt_device_open("cpu", NULL);
    if (!scratch_path[0]) scratch_open("a.npy");
    scratch_write(data, size);
    struct rt_error e = {0};
    if (rt_npy_load(scratch_path, cpu, &a, &e) != RT_OK) {
        if (!e.text || !e.text[0] || a.storage) abort();
        rt_error_clear(&e);
        return 0;
    }
    if (rt_npy_map(scratch_path, cpu, &b, NULL) == RT_OK) same_elements(&a, &b);
    rt_array_release(&b);
    if (rt_array_contiguous(&a) && rt_array_size(&a)) {
        if (rt_npy_save(scratch_path, a.dtype, a.ndim, a.shape, rt_array_host(&a), NULL) != RT_OK ||
            rt_npy_load(scratch_path, cpu, &b, NULL) != RT_OK)
            abort();
        if (b.ndim != a.ndim || memcmp(b.shape, a.shape, (size_t)a.ndim * sizeof *a.shape) != 0) abort();
        if (memcmp(rt_array_host(&a), rt_array_host(&b), (size_t)rt_array_size(&a) * rt_dtypes[a.dtype].size) != 0)
            abort();
        rt_array_release(&b);
    }
    rt_array_release(&a);
    return 0;
}
