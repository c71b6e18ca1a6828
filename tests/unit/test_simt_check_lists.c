/* The lists of check_once.c where host threads run at once: whoever brings its list to the records waits for stores
 * that another one has noted and not yet done. */
#include <sched.h>
#include "runtime/simt/check.h"
#include "runtime/simt/exec.h"
#include "runtime/threads.h"
#include "tests/unit/test.h"

#define STEPS 7 /* the last comes again to what was touched longer ago than a list looks back */

/* Stores the block's number, plus one, where the indices say: STEPS times, by 32 threads. */
static const char scatter[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry k(.param .u64 p, .param .u64 out)\n{\n"
                              ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %q;\n"
                              "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [out];\n"
                              "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; add.s32 %r4, %r1, 1;\n"
                              "mad.lo.s32 %r5, %r1, 224, %r2;\n"
                              "again: mad.lo.s32 %r6, %r3, 32, %r5; mul.wide.s32 %rd3, %r6, 4;\n"
                              "add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r7, [%rd4]; mul.wide.s32 %rd5, %r7, 4;\n"
                              "add.s64 %rd6, %rd2, %rd5; st.global.u32 [%rd6], %r4;\n"
                              "add.s32 %r3, %r3, 1; setp.lt.s32 %q, %r3, 7; @%q bra again;\n"
                              "ret;\n}\n";

/* Runs block 1 up to its last store when block 0 has noted its first one and not done it; then block 0 goes on as soon
 * as block 1 has left its list, or can't for a while. */
static enum event (*looks)(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *m);
static _Atomic bool noted, leaves, left;
static unsigned stores[2]; /* by block */

static enum event pausing(struct simt_observer *o, struct warp *w, const struct insn *i, uint32_t *m)
{
    unsigned block = w->worker->block[0];
    bool counts = i->memory == MEMORY_STORE, first = false, last = false;
    if (counts) first = block == 0 && ++stores[0] == 1, last = block == 1 && ++stores[1] == STEPS;
    if (last) {
        while (!atomic_load(&noted)) sched_yield();
        atomic_store(&leaves, true);
    }
    enum event ev = looks(o, w, i, m);
    if (last) atomic_store(&left, true);
    if (first) {
        atomic_store(&noted, true);
        while (!atomic_load(&leaves)) sched_yield();
        for (int k = 0; k < 2000 && !atomic_load(&left); k++) sched_yield();
    }
    return ev;
}

TEST(a_store_that_is_noted_and_not_done)
{
    struct rt_error e = {0};
    struct ptx_module *m = ptx_parse(scatter, strlen(scatter), &e);
    struct simt_program *p = m ? simt_program_new(m, &e) : NULL;
    uint64_t params[2], more, bytes = 2 * STEPS * 32 * 4;
    if (rt_thread_count() < 2) SKIP("one host thread");
    if (!p) FAIL("%s", e.text);
    ptx_free(m);
    for (int k = 0; k < 2; k++) {
        CHECK_INT(simt_alloc(bytes, &params[k], NULL), RT_OK);
        memset(simt_host(params[k]), 0, bytes);
        simt_wrote(params[k], bytes);
    }
    int32_t *index = simt_host(params[0]);
    for (int b = 0; b < 2; b++)
        for (int s = 0; s < STEPS; s++)
            for (int t = 0; t < 32; t++) index[(b * STEPS + s) * 32 + t] = (b * STEPS + s % (STEPS - 1)) * 32 + t;
    index[STEPS * 32 + 32] = 0; /* the one element that both blocks have */
    struct simt_extent extents[] = {{params[0], bytes}, {params[1], bytes}};
    struct simt_check *c = simt_check_new(extents, 2, NULL);
    struct simt_observer *o = simt_check_observer(c);
    struct simt_launch l = {.function = simt_program_function(p, "k"),
                            .grid = {2, 1, 1},
                            .block = {32, 1, 1},
                            .params = params,
                            .observer = o};
    struct simt_fault fault;
    size_t count;
    looks = o->before;
    o->before = pausing;
    o->quick = NULL; /* what is generated can't be stopped in between */
    CHECK(simt_run(&l, &fault));
    CHECK_INT(stores[0], STEPS);
    CHECK_INT(stores[1], STEPS);
    const struct simt_report *r = simt_check_reports(c, &count, &more);
    CHECK_INT(count, 1);
    CHECK_INT(r->kind, CHECK_RACE);
    CHECK_INT(r->address, params[1]);
    simt_check_free(c);
    simt_program_free(p);
    for (int k = 0; k < 2; k++) simt_free(params[k]);
}
