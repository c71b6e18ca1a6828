/* What the parts of the code generator that write code are to each other: jit_state.c keeps values in registers,
 * jit_numbers.c, jit_integer.c, jit_bits.c, jit_float.c, jit_vector.c and jit_memory.c write the instructions,
 * jit_emit.c a whole function, jit.c puts it all together. What is known before is in jit_known.h. */
#ifndef SIMT_JIT_BUILD_H
#define SIMT_JIT_BUILD_H

#include "runtime/simt/jit_known.h"

/* ---- jit_lanes.c: instructions on full vectors, in either instruction set ---- */
static inline bool simt_jit_is_avx2(const struct jit *j)
{
    return j->bits == 256;
}
/* The vector register for moments; those below it hold values, but for one with AVX2 where lanes have parted. */
static inline int simt_jit_scratch(const struct jit *j)
{
    return simt_jit_is_avx2(j) ? 15 : 31;
}
static inline int simt_jit_vectors(const struct jit *j)
{
    return simt_jit_scratch(j) - (j->zone && simt_jit_is_avx2(j));
}
static inline int simt_jit_lanes(const struct jit *j, bool wide)
{
    return j->bits / (wide ? 64 : 32);
}
static inline int simt_jit_part_count(const struct jit *j, bool wide)
{
    return j->alone ? 1 : SIMT_WARP / simt_jit_lanes(j, wide);
}
/* Where a part lies: its half, and its first lane there. */
static inline int simt_jit_half(const struct jit *j, bool wide, int part)
{
    return j->alone ? 0 : part / (simt_jit_part_count(j, wide) / 2);
}
static inline int simt_jit_first(const struct jit *j, bool wide, int part)
{
    return j->alone ? 0 : part % (simt_jit_part_count(j, wide) / 2) * simt_jit_lanes(j, wide);
}
/* Lanes of a mask register, and the number that the instruction has; -1: none. */
static inline struct x86_evex simt_jit_masked(int mask, int imm)
{
    return (struct x86_evex){.bits = 512, .mask = mask, .imm = imm};
}
void simt_jit_put(struct jit *j, struct x86_vop op, int d, int a, int b);
void simt_jit_put_imm(struct jit *j, struct x86_vop op, int d, int a, int b, int imm);
void simt_jit_put_mem(struct jit *j, struct x86_vop op, int d, int a, struct x86_mem m);
void simt_jit_move(struct jit *j, int d, int from);
/* To zeros: before a gather, which waits for what the register held otherwise, and leaves it in the lanes that don't
 * run. Integers there are denormals to an addition or multiplication that follows, and would take it a hundred times as
 * long. */
void simt_jit_clear(struct jit *j, int d);
void simt_jit_load(struct jit *j, int d, struct x86_mem m);
void simt_jit_store(struct jit *j, struct x86_mem m, int from);
/* All lanes from a general register, from memory, or a constant. */
void simt_jit_spread(struct jit *j, bool wide, int d, int gpr);
void simt_jit_spread_from(struct jit *j, bool wide, int d, struct x86_mem m);
void simt_jit_set(struct jit *j, bool wide, int d, int64_t value);
/* d's low half is the high one of `from`; d's halves are the low ones of two vectors. */
void simt_jit_high_half(struct jit *j, int d, int from);
void simt_jit_join(struct jit *j, int d, int low, int high);
/* 16 lanes of 4 bytes, from base and index vector, one after the other: for AVX-512 where that is faster than a gather
 * (Zen 5: 12 cycles instead of 19). All lanes' addresses must be right; those that don't run, the first of these being
 * `lane`, become 0. Neither `reg` nor `moment`, another vector register, is the index; rcx and rdx change. */
void simt_jit_load_each(struct jit *j, int reg, struct x86_mem m, int lane, int moment);
/* A constant of equal numbers in memory. */
struct x86_mem simt_jit_equal_at(struct jit *j, int64_t value, bool wide);

/* ---- jit_state.c: registers. The machine's: rbx the frame, r12 the warp, r13 the worker, r14 the bias from device to
 * host addresses, r15 shared memory; rax, rcx, rdx and the last vector register are for moments. ---- */
