/* Which registers hold what while code is written; when values go to the frame and come from there. */
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

static const int gprs[] = {RSI, RDI, R8, R9, R10, R11, REG_MASK};
#define GPR_COUNT ((int)(sizeof gprs / sizeof *gprs))

enum { SOON = 8, FORESIGHT = 48 }; /* instructions */

static const struct x86_vop add_w = {1, 1, 0, 0xfe}, add_q = {1, 1, 1, 0xd4};

static bool is_wide(const struct jit *j, uint16_t slot)
{
    return j->slots[slot].class == 'q';
}
int simt_jit_parts(const struct jit *j, uint16_t slot)
{
    return simt_jit_part_count(j, is_wide(j, slot));
}
static uint8_t all_parts(const struct jit *j, uint16_t slot)
{
    return (uint8_t)((1u << simt_jit_parts(j, slot)) - 1);
}
static struct x86_mem part_home(const struct jit *j, uint16_t slot, int part)
{
    return x86_at(REG_FRAME, (int32_t)j->slots[slot].offset + j->bits / 8 * part);
}
static struct x86_mem scalar_home(const struct jit *j, uint16_t slot, int half)
{
    return x86_at(REG_FRAME, (int32_t)j->slots[slot].offset + half * (is_wide(j, slot) ? 128 : 64));
}

void simt_jit_at_home(struct jit *j, uint16_t slot, struct jit_form f)
{
    struct jit_place *p = &j->places[slot];
    bool fixed = j->slots[slot].fixed;
    if (fixed) f = j->slots[slot].form;
    if (f.kind == FORM_NONE) f.kind = FORM_ANY;
    if (j->alone && f.kind != FORM_CONST) f = (struct jit_form){FORM_LINEAR, 0, 0, 0};
    *p = (struct jit_place){.form = f, .scalar = {-1, -1}, .at_home = f.kind == FORM_CONST && !fixed ? 0 : 3};
    memset(p->vector, -1, sizeof p->vector);
    p->in_slot = fixed || f.kind == FORM_ANY ? 0xff : 0;
}

void simt_jit_begin_block(struct jit *j, struct jit_block *b)
{
    j->block = b;
    for (uint32_t s = 0; s < j->slot_count; s++) simt_jit_at_home(j, (uint16_t)s, b->forms[s]);
    for (int r = 0; r < X86_GPRS; r++) j->gpr_owner[r] = -1;
    for (int r = 0; r < 32; r++) j->vector_owner[r] = -1;
    j->gpr_pins = j->vector_pins = 0;
    memcpy(j->live, b->in, j->words * sizeof *j->live);
}

/* ---- to memory ---- */
static bool is_merged(const struct jit *j, uint16_t slot)
{
    return j->zone && in_set(j->zone->merged, slot);
}

static void store_part(struct jit *j, uint16_t slot, int part, int reg)
{
    struct x86_mem home = part_home(j, slot, part);
    if (j->alone) {
        simt_jit_store_first(j, is_wide(j, slot), home, reg);
        return;
    }
    if (is_merged(j, slot)) reg = simt_jit_merged(j, is_wide(j, slot), part, reg, home);
    simt_jit_store(j, home, reg);
}

static void store_predicate(struct jit *j, uint16_t slot, int reg)
{
    struct x86_mem home = scalar_home(j, slot, 0);
    if (!is_merged(j, slot)) {
        x86_store(&j->x, false, home, reg);
        return;
    }
    x86_rm(&j->x, ALU_XOR, false, reg, home); /* what changes, of lanes that run */
    x86_rr(&j->x, ALU_AND, false, reg, REG_MASK);
    x86_rm(&j->x, ALU_XOR - 2, false, reg, home);
    x86_rm(&j->x, ALU_MOV, false, reg, home);
    if (j->alone) simt_jit_settle(j, reg);
}

static void load_part(struct jit *j, uint16_t slot, int part, int reg)
{
    if (j->alone)
        simt_jit_spread_from(j, is_wide(j, slot), reg, part_home(j, slot, part));
    else
        simt_jit_load(j, reg, part_home(j, slot, part));
}

