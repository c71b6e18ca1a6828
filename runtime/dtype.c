#include "runtime/dtype.h"

#include <math.h>
#include <string.h>

const struct rt_dtype_info rt_dtypes[RT_DTYPE_COUNT] = {
#define X(id, name, ctype, cuda, kind, mangled) {name, cuda, mangled, sizeof(ctype), kind},
    RT_DTYPES(X)
#undef X
};

enum rt_dtype rt_dtype_find(const char *name)
{
    static const struct {
        const char *name;
        enum rt_dtype dtype;
    } aliases[] = {
        {"int", RT_INT32}, {"long", RT_INT64}, {"half", RT_FLOAT16}, {"float", RT_FLOAT32}, {"double", RT_FLOAT64}};
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        if (*rt_dtypes[t].name == *name && strcmp(rt_dtypes[t].name, name) == 0) return (enum rt_dtype)t;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].name, name) == 0) return aliases[i].dtype;
    }
    return RT_DTYPE_COUNT;
}

enum rt_dtype rt_real_of(enum rt_dtype t)
{
    return t == RT_COMPLEX64 ? RT_FLOAT32 : t == RT_COMPLEX128 ? RT_FLOAT64 : t;
}

enum rt_dtype rt_complex_of(enum rt_dtype t)
{
    return rt_is_complex(t) ? t : rt_dtypes[t].size == 8 ? RT_COMPLEX128 : RT_COMPLEX64;
}

static uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float rt_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return float_from_bits(sign | 0x7F800000 | fraction << 13);
    if (exponent > 0) return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = (float)fraction * 0x1p-24f; /* subnormal or zero: exact */
    return float_from_bits(sign | float_bits(magnitude));
}

uint16_t rt_half_from_float(float f)
{
    uint32_t bits = float_bits(f), magnitude = bits & 0x7FFFFFFF;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7F800000) return sign | 0x7E00 | (uint16_t)(magnitude >> 13 & 0x3FF); /* NaN stays NaN */
    if (magnitude >= 0x477FF000) return sign | 0x7C00; /* 65520 and more round to infinity */
    if (magnitude >= 0x38800000) {                     /* normal: rebias, then add half a unit, ties to even */
        uint32_t r = magnitude - 0x38000000;
        return sign | (uint16_t)((r + 0xFFF + (r >> 13 & 1)) >> 13);
    }
    if (magnitude <= 0x33000000) return sign; /* 2^-25 and less round to zero */
    uint32_t shift = 126 - (magnitude >> 23), fraction = (magnitude & 0x7FFFFF) | 0x800000;
    uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return sign | (uint16_t)kept;
}

float rt_bfloat_to_float(uint16_t h)
{
    return float_from_bits((uint32_t)h << 16);
}

