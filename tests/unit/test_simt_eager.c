/* Loads that the compiler makes early (ptx_eager.c), of random programs: a thread of which it is told that it does not
 * want the value may as well get another one. Each program is run three times by the reference: as it is written; with
 * the guards and the loads that stand for others, when all must be as before; and with nonsense for who does not want
 * what was loaded, when all must be as before, too. */
#include <stdlib.h>
#include "tests/unit/simt_programs_text.h"
#include "tests/unit/simt_reference.h"
#include "tests/unit/test.h"

enum { THREADS = 40, LINES = 3000, INSTANCES = 80, SLOTS = 16, OUT = 0x10000, NAMES = 800 };

/* ---- programs ---- */
/* %r0 to %r9 and %p0 to %p4 are written again and again; each %t and %q has one writer, and is read where that has
 * been. Shared a to d and v[8] are always written. */
struct names {
    int known[NAMES]; /* those that may be read here */
    uint32_t count, pending;
    int made;
};
static struct names values, predicates;

static void add_read(struct gen *g, const struct names *n, char often, uint32_t often_count, char once)
{
    const uint32_t back = gen_random(g, 6);
    if (back < n->count && gen_random(g, 3))
        gen_put(g, "%%%c%d", once, n->known[n->count - 1 - back]);
    else
        gen_put(g, "%%%c%u", often, gen_random(g, often_count));
}

static void add_written(struct gen *g, struct names *n, char once)
{
    CHECK(n->made < NAMES);
    gen_put(g, "%%%c%d", once, n->known[n->count + n->pending++] = n->made++);
}

/* $R, $P: one of those that are written often; $T, $Q: a new one; $t, $q: the first new one of the statement, $u: the
 * second; $r, $p: any that may be read; $N: a number; $V: a variable. */
static void add(struct gen *g, const char *pattern)
{
    const uint32_t first = values.count, first_predicate = predicates.count;
    for (const char *s = pattern; *s; s++) {
        if (*s == ';') {
            values.count += values.pending;
            predicates.count += predicates.pending;
            values.pending = predicates.pending = 0;
        }
        if (*s != '$') {
            gen_put(g, "%c%s", *s, *s == ';' ? "\n" : ""); /* lines tell loads apart */
            continue;
        }
        switch (*++s) {
        case 'R': gen_put(g, "%%r%u", gen_random(g, 10)); break;
        case 'P': gen_put(g, "%%p%u", gen_random(g, 5)); break;
        case 'T': add_written(g, &values, 't'); break;
        case 'Q': add_written(g, &predicates, 'q'); break;
        case 't': gen_put(g, "%%t%d", values.known[first]); break;
        case 'u': gen_put(g, "%%t%d", values.known[first + 1]); break;
        case 'q': gen_put(g, "%%q%d", predicates.known[first_predicate]); break;
        case 'r': add_read(g, &values, 'r', 10, 't'); break;
        case 'p': add_read(g, &predicates, 'p', 5, 'q'); break;
        case 'N': gen_put(g, "%u", gen_random(g, 12)); break;
        default: gen_put(g, "%c", "abcd"[gen_random(g, 4)]); break;
        }
    }
}

static const char *const statements[] = {
    "ld.shared.u32 $R, [$V];",
    "ld.shared.u32 $T, [v+16];",
    "ld.shared.v2.u32 {$R, $T}, [v+8];",
    "and.b32 %x, $r, 7; shl.b32 %x, %x, 2; mov.u32 %y, v; add.u32 %y, %y, %x; ld.shared.u32 $T, [%y];",
    "@$p ld.shared.u32 $R, [$V];",
    "ld.volatile.shared.u32 $R, [$V];",
    "st.shared.u32 [$V], $r;",
    "@$p st.shared.u32 [$V], $r;",
    "add.s32 $T, $r, $r;",
    "sub.s32 $R, $r, $N;",
    "mul.lo.s32 $T, $r, $r;",
    "xor.b32 $R, $r, $r;",
    "min.s32 $T, $r, $r;",
    "div.u32 $T, $r, 7;",
    "@$p add.s32 $R, $r, $r;",
    "@!$p mov.u32 $R, $N;",
    "selp.b32 $T, $r, $r, $p;",
    "selp.b32 $R, $r, $N, $p;",
    "selp.b32 $R, $N, $r, $p;",
    "setp.lt.s32 $P, $r, $N;",
    "setp.gt.s32 $Q, $r, $r;",
    "setp.eq.s32 $Q|$P, $r, $N;",
    "setp.lt.and.s32 $Q, $r, $N, $p;",
    "and.pred $Q, $p, $p;",
    "or.pred $P, $p, $p;",
    "and.pred $Q, $p, !$p;",
    "or.pred $Q, !$p, $p;",
    "not.pred $Q, $p;",
    "xor.pred $P, $p, $p;",
    "membar.cta;",
    "st.global.u32 [%out+60], $r;",
};

#define ASM(text) "\n// begin inline asm\n" text "\n// end inline asm\n"