#define REG_FRAME         RBX
#define REG_WARP          R12
#define REG_WORKER        R13
#define REG_BIAS          R14
#define REG_SHARED        R15
#define REG_MASK          RBP /* where lanes have parted: those that run */
#define OF_WARP(member)   x86_at(REG_WARP, (int32_t)offsetof(struct warp, member))
#define OF_WORKER(member) x86_at(REG_WORKER, (int32_t)offsetof(struct worker, member))
/* A range of the worker's, by its number. */
static inline struct x86_mem simt_jit_range_at(uint32_t range, size_t member)
{
    return x86_at(REG_WORKER, (int32_t)(RANGES_AT + range * sizeof(struct jit_range) + member));
}
void simt_jit_begin_block(struct jit *j, struct jit_block *b);
int simt_jit_parts(const struct jit *j, uint16_t slot);
/* Which power of 2 the constant is; -1: none that is positive, or no constant. */
int simt_jit_power(struct jit_form f);
/* Are the numbers of all lanes that run, without sign, of so few bits? */
bool simt_jit_fits(const struct jit *j, uint16_t slot, int bits);
/* The number of a half in a register: the slot's own, or `scratch`. Not for slots of any form. */
int simt_jit_scalar(struct jit *j, uint16_t slot, int half, int scratch);
/* Where it lies in the frame, if it is in no register and had better be an operand there: nobody wants it soon. */
bool simt_jit_in_frame(const struct jit *j, uint16_t slot, int half, struct x86_mem *at);
/* The register of a number that nobody needs any more, to be overwritten; -1 when it must be kept, or is in none. */
int simt_jit_take_scalar(struct jit *j, const struct jit_insn *n, int read, int half);
int simt_jit_predicate(struct jit *j, uint16_t slot);
/* A register for a number that the instruction at hand computes; it is the slot's once simt_jit_define_scalar says so.
 */
int simt_jit_new_gpr(struct jit *j);
void simt_jit_define_scalar(struct jit *j, uint16_t slot, struct jit_form f, const int regs[2]);
/* As many lanes as a vector has. */
int simt_jit_part(struct jit *j, uint16_t slot, int part);
int simt_jit_new_vector(struct jit *j);
/* The same without a change of what registers hold: it may be in `moment`. */
int simt_jit_peek(struct jit *j, uint16_t slot, int part, int moment);
static inline int simt_jit_operand(struct jit *j, uint16_t slot, int part, const int *moment)
{
    return moment ? simt_jit_peek(j, slot, part, *moment) : simt_jit_part(j, slot, part);
}
void simt_jit_define_vector(struct jit *j, uint16_t slot, const int *regs); /* all parts */
void simt_jit_define_in_frame(struct jit *j, uint16_t slot);                /* a call wrote it */
/* A vector of equal numbers, or of 8-byte lanes made of a part's 4-byte ones, in a register of its own. */
int simt_jit_equal(struct jit *j, int64_t value, bool wide);
int simt_jit_widened(struct jit *j, uint16_t slot, int part, bool is_signed);
/* The register of a part that nobody needs any more, to be overwritten; -1 when it must be kept. */
int simt_jit_take_part(struct jit *j, const struct jit_insn *n, int read, int part);
void simt_jit_drop(struct jit *j, uint16_t slot);      /* forgets what registers hold of it */
void simt_jit_store_all(struct jit *j, uint16_t slot); /* all lanes are right in the frame */
void simt_jit_write_all(struct jit *j, uint16_t slot); /* the same without a change of what is known of it */
void simt_jit_flush(struct jit *j, const struct jit_block *a, const struct jit_block *b);
/* The same where lanes have parted: what b writes. */
void simt_jit_flush_merged(struct jit *j, const struct jit_block *b);
void simt_jit_spill_live(struct jit *j, const struct jit_insn *n); /* before a call: registers hold nothing */
/* All that is alive to the frame, all lanes of it, without a change of what is known of it; registers that hold values,
 * from there. */
