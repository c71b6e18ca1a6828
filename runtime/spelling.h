/* Names of programs, in C as in Lua: what they are made of, and how near two are to each other, for messages that say
 * "did you mean". */
#ifndef RT_SPELLING_H
#define RT_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

static inline bool rt_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* How many bytes of C code a comment or a literal takes that begins here; 0 when none does. */
size_t rt_comment_or_literal(const char *code);

/* How many letters must change, or neighbours change places, to make one word of the other, up to a limit that is "very
 * different". */
int rt_spelling_distance(const char *a, const char *b);

#endif
