/* What the files that make up a session (lang/session.c, load.c, evaluate.c, traceback.c, output.c, display.c,
 * complete.c, inspect.c, magic.c, history.c, source.c, comm.c) share. Faces see lang/session.h only. */
#ifndef LG_SESSION_STATE_H
#define LG_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "lang/lang.h"
#include "lang/buffer.h"
#include "lang/heap.h"
#include "lang/session.h"

/* Memory for answers that are valid until the session's next call. */
struct lg_arena {
    struct lg_arena_block *blocks;
};
void *lg_arena_get(struct lg_arena *a, size_t bytes); /* aligned for pointers; NULL when out of memory */
/* A NUL-terminated copy; NULL when out of memory. */
char *lg_arena_text(struct lg_arena *a, const char *text, size_t length);
void lg_arena_reset(struct lg_arena *a);

#define LG_CHUNK        4100 /* bytes of a chunk name: a path fits */
#define LG_TRACE_FRAMES 24   /* calls shown of a deeper stack: the outermost and innermost halves */

struct lg_history;
struct lg_debugger;
struct lg_capture;

/* A coroutine that waits for one that it resumed. */
struct lg_resume {
    lua_State *from;
    const struct lg_resume *outer;
};

/* The names in a table, each with a NUL behind it. */
struct lg_names {
    const void *table; /* NULL: none are noted */
    struct lg_buffer text;
    size_t count;
};

struct lg_session {
    lua_State *L;
    struct lg_heap heap; /* of L */
    struct lg_sink sink;
    bool interactive;
    bool hosted; /* by a notebook: lg_options */
    bool plain;  /* what is evaluated is no cell: it runs as in a stock lua */
    int count;
    struct lg_arena answers;

    /* Interruption (lang/interrupt.c). `running` is the coroutine that runs now. */
    lua_State *volatile running;
    const struct lg_resume *resumes; /* which coroutines wait for `running`, the nearest first */
    pthread_t thread;
    atomic_bool evaluating, interrupted;
    int interrupts_raised; /* in this cell */
    lua_CFunction xpcall;  /* Lua's own */

    /* Attention in the middle of a cell (lang/interrupt.c): `side` is the coroutine that what happens then runs in. */
    lua_State *side;
    atomic_bool attention;
    bool attending;
    /* The same during a long call, on another thread (lang/beside.c). */
    struct rt_loan loan;
    lua_State *beside;
    bool lent;     /* now; values are not computed, and no device is asked */
    bool declined; /* something that was asked for would have needed that */

    /* The failure being reported; texts are in `answers`. */
    struct lg_error error;
    const char *frames[LG_TRACE_FRAMES + 1]; /* innermost first, as the message handler met them */
    int frame_count, frame_line;             /* line of the innermost frame inside the cell, 0 when none */
    const char *excerpt;                     /* the line that the error is about, and its caret; or NULL */
    bool syntax;                             /* the cell did not compile, or what a magic in it was to run */
    bool bad_code;                           /* the latter was so when last seen */
    char chunk[LG_CHUNK];                    /* the chunk name being evaluated: "=cell 3" */

    /* Input (lang/input.c): lines asked for and not read yet. */
    struct lg_buffer input;
    size_t input_at;

    struct lg_names names, noting; /* lang/names.c: those of a large table, and what is being noted */

    struct lg_buffer warning; /* pieces of the one being put together */
    bool warnings_off;
    long long displays_since; /* when the first display was, and how many there were: they make its id */
    unsigned displays;
    struct lg_capture *capture; /* lang/capture.c: what gets the output now in place of the sink; NULL */
    struct lg_history *history;
    struct lg_buffer recalled;    /* the cell of it that was asked for last */
    struct lg_debugger *debugger; /* lang/debugger.c; NULL where nothing can be stopped */
    struct lg_apart *apart;       /* lang/apart.c; NULL where nobody asks meanwhile */
    const struct lg_apart *noted; /* of a second session: whose first one noted this; else NULL */
};