void simt_jit_write_live(struct jit *j);
void simt_jit_reload(struct jit *j);
/* Where all is in the frame as blocks begin: registers that are to hold values, from there. */
void simt_jit_load_registers(struct jit *j);
void simt_jit_load_gpr(struct jit *j, int r); /* one of them */
void simt_jit_load_vector(struct jit *j, int r);
/* A slot's value to the frame, as code that expects the form finds it; and the state of a slot that lies there so. */
void simt_jit_write_as(struct jit *j, uint16_t slot, struct jit_form want);
void simt_jit_at_home(struct jit *j, uint16_t slot, struct jit_form f);
void simt_jit_wide_constant(struct jit *j, int reg, uint64_t value, bool wide);

/* ---- jit_vector.c, jit_warp.c, jit_numbers.c, jit_integer.c, jit_memory.c, jit_watch.c, jit_tags.c, jit_lines.c,
 * jit_gather.c: one instruction ---- */
struct x86_evex simt_jit_full(void); /* 512 bits, no mask */
void simt_jit_vector(struct jit *j, const struct jit_insn *n);
int simt_jit_float(struct jit *j, const struct jit_insn *n, int read, int part); /* an operand, as n wants it */
void simt_jit_compare(struct jit *j, const struct jit_insn *n);
/* Do the first lane and the last tell how all of them compare? f: of both operands. */
bool simt_jit_is_bounded(const struct jit_insn *n, const struct jit_form *f);
enum x86_condition simt_jit_condition(const struct jit_insn *n);
/* Is it of two numbers, and all that wants to know is the branch behind it, which ends the block? Then the branch
 * compares them itself: by simt_jit_test, which sets the processor's flags. */
bool simt_jit_is_test(const struct jit *j, const struct jit_insn *n);
void simt_jit_test(struct jit *j, const struct jit_insn *n);
void simt_jit_select(struct jit *j, const struct jit_insn *n);
void simt_jit_predicates(struct jit *j, const struct jit_insn *n);
void simt_jit_repeat_loaded(struct jit *j, const struct jit_insn *n); /* other lanes get what those with threads did */
void simt_jit_shuffle(struct jit *j, const struct jit_insn *n);
void simt_jit_vote(struct jit *j, const struct jit_insn *n);
void simt_jit_integer(struct jit *j, const struct jit_insn *n, struct jit_form f);
void simt_jit_numbers(struct jit *j, const struct jit_insn *n, struct jit_form f); /* the same where f is of numbers */
/* False when the op is to be called instead. */
bool simt_jit_memory(struct jit *j, const struct jit_insn *n);
/* What moves a vector of lanes that lie side by side. */
struct x86_vop simt_jit_row_op(const struct jit_insn *n);
static inline bool simt_jit_is_near(int64_t distance)
{
    return distance > -(1 << 20) && distance < 1 << 20;
}
/* jit_partial.c: lanes side by side of which some run, where they have parted. False: they are none. */
bool simt_jit_partial(struct jit *j, const struct jit_insn *n, struct jit_form f);
/* Asks the observer about an access from a linear address, whose halves begin in these registers. */
void simt_jit_ask(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f);
/* Words of shared memory that a warp's access touches, `bytes` of them from each half's address on. */
struct jit_words {
    const int *bases;
    int32_t offsets[2];
    int halves;   /* 1: both are the same */
    unsigned log; /* of how many bytes the variable has tags for; all that follows is said of words */
    int64_t bytes;
    bool pair;   /* where the halves lie is not known to the code */
    bool own;    /* each lane touches others, 1 << shift; else several lanes touch each word */
    bool claims; /* simt_jit_claim_tags does them */
    int shift;
    int64_t step, stride;
    int count;
};
/* Jumps unless two vectors of words are the same; `a` is lost. */
void simt_jit_jump_unless_equal(struct jit *j, int a, int b, int label);
/* Jumps unless all may read the words. */
void simt_jit_compare_tags(struct jit *j, const struct jit_words *w, int moment, int label);
/* Words that no other thread touched in this epoch, or of a read those that others have only read, become the access's;
 * else jumps. Keeps all registers but rax, rcx and rdx. */
void simt_jit_claim_tags(struct jit *j, const struct jit_insn *n, const struct jit_words *w, int label);
/* May the block of code run again before the warp is done? */
bool simt_jit_repeats(const struct jit *j);
/* A loop that strides over memory by more than a page, as one over a grid does, outruns the processor's own guesses:
 * fetches what the halves will want later, with the records of its lines if wanted. The range keeps where the first
 * half was last. */
