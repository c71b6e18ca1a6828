#include "runtime/prelude.h"

#define DEFINE(name, value) "#ifndef " #name "\n#define " #name " " value "\n#endif\n"

const char rt_prelude[] =
    /* the widths that NVIDIA's own headers use for NVRTC */
    "typedef signed char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\ntypedef long long int64_t;\n"
    "typedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\ntypedef unsigned int uint32_t;\n"
    "typedef unsigned long long uint64_t;\ntypedef long long intptr_t;\ntypedef unsigned long long uintptr_t;\n"
    /* as host headers do */
    "typedef unsigned char uchar;\ntypedef unsigned short ushort;\ntypedef unsigned int uint;\n"
    /* The formatter takes the rows for one expression and would indent each deeper. */
    /* clang-format off */
    DEFINE(INT8_MIN, "(-128)") DEFINE(INT8_MAX, "127") DEFINE(UINT8_MAX, "255") DEFINE(INT16_MIN, "(-32768)")
    DEFINE(INT16_MAX, "32767") DEFINE(UINT16_MAX, "65535") DEFINE(INT32_MIN, "(-2147483647-1)")
    DEFINE(INT32_MAX, "2147483647") DEFINE(UINT32_MAX, "4294967295u") DEFINE(INT64_MIN, "(-9223372036854775807ll-1)")
    DEFINE(INT64_MAX, "9223372036854775807ll") DEFINE(UINT64_MAX, "18446744073709551615ull")
    DEFINE(SIZE_MAX, "18446744073709551615ul") DEFINE(CHAR_BIT, "8") DEFINE(SCHAR_MIN, "(-128)")
    DEFINE(SCHAR_MAX, "127") DEFINE(UCHAR_MAX, "255") DEFINE(CHAR_MIN, "(-128)") DEFINE(CHAR_MAX, "127")
    DEFINE(SHRT_MIN, "(-32768)") DEFINE(SHRT_MAX, "32767") DEFINE(USHRT_MAX, "65535")
    DEFINE(INT_MIN, "(-2147483647-1)") DEFINE(INT_MAX, "2147483647") DEFINE(UINT_MAX, "4294967295u")
    DEFINE(LONG_MIN, "(-9223372036854775807l-1)") DEFINE(LONG_MAX, "9223372036854775807l")
    DEFINE(ULONG_MAX, "18446744073709551615ul") DEFINE(LLONG_MIN, "(-9223372036854775807ll-1)")
    DEFINE(LLONG_MAX, "9223372036854775807ll") DEFINE(ULLONG_MAX, "18446744073709551615ull")
    DEFINE(FLT_MAX, "3.402823466e+38f") DEFINE(FLT_MIN, "1.175494351e-38f") DEFINE(FLT_EPSILON, "1.192092896e-07f")
    DEFINE(DBL_MAX, "1.7976931348623157e+308") DEFINE(DBL_MIN, "2.2250738585072014e-308")
    DEFINE(DBL_EPSILON, "2.2204460492503131e-16") DEFINE(INFINITY, "__int_as_float(0x7f800000)")
    DEFINE(NAN, "__int_as_float(0x7fffffff)") DEFINE(HUGE_VALF, "__int_as_float(0x7f800000)")
    DEFINE(HUGE_VAL, "__longlong_as_double(0x7ff0000000000000ll)") DEFINE(M_E, "2.7182818284590452354")
    DEFINE(M_LOG2E, "1.4426950408889634074") DEFINE(M_LOG10E, "0.43429448190325182765")
    DEFINE(M_LN2, "0.69314718055994530942") DEFINE(M_LN10, "2.30258509299404568402")
    DEFINE(M_PI, "3.14159265358979323846") DEFINE(M_PI_2, "1.57079632679489661923")
    DEFINE(M_PI_4, "0.78539816339744830962") DEFINE(M_1_PI, "0.31830988618379067154")
    DEFINE(M_2_PI, "0.63661977236758134308") DEFINE(M_2_SQRTPI, "1.12837916709551257390")
    DEFINE(M_SQRT2, "1.41421356237309504880") DEFINE(M_SQRT1_2, "0.70710678118654752440");
/* clang-format on */
