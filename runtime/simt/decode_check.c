/* Is it PTX at all? What the instruction at hand says is held against the language: instructions that there are, and
 * registers whose types agree with the instruction's ("Operand Type Checking" in the PTX ISA). */
#include <string.h>
#include "runtime/simt/decode.h"

/* The language's, of the PTX ISA 9.0. */
static const char *const instructions[] = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"};

bool simt_is_instruction(const char *opcode)
{
    return ONE_OF(opcode, instructions);
}

enum kind { BITS, INTEGER, FLOAT };

static enum kind kind_of(enum ptx_type t)
{
    if (t >= PTX_F16) return FLOAT;
    return t >= PTX_U8 ? INTEGER : BITS;
}

/* Pairs of halves may be in integers, too: the ISA does not say so, but NVIDIA's assembler and LLVM agree on it. */
static bool agree(enum ptx_type instruction, enum ptx_type operand)
{
    if (ptx_type_size(instruction) != ptx_type_size(operand)) return false;
    if (instruction == PTX_F16X2 || instruction == PTX_BF16X2) return true;
    enum kind a = kind_of(instruction), b = kind_of(operand);
    return a == b || a == BITS || b == BITS;
}

/* Instructions of one type, which all of their operands have but predicates. Loads, stores and conversions may have
 * wider ones; shifts and bit fields have others. */
static const char *const alike[] = {"add",  "addc", "sub",  "subc", "mul", "mul24", "mad",     "mad24", "madc",
                                    "sad",  "div",  "rem",  "abs",  "neg", "min",   "max",     "fma",   "rcp",
                                    "sqrt", "ex2",  "lg2",  "sin",  "cos", "tanh",  "and",     "or",    "xor",
                                    "not",  "cnot", "setp", "selp", "mov", "rsqrt", "copysign"};

bool simt_check_types(struct decoder *d, const struct shape *s)
{
    const struct ptx_insn *in = d->in;
    if (s->type_count != 1 || s->types[0] == PTX_PRED) return true;
    for (size_t k = 0; k < in->operand_count; k++) {
        const struct ptx_operand *o = &in->operands[k];
        char class = simt_operand_class(d, o);
        if (!class || class == 'p' || o->select) continue;
        const struct ptx_reg *r = &d->f->regs[o->reg];
        if (agree(s->types[0], r->type)) continue;
        if (!ONE_OF(in->opcode, alike) || simt_has_word(s, "wide")) return true;
        return simt_decode_fail(d, RT_COMPILE, "%s: %s is a register of type .%s, which does not agree with .%s",
                                in->opcode, r->name, ptx_type_name(r->type), ptx_type_name(s->types[0]));
    }
    return true;
}
