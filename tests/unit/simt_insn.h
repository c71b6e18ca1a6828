/* The harness of the instruction tests: runs one instruction of PTX over edge values and random ones, on the software
 * GPU with each instruction set that this machine has and as generated code, and compares every lane with what the host
 * computed.
 *
 * The text names its operands by what they are: %rx %ry %rz %rv are the inputs as .b32, %q. as .b64, %h. as .b16, %f.
 * as .f32, %d. as .f64, %p. as predicates (bit 0 of the input); %ro %qo %ho %fo %do %po is the result, and %pq a second
 * result, which becomes bits 32 and up of what is compared. An instruction is run under the full mask, behind a branch
 * that some lanes take, with a guard, with its result in the place of its first input, and with immediates for y. */
#ifndef SIMT_INSN_H
#define SIMT_INSN_H

#include <stdarg.h>
#include <strings.h>
#include "runtime/simt/simt.h"
#include "tests/unit/isa.h"
#include "tests/unit/test.h"

enum { CASES = 2560, IMMEDIATES = 4, IMMEDIATE_CASES = 64, ALL_CASES = CASES + IMMEDIATES * IMMEDIATE_CASES };
static uint64_t in_x[ALL_CASES], in_y[ALL_CASES], in_z[ALL_CASES], in_v[ALL_CASES], want[ALL_CASES];
static int case_count;     /* of the inputs in memory */
static int all_case_count; /* and those with an immediate y behind them */
static char case_kind[4];  /* register class of x, y, z, v: r q h f d p, P two halves in a .b32, or 0 when not read */