/* ---- general registers ---- */
static bool is_read_twice(const struct jit_insn *n, int read)
{
    for (int k = 0; k < n->read_count; k++)
        if (k != read && n->reads[k] == n->reads[read]) return true;
    return false;
}

static void write_scalar(struct jit *j, uint16_t slot, int half)
{
    struct jit_place *p = &j->places[slot];
    if (p->at_home >> half & 1) return;
    if (j->slots[slot].class == 'p')
        store_predicate(j, slot, p->scalar[half]);
    else
        x86_store(&j->x, is_wide(j, slot), scalar_home(j, slot, half), p->scalar[half]);
    p->at_home |= (uint8_t)(1 << half);
}

static void release_gpr(struct jit *j, int reg)
{
    int owner = j->gpr_owner[reg];
    if (owner < 0) return;
    j->places[owner / 2].scalar[owner & 1] = -1;
    j->gpr_owner[reg] = -1;
}

/* In how many instructions of the block, the one at hand being the first, the slot is read; `most`: not before. */
static uint32_t next_read(const struct jit *j, uint16_t slot, uint32_t from, uint32_t most)
{
    uint32_t here = j->pc - j->first, end = j->block->end - here < most ? j->block->end - here : most;
    for (uint32_t k = from; k < end; k++) {
        const struct jit_insn *n = &j->code[here + k];
        for (int r = 0; r < n->read_count; r++)
            if (n->reads[r] == slot) return k;
        for (int w = 0; w < n->write_count; w++)
            if (n->writes[w] == slot) return most;
    }
    return most;
}

/* One that is free, or else the one that is not wanted for longest. */
static int best_gpr(const struct jit *j)
{
    int best = -1;
    uint32_t farthest = 0;
    for (int k = 0; k < GPR_COUNT - (j->zone != NULL); k++) {
        int r = gprs[k];
        if (j->gpr_pins >> r & 1) continue;
        if (j->gpr_owner[r] < 0) return r;
        uint32_t next = next_read(j, (uint16_t)(j->gpr_owner[r] / 2), 0, FORESIGHT);
        if (best >= 0 && (next < farthest || (next == farthest && j->gpr_stamp[r] > j->gpr_stamp[best]))) continue;
        best = r;
        farthest = next;
    }
    return best;
}

int simt_jit_new_gpr(struct jit *j)
{
    int best = best_gpr(j);
    if (best < 0) {
        j->failed = true;
        return RSI;
    }
    int owner = j->gpr_owner[best];
    if (owner >= 0) write_scalar(j, (uint16_t)(owner / 2), owner & 1);
    release_gpr(j, best);
    j->gpr_pins |= 1u << best;
    j->gpr_stamp[best] = ++j->stamp;
    return best;
}

static void own_gpr(struct jit *j, uint16_t slot, int half, int reg)
{
    j->gpr_owner[reg] = slot * 2 + half;
    j->places[slot].scalar[half] = (int8_t)reg;
    j->gpr_pins |= 1u << reg;
    j->gpr_stamp[reg] = ++j->stamp;
}

static int load_scalar(struct jit *j, uint16_t slot, int half)
{
    struct jit_place *p = &j->places[slot];
    int r = p->scalar[half];
    if (r >= 0) {
        own_gpr(j, slot, half, r);
        return r;
    }
    r = simt_jit_new_gpr(j);
    if (p->form.kind == FORM_ANY && p->vector[0] >= 0) { /* of lane 0 alone */
        simt_jit_first_lane(j, is_wide(j, slot), r, p->vector[0]);
        return r;
    }
    x86_rm(&j->x, ALU_MOV, is_wide(j, slot), r, scalar_home(j, slot, half));
    if (j->alone && j->slots[slot].class == 'p') simt_jit_settle(j, r);
    own_gpr(j, slot, half, r);
    return r;
}

void simt_jit_wide_constant(struct jit *j, int reg, uint64_t value, bool wide)
{
    x86_load_imm(&j->x, reg, wide ? value : (uint32_t)value);
}

