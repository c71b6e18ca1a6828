/* Checks below the driver: what is found in PTX, by one host thread or several, and what happens without memory. */
#include "runtime/memory.h"
#include "runtime/simt/check.h"
#include "tests/unit/test.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Fills a tile, synchronises or not, reads it backwards, in the first blocks; then counts with an atomic behind a
 * fence.
 */
static const char *tile_kernel(bool barrier)
{
    static char text[2048];
    snprintf(text, sizeof text,
             HEAD ".shared .align 4 .b8 tile[256];\n"
                  ".visible .entry k(.param .u64 out, .param .u64 count)\n{\n"
                  ".reg .b32 %%r<9>; .reg .b64 %%rd<8>; .reg .pred %%p;\n"
                  "mov.u32 %%r1, %%tid.x; shl.b32 %%r2, %%r1, 2; mov.u32 %%r3, tile; add.s32 %%r4, %%r3, %%r2;\n"
                  "st.shared.u32 [%%r4], %%r1;\n%s"
                  "mov.u32 %%r8, %%ctaid.x; setp.ge.s32 %%p, %%r8, 9; @%%p bra done;\n"
                  "sub.s32 %%r5, 252, %%r2; add.s32 %%r5, %%r5, %%r3; ld.shared.u32 %%r6, [%%r5];\n"
                  "ld.param.u64 %%rd1, [out]; mul.wide.u32 %%rd2, %%r2, 1; add.s64 %%rd3, %%rd1, %%rd2;\n"
                  "st.global.u32 [%%rd3], %%r6; membar.gl; ld.param.u64 %%rd4, [count];\n"
                  "atom.global.add.u32 %%r7, [%%rd4], 1;\ndone: ret;\n}\n",
             barrier ? "bar.sync 0;\n" : "");
    return text;
}

static struct simt_program *load(const char *text)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &e);
    if (!m) FAIL("%s", e.text);
    struct simt_program *p = simt_program_new(m, &e);
    if (!p) FAIL("%s", e.text);
    ptx_free(m);
    return p;
}

static uint64_t device(size_t bytes)
{
    uint64_t a;
    if (simt_alloc(bytes, &a, NULL) != RT_OK) FAIL("no device memory");
    memset(simt_host(a), 0, bytes);
    simt_wrote(a, bytes);
    return a;
}

/* Runs the program's kernel with checks; the fault is filled when it did not end. */
static bool run_checked(const struct simt_program *p, const uint64_t *params, struct simt_check *c,
                        struct simt_fault *fault)
{
    struct simt_launch l = {.function = simt_program_function(p, "k"),
                            .grid = {1, 1, 1},
                            .block = {64, 1, 1},
                            .params = params,
                            .observer = simt_check_observer(c)};
    return simt_run(&l, fault);
}

TEST(a_race_and_its_absence)
{
    for (int barrier = 0; barrier < 2; barrier++) {
        struct simt_program *p = load(tile_kernel(barrier));
        uint64_t params[] = {device(256), device(4)}, more;
        struct simt_fault fault;
        struct simt_check *c = simt_check_new(NULL, 0, NULL);
        size_t count;
        CHECK(run_checked(p, params, c, &fault));
        const struct simt_report *r = simt_check_reports(c, &count, &more);
        CHECK_INT(count, barrier ? 0 : 1);
        CHECK_INT(more, 0);
        if (!barrier) {
            CHECK_INT(r->kind, CHECK_RACE);
            CHECK_INT(r->first.access, ACCESS_WRITE);
            CHECK_INT(r->other.access, ACCESS_READ);
            CHECK_STR(r->symbol, "tile");
            CHECK_INT(r->count, 64);
        }
        simt_check_free(c);
        simt_free(params[0]);
        simt_free(params[1]);
        simt_program_free(p);
    }
}

/* Addresses outside of what the launch was given are found, and left out. */
TEST(extents)
{
    struct simt_program *p = load(tile_kernel(true));
    uint64_t params[] = {device(128), device(4)}, more;
    struct simt_extent extents[] = {{params[0], 128}, {params[1], 4}};
    struct simt_check *c = simt_check_new(extents, 2, NULL);
    struct simt_fault fault;
    size_t count;
    CHECK(run_checked(p, params, c, &fault));
    const struct simt_report *r = simt_check_reports(c, &count, &more);
    CHECK_INT(count, 1);
    CHECK_INT(r->kind, CHECK_BOUNDS);
    CHECK_INT(r->count, 32);
    CHECK_INT(r->address - params[0], 128);
    CHECK_INT(*(uint32_t *)simt_host(params[1]), 64); /* the rest went on */
    simt_check_free(c);
    simt_free(params[0]);
    simt_free(params[1]);
    simt_program_free(p);
}

