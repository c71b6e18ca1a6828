/* Kernels' parameters from mangled names and from sources: types, names, templates. */
#include "runtime/memory.h"
#include "runtime/report.h"
#include "runtime/signature.h"
#include "tests/unit/test.h"

/* "name(type, type)" as rt_signature_read has it. */
static void reads(const char *mangled, const char *want)
{
    struct rt_signature s;
    struct rt_error e = {0};
    char text[2048];
    if (rt_signature_read(mangled, &s, &e) != RT_OK) FAIL("%s", e.text);
    size_t n = (size_t)snprintf(text, sizeof text, "%s(", s.name);
    for (size_t i = 0; i < s.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "", s.params[i].type);
    snprintf(text + n, sizeof text - n, ")");
    if (strcmp(text, want) != 0) FAIL("%s reads as \"%s\", expected \"%s\"", mangled, text, want);
    rt_signature_clear(&s);
}

TEST(builtin_types_and_pointers)
{
    reads("_Z5saxpyifPKfPf", "saxpy(int, float, const float *, float *)");
    reads("_Z1kv", "k()");
    reads("_Z1kbcahstijlmxyfd",
          "k(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int, long, "
          "unsigned long, long long, unsigned long long, float, double)");
    reads("_Z1kPPfPKPKfPVKi", "k(float **, const float *const *, const volatile int *)");
    reads("_Z1kRKiOf", "k(const int &, float &&)");
    reads("_Z1kDF16_DF16bDnDi", "k(_Float16, __bf16, decltype(nullptr), char32_t)");
}

TEST(names_for_messages)
{
    static const struct {
        const char *symbol, *name, *whole;
    } table[] = {
        {"_Z5saxpyifPKfPf", "saxpy", "saxpy(int, float, const float *, float *)"},
        {"_Z1kv", "k", "k()"},
        {"_ZN1a1fIiEEiT_Pi", "a::f<int>", "a::f<int>(int, int *)"},
        {"plain", "plain", "plain"},
        {"_Z", "_Z", "_Z"},
        {"_Z4sortI4lessIiEEvPiT", "sort", "sort"}, /* cut */
        {"_ZN2ns4sortI4lessIiN3oth", "ns::sort", "ns::sort"},
        {"_ZN12_GLOBAL__N_14sortI4le", "(anonymous)::sort", "(anonymous)::sort"},
        {"_ZN2ns10partit", "ns::partit", "ns::partit"},
    };
    char out[64], narrow[10];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rt_function_name(table[i].symbol, false, out, sizeof out);
        CHECK_STR(out, table[i].name);
        rt_function_name(table[i].symbol, true, out, sizeof out);
        CHECK_STR(out, table[i].whole);
    }
    rt_function_name(table[0].symbol, true, narrow, sizeof narrow);
    CHECK_STR(narrow, "saxpy(int");
    rt_fail_allocation(1);
    rt_function_name(table[0].symbol, true, out, sizeof out);
    rt_fail_allocation(0);
    CHECK_STR(out, table[0].symbol);
}

TEST(named_and_substituted_types)
{
    reads("_Z1k6float4PS_S0_PS0_", "k(float4, float4 *, float4 *, float4 **)");
    reads("_Z1kP6__halfPKS_P13__nv_bfloat16S4_", "k(__half *, const __half *, __nv_bfloat16 *, __nv_bfloat16 *)");
    reads("_ZN2ns1kEPNS_1SES1_NS_4ModeE", "ns::k(ns::S *, ns::S *, ns::Mode)");
    reads("_ZN53_GLOBAL__N__00000000_18_lunarray_kernel_cu_abcdef01_11kEi", "(anonymous)::k(int)");
    reads("_Z1kSt4pairIifESaIcE", "k(std::pair<int, float>, std::allocator<char>)");
}

