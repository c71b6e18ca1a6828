/* Loops that are one block of code, whose rounds hand values to each other in registers, against the interpreter:
 * random bodies over more values than there are registers, which change places, become constants or each lane's own,
 * in a few rounds and in more than a slice has, left by all threads at once or by each at its own time. */
#include <stdarg.h>
#include "tests/unit/isa.h"
#include "tests/unit/simt_text.h"

#define THREADS  96
#define PROGRAMS 300
#define ALIKE    12 /* values that begin as the same for all threads, or grow from thread to thread */
#define OWN      6  /* values of each thread's own; and as many floats */
#define WIDE     4  /* addresses: the first two move through the input */
#define RESULTS  (ALIKE + 2 * OWN + WIDE)
#define INPUT    8192

static uint32_t state;
static uint32_t pick(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(state >> 4) * n >> 28);
}

static char text[16384];
static size_t length;
static void add(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, args);
    va_end(args);
    if (length >= sizeof text) FAIL("the program is too long");
}

static void add_statement(void)
{
    static const char *const word[] = {"add.s32", "sub.s32", "mul.lo.s32", "xor.b32", "min.s32", "max.u32"};
    static const char *const real[] = {"add.f32", "mul.f32", "sub.f32", "max.f32"};
    uint32_t a = pick(ALIKE), b = pick(ALIKE), c = pick(OWN), d = pick(OWN);
    switch (pick(12)) {
    case 0: add("mov.u32 %%t, %%a%u;\nmov.u32 %%a%u, %%a%u;\nmov.u32 %%a%u, %%t;\n", a, a, b, b); break;
    case 1: add("mov.u32 %%t, %%o%u;\nmov.u32 %%o%u, %%o%u;\nmov.u32 %%o%u, %%t;\n", c, c, d, d); break;
    case 2: add("mov.f32 %%s, %%f%u;\nmov.f32 %%f%u, %%f%u;\nmov.f32 %%f%u, %%s;\n", c, c, d, d); break;
    case 3: add("%s %%a%u, %%a%u, %u;\n", word[pick(3)], a, b, pick(9)); break;
    case 4: add("%s %%a%u, %%a%u, %%a%u;\n", word[pick(6)], a, b, pick(ALIKE)); break;
    case 5: add("%s %%o%u, %%o%u, %%a%u;\n", word[pick(6)], c, d, a); break;
    case 6: add("%s %%f%u, %%f%u, %%f%u;\n", real[pick(4)], c, d, pick(OWN)); break;
    case 7: add("fma.rn.f32 %%f%u, %%f%u, 0.5, %%f%u;\n", c, d, c); break;
    case 8: add("mov.u32 %%a%u, %u;\n", a, pick(50)); break;
    case 9: add("ld.global.u32 %%o%u, [%%q%u+%u];\n", c, pick(2), 4 * pick(4)); break;
    case 10: add("add.s64 %%q2, %%q2, %%q3;\ncvt.s64.s32 %%q3, %%a%u;\n", a); break;
    default: add("mov.u32 %%a%u, %%o%u;\n", a, c); break;
    }
}

