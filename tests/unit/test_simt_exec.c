/* The executor: loads, divergence, barriers, faults. What each instruction computes is in test_simt_insn_*.c. */
#include <pthread.h>
#include "runtime/interrupt.h"
#include "tests/unit/simt_text.h"

/* A kernel whose thread i loads %a, %b, %c (8 bytes each, from three arrays) and stores %d. */
static const char *lane_kernel(const char *body)
{
    static char text[8192];
    snprintf(text, sizeof text,
             HEAD
             ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n"
             ".reg .pred %%p<8>; .reg .b16 %%h<16>; .reg .b32 %%r<32>; .reg .b64 %%rd<32>;\n"
             ".reg .f32 %%f<16>; .reg .f64 %%fd<16>;\n"
             "ld.param.u64 %%rd1, [pa]; ld.param.u64 %%rd2, [pb]; ld.param.u64 %%rd3, [pc]; ld.param.u64 %%rd4, [pd];\n"
             "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x;\n"
             "mad.lo.s32 %%r1, %%r2, %%r3, %%r1; mul.wide.u32 %%rd5, %%r1, 8;\n"
             "add.u64 %%rd1, %%rd1, %%rd5; add.u64 %%rd2, %%rd2, %%rd5; add.u64 %%rd3, %%rd3, %%rd5;"
             "add.u64 %%rd4, %%rd4, %%rd5;\n"
             "ld.global.u64 %%rd11, [%%rd1]; ld.global.u64 %%rd12, [%%rd2]; ld.global.u64 %%rd13, [%%rd3];\n"
             "cvt.u32.u64 %%r11, %%rd11; cvt.u32.u64 %%r12, %%rd12; cvt.u32.u64 %%r13, %%rd13;\n"
             "cvt.u16.u32 %%h11, %%r11; cvt.u16.u32 %%h12, %%r12; cvt.u16.u32 %%h13, %%r13;\n"
             "mov.b32 %%f11, %%r11; mov.b32 %%f12, %%r12; mov.b32 %%f13, %%r13;\n"
             "mov.b64 %%fd11, %%rd11; mov.b64 %%fd12, %%rd12; mov.b64 %%fd13, %%rd13;\n"
             "mov.u64 %%rd10, 0; mov.u32 %%r10, 0; mov.u16 %%h10, 0;\n"
             "%s\nret;\n}\n",
             body);
    return text;
}

static const uint64_t edges[] = {
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
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0x80000001,
    0xffffffff,
    0xfffffffe,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0x3f800000,
    0xbf800000,
    0x00800000,
    0x007fffff,
    0x80000000,
    0x7f800000,
    0xff800000,
    0x7fc00000,
    0x4b000001,
    0x3effffff,
    0x5f000000,
    0xcf000000,
    0x4f800000,
    0x3ff0000000000000,
    0xbff8000000000000,
    0x7ff0000000000000,
    0x7ff8000000000000,
    0x0010000000000000,
    0x000fffffffffffff,
    0x43e0000000000000,
    0xc1e0000000000001,
    0x41efffffffe00000,
    0x3c00,
    0x7c00,
    0x7e00,
    0x0001,
    0x03ff,
    0x7bff,
    0xc500,
    0x3555,
};
#define EDGES (sizeof edges / sizeof *edges)
enum { N = 2048 };
static uint64_t in_a[N], in_b[N], in_c[N], out_d[N];

static void run_lanes(const char *body)
{
    static uint64_t a, b, c, d;
    uint64_t seed = 88172645463325252u;
    if (!a) {
        a = device(sizeof in_a), b = device(sizeof in_b), c = device(sizeof in_c), d = device(sizeof out_d);
        for (int i = 0; i < N; i++) {
            uint64_t *into[] = {&in_a[i], &in_b[i], &in_c[i]};
            for (int k = 0; k < 3; k++) {
                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                *into[k] = seed >> 60 < 3 ? seed * 0x9e3779b97f4a7c15u : edges[(seed >> 20) % EDGES];
            }
        }
        memcpy(simt_host(a), in_a, sizeof in_a), memcpy(simt_host(b), in_b, sizeof in_b);
        memcpy(simt_host(c), in_c, sizeof in_c);
    }
    memset(simt_host(d), 0xEE, sizeof out_d);
    struct simt_fault fault;
    uint64_t params[] = {a, b, c, d};
    if (!run_text(lane_kernel(body), N / 128, 128, params, &fault)) FAIL("%s: %s", body, fault.text);
    memcpy(out_d, simt_host(d), sizeof out_d);
}

