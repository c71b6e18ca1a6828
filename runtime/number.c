#define _GNU_SOURCE /* strtod_l */
#include "runtime/number.h"
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "runtime/decimal.h"

#define LONGEST 400 /* characters of a number that is worth reading */

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The general case: by the C library, from a copy that ends where the number does. */
static bool parse_slowly(const char *text, size_t length, double *v)
{
    char copy[LONGEST + 1], *end;
    pthread_once(&locale_once, make_locale);
    if (length > LONGEST || strspn(text, "0123456789+-.eE") < length) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *v = c_locale ? strtod_l(copy, &end, c_locale) : strtod(copy, &end);
    return end == copy + length && length > 0;
}

/* The bits of an element's fraction, of a type that is narrower than a double. */
static int narrow_fraction(enum rt_dtype t)
{
    return t == RT_FLOAT32 ? 23 : t == RT_FLOAT16 ? 10 : 7;
}

static int fraction_bits(enum rt_dtype t)
{
    return t == RT_FLOAT64 ? 52 : narrow_fraction(t);
}

/* A double that rounds to the element of the narrower type t that is nearest to the text. One in the middle of two
 * elements, which v may be because it was rounded itself, does not say which one that is: there it is the one of its
 * neighbours around the text's number that is odd. */
static double for_narrower(const char *text, size_t length, enum rt_dtype t, double v)
{
    char element[8];
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (bits & (((uint64_t)1 << (51 - narrow_fraction(t))) - 1)) return v;
    rt_store_double(t, element, v);
    if (rt_load_double(t, element) == v) return v;
    const int mode = fegetround();
    double low = v, high = v;
    fesetround(FE_DOWNWARD);
    parse_slowly(text, length, &low);
    fesetround(FE_UPWARD);
    parse_slowly(text, length, &high);
    fesetround(mode);
    memcpy(&bits, &low, sizeof bits);
    return bits & 1 ? low : high;
}

/* Few digits and a small power of ten make an exact product or quotient, rounded once. */
static bool parse_float(const char *text, size_t length, double *v)
{
    const char *s = text, *end = text + length;
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    uint64_t digits = 0;
    int count = 0, scale = 0;
    for (; s < end && *s >= '0' && *s <= '9'; s++, count++) digits = digits * 10 + (uint64_t)(*s - '0');
    if (s < end && *s == '.')
        for (s++; s < end && *s >= '0' && *s <= '9'; s++, count++, scale--) digits = digits * 10 + (uint64_t)(*s - '0');
    if (s != end || count == 0 || count > 18 || digits > (uint64_t)1 << 53) return parse_slowly(text, length, v);
    *v = scale < 0 ? (double)digits / powers[-scale] : (double)digits;
    if (negative) *v = -*v;
    return true;
}

static enum rt_number parse_integer(const char *text, size_t length, enum rt_dtype t, void *element)
{
    const char *s = text, *end = text + length;
    bool negative = s < end && *s == '-', is_signed = rt_dtypes[t].kind == 'i';
    uint64_t v = 0, most = ~(uint64_t)0 >> (64 - 8 * rt_dtypes[t].size);
    if (s < end && (*s == '-' || *s == '+')) s++;
    if (s == end) return RT_NUMBER_WRONG;
    bool large = false;
    for (; s < end && *s >= '0' && *s <= '9'; s++)
        large |= __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v);
    if (s != end) return RT_NUMBER_WRONG;
    if (is_signed) most = most / 2 + negative;
    if (large || v > most || (negative && !is_signed && v)) return RT_NUMBER_RANGE;
    rt_store_int(t, element, (int64_t)(negative ? 0 - v : v));
    return RT_NUMBER_OK;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

