/* Additions in memory whose result nobody reads: exact totals from every type, mask and pattern of addresses, and that
 * whoever may look sees them in time. */
#include "tests/unit/simt_text.h"

#define BLOCKS   6
#define WIDTH    96  /* threads of a block */
#define TURNS    300 /* turns of the loop: more than it takes until additions are put off */
#define CELLS    61  /* without a suffix or brackets, as they go into the text */

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

/* A kernel whose threads run the body TURNS times. %rd1 to %rd3 are the arguments, %r1 is the thread, %r2 the block,
 * %r9 the thread in its block, %r10 the turn, %r5 a cell, which several lanes share, %rd5 and %rd6 where it lies in an
 * array of 4 and of 8 bytes at %rd1, %r6 and %rd7 a number to add; %p2 is true for some of the lanes. */
#define LOOP(before, body, after)                                                                                          \
    HEAD                                                                                                                   \
        ".visible .entry k(.param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"                                           \
        ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<4>; .reg .f64 %fd<4>;\n"                      \
        ".shared .align 8 .b8 tile[512];\n"                                                                                \
        "ld.param.u64 %rd1, [p1]; ld.param.u64 %rd2, [p2]; ld.param.u64 %rd3, [p3];\n"                                     \
        "mov.u32 %r9, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"                                              \
        "mad.lo.s32 %r1, %r2, %r3, %r9; mov.u32 %r10, 0; mov.u32 %r20, 0;\n" before "\nAGAIN:\n"                           \
        "mul.lo.u32 %r5, %r1, 7; mad.lo.u32 %r5, %r10, 13, %r5; rem.u32 %r5, %r5, " TEXT(                                  \
            CELLS) ";\n"                                                                                                   \
                   "add.u32 %r6, %r5, %r10; mul.wide.u32 %rd4, %r5, 4; add.u64 %rd5, %rd1, %rd4;\n"                        \
                   "add.u64 %rd6, %rd5, %rd4; cvt.u64.u32 %rd7, %r6; and.b32 %r7, %r5, 4; setp.ne.u32 %p2, %r7, 0;\n" body \
                   "\nadd.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, " TEXT(TURNS) "; @%p1 bra AGAIN;\n" after              \
                                                                                  "\nret;\n}\n"

struct totals {
    uint64_t all[CELLS], some[CELLS]; /* by all lanes; by those with %p2 */
};
static struct totals expected(void)
{
    struct totals t = {0};
    for (unsigned thread = 0; thread < BLOCKS * WIDTH; thread++)
        for (unsigned turn = 0; turn < TURNS; turn++) {
            unsigned cell = (thread * 7 + turn * 13) % CELLS;
            t.all[cell] += cell + turn;
            if (cell & 4) t.some[cell] += cell + turn;
        }
    return t;
}

static void check_cells(uint64_t cells, unsigned size, const uint64_t *want, const char *what)
{
    for (int k = 0; k < CELLS; k++) {
        uint64_t got = 0;
        memcpy(&got, (char *)simt_host(cells) + (size_t)k * size, size);
        if (got != want[k])
            FAIL("%s: cell %d is %llu, not %llu", what, k, (unsigned long long)got, (unsigned long long)want[k]);
    }
}

TEST(totals_are_exact)
{
    struct totals t = expected();
    static const struct {
        const char *text;
        unsigned size;
        bool some;
    } ways[] = {
        {LOOP("", "red.global.add.u32 [%rd5], %r6;", ""), 4, false},
        {LOOP("", "atom.global.add.s32 %r8, [%rd5], %r6;", ""), 4, false},
        {LOOP("", "red.add.u32 [%rd5], %r6;", ""), 4, false},
        {LOOP("", "red.relaxed.gpu.global.add.u32 [%rd5], %r6;", ""), 4, false},
        {LOOP("", "red.release.gpu.global.add.u32 [%rd5], %r6;", ""), 4, false},
        {LOOP("", "@%p2 red.global.add.u32 [%rd5], %r6;", ""), 4, true},
        {LOOP("", "@!%p2 bra SKIP; atom.global.add.u32 %r8, [%rd5], %r6; SKIP:", ""), 4, true},
        {LOOP("", "red.global.add.u64 [%rd6], %rd7;", ""), 8, false},
        {LOOP("", "@%p2 atom.global.add.u64 %rd8, [%rd6], %rd7;", ""), 8, true},
        {LOOP("", "add.u64 %rd6, %rd6, 4096; red.global.add.u64 [%rd6+-4096], %rd7;", ""), 8, false},
        {LOOP("", "atom.global.add.u32 %r8, [%rd5], %r6; add.u32 %r20, %r20, %r8;", "st.global.u32 [%rd2], %r20;"), 4,
         false},
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t args[3] = {device((size_t)CELLS * ways[k].size), device(4)};
        must_run(ways[k].text, BLOCKS, WIDTH, args);
        check_cells(args[0], ways[k].size, ways[k].some ? t.some : t.all, ways[k].text);
        simt_free(args[0]);
        simt_free(args[1]);
    }
}