#define ST32 " st.global.u64 [%rd4], 0; st.global.u32 [%rd4], %r10;"
#define ST64 " st.global.u64 [%rd4], %rd10;"
#define STH  " cvt.u32.u16 %r10, %h10;" ST32

/* Runs the instruction; x, y, z are the raw inputs of a lane, and the expression is what must come out. */
#define EXPECT(text, expr)                                                                                             \
    do {                                                                                                               \
        run_lanes(text);                                                                                               \
        for (int i_ = 0; i_ < N; i_++) {                                                                               \
            uint64_t x = in_a[i_], y = in_b[i_], z = in_c[i_], want_ = (expr);                                         \
            (void)x, (void)y, (void)z;                                                                                 \
            if (out_d[i_] != want_)                                                                                    \
                FAIL("%s of %" PRIx64 ", %" PRIx64 ", %" PRIx64 " gave %" PRIx64 ", expected %" PRIx64, text, x, y, z, \
                     out_d[i_], want_);                                                                                \
        }                                                                                                              \
    } while (0)
#define X ((uint32_t)x)
#define Y ((uint32_t)y)

static float f32(uint64_t v)
{
    uint32_t b = (uint32_t)v;
    float f;
    memcpy(&f, &b, 4);
    return f;
}

TEST(loads_of_every_width)
{
    EXPECT("ld.global.u8 %r10, [%rd1+3];" ST32, x >> 24 & 255);
    EXPECT("ld.global.s8 %rd10, [%rd1+1];" ST64, (uint64_t)(int8_t)(x >> 8));
    EXPECT("ld.global.s16 %r10, [%rd1+2];" ST32, (uint32_t)(int16_t)(x >> 16));
    EXPECT("ld.global.v2.u32 {%r9, %r10}, [%rd1]; add.u32 %r10, %r10, %r9;" ST32, (uint32_t)(x + (x >> 32)));
    EXPECT("ld.global.v4.u16 {%h1, %h2, %h3, %h10}, [%rd1];" STH, x >> 48);
    EXPECT("ld.u64 %rd10, [%rd1];" ST64, x);
    EXPECT("setp.lt.u32 %p1, %r11, %r12; @%p1 ld.global.u64 %rd10, [%rd2];" ST64, X < Y ? y : 0);
    EXPECT("mov.b64 {%r8, %r9}, %rd11; mov.b64 %rd10, {%r9, %r8};" ST64, x << 32 | x >> 32);
    EXPECT("{ .local .align 8 .b8 buf[64]; mov.u64 %rd20, buf; and.b64 %rd21, %rd12, 56; add.u64 %rd20, %rd20, %rd21;"
           " st.local.u64 [%rd20], %rd11; cvta.local.u64 %rd20, %rd20; ld.u64 %rd10, [%rd20]; }" ST64,
           x);
}

/* ---- control ---- */
#define KERNEL(params, body)                                                                                           \
    HEAD ".visible .entry k(" params ")\n{\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n" body "\n}\n"
#define OUT ".param .u64 out"
#define GET "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"

TEST(lanes_part_and_meet)
{
    /* Collatz steps of the thread's number: loops of different length, then all meet in a vote. */
    uint64_t out = device(4 * 64);
    struct simt_fault fault;
    CHECK(run_text(KERNEL(OUT, GET "mov.u32 %r2, %r1; add.u32 %r2, %r2, 1; mov.u32 %r3, 0;\n"
                                   "L: setp.eq.u32 %p1, %r2, 1; @%p1 bra E;\n"
                                   "and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra EVEN;\n"
                                   "mad.lo.u32 %r2, %r2, 3, 1; bra N; EVEN: shr.u32 %r2, %r2, 1;\n"
                                   "N: add.u32 %r3, %r3, 1; bra L;\n"
                                   "E: vote.sync.ballot.b32 %r5, %p1, 0xffffffff; setp.ne.u32 %p3, %r5, 0xffffffff;\n"
                                   "@%p3 trap; activemask.b32 %r6; setp.ne.u32 %p3, %r6, 0xffffffff; @%p3 trap;\n"
                                   "st.global.u32 [%rd3], %r3; ret;"),
                   1, 64, &out, &fault));
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t steps = 0;
        for (uint32_t v = t + 1; v != 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
        CHECK_INT(((uint32_t *)simt_host(out))[t], steps);
    }
}