static const uint32_t edges_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0x3effffff, 0x40000000, 0xc0000000, 0x3fc00000,
    0x40490fdb, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x4b800000,
    0x4b7fffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000,
    0x477ff000, 0x38800000, 0x33800000, 0x33000000, 0x437f0000, 0x43800000, 0xc3008000, 0x7f000000, 0x1f800000,
};
static const uint64_t edges_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff,
    0x0010000000000000, 0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001,
    0x3fefffffffffffff, 0x3fe0000000000000, 0x3fdfffffffffffff, 0x4000000000000000, 0x4008000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
    0x7ff0000000000001, 0xfff8123456789abc, 0x4330000000000000, 0x432fffffffffffff, 0x41e0000000000000,
    0xc1e0000000000000, 0xc1e0000000200000, 0x41dfffffffc00000, 0x41f0000000000000, 0x41efffffffe00000,
    0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x43efffffffffffff, 0x47efffffe0000000,
    0x47efffffefffffff, 0x47effffff0000000, 0x380fffffe0000000, 0x3690000000000000, 0x3680000000000000,
    0x3680000000000001, 0x40effc0000000000, 0x40effe0000000000, 0x3e70000000000000, 0x3ff0000010000000,
};
static const uint16_t edges_half[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x83ff, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800,
    0x4000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe01, 0x3555, 0x6400, 0x6401, 0x1400,
    0x0080, 0x007f, 0x807f, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x3f00, 0x7f7f, 0xff7f, 0x7f80, 0xff80,
    0x7fc0, 0x7f81, 0xffc1, 0x4049, 0x5c00, 0xd555, 0x7ff7, 0xfff7, /* what lies outside of a tensor */
};
static const uint32_t edges_32[] = {
    0,          1,          2,          3,      4,      5,      7,      8,       15,          16,         17,
    24,         30,         31,         32,     33,     47,     48,     63,      64,          65,         127,
    128,        255,        256,        0x7fff, 0x8000, 0x8001, 0xffff, 0x10000, 0x7ffffffe,  0x7fffffff, 0x80000000,
    0x80000001, 0xffff8000, 0xffff7fff, -128u,  -129u,  -2u,    -1u,    0xff00,  0xffffff00u, 0x00ffffff, 0x01000000,
};
static const uint64_t edges_64[] = {
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0xffff,
    0x7fffffff,
    0x80000000,
    0x80000001,
    0xfffffffe,
    0xffffffff,
    0x100000000,
    0x100000001,
    0x1ffffffff,
    0x7fffffff00000000,
    0x7ffffffffffffffe,
    0x7fffffffffffffff,
    0x8000000000000000,
    0x8000000000000001,
    0xffffffff00000000,
    0xffffffff7fffffff,
    0xffffffff80000000,
    0xffffffff80000001,
    0xfffffffffffffffe,
    0xffffffffffffffff,
    0xffffffffffff8000,
    0x0020000000000000,
    0x0020000000000001,
    0x0020000000000003,
    0xffdfffffffffffff,
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint64_t random_state = 88172645463325252u;
static inline uint64_t random_bits(void)
{
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return random_state * 0x9e3779b97f4a7c15u;
}

static inline size_t edge_count(char kind)
{
    switch (kind) {
    case 'f': return COUNT(edges_f32);
    case 'd': return COUNT(edges_f64);
    case 'H':
    case 'P': return COUNT(edges_half);
    case 'q': return COUNT(edges_64);
    case 'p': return 2;
    default: return COUNT(edges_32);
    }
}
static inline uint64_t edge_value(char kind, size_t k)
{
    switch (kind) {
    case 'f': return edges_f32[k];
    case 'd': return edges_f64[k];
    case 'H': return edges_half[k];
    case 'P': return edges_half[k] | (uint64_t)edges_half[random_bits() % COUNT(edges_half)] << 16;
    case 'q': return edges_64[k];
    case 'p': return k;
    default: return edges_32[k];
    }
}
/* Any bits, or for floats often a number of ordinary size, so that sums cancel and products don't overflow. */
static inline uint64_t random_value(char kind)
{
    uint64_t r = random_bits(), s = random_bits();
    if (s % 4 == 0) return edge_value(kind, (s >> 8) % edge_count(kind));
    if (s % 4 == 1 && kind == 'f') return (r & 0x807fffff) | (0x3c000000 + (uint32_t)((s >> 8) % 20 << 23));
    if (s % 4 == 1 && kind == 'd') return (r & 0x800fffffffffffff) | (0x3f80000000000000 + ((s >> 8) % 40 << 52));
    if (s % 4 == 1 && (kind == 'r' || kind == 'q')) return r >> (kind == 'r' ? 32 + s % 32 : s % 64);
    if (s % 4 == 2 && kind == 'r') return r % 64;
    return kind == 'q' || kind == 'd' ? r : (uint32_t)r;
}

/* The register class that the text reads input `name` by. */
static inline char kind_of(const char *text, char name)
{
    for (const char *s = text; (s = strchr(s, '%')); s++)
        if (s[1] && s[2] == name && !(s[3] >= 'a' && s[3] <= 'z')) {
            bool pair = strstr(text, "f16x2") != NULL, half = strstr(text, "f16") != NULL;
            return s[1] == 'r' && pair ? 'P' : s[1] == 'h' && half ? 'H' : s[1];
        }
    return 0;
}

/* Fills the inputs as the text reads them: each edge with each other for two, edges and random values besides. */
static inline void make_cases(const char *text)
{
    uint64_t *inputs[] = {in_x, in_y, in_z, in_v};
    random_state = 88172645463325252u;
    for (int k = 0; k < 4; k++) case_kind[k] = kind_of(text, "xyzv"[k]);
    size_t nx = edge_count(case_kind[0]), ny = case_kind[1] ? edge_count(case_kind[1]) : 1;
    case_count = case_kind[1] ? CASES : 512;
    for (int i = 0; i < case_count; i++)
        for (int k = 0; k < 4; k++) inputs[k][i] = random_value(case_kind[k]);
    for (size_t i = 0; i < nx * ny && i < (size_t)case_count; i++) {
        in_x[i] = edge_value(case_kind[0], i % nx);
        if (case_kind[1]) in_y[i] = edge_value(case_kind[1], i / nx);
    }
    all_case_count = case_count;
    if (!case_kind[1] || !strchr("rqhfd", case_kind[1])) return;
    for (int j = 0; j < IMMEDIATES; j++) {
        uint64_t y = edge_value(case_kind[1], random_bits() % ny);
        for (int i = 0; i < IMMEDIATE_CASES; i++, all_case_count++) {
            uint64_t *from[] = {in_x, in_y, in_z, in_v};
            for (int k = 0; k < 4; k++) from[k][all_case_count] = from[k][i];
            in_x[all_case_count] = in_x[(size_t)i % nx];
            in_y[all_case_count] = y;
        }
    }
}

/* ---- the kernel ---- */
struct text {
    char *at, *end;
};
static inline __attribute__((format(printf, 2, 3))) void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, args);
    va_end(args);
    if (n < 0 || n >= t->end - t->at) FAIL("the text of a kernel is too long");
    t->at += n;
}
/* The text with each register %.NAME of the input `name` as `with`. */
static inline void put_replaced(struct text *t, const char *text, char name, const char *with)
{
    for (; *text; text++) {
        bool hit = *text == '%' && text[1] && text[2] == name && !(text[3] >= 'a' && text[3] <= 'z');
        if (hit) {
            put(t, "%s", with);
            text += 2;
        } else {
            put(t, "%c", *text);
        }
    }
}