TEST(old_values_are_every_number_once)
{
    enum { ALL = BLOCKS * WIDTH * TURNS };
    static const char *const ways[] = {
        LOOP("",
             "atom.global.add.u32 %r8, [%rd1], 1;\nmul.wide.u32 %rd9, %r8, 4; add.u64 %rd9, %rd9, %rd2;"
             "red.global.add.u32 [%rd9], 1;",
             ""),
        LOOP("",
             "atom.global.add.u64 %rd8, [%rd1], 1;\nshl.b64 %rd9, %rd8, 2; add.u64 %rd9, %rd9, %rd2;"
             "red.global.add.u32 [%rd9], 1;",
             ""),
        /* two for each: the second half is one higher */
        LOOP("",
             "@%p2 atom.global.add.u32 %r8, [%rd1], 1; @!%p2 atom.global.add.u32 %r8, [%rd1], 1;\n"
             "mul.wide.u32 %rd9, %r8, 4; add.u64 %rd9, %rd9, %rd2; red.global.add.u32 [%rd9], 1;",
             ""),
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t args[3] = {device(8), device(4 * ALL)};
        must_run(ways[k], BLOCKS, WIDTH, args);
        CHECK_INT(*(uint32_t *)simt_host(args[0]), ALL);
        const uint32_t *seen = simt_host(args[1]);
        for (int n = 0; n < ALL; n++)
            if (seen[n] != 1) FAIL("%s: %d came %u times", ways[k], n, seen[n]);
        simt_free(args[0]);
        simt_free(args[1]);
    }
}

#define ADD_4                                                                                                          \
    "red.global.add.u32 [%rd5], %r6; red.global.add.u32 [%rd5], %r6; red.global.add.u32 [%rd5], %r6;"                  \
    "red.global.add.u32 [%rd5], %r6;\n"
TEST(several_instructions_and_allocations)
{
    /* more of them than may be put off; two that take turns between two allocations, one of which is large */
    struct totals t = expected();
    uint64_t args[3] = {device(4 * CELLS), device(4 * CELLS), device(1 << 20)}, twelve[CELLS];
    must_run(LOOP("",
                  ADD_4 ADD_4 ADD_4
                  "and.b32 %r8, %r10, 64; setp.eq.u32 %p3, %r8, 0; selp.b64 %rd8, %rd2, %rd3, %p3;\n"
                  "add.u64 %rd8, %rd8, %rd4; red.global.add.u32 [%rd8], %r6;\n"
                  "selp.b64 %rd8, %rd3, %rd2, %p3; add.u64 %rd8, %rd8, %rd4; red.global.add.u32 [%rd8], %r6;",
                  ""),
             BLOCKS, WIDTH, args);
    must_run(LOOP("",
                  "and.b32 %r8, %r10, 64; setp.eq.u32 %p3, %r8, 0; selp.b64 %rd8, %rd2, %rd3, %p3;\n"
                  "add.u64 %rd8, %rd8, %rd4; red.global.add.u32 [%rd8], %r6;\n"
                  "selp.b64 %rd8, %rd3, %rd2, %p3; add.u64 %rd8, %rd8, %rd4; red.global.add.u32 [%rd8], %r6;",
                  ""),
             BLOCKS, WIDTH, args);
    for (int k = 0; k < CELLS; k++) twelve[k] = 12 * t.all[k];
    check_cells(args[0], 4, twelve, "12 additions");
    for (int k = 0; k < CELLS; k++) twelve[k] = 2 * t.all[k];
    check_cells(args[1], 4, twelve, "in turns");
    check_cells(args[2], 4, twelve, "in turns, the large one");
    for (int k = 0; k < 3; k++) simt_free(args[k]);
}