TEST(templates)
{
    reads("_Z5scaleIfEvPT_S0_", "scale<float>(float *, float)");
    reads("_Z5scaleIdLi16EEvPT_i", "scale<double, 16>(double *, int)");
    reads("_Z1kILb1ELj3ELln4EEvv", "k<true, 3u, -4l>()");
    reads("_Z1kIJifdEEvDpT_", "k<int, float, double>(int, float, double)");
    reads("_Z1kI3BoxIiEEvT_PS2_", "k<Box<int>>(Box<int>, Box<int> *)");
    reads("_ZN1AIfE1kIiEEvT_PS_", "A<float>::k<int>(int, A *)");
}

TEST(functions_arrays_members)
{
    reads("_Z1kPFfiPKcE", "k(float (*)(int, const char *))");
    reads("_Z1kPA3_f", "k(float (*)[3])");
    reads("_Z1kRA3_A4_Kf", "k(const float (&)[3][4])");
    reads("_Z1kM1SiMS_FivE", "k(int S::*, int (S::*)())");
    reads("_Z1kDv4_f", "k(float __vector(4))");
}

TEST(kinds_dtypes_and_constness)
{
    struct rt_signature s;
    CHECK_INT(rt_signature_read("_Z1kifPKfPhPv6float4PS_P6__halfPPfc", &s, NULL), RT_OK);
    const struct {
        enum rt_param_kind kind;
        int dtype;
        bool is_const;
    } want[] = {{RT_PARAM_VALUE, RT_INT32, false},         {RT_PARAM_VALUE, RT_FLOAT32, false},
                {RT_PARAM_POINTER, RT_FLOAT32, true},      {RT_PARAM_POINTER, RT_UINT8, false},
                {RT_PARAM_POINTER, RT_DTYPE_COUNT, false}, {RT_PARAM_STRUCT, RT_DTYPE_COUNT, false},
                {RT_PARAM_POINTER, RT_FLOAT32, true},      {RT_PARAM_POINTER, RT_FLOAT16, false},
                {RT_PARAM_POINTER, RT_DTYPE_COUNT, false}, {RT_PARAM_VALUE, RT_INT8, false}};
    CHECK_INT(s.count, 10);
    for (size_t i = 0; i < s.count; i++) {
        if (i == 6) continue;
        CHECK_INT(s.params[i].kind, want[i].kind);
        CHECK_INT(s.params[i].dtype, want[i].dtype);
        CHECK_INT(s.params[i].is_const, want[i].is_const);
    }
    rt_signature_clear(&s);
}

TEST(plain_symbols_and_nonsense)
{
    struct rt_signature s;
    struct rt_error e = {0};
    CHECK_INT(rt_signature_read("saxpy", &s, &e), RT_OK);
    CHECK(!s.typed);
    CHECK_STR(s.name, "saxpy");
    rt_signature_clear(&s);
    static const char *const bad[] = {"_Z",      "_Z5sax",    "_Z99999999999x", "_Z1kS_",       "_Z1kT_",  "_Z1kPPPP",
                                      "_ZN1aE",  "_Z1kI",     "_Z1kIJ",         "_Z1kLi",       "_Z1kA3_", "_Z1kF",
                                      "_Z1kN1a", "_Z1kIXT_E", "_ZNE",           "_Z1kSzzzzzz_", "_Z0",     "_Z1kDp"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (strcmp(bad[i], "_ZN1aE") == 0) continue; /* a name without parameters is one */
        if (rt_signature_read(bad[i], &s, &e) != RT_INVALID) FAIL("%s was read", bad[i]);
        rt_error_clear(&e);
    }
}

TEST(growth_is_bounded)
{
    struct rt_signature s;
    char text[4096] = "_Z1k1a";
    size_t n = strlen(text);
    for (int i = 0; i < 60; i++) /* each type is twice as long as the one before */
        n += (size_t)snprintf(text + n, sizeof text - n, "1bIS%cS%cE", "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
                              '_');
    rt_signature_read(text, &s, NULL);
    rt_signature_clear(&s);
    memset(text, 'P', sizeof text - 1);
    memcpy(text, "_Z1k", 4);
    text[sizeof text - 1] = 0;
    CHECK_INT(rt_signature_read(text, &s, NULL), RT_INVALID);
}

