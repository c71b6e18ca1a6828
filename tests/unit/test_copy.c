/* Copies, conversions, fills and sequences between all dtypes and layouts. */
#include "kernels/host.h"
#include "tests/unit/guarded.h"
#include "tests/unit/reference.h"

static void check_conversion(enum rt_dtype from, enum rt_dtype to, bool special)
{
    int64_t shape[] = {13, 70};
    ARRAYS a = test_array(from, 2, shape, 5, special), out = {0};
    OK(kn_convert(&a, to, test_device(), &out, e));
    CHECK_INT(out.dtype, to);
    CHECK(rt_array_contiguous(&out) && rt_array_same_shape(&a, &out));
    for (int64_t i = 0; i < 13 * 70; i++) {
        char want[RT_ELEMENT] = {0}, got[RT_ELEMENT] = {0};
        /* uint64 to a floating dtype is the one case that neither double nor int64 carries. */
        bool floating = rt_dtypes[from].kind == 'f';
        struct rt_complex z = rt_load_complex(from, element(&a, i));
        if (rt_is_complex(from) && to == RT_BOOL)
            rt_store_int(to, want, z.re != 0 || z.im != 0);
        else if (rt_is_complex(from))
            rt_store_complex(to, want, z);
        else if (from == RT_UINT64 && (rt_dtypes[to].kind == 'f' || rt_is_complex(to)))
            rt_store_double(to, want, (double)(uint64_t)get_int(&a, i));
        else if (floating)
            rt_store_double(to, want, get(&a, i));
        else
            rt_store_int(to, want, get_int(&a, i));
        memcpy(got, element(&out, i), rt_dtypes[to].size);
        double x = rt_load_double(to, want), y = rt_load_double(to, got);
        if (isnan(x) ? !isnan(y) : memcmp(want, got, sizeof want) != 0)
            FAIL("%s to %s: %.17g gives %.17g, expected %.17g", rt_dtypes[from].name, rt_dtypes[to].name, get(&a, i), y,
                 x);
    }
    rt_array_release(&a);
    rt_array_release(&out);
}

TEST(complex_does_not_become_real)
{
    int64_t n = 3;
    for (int to = RT_INT8; to < RT_COMPLEX64; to++) {
        ARRAYS a = test_array(RT_COMPLEX64, 1, &n, 1, false), out = {0};
        FAILS(RT_INVALID, "x.real", kn_convert(&a, (enum rt_dtype)to, test_device(), &out, e));
    }
}

TEST(convert_every_pair)
{
    for (int from = 0; from < RT_DTYPE_COUNT; from++)
        for (int to = 0; to < RT_DTYPE_COUNT; to++) {
            if (rt_is_complex((enum rt_dtype)from) && !rt_is_complex((enum rt_dtype)to) && to != RT_BOOL) continue;
            check_conversion((enum rt_dtype)from, (enum rt_dtype)to, false);
            check_conversion((enum rt_dtype)from, (enum rt_dtype)to, true);
        }
}

static void check_copy(const struct rt_array *to, const struct rt_array *from)
{
    OK(kn_copy(to, from, e));
    int64_t n = rt_array_size(to);
    for (int64_t i = 0; i < n; i++) {
        const char *source = element_in(from, to->ndim, to->shape, i);
        if (memcmp(element(to, i), source, rt_dtypes[to->dtype].size) != 0)
            FAIL("%s [%lld] of %lld is wrong", rt_dtypes[to->dtype].name, (long long)i, (long long)n);
    }
}

static void check_transposed(enum rt_dtype t, int64_t rows, int64_t columns)
{
    int64_t shape[] = {rows, columns}, turned[] = {columns, rows};
    ARRAYS a = test_array(t, 2, shape, 3, false), p = {0}, out = {0}, back = {0};
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    OK(rt_array_new(test_device(), t, 2, turned, &out, e));
    check_copy(&out, &p);
    OK(rt_array_permute(&out, (int[]){1, 0}, &back, e));
    check_copy(&back, &a);
    check_copy(&p, &out);
    rt_array_release(&a), rt_array_release(&p), rt_array_release(&out), rt_array_release(&back);
}

