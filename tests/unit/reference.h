/* A plain way of computing what array operations compute: one element at a time through rt_load and rt_store, in long
 * double and __int128, found by walking shapes and strides. Shared by the tests of kernels/. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "kernels/kernels.h"
#include "tests/unit/test.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        struct rt_error ok_error_ = {0}, *e = &ok_error_;                                                              \
        (void)e;                                                                                                       \
        enum rt_status ok_status_ = (call);                                                                            \
        if (ok_status_ != RT_OK) FAIL("%s: %s: %s", #call, rt_status_name(ok_status_), ok_error_.text);                \
        rt_error_clear(&ok_error_);                                                                                    \
    } while (0)
/* The call fails with this status and a message that has the part. */
#define FAILS(status, part, call)                                                                                      \
    do {                                                                                                               \
        struct rt_error fails_error_ = {0}, *e = &fails_error_;                                                        \
        CHECK_INT((call), (status));                                                                                   \
        CHECK_HAS(fails_error_.text, (part));                                                                          \
        rt_error_clear(&fails_error_);                                                                                 \
    } while (0)

/* Declares arrays that are released at the end of the block. */
#define ARRAYS __attribute__((cleanup(rt_array_release))) struct rt_array

static inline struct kn_operand int_number(int64_t i)
{
    return (struct kn_operand){.i = i};
}
static inline struct kn_operand float_number(double f)
{
    return (struct kn_operand){.is_float = true, .f = f};
}
static inline struct kn_operand of_array(const struct rt_array *a)
{
    return (struct kn_operand){.array = a};
}

/* One axis from 0, or -1 for all. */
static inline unsigned axes_of(int axis)
{
    return axis < 0 ? KN_ALL_AXES : 1u << axis;
}

/* Host address of the i-th element in row-major order of the array's shape. */
static inline char *element(const struct rt_array *a, int64_t i)
{
    int64_t offset = 0;
    for (int d = a->ndim - 1; d >= 0; d--) {
        offset += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return (char *)rt_array_host(a) + offset * rt_dtypes[a->dtype].size;
}
/* The same for an array that is broadcast to a shape, i counting in that shape. */
static inline char *element_in(const struct rt_array *a, int ndim, const int64_t *shape, int64_t i)
{
    int64_t offset = 0;
    for (int d = ndim - 1; d >= 0; d--) {
        int64_t x = i % shape[d];
        int axis = d - (ndim - a->ndim);
        i /= shape[d];
        if (axis >= 0 && a->shape[axis] != 1) offset += x * a->strides[axis];
    }
    return (char *)rt_array_host(a) + offset * rt_dtypes[a->dtype].size;
}
static inline double get(const struct rt_array *a, int64_t i)
{
    return rt_load_double(a->dtype, element(a, i));
}
static inline int64_t get_int(const struct rt_array *a, int64_t i)
{
    return rt_load_int(a->dtype, element(a, i));
}

/* Where arrays are made; each test is a process of its own and may set it. */
__attribute__((unused)) static const char *test_device_name = "cpu";

static inline struct rt_device *test_device(void)
{
    struct rt_error e = {0};
    struct rt_device *d = rt_device_open(kn_generated() ? "simt" : test_device_name, &e);
    if (!d) SKIP("%s", e.text);
    return d;
}

/* A small repeatable stream of numbers. */
static inline uint32_t random_bits(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A new array with values that the operations find interesting: small integers of both signs (where the dtype has
 * them), fractions for floating dtypes, and with `special` also the ends of the range, infinities and NaN. */
static inline struct rt_array test_array(enum rt_dtype t, int ndim, const int64_t *shape, uint32_t seed, bool special)
{
    static const double floats[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5, 1e30, -1e-30, 3.0, 100.25};
    struct rt_array a = {0};
    OK(rt_array_new(test_device(), t, ndim, shape, &a, e));
    int64_t n = rt_array_size(&a);
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = random_bits(&seed);
        if (t == RT_BOOL) {
            rt_store_int(t, element(&a, i), r & 1);
        } else if (rt_is_complex(t)) {
            double im = (int)(random_bits(&seed) % 2001) / 64.0 - 15.0;
            rt_store_complex(t, element(&a, i),
                             (struct rt_complex){special && r % 3 == 0 ? floats[r / 3 % 12] : im / 2, im});
        } else if (rt_dtypes[t].kind == 'f') {
            double v = (int)(r % 2001) / 64.0 - 15.0;
            rt_store_double(t, element(&a, i), special && r % 3 == 0 ? floats[r / 3 % 12] : v);
        } else {
            int bits = 8 * rt_dtypes[t].size;
            int64_t low = rt_dtypes[t].kind == 'u' ? 0 : (int64_t)((uint64_t)1 << 63) >> (64 - bits);
            int64_t high = rt_dtypes[t].kind == 'u' ? (int64_t)(~(uint64_t)0 >> (64 - bits)) : ~low;
            int64_t v = rt_dtypes[t].kind == 'u' ? (int)(r % 23) : (int)(r % 41) - 20;
            rt_store_int(t, element(&a, i), special && r % 5 == 0 ? (r & 64 ? low : high) : v);
        }
    }
    return a;
}

#endif
