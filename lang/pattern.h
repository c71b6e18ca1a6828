/* Lua's patterns, matched so that who waits is answered and an interrupt ends it (lang/pattern.c). */
#ifndef LG_PATTERN_H
#define LG_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct lua_State;

#define LG_CAPTURES 32

struct lg_match_state {
    struct lua_State *L;
    const char *subject, *subject_end, *pattern_end;
    unsigned steps; /* since who waits was asked */
    int depth;      /* of calls within each other */
    int count;      /* of captures, those that are open included */
    struct lg_capture_range {
        const char *start;
        ptrdiff_t length;
    } captures[LG_CAPTURES];
};
/* What stands for a length: of a capture whose end has not come, and of `()`. */
#define LG_CAPTURE_OPEN     (-1)
#define LG_CAPTURE_POSITION (-2)

/* Where the match of the pattern that begins at s ends, or NULL. Raises what the stock functions raise. */
const char *lg_match_at(struct lg_match_state *m, const char *s, const char *pattern);

/* Replaces string.find, match, gmatch and gsub by functions that leave calls of at most `patience` steps to the stock
 * ones. [raises] */
void lg_open_patterns(struct lua_State *L, double patience);

#endif
