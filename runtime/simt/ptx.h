/* PTX text to a syntax tree: what the text says, nothing about what it means. Meaning is given by simt/decode.c.
 *
 * Reads both dialects that NVRTC emits: typed registers (.f32 %f) for targets up to sm_90, untyped ones (.b32 %f,
 * `.ptr .align` parameters, nested scopes whose .reg names shadow) from sm_100. Survives any bytes: every limit is
 * checked, every error names its line. */
#ifndef SIMT_PTX_H
#define SIMT_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "runtime/status.h"

enum ptx_type { /* the type suffixes, in one order for the whole software GPU */
                PTX_NONE,
                PTX_PRED,
                PTX_B8,
                PTX_B16,
                PTX_B32,
                PTX_B64,
                PTX_B128,
                PTX_U8,
                PTX_U16,
                PTX_U32,
                PTX_U64,
                PTX_S8,
                PTX_S16,
                PTX_S32,
                PTX_S64,
                PTX_F16,
                PTX_F16X2,
                PTX_BF16,
                PTX_BF16X2,
                PTX_TF32,
                PTX_F32,
                PTX_F64,
                PTX_TYPE_COUNT
};
enum ptx_space { PTX_GENERIC, PTX_REG, PTX_PARAM, PTX_GLOBAL, PTX_CONST, PTX_SHARED, PTX_LOCAL };

size_t ptx_type_size(enum ptx_type t);         /* bytes; .pred is 1 */
const char *ptx_type_name(enum ptx_type t);    /* "f32" */
enum ptx_type ptx_type_find(const char *name); /* without the dot; PTX_NONE when unknown */

struct ptx_reg {
    char *name; /* unique within its function; the parser renames shadowed ones */
    enum ptx_type type;
};

struct ptx_var { /* a .param, .shared, .local, .global or .const variable */
    char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t align;          /* bytes */
    uint64_t size;           /* bytes; 0 for an extern array of unknown length (dynamic shared memory) */
    uint32_t lanes;          /* elements of a vector type, else 1 */
    bool is_extern, is_weak; /* .weak or .common: another one of the name may be there */
    bool is_array;
    bool managed;      /* host code uses it, too */
    uint8_t *init;     /* `size` bytes, or NULL when not initialised */
    struct ptx_reloc { /* addresses inside an initialiser */
        uint64_t offset;
        char *symbol;
        int64_t addend;
        uint64_t mask; /* written 0xFF00(symbol): these bits, shifted down; 0 for the whole address */
        uint32_t size; /* bytes of the element that it is for */
        bool generic;  /* written generic(symbol) */
    } * relocs;
    size_t reloc_count;
};

enum ptx_operand_kind {
    PTX_OP_REG,     /* index into fn->regs; negate for !%p */
    PTX_OP_SPECIAL, /* %tid.x and the like: name without '%' */
    PTX_OP_IMM,     /* integer bits, also the bits of 0d... literals (imm_type F64) and 0f... (imm_type F32) */
    PTX_OP_SYMBOL,  /* a variable's or function's name, plus an offset: address of */
    PTX_OP_ADDRESS, /* [reg+imm], [symbol+imm], [imm] */
    PTX_OP_VECTOR,  /* {a, b, c, d}: items */
    PTX_OP_LABEL,   /* branch target: imm is the index into fn->insns, or insn_count for a label at the end; for brx
                       the label list's name is a SYMBOL that names one of branch_tables */
    PTX_OP_SINK,    /* _ */
    PTX_OP_PAIR     /* d|p: items[0] and items[1]; {a, b, c, d}|p: five items */
};
struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negate;            /* !%p or -%r */
    bool indexed;           /* written array[i]; of ld and st an ADDRESS */
    int reg;                /* REG, and ADDRESS with a register base; -1 when there is none */
    char *symbol;           /* SYMBOL, SPECIAL, ADDRESS with a symbol base; NULL when there is none */
    int64_t imm;            /* IMM, offset of SYMBOL and ADDRESS, target of LABEL */
    enum ptx_type imm_type; /* PTX_S64, PTX_U64, PTX_F32 or PTX_F64 for IMM */
    char *select;           /* REG: the part that it names, "b0" or "h10", else NULL */
    struct ptx_operand *items;
    size_t item_count;
};

struct ptx_insn {
    char *opcode; /* first word: "add", "ld", "setp" */
    char **mods;  /* the words after it, without dots: "rn", "f32", "shared::cta" stays one word */
    size_t mod_count;
    int guard; /* predicate register, -1 when unconditional */
    bool guard_negate;
    struct ptx_operand *operands; /* a call has: PTX_OP_VECTOR of results, SYMBOL or REG callee, VECTOR of arguments,
                                     optional SYMBOL prototype */
    size_t operand_count;
    int line;                             /* in the PTX text */
    int file, source_line, source_column; /* from .loc; file 0 when there was none. What is inlined from the toolkit's
                                             headers has the line where the user's code calls it */
    bool in_asm;         /* of the source's inline PTX, __trap() and the like too, not made by the compiler */
    bool of_groups;      /* inlined from cooperative groups, other than a copy that the user asked for */
    bool ahead;          /* of code that loads the next element of a range before it looks whether there is one */
    bool of_tiles;       /* of code that compacts tile by tile, each waiting for a word of those before it */
    uint32_t used_bytes; /* of a load, by bits: those that the program looks at; 0: all */
    bool is_eager;       /* a load whose guard says who wants it: made by others, it does no harm. Without a guard: it
                            is looked at elsewhere who does */
    bool is_added;       /* not the compiler's, but for the checks */
    bool is_copied;      /* a load: what it loads is stored, and nothing else is done with it */
    bool is_room;        /* such a load of bytes behind a member of a structure */
};