static inline char out_kind(const char *text)
{
    char k = kind_of(text, 'o');
    return k == 'P' ? 'r' : k == 'H' ? 'h' : k;
}
/* One run of the instruction: the result starts as ones and zeros in turn and goes to d + 8 * slot * threads. */
static inline void put_run(struct text *t, const char *text, const char *before, const char *after, int offset)
{
    char out = out_kind(text);
    bool second = strstr(text, "%pq") != NULL;
    put(t,
        "mov.b32 %%ro, 0xEEEEEEEE; mov.b64 %%qo, 0xEEEEEEEEEEEEEEEE; mov.b16 %%ho, 0xEEEE;\n"
        "mov.b32 %%fo, 0xEEEEEEEE; mov.b64 %%do, 0xEEEEEEEEEEEEEEEE; setp.ne.u32 %%po, 0, 0; setp.ne.u32 %%pq, 0, 0;\n");
    put(t, "%s%s%s\n", before, text, after);
    if (out == 'p')
        put(t, "selp.u32 %%ro, 1, 0, %%po; st.global.u32 [%%dst+%d], %%ro;\n", offset);
    else
        put(t, "st.global.%s [%%dst+%d], %%%co;\n",
            out == 'r' || out == 'f' ? "b32"
            : out == 'h'             ? "b16"
                                     : "b64",
            offset, out);
    if (second) put(t, "selp.u32 %%ro, 1, 0, %%pq; st.global.u32 [%%dst+%d], %%ro;\n", offset + 4);
}

enum { FULL_MASK, BRANCH, GUARD, ALIAS, FIRST_IMMEDIATE, FORMS = FIRST_IMMEDIATE + IMMEDIATES };
static const char *const form_names[] = {"under the full mask", "behind a branch", "with a guard",
                                         "into its own input"};

/* One instruction that may have a guard of its own: lanes that .sync names must all come. */
static inline bool single(const char *text)
{
    const char *end = strchr(text, ';');
    return end && !end[1] && text[0] != '@' && text[0] != '{' && !strstr(text, ".sync");
}

