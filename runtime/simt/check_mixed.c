/* Guesses, and memory of which some accesses race with less than others: check_mixed.h. */
#include "runtime/simt/check_mixed.h"
#include <string.h>
#include "runtime/simt/async.h"

bool simt_check_constant(const struct simt_program *p, const struct function *f, uint32_t slot, int64_t *value)
{
    const struct constant *c = f->const_count ? p->constants + f->const_first : NULL;
    for (uint32_t k = 0; k < f->const_count; k++)
        if (c[k].slot == slot) {
            *value = (int64_t)c[k].value;
            return true;
        }
    return false;
}

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- guesses ---- */
/* Loops that update by one begin with a plain read of what the compare-and-swap then expects:
 *   old = *p; do { seen = old; old = atomicCAS(p, seen, ...); } while (seen != old);
 * They are found by following the loaded value, and the address, through moves and additions of constants. */
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
        if (i->memory == MEMORY_NONE && starts_with(opcode, opcodes[k])) return true;
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
    const bool adds = starts_with(opcode, "add."), moves = starts_with(opcode, "mov.");
    if (moves && g->fixed && simt_check_constant(g->program, g->function, i->a, &value)) {
        *apart = value - g->base;
        return true;
    }
    if (!is_narrowing(i, opcode) && !(adds && simt_check_constant(g->program, g->function, i->b, &value))) return false;
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
    bool moves = starts_with(opcode, "mov."), copies = false;
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

bool simt_check_is_guess(const struct simt_program *p, uint32_t pc)
{
    struct guess g = {.program = p, .load = &p->code[pc], .near_count = 1};
    g.near[0] = g.wide = g.load->a;
    if (g.load->memory != MEMORY_LOAD || g.load->count != 1 || g.load->d == g.load->a) return false;
    for (uint32_t k = 0; k < p->function_count; k++)
        if (pc >= p->functions[k].setup && pc < p->functions[k].end) g.function = &p->functions[k];
    if (!g.function) return false;
    g.fixed = simt_check_constant(p, g.function, g.load->a, &g.base);
    uint32_t start = pc - g.function->setup > GUESS_REACH ? pc - GUESS_REACH : g.function->setup;
    for (uint32_t k = start; k < pc; k++) {
        if (!follow(&g, &p->code[k], p->places[k].opcode)) {
            g.near_count = 1;
            g.wide = is_narrowing(&p->code[k], p->places[k].opcode) ? p->code[k].a : g.load->a;
        }
    }
    g.held[g.held_count++] = g.load->d;
    for (uint32_t k = pc + 1; k < g.function->end && k <= pc + GUESS_REACH && g.held_count; k++) {
        const struct insn *i = &p->code[k];
        if (swaps_guess(&g, i)) return true;
        if (i->run == simt_op_ret || i->run == simt_op_exit) return false;
        if (!follow(&g, i, p->places[k].opcode)) return false;
    }
    return false;
}

/* ---- mixed memory ---- */
#define MOST_SPECIAL 8 /* allocations and variables that are told apart */
struct set_apart {     /* what is touched by accesses that race with less */
    uint64_t memory[MOST_SPECIAL];
    unsigned count;
    bool any; /* it may be anything */
};

/* What a load or store may touch: an allocation, or a variable of shared memory; 0: it is not known. */
static uint64_t memory_of(const struct simt_check *c, uint32_t pc)
{
    int origin = c->program->places[pc].origin;
    return origin >= SHARED_ORIGIN ? (uint64_t)origin : simt_check_allocation(c, pc);
}

static bool is_special(const struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool moves = i->memory == MEMORY_LOAD || i->memory == MEMORY_STORE;
    return moves && (i->flags & F_SPIN || (c->swaps_some && simt_check_is_guess(c->program, pc)));
}

static void add_special(const struct simt_check *c, struct set_apart *s, uint32_t pc)
{
    uint64_t memory = memory_of(c, pc);
    for (unsigned k = 0; k < s->count; k++)
        if (s->memory[k] == memory) return;
    s->any |= !memory || s->count == MOST_SPECIAL;
    if (!s->any) s->memory[s->count++] = memory;
}

/* Is it plain, and of memory that is touched in the other way, too? */
static bool is_mixed(const struct simt_check *c, const struct set_apart *s, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool moves = i->memory == MEMORY_LOAD || i->memory == MEMORY_STORE;
    bool shares = i->space == PTX_GLOBAL || i->space == PTX_SHARED || i->space == PTX_GENERIC;
    if (i->memory == MEMORY_NONE ? !simt_check_in_pieces(i) && !simt_texels_access(i) : !moves || !shares) return false;
    if (!strncmp(c->program->places[pc].opcode, "ld.const", 8) || is_special(c, pc)) return false;
    uint64_t memory = memory_of(c, pc);
    if (s->any || !memory) return true;
    for (unsigned k = 0; k < s->count; k++)
        if (s->memory[k] == memory) return true;
    return false;
}

bool simt_check_mixes(const struct simt_check *c)
{
    const struct simt_program *p = c->program;
    struct set_apart s = {.count = 0};
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < p->function_count; k++) {
            const struct function *f = &p->functions[k];
            for (uint32_t pc = f->setup; (!f->is_entry || f == c->launch->function->code) && pc < f->end; pc++) {
                if (pass == 0 && is_special(c, pc)) add_special(c, &s, pc);
                if (pass == 1 && is_mixed(c, &s, pc)) return true;
            }
        }
        if (!s.count && !s.any) return false;
    }
    return false;
}
