/* mbarrier objects, cp.async in its forms, clusters of one block. */
#include "tests/unit/simt_text.h"

#define KERNEL(body)                                                                                                                       \
    HEAD                                                                                                                                   \
        ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b16 %h<2>;\n" \
        ".shared .align 16 .b8 s[4096]; .shared .align 8 .b64 bar;\n"                                                                      \
        "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16;\n"                            \
        "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.u32 %r2, s; shl.b32 %r3, %r1, 4;\n"                                       \
        "add.u32 %r4, %r2, %r3; mov.u32 %r5, bar; setp.eq.u32 %p1, %r1, 0;\n" body "\nret;\n}\n"

static uint64_t input(void)
{
    static uint64_t in;
    if (!in) in = device(4096);
    for (int k = 0; k < 4096; k++) ((uint8_t *)simt_host(in))[k] = (uint8_t)(k * 7 + 1);
    return in;
}

/* What a thread's 16 bytes of shared memory, which were -1, hold after the copy. */
static void check_copy(const char *copy, int from, int bytes, int zeros)
{
    char text[4096];
    uint64_t params[] = {device(4096), input()};
    snprintf(text, sizeof text, "%s%s%s",
             HEAD
             ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n.reg .pred %p<8>; .reg .b32 %r<32>;"
             ".reg .b64 %rd<32>; .shared .align 16 .b8 s[4096];\n"
             "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16;\n"
             "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.u32 %r2, s; shl.b32 %r3, %r1, 4;\n"
             "add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd6, %r4; mov.u32 %r9, -1; mov.u32 %r10, 5; mov.u32 %r11, 0;\n"
             "setp.eq.u32 %p1, %r11, 0; st.shared.v4.b32 [%r4], {%r9, %r9, %r9, %r9};\n",
             copy,
             "\ncp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;\n"
             "ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r4]; st.global.v4.b32 [%rd4], {%r20, %r21, %r22, %r23};\n"
             "ret;\n}\n");
    must_run(text, 1, 64, params);
    const uint8_t *got = simt_host(params[0]), *in = simt_host(params[1]);
    for (int t = 0; t < 64; t++)
        for (int k = 0; k < 16; k++) {
            int want = k < bytes ? in[16 * t + from + k] : k < bytes + zeros ? 0 : 255;
            if (got[16 * t + k] != want) FAIL("%s: byte %d is %d, expected %d", copy, k, got[16 * t + k], want);
        }
    simt_free(params[0]);
}

TEST(copies_from_global_to_shared_memory)
{
    check_copy("cp.async.ca.shared.global [%r4], [%rd5], 4;", 0, 4, 0);
    check_copy("cp.async.ca.shared::cta.global [%r4], [%rd5+8], 8;", 8, 8, 0);
    check_copy("cp.async.cg.shared.global.L2::128B [%r4], [%rd5], 16;", 0, 16, 0);
    check_copy("cp.async.cg.shared.global.L2::cache_hint [%rd6], [%rd5], 16, %rd3;", 0, 16, 0);
    check_copy("cp.async.cg.shared.global [%r4], [%rd5], 16, 16;", 0, 16, 0);
    check_copy("cp.async.cg.shared.global [%r4], [%rd5], 16, %r10;", 0, 5, 11);
    check_copy("cp.async.ca.shared.global [%r4], [%rd5+4], 4, %r11;", 0, 0, 4);
    check_copy("cp.async.ca.shared.global [%r4], [%rd5], 8, %p1;", 0, 0, 8);
    check_copy("cp.async.ca.shared.global [%r4], [%rd5], 8, !%p1;", 0, 8, 0);
}

TEST(wrong_copies_are_faults)
{
    uint64_t params[] = {device(16), device(64)};
    struct simt_fault fault;
    CHECK(!run_text(KERNEL("cp.async.cg.shared.global [%r4], [%rd5+64], 16;"), 1, 1, params, &fault));
    CHECK_HAS(fault.text, "read of 16 bytes");
    CHECK(!run_text(KERNEL("cp.async.cg.shared.global [%r4+8192], [%rd5], 16;"), 1, 1, params, &fault));
    CHECK_HAS(fault.text, "write of 16 bytes");
    CHECK(
        !run_text(KERNEL("mov.u32 %r9, 17; cp.async.cg.shared.global [%r4], [%rd5], 16, %r9;"), 1, 1, params, &fault));
    CHECK_HAS(fault.text, "a source longer than the destination (17 of at most 16)");
}

