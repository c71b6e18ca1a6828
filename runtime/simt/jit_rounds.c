/* Loops that are one block of code: what its rounds hand to each other stays in registers. Else each value would go
 * through the frame, and a round could not begin before the stores of the one before it have come to their loads.
 *
 * Whoever comes from elsewhere finds all in the frame, as at any block, and loads those registers first. */
#include "runtime/simt/jit_build.h"

enum { MOST_NUMBERS = 4, MOST_VECTORS = 12, MOST_OF_AVX2 = 4 }; /* registers for that */

static bool is_loop(const struct jit *j)
{
    const struct jit_block *b = j->block;
    if (j->zone || j->watch || b->next[0] != b - j->blocks) return false;
    for (uint32_t k = b->start; k < b->end; k++) {
        enum jit_kind kind = (enum jit_kind)j->code[k].kind;
        if (kind == JK_CALL || kind == JK_UNKNOWN || kind == JK_SPECIAL) return false;
    }
    return j->code[b->end - 1].i->guard != SLOT_TRUE;
}

static bool is_handed_on(const struct jit *j, uint16_t slot)
{
    return !j->slots[slot].fixed && (j->slots[slot].class == 'w' || j->slots[slot].class == 'q') &&
           in_set(j->block->in, slot);
}

static int count_owned(const int32_t *owner, int count)
{
    int n = 0;
    for (int r = 0; r < count; r++) n += owner[r] >= 0;
    return n;
}

/* Into registers, if there is room. */
static void take(struct jit *j, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    int parts = simt_jit_parts(j, slot), halves = p->form.kind == FORM_PAIR ? 2 : 1;
    int room = simt_jit_is_avx2(j) ? MOST_OF_AVX2 : MOST_VECTORS;
    if (p->form.kind == FORM_ANY) {
        if (p->vector[0] >= 0 || count_owned(j->vector_owner, 32) + parts > room) return;
        for (int k = 0; k < parts; k++) simt_jit_part(j, slot, k);
        p->in_slot = 0;
    } else if (p->form.kind == FORM_LINEAR || p->form.kind == FORM_PAIR) {
        if (p->scalar[0] >= 0 || count_owned(j->gpr_owner, X86_GPRS) + halves > MOST_NUMBERS) return;
        for (int h = 0; h < halves; h++) simt_jit_scalar(j, slot, h, RAX);
        p->in_slot = p->at_home = 0;
    }
}

void simt_jit_begin_rounds(struct jit *j)
{
    const struct jit_block *b = j->block;
    j->round_label = -1;
    if (!is_loop(j)) return;
    for (uint32_t k = b->start; k < b->end; k++)
        for (int w = 0; w < j->code[k].write_count; w++)
            if (is_handed_on(j, j->code[k].writes[w])) take(j, j->code[k].writes[w]);
    j->gpr_pins = j->vector_pins = 0;
    if (!simt_jit_keep(j, 1)) return;
    j->round_label = x86_label(&j->x);
    x86_bind(&j->x, j->round_label);
}

/* ---- the way back ---- */
static bool same_form(struct jit_form a, struct jit_form b)
{
    return a.kind == b.kind && a.step == b.step && (a.kind != FORM_LINEAR || a.skip == b.skip);
}

static void move(struct jit *j, bool vectors, int d, int from)
{
    if (vectors)
        simt_jit_move(j, d, from);
    else
        x86_rr(&j->x, ALU_MOV, true, d, from);
}

/* Each register is to hold what from[it] holds; below 0: nothing. */
static void move_all(struct jit *j, bool vectors, int *from, int count)
{
    int moment = vectors ? simt_jit_scratch(j) : RAX;
    for (int r = 0; r < count; r++)
        if (from[r] == r) from[r] = -1;
    for (;;) {
        int ready = -1, held = -1;
        for (int d = 0; d < count; d++) {
            bool wanted = false;
            for (int k = 0; k < count; k++) wanted |= from[k] == d;
            if (from[d] >= 0 && !wanted) ready = d;
            if (from[d] >= 0) held = d;
        }
        if (held < 0) return;
        if (ready < 0) { /* they hold each other's */
            move(j, vectors, moment, held);
            for (int k = 0; k < count; k++)
                if (from[k] == held) from[k] = moment;
            continue;
        }
        move(j, vectors, ready, from[ready]);
        from[ready] = -1;
    }
}

/* All that the next round finds elsewhere than in registers to the frame; and what is not in the form it expects. */
static void write_others(struct jit *j, const struct jit_registers *want)
{
    const struct jit_block *b = j->block;
    for (uint32_t s = 0; s < j->slot_count; s++) {
        const struct jit_place *p = &want->places[s];
        if (!in_set(b->in, s) || j->slots[s].fixed || !j->slots[s].class) continue;
        bool kept = p->vector[0] >= 0 || p->scalar[0] >= 0;
        if (!kept || !same_form(j->places[s].form, p->form)) simt_jit_write_as(j, (uint16_t)s, b->forms[s]);
    }
}

void simt_jit_next_round(struct jit *j, int spent)
{
    struct x86 *x = &j->x;
    const struct jit_registers *want = &j->kept[1];
    int numbers[X86_GPRS], vectors[32];
    if (!simt_jit_keep(j, 0)) return;
    x86_mem_imm(x, ALU_SUB, false, OF_WARP(budget), 1);
    x86_jump_if(x, CC_LE, spent);
    write_others(j, want);
    for (int r = 0; r < X86_GPRS; r++) {
        int owner = want->gpr_owner[r];
        numbers[r] = -1;
        if (owner < 0) continue;
        const struct jit_place *p = &j->places[owner / 2];
        if (same_form(p->form, want->places[owner / 2].form)) numbers[r] = p->scalar[owner & 1];
    }
    for (int r = 0; r < 32; r++) {
        int owner = want->vector_owner[r];
        vectors[r] = -1;
        if (owner < 0) continue;
        const struct jit_place *p = &j->places[owner / JIT_PARTS];
        if (p->form.kind == FORM_ANY) vectors[r] = p->vector[owner % JIT_PARTS];
    }
    bool load_number[X86_GPRS], load_vector[32];
    for (int r = 0; r < X86_GPRS; r++) load_number[r] = want->gpr_owner[r] >= 0 && numbers[r] < 0;
    for (int r = 0; r < 32; r++) load_vector[r] = want->vector_owner[r] >= 0 && vectors[r] < 0;
    move_all(j, false, numbers, X86_GPRS);
    move_all(j, true, vectors, 32);
    simt_jit_restore(j, 1);
    for (int r = 0; r < X86_GPRS; r++)
        if (load_number[r]) simt_jit_load_gpr(j, r);
    for (int r = 0; r < 32; r++)
        if (load_vector[r]) simt_jit_load_vector(j, r);
    x86_jump(x, j->round_label);
    simt_jit_restore(j, 0);
}
