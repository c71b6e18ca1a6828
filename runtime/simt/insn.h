/* A decoded program: its instructions with the ops that run them, its functions and variables, and the tables that name
 * the ops. */
#ifndef SIMT_INSN_H
#define SIMT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "runtime/simt/simt.h"

struct warp;
struct insn;

/* What an op answers. */
enum event {
    EV_NEXT,     /* go on with the next instruction */
    EV_TAKE,     /* the whole split goes on at insn->target */
    EV_SCHEDULE, /* splits changed (their pc are set): choose again */
    EV_FAULT     /* worker->fault is filled */
};
typedef enum event (*op_function)(char *R, const struct insn *i, uint32_t m, struct warp *w);

/* Flag bits of an instruction. */
enum {
    F_FTZ = 1 << 0,
    F_SAT = 1 << 1,
    F_RN = 1 << 2,
    F_RZ = 1 << 3,
    F_RM = 1 << 4,
    F_RP = 1 << 5,
    F_RNI = 1 << 6,
    F_RZI = 1 << 7,
    F_RMI = 1 << 8,
    F_RPI = 1 << 9,
    F_APPROX = 1 << 10,
    F_FULLRANGE = 1 << 11, /* .full */
    F_NAN = 1 << 12,
    F_RELU = 1 << 13,
    F_XORSIGN = 1 << 14,
    F_RNA = 1 << 15,
    F_SATFINITE = 1 << 16,
    F_ROUND = F_RZ | F_RM | F_RP, /* a rounding other than to nearest */
    F_CC = 1 << 17,
    F_SPIN = 1 << 18,  /* volatile, acquire and the like: may be waiting for another thread */
    F_FRAME = 1 << 19, /* the address is relative to the frame's local memory */
    F_GENERIC = 1 << 20,
    F_STORE = 1 << 21,
    F_UNIFORM = 1 << 22, /* address or barrier is the same for all lanes */
    F_ACQUIRE = 1 << 23, /* .acquire, .acq_rel */
    F_RELEASE = 1 << 24, /* .release, .acq_rel */
    F_WIDE = 1 << 25,    /* of memory: elements are in registers of 64 bits */
    F_OOB = 1 << 26,
    F_EAGER = 1 << 27,     /* as struct ptx_insn has it */
    F_PRODUCT = 1 << 29,   /* tcgen05.mma */
    F_COMMIT = 1 << 30,    /* of what is an mbarrier: tcgen05.commit */
    F_UNALIGNED = 1 << 28, /* barrier.sync without .aligned, for threads that are apart: __barrier_sync() */
};

enum trap_kind { TRAP_MEANT, TRAP_OF_COMPILER, TRAP_NOWHERE }; /* the last: without a line of the source */

/* What an instruction does to memory. Lane l's address is that of slot a (64 bits when the space is global or generic,
 * else 32) plus imm, plus the frame's local base with F_FRAME; it moves `count` elements of `size` bytes. */
enum memory_kind { MEMORY_NONE, MEMORY_LOAD, MEMORY_STORE, MEMORY_ATOMIC, MEMORY_FENCE };

struct insn {
    op_function run;
    uint32_t d, a, b, c; /* offsets of operands in the frame */
    uint32_t guard, guard_flip;
    union {
        int64_t imm;     /* address offset */
        uint32_t target; /* branch */
    };
    uint32_t flags;
    uint32_t extra; /* index into program->extra: more operands. Of an atomic: 0 when its result is wanted, else 1, or
                       2 + n when tally n of the worker is its */
    uint32_t d2;    /* second destination: predicate of setp and shfl */
    uint8_t count;  /* vector elements */
    uint8_t size;   /* bytes of one element of a memory access */
    uint8_t type;   /* enum ptx_type */
    uint8_t mode;   /* comparison, shuffle mode, barrier kind, special register, atomic operation... */
    uint8_t memory; /* enum memory_kind */
    uint8_t space;  /* enum ptx_space of a memory access; PTX_GENERIC: the lane's address tells. Constants are global */
};

