/* The array type: shapes, views that share bytes, broadcasting, overlap, copies between devices. */
#include "runtime/array.h"
#include "tests/unit/test.h"

static struct rt_error e;

static struct rt_array make(const char *device, int ndim, const int64_t *shape)
{
    struct rt_array a;
    struct rt_device *d = rt_device_open(device, &e);
    if (!d || rt_array_new(d, RT_INT32, ndim, shape, &a, &e) != RT_OK) FAIL("%s", e.text);
    int64_t n = rt_array_size(&a);
    int32_t *values = malloc((size_t)n * sizeof *values + 1);
    for (int64_t i = 0; i < n; i++) values[i] = (int32_t)i;
    CHECK_INT(rt_array_write(&a, values, &e), RT_OK);
    free(values);
    return a;
}
#define MAKE(device, ...)                                                                                              \
    make(device, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define SHAPE(...)                                                                                                     \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                             \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* The element at an index of any view, read through its strides. */
static int at(const struct rt_array *a, const int64_t *index)
{
    const int32_t *p = rt_array_host(a);
    for (int i = 0; i < a->ndim; i++) p += index[i] * a->strides[i];
    return *p;
}
#define AT(a, ...) at(a, (int64_t[]){__VA_ARGS__})

TEST(shape_text)
{
    char b[64];
    CHECK_STR(rt_shape_text(2, (int64_t[]){3, 4}, b, sizeof b), "(3, 4)");
    CHECK_STR(rt_shape_text(1, (int64_t[]){3}, b, sizeof b), "(3,)");
    CHECK_STR(rt_shape_text(0, NULL, b, sizeof b), "()");
    CHECK_STR(rt_shape_text(3, (int64_t[]){1000, 2000, 3000}, b, 8), "(1000, ");
}

TEST(new_arrays)
{
    struct rt_array a = MAKE("cpu", 2, 3, 4);
    CHECK_INT(rt_array_size(&a), 24);
    CHECK(rt_array_contiguous(&a));
    CHECK_INT(a.strides[0], 12);
    CHECK_INT(AT(&a, 1, 2, 3), 23);
    rt_array_release(&a);
    CHECK(a.storage == NULL);
    rt_array_release(&a);
    a = make("cpu", 0, NULL);
    CHECK_INT(rt_array_size(&a), 1);
    rt_array_release(&a);
    a = MAKE("cpu", 3, 0, 5);
    CHECK_INT(rt_array_size(&a), 0);
    CHECK(rt_array_contiguous(&a) && rt_array_host(&a) == NULL);
    rt_array_release(&a);
}

TEST(impossible_shapes)
{
    struct rt_device *d = rt_device_open("cpu", NULL);
    struct rt_array a;
    CHECK_INT(rt_array_new(d, RT_FLOAT64, SHAPE(3, -1), &a, &e), RT_INVALID);
    CHECK_HAS(e.text, "axis 2");
    CHECK(a.storage == NULL);
    CHECK_INT(rt_array_new(d, RT_FLOAT64, SHAPE((int64_t)1 << 40, (int64_t)1 << 40), &a, &e), RT_INVALID);
    CHECK_INT(rt_array_new(d, RT_FLOAT64, SHAPE((int64_t)1 << 60), &a, &e), RT_INVALID);
    CHECK_INT(rt_array_new(d, RT_FLOAT64, 17, (int64_t[17]){0}, &a, &e), RT_INVALID);
    CHECK_INT(rt_array_new(d, RT_FLOAT64, SHAPE(INT64_MAX / 8, 0), &a, &e), RT_OK); /* empty is small */
    rt_array_release(&a);
    CHECK_INT(rt_array_new(d, RT_FLOAT64, SHAPE(INT64_MAX, INT64_MAX, 0), &a, &e), RT_INVALID); /* as in NumPy */
    CHECK_INT(rt_array_new(d, RT_FLOAT32, SHAPE((int64_t)1 << 42), &a, NULL), RT_NOMEM);
    rt_error_clear(&e);
}

TEST(select_and_slice)
{
    struct rt_array a = MAKE("cpu", 4, 5), v;
    CHECK_INT(rt_array_select(&a, 0, 2, &v, &e), RT_OK);
    CHECK(v.ndim == 1 && v.shape[0] == 5 && rt_array_contiguous(&v) && AT(&v, 3) == 13);
    rt_array_release(&v);
    CHECK_INT(rt_array_select(&a, 1, 1, &v, &e), RT_OK);
    CHECK(v.ndim == 1 && v.shape[0] == 4 && !rt_array_contiguous(&v) && AT(&v, 3) == 16);
    CHECK(rt_array_overlap(&a, &v));
    rt_array_release(&v);
    CHECK_INT(rt_array_slice(&a, 1, 4, 3, -2, &v, &e), RT_OK);
    CHECK(v.shape[1] == 3 && AT(&v, 1, 0) == 9 && AT(&v, 1, 1) == 7 && AT(&v, 1, 2) == 5);
    CHECK_INT(rt_array_slice(&v, 1, 2, 3, -1, &v, &e), RT_OK); /* out may be the array; leaves one reference each */
    CHECK_INT(AT(&v, 0, 0), 0);
    CHECK_INT(a.storage->references, 3);
    rt_storage_release(a.storage);
    rt_array_release(&v);
    CHECK_INT(rt_array_slice(&a, 0, 4, 0, 1, &v, &e), RT_OK); /* empty, at the end */
    CHECK_INT(rt_array_size(&v), 0);
    rt_array_release(&v);
    CHECK_INT(a.storage->references, 1);
    rt_array_release(&a);
}

TEST(select_and_slice_refuse)
{
    struct rt_array a = MAKE("cpu", 4, 5), v;
    CHECK_INT(rt_array_select(&a, 1, 5, &v, &e), RT_INVALID);
    CHECK_HAS(e.text, "index 6 is out of range for axis 2, which has 5 elements");
    CHECK_INT(rt_array_select(&a, 2, 0, &v, &e), RT_INVALID);
    CHECK_HAS(e.text, "axis 3 is out of range: the array has 2 axes");
    CHECK_INT(rt_array_slice(&a, 0, 0, 5, 1, &v, &e), RT_INVALID);
    CHECK_HAS(e.text, "from 1 to 5 leaves axis 1, which has 4 elements");
    CHECK_INT(rt_array_slice(&a, 0, 0, 2, 0, &v, &e), RT_INVALID);
    CHECK_INT(rt_array_slice(&a, 0, 3, 3, -2, &v, &e), RT_INVALID);
    CHECK_INT(rt_array_slice(&a, 0, 1, INT64_MAX, INT64_MAX, &v, &e), RT_INVALID);
    CHECK_INT(a.storage->references, 1);
    rt_error_clear(&e);
    rt_array_release(&a);
}

TEST(reshape_views)
{
    struct rt_array a = MAKE("cpu", 4, 6), v, w;
    CHECK_INT(rt_array_reshape(&a, SHAPE(2, -1, 3), &v, &e), RT_OK);
    CHECK(v.shape[1] == 4 && AT(&v, 1, 2, 1) == 19);
    rt_array_release(&v);
    CHECK_INT(rt_array_slice(&a, 1, 1, 4, 1, &v, &e), RT_OK); /* columns 1 to 4: rows stay apart */
    CHECK_INT(rt_array_reshape(&v, SHAPE(2, 2, 2, 2), &w, &e), RT_OK);
    CHECK_INT(AT(&w, 1, 0, 1, 1), 16);
    rt_array_release(&w);
    CHECK_INT(rt_array_reshape(&v, SHAPE(4, 1, 4, 1), &w, &e), RT_OK);
    CHECK_INT(AT(&w, 2, 0, 3, 0), 16);
    rt_array_release(&w);
    CHECK_INT(rt_array_reshape(&v, SHAPE(16), &w, &e), RT_UNSUPPORTED);
    CHECK_HAS(e.text, "copy");
    CHECK_INT(rt_array_reshape(&a, SHAPE(5, -1), &w, &e), RT_INVALID);
    CHECK_HAS(e.text, "24 elements");
    CHECK_INT(rt_array_reshape(&a, SHAPE(-1, -1), &w, &e), RT_INVALID);
    CHECK_INT(rt_array_reshape(&a, SHAPE(25), &w, &e), RT_INVALID);
    rt_array_release(&v);
    CHECK_INT(a.storage->references, 1);
    rt_array_release(&a);
    a = MAKE("cpu", 0, 3);
    CHECK_INT(rt_array_reshape(&a, SHAPE(3, 0), &v, &e), RT_OK);
    rt_array_release(&v);
    CHECK_INT(rt_array_reshape(&a, SHAPE(0, -1), &v, &e), RT_INVALID); /* ambiguous */
    rt_array_release(&a);
    a = MAKE("cpu", 1);
    CHECK_INT(rt_array_reshape(&a, 0, NULL, &v, &e), RT_OK);
    CHECK_INT(v.ndim, 0);
    rt_array_release(&v);
    rt_array_release(&a);
    rt_error_clear(&e);
}

TEST(views_of_the_same_bytes)
{
    struct rt_array a = MAKE("cpu", 4, 6), v, w;
    CHECK_INT(rt_array_view_as(&a, RT_UINT16, &v, &e), RT_OK);
    CHECK(v.shape[0] == 4 && v.shape[1] == 12 && v.strides[0] == 12 && rt_array_overlap(&a, &v));
    CHECK_INT(((uint16_t *)rt_array_host(&v))[13 * 2], 13);
    CHECK_INT(rt_array_slice(&v, 1, 4, 4, 1, &w, &e), RT_OK);
    CHECK_INT(rt_array_view_as(&w, RT_COMPLEX64, &w, &e), RT_OK);
    CHECK(w.shape[1] == 1 && w.strides[0] == 3 && w.offset == 1 && *(int32_t *)rt_array_host(&w) == AT(&a, 0, 2));
    CHECK_INT(v.storage->references, 4);
    rt_storage_release(a.storage);
    rt_array_release(&w);
    rt_array_release(&v);
    CHECK_INT(rt_array_view_as(&a, RT_BOOL, &v, &e), RT_INVALID);
    CHECK_HAS(e.text, "0 and 1 alone, so that bool is no view of int32");
    CHECK_INT(rt_array_slice(&a, 1, 1, 4, 1, &v, &e), RT_OK); /* begins at 4 bytes */
    CHECK_INT(rt_array_view_as(&v, RT_FLOAT64, &w, &e), RT_INVALID);
    CHECK_HAS(e.text, "fill whole elements of 8 bytes; the array of shape (4, 4) has no such one");
    CHECK_INT(rt_array_view_as(&v, RT_FLOAT32, &w, &e), RT_OK);
    CHECK_INT(rt_array_size(&w), 16);
    rt_array_release(&w);
    CHECK_INT(rt_array_slice(&v, 1, 0, 2, 2, &v, &e), RT_OK); /* every other one */
    CHECK_INT(rt_array_view_as(&v, RT_INT16, &w, &e), RT_INVALID);
    rt_error_clear(&e);
    rt_storage_release(a.storage);
    rt_array_release(&v);
    rt_array_release(&a);
}

TEST(permute_and_broadcast)
{
    struct rt_array a = MAKE("cpu", 2, 3, 4), v;
    CHECK_INT(rt_array_permute(&a, (int[]){2, 0, 1}, &v, &e), RT_OK);
    CHECK(v.shape[0] == 4 && v.shape[1] == 2 && AT(&v, 3, 1, 2) == 23);
    rt_array_release(&v);
    CHECK_INT(rt_array_permute(&a, (int[]){0, 0, 1}, &v, &e), RT_INVALID);
    rt_array_release(&a);
    a = MAKE("cpu", 3, 1);
    CHECK_INT(rt_array_broadcast(&a, SHAPE(2, 3, 5), &v, &e), RT_OK);
    CHECK(AT(&v, 1, 2, 4) == 2 && AT(&v, 0, 1, 0) == 1 && !rt_array_contiguous(&v));
    rt_array_release(&v);
    CHECK_INT(rt_array_broadcast(&a, SHAPE(2, 5), &v, &e), RT_INVALID);
    CHECK_HAS(e.text, "(3, 1) does not broadcast to (2, 5)");
    CHECK_INT(rt_array_broadcast(&a, SHAPE(3), &v, &e), RT_INVALID);
    rt_array_release(&a);
    rt_error_clear(&e);
}

TEST(broadcast_shapes)
{
    struct rt_array a = MAKE("cpu", 3, 1), b = MAKE("cpu", 4), c = MAKE("cpu", 0), d = MAKE("cpu", 2, 1, 1);
    const struct rt_array *some[] = {&a, &b, &d};
    int ndim;
    int64_t shape[RT_MAX_DIMS];
    CHECK_INT(rt_broadcast_shape(some, 3, &ndim, shape, &e), RT_OK);
    CHECK(ndim == 3 && shape[0] == 2 && shape[1] == 3 && shape[2] == 4);
    const struct rt_array *empty[] = {&a, &c};
    CHECK_INT(rt_broadcast_shape(empty, 2, &ndim, shape, &e), RT_OK);
    CHECK(ndim == 2 && shape[0] == 3 && shape[1] == 0);
    const struct rt_array *bad[] = {&b, &c};
    CHECK_INT(rt_broadcast_shape(bad, 2, &ndim, shape, &e), RT_INVALID);
    CHECK_HAS(e.text, "(4,)");
    CHECK_HAS(e.text, "(0,)");
    rt_array_release(&a);
    rt_array_release(&b);
    rt_array_release(&c);
    rt_array_release(&d);
    rt_error_clear(&e);
}

TEST(overlap)
{
    struct rt_array a = MAKE("cpu", 10), x, y, z;
    rt_array_slice(&a, 0, 0, 5, 1, &x, NULL);
    rt_array_slice(&a, 0, 5, 5, 1, &y, NULL);
    rt_array_slice(&a, 0, 9, 3, -2, &z, NULL); /* 9 7 5 */
    CHECK(!rt_array_overlap(&x, &y));
    CHECK(rt_array_overlap(&y, &z));
    CHECK(!rt_array_overlap(&x, &z));
    rt_array_release(&x);
    rt_array_release(&y);
    rt_array_release(&z);
    rt_array_release(&a);
}

TEST(transfers_between_devices)
{
    static const char *const names[] = {"cpu", "simt"};
    enum { N = 100003 };
    static int32_t back[N];
    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            struct rt_array a = MAKE(names[from], N), b = MAKE(names[to], N, 1), view;
            memset(back, 0, sizeof back);
            CHECK_INT(rt_array_write(&b, back, &e), RT_OK);
            CHECK_INT(rt_array_transfer(&b, &a, &e), RT_OK);
            CHECK_INT(rt_array_read(&b, back, &e), RT_OK);
            for (int i = 0; i < N; i++) CHECK_INT(back[i], i);
            rt_array_slice(&a, 0, 0, 10, 2, &view, NULL);
            CHECK_INT(rt_array_read(&view, back, &e), RT_INVALID);
            CHECK_INT(rt_array_transfer(&b, &view, &e), RT_INVALID);
            rt_array_release(&view);
            rt_array_slice(&a, 0, 7, 10, 1, &view, NULL);
            CHECK_INT(rt_array_read(&view, back, &e), RT_OK);
            CHECK_INT(back[9], 16);
            rt_array_release(&view);
            rt_array_release(&a);
            rt_array_release(&b);
        }
    }
    rt_error_clear(&e);
}

