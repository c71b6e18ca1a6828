/* Words that are loaded byte by byte: four loads side by side whose bytes are put together by prmt, which is what NVRTC
 * makes of dot products of bytes, since they may lie anywhere. They become one load of 4 bytes at any address, whose
 * bytes may have to be turned round. Where it fails, the interpreter goes on at the first of the loads.
 *
 * Not in watched code, where each load is told of. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

enum { LOADS = 4, STEPS = 7 };

/* What is known of a slot's four bytes: where in memory, behind the address, each lies; NOTHING: it is 0. */
#define NOTHING INT64_MIN
struct bytes {
    uint16_t slot;
    int64_t from[4];
};
struct found {
    struct bytes values[STEPS];
    int count;
    int64_t low;
    bool turned, last; /* the address is read for the last time */
};

static const struct bytes *value_of(const struct found *f, uint16_t slot)
{
    for (int k = f->count; k-- > 0;)
        if (f->values[k].slot == slot) return &f->values[k];
    return NULL;
}

static bool add_load(struct found *f, const struct jit_insn *n, const struct jit_insn *first)
{
    const struct insn *i = n->i;
    if (n->op || n->wide || n->detail || i->size != 1 || i->count != 1 || i->flags & F_SPIN ||
        i->imm != (int32_t)i->imm || n->reads[0] != first->reads[0] || n->writes[0] == first->reads[0])
        return false;
    f->values[f->count++] = (struct bytes){n->writes[0], {i->imm, NOTHING, NOTHING, NOTHING}};
    f->last |= n->dies & 1;
    return true;
}

static bool add_permutation(const struct jit *j, struct found *f, const struct jit_insn *n)
{
    const struct jit_slot *by = &j->slots[n->reads[2]];
    const struct bytes *from[2] = {value_of(f, n->reads[0]), value_of(f, n->reads[1])};
    uint32_t selector = (uint32_t)by->form.step;
    struct bytes to = {.slot = n->writes[0]};
    if (!by->fixed || by->form.kind != FORM_CONST || selector & 0x8888 || !from[0] || !from[1] || (n->dies & 3) != 3)
        return false;
    for (int k = 0; k < 4; k++) {
        uint32_t place = selector >> 4 * k & 7;
        to.from[k] = from[place >> 2]->from[place & 3];
    }
    f->values[f->count++] = to;
    return true;
}

/* Are the last value's bytes neighbours? */
static bool is_word(struct found *f)
{
    const int64_t *b = f->values[f->count - 1].from;
    f->turned = b[0] > b[3];
    f->low = f->turned ? b[3] : b[0];
    for (int k = 0; k < 4; k++)
        if (b[k] == NOTHING || b[k] - f->low != (f->turned ? 3 - k : k)) return false;
    return true;
}

/* The steps from n on: each of them reads, for the last time, what those before it made. */
static bool find(const struct jit *j, const struct jit_insn *n, struct found *f)
{
    int loads = 0;
    *f = (struct found){0};
    for (int k = 0; k < STEPS; k++) {
        const struct jit_insn *m = n + k;
        if (m->guarded || m->write_count != 1) return false;
        if (m->kind == JK_LOAD ? !add_load(f, m, n)
                               : m->kind != JK_INTEGER || m->op != JI_PERMUTE || !add_permutation(j, f, m))
            return false;
        loads += m->kind == JK_LOAD;
    }
    return loads == LOADS && is_word(f);
}

static void replace(struct jit *j, struct jit_insn *n, const struct found *f)
{
    struct insn *word = rt_alloc(sizeof *word);
    if (!word) return;
    j->joined[j->joined_count++] = word;
    *word = *n->i;
    word->size = 4;
    word->type = PTX_U32;
    word->imm = f->low;
    n->i = word;
    n->loose = true;
    n->turned = f->turned;
    n->writes[0] = n[STEPS - 1].writes[0];
    n->dead = n[STEPS - 1].dead;
    n->dies = f->last;
    for (int k = 1; k < STEPS; k++) {
        n[k].kind = JK_NOP;
        n[k].read_count = n[k].write_count = 0;
        n[k].dies = n[k].dead = 0;
    }
}

void simt_jit_find_words(struct jit *j)
{
    struct found f;
    for (uint32_t b = 0; b < j->block_count && !j->watch; b++)
        for (uint32_t k = j->blocks[b].start; k + STEPS <= j->blocks[b].end && j->joined_count < JIT_WORDS; k++)
            if (j->code[k].kind == JK_LOAD && find(j, &j->code[k], &f)) replace(j, &j->code[k], &f);
}

void simt_jit_free_words(struct jit *j)
{
    for (uint32_t k = 0; k < j->joined_count; k++) free(j->joined[k]);
}

void simt_jit_turn(struct jit *j, const struct jit_insn *n, const int *regs)
{
    uint8_t order[64];
    if (!n->turned) return;
    for (int k = 0; k < 64; k++) order[k] = (uint8_t)((k & 12) | (3 - (k & 3)));
    struct x86_mem at = x86_at_label(x86_constant(&j->x, order));
    for (int p = 0; p < simt_jit_part_count(j, false); p++)
        simt_jit_put_mem(j, (struct x86_vop){2, 1, 0, 0x00}, regs[p], regs[p], at);
}

void simt_jit_turn_number(struct jit *j, const struct jit_insn *n, int reg)
{
    if (n->turned) x86_swap_bytes(&j->x, reg);
}
