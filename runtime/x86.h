/* Assembles x86-64 machine code into memory: general registers, and vectors by VEX (AVX2) and EVEX (AVX-512) forms.
 *
 * Code grows in two sections, HOT and COLD, which are laid out one after the other: what is rarely run is written where
 * it is thought of, and lies out of the way. Constants for vectors lie behind both. Running out of memory is remembered
 * and found at the end. */
#ifndef RT_X86_H
#define RT_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, X86_GPRS };
enum x86_section { X86_HOT, X86_COLD, X86_POOL, X86_SECTIONS };
enum x86_condition {
    CC_O,
    CC_NO,
    CC_B,
    CC_AE,
    CC_E,
    CC_NE,
    CC_BE,
    CC_A,
    CC_S,
    CC_NS,
    CC_P,
    CC_NP,
    CC_L,
    CC_GE,
    CC_LE,
    CC_G
};

#define X86_CHAINS 256

struct x86_mem {
    int base, index; /* registers; index -1: none; base -1: relative to the label */
    int scale;       /* log 2 */
    int32_t offset;
    int label;
};

struct x86 {
    struct x86_bytes {
        uint8_t *bytes;
        size_t count, capacity;
    } sections[X86_SECTIONS];
    enum x86_section now;
    struct x86_label {
        enum x86_section section;
        bool bound;
        size_t at;
    } * labels;
    struct x86_fixup {
        enum x86_section section;
        size_t at, end; /* of the 4 bytes; of the instruction */
        int label;
    } * fixups;
    size_t label_count, label_capacity, fixup_count, fixup_capacity;
    struct x86_constant {
        int label;
        size_t next; /* of its chain: which one, + 1 */
    } * constants;
    size_t constant_count, constant_capacity;
    size_t chains[X86_CHAINS]; /* of constants with like bytes: which one is the last, + 1 */
    bool failed;
};

/* What a vector instruction is, apart from its operands. */
struct x86_vop {
    uint8_t map, prefix, w, opcode; /* map 1: 0F, 2: 0F38, 3: 0F3A; prefix 0: none, 1: 66, 2: F3, 3: F2 */
};

void x86_free(struct x86 *x);
int x86_label(struct x86 *x);            /* a new one, not yet bound; -1 without memory */
void x86_bind(struct x86 *x, int label); /* to where the code stands */
/* Lays out the sections and resolves the labels. Fills `out` (x86_size(x) bytes); false when memory ran out before or a
 * label is not bound. */
size_t x86_size(const struct x86 *x);
bool x86_finish(const struct x86 *x, uint8_t *out);
/* The code in memory of its own that can be run and no more be written, of *size bytes, for x86_uninstall; NULL when
 * x86_finish fails or the system refuses such memory. */
uint8_t *x86_install(const struct x86 *x, size_t *size);
void x86_uninstall(uint8_t *code, size_t size);
/* Where a label lies in what x86_finish filled. */
size_t x86_offset(const struct x86 *x, int label);
/* A label for 64 bytes of constants; equal ones are kept once. */
int x86_constant(struct x86 *x, const void *bytes);

static inline struct x86_mem x86_at(int base, int32_t offset)
{
    return (struct x86_mem){base, -1, 0, offset, -1};
}
static inline struct x86_mem x86_further(struct x86_mem m, int64_t bytes)
{
    m.offset += (int32_t)bytes;
    return m;
}
static inline struct x86_mem x86_at_index(int base, int index, int32_t offset)
{
    return (struct x86_mem){base, index, 0, offset, -1};
}
static inline struct x86_mem x86_at_label(int label)
{
    return (struct x86_mem){-1, -1, 0, 0, label};
}

