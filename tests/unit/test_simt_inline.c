/* Bodies in the place of calls: the same functions under a name that is the toolkit's, which are inlined, and under
 * another, which stay calls. */
#include <stdlib.h>
#include "tests/unit/simt_text.h"

enum { N = 512 };

/* Loops, returns from several places, and arguments and a result of both sizes. */
static const char body[] =
    ".func (.param .b64 r) NAME (.param .b64 a, .param .b32 b) {\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [b];\n"
    "mov.b64 {%r2, %r3}, %rd1;\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra SMALL;\n"
    "LOOP:\nshl.b64 %rd2, %rd1, 1;\nxor.b64 %rd1, %rd2, %rd1;\nadd.u32 %r1, %r1, -3;\nsetp.gt.u32 %p2, %r1, 6;\n"
    "@%p2 bra LOOP;\nadd.u64 %rd3, %rd1, 5;\nst.param.b64 [r], %rd3;\n"
    "and.b32 %r4, %r2, 1;\nsetp.eq.s32 %p3, %r4, 0;\n@%p3 ret;\n"
    "SMALL:\nmov.b64 %rd4, {%r3, %r1};\nst.param.b64 [r+0], %rd4;\nret;\n}\n";
static const char caller[] =
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<12>;\n"
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "mul.wide.u32 %rd3, %r4, 8;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.u64 %rd6, [%rd4];\n"
    "and.b32 %r5, %r4, 3;\nsetp.eq.s32 %p1, %r5, 2;\n@%p1 bra PAST;\n"
    "{\n.param .b64 p0;\nst.param.b64 [p0+0], %rd6;\n.param .b32 p1;\nst.param.b32 [p1+0], %r4;\n.param .b64 r0;\n"
    "call.uni (r0), NAME, (p0, p1);\nld.param.b64 %rd6, [r0+0];\n}\n"
    "PAST:\n{\n.param .b64 p0;\nst.param.b64 [p0+0], %rd6;\n.param .b32 p1;\nst.param.b32 [p1+0], 11;\n.param .b64 r0;\n"
    "call (r0), NAME, (p0, p1);\nld.param.b64 %rd7, [r0+0];\n}\n"
    "add.s64 %rd8, %rd7, %rd6;\nsetp.gt.u64 %p2, %rd8, %rd7;\n@%p2 bra PAST2;\nnot.b64 %rd8, %rd8;\n"
    "PAST2:\nst.global.u64 [%rd5], %rd8;\nret;\n}\n";

/* The texts behind each other, with a name for the function. */
static char *text_of(const char *name, const char *function, const char *kernel)
{
    const char *parts[] = {HEAD, function, kernel};
    char *text = calloc(1, 8192), *at = text;
    if (!text) FAIL("out of memory");
    for (int k = 0; k < 3; k++)
        for (const char *s = parts[k]; *s;) {
            bool here = !strncmp(s, "NAME", 4);
            size_t n = here ? strlen(name) : 1;
            memcpy(at, here ? name : s, n);
            at += n;
            s += here ? 4 : 1;
        }
    return text;
}

static int calls_in(const struct ptx_module *m)
{
    int n = 0;
    for (size_t f = 0; f < m->func_count; f++)
        for (size_t k = 0; k < m->funcs[f].insn_count; k++)
            n += m->funcs[f].is_entry && !strcmp(m->funcs[f].insns[k].opcode, "call");
    return n;
}

/* Runs the kernel and says how many calls it has left. */
static int run_as(const char *name, const char *function, uint64_t in, uint64_t out)
{
    struct rt_error e = {0};
    struct simt_fault fault;
    char *text = text_of(name, function, caller);
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s", e.text);
    CHECK(ptx_inline(m, &e));
    int calls = calls_in(m);
    struct simt_program *p = simt_program_new(m, &e);
    if (!p) FAIL("%s", e.text);
    uint64_t params[] = {in, out};
    for (unsigned block = 32; block <= 64; block += 32) {
        struct simt_launch l = {.function = simt_program_function(p, "k"),
                                .grid = {N / block, 1, 1},
                                .block = {block, 1, 1},
                                .params = params};
        if (!simt_run(&l, &fault)) FAIL("%s", fault.text);
    }
    simt_program_free(p);
    ptx_free(m);
    free(text);
    return calls;
}

static void compare(const char *function, int calls)
{
    uint64_t in = device(N * 8), out = device(N * 8), want = device(N * 8), seed = 7;
    for (int i = 0; i < N; i++) ((uint64_t *)simt_host(in))[i] = next_random(&seed);
    CHECK_INT(run_as("other", function, in, want), 2);
    CHECK_INT(run_as("__internal_function", function, in, out), calls);
    const uint64_t *a = simt_host(out), *b = simt_host(want);
    for (int i = 0; i < N; i++)
        if (a[i] != b[i]) FAIL("thread %d: %llx, expected %llx", i, (unsigned long long)a[i], (unsigned long long)b[i]);
    simt_free(in), simt_free(out), simt_free(want);
}

TEST(the_toolkits_functions_are_no_calls_and_give_the_same)
{
    compare(body, 0);
}

/* What has memory of its own, takes parts of an argument, or calls, stays a call. */
TEST(functions_of_other_kinds_stay_calls)
{
    compare(".func (.param .b64 r) NAME (.param .b64 a, .param .b32 b) {\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
            "ld.param.u32 %r1, [a+4];\nld.param.u32 %r2, [b];\nadd.u32 %r3, %r1, %r2;\ncvt.u64.u32 %rd1, %r3;\n"
            "st.param.b64 [r], %rd1;\nret;\n}\n",
            2);
    compare(".func (.param .b64 r) NAME (.param .b64 a, .param .b32 b) {\n.local .align 8 .b8 m[16];\n"
            ".reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
            "ld.param.u64 %rd1, [a];\nld.param.u32 %r2, [b];\nst.local.u32 [m], %r2;\nld.local.u32 %r3, [m];\n"
            "cvt.u64.u32 %rd1, %r3;\nst.param.b64 [r], %rd1;\nret;\n}\n",
            2);
}
