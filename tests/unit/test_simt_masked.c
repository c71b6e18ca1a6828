/* Lanes that part in generated code, against the interpreter: loops of different lengths, in one slice and in many,
 * with and without what others may wait for; faults in them; loops without an end. */
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/interrupt.h"
#include "runtime/simt/exec.h"
#include "runtime/simt/simt.h"
#include "tests/unit/simt_text.h"

#define THREADS 96 /* three warps in each of two blocks */
#define WORDS   8  /* results of a thread, of 4 bytes */
#define INPUT   4096

/* Threads %g of all and %i of the block; each has WORDS words at %out; all share 64 words at %all. */
#define START                                                                                                          \
    HEAD                                                                                                               \
        ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pall)\n{\n"                                  \
        ".shared .align 16 .b8 room[4096];\n.reg .b32 %r<16>, %i, %g;\n.reg .f32 %f<8>;\n.reg .f64 %d<4>;\n"           \
        ".reg .b64 %in, %out, %all, %q<8>;\n.reg .pred %p<8>;\nld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\n" \
        "ld.param.u64 %all, [pall];\nmov.u32 %i, %tid.x;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\n"             \
        "mad.lo.s32 %g, %r0, %r1, %i;\nmul.wide.u32 %q0, %g, 32;\nadd.s64 %out, %out, %q0;\n"
#define PUT(what) "st.global.b32 [%out], " what ";\n"

/* Four bytes as a word, the last one lowest or highest, as NVRTC loads what it needs for dp4a. */
#define BYTES(a, d)                                                                                                    \
    "ld.global.u8 %r10, [" a "+3];\nld.global.u8 %r11, [" a "+2];\nprmt.b32 %r12, %r11, %r10, 0x7604;\n"               \
    "ld.global.u8 %r13, [" a "+1];\nld.global.u8 %r14, [" a "];\nprmt.b32 %r15, %r14, %r13, 0x7604;\n"                 \
    "prmt.b32 " d ", %r15, %r12, 0x1054;\n"
#define BYTES_UP(a, d)                                                                                                 \
    "ld.global.u8 %r10, [" a "+3];\nld.global.u8 %r11, [" a "+2];\nld.global.u8 %r13, [" a "+1];\n"                    \
    "ld.global.u8 %r14, [" a "];\nprmt.b32 %r12, %r10, %r11, 0x7604;\nprmt.b32 %r15, %r13, %r14, 0x7604;\n"            \
    "prmt.b32 " d ", %r12, %r15, 0x1054;\n"

static const char *const programs[] = {
    /* Collatz: how many steps, and the largest number on the way. */
    "add.s32 %r2, %g, 1;\nmov.u32 %r3, 0;\nmov.u32 %r4, 0;\nL: max.u32 %r4, %r4, %r2;\nsetp.eq.s32 %p0, %r2, 1;\n"
    "@%p0 bra E;\nand.b32 %r5, %r2, 1;\nsetp.eq.s32 %p1, %r5, 0;\n@%p1 bra H;\nmad.lo.s32 %r2, %r2, 3, 1;\nbra N;\n"
    "H: shr.u32 %r2, %r2, 1;\nN: add.s32 %r3, %r3, 1;\nbra L;\nE: st.global.u32 [%out+4], %r4;\n" PUT("%r3"),
    /* More rounds than a slice has. */
    "mul.lo.s32 %r2, %g, 97;\nmov.u32 %r3, 1;\nL: mad.lo.s32 %r3, %r3, 1664525, 1013904223;\nsub.s32 %r2, %r2, 1;\n"
    "setp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r3"),
    /* The same with something that other lanes might wait for. */
    "mul.lo.s32 %r2, %g, 7;\nmov.u32 %r3, 1;\nL: mad.lo.s32 %r3, %r3, 1664525, 1013904223;\n"
    "red.global.add.u32 [%all], %r2;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r3"),
    /* A lock among lanes: the one that has it waits behind the loop. */
    "L: atom.global.cas.b32 %r2, [%all], 0, 1;\nsetp.ne.s32 %p0, %r2, 0;\n@%p0 bra L;\nld.volatile.global.u32 %r3, "
    "[%all+4];\nadd.s32 %r3, %r3, %g;\nst.volatile.global.u32 [%all+4], %r3;\nmembar.gl;\n"
    "atom.global.exch.b32 %r2, [%all], 0;\n",
    /* A lane waits for what another does behind the loop. */
    "and.b32 %r2, %i, 31;\nshl.b32 %r3, %i, 2;\nand.b32 %r3, %r3, 0xff80;\nst.shared.u32 [%r3], 0;\n"
    "setp.eq.s32 %p0, %r2, 5;\n@%p0 bra S;\nL: ld.volatile.shared.u32 %r4, [%r3];\nsetp.eq.s32 %p1, %r4, 0;\n"
    "@%p1 bra L;\nbra E;\nS: st.volatile.shared.u32 [%r3], 7;\nmov.u32 %r4, 9;\nE:\n" PUT("%r4"),
    /* Loops in loops, with ways out of the middle; doubles, numbers of 64 bits and predicates that others keep. */
    "cvt.u64.u32 %q1, %g;\ncvt.rn.f64.u32 %d0, %g;\nand.b32 %r2, %g, 15;\nsetp.gt.u32 %p2, %i, 40;\nmov.u32 %r6, 0;\n"
    "O: and.b32 %r3, %r2, 7;\nI: setp.eq.s32 %p0, %r3, 5;\n@%p0 bra B;\nmad.lo.s64 %q1, %q1, 5, 3;\n"
    "xor.pred %p2, %p2, %p0;\nadd.f64 %d0, %d0, 0d3FE0000000000000;\n@%p2 add.s32 %r6, %r6, 1;\nnot.pred %p2, %p2;\n"
    "sub.s32 %r3, %r3, 1;\nsetp.ge.s32 %p1, %r3, 0;\n@%p1 bra I;\nB: sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p1, %r2, 0;\n"
    "@!%p1 bra E;\nmul.f64 %d0, %d0, 0d3FF8000000000000;\nbra O;\nE: selp.b32 %r7, 1, 2, %p2;\n"
    "st.global.u64 [%out+8], %q1;\nst.global.f64 [%out+16], %d0;\nst.global.u32 [%out+4], %r6;\n" PUT("%r7"),
    /* Rows of different lengths: addresses of any form, of 4 and 8 bytes, and places in shared memory. */
    "and.b32 %r2, %g, 31;\nmul.lo.s32 %r3, %g, 5;\nshl.b32 %r8, %i, 5;\nand.b32 %r8, %r8, 2040;\nmov.f32 %f0, 0f00000000;\n"
    "mov.u32 %r6, 0;\nmov.u32 %r7, 0;\nmov.f64 %d0, 0d0000000000000000;\nL: setp.eq.s32 %p0, %r2, 0;\n@%p0 bra E;\nmul.wide.u32 %q1, %r3, 4;\n"
    "add.s64 %q1, %q1, %in;\nld.global.f32 %f1, [%q1+4];\nfma.rn.f32 %f0, %f0, %f1, %f1;\nand.b32 %r4, %r3, 255;\n"
    "mul.wide.u32 %q2, %r4, 8;\nadd.s64 %q2, %q2, %in;\nld.global.f64 %d1, [%q2];\nadd.f64 %d0, %d0, %d1;\n"
    "ld.global.u8 %r5, [%q1+3];\nadd.s32 %r6, %r6, %r5;\nst.shared.u32 [%r8], %r6;\nld.shared.u32 %r6, [%r8];\n"
    "ld.global.u32 %r7, [%in+64];\nadd.s32 %r3, %r3, 3;\nsub.s32 %r2, %r2, 1;\nst.global.u32 [%out+28], %r3;\n"
    "st.global.f64 [%out+16], %d0;\nbra L;\nE: st.global.f32 [%out+4], %f0;\nst.global.u32 [%out+8], %r7;\n" PUT("%r6"),
    /* Code that is left where lanes have parted: what is done is not done again. */
    "ld.global.u32 %r2, [%out];\nadd.s32 %r2, %r2, 1;\nst.global.u32 [%out], %r2;\nsetp.lt.u32 %p0, %i, 20;\n"
    "mov.u32 %r3, 5;\nst.shared.u32 [room], %r3;\n@!%p0 bra E;\nmov.u64 %q1, room;\ncvta.shared.u64 %q1, %q1;\n"
    "ld.u32 %r3, [%q1];\nE: st.global.u32 [%out+4], %r3;\n",
    /* The same behind an `if` of nothing, whose lanes are no longer waiting then. */
    "and.b32 %r4, %i, 31;\nsetp.lt.u32 %p0, %r4, 20;\nsetp.ge.u32 %p1, %i, 13;\nmov.u32 %r3, 5;\n"
    "st.shared.u32 [room], %r3;\n@%p1 bra N;\nN: @!%p0 bra E;\nld.global.u32 %r2, [%out];\nadd.s32 %r2, %r2, 1;\n"
    "st.global.u32 [%out], %r2;\nmov.u64 %q1, room;\ncvta.shared.u64 %q1, %q1;\nld.u32 %r3, [%q1];\n"
    "E: st.global.u32 [%out+4], %r3;\n",
    /* Neighbours, four of them and more, in any order; the last load into its own address; a store between. */
    "and.b32 %r2, %g, 7;\nmul.lo.s32 %r3, %g, 20;\nmov.u32 %r4, 0;\nL: mul.wide.u32 %q1, %r3, 4;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.u32 %r5, [%q1+8];\nxor.b32 %r4, %r4, %r5;\nld.global.u32 %r5, [%q1+4];\nmad.lo.s32 %r4, %r4, 3, %r5;\n"
    "ld.global.u32 %r6, [%q1+12];\nld.global.u32 %r7, [%q1+16];\nsub.s32 %r4, %r4, %r6;\n"
    "mad.lo.s32 %r4, %r4, 5, %r7;\nld.global.u32 %r7, [%q1];\nxor.b32 %r4, %r4, %r7;\nst.global.u32 [%out+24], %r4;\n"
    "ld.global.u32 %r8, [%q1+-4];\nld.global.u32 %r9, [%q1+-8];\nld.global.u32 %r10, [%q1+-12];\n"
    "ld.global.u32 %r11, [%q1+-16];\nmad.lo.s32 %r4, %r8, 7, %r4;\nmad.lo.s32 %r4, %r9, 11, %r4;\n"
    "mad.lo.s32 %r4, %r10, 13, %r4;\nmad.lo.s32 %r4, %r11, 17, %r4;\nadd.s32 %r3, %r3, 9;\nsub.s32 %r2, %r2, 1;\n"
    "setp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r4"),
    /* Numbers that grow from lane to lane where half of them run. */
    "shl.b32 %r2, %i, 1;\nsetp.lt.u32 %p0, %r2, 70;\n@%p0 bra E;\nadd.s32 %r2, %r2, 5;\nmul.wide.s32 %q1, %r2, 4;\n"
    "add.s64 %q1, %q1, %in;\nld.global.u32 %r3, [%q1];\nadd.s32 %r4, %r2, %r3;\nst.global.u32 [%out+4], %r4;\n"
    "E: add.s32 %r2, %r2, 1;\n" PUT("%r2"),
    /* Bytes and pairs of them that lie apart, in both directions. */
    "mov.u32 %r4, 0;\n"
    "mul.wide.s32 %q1, %i, 3;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.u8 %r5, [%q1+1];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "ld.global.u8 %r5, [%q1+2];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, -3;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.s8 %r5, [%q1+1000];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "ld.global.s8 %r5, [%q1+1001];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, 4;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.s8 %r5, [%q1+3];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, -2;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.u8 %r5, [%q1+500];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, 5;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.u8 %r5, [%q1+4];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, 4;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.u16 %r5, [%q1+2];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, -4;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.s16 %r5, [%q1+600];\nmad.lo.s32 %r4, %r4, 31, %r5;\n"
    "mul.wide.s32 %q1, %i, 6;\nadd.s64 %q1, %q1, %in;\n"
    "ld.global.s16 %r5, [%q1+2];\nmad.lo.s32 %r4, %r4, 31, %r5;\n" PUT("%r4"),
    /* Denormals that some readers take for zeros, and others do not. */
    "and.b32 %r2, %g, 7;\nmov.b32 %f0, %g;\nmov.b32 %f4, %r2;\nmov.f32 %f3, 0f00000000;\n"
    "L: fma.rn.ftz.f32 %f3, %f0, 0f7F000000, %f3;\nadd.f32 %f3, %f3, %f0;\nadd.ftz.f32 %f1, %f4, %f3;\n"
    "min.ftz.f32 %f3, %f3, %f1;\nadd.f32 %f3, %f3, %f0;\nsetp.lt.ftz.f32 %p1, %f4, %f3;\n"
    "@%p1 add.ftz.f32 %f3, %f3, %f0;\nmul.f32 %f1, %f3, 0f40000000;\nneg.ftz.f32 %f2, %f1;\n"
    "sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\nst.global.f32 [%out+4], %f0;\n"
    "st.global.f32 [%out+8], %f1;\nst.global.f32 [%out+12], %f2;\nabs.ftz.f32 %f4, %f4;\n"
    "st.global.f32 [%out+16], %f4;\ncvt.u64.u32 %q1, %g;\nmov.b64 %d1, %q1;\nadd.s64 %q1, %q1, 0x7fe0000000000000;\n"
    "mov.b64 %d2, %q1;\nrcp.approx.ftz.f64 %d1, %d1;\nrcp.approx.ftz.f64 %d2, %d2;\nand.b32 %r3, %g, 1;\n"
    "setp.eq.s32 %p1, %r3, 0;\nselp.f64 %d1, %d1, %d2, %p1;\nst.global.f64 [%out+24], %d1;\n" PUT("%f3"),
    /* Rows, a word a round, by all lanes; */
    "mul.lo.s32 %r3, %g, 20;\nxor.b32 %r3, %r3, 13;\nmul.wide.u32 %q1, %r3, 4;\nadd.s64 %q1, %q1, %in;\n"
    "mov.u32 %r2, 18;\nmov.u32 %r4, 0;\nL: ld.global.u32 %r5, [%q1+4];\nmad.lo.s32 %r4, %r4, 3, %r5;\n"
    "add.s64 %q1, %q1, 4;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r4"),
    /* again and again, of different lengths, with stores into them between; */
    "and.b32 %r8, %i, 1;\nshl.b32 %r8, %r8, 2;\ncvt.u64.u32 %q3, %r8;\nadd.s64 %q3, %q3, %out;\nmov.u32 %r6, 3;\n"
    "mov.u32 %r4, 1;\nO: mov.b64 %q1, %q3;\nand.b32 %r2, %g, 3;\nadd.s32 %r2, %r2, 2;\nst.global.u32 [%q3+4], %r4;\n"
    "st.global.u32 [%q3+12], %r6;\nL: ld.global.u32 %r5, [%q1];\nmad.lo.s32 %r4, %r4, 5, %r5;\n"
    "add.s64 %q1, %q1, 4;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\nsub.s32 %r6, %r6, 1;\n"
    "setp.ge.s32 %p1, %r6, 0;\n@%p1 bra O;\n" PUT("%r4"),
    /* up to the end of the memory, of bytes and words, from sums; */
    "and.b32 %r2, %g, 7;\nadd.s32 %r2, %r2, 2;\nmov.u32 %r3, 4079;\nsub.s32 %r3, %r3, %r2;\nmul.wide.u32 %q1, %r3, 4;\n"
    "mov.b64 %q2, %in;\nmov.u32 %r4, 0;\nL: add.s64 %q3, %q1, %q2;\nld.global.u8 %r5, [%q3+3];\n"
    "ld.global.s8 %r6, [%q3];\nld.global.u8 %r7, [%q3+1];\nld.global.u32 %r8, [%q3];\nmad.lo.s32 %r4, %r4, 3, %r5;\n"
    "mad.lo.s32 %r4, %r4, 3, %r6;\nmad.lo.s32 %r4, %r4, 3, %r7;\nxor.b32 %r4, %r4, %r8;\nadd.s64 %q2, %q2, 4;\n"
    "sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r4"),
    /* of words by bytes, up to the end, too; */
    "and.b32 %r2, %g, 7;\nadd.s32 %r2, %r2, 2;\nmov.u32 %r3, 16319;\nshl.b32 %r4, %r2, 2;\nsub.s32 %r3, %r3, %r4;\n"
    "add.s32 %r3, %r3, -3;\ncvt.u64.u32 %q1, %r3;\nadd.s64 %q1, %q1, %in;\nmov.u64 %q2, 7;\nmov.u32 %r4, 0;\nL: " BYTES(
        "%q1",
        "%r5") "add.s64 %q3, %q2, %in;\n" BYTES("%q3",
                                                "%r6") "dp4a.s32.s32 %r4, %r5, %r6, %r4;\nadd.s64 %q1, %q1, 4;\n"
                                                       "add.s64 %q2, %q2, 4;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT(
                                                           "%r4"),
    /* the same where all share an address, where they lie a byte apart, and where a byte is read once more; */
    "cvt.u64.u32 %q1, %r0;\nadd.s64 %q1, %q1, %in;\n" BYTES("%q1", "%r2") "add.s64 %q1, %q1, 5;\n" BYTES_UP(
        "%q1",
        "%r3") "cvt.u64.u32 %q1, %g;\nadd.s64 %q1, %q1, %in;\n" BYTES("%q1",
                                                                      "%r4") "add.s64 %q1, %q1, 2;\n" BYTES_UP("%q1",
                                                                                                               "%r5")
        BYTES_UP(
            "%q1",
            "%r6") "add.s32 %r6, %r6, %r13;\nmul.lo.s32 %r7, %g, %g;\nand.b32 %r7, %r7, 255;\n"
                   "cvt.u64.u32 %q1, %r7;\nadd.s64 %q1, %q1, %in;\n" BYTES_UP(
                       "%q1",
                       "%r7") "st.global.u32 [%out+4], %r3;\n"
                              "st.global.u32 [%out+8], %r4;\nst.global.u32 [%out+12], %r5;\nst.global.u32 [%out+16], %r6;\n"
                              "st.global.u32 [%out+20], %r7;\n" PUT("%r2"),
    /* in more rounds than a slice has. */
    "and.b32 %r3, %i, 1;\nmul.wide.u32 %q1, %r3, 4;\nadd.s64 %q1, %q1, %in;\nand.b32 %r2, %i, 63;\n"
    "add.s32 %r2, %r2, 2900;\nmov.u32 %r4, 0;\nL: ld.global.u32 %r5, [%q1];\nmad.lo.s32 %r4, %r4, 3, %r5;\n"
    "add.s64 %q1, %q1, 4;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n" PUT("%r4"),
};