/* Whatever allocation fails, the launch says so and nothing is lost; in the end none fails. */
TEST(without_memory)
{
    struct simt_program *p = load(tile_kernel(true));
    uint64_t params[] = {device(256), device(4)};
    long n = 1;
    for (bool done = false; !done; n++) {
        struct simt_fault fault = {0};
        struct rt_error e = {0};
        rt_fail_allocation(n);
        struct simt_check *c = simt_check_new(NULL, 0, &e);
        bool ok = c && run_checked(p, params, c, &fault);
        done = !rt_allocation_fails() && ok && n > 20;
        rt_fail_allocation(0);
        if (!c) CHECK_INT(e.status, RT_NOMEM);
        if (c && !ok) CHECK_INT(fault.kind, SIMT_FAULT_NOMEM);
        rt_error_clear(&e);
        simt_check_free(c);
    }
    CHECK(n > 10);
    simt_free(params[0]);
    simt_free(params[1]);
    simt_program_free(p);
}

/* The same loop as compilers write it: the quotient is made before it and wanted by whether the divisor is one, or
 * always, or behind a test that lets 0 pass. */
static unsigned divisions(const char *before, const char *in_loop)
{
    static char text[2048];
    snprintf(text, sizeof text,
             HEAD
             ".visible .entry k(.param .u64 x)\n{\n"
             ".reg .b16 %%h<4>; .reg .b32 %%r<30>; .reg .b64 %%rd<4>; .reg .pred %%p<4>;\n"
             "ld.param.u64 %%rd1, [x]; ld.global.u16 %%h1, [%%rd1]; cvt.s32.s16 %%r1, %%h1; add.s16 %%h2, %%h1, 1;\n"
             "mov.u32 %%r2, 5; mov.u32 %%r3, 0; mov.u32 %%r4, 8; %s\n"
             "L: mov.u32 %%r5, 1; %s\n"
             "N: add.s32 %%r3, %%r3, %%r5; sub.s32 %%r2, %%r2, 1; setp.ne.s32 %%p2, %%r2, 0; @%%p2 bra L;\n"
             "st.global.u32 [%%rd1+4], %%r3; ret;\n}\n",
             before, in_loop);
    struct simt_program *p = load(text);
    uint64_t params[] = {device(8)}, more;
    struct simt_fault fault;
    struct simt_check *c = simt_check_new(NULL, 0, NULL);
    size_t count;
    CHECK(run_checked(p, params, c, &fault));
    const struct simt_report *r = simt_check_reports(c, &count, &more);
    unsigned found = 0;
    for (size_t k = 0; k < count; k++)
        if (r[k].kind == CHECK_DIVISION) found += (unsigned)r[k].count;
    simt_check_free(c);
    simt_free(params[0]);
    simt_program_free(p);
    return found;
}

TEST(a_quotient_that_nobody_wants)
{
    CHECK_INT(divisions("rem.s32 %r6, %r4, %r1;", "setp.lt.u16 %p1, %h2, 2; @%p1 bra N; mov.u32 %r5, %r6;"), 0);
    CHECK_INT(
        divisions("rem.s32 %r6, %r4, %r1; setp.eq.s32 %p1, %r1, 0; selp.b32 %r6, 0, %r6, %p1;", "mov.u32 %r5, %r6;"),
        0);
    CHECK_INT(divisions("shl.b32 %r7, %r1, 20; rem.s32 %r6, %r4, %r7;",
                        "setp.eq.s32 %p1, %r1, 0; @%p1 bra N; mov.u32 %r5, %r6;"),
              0);
    CHECK_INT(divisions("shl.b32 %r7, %r1, 20; and.b32 %r10, %r7, 1; and.b32 %r11, %r7, 2; and.b32 %r12, %r7, 3;"
                        "and.b32 %r13, %r7, 4; and.b32 %r14, %r7, 5; and.b32 %r15, %r7, 6; and.b32 %r16, %r7, 7;"
                        "and.b32 %r17, %r7, 8; and.b32 %r18, %r7, 9; and.b32 %r19, %r7, 10; and.b32 %r20, %r7, 11;"
                        "and.b32 %r21, %r7, 12; and.b32 %r22, %r7, 13; and.b32 %r23, %r7, 14; and.b32 %r24, %r7, 15;"
                        "rem.s32 %r6, %r4, %r7;",
                        "setp.eq.s16 %p1, %h1, 0; @%p1 bra N; mov.u32 %r5, %r6;"),
              0);
    CHECK_INT(divisions("rem.s32 %r6, %r4, %r1;", "mov.u32 %r5, %r6;"), 64);
    CHECK_INT(divisions("setp.lt.s32 %p1, %r1, 0; @%p1 bra L; rem.s32 %r6, %r4, %r1;", "mov.u32 %r5, %r6;"), 64);
    CHECK_INT(divisions("rem.s32 %r6, %r4, %r1; add.s32 %r3, %r3, %r6;",
                        "setp.lt.u16 %p1, %h2, 2; @%p1 bra N; mov.u32 %r5, %r6;"),
              64);
}

