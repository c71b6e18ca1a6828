/* One interpreter session: what the terminal shell, the script runner and the notebook kernel all drive.
 *
 * Not thread-safe: one thread owns a session; only lg_session_interrupt may be called from signal handlers and other
 * threads. No function here raises a Lua error or longjmps into the caller. Texts are UTF-8; positions are byte offsets
 * from 0 (the wire turns code points into bytes). */
#ifndef LG_SESSION_H
#define LG_SESSION_H

#include <stdbool.h>
#include <stddef.h>

struct lua_State;
struct lg_session;

struct lg_mime {
    const char *type; /* "text/plain", "text/html", ... */
    const char *data; /* text (binary types are base64), not NUL-terminated by promise */
    size_t length;
};
struct lg_bundle {
    const struct lg_mime *items; /* "text/plain" is always there */
    size_t count;
};

/* A message of a comm: a channel between a cell's code and a front end's (lang/comm.c). data and metadata are JSON
 * texts of objects. */
struct lg_bytes {
    const void *data;
    size_t length;
};
enum lg_comm_kind { LG_COMM_OPEN, LG_COMM_MSG, LG_COMM_CLOSE };
struct lg_comm_message {
    enum lg_comm_kind kind;
    const char *id, *target; /* target of LG_COMM_OPEN only */
    const char *data, *metadata;
    size_t data_length, metadata_length;
    const struct lg_bytes *buffers;
    size_t buffer_count;
};

enum lg_stream { LG_STDOUT, LG_STDERR };

/* What text can look like where output is shown as text alone. */
struct lg_terminal {
    int columns, rows; /* 0: a pipe or a file */
    bool color;        /* takes escape codes: colours of 24 bits, and the cursor's moves */
    bool few_glyphs;   /* of the blocks its font has the half ones alone */
};

/* What pictures are shown as where that is not what a notebook does. */
enum lg_pictures {
    LG_PICTURES_NONE,       /* a line of text */
    LG_PICTURES_BLOCKS_8,   /* half blocks in the eight named colours, which are mixed by dithering */
    LG_PICTURES_BLOCKS_256, /* in 256 colours */
    LG_PICTURES_BLOCKS,     /* in colours of 24 bits */
    LG_PICTURES_PNG,        /* "image/png" */
};

/* Why the debugger stopped what runs. */
enum lg_stop { LG_STOP_BREAKPOINT, LG_STOP_STEP, LG_STOP_PAUSE, LG_STOP_ERROR };

#define LG_REQUEST_ID 128 /* bytes, the NUL included */

/* Where a session's output goes. Called on the session's thread while it evaluates, in the order in which things
 * happen. All members are optional but stream. Pointers are valid during the call only. */
struct lg_sink {
    void *context;
    void (*stream)(void *context, enum lg_stream which, const char *text,
                   size_t length); /* print, io.write, warnings */
    void (*display)(void *context, const struct lg_bundle *bundle, const char *display_id, bool update);
    void (*result)(void *context, int execution_count, const struct lg_bundle *bundle); /* the trailing expression */
    void (*clear_output)(void *context, bool wait);
    /* Present in faces that show text alone; absent where pictures and HTML are shown. */
    void (*terminal)(void *context, struct lg_terminal *out);
    /* Of those faces: asked when there is a picture to show. Absent: half blocks where there are colours. */
    enum lg_pictures (*pictures)(void *context);
    /* A line from the user for io.read, malloc'd without its newline; NULL at end of input. Absent: io.read reads
     * stdin. */
    char *(*input)(void *context, const char *prompt, bool password);
    /* Puts a text in place of the cell that runs, for the user to change and to run. Absent: it goes to the pager. */
    void (*next_input)(void *context, const char *text, size_t length);
    /* Has the user change a text in an editor of their own and runs what is left there as the next cell. Absent where
     * there is no terminal for that. */
    void (*edit)(void *context, const char *text, size_t length);
    /* Runs a command of the system's shell to its end, at the user's terminal: what it reads are the keys, and its
     * output passes no session. Its exit status, or that of a shell whose program was ended by a signal; -1 and errno
     * when it could not be started. Absent where there is no terminal for that. */
    int (*command)(void *context, const char *command);
    /* The pager: text that ?name and %magics show. Absent: goes to stream. */
    void (*page)(void *context, const struct lg_bundle *bundle);
    void (*comm)(void *context, const struct lg_comm_message *m); /* to the front end */
    /* The id of the message that output belongs to now; "" when none. */
    void (*request)(void *context, char id[LG_REQUEST_ID]);
    /* In the middle of a cell, when lg_session_attend asked for it or inside lg_session_meanwhile. It may complete,
     * inspect, ask is_complete, read the history, deliver and list comms, and evaluate what has a name and is not to
     * be stored in the history. */
    void (*attend)(void *context);
    /* The same on the thread that calls lg_session_attend, while the session's own thread is in a long call in C: it
     * may complete, inspect, read the history and list comms. True when what it was called for needs more than that,
     * and waits for `attend`. */
    bool (*attend_beside)(void *context);
    /* Such a call begins while somebody waits, who is to call lg_session_attend again. On the session's thread. */
    void (*beside)(void *context);
    /* The debugger (lang/debugger.h) stopped what runs, which goes on when this returns. message: of LG_STOP_ERROR,
     * or why a breakpoint's condition failed. */
    void (*stopped)(void *context, enum lg_stop why, const char *message);
};