/* What an address is made of (decode_terms.c): of 32 bits, or 64 when `wide`, and as such, modulo 2^32 or 2^64. */
enum term_kind {
    TERM_CONST,     /* value */
    TERM_PARAMETER, /* at offset `value` of the buffer of arguments */
    TERM_SPECIAL,   /* special register `value`, SR_TID_X to SR_NCTAID_Z */
    TERM_ADD,       /* of terms a and b, which stand before this one */
    TERM_SUB,
    TERM_MUL,
    TERM_OR,
    TERM_AND,
    TERM_XOR,
    TERM_MIN, /* with a sign, as the next two */
    TERM_MAX,
    TERM_SHIFT,    /* a / 2^b, rounded down */
    TERM_DIVIDE,   /* a / b, rounded to 0 */
    TERM_EXTEND_S, /* of term a */
    TERM_EXTEND_U,
    TERM_NARROW,
    TERM_EITHER, /* a, or b */
    TERM_LOOP,   /* a, and any number of times b more */
    TERM_PASS,   /* a, and as often b more as program->uses[value] says */
    TERM_WAY     /* a, if a way leads from where it is made to its use: program->uses[value] */
};
struct term {
    enum term_kind kind;
    bool wide;
    int a, b;
    int64_t value;
    uint64_t facts; /* of a loop: what holds wherever more is added */
};
struct fact { /* a term is below a bound, or, if inclusive, not above it (decode_facts.c) */
    int term, bound;
    bool inclusive, without_sign; /* as numbers without a sign: below 0 it is above most */
    bool equal;                   /* it is the bound, even */
};
struct condition { /* a comparison of two terms, of 32 or 64 bits (decode_steady.c) */
    int a, b;
    bool equals, is_signed; /* is a equal to b, or below it? */
};
struct choice { /* what an instruction leaves of two terms (decode_steady.c) */
    struct condition when;
    int a, b; /* where that holds, and where not: `a` either way when there is no condition, when.a being below 0 */
};

/* The ways through an entry (decode_flow.c). Blocks are counted from the function's first. */
#define NO_BLOCK UINT32_MAX
struct flow_block {
    uint32_t first;       /* PTX instruction */
    uint32_t next, taken; /* NO_BLOCK: the way ends there, or there is none */
    int condition; /* of program->ways: taken where it holds, or, if `opposite`, where it does not; -1: not known */
    bool opposite;
};
struct counted_loop { /* one that goes on as long as a register to which it adds `step` each time differs from a bound,
                         or is on this side of it */
    uint32_t top, latch;                        /* blocks */
    int start, step, bound;                     /* terms; one below 0: not known */
    bool until_equal, up, inclusive, is_signed; /* else: as long as it is below the bound, or above it */
    bool after;                                 /* the register is compared when the step has been added */
    bool meets;    /* it stands for the difference of two such registers: start and step are differences of theirs */
    bool one_exit; /* by that comparison */
};
/* Where a register is used to which a loop adds: what it holds there. */
#define MOST_STARTS 4
struct loop_use {
    uint32_t loop;
    enum loop_place {
        LOOP_WITHIN,
        LOOP_LATE,
        LOOP_BEHIND,
        LOOP_BEFORE
    } place;                                   /* before and after the step is added, behind the loop, before it */
    uint32_t block;                            /* LOOP_BEHIND, LOOP_BEFORE: of the use, */
    uint32_t also;                             /* LOOP_BEFORE: or there; NO_BLOCK: nowhere else */
    uint32_t starts[MOST_STARTS], start_count; /* and where the register gets its start; LOOP_BEFORE: first the one
                                                  that is meant, then those behind which it is lost */
    int plain;                                 /* the TERM_LOOP that says less; -1: there is none */
};

#define GLOBAL_ORIGIN (1 << 29)
#define SHARED_ORIGIN (1 << 30)
/* Behind the block's barrier number `epoch` (from 1), loads that differ from block to block may read all of the
 * variable (decode_epochs.c). */