static inline const char *insn_kernel(const char *text)
{
    static char kernel[65536], aliased[1024], immediate[64];
    struct text t = {kernel, kernel + sizeof kernel}, alias = {aliased, aliased + sizeof aliased};
    put(&t,
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 src, .param .u64 out)\n{\n"
        ".reg .pred %%p<4>, %%px, %%py, %%pz, %%pv, %%po, %%pq, %%pm; .reg .b16 %%h<4>, %%hx, %%hy, %%hz, %%hv, %%ho;\n"
        ".reg .b32 %%r<8>, %%rx, %%ry, %%rz, %%rv, %%ro; .reg .b64 %%q<8>, %%qx, %%qy, %%qz, %%qv, %%qo, %%src, %%dst;\n"
        ".reg .f32 %%f<4>, %%fx, %%fy, %%fz, %%fv, %%fo; .reg .f64 %%d<4>, %%dx, %%dy, %%dz, %%dv, %%do;\n"
        "ld.param.u64 %%src, [src]; ld.param.u64 %%dst, [out];\n"
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x; mad.lo.s32 %%r1, %%r2, %%r3, %%r1;\n"
        "mul.wide.u32 %%q1, %%r1, 32; add.u64 %%src, %%src, %%q1; mul.wide.u32 %%q1, %%r1, %d;"
        " add.u64 %%dst, %%dst, %%q1;\n",
        8 * FORMS);
    for (int k = 0; k < 4; k++) {
        char n = "xyzv"[k];
        put(&t, "ld.global.b32 %%r%c, [%%src+%d]; ld.global.b64 %%q%c, [%%src+%d]; ld.global.b16 %%h%c, [%%src+%d];\n",
            n, 8 * k, n, 8 * k, n, 8 * k);
        put(&t, "ld.global.f32 %%f%c, [%%src+%d]; ld.global.f64 %%d%c, [%%src+%d];\n", n, 8 * k, n, 8 * k);
        put(&t, "and.b32 %%r4, %%r%c, 1; setp.ne.u32 %%p%c, %%r4, 0;\n", n, n);
    }
    put(&t, "mul.lo.u32 %%r4, %%r1, 0x9E3779B1; shr.u32 %%r4, %%r4, 28; setp.lt.u32 %%pm, %%r4, 6;\n");
    put_run(&t, text, "", "", 8 * FULL_MASK);
    if (!strstr(text, ".sync")) put_run(&t, text, "@!%pm bra OVER;\n", "\nOVER:", 8 * BRANCH);
    if (single(text)) put_run(&t, text, "@%pm ", "", 8 * GUARD);
    for (int j = 0; all_case_count > case_count && j < IMMEDIATES; j++) {
        uint64_t y = in_y[case_count + j * IMMEDIATE_CASES];
        char kind = case_kind[1], with[1024];
        struct text w = {with, with + sizeof with};
        snprintf(immediate, sizeof immediate,
                 kind == 'f'   ? "0f%08" PRIx64
                 : kind == 'd' ? "0d%016" PRIx64
                               : "0x%" PRIx64,
                 kind == 'h'   ? (uint16_t)y
                 : kind == 'r' ? (uint32_t)y
                               : y);
        put_replaced(&w, text, 'y', immediate);
        put(&t, "setp.ge.u32 %%p1, %%r1, %d; @%%p1 bra I%d;\n", IMMEDIATE_CASES, j);
        put_run(&t, with, "", "", 8 * (FIRST_IMMEDIATE + j));
        put(&t, "I%d:\n", j);
    }
    if (kind_of(text, 'o') == case_kind[0] && case_kind[0] != 'p') {
        char x[4] = {'%', out_kind(text), 'x', 0}, o[4] = {'%', out_kind(text), 'o', 0};
        put_replaced(&alias, text, 'o', x);
        put(&t, "%s st.global.b%d [%%dst+%d], %s; // %s\n", aliased,
            strchr("qd", o[1]) ? 64
            : o[1] == 'h'      ? 16
                               : 32,
            8 * ALIAS, x, o);
    }
    put(&t, "ret;\n}\n");
    return kernel;
}

/* ---- comparing ---- */
enum match {
    BITS,   /* every bit */
    FLOATS, /* any NaN is as good as another: %fo and %do */
    F16S,   /* the same for one (%ho) or two (%ro) f16 */
    BF16S,
    NEAR /* %fo or %do within want_error of want_value */
};
static double want_value[ALL_CASES], want_error[ALL_CASES];