/* Four phases of a barrier of 64 threads in two warps: what one wrote before it, the other reads after it. */
TEST(mbarriers_order_phases)
{
    static const char *const waits[] = {
        "W: mbarrier.test_wait.shared.b64 %p2, [%r5], %rd10; @!%p2 bra W;",
        "W: mbarrier.try_wait.shared::cta.b64 %p2, [%r5], %rd10, 1000; @!%p2 bra W;",
        "and.b32 %r11, %r10, 1; W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r5], %r11; @!%p2 bra W;",
        "cvta.shared.u64 %rd11, %rd12; W: mbarrier.test_wait.b64 %p2, [%rd11], %rd10; @!%p2 bra W;",
    };
    for (int k = 0; k < 4; k++) {
        char text[4096];
        uint64_t params[] = {device(4 * 64), 0};
        snprintf(text, sizeof text, "%s%s%s",
                 HEAD
                 ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n"
                 ".shared .align 4 .b8 s[512]; .shared .align 8 .b64 bar;\n"
                 "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, bar; cvt.u64.u32 %rd12, %r5;\n"
                 "setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r5], 64; bar.sync 0;\n"
                 "mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; xor.b32 %r4, %r1, 33; mad.lo.u32 %r4, %r4, 4, %r2;\n"
                 "mov.u32 %r10, 0; mov.u32 %r6, %r1;\n"
                 "L: and.b32 %r7, %r10, 1; shl.b32 %r7, %r7, 8; add.u32 %r8, %r3, %r7; add.u32 %r9, %r4, %r7;\n"
                 "st.shared.u32 [%r8], %r6; mbarrier.arrive.shared.b64 %rd10, [%r5];\n",
                 waits[k],
                 "ld.shared.u32 %r12, [%r9]; mad.lo.u32 %r6, %r6, 3, %r12; add.u32 %r10, %r10, 1;\n"
                 "setp.lt.u32 %p3, %r10, 4; @%p3 bra L; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"
                 "st.global.u32 [%rd3], %r6; bar.sync 0; @%p1 mbarrier.inval.shared.b64 [%r5]; ret;\n}\n");
        must_run(text, 1, 64, params);
        uint32_t v[64], next[64];
        for (uint32_t t = 0; t < 64; t++) v[t] = t;
        for (int phase = 0; phase < 4; phase++) {
            for (int t = 0; t < 64; t++) next[t] = v[t] * 3 + v[t ^ 33];
            memcpy(v, next, sizeof v);
        }
        for (int t = 0; t < 64; t++) CHECK_INT(((uint32_t *)simt_host(params[0]))[t], v[t]);
        simt_free(params[0]);
    }
}