int simt_jit_scalar(struct jit *j, uint16_t slot, int half, int scratch)
{
    struct jit_place *p = &j->places[slot];
    bool wide = is_wide(j, slot);
    if (p->form.kind == FORM_CONST) {
        simt_jit_wide_constant(j, scratch, (uint64_t)p->form.step, wide);
        return scratch;
    }
    if (p->form.kind == FORM_PAIR || !half || !p->form.skip)
        return load_scalar(j, slot, p->form.kind == FORM_PAIR && half);
    int r = load_scalar(j, slot, 0);
    if (p->form.skip == (int32_t)p->form.skip) {
        x86_lea(&j->x, wide, scratch, x86_at(r, (int32_t)p->form.skip));
        return scratch;
    }
    x86_load_imm(&j->x, scratch, (uint64_t)p->form.skip);
    x86_rr(&j->x, ALU_ADD, wide, scratch, r);
    return scratch;
}

bool simt_jit_fits(const struct jit *j, uint16_t slot, int bits)
{
    const struct jit_place *p = &j->places[slot];
    if (p->form.kind == FORM_CONST) return (uint32_t)p->form.step >> bits == 0;
    return p->bits && p->bits <= bits;
}

bool simt_jit_in_frame(const struct jit *j, uint16_t slot, int half, struct x86_mem *at)
{
    const struct jit_place *p = &j->places[slot];
    int h = p->form.kind == FORM_PAIR && half;
    if (p->form.kind != FORM_PAIR && (p->form.kind != FORM_LINEAR || (half && p->form.skip))) return false;
    if (p->scalar[h] >= 0 || !(p->at_home >> h & 1) || next_read(j, slot, 1, SOON) < SOON) return false;
    *at = scalar_home(j, slot, h);
    return true;
}

int simt_jit_take_scalar(struct jit *j, const struct jit_insn *n, int read, int half)
{
    uint16_t slot = n->reads[read];
    struct jit_place *p = &j->places[slot];
    int r = p->scalar[p->form.kind == FORM_PAIR && half];
    if (!(n->dies >> read & 1) || (p->form.kind != FORM_LINEAR && p->form.kind != FORM_PAIR) || r < 0) return -1;
    if (is_read_twice(n, read)) return -1;
    release_gpr(j, r);
    j->gpr_pins |= 1u << r;
    j->gpr_stamp[r] = ++j->stamp;
    return r;
}

int simt_jit_predicate(struct jit *j, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    if (p->form.kind != FORM_CONST || p->scalar[0] >= 0) return load_scalar(j, slot, 0);
    int r = simt_jit_new_gpr(j);
    x86_load_imm(&j->x, r, (uint32_t)p->form.step);
    own_gpr(j, slot, 0, r);
    return r;
}

void simt_jit_drop(struct jit *j, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    for (int h = 0; h < 2; h++)
        if (p->scalar[h] >= 0) release_gpr(j, p->scalar[h]);
    for (int k = 0; k < JIT_PARTS; k++)
        if (p->vector[k] >= 0) {
            j->vector_owner[(int)p->vector[k]] = -1;
            p->vector[k] = -1;
        }
    p->checked = false;
    p->flushed = p->bits = 0;
    p->base = 0;
}

void simt_jit_define_scalar(struct jit *j, uint16_t slot, struct jit_form f, const int regs[2])
{
    struct jit_place *p = &j->places[slot];
    simt_jit_drop(j, slot);
    p->form = f;
    p->in_slot = p->at_home = 0;
    if (f.kind == FORM_CONST) return;
    own_gpr(j, slot, 0, regs[0]);
    if (f.kind == FORM_PAIR) own_gpr(j, slot, 1, regs[1]);
}

/* ---- vector registers ---- */
int simt_jit_new_vector(struct jit *j)
{
    int best = -1;
    for (int r = 0; r < simt_jit_vectors(j); r++) {
        if (j->vector_pins >> r & 1) continue;
        if (j->vector_owner[r] < 0) {
            best = r;
            break;
        }
        if (best < 0 || j->vector_stamp[r] < j->vector_stamp[best]) best = r;
    }
    if (best < 0) {
        j->failed = true;
        return 0;
    }
    int owner = j->vector_owner[best];
    if (owner >= 0) {
        int part = owner % JIT_PARTS;
        struct jit_place *p = &j->places[owner / JIT_PARTS];
        if (p->form.kind == FORM_ANY && !(p->in_slot >> part & 1)) {
            store_part(j, (uint16_t)(owner / JIT_PARTS), part, best);
            p->in_slot |= (uint8_t)(1 << part);
        } else {
            p->flushed &= (uint8_t) ~(1 << part); /* the frame's are as they were */
        }
        p->vector[part] = -1;
        j->vector_owner[best] = -1;
    }
    j->vector_pins |= 1u << best;
    j->vector_stamp[best] = ++j->stamp;
    return best;
}