/* ---- names from the source ---- */

static struct rt_source_kernel *kernels;
static size_t kernel_count;

static void scan(const char *text)
{
    struct rt_error e = {0};
    if (rt_source_kernels(text, strlen(text), &kernels, &kernel_count, &e) != RT_OK) FAIL("%s", e.text);
}

static void check_param(size_t kernel, size_t i, const char *name, const char *type)
{
    CHECK(kernel < kernel_count && i < kernels[kernel].count);
    const struct rt_source_param *p = &kernels[kernel].params[i];
    if (name)
        CHECK_STR(p->name, name);
    else if (p->name)
        FAIL("'%s' is no name", p->name);
    CHECK_STR(p->type, type);
}

TEST(kernels_of_a_source)
{
    scan(
        "// __global__ void no(int a) {}\n/* __global__ void no(); */\n#define K __global__ \\\n  void no(int a)\n"
        "const char *s = \"__global__ void no(int a)\", *r = R\"x(\n__global__ void no2())x\";\n"
        "static __global__ void __launch_bounds__(256, (1 + 1)) a(int n, const float * __restrict__ x, float *const y)\n{}\n"
        "template <typename T, int N = 3>\n__global__ void b(T *p, unsigned int, float (*f)(int, int), float m[3][4]);\n"
        "extern \"C\" __global__ void c(void) { }\n__global__ __attribute__((used)) void d() {}\n"
        "__global__ void e(std::pair<int, float> q, struct S s, unsigned long long n, Box<T> & r, ns::T, float4);\n");
    CHECK_INT(kernel_count, 5);
    CHECK_STR(kernels[0].name, "a");
    CHECK_INT(kernels[0].line, 7);
    CHECK_INT(kernels[0].count, 3);
    check_param(0, 0, "n", "int");
    check_param(0, 1, "x", "const float *");
    check_param(0, 2, "y", "float *const");
    check_param(1, 0, "p", "T *");
    check_param(1, 1, NULL, "unsigned int");
    CHECK_STR(kernels[1].params[2].name, "f");
    CHECK_STR(kernels[1].params[3].name, "m");
    CHECK_INT(kernels[2].count + kernels[3].count, 0);
    CHECK_INT(kernels[4].count, 6);
    check_param(4, 0, "q", "std::pair<int,float>");
    check_param(4, 1, "s", "struct S");
    check_param(4, 2, "n", "unsigned long long");
    check_param(4, 3, "r", "Box<T>&");
    check_param(4, 4, NULL, "ns::T");
    check_param(4, 5, NULL, "float4");
    rt_source_kernels_free(kernels, kernel_count);
}

TEST(unfinished_sources_are_harmless)
{
    static const char *const texts[] = {"__global__",
                                        "__global__ void",
                                        "__global__ void k(",
                                        "__global__ void k(int",
                                        "/* ",
                                        "\"",
                                        "R\"(",
                                        "R\"",
                                        "#",
                                        "__global__ void k(int a, __global__ x(",
                                        "'\\"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scan(texts[i]);
        CHECK_INT(kernel_count, 0);
        rt_source_kernels_free(kernels, kernel_count);
    }
}

/* ---- all together ---- */

static struct rt_program joined(const char *ptx, const char *source)
{
    struct rt_program p = {.ptx = (char *)ptx, .text = (char *)source};
    struct rt_error e = {0};
    if (rt_signatures(&p, NULL, 0, &e) != RT_OK) FAIL("%s", e.text);
    return p;
}