struct still_variable {
    uint32_t variable, epoch;
};
struct place { /* where an instruction comes from */
    int file, line, column, ptx_line;
    uint32_t index; /* of the PTX instruction in its function; several of ours may come from one */
    int origin;     /* what its address is made of: the offset of a parameter of the kernel, SHARED_ORIGIN + k for
                       program->shared[k], GLOBAL_ORIGIN + k for program->globals[k]; -1: not known */
    uint32_t term;  /* 1 + that of program->terms which is its address without the offset; 0: not known */
    uint32_t value; /* likewise, what a store stores; not of several elements */
    uint64_t facts; /* of the function that hold there, by bits */
    const char *opcode;
    bool of_groups; /* these are as struct ptx_insn has them */
    bool ahead, of_tiles, is_added, is_copied, is_room;
    uint32_t used_bytes;
    bool early;         /* a division of which it is looked at afterwards whether it is wanted */
    bool guesses;       /* a plain load of what a compare-and-swap then expects: decode_swaps.c */
    bool among_atomics; /* an atomic in shared memory, or such a load: what else touches its variable is in another
                           epoch (decode_epochs.c) */
    bool unsteady;      /* a load of shared memory that differs from block to block, though the function is steady */
    bool loose;         /* touches a variable of shared memory for which the function is not */
};

/* Quickly: it is asked of every instruction at a launch. */
static inline bool opcode_begins(const char *opcode, const char *with)
{
    return *opcode == *with && strncmp(opcode, with, strlen(with)) == 0;
}

/* Stored to shared memory when an mbarrier's phase is over, not before. */
static inline bool is_stored_async(const char *opcode)
{
    return opcode_begins(opcode, "st.async.") || opcode_begins(opcode, "red.async.");
}

/* A place for a register in a frame: a predicate, which is a bit a lane, or lanes of 4, 8 or twice 8 bytes. */
struct slot {
    uint32_t offset;
    char class; /* p, w, q, x */
};

struct function {
    char *name;
    bool is_entry;
    uint32_t start, end;  /* code range */
    uint32_t setup;       /* from here to start: what entries run once, for all lanes, when a frame is made */
    uint32_t frame_bytes; /* of registers */
    struct slot *slots;   /* of functions that are called: what lies there, but for SLOT_TRUE */
    uint32_t slot_count;
    uint32_t registers;                /* of 32 bits alive at once; 0: not known */
    uint32_t const_first, const_count; /* slots that hold immediates: program->constants[first..] */
    uint32_t term_first, term_end;     /* entries: their terms */
    uint32_t fact_first;               /* entries: their facts */
    uint32_t block_first, block_count, loop_first, loop_count; /* of those with counted loops */
    /* Entries: each thread does the same in shared memory in all blocks in which these conditions come out as they do,
     * for all threads alike (decode_steady.c). */
    bool steady, loose; /* but for some variables */
    uint64_t own;       /* variables, by bits, of which threads may store to words that they read, if nobody else reads
                           them in the same epoch */
    /* Entries: shared variables, by simt_unit_bit, of which plain accesses touch elements, some of them of a byte, or
     * of 2, and nothing else but at times updates of words (decode_units.c). */
    uint64_t byte_units, half_units;
    uint32_t condition_first, condition_count;
    uint32_t choice_first, choice_count; /* and these have the same value for all threads, in all of those blocks */
    uint32_t fixed_first, fixed_count;   /* as long as nobody stores to these in the launch */
    /* Entries: each thread touches global memory and meets others in the same way in all blocks, if these conditions
     * come out the same for all threads of the launch. */
    bool even;
    uint32_t even_first, even_count;
    uint32_t still_first, still_count;   /* of those with unsteady loads: the variables, all of which is then written */
    uint32_t local_bytes;                /* of .local variables and parameters, one thread */
    uint32_t *param_offset, *param_size; /* in local memory (functions) or the parameter buffer (entries) */
    uint32_t param_count;
    uint32_t *return_offset, *return_size, return_count;
    uint32_t shared_end;  /* entries: static shared memory ends here */
    uint32_t stack_bytes; /* entries: local memory a thread needs */
    bool calls_alloca;
    uint32_t max_threads;
    char *refused; /* an instruction in it is not known, or in what an entry calls: what to say; NULL else */
};

struct constant {
    uint32_t slot;
    uint32_t wide; /* 8-byte lanes */
    uint64_t value;
};

struct call_site {
    int function; /* -1 when indirect, -2 - n for built-in n */
    uint32_t arg_count, return_count;
    uint32_t *arg_offset, *arg_size; /* in the caller's local memory */
    uint32_t *return_offset, *return_size;
    uint32_t target; /* slot of the function's address when indirect */
};

struct branch_table {
    uint32_t *targets;
    uint32_t count;
};

struct global {
    char *name;
    uint64_t address;
    size_t bytes;
    bool borrowed; /* of another program */
    bool managed;  /* host memory, at the address that it has there */
};