void simt_jit_look_ahead(struct jit *j, const int *bases, const int64_t *low, int halves, int64_t bytes, uint32_t range,
                         bool lines);
/* Tells the observer that all lanes meet. */
void simt_jit_meet(struct jit *j);
/* Asks about an access by a call; `more` as struct simt_observer has it. */
void simt_jit_call_quick(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint64_t more,
                         int leave);
/* The same of lanes that run, where they have parted. */
void simt_jit_call_some(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, uint64_t more,
                        int leave);
/* The same of lanes whose addresses follow no rule: they are in the frame. If they are of words of shared memory, code
 * looks for itself whether they turn out to be a row, in registers that are to be taken before `leave` is written,
 * which must find values where they are; -1: there are none. */
struct jit_row {
    int base, first;
};
struct jit_row simt_jit_take_row(struct jit *j, const struct jit_insn *n);
void simt_jit_call_scattered(struct jit *j, const struct jit_insn *n, struct jit_row row, uint64_t more, int leave);
/* The variable that a load is to be checked to stay within, which is all that is to be seen of it in steady blocks;
 * NULL: the observer is asked there, too, or nobody is. */
const struct shared_variable *simt_jit_still_variable(const struct jit *j, const struct jit_insn *n);
/* The same of global memory, behind code that jumps to `miss` unless all lanes load from the range. */
void simt_jit_ask_scattered(struct jit *j, const struct jit_insn *n, uint32_t range, int miss, int leave);
/* May the observer be asked about the access in one of these ways? */
bool simt_jit_may_ask(const struct jit *j, const struct jit_insn *n);
/* The same of loads from global memory, by the records of its lines where that will do. */
void simt_jit_lines(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f);
/* Of others: jumps to `other` unless they touch memory where nobody can race. The number of the range that says so,
 * from 1; 0: nothing was written, it is not to be expected. */
uint32_t simt_jit_quiet(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, int other);
/* Of stores to global memory: in how many rows, 1 or 2, the records of its lines are claimed and released, around what
 * stores the lanes of a row; 0: none. */
int simt_jit_rows(const struct jit *j, const struct jit_insn *n, struct jit_form f);
void simt_jit_claim(struct jit *j, const struct jit_insn *n, const int bases[2], struct jit_form f, int half);
void simt_jit_release(struct jit *j, const struct jit_insn *n, struct jit_form f);
void simt_jit_write_rows(struct jit *j); /* the routines for that */
void simt_jit_find_outputs(struct jit *j);
/* From addresses of any form. False when the op is to be called instead. */
bool simt_jit_gather(struct jit *j, const struct jit_insn *n);
/* Accesses to local memory: can code do them? */
bool simt_jit_is_local(const struct jit *j, const struct jit_insn *n);
/* Where the local memory of the lanes from one on begins in that of their warp. */
static inline struct x86_mem simt_jit_local_of(int lane)
{
    return OF_WORKER(lane_local[lane]);
}
bool simt_jit_is_native_access(const struct jit *j, const struct jit_insn *n, struct jit_form address);

/* ---- jit_bits.c, jit_float.c: those of vectors that take several steps ---- */
/* Can code be written for the instruction's constants, and with these vectors? */
bool simt_jit_can_compute(const struct jit *j, const struct jit_insn *n);
/* The register of a result. */
int simt_jit_bits(struct jit *j, const struct jit_insn *n, int part);
int simt_jit_divide(struct jit *j, const struct jit_insn *n, int part);
/* Where an observer watches: the interpreter does the division when a lane's divisor is 0. */
void simt_jit_watch_division(struct jit *j, const struct jit_insn *n);
int simt_jit_odd_float(struct jit *j, const struct jit_insn *n, int part);
int simt_jit_shifted(struct jit *j, int reg); /* 16-bit numbers to where they compare as 32-bit ones do */
/* Shifts of all lanes by one count; kind: as x86_shift_imm has it. */
void simt_jit_shift_by(struct jit *j, bool wide, int kind, int d, int a, int count);
void simt_jit_find_flushed(struct jit *j); /* slots of tiny_is_zero */
/* Does nobody but such readers see the value that n reads? */
bool simt_jit_may_flush(const struct jit *j, const struct jit_insn *n, uint16_t slot);
/* Denormals become zeros of their sign. */
void simt_jit_zero_denormals(struct jit *j, int d, int a);
/* Lanes of a rounded to whole numbers. */
void simt_jit_round(struct jit *j, bool wide, enum jit_rounding how, int d, int a);