static void own_vector(struct jit *j, uint16_t slot, int part, int reg)
{
    j->vector_owner[reg] = slot * JIT_PARTS + part;
    j->places[slot].vector[part] = (int8_t)reg;
    j->vector_pins |= 1u << reg;
    j->vector_stamp[reg] = ++j->stamp;
}

/* What is added to the number of a half to make a part of a linear slot; label of the constant, -1 for nothing. */
static int part_steps(struct jit *j, struct jit_form f, bool wide, int part)
{
    int64_t q[8] = {0};
    int32_t w[16] = {0};
    unsigned lanes = (unsigned)simt_jit_lanes(j, wide), first = (unsigned)simt_jit_first(j, wide, part);
    uint64_t base = (uint64_t)(f.kind == FORM_LINEAR && simt_jit_half(j, wide, part) ? f.skip : 0);
    uint64_t step = (uint64_t)f.step;
    for (unsigned l = 0; wide && l < lanes; l++) q[l] = (int64_t)(base + step * (l + first));
    for (unsigned l = 0; !wide && l < lanes; l++) w[l] = (int32_t)(base + step * (l + first));
    if (!base && !f.step) return -1;
    return x86_constant(&j->x, wide ? (void *)q : (void *)w);
}

/* Writes the lanes of a part of a linear slot into a vector register. Changes no state. */
static void spread(struct jit *j, uint16_t slot, int part, int reg)
{
    const struct jit_place *p = &j->places[slot];
    bool wide = is_wide(j, slot);
    struct jit_form f = p->form;
    int half = f.kind == FORM_PAIR ? simt_jit_half(j, wide, part) : 0;
    if (f.kind == FORM_CONST) {
        simt_jit_set(j, wide, reg, f.step);
        return;
    }
    if (p->scalar[half] >= 0)
        simt_jit_spread(j, wide, reg, p->scalar[half]);
    else
        simt_jit_spread_from(j, wide, reg, scalar_home(j, slot, half));
    int steps = part_steps(j, f, wide, part);
    if (steps >= 0) simt_jit_put_mem(j, wide ? add_q : add_w, reg, reg, x86_at_label(steps));
}

int simt_jit_part(struct jit *j, uint16_t slot, int part)
{
    struct jit_place *p = &j->places[slot];
    if (form_is_uniform(p->form) || j->alone) part = 0;
    int r = p->vector[part];
    if (r < 0) {
        r = simt_jit_new_vector(j);
        if (p->in_slot >> part & 1)
            load_part(j, slot, part, r);
        else
            spread(j, slot, part, r);
    }
    own_vector(j, slot, part, r);
    return r;
}

int simt_jit_peek(struct jit *j, uint16_t slot, int part, int moment)
{
    const struct jit_place *p = &j->places[slot];
    if (form_is_uniform(p->form) || j->alone) part = 0;
    if (p->vector[part] >= 0) return p->vector[part];
    if (p->in_slot >> part & 1)
        load_part(j, slot, part, moment);
    else
        spread(j, slot, part, moment);
    return moment;
}

void simt_jit_define_vector(struct jit *j, uint16_t slot, const int *regs)
{
    struct jit_place *p = &j->places[slot];
    simt_jit_drop(j, slot);
    p->form = (struct jit_form){FORM_ANY, 0, 0, 0};
    p->in_slot = p->at_home = 0;
    for (int k = 0; k < simt_jit_parts(j, slot); k++) own_vector(j, slot, k, regs[k]);
}

void simt_jit_define_in_frame(struct jit *j, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    simt_jit_drop(j, slot);
    p->form = (struct jit_form){j->alone ? FORM_LINEAR : FORM_ANY, 0, 0, 0};
    p->in_slot = 0xff;
    p->at_home = 3;
}