TEST(floating_point_totals)
{
    struct totals t = expected();
    uint64_t args[3] = {device(4 * CELLS), device(8 * CELLS)};
    must_run(LOOP("",
                  "cvt.rn.f32.u32 %f1, %r6; red.global.add.f32 [%rd5], %f1; cvt.rn.f64.u32 %fd1, %r6;\n"
                  "add.u64 %rd8, %rd2, %rd4; add.u64 %rd8, %rd8, %rd4; atom.global.add.f64 %fd2, [%rd8], %fd1;",
                  ""),
             BLOCKS, WIDTH, args);
    for (int k = 0; k < CELLS; k++) { /* all are below 2^24 */
        CHECK_NEAR(((float *)simt_host(args[0]))[k], (double)t.all[k], 0);
        CHECK_NEAR(((double *)simt_host(args[1]))[k], (double)t.all[k], 0);
    }
    simt_free(args[0]);
    simt_free(args[1]);
}

#define IN_TILE(size, body, load, add)                                                                                 \
    LOOP("mov.u32 %r12, tile; mad.lo.u32 %r13, %r9, 4, %r12; st.shared.u32 [%r13], 0;\n"                               \
         "add.u32 %r13, %r13, 256; setp.lt.u32 %p3, %r9, 64; @%p3 st.shared.u32 [%r13], 0; bar.sync 0;",               \
         "mad.lo.u32 %r11, %r5, " #size ", %r12; " body,                                                               \
         "bar.sync 0; setp.ge.u32 %p3, %r9, " TEXT(CELLS) "; @%p3 bra DONE;\n"                                         \
                                                          "mad.lo.u32 %r11, %r9, " #size                               \
                                                          ", %r12; mul.wide.u32 %rd9, %r9, " #size                     \
                                                          "; add.u64 %rd9, %rd9, %rd1;\n" load " " add " DONE:")
#define IN_TILE_32(body) IN_TILE(4, body, "ld.shared.u32 %r8, [%r11];", "red.global.add.u32 [%rd9], %r8;")
#define IN_TILE_64(body) IN_TILE(8, body, "ld.shared.u64 %rd8, [%r11];", "red.global.add.u64 [%rd9], %rd8;")
TEST(totals_in_shared_memory)
{
    struct totals t = expected();
    static const struct {
        const char *text;
        unsigned size;
        bool some;
    } ways[] = {
        {IN_TILE_32("atom.shared.add.u32 %r8, [%r11], %r6;"), 4, false},
        {IN_TILE_32("@%p2 red.shared.add.s32 [%r11], %r6;"), 4, true},
        {IN_TILE_32("add.u32 %r11, %r11, 64; red.shared.add.u32 [%r11+-64], %r6;"), 4, false},
        {IN_TILE_64("red.shared.add.u64 [%r11], %rd7;"), 8, false},
        {IN_TILE_64("@%p2 atom.shared.add.u64 %rd8, [%r11], %rd7;"), 8, true},
        {IN_TILE(4, "cvt.rn.f32.u32 %f1, %r6; @%p2 atom.shared.add.f32 %f2, [%r11], %f1;", "ld.shared.f32 %f1, [%r11];",
                 "cvt.rzi.u32.f32 %r8, %f1; red.global.add.u32 [%rd9], %r8;"),
         4, true},
        {IN_TILE(8, "cvt.rn.f64.u32 %fd1, %r6; red.shared.add.f64 [%r11], %fd1;", "ld.shared.f64 %fd1, [%r11];",
                 "cvt.rzi.u64.f64 %rd8, %fd1; red.global.add.u64 [%rd9], %rd8;"),
         8, false},
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t args[3] = {device((size_t)CELLS * ways[k].size)};
        must_run(ways[k].text, BLOCKS, WIDTH, args);
        check_cells(args[0], ways[k].size, ways[k].some ? t.some : t.all, ways[k].text);
        simt_free(args[0]);
    }
}