/* Every float16 and bfloat16 and, of float32, all signs, exponents and leading bits with few others: bit for bit what
 * one by one gives, NaN's too. */
TEST(half_floats_by_vectors_as_one_by_one)
{
    enum { N = 1 << 16 };
    static const uint32_t rest[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFF, 0x1000, 0x1001, 0xFFFF};
    int64_t n = N;
    ARRAYS wide = test_array(RT_FLOAT32, 1, &n, 1, false), half = {0}, back = {0};
    uint32_t *bits = rt_array_host(&wide);
    for (int k = 0; k < 2; k++) {
        enum rt_dtype t = k ? RT_BFLOAT16 : RT_FLOAT16;
        for (size_t r = 0; r < sizeof rest / sizeof *rest; r++) {
            for (uint32_t i = 0; i < N; i++) bits[i] = i << 16 | rest[r];
            OK(kn_convert(&wide, t, test_device(), &half, e));
            const uint16_t *got = rt_array_host(&half);
            for (uint32_t i = 0; i < N; i++) {
                float f = rt_float_from_bits(bits[i]);
                uint16_t want = k ? rt_bfloat_from_float(f) : rt_half_from_float(f);
                if (got[i] != want) FAIL("%08x gives %04x, expected %04x", bits[i], got[i], want);
            }
            rt_array_release(&half);
        }
        OK(rt_array_new(test_device(), t, 1, &n, &half, e));
        for (uint32_t i = 0; i < N; i++) ((uint16_t *)rt_array_host(&half))[i] = (uint16_t)i;
        OK(kn_convert(&half, RT_FLOAT32, test_device(), &back, e));
        for (uint32_t i = 0; i < N; i++) {
            float f = k ? rt_bfloat_to_float((uint16_t)i) : rt_half_to_float((uint16_t)i);
            uint32_t got = ((const uint32_t *)rt_array_host(&back))[i];
            if (got != rt_float_bits(f)) FAIL("%04x gives %08x, expected %08x", i, got, rt_float_bits(f));
        }
        rt_array_release(&half);
        rt_array_release(&back);
    }
    rt_array_release(&wide);
}

TEST(copy_transposed)
{
    for (int t = 0; t < RT_DTYPE_COUNT; t++) check_transposed((enum rt_dtype)t, 67, 130);
    check_transposed(RT_FLOAT32, 1, 500);
    check_transposed(RT_FLOAT32, 700, 300);
    check_transposed(RT_INT16, 3, 5000);
    check_transposed(RT_UINT8, 5000, 3);
    check_transposed(RT_UINT8, 150, 700); /* tiles of 256, and what is left of them both ways */
    check_transposed(RT_INT16, 299, 333);
    check_transposed(RT_FLOAT64, 5000, 2);
}

/* Columns that end where memory does, whichever way they lie: none of it is read behind that. Nor is any row written
 * but those asked for and the rest of their last 16 bytes of elements. */
static void check_turned_line(size_t size, int64_t stride, int64_t rows, int64_t columns)
{
    enum { WIDE = 40 };
    static char to[(KN_LINE + 1) * WIDE * 16];
    const int64_t side = 16 / (int64_t)size, used = (rows + side - 1) / side * side,
                  last = (stride > 0 ? (columns - 1) * stride : 0) + rows;
    const char *from = guarded_end(0) - last * (int64_t)size;
    memset(to, 0x55, sizeof to);
    kn_turn_line(&(struct kn_turn){size, to, WIDE, from, stride, rows, columns});
    for (int64_t i = 0; i < KN_LINE + 1; i++)
        for (int64_t j = 0; j < WIDE; j++) {
            const char *got = to + (i * WIDE + j) * (int64_t)size;
            if (i < rows && j < columns && memcmp(got, from + (j * stride + i) * (int64_t)size, size) != 0)
                FAIL("%zu bytes, by %lld, %lld x %lld: [%lld, %lld] is wrong", size, (long long)stride, (long long)rows,
                     (long long)columns, (long long)i, (long long)j);
            if (i >= used || j >= columns)
                for (size_t k = 0; k < size; k++) CHECK_INT(got[k], 0x55);
        }
}