TEST(entries_know_types_names_and_offsets)
{
    struct rt_program p = joined(".visible .entry _Z1kicPKf6float4(\n\t.param .u32 a,\n\t.param .u8 b,\n"
                                 "\t.param .u64 .ptr .align 1 c,\n\t.param .align 16 .b8 d[16]\n)\n{ret;}\n",
                                 "__global__ void k(int n, char c, const float *x, float4 v) {}");
    CHECK_INT(p.entry_count, 1);
    const struct rt_entry *e = p.entries;
    CHECK_STR(e->name, "k");
    CHECK_INT(e->param_count, 4);
    CHECK_STR(e->params[2].name, "x");
    CHECK_STR(e->params[2].type, "const float *");
    CHECK(e->params[2].is_const && e->params[2].kind == RT_PARAM_POINTER);
    CHECK_INT(e->params[1].offset, 4);
    CHECK_INT(e->params[2].offset, 8);
    CHECK_INT(e->params[3].offset, 16);
    CHECK_INT(e->params[3].size, 16);
    CHECK_INT(e->params[3].kind, RT_PARAM_STRUCT);
    rt_entries_free(p.entries, p.entry_count);
}

TEST(c_linkage_takes_types_from_the_source)
{
    struct rt_program p =
        joined(".visible .entry c(\n.param .u32 a,\n.param .f32 b,\n.param .u64 c,\n.param .u64 d,\n.param .u8 e,\n"
               ".param .align 4 .b8 f[12],\n.param .u64 g,\n.param .f64 h,\n.param .u16 i\n)\n",
               "extern \"C\" __global__ void c(unsigned n, float f, const int32_t *x, size_t m, bool flag, Point p, "
               "float **pp, my_real r, unsigned short int us) {}");
    static const struct {
        int kind, dtype;
        const char *type;
    } want[] = {{RT_PARAM_VALUE, RT_UINT32, "unsigned"},
                {RT_PARAM_VALUE, RT_FLOAT32, "float"},
                {RT_PARAM_POINTER, RT_INT32, "const int32_t *"},
                {RT_PARAM_VALUE, RT_UINT64, "size_t"},
                {RT_PARAM_VALUE, RT_BOOL, "bool"},
                {RT_PARAM_STRUCT, RT_DTYPE_COUNT, "Point"},
                {RT_PARAM_POINTER, RT_DTYPE_COUNT, "float **"},
                {RT_PARAM_VALUE, RT_FLOAT64, "my_real"},
                {RT_PARAM_VALUE, RT_UINT16, "unsigned short int"}};
    CHECK_INT(p.entries[0].param_count, 9);
    for (size_t i = 0; i < 9; i++) {
        CHECK_INT(p.entries[0].params[i].kind, want[i].kind);
        CHECK_INT(p.entries[0].params[i].dtype, want[i].dtype);
        CHECK_STR(p.entries[0].params[i].type, want[i].type);
    }
    CHECK(p.entries[0].params[2].is_const);
    rt_entries_free(p.entries, p.entry_count);
}

TEST(overloads_get_their_own_names)
{
    struct rt_program p = joined(".entry _Z1kPf(\n.param .u64 a\n)\n.entry _Z1kPi(\n.param .u64 a\n)\n",
                                 "__global__ void k(int *ints) {}\n__global__ void k(float *floats) {}");
    CHECK_INT(p.entry_count, 2);
    CHECK_STR(p.entries[0].params[0].name, "floats");
    CHECK_STR(p.entries[1].params[0].name, "ints");
    rt_entries_free(p.entries, p.entry_count);
}

TEST(an_enum_is_an_integer)
{
    struct rt_program p = joined(".entry _Z1k4Mode(\n.param .u32 a\n)\n", "__global__ void k(Mode m) {}");
    CHECK_INT(p.entries[0].params[0].kind, RT_PARAM_VALUE);
    CHECK_INT(p.entries[0].params[0].dtype, RT_INT32);
    rt_entries_free(p.entries, p.entry_count);
}

