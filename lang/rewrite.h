/* From the text of a cell to Lua, token by token and without a Lua state: top-level locals become variables of the
 * session, magic lines become calls. Every line stays on its line, so messages need no mapping. */
#ifndef LG_REWRITE_H
#define LG_REWRITE_H

#include "lang/buffer.h"
#include "lang/lexer.h"

enum lg_start_kind {
    LG_START_CERTAIN,   /* a call, an assignment or an expression begins here */
    LG_START_POSSIBLE,  /* an expression begins here, or goes on */
    LG_START_STATEMENT, /* begins with a word that only statements begin with */
};

struct lg_start {
    size_t at; /* offset in the rewritten text */
    enum lg_start_kind kind;
};

struct lg_cell {
    struct lg_buffer text;   /* the Lua to compile */
    struct lg_buffer names;  /* the session's variables that it declares, once or more, each ended by a NUL */
    struct lg_start *starts; /* where statements may start at the top level: line starts and after ';' */
    size_t start_count, start_capacity;
    size_t end;     /* of the last token that is no ';', in the rewritten text */
    bool silenced;  /* the cell ends in ';' */
    bool magic;     /* it has magic lines */
    bool constants; /* it declares variables that are constant in Lua, but not in later cells */
    bool failed;    /* out of memory */
};

/* Fills *out (all zeros before); release it in any case. False when out of memory. */
bool lg_rewrite(const char *text, size_t length, struct lg_cell *out);
void lg_cell_release(struct lg_cell *c);

/* What precedes a top-level return: in the scope of a variable to be closed a call is no tail call, so that the cell
 * stays in the traceback. */
#define LG_RETURN_GUARD "local __lunarray_cell<close> =nil "
/* The function that magic lines call with their text. */
#define LG_MAGIC_FUNCTION "__lunarray_magic"

/* True when the line at `at` (its first byte that is no space) is a magic line: %name, !command, ?name, name?. `alone`
 * says that no expression stands before it which `% name` could continue. */
bool lg_magic_line(const char *text, size_t length, size_t at, bool alone);

#endif