TEST(turned_lines_read_what_is_there)
{
    for (int k = 0; k < GUARDED_BYTES; k++) guarded_end(0)[k - GUARDED_BYTES] = (char)(k * 7 + k / 251);
    for (size_t size = 1; size <= 16; size *= 2)
        for (int64_t rows = 1; rows <= KN_LINE / (int64_t)size; rows++)
            for (int64_t columns = 1; columns < 40; columns += 1 + columns / 9) {
                const int64_t strides[] = {rows, rows + 3, 1, 5, 0, -rows};
                for (size_t s = 0; s < 6; s++) check_turned_line(size, strides[s], rows, columns);
            }
}

/* Elements apart that begin or end where memory does: none is read that is not between the first and the last one. */
static void check_gathered(size_t width, int64_t stride, size_t n)
{
    const int64_t size = (int64_t)1 << width, reach = ((int64_t)n - 1) * stride;
    const char *end = guarded_end(0), *first = end - size - (reach > 0 ? reach * size : 0);
    char got[128 * 16];
    kn_host_loops()->narrow->gather[width](got, first, (ptrdiff_t)stride, n);
    for (size_t i = 0; i < n; i++)
        if (memcmp(got + i * (size_t)size, first + (int64_t)i * stride * size, (size_t)size) != 0)
            FAIL("%lld bytes, by %lld: %zu of %zu is wrong", (long long)size, (long long)stride, i, n);
}

/* None is written that is not one of them. */
static void check_spread(size_t width, int64_t stride, size_t n)
{
    const int64_t size = (int64_t)1 << width, reach = ((int64_t)n - 1) * llabs(stride) + 1;
    static char memory[(128 * 7 + 2) * 16], want[sizeof memory];
    const char *in = guarded_end(0) - (int64_t)n * size;
    const int64_t first = stride < 0 ? reach : 1;
    memset(memory, 0x55, sizeof memory);
    memset(want, 0x55, sizeof want);
    for (size_t i = 0; i < n; i++)
        memcpy(want + (first + (int64_t)i * stride) * size, in + (int64_t)i * size, (size_t)size);
    kn_host_loops()->narrow->spread[width](memory + first * size, (ptrdiff_t)stride, in, n);
    if (memcmp(memory, want, sizeof want) != 0)
        FAIL("%zu of %lld bytes, by %lld, are wrong", n, (long long)size, (long long)stride);
}

TEST(elements_apart_read_and_write_themselves_alone)
{
    for (int k = 0; k < GUARDED_BYTES; k++) guarded_end(0)[k - GUARDED_BYTES] = (char)(k * 7 + k / 251);
    for (size_t width = 0; width < 5; width++)
        for (int64_t stride = -7; stride <= 7; stride++)
            for (size_t n = 1; n < 128; n += 1 + n / 9) {
                check_gathered(width, stride, n);
                if (stride != 0) check_spread(width, stride, n);
            }
}

/* Both sides backwards along one axis or two. */
TEST(copy_backwards)
{
    int64_t shape[] = {13, 21};
    for (unsigned axes = 1; axes < 4; axes++) {
        ARRAYS a = test_array(RT_INT16, 2, shape, 3, false), to = test_array(RT_INT16, 2, shape, 4, false);
        struct rt_array back[2] = {a, to};
        for (int k = 0; k < 2; k++)
            for (int axis = 0; axis < 2; axis++) {
                if (!(axes >> axis & 1)) continue;
                back[k].offset += (shape[axis] - 1) * back[k].strides[axis];
                back[k].strides[axis] = -back[k].strides[axis];
            }
        check_copy(&back[1], &back[0]);
        rt_array_release(&a), rt_array_release(&to);
    }
}

/* Results of 16 MiB and more are written past the cache where whole lines can be. */
TEST(copy_transposed_large)
{
    int64_t whole[] = {2048, 2048}, odd[] = {1100, 1000};
    ARRAYS a = test_array(RT_FLOAT32, 2, whole, 3, false), b = test_array(RT_COMPLEX128, 2, odd, 3, false), p = {0};
    ARRAYS out = {0};
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    OK(rt_array_new(test_device(), RT_FLOAT32, 2, whole, &out, e));
    check_copy(&out, &p);
    rt_array_release(&a), rt_array_release(&p), rt_array_release(&out);
    OK(rt_array_permute(&b, (int[]){1, 0}, &p, e));
    OK(rt_array_new(test_device(), RT_COMPLEX128, 2, p.shape, &out, e));
    check_copy(&out, &p);
    rt_array_release(&b), rt_array_release(&p), rt_array_release(&out);
}

