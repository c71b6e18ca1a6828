/* Memory of which some accesses race with less than others: check_mixed.h. */
#include "runtime/simt/check_mixed.h"
#include <string.h>
#include "runtime/simt/async.h"

#define MOST_SPECIAL 8 /* allocations and variables that are told apart */
struct set_apart {     /* what is touched by accesses that race with less */
    uint64_t memory[MOST_SPECIAL];
    unsigned count;
    bool any; /* it may be anything */
};

/* What a load or store may touch: an allocation, or a variable in shared memory; 0: it is not known. */
static uint64_t memory_of(const struct simt_check *c, uint32_t pc)
{
    int origin = c->program->places[pc].origin;
    return origin >= SHARED_ORIGIN ? (uint64_t)origin : simt_check_allocation(c, pc);
}

static bool is_special(const struct simt_check *c, uint32_t pc)
{
    const struct insn *i = &c->program->code[pc];
    bool moves = i->memory == MEMORY_LOAD || i->memory == MEMORY_STORE;
    bool guesses = c->program->places[pc].guesses && !simt_is_among_atomics(c, pc);
    return moves && (i->flags & F_SPIN || guesses);
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
            for (uint32_t pc = f->setup; c->runs[k] && pc < f->end; pc++) {
                if (pass == 0 && is_special(c, pc)) add_special(c, &s, pc);
                if (pass == 1 && is_mixed(c, &s, pc)) return true;
            }
        }
        if (!s.count && !s.any) return false;
    }
    return false;
}
