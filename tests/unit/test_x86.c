/* The assembler: bytes of instructions (as another disassembler reads them), labels across sections, and code that
 * runs. */
#include "runtime/x86.h"
#include "tests/unit/test.h"

/* The bytes that the hot section holds, in hexadecimal. */
static const char *hex(const struct x86 *x)
{
    static char text[4096];
    const struct x86_bytes *s = &x->sections[X86_HOT];
    size_t n = 0;
    text[0] = 0;
    for (size_t k = 0; k < s->count && n + 3 < sizeof text; k++) n += (size_t)sprintf(text + n, "%02x", s->bytes[k]);
    return text;
}

#define ENCODES(want, call)                                                                                            \
    do {                                                                                                               \
        struct x86 x_ = {0}, *x = &x_;                                                                                 \
        call;                                                                                                          \
        CHECK_STR(hex(x), want);                                                                                       \
        x86_free(x);                                                                                                   \
    } while (0)

static const struct x86_vop add_ps = {1, 0, 0, 0x58}, fma_231 = {2, 1, 0, 0xb8}, add_q = {1, 1, 1, 0xd4},
                            gather = {2, 1, 0, 0x90}, move = {1, 0, 0, 0x10}, to_gpr = {1, 3, 0, 0x93},
                            extract = {3, 1, 1, 0x3b};
static const struct x86_evex full = {.bits = 512, .imm = -1};

TEST(general_registers)
{
    ENCODES("03c1", x86_rr(x, ALU_ADD, false, RAX, RCX));
    ENCODES("4d03c7", x86_rr(x, ALU_ADD, true, R8, R15));
    ENCODES("488b8310000000", x86_rm(x, ALU_MOV, true, RAX, x86_at(RBX, 16)));
    ENCODES("418b0424", x86_rm(x, ALU_MOV, false, RAX, x86_at(R12, 0)));
    ENCODES("418b8500000000", x86_rm(x, ALU_MOV, false, RAX, x86_at(R13, 0)));
    ENCODES("4b8d8c3700010000", x86_lea(x, true, RCX, x86_at_index(R15, R14, 256)));
    ENCODES("4183e9ff", x86_imm(x, ALU_SUB, false, R9, -1));
    ENCODES("4881ff00010000", x86_imm(x, ALU_CMP, true, RDI, 256));
    ENCODES("41812c2401000000", x86_mem_imm(x, ALU_SUB, false, x86_at(R12, 0), 1));
    ENCODES("c70307000000", x86_mem_imm(x, ALU_MOV, false, x86_at(RBX, 0), 7));
    ENCODES("33ed", x86_load_imm(x, RBP, 0));
    ENCODES("bdffffffff", x86_load_imm(x, RBP, 0xffffffff));
    ENCODES("49c7c2ffffffff", x86_load_imm(x, R10, UINT64_MAX));
    ENCODES("49ba8877665544332211", x86_load_imm(x, R10, 0x1122334455667788));
    ENCODES("4c89942400040000", x86_store(x, true, x86_at(RSP, 1024), R10));
    ENCODES("4d69c1e8030000", x86_imul_imm(x, true, R8, R9, 1000));
    ENCODES("0fbcc5", x86_first_bit(x, RAX, RBP));
    ENCODES("440fafc6", x86_imul(x, false, R8, RSI));
    ENCODES("4c0fafab00010000", x86_imul_from(x, true, R13, x86_at(RBX, 256)));
    ENCODES("49c1fb1f", x86_shift_imm(x, SHIFT_SIGNED, true, R11, 31));
    ENCODES("d3e6", x86_shift_cl(x, SHIFT_LEFT, false, RSI));
    ENCODES("41f7d8", x86_unary(x, UNARY_NEG, false, R8));
    ENCODES("4c63c7", x86_movsxd(x, R8, RDI));
    ENCODES("0fb686ff000000", x86_load_part(x, RAX, x86_at(RSI, 255), 1, false, false));
    ENCODES("480fbf06", x86_load_part(x, RAX, x86_at(RSI, 0), 2, true, true));
    ENCODES("41f7c003000000", x86_test_imm(x, R8, 3));
    ENCODES("0f9cc00fb6f0f7de",
            (x86_setcc(x, CC_L, RAX), x86_movzx_byte(x, RSI, RAX), x86_unary(x, UNARY_NEG, false, RSI)));
    ENCODES("4c0f47c2", x86_cmov(x, CC_A, true, R8, RDX));
    ENCODES("4155415dffd0c3", (x86_push(x, R13), x86_pop(x, R13), x86_call(x, RAX), x86_return(x)));
}

