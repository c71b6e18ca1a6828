/* Comparing an output with the one that is expected, line by line, and showing where they differ.
 *
 * In a line that is expected, `...` stands for any text, and a line that is only `...` for any lines, or none. Blanks
 * at the ends of lines don't count, nor do empty lines at the end; elsewhere blanks and tabs are as good as one. */
#ifndef SH_DIFF_H
#define SH_DIFF_H

#include "repl/text.h"

/* True when the output is as expected. Else appends to `out` the lines of both: "- " before what was expected and has
 * not come, "+ " before what came instead, "  " before what agrees, where it is near. */
bool sh_diff(const struct sh_text *expected, const struct sh_text *got, struct sh_text *out);

#endif
