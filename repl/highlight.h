/* Colours for a cell: which style each byte of Lua has, and of CUDA C in the sources of kernels. */
#ifndef SH_HIGHLIGHT_H
#define SH_HIGHLIGHT_H

#include <stdbool.h>
#include <stddef.h>

struct lg_token;

/* Fills styles[0..length) with values of enum sh_style (repl/frame.h). Lines of magics stay plain. */
void sh_highlight(const char *code, size_t length, unsigned char *styles);
/* The same of styles[from..to), at least, where styles[0..from) are right. */
void sh_highlight_part(const char *code, size_t length, size_t from, size_t to, unsigned char *styles);

/* The start of a line at or before `at` that is in no string or comment and begins with a word. styles[0..at) are
 * right.
 */
size_t sh_fresh_start(const char *code, size_t length, size_t at, const unsigned char *styles);
/* The start of a line of the CUDA C at [from, ...), at or before `at`, that is in no comment or string; `from` where
 * none is. styles[from..at) are right. */
size_t sh_fresh_cuda_line(const char *code, size_t from, size_t at, const unsigned char *styles);
/* The same as sh_highlight for CUDA C by itself. */
void sh_highlight_cuda(const char *code, size_t length, unsigned char *styles);

/* Whether a string holds CUDA C: what gpu.kernel is given in long brackets (`before` is the name before the string), or
 * what says __global__ itself. From and to: what is between the brackets. */
bool sh_cuda_inside(const char *code, const struct lg_token *before, const struct lg_token *string, size_t *from,
                    size_t *to);

#endif
