/* Inside the PTX parser: memory, words and the state that its files share.
 *
 * ptx_lex.c: arena, interned names, tokens. ptx_parse.c: module level and declarations. ptx_body.c: what stands between
 * the braces of a function. ptx_operand.c: operands of its instructions. ptx_lines.c: their lines. ptx_inline.c,
 * ptx_order.c, ptx_split.c and ptx_eager.c: what becomes of its calls, blocks, counters and early loads for a launch. A
 * parse function returns false when it failed; the error is then in p->error already, and everything above just returns
 * false as well. The whole tree lives in one arena and goes with it. */
#ifndef SIMT_PTX_READ_H
#define SIMT_PTX_READ_H

#include "runtime/simt/ptx.h"

#define PTX_MAX_TEXT      ((size_t)1 << 28)   /* bytes of PTX */
#define PTX_MAX_SCOPES    64                  /* nested braces in a function */
#define PTX_MAX_REGISTERS ((size_t)1 << 20)   /* in a module */
#define PTX_MAX_BYTES     ((uint64_t)1 << 40) /* of a variable */
#define PTX_MAX_INIT      ((uint64_t)1 << 28) /* bytes of all initialisers in a module */

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,   /* add, %r1, $L__BB0_1, p */
    TOKEN_DOT,    /* .reg, .f32, .shared::cta: text without the dot */
    TOKEN_INT,    /* bits, with is_unsigned for a U suffix */
    TOKEN_F32,    /* 0f3F800000: bits */
    TOKEN_F64,    /* 0d... and decimal fractions: bits */
    TOKEN_STRING, /* text without the quotes */
    TOKEN_CHAR    /* one character of punctuation: ch */
};
struct token {
    enum token_kind kind;
    char ch;
    bool is_unsigned;
    bool space;  /* white space stands before it */
    bool in_asm; /* as struct ptx_insn has it */
    int line;
    const char *start; /* in the text, `length` bytes */
    size_t length;
    uint64_t bits;
};

struct ptx_name { /* an interned word; equal words are one struct */
    struct ptx_name *next;
    uint64_t hash;
    size_t length;
    long func, var; /* index in the module's funcs and vars, -1 when there is none */
    char text[];
};

struct ptx_chunk {
    struct ptx_chunk *next;
    size_t used, size;
    char data[];
};

struct ptx_tree { /* what ptx_free finds behind a module */
    struct ptx_module module;
    struct ptx_chunk *chunks;
};

/* What a name means in one scope of the function being read. */
/* SYMBOL_STATIC is a variable of the module that only this scope of a function knows. */
enum symbol_kind { SYMBOL_REG, SYMBOL_RANGE, SYMBOL_VECTOR, SYMBOL_VAR, SYMBOL_STATIC, SYMBOL_LABEL, SYMBOL_TABLE };
struct symbol {
    const struct ptx_name *name; /* NULL: an empty slot */
    int scope;
    enum symbol_kind kind;
    size_t index, count; /* into regs, vars, labels or branch_tables; count of a RANGE, lanes of a VECTOR */
};
struct fixup { /* a label named before it may have been seen */
    const struct ptx_name *name;
    int scope, line;
    struct ptx_operand *operand; /* a LABEL, or a brx list SYMBOL; else `target` */
    size_t *target;
};
struct location { /* a .loc line */
    int file, line, column;
    int parent;                      /* index of the location that it was inlined at; 0 when not inlined */
    bool of_groups, ahead, of_tiles; /* as struct ptx_insn has them */
};

#define RECENT_LOCATIONS 1024

struct alias { /* names[0] stands for names[1] */
    struct ptx_name *names[2];
    int line;
};

struct ptx_parser {
    const char *at, *end;
    int line;
    uint32_t used_bytes;               /* of the load that comes next */
    uint32_t recent[RECENT_LOCATIONS]; /* by their place: the last location there; 0: none */
    bool in_asm;                       /* between the comments that the compiler puts around inline PTX */
    struct token token;                /* the one not yet taken */
    struct rt_error *error;
    bool failed;

    struct ptx_chunk *chunks;
    struct ptx_name **names; /* hash table */
    size_t name_count, name_slots;

    struct ptx_module *module;
    size_t var_room, func_room, register_total;
    uint64_t init_total;

    /* the function being read */
    struct ptx_func *func;
    size_t reg_room, fvar_room, insn_room, label_room, table_room;
    struct symbol *symbols; /* hash table by name and scope */
    size_t symbol_count, symbol_slots;
    int *scope_parent; /* scope 0 is the function's own, its parent -1 */
    size_t scope_count, scope_room;
    int scope, depth;
    struct fixup *fixups;
    size_t fixup_count, fixup_room;