uint16_t rt_bfloat_from_float(float f)
{
    uint32_t bits = float_bits(f);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* A double as a float, rounded to odd: a second rounding to fewer bits then gives what one rounding would have. */
static float to_odd_float(double v)
{
    float f = (float)v;
    if (v != v || (double)f == v) return f;
    uint32_t bits = float_bits(f);
    if (fabs((double)f) > fabs(v)) bits--;
    return float_from_bits(bits | 1);
}

/* An int64 as a double for a later rounding to 11 bits or fewer: the bits that do not fit leave a sticky bit. */
static double to_sticky_double(int64_t v)
{
    const int64_t low = 0xFFF;
    if (v > -((int64_t)1 << 53) && v < (int64_t)1 << 53) return (double)v;
    return (double)((v & ~low) | ((v & low) ? 0x800 : 0));
}

double rt_load_double(enum rt_dtype t, const void *p)
{
    switch (t) {
    case RT_FLOAT16: {
        uint16_t v;
        memcpy(&v, p, sizeof v);
        return rt_half_to_float(v);
    }
    case RT_BFLOAT16: {
        uint16_t v;
        memcpy(&v, p, sizeof v);
        return rt_bfloat_to_float(v);
    }
    case RT_FLOAT32: {
        float v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    case RT_FLOAT64: {
        double v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    case RT_UINT64: {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        return (double)v;
    }
    case RT_COMPLEX64:
    case RT_COMPLEX128: return rt_load_double(rt_real_of(t), p);
    default: return (double)rt_load_int(t, p);
    }
}

/* Truncates and saturates; NaN gives 0. `low` and `high` are the type's range, high + 1 being exact as a double. */
static int64_t saturate(double v, int64_t low, int64_t high)
{
    if (v != v) return 0;
    if (v <= (double)low) return low;
    if (v >= (double)high) return high;
    return (int64_t)v;
}

static uint64_t saturate_unsigned(double v)
{
    if (!(v > 0)) return 0;
    if (v >= 0x1p64) return UINT64_MAX;
    return (uint64_t)v;
}

int64_t rt_load_int(enum rt_dtype t, const void *p)
{
    switch (t) {
#define LOAD(id, ctype)                                                                                                \
    case id: {                                                                                                         \
        ctype v;                                                                                                       \
        memcpy(&v, p, sizeof v);                                                                                       \
        return (int64_t)v;                                                                                             \
    }
        LOAD(RT_INT8, int8_t)
        LOAD(RT_INT16, int16_t)
        LOAD(RT_INT32, int32_t)
        LOAD(RT_INT64, int64_t)
        LOAD(RT_UINT8, uint8_t)
        LOAD(RT_UINT16, uint16_t)
        LOAD(RT_UINT32, uint32_t)
        LOAD(RT_UINT64, uint64_t)
#undef LOAD
    case RT_BOOL: return *(const uint8_t *)p != 0;
    case RT_FLOAT16:
    case RT_BFLOAT16:
    case RT_FLOAT32:
    case RT_FLOAT64:
    case RT_COMPLEX64:
    case RT_COMPLEX128: return saturate(rt_load_double(t, p), INT64_MIN, INT64_MAX);
    case RT_DTYPE_COUNT: break;
    }
    return 0;
}

void rt_store_double(enum rt_dtype t, void *p, double v)
{
    switch (t) {
#define STORE(id, ctype, value)                                                                                        \
    case id: {                                                                                                         \
        ctype stored = (ctype)(value);                                                                                 \
        memcpy(p, &stored, sizeof stored);                                                                             \
        return;                                                                                                        \
    }
        STORE(RT_BOOL, uint8_t, v != 0)
        STORE(RT_INT8, int8_t, saturate(v, INT8_MIN, INT8_MAX))
        STORE(RT_INT16, int16_t, saturate(v, INT16_MIN, INT16_MAX))
        STORE(RT_INT32, int32_t, saturate(v, INT32_MIN, INT32_MAX))
        STORE(RT_INT64, int64_t, saturate(v, INT64_MIN, INT64_MAX))
        STORE(RT_UINT8, uint8_t, saturate(v, 0, UINT8_MAX))
        STORE(RT_UINT16, uint16_t, saturate(v, 0, UINT16_MAX))
        STORE(RT_UINT32, uint32_t, saturate(v, 0, UINT32_MAX))
        STORE(RT_UINT64, uint64_t, saturate_unsigned(v))
        STORE(RT_FLOAT16, uint16_t, rt_half_from_float(to_odd_float(v)))
        STORE(RT_BFLOAT16, uint16_t, rt_bfloat_from_float(to_odd_float(v)))
        STORE(RT_FLOAT32, float, v)
        STORE(RT_FLOAT64, double, v)
    case RT_COMPLEX64:
    case RT_COMPLEX128: rt_store_complex(t, p, (struct rt_complex){v, 0}); return;
    case RT_DTYPE_COUNT: return;
    }
}

void rt_store_int(enum rt_dtype t, void *p, int64_t v)
{
    switch (t) {
        STORE(RT_BOOL, uint8_t, v != 0)
        STORE(RT_INT8, int8_t, v)
        STORE(RT_INT16, int16_t, v)
        STORE(RT_INT32, int32_t, v)
        STORE(RT_INT64, int64_t, v)
        STORE(RT_UINT8, uint8_t, v)
        STORE(RT_UINT16, uint16_t, v)
        STORE(RT_UINT32, uint32_t, v)
        STORE(RT_UINT64, uint64_t, v)
        STORE(RT_FLOAT16, uint16_t, rt_half_from_float(to_odd_float(to_sticky_double(v))))
        STORE(RT_BFLOAT16, uint16_t, rt_bfloat_from_float(to_odd_float(to_sticky_double(v))))
        STORE(RT_FLOAT32, float, v)
        STORE(RT_FLOAT64, double, v)
#undef STORE
    case RT_COMPLEX64:
    case RT_COMPLEX128: rt_store_complex(t, p, (struct rt_complex){(double)v, 0}); return;
    case RT_DTYPE_COUNT: return;
    }
}

struct rt_complex rt_load_complex(enum rt_dtype t, const void *p)
{
    struct rt_complex v = {rt_load_double(t, p), 0};
    if (rt_is_complex(t)) v.im = rt_load_double(rt_real_of(t), (const char *)p + rt_dtypes[t].size / 2);
    return v;
}

void rt_store_complex(enum rt_dtype t, void *p, struct rt_complex v)
{
    rt_store_double(rt_real_of(t), p, v.re);
    if (rt_is_complex(t)) rt_store_double(rt_real_of(t), (char *)p + rt_dtypes[t].size / 2, v.im);
}
