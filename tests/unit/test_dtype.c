/* Types of elements: their table, and all conversions between floats of 16 bits, floats and integers. */
#include "runtime/dtype.h"
#include "tests/unit/test.h"

TEST(dtype_table)
{
    CHECK_STR(rt_dtypes[RT_FLOAT32].name, "float32");
    CHECK_STR(rt_dtypes[RT_UINT64].cuda, "unsigned long long");
    CHECK_INT(rt_dtypes[RT_BFLOAT16].size, 2);
    CHECK_INT(rt_dtypes[RT_BOOL].kind, 'b');
    for (int t = 0; t < RT_DTYPE_COUNT; t++) CHECK_INT(rt_dtype_find(rt_dtypes[t].name), t);
    CHECK_INT(rt_dtype_find("half"), RT_FLOAT16);
    CHECK_INT(rt_dtype_find("long"), RT_INT64);
    CHECK_INT(rt_dtype_find("float3"), RT_DTYPE_COUNT);
    CHECK_INT(rt_dtype_find(""), RT_DTYPE_COUNT);
}

/* A 16-bit value by its definition: sign, exponent, fraction. */
static double half_by_definition(unsigned h)
{
    double sign = h & 0x8000 ? -1 : 1, fraction = h & 1023;
    int exponent = h >> 10 & 31;
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

TEST(half_every_value_there_and_back)
{
    for (unsigned h = 0; h < 65536; h++) {
        double want = half_by_definition(h);
        float got = rt_half_to_float((uint16_t)h);
        if (isnan(want)) {
            CHECK(isnan(got));
            CHECK(isnan(rt_half_to_float(rt_half_from_float(got))));
            continue;
        }
        if (got != want) FAIL("half %04x is %g, expected %g", h, got, want);
        if (rt_half_from_float(got) != h) FAIL("half %04x comes back as %04x", h, rt_half_from_float(got));
    }
}

/* Between two neighbours: below the middle the lower, above it the upper, on it the even one. */
TEST(half_rounds_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7BFF; h++) {
        double low = half_by_definition(h), high = half_by_definition(h + 1), middle = (low + high) / 2;
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h), got;
        rt_store_double(RT_FLOAT16, &got, middle);
        if (got != even) FAIL("middle above %04x gives %04x", h, got);
        rt_store_double(RT_FLOAT16, &got, nextafter(middle, 0));
        if (got != h) FAIL("just below the middle above %04x gives %04x", h, got);
        rt_store_double(RT_FLOAT16, &got, nextafter(middle, INFINITY));
        if (got != h + 1) FAIL("just above the middle above %04x gives %04x", h, got);
    }
    CHECK_INT(rt_half_from_float(65519.0f), 0x7BFF);
    CHECK_INT(rt_half_from_float(65520.0f), 0x7C00);
    CHECK_INT(rt_half_from_float(-1e30f), 0xFC00);
    CHECK_INT(rt_half_from_float(0x1p-25f), 0);
    CHECK_INT(rt_half_from_float(-0.0f), 0x8000);
}

TEST(bfloat_rounds_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7F80; h += 7) {
        float low = rt_bfloat_to_float((uint16_t)h);
        double high = h + 1 == 0x7F80 ? 0x1p128 : (double)rt_bfloat_to_float((uint16_t)(h + 1));
        double middle = ((double)low + high) / 2;
        uint16_t got;
        CHECK_INT(rt_bfloat_from_float(low), h);
        rt_store_double(RT_BFLOAT16, &got, middle);
        CHECK_INT(got, h & 1 ? h + 1 : h);
        rt_store_double(RT_BFLOAT16, &got, nextafter(middle, INFINITY));
        CHECK_INT(got, h + 1);
    }
    CHECK(isnan(rt_bfloat_to_float(rt_bfloat_from_float(NAN))));
    CHECK_INT(rt_bfloat_from_float(INFINITY), 0x7F80);
}

static int64_t stored(enum rt_dtype t, double v)
{
    unsigned char place[9] = {0};
    rt_store_double(t, place + 1, v); /* any alignment */
    return rt_load_int(t, place + 1);
}

TEST(floats_to_integers_truncate_and_saturate)
{
    CHECK_INT(stored(RT_INT32, 2.9), 2);
    CHECK_INT(stored(RT_INT32, -2.9), -2);
    CHECK_INT(stored(RT_INT32, 1e20), INT32_MAX);
    CHECK_INT(stored(RT_INT32, -INFINITY), INT32_MIN);
    CHECK_INT(stored(RT_INT32, NAN), 0);
    CHECK_INT(stored(RT_UINT8, 300), 255);
    CHECK_INT(stored(RT_UINT8, -5), 0);
    CHECK_INT(stored(RT_INT8, -129), -128);
    CHECK_INT(stored(RT_INT64, 0x1p63), INT64_MAX);
    CHECK_INT(stored(RT_INT64, -0x1p63), INT64_MIN);
    CHECK_INT(stored(RT_UINT64, 0x1p64), -1);
    CHECK_INT(stored(RT_UINT64, 0x1p63), INT64_MIN);
    CHECK_INT(stored(RT_BOOL, 0.1), 1);
    CHECK_INT(stored(RT_BOOL, -0.0), 0);
    CHECK_INT(stored(RT_BOOL, NAN), 1);
}

TEST(integers_wrap_and_load)
{
    unsigned char place[8];
    rt_store_int(RT_UINT8, place, 257);
    CHECK_INT(rt_load_int(RT_UINT8, place), 1);
    rt_store_int(RT_INT16, place, 40000);
    CHECK_INT(rt_load_int(RT_INT16, place), 40000 - 65536);
    rt_store_int(RT_UINT64, place, -1);
    CHECK_NEAR(rt_load_double(RT_UINT64, place), 0x1p64, 0);
    CHECK_INT(rt_load_int(RT_UINT64, place), -1);
    rt_store_int(RT_FLOAT32, place, 16777217);
    CHECK_NEAR(rt_load_double(RT_FLOAT32, place), 16777216, 0);
    /* Just above the middle of two bfloat16 neighbours, by less than a double can hold. */
    int64_t v = ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1;
    rt_store_int(RT_BFLOAT16, place, v);
    CHECK_NEAR(rt_load_double(RT_BFLOAT16, place), 0x1p62 + 0x1p55, 0);
    rt_store_int(RT_FLOAT16, place, -3);
    CHECK_INT(rt_load_int(RT_FLOAT16, place), -3);
    place[0] = 200;
    CHECK_INT(rt_load_int(RT_BOOL, place), 1);
}