static bool run(const char *text, const char *jit, const char *isa, const uint64_t *params, struct simt_fault *fault)
{
    setenv("LUNARRAY_JIT", jit, 1);
    setenv("LUNARRAY_ISA", isa, 1);
    return run_text(text, 2, THREADS, params, fault);
}

static const char *const isas[] = {"", "avx2", ""};

static const char *kernel(const char *body)
{
    static char text[8192];
    snprintf(text, sizeof text, "%s%sret;\n}\n", START, body);
    return text;
}

TEST(lanes_that_part_do_what_the_interpreter_does)
{
    static uint32_t want[2 * THREADS * WORDS + 64];
    uint64_t in = device(INPUT * 4), out = device(sizeof want),
             params[] = {in + 64, out, out + 2 * THREADS * WORDS * 4};
    struct simt_fault fault;
    for (uint32_t k = 0; k < INPUT; k++) ((float *)simt_host(in))[k] = (float)((int)k * 37 % 101 - 50) * 0.75f;
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        for (int way = 0; way < 3; way++) {
            uint32_t *got = simt_host(out);
            memset(got, 0, sizeof want);
            if (!run(kernel(programs[k]), way ? "1" : "0", isas[way], params, &fault))
                FAIL("%s\n%s", fault.text, programs[k]);
            if (!way) memcpy(want, got, sizeof want);
            for (int n = 0; n < 2 * THREADS * WORDS + 64; n++)
                if (got[n] != want[n])
                    FAIL("way %d, thread %d, word %d: %08x instead of %08x\n%s", way, n / WORDS, n % WORDS, got[n],
                         want[n], programs[k]);
        }
}

