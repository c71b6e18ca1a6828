/* Leaves of programs that are arrays turned round the ends of their axes, as x:roll gives: they are read where the
 * array has them, and no turned copy is made. Within a cell, in which no leaf comes round an end, all are views. */
#ifndef KN_ROLLED_H
#define KN_ROLLED_H

#include "kernels/program.h"

struct kn_rolled {
    const struct rt_array *array; /* borrowed; NULL: the leaf is the program's own */
    const int64_t *shift;         /* by axis, 0 to the axis' size less one: element i is the array's i - shift */
};

/* Whether the program, whose leaves these are, is worth evaluating cell by cell into an array of that form: there are
 * few cells, and the rolled leaves have its shape. */
bool kn_rolled_fits(const struct kn_rolled *leaves, int count, const struct rt_array *form);
/* Evaluates a program into `out`, which overlaps no leaf. Statuses as of kn_program_evaluate. */
enum rt_status kn_rolled_run(const struct kn_program *p, const struct kn_rolled *leaves, const struct rt_array *out,
                             struct rt_error *e);
/* The rolled array itself, into one of the same dtype and shape. */
enum rt_status kn_roll(const struct kn_rolled *from, const struct rt_array *out, struct rt_error *e);

#endif
