/* Random PTX programs as LLVM lays them out: loops with several ends and ways out, graphs of blocks that lead anywhere,
 * lanes that meet among themselves; and blocks in any order, some of them written twice. */
#ifndef SIMT_PROGRAMS_BLOCKS_H
#define SIMT_PROGRAMS_BLOCKS_H

#include "tests/unit/simt_programs_memory.h"

static inline void gen_statements(struct gen *g, int most);

/* ---- statements ---- */
/* %pt: a condition, the same for all threads of a block if they must stay together. */
static inline void gen_turn(struct gen *g, bool same)
{
    static const char *const compares[] = {"eq", "ne", "lt", "gt"}, *const of_block[] = {"%cx", "%nx", "%nt"};
    if (same)
        gen_put(g, "setp.%s.u32 %%pt, %s, %u; ", GEN_PICK(g, compares), GEN_PICK(g, of_block), gen_random(g, 64));
    else if (gen_random(g, 2))
        gen_put(g, "setp.%s.s32 %%pt, %%n%d, %u; ", GEN_PICK(g, compares), g->depth, gen_random(g, 4));
    else
        gen_put(g, "setp.%s.s32 %%pt, %%r%u, %u; ", GEN_PICK(g, compares), gen_random(g, 10), gen_random(g, 40));
}
/* A loop whose condition stands before it and at each of its ends, and which is left in the middle, too. */
static inline void gen_rotated(struct gen *g)
{
    int label = g->labels++, depth = ++g->depth, ends = 1 + (int)gen_random(g, 3), outs = (int)gen_random(g, 3);
    bool together = g->together, same = gen_random(g, 2);
    g->together &= same;
    if (same)
        gen_put(g, "mov.u32 %%m%d, %u; ", depth, gen_random(g, 5));
    else
        gen_put(g, "and.b32 %%m%d, %%r%u, 3; ", depth, gen_random(g, 10));
    gen_put(g, "mov.u32 %%n%d, 0; setp.eq.s32 %%pt, %%m%d, 0; @%%pt bra X%d;\nH%d:\n", depth, depth, label, label);
    for (int k = 0; k < ends; k++) {
        gen_statements(g, 3);
        if (k < outs) gen_turn(g, same), gen_put(g, "@%%pt bra W%d_%d;\n", label, k);
        if (k + 1 < ends) {
            gen_turn(g, same);
            gen_put(g, "@%s%%pt bra D%d_%d;\n", gen_random(g, 2) ? "!" : "", label, k);
        }
        gen_put(g, "add.s32 %%n%d, %%n%d, 1; setp.lt.s32 %%pt, %%n%d, %%m%d; @%%pt bra H%d;\nbra X%d;\n", depth, depth,
                depth, depth, label, label);
        if (k + 1 < ends) gen_put(g, "D%d_%d:\n", label, k);
    }
    for (int k = 0; k < outs && k < ends; k++) {
        gen_put(g, "W%d_%d:\n", label, k);
        gen_statements(g, 2);
        if (gen_random(g, 2)) gen_put(g, "bra X%d;\n", label);
    }
    gen_put(g, "X%d:\n", label);
    g->depth--;
    g->together = together;
}
/* Blocks each of which leads on, to one further on, or back as long as a thread may: loops into whose middle other ways
 * lead, too. */