/* ---- jit_masked.c ---- */
void simt_jit_find_joins(struct jit *j);
/* Where lanes part at a branch: all that is written before they meet again has any form then. */
void simt_jit_part_forms(const struct jit *j, const struct jit_block *b, struct jit_form *forms);
/* The way, out of the way, into the code for lanes that part at the branch at hand, whose predicate is in the register;
 * -1: there is none. */
int simt_jit_enter_zone(struct jit *j, const struct jit_insn *n, int predicate);
void simt_jit_write_zones(struct jit *j);
void simt_jit_free_zones(struct jit *j);
/* Does an instruction write what lanes that don't run must keep? */
bool simt_jit_merges(const struct jit *j, const struct jit_insn *n);
/* The mask registers from REG_MASK, behind what may have changed them. */
void simt_jit_load_masks(struct jit *j);
/* A mask register of the running lanes, or of the others, from a lane on; it is good until the next is asked for. */
int simt_jit_mask_from(struct jit *j, int lane, bool others);
/* A register for moments with a part as it is to be stored: lanes that don't run as they are in memory. */
int simt_jit_merged(struct jit *j, bool wide, int part, int reg, struct x86_mem home);
/* With AVX2: signs of lanes that run, or of the others, from a lane on. */
void simt_jit_lane_signs(struct jit *j, bool wide, int lane, bool others, int reg);
/* rcx becomes the address of a lane that runs; its parts are those of the slot. */
void simt_jit_running_address(struct jit *j, uint16_t slot);
/* What code that leaves does last, where lanes have parted. */
void simt_jit_leave_parted(struct jit *j);
void simt_jit_end_parted(struct jit *j, const struct jit_insn *n); /* the end of a block */

/* ---- jit_alone.c: lane 0 of a zone ---- */
bool simt_jit_may_be_alone(const struct jit *j, const struct jit_zone *z);
void simt_jit_write_alone(struct jit *j, const struct jit_zone *z);
bool simt_jit_alone_access(struct jit *j, const struct jit_insn *n); /* false: the op is to be called instead */
void simt_jit_first_lane(struct jit *j, bool wide, int gpr, int vector);
void simt_jit_store_first(struct jit *j, bool wide, struct x86_mem m, int vector);
void simt_jit_settle(struct jit *j, int reg); /* a predicate of which lane 0 is right becomes that of all lanes */
void simt_jit_leave_alone(struct jit *j);     /* simt_jit_write_live */

/* ---- jit_carry.c ---- */
enum { MOST_GUARD_NUMBERS = 5 };
/* What registers hold is kept in one of two places, and taken from there again. False without memory. */
bool simt_jit_keep(struct jit *j, int which);
void simt_jit_restore(struct jit *j, int which);
/* May registers keep what they hold from the block at hand to this one? */
bool simt_jit_carries(const struct jit *j, const struct jit_block *to);
/* They do: at the end of the block at hand, and at the start of the other one, instead of simt_jit_begin_block. */
void simt_jit_carry(struct jit *j, const struct jit_block *to);
void simt_jit_begin_carried(struct jit *j, struct jit_block *b);
/* If the rest of the block from instruction k on is a branch ahead and its condition: a way past all of it for warps
 * none of whose lanes takes the branch. The end is that of the block. */
bool simt_jit_begin_guard(struct jit *j, uint32_t k);
void simt_jit_end_guard(struct jit *j);

/* ---- jit_rounds.c ---- */
/* At the start of a block, behind simt_jit_begin_block. */
void simt_jit_begin_rounds(struct jit *j);
/* Goes there again, while the budget lasts, else to `spent`; what is known is as before. */
void simt_jit_next_round(struct jit *j, int spent);

