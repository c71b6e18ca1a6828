/* Products that cuBLAS is asked for, with a stand-in for it (tests/driver/cublas.c) over the software GPU's libcuda:
 * every layout that numpy-like views give, batches, dtypes; what it can't do is left to the generated kernel. */
#include "kernels/matmul.h"
#include "tests/unit/built.h"
#include "tests/unit/reference.h"

#define STAND_IN "tests/driver/libcublas.so.13"

/* The GPU, and how many products the stand-in was asked for. */
static struct rt_device *start(int **products)
{
    setenv("LUNARRAY_CUDA", built("libcuda-simt.so"), 1);
    setenv("LUNARRAY_CUBLAS", built(STAND_IN), 1);
    struct rt_error e = {0};
    struct rt_device *d = rt_device_open("cuda", &e);
    if (!d) FAIL("%s", e.text);
    *products = dlsym(built_library(STAND_IN), "stand_in_products");
    if (!*products) FAIL("%s", dlerror());
    return d;
}

/* A view of rows x columns matrices, `count` of them unless 0, each `wide` columns and rows more in memory, transposed
 * there if wanted; filled with small numbers that a product of them has exactly. `on_host` has the same values. */
static struct rt_array matrices(struct rt_device *d, enum rt_dtype t, int64_t count, int64_t rows, int64_t columns,
                                bool transposed, int64_t wide, struct rt_array *on_host)
{
    int64_t shape[] = {count ? count : 1, (transposed ? columns : rows) + wide, (transposed ? rows : columns) + wide};
    struct rt_array whole = {0}, view;
    OK(rt_array_new(rt_device_open("cpu", e), t, 3, shape, &whole, e));
    const int64_t n = rt_array_size(&whole), again = 15 * 100; /* from there on they are the same */
    for (int64_t i = 0; i < n && i < again; i++) {
        struct rt_complex v = {(double)(i * 7 % 5) - 2, (double)(i % 3)};
        if (rt_is_complex(t))
            rt_store_complex(t, element(&whole, i), v);
        else
            rt_store_double(t, element(&whole, i), v.re);
    }
    for (int64_t i = again; i < n; i += again)
        memcpy(element(&whole, i), element(&whole, 0), (size_t)(n - i < again ? n - i : again) * rt_dtypes[t].size);
    struct rt_array *const places[] = {on_host, &view};
    for (int k = 0; k < 2; k++) {
        struct rt_array *v = places[k];
        if (k == 0)
            rt_array_share(&whole, v);
        else
            OK(kn_convert(&whole, t, d, v, e));
        v->shape[1] = rows;
        v->shape[2] = columns;
        if (transposed) {
            int64_t s = v->strides[1];
            v->strides[1] = v->strides[2];
            v->strides[2] = s;
        }
        if (count) continue;
        v->ndim = 2;
        for (int axis = 0; axis < 2; axis++) {
            v->shape[axis] = v->shape[axis + 1];
            v->strides[axis] = v->strides[axis + 1];
        }
    }
    rt_array_release(&whole);
    return view;
}

/* Multiplies on both devices and compares; whether cuBLAS was asked must be as expected. */
static void compare(const struct rt_array *a, const struct rt_array *b, const struct rt_array *host_a,
                    const struct rt_array *host_b, bool by_cublas)
{
    int *products;
    start(&products);
    int before = *products;
    ARRAYS out = {0}, back = {0}, wanted = {0};
    OK(kn_matmul(a, b, &out, e));
    OK(kn_matmul(host_a, host_b, &wanted, e));
    OK(kn_convert(&out, out.dtype, rt_array_device(host_a), &back, e));
    CHECK_INT(*products - before, by_cublas);
    CHECK_INT(rt_array_size(&back), rt_array_size(&wanted));
    size_t bytes = (size_t)rt_array_size(&back) * rt_dtypes[back.dtype].size;
    if (memcmp(rt_array_host(&back), rt_array_host(&wanted), bytes) == 0) return;
    for (int64_t i = 0; i < rt_array_size(&back); i++) {
        struct rt_complex got = rt_load_complex(back.dtype, element(&back, i));
        struct rt_complex want = rt_load_complex(back.dtype, element(&wanted, i));
        /* By value: libraries differ in the sign of a zero that products cancel out to. */
        if (got.re != want.re || got.im != want.im)
            FAIL("%s, element %lld is %g%+gi, expected %g%+gi", rt_dtypes[back.dtype].name, (long long)i, got.re,
                 got.im, want.re, want.im);
    }
}

static void product(enum rt_dtype t, int64_t count_a, int64_t count_b, const int64_t sizes[3], int layout,
                    bool by_cublas)
{
    int *products;
    struct rt_device *d = start(&products);
    ARRAYS host_a = {0}, host_b = {0};
    ARRAYS a = matrices(d, t, count_a, sizes[0], sizes[1], layout & 1, layout & 4 ? 3 : 0, &host_a);
    ARRAYS b = matrices(d, t, count_b, sizes[1], sizes[2], layout & 2, layout & 4 ? 5 : 0, &host_b);
    compare(&a, &b, &host_a, &host_b, by_cublas);
}

TEST(cublas_layouts)
{
    static const int64_t sizes[3] = {131, 127, 129};
    for (int layout = 0; layout < 8; layout++) product(RT_FLOAT32, 0, 0, sizes, layout, true);
}

TEST(cublas_dtypes)
{
    static const enum rt_dtype dtypes[] = {RT_FLOAT16, RT_BFLOAT16, RT_FLOAT64, RT_COMPLEX64, RT_COMPLEX128};
    static const int64_t sizes[3] = {300, 40, 200};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) product(dtypes[i], 0, 0, sizes, 1, true);
    product(RT_INT32, 0, 0, sizes, 0, false);
}

TEST(cublas_batches)
{
    static const int64_t sizes[3] = {40, 50, 60};
    for (int layout = 0; layout < 8; layout++) product(RT_FLOAT64, 20, 20, sizes, layout, true);
    product(RT_FLOAT64, 20, 0, sizes, 2, true);
    product(RT_FLOAT64, 20, 1, sizes, 0, true);
    product(RT_FLOAT64, 0, 20, sizes, 0, true);
}

TEST(cublas_thin)
{
    static const int64_t row[3] = {1, 2000, 1100}, column[3] = {1100, 2000, 1}, outer[3] = {1500, 1, 1500};
    for (int layout = 0; layout < 8; layout++) {
        product(RT_FLOAT32, 0, 0, row, layout, true);
        product(RT_FLOAT32, 0, 0, column, layout, true);
        product(RT_FLOAT32, 0, 0, outer, layout, true);
    }
}

TEST(cublas_is_not_asked)
{
    static const int64_t small[3] = {20, 20, 20}, large[3] = {130, 130, 130};
    product(RT_FLOAT32, 0, 0, small, 0, false);
    int *products;
    struct rt_device *d = start(&products);
    for (int backwards = 0; backwards < 2; backwards++) { /* neither axis is dense, or one runs backwards */
        ARRAYS host = {0}, host_b = {0};
        ARRAYS a = matrices(d, RT_FLOAT32, 0, 130, 260, false, 0, &host);
        ARRAYS b = matrices(d, RT_FLOAT32, 0, 130, 130, false, 0, &host_b);
        struct rt_array *const views[] = {&a, &host};
        for (int i = 0; i < 2; i++) {
            views[i]->shape[1] = large[1];
            if (backwards) views[i]->offset += 129;
            views[i]->strides[1] = backwards ? -1 : 2;
        }
        compare(&a, &b, &host, &host_b, false);
    }
}
