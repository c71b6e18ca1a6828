/* Blocks in order (ptx_order.c), of random programs and of some by hand: where all jumps back that can be are loops',
 * they are, and loops are in one piece. Found out by going all ways, instruction by instruction. */
#include "tests/unit/simt_programs.h"
#include "tests/unit/test.h"

enum { MOST = 20000 };
static bool seen[MOST];
static size_t stack[MOST];

static const struct ptx_func *entry_of(const struct ptx_module *m)
{
    for (size_t k = 0; k < m->func_count; k++)
        if (m->funcs[k].is_entry) return &m->funcs[k];
    FAIL("there is no kernel");
}

/* Where instruction k may go on. */
static size_t ways(const struct ptx_func *f, size_t k, size_t *to)
{
    const struct ptx_insn *in = &f->insns[k];
    const char *op = in->opcode;
    bool branch = !strcmp(op, "bra"), leaves = !strcmp(op, "ret") || !strcmp(op, "exit") || !strcmp(op, "trap");
    size_t n = 0;
    if (branch) to[n++] = (size_t)in->operands[0].imm;
    for (size_t t = 0; !strcmp(op, "brx") && t < f->branch_table_count; t++)
        for (size_t j = 0; !strcmp(in->operands[1].symbol, f->branch_tables[t].name) && j < f->branch_tables[t].count;
             j++)
            to[n++] = f->branch_tables[t].insns[j];
    if (in->guard >= 0 || (!n && !leaves)) to[n++] = k + 1;
    return n;
}

/* Marks what can be reached from an instruction without coming to `without`. */
static void reach(const struct ptx_func *f, size_t from, size_t without)
{
    size_t depth = 0, to[16];
    memset(seen, 0, f->insn_count + 1);
    if (from == without) return;
    seen[from] = true;
    for (stack[depth++] = from; depth > 0;) {
        size_t n = ways(f, stack[--depth], to);
        for (size_t k = 0; k < n; k++) {
            if (to[k] == without || seen[to[k]]) continue;
            CHECK(to[k] < f->insn_count);
            seen[to[k]] = true;
            stack[depth++] = to[k];
        }
    }
}

static bool dominates(const struct ptx_func *f, size_t a, size_t b)
{
    reach(f, 0, a);
    return !seen[b];
}

/* Is every jump back one of a loop? */
static bool in_order(const struct ptx_func *f)
{
    size_t to[16];
    static bool reached[MOST];
    reach(f, 0, SIZE_MAX);
    memcpy(reached, seen, f->insn_count);
    for (size_t k = 0; k < f->insn_count; k++) {
        size_t n = reached[k] ? ways(f, k, to) : 0;
        for (size_t j = 0; j < n; j++)
            if (to[j] <= k && !dominates(f, to[j], k)) return false;
    }
    return true;
}

/* Without the jumps to what all ways lead through, is there no way round and round? */
static bool is_reducible(const struct ptx_func *f)
{
    static int before[MOST];
    static bool reached[MOST], back[MOST][16];
    size_t to[16], depth = 0, left = 0;
    reach(f, 0, SIZE_MAX);
    memcpy(reached, seen, f->insn_count);
    memset(before, 0, sizeof before);
    for (size_t k = 0; k < f->insn_count; k++) {
        size_t n = reached[k] ? ways(f, k, to) : 0;
        left += reached[k];
        for (size_t j = 0; j < n; j++) {
            back[k][j] = dominates(f, to[j], k);
            before[to[j]] += !back[k][j];
        }
    }
    for (stack[depth++] = 0; depth > 0; left--) {
        size_t k = stack[--depth], n = ways(f, k, to);
        for (size_t j = 0; j < n; j++)
            if (!back[k][j] && --before[to[j]] == 0) stack[depth++] = to[j];
    }
    return left == 0;
}

/* Does an instruction lead to one further on that jumps to a loop's beginning, and not by way of that? */
static bool goes_round(const struct ptx_func *f, size_t insn, size_t head)
{
    size_t to[16];
    reach(f, insn, head);
    for (size_t k = head; k < f->insn_count; k++)
        for (size_t j = 0, n = seen[k] ? ways(f, k, to) : 0; j < n; j++)
            if (to[j] == head) return true;
    return false;
}

/* Does all between a loop's beginning and its end, but for jumps away? */
static bool in_one_piece(const struct ptx_func *f)
{
    size_t to[16];
    for (size_t k = 0; k < f->insn_count; k++) {
        for (size_t j = 0, n = ways(f, k, to); j < n; j++) {
            for (size_t i = to[j] + 1; to[j] <= k && i < k; i++)
                if ((f->insns[i].guard >= 0 || strcmp(f->insns[i].opcode, "bra") != 0) && !goes_round(f, i, to[j]))
                    return false;
        }
    }
    return true;
}

