#define _GNU_SOURCE /* memmem */
#include "kernels/called.h"

#include <string.h>

#include "kernels/complex_cuda.h"
#include "kernels/functions.h"
#include "kernels/special.h"
#include "kernels/special_beta.h"
#include "kernels/special_integral.h"
#include "kernels/special_inverse.h"
#include "kernels/special_order.h"
#include "kernels/special_second.h"
#include "kernels/special_wave.h"
#include "runtime/spelling.h"

#define BEGINNING           "static __device__ inline "
#define TEXT_(...)          #__VA_ARGS__
#define TEXT(...)           TEXT_(__VA_ARGS__) "\n"
#define KN_FN               static __device__ inline
#define KN_APART            KN_FN __noinline__
#define SIGNED_TEXT(T, U)   TEXT(KN_SIGNED_FUNCTIONS(T, U, ))
#define UNSIGNED_TEXT(T, U) TEXT(KN_UNSIGNED_FUNCTIONS(T, U, ))
#define FLOATING_TEXT(T, U) TEXT(KN_FLOAT_FUNCTIONS(T, U, ))

/* clang-format off */
static const char always[] =
    "#define exp_ exp\n#define log_ log\n#define exp2_ exp2\n#define expm1_ expm1\n#define log2_ log2\n"
    "#define log10_ log10\n#define log1p_ log1p\n#define rint_ rint\n"
    "template <class T, class S> " BEGINNING "T saturated_(S v, T min, T max, S low, S limit)\n"
    "{ return v >= limit ? max : v > low ? (T)v : v != v ? (T)0 : min; }\n";

/* Definitions one after the other, each of which begins with BEGINNING and calls none but those before it. */
static const char definitions[] =
    SIGNED_TEXT(int, unsigned int)
    SIGNED_TEXT(long long, unsigned long long)
    UNSIGNED_TEXT(unsigned long long, unsigned long long)
    FLOATING_TEXT(float, unsigned int)
    FLOATING_TEXT(double, unsigned long long)
    TEXT(KN_APART double tgamma_(double a) { return tgamma(a); })
    TEXT(KN_SPECIAL_FUNCTIONS())
    BEGINNING "bool truth_(bool a) { return a; }\n"
    BEGINNING "float lgamma_(float a) { return lgammaf(a); }\n"
    TEXT(KN_APART double lgamma_(double a) { return lgamma(a); })
    TEXT(KN_BETA_FUNCTIONS())
    TEXT(KN_SECOND_FUNCTIONS())
    TEXT(KN_INVERSE_FUNCTIONS())
    TEXT(KN_INTEGRAL_FUNCTIONS())
    TEXT(KN_WAVE_FUNCTIONS())
    TEXT(KN_ORDER_FUNCTIONS())
    BEGINNING "float largest_(float) { return 0x1.fffffep127f; }\n"
    BEGINNING "double largest_(double) { return 0x1.fffffffffffffp1023; }\n"
    BEGINNING "float half_(unsigned short h)\n"
    "{ float f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h)); return f; }\n"
    BEGINNING "unsigned short half_bits_(float f)\n"
    "{ unsigned short h; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f)); return h; }\n"
    BEGINNING "float bfloat_(unsigned short h) { return __uint_as_float((unsigned)h << 16); }\n"
    BEGINNING "unsigned short bfloat_bits_(float f)\n"
    "{ unsigned u = __float_as_uint(f); if (f != f) return u >> 16 | 64; return (u + 0x7fff + (u >> 16 & 1)) >> 16; }\n";

static const char complex_definitions[] =
    TEXT(KN_COMPLEX_FUNCTIONS(complex_<float>, float, ))
    TEXT(KN_COMPLEX_FUNCTIONS(complex_<double>, double, ));
/* clang-format on */

#define MOST 224 /* definitions, of which there are about 190 */

struct definition {
    const char *text, *name;
    size_t length, name_length;
    bool called;
};

/* Whether the `length` characters at `text` call the function. */
static bool calls(const char *text, size_t length, const struct definition *d)
{
    const char *end = text + length;
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), d->name, d->name_length)); p += d->name_length)
        if (p[d->name_length] == '(' && (p == text || !rt_in_name(p[-1]))) return true;
    return false;
}

/* Finds the definitions in a text, after `count` found before; returns how many there are now. */
static int find(const char *text, struct definition *found, int count)
{
    const size_t beginning = sizeof BEGINNING - 1;
    const char *next = strstr(text, BEGINNING);
    while (next && count < MOST) {
        struct definition *d = &found[count++];
        d->text = next;
        next = strstr(next + beginning, BEGINNING);
        d->length = next ? (size_t)(next - d->text) : strlen(d->text);
        const char *open = strchr(d->text, '(');
        for (d->name = open; rt_in_name(d->name[-1]); d->name--) continue;
        d->name_length = (size_t)(open - d->name);
        d->called = false;
    }
    return count;
}

void kn_put_with_called(struct kn_text *t, const char *body)
{
    struct definition all[MOST];
    const bool complex = strstr(body, "complex_<") != NULL;
    int count = find(definitions, all, 0);
    if (complex) count = find(complex_definitions, all, count);
    /* From the last, since what a function calls stands before it. */
    for (int i = count - 1; i >= 0; i--) {
        all[i].called = calls(body, strlen(body), &all[i]);
        for (int j = i + 1; j < count && !all[i].called; j++)
            all[i].called = all[j].called && calls(all[j].text, all[j].length, &all[i]);
    }
    kn_put(t, "%s%s", always, complex ? kn_complex_text : "");
    for (int i = 0; i < count; i++)
        if (all[i].called) kn_put(t, "%.*s\n", (int)all[i].length, all[i].text);
    kn_put(t, "%s", body);
}
