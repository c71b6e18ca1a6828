/* The commands of cells that are no Lua: %name line, %%name cell, !command, ?name. One row of a table each. */
#ifndef LG_MAGIC_H
#define LG_MAGIC_H

#include "lang/session_state.h"

struct lg_magic_call {
    lua_State *L;
    struct lg_session *session;
    const char *rest; /* what follows the name on its line, without spaces around; NUL-terminated */
    const char *body; /* a cell's text below its first line, NUL-terminated; NULL for a line */
    int line;         /* of the first line, in the chunk */
};

enum lg_magic_argument {
    LG_TAKES_NOTHING,
    LG_TAKES_CODE,
    LG_TAKES_FILE,
    LG_TAKES_FOLDER,
    LG_TAKES_DEVICE,
    LG_TAKES_ENVIRONMENT,
};

struct lg_magic {
    const char *name;                /* without its sign */
    const char *usage;               /* "%timeit [-n N] [-r R] code" */
    const char *doc;                 /* the first line is the summary */
    bool line, cell;                 /* works as %name, as %%name */
    enum lg_magic_argument argument; /* what completion offers behind it */
    /* Returns how many values it pushed. [raises] */
    int (*run)(struct lg_magic_call *call);
};
extern const struct lg_magic lg_magics[]; /* ended by a NULL name */

/* The row called `name`, or NULL. */
const struct lg_magic *lg_magic_find(const char *name, size_t length);

/* lang/magic_other.c: raises that there is no magic of the name, and what may have been meant. [raises] */
int lg_raise_magic(lua_State *L, const char *name, bool cell);

/* The function that rewritten magic lines call: (text, line). [raises] */
int lg_run_line_magic(lua_State *L);
/* The same for a whole cell whose first line begins with "%%": upvalues 1 text, 2 line. [raises] */
int lg_run_cell_magic(lua_State *L);

/* For the magics themselves. Pushes the function of the Lua text `code`, which begins on `line` of the cell that runs.
 * [raises] */
void lg_push_code(struct lg_magic_call *call, const char *code, int line);
/* Shows a text in the pager, where there is one. [raises] */
void lg_page(lua_State *L, struct lg_session *s, const char *text, size_t length);

/* Makes the value on top of the stack a variable of the session, and pops it. [raises] */
void lg_set_variable(lua_State *L, const char *name);

/* Pushes the word at p, without quotes around parts of it and backslashes before characters; what follows it. [raises]
 */
const char *lg_push_word(lua_State *L, const char *p);

/* lang/capture.c */
int lg_magic_capture(struct lg_magic_call *call);
/* lang/magic_history.c */
int lg_magic_history(struct lg_magic_call *call);
int lg_magic_save(struct lg_magic_call *call);
int lg_magic_edit(struct lg_magic_call *call);
/* lang/magic_process.c */
int lg_magic_cd(struct lg_magic_call *call);
int lg_magic_pwd(struct lg_magic_call *call);
int lg_magic_env(struct lg_magic_call *call);
/* lang/magic_time.c */
int lg_magic_time(struct lg_magic_call *call);
int lg_magic_timeit(struct lg_magic_call *call);

/* lang/command.c: runs argv in a process of its own, its output going to the sink as it comes. The exit status (128 + n
 * for signal n), or -1 with errno when it could not be started. Stops it when the session is interrupted. */
int lg_run_command(struct lg_session *s, char *const argv[]);

#endif
