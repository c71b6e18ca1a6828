/* What random PTX programs do with memory: addresses as compilers write them, loads and stores within bounds, atomics
 * whose order does not matter; and, where all threads come along, tiles, barriers and exchanges between lanes. */
#ifndef SIMT_PROGRAMS_MEMORY_H
#define SIMT_PROGRAMS_MEMORY_H

#include "tests/unit/simt_programs_text.h"

/* ---- memory ---- */
/* %i0 bytes-sized elements of `size` at %in become the address %a0, in one of the ways compilers write it. */
static inline void gen_scale(struct gen *g, uint32_t shift)
{
    switch (gen_random(g, 5)) {
    case 0: gen_put(g, "mul.wide.u32 %%a0, %%i0, %u; add.s64 %%a0, %%in, %%a0;", 1u << shift); break;
    case 1: gen_put(g, "mul.wide.s32 %%a0, %%i0, %u; add.s64 %%a0, %%a0, %%in;", 1u << shift); break;
    case 2: gen_put(g, "cvt.s64.s32 %%a0, %%i0; shl.b64 %%a0, %%a0, %u; add.s64 %%a0, %%in, %%a0;", shift); break;
    case 3: gen_put(g, "mad.wide.s32 %%a0, %%i0, %u, %%in;", 1u << shift); break;
    default: gen_put(g, "shl.b32 %%i0, %%i0, %u; cvt.u64.u32 %%a0, %%i0; add.s64 %%a0, %%in, %%a0;", shift); break;
    }
}
static const struct {
    const char *type;
    uint32_t shift;
    char class;
} gen_loads[] = {{"u32", 2, 'r'}, {"b32", 2, 'r'}, {"f32", 2, 'f'}, {"u64", 3, 'q'}, {"f64", 3, 'd'}, {"u8", 0, 'r'},
                 {"u8", 0, 'q'},  {"s8", 0, 'q'},  {"s16", 1, 'q'}, {"s8", 0, 'r'},  {"u16", 1, 'h'}, {"u8", 0, 'h'},
                 {"s16", 1, 'r'}, {"s32", 2, 'q'}, {"u32", 2, 'q'}, {"s32", 2, 'r'}};

static inline void gen_load_at(struct gen *g, const char *guard, uint32_t k, const char *space, const char *address)
{
    char reg[8];
    snprintf(reg, sizeof reg, "%%%c%u", gen_loads[k].class, gen_random(g, gen_register_count(gen_loads[k].class)));
    gen_put(g, " %sld%s.%s %s, [%s];", guard, space, gen_loads[k].type, reg, address);
    if (reg[1] == 'f' || reg[1] == 'd') gen_tame(g, reg, "");
    gen_put(g, "\n");
}
/* A load by an index that every thread computes: any, made to fit. */
static inline void gen_gather(struct gen *g)
{
    uint32_t k = gen_random(g, GEN_COUNT(gen_loads));
    gen_put(g, "and.b32 %%i0, ");
    gen_source(g, 'x');
    gen_put(g, ", %u; ", (GEN_WORDS * 4 >> gen_loads[k].shift) - 1);
    gen_scale(g, gen_loads[k].shift);
    static const char *const spaces[] = {".global", ".global.nc", ""};
    gen_load_at(g, "", k, GEN_PICK(g, spaces), gen_random(g, 3) ? "%a0" : "%a0+16");
}
/* An index that is affine in the thread's number, with the guard that kernels write: stencils, reversed and strided
 * walks, indices that wrap around. */