/* What pandas takes as missing, too. */
static bool is_missing(const char *text, size_t length)
{
    static const char *const words[] = {"", "na", "n/a", "nan", "null", "none", "<na>", "#na", "#n/a", "#n/a n/a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(text, length, words[i])) return true;
    return false;
}

/* What is no plain number. */
static bool parse_word(const char *text, size_t length, double *v)
{
    bool sign = length > 1 && (*text == '-' || *text == '+');
    if (sign && is_word(text + 1, length - 1, "nan"))
        *v = NAN;
    else if (is_word(text + sign, length - sign, "inf") || is_word(text + sign, length - sign, "infinity"))
        *v = *text == '-' ? -INFINITY : INFINITY;
    else if (is_word(text, length, "true") || is_word(text, length, "false"))
        *v = length == 4;
    else
        return false;
    return true;
}

/* Where the imaginary part's sign is, 0 for one that stands alone. */
static size_t find_imaginary(const char *text, size_t length)
{
    size_t at = length - 1;
    while (at > 0 && !((text[at] == '+' || text[at] == '-') && text[at - 1] != 'e' && text[at - 1] != 'E')) at--;
    return at;
}

/* As Python and NumPy write them, 1+2j, (1+2j) or 2j, with i as well; real numbers, too. Apart, so that these are read
 * no slower. */
__attribute__((noinline)) static enum rt_number parse_complex(const char *text, size_t length, enum rt_dtype t,
                                                              void *element)
{
    const enum rt_dtype part = t == RT_COMPLEX64 ? RT_FLOAT32 : RT_FLOAT64;
    char *const parts = element;
    if (length > 2 && *text == '(' && text[length - 1] == ')') {
        text++;
        length -= 2;
    }
    memset(parts, 0, rt_dtypes[t].size);
    if (length < 2 || !strchr("ijIJ", text[length - 1])) return rt_number_parse(text, length, part, parts);
    const size_t at = find_imaginary(text, length);
    const size_t sign = text[at] == '+' || text[at] == '-';
    if (length - 1 == at + sign) return RT_NUMBER_WRONG;
    enum rt_number result = at ? rt_number_parse(text, at, part, parts) : RT_NUMBER_OK;
    return result == RT_NUMBER_OK ? rt_number_parse(text + at, length - 1 - at, part, parts + rt_dtypes[part].size)
                                  : result;
}

enum rt_number rt_number_parse(const char *text, size_t length, enum rt_dtype t, void *element)
{
    char kind = rt_dtypes[t].kind;
    double v, limit;
    if (kind == 'c') return parse_complex(text, length, t, element);
    if (length && ((*text >= '0' && *text <= '9') || *text == '-' || *text == '+' || *text == '.')) {
        if (kind == 'i' || kind == 'u') {
            enum rt_number result = parse_integer(text, length, t, element);
            if (result != RT_NUMBER_WRONG) return result;
        }
        if (!parse_float(text, length, &v) && !parse_word(text, length, &v)) return RT_NUMBER_WRONG;
        if (kind == 'f' && t != RT_FLOAT64) v = for_narrower(text, length, t, v);
    } else if (is_missing(text, length)) {
        v = NAN;
    } else if (!parse_word(text, length, &v)) {
        return RT_NUMBER_WRONG;
    }
    if (kind != 'f') {
        if (isnan(v)) return RT_NUMBER_MISSING;
        limit = ldexp(1, 8 * rt_dtypes[t].size - (kind == 'i'));
        if (kind != 'b' && !(v > (kind == 'i' ? -limit - 1 : -1) && v < limit)) return RT_NUMBER_RANGE;
    }
    rt_store_double(t, element, v);
    return RT_NUMBER_OK;
}

static char *put_text(char *at, const char *text, size_t n)
{
    memcpy(at, text, n);
    return at + n;
}

static char *put_integer(char *at, uint64_t v)
{
    char digits[20], *first = digits + sizeof digits;
    do *--first = (char)('0' + v % 10);
    while (v /= 10);
    return put_text(at, first, (size_t)(digits + sizeof digits - first));
}

/* From 1e-4 to 1e16 without an exponent, as Python writes them. */
static char *put_decimal(char *at, struct rt_decimal d)
{
    static const char zeros[] = "0000000000000000";
    char digits[20];
    const int count = (int)(put_integer(digits, d.digits) - digits), point = count + d.exponent; /* digits before it */
    if (point < -3 || point > 16) {
        const int power = point - 1;
        *at++ = digits[0];
        if (count > 1) *at++ = '.';
        at = put_text(at, digits + 1, (size_t)count - 1);
        *at++ = 'e';
        *at++ = power < 0 ? '-' : '+';
        if (abs(power) < 10) *at++ = '0'; /* two digits at least, as C has it */
        return put_integer(at, (uint64_t)abs(power));
    }
    if (point <= 0) {
        at = put_text(at, "0.", 2);
        at = put_text(at, zeros, (size_t)-point);
        return put_text(at, digits, (size_t)count);
    }
    if (d.exponent >= 0) return put_text(put_text(at, digits, (size_t)count), zeros, (size_t)d.exponent);
    at = put_text(at, digits, (size_t)point);
    *at++ = '.';
    return put_text(at, digits + point, (size_t)(count - point));
}

/* The magnitude of a floating element that has `fraction` bits of it stored under the exponent, which is 1 for the
 * least normal number 2^least. */
static char *put_magnitude(char *at, uint64_t bits, int fraction, int least, uint64_t infinity)
{
    const int exponent = (int)(bits >> fraction);
    const uint64_t hidden = (uint64_t)1 << fraction, low = bits & (hidden - 1);
    if (bits == infinity) return put_text(at, "inf", 3);
    if (bits == 0) return put_text(at, "0", 1);
    if (exponent == 0) return put_decimal(at, rt_decimal_of(low, least - fraction, false));
    return put_decimal(at, rt_decimal_of(hidden | low, exponent - 1 + least - fraction, low == 0 && exponent > 1));
}

/* An element of a floating dtype. */
static char *put_float(char *at, enum rt_dtype t, const char *element)
{
    const int width = 8 * rt_dtypes[t].size;
    const int fraction = fraction_bits(t);
    const uint64_t sign = (uint64_t)1 << (width - 1), infinity = sign - ((uint64_t)1 << fraction);
    uint64_t bits = 0;
    memcpy(&bits, element, rt_dtypes[t].size);
    const bool negative = bits & sign, is_nan = (bits &= sign - 1) > infinity;
    if (negative && !is_nan) *at++ = '-';
    const int least = 2 - (1 << (width - 2 - fraction));
    return is_nan ? put_text(at, "nan", 3) : put_magnitude(at, bits, fraction, least, infinity);
}

/* "(1+2j)" */
static char *put_complex(char *at, enum rt_dtype part, const char *parts)
{
    *at++ = '(';
    at = put_float(at, part, parts);
    char *const sign = at;
    at = put_float(at + 1, part, parts + rt_dtypes[part].size);
    if (sign[1] == '-')
        memmove(sign, sign + 1, (size_t)(at-- - sign - 1));
    else
        *sign = '+';
    return put_text(at, "j)", 2);
}

int rt_number_text(enum rt_dtype t, const void *element, char out[RT_NUMBER_TEXT])
{
    char *at = out;
    if (rt_dtypes[t].kind == 'c') {
        at = put_complex(at, t == RT_COMPLEX64 ? RT_FLOAT32 : RT_FLOAT64, element);
    } else if (rt_dtypes[t].kind == 'f') {
        at = put_float(at, t, element);
    } else {
        const int64_t v = rt_load_int(t, element);
        const bool negative = v < 0 && t != RT_UINT64;
        if (negative) *at++ = '-';
        at = put_integer(at, negative ? 0 - (uint64_t)v : (uint64_t)v);
    }
    *at = '\0';
    return (int)(at - out);
}
