/* What the code generator knows of ops: jit_table.c has the table, jit_describe.c says what an instruction comes to. */
#ifndef SIMT_JIT_OPS_H
#define SIMT_JIT_OPS_H

#include "runtime/simt/insn.h"

enum jit_kind {
    JK_UNKNOWN, /* calls the op; reads and writes anything */
    JK_CALL,    /* calls the op, whose operands are known */
    JK_LEAVE,   /* the interpreter does it */
    JK_NOP,
    JK_BRANCH,
    JK_EXIT,
    JK_BARRIER,
    JK_MEET, /* all lanes, of which only the observer is to be told */
    JK_SPECIAL,
    JK_INTEGER,
    JK_FLOAT,
    JK_CONVERT,
    JK_COMPARE,
    JK_SELECT,
    JK_PREDICATE,
    JK_LOAD,
    JK_STORE,
    JK_SHUFFLE,
    JK_VOTE
};
enum jit_integer {
    JI_ADD,
    JI_SUB,
    JI_MUL,
    JI_MAD,
    JI_AND,
    JI_OR,
    JI_XOR,
    JI_NOT,
    JI_NEG,
    JI_ABS,
    JI_MOV,
    JI_SHL,
    JI_SHR,
    JI_SAR,
    JI_MIN_U,
    JI_MAX_U,
    JI_MIN_S,
    JI_MAX_S,
    JI_WIDE_U, /* 32 bits times 32 bits */
    JI_WIDE_S,
    JI_MAD_WIDE_U,
    JI_MAD_WIDE_S,
    JI_EXTEND_U,
    JI_EXTEND_S,
    JI_NARROW,
    JI_HIGH_U, /* of 64 bits of a product, the high 32 */
    JI_HIGH_S,
    JI_LOW_8, /* the low bits alone */
    JI_LOW_16,
    JI_SIGN_8, /* the low bits, signed */
    JI_SIGN_16,
    JI_DIV_U,
    JI_DIV_S,
    JI_REM_U,
    JI_REM_S,
    JI_SHORT, /* of 16 bits; detail: which of the above. From here on jit_bits.c's, of vectors only */
    JI_WIDE_SHORT_U,
    JI_WIDE_SHORT_S,
    JI_FUNNEL_L,
    JI_FUNNEL_R,
    JI_INSERT,
    JI_EXTRACT_U,
    JI_EXTRACT_S,
    JI_COUNT,   /* of bits that are set */
    JI_REVERSE, /* all bits */
    JI_LEADING, /* about the highest bit that is set; detail: enum jit_leading */
    JI_PACK,    /* two halves */
    JI_UNPACK,  /* into them */
    JI_PERMUTE,
    JI_DOT /* detail: 1 where the first four bytes are signed, 2 where the others are */
};
enum jit_float {
    JF_ADD,
    JF_SUB,
    JF_MUL,
    JF_DIV,
    JF_FMA,
    JF_MIN,
    JF_MAX,
    JF_NEG,
    JF_ABS,
    JF_SQRT,
    JF_RCP,
    JF_RSQRT,
    JF_ROUND, /* to a whole number; detail: enum jit_rounding. From here on jit_float.c's */
    JF_SATURATE,
    JF_DIRECTED, /* rounded otherwise than to nearest; detail: enum jit_directed * 4 + enum jit_rounding */
    JF_RCP_FTZ,
    JF_POWER, /* of 2; detail: without denormals */
    JF_COPYSIGN
};
enum jit_leading { LEADING_ZEROS, LEADING_PLACE, LEADING_SHIFT };
enum jit_directed { DIRECTED_ADD, DIRECTED_SUB, DIRECTED_MUL, DIRECTED_FMA };
enum jit_rounding { ROUND_NEAREST, ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO }; /* as instructions have it */
enum jit_convert {
    JC_F32_S32,
    JC_F32_U32,
    JC_F64_S32,
    JC_F64_U32,
    JC_F64_F32,
    JC_F32_F64,
    JC_S32_F32,
    JC_U32_F32,
    JC_F32_U8,
    JC_F32_U16,
    JC_F64_S64,
    JC_S32_F64 /* detail: enum jit_rounding */
};
/* Kinds of numbers; the comparison itself is that of vcmp or vpcmp. */
enum jit_compare { JT_U, JT_S, JT_F, JT_SHORT = 4 /* with others: of 16 bits */ };

/* What the generator knows of an op. */
struct jit_native {
    const char *key;
    uint8_t kind, op, detail;
    const char *operands; /* when the row does not say */
    uint32_t flags;       /* by which it differs from others of the key */
};
struct jit_op {
    op_function run;
    const char *operands;            /* NULL: not known */
    const struct jit_native *native; /* NULL: only to be called */
    const char *key;                 /* not NULL: native is the one of this key that has the instruction's flags */
    bool plain;
};
const struct jit_op *simt_jit_op(op_function run);
/* What the generator writes for such an instruction; NULL: a call of its op. */
const struct jit_native *simt_jit_native(const struct jit_op *op, const struct insn *i);

#endif