TEST(vectors)
{
    ENCODES("62f16c4858cb", x86_evex(x, add_ps, full, 1, 2, 3));
    ENCODES("6201142058fe", x86_evex(x, add_ps, ((struct x86_evex){.bits = 256, .imm = -1}), 31, 29, 30));
    ENCODES("62a2454ab8f1", x86_evex(x, fma_231, ((struct x86_evex){.bits = 512, .mask = 2, .imm = -1}), 22, 7, 17));
    ENCODES("62718dc9d48b00020000",
            x86_evex_mem(x, add_q, ((struct x86_evex){.bits = 512, .mask = 1, .zero = true, .imm = -1}), 9, 14,
                         x86_at(RBX, 512)));
    ENCODES("62917c48101437", x86_evex_mem(x, move, full, 2, 0, x86_at_index(R15, R14, 0)));
    ENCODES("62c1145858a600010000",
            x86_evex_mem(x, add_ps, ((struct x86_evex){.bits = 512, .broadcast = true, .imm = -1}), 20, 13,
                         x86_at(R14, 256)));
    ENCODES("62e27d4190043e", x86_evex_sib(x, gather, ((struct x86_evex){.bits = 512, .mask = 1, .imm = -1}), 16,
                                           ((struct x86_mem){RSI, 23, 0, 0, -1})));
    ENCODES("62f3fd483bca01", x86_evex(x, extract, ((struct x86_evex){.bits = 512, .imm = 1}), 1, 0, 2));
    ENCODES("c4617b93c1", x86_vex(x, to_gpr, 128, R8, 0, 1, -1));
    ENCODES("c4c12c58d7", x86_vex(x, add_ps, 256, 2, 10, 15, -1));
}

TEST(equal_constants_are_kept_once)
{
    struct x86 x = {0};
    int labels[3000];
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < 3000; k++) {
            int32_t numbers[16] = {[5] = k / 7, [15] = k % 7};
            int label = x86_constant(&x, numbers);
            if (round == 0) labels[k] = label;
            CHECK_INT(label, labels[k]);
            CHECK(!memcmp(x.sections[X86_POOL].bytes + x.labels[label].at, numbers, 64));
        }
    CHECK_INT(x.sections[X86_POOL].count, 3000 * 64);
    x86_free(&x);
}

TEST(labels_reach_across_sections)
{
    struct x86 x = {0};
    int cold = x86_label(&x), back = x86_label(&x);
    int32_t numbers[16] = {0, 0, 42};
    int constant = x86_constant(&x, numbers);
    CHECK_INT(x86_constant(&x, numbers), constant);
    x86_test(&x, false, RDI, RDI); /* int f(int a) { return a ? 42 + a : 0; } */
    x86_jump_if(&x, CC_NE, cold);
    x86_load_imm(&x, RAX, 0);
    x86_return(&x);
    x86_bind(&x, back);
    x86_rr(&x, ALU_ADD, false, RAX, RDI);
    x86_return(&x);
    x.now = X86_COLD;
    x86_bind(&x, cold);
    x86_lea_label(&x, RCX, constant);
    x86_rm(&x, ALU_MOV, false, RAX, x86_at(RCX, 8));
    x86_jump(&x, back);
    size_t size;
    uint8_t *p = x86_install(&x, &size);
    if (!p) SKIP("memory cannot be made executable");
#ifndef __x86_64__
    SKIP("another kind of processor");
#endif
    int (*f)(int);
    memcpy(&f, &p, sizeof f);
    CHECK_INT(f(0), 0);
    CHECK_INT(f(8), 50);
    x86_uninstall(p, size);
    x86_free(&x);
}

TEST(an_unbound_label_is_found)
{
    struct x86 x = {0};
    uint8_t out[256];
    x86_jump(&x, x86_label(&x));
    size_t size;
    CHECK(!x86_finish(&x, out) && !x86_install(&x, &size));
    x86_free(&x);
}
