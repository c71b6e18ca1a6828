/* Numbers as text: what is written reads as the same element, by the C library, too, and no text with fewer digits
 * does. */
#include "runtime/number.h"
#include "tests/unit/test.h"

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* From the first digit that is not 0 to the last one. */
static int count_digits(const char *text)
{
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && !count)) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/* Infinity and NaN have texts of their own. */
static bool is_finite(enum rt_dtype t, const void *element)
{
    return isfinite(rt_load_double(t, element));
}

static void check(enum rt_dtype t, uint64_t bits, bool count)
{
    char text[RT_NUMBER_TEXT], longer[64], again[8];
    if (!is_finite(t, &bits)) return;
    const double v = rt_load_double(t, &bits);
    const int n = rt_number_text(t, &bits, text);
    CHECK_INT(n, strlen(text));
    rt_store_double(t, again, strtod(text, NULL));
    if (memcmp(again, &bits, rt_dtypes[t].size) != 0)
        FAIL("%s, %.17g: \"%s\" is another number", rt_dtypes[t].name, v, text);
    CHECK_INT(rt_number_parse(text, (size_t)n, t, again), RT_NUMBER_OK);
    CHECK(memcmp(again, &bits, rt_dtypes[t].size) == 0);
    if (!count || v == 0) return;
    const int digits = count_digits(text);
    snprintf(longer, sizeof longer, "%.*e", digits - 1, v);
    /* Of as many digits the nearest is what C rounds to; where that is another number, ours is one beside it. */
    rt_store_double(t, again, strtod(longer, NULL));
    if (memcmp(again, &bits, rt_dtypes[t].size) == 0 && strtod(longer, NULL) != strtod(text, NULL))
        FAIL("%s, %.17g: \"%s\", but %s is nearer", rt_dtypes[t].name, v, text, longer);
    if (digits == 1) return;
    snprintf(longer, sizeof longer, "%.*e", digits - 2, v);
    rt_store_double(t, again, strtod(longer, NULL));
    if (memcmp(again, &bits, rt_dtypes[t].size) == 0)
        FAIL("%s, %.17g: \"%s\", but %s is shorter", rt_dtypes[t].name, v, text, longer);
}

TEST(every_number_of_two_bytes)
{
    for (uint64_t bits = 0; bits < 65536; bits++) {
        check(RT_FLOAT16, bits, true);
        check(RT_BFLOAT16, bits, true);
    }
}

TEST(powers_of_two_and_their_neighbours)
{
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (int64_t beside = -2; beside <= 2; beside++) check(RT_FLOAT64, (exponent << 52) + (uint64_t)beside, true);
    for (uint64_t exponent = 0; exponent < 255; exponent++)
        for (int64_t beside = -2; beside <= 2; beside++)
            check(RT_FLOAT32, ((exponent << 23) + (uint64_t)beside) & UINT32_MAX, true);
}

TEST(random_numbers)
{
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = random_bits();
        check(RT_FLOAT64, bits, i % 10 == 0);
        check(RT_FLOAT64, bits & ~(uint64_t)0 << (i % 53), i % 10 == 0);
        check(RT_FLOAT32, bits & UINT32_MAX, i % 10 == 0);
    }
}

TEST(decimal_numbers_come_back_as_they_were)
{
    for (int i = 0; i < 100000; i++) {
        char text[RT_NUMBER_TEXT], again[RT_NUMBER_TEXT];
        double v;
        int n = snprintf(text, sizeof text, "%d.%d", (int)(random_bits() % 100000),
                         (int)(random_bits() % 99999999) * 10 + 1);
        CHECK_INT(rt_number_parse(text, (size_t)n, RT_FLOAT64, &v), RT_NUMBER_OK);
        rt_number_text(RT_FLOAT64, &v, again);
        CHECK_STR(again, text);
    }
}

TEST(a_float32_is_rounded_once)
{
    float v;
    CHECK_INT(rt_number_parse("7.038531e-26", 12, RT_FLOAT32, &v), RT_NUMBER_OK);
    CHECK(v == 0x1.5c87fap-84F); /* as a double it is in the middle of two */
    CHECK_INT(rt_number_parse("-16777217.000000001", 19, RT_FLOAT32, &v), RT_NUMBER_OK);
    CHECK(v == -16777218);
    CHECK_INT(rt_number_parse("16777217", 8, RT_FLOAT32, &v), RT_NUMBER_OK);
    CHECK(v == 16777216);
    CHECK_INT(rt_number_parse("340282356779733661637539395458142568447", 39, RT_FLOAT32, &v), RT_NUMBER_OK);
    CHECK(v == 0x1.fffffep127F); /* as a double it is what is infinite */
    CHECK_INT(rt_number_parse("340282356779733661637539395458142568448", 39, RT_FLOAT32, &v), RT_NUMBER_OK);
    CHECK(v > 0x1.fffffep127F);
}

