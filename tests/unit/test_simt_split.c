/* Counters that several loops share, as registers of each: kernels give the same with them and without. */
#include "tests/unit/simt_text.h"

enum { N = 256 };

/* Parameters: an array, what is counted to. Between the two: what each thread makes of its number. */
#define START                                                                                                          \
    HEAD ".visible .entry k(.param .u64 out, .param .u64 most) {\n"                                                    \
         ".reg .pred %p<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<8>;\n"                                                   \
         "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [most];\n"                                                      \
         "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n"       \
         "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nmov.u32 %r10, 0;\nand.b32 %r5, %r4, 7;\n"
#define END "st.global.u32 [%rd4], %r10;\nret;\n}\n"

/* Runs the text with split counters or as it is, and says how many registers it has. */
static size_t run_as(const char *text, bool split, uint64_t out)
{
    struct rt_error e = {0};
    struct simt_fault fault;
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s", e.text);
    if (split) CHECK(ptx_split(m, &e));
    size_t registers = m->funcs[0].reg_count;
    struct simt_program *p = simt_program_new(m, &e);
    if (!p) FAIL("%s", e.text);
    uint64_t params[] = {out, 13};
    struct simt_launch l = {
        .function = simt_program_function(p, "k"), .grid = {N / 64, 1, 1}, .block = {64, 1, 1}, .params = params};
    if (!simt_run(&l, &fault)) FAIL("%s", fault.text);
    simt_program_free(p);
    ptx_free(m);
    return registers;
}

static void compare(const char *text, size_t more)
{
    uint64_t out = device(N * 4), want = device(N * 4);
    size_t registers = run_as(text, false, want);
    CHECK_INT(run_as(text, true, out) - registers, more);
    const uint32_t *a = simt_host(out), *b = simt_host(want);
    for (int i = 0; i < N; i++)
        if (a[i] != b[i]) FAIL("thread %d: %u, expected %u\n%s", i, a[i], b[i], text);
    CHECK(b[5] != b[6] && b[5] != 0);
    simt_free(out), simt_free(want);
}

#define FIRST "A:\nmad.lo.s32 %r10, %r10, 3, %r5;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 9;\n@%p1 bra A;\n"
#define SECOND                                                                                                         \
    "B:\nxor.b32 %r10, %r10, %r5;\nshl.b32 %r10, %r10, 1;\nadd.s32 %r5, %r5, 4;\nsetp.lt.s32 %p2, %r5, %r9;\n@%p2 bra B;\n"

TEST(a_loop_goes_on_where_the_one_before_it_stopped)
{
    compare(START FIRST SECOND END, 1);
    compare(START "setp.eq.s32 %p3, %r5, 3;\n@%p3 bra BETWEEN;\n" FIRST "BETWEEN:\n" SECOND END, 1);
}

TEST(what_is_read_behind_the_loop_is_given_back)
{
    compare(START FIRST SECOND "mad.lo.s32 %r10, %r10, 5, %r5;\n" END, 1);
    compare(START FIRST SECOND "C:\nadd.s32 %r10, %r10, %r5;\nadd.s32 %r5, %r5, 2;\nsetp.lt.s32 %p3, %r5, 40;\n"
                               "@%p3 bra C;\nadd.s32 %r10, %r10, %r5;\n" END,
            2);
    compare(START "mov.u32 %r6, 0;\nOUTER:\n" FIRST SECOND "sub.s32 %r5, %r5, 7;\nadd.s32 %r6, %r6, 1;\n"
                  "setp.lt.s32 %p4, %r6, 3;\n@%p4 bra OUTER;\nadd.s32 %r10, %r10, %r5;\n" END,
            1);
}

TEST(some_loops_stay_as_they_are)
{
    /* Set anew between the two. */
    compare(START FIRST "and.b32 %r5, %r4, 3;\n" SECOND END, 0);
    /* Left by a jump to where the number is read. */
    compare(START FIRST "B:\nxor.b32 %r10, %r10, %r5;\nadd.s32 %r10, %r10, %r4;\nsetp.gt.u32 %p3, %r10, 99;\n"
                        "@%p3 bra OUT;\nadd.s32 %r5, %r5, 4;\nsetp.lt.s32 %p2, %r5, %r9;\n@%p2 bra B;\n"
                        "OUT:\nadd.s32 %r10, %r10, %r5;\n" END,
            0);
    /* Entered in its middle. */
    compare(START FIRST
            "setp.eq.s32 %p3, %r4, 5;\n@%p3 bra IN;\nB:\nshl.b32 %r10, %r10, 1;\n"
            "IN:\nxor.b32 %r10, %r10, %r5;\nadd.s32 %r5, %r5, 4;\nsetp.lt.s32 %p2, %r5, %r9;\n@%p2 bra B;\n" END,
            0);
    /* Two additions in one. */
    compare(START FIRST "B:\nxor.b32 %r10, %r10, %r5;\nadd.s32 %r5, %r5, 1;\nadd.s32 %r10, %r10, %r5;\n"
                        "add.s32 %r5, %r5, 4;\nsetp.lt.s32 %p2, %r5, %r9;\n@%p2 bra B;\n" END,
            0);
}

/* The barrier's number is read, though it stands first: with what the first loop left there would be no such barrier.
 */
TEST(what_an_instruction_reads_first_is_given_back)
{
    compare(START "mov.u32 %r5, 40;\nA:\nadd.s32 %r10, %r10, %r5;\nadd.s32 %r5, %r5, -1;\nsetp.gt.s32 %p1, %r5, 20;\n"
                  "@%p1 bra A;\nB:\nadd.s32 %r10, %r10, %r4;\nadd.s32 %r5, %r5, -4;\nsetp.gt.s32 %p2, %r5, 4;\n"
                  "@%p2 bra B;\nbar.sync %r5, 64;\n" END,
            2);
}

/* By a jump to where nobody asks. */
TEST(a_loop_that_is_left_by_a_jump_has_its_own)
{
    compare(START FIRST "B:\nxor.b32 %r10, %r10, %r5;\nadd.s32 %r10, %r10, %r4;\nsetp.gt.u32 %p3, %r10, 99;\n"
                        "@%p3 bra OUT;\nadd.s32 %r5, %r5, 4;\nsetp.lt.s32 %p2, %r5, %r9;\n@%p2 bra B;\nOUT:\n" END,
            1);
}

/* The counter's last use is not its loop's last instruction: what is computed behind it has another place. */
TEST(a_loop_keeps_its_number_until_it_goes_round)
{
    compare(START FIRST
            "mov.u32 %r6, 0;\nB:\nadd.s32 %r6, %r6, 1;\nxor.b32 %r10, %r10, %r5;\nadd.s32 %r5, %r5, 4;\n"
            "mul.lo.s32 %r7, %r10, 3;\nadd.s32 %r10, %r10, %r7;\nsetp.lt.s32 %p2, %r6, 3;\n@%p2 bra B;\n" END,
            1);
}
