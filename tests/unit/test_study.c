/* Profiles and traces with every allocation failing in turn: a fault says so, or the result is whole; nothing leaks. */
#include "runtime/memory.h"
#include "runtime/simt/profile.h"
#include "runtime/simt/trace.h"
#include "tests/unit/test.h"

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .u32 counter = 7;\n"
    ".func helper(.param .u32 pa) { .reg .u32 %r<3>; ld.param.u32 %r1, [pa]; ret; }\n"
    ".visible .entry k(.param .u64 pd)\n{\n"
    ".local .b8 depot[16]; .shared .align 4 .b8 room[16]; .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    ".loc 1 2 0\n$L0: ld.param.u64 %rd1, [pd]; mov.u32 %r1, %tid.x;\n"
    ".loc 1 3 0\n$L1: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
    "setp.lt.u32 %p1, %r1, 8; @%p1 bra $L2;\n"
    ".loc 1 4 0\n st.global.u32 [%rd1], %r1;\n"
    "$L2:\n.loc 1 5 0\n atom.global.add.u32 %r2, [counter], 1; st.local.u32 [depot+4], %r2;\n"
    "st.shared.u32 [room+8], %r2;\n"
    "$L3: ret;\n$L4:\n}\n"
    ".file 1 \"/test.cu\"\n"
    ".section .debug_abbrev\n{\n.b8 1,17,1,0,0\n.b8 2,46,1,17,1,18,1,0,0\n"
    ".b8 3,52,0,3,8,2,10,73,19,0,0\n.b8 4,36,0,62,11,11,11,0,0\n.b8 0\n}\n"
    ".section .debug_info\n{\n.b32 81\n.b8 2,0\n.b32 .debug_abbrev\n.b8 8\n"
    ".b8 1\n"                                                /* 11: the unit */
    ".b8 4,7,4\n"                                            /* 12: unsigned, 4 bytes */
    ".b8 2\n.b64 $L0\n.b64 $L4\n"                            /* 15: the function */
    ".b8 3,105,0\n.b8 5,144,177,228,149,1\n.b32 12\n"        /* i in %r1 */
    ".b8 3,109,0\n.b8 11,3\n.b64 depot\n.b8 35,4\n.b32 12\n" /* m in depot + 4 */
    ".b8 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n}\n";

static struct simt_program *program;
static uint64_t out;

static struct simt_launch launch_of(void)
{
    static uint64_t params[1];
    struct rt_error e = {0};
    if (!program) {
        struct ptx_module *m = ptx_parse(ptx, strlen(ptx), &e);
        if (!m) FAIL("%s", e.text);
        program = simt_program_new(m, &e);
        if (!program) FAIL("%s", e.text);
        ptx_free(m);
        if (simt_alloc(64 * 4, &out, &e) != RT_OK) FAIL("%s", e.text);
    }
    params[0] = out;
    return (struct simt_launch){
        .function = simt_program_function(program, "k"), .grid = {2, 1, 1}, .block = {32, 1, 1}, .params = params};
}

static uint32_t counter(void)
{
    uint64_t address;
    size_t bytes;
    uint32_t value;
    CHECK(simt_program_global(program, "counter", &address, &bytes));
    memcpy(&value, simt_host(address), 4);
    return value;
}

static bool profile_once(struct simt_fault *fault)
{
    struct simt_launch l = launch_of();
    struct simt_profile *p = simt_profile_new(ptx);
    bool ok = p && p->study.run(&p->study, &l, fault);
    if (ok) {
        CHECK_INT(p->count, 4);
        CHECK_STR(p->lines[0].file, "/test.cu");
        CHECK_INT(p->lines[0].line, 2);
        CHECK_INT(p->lines[0].counts.instructions, 2 * 2);
        CHECK_INT(p->lines[1].counts.divergent, 2);
        CHECK_INT(p->lines[2].counts.store.sectors, 2 * 3);
        CHECK_INT(p->lines[3].counts.atomic_turns, 2 * 32);
        CHECK_INT(p->lines[3].counts.local_bytes, 2 * 32 * 4);
        CHECK_INT(p->total.instructions, 2 * (2 + 4 + 1 + 4));
    }
    simt_profile_free(p);
    return ok;
}