/* One thread plays several; what each step leaves is stored as it comes. */
TEST(mbarriers_count)
{
    uint64_t params[] = {device(4096), 0};
    must_run(KERNEL("mbarrier.init.shared::cta.b64 [%r5], 4; mbarrier.arrive.shared.b64 %rd10, [%r5];\n"
                    "mbarrier.pending_count.b64 %r10, %rd10; st.global.u32 [%rd1], %r10;\n"
                    "mbarrier.arrive.noComplete.shared.b64 %rd11, [%r5], 2; mbarrier.pending_count.b64 %r10, %rd11;\n"
                    "st.global.u32 [%rd1+4], %r10; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd10;\n"
                    "selp.u32 %r10, 1, 0, %p2; st.global.u32 [%rd1+8], %r10;\n"
                    "mbarrier.arrive_drop.shared.b64 _, [%r5]; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd10;\n"
                    "selp.u32 %r10, 1, 0, %p2; st.global.u32 [%rd1+12], %r10;\n"
                    "mbarrier.test_wait.parity.shared.b64 %p2, [%r5], 0; selp.u32 %r10, 1, 0, %p2;\n"
                    "st.global.u32 [%rd1+16], %r10; mbarrier.test_wait.parity.shared.b64 %p2, [%r5], 1;\n"
                    "selp.u32 %r10, 1, 0, %p2; st.global.u32 [%rd1+20], %r10;\n"
                    /* the next phase waits for three, and for 32 bytes */
                    "mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r5], 32; mbarrier.pending_count.b64 %r10, %rd10;\n"
                    "st.global.u32 [%rd1+24], %r10; mbarrier.arrive.shared.b64 %rd10, [%r5], 2;\n"
                    "mbarrier.test_wait.shared.b64 %p2, [%r5], %rd10; selp.u32 %r10, 1, 0, %p2;\n"
                    "st.global.u32 [%rd1+28], %r10; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r5], 16;\n"
                    "mbarrier.complete_tx.shared::cta.b64 [%r5], 48; mbarrier.test_wait.shared.b64 %p2, [%r5], %rd10;\n"
                    "selp.u32 %r10, 1, 0, %p2; st.global.u32 [%rd1+32], %r10;\n"
                    "cp.async.mbarrier.arrive.shared.b64 [%r5]; mbarrier.arrive.shared.b64 %rd10, [%r5];\n"
                    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r5]; mbarrier.arrive.shared.b64 %rd11, [%r5];\n"
                    "mbarrier.pending_count.b64 %r10, %rd11; st.global.u32 [%rd1+36], %r10;"),
             1, 1, params);
    static const uint32_t want[] = {4, 3, 0, 1, 1, 0, 3, 0, 1, 1};
    for (int k = 0; k < 10; k++) CHECK_INT(((uint32_t *)simt_host(params[0]))[k], want[k]);
}

