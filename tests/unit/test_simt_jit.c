/* Generated code against the interpreter: random kernels run both ways and must leave the same bits. */
#include <stdarg.h>
#include "runtime/simt/jit.h"
#include "tests/unit/isa.h"
#include "tests/unit/simt_text.h"

#define WORDS   12 /* b32 registers that programs work on */
#define FLOATS  6
#define LONGS   4
#define INPUT   512                          /* elements of the input */
#define PER     (WORDS + FLOATS + 2 * LONGS) /* 32-bit results of a thread */
#define THREADS 128

static uint32_t state;
static uint32_t pick(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(state >> 4) * n >> 28);
}

/* ---- random programs ---- */
struct text {
    char s[32768];
    size_t n;
    int labels, depth;
};
static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, format, args);
    va_end(args);
    if (t->n >= sizeof t->s) FAIL("the program is too long");
}

static const char *one_of(const char *const *list, uint32_t n)
{
    return list[pick(n)];
}
#define ANY_OF(...)                                                                                                    \
    one_of((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void add_word(struct text *t)
{
    uint32_t d = pick(WORDS), a = pick(WORDS), b = pick(WORDS), c = pick(WORDS);
    switch (pick(12)) {
    case 0:
    case 1:
        add(t, "%s %%r%u, %%r%u, %%r%u;\n",
            ANY_OF("add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.s32", "min.u32",
                   "max.u32", "mul.hi.u32", "mul.hi.s32", "div.u32", "rem.s32"),
            d, a, b);
        break;
    case 2:
    case 3:
        add(t, "%s %%r%u, %%r%u, %d;\n", ANY_OF("add.s32", "sub.s32", "mul.lo.s32", "and.b32", "shl.b32"), d, a,
            (int)pick(40) - 4);
        break;
    case 4: add(t, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", d, a, b, c); break;
    case 5:
        add(t, "and.b32 %%t0, %%r%u, 63;\n%s %%r%u, %%r%u, %%t0;\n", b, ANY_OF("shl.b32", "shr.u32", "shr.s32"), d, a);
        break;
    case 6: add(t, "%s %%r%u, %%r%u;\n", ANY_OF("not.b32", "neg.s32", "abs.s32", "mov.u32", "popc.b32"), d, a); break;
    case 7: add(t, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, b, pick(3)); break;
    case 8: add(t, "mov.u32 %%r%u, %d;\n", d, (int)pick(100) - 50); break;
    case 9: add(t, "mov.u32 %%r%u, %s;\n", d, ANY_OF("%tid.x", "%tid.y", "%ctaid.x", "%laneid", "%ntid.x")); break;
    case 10: add(t, "cvt.rzi.%s.f32 %%r%u, %%f%u;\n", ANY_OF("s32", "u32"), d, pick(FLOATS)); break;
    default: add(t, "cvt.u32.u64 %%r%u, %%q%u;\n", d, pick(LONGS)); break;
    }
}

static void add_float(struct text *t)
{
    uint32_t d = pick(FLOATS), a = pick(FLOATS), b = pick(FLOATS), c = pick(FLOATS);
    switch (pick(8)) {
    case 0:
    case 1:
        add(t, "%s %%f%u, %%f%u, %%f%u;\n", ANY_OF("add.f32", "sub.f32", "mul.f32", "div.rn.f32", "min.f32", "max.f32"),
            d, a, b);
        break;
    case 2: add(t, "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", d, a, b, c); break;
    case 3:
        add(t, "%s %%f%u, %%f%u;\n", ANY_OF("neg.f32", "abs.f32", "sqrt.rn.f32", "rcp.rn.f32", "mov.f32"), d, a);
        break;
    case 4: add(t, "%s %%f%u, %%r%u;\n", ANY_OF("cvt.rn.f32.s32", "cvt.rn.f32.u32"), d, pick(WORDS)); break;
    case 5: add(t, "selp.f32 %%f%u, %%f%u, %%f%u, %%p%u;\n", d, a, b, pick(3)); break;
    case 6: add(t, "rsqrt.approx.f32 %%f%u, %%f%u;\n", d, a); break;
    default: add(t, "add.sat.f32 %%f%u, %%f%u, %%f%u;\n", d, a, b); break;
    }
}

static void add_long(struct text *t)
{
    uint32_t d = pick(LONGS), a = pick(LONGS), b = pick(LONGS), r = pick(WORDS), s = pick(WORDS);
    switch (pick(5)) {
    case 0:
        add(t, "%s %%q%u, %%q%u, %%q%u;\n", ANY_OF("add.s64", "sub.s64", "mul.lo.s64", "and.b64", "min.s64", "max.u64"),
            d, a, b);
        break;
    case 1: add(t, "%s %%q%u, %%r%u, %%r%u;\n", ANY_OF("mul.wide.s32", "mul.wide.u32"), d, r, s); break;
    case 2: add(t, "%s %%q%u, %%r%u, %d;\n", ANY_OF("mul.wide.s32", "mul.wide.u32"), d, r, (int)pick(16) + 1); break;
    case 3: add(t, "%s %%q%u, %%r%u;\n", ANY_OF("cvt.s64.s32", "cvt.u64.u32"), d, r); break;
    default: add(t, "%s %%q%u, %%q%u, %u;\n", ANY_OF("shl.b64", "shr.u64", "shr.s64"), d, a, pick(70)); break;
    }
}

static void add_compare(struct text *t)
{
    uint32_t p = pick(3);
    switch (pick(5)) {
    case 0:
        add(t, "setp.%s.%s %%p%u, %%r%u, %%r%u;\n", ANY_OF("eq", "ne", "lt", "le", "gt", "ge"), ANY_OF("s32", "u32"), p,
            pick(WORDS), pick(WORDS));
        break;
    case 1: add(t, "setp.%s.s32 %%p%u, %%r%u, %d;\n", ANY_OF("lt", "ge", "eq"), p, pick(WORDS), (int)pick(40)); break;
    case 2:
        add(t, "setp.%s.f32 %%p%u, %%f%u, %%f%u;\n", ANY_OF("eq", "ne", "lt", "geu", "neu", "num", "nan"), p,
            pick(FLOATS), pick(FLOATS));
        break;
    case 3:
        add(t, "setp.%s.%s.u64 %%p%u|%%p%u, %%q%u, %%q%u, %%p%u;\n", ANY_OF("lo", "ne", "hs"),
            ANY_OF("and", "or", "xor"), p, (p + 1) % 3, pick(LONGS), pick(LONGS), pick(3));
        break;
    default: add(t, "%s %%p%u, %%p%u, %%p%u;\n", ANY_OF("and.pred", "or.pred", "xor.pred"), p, pick(3), pick(3)); break;
    }
}

/* Lanes a few elements apart, by thread: several of a lane, every few, backwards, narrow ones. */
static void add_strided(struct text *t)
{
    uint32_t r = pick(WORDS), f = pick(FLOATS), count = 2 << pick(2);
    int step = (int)pick(9) - 4;
    switch (pick(8)) {
    case 6:
        add(t, "shl.b32 %%t0, %%i, 2;\nst.shared.v%s [%%t0+512], {%%r%u, %%r%u", count == 4 ? "4.u8" : "2.u16", r,
            pick(WORDS));
        if (count == 4) add(t, ", %%r%u, %%r%u", pick(WORDS), pick(WORDS));
        add(t, "};\nld.shared.v2.u16 {%%r%u, %%r%u}, [%%t0+512];\n", r, (r + 1) % WORDS);
        break;
    case 7:
        add(t, "%s %%r%u, %%r%u;\ncvt.rn.f32.%s %%f%u, %%r%u;\n", ANY_OF("cvt.u32.u16", "cvt.u32.u8", "cvt.u16.u32"), r,
            pick(WORDS), ANY_OF("u8", "u16", "s32"), f, pick(WORDS));
        break;
    case 0:
        add(t, "mul.wide.s32 %%u0, %%tx, %d;\nadd.s64 %%u0, %%u0, %%in;\nld.global.f32 %%f%u, [%%u0+%u];\n", 4 * step,
            f, (step < 0 ? 1600 : 0) + 4 * pick(8));
        break;
    case 1:
        add(t, "mul.wide.s32 %%u0, %%tx, %d;\nadd.s64 %%u0, %%u0, %%in;\nld.global.%s %%r%u, [%%u0+%u];\n", step,
            ANY_OF("u8", "s8"), r, 400 + pick(8));
        break;
    case 2:
        add(t, "mul.wide.s32 %%u0, %%tx, %d;\nadd.s64 %%u0, %%u0, %%in;\nld.global.%s %%r%u, [%%u0+%u];\n", 2 * step,
            ANY_OF("u16", "s16"), r, 800 + 2 * pick(8));
        break;
    case 3:
        add(t, "mul.wide.s32 %%u0, %%tx, %d;\nadd.s64 %%u0, %%u0, %%in;\nld.global.u64 %%q%u, [%%u0+%u];\n",
            8 * (step % 3), pick(LONGS), (step < 0 ? 1600 : 0) + 8 * pick(8));
        break;
    case 4:
        add(t, "shl.b32 %%t0, %%i, %u;\nst.shared.v%u.b32 [%%t0+%u], {%%r%u, %%r%u", count / 2 + 2, count, 512 * count,
            r, pick(WORDS));
        if (count == 4) add(t, ", %%f%u, %%r%u", f, pick(WORDS));
        add(t, "};\nld.shared.v2.b32 {%%r%u, %%f%u}, [%%t0+%u];\n", r, f, 512 * count + 4 * count - 8);
        break;
    default:
        add(t, "mad.lo.s32 %%t0, %%i, -4, 508;\nst.shared.u32 [%%t0+4096], %%r%u;\nld.shared.u32 %%r%u, [%%t0+4096];\n",
            pick(WORDS), r);
        break;
    }
}

/* Somewhere in the input or in shared memory, at steps of all kinds. Each thread writes to places of its own: which
 * warp runs first is not the same both ways. */
static void add_access(struct text *t)
{
    uint32_t r = pick(WORDS), f = pick(FLOATS);
    switch (pick(13)) {
    case 10:
    case 11:
    case 12: add_strided(t); break;
    case 7: add(t, "and.b32 %%t0, %%r%u, 252;\nld.shared.u32 %%r%u, [%%t0+%u];\n", r, pick(WORDS), 4 * pick(4)); break;
    case 8: add(t, "and.b32 %%t0, %%r%u, 248;\nld.shared.u64 %%q%u, [%%t0+8];\n", r, pick(LONGS)); break;
    case 9:
        add(t,
            "and.b32 %%t0, %%r%u, 127;\nmul.wide.u32 %%u0, %%t0, 8;\nadd.s64 %%u0, %%u0, %%in;\n"
            "ld.global.u64 %%q%u, [%%u0];\n",
            r, pick(LONGS));
        break;
    case 0: /* anything */
        add(t,
            "and.b32 %%t0, %%r%u, %d;\nmul.wide.u32 %%u0, %%t0, 4;\nadd.s64 %%u0, %%u0, %%in;\n"
            "ld.global.f32 %%f%u, [%%u0];\n",
            r, INPUT - 1, f);
        break;
    case 1: /* by thread */
        add(t, "mul.wide.u32 %%u0, %%tx, %u;\nadd.s64 %%u0, %%u0, %%in;\nld.global.f32 %%f%u, [%%u0+%u];\n",
            4 * (1 + pick(2)), f, 4 * pick(8));
        break;
    case 2: add(t, "ld.global.u32 %%r%u, [%%in+%u];\n", r, 4 * pick(16)); break;
    case 3:
        add(t, "shl.b32 %%t0, %%i, 2;\nst.shared.u32 [%%t0+512], %%r%u;\nld.shared.f32 %%f%u, [%%t0+512];\n", r, f);
        break;
    case 4: add(t, "mul.lo.s32 %%t0, %%ty, 4;\nld.shared.u32 %%r%u, [%%t0+%u];\n", r, 4 * pick(4)); break;
    case 5:
        add(t, "mul.wide.u32 %%u0, %%tx, %u;\nadd.s64 %%u0, %%u0, %%in;\nld.global.%s %%r%u, [%%u0+%u];\n", 1 + pick(2),
            ANY_OF("u8", "s8"), r, pick(8));
        break;
    default:
        add(t,
            "mul.wide.u32 %%u0, %%tx, 16;\nand.b64 %%u0, %%u0, 511;\nadd.s64 %%u0, %%u0, %%in;\n"
            "ld.global.v2.f32 {%%f%u, %%f%u}, [%%u0+8];\n",
            f, (f + 1) % FLOATS);
        break;
    }
}

static void add_warp(struct text *t)
{
    uint32_t a = pick(WORDS), d = pick(WORDS);
    add(t, "bar.warp.sync -1;\nshfl.sync.%s.b32 %%r%u, %%r%u, %u, %s, -1;\n", ANY_OF("bfly", "idx"), d, a, pick(32),
        "31");
}

static void add_body(struct text *t, int length, bool together);
static void add_control(struct text *t, bool together)
{
    int l = t->labels++, c = t->depth++;
    if (c >= 3) {
        add_word(t);
    } else if (pick(2)) {
        add(t, "@%s%%p%u bra $E%d;\n", pick(2) ? "!" : "", pick(3), l);
        add_body(t, 4, false);
        if (pick(2)) {
            add(t, "bra $X%d;\n$E%d:\n", l, l);
            add_body(t, 3, false);
            add(t, "$X%d:\n", l);
        } else {
            add(t, "$E%d:\n", l);
        }
    } else {
        bool same = pick(2);
        if (same)
            add(t, "mov.u32 %%c%d, %u;\n", c, pick(4));
        else
            add(t, "and.b32 %%c%d, %%r%u, 3;\n", c, pick(WORDS));
        add(t, "$L%d:\n", l);
        add_body(t, 5, together && same);
        add(t, "sub.s32 %%c%d, %%c%d, 1;\nsetp.ge.s32 %%l%d, %%c%d, 0;\n@%%l%d bra $L%d;\n", c, c, c, c, c, l);
    }
    t->depth--;
}

/* `together`: all threads of the block come here. */
static void add_body(struct text *t, int length, bool together)
{
    for (int k = 0; k < length; k++) {
        switch (pick(11)) {
        case 0:
        case 1:
        case 2: add_word(t); break;
        case 3:
        case 4: add_float(t); break;
        case 5: add_long(t); break;
        case 6: add_compare(t); break;
        case 7:
        case 8: add_access(t); break;
        case 9:
            if (together && pick(2))
                add_warp(t);
            else if (together)
                add(t, "bar.sync 0;\n");
            else
                add(t, "@%%p%u add.s32 %%r%u, %%r%u, 1;\n", pick(3), pick(WORDS), pick(WORDS));
            break;
        default: add_control(t, together); break;
        }
    }
}

static void write_program(struct text *t)
{
    t->n = 0;
    t->labels = t->depth = 0;
    add(t,
        HEAD ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pn)\n{\n"
             ".shared .align 16 .b8 room[5120];\n"
             ".reg .b32 %%r<%d>, %%t<2>, %%c<4>, %%tx, %%ty, %%i;\n.reg .f32 %%f<%d>;\n.reg .b64 %%q<%d>, %%u<2>, "
             "%%in, %%out;\n.reg .pred %%p<3>, %%l<4>;\n",
        WORDS, FLOATS, LONGS);
    add(t,
        "ld.param.u64 %%in, [pin];\nld.param.u64 %%out, [pout];\nmov.u32 %%tx, %%tid.x;\nmov.u32 %%ty, %%tid.y;\n"
        "mov.u32 %%t0, %%ntid.x;\nmad.lo.s32 %%i, %%ty, %%t0, %%tx;\nshl.b32 %%t0, %%i, 2;\nst.shared.u32 [%%t0], %%i;\n"
        "bar.sync 0;\n");
    for (int k = 0; k < WORDS; k++)
        add(t, "%s %%r%d, %s;\n", k % 4 == 3 ? "ld.param.u32" : "mov.u32", k,
            k % 4 == 0   ? "%tx"
            : k % 4 == 1 ? "%ty"
            : k % 4 == 2 ? (k < 4 ? "7" : "%i")
                         : "[pn]");
    for (int k = 0; k < FLOATS; k++) add(t, "cvt.rn.f32.s32 %%f%d, %%r%d;\n", k, k);
    for (int k = 0; k < LONGS; k++) add(t, "cvt.s64.s32 %%q%d, %%r%d;\n", k, k);
    for (int k = 0; k < 3; k++) add(t, "setp.gt.s32 %%p%d, %%r%d, %d;\n", k, k, 3 + 5 * k);
    add_body(t, 24, true);
    add(t,
        "mov.u32 %%t0, %%ctaid.x;\nmad.lo.s32 %%i, %%t0, %d, %%i;\nmul.wide.u32 %%u0, %%i, %d;\n"
        "add.s64 %%out, %%out, %%u0;\n",
        THREADS, PER * 4);
    for (int k = 0; k < WORDS; k++) add(t, "st.global.u32 [%%out+%d], %%r%d;\n", 4 * k, k);
    for (int k = 0; k < FLOATS; k++) add(t, "st.global.f32 [%%out+%d], %%f%d;\n", 4 * (WORDS + k), k);
    for (int k = 0; k < LONGS; k++) add(t, "st.global.u64 [%%out+%d], %%q%d;\n", 4 * (WORDS + FLOATS) + 8 * k, k);
    add(t,
        "xor.b32 %%t1, %%i, 3;\nmul.wide.u32 %%u0, %%t1, %d;\nld.param.u64 %%out, [pout];\nadd.s64 %%u0, %%u0, %%out;\n"
        "st.global.u32 [%%u0+%d], %%r0;\nst.global.u64 [%%u0+%d], %%q0;\nret;\n}\n",
        PER * 4, 4 * WORDS - 4, 4 * (WORDS + FLOATS));
}

/* ---- running them ---- */
static struct simt_program *must_load(const char *text)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s\n%s", e.text, text);
    struct simt_program *p = simt_program_new(m, &e);
    ptx_free(m);
    if (!p) FAIL("%s\n%s", e.text, text);
    return p;
}

static bool generates(void)
{
    struct simt_program *p = must_load(HEAD ".visible .entry k()\n{\nret;\n}\n");
    const unsigned block[3] = {32, 1, 1};
    bool yes = simt_jit_codes(p, simt_program_function(p, "k")->code, block, NULL).full != NULL;
    simt_program_free(p);
    return yes;
}

static bool is_nan(uint32_t bits)
{
    return (bits & 0x7fffffff) > 0x7f800000;
}

static void compare(const uint32_t *got, const uint32_t *want, const struct text *t, uint32_t seed,
                    const unsigned *block)
{
    for (int k = 0; k < 2 * THREADS * PER; k++) {
        if (got[k] == want[k] || (is_nan(got[k]) && is_nan(want[k]))) continue;
        FAIL("program %u, block %u x %u, thread %d, result %d: generated code gave %08x, the interpreter %08x\n%s",
             seed, block[0], block[1], k / PER, k % PER, got[k], want[k], t->s);
    }
}

static void run_both(const struct text *t, uint32_t seed, uint64_t in, uint64_t out)
{
    static const unsigned shapes[][3] = {{64, 1, 1}, {16, 4, 1}, {32, 2, 1}, {8, 8, 1}, {48, 2, 1}, {100, 1, 1}};
    static const char *const ways[][2] = {{"0", ""}, {"1", "avx2"}, {"1", ""}};
    static uint32_t results[2 * THREADS * PER];
    const unsigned *block = shapes[seed % 6];
    uint64_t params[] = {in, out, 5};
    for (int way = 0; way < 3; way++) {
        struct simt_fault fault;
        if (!take_isa(ways[way][1]) && way) continue;
        setenv("LUNARRAY_JIT", ways[way][0], 1);
        struct simt_program *p = must_load(t->s);
        struct simt_launch l = {.function = simt_program_function(p, "k"),
                                .grid = {2, 1, 1},
                                .block = {block[0], block[1], block[2]},
                                .params = params};
        memset(simt_host(out), 0, sizeof results);
        if (!simt_run(&l, &fault)) FAIL("program %u: %s\n%s", seed, fault.text, t->s);
        if (!way) memcpy(results, simt_host(out), sizeof results);
        compare(simt_host(out), results, t, seed, block);
        simt_program_free(p);
    }
}

TEST(random_kernels_do_what_the_interpreter_does)
{
    static struct text t;
    uint64_t in = device(INPUT * 4 + 64), out = device(2 * THREADS * PER * 4);
    if (!generates()) SKIP("no code is generated on this machine");
    for (uint32_t k = 0; k < INPUT; k++) ((float *)simt_host(in))[k] = (float)((int)k * 37 % 101 - 50) * 0.75f;
    const char *first = getenv("JIT_SEED"), *count = getenv("JIT_COUNT");
    uint32_t seed = first ? (uint32_t)atoi(first) : 1, n = count ? (uint32_t)atoi(count) : 300;
    for (; n > 0; n--, seed++) {
        state = seed * 2654435761u;
        write_program(&t);
        run_both(&t, seed, in, out);
    }
}

/* ---- conditions just before a branch ahead ---- */
#define HERE "setp.lt.s32 %p0, %tx, %n;\n"
#define AND  "setp.ge.s32 %p1, %tx, %c;\n"
static const char *const conditions[] = {
    HERE,
    HERE "not.pred %p0, %p0;\n",
    HERE "not.pred %p0, %p0;\nnot.pred %p0, %p0;\n",
    HERE AND "and.pred %p0, %p0, %p1;\n",
    HERE AND "or.pred %p0, %p1, %p0;\n",
    HERE AND "and.pred %p1, %p1, %p0;\nnot.pred %p0, %p1;\n",
    HERE AND "not.pred %p1, %p1;\nor.pred %p0, %p0, %p1;\nnot.pred %p0, %p0;\n",
    HERE "and.pred %p0, %p0, %p0;\nor.pred %p0, %p0, %p0;\n",
    HERE AND "xor.pred %p0, %p0, %p1;\n",
    HERE AND "mov.pred %p0, %p1;\n",
    "setp.lt.s32 %p0|%p1, %tx, %n;\n",
    "setp.lt.s32 %p1|%p0, %tx, %n;\n",
    "setp.lt.s32 %p0|%p1, %tx, %n;\nnot.pred %p0, %p0;\n",
    "setp.lt.s32 %p0|%p1, %tx, %n;\nor.pred %p0, %p0, %p1;\n",
    "setp.lt.s32 %p0|%p1, %tx, %n;\nand.pred %p0, %p0, %p2;\n",
    HERE "setp.ge.s32 %p0, %tx, %c;\n",
    HERE "and.pred %p1, %p0, %p2;\nsetp.ge.s32 %p0, %tx, %c;\nor.pred %p0, %p0, %p1;\n",
    "setp.lt.and.s32 %p0, %tx, %n, %p2;\n",
    "not.pred %p0, %p2;\nand.pred %p0, %p0, %p2;\n",
};

/* Each round of a loop goes on or ends it by such a condition: what its registers held in the round before is no
 * answer. Bit k of a result is set when the thread came to round k's end. */
TEST(conditions_may_be_made_in_the_registers_that_they_read)
{
    static char text[4096];
    static uint32_t want[64];
    uint64_t in = device(64), out = device(sizeof want), params[] = {in, out, 5};
    if (!generates()) SKIP("no code is generated on this machine");
    for (size_t k = 0; k < 2 * sizeof conditions / sizeof *conditions; k++) {
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pn)\n{\n"
                      ".reg .b32 %%tx, %%n, %%c, %%i, %%bit, %%sum;\n.reg .b64 %%out, %%u;\n.reg .pred %%p<3>, %%l;\n"
                      "ld.param.u64 %%out, [pout];\nmov.u32 %%tx, %%tid.x;\nmul.wide.u32 %%u, %%tx, 4;\n"
                      "add.s64 %%out, %%out, %%u;\nmov.u32 %%sum, 0;\nmov.u32 %%i, 0;\nld.param.u32 %%c, [pn];\n"
                      "setp.gt.s32 %%p2, %%c, 4;\n"
                      "$L:\nmul.lo.s32 %%n, %%i, 40;\nsub.s32 %%n, 100, %%n;\nmul.lo.s32 %%c, %%i, 9;\n"
                      "%s@%s%%p0 bra $E;\nshl.b32 %%bit, 1, %%i;\nor.b32 %%sum, %%sum, %%bit;\n"
                      "$E:\nadd.s32 %%i, %%i, 1;\nsetp.lt.s32 %%l, %%i, 5;\n@%%l bra $L;\n"
                      "st.global.u32 [%%out], %%sum;\nret;\n}\n",
                 conditions[k / 2], k % 2 ? "!" : "");
        for (int way = 0; way < 3; way++) {
            setenv("LUNARRAY_JIT", way ? "1" : "0", 1);
            setenv("LUNARRAY_ISA", way == 1 ? "avx2" : "", 1);
            must_run(text, 1, 64, params);
            if (!way) memcpy(want, simt_host(out), sizeof want);
            if (memcmp(want, simt_host(out), sizeof want) != 0) FAIL("generated code of\n%s", text);
            memset(simt_host(out), 0, sizeof want);
        }
    }
}

/* ---- faults ---- */
#define PARAMETERS ".param .u64 pin, .param .u64 pout, .param .u64 pn"
static const char *const wrong[] = {
    "mul.wide.u32 %u0, %i, 4;\nadd.s64 %u0, %u0, %in;\nld.global.u32 %r0, [%u0+960];\n",
    "mul.wide.u32 %u0, %i, 4;\nadd.s64 %u0, %u0, %in;\nst.global.u32 [%u0], %i;\nst.global.u32 [%u0+1040], %i;\n",
    "mul.wide.u32 %u0, %i, 4;\nadd.s64 %u0, %u0, %in;\nld.global.u32 %r0, [%u0+2];\n",
    "ld.global.u32 %r0, [%in+4096];\n",
    "mov.u64 %u0, 0;\nld.global.u32 %r0, [%u0];\n",
    "shl.b32 %r0, %i, 2;\nld.shared.u32 %r1, [%r0+160];\n",
    "sub.s32 %r0, 8, %i;\nshl.b32 %r0, %r0, 2;\nld.shared.u32 %r1, [%r0];\n",
    "setp.eq.s32 %p0, %i, 37;\nselp.b32 %r0, 100000, %i, %p0;\nmul.wide.s32 %u0, %r0, 4;\nadd.s64 %u0, %u0, %in;\n"
    "ld.global.u32 %r1, [%u0];\n",
    "setp.eq.s32 %p0, %i, 37;\nselp.b32 %r0, 1, %i, %p0;\nxor.b32 %r0, %r0, 4;\nld.shared.u32 %r1, [%r0];\n",
    "setp.eq.s32 %p0, %i, 37;\nselp.b32 %r0, 1000, 4, %p0;\nst.shared.u32 [%r0], %r0;\n",
    "mul.lo.s32 %r0, %i, 0x10000000;\nmul.wide.s32 %u0, %r0, 4;\nadd.s64 %u0, %u0, %in;\nld.global.u32 %r1, [%u0];\n",
};

TEST(faults_are_those_of_the_interpreter)
{
    static char text[4096];
    uint64_t in = device(1024), params[] = {in, in, 5};
    if (!generates()) SKIP("no code is generated on this machine");
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct simt_fault faults[2];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(" PARAMETERS ")\n{\n.shared .align 16 .b8 room[256];\n"
                      ".reg .b32 %%r<2>, %%i;\n.reg .b64 %%in, %%u<2>;\n.reg .pred %%p<2>;\nld.param.u64 %%in, [pin];\n"
                      "mov.u32 %%i, %%tid.x;\n%sst.shared.u32 [0], %%r1;\nret;\n}\n",
                 wrong[k]);
        struct simt_program *p = must_load(text);
        struct simt_launch l = {
            .function = simt_program_function(p, "k"), .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = params};
        for (int generated = 0; generated < 2; generated++) {
            setenv("LUNARRAY_JIT", generated ? "1" : "0", 1);
            if (simt_run(&l, &faults[generated])) FAIL("no fault in\n%s", text);
        }
        CHECK_STR(faults[1].text, faults[0].text);
        CHECK_INT(faults[1].kind, faults[0].kind);
        CHECK_INT(faults[1].thread[0], faults[0].thread[0]);
        CHECK(faults[1].address == faults[0].address);
        simt_program_free(p);
    }
}

