/* What the files that make up reports share. */
#ifndef RT_REPORT_INSIDE_H
#define RT_REPORT_INSIDE_H

#include "runtime/report.h"
#include "runtime/simt/check.h"

/* Sets p->column, from 1: `name` is of the array or variable, or "", and `kernel` of the kernel. The compiler gives the
 * place of a line's first instruction to all of them, and in a kernel of one line the place of its name. The caret goes
 * to what is at fault when the line has it from there on; without, in a kernel of one line, nowhere. */
void rt_aim_caret(const char *kernel, const struct simt_report *r, const char *name, struct rt_party *p);

/* The source that a party is in; NULL when it isn't known. */
const char *rt_report_text_of(const struct rt_scene *x, const struct simt_party *p);

/* Sets the name, and the index, length and axes where there are any. */
void rt_name_place(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out);
/* "x[12]", "t[0][3]", "element (3, 1) of s", "bytes 4 to 7 of a block ...", "4 bytes at 0x...". */
void rt_describe_place(const struct simt_report *r, const struct rt_report *out, char *text, size_t size);
/* An element of what has an index: "x[12]", "t[0][3]". */
void rt_describe_index(const struct rt_report *out, int64_t index, char *text, size_t size);
/* How much there is of it: "1000", "8 x 16". */
void rt_describe_length(const struct rt_report *out, char *text, size_t size);
/* "a block of 64 bytes that malloc gave in line 3" */
void rt_describe_block(const struct simt_report *r, const struct rt_report *out, char *text, size_t size);
bool rt_frees(const struct rt_party *p);
bool rt_is_null(const struct simt_report *r);

/* "read", "written", "updated by an atomic": what the party did to the place. */
const char *rt_past_verb(const struct rt_party *p);

/* Fills the message and the hint of a race; `what` names the place. */
void rt_describe_race(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out, const char *what);

#endif
