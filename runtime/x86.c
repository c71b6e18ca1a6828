/* The encodings of x86-64 instructions; see x86.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/memory.h"
#include "runtime/x86.h"

/* ---- bytes ---- */
static bool grow(struct x86 *x, void *array, size_t count, size_t more, size_t *capacity, size_t size)
{
    void **p = array;
    if (x->failed) return false;
    if (count + more <= *capacity) return true;
    size_t n = *capacity ? *capacity * 2 : 256;
    while (n < count + more) n *= 2;
    void *q = rt_realloc(*p, n * size);
    if (!q) {
        x->failed = true;
        return false;
    }
    *p = q;
    *capacity = n;
    return true;
}

/* Room for one instruction at the end of the section. */
static uint8_t *room(struct x86 *x, size_t n)
{
    struct x86_bytes *s = &x->sections[x->now];
    return grow(x, &s->bytes, s->count, n, &s->capacity, 1) ? s->bytes + s->count : NULL;
}

static void put_bytes(struct x86 *x, const void *bytes, size_t n)
{
    uint8_t *to = room(x, n);
    if (!to) return;
    memcpy(to, bytes, n);
    x->sections[x->now].count += n;
}

/* An instruction while it is put together. */
struct code {
    uint8_t b[16];
    int n;
    int fix, label; /* where the 4 bytes to patch are; -1 none */
};
#define CODE        ((struct code){.fix = -1})
#define ADD(c, ...) add_bytes(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
static void add_bytes(struct code *c, const uint8_t *b, size_t n)
{
    memcpy(c->b + c->n, b, n);
    c->n += (int)n;
}
static void add32(struct code *c, int32_t v)
{
    memcpy(c->b + c->n, &v, 4);
    c->n += 4;
}

static void put_code(struct x86 *x, const struct code *c)
{
    if (c->fix >= 0) {
        if (!grow(x, &x->fixups, x->fixup_count, 1, &x->fixup_capacity, sizeof *x->fixups)) return;
        size_t at = x->sections[x->now].count;
        x->fixups[x->fixup_count++] = (struct x86_fixup){x->now, at + (size_t)c->fix, at + (size_t)c->n, c->label};
    }
    put_bytes(x, c->b, (size_t)c->n);
}

void x86_free(struct x86 *x)
{
    for (int s = 0; s < X86_SECTIONS; s++) free(x->sections[s].bytes);
    free(x->labels);
    free(x->fixups);
    free(x->constants);
    memset(x, 0, sizeof *x);
}

int x86_label(struct x86 *x)
{
    if (!grow(x, &x->labels, x->label_count, 1, &x->label_capacity, sizeof *x->labels)) return -1;
    x->labels[x->label_count] = (struct x86_label){0};
    return (int)x->label_count++;
}

void x86_bind(struct x86 *x, int label)
{
    if (label >= 0) x->labels[label] = (struct x86_label){x->now, true, x->sections[x->now].count};
}

static size_t section_start(const struct x86 *x, enum x86_section s)
{
    size_t at = 0;
    for (int k = 0; k < (int)s; k++) at = (at + x->sections[k].count + 63) & ~(size_t)63;
    return at;
}

size_t x86_size(const struct x86 *x)
{
    return section_start(x, X86_SECTIONS);
}

size_t x86_offset(const struct x86 *x, int label)
{
    return section_start(x, x->labels[label].section) + x->labels[label].at;
}

bool x86_finish(const struct x86 *x, uint8_t *out)
{
    if (x->failed) return false;
    memset(out, 0xcc, x86_size(x));
    for (int s = 0; s < X86_SECTIONS; s++)
        if (x->sections[s].count) memcpy(out + section_start(x, s), x->sections[s].bytes, x->sections[s].count);
    for (size_t k = 0; k < x->fixup_count; k++) {
        const struct x86_fixup *f = &x->fixups[k];
        if (f->label < 0 || !x->labels[f->label].bound) return false;
        size_t start = section_start(x, f->section);
        int32_t to = (int32_t)(x86_offset(x, f->label) - (start + f->end));
        memcpy(out + start + f->at, &to, 4);
    }
    return true;
}