/* ---- blocks that follow each other in generated code ---- */
static const char rows[] =
    HEAD ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pn)\n{\n.reg .b32 %x, %y, %z, %n, %r;\n"
         ".reg .b64 %in, %out, %u;\n.reg .pred %p;\nld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\n"
         "mov.u32 %x, %ctaid.x;\nmov.u32 %y, %ctaid.y;\nmov.u32 %z, %ctaid.z;\n"
         "mad.lo.s32 %y, %z, 3, %y;\nmad.lo.s32 %n, %y, 70, %x;\n"
         "mul.wide.u32 %u, %n, 4;\nadd.s64 %u, %u, %in;\nld.global.u32 %r, [%u];\n"
         "add.s32 %r, %r, 1;\nst.global.u32 [%u], %r;\n"
         "ld.param.u32 %r, [pn];\nsetp.ne.s32 %p, %n, %r;\n@%p bra $E;\nadd.s64 %out, %out, 1048576;\n"
         "$E:\nmov.u32 %r, %tid.x;\nmul.wide.u32 %u, %r, 4;\nadd.s64 %u, %u, %out;\nst.global.u32 [%u], %n;\n"
         "ret;\n}\n";

/* Every block comes once and knows which it is; one that faults is named, and those before it have been there. */
TEST(blocks_follow_each_other_along_rows)
{
    enum { ROW = 70, BLOCKS = ROW * 3 * 2, WARPS = 3, FAULTS = ROW * 4 + 41 };
    uint64_t in = device(BLOCKS * 4), out = device(WARPS * 128), params[] = {in, out, BLOCKS};
    const uint32_t *came = simt_host(in);
    struct simt_fault fault;
    struct simt_program *p = must_load(rows);
    struct simt_launch l = {
        .function = simt_program_function(p, "k"), .grid = {ROW, 3, 2}, .block = {WARPS * 32, 1, 1}, .params = params};
    if (!generates()) SKIP("no code is generated on this machine");
    setenv("LUNARRAY_JIT", "1", 1);
    for (int way = 0; way < 2; way++) {
        setenv("LUNARRAY_ISA", way ? "avx2" : "", 1);
        memset(simt_host(in), 0, BLOCKS * 4);
        params[2] = BLOCKS;
        CHECK(simt_run(&l, &fault));
        for (int k = 0; k < BLOCKS; k++) CHECK_INT(came[k], WARPS);
        params[2] = FAULTS;
        CHECK(!simt_run(&l, &fault));
        CHECK_INT(fault.block[0], 41);
        CHECK_INT(fault.block[1], 1);
        CHECK_INT(fault.block[2], 1);
        for (int k = 0; k < FAULTS; k++) CHECK_INT(came[k], 2 * WARPS);
    }
    simt_program_free(p);
}

/* ---- bits of indices ---- */
static const char *const bit_ops[] = {
    "and.b32 %r, %r, 31;\n",
    "and.b32 %r, %r, 15;\n",
    "and.b32 %r, %r, 96;\n",
    "and.b32 %r, 7, %r;\n",
    "and.b32 %r, %r, -32;\n",
    "or.b32 %r, %r, 64;\n",
    "or.b32 %r, %r, 16;\n",
    "xor.b32 %r, %r, 16;\n",
    "xor.b32 %r, 31, %r;\n",
    "xor.b32 %r, %r, -1;\n",
    "shr.u32 %r, %r, 5;\n",
    "shr.s32 %r, %r, 4;\n",
    "shr.u32 %r, %r, 1;\n",
    "shr.u32 %r, %r, 31;\n",
    "not.b32 %r, %r;\nand.b32 %r, %r, 31;\n",
    "neg.s32 %r, %r;\nshr.s32 %r, %r, 5;\n",
    "add.s32 %r, %r, 32;\nand.b32 %r, %r, 63;\n",
    "mad.lo.s32 %r, %r, 2, 64;\nand.b32 %r, %r, 63;\n",
    "mul.lo.s32 %r, %r, 3;\nshr.u32 %r, %r, 5;\n",
    "add.s32 %r, %r, 8;\nand.b32 %r, %r, 31;\n",
    "shl.b32 %r, %r, 27;\nshr.s32 %r, %r, 5;\n",
    "and.b32 %t, %r, 3;\nshl.b32 %r, %r, 1;\nsub.s32 %r, %r, %t;\n",
    "and.b32 %t, %r, 15;\nshl.b32 %r, %r, 1;\nsub.s32 %r, %r, %t;\nand.b32 %r, %r, 32;\n",
};

/* The place of a thread in its warp, or its warp, as kernels find them in blocks of several shapes, also in a loop that
 * goes on from what it found. */
TEST(bits_of_indices_are_those_of_all_lanes)
{
    enum { MOST = 256, WORDS_OUT = 4 * MOST };
    static const unsigned blocks[][3] = {{256, 1, 1}, {64, 4, 1}, {16, 16, 1}, {8, 8, 2}, {48, 4, 1}, {32, 1, 4}};
    static uint32_t want[WORDS_OUT];
    static char text[4096];
    uint64_t out = device(sizeof want), params[] = {out, out, 3};
    struct simt_fault fault;
    if (!generates()) SKIP("no code is generated on this machine");
    for (size_t k = 0; k < 2 * sizeof bit_ops / sizeof *bit_ops; k++) {
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(" PARAMETERS ")\n{\n.reg .b32 %%r, %%t, %%n, %%x, %%y, %%z, %%i;\n"
                      ".reg .b64 %%out, %%u;\n.reg .pred %%p;\nld.param.u64 %%out, [pout];\nmov.u32 %%x, %%tid.x;\n"
                      "mov.u32 %%y, %%tid.y;\nmov.u32 %%z, %%tid.z;\nmov.u32 %%n, %%ntid.y;\n"
                      "mad.lo.s32 %%n, %%z, %%n, %%y;\nmov.u32 %%i, %%ntid.x;\nmad.lo.s32 %%n, %%n, %%i, %%x;\n"
                      "mul.wide.u32 %%u, %%n, 16;\nadd.s64 %%out, %%out, %%u;\nmov.u32 %%r, %s;\nmov.u32 %%i, 4;\n"
                      "$L:\n%sst.global.u32 [%%out], %%r;\nadd.s64 %%out, %%out, 4;\nadd.s32 %%i, %%i, -1;\n"
                      "setp.ne.s32 %%p, %%i, 0;\n@%%p bra $L;\nret;\n}\n",
                 k % 2 ? "%y" : "%x", bit_ops[k / 2]);
        for (size_t b = 0; b < 3 * sizeof blocks / sizeof *blocks; b++) {
            setenv("LUNARRAY_JIT", b % 3 ? "1" : "0", 1);
            setenv("LUNARRAY_ISA", b % 3 == 1 ? "avx2" : "", 1);
            struct simt_program *p = must_load(text);
            struct simt_launch l = {.function = simt_program_function(p, "k"), .grid = {1, 1, 1}, .params = params};
            memcpy(l.block, blocks[b / 3], sizeof l.block);
            memset(simt_host(out), 0, sizeof want);
            if (!simt_run(&l, &fault)) FAIL("%s\n%s", fault.text, text);
            if (b % 3 == 0) memcpy(want, simt_host(out), sizeof want);
            if (memcmp(want, simt_host(out), sizeof want) != 0) FAIL("generated code of\n%s", text);
            simt_program_free(p);
        }
    }
}