static inline void gen_affine_load(struct gen *g)
{
    static const int strides[] = {1, 1, 1, 2, 3, 4, -1, -1, -2, 0, 0x40000000, 0x08000001, -0x40000000};
    static const int offsets[] = {
        0, 0, 1, -1, 5, -33, 63, 511, GEN_WORDS - 1, -16, 0x7fffffff, (int)0x80000000, -0x40000000};
    uint32_t k = gen_random(g, 3);
    int stride = GEN_PICK(g, strides), offset = GEN_PICK(g, offsets);
    if (gen_random(g, 5) == 0)
        gen_put(g, "add.s32 %%i0, %%gid, %%n%d; ", g->depth); /* with the counter of a loop around */
    else
        gen_put(g, "mov.u32 %%i0, %s; ", GEN_PICK(g, gen_places));
    gen_put(g, "mad.lo.s32 %%i0, %%i0, %d, %d; setp.lt.u32 %%pt, %%i0, %d;\n", stride, offset, GEN_WORDS);
    if (gen_random(g, 2)) {
        gen_scale(g, gen_loads[k].shift);
        gen_load_at(g, "@%pt ", k, ".global", "%a0");
    } else {
        int label = g->labels++;
        gen_put(g, "@!%%pt bra L%d; ", label);
        gen_scale(g, gen_loads[k].shift);
        gen_load_at(g, "", k, ".global", "%a0");
        gen_put(g, "L%d:\n", label);
    }
}
/* An index by the arithmetic that kernels do, which may overflow on its way, clamped to the array in the end: rows and
 * columns, halos, values that were chosen by a condition or grow in a loop. */