int simt_jit_take_part(struct jit *j, const struct jit_insn *n, int read, int part)
{
    uint16_t slot = n->reads[read];
    struct jit_place *p = &j->places[slot];
    if (!(n->dies >> read & 1) || p->form.kind != FORM_ANY || p->vector[part] < 0 || is_read_twice(n, read)) return -1;
    int r = p->vector[part];
    j->vector_owner[r] = -1;
    p->vector[part] = -1;
    return r;
}

/* ---- to the frame ---- */
static void write_numbers(struct jit *j, uint16_t slot, struct jit_form want);

/* Of lane 0 alone. */
static void write_first(struct jit *j, uint16_t slot)
{
    struct jit_place *p = &j->places[slot];
    uint8_t at_home = p->at_home;
    if (p->form.kind != FORM_ANY)
        write_numbers(j, slot, p->form);
    else if (!(p->in_slot & 1))
        store_part(j, slot, 0, p->vector[0]);
    p->at_home = at_home;
}

void simt_jit_write_all(struct jit *j, uint16_t slot)
{
    const struct jit_place *p = &j->places[slot];
    if (j->slots[slot].class == 0) return;
    if (j->alone && (j->slots[slot].class != 'p' || p->form.kind != FORM_CONST)) {
        write_first(j, slot);
        return;
    }
    if (j->slots[slot].class == 'p') {
        if (p->form.kind == FORM_CONST && !j->slots[slot].fixed)
            x86_mem_imm(&j->x, ALU_MOV, false, scalar_home(j, slot, 0), (int32_t)p->form.step);
        else if (!(p->at_home & 1))
            store_predicate(j, slot, p->scalar[0]);
        return;
    }
    for (int k = 0; k < simt_jit_parts(j, slot); k++) {
        if (p->in_slot >> k & 1) continue;
        int r = p->vector[form_is_uniform(p->form) ? 0 : k];
        if (r < 0) {
            r = simt_jit_scratch(j);
            spread(j, slot, k, r);
        }
        store_part(j, slot, k, r);
    }
}

void simt_jit_store_all(struct jit *j, uint16_t slot)
{
    simt_jit_write_all(j, slot);
    j->places[slot].in_slot = all_parts(j, slot);
    if (j->slots[slot].class == 'p') j->places[slot].at_home |= 1;
    if (form_is_scalar(j->places[slot].form) && j->slots[slot].class != 'p') j->places[slot].at_home = 3;
}

/* The numbers of a linear slot to the frame, as code that expects `want` finds them. */
static void write_numbers(struct jit *j, uint16_t slot, struct jit_form want)
{
    struct jit_place *p = &j->places[slot];
    bool wide = is_wide(j, slot);
    int halves = want.kind == FORM_PAIR ? 2 : 1;
    for (int h = 0; h < halves; h++) {
        if (p->form.kind == FORM_CONST) {
            if (j->slots[slot].fixed) continue;
            if (!wide || p->form.step == (int32_t)p->form.step) {
                x86_mem_imm(&j->x, ALU_MOV, wide, scalar_home(j, slot, h), (int32_t)p->form.step);
                continue;
            }
            x86_load_imm(&j->x, RAX, (uint64_t)p->form.step);
            x86_store(&j->x, true, scalar_home(j, slot, h), RAX);
        } else if (h && p->form.kind == FORM_LINEAR) {
            if (p->in_slot) continue;
            x86_store(&j->x, wide, scalar_home(j, slot, 1), simt_jit_scalar(j, slot, 1, RAX));
        } else {
            write_scalar(j, slot, h);
        }
    }
}

void simt_jit_write_as(struct jit *j, uint16_t slot, struct jit_form want)
{
    if (want.kind == FORM_CONST) return;
    if (want.kind == FORM_ANY || j->slots[slot].class == 'p')
        simt_jit_store_all(j, slot);
    else
        write_numbers(j, slot, want);
}

void simt_jit_flush(struct jit *j, const struct jit_block *a, const struct jit_block *b)
{
    for (uint32_t s = 0; s < j->slot_count; s++) {
        bool in_a = a && in_set(a->in, s), in_b = b && in_set(b->in, s);
        if ((!in_a && !in_b) || j->slots[s].fixed || !j->slots[s].class) continue;
        struct jit_form x = in_a ? a->forms[s] : b->forms[s], y = in_b ? b->forms[s] : x;
        simt_jit_write_as(j, (uint16_t)s, x.kind > y.kind ? x : y);
    }
}

