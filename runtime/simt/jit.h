/* Generated machine code for kernels: jit.c says what is generated, and why.
 *
 * Code begins with warps all of whose 32 lanes stand at one place; those that part in it stay, where it can be, until
 * they meet again (jit_masked.c). It leaves to the interpreter whatever it cannot do: then every register is in its
 * slot of the frame, as the interpreter wants it. */
#ifndef SIMT_JIT_H
#define SIMT_JIT_H

#include "runtime/simt/exec.h"

struct jit_code; /* of one entry, for blocks of some shapes */

/* Why generated code came back. */
enum jit_exit {
    JIT_LEFT,     /* w->pc is where the interpreter goes on */
    JIT_SCHEDULE, /* an op answered EV_SCHEDULE, and has set the splits */
    JIT_EXIT,     /* the lanes exit */
    JIT_BARRIER,  /* w->pc is a bar.sync; behind it, the code goes on at w->resume */
    JIT_SLICE,    /* the budget is used up; the code goes on at w->resume, which is w->pc, or where lanes have parted */
    JIT_PARTED,   /* the lanes w->parted are at w->pc, others wait elsewhere: simt_jit_part_splits */
    JIT_FAULT
};

/* What a memory instruction of generated code knows of the allocation it last touched: an access at `low` + n, n below
 * `room`, is right. */
struct jit_range {
    uint64_t low, room;
    uint64_t last;        /* where it began, of loads in loops */
    uint64_t apart;       /* lanes whose places have no form have not been side by side */
    uint64_t lines, site; /* of watched accesses: from an address's line to its record, 0 where all may read without;
                             what the observer calls it */
    uint64_t listed, listed_room, known; /* known: an address to which that of 32 bytes of memory is added, 0: none; bit
                                            n there says that loads of word n are nothing new, as far as they are at
                                            `listed` + n, n below `listed_room` */
};
#define LISTED_BYTES 64 /* that such loads may be of */

/* The code of a program's entry for blocks of this shape, generated at the first call: for launches that nobody
 * watches, or for those whose observer has `quick`, which watches the same in all launches of a program. NULL where
 * there is none: the block has no such warp, the processor or the system does not allow it, LUNARRAY_JIT is 0, memory
 * ran out, or for the last warp, when the kernel would notice lanes that repeat others. Any thread may ask. */
struct jit_codes simt_jit_codes(const struct simt_program *p, const struct function *f, const unsigned block[3],
                                const struct simt_observer *o);
/* An index of the thread that a lane stands for, in a last warp of fewer than 32 that runs such code as a whole one. */
uint32_t simt_jit_thread(const unsigned block[3], int dimension, uint32_t lane);
void simt_jit_free(struct simt_program *p);
/* How many ranges a worker needs. */
uint32_t simt_jit_ranges(const struct jit_codes *c);
/* Where the kernel begins, when its code does all by itself: it calls no op that needs the warp's splits, and its only
 * barrier is bar.sync 0. NULL when it does not. */
const void *simt_jit_start(const struct jit_code *c);
/* Is what the code takes for granted of values that are the same in all blocks true of this frame? */
bool simt_jit_frame_fits(const struct jit_code *c, const struct frame *f);
/* Where code for an instruction begins, when it has one and the values in the frame have the shapes it expects. */
const void *simt_jit_entry(const struct jit_code *c, const struct frame *f, uint32_t pc);
/* The lanes of a warp, which has come back with JIT_PARTED, become its splits. */
void simt_jit_part_splits(const struct jit_code *c, struct warp *w);
/* Where lanes wait is forgotten: the block will not go on. */
void simt_jit_forget(struct worker *k);
/* Tells the observer, if there is one, that all lanes exit at w->pc. */
void simt_jit_exits(struct warp *w);
/* Before a host thread runs the worker's block: what generated code loads to round otherwise than to nearest, and to
 * round so again. */
void simt_jit_take_controls(struct worker *k);
enum jit_exit simt_jit_run(const struct jit_code *c, struct warp *w, char *R, const void *at);
/* Runs so many of the block's warps one after the other, each from the kernel's start in the first round, then from
 * where its `resume` says (NULL: it has ended), to their ends or next barriers, and counts those that end in
 * quick_left. JIT_EXIT or JIT_BARRIER: all have; else k->left has not. */
enum jit_exit simt_jit_run_all(const struct jit_code *c, struct worker *k, struct warp *first, uint32_t count);

/* Blocks all of whose warps run code that does all by itself need no splits, as long as it never leaves. */
/* Gets the block ready; false when it must be started as others are. */
bool simt_jit_block_start(struct worker *k);
/* Runs it to its end (JIT_EXIT), to a fault (JIT_FAULT), or to where the interpreter has to go on: the block is then as
 * simt_warp_start and the interpreter would have left it. */
enum jit_exit simt_jit_block_run(struct worker *k);

#endif
