#include "runtime/prelude.h"

#include <string.h>

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

/* ---- std, of which kernels have what cuda::std has ---- */

/* nvcc's <cmath> brings these without being asked. The templates are in no header of CCCL's that all its versions have.
 */
static const char prelude_std[] = "#define LUNARRAY_STD\n"
                                  "#if __has_include(<cuda/std/type_traits>)\n"
                                  "#include <cuda/std/cmath>\n"
                                  "#include <cuda/std/cstddef>\n"
                                  "#include <cuda/std/cstdint>\n"
                                  "#include <cuda/std/limits>\n"
                                  "#include <cuda/std/type_traits>\n"
                                  "#include <cuda/std/utility>\n"
                                  "namespace std { using namespace cuda::std; }\n"
                                  "#endif\n"
                                  "namespace std {\n"
                                  "template <class T> constexpr const T &min(const T &a, const T &b)\n"
                                  "{ return b < a ? b : a; }\n"
                                  "template <class T> constexpr const T &max(const T &a, const T &b)\n"
                                  "{ return a < b ? b : a; }\n"
                                  "template <class T> constexpr const T &clamp(const T &x, const T &a, const T &b)\n"
                                  "{ return x < a ? a : b < x ? b : x; }\n"
                                  "template <class T> constexpr T min(std::initializer_list<T> l)\n"
                                  "{ T r = *l.begin(); for (const T &x : l) r = x < r ? x : r; return r; }\n"
                                  "template <class T> constexpr T max(std::initializer_list<T> l)\n"
                                  "{ T r = *l.begin(); for (const T &x : l) r = r < x ? x : r; return r; }\n"
                                  "}\n";

static bool opens_std(const char *source)
{
    static const char words[] = "namespace std";
    for (const char *s = source; (s = strstr(s, words));) {
        s += sizeof words - 1;
        if (s[strspn(s, " \t\r\n")] == '{') return true;
    }
    return false;
}

bool rt_names_std(const char *source)
{
    static const char words[] = "std::", before[] = "cuda::";
    for (const char *s = source; (s = strstr(s, words)); s += sizeof words - 1) {
        size_t length = sizeof before - 1;
        if ((size_t)(s - source) < length || memcmp(s - length, before, length) != 0) return !opens_std(source);
    }
    return false;
}

/* ---- headers ---- */

#define HAVE(name) {name, "", "its names are always there"},
#define HOST(name) {name, "", NULL},
#define OF_STD(name)                                                                                                   \
    {name,                                                                                                             \
     "#ifdef LUNARRAY_STD\n#if __has_include(<cuda/std/" name ">)\n#include <cuda/std/" name ">\n#endif\n#endif\n",    \
     "what cuda::std has of it"},

/* CUB's own <cub/cub.cuh> has what hosts call, too, which does not compile here. */
#define CUB(name) "#include <cub/" name ".cuh>\n"
static const char cub[] =
    CUB("block/block_adjacent_difference") CUB("block/block_discontinuity") CUB("block/block_exchange")
        CUB("block/block_histogram") CUB("block/block_load") CUB("block/block_merge_sort") CUB("block/block_radix_sort")
            CUB("block/block_reduce") CUB("block/block_run_length_decode") CUB("block/block_scan")
                CUB("block/block_shuffle") CUB("block/block_store") CUB("warp/warp_exchange") CUB("warp/warp_load")
                    CUB("warp/warp_merge_sort") CUB("warp/warp_reduce") CUB("warp/warp_scan") CUB("warp/warp_store");

/* clang-format off */
const struct rt_header rt_headers[RT_MOST_HEADERS] = {
    {RT_PRELUDE_NAME, rt_prelude, "lunarray's own, which is there without being included"},
    {RT_PRELUDE_STD_NAME, prelude_std, NULL},
    {"cub/cub.cuh", cub, "CUB's algorithms of blocks and warps"},
    /* what of these a kernel can use is in the prelude, or the compiler's */
    HAVE("assert.h") HAVE("cassert") HAVE("cfloat") HAVE("climits") HAVE("cmath") HAVE("cstddef") HAVE("cstdint")
    HAVE("cstdio") HAVE("cstdlib") HAVE("cstring") HAVE("float.h") HAVE("inttypes.h") HAVE("limits.h")
    HAVE("limits") HAVE("math.h") HAVE("new") HAVE("stdbool.h") HAVE("stddef.h") HAVE("stdint.h") HAVE("stdio.h")
    HAVE("stdlib.h") HAVE("string.h") HAVE("type_traits") HAVE("utility")
    /* those of std that devices have */
    OF_STD("algorithm") OF_STD("array") OF_STD("atomic") OF_STD("bit") OF_STD("bitset") OF_STD("chrono")
    OF_STD("complex") OF_STD("concepts") OF_STD("functional") OF_STD("initializer_list") OF_STD("iterator")
    OF_STD("memory") OF_STD("numbers") OF_STD("numeric") OF_STD("optional") OF_STD("ratio") OF_STD("span")
    OF_STD("tuple") OF_STD("variant")
    /* the host's alone: what is pasted from a program names them, though its main is left out */
    HOST("any") HOST("cctype") HOST("cerrno") HOST("cinttypes") HOST("condition_variable") HOST("csignal")
    HOST("ctime") HOST("ctype.h") HOST("deque") HOST("errno.h") HOST("exception") HOST("filesystem")
    HOST("forward_list") HOST("fstream") HOST("future") HOST("getopt.h") HOST("iomanip") HOST("ios")
    HOST("iosfwd") HOST("iostream") HOST("istream") HOST("list") HOST("locale") HOST("malloc.h") HOST("map")
    HOST("memory.h") HOST("mutex") HOST("omp.h") HOST("ostream") HOST("pthread.h") HOST("queue") HOST("random")
    HOST("regex") HOST("set") HOST("signal.h") HOST("sstream") HOST("stack") HOST("stdexcept")
    HOST("streambuf") HOST("string") HOST("string_view") HOST("strings.h") HOST("sys/stat.h") HOST("sys/time.h")
    HOST("sys/types.h") HOST("thread") HOST("time.h") HOST("typeindex") HOST("typeinfo") HOST("unistd.h")
    HOST("unordered_map") HOST("unordered_set") HOST("valarray") HOST("vector")
    /* CUDA's for the host, which do not compile here */
    HOST("cublas_v2.h") HOST("cuda_profiler_api.h") HOST("cusparse.h") HOST("nvToolsExt.h")
    HOST("nvtx3/nvToolsExt.h")
    {NULL, NULL, NULL}};
/* clang-format on */
