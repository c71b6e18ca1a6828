/* What the files that make up reports share. */
#ifndef RT_REPORT_INSIDE_H
#define RT_REPORT_INSIDE_H

#include "runtime/report.h"
#include "runtime/simt/check.h"

/* Sets p->column, from 1: `name` is of the array or variable, or "", and `kernel` of the kernel. The compiler gives the
 * place of a line's first instruction to all of them, and in a kernel of one line the place of its name. The caret goes
 * to what is at fault when the line has it from there on; without, in a kernel of one line, nowhere. */
void rt_aim_caret(const char *kernel, const struct simt_report *r, const char *name, struct rt_party *p);

/* "read", "written", "updated by an atomic": what the party did to the place. */
const char *rt_past_verb(const struct rt_party *p);

/* Fills the message and the hint of a race; `what` names the place. */
void rt_describe_race(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out, const char *what);

#endif
