/* What the code generator knows of a function: its instructions (jit_describe.c, of the ops in jit_table.c), what is
 * alive and of which form values are (jit_analyse.c), and, while code is written, where they are.
 *
 * What is known of a slot at a place of the code is its form: a constant, one number and a step from lane to lane, or
 * anything. Lanes 0 to 15 and 16 to 31 are its halves. Where a slot is linear, only its numbers are kept: in a general
 * register, or in lane 0 (and, for a pair, lane 16) of the slot; the slot's other lanes are stale. */
#ifndef SIMT_JIT_KNOWN_H
#define SIMT_JIT_KNOWN_H

#include "runtime/simt/decode.h"
#include "runtime/simt/jit.h"
#include "runtime/simt/jit_ops.h"
#include "runtime/x86.h"

enum { JIT_READS = 12, JIT_WRITES = 9 };
struct jit_insn {
    const struct insn *i;
    uint8_t kind, op, detail;
    bool wide;            /* the result, or what is compared, has 64 bits */
    bool is_short;        /* what is compared has 16 */
    bool leader, guarded; /* starts a block of the code; runs under a predicate */
    bool asked;           /* the observer is, by an access before it */
    uint8_t ahead;        /* not 0: a load before it has loaded this, too, to a place in warp->ahead */
    bool whole;           /* all lanes meet: one observer at most is to know */
    bool plain;           /* its op may be called for any lanes: it needs no splits, and waits for nobody */
    bool flushes;         /* denormals are zeros, in floats that it reads and writes */
    bool loose, turned;   /* loads of bytes put together (jit_words.c): not aligned; the last byte is the lowest */
    uint8_t read_count, write_count;
    uint16_t dies, dead; /* by bits: reads that are the last of a value, writes that nobody reads */
    uint16_t reads[JIT_READS], writes[JIT_WRITES];
};

enum jit_form_kind { FORM_NONE, FORM_CONST, FORM_LINEAR, FORM_PAIR, FORM_ANY };
struct jit_form {
    enum jit_form_kind kind;
    int64_t step; /* from lane to lane; the value of a constant */
    int64_t skip; /* linear: from half to half */
    int zeros;    /* linear: so many low bits of the first lane's number are 0, at least; at most MOST_ZEROS */
};
#define MOST_ZEROS 31

struct jit_slot {
    uint32_t offset;
    char class; /* w, q or p; 0 not known */
    bool fixed; /* an immediate, or the same in all blocks: its slot is never written, and all lanes are right */
    bool written, rewritten; /* by the setup; also elsewhere, or more than once */
    bool tiny_is_zero;       /* whoever reads it takes denormals for zeros */
    struct jit_form form;    /* of fixed slots */
};

struct jit_block {
    uint32_t start, end; /* instructions, counted from the function's start */
    int next[2];         /* blocks; -1 none. First where a branch leads, then the one behind */
    uint64_t *in;        /* slots alive at the start */
    struct jit_form *forms;
    bool reached;
    int label;
    int first, join; /* where lanes that part at its end run before they meet again: blocks from first on, to the one
                        where they meet; join -1: the interpreter's */
};

/* Blocks of code that some lanes of a warp run while others wait: jit_masked.c. */
struct jit_zone {
    uint32_t first, join; /* as above */
    bool spins;           /* its lanes may wait for each other */
    uint64_t *alive;      /* slots that are, at the start of any block where lanes may wait or meet */
    uint64_t *merged;     /* those of them that are written: lanes that don't run keep what they have */
    struct jit_form *forms;
    int *entries, *bodies; /* labels: by block, of who comes with others that wait there, and without; [join] */
    int *alone;            /* the same where only lane 0 runs (jit_alone.c); NULL: there is no such code */
};

#define JIT_PARTS 8 /* of a slot, at most */
/* Where a slot's value is while code is written. */
struct jit_place {
    struct jit_form form;
    int8_t scalar[2];         /* general registers by half, or of a predicate; -1 none */
    int8_t vector[JIT_PARTS]; /* vector registers by part; -1 none */
    uint8_t in_slot;          /* parts that are right in the frame, by bits */
    uint8_t at_home;          /* halves whose number is right in the frame; predicates use bit 0 */
    uint8_t flushed;          /* vectors none of whose lanes is a denormal float, by bits */
    uint8_t bits;             /* all lanes that run are below 2 to this power; 0: not known */
    bool checked;             /* addresses from it are right: */
    int64_t low, high, align;
    uint16_t base;   /* it is so many multiples of a power of 2 above this slot, which is the same in all blocks and */
    uint8_t scale;   /* lanes; 0: not known. */
    uint8_t aligned; /* of such a slot: multiples of which the code has seen it to be */
};