struct ptx_func {
    char *name;
    bool is_entry, is_extern; /* extern and forward declarations have no insns */
    bool is_weak;             /* another one of the name may be there */
    bool has_body;
    struct ptx_var *params;
    size_t param_count;
    struct ptx_var *returns;
    size_t return_count; /* .func (.param ...) or .reg results */
    struct ptx_var *vars;
    size_t var_count; /* .shared, .local, and .param of call scopes, names made unique */
    struct ptx_reg *regs;
    size_t reg_count;
    struct ptx_insn *insns;
    size_t insn_count;
    struct ptx_label {
        char *name;  /* as it stands there: labels of inner scopes may share one */
        size_t insn; /* index; insn_count when the label stands at the end */
    } * labels;
    size_t label_count;
    struct ptx_targets {
        char *name;
        size_t *insns;
        size_t count;
    } * branch_tables;
    size_t branch_table_count;                                /* .branchtargets */
    size_t declared_returns;                                  /* of its declarations, in texts linked with its own */
    uint32_t max_threads[3], required_threads[3], min_blocks; /* .maxntid .reqntid .minnctapersm; 0 when not given */
    uint32_t max_registers;                                   /* .maxnreg, likewise */
    uint32_t cluster[3];                                      /* .reqnctapercluster; 0 when not given */
    bool must_cluster, grid_of_clusters;                      /* .explicitcluster, .blocksareclusters */
};

struct ptx_module {
    int version_major, version_minor;
    char *target; /* "sm_80" */
    struct ptx_var *vars;
    size_t var_count; /* .global and .const, and module-level .shared */
    struct ptx_func *funcs;
    size_t func_count;
    char **files;
    size_t file_count; /* .file N "name": files[N], NULL where N is not given */
};

static inline bool ptx_is(const struct ptx_insn *in, const char *opcode)
{
    return *in->opcode == *opcode && !strcmp(in->opcode, opcode); /* asked of all instructions on a way */
}
/* May something else than what stands behind it come next? */
static inline bool ptx_leaves(const struct ptx_insn *in)
{
    return ptx_is(in, "bra") || ptx_is(in, "ret") || ptx_is(in, "exit");
}
/* Has it a modifier that begins so? */
static inline bool ptx_has_mod_like(const struct ptx_insn *in, const char *start)
{
    for (size_t k = 0; k < in->mod_count; k++)
        if (!strncmp(in->mods[k], start, strlen(start))) return true;
    return false;
}
/* The first operand that is an address; NULL: none. */
static inline const struct ptx_operand *ptx_address(const struct ptx_insn *in)
{
    for (size_t k = 0; k < in->operand_count; k++)
        if (in->operands[k].kind == PTX_OP_ADDRESS) return &in->operands[k];
    return NULL;
}
/* Does a label stand before the instruction? */
static inline bool ptx_has_label(const struct ptx_func *f, size_t insn)
{
    for (size_t k = 0; k < f->label_count; k++)
        if (f->labels[k].insn == insn) return true;
    return false;
}
/* Is the word in the list, an array? */
#define ONE_OF(word, list) ptx_is_one_of(word, list, sizeof(list) / sizeof *(list))
static inline bool ptx_is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (*word == *list[k] && !strcmp(word, list[k])) return true;
    return false;
}

#define PTX_NEWEST 9 /* the major version of the language; minor ones only add to it */

/* Parses `length` bytes. NULL: RT_COMPILE with "line N: what was expected, what came", or RT_UNSUPPORTED for PTX of a
 * newer version. */
struct ptx_module *ptx_parse(const char *text, size_t length, struct rt_error *e);
void ptx_free(struct ptx_module *m);

/* Puts the bodies of the toolkit's own small functions, such as __internal_accurate_pow, where they are called: what
 * they compute is the same, and code without calls is what can be generated for. False without memory. */
bool ptx_inline(struct ptx_module *m, struct rt_error *e);
/* Puts blocks before what they lead to, loops aside, where a compiler has not: what the code computes is the same.
 * False without memory. */
bool ptx_order(struct ptx_module *m, struct rt_error *e);
/* Gives each loop that adds to a register to which one before it adds, too, a register of its own. What the code
 * computes is the same, and more is known of it before a launch. False without memory. */
bool ptx_split(struct ptx_module *m, struct rt_error *e);
/* Gives loads that the compiler made before it was known whether they are wanted the guard that tells. What the code
 * computes is the same. False without memory. */
bool ptx_guard_eager(struct ptx_module *m, struct rt_error *e);
/* Finds loads of which all is stored alone. False without memory. */
bool ptx_mark_copies(struct ptx_module *m, struct rt_error *e);
/* All of these, as they are done before a launch. */
static inline bool ptx_prepare(struct ptx_module *m, struct rt_error *e)
{
    return ptx_inline(m, e) && ptx_order(m, e) && ptx_split(m, e) && ptx_guard_eager(m, e) && ptx_mark_copies(m, e);
}
/* Does the instruction certainly write its first operand, and read nothing by it, as bar.sync %r1 would? For others
 * nothing is lost but room. */
bool ptx_overwrites(const struct ptx_insn *in);

#endif