static inline void gen_index(struct gen *g)
{
    static const char *const steps[] = {
        "add.s32 %i0, %i0, i;",
        "sub.s32 %i0, i, %i0;",
        "mul.lo.s32 %i0, %i0, i;",
        "mad.lo.s32 %i0, %i0, i, %tidl;",
        "shl.b32 %i0, %i0, s;",
        "shr.s32 %i0, %i0, s;",
        "shr.u32 %i0, %i0, s;",
        "and.b32 %i0, %i0, i;",
        "neg.s32 %i0, %i0;",
        "not.b32 %i0, %i0;",
        "xor.b32 %i0, %i0, i;",
        "or.b32 %i0, %i0, i;",
        "add.s32 %i0, %i0, %tidl;",
        "sub.s32 %i0, %i0, %gid;",
        "mad.lo.s32 %i0, %tidl, 3, %i0;",
        "div.u32 %i0, %i0, 7;",
        "rem.s32 %i0, %i0, 33;",
        "@%p0 add.s32 %i0, %i0, 5;",
        "@!%p1 mov.u32 %i0, %tidl;",
        "selp.b32 %i0, %i0, %gid, %p2;",
        "selp.b32 %i0, 17, %i0, %p3;",
        "add.s32 %i0, %i0, %r4;",
        "add.s32 %i0, %i0, %n0;",
        "max.s32 %i0, %i0, i;",
        "min.u32 %i0, %i0, i;",
        "cvt.s64.s32 %a0, %i0; add.s64 %a0, %a0, i; cvt.u32.u64 %i0, %a0;",
        "mul.wide.u32 %a0, %i0, i; cvt.u32.u64 %i0, %a0;",
        "mul.hi.u32 %i0, %i0, i;",
        "bfe.u32 %i0, %i0, 2, 9;",
    };
    gen_put(g, "mov.u32 %%i0, %s; ", GEN_PICK(g, gen_places));
    for (uint32_t n = gen_random(g, 5); n > 0; n--) {
        for (const char *t = GEN_PICK(g, steps); *t; t++)
            if ((t[1] == ';' || t[1] == ',') && (*t == 'i' || *t == 's') && t[-1] == ' ')
                gen_immediate(g, *t);
            else
                gen_put(g, "%c", *t);
        gen_put(g, " ");
    }
    gen_put(g, "max.s32 %%i0, %%i0, 0; min.s32 %%i0, %%i0, %d;\n", GEN_WORDS - 1);
    uint32_t k = gen_random(g, 3);
    gen_scale(g, 2);
    gen_load_at(g, "", k, gen_random(g, 2) ? ".global" : ".global.nc", gen_random(g, 2) ? "%a0" : "%a0+4");
}
/* A 64-bit number of a 32-bit one that goes up by any step from thread to thread, and so may have gone round. */
static inline void gen_widened(struct gen *g)
{
    static const char *const ways[] = {"cvt.s64.s32 %a0, %i0;",
                                       "cvt.u64.u32 %a0, %i0;",
                                       "mul.wide.s32 %a0, %i0, i;",
                                       "mul.wide.u32 %a0, %i0, i;",
                                       "mad.wide.s32 %a0, %i0, 4, %q0;",
                                       "mad.wide.u32 %a0, %i0, 8, %in; sub.s64 %a0, %a0, %in;",
                                       "cvt.u64.u32 %a0, %i0; shl.b64 %a0, %a0, 2;"};
    static const char *const ends[] = {"mov.b64 %q1",     "add.s64 %q2, %q2", "min.s64 %q3, 7",
                                       "cvt.u32.u64 %r1", "cvt.u32.u64 %r2",  "cvt.rn.f32.s64 %f1"};
    uint32_t shift = gen_random(g, 31),
             offset = gen_random(g, 2) ? gen_random(g, 1u << 31) << 1 : 0u - gen_random(g, 64);
    gen_put(g, "mad.lo.s32 %%i0, %s, %d, %d; ", GEN_PICK(g, gen_places),
            (gen_random(g, 2) ? 1 : -1) * (int)((1u << shift) + gen_random(g, 3)), (int)offset);
    for (const char *t = GEN_PICK(g, ways); *t; t++)
        if (*t == 'i' && t[1] == ';')
            gen_immediate(g, 'i');
        else
            gen_put(g, "%c", *t);
    const char *end = GEN_PICK(g, ends);
    gen_put(g, " %s, %%a0;\n", end);
}
/* A loop of as many rounds for all whose pointer moves on, by a constant or by each thread's own step. */
static inline void gen_walk(struct gen *g)
{
    static const int steps[] = {4, 8, 128, -4, -128, 0, 252};
    int label = g->labels++, trips = 1 + (int)gen_random(g, 5);
    bool own = gen_random(g, 4) == 0;
    uint32_t f = gen_random(g, 5), r = gen_random(g, 10);
    gen_put(g, "and.b32 %%i0, %s, 127; add.s32 %%i0, %%i0, 320; mad.wide.u32 %%a1, %%i0, 4, %%in; mov.u32 %%i1, 0;\n",
            gen_random(g, 2) ? "%tidl" : "%gid");
    if (own) gen_put(g, "and.b32 %%i2, %%r%u, 60; cvt.u64.u32 %%a2, %%i2;\n", gen_random(g, 10));
    gen_put(g, "W%d: ld.global.f32 %%f%u, [%%a1]; ", label, f);
    char name[8];
    snprintf(name, sizeof name, "%%f%u", f);
    gen_tame(g, name, "");
    gen_put(g, " ld.global.u32 %%i3, [%%a1+%d]; add.s32 %%r%u, %%r%u, %%i3;\n", 4 * (int)gen_random(g, 8) - 16, r, r);
    gen_put(g, "fma.rn.f32 %%f%u, %%f%u, 0f3f000000, %%f%u; ", (f + 1) % 5, f, (f + 1) % 5);
    snprintf(name, sizeof name, "%%f%u", (f + 1) % 5);
    gen_tame(g, name, "");
    if (own)
        gen_put(g, " add.s64 %%a1, %%a1, %%a2;");
    else
        gen_put(g, " add.s64 %%a1, %%a1, %d;", GEN_PICK(g, steps));
    gen_put(g, " add.s32 %%i1, %%i1, 1; setp.ne.s32 %%pt, %%i1, %d; @%%pt bra W%d;\n", trips, label);
}
/* An address that comes of either side of a branch, or of a loop that threads leave at different times. */
static inline void gen_merge(struct gen *g)
{
    int label = g->labels++;
    uint32_t p = gen_random(g, 5);
    gen_put(g, "mov.u32 %%i0, %%tidl; @%%p%u bra X%d; mad.lo.s32 %%i0, %%tidl, %u, %u;", p, label, gen_random(g, 3),
            gen_random(g, 60));
    if (gen_random(g, 2))
        gen_put(g, " bra.uni Y%d; X%d: add.s32 %%i0, %%i0, 1; Y%d:\n", label, label, label);
    else
        gen_put(g, " X%d:\n", label);
    if (gen_random(g, 2))
        gen_put(g,
                "and.b32 %%i1, %%r%u, 3; Z%d: add.s32 %%i0, %%i0, %u; sub.s32 %%i1, %%i1, 1; setp.ge.s32 %%pt, %%i1, 0;"
                " @%%pt bra Z%d;\n",
                gen_random(g, 10), label, gen_random(g, 8), label);
    gen_put(g, "min.u32 %%i0, %%i0, %d; ", GEN_WORDS - 1);
    gen_scale(g, 2);
    gen_load_at(g, "", gen_random(g, 3), ".global", "%a0");
}
static inline void gen_scratch(struct gen *g)
{
    uint32_t at = GEN_SCRATCH + 16 * gen_random(g, 4);
    switch (gen_random(g, 5)) {
    case 0:
        gen_put(g, "st.global.v4.u32 [%%mine+%u], {%%r%u, %%r%u, %%r%u, %%r%u};", at, gen_random(g, 10),
                gen_random(g, 10), gen_random(g, 10), gen_random(g, 10));
        gen_put(g, " ld.global.v2.u64 {%%q0, %%q1}, [%%mine+%u];\n", at);
        break;
    case 1:
        gen_put(g, "st.global.u8 [%%mine+%u], %%r%u; ld.global.s32 %%r%u, [%%mine+%u];\n", at + gen_random(g, 4),
                gen_random(g, 10), gen_random(g, 10), at);
        break;
    case 2:
        gen_put(g, "st.global.u16 [%%mine+%u], %%h%u; ld.global.v2.s16 {%%r0, %%r1}, [%%mine+%u];\n", at + 2,
                gen_random(g, 3), at);
        break;
    case 3:
        gen_put(g, "atom.global.add.u32 %%r%u, [%%mine+%u], %%r%u;\n", gen_random(g, 10), at, gen_random(g, 10));
        break;
    default:
        gen_put(g, "st.u64 [%%mine+%u], %%q%u; ld.u32 %%r%u, [%%mine+%u];\n", at, gen_random(g, 5), gen_random(g, 10),
                at + 4);
        break;
    }
}
static inline void gen_local(struct gen *g)
{
    uint32_t r = gen_random(g, 10);
    gen_put(g, "and.b32 %%i1, %%r%u, 120; mov.u64 %%a1, stack; cvt.u64.u32 %%a2, %%i1; add.s64 %%a1, %%a1, %%a2;\n", r);
    gen_put(g, "st.local.u64 [%%a1], %%q%u; ", gen_random(g, 5));
    gen_put(g, "ld.local.u32 %%r%u, [stack+%u]; ", gen_random(g, 10), 4 * gen_random(g, 32));
    switch (gen_random(g, 5)) {
    case 0: gen_put(g, "cvta.local.u64 %%a1, %%a1; ld.u64 %%q%u, [%%a1];\n", gen_random(g, 5)); break;
    case 1: gen_put(g, "ld.local.s16 %%r%u, [%%a1+2];\n", gen_random(g, 10)); break;
    case 2: gen_put(g, "st.local.u8 [%%a1+3], %%r%u; ld.local.s32 %%q%u, [%%a1];\n", r, gen_random(g, 5)); break;
    case 3:
        gen_put(g, "st.local.v2.u32 [%%a1], {%%r%u, %%r%u}; ld.local.u8 %%q%u, [%%a1+5];\n", gen_random(g, 10), r,
                gen_random(g, 5));
        break;
    default:
        gen_put(g,
                "shr.u32 %%i1, %%i1, 4; mul.wide.u32 %%a2, %%i1, 16; mov.u64 %%a1, stack; add.s64 %%a1, %%a1, %%a2;\n");
        gen_put(g, "st.local.v2.u64 [%%a1], {%%q0, %%q%u}; ld.local.v4.u32 {%%r1, %%r3, %%r5, %%r7}, [%%a1];\n",
                gen_random(g, 5));
        break;
    }
}
static inline void gen_atomic(struct gen *g)
{
    static const char *const ops[] = {"add.u32", "min.s32", "max.u32", "and.b32",
                                      "or.b32",  "xor.b32", "add.u64", "max.s64"};
    uint32_t k = gen_random(g, GEN_COUNT(ops));
    gen_put(g, "and.b32 %%i1, %%r%u, 7; mul.wide.u32 %%a1, %%i1, 8; add.s64 %%a1, %%a1, %%acc; ", gen_random(g, 10));
    if (k < 6 && gen_random(g, 3) == 0)
        gen_put(g, "atom.global.%s %%i1, [%%a1+%u], %%r%u;\n", ops[k], 64 * k, gen_random(g, 10));
    else
        gen_put(g, "red%s.%s [%%a1+%u], %%%c%u;\n", gen_random(g, 2) ? ".global" : "", ops[k], 64 * k,
                k < 6 ? 'r' : 'q', gen_random(g, 5));
}