TEST(variables_of_a_source)
{
    static const char text[] =
        "#define R 3 // radius\n#  define W(x) x\n#define LOOP LOOP2\n#define LOOP2 LOOP + LOOP\n"
        "constexpr int wide = (2 * R + 1) << 2, high = wide / 2 % 9 - 1; static const unsigned two=2u;\n"
        "__constant__ float a = f(1, 2), *b, c[3][N] = {{1}, {2}}, d{4};\n"
        "static __device__ unsigned long long e; __device__ const int f[0x10u];\n"
        "__device__ float g(float x) { return x; } __device__ S<int, 4> h[2];\n"
        "__host__ __device__ int i() { return 0; } /* __device__ int no; */\n"
        "struct T { __device__ T() {} int j; }; __align__(8) __device__ __align__(8) T k, l;\n"
        "__device__ ns::V m; __managed__ bool n; __device__ short o[(2 * R + 1)][wide], p[high][two*+2],\n"
        "q[LOOP][W(3)], r[R > 2][1 << 40], s[2 - R][3 / 0]; int R2 = 4; __device__ int t[R2][sizeof(int)]; __device__";
    static const struct {
        const char *name, *type;
        int ndim;
        uint64_t shape[2];
    } want[] = {{"a", "float", 0, {0}},
                {"b", "float *", 0, {0}},
                {"c", "float", 2, {3, 0}},
                {"d", "float", 0, {0}},
                {"e", "unsigned long long", 0, {0}},
                {"f", "int", 1, {16}},
                {"h", "S<int,4>", 1, {2}},
                {"k", "T", 0, {0}},
                {"l", "T", 0, {0}},
                {"m", "ns::V", 0, {0}},
                {"n", "bool", 0, {0}},
                {"o", "short", 2, {7, 28}},
                {"p", "short", 2, {4, 0}},
                {"q", "short", 2, {0, 0}},
                {"r", "short", 2, {0, 0}},
                {"s", "short", 2, {0, 0}},
                {"t", "int", 2, {0, 0}}};
    struct rt_source_variable *v;
    size_t count;
    CHECK(rt_source_variables(text, strlen(text), &v, &count, NULL) == RT_OK);
    CHECK_INT(count, sizeof want / sizeof *want);
    for (size_t i = 0; i < count; i++) {
        CHECK_STR(v[i].name, want[i].name);
        CHECK_STR(v[i].type, want[i].type);
        CHECK_INT(v[i].ndim, want[i].ndim);
        for (int d = 0; d < want[i].ndim; d++) CHECK_INT(v[i].shape[d], want[i].shape[d]);
    }
    rt_source_variables_free(v, count);
    bool done = false;
    for (long n = 1; !done && n < 300; n++) {
        rt_fail_allocation(n);
        done = rt_source_variables(text, strlen(text), &v, &count, NULL) == RT_OK;
        rt_fail_allocation(0);
        CHECK(done || (!v && !count));
        rt_source_variables_free(v, count);
    }
    CHECK(done);
}