/* lang/names.c: what was noted holds no longer. */
void lg_names_forget(struct lg_session *s);

/* The session that a state belongs to; NULL in a stock Lua interpreter. */
struct lg_session *lg_session_of(lua_State *L);

/* Calls f(job) in protected mode: job is the light userdata at index 1. False when it raised. */
bool lg_protect(struct lg_session *s, lua_CFunction f, void *job);

/* lang/interrupt.c */
void lg_interrupt_begin(struct lg_session *s); /* a cell starts on this thread */
void lg_interrupt_end(struct lg_session *s);
/* Calls f aside of what runs, as if nothing of the cell were there: s->L is a coroutine of its own meanwhile, and
 * nothing else is called so before it returned. */
void lg_aside(struct lg_session *s, void (*f)(struct lg_session *s, void *job), void *job);
void lg_count_interrupt(void);        /* a function raises "interrupted" itself, in the hook's place */
void lg_rehook(struct lg_session *s); /* what the debugger, or a request, wants of the running coroutine has changed */
void lg_open_side(lua_State *L, struct lg_session *s); /* [raises] */

/* lang/beside.c: answers while the session's thread is in a long call; false when it is in none now. True in *left when
 * something is left for lg_aside. */
bool lg_answer_beside(struct lg_session *s, bool *left);
/* Inside of such a call on the session's own thread, where the interpreter is not lent. */
void lg_answer_here(lua_State *L);
void lg_open_beside(lua_State *L, struct lg_session *s); /* [raises] */
/* What is asked is answered so now. */
bool lg_is_beside(lua_State *L);
void lg_decline(lua_State *L);                               /* the session's own thread would say more */
void lg_open_coroutines(lua_State *L, struct lg_session *s); /* [raises] */