/* ---- faults ---- */
static const char *const wrong[] = {
    /* Beyond the end, by one lane, in its last round. */
    "mov.u32 %r2, %g;\nshl.b32 %r3, %g, 2;\nL: cvt.u64.u32 %q1, %r3;\nadd.s64 %q1, %q1, %in;\nld.global.u32 %r4, [%q1];\n"
    "add.s32 %r3, %r3, 85;\nand.b32 %r3, %r3, -4;\nsub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n",
    /* The same along rows. */
    "and.b32 %r3, %g, 7;\nmov.u32 %r2, 4090;\nsub.s32 %r3, %r2, %r3;\nmul.wide.u32 %q1, %r3, 4;\nadd.s64 %q1, %q1, %in;\n"
    "mov.u32 %r2, 8;\nL: ld.global.u32 %r4, [%q1];\nadd.s32 %r5, %r5, %r4;\nadd.s64 %q1, %q1, 4;\n"
    "sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\nst.global.u32 [%out], %r5;\n",
    /* A word by bytes, the last of which lies beyond. */
    "and.b32 %r3, %g, 7;\nmov.u32 %r2, 16381;\nsub.s32 %r3, %r2, %r3;\ncvt.u64.u32 %q1, %r3;\nadd.s64 %q1, %q1, %in;\n" BYTES(
        "%q1", "%r4") "st.global.u32 [%out], %r4;\n",
    /* Not aligned. */
    "and.b32 %r2, %g, 7;\nL: setp.eq.s32 %p1, %r2, 3;\nselp.b32 %r3, 2, 0, %p1;\ncvt.u64.u32 %q1, %r3;\n"
    "add.s64 %q1, %q1, %in;\n@%p1 bra W;\nbra N;\nW: st.global.u32 [%q1], %g;\nN: sub.s32 %r2, %r2, 1;\n"
    "setp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n",
    /* Shared memory. */
    "and.b32 %r2, %g, 7;\nmul.lo.s32 %r3, %r2, 600;\nL: sub.s32 %r2, %r2, 1;\nld.shared.u32 %r4, [%r3];\n"
    "setp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\n",
    /* By an address that all lanes share. */
    "and.b32 %r2, %g, 7;\nL: sub.s32 %r2, %r2, 1;\nsetp.ge.s32 %p0, %r2, 0;\n@%p0 bra L;\nsetp.lt.u32 %p1, %i, 50;\n"
    "@%p1 bra E;\nld.global.u32 %r4, [%in+65536];\nE:\n",
};