TEST(wrong_uses_of_mbarriers_are_faults)
{
    uint64_t params[] = {device(64), 0};
    struct simt_fault fault;
    CHECK(!run_text(KERNEL("mbarrier.arrive.shared.b64 %rd10, [%r5];"), 1, 1, params, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_BARRIER);
    CHECK_HAS(fault.text, "mbarrier.arrive.shared.b64 on an mbarrier that mbarrier.init did not set up");
    CHECK(!run_text(KERNEL("mbarrier.init.shared.b64 [%r5], 2; mbarrier.arrive.shared.b64 %rd10, [%r5], 3;"), 1, 1,
                    params, &fault));
    CHECK_HAS(fault.text, "more arrivals than the phase waits for (3 of at most 2)");
    CHECK(!run_text(KERNEL("mbarrier.init.shared.b64 [%r5], 0;"), 1, 1, params, &fault));
    CHECK_HAS(fault.text, "a count out of range");
    CHECK(!run_text(KERNEL("mbarrier.init.shared.b64 [%r5+4], 1;"), 1, 1, params, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_MISALIGNED);
}

/* All threads wait for a phase that nobody completes, some of them at a barrier. */
TEST(who_waits_for_ever_is_told)
{
    uint64_t params[] = {device(64), 0};
    struct simt_fault fault;
    static const char wait[] =
        KERNEL("@%p1 mbarrier.init.shared.b64 [%r5], 2; bar.sync 0; setp.gt.u32 %p3, %r1, 40;\n"
               "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r5], 32;\n"
               "@%p3 bra V; @%p1 bra W; setp.eq.u32 %p4, %r1, 7; @%p4 exit;\n"
               "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra W;\nV: bar.sync 0;");
    CHECK(!run_text(wait, 1, 64, params, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_DEADLOCK);
    CHECK_HAS(fault.text, "all 63 threads wait, here and at other barriers, and 1 of 2 arrivals and 32 bytes");
    /* A parity that was over, and comes again. */
    CHECK(!run_text(KERNEL("@%p1 mbarrier.init.shared.b64 [%r5], 1; bar.sync 0;\n"
                           "@%p1 mbarrier.arrive.shared.b64 %rd10, [%r5];\n"
                           "W: mbarrier.test_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra W;\n"
                           "V: mbarrier.test_wait.parity.shared.b64 %p2, [%r5], 1; @!%p2 bra V;"),
                    2, 64, params, &fault));
    CHECK_HAS(fault.text, "deadlock: mbarrier.test_wait.parity.shared.b64 waits for a phase that nobody completes");
    /* Who works for long, or only tries for some time, is waited for. */
    must_run(KERNEL("@%p1 mbarrier.init.shared.b64 [%r5], 1; bar.sync 0; mov.u32 %r6, 0; setp.eq.u32 %p5, %r1, 40;\n"
                    "setp.eq.u32 %p6, %r1, 33; @!%p6 bra A;\n"
                    "T: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; add.u32 %r6, %r6, 1;\n"
                    "setp.lt.u32 %p3, %r6, 5000; @%p3 bra T; A: @!%p5 bra W;\n"
                    "L: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, 3000000; @%p3 bra L;\n"
                    "mbarrier.arrive.shared.b64 %rd10, [%r5];\n"
                    "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra W;"),
             1, 64, params);
    simt_free(params[0]);
}

TEST(bulk_copies)
{
    uint64_t params[] = {device(1024), input()};
    must_run(
        KERNEL("@!%p1 bra W; mbarrier.init.shared.b64 [%r5], 1; mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r5], 96;"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+16], [%rd2+32], 64, [%r5];\n"
               "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2+96], [%rd2], 32, [%r5];\n"
               "W: bar.sync 0; mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra W; bar.sync 0;\n"
               "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 128;\n"
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"),
        1, 64, params);
    const uint8_t *got = simt_host(params[0]), *in = simt_host(params[1]);
    for (int k = 16; k < 80; k++) CHECK_INT(got[k], in[k + 16]);
    for (int k = 96; k < 128; k++) CHECK_INT(got[k], in[k - 96]);
}

/* ---- cp.reduce.async.bulk ---- */
/* Small numbers, in every type. */
static int64_t element(const void *at, const char *type, int k)
{
    uint32_t bits = (uint32_t)((const uint16_t *)at)[k] << 16;
    float f;
    memcpy(&f, &bits, 4);
    if (!strcmp(type, "bf16")) return (int64_t)f;
    if (!strcmp(type, "f16")) return (int64_t)((const _Float16 *)at)[k];
    if (!strcmp(type, "f32")) return (int64_t)((const float *)at)[k];
    if (!strcmp(type, "f64")) return (int64_t)((const double *)at)[k];
    return strstr(type, "64") ? ((const int64_t *)at)[k] : ((const int32_t *)at)[k];
}

static void set_element(void *at, const char *type, int k, int v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (!strcmp(type, "bf16"))
        ((uint16_t *)at)[k] = (uint16_t)(bits >> 16);
    else if (!strcmp(type, "f16"))
        ((_Float16 *)at)[k] = (_Float16)v;
    else if (!strcmp(type, "f32"))
        ((float *)at)[k] = f;
    else if (!strcmp(type, "f64"))
        ((double *)at)[k] = v;
    else if (strstr(type, "64"))
        ((int64_t *)at)[k] = v;
    else
        ((int32_t *)at)[k] = v;
}

static int64_t reduced(const char *op, bool is_unsigned, int64_t a, int64_t b)
{
    bool less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
    if (!strncmp(op, "add", 3)) return a + b;
    if (!strcmp(op, "min")) return less ? a : b;
    if (!strcmp(op, "max")) return less ? b : a;
    if (!strcmp(op, "inc")) return a >= b ? 0 : a + 1;
    if (!strcmp(op, "dec")) return a == 0 || a > b ? b : a - 1;
    return op[0] == 'a' ? a & b : op[0] == 'o' ? a | b : a ^ b;
}

/* 64 bytes that `in` holds are added, or what the words say, to those that `out` holds: there, or in shared memory. */
static void check_reduction(const char *op, const char *type, bool shared)
{
    static const char *const forms[] = {
        KERNEL("setp.gt.u32 %p2, %r1, 3; @%p2 ret; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];\n"
               "st.shared.v4.u32 [%r4], {%r6, %r7, %r8, %r9}; bar.sync 0;\n"
               "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.$ [%rd1], [%r2], 64;\n"
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
        KERNEL("setp.gt.u32 %p2, %r1, 3; @%p2 ret; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5];\n"
               "st.shared.v4.u32 [%r4+64], {%r6, %r7, %r8, %r9}; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd4];\n"
               "st.shared.v4.u32 [%r4], {%r6, %r7, %r8, %r9}; bar.sync 0; @!%p1 bra W;\n"
               "mbarrier.init.shared.b64 [%r5], 1; mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r5], 64;\n"
               "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.$ [%r2], [%r2+64], 64,"
               "[%r5];\nV: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra V;\n"
               "W: bar.sync 0; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4];\n"
               "st.global.v4.u32 [%rd4], {%r6, %r7, %r8, %r9};")};
    uint64_t params[] = {device(64), device(64)};
    char text[4096];
    const char *form = forms[shared], *at = strchr(form, '$');
    int size = strstr(type, "64") ? 8 : strstr(type, "32") ? 4 : 2;
    bool is_unsigned = type[0] == 'u' || (type[0] == 'b' && type[1] != 'f');
    int64_t want[32];
    for (int k = 0; k < 64 / size; k++) {
        int a = k * 7 % 23 - (is_unsigned ? 0 : 9), b = k * 5 % 19 - (is_unsigned ? 0 : 4);
        set_element(simt_host(params[0]), type, k, a);
        set_element(simt_host(params[1]), type, k, b);
        want[k] = reduced(op, is_unsigned, a, b);
    }
    snprintf(text, sizeof text, "%.*s%s.%s%s", (int)(at - form), form, op, type, at + 1);
    must_run(text, 1, 64, params);
    for (int k = 0; k < 64 / size; k++)
        if (element(simt_host(params[0]), type, k) != want[k])
            FAIL("%s.%s, element %d: %lld, expected %lld", op, type, k,
                 (long long)element(simt_host(params[0]), type, k), (long long)want[k]);
    simt_free(params[0]), simt_free(params[1]);
}

TEST(bulk_reductions)
{
    static const char *const ops[][2] = {
        {"add", "u32 s32 u64 f32 f64"},
        {"add.noftz", "f16 bf16"},
        {"min", "u32 s32 u64 s64 f16 bf16"},
        {"max", "u32 s32 u64 s64 f16 bf16"},
        {"inc", "u32"},
        {"dec", "u32"},
        {"and", "b32 b64"},
        {"or", "b32 b64"},
        {"xor", "b32 b64"},
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        char types[64], *rest = types, *type;
        snprintf(types, sizeof types, "%s", ops[k][1]);
        while ((type = strtok_r(rest, " ", &rest))) {
            check_reduction(ops[k][0], type, false);
            if (strstr(type, "32") && type[0] != 'f') check_reduction(ops[k][0], type, true);
        }
    }
    check_reduction("add", "u64", true);
    must_refuse(KERNEL("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group "
                       "[%rd1, {%r1, %r1, %r1}], [%r2];"),
                "this way of copying tensors (im2col)");
}

/* Of each 16 bytes those that the mask has. */
TEST(bulk_copies_of_some_bytes)
{
    uint64_t params[] = {device(1024), input()};
    must_run(KERNEL("ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd5]; st.shared.v4.u32 [%r4], {%r6, %r7, %r8, %r9};\n"
                    "bar.sync 0; mov.u32 %r10, 0x4005; cvt.u16.u32 %h1, %r10;\n"
                    "@%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r2], 48, %h1;\n"
                    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
             1, 64, params);
    const uint8_t *got = simt_host(params[0]), *in = simt_host(params[1]);
    for (int k = 0; k < 64; k++) CHECK_INT(got[k], k < 48 && 0x4005 >> k % 16 & 1 ? in[k] : 0);
}

/* Each thread stores or adds, and waits for all bytes. */
TEST(asynchronous_stores_and_reductions)
{
    uint64_t params[] = {device(1024), 0};
    must_run(
        KERNEL(
            "@!%p1 bra W; mbarrier.init.shared.b64 [%r5], 1; mbarrier.arrive.expect_tx.shared.b64 %rd10, [%r5], 1792;\n"
            "st.shared.u32 [%r2+1020], 5;\n"
            "W: bar.sync 0; xor.b32 %r6, %r3, 1008; add.u32 %r6, %r6, %r2; mul.lo.u32 %r7, %r1, %r1;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r6+4], %r7, [%r5];\n"
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%r4+1024], {%r1, %r7, %r7, %r1}, [%r5];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2+1020], %r1, [%r5];\n"
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r2+2048], %r1, [%r5];\n"
            "V: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra V;\n"
            "ld.shared.u32 %r8, [%r4+4]; ld.shared.u32 %r9, [%r4+1028]; ld.shared.u32 %r10, [%r2+1020];\n"
            "ld.shared.u32 %r11, [%r2+2048]; st.async.mmio.release.sys.global.b32 [%rd4], %r8;\n"
            "st.global.v2.u32 [%rd4+8], {%r10, %r11}; red.async.mmio.release.gpu.global.add.u32 [%rd4+4], %r9;"),
        1, 64, params);
    const uint32_t *got = simt_host(params[0]);
    for (uint32_t t = 0; t < 63; t++) {
        CHECK_INT(got[4 * t], (63 - t) * (63 - t));
        CHECK_INT(got[4 * t + 1], t * t);
        CHECK_INT(got[4 * t + 2], 63 * 32 + 5);
        CHECK_INT(got[4 * t + 3], 63);
    }
}

TEST(bulk_stores_of_zeros)
{
    uint64_t params[] = {device(1024), 0};
    struct simt_fault fault;
    must_run(
        KERNEL("mov.u32 %r6, -1; st.shared.v4.u32 [%r4], {%r6, %r6, %r6, %r6}; bar.sync 0; cvt.u64.u32 %rd6, %r2;\n"
               "cvta.shared.u64 %rd6, %rd6; mov.u64 %rd7, 24; @%p1 st.bulk.weak.shared::cta [%r2+8], %rd7, 0;\n"
               "@%p1 st.bulk [%rd6+64], 128, 0; bar.sync 0; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r4];\n"
               "st.global.v4.u32 [%rd4], {%r6, %r7, %r8, %r9};"),
        1, 64, params);
    const uint32_t *got = simt_host(params[0]);
    for (uint32_t k = 0; k < 256; k++) CHECK_INT(got[k], (k >= 2 && k < 8) || (k >= 16 && k < 48) ? 0 : 0xffffffffu);
    CHECK(!run_text(KERNEL("mov.u64 %rd7, 20; st.bulk.shared::cta [%r2], %rd7, 0;"), 1, 1, params, &fault));
    CHECK_HAS(fault.text, "8 does not divide");
    CHECK(!run_text(KERNEL("mov.u64 %rd7, 4096; st.bulk.shared::cta [%r2+1024], %rd7, 0;"), 1, 1, params, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_ADDRESS);
}

TEST(a_cluster_is_one_block)
{
    uint64_t params[] = {device(64 * 16), 0};
    must_run(
        KERNEL(
            "st.shared.u32 [%r4], %r1; barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire;\n"
            "xor.b32 %r6, %r3, 528; add.u32 %r6, %r6, %r2; mapa.shared::cluster.u32 %r7, %r6, 0;\n"
            "ld.shared::cluster.u32 %r8, [%r7]; getctarank.shared::cluster.u32 %r9, %r6;\n"
            "mov.u32 %r10, %cluster_nctarank; add.u32 %r10, %r10, %r9; mov.u32 %r11, %envreg31;\n"
            "add.u32 %r10, %r10, %r11; mov.u32 %r11, %pm7; add.u32 %r10, %r10, %r11;\n"
            "setp.lt.u32 %p2, %r1, 40; @%p2 bra A; elect.sync %r12|%p3, 0xffffff00;\n"
            "selp.u32 %r13, 1, 0, %p3; bra B; A: setp.lt.u32 %p4, %r1, 32; selp.b32 %r14, 0xffffffff, 0x000000ff, %p4;\n"
            "elect.sync %r12|%p3, %r14; selp.u32 %r13, 1, 0, %p3;\n"
            "B: st.global.v4.u32 [%rd4], {%r8, %r10, %r12, %r13};"),
        1, 64, params);
    const uint32_t *got = simt_host(params[0]);
    for (uint32_t t = 0; t < 40; t++) {
        CHECK_INT(got[4 * t], t ^ 33);
        CHECK_INT(got[4 * t + 1], 1);
    }
    for (uint32_t t = 0; t < 32; t++) {
        CHECK_INT(got[4 * t + 2], 0);
        CHECK_INT(got[4 * t + 3], t == 0);
    }
    for (uint32_t t = 40; t < 64; t++) {
        CHECK_INT(got[4 * t + 2], 8);
        CHECK_INT(got[4 * t + 3], t == 40);
    }
}