    struct location *locations; /* [0] is "nowhere" */
    size_t location_count, location_room;
    int location;

    struct alias *aliases;
    size_t alias_count, alias_room;
};

/* ---- ptx_lex.c ---- */
bool ptx_fail(struct ptx_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool ptx_fail_memory(struct ptx_parser *p);
bool ptx_expected(struct ptx_parser *p, const char *what);      /* "expected WHAT, got `token'" */
void *ptx_new(struct ptx_parser *p, size_t count, size_t size); /* zeroed arena memory; NULL has failed */
/* Room for one more at the end of an arena array; the new array, or NULL. */
void *ptx_grow(struct ptx_parser *p, void *array, size_t count, size_t *room, size_t size);
/* The same for tables that live only while parsing, in malloc memory. */
bool ptx_grow_table(struct ptx_parser *p, void **array, size_t count, size_t *room, size_t size);
struct ptx_name *ptx_intern(struct ptx_parser *p, const char *text, size_t length);
/* The name if it was interned before, else NULL. */
const struct ptx_name *ptx_known(const struct ptx_parser *p, const char *text, size_t length);
bool ptx_next(struct ptx_parser *p); /* takes p->token and reads the one after it */
bool ptx_is_char(const struct ptx_parser *p, char c);
bool ptx_is_dot(const struct ptx_parser *p, const char *word);
bool ptx_is_name(const struct ptx_parser *p, const char *word);
bool ptx_accept(struct ptx_parser *p, char c); /* takes the character when it is next */
bool ptx_expect(struct ptx_parser *p, char c);
bool ptx_take_int(struct ptx_parser *p, uint64_t max, uint64_t *out); /* a number without a sign */

/* ---- ptx_lines.c ---- */
/* Instructions hold the index of their location until all .file lines are known; then a file, line and column. */
void ptx_settle_locations(struct ptx_parser *p);

/* ---- ptx_constant.c ---- */
struct ptx_value {
    enum ptx_type type; /* S64, U64, F32 (a single literal) or F64 */
    uint64_t bits;
};
bool ptx_starts_constant(const struct ptx_parser *p); /* a number, '(' or '~'; signs may also be a register's */
/* A constant expression; sign: '-' or '!' that was taken already, else 0. */
bool ptx_constant(struct ptx_parser *p, char sign, struct ptx_value *out);
bool ptx_take_term(struct ptx_parser *p, uint64_t max, int64_t *out); /* +4, -4, +-4, of a magnitude up to max; wraps */
bool ptx_take_size(struct ptx_parser *p, uint64_t max, uint64_t *out); /* not negative */

/* ---- ptx_variable.c ---- */
/* What variables of one declaration share, from its space directive on (already taken). */
bool ptx_variable_type(struct ptx_parser *p, enum ptx_space space, struct ptx_var *out);
/* One variable, of which *v says the type, up to the ',' or ';' behind it. list: inside parentheses, no initialiser. */
bool ptx_variable(struct ptx_parser *p, bool in_list, struct ptx_var *v);
bool ptx_add_variable(struct ptx_parser *p, const struct ptx_var *v, size_t *index); /* to the module */

/* ---- ptx_parse.c ---- */
enum ptx_type ptx_type_token(const struct ptx_parser *p); /* of a TOKEN_DOT, else PTX_NONE */
bool ptx_location(struct ptx_parser *p);                  /* .loc, already taken */
bool ptx_pragma(struct ptx_parser *p);                    /* .pragma in a function, already taken */
bool ptx_skip_statement(struct ptx_parser *p);            /* up to and with the ';' */

/* ---- ptx_body.c ---- */
bool ptx_body(struct ptx_parser *p); /* p->func, from after its '{' to its '}' */
/* Declares .reg variables, from after the .reg directive. */
bool ptx_registers(struct ptx_parser *p, bool in_list, struct ptx_var *out);
/* What a name means here: fills *out, or returns false when nothing in the function is called so. */
bool ptx_lookup(const struct ptx_parser *p, const struct ptx_name *name, struct symbol *out);
/* One more at the end of p->func's. A register made so can be named by no text. */
bool ptx_add_register(struct ptx_parser *p, char *name, enum ptx_type type);
bool ptx_add_instruction(struct ptx_parser *p, const struct ptx_insn *insn);

/* ---- ptx_operand.c ---- */
struct ptx_name *ptx_take_name(struct ptx_parser *p, const char *what); /* NULL: the next token is no name, told so */
bool ptx_operand(struct ptx_parser *p, struct ptx_operand *o, int depth);
/* Those up to the closing character, as items; the opening one is taken. */
bool ptx_operands(struct ptx_parser *p, char close, struct ptx_operand *o, int depth);

#endif
