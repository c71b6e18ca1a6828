/* Generated texts get the functions that they call, and what those call, and no others. */
#include "kernels/called.h"
#include "tests/unit/test.h"

static void has(const char *body, const char *wanted, bool expected)
{
    struct kn_text t = {0};
    kn_put_with_called(&t, body);
    CHECK(!t.failed);
    const bool found = strstr(t.data, wanted) != NULL;
    if (found != expected) FAIL("%s: %s is %s", body, wanted, expected ? "missing" : "there");
    const char *end = t.data + t.length - strlen(body);
    CHECK_STR(end, body);
    kn_text_free(&t);
}

TEST(a_text_without_calls_gets_no_function)
{
    has("out = a + b;", "pow_(", false);
    has("out = a + b;", "complex_", false);
    has("", "half_(", false);
}

TEST(calls_bring_every_overload)
{
    has("out = pow_(a, b);", "float pow_(float a", true);
    has("out = pow_(a, b);", "double pow_(double a", true);
    has("out = pow_(a, b);", "gcd_(", false);
    has("out = abs_(a);", "unsigned long long abs_(", true);
}

TEST(calls_bring_what_they_call)
{
    has("out = lcm_(a, b);", "int gcd_(int a", true);
    has("out = gcd_(a, b);", "lcm_(", false);
    has("out = (complex_<float>)sign_(a);", "modulus_(complex_<float> a)", true);
}

TEST(complex_functions_come_with_complex_numbers)
{
    has("complex_<double> v = log10_(a);", "scaled_(complex_<double> a", true);
    has("complex_<double> v = a;", "struct __align__(2 * sizeof(R)) complex_", true);
    has("double v = sign_(a);", "complex_", false);
}

TEST(names_are_whole_words)
{
    has("out = my_pow_(a);", "float pow_(", false);
    has("out = pow_ + 1;", "float pow_(", false);
    has("out = half_bits_(a);", "float half_(", false);
    has("out = half_bits_(a);", "unsigned short half_bits_(", true);
}