static bool trace_once(struct simt_fault *fault)
{
    struct simt_launch l = launch_of();
    struct simt_trace *t = simt_trace_new();
    bool ok = t != NULL;
    if (ok) {
        t->ptx = ptx;
        t->file = "test.cu";
        t->limit = 100;
        ok = t->study.run(&t->study, &l, fault);
    }
    if (ok) {
        CHECK_INT(t->step_count, 4);
        CHECK_INT(t->all_steps, 4);
        CHECK_INT(t->steps[1].line, 3);
        CHECK_INT(t->steps[2].lanes, 0xffffff00);
        CHECK_INT(t->steps[0].value_count, 1);
        CHECK_STR(t->debug->variables[t->values[0].variable].name, "i");
        CHECK_INT(t->values[0].bits[31], 31);
        CHECK_INT(t->steps[3].value_count, 1);
        CHECK_STR(t->debug->variables[t->values[1].variable].name, "m");
        CHECK_INT(t->values[1].bits[1], t->values[1].bits[0] + 1);
        CHECK_STR(t->steps[3].function, "k");
        CHECK_INT(t->cell_count, 1);
        CHECK_INT(t->steps[3].first_cell + t->steps[3].cell_count, 1);
        CHECK_STR(t->arrays[t->cells[0].array].name, "room");
        CHECK_INT(t->cells[0].index, 2);
        CHECK(t->cells[0].bits - t->values[1].bits[0] < 32); /* of one of the lanes */
    }
    simt_trace_free(t);
    return ok;
}

static void with_failing_allocations(bool (*once)(struct simt_fault *fault))
{
    struct simt_fault fault = {0};
    CHECK(once(&fault));
    CHECK_INT(counter(), 7 + 64); /* the variable is the program's own */
    for (long n = 1;; n++) {
        fault = (struct simt_fault){0};
        rt_fail_allocation(n);
        bool ok = once(&fault);
        rt_fail_allocation(0);
        if (ok) break;
        CHECK(n < 2000);
        if (fault.kind == SIMT_FAULT_NONE) continue; /* not even begun */
        CHECK_INT(fault.kind, SIMT_FAULT_NOMEM);
        CHECK_HAS(fault.text, "memory");
    }
    simt_program_free(program);
    simt_memory_reset();
}

/* The same functions in another order, and a call through a pointer. */
static const char swapped[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k(.param .u64 pd)\n{\n.reg .b64 %rd<3>;\n"
                              "{ .param .b32 a; mov.u64 %rd1, helper; st.param.b32 [a], 1;\n"
                              "prototype: .callprototype _ (.param .b32 _);\ncall %rd1, (a), prototype; }\nret;\n}\n"
                              ".func helper(.param .u32 pa) { .reg .u32 %r<3>; ld.param.u32 %r1, [pa]; ret; }\n";

TEST(pointers_to_functions_that_moved)
{
    struct simt_launch l = launch_of();
    struct simt_fault fault = {0};
    struct simt_profile *p = simt_profile_new(swapped);
    CHECK(!p->study.run(&p->study, &l, &fault));
    CHECK_INT(fault.kind, SIMT_FAULT_UNSUPPORTED);
    CHECK_HAS(fault.text, "k calls functions through pointers");
    simt_profile_free(p);
    simt_program_free(program);
    simt_memory_reset();
}

TEST(profile)
{
    setenv("LUNARRAY_THREADS", "1", 1);
    with_failing_allocations(profile_once);
}

/* As many host threads as blocks: the same figures. */
TEST(profile_by_two_threads)
{
    struct simt_fault fault = {0};
    setenv("LUNARRAY_THREADS", "2", 1);
    for (int n = 0; n < 20; n++) CHECK(profile_once(&fault));
    CHECK(trace_once(&fault));
    simt_program_free(program);
    simt_memory_reset();
}

TEST(trace)
{
    setenv("LUNARRAY_THREADS", "1", 1);
    with_failing_allocations(trace_once);
}
