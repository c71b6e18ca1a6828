/* The decoder's own state, and what its files do for each other: decode.c makes a module's functions,
 * decode_variables.c places its variables, decode_registers.c registers, decode_operand.c turns operands into slots of
 * a frame, decode_ops.c instructions into ops, those with operands of their own kind in decode_memory.c and
 * decode_control.c. */
#ifndef SIMT_DECODE_H
#define SIMT_DECODE_H

#include "runtime/simt/exec.h"

#define SLOT_TRUE  0u /* a predicate that is true */
#define SLOT_SINK  4u /* a predicate that nobody reads */
#define MAX_ITEMS  16 /* elements of a vector operand, arguments of a call */
#define MOST_TEMPS 16 /* of a class, for one instruction of PTX */

struct decoder {
    const struct ptx_module *module;
    struct simt_program *program;
    struct rt_error *e;
    uint32_t code_capacity, constant_capacity, extra_capacity, shared_capacity;
    const struct op_table *vectors;
    const struct simt_program *base; /* whose variables the program shares; NULL: it has its own */
    bool plain;                      /* every instruction where it stands, nothing computed ahead */
    bool apart;                      /* no two registers share a slot */
    uint32_t **slots_of;             /* where to keep the slots of a function's registers, by function; or NULL */
    uint64_t *var_address;           /* of the module's variables: global address or shared offset */
    uint32_t *shared_start;          /* by function */

    /* the function at hand */
    const struct ptx_func *f;
    struct function *fn;
    const struct ptx_insn *in;
    uint32_t index; /* of f */
    uint32_t *slots;
    char *classes;        /* w, q or p by register */
    bool *wanted;         /* by register: something reads it, or may */
    uint32_t tally_count; /* additions that have a tally */
    bool *hoisted;        /* by PTX instruction: run once, when a warp's frame is made */
    uint64_t *var_offset; /* by f->vars */
    uint32_t temps[3][MOST_TEMPS], temp_count[3], temp_used[3];
    uint32_t slot_capacity; /* of fn->slots */
    bool slots_lost;        /* memory ran out for one */
    struct {
        int reg; /* -1: free */
        uint32_t slot;
    } narrowed[8]; /* 64-bit addresses whose 32-bit offset is at hand, within a stretch of code without labels */
    uint32_t narrowed_next;
    uint32_t *pc_of; /* by PTX instruction */
    int *origins;    /* by register: what it points to (decode_origin.c) */
    int *terms;      /* by register (decode_terms.c) */
    uint64_t *facts; /* by PTX instruction (decode_facts.c) */
    uint32_t *defined_by, term_capacity, term_depth, starts_depth;
    bool *unsteady; /* by PTX instruction: of a steady function, but may differ by block (decode_steady.c); or NULL */
    bool *loose;    /* likewise: touches a variable that is not touched alike in all blocks; or NULL */
    struct flow *flow; /* decode_flow.c; NULL: there are no counted loops */
    int *flow_terms;   /* by register, as terms, of what they hold in them */
    uint32_t way_capacity, loop_capacity, use_capacity;
    size_t at;        /* where the register stands whose term is asked for; NOT_THERE: anywhere */
    uint32_t scratch; /* local memory for what calls get and give in registers */
};

struct symbol {
    enum ptx_space space; /* PTX_GENERIC for a function's address */
    uint64_t value;       /* address or offset */
    bool frame;           /* relative to the frame's local memory */
    bool entry_param;
    uint64_t size;
};

/* The modifiers of an instruction, sorted: flags, types, and the words that stay in the key of the tables of ops. */
struct shape {
    uint32_t flags;
    enum ptx_type types[4];
    int type_count;
    const char *words[12];
    int word_count;
    char key[128]; /* opcode.words.types */
};

