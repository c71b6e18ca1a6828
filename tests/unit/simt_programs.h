/* Random programs of PTX for tests, valid and with one result: computations, memory, branches, loops, calls. */
#ifndef SIMT_PROGRAMS_H
#define SIMT_PROGRAMS_H

#include "tests/unit/simt_programs_blocks.h"

/* ---- control ---- */
/* A condition as it stands just before its branch: bounds, and what is made of them in registers that are read and
 * written by one instruction. Nobody reads those behind the branch. */
static inline void gen_condition(struct gen *g)
{
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const types[] = {"s32", "u32"};
    for (uint32_t k = 0, most = 3 + gen_random(g, 5); k < most; k++) {
        uint32_t to = k < 3 ? k : gen_random(g, 3), a = gen_random(g, 3), b = gen_random(g, 3);
        switch (k < 3 ? 0 : gen_random(g, 6)) {
        case 0:
            gen_put(g, "setp.%s.%s %%g%u", GEN_PICK(g, compares), GEN_PICK(g, types), to);
            if (gen_random(g, 4) == 0) gen_put(g, "|%%g%u", (to + 1) % 3);
            if (gen_random(g, 3))
                gen_put(g, ", %s, %u; ", GEN_PICK(g, gen_places), gen_random(g, 80));
            else
                gen_put(g, ", %%n%d, %u; ", g->depth, gen_random(g, 4));
            break;
        case 1: gen_put(g, "not.pred %%g%u, %%g%u; ", to, gen_random(g, 2) ? to : a); break;
        case 2: gen_put(g, "and.pred %%g%u, %%g%u, %%p%u; ", to, a, gen_random(g, 5)); break;
        case 3: gen_put(g, "xor.pred %%g%u, %%g%u, %%g%u; ", to, a, b); break;
        default: gen_put(g, "%s.pred %%g%u, %%g%u, %%g%u; ", gen_random(g, 2) ? "and" : "or", to, a, b); break;
        }
    }
}
static inline void gen_branch(struct gen *g)
{
    int label = g->labels++;
    bool otherwise = gen_random(g, 2), together = g->together, own = gen_random(g, 2);
    if (own) gen_condition(g);
    g->together = false;
    g->depth++;
    gen_put(g, "@%s%%%c%u bra E%d;\n", gen_random(g, 2) ? "!" : "", own ? 'g' : 'p', gen_random(g, own ? 3 : 5), label);
    gen_statements(g, 4);
    if (otherwise) gen_put(g, "bra.uni F%d;\n", label);
    gen_put(g, "E%d:\n", label);
    if (otherwise) {
        gen_statements(g, 4);
        gen_put(g, "F%d:\n", label);
    }
    g->depth--;
    g->together = together;
}
/* A loop of up to 4 rounds, of as many for all threads or of different numbers. */
static inline void gen_loop(struct gen *g)
{
    int label = g->labels++, depth = ++g->depth;
    bool uniform = gen_random(g, 2), together = g->together;
    g->together &= uniform;
    if (uniform)
        gen_put(g, "mov.u32 %%m%d, %u; mov.u32 %%n%d, 0;\n", depth, 1 + gen_random(g, 4), depth);
    else
        gen_put(g, "and.b32 %%m%d, %%r%u, 3; add.u32 %%m%d, %%m%d, 1; mov.u32 %%n%d, 0;\n", depth, gen_random(g, 10),
                depth, depth, depth);
    gen_put(g, "L%d:\n", label);
    gen_statements(g, 5);
    if (!uniform && gen_random(g, 2)) gen_put(g, "@%%p%u bra M%d;\n", gen_random(g, 5), label); /* break */
    gen_put(g, "add.s32 %%n%d, %%n%d, 1; setp.lt.s32 %%pt, %%n%d, %%m%d; @%%pt bra L%d;\nM%d:\n", depth, depth, depth,
            depth, label, label);
    g->depth--;
    g->together = together;
}
static inline void gen_switch(struct gen *g)
{
    int label = g->labels++;
    bool together = g->together;
    g->together = false;
    g->depth++;
    gen_put(
        g,
        "{ T%d: .branchtargets S%da, S%db, S%dc; and.b32 %%i0, %%r%u, 3; min.u32 %%i0, %%i0, 2; brx.idx %%i0, T%d; }\n",
        label, label, label, label, gen_random(g, 10), label);
    for (char c = 'a'; c <= 'c'; c++) {
        gen_put(g, "S%d%c:\n", label, c);
        gen_statements(g, 2);
        if (gen_random(g, 3)) gen_put(g, "bra U%d;\n", label); /* or falls through */
    }
    gen_put(g, "U%d:\n", label);
    g->depth--;
    g->together = together;
}
static inline void gen_call(struct gen *g)
{
    gen_put(g,
            "{ .param .b32 pa; .param .b64 pb; .param .b32 pr; st.param.b32 [pa], %%r%u; st.param.b64 [pb], %%q%u;\n"
            "call.uni (pr), %s, (pa, pb); ld.param.b32 %%r%u, [pr]; }\n",
            gen_random(g, 10), gen_random(g, 5), g->helper, gen_random(g, 10));
}
static inline void gen_statement(struct gen *g)
{
    if (g->blocks && gen_block_statement(g)) return;
    uint32_t k = gen_random(g, 100);
    size_t start = g->length;
    if (g->in_function) {
        if (k < 15 && g->depth < 2)
            gen_branch(g);
        else if (k < 22 && g->depth < 2)
            gen_loop(g);
        else
            gen_compute(g);
        return;
    }
    static const struct {
        uint32_t below; /* of 100 */
        void (*write)(struct gen *g);
        int depth; /* at most */
        bool plain, together;
    } kinds[] = {
        /* the first three have statements within */
        {8, gen_branch, 3, true, false},    {15, gen_loop, 2, true, false},          {17, gen_switch, 2, false, false},
        {21, gen_gather, 9, true, false},   {29, gen_affine_load, 9, true, false},   {36, gen_index, 9, true, false},
        {38, gen_walk, 9, true, false},     {40, gen_widened, 9, true, false},       {42, gen_merge, 9, true, false},
        {45, gen_scratch, 9, true, false},  {47, gen_local, 9, false, false},        {50, gen_atomic, 9, false, false},
        {52, gen_call, 9, false, false},    {59, gen_tile, 9, true, true},           {61, gen_histogram, 9, true, true},
        {66, gen_exchange, 9, false, true}, {68, gen_vote_of_block, 9, false, true},
    };
    for (uint32_t j = 0; j < GEN_COUNT(kinds); j++) {
        if (k >= kinds[j].below) continue;
        if (g->depth > kinds[j].depth || (g->plain && !kinds[j].plain) || (!g->together && kinds[j].together)) break;
        kinds[j].write(g);
        if (j > 2) gen_rename(g, start);
        return;
    }
    gen_compute(g);
}
static inline void gen_statements(struct gen *g, int most)
{
    for (uint32_t n = 1 + gen_random(g, (uint32_t)most); n > 0 && g->left > 0; n--) {
        g->left--;
        gen_statement(g);
    }
}