/* What is chosen of what is loaded here, as compilers write it. */
static const char *const chosen[] = {
    "ld.shared.u32 $T, [$V]; selp.b32 $R, $t, $N, $p;",
    "ld.shared.u32 $T, [$V]; setp.gt.s32 $Q, $t, $N; and.pred $P, $p, $q;",
    "ld.shared.u32 $T, [$V]; setp.gt.s32 $Q, $r, $N; selp.b32 $T, $t, $r, $q; add.s32 $R, $r, $r;",
    "ld.shared.u32 $T, [$V]; ld.shared.u32 $T, [$V]; setp.lt.s32 $Q, $r, $N; selp.b32 $R, $t, $r, $q;",
    "ld.shared.v2.u32 {$T, $T}, [v]; add.s32 $T, $t, $r; selp.b32 $T, $r, $r, $p;",
    "ld.shared.u32 $T, [$V]; add.s32 $T, $t, $r; setp.lt.s32 $Q, $r, $N; selp.b32 $R, $r, $r, $q;",
    "ld.shared.u32 $R, [$V]; setp.eq.s32 $Q, $r, $N; @$q add.s32 $R, $r, $r;",
    "ld.shared.u32 $T, [$V]; setp.eq.s32 $Q, $r, $N; @$q st.shared.u32 [$V], $t;",
    "ld.shared.u32 $T, [$V]; setp.gt.s32 $Q, $r, $N; selp.b32 $T, $t, %r9, $q; mov.u32 %r9, $u;",
    "ld.shared.u32 $T, [$V]; sub.s32 %x, $r, $N; shr.s32 $T, %x, 31; and.b32 $R, $u, $t;",
    "ld.shared.u32 $T, [$V]; sub.s32 $T, $r, $r; shr.u32 %x, $u, 31; and.b32 $R, $t, %x;",
    "ld.shared.u32 $T, [$V]; add.s32 $T, $t, $r; @$p st.shared.u32 [$V], $r;",
    /* in inline PTX, all threads at one place */
    ASM("ld.shared.u32 $T, [%v+4];") "add.s32 $T, $t, $r; setp.eq.s32 $Q, $r, $N; @$q st.shared.u32 [v+4], $u;",
    ASM("mov.u32 $R, 0; ld.shared.u32 $R, [%v+8];") "@!$p st.shared.u32 [%v+12], $r;",
    ASM("ld.shared.u32 $T, [%v];") "selp.b32 $R, $t, $N, $p; @$p red.shared.add.u32 [%v+20], $t;",
};

static void block(struct gen *g);

static void branch(struct gen *g)
{
    const int label = g->labels++, both = (int)gen_random(g, 2);
    add(g, gen_random(g, 2) ? "@$p bra E" : "@!$p bra E");
    gen_put(g, "%d;\n", label);
    block(g);
    if (both) gen_put(g, "bra F%d;\n", label);
    gen_put(g, "E%d:\n", label);
    if (both) block(g);
    if (both) gen_put(g, "F%d:\n", label);
}

/* Two to four rounds, which may be left sooner. */
static void loop(struct gen *g)
{
    const int label = g->labels++, i = g->depth;
    gen_put(g, "mov.u32 %%i%d, 0;\nL%d:\n", i, label);
    block(g);
    if (gen_random(g, 2)) {
        add(g, "@$p bra M");
        gen_put(g, "%d;\n", label);
    }
    block(g);
    gen_put(g, "add.u32 %%i%d, %%i%d, 1; setp.lt.u32 %%again%d, %%i%d, %u; @%%again%d bra L%d;\nM%d:\n", i, i, label, i,
            2 + gen_random(g, 3), label, label, label);
}

static void block(struct gen *g)
{
    const uint32_t before = values.count, predicates_before = predicates.count;
    g->depth++;
    for (uint32_t n = 1 + gen_random(g, 4); n > 0; n--) {
        const uint32_t kind = gen_random(g, g->depth < 4 ? 10 : 7);
        if (kind < 4)
            add(g, statements[gen_random(g, GEN_COUNT(statements))]);
        else if (kind < 7)
            add(g, chosen[gen_random(g, GEN_COUNT(chosen))]);
        else if (kind < 9)
            branch(g);
        else
            loop(g);
        gen_put(g, "\n");
    }
    g->depth--;
    if (g->depth) values.count = before, predicates.count = predicates_before;
}