/* ---- decode.c ---- */
bool simt_out_of_memory(struct decoder *d); /* reports it; false */
/* Reports the instruction at hand. Returns false. */
bool simt_decode_fail(struct decoder *d, enum rt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool simt_decode_unsupported(struct decoder *d);
/* Makes room for one more element of an array that grows. */
bool simt_grow(struct decoder *d, void *array, uint32_t count, uint32_t *capacity, size_t size);
struct insn *simt_emit(struct decoder *d, op_function run);
bool simt_extra(struct decoder *d, const uint32_t *values, uint32_t count, uint32_t *index);

/* Has the instruction this modifier? ptx_has_mod_like takes what only begins so ("shared" for shared::cta, too). */
bool simt_has_mod(const struct ptx_insn *in, const char *mod);

/* Keeps the name of a variable in shared memory, of a function or (-1) of the module. */
bool simt_name_shared(struct decoder *d, const struct ptx_var *v, int function, uint64_t offset);
static inline uint64_t simt_align_up(uint64_t n, uint64_t align)
{
    return align > 1 ? (n + align - 1) / align * align : n;
}

/* ---- decode_variables.c: places the module's variables, and fills in addresses in what they begin with ---- */
bool simt_place_shared(struct decoder *d);
bool simt_place_globals(struct decoder *d);
bool simt_relocate(struct decoder *d); /* once everything has its place */

/* ---- decode_entry.c ---- */
bool simt_describe_entry(struct decoder *d, uint32_t index);
/* Marks the entries that cannot run. A program all of whose entries cannot is refused at once. */
bool simt_check_refusals(struct decoder *d);

/* ---- decode_operand.c ---- */
uint32_t simt_new_slot(struct decoder *d, char class);
bool simt_find_symbol(struct decoder *d, const char *name, struct symbol *out);
/* Operands as slots. `class` is w, q or p; `type` that of the instruction, for immediates. */
bool simt_source(struct decoder *d, const struct ptx_operand *o, char class, enum ptx_type type, uint32_t *slot);
bool simt_destination(struct decoder *d, const struct ptx_operand *o, char class, uint32_t *slot);
/* The same of 128 bits: the slots of the two halves, the low one first. */
bool simt_wide_source(struct decoder *d, const struct ptx_operand *o, uint32_t slots[2]);
bool simt_wide_destination(struct decoder *d, const struct ptx_operand *o, uint32_t slots[2]);
bool simt_constant(struct decoder *d, uint64_t value, char class, uint32_t *slot);
bool simt_temp(struct decoder *d, char class, uint32_t *slot);
char simt_class_of(enum ptx_type t);
bool simt_find_special(const char *name, enum special *out);
/* Emits the reading of a special register into a slot. */
struct insn *simt_emit_special(struct decoder *d, const char *name, char class, uint32_t slot);
/* The register class of an operand; 0 when it is no register. */
char simt_operand_class(const struct decoder *d, const struct ptx_operand *o);
/* The 32-bit offset of a 64-bit address register, computed once for a stretch of code. */
bool simt_narrow(struct decoder *d, int reg, uint32_t *slot);
/* Those offsets no longer hold: of one register, of all (reg < 0), of what the instruction at hand writes. */
void simt_forget_narrowed(struct decoder *d, int reg);
void simt_forget_written(struct decoder *d);

/* ---- decode_registers.c: the function at hand ---- */
bool simt_find_invariants(struct decoder *d); /* fills d->hoisted and d->wanted */
bool simt_place_registers(struct decoder *d); /* fills d->slots and d->classes */

/* ---- decode_origin.c: the function at hand ---- */
bool simt_find_origins(struct decoder *d);
/* What an address is made of, as a struct place has it; and the first one of an instruction. */
int simt_origin_of(struct decoder *d, const struct ptx_operand *o);
int simt_origin_of_first(struct decoder *d, const struct ptx_insn *in);

/* ---- decode_terms.c: the function at hand ---- */
bool simt_find_terms(struct decoder *d);
void simt_forget_terms(struct decoder *d);
/* The term of the instruction's address, as a struct place has it. */
uint32_t simt_term_of_address(struct decoder *d, const struct ptx_insn *in);
uint32_t simt_term_of_value(struct decoder *d, const struct ptx_insn *in); /* of what it stores, likewise */

/* That of an operand; below 0: not known. */
int simt_term_of(struct decoder *d, const struct ptx_operand *o, bool wide);
bool simt_defined_once(const struct decoder *d, int reg);
/* The same where an instruction of the function stands, once the loops are known (decode_flow.c). */
int simt_term_at(struct decoder *d, const struct ptx_operand *o, bool wide, size_t insn);
#define TERM_NOT_SEEN (-2)                     /* of a register, yet */
int simt_start_of(struct decoder *d, int reg); /* of what a register holds when it comes to the loop that adds to it */
/* Of what it adds to the register. */
int simt_step_at(struct decoder *d, int reg, size_t insn);
int simt_number(struct decoder *d, int64_t value, bool wide);
int simt_difference(struct decoder *d, int a, int b);
/* Makes the instruction the register, which it writes, what it was and something more? */
bool simt_adds_to(const struct decoder *d, const struct ptx_insn *in, int reg);
/* Fills in the facts of terms that are loops. */
void simt_bound_loops(struct decoder *d);

/* ---- decode_facts.c: the function at hand ---- */
bool simt_find_facts(struct decoder *d); /* behind simt_find_terms */

/* ---- decode_flow.c: the function at hand ---- */
struct flow;
#define NOT_THERE SIZE_MAX
bool simt_find_flow(struct decoder *d); /* behind simt_find_facts: fills d->flow */
void simt_forget_flow(struct decoder *d);
/* What the register holds where an instruction stands: LOOP_START, what it got before its loop; LOOP_USE, what *use
 * says. LOOP_NONE: no counted loop adds to it. */
enum loop_holds { LOOP_NONE, LOOP_START, LOOP_USE };
enum loop_holds simt_loop_use(const struct decoder *d, int reg, size_t insn, struct loop_use *use);
/* Which instructions that set it may have done so last, by bits, where one stands, or (NOT_THERE) where the loop
 * begins; use->start_count says how many there are. */
unsigned simt_loop_starts(const struct decoder *d, int reg, size_t insn, struct loop_use *use);
size_t simt_loop_start(const struct decoder *d, int reg, uint32_t number); /* the instruction */
/* Makes the two above answer for a register that no loop adds to, too. False: it may not be set where the instruction
 * stands, or is also set in ways that they don't know. */
bool simt_find_starts(const struct decoder *d, int reg, size_t insn);
/* Fills in how one of them comes there, or to the loop, if `or_loop`. */
void simt_loop_way(const struct decoder *d, int reg, uint32_t number, size_t insn, bool or_loop, struct loop_use *use);
/* What made the register last before an instruction, as long as one way alone leads there; NULL: nothing on it. */
const struct ptx_insn *simt_flow_maker(const struct decoder *d, int reg, size_t insn);
bool simt_writes(const struct ptx_insn *in, int reg);

/* ---- decode_epochs.c: the function at hand, which touches shared memory by plain loads and stores alone ---- */
/* Marks, by PTX instruction, loads of shared memory that can't race, and fills in d->fn->still_first. False: no memory.
 */
bool simt_find_still(struct decoder *d, bool *marks, bool *any);
/* Of any function whose code is there: marks the places that are among atomics. False: no memory, which is told. */
bool simt_find_among_atomics(struct decoder *d);

/* ---- decode_covered.c: likewise ---- */
/* Marks, by PTX instruction, accesses to shared memory whose thread touched the same since the last barrier; *stored:
 * the variables, by bits, that some of them store to. False: no memory. */
bool simt_find_covered(struct decoder *d, bool *marks, uint64_t *stored);

/* ---- decode_choices.c: the function at hand ---- */
/* Reads an instruction's comparison, or the opposite, of operands *a and *b. False: it is another one. */
bool simt_read_comparison(const struct ptx_insn *in, struct condition *c, const struct ptx_operand **a,
                          const struct ptx_operand **b, bool *wide, bool *opposite);
/* What the instruction leaves of terms without an index of threads. False: it is none such. */
bool simt_read_choice(struct decoder *d, const struct ptx_insn *in, struct choice *c);
bool simt_is_early(const struct ptx_func *f, const struct ptx_insn *in); /* decode_early.c */

/* ---- decode_fixed.c: the function at hand ---- */
/* Marks, by PTX instruction, plain loads from arrays and variables that the function does not store to by name. False:
 * there are none. */
bool simt_find_fixed(struct decoder *d, bool *marks);
/* Of those that are marked and matter: a launch is to see whether it does store there. False: no memory. */
bool simt_keep_fixed(struct decoder *d, const bool *marks, const bool *matters);

/* ---- decode_steady.c: likewise ---- */
bool simt_is_harmless_call(const struct ptx_insn *in); /* of the built-in functions: of printf */
bool simt_find_steady(struct decoder *d);              /* fills d->fn->steady */

/* ---- decode_swaps.c ---- */
/* Marks the places of plain loads of what a compare-and-swap then expects, in a function whose code is there. */
void simt_find_guesses(struct simt_program *p, const struct function *f);

/* ---- decode_units.c: when all functions are there ---- */
void simt_find_units(struct simt_program *p); /* fills byte_units and half_units */

/* ---- decode_check.c ---- */
bool simt_is_instruction(const char *opcode); /* of PTX, whether there is a meaning for it here or not */
bool simt_check_types(struct decoder *d, const struct shape *s); /* of the registers of the instruction at hand */

/* ---- decode_ops.c ---- */
/* The instruction at hand, whatever it is. */
bool simt_decode_insn(struct decoder *d);
/* One that is looked up in the tables of ops by its key. */
bool simt_decode_plain(struct decoder *d, const struct shape *s);
bool simt_has_word(const struct shape *s, const char *word);
bool simt_is_vector(const struct ptx_operand *o);
/* Every instruction's guard goes onto its last op; those before it write temporaries only. False when i is NULL. */
bool simt_guard(struct decoder *d, struct insn *i);
bool simt_want_operands(struct decoder *d, size_t low, size_t high);
const struct op_row *simt_find_row(struct decoder *d, const char *key, uint32_t flags, op_function *run);
/* Emits a row's op over the instruction's operands, under its guard. */
bool simt_emit_row(struct decoder *d, const struct op_row *row, op_function run, uint32_t flags, enum ptx_type type);
/* Emits the row of that key, which must exist. */
struct insn *simt_emit_key(struct decoder *d, const char *key);

/* ---- decode_move.c, decode_memory.c, decode_matrix.c, decode_control.c: the instruction at hand, of one kind ---- */
bool simt_decode_mov(struct decoder *d, const struct shape *s);
bool simt_decode_cvt(struct decoder *d, const struct shape *s);
bool simt_decode_memory(struct decoder *d, const struct shape *s);
/* An address operand of that space: its base is a slot of class w in shared memory, else q. */
struct simt_address {
    uint32_t base, flags; /* flags: F_GENERIC, F_FRAME */
    int64_t imm;
};
bool simt_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, struct simt_address *out);
bool simt_decode_atomic(struct decoder *d, const struct shape *s);
bool simt_decode_texture(struct decoder *d, const struct shape *s); /* decode_texture.c, as the next two */
bool simt_decode_texture_query(struct decoder *d, const struct shape *s);
bool simt_decode_surface(struct decoder *d, const struct shape *s);
bool simt_decode_cvta(struct decoder *d, const struct shape *s);
bool simt_decode_isspacep(struct decoder *d, const struct shape *s);
bool simt_decode_mapa(struct decoder *d, const struct shape *s); /* getctarank */
bool simt_decode_wmma(struct decoder *d, const struct shape *s);
bool simt_decode_mma(struct decoder *d, const struct shape *s);
bool simt_decode_tensormap(struct decoder *d, const struct shape *s);
bool simt_decode_wgmma(struct decoder *d, const struct shape *s);
bool simt_decode_tcgen05(struct decoder *d, const struct shape *s);
bool simt_decode_matrix_rows(struct decoder *d, const struct shape *s); /* ldmatrix, stmatrix */
bool simt_decode_movmatrix(struct decoder *d, const struct shape *s);
bool simt_decode_video(struct decoder *d, const struct shape *s);
bool simt_decode_cp(struct decoder *d, const struct shape *s);
bool simt_decode_mbarrier(struct decoder *d, const struct shape *s);
bool simt_decode_tensor(struct decoder *d, const struct shape *s); /* of these, cp.async.bulk.tensor */
/* An address as one slot. */
bool simt_whole_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, uint32_t *slot);
/* Emits the load or store of 4 bytes in each of the slots. */
bool simt_emit_move(struct decoder *d, const char *key, const struct simt_address *at, uint32_t flags,
                    const uint32_t *slots, uint32_t count, enum ptx_space space);