TEST(lost_arrays_say_so)
{
    struct rt_array a = MAKE("simt", 3);
    int32_t back[3];
    CHECK_INT(rt_array_alive(&a, &e), RT_OK);
    rt_memory_lost(rt_array_device(&a));
    CHECK_INT(rt_array_read(&a, back, &e), RT_DEVICE);
    CHECK_HAS(e.text, "lost");
    rt_array_release(&a);
    rt_error_clear(&e);
}

TEST(devices_by_name)
{
    setenv("LUNARRAY_CUDA", "/nonexistent/libcuda.so.1", 1); /* this machine may have a GPU */
    CHECK(rt_device_open("cpu", &e) == rt_device_open("cpu", &e));
    CHECK(rt_device_open("gpu", &e) == rt_device_open("simt", &e));
    CHECK(rt_device_open("cuda:0", &e) == NULL);
    CHECK_INT(e.status, RT_MISSING);
    CHECK_HAS(e.text, "/nonexistent/libcuda.so.1");
    static const char *const wrong[] = {"", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "simt:0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(rt_device_open(wrong[i], &e) == NULL);
        CHECK_INT(e.status, RT_INVALID);
    }
    CHECK(rt_device_open("cuda:70", &e) == NULL);
    CHECK_INT(e.status, RT_MISSING);
    CHECK_INT(rt_device_count(), 2);
    CHECK_INT(rt_device_at(0, &e)->kind, RT_SIMT);
    CHECK_INT(rt_device_at(1, &e)->kind, RT_CPU);
    CHECK(rt_device_at(2, &e) == NULL && rt_device_at(-1, &e) == NULL);
    setenv("LUNARRAY_DEVICE", "nonsense", 1);
    CHECK(rt_device_default(&e) == NULL);
    CHECK_HAS(e.text, "LUNARRAY_DEVICE=nonsense");
    setenv("LUNARRAY_DEVICE", "cpu", 1);
    CHECK_INT(rt_device_default(&e)->kind, RT_CPU);
    rt_device_set_default(rt_device_open("simt", &e));
    CHECK_INT(rt_device_default(&e)->kind, RT_SIMT);
    rt_error_clear(&e);
}