TEST(copy_three_axes)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int64_t shape[] = {35, 40, 37};
    for (size_t o = 0; o < 6; o++) {
        ARRAYS a = test_array(RT_FLOAT32, 3, shape, 3, false), p = {0}, s = {0}, out = {0};
        OK(rt_array_permute(&a, orders[o], &p, e));
        OK(rt_array_slice(&p, 1, p.shape[1] - 1, p.shape[1] / 2, -2, &s, e));
        OK(rt_array_new(test_device(), RT_FLOAT32, 3, s.shape, &out, e));
        check_copy(&out, &s);
        check_copy(&s, &out);
        rt_array_release(&a), rt_array_release(&p), rt_array_release(&s), rt_array_release(&out);
    }
}

TEST(copy_broadcast)
{
    int64_t shape[] = {30, 400}, column[] = {30, 1};
    ARRAYS out = test_array(RT_INT32, 2, shape, 3, false), c = test_array(RT_INT32, 2, column, 4, false);
    ARRAYS r = test_array(RT_INT32, 1, shape + 1, 5, false), one = test_array(RT_INT32, 0, NULL, 6, false);
    check_copy(&out, &c);
    check_copy(&out, &r);
    check_copy(&out, &one);
    FAILS(RT_INVALID, "", kn_copy(&c, &out, e));
}

TEST(copy_overlapping)
{
    int64_t n = 100000, part = 60000, square[] = {100, 100};
    ARRAYS a = {0}, left = {0}, right = {0}, t = {0};
    OK(rt_array_new(test_device(), RT_INT64, 1, &n, &a, e));
    for (int turn = 0; turn < 3; turn++) {
        OK(kn_sequence(&a, &(struct kn_operand){.i = 5}, &(struct kn_operand){.i = 3}, e));
        OK(rt_array_slice(&a, 0, turn == 2 ? part - 1 : 0, part, turn == 2 ? -1 : 1, &left, e));
        OK(rt_array_slice(&a, 0, turn == 2 ? 0 : 7, part, 1, &right, e));
        OK(turn == 1 ? kn_copy(&right, &left, e) : kn_copy(&left, &right, e));
        for (int64_t i = 0; i < part; i++) {
            int64_t from = turn == 0 ? i + 7 : i; /* what the i-th element written was */
            CHECK_INT(get_int(turn == 1 ? &right : &left, i), 5 + 3 * from);
        }
        rt_array_release(&left);
        rt_array_release(&right);
    }
    ARRAYS m = test_array(RT_FLOAT32, 2, square, 3, false), was = {0};
    OK(kn_convert(&m, RT_FLOAT32, test_device(), &was, e));
    OK(rt_array_permute(&m, (int[]){1, 0}, &t, e));
    OK(kn_copy(&m, &t, e));
    for (int64_t i = 0; i < 100; i++)
        for (int64_t j = 0; j < 100; j++) CHECK(get(&m, i * 100 + j) == get(&was, j * 100 + i));
}

TEST(fill_every_dtype)
{
    int64_t shape[] = {31, 90};
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        ARRAYS a = test_array((enum rt_dtype)t, 2, shape, 3, false), s = {0};
        OK(kn_fill(&a, &(struct kn_operand){.i = 1}, e));
        for (int64_t i = 0; i < 31 * 90; i++) CHECK(get(&a, i) == 1);
        OK(rt_array_slice(&a, 1, 1, 30, 3, &s, e));
        OK(kn_fill(&s, &(struct kn_operand){.i = 0}, e));
        for (int64_t i = 0; i < 31 * 90; i++) CHECK(get(&a, i) == (i % 90 % 3 == 1 ? 0 : 1));
        rt_array_release(&a);
        rt_array_release(&s);
    }
}