TEST(elements_of_two_bytes_are_rounded_once)
{
    static const struct {
        const char *text;
        enum rt_dtype t;
        double want;
    } cases[] = {
        {"1.00048828125000000000001", RT_FLOAT16, 1.0009765625},
        {"1.00048828125", RT_FLOAT16, 1},
        {"-1.00048828125000000000001", RT_FLOAT16, -1.0009765625},
        {"1.00146484374999999999999", RT_FLOAT16, 1.0009765625},
        {"1.00146484375", RT_FLOAT16, 1.001953125},
        {"65519.99999999999999999", RT_FLOAT16, 65504},
        {"1.0039062500000000000001", RT_BFLOAT16, 1.0078125},
        {"1.00390625", RT_BFLOAT16, 1},
        {"1.01171874999999999999999", RT_BFLOAT16, 1.0078125},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t element;
        CHECK_INT(rt_number_parse(cases[i].text, strlen(cases[i].text), cases[i].t, &element), RT_NUMBER_OK);
        if (rt_load_double(cases[i].t, &element) != cases[i].want) FAIL("%s is read wrong", cases[i].text);
    }
}

TEST(forms)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {-10, "-10"},
                 {100, "100"},
                 {1e15, "1000000000000000"},
                 {9007199254740993, "9007199254740992"},
                 {1e16, "1e+16"},
                 {12345678901234567, "1.2345678901234568e+16"},
                 {1e22, "1e+22"},
                 {1e23, "1e+23"},
                 {0.5, "0.5"},
                 {123.456, "123.456"},
                 {0.0001, "0.0001"},
                 {0.00012, "0.00012"},
                 {0.00001, "1e-05"},
                 {-1.5e-7, "-1.5e-07"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"},
                 {-NAN, "nan"}};
    char text[RT_NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(rt_number_text(RT_FLOAT64, &cases[i].v, text), strlen(cases[i].text));
        CHECK_STR(text, cases[i].text);
    }
    const float f = 0.1F, large = 16777216;
    rt_number_text(RT_FLOAT32, &f, text);
    CHECK_STR(text, "0.1");
    rt_number_text(RT_FLOAT32, &large, text);
    CHECK_STR(text, "16777216");
}

TEST(integers)
{
    const int64_t least = INT64_MIN, one = -1;
    const uint64_t most = UINT64_MAX;
    const int8_t small = -128;
    const bool yes = true;
    char text[RT_NUMBER_TEXT];
    rt_number_text(RT_INT64, &least, text);
    CHECK_STR(text, "-9223372036854775808");
    rt_number_text(RT_INT64, &one, text);
    CHECK_STR(text, "-1");
    rt_number_text(RT_UINT64, &most, text);
    CHECK_STR(text, "18446744073709551615");
    rt_number_text(RT_INT8, &small, text);
    CHECK_STR(text, "-128");
    rt_number_text(RT_BOOL, &yes, text);
    CHECK_STR(text, "1");
}

TEST(complex_numbers)
{
    static const struct {
        double v[2];
        const char *text;
    } cases[] = {
        {{1, 2}, "(1+2j)"},
        {{-0.5, -1e-20}, "(-0.5-1e-20j)"},
        {{0, -0.0}, "(0-0j)"},
        {{NAN, INFINITY}, "(nan+infj)"},
        {{-INFINITY, NAN}, "(-inf+nanj)"},
        {{-1.7976931348623157e308, -2.2250738585072014e-308}, "(-1.7976931348623157e+308-2.2250738585072014e-308j)"}};
    static const char *const wrong[] = {"j", "-j", "1+j", "(1+2j", "1+2", "1+2k", "()", "1++2j", "abcj"};
    char text[RT_NUMBER_TEXT];
    double again[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(rt_number_text(RT_COMPLEX128, cases[i].v, text), strlen(cases[i].text));
        CHECK_STR(text, cases[i].text);
        CHECK_INT(rt_number_parse(text, strlen(text), RT_COMPLEX128, again), RT_NUMBER_OK);
        for (int k = 0; k < 2; k++)
            CHECK(isnan(cases[i].v[k]) ? isnan(again[k]) : memcmp(&cases[i].v[k], &again[k], sizeof again[k]) == 0);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(rt_number_parse(wrong[i], strlen(wrong[i]), RT_COMPLEX128, again), RT_NUMBER_WRONG);
    const float narrow[2] = {0.1F, -16777216};
    rt_number_text(RT_COMPLEX64, narrow, text);
    CHECK_STR(text, "(0.1-16777216j)");
}