#define GEN_REGISTERS                                                                                                                                \
    ".reg .pred %%p<6>, %%pt, %%g<3>; .reg .b16 %%h<4>; .reg .b32 %%r<10>, %%i<1500>, %%n<8>, %%m<8>, %%gid, %%tidl, %%nt, %%tx, %%ty, %%cx, %%bid," \
    "%%nx, %%lane;\n"                                                                                                                                \
    ".reg .b64 %%q<6>, %%a<1500>, %%in, %%out, %%acc, %%mine; .reg .f32 %%f<6>; .reg .f64 %%d<4>;\n"

/* Every register gets a value: of the thread's number, of a block's, of memory, or a constant. */
static inline void gen_start(struct gen *g)
{
    size_t start = g->length;
    gen_put(
        g,
        "mov.u32 %%tx, %%tid.x; mov.u32 %%ty, %%tid.y; mov.u32 %%cx, %%ctaid.x; mov.u32 %%nx, %%ntid.x; mov.u32 %%lane, %%laneid;\n"
        "mov.u32 %%i0, %%tid.z; mov.u32 %%i1, %%tid.y; mov.u32 %%i2, %%ntid.y; mad.lo.s32 %%i0, %%i0, %%i2, %%i1;\n"
        "mov.u32 %%i1, %%ntid.x; mov.u32 %%i2, %%tid.x; mad.lo.s32 %%tidl, %%i0, %%i1, %%i2;\n"
        "mov.u32 %%i2, %%ntid.y; mul.lo.s32 %%i3, %%i1, %%i2; mov.u32 %%i2, %%ntid.z; mul.lo.s32 %%nt, %%i3, %%i2;\n"
        "mov.u32 %%i0, %%ctaid.z; mov.u32 %%i1, %%nctaid.y; mov.u32 %%i2, %%ctaid.y; mad.lo.s32 %%i0, %%i0, %%i1, %%i2;\n"
        "mov.u32 %%i1, %%nctaid.x; mov.u32 %%i2, %%ctaid.x;\n"
        "mad.lo.s32 %%i0, %%i0, %%i1, %%i2; mad.lo.s32 %%gid, %%i0, %%nt, %%tidl; mad.lo.s32 %%bid, %%cx, -5, %%lane;\n"
        "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u64 %%acc, [acc]; ld.param.u32 %%r0, [n];\n"
        "cvta.to.global.u64 %%in, %%in; mul.wide.u32 %%a0, %%gid, %d; add.s64 %%mine, %%out, %%a0;\n",
        GEN_SLOT);
    for (int k = 0; k < 16; k++) gen_put(g, "st.local.u64 [stack+%d], %d;%s", 8 * k, k, k % 4 == 3 ? "\n" : " ");
    gen_put(
        g,
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%gid; mov.u32 %%r4, 7; add.s32 %%r5, %%gid, -16;\n"
        "and.b32 %%i0, %%gid, %d; mul.wide.u32 %%a0, %%i0, 4; add.s64 %%a0, %%in, %%a0; ld.global.u32 %%r6, [%%a0];\n"
        "ld.global.u32 %%r7, [%%in+8]; mul.lo.s32 %%r8, %%tidl, -3; sub.s32 %%r9, %%nt, %%tidl;\n"
        "cvt.u64.u32 %%q0, %%r5; cvt.s64.s32 %%q1, %%r8; mul.wide.s32 %%q2, %%r6, %%r9; mov.u64 %%q3, -1; ld.global.u64 %%q4, [%%in+16];\n"
        "cvt.u16.u32 %%h0, %%r6; cvt.u16.u32 %%h1, %%r1; mov.u16 %%h2, 77;\n",
        GEN_WORDS - 1);
    for (int k = 0; k < 5; k++) gen_put(g, "cvt.rn.f32.s32 %%f%d, %%r%d; ", k, k + 3);
    for (int k = 0; k < 3; k++) gen_put(g, "cvt.rn.f64.s64 %%d%d, %%q%d; ", k, k + 1);
    gen_put(g, "mov.u32 %%n0, 0;\n");
    for (int k = 0; k < 7; k++) gen_put(g, "mov.u32 %%n%d, %d; ", k + 1, k);
    gen_put(
        g,
        "setp.lt.u32 %%p0, %%tidl, 13; setp.gt.s32 %%p1, %%r6, 0; setp.eq.s32 %%p2, %%r4, 7; and.b32 %%i0, %%r1, 1;\n"
        "setp.ne.s32 %%p3, %%i0, 0; setp.lt.f32 %%p4, %%f3, 0f00000000; mov.pred %%pt, %%p0;\n");
    gen_rename(g, start);
}
static inline void gen_end(struct gen *g)
{
    for (int k = 0; k < 10; k++) gen_put(g, "st.global.u32 [%%mine+%d], %%r%d;%s", 4 * k, k, k == 9 ? "\n" : " ");
    for (int k = 0; k < 5; k++) gen_put(g, "st.global.u64 [%%mine+%d], %%q%d; ", 40 + 8 * k, k);
    for (int k = 0; k < 3; k++) gen_put(g, "st.global.u16 [%%mine+%d], %%h%d; ", 80 + 2 * k, k);
    for (int k = 0; k < 5; k++) gen_put(g, "st.global.f32 [%%mine+%d], %%f%d;%s", 88 + 4 * k, k, k == 4 ? "\n" : " ");
    for (int k = 0; k < 3; k++) gen_put(g, "st.global.f64 [%%mine+%d], %%d%d; ", 112 + 8 * k, k);
    gen_put(g, "mov.u32 %%i0, 0; ");
    for (int k = 0; k < 5; k++) gen_put(g, "selp.u32 %%i1, %d, 0, %%p%d; or.b32 %%i0, %%i0, %%i1; ", 1 << k, k);
    gen_put(g, "st.global.u32 [%%mine+136], %%i0;\nret;\n}\n");
}