TEST(faults_of_parted_lanes_are_those_of_the_interpreter)
{
    uint64_t in = device(INPUT * 4), out = device(2 * THREADS * WORDS * 4 + 256), params[] = {in, out, out};
    setenv("LUNARRAY_THREADS", "1", 1);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct simt_fault faults[3];
        for (int way = 0; way < 3; way++)
            if (run(kernel(wrong[k]), way ? "1" : "0", isas[way], params, &faults[way]))
                FAIL("no fault in\n%s", wrong[k]);
        for (int way = 1; way < 3; way++) {
            CHECK_STR(faults[way].text, faults[0].text);
            CHECK_INT(faults[way].kind, faults[0].kind);
            CHECK_INT(faults[way].block[0], faults[0].block[0]);
            CHECK_INT(faults[way].thread[0], faults[0].thread[0]);
        }
    }
    /* What a block that was stopped had waiting is no other's. */
    struct simt_fault fault;
    for (int way = 1; way < 3; way++)
        if (!run(kernel(programs[0]), "1", isas[way], params, &fault)) FAIL("%s", fault.text);
}

/* ---- without an end ---- */
static void *interrupt_once_running(void *word)
{
    while (!atomic_load((atomic_uint *)word)) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    rt_interrupt();
    return NULL;
}

