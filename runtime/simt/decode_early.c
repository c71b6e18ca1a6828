/* Divisions that the compiler made before it was known whether they are wanted. Dividing by zero does no harm on a GPU,
 * so `for (...) s += d ? n / d : 0` divides once, before the loop, whatever d is, and looks at d afterwards. */
#include <string.h>
#include "runtime/simt/decode.h"

#define MOST 16 /* registers of a set */

struct registers {
    int items[MOST];
    size_t count;
};

static bool has(const struct registers *s, int reg)
{
    for (size_t k = 0; k < s->count; k++)
        if (s->items[k] == reg) return true;
    return false;
}

static void add(struct registers *s, int reg)
{
    if (reg >= 0 && s->count < MOST && !has(s, reg)) s->items[s->count++] = reg;
}

static bool reads(const struct ptx_operand *o, const struct registers *s)
{
    if ((o->kind == PTX_OP_REG || o->kind == PTX_OP_ADDRESS) && has(s, o->reg)) return true;
    for (size_t k = 0; k < o->item_count; k++)
        if (reads(&o->items[k], s)) return true;
    return false;
}

/* Operands from the first on. */
static bool uses(const struct ptx_insn *in, size_t first, const struct registers *s)
{
    for (size_t k = first; k < in->operand_count; k++)
        if (reads(&in->operands[k], s)) return true;
    return false;
}

static int result_of(const struct ptx_insn *in)
{
    return in->operand_count && in->operands[0].kind == PTX_OP_REG ? in->operands[0].reg : -1;
}

/* Of what the divisor comes before the division at `at`, and what comes of it and of these in two steps: much may come
 * of one value, as a thread's number, so the former have half of the room first. */
static void find_related(const struct ptx_func *f, size_t at, struct registers *divisor)
{
    static const char *const steps[] = {"mov", "cvt", "add", "sub", "and", "or", "neg", "abs", "shl", "mul"};
    for (size_t k = at; k-- > 0 && divisor->count < MOST / 2;) {
        const struct ptx_insn *in = &f->insns[k];
        if (in->operand_count < 2 || !has(divisor, result_of(in)) || !ONE_OF(in->opcode, steps)) continue;
        if (in->operands[1].kind == PTX_OP_REG) add(divisor, in->operands[1].reg);
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < f->insn_count && divisor->count < MOST; k++) {
            const struct ptx_insn *in = &f->insns[k];
            if (in->operand_count < 2 || !uses(in, 1, divisor) || !ONE_OF(in->opcode, steps)) continue;
            add(divisor, result_of(in));
        }
}

/* Does something behind the division depend on what the divisor was compared with? */
static bool is_tested_behind(const struct ptx_func *f, size_t at, const struct registers *divisor)
{
    static const char *const logic[] = {"and", "or", "xor", "not", "mov"};
    struct registers tests = {0};
    for (size_t k = 0; k < f->insn_count; k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (!strcmp(in->opcode, "setp") && uses(in, 1, divisor)) add(&tests, result_of(in));
        if (ONE_OF(in->opcode, logic) && uses(in, 1, &tests)) add(&tests, result_of(in));
    }
    for (size_t k = at + 1; k < f->insn_count; k++)
        if (has(&tests, f->insns[k].guard) || (!strcmp(f->insns[k].opcode, "selp") && uses(&f->insns[k], 3, &tests)))
            return true;
    return false;
}

/* Is the quotient used where the division is, by more than what chooses or passes it on? */
static bool is_used_there(const struct ptx_func *f, size_t at)
{
    static const char *const passes[] = {"mov", "cvt"}, *const ends[] = {"bra", "brx", "ret", "exit", "trap", "call"};
    struct registers quotient = {.items = {result_of(&f->insns[at])}, .count = 1};
    for (size_t k = at + 1; k < f->insn_count && !ptx_has_label(f, k); k++) {
        const struct ptx_insn *in = &f->insns[k];
        if (uses(in, 0, &quotient)) {
            if (ONE_OF(in->opcode, passes) && uses(in, 1, &quotient))
                add(&quotient, result_of(in));
            else if (strcmp(in->opcode, "selp"))
                return true;
        }
        if (ONE_OF(in->opcode, ends)) break;
    }
    return false;
}

bool simt_is_early(const struct ptx_func *f, const struct ptx_insn *in)
{
    const char *type = in->mod_count ? in->mods[in->mod_count - 1] : "";
    bool divides = (!strcmp(in->opcode, "div") || !strcmp(in->opcode, "rem")) && *type != 'f'; /* those have infinity */
    size_t at = (size_t)(in - f->insns);
    if (!divides || in->operand_count != 3 || in->operands[2].kind != PTX_OP_REG || result_of(in) < 0) return false;
    struct registers divisor = {.items = {in->operands[2].reg}, .count = 1};
    find_related(f, at, &divisor);
    return is_tested_behind(f, at, &divisor) && !is_used_there(f, at);
}
