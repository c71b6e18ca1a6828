/* The debugger of a session: breakpoints, steps, and a look at the stack while what runs is stopped. It speaks no
 * protocol; a face translates.
 *
 * A stop calls the sink's `stopped`, and the cell goes on when that returns. Inside it everything works that works in
 * the sink's `attend`. Running code is hooked only while there is a breakpoint or a step under way.
 *
 * As all of a session this belongs to its thread, and nothing raises. Texts given to a visitor are valid during its
 * call. Frames count from 0, the innermost; functions written in C are none. */
#ifndef LG_DEBUGGER_H
#define LG_DEBUGGER_H

#include "lang/session.h"

/* From then on there may be breakpoints. False for sessions that are not interactive, or whose sink lacks `stopped`. */
bool lg_debug_attach(struct lg_session *s);
/* Forgets all breakpoints; what is stopped goes on when `stopped` returns. */
void lg_debug_detach(struct lg_session *s);

/* What is run from, by the name of a file ("@file.lua") or, for cells, by the text: every cell of that text. */
struct lg_debug_source {
    const char *chunk; /* NULL for cells */
    const char *text;
    size_t length;
};
struct lg_debug_breakpoint {
    int line;
    const char *condition; /* an expression in the frame that comes to it: false or nil goes on. NULL: always stops */
};
/* Replaces the breakpoints of a source. A line without code is moved to the next one that has some, or to 0 when there
 * is none below, or the text does not compile. A condition that fails stops and says why. False when out of memory. */
bool lg_debug_set_breakpoints(struct lg_session *s, const struct lg_debug_source *source,
                              struct lg_debug_breakpoint *wanted, size_t count);
/* Whether errors that no pcall catches stop, before the stack is unwound. */
void lg_debug_stop_at_errors(struct lg_session *s, bool stop);
/* Stops at the next line; false when nothing runs. */
bool lg_debug_pause(struct lg_session *s);

/* How to go on when `stopped` returns. Over and out stay in the coroutine unless it ends or yields. */
enum lg_debug_step { LG_GO_ON, LG_STEP_IN, LG_STEP_OVER, LG_STEP_OUT };
void lg_debug_step(struct lg_session *s, enum lg_debug_step step);
bool lg_debug_is_stopped(const struct lg_session *s);

struct lg_debug_frame {
    const char *name;                 /* of the function */
    const struct lg_debug_source *at; /* its text is NULL when it is not known */
    int line;
};
void lg_debug_frames(struct lg_session *s, void (*visit)(void *context, const struct lg_debug_frame *frame),
                     void *context);

/* A value to show. `reference` names what it holds, for lg_debug_variables; 0: nothing. References are good until what
 * is stopped goes on, or the next cell begins. */
struct lg_debug_variable {
    const char *name, *value, *type;
    size_t name_length; /* names are any bytes */
    int reference;
};
typedef void lg_debug_visit(void *context, const struct lg_debug_variable *v);

/* The scopes of a frame, innermost first: locals, upvalues, the session's variables. False when there is no such
 * frame. */
bool lg_debug_scopes(struct lg_session *s, int frame, lg_debug_visit *visit, void *context);
#define LG_DEBUG_NO_FRAME (-1)
/* The reference of the session's variables, which needs no frame. */
#define LG_DEBUG_SESSION 3
/* The frame whose scope a reference is; LG_DEBUG_NO_FRAME for those of values. */
int lg_debug_frame_of(int reference);
/* What a reference holds, from the `start`-th on and `count` of them, of which the first LG_DEBUG_MOST can be seen.
 * False for a reference that is not good. */
#define LG_DEBUG_MOST 1000
bool lg_debug_variables(struct lg_session *s, int reference, size_t start, size_t count, lg_debug_visit *visit,
                        void *context);
/* Drops all references of values. */
void lg_debug_forget(struct lg_session *s);

/* Evaluates an expression, or runs statements, that see and change the variables of a frame; -1 for none. Visits the
 * value; or returns false after a visit of a variable whose value is the message. */
bool lg_debug_evaluate(struct lg_session *s, int frame, const char *code, size_t length, lg_debug_visit *visit,
                       void *context);
/* Visits the best form of an expression's value; false when it has none. */
bool lg_debug_display(struct lg_session *s, int frame, const char *code,
                      void (*visit)(void *context, const struct lg_bundle *bundle), void *context);
/* Makes the value of an expression in a frame a variable of the session. False when it has none. */
bool lg_debug_keep(struct lg_session *s, int frame, const char *code, size_t length, const char *name);

#endif