TEST(endless_loops_of_some_lanes_can_be_interrupted)
{
    static const char *const loops[] = {
        "st.volatile.global.u32 [%all], 1;\nL: add.s32 %r2, %r2, %i;\nsetp.gt.u32 %p0, %i, 40;\n@%p0 bra L;\n",
        "st.volatile.global.u32 [%all], 1;\nL: ld.volatile.global.u32 %r2, [%all];\nsetp.lt.u32 %p0, %r2, %i;\n"
        "@%p0 bra L;\n",
    };
    uint64_t in = device(INPUT * 4), out = device(2 * THREADS * WORDS * 4 + 256);
    uint64_t params[] = {in, out, out + 2 * THREADS * WORDS * 4};
    for (size_t k = 0; k < 2; k++)
        for (int way = 1; way < 3; way++) {
            struct simt_fault fault;
            pthread_t t;
            rt_interrupt_clear();
            memset(simt_host(params[2]), 0, 4);
            CHECK_INT(pthread_create(&t, NULL, interrupt_once_running, simt_host(params[2])), 0);
            CHECK(!run(kernel(loops[k]), "1", isas[way], params, &fault));
            pthread_join(t, NULL);
            CHECK_INT(fault.kind, SIMT_FAULT_INTERRUPTED);
            rt_interrupt_clear();
            if (!run(kernel(programs[1]), "1", isas[way], params, &fault)) FAIL("%s", fault.text);
        }
}