static const struct ptx_func *parsed(const char *text, struct ptx_module **m, bool ordered)
{
    struct rt_error e = {0};
    *m = ptx_parse(text, strlen(text), &e);
    if (!*m || (ordered && !ptx_order(*m, &e))) FAIL("%s", e.text);
    const struct ptx_func *f = entry_of(*m);
    CHECK(f->insn_count < MOST);
    return f;
}

TEST(random_blocks_come_in_order)
{
    static struct gen g;
    int written = 0, irreducible = 0;
    enum { PROGRAMS = 60 };
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        gen_program(&g, seed, 5 + (int)(seed % 30), true);
        struct ptx_module *m, *n;
        const struct ptx_func *was = parsed(g.text, &m, false), *now = parsed(g.text, &n, true);
        bool reducible = is_reducible(was);
        irreducible += !reducible;
        if (!reducible || in_order(was)) {
            if (now->insn_count != was->insn_count) FAIL("seed %d", (int)seed);
            for (size_t k = 0; k < now->insn_count; k++) CHECK(now->insns[k].line == was->insns[k].line);
        } else {
            written++;
            if (!in_order(now) || !in_one_piece(now)) FAIL("seed %d", (int)seed);
        }
        ptx_free(m);
        ptx_free(n);
    }
    CHECK(written > PROGRAMS / 4 && irreducible > PROGRAMS / 20);
}

/* The lines of a kernel's instructions in their new order, and labels behind the last. */
static void expect_lines(const char *body, const char *lines)
{
    char text[1024], got[256] = "";
    struct ptx_module *m;
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .pred %%p; .reg .b32 %%r;\n%s}\n",
        body);
    const struct ptx_func *f = parsed(text, &m, true);
    for (size_t k = 0; k < f->insn_count; k++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, " %d", f->insns[k].line - 4);
    }
    for (size_t k = 0; k < f->label_count; k++)
        if (f->labels[k].insn == f->insn_count)
            snprintf(got + strlen(got), sizeof got - strlen(got), " %s", f->labels[k].name);
    CHECK_STR(got, lines);
    ptx_free(m);
}

/* A loop that one arm of a branch in it leaves, for a place of its own. */
TEST(where_a_loop_is_left_stands_behind_it)
{
    expect_lines("bra B;\n"
                 "A: @%p bra B; bra F;\n"
                 "B: @%p bra D;\n"
                 "C: @%p bra A; bra E;\n"
                 "D: add.s32 %r, %r, 1; bra A;\n"
                 "E: add.s32 %r, %r, 2;\n"
                 "F: ret;\n",
                 " 1 3 4 4 5 5 2 2 4 6 6 2 7");
}

/* The same of a loop in a loop: it is left for a place in the loop around, and from the middle of it for one that is in
 * neither. */
TEST(loops_in_loops)
{
    expect_lines("bra I;\n"
                 "A: @%p bra I; bra H;\n"
                 "B: @%p bra J; bra A;\n"
                 "J: @%p bra D;\n"
                 "C: @%p bra B; bra E;\n"
                 "D: add.s32 %r, %r, 1; @%p bra G; bra B;\n"
                 "E: add.s32 %r, %r, 2; bra A;\n"
                 "G: add.s32 %r, %r, 3;\n"
                 "H: ret;\n"
                 "I: @%p bra A; bra J;\n",
                 " 1 10 10 4 5 5 6 6 6 3 3 5 7 7 3 2 2 8 8 2 9");
    expect_lines("bra I;\n"
                 "A: @%p bra I; ret;\n"
                 "B: @%p bra J; bra A;\n"
                 "C: @%p bra K; bra B;\n"
                 "I: add.s32 %r, %r, 1;\n"
                 "J: @%p bra K; bra A;\n"
                 "K: add.s32 %r, %r, 2; bra C;\n",
                 " 1 5 6 6 7 7 4 4 3 3 6 3 2 2");
}

/* Jumps by a table, in a loop whose end stands before its beginning; behind a trap nothing comes. */
TEST(tables_and_traps)
{
    expect_lines("bra B;\n"
                 "A: @%p bra B; bra D;\n"
                 "B: { T: .branchtargets A, C; brx.idx %r, T; }\n"
                 "C: add.s32 %r, %r, 1; bra A;\n"
                 "D: trap;\n",
                 " 1 3 4 4 2 2 5");
}

/* What leads behind the last instruction stays as it is. */
TEST(ends_that_are_not_in_the_text)
{
    expect_lines("bra B;\nA: @%p bra B; bra C;\nB: bra A;\nC:\n", " 1 2 2 3 C");
    expect_lines(
        "bra B;\nA: @%p bra B; @%p bra B; bra D;\nB: bra A;\nC: { T: .branchtargets A, D; brx.idx %r, T; }\nD:\n",
        " 1 2 2 2 3 4 D");
    expect_lines("bra B;\nA: @%p bra B; ret;\nB: @%p bra A;\n", " 1 2 2 3");
    expect_lines("bra B;\nA: @%p bra B; ret;\nB: bra A;\nC:\n", " 1 3 2 2 C");
}