bool simt_is_shared_word(const char *w); /* shared, shared::cta or shared::cluster */
bool simt_decode_store_bulk(struct decoder *d, const struct shape *s);
/* One arrival at the mbarrier there, by an address in shared memory or a generic one; later: hardware goes on
 * meanwhile. */
bool simt_emit_arrival(struct decoder *d, const struct ptx_operand *barrier, bool shared, bool commit);
/* What st.async and red.async do behind their access: bytes are counted off at the mbarrier. */
bool simt_emit_complete(struct decoder *d, const struct ptx_operand *barrier, uint32_t bytes);
bool simt_decode_bra(struct decoder *d, const struct shape *s);
bool simt_decode_brx(struct decoder *d, const struct shape *s);
/* Parameters and results that are registers, at the start of a function and before it returns. */
bool simt_take_parameters(struct decoder *d);
bool simt_give_results(struct decoder *d);
bool simt_decode_call(struct decoder *d, const struct shape *s);
bool simt_decode_barrier(struct decoder *d, const struct shape *s);
bool simt_decode_shfl(struct decoder *d, const struct shape *s);
bool simt_decode_vote(struct decoder *d, const struct shape *s);
bool simt_decode_match(struct decoder *d, const struct shape *s);
bool simt_decode_redux(struct decoder *d, const struct shape *s);
bool simt_decode_activemask(struct decoder *d, const struct shape *s);
bool simt_decode_elect(struct decoder *d, const struct shape *s);
bool simt_decode_stack(struct decoder *d, const struct shape *s);

#endif