uint8_t *x86_install(const struct x86 *x, size_t *size)
{
    *size = x86_size(x);
    uint8_t *p = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (x86_finish(x, p) && !mprotect(p, *size, PROT_READ | PROT_EXEC)) return p;
    munmap(p, *size);
    return NULL;
}

void x86_uninstall(uint8_t *code, size_t size)
{
    if (code) munmap(code, size);
}

static size_t chain_of(const void *bytes)
{
    uint64_t q[8], h = 0;
    memcpy(q, bytes, sizeof q);
    for (int k = 0; k < 8; k++) h = (h ^ q[k]) * 0x9e3779b97f4a7c15u;
    return h >> 32 & (X86_CHAINS - 1);
}

int x86_constant(struct x86 *x, const void *bytes)
{
    struct x86_bytes *pool = &x->sections[X86_POOL];
    size_t chain = chain_of(bytes);
    for (size_t k = x->chains[chain]; k; k = x->constants[k - 1].next)
        if (!memcmp(pool->bytes + x->labels[x->constants[k - 1].label].at, bytes, 64)) return x->constants[k - 1].label;
    enum x86_section was = x->now;
    x->now = X86_POOL;
    int label = x86_label(x);
    x86_bind(x, label);
    put_bytes(x, bytes, 64);
    x->now = was;
    if (!grow(x, &x->constants, x->constant_count, 1, &x->constant_capacity, sizeof *x->constants)) return label;
    x->constants[x->constant_count++] = (struct x86_constant){label, x->chains[chain]};
    x->chains[chain] = x->constant_count;
    return label;
}

