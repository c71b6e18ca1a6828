/* Bodies of functions, and ways through their instructions, for what changes them before they are decoded. */
#ifndef SIMT_PTX_WALK_H
#define SIMT_PTX_WALK_H

#include "runtime/simt/ptx_read.h"

struct ptx_walk {
    const struct ptx_func *f;
    bool *seen;
    size_t *stack, count;
    size_t steps; /* of all walks */
};

static inline size_t ptx_target_of(const struct ptx_insn *in)
{
    return (size_t)in->operands[0].imm;
}
static inline bool ptx_goes_on(const struct ptx_insn *in) /* may what stands behind it come next? */
{
    return in->guard >= 0 || !ptx_leaves(in);
}

/* Does the operand name the register, or one of its items? */
bool ptx_mentions(const struct ptx_operand *o, int reg);

/* Changes the bodies of a module's functions, or of its kernels alone, one after the other, until that fails. */
bool ptx_each_body(struct ptx_module *m, struct rt_error *e, bool kernels_alone,
                   bool (*change)(struct ptx_parser *p, struct ptx_func *f));
/* Can all jumps be followed, among no more than so many instructions? */
bool ptx_can_walk(const struct ptx_func *f, size_t most);
/* Room for that many instructions, for walks through one function after another. False without memory. */
bool ptx_walk_new(struct ptx_parser *p, struct ptx_walk *w, const struct ptx_func *f, size_t most);
/* Starts anew, where an instruction stands, or nowhere; to() adds one. Each step takes one that is there, and on() goes
 * to those that may come behind it. */
void ptx_walk_from(struct ptx_walk *w, size_t insn);
void ptx_walk_begin(struct ptx_walk *w);
void ptx_walk_to(struct ptx_walk *w, size_t insn);
bool ptx_walk_step(struct ptx_walk *w, size_t *insn);
void ptx_walk_on(struct ptx_walk *w, size_t insn);

#endif