/* ---- who looks sees ---- */
/* A cell for each thread, at %rd5; %r20 counts what was seen wrong. */
#define OWN       "mul.wide.u32 %rd5, %r1, 4; add.u64 %rd5, %rd5, %rd1;\n"
#define EXPECT(n) "setp.ne.u32 %p3, %r8, " n "; selp.u32 %r14, 1, 0, %p3; add.u32 %r20, %r20, %r14;\n"
#define WRONG     "red.global.add.u32 [%rd2], %r20;"
TEST(a_thread_sees_its_own_additions)
{
    static const char *const ways[] = {
        LOOP("", OWN "red.global.add.u32 [%rd5], 1; ld.global.u32 %r8, [%rd5]; add.u32 %r15, %r10, 1;\n" EXPECT("%r15"),
             WRONG),
        /* some of the lanes */
        LOOP(
            "",
            OWN
            "red.global.add.u32 [%rd5], 1; add.u32 %r15, %r10, 1; mov.u32 %r8, %r15; @%p2 ld.global.u32 %r8, [%rd5];\n" EXPECT(
                "%r15"),
            WRONG),
        /* rarely, in a stretch of code of its own */
        LOOP("",
             OWN "red.global.add.u32 [%rd5], 1; rem.u32 %r16, %r10, 100; setp.ne.u32 %p4, %r16, 99; @%p4 bra NOT_YET;\n"
                 "ld.global.u32 %r8, [%rd5]; add.u32 %r15, %r10, 1;\n" EXPECT("%r15") "NOT_YET:",
             WRONG),
        /* two loads and two additions from one address without a jump */
        LOOP(
            "",
            OWN
            "ld.global.u32 %r8, [%rd5]; shl.b32 %r15, %r10, 1;\n" EXPECT("%r15") "red.global.add.u32 [%rd5], 1; ld.global.u32 %r8, [%rd5]; add.u32 %r15, %r15, 1;\n" EXPECT(
                "%r15") "red.global.add.u32 [%rd5], 1; ld.global.u32 %r8, [%rd5]; add.u32 %r15, %r15, 1;\n" EXPECT("%r15"),
            WRONG),
        /* a store, seldom, which starts from 0 again */
        LOOP("mov.u32 %r15, 0;",
             OWN "red.global.add.u32 [%rd5], 1; add.u32 %r15, %r15, 1; rem.u32 %r16, %r10, 120;\n"
                 "setp.ne.u32 %p4, %r16, 119; @%p4 bra NOT_YET; st.global.u32 [%rd5], 5; mov.u32 %r15, 5; NOT_YET:",
             "ld.global.u32 %r8, [%rd5];\n" EXPECT("%r15") WRONG),
        /* an exchange */
        LOOP("mov.u32 %r15, 0;",
             OWN "red.global.add.u32 [%rd5], 1; add.u32 %r15, %r15, 1; rem.u32 %r16, %r10, 120;\n"
                 "setp.ne.u32 %p4, %r16, 119; @%p4 bra NOT_YET; atom.global.exch.b32 %r8, [%rd5], 0;\n" EXPECT(
                     "%r15") "mov.u32 %r15, 0; NOT_YET:",
             WRONG),
        /* what another thread of the block has added, behind a barrier */
        LOOP(
            "",
            OWN
            "red.global.add.u32 [%rd5], 1; rem.u32 %r16, %r10, 100; setp.ne.u32 %p4, %r16, 99; @%p4 bra NOT_YET;\n"
            "bar.sync 0; xor.b32 %r18, %r9, 32; setp.ge.u32 %p5, %r18, %r3; selp.u32 %r17, %r9, %r18, %p5; mad.lo.u32 %r17, %r2, %r3, %r17;\n"
            "mul.wide.u32 %rd9, %r17, 4; add.u64 %rd9, %rd9, %rd1; ld.global.u32 %r8, [%rd9]; add.u32 %r15, %r10, 1;\n" EXPECT(
                "%r15") "bar.sync 0; NOT_YET:",
            WRONG),
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t args[3] = {device(4 * BLOCKS * WIDTH), device(4)};
        must_run(ways[k], BLOCKS, WIDTH, args);
        if (*(uint32_t *)simt_host(args[1])) FAIL("seen wrong %u times: %s", *(uint32_t *)simt_host(args[1]), ways[k]);
        simt_free(args[0]);
        simt_free(args[1]);
    }
}

/* Block 1 waits for what the threads of block 0 say at %rd2, and then looks at what they have added. */
#define WAIT(goal)                                                                                                     \
    "setp.eq.u32 %p3, %r2, 0; @%p3 bra BEGIN; LOOK: ld.volatile.global.u32 %r8, [%rd2];\n"                             \
    "setp.lt.u32 %p3, %r8, " goal "; @%p3 bra LOOK;\n"