TEST(fill_large_and_empty)
{
    int64_t n = 200000, none = 0;
    ARRAYS a = {0}, b = {0};
    OK(rt_array_new(test_device(), RT_FLOAT64, 1, &n, &a, e));
    OK(kn_fill(&a, &(struct kn_operand){.is_float = true, .f = -0.25}, e));
    for (int64_t i = 0; i < n; i++) CHECK(get(&a, i) == -0.25);
    OK(rt_array_new(test_device(), RT_FLOAT64, 1, &none, &b, e));
    OK(kn_fill(&b, &(struct kn_operand){.i = 1}, e));
    OK(kn_copy(&b, &b, e));
}

TEST(sequences)
{
    int64_t shape[] = {100, 700};
    for (int t = 1; t < RT_DTYPE_COUNT; t++) {
        ARRAYS a = test_array((enum rt_dtype)t, 2, shape, 3, false), p = {0};
        OK(kn_sequence(&a, &(struct kn_operand){.i = -3}, &(struct kn_operand){.i = 2}, e));
        char want[RT_ELEMENT];
        for (int64_t i = 0; i < 70000; i++) {
            rt_store_int((enum rt_dtype)t, want, -3 + 2 * i);
            CHECK(rt_load_double((enum rt_dtype)t, want) == get(&a, i));
        }
        OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
        OK(kn_sequence(&p, &(struct kn_operand){.is_float = true, .f = 0.5},
                       &(struct kn_operand){.is_float = true, .f = 0.001}, e));
        for (int64_t i = 0; i < 70000; i += 7) {
            rt_store_double((enum rt_dtype)t, want, 0.5 + (double)i * 0.001);
            CHECK(rt_load_double((enum rt_dtype)t, want) == get(&p, i));
        }
        rt_array_release(&a);
        rt_array_release(&p);
    }
}

TEST(contiguous_shares_or_copies)
{
    int64_t shape[] = {20, 30};
    ARRAYS a = test_array(RT_INT8, 2, shape, 3, false), p = {0}, c = {0};
    OK(kn_contiguous(&a, &c, e));
    CHECK(c.storage == a.storage);
    rt_array_release(&c);
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    OK(kn_contiguous(&p, &c, e));
    CHECK(c.storage != a.storage && rt_array_contiguous(&c));
    for (int64_t i = 0; i < 600; i++) CHECK_INT(get_int(&c, i), get_int(&p, i));
}

TEST(convert_between_devices)
{
    struct rt_error error = {0};
    struct rt_device *simt = rt_device_open("simt", &error), *cpu = rt_device_open("cpu", &error);
    int64_t shape[] = {20, 30};
    if (!simt) SKIP("no software GPU");
    ARRAYS a = {0}, p = {0}, there = {0}, back = {0};
    OK(rt_array_new(cpu, RT_FLOAT32, 2, shape, &a, e));
    OK(kn_sequence(&a, &(struct kn_operand){.i = 1}, &(struct kn_operand){.i = 1}, e));
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    OK(kn_convert(&p, RT_INT16, simt, &there, e));
    CHECK(rt_array_device(&there) == simt);
    OK(kn_convert(&there, RT_FLOAT64, cpu, &back, e));
    for (int64_t i = 0; i < 600; i++) CHECK(get(&back, i) == get(&p, i));
}

TEST(copy_allocations_fail)
{
    int64_t shape[] = {300, 200};
    ARRAYS a = test_array(RT_FLOAT32, 2, shape, 3, false), p = {0}, out = {0};
    struct rt_error error = {0};
    OK(rt_array_permute(&a, (int[]){1, 0}, &p, e));
    for (int which = 0; which < 3; which++)
        for (long nth = 1;; nth++) {
            rt_fail_allocation(nth);
            enum rt_status status =
                which == 0   ? kn_convert(&p, RT_FLOAT64, test_device(), &out, &error)
                : which == 1 ? kn_contiguous(&p, &out, &error)
                             : kn_sequence(&p, &(struct kn_operand){.i = 1}, &(struct kn_operand){.i = 1}, &error);
            rt_fail_allocation(0);
            rt_array_release(&out);
            if (status == RT_OK) break;
            CHECK_INT(status, RT_NOMEM);
            CHECK(nth < 100);
            rt_error_clear(&error);
        }
}
