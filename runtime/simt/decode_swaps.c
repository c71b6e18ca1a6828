/* Loops that update a place by one compare-and-swap, and begin with a plain read of what it then expects, a guess:
 *   old = *p; do { seen = old; old = atomicCAS(p, seen, ...); } while (seen != old);
 * It is no race for that read. It is found by following the loaded value, and the address, through moves and additions
 * of constants. */
#include <string.h>
#include "runtime/simt/decode.h"

bool simt_holds_constant(const struct simt_program *p, const struct function *f, uint32_t slot, int64_t *value)
{
    const struct constant *c = f->const_count ? p->constants + f->const_first : NULL;
    for (uint32_t k = 0; k < f->const_count; k++)
        if (c[k].slot == slot) {
            *value = (int64_t)c[k].value;
            return true;
        }
    return false;
}

#define GUESS_REACH 64 /* instructions before and behind the load */
#define GUESS_SLOTS 16
struct guess {
    const struct simt_program *program;
    const struct function *function;
    const struct insn *load;
    uint32_t held[GUESS_SLOTS], held_count; /* slots that have the value */
    uint32_t near[GUESS_SLOTS], near_count; /* slots that have the address, and how much more */
    int64_t apart[GUESS_SLOTS];
    uint32_t wide; /* that has it in 64 bits, where the load takes the lower 32; the load's own: there is none */
    uint32_t evicted;
    bool fixed; /* the address is that of a variable: `base`, and what the load adds */
    int64_t base;
};

/* Does it only take the lower half of a register, as the address of the instruction behind it in shared memory? */
static bool is_narrowing(const struct insn *i, const char *opcode)
{
    static const char *const opcodes[] = {"ld.shared", "st.shared", "atom.shared", "red.shared"};
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++)
        if (i->memory == MEMORY_NONE && opcode_begins(opcode, opcodes[k])) return true;
    return false;
}

/* Of so many slots the one that was found first makes room, but for the load's own. */
static void keep_near(struct guess *g, uint32_t slot, int64_t apart)
{
    const uint32_t n = g->near_count < GUESS_SLOTS ? g->near_count++ : 1 + g->evicted++ % (GUESS_SLOTS - 1);
    g->apart[n] = apart;
    g->near[n] = slot;
}

/* Does the instruction make an address that is so far from the load's: from a slot that has one, or as the address of a
 * variable, where the load's is one? */
static bool makes_near(const struct guess *g, const struct insn *i, const char *opcode, int64_t *apart)
{
    int64_t value = 0;
    const bool adds = opcode_begins(opcode, "add."), moves = opcode_begins(opcode, "mov.");
    if (moves && g->fixed && simt_holds_constant(g->program, g->function, i->a, &value)) {
        *apart = value - g->base;
        return true;
    }
    if (!is_narrowing(i, opcode) && !(adds && simt_holds_constant(g->program, g->function, i->b, &value))) return false;
    for (uint32_t n = 0; n < g->near_count; n++)
        if (i->a == g->near[n]) {
            *apart = g->apart[n] + (adds ? value : 0);
            return true;
        }
    return false;
}

/* What the instruction does to the slots; false: the address is lost. */
static bool follow(struct guess *g, const struct insn *i, const char *opcode)
{
    int64_t apart = 0;
    bool moves = opcode_begins(opcode, "mov."), copies = false;
    bool narrows = i->a == g->wide && g->wide != g->load->a && is_narrowing(i, opcode);
    if (i->memory == MEMORY_STORE || i->run == simt_op_bra) return true; /* they write no slot */
    if (i->d == g->load->a) return narrows;
    const bool makes = narrows || makes_near(g, i, opcode, &apart);
    if (i->d == g->wide) g->wide = g->load->a;
    for (uint32_t n = 0; n < g->held_count; n++) copies |= moves && i->a == g->held[n];
    for (uint32_t n = 0; n < g->held_count; n++)
        if (i->d == g->held[n]) g->held[n--] = g->held[--g->held_count];
    for (uint32_t n = 1; n < g->near_count; n++)
        if (i->d == g->near[n]) {
            g->near[n] = g->near[--g->near_count];
            g->apart[n--] = g->apart[g->near_count];
        }
    if (copies && g->held_count < GUESS_SLOTS) g->held[g->held_count++] = i->d;
    if (makes) keep_near(g, i->d, apart);
    return true;
}

static bool swaps_guess(const struct guess *g, const struct insn *i)
{
    bool there = false, expected = false;
    if (!simt_is_swap(i) || i->size != g->load->size || i->space != g->load->space) return false;
    for (uint32_t n = 0; n < g->near_count; n++) there |= i->a == g->near[n] && g->apart[n] + i->imm == g->load->imm;
    for (uint32_t n = 0; n < g->held_count; n++) expected |= i->b == g->held[n];
    return there && expected;
}

static bool is_guess(const struct simt_program *p, const struct function *f, uint32_t pc)
{
    struct guess g = {.program = p, .function = f, .load = &p->code[pc], .near_count = 1};
    g.near[0] = g.wide = g.load->a;
    if (g.load->memory != MEMORY_LOAD || g.load->count != 1 || g.load->d == g.load->a) return false;
    g.fixed = simt_holds_constant(p, f, g.load->a, &g.base);
    uint32_t start = pc - f->setup > GUESS_REACH ? pc - GUESS_REACH : f->setup;
    for (uint32_t k = start; k < pc; k++) {
        if (!follow(&g, &p->code[k], p->places[k].opcode)) {
            g.near_count = 1;
            g.wide = is_narrowing(&p->code[k], p->places[k].opcode) ? p->code[k].a : g.load->a;
        }
    }
    g.held[g.held_count++] = g.load->d;
    for (uint32_t k = pc + 1; k < f->end && k <= pc + GUESS_REACH && g.held_count; k++) {
        const struct insn *i = &p->code[k];
        if (swaps_guess(&g, i)) return true;
        if (i->run == simt_op_ret || i->run == simt_op_exit) return false;
        if (!follow(&g, i, p->places[k].opcode)) return false;
    }
    return false;
}

void simt_find_guesses(struct simt_program *p, const struct function *f)
{
    bool swaps = false;
    for (uint32_t pc = f->setup; pc < f->end; pc++) swaps |= simt_is_swap(&p->code[pc]);
    for (uint32_t pc = f->setup; swaps && pc < f->end; pc++) p->places[pc].guesses = is_guess(p, f, pc);
}