void simt_jit_flush_merged(struct jit *j, const struct jit_block *b)
{
    for (uint32_t s = 0; s < j->slot_count; s++)
        for (int k = 0; k < 2 && is_merged(j, (uint16_t)s); k++)
            if (b->next[k] >= 0 && in_set(j->blocks[b->next[k]].in, s)) simt_jit_store_all(j, (uint16_t)s);
}

/* A call keeps no register of those that hold values. */
void simt_jit_spill_live(struct jit *j, const struct jit_insn *n)
{
    bool anything = n->kind == JK_UNKNOWN;
    for (uint32_t s = 0; s < j->slot_count; s++) {
        if (!in_set(j->live, s) || !j->slots[s].class) continue;
        bool read = anything;
        for (int k = 0; k < n->read_count; k++) read |= n->reads[k] == s;
        struct jit_place *p = &j->places[s];
        if (read || p->form.kind == FORM_ANY || j->slots[s].class == 'p')
            simt_jit_store_all(j, (uint16_t)s);
        else if (p->form.kind != FORM_CONST)
            write_numbers(j, (uint16_t)s, p->form);
    }
    for (uint32_t s = 0; s < j->slot_count; s++) {
        struct jit_place *p = &j->places[s];
        bool checked = p->checked;
        uint8_t bits = p->bits;
        simt_jit_drop(j, (uint16_t)s);
        p->checked = checked;
        p->bits = bits;
    }
}

void simt_jit_write_live(struct jit *j)
{
    if (j->alone) {
        simt_jit_leave_alone(j);
        return;
    }
    for (uint32_t s = 0; s < j->slot_count; s++) {
        bool of_others = j->zone && in_set(j->zone->alive, s) && !is_merged(j, (uint16_t)s);
        if ((in_set(j->live, s) || of_others) && !j->slots[s].fixed) simt_jit_write_all(j, (uint16_t)s);
    }
}

void simt_jit_reload(struct jit *j)
{
    for (int r = 0; r < X86_GPRS; r++) {
        int owner = j->gpr_owner[r];
        if (owner < 0) continue;
        uint16_t slot = (uint16_t)(owner / 2);
        bool wide = j->slots[slot].class != 'p' && is_wide(j, slot);
        x86_rm(&j->x, ALU_MOV, wide, r, scalar_home(j, slot, owner & 1));
        if (j->alone && j->slots[slot].class == 'p') simt_jit_settle(j, r);
    }
    for (int r = 0; r < simt_jit_vectors(j); r++) {
        int owner = j->vector_owner[r];
        if (owner >= 0) load_part(j, (uint16_t)(owner / JIT_PARTS), owner % JIT_PARTS, r);
    }
}

void simt_jit_load_gpr(struct jit *j, int r)
{
    uint16_t slot = (uint16_t)(j->gpr_owner[r] / 2);
    bool predicate = j->slots[slot].class == 'p';
    if (predicate && j->places[slot].form.kind == FORM_CONST)
        x86_load_imm(&j->x, r, (uint32_t)j->places[slot].form.step);
    else
        x86_rm(&j->x, ALU_MOV, !predicate && is_wide(j, slot), r, scalar_home(j, slot, j->gpr_owner[r] & 1));
}

void simt_jit_load_vector(struct jit *j, int r)
{
    uint16_t slot = (uint16_t)(j->vector_owner[r] / JIT_PARTS);
    int part = j->vector_owner[r] % JIT_PARTS;
    if (j->slots[slot].fixed || j->places[slot].form.kind == FORM_ANY)
        simt_jit_load(j, r, part_home(j, slot, part));
    else
        spread(j, slot, part, r);
}

void simt_jit_load_registers(struct jit *j)
{
    for (int r = 0; r < X86_GPRS; r++)
        if (j->gpr_owner[r] >= 0) simt_jit_load_gpr(j, r);
    for (int r = 0; r < simt_jit_vectors(j); r++)
        if (j->vector_owner[r] >= 0) simt_jit_load_vector(j, r);
}