struct lg_options {
    struct lg_sink sink;
    const char *device;  /* default device name or NULL */
    bool hosted;         /* the process is not the cells' to end: os.exit is an error */
    bool no_environment; /* LUA_PATH and LUA_CPATH do not count */
    bool interactive;    /* cells: trailing expressions shown, top-level locals persist, magics; false: plain Lua */
    const char *history; /* file of the cells (interactive); NULL: the default place, "": none */
    struct lg_session *history_of; /* or whose history it shares; NULL */
    /* Adds globals of the face's own; it may raise, as a lua_CFunction does. */
    int (*extend)(struct lua_State *L);
    int argc; /* for the `arg` table of scripts: argv[0] is the script */
    char **argv;
    int before; /* how many of the program's words stand before argv[0]: arg[-1], arg[-2], ... */
};

struct lg_session *lg_session_new(const struct lg_options *options); /* NULL: out of memory */
void lg_session_free(struct lg_session *s);
struct lua_State *lg_session_state(struct lg_session *s);

enum lg_status { LG_DONE, LG_ERROR, LG_INTERRUPTED };

struct lg_error {      /* owned by the session until its next call */
    const char *name;  /* "LuaError", "SyntaxError", "KernelError", "Interrupted", ... */
    const char *value; /* the message, without traceback */
    /* Lines to show: the message (one or more), its line of source, a caret below that and a hint (or none of
     * them), the calls with the innermost last. */
    const char *const *traceback;
    size_t traceback_count, message_count, excerpt_count;
    int line;   /* of the cell, from 1; 0 when it is not in the cell */
    bool plain; /* of plain Lua: the value is all that a stock lua writes, "stack traceback:" and the calls included;
                 * of the other lines there may be a hint */
};
struct lg_request {
    const char *code;
    size_t length;
    const char *name;   /* chunk name for messages: NULL means "cell N" by the execution count; "@file.lua" for files */
    bool alone;         /* a file that does not get the arguments of the script */
    bool script;        /* plain Lua in an interactive session, too: messages are those of a stock lua */
    bool silent;        /* no result, no history, count stays */
    bool store_history; /* false: not in the history, and the count stays */
};
/* Evaluates one cell (or, when not interactive, a chunk of plain Lua; a first line that starts with # is skipped).
 * Output is in the sink before it returns. *error is set for LG_ERROR and LG_INTERRUPTED. Clears the interrupt flag. */
enum lg_status lg_session_evaluate(struct lg_session *s, const struct lg_request *r, const struct lg_error **error);
/* Calls require in the same way and sets the global to what it gives. */
enum lg_status lg_session_require(struct lg_session *s, const char *module, const char *global,
                                  const struct lg_error **error);
/* Calls a C function of Lua with a light userdata in the same way, as code that is in no chunk. */
enum lg_status lg_session_call(struct lg_session *s, int (*f)(struct lua_State *L), void *job,
                               const struct lg_error **error);
/* The count of the cell being or last evaluated, from 1; 0 before the first. */
int lg_session_count(const struct lg_session *s);

enum lg_completeness { LG_COMPLETE, LG_INCOMPLETE, LG_INVALID, LG_UNKNOWN };
/* *indent gets the number of spaces to continue by when incomplete. A text of more than 16 KB whose blocks or brackets
 * are open is incomplete whatever else it holds: it is not compiled at each Enter. Needs no session; any thread. */
