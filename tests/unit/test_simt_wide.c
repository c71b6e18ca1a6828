/* 128-bit registers, atomics of vectors and halves, hints that change nothing, and what is refused by its name. */
#include "tests/unit/simt_text.h"

#define KERNEL(body)                                                                                                   \
    HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>;"                 \
         ".reg .b64 %rd<32>; .reg .b128 %x<4>; .reg .f32 %f<16>; .shared .align 16 .b8 s[256];\n"                      \
         "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n" body "\nret;\n}\n"

TEST(registers_of_128_bits)
{
    uint64_t out = device(128), *v = simt_host(out);
    v[0] = 0x1111222233334444, v[1] = 0x5555666677778888;
    must_run(
        KERNEL("ld.global.b128 %x0, [%rd1]; mov.b128 %x1, %x0; mov.b128 {%rd2, %rd3}, %x1; add.u64 %rd2, %rd2, 1;\n"
               "mov.b128 %x2, {%rd3, %rd2}; st.global.b128 [%rd1+16], %x2; mov.u32 %r2, s;\n"
               "st.shared.b128 [%r2+16], %x0; ld.shared.b128 %x3, [%r2+16]; st.b128 [%rd1+32], %x3;"),
        1, 1, &out);
    CHECK(v[2] == v[1] && v[3] == v[0] + 1);
    CHECK(v[4] == v[0] && v[5] == v[1]);
    struct simt_fault fault;
    CHECK(!run_text(KERNEL("ld.global.b128 %x0, [%rd1+8];"), 1, 1, &out, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_MISALIGNED);
}

/* A list of threads is pushed by cas on (count, sum); each sees a state that was there. */
TEST(atomics_of_128_bits)
{
    uint64_t out = device(64), *v = simt_host(out);
    must_run(KERNEL("mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 64, %r1; cvt.u64.u32 %rd10, %r1;\n"
                    "ld.global.b128 %x0, [%rd1];\n"
                    "L: mov.b128 {%rd2, %rd3}, %x0; add.u64 %rd4, %rd2, 1; add.u64 %rd5, %rd3, %rd10;\n"
                    "mov.b128 %x1, {%rd4, %rd5}; atom.global.acq_rel.gpu.cas.b128 %x0, [%rd1], %x0, %x1;\n"
                    "mov.b128 {%rd6, %rd7}, %x0; setp.ne.u64 %p1, %rd6, %rd2; setp.ne.or.u64 %p1, %rd7, %rd3, %p1;\n"
                    "@%p1 bra L;"),
             8, 64, &out);
    CHECK(v[0] == 512 && v[1] == 512 * 511 / 2);
    must_run(KERNEL("mov.u64 %rd2, 7; mov.u64 %rd3, 9; mov.b128 %x0, {%rd2, %rd3}; atom.exch.b128 %x1, [%rd1], %x0;\n"
                    "st.global.b128 [%rd1+16], %x1; mov.u32 %r2, s; st.shared.b128 [%r2], %x0;\n"
                    "atom.shared.exch.b128 %x2, [%r2], %x1; st.global.b128 [%rd1+32], %x2;\n"
                    "ld.shared.b128 %x3, [%r2]; st.global.b128 [%rd1+48], %x3;"),
             1, 1, &out);
    CHECK(v[0] == 7 && v[1] == 9 && v[2] == 512 && v[4] == 7 && v[5] == 9 && v[6] == 512 && v[7] == 512 * 511 / 2);
}

TEST(atomics_of_vectors)
{
    uint64_t out = device(128);
    float *v = simt_host(out);
    must_run(
        KERNEL("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0f3F000000; mov.f32 %f4, 0fBF800000;\n"
               "red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};\n"
               "atom.relaxed.gpu.global.v2.f32.add {%f5, %f6}, [%rd1+16], {%f2, %f4};\n"
               "red.global.add.noftz.v2.f16x2 [%rd1+32], {0x3c004000, 0x40003c00};\n"
               "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.v2.f32 [%rd1+64], {%f5, %f6};"),
        1, 64, &out);
    CHECK(v[0] == 64 && v[1] == 128 && v[2] == 32 && v[3] == -64 && v[4] == 128 && v[5] == -64);
    CHECK(v[16] == 0 && v[17] == 0); /* the first thread saw what was there before */
    static const uint16_t want[] = {0x5800, 0x5400, 0x5400, 0x5800};
    for (int k = 0; k < 4; k++) CHECK_INT(((uint16_t *)v)[16 + k], want[k]);
}

TEST(atomics_of_halves)
{
    uint64_t out = device(64);
    uint16_t *v = simt_host(out);
    v[0] = 0xbc00, v[1] = 0x3c00, v[2] = 0x7e00, v[3] = 0xc000;
    must_run(KERNEL("mov.b16 %h1, 0x4200; mov.b16 %h2, 0xbf80; mov.u32 %r2, 0x3c00c200;\n"
                    "atom.global.max.noftz.f16 %h3, [%rd1], %h1; st.global.b16 [%rd1+16], %h3;\n"
                    "red.global.min.noftz.bf16 [%rd1+2], %h2; red.global.add.noftz.f16x2 [%rd1+4], %r2;\n"
                    "red.global.min.noftz.f16x2 [%rd1+8], %r2; atom.global.add.noftz.bf16 %h4, [%rd1+12], %h2;\n"
                    "atom.shared.exch.b16 %h5, [s], %h1;"),
             1, 1, &out);
    CHECK_INT(v[0], 0x4200);
    CHECK_INT(v[8], 0xbc00);
    CHECK_INT(v[1], 0xbf80);
    CHECK_INT(v[2] & 0x7fff, 0x7fff); /* NaN stays NaN in a sum */
    CHECK_INT(v[3], 0xbc00);
    CHECK_INT(v[4], 0xc200);
    CHECK_INT(v[5], 0);
    CHECK_INT(v[6], 0xbf80);
}

TEST(hints_change_nothing)
{
    uint64_t out = device(64);
    uint32_t *v = simt_host(out);
    v[0] = 5;
    must_run(
        KERNEL(
            "createpolicy.fractional.L2::evict_last.b64 %rd2, 0f3F000000; createpolicy.range.global.L2::evict_last.b64"
            " %rd3, [%rd1], 64, 128; prefetch.global.L2 [%rd1]; prefetchu.L1 [%rd1]; pmevent 3;\n"
            "applypriority.global.L2::evict_normal [%rd1], 128; griddepcontrol.wait;\n"
            "griddepcontrol.launch_dependents; setmaxnreg.inc.sync.aligned.u32 64; nanosleep.u32 10;\n"
            "ld.global.L1::no_allocate.L2::cache_hint.L2::256B.u32 %r2, [%rd1], %rd2;\n"
            "add.u32 %r2, %r2, 1; st.global.L2::cache_hint.u32 [%rd1+4], %r2, %rd3;\n"
            "red.global.add.L2::cache_hint.u32 [%rd1], 2, %rd2;\n"
            "atom.global.add.L2::cache_hint.u32 %r3, [%rd1], 3, %rd2; st.global.u32 [%rd1+8], %r3;"),
        1, 1, &out);
    CHECK(v[0] == 10 && v[1] == 6 && v[2] == 7);
}

/* ---- what the reader knows, run ---- */
TEST(vector_registers_and_addresses_in_parts)
{
    uint64_t out = device(64);
    uint32_t *v = simt_host(out);
    must_run(
        HEAD
        ".global .align 8 .b8 parts[8] = {0xFF(table+4), 0xFF00(table+4), 0xFF0000(table+4),"
        " 0xFF000000(table+4), 0xFF00000000(table+4), 0xFF0000000000(table+4), 0xFF000000000000(table+4),"
        " 0xFF00000000000000(table+4)};\n.global .align 4 .b32 table[2][2] = {{1, 20+2}, {3}};\n"
        ".func (.param .b32 r) add_one(.param .b32 x);\n"
        ".func (.param .b32 r) inner(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [x];"
        "add.u32 %r1, %r1, (1 << 4) - 15; st.param.b32 [r], %r1; ret;\n}\n.alias add_one, inner;\n"
        ".visible .entry k(.param .u64 out)\n{\n.reg .v4 .b32 %v; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
        ".reg .v2 .b32 %w;\nld.param.u64 %rd1, [out]; ld.global.u64 %rd2, [parts]; ld.global.u32 %v.y, [%rd2];\n"
        "mov.u32 %v.x, WARP_SZ; mov.u32 %v.z, 3 * (2 + 1); mov.u32 %v.a, ~0 & 0xF0; ld.global.v2.u32 %w, [table+8];\n"
        "{ .param .b32 a, b; st.param.b32 [a], %w.x; call (b), add_one, (a); ld.param.b32 %r1, [b]; }\n"
        "st.global.v4.u32 [%rd1], %v; st.global.u32 [%rd1+16], %r1; ret;\n}\n",
        1, 1, &out);
    static const uint32_t want[] = {32, 22, 9, 0xf0, 4};
    for (int k = 0; k < 5; k++) CHECK_INT(v[k], want[k]);
}

TEST(parameters_and_results_in_registers)
{
    uint64_t out = device(4 * 64);
    must_run(HEAD
             ".func (.reg .b32 r, .reg .b64 w) f(.reg .b32 a, .reg .b64 b, .reg .b16 c, .reg .b32 unused)\n{\n"
             ".reg .b32 t, u; .reg .pred p;\ncvt.u32.u16 t, c; add.u32 r, a, t; setp.gt.u32 p, a, 40;\n"
             "mul.lo.u64 w, b, 3; @p ret; add.u32 u, r, 1000; mov.u32 r, u;\n}\n"
             ".func (.reg .b32 r) g(.reg .b32 n)\n{\n.reg .pred p; .reg .b32 m, v;\n"
             "setp.lt.u32 p, n, 2; mov.u32 r, 1; @p ret; sub.u32 m, n, 1; call (v), g, (m); mul.lo.u32 r, v, n;\n"
             "ret;\n}\n"
             ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .b16 %h; .reg .pred %p;\n"
             "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; cvt.u64.u32 %rd2, %r1; mov.u16 %h, 7;\n"
             "call (%r2, %rd3), f, (%r1, %rd2, %h, 99); cvt.u32.u64 %r3, %rd3; add.u32 %r2, %r2, %r3;\n"
             "and.b32 %r5, %r1, 7; mov.u32 %r6, 0; setp.lt.u32 %p, %r1, 50; @%p call (%r6), g, (%r5);\n"
             "add.u32 %r2, %r2, %r6; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd1, %rd1, %rd4; st.global.u32 [%rd1], %r2;\n"
             "ret;\n}\n",
             1, 64, &out);
    static const uint32_t factorials[] = {1, 1, 2, 6, 24, 120, 720, 5040};
    for (uint32_t t = 0; t < 64; t++)
        CHECK_INT(((uint32_t *)simt_host(out))[t],
                  t + 7 + (t > 40 ? 0 : 1000) + 3 * t + (t < 50 ? factorials[t & 7] : 0));
}

TEST(reductions_of_floats)
{
    static const struct {
        const char *words;
        uint32_t want[2]; /* of the lower and upper half of a warp: -0, 1 .. 15 and 16 .. 30, NaN; signs in turn */
    } rows[] = {{"min", {0xc1700000, 0xc1e80000}},
                {"max", {0x41600000, 0x41f00000}},
                {"min.abs", {0, 0x41800000}},
                {"max.abs", {0x41700000, 0x41f00000}},
                {"max.NaN", {0x41600000, 0x7fffffff}}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[2048];
        uint64_t out = device(4 * 32);
        snprintf(text, sizeof text,
                 HEAD
                 ".visible .entry k(.param .u64 out)\n{\n.reg .pred %%p; .reg .b32 %%r<9>; .reg .b64 %%rd<3>;"
                 ".reg .f32 %%f<4>;\nld.param.u64 %%rd1, [out]; mov.u32 %%r1, %%tid.x; cvt.rn.f32.u32 %%f1, %%r1;\n"
                 "and.b32 %%r2, %%r1, 1; setp.eq.u32 %%p, %%r2, 1; @%%p neg.f32 %%f1, %%f1;\n"
                 "setp.eq.u32 %%p, %%r1, 0; @%%p neg.f32 %%f1, %%f1; setp.eq.u32 %%p, %%r1, 31;\n"
                 "@%%p mov.b32 %%f1, 0x7fc00000; setp.lt.u32 %%p, %%r1, 16; selp.b32 %%r3, 0xffff, 0xffff0000, %%p;\n"
                 "redux.sync.%s.f32 %%f2, %%f1, %%r3; mul.wide.u32 %%rd2, %%r1, 4; add.u64 %%rd1, %%rd1, %%rd2;\n"
                 "st.global.f32 [%%rd1], %%f2; ret;\n}\n",
                 rows[k].words);
        must_run(text, 1, 32, &out);
        for (int l = 0; l < 32; l++) CHECK_INT(((uint32_t *)simt_host(out))[l], rows[k].want[l / 16]);
    }
}

/* A function that takes as many bytes as it is told, twice, and gives where they begin; its caller gets them back. */
TEST(stacks_that_grow)
{
#define GROW                                                                                                           \
    HEAD                                                                                                               \
        ".func (.param .b64 r) grow(.param .b64 n) { .reg .b64 %a<6>;\n"                                               \
        "ld.param.u64 %a1, [n]; alloca.u64 %a2, %a1; alloca.u64 %a3, %a1, 64; sub.s64 %a4, %a2, %a3;\n"                \
        "st.local.u64 [%a2], %a4; st.local.u8 [%a3], %a1; ld.local.u64 %a5, [%a2]; st.param.b64 [r], %a5; ret; }\n"    \
        ".visible .entry k(.param .u64 out, .param .u64 bytes)\n{ .reg .b32 %r<4>; .reg .b64 %rd<16>; .reg .pred %p;\n"
    const char *text = GROW
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [bytes]; mov.u32 %r1, %tid.x; cvt.u64.u32 %rd3, %r1;\n"
        "add.u64 %rd2, %rd2, %rd3; mov.u32 %r2, 0; alloca.u64 %rd4, 8, 32; st.local.u64 [%rd4], %rd2;\n"
        "A: { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd2; call (r), grow, (n); ld.param.b64 %rd5, [r]; }\n"
        "stacksave.u64 %rd6; alloca.u64 %rd7, 512; st.local.u64 [%rd7], %rd2; stackrestore.u64 %rd6;\n"
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 100; @%p bra A;\n" /* more than there is, were it not given back */
        "ld.local.u64 %rd8, [%rd4]; and.b64 %rd9, %rd4, 31; mad.lo.u64 %rd1, %rd3, 24, %rd1;\n"
        "st.global.u64 [%rd1], %rd5; st.global.u64 [%rd1+8], %rd8; st.global.u64 [%rd1+16], %rd9; ret; }\n";
    uint64_t params[] = {device(64 * 24), 200};
    must_run(text, 1, 64, params);
    const uint64_t *got = simt_host(params[0]);
    for (uint64_t t = 0; t < 64; t++) {
        CHECK(got[3 * t] >= 200 + t && got[3 * t] < 200 + t + 72);
        CHECK_INT(got[3 * t + 1], 200 + t);
        CHECK_INT(got[3 * t + 2], 0);
    }
    struct simt_fault fault;
    params[1] = 5000;
    CHECK(!run_text(text, 1, 32, params, &fault));
    CHECK_HAS(fault.text, "alloca of 5000 bytes");
    CHECK(!run_text(GROW "mov.u64 %rd1, 64; stackrestore.u64 %rd1; ret; }\n", 1, 1, params, &fault));
    CHECK_HAS(fault.text, "stackrestore");
    const char *only = HEAD ".visible .entry k(.param .u64 out, .param .u64 bytes)\n{ .reg .b64 %rd<3>;\n"
                            "ld.param.u64 %rd1, [bytes]; alloca.u64 %rd2, %rd1; st.local.u8 [%rd2], 1; ret; }\n";
    params[1] = 8192;
    must_run(only, 1, 1, params);
    for (params[1] = 8193; params[1] < UINT64_MAX / 16; params[1] *= 7)
        CHECK(!run_text(only, 1, 1, params, &fault) && fault.kind == SIMT_FAULT_NOMEM);
}

TEST(only_hardware_has_these)
{
    must_refuse(
        KERNEL("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, %r1, 0, 1, "
               "1, 1, 0, 0;"),
        "sparse matrix products, which wgmma.mma_async.sp");
    must_refuse(KERNEL("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;"), "this form of tcgen05");
    must_refuse(KERNEL("cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], "
                       "[%rd1, {%r1, %r1, %r1}], [%r2], {%rs1};"),
                "this way of copying tensors (im2col, gather, scatter)");
    must_refuse(KERNEL("multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, [%rd1];"), "NVLink SHARP");
    must_refuse(
        HEAD
        ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
        ".visible .entry k()\n{\n{ .param .b64 a, b; .param .b32 r; call (r), cudaLaunchDeviceV2, (a, b); }\nret;\n}\n",
        "dynamic parallelism, cudaLaunchDeviceV2");
    must_refuse(
        HEAD
        ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b32 a);\n"
        ".visible .entry k()\n{\n{ .param .b64 r; .param .b32 a; call (r), __cudaCDP2GetParameterBufferV2, (a); }\n"
        "ret;\n}\n",
        "dynamic parallelism, __cudaCDP2GetParameterBufferV2");
}