/* ---- operands ---- */
static void add_register(struct code *c, int reg, int rm)
{
    ADD(c, (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

/* ModRM, SIB and offset. */
static void add_memory(struct code *c, int reg, struct x86_mem m)
{
    int r = (reg & 7) << 3;
    if (m.base < 0) {
        ADD(c, (uint8_t)(r | 5));
        c->fix = c->n;
        c->label = m.label;
        add32(c, 0);
        return;
    }
    bool sib = m.index >= 0 || (m.base & 7) == RSP, none = !m.offset && (m.base & 7) != RBP;
    ADD(c, (uint8_t)((none ? 0 : 0x80) | r | (sib ? 4 : m.base & 7)));
    if (sib) ADD(c, (uint8_t)(m.scale << 6 | ((m.index >= 0 ? m.index : 4) & 7) << 3 | (m.base & 7)));
    if (!none) add32(c, m.offset);
}

static void add_rex(struct code *c, bool wide, int reg, int index, int base)
{
    int rex = (wide ? 8 : 0) | (reg >= 8 ? 4 : 0) | (index >= 8 ? 2 : 0) | (base >= 8 ? 1 : 0);
    if (rex) ADD(c, (uint8_t)(0x40 | rex));
}

static void add_opcode(struct code *c, int opcode)
{
    if (opcode > 0xff) ADD(c, 0x0f);
    ADD(c, (uint8_t)opcode);
}

/* ---- general registers ---- */
void x86_rr(struct x86 *x, int opcode, bool wide, int reg, int rm)
{
    struct code c = CODE;
    add_rex(&c, wide, reg, -1, rm);
    add_opcode(&c, opcode);
    add_register(&c, reg, rm);
    put_code(x, &c);
}

void x86_rm(struct x86 *x, int opcode, bool wide, int reg, struct x86_mem m)
{
    struct code c = CODE;
    add_rex(&c, wide, reg, m.index, m.base);
    add_opcode(&c, opcode);
    add_memory(&c, reg, m);
    put_code(x, &c);
}

void x86_imm(struct x86 *x, int opcode, bool wide, int reg, int32_t value)
{
    struct code c = CODE;
    bool small = value == (int8_t)value;
    add_rex(&c, wide, 0, -1, reg);
    ADD(&c, small ? 0x83 : 0x81, (uint8_t)(0xc0 | (opcode & 0x38) | (reg & 7)));
    if (small)
        ADD(&c, (uint8_t)value);
    else
        add32(&c, value);
    put_code(x, &c);
}

void x86_mem_imm(struct x86 *x, int opcode, bool wide, struct x86_mem m, int32_t value)
{
    struct code c = CODE;
    add_rex(&c, wide, 0, m.index, m.base);
    ADD(&c, opcode == ALU_MOV ? 0xc7 : 0x81);
    add_memory(&c, opcode == ALU_MOV ? 0 : opcode >> 3, m);
    add32(&c, value);
    put_code(x, &c);
}

void x86_load_imm(struct x86 *x, int reg, uint64_t value)
{
    struct code c = CODE;
    if (!value) {
        x86_rr(x, ALU_XOR, false, reg, reg);
        return;
    }
    if (value <= UINT32_MAX) {
        add_rex(&c, false, 0, -1, reg);
        ADD(&c, (uint8_t)(0xb8 | (reg & 7)));
        add32(&c, (int32_t)value);
    } else if ((int64_t)value == (int32_t)value) {
        add_rex(&c, true, 0, -1, reg);
        ADD(&c, 0xc7, (uint8_t)(0xc0 | (reg & 7)));
        add32(&c, (int32_t)value);
    } else {
        add_rex(&c, true, 0, -1, reg);
        ADD(&c, (uint8_t)(0xb8 | (reg & 7)));
        add32(&c, (int32_t)value);
        add32(&c, (int32_t)(value >> 32));
    }
    put_code(x, &c);
}

void x86_store(struct x86 *x, bool wide, struct x86_mem m, int reg)
{
    x86_rm(x, 0x89, wide, reg, m);
}
void x86_store_byte(struct x86 *x, struct x86_mem m, int reg)
{
    x86_rm(x, 0x88, false, reg, m);
}
void x86_store_part(struct x86 *x, struct x86_mem m, int reg, int size)
{
    if (size == 1) {
        x86_store_byte(x, m, reg);
        return;
    }
    put_bytes(x, "\x66", 1);
    x86_store(x, false, m, reg);
}
void x86_swap_byte(struct x86 *x, struct x86_mem m, int reg)
{
    x86_rm(x, 0x86, false, reg, m);
}
void x86_lea(struct x86 *x, bool wide, int reg, struct x86_mem m)
{
    x86_rm(x, 0x8d, wide, reg, m);
}
void x86_prefetch(struct x86 *x, struct x86_mem m)
{
    x86_rm(x, 0x118, false, 1, m);
}
void x86_prefetch_to_write(struct x86 *x, struct x86_mem m)
{
    x86_rm(x, 0x10d, false, 1, m);
}
void x86_imul(struct x86 *x, bool wide, int reg, int rm)
{
    x86_rr(x, 0x1af, wide, reg, rm);
}
void x86_imul_from(struct x86 *x, bool wide, int reg, struct x86_mem m)
{
    x86_rm(x, 0x1af, wide, reg, m);
}

void x86_divide(struct x86 *x, bool is_signed, int rm)
{
    if (is_signed)
        put_bytes(x, "\x48\x99", 2); /* cqo */
    else
        x86_rr(x, ALU_XOR, false, RDX, RDX);
    x86_rr(x, 0xf7, true, is_signed ? 7 : 6, rm);
}

void x86_first_bit(struct x86 *x, int reg, int rm)
{
    x86_rr(x, 0x1bc, false, reg, rm);
}
void x86_last_bit(struct x86 *x, int reg, int rm)
{
    x86_rr(x, 0x1bd, false, reg, rm);
}

void x86_imul_imm(struct x86 *x, bool wide, int reg, int rm, int32_t value)
{
    struct code c = CODE;
    add_rex(&c, wide, reg, -1, rm);
    ADD(&c, 0x69);
    add_register(&c, reg, rm);
    add32(&c, value);
    put_code(x, &c);
}

void x86_shift_imm(struct x86 *x, int kind, bool wide, int reg, int count)
{
    struct code c = CODE;
    add_rex(&c, wide, 0, -1, reg);
    ADD(&c, 0xc1, (uint8_t)(0xc0 | kind << 3 | (reg & 7)), (uint8_t)count);
    put_code(x, &c);
}
void x86_shift_cl(struct x86 *x, int kind, bool wide, int reg)
{
    x86_rr(x, 0xd3, wide, kind, reg);
}
void x86_unary(struct x86 *x, int kind, bool wide, int reg)
{
    x86_rr(x, 0xf7, wide, kind, reg);
}
void x86_movsxd(struct x86 *x, int reg, int rm)
{
    x86_rr(x, 0x63, true, reg, rm);
}

void x86_load_part(struct x86 *x, int reg, struct x86_mem m, int size, bool is_signed, bool wide)
{
    if (size == 4 && is_signed && wide)
        x86_rm(x, 0x63, true, reg, m);
    else if (size >= 4)
        x86_rm(x, ALU_MOV, size == 8, reg, m);
    else
        x86_rm(x, (is_signed ? 0x1be : 0x1b6) + (size == 2), is_signed && wide, reg, m);
}

void x86_test(struct x86 *x, bool wide, int a, int b)
{
    x86_rr(x, 0x85, wide, a, b);
}

void x86_test_imm(struct x86 *x, int reg, int32_t value)
{
    struct code c = CODE;
    add_rex(&c, false, 0, -1, reg);
    ADD(&c, 0xf7, (uint8_t)(0xc0 | (reg & 7)));
    add32(&c, value);
    put_code(x, &c);
}

void x86_setcc(struct x86 *x, enum x86_condition cc, int reg)
{
    x86_rr(x, 0x190 + (int)cc, false, 0, reg);
}
void x86_cmov(struct x86 *x, enum x86_condition cc, bool wide, int reg, int rm)
{
    x86_rr(x, 0x140 + (int)cc, wide, reg, rm);
}
void x86_movzx_byte(struct x86 *x, int reg, int rm)
{
    x86_rr(x, 0x1b6, false, reg, rm);
}

static void jump(struct x86 *x, int opcode, int label)
{
    struct code c = CODE;
    add_opcode(&c, opcode);
    c.fix = c.n;
    c.label = label;
    add32(&c, 0);
    put_code(x, &c);
}
void x86_jump(struct x86 *x, int label)
{
    jump(x, 0xe9, label);
}
void x86_jump_if(struct x86 *x, enum x86_condition cc, int label)
{
    jump(x, 0x180 + (int)cc, label);
}
void x86_call_label(struct x86 *x, int label)
{
    jump(x, 0xe8, label);
}
void x86_jump_to(struct x86 *x, int reg)
{
    x86_rr(x, 0xff, false, 4, reg);
}
void x86_call(struct x86 *x, int reg)
{
    x86_rr(x, 0xff, false, 2, reg);
}

static void push_pop(struct x86 *x, int opcode, int reg)
{
    struct code c = CODE;
    add_rex(&c, false, 0, -1, reg);
    ADD(&c, (uint8_t)(opcode | (reg & 7)));
    put_code(x, &c);
}
void x86_swap_bytes(struct x86 *x, int reg)
{
    struct code c = CODE;
    add_rex(&c, false, 0, -1, reg);
    ADD(&c, 0x0f, (uint8_t)(0xc8 | (reg & 7)));
    put_code(x, &c);
}
void x86_push(struct x86 *x, int reg)
{
    push_pop(x, 0x50, reg);
}
void x86_pop(struct x86 *x, int reg)
{
    push_pop(x, 0x58, reg);
}
void x86_return(struct x86 *x)
{
    put_bytes(x, "\xc3", 1);
}
void x86_lea_label(struct x86 *x, int reg, int label)
{
    x86_lea(x, true, reg, x86_at_label(label));
}

/* ---- vectors ---- */
static void add_evex(struct code *c, struct x86_vop op, struct x86_evex h, int reg, int second, bool x3, bool b3,
                     bool v4)
{
    ADD(c, 0x62, (uint8_t)((reg & 8 ? 0 : 0x80) | (x3 ? 0 : 0x40) | (b3 ? 0 : 0x20) | (reg & 16 ? 0 : 0x10) | op.map),
        (uint8_t)((op.w ? 0x80 : 0) | (~second & 15) << 3 | 4 | op.prefix),
        (uint8_t)((h.zero ? 0x80 : 0) |
                  (h.rounding      ? h.rounding << 5
                   : h.bits == 512 ? 0x40
                   : h.bits == 256 ? 0x20
                                   : 0) |
                  (h.broadcast || h.rounding ? 0x10 : 0) | (v4 ? 0 : 8) | h.mask),
        op.opcode);
}

static void put_with_imm(struct x86 *x, struct code *c, int imm)
{
    if (imm >= 0) ADD(c, (uint8_t)imm);
    put_code(x, c);
}

void x86_evex(struct x86 *x, struct x86_vop op, struct x86_evex h, int reg, int second, int rm)
{
    struct code c = CODE;
    add_evex(&c, op, h, reg, second, rm & 16, rm & 8, second & 16);
    add_register(&c, reg, rm);
    put_with_imm(x, &c, h.imm);
}

void x86_evex_mem(struct x86 *x, struct x86_vop op, struct x86_evex h, int reg, int second, struct x86_mem m)
{
    struct code c = CODE;
    add_evex(&c, op, h, reg, second, m.index >= 8, m.base >= 8, second & 16);
    add_memory(&c, reg, m);
    put_with_imm(x, &c, h.imm);
}

void x86_evex_sib(struct x86 *x, struct x86_vop op, struct x86_evex h, int reg, struct x86_mem m)
{
    struct code c = CODE;
    add_evex(&c, op, h, reg, 0, m.index & 8, m.base >= 8, m.index & 16);
    add_memory(&c, reg, m);
    put_with_imm(x, &c, h.imm);
}

static void add_vex(struct code *c, struct x86_vop op, int bits, int reg, int second, bool x3, bool b3)
{
    ADD(c, 0xc4, (uint8_t)((reg & 8 ? 0 : 0x80) | (x3 ? 0 : 0x40) | (b3 ? 0 : 0x20) | op.map),
        (uint8_t)((op.w ? 0x80 : 0) | (~second & 15) << 3 | (bits == 256 ? 4 : 0) | op.prefix), op.opcode);
}

void x86_vex(struct x86 *x, struct x86_vop op, int bits, int reg, int second, int rm, int imm)
{
    struct code c = CODE;
    add_vex(&c, op, bits, reg, second, false, rm & 8);
    add_register(&c, reg, rm);
    put_with_imm(x, &c, imm);
}

void x86_vex_mem(struct x86 *x, struct x86_vop op, int bits, int reg, int second, struct x86_mem m, int imm)
{
    struct code c = CODE;
    add_vex(&c, op, bits, reg, second, m.index >= 8, m.base >= 8);
    add_memory(&c, reg, m);
    put_with_imm(x, &c, imm);
}

void x86_load_control(struct x86 *x, struct x86_mem m)
{
    x86_rm(x, 0x1ae, false, 2, m);
}
void x86_vzeroupper(struct x86 *x)
{
    put_bytes(x, "\xc5\xf8\x77", 3);
}
