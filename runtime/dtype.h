/* Element types. One row of RT_DTYPES is all that stands anywhere about a type's name, size and class. */
#ifndef RT_DTYPE_H
#define RT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Rows: id, Lua and NumPy name, C type that stores it on the host, CUDA C type, kind letter as in NumPy
 * (b bool, i signed, u unsigned, f floating, c complex), Itanium mangling. float16 and bfloat16 are stored as their 16
 * bits, complex numbers as their real part and the imaginary one behind it. */
#define RT_DTYPES(X)                                                                                                   \
    X(BOOL, "bool", uint8_t, "bool", 'b', "b")                                                                         \
    X(INT8, "int8", int8_t, "signed char", 'i', "a")                                                                   \
    X(INT16, "int16", int16_t, "short", 'i', "s")                                                                      \
    X(INT32, "int32", int32_t, "int", 'i', "i")                                                                        \
    X(INT64, "int64", int64_t, "long long", 'i', "x")                                                                  \
    X(UINT8, "uint8", uint8_t, "unsigned char", 'u', "h")                                                              \
    X(UINT16, "uint16", uint16_t, "unsigned short", 'u', "t")                                                          \
    X(UINT32, "uint32", uint32_t, "unsigned int", 'u', "j")                                                            \
    X(UINT64, "uint64", uint64_t, "unsigned long long", 'u', "y")                                                      \
    X(FLOAT16, "float16", uint16_t, "__half", 'f', "6__half")                                                          \
    X(BFLOAT16, "bfloat16", uint16_t, "__nv_bfloat16", 'f', "13__nv_bfloat16")                                         \
    X(FLOAT32, "float32", float, "float", 'f', "f")                                                                    \
    X(FLOAT64, "float64", double, "double", 'f', "d")                                                                  \
    X(COMPLEX64, "complex64", float _Complex, "float2", 'c', "6float2")                                                \
    X(COMPLEX128, "complex128", double _Complex, "double2", 'c', "7double2")

enum rt_dtype {
#define X(id, name, ctype, cuda, kind, mangled) RT_##id,
    RT_DTYPES(X)
#undef X
        RT_DTYPE_COUNT
};

struct rt_dtype_info {
    const char *name;    /* "float32" */
    const char *cuda;    /* "float" */
    const char *mangled; /* "f" */
    uint8_t size;        /* bytes of one element */
    char kind;           /* 'b', 'i', 'u', 'f', 'c' */
};

#define RT_ELEMENT 16 /* bytes of the largest element */

extern const struct rt_dtype_info rt_dtypes[RT_DTYPE_COUNT];

static inline bool rt_is_complex(enum rt_dtype t)
{
    return t == RT_COMPLEX64 || t == RT_COMPLEX128;
}
/* The dtype of a complex dtype's parts, itself for others; and the complex dtype whose parts hold the values of t. */
enum rt_dtype rt_real_of(enum rt_dtype t);
enum rt_dtype rt_complex_of(enum rt_dtype t);

/* The dtype called `name`, or RT_DTYPE_COUNT. Accepts the aliases "int" (int32), "long" (int64), "half" (float16),
 * "float" (float32) and "double" (float64). */
enum rt_dtype rt_dtype_find(const char *name);

/* One element at `p` (any alignment) as a double, or as an int64 (floats truncate, uint64 wraps); of complex numbers
 * the real part. */
double rt_load_double(enum rt_dtype t, const void *p);
int64_t rt_load_int(enum rt_dtype t, const void *p);
/* Stores a number as one element. Integers wrap, floats to integers truncate and saturate (NaN gives 0), as cvt.rzi
 * does in PTX; bool is "not zero"; the 16-bit floats round to nearest even. */
void rt_store_double(enum rt_dtype t, void *p, double v);
void rt_store_int(enum rt_dtype t, void *p, int64_t v);

/* Real dtypes have no imaginary part: it is 0 when loaded and lost when stored. */
struct rt_complex {
    double re, im;
};
struct rt_complex rt_load_complex(enum rt_dtype t, const void *p);
void rt_store_complex(enum rt_dtype t, void *p, struct rt_complex v);

static inline uint32_t rt_float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float rt_float_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* IEEE binary16 and bfloat16 bits to and from float, rounding to nearest even. NaN stays NaN, with the bits that there
 * is room for. All cases are computed and one is selected, so that loops over many become vectors. */
static inline float rt_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7FFF;
    const uint32_t small = rt_float_bits((float)(int32_t)magnitude * 0x1p-24f); /* subnormal or zero: exact */
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t special = magnitude << 13 | (magnitude > 0x7C00 ? 0x7FC00000 : 0x7F800000); /* NaNs become quiet */
    return rt_float_from_bits(sign | (magnitude < 0x400 ? small : magnitude < 0x7C00 ? normal : special));
}

static inline uint16_t rt_half_from_float(float f)
{
    const uint32_t bits = rt_float_bits(f), magnitude = bits & 0x7FFFFFFF, r = magnitude - (112u << 23);
    /* Half a unit more and cut, ties to even; the last place of 0.5 is that of the subnormal ones. */
    const uint32_t normal = (r + 0xFFF + (r >> 13 & 1)) >> 13;
    const uint32_t small = rt_float_bits(rt_float_from_bits(magnitude) + 0.5f) - 0x3F000000;
    const uint32_t special = magnitude > 0x7F800000 ? 0x7E00 | (magnitude >> 13 & 0x3FF) : 0x7C00;
    const uint32_t half = magnitude < 0x38800000 ? small : magnitude < 0x477FF000 ? normal : special;
    return (uint16_t)((bits >> 16 & 0x8000) | half);
}

static inline float rt_bfloat_to_float(uint16_t h)
{
    return rt_float_from_bits((uint32_t)h << 16);
}

static inline uint16_t rt_bfloat_from_float(float f)
{
    const uint32_t bits = rt_float_bits(f);
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16, nan = bits >> 16 | 0x40;
    return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
}

#endif
