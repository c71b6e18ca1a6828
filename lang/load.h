/* How the text of a cell becomes a function (lang/load.c), for those who ask whether it would. */
#ifndef LG_LOAD_H
#define LG_LOAD_H

#include "lang/rewrite.h"
#include "lang/session_state.h"

#define LG_LOAD_TRIES 64 /* places that are tried as the start of a trailing expression */

/* Whoever waits for a compilation may have it given up: it is asked before each piece of the text. */
struct lg_patience {
    bool (*stop)(void *context);
    void *context;
    bool stopped;
};

/* A cell on its way to a function. The buffers are C memory, so they are released by whoever made it, after every
 * protected call. */
struct lg_loading {
    const struct lg_source *source;
    struct lg_cell cell;
    struct lg_buffer scratch;
    struct lg_patience *patience; /* NULL: endless */
};

/* How many blanks and ends of lines stand before the %% that begins a cell; 0 where none does. */
size_t lg_blanks_before_magic(const char *text, size_t length);
/* As lua_load, of a text. What was given up ends early: the caller is to look at patience->stopped. */
int lg_load_text(lua_State *L, const char *text, size_t length, const char *chunk, struct lg_patience *patience);
/* Whether the text compiles; leaves nothing on the stack. */
bool lg_text_compiles(lua_State *L, const struct lg_loading *l, const char *text, size_t length);
/* Replaces the function (or error) on the stack by one that returns the trailing expression, if there is one; `status`
 * is that of what was there, and the new one comes back. */
int lg_load_expression(lua_State *L, struct lg_loading *l, int status);

#endif