static void write_program(struct gen *g, uint64_t seed)
{
    memset(g, 0, sizeof *g);
    memset(&values, 0, sizeof values);
    memset(&predicates, 0, sizeof predicates);
    g->seed = seed * 0x9e3779b97f4a7c15u + 1;
    gen_put(
        g,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %%r<10>, %%i<8>, %%t<800>, %%x, %%y, %%v; .reg .b64 %%out, %%w; .reg .pred %%p<5>, %%q<800>, %%again<200>;\n"
        ".shared .align 4 .u32 a; .shared .align 4 .u32 b; .shared .align 4 .u32 c; .shared .align 4 .u32 d;\n"
        ".shared .align 16 .b8 v[32];\n"
        "mov.u32 %%v, v; mov.u32 %%r0, %%tid.x; ld.param.u64 %%out, [out]; mul.wide.u32 %%w, %%r0, 64; add.u64 %%out, %%out, %%w;\n");
    for (int k = 1; k < 10; k++)
        gen_put(g, "mul.lo.u32 %%r%d, %%r0, %u; rem.u32 %%r%d, %%r%d, 13;\n", k, 3 + k * k, k, k);
    for (int k = 0; k < 5; k++) gen_put(g, "setp.lt.u32 %%p%d, %%r%d, %u;\n", k, k + 1, 3 + gen_random(g, 8));
    for (int k = 0; k < 4; k++) gen_put(g, "st.shared.u32 [%c], %u;\n", "abcd"[k], gen_random(g, 12));
    for (int k = 0; k < 8; k++) gen_put(g, "st.shared.u32 [v+%d], %u;\n", 4 * k, gen_random(g, 12));
    gen_put(g, "bar.sync 0;\n");
    for (int k = 0; k < 4; k++) {
        block(g);
        if (gen_random(g, 2)) gen_put(g, "bar.sync 0;\n");
    }
    if (gen_random(g, 4) == 0) {
        add(g, "@$p ret;\n");
        block(g);
    }
    for (int k = 0; k < 10; k++) gen_put(g, "st.global.u32 [%%out+%d], %%r%d;\n", 4 * k, k);
    for (int k = 0; k < 5; k++)
        gen_put(g, "selp.u32 %%x, 1, 0, %%p%d; st.global.u32 [%%out+%d], %%x;\n", k, 40 + 4 * k);
    gen_put(g, "ret;\n}\n");
}

/* ---- who wants what ---- */
struct wants {
    enum { RECORD, NONSENSE } phase;
    uint8_t count[THREADS][LINES]; /* of loads that are looked at later, by their line in the text */
    bool wanted[THREADS][LINES][INSTANCES];
    int guarded, later, passed;
};

static uint64_t loaded(void *user, const struct ptx_insn *in, uint32_t thread, bool passed, uint64_t v)
{
    struct wants *w = user;
    const uint64_t nonsense = v * 5 + 0x12345;
    const bool stands_in = in->is_added && (!in->is_eager || in->guard >= 0);
    uint8_t *count = &w->count[thread][in->line];
    CHECK(in->line < LINES && *count < INSTANCES - 1);
    if (stands_in && !passed) w->wanted[thread][in->line][*count] = true;
    if (in->is_added || !in->is_eager) return v;
    if (in->guard >= 0) {
        w->guarded++;
        w->passed += passed;
        return passed && w->phase == NONSENSE ? nonsense : v;
    }
    w->later++;
    ++*count;
    return w->phase == NONSENSE && !w->wanted[thread][in->line][*count] ? nonsense : v;
}

static void run(const struct ptx_module *m, struct wants *w, uint32_t *out, uint64_t seed)
{
    static uint64_t address[1] = {OUT};
    char why[256] = "";
    struct ref_memory memory = {OUT, THREADS * SLOTS * 4, (uint8_t *)out};
    struct ref_launch l = {.module = m,
                           .entry = &m->funcs[0],
                           .grid = {1, 1, 1},
                           .block = {THREADS, 1, 1},
                           .params = (const uint8_t *)address,
                           .memory = &memory,
                           .memory_count = 1,
                           .budget = 10000000,
                           .loaded = w ? loaded : NULL,
                           .user = w};
    memset(out, 0, THREADS * SLOTS * 4);
    if (w) memset(w->count, 0, sizeof w->count);
    if (!ref_run_grid(&l, why, sizeof why)) FAIL("seed %llu: %s", (unsigned long long)seed, why);
}

static void check_program(uint64_t seed, struct wants *w)
{
    static struct gen g;
    static uint32_t plain[THREADS * SLOTS], out[THREADS * SLOTS];
    struct rt_error e = {0};
    write_program(&g, seed);
    struct ptx_module *m = ptx_parse(g.text, g.length, &e);
    if (!m) FAIL("%s", e.text);
    run(m, NULL, plain, seed);
    if (!ptx_guard_eager(m, &e)) FAIL("%s", e.text);
    memset(w->wanted, 0, sizeof w->wanted);
    for (w->phase = RECORD; w->phase <= NONSENSE; w->phase++) {
        run(m, w, out, seed);
        for (int k = 0; k < THREADS * SLOTS; k++)
            if (out[k] != plain[k])
                FAIL("seed %llu, %s: thread %d's %d is %u, expected %u", (unsigned long long)seed,
                     w->phase == RECORD ? "with guards" : "with nonsense for who wants none", k / SLOTS, k % SLOTS,
                     out[k], plain[k]);
    }
    ptx_free(m);
}

TEST(who_does_not_want_a_value_may_get_another)
{
    static struct wants w;
    const char *seed = getenv("LUNARRAY_SEED"), *programs = getenv("LUNARRAY_PROGRAMS");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1, count = programs ? strtoull(programs, NULL, 10) : 100;
    for (uint64_t k = first; k < first + count; k++) check_program(k, &w);
    if (count >= 100) CHECK(w.guarded > 1000 && w.later > 1000 && w.passed > w.guarded / 10);
}