/* The session, in functions whose first upvalue it is. */
static inline struct lg_session *lg_upvalue_session(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* lang/output.c; and, for functions in the place of one of Lua's, which is their second upvalue, a call of that with
 * the arguments: all its results. [raises] */
int lg_call_stock(lua_State *L);
void lg_output(struct lg_session *s, enum lg_stream which, const char *text, size_t length);
void lg_open_output(lua_State *L, struct lg_session *s); /* print, io.write, io.read, warn into the sink. [raises] */

/* lang/input.c: io.read and io.lines; upvalues are the session, the stock function, io.stdin. */
int lg_sink_read(lua_State *L);
void lg_open_password(lua_State *L, struct lg_session *s); /* io.password. [raises] */
int lg_sink_lines(lua_State *L);

/* lang/traceback.c: the message handler of cells, and the report it leads to; the number of a stack's last level. */
int lg_last_level(lua_State *L);
int lg_traceback_handler(lua_State *L);
/* Fills s->error from the error value on top of the stack and the frames collected; pops nothing, never raises. */
void lg_report_error(struct lg_session *s, int status, bool syntax);

/* lang/excerpt.c: adds the source's line that the message is about, a caret below its place in it, and a hint where one
 * is known; nothing when the source is not known or the message shows it. chunk and line are used where the message
 * names no place. [raises] */
void lg_add_excerpt(lua_State *L, const char *message, bool syntax, const char *chunk, int line, struct lg_buffer *b);
/* The hint alone, below a message of plain Lua, which may have the calls in it. [raises] */
void lg_add_hint(lua_State *L, const char *message, bool syntax, const char *chunk, struct lg_buffer *b);

/* lang/pretty.c: pushes the readable text of a value: strings quoted, tables opened, long things cut. [raises] */
void lg_push_value_text(lua_State *L, int idx);
/* Sorts the list of n keys on top of the stack: numbers by value, then strings by bytes, then the rest. [raises] */
void lg_sort_keys(lua_State *L, lua_Integer n);

/* lang/display.c, all raise. Pushes what keeps a bundle alive and fills it: text/plain and whatever else shows the
 * value at idx. */
void lg_push_bundle(lua_State *L, int idx, struct lg_bundle *out);
/* Sends values first..last to the sink as the cell's result, and remembers the first as _, __, ___. */
void lg_show_result(lua_State *L, struct lg_session *s, int first, int last);
void lg_open_display(lua_State *L, struct lg_session *s);
/* A buffer that Lua collects: pushed, empty. */
struct lg_buffer *lg_push_buffer(lua_State *L);
/* Pushes its text as a Lua string; raises when memory for it ran out. */
void lg_push_buffer_text(lua_State *L, const struct lg_buffer *b);

/* lang/locals.c: the environment of cells. All raise. */
void lg_open_locals(lua_State *L);
void lg_push_env(lua_State *L);   /* the table of the session's variables, which falls back to the globals */
void lg_push_known(lua_State *L); /* the table whose keys are the variables' names, nil ones included */
/* Names that the cell about to run declares, each ended by a NUL; and after it: those it never came to are dropped. */
void lg_declare(lua_State *L, const char *names, size_t length);
void lg_settle(lua_State *L);
void lg_clear_locals(lua_State *L);
void lg_note_globals(lua_State *L);   /* remembers which globals there are at the start */
void lg_push_variables(lua_State *L); /* pushes a new table of what the user made since: variables and globals */

/* lang/load.c: compiles a cell for the session's environment and pushes the function, or the error value. The
 * status is lua_load's. *show says that its results are to be shown. Line breaks are put before the text so that it
 * begins on first_line of the chunk. Never raises. */
struct lg_source {
    const char *text;
    size_t length;
    const char *chunk; /* "=cell 3" */
    int first_line;
};
int lg_load_cell(lua_State *L, const struct lg_source *source, bool *show);
/* Compiles it only: the function has no environment, and nothing is declared. No cell of a magic. */
int lg_compile_cell(lua_State *L, const struct lg_source *source);
/* Runs f(job) as a cell is run: it can be interrupted, and its error becomes a report. job is the light userdata at
 * index 1. */
enum lg_status lg_run(struct lg_session *s, const char *chunk, lua_CFunction f, void *job,
                      const struct lg_error **error);

/* lang/comm.c */
void lg_open_comm(lua_State *L); /* [raises] */
/* lang/interact.c */
void lg_open_interact(lua_State *L); /* [raises] */

/* lang/table_sort.c: table.sort of a session whose face asks during long calls. */
void lg_open_sort(lua_State *L, const struct lg_session *s); /* [raises] */

/* lang/inspect.c: where what is known of a name goes, and documentation as HTML, too; with `detail` above 0 its source
 * and statistics are in it. */
struct lg_known {
    struct lg_buffer *text, *html;
    int detail;
};
/* Adds what is known of the name at the cursor; false when that is nothing. [raises] */
bool lg_inspect_text(lua_State *L, const char *code, size_t length, size_t cursor, const struct lg_known *known);

/* lang/history.c. The path is that of lg_options; NULL when out of memory, and then nothing is remembered. */
struct lg_history *lg_history_new(const char *path);
struct lg_history *lg_history_share(struct lg_history *h); /* for one more session; each frees it */
void lg_history_free(struct lg_history *h);
void lg_open_history(lua_State *L); /* the table In (lang/magic_history.c). [raises] */
void lg_history_add(struct lg_history *h, int line, const char *code, size_t length);

/* lang/stdlib_doc.c: records the docs of Lua's own functions (lg_stdlib); whether a row is one of those. */
void lg_document_stdlib(lua_State *L); /* [raises] */
bool lg_is_stdlib(const struct lg_function *row);

/* lang/results.c: the table Out, and _, __ and ___. All raise. */
void lg_open_results(lua_State *L);
void lg_remember_result(lua_State *L, int cell, int idx); /* that cell has shown the value at idx */
void lg_forget_results(lua_State *L);

/* lang/source.c */
void lg_remember_source(lua_State *L, const char *chunkname, const char *text, size_t length); /* [raises] */

#endif