/* ---- where all threads are together ---- */
/* %i0 becomes the number of another thread of the block, one each or one for all. */
static inline void gen_partner(struct gen *g)
{
    switch (gen_random(g, 5)) {
    case 0: gen_put(g, "sub.s32 %%i0, %%nt, %%tidl; sub.s32 %%i0, %%i0, 1; "); break;
    case 1: gen_put(g, "add.s32 %%i0, %%tidl, %u; rem.u32 %%i0, %%i0, %%nt; ", 1 + gen_random(g, 70)); break;
    case 2:
        gen_put(g, "xor.b32 %%i0, %%tidl, %u; sub.s32 %%i1, %%nt, 1; min.u32 %%i0, %%i0, %%i1; ",
                1u << gen_random(g, 6));
        break;
    case 3: gen_put(g, "rem.u32 %%i0, %%r%u, %%nt; ", gen_random(g, 10)); break;
    default: gen_put(g, "mov.u32 %%i0, 0; "); break;
    }
}
/* Each thread stores at an index of its own, all wait, each loads what one of them stored. */
static inline void gen_tile(struct gen *g)
{
    uint32_t r = gen_random(g, 10), to = gen_random(g, 10), stride = 4 * (1 + gen_random(g, 3));
    const char *space = gen_random(g, 3) ? ".shared" : "";
    switch (gen_random(g, 4)) {
    case 0: gen_put(g, "sub.s32 %%i0, %%nt, %%tidl; add.s32 %%i0, %%i0, -1; "); break;
    case 1: gen_put(g, "add.s32 %%i0, %%tidl, %u; rem.u32 %%i0, %%i0, %%nt; ", 1 + gen_random(g, 40)); break;
    default: gen_put(g, "mov.u32 %%i0, %%tidl; "); break;
    }
    bool narrow = space[0] && gen_random(g, 2);
    if (narrow)
        gen_put(g, "mov.u32 %%i1, tile; mad.lo.s32 %%i0, %%i0, %u, %%i1; st.shared.u32 [%%i0], %%r%u;\n", stride, r);
    else
        gen_put(
            g,
            "mov.u64 %%a1, tile; %s mul.wide.u32 %%a2, %%i0, %u; add.s64 %%a1, %%a1, %%a2; st%s.u32 [%%a1], %%r%u;\n",
            space[0] ? "" : "cvta.shared.u64 %a1, %a1;", stride, space, r);
    gen_put(g, "bar.sync 0;\n");
    gen_partner(g);
    if (narrow)
        gen_put(
            g,
            "mul.lo.s32 %%i0, %%i0, %u; mov.u32 %%i1, tile; add.s32 %%i0, %%i1, %%i0; ld.shared.u32 %%r%u, [%%i0];\n",
            stride, to);
    else
        gen_put(
            g,
            "mul.wide.s32 %%a1, %%i0, %u; mov.u64 %%a2, tile; add.s64 %%a1, %%a2, %%a1; ld.shared.u32 %%r%u, [%%a1];\n",
            stride, to);
    gen_put(g, "bar.sync 0;\n");
}
static inline void gen_histogram(struct gen *g)
{
    static const char *const ops[] = {"add.u32", "add.s32", "max.u32", "min.s32", "or.b32", "xor.b32"};
    gen_put(
        g,
        "setp.lt.u32 %%pt, %%tidl, 8; mov.u32 %%i0, hist; mad.lo.s32 %%i1, %%tidl, 4, %%i0; @%%pt st.shared.u32 [%%i1], 0;\n");
    gen_put(
        g,
        "sub.s32 %%i2, %%nt, 1; setp.eq.u32 %%pt, %%tidl, %%i2; @%%pt st.shared.v4.u32 [hist], {0, 0, 0, 0}; @%%pt st.shared.v4.u32 [hist+16], {0, 0, 0, 0}; bar.sync 0;\n");
    gen_put(g, "and.b32 %%i1, %%r%u, 28; add.s32 %%i1, %%i1, %%i0; %sred.shared.%s [%%i1], %%r%u; bar.sync 0;\n",
            gen_random(g, 10), gen_random(g, 2) ? "@%p0 " : "", GEN_PICK(g, ops), gen_random(g, 10));
    gen_put(g, "ld.shared.u32 %%r%u, [hist+%u]; bar.sync 0;\n", gen_random(g, 10), 4 * gen_random(g, 8));
}
static inline void gen_exchange(struct gen *g)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const uint32_t clamps[] = {31, 0, 0x1807, 0x181f, 0x1c03, 0x1f00, 0x100f};
    uint32_t mode = gen_random(g, 4);
    uint32_t r = gen_random(g, 10);
    switch (gen_random(g, 6)) {
    case 0:
    case 1:
        gen_put(g, "shfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, ", modes[mode], r, gen_random(g, 5), gen_random(g, 10));
        gen_source(g, 's');
        gen_put(g, ", %u, 0xffffffff;\n", mode == 0 ? 0 : GEN_PICK(g, clamps));
        break;
    case 2: gen_put(g, "vote.sync.ballot.b32 %%r%u, %%p%u, 0xffffffff;\n", r, gen_random(g, 5)); break;
    case 3: {
        static const char *const votes[] = {"all", "any", "uni"};
        gen_put(g, "vote.sync.%s.pred %%p%u, %%p%u, 0xffffffff;\n", GEN_PICK(g, votes), gen_random(g, 5),
                gen_random(g, 5));
        break;
    }
    case 4:
        if (gen_random(g, 2))
            gen_put(g, "and.b32 %%i0, %%r%u, 3; match.any.sync.b32 %%r%u, %%i0, 0xffffffff;\n", r, gen_random(g, 10));
        else
            gen_put(g, "match.all.sync.b64 %%r%u|%%p%u, %%q%u, 0xffffffff;\n", r, gen_random(g, 5), gen_random(g, 5));
        break;
    default: {
        static const char *const ops[] = {"add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"};
        gen_put(g, "redux.sync.%s %%r%u, %%r%u, 0xffffffff;\n", GEN_PICK(g, ops), r, gen_random(g, 10));
    }
    }
}
static inline void gen_vote_of_block(struct gen *g)
{
    switch (gen_random(g, 3)) {
    case 0: gen_put(g, "bar.red.popc.u32 %%r%u, 0, %%p%u;\n", gen_random(g, 10), gen_random(g, 5)); break;
    case 1: gen_put(g, "bar.red.and.pred %%p%u, 0, %%p%u;\n", gen_random(g, 5), gen_random(g, 5)); break;
    default: gen_put(g, "bar.red.or.pred %%p%u, 0, !%%p%u;\n", gen_random(g, 5), gen_random(g, 5)); break;
    }
}

#endif