static inline void gen_graph(struct gen *g)
{
    int label = g->labels++, depth = ++g->depth, count = 3 + (int)gen_random(g, 5);
    bool together = g->together, natural = gen_random(g, 3) != 0;
    g->together = false;
    gen_put(g, "and.b32 %%n%d, %%r%u, 7; add.u32 %%n%d, %%n%d, %u;\n", depth, gen_random(g, 10), depth, depth,
            gen_random(g, 4));
    if (!natural) gen_put(g, "@%%p%u bra G%d_%u;\n", gen_random(g, 5), label, gen_random(g, (uint32_t)count));
    for (int k = 0; k < count; k++) {
        gen_put(g, "G%d_%d:\n", label, k);
        gen_statements(g, 2);
        if (gen_random(g, 2)) { /* back */
            int to = natural ? (gen_random(g, 3) ? 0 : k) : (int)gen_random(g, (uint32_t)k + 1);
            gen_put(g, "add.s32 %%n%d, %%n%d, -1; setp.gt.s32 %%pt, %%n%d, 0; ", depth, depth, depth);
            if (gen_random(g, 2)) gen_put(g, "and.pred %%pt, %%pt, %%p%u; ", gen_random(g, 5));
            gen_put(g, "@%%pt bra G%d_%d;\n", label, to);
        }
        if (gen_random(g, 3)) {
            gen_turn(g, false);
            gen_put(g, "@%%pt bra G%d_%u;\n", label, (uint32_t)k + 1 + gen_random(g, (uint32_t)(count - k)));
        }
        if (gen_random(g, 4) == 0)
            gen_put(g, "bra G%d_%u;\n", label, (uint32_t)k + 1 + gen_random(g, (uint32_t)(count - k)));
    }
    gen_put(g, "G%d_%d:\n", label, count);
    g->depth--;
    g->together = together;
}
/* Lanes that part by what they voted, and meet among themselves. */
static inline void gen_party(struct gen *g)
{
    static const char *const ops[] = {"add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"};
    int label = g->labels++, depth = ++g->depth;
    uint32_t p = gen_random(g, 5);
    bool together = g->together;
    g->together = false;
    gen_put(g, "vote.sync.ballot.b32 %%m%d, %%p%u, 0xffffffff;\n@!%%p%u bra E%d;\n", depth, p, p, label);
    for (uint32_t k = 1 + gen_random(g, 3); k > 0; k--) {
        gen_statements(g, 2);
        uint32_t to = gen_random(g, 10), from = gen_random(g, 10);
        switch (gen_random(g, 4)) {
        case 0:
            gen_put(
                g,
                "brev.b32 %%r%u, %%m%d; clz.b32 %%r%u, %%r%u; shfl.sync.idx.b32 %%r%u|%%p%u, %%r%u, %%r%u, 31, %%m%d;\n",
                from, depth, from, from, to, gen_random(g, 5), gen_random(g, 10), from, depth);
            break;
        case 1: gen_put(g, "redux.sync.%s %%r%u, %%r%u, %%m%d;\n", GEN_PICK(g, ops), to, from, depth); break;
        case 2: gen_put(g, "vote.sync.any.pred %%p%u, %%p%u, %%m%d;\n", to % 5, from % 5, depth); break;
        default: gen_put(g, "bar.warp.sync %%m%d;\n", depth); break;
        }
    }
    gen_put(g, "E%d:\n", label);
    g->depth--;
    g->together = together;
}
/* An index that is a constant where it stands, in a register that holds others elsewhere. */
static inline void gen_fixed_load(struct gen *g)
{
    gen_put(
        g, "mov.u32 %%i0, %u; mul.wide.s32 %%a0, %%i0, %u; add.s64 %%a0, %%in, %%a0; ld.global.u32 %%r%u, [%%a0+%u];\n",
        gen_random(g, 100), 4u << gen_random(g, 2), gen_random(g, 10), 4 * gen_random(g, 10));
}
static inline void gen_early_return(struct gen *g)
{
    uint32_t p = gen_random(g, 5);
    gen_put(g, "@%%p%u st.param.b32 [pr], %%r%u;\n@%%p%u ret;\n", p, gen_random(g, 10), p);
}
/* False: another statement, please. */
static inline bool gen_block_statement(struct gen *g)
{
    uint32_t k = gen_random(g, 100);
    if (k < 10 && g->in_function)
        gen_early_return(g);
    else if (k < 10 && g->depth < 3)
        gen_rotated(g);
    else if (k < 18 && g->depth < 2)
        gen_graph(g);
    else if (k < 24 && g->together && g->depth < 3)
        gen_party(g);
    else if (k < 26 && !g->in_function)
        gen_fixed_load(g);
    else
        return false;
    return true;
}

/* ---- layout ---- */
enum { GEN_BLOCKS = 2000 };
struct gen_block {
    const char *start, *code, *end; /* labels, and what follows them */
    char name[16];                  /* the first label's, or one of its own */
    bool falls;                     /* through to the next */
};