TEST(other_blocks_see_them)
{
    static const char *const ways[] = {
        /* behind a fence and a store */
        LOOP(WAIT("1") "fence.acq_rel.gpu; ld.global.u32 %r8, [%rd1]; st.global.u32 [%rd3], %r8; bra DONE; BEGIN:",
             "red.global.add.u32 [%rd1], 1;", "bar.sync 0; membar.gl; st.global.u32 [%rd2], 1; DONE:"),
        /* behind a releasing addition */
        LOOP(WAIT(TEXT(
                 WIDTH)) "fence.acq_rel.gpu; ld.global.u32 %r8, [%rd1]; st.global.u32 [%rd3], %r8; bra DONE; BEGIN:",
             "red.global.add.u32 [%rd1], 1;", "red.release.gpu.global.add.u32 [%rd2], 1; DONE:"),
        /* in the end, with nothing else: the block that adds is over */
        LOOP(WAIT("28800") "st.global.u32 [%rd3], %r8; bra DONE; BEGIN:", "red.global.add.u32 [%rd2], 1;", "DONE:"),
        /* or goes on and waits for an answer */
        LOOP(WAIT("28800") "st.global.u32 [%rd3], %r8; membar.gl; st.volatile.global.u32 [%rd1], 1; bra DONE; BEGIN:",
             "red.global.add.u32 [%rd2], 1;",
             "HEAR: ld.volatile.global.u32 %r8, [%rd1]; setp.eq.u32 %p3, %r8, 0; @%p3 bra HEAR; DONE:"),
    };
    CHECK_INT(WIDTH * TURNS, 28800);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t args[3] = {device(4), device(4), device(4)};
        must_run(ways[k], 2, WIDTH, args);
        CHECK_INT(*(uint32_t *)simt_host(args[2]), WIDTH * TURNS);
        for (int n = 0; n < 3; n++) simt_free(args[n]);
    }
}

/* ---- wrong addresses ---- */
TEST(wrong_addresses_are_reported)
{
    static const struct {
        const char *text;
        enum simt_fault_kind kind;
        const char *words;
    } ways[] = {
        {LOOP("",
              "setp.eq.u32 %p3, %r10, 200; setp.eq.and.u32 %p3, %r9, 37, %p3; selp.b64 %rd5, 0, %rd5, %p3;\n"
              "red.global.add.u32 [%rd5], 1;",
              ""),
         SIMT_FAULT_ADDRESS, "write of 4 bytes at 0x0, a null pointer"},
        {LOOP("",
              "setp.eq.u32 %p3, %r10, 200; setp.eq.and.u32 %p3, %r9, 37, %p3; add.u64 %rd8, %rd1, 244;\n"
              "selp.b64 %rd5, %rd8, %rd5, %p3; red.global.add.u32 [%rd5], 1;",
              ""),
         SIMT_FAULT_ADDRESS, "write of 4 bytes at "},
        {LOOP("",
              "setp.eq.u32 %p3, %r10, 200; setp.eq.and.u32 %p3, %r9, 37, %p3; add.u64 %rd8, %rd1, 2;\n"
              "selp.b64 %rd5, %rd8, %rd5, %p3; atom.global.add.u32 %r8, [%rd5], 1;",
              ""),
         SIMT_FAULT_MISALIGNED, "which is not a multiple of 4"},
        {LOOP("",
              "setp.eq.u32 %p3, %r9, 37; mov.u32 %r11, tile; selp.u32 %r12, 512, 8, %p3; add.u32 %r11, %r11, %r12;\n"
              "red.shared.add.u32 [%r11], 1;",
              ""),
         SIMT_FAULT_ADDRESS, "of shared memory"},
        {LOOP("",
              "setp.eq.u32 %p3, %r9, 37; mov.u32 %r11, tile; selp.u32 %r12, 508, 8, %p3; add.u32 %r11, %r11, %r12;\n"
              "atom.shared.add.u64 %rd8, [%r11], %rd7;",
              ""),
         SIMT_FAULT_MISALIGNED, "which is not a multiple of 8"},
        {LOOP("",
              "setp.eq.u32 %p3, %r9, 37; mov.u32 %r11, tile; selp.u32 %r12, -8, 0, %p3; add.u32 %r11, %r11, %r12;\n"
              "red.shared.add.f32 [%r11], 0f3F800000;",
              ""),
         SIMT_FAULT_ADDRESS, "of shared memory"},
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        struct simt_fault fault;
        uint64_t args[3] = {device(4 * CELLS)};
        CHECK(!run_text(ways[k].text, 1, WIDTH, args, &fault));
        CHECK_INT(fault.kind, ways[k].kind);
        CHECK_INT(fault.thread[0], 37);
        CHECK_HAS(fault.text, ways[k].words);
        simt_free(args[0]);
    }
}