enum lg_completeness lg_is_complete(const char *code, size_t length, int *indent);

/* Where the parser stopped, when no text behind can make the code a cell that compiles: the token code[*from..*to).
 * That takes some compilations of the code. `stop` (or NULL) is asked again and again while it goes on, every
 * millisecond at least for code of some thousand lines: when it returns true, the search is given up. Needs no session;
 * any thread. */
enum lg_mistake { LG_NO_MISTAKE, LG_MISTAKE, LG_GIVEN_UP };
enum lg_mistake lg_find_mistake(const char *code, size_t length, bool (*stop)(void *context), void *context,
                                size_t *from, size_t *to);

struct lg_match {
    const char *text; /* replaces code[start..end) */
    const char *kind; /* "function", "array", "keyword", "field", "magic", "path", ... */
    const char *note; /* signature or shape, may be "" */
};
struct lg_completion { /* owned by the session until its next call */
    size_t start, end;
    const struct lg_match *matches;
    size_t count;
    bool more;     /* there are others, which the list has no room for */
    size_t common; /* how many bytes those have in common with the first match that was found, too */
};
/* What the first completion after a cell would have to look at, ahead of it: for when nobody waits. */
void lg_session_prepare(struct lg_session *s);
void lg_session_complete(struct lg_session *s, const char *code, size_t length, size_t cursor,
                         struct lg_completion *out);
/* What is known of the name at the cursor: a bundle of text/plain (and text/html), false when nothing. detail 0 is the
 * signature and doc, 1 adds the source. */
bool lg_session_inspect(struct lg_session *s, const char *code, size_t length, size_t cursor, int detail,
                        struct lg_bundle *out);

/* A message of a comm from the front end: calls the function that is to get it, as a cell is evaluated. A target that
 * nobody registered is answered by a close. */
enum lg_status lg_session_comm(struct lg_session *s, const struct lg_comm_message *m, const struct lg_error **error);
/* The open comms, of one target or (NULL) of all. */
void lg_session_comms(struct lg_session *s, const char *target,
                      void (*visit)(void *context, const char *id, const char *target), void *context);
/* The models of interact, each with the data of the message that answers a front end's request_state: JSON text. */
void lg_session_comm_states(struct lg_session *s, void (*visit)(void *context, const char *id, const char *answer),
                            void *context);

/* Has sink.attend called soon, if a cell runs or when one does. Any thread but the session's. */
void lg_session_attend(struct lg_session *s);
/* Calls it now: for functions of the sink that wait in the middle of a cell. */
void lg_session_meanwhile(struct lg_session *s);

/* Calls f, which may complete, on another thread than the session's, which must be at rest meanwhile: waiting for its
 * next request. Nothing of the user's runs. False when f was, or when the session's own thread would have known more.
 */
bool lg_session_look(struct lg_session *s, bool (*f)(void *context), void *context);

/* Calls f with another session, which knows what was known of this one when its last cell began (lang/apart.c), and may
 * complete, inspect, read the history and list comms in it. For when this one is in one call that it does not come out
 * of. Any thread, one at a time. False when f was, or when there is none. */
bool lg_session_apart(struct lg_session *s, bool (*f)(struct lg_session *second, void *context), void *context);
/* In such a one: the data of the message that answers a front end's request_state for the model of a control of
 * interact; NULL when nothing of it was known. */
const char *lg_session_comm_state(const struct lg_session *s, const char *id);
/* Whether it is such a one. */
bool lg_session_is_apart(const struct lg_session *s);

/* Stops what the session runs, now or soon. Async-signal-safe. */
void lg_session_interrupt(struct lg_session *s);
/* Whether an interrupt is on its way in the cell that runs. Async-signal-safe. */
bool lg_session_stopping(struct lg_session *s);

/* History: cells kept on disk, shared by shell and notebooks (lang/history.c). */
struct lg_history_entry {
    long session;     /* sessions count from 1; 0 is the current one */
    int line;         /* execution count within its session */
    const char *code; /* until the session is asked for another */
};
void lg_history_refresh(struct lg_session *s); /* takes in what other sessions have run since it was read */
size_t lg_history_count(struct lg_session *s); /* oldest first, those of others and of this one as they came */
bool lg_history_get(struct lg_session *s, size_t i, struct lg_history_entry *out);

#endif