/* %r5 is read before it is written in each round but the first; %r6 is written by some lanes only; both live on while
 * short-lived registers come and go, in the order in which they would take over a slot that is thought to be free. */
TEST(registers_live_around_loops)
{
    uint64_t out = device(4 * 64);
    struct simt_fault fault;
    CHECK(run_text(KERNEL(OUT, GET "mov.u32 %r4, 0; mov.u32 %r5, 1; mov.u32 %r6, 2; add.u32 %r7, %r1, 3;\n"
                                   "L: add.u32 %r10, %r5, %r7; add.u32 %r11, %r10, %r10; xor.b32 %r12, %r11, %r1;\n"
                                   "and.b32 %r13, %r12, 1; setp.eq.u32 %p1, %r13, 1; @%p1 bra N;\n"
                                   "add.u32 %r6, %r6, %r12; mul.lo.u32 %r14, %r6, 3; add.u32 %r15, %r14, %r4;\n"
                                   "bra M; N: shr.u32 %r16, %r12, 1; add.u32 %r15, %r16, 5;\n"
                                   "M: @%p1 add.u32 %r6, %r6, %r15; add.u32 %r5, %r15, %r6; add.u32 %r4, %r4, 1;\n"
                                   "setp.lt.u32 %p2, %r4, %r7; @%p2 bra L;\n"
                                   "add.u32 %r17, %r5, %r6; st.global.u32 [%rd3], %r17; ret;"),
                   1, 64, &out, &fault));
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t a = 0, b = 1, c = 2, end = t + 3;
        do {
            uint32_t x = 2 * (b + end) ^ t, y;
            bool odd = x & 1;
            if (odd) {
                y = (x >> 1) + 5;
                c += y;
            } else {
                c += x;
                y = c * 3 + a;
            }
            b = y + c;
            a++;
        } while (a < end);
        CHECK_INT(((uint32_t *)simt_host(out))[t], b + c);
    }
}

/* What is the same in all blocks is computed once, and what only looks so is not. */
TEST(blocks_do_not_see_each_other)
{
    enum { BLOCKS = 200, THREADS = 40 };
    uint64_t out = device(4 * BLOCKS * THREADS);
    struct simt_fault fault;
    CHECK(run_text(
        KERNEL(OUT, "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;\n"
                    "mul.lo.u32 %r4, %r1, 7; add.u32 %r4, %r4, %r3; mul.lo.u32 %r5, %r1, 3; mov.u32 %r6, 5;\n"
                    "mad.lo.u32 %r7, %r3, %r2, %r1; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd3, %rd1, %rd2;\n"
                    "setp.eq.u32 %p1, %r1, 3; @%p1 mov.u32 %r5, 1000; add.u32 %r8, %r4, %r5;\n"
                    "add.u32 %r8, %r8, %r6; st.global.u32 [%rd3], %r8; ret;"),
        BLOCKS, THREADS, &out, &fault));
    for (int b = 0; b < BLOCKS; b++)
        for (int t = 0; t < THREADS; t++)
            CHECK_INT(((int *)simt_host(out))[b * THREADS + t], t * 7 + b + (t == 3 ? 1000 : 3 * t) + 5);
}

TEST(spin_locks_within_a_warp_make_progress)
{
    uint64_t out = device(8);
    struct simt_fault fault;
    CHECK(run_text(KERNEL(OUT, GET "L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra L;\n"
                                   "ld.global.u32 %r3, [%rd1+4]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1+4], %r3;\n"
                                   "membar.gl; atom.global.exch.b32 %r4, [%rd1], 0; ret;"),
                   4, 96, &out, &fault));
    CHECK_INT(((uint32_t *)simt_host(out))[1], 4 * 96);
}