struct shared_variable {
    char *name;
    int function;           /* -1: of the module */
    uint32_t offset, bytes; /* 0 bytes: dynamic shared memory */
};

struct simt_function {
    struct simt_function_info info;
    const struct simt_program *program;
    const struct function *code;
};

struct simt_program {
    uint64_t number; /* no other one's */
    struct insn *code;
    struct place *places;
    uint32_t code_count;
    struct function *functions;
    uint32_t function_count;
    struct simt_function *entries;
    uint32_t entry_count;
    struct constant *constants;
    uint32_t constant_count;
    uint32_t *extra;
    uint32_t extra_count;
    struct term *terms;
    uint32_t term_count;
    struct fact *facts;
    uint32_t fact_count;
    struct condition *conditions;
    uint32_t condition_count;
    struct choice *choices;
    uint32_t choice_count;
    struct still_variable *still;
    uint32_t still_count;
    int *fixed; /* arrays and variables, as struct place has origins */
    uint32_t fixed_count;
    struct flow_block *blocks;
    uint32_t block_count;
    struct condition *ways;
    uint32_t way_count;
    struct counted_loop *loops;
    uint32_t loop_count;
    struct loop_use *uses;
    uint32_t use_count;
    struct call_site *calls;
    uint32_t call_count;
    struct branch_table *tables;
    uint32_t table_count;
    struct shared_variable *shared;
    uint32_t shared_count;
    struct global *globals;
    uint32_t global_count;
    uint32_t cache_count;    /* range caches that a worker needs */
    uint32_t dynamic_base;   /* offset of dynamic shared memory */
    bool uses_heap;          /* calls malloc or free */
    bool asks_for_workspace; /* of a cooperative grid */
    bool uses_alloca;
    bool maps_shared;     /* addresses of other blocks' shared memory: mapa */
    struct jit_code *jit; /* code generated so far */
    char **files;
    size_t file_count;
    struct string_list {
        struct string_list *next;
        char text[];
    } * strings;
};

/* The bit of program->shared[n] in such sets, one for all without a size; -1: it has none. */
static inline int simt_unit_bit(const struct simt_program *p, int n)
{
    return !p->shared[n].bytes ? 63 : n < 63 ? n : -1;
}
/* Of the variable that is the origin of an address in an entry: the log of how many bytes it has tags for. */
static inline unsigned simt_unit_log(const struct simt_program *p, const struct function *f, int origin)
{
    int n = origin - SHARED_ORIGIN, bit = n < 0 || !(f->byte_units | f->half_units) ? -1 : simt_unit_bit(p, n);
    return bit < 0 ? 2 : f->byte_units >> bit & 1 ? 0 : f->half_units >> bit & 1 ? 1 : 2;
}

enum special {
    SR_TID_X,
    SR_TID_Y,
    SR_TID_Z,
    SR_NTID_X,
    SR_NTID_Y,
    SR_NTID_Z,
    SR_CTAID_X,
    SR_CTAID_Y,
    SR_CTAID_Z,
    SR_NCTAID_X,
    SR_NCTAID_Y,
    SR_NCTAID_Z,
    SR_LANEID,
    SR_WARPID,
    SR_NWARPID,
    SR_SMID,
    SR_NSMID,
    SR_GRIDID,
    SR_LANEMASK_EQ,
    SR_LANEMASK_LE,
    SR_LANEMASK_LT,
    SR_LANEMASK_GE,
    SR_LANEMASK_GT,
    SR_CLOCK,
    SR_CLOCK64,
    SR_GLOBALTIMER,
    SR_GLOBALTIMER_LO,
    SR_GLOBALTIMER_HI,
    SR_DYNAMIC_SMEM,
    SR_TOTAL_SMEM,
    SR_ENVREG1,
    SR_ENVREG2,
    SR_CLUSTERID_X,
    SR_CLUSTERID_Y,
    SR_CLUSTERID_Z,
    SR_NCLUSTERID_X,
    SR_NCLUSTERID_Y,
    SR_NCLUSTERID_Z,
    SR_CLUSTER_CTAID_X,
    SR_CLUSTER_CTAID_Y,
    SR_CLUSTER_CTAID_Z,
    SR_CLUSTER_NCTAID_X,
    SR_CLUSTER_NCTAID_Y,
    SR_CLUSTER_NCTAID_Z,
    SR_CLUSTER_CTARANK,
    SR_CLUSTER_NCTARANK,
    SR_ZERO,
    SR_RESERVED_MIDDLE,
    SR_RESERVED_END,
    SR_COUNT
};

