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

/* A double as a float, rounded to odd: a second rounding to fewer bits then gives what one rounding would have. */
static float to_odd_float(double v)
{
    float f = (float)v;
    if (v != v || (double)f == v) return f;
    uint32_t bits = rt_float_bits(f);
    if (fabs((double)f) > fabs(v)) bits--;
    return rt_float_from_bits(bits | 1);
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
