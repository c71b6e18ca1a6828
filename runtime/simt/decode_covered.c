/* Accesses to shared memory that a thread makes only where data says so, but to what it touches in any case: since the
 * last barrier it has loaded from there, or stored there, on every way to the access. So does who exchanges two
 * elements if they are in the wrong order.
 *
 * Such a load tells nothing new, nor does such a store where nobody else so much as read the word between the two
 * barriers, which is seen at run time (check_steady.c). What is loaded has been written: no such store was the first.
 */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/decode.h"

#define MOST      4000 /* instructions */
#define VARIABLES 64   /* of a program, that are looked at */
#define NO_STEP   SIZE_MAX

struct step { /* what an instruction is for the search */
    size_t target;
    bool falls, barrier;
    int place; /* that it touches: the first instruction that touches the same; -1: none that is looked at */
    int bytes;
};

struct covering {
    struct decoder *d;
    const struct ptx_func *f;
    struct step *steps;
    bool *in; /* by instruction: on all ways to it the place at hand was touched since the last barrier */
};

/* How much a load or store of shared memory touches; 0: it is none. */
static int bytes_of(const struct ptx_insn *in)
{
    bool moves = !strcmp(in->opcode, "ld") || !strcmp(in->opcode, "st");
    if (!moves || !in->mod_count || !ptx_has_mod_like(in, "shared") || !ptx_address(in)) return 0;
    int count = ptx_has_mod_like(in, "v2") ? 2 : ptx_has_mod_like(in, "v4") ? 4 : 1;
    const char *type = in->mods[in->mod_count - 1];
    int bits = *type ? atoi(type + 1) : 0;
    return bits > 0 && bits <= 128 ? count * bits / 8 : 0;
}

static bool same_place(const struct covering *c, size_t a, size_t b)
{
    const struct ptx_operand *x = ptx_address(&c->f->insns[a]), *y = ptx_address(&c->f->insns[b]);
    bool symbol = x->symbol && y->symbol ? !strcmp(x->symbol, y->symbol) : x->symbol == y->symbol;
    return symbol && x->reg == y->reg && x->imm == y->imm && c->steps[a].bytes == c->steps[b].bytes;
}

static int variable_of(const struct covering *c, size_t k)
{
    int n = simt_origin_of_first(c->d, &c->f->insns[k]) - SHARED_ORIGIN;
    return n >= 0 && n < VARIABLES ? n : -1;
}

static int place_of(const struct covering *c, size_t k)
{
    if (!c->steps[k].bytes || variable_of(c, k) < 0) return -1;
    for (size_t n = 0; n < k; n++)
        if (c->steps[n].place == (int)n && same_place(c, n, k)) return (int)n;
    return (int)k;
}

/* Fills in c->steps. False: there are jumps that can't be followed. */
static bool read_steps(struct covering *c)
{
    for (size_t k = 0; k < c->f->insn_count; k++) {
        const struct ptx_insn *in = &c->f->insns[k];
        bool jumps = !strcmp(in->opcode, "bra"), ends = !strcmp(in->opcode, "ret") || !strcmp(in->opcode, "exit");
        if (!strcmp(in->opcode, "brx")) return false;
        if (jumps && (!in->operand_count || in->operands[0].kind != PTX_OP_LABEL)) return false;
        struct step *s = &c->steps[k];
        s->target = jumps ? (size_t)in->operands[0].imm : NO_STEP;
        s->falls = in->guard >= 0 || !(jumps || ends);
        s->barrier = !strcmp(in->opcode, "bar") || !strcmp(in->opcode, "barrier");
        s->bytes = bytes_of(in);
        s->place = place_of(c, k);
    }
    return true;
}

/* Behind an instruction, if it is so before it. */
static bool is_touched(const struct covering *c, size_t k, int place, int reg)
{
    const struct ptx_insn *in = &c->f->insns[k];
    if (c->steps[k].barrier || (reg >= 0 && simt_writes(in, reg))) return false;
    return c->in[k] || (c->steps[k].place == place && in->guard < 0);
}

static bool clear(const struct covering *c, size_t to)
{
    if (to >= c->f->insn_count || !c->in[to]) return false;
    c->in[to] = false;
    return true;
}

static void follow(const struct covering *c, int place)
{
    int reg = ptx_address(&c->f->insns[place])->reg;
    memset(c->in, 1, c->f->insn_count * sizeof *c->in);
    c->in[0] = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < c->f->insn_count; k++) {
            if (is_touched(c, k, place, reg)) continue;
            changed |= clear(c, c->steps[k].target);
            if (c->steps[k].falls) changed |= clear(c, k + 1);
        }
    }
}

static void mark(const struct covering *c, int place, bool *marks, uint64_t *stored)
{
    follow(c, place);
    for (size_t k = 0; k < c->f->insn_count; k++) {
        if (c->steps[k].place != place || !c->in[k]) continue;
        marks[k] = true;
        if (!strcmp(c->f->insns[k].opcode, "st")) *stored |= UINT64_C(1) << variable_of(c, k);
    }
}

bool simt_find_covered(struct decoder *d, bool *marks, uint64_t *stored)
{
    struct covering c = {.d = d, .f = d->f};
    size_t count = d->f->insn_count;
    *stored = 0;
    if (!count || count > MOST) return true;
    c.steps = rt_calloc(count, sizeof *c.steps);
    c.in = rt_alloc(count * sizeof *c.in);
    bool ok = c.steps && c.in;
    if (ok && read_steps(&c))
        for (size_t k = 0; k < count; k++)
            for (size_t n = k + 1; c.steps[k].place == (int)k && n < count; n++)
                if (c.steps[n].place == (int)k) {
                    mark(&c, (int)k, marks, stored);
                    break;
                }
    free(c.steps);
    free(c.in);
    return ok;
}