/* Decodes a module, the same source as `base` is of, once more for observers: every instruction runs where it stands,
 * and the variables of the device are those of `base`, which must live on. With `slots` (an element for each function
 * of the module, NULL at first) every register has a slot of its own: slots[f][r] is that of register r of function f,
 * and behind the registers come the offsets of f's variables in local or shared memory. slots[f] is to be freed, also
 * on failure. */
struct simt_program *simt_program_again(const struct ptx_module *m, const struct simt_program *base, uint32_t **slots,
                                        struct rt_error *e);

/* One instruction as the tables of ops name it: "add.s32". */
struct op_row {
    const char *key;      /* opcode, words and types; flags are left out */
    const char *operands; /* destination first: w 4-byte lanes, q 8-byte lanes, p predicate */
    op_function run;      /* without flags, or with .rn alone */
    op_function flagged;  /* with flags; NULL when `run` does them all */
    uint32_t flags;       /* those that it knows */
};
struct op_table {
    const struct op_row *rows;
    size_t count;
};

/* Vector ops, compiled for several instruction sets; the best for rt_host_level. */
extern const struct op_table simt_ops_base, simt_ops_avx2, simt_ops_avx512;
const struct op_table *simt_vector_ops(void);
/* Ops of the lane by lane kind. */
extern const struct op_table simt_ops_integer, simt_ops_float, simt_ops_half, simt_ops_warp, simt_ops_memory,
    simt_ops_matrix, simt_ops_tcgen05, simt_ops_async, simt_ops_tensor, simt_ops_video, simt_ops_narrow,
    simt_ops_packed;
/* A conversion; NULL when it does not exist. */
op_function simt_op_convert(enum ptx_type to, enum ptx_type from, uint32_t flags);
/* All of them, with what they read and write, as in rows. */
void simt_each_convert(void (*tell)(op_function run, const char *operands));
op_function simt_op_atomic(const char *operation, enum ptx_type type, bool shared, uint8_t *mode);
bool simt_is_swap(const struct insn *i);    /* atom.cas */
bool simt_overwrites(const struct insn *i); /* atom.exch whose result nothing looks at: it reads nothing */
/* Does the slot hold a constant of the function? */
bool simt_holds_constant(const struct simt_program *p, const struct function *f, uint32_t slot, int64_t *value);
/* Does the lane's compare-and-swap find another value at p than it expects? Those of 128 bits count as if not. */
bool simt_swap_fails(const struct insn *i, char *R, unsigned lane, const void *p);
/* Of exec_atomic.c, for the vector ops: additions in global memory, any atomic in shared memory. */
enum event simt_op_atomic_shared(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_add_32(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_add_64(char *R, const struct insn *i, uint32_t m, struct warp *w);
/* exec_control.c, exec_call.c, exec_special.c. */
enum event simt_op_bra(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_brx(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_exit(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_ret(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_call(char *R, const struct insn *i, uint32_t m, struct warp *w);
/* Its mode; POPC, AND and OR have a result. */
enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_POPC, BARRIER_AND, BARRIER_OR };
enum event simt_op_barrier(char *R, const struct insn *i, uint32_t m, struct warp *w);
/* cluster.c: barrier.cluster.arrive and .wait; mapa d, a, b and getctarank d, a. size: of a. */
enum event simt_op_cluster_arrive(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_cluster_wait(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_explicit_cluster(char *R, const struct insn *i, uint32_t m, struct warp *w); /* d: a predicate */
enum event simt_op_map_shared(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_rank_of_shared(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_trap(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_nop(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_fence(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_yield(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_special(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_local_address(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_fma_bf16(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_fma_bf16x2(char *R, const struct insn *i, uint32_t m, struct warp *w);
/* alloca d, a bytes, aligned to imm; stacksave d and stackrestore a. size: of d and a. */
enum event simt_op_alloca(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_stack_save(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_stack_restore(char *R, const struct insn *i, uint32_t m, struct warp *w);

#endif