enum { JIT_ROWS = 16, JIT_PARAMETERS = 512, JIT_ZONES = 256, JIT_WORDS = 64 };
struct jit {
    int bits;           /* of a vector: 512 with AVX-512, 256 with AVX2 */
    uint32_t last;      /* not 0: for a last warp of so many threads, whose other lanes repeat them */
    bool once, repeats; /* it does what they must not; `last`, and watched: it claims nothing for 32 */
    bool permutes_bytes, multiplies_bytes; /* of a whole vector, and adds up: AVX-512 VBMI and VNNI */
    bool gathers_slowly;                   /* as AMD's processors do: simt_jit_load_each */
    const struct simt_program *program;
    const struct function *function;
    const uint8_t *watch; /* of the observer, as `quick`; NULL: none */
    bool (*quick)(struct warp *w, uint64_t pc, int64_t step, uint64_t first, uint64_t second, uint64_t more);
    struct simt_times times;
    struct jit_form special[SR_TID_Z + 1];
    struct x86 x;
    struct jit_insn *code; /* [count], those of setup first */
    uint32_t first, count; /* the function's code, with its setup */
    uint32_t start;        /* where the setup ends, counted from first */
    struct jit_slot *slots;
    uint32_t slot_count, slot_capacity, words; /* words of a set of slots */
    uint16_t *slot_of;                         /* by frame offset / 4; 0xffff none */
    struct jit_block *blocks;
    uint32_t block_count;
    uint64_t *sets;
    struct jit_form *forms;

    /* while code is written */
    struct jit_place *places;
    struct jit_registers {
        struct jit_place *places;
        int32_t gpr_owner[X86_GPRS], vector_owner[32];
    } kept[2];                   /* simt_jit_keep */
    uint64_t *live;              /* at the instruction at hand */
    int32_t gpr_owner[X86_GPRS]; /* slot * 2 + half; -1 none */
    int32_t vector_owner[32];    /* slot * JIT_PARTS + part */
    uint32_t gpr_stamp[X86_GPRS], vector_stamp[32], stamp;
    uint32_t gpr_pins, vector_pins;
    uint32_t pc;
    const struct jit_block *fetched[2];            /* by fetch_tile: of stores, of loads */
    const struct jit_insn *ahead_end[LOADS_AHEAD]; /* the last loads that want what waits there */
    struct jit_block *block;
    int round_label; /* where the block at hand begins its next round with values in registers; -1: it does not */
    int again_label; /* where the block at hand begins its next round, when it walks; else -1 */
    int walk_count;  /* its loads that do */
    int leave_label, all_label, exit_label, next_label, fill_label, guard_label;
    int scale;                       /* the log of what the sum at hand is to multiply the number before it by, whose
                                        register holds it as it was: jit_numbers.c's scale_of */
    const struct jit_block *carried; /* the block whose first instruction finds registers as they are; NULL: none */
    const struct jit_insn *test;     /* the comparison that the branch at the end of the block is to make; NULL: none */
    int behind_label;                /* of what simt_jit_otherwise wrote for the instruction at hand; -1: nothing */
    int row_labels[JIT_ROWS];        /* the latter + 1 */
    uint8_t outputs[JIT_PARAMETERS]; /* of watched code: 1 where a pointer is that it writes to, by parameters' offsets
                                        / 8 */
    struct insn *joined[JIT_WORDS];  /* what stands for loads of bytes */
    uint32_t joined_count;
    struct jit_zone zones[JIT_ZONES];
    uint32_t zone_count, zone_insns;
    const struct jit_zone *zone; /* that code is written for; NULL: all lanes run it */
    bool alone;                  /* it is for lane 0 alone */
    uint32_t zone_block;
    uint32_t range_count;
    bool impure, failed;
};

/* ---- jit_describe.c ---- */
bool simt_jit_describe(struct jit *j); /* fills j->code and j->slots */

/* ---- jit_analyse.c ---- */
bool simt_jit_analyse(struct jit *j); /* blocks, lives and forms */
/* The form of what an instruction writes, from those of what it reads. */
struct jit_form simt_jit_form_of(const struct jit *j, const struct jit_insn *n, const struct jit_form *f);

static inline struct jit_form form_of_read(const struct jit *j, const struct jit_insn *n, int read)
{
    return j->places[n->reads[read]].form;
}
static inline bool form_is_scalar(struct jit_form f)
{
    return f.kind == FORM_CONST || f.kind == FORM_LINEAR || f.kind == FORM_PAIR;
}
/* No step from lane to lane. */
static inline bool form_is_flat(struct jit_form f)
{
    return f.kind == FORM_CONST || ((f.kind == FORM_LINEAR || f.kind == FORM_PAIR) && !f.step);
}
static inline bool form_is_uniform(struct jit_form f)
{
    return f.kind == FORM_CONST || (f.kind == FORM_LINEAR && !f.step && !f.skip);
}
static inline int64_t form_step(struct jit_form f)
{
    return f.kind == FORM_CONST ? 0 : f.step;
}
static inline bool simt_jit_is_watched(const struct jit *j, const struct insn *i)
{
    return j->watch && j->watch[i - j->program->code];
}
static inline bool simt_jit_is_division(const struct jit_insn *n)
{
    return n->kind == JK_INTEGER && n->op >= JI_DIV_U && n->op <= JI_REM_S;
}
static inline bool in_set(const uint64_t *set, uint32_t k)
{
    return set[k >> 6] >> (k & 63) & 1;
}

#endif