static inline const char *gen_skip(const char *s)
{
    return s + strspn(s, " \n");
}
static inline bool gen_is(const char *opcode, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(opcode, name, n) && strchr(". ;", opcode[n]);
}
/* Cuts a body at its labels and behind its branches. A scope in braces stays whole. Returns how many blocks. */
static inline int gen_cut(const char *s, struct gen_block *blocks)
{
    int count = 0, deep = 0;
    bool fresh = true, named = false, leaves = false, guarded = false;
    while (*(s = gen_skip(s)) && (deep || *s != '}') && count < GEN_BLOCKS - 1) {
        bool brace = *s == '{' || *s == '}';
        const char *start = s, *end = brace ? s + 1 : s + strcspn(s, ";:") + 1;
        bool label = end[-1] == ':' && !deep;
        if (fresh || (label && blocks[count - 1].code)) {
            blocks[count] = (struct gen_block){.start = start, .falls = true};
            snprintf(blocks[count].name, sizeof blocks[count].name, "B%d", count);
            count++;
            fresh = named = false;
        }
        struct gen_block *b = &blocks[count - 1];
        if (label && !named) snprintf(b->name, sizeof b->name, "%.*s", (int)(end - 1 - start), start), named = true;
        if (!label && !b->code) b->code = start;
        b->end = end;
        if (brace) deep += *start == '{' ? 1 : -1;
        if (!label && !brace) {
            const char *opcode = *start == '@' ? gen_skip(start + strcspn(start, " ")) : start;
            leaves = gen_is(opcode, "bra") || gen_is(opcode, "brx") || gen_is(opcode, "ret") || gen_is(opcode, "exit");
            guarded = *start == '@';
        }
        s = end;
        if (!leaves || deep || label) continue;
        b->falls = guarded;
        fresh = true;
        leaves = false;
    }
    return count;
}
static inline bool gen_may_be_copied(const struct gen_block *b)
{
    static const char *const once[] = {".sync", "bar.", "{", "ret", "exit"};
    static char text[512];
    if (!b->code || (size_t)(b->end - b->code) >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", (int)(b->end - b->code), b->code);
    for (uint32_t k = 0; k < GEN_COUNT(once); k++)
        if (strstr(text, once[k])) return false;
    return true;
}
/* The blocks of a body, from `start` on in the text, in another order. */
static inline void gen_lay_out(struct gen *g, size_t start)
{
    static char body[sizeof g->text];
    static struct gen_block blocks[GEN_BLOCKS];
    static int order[GEN_BLOCKS];
    memcpy(body, g->text + start, g->length - start);
    body[g->length - start] = 0;
    int count = gen_cut(body, blocks);
    uint32_t moves = gen_random(g, 3) ? gen_random(g, 6) : (uint32_t)count;
    for (int k = 0; k < count; k++) order[k] = k;
    for (uint32_t k = 0; k < moves && count > 2; k++) { /* a run of blocks goes elsewhere; the first stays */
        int from = 1 + (int)gen_random(g, (uint32_t)count - 1), most = count - from, piece[8];
        int n = 1 + (int)gen_random(g, (uint32_t)(most < 8 ? most : 8)), rest = count - n;
        int to = 1 + (int)gen_random(g, (uint32_t)rest);
        memcpy(piece, order + from, (size_t)n * sizeof *order);
        memmove(order + from, order + from + n, (size_t)(count - from - n) * sizeof *order);
        memmove(order + to + n, order + to, (size_t)(rest - to) * sizeof *order);
        memcpy(order + to, piece, (size_t)n * sizeof *order);
    }
    g->length = start;
    for (int k = 0; k < count; k++) {
        int b = order[k];
        if (blocks[b].name[0] == 'B') gen_put(g, "%s:\n", blocks[b].name);
        gen_put(g, "%.*s\n", (int)(blocks[b].end - blocks[b].start), blocks[b].start);
        while (blocks[b].falls && b + 1 < count && gen_random(g, 6) == 0 && gen_may_be_copied(&blocks[b + 1])) {
            b++;
            gen_put(g, "%.*s\n", (int)(blocks[b].end - blocks[b].code), blocks[b].code);
        }
        bool next = k + 1 < count && order[k + 1] == b + 1;
        if (blocks[b].falls && b + 1 < count && (!next || gen_random(g, 8) == 0))
            gen_put(g, "bra %s;\n", blocks[b + 1].name);
    }
    gen_put(g, "}\n");
}

#endif
