/* Brackets, and words that open and close blocks, with their partners. */
#ifndef SH_PAIR_H
#define SH_PAIR_H

#include <stdbool.h>
#include <stddef.h>

struct sh_pair { /* two tokens: one at the position, and its partner */
    size_t start, end;
    size_t other, other_end;
};

/* The pair whose one part is at the byte `at` of the code, or ends there; false where there is none, or no partner. In
 * CUDA C only brackets count; in other strings and in comments nothing does. With `styles`, right from the start of the
 * code, CUDA C is looked through from a line at or before `shown` on alone; NULL: all of it. */
bool sh_find_pair(const char *code, size_t length, size_t at, const unsigned char *styles, size_t shown,
                  struct sh_pair *out);

#endif