TEST(barriers_with_counts)
{
    /* Warp 0 produces through barrier 1 (arrive), warp 1 consumes (sync); warp 2 never takes part. */
    uint64_t out = device(4 * 96);
    struct simt_fault fault;
    CHECK(
        run_text(KERNEL(OUT, ".shared .align 4 .b8 s[128];\n" GET
                             "mov.u32 %r5, s; and.b32 %r6, %r1, 31; shl.b32 %r7, %r6, 2; add.u32 %r5, %r5, %r7;\n"
                             "shr.u32 %r8, %r1, 5; setp.eq.u32 %p1, %r8, 2; @%p1 bra D; setp.eq.u32 %p2, %r8, 0;\n"
                             "@%p2 bra P; bar.sync 1, 64; ld.shared.u32 %r9, [%r5]; st.global.u32 [%rd3], %r9; bra D;\n"
                             "P: add.u32 %r9, %r6, 100; st.shared.u32 [%r5], %r9; bar.arrive 1, 64; D: ret;"),
                 1, 96, &out, &fault));
    for (int t = 0; t < 32; t++) CHECK_INT(((uint32_t *)simt_host(out))[32 + t], 100 + t);
}

TEST(barrier_reduction_and_exited_threads)
{
    uint64_t out = device(4 * 70);
    struct simt_fault fault;
    CHECK(
        run_text(KERNEL(OUT, GET "setp.ge.u32 %p1, %r1, 65; @%p1 exit; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 1;\n"
                                 "bar.red.popc.u32 %r3, 0, %p2; st.global.u32 [%rd3], %r3; ret;"),
                 1, 70, &out, &fault));
    for (int t = 0; t < 65; t++) CHECK_INT(((uint32_t *)simt_host(out))[t], 32);
    CHECK_INT(((uint32_t *)simt_host(out))[65], 0);
}

TEST(shuffles)
{
    uint64_t out = device(4 * 32);
    struct simt_fault fault;
    const char *ops[] = {"shfl.sync.down.b32 %r3|%p1, %r1, 3, 31, -1;", "shfl.sync.up.b32 %r3|%p1, %r1, 2, 0x1800, -1;",
                         "shfl.sync.bfly.b32 %r3|%p1, %r1, 5, 31, -1;",
                         "shfl.sync.idx.b32 %r3|%p1, %r1, 2, 0x1807, -1;"};
    for (int k = 0; k < 4; k++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s",
                 HEAD ".visible .entry k(" OUT ")\n{\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n" GET,
                 ops[k], "selp.u32 %r4, 1000, 0, %p1; add.u32 %r3, %r3, %r4; st.global.u32 [%rd3], %r3; ret;\n}\n");
        CHECK(run_text(text, 1, 32, &out, &fault));
        for (int l = 0; l < 32; l++) {
            int want = k == 0   ? (l + 3 < 32 ? l + 3 + 1000 : l)
                       : k == 1 ? (l % 8 >= 2 ? l - 2 + 1000 : l)
                       : k == 2 ? (l ^ 5) + 1000
                                : l / 8 * 8 + 2 + 1000;
            CHECK_INT(((int *)simt_host(out))[l], want);
        }
    }
}

/* Reading a lane that takes no part gives the reader's own value, and 0 where it has no thread; being missing from the
 * own mask is an error. */