/* ---- jit_neighbours.c ---- */
/* Four loads of 4 bytes, side by side from `imm` on, or up to four of fewer within 4 bytes, by where they begin. */
struct jit_group {
    struct jit_insn *insns[4]; /* some of them NULL */
    int place;                 /* in warp->ahead, for those behind the first */
    int64_t imm, bytes;
};
#define GROUP_BYTES 16
/* Those that n is the first of in the code; false: there are none. */
bool simt_jit_neighbours(const struct jit *j, const struct jit_insn *n, struct jit_group *g);
void simt_jit_load_ahead(struct jit *j, const struct jit_insn *n); /* from there */
/* Is memory the same behind the instruction? */
bool simt_jit_keeps_memory(const struct jit_insn *n);
/* 16 bytes from each lane's address, of a part, by words in four registers; rcx: the range's start, as the host has it.
 */
void simt_jit_load_words(struct jit *j, int part, int regs[4]);
void simt_jit_find_range(struct jit *j, uint32_t range); /* into rcx */
/* The distances of the lanes' addresses from the range's start are at warp->addresses. */
void simt_jit_load_neighbours(struct jit *j, const struct jit_insn *n, const struct jit_group *g, uint32_t range);

/* Registers with 4 bytes of each lane become what narrower loads have: n, or those of a group, of which n is one. */
void simt_jit_narrow_lanes(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int *regs);
/* Loads of fewer than 8 bytes into registers of 8: of 4-byte lanes become twice as many, of 8-byte ones. */
static inline bool simt_jit_is_widened(const struct jit_insn *n)
{
    return n->kind == JK_LOAD && n->wide && n->i->size < 8;
}
void simt_jit_widen(struct jit *j, const struct jit_insn *n, int *regs);
/* The load's result from registers with 4 bytes of each lane, or 8 where it loads as many. */
void simt_jit_define_loaded(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int *regs);

/* ---- jit_words.c ---- */
void simt_jit_find_words(struct jit *j); /* once it is known what is alive */
void simt_jit_free_words(struct jit *j);
/* The order of a turned load's bytes, in registers with 4 of each lane, or in a general one. */
void simt_jit_turn(struct jit *j, const struct jit_insn *n, const int *regs);
void simt_jit_turn_number(struct jit *j, const struct jit_insn *n, int reg);
static inline int simt_jit_alignment(const struct jit_insn *n)
{
    return n->loose ? 1 : n->i->size * n->i->count;
}

/* ---- jit_walks.c ---- */
/* At a block's start, behind its label. */
void simt_jit_begin_walks(struct jit *j, const struct jit_block *b);
bool simt_jit_walks(const struct jit *j, const struct jit_insn *n); /* may the load be one of the block's walks? */
/* By how much an access' address differs from round to round where the block is a loop; false: that is not known. */
bool simt_jit_strides(const struct jit *j, const struct jit_insn *n, int64_t *step);
/* Which of the block's walks the load is, of a group when there is one; -1: none. */
int simt_jit_walk_of(struct jit *j, const struct jit_insn *n, const struct jit_group *g);
/* Goes to label `use` unless the next words are to be fetched. */
void simt_jit_find_walk(struct jit *j, int walk, int use);
/* Those of all lanes, the distances of whose addresses are known as for simt_jit_load_neighbours. */
void simt_jit_fetch_walk(struct jit *j, int walk, uint32_t range);
/* Behind both: a part's words of this round into each register. */
void simt_jit_use_walk(struct jit *j, int walk, const int *regs, int use, int done);

/* ---- jit_indexed.c ---- */
/* Three instructions from n on that load by an index, as one: into registers that become those of the last one's
 * result. False when nothing was written. */
bool simt_jit_load_indexed(struct jit *j, const struct jit_insn *n, int *regs);

/* ---- jit_strided.c ---- */
/* Loads and stores of lanes of a register's size that lie `step` bytes apart, a few elements; m: where the first one
 * lies. */