/* `parts`: threads leave the loop at different times. */
static void write_program(bool parts, uint32_t rounds)
{
    length = 0;
    add(HEAD ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
             ".reg .b32 %%a<%d>, %%o<%d>, %%t, %%i, %%n, %%x, %%y;\n.reg .f32 %%f<%d>, %%s;\n.reg .b64 %%q<%d>, %%in, "
             "%%out, %%u;\n.reg .pred %%p;\nld.param.u64 %%in, [pin];\nld.param.u64 %%out, [pout];\n"
             "mov.u32 %%x, %%tid.x;\nmov.u32 %%y, %%tid.y;\nmov.u32 %%t, %%ntid.x;\nmad.lo.s32 %%i, %%y, %%t, %%x;\n"
             "mul.wide.u32 %%u, %%i, %d;\nadd.s64 %%out, %%out, %%u;\n",
        ALIKE, OWN, OWN, WIDE, 8 * RESULTS);
    for (int k = 0; k < ALIKE; k++)
        add(k % 3 ? "mad.lo.s32 %%a%d, %%%c, %d, 7;\n" : "mov.u32 %%a%d, %%ctaid.%c;\n", k, k % 2 ? 'x' : 'y', k);
    for (int k = 0; k < OWN; k++) {
        add("mul.lo.s32 %%o%d, %%i, %%i;\nadd.s32 %%o%d, %%o%d, %d;\n", k, k, k, 77 * k);
        add("cvt.rn.f32.s32 %%f%d, %%o%d;\n", k, k);
    }
    add("mul.wide.u32 %%u, %%i, 4;\nadd.s64 %%q0, %%in, %%u;\nadd.s64 %%q1, %%in, 16;\nmov.u64 %%q2, 5;\n"
        "mov.u64 %%q3, 3;\nand.b32 %%n, %%i, 7;\n");
    if (parts)
        add("add.s32 %%n, %%n, %u;\n", rounds);
    else
        add("mov.u32 %%n, %u;\n", rounds);
    add("$L:\n");
    for (uint32_t k = 5 + pick(40); k; k--) add_statement();
    if (rounds < 100) add("add.s64 %%q0, %%q0, 4;\nadd.s64 %%q1, %%q1, 8;\n");
    bool flips = pick(2);
    add("sub.s32 %%n, %%n, 1;\nsetp.%s.s32 %%p, %%n, 0;\n@%s%%p bra $L;\n", flips ? "le" : "gt", flips ? "!" : "");
    for (int k = 0; k < ALIKE; k++) add("st.global.u32 [%%out+%d], %%a%d;\n", 8 * k, k);
    for (int k = 0; k < OWN; k++)
        add("st.global.u32 [%%out+%d], %%o%d;\nst.global.f32 [%%out+%d], %%f%d;\n", 8 * (ALIKE + k), k,
            8 * (ALIKE + OWN + k), k);
    add("sub.s64 %%q0, %%q0, %%in;\nsub.s64 %%q1, %%q1, %%in;\n");
    for (int k = 0; k < WIDE; k++) add("st.global.u64 [%%out+%d], %%q%d;\n", 8 * (ALIKE + 2 * OWN + k), k);
    add("ret;\n}\n");
}

/* Bits of a NaN may differ. */
static bool same(const uint32_t *a, const uint32_t *b, int k)
{
    bool number = k % (2 * RESULTS) / 2 >= ALIKE + OWN && k % (2 * RESULTS) / 2 < ALIKE + 2 * OWN;
    if (number && (a[k] & 0x7fffffff) > 0x7f800000 && (b[k] & 0x7fffffff) > 0x7f800000) return true;
    return a[k] == b[k];
}

TEST(loops_of_one_block_do_what_the_interpreter_does)
{
    static const unsigned shapes[][3] = {{96, 1, 1}, {16, 6, 1}, {32, 3, 1}, {8, 12, 1}};
    static const char *const ways[][2] = {{"0", ""}, {"1", "avx2"}, {"1", ""}};
    static uint32_t want[THREADS * 2 * RESULTS];
    uint64_t in = device(INPUT * 4), out = device(sizeof want), params[] = {in, out};
    for (uint32_t k = 0; k < INPUT; k++) ((uint32_t *)simt_host(in))[k] = k * 2654435761u;
    for (uint32_t seed = 0; seed < PROGRAMS; seed++) {
        state = seed * 2654435761u + 1;
        write_program(pick(3) == 0, seed % 20 ? 1 + pick(6) : 2500);
        const unsigned *block = shapes[seed % 4];
        for (int way = 0; way < 3; way++) {
            struct simt_fault fault;
            if (!take_isa(ways[way][1]) && way) continue;
            setenv("LUNARRAY_JIT", ways[way][0], 1);
            struct rt_error e = {0};
            struct simt_program *p = load(text, &e);
            if (!p) FAIL("%s\n%s", e.text, text);
            struct simt_launch l = {.function = simt_program_function(p, "k"),
                                    .grid = {1, 1, 1},
                                    .block = {block[0], block[1], block[2]},
                                    .params = params};
            uint32_t *got = simt_host(out);
            memset(got, 0, sizeof want);
            if (!simt_run(&l, &fault)) FAIL("program %u: %s\n%s", seed, fault.text, text);
            if (!way) memcpy(want, got, sizeof want);
            for (int k = 0; k < THREADS * 2 * RESULTS; k++)
                if (!same(got, want, k))
                    FAIL("program %u, way %d, thread %d, result %d: %08x instead of %08x\n%s", seed, way,
                         k / (2 * RESULTS), k % (2 * RESULTS) / 2, got[k], want[k], text);
            simt_program_free(p);
        }
    }
}