static inline float f32_of(uint64_t bits)
{
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, 4);
    return f;
}
static inline double f64_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}
static inline uint64_t bits_of_f32(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}
static inline uint64_t bits_of_f64(double d)
{
    uint64_t b;
    memcpy(&b, &d, 8);
    return b;
}

static inline uint64_t same_nan(enum match m, char out, uint64_t v)
{
    if (m == FLOATS && out == 'f') return (v & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : v;
    if (m == FLOATS && out == 'd') return (v & INT64_MAX) > 0x7ff0000000000000 ? INT64_MAX : v;
    uint32_t infinity = m == F16S ? 0x7c00 : 0x7f80;
    for (int k = 0; (m == F16S || m == BF16S) && k < 32; k += 16)
        if ((v >> k & 0x7fff) > infinity) v |= (uint64_t)0xffff << k;
    return v;
}

static int failures; /* instructions that were wrong: a test tells them all */
#define INSN_TEST(name)                                                                                                \
    static void insns_##name(void);                                                                                    \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        insns_##name();                                                                                                \
        if (failures) FAIL("%d instructions are wrong", failures);                                                     \
    }                                                                                                                  \
    static void insns_##name(void)

static inline bool check_case(const char *text, const char *how, enum match m, int form, int i, int input, uint64_t got,
                              bool active)
{
    char out = out_kind(text);
    uint64_t w = want[input];
    uint64_t fill = out == 'h' ? 0xEEEE : out == 'r' || out == 'f' ? 0xEEEEEEEE : out == 'p' ? 0 : 0xEEEEEEEEEEEEEEEE;
    bool good;
    if (!active) {
        m = BITS;
        w = fill;
    }
    if (m == NEAR) {
        double g = out == 'd' ? f64_of(got) : (double)f32_of(got), v = want_value[input];
        good = (v != v && g != g) || g == v || fabs(g - v) <= want_error[input];
        w = bits_of_f64(v);
    } else {
        good = same_nan(m, out, got) == same_nan(m, out, w);
    }
    if (good) return true;
    char where[64];
    snprintf(where, sizeof where, form < FIRST_IMMEDIATE ? "%s" : "with an immediate for y",
             form < FIRST_IMMEDIATE ? form_names[form] : "");
    printf("# %s: %s %s, thread %d%s, of %" PRIx64 ", %" PRIx64 ", %" PRIx64 ", %" PRIx64 " gave %" PRIx64
           ", expected %" PRIx64 "\n",
           how, text, where, i, active ? "" : " (not active)", in_x[input], in_y[input], in_z[input], in_v[input], got,
           w);
    return false;
}

static inline bool is_active(int i)
{
    return (uint32_t)i * 0x9E3779B1u >> 28 < 6;
}

static inline bool check_results(const char *text, const char *how, enum match m, const uint64_t *got)
{
    bool branch = !strstr(text, ".sync"), guard = single(text), good = true;
    bool alias = kind_of(text, 'o') == case_kind[0] && case_kind[0] != 'p' && !strstr(text, "%pq");
    for (int i = 0; i < case_count && good; i++, got += FORMS) {
        good = check_case(text, how, m, FULL_MASK, i, i, got[FULL_MASK], true) &&
               (!branch || check_case(text, how, m, BRANCH, i, i, got[BRANCH], is_active(i))) &&
               (!guard || check_case(text, how, m, GUARD, i, i, got[GUARD], is_active(i))) &&
               (!alias || check_case(text, how, m, ALIAS, i, i, got[ALIAS], true));
        for (int j = 0; good && all_case_count > case_count && i < IMMEDIATE_CASES && j < IMMEDIATES; j++)
            good = check_case(text, how, m, FIRST_IMMEDIATE + j, i, case_count + j * IMMEDIATE_CASES + i,
                              got[FIRST_IMMEDIATE + j], true);
    }
    return good;
}