bool simt_jit_is_strided(const struct jit *j, const struct jit_insn *n, int64_t step);
void simt_jit_load_strided(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step);
void simt_jit_store_strided(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step);
/* Stores that leave no gap: of 2 or 4 elements a lane, or backwards. */
bool simt_jit_fills(const struct jit *j, const struct jit_insn *n, int64_t step);
void simt_jit_store_filling(struct jit *j, bool wide, const int *regs, int count, struct x86_mem m);
/* With an operand of 16 bytes or fewer in memory. */
void simt_jit_put_16(struct jit *j, struct x86_vop op, int bits, int reg, int second, struct x86_mem m, int imm);
/* Lanes of 1 or 2 bytes, `step` bytes apart, into 4-byte ones. */
void simt_jit_load_narrow(struct jit *j, int reg, struct x86_mem m, int size, int64_t step, bool is_signed);
/* 4-byte lanes of their low bytes: of four or two registers. */
void simt_jit_pack(struct jit *j, int reg, const int *regs, int size, int count);

/* ---- jit_avx2.c, jit_avx2_memory.c: what the functions above come to with AVX2 ---- */
int simt_jit_avx2_integer(struct jit *j, const struct jit_insn *n, int part); /* -1: as with AVX-512 */
int simt_jit_avx2_narrowed(struct jit *j, uint16_t slot, int part, bool high);
int simt_jit_avx2_extreme(struct jit *j, const struct jit_insn *n, int part);
int simt_jit_avx2_to_unsigned(struct jit *j, const struct jit_insn *n, int part);
int simt_jit_avx2_to_integer(struct jit *j, const struct jit_insn *n, int part);
int simt_jit_avx2_from_unsigned(struct jit *j, const struct jit_insn *n, int part);
/* With `moments`, COMPARE_MOMENTS registers, what registers hold stays as it is. */
#define COMPARE_MOMENTS 7
void simt_jit_avx2_compare(struct jit *j, const struct jit_insn *n, int reg, const int *moments);
void simt_jit_avx2_select(struct jit *j, const struct jit_insn *n);
void simt_jit_avx2_shuffle(struct jit *j, const int *parts, const uint32_t from[SIMT_WARP], int *regs);
/* Lanes that lie `step` bytes apart, or that are narrower in memory. */
void simt_jit_avx2_load_lanes(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step);
void simt_jit_avx2_store_lanes(struct jit *j, bool wide, int reg, struct x86_mem m, int64_t step);
void simt_jit_avx2_store_narrow(struct jit *j, bool wide, int reg, struct x86_mem m, int size);
/* Looks whether addresses in global memory are right, with `g` of all of it. The range's number. Where they are not: a
 * label, or -1 for the interpreter. */
uint32_t simt_jit_avx2_check(struct jit *j, const struct jit_insn *n, const struct jit_group *g, int leave);
enum { AVX2_MOMENTS = 5 }; /* registers that it takes for a moment */
void simt_jit_avx2_gather(struct jit *j, const struct jit_insn *n, const struct jit_group *g);
/* Words at addresses that have been checked, without a change of what other registers hold. */
void simt_jit_avx2_gather_words(struct jit *j, const struct jit_insn *n, const int *regs, int32_t imm);
/* A store to addresses of any form, which the range's check has let pass: lane by lane from the frame, but for lanes
 * that are side by side with AVX2. */
void simt_jit_store_lanes(struct jit *j, const struct jit_insn *n, uint32_t range);

/* ---- jit_emit.c: the whole function; the way in is at the start of the code ---- */
bool simt_jit_write(struct jit *j);
/* Code, out of the way, that writes all to the frame and leaves: w->pc is at the instruction, or kept after an op. */
int simt_jit_leaving(struct jit *j, enum jit_exit why, bool after);
/* Where an access goes that code can't do. It leaves; but where lanes have parted and an observer watches, the op does
 * it, and the code goes on behind the instruction: simt_jit_end_otherwise, when all else of it is written. */
int simt_jit_otherwise(struct jit *j, const struct jit_insn *n);
void simt_jit_end_otherwise(struct jit *j);
/* One block, whose label is bound; `end` writes what is behind its last instruction. */
void simt_jit_write_body(struct jit *j, struct jit_block *b, void (*end)(struct jit *j, const struct jit_insn *n));

#endif
