/* Hints: what a beginner probably meant, for the messages that Lua has of its own. */
#ifndef LG_HINT_H
#define LG_HINT_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Where an error is. */
struct lg_place {
    const char *text; /* the line; the whole source where Lua's message is about its end */
    size_t length;
    const char *at;     /* the token in it that the message names; NULL: not known */
    const char *source; /* all of the chunk that the line is in */
    size_t source_length;
};

#define LG_HINT_SHAPE                                                                                                  \
    "x.shape is one value: its sizes are x.shape[1] and so on, all of them a, b = table.unpack(x.shape)"

#define LG_HINT_GRID "grid and block are numbers or tables, k({gx, gy}, {bx, by})(x)"

/* For what is written as in another language; NULL: nothing is known of it. `syntax`: it did not compile. */
const char *lg_hint(const struct lg_place *p, const char *message, bool syntax);

/* Where the last string in front of an error of syntax is CUDA C in [[ ]] that ended at an index, as in x[y[i]]. */
const char *lg_hint_brackets(const char *text, size_t length);

/* Pushes a hint on a name without a value, or a method called without its object; false: nothing is pushed. [raises] */
bool lg_push_name_hint(lua_State *L, const struct lg_place *p, const char *message);

/* Pushes which name of the line has no value, where an array or a kernel met one; false: nothing is pushed. [raises] */
bool lg_push_unset(lua_State *L, const struct lg_place *p);

/* Pushes the compiler's message with a hint, where its first error is a name that nobody declared in the kernel, but
 * that the code around it has; false: nothing is pushed. Asks the functions that are being called. [raises] */
bool lg_push_outer_name(lua_State *L, const char *message);

/* For a function that takes a dtype and was given nil: raises where the line that called it names one without quotes,
 * as in gpu.zeros(3, float64), which is a variable without a value. [raises] */
void lg_check_bare_dtype(lua_State *L);

/* Whether a library of Python's is usually called so. */
bool lg_is_library(const char *name);

/* On a word of another language, for the name of a variable; NULL: it is none. */
const char *lg_hint_word(const char *name);

/* On a method or a field that strings or lists have in another language; NULL: it is none. */
const char *lg_hint_member(const char *name, bool of_string);

/* Narrows the code of a cell, whose value is that of its end, to its last line. */
void lg_last_line(const char **code, size_t *length);

/* Where the code's last line is only a name, or a.b: pushes what is shown when it has no value, with a hint on what was
 * probably meant; false: nothing is pushed. [raises] */
bool lg_push_nil(lua_State *L, const char *code, size_t length);

/* Where the code's last line is only s[1] of a string, t[0] of a list, or t.length of either, and its value is nil:
 * pushes what is shown, with a hint; false: nothing is pushed. [raises] */
bool lg_push_missing(lua_State *L, const char *code, size_t length);

/* Where the code's last line is only x == y or x ~= y of an array and something else, whose value is said not to be the
 * array, the same of plain tables, or not m of an array: pushes what is shown, with a hint on how elements are
 * compared; false: nothing is pushed. [raises] */
bool lg_push_compared(lua_State *L, const char *code, size_t length, bool value);

/* The first line of the code that asks a mask for one boolean, as `if x:gt(0) then`, `x:gt(0) and y:gt(0)` and `m and
 * n` do; 0: none. Of x:eq(0) only where x is a variable that has an array now: other objects have such a method, too.
 * [raises] */
int lg_find_truth(lua_State *L, const char *code, size_t length);

#endif