static inline uint64_t device_memory(size_t bytes)
{
    uint64_t a;
    struct rt_error e = {0};
    if (simt_alloc(bytes, &a, &e) != RT_OK) FAIL("%s", e.text);
    return a;
}

/* The ways to run a program, of which the machine may lack some. Under a sanitizer, which sees the same source in each
 * instruction set, fewer of them. */
static const struct variant {
    const char *name, *isa, *jit;
} variants[] = {{"base", "base", "0"},
#ifndef __SANITIZE_ADDRESS__
                {"AVX2", "v3", "0"},
                {"AVX-512", "v4", "0"},
#endif
                {"code for AVX2", "v3", "1"},
                {"code for AVX-512", "v4", "1"}};

static inline bool run_variant(const char *text, const struct ptx_module *module, const struct variant *how,
                               enum match m)
{
    static uint64_t src, out;
    struct rt_error e = {0};
    struct simt_fault fault;
    if (!take_isa(how->isa)) return true;
    if (!src) src = device_memory((size_t)CASES * 32), out = device_memory((size_t)CASES * 8 * FORMS);
    uint64_t *inputs = simt_host(src);
    for (int i = 0; i < case_count; i++)
        for (int k = 0; k < 4; k++) inputs[4 * i + k] = (k == 0 ? in_x : k == 1 ? in_y : k == 2 ? in_z : in_v)[i];
    memset(simt_host(out), 0, (size_t)case_count * 8 * FORMS);
    setenv("LUNARRAY_JIT", how->jit, 1);
    struct simt_program *p = simt_program_new(module, &e);
    if (!p) {
        printf("# %s\n", e.text);
        return false;
    }
    struct simt_launch l = {.function = simt_program_function(p, "k"),
                            .grid = {(unsigned)case_count / 256, 1, 1},
                            .block = {256, 1, 1},
                            .params = (uint64_t[]){src, out}};
    bool good = simt_run(&l, &fault);
    if (!good) printf("# %s: %s\n", text, fault.text);
    good = good && check_results(text, how->name, m, simt_host(out));
    simt_program_free(p);
    return good;
}

/* Runs the instruction on the cases that make_cases made and compares with `want`. */
static inline void check_insn(const char *text, enum match m)
{
    const char *kernel = insn_kernel(text);
    struct rt_error e = {0};
    struct ptx_module *module = ptx_parse(kernel, strlen(kernel), &e);
    if (!module) FAIL("%s: %s", text, e.text);
    bool good = true;
    for (size_t k = 0; good && k < COUNT(variants); k++) good = run_variant(text, module, &variants[k], m);
    failures += !good;
    ptx_free(module);
}

/* One instruction: x, y, z and v are a case's inputs as 64 raw bits; the expression is what must come out. */
#define INSN(text, match, expr)                                                                                        \
    do {                                                                                                               \
        const char *text_ = (text);                                                                                    \
        make_cases(text_);                                                                                             \
        for (int i_ = 0; i_ < all_case_count; i_++) {                                                                  \
            uint64_t x = in_x[i_], y = in_y[i_], z = in_z[i_], v = in_v[i_];                                           \
            (void)x, (void)y, (void)z, (void)v;                                                                        \
            want[i_] = (uint64_t)(expr);                                                                               \
        }                                                                                                              \
        check_insn(text_, match);                                                                                      \
    } while (0)

/* printf into a buffer that lasts until the next call, for the texts of rows that loop over types. */
static inline __attribute__((format(printf, 1, 2))) const char *sprint(const char *format, ...)
{
    static char buffers[4][1024];
    static unsigned next;
    char *b = buffers[next++ % 4];
    va_list args;
    va_start(args, format);
    vsnprintf(b, sizeof buffers[0], format, args);
    va_end(args);
    return b;
}

#endif