/* ---- NVIDIA's own kernels, without lines ---- */
/* What a kernel of one warp, of this name, is told for: of a tile that nobody has written, of which each thread reads
 * an element, and of a word that all of them write. */
static void count_of_kernel(const char *name, uint64_t *unwritten, uint64_t *races)
{
    char text[1024];
    snprintf(text, sizeof text,
             HEAD ".shared .align 4 .b8 tile[128];\n.shared .align 4 .b8 word[4];\n"
                  ".visible .entry %s(.param .u64 out)\n{\n"
                  ".reg .b32 %%r<9>; .reg .b64 %%rd<2>;\n"
                  "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, tile; st.shared.u32 [word], %%r1;\n"
                  "shl.b32 %%r3, %%r1, 2; add.s32 %%r3, %%r3, %%r2; ld.shared.u32 %%r4, [%%r3];\n"
                  "ld.param.u64 %%rd1, [out]; add.s32 %%r4, %%r4, 1; st.global.u32 [%%rd1], %%r4; ret;\n}\n",
             name);
    struct simt_program *p = load(text);
    uint64_t params[] = {device(4)}, more;
    struct simt_fault fault;
    struct simt_check *c = simt_check_new(NULL, 0, NULL);
    struct simt_launch l = {.function = simt_program_function(p, name),
                            .grid = {1, 1, 1},
                            .block = {32, 1, 1},
                            .params = params,
                            .observer = simt_check_observer(c)};
    size_t count;
    CHECK(simt_run(&l, &fault));
    const struct simt_report *r = simt_check_reports(c, &count, &more);
    *unwritten = *races = 0;
    for (size_t k = 0; k < count; k++) {
        if (r[k].kind == CHECK_UNWRITTEN) *unwritten += r[k].count;
        if (r[k].kind == CHECK_RACE && r[k].space == PTX_SHARED) *races += r[k].count;
    }
    simt_check_free(c);
    simt_free(params[0]);
    simt_program_free(p);
}

TEST(nvidias_kernels_are_known_by_name)
{
    static const struct {
        const char *name;
        bool ahead, tiles;
    } kernels[] = {
        {"_ZN3cub17CUB_300102_SM_8006detail10merge_sort26DeviceMergeSortMergeKernelIiEEvv", true, false},
        {"_ZN3cub17CUB_300102_SM_8006detail14segmented_sort30DeviceSegmentedSortKernelSmallIiEEvv", true, false},
        {"_ZN3cub17CUB_300102_SM_8006detail5merge17DeviceMergeKernelIiEEvv", true, false},
        {"_ZN3cub17CUB_300102_SM_8006detail3rle20DeviceRleSweepKernelIiEEvv", true, true},
        {"_ZN6thrust23THRUST_300102_SM_800_NS8cuda_cub4core13_kernel_agentINS1_16__set_operations5AgentIiEEEEvv", true,
         false},
        {"_ZN3cub17CUB_300102_SM_8006detail6select23DeviceSelectSweepKernelIiEEvv", false, true},
        {"_ZN3cub17CUB_300102_SM_8006detail13unique_by_key28DeviceUniqueByKeySweepKernelIiEEvv", false, true},
        {"_ZN6thrust23THRUST_300102_SM_800_NS8cuda_cub4core13_kernel_agentINS1_8__unique5AgentIiEEEEvv", false, true},
        {"_ZN3cub17CUB_300102_SM_8006detail6reduce18DeviceReduceKernelIiEEvv", false, false},
        {"_Z5mergePi", false, false},
        {"_ZN6detail5mergeEPi", false, false},
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        uint64_t unwritten, races;
        count_of_kernel(kernels[k].name, &unwritten, &races);
        if ((unwritten == 0) != kernels[k].ahead || (races == 0) != kernels[k].tiles)
            FAIL("%s: %d, %d", kernels[k].name, (int)unwritten, (int)races);
    }
}