/* The program of a seed with about so many statements, or one of blocks in any order. */
static inline void gen_program(struct gen *g, uint64_t seed, int statements, bool blocks)
{
    memset(g, 0, offsetof(struct gen, length));
    g->length = 0;
    g->seed = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
    g->labels = g->depth = 0;
    g->fresh = 3;
    for (int k = 0; k < 8; k++) g->now[k / 4][k % 4] = k % 4;
    g->plain = seed % 2;
    g->blocks = blocks;
    g->helper = blocks && seed % 4 < 2 ? "__internal_helper" : "helper"; /* the former's body goes where it is called */
    gen_put(g,
            ".version 8.0\n.target sm_80\n.address_size 64\n"
            ".func (.param .b32 pr) %s(.param .b32 pa, .param .b64 pb)\n{\n" GEN_REGISTERS,
            g->helper);
    size_t body = g->length;
    for (int k = 0; k < 10; k++) gen_put(g, "mov.u32 %%r%d, %d; ", k, k * k);
    for (int k = 0; k < 5; k++)
        gen_put(g, "mov.u64 %%q%d, %d; mov.f32 %%f%d, 0f3f80000%d; setp.eq.u32 %%p%d, %d, 1;\n", k, k, k, k, k, k % 2);
    for (int k = 0; k < 3; k++) gen_put(g, "mov.u16 %%h%d, %d; mov.f64 %%d%d, 0d3ff000000000000%d;\n", k, k, k, k);
    gen_put(
        g,
        "mov.u32 %%tx, %%tid.x; mov.u32 %%ty, %%tid.y; mov.u32 %%cx, %%ctaid.x; mov.u32 %%nx, %%ntid.x; mov.u32 %%lane, 31; mov.u32 %%bid, 9;\n"
        "mov.u32 %%gid, 3; mov.u32 %%tidl, %%tid.x; mov.u32 %%nt, 5; ld.param.b32 %%r0, [pa]; ld.param.b64 %%q0, [pb];\n");
    for (int k = 0; k < 8; k++) gen_put(g, "mov.u32 %%n%d, 0; ", k);
    g->in_function = true;
    g->together = false;
    g->left = 8;
    gen_statements(g, 8);
    gen_put(g, "st.param.b32 [pr], %%r0; ret;\n}\n");
    if (blocks) gen_lay_out(g, body);
    g->in_function = false;
    g->together = true;
    g->left = statements;
    gen_put(g,
            ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 acc, .param .u32 n)\n{\n" GEN_REGISTERS
            ".shared .align 16 .b8 tile[%d]; .shared .align 16 .b8 hist[32]; .local .align 16 .b8 stack[128];\n",
            4 * GEN_TILE);
    body = g->length;
    gen_start(g);
    while (g->left > 0) gen_statements(g, 10);
    if (gen_random(g, 4) == 0) {
        gen_put(g, "@%%p%u exit;\n", gen_random(g, 5));
        g->together = false;
        g->left = 4;
        gen_statements(g, 4);
    }
    gen_end(g);
    if (blocks) gen_lay_out(g, body);
}

#endif