TEST(shuffles_of_some_lanes)
{
    uint64_t out = device(4 * 32);
    struct simt_fault fault;
    CHECK(run_text(KERNEL(OUT, GET "add.u32 %r2, %r1, 1; setp.ge.u32 %p1, %r1, 8; @%p1 bra E;\n"
                                   "shfl.sync.down.b32 %r3|%p2, %r2, 4, 31, 0xff; add.u32 %r2, %r2, %r3;\n"
                                   "E: st.global.u32 [%rd3], %r2; ret;"),
                   1, 32, &out, &fault));
    for (int l = 0; l < 32; l++) CHECK_INT(((int *)simt_host(out))[l], l < 4 ? 2 * l + 6 : l < 8 ? 2 * l + 2 : l + 1);
    /* Two groups that execute one instruction together are still two. */
    CHECK(run_text(KERNEL(OUT, GET "setp.lt.u32 %p1, %r1, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p1;\n"
                                   "shfl.sync.bfly.b32 %r3, %r1, 24, 31, %r4; st.global.u32 [%rd3], %r3; ret;"),
                   1, 32, &out, &fault));
    for (int l = 0; l < 32; l++) CHECK_INT(((int *)simt_host(out))[l], l);
    CHECK(run_text(KERNEL(OUT, GET "shfl.sync.down.b32 %r3, %r1, 16, 31, -1; st.global.u32 [%rd3], %r3; ret;"), 1, 20,
                   &out, &fault));
    for (int l = 0; l < 20; l++) CHECK_INT(((int *)simt_host(out))[l], l < 4 ? l + 16 : l < 16 ? 0 : l);
    CHECK(!run_text(KERNEL(OUT, GET "shfl.sync.down.b32 %r3, %r1, 4, 31, 0xff; ret;"), 1, 32, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_BARRIER);
    CHECK_HAS(fault.text, "lane 8 executes shfl.sync.down.b32 with the mask 0x000000ff, which lacks it");
    CHECK_INT(fault.thread[0], 8);
}

TEST(functions_recurse)
{
    uint64_t out = device(4 * 32);
    struct simt_fault fault;
    const char *text = HEAD ".func (.param .b32 r) f(.param .b32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<8>;\n"
                            "ld.param.u32 %r1, [n]; mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 2; @%p1 bra E;\n"
                            "sub.u32 %r3, %r1, 1; { .param .b32 a; st.param.b32 [a], %r3; .param .b32 v;\n"
                            "call.uni (v), f, (a); ld.param.b32 %r4, [v]; } mul.lo.u32 %r2, %r1, %r4;\n"
                            "E: st.param.b32 [r], %r2; ret;\n}\n"
                            ".visible .entry k(" OUT ")\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>;\n" GET
                            "and.b32 %r2, %r1, 7; { .param .b32 a; st.param.b32 [a], %r2; .param .b32 v;\n"
                            "call.uni (v), f, (a); ld.param.b32 %r4, [v]; } st.global.u32 [%rd3], %r4; ret;\n}\n";
    static const int factorials[] = {1, 1, 2, 6, 24, 120, 720, 5040};
    CHECK(run_text(text, 1, 32, &out, &fault));
    for (int l = 0; l < 32; l++) CHECK_INT(((int *)simt_host(out))[l], factorials[l & 7]);
}

TEST(endless_recursion_is_a_fault)
{
    struct simt_fault fault;
    CHECK(!run_text(HEAD ".func f()\n{\ncall.uni f;\nret;\n}\n.visible .entry k()\n{\ncall.uni f;\nret;\n}\n", 1, 32,
                    NULL, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_NOMEM);
    CHECK_HAS(fault.text, "nested");
}

/* ---- faults ---- */
TEST(wrong_addresses_are_named)
{
    uint64_t out = device(4096);
    struct simt_fault fault;
    CHECK(!run_text(KERNEL(OUT, GET "st.global.u32 [%rd3+4096], %r1; ret;"), 2, 64, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_ADDRESS);
    CHECK_HAS(fault.text, "write of 4 bytes");
    CHECK_HAS(fault.text, "0 bytes past the end of an allocation of 4096 bytes");
    CHECK_INT(fault.block[0], 0);
    CHECK_INT(fault.thread[0], 0);
    CHECK_STR(fault.kernel, "k");
    CHECK_INT(fault.address, out + 4096);
    CHECK_STR(fault.text + fault.access_length, ", 0 bytes past the end of an allocation of 4096 bytes");
    uint64_t small = device(24); /* a neighbour that the access was not meant for */
    CHECK(small > out);
    CHECK(!run_text(KERNEL(OUT, GET "st.global.u32 [%rd1+4304], %r1; ret;"), 1, 1, &out, &fault));
    CHECK_HAS(fault.text, "208 bytes past the end of an allocation of 4096 bytes");
    CHECK(!run_text(KERNEL(OUT, GET "st.global.u32 [%rd1+-4], %r1; ret;"), 1, 1, &small, &fault));
    CHECK_HAS(fault.text, "4 bytes before an allocation of 24 bytes");
    CHECK(!run_text(KERNEL(OUT, GET "ld.global.u32 %r2, [%rd3+4000]; ret;"), 1, 32, &out, &fault));
    CHECK_INT(fault.thread[0], 24);
    CHECK_HAS(fault.text, "read of 4 bytes");
    CHECK(!run_text(KERNEL(OUT, GET "ld.global.u32 %r2, [%rd3+2]; ret;"), 1, 32, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_MISALIGNED);
    CHECK(!run_text(KERNEL(OUT, "mov.u64 %rd1, 0; ld.u32 %r2, [%rd1]; ret;"), 1, 1, &out, &fault));
    CHECK_HAS(fault.text, "null pointer");
    CHECK(!run_text(KERNEL(OUT, ".shared .align 4 .b8 s[64];\n" GET "mov.u32 %r5, s; shl.b32 %r6, %r1, 2;"
                                "add.u32 %r5, %r5, %r6; st.shared.u32 [%r5], %r1; ret;"),
                    1, 32, &out, &fault));
    CHECK_HAS(fault.text, "shared memory");
    CHECK_INT(fault.thread[0], 16);
    CHECK(
        !run_text(KERNEL(OUT, GET "mov.u64 %rd5, 0x7fffffffffffff00; st.u32 [%rd5], %r1; ret;"), 1, 32, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_ADDRESS);
}

TEST(deadlocks_are_found)
{
    struct simt_fault fault;
    uint64_t out = device(64);
    CHECK(
        !run_text(KERNEL(OUT, GET "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 1, 64; ret; A: bar.sync 2, 64; ret;"),
                  1, 32, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_DEADLOCK);
    CHECK_HAS(fault.text, "barrier");
    CHECK(!run_text(
        KERNEL(OUT, GET "setp.lt.u32 %p1, %r1, 16; @%p1 bra A; bar.sync 0; A: bar.warp.sync 0xffff0000; ret;"), 1, 32,
        &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_BARRIER);
    CHECK(!run_text(KERNEL(OUT, GET "bar.sync 1, 33; ret;"), 1, 64, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_BARRIER);
    CHECK_HAS(fault.text, "no multiple of 32");
}

TEST(traps_and_unknown_instructions)
{
    struct simt_fault fault;
    struct rt_error e = {0};
    CHECK(!run_text(KERNEL(OUT, "trap; ret;"), 1, 1, (uint64_t[]){0}, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_TRAP);
    CHECK(load(KERNEL(OUT, ".loc 1 7 3\ntensormap.replace.tile %r1, %r2;\nret;"), &e) == NULL);
    CHECK_INT(e.status, RT_UNSUPPORTED);
    CHECK_HAS(e.text, "tensormap.replace.tile");
    rt_error_clear(&e);
}

static void *interrupt_once_running(void *word)
{
    wait_for_word(word);
    rt_interrupt();
    return NULL;
}

TEST(endless_loops_can_be_interrupted)
{
#define RUNNING GET "st.volatile.global.u32 [%rd1+32], 1;\n"
    static const char *const loops[] = {KERNEL(OUT, RUNNING "L: bra L;"), KERNEL(OUT, RUNNING "L: bar.sync 0; bra L;"),
                                        KERNEL(OUT, RUNNING "L: atom.global.add.u32 %r2, [%rd1], 1; bra L;"),
                                        KERNEL(OUT, RUNNING "L: ld.volatile.global.u32 %r2, [%rd1]; bra L;")};
    uint64_t out = device(64);
    uint32_t *running = (uint32_t *)simt_host(out) + 8;
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        struct simt_fault fault;
        pthread_t t;
        rt_interrupt_clear();
        *running = 0;
        CHECK_INT(pthread_create(&t, NULL, interrupt_once_running, running), 0);
        CHECK(!run_text(loops[k], k < 3 ? 3 : 1000, 64, &out, &fault)); /* the last: more blocks than are resident */
        pthread_join(t, NULL);
        CHECK_INT(fault.kind, SIMT_FAULT_INTERRUPTED);
    }
    rt_interrupt_clear();
}

TEST(atomics_of_every_kind)
{
    uint64_t out = device(64);
    uint32_t *v = simt_host(out);
    struct simt_fault fault;
    v[3] = UINT32_MAX;
    v[5] = 10;
    CHECK(run_text(KERNEL(OUT, GET ".reg .f32 %f<4>; .reg .f64 %fd<4>;\n"
                                   "red.global.add.u32 [%rd1], 1; atom.global.max.s32 %r2, [%rd1+4], %r1;\n"
                                   "red.global.xor.b32 [%rd1+8], %r1; atom.global.min.u32 %r3, [%rd1+12], %r1;\n"
                                   "atom.global.inc.u32 %r4, [%rd1+16], 6; atom.global.dec.u32 %r4, [%rd1+20], 6;\n"
                                   "mov.f32 %f1, 0f3f000000; red.global.add.f32 [%rd1+24], %f1;\n"
                                   "mov.f64 %fd1, 0d3ff8000000000000; atom.global.add.f64 %fd2, [%rd1+32], %fd1; ret;"),
                   4, 64, &out, &fault));
    uint32_t decremented = 10;
    for (int i = 0; i < 256; i++) decremented = decremented == 0 || decremented > 6 ? 6 : decremented - 1;
    CHECK_INT(v[0], 256);
    CHECK_INT(v[1], 63);
    CHECK_INT(v[2], 0);
    CHECK_INT(v[3], 0);
    CHECK_INT(v[4], 256 % 7);
    CHECK_INT(v[5], decremented);
    CHECK_NEAR(f32(v[6]), 128, 0);
    CHECK_NEAR(*(double *)(v + 8), 384, 0);
}

/* The driver refuses most of these before; here they are to take nothing and to run nothing. */
TEST(launches_that_no_gpu_has_are_refused)
{
    static const struct {
        unsigned grid[3], block[3], cluster[3];
        size_t shared;
        const char *why;
    } rows[] = {
        {{1, 0, 1}, {1, 1, 1}, {0}, 0, "at least one block"},
        {{1, 1, 1}, {1, 1, 0}, {0}, 0, "at least one block"},
        {{1, 1, 1}, {1025, 1, 1}, {0}, 0, "1 to 1024 threads"},
        {{1, 1, 1}, {64, 32, 1}, {0}, 0, "at most 1024 threads"},
        {{1, 1, 1}, {1, 1, 1}, {0}, (1u << 28) + 1, "not that much shared memory"},
        {{UINT32_MAX, UINT32_MAX, 2}, {1, 1, 1}, {0}, 0, "too many blocks"},
        {{3, 1, 1}, {1, 1, 1}, {2, 1, 1}, 0, "clusters of that size"},
        {{32, 1, 1}, {1, 1, 1}, {32, 1, 1}, 0, "clusters of that size"},
        {{8, 8, 1}, {1, 1, 1}, {8, 8, 1}, 0, "clusters of that size"},
    };
    struct rt_error e = {0};
    struct simt_program *p = load(KERNEL(OUT, GET "st.global.u32 [%rd1], 7; ret;"), &e);
    uint64_t out = device(64);
    const void *params = &out;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct simt_launch l = {
            .function = simt_program_function(p, "k"), .params = params, .dynamic_shared = rows[k].shared};
        struct simt_fault fault;
        memcpy(l.grid, rows[k].grid, sizeof l.grid);
        memcpy(l.block, rows[k].block, sizeof l.block);
        memcpy(l.cluster, rows[k].cluster, sizeof l.cluster);
        CHECK(!simt_run(&l, &fault));
        CHECK_INT(fault.kind, SIMT_FAULT_NOMEM);
        CHECK_HAS(fault.text, rows[k].why);
        CHECK_INT(*(uint32_t *)simt_host(out), 0);
    }
    simt_program_free(p);
}