/* ---- general registers. `wide`: 64 bits, else 32. Opcodes are those of `register, register or memory`: */
enum { ALU_ADD = 0x03, ALU_OR = 0x0B, ALU_AND = 0x23, ALU_SUB = 0x2B, ALU_XOR = 0x33, ALU_CMP = 0x3B, ALU_MOV = 0x8B };
void x86_rr(struct x86 *x, int opcode, bool wide, int reg, int rm);
void x86_rm(struct x86 *x, int opcode, bool wide, int reg, struct x86_mem m);
void x86_imm(struct x86 *x, int opcode, bool wide, int reg, int32_t value);              /* ALU_ADD and the like */
void x86_mem_imm(struct x86 *x, int opcode, bool wide, struct x86_mem m, int32_t value); /* also ALU_MOV */
void x86_load_imm(struct x86 *x, int reg, uint64_t value);
void x86_store(struct x86 *x, bool wide, struct x86_mem m, int reg);
void x86_store_byte(struct x86 *x, struct x86_mem m, int reg);           /* of rax to rdx */
void x86_store_part(struct x86 *x, struct x86_mem m, int reg, int size); /* 1 or 2 bytes of those */
void x86_swap_byte(struct x86 *x, struct x86_mem m, int reg);            /* likewise; nobody else comes between */
void x86_lea(struct x86 *x, bool wide, int reg, struct x86_mem m);
void x86_prefetch(struct x86 *x, struct x86_mem m); /* the address may be any */
void x86_prefetch_to_write(struct x86 *x, struct x86_mem m);
void x86_imul(struct x86 *x, bool wide, int reg, int rm);
void x86_imul_from(struct x86 *x, bool wide, int reg, struct x86_mem m);
void x86_divide(struct x86 *x, bool is_signed, int rm); /* rax by 64 bits: rax is the quotient, rdx the rest */
void x86_first_bit(struct x86 *x, int reg, int rm);     /* of 32; not for 0 */
void x86_last_bit(struct x86 *x, int reg, int rm);      /* likewise */
void x86_imul_imm(struct x86 *x, bool wide, int reg, int rm, int32_t value);
enum { SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 };
void x86_shift_imm(struct x86 *x, int kind, bool wide, int reg, int count);
void x86_shift_cl(struct x86 *x, int kind, bool wide, int reg);
enum { UNARY_NOT = 2, UNARY_NEG = 3 };
void x86_unary(struct x86 *x, int kind, bool wide, int reg);
void x86_movsxd(struct x86 *x, int reg, int rm);
/* movzx and movsx of a byte or two from memory, to 32 bits; movsxd from memory to 64. */
void x86_load_part(struct x86 *x, int reg, struct x86_mem m, int size, bool is_signed, bool wide);
void x86_test(struct x86 *x, bool wide, int a, int b);
void x86_test_imm(struct x86 *x, int reg, int32_t value);     /* 32 bits */
void x86_setcc(struct x86 *x, enum x86_condition c, int reg); /* a byte of rax to rdx */
void x86_cmov(struct x86 *x, enum x86_condition c, bool wide, int reg, int rm);
void x86_movzx_byte(struct x86 *x, int reg, int rm);
void x86_jump(struct x86 *x, int label);
void x86_jump_if(struct x86 *x, enum x86_condition c, int label);
void x86_jump_to(struct x86 *x, int reg);
void x86_call(struct x86 *x, int reg);
void x86_call_label(struct x86 *x, int label);
void x86_swap_bytes(struct x86 *x, int reg); /* of 4 */
void x86_push(struct x86 *x, int reg);
void x86_pop(struct x86 *x, int reg);
void x86_return(struct x86 *x);
void x86_lea_label(struct x86 *x, int reg, int label);

/* ---- vectors. `bits` is 128, 256 or 512; the mask register 0 is none; `imm` below 0 is none. */
struct x86_evex {
    int bits, mask;
    bool zero, broadcast;
    int imm;
    int rounding; /* of registers: 1 down, 2 up, 3 to zero; 0 as the processor is set */
};
void x86_evex(struct x86 *x, struct x86_vop op, struct x86_evex how, int reg, int second, int rm);
void x86_evex_mem(struct x86 *x, struct x86_vop op, struct x86_evex how, int reg, int second, struct x86_mem m);
/* A gather or scatter: m.index is a vector register. */
void x86_evex_sib(struct x86 *x, struct x86_vop op, struct x86_evex how, int reg, struct x86_mem m);
void x86_vex(struct x86 *x, struct x86_vop op, int bits, int reg, int second, int rm, int imm);
void x86_vex_mem(struct x86 *x, struct x86_vop op, int bits, int reg, int second, struct x86_mem m, int imm);
void x86_vzeroupper(struct x86 *x);
/* The control register of floats, from memory. */
void x86_load_control(struct x86 *x, struct x86_mem m);

#endif