TEST(variables_inside_functions)
{
    static const char *const table[][2] = {
        {"_ZZ6kernelPfE4tile", "tile"},
        {"_ZZ2k3PiS_E1s", "s"}, /* 3PiS would be a name, too */
        {"_ZZ2k7PiS_E1s", "s"},
        {"_ZZ7matmul2PfS_iE2a2", "a2"},
        {"_ZZ1kPiE4a11b", "a11b"},
        {"_ZZ1kPiE1s_0", "s"},
        {"_ZZ1kPiE1s_$_0", "s"},
        {"_ZZN2ns3addILi5EfEEvPT0_S2_E4part", "part"},
        {"_ZZ3sumPA64_fE7my_tile", "my_tile"},
        {"_ZL5table", "table"},
        {"_ZN2ns6lookupE", "lookup"},
        {"tile", "tile"},
        {"_Z", "_Z"},
        {"_ZZ99k", "_ZZ99k"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char name[40];
        rt_variable_name(table[i][0], name, sizeof name);
        CHECK_STR(name, table[i][1]);
    }
}

TEST(dtypes_of_type_words)
{
    int lanes;
    CHECK_INT(rt_type_dtype("unsigned long long", &lanes), RT_UINT64);
    CHECK_INT(lanes, 1);
    CHECK_INT(rt_type_dtype("float4", &lanes), RT_FLOAT32);
    CHECK_INT(lanes, 4);
    CHECK_INT(rt_type_dtype("uchar2", &lanes), RT_UINT8);
    CHECK_INT(lanes, 2);
    CHECK_INT(rt_type_dtype("ulonglong3", &lanes), RT_UINT64);
    CHECK_INT(lanes, 3);
    CHECK_INT(rt_type_dtype("float5", &lanes), RT_DTYPE_COUNT);
    CHECK_INT(rt_type_dtype("ufloat2", &lanes), RT_DTYPE_COUNT);
    CHECK_INT(rt_type_dtype("float *", &lanes), RT_DTYPE_COUNT);
    CHECK_INT(rt_type_dtype("P", &lanes), RT_DTYPE_COUNT);
}

/* Of a plain C function whose name happens to read as a mangled one. */
TEST(a_symbol_of_other_parameters_tells_no_types)
{
    struct rt_program p = joined(".visible .entry _Z1kf(\n\t.param .u32 a,\n\t.param .u64 b\n)\n{ret;}\n", "");
    CHECK_INT(p.entry_count, 1);
    CHECK_INT(p.entries[0].param_count, 2);
    CHECK_STR(p.entries[0].params[0].type, "unknown");
    CHECK_STR(p.entries[0].params[1].type, "void *");
    rt_entries_free(p.entries, p.entry_count);
}

TEST(allocations_that_fail_are_reported)
{
    bool done = false;
    for (long n = 1; !done && n < 1000; n++) {
        struct rt_program p = {.ptx = ".entry _Z5scaleIfEvPT_S0_(\n.param .u64 a,\n.param .f32 b\n)\n",
                               .text = "template <class T> __global__ void scale(T *x, T a) {}"};
        struct rt_error e = {0};
        rt_fail_allocation(n);
        enum rt_status status = rt_signatures(&p, NULL, 0, &e);
        rt_fail_allocation(0);
        done = status == RT_OK;
        if (!done) {
            CHECK_INT(status, RT_NOMEM);
            CHECK_INT(p.entry_count, 0);
        }
        rt_error_clear(&e);
        rt_entries_free(p.entries, p.entry_count);
    }
    CHECK(done);
}

TEST(elements_of_variables)
{
    const char text[] =
        "__device__ float2 pairs[4];\n"
        "__global__ void f() { __shared__ __align__(16) unsigned short tile[8][9], other[2];\n"
        "  extern __shared__ double bytes[]; __shared__ int same[4]; }\n"
        "__global__ void g() { __shared__ half bytes[5]; static __shared__ float same[3]; // __shared__ char two[2];\n"
        "  __shared__ T two[2]; __shared__ struct S some[3]; }\n"
        "#define N 3\n__global__ void h() { extern __shared__ int open[][2 * N]; __shared__ int wide[2][N]; }\n"
        "__global__ void i() { __shared__ int wide[N][2]; }\n"
        "__device__ int call(int pairs);\n";
    const struct {
        const char *name;
        unsigned bytes;
        int ndim;
        uint64_t shape[2];
    } want[] = {{"pairs", 8, 1, {4}},   {"tile", 2, 2, {8, 9}}, {"other", 2, 1, {2}}, {"bytes", 0, 0, {0}},
                {"same", 4, 0, {0}},    {"two", 0, 1, {2}},     {"some", 0, 1, {3}},  {"x", 0, 0, {0}},
                {"open", 4, 2, {0, 6}}, {"wide", 4, 0, {0}}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct rt_source_layout l = rt_source_layout(text, strlen(text), want[i].name);
        CHECK_INT(l.bytes, want[i].bytes);
        CHECK_INT(l.ndim, want[i].ndim);
        for (int d = 0; d < l.ndim; d++) CHECK_INT(l.shape[d], want[i].shape[d]);
    }
}
